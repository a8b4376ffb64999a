//! The model of a lossless network: frames, links, ports, switches, hosts, and the slots that mechanisms fill.
//!
//! | room | what is in it |
//! |---|---|
//! | [`contract`] | what a mechanism may see and do: read this first |
//! | [`mechanisms`] | the mechanisms, slot by slot |
//! | [`network`] | what all nodes share: specification, wiring, routes, flows |
//! | [`model`] | the node: its ports, the switching pipeline, the host |
//! | [`driver`] | the simulator that drives nodes, and what watches over it |
//!
//! What all rooms speak of is beside them: [`ids`] and [`frame`].

#![forbid(unsafe_code)]

// The contract comes first: the dispatch of the mechanisms is generated where their traits are already known.
pub mod contract;

pub mod driver;
pub mod frame;
pub mod ids;
pub mod mechanisms;
pub mod model;
pub mod network;
#[cfg(test)]
mod testing;

pub use driver::{FullQueue, LossyDrop, PauseInterval, Simulation};
