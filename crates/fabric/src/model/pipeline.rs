//! The switching pipeline of a node: an output-queued switch with shared memory.
//!
//! ```text
//!  frame in ─► route ─► admit ─► enqueue ─► schedule ─► depart ─► frame out
//!           load        buffer   queue of     round robin,   release, mark ECN,
//!           balancer    policy   the egress   priorities,    stamp telemetry
//!                         │      port         gates             │
//!                   full: PAUSE out of              below X_on: RESUME
//!                   the ingress port                            │
//!                         └──────────── flow control ◄──────────┘
//! ```
//!
//! When a packet's transmission starts, its buffer space is freed, and the packet is marked and
//! stamped. The control class is never charged. A host has the second half of the pipeline: packets
//! that it makes enter at [`SwitchPipeline::enqueue_own`], and packets of its queue pairs at
//! [`SwitchPipeline::schedule`].

use crate::contract::packet::QueuedPacket;
use crate::contract::report::DropCause;
use crate::contract::{
    Admission, BufferPolicy, Choice, Entropy, FlowControl, HookSet, LoadBalance, NoticeAction, PacketContext, Paths,
    Pressure, RouteRequest, Stage, View,
};
use crate::frame::framing::FrameSize;
use crate::frame::{Body, Frame, NextHop, PacketKind, Trail};
use crate::ids::{Class, NodeId, PortIx, QueueIx};
use crate::mechanisms::flow_control::AnyFlowControl;
use crate::mechanisms::headroom::AnyBufferPolicy;
use crate::model::fifo::Place;
use crate::model::flags::NodeFlags;
use crate::model::host::{Endpoint, Nic};
use crate::model::io::{HookOwner, NodeIo};
use crate::model::node::Node;
use crate::model::port::Port;
use crate::model::sink::{Env, Sink, Wakeup};
use crate::model::tracing::{Tracer, charge_pauses_of};
use crate::network::fabric::Fabric;
use backwater_engine::Time;

/// Calls a mechanism that is mostly `$usual`, with a packet's context `$at`. A test for this
/// mechanism is faster than a jump table for all of them.
macro_rules! usually {
    ($usual:path, $any:expr, |$mechanism:ident, $at:ident| $call:expr) => {
        match $any {
            $usual($mechanism) => $call,
            $mechanism => {
                let $at = &mut $at.reborrow();
                $call
            }
        }
    };
}

/// The pipeline of a node while the node handles one input.
pub(crate) struct SwitchPipeline<'n, 'e, S> {
    node: &'n mut Node,
    env: &'n mut Env<'e, S>,
}

impl<'n, 'e, S: Sink> SwitchPipeline<'n, 'e, S> {
    #[inline(always)]
    pub(crate) fn new(node: &'n mut Node, env: &'n mut Env<'e, S>) -> Self {
        SwitchPipeline { node, env }
    }

    /// Borrows the pipeline for one call. Functions that are not inlined take the pipeline by
    /// value, as two pointers: a reference to the pipeline would force both pointers into memory.
    #[inline(always)]
    fn reborrow(&mut self) -> SwitchPipeline<'_, 'e, S> {
        SwitchPipeline { node: self.node, env: self.env }
    }

    // --------------------------------------------------------------------------------------- route

    /// Routes a packet without a source route. The load balancer chooses among equal-cost ports.
    #[inline(never)]
    pub(crate) fn route(mut self, destination: NodeId, place: Place) {
        let egress = match self.env.fabric.routes.candidates(self.node.id, destination) {
            [only] => *only,
            [] => return self.drop_arrived(place, DropCause::LinkDown),
            several => self.choose(destination, several, place),
        };
        let Body::Packet(headers) = &mut self.env.frames[place].frame.body else {
            unreachable!("link-local frames are not routed")
        };
        let (kind, may_pass) = (headers.kind, headers.route.advance());
        self.forward(egress, place, kind, may_pass);
    }

    /// Returns the egress port that the load balancer chose. If the load balancer chose a whole
    /// route, writes the route into the packet.
    fn choose(&mut self, destination: NodeId, candidates: &[PortIx], place: Place) -> PortIx {
        let Node { io, switch, .. } = &mut *self.node;
        let Env { now, fabric, records, frames, .. } = &mut *self.env;
        let packet = &mut frames[place];
        let Body::Packet(headers) = &packet.frame.body else { unreachable!("link-local frames are not routed") };
        let switch = switch.as_mut().expect("routes pass through switches only");
        let key = fabric.key(headers.flow, headers.kind);
        let key = if fabric.chooses_paths { key.with(records.path(packet.frame.record).map(Entropy)) } else { key };
        let request = &mut RouteRequest { packet: packet.context(PortIx::NONE, records), destination, key, candidates };
        let access = &mut io.access_for(HookOwner::LoadBalance, &switch.buffer);
        match switch.balancer.choose(request, &mut View::new(*now, *fabric, access)) {
            Choice::Candidate(index) => candidates[index],
            Choice::Route(route) => {
                let first = [fabric.wiring.peer_ix(io.ports[packet.ingress].id)];
                let passed = records.trail(packet.frame.record).map_or(&first[..], Trail::ports);
                let Body::Packet(headers) = &mut packet.frame.body else {
                    unreachable!("link-local frames are not routed")
                };
                headers.route = route.with_passed(passed);
                let NextHop::Port(egress) = headers.route.next() else { unreachable!("a whole route begins here") };
                egress
            }
        }
    }

    /// Forwards a packet for another node to `egress`, if the packet may pass one more node.
    #[inline(always)]
    pub(crate) fn forward(&mut self, egress: PortIx, place: Place, kind: PacketKind, may_pass: bool) {
        if !may_pass {
            return self.drop_arrived(place, DropCause::TimeToLive);
        }
        let detour = NodeFlags::LAST_HOP | NodeFlags::DELAY | NodeFlags::DEAD_ENDS;
        let detour = detour | NodeFlags::NOTICE.only_if(kind == PacketKind::Notice);
        if self.node.io.flags.has::<S>(detour) {
            return self.reborrow().forward_by_detour(egress, place);
        }
        self.enqueue(egress, place);
    }

    /// Forwards a packet that mechanisms inspect on its way, or whose forwarding takes time.
    #[inline(never)]
    fn forward_by_detour(mut self, egress: PortIx, place: Place) {
        if self.node.io.is_dead_end(egress, self.env) {
            return self.drop_arrived(place, DropCause::LinkDown);
        }
        if self.reborrow().inspect(egress, place) == NoticeAction::Consume {
            let frame = self.env.frames.take(place).frame;
            return self.node.io.consume(&frame, self.env);
        }
        if self.node.io.flags.has::<S>(NodeFlags::DELAY) {
            self.start_transit(egress, place);
        } else {
            self.enqueue(egress, place);
        }
    }

    /// Drops a packet that arrived.
    #[cold]
    fn drop_arrived(&mut self, place: Place, cause: DropCause) {
        let ingress = self.env.frames[place].ingress;
        self.node.io.drop(ingress, place, cause, self.env);
    }

    /// Calls the hooks for notices and for packets before their last hop.
    #[inline(never)]
    fn inspect(mut self, egress: PortIx, place: Place) -> NoticeAction {
        let frame = self.env.frames[place].frame;
        let Body::Packet(headers) = &frame.body else { return NoticeAction::Forward };
        if headers.kind == PacketKind::Notice && self.reborrow().deliver_notice(&frame) == NoticeAction::Consume {
            return NoticeAction::Consume;
        }
        let is_last = match headers.route.next() {
            NextHop::Port(_) => false,
            NextHop::Arrived => true,
            NextHop::Towards(destination) => self.env.fabric.wiring.neighbour(self.node.id, egress) == destination,
        };
        if is_last {
            let Env { now, fabric, records, frames, .. } = self.env;
            let packet = &mut frames[place].context(egress, records);
            self.node.call_hooks(HookSet::LAST_HOP, *now, fabric, |hooks, view| hooks.on_last_hop(packet, view));
        }
        NoticeAction::Forward
    }

    /// Delivers a notice to the subscribed mechanisms.
    pub(crate) fn deliver_notice(self, frame: &Frame) -> NoticeAction {
        let Some(notice) = self.env.records.notice(frame.record).copied() else { return NoticeAction::Forward };
        let mut action = NoticeAction::Forward;
        self.node.call_hooks(HookSet::NOTICE, self.env.now, self.env.fabric, |hooks, view| {
            if hooks.on_notice(&notice, view) == NoticeAction::Consume {
                action = NoticeAction::Consume;
            }
        });
        action
    }

    // --------------------------------------------------------------------------- admit and enqueue

    /// Admits a packet to the buffer and puts it into a queue of `egress`.
    #[inline(always)]
    fn enqueue(&mut self, egress: PortIx, place: Place) {
        let Env { now, fabric, records, frames, sink } = &mut *self.env;
        let at = &mut frames[place].context(egress, records);
        let reaction = match Self::charge(self.node, at, *now, fabric) {
            Ok(reaction) => reaction,
            Err(cause) => return self.reborrow().refuse(egress, place, cause),
        };
        let (bytes, queue) = (at.bytes(), at.queue);
        Self::observe_enqueue(self.node, at, *sink, *now, fabric);
        if reaction.is_none() && self.node.io.passes::<S>(egress, queue, *now) {
            Self::pass(self.node, at, *now, fabric);
            let size = at.packet.frame.size;
            return self.start(egress, place, size);
        }
        self.node.io.ports[egress].enqueue(queue, place, bytes, frames);
        if let Some(pressure) = reaction {
            let at = &frames[place].context_in(egress, queue, records);
            self.node.flow_control.on_enqueue(at, pressure, &mut View::new(*now, *fabric, &mut self.node.io));
        }
        self.schedule(egress);
    }

    /// Charges a packet to the buffer, lets the flow control choose the packet's queue, and informs
    /// the flow control. Returns the pressure on the ingress port if the flow control must react to
    /// it, or the cause of the drop. Packets of the control class are not charged.
    #[inline(always)]
    fn charge(
        node: &mut Node,
        at: &mut PacketContext<'_>,
        now: Time,
        fabric: &Fabric,
    ) -> Result<Option<Pressure>, DropCause> {
        if at.ingress_class() == Class::CONTROL {
            return Ok(None);
        }
        let switch = node.switch.as_mut().expect("routes pass through switches only");
        let pressure = match usually!(AnyBufferPolicy::Sih, &mut switch.buffer, |buffer, at| buffer.admit(at, now)) {
            Admission::Charged(pressure) => pressure,
            Admission::Refused(cause) => return Err(cause),
        };
        if !S::PLAIN {
            switch.observe_arrival(at, now);
        }
        if !S::PLAIN && node.io.ports[at.egress].are_queues_named() {
            at.choose(node.flow_control.queue(at, &View::new(now, fabric, &mut node.io)));
        }
        let control = &mut node.flow_control;
        let reacts = usually!(AnyFlowControl::Pfc, control, |control, at| control.count_enqueue(at, pressure));
        Ok(reacts.then_some(pressure))
    }

    /// Lets the trace and the hooks observe a packet that is about to join its queue.
    #[inline(always)]
    fn observe_enqueue(node: &mut Node, at: &mut PacketContext<'_>, sink: &mut S, now: Time, fabric: &Fabric) {
        let Body::Packet(headers) = &at.packet.frame.body else { return };
        if !node.io.flags.has::<S>(NodeFlags::ENQUEUE | NodeFlags::TRACE) {
            return;
        }
        let hooks = HookSet::enqueue_of(headers.kind);
        if node.io.flags.has::<S>(NodeFlags::of(hooks) | NodeFlags::TRACE) {
            let bytes = node.io.ports[at.egress].queue_bytes(at.queue) + u64::from(at.bytes());
            let at = &mut at.reborrow();
            let is_ignored = || node.switch.as_ref().is_some_and(|switch| switch.ignores_enqueue(hooks, at, bytes));
            if node.io.flags.has::<S>(NodeFlags::TRACE) || !is_ignored() {
                Self::call_enqueue_hooks(hooks, node, at, bytes, sink, now, fabric);
            }
        }
    }

    /// Reports a packet that joins its queue, and calls the hooks that subscribed to packets of
    /// this kind.
    #[inline(never)]
    fn call_enqueue_hooks(
        hooks: HookSet,
        node: &mut Node,
        packet: &mut PacketContext<'_>,
        bytes: u64,
        sink: &mut S,
        now: Time,
        fabric: &Fabric,
    ) {
        if node.io.flags.has::<S>(NodeFlags::TRACE) {
            Tracer::new(&mut node.io, &node.switch, sink, now).enqueued(packet, bytes);
        }
        node.call_hooks(hooks, now, fabric, |hooks, view| hooks.on_enqueue(packet, bytes, view));
    }

    /// Drops a packet that no pool took.
    #[cold]
    fn refuse(mut self, egress: PortIx, place: Place, cause: DropCause) {
        if let (Some(switch), DropCause::Headroom) = (&self.node.switch, cause) {
            let at = self.env.frames[place].context(egress, self.env.records);
            let view = &mut View::new(self.env.now, self.env.fabric, &mut self.node.io);
            self.node.flow_control.on_refuse(&at, switch.gauge(&at), view);
        }
        self.drop_arrived(place, cause);
    }

    /// Starts the transit of a packet whose forwarding takes time. The buffer admits the packet
    /// before its transit, and the flow control is informed.
    fn start_transit(self, egress: PortIx, place: Place) {
        let Env { now, fabric, records, frames, sink } = &mut *self.env;
        let at = &mut frames[place].context(egress, records);
        match Self::charge(self.node, at, *now, fabric) {
            Ok(Some(pressure)) => {
                let view = &mut View::new(*now, *fabric, &mut self.node.io);
                self.node.flow_control.on_enqueue(at, pressure, view);
            }
            Ok(None) => {}
            Err(cause) => return self.refuse(egress, place, cause),
        }
        let queue = at.queue;
        let switch = self.node.switch.as_mut().expect("routes pass through switches only");
        let is_first = switch.transit.is_empty();
        switch.transit.start(egress, queue, frames.take(place), *now);
        if let Some(end) = switch.transit.next_end().filter(|_| is_first) {
            sink.schedule(Wakeup::Node(self.node.id), end);
        }
    }

    /// Ends a transit: the packet joins its queue.
    pub(crate) fn end_transit(&mut self, egress: PortIx, queue: QueueIx, queued: QueuedPacket) {
        let place = self.env.frames.put(queued);
        let is_dead_end = self.node.io.is_dead_end(egress, self.env);
        let Env { now, fabric, records, frames, sink } = &mut *self.env;
        let packet = &mut frames[place].context_in(egress, queue, records);
        if is_dead_end {
            Self::release(self.node, packet, *now, fabric);
            return self.drop_arrived(place, DropCause::LinkDown);
        }
        Self::observe_enqueue(self.node, packet, *sink, *now, fabric);
        let bytes = packet.bytes();
        self.node.io.ports[egress].enqueue(queue, place, bytes, frames);
        self.schedule(egress);
    }

    /// Enqueues a packet that the node made.
    pub(crate) fn enqueue_own(&mut self, egress: PortIx, frame: Frame) {
        self.node.io.counters.created += u64::from(frame.size.charge);
        let place = self.env.frames.put(QueuedPacket::new(frame, PortIx::NONE, self.env.now));
        if self.node.io.is_dead_end(egress, self.env) {
            return self.node.io.drop(egress, place, DropCause::LinkDown, self.env);
        }
        let Env { now, fabric, records, frames, sink } = &mut *self.env;
        let at = &mut frames[place].context(egress, records);
        if self.node.io.flags.has::<S>(NodeFlags::TRACE) {
            Tracer::new(&mut self.node.io, &self.node.switch, *sink, *now).own_enqueued(at);
        }
        let queue = at.queue;
        if self.node.io.passes::<S>(egress, queue, *now) {
            Self::pass(self.node, at, *now, fabric);
            return self.start(egress, place, frame.size);
        }
        self.node.io.ports[egress].enqueue(queue, place, frame.size.charge, frames);
        self.schedule(egress);
    }

    /// Lets a packet depart at once, as if it had joined its queue and left it again.
    #[inline(always)]
    fn pass(node: &mut Node, at: &mut PacketContext<'_>, now: Time, fabric: &Fabric) {
        node.io.ports[at.egress].pass(at.queue);
        node.io.extend_trail::<S>(at.egress, &mut at.packet.frame, at.records);
        Self::depart(node, at, now, fabric);
    }

    // ------------------------------------------------------------------------------------ schedule

    /// Handles the wake-up of a port, unless it is obsolete.
    #[inline(always)]
    pub(crate) fn wake(&mut self, ix: PortIx) {
        let now = self.env.now;
        let port = &mut self.node.io.ports[ix];
        if port.wake_at > now {
            return;
        }
        let is_idle = port.is_idle(now);
        port.wake_at = Time::NEVER;
        if is_idle {
            self.reborrow().transmit(ix);
        } else {
            self.wake_when_idle(ix);
        }
    }

    /// Transmits the next frame of a port if the port is idle. Otherwise schedules a wake-up for
    /// the time at which the port becomes idle.
    #[inline(always)]
    pub(crate) fn schedule(&mut self, ix: PortIx) {
        if self.node.io.ports[ix].is_idle(self.env.now) {
            self.reborrow().transmit(ix);
        } else {
            self.wake_when_idle(ix);
        }
    }

    /// Transmits the next frame of an idle port: link-local frames first, then frames of queues,
    /// then frames of queue pairs.
    fn transmit(mut self, ix: PortIx) {
        let flags = self.node.io.flags;
        if flags.has::<S>(NodeFlags::INNER_QUEUES) && self.node.io.ports[ix].can_advance() {
            self.reborrow().advance_inner_queues(ix);
        }
        if flags.has::<S>(NodeFlags::TURNS) && self.nic().is_own_turn(ix) {
            return self.transmit_own(ix);
        }
        let port = &mut self.node.io.ports[ix];
        if port.has_control() {
            return self.transmit_control(ix);
        }
        let Some(queue) = port.next_queue(self.env.frames) else { return self.transmit_own(ix) };
        let Env { now, fabric, records, frames, .. } = &mut *self.env;
        let (place, packet) = port.take(queue, frames);
        let packet = if port.opened_after(packet.at) {
            charge_pauses_of(port, queue, place, frames, records, fabric)
        } else {
            packet
        };
        let size = packet.frame.size;
        if flags.has::<S>(NodeFlags::ACCOUNTED_DEPARTURE) {
            self.depart_by_detour(ix, queue, place);
        } else {
            self.node.io.extend_trail::<S>(ix, &mut packet.frame, records);
            Self::depart(self.node, &mut packet.context_in(ix, queue, records), *now, fabric);
        }
        self.start(ix, place, size);
    }

    /// Transmits the next link-local frame.
    #[inline(never)]
    fn transmit_control(mut self, ix: PortIx) {
        let (place, frame) = self.node.io.ports[ix].next_control(self.env.frames);
        let size = frame.size;
        if self.node.io.flags.has::<S>(NodeFlags::TRACE) {
            let Node { io, switch, .. } = &mut *self.node;
            Tracer::new(io, switch, self.env.sink, self.env.now).link_local_started(ix, frame);
        }
        self.start(ix, place, size);
    }

    /// Transmits the next packet of a queue pair, if one may send.
    fn transmit_own(mut self, ix: PortIx) {
        match self.nic().next_packet(ix) {
            Some(frame) => {
                let place = self.env.frames.put(QueuedPacket::new(frame, PortIx::NONE, self.env.now));
                self.start(ix, place, frame.size);
            }
            None => self.wake_when_idle(ix),
        }
    }

    /// Starts the frame at `place` on the wire, and schedules the wake-up for the next one.
    #[inline(always)]
    fn start(&mut self, ix: PortIx, place: Place, size: FrameSize) {
        let port = &mut self.node.io.ports[ix];
        port.start(size, self.env.now);
        self.env.sink.transmit(port, place, self.env.now, self.env.records, self.env.frames);
        Self::wake_port_when_idle(port, &mut self.node.io.endpoint, self.env);
    }

    /// Schedules a wake-up of port `ix` for the time at which the port becomes idle.
    #[inline(always)]
    fn wake_when_idle(&mut self, ix: PortIx) {
        let NodeIo { ports, endpoint, .. } = &mut self.node.io;
        Self::wake_port_when_idle(&mut ports[ix], endpoint, self.env);
    }

    /// Schedules a wake-up of `port` for the time at which the port becomes idle, if a frame will
    /// wait by then and no earlier wake-up is scheduled.
    #[inline(always)]
    fn wake_port_when_idle(port: &mut Port, endpoint: &mut Option<Endpoint>, env: &mut Env<'_, S>) {
        if port.wake_at <= port.busy_until {
            return;
        }
        let at = if port.has_work::<S>() {
            port.busy_until
        } else {
            let Some(endpoint) = endpoint else { return };
            let Some(next) = endpoint.next_departure(port.ix, port.closed_classes()) else { return };
            next.max(port.busy_until)
        };
        if at < port.wake_at {
            port.wake_at = at;
            env.sink.schedule(Wakeup::Port(port), at);
        }
    }

    /// Returns the host's side of the node.
    #[inline(always)]
    fn nic(&mut self) -> Nic<'_, 'e, S> {
        Nic::new(self.node, self.env)
    }

    // -------------------------------------------------------------------------------------- depart

    /// Lets a packet that left its queue depart: its transmission starts now.
    #[inline(always)]
    fn depart(node: &mut Node, at: &mut PacketContext<'_>, now: Time, fabric: &Fabric) {
        let hooks = Self::note_queue(at);
        Self::observe_departure(hooks, node, at, now, fabric);
        Self::release(node, at, now, fabric);
    }

    /// Notes in the headers of a departing packet which queue it left. Returns the hooks for this
    /// kind of packet.
    #[inline(always)]
    fn note_queue(at: &mut PacketContext<'_>) -> HookSet {
        let queue = at.queue.0.min(u8::MAX.into()) as u8;
        let Body::Packet(headers) = &mut at.packet.frame.body else {
            unreachable!("link-local frames are in no queue")
        };
        headers.queue = queue;
        HookSet::departure_of(headers.kind)
    }

    /// Lets a packet depart that is traced, or that counts as a turn or as relayed.
    #[inline(never)]
    fn depart_by_detour(&mut self, egress: PortIx, queue: QueueIx, place: Place) {
        let flags = self.node.io.flags;
        let packet = &mut self.env.frames[place];
        self.node.io.extend_trail::<S>(egress, &mut packet.frame, self.env.records);
        if flags.has::<S>(NodeFlags::RELAYS) && packet.ingress != PortIx::NONE {
            self.node.io.ports[egress].count_relayed(&packet.frame);
        }
        if flags.has::<S>(NodeFlags::TURNS) && packet.frame.class() != Class::CONTROL {
            let wire = packet.frame.size.wire;
            self.nic().charge_queues_turn(egress, wire);
        }
        let Env { now, fabric, records, frames, sink } = &mut *self.env;
        if flags.has::<S>(NodeFlags::TRACE) {
            records.prefetch_journey(self.node.io.ports[egress].next_record(queue, frames));
        }
        let at = &mut frames[place].context_in(egress, queue, records);
        let was_marked = at.packet.frame.is_marked();
        let hooks = Self::note_queue(at);
        Self::observe_departure(hooks, self.node, at, *now, fabric);
        if flags.has::<S>(NodeFlags::TRACE) {
            let mut tracer = Tracer::new(&mut self.node.io, &self.node.switch, *sink, *now);
            if at.packet.frame.is_marked() && !was_marked {
                tracer.marked(at);
            }
            tracer.started(at);
        }
        Self::release(self.node, at, *now, fabric);
    }

    /// Lets the hooks observe a packet that leaves its queue.
    #[inline(always)]
    fn observe_departure(hooks: HookSet, node: &mut Node, at: &mut PacketContext<'_>, now: Time, fabric: &Fabric) {
        if node.io.flags.has::<S>(NodeFlags::of(hooks)) {
            let bytes = node.io.ports[at.egress].queue_bytes(at.queue);
            let at = &mut at.reborrow();
            if !node.switch.as_ref().is_some_and(|switch| switch.ignores_departure(hooks, at, bytes)) {
                Self::call_departure_hooks(hooks, node, at, bytes, now, fabric);
            }
        }
    }

    /// Calls the hooks for a packet that leaves its queue, which then holds `bytes`.
    #[inline(never)]
    fn call_departure_hooks(
        hooks: HookSet,
        node: &mut Node,
        at: &mut PacketContext<'_>,
        bytes: u64,
        now: Time,
        fabric: &Fabric,
    ) {
        node.call_hooks(hooks, now, fabric, |hooks, view| hooks.on_departure(at, bytes, view));
    }

    /// Frees the buffer of a packet that left its queue, and informs the flow control.
    #[inline(always)]
    fn release(node: &mut Node, at: &mut PacketContext<'_>, now: Time, fabric: &Fabric) {
        if !at.is_charged() {
            return;
        }
        let Some(switch) = &mut node.switch else { return };
        usually!(AnyBufferPolicy::Sih, &mut switch.buffer, |buffer, at| buffer.release(at, now));
        if !S::PLAIN {
            switch.observe_departure(at, now);
        }
        if usually!(AnyFlowControl::Pfc, &mut node.flow_control, |control, at| control.count_dequeue(at)) {
            let at = &mut at.reborrow();
            node.flow_control.on_dequeue(at, switch.gauge(at), &mut View::new(now, fabric, &mut node.io));
        }
    }

    // -------------------------------------------------------------------------------- inner queues

    /// Gives the inner queues of `egress` one turn: each open inner queue passes a packet on.
    /// Except with [`Stage::QueueAll`], the turn ends once a packet has reached a queue that feeds
    /// the wire. Repeats the turn while nothing can leave. Does nothing while a control frame has
    /// precedence. An inner queue must be able to advance a packet.
    #[inline(never)]
    fn advance_inner_queues(mut self, egress: PortIx) {
        if self.node.io.ports[egress].has_urgent() {
            return;
        }
        let all = self.node.flow_control.added_queues().stage == Stage::QueueAll;
        // The loop ends: every move brings a packet nearer to the wire.
        loop {
            for _ in 0..self.node.io.ports[egress].count_inner() {
                let Some(queue) = self.node.io.ports[egress].next_inner() else { break };
                if self.reborrow().move_first(egress, queue) && !all {
                    break;
                }
            }
            let port = &self.node.io.ports[egress];
            if port.can_send() || !port.can_advance() {
                break;
            }
        }
    }

    /// Moves the packets that a queue holds now to their next queues.
    pub(crate) fn flush(&mut self, egress: PortIx, queue: QueueIx) {
        for _ in 0..self.node.io.ports[egress].queue_frames(queue) {
            self.reborrow().move_first(egress, queue);
        }
    }

    /// Drops all packets that wait at `egress`, whose link has failed.
    pub(crate) fn abandon(&mut self, egress: PortIx) {
        // Packets of inner queues move on first: every move brings a packet nearer to the wire.
        while let Some(queue) = self.node.io.ports[egress].first_inner() {
            self.reborrow().move_first(egress, queue);
        }
        for queue in self.node.io.ports[egress].queues() {
            while self.node.io.ports[egress].is_occupied(queue) {
                let Env { now, fabric, records, frames, sink } = &mut *self.env;
                let (place, packet) = self.node.io.ports[egress].take(queue, frames);
                let packet = &mut packet.context_in(egress, queue, records);
                Tracer::new(&mut self.node.io, &self.node.switch, *sink, *now).abandoned(packet);
                Self::release(self.node, packet, *now, fabric);
                let ingress = if packet.ingress() == PortIx::NONE { egress } else { packet.ingress() };
                self.node.io.drop(ingress, place, DropCause::LinkDown, self.env);
            }
        }
    }

    /// Moves the first packet of a queue to its next queue. Returns true if the next queue feeds
    /// the wire.
    #[inline(never)]
    fn move_first(self, egress: PortIx, queue: QueueIx) -> bool {
        let Node { io, switch, flow_control, .. } = &mut *self.node;
        let port = &mut io.ports[egress];
        let Env { now, fabric, records, frames, sink } = &mut *self.env;
        let (place, queued) = port.take_any(queue, frames);
        let queued = if port.opened_after(queued.at) {
            charge_pauses_of(port, queue, place, frames, records, fabric)
        } else {
            queued
        };
        let packet = queued.context_in(egress, queue, records);
        let (from, to) = (packet.choice(), flow_control.next_queue(&packet, &View::new(*now, *fabric, io)));
        (queued.at, queued.note) = (*now, to.note);
        queued.frame.set_class(to.class);
        let port = &mut io.ports[egress];
        let feeds_wire = port.feeds_wire(to.queue);
        let bytes = queued.frame.size.charge;
        port.enqueue(to.queue, place, bytes, frames);
        let mut packet = frames[place].context_in(egress, to.queue, records);
        if io.flags.has::<S>(NodeFlags::TRACE) {
            Tracer::new(io, switch, *sink, *now).moved(from, &mut packet);
        }
        flow_control.on_move(&packet, from, &mut View::new(*now, *fabric, io));
        feeds_wire
    }
}
