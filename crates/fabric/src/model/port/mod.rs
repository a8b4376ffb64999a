//! An egress port: queues, the gates that flow control closes, and the scheduler that chooses among what is left.

mod gate;
mod place;
mod prefetch;
mod queues;
mod scheduler;
mod view;

pub use gate::{Gate, Wait};
pub(crate) use place::{PortPlace, WireIx};

use self::gate::OPEN_GATE;
use self::queues::{Queue, Queues};
use self::scheduler::Scheduler;
use crate::contract::{AddedQueues, PortFacts, Stage};
use crate::frame::cause::{Cause, Closure};
use crate::frame::framing::Framing;
use crate::frame::{Body, Frame};
use crate::ids::{CLASSES, Class, ClassMask, PortId, PortIx, QueueIx};
use crate::model::fifo::{Fifo, Frames, Queued};
use crate::network::spec::SchedulerConfig;
use backwater_engine::bits::BitSet;
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::memory::HeapBytes;
use backwater_engine::units::ByteTime;
use backwater_engine::{Duration, Rate, Time};
use std::mem::offset_of;

/// The queue of the control class, which goes first.
const CONTROL_QUEUE: QueueIx = Class::CONTROL.0 as QueueIx;

/// The queues that a flow control adds to those of the classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Added {
    /// There are none.
    None,
    /// There are none, but packets may change to the queue of another class.
    ChangesClass,
    /// They lead to the wire as those of the classes do.
    FeedsWire,
    /// They lead to other queues, at last to those of the classes.
    FeedsQueues,
}

/// Queues that do not lead to the wire but to another queue ([`Stage::Queue`]).
#[derive(Debug, Default)]
struct InnerQueues {
    occupied: BitSet,
    /// The one that had the last turn.
    cursor: QueueIx,
    /// Charged bytes in them.
    bytes: u64,
}

/// An egress port and the transmitter behind it.
///
/// In the order in which a passing packet needs the fields: two cache lines, and one for its queue.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Port {
    /// When the frame on the wire, if any, has left; [`Time::NEVER`] while the link is down.
    pub busy_until: Time,
    /// When the node next looks at the port by itself; [`Time::NEVER`] if it does not.
    pub(crate) wake_at: Time,
    /// When the transmitter began to send without a gap.
    pub burst_start: Time,
    /// When a gate last opened.
    last_opened: Time,
    occupied: BitSet,
    closed: BitSet,
    queued_bytes: u64,
    sent_bytes: u64,
    sent_wire_bytes: u64,
    /// Delay of its link.
    pub delay: Duration,
    control: Fifo,
    /// Where the caller of the node keeps the ends of its link.
    pub(crate) place: PortPlace,
    byte_time: ByteTime,
    /// Its number within its node.
    pub ix: PortIx,
    cursor: QueueIx,
    scheduler: Scheduler,
    added: Added,
    queues: Queues,
    inner: InnerQueues,
    /// Of the queues that a flow control has added, how many hold a packet, and the most that have at once.
    filled: QueueIx,
    most_filled: QueueIx,
    /// The most queues that there can be.
    most_queues: usize,
    /// What a queue gains whenever it is passed, in deficit weighted round robin.
    quantum: u64,
    /// When the flow control's timer of this port is due.
    pub(crate) timer_at: Time,
    /// Wire bytes of packets that a host relays sent so far.
    relayed_wire_bytes: u64,
    /// While the link is down: what `busy_until` was when it failed.
    failed: Option<Time>,
    /// As many as have been needed so far; all others are open and always were.
    gates: IndexVec<QueueIx, Gate>,
    /// Its name in the whole network.
    pub id: PortId,
    /// Rate of its link.
    pub rate: Rate,
}

const _: () =
    assert!(offset_of!(Port, queued_bytes) == 64 && offset_of!(Port, queues) == 128 && size_of::<Queue>() == 32);

impl Port {
    pub(crate) fn new(facts: &PortFacts, framing: Framing, scheduler: SchedulerConfig, added: AddedQueues) -> Port {
        let (scheduler, quantum) = Scheduler::new(scheduler);
        Port {
            id: facts.id,
            ix: facts.ix,
            rate: facts.rate,
            delay: facts.delay,
            byte_time: framing.byte_time(facts.rate),
            busy_until: Time::ZERO,
            burst_start: Time::ZERO,
            wake_at: Time::NEVER,
            timer_at: Time::NEVER,
            failed: None,
            control: Fifo::default(),
            place: PortPlace::default(),
            added: match added.stage {
                _ if added.most == 0 && added.changes_class => Added::ChangesClass,
                _ if added.most == 0 => Added::None,
                Stage::Wire => Added::FeedsWire,
                Stage::Queue | Stage::QueueAll => Added::FeedsQueues,
            },
            queues: Queues::default(),
            inner: InnerQueues::default(),
            filled: 0,
            most_filled: 0,
            most_queues: CLASSES + usize::from(added.most),
            occupied: BitSet::default(),
            closed: BitSet::default(),
            last_opened: Time::ZERO,
            gates: IndexVec::default(),
            cursor: 0,
            scheduler,
            quantum,
            queued_bytes: 0,
            sent_bytes: 0,
            sent_wire_bytes: 0,
            relayed_wire_bytes: 0,
        }
    }

    /// Bytes that the port holds on the heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let gates: u64 = self.gates.iter().map(Gate::heap_bytes).sum();
        gates + self.gates.heap_bytes() + self.queues.added.heap_bytes()
    }

    /// Time that `wire_bytes` take on this port's link.
    #[inline]
    pub fn serialisation(&self, wire_bytes: u16) -> Duration {
        self.byte_time.times(u32::from(wire_bytes))
    }

    /// Whether the transmitter can start a frame at `now`.
    #[inline]
    pub fn is_idle(&self, now: Time) -> bool {
        self.busy_until <= now
    }

    /// When the frame on the wire, if any, has left, whether the link is up or not.
    #[inline]
    pub(crate) fn free_at(&self) -> Time {
        if self.busy_until == Time::NEVER { self.failed.unwrap_or(self.busy_until) } else { self.busy_until }
    }

    /// The link goes down: the transmitter stops.
    pub(crate) fn fail(&mut self) {
        self.failed = Some(std::mem::replace(&mut self.busy_until, Time::NEVER));
    }

    /// The link comes back.
    pub(crate) fn recover(&mut self) {
        self.busy_until = self.failed.take().unwrap_or(self.busy_until);
    }

    /// Whether its link is down.
    pub(crate) fn is_down(&self) -> bool {
        self.failed.is_some()
    }

    /// Charged bytes in queue `queue`.
    #[inline]
    pub fn queue_bytes(&self, queue: QueueIx) -> u64 {
        self.queues.get(queue).map_or(0, |queue| queue.bytes)
    }

    /// Frames in queue `queue`.
    pub fn queue_frames(&self, queue: QueueIx) -> u32 {
        self.queues.get(queue).map_or(0, |queue| queue.count)
    }

    /// Whether queue `queue` holds a frame.
    #[inline]
    pub fn is_occupied(&self, queue: QueueIx) -> bool {
        self.occupied.has(queue.into()) || self.inner.occupied.has(queue.into())
    }

    /// Charged bytes in all queues, control frames left out.
    #[inline]
    pub fn queued_bytes(&self) -> u64 {
        self.queued_bytes
    }

    /// Charged bytes in the queues that lead to the wire.
    #[inline]
    pub fn backlog(&self) -> u64 {
        self.queued_bytes - self.inner.bytes
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

    /// Wire bytes sent so far of packets that a host relays.
    pub fn relayed_wire_bytes(&self) -> u64 {
        self.relayed_wire_bytes
    }

    /// A packet of others leaves a host.
    pub(crate) fn relays(&mut self, frame: &Frame) {
        self.relayed_wire_bytes += u64::from(frame.size.wire);
    }

    /// Number of queues that there have been so far.
    pub fn queue_count(&self) -> usize {
        self.queues.len()
    }

    /// Whether the gate of `queue` is closed.
    #[inline]
    pub fn is_closed(&self, queue: QueueIx) -> bool {
        self.closed.has(queue.into())
    }

    /// Number of open queues that hold packets for the wire, that of the control class left out.
    #[inline]
    pub fn active_queues(&self) -> usize {
        self.occupied.count_outside(&self.closed) - usize::from(self.is_ready(CONTROL_QUEUE))
    }

    /// Number of queues that hold a packet.
    pub fn occupied_queues(&self) -> usize {
        self.occupied.iter().count() + self.inner.occupied.iter().count()
    }

    /// Queues that hold packets, and the charged bytes in each; those that lead to the wire first.
    pub fn queue_occupancies(&self) -> impl Iterator<Item = (QueueIx, u64)> + '_ {
        let queues = self.occupied.iter().chain(self.inner.occupied.iter()).map(|queue| queue as QueueIx);
        queues.map(|queue| (queue, self.queue_bytes(queue)))
    }

    /// The most of the queues that a flow control has added that have held a packet at once.
    pub fn most_filled_queues(&self) -> QueueIx {
        self.most_filled
    }

    /// The gate of queue `queue`.
    pub fn gate(&self, queue: QueueIx) -> &Gate {
        self.gates.get(queue.index()).unwrap_or(&OPEN_GATE)
    }

    /// Whether any gate has opened after `since`: if none has, whatever leaves now and came then was never held up.
    #[inline]
    pub(crate) fn opened_after(&self, since: Time) -> bool {
        self.last_opened > since
    }

    /// Queues whose gate is closed, in ascending order.
    pub fn closed_queues(&self) -> impl Iterator<Item = QueueIx> + '_ {
        self.closed.iter().map(|queue| queue as QueueIx)
    }

    /// Traffic classes whose gate is closed.
    #[inline]
    pub fn closed_classes(&self) -> ClassMask {
        ClassMask(self.closed.word(0) as u8)
    }

    /// The frames of queue `queue`, first to leave first.
    pub fn frames<'a>(&self, queue: QueueIx, frames: &'a Frames) -> impl Iterator<Item = &'a Queued> {
        self.queues[queue].frames.iter(frames)
    }

    /// Whether the port holds no frame, no control frame either.
    pub fn is_empty(&self) -> bool {
        self.control.is_empty() && self.queues.iter().all(|queue| queue.frames.is_empty())
    }

    /// Charged bytes held, control frames included.
    pub fn total_bytes(&self, frames: &Frames) -> u64 {
        self.queued_bytes + self.control.iter(frames).map(|queued| u64::from(queued.frame.size.charge)).sum::<u64>()
    }

    /// Whether something could leave now.
    #[inline(always)]
    pub fn has_work(&self) -> bool {
        !self.control.is_empty() || self.can_send() || self.can_advance()
    }

    /// Whether a queue that leads to the wire could send.
    #[inline]
    pub(crate) fn can_send(&self) -> bool {
        self.occupied.exceeds(&self.closed)
    }

    /// Whether a flow control names the queue that a packet joins.
    #[inline]
    pub(crate) fn are_queues_named(&self) -> bool {
        self.added != Added::None
    }

    /// Whether a queue that leads to another one could hand a packet on.
    #[inline]
    pub(crate) fn can_advance(&self) -> bool {
        self.added == Added::FeedsQueues && self.inner.occupied.exceeds(&self.closed)
    }

    /// Whether a frame leaves next that goes before all others: of link-local control, or of the control class.
    pub(crate) fn has_urgent(&self) -> bool {
        !self.control.is_empty() || self.is_ready(CONTROL_QUEUE)
    }

    /// Whether packets of `queue` go onto the wire when they leave it.
    pub fn feeds_wire(&self, queue: QueueIx) -> bool {
        self.added != Added::FeedsQueues || queue.index() < CLASSES
    }

    /// Puts a frame into `queue`.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, queue: QueueIx, queued: &Queued, frames: &mut Frames) {
        let (index, bytes) = (queue.index(), u64::from(queued.frame.size.charge));
        self.queued_bytes += bytes;
        let queue = if index < CLASSES {
            self.occupied.insert(index);
            &mut self.queues.of_classes[index]
        } else {
            self.join_added(queue, bytes)
        };
        queue.push(queued, frames);
    }

    /// The queue `queue`, one of those that a flow control has added, which gets a frame of `bytes`.
    fn join_added(&mut self, queue: QueueIx, bytes: u64) -> &mut Queue {
        if queue.index() >= self.queues.len() {
            self.queues.grow(queue);
        }
        if self.added == Added::FeedsQueues {
            self.inner.bytes += bytes;
            self.inner.occupied.insert(queue.into());
        } else {
            self.occupied.insert(queue.into());
        }
        let queue = &mut self.queues[queue];
        if queue.frames.is_empty() {
            self.filled += 1;
            self.most_filled = self.most_filled.max(self.filled);
        }
        queue
    }

    /// Puts a link-local frame before everything else. Waiting frames of which it leaves nothing are `withdrawn`.
    pub(crate) fn enqueue_control(&mut self, queued: Queued, frames: &mut Frames, mut withdrawn: impl FnMut(Frame)) {
        if let Body::Control(newer) = &queued.frame.body
            && newer.supersedes()
        {
            for _ in 0..self.control.iter(frames).count() {
                let mut waiting = self.control.pop(frames);
                let Body::Control(control) = &mut waiting.frame.body else {
                    unreachable!("link-local frames alone wait here")
                };
                if control.remove_superseded(newer) {
                    self.control.push(waiting, frames)
                } else {
                    withdrawn(waiting.frame)
                }
            }
        }
        self.control.push(queued, frames);
    }

    /// Takes a control frame.
    #[inline(always)]
    pub(crate) fn next_control(&mut self, frames: &mut Frames) -> Option<Frame> {
        (!self.control.is_empty()).then(|| self.control.pop(frames).frame)
    }

    /// Takes the first frame of a queue that leads to the wire.
    #[inline(always)]
    pub(crate) fn take(&mut self, index: QueueIx, frames: &mut Frames) -> Queued {
        let queue = &mut self.queues[index];
        let queued = queue.pop(frames);
        if queue.frames.is_empty() {
            self.occupied.remove(index.into());
            self.filled -= QueueIx::from(index.index() >= CLASSES);
        }
        self.queued_bytes -= u64::from(queued.frame.size.charge);
        queued
    }

    /// Takes the first frame of a queue that leads to another one.
    pub(crate) fn take_inner(&mut self, index: QueueIx, frames: &mut Frames) -> Queued {
        let queue = &mut self.queues[index];
        let queued = queue.pop(frames);
        if queue.frames.is_empty() {
            self.inner.occupied.remove(index.into());
            self.filled -= 1;
        }
        let bytes = u64::from(queued.frame.size.charge);
        self.queued_bytes -= bytes;
        self.inner.bytes -= bytes;
        queued
    }

    /// Starts `frame` on the wire.
    #[inline]
    pub(crate) fn start(&mut self, frame: &Frame, now: Time) {
        debug_assert!(self.is_idle(now));
        self.sent_bytes += u64::from(frame.size.charge);
        self.sent_wire_bytes += u64::from(frame.size.wire);
        if self.busy_until < now {
            self.burst_start = now;
        }
        self.busy_until = now + self.serialisation(frame.size.wire);
    }

    /// Closes the gate of `queue`; whether it was open.
    pub(crate) fn close(&mut self, queue: QueueIx, now: Time, cause: Cause) -> bool {
        let index = queue.index();
        assert!(index < self.most_queues, "port {} has no queue {queue}", self.ix);
        self.closed.insert(index);
        if self.gates.len() <= index {
            self.gates.resize_with(index + 1, Gate::default);
        }
        self.gates[queue].close(now, cause)
    }

    pub(crate) fn open(&mut self, queue: QueueIx, now: Time) -> Option<Closure> {
        self.closed.remove(queue.into());
        self.last_opened = now;
        self.gates.get_mut(queue.index())?.open(now)
    }
}

#[cfg(test)]
mod tests;
