//! Traffic: from what a scenario says to the list of flows.

mod config;
mod hosts;
mod sizes;

pub use config::*;
pub use hosts::HostList;
pub use sizes::{Interpolation, SizesConfig, SizesTable};
