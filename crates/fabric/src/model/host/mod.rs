//! Endpoint of a host: its RDMA NIC.
//!
//! ```text
//!  application ─► messages of connections ─┐
//!  flows ─► queue pairs: window and pacing (reaction point), ─┐
//!           next packet (recovery)                            ├─ round robin ─► port
//!  data in ─► recovery ─► ACK, NACK, CNP (notification point) │  (`host.scheduler`,
//!             ─► queues of the port ──────────────────────────┘   open classes only)
//! ```

pub(crate) mod endpoint;
mod lanes;
mod messages;
mod posting;
mod receiver;
mod sender;
mod timers;
mod turns;

pub use self::endpoint::Endpoint;
pub(crate) use self::messages::Posted;
use self::sender::PairState;
use self::turns::Side;
use crate::contract::report::Report;
use crate::contract::{
    AckView, Answer, Entropy, FlowControl, LossSignal, NoticeAction, Notification, NotificationPoint, ReactionPoint,
    RecoveryReceiver, RecoverySender, StartingFlow, Verdict,
};
use crate::frame::Direction;
use crate::frame::framing::Framing;
use crate::frame::record::Echo;
use crate::frame::record::Trail;
use crate::frame::{Body, Cnp, Frame, Packet, PacketKind, RecordRef, Route, Timestamp};
use crate::ids::{Class, FlowId, PortIx, QueueIx, Slot};
use crate::model::flags::NodeFlags;
use crate::model::io::NodeIo;
use crate::model::node::Node;
use crate::model::pipeline::SwitchPipeline;
use crate::model::sink::{Env, Sink, Wakeup};
use crate::model::tracing::{Tracer, charge_pauses};
use backwater_engine::index::Id;
use backwater_engine::{Duration, Rate, Time};
use std::cmp::Reverse;

/// NIC of a host while its node handles one input: the node's endpoint, and the pipeline for its
/// packets.
pub(crate) struct Nic<'n, 'e, S> {
    node: &'n mut Node,
    env: &'n mut Env<'e, S>,
}

impl<'n, 'e, S: Sink> Nic<'n, 'e, S> {
    #[inline(always)]
    pub(crate) fn new(node: &'n mut Node, env: &'n mut Env<'e, S>) -> Self {
        Nic { node, env }
    }

    /// Borrows the host's side for one call: see [`SwitchPipeline`].
    #[inline(always)]
    fn reborrow(&mut self) -> Nic<'_, 'e, S> {
        Nic { node: self.node, env: self.env }
    }

    /// Returns the pipeline of the node.
    #[inline(always)]
    fn pipeline(&mut self) -> SwitchPipeline<'_, 'e, S> {
        SwitchPipeline::new(self.node, self.env)
    }

    /// Returns the tracer of the node.
    fn tracer(&mut self) -> Tracer<'_, S> {
        Tracer::new(&mut self.node.io, &self.node.switch, self.env.sink, self.env.now)
    }

    /// Reports a queue pair that may have changed, if the node is traced.
    #[inline(always)]
    fn trace_pair(&mut self, slot: Slot) {
        if self.node.io.flags.has::<S>(NodeFlags::TRACE) {
            let fabric = self.env.fabric;
            self.tracer().pair_changed(slot, fabric);
        }
    }

    /// Adds a flow to the flows that this host will start, at `start`. Flows must be added in the
    /// order of their start times.
    pub(crate) fn expect_flow(&mut self, flow: FlowId, start: Time) {
        let upcoming = &mut self.node.endpoint_mut().upcoming;
        upcoming.push_back(flow);
        if upcoming.len() == 1 {
            self.env.sink.schedule(Wakeup::FlowStart(self.node.id), start);
        }
    }

    /// Starts every flow that is due, and schedules a wake-up for the next flow.
    pub(crate) fn start_flows(&mut self) {
        let fabric = self.env.fabric;
        // A flow needs a queue pair before its first turn only if something observes its start.
        let waits = !self.node.io.flags.has::<S>(NodeFlags::TRACE)
            && !fabric.reaction_timers
            && !self.node.flow_control.follows_flows();
        while let Some(flow) = self.node.endpoint_mut().upcoming.front().copied() {
            let entry = fabric.flows.peek(flow).expect("a flow is live until its last packet has left the network");
            let spec = &entry.spec;
            if spec.start > self.env.now {
                self.env.sink.schedule(Wakeup::FlowStart(self.node.id), spec.start);
                break;
            }
            self.node.endpoint_mut().upcoming.pop_front();
            let port = match &**self.node.io.ports {
                [only] => only.ix,
                _ => fabric.route(flow, spec, Direction::Data).0,
            };
            if waits {
                let NodeIo { ports, endpoint, .. } = &mut self.node.io;
                let endpoint = endpoint.as_mut().expect("flows start at nodes with an endpoint");
                endpoint.wait(flow, spec.class, &ports[port], fabric);
            } else {
                self.start_flow(flow, spec.class, port);
            }
            self.pipeline().schedule(port);
        }
        self.node.run_actions(self.env);
    }

    /// Starts a flow at `port`, with a queue pair.
    fn start_flow(&mut self, flow: FlowId, class: Class, port: PortIx) {
        let (_, route) = self.env.fabric.route(flow, self.env.fabric.flow(flow), Direction::Data);
        let starting = self.starting(flow, class, port, route);
        let mut queue = QueueIx::default();
        self.node.call_flow_control(self.env, |mechanism, node| queue = mechanism.on_flow_start(starting, node));
        let rate = self.node.io.ports[port].rate;
        let endpoint = self.node.endpoint_mut();
        endpoint.reserve_place(port, class);
        let slot = endpoint.start(flow, (port, queue, route), rate, self.env.fabric);
        self.trace_pair(slot);
        self.schedule_timer(slot);
    }

    /// Sets the timer of the reaction point in `slot`, if reaction points use timers.
    #[inline(always)]
    fn schedule_timer(&mut self, slot: Slot) {
        if self.env.fabric.reaction_timers {
            self.reborrow().push_timer(slot);
        }
    }

    #[inline(never)]
    fn push_timer(self, slot: Slot) {
        let host = self.node.id;
        let endpoint = self.node.endpoint_mut();
        let pair = &mut endpoint.queue_pairs[slot];
        let (at, flow) = (pair.reaction.wake_at(), pair.flow);
        // If the timer becomes later, its earlier entry is kept, and sets the next entry when it is
        // due.
        if at < pair.timer_at {
            pair.timer_at = at;
            endpoint.mechanism_timers.set((at, flow, slot), Wakeup::Node(host), self.env);
        }
    }

    /// Fires the timers of reaction points and notification points that are due.
    pub(crate) fn fire_timers(&mut self) {
        let Some(endpoint) = &mut self.node.io.endpoint else { return };
        // Timers that are set while this function runs schedule no wake-up. At the end, a wake-up
        // is scheduled for the earliest timer.
        let before = std::mem::replace(&mut endpoint.mechanism_timers.wake_at, self.env.now);
        while let Some(Reverse(timer)) = self.node.endpoint_mut().mechanism_timers.queue.peek().copied() {
            let endpoint = self.node.endpoint_mut();
            let (at, flow, slot) = timer;
            let is_set = endpoint.is_set(timer, self.env.fabric);
            if is_set && at > self.env.now {
                break;
            }
            endpoint.mechanism_timers.queue.pop();
            if is_set && flow == FlowId::NONE {
                self.wake_application();
            } else if is_set && slot == Slot::NONE {
                self.wake_receiver(flow);
            } else if is_set {
                self.wake_reaction(slot);
            }
        }
        let host = self.node.id;
        let timers = &mut self.node.endpoint_mut().mechanism_timers;
        timers.wake_at = if before > self.env.now { before } else { Time::NEVER };
        if let Some(Reverse((first, ..))) = timers.queue.peek().copied() {
            timers.wake(first, Wakeup::Node(host), self.env);
        }
    }

    /// Fires the timer of the reaction point in `slot`.
    fn wake_reaction(&mut self, slot: Slot) {
        let pair = &mut self.node.endpoint_mut().queue_pairs[slot];
        pair.timer_at = Time::NEVER;
        if pair.reaction.wake_at() > self.env.now {
            return self.schedule_timer(slot);
        }
        pair.reaction.on_wake(self.env.now);
        debug_assert!(pair.reaction.wake_at() > self.env.now, "the clock goes on");
        let port = pair.port;
        self.schedule_timer(slot);
        self.reschedule(slot);
        self.pipeline().schedule(port);
    }

    /// Takes the next data packet for an idle `port`, if a queue pair may send.
    #[inline]
    pub(crate) fn next_packet(mut self, ix: PortIx) -> Option<Frame> {
        let port = &self.node.io.ports[ix];
        let endpoint = self.node.io.endpoint.as_mut()?;
        let fabric = self.env.fabric;
        let slot = endpoint.choose(port, self.env.now, fabric)?;
        let pair = &mut endpoint.queue_pairs[slot];
        let psn = pair.recovery.next(&pair.progress, pair.packets).expect("a queue pair that is ready can send");
        let (payload, is_first) = pair.payload_of(psn, fabric);
        let size = fabric.spec.framing.data(payload as u32, is_first, fabric.telemetry_bytes);
        let path = if fabric.chooses_paths { pair.path(psn, self.env.now) } else { None };
        let route = match path {
            Some(path) => fabric.route_by(pair.flow, fabric.flow(pair.flow), Direction::Data, ix, path),
            None => pair.route,
        };
        let packet = Packet {
            kind: PacketKind::Data,
            class: pair.class,
            marked: false,
            queue: pair.queue.0.min(u8::MAX.into()) as u8,
            flow: pair.flow,
            psn,
            sent_at: Timestamp::of(self.env.now),
            route,
        };
        let mut frame = Frame::new(Body::Packet(packet), size);
        if let Some(Entropy(path)) = path {
            self.env.records.set_path(&mut frame.record, path);
        }
        let (queue, since) = (pair.queue, pair.ready_since);
        let may_have_waited = port.opened_after(since);
        if psn < pair.progress.highest {
            pair.count_retransmission(psn, payload);
        }
        pair.recovery.on_sent(psn, &mut pair.progress);
        let wire = u64::from(size.wire);
        let rate = pair.reaction.rate(self.env.now);
        pair.reaction.on_sent(self.env.now, wire);
        let serialisation = port.serialisation(size.wire);
        let departure = self.env.now + pacing(fabric.spec.framing, rate, wire, port.rate, || serialisation);
        (pair.last_sent, pair.last_wire) = (self.env.now, size.wire);
        pair.ready_since = departure;
        if pair.timed_from == Time::NEVER {
            endpoint.rearm(slot, self.node.id, self.env);
        }
        let busy_until = self.env.now + serialisation;
        endpoint.update_state(slot, departure, fabric, busy_until, self.env.now);
        self.schedule_timer(slot);
        self.node.io.counters.created += u64::from(size.charge);
        if may_have_waited {
            charge_pauses(&self.node.io.ports[ix], queue, since, &mut frame, self.env.records, fabric);
        }
        self.node.io.extend_trail::<S>(ix, &mut frame, self.env.records);
        if self.node.io.flags.has::<S>(NodeFlags::ACCOUNTED_DEPARTURE) {
            self.reborrow().account_for_departure(ix, rate, &mut frame);
        }
        Some(frame)
    }

    /// Accounts for a data packet of this host that starts on the wire of `port`: for turns, and
    /// for the trace.
    #[inline(never)]
    fn account_for_departure(self, port: PortIx, rate: Rate, frame: &mut Frame) {
        if self.node.io.flags.has::<S>(NodeFlags::TURNS) {
            let scheduler = self.env.fabric.spec.host.scheduler;
            self.node.endpoint_mut().lanes[port].turns.charge(Side::Own, frame.size.wire.into(), scheduler);
        }
        if self.node.io.flags.has::<S>(NodeFlags::TRACE) {
            let Node { io, switch, .. } = &mut *self.node;
            let Env { now, fabric, records, sink, .. } = &mut *self.env;
            Tracer::new(io, switch, *sink, *now).sent(port, rate, frame, records, fabric);
        }
    }

    /// Returns true if an idle `port`, at which queues and own data take turns, sends own data
    /// next.
    pub(crate) fn is_own_turn(&mut self, ix: PortIx) -> bool {
        let (port, endpoint) = (&self.node.io.ports[ix], self.node.io.endpoint.as_mut());
        let Some(endpoint) = endpoint.filter(|_| !port.has_urgent()) else { return false };
        let is_ready = endpoint.next_departure(ix, port.closed_classes()).is_some_and(|at| at <= self.env.now);
        is_ready && endpoint.lanes[ix].turns.next() == Side::Own
    }

    /// Counts a packet of `wire` bytes that left a queue of `port` in the turn of the queues.
    pub(crate) fn charge_queues_turn(&mut self, port: PortIx, wire: u16) {
        let scheduler = self.env.fabric.spec.host.scheduler;
        self.node.endpoint_mut().lanes[port].turns.charge(Side::Queues, wire.into(), scheduler);
    }

    /// A packet for this node arrived.
    #[inline(never)]
    pub(crate) fn receive(mut self, port: PortIx, frame: &Frame) {
        let Body::Packet(packet) = frame.body else { unreachable!("control frames go to the flow control") };
        match packet.kind {
            PacketKind::Data => self.reborrow().receive_data(port, frame, packet),
            PacketKind::Ack | PacketKind::Nack | PacketKind::Cnp => {
                if packet.kind == PacketKind::Cnp {
                    self.reborrow().count_cnp(frame, &packet);
                }
                // This is the only call site, so that the compiler inlines the function.
                self.reborrow().receive_feedback(frame, packet);
            }
            PacketKind::Notice => self.reborrow().receive_notice(frame, packet),
        }
    }

    fn receive_data(mut self, port: PortIx, frame: &Frame, packet: Packet) {
        let fabric = self.env.fabric;
        let flow = fabric.live_flow(packet.flow);
        let is_connection = flow.spec.is_connection();
        let line_rate = self.node.io.ports[port].rate;
        let endpoint = self.node.endpoint_mut();
        let mut receiver = endpoint.receiver(packet.flow, flow, line_rate, fabric);
        if is_connection && receiver.expected == receiver.packets && packet.psn >= receiver.packets {
            receiver = endpoint.begin_message(packet.flow, flow, fabric);
        }
        let reception = &mut receiver.reception;
        reception.arrived += 1;
        let degree = packet.psn.saturating_sub(receiver.expected);
        if degree > 0 {
            reception.disorder.add(degree);
        }
        // Timers of a notification point end with the flow: duplicates must not set them again.
        let is_over = fabric.receiver_timers && !is_connection && receiver.expected == receiver.packets;
        let notification = if is_over {
            Notification::default()
        } else {
            receiver.notification.on_data(self.env.now, packet.marked, frame.size.wire.into())
        };
        let verdict = receiver.recovery.on_data(packet.psn, receiver.expected, self.env.now);
        if let Verdict::Deliver { packets: in_order } = verdict {
            receiver.expected += in_order;
            reception.delivered = fabric.payload_before(receiver.expected - receiver.first, receiver.bytes);
            if let Some(pauses) = self.env.records.pauses(frame.record) {
                reception.paused += pauses.paused.after(receiver.last_delivery);
                reception.blocked += pauses.blocked.after(receiver.last_delivery);
            }
            receiver.last_delivery = self.env.now;
            if receiver.expected >= receiver.packets {
                reception.finish = Some(self.env.now);
                reception.way = packet.route.full_route(self.env.records.trail(frame.record).map(Trail::ports));
                self.env.sink.report(Report::Received { flow: packet.flow, psn: packet.psn }, self.env.now);
            }
        }
        let is_last = receiver.expected >= receiver.packets;
        let is_complete = is_last && matches!(verdict, Verdict::Deliver { .. });
        receiver.unacknowledged += 1;
        let due = notification.echo || is_last || receiver.unacknowledged >= fabric.spec.host.ack_every;
        let answer = match verdict {
            Verdict::Deliver { .. } | Verdict::Keep if due => Some(PacketKind::Ack),
            Verdict::Duplicate => Some(PacketKind::Ack),
            Verdict::Nack { .. } => Some(PacketKind::Nack),
            Verdict::Deliver { .. } | Verdict::Keep | Verdict::Ignore => None,
        };
        let (mut egress, mut route, expected) = (receiver.port, receiver.route, receiver.expected);
        if answer.is_some() {
            receiver.unacknowledged = 0;
            receiver.answers += 1;
        }
        self.node.io.counters.consumed += u64::from(frame.size.charge);
        let path = self.env.records.path(frame.record);
        let followed = fabric.answer_path.zip(path.map(Entropy)).filter(|_| answer.is_some());
        if let Some((answers, path)) = followed {
            let ports = [port, egress].map(|ix| self.node.io.ports[ix].id);
            let trail = self.env.records.trail(frame.record);
            (egress, route) = fabric.answer_route(answers, &flow.spec, &packet, trail, ports, path);
        }
        let reply = |kind, size, class| {
            let packet = Packet { kind, class, marked: notification.echo, psn: expected, route, ..packet };
            Frame::new(Body::Packet(packet), size)
        };
        if self.node.io.flags.has::<S>(NodeFlags::TRACE) {
            self.node.io.count_delivery(packet.flow, frame, verdict, is_last, self.env.records);
        }
        // The answer echoes the telemetry. The rest of the record is no longer needed.
        let echoes = answer.is_some() && fabric.telemetry_bytes > 0;
        let (echo, done) = if echoes { (frame.record, RecordRef::NONE) } else { (RecordRef::NONE, frame.record) };
        self.env.records.free(done);
        if let Some(kind) = answer {
            let ack = reply(kind, fabric.spec.framing.ack(fabric.telemetry_bytes), fabric.spec.host.ack_class);
            let mut record = self.env.records.reuse_for_answer(echo);
            if fabric.echoes {
                *self.env.records.echo_mut(&mut record) =
                    Echo { arrived: packet.psn, hops: packet.route.links_passed(), verdict: None, path };
            }
            if let Some((_, Entropy(path))) = followed {
                self.env.records.set_path(&mut record, path);
            }
            self.pipeline().enqueue_own(egress, Frame { record, ..ack });
        }
        if let Some(cnp) = notification.cnp {
            self.reborrow().send_cnp(packet.flow, cnp);
        }
        if fabric.receiver_timers && (is_connection || !is_last) {
            self.reborrow().set_receiver_timer(packet.flow);
        }
        if is_connection && is_complete {
            self.complete_messages(packet.flow);
        }
    }

    /// Sends a CNP of the receiver of `flow`.
    #[inline(never)]
    fn send_cnp(mut self, flow: FlowId, cnp: Cnp) {
        let receiver =
            self.node.endpoint_mut().receiver_of(self.env.fabric.live_flow(flow)).expect("only receivers send CNPs");
        let packet = Packet {
            kind: PacketKind::Cnp,
            class: Class::CONTROL,
            marked: false,
            queue: Class::CONTROL.0,
            flow,
            psn: receiver.expected,
            sent_at: Timestamp::of(self.env.now),
            route: receiver.route,
        };
        receiver.answers += 1;
        let egress = receiver.port;
        let mut record = RecordRef::NONE;
        if cnp != Cnp::Congested(None) {
            self.env.records.echo_mut(&mut record).verdict = Some(cnp);
        }
        let size = self.env.fabric.spec.framing.cnp();
        self.pipeline().enqueue_own(egress, Frame { record, ..Frame::new(Body::Packet(packet), size) });
    }

    /// Sets the timer of the notification point of `flow`.
    #[inline(never)]
    fn set_receiver_timer(self, flow: FlowId) {
        let host = self.node.id;
        let endpoint = self.node.endpoint_mut();
        let receiver = endpoint.receiver_of(self.env.fabric.live_flow(flow)).expect("a packet of the flow has arrived");
        let at = receiver.notification.wake_at();
        if std::mem::replace(&mut receiver.timer_at, at) != at && at != Time::NEVER {
            endpoint.mechanism_timers.set((at, flow, Slot::NONE), Wakeup::Node(host), self.env);
        }
    }

    /// Fires the timer of the notification point of `flow`.
    fn wake_receiver(&mut self, flow: FlowId) {
        let receiver =
            self.node.endpoint_mut().receiver_of(self.env.fabric.live_flow(flow)).expect("a timer is set there");
        let cnp = receiver.notification.on_wake(self.env.now);
        if let Some(cnp) = cnp {
            self.reborrow().send_cnp(flow, cnp);
        }
        self.reborrow().set_receiver_timer(flow);
    }

    /// Counts a CNP that arrived.
    #[inline(never)]
    fn count_cnp(self, frame: &Frame, packet: &Packet) {
        let verdict = self.env.records.echo(frame.record).and_then(|echo| echo.verdict);
        let is_clear = u64::from(verdict == Some(Cnp::NotCongested));
        let links = u64::from(packet.route.links_passed());
        for (what, amount) in [("cnps_received", 1), ("cnps_not_congested", is_clear), ("cnp_links", links)] {
            self.env.sink.report(Report::Count { node: self.node.id, what, amount }, self.env.now);
        }
    }

    fn receive_feedback(mut self, frame: &Frame, packet: Packet) {
        let fabric = self.env.fabric;
        let endpoint = self.node.io.endpoint.as_mut().expect("feedback comes to nodes with an endpoint");
        let flow = fabric.live_flow(packet.flow);
        flow.answered.increment();
        // An answer may arrive after its flow is complete.
        if let Some(slot) = flow.sender.get() {
            let pair = &mut endpoint.queue_pairs[slot];
            let port = pair.port;
            let acked_before = pair.progress.acked;
            let echo = self.env.records.echo(frame.record).copied();
            let is_answer = packet.kind != PacketKind::Cnp;
            let (arrived, path) = (echo.map(|echo| echo.arrived), echo.and_then(|echo| echo.path).map(Entropy));
            let has_lost = is_answer && {
                let answer = Answer { is_nack: packet.kind == PacketKind::Nack, expected: packet.psn, arrived, path };
                pair.recovery.on_answer(&answer, &mut pair.progress)
            };
            if pair.progress.acked == pair.packets && pair.outgoing.is_none() {
                let (packets, retransmitted) = (u64::from(pair.packets) + u64::from(pair.resent), pair.retransmitted);
                let queue = pair.queue;
                endpoint.retire(slot, fabric);
                self.node.io.count_end(slot);
                self.env.sink.report(Report::Acknowledged { flow: packet.flow, packets, retransmitted }, self.env.now);
                self.node.call_flow_control(self.env, |mechanism, node| {
                    mechanism.on_flow_end(packet.flow, port, queue, node);
                });
            } else {
                if has_lost {
                    pair.reaction.on_loss(self.env.now, LossSignal::Nack);
                }
                if packet.marked || !is_answer {
                    let cnp = echo.and_then(|echo| echo.verdict).unwrap_or(Cnp::Congested(None));
                    pair.reaction.on_cnp(self.env.now, cnp);
                }
                if is_answer {
                    if let (Some(paths), Some(path)) = (&mut pair.paths, path) {
                        paths.on_answer(path, packet.marked, self.env.now);
                    }
                    let telemetry = self.env.records.telemetry(frame.record);
                    let ack = AckView {
                        now: self.env.now,
                        arrived,
                        acked_bytes: pair.payload_before(packet.psn, fabric),
                        sent_bytes: pair.payload_before(pair.progress.next, fabric),
                        rtt: packet.sent_at.elapsed(self.env.now),
                        hops: echo.map_or(0, |echo| echo.hops),
                        path,
                        telemetry,
                    };
                    if let Some(ledger) = &mut self.node.io.ledger
                        && let Some(journey) = self.env.records.journey(frame.record)
                        && let Some(signal) = pair.reaction.signal(&ack)
                    {
                        ledger.count_signal(packet.flow, signal, journey);
                    }
                    pair.reaction.on_ack(&ack);
                }
                if pair.progress.acked > acked_before || pair.progress.next == pair.progress.acked {
                    endpoint.rearm(slot, self.node.id, self.env);
                }
                self.schedule_timer(slot);
                self.reschedule(slot);
                if self.node.io.flags.has::<S>(NodeFlags::TRACE) {
                    self.node.io.count_answer(slot, frame, self.env.records);
                }
            }
            self.node.io.consume(frame, self.env);
            if flow.spec.is_connection() {
                self.reborrow().end_messages(packet.flow, slot);
            }
            self.pipeline().schedule(port);
        } else {
            self.node.io.consume(frame, self.env);
        }
    }

    /// A notice reached its destination: passes it to the mechanisms of a switch or relay, then to
    /// its flow's sender.
    fn receive_notice(mut self, frame: &Frame, packet: Packet) {
        let delay = packet.sent_at.elapsed(self.env.now).ps() / 1000;
        let links = u64::from(packet.route.links_passed());
        for (what, amount) in [("notices_received", 1), ("notice_delay_ns", delay), ("notice_links", links)] {
            self.env.sink.report(Report::Count { node: self.node.id, what, amount }, self.env.now);
        }
        let action = self.pipeline().deliver_notice(frame);
        let slot = self.env.fabric.flows.get(packet.flow).and_then(|flow| flow.sender.get());
        let endpoint = self.node.io.endpoint.as_mut().filter(|_| action == NoticeAction::Forward);
        // The slot belongs to the flow's source, but the notice may be addressed to any node.
        if let Some(notice) = self.env.records.notice(frame.record).copied()
            && let (Some(slot), Some(endpoint)) = (slot, endpoint)
            && let Some(pair) = endpoint.queue_pairs.get_mut(slot.index())
            && (pair.flow, pair.state != PairState::Done) == (packet.flow, true)
        {
            if let Some(ledger) = &mut self.node.io.ledger
                && pair.reaction.signals_congestion(&notice)
            {
                let delay = packet.sent_at.elapsed(self.env.now);
                ledger.count_notice(
                    packet.flow,
                    notice.from,
                    Time::from_ps(self.env.now.ps().saturating_sub(delay.ps())),
                );
            }
            pair.reaction.on_notice(self.env.now, &notice);
            let port = pair.port;
            self.schedule_timer(slot);
            self.reschedule(slot);
            self.node.io.consume(frame, self.env);
            return self.pipeline().schedule(port);
        }
        self.node.io.consume(frame, self.env);
    }

    /// Moves all flows that start or end here to the present routes.
    pub(crate) fn reroute_flows(&mut self) {
        let (fabric, host) = (self.env.fabric, self.node.id);
        let live = fabric.flows.iter().filter(|(_, flow)| flow.spec.src == host || flow.spec.dst == host);
        for (id, flow) in live {
            if flow.spec.dst == host {
                if let Some(slot) = flow.receiver.get() {
                    let receiver = &mut self.node.endpoint_mut().receivers[slot];
                    (receiver.port, receiver.route) = fabric.route(id, &flow.spec, Direction::Ack);
                }
            } else if let Some(slot) = flow.sender.get() {
                self.reroute_flow(id, slot);
            }
        }
    }

    fn reroute_flow(&mut self, flow: FlowId, slot: Slot) {
        let (port, route) = self.env.fabric.route(flow, self.env.fabric.flow(flow), Direction::Data);
        let pair = &mut self.node.endpoint_mut().queue_pairs[slot];
        let (before, queue, class) = (pair.port, pair.queue, pair.class);
        let is_same = before == port && pair.route == route && route.destination().is_none();
        pair.route = route;
        if is_same {
            return;
        }
        let is_idle = pair.is_idle();
        let mut new_queue = QueueIx::of(class);
        // For the flow control, an idle connection has ended.
        if !is_idle {
            self.node.call_flow_control(self.env, |mechanism, node| mechanism.on_flow_end(flow, before, queue, node));
            let starting = self.starting(flow, class, port, route);
            self.node
                .call_flow_control(self.env, |mechanism, node| new_queue = mechanism.on_flow_start(starting, node));
        }
        let busy_until = self.node.io.ports[port].free_at();
        let endpoint = self.node.endpoint_mut();
        endpoint.leave(slot);
        let pair = &mut endpoint.queue_pairs[slot];
        (pair.port, pair.queue, pair.state) = (port, new_queue, PairState::Idle);
        let departure = pair.next_departure;
        endpoint.enter(slot);
        endpoint.update_state(slot, departure, self.env.fabric, busy_until, self.env.now);
        self.trace_pair(slot);
        self.pipeline().schedule(port);
    }

    /// Returns the description of a flow that the flow control receives when the flow starts.
    fn starting(&self, flow: FlowId, class: Class, port: PortIx, route: Route) -> StartingFlow<'e> {
        let route = self.env.fabric.common_route(self.env.fabric.flow(flow), route);
        let remaining_hops = self.env.fabric.remaining_hops(flow, PacketKind::Data, route, self.node.io.ports[port].id);
        StartingFlow { flow, class, port, remaining_hops }
    }

    /// Updates the departure and state of a queue pair after its reaction point changed.
    fn reschedule(&mut self, slot: Slot) {
        let NodeIo { ports, endpoint, .. } = &mut self.node.io;
        let endpoint = endpoint.as_mut().expect("queue pairs are at nodes with an endpoint");
        let pair = &mut endpoint.queue_pairs[slot];
        let port = &ports[pair.port];
        let mut departure = pair.next_departure;
        if pair.reaction.repaces() {
            let rate = pair.reaction.rate(self.env.now);
            let (framing, wire) = (self.env.fabric.spec.framing, pair.last_wire);
            let pace = pacing(framing, rate, wire.into(), port.rate, || port.serialisation(wire));
            departure = pair.last_sent + pace;
        }
        endpoint.update_state(slot, departure, self.env.fabric, port.free_at(), self.env.now);
        self.trace_pair(slot);
    }

    /// Handles the checks of retransmission timers that are due.
    pub(crate) fn fire_retransmissions(&mut self) {
        let host = self.node.id;
        if self.node.endpoint_mut().retransmissions.wake_at > self.env.now {
            return;
        }
        self.node.endpoint_mut().retransmissions.wake_at = Time::NEVER;
        while let Some((at, flow, slot)) = self.node.endpoint_mut().next_check() {
            let endpoint = self.node.endpoint_mut();
            if at > self.env.now {
                endpoint.retransmissions.wake(at, Wakeup::Retransmission(host), self.env);
                break;
            }
            endpoint.retransmissions.queue.pop();
            let pair = &mut endpoint.queue_pairs[slot];
            pair.check_at = Time::NEVER;
            let deadline = pair.deadline();
            if deadline <= self.env.now {
                pair.recovery.on_timeout(&mut pair.progress);
                pair.reaction.on_loss(self.env.now, LossSignal::TimedOut);
                pair.timed_from = Time::NEVER;
                let (port, departure) = (pair.port, pair.next_departure);
                let busy_until = self.node.io.ports[port].free_at();
                self.node.endpoint_mut().update_state(slot, departure, self.env.fabric, busy_until, self.env.now);
                self.trace_pair(slot);
                self.pipeline().schedule(port);
                self.node.run_actions(self.env);
            } else if deadline != Time::NEVER {
                pair.check_at = deadline;
                endpoint.retransmissions.set((deadline, flow, slot), Wakeup::Retransmission(host), self.env);
            }
        }
    }
}

/// Returns the time from the start of a packet of `wire` bytes to the start of the next packet, at
/// `rate`. At line rate, this is exactly the packet's serialisation time.
#[inline(always)]
fn pacing(
    framing: Framing,
    rate: Rate,
    wire: u64,
    line_rate: Rate,
    serialisation: impl FnOnce() -> Duration,
) -> Duration {
    if rate >= line_rate { serialisation() } else { framing.pace(rate, wire) }
}
