//! An egress port: queues, the gates that flow control closes, and the scheduler that chooses among what is left.

use crate::frame::Frame;
use crate::framing::Framing;
use crate::ids::{CLASSES, Class, ClassMask, PortId, PortIx, QueueIx};
use crate::slots::PortFacts;
use crate::spec::SchedulerConfig;
use backwater_engine::units::ByteTime;
use backwater_engine::{Duration, Rate, Time};
use std::collections::VecDeque;

/// A set of queues of one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QueueSet([u64; QueueSet::WORDS]);

impl QueueSet {
    const WORDS: usize = 3;
    /// Most queues that a port can have.
    pub const CAPACITY: usize = Self::WORDS * 64;

    /// Adds `queue`.
    #[inline]
    pub fn insert(&mut self, queue: QueueIx) {
        self.0[usize::from(queue) / 64] |= 1 << (queue % 64);
    }

    /// Removes `queue`.
    #[inline]
    pub fn remove(&mut self, queue: QueueIx) {
        self.0[usize::from(queue) / 64] &= !(1 << (queue % 64));
    }

    /// Whether `queue` is in the set.
    #[inline]
    pub fn has(&self, queue: QueueIx) -> bool {
        self.0[usize::from(queue) / 64] & (1 << (queue % 64)) != 0
    }

    /// The queues of `self` that are not in `other`.
    #[inline]
    pub fn minus(&self, other: &QueueSet) -> QueueSet {
        QueueSet(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The first queue after `cursor`, going round; `None` for the empty set.
    #[inline]
    pub fn next_after(&self, cursor: QueueIx) -> Option<QueueIx> {
        self.first_from(cursor + 1).or_else(|| self.first_from(0))
    }

    fn first_from(&self, from: QueueIx) -> Option<QueueIx> {
        let mut word = usize::from(from) / 64;
        let mut bits = *self.0.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.0.get(word)?;
        }
        Some((word * 64) as QueueIx + bits.trailing_zeros() as QueueIx)
    }

    /// The queues in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = QueueIx> + '_ {
        (0..Self::CAPACITY as QueueIx).filter(|queue| self.has(*queue))
    }
}

/// One queue of a port.
#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<Frame>,
    /// Charged bytes of `frames`.
    bytes: u64,
    /// Credit of deficit weighted round robin.
    deficit: u64,
}

/// A gate that flow control closes and opens: while it is closed, nothing leaves the queue behind it.
#[derive(Debug, Default)]
pub struct Gate {
    closed: Option<(Time, PortId)>,
    past: VecDeque<Closure>,
}

/// An interval in which a gate was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closure {
    /// When it closed.
    pub from: Time,
    /// When it opened.
    pub to: Time,
    /// The port whose congestion was the cause.
    pub cause: PortId,
}

impl Gate {
    /// Closures kept for packets still waiting; older ones are forgotten.
    const MEMORY: usize = 64;

    /// Since when it has been closed, and because of which port; `None` if it is open.
    pub fn closed(&self) -> Option<(Time, PortId)> {
        self.closed
    }

    /// The closures that overlap `since..now`, cut to it.
    pub fn closures(&self, since: Time, now: Time) -> impl Iterator<Item = Closure> + '_ {
        let ongoing = self.closed.map(|(from, cause)| Closure { from, to: now, cause });
        let past = self.past.iter().rev().take_while(move |closure| closure.to > since).copied();
        ongoing.into_iter().chain(past).map(move |closure| Closure { from: closure.from.max(since), ..closure })
    }

    fn close(&mut self, now: Time, cause: PortId) {
        self.closed.get_or_insert((now, cause));
    }

    fn open(&mut self, now: Time) -> Option<Closure> {
        let (from, cause) = self.closed.take()?;
        let closure = Closure { from, to: now, cause };
        if self.past.len() == Self::MEMORY {
            self.past.pop_front();
        }
        self.past.push_back(closure);
        Some(closure)
    }
}

/// How the port chooses among its open, non-empty queues; the control class goes first.
#[derive(Clone, Copy, Debug)]
enum Scheduler {
    RoundRobin,
    Dwrr { quantum: u64 },
}

/// An egress port and the transmitter behind it.
#[derive(Debug)]
pub struct Port {
    /// Its name in the whole network.
    pub id: PortId,
    /// Its number within its node.
    pub ix: PortIx,
    /// Rate of its link.
    pub rate: Rate,
    byte_time: ByteTime,
    /// When the frame on the wire, if any, has left.
    pub(crate) busy_until: Time,
    /// When the transmitter began to send without a gap.
    pub(crate) burst_start: Time,
    /// When the node next looks at the port by itself; [`Time::NEVER`] if it does not.
    pub(crate) wake_at: Time,
    /// When the flow control's timer of this port is due.
    pub(crate) timer_at: Time,
    /// Whether the link is up.
    pub(crate) up: bool,
    control: VecDeque<Frame>,
    queues: Vec<Queue>,
    occupied: QueueSet,
    closed: QueueSet,
    /// Queues whose gate has ever been closed: of the others nobody need look at the gate.
    ever_closed: QueueSet,
    gates: Vec<Gate>,
    cursor: QueueIx,
    scheduler: Scheduler,
    queued_bytes: u64,
    sent_bytes: u64,
    sent_wire_bytes: u64,
}

impl Port {
    pub(crate) fn new(facts: &PortFacts, framing: Framing, scheduler: SchedulerConfig) -> Port {
        Port {
            id: facts.id,
            ix: facts.ix,
            rate: facts.rate,
            byte_time: framing.byte_time(facts.rate),
            busy_until: Time::ZERO,
            burst_start: Time::ZERO,
            wake_at: Time::NEVER,
            timer_at: Time::NEVER,
            up: true,
            control: VecDeque::new(),
            queues: (0..CLASSES).map(|_| Queue::default()).collect(),
            occupied: QueueSet::default(),
            closed: QueueSet::default(),
            ever_closed: QueueSet::default(),
            gates: (0..CLASSES).map(|_| Gate::default()).collect(),
            cursor: 0,
            scheduler: match scheduler {
                SchedulerConfig::RoundRobin {} => Scheduler::RoundRobin,
                SchedulerConfig::Dwrr { quantum } => Scheduler::Dwrr { quantum: quantum.get() },
            },
            queued_bytes: 0,
            sent_bytes: 0,
            sent_wire_bytes: 0,
        }
    }

    /// Time that `wire_bytes` take on this port's link.
    #[inline]
    pub fn serialisation(&self, wire_bytes: u16) -> Duration {
        self.byte_time.times(u32::from(wire_bytes))
    }

    /// Whether the transmitter can start a frame at `now`.
    #[inline]
    pub fn is_idle(&self, now: Time) -> bool {
        self.up && self.busy_until <= now
    }

    /// Charged bytes in queue `queue`.
    #[inline]
    pub fn queue_bytes(&self, queue: QueueIx) -> u64 {
        self.queues.get(usize::from(queue)).map_or(0, |queue| queue.bytes)
    }

    /// Charged bytes in all queues, control frames left out.
    #[inline]
    pub fn queued_bytes(&self) -> u64 {
        self.queued_bytes
    }

    /// Charged bytes sent so far.
    #[inline]
    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Wire bytes sent so far.
    pub fn sent_wire_bytes(&self) -> u64 {
        self.sent_wire_bytes
    }

    /// Number of queues.
    pub fn queue_count(&self) -> usize {
        self.queues.len()
    }

    /// The gate of queue `queue`.
    pub fn gate(&self, queue: QueueIx) -> &Gate {
        &self.gates[usize::from(queue)]
    }

    /// Whether the gate of `queue` has ever been closed.
    #[inline]
    pub fn was_closed(&self, queue: QueueIx) -> bool {
        self.ever_closed.has(queue)
    }

    /// Queues whose gate is closed.
    pub fn closed_queues(&self) -> &QueueSet {
        &self.closed
    }

    /// Traffic classes whose gate is closed.
    #[inline]
    pub fn closed_classes(&self) -> ClassMask {
        ClassMask(self.closed.0[0] as u8)
    }

    /// The frames of queue `queue`, first to leave first.
    pub fn frames(&self, queue: QueueIx) -> impl Iterator<Item = &Frame> {
        self.queues[usize::from(queue)].frames.iter()
    }

    /// Number of frames held, control frames included.
    pub fn held_frames(&self) -> usize {
        self.control.len() + self.queues.iter().map(|queue| queue.frames.len()).sum::<usize>()
    }

    /// Charged bytes held, control frames included.
    pub fn held_bytes(&self) -> u64 {
        self.queued_bytes + self.control.iter().map(|frame| u64::from(frame.size.charge)).sum::<u64>()
    }

    /// Whether something could leave now.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.control.is_empty() || !self.occupied.minus(&self.closed).is_empty()
    }

    /// Appends a queue behind those of the classes, for a flow control that needs more; its number.
    pub fn add_queue(&mut self) -> QueueIx {
        assert!(self.queues.len() < QueueSet::CAPACITY, "a port has at most {} queues", QueueSet::CAPACITY);
        self.queues.push(Queue::default());
        self.gates.push(Gate::default());
        self.queues.len() as QueueIx - 1
    }

    #[inline]
    pub(crate) fn enqueue(&mut self, queue: QueueIx, frame: Frame) {
        let bytes = u64::from(frame.size.charge);
        self.queued_bytes += bytes;
        self.occupied.insert(queue);
        let queue = &mut self.queues[usize::from(queue)];
        queue.bytes += bytes;
        queue.frames.push_back(frame);
    }

    /// Puts a link-local frame before everything else.
    pub(crate) fn enqueue_control(&mut self, frame: Frame) {
        self.control.push_back(frame);
    }

    /// Takes a control frame.
    pub(crate) fn next_control(&mut self) -> Option<Frame> {
        self.control.pop_front()
    }

    /// Takes the frame that the scheduler puts next, and the queue that it stood in.
    #[inline]
    pub(crate) fn dequeue(&mut self) -> Option<(QueueIx, Frame)> {
        let open = self.occupied.minus(&self.closed);
        let control = QueueIx::from(Class::CONTROL.0);
        let queue = if open.has(control) {
            control
        } else {
            match self.scheduler {
                Scheduler::RoundRobin => open.next_after(self.cursor).inspect(|queue| self.cursor = *queue)?,
                Scheduler::Dwrr { quantum } => self.deficit_round(open, quantum)?,
            }
        };
        Some((queue, self.pop(queue)))
    }

    /// Deficit weighted round robin: the queue whose turn it is goes on while its deficit lasts; a queue that is passed gains a quantum.
    fn deficit_round(&mut self, open: QueueSet, quantum: u64) -> Option<QueueIx> {
        let head = |queue: &Queue| queue.frames.front().map_or(0, |frame| u64::from(frame.size.charge));
        let mut candidate = if open.has(self.cursor) { self.cursor } else { self.advance(open, quantum)? };
        while self.queues[usize::from(candidate)].deficit < head(&self.queues[usize::from(candidate)]) {
            candidate = self.advance(open, quantum)?;
        }
        let queue = &mut self.queues[usize::from(candidate)];
        queue.deficit -= head(queue);
        if queue.frames.len() == 1 {
            queue.deficit = 0;
        }
        Some(candidate)
    }

    fn advance(&mut self, open: QueueSet, quantum: u64) -> Option<QueueIx> {
        let next = open.next_after(self.cursor)?;
        self.cursor = next;
        self.queues[usize::from(next)].deficit += quantum;
        Some(next)
    }

    fn pop(&mut self, index: QueueIx) -> Frame {
        let queue = &mut self.queues[usize::from(index)];
        let frame = queue.frames.pop_front().expect("the scheduler chooses occupied queues");
        let bytes = u64::from(frame.size.charge);
        queue.bytes -= bytes;
        self.queued_bytes -= bytes;
        if queue.frames.is_empty() {
            // Back to the front of its memory, which is warm; a ring would wander through all of it.
            queue.frames.clear();
            self.occupied.remove(index);
        }
        frame
    }

    /// Starts `frame` on the wire; when it has left.
    #[inline]
    pub(crate) fn start(&mut self, frame: &Frame, now: Time) -> Time {
        debug_assert!(self.is_idle(now));
        self.sent_bytes += u64::from(frame.size.charge);
        self.sent_wire_bytes += u64::from(frame.size.wire);
        if self.busy_until < now {
            self.burst_start = now;
        }
        self.busy_until = now + self.serialisation(frame.size.wire);
        self.busy_until
    }

    pub(crate) fn close(&mut self, queue: QueueIx, now: Time, cause: PortId) {
        self.closed.insert(queue);
        self.ever_closed.insert(queue);
        self.gates[usize::from(queue)].close(now, cause);
    }

    pub(crate) fn open(&mut self, queue: QueueIx, now: Time) -> Option<Closure> {
        self.closed.remove(queue);
        self.gates[usize::from(queue)].open(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Body, Control, Pfc, RecordRef};
    use crate::framing::FrameSize;
    use crate::ids::NodeId;
    use proptest::prelude::*;

    fn frame(class: u8, bytes: u16) -> Frame {
        let pfc = Pfc { enabled: ClassMask::NONE, quanta: 0, reliable: true, cause: PortId(0) };
        Frame {
            body: Body::Control(Control::Pfc(pfc)),
            size: FrameSize { wire: bytes, charge: bytes },
            class: Class(class),
            marked: false,
            ingress: 0,
            record: RecordRef::NONE,
            queued_at: Time::ZERO,
        }
    }

    fn port(scheduler: SchedulerConfig) -> Port {
        let facts = PortFacts {
            id: PortId(0),
            node: NodeId(0),
            ix: 0,
            peer: PortId(1),
            rate: Rate::from_gbps(100),
            delay: Duration::from_us(1),
            error_rate: 0.0,
        };
        Port::new(&facts, Framing::Rocev2, scheduler)
    }

    fn order(port: &mut Port, frames: usize) -> Vec<QueueIx> {
        (0..frames).map_while(|_| port.dequeue().map(|(queue, _)| queue)).collect()
    }

    #[test]
    fn round_robin_takes_one_packet_of_each_queue_in_turn() {
        let mut port = port(SchedulerConfig::RoundRobin {});
        for queue in [3, 3, 3, 5, 5, 0] {
            port.enqueue(queue, frame(queue as u8, 1000));
        }
        assert_eq!(order(&mut port, 9), [0, 3, 5, 3, 5, 3]);
        assert_eq!(port.queued_bytes(), 0);
    }

    #[test]
    fn dwrr_shares_bytes_not_packets() {
        let mut port = port(SchedulerConfig::Dwrr { quantum: backwater_engine::Bytes(1600) });
        for _ in 0..400 {
            port.enqueue(1, frame(1, 1500));
        }
        for _ in 0..2000 {
            port.enqueue(2, frame(2, 300));
        }
        let (mut bytes, sizes) = ([0u64; 3], [0, 1500, 300]);
        for queue in order(&mut port, 600) {
            bytes[usize::from(queue)] += sizes[usize::from(queue)];
        }
        assert!(bytes[1].abs_diff(bytes[2]) <= 1600, "{bytes:?}");
    }

    #[test]
    fn a_closed_queue_keeps_its_frames_and_the_gate_remembers() {
        let mut port = port(SchedulerConfig::RoundRobin {});
        port.enqueue(3, frame(3, 1000));
        port.close(3, Time::from_ps(10), PortId(9));
        port.close(3, Time::from_ps(20), PortId(8));
        assert!(!port.has_work());
        assert_eq!(port.gate(3).closed(), Some((Time::from_ps(10), PortId(9))));
        port.open(3, Time::from_ps(50));
        assert_eq!(order(&mut port, 1), [3]);
        let closures: Vec<_> = port.gate(3).closures(Time::from_ps(30), Time::from_ps(60)).collect();
        assert_eq!(closures, [Closure { from: Time::from_ps(30), to: Time::from_ps(50), cause: PortId(9) }]);
    }

    proptest! {
        #[test]
        fn a_queue_set_is_a_set(queues in prop::collection::btree_set(0u16..QueueSet::CAPACITY as u16, 0..20), cursor in 0u16..QueueSet::CAPACITY as u16) {
            let mut set = QueueSet::default();
            queues.iter().for_each(|queue| set.insert(*queue));
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), queues.iter().copied().collect::<Vec<_>>());
            let next = queues.range(cursor + 1..).next().or(queues.first()).copied();
            prop_assert_eq!(set.next_after(cursor), next);
        }
    }
}
