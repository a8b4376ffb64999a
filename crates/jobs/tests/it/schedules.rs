//! Random jobs beside flows in random networks: random graphs and collectives, with all mechanisms,
//! losses and faults.

use crate::common::{Results, collect, partitioned};
use crate::fabric::random::{Case, any_case, dealt, lossless, plain, reserved};
use crate::fabric::{applications::whole, cases, complaint, set_error_rate, without_breakdown};
use backwater_engine::random::{Seed, Stream};
use backwater_engine::{Bytes, Duration, Time};
use backwater_fabric::Simulation;
use backwater_fabric::contract::PortFacts;
use backwater_fabric::driver::outcome::{FlowOutcome, Totals};
use backwater_fabric::driver::partition::Partition;
use backwater_fabric::driver::trace::TraceSpec;
use backwater_fabric::fixtures::{flow, star};
use backwater_fabric::frame::Direction;
use backwater_fabric::ids::{FlowId, NodeId};
use backwater_fabric::mechanisms::recovery::RecoveryConfig;
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::flows::Connections as _;
use backwater_fabric::network::spec::{FlowSpec, IdleConfig};
use backwater_jobs::bound::ideal_run;
use backwater_jobs::collective::Division;
use backwater_jobs::collective::all_to_all::{AllToAll, PeerOrder};
use backwater_jobs::collective::ring::{Ring, RingKind};
use backwater_jobs::connections::{JobConnections, Pairs, Spread};
use backwater_jobs::graph::{Graph, RankBuilder};
use backwater_jobs::host::Job;
use backwater_jobs::operation::{After, Matching, Operation, OperationIx, Operations, Rank, StreamIx};
use backwater_jobs::rank::Executed;
use backwater_jobs::soundness;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{TestCaseError, TestRunner};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

// -------------------------------------------------------------------------------------------- jobs

/// Kind of a job's operations.
#[derive(Clone, Debug)]
enum Kind {
    /// Random operations. With `is_unique`, no two messages to a rank have the same sender and tag.
    Listed {
        operations: u32,
        is_unique: bool,
    },
    Ring(RingKind, Cut),
    AllToAll(PeerOrder, u32, Cut),
}

/// Size of a collective.
#[derive(Clone, Debug)]
struct Cut {
    bytes: u64,
    channels: u32,
    chunk: u64,
    iterations: u32,
    gap: Duration,
}

/// A random job.
#[derive(Clone, Debug)]
struct Draft {
    kind: Kind,
    /// Number of ranks, if there are as many hosts.
    ranks: u32,
    queue_pairs: u32,
    spread: Spread,
    start: Time,
    seed: u64,
}

/// A job in a network.
struct Plan {
    job: Job,
    /// Rank, waiting operation, awaited operation and event.
    edges: Vec<(Rank, OperationIx, OperationIx, After)>,
    is_unique: bool,
    /// Computation between two iterations.
    gap: Duration,
}

fn listed(is_unique: impl Strategy<Value = bool> + 'static) -> BoxedStrategy<Kind> {
    (1u32..80, is_unique).prop_map(|(operations, is_unique)| Kind::Listed { operations, is_unique }).boxed()
}

fn kind() -> impl Strategy<Value = Kind> {
    let chunk = prop_oneof![Just(u64::MAX), 1000u64..30_000];
    let gap = prop_oneof![Just(Duration::ZERO), (1u64..20_000_000).prop_map(Duration::from_ps)];
    let cut = (1u64..120_000, 1u32..4, chunk, 1u32..4, gap).prop_map(|(bytes, channels, chunk, iterations, gap)| {
        // Every channel of every block has a byte.
        Cut { bytes: bytes.max(u64::from(8 * channels)), channels, chunk, iterations, gap }
    });
    let rings = select(vec![RingKind::AllReduce, RingKind::AllGather, RingKind::ReduceScatter, RingKind::SendReceive]);
    let orders = select(vec![PeerOrder::Rotation, PeerOrder::Nccl]);
    prop_oneof![
        2 => listed(any::<bool>()),
        1 => (rings, cut.clone()).prop_map(|(kind, cut)| Kind::Ring(kind, cut)),
        1 => (orders, 1u32..5, cut).prop_map(|(order, window, cut)| Kind::AllToAll(order, window, cut)),
    ]
}

fn drafts() -> impl Strategy<Value = Draft> {
    let queue_pairs = (1u32..5, select(vec![Spread::RoundRobin, Spread::Split]));
    let start = prop_oneof![Just(0u64), 0u64..20_000_000];
    (kind(), 2u32..9, queue_pairs, start, any::<u64>()).prop_map(|(kind, ranks, (queue_pairs, spread), start, seed)| {
        Draft { kind, ranks, queue_pairs, spread, start: Time::from_ps(start), seed }
    })
}

/// Operations in one order of all ranks: a message is sent before it is received, and an operation
/// waits for earlier ones only. Thus the operations can end in this order.
struct Listing {
    ranks: Vec<RankBuilder>,
    edges: Vec<(Rank, OperationIx, OperationIx, After)>,
    draws: Stream,
}

impl Listing {
    /// Makes an operation wait for up to three earlier operations of its rank, some of them twice.
    fn add(&mut self, rank: Rank, operation: OperationIx) {
        for _ in 0..self.draws.below(4).min(operation.0) {
            let on = OperationIx(self.draws.below(operation.0));
            self.wait(rank, operation, on);
        }
    }

    fn wait(&mut self, rank: Rank, operation: OperationIx, on: OperationIx) {
        let after = if self.draws.chance(0.3) { After::Start } else { After::End };
        self.ranks[rank.index()].wait(operation, on, after);
        self.edges.push((rank, operation, on, after));
    }

    fn draw(mut self, operations: u32, is_unique: bool) -> (Graph, Vec<(Rank, OperationIx, OperationIx, After)>) {
        let ranks = self.ranks.len() as u64;
        // The receives of a rank all name their senders, or none does; likewise for tags. So all
        // receives that match one message match the same messages.
        let names: Vec<[bool; 2]> = (0..ranks).map(|_| [(); 2].map(|()| is_unique || self.draws.chance(0.7))).collect();
        let mut receives: BTreeMap<(Rank, Option<Rank>, Option<u32>), OperationIx> = BTreeMap::new();
        let mut sent: Vec<(Rank, Rank, u64, u32)> = Vec::new();
        let (mut left, mut number) = (operations, 0);
        while left > 0 || !sent.is_empty() {
            let rank = Rank(self.draws.below(ranks) as u32);
            let choice = if left == 0 { 2 } else { self.draws.below(4) };
            left = left.saturating_sub(1);
            match choice {
                0 | 1 => {
                    let to = Rank((rank.0 + 1 + self.draws.below(ranks - 1) as u32) % ranks as u32);
                    let most = if self.draws.chance(0.3) { 2000 } else { 60_000 };
                    let (bytes, tag) = (1 + self.draws.below(most), self.draws.below(3) as u32);
                    number += 1;
                    let tag = if is_unique { number } else { tag * (u32::MAX / 2) - tag / 2 };
                    let operation = self.ranks[rank.index()].send(to, bytes, tag);
                    sent.push((rank, to, bytes, tag));
                    self.add(rank, operation);
                }
                2 if !sent.is_empty() => {
                    let index = self.draws.below(sent.len() as u64) as usize;
                    let (from, to, bytes, tag) = sent.swap_remove(index);
                    let [sender, tagged] = names[to.index()];
                    let (from, tag) = (sender.then_some(from), tagged.then_some(tag));
                    let bytes = if is_unique { bytes } else { 0 };
                    let operation = self.ranks[to.index()].receive(from, bytes, tag);
                    self.add(to, operation);
                    // Receives of the same messages start in order.
                    if let Some(before) = receives.insert((to, from, tag), operation) {
                        self.wait(to, operation, before);
                    }
                }
                _ => {
                    let length = if self.draws.chance(0.2) { 0 } else { self.draws.below(20_000_000) };
                    let stream = StreamIx(self.draws.below(3) as u8);
                    let operation = self.ranks[rank.index()].compute(Duration::from_ps(length), stream);
                    self.add(rank, operation);
                }
            }
        }
        (Graph::new(self.ranks), self.edges)
    }
}

/// Returns the dependencies of generated operations.
fn edges_of(operations: &dyn Operations) -> Vec<(Rank, OperationIx, OperationIx, After)> {
    let mut edges = Vec::new();
    for rank in (0..operations.ranks()).map(Rank) {
        for on in (0..operations.count(rank)).map(OperationIx) {
            for after in [After::Start, After::End] {
                operations.visit_dependents(rank, on, after, &mut |waiting| edges.push((rank, waiting, on, after)));
            }
        }
    }
    edges
}

impl Draft {
    /// Places the job on random hosts. The job's connections have the class of one of the flows.
    fn plan(&self, case: &Case, number: usize) -> Plan {
        let mut draws = Seed(self.seed).stream("job", number as u64);
        let mut hosts: Vec<NodeId> = case.spec.nodes.ids().filter(|node| case.spec.is_host(*node)).collect();
        draws.shuffle(&mut hosts);
        hosts.truncate(self.ranks as usize);
        let (ranks, mut gap, mut is_unique) = (hosts.len() as u32, Duration::ZERO, false);
        let mut divided = |cut: &Cut, blocks: u32| {
            gap = cut.gap;
            (Division::new(cut.bytes, blocks, cut.channels, cut.chunk).unwrap(), cut.iterations, cut.gap)
        };
        let (operations, pairs, edges): (Arc<dyn Operations>, _, _) = match &self.kind {
            Kind::Listed { operations, is_unique: unique } => {
                let ranks = (0..ranks).map(|_| RankBuilder::default()).collect();
                let (graph, edges) = Listing { ranks, edges: Vec::new(), draws }.draw(*operations, *unique);
                assert_eq!(soundness::check(&graph), []);
                assert!(!unique || soundness::has_unique_tags(&graph));
                is_unique = *unique;
                let pairs = Pairs::Listed(graph.pairs());
                (Arc::new(graph), pairs, edges)
            }
            Kind::Ring(kind, cut) => {
                let (division, iterations, gap) = divided(cut, kind.blocks(ranks));
                let ring = Ring::new(*kind, ranks, division, iterations, gap);
                (Arc::new(ring), Pairs::Ring { ranks, channels: cut.channels }, edges_of(&ring))
            }
            Kind::AllToAll(order, window, cut) => {
                let (division, iterations, gap) = divided(cut, ranks);
                let exchange = AllToAll::new(ranks, *order, *window, division, iterations, gap);
                let edges = edges_of(&exchange);
                (Arc::new(exchange), Pairs::All { ranks, channels: cut.channels }, edges)
            }
        };
        let class = case.flows[number % case.flows.len()].class;
        let template = FlowSpec { class, part: number as u32 + 1, ..FlowSpec::new(NodeId(0), NodeId(0), 1) };
        let connections = Arc::new(JobConnections::new(hosts, pairs, self.queue_pairs, self.spread, template));
        let job = Job { operations, connections, first: FlowId(0), start: self.start, records: true };
        Plan { job, edges, is_unique, gap }
    }
}

// -------------------------------------------------------------------------------------------- runs

/// Results of a run.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    results: Results,
    /// Outcomes of messages and flows.
    messages: Vec<FlowOutcome>,
    totals: Totals,
    violations: Vec<String>,
    fingerprint: String,
}

/// End of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// All operations ended, and no event is left.
    Finished,
    Deadlocked,
    /// The run was not over after the longest time.
    Long,
}

/// Progress of a run to its end.
#[derive(Clone, Copy, Debug)]
enum Pace {
    /// Equal parts of the time. Reports are collected after each.
    Slices(u64),
    /// Stops at one of so many requests, which follow each other after a few events or a window.
    Stops(u64),
}

/// Longest run.
const LONG: Duration = Duration::from_ms(2_000);
const MOST_EVENTS: u64 = 500_000;

/// Creates the simulation of the plans' jobs beside the flows of a case.
fn simulation(case: &Case, plans: &mut [Plan], partition: impl FnOnce(&Fabric) -> Partition) -> Simulation {
    let mut jobs: Vec<Job> = plans.iter().map(|plan| plan.job.clone()).collect();
    let simulation = partitioned(&case.spec, &mut jobs, case.flows.clone(), partition);
    for (plan, job) in plans.iter_mut().zip(jobs) {
        plan.job.first = job.first;
    }
    simulation
}

fn finish(mut results: Results, mut simulation: Simulation) -> Run {
    add(&mut results, collect(&mut simulation));
    let mut messages = simulation.outcomes();
    messages.sort_by_key(|outcome| (outcome.flow, outcome.message));
    Run {
        results,
        messages,
        totals: simulation.totals(),
        violations: simulation.audit().iter().map(ToString::to_string).collect(),
        fingerprint: simulation.fingerprint().to_string(),
    }
}

fn add(results: &mut Results, more: Results) {
    results.executed.extend(more.executed);
    results.iterations.extend(more.iterations);
    results.executed.sort_by_key(|(job, rank, it)| (*job, *rank, it.operation));
    results.iterations.sort_by_key(|(job, it, rank)| (*job, it.number, *rank));
    results.is_done = more.is_done;
}

/// Runs in one shard until nothing is left to do, or for the longest time. Returns the end of the
/// run.
fn run_to_end(mut simulation: Simulation) -> (Run, Time, Verdict) {
    let mut limit = Duration::from_us(50);
    loop {
        simulation.run_until(Time::ZERO + limit, 1);
        if simulation.next_event() == Time::NEVER || limit >= LONG || simulation.totals().events > MOST_EVENTS {
            break;
        }
        limit = limit * 2;
    }
    let is_over = simulation.next_event() == Time::NEVER;
    let is_dead = simulation.find_deadlock().is_some();
    let run = finish(Results::default(), simulation);
    let verdict = match run.results.is_done {
        true if is_over => Verdict::Finished,
        _ if is_dead => Verdict::Deadlocked,
        _ => {
            // Lost packets are sent again.
            assert!(!is_over, "operations wait, and no event is left");
            Verdict::Long
        }
    };
    (run, Time::ZERO + limit, verdict)
}

fn run_until(mut simulation: Simulation, end: Time, threads: usize, pace: Pace) -> Run {
    let mut results = Results::default();
    match pace {
        Pace::Slices(slices) => {
            for slice in 1..=slices {
                let limit = u128::from(end.ps()) * u128::from(slice) / u128::from(slices);
                simulation.run_until(Time::from_ps(limit as u64), threads);
                add(&mut results, collect(&mut simulation));
            }
        }
        Pace::Stops(one_of) => {
            let (mut requests, mut stops) = (0, 0_u64);
            let mut stop = || {
                requests += 1;
                requests % one_of == 0
            };
            while !simulation.advance(end, threads, 3, &mut stop) {
                stops += 1;
                if stops.is_multiple_of(7) {
                    simulation.settle(threads);
                }
            }
        }
    }
    finish(results, simulation)
}

/// Observers that have no effect on a run.
const OBSERVERS: [fn(&mut Simulation); 3] =
    [|simulation| simulation.watch_trace(&TraceSpec::ALL), Simulation::watch_ingress, Simulation::watch_full];

/// Drops the facts about messages and flows that [`Simulation::watch_flows`] may add.
fn without_breakdowns(run: Run) -> Run {
    Run { messages: run.messages.into_iter().map(without_breakdown).collect(), ..run }
}

// ------------------------------------------------------------------------------------------ checks

/// Returns the sizes of a message's parts.
fn parts(bytes: u64, queue_pairs: u64, spread: Spread) -> Vec<u64> {
    let mut left = bytes;
    let part = match spread {
        Spread::RoundRobin => bytes,
        Spread::Split => bytes.div_ceil(queue_pairs).div_ceil(128) * 128,
    };
    let mut parts = Vec::new();
    while left > 0 {
        parts.push(left.min(part));
        left -= left.min(part);
    }
    parts
}

/// Sender, receiver and tag of a receive.
type Envelope = (Option<Rank>, Rank, Option<u64>);

/// Starts and ends of operations.
type Executions = BTreeMap<(Rank, OperationIx), (Time, Time)>;

/// Start and end of a computation, and the time at which it became ready.
type Span = (Time, Time, Time);

/// Times at which operations become ready. `None` if the start of an operation that has not ended
/// decides.
type Ready = BTreeMap<(Rank, OperationIx), Option<Time>>;

impl Plan {
    fn operations(&self) -> impl Iterator<Item = (Rank, OperationIx, Operation)> + '_ {
        let operations = &self.job.operations;
        let ranks = (0..operations.ranks()).map(Rank);
        ranks.flat_map(move |rank| {
            let numbers = (0..operations.count(rank)).map(OperationIx);
            numbers.map(move |operation| (rank, operation, operations.get(rank, operation)))
        })
    }

    /// Returns true if a receive starts with its message.
    fn starts_with_message(&self, operation: Operation) -> bool {
        self.job.operations.matching() == Matching::Operation && matches!(operation, Operation::Receive { .. })
    }

    /// Checks the executed operations of job `number`, and its messages.
    fn check(&self, number: usize, run: &Run) -> Result<(), TestCaseError> {
        let of_job = run.results.executed.iter().filter(|(job, ..)| *job == number);
        let mut executions = Executions::new();
        for (_, rank, Executed { operation, start, end }) in of_job {
            prop_assert!(start <= end);
            let twice = executions.insert((*rank, *operation), (*start, *end));
            prop_assert_eq!(twice, None, "{:?} of {:?}", operation, rank);
        }
        let messages = self.messages(run);
        let ready = self.check_order(&executions)?;
        self.check_streams(&executions, &ready)?;
        self.check_messages(&executions, &messages)?;
        let is_done = executions.len() == self.operations().count();
        prop_assert!(is_done || !run.results.is_done);
        if is_done {
            self.check_balance(&executions, &messages)?;
            self.check_iterations(number, &executions, run)?;
        }
        Ok(())
    }

    /// A message or receive starts when the last of its prerequisites occurs. A computation does
    /// not start earlier.
    fn check_order(&self, executions: &Executions) -> Result<Ready, TestCaseError> {
        let mut ready = Ready::new();
        for (rank, operation, _) in self.operations() {
            ready.insert((rank, operation), Some(self.job.start));
        }
        for (rank, waiting, on, after) in &self.edges {
            let at =
                executions.get(&(*rank, *on)).map(|(start, end)| if *after == After::Start { *start } else { *end });
            let ready = ready.get_mut(&(*rank, *waiting)).unwrap();
            *ready = ready.zip(at).map(|(one, other)| one.max(other));
            // The start of an operation that has not ended is not recorded.
            let has_started = executions.contains_key(&(*rank, *waiting));
            prop_assert!(!has_started || at.is_some() || *after == After::Start, "{:?} {:?} {:?}", rank, waiting, on);
        }
        for (rank, number, operation) in self.operations() {
            let Some((start, _)) = executions.get(&(rank, number)) else { continue };
            let Some(ready) = ready[&(rank, number)].filter(|_| !self.starts_with_message(operation)) else { continue };
            let is_computation = matches!(operation, Operation::Compute { .. });
            prop_assert!(*start == ready || is_computation && *start > ready, "{:?} {:?}", rank, operation);
        }
        // Computations of a stream start when they are ready or when another one ends.
        let ends = |rank: Rank, wanted: StreamIx| -> BTreeSet<Time> {
            let of_stream = self.operations().filter(|(of, _, operation)| {
                *of == rank && matches!(operation, Operation::Compute { stream, .. } if *stream == wanted)
            });
            of_stream.filter_map(|(rank, number, _)| executions.get(&(rank, number)).map(|(_, end)| *end)).collect()
        };
        for (rank, number, operation) in self.operations() {
            let Operation::Compute { stream, .. } = operation else { continue };
            let Some((start, _)) = executions.get(&(rank, number)) else { continue };
            let is_ready = ready[&(rank, number)].is_none_or(|ready| ready == *start);
            prop_assert!(is_ready || ends(rank, stream).contains(start), "{:?} {:?} starts late", rank, number);
        }
        Ok(ready)
    }

    /// A stream runs one computation at a time, each for its length, in the order in which they
    /// become ready.
    fn check_streams(&self, executions: &Executions, ready: &Ready) -> Result<(), TestCaseError> {
        let mut streams: BTreeMap<(Rank, StreamIx), Vec<Span>> = BTreeMap::new();
        for (rank, number, operation) in self.operations() {
            let Operation::Compute { length, stream } = operation else { continue };
            let Some(&(start, end)) = executions.get(&(rank, number)) else { continue };
            prop_assert_eq!(end, start + length);
            let ready = ready[&(rank, number)].unwrap_or(start);
            streams.entry((rank, stream)).or_default().push((start, end, ready));
        }
        for (stream, mut spans) in streams {
            spans.sort_unstable();
            let is_apart = |pair: &[Span]| pair[0].1 <= pair[1].0;
            prop_assert!(spans.windows(2).all(is_apart), "{:?}: {:?}", stream, spans);
            spans.sort_unstable_by_key(|(start, end, ready)| (*ready, *start, *end));
            prop_assert!(spans.is_sorted_by_key(|(start, ..)| *start), "{:?}: {:?}", stream, spans);
        }
        Ok(())
    }

    /// Returns the outcomes of the job's messages.
    fn messages<'a>(&self, run: &'a Run) -> Vec<&'a FlowOutcome> {
        let (first, count) = (self.job.first.0, self.job.connections.count());
        run.messages.iter().filter(|it| (first..first + count).contains(&it.flow.0)).collect()
    }

    /// Messages are numbered from 0 on each connection, and arrive completely before they are
    /// acknowledged. A send lasts from the posting of its message to the acknowledgement. A receive
    /// ends when a message arrives, unless the message has arrived before.
    fn check_messages(&self, executions: &Executions, messages: &[&FlowOutcome]) -> Result<(), TestCaseError> {
        let mut counts: BTreeMap<FlowId, u32> = BTreeMap::new();
        for message in messages {
            let count = counts.entry(message.flow).or_default();
            prop_assert_eq!(message.message, *count);
            *count += 1;
            prop_assert!(message.spec.start >= self.job.start && message.reception.delivered <= message.spec.bytes);
            if let Some(acknowledged) = message.acknowledged {
                let finish = message.reception.finish.unwrap();
                prop_assert!(message.spec.start < finish && finish < acknowledged);
                prop_assert_eq!(message.reception.delivered, message.spec.bytes);
            }
        }
        let host = |rank| self.job.connections.host(rank);
        let sent: BTreeSet<(NodeId, NodeId, Time, Time)> = messages
            .iter()
            .filter_map(|it| Some((it.spec.src, it.spec.dst, it.spec.start, it.acknowledged?)))
            .collect();
        let arrived: BTreeSet<(NodeId, Time)> =
            messages.iter().filter_map(|it| Some((it.spec.dst, it.reception.finish?))).collect();
        let mut receives: BTreeMap<Envelope, (Time, Time)> = BTreeMap::new();
        for (rank, number, operation) in self.operations() {
            let Some(&(start, end)) = executions.get(&(rank, number)) else { continue };
            match operation {
                Operation::Send { to, .. } => {
                    prop_assert!(sent.contains(&(host(rank), host(to), start, end)), "{:?} {:?}", rank, number);
                }
                Operation::Receive { from, tag } => {
                    let is_early = start == end && !self.starts_with_message(operation);
                    prop_assert!(is_early || arrived.contains(&(host(rank), end)), "{:?} {:?}", rank, number);
                    receives.insert((from, rank, tag), (start, end));
                }
                Operation::Compute { .. } => {}
            }
        }
        if !self.is_unique && self.job.operations.matching() == Matching::Tag {
            return Ok(());
        }
        // A receive ends after the start of its send, and when the send ends at the latest.
        for (rank, number, operation) in self.operations() {
            let Operation::Send { to, tag, .. } = operation else { continue };
            let receive = receives.get(&(Some(rank), to, Some(tag))).copied();
            match (executions.get(&(rank, number)).copied(), receive) {
                (Some((sent, acknowledged)), Some((start, end))) => {
                    prop_assert!(end > sent && end <= acknowledged.max(start), "{:?} {:?}", rank, number);
                }
                (Some(_), None) => prop_assert!(self.is_unique, "{:?} {:?} arrived nowhere", rank, number),
                (None, _) => {}
            }
        }
        Ok(())
    }

    /// The parts of all sends' messages arrive once, and no others.
    fn check_balance(&self, executions: &Executions, messages: &[&FlowOutcome]) -> Result<(), TestCaseError> {
        let (queue_pairs, spread) = (self.job.connections.queue_pairs(), self.job.connections.spread());
        let host = |rank| self.job.connections.host(rank);
        let mut expected = Vec::new();
        for (rank, number, operation) in self.operations() {
            let Operation::Send { to, bytes, .. } = operation else { continue };
            let (start, _) = executions[&(rank, number)];
            let parts = parts(bytes, queue_pairs.into(), spread);
            expected.extend(parts.into_iter().map(|part| (host(rank), host(to), start, part)));
        }
        let mut posted: Vec<_> =
            messages.iter().map(|it| (it.spec.src, it.spec.dst, it.spec.start, it.spec.bytes)).collect();
        expected.sort_unstable();
        posted.sort_unstable();
        prop_assert_eq!(posted, expected);
        prop_assert!(messages.iter().all(|it| it.reception.delivered == it.spec.bytes && it.acknowledged.is_some()));
        Ok(())
    }

    /// Listed operations are one iteration, from the start of the job to the last end at each rank.
    /// Iterations of generated operations follow each other after a gap.
    fn check_iterations(&self, number: usize, executions: &Executions, run: &Run) -> Result<(), TestCaseError> {
        let operations = &self.job.operations;
        for rank in (0..operations.ranks()).map(Rank) {
            let of_rank = run.results.iterations.iter().filter(|(job, _, of)| (*job, *of) == (number, rank));
            let iterations: Vec<(u32, Time, Time)> = of_rank.map(|(_, it, _)| (it.number, it.start, it.end)).collect();
            let is_listed = operations.iterations().is_none();
            // Acknowledgements are not part of a generated iteration.
            let is_part = |operation: OperationIx| {
                is_listed || !matches!(operations.get(rank, operation), Operation::Send { .. })
            };
            let ends = executions.range((rank, OperationIx(0))..(Rank(rank.0 + 1), OperationIx(0)));
            let ends = ends.filter(|((_, operation), _)| is_part(*operation)).map(|(_, (_, end))| *end);
            let last = ends.max().unwrap_or(self.job.start);
            let Some(count) = operations.iterations() else {
                prop_assert_eq!(iterations, [(0, self.job.start, last)]);
                continue;
            };
            prop_assert_eq!(iterations.len() as u32, count);
            let mut start = self.job.start;
            for ((number, begin, end), expected) in iterations.into_iter().zip(0..) {
                prop_assert_eq!((number, begin), (expected, start));
                start = end + self.gap;
            }
            prop_assert_eq!(start, last + self.gap);
        }
        Ok(())
    }
}

/// Executes every operation once, in an order that its dependencies allow, and delivers every
/// message once. Shards, threads, interruptions and observers have no effect. Latency breakdowns
/// explain the full time of every message and flow.
#[test]
fn random_jobs_run_in_random_networks() {
    let config = cases(30);
    let count = config.cases as usize;
    let verdicts: RefCell<BTreeMap<Verdict, usize>> = RefCell::default();
    let idle = prop::option::of((1u64..50_000).prop_map(Duration::from_ns));
    let strategy = (prop_oneof![2 => any_case(), 1 => lossless()], idle, drafts(), drafts(), any::<u64>());
    let run = TestRunner::new(config).run(&strategy, |(mut case, idle, one, other, seed)| {
        case.spec.host.idle = idle.map_or(IdleConfig::Keep {}, |after| IdleConfig::Fresh { after });
        let mut plans = [one.plan(&case, 0), other.plan(&case, 1)];
        let (expected, end, verdict) = run_to_end(simulation(&case, &mut plans, whole));
        *verdicts.borrow_mut().entry(verdict).or_default() += 1;
        prop_assert_eq!(&expected.violations, &Vec::<String>::new());
        for (number, plan) in plans.iter().enumerate() {
            plan.check(number, &expected)?;
        }
        let counts = [expected.totals.received_flows, expected.totals.acknowledged_flows];
        let received = expected.messages.iter().filter(|it| it.reception.finish.is_some()).count();
        let acknowledged = expected.messages.iter().filter(|it| it.acknowledged.is_some()).count();
        prop_assert_eq!(counts, [received as u64, acknowledged as u64]);
        let paces = [
            (2, 1, Pace::Slices(3)),
            (3, 2, Pace::Slices(20)),
            (7, 3, Pace::Slices(1)),
            (4, 2, Pace::Stops(20)),
            (1, 1, Pace::Slices(101)),
            (1, 1, Pace::Stops(1)),
            (1, 1, Pace::Stops(50)),
        ];
        // Windows are as short as links. In long runs, they would take too long on several threads.
        let most_threads = if expected.totals.events < 20_000 { 3 } else { 1 };
        for (shards, threads, pace) in paces {
            let simulation = simulation(&case, &mut plans, |fabric| dealt(fabric, shards, seed));
            let run = run_until(simulation, end, threads.min(most_threads), pace);
            prop_assert_eq!(&run, &expected, "{} shards, {} threads, {:?}", shards, threads, pace);
        }
        for (number, observe) in OBSERVERS.into_iter().enumerate() {
            let mut simulation = simulation(&case, &mut plans, |fabric| dealt(fabric, 1 + number, seed));
            observe(&mut simulation);
            let run = run_until(simulation, end, 1, Pace::Slices(2));
            prop_assert_eq!(&run, &expected, "observer {}", number);
        }
        for shards in [1, 3] {
            let mut simulation = simulation(&case, &mut plans, |fabric| dealt(fabric, shards, seed));
            simulation.watch_flows();
            let run = run_until(simulation, end, 1, Pace::Slices(2));
            for outcome in &run.messages {
                prop_assert_eq!(complaint(outcome, end), None);
            }
            prop_assert_eq!(without_breakdowns(run), without_breakdowns(expected.clone()), "{} shards", shards);
        }
        Ok(())
    });
    run.unwrap();
    let verdicts = verdicts.into_inner();
    let finished = verdicts.get(&Verdict::Finished).copied().unwrap_or_default();
    assert!(10 * finished >= 8 * count, "{verdicts:?}");
}

/// Short messages follow each other closely on links that corrupt every twentieth frame. An ACK
/// often ends several messages, because the ACKs before are lost.
#[test]
fn lost_acks_lose_no_message() {
    for (seed, recovery) in (0..24).zip(RecoveryConfig::all().into_iter().cycle()) {
        let mut spec = star(4);
        (spec.seed, spec.recovery) = (seed, recovery);
        set_error_rate(&mut spec, 0.05);
        let case = Case { spec, flows: vec![flow(0, 1, 100_000, 0)] };
        let cut = Cut { bytes: 60_000, channels: 1, chunk: 1500, iterations: 2, gap: Duration::ZERO };
        let (kind, start) = (Kind::Ring(RingKind::AllReduce, cut), Time::ZERO);
        let draft = Draft { kind, ranks: 4, queue_pairs: 1, spread: Spread::RoundRobin, start, seed };
        let plans = &mut [draft.plan(&case, 0)];
        let (run, _, verdict) = run_to_end(simulation(&case, plans, whole));
        assert_eq!(verdict, Verdict::Finished);
        plans[0].check(0, &run).unwrap();
        let mut ends: Vec<_> = run.messages.iter().map(|it| (it.flow, it.acknowledged)).collect();
        ends.sort_unstable();
        assert!(ends.windows(2).any(|pair| pair[0] == pair[1]), "no ACK ends two messages");
    }
}

// ------------------------------------------------------------------------------------- lower bound

proptest! {
    #![proptest_config(cases(60))]

    /// A run on an ideal network, without contention, queues and busy streams, is a lower bound.
    #[test]
    fn no_job_is_faster_than_on_an_ideal_network(
        case in plain(),
        kind in listed(Just(true)),
        (ranks, seed) in (2u32..9, any::<u64>()),
    ) {
        let mut case = case;
        // All links have the rate of the fastest one.
        let room = case.spec.switch.buffer.get() - reserved(&case.spec);
        let rate = case.spec.links.iter().map(|link| link.rate).max().unwrap();
        case.spec.links.iter_mut().for_each(|link| link.rate = rate);
        case.spec.switch.buffer = Bytes(reserved(&case.spec) + room);
        let draft = Draft { kind, ranks, queue_pairs: 1, spread: Spread::RoundRobin, start: Time::ZERO, seed };
        let plans = &mut [draft.plan(&case, 0)];
        let simulation = simulation(&case, plans, whole);
        let Job { operations, connections, first, .. } = &plans[0].job;
        let fabric = Fabric::new(case.spec.clone()).unwrap();
        let travel = |from: Rank, to: Rank, bytes: u64| {
            let index = connections.first(from, to, 0);
            let (id, spec) = (FlowId(first.0 + index), FlowSpec { bytes, ..connections.get(index).unwrap() });
            let path = |direction| fabric.path(id, &spec, direction);
            let data = fabric.ideal_fct(&spec, &path(Direction::Data), 0).unwrap();
            let back = FlowSpec { src: spec.dst, dst: spec.src, ..spec.clone() };
            let ack = u64::from(fabric.spec.framing.ack(0).wire);
            let hop = |ps: u64, port: &PortFacts| {
                ps + (fabric.spec.framing.byte_time(port.rate).times(ack as u32) + port.delay).ps()
            };
            let answer = fabric.egress_ports(&back, &path(Direction::Ack)).fold(0, hop);
            (data, Duration::from_ps(answer))
        };
        let ideal = ideal_run(operations, &travel);
        prop_assert_eq!(&ideal.stuck, &vec![]);
        let (run, _, verdict) = run_to_end(simulation);
        prop_assert!(verdict == Verdict::Finished || verdict == Verdict::Long);
        if verdict == Verdict::Finished {
            let end = run.results.executed.iter().map(|(.., it)| it.end).max().unwrap();
            prop_assert!(end - Time::ZERO >= ideal.end, "{} {}", end, ideal.end);
            prop_assert!(run.results.time(0, 0) >= ideal.iterations[0]);
        }
    }
}
