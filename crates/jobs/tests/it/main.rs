//! Tests of jobs in simulated networks: one binary with a module per subject.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod closed_forms;
mod common;
mod generated;
