//! SRCC in networks: notified flows, arrival of notices, and convergence of rates.
//!
//! Links have 100 Gb/s and a delay of 1 us unless stated otherwise. A data frame with 1024 B of
//! payload has 1,106 B on the wire and takes 88.48 ns. The first frame of a flow has 1,122 B and
//! takes 89.76 ns, a notice has 84 B and takes 6.72 ns.

use crate::common::random::srcc;
use crate::prelude::*;
use backwater_fabric::mechanisms::congestion::none::{NoneConfig, Window};
use backwater_fabric::mechanisms::congestion::srcc::base::Base;
use backwater_fabric::mechanisms::congestion::srcc::{SrccThreshold, Uncongested, WindowTest};
use proptest::prelude::*;

/// Returns the base control `none`.
fn alone() -> Base {
    Base::None(NoneConfig::default())
}

/// Returns a network under SRCC; PFC's threshold is 500 KB.
fn under(config: SrccConfig, mut spec: NetworkSpec) -> NetworkSpec {
    spec.congestion = CongestionConfig::Srcc(config);
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(500_000), ..Default::default() });
    spec.switch.buffer = Bytes(100_000_000);
    spec.host.ack_every = 1;
    spec
}

fn fixed(threshold: u64) -> SrccConfig {
    let static_threshold = Some(Bytes(threshold));
    SrccConfig { base: alone(), threshold: SrccThreshold::Static, static_threshold, ..Default::default() }
}

/// Runs to the end and records the whole trace.
fn traced(spec: &NetworkSpec, flows: Vec<FlowSpec>) -> (Simulation, Vec<Traced>) {
    let (simulation, trace) = run_traced(spec, flows);
    assert_eq!((simulation.audit(), simulation.violations()), (vec![], vec![]));
    (simulation, trace)
}

/// Returns time and node of each transmission of a notice about a flow.
fn notices(trace: &[Traced], flow: u32) -> Vec<(Time, NodeId)> {
    let is_notice = |packet: &&Packet| packet.kind == PacketKind::Notice && packet.flow == FlowId(flow);
    let sent = trace.iter().filter(|traced| match &traced.what {
        TracedAction::Sent { frame, .. } => frame.packet().filter(is_notice).is_some(),
        TracedAction::Reported(_) => false,
    });
    sent.map(|traced| (traced.at, traced.node)).collect()
}

/// Returns the flows with notices.
fn notified(trace: &[Traced], flows: u32) -> Vec<u32> {
    (0..flows).filter(|flow| !notices(trace, *flow).is_empty()).collect()
}

// ----------------------------------------------------------------------- figure 4: who is notified

/// Returns the notified flows. Two flows, from h0 and h1 to h4, are congested; a third flow, from
/// h2 or h0 to h5, is not. If the third flow starts at h0, both flows of h0 have half of the line
/// rate.
fn figure_4(config: SrccConfig, uncongested_from: u32) -> Vec<u32> {
    let flows = vec![flow(0, 4, 1_000_000, 0), flow(1, 4, 1_000_000, 0), flow(uncongested_from, 5, 1_000_000, 0)];
    notified(&traced(&under(config, star(6)), flows).1, 3)
}

#[test]
fn flows_alone_at_their_ingress_port_get_no_notice() {
    assert!(figure_4(fixed(50_000), 2).is_empty());
}

#[test]
fn a_congested_flow_with_a_shared_ingress_port_gets_notices() {
    assert_eq!(figure_4(fixed(50_000), 0), [0]);
    assert_eq!(figure_4(fixed(50_000), 1), [1]);
}

/// According to the paper's text, a port is shared if no uncongested packet has arrived for long.
#[test]
fn the_printed_test_notifies_the_others() {
    let printed = SrccConfig { window_test: WindowTest::Beyond, ..fixed(50_000) };
    assert_eq!(figure_4(printed.clone(), 2), [0, 1]);
    assert_eq!(figure_4(printed, 0), [1]);
}

/// If packets to the same port count as uncongested, a flow's packets that arrived before its queue
/// was long count, too.
#[test]
fn flows_to_the_same_port_can_count_as_uncongested() {
    let any = SrccConfig { uncongested: Uncongested::AnyPort, ..fixed(50_000) };
    assert_eq!(figure_4(any, 2), [0, 1]);
}

// --------------------------------------------------------------------------- the notice on its way

/// Returns the chain s0 - s1 - s2, with h0 and h1 at s0, and h2 and h3 at s2. The bottleneck is
/// s2's port to h2.
fn three_hops() -> NetworkSpec {
    let mut spec = NetworkSpec::with_nodes(4, 3);
    spec.links = vec![
        link(0, 4, 100, 1000),
        link(1, 4, 100, 1000),
        link(4, 5, 200, 2000),
        link(5, 6, 200, 3000),
        link(2, 6, 100, 1000),
        link(3, 6, 100, 1000),
    ];
    spec
}

/// A notice of 84 B passes three links with delays of 3, 2 and 1 us and rates of 200, 200 and 100
/// Gb/s. The notice is sent as soon as its packet arrives. The sender finishes the packet on the
/// wire and continues at half of its rate.
#[test]
fn a_notice_takes_exactly_the_time_of_its_hops() {
    let flows = vec![flow(0, 2, 2_000_000, 0), flow(1, 2, 2_000_000, 0), flow(0, 3, 20_000, 0), flow(1, 3, 20_000, 0)];
    let (simulation, trace) = traced(&under(fixed(20_000), three_hops()), flows);
    let of_flow = notices(&trace, 0);
    assert_eq!(of_flow.iter().map(|(_, node)| node.0).take(3).collect::<Vec<_>>(), [6, 5, 4]);
    let first = of_flow[0].0;
    let arrival = first + Duration::from_ps(3360 + 3_000_000 + 3360 + 2_000_000 + 6720 + 1_000_000);
    let rates = |from: Time| -> Vec<(Time, Rate)> {
        let of_flow = trace.iter().filter_map(|traced| match traced.what {
            TracedAction::Reported(Report::Rate { flow: FlowId(0), rate, .. }) if traced.at >= from => {
                Some((traced.at, rate))
            }
            _ => None,
        });
        of_flow.collect()
    };
    let line = Rate::from_gbps(100);
    let before = rates(Time::ZERO).into_iter().filter(|(at, _)| *at < arrival);
    assert!(before.map(|(_, rate)| rate).all(|rate| rate == line));
    assert_eq!(rates(arrival)[0].1, Rate::from_gbps(50));
    // The next notice about the same flow follows after at least 3 x 3 us: three links count, each
    // with the delay of the packet's ingress link.
    let made: Vec<Time> = of_flow.iter().filter(|(_, node)| node.0 == 6).map(|(at, _)| *at).collect();
    let gaps = made.windows(2).map(|pair| pair[1].since(pair[0]));
    let shortest = gaps.min().unwrap();
    assert!((Duration::from_us(9)..Duration::from_ns(9200)).contains(&shortest), "{shortest}");
    // The counters sum links and delays of all notices. All notices take the same time, because
    // none waits.
    let counters = simulation.counters();
    assert_eq!(counters["notices"], counters["notices_received"]);
    assert_eq!(counters["notice_links"], 3 * counters["notices"]);
    assert!(counters["notice_delay_ns"].abs_diff(6013 * counters["notices"]) <= counters["notices"]);
}

// ----------------------------------------------------------------------------- how far queues grow

/// Returns the longest queue at the port to h4, where two flows arrive at line rate. The threshold
/// is that of Equation 6 with Q_PFC / M = 50 KB, and both ingress ports are shared.
fn longest_queue(two_way: bool) -> u64 {
    let config = SrccConfig {
        base: alone(),
        threshold: SrccThreshold::Eq6,
        q_pfc: Some(Bytes(100_000)),
        two_way,
        // Rates practically do not grow after a notice.
        additive_increase: Some(Rate::from_bps(1)),
        ..Default::default()
    };
    let flows = vec![flow(0, 5, 8000, 0), flow(1, 5, 8000, 0), flow(0, 4, 400_000, 1000), flow(1, 4, 400_000, 1000)];
    let (simulation, trace) = traced(&under(config, star(6)), flows);
    let port = simulation.fabric().wiring.ports_of(NodeId(6))[4].id;
    let lengths = trace.iter().filter_map(|traced| match traced.what {
        TracedAction::Reported(Report::Enqueued { port: at, bytes, .. }) if at == port => Some(bytes),
        _ => None,
    });
    lengths.max().unwrap()
}

/// With m = 2 ingress ports, a queue grows at the rate of one link, by 12.5 KB in N d = 1 us. It
/// grows by this amount while the notice is in flight, and again by data sent before the notice
/// arrives. Equation 6 allows only for one of these. Frames in transmission add a little: the
/// notice and the frame before it, and one frame at each host.
#[test]
fn equation_6_ignores_the_notices_delay_unless_two_way() {
    let (one, both) = (longest_queue(false), longest_queue(true));
    assert!((50_000 + 12_000..50_000 + 12_500 + 4 * 1106).contains(&one), "{one}");
    assert!((50_000 - 1106..50_000 + 4 * 1106).contains(&both), "{both}");
}

// ------------------------------------------------------------------------------------- fair shares

/// Returns n flows to h`n` through one port. Every host also sends a packet to one of four other
/// hosts every 8 us, so that the host's ingress port is shared.
fn through_one_port(n: u32, sizes: impl Fn(u32) -> u64, until_us: u64) -> Vec<FlowSpec> {
    let long = (0..n).map(|host| flow(host, n, sizes(host), 0));
    let thin = (0..until_us / 8)
        .flat_map(|at| (0..n).map(move |host| flow(host, n + 1 + host % 4, 1000, at * 8000 + u64::from(host) * 100)));
    long.chain(thin).collect()
}

/// A simulation with counts of the delivered bytes of its long flows.
struct Watched {
    simulation: Simulation,
    delivered: Vec<u64>,
}

impl Watched {
    fn run_until(&mut self, us: u64) -> Vec<u64> {
        let Watched { simulation, delivered } = self;
        simulation.run_until(at_us(us), 1);
        for outcome in simulation.take_finished().into_iter().chain(simulation.unfinished()) {
            if let Some(of_flow) = delivered.get_mut(outcome.flow.0 as usize) {
                *of_flow = outcome.reception.delivered;
            }
        }
        delivered.clone()
    }

    /// Returns payload rates of the long flows between two instants, as shares of the line rate.
    fn rates(&mut self, from_us: u64, to_us: u64) -> Vec<f64> {
        let line = 12_500.0 * 1024.0 / 1106.0 * (to_us - from_us) as f64;
        let (before, after) = (self.run_until(from_us), self.run_until(to_us));
        before.iter().zip(&after).map(|(before, after)| (after - before) as f64 / line).collect()
    }
}

/// Returns a simulation of n flows that share one link. Half of the flows end at about 4 ms.
fn half_leave(base: Base, n: u32, until_us: u64) -> Watched {
    let spec = under(SrccConfig { base, ..Default::default() }, star(n + 5));
    let of_4_ms = 4000 * 12_500 / u64::from(n) * 1024 / 1106;
    let flows = through_one_port(n, |host| if host < n / 2 { of_4_ms } else { FlowSpec::ENDLESS }, until_us);
    Watched { simulation: Simulation::new(spec, flows, 1).unwrap(), delivered: vec![0; n as usize] }
}

/// Checks that from `settled` until 3.5 ms each flow has the rate C / n, the fair share of the link
/// rate C, within `tolerance`, and that the link's utilisation is above 95 %. From `busy_again` on,
/// the remaining flows use the full rate.
fn settles(base: &Base, n: u32, settled: u64, tolerance: f64, busy_again: u64) {
    let mut watched = half_leave(base.clone(), n, busy_again + 1000);
    let shares = watched.rates(settled, 3500);
    let busy: f64 = shares.iter().sum();
    assert!(busy > 0.95, "{n} flows: {busy}");
    assert!(shares.iter().all(|share| (share * f64::from(n) - 1.0).abs() < tolerance), "{n} flows: {shares:?}");
    let shares = watched.rates(busy_again, busy_again + 1000);
    let busy: f64 = shares.iter().sum();
    assert!(busy > 0.95 && shares[..n as usize / 2].iter().all(|share| *share == 0.0), "{n} flows: {busy} {shares:?}");
    assert_eq!((watched.simulation.audit(), watched.simulation.violations()), (vec![], vec![]));
}

/// Without a base control flows converge in a millisecond, within 1 %.
#[test]
fn flows_converge_to_equal_shares_and_take_over_free_rate() {
    for n in [2, 3, 8, 16, 33, 64] {
        settles(&alone(), n, 1000, 0.01, 5000);
    }
}

/// A rate under DCQCN grows by 200 Mb/s in at most 300 us. After the first steps, n / 2 flows
/// therefore need 150 ms / n to take over half of 100 Gb/s.
#[test]
fn over_dcqcn_rates_grow_as_slowly_as_dcqcn() {
    for n in [2, 3, 8, 16, 33, 64] {
        settles(&Base::default(), n, 2000, 0.1, 6000 + 150_000 / u64::from(n / 2 * 2));
    }
}

// ------------------------------------------------------------------------------ notices on the way

/// Packets are sprayed over the network h0, h1 - s4 = (s5, s6) = (s7, s8) = s9 - h2, h3. A notice
/// could return through either of two switches in each tier.
#[test]
fn notices_return_along_the_path_of_their_packet() {
    let ends = [(0, 4), (1, 4), (4, 5), (4, 6), (5, 7), (5, 8), (6, 7), (6, 8), (7, 9), (8, 9), (9, 2), (9, 3)];
    let mut spec = under(fixed(30_000), linked(4, 6, ends));
    spec.load_balance = LoadBalanceConfig::Spray(SprayConfig {});
    spec.recovery = RecoveryConfig::InAnyOrder(Default::default());
    let flows = vec![flow(0, 2, 400_000, 0), flow(1, 2, 400_000, 0), flow(0, 3, 400_000, 0)];
    let (simulation, trace) = traced(&spec, flows);
    let wiring = &simulation.fabric().wiring;
    // Transmissions of packets: start, sender, receiver and arrival.
    let sent: Vec<_> = trace
        .iter()
        .filter_map(|traced| match &traced.what {
            TracedAction::Sent { frame, until, .. } => {
                let port = &wiring.ports[traced.port?];
                let peer = wiring.ports[port.peer].node;
                Some((traced.at, traced.node.0, peer.0, *until + port.delay, *frame.packet()?))
            }
            TracedAction::Reported(_) => None,
        })
        .collect();
    let mut seen = BTreeSet::new();
    for (at, _, back, arrival, notice) in
        sent.iter().filter(|(_, node, .., packet)| *node == 9 && packet.kind == PacketKind::Notice)
    {
        // The packet that arrived at the instant of the notice, and the node before that packet's
        // last link.
        let is_it = |packet: &Packet| packet.kind == PacketKind::Data && packet.flow == notice.flow;
        let (.., packet) =
            sent.iter().find(|(_, by, to, when, packet)| (by, *to, when) == (back, 9, at) && is_it(packet)).unwrap();
        let (_, before, ..) =
            sent.iter().find(|(_, _, to, _, other)| (to, other.psn) == (back, packet.psn) && is_it(other)).unwrap();
        let (_, _, next, ..) = sent
            .iter()
            .find(|(when, by, .., other)| {
                (by, other.kind, other.flow) == (back, PacketKind::Notice, notice.flow) && when >= arrival
            })
            .unwrap();
        assert_eq!(next, before);
        seen.insert((*back, *next));
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
}

/// Servers that relay are congestion points if configured. h1 of BCube(2, 1) has more packets for
/// its port to s3 than this port carries, and notifies h0, whose packets it relays. h1's own
/// packets cause no notices at h1.
#[test]
fn servers_that_relay_send_notices_if_configured() {
    let notified = |congestion_point| {
        let config = SrccConfig { uncongested: Uncongested::AnyPort, ..fixed(20_000) };
        let mut spec = under(config, bcube(2, 1));
        spec.host.scheduler = HostScheduler::Fair {};
        spec.host.relay.congestion_point = congestion_point;
        let flows = vec![via(0, &[4, 1, 7], 3, 4_000_000), via(1, &[7], 3, 4_000_000)];
        let (_, trace) = traced(&spec, flows);
        let by_h1 = |flow| notices(&trace, flow).iter().any(|(_, node)| node.0 == 1);
        [by_h1(0), by_h1(1)]
    };
    assert_eq!([notified(false), notified(true)], [[false, false], [true, false]]);
}

// ---------------------------------------------------------------------------------- under the base

/// Returns a leaf-spine with an incast and other flows.
fn busy() -> (NetworkSpec, Vec<FlowSpec>) {
    let flows = (0..24).map(|i| {
        flow(i % 7, if i % 3 == 0 { 7 } else { (i + 3) % 7 }, 100_000 * u64::from(1 + i % 5), u64::from(i) * 3000)
    });
    (leaf_spine(2, 4, 2), flows.filter(|flow| flow.src != flow.dst).collect())
}

/// Returns every congestion control, both alone and as a base of SRCC.
fn bases() -> Vec<(CongestionConfig, Base)> {
    let profiles = [DcqcnProfile::HpccNs3, DcqcnProfile::Paper, DcqcnProfile::Firmware];
    let dcqcn = profiles.map(|profile| DcqcnConfig { profile, ..Default::default() });
    let dcqcn = dcqcn.map(|dcqcn| (CongestionConfig::Dcqcn(dcqcn.clone()), Base::Dcqcn(dcqcn)));
    let others = [
        (CongestionConfig::Hpcc(Default::default()), Base::Hpcc(Default::default())),
        (CongestionConfig::Swift(Default::default()), Base::Swift(Default::default())),
        (CongestionConfig::None(Default::default()), alone()),
        (
            CongestionConfig::None(NoneConfig { window: Some(Window::Bdp) }),
            Base::None(NoneConfig { window: Some(Window::Bdp) }),
        ),
    ];
    dcqcn.into_iter().chain(others).collect()
}

/// Checks that frame by frame the run equals that of the base control if no queue exceeds its
/// threshold, and differs if there are notices.
fn assert_governed(spec: &NetworkSpec, flows: &[FlowSpec]) {
    for (control, base) in bases() {
        let run = |congestion| {
            let spec = NetworkSpec { congestion, ..under(fixed(1), spec.clone()) };
            let (simulation, outcomes) = common::run(&spec, flows.to_vec());
            (simulation.fingerprint(), outcomes.iter().map(|outcome| outcome.acknowledged).collect::<Vec<_>>())
        };
        let with = |threshold| run(CongestionConfig::Srcc(SrccConfig { base: base.clone(), ..fixed(threshold) }));
        let by_itself = run(control);
        assert_eq!(with(100_000_000), by_itself, "{base:?}");
        assert_ne!(with(20_000), by_itself, "{base:?}");
    }
}

#[test]
fn the_base_control_acts_without_notices() {
    let (spec, flows) = busy();
    assert_governed(&spec, &flows);
}

#[test]
fn the_base_control_acts_on_losses() {
    let (mut spec, flows) = busy();
    set_error_rate(&mut spec, 0.001);
    spec.recovery = RecoveryConfig::Irn(Default::default());
    assert_governed(&spec, &flows);
}

// --------------------------------------------------------------------------------- random networks

proptest! {
    #![proptest_config(common::cases(150))]

    /// With PFC and SRCC over each base, no packet is lost or overtaken, every flow finishes, no
    /// notice is lost, and no sender exceeds its line rate. Results do not depend on shards.
    #[test]
    fn random_fabrics_lose_nothing_and_starve_no_flow(
        Case { spec, flows } in lossless_at_common_rates(),
        configs in [
            alone(), Base::Dcqcn(Default::default()), Base::Hpcc(Default::default()), Base::Swift(Default::default()),
        ].map(|base| srcc(Just(base))),
        room in 1u64..400_000,
    ) {
        for config in configs {
            let mut spec = spec.clone();
            spec.congestion = CongestionConfig::Srcc(config);
            spec.host.ack_every = 1;
            // Telemetry headers increase the required headroom.
            spec.switch.buffer = Bytes(reserved(&spec) + room);
            let (simulation, trace) = run_traced(&spec, flows.clone());
            let outcomes = simulation.outcomes();
            prop_assert_eq!(outcomes.len(), flows.len());
            for outcome in &outcomes {
                prop_assert_eq!((outcome.retransmitted, outcome.reception.delivered), (0, outcome.spec.bytes));
            }
            let totals = simulation.totals();
            prop_assert_eq!((totals.drops, totals.live_flows(), totals.paused_ports), ([0; 5], 0, 0));
            prop_assert_eq!((simulation.audit(), simulation.violations()), (vec![], vec![]));
            prop_assert!(simulation.is_quiet());
            let counters = simulation.counters();
            prop_assert_eq!(counters.get("notices"), counters.get("notices_received"));
            for traced in &trace {
                if let TracedAction::Reported(Report::Rate { flow, rate, .. }) = traced.what {
                    let host = flows[flow.0 as usize].src;
                    let fastest = simulation.fabric().wiring.ports_of(host).iter().map(|port| port.rate).max();
                    prop_assert!(rate > Rate::from_bps(0) && Some(rate) <= fastest, "{rate} of {fastest:?}");
                }
            }
            for shards in [2, 3] {
                let (other, _) = common::run_shards(&spec, flows.clone(), shards);
                prop_assert_eq!(other.fingerprint(), simulation.fingerprint());
                prop_assert_eq!(other.counters(), counters.clone());
            }
        }
    }
}
