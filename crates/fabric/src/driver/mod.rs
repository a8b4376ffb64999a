//! The simulator: it drives nodes, sharded over threads, and observes them.

mod accounts;
mod agenda;
pub mod audit;
pub mod deadlock;
mod exchange;
mod layout;
pub mod memory;
mod observations;
pub mod outcome;
pub mod partition;
mod rank;
mod shard;
pub mod simulation;
mod totals;
pub mod trace;
mod windows;
mod wire;

pub use observations::{FullQueue, LossyDrop, PauseInterval};
pub use simulation::Simulation;
