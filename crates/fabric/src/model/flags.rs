//! Flags of a node: the hooks of its mechanisms, and the model's own work on a packet's path.

use crate::contract::HookSet;
use crate::model::sink::Sink;
use bitflags::bitflags;

bitflags! {
    /// Flags of all conditions under which a packet needs more than plain forwarding, so that a
    /// single test suffices. The low half holds the hooks of mechanisms, the high half the model's
    /// own flags.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct NodeFlags: u32 {
        const ENQUEUE = HookSet::ENQUEUE.bits() as u32;
        const LAST_HOP = HookSet::LAST_HOP.bits() as u32;
        const NOTICE = HookSet::NOTICE.bits() as u32;
        const GATE = HookSet::GATE.bits() as u32;

        /// Packets record the ports that they pass, if their routes do not. Notices follow these
        /// trails back.
        const TRAIL = 1 << 16;
        /// Packets take time between their ingress port and their queue.
        const DELAY = 1 << 17;
        /// The queues of a host's ports take turns with the data of its own flows.
        const TURNS = 1 << 18;
        /// Some ports have failed links that routes avoid.
        const DEAD_ENDS = 1 << 19;
        /// The node is traced, or keeps a ledger.
        const TRACE = 1 << 20;
        /// Some queues feed other queues.
        const INNER_QUEUES = 1 << 21;
        /// A host relays packets of other hosts.
        const RELAYS = 1 << 22;

        /// Flags that nodes can have if the pipeline is plain.
        const PLAIN = (HookSet::DATA_DEPARTURE.bits() | HookSet::OTHER_DEPARTURE.bits()) as u32
            | (HookSet::GATE.bits() | HookSet::LINK.bits()) as u32;
        /// Flags that require accounting of departures, in addition to hooks.
        const ACCOUNTED_DEPARTURE = Self::TURNS.bits() | Self::TRACE.bits() | Self::RELAYS.bits();
    }
}

impl NodeFlags {
    /// Returns the flags of a set of hooks.
    #[inline]
    pub(crate) const fn of(hooks: HookSet) -> NodeFlags {
        NodeFlags::from_bits_retain(hooks.bits() as u32)
    }

    /// Returns true if any of `flags` is set. The compiler removes the test if none can be set.
    /// Code that runs rarely, and does not know the pipeline, calls [`NodeFlags::intersects`]
    /// instead.
    #[inline(always)]
    pub(crate) fn has<S: Sink>(self, flags: NodeFlags) -> bool {
        self.intersects(if S::PLAIN { flags.intersection(NodeFlags::PLAIN) } else { flags })
    }

    /// Returns the flags if `condition` holds, else none.
    pub(crate) const fn only_if(self, condition: bool) -> NodeFlags {
        if condition { self } else { NodeFlags::empty() }
    }
}
