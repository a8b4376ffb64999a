//! Collectives on a ring: in every step, each rank sends to the next rank and receives from the
//! previous one.

use super::{Division, Numbering, Place, of_others};
use crate::operation::{After, Matching, Operation, OperationIx, Operations, Rank};
use backwater_engine::Duration;

/// Collective that runs on a ring of `n` ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingKind {
    /// Reduce-scatter, then all-gather: 2 (n - 1) steps.
    AllReduce,
    /// Every rank's block travels to all ranks: n - 1 steps.
    AllGather,
    /// Every block is reduced on its way to its rank: n - 1 steps.
    ReduceScatter,
    /// Every rank sends the whole array to the next rank: one step.
    SendReceive,
}

impl RingKind {
    /// Returns the number of steps among `ranks` ranks.
    pub fn steps(self, ranks: u32) -> u32 {
        match self {
            RingKind::AllReduce => 2 * (ranks - 1),
            RingKind::AllGather | RingKind::ReduceScatter => ranks - 1,
            RingKind::SendReceive => 1,
        }
    }

    /// Returns the number of blocks of the array.
    pub fn blocks(self, ranks: u32) -> u32 {
        if self == RingKind::SendReceive { 1 } else { ranks }
    }

    /// Returns the ratio of bus bandwidth to algorithm bandwidth (nccl-tests, PERFORMANCE.md).
    pub fn bus_factor(self, ranks: u32) -> f64 {
        match self {
            RingKind::AllReduce => 2.0 * of_others(ranks),
            RingKind::AllGather | RingKind::ReduceScatter => of_others(ranks),
            RingKind::SendReceive => 1.0,
        }
    }
}

/// Operations of a collective on a ring.
///
/// The messages of a step are independent of each other. A rank sends message `m` of step `k` when
/// message `m` of step `k - 1` has arrived, and after its own message `m` of step `k - 1`. An
/// iteration begins at a rank a given time after the rank's previous iteration ended.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    kind: RingKind,
    ranks: u32,
    division: Division,
    numbering: Numbering,
}

impl Ring {
    /// Creates the operations of `ranks` ranks, at least 2. `division` has as many blocks as
    /// [`RingKind::blocks`] returns.
    pub fn new(kind: RingKind, ranks: u32, division: Division, iterations: u32, gap: Duration) -> Ring {
        let numbering = Numbering { iterations, steps: kind.steps(ranks), messages: division.messages(), gap };
        Ring { kind, ranks, division, numbering }
    }

    /// Returns the block that `rank` sends in `step`.
    fn block(&self, Rank(rank): Rank, step: u32) -> u32 {
        let first = match self.kind {
            RingKind::AllReduce | RingKind::AllGather => rank,
            // The last block that arrives is the rank's own.
            RingKind::ReduceScatter => rank + self.ranks - 1,
            RingKind::SendReceive => return 0,
        };
        (first + 2 * self.ranks - step) % self.ranks
    }
}

impl Operations for Ring {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn count(&self, _rank: Rank) -> u64 {
        self.numbering.count()
    }

    fn get(&self, rank: Rank, operation: OperationIx) -> Operation {
        match self.numbering.place(operation) {
            Place::Begin { iteration } => self.numbering.begin(iteration),
            Place::Send { iteration, step, message } => Operation::Send {
                to: Rank((rank.0 + 1) % self.ranks),
                bytes: self.division.message(self.block(rank, step), message),
                tag: self.numbering.number(Place::Receive { iteration, step, message }).0,
                channel: self.division.channel(message),
            },
            Place::Receive { .. } => {
                Operation::Receive { from: Some(Rank((rank.0 + self.ranks - 1) % self.ranks)), tag: Some(operation.0) }
            }
        }
    }

    fn visit_first(&self, _rank: Rank, visit: &mut dyn FnMut(OperationIx)) {
        visit(OperationIx(0));
    }

    fn prerequisites(&self, _rank: Rank, operation: OperationIx) -> u32 {
        match self.numbering.place(operation) {
            Place::Begin { iteration: 0 } | Place::Receive { .. } => 0,
            Place::Begin { .. } => self.numbering.events(),
            Place::Send { step: 0, .. } => 1,
            Place::Send { .. } => 2,
        }
    }

    fn visit_dependents(&self, _rank: Rank, operation: OperationIx, after: After, visit: &mut dyn FnMut(OperationIx)) {
        let mut visit = |place: Place| visit(self.numbering.number(place));
        match (self.numbering.place(operation), after) {
            (Place::Begin { iteration }, After::End) if iteration < self.numbering.iterations => {
                (0..self.numbering.messages).for_each(|message| visit(Place::Send { iteration, step: 0, message }));
            }
            (Place::Send { iteration, step, message }, After::Start)
            | (Place::Receive { iteration, step, message }, After::End) => {
                if step + 1 < self.numbering.steps {
                    visit(Place::Send { iteration, step: step + 1, message });
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
        0
    }
}
