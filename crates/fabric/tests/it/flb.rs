//! FLB in networks: measured delays, rerouting, start and end of isolation, and the paper's Figures
//! 2 and 3.

use crate::prelude::*;
use backwater_engine::index::IndexVec;
use backwater_engine::random::Stream;
use backwater_fabric::contract::PathState;
use backwater_fabric::mechanisms::load_balance::flb::{DelayOf, Present, Rerouting, StampPoint, Ties, reroute};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns the present statistics of the load balancer of `node`.
fn statistics(simulation: &Simulation, node: u32) -> Vec<LbStat> {
    let mut statistics = Vec::new();
    let node = simulation.node(NodeId(node));
    node.switch().unwrap().observe_balancing(simulation.now(), &mut |statistic| statistics.push(statistic));
    statistics
}

fn count(simulation: &Simulation, node: u32, name: &str) -> u64 {
    let amount = |statistic| match statistic {
        LbStat::Count(counted, amount) if counted == name => amount,
        _ => 0,
    };
    statistics(simulation, node).into_iter().map(amount).sum()
}

fn paths(simulation: &Simulation, node: u32) -> Vec<PathState> {
    let path = |statistic| if let LbStat::Path(path) = statistic { Some(path) } else { None };
    statistics(simulation, node).into_iter().filter_map(path).collect()
}

// ------------------------------------------------------------------------- the testbed of Figure 1

/// H0 to H16 are hosts 0 to 16, and R0 to R2 are hosts 17 to 19. S0 is switch 20, S1 to S3 are
/// switches 21 to 23, and S4 is switch 24. Ports 3 to 5 of S0 lead to the paths P0 to P2.
const S0: u32 = 20;
const S4: u32 = 24;

/// Returns the testbed. All links have 40 Gb/s, all switches 22 MB of buffer, and PFC has the
/// dynamic threshold of `papers/flb/fig02-03.toml`.
fn testbed(load_balance: LoadBalanceConfig) -> NetworkSpec {
    let mut spec = NetworkSpec::with_nodes(20, 5);
    spec.links = (0..3).map(|host| link(host, S0, 40, 1000)).collect();
    spec.links.extend((1..=3).map(|core| link(S0, S0 + core, 40, 1000)));
    spec.links.extend((1..=3).map(|core| link(S0 + core, S4, 40, 1000)));
    spec.links.extend((3..20).map(|host| link(host, S4, 40, 1000)));
    spec.switch.buffer = Bytes(22_000_000);
    spec.switch.headroom = HeadroomConfig::Sih(SihConfig { alpha: 1.0 / 128.0, ..Default::default() });
    spec.recovery = RecoveryConfig::InAnyOrder(Default::default());
    spec.load_balance = load_balance;
    spec
}

/// Returns the flows f0 to f2, where fi goes from Hi to Ri. Flows are pinned to the given paths, if
/// any.
fn long_flows(pinned: Option<[u32; 3]>) -> Vec<FlowSpec> {
    let mut flows: Vec<_> = (0..3).map(|i| flow(i, 17 + i, 250_000_000, 0)).collect();
    for (flow, path) in flows.iter_mut().zip(pinned.into_iter().flatten()) {
        *flow = flow.clone().via(vec![NodeId(S0), NodeId(S0 + 1 + path), NodeId(S4)], vec![]);
    }
    flows
}

/// Returns flows to R2 that start at `us`: 40 flows of 64 KB from each of H3 to H16.
fn bursts(us: u64) -> impl Iterator<Item = FlowSpec> {
    (3..17).flat_map(move |host| (0..40).map(move |_| flow(host, 19, 64_000, us * 1000)))
}

/// Returns the payload bytes delivered of f0, f1 and f2.
fn delivered(simulation: &Simulation) -> [u64; 3] {
    let mut delivered = [0; 3];
    for outcome in simulation.unfinished() {
        if let Some(of_flow) = delivered.get_mut(outcome.flow.0 as usize) {
            *of_flow = outcome.reception.delivered;
        }
    }
    delivered
}

/// Returns the rates of f0 to f2 in Gb/s before the bursts (2 to 4 ms) and during the bursts (4.2
/// to 10 ms).
fn rates(spec: &NetworkSpec, pinned: Option<[u32; 3]>) -> ([f64; 3], [f64; 3], Simulation) {
    let flows: Vec<_> = long_flows(pinned).into_iter().chain(bursts(4000)).collect();
    let mut simulation = Simulation::new(spec.clone(), flows, 1).unwrap();
    let mut at = |us| {
        simulation.run_until(at_us(us), 1);
        delivered(&simulation)
    };
    let [a, b, c, d] = [2000, 4000, 4200, 10_000].map(&mut at);
    let rate = |from: [u64; 3], to: [u64; 3], us: f64| [0, 1, 2].map(|i| (to[i] - from[i]) as f64 * 8e-3 / us);
    (rate(a, b, 2000.0), rate(c, d, 5800.0), simulation)
}

/// Returns the testbed with a load balancer that draws paths. The seed is one with which f0 has a
/// path of its own, and f1 and f2 share a path.
fn seed_of_the_paper(load_balance: &LoadBalanceConfig) -> NetworkSpec {
    let spec = |seed| NetworkSpec { seed, ..testbed(load_balance.clone()) };
    let is_so = |spec: &NetworkSpec| {
        let mut simulation = Simulation::new(spec.clone(), long_flows(None), 1).unwrap();
        simulation.run_until(at_us(200), 1);
        let [f0, f1, f2] = delivered(&simulation).map(|bytes| bytes as f64);
        f0 > 1.8 * f1 && f0 > 1.8 * f2
    };
    (1..100).map(spec).find(is_so).unwrap()
}

/// Figure 2: under ECMP the bursts block f1, which shares its path with f2, but not f0.
#[test]
fn under_ecmp_the_flow_on_the_same_path_is_blocked() {
    let (before, during, _) = rates(&testbed(LoadBalanceConfig::Ecmp(Default::default())), Some([0, 2, 2]));
    assert!(before[0] > 36.0 && before[1] > 17.0, "{before:?}");
    assert!(during[0] > 0.95 * before[0] && during[1] < 0.5 * before[1], "{before:?} {during:?}");
}

/// LetFlow is worse: f2 has gaps only while it is paused, so it moves to the path of f0 during the
/// congestion and blocks f0, too.
#[test]
fn under_letflow_the_congested_flow_blocks_both() {
    let letflow = LoadBalanceConfig::LetFlow(LetFlowConfig::default());
    let (before, during, _) = rates(&seed_of_the_paper(&letflow), None);
    assert!(during[0] < 0.75 * before[0] && during[1] < 0.9 * before[1], "{before:?} {during:?}");
}

/// With FLB, f2 is isolated, and f0 and f1 keep their rates, both with and without FLB's minimal
/// rate control.
#[test]
fn under_flb_only_the_congested_flow_is_slowed() {
    for (seed, congestion) in [(1, "none"), (2, "none"), (3, "flb-rc"), (4, "flb-rc")] {
        let gap_unit = Some(Duration::from_us(4));
        let mut spec =
            testbed(LoadBalanceConfig::Flb(FlbConfig { ties: Ties::InTurn, gap_unit, ..Default::default() }));
        spec.seed = seed;
        if congestion == "flb-rc" {
            spec.congestion = CongestionConfig::FlbRc(Default::default());
        }
        let (before, during, simulation) = rates(&spec, None);
        for flow in [0, 1] {
            assert!(before[flow] > 36.0 && during[flow] > 0.95 * before[flow], "{congestion}: {before:?} {during:?}");
        }
        assert!(during[2] < 0.5 * before[2], "{congestion}: {before:?} {during:?}");
        assert_eq!(simulation.totals().drops, [0; DropCause::ALL.len()]);
        // Figure 3: only f2's path is paused; with the rate control no path is paused.
        let paused = (1..=3).filter(|core| has_been_paused(&simulation, NodeId(S0 + core))).count();
        assert_eq!(paused, usize::from(congestion == "none"));
        assert_eq!(simulation.totals().pause_frames == 0, congestion == "flb-rc");
    }
}

fn has_been_paused(simulation: &Simulation, core: NodeId) -> bool {
    let port = &simulation.node(core).ports()[PortIx(1)];
    port.gate(QueueIx(3)).closed().is_some() || port.gate(QueueIx(3)).waits(Time::ZERO).next().is_some()
}

// --------------------------------------------------------------------------------- measured delays

/// Returns a leaf-spine with hosts 0 to 3 on leaf 8, hosts 4 to 7 on leaf 9, and spines 10 and 11.
/// Links from spines to leaf 9 have `down` Gb/s. Ports 0 to 3 of a leaf lead to hosts.
fn leaf_spine(config: FlbConfig, down: u64) -> NetworkSpec {
    let mut spec = fixtures::leaf_spine(2, 4, 2);
    for link in &mut spec.links[10..] {
        link.rate = Rate::from_gbps(down);
    }
    spec.load_balance = LoadBalanceConfig::Flb(config);
    spec.recovery = RecoveryConfig::InAnyOrder(Default::default());
    spec
}

/// Returns two pods. The first has edge 8 and aggregation switches 10 and 11, the second has edge 9
/// and aggregation switches 12 and 13. Cores 14 and 15 connect switches 10 and 12, cores 16 and 17
/// connect switches 11 and 13.
fn two_pods() -> NetworkSpec {
    let hosts = (0..8).map(|host| (host, 8 + host / 4));
    let pods = [(8, 10), (8, 11), (9, 12), (9, 13)];
    let cores = [(10, 14), (10, 15), (11, 16), (11, 17), (12, 14), (12, 15), (13, 16), (13, 17)];
    let mut spec = linked(8, 10, hosts.chain(pods).chain(cores));
    spec.load_balance = LoadBalanceConfig::Flb(FlbConfig { ties: Ties::InTurn, ..Default::default() });
    spec.recovery = RecoveryConfig::InAnyOrder(Default::default());
    spec
}

/// Each of four flows between the two edges passes a core of its own with all its packets. The edge
/// takes its two uplinks in turn, and also chooses the core behind the uplink.
#[test]
fn in_three_tiers_the_edge_chooses_whole_paths() {
    let flows: Vec<_> = (0..4).map(|host| flow(host, 4 + host, 100_000, 0)).collect();
    // With these options flows keep their first path, although two flows overload each uplink.
    let (stamp, ties) = (StampPoint::Arrival, Ties::InTurn);
    let config = FlbConfig { stamp, ties, isolation: false, ..Default::default() };
    let spec = NetworkSpec { load_balance: LoadBalanceConfig::Flb(config), ..two_pods() };
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    simulation.run_until(at_us(60), 1);
    assert!(simulation.unfinished().is_empty());
    // Each flow has more than 100,000 B on the wire, and port 1 of a core leads to the pod of edge
    // 9.
    let to_other_pod = |core| simulation.node(NodeId(core)).ports()[PortIx(1)].sent_wire_bytes();
    let full = to_other_pod(14);
    assert!(full > 100_000 && [15, 16, 17].into_iter().all(|core| to_other_pod(core) == full), "{full}");
    assert_eq!(paths(&simulation, 8).len(), 4);
}

/// A ring of `n` switches has a host at each switch, three more hosts at switch 0 and four more at
/// the opposite switch. A route has room for five links between switches. If paths are longer,
/// flows still take the first links of all paths in turn, and delays are measured.
#[test]
fn paths_that_are_longer_than_a_route_are_chosen_by_their_first_link() {
    for n in [10, 12, 14, 16] {
        let (switch, opposite) = (n + 7, n + 7 + n / 2);
        let mut spec = NetworkSpec::with_nodes(n + 7, n);
        spec.links = (0..n).map(|i| link(i, switch + i, 100, 1000)).collect();
        spec.links.extend((0..7).map(|i| link(n + i, if i < 3 { switch } else { opposite }, 100, 1000)));
        spec.links.extend((0..n).map(|i| link(switch + i, switch + (i + 1) % n, 100, 1000)));
        // With these options flows keep their first path.
        let config = FlbConfig {
            stamp: StampPoint::Arrival,
            ties: Ties::InTurn,
            isolation: false,
            sample_period: Some(Duration::from_us(1)),
            ..Default::default()
        };
        spec.load_balance = LoadBalanceConfig::Flb(config);
        let flows =
            [0, n, n + 1, n + 2].into_iter().zip(n + 3..).map(|(src, dst)| flow(src, dst, 100_000, 0)).collect();
        let mut simulation = Simulation::new(spec, flows, 1).unwrap();
        let mut most = [Duration::ZERO; 2];
        for us in 1..100 {
            simulation.run_until(at_us(us), 1);
            for (path, most) in paths(&simulation, switch).iter().zip(&mut most) {
                *most = path.delay.max(*most);
            }
        }
        assert!(most.iter().all(|most| *most > Duration::from_us(5)), "{n}: {most:?}");
        assert!(simulation.unfinished().is_empty());
        let ports = simulation.node(NodeId(switch)).ports();
        let [left, right] = [4, 5].map(|port| ports[PortIx(port)].sent_wire_bytes());
        assert!(left == right && left > 200_000, "{n}: {left} {right}");
    }
}

/// Four flows to one host isolate one of the four paths. The other core behind the same uplink and
/// both cores behind the other uplink remain for other flows.
#[test]
fn in_three_tiers_one_core_is_isolated() {
    let spec = two_pods();
    let flows: Vec<_> = (0..4).map(|host| flow(host, 4, 300_000, 0)).collect();
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    simulation.run_until(at_us(60), 1);
    let isolated = |simulation: &Simulation| paths(simulation, 8).iter().filter(|path| path.is_isolated).count();
    assert_eq!((paths(&simulation, 8).len(), isolated(&simulation)), (4, 1));
}

/// Returns the delays that leaf 8 has measured for its paths to leaf 9, in order of paths, in
/// picoseconds.
fn delays(simulation: &Simulation) -> Vec<u64> {
    paths(simulation, 8).iter().map(|path| path.delay.ps()).collect()
}

/// At time 0, a packet takes each path and finds the path idle. At 100 us, another packet takes
/// each path, and a sampled packet follows 50 ns later. A flow's first packet takes 89.76 ns at 100
/// Gb/s, so the sampled packet waits 39.76 ns for the uplink. If the link to leaf 9 has 25 Gb/s,
/// the packet in front takes 359.04 ns on that link. The sampled packet reaches the spine 89.76 ns
/// after the packet in front and waits another 269.28 ns.
#[test]
fn the_measured_delay_is_that_of_the_sampled_packet() {
    for (stamp, down, bytes, behind, expected) in [
        (StampPoint::Arrival, 100, 1024, 50, 39_760),
        (StampPoint::Departure, 100, 1024, 50, 0),
        (StampPoint::Arrival, 25, 1024, 50, 309_040),
        (StampPoint::Departure, 25, 1024, 50, 269_280),
        // Sampled packets with 100 B of payload have 198 B on the wire and take 15.84 ns. They
        // reach the leaf 56.08 ns after the packets in front, and the spine 15.84 ns after the
        // packets in front.
        (StampPoint::Arrival, 25, 100, 130, 89_760 - 56_080 + 359_040 - 15_840),
    ] {
        let sample_period = Some(Duration::from_ns(100_020));
        let config = FlbConfig { stamp, sample_period, ties: Ties::InTurn, isolation: false, ..Default::default() };
        let flows = vec![
            flow(0, 4, 1024, 0),
            flow(1, 5, 1024, 0),
            flow(0, 4, 1024, 100_000),
            flow(1, 5, 1024, 100_000),
            flow(2, 6, bytes, 100_000 + behind),
            flow(3, 7, bytes, 100_000 + behind),
        ];
        let mut simulation = Simulation::new(leaf_spine(config, down), flows, 1).unwrap();
        simulation.run_until(at_us(99), 1);
        assert_eq!(delays(&simulation), [0, 0]);
        // The report has returned, and has not aged.
        simulation.run_until(at_us(120), 1);
        assert_eq!(delays(&simulation), [expected, expected], "{stamp:?} {down} {bytes}");
    }
}

/// The network has four leaves of two hosts and two spines. Some ACKs of IRN arrive after the end
/// of their flow. These ACKs carry reports, whether or not the flow's state has been released.
/// State is released every microsecond in one run, and rarely in the other.
#[test]
fn late_answers_carry_reports() {
    let mut spec = fixtures::leaf_spine(4, 2, 2);
    spec.load_balance =
        LoadBalanceConfig::Flb(FlbConfig { sample_period: Some(Duration::from_us(1)), ..Default::default() });
    spec.recovery = RecoveryConfig::Irn(Default::default());
    let flows: Vec<_> = (0..2000).map(|i| flow(i % 8, (i + 1 + i / 8 % 7) % 8, 5000, u64::from(i) * 100)).collect();
    let (rarely, _) = run(&spec, flows.clone());
    let mut often = Simulation::new(spec, flows, 1).unwrap();
    while often.next_event() < Time::NEVER {
        let next = often.next_event();
        often.run_until(next + Duration::from_us(1), 1);
    }
    assert_eq!(often.fingerprint(), rarely.fingerprint());
}

/// By default, a path's shortest delay counts as the delay of the idle path, so a slower path has
/// no extra delay. If the shortest delay of all paths counts instead, a slower path has extra
/// delay.
#[test]
fn a_slower_path_has_more_delay_if_links_count() {
    for (delay_of, slower) in [(DelayOf::Queueing, 0), (DelayOf::OneWay, 359_040 - 89_760)] {
        let config = FlbConfig { delay_of, ties: Ties::InTurn, ..Default::default() };
        let mut spec = leaf_spine(config, 100);
        // The link from spine 11 to leaf 9 has 25 Gb/s instead of 100 Gb/s. The measured packet,
        // the first of a flow, takes 359.04 ns there instead of 89.76 ns.
        spec.links.last_mut().unwrap().rate = Rate::from_gbps(25);
        let flows = vec![flow(0, 4, 1024, 0), flow(1, 5, 1024, 0)];
        let mut simulation = Simulation::new(spec, flows, 1).unwrap();
        simulation.run_until(at_us(12), 1);
        assert_eq!(delays(&simulation), [0, slower], "{delay_of:?}");
    }
}

// --------------------------------------------------------------------------------------- isolation

/// Returns leaf 8's greatest numbers of isolated flows and of isolation paths, observed every
/// microsecond while these flows run, and both numbers in the end.
fn isolation(spec: NetworkSpec, flows: Vec<FlowSpec>) -> ((u64, u64), (u64, u64)) {
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    let mut most = (0, 0);
    for us in 1..3000 {
        simulation.run_until(at_us(us), 1);
        let now = (count(&simulation, 8, "isolated_flows"), count(&simulation, 8, "isolation_paths"));
        most = (most.0.max(now.0), most.1.max(now.1));
    }
    assert!(simulation.unfinished().is_empty(), "all flows end");
    (most, (count(&simulation, 8, "isolated_flows"), count(&simulation, 8, "isolation_paths")))
}

/// Returns a leaf-spine with four spines, so that several paths can be isolated.
fn four_spines() -> NetworkSpec {
    let mut spec = leaf_spine(FlbConfig { ties: Ties::InTurn, ..Default::default() }, 100);
    spec.nodes.extend(NetworkSpec::with_nodes(0, 14).nodes.into_iter().skip(12));
    spec.links.extend([8, 9].into_iter().flat_map(|leaf| [12, 13].map(|spine| link(leaf, spine, 100, 1000))));
    spec
}

/// All congested flows of one port of leaf 9 share one isolation path; flows of two ports need two
/// paths. Isolated flows and paths are released when the flows are done.
#[test]
fn every_congested_port_needs_a_path() {
    let to_one = |dst| (0..4).map(move |src| flow(src, dst, 300_000, 0));
    let ((flows, paths), left) = isolation(four_spines(), to_one(4).collect());
    assert!((2..=4).contains(&flows) && paths == 1, "{flows} {paths}");
    assert_eq!(left, (0, 0));
    let two = [flow(0, 4, 600_000, 0), flow(1, 4, 600_000, 0), flow(2, 5, 600_000, 0), flow(3, 5, 600_000, 0)];
    let ((flows, paths), left) = isolation(four_spines(), two.to_vec());
    assert_eq!((flows, paths, left), (4, 2, (0, 0)));
}

/// The link from the isolation path's spine to leaf 9 fails, and routes avoid the link 10 us later.
/// Another path is isolated for the congested flows, and stays isolated.
#[test]
fn another_path_is_isolated_when_the_first_one_fails_further_on() {
    let isolated = |spec: &NetworkSpec, us: u64| {
        let flows = (0..4).map(|src| flow(src, 4, 3_000_000, 0)).collect();
        let mut simulation = Simulation::new(spec.clone(), flows, 1).unwrap();
        simulation.run_until(at_us(us), 1);
        let isolated = paths(&simulation, 8).into_iter().filter(|path| path.is_isolated);
        isolated.map(|path| path.egress).collect::<Vec<_>>()
    };
    let mut spec = four_spines();
    let before = isolated(&spec, 100);
    assert_eq!(before.len(), 1);
    let spine = NodeId([10, 11, 12, 13][usize::from(before[0].0) - 4]);
    let link = spec.links.iter().position(|link| link.a == NodeId(9) && link.b == spine).unwrap();
    spec.faults = vec![LinkFault { link, down: at_us(100), up: Time::NEVER }];
    spec.reconvergence = Some(Duration::from_us(10));
    for us in (120..=600).step_by(10) {
        let now = isolated(&spec, us);
        assert!(now.len() == 1 && now != before, "{us}: {now:?}");
    }
}

/// However many ports are congested, one path remains for all other flows.
#[test]
fn not_all_paths_are_isolated() {
    let spec = leaf_spine(FlbConfig { ties: Ties::InTurn, ..Default::default() }, 100);
    let two = [flow(0, 4, 600_000, 0), flow(1, 4, 600_000, 0), flow(2, 5, 600_000, 0), flow(3, 5, 600_000, 0)];
    let ((flows, paths), left) = isolation(spec, two.to_vec());
    assert_eq!((flows, paths, left), (4, 1, (0, 0)));
}

/// Without isolation, no congestion notice is sent.
#[test]
fn rerouting_alone_isolates_nothing() {
    let spec = leaf_spine(FlbConfig { isolation: false, ..Default::default() }, 100);
    let flows = (0..4).map(|src| flow(src, 4, 300_000, 0)).collect();
    assert_eq!(isolation(spec.clone(), flows), ((0, 0), (0, 0)));
    let (simulation, _) = run(&spec, (0..4).map(|src| flow(src, 4, 300_000, 0)).collect());
    assert_eq!(simulation.counters().get("cnms"), None);
}

// ----------------------------------------------------------------- no reordering with exact delays

/// FLB's default rule with the true delays of paths, which are known if only the uplinks of leaves
/// have queues. Only every fourth packet of a flow may change the path. If every packet took the
/// fastest path, a flow's packets would stay in order even without the rule's condition on the gap
/// between packets. `any_gap` omits this condition.
#[derive(Clone, Debug, Default)]
struct Oracle {
    any_gap: bool,
    moves: Arc<AtomicU64>,
}

#[derive(Debug)]
struct OracleAt {
    any_gap: bool,
    moves: Arc<AtomicU64>,
    /// End of the transmission, by port.
    busy: IndexVec<PortIx, Time>,
    to_host: IndexVec<PortIx, bool>,
    /// Path, arrival and delay of each flow's last packet.
    flows: BTreeMap<FlowId, (usize, Time, Duration)>,
    draws: Stream,
}

load_balancer!(Oracle, OracleAt: |options, site| OracleAt {
    any_gap: options.any_gap,
    moves: options.moves.clone(),
    busy: vec![Time::ZERO; site.ports.len()].into(),
    to_host: site.neighbours.iter().map(|neighbour| neighbour.is_host).collect(),
    flows: BTreeMap::new(),
    draws: site.seed.stream("oracle", u64::from(site.node.0)),
});

impl PipelineHooks for OracleAt {
    fn hooks(&self) -> HookSet {
        HookSet::DATA_DEPARTURE
    }

    fn on_departure(&mut self, packet: &mut PacketContext<'_>, _queue: u64, view: &mut View<'_>) {
        let rate = view.port(packet.egress).rate();
        self.busy[packet.egress] = view.now + rate.time_for(packet.wire_bytes().into());
    }
}

impl LoadBalance for OracleAt {
    fn choose(&mut self, arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Choice {
        let (now, flow) = (view.now, arrival.packet.headers().flow);
        if !self.to_host[arrival.packet.ingress()] || arrival.packet.headers().kind != PacketKind::Data {
            return Choice::Candidate(0);
        }
        let delay = |port: PortIx| {
            let at = view.port(port);
            self.busy[port].since(now) + at.rate().time_for(at.queue_bytes(QueueIx(3)))
        };
        let delays: Vec<(usize, Duration)> = arrival.candidates.iter().map(|port| delay(*port)).enumerate().collect();
        let least = delays.iter().map(|(way, delay)| (*delay, *way)).min().unwrap().1;
        let way = match self.flows.get(&flow) {
            None => least,
            Some((before, ..)) if !arrival.packet.headers().psn.is_multiple_of(4) => *before,
            Some((before, last, met)) => {
                let gap = if self.any_gap { Duration::from_ms(1000) } else { now.since(*last) };
                let present = Present { now: delays[*before].1, met: *met, gap };
                let paths = delays.iter().copied();
                reroute(Rerouting::KeepOrder, paths, |_| true, present, &mut self.draws).unwrap_or(*before)
            }
        };
        if self.flows.insert(flow, (way, now, delays[way].1)).is_some_and(|(before, ..)| before != way) {
            self.moves.fetch_add(1, Ordering::Relaxed);
        }
        Choice::Candidate(way)
    }
}

/// Draws pairs of leaves, one of which sends to the other over several spines. All uplinks have one
/// rate, and links from spines to leaves are no slower than uplinks, so a packet leaves a spine at
/// once. All packets have 1,000 B on the wire. A shorter packet would spend less time on the links
/// than the packet in front, and no path's delay includes this difference.
fn pairs_of_leaves() -> impl Strategy<Value = (NetworkSpec, Vec<FlowSpec>)> {
    let gbps = || select(vec![10u64, 25, 40, 100]);
    let shape = (1u32..3, 2u32..5, 1u32..5, gbps(), 1u64..3, 1u64..2000);
    let flows = prop::collection::vec((any::<u32>(), any::<u32>(), 1u64..200, 0u64..60_000), 1..24);
    (shape, prop::collection::vec(gbps(), 8), flows).prop_map(|(shape, rates, drawn)| {
        let (pairs, spines, per_leaf, up, faster, delay) = shape;
        let hosts = 2 * pairs * per_leaf;
        let mut spec = NetworkSpec::with_nodes(hosts, 2 * pairs + spines);
        spec.links =
            (0..hosts).map(|host| link(host, hosts + host / per_leaf, rates[host as usize % 8], 1000)).collect();
        for leaf in 0..2 * pairs {
            let rate = if leaf % 2 == 0 { up } else { up * faster };
            spec.links.extend((0..spines).map(|spine| link(hosts + leaf, hosts + 2 * pairs + spine, rate, delay)));
        }
        (spec.framing, spec.mtu) = (Framing::HpccNs3, Bytes(952));
        spec.recovery = RecoveryConfig::GoBackN(GoBackNConfig { timeout: Duration::ZERO, ..Default::default() });
        // The buffer holds all packets, so no PAUSE is needed.
        spec.switch.flow_control = common::no_flow_control();
        spec.switch.buffer = Bytes(1 << 40);
        let flows = drawn.into_iter().map(|(src, dst, packets, start)| {
            let leaf = 2 * (src % pairs);
            let host = |leaf: u32, draw: u32| leaf * per_leaf + draw / 7 % per_leaf;
            flow(host(leaf, src), host(leaf + 1, dst), packets * 952, start)
        });
        (spec, sorted(flows))
    })
}

/// Returns the bytes retransmitted because packets were overtaken, and the number of reroutes that
/// FLB counted.
fn repeated(spec: &NetworkSpec, flows: Vec<FlowSpec>, load_balance: LoadBalanceConfig) -> (u64, u64) {
    let (simulation, outcomes) = run(&NetworkSpec { load_balance, ..spec.clone() }, flows);
    assert_eq!(simulation.totals().drops, [0; DropCause::ALL.len()]);
    let reroutes = simulation.counters().get("reroutes").copied().unwrap_or_default();
    (outcomes.iter().map(|outcome| outcome.retransmitted).sum(), reroutes)
}

/// Returns FLB without isolation, under which flows may leave their paths at any time.
fn rerouting() -> LoadBalanceConfig {
    LoadBalanceConfig::Flb(FlbConfig { isolation: false, ..FlbConfig::default() })
}

proptest! {
    #![proptest_config(common::cases(150))]

    /// Go-Back-N retransmits overtaken packets. If flows move only after a gap longer than the
    /// difference of delays, Go-Back-N retransmits nothing.
    #[test]
    fn with_exact_delays_nothing_is_overtaken((spec, flows) in pairs_of_leaves()) {
        prop_assert_eq!(repeated(&spec, flows, LoadBalanceConfig::custom(Oracle::default())).0, 0);
    }

    /// FLB knows the exact delays of a leaf's uplinks, and no other port has a queue.
    #[test]
    fn with_queues_at_uplinks_only_nothing_is_overtaken((spec, flows) in pairs_of_leaves()) {
        prop_assert_eq!(repeated(&spec, flows, rerouting()).0, 0);
    }
}

/// In the networks of the properties above, flows do change their paths. Without the condition on
/// the gap between packets, packets are reordered.
#[test]
fn without_the_condition_packets_are_overtaken() {
    let mut runner = TestRunner::deterministic();
    let (rule, no_rule) = (Oracle::default(), Oracle { any_gap: true, ..Default::default() });
    let (mut overtaken, mut reroutes) = (0, 0);
    for _ in 0..20 {
        let (spec, flows) = pairs_of_leaves().new_tree(&mut runner).unwrap().current();
        assert_eq!(repeated(&spec, flows.clone(), LoadBalanceConfig::custom(rule.clone())).0, 0);
        reroutes += repeated(&spec, flows.clone(), rerouting()).1;
        overtaken += repeated(&spec, flows, LoadBalanceConfig::custom(no_rule.clone())).0;
    }
    assert!(
        overtaken > 0 && reroutes > 100 && rule.moves.load(Ordering::Relaxed) > 100,
        "{overtaken} {reroutes} {rule:?}"
    );
}

/// Two hosts with links of 40 Gb/s send a packet every 200 ns through two uplinks of 100 Gb/s.
/// Every 20 us, six hosts with links of 100 Gb/s send 10 packets each through the first uplink. The
/// queue of this uplink grows to some 4 us and drains. By the default rule, flows leave the uplink
/// in order when the queue grows. By the rule as printed in the paper, flows stay until the queue
/// is shorter than 200 ns, and then overtake its remaining packets. By the rule that requires a
/// faster path than that of the last packet, flows never move, because the last packet found its
/// path idle.
#[test]
fn the_printed_rule_reorders_packets_while_a_queue_drains() {
    let run = |rerouting| {
        let mut spec = fixtures::leaf_spine(2, 8, 2);
        for slow in [0, 1, 8, 9] {
            spec.links[slow].rate = Rate::from_gbps(40);
        }
        (spec.framing, spec.mtu) = (Framing::HpccNs3, Bytes(952));
        spec.recovery = RecoveryConfig::InAnyOrder(Default::default());
        spec.switch.flow_control = common::no_flow_control();
        spec.switch.buffer = Bytes(1 << 40);
        spec.load_balance = LoadBalanceConfig::Flb(FlbConfig { rerouting, isolation: false, ..FlbConfig::default() });
        let mut flows: Vec<_> = (0..2).map(|host| flow(host, 8 + host, 1000 * 952, 0)).collect();
        for burst in 1..10 {
            let data_via = [16, 18, 17].map(NodeId).to_vec();
            let pinned = |host| flow(host, 8 + host, 9520, burst * 20_000).via(data_via.clone(), vec![]);
            flows.extend((2..8).map(pinned));
        }
        let (simulation, outcomes) = run(&spec, flows);
        let reroutes = simulation.counters().get("reroutes").copied().unwrap_or_default();
        (reroutes, outcomes.iter().map(|outcome| outcome.reception.disorder.packets()).sum::<u64>())
    };
    let [keep, printed, faster] = [Rerouting::KeepOrder, Rerouting::AsPrinted, Rerouting::FasterThanLast].map(run);
    assert!(keep.0 >= 9 && keep.1 == 0, "{keep:?}");
    assert!(printed.0 >= 9 && printed.1 > 0, "{printed:?}");
    assert_eq!(faster, (0, 0));
}

// ------------------------------------------------------------------------ other functions of edges

/// With the rate control, edge switches forward notices to hosts; without the rate control, edge
/// switches do not.
#[test]
fn hosts_get_notices_if_their_control_supports_them() {
    for (congestion, forwarded) in
        [(CongestionConfig::None(Default::default()), false), (CongestionConfig::FlbRc(Default::default()), true)]
    {
        let mut spec = leaf_spine(FlbConfig::default(), 100);
        spec.congestion = congestion;
        let (simulation, _) = run(&spec, (0..4).map(|src| flow(src, 4, 300_000, 0)).collect());
        assert_eq!(simulation.counters().contains_key("notices_received"), forwarded);
        assert!(simulation.counters()["cnms"] > 0 && simulation.counters()["clear_cnms"] > 0);
    }
}

/// The first sampled packet of a path waits behind another packet, the second finds the path idle,
/// and the third waits again. The measured delay is the waiting time of the third.
#[test]
fn the_shortest_delay_is_that_of_the_idle_path() {
    let (sample_period, delay_aging) = (Some(Duration::from_ns(100)), Some(Duration::from_ms(1)));
    let (stamp, ties) = (StampPoint::Arrival, Ties::InTurn);
    let config = FlbConfig { sample_period, delay_aging, stamp, isolation: false, ties, ..Default::default() };
    let mut flows = Vec::new();
    for (start, are_first) in [(0, true), (50_000, false), (100_000, true)] {
        // The packet in front is pinned to one path, and is not sampled.
        let via = |src, spine| flow(src, 4, 1024, start).via([8, spine, 9].map(NodeId).to_vec(), vec![]);
        flows.extend([via(0, 10), via(1, 11)].into_iter().filter(|_| are_first));
        flows.extend([flow(2, 6, 1024, start), flow(3, 7, 1024, start)]);
    }
    let mut simulation = Simulation::new(leaf_spine(config, 100), flows, 1).unwrap();
    let expected = [(45, 0), (95, 0), (145, 89_760)];
    for (us, delay) in expected {
        simulation.run_until(at_us(us), 1);
        assert_eq!(delays(&simulation), [delay, delay], "{us} us");
    }
}

/// A link between a spine and leaf 9 fails. After reconvergence, no packet from hosts of leaf 8
/// passes that spine.
#[test]
fn a_path_without_route_is_left() {
    let mut spec = four_spines();
    let link = spec.links.iter().position(|link| link.a == NodeId(9) && link.b == NodeId(11)).unwrap();
    spec.faults = vec![LinkFault { link, down: at_us(50), up: Time::NEVER }];
    spec.reconvergence = Some(Duration::from_us(20));
    let flows = (0..4).map(|host| flow(host, 4 + host, 8_000_000, 0)).collect();
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    let sent = |simulation: &Simulation| simulation.node(NodeId(8)).ports()[PortIx(5)].sent_wire_bytes();
    simulation.run_until(at_us(50), 1);
    assert!(sent(&simulation) > 0);
    // At 300 us, the uplink's queue has drained.
    simulation.run_until(at_us(300), 1);
    let known = sent(&simulation);
    drain(&mut simulation);
    assert_eq!((sent(&simulation), paths(&simulation, 8).len()), (known, 3));
    assert!(simulation.outcomes().iter().all(|outcome| outcome.acknowledged.is_some()));
}
