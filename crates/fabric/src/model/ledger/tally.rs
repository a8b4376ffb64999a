//! Sums of spans.

use super::Sums;
use crate::frame::journey::Step;
use backwater_engine::Duration;
use backwater_engine::memory::HeapBytes;
use std::collections::BTreeMap;

/// Adds up steps by port, reason and root. The packets of a flow have similar steps in the same
/// order, so the step after a step is mostly the one that came next before.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    sums: Vec<Sum>,
    /// Positions in `sums`.
    places: BTreeMap<Step, u32>,
}

#[derive(Clone, Debug)]
struct Sum {
    /// Step without a length.
    of: Step,
    /// Position of the sum to which the next step was added the last time.
    next: u32,
    length: Duration,
}

impl Tally {
    pub(super) fn add(&mut self, steps: &[Step]) {
        let mut last = 0;
        for step in steps {
            let guess = self.sums.get(last).map_or(0, |sum| sum.next);
            let of = step.without_length();
            let place = match self.sums.get(guess as usize) {
                Some(sum) if sum.of == of => guess,
                _ => self.place(of),
            };
            self.sums[last].next = place;
            last = place as usize;
            self.sums[last].length += step.length();
        }
    }

    #[inline(never)]
    fn place(&mut self, of: Step) -> u32 {
        *self.places.entry(of).or_insert_with(|| {
            self.sums.push(Sum { of, next: 0, length: Duration::ZERO });
            self.sums.len() as u32 - 1
        })
    }

    pub(super) fn sums(&self) -> Sums {
        let sums = self.sums.iter().map(|sum| {
            let span = sum.of.span();
            ((span.port, span.term, span.root), sum.length)
        });
        sums.collect()
    }

    pub(super) fn heap_bytes(&self) -> u64 {
        self.sums.heap_bytes() + (self.places.len() * size_of::<(Step, u32)>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::journey::{Journey, Term};
    use crate::ids::PortId;
    use backwater_engine::Time;

    /// Steps are added to their own sums, whatever came next before.
    #[test]
    fn sums_do_not_depend_on_the_order_of_steps() {
        let mut tally = Tally::default();
        let ports: [&[u32]; 5] = [&[1, 2, 3], &[1, 3, 2, 2], &[3], &[1, 2, 4, 3], &[]];
        for (length, ports) in (1..).zip(ports) {
            let mut journey = Journey::new(Time::ZERO);
            for port in ports {
                journey.add(PortId(*port), Term::Serialisation, None, Duration::from_ps(length));
                journey.add(PortId(*port), Term::Paused, Some(PortId(9)), Duration::from_ps(10 * length));
            }
            tally.add(journey.steps_on_way());
        }
        let sums =
            [(1, 1 + 2 + 4), (2, 1 + 2 + 2 + 4), (3, 1 + 2 + 3 + 4), (4, 4)].into_iter().flat_map(|(port, sum)| {
                let of = |term, root, length| ((PortId(port), term, root), Duration::from_ps(length));
                [of(Term::Serialisation, None, sum), of(Term::Paused, Some(PortId(9)), 10 * sum)]
            });
        assert_eq!(tally.sums(), sums.collect());
    }
}
