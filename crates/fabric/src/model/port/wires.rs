//! Wires of a port in the tables of the node's driver.

/// Wires of a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortWires {
    /// Wire that ends at the port.
    pub(crate) wire: WireIx,
    /// Wire that begins at the port, if it ends in the same shard.
    pub(crate) peer_wire: Option<WireIx>,
}

/// Number of a wire in its shard, from 1, so that an optional number needs no more memory. Wires
/// are numbered in the order of the ports at which they end: events on wires are then in the order
/// of ports.
pub(crate) type WireIx = std::num::NonZeroU32;

impl Default for PortWires {
    /// Returns the wires of a port whose node has no driver, as in unit tests.
    fn default() -> PortWires {
        PortWires { wire: WireIx::MIN, peer_wire: None }
    }
}
