//! From a scenario file to a checked plan: parsing, schema, topologies, traffic, routes.
//!
//! A [`Document`] is what was written, and where. A [`Scenario`] is what it says, with the defaults of what it does not say. A [`Plan`] is
//! what follows for a network and its flows, checked; nothing else can be run. Whatever is wrong on the way is a [`Diagnostic`], and all of
//! one step come together.

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
