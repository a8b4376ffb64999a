//! Latency breakdowns of flows, from the ledgers of both endpoints and, for unfinished flows, from
//! the packets in the network.

use crate::driver::layout::NodePlace;
use crate::driver::shard::Shard;
use crate::driver::simulation::Simulation;
use crate::frame::journey::Journey;
use crate::frame::{Frame, PacketKind, Psn};
use crate::ids::{FlowId, NodeId, PortIx, QueueIx};
use crate::model::flags::NodeFlags;
use crate::model::ledger::{FlowAccount, Ledger};
use crate::model::node::Node;
use crate::network::flows::Flow;
use std::collections::BTreeMap;

impl Simulation {
    /// Records the time of packets for latency breakdowns, which outcomes then include. Must be
    /// called before the first event.
    pub fn watch_flows(&mut self) {
        let follows_acks = self.fabric.spec.congestion.needs_ack_times();
        for node in self.shards.iter_mut().flat_map(Shard::nodes_mut) {
            let ledger = Ledger::new(self.fabric.wiring.ports_of(node.id), follows_acks);
            node.io.ledger = Some(Box::new(ledger));
            node.io.flags |= NodeFlags::TRACE;
        }
    }

    /// Takes the latency breakdown of a finished flow out of the ledgers of its endpoints.
    pub(super) fn take_account(&mut self, id: FlowId, flow: &Flow) -> Option<Box<FlowAccount>> {
        let [sender, receiver] = [flow.spec.src, flow.spec.dst].map(|node| {
            let NodePlace { shard, node } = self.layout.node(node);
            let node = &mut self.shards[shard as usize].nodes[node as usize];
            node.io.ledger.as_mut().map(|ledger| ledger.take(id))
        });
        Some(Box::new(receiver?.with_sender(sender?)))
    }

    /// Returns the latency breakdown of an unfinished flow up to now. `stuck` holds the packets
    /// that unfinished flows wait for.
    pub(super) fn account(
        &self,
        id: FlowId,
        flow: &Flow,
        stuck: &BTreeMap<FlowId, Journey>,
    ) -> Option<Box<FlowAccount>> {
        let ledger = |node: NodeId| self.node(node).io.ledger.as_deref();
        let (sender, receiver) = (ledger(flow.spec.src)?, ledger(flow.spec.dst)?);
        let mut account = receiver.account(id).with_sender(sender.account(id));
        if account.completion.is_empty() {
            let at_sender = || sender.sending(flow.sender.get()?, flow.spec.start, self.now);
            let mut journey = stuck.get(&id).cloned().or_else(at_sender)?;
            journey.cut(self.now);
            account.completion = journey.spans().collect();
        }
        Some(Box::new(account))
    }

    /// Returns, for every incomplete flow, the breakdown up to now of the packet that its receiver
    /// expects, if that packet is in the network. Of several copies of the packet, the copy sent
    /// first counts.
    pub(super) fn stuck(&self) -> BTreeMap<FlowId, Journey> {
        let mut stuck = BTreeMap::new();
        if self.shards.iter().flat_map(|shard| &shard.nodes).all(|node| node.io.ledger.is_none()) {
            return stuck;
        }
        let wanted: BTreeMap<FlowId, Psn> =
            self.fabric.flows.iter().map(|(id, flow)| (id, self.expected(&flow))).collect();
        for shard in &self.shards {
            let mut found = |frame: &Frame, journey: &dyn Fn(&Journey) -> Journey| {
                let Some(packet) = frame.packet().filter(|packet| packet.kind == PacketKind::Data) else { return };
                let Some(so_far) = shard.records.journey(frame.record) else { return };
                if wanted.get(&packet.flow) != Some(&packet.psn) {
                    return;
                }
                let is_later = |other: &Journey| other.sent_after() <= so_far.sent_after();
                if !stuck.get(&packet.flow).is_some_and(is_later) {
                    stuck.insert(packet.flow, journey(so_far));
                }
            };
            for frame in shard.frames_on_wires() {
                found(frame, &Journey::clone);
            }
            for node in &shard.nodes {
                let Some(ledger) = &node.io.ledger else { continue };
                for (port, place, frame) in queued(node, shard) {
                    found(frame, &|journey| ledger.waiting(port, place, frame.class(), journey, self.now));
                }
                for (port, frame) in node.switch().into_iter().flat_map(|switch| switch.transit.frames()) {
                    found(frame, &|journey| ledger.forwarding(port, journey, self.now));
                }
            }
        }
        stuck
    }

    /// Returns the packet that the flow's receiver expects.
    fn expected(&self, flow: &Flow) -> Psn {
        self.node(flow.spec.dst).endpoint().map_or(0, |endpoint| endpoint.expected(flow))
    }
}

/// Returns the packets with journeys in a node's queues. The place of a packet is its queue, and
/// the number of packets before it there.
fn queued<'a>(node: &'a Node, shard: &'a Shard) -> impl Iterator<Item = (PortIx, (QueueIx, usize), &'a Frame)> {
    node.ports().iter().flat_map(move |port| {
        port.queues().flat_map(move |queue| {
            let frames = port.frames(queue, &shard.frames).map(|queued| &queued.frame);
            let accounted = frames.filter(|frame| shard.records.journey(frame.record).is_some());
            accounted.enumerate().map(move |(ahead, frame)| (port.ix, (queue, ahead), frame))
        })
    })
}
