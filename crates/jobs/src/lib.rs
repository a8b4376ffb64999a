//! Jobs: ranks that send, receive and compute in an order given by dependencies.
//!
//! | module | content |
//! |---|---|
//! | [`operation`] | operations, and the interface to the operations of a job |
//! | [`graph`] | operations listed one by one |
//! | [`goal`] | lists of operations in the language GOAL |
//! | [`collective`] | operations generated on demand: all-reduce, all-to-all and others |
//! | [`connections`] | connections between the ranks of a job |
//! | [`rank`] | execution of one rank |
//! | [`host`] | application of a host: its ranks |
//! | [`soundness`] | checks of listed operations |
//! | [`bound`] | lower bounds of the time of a job |
//!
//! A rank is a position in a job, from 0. Each rank runs on a host of its own; a host may run ranks
//! of several jobs.

#![forbid(unsafe_code)]

pub mod bound;
pub mod collective;
pub mod connections;
pub mod goal;
pub mod graph;
pub mod host;
mod matching;
pub mod operation;
pub mod rank;
pub mod soundness;
