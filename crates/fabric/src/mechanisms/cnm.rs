//! The congestion notification message (CNM) of FLB: what a switch tells the source edge of a flow, and that the sender.

use crate::frame::{MAX_HOPS, Protocol};

/// Whose notices these are.
pub(super) const FLB: Protocol = Protocol::named("flb");

/// The most ports at which a flow is known to be congested at once: as many as it passes, at most. Of more, which only one that changes its path can have, the first count.
pub(super) const MOST_ROOTS: usize = MAX_HOPS;

/// What a CNM says of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cnm {
    /// It is one of so many that are congested at the port from which this comes.
    Congested {
        /// n, at least 1.
        flows: u32,
    },
    /// It is not any more, nor are the others of so many.
    Clear {
        /// n, at least 1: those that have been told of first have heard of few others.
        flows: u32,
    },
}

impl Cnm {
    /// Its fields: the flag, and n.
    pub(super) fn words(self) -> [u32; 4] {
        match self {
            Cnm::Congested { flows } => [1, flows, 0, 0],
            Cnm::Clear { flows } => [0, flows, 0, 0],
        }
    }

    /// What fields say.
    pub(super) fn of(words: [u32; 4]) -> Cnm {
        match words {
            [0, flows, ..] => Cnm::Clear { flows: flows.max(1) },
            [_, flows, ..] => Cnm::Congested { flows: flows.max(1) },
        }
    }
}
