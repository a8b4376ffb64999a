//! Partition of a network into shards. The partition affects only the speed of a run, never the
//! result.
//!
//! Without its highest layer of switches, a network falls apart into pods; pods fall apart into
//! smaller pods or racks. Shards consist of whole pods, as far as these give every
//! shard a similar load.

use crate::frame::Direction;
use crate::ids::{FlowId, NodeId};
use crate::network::fabric::Fabric;
use crate::network::spec::FlowSpec;
use backwater_engine::index::IndexVec;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Nodes of every shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition(pub Vec<Vec<NodeId>>);

/// Number of flows from which loads are predicted. Later traffic is mostly similar.
pub const SAMPLE: usize = 10_000;

/// Cap on the packets of a flow, which endless flows reach.
const LONG_FLOW: u32 = 1 << 20;

/// Returns the predicted load of every node: the number of its ports, so that idle nodes are
/// spread, plus the packets of `flows` that pass the node. `flows` are the first flows of the run,
/// and the bytes of connections.
pub fn expected_load(fabric: &Fabric, flows: &[FlowSpec]) -> IndexVec<NodeId, u64> {
    let mut loads: IndexVec<NodeId, u64> =
        nodes(fabric).map(|node| fabric.wiring.ports_of(node).len() as u64).collect();
    for (id, flow) in (fabric.flows.next_id().0..).map(FlowId).zip(flows) {
        let packets = u64::from(fabric.packets(flow).min(LONG_FLOW));
        let mut node = flow.src;
        loads[node] += packets;
        for port in fabric.path(id, flow, Direction::Data) {
            node = fabric.wiring.neighbour(node, port);
            loads[node] += packets;
        }
    }
    loads
}

impl Partition {
    /// Creates at most `shards` non-empty shards of similar load.
    ///
    /// The network starts as one block. Blocks are dealt out, heaviest first, each to the shard
    /// with the least load. While a shard has more than 1.1 times its share, its heaviest block is
    /// split and all blocks are dealt out again.
    pub fn automatic(fabric: &Fabric, loads: &IndexVec<NodeId, u64>, shards: usize) -> Partition {
        let levels = levels(fabric);
        let shards = shards.clamp(1, loads.len().max(1));
        let fair = loads.iter().sum::<u64>() / shards as u64;
        let mut blocks = vec![Block::new(nodes(fabric).collect(), 0, loads)];
        loop {
            let (most, busiest) = deal(&mut blocks, shards);
            let divisible = |block: &Block| block.shard == busiest && block.nodes.len() > 1;
            let Some(heaviest) = blocks.iter().position(divisible).filter(|_| most > fair + fair / 10) else { break };
            let block = blocks.swap_remove(heaviest);
            blocks.extend(block.split(&levels[block.level], loads));
        }
        let mut parts = vec![Vec::new(); shards];
        for block in blocks {
            parts[block.shard].extend(block.nodes);
        }
        parts.retain(|part| !part.is_empty());
        // Nodes that exchange packets are neighbours in memory.
        for part in &mut parts {
            part.sort_unstable_by_key(|node| (rack(fabric, *node), *node));
        }
        Partition(parts)
    }
}

/// Nodes that stay together.
struct Block {
    nodes: Vec<NodeId>,
    /// Level at which the block splits next.
    level: usize,
    load: u64,
    shard: usize,
}

impl Block {
    fn new(nodes: Vec<NodeId>, level: usize, loads: &IndexVec<NodeId, u64>) -> Block {
        let load = nodes.iter().map(|node| loads[*node]).sum();
        Block { nodes, level, load, shard: 0 }
    }

    /// Splits the block into groups of nodes with the same label.
    fn split(&self, labels: &IndexVec<NodeId, NodeId>, loads: &IndexVec<NodeId, u64>) -> impl Iterator<Item = Block> {
        let mut groups: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for node in &self.nodes {
            groups.entry(labels[*node]).or_default().push(*node);
        }
        groups.into_values().map(|nodes| Block::new(nodes, self.level + 1, loads))
    }
}

/// Deals out `blocks`, heaviest first, each to the shard with the least load. Returns the highest
/// load and its shard.
fn deal(blocks: &mut [Block], shards: usize) -> (u64, usize) {
    blocks.sort_unstable_by_key(|block| (Reverse(block.load), block.nodes.first().copied()));
    let mut work: BinaryHeap<_> = (0..shards).map(|shard| Reverse((0, shard))).collect();
    for block in blocks {
        let Reverse((load, shard)) = &mut *work.peek_mut().expect("there is at least one shard");
        block.shard = *shard;
        *load += block.load;
    }
    work.into_iter().map(|Reverse(shard)| shard).max().expect("there is at least one shard")
}

/// Returns the labels of nodes at every level of splitting: nodes with the same label stay
/// together. The levels are connected components, pods without their highest layer, racks, single
/// nodes.
fn levels(fabric: &Fabric) -> Vec<IndexVec<NodeId, NodeId>> {
    let layer = |node| fabric.wiring.layer(node);
    let highest = nodes(fabric).map(layer).fold(1, u32::max);
    let connected = (1..=highest).rev().map(|highest| components(fabric, |node| layer(node) <= highest));
    connected.chain([nodes(fabric).map(|node| rack(fabric, node)).collect(), nodes(fabric).collect()]).collect()
}

/// Returns a label per node: the first node to which it is connected through nodes that are
/// `within`, or else the node itself.
fn components(fabric: &Fabric, within: impl Fn(NodeId) -> bool) -> IndexVec<NodeId, NodeId> {
    let mut labels = IndexVec::<NodeId, Option<NodeId>>::from(vec![None; fabric.spec.nodes.len()]);
    for first in nodes(fabric) {
        let mut found = vec![first];
        while let Some(node) = found.pop() {
            if labels[node].is_none() {
                labels[node] = Some(first);
                let next = neighbours(fabric, node).filter(|next| within(node) && within(*next));
                found.extend(next);
            }
        }
    }
    labels.iter().copied().flatten().collect()
}

/// Returns a host's first switch, or the node itself.
fn rack(fabric: &Fabric, node: NodeId) -> NodeId {
    let mut switches = neighbours(fabric, node).filter(|next| fabric.is_switch(*next));
    if fabric.is_switch(node) { node } else { switches.next().unwrap_or(node) }
}

fn nodes(fabric: &Fabric) -> impl Iterator<Item = NodeId> + use<> {
    fabric.spec.nodes.ids()
}

fn neighbours(fabric: &Fabric, node: NodeId) -> impl Iterator<Item = NodeId> {
    fabric.wiring.ports_of(node).iter().map(|port| fabric.wiring.peer(port))
}

#[cfg(test)]
mod tests;
