//! Static analysis of a fabric and its flows, without a simulation.
//!
//! A [`Case`] is plain data: paths of flows, and congested ports. [`analyze`] builds the case of a
//! network and its traffic, and answers four questions for each [`Protocol`]:
//!
//! * [`QueueGraph`]: the queues that flows share,
//! * [`Blocking`]: the innocent flows that can be paused,
//! * [`Dependencies`]: the cycles in which queues can wait for each other,
//! * [`overflows`](overflow::overflows): the queues that can overflow.
//!
//! [`mod@headroom`] compares headroom schemes of a switch. [`mod@tofino`] computes the memory for
//! the tables of a Pyrrha switch.
//!
//! Definitions are those of "Analysis of Pyrrha: Congestion-Root-Based Flow Control Is Most
//! Cost-Effective to Eliminate Head-of-Line Blocking", sections VI and VII.

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

pub use answer::{AnalysisAnswer, Question, analyze};
pub use blocking::{Blocking, Counterexample};
pub use case::{Case, Flow, Path, Port};
pub use dependency::Dependencies;
pub use graph::QueueGraph;
pub use protocol::Protocol;
