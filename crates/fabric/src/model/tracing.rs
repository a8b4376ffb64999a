//! Tracing and accounting: reports packets and senders to the trace and to the ledger. This module
//! never changes a packet's path.

use crate::contract::packet::QueuedPacket;
use crate::contract::report::{IngressOccupancy, Report};
use crate::contract::{BufferAccounts, BufferPolicy, PacketContext, QueueChoice, Verdict};
use crate::frame::record::Records;
use crate::frame::{Body, Frame, Packet, PacketKind};
use crate::ids::{FlowId, PortIx, QueueIx, Slot};
use crate::mechanisms::headroom::AnyBufferPolicy;
use crate::model::fifo::{Frames, Place};
use crate::model::io::NodeIo;
use crate::model::ledger::{OnWire, PairFacts};
use crate::model::port::Port;
use crate::model::sink::Sink;
use crate::model::switch::Switch;
use crate::network::fabric::Fabric;
use backwater_engine::{Rate, Time};

/// Reports of a node that is traced or keeps a ledger.
pub(crate) struct Tracer<'a, S> {
    io: &'a mut NodeIo,
    buffer: Option<&'a AnyBufferPolicy>,
    sink: &'a mut S,
    now: Time,
}

impl<'a, S: Sink> Tracer<'a, S> {
    pub(crate) fn new(io: &'a mut NodeIo, switch: &'a Option<Box<Switch>>, sink: &'a mut S, now: Time) -> Self {
        Tracer { io, buffer: switch.as_ref().map(|switch| &switch.buffer), sink, now }
    }

    /// Reports a packet that joins its queue, which holds `queue_bytes` including the packet.
    #[inline(never)]
    pub(crate) fn enqueued(&mut self, at: &mut PacketContext<'_>, queue_bytes: u64) {
        let Some(&Packet { flow, psn, kind, .. }) = at.packet.frame.packet() else { return };
        if self.sink.traces(self.now) {
            let port = self.io.ports[at.egress].id;
            let (queue, class, ingress) = (at.queue, at.egress_class(), self.ingress_occupancy(at, 0));
            self.sink.report(
                Report::Enqueued { port, queue, kind, class, flow, psn, bytes: queue_bytes, ingress },
                self.now,
            );
        }
        let class = at.egress_class();
        if let (Some(ledger), Some(journey)) = (&mut self.io.ledger, at.records.journey_mut(at.packet.frame.record)) {
            ledger.join(at.egress, at.queue, class, journey, self.now);
        }
    }

    /// Reports a packet of this node that joins its queue. An ACK or NACK continues the journey of
    /// the packet that it answers.
    #[inline(never)]
    pub(crate) fn own_enqueued(&mut self, at: &mut PacketContext<'_>) {
        if let (Some(ledger), PacketKind::Ack | PacketKind::Nack) = (&mut self.io.ledger, at.headers().kind)
            && let Some(journey) = ledger.answered.take()
        {
            at.records.set_journey(&mut at.packet.frame.record, journey);
        }
        let bytes = self.io.ports[at.egress].queue_bytes(at.queue) + u64::from(at.bytes());
        self.enqueued(at, bytes);
    }

    /// Returns the state of the packet's ingress queue without `less` bytes.
    fn ingress_occupancy(&self, at: &PacketContext<'_>, less: u64) -> Option<IngressOccupancy> {
        let buffer = self.buffer.filter(|_| at.is_charged())?;
        let (port, class) = (at.ingress(), at.ingress_class());
        let (bytes, threshold) =
            (buffer.ingress_occupancy(port, class).saturating_sub(less), buffer.threshold(port, class));
        Some(IngressOccupancy { port, class, bytes, threshold })
    }

    /// Reports a packet that has moved from one queue of its port to another.
    #[inline(never)]
    pub(crate) fn moved(&mut self, from: QueueChoice, to: &mut PacketContext<'_>) {
        let Some(Packet { flow, psn, kind, .. }) = to.packet.frame.packet().copied() else { return };
        let port = self.io.ports[to.egress].id;
        let QueueChoice { queue, class, .. } = from;
        self.sink.report(Report::Moved { port, queue, to: to.queue, kind, class, flow, psn }, self.now);
        let next_class = to.egress_class();
        let Some(ledger) = &mut self.io.ledger else { return };
        let record = &mut to.packet.frame.record;
        if let Some(journey) = to.records.journey_mut(*record) {
            ledger.leave(to.egress, queue, class, journey, self.now);
        } else {
            // The ledger must know which queues the packet has passed.
            to.records.start_journey(record, self.now);
        }
        if let Some(journey) = to.records.journey_mut(*record) {
            journey.pass(queue);
            ledger.join(to.egress, to.queue, next_class, journey, self.now);
        }
    }

    #[inline(never)]
    fn dequeued(&mut self, at: &PacketContext<'_>) {
        let Some(Packet { flow, psn, kind, class, .. }) = at.packet.frame.packet().copied() else { return };
        let (ingress, queue) = (self.ingress_occupancy(at, at.bytes().into()), at.queue);
        let port = &self.io.ports[at.egress];
        let bytes = port.queue_bytes(queue);
        self.sink.report(Report::Dequeued { port: port.id, queue, kind, class, flow, psn, bytes, ingress }, self.now);
    }

    /// Reports a packet that the congestion point marked on departure.
    #[inline(never)]
    pub(crate) fn marked(&mut self, at: &mut PacketContext<'_>) {
        let (port, Packet { flow, psn, .. }) = (self.io.ports[at.egress].id, *at.headers());
        self.sink.report(Report::Marked { port, queue: at.queue, flow, psn }, self.now);
        if let Some(journey) = at.records.journey_mut(at.packet.frame.record) {
            journey.marked = Some((port, self.now));
        }
    }

    /// Reports a packet that has left its queue and starts on the wire.
    #[inline(never)]
    pub(crate) fn started(&mut self, at: &mut PacketContext<'_>) {
        let Packet { kind, class, .. } = *at.headers();
        if self.sink.traces(self.now) {
            self.dequeued(at);
        }
        let port = &self.io.ports[at.egress];
        let Some(ledger) = &mut self.io.ledger else { return };
        let (record, until) = (at.packet.frame.record, self.now + port.serialisation(at.wire_bytes()));
        let stamps = at.records.telemetry(record).map_or(0, |telemetry| telemetry.stamps().len());
        let mut journey = at.records.journey_mut(record);
        if let Some(journey) = &mut journey {
            ledger.leave(at.egress, at.queue, class, journey, self.now);
        }
        let passed = journey.as_ref().map_or(&[][..], |journey| journey.passed());
        ledger.start(at.egress, OnWire::Packet(kind, class), Some(at.queue), passed, until, self.now);
        if let Some(journey) = journey {
            if stamps > journey.stamped().len() {
                journey.stamp(port.id, self.now);
            }
            journey.leave_port();
            journey.transmit(port.id, until - self.now, port.delay);
        }
    }

    /// Reports a packet that is lost in its queue.
    #[inline(never)]
    pub(crate) fn abandoned(&mut self, at: &mut PacketContext<'_>) {
        let class = at.egress_class();
        if self.sink.traces(self.now) {
            self.dequeued(at);
        }
        if let (Some(ledger), Some(journey)) = (&mut self.io.ledger, at.records.journey_mut(at.packet.frame.record)) {
            ledger.leave(at.egress, at.queue, class, journey, self.now);
        }
    }

    /// Reports a link-local frame that starts on the wire.
    #[inline(never)]
    pub(crate) fn link_local_started(&mut self, ix: PortIx, frame: &Frame) {
        let until = self.now + self.io.ports[ix].serialisation(frame.size.wire);
        if let Some(ledger) = &mut self.io.ledger {
            ledger.start(ix, OnWire::LinkLocal, None, &[], until, self.now);
        }
    }

    /// Reports a link that failed or recovered.
    #[inline(never)]
    pub(crate) fn link_changed(&mut self, ix: PortIx, up: bool) {
        if let Some(ledger) = &mut self.io.ledger {
            ledger.link(ix, up, self.now);
        }
        self.sink.report(Report::Link { port: self.io.ports[ix].id, up }, self.now);
    }

    /// Reports a data packet that a queue pair sends; `rate` is the pair's rate from now on.
    #[inline(never)]
    pub(crate) fn sent(&mut self, ix: PortIx, rate: Rate, frame: &mut Frame, records: &mut Records, fabric: &Fabric) {
        let Body::Packet(Packet { flow, psn, kind, class, .. }) = frame.body else { return };
        let Some(slot) = fabric.live_flow(flow).sender.get() else { return };
        let port = &self.io.ports[ix];
        if self.sink.traces(self.now) {
            self.sink.report(Report::Rate { flow, port: port.id, rate }, self.now);
        }
        let until = self.now + port.serialisation(frame.size.wire);
        if let Some(ledger) = &mut self.io.ledger {
            ledger.start(ix, OnWire::Packet(kind, class), None, &[], until, self.now);
        }
        let Some(facts) = self.pair_facts(slot, fabric) else { return };
        let NodeIo { ports, ledger: Some(ledger), .. } = &mut *self.io else { return };
        let start = ledger.posted(slot, psn).unwrap_or(fabric.flow(flow).start);
        let journey = records.start_journey(&mut frame.record, start);
        ledger.send(slot, (psn, until), facts, journey, self.now);
        let Port { id, delay, .. } = ports[ix];
        journey.transmit(id, until - self.now, delay);
    }

    /// Reports a queue pair whose next departure or window may have changed.
    #[inline(never)]
    pub(crate) fn pair_changed(&mut self, slot: Slot, fabric: &Fabric) {
        if let Some(facts) = self.pair_facts(slot, fabric)
            && let Some(ledger) = &mut self.io.ledger
        {
            ledger.update_pair(slot, facts, self.now);
        }
    }

    /// Returns the facts of a queue pair, after a report to the trace.
    fn pair_facts(&mut self, slot: Slot, fabric: &Fabric) -> Option<PairFacts> {
        let facts = self.io.endpoint.as_ref()?.pair_facts(slot, fabric);
        if self.sink.traces(self.now) {
            let PairFacts { flow, queue, next, in_flight, window, departure, .. } = facts;
            let port = self.io.ports[facts.port].id;
            self.sink.report(Report::Sender { flow, port, queue, next, in_flight, window, departure }, self.now);
        }
        Some(facts)
    }
}

impl NodeIo {
    /// Credits an ACK with opening the window of the queue pair in `slot`.
    #[inline(never)]
    pub(crate) fn count_answer(&mut self, slot: Slot, frame: &Frame, records: &Records) {
        if let (Some(ledger), Some(journey)) = (&mut self.ledger, records.journey(frame.record)) {
            ledger.open_window(slot, journey);
        }
    }

    /// Closes the account of a queue pair that is finished.
    #[inline(never)]
    pub(crate) fn count_end(&mut self, slot: Slot) {
        if let Some(ledger) = &mut self.ledger {
            ledger.end(slot);
        }
    }

    /// Accounts for a data packet on which the receiver gave `verdict`, and keeps the packet's
    /// journey for the answer.
    #[inline(never)]
    pub(crate) fn count_delivery(
        &mut self,
        flow: FlowId,
        frame: &Frame,
        verdict: Verdict,
        is_last: bool,
        records: &mut Records,
    ) {
        let Some(ledger) = &mut self.ledger else { return };
        let journey = records.take_journey(frame.record);
        if let Some(journey) = &journey {
            ledger.count_mark(flow, journey);
            if matches!(verdict, Verdict::Deliver { .. } | Verdict::Keep | Verdict::Nack { is_kept: true }) {
                ledger.deliver(flow, journey, is_last);
            }
        }
        let done = if ledger.follows_acks { std::mem::replace(&mut ledger.answered, journey) } else { journey };
        records.recycle(done);
    }
}

/// Charges the time for which PAUSEs held the packet at `place`, which left `queue`, to the
/// packet's record ([`charge_pauses`]), and returns the packet. Prefetches the record of the
/// queue's next packet.
#[inline(never)]
pub(crate) fn charge_pauses_of<'a>(
    port: &Port,
    queue: QueueIx,
    place: Place,
    frames: &'a mut Frames,
    records: &mut Records,
    fabric: &Fabric,
) -> &'a mut QueuedPacket {
    records.prefetch_pauses(port.next_record(queue, frames));
    let packet = &mut frames[place];
    charge_pauses(port, queue, packet.at, &mut packet.frame, records, fabric);
    packet
}

/// Charges the time for which PAUSEs held a data packet in `queue` since `since` to the packet's
/// record. If no gate has opened since then ([`Port::opened_after`]), no PAUSE held the packet.
pub(crate) fn charge_pauses(
    port: &Port,
    queue: QueueIx,
    since: Time,
    frame: &mut Frame,
    records: &mut Records,
    fabric: &Fabric,
) {
    let Body::Packet(packet) = &frame.body else { return };
    if packet.kind != PacketKind::Data {
        return;
    }
    for wait in port.gate(queue).waits(since) {
        let log = records.pauses_mut(&mut frame.record);
        log.paused.add(wait.length, wait.end);
        if !fabric.passes(packet, port.id, wait.cause) {
            log.blocked.add(wait.length, wait.end);
        }
    }
}
