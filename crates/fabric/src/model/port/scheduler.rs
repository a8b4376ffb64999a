//! Scheduler of a port: chooses among its open, non-empty queues.

use super::queues::Queue;
use super::{CONTROL_QUEUE, Port};
use crate::ids::QueueIx;
use crate::model::fifo::Frames;
use crate::model::sink::Sink;
use crate::network::spec::SchedulerConfig;
use backwater_engine::Time;
use backwater_engine::index::Id;

/// Scheduling discipline. The control class has precedence in every discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheduler {
    RoundRobin,
    LowestFirst,
    Dwrr,
}

impl Scheduler {
    /// Returns the scheduler of `config`, and the quantum of a queue per turn.
    pub(super) fn new(config: SchedulerConfig) -> (Scheduler, u64) {
        match config {
            SchedulerConfig::RoundRobin {} => (Scheduler::RoundRobin, 0),
            SchedulerConfig::LowestFirst {} => (Scheduler::LowestFirst, 0),
            SchedulerConfig::Dwrr { quantum } => (Scheduler::Dwrr, quantum.get()),
        }
    }
}

impl Port {
    /// Chooses the queue that sends next. The caller must take the first frame of this queue.
    #[inline(always)]
    pub(crate) fn next_queue(&mut self, frames: &Frames) -> Option<QueueIx> {
        if self.is_ready(CONTROL_QUEUE) {
            return Some(CONTROL_QUEUE);
        }
        match self.scheduler {
            Scheduler::RoundRobin => {
                self.cursor = self.next_ready()?;
                Some(self.cursor)
            }
            // The search begins after the cursor, which stays at the control class.
            Scheduler::LowestFirst => self.next_ready(),
            Scheduler::Dwrr => self.deficit_round(frames),
        }
    }

    /// Returns true if `queue` holds a frame and its gate is open.
    pub(super) fn is_ready(&self, queue: QueueIx) -> bool {
        self.occupied.has(queue.index()) && !self.closed.has(queue.index())
    }

    /// Returns true if a frame that joined `queue` now would leave at once. Deficits require that
    /// frames are queued.
    #[inline(always)]
    pub(crate) fn is_free_for<S: Sink>(&self, queue: QueueIx, now: Time) -> bool {
        self.is_idle(now)
            && !self.has_work::<S>()
            && !self.is_closed(queue)
            && !matches!(self.scheduler, Scheduler::Dwrr)
    }

    /// Gives `queue` a turn for a frame that leaves without being queued.
    #[inline(always)]
    pub(crate) fn pass(&mut self, queue: QueueIx) {
        if queue != CONTROL_QUEUE && matches!(self.scheduler, Scheduler::RoundRobin) {
            self.cursor = queue;
        }
    }

    /// Returns the next open, non-empty queue after the cursor.
    #[inline]
    pub(super) fn next_ready(&self) -> Option<QueueIx> {
        self.occupied.next_outside(&self.closed, self.cursor.index()).map(QueueIx::from_index)
    }

    /// Deficit weighted round robin: a queue sends while its deficit lasts, and gains a quantum
    /// when its turn begins.
    fn deficit_round(&mut self, frames: &Frames) -> Option<QueueIx> {
        let head = |queue: &Queue| queue.frames.front(frames).map_or(0, |queued| u64::from(queued.frame.size.charge));
        let mut candidate = if self.is_ready(self.cursor) { self.cursor } else { self.pass_turn()? };
        while self.queues[candidate].deficit < head(&self.queues[candidate]) {
            candidate = self.pass_turn()?;
        }
        let queue = &mut self.queues[candidate];
        queue.deficit -= head(queue);
        if queue.frames.is_single() {
            queue.deficit = 0;
        }
        Some(candidate)
    }

    fn pass_turn(&mut self) -> Option<QueueIx> {
        let next = self.next_ready()?;
        self.cursor = next;
        self.queues[next].deficit += self.quantum;
        Some(next)
    }

    /// Returns the number of inner queues that can advance a packet.
    pub(crate) fn count_inner(&self) -> usize {
        self.inner.occupied.count_outside(&self.closed)
    }

    /// Returns the first occupied inner queue.
    pub(crate) fn first_inner(&self) -> Option<QueueIx> {
        self.inner.occupied.next_from(0).map(QueueIx::from_index)
    }

    /// Chooses the inner queue that advances a packet next.
    pub(crate) fn next_inner(&mut self) -> Option<QueueIx> {
        let next = self.inner.occupied.next_outside(&self.closed, self.inner.cursor.index())?;
        self.inner.cursor = QueueIx::from_index(next);
        Some(self.inner.cursor)
    }
}
