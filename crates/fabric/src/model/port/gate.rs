//! Gates: no packet leaves a queue whose gate is closed.

use crate::frame::cause::{Cause, Closure};
use crate::ids::PortId;
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Time};
use std::collections::VecDeque;

/// Gate of a queue. Flow control closes and opens it.
#[derive(Debug, Default)]
pub struct Gate {
    closed: Option<(Time, Cause)>,
    past: VecDeque<PastClosure>,
}

/// Closure that is over, with sums that make a walk over all earlier closures unnecessary.
#[derive(Debug)]
struct PastClosure {
    from: Time,
    to: Time,
    root: PortId,
    /// Total closed time of the gate when this closure ended.
    total: Duration,
    /// Number of consecutive closures with this root, up to this one.
    run: usize,
}

/// Waiting time behind a closed gate: consecutive closures with the same cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Port whose congestion was the cause.
    pub cause: PortId,
    /// Total time.
    pub length: Duration,
    /// End of the last closure.
    pub end: Time,
}

/// Gate of a queue that was never closed.
pub(super) static OPEN_GATE: Gate = Gate { closed: None, past: VecDeque::new() };

impl Gate {
    /// Maximum number of past closures kept for waiting packets; older closures are forgotten.
    pub(super) const MEMORY: usize = 64;

    /// Returns the bytes on the heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        self.past.heap_bytes()
    }

    /// Returns the time of closure and the cause of a closed gate; `None` if the gate is open.
    pub fn closed(&self) -> Option<(Time, Cause)> {
        self.closed
    }

    /// Returns the present closure as if it ended at `now`.
    pub fn closure(&self, now: Time) -> Option<Closure> {
        self.closed.map(|(from, cause)| Closure { from, to: now, cause })
    }

    /// Returns the times for which the gate held back a packet that arrived at `since` and leaves
    /// now, the latest cause first.
    pub fn waits(&self, since: Time) -> impl Iterator<Item = Wait> + '_ {
        let first = self.first_after(since);
        let mut end = self.past.len();
        std::iter::from_fn(move || {
            let last = self.past.range(first..end).next_back()?;
            let start = first.max(end.saturating_sub(last.run));
            let PastClosure { from, to, total, .. } = &self.past[start];
            let until_then = *total - (*to - (*from).max(since));
            end = start;
            Some(Wait { cause: last.root, length: last.total - until_then, end: last.to })
        })
    }

    /// Returns the index of the first closure that ended after `since`. This closure is usually
    /// among the last few.
    fn first_after(&self, since: Time) -> usize {
        let (mut start, mut end, mut step) = (self.past.len(), self.past.len(), 1);
        while start > 0 && self.past[start - 1].to > since {
            (end, start) = (start - 1, start.saturating_sub(step));
            step *= 2;
        }
        while start < end {
            let middle = start.midpoint(end);
            if self.past[middle].to > since { end = middle } else { start = middle + 1 }
        }
        start
    }

    pub(super) fn close(&mut self, now: Time, cause: Cause) -> bool {
        let was_open = self.closed.is_none();
        self.closed.get_or_insert((now, cause));
        was_open
    }

    pub(super) fn open(&mut self, now: Time) -> Option<Closure> {
        let (from, cause) = self.closed.take()?;
        let last = self.past.back();
        let total = last.map_or(Duration::ZERO, |last| last.total) + (now - from);
        let run = last.filter(|last| last.root == cause.root).map_or(0, |last| last.run) + 1;
        if self.past.len() == Self::MEMORY {
            self.past.pop_front();
        }
        self.past.push_back(PastClosure { from, to: now, root: cause.root, total, run });
        Some(Closure { from, to: now, cause })
    }
}
