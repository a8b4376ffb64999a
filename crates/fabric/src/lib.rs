//! The model of a lossless network: frames, links, ports, switches, hosts, and the slots that mechanisms fill.
//!
//! Start with [`slots`] (what a mechanism may see and do), then [`mod@switch`] and [`host`] (the pipelines that call it), then
//! [`simulation`] (what drives them).

#![forbid(unsafe_code)]

// The slots come first: the dispatch of the mechanisms is generated where their traits are already known.
pub mod slots;

pub mod audit;
mod bits;
pub mod cause;
pub mod congestion;
pub mod deadlock;
pub mod fabric;
pub mod fifo;
pub mod flow_control;
pub mod flows;
pub mod frame;
pub mod framing;
pub mod headroom;
pub mod host;
pub mod ids;
mod layout;
pub mod load_balance;
pub mod memory;
pub mod node;
pub mod note;
pub mod partition;
pub mod port;
mod post;
pub mod probe;
pub mod record;
pub mod recovery;
mod registry;
pub mod routes;
mod shard;
pub mod simulation;
pub mod spec;
pub mod switch;
#[cfg(test)]
mod testing;

pub use shard::{FullQueue, LossyDrop, PauseInterval};
pub use simulation::Simulation;
