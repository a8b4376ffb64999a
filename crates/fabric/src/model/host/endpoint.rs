//! Endpoint of a host: its queue pairs and receivers.

use super::lanes::{Lanes, RoundIx};
use super::messages::{Incoming, Posted};
use super::receiver::Receiver;
use super::sender::{PairState, QueuePair};
use super::timers::{Timer, Timers};
use crate::contract::report::Reception;
use crate::contract::{Announcement, Application, Posting, Progress};
use crate::frame::{Direction, Psn, Route};
use crate::ids::{CLASSES, Class, ClassMask, FlowId, NodeId, PortIx, QueueIx, Slot};
use crate::model::ledger::PairFacts;
use crate::model::port::Port;
use crate::model::sink::{Env, Sink, Wakeup};
use crate::network::fabric::Fabric;
use crate::network::flows::Flow;
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Rate, Time};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// Number of stale checks of retransmission timers that are kept before a clean-up.
const STALE_CHECKS: usize = 64;

/// Sending and receiving side of a host.
pub struct Endpoint {
    /// Flows that have yet to start here, in order of start.
    pub(super) upcoming: VecDeque<FlowId>,
    pub(super) queue_pairs: IndexVec<Slot, QueuePair>,
    pub(super) free: Vec<Slot>,
    /// Queue pairs by the port through which they send.
    pub(super) lanes: IndexVec<PortIx, Lanes>,
    /// Receivers of flows from which a packet arrived.
    pub(super) receivers: IndexVec<Slot, Receiver>,
    pub(super) free_receivers: Vec<Slot>,
    /// Checks of retransmission timers.
    pub(super) retransmissions: Timers,
    /// Timers of reaction points, of notification points, and of the application. A notification
    /// point's timer has [`Slot::NONE`]. The application's timer has [`FlowId::NONE`].
    pub(super) mechanism_timers: Timers,
    /// Application and messages; `None` until there is one.
    pub(super) tasks: Option<Box<Tasks>>,
}

/// Application of a host, and messages on their way to the host.
pub(super) struct Tasks {
    /// Messages that were announced to this host, by connection.
    incoming: FxHashMap<FlowId, Incoming>,
    pub(super) application: Option<Box<dyn Application>>,
    /// Time of the application's timer that is set; [`Time::NEVER`] if none is.
    pub(super) timer_at: Time,
    /// Messages that the application has just posted.
    pub(super) posts: Vec<Posting>,
}

impl Default for Tasks {
    fn default() -> Tasks {
        Tasks { incoming: FxHashMap::default(), application: None, timer_at: Time::NEVER, posts: Vec::new() }
    }
}

impl HeapBytes for Tasks {
    fn heap_bytes(&self) -> u64 {
        let messages = self.incoming.capacity() * size_of::<(FlowId, Incoming)>();
        let lists = messages as u64 + self.incoming.values().map(Incoming::heap_bytes).sum::<u64>();
        lists + self.posts.heap_bytes() + self.application.as_ref().map_or(0, |it| it.heap_bytes())
    }
}

impl Endpoint {
    pub(crate) fn new(fabric: &Fabric, host: NodeId) -> Endpoint {
        Endpoint {
            upcoming: VecDeque::new(),
            queue_pairs: IndexVec::default(),
            free: Vec::new(),
            lanes: fabric.wiring.ports_of(host).iter().map(|_| Lanes::default()).collect(),
            receivers: IndexVec::default(),
            free_receivers: Vec::new(),
            retransmissions: Timers::default(),
            mechanism_timers: Timers::default(),
            tasks: None,
        }
    }

    /// Returns true if flow `id`, which starts here, has yet to start.
    pub(crate) fn expects(&self, id: FlowId) -> bool {
        self.upcoming.front().is_some_and(|next| *next <= id)
    }

    /// Restarts the retransmission timer of a queue pair, or stops it if nothing is in flight. If
    /// the deadline becomes later, the earlier check is kept, and schedules the next check when it
    /// is due.
    #[inline]
    pub(super) fn rearm<S: Sink>(&mut self, slot: Slot, host: NodeId, env: &mut Env<'_, S>) {
        let pair = &mut self.queue_pairs[slot];
        let in_flight = pair.progress.next > pair.progress.acked;
        pair.timed_from = if in_flight { env.now } else { Time::NEVER };
        let deadline = pair.deadline();
        if deadline < pair.check_at {
            self.add_check(slot, deadline, host, env);
        }
    }

    /// Schedules the check of a queue pair's retransmission timer at `deadline`.
    #[inline(never)]
    fn add_check<S: Sink>(&mut self, slot: Slot, deadline: Time, host: NodeId, env: &mut Env<'_, S>) {
        let pair = &mut self.queue_pairs[slot];
        pair.check_at = deadline;
        self.retransmissions.set((deadline, pair.flow, slot), Wakeup::Retransmission(host), env);
        self.drop_stale_checks();
    }

    /// Returns true if `check` is the present check of its queue pair, not a stale one.
    fn is_current(&self, (at, flow, slot): Timer) -> bool {
        let pair = &self.queue_pairs[slot];
        pair.flow == flow && pair.check_at == at
    }

    /// Drops stale checks once they outnumber the others. Stale checks would otherwise remain until
    /// they are due.
    pub(super) fn drop_stale_checks(&mut self) {
        if self.retransmissions.queue.len() > 2 * self.live_pairs() + STALE_CHECKS {
            let mut checks = std::mem::take(&mut self.retransmissions.queue);
            checks.retain(|Reverse(check)| self.is_current(*check));
            self.retransmissions.queue = checks;
        }
    }

    /// Returns the next check that is not stale.
    pub(super) fn next_check(&mut self) -> Option<Timer> {
        while let Some(Reverse(check)) = self.retransmissions.queue.peek().copied() {
            if self.is_current(check) {
                return Some(check);
            }
            self.retransmissions.queue.pop();
        }
        None
    }

    /// Returns the number of queue pairs in use.
    fn live_pairs(&self) -> usize {
        self.queue_pairs.len() - self.free.len()
    }

    /// Returns the flows that have yet to start here, in order of start.
    pub(crate) fn upcoming(&self) -> &VecDeque<FlowId> {
        &self.upcoming
    }

    /// Returns the number of connections that have carried a message from here.
    pub(crate) fn connections(&self) -> u64 {
        self.queue_pairs.iter().filter(|pair| pair.outgoing.is_some()).count() as u64
    }

    /// Returns the heap size in bytes.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let mechanisms = self.queue_pairs.iter().map(QueuePair::heap_bytes).sum::<u64>()
            + self.receivers.iter().map(Receiver::heap_bytes).sum::<u64>();
        let tables = self.queue_pairs.heap_bytes() + self.receivers.heap_bytes() + mechanisms;
        let lists = self.free.heap_bytes() + self.free_receivers.heap_bytes() + self.upcoming.heap_bytes();
        let lists = lists + self.tasks.heap_bytes();
        let lists = lists + self.retransmissions.queue.heap_bytes() + self.mechanism_timers.queue.heap_bytes();
        tables + lists + self.lanes.heap_bytes() + self.lanes.iter().map(Lanes::heap_bytes).sum::<u64>()
    }

    /// Returns the retransmitted payload bytes of `flow` so far; 0 before it starts and after it
    /// ends.
    pub fn retransmitted(&self, flow: &Flow) -> u64 {
        flow.sender.get().map_or(0, |slot| self.queue_pairs[slot].retransmitted)
    }

    /// Returns the next packet, window and departure time of the queue pair in `slot`.
    pub(crate) fn pair_facts(&self, slot: Slot, fabric: &Fabric) -> PairFacts {
        self.queue_pairs[slot].facts(fabric)
    }

    /// Returns the measurements of `flow`, which ends here; `None` before its first packet arrived.
    pub fn reception(&self, flow: &Flow) -> Option<&Reception> {
        flow.receiver.get().map(|slot| &self.receivers[slot].reception)
    }

    /// Returns the number of ACKs, NACKs and CNPs that the receiver of `flow` has sent.
    pub(crate) fn answers(&self, flow: &Flow) -> u32 {
        flow.receiver.get().map_or(0, |slot| self.receivers[slot].answers)
    }

    /// Returns the packet that the receiver of `flow` expects.
    pub(crate) fn expected(&self, flow: &Flow) -> Psn {
        flow.receiver.get().map_or(0, |slot| self.receivers[slot].expected)
    }

    /// Frees the receiver of `flow`, which has no packet in flight, and returns its measurements.
    pub(crate) fn forget_receiver(&mut self, flow: &Flow) -> Reception {
        let Some(slot) = flow.receiver.get() else { return Reception::default() };
        flow.receiver.set(None);
        self.free_receivers.push(slot);
        std::mem::take(&mut self.receivers[slot].reception)
    }

    /// Returns true if `timer` is still set.
    pub(super) fn is_set(&mut self, (at, flow, slot): Timer, fabric: &Fabric) -> bool {
        if flow == FlowId::NONE {
            return self.tasks.as_ref().is_some_and(|tasks| tasks.timer_at == at);
        }
        if slot == Slot::NONE {
            // Complete flows may be forgotten, and their receivers serve other flows.
            let Some(entry) = fabric.flows.get(flow) else { return false };
            let is_connection = entry.spec.is_connection();
            return self
                .receiver_of(entry)
                .is_some_and(|it| it.timer_at == at && (is_connection || it.expected < it.packets));
        }
        let pair = &self.queue_pairs[slot];
        pair.flow == flow && pair.state != PairState::Done && pair.timer_at == at
    }

    /// Returns the receiver of `flow`, if a packet of the flow has arrived.
    pub(super) fn receiver_of(&mut self, flow: &Flow) -> Option<&mut Receiver> {
        flow.receiver.get().map(|slot| &mut self.receivers[slot])
    }

    /// Returns the receiver of flow `id`; adds it on the first packet.
    #[inline]
    pub(super) fn receiver(&mut self, id: FlowId, flow: &Flow, line_rate: Rate, fabric: &Fabric) -> &mut Receiver {
        let slot = flow.receiver.get().unwrap_or_else(|| self.add_receiver(id, flow, line_rate, fabric));
        &mut self.receivers[slot]
    }

    #[cold]
    pub(super) fn add_receiver(&mut self, id: FlowId, flow: &Flow, line_rate: Rate, fabric: &Fabric) -> Slot {
        let (port, route) = fabric.route(id, &flow.spec, Direction::Ack);
        let receiver = Receiver {
            recovery: fabric.spec.recovery.receiver(),
            notification: fabric.spec.congestion.notification(line_rate),
            timer_at: Time::NEVER,
            port,
            route,
            unacknowledged: 0,
            answers: 0,
            packets: fabric.packets(&flow.spec),
            first: 0,
            bytes: flow.spec.bytes,
            expected: 0,
            last_delivery: flow.spec.start,
            reception: Reception::default(),
        };
        let slot = put(receiver, &mut self.receivers, &mut self.free_receivers);
        flow.receiver.set(Some(slot));
        slot
    }

    /// Returns the messages of a connection, which starts here, that are not acknowledged.
    pub(crate) fn posted(&self, flow: &Flow) -> impl Iterator<Item = &Posted> {
        let pair = flow.sender.get().map(|slot| &self.queue_pairs[slot]);
        pair.and_then(|pair| pair.outgoing.as_ref()).into_iter().flat_map(|outgoing| outgoing.unacknowledged())
    }

    /// Returns the payload bytes of the acknowledged messages of a connection, which starts here.
    pub(crate) fn acknowledged_bytes(&self, flow: &Flow) -> u64 {
        let pair = flow.sender.get().map(|slot| &self.queue_pairs[slot]);
        pair.and_then(|pair| pair.outgoing.as_ref()).map_or(0, |outgoing| outgoing.acknowledged_bytes())
    }

    /// Returns the payload bytes that a connection, which ends here, has delivered.
    pub(crate) fn delivered(&self, id: FlowId, flow: &Flow) -> u64 {
        let complete = self.tasks.as_ref().and_then(|tasks| tasks.incoming.get(&id)).map_or(0, |it| it.complete);
        complete + self.reception(flow).map_or(0, |reception| reception.delivered)
    }

    /// Returns the number and the measurements of the message that is arriving on a connection.
    pub(crate) fn arriving(&self, id: FlowId, flow: &Flow) -> Option<(u32, &Reception)> {
        let receiver = flow.receiver.get().map(|slot| &self.receivers[slot])?;
        let first = self.tasks.as_ref()?.incoming.get(&id)?.first()?;
        (receiver.expected < receiver.packets).then_some((first.message.number, &receiver.reception))
    }

    /// Returns the application.
    pub(crate) fn application(&self) -> Option<&dyn Application> {
        self.tasks.as_ref()?.application.as_deref()
    }

    /// Returns the application for writing.
    pub(crate) fn application_mut(&mut self) -> Option<&mut dyn Application> {
        self.tasks.as_mut()?.application.as_deref_mut()
    }

    /// A message is announced that will arrive at this host.
    pub(crate) fn announce(&mut self, announcement: Announcement) {
        let incoming = &mut self.tasks.get_or_insert_default().incoming;
        incoming.entry(announcement.message.connection).or_default().announce(announcement);
    }

    /// Prepares the receiver of a connection for the next message, of which a packet has arrived.
    #[cold]
    pub(super) fn begin_message(&mut self, id: FlowId, flow: &Flow, fabric: &Fabric) -> &mut Receiver {
        let next = self.tasks.as_ref().and_then(|tasks| tasks.incoming.get(&id)?.first());
        let Announcement { message, at } = next.expect("a message is announced before its packets arrive");
        let receiver = self.receiver_of(flow).expect("the caller has added the receiver");
        (receiver.first, receiver.bytes) = (receiver.packets, message.bytes);
        receiver.packets += message.bytes.div_ceil(fabric.spec.mtu.get()) as Psn;
        receiver.last_delivery = receiver.last_delivery.max(at);
        receiver
    }

    /// Takes the message of a connection that has just arrived completely, with its measurements.
    pub(super) fn take_complete(&mut self, id: FlowId, flow: &Flow) -> (Announcement, Reception) {
        let incoming = self.tasks.as_mut().and_then(|tasks| tasks.incoming.get_mut(&id));
        let complete = incoming.and_then(Incoming::take_complete).expect("the message was announced");
        let receiver = self.receiver_of(flow).expect("a message has arrived");
        let Reception { finish, way, .. } = receiver.reception;
        let next = Reception { finish, way, ..Reception::default() };
        let reception = std::mem::replace(&mut receiver.reception, next);
        (complete, Reception { delivered: complete.message.bytes, ..reception })
    }

    /// Continues with the next message of a connection, of which packets may be delivered already.
    /// Returns true if this message is complete, too.
    pub(super) fn continue_message(&mut self, id: FlowId, flow: &Flow, fabric: &Fabric) -> bool {
        let receiver = self.receiver_of(flow).expect("a message has arrived");
        if receiver.expected == receiver.packets {
            (receiver.reception.finish, receiver.reception.way) = (None, None);
            return false;
        }
        let receiver = self.begin_message(id, flow, fabric);
        let is_complete = receiver.expected >= receiver.packets;
        if !is_complete {
            (receiver.reception.finish, receiver.reception.way) = (None, None);
            receiver.reception.delivered = fabric.payload_before(receiver.expected - receiver.first, receiver.bytes);
        }
        is_complete
    }

    /// Returns the next departure time from a queue pair of `port` whose class is not `closed`. If
    /// the time is in the past, the queue pair may send at once.
    #[inline(always)]
    pub(crate) fn next_departure(&mut self, port: PortIx, closed: ClassMask) -> Option<Time> {
        let (lanes, open) = (&mut self.lanes[port], ClassMask(!closed.0));
        if lanes.has_ready(open) || lanes.has_waiting(open) {
            return Some(Time::ZERO);
        }
        while let Some(Reverse((at, slot))) = lanes.paced.peek().copied() {
            let pair = &self.queue_pairs[slot];
            if pair.is_paced_at(port, at) {
                return Some(at);
            }
            lanes.paced.pop();
        }
        None
    }

    /// Sets the departure time of a queue pair, and updates its state and place after any of its
    /// fields changed.
    #[inline(always)]
    pub(super) fn update_state(&mut self, slot: Slot, departure: Time, fabric: &Fabric, busy_until: Time, now: Time) {
        let pair = &mut self.queue_pairs[slot];
        let is_moved = std::mem::replace(&mut pair.next_departure, departure) != departure;
        let state = if !pair.can_send(fabric) {
            PairState::Idle
        } else if departure <= now.max(busy_until) {
            PairState::Ready
        } else {
            PairState::Paced
        };
        if state != pair.state || is_moved && state == PairState::Paced {
            self.set_state(slot, state, now);
        }
    }

    /// Sets the state of a queue pair whose state or departure time changed.
    #[inline(never)]
    fn set_state(&mut self, slot: Slot, state: PairState, now: Time) {
        let pair = &mut self.queue_pairs[slot];
        let lanes = &mut self.lanes[pair.port];
        let before = std::mem::replace(&mut pair.state, state);
        if before == PairState::Idle {
            pair.ready_since = now.max(pair.next_departure);
        }
        match state {
            PairState::Ready => lanes.set_ready(pair),
            PairState::Paced => lanes.paced.push(Reverse((pair.next_departure, slot))),
            PairState::Idle | PairState::Done => {}
        }
        if before == PairState::Ready {
            lanes.set_waiting(pair.class, pair.place);
        }
    }

    /// Chooses the queue pair that sends next through `port`.
    #[inline(always)]
    pub(super) fn choose(&mut self, port: &Port, now: Time, fabric: &Fabric) -> Option<Slot> {
        let (port, rate, open) = (port.ix, port.rate, ClassMask(!port.closed_classes().0));
        let lanes = &mut self.lanes[port];
        while let Some(Reverse((at, slot))) = lanes.paced.peek().copied() {
            if at > now {
                break;
            }
            lanes.paced.pop();
            let pair = &mut self.queue_pairs[slot];
            if pair.is_paced_at(port, at) {
                pair.state = PairState::Ready;
                lanes.set_ready(pair);
            }
        }
        let ready = lanes.next(open);
        let place = if lanes.waiting.is_empty() { ready? } else { self.next_place(port, rate, open, fabric)? };
        let lanes = &mut self.lanes[port];
        lanes.cursor = place;
        Some(lanes.round[place])
    }

    /// Returns the place whose turn is next. Gives queue pairs to waiting flows whose turn it is.
    #[inline(never)]
    fn next_place(&mut self, port: PortIx, rate: Rate, open: ClassMask, fabric: &Fabric) -> Option<RoundIx> {
        loop {
            let lanes = &self.lanes[port];
            let ready = lanes.next(open);
            if !lanes.is_turn_of_waiting(ready, open) {
                return ready;
            }
            self.start_waiting(port, rate, fabric);
        }
    }

    /// Gives a queue pair to the first waiting flow of `port`.
    fn start_waiting(&mut self, port: PortIx, rate: Rate, fabric: &Fabric) {
        let lanes = &mut self.lanes[port];
        let flow = lanes.waiting.pop_front().expect("the caller found a waiting flow");
        let queue = QueueIx::of(lanes.waiting_class);
        let (_, route) = fabric.route(flow, fabric.flow(flow), Direction::Data);
        self.start(flow, (port, queue, route), rate, fabric);
    }

    /// Gives queue pairs to all waiting flows. `ports` are the host's ports.
    pub(crate) fn start_all_waiting(&mut self, ports: &IndexVec<PortIx, Port>, fabric: &Fabric) {
        for port in ports {
            self.start_waiting_at(port, fabric);
        }
    }

    /// Gives queue pairs to all flows that wait at `port`.
    pub(super) fn start_waiting_at(&mut self, port: &Port, fabric: &Fabric) {
        while !self.lanes[port.ix].waiting.is_empty() {
            self.start_waiting(port.ix, port.rate, fabric);
        }
    }

    /// A flow of `class` starts at `port`, and waits for its first turn without a queue pair.
    pub(super) fn wait(&mut self, flow: FlowId, class: Class, port: &Port, fabric: &Fabric) {
        self.reserve_place(port.ix, class);
        while !self.lanes[port.ix].waiting.is_empty() && self.lanes[port.ix].waiting_class != class {
            self.start_waiting(port.ix, port.rate, fabric);
        }
        let lanes = &mut self.lanes[port.ix];
        lanes.waiting_class = class;
        lanes.waiting.push_back(flow);
    }

    /// Adds the queue pair of a flow that started, for which a place at the end of the round is
    /// reserved.
    pub(super) fn start(
        &mut self,
        flow: FlowId,
        (port, queue, route): (PortIx, QueueIx, Route),
        rate: Rate,
        fabric: &Fabric,
    ) -> Slot {
        let (entry, sender) = (fabric.live_flow(flow), fabric.sender_of(flow, rate));
        let spec = &entry.spec;
        let mut pair = QueuePair {
            flow,
            class: spec.class,
            port,
            queue,
            place: RoundIx::default(),
            route,
            bytes: spec.bytes,
            packets: if spec.is_connection() { 0 } else { fabric.packets(spec) },
            progress: Progress::default(),
            recovery: fabric.spec.recovery.sender(&sender),
            reaction: fabric.spec.congestion.reaction(&sender),
            next_departure: spec.start,
            last_sent: spec.start,
            last_wire: 0,
            timer_at: Time::NEVER,
            ready_since: spec.start,
            state: PairState::Idle,
            timed_from: Time::NEVER,
            check_at: Time::NEVER,
            paths: fabric.spec.load_balance.path_choice(&sender),
            outgoing: spec.is_connection().then(Box::default),
            retransmitted: 0,
            resent: 0,
        };
        if pair.can_send(fabric) {
            pair.state = PairState::Ready;
        }
        let slot = put(pair, &mut self.queue_pairs, &mut self.free);
        entry.sender.set(Some(slot));
        self.take_place(slot);
        if self.queue_pairs[slot].state == PairState::Ready {
            self.lanes[port].set_ready(&self.queue_pairs[slot]);
        }
        slot
    }

    /// Reserves a place at the end of the round of `port`, for a queue pair or a waiting flow of
    /// `class`.
    pub(super) fn reserve_place(&mut self, port: PortIx, class: Class) {
        let lanes = &mut self.lanes[port];
        lanes.close_gaps(|slot, place| self.queue_pairs[slot].place = place);
        lanes.live += 1;
        lanes.classes = lanes.classes.with(class);
    }

    /// Puts a queue pair at the reserved place after the other queue pairs of its port.
    fn take_place(&mut self, slot: Slot) {
        let pair = &mut self.queue_pairs[slot];
        let lanes = &mut self.lanes[pair.port];
        pair.place = RoundIx(lanes.round.len() as u32);
        lanes.round.push(slot);
        if pair.queue.index() >= CLASSES {
            lanes.line(pair.queue).push(slot);
        }
    }

    /// Adds a queue pair, which changed its port or route, to the round of its port.
    pub(super) fn enter(&mut self, slot: Slot) {
        let QueuePair { port, class, .. } = self.queue_pairs[slot];
        debug_assert!(self.lanes[port].waiting.is_empty(), "waiting flows have the last places");
        self.reserve_place(port, class);
        self.take_place(slot);
    }

    /// Removes a queue pair from the round of its port.
    pub(super) fn leave(&mut self, slot: Slot) {
        let QueuePair { port, queue, class, place, .. } = self.queue_pairs[slot];
        let lanes = &mut self.lanes[port];
        lanes.set_waiting(class, place);
        if queue.index() >= CLASSES {
            lanes.line(queue).retain(|other| *other != slot);
        }
        lanes.round[place] = Slot::NONE;
        lanes.live -= 1;
    }

    /// Moves a queue pair behind another queue of its port. The queue pair has no packet to send.
    pub(super) fn set_queue(&mut self, slot: Slot, queue: QueueIx) {
        let pair = &mut self.queue_pairs[slot];
        let before = std::mem::replace(&mut pair.queue, queue);
        if before == queue {
            return;
        }
        let lanes = &mut self.lanes[pair.port];
        if before.index() >= CLASSES {
            lanes.line(before).retain(|other| *other != slot);
        }
        if queue.index() >= CLASSES {
            lanes.line(queue).push(slot);
        }
    }

    /// The gate of a queue closed. Queue pairs behind an added queue stop; queue pairs behind a
    /// class queue are skipped when a packet is chosen.
    pub(crate) fn close(&mut self, port: PortIx, queue: QueueIx) {
        if queue.index() < CLASSES {
            return;
        }
        let lanes = &mut self.lanes[port];
        lanes.closed.insert(queue.index());
        let line = std::mem::take(lanes.line(queue));
        for slot in &line {
            let pair = &self.queue_pairs[*slot];
            lanes.set_waiting(pair.class, pair.place);
        }
        *lanes.line(queue) = line;
    }

    /// The gate of a queue opened.
    pub(crate) fn open(&mut self, port: PortIx, queue: QueueIx) {
        if queue.index() < CLASSES {
            return;
        }
        let lanes = &mut self.lanes[port];
        lanes.closed.remove(queue.index());
        let line = std::mem::take(lanes.line(queue));
        for slot in &line {
            let pair = &self.queue_pairs[*slot];
            if pair.state == PairState::Ready {
                lanes.set_ready(pair);
            }
        }
        *lanes.line(queue) = line;
    }
}

/// Puts `item` into a free slot of `table`.
fn put<T>(item: T, table: &mut IndexVec<Slot, T>, free: &mut Vec<Slot>) -> Slot {
    let slot = free.pop().unwrap_or(Slot(table.len() as u32));
    match table.get_mut(slot.index()) {
        Some(place) => *place = item,
        None => table.push(item),
    }
    slot
}

impl Endpoint {
    pub(super) fn retire(&mut self, slot: Slot, fabric: &Fabric) {
        self.leave(slot);
        let pair = &mut self.queue_pairs[slot];
        pair.state = PairState::Done;
        pair.check_at = Time::NEVER;
        fabric.live_flow(pair.flow).sender.set(None);
        self.free.push(slot);
    }
}
