//! Checks of listed operations before a run.

use crate::graph::Graph;
use crate::operation::{After, Operation, OperationIx, Operations, Rank};
use backwater_engine::interrupt;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, VecDeque};

/// Error of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsound {
    /// Rank of the operation.
    pub rank: Rank,
    /// The operation.
    pub operation: OperationIx,
    /// Reason.
    pub message: String,
}

/// Sender, receiver and tag of a message.
type Envelope = (Rank, Rank, u64);

/// Progress of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    Waiting,
    Started,
    Ended,
}

/// Returns the errors of operations: receives that are too small for their messages, or that can
/// never end. Graphs are not checked for the latter if the order of arrivals decides which message
/// a receive takes: with receives from any rank or with any tag, and if two receives with the same
/// sender and tag wait at once.
pub fn check(graph: &Graph) -> Vec<Unsound> {
    let sizes = small_receives(graph);
    if !sizes.is_empty() {
        return sizes;
    }
    never_ending(graph).into_iter().collect()
}

/// Returns true if no two messages to a rank have the same sender and tag, and if each receive
/// names both.
pub fn has_unique_tags(graph: &Graph) -> bool {
    let mut seen: FxHashSet<Envelope> = FxHashSet::default();
    all(graph).all(|(rank, _, operation)| match operation {
        Operation::Send { to, tag, .. } => seen.insert((rank, to, tag)),
        Operation::Receive { from, tag } => from.is_some() && tag.is_some(),
        Operation::Compute { .. } => true,
    })
}

/// Returns all operations in order.
fn all(graph: &Graph) -> impl Iterator<Item = (Rank, OperationIx, Operation)> + '_ {
    let ranks = (0..graph.ranks()).map(Rank);
    ranks.flat_map(move |rank| {
        (0..graph.count(rank)).map(move |index| {
            if index.is_multiple_of(1 << 12) {
                interrupt::check();
            }
            (rank, OperationIx(index), graph.get(rank, OperationIx(index)))
        })
    })
}

/// Returns the receives of a given size that are smaller than their messages, if all messages with
/// the same sender and tag have one size.
fn small_receives(graph: &Graph) -> Vec<Unsound> {
    let mut sent: FxHashMap<Envelope, [u64; 2]> = FxHashMap::default();
    for (rank, _, operation) in all(graph) {
        if let Operation::Send { to, bytes, tag, .. } = operation {
            let [least, most] = sent.entry((rank, to, tag)).or_insert([bytes; 2]);
            (*least, *most) = (bytes.min(*least), bytes.max(*most));
        }
    }
    let small = all(graph).filter_map(|(rank, operation, what)| {
        let Operation::Receive { from: Some(from), tag: Some(tag) } = what else { return None };
        let [least, most] = *sent.get(&(from, rank, tag))?;
        let room = graph.bytes(rank, operation);
        let is_small = least == most && room > 0 && room < most;
        let message = format!("receives {room} B, but the message from rank {} with tag {tag} has {most} B", from.0);
        is_small.then_some(Unsound { rank, operation, message })
    });
    small.take(10).collect()
}

/// State of an execution in which messages and computations take no time.
struct Execution<'a> {
    graph: &'a Graph,
    progress: Vec<Vec<Progress>>,
    /// Events that operations still wait for.
    unmet: Vec<Vec<u32>>,
    /// Messages that wait for receives.
    arrived: FxHashMap<Envelope, u64>,
    /// Receives that wait for messages.
    receives: FxHashMap<Envelope, VecDeque<OperationIx>>,
    /// True if two receives waited for one message.
    is_ambiguous: bool,
    events: VecDeque<(Rank, OperationIx, After)>,
}

impl Execution<'_> {
    fn start(&mut self, rank: Rank, operation: OperationIx) {
        self.progress[rank.index()][operation.0 as usize] = Progress::Started;
        self.events.push_back((rank, operation, After::Start));
        match self.graph.get(rank, operation) {
            Operation::Compute { .. } => self.end(rank, operation),
            Operation::Send { to, tag, .. } => {
                let envelope = (rank, to, tag);
                let receive = self.receives.get_mut(&envelope).and_then(VecDeque::pop_front);
                match receive {
                    Some(receive) => self.end(to, receive),
                    None => *self.arrived.entry(envelope).or_default() += 1,
                }
                self.end(rank, operation);
            }
            Operation::Receive { from, tag } => {
                let (Some(from), Some(tag)) = (from, tag) else { return };
                let envelope = (from, rank, tag);
                if let Some(left) = self.arrived.get_mut(&envelope).filter(|left| **left > 0) {
                    *left -= 1;
                    self.end(rank, operation);
                } else {
                    let waiting = self.receives.entry(envelope).or_default();
                    waiting.push_back(operation);
                    self.is_ambiguous |= waiting.len() > 1;
                }
            }
        }
    }

    fn end(&mut self, rank: Rank, operation: OperationIx) {
        self.progress[rank.index()][operation.0 as usize] = Progress::Ended;
        self.events.push_back((rank, operation, After::End));
    }

    fn run(&mut self) {
        let graph = self.graph;
        for rank in (0..graph.ranks()).map(Rank) {
            let mut first = Vec::new();
            graph.visit_first(rank, &mut |operation| first.push(operation));
            first.into_iter().for_each(|operation| self.start(rank, operation));
            self.settle();
        }
    }

    fn settle(&mut self) {
        let graph = self.graph;
        let mut count = 0_u64;
        while let Some((rank, operation, after)) = self.events.pop_front() {
            count += 1;
            if count.is_multiple_of(1 << 12) {
                interrupt::check();
            }
            for (dependent, event) in graph.dependents(rank, operation) {
                let unmet = &mut self.unmet[rank.index()][dependent.0 as usize];
                if event == after {
                    *unmet -= 1;
                    if *unmet == 0 {
                        self.start(rank, dependent);
                    }
                }
            }
        }
    }

    fn progress(&self, rank: Rank, operation: OperationIx) -> Progress {
        self.progress[rank.index()][operation.0 as usize]
    }

    /// Returns an operation that a stuck operation waits for; `None` if no send is left for a
    /// receive.
    fn awaited(&self, rank: Rank, operation: OperationIx) -> Option<(Rank, OperationIx)> {
        if self.progress(rank, operation) == Progress::Waiting {
            let is_awaited = |on: &OperationIx| {
                let progress = self.progress(rank, *on);
                self.graph.dependents(rank, *on).any(|(dependent, event)| {
                    let has_occurred = match event {
                        After::Start => progress >= Progress::Started,
                        After::End => progress == Progress::Ended,
                    };
                    dependent == operation && !has_occurred
                })
            };
            let awaited = (0..self.graph.count(rank)).map(OperationIx).find(is_awaited);
            return awaited.map(|on| (rank, on));
        }
        let Operation::Receive { from: Some(from), tag: Some(wanted) } = self.graph.get(rank, operation) else {
            return None;
        };
        let is_awaited = |send: &OperationIx| {
            let is_match = matches!(
                self.graph.get(from, *send),
                Operation::Send { to, tag, .. } if (to, tag) == (rank, wanted)
            );
            is_match && self.progress(from, *send) == Progress::Waiting
        };
        let send = (0..self.graph.count(from)).map(OperationIx).find(is_awaited)?;
        Some((from, send))
    }
}

/// Returns an operation that can never end, if there is one, with the operations that wait for each
/// other.
fn never_ending(graph: &Graph) -> Option<Unsound> {
    let is_wild = |operation: &Operation| matches!(operation, Operation::Receive { from, tag } if from.is_none() || tag.is_none());
    if all(graph).any(|(_, _, operation)| is_wild(&operation)) {
        return None;
    }
    let counts = || (0..graph.ranks()).map(Rank).map(|rank| (rank, graph.count(rank)));
    let unmet = |(rank, count): (Rank, u64)| -> Vec<u32> {
        (0..count).map(|index| graph.prerequisites(rank, OperationIx(index))).collect()
    };
    let mut execution = Execution {
        graph,
        progress: counts().map(|(_, count)| vec![Progress::Waiting; count as usize]).collect(),
        unmet: counts().map(unmet).collect(),
        arrived: FxHashMap::default(),
        receives: FxHashMap::default(),
        is_ambiguous: false,
        events: VecDeque::new(),
    };
    execution.run();
    let stuck = all(graph).find(|(rank, operation, _)| execution.progress(*rank, *operation) != Progress::Ended);
    let (rank, operation, _) = stuck.filter(|_| !execution.is_ambiguous)?;
    // Follows the waits until an operation repeats, or waits for a message that nobody sends.
    let mut chain = vec![(rank, operation)];
    let mut places: BTreeMap<(Rank, OperationIx), usize> = BTreeMap::from([((rank, operation), 0)]);
    let from = loop {
        interrupt::check();
        let (rank, operation) = chain[chain.len() - 1];
        let Some(next) = execution.awaited(rank, operation) else {
            let message = "can never end: no send is left for it".to_owned();
            return Some(Unsound { rank, operation, message });
        };
        chain.push(next);
        if let Some(place) = places.insert(next, chain.len() - 1) {
            break place;
        }
    };
    let name =
        |(rank, operation): &(Rank, OperationIx)| format!("the {} (rank {})", graph.get(*rank, *operation), rank.0);
    let cycle = &chain[from..];
    const MOST: usize = 6;
    let mut names: Vec<String> = cycle.iter().take(MOST).map(name).collect();
    if cycle.len() > MOST {
        names.push(format!("{} more operations, and then {}", cycle.len() - MOST - 1, name(&cycle[0])));
    }
    let first = names.remove(0);
    let message = format!("can never start: {first} waits for {}", names.join(", which waits for "));
    let (rank, operation) = cycle[0];
    Some(Unsound { rank, operation, message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::RankBuilder;

    /// Builds two ranks.
    fn two(build: impl FnOnce(&mut RankBuilder, &mut RankBuilder)) -> Vec<Unsound> {
        let (mut one, mut other) = (RankBuilder::default(), RankBuilder::default());
        build(&mut one, &mut other);
        check(&Graph::new([one, other]))
    }

    #[test]
    fn receives_without_a_send_are_found() {
        let errors = two(|one, other| {
            one.send(Rank(1), 100, 0);
            other.receive(Some(Rank(0)), 0, Some(0));
            other.receive(Some(Rank(0)), 0, Some(1));
        });
        let message = "can never end: no send is left for it".to_owned();
        assert_eq!(errors, [Unsound { rank: Rank(1), operation: OperationIx(1), message }]);
    }

    #[test]
    fn receives_that_are_too_small_are_found() {
        let errors = two(|one, other| {
            one.send(Rank(1), 100, 0);
            other.receive(Some(Rank(0)), 99, Some(0));
        });
        let message = "receives 99 B, but the message from rank 0 with tag 0 has 100 B".to_owned();
        assert_eq!(errors, [Unsound { rank: Rank(1), operation: OperationIx(0), message }]);
    }

    /// An operation that waits for the start of another one does not wait for its end.
    #[test]
    fn waits_for_starts_are_no_waits_for_ends() {
        for (after, is_sound) in [(After::Start, true), (After::End, false)] {
            let errors = two(|one, other| {
                let receive = one.receive(Some(Rank(1)), 0, Some(0));
                let send = one.send(Rank(1), 100, 0);
                one.wait(send, receive, after);
                let answered = other.receive(Some(Rank(0)), 0, Some(0));
                let answer = other.send(Rank(0), 100, 0);
                other.wait(answer, answered, After::End);
            });
            assert_eq!(errors.is_empty(), is_sound, "{errors:?}");
        }
    }

    /// With a receive from any rank, nothing is refused: the order of arrivals decides.
    #[test]
    fn wildcards_are_not_checked() {
        let errors = two(|one, _| {
            one.receive(None, 0, Some(0));
        });
        assert_eq!(errors, []);
    }
}
