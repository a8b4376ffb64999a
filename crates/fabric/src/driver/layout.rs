//! Places of nodes and wires: shard, and index within the shard.

use crate::driver::partition::Partition;
use crate::ids::{NodeId, PortId};
use crate::model::port::WireIx;
use crate::network::fabric::Fabric;
use backwater_engine::index::IndexVec;
use backwater_engine::memory::HeapBytes;

/// Places of all nodes and wires of a partitioned network.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Number of shards. Shards may be empty.
    pub(crate) shards: usize,
    nodes: IndexVec<NodeId, NodePlace>,
    /// Wire that ends at each port. The wires of a shard are numbered in the order of these ports,
    /// so those of a node are in the order of its ports.
    wires: IndexVec<PortId, WireIx>,
}

/// Place of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodePlace {
    pub(crate) shard: u32,
    /// Index within the shard.
    pub(crate) node: u32,
}

impl Layout {
    pub(crate) fn new(fabric: &Fabric, partition: &Partition) -> Layout {
        let mut nodes = IndexVec::<NodeId, _>::from(vec![NodePlace { shard: 0, node: 0 }; fabric.spec.nodes.len()]);
        for (shard, members) in (0..).zip(&partition.0) {
            for (local, node) in (0..).zip(members) {
                nodes[*node] = NodePlace { shard, node: local };
            }
        }
        let facts = &fabric.wiring.ports;
        let shard = |port: PortId| nodes[facts[port].node].shard;
        let mut next = vec![WireIx::MIN; partition.0.len()];
        let wires = facts.iter().map(|port| {
            let next = &mut next[shard(port.id) as usize];
            let following = next.checked_add(1).expect("there are at most 2^27 ports");
            std::mem::replace(next, following)
        });
        Layout { shards: partition.0.len(), wires: wires.collect(), nodes }
    }

    /// Returns the heap size in bytes.
    pub(crate) fn heap_bytes(&self) -> u64 {
        self.nodes.heap_bytes() + self.wires.heap_bytes()
    }

    #[inline]
    pub(crate) fn node(&self, node: NodeId) -> NodePlace {
        self.nodes[node]
    }

    /// Returns the wire that ends at a port.
    #[inline]
    pub(crate) fn wire(&self, port: PortId) -> WireIx {
        self.wires[port]
    }
}
