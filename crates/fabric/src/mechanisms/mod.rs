//! Mechanisms by slot. Each slot's `mod.rs` has its registry.

mod cnm;
pub mod congestion;
pub mod flow_control;
mod growth;
pub mod headroom;
pub mod load_balance;
pub mod plug_in;
pub mod recovery;
mod registry;
