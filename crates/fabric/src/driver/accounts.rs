//! Latency breakdowns of flows, from the ledgers of both endpoints and, for unfinished flows, from
//! the packets in the network.

use crate::driver::layout::NodePlace;
use crate::driver::shard::Shard;
use crate::driver::simulation::Simulation;
use crate::frame::journey::Journey;
use crate::frame::{Frame, PacketKind, Psn};
use crate::ids::{FlowId, NodeId};
use crate::model::flags::NodeFlags;
use crate::model::host::Posted;
use crate::model::ledger::{FlowAccount, Ledger};
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
            let at_sender = || sender.sending(flow.sender.get()?, (0, flow.spec.start), self.now);
            let mut journey = stuck.get(&id).cloned().or_else(at_sender)?;
            journey.cut(self.now);
            account.completion = journey.spans().collect();
        }
        Some(Box::new(account))
    }

    /// Returns the latency breakdown up to now of an unfinished message, which has not arrived.
    /// `is_arriving` is true for the message that the receiver expects.
    pub(super) fn message_account(
        &self,
        id: FlowId,
        flow: &Flow,
        posted: &Posted,
        is_arriving: bool,
        stuck: &BTreeMap<FlowId, Journey>,
    ) -> Option<Box<FlowAccount>> {
        let ledger = |node: NodeId| self.node(node).io.ledger.as_deref();
        let (sender, receiver) = (ledger(flow.spec.src)?, ledger(flow.spec.dst)?);
        let mut account = if is_arriving { receiver.account(id) } else { FlowAccount::default() };
        let on_way = || stuck.get(&id).filter(|_| is_arriving).cloned();
        let at_sender = || sender.sending(flow.sender.get()?, (posted.packets[0], posted.at), self.now);
        let mut journey = on_way().or_else(at_sender)?;
        journey.cut(self.now);
        account.completion = journey.spans().collect();
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
            let is_wanted = |frame: &Frame| {
                let data = frame.packet().filter(|packet| packet.kind == PacketKind::Data);
                data.is_some_and(|packet| wanted.get(&packet.flow) == Some(&packet.psn))
            };
            let mut found = |frame: &Frame, until_now: &dyn Fn(&Journey) -> Journey| {
                let Some(packet) = frame.packet().filter(|_| is_wanted(frame)) else { return };
                let Some(so_far) = shard.records.journey(frame.record) else { return };
                let is_later = |other: &Journey| other.sent_after() <= so_far.sent_after();
                if !stuck.get(&packet.flow).is_some_and(is_later) {
                    stuck.insert(packet.flow, until_now(so_far));
                }
            };
            for frame in shard.frames_on_wires() {
                found(frame, &Journey::clone);
            }
            for node in &shard.nodes {
                let Some(ledger) = &node.io.ledger else { continue };
                for port in node.ports() {
                    for queue in port.queues() {
                        let frames = || port.frames(queue, &shard.frames).map(|queued| &queued.frame);
                        // Frames whose journeys `ahead` counts: those before a wanted packet.
                        let (mut counted, mut ahead, mut before) = (0, 0, frames());
                        for (place, frame) in frames().enumerate().filter(|(_, frame)| is_wanted(frame)) {
                            let passed = before.by_ref().take(place - counted);
                            ahead += passed.filter(|frame| shard.records.journey(frame.record).is_some()).count();
                            counted = place;
                            let place = (queue, ahead);
                            found(frame, &|journey| ledger.waiting(port.ix, place, frame.class(), journey, self.now));
                        }
                    }
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
