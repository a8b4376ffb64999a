//! Endpoint of a host: its queue pairs and receivers.

use super::lanes::{Lanes, RoundIx};
use super::receiver::Receiver;
use super::sender::{PairState, QueuePair};
use super::timers::{Timer, Timers};
use crate::contract::report::Reception;
use crate::frame::{Direction, Packet, PacketKind, Psn};
use crate::ids::{CLASSES, ClassMask, FlowId, NodeId, PortIx, QueueIx, Slot};
use crate::model::ledger::PairFacts;
use crate::model::sink::{Env, Sink, Wakeup};
use crate::network::fabric::Fabric;
use crate::network::flows::Flow;
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::memory::{HeapBytes, Share};
use backwater_engine::prefetch::prefetch;
use backwater_engine::{Rate, Time};
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
    /// Timers of reaction points and of notification points. A notification point's timer has
    /// [`Slot::NONE`].
    pub(super) mechanism_timers: Timers,
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
        }
    }

    /// Returns true if flow `id`, which starts here, has yet to start.
    pub(crate) fn expects(&self, id: FlowId) -> bool {
        self.upcoming.front().is_some_and(|next| *next <= id)
    }

    /// Restarts the retransmission timer of a queue pair, or stops it if nothing is in flight. If
    /// the deadline becomes later, the earlier check is kept, and schedules the next check when it
    /// is due.
    pub(super) fn rearm<S: Sink>(&mut self, slot: Slot, host: NodeId, env: &mut Env<'_, S>) {
        let pair = &mut self.queue_pairs[slot];
        let in_flight = pair.progress.next > pair.progress.acked;
        pair.timed_from = if in_flight { env.now } else { Time::NEVER };
        let deadline = pair.deadline();
        if deadline < pair.check_at {
            pair.check_at = deadline;
            self.retransmissions.set((deadline, pair.flow, slot), Wakeup::Retransmission(host), env);
            self.drop_stale_checks();
        }
    }

    /// Returns true if `check` is the present check of its queue pair, not a stale one.
    fn is_current(&self, (at, flow, slot): Timer) -> bool {
        let pair = &self.queue_pairs[slot];
        pair.flow == flow && pair.check_at == at
    }

    /// Drops stale checks once they outnumber the others. Stale checks would otherwise remain until
    /// they are due.
    pub(super) fn drop_stale_checks(&mut self) {
        if self.retransmissions.queue.len() > 2 * self.live_flows() + STALE_CHECKS {
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

    /// Prefetches the state of the flow of `packet`, which is about to arrive.
    #[inline]
    pub(crate) fn prefetch_packet(&self, packet: &Packet, fabric: &Fabric) {
        let Some(flow) = fabric.flows.get(packet.flow) else { return };
        if packet.kind == PacketKind::Data {
            if let Some(slot) = flow.receiver.get() {
                prefetch(&self.receivers[slot]);
            }
        } else {
            if let Some(pair) = flow.sender.get().and_then(|slot| self.queue_pairs.get(slot.index())) {
                pair.prefetch();
            }
        }
    }

    /// Prefetches the scheduling state of the queue pairs of `port`.
    #[inline]
    pub(crate) fn prefetch_turn(&self, port: PortIx) {
        prefetch(&self.lanes[port].ready);
        prefetch(&self.lanes[port].round);
    }

    /// Prefetches the place of the queue pair that probably sends next through `port`.
    #[inline]
    pub(crate) fn prefetch_round(&self, port: PortIx) {
        if let Some(slot) = self.lanes[port].probably_next() {
            prefetch(slot);
        }
    }

    /// Prefetches the queue pair that probably sends next through `port`.
    #[inline]
    pub(crate) fn prefetch_departure(&self, port: PortIx) {
        let slot = self.lanes[port].probably_next();
        if let Some(pair) = slot.and_then(|slot| self.queue_pairs.get(slot.index())) {
            pair.prefetch();
        }
    }

    /// Returns the number of flows that have started and are not fully acknowledged.
    pub fn live_flows(&self) -> usize {
        self.queue_pairs.len() - self.free.len()
    }

    /// Returns the peak number of queue pairs, and the memory of the endpoint.
    pub(crate) fn memory(&self) -> Share {
        let mechanisms = self.queue_pairs.iter().map(QueuePair::heap_bytes).sum::<u64>()
            + self.receivers.iter().map(Receiver::heap_bytes).sum::<u64>();
        let tables = self.queue_pairs.heap_bytes() + self.receivers.heap_bytes() + mechanisms;
        let lists = self.free.heap_bytes() + self.free_receivers.heap_bytes() + self.upcoming.heap_bytes();
        let lists = lists + self.retransmissions.queue.heap_bytes() + self.mechanism_timers.queue.heap_bytes();
        let bytes = tables + lists + self.lanes.heap_bytes() + self.lanes.iter().map(Lanes::heap_bytes).sum::<u64>();
        Share { count: self.queue_pairs.len() as u64, bytes }
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
        if slot == Slot::NONE {
            // Complete flows may be forgotten, and their receivers serve other flows.
            let Some(entry) = fabric.flows.get(flow) else { return false };
            let packets = fabric.packets(&entry.spec);
            return self.receiver_of(entry).is_some_and(|it| it.timer_at == at && it.expected < packets);
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
            expected: 0,
            last_delivery: flow.spec.start,
            reception: Reception::default(),
        };
        let slot = put(receiver, &mut self.receivers, &mut self.free_receivers);
        flow.receiver.set(Some(slot));
        slot
    }

    /// Returns the next departure time from a queue pair of `port` whose class is not `closed`. If
    /// the time is in the past, the queue pair may send at once.
    #[inline]
    pub(crate) fn next_departure(&mut self, port: PortIx, closed: ClassMask) -> Option<Time> {
        let lanes = &mut self.lanes[port];
        if lanes.next(ClassMask(!closed.0)).is_some() {
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

    /// Updates a queue pair's state and place after any of its fields changed.
    pub(super) fn update_state(&mut self, slot: Slot, fabric: &Fabric, busy_until: Time, now: Time) {
        let pair = &mut self.queue_pairs[slot];
        let lanes = &mut self.lanes[pair.port];
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
            PairState::Ready => lanes.set_ready(pair),
            PairState::Paced => lanes.paced.push(Reverse((pair.next_departure, slot))),
            PairState::Idle | PairState::Done => {}
        }
        if before == PairState::Ready && state != PairState::Ready {
            lanes.set_waiting(pair.class, pair.place);
        }
    }

    /// Chooses the queue pair that sends next through `port`.
    pub(super) fn choose(&mut self, port: PortIx, open: ClassMask, now: Time) -> Option<Slot> {
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
        let place = lanes.next(open)?;
        lanes.cursor = place;
        Some(lanes.round[place])
    }

    pub(super) fn insert(&mut self, pair: QueuePair) -> Slot {
        let slot = put(pair, &mut self.queue_pairs, &mut self.free);
        self.enter(slot);
        slot
    }

    /// Adds a queue pair to the round of its port.
    pub(super) fn enter(&mut self, slot: Slot) {
        let QueuePair { port, queue, class, .. } = self.queue_pairs[slot];
        let lanes = &mut self.lanes[port];
        lanes.close_gaps(|slot, place| self.queue_pairs[slot].place = place);
        self.queue_pairs[slot].place = RoundIx(lanes.round.len() as u32);
        lanes.live += 1;
        lanes.classes = lanes.classes.with(class);
        lanes.round.push(slot);
        if queue.index() >= CLASSES {
            lanes.line(queue).push(slot);
        }
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
