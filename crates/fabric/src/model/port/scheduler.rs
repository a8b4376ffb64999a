//! The scheduler of a port: whose turn it is among its open, non-empty queues.

use super::queues::Queue;
use super::{CONTROL_QUEUE, Port};
use crate::ids::QueueIx;
use crate::model::fifo::Frames;
use crate::network::spec::SchedulerConfig;

/// How the port chooses among its open, non-empty queues; the control class goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheduler {
    RoundRobin,
    LowestFirst,
    Dwrr,
}

impl Scheduler {
    /// The scheduler that `config` says, and what a queue gains whenever it is passed.
    pub(super) fn new(config: SchedulerConfig) -> (Scheduler, u64) {
        match config {
            SchedulerConfig::RoundRobin {} => (Scheduler::RoundRobin, 0),
            SchedulerConfig::LowestFirst {} => (Scheduler::LowestFirst, 0),
            SchedulerConfig::Dwrr { quantum } => (Scheduler::Dwrr, quantum.get()),
        }
    }
}

impl Port {
    /// The queue whose turn it is; the caller must take its first frame.
    #[inline]
    pub(crate) fn next_queue(&mut self, frames: &Frames) -> Option<QueueIx> {
        if self.is_ready(CONTROL_QUEUE) {
            return Some(CONTROL_QUEUE);
        }
        match self.scheduler {
            Scheduler::RoundRobin => {
                self.cursor = self.next_ready()?;
                Some(self.cursor)
            }
            // The search begins behind the cursor, which stays at the control class.
            Scheduler::LowestFirst => self.next_ready(),
            Scheduler::Dwrr => self.deficit_round(frames),
        }
    }

    /// Whether `queue` holds a frame that may leave.
    pub(super) fn is_ready(&self, queue: QueueIx) -> bool {
        self.occupied.has(queue.into()) && !self.closed.has(queue.into())
    }

    /// The next queue in turn that holds a frame which may leave.
    #[inline]
    pub(super) fn next_ready(&self) -> Option<QueueIx> {
        self.occupied.next_outside(&self.closed, self.cursor.into()).map(|queue| queue as QueueIx)
    }

    /// Deficit weighted round robin: the queue whose turn it is goes on while its deficit lasts; a queue that is passed gains a quantum.
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

    /// How many queues could hand a packet on.
    pub(crate) fn count_inner(&self) -> usize {
        self.inner.occupied.count_outside(&self.closed)
    }

    /// The first queue that holds packets for others.
    pub(crate) fn first_inner(&self) -> Option<QueueIx> {
        self.inner.occupied.next_from(0).map(|queue| queue as QueueIx)
    }

    /// The queue whose turn it is to hand a packet on.
    pub(crate) fn next_inner(&mut self) -> Option<QueueIx> {
        self.inner.cursor = self.inner.occupied.next_outside(&self.closed, self.inner.cursor.into())? as QueueIx;
        Some(self.inner.cursor)
    }
}
