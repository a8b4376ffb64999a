//! The model of a lossless network: frames, links, ports, switches, hosts, and slots for
//! mechanisms.
//!
//! | module | content |
//! |---|---|
//! | [`contract`] | slots of mechanisms, and the model's interface to them; start here |
//! | [`mechanisms`] | mechanisms by slot |
//! | [`network`] | specification, wiring, routes and flows, shared by all nodes |
//! | [`model`] | a node: ports, switching pipeline, host |
//! | [`driver`] | the simulator: shards of nodes, traces, audit |
//!
//! All modules share [`ids`] and [`frame`].

#![forbid(unsafe_code)]

// `contract` must be first: generated code for the dispatch to mechanisms needs its traits.
pub mod contract;

pub mod driver;
#[doc(hidden)]
pub mod fixtures;
pub mod frame;
pub mod ids;
pub mod mechanisms;
pub mod model;
pub mod network;
#[cfg(test)]
mod testing;

pub use driver::{FullQueue, LossyDrop, PauseInterval, Simulation};
