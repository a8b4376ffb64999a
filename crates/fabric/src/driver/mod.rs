//! What drives nodes: a simulator, sharded over threads, and what watches over it.

mod accounts;
pub mod audit;
pub mod deadlock;
mod keys;
mod layout;
mod look_ahead;
pub mod memory;
pub mod outcome;
pub mod partition;
mod post;
mod shard;
pub mod simulation;
mod totals;
pub mod trace;
mod watch;
mod windows;
mod wire;

pub use simulation::Simulation;
pub use watch::{FullQueue, LossyDrop, PauseInterval};
