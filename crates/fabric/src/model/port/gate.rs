//! Gates: while one is closed, nothing leaves the queue behind it.

use crate::frame::cause::{Cause, Closure};
use crate::ids::PortId;
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Time};
use std::collections::VecDeque;

/// A gate that flow control closes and opens: while it is closed, nothing leaves the queue behind it.
#[derive(Debug, Default)]
pub struct Gate {
    closed: Option<(Time, Cause)>,
    past: VecDeque<Past>,
}

/// A closure that is over, and sums that make it unnecessary to go through all before it.
#[derive(Debug)]
struct Past {
    from: Time,
    to: Time,
    root: PortId,
    /// How long the gate had been closed in all when it ended.
    total: Duration,
    /// How many closures in a row, this one included, had its cause.
    run: usize,
}

/// Time behind a closed gate: closures in a row that had the same cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The port whose congestion was the cause.
    pub cause: PortId,
    /// How long in all.
    pub length: Duration,
    /// When the last of it ended.
    pub end: Time,
}

/// The gate of a queue that was never closed.
pub(super) static OPEN_GATE: Gate = Gate { closed: None, past: VecDeque::new() };

impl Gate {
    /// Closures kept for packets still waiting; older ones are forgotten.
    pub(super) const MEMORY: usize = 64;

    /// Bytes that it holds on the heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        self.past.heap_bytes()
    }

    /// Since when it has been closed, and why; `None` if it is open.
    pub fn closed(&self) -> Option<(Time, Cause)> {
        self.closed
    }

    /// The closure that has not ended, as if it did at `now`.
    pub fn closure(&self, now: Time) -> Option<Closure> {
        self.closed.map(|(from, cause)| Closure { from, to: now, cause })
    }

    /// How long a packet that came at `since` and leaves now has waited behind the gate, the latest cause first.
    pub fn waits(&self, since: Time) -> impl Iterator<Item = Wait> + '_ {
        let first = self.first_after(since);
        let mut end = self.past.len();
        std::iter::from_fn(move || {
            let last = self.past.range(first..end).next_back()?;
            let start = first.max(end.saturating_sub(last.run));
            let Past { from, to, total, .. } = &self.past[start];
            let until_then = *total - (*to - (*from).max(since));
            end = start;
            Some(Wait { cause: last.root, length: last.total - until_then, end: last.to })
        })
    }

    /// The place of the first closure that ended after `since`: mostly one of the last few.
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
        self.past.push_back(Past { from, to: now, root: cause.root, total, run });
        Some(Closure { from, to: now, cause })
    }
}
