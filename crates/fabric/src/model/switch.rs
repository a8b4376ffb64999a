//! The switching pipeline: an output-queued switch with shared memory.
//!
//! ```text
//!  frame in ─► route ─► admit (private, shared, headroom: buffer policy) ─► queue of the egress port (flow control) ─► scheduler ─► frame out
//!                              │ full: PAUSE out of the ingress port              release, mark ECN / stamp telemetry │
//!                              └──────────────────────────── flow control ◄──────── eased: RESUME ──────────────────┘
//! ```
//!
//! Buffers are freed, and marks and stamps made, when a packet starts on the wire. The control class is never charged.

use crate::contract::note::DropCause;
use crate::contract::{
    Admission, BufferPolicy, Candidate, CongestionPoint, Departure, FlowControl, Gauge, LoadBalance, Passage, Stage,
    View,
};
use crate::frame::{Body, Frame, Packet, PacketKind};
use crate::ids::{Class, NodeId, PortIx, QueueIx};
use crate::model::fifo::Queued;
use crate::model::node::Node;
use crate::model::port::Port;
use crate::model::sink::{Env, Sink};
use crate::network::fabric::Fabric;
use backwater_engine::Time;

impl Node {
    /// A packet for another node has arrived on `ingress` and leaves through `egress`.
    #[inline]
    pub(crate) fn forward<S: Sink>(&mut self, ingress: PortIx, egress: PortIx, frame: &Frame, env: &mut Env<'_, S>) {
        let pipeline = self.pipeline.as_mut().expect("routes pass through switches only");
        let class = frame.class();
        let mut queued = Queued { frame: *frame, at: env.now, ingress, note: 0 };
        if let Body::Packet(packet) = &mut queued.frame.body
            && !packet.route.advance()
        {
            return self.drop(ingress, frame, DropCause::TimeToLive, env);
        }
        if !is_charged(class) {
            self.interfaces.ports[usize::from(egress)].enqueue(QueueIx::from(class.0), queued, env.frames);
            return self.kick(egress, env);
        }
        let mut passage = passage(egress, QueueIx::from(class.0), &queued);
        let pressure = match pipeline.buffer.admit(&passage, env.now) {
            Admission::Charged(pressure) => pressure,
            Admission::Refused(cause) => return self.refuse(passage, frame, cause, env),
        };
        if let Some(probe) = &mut pipeline.probe {
            probe.on_arrival(ingress, class, frame.size.charge.into(), &pipeline.buffer, env.now);
        }
        if self.interfaces.ports[usize::from(egress)].has_added() {
            let candidate = candidate(&self.interfaces.ports, egress, &queued, env.fabric);
            let view = View::new(env.now, &mut self.interfaces);
            let place = self.flow_control.queue(candidate, &view);
            (passage.queue, passage.note, queued.note) = (place.queue, place.note, place.note);
        }
        self.interfaces.ports[usize::from(egress)].enqueue(passage.queue, queued, env.frames);
        self.flow_control.on_enqueue(passage, pressure, &mut View::new(env.now, &mut self.interfaces));
        self.kick(egress, env);
    }

    /// No pool takes a packet.
    #[cold]
    fn refuse<S: Sink>(&mut self, passage: Passage, frame: &Frame, cause: DropCause, env: &mut Env<'_, S>) {
        if let Some(pipeline) = self.pipeline.as_ref().filter(|_| cause == DropCause::Headroom) {
            let gauge = Gauge { policy: &pipeline.buffer, passage };
            self.flow_control.on_refuse(passage, gauge, &mut View::new(env.now, &mut self.interfaces));
        }
        self.drop(passage.ingress, frame, cause, env);
    }

    /// A packet leaves `queue` of `egress`: it starts on the wire now.
    #[inline]
    pub(crate) fn depart<S: Sink>(
        &mut self,
        egress: PortIx,
        queue: QueueIx,
        queued: &mut Queued,
        env: &mut Env<'_, S>,
    ) {
        let passage = passage(egress, queue, queued);
        let frame = &mut queued.frame;
        self.log_pauses(egress, queue, queued.at, frame, env);
        if let Body::Packet(packet) = &mut frame.body {
            packet.queue = queue.min(u8::MAX.into()) as u8;
        }
        let Some(pipeline) = &mut self.pipeline else { return };
        if !is_charged(passage.class) {
            return;
        }
        pipeline.buffer.release(&passage, env.now);
        if let Some(probe) = &mut pipeline.probe {
            probe.on_departure(passage.ingress, passage.class, passage.bytes.into(), &pipeline.buffer, env.now);
        }
        if frame.packet().is_some_and(|packet| packet.kind == PacketKind::Data) {
            let port = &self.interfaces.ports[usize::from(egress)];
            let queue_bytes = port.queue_bytes(queue);
            let departure = Departure { now: env.now, egress, port, queue_bytes, frame, records: env.records };
            pipeline.congestion_point.on_departure(departure);
        }
        let gauge = Gauge { policy: &pipeline.buffer, passage };
        let mut view = View::new(env.now, &mut self.interfaces);
        self.flow_control.on_dequeue(passage, gauge, &mut view);
    }

    /// One turn of the schedulers between the queues of `egress`: open queues that lead to others hand one packet each on, until one has come
    /// to a queue that leads to the wire; another turn, if nothing could leave even so.
    #[inline(never)]
    pub(crate) fn hand_on<S: Sink>(&mut self, egress: PortIx, env: &mut Env<'_, S>) {
        let all = self.flow_control.added_queues().stage == Stage::QueueAll;
        // Every move brings a packet nearer to the wire: this comes to an end.
        loop {
            for _ in 0..self.interfaces.ports[usize::from(egress)].count_inner() {
                let Some(queue) = self.interfaces.ports[usize::from(egress)].next_inner() else { break };
                if self.move_first(egress, queue, env) && !all {
                    break;
                }
            }
            let port = &self.interfaces.ports[usize::from(egress)];
            if port.can_send() || !port.can_hand_on() {
                break;
            }
        }
    }

    /// Moves all packets of a queue on.
    pub(crate) fn flush<S: Sink>(&mut self, egress: PortIx, queue: QueueIx, env: &mut Env<'_, S>) {
        let mut left = self.interfaces.ports[usize::from(egress)].frames(queue, env.frames).count();
        while left > 0 {
            self.move_first(egress, queue, env);
            left -= 1;
        }
    }

    /// Moves the first packet of a queue into the next one; whether that leads to the wire.
    #[inline(never)]
    fn move_first<S: Sink>(&mut self, egress: PortIx, queue: QueueIx, env: &mut Env<'_, S>) -> bool {
        let port = &mut self.interfaces.ports[usize::from(egress)];
        let leads_to_wire = port.leads_to_wire(queue);
        let mut queued = if leads_to_wire { port.take(queue, env.frames) } else { port.take_inner(queue, env.frames) };
        self.log_pauses(egress, queue, queued.at, &mut queued.frame, env);
        let from = passage(egress, queue, &queued);
        let candidate = candidate(&self.interfaces.ports, egress, &queued, env.fabric);
        let place = self.flow_control.next_queue(candidate, from, &View::new(env.now, &mut self.interfaces));
        (queued.at, queued.note) = (env.now, place.note);
        let port = &mut self.interfaces.ports[usize::from(egress)];
        let leads_to_wire = port.leads_to_wire(place.queue);
        port.enqueue(place.queue, queued, env.frames);
        let to = passage(egress, place.queue, &queued);
        self.with_flow_control(env, |mechanism, node| mechanism.on_move(from, to, node));
        leads_to_wire
    }

    /// The egress port of a packet that carries no route: the load balancer's choice among the equal-cost ports.
    pub(crate) fn choose_egress(&mut self, packet: &Packet, dst: NodeId, now: Time, fabric: &Fabric) -> PortIx {
        match fabric.routes.candidates(self.id, dst) {
            [only] => *only,
            several => {
                let key = fabric.key(packet.flow, packet.direction());
                let pipeline = self.pipeline.as_mut().expect("routes pass through switches only");
                several[pipeline.balancer.choose(key, several, &View::new(now, &mut self.interfaces))]
            }
        }
    }
}

/// A packet that is about to join a queue of `egress`, as flow control sees it.
#[inline]
fn candidate<'a>(ports: &[Port], egress: PortIx, queued: &'a Queued, fabric: &'a Fabric) -> Candidate<'a> {
    let Body::Packet(packet) = &queued.frame.body else { unreachable!("only packets of flows are charged") };
    let onward = fabric.onward(packet.flow, packet.direction(), packet.route, ports[usize::from(egress)].id);
    Candidate { frame: &queued.frame, ingress: queued.ingress, egress, onward }
}

/// The place of a packet that has been put into `queue` of `egress`.
#[inline]
pub(crate) fn passage(egress: PortIx, queue: QueueIx, queued: &Queued) -> Passage {
    let Queued { frame, ingress, note, .. } = queued;
    let class = frame.class();
    Passage { ingress: *ingress, egress, queue, came: class, class, bytes: frame.size.charge, note: *note }
}

/// Whether packets of `class` are charged to a pool, and thereby subject to flow control.
fn is_charged(class: Class) -> bool {
    class != Class::CONTROL
}
