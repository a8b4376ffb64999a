//! Clocks that attribute waiting time to reasons.

use crate::frame::cause::Cause;
use crate::frame::journey::{Journey, Term, TermTotals, Waiting};
use crate::ids::{Class, PortId};
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Time};
use std::collections::VecDeque;

/// Reason for waiting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reason {
    pub(super) waiting: Waiting,
    /// Port whose congestion closed the gate, for [`Term::Paused`].
    pub(super) root: Option<PortId>,
    /// End of the reason unless the port changes first; [`Time::NEVER`] if it has no end by itself.
    pub(super) until: Time,
}

impl Reason {
    /// Returns a reason that ends at `until`.
    pub(super) fn until(until: Time, waiting: Waiting) -> Reason {
        Reason { waiting, root: None, until }
    }

    /// Returns a reason without an end.
    pub(super) fn lasting(term: Term) -> Reason {
        Reason::until(Time::NEVER, Waiting::For(term))
    }

    /// Returns the reason of a closed gate.
    pub(super) fn closed(cause: Cause) -> Reason {
        if cause.for_order {
            Reason::lasting(Term::Order)
        } else {
            Reason { root: Some(cause.root), ..Reason::lasting(Term::Paused) }
        }
    }
}

/// Adds up waiting time by reason.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// Time up to which waiting is added up.
    since: Time,
    totals: TermTotals,
    /// Congestion roots of past closures of the gate, the latest last. Only the last
    /// [`Clock::MEMORY`] roots are kept.
    roots: VecDeque<Root>,
    /// Paused time before the first of `roots`.
    forgotten: Duration,
}

/// Consecutive closures with the same root.
#[derive(Clone, Copy, Debug)]
struct Root {
    port: PortId,
    /// Total of [`Term::Paused`] at the end of the last of these closures.
    total: Duration,
}

impl HeapBytes for Clock {
    fn heap_bytes(&self) -> u64 {
        self.roots.heap_bytes()
    }
}

impl Clock {
    /// Number of roots that are kept.
    pub(super) const MEMORY: usize = 64;

    /// Returns a clock that starts at `now`.
    pub(super) fn new(now: Time) -> Clock {
        Clock { since: now, ..Clock::default() }
    }

    pub(super) fn totals(&self) -> TermTotals {
        self.totals
    }

    /// Continues at `now`, after a time without waiting.
    pub(super) fn restart(&mut self, now: Time) {
        self.since = now;
    }

    /// Advances to `now`. `reason` returns the reason for waiting at a given time.
    pub(super) fn advance(&mut self, now: Time, reason: impl Fn(Time) -> Reason) {
        while self.since < now {
            let Reason { waiting, root, until } = reason(self.since);
            let end = until.min(now);
            self.totals.add(waiting, end - self.since);
            if let Some(port) = root {
                let total = self.totals.paused();
                match self.roots.back_mut() {
                    Some(last) if last.port == port => last.total = total,
                    _ => self.roots.push_back(Root { port, total }),
                }
                if self.roots.len() > Self::MEMORY {
                    self.forgotten = self.roots.pop_front().map_or(Duration::ZERO, |root| root.total);
                }
            }
            self.since = end;
        }
    }

    /// Adds to `journey` the waiting time of a packet of `class` at `port` since the clock's totals
    /// were `mark`.
    pub(super) fn add_to(&self, mark: &TermTotals, class: Class, port: PortId, journey: &mut Journey) {
        let (before, now) = (mark.of(class), self.totals.of(class));
        for (term, (before, now)) in Term::ALL.into_iter().zip(before.into_iter().zip(now)) {
            if term == Term::Paused {
                self.add_roots_to(before, port, journey);
            } else if now > before {
                journey.add(port, term, None, now - before);
            }
        }
    }

    /// Adds the paused time since `mark`, root by root. Time of forgotten roots comes first,
    /// without a root.
    fn add_roots_to(&self, mark: Duration, port: PortId, journey: &mut Journey) {
        let mut from = mark;
        if self.forgotten > from {
            journey.add(port, Term::Paused, None, self.forgotten - from);
            from = self.forgotten;
        }
        for root in &self.roots {
            if root.total > from {
                journey.add(port, Term::Paused, Some(root.port), root.total - from);
                from = root.total;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(clock: &Clock, mark: TermTotals) -> Vec<(Term, Option<u32>, u64)> {
        let mut journey = Journey::new(Time::ZERO);
        clock.add_to(&mark, Class(3), PortId(0), &mut journey);
        journey.spans.iter().map(|span| (span.term, span.root.map(|root| root.0), span.length.ps())).collect()
    }

    fn paused(root: u32) -> impl Fn(Time) -> Reason {
        move |_| Reason::closed(PortId(root).into())
    }

    #[test]
    fn a_clock_asks_for_the_next_reason_when_one_ends() {
        let mut clock = Clock::new(Time::from_ps(10));
        clock.advance(Time::from_ps(100), |at| match at.ps() {
            ..30 => Reason::until(Time::from_ps(30), Waiting::For(Term::OwnQueue)),
            30..75 => Reason::until(Time::from_ps(75), Waiting::Others(Class(3))),
            75..80 => Reason::until(Time::from_ps(80), Waiting::Others(Class(4))),
            80..82 => Reason::until(Time::from_ps(82), Waiting::Others(Class::CONTROL)),
            _ => Reason::lasting(Term::LinkDown),
        });
        let expected = [
            (Term::LinkDown, None, 18),
            (Term::OwnQueue, None, 20),
            (Term::OtherQueue, None, 45),
            (Term::OtherClass, None, 5),
            (Term::ControlClass, None, 2),
        ];
        assert_eq!(spans(&clock, TermTotals::default()), expected);
        clock.restart(Time::from_ps(200));
        clock.advance(Time::from_ps(201), paused(7));
        assert_eq!(spans(&clock, TermTotals::default())[2], (Term::Paused, Some(7), 1));
    }

    /// The time per root covers exactly the time since the mark, wherever the mark falls.
    #[test]
    fn time_after_a_mark_is_split_by_root() {
        let mut clock = Clock::new(Time::ZERO);
        let mut marks = vec![clock.totals()];
        for (end, root) in [(10, 1), (30, 2), (35, 2), (75, 1)] {
            clock.advance(Time::from_ps(end), paused(root));
            marks.push(clock.totals());
        }
        let roots =
            |mark: usize| spans(&clock, marks[mark]).into_iter().map(|(_, root, length)| (root.unwrap(), length));
        assert_eq!(roots(0).collect::<Vec<_>>(), [(1, 10), (2, 25), (1, 40)]);
        assert_eq!(roots(2).collect::<Vec<_>>(), [(2, 5), (1, 40)]);
        assert_eq!(roots(4).count(), 0);
    }

    /// After 3 x MEMORY closures of 2 ps, each with another root, the total is exact although the
    /// first roots are forgotten.
    #[test]
    fn forgotten_roots_keep_their_total() {
        let mut clock = Clock::new(Time::ZERO);
        let (count, memory) = (3 * Clock::MEMORY as u64, Clock::MEMORY as u64);
        for root in 0..count {
            clock.advance(Time::from_ps(2 * root + 2), paused(root as u32));
        }
        let spans = spans(&clock, TermTotals::default());
        assert_eq!(spans.len(), Clock::MEMORY + 1);
        assert_eq!(spans[0], (Term::Paused, None, 2 * (count - memory)));
        assert_eq!(spans[1], (Term::Paused, Some((count - memory) as u32), 2));
    }
}
