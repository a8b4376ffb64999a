//! Tests of the tables of runs in random networks.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../fabric/tests/common/mod.rs"]
#[allow(dead_code, unused_macros, reason = "these tests need only some of the helpers")]
mod common;

mod bounds;
mod ideal;
mod tables;
