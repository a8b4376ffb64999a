//! From a scenario file to a checked plan: parsing, schema, topologies, traffic, routes.

pub mod diagnostic;
pub mod document;
pub mod topology;
pub mod workload;

pub use diagnostic::{Diagnostic, Severity};
pub use document::{Document, Origin};
