//! The endpoint: the RDMA NIC of a host.
//!
//! ```text
//!  flows ─► queue pairs: window, pacing (reaction point), what to send next (recovery) ─┐
//!                                                                                       ├─ round robin over open classes ─► port
//!  data in ─► recovery ─► ACK / NACK, CNP (notification point) ─► queues of the port ───┘  (queues first)
//! ```

mod pull;

use self::pull::{Place, Pull};
use crate::contract::note::{Note, Reception};
use crate::contract::{
    AckView, Departing, FlowControl, Notification, NotificationPoint, Progress, ReactionPoint, RecoveryReceiver,
    RecoverySender, Sender as SenderFacts, Verdict,
};
use crate::frame::Direction;
use crate::frame::framing::Framing;
use crate::frame::{Body, Frame, Packet, PacketKind, Psn, RecordRef, Route, Timestamp};
use crate::ids::{CLASSES, Class, ClassMask, FlowId, NodeId, PortIx, QueueIx};
use crate::mechanisms::congestion::{AnyNotificationPoint, AnyReactionPoint};
use crate::mechanisms::recovery::{AnyRecoveryReceiver, AnyRecoverySender};
use crate::model::node::{Env, Node, Sink, Wakeup};
use crate::model::port::Port;
use crate::network::fabric::Fabric;
use crate::network::flows::Flow;
use backwater_engine::memory::{HeapBytes, Share};
use backwater_engine::prefetch::prefetch;
use backwater_engine::{Duration, Rate, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::mem::offset_of;

/// Index of a queue pair or a receiver in its host's table.
type Slot = u32;
const NO_SLOT: Slot = Slot::MAX;

/// The sending and receiving side of a host.
pub struct Endpoint {
    /// Flows that are still to start here, the next one first.
    upcoming: VecDeque<FlowId>,
    queue_pairs: Vec<QueuePair>,
    free: Vec<Slot>,
    /// Per port, the queue pairs that send through it.
    pulls: Vec<Pull>,
    /// Of the flows of which a packet has come.
    receivers: Vec<Receiver>,
    free_receivers: Vec<Slot>,
    timers: Timers,
}

/// The sending side of one flow.
///
/// In the order of use: what every packet sent or acknowledged needs comes first, in two cache lines; then recovery and the reaction point.
#[repr(C, align(64))]
struct QueuePair {
    flow: FlowId,
    /// Where it stands in its port's round.
    place: Place,
    route: Route,
    bytes: u64,
    packets: Psn,
    progress: Progress,
    /// When the next packet may leave, as far as pacing goes.
    next_departure: Time,
    /// Since when a packet could have left, had the port been free and open.
    ready_since: Time,
    class: Class,
    state: PairState,
    port: PortIx,
    /// The queue of the port whose gate holds it back.
    queue: QueueIx,
    /// Start and wire size of the last packet sent.
    last_sent: (Time, u64),
    /// When the retransmission timer runs out; [`Time::NEVER`] while nothing is in flight.
    deadline: Time,
    /// When the host next looks at `deadline`; [`Time::NEVER`] if it does not.
    look_at: Time,
    recovery: AnyRecoverySender,
    reaction: AnyReactionPoint,
    retransmitted: u64,
    /// Packets sent more than once, each time counted.
    resent: u32,
}

const _: () = assert!(offset_of!(QueuePair, last_sent) == 64);

/// What a queue pair waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PairState {
    /// Nothing to send, or the window is full.
    Idle,
    /// Its departure time.
    Paced,
    /// Its turn.
    Ready,
    /// Nothing: the slot is free.
    Done,
}

/// The receiving side of one flow.
struct Receiver {
    recovery: AnyRecoveryReceiver,
    notification: AnyNotificationPoint,
    port: PortIx,
    route: Route,
    unacknowledged: u32,
    expected: Psn,
    /// Packets that have come, wanted or not.
    arrived: u64,
    last_delivery: Time,
    reception: Reception,
}

impl QueuePair {
    /// Asks for what a packet sent or acknowledged needs.
    #[inline]
    fn expect(&self) {
        prefetch(&self.flow);
        prefetch(&self.last_sent);
        prefetch(&self.reaction);
    }

    fn payload_in_flight(&self, fabric: &Fabric) -> u64 {
        let before = |psn| fabric.payload_before(psn, self.bytes);
        before(self.progress.next) - before(self.progress.acked)
    }

    fn can_send(&self, fabric: &Fabric) -> bool {
        self.progress.next < self.packets && self.payload_in_flight(fabric) < self.reaction.window()
    }
}

/// The retransmission timers of a host's queue pairs: it is woken for the first of them only.
#[derive(Debug)]
struct Timers {
    /// When a queue pair's timer is to be looked at. Holds as long as the pair says the same.
    looks: BinaryHeap<Reverse<(Time, FlowId, Slot)>>,
    /// When the host is woken; [`Time::NEVER`] if it is not.
    wake_at: Time,
}

impl Timers {
    /// Looks that may have become needless before they are sorted out.
    const NEEDLESS: usize = 64;

    /// Has the timer of `pair` looked at when it runs out.
    fn look<S: Sink>(&mut self, slot: Slot, pair: &mut QueuePair, host: NodeId, env: &mut Env<'_, S>) {
        pair.look_at = pair.deadline;
        self.looks.push(Reverse((pair.look_at, pair.flow, slot)));
        self.wake(pair.look_at, host, env);
    }

    /// Asks for the host to be woken at `at`, unless it is before.
    fn wake<S: Sink>(&mut self, at: Time, host: NodeId, env: &mut Env<'_, S>) {
        if at < self.wake_at {
            self.wake_at = at;
            env.sink.schedule(Wakeup::Retransmission(host), at);
        }
    }
}

impl Endpoint {
    pub(crate) fn new(fabric: &Fabric, host: NodeId) -> Endpoint {
        Endpoint {
            upcoming: VecDeque::new(),
            queue_pairs: Vec::new(),
            free: Vec::new(),
            pulls: fabric.wiring.of(host).iter().map(|_| Pull::default()).collect(),
            receivers: Vec::new(),
            free_receivers: Vec::new(),
            timers: Timers { looks: BinaryHeap::new(), wake_at: Time::NEVER },
        }
    }

    /// Whether the flow called `id`, which starts here, has yet to start.
    pub(crate) fn expects(&self, id: FlowId) -> bool {
        self.upcoming.front().is_some_and(|next| *next <= id)
    }

    /// Sets the retransmission timer of a queue pair anew, or stops it when nothing is in flight. A deadline that moves on is looked at when
    /// the one before would have been due.
    fn rearm<S: Sink>(&mut self, slot: Slot, host: NodeId, env: &mut Env<'_, S>) {
        let pair = &mut self.queue_pairs[slot as usize];
        let in_flight = pair.progress.next > pair.progress.acked;
        pair.deadline = match pair.recovery.timeout() {
            Some(timeout) if in_flight => env.now + timeout,
            _ => Time::NEVER,
        };
        if pair.deadline < pair.look_at {
            self.timers.look(slot, pair, host, env);
            self.forget_looks();
        }
    }

    /// Whether a look is still to be made.
    fn is_needed(&self, (at, flow, slot): (Time, FlowId, Slot)) -> bool {
        let pair = &self.queue_pairs[slot as usize];
        pair.flow == flow && pair.look_at == at
    }

    /// Sorts out the looks at queue pairs that are done, once they are the greater part: they would pile up until their time comes.
    fn forget_looks(&mut self) {
        if self.timers.looks.len() > 2 * self.live_flows() + Timers::NEEDLESS {
            let mut looks = std::mem::take(&mut self.timers.looks);
            looks.retain(|Reverse(look)| self.is_needed(*look));
            self.timers.looks = looks;
        }
    }

    /// The next look that is to be made.
    fn next_look(&mut self) -> Option<(Time, FlowId, Slot)> {
        while let Some(Reverse(look)) = self.timers.looks.peek().copied() {
            if self.is_needed(look) {
                return Some(look);
            }
            self.timers.looks.pop();
        }
        None
    }

    /// Asks for the state of the flow of `packet`, which is about to arrive.
    #[inline]
    pub(crate) fn expect_packet(&self, packet: &Packet, fabric: &Fabric) {
        let Some(flow) = fabric.flows.get(packet.flow) else { return };
        if packet.kind == PacketKind::Data {
            flow.receiver.get().into_iter().for_each(|slot| prefetch(&self.receivers[slot as usize]));
        } else {
            flow.sender.get().into_iter().for_each(|slot| self.queue_pairs[slot as usize].expect());
        }
    }

    /// Asks for what is known of the queue pairs of `port`.
    #[inline]
    pub(crate) fn expect_turn(&self, port: PortIx) {
        prefetch(&self.pulls[usize::from(port)].ready);
        prefetch(&self.pulls[usize::from(port)].round);
    }

    /// Asks for the place in the round of the queue pair whose turn at `port` probably comes next.
    #[inline]
    pub(crate) fn expect_round(&self, port: PortIx) {
        self.pulls[usize::from(port)].probably_next().into_iter().for_each(prefetch);
    }

    /// Asks for the queue pair whose turn at `port` probably comes next.
    #[inline]
    pub(crate) fn expect_departure(&self, port: PortIx) {
        let slot = self.pulls[usize::from(port)].probably_next();
        slot.and_then(|slot| self.queue_pairs.get(*slot as usize)).into_iter().for_each(QueuePair::expect);
    }

    /// Number of flows that have started and not been acknowledged in full.
    pub fn live_flows(&self) -> usize {
        self.queue_pairs.len() - self.free.len()
    }

    /// The most flows that have been active at once at either end, and what they take.
    pub(crate) fn memory(&self) -> Share {
        let lines = |pull: &Pull| pull.lines.heap_bytes() + pull.lines.iter().map(HeapBytes::heap_bytes).sum::<u64>();
        let of_pull = |pull: &Pull| pull.round.heap_bytes() + pull.paced.heap_bytes() + lines(pull);
        let tables = self.queue_pairs.heap_bytes() + self.receivers.heap_bytes();
        let lists = self.free.heap_bytes() + self.free_receivers.heap_bytes() + self.upcoming.heap_bytes();
        let lists = lists + self.timers.looks.heap_bytes();
        let bytes = tables + lists + self.pulls.iter().map(of_pull).sum::<u64>();
        Share { count: self.queue_pairs.len() as u64, bytes }
    }

    /// Payload bytes that the sender of `flow` has sent more than once so far; 0 if it has not started or has finished.
    pub fn retransmitted(&self, flow: &Flow) -> u64 {
        flow.sender.get().map_or(0, |slot| self.queue_pairs[slot as usize].retransmitted)
    }

    /// How `flow`, which ends here, has fared so far.
    pub fn reception(&self, flow: &Flow) -> Reception {
        flow.receiver.get().map_or(Reception::default(), |slot| self.receivers[slot as usize].reception)
    }

    /// How many packets of `flow` have come.
    pub(crate) fn arrived(&self, flow: &Flow) -> u64 {
        flow.receiver.get().map_or(0, |slot| self.receivers[slot as usize].arrived)
    }

    /// Forgets the receiver of `flow`, of which no packet is on its way any more.
    pub(crate) fn forget_receiver(&mut self, flow: &Flow) {
        self.free_receivers.extend(flow.receiver.get());
        flow.receiver.set(None);
    }

    /// The receiver of the flow called `id`, made when its first packet comes.
    #[inline]
    fn receiver(&mut self, id: FlowId, flow: &Flow, line_rate: Rate, fabric: &Fabric) -> &mut Receiver {
        let slot = flow.receiver.get().unwrap_or_else(|| self.add_receiver(id, flow, line_rate, fabric));
        &mut self.receivers[slot as usize]
    }

    #[cold]
    fn add_receiver(&mut self, id: FlowId, flow: &Flow, line_rate: Rate, fabric: &Fabric) -> Slot {
        let (port, route) = fabric.route(id, &flow.spec, Direction::Ack);
        let receiver = Receiver {
            recovery: fabric.spec.recovery.receiver(),
            notification: fabric.spec.congestion.notification(line_rate),
            port,
            route,
            unacknowledged: 0,
            expected: 0,
            arrived: 0,
            last_delivery: flow.spec.start,
            reception: Reception::default(),
        };
        let slot = put(receiver, &mut self.receivers, &mut self.free_receivers);
        flow.receiver.set(Some(slot));
        slot
    }

    /// When `port` may next send for a queue pair of a class that is not `closed`; a time in the past means at once.
    #[inline]
    pub(crate) fn next_departure(&mut self, port: PortIx, closed: ClassMask) -> Option<Time> {
        let pull = &mut self.pulls[usize::from(port)];
        if pull.next(ClassMask(!closed.0)).is_some() {
            return Some(Time::ZERO);
        }
        while let Some(Reverse((at, slot))) = pull.paced.peek().copied() {
            let pair = &self.queue_pairs[slot as usize];
            if pair.state == PairState::Paced && pair.next_departure == at {
                return Some(at);
            }
            pull.paced.pop();
        }
        None
    }

    /// Puts a queue pair where it belongs after anything about it has changed.
    fn place(&mut self, slot: Slot, fabric: &Fabric, busy_until: Time, now: Time) {
        let pair = &mut self.queue_pairs[slot as usize];
        let pull = &mut self.pulls[usize::from(pair.port)];
        let before = pair.state;
        let state = if !pair.can_send(fabric) {
            PairState::Idle
        } else if pair.next_departure <= now.max(busy_until) {
            PairState::Ready
        } else {
            PairState::Paced
        };
        if before == PairState::Idle && state != PairState::Idle {
            pair.ready_since = now.max(pair.next_departure);
        }
        pair.state = state;
        match state {
            PairState::Ready => pull.set_ready(pair),
            PairState::Paced => pull.paced.push(Reverse((pair.next_departure, slot))),
            PairState::Idle | PairState::Done => {}
        }
        if before == PairState::Ready && state != PairState::Ready {
            pull.set_waiting(pair.class, pair.place);
        }
    }

    /// Chooses the queue pair that sends next through `port`.
    fn choose(&mut self, port: PortIx, open: ClassMask, now: Time) -> Option<Slot> {
        let pull = &mut self.pulls[usize::from(port)];
        while let Some(Reverse((at, slot))) = pull.paced.peek().copied() {
            if at > now {
                break;
            }
            pull.paced.pop();
            let pair = &mut self.queue_pairs[slot as usize];
            if pair.state == PairState::Paced && pair.next_departure == at {
                pair.state = PairState::Ready;
                pull.set_ready(pair);
            }
        }
        let place = pull.next(open)?;
        pull.cursor = place;
        Some(pull.round[place as usize])
    }

    fn insert(&mut self, mut pair: QueuePair) -> Slot {
        let pull = &mut self.pulls[usize::from(pair.port)];
        pull.close_gaps(|slot, place| self.queue_pairs[slot as usize].place = place);
        pair.place = pull.round.len() as Place;
        pull.live += 1;
        pull.classes = pull.classes.with(pair.class);
        let queue = pair.queue;
        let slot = put(pair, &mut self.queue_pairs, &mut self.free);
        pull.round.push(slot);
        if usize::from(queue) >= CLASSES {
            pull.line(queue).push(slot);
        }
        slot
    }

    /// The gate of a queue is closed: of those that a flow control has added, none of the queue pairs may send.
    pub(crate) fn close(&mut self, port: PortIx, queue: QueueIx) {
        if usize::from(queue) < CLASSES {
            return;
        }
        let pull = &mut self.pulls[usize::from(port)];
        pull.closed.insert(queue.into());
        let line = std::mem::take(pull.line(queue));
        for slot in &line {
            let pair = &self.queue_pairs[*slot as usize];
            pull.set_waiting(pair.class, pair.place);
        }
        *pull.line(queue) = line;
    }

    /// The gate of a queue is open again.
    pub(crate) fn open(&mut self, port: PortIx, queue: QueueIx) {
        if usize::from(queue) < CLASSES {
            return;
        }
        let pull = &mut self.pulls[usize::from(port)];
        pull.closed.remove(queue.into());
        let line = std::mem::take(pull.line(queue));
        for slot in &line {
            let pair = &self.queue_pairs[*slot as usize];
            if pair.state == PairState::Ready {
                pull.set_ready(pair);
            }
        }
        *pull.line(queue) = line;
    }
}

/// Puts `item` into a free slot of `table`.
fn put<T>(item: T, table: &mut Vec<T>, free: &mut Vec<Slot>) -> Slot {
    let slot = free.pop().unwrap_or(table.len() as Slot);
    match table.get_mut(slot as usize) {
        Some(place) => *place = item,
        None => table.push(item),
    }
    slot
}

impl Node {
    fn endpoint_mut(&mut self) -> &mut Endpoint {
        self.interfaces.endpoint.as_mut().expect("flows start and end at nodes with an endpoint")
    }

    /// Takes note of a flow that will start here, after all that it knows of, and asks to be woken for it.
    pub fn expect_flow<S: Sink>(&mut self, flow: FlowId, env: &mut Env<'_, S>) {
        let upcoming = &mut self.endpoint_mut().upcoming;
        upcoming.push_back(flow);
        if upcoming.len() == 1 {
            env.sink.schedule(Wakeup::FlowStart(self.id), env.fabric.flow(flow).start);
        }
    }

    /// Starts every flow that is due, and asks to be woken for the next.
    pub fn start_flows<S: Sink>(&mut self, env: &mut Env<'_, S>) {
        let fabric = env.fabric;
        while let Some(flow) = self.endpoint_mut().upcoming.front().copied() {
            let entry = fabric.live_flow(flow);
            let spec = &entry.spec;
            if spec.start > env.now {
                env.sink.schedule(Wakeup::FlowStart(self.id), spec.start);
                break;
            }
            self.endpoint_mut().upcoming.pop_front();
            let (port, route) = fabric.route(flow, spec, Direction::Data);
            let line_rate = self.interfaces.ports[usize::from(port)].rate;
            let busy_until = self.interfaces.ports[usize::from(port)].free_at();
            let sender = SenderFacts { line_rate, base_rtt: fabric.base_rtt };
            let onward = fabric.onward(flow, Direction::Data, route, self.interfaces.ports[usize::from(port)].id);
            let departing = Departing { flow, class: spec.class, port, onward };
            let mut queue = 0;
            self.with_flow_control(env, |mechanism, node| queue = mechanism.on_flow_start(departing, node));
            let endpoint = self.endpoint_mut();
            let slot = endpoint.insert(QueuePair {
                flow,
                class: spec.class,
                port,
                queue,
                place: 0,
                route,
                bytes: spec.bytes,
                packets: fabric.packets(spec),
                progress: Progress::default(),
                recovery: fabric.spec.recovery.sender(),
                reaction: fabric.spec.congestion.reaction(&sender),
                next_departure: env.now,
                last_sent: (env.now, 0),
                ready_since: env.now,
                state: PairState::Idle,
                deadline: Time::NEVER,
                look_at: Time::NEVER,
                retransmitted: 0,
                resent: 0,
            });
            entry.sender.set(Some(slot));
            endpoint.place(slot, fabric, busy_until, env.now);
            self.kick(port, env);
        }
        self.settle(env);
    }

    /// The next data packet for an idle `port`, if any queue pair may send.
    #[inline]
    pub(crate) fn pull<S: Sink>(&mut self, ix: PortIx, env: &mut Env<'_, S>) -> Option<Frame> {
        let port = &self.interfaces.ports[usize::from(ix)];
        let endpoint = self.interfaces.endpoint.as_mut()?;
        let slot = endpoint.choose(ix, ClassMask(!port.closed_classes().0), env.now)?;
        let fabric = env.fabric;
        let pair = &mut endpoint.queue_pairs[slot as usize];
        let psn = pair.progress.next;
        let before = fabric.payload_before(psn, pair.bytes);
        let payload = fabric.payload_before(psn + 1, pair.bytes) - before;
        let size = fabric.spec.framing.data(payload as u32, psn == 0, fabric.telemetry_bytes);
        let packet = Packet {
            kind: PacketKind::Data,
            class: pair.class,
            marked: false,
            queue: pair.queue.min(u8::MAX.into()) as u8,
            flow: pair.flow,
            psn,
            sent_at: Timestamp::of(env.now),
            route: pair.route,
        };
        let mut frame = Frame::new(Body::Packet(packet), size);
        let (queue, since) = (pair.queue, pair.ready_since);
        if psn < pair.progress.highest {
            pair.retransmitted += payload;
            pair.resent += 1;
        }
        pair.progress.next += 1;
        pair.progress.highest = pair.progress.highest.max(pair.progress.next);
        let wire = u64::from(size.wire);
        let rate = pair.reaction.rate(env.now);
        pair.reaction.on_sent(env.now, wire);
        pair.next_departure = env.now + pacing(fabric.spec.framing, rate, wire, port);
        pair.last_sent = (env.now, wire);
        pair.ready_since = pair.next_departure;
        if pair.deadline == Time::NEVER {
            endpoint.rearm(slot, self.id, env);
        }
        endpoint.place(slot, fabric, env.now + port.serialisation(size.wire), env.now);
        self.interfaces.counters.created += u64::from(size.charge);
        self.log_pauses(ix, queue, since, &mut frame, env);
        Some(frame)
    }

    /// A packet for this node has arrived.
    pub(crate) fn receive<S: Sink>(&mut self, port: PortIx, frame: &Frame, env: &mut Env<'_, S>) {
        let Body::Packet(packet) = frame.body else { unreachable!("control frames go to the flow control") };
        match packet.kind {
            PacketKind::Data => self.receive_data(port, frame, packet, env),
            PacketKind::Ack | PacketKind::Nack | PacketKind::Cnp => self.receive_feedback(frame, packet, env),
        }
    }

    fn receive_data<S: Sink>(&mut self, port: PortIx, frame: &Frame, packet: Packet, env: &mut Env<'_, S>) {
        let fabric = env.fabric;
        let flow = fabric.live_flow(packet.flow);
        let (bytes, packets) = (flow.spec.bytes, fabric.packets(&flow.spec));
        let line_rate = self.interfaces.ports[usize::from(port)].rate;
        let receiver = self.endpoint_mut().receiver(packet.flow, flow, line_rate, fabric);
        receiver.arrived += 1;
        let notification = receiver.notification.on_data(env.now, packet.marked);
        let verdict = receiver.recovery.on_data(packet.psn, receiver.expected, env.now);
        if let Verdict::Deliver { packets: in_order } = verdict {
            receiver.expected += in_order;
            receiver.reception.delivered = fabric.payload_before(receiver.expected, bytes);
            if let Some(pauses) = env.records.pauses(frame.record) {
                receiver.reception.paused += pauses.paused.after(receiver.last_delivery);
                receiver.reception.blocked += pauses.blocked.after(receiver.last_delivery);
            }
            receiver.last_delivery = env.now;
            if receiver.expected == packets {
                receiver.reception.finish = Some(env.now);
                env.sink.note(Note::Received { flow: packet.flow });
            }
        }
        let is_last = receiver.expected == packets;
        receiver.unacknowledged += 1;
        let due = notification.echo || is_last || receiver.unacknowledged >= fabric.spec.host.ack_every;
        let answer = match verdict {
            Verdict::Deliver { .. } | Verdict::Keep if due => Some(PacketKind::Ack),
            Verdict::Duplicate => Some(PacketKind::Ack),
            Verdict::Nack => Some(PacketKind::Nack),
            Verdict::Deliver { .. } | Verdict::Keep | Verdict::Ignore => None,
        };
        let (egress, route, expected) = (receiver.port, receiver.route, receiver.expected);
        if answer.is_some() {
            receiver.unacknowledged = 0;
        }
        self.interfaces.counters.consumed += u64::from(frame.size.charge);
        let reply = |kind, size, class| {
            let packet = Packet { kind, class, marked: notification.echo, psn: expected, route, ..packet };
            Frame::new(Body::Packet(packet), size)
        };
        // The answer takes the telemetry along; whatever else the record holds has been read.
        let echoes = answer.is_some() && fabric.telemetry_bytes > 0;
        let (echo, done) = if echoes { (frame.record, RecordRef::NONE) } else { (RecordRef::NONE, frame.record) };
        env.records.free(done);
        if let Some(kind) = answer {
            let ack = reply(kind, fabric.spec.framing.ack(fabric.telemetry_bytes), fabric.spec.host.ack_class);
            self.enqueue_own(egress, Frame { record: echo, ..ack }, env);
        }
        if let Notification { cnp: true, .. } = notification {
            self.enqueue_own(egress, reply(PacketKind::Cnp, fabric.spec.framing.cnp(), Class::CONTROL), env);
        }
    }

    fn receive_feedback<S: Sink>(&mut self, frame: &Frame, packet: Packet, env: &mut Env<'_, S>) {
        let fabric = env.fabric;
        let endpoint = self.interfaces.endpoint.as_mut().expect("feedback comes to nodes with an endpoint");
        // Late answers come after the flow is done, or even forgotten.
        if let Some(slot) = fabric.flows.get(packet.flow).and_then(|flow| flow.sender.get()) {
            let pair = &mut endpoint.queue_pairs[slot as usize];
            let port = pair.port;
            let acked_before = pair.progress.acked;
            match packet.kind {
                PacketKind::Ack => pair.recovery.on_ack(packet.psn, &mut pair.progress),
                PacketKind::Nack => pair.recovery.on_nack(packet.psn, &mut pair.progress),
                PacketKind::Cnp | PacketKind::Data => {}
            }
            if pair.progress.acked == pair.packets {
                let (packets, retransmitted) = (u64::from(pair.packets) + u64::from(pair.resent), pair.retransmitted);
                let queue = pair.queue;
                endpoint.retire(slot, fabric);
                env.sink.note(Note::Acknowledged { flow: packet.flow, packets, retransmitted });
                self.with_flow_control(env, |mechanism, node| {
                    mechanism.on_flow_end(packet.flow, port, queue, node);
                });
            } else {
                if packet.marked || packet.kind == PacketKind::Cnp {
                    pair.reaction.on_cnp(env.now);
                }
                if packet.kind != PacketKind::Cnp {
                    let telemetry = env.records.telemetry(frame.record);
                    pair.reaction.on_ack(&AckView {
                        now: env.now,
                        acked_bytes: fabric.payload_before(packet.psn, pair.bytes),
                        sent_bytes: fabric.payload_before(pair.progress.next, pair.bytes),
                        rtt: packet.sent_at.elapsed(env.now),
                        telemetry,
                    });
                }
                if pair.reaction.repaces() {
                    let rate = pair.reaction.rate(env.now);
                    let line = &self.interfaces.ports[usize::from(port)];
                    let (sent, wire) = pair.last_sent;
                    pair.next_departure = sent + pacing(fabric.spec.framing, rate, wire, line);
                }
                if pair.progress.acked > acked_before || pair.progress.next == pair.progress.acked {
                    endpoint.rearm(slot, self.id, env);
                }
                let busy_until = self.interfaces.ports[usize::from(port)].free_at();
                endpoint.place(slot, fabric, busy_until, env.now);
            }
            self.consume(frame, env);
            self.kick(port, env);
        } else {
            self.consume(frame, env);
        }
    }

    /// The retransmission timer of a queue pair may have run out.
    pub fn retransmission_timer<S: Sink>(&mut self, env: &mut Env<'_, S>) {
        let host = self.id;
        if self.endpoint_mut().timers.wake_at != env.now {
            return;
        }
        self.endpoint_mut().timers.wake_at = Time::NEVER;
        while let Some((at, _, slot)) = self.endpoint_mut().next_look() {
            let endpoint = self.endpoint_mut();
            if at > env.now {
                endpoint.timers.wake(at, host, env);
                break;
            }
            endpoint.timers.looks.pop();
            let pair = &mut endpoint.queue_pairs[slot as usize];
            pair.look_at = Time::NEVER;
            if pair.deadline <= env.now {
                pair.recovery.on_timeout(&mut pair.progress);
                pair.deadline = Time::NEVER;
                let port = pair.port;
                let busy_until = self.interfaces.ports[usize::from(port)].free_at();
                self.endpoint_mut().place(slot, env.fabric, busy_until, env.now);
                self.kick(port, env);
                self.settle(env);
            } else if pair.deadline != Time::NEVER {
                endpoint.timers.look(slot, pair, host, env);
            }
        }
    }
}

impl Endpoint {
    fn retire(&mut self, slot: Slot, fabric: &Fabric) {
        let pair = &mut self.queue_pairs[slot as usize];
        let pull = &mut self.pulls[usize::from(pair.port)];
        pull.set_waiting(pair.class, pair.place);
        if usize::from(pair.queue) >= CLASSES {
            pull.line(pair.queue).retain(|other| *other != slot);
        }
        pull.round[pair.place as usize] = NO_SLOT;
        pull.live -= 1;
        pair.state = PairState::Done;
        pair.look_at = Time::NEVER;
        fabric.live_flow(pair.flow).sender.set(None);
        self.free.push(slot);
    }
}

/// Time between the starts of a packet of `wire` bytes and the next at `rate`; at line rate that is its serialisation time to the picosecond.
fn pacing(framing: Framing, rate: Rate, wire: u64, port: &Port) -> Duration {
    if rate >= port.rate { port.serialisation(wire as u16) } else { framing.pace(rate, wire) }
}
