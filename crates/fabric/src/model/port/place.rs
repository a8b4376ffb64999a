//! Where the caller of a node keeps the ends of its links.

/// The place of a port and where what it sends goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortPlace {
    /// The wire that ends at the port.
    pub(crate) wire: WireIx,
    /// The wire that begins there, if it ends in the same shard.
    pub(crate) peer_wire: Option<WireIx>,
}

/// A wire of a shard, counted from 1, so that an optional one takes no more room. Wires are numbered in the order of the ports that they end at:
/// events that name wires are ordered as if they named ports.
pub(crate) type WireIx = std::num::NonZeroU32;

impl Default for PortPlace {
    /// The place of a port whose node is driven by hand.
    fn default() -> PortPlace {
        PortPlace { wire: WireIx::MIN, peer_wire: None }
    }
}
