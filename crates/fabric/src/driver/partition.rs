//! Which node goes into which shard. Results do not depend on it; speed does.
//!
//! The tier of a switch is how many hops the nearest host is away: 1 of a leaf, 2 of a spine, 3 of the core of a fat-tree. Without the
//! switches of its highest tier, a network comes apart into pods, and a pod into smaller ones or racks. Shards are made of whole pods as far
//! as that gives each about the same to do.

use crate::frame::Direction;
use crate::ids::{FlowId, NodeId};
use crate::network::fabric::Fabric;
use crate::network::spec::FlowSpec;
use backwater_engine::index::IndexVec;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// Which nodes make up which shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition(pub Vec<Vec<NodeId>>);

/// How many flows tell what is to be expected. The traffic of later ones mostly looks the same.
pub(crate) const SAMPLE: usize = 10_000;

/// A flow of more packets counts as one of this many: as one without end.
const LONG_FLOW: u32 = 1 << 20;

/// What every node will have to do, in packets that pass it: those of `flows`, the first ones of the run, and one per port, which
/// spreads idle parts as well.
pub fn expected_load(fabric: &Fabric, flows: &[FlowSpec]) -> IndexVec<NodeId, u64> {
    let mut loads: IndexVec<NodeId, u64> = nodes(fabric).map(|node| fabric.wiring.of(node).len() as u64).collect();
    for (id, flow) in (0..).map(FlowId).zip(flows) {
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
    /// At most `shards` shards, none of them empty, that have about the same to do if node `n` has `loads[n]` to do.
    ///
    /// At first, the network is one block. Blocks are dealt out, the heaviest first, each to the shard that has least to do so far. While one
    /// shard then has more than a tenth above its share, its heaviest block is taken apart, and all are dealt out anew.
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
        // Neighbours at work are neighbours in memory.
        for part in &mut parts {
            part.sort_unstable_by_key(|node| (rack(fabric, *node), *node));
        }
        Partition(parts)
    }
}

/// Nodes that stay together.
struct Block {
    nodes: Vec<NodeId>,
    /// The level at which it comes apart.
    level: usize,
    load: u64,
    shard: usize,
}

impl Block {
    fn new(nodes: Vec<NodeId>, level: usize, loads: &IndexVec<NodeId, u64>) -> Block {
        let load = nodes.iter().map(|node| loads[*node]).sum();
        Block { nodes, level, load, shard: 0 }
    }

    /// Those of its nodes that have the same label stay together.
    fn split(&self, labels: &IndexVec<NodeId, NodeId>, loads: &IndexVec<NodeId, u64>) -> impl Iterator<Item = Block> {
        let mut groups: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for node in &self.nodes {
            groups.entry(labels[*node]).or_default().push(*node);
        }
        groups.into_values().map(|nodes| Block::new(nodes, self.level + 1, loads))
    }
}

/// Orders `blocks`, the heaviest first, and gives each to the shard that has least to do so far. How much the busiest then has, and which it is.
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

/// How the network comes apart, step by step: at each level, nodes with the same label stay together. First what is not connected goes apart,
/// then pods without their highest tier, then racks, then nodes.
fn levels(fabric: &Fabric) -> Vec<IndexVec<NodeId, NodeId>> {
    let tiers = tiers(fabric);
    let highest = tiers.iter().copied().fold(1, u32::max);
    let connected = (1..=highest).rev().map(|tier| components(fabric, |node| tiers[node] <= tier));
    connected.chain([nodes(fabric).map(|node| rack(fabric, node)).collect(), nodes(fabric).collect()]).collect()
}

/// Hops from every node to the nearest host; 0 where there is none.
fn tiers(fabric: &Fabric) -> IndexVec<NodeId, u32> {
    let mut tiers = IndexVec::<NodeId, u32>::from(vec![0; fabric.spec.nodes.len()]);
    let mut queue: VecDeque<NodeId> = nodes(fabric).filter(|node| !fabric.is_switch(*node)).collect();
    while let Some(node) = queue.pop_front() {
        for next in neighbours(fabric, node).filter(|next| fabric.is_switch(*next)) {
            if tiers[next] == 0 {
                tiers[next] = tiers[node] + 1;
                queue.push_back(next);
            }
        }
    }
    tiers
}

/// Per node, the first of all nodes that it is connected to through nodes that are `within`; itself, if it is not.
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

/// A host's first switch; every other node is its own rack.
fn rack(fabric: &Fabric, node: NodeId) -> NodeId {
    let mut switches = neighbours(fabric, node).filter(|next| fabric.is_switch(*next));
    if fabric.is_switch(node) { node } else { switches.next().unwrap_or(node) }
}

fn nodes(fabric: &Fabric) -> impl Iterator<Item = NodeId> + use<> {
    fabric.spec.node_ids()
}

fn neighbours(fabric: &Fabric, node: NodeId) -> impl Iterator<Item = NodeId> {
    fabric.wiring.of(node).iter().map(|port| fabric.wiring.peer(port))
}

#[cfg(test)]
mod tests;
