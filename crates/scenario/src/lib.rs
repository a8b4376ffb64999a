//! Turns a scenario file into a checked plan: parsing, schema, topologies, traffic, routes.
//!
//! A [`Document`] is a file as written, with the origins of its values. A [`Scenario`] has all
//! options, with defaults filled in. A [`Plan`] is the checked network with its flows; only plans
//! can run. Every step reports all of its errors together, as [`Diagnostic`]s.

#![forbid(unsafe_code)]

pub mod diagnostic;
pub mod document;
mod effective;
mod explain;
pub mod hpcc;
mod plan;
mod scenario;
pub mod topology;
pub mod workload;

pub use diagnostic::{Diagnostic, Severity};
pub use document::check::read_quantity;
pub use document::{Document, JsonKey, Origin, json_keys};
pub use effective::Effective;
pub use explain::{Setting, explain};
pub use plan::Plan;
pub use scenario::{FaultConfig, NetworkConfig, ProbesConfig, RunConfig, Scenario};
