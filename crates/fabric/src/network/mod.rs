//! State that all nodes share and none changes: specification, wiring, routes, active flows.

pub mod fabric;
pub mod flows;
pub mod names;
pub mod routes;
pub mod spec;
