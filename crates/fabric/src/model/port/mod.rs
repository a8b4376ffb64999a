//! Egress port: queues, the gates that flow control closes, and the scheduler that chooses among
//! open queues.

mod gate;
mod queues;
mod scheduler;
mod view;

pub use gate::{Gate, Wait};

use self::gate::OPEN_GATE;
use self::queues::{Queue, Queues};
use self::scheduler::Scheduler;
use crate::contract::packet::QueuedPacket;
use crate::contract::{AddedQueues, PortFacts, Stage};
use crate::frame::cause::{Cause, Closure};
use crate::frame::framing::{FrameSize, Framing};
use crate::frame::record::RecordRef;
use crate::frame::{Body, Frame};
use crate::ids::{CLASSES, Class, ClassMask, PortId, PortIx, QueueIx};
use crate::model::fifo::{Fifo, Frames, Place};
use crate::model::sink::Sink;
use crate::network::spec::SchedulerConfig;
use backwater_engine::bits::BitSet;
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::memory::HeapBytes;
use backwater_engine::units::ByteTime;
use backwater_engine::{Duration, Rate, Time};
use std::mem::offset_of;

/// Number of a wire in its shard, from 1, so that an optional number needs no more memory.
pub(crate) type WireIx = std::num::NonZeroU32;

/// Queue of the control class, which has precedence.
const CONTROL_QUEUE: QueueIx = QueueIx::of(Class::CONTROL);

/// Queues that a flow control adds to the class queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Added {
    /// None.
    None,
    /// None, but packets may change to the queue of another class.
    ChangesClass,
    /// Queues that feed the wire, as the class queues do.
    FeedsWire,
    /// Inner queues: they feed other queues, and in the end the class queues.
    FeedsQueues,
}

/// Queues that feed other queues instead of the wire ([`Stage::Queue`]).
#[derive(Debug, Default)]
struct InnerQueues {
    occupied: BitSet,
    /// Queue of the last turn.
    cursor: QueueIx,
    /// Charged bytes in these queues.
    bytes: u64,
}

/// Egress port and its transmitter.
///
/// Fields are in the order in which a passing packet needs them: two cache lines, and one for its
/// queue.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Port {
    /// End of the present transmission, if any; [`Time::NEVER`] while the link is down.
    pub busy_until: Time,
    /// Next scheduled wake-up of the port; [`Time::NEVER`] if none is scheduled.
    pub(crate) wake_at: Time,
    /// Start of the present or last gapless sequence of frames.
    pub burst_start: Time,
    /// Time at which a gate last opened.
    last_opened: Time,
    occupied: BitSet,
    closed: BitSet,
    queued_bytes: u64,
    sent_bytes: u64,
    sent_wire_bytes: u64,
    /// Propagation delay of the link.
    pub delay: Duration,
    control: Fifo,
    /// Wire that begins at the port, if the node's driver has it in the same shard.
    pub(crate) wire: Option<WireIx>,
    byte_time: ByteTime,
    /// Index within its node.
    pub ix: PortIx,
    cursor: QueueIx,
    scheduler: Scheduler,
    added: Added,
    queues: Queues,
    inner: InnerQueues,
    /// Number of occupied added queues, and its peak.
    filled: u16,
    most_filled: u16,
    /// Maximum number of queues.
    most_queues: usize,
    /// Credit of a queue per turn, in deficit weighted round robin.
    quantum: u64,
    /// Timer of the flow control for this port.
    pub(crate) timer_at: Time,
    /// Wire bytes sent so far for packets that a host relays.
    relayed_wire_bytes: u64,
    /// Value of `busy_until` when the link failed, while the link is down.
    failed: Option<Time>,
    /// Gates used so far; all other gates are open and were never closed.
    gates: IndexVec<QueueIx, Gate>,
    /// Id in the network.
    pub id: PortId,
    /// Rate of the link.
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
            wire: None,
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
            cursor: CONTROL_QUEUE,
            scheduler,
            quantum,
            queued_bytes: 0,
            sent_bytes: 0,
            sent_wire_bytes: 0,
            relayed_wire_bytes: 0,
        }
    }

    /// Returns the bytes that the port holds on the heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let gates: u64 = self.gates.iter().map(Gate::heap_bytes).sum();
        gates + self.gates.heap_bytes() + self.queues.added.heap_bytes()
    }

    /// Returns the serialisation time of `wire_bytes`.
    #[inline]
    pub fn serialisation(&self, wire_bytes: u16) -> Duration {
        self.byte_time.times(u32::from(wire_bytes))
    }

    /// Returns true if the transmitter can start a frame at `now`.
    #[inline]
    pub fn is_idle(&self, now: Time) -> bool {
        self.busy_until <= now
    }

    /// Returns the end of the present transmission, even while the link is down.
    #[inline]
    pub(crate) fn free_at(&self) -> Time {
        if self.busy_until == Time::NEVER { self.failed.unwrap_or(self.busy_until) } else { self.busy_until }
    }

    /// Stops the transmitter: the link failed.
    pub(crate) fn fail(&mut self) {
        self.failed = Some(std::mem::replace(&mut self.busy_until, Time::NEVER));
    }

    /// Restarts the transmitter: the link recovered.
    pub(crate) fn recover(&mut self) {
        self.busy_until = self.failed.take().unwrap_or(self.busy_until);
    }

    /// Returns true if the link is down.
    pub(crate) fn is_down(&self) -> bool {
        self.failed.is_some()
    }

    /// Returns the charged bytes in `queue`.
    #[inline]
    pub fn queue_bytes(&self, queue: QueueIx) -> u64 {
        self.queues.get(queue).map_or(0, |queue| queue.bytes)
    }

    /// Returns the number of frames in `queue`.
    pub fn queue_frames(&self, queue: QueueIx) -> u32 {
        self.queues.get(queue).map_or(0, |queue| queue.count)
    }

    /// Returns true if `queue` holds a frame.
    #[inline]
    pub fn is_occupied(&self, queue: QueueIx) -> bool {
        self.occupied.has(queue.index()) || self.inner.occupied.has(queue.index())
    }

    /// Returns the charged bytes in all queues, without control frames.
    #[inline]
    pub fn queued_bytes(&self) -> u64 {
        self.queued_bytes
    }

    /// Returns the charged bytes in the queues that feed the wire.
    #[inline]
    pub fn backlog(&self) -> u64 {
        self.queued_bytes - self.inner.bytes
    }

    /// Returns the charged bytes sent so far.
    #[inline]
    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Returns the wire bytes sent so far.
    pub fn sent_wire_bytes(&self) -> u64 {
        self.sent_wire_bytes
    }

    /// Returns the wire bytes sent so far for packets that a host relays.
    pub fn relayed_wire_bytes(&self) -> u64 {
        self.relayed_wire_bytes
    }

    /// Counts a relayed packet that leaves a host.
    pub(crate) fn count_relayed(&mut self, frame: &Frame) {
        self.relayed_wire_bytes += u64::from(frame.size.wire);
    }

    /// Returns the queues used so far.
    pub fn queues(&self) -> impl Iterator<Item = QueueIx> + use<> {
        QueueIx::range(0..self.queues.len())
    }

    /// Returns true if the gate of `queue` is closed.
    #[inline]
    pub fn is_closed(&self, queue: QueueIx) -> bool {
        self.closed.has(queue.index())
    }

    /// Returns the number of open, occupied queues that feed the wire, without the queue of the
    /// control class.
    #[inline]
    pub fn active_queues(&self) -> usize {
        self.occupied.count_outside(&self.closed) - usize::from(self.is_ready(CONTROL_QUEUE))
    }

    /// Returns the number of occupied queues.
    pub fn occupied_queues(&self) -> usize {
        self.occupied.iter().count() + self.inner.occupied.iter().count()
    }

    /// Returns the occupied queues with their charged bytes; queues that feed the wire come first.
    pub fn queue_occupancies(&self) -> impl Iterator<Item = (QueueIx, u64)> + '_ {
        let queues = self.occupied.iter().chain(self.inner.occupied.iter()).map(QueueIx::from_index);
        queues.map(|queue| (queue, self.queue_bytes(queue)))
    }

    /// Returns the peak number of occupied added queues.
    pub fn most_filled_queues(&self) -> u16 {
        self.most_filled
    }

    /// Returns the gate of `queue`.
    pub fn gate(&self, queue: QueueIx) -> &Gate {
        self.gates.get(queue.index()).unwrap_or(&OPEN_GATE)
    }

    /// Returns true if any gate opened after `since`. Otherwise no gate held back a packet that
    /// arrived at `since` and leaves now.
    #[inline]
    pub(crate) fn opened_after(&self, since: Time) -> bool {
        self.last_opened > since
    }

    /// Returns the queues with a closed gate, in ascending order.
    pub fn closed_queues(&self) -> impl Iterator<Item = QueueIx> + '_ {
        self.closed.iter().map(QueueIx::from_index)
    }

    /// Returns the traffic classes with a closed gate.
    #[inline]
    pub fn closed_classes(&self) -> ClassMask {
        ClassMask(self.closed.word(0) as u8)
    }

    /// Returns the frames of `queue`, the next one to leave first.
    pub fn frames<'a>(&self, queue: QueueIx, frames: &'a Frames) -> impl Iterator<Item = &'a QueuedPacket> {
        self.queues[queue].frames.iter(frames)
    }

    /// Returns true if the port holds no frame, not even a control frame.
    pub fn is_empty(&self) -> bool {
        self.control.is_empty() && self.queues.iter().all(|queue| queue.frames.is_empty())
    }

    /// Returns the charged bytes of all frames, including control frames.
    pub fn total_bytes(&self, frames: &Frames) -> u64 {
        self.queued_bytes + self.control.iter(frames).map(|queued| u64::from(queued.frame.size.charge)).sum::<u64>()
    }

    /// Returns true if a frame could leave now.
    #[inline(always)]
    pub(crate) fn has_work<S: Sink>(&self) -> bool {
        if S::PLAIN {
            return self.has_control() || self.occupied.word(0) & !self.closed.word(0) != 0;
        }
        self.has_control() || self.can_send() || self.can_advance()
    }

    /// Returns true if a queue that feeds the wire could send.
    #[inline]
    pub(crate) fn can_send(&self) -> bool {
        self.occupied.exceeds(&self.closed)
    }

    /// Returns true if the flow control chooses the queue of a packet.
    #[inline]
    pub(crate) fn are_queues_named(&self) -> bool {
        self.added != Added::None
    }

    /// Returns true if an inner queue could advance a packet.
    #[inline]
    pub(crate) fn can_advance(&self) -> bool {
        self.added == Added::FeedsQueues && self.inner.occupied.exceeds(&self.closed)
    }

    /// Returns true if the next frame to leave has precedence: a link-local frame, or one of the
    /// control class.
    pub(crate) fn has_urgent(&self) -> bool {
        !self.control.is_empty() || self.is_ready(CONTROL_QUEUE)
    }

    /// Returns true if `queue` feeds the wire.
    pub fn feeds_wire(&self, queue: QueueIx) -> bool {
        self.added != Added::FeedsQueues || queue.index() < CLASSES
    }

    /// Adds the frame at `place`, of `bytes`, to `queue`.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, queue: QueueIx, place: Place, bytes: u16, frames: &mut Frames) {
        let (index, bytes) = (queue.index(), u64::from(bytes));
        self.queued_bytes += bytes;
        let queue = if index < CLASSES {
            self.occupied.insert(index);
            &mut self.queues.of_classes[index]
        } else {
            self.join_added(queue, bytes)
        };
        queue.push(place, bytes, frames);
    }

    /// Prepares the added queue `queue` for a frame of `bytes`.
    fn join_added(&mut self, queue: QueueIx, bytes: u64) -> &mut Queue {
        if queue.index() >= self.queues.len() {
            self.queues.grow(queue);
        }
        if self.added == Added::FeedsQueues {
            self.inner.bytes += bytes;
            self.inner.occupied.insert(queue.index());
        } else {
            self.occupied.insert(queue.index());
        }
        let queue = &mut self.queues[queue];
        if queue.frames.is_empty() {
            self.filled += 1;
            self.most_filled = self.most_filled.max(self.filled);
        }
        queue
    }

    /// Enqueues a link-local frame. The frame supersedes parts of waiting link-local frames. Calls
    /// `withdrawn` for each waiting frame that has no content left.
    pub(crate) fn enqueue_control(
        &mut self,
        queued: QueuedPacket,
        frames: &mut Frames,
        mut withdrawn: impl FnMut(Frame),
    ) {
        if let Body::Control(newer) = &queued.frame.body
            && newer.supersedes()
        {
            for _ in 0..self.control.iter(frames).count() {
                let (place, waiting) = self.control.pop(frames);
                let Body::Control(control) = &mut waiting.frame.body else {
                    unreachable!("link-local frames alone wait here")
                };
                if control.remove_superseded(newer) {
                    self.control.push(place, frames);
                } else {
                    withdrawn(frames.take(place).frame)
                }
            }
        }
        let place = frames.put(queued);
        self.control.push(place, frames);
    }

    /// Returns true if a link-local frame waits.
    #[inline(always)]
    pub(crate) fn has_control(&self) -> bool {
        !self.control.is_empty()
    }

    /// Takes the first link-local frame, of those that wait.
    pub(crate) fn next_control<'a>(&mut self, frames: &'a mut Frames) -> (Place, &'a Frame) {
        let (place, packet) = self.control.pop(frames);
        (place, &packet.frame)
    }

    /// Takes the first frame of a queue that feeds the wire.
    #[inline(always)]
    pub(crate) fn take<'a>(&mut self, index: QueueIx, frames: &'a mut Frames) -> (Place, &'a mut QueuedPacket) {
        let queue = &mut self.queues[index];
        let (place, packet) = queue.pop(frames);
        if queue.frames.is_empty() {
            self.occupied.remove(index.index());
            if index.index() >= CLASSES {
                self.filled -= 1;
            }
        }
        self.queued_bytes -= u64::from(packet.frame.size.charge);
        (place, packet)
    }

    /// Returns the record of the next frame in `queue`.
    #[inline]
    pub(crate) fn next_record(&self, queue: QueueIx, frames: &Frames) -> RecordRef {
        self.queues[queue].frames.front(frames).map_or(RecordRef::NONE, |next| next.frame.record)
    }

    /// Takes the first frame of an inner queue.
    fn take_inner<'a>(&mut self, index: QueueIx, frames: &'a mut Frames) -> (Place, &'a mut QueuedPacket) {
        let queue = &mut self.queues[index];
        let (place, packet) = queue.pop(frames);
        let bytes = u64::from(packet.frame.size.charge);
        if queue.frames.is_empty() {
            self.inner.occupied.remove(index.index());
            self.filled -= 1;
        }
        self.queued_bytes -= bytes;
        self.inner.bytes -= bytes;
        (place, packet)
    }

    /// Takes the first frame of any queue.
    pub(crate) fn take_any<'a>(&mut self, index: QueueIx, frames: &'a mut Frames) -> (Place, &'a mut QueuedPacket) {
        if self.feeds_wire(index) { self.take(index, frames) } else { self.take_inner(index, frames) }
    }

    /// Starts a frame of `size` on the wire.
    #[inline]
    pub(crate) fn start(&mut self, size: FrameSize, now: Time) {
        debug_assert!(self.is_idle(now));
        self.sent_bytes += u64::from(size.charge);
        self.sent_wire_bytes += u64::from(size.wire);
        if self.busy_until < now {
            self.burst_start = now;
        }
        self.busy_until = now + self.serialisation(size.wire);
    }

    /// Closes the gate of `queue`. Returns true if the gate was open.
    pub(crate) fn close(&mut self, queue: QueueIx, now: Time, cause: Cause) -> bool {
        let index = queue.index();
        assert!(index < self.most_queues, "port {} has no queue {}", self.ix.0, queue.0);
        self.closed.insert(index);
        self.gates.get_or_default(queue).close(now, cause)
    }

    pub(crate) fn open(&mut self, queue: QueueIx, now: Time) -> Option<Closure> {
        self.closed.remove(queue.index());
        self.last_opened = now;
        self.gates.get_mut(queue.index())?.open(now)
    }
}

#[cfg(test)]
mod tests;
