//! The results of a network do not depend on shards, threads, the order of nodes, or the version. A
//! repeated run has equal results.
//!
//! The files in `golden/` hold the results of fixed scenarios: a table, and the fingerprint of all
//! arrivals. These results are equal in debug and release builds and on every machine. After an
//! intended change, `UPDATE_GOLDEN=1 cargo test --test it determinism::` rewrites them.

use crate::common::random::{any_case, dealt, plain, with_flow_control};
use crate::prelude::*;
use backwater_fabric::driver::outcome::Totals;
use backwater_fabric::driver::partition::{Partition, expected_load};
use proptest::prelude::*;
use std::fmt::Write;
use std::path::Path;

/// All results of a run.
#[derive(Debug, PartialEq)]
struct Outcome {
    fingerprint: String,
    flows: Vec<FlowOutcome>,
    pauses: Vec<PauseInterval>,
    totals: Totals,
}

/// Runs some 20 ms, which includes timeouts. Pauses that are refreshed for seconds would add no new
/// cases, and would take minutes with many shards.
fn outcome(mut simulation: Simulation, threads: usize) -> Outcome {
    let mut limit = Duration::from_us(3);
    while simulation.next_event() < Time::NEVER && simulation.now() < Time::ZERO + Duration::from_ms(10) {
        simulation.run_until(Time::ZERO + limit, threads);
        limit = limit * 3;
    }
    let mut pauses = simulation.take_pauses();
    pauses.sort_by_key(|pause| (pause.closure.to, pause.port, pause.queue, pause.closure.from));
    Outcome {
        fingerprint: simulation.fingerprint().to_string(),
        flows: simulation.outcomes(),
        pauses,
        totals: simulation.totals(),
    }
}

fn in_shards(case: &Case, shards: usize, threads: usize) -> Outcome {
    outcome(Simulation::new(case.spec.clone(), case.flows.clone(), shards).unwrap(), threads)
}

fn in_dealt_shards(case: &Case, shards: usize, seed: u64) -> Outcome {
    let fabric = Fabric::new(case.spec.clone()).unwrap();
    let partition = dealt(&fabric, shards, seed);
    outcome(Simulation::with_partition(fabric, Box::new(case.flows.clone().into_iter()), &partition), 2)
}

proptest! {
    #![proptest_config(common::cases(60))]

    #[test]
    fn shards_threads_and_order_change_nothing(case in any_case(), seed in any::<u64>()) {
        let expected = in_shards(&case, 1, 1);
        prop_assert_eq!(&in_shards(&case, 1, 1), &expected, "again");
        for shards in [2, 3, 7] {
            prop_assert_eq!(&in_shards(&case, shards, 1), &expected, "{} shards", shards);
        }
        for shards in [3, 5, 8] {
            prop_assert_eq!(&in_shards(&case, shards, 2), &expected, "{} shards on 2 threads", shards);
        }
        for shards in [1, 2, 3, 5] {
            prop_assert_eq!(&in_dealt_shards(&case, shards, seed), &expected, "dealt into {} shards", shards);
        }
    }

    /// A trace, even of nothing, requires the full pipeline.
    #[test]
    fn the_plain_pipeline_agrees_with_the_full_one(case in plain()) {
        let new = || Simulation::new(case.spec.clone(), case.flows.clone(), 1).unwrap();
        let (mut plain, mut traced) = (new(), new());
        traced.watch_trace(&TraceSpec { from: Time::NEVER, ..TraceSpec::ALL });
        prop_assert!(plain.is_plain() && !traced.is_plain());
        prop_assert_eq!(outcome(plain, 1), outcome(traced, 1));
    }

    /// As above, with any mechanisms. The pipeline is plain if they allow it.
    #[test]
    fn a_trace_of_nothing_changes_nothing(case in any_case()) {
        let mut traced = Simulation::new(case.spec.clone(), case.flows.clone(), 1).unwrap();
        traced.watch_trace(&TraceSpec { from: Time::NEVER, ..TraceSpec::ALL });
        prop_assert_eq!(outcome(traced, 1), in_shards(&case, 1, 1));
    }

    #[test]
    fn every_node_is_in_exactly_one_shard(case in any_case(), shards in 0usize..40) {
        let fabric = Fabric::new(case.spec.clone()).unwrap();
        let loads = expected_load(&fabric, &case.flows);
        let Partition(parts) = Partition::automatic(&fabric, &loads, shards);
        prop_assert!(parts.len() <= shards.max(1) && parts.iter().all(|part| !part.is_empty()));
        let mut nodes = parts.concat();
        nodes.sort_unstable();
        prop_assert_eq!(nodes, (0..case.spec.nodes.len() as u32).map(NodeId).collect::<Vec<_>>());
    }

    /// Interruptions do not change results, whether a run stops at an event, between two events,
    /// while flows are admitted, or between two windows.
    #[test]
    fn interruptions_change_nothing(
        case in any_case(),
        steps in prop::collection::vec((1u64..20_000_000, 1u64..400, prop::bool::ANY), 0..20),
        (shards, threads) in prop::sample::select(vec![(1, 1), (2, 1), (3, 2)]),
    ) {
        let expected = in_shards(&case, 1, 1);
        let mut simulation = Simulation::new(case.spec.clone(), case.flows.clone(), shards).unwrap();
        let mut limit = Time::ZERO;
        for (step, events, goes_on) in steps {
            limit += Duration::from_ps(step);
            let mut asked = 0;
            let mut stop = || { asked += 1; asked % 3 != 0 };
            while !simulation.advance(limit, threads, events, &mut stop) && goes_on {
                prop_assert_eq!(simulation.audit(), []);
                let totals = simulation.totals();
                prop_assert_eq!(totals.started_flows, simulation.outcomes().len() as u64);
                prop_assert!(totals.received_flows <= totals.started_flows);
            }
        }
        prop_assert_eq!(&outcome(simulation, threads), &expected);
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    let (spec, flows) = leaf_spine();
    let expected = in_shards(&Case { spec: spec.clone(), flows: flows.clone() }, 1, 1);
    for shards in 2..9 {
        let mut parts = vec![Vec::new(); shards];
        for node in 0..spec.nodes.len() {
            parts[node % shards].push(NodeId(node as u32));
        }
        for threads in 1..9 {
            let fabric = Fabric::new(spec.clone()).unwrap();
            let simulation =
                Simulation::with_partition(fabric, Box::new(flows.clone().into_iter()), &Partition(parts.clone()));
            assert_eq!(outcome(simulation, threads), expected, "{shards} shards, {threads} threads");
        }
    }
}

// ------------------------------------------------------------------------------------------ golden

/// Returns an incast of three senders, with PFC and without congestion control.
fn incast() -> (NetworkSpec, Vec<FlowSpec>) {
    let mut spec = star(4);
    spec.switch.buffer = Bytes(500_000);
    (spec, (0..3).map(|src| flow(src, 3, 300_000, u64::from(src) * 100)).collect())
}

/// Returns two leaves and two spines under DCQCN. Hosts have 100 Gb/s, and each leaf has two
/// uplinks of 40 Gb/s to each spine.
fn leaf_spine() -> (NetworkSpec, Vec<FlowSpec>) {
    let mut spec = NetworkSpec::with_nodes(6, 4);
    spec.links = (0..6).map(|host| link(host, 6 + host / 3, 100, 500)).collect();
    for leaf in [6, 7] {
        for spine in [8, 9] {
            spec.links.extend([link(leaf, spine, 40, 1500), link(leaf, spine, 40, 1500)]);
        }
    }
    spec.congestion =
        CongestionConfig::Dcqcn(DcqcnConfig { min_rate: Some(Rate::from_bps(100_000_000)), ..Default::default() });
    let flows =
        (0..24).map(|i| flow(i % 3, 3 + (i * 7 + i / 5) % 3, 50_000 + 7_000 * u64::from(i), u64::from(i) * 900));
    (spec, flows.collect())
}

/// Returns a dumbbell under HPCC, with frames of the HPCC simulator, two lossless classes and
/// pauses that expire.
fn dumbbell() -> (NetworkSpec, Vec<FlowSpec>) {
    let mut spec = NetworkSpec::with_nodes(8, 2);
    spec.framing = Framing::HpccNs3;
    spec.mtu = Bytes(1000);
    spec.links = (0..8).map(|host| link(host, 8 + host / 4, 25, 1000)).collect();
    spec.links.push(link(8, 9, 50, 2000));
    spec.switch.lossless = vec![Class(3), Class(5)];
    spec.switch.buffer = Bytes(600_000);
    spec.switch.flow_control = FlowControlConfig::Pfc(PfcConfig {
        pause: PauseModel::Quanta,
        quanta: 1024,
        response: Duration::from_ns(100),
        ..Default::default()
    });
    spec.congestion = CongestionConfig::Hpcc(Default::default());
    let flows = (0..16).map(|i| FlowSpec {
        class: Class(if i % 2 == 0 { 3 } else { 5 }),
        ..flow(i % 4, 4 + (i / 4 + i) % 4, 40_000 + 11_111 * u64::from(i), u64::from(i / 4) * 5_000)
    });
    (spec, flows.collect())
}

/// Returns an incast and two victims of its PAUSEs: flows that share a link with the incast, but
/// not its destination.
fn victim() -> (NetworkSpec, Vec<FlowSpec>) {
    let mut spec = NetworkSpec::with_nodes(8, 2);
    spec.links = (0..8).map(|host| link(host, 8 + host / 4, 100, 1000)).collect();
    spec.links.push(link(8, 9, 100, 1000));
    spec.switch.buffer = Bytes(800_000);
    let culprits = [0, 1, 5, 6, 7].map(|src| flow(src, 4, 1_000_000, 0));
    let victims = [(2, 5), (3, 6)].map(|(src, dst)| flow(src, dst, 200_000, 10_000));
    (spec, culprits.into_iter().chain(victims).collect())
}

/// Returns traffic in seven classes under DSH, which pauses queues and whole ports.
fn shared_headroom() -> (NetworkSpec, Vec<FlowSpec>) {
    let (mut spec, flows) = victim();
    spec.switch.lossless = (1..8).map(Class).collect();
    spec.switch.buffer = Bytes(400_000);
    spec.switch.headroom = HeadroomConfig::Dsh(Default::default());
    let split = |flow: FlowSpec| {
        (1..8).map(move |class| FlowSpec { class: Class(class), bytes: flow.bytes / 7, ..flow.clone() })
    };
    (spec, flows.into_iter().flat_map(split).collect())
}

/// Returns [`victim`] under another flow control.
fn spared(flow_control: FlowControlConfig) -> (NetworkSpec, Vec<FlowSpec>) {
    let (mut spec, flows) = victim();
    with_flow_control(&mut spec, flow_control);
    (spec, flows)
}

/// Returns a leaf-spine with spraying, lossy links, and a link that fails and recovers.
fn trouble() -> (NetworkSpec, Vec<FlowSpec>) {
    let (mut spec, flows) = leaf_spine();
    spec.congestion = CongestionConfig::None(Default::default());
    spec.load_balance = LoadBalanceConfig::Spray(Default::default());
    set_error_rate(&mut spec, 1e-4);
    spec.faults = vec![LinkFault { link: 7, down: at_us(20), up: at_us(60) }];
    (spec, flows.into_iter().take(10).collect())
}

fn table(simulation: &Simulation) -> String {
    let totals = simulation.totals();
    let mut table = String::new();
    let mut line = |text: String| writeln!(table, "{text}").unwrap();
    line(format!("packet hops    {}", totals.packet_hops));
    line(format!("PAUSE, RESUME  {}, {}", totals.pause_frames, totals.resume_frames));
    if totals.port_pause_frames > 0 {
        line(format!("of whole ports {}", totals.port_pause_frames));
    }
    line(format!(
        "drops          headroom {}, buffer full {}, link error {}, link down {}",
        totals.drops[0], totals.drops[1], totals.drops[2], totals.drops[3]
    ));
    line(String::new());
    line("flow  from  to    bytes  start ps     FCT ps   ideal ps  slowdown  paused ps  blocked ps  resent B".into());
    for outcome in simulation.outcomes() {
        let (FlowId(id), flow) = (outcome.flow, &outcome.spec);
        let fct = outcome.reception.finish.unwrap() - flow.start;
        let ideal = simulation.fabric().ideal_fct(flow, &outcome.path, 0).unwrap();
        let slowdown = fct.ps() as f64 / ideal.ps() as f64;
        let (start, fct, ideal) = (flow.start.ps(), fct.ps(), ideal.ps());
        let (paused, blocked) = (outcome.reception.paused.ps(), outcome.reception.blocked.ps());
        line(format!(
            "{id:>4}  {:>4}  {:>2} {:>8} {start:>9} {fct:>10} {ideal:>10} {slowdown:>9.3} {paused:>10} \
             {blocked:>11} {:>9}",
            simulation.fabric().name(flow.src),
            simulation.fabric().name(flow.dst),
            flow.bytes,
            outcome.retransmitted,
        ));
    }
    table
}

fn compare(file: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, actual).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(actual, golden, "{file} has changed");
}

#[test]
fn fixed_scenarios_match_their_golden_files() {
    let scenarios = [
        ("incast", incast()),
        ("victim", victim()),
        ("dsh", shared_headroom()),
        ("pyrrha", spared(FlowControlConfig::Pyrrha(Default::default()))),
        ("bfc", spared(FlowControlConfig::Bfc(BfcConfig { queues: 4, ..Default::default() }))),
        ("per-flow", spared(FlowControlConfig::PerFlow(Default::default()))),
        ("leaf-spine", leaf_spine()),
        ("dumbbell", dumbbell()),
        ("trouble", trouble()),
    ];
    let mut fingerprints = String::new();
    for (name, (spec, flows)) in scenarios {
        let (simulation, _) = run(&spec, flows);
        assert_eq!(simulation.audit(), [], "{name}");
        compare(&format!("{name}.txt"), &table(&simulation));
        writeln!(fingerprints, "{name:<12}{}", simulation.fingerprint()).unwrap();
    }
    compare("fingerprints.txt", &fingerprints);
}
