//! Small networks for tests.
#![allow(unreachable_pub, missing_docs, reason = "helpers of tests are no interface")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

pub mod random;
#[macro_use]
pub mod script;

use backwater_engine::{Bytes, Duration, Rate, Time};
use backwater_fabric::contract::Diagnostic;
use backwater_fabric::driver::outcome::FlowOutcome;
use backwater_fabric::driver::simulation::Simulation;
use backwater_fabric::frame::framing::Framing;
use backwater_fabric::ids::{Class, NodeId};
use backwater_fabric::mechanisms::congestion::CongestionConfig;
use backwater_fabric::mechanisms::flow_control::FlowControlConfig;
use backwater_fabric::mechanisms::load_balance::LoadBalanceConfig;
use backwater_fabric::mechanisms::recovery::RecoveryConfig;
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::spec::{FlowSpec, LinkSpec, NetworkSpec, NodeKind, NodeSpec};
use proptest::prelude::ProptestConfig;
use std::collections::BTreeSet;

/// A network without links: hosts first, then switches; PFC with SIH, no congestion control, ECMP, Go-Back-N.
pub fn network(hosts: u32, switches: u32) -> NetworkSpec {
    let host = |i| NodeSpec { name: format!("h{i}"), kind: NodeKind::Host };
    let switch = |i| NodeSpec { name: format!("s{i}"), kind: NodeKind::Switch };
    NetworkSpec {
        seed: 1,
        framing: Framing::Rocev2,
        mtu: Bytes(1024),
        nodes: (0..hosts).map(host).chain((0..switches).map(switch)).collect(),
        links: Vec::new(),
        interfaces: Default::default(),
        routes: Vec::new(),
        faults: Vec::new(),
        reconvergence: None,
        switch: Default::default(),
        groups: Vec::new(),
        host: Default::default(),
        congestion: CongestionConfig::None(Default::default()),
        load_balance: LoadBalanceConfig::Ecmp(Default::default()),
        recovery: RecoveryConfig::GoBackN(Default::default()),
    }
}

pub fn link(a: u32, b: u32, gbps: u64, delay_ns: u64) -> LinkSpec {
    LinkSpec {
        a: NodeId(a),
        b: NodeId(b),
        rate: Rate::from_gbps(gbps),
        delay: Duration::from_ns(delay_ns),
        error_rate: 0.0,
    }
}

/// `hosts` hosts on one switch.
pub fn star(hosts: u32, gbps: u64, delay_ns: u64) -> NetworkSpec {
    let mut spec = network(hosts, 1);
    spec.links = (0..hosts).map(|host| link(host, hosts, gbps, delay_ns)).collect();
    spec
}

/// BCube(n, 1): servers h0.. whose port 0 leads to switch h / n, and port 1 to switch n + h % n.
pub fn bcube(n: u32, gbps: u64, delay_ns: u64) -> NetworkSpec {
    bcube_of(n, 1, gbps, delay_ns)
}

/// BCube(n, k): behind the servers come the switches, layer by layer; those of a layer in the order of the digits that their servers share.
pub fn bcube_of(n: u32, k: u32, gbps: u64, delay_ns: u64) -> NetworkSpec {
    let (servers, of_layer) = (n.pow(k + 1), n.pow(k));
    let mut spec = network(servers, (k + 1) * of_layer);
    if k > 0 {
        for server in spec.nodes.iter_mut().take(servers as usize) {
            server.kind = NodeKind::Relay;
        }
    }
    let switch = |layer: u32, server: u32| {
        let below = n.pow(layer);
        servers + layer * of_layer + server / (below * n) * below + server % below
    };
    let of_layer = |layer| (0..servers).map(move |server| link(server, switch(layer, server), gbps, delay_ns));
    spec.links = (0..=k).flat_map(of_layer).collect();
    spec
}

/// h0 - s0 - s1 - ... - h1 with one rate per link (at least two).
pub fn chain(gbps: &[u64], delay_ns: u64) -> NetworkSpec {
    let switches = gbps.len() as u32 - 1;
    let mut spec = network(2, switches);
    let node = |position: u32| match position {
        0 => 0,
        last if last == switches + 1 => 1,
        middle => middle + 1,
    };
    spec.links = (0u32..).zip(gbps).map(|(i, gbps)| link(node(i), node(i + 1), *gbps, delay_ns)).collect();
    spec
}

pub fn flow(src: u32, dst: u32, bytes: u64, start_ns: u64) -> FlowSpec {
    FlowSpec {
        src: NodeId(src),
        dst: NodeId(dst),
        bytes,
        class: Class(3),
        start: Time::ZERO + Duration::from_ns(start_ns),
        tag: 0,
        data_via: Vec::new(),
        ack_via: Vec::new(),
    }
}

/// A flow whose data passes these nodes in turn, switches and servers that relay, and whose ACKs come back the same way.
pub fn via(src: u32, through: &[u32], dst: u32, bytes: u64) -> FlowSpec {
    let nodes = |ids: &mut dyn Iterator<Item = &u32>| ids.map(|id| NodeId(*id)).collect();
    FlowSpec {
        data_via: nodes(&mut through.iter()),
        ack_via: nodes(&mut through.iter().rev()),
        ..flow(src, dst, bytes, 0)
    }
}

/// In BCube(4, 1), whose switches are 16 to 19 in layer 0 and 20 to 23 in layer 1: two flows of four hops, one from corner to corner each way round, and
/// a burst of two neighbours of h5 (PortFC figure 5).
pub fn two_flows_and_a_burst() -> Vec<FlowSpec> {
    let burst = [9, 13].map(|src| via(src, &[21], 5, 400_000));
    let flows = [via(0, &[16, 1, 21], 5, 4_000_000), via(5, &[17, 4, 20], 0, 4_000_000)];
    flows.into_iter().chain(burst).collect()
}

/// In the same network, four flows round four servers, each of which relays one and sends another through the same port, and bursts into every switch of
/// the ring.
pub fn four_flows_and_bursts() -> Vec<FlowSpec> {
    let round = [(0, [16, 1, 21], 5), (1, [21, 5, 17], 4), (5, [17, 4, 20], 0), (4, [20, 0, 16], 1)];
    let bursts = [(9, 21, 5), (13, 21, 5), (2, 16, 1), (3, 16, 1), (8, 20, 0), (12, 20, 0), (6, 17, 4), (7, 17, 4)];
    let round = round.map(|(src, by, dst)| via(src, &by, dst, 4_000_000));
    round.into_iter().chain(bursts.map(|(src, by, dst)| via(src, &[by], dst, 400_000))).collect()
}

/// Runs until nothing is left to do, at most a simulated minute.
pub fn run(spec: &NetworkSpec, flows: Vec<FlowSpec>) -> (Simulation, Vec<FlowOutcome>) {
    run_shards(spec, flows, 1)
}

pub fn run_shards(spec: &NetworkSpec, flows: Vec<FlowSpec>, shards: usize) -> (Simulation, Vec<FlowOutcome>) {
    let mut simulation = Simulation::new(spec.clone(), flows, shards).unwrap();
    drain(&mut simulation);
    let outcomes = simulation.outcomes();
    (simulation, outcomes)
}

/// What takes longer is stuck. The smallest window of Swift, 10 B, is a packet in 410 round trips, which take 10 ms each at 10 Mb/s.
const LONG: Duration = Duration::from_ms(3_600_000);

pub fn drain(simulation: &mut Simulation) {
    let mut limit = Duration::from_us(100);
    while simulation.next_event() < Time::NEVER && simulation.now() < Time::ZERO + LONG {
        simulation.run_until(Time::ZERO + limit, 1);
        limit = limit * 2;
    }
}

/// Whether flow control and load balancer can run in this network.
pub fn applies(spec: &NetworkSpec) -> bool {
    let slots = ["switch.flow_control", "load_balance"];
    let refused = |error: &Diagnostic| slots.contains(&error.path.as_str());
    Fabric::new(spec.clone()).map_or_else(|errors| !errors.iter().any(refused), |_| true)
}

/// So many random cases of a property, or as many as the variable BACKWATER_CASES says.
pub fn cases(usual: u32) -> ProptestConfig {
    let cases = std::env::var("BACKWATER_CASES").ok().map(|cases| cases.parse().expect("BACKWATER_CASES is a number"));
    let cases = cases.unwrap_or(usual);
    ProptestConfig { cases, max_global_rejects: cases.max(1024), ..Default::default() }
}

pub fn no_flow_control() -> FlowControlConfig {
    FlowControlConfig::None(Default::default())
}

/// Rows with the index of an alternative for every slot, in which every two alternatives of different slots stand together, greedily: each next row has as many new pairs as one change at a time finds.
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
