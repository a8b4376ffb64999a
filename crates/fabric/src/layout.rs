//! Where nodes, ports and wires live: which shard, and which place in it.

use crate::fabric::Fabric;
use crate::ids::{NodeId, PortId, PortIx};
use crate::memory::HeapBytes;
use crate::partition::Partition;
use backwater_engine::Duration;

/// The place of every node and port of a partitioned network.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Number of shards; some may be empty.
    pub(crate) shards: usize,
    nodes: Vec<NodePlace>,
    ports: Vec<PortPlace>,
}

/// The place of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodePlace {
    pub(crate) shard: u32,
    /// Its number in the shard.
    pub(crate) node: u32,
}

/// The place of a port and where what it sends goes: half a cache line that every event reads.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct PortPlace {
    /// Delay of its link.
    pub(crate) delay: Duration,
    /// The port at the other end of its link.
    pub(crate) peer: PortId,
    /// The wire to that port, if it is in the same shard.
    pub(crate) peer_wire: Option<WireIx>,
    pub(crate) shard: u32,
    /// The number of its node in the shard.
    pub(crate) node: u32,
    /// The wire that ends at the port.
    pub(crate) wire: WireIx,
    /// Its number in its node.
    pub(crate) ix: PortIx,
}

const _: () = assert!(size_of::<PortPlace>() == 32);

/// A wire of a shard. Counted from 1, so that an optional one takes no more room and a [`PortPlace`] stays half a cache line.
pub(crate) type WireIx = std::num::NonZeroU32;

impl Layout {
    pub(crate) fn new(fabric: &Fabric, partition: &Partition) -> Layout {
        let mut nodes = vec![NodePlace { shard: 0, node: 0 }; fabric.spec.nodes.len()];
        let mut wires = vec![WireIx::MIN; fabric.wiring.ports.len()];
        for (shard, members) in (0..).zip(&partition.0) {
            let mut wire = WireIx::MIN;
            for (local, node) in (0..).zip(members) {
                nodes[node.0 as usize] = NodePlace { shard, node: local };
                for port in fabric.wiring.of(*node) {
                    wires[port.id.0 as usize] = wire;
                    wire = wire.checked_add(1).expect("there are at most 2^27 ports");
                }
            }
        }
        let ports = fabric.wiring.ports.iter().map(|port| {
            let place = |port: PortId| nodes[fabric.wiring.ports[port.0 as usize].node.0 as usize];
            let NodePlace { shard, node } = place(port.id);
            PortPlace {
                delay: port.delay,
                peer: port.peer,
                peer_wire: (place(port.peer).shard == shard).then_some(wires[port.peer.0 as usize]),
                shard,
                node,
                wire: wires[port.id.0 as usize],
                ix: port.ix,
            }
        });
        Layout { shards: partition.0.len(), ports: ports.collect(), nodes }
    }

    /// Bytes that the places hold on the heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        self.nodes.heap_bytes() + self.ports.heap_bytes()
    }

    #[inline]
    pub(crate) fn node(&self, node: NodeId) -> NodePlace {
        self.nodes[node.0 as usize]
    }

    #[inline]
    pub(crate) fn port(&self, port: PortId) -> &PortPlace {
        &self.ports[port.0 as usize]
    }
}
