//! Jobs against flows. The messages of a job are simulated as plain flows, whose starts follow from
//! the ends of other flows. The starts are guessed, and corrected after each run until they are
//! consistent. Both simulations must agree on every message to the picosecond.
//!
//! The rules of the collectives and of graphs are written down here once more, as lists of events
//! that each message waits for.
//!
//! Every message has a queue pair of its own, and the hash keys of queue pairs and flows are equal,
//! so their paths are equal, too. Events at one instant are handled in this order at a host:
//! arrivals, starts of flows, ports, timers. A message that is posted when a frame arrives is thus
//! posted before the port chooses the next packet, like a flow that starts at this instant: hosts
//! have one link each, so at most one frame arrives per instant. The ACK of an arrived message is
//! queued before in both cases. A message that is posted by a timer would be late for the port.
//! Timers expire at odd times, which differ from all other times at the host: at the start of jobs
//! and at the ends of computations.

use crate::common::{job, partitioned, results};
use crate::fabric::applications::whole;
use backwater_engine::random::{Seed, Stream};
use backwater_engine::{Bytes, Duration, Time};
use backwater_fabric::Simulation;
use backwater_fabric::driver::outcome::{FlowOutcome, Totals};
use backwater_fabric::fixtures::{flow, leaf_spine, star};
use backwater_fabric::ids::{FlowId, NodeId};
use backwater_fabric::mechanisms::congestion::CongestionConfig;
use backwater_fabric::mechanisms::headroom::HeadroomConfig;
use backwater_fabric::mechanisms::headroom::static_threshold::StaticConfig;
use backwater_fabric::network::spec::{FlowKeys, FlowSpec, NetworkSpec};
use backwater_jobs::collective::Division;
use backwater_jobs::collective::all_to_all::{AllToAll, PeerOrder};
use backwater_jobs::collective::ring::{Ring, RingKind};
use backwater_jobs::connections::{JobConnections, Pairs, Spread};
use backwater_jobs::graph::{Graph, RankBuilder};
use backwater_jobs::host::Job;
use backwater_jobs::operation::{After, Operations, Rank, StreamIx};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Event that a message or a computation waits for, with the number of the message or computation.
#[derive(Clone, Copy, Debug)]
enum Event {
    Posted(usize),
    Arrived(usize),
    Acknowledged(usize),
    /// Start and end of a computation.
    Started(usize),
    Computed(usize),
}

#[derive(Clone, Debug)]
struct Message {
    from: u32,
    to: u32,
    channel: u32,
    bytes: u64,
    needs: Vec<Event>,
}

#[derive(Clone, Debug)]
struct Computation {
    rank: u32,
    stream: u8,
    length: Duration,
    needs: Vec<Event>,
}

/// Messages and computations of a job, each in the order of the operations of a rank.
#[derive(Clone, Debug, Default)]
struct Schedule {
    messages: Vec<Message>,
    computations: Vec<Computation>,
}

/// A job, and its schedule.
struct Subject {
    operations: Arc<dyn Operations>,
    pairs: Pairs,
    schedule: Schedule,
    hosts: Vec<u32>,
    start: Time,
}

/// Times of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    arrived: Time,
    acknowledged: Time,
}

impl Schedule {
    /// Returns the time at which each message is posted.
    fn posted(&self, start: Time, times: &[Times]) -> Vec<Time> {
        let (mut posted, mut computed) =
            (vec![start; self.messages.len()], vec![(start, start); self.computations.len()]);
        for _ in 0..10_000 {
            let last = |needs: &[Event]| {
                let at = |event: &Event| match *event {
                    Event::Posted(message) => posted[message],
                    Event::Arrived(message) => times[message].arrived,
                    Event::Acknowledged(message) => times[message].acknowledged,
                    Event::Started(computation) => computed[computation].0,
                    Event::Computed(computation) => computed[computation].1,
                };
                needs.iter().map(at).max().unwrap_or(start)
            };
            let before = (posted.clone(), computed.clone());
            let ready: Vec<Time> = self.computations.iter().map(|it| last(&it.needs)).collect();
            let next: Vec<Time> = self.messages.iter().map(|it| last(&it.needs)).collect();
            // A stream takes computations in the order in which they become ready.
            let mut order: Vec<usize> = (0..ready.len()).collect();
            order.sort_by_key(|index| (ready[*index], *index));
            let mut free: BTreeMap<(u32, u8), Time> = BTreeMap::new();
            for index in order {
                let Computation { rank, stream, length, .. } = self.computations[index];
                let free = free.entry((rank, stream)).or_default();
                let begin = ready[index].max(*free);
                *free = begin + length;
                computed[index] = (begin, *free);
            }
            posted = next;
            if before == (posted.clone(), computed.clone()) {
                return posted;
            }
        }
        panic!("operations wait for each other");
    }
}

// --------------------------------------------------------------------------------------- schedules

/// Returns a ring collective whose messages have `bytes` each, on random hosts.
fn ring(kind: RingKind, hosts: Vec<u32>, [channels, chunks]: [u32; 2], iterations: u32, bytes: u64) -> Subject {
    let (ranks, gap) = (hosts.len() as u32, Duration::from_ps(3_000_017));
    let blocks = if kind == RingKind::SendReceive { 1 } else { ranks };
    let parts = channels * chunks;
    let division = Division::new(bytes * u64::from(blocks * parts), blocks, channels, bytes).unwrap();
    let operations = Arc::new(Ring::new(kind, ranks, division, iterations, gap));
    let steps = match kind {
        RingKind::AllReduce => 2 * (ranks - 1),
        RingKind::AllGather | RingKind::ReduceScatter => ranks - 1,
        RingKind::SendReceive => 1,
    };
    let number = |iteration: u32, rank: u32, step: u32, part: u32| {
        (((iteration * ranks + rank) * steps + step) * parts + part) as usize
    };
    let begin = |iteration: u32, rank: u32| (iteration * ranks + rank) as usize;
    let mut schedule = Schedule::default();
    for iteration in 0..iterations {
        for rank in 0..ranks {
            let previous = (rank + ranks - 1) % ranks;
            let each = || (0..steps).flat_map(|step| (0..parts).map(move |part| (step, part)));
            let needs = |before: u32| -> Vec<Event> {
                each()
                    .flat_map(|(step, part)| {
                        let [sent, received] = [rank, previous].map(|of| number(before, of, step, part));
                        [Event::Posted(sent), Event::Arrived(received)]
                    })
                    .collect()
            };
            let (needs, length) = match iteration.checked_sub(1) {
                Some(before) => (needs(before), gap),
                None => (vec![], Duration::ZERO),
            };
            schedule.computations.push(Computation { rank, stream: 0, length, needs });
            for (step, part) in each() {
                let needs = match step.checked_sub(1) {
                    Some(before) => vec![
                        Event::Arrived(number(iteration, previous, before, part)),
                        Event::Posted(number(iteration, rank, before, part)),
                    ],
                    None => vec![Event::Computed(begin(iteration, rank))],
                };
                let (to, channel) = ((rank + 1) % ranks, part / chunks);
                schedule.messages.push(Message { from: rank, to, channel, bytes, needs });
            }
        }
    }
    Subject { operations, pairs: Pairs::Ring { ranks, channels }, schedule, hosts, start: Time::ZERO }
}

/// Returns an all-to-all whose messages have `bytes` each.
fn all_to_all(hosts: Vec<u32>, window: u32, chunks: u32, iterations: u32, bytes: u64) -> Subject {
    let (ranks, gap) = (hosts.len() as u32, Duration::from_ps(2_000_039));
    let division = Division::new(bytes * u64::from(ranks * chunks), ranks, 1, bytes).unwrap();
    let operations = Arc::new(AllToAll::new(ranks, PeerOrder::Rotation, window, division, iterations, gap));
    let steps = ranks - 1;
    let number = |iteration: u32, rank: u32, step: u32, part: u32| {
        (((iteration * ranks + rank) * steps + step) * chunks + part) as usize
    };
    let begin = |iteration: u32, rank: u32| (iteration * ranks + rank) as usize;
    let mut schedule = Schedule::default();
    for iteration in 0..iterations {
        for rank in 0..ranks {
            let sender = |step: u32| (rank + ranks - 1 - step) % ranks;
            let mut needs = Vec::new();
            if let Some(before) = iteration.checked_sub(1) {
                for (step, part) in (0..steps).flat_map(|step| (0..chunks).map(move |part| (step, part))) {
                    needs.push(Event::Posted(number(before, rank, step, part)));
                    needs.push(Event::Arrived(number(before, sender(step), step, part)));
                }
            }
            let length = if iteration == 0 { Duration::ZERO } else { gap };
            schedule.computations.push(Computation { rank, stream: 0, length, needs });
            for step in 0..steps {
                let mut needs = Vec::new();
                match step.checked_sub(window) {
                    None => needs.push(Event::Computed(begin(iteration, rank))),
                    Some(before) => {
                        for part in 0..chunks {
                            needs.push(Event::Acknowledged(number(iteration, rank, before, part)));
                            needs.push(Event::Arrived(number(iteration, sender(before), before, part)));
                        }
                    }
                }
                for _ in 0..chunks {
                    let (to, needs) = ((rank + 1 + step) % ranks, needs.clone());
                    schedule.messages.push(Message { from: rank, to, channel: 0, bytes, needs });
                }
            }
        }
    }
    Subject { operations, pairs: Pairs::All { ranks, channels: 1 }, schedule, hosts, start: Time::ZERO }
}

/// Start and end of an operation of a graph.
#[derive(Clone, Copy)]
enum Drawn {
    Sent(usize),
    Received(usize),
    Computed(usize),
}

/// Returns random messages and computations. A message is sent before it is received in one order
/// of all ranks, and waits for a computation of its own. A receive waits for nothing, so it ends
/// when its message arrives.
fn random_graph(hosts: Vec<u32>, messages: u32, draws: &mut Stream) -> Subject {
    let ranks = hosts.len() as u64;
    let mut builders: Vec<RankBuilder> = (0..ranks).map(|_| RankBuilder::default()).collect();
    let (mut schedule, mut of_rank) = (Schedule::default(), vec![Vec::new(); ranks as usize]);
    let (mut left, mut sent) = (messages, Vec::new());
    while left > 0 || !sent.is_empty() {
        let rank = Rank(draws.below(ranks) as u32);
        if left > 0 && draws.chance(0.6) {
            left -= 1;
            // Computations of odd lengths, most of them on shared streams.
            for is_own in [false, true] {
                if !is_own && draws.chance(0.5) {
                    continue;
                }
                let of_rank: &mut Vec<(_, Drawn)> = &mut of_rank[rank.index()];
                let stream = if is_own { 10 + left as u8 } else { draws.below(2) as u8 };
                let length = Duration::from_ps(2 * draws.below(if is_own { 1_000_000 } else { 9_000_000 }) + 1);
                let operation = builders[rank.index()].compute(length, StreamIx(stream));
                let mut needs = Vec::new();
                for _ in 0..draws.below(3).min(of_rank.len() as u64) {
                    let (on, drawn) = of_rank[draws.below(of_rank.len() as u64) as usize];
                    let (after, event) = match (drawn, draws.chance(0.3)) {
                        (Drawn::Sent(message), true) => (After::Start, Event::Posted(message)),
                        (Drawn::Sent(message), false) => (After::End, Event::Acknowledged(message)),
                        (Drawn::Received(message), _) => (After::End, Event::Arrived(message)),
                        (Drawn::Computed(computation), true) => (After::Start, Event::Started(computation)),
                        (Drawn::Computed(computation), false) => (After::End, Event::Computed(computation)),
                    };
                    builders[rank.index()].wait(operation, on, after);
                    needs.push(event);
                }
                of_rank.push((operation, Drawn::Computed(schedule.computations.len())));
                schedule.computations.push(Computation { rank: rank.0, stream, length, needs });
            }
            let to = ((u64::from(rank.0) + 1 + draws.below(ranks - 1)) % ranks) as u32;
            let (number, bytes) = (schedule.messages.len(), 1 + draws.below(60_000));
            let operation = builders[rank.index()].send(Rank(to), bytes, number as u32);
            let (computation, _) = of_rank[rank.index()][of_rank[rank.index()].len() - 1];
            builders[rank.index()].wait(operation, computation, After::End);
            let needs = vec![Event::Computed(schedule.computations.len() - 1)];
            schedule.messages.push(Message { from: rank.0, to, channel: 0, bytes, needs });
            of_rank[rank.index()].push((operation, Drawn::Sent(number)));
            sent.push(number);
        } else if !sent.is_empty() {
            let number = sent.swap_remove(draws.below(sent.len() as u64) as usize);
            let Message { from, to, bytes, .. } = schedule.messages[number];
            let operation = builders[to as usize].receive(Some(Rank(from)), bytes, Some(number as u32));
            of_rank[to as usize].push((operation, Drawn::Received(number)));
        }
    }
    let graph = Graph::new(builders);
    let pairs = Pairs::Listed(graph.pairs());
    Subject { operations: Arc::new(graph), pairs, schedule, hosts, start: Time::ZERO }
}

// -------------------------------------------------------------------------------------- comparison

/// Results of messages and flows: outcomes by identity, and totals.
#[derive(Debug, PartialEq)]
struct Outcomes {
    flows: Vec<FlowOutcome>,
    totals: Totals,
}

impl Outcomes {
    /// Returns the number of messages of jobs that waited behind a PAUSE.
    fn paused(&self) -> usize {
        self.flows.iter().filter(|it| it.spec.part != OTHERS && it.reception.paused > Duration::ZERO).count()
    }
}

/// Part of the flows beside jobs.
const OTHERS: u32 = 99;

fn outcomes(simulation: &Simulation) -> Outcomes {
    let mut flows: Vec<FlowOutcome> = simulation.outcomes();
    flows.sort_by_key(|it| (it.spec.part, it.spec.src, it.spec.dst, it.spec.number));
    for outcome in &mut flows {
        assert_eq!(outcome.message, 0, "every message has a connection of its own");
        outcome.flow = FlowId(0);
    }
    // Timers of applications are events, too.
    Outcomes { flows, totals: Totals { events: 0, ..simulation.totals() } }
}

/// Returns the identity of a message or a flow.
fn key(spec: &FlowSpec) -> (u32, NodeId, NodeId, u32) {
    (spec.part, spec.src, spec.dst, spec.number)
}

fn template(part: usize) -> FlowSpec {
    FlowSpec { part: part as u32 + 1, ..FlowSpec::new(NodeId(0), NodeId(0), 1) }
}

/// Returns the messages as flows that start at given times. The messages of two ranks on one
/// channel take their queue pairs in turns.
fn flows(subject: &Subject, part: usize, posted: &[Time], queue_pairs: u32) -> Vec<FlowSpec> {
    let messages = &subject.schedule.messages;
    let mut order: Vec<usize> = (0..messages.len()).collect();
    order.sort_by_key(|index| (posted[*index], *index));
    let mut turns: BTreeMap<(u32, u32, u32), u32> = BTreeMap::new();
    let mut flows = vec![FlowSpec::new(NodeId(0), NodeId(0), 1); messages.len()];
    for index in order {
        let Message { from, to, channel, bytes, .. } = messages[index];
        let turn = turns.entry((from, to, channel)).or_default();
        assert!(*turn < queue_pairs);
        let [src, dst] = [from, to].map(|rank| NodeId(subject.hosts[rank as usize]));
        let number = channel * queue_pairs + *turn;
        flows[index] = FlowSpec { src, dst, bytes, number, start: posted[index], ..template(part) };
        *turn += 1;
    }
    flows
}

/// Compares jobs with flows, beside other flows. Returns the common results, and the number of
/// simulations until the starts were consistent.
fn compare(spec: &NetworkSpec, subjects: &[Subject], others: &[FlowSpec]) -> (Outcomes, u32) {
    let queue_pairs: Vec<u32> = subjects
        .iter()
        .map(|subject| {
            let mut counts: BTreeMap<(u32, u32, u32), u32> = BTreeMap::new();
            let lanes = subject.schedule.messages.iter().map(|it| (it.from, it.to, it.channel));
            lanes.for_each(|lane| *counts.entry(lane).or_default() += 1);
            counts.into_values().max().unwrap()
        })
        .collect();
    let mut jobs: Vec<Job> = Vec::new();
    for (part, (subject, queue_pairs)) in subjects.iter().zip(&queue_pairs).enumerate() {
        let hosts = subject.hosts.iter().copied().map(NodeId).collect();
        let pairs = subject.pairs.clone();
        let connections = JobConnections::new(hosts, pairs.clone(), *queue_pairs, Spread::RoundRobin, template(part));
        let (connections, start) = (Arc::new(connections), subject.start);
        jobs.push(Job { connections, start, ..job(subject.operations.clone(), pairs) });
    }
    let mut simulation = partitioned(spec, &mut jobs, others.to_vec(), whole);
    assert!(results(&mut simulation).is_done);
    let expected = outcomes(&simulation);

    let mut posted: Vec<Vec<Time>> =
        subjects.iter().map(|subject| vec![subject.start; subject.schedule.messages.len()]).collect();
    for round in 1..1000 {
        let of_jobs: Vec<Vec<FlowSpec>> = (subjects.iter().zip(&posted).zip(&queue_pairs).enumerate())
            .map(|(part, ((subject, posted), queue_pairs))| flows(subject, part, posted, *queue_pairs))
            .collect();
        let mut all: Vec<FlowSpec> = of_jobs.iter().flatten().chain(others).cloned().collect();
        all.sort_by_key(|flow| flow.start);
        let mut simulation = Simulation::new(spec.clone(), all, 1).unwrap();
        crate::fabric::drain(&mut simulation);
        let found = outcomes(&simulation);
        let times: BTreeMap<_, Times> = (found.flows.iter())
            .map(|it| {
                let (arrived, acknowledged) = (it.reception.finish.unwrap(), it.acknowledged.unwrap());
                (key(&it.spec), Times { arrived, acknowledged })
            })
            .collect();
        let next: Vec<Vec<Time>> = (subjects.iter().zip(&of_jobs))
            .map(|(subject, flows)| {
                let times: Vec<Times> = flows.iter().map(|flow| times[&key(flow)]).collect();
                subject.schedule.posted(subject.start, &times)
            })
            .collect();
        if next == posted {
            for (one, other) in found.flows.iter().zip(&expected.flows) {
                assert_eq!(one, other);
            }
            assert_eq!(found, expected);
            return (found, round);
        }
        posted = next;
    }
    panic!("starts do not become consistent");
}

/// Returns a leaf-spine with links of odd delays, and switches that send PAUSE for short queues.
fn network(seed: u64) -> NetworkSpec {
    let mut draws = Seed(seed).stream("network", 0);
    let mut spec = if seed % 4 == 3 { star(8) } else { leaf_spine(2, 4, 1 + seed as u32 % 2) };
    for link in &mut spec.links {
        link.delay = Duration::from_ps(500_001 + 2 * draws.below(500_000));
    }
    spec.seed = seed;
    spec.flow_keys = FlowKeys::Connection;
    let xoff = Bytes(10_000 + draws.below(30_000));
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff, xon: None, headroom: None });
    spec.host.ack_every = [1, 1, 5, u32::MAX][seed as usize / 2 % 4];
    spec
}

/// Returns eight hosts in random order, in two parts.
fn halves(draws: &mut Stream) -> [Vec<u32>; 2] {
    let mut hosts: Vec<u32> = (0..8).collect();
    draws.shuffle(&mut hosts);
    let other = hosts.split_off(4);
    [hosts, other]
}

fn later(subject: Subject, draws: &mut Stream) -> Subject {
    Subject { start: Time::from_ps(2 * draws.below(5_000_000) + 1), ..subject }
}

const SEEDS: u64 = 12;

/// Two rings share the links between leaves.
#[test]
fn two_rings() {
    let (mut paused, mut rounds) = (0, 0);
    for seed in 0..SEEDS {
        let (spec, draws) = (network(seed), &mut Seed(seed).stream("rings", 0));
        let [one, other] = halves(draws);
        let kinds = [RingKind::AllReduce, RingKind::AllGather, RingKind::ReduceScatter, RingKind::SendReceive];
        let bytes = [(); 2].map(|()| 2000 + draws.below(60_000));
        let cut = [1 + draws.below(2) as u32, 1 + draws.below(3) as u32];
        let one = ring(kinds[seed as usize % 4], one, cut, 2, bytes[0]);
        let other = later(ring(RingKind::AllReduce, other, [1, 2], 1, bytes[1]), draws);
        let (found, count) = compare(&spec, &[one, other], &[]);
        (paused, rounds) = (paused + found.paused(), rounds.max(count));
    }
    assert!(paused > 20 && rounds > 10, "{paused} {rounds}");
}

/// Returns flows from random hosts to `to`, with odd starts.
fn incast(to: u32, draws: &mut Stream) -> Vec<FlowSpec> {
    let mut flows: Vec<FlowSpec> = (0..8)
        .filter(|src| *src != to)
        .map(|src| FlowSpec {
            start: Time::from_ps(2 * draws.below(10_000_000) + 1),
            part: OTHERS,
            ..flow(src, to, 1 + draws.below(100_000), 0)
        })
        .collect();
    flows.sort_by_key(|flow| flow.start);
    flows
}

/// An all-to-all beside an incast of flows, which pauses all hosts.
#[test]
fn an_all_to_all_beside_an_incast() {
    let (mut paused, mut rounds) = (0, 0);
    for seed in 0..SEEDS {
        let (spec, draws) = (network(seed), &mut Seed(seed).stream("exchange", 0));
        let mut hosts: Vec<u32> = (0..8).collect();
        draws.shuffle(&mut hosts);
        hosts.truncate(3 + draws.below(4) as usize);
        let (window, chunks) = (1 + draws.below(3) as u32, 1 + draws.below(2) as u32);
        let exchange = later(all_to_all(hosts, window, chunks, 2, 2000 + draws.below(40_000)), draws);
        let (found, count) = compare(&spec, &[exchange], &incast(draws.below(8) as u32, draws));
        assert!(found.totals.pause_frames > 0);
        (paused, rounds) = (paused + found.paused(), rounds.max(count));
    }
    assert!(paused > 50 && rounds > 10, "{paused} {rounds}");
}

/// Graphs with computations on shared streams, a ring and flows, on the same hosts.
#[test]
fn graphs_beside_a_ring_and_flows() {
    let mut paused = 0;
    for seed in 0..SEEDS {
        let (spec, draws) = (network(seed), &mut Seed(seed).stream("graphs", 0));
        let [one, other] = halves(draws);
        let graph = random_graph(one.iter().chain(&other[..2]).copied().collect(), 40, draws);
        let ring = later(ring(RingKind::AllGather, other, [2, 1], 2, 10_000), draws);
        let others = if seed % 2 == 0 { incast(draws.below(8) as u32, draws) } else { vec![] };
        let (found, _) = compare(&spec, &[later(graph, draws), ring], &others);
        paused += found.paused();
    }
    assert!(paused > 100, "{paused}");
}

/// Every queue pair has a congestion control of its own, which begins with its message.
#[test]
fn rings_under_congestion_control() {
    for (seed, congestion) in (0..).zip([
        CongestionConfig::Hpcc(Default::default()),
        CongestionConfig::Swift(Default::default()),
        CongestionConfig::Timely(Default::default()),
        CongestionConfig::PowerTcp(Default::default()),
    ]) {
        let mut spec = network(seed);
        (spec.congestion, spec.host.ack_every) = (congestion, 1);
        let draws = &mut Seed(seed).stream("controlled", 0);
        let [one, other] = halves(draws);
        let rings = [one, other].map(|hosts| later(ring(RingKind::AllReduce, hosts, [1, 2], 1, 30_000), draws));
        compare(&spec, &rings, &incast(draws.below(8) as u32, draws));
    }
}
