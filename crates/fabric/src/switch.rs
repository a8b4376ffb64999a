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
use crate::fabric::Fabric;
use crate::fifo::Queued;
use crate::frame::{Body, Frame, Packet, PacketKind};
use crate::headroom::AnyBufferPolicy;
use crate::ids::{Class, NodeId, PortIx, QueueIx};
use crate::load_balance::AnyLoadBalance;
use crate::node::{Env, Node, Sink};
use crate::slots::{
    BufferPolicy, CongestionPoint, Departure, FlowControl, Gauge, LoadBalance, NodeView, Occupancy, Passage, Site,
};
use backwater_engine::random::Seed;

/// What a switch has besides ports and flow control.
#[repr(C, align(64))]
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

    /// A packet of `class` is about to come in on `ingress`.
    #[inline]
    pub(crate) fn expect(&self, ingress: PortIx, class: Class) {
        self.buffer.expect(ingress, class);
    }

    /// Bytes that the mechanisms hold on the heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        self.buffer.heap_bytes() + self.congestion_point.heap_bytes()
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
    /// A packet for another node has arrived on `ingress` and leaves through `egress`.
    #[inline]
    pub(crate) fn forward<S: Sink>(&mut self, ingress: PortIx, egress: PortIx, frame: &Frame, env: &mut Env<'_, S>) {
        let pipeline = self.pipeline.as_mut().expect("routes pass through switches only");
        let (class, mut queue) = (frame.class(), QueueIx::from(frame.class().0));
        if is_charged(class) {
            if let Err(cause) = pipeline.buffer.admit(ingress, class, frame.size.charge.into(), env.now) {
                return self.drop(ingress, frame, cause, env);
            }
            queue = self.flow_control.queue(frame, egress);
        }
        let mut queued = Queued { frame: *frame, at: env.now, ingress };
        if let Body::Packet(packet) = &mut queued.frame.body {
            packet.route.advance();
        }
        self.ports[usize::from(egress)].enqueue(queue, queued, env.frames);
        if is_charged(class) {
            let passage = Passage { ingress, egress, queue, class };
            let gauge = Gauge { policy: &pipeline.buffer, passage };
            let mut view = NodeView::new(env.now, &mut self.ports, &mut self.effects);
            self.flow_control.on_enqueue(passage, gauge, &mut view);
        }
        self.kick(egress, env);
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
        let Queued { ref mut frame, at, ingress } = *queued;
        self.log_pauses(egress, queue, at, frame, env);
        let class = frame.class();
        let Some(pipeline) = &mut self.pipeline else { return };
        if !is_charged(class) {
            return;
        }
        pipeline.buffer.release(ingress, class, u64::from(frame.size.charge), env.now);
        if frame.packet().is_some_and(|packet| packet.kind == PacketKind::Data) {
            let port = &self.ports[usize::from(egress)];
            let departure = Departure { now: env.now, port, queue, frame, records: env.records };
            pipeline.congestion_point.on_departure(departure);
        }
        let passage = Passage { ingress, egress, queue, class };
        let gauge = Gauge { policy: &pipeline.buffer, passage };
        let mut view = NodeView::new(env.now, &mut self.ports, &mut self.effects);
        self.flow_control.on_dequeue(passage, gauge, &mut view);
    }

    /// The egress port of a packet that carries no route: the load balancer's choice among the equal-cost ports.
    pub(crate) fn choose_egress(&mut self, packet: &Packet, dst: NodeId, fabric: &Fabric) -> PortIx {
        match fabric.routes.candidates(self.id, dst) {
            [only] => *only,
            several => {
                let key = fabric.key(packet.flow, packet.direction());
                let pipeline = self.pipeline.as_mut().expect("routes pass through switches only");
                several[pipeline.balancer.choose(key, several, &self.ports)]
            }
        }
    }
}

/// Whether packets of `class` are charged to a pool, and thereby subject to flow control.
fn is_charged(class: Class) -> bool {
    class != Class::CONTROL
}
