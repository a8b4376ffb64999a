//! The switching pipeline: an output-queued switch with shared memory.
//!
//! ```text
//!  frame in ─► route ─► admit (private, shared, headroom: buffer policy) ─► queue of the egress port (flow control) ─► scheduler ─► frame out
//!                              │ full: PAUSE out of the ingress port              release, mark ECN / stamp telemetry │
//!                              └──────────────────────────── flow control ◄──────── eased: RESUME ──────────────────┘
//! ```
//!
//! Buffers are freed, and marks and stamps made, when a packet starts on the wire. The control class is never charged.

use crate::congestion::AnyCongestionPoint;
use crate::fabric::Direction;
use crate::frame::{Body, Frame, PacketKind};
use crate::headroom::AnyBufferPolicy;
use crate::ids::{Class, PortIx, QueueIx};
use crate::load_balance::AnyLoadBalance;
use crate::node::{Env, Node, Sink};
use crate::slots::{BufferPolicy, CongestionPoint, Departure, FlowControl, LoadBalance, Occupancy, Passage, Site};
use backwater_engine::random::Seed;

/// What a switch has besides ports and flow control.
pub struct Pipeline {
    buffer: AnyBufferPolicy,
    congestion_point: AnyCongestionPoint,
    balancer: AnyLoadBalance,
}

impl Pipeline {
    pub(crate) fn new(site: &Site<'_>) -> Pipeline {
        Pipeline {
            buffer: site.spec.switch.headroom.build(site),
            congestion_point: site.spec.congestion.congestion_point(site),
            balancer: site.spec.load_balance.build(Seed(site.spec.seed), site.node),
        }
    }

    /// Bytes in use.
    pub fn occupancy(&self) -> Occupancy {
        self.buffer.occupancy()
    }

    /// Bytes charged to one ingress queue.
    pub fn held(&self, ingress: PortIx, class: Class) -> u64 {
        self.buffer.held(ingress, class)
    }

    /// The most bytes of headroom that one ingress queue has used so far.
    pub fn peak_headroom(&self, ingress: PortIx, class: Class) -> u64 {
        self.buffer.peak_headroom(ingress, class)
    }
}

impl Node {
    /// A packet for another node has arrived on `ingress`.
    pub(crate) fn forward<S: Sink>(&mut self, ingress: PortIx, mut frame: Frame, env: &mut Env<'_, S>) {
        let egress = self.route(&mut frame, env);
        let pipeline = self.pipeline.as_mut().expect("routes pass through switches only");
        frame.ingress = ingress;
        frame.queued_at = env.now;
        if is_charged(&frame) {
            let bytes = u64::from(frame.size.charge);
            if let Err(cause) = pipeline.buffer.admit(ingress, frame.class, bytes, env.now) {
                return self.drop(ingress, frame, cause, env);
            }
            let queue = self.flow_control.queue(&frame, egress);
            self.ports[usize::from(egress)].enqueue(queue, frame);
            let pressure = pipeline.buffer.pressure(ingress, frame.class);
            let passage = Passage { ingress, egress, queue, class: frame.class };
            self.with_flow_control(env.now, |mechanism, node| mechanism.on_enqueue(passage, pressure, node));
        } else {
            self.ports[usize::from(egress)].enqueue(QueueIx::from(frame.class.0), frame);
        }
        self.kick(egress, env);
    }

    /// A packet leaves `queue` of `egress`: it starts on the wire now.
    pub(crate) fn depart<S: Sink>(&mut self, egress: PortIx, queue: QueueIx, frame: &mut Frame, env: &mut Env<'_, S>) {
        self.log_pauses(egress, queue, frame, env);
        let Some(pipeline) = &mut self.pipeline else { return };
        if !is_charged(frame) {
            return;
        }
        let (ingress, class) = (frame.ingress, frame.class);
        pipeline.buffer.release(ingress, class, u64::from(frame.size.charge), env.now);
        if frame.packet().is_some_and(|packet| packet.kind == PacketKind::Data) {
            let port = &self.ports[usize::from(egress)];
            let departure = Departure { now: env.now, port, queue, frame, records: env.records };
            pipeline.congestion_point.on_departure(departure);
        }
        let pressure = pipeline.buffer.pressure(ingress, class);
        let passage = Passage { ingress, egress, queue, class };
        self.with_flow_control(env.now, |mechanism, node| mechanism.on_dequeue(passage, pressure, node));
    }

    /// The egress port of a packet: the next of the route that it carries, or the load balancer's choice among the equal-cost ports.
    fn route<S: Sink>(&mut self, frame: &mut Frame, env: &Env<'_, S>) -> PortIx {
        let Body::Packet(packet) = &mut frame.body else { unreachable!("control frames are not forwarded") };
        if let Some(egress) = packet.route.step() {
            return egress;
        }
        let direction = if packet.kind == PacketKind::Data { Direction::Data } else { Direction::Ack };
        let key = env.fabric.key(packet.flow, direction);
        match env.fabric.routes.candidates(self.id, packet.dst) {
            [only] => *only,
            several => {
                let pipeline = self.pipeline.as_mut().expect("routes pass through switches only");
                several[pipeline.balancer.choose(key, several, &self.ports)]
            }
        }
    }
}

/// Whether a packet is charged to a pool, and thereby subject to flow control.
fn is_charged(frame: &Frame) -> bool {
    frame.class != Class::CONTROL
}
