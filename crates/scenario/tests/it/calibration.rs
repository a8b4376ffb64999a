//! Compares results with reference runs of the HPCC ns-3 simulator. The tolerances are a few times
//! the change of that simulator's results when all starts are shifted by 1 to 3 ns.
//!
//! Small runs are in `data/calibration`. Larger runs are beside the repository, in
//! `shared/calibration`; without this folder, the test prints a note and passes.
//! `docs/validation.md` describes set-up and tolerances.
#![allow(clippy::print_stdout, reason = "a test that prints its measurements")]

use crate::table::table;
use backwater_engine::{Bytes, Duration, Rate, Time};
use backwater_fabric::driver::simulation::Simulation;
use backwater_fabric::frame::framing::Framing;
use backwater_fabric::ids::NodeId;
use backwater_fabric::mechanisms::congestion::CongestionConfig;
use backwater_fabric::mechanisms::congestion::dcqcn::{DcqcnConfig, DcqcnProfile};
use backwater_fabric::mechanisms::congestion::ecn::EcnOptions;
use backwater_fabric::mechanisms::congestion::hpcc::HpccConfig;
use backwater_fabric::mechanisms::congestion::telemetry::RateCode;
use backwater_fabric::mechanisms::headroom::{HeadroomConfig, sih::SihConfig};
use backwater_fabric::mechanisms::recovery::{RecoveryConfig, go_back_n::GoBackNConfig};
use backwater_fabric::network::spec::{FlowSpec, NetworkSpec, SwitchConfig};
use backwater_scenario::hpcc::read_topology;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use temp_dir::TempDir;

/// Limits of a case, defined in the README beside the runs.
#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Tolerance {
    per_flow_ns: Option<u64>,
    per_flow_rel_max: Option<f64>,
    median_rel: Option<f64>,
    #[serde(default)]
    mean: BTreeMap<String, f64>,
    #[serde(default)]
    p95: BTreeMap<String, f64>,
    pause_rel: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct ReferenceFlow {
    src: u32,
    dst: u32,
    bytes: u64,
    start_ns: u64,
    fct_ns: u64,
    data_via: Option<u32>,
    ack_via: Option<u32>,
}

/// Number of PAUSE frames received by a port.
#[derive(Deserialize)]
struct ReferencePauses {
    pause: u64,
}

/// Folder of the reference runs in the repository.
const REPOSITORY_RUNS: &str = "tests/data/calibration";

/// Resolves a path relative to this crate.
fn in_crate(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn references(case: &Path) -> Vec<ReferenceFlow> {
    table(&case.join("flows.csv.gz"))
}

fn pauses(case: &Path) -> u64 {
    table::<ReferencePauses>(&case.join("pfc_received.csv")).iter().map(|port| port.pause).sum()
}

/// Returns the network of a case, from the case's `config.txt` and the README beside the runs.
fn spec(case: &Path, seed: u64) -> NetworkSpec {
    let topology = read_topology(&fs::read_to_string(case.join("topology.txt")).unwrap(), "topology.txt").unwrap();
    let config = fs::read_to_string(case.join("config.txt")).unwrap();
    let values: BTreeMap<&str, &str> = config.lines().filter_map(|line| line.split_once(' ')).collect();
    let number = |key: &str| values[key].parse::<f64>().unwrap();
    let rate = |key: &str| values[key].replace("Mb/s", " Mbps").parse::<Rate>().unwrap();
    let last = |key: &str| values[key].rsplit(' ').next().unwrap().parse::<f64>().unwrap();
    let us = |key: &str| Duration::from_us(number(key) as u64);
    let mtu = number("PACKET_PAYLOAD_SIZE") as u64;
    let link = topology.links[0].clone();
    // The simulator's base RTT includes only payload, and no ACK.
    let hops = if topology.nodes.len() > 100 { 4 } else { 2 };
    let base_rtt = (link.delay * 2 + Duration::from_ns(mtu * 8 / 80)) * hops;
    let congestion = match (values["ENABLE_QCN"], values["CC_MODE"]) {
        ("0", _) => CongestionConfig::None(Default::default()),
        (_, "1") => CongestionConfig::Dcqcn(DcqcnConfig {
            profile: DcqcnProfile::HpccNs3,
            ecn: EcnOptions {
                kmin: Some(Bytes(last("KMIN_MAP") as u64 * 1000)),
                kmax: Some(Bytes(last("KMAX_MAP") as u64 * 1000)),
                pmax: Some(last("PMAX_MAP")),
                rate: None,
            },
            additive_increase: Some(rate("RATE_AI")),
            hyper_increase: Some(rate("RATE_HAI")),
            min_rate: Some(rate("MIN_RATE")),
            increase_interval: Some(us("RP_TIMER")),
            alpha_interval: Some(us("ALPHA_RESUME_INTERVAL")),
            decrease_interval: Some(us("RATE_DECREASE_INTERVAL")),
            ..Default::default()
        }),
        (_, "3") => CongestionConfig::Hpcc(HpccConfig {
            eta: number("U_TARGET"),
            max_stage: number("MI_THRESH") as u32,
            additive_increase: Some(rate("RATE_AI")),
            min_rate: rate("MIN_RATE"),
            base_rtt: Some(base_rtt),
            rate_code: RateCode::HpccNs3,
        }),
        other => panic!("unsupported congestion control: {other:?}"),
    };
    let headroom = HeadroomConfig::Sih(SihConfig {
        alpha: 0.125,
        alpha_rate: None,
        private: Bytes(4096),
        headroom: Some(Bytes(link.rate.bytes_in(link.delay * 3))),
        resume_offset: Some(Bytes(3072)),
    });
    NetworkSpec {
        seed,
        framing: Framing::HpccNs3,
        mtu: Bytes(mtu),
        nodes: topology.nodes.into(),
        links: topology.links,
        switch: SwitchConfig { buffer: Bytes((number("BUFFER_SIZE") as u64) << 20), headroom, ..Default::default() },
        congestion,
        recovery: RecoveryConfig::GoBackN(GoBackNConfig {
            nack_interval: Duration::from_us(500),
            timeout: Duration::ZERO,
        }),
        ..Default::default()
    }
}

/// Returns the seeds of a case. With random marking, a single run is one random sample. Our results
/// are averaged over several seeds. The reference is a single run, so the limit is extended by the
/// standard deviation of single runs.
fn seeds(case: &Path) -> std::ops::RangeInclusive<u64> {
    match spec(case, 1).congestion {
        CongestionConfig::Dcqcn(config) if config.ecn.kmin < config.ecn.kmax => 1..=8,
        _ => 1..=1,
    }
}

/// Runs a case. Returns flow completion times at the sender, in ns, and the number of PAUSE frames.
fn replay(case: &Path, seed: u64) -> (Vec<f64>, u64) {
    let references = references(case);
    let spec = spec(case, seed);
    let switch_of = |host: u32| spec.links.iter().find(|link| link.a == NodeId(host)).map(|link| link.b).unwrap();
    let via = |from: u32, spine: Option<u32>, to: u32| match spine {
        Some(spine) => vec![switch_of(from), NodeId(spine), switch_of(to)],
        None => Vec::new(),
    };
    let mut order: Vec<usize> = (0..references.len()).collect();
    order.sort_by_key(|index| references[*index].start_ns);
    let flows: Vec<FlowSpec> = order
        .iter()
        .map(|index| &references[*index])
        .map(|flow| {
            let ways = [via(flow.src, flow.data_via, flow.dst), via(flow.dst, flow.ack_via, flow.src)];
            let [data_via, ack_via] = ways;
            let start = Time::ZERO + Duration::from_ns(flow.start_ns);
            let spec = FlowSpec::new(NodeId(flow.src), NodeId(flow.dst), flow.bytes);
            FlowSpec { start, ..spec.via(data_via, ack_via) }
        })
        .collect();
    let starts: Vec<Time> = flows.iter().map(|flow| flow.start).collect();
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    simulation.run_until(Time::ZERO + Duration::from_ms(1000), 1);
    assert_eq!(simulation.audit(), []);
    let mut completion = vec![0.0; references.len()];
    for ((index, outcome), start) in order.iter().zip(simulation.outcomes()).zip(starts) {
        let acknowledged = outcome.acknowledged.expect("every flow finishes");
        completion[*index] = (acknowledged - start).ps() as f64 / 1000.0;
    }
    (completion, simulation.totals().pause_frames)
}

/// True if `bytes` is in the bin `lower-upper` (bytes; lower bound exclusive, upper inclusive).
/// `lower-` has no upper bound.
fn in_bin(bin: &str, bytes: u64) -> bool {
    let (lower, upper) = bin.split_once('-').unwrap();
    bytes > lower.parse().unwrap() && (upper.is_empty() || bytes <= upper.parse().unwrap())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the quantile `p`, interpolated linearly between ranks.
fn quantile(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = p * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
    below + (above - below) * rank.fract()
}

/// Deviation from the reference in one quantity.
struct Deviation {
    quantity: String,
    /// Absolute deviation, averaged over seeds.
    size: f64,
    limit: f64,
    /// Standard deviation of single runs; the reference is a single run.
    scatter: f64,
}

/// Returns every deviation with a limit.
///
/// # Errors
///
/// If a limit's bin has no flow, or no limit is set.
fn deviations(case: &Path, tolerance: &Tolerance) -> Result<Vec<Deviation>, String> {
    let references = references(case);
    let bins = tolerance.mean.keys().chain(tolerance.p95.keys());
    let is_empty = |bin: &&String| !references.iter().any(|flow| in_bin(bin, flow.bytes));
    if let Some(bin) = bins.into_iter().find(is_empty) {
        return Err(format!("there is a limit for bin {bin}, but the bin has no flow"));
    }
    if *tolerance == Tolerance::default() {
        return Err("no limit is set".into());
    }
    let theirs: Vec<f64> = references.iter().map(|flow| flow.fct_ns as f64).collect();
    let runs: Vec<_> = seeds(case).map(|seed| replay(case, seed)).collect();
    let mut found = Vec::new();
    let mut compare = |quantity: String, deviations: Vec<f64>, limit: Option<f64>| {
        let average = mean(&deviations);
        let squares: Vec<f64> = deviations.iter().map(|deviation| (deviation - average).powi(2)).collect();
        let deviation = |limit| Deviation { quantity, size: average.abs(), limit, scatter: mean(&squares).sqrt() };
        found.extend(limit.map(deviation));
    };
    let each_flow = |statistic: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
        runs.iter()
            .map(|(ours, _)| statistic(&ours.iter().zip(&theirs).map(|(a, b)| (a / b - 1.0).abs()).collect::<Vec<_>>()))
            .collect()
    };
    let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let worst_ns = |(ours, _): &(Vec<f64>, u64)| {
        largest(&ours.iter().zip(&theirs).map(|(ours, theirs)| (ours - theirs).abs()).collect::<Vec<_>>())
    };
    compare("worst flow, ns".into(), runs.iter().map(worst_ns).collect(), tolerance.per_flow_ns.map(|ns| ns as f64));
    compare("worst flow".into(), each_flow(&largest), tolerance.per_flow_rel_max);
    compare("median flow".into(), each_flow(&|values| quantile(values, 0.5)), tolerance.median_rel);
    let in_bin = |bin: &str, values: &[f64]| -> Vec<f64> {
        let chosen = values.iter().zip(&references).filter(|(_, flow)| in_bin(bin, flow.bytes));
        chosen.map(|(value, _)| *value).collect()
    };
    let of_bin = |bin: &str, statistic: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
        let reference = statistic(&in_bin(bin, &theirs));
        runs.iter().map(|(ours, _)| statistic(&in_bin(bin, ours)) / reference - 1.0).collect()
    };
    for (bin, limit) in &tolerance.mean {
        compare(format!("mean {bin}"), of_bin(bin, &mean), Some(*limit));
    }
    for (bin, limit) in &tolerance.p95 {
        compare(format!("p95 {bin}"), of_bin(bin, &|values| quantile(values, 0.95)), Some(*limit));
    }
    let their_pauses = pauses(case) as f64;
    let pauses = runs.iter().map(|(_, pauses)| *pauses as f64);
    if their_pauses == 0.0 {
        compare("PAUSE frames".into(), pauses.collect(), Some(0.0));
    } else {
        compare("PAUSE frames".into(), pauses.map(|ours| ours / their_pauses - 1.0).collect(), tolerance.pause_rel);
    }
    Ok(found)
}

/// Compares our runs with the cases of a folder: its subfolders with a `config.txt`. Returns errors
/// in the folder and deviations above their limits.
fn failures(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("tolerances.json")).unwrap();
    let tolerances: BTreeMap<String, Tolerance> = serde_json::from_str(&text).unwrap();
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let cases: BTreeSet<String> = entries
        .filter(|entry| entry.path().join("config.txt").exists())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    let mut failures = Vec::new();
    if cases.is_empty() {
        failures.push(format!("{} has no case", folder.display()));
    }
    failures.extend(
        cases.iter().filter(|case| !tolerances.contains_key(*case)).map(|case| format!("{case}: no tolerances")),
    );
    failures
        .extend(tolerances.keys().filter(|case| !cases.contains(*case)).map(|case| format!("{case}: no such case")));
    let measured: Vec<_> = std::thread::scope(|scope| {
        let work = |(name, tolerance)| (name, scope.spawn(move || deviations(&folder.join(name), tolerance)));
        let workers: Vec<_> = tolerances.iter().filter(|(name, _)| cases.contains(*name)).map(work).collect();
        workers.into_iter().map(|(name, worker)| (name, worker.join().unwrap())).collect()
    });
    for (name, deviations) in measured {
        failures.extend(deviations.as_ref().err().map(|error| format!("{name}: {error}")));
        for Deviation { quantity, size, limit, scatter } in deviations.into_iter().flatten() {
            let line = format!("{name:22} {quantity:22} {size:>10.5} of {limit} (scatter of single runs {scatter:.5})");
            println!("{line}");
            if size > limit + scatter {
                failures.push(line);
            }
        }
    }
    failures
}

#[test]
fn runs_match_the_references_of_the_repository() {
    assert_eq!(failures(&in_crate(REPOSITORY_RUNS)), Vec::<String>::new());
}

#[test]
fn runs_match_the_references_beside_the_repository() {
    let folder = in_crate("../../../shared/calibration");
    if folder.is_dir() {
        assert_eq!(failures(&folder), Vec::<String>::new());
    } else {
        // `eprintln!` would be captured and shown only if the test fails.
        writeln!(std::io::stderr(), "skipped: no reference runs in ../shared/calibration").unwrap();
    }
}

/// Copies some cases of the repository into a folder with these tolerances, and returns the
/// folder's failures.
fn failures_of(cases: &[&str], tolerances: &str) -> Vec<String> {
    let folder = TempDir::new().unwrap();
    for case in cases {
        fs::create_dir(folder.path().join(case)).unwrap();
        for file in fs::read_dir(in_crate(REPOSITORY_RUNS).join(case)).unwrap().map(|file| file.unwrap()) {
            fs::copy(file.path(), folder.path().join(case).join(file.file_name())).unwrap();
        }
    }
    fs::write(folder.path().join("tolerances.json"), tolerances).unwrap();
    let place = folder.path().display().to_string();
    failures(folder.path()).iter().map(|failure| failure.replace(&place, "FOLDER")).collect()
}

#[test]
fn cases_and_tolerances_must_match() {
    let good = r#"{ "star-1--none": { "per_flow_ns": 2 } }"#;
    assert_eq!(failures_of(&["star-1--none"], good), Vec::<String>::new());
    assert_eq!(failures_of(&[], "{}"), ["FOLDER has no case"]);
    assert_eq!(failures_of(&[], good), ["FOLDER has no case", "star-1--none: no such case"]);
    assert_eq!(failures_of(&["star-1--none", "star-2to1--none"], good), ["star-2to1--none: no tolerances"]);
    let no_limit = r#"{ "star-1--none": {} }"#;
    assert_eq!(failures_of(&["star-1--none"], no_limit), ["star-1--none: no limit is set"]);
}

#[test]
fn a_limit_for_a_bin_without_flows_is_an_error() {
    for quantity in ["mean", "p95"] {
        let tolerances = format!(r#"{{ "star-1--none": {{ "{quantity}": {{ "0-10": 0.1, "0-": 0.1 }} }} }}"#);
        let expected = "star-1--none: there is a limit for bin 0-10, but the bin has no flow";
        assert_eq!(failures_of(&["star-1--none"], &tolerances), [expected]);
    }
}

/// The flow with the largest deviation in this case deviates by 1.6 %.
#[test]
fn a_missed_limit_is_reported() {
    let case = "star-16to1--step";
    let missed =
        failures_of(&[case], &format!(r#"{{ "{case}": {{ "per_flow_rel_max": 0.01, "median_rel": 0.03 }} }}"#));
    assert!(missed.len() == 1 && missed[0].contains("worst flow") && missed[0].contains("of 0.01"), "{missed:?}");
}
