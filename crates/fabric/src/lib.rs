//! The model of a lossless network: frames, links, ports, switches, hosts, and the slots that mechanisms fill.

pub mod congestion;
pub mod flow_control;
pub mod framing;
pub mod headroom;
pub mod ids;
pub mod load_balance;
pub mod recovery;
mod registry;
pub mod spec;
