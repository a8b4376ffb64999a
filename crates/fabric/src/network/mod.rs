//! State that all nodes share and that no node changes: specification, wiring, routes, active
//! flows.

pub mod fabric;
pub mod flows;
pub mod names;
pub mod routes;
pub mod spec;
