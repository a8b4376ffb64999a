//! Tests of static analysis: one binary with a module per subject.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../fabric/tests/common/cases.rs"]
mod cases;
mod common;

mod bcube;
mod figures;
mod network;
mod relay_buffer;
mod simulation;
mod theorems;
