//! Routes to a block of targets, which one search finds for all of them.

use super::Wiring;
use crate::ids::{NodeId, PortId, PortIx};
use crate::network::spec::Nodes;
use backwater_engine::index::IndexVec;
use backwater_engine::interrupt;
use backwater_engine::memory::HeapBytes;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Set of targets of a block: bit `i` stands for the block's target `i`.
pub(super) type TargetSet = u64;

/// Maximum number of targets in a block.
pub(super) const BLOCK: usize = TargetSet::BITS as usize;

/// Returns the positions of a set's members.
fn members(set: TargetSet) -> impl Iterator<Item = usize> {
    let rest = |set: &TargetSet| Some(set & (set - 1)).filter(|rest| *rest != 0);
    std::iter::successors(Some(set).filter(|set| *set != 0), rest).map(|set| set.trailing_zeros() as usize)
}

/// Candidates of every node for each target of a block. Nodes with equal candidates for all targets
/// share a row. Most nodes of a regular network do.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Targets, at most [`BLOCK`].
    pub(super) targets: Vec<NodeId>,
    /// Index of each node's row in `rows`.
    row_of: IndexVec<NodeId, u32>,
    /// Rows: for each target an index into `lists`.
    rows: Vec<[u32; BLOCK]>,
    /// Lists of candidates, each stored once. The first list is empty.
    lists: Vec<Box<[PortIx]>>,
}

impl Block {
    /// Finds the routes to `targets`, which differ, without the ports of `down`.
    pub(super) fn new(nodes: &Nodes, wiring: &Wiring, down: &BTreeSet<PortId>, targets: Vec<NodeId>) -> Block {
        let onward = onward(nodes, wiring, down, &targets);
        let mut block = Block { targets, row_of: IndexVec::default(), rows: Vec::new(), lists: vec![Box::default()] };
        let mut rows: FxHashMap<&[TargetSet], u32> = FxHashMap::default();
        let mut lists = FxHashMap::default();
        let row_of = nodes.ids().map(|node| {
            let sets = wiring.of_ports(&onward, node);
            *rows.entry(sets).or_insert_with(|| block.add_row(sets, &mut lists))
        });
        block.row_of = row_of.collect();
        block
    }

    /// Adds the row of a node whose ports lead closer to the targets of `sets`. Returns its index.
    fn add_row(&mut self, sets: &[TargetSet], lists: &mut FxHashMap<Box<[PortIx]>, u32>) -> u32 {
        let mut row = [0; BLOCK];
        let mut rest = sets.iter().fold(0, |all, set| all | set);
        while rest != 0 {
            // Targets with the candidates of the first remaining target.
            let (first, mut alike, mut list) = (rest.trailing_zeros(), rest, Vec::new());
            for (ix, set) in (0..).map(PortIx).zip(sets) {
                let leads = set >> first & 1 == 1;
                alike &= if leads { *set } else { !*set };
                list.extend(leads.then_some(ix));
            }
            let index = lists.entry(list.into()).or_insert_with_key(|list| {
                self.lists.push(list.clone());
                self.lists.len() as u32 - 1
            });
            members(alike).for_each(|target| row[target] = *index);
            rest &= !alike;
        }
        self.rows.push(row);
        self.rows.len() as u32 - 1
    }

    /// Returns the ports of `node` on shortest paths to the block's target `target`.
    #[inline]
    pub(super) fn candidates(&self, node: NodeId, target: usize) -> &[PortIx] {
        &self.lists[self.rows[self.row_of[node] as usize][target] as usize]
    }

    /// Returns for each port the targets to which the port leads closer.
    pub(super) fn onward(&self, wiring: &Wiring) -> IndexVec<PortId, TargetSet> {
        let sets_by_list = |row: &[u32; BLOCK]| {
            let mut targets: Vec<usize> = (0..self.targets.len()).collect();
            targets.sort_unstable_by_key(|target| row[*target]);
            let alike = targets.chunk_by(|one, other| row[*one] == row[*other]);
            let set = |alike: &[usize]| (row[alike[0]], alike.iter().fold(0, |set, target| set | 1 << target));
            alike.map(set).collect::<Vec<(u32, TargetSet)>>()
        };
        let rows: Vec<_> = self.rows.iter().map(sets_by_list).collect();
        let mut onward = IndexVec::from(vec![0; wiring.ports.len()]);
        for (node, row) in self.row_of.enumerate() {
            for (list, set) in &rows[*row as usize] {
                for ix in &self.lists[*list as usize] {
                    onward[wiring.port_at(node, *ix).id] |= set;
                }
            }
        }
        onward
    }

    /// Returns the heap size in bytes.
    pub(super) fn heap_bytes(&self) -> u64 {
        let ports: usize = self.lists.iter().map(|list| size_of_val(&**list)).sum();
        let of_lists = self.lists.heap_bytes() + ports as u64;
        self.targets.heap_bytes() + self.row_of.heap_bytes() + self.rows.heap_bytes() + of_lists
    }
}

/// Returns for each port the targets to which the port leads one hop closer on a path without the
/// ports of `down`. Paths pass only through nodes that forward packets.
///
/// One breadth-first search moves away from all targets at once.
fn onward(nodes: &Nodes, wiring: &Wiring, down: &BTreeSet<PortId>, targets: &[NodeId]) -> IndexVec<PortId, TargetSet> {
    let mut onward = IndexVec::from(vec![0; wiring.ports.len()]);
    let mut reached = IndexVec::<NodeId, TargetSet>::from(vec![0; nodes.len()]);
    let mut front: Vec<(NodeId, TargetSet)> = targets.iter().enumerate().map(|(i, node)| (*node, 1 << i)).collect();
    front.iter().for_each(|(node, set)| reached[*node] |= set);
    let mut found = IndexVec::<NodeId, TargetSet>::from(vec![0; nodes.len()]);
    while !front.is_empty() {
        interrupt::check();
        let mut next = Vec::new();
        for (node, set) in front {
            for port in wiring.ports_of(node).iter().filter(|port| !down.contains(&port.id)) {
                let peer = wiring.peer(port);
                let new = set & !reached[peer];
                if new != 0 {
                    onward[port.peer] |= new;
                    next.extend((found[peer] == 0).then_some(peer));
                    found[peer] |= new;
                }
            }
        }
        let further = next.into_iter().filter_map(|node| {
            let set = std::mem::take(&mut found[node]);
            reached[node] |= set;
            nodes[node].kind.forwards().then_some((node, set))
        });
        front = further.collect();
    }
    onward
}
