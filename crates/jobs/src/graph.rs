//! Operations listed one by one.

use crate::operation::{After, Matching, Operation, OperationIx, Operations, Rank, StreamIx};
use backwater_engine::Duration;
use backwater_engine::memory::HeapBytes;
use std::collections::BTreeSet;

/// Wildcard of a sender and of a tag, in the arrays of a [`Graph`].
const ANY: u32 = u32::MAX;

/// Bit of an edge that waits for the start of an operation.
const ON_START: u32 = 1 << 31;

/// Operations of all ranks, in arrays: about 40 bytes per operation.
#[derive(Debug, Default)]
pub struct Graph {
    ranks: Vec<RankGraph>,
}

/// Operations of one rank.
#[derive(Debug, Default)]
struct RankGraph {
    kinds: Vec<Kind>,
    streams: Vec<u8>,
    /// Receiver or sender.
    peers: Vec<u32>,
    tags: Vec<u32>,
    /// Bytes of a message; picoseconds of a computation.
    amounts: Vec<u64>,
    /// Number of prerequisites.
    waits: Vec<u32>,
    /// End of each operation's edges.
    ends: Vec<u32>,
    /// Operations that wait, by the operation that they wait for.
    edges: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Send,
    Receive,
    Compute,
}

/// Builds the operations of one rank.
#[derive(Debug, Default)]
pub struct RankBuilder {
    graph: RankGraph,
    /// Waiting operation, awaited operation, and event.
    edges: Vec<(u32, u32, After)>,
}

impl RankBuilder {
    /// Maximum number of operations of a rank.
    pub const MOST: usize = (1 << 31) - 1;

    /// Adds a send, and returns its number.
    ///
    /// # Panics
    /// After [`RankBuilder::MOST`] operations.
    pub fn send(&mut self, to: Rank, bytes: u64, tag: u32) -> OperationIx {
        self.add(Kind::Send, 0, to.0, tag, bytes)
    }

    /// Adds a receive, and returns its number. `None` stands for any sender, and for any tag.
    ///
    /// # Panics
    /// After [`RankBuilder::MOST`] operations.
    pub fn receive(&mut self, from: Option<Rank>, bytes: u64, tag: Option<u32>) -> OperationIx {
        self.add(Kind::Receive, 0, from.map_or(ANY, |rank| rank.0), tag.unwrap_or(ANY), bytes)
    }

    /// Adds a computation, and returns its number.
    ///
    /// # Panics
    /// After [`RankBuilder::MOST`] operations.
    pub fn compute(&mut self, length: Duration, stream: StreamIx) -> OperationIx {
        self.add(Kind::Compute, stream.0, 0, 0, length.ps())
    }

    fn add(&mut self, kind: Kind, stream: u8, peer: u32, tag: u32, amount: u64) -> OperationIx {
        let graph = &mut self.graph;
        assert!(graph.kinds.len() < Self::MOST, "a rank has fewer than 2^31 operations");
        graph.kinds.push(kind);
        graph.streams.push(stream);
        graph.peers.push(peer);
        graph.tags.push(tag);
        graph.amounts.push(amount);
        OperationIx(graph.kinds.len() as u64 - 1)
    }

    /// Makes `operation` wait for an event of operation `on`.
    pub fn wait(&mut self, operation: OperationIx, on: OperationIx, after: After) {
        self.edges.push((operation.0 as u32, on.0 as u32, after));
    }

    /// Returns the number of operations.
    pub fn len(&self) -> usize {
        self.graph.kinds.len()
    }

    /// Returns true if there is no operation.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn build(mut self) -> RankGraph {
        let mut graph = self.graph;
        graph.waits = vec![0; graph.kinds.len()];
        // Dependents are visited in the order in which their edges were added.
        self.edges.sort_by_key(|(_, on, _)| *on);
        graph.edges.reserve_exact(self.edges.len());
        graph.ends.reserve_exact(graph.kinds.len());
        let mut edges = self.edges.into_iter().peekable();
        for operation in 0..graph.kinds.len() as u32 {
            while let Some((waiting, _, after)) = edges.next_if(|(_, on, _)| *on == operation) {
                graph.edges.push(waiting | if after == After::Start { ON_START } else { 0 });
                graph.waits[waiting as usize] += 1;
            }
            graph.ends.push(graph.edges.len() as u32);
        }
        graph.kinds.shrink_to_fit();
        graph.streams.shrink_to_fit();
        graph.peers.shrink_to_fit();
        graph.tags.shrink_to_fit();
        graph.amounts.shrink_to_fit();
        graph
    }
}

impl RankGraph {
    /// Returns the operations that wait for `operation`, each with the event.
    fn dependents(&self, operation: OperationIx) -> impl Iterator<Item = (OperationIx, After)> {
        let index = operation.0 as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]) as usize;
        self.edges[start..self.ends[index] as usize].iter().map(|edge| {
            let after = if edge & ON_START == 0 { After::End } else { After::Start };
            (OperationIx(u64::from(edge & !ON_START)), after)
        })
    }
}

impl Graph {
    /// Builds the graph of ranks 0, 1 and so on.
    pub fn new(ranks: impl IntoIterator<Item = RankBuilder>) -> Graph {
        Graph { ranks: ranks.into_iter().map(RankBuilder::build).collect() }
    }

    /// Returns the bytes that a send sends, or that a receive expects.
    pub fn bytes(&self, rank: Rank, operation: OperationIx) -> u64 {
        self.ranks[rank.index()].amounts[operation.0 as usize]
    }

    /// Returns the operations that wait for an operation, each with the event.
    pub(crate) fn dependents(
        &self,
        rank: Rank,
        operation: OperationIx,
    ) -> impl Iterator<Item = (OperationIx, After)> + '_ {
        self.ranks[rank.index()].dependents(operation)
    }

    /// Returns the pairs of ranks between which messages travel, in order.
    pub fn pairs(&self) -> Vec<(Rank, Rank)> {
        let mut pairs = Vec::new();
        for (rank, graph) in (0..).map(Rank).zip(&self.ranks) {
            let sends = graph.kinds.iter().zip(&graph.peers).filter(|(kind, _)| **kind == Kind::Send);
            let receivers: BTreeSet<u32> = sends.map(|(_, to)| *to).collect();
            pairs.extend(receivers.into_iter().map(|to| (rank, Rank(to))));
        }
        pairs
    }
}

impl Operations for Graph {
    fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    fn count(&self, rank: Rank) -> u64 {
        self.ranks[rank.index()].kinds.len() as u64
    }

    fn get(&self, rank: Rank, OperationIx(operation): OperationIx) -> Operation {
        let (graph, index) = (&self.ranks[rank.index()], operation as usize);
        let (peer, tag, amount) = (graph.peers[index], graph.tags[index], graph.amounts[index]);
        match graph.kinds[index] {
            Kind::Send => Operation::Send { to: Rank(peer), bytes: amount, tag: tag.into(), channel: 0 },
            Kind::Receive => Operation::Receive {
                from: (peer != ANY).then_some(Rank(peer)),
                tag: (tag != ANY).then_some(tag.into()),
            },
            Kind::Compute => {
                Operation::Compute { length: Duration::from_ps(amount), stream: StreamIx(graph.streams[index]) }
            }
        }
    }

    fn visit_first(&self, rank: Rank, visit: &mut dyn FnMut(OperationIx)) {
        let waits = &self.ranks[rank.index()].waits;
        (0..).zip(waits).filter(|(_, waits)| **waits == 0).for_each(|(operation, _)| visit(OperationIx(operation)));
    }

    fn prerequisites(&self, rank: Rank, operation: OperationIx) -> u32 {
        self.ranks[rank.index()].waits[operation.0 as usize]
    }

    fn visit_dependents(&self, rank: Rank, operation: OperationIx, after: After, visit: &mut dyn FnMut(OperationIx)) {
        let dependents = self.dependents(rank, operation).filter(|(_, event)| *event == after);
        dependents.for_each(|(dependent, _)| visit(dependent));
    }

    fn matching(&self) -> Matching {
        Matching::Tag
    }

    fn iterations(&self) -> Option<u32> {
        None
    }

    fn begins(&self, _rank: Rank, _operation: OperationIx) -> Option<u32> {
        None
    }

    fn heap_bytes(&self) -> u64 {
        self.ranks.heap_bytes() + self.ranks.iter().map(RankGraph::heap_bytes).sum::<u64>()
    }
}

impl HeapBytes for RankGraph {
    fn heap_bytes(&self) -> u64 {
        let RankGraph { kinds, streams, peers, tags, amounts, waits, ends, edges } = self;
        let facts = kinds.heap_bytes() + streams.heap_bytes() + peers.heap_bytes() + tags.heap_bytes();
        facts + amounts.heap_bytes() + waits.heap_bytes() + ends.heap_bytes() + edges.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each operation waits for four others.
    #[test]
    fn an_operation_takes_at_most_48_bytes() {
        let (mut rank, count) = (RankBuilder::default(), 70_000);
        for number in 0..count {
            let operation = rank.send(Rank(1), 1, 0);
            (number.max(4) - 4..number).for_each(|on| rank.wait(operation, OperationIx(on), After::End));
        }
        let graph = Graph::new([rank]);
        assert!(graph.heap_bytes() <= 48 * count, "{}", graph.heap_bytes() as f64 / count as f64);
    }
}
