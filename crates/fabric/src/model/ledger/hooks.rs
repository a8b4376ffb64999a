//! Where the model tells the ledger, and the trace, what packets and senders do. What happens often is told only where [`Node::is_watched`].

use super::{OnWire, PairFacts};
use crate::contract::note::{IngressHeld, Note};
use crate::contract::{BufferAccounts, BufferPolicy, HookSet, Passage, Verdict};
use crate::frame::journey::Term;
use crate::frame::{Body, Frame, Packet, PacketKind};
use crate::ids::{FlowId, PortIx, QueueIx};
use crate::model::fifo::Queued;
use crate::model::node::Node;
use crate::model::sink::{Env, Sink};
use backwater_engine::{Rate, Time};

impl Node {
    /// Whether what happens here is traced, or written into the ledger.
    #[inline(always)]
    pub(crate) fn is_watched(&self) -> bool {
        self.interfaces.stations.intersects(HookSet::TRACE)
    }

    /// A packet joins the queue of `at`, which holds `queue_bytes` with it.
    #[inline(never)]
    pub(crate) fn log_join<S: Sink>(&mut self, at: &Passage, queue_bytes: u64, frame: &Frame, env: &mut Env<'_, S>) {
        let Some(Packet { flow, psn, kind, .. }) = frame.packet().copied() else { return };
        if env.sink.traces() {
            let port = self.interfaces.ports[usize::from(at.egress)].id;
            let (queue, class, ingress) = (at.queue, at.class, self.ingress_held(at, 0));
            env.sink.note(Note::Enqueued { port, queue, kind, class, flow, psn, bytes: queue_bytes, ingress });
        }
        if let (Some(ledger), Some(journey)) = (&mut self.interfaces.ledger, env.records.journey_mut(frame.record)) {
            ledger.join(at.egress, at.queue, journey, env.now);
        }
    }

    /// A packet that the node has made joins a queue. An answer goes on with the journey of the packet that has just come.
    #[inline(never)]
    pub(crate) fn log_own_join<S: Sink>(
        &mut self,
        port: PortIx,
        queue: QueueIx,
        queued: &mut Queued,
        env: &mut Env<'_, S>,
    ) {
        let frame = &mut queued.frame;
        if let (Some(ledger), Some(PacketKind::Ack | PacketKind::Nack)) =
            (&mut self.interfaces.ledger, frame.packet().map(|packet| packet.kind))
        {
            let journey = ledger.answered.take();
            journey.into_iter().for_each(|journey| env.records.set_journey(&mut frame.record, journey));
        }
        let bytes = self.interfaces.ports[usize::from(port)].queue_bytes(queue) + u64::from(queued.frame.size.charge);
        self.log_join(&queued.passage(port, queue), bytes, &queued.frame, env);
    }

    /// What the ingress queue holds of the packet of `at`, but for `less` bytes.
    fn ingress_held(&self, at: &Passage, less: u64) -> Option<IngressHeld> {
        let buffer = &self.pipeline.as_ref().filter(|_| at.is_charged())?.buffer;
        let (port, class) = (at.ingress, at.came);
        let (bytes, threshold) = (buffer.held(port, class).saturating_sub(less), buffer.threshold(port, class));
        Some(IngressHeld { port, class, bytes, threshold })
    }

    /// A packet has left the queue of `from` for that of `to`.
    #[inline(never)]
    pub(crate) fn log_move<S: Sink>(&mut self, from: &Passage, to: &Passage, frame: &Frame, env: &mut Env<'_, S>) {
        let Some(Packet { flow, psn, kind, .. }) = frame.packet().copied() else { return };
        let port = self.interfaces.ports[usize::from(from.egress)].id;
        let (queue, to_queue, class) = (from.queue, to.queue, from.class);
        env.sink.note(Note::Moved { port, queue, to: to_queue, kind, class, flow, psn });
        if let (Some(ledger), Some(journey)) = (&mut self.interfaces.ledger, env.records.journey_mut(frame.record)) {
            ledger.leave(from.egress, from.queue, class, journey, env.now);
            journey.passed.push(from.queue);
            ledger.join(to.egress, to.queue, journey, env.now);
        }
    }

    fn tell_of_dequeue<S: Sink>(&self, at: &Passage, frame: &Frame, env: &mut Env<'_, S>) {
        let Some(Packet { flow, psn, kind, class, .. }) = frame.packet().copied().filter(|_| env.sink.traces()) else {
            return;
        };
        let (ingress, queue) = (self.ingress_held(at, at.bytes.into()), at.queue);
        let port = &self.interfaces.ports[usize::from(at.egress)];
        let bytes = port.queue_bytes(queue);
        env.sink.note(Note::Dequeued { port: port.id, queue, kind, class, flow, psn, bytes, ingress });
    }

    /// A packet has left the queue of `at`, and starts on the wire.
    #[inline(never)]
    pub(crate) fn log_start<S: Sink>(&mut self, at: &Passage, frame: &Frame, env: &mut Env<'_, S>) {
        let Some(Packet { kind, class, .. }) = frame.packet().copied() else { return };
        self.tell_of_dequeue(at, frame, env);
        let port = &self.interfaces.ports[usize::from(at.egress)];
        let Some(ledger) = &mut self.interfaces.ledger else { return };
        let mut journey = env.records.journey_mut(frame.record);
        journey.iter_mut().for_each(|journey| ledger.leave(at.egress, at.queue, class, journey, env.now));
        let passed = journey.as_ref().map_or(&[][..], |journey| &journey.passed);
        let until = env.now + port.serialisation(frame.size.wire);
        ledger.start(at.egress, OnWire::Packet(kind, class), Some(at.queue), passed, until, env.now);
        let stamps = env.records.telemetry(frame.record).map_or(0, |telemetry| telemetry.stamps().len());
        if let Some(journey) = env.records.journey_mut(frame.record) {
            if stamps > journey.stamped.len() {
                journey.stamped.push((port.id, env.now));
            }
            journey.passed.clear();
            journey.add(port.id, Term::Serialisation, None, until - env.now);
            journey.add(port.id, Term::Propagation, None, port.delay);
        }
    }

    /// A packet in the queue of `at` is lost.
    #[inline(never)]
    pub(crate) fn log_abandoned<S: Sink>(&mut self, at: &Passage, frame: &Frame, env: &mut Env<'_, S>) {
        self.tell_of_dequeue(at, frame, env);
        if let (Some(ledger), Some(journey)) = (&mut self.interfaces.ledger, env.records.journey_mut(frame.record)) {
            ledger.leave(at.egress, at.queue, at.class, journey, env.now);
        }
    }

    /// A link-local frame starts on the wire.
    #[inline(never)]
    pub(crate) fn log_link_local(&mut self, ix: PortIx, frame: &Frame, now: Time) {
        let until = now + self.interfaces.ports[usize::from(ix)].serialisation(frame.size.wire);
        if let Some(ledger) = &mut self.interfaces.ledger {
            ledger.start(ix, OnWire::LinkLocal, None, &[], until, now);
        }
    }

    /// The link of a port has gone down or come up.
    #[inline(never)]
    pub(crate) fn log_link<S: Sink>(&mut self, ix: PortIx, up: bool, env: &mut Env<'_, S>) {
        self.interfaces.ledger.iter_mut().for_each(|ledger| ledger.link(ix, up, env.now));
        env.sink.note(Note::Link { port: self.interfaces.ports[usize::from(ix)].id, up });
    }

    /// A queue pair starts to send a packet, and goes on at `rate`.
    #[inline(never)]
    pub(crate) fn log_sent<S: Sink>(&mut self, ix: PortIx, rate: Rate, frame: &mut Frame, env: &mut Env<'_, S>) {
        let Body::Packet(Packet { flow, psn, kind, class, .. }) = frame.body else { return };
        let Some(slot) = env.fabric.live_flow(flow).sender.get() else { return };
        let port = &self.interfaces.ports[usize::from(ix)];
        env.sink.note(Note::Rate { flow, port: port.id, rate });
        let until = env.now + port.serialisation(frame.size.wire);
        if let Some(ledger) = &mut self.interfaces.ledger {
            let journey = ledger.send(slot as usize, psn, until, env.fabric.flow(flow).start, env.now);
            ledger.start(ix, OnWire::Packet(kind, class), None, &[], until, env.now);
            if let Some(mut journey) = journey {
                journey.add(port.id, Term::Serialisation, None, until - env.now);
                journey.add(port.id, Term::Propagation, None, port.delay);
                env.records.set_journey(&mut frame.record, Box::new(journey));
            }
        }
        self.log_pair(slot, env);
    }

    /// What a queue pair does next may have changed.
    #[inline(never)]
    pub(crate) fn log_pair<S: Sink>(&mut self, slot: u32, env: &mut Env<'_, S>) {
        let Some(endpoint) = &self.interfaces.endpoint else { return };
        let facts = endpoint.pair_facts(slot, env.fabric);
        let PairFacts { flow, queue, next, in_flight, window, departure, .. } = facts;
        let port = self.interfaces.ports[usize::from(facts.port)].id;
        env.sink.note(Note::Sender { flow, port, queue, next, in_flight, window, departure });
        self.interfaces.ledger.iter_mut().for_each(|ledger| ledger.pair(slot as usize, facts, env.now));
    }

    /// An ACK has come to the sender in `slot`, which has taken note of it.
    #[inline(never)]
    pub(crate) fn log_answer<S: Sink>(&mut self, slot: u32, frame: &Frame, env: &mut Env<'_, S>) {
        if let (Some(ledger), Some(journey)) = (&mut self.interfaces.ledger, env.records.journey(frame.record)) {
            ledger.open_window(slot as usize, journey);
        }
    }

    /// A queue pair is done.
    #[inline(never)]
    pub(crate) fn log_end(&mut self, slot: u32) {
        self.interfaces.ledger.iter_mut().for_each(|ledger| ledger.end(slot as usize));
    }

    /// A data packet has come, of which the receiver says this; whether its flow is complete. Its journey is kept for the answer.
    #[inline(never)]
    pub(crate) fn log_delivery<S: Sink>(
        &mut self,
        flow: FlowId,
        frame: &Frame,
        verdict: Verdict,
        is_last: bool,
        env: &mut Env<'_, S>,
    ) {
        let Some(ledger) = &mut self.interfaces.ledger else { return };
        let journey = env.records.take_journey(frame.record);
        journey.iter().for_each(|journey| ledger.count_mark(flow, journey));
        if let Some(journey) = &journey
            && matches!(verdict, Verdict::Deliver { .. } | Verdict::Keep | Verdict::Nack { is_kept: true })
        {
            ledger.deliver(flow, journey, is_last);
        }
        ledger.answered = journey;
    }
}
