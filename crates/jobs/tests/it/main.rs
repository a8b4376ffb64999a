//! Tests of jobs in simulated networks: one binary with a module per subject.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../fabric/tests/common/mod.rs"]
#[allow(dead_code, unused_macros, reason = "these tests need only some of the helpers")]
mod fabric;

mod against_flows;
mod closed_forms;
mod common;
mod generated;
mod persistence;
mod schedules;
