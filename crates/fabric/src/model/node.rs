//! A node: ports, and behind them a switching pipeline (`switch.rs`), an endpoint (`host/`), or both.
//!
//! Sans-IO: a node is handed frames and wake-ups together with the present, and pushes what it does into a [`Sink`]. It never sees the event
//! set, a clock, a file or a socket, so that whatever drives it can be a simulator or a wire.

use crate::contract::note::{DropCause, Note};
use crate::contract::passage::OWN;
use crate::contract::{FlowControl, HookSet, OutgoingNotice, PipelineHooks, View};
use crate::frame::record::Record;
use crate::frame::{Body, Frame, NextHop, Packet, PacketKind, RecordRef, Timestamp};
use crate::ids::{CLASSES, Class, NodeId, PortIx, QueueIx};
use crate::mechanisms::flow_control::AnyFlowControl;
use crate::model::fifo::{Frames, Queued};
use crate::model::host::Endpoint;
use crate::model::interfaces::{Caller, Counters, Effect, Effects, Interfaces};
use crate::model::pipeline::Pipeline;
use crate::model::port::Port;
use crate::model::sink::{Env, Sink, Wakeup};
use crate::network::fabric::Fabric;
use crate::network::spec::HostScheduler;
use backwater_engine::Time;
use std::mem::offset_of;

/// What a node has lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Charged bytes.
    pub bytes: u64,
    /// Frames, by cause ([`DropCause::ALL`]).
    pub frames: [u64; DropCause::ALL.len()],
}

/// A host, a switch, or a server that is both.
///
/// What every event needs comes first and takes one cache line.
#[repr(C, align(64))]
pub struct Node {
    pub(crate) interfaces: Interfaces,
    pub(crate) pipeline: Option<Box<Pipeline>>,
    pub(crate) flow_control: AnyFlowControl,
    losses: Losses,
    /// Which one.
    pub id: NodeId,
}

const _: () = assert!(offset_of!(Interfaces, effects) + offset_of!(Effects, pending) < 64 && size_of::<Node>() <= 768);

impl Node {
    /// The node called `id` of `fabric`, with its mechanisms set up.
    pub fn new(fabric: &Fabric, id: NodeId) -> Node {
        let site = fabric.site(id);
        let scheduler = fabric.spec.switch.scheduler;
        let flow_control = fabric.spec.build_flow_control(&site, &fabric.wiring);
        let port = |facts| Port::new(facts, fabric.spec.framing, scheduler, flow_control.added_queues());
        let ports = site.ports.iter().map(port).collect();
        let mut interfaces = Interfaces::new(id, ports, site.is_host.then(|| Endpoint::new(fabric, id)));
        let forwards = site.relays || !site.is_host;
        let pipeline = forwards.then(|| Box::new(Pipeline::new(&site, &fabric.spec)));
        let asked = pipeline.as_ref().map_or(HookSet::NONE, |pipeline| pipeline.point_at | pipeline.balancer_at);
        let delays = pipeline.as_ref().is_some_and(|pipeline| pipeline.transit.takes_time());
        let takes_turns = site.is_host && fabric.spec.host.scheduler != (HostScheduler::RelayFirst {});
        let hands_on = interfaces.ports.iter().any(|port| !port.leads_to_wire(CLASSES as QueueIx));
        interfaces.stations = asked
            | HookSet::TRAIL.only_if(fabric.spec.keeps_trails())
            | HookSet::DELAY.only_if(delays)
            | HookSet::TURNS.only_if(takes_turns)
            | HookSet::RELAYS.only_if(site.relays)
            | HookSet::INNER_QUEUES.only_if(hands_on);
        Node { id, interfaces, flow_control, pipeline, losses: Losses::default() }
    }

    /// What mechanisms see of the node at `now`.
    pub fn view<'a>(&'a mut self, now: Time, fabric: &'a Fabric) -> View<'a> {
        View::new(now, fabric, &mut self.interfaces)
    }

    /// The node's ports.
    pub fn ports(&self) -> &[Port] {
        &self.interfaces.ports
    }

    /// What the node has seen.
    pub fn counters(&self) -> &Counters {
        &self.interfaces.counters
    }

    /// What the node has lost.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// The node's flow control.
    pub fn flow_control(&self) -> &AnyFlowControl {
        &self.flow_control
    }

    /// The endpoint, if the node has one.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.interfaces.endpoint.as_ref()
    }

    /// The switching pipeline, if the node has one.
    pub fn pipeline(&self) -> Option<&Pipeline> {
        self.pipeline.as_deref()
    }

    /// Asks the memory for what `frame`, which is about to arrive on `ingress`, will meet first.
    #[inline]
    pub(crate) fn prefetch_arrival(&self, ingress: PortIx, frame: &Frame, fabric: &Fabric) {
        let Body::Packet(packet) = &frame.body else { return };
        match packet.route.next() {
            NextHop::Port(egress) => {
                self.interfaces.ports[usize::from(egress)].prefetch_enqueue(QueueIx::from(packet.class.0));
                self.pipeline.iter().for_each(|pipeline| pipeline.prefetch(ingress, packet.class));
            }
            NextHop::Arrived => fabric.flows.prefetch(packet.flow),
            NextHop::Towards(_) => {}
        }
    }

    /// Asks for what `frame` will meet behind that; through which port it will leave, if that is fixed.
    #[inline]
    pub(crate) fn prefetch_passage(&self, frame: &Frame, fabric: &Fabric, frames: &Frames) -> Option<&Port> {
        let Body::Packet(packet) = &frame.body else { return None };
        match packet.route.next() {
            NextHop::Port(egress) => {
                let port = &self.interfaces.ports[usize::from(egress)];
                port.prefetch_push(QueueIx::from(packet.class.0), frames);
                Some(port)
            }
            NextHop::Arrived => {
                self.interfaces.endpoint.iter().for_each(|endpoint| endpoint.prefetch_packet(packet, fabric));
                None
            }
            NextHop::Towards(_) => None,
        }
    }

    /// Asks for what `port` needs whose turn is about to come.
    #[inline]
    pub(crate) fn prefetch_turn(&self, port: PortIx) {
        self.interfaces.ports[usize::from(port)].prefetch_use();
        self.interfaces.endpoint.iter().for_each(|endpoint| endpoint.prefetch_turn(port));
    }

    /// Asks for the queue, or the place in the round, that has the next turn at `port`.
    #[inline]
    pub(crate) fn prefetch_departure(&self, ix: PortIx) -> &Port {
        let port = &self.interfaces.ports[usize::from(ix)];
        port.prefetch_departure();
        self.interfaces.endpoint.iter().for_each(|endpoint| endpoint.prefetch_round(ix));
        port
    }

    /// Asks for the frame, or the queue pair, that has the next turn at `port`.
    #[inline]
    pub(crate) fn prefetch_frame(&self, ix: PortIx, frames: &Frames) -> &Port {
        let port = &self.interfaces.ports[usize::from(ix)];
        if !port.prefetch_frame(frames) {
            self.interfaces.endpoint.iter().for_each(|endpoint| endpoint.prefetch_departure(ix));
        }
        port
    }

    /// The last bit of `frame` has arrived on `port`.
    #[inline]
    pub fn arrive<S: Sink>(&mut self, port: PortIx, frame: &Frame, env: &mut Env<'_, S>) {
        self.interfaces.counters.received += u64::from(frame.size.charge);
        match &frame.body {
            Body::Packet(packet) => match packet.route.next() {
                NextHop::Port(egress) => self.forward(port, egress, frame, env),
                NextHop::Arrived => self.receive(port, frame, env),
                NextHop::Towards(destination) if destination == self.id => self.receive(port, frame, env),
                NextHop::Towards(destination) => self.route(port, destination, frame, env),
            },
            Body::Control(control) => {
                self.interfaces.counters.consumed += u64::from(frame.size.charge);
                let causes = env.records.causes(frame.record);
                let view = &mut View::new(env.now, env.fabric, &mut self.interfaces);
                self.flow_control.on_control(port, control, causes, view);
                env.records.free(frame.record);
            }
        }
        self.settle(env);
    }

    /// `frame` would arrive on `port` now, but the link has lost or corrupted it.
    pub fn arrive_lost<S: Sink>(&mut self, port: PortIx, frame: &Frame, cause: DropCause, env: &mut Env<'_, S>) {
        self.interfaces.counters.received += u64::from(frame.size.charge);
        self.drop(port, frame, cause, env);
    }

    /// The link of `port` goes down or comes up.
    pub fn link_change<S: Sink>(&mut self, port: PortIx, up: bool, env: &mut Env<'_, S>) {
        if up {
            // The state exchanged before is void: both ends send theirs again.
            while let Some(frame) = self.interfaces.ports[usize::from(port)].next_control(env.frames) {
                self.drop(port, &frame, DropCause::LinkDown, env);
            }
            self.interfaces.ports[usize::from(port)].recover();
            self.log_link(port, true, env);
            self.with_flow_control(env, |mechanism, node| mechanism.on_link_up(port, node));
            self.kick(port, env);
        } else {
            self.interfaces.ports[usize::from(port)].fail();
            self.log_link(port, false, env);
        }
        self.at_stations(HookSet::LINK, env, |station, view| station.on_link(port, up, view));
        self.settle(env);
    }

    /// Routes have been computed anew, as links have failed or come back.
    pub(crate) fn reroute<S: Sink>(&mut self, env: &mut Env<'_, S>) {
        let avoids = self.interfaces.ports.iter().any(|port| env.fabric.routes.avoid(port.id));
        let others = self.interfaces.stations.without(HookSet::DEAD_ENDS);
        self.interfaces.stations = others | HookSet::DEAD_ENDS.only_if(avoids);
        for ix in 0..self.interfaces.ports.len() as PortIx {
            if self.is_dead_end(ix, env) {
                self.abandon(ix, env);
                self.with_flow_control(env, |mechanism, node| mechanism.on_dead_end(ix, node));
                self.at_stations(HookSet::LINK, env, |station, view| station.on_dead_end(ix, view));
            }
        }
        if self.interfaces.endpoint.is_some() {
            self.reroute_flows(env);
        }
        self.settle(env);
    }

    /// A requested wake-up of `port`.
    pub fn port_ready<S: Sink>(&mut self, port: PortIx, env: &mut Env<'_, S>) {
        let wake_at = &mut self.interfaces.ports[usize::from(port)].wake_at;
        if *wake_at <= env.now {
            *wake_at = Time::NEVER;
            self.kick(port, env);
            self.settle(env);
        }
    }

    /// The flow control's timer of `port`.
    pub fn flow_control_timer<S: Sink>(&mut self, port: PortIx, env: &mut Env<'_, S>) {
        let timer_at = &mut self.interfaces.ports[usize::from(port)].timer_at;
        if *timer_at <= env.now {
            *timer_at = Time::NEVER;
            self.with_flow_control(env, |mechanism, node| mechanism.on_timer(port, node));
            self.settle(env);
        }
    }

    /// Sees whether `port` has something to send, now or when it is free.
    #[inline(always)]
    pub(crate) fn kick<S: Sink>(&mut self, ix: PortIx, env: &mut Env<'_, S>) {
        let port = &mut self.interfaces.ports[usize::from(ix)];
        if port.is_idle(env.now) {
            self.serve(ix, env);
        } else if port.wake_at > port.busy_until {
            wake_when_ready(port, &mut self.interfaces.endpoint, env);
        }
    }

    /// Sends what there is to send on `port`, which is idle: link-local frames first, then those that wait, then what a queue pair has.
    fn serve<S: Sink>(&mut self, ix: PortIx, env: &mut Env<'_, S>) {
        let stations = self.interfaces.stations;
        if stations.intersects(HookSet::INNER_QUEUES) {
            self.hand_on(ix, env);
        }
        let next = if stations.intersects(HookSet::TURNS) && self.is_own_turn(ix, env) {
            self.pull(ix, env)
        } else {
            let port = &mut self.interfaces.ports[usize::from(ix)];
            if let Some(frame) = port.next_control(env.frames) {
                if stations.intersects(HookSet::TRACE) {
                    self.log_link_local(ix, &frame, env.now);
                }
                Some(frame)
            } else if let Some(queue) = port.next_queue(env.frames) {
                let mut queued = port.take(queue, env.frames);
                if port.opened_after(queued.at) {
                    self.log_pauses(ix, queue, queued.at, &mut queued.frame, env);
                }
                self.depart(ix, queue, &mut queued, env);
                Some(queued.frame)
            } else {
                self.pull(ix, env)
            }
        };
        let port = &mut self.interfaces.ports[usize::from(ix)];
        if let Some(frame) = &next {
            port.start(frame, env.now);
            env.sink.transmit(port, frame, env.records);
        }
        if port.wake_at > port.busy_until {
            wake_when_ready(port, &mut self.interfaces.endpoint, env);
        }
    }

    /// Puts a packet made by this node into a queue of `port`.
    pub(crate) fn enqueue_own<S: Sink>(&mut self, port: PortIx, frame: Frame, env: &mut Env<'_, S>) {
        self.interfaces.counters.created += u64::from(frame.size.charge);
        if self.is_dead_end(port, env) {
            return self.drop(port, &frame, DropCause::LinkDown, env);
        }
        let (queue, mut queued) =
            (QueueIx::from(frame.class().0), Queued { frame, at: env.now, ingress: OWN, came: frame.class(), note: 0 });
        if self.is_watched() {
            self.log_own_join(port, queue, &mut queued, env);
        }
        self.interfaces.ports[usize::from(port)].enqueue(queue, &queued, env.frames);
        self.kick(port, env);
    }

    /// A notice that a mechanism has made.
    fn emit<S: Sink>(&mut self, OutgoingNotice { notice, egress, class, route }: OutgoingNotice, env: &mut Env<'_, S>) {
        let packet = Packet {
            kind: PacketKind::Notice,
            class,
            marked: false,
            queue: class.0,
            flow: notice.flow,
            psn: 0,
            sent_at: Timestamp::of(env.now),
            route,
        };
        let record = env.records.insert(Record { notice: Some(notice), ..Record::default() });
        let frame = Frame { record, ..Frame::new(Body::Packet(packet), env.fabric.spec.framing.notice()) };
        self.enqueue_own(egress, frame, env);
    }

    /// Calls `hook` for each mechanism of the switch that has asked to be called at `points`.
    pub(crate) fn at_stations<S: Sink>(
        &mut self,
        points: HookSet,
        env: &mut Env<'_, S>,
        mut hook: impl FnMut(&mut dyn PipelineHooks, &mut View<'_>),
    ) {
        let Some(pipeline) = &mut self.pipeline else { return };
        if pipeline.point_at.intersects(points) {
            let node = &mut self.interfaces.seen_by(Caller::CongestionPoint, &pipeline.buffer);
            hook(&mut pipeline.congestion_point, &mut View::new(env.now, env.fabric, node));
        }
        if pipeline.balancer_at.intersects(points) {
            let node = &mut self.interfaces.seen_by(Caller::LoadBalance, &pipeline.buffer);
            hook(&mut pipeline.balancer, &mut View::new(env.now, env.fabric, node));
        }
    }

    /// Asks for the wake-up of the mechanism that is due first.
    fn ask_for_wakeup<S: Sink>(&mut self, env: &mut Env<'_, S>) {
        let next = self.interfaces.wakes.into_iter().min().unwrap_or(Time::NEVER);
        if next < self.interfaces.wake_at {
            self.interfaces.wake_at = next.max(env.now);
            env.sink.schedule(Wakeup::Node(self.id), self.interfaces.wake_at);
        }
    }

    /// Mechanisms of the node may have asked to be called by now, and packets be ready that were delayed.
    pub fn wake<S: Sink>(&mut self, env: &mut Env<'_, S>) {
        if self.interfaces.wake_at <= env.now {
            self.interfaces.wake_at = Time::NEVER;
        }
        while let Some((egress, queue, mut queued)) =
            self.pipeline.as_mut().and_then(|pipeline| pipeline.transit.due(env.now))
        {
            self.end_transit(egress, queue, &mut queued, env);
        }
        self.fire_timers(env);
        for caller in Caller::ALL {
            let wake = &mut self.interfaces.wakes[caller as usize];
            if *wake > env.now {
                continue;
            }
            *wake = Time::NEVER;
            match (caller, self.pipeline.as_deref_mut()) {
                (Caller::FlowControl, _) => {
                    self.flow_control.on_wake(&mut View::new(env.now, env.fabric, &mut self.interfaces));
                }
                (
                    Caller::CongestionPoint | Caller::LoadBalance,
                    Some(Pipeline { congestion_point, balancer, buffer, .. }),
                ) => {
                    let node = &mut self.interfaces.seen_by(caller, buffer);
                    let view = &mut View::new(env.now, env.fabric, node);
                    let station: &mut dyn PipelineHooks =
                        if caller == Caller::LoadBalance { balancer } else { congestion_point };
                    station.on_wake(view);
                }
                (_, None) => unreachable!("mechanisms that are not there ask for nothing"),
            }
        }
        self.ask_for_wakeup(env);
        self.settle(env);
    }

    /// Whether what leaves through `egress` would wait for a link that is down, although routes lead elsewhere by now.
    #[inline]
    pub(crate) fn is_dead_end<S>(&self, egress: PortIx, env: &Env<'_, S>) -> bool {
        self.interfaces.stations.intersects(HookSet::DEAD_ENDS) && self.is_avoided(egress, env.fabric)
    }

    #[cold]
    #[inline(never)]
    fn is_avoided(&self, egress: PortIx, fabric: &Fabric) -> bool {
        let port = &self.interfaces.ports[usize::from(egress)];
        port.is_down() && fabric.routes.avoid(port.id)
    }

    /// Has a packet remember that it has left through `egress`, if it needs to and its route does not tell.
    #[inline(always)]
    pub(crate) fn keep_trail<S: Sink>(&self, egress: PortIx, frame: &mut Frame, env: &mut Env<'_, S>) {
        if self.interfaces.stations.intersects(HookSet::TRAIL)
            && frame.packet().is_some_and(|packet| packet.route.destination().is_some())
        {
            env.records.trail_mut(&mut frame.record).push(egress);
        }
    }

    /// A frame ends here: its bytes are accounted for and its record is freed.
    pub(crate) fn consume<S: Sink>(&mut self, frame: &Frame, env: &mut Env<'_, S>) {
        self.interfaces.counters.consumed += u64::from(frame.size.charge);
        env.records.free(frame.record);
    }

    /// A frame that came in on `port` is lost.
    #[cold]
    pub(crate) fn drop<S: Sink>(&mut self, port: PortIx, frame: &Frame, cause: DropCause, env: &mut Env<'_, S>) {
        self.losses.bytes += u64::from(frame.size.charge);
        self.losses.frames[cause as usize] += 1;
        env.records.free(frame.record);
        let (ingress, bytes) = (self.interfaces.ports[usize::from(port)].id, u32::from(frame.size.charge));
        let packet = frame.packet().map(|packet| (packet.kind, packet.flow, packet.psn));
        env.sink.note(Note::Dropped { node: self.id, ingress, class: frame.class(), bytes, packet, cause });
    }

    /// Calls the flow control; [`Node::settle`] carries out what it asks for.
    pub(crate) fn with_flow_control<S>(
        &mut self,
        env: &Env<'_, S>,
        hook: impl FnOnce(&mut AnyFlowControl, &mut View<'_>),
    ) {
        hook(&mut self.flow_control, &mut View::new(env.now, env.fabric, &mut self.interfaces));
    }

    /// Carries out what hooks asked for, and what that makes them ask for, until nothing is left.
    #[inline(always)]
    pub(crate) fn settle<S: Sink>(&mut self, env: &mut Env<'_, S>) {
        while self.interfaces.effects.pending {
            self.carry_out(env);
        }
    }

    /// Tells the observers what hooks have noted.
    fn tell<S: Sink>(&mut self, env: &mut Env<'_, S>) {
        while let Some(note) = self.interfaces.effects.next_note() {
            env.sink.note(note);
        }
    }

    /// Tells the observers and queues all frames that hooks have sent, then does one of the other
    /// things.
    #[inline(never)]
    fn carry_out<S: Sink>(&mut self, env: &mut Env<'_, S>) {
        self.tell(env);
        let size = env.fabric.spec.framing.control();
        while let Some((port, control, causes)) = self.interfaces.effects.next_control() {
            let record = causes.map_or(RecordRef::NONE, |causes| {
                env.records.insert(Record { causes: Some(causes), ..Record::default() })
            });
            self.interfaces.counters.created += u64::from(size.charge);
            if let (Some(pipeline), Some((classes, stop))) = (&mut self.pipeline, control.tells()) {
                pipeline.on_told(port, classes, stop, env.now);
            }
            let frame = Frame { record, ..Frame::new(Body::Control(control), size) };
            let queued = Queued { frame, at: env.now, ingress: OWN, came: Class::CONTROL, note: 0 };
            let (Interfaces { ports, counters, .. }, records) = (&mut self.interfaces, &mut *env.records);
            ports[usize::from(port)].enqueue_control(queued, env.frames, |withdrawn| {
                counters.created -= u64::from(withdrawn.size.charge);
                records.free(withdrawn.record);
            });
            self.interfaces.effects.others.push_back(Effect::Kick(port));
        }
        while let Some(emission) = self.interfaces.effects.emissions.pop_front() {
            self.emit(emission, env);
            self.tell(env);
        }
        match self.interfaces.effects.next() {
            Some(Effect::Kick(port)) => self.kick(port, env),
            Some(Effect::Flush(port, queue)) => self.flush(port, queue, env),
            Some(Effect::Gate(port, queue, is_open)) => {
                self.at_stations(HookSet::GATE, env, |station, view| station.on_gate(port, queue, is_open, view));
            }
            Some(Effect::Wake) => self.ask_for_wakeup(env),
            Some(Effect::Note(note)) => env.sink.note(note),
            Some(Effect::Timer(port)) => {
                let port = &self.interfaces.ports[usize::from(port)];
                if port.timer_at != Time::NEVER {
                    env.sink.schedule(Wakeup::FlowControl(port), port.timer_at);
                }
            }
            None => self.interfaces.effects.pending = false,
        }
    }

    /// Charges the time that a data packet was held by PAUSEs in `queue` of a port, where it came at `since`, to its record: nothing, unless a gate has
    /// opened since then ([`Port::opened_after`]).
    #[inline(never)]
    pub(crate) fn log_pauses<S: Sink>(
        &self,
        ix: PortIx,
        queue: QueueIx,
        since: Time,
        frame: &mut Frame,
        env: &mut Env<'_, S>,
    ) {
        let (port, Body::Packet(packet)) = (&self.interfaces.ports[usize::from(ix)], &frame.body) else { return };
        if packet.kind != PacketKind::Data {
            return;
        }
        for wait in port.gate(queue).waits(since) {
            let log = env.records.pauses_mut(&mut frame.record);
            log.paused.add(wait.length, wait.end);
            if !env.fabric.passes(packet, port.id, wait.cause) {
                log.blocked.add(wait.length, wait.end);
            }
        }
    }
}

/// Asks for a wake-up of `port` when it is free, if something will wait for it and none has been asked for.
#[inline(always)]
fn wake_when_ready<S: Sink>(port: &mut Port, endpoint: &mut Option<Endpoint>, env: &mut Env<'_, S>) {
    let at = if port.has_work() {
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
