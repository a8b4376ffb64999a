//! Checks of listed operations before a run.

use crate::graph::Graph;
use crate::operation::{After, Operation, OperationIx, Operations, Rank};
use backwater_engine::interrupt;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

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

/// Returns the errors of operations: receives that are too small for their messages, and operations
/// that never end, in whatever order messages arrive. If the order decides, because a receive takes
/// any sender or tag, or because two receives compete for one message, nothing is reported.
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
    /// True if receives end when they start.
    is_optimistic: bool,
    progress: Vec<Vec<Progress>>,
    /// Events that operations still wait for.
    unmet: Vec<Vec<u32>>,
    /// Messages that wait for receives.
    arrived: FxHashMap<Envelope, u64>,
    /// Receives that wait for messages.
    receives: FxHashMap<Envelope, VecDeque<OperationIx>>,
    events: VecDeque<(Rank, OperationIx, After)>,
}

impl<'a> Execution<'a> {
    /// Executes all operations that can start.
    fn run(graph: &'a Graph, is_optimistic: bool) -> Execution<'a> {
        let counts = || (0..graph.ranks()).map(Rank).map(|rank| (rank, graph.count(rank)));
        let unmet = |(rank, count): (Rank, u64)| -> Vec<u32> {
            (0..count).map(|index| graph.prerequisites(rank, OperationIx(index))).collect()
        };
        let mut execution = Execution {
            graph,
            is_optimistic,
            progress: counts().map(|(_, count)| vec![Progress::Waiting; count as usize]).collect(),
            unmet: counts().map(unmet).collect(),
            arrived: FxHashMap::default(),
            receives: FxHashMap::default(),
            events: VecDeque::new(),
        };
        for rank in (0..graph.ranks()).map(Rank) {
            let mut first = Vec::new();
            graph.visit_first(rank, &mut |operation| first.push(operation));
            first.into_iter().for_each(|operation| execution.start(rank, operation));
            execution.settle();
        }
        execution
    }

    fn start(&mut self, rank: Rank, operation: OperationIx) {
        self.progress[rank.index()][operation.0 as usize] = Progress::Started;
        self.events.push_back((rank, operation, After::Start));
        match self.graph.get(rank, operation) {
            Operation::Send { to, tag, .. } if !self.is_optimistic => {
                let envelope = (rank, to, tag);
                let receive = self.receives.get_mut(&envelope).and_then(VecDeque::pop_front);
                match receive {
                    Some(receive) => self.end(to, receive),
                    None => *self.arrived.entry(envelope).or_default() += 1,
                }
                self.end(rank, operation);
            }
            Operation::Receive { from: Some(from), tag: Some(tag) } if !self.is_optimistic => {
                let envelope = (from, rank, tag);
                if let Some(left) = self.arrived.get_mut(&envelope).filter(|left| **left > 0) {
                    *left -= 1;
                    self.end(rank, operation);
                } else {
                    self.receives.entry(envelope).or_default().push_back(operation);
                }
            }
            _ => self.end(rank, operation),
        }
    }

    fn end(&mut self, rank: Rank, operation: OperationIx) {
        self.progress[rank.index()][operation.0 as usize] = Progress::Ended;
        self.events.push_back((rank, operation, After::End));
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

    /// Returns an operation that has not ended.
    fn stuck(&self) -> Option<(Rank, OperationIx)> {
        let stuck = all(self.graph).find(|(rank, operation, _)| self.progress(*rank, *operation) != Progress::Ended);
        stuck.map(|(rank, operation, _)| (rank, operation))
    }

    /// Returns true if a receive waits for a message that another receive has taken, and could have
    /// started before it. In another order of arrivals, other operations could end.
    fn is_ambiguous(&self) -> bool {
        let waiting =
            self.receives.iter().flat_map(|(envelope, waiting)| waiting.iter().map(move |it| (*envelope, *it)));
        let mut taken: FxHashMap<Envelope, Vec<OperationIx>> =
            waiting.clone().map(|(envelope, _)| (envelope, Vec::new())).collect();
        for (rank, operation, what) in all(self.graph) {
            if let Operation::Receive { from: Some(from), tag: Some(tag) } = what
                && self.progress(rank, operation) == Progress::Ended
                && let Some(taken) = taken.get_mut(&(from, rank, tag))
            {
                taken.push(operation);
            }
        }
        let mut waits: FxHashMap<Rank, Waits> = FxHashMap::default();
        waiting.into_iter().any(|(envelope, receive)| {
            let (taken, rank) = (&taken[&envelope], envelope.1);
            !taken.is_empty() && {
                let waits = waits.entry(rank).or_insert_with(|| Waits::new(self.graph, rank));
                let before = waits.all_before(receive);
                !taken.iter().all(|other| before.contains(other))
            }
        })
    }
}

/// Waits between the operations of a rank: waiting operation, and the event that it waits for.
struct Waits(Vec<(OperationIx, OperationIx, After)>);

impl Waits {
    fn new(graph: &Graph, rank: Rank) -> Waits {
        let operations = (0..graph.count(rank)).map(OperationIx);
        let waits =
            operations.flat_map(|on| graph.dependents(rank, on).map(move |(waiting, after)| (waiting, on, after)));
        let mut waits: Vec<_> = waits.collect();
        waits.sort_unstable();
        Waits(waits)
    }

    /// Returns the events that an operation waits for.
    fn of(&self, operation: OperationIx) -> impl Iterator<Item = (OperationIx, After)> {
        let first = self.0.partition_point(|(waiting, ..)| *waiting < operation);
        let of = self.0[first..].iter().take_while(move |(waiting, ..)| *waiting == operation);
        of.map(|(_, on, after)| (*on, *after))
    }

    /// Returns the operations that start before an operation.
    fn all_before(&self, operation: OperationIx) -> FxHashSet<OperationIx> {
        let (mut before, mut left) = (FxHashSet::default(), vec![operation]);
        while let Some(next) = left.pop() {
            interrupt::check();
            left.extend(self.of(next).map(|(on, _)| on).filter(|on| before.insert(*on)));
        }
        before
    }
}

/// Returns the first receive for which no message is left, if all receives before it have taken
/// one: no message with its sender and tag, or no message at all.
fn superfluous_receive(graph: &Graph) -> Option<Unsound> {
    let mut sent: FxHashMap<Envelope, u64> = FxHashMap::default();
    let mut sent_to = vec![0_u64; graph.ranks() as usize];
    for (rank, _, operation) in all(graph) {
        if let Operation::Send { to, tag, .. } = operation {
            *sent.entry((rank, to, tag)).or_default() += 1;
            sent_to[to.index()] += 1;
        }
    }
    all(graph).find_map(|(rank, operation, what)| {
        let Operation::Receive { from, tag } = what else { return None };
        let take = |left: Option<&mut u64>| left.filter(|left| **left > 0).map(|left| *left -= 1).is_none();
        let message = match from.zip(tag) {
            Some((from, tag)) if take(sent.get_mut(&(from, rank, tag))) => {
                format!("can never end: no message from rank {} with tag {tag} is left for it", from.0)
            }
            _ if take(sent_to.get_mut(rank.index())) => "can never end: no message is left for it".to_owned(),
            _ => return None,
        };
        Some(Unsound { rank, operation, message })
    })
}

/// Returns an operation that can never end, if there is one, with the operations that wait for each
/// other.
fn never_ending(graph: &Graph) -> Option<Unsound> {
    let is_wild = |operation: &Operation| matches!(operation, Operation::Receive { from, tag } if from.is_none() || tag.is_none());
    let has_wildcards = all(graph).any(|(_, _, operation)| is_wild(&operation));
    let execution = (!has_wildcards).then(|| Execution::run(graph, false));
    let stuck = execution.as_ref().map(Execution::stuck);
    if stuck == Some(None) {
        return None;
    }
    if let Some(superfluous) = superfluous_receive(graph) {
        return Some(superfluous);
    }
    if let Some((execution, stuck)) = execution.zip(stuck.flatten())
        && !execution.is_ambiguous()
    {
        return Some(waits_for_itself(&execution, stuck));
    }
    // Operations that wait for each other at one rank can never start, whatever arrives.
    let execution = Execution::run(graph, true);
    execution.stuck().map(|stuck| waits_for_itself(&execution, stuck))
}

/// Describes operations that wait for each other, found from an operation that has not ended.
fn waits_for_itself(execution: &Execution<'_>, stuck: (Rank, OperationIx)) -> Unsound {
    let graph = execution.graph;
    let mut sends: FxHashMap<Envelope, (Rank, OperationIx)> = FxHashMap::default();
    for (rank, operation, what) in all(graph) {
        if let Operation::Send { to, tag, .. } = what
            && execution.progress(rank, operation) == Progress::Waiting
        {
            sends.entry((rank, to, tag)).or_insert((rank, operation));
        }
    }
    let mut waits: FxHashMap<Rank, Waits> = FxHashMap::default();
    let mut awaited = |(rank, operation): (Rank, OperationIx)| -> (Rank, OperationIx) {
        if execution.progress(rank, operation) == Progress::Waiting {
            let waits = waits.entry(rank).or_insert_with(|| Waits::new(graph, rank));
            let is_open = |(on, after): &(OperationIx, After)| {
                let progress = execution.progress(rank, *on);
                progress == Progress::Waiting || *after == After::End && progress == Progress::Started
            };
            let on = waits.of(operation).find(is_open).expect("an operation that waits has not seen all events");
            return (rank, on.0);
        }
        let Operation::Receive { from: Some(from), tag: Some(tag) } = graph.get(rank, operation) else {
            unreachable!("sends and computations end when they start")
        };
        // There are as many sends as receives, so a send is left for the receive.
        sends[&(from, rank, tag)]
    };
    let mut chain = vec![stuck];
    let mut places: FxHashMap<(Rank, OperationIx), usize> = FxHashMap::from_iter([(stuck, 0)]);
    let from = loop {
        interrupt::check();
        let next = awaited(chain[chain.len() - 1]);
        chain.push(next);
        if let Some(place) = places.insert(next, chain.len() - 1) {
            break place;
        }
    };
    let name = |(rank, operation): &(Rank, OperationIx)| {
        format!("the {} (operation {} of rank {})", graph.get(*rank, *operation), operation.0, rank.0)
    };
    let cycle = &chain[from..];
    const MOST: usize = 6;
    let mut names: Vec<String> = cycle.iter().take(MOST).map(name).collect();
    if cycle.len() > MOST {
        names.push(format!("{} more operations, and then {}", cycle.len() - MOST - 1, name(&cycle[0])));
    }
    let first = names.remove(0);
    let message = format!("can never start: {first} waits for {}", names.join(", which waits for "));
    let (rank, operation) = cycle[0];
    Unsound { rank, operation, message }
}

#[cfg(test)]
mod tests;
