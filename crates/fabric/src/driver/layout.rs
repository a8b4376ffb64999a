//! Places of nodes, ports and wires: shard, and index within the shard.

use crate::driver::partition::Partition;
use crate::ids::{NodeId, PortId};
use crate::model::port::{PortWires, WireIx};
use crate::network::fabric::Fabric;
use backwater_engine::index::IndexVec;
use backwater_engine::memory::HeapBytes;

/// Places of all nodes and ports of a partitioned network.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Number of shards. Shards may be empty.
    pub(crate) shards: usize,
    nodes: IndexVec<NodeId, NodePlace>,
    ports: IndexVec<PortId, PortWires>,
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
        let wires: IndexVec<PortId, WireIx> = wires.collect();
        let ports = facts.iter().zip(&wires).map(|(port, wire)| PortWires {
            wire: *wire,
            peer_wire: (shard(port.peer) == shard(port.id)).then_some(wires[port.peer]),
        });
        Layout { shards: partition.0.len(), ports: ports.collect(), nodes }
    }

    /// Returns the heap size in bytes.
    pub(crate) fn heap_bytes(&self) -> u64 {
        self.nodes.heap_bytes() + self.ports.heap_bytes()
    }

    #[inline]
    pub(crate) fn node(&self, node: NodeId) -> NodePlace {
        self.nodes[node]
    }

    #[inline]
    pub(crate) fn port(&self, port: PortId) -> PortWires {
        self.ports[port]
    }
}
