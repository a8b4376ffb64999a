//! Differential: reference runs of the HPCC ns-3 simulator, matched within a few times that simulator's own sensitivity to a 1-3 ns shift.
//!
//! The runs stand beside the repository in `shared/calibration`; where they are absent the test says so and passes. Set-up and tolerances are
//! told in `docs/validation.md`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, which prints what it measured")]

use backwater_engine::{Bytes, Duration, Rate, Time};
use backwater_fabric::congestion::CongestionConfig;
use backwater_fabric::congestion::dcqcn::{DcqcnConfig, DcqcnProfile};
use backwater_fabric::congestion::ecn::EcnConfig;
use backwater_fabric::congestion::hpcc::HpccConfig;
use backwater_fabric::congestion::telemetry::RateCode;
use backwater_fabric::framing::Framing;
use backwater_fabric::headroom::{HeadroomConfig, sih::SihConfig};
use backwater_fabric::ids::{Class, NodeId};
use backwater_fabric::recovery::{RecoveryConfig, go_back_n::GoBackNConfig};
use backwater_fabric::simulation::Simulation;
use backwater_fabric::spec::{FlowSpec, NetworkSpec};
use backwater_scenario::hpcc::read_topology;
use flate2::read::GzDecoder;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// What must hold of a case; see the README beside the runs.
#[derive(Debug, Default, Deserialize)]
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

fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/calibration");
    folder.is_dir().then_some(folder)
}

fn table<T: for<'de> Deserialize<'de>>(case: &Path, name: &str) -> Vec<T> {
    let file = File::open(case.join(name)).unwrap();
    csv::Reader::from_reader(GzDecoder::new(file)).deserialize().collect::<Result<_, _>>().unwrap()
}

fn references(case: &Path) -> Vec<ReferenceFlow> {
    table(case, "flows.csv.gz")
}

fn pauses(case: &Path) -> u64 {
    let mut reader = csv::Reader::from_path(case.join("pfc_received.csv")).unwrap();
    reader.records().map(|record| record.unwrap()[2].parse::<u64>().unwrap()).sum()
}

/// The scenario of a case: the facts of the README beside the runs and of the case's `config.txt`.
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
    // The simulator's own base RTT: payload only, and no ACK.
    let hops = if topology.nodes.len() > 100 { 4 } else { 2 };
    let base_rtt = (link.delay * 2 + Duration::from_ns(mtu * 8 / 80)) * hops;
    let congestion = match (values["ENABLE_QCN"], values["CC_MODE"]) {
        ("0", _) => CongestionConfig::None(Default::default()),
        (_, "1") => CongestionConfig::Dcqcn(DcqcnConfig {
            profile: DcqcnProfile::HpccNs3,
            ecn: EcnConfig {
                kmin: Bytes(last("KMIN_MAP") as u64 * 1000),
                kmax: Bytes(last("KMAX_MAP") as u64 * 1000),
                pmax: last("PMAX_MAP"),
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
        other => panic!("no such congestion control here: {other:?}"),
    };
    let mut switch = backwater_fabric::spec::SwitchConfig {
        buffer: Bytes((number("BUFFER_SIZE") as u64) << 20),
        ..Default::default()
    };
    switch.headroom = HeadroomConfig::Sih(SihConfig {
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
        nodes: topology.nodes,
        links: topology.links,
        routes: Vec::new(),
        faults: Vec::new(),
        switch,
        groups: Vec::new(),
        host: Default::default(),
        congestion,
        load_balance: backwater_fabric::load_balance::LoadBalanceConfig::Ecmp(Default::default()),
        recovery: RecoveryConfig::GoBackN(GoBackNConfig {
            nack_interval: Duration::from_us(500),
            timeout: Duration::ZERO,
        }),
    }
}

/// Seeds that a case is run with. Where switches mark at random, one run is one draw, of ours as of theirs: then ours are averaged over several
/// seeds, and the scatter of single runs is granted to theirs.
fn seeds(case: &Path) -> std::ops::RangeInclusive<u64> {
    match spec(case, 1).congestion {
        CongestionConfig::Dcqcn(config) if config.ecn.kmin < config.ecn.kmax => 1..=8,
        _ => 1..=1,
    }
}

/// Our run of a case: flow completion times at the sender in ns, and PAUSE frames sent.
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
        .map(|flow| FlowSpec {
            src: NodeId(flow.src),
            dst: NodeId(flow.dst),
            bytes: flow.bytes,
            class: Class(3),
            start: Time::ZERO + Duration::from_ns(flow.start_ns),
            tag: 0,
            data_via: via(flow.src, flow.data_via, flow.dst),
            ack_via: via(flow.dst, flow.ack_via, flow.src),
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

/// Flows of a bin by its name: `lower-upper` in bytes, lower bound exclusive, upper inclusive; `lower-` has no upper bound.
fn in_bin(bin: &str, bytes: u64) -> bool {
    let (lower, upper) = bin.split_once('-').unwrap();
    bytes > lower.parse().unwrap() && (upper.is_empty() || bytes <= upper.parse().unwrap())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The 95th percentile, linear between ranks.
fn quantile(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = p * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
    below + (above - below) * rank.fract()
}

/// How far we are from the reference in one quantity.
struct Deviation {
    what: String,
    /// Of the mean over seeds.
    size: f64,
    limit: f64,
    /// Standard deviation of single runs, of which the reference is one.
    scatter: f64,
}

/// Every deviation of a case that has a limit.
fn deviations(case: &Path, tolerance: &Tolerance) -> Vec<Deviation> {
    let references = references(case);
    let theirs: Vec<f64> = references.iter().map(|flow| flow.fct_ns as f64).collect();
    let runs: Vec<_> = seeds(case).map(|seed| replay(case, seed)).collect();
    let mut found = Vec::new();
    let mut compare = |what: String, deviations: Vec<f64>, limit: Option<f64>| {
        let average = mean(&deviations);
        let squares: Vec<f64> = deviations.iter().map(|deviation| (deviation - average).powi(2)).collect();
        let deviation = |limit| Deviation { what, size: average.abs(), limit, scatter: mean(&squares).sqrt() };
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
    found
}

#[test]
fn reference_runs_are_matched() {
    let Some(folder) = folder() else {
        eprintln!("skipped: no reference runs in ../shared/calibration");
        return;
    };
    let text = fs::read_to_string(folder.join("tolerances.json")).unwrap();
    let cases: BTreeMap<String, Tolerance> = serde_json::from_str(&text).unwrap();
    let measured: Vec<_> = std::thread::scope(|scope| {
        let folder = &folder;
        let work = |(name, tolerance)| scope.spawn(move || (name, deviations(&folder.join(name), tolerance)));
        let workers: Vec<_> = cases.iter().map(work).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let mut missed = Vec::new();
    for (name, deviations) in measured {
        for Deviation { what, size, limit, scatter } in deviations {
            let line = format!("{name:22} {what:22} {size:>10.5} of {limit} (scatter of single runs {scatter:.5})");
            println!("{line}");
            if size > limit + scatter {
                missed.push(line);
            }
        }
    }
    assert_eq!(missed, Vec::<String>::new(), "deviations beyond tolerance");
}
