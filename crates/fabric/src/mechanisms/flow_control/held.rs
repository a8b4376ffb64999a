//! Bytes that a node holds, by ingress port, egress port and class.

use crate::ids::{CLASSES, Class, PortIx};
use backwater_engine::index::Id;
use get_size2::GetSize;
use std::collections::BTreeMap;

/// Maximum number of ports of a node with tables of all pairs of ports.
const TABLE_PORTS: usize = 256;

/// Row beyond all tables.
const NO_ROW: u16 = u16::MAX;

type ByClass = [u64; CLASSES];

/// Bytes that a node holds, by ingress port, egress port and class.
///
/// A table of all pairs of ports is fast, but its size is the square of the number of ports. A
/// class has a table from its first packet on. Nodes with many ports store only pairs that hold
/// bytes.
#[derive(Debug, GetSize)]
pub(super) struct Held {
    ports: usize,
    /// First row of each class's table; [`NO_ROW`] before the class's first packet, and for nodes
    /// with many ports.
    first_row: [u16; CLASSES],
    /// Tables, one after another, each with a row for each ingress port.
    tables: Vec<u64>,
    /// Pairs that hold bytes and have no row.
    pairs: BTreeMap<(u16, u16), ByClass>,
}

impl Held {
    /// Returns the bytes of a node with `ports` ports that holds none.
    pub(super) fn new(ports: usize) -> Held {
        Held { ports, first_row: [NO_ROW; CLASSES], tables: Vec::new(), pairs: BTreeMap::new() }
    }

    /// Changes the bytes of a class that arrived on `ingress` and wait at `egress`.
    #[inline(always)]
    pub(super) fn update(&mut self, ingress: PortIx, egress: PortIx, class: Class, change: impl FnOnce(&mut u64)) {
        let place = self.place(ingress, egress, class.index());
        match self.tables.get_mut(place) {
            Some(held) => change(held),
            None => self.update_without_table(ingress, egress, class, change),
        }
    }

    #[inline(never)]
    fn update_without_table(&mut self, ingress: PortIx, egress: PortIx, class: Class, change: impl FnOnce(&mut u64)) {
        if self.has_row(ingress) && self.first_row[class.index()] == NO_ROW {
            self.first_row[class.index()] = (self.tables.len() / self.ports) as u16;
            self.tables.resize(self.tables.len() + self.ports * self.ports, 0);
            return self.update(ingress, egress, class, change);
        }
        let held = self.pairs.entry((ingress.0, egress.0)).or_default();
        change(&mut held[class.index()]);
        if *held == ByClass::default() {
            self.pairs.remove(&(ingress.0, egress.0));
        }
    }

    /// Returns the bytes that arrived on `ingress` and wait at `egress`.
    pub(super) fn get(&self, ingress: PortIx, egress: PortIx) -> ByClass {
        if self.has_row(ingress) {
            let held = |class| self.tables.get(self.place(ingress, egress, class)).copied().unwrap_or(0);
            std::array::from_fn(held)
        } else {
            self.pairs.get(&(ingress.0, egress.0)).copied().unwrap_or_default()
        }
    }

    /// Returns true if tables have a row for `ingress`. Packets that the node made have none.
    fn has_row(&self, ingress: PortIx) -> bool {
        self.ports <= TABLE_PORTS && ingress.index() < self.ports
    }

    /// Returns the place of a pair and class in `tables`. The place is beyond the end if the class
    /// has no table.
    #[inline(always)]
    fn place(&self, ingress: PortIx, egress: PortIx, class: usize) -> usize {
        (usize::from(self.first_row[class]) + ingress.index()) * self.ports + egress.index()
    }

    /// Returns the bytes that arrived on `ingress` by egress port, in order of the ports. Ports
    /// that hold none may be missing.
    pub(super) fn of_ingress(&self, ingress: PortIx) -> impl Iterator<Item = (PortIx, ByClass)> + Clone {
        let row = PortIx::range(0..if self.has_row(ingress) { self.ports } else { 0 });
        let pairs = self.pairs.range((ingress.0, 0)..=(ingress.0, u16::MAX));
        let pairs = pairs.map(|((_, egress), held)| (PortIx(*egress), *held));
        row.map(move |egress| (egress, self.get(ingress, egress))).chain(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the pairs of `held` that hold bytes.
    fn occupied(held: &Held, ingress: PortIx) -> Vec<(PortIx, ByClass)> {
        held.of_ingress(ingress).filter(|(_, held)| *held != ByClass::default()).collect()
    }

    /// Ingress ports of a node with four ports. The last one is that of packets that the node made.
    const INGRESS: [PortIx; 5] = [PortIx(0), PortIx(1), PortIx(2), PortIx(3), PortIx::NONE];

    proptest! {
        /// Nodes with few and with many ports report the same bytes.
        #[test]
        fn pairs_agree_with_the_table(
            changes in prop::collection::vec((0u16..5, 0u16..4, 0u8..3, 1u64..100, any::<bool>()), 1..100),
        ) {
            let (mut few, mut many) = (Held::new(4), Held::new(TABLE_PORTS + 1));
            for (ingress, egress, class, bytes, is_drained) in changes {
                let (ingress, egress, class) = (INGRESS[usize::from(ingress)], PortIx(egress), Class(class));
                for held in [&mut few, &mut many] {
                    held.update(ingress, egress, class, |held| *held = if is_drained { 0 } else { *held + bytes });
                }
                prop_assert_eq!(few.get(ingress, egress), many.get(ingress, egress));
                prop_assert_eq!(occupied(&few, ingress), occupied(&many, ingress));
                // Pairs that hold nothing take no memory.
                let pairs = INGRESS.map(|ingress| occupied(&few, ingress).len()).iter().sum::<usize>();
                prop_assert_eq!(many.pairs.len(), pairs);
            }
            // Classes without packets have no table, nor do nodes with many ports.
            prop_assert!(few.tables.len() <= 3 * 4 * 4 && many.tables.is_empty());
        }
    }
}
