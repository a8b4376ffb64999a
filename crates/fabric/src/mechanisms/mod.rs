//! The mechanisms, slot by slot; the registry of each slot is its `mod.rs`.

mod cnm;
pub mod congestion;
pub mod flow_control;
mod growth;
pub mod headroom;
pub mod load_balance;
pub mod plug_in;
pub mod recovery;
mod registry;
