//! Bytes that a node holds, by ingress port, egress port and class.

use crate::ids::{CLASSES, Class, PortIx};
use backwater_engine::index::Id;
use get_size2::GetSize;
use std::collections::BTreeMap;

/// Maximum number of ports of a node with a table of all pairs of ports.
const TABLE_PORTS: usize = 256;

type ByClass = [u64; CLASSES];

/// Bytes that a node holds, by ingress port, egress port and class.
///
/// A table of all pairs of ports is fast, but its size is the square of the number of ports. Nodes
/// with many ports store only pairs that hold bytes.
#[derive(Debug, GetSize)]
pub(super) struct Held {
    ports: usize,
    /// Row of each ingress port; empty for nodes with many ports.
    table: Vec<ByClass>,
    /// Pairs that hold bytes, if there is no table.
    pairs: BTreeMap<(u16, u16), ByClass>,
}

impl Held {
    /// Returns the bytes of a node with `ports` ports that holds none.
    pub(super) fn new(ports: usize) -> Held {
        let table = vec![[0; CLASSES]; if ports <= TABLE_PORTS { ports * ports } else { 0 }];
        Held { ports, table, pairs: BTreeMap::new() }
    }

    /// Changes the bytes of a class that arrived on `ingress` and wait at `egress`.
    #[inline(always)]
    pub(super) fn update(&mut self, ingress: PortIx, egress: PortIx, class: Class, change: impl FnOnce(&mut u64)) {
        match self.table.get_mut(ingress.index() * self.ports + egress.index()) {
            Some(held) => change(&mut held[class.index()]),
            None => self.update_pair(ingress, egress, class, change),
        }
    }

    #[cold]
    fn update_pair(&mut self, ingress: PortIx, egress: PortIx, class: Class, change: impl FnOnce(&mut u64)) {
        let held = self.pairs.entry((ingress.0, egress.0)).or_default();
        change(&mut held[class.index()]);
        if *held == ByClass::default() {
            self.pairs.remove(&(ingress.0, egress.0));
        }
    }

    /// Returns the bytes that arrived on `ingress` and wait at `egress`.
    pub(super) fn get(&self, ingress: PortIx, egress: PortIx) -> ByClass {
        let held = self.table.get(ingress.index() * self.ports + egress.index());
        held.or_else(|| self.pairs.get(&(ingress.0, egress.0))).copied().unwrap_or_default()
    }

    /// Returns the bytes that arrived on `ingress` by egress port, in order of the ports. Ports
    /// that hold none may be missing.
    pub(super) fn of_ingress(&self, ingress: PortIx) -> impl Iterator<Item = (PortIx, &ByClass)> + Clone {
        let row = self.table.chunks(self.ports.max(1)).nth(ingress.index()).unwrap_or_default();
        let pairs = self.pairs.range((ingress.0, 0)..=(ingress.0, u16::MAX));
        let pairs = pairs.map(|((_, egress), held)| (PortIx(*egress), held));
        (0..).map(PortIx).zip(row).chain(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the pairs of `held` that hold bytes.
    fn occupied(held: &Held, ingress: PortIx) -> Vec<(PortIx, ByClass)> {
        let occupied = |(_, held): &(PortIx, &ByClass)| **held != ByClass::default();
        held.of_ingress(ingress).filter(occupied).map(|(egress, held)| (egress, *held)).collect()
    }

    proptest! {
        /// Nodes with few and with many ports report the same bytes.
        #[test]
        fn pairs_agree_with_the_table(
            changes in prop::collection::vec((0u16..4, 0u16..4, 0u8..3, 1u64..100, any::<bool>()), 1..100),
        ) {
            let (mut few, mut many) = (Held::new(4), Held::new(TABLE_PORTS + 1));
            prop_assert!(many.table.is_empty());
            for (ingress, egress, class, bytes, is_drained) in changes {
                let (ingress, egress, class) = (PortIx(ingress), PortIx(egress), Class(class));
                for held in [&mut few, &mut many] {
                    held.update(ingress, egress, class, |held| *held = if is_drained { 0 } else { *held + bytes });
                }
                prop_assert_eq!(few.get(ingress, egress), many.get(ingress, egress));
                prop_assert_eq!(occupied(&few, ingress), occupied(&many, ingress));
                // Pairs that hold nothing take no memory.
                let pairs = (0..4).map(|ingress| occupied(&few, PortIx(ingress)).len()).sum::<usize>();
                prop_assert_eq!(many.pairs.len(), pairs);
            }
        }
    }
}
