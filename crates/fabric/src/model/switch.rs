//! The switching pipeline: an output-queued switch with shared memory.
//!
//! ```text
//!  frame in ─► route ─► admit (private, shared, headroom: buffer policy) ─► queue of the egress port (flow control) ─► scheduler ─► frame out
//!                              │ full: PAUSE out of the ingress port              release, mark ECN / stamp telemetry │
//!                              └──────────────────────────── flow control ◄──────── below_xon: RESUME ──────────────────┘
//! ```
//!
//! Buffers are freed, and marks and stamps made, when a packet starts on the wire. The control class is never charged.

use crate::contract::note::{DropCause, Note};
use crate::contract::passage::OWN;
use crate::contract::{
    Admission, BufferPolicy, Carried, Choice, Entropy, FlowControl, Gauge, HookSet, Joining, LoadBalance, NoticeAction,
    Passage, PipelineHooks, Pressure, RouteRequest, Stage, View,
};
use crate::frame::{Body, Frame, NextHop, Packet, PacketKind, Trail};
use crate::ids::{Class, NodeId, PortIx, QueueIx};
use crate::model::fifo::Queued;
use crate::model::interfaces::Caller;
use crate::model::node::Node;
use crate::model::port::Port;
use crate::model::sink::{Env, Sink, Wakeup};
use crate::network::fabric::Fabric;

impl Node {
    /// A packet for another node has arrived on `ingress` and leaves through `egress`.
    #[inline(always)]
    pub(crate) fn forward<S: Sink>(&mut self, ingress: PortIx, egress: PortIx, frame: &Frame, env: &mut Env<'_, S>) {
        let mut queued = Queued { frame: *frame, at: env.now, ingress, came: frame.class(), note: 0 };
        let mut slow = HookSet::LAST_HOP | HookSet::DELAY | HookSet::DEAD_ENDS;
        if let Body::Packet(packet) = &mut queued.frame.body {
            if !packet.route.advance() {
                return self.drop(ingress, frame, DropCause::TimeToLive, env);
            }
            slow = slow | HookSet::NOTICE.only_if(packet.kind == PacketKind::Notice);
        }
        if self.interfaces.stations.intersects(slow) {
            return self.forward_slowly(egress, queued, env);
        }
        self.join(egress, &mut queued, env);
    }

    /// The same where mechanisms look at packets on their way, or these take some time.
    #[inline(never)]
    fn forward_slowly<S: Sink>(&mut self, egress: PortIx, mut queued: Queued, env: &mut Env<'_, S>) {
        if self.is_dead_end(egress, env) {
            return self.drop(queued.ingress, &queued.frame, DropCause::LinkDown, env);
        }
        if self.look_at(egress, &mut queued.frame, env) == NoticeAction::Consume {
            return self.consume(&queued.frame, env);
        }
        if self.interfaces.stations.intersects(HookSet::DELAY) {
            self.begin_transit(egress, queued, env);
        } else {
            self.join(egress, &mut queued, env);
        }
    }

    /// A packet sets out for its queue, where that takes some time: it is charged here, and its upstream told if that was too much.
    fn begin_transit<S: Sink>(&mut self, egress: PortIx, mut queued: Queued, env: &mut Env<'_, S>) {
        let mut queue = QueueIx::from(queued.came.0);
        if queued.came != Class::CONTROL {
            let mut passage = queued.passage(egress, queue);
            let Some(pressure) = self.admit(&mut passage, &mut queued, env) else { return };
            queue = passage.queue;
            self.with_flow_control(env, |mechanism, node| mechanism.on_enqueue(&passage, pressure, node));
        }
        let pipeline = self.pipeline.as_mut().expect("routes pass through switches only");
        let due = pipeline.transit.enter(egress, queue, queued, env.now);
        env.sink.schedule(Wakeup::Node(self.id), due);
    }

    /// A packet is at its queue.
    pub(crate) fn end_transit<S: Sink>(
        &mut self,
        egress: PortIx,
        queue: QueueIx,
        queued: &mut Queued,
        env: &mut Env<'_, S>,
    ) {
        let passage = queued.passage(egress, queue);
        if self.is_dead_end(egress, env) {
            self.let_go(&passage, env);
            return self.drop(queued.ingress, &queued.frame, DropCause::LinkDown, env);
        }
        if sees_enqueue(self.interfaces.stations, &queued.frame) {
            self.tell_of_enqueue(&passage, &mut queued.frame, env);
        }
        self.interfaces.ports[usize::from(egress)].enqueue(queue, queued, env.frames);
        self.kick(egress, env);
    }

    /// A packet joins a queue of `egress`, if the buffer takes it.
    #[inline(always)]
    pub(crate) fn join<S: Sink>(&mut self, egress: PortIx, queued: &mut Queued, env: &mut Env<'_, S>) {
        let (class, stations) = (queued.came, self.interfaces.stations);
        if class == Class::CONTROL {
            if sees_enqueue(stations, &queued.frame) {
                self.tell_of_enqueue(&queued.passage(egress, class.0.into()), &mut queued.frame, env);
            }
            self.interfaces.ports[usize::from(egress)].enqueue(class.0.into(), queued, env.frames);
            return self.kick(egress, env);
        }
        let mut passage = queued.passage(egress, class.0.into());
        let Some(pressure) = self.admit(&mut passage, queued, env) else { return };
        if sees_enqueue(stations, &queued.frame) {
            self.tell_of_enqueue(&passage, &mut queued.frame, env);
        }
        self.interfaces.ports[usize::from(egress)].enqueue(passage.queue, queued, env.frames);
        self.flow_control.on_enqueue(&passage, pressure, &mut View::new(env.now, env.fabric, &mut self.interfaces));
        self.kick(egress, env);
    }

    /// The buffer takes a packet, or refuses it, and flow control names its queue; what has been found about its ingress port.
    #[inline(always)]
    fn admit<S: Sink>(&mut self, passage: &mut Passage, queued: &mut Queued, env: &mut Env<'_, S>) -> Option<Pressure> {
        let pipeline = self.pipeline.as_mut().expect("routes pass through switches only");
        let pressure = match pipeline.buffer.admit(passage, env.now) {
            Admission::Charged(pressure) => pressure,
            Admission::Refused(cause) => {
                self.refuse(*passage, &queued.frame, cause, env);
                return None;
            }
        };
        if let Some(probe) = &mut pipeline.probe {
            let (came, bytes) = (passage.came, passage.bytes.into());
            probe.on_arrival(passage.ingress, came, bytes, &pipeline.buffer, env.now);
        }
        if self.interfaces.ports[usize::from(passage.egress)].are_queues_named() {
            let joining = joining(&self.interfaces.ports, passage.egress, queued, env.fabric);
            let view = View::new(env.now, env.fabric, &mut self.interfaces);
            let place = self.flow_control.queue(joining, &view);
            (passage.queue, passage.class, passage.note, queued.note) =
                (place.queue, place.class, place.note, place.note);
            queued.frame.set_class(place.class);
        }
        Some(pressure)
    }

    #[inline(never)]
    fn tell_of_enqueue<S: Sink>(&mut self, at: &Passage, frame: &mut Frame, env: &mut Env<'_, S>) {
        let queue_bytes = self.interfaces.ports[usize::from(at.egress)].queue_bytes(at.queue) + u64::from(at.bytes);
        let Some(Packet { kind, .. }) = frame.packet().copied() else { return };
        if self.is_watched() {
            self.log_join(at, queue_bytes, frame, env);
        }
        self.pass(HookSet::enqueue_of(kind), frame, env, |station, packet, view| {
            station.on_enqueue(at, queue_bytes, packet, view);
        });
    }

    /// Shows a packet that leaves through `egress` to those who want to see notices, and what is about to reach its destination.
    #[inline(never)]
    fn look_at<S: Sink>(&mut self, egress: PortIx, frame: &mut Frame, env: &mut Env<'_, S>) -> NoticeAction {
        let Body::Packet(packet) = &frame.body else { return NoticeAction::Forward };
        if packet.kind == PacketKind::Notice && self.hear(frame, env) == NoticeAction::Consume {
            return NoticeAction::Consume;
        }
        let is_last = match packet.route.next() {
            NextHop::Port(_) => false,
            NextHop::Arrived => true,
            NextHop::Towards(destination) => env.fabric.wiring.neighbour(self.id, egress) == destination,
        };
        if is_last {
            self.pass(HookSet::LAST_HOP, frame, env, |station, packet, view| station.on_last_hop(egress, packet, view));
        }
        NoticeAction::Forward
    }

    /// Shows a notice to those who want to hear it.
    pub(crate) fn hear<S: Sink>(&mut self, frame: &Frame, env: &mut Env<'_, S>) -> NoticeAction {
        let Some(notice) = env.records.notice(frame.record).copied() else { return NoticeAction::Forward };
        let mut heard = NoticeAction::Forward;
        self.at_stations(HookSet::NOTICE, env, |station, view| {
            if station.on_notice(&notice, view) == NoticeAction::Consume {
                heard = NoticeAction::Consume;
            }
        });
        heard
    }

    /// Shows a packet to each mechanism that has asked to be called at `points`.
    #[inline(always)]
    fn pass<S: Sink>(
        &mut self,
        points: HookSet,
        frame: &mut Frame,
        env: &mut Env<'_, S>,
        mut hook: impl FnMut(&mut dyn PipelineHooks, &mut Carried<'_>, &mut View<'_>),
    ) {
        let Some(pipeline) = &mut self.pipeline else { return };
        let Env { now, fabric, records, .. } = env;
        if pipeline.point_at.intersects(points) {
            let packet = &mut Carried { frame, records };
            let node = &mut self.interfaces.seen_by(Caller::CongestionPoint, &pipeline.buffer);
            hook(&mut pipeline.congestion_point, packet, &mut View::new(*now, *fabric, node));
        }
        if pipeline.balancer_at.intersects(points) {
            let packet = &mut Carried { frame, records };
            let node = &mut self.interfaces.seen_by(Caller::LoadBalance, &pipeline.buffer);
            hook(&mut pipeline.balancer, packet, &mut View::new(*now, *fabric, node));
        }
    }

    /// No pool takes a packet.
    #[cold]
    fn refuse<S: Sink>(&mut self, passage: Passage, frame: &Frame, cause: DropCause, env: &mut Env<'_, S>) {
        if let Some(pipeline) = self.pipeline.as_ref().filter(|_| cause == DropCause::Headroom) {
            let gauge = Gauge { policy: &pipeline.buffer, passage: &passage };
            let mut view = View::new(env.now, env.fabric, &mut self.interfaces);
            self.flow_control.on_refuse(&passage, gauge, &mut view);
        }
        self.drop(passage.ingress, frame, cause, env);
    }

    /// A packet leaves `queue` of `egress`: it starts on the wire now.
    #[inline(always)]
    pub(crate) fn depart<S: Sink>(
        &mut self,
        egress: PortIx,
        queue: QueueIx,
        queued: &mut Queued,
        env: &mut Env<'_, S>,
    ) {
        let frame = &mut queued.frame;
        let Body::Packet(packet) = &mut frame.body else { unreachable!("link-local frames stand in no queue") };
        packet.queue = queue.min(u8::MAX.into()) as u8;
        let departure = HookSet::departure_of(packet.kind);
        let passage = &queued.passage(egress, queue);
        if self.interfaces.stations.intersects(departure | HookSet::ON_DEPARTURE) {
            self.keep_trail(egress, &mut queued.frame, env);
            if self.interfaces.stations.intersects(HookSet::LOGGED_DEPARTURE) {
                self.log_departure(departure, passage, &mut queued.frame, env);
            } else if self.interfaces.stations.intersects(departure) {
                self.show_departure(departure, passage, &mut queued.frame, env);
            }
        }
        self.let_go(passage, env);
    }

    /// A packet is no longer in the buffer.
    #[inline(always)]
    fn let_go<S: Sink>(&mut self, passage: &Passage, env: &mut Env<'_, S>) {
        if !passage.is_charged() {
            return;
        }
        let Some(pipeline) = &mut self.pipeline else { return };
        pipeline.buffer.release(passage, env.now);
        if let Some(probe) = &mut pipeline.probe {
            probe.on_departure(passage.ingress, passage.came, passage.bytes.into(), &pipeline.buffer, env.now);
        }
        let gauge = Gauge { policy: &pipeline.buffer, passage };
        let mut view = View::new(env.now, env.fabric, &mut self.interfaces);
        self.flow_control.on_dequeue(passage, gauge, &mut view);
    }

    /// Shows a packet that leaves its queue to those who want to see it.
    #[inline(never)]
    fn show_departure<S: Sink>(&mut self, of_kind: HookSet, at: &Passage, frame: &mut Frame, env: &mut Env<'_, S>) {
        let queue_bytes = self.interfaces.ports[usize::from(at.egress)].queue_bytes(at.queue);
        self.pass(of_kind, frame, env, |station, packet, view| station.on_departure(at, queue_bytes, packet, view));
    }

    /// The same where it counts as a turn or as relayed, or is traced.
    #[inline(never)]
    fn log_departure<S: Sink>(&mut self, of_kind: HookSet, at: &Passage, frame: &mut Frame, env: &mut Env<'_, S>) {
        let stations = self.interfaces.stations;
        if stations.intersects(HookSet::RELAYS) && at.ingress != OWN {
            self.interfaces.ports[usize::from(at.egress)].relays(frame);
        }
        if stations.intersects(HookSet::TURNS) && at.class != Class::CONTROL {
            self.took_queues_turn(at.egress, frame.size.wire, env);
        }
        let was_marked = frame.packet().is_some_and(|packet| packet.marked);
        self.show_departure(of_kind, at, frame, env);
        if !stations.intersects(HookSet::TRACE) {
            return;
        }
        if let Some(Packet { flow, psn, marked: true, .. }) = frame.packet().copied()
            && !was_marked
        {
            let port = self.interfaces.ports[usize::from(at.egress)].id;
            env.sink.note(Note::Marked { port, queue: at.queue, flow, psn });
            env.records
                .journey_mut(frame.record)
                .into_iter()
                .for_each(|journey| journey.marked = Some((port, env.now)));
        }
        self.log_start(at, frame, env);
    }

    /// One turn of the schedulers between the queues of `egress`: open queues that lead to others hand one packet each on, until one has come
    /// to a queue that leads to the wire; another turn, if nothing could leave even so. No turn, if a frame goes before them.
    #[inline(never)]
    pub(crate) fn hand_on<S: Sink>(&mut self, egress: PortIx, env: &mut Env<'_, S>) {
        let port = &self.interfaces.ports[usize::from(egress)];
        if !port.can_hand_on() || port.has_urgent() {
            return;
        }
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

    /// Loses all packets that wait at `egress`, whose link is down.
    pub(crate) fn abandon<S: Sink>(&mut self, egress: PortIx, env: &mut Env<'_, S>) {
        // What is in a queue that leads to others moves on first, be it into another such queue: every move brings it nearer to the wire.
        while let Some(queue) = self.interfaces.ports[usize::from(egress)].first_inner() {
            self.move_first(egress, queue, env);
        }
        let queues = self.interfaces.ports[usize::from(egress)].queue_count() as QueueIx;
        for queue in 0..queues {
            while self.interfaces.ports[usize::from(egress)].is_occupied(queue) {
                let queued = self.interfaces.ports[usize::from(egress)].take(queue, env.frames);
                let at = queued.passage(egress, queue);
                self.log_abandoned(&at, &queued.frame, env);
                self.let_go(&at, env);
                let ingress = if queued.ingress == OWN { egress } else { queued.ingress };
                self.drop(ingress, &queued.frame, DropCause::LinkDown, env);
            }
        }
    }

    /// Moves the first packet of a queue into the next one; whether that leads to the wire.
    #[inline(never)]
    fn move_first<S: Sink>(&mut self, egress: PortIx, queue: QueueIx, env: &mut Env<'_, S>) -> bool {
        let port = &mut self.interfaces.ports[usize::from(egress)];
        let leads_to_wire = port.leads_to_wire(queue);
        let mut queued = if leads_to_wire { port.take(queue, env.frames) } else { port.take_inner(queue, env.frames) };
        if port.opened_after(queued.at) {
            self.log_pauses(egress, queue, queued.at, &mut queued.frame, env);
        }
        let from = queued.passage(egress, queue);
        let joining = joining(&self.interfaces.ports, egress, &queued, env.fabric);
        let place = self.flow_control.next_queue(joining, from, &View::new(env.now, env.fabric, &mut self.interfaces));
        (queued.at, queued.note) = (env.now, place.note);
        queued.frame.set_class(place.class);
        let port = &mut self.interfaces.ports[usize::from(egress)];
        let leads_to_wire = port.leads_to_wire(place.queue);
        port.enqueue(place.queue, &queued, env.frames);
        let to = queued.passage(egress, place.queue);
        if self.is_watched() {
            self.log_move(&from, &to, &queued.frame, env);
        }
        self.with_flow_control(env, |mechanism, node| mechanism.on_move(&from, &to, node));
        leads_to_wire
    }

    /// A packet that carries no route has arrived on `ingress`: it goes where the load balancer sends it, among the equal-cost ports.
    #[inline(never)]
    pub(crate) fn route<S: Sink>(&mut self, ingress: PortIx, destination: NodeId, frame: &Frame, env: &mut Env<'_, S>) {
        let mut with_route;
        let (egress, frame) = match env.fabric.routes.candidates(self.id, destination) {
            [only] => (*only, frame),
            [] => return self.drop(ingress, frame, DropCause::LinkDown, env),
            several => {
                with_route = *frame;
                (self.choose(ingress, destination, several, &mut with_route, env), &with_route)
            }
        };
        self.forward(ingress, egress, frame, env);
    }

    /// The load balancer's choice.
    fn choose<S: Sink>(
        &mut self,
        ingress: PortIx,
        destination: NodeId,
        candidates: &[PortIx],
        frame: &mut Frame,
        env: &mut Env<'_, S>,
    ) -> PortIx {
        let Body::Packet(packet) = &frame.body else { unreachable!("link-local frames are not routed") };
        let pipeline = self.pipeline.as_mut().expect("routes pass through switches only");
        let path = env.records.path(frame.record).map(Entropy);
        let key = env.fabric.key(packet.flow, packet.direction()).with(path);
        let packet = Carried { frame, records: env.records };
        let arrival = &mut RouteRequest { packet, ingress, destination, key, candidates };
        let node = &mut self.interfaces.seen_by(Caller::LoadBalance, &pipeline.buffer);
        let choice = pipeline.balancer.choose(arrival, &mut View::new(env.now, env.fabric, node));
        match choice {
            Choice::Candidate(index) => candidates[index],
            Choice::Route(route) => {
                let first = [env.fabric.wiring.across(self.interfaces.ports[usize::from(ingress)].id)];
                let past = env.records.trail(frame.record).map_or(&first[..], Trail::ports);
                let Body::Packet(packet) = &mut frame.body else { unreachable!("link-local frames are not routed") };
                packet.route = route.behind_past(past);
                let NextHop::Port(egress) = packet.route.next() else { unreachable!("a whole route begins here") };
                egress
            }
        }
    }
}

/// Whether anybody wants to see a packet join its queue.
#[inline(always)]
fn sees_enqueue(stations: HookSet, frame: &Frame) -> bool {
    let is_asked = |packet: &Packet| stations.intersects(HookSet::enqueue_of(packet.kind) | HookSet::TRACE);
    stations.intersects(HookSet::ENQUEUE | HookSet::TRACE) && frame.packet().is_some_and(is_asked)
}

/// A packet that is about to join a queue of `egress`, as flow control sees it.
#[inline]
fn joining<'a>(ports: &[Port], egress: PortIx, queued: &'a Queued, fabric: &'a Fabric) -> Joining<'a> {
    let Body::Packet(packet) = &queued.frame.body else { unreachable!("only packets of flows are charged") };
    let onward = fabric.onward(packet.flow, packet.direction(), packet.route, ports[usize::from(egress)].id);
    Joining { frame: &queued.frame, ingress: queued.ingress, egress, onward }
}
