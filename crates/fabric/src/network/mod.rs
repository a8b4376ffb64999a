//! What all nodes share and none changes: the network as specified, its wiring, its routes, the active flows.

pub mod fabric;
pub mod flows;
pub mod names;
pub mod routes;
pub mod spec;
