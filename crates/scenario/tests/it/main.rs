//! Tests of scenario files, topologies, workloads and formats of other simulators: one binary with
//! a module per subject.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../fabric/tests/common/mod.rs"]
#[allow(dead_code, unused_macros, reason = "these tests need only some of the helpers")]
mod common;

mod bad_input;
mod bcube;
mod calibration;
mod convert;
mod explain;
mod flow_keys;
mod hpcc;
mod library;
mod pyrrha_mix;
mod refused;
mod table;
mod topology;
