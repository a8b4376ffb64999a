//! From a scenario file to a checked plan: parsing, schema, topologies, traffic, routes.

pub mod topology;
pub mod workload;
