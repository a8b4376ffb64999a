//! A node: ports, and behind them a switch, an endpoint, or both.
//!
//! Sans-IO: a node receives frames and wake-ups together with the current time, and pushes its
//! actions into a [`Sink`]. It has no access to the agenda, a clock, a file or a socket, so that
//! a simulator or a real network can drive it.

use crate::contract::packet::QueuedPacket;
use crate::contract::report::DropCause;
use crate::contract::{Application, FlowControl, HookSet, OutgoingNotice, PipelineHooks, View};
use crate::frame::record::Record;
use crate::frame::{Body, Frame, NextHop, Packet, PacketKind, RecordRef, Timestamp};
use crate::ids::{Class, FlowId, NodeId, PortIx, QueueIx};
use crate::mechanisms::flow_control::AnyFlowControl;
use crate::model::fifo::Place;
use crate::model::flags::NodeFlags;
use crate::model::host::{Endpoint, Nic};
use crate::model::io::{Action, Counters, HookOwner, Losses, NodeIo, PendingActions};
use crate::model::pipeline::SwitchPipeline;
use crate::model::port::Port;
use crate::model::sink::{Env, Sink, Wakeup};
use crate::model::switch::Switch;
use crate::model::tracing::Tracer;
use crate::network::fabric::Fabric;
use crate::network::spec::HostScheduler;
use backwater_engine::Time;
use backwater_engine::index::IndexVec;
use std::mem::offset_of;

/// A host, a switch, or a server that is both.
///
/// The fields that every event needs come first and take one cache line.
#[repr(C, align(64))]
pub struct Node {
    pub(crate) io: NodeIo,
    pub(crate) switch: Option<Box<Switch>>,
    pub(crate) flow_control: AnyFlowControl,
    /// Id of the node.
    pub id: NodeId,
}

const _: () =
    assert!(offset_of!(NodeIo, actions) + offset_of!(PendingActions, pending) < 64 && size_of::<Node>() <= 768);

impl Node {
    /// Builds node `id` of `fabric` with its mechanisms.
    pub fn new(fabric: &Fabric, id: NodeId) -> Node {
        let site = fabric.site(id);
        let scheduler = fabric.spec.switch.scheduler;
        let flow_control = fabric.spec.build_flow_control(&site, &fabric.wiring);
        let port = |facts| Port::new(facts, fabric.spec.framing, scheduler, flow_control.added_queues());
        let ports = site.ports.iter().map(port).collect();
        let mut io = NodeIo::new(id, ports, site.is_host.then(|| Endpoint::new(fabric, id)));
        let forwards = site.relays || !site.is_host;
        let switch = forwards.then(|| Box::new(Switch::new(&site, fabric)));
        let hooks = switch.as_ref().map_or(HookSet::empty(), |switch| switch.point_hooks | switch.balancer_hooks);
        let takes_turns = site.is_host && fabric.spec.host.scheduler != (HostScheduler::RelayFirst {});
        io.flags = NodeFlags::of(hooks)
            | NodeFlags::TRAIL.only_if(fabric.spec.keeps_trails())
            | NodeFlags::DELAY.only_if(switch.as_ref().is_some_and(|switch| switch.transit.takes_time()))
            | NodeFlags::TURNS.only_if(takes_turns)
            | NodeFlags::RELAYS.only_if(site.relays)
            | NodeFlags::INNER_QUEUES.only_if(io.ports.iter().any(|port| !port.feeds_wire(QueueIx::added(0))));
        Node { id, io, flow_control, switch }
    }

    // ----------------------------------------------------------------------------------- accessors

    /// Returns the mechanisms' view of the node at `now`.
    pub fn view<'a>(&'a mut self, now: Time, fabric: &'a Fabric) -> View<'a> {
        View::new(now, fabric, &mut self.io)
    }

    /// Returns the node's ports.
    pub fn ports(&self) -> &IndexVec<PortIx, Port> {
        &self.io.ports
    }

    /// Returns the node's byte counters.
    pub fn counters(&self) -> &Counters {
        &self.io.counters
    }

    /// Returns the node's losses.
    pub fn losses(&self) -> &Losses {
        &self.io.losses
    }

    /// Returns the node's flow control.
    pub fn flow_control(&self) -> &AnyFlowControl {
        &self.flow_control
    }

    /// Returns the endpoint of a host.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.io.endpoint.as_ref()
    }

    /// Returns the endpoint of a host for writing.
    pub(crate) fn endpoint_mut(&mut self) -> &mut Endpoint {
        self.io.endpoint.as_mut().expect("flows start and end at nodes with an endpoint")
    }

    /// Returns the switch of a node that forwards packets.
    pub fn switch(&self) -> Option<&Switch> {
        self.switch.as_deref()
    }

    /// Returns true if the plain pipeline suffices: packets are in queues of classes, and no
    /// mechanism, observer or delay needs a look at them on their way, except when they depart.
    pub(crate) fn is_plain(&self) -> bool {
        let is_watched = self.switch.as_ref().is_some_and(|switch| switch.probe().is_some());
        let names_queues = self.io.ports.iter().any(Port::are_queues_named);
        NodeFlags::PLAIN.contains(self.io.flags) && !is_watched && !names_queues
    }

    // -------------------------------------------------------------------------------------- inputs

    /// Handles the frame at `place`, whose last bit has just arrived on its ingress port.
    #[inline(always)]
    pub fn arrive<S: Sink>(&mut self, place: Place, env: &mut Env<'_, S>) {
        let frame = &mut env.frames[place].frame;
        self.io.counters.received += u64::from(frame.size.charge);
        match &mut frame.body {
            Body::Packet(headers) => match headers.route.next() {
                NextHop::Port(egress) => {
                    let (kind, may_pass) = (headers.kind, headers.route.advance());
                    SwitchPipeline::new(self, env).forward(egress, place, kind, may_pass)
                }
                NextHop::Towards(destination) if destination != self.id => {
                    SwitchPipeline::new(self, env).route(destination, place)
                }
                NextHop::Arrived | NextHop::Towards(_) => {
                    let QueuedPacket { ingress, frame, .. } = env.frames.take(place);
                    Nic::new(self, env).receive(ingress, &frame);
                }
            },
            Body::Control(_) => self.receive_control(place, env),
        }
        self.run_actions(env);
    }

    /// Passes a link-local frame to the flow control.
    #[inline(never)]
    fn receive_control<S: Sink>(&mut self, place: Place, env: &mut Env<'_, S>) {
        let QueuedPacket { ingress, frame, .. } = env.frames.take(place);
        let Body::Control(control) = &frame.body else { unreachable!("the caller found a link-local frame") };
        let causes = env.records.causes(frame.record);
        let view = &mut View::new(env.now, env.fabric, &mut self.io);
        self.flow_control.on_control(ingress, control, causes, view);
        self.io.consume(&frame, env);
    }

    /// Handles a frame that would arrive on `port` now, but was lost or corrupted on the link.
    pub fn arrive_lost<S: Sink>(&mut self, port: PortIx, place: Place, cause: DropCause, env: &mut Env<'_, S>) {
        self.io.counters.received += u64::from(env.frames[place].frame.size.charge);
        self.io.drop(port, place, cause, env);
    }

    /// Handles the failure or recovery of the link of `port`.
    pub fn link_change<S: Sink>(&mut self, port: PortIx, up: bool, env: &mut Env<'_, S>) {
        if up {
            // Waiting control frames are out of date: both ends discard the flow-control state that
            // they received, and send their own state again.
            while self.io.ports[port].has_control() {
                let (place, _) = self.io.ports[port].next_control(env.frames);
                self.io.drop(port, place, DropCause::LinkDown, env);
            }
            self.io.ports[port].recover();
        } else {
            self.io.ports[port].fail();
        }
        Tracer::new(&mut self.io, &self.switch, env.sink, env.now).link_changed(port, up);
        if up {
            self.call_flow_control(env, |mechanism, view| mechanism.on_link_up(port, view));
            SwitchPipeline::new(self, env).schedule(port);
        }
        self.call_hooks(HookSet::LINK, env.now, env.fabric, |hooks, view| hooks.on_link(port, up, view));
        self.run_actions(env);
    }

    /// Adopts new routes, computed because links failed or recovered.
    pub(crate) fn reroute<S: Sink>(&mut self, env: &mut Env<'_, S>) {
        let avoids = self.io.ports.iter().any(|port| env.fabric.routes.avoid(port.id));
        self.io.flags.set(NodeFlags::DEAD_ENDS, avoids);
        for ix in self.io.ports.ids() {
            if self.io.is_dead_end(ix, env) {
                SwitchPipeline::new(self, env).abandon(ix);
                self.call_flow_control(env, |mechanism, view| mechanism.on_dead_end(ix, view));
                self.call_hooks(HookSet::LINK, env.now, env.fabric, |hooks, view| hooks.on_dead_end(ix, view));
            }
        }
        if self.io.endpoint.is_some() {
            Nic::new(self, env).reroute_flows();
        }
        self.run_actions(env);
    }

    /// Handles a wake-up of `port`.
    pub fn port_ready<S: Sink>(&mut self, port: PortIx, env: &mut Env<'_, S>) {
        SwitchPipeline::new(self, env).wake(port);
        self.run_actions(env);
    }

    /// Handles the flow control's timer of `port`.
    pub fn flow_control_timer<S: Sink>(&mut self, port: PortIx, env: &mut Env<'_, S>) {
        let timer_at = &mut self.io.ports[port].timer_at;
        if *timer_at <= env.now {
            *timer_at = Time::NEVER;
            self.call_flow_control(env, |mechanism, view| mechanism.on_timer(port, view));
            self.run_actions(env);
        }
    }

    /// Handles the wake-up for timers of mechanisms, and for packets whose transit ends.
    pub fn wake<S: Sink>(&mut self, env: &mut Env<'_, S>) {
        if self.io.wake_at <= env.now {
            self.io.wake_at = Time::NEVER;
        }
        while let Some((egress, queue, queued)) =
            self.switch.as_mut().and_then(|switch| switch.transit.next_due(env.now))
        {
            SwitchPipeline::new(self, env).end_transit(egress, queue, queued);
            let end = self.switch.as_ref().and_then(|switch| switch.transit.next_end());
            if let Some(end) = end.filter(|end| *end > env.now) {
                env.sink.schedule(Wakeup::Node(self.id), end);
            }
        }
        if self.io.endpoint.is_some() {
            Nic::new(self, env).fire_timers();
        }
        for owner in HookOwner::ALL {
            let wake = &mut self.io.wakes[owner as usize];
            if *wake <= env.now {
                *wake = Time::NEVER;
                self.wake_mechanism(owner, env);
            }
        }
        self.schedule_wake_up(env);
        self.run_actions(env);
    }

    /// Fires a mechanism's timer.
    fn wake_mechanism<S: Sink>(&mut self, owner: HookOwner, env: &mut Env<'_, S>) {
        let Node { io, switch, flow_control, .. } = self;
        let (hooks, buffer): (&mut dyn PipelineHooks, _) = match (owner, switch) {
            (HookOwner::FlowControl, _) => return flow_control.on_wake(&mut View::new(env.now, env.fabric, io)),
            (HookOwner::CongestionPoint, Some(switch)) => (&mut switch.congestion_point, &switch.buffer),
            (HookOwner::LoadBalance, Some(switch)) => (&mut switch.balancer, &switch.buffer),
            (HookOwner::CongestionPoint | HookOwner::LoadBalance, None) => return,
        };
        hooks.on_wake(&mut View::new(env.now, env.fabric, &mut io.access_for(owner, buffer)));
    }

    /// Adds a flow to the flows that this node will start, at `start`. Flows must be added in the
    /// order of their start times.
    pub fn expect_flow<S: Sink>(&mut self, flow: FlowId, start: Time, env: &mut Env<'_, S>) {
        Nic::new(self, env).expect_flow(flow, start);
    }

    /// Installs the application of this node.
    pub(crate) fn install<S: Sink>(&mut self, application: Box<dyn Application>, env: &mut Env<'_, S>) {
        Nic::new(self, env).install(application);
        self.run_actions(env);
    }

    /// Gives queue pairs to all flows that have started here.
    pub(crate) fn start_all_waiting(&mut self, fabric: &Fabric) {
        let NodeIo { ports, endpoint, .. } = &mut self.io;
        if let Some(endpoint) = endpoint {
            endpoint.start_all_waiting(ports, fabric);
        }
    }

    /// Starts every flow that is due.
    pub fn start_flows<S: Sink>(&mut self, env: &mut Env<'_, S>) {
        Nic::new(self, env).start_flows();
        self.run_actions(env);
    }

    /// Handles the wake-up for retransmission timers.
    pub fn retransmission_timer<S: Sink>(&mut self, env: &mut Env<'_, S>) {
        Nic::new(self, env).fire_retransmissions();
    }

    // ------------------------------------------------------------------------------------- actions

    /// Runs the actions that hooks requested, and all actions that follow from them, until none is
    /// left.
    #[inline(always)]
    pub(crate) fn run_actions<S: Sink>(&mut self, env: &mut Env<'_, S>) {
        while self.io.actions.pending {
            self.run_next_actions(env);
        }
    }

    /// Passes on all reports and queues all frames that hooks sent, then runs one other action.
    #[inline(never)]
    fn run_next_actions<S: Sink>(&mut self, env: &mut Env<'_, S>) {
        self.deliver_reports(env);
        self.queue_control_frames(env);
        while let Some(notice) = self.io.actions.notices.pop_front() {
            self.send_notice(notice, env);
            self.deliver_reports(env);
        }
        match self.io.actions.next() {
            Some(Action::Schedule(port)) => SwitchPipeline::new(self, env).schedule(port),
            Some(Action::Flush(port, queue)) => SwitchPipeline::new(self, env).flush(port, queue),
            Some(Action::Gate(port, queue, is_open)) => {
                self.call_hooks(HookSet::GATE, env.now, env.fabric, |hooks, view| {
                    hooks.on_gate(port, queue, is_open, view)
                });
            }
            Some(Action::WakeUp) => self.schedule_wake_up(env),
            Some(Action::Report(report)) => env.sink.report(report, env.now),
            Some(Action::Timer(port)) => {
                let port = &self.io.ports[port];
                if port.timer_at != Time::NEVER {
                    env.sink.schedule(Wakeup::FlowControl(port), port.timer_at);
                }
            }
            None => self.io.actions.pending = false,
        }
    }

    /// Passes the reports of hooks to the observers.
    fn deliver_reports<S: Sink>(&mut self, env: &mut Env<'_, S>) {
        while let Some(report) = self.io.actions.next_report() {
            env.sink.report(report, env.now);
        }
    }

    /// Queues the link-local frames that hooks sent.
    fn queue_control_frames<S: Sink>(&mut self, env: &mut Env<'_, S>) {
        let size = env.fabric.spec.framing.control();
        while let Some((port, control, causes)) = self.io.actions.next_control() {
            let record = causes.map_or(RecordRef::NONE, |causes| {
                env.records.insert(Record { causes: Some(causes), ..Record::default() })
            });
            self.io.counters.created += u64::from(size.charge);
            if let (Some(switch), Some((classes, stop))) = (&mut self.switch, control.class_command()) {
                switch.on_pause_sent(port, classes, stop, env.now);
            }
            let frame = Frame { record, ..Frame::new(Body::Control(control), size) };
            let queued =
                QueuedPacket { frame, at: env.now, ingress: PortIx::NONE, ingress_class: Class::CONTROL, note: 0 };
            let (NodeIo { ports, counters, .. }, records) = (&mut self.io, &mut *env.records);
            ports[port].enqueue_control(queued, env.frames, |withdrawn| {
                counters.created -= u64::from(withdrawn.size.charge);
                records.free(withdrawn.record);
            });
            self.io.actions.others.push_back(Action::Schedule(port));
        }
    }

    /// Sends a notice that a mechanism made.
    fn send_notice<S: Sink>(&mut self, notice: OutgoingNotice, env: &mut Env<'_, S>) {
        let OutgoingNotice { notice, egress, class, route } = notice;
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
        SwitchPipeline::new(self, env).enqueue_own(egress, frame);
    }

    /// Schedules the wake-up for the first timer of the node's mechanisms.
    fn schedule_wake_up<S: Sink>(&mut self, env: &mut Env<'_, S>) {
        let next = self.io.wakes.into_iter().min().unwrap_or(Time::NEVER);
        if next < self.io.wake_at {
            self.io.wake_at = next.max(env.now);
            env.sink.schedule(Wakeup::Node(self.id), self.io.wake_at);
        }
    }

    /// Calls the flow control. [`Node::run_actions`] then runs the actions that the flow control
    /// requested.
    pub(crate) fn call_flow_control<S>(
        &mut self,
        env: &Env<'_, S>,
        hook: impl FnOnce(&mut AnyFlowControl, &mut View<'_>),
    ) {
        hook(&mut self.flow_control, &mut View::new(env.now, env.fabric, &mut self.io));
    }

    /// Calls `hook` for each mechanism of the switch that subscribed to one of `hooks`.
    #[inline(always)]
    pub(crate) fn call_hooks(
        &mut self,
        hooks: HookSet,
        now: Time,
        fabric: &Fabric,
        mut hook: impl FnMut(&mut dyn PipelineHooks, &mut View<'_>),
    ) {
        let Node { io, switch: Some(switch), .. } = self else { return };
        if switch.point_hooks.intersects(hooks) {
            let access = &mut io.access_for(HookOwner::CongestionPoint, &switch.buffer);
            hook(&mut switch.congestion_point, &mut View::new(now, fabric, access));
        }
        if switch.balancer_hooks.intersects(hooks) {
            let access = &mut io.access_for(HookOwner::LoadBalance, &switch.buffer);
            hook(&mut switch.balancer, &mut View::new(now, fabric, access));
        }
    }
}
