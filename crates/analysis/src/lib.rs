//! Static questions about a fabric and its flows, answered without a simulation.
//!
//! A [`Case`] is plain data: paths of flows, and the ports that are congested. Under each [`Protocol`], a [`Graph`] says who shares a queue
//! with whom, [`Blocking`] who can be paused innocently, [`Dependencies`] whether queues can wait for each other in a cycle, and
//! [`overflows`](overflow::overflows) which of them nobody keeps from overflowing.
//! [`analyze`] asks all of it about a network and its traffic. [`mod@tofino`] computes what the tables of a Pyrrha switch take of memory.
//!
//! Definitions are those of "Analysis of Pyrrha: Congestion-Root-Based Flow Control Is Most Cost-Effective to Eliminate Head-of-Line Blocking",
//! sections VI and VII.

#![forbid(unsafe_code)]

pub mod answer;
pub mod blocking;
pub mod case;
pub mod dependency;
pub mod fair;
pub mod graph;
pub mod headroom;
pub mod network;
pub mod overflow;
pub mod protocol;
pub mod tofino;

pub use answer::{Answer, Question, analyze};
pub use blocking::{Blocking, Counterexample};
pub use case::{Case, Flow, Path, Port};
pub use dependency::Dependencies;
pub use graph::Graph;
pub use protocol::Protocol;
