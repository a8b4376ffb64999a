//! Small networks and helpers for tests.
#![allow(unreachable_pub, missing_docs, reason = "helpers of tests are no interface")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cases;
#[macro_use]
pub mod mechanisms;
pub mod applications;
pub mod random;
#[macro_use]
pub mod script;

use backwater_engine::{Duration, Time};
use backwater_fabric::contract::Diagnostic;
use backwater_fabric::contract::report::{DropCause, Reception};
use backwater_fabric::driver::deadlock::Deadlock;
use backwater_fabric::driver::outcome::FlowOutcome;
use backwater_fabric::driver::simulation::Simulation;
use backwater_fabric::driver::trace::{TraceSpec, Traced};
use backwater_fabric::fixtures::{at_us, flow, link};
use backwater_fabric::frame::journey::Term;
use backwater_fabric::ids::NodeId;
use backwater_fabric::mechanisms::flow_control::FlowControlConfig;
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::spec::{FlowSpec, NetworkSpec};
#[allow(unused_imports, reason = "some tests draw no cases")]
pub use cases::cases;
use std::collections::BTreeSet;

/// Returns the chain h0 - s0 - s1 - ... - h1. `gbps` has the rate of every link; there are at least
/// two.
pub fn chain(gbps: &[u64], delay_ns: u64) -> NetworkSpec {
    let switches = gbps.len() as u32 - 1;
    let mut spec = NetworkSpec::with_nodes(2, switches);
    let node = |position: u32| match position {
        0 => 0,
        last if last == switches + 1 => 1,
        middle => middle + 1,
    };
    spec.links = (0u32..).zip(gbps).map(|(i, gbps)| link(node(i), node(i + 1), *gbps, delay_ns)).collect();
    spec
}

/// Returns a flow whose data passes the switches and relays `through`, in this order. ACKs take the
/// reverse path.
pub fn via(src: u32, through: &[u32], dst: u32, bytes: u64) -> FlowSpec {
    let nodes = |ids: &mut dyn Iterator<Item = &u32>| ids.map(|id| NodeId(*id)).collect();
    flow(src, dst, bytes, 0).via(nodes(&mut through.iter()), nodes(&mut through.iter().rev()))
}

/// Returns the traffic of Figure 5 of the PortFC paper in BCube(4, 1). Switches 16 to 19 are in
/// layer 0, and switches 20 to 23 in layer 1. Two flows of four hops connect opposite corners of a
/// ring, one in each direction. Two neighbours of h5 each send a burst to h5.
pub fn two_flows_and_a_burst() -> Vec<FlowSpec> {
    let burst = [9, 13].map(|src| via(src, &[21], 5, 400_000));
    let flows = [via(0, &[16, 1, 21], 5, 4_000_000), via(5, &[17, 4, 20], 0, 4_000_000)];
    flows.into_iter().chain(burst).collect()
}

/// Returns four flows round a ring of four servers of BCube(4, 1), and bursts into every switch of
/// the ring. Each of the servers relays one flow and sends another one through the same port.
pub fn four_flows_and_bursts() -> Vec<FlowSpec> {
    let round = [(0, [16, 1, 21], 5), (1, [21, 5, 17], 4), (5, [17, 4, 20], 0), (4, [20, 0, 16], 1)];
    let bursts = [(9, 21, 5), (13, 21, 5), (2, 16, 1), (3, 16, 1), (8, 20, 0), (12, 20, 0), (6, 17, 4), (7, 17, 4)];
    let round = round.map(|(src, by, dst)| via(src, &by, dst, 4_000_000));
    round.into_iter().chain(bursts.map(|(src, by, dst)| via(src, &[by], dst, 400_000))).collect()
}

/// Runs until no event is left, at most one simulated hour.
pub fn run(spec: &NetworkSpec, flows: Vec<FlowSpec>) -> (Simulation, Vec<FlowOutcome>) {
    run_shards(spec, flows, 1)
}

/// Runs until no event is left, like [`run`], and records the whole trace.
pub fn run_traced(spec: &NetworkSpec, flows: Vec<FlowSpec>) -> (Simulation, Vec<Traced>) {
    let mut simulation = Simulation::new(spec.clone(), flows, 1).unwrap();
    simulation.watch_trace(&TraceSpec::ALL);
    drain(&mut simulation);
    let trace = simulation.take_trace();
    (simulation, trace)
}

/// Asserts that `flows` finish without a deadlock, losses and errors, although some packets are
/// paused.
pub fn assert_flows_finish(spec: NetworkSpec, flows: Vec<FlowSpec>) {
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    assert_eq!(find_deadlock(&mut simulation, 1, 1000), None);
    drain(&mut simulation);
    assert_eq!((simulation.unfinished().len(), simulation.totals().drops, simulation.audit()), (0, [0; 5], vec![]));
    assert!(simulation.totals().pause_frames > 0);
}

pub fn run_shards(spec: &NetworkSpec, flows: Vec<FlowSpec>, shards: usize) -> (Simulation, Vec<FlowOutcome>) {
    let mut simulation = Simulation::new(spec.clone(), flows, shards).unwrap();
    drain(&mut simulation);
    let outcomes = simulation.outcomes();
    (simulation, outcomes)
}

/// Time limit of a run. With Swift's smallest window, 10 B, a flow sends one packet per 410 round
/// trips, and a round trip takes 10 ms at 10 Mb/s.
const LONG: Duration = Duration::from_ms(3_600_000);

pub fn drain(simulation: &mut Simulation) {
    let mut limit = Duration::from_us(100);
    while simulation.next_event() < Time::NEVER && simulation.now() < Time::ZERO + LONG {
        simulation.run_until(Time::ZERO + limit, 1);
        limit = limit * 2;
    }
}

/// True if the flow control and the load balancer of `spec` can run in its network.
pub fn applies(spec: &NetworkSpec) -> bool {
    let slots = ["switch.flow_control", "load_balance"];
    let refused = |error: &Diagnostic| slots.contains(&error.path.as_str());
    Fabric::new(spec.clone()).map_or_else(|errors| !errors.iter().any(refused), |_| true)
}

/// Returns flows of class 3, in order of their starts, from tuples of source, offset of the
/// destination's id from the source's id, bytes and start in ns.
pub fn flows_ahead(hosts: u32, drawn: Vec<(u32, u32, u64, u64)>) -> Vec<FlowSpec> {
    sorted(drawn.into_iter().map(|(src, ahead, bytes, start)| flow(src, (src + ahead) % hosts, bytes, start)))
}

/// Sets the error rate of all links.
pub fn set_error_rate(spec: &mut NetworkSpec, error_rate: f64) {
    for link in &mut spec.links {
        link.error_rate = error_rate;
    }
}

/// Sorts flows by their starts.
pub fn sorted(flows: impl IntoIterator<Item = FlowSpec>) -> Vec<FlowSpec> {
    let mut flows = Vec::from_iter(flows);
    flows.sort_by_key(|flow| flow.start);
    flows
}

/// Counts the frames dropped for one cause.
pub fn drops(simulation: &Simulation, cause: DropCause) -> u64 {
    simulation.totals().drops[cause as usize]
}

/// True if every byte of every flow was delivered.
pub fn all_delivered(outcomes: &[FlowOutcome]) -> bool {
    outcomes.iter().all(|outcome| outcome.reception.delivered == outcome.spec.bytes)
}

/// Returns the error of an outcome's latency breakdown, if any. The spans of the packet that
/// completes the flow or message cover the time from the start to the arrival, or to `now`. Every
/// span has a reason.
pub fn complaint(outcome: &FlowOutcome, now: Time) -> Option<String> {
    let Some(account) = &outcome.account else { return Some(format!("no latency breakdown: {outcome:#?}")) };
    let end = outcome.reception.finish.unwrap_or(now);
    let explained: Duration = account.completion.iter().map(|span| span.length).sum();
    let unexplained = |term: Term| term == Term::Unexplained;
    let is_whole = explained == end - outcome.spec.start
        && !account.completion.iter().any(|span| unexplained(span.term))
        && !account.packets.keys().chain(account.window.keys()).any(|(_, term, _)| unexplained(*term));
    (!is_whole).then(|| format!("{explained} of {}: {outcome:#?}", end - outcome.spec.start))
}

/// Returns an outcome without the facts that [`Simulation::watch_flows`] may add: the latency
/// breakdown, and the route of the packet that completed the flow or message.
pub fn without_breakdown(outcome: FlowOutcome) -> FlowOutcome {
    FlowOutcome { account: None, reception: Reception { way: None, ..outcome.reception }, ..outcome }
}

/// Returns the delivered payload bytes of each flow.
pub fn delivered(simulation: &Simulation) -> Vec<u64> {
    simulation.outcomes().iter().map(|outcome| outcome.reception.delivered).collect()
}

/// Returns the time at which the last flow was delivered.
pub fn last_finish(outcomes: &[FlowOutcome]) -> Time {
    outcomes.iter().map(|outcome| outcome.reception.finish.expect("all flows finish")).max().unwrap()
}

/// Runs until a check, made every `step_us`, finds a deadlock, or until `limit_us`.
pub fn find_deadlock(simulation: &mut Simulation, step_us: u64, limit_us: u64) -> Option<Deadlock> {
    (step_us..limit_us).step_by(step_us as usize).find_map(|us| {
        simulation.run_until(at_us(us), 1);
        simulation.find_deadlock()
    })
}

pub fn no_flow_control() -> FlowControlConfig {
    FlowControlConfig::None(Default::default())
}

/// Returns rows with one alternative per slot. Together, the rows contain every pair of
/// alternatives of different slots. The choice is greedy: slot by slot, a row takes the alternative
/// that adds the most new pairs.
pub fn covering(sizes: &[usize]) -> Vec<Vec<usize>> {
    let slots = || 0..sizes.len();
    let pairs = |row: &Vec<usize>| -> BTreeSet<[(usize, usize); 2]> {
        let of = |a: usize| slots().filter(move |b| *b > a).map(move |b| (a, b));
        slots().flat_map(of).map(|(a, b)| [(a, row[a]), (b, row[b])]).collect()
    };
    let mut missing: BTreeSet<[(usize, usize); 2]> = BTreeSet::new();
    for (a, b) in slots().flat_map(|a| slots().filter(move |b| *b > a).map(move |b| (a, b))) {
        missing.extend((0..sizes[a]).flat_map(|x| (0..sizes[b]).map(move |y| [(a, x), (b, y)])));
    }
    let mut rows = Vec::new();
    while let Some([(a, x), (b, y)]) = missing.first().copied() {
        let mut row = vec![0; sizes.len()];
        (row[a], row[b]) = (x, y);
        for slot in slots().filter(|slot| *slot != a && *slot != b) {
            let gain = |choice: &usize| {
                let mut tried = row.clone();
                tried[slot] = *choice;
                pairs(&tried).intersection(&missing).count()
            };
            row[slot] = (0..sizes[slot]).rev().max_by_key(gain).unwrap();
        }
        let found = pairs(&row);
        missing.retain(|pair| !found.contains(pair));
        rows.push(row);
    }
    rows
}
