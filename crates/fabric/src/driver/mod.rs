//! What drives nodes: a simulator, sharded over threads, and what watches over it.

pub mod audit;
pub mod deadlock;
mod layout;
pub mod memory;
pub mod partition;
mod post;
mod shard;
pub mod simulation;

pub use shard::{FullQueue, LossyDrop, PauseInterval};
pub use simulation::Simulation;
