//! Sums of spans.

use super::Sums;
use crate::frame::journey::{Step, Term};
use crate::ids::PortId;
use backwater_engine::Duration;
use backwater_engine::memory::HeapBytes;
use std::collections::BTreeMap;

/// Adds up steps by port, reason and root. The packets of a flow mostly pass the same ports in the
/// same order, so the port after a port is mostly the one that came next before.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    ports: Vec<PortTally>,
    /// Positions in `ports`.
    places: BTreeMap<PortId, u32>,
}

#[derive(Clone, Debug)]
struct PortTally {
    port: PortId,
    /// Position of the port to which the following steps were added the last time.
    next: u32,
    propagation: Duration,
    /// Other time, sorted by reason and root. There may be hundreds of roots.
    sums: Vec<(Term, Option<PortId>, Duration)>,
}

impl Tally {
    pub(super) fn add(&mut self, steps: &[Step]) {
        let mut last = 0;
        for steps in steps.chunk_by(|one, other| one.port == other.port) {
            let port = steps[0].port;
            let guess = self.ports.get(last).map_or(0, |last| last.next);
            let place = match self.ports.get(guess as usize) {
                Some(tally) if tally.port == port => guess,
                _ => self.place(port),
            };
            self.ports[last].next = place;
            last = place as usize;
            self.ports[last].add(steps);
        }
    }

    #[inline(never)]
    fn place(&mut self, port: PortId) -> u32 {
        *self.places.entry(port).or_insert_with(|| {
            self.ports.push(PortTally { port, next: 0, propagation: Duration::ZERO, sums: Vec::new() });
            self.ports.len() as u32 - 1
        })
    }

    pub(super) fn sums(&self) -> Sums {
        let mut sums = Sums::new();
        for PortTally { port, propagation, sums: others, .. } in &self.ports {
            sums.extend(others.iter().map(|(term, root, length)| ((*port, *term, *root), *length)));
            if *propagation > Duration::ZERO {
                *sums.entry((*port, Term::Propagation, None)).or_default() += *propagation;
            }
        }
        sums
    }

    pub(super) fn heap_bytes(&self) -> u64 {
        let sums = self.ports.iter().map(|port| port.sums.heap_bytes()).sum::<u64>();
        self.ports.heap_bytes() + sums + (self.places.len() * size_of::<(PortId, u32)>()) as u64
    }
}

impl PortTally {
    fn add(&mut self, steps: &[Step]) {
        for step in steps {
            let (term, root, length) = (step.term(), step.root(), step.length());
            match self.sums.binary_search_by_key(&(term, root), |(term, root, _)| (*term, *root)) {
                Ok(place) => self.sums[place].2 += length,
                Err(place) => self.sums.insert(place, (term, root, length)),
            }
            self.propagation += step.propagation();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::journey::Journey;
    use backwater_engine::Time;

    /// Steps are added to their own sums, whatever came next before.
    #[test]
    fn sums_do_not_depend_on_the_order_of_steps() {
        let mut tally = Tally::default();
        let ports: [&[u32]; 5] = [&[1, 2, 3], &[1, 3, 2, 2], &[3], &[1, 2, 4, 3], &[]];
        for (length, ports) in (1..).zip(ports) {
            let mut journey = Journey::new(Time::ZERO);
            for port in ports {
                journey.transmit(PortId(*port), Duration::from_ps(length), Duration::from_ps(length % 3));
                journey.add(PortId(*port), Term::Paused, Some(PortId(9)), Duration::from_ps(10 * length));
            }
            tally.add(journey.steps_on_way());
        }
        let expected =
            [(1, 1 + 2 + 4, 1 + 2 + 1), (2, 1 + 2 + 2 + 4, 1 + 2 + 2 + 1), (3, 1 + 2 + 3 + 4, 1 + 2 + 1), (4, 4, 1)];
        let expected = expected.into_iter().flat_map(|(port, sum, propagation)| {
            let of = |term, root, length| ((PortId(port), term, root), Duration::from_ps(length));
            let paused = of(Term::Paused, Some(PortId(9)), 10 * sum);
            [of(Term::Serialisation, None, sum), of(Term::Propagation, None, propagation), paused]
        });
        assert_eq!(tally.sums(), expected.collect());
    }
}
