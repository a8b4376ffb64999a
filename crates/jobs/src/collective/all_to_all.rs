//! All-to-all: every rank sends one block to every other rank.

use super::{Division, Numbering, Place, of_others};
use crate::operation::{After, Matching, Operation, OperationIx, Operations, Rank};
use backwater_engine::Duration;

/// Order in which a rank exchanges blocks with its peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerOrder {
    /// In step `k`, a rank sends to the rank `k + 1` places after it.
    Rotation,
    /// The distances of the steps are 1, 3, 6, 10, 15 and so on, modulo the next power of two,
    /// without those that are at least `n` (`ncclP2pSchedule` of NCCL 2.30.7, for one rank per
    /// node).
    Nccl,
}

/// Operations of an all-to-all.
///
/// In each step, a rank sends its block for one peer, and receives its own block from another peer.
/// A rank begins step `k` when its step `k - window` is complete: all messages that it sent in the
/// step are acknowledged, and all messages for it have arrived.
#[derive(Clone, Debug)]
pub struct AllToAll {
    ranks: u32,
    /// Distance to the receiver in each step.
    distances: Vec<u32>,
    /// Number of steps that can be under way at once.
    window: u32,
    division: Division,
    numbering: Numbering,
}

impl AllToAll {
    /// Creates the operations of `ranks` ranks, at least 2. `division` has as many blocks as there
    /// are ranks; `window` is at least 1.
    pub fn new(
        ranks: u32,
        order: PeerOrder,
        window: u32,
        division: Division,
        iterations: u32,
        gap: Duration,
    ) -> AllToAll {
        let distances: Vec<u32> = match order {
            PeerOrder::Rotation => (1..ranks).collect(),
            PeerOrder::Nccl => {
                let (mut distance, mask) = (0, ranks.next_power_of_two() - 1);
                let next = |step: u32| {
                    distance = (distance + step) & mask;
                    distance
                };
                (1..=mask).map(next).filter(|distance| *distance < ranks).collect()
            }
        };
        let numbering = Numbering { iterations, steps: ranks - 1, messages: division.messages(), gap };
        AllToAll { ranks, distances, window, division, numbering }
    }

    /// Returns the ratio of bus bandwidth to algorithm bandwidth (nccl-tests, PERFORMANCE.md).
    pub fn bus_factor(ranks: u32) -> f64 {
        of_others(ranks)
    }
}

impl Operations for AllToAll {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn count(&self, _rank: Rank) -> u64 {
        self.numbering.count()
    }

    fn get(&self, rank: Rank, operation: OperationIx) -> Operation {
        match self.numbering.place(operation) {
            Place::Begin { iteration } => self.numbering.begin(iteration),
            Place::Send { iteration, step, message } => {
                let to = (rank.0 + self.distances[step as usize]) % self.ranks;
                Operation::Send {
                    to: Rank(to),
                    bytes: self.division.message(to, message),
                    tag: self.numbering.number(Place::Receive { iteration, step, message }).0,
                    channel: self.division.channel(message),
                }
            }
            Place::Receive { step, .. } => Operation::Receive {
                from: Some(Rank((rank.0 + self.ranks - self.distances[step as usize]) % self.ranks)),
                tag: Some(operation.0),
            },
        }
    }

    fn visit_first(&self, _rank: Rank, visit: &mut dyn FnMut(OperationIx)) {
        visit(OperationIx(0));
    }

    fn prerequisites(&self, _rank: Rank, operation: OperationIx) -> u32 {
        match self.numbering.place(operation) {
            Place::Begin { iteration: 0 } | Place::Receive { .. } => 0,
            Place::Begin { .. } => self.numbering.events(),
            // Messages of the first steps are posted one after the other. The first message of a
            // later step waits for all messages of the step `window` steps before.
            Place::Send { step, message: 0, .. } if step >= self.window => 2 * self.numbering.messages,
            Place::Send { .. } => 1,
        }
    }

    fn visit_dependents(&self, _rank: Rank, operation: OperationIx, after: After, visit: &mut dyn FnMut(OperationIx)) {
        let Numbering { iterations, steps, messages, .. } = self.numbering;
        let mut visit = |place: Place| visit(self.numbering.number(place));
        let place = self.numbering.place(operation);
        match (place, after) {
            (Place::Begin { iteration }, After::End) if iteration < iterations => {
                visit(Place::Send { iteration, step: 0, message: 0 });
            }
            (Place::Send { iteration, step, .. } | Place::Receive { iteration, step, .. }, After::End) => {
                if let Some(step) = step.checked_add(self.window).filter(|next| *next < steps) {
                    visit(Place::Send { iteration, step, message: 0 });
                }
                if matches!(place, Place::Receive { .. }) {
                    visit(Place::Begin { iteration: iteration + 1 });
                }
            }
            (Place::Send { iteration, step, message }, After::Start) => {
                if message + 1 < messages {
                    visit(Place::Send { iteration, step, message: message + 1 });
                } else if step + 1 < self.window.min(steps) {
                    visit(Place::Send { iteration, step: step + 1, message: 0 });
                }
                visit(Place::Begin { iteration: iteration + 1 });
            }
            _ => {}
        }
    }

    fn matching(&self) -> Matching {
        Matching::Operation
    }

    fn iterations(&self) -> Option<u32> {
        Some(self.numbering.iterations)
    }

    fn begins(&self, _rank: Rank, operation: OperationIx) -> Option<u32> {
        self.numbering.begins(operation)
    }

    fn heap_bytes(&self) -> u64 {
        (self.distances.capacity() * size_of::<u32>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With 8 ranks: 1, 1 + 2 = 3, 6, 10 - 8 = 2, 15 - 8 = 7, 21 - 16 = 5, 28 - 24 = 4.
    #[test]
    fn the_order_of_nccl_visits_every_peer_once() {
        let distances = |ranks: u32| {
            let division = Division::new(u64::from(ranks), ranks, 1, 64).unwrap_or_else(|least| panic!("{least}"));
            AllToAll::new(ranks, PeerOrder::Nccl, 1, division, 1, Duration::ZERO).distances
        };
        assert_eq!(distances(8), [1, 3, 6, 2, 7, 5, 4]);
        // Distances 6 and 7 are left out.
        assert_eq!(distances(6), [1, 3, 2, 5, 4]);
        for ranks in 2..70 {
            let mut sorted = distances(ranks);
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(1..ranks), "{ranks}");
        }
    }
}
