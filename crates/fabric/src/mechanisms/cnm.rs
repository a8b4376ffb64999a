//! Congestion notification message (CNM) of FLB: a switch notifies the source edge of a flow, and
//! the edge notifies the sender.

use crate::frame::{MAX_HOPS, Protocol};

/// Protocol of FLB's notices.
pub(super) const FLB: Protocol = Protocol::named("flb");

/// Maximum number of ports at which a flow is recorded as congested at a time: the maximum number
/// of ports on a path. If a flow changes its path and is congested at more ports, only the first
/// ones count.
pub(super) const MOST_ROOTS: usize = MAX_HOPS;

/// Content of a CNM about a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cnm {
    /// The flow is one of several congested flows at the sending port.
    Congested {
        /// Number n of congested flows at the port, at least 1.
        flows: u32,
    },
    /// The flow and the other flows of the port are no longer congested.
    Clear {
        /// Number n of congested flows at the port, at least 1. Flows notified early may have
        /// received a smaller n.
        flows: u32,
    },
}

impl Cnm {
    /// Returns the fields of the notice: a flag for congestion, and n.
    pub(super) fn words(self) -> [u32; 4] {
        match self {
            Cnm::Congested { flows } => [1, flows, 0, 0],
            Cnm::Clear { flows } => [0, flows, 0, 0],
        }
    }

    /// Returns the content of the fields.
    pub(super) fn of(words: [u32; 4]) -> Cnm {
        match words {
            [0, flows, ..] => Cnm::Clear { flows: flows.max(1) },
            [_, flows, ..] => Cnm::Congested { flows: flows.max(1) },
        }
    }
}
