//! The model of a node: ports, switching pipeline and host.
//!
//! A packet arrives at a [`node`]. Then it passes the `pipeline`, from the choice of its route to
//! its departure, or ends at the [`host`].

pub mod fifo;
pub(crate) mod flags;
pub mod host;
pub(crate) mod io;
pub mod ledger;
pub mod node;
pub(crate) mod pipeline;
pub mod port;
pub mod probe;
pub mod sink;
pub mod switch;
mod tracing;

pub use io::{Counters, Losses};
