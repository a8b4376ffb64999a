//! One-hop bandwidth-delay products, the unit of queue lengths in per-hop flow control.

use crate::contract::{PortFacts, Site};
use crate::ids::PortIx;
use backwater_engine::index::Id;
use get_size2::GetSize;

/// A value per pair of egress and ingress port of a node.
#[derive(Debug, GetSize)]
pub(super) struct PerHop<T> {
    values: Vec<T>,
    ports: usize,
}

impl<T: Copy> PerHop<T> {
    /// Returns values computed from the one-hop BDP: the bytes that the egress port sends during a
    /// round trip over the ingress link.
    pub(super) fn new(site: &Site<'_>, value: impl Fn(u64) -> T) -> PerHop<T> {
        let bdp = |egress: &PortFacts, ingress: &PortFacts| egress.rate.bytes_in(ingress.delay * 2);
        let pairs = site.ports.iter().flat_map(|egress| site.ports.iter().map(move |ingress| (egress, ingress)));
        let values = pairs.map(|(egress, ingress)| value(bdp(egress, ingress))).collect();
        PerHop { values, ports: site.ports.len() }
    }

    /// Returns the value for a pair of ports.
    #[inline]
    pub(super) fn get(&self, egress: PortIx, ingress: PortIx) -> T {
        self.values[egress.index() * self.ports + ingress.index()]
    }
}
