//! Congestion roots of the closures of a gate.

use crate::frame::journey::{Journey, Term};
use crate::ids::PortId;
use backwater_engine::Duration;
use backwater_engine::memory::HeapBytes;
use std::collections::VecDeque;

/// Congestion roots of past closures, the latest last. Only the last [`Roots::MEMORY`] roots are
/// kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Roots {
    last: VecDeque<Root>,
    /// Paused time before the first of `last`.
    forgotten: Duration,
}

/// Consecutive closures with the same root.
#[derive(Clone, Copy, Debug)]
struct Root {
    port: PortId,
    /// Total paused time at the end of the last of these closures.
    total: Duration,
}

impl HeapBytes for Roots {
    fn heap_bytes(&self) -> u64 {
        self.last.heap_bytes()
    }
}

impl Roots {
    /// Number of roots that are kept.
    pub(super) const MEMORY: usize = 64;

    /// Adds a closure because of `port`, at whose end the total paused time is `total`.
    pub(super) fn add(&mut self, port: PortId, total: Duration) {
        match self.last.back_mut() {
            Some(last) if last.port == port => last.total = total,
            _ => {
                if self.last.len() == Self::MEMORY {
                    self.forgotten = self.last.pop_front().map_or(Duration::ZERO, |root| root.total);
                }
                self.last.push_back(Root { port, total });
            }
        }
    }

    /// Adds to `journey` the paused time at `port` since the total was `mark`, root by root. Time
    /// of forgotten roots comes first, without a root.
    pub(super) fn add_to(&self, mark: Duration, port: PortId, journey: &mut Journey) {
        let mut from = mark;
        if self.forgotten > from {
            journey.add(port, Term::Paused, None, self.forgotten - from);
            from = self.forgotten;
        }
        let first = self.last.partition_point(|root| root.total <= from);
        for root in self.last.range(first..) {
            journey.add(port, Term::Paused, Some(root.port), root.total - from);
            from = root.total;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_engine::Time;

    fn spans(roots: &Roots, mark: u64) -> Vec<(Option<u32>, u64)> {
        let mut journey = Journey::new(Time::ZERO);
        roots.add_to(Duration::from_ps(mark), PortId(0), &mut journey);
        journey.spans().map(|span| (span.root.map(|root| root.0), span.length.ps())).collect()
    }

    /// The time per root covers exactly the time since the mark, wherever the mark falls.
    #[test]
    fn time_after_a_mark_is_split_by_root() {
        let mut roots = Roots::default();
        for (total, root) in [(10, 1), (30, 2), (35, 2), (75, 1)] {
            roots.add(PortId(root), Duration::from_ps(total));
        }
        assert_eq!(spans(&roots, 0), [(Some(1), 10), (Some(2), 25), (Some(1), 40)]);
        assert_eq!(spans(&roots, 30), [(Some(2), 5), (Some(1), 40)]);
        assert_eq!(spans(&roots, 75), []);
    }

    /// After 3 x MEMORY closures of 2 ps, each with another root, the total is exact although the
    /// first roots are forgotten.
    #[test]
    fn forgotten_roots_keep_their_total() {
        let mut roots = Roots::default();
        let (count, memory) = (3 * Roots::MEMORY as u64, Roots::MEMORY as u64);
        for root in 0..count {
            roots.add(PortId(root as u32), Duration::from_ps(2 * root + 2));
        }
        let spans = spans(&roots, 0);
        assert_eq!(spans.len(), Roots::MEMORY + 1);
        assert_eq!(spans[0], (None, 2 * (count - memory)));
        assert_eq!(spans[1], (Some((count - memory) as u32), 2));
    }
}
