//! One-hop bandwidth-delay products: what per-hop flow control measures queues by.

use crate::contract::{PortFacts, Site};
use crate::ids::PortIx;
use get_size2::GetSize;

/// A value for every pair of egress and ingress port of a node.
#[derive(Debug, GetSize)]
pub(super) struct PerHop<T> {
    values: Vec<T>,
    ports: usize,
}

impl<T: Copy> PerHop<T> {
    /// A value that follows from the one-hop BDP in bytes: what the egress port sends during a round trip over the link of the ingress port.
    pub(super) fn new(site: &Site<'_>, value: impl Fn(u64) -> T) -> PerHop<T> {
        let bdp = |egress: &PortFacts, ingress: &PortFacts| egress.rate.bytes_in(ingress.delay * 2);
        let pairs = site.ports.iter().flat_map(|egress| site.ports.iter().map(move |ingress| (egress, ingress)));
        let values = pairs.map(|(egress, ingress)| value(bdp(egress, ingress))).collect();
        PerHop { values, ports: site.ports.len() }
    }

    /// The value for a packet's way through the node.
    #[inline]
    pub(super) fn get(&self, egress: PortIx, ingress: PortIx) -> T {
        self.values[usize::from(egress) * self.ports + usize::from(ingress)]
    }
}
