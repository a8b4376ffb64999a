//! The model of a node: ports, the switching pipeline, the host.

pub mod fifo;
pub mod host;
pub(crate) mod interfaces;
pub mod ledger;
pub mod node;
pub mod pipeline;
pub mod port;
pub mod probe;
pub mod sink;
pub mod switch;

pub use interfaces::Counters;
