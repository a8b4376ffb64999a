//! LetFlow and CONGA in networks: flowlets that stay on a path or change it, CONGA's feedback,
//! paths of different rates, and links that fail.
//!
//! Networks have two leaves and two spines, and links of 100 Gb/s with a delay of 1 us unless
//! stated otherwise. A data packet with 1024 B of payload has 1,106 B on the wire and takes 88.48
//! ns. The first packet of a flow has 1,122 B and takes 89.76 ns, an ACK has 86 B and takes 6.88
//! ns.

use crate::common::random::flowlets;
use crate::prelude::*;
use backwater_fabric::frame::Direction;
use backwater_fabric::mechanisms::load_balance::conga::{Conga, CongaConfig, LeafHeader};
use proptest::prelude::*;

/// Returns a leaf-spine with hosts 0 to 3 on leaf 8, hosts 4 to 7 on leaf 9, and spines 10 and 11.
/// The link from spine 11 to leaf 9 has `slow` Gb/s. Ports 0 to 3 of a leaf lead to hosts, port 4
/// to spine 10 and port 5 to spine 11.
fn leaf_spine(load_balance: LoadBalanceConfig, slow: u64) -> NetworkSpec {
    let mut spec = fixtures::leaf_spine(2, 4, 2);
    spec.links[11].rate = Rate::from_gbps(slow);
    spec.load_balance = load_balance;
    spec
}

fn letflow() -> LoadBalanceConfig {
    LoadBalanceConfig::LetFlow(Default::default())
}

fn conga() -> LoadBalanceConfig {
    LoadBalanceConfig::Conga(Default::default())
}

/// Returns the bytes that leaf 8 has sent to each spine.
fn sent_up(simulation: &Simulation) -> [u64; 2] {
    [4, 5].map(|port| simulation.node(NodeId(8)).ports()[PortIx(port)].sent_wire_bytes())
}

// ----------------------------------------------------------------------------------------- LetFlow

/// A flow has 64 bursts of 8 packets. Packets of a burst are 50 us apart; the gap between two
/// bursts is 1 ps longer. All packets of a burst take one path. Every burst draws one of two paths,
/// so about half of 63 bursts change the path. The tolerance is five standard deviations of 4.
#[test]
fn a_burst_stays_on_its_path_and_the_next_may_take_another() {
    let mut leaf = Script::new(&leaf_spine(letflow(), 100), vec![flow(0, 4, 1 << 20, 0)], 8);
    let (mut at, mut paths) = (1_000_000, Vec::new());
    for psn in 0..512 {
        leaf.arrive_data(at, 0, 0, psn);
        let Sent { at: sent, port, content, done } = leaf.next_sent(u64::MAX).unwrap();
        let taken = if psn == 0 { 89_760 } else { 88_480 };
        assert_eq!((sent, content, done), (at, Content::Data(3, psn), at + taken));
        paths.push(port);
        at += if psn % 8 == 7 { 50_000_001 } else { 50_000_000 };
    }
    assert!(paths.iter().all(|port| [4, 5].contains(port)));
    assert!(paths.chunks(8).all(|burst| burst.iter().all(|port| *port == burst[0])), "{paths:?}");
    let moves = paths.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!((12..=51).contains(&moves), "{moves}");
}

/// The ACKs of a flow stay on ECMP's path, whatever the time between them.
#[test]
fn acks_are_hashed() {
    for load_balance in [letflow(), conga()] {
        let flows: Vec<_> = (0..32).map(|_| flow(4, 0, 1 << 20, 0)).collect();
        let spec = leaf_spine(load_balance, 100);
        let mut leaf = Script::new(&spec, flows.clone(), 8);
        let ecmp = Fabric::new(leaf_spine(LoadBalanceConfig::Ecmp(Default::default()), 100)).unwrap();
        let mut at = 0;
        for (id, flow) in (0..).zip(&flows) {
            for psn in 1..4 {
                at += 70_000_000;
                leaf.arrive_answer(at, 0, id, PacketKind::Ack, psn);
                let by_hash = ecmp.path(FlowId(id), flow, Direction::Ack);
                assert_eq!(leaf.next_sent(u64::MAX).unwrap().port, by_hash[1].0);
            }
        }
    }
}

// ------------------------------------------------------------------------- feedback between leaves

/// CONGA that records the headers at its hooks.
#[derive(Clone, Debug, Default)]
struct Watched {
    config: CongaConfig,
    log: Log<Seen>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    at: u64,
    node: u32,
    kind: PacketKind,
    point: Point,
    header: Option<LeafHeader>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Point {
    /// Header before and after the departure from a port.
    Before(u16),
    After(u16),
    LastHop,
}

#[derive(Debug)]
struct WatchedConga(Conga, u32, Log<Seen>);

impl WatchedConga {
    fn log(&self, packet: &PacketContext<'_>, point: Point, view: &View<'_>) {
        let Packet { kind, .. } = *packet.headers();
        let header = packet.path_header().copied().map(LeafHeader::from);
        self.2.push(Seen { at: view.now.ps(), node: self.1, kind, point, header });
    }
}

load_balancer!(Watched, WatchedConga: |options, site| WatchedConga(
    Conga::new(&options.config, site),
    site.node.0,
    options.log.clone()
));

impl PipelineHooks for WatchedConga {
    fn hooks(&self) -> HookSet {
        self.0.hooks()
    }

    fn on_departure(&mut self, packet: &mut PacketContext<'_>, queue_bytes: u64, view: &mut View<'_>) {
        self.log(packet, Point::Before(packet.egress.0), view);
        self.0.on_departure(packet, queue_bytes, view);
        self.log(packet, Point::After(packet.egress.0), view);
    }

    fn on_last_hop(&mut self, packet: &mut PacketContext<'_>, view: &mut View<'_>) {
        self.log(packet, Point::LastHop, view);
        self.0.on_last_hop(packet, view);
    }
}

impl LoadBalance for WatchedConga {
    fn choose(&mut self, arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Choice {
        self.0.choose(arrival, view)
    }
}

/// Returns CONGA with options under which a metric of 1 corresponds to 3,125 B at 100 Gb/s, and to
/// 312.5 B at 10 Gb/s.
fn sensitive() -> CongaConfig {
    CongaConfig { dre_period: Duration::from_us(1), alpha: 0.5, ..Default::default() }
}

/// Returns the network with links of 10 Gb/s from both spines to leaf 9.
fn slow_on_the_far_side(load_balance: LoadBalanceConfig) -> NetworkSpec {
    let mut spec = leaf_spine(load_balance, 10);
    spec.links[10].rate = Rate::from_gbps(10);
    spec
}

/// Host 0 sends one packet to host 4, which returns an ACK. The packet has 1,122 B, which is a
/// metric of 0 on the link to the spine and of 3 on the link behind the spine. HPCC's telemetry
/// adds 42 B to packet and ACK and returns in the ACK's record. CONGA's header must not return in
/// this record.
#[test]
fn feedback_reaches_the_source_leaf_after_one_round_trip() {
    for with_telemetry in [false, true] {
        let watched = Watched { config: sensitive(), ..Default::default() };
        let mut spec = slow_on_the_far_side(LoadBalanceConfig::custom(watched.clone()));
        if with_telemetry {
            spec.congestion = CongestionConfig::Hpcc(Default::default());
        }
        let (simulation, outcomes) = run(&spec, vec![flow(0, 4, 1024, 0)]);
        assert!(outcomes[0].acknowledged.is_some());
        assert_eq!(simulation.audit(), []);
        let (data, ack) = if with_telemetry { (1164, 128) } else { (1122, 86) };
        // Each hop receives the whole frame before it forwards the frame. A byte takes 80 ps on a
        // link of 100 Gb/s and 800 ps on a link of 10 Gb/s. Each link has a delay of 1 us.
        let fast = |bytes: u64| bytes * 80 + 1_000_000;
        let slow = |bytes: u64| bytes * 800 + 1_000_000;
        let at_leaf = fast(data);
        let at_spine = at_leaf + fast(data);
        let at_other = at_spine + slow(data);
        let back_at_other = at_other + fast(data) + fast(ack);
        let back_at_spine = back_at_other + slow(ack);
        let back_at_leaf = back_at_spine + fast(ack);

        let log = watched.log.take();
        let up = log.iter().find_map(|seen| match seen.point {
            Point::After(port) if seen.node == 8 => Some(port),
            _ => None,
        });
        let up = up.unwrap();
        let spine = u32::from(up) + 6;
        let back = log.iter().find_map(|seen| match seen.point {
            Point::After(port) if seen.node == 9 && seen.kind == PacketKind::Ack => Some(port),
            _ => None,
        });
        let back = back.unwrap();
        let (data, ack) = (PacketKind::Data, PacketKind::Ack);
        let out = |metric| Some(LeafHeader { leaf: NodeId(8), tag: PortIx(up), metric, feedback: None });
        let home =
            |metric| Some(LeafHeader { leaf: NodeId(9), tag: PortIx(back), metric, feedback: Some((PortIx(up), 3)) });
        let seen = |at, node, kind, point, header| Seen { at, node, kind, point, header };
        let expected = [
            seen(at_leaf, 8, data, Point::Before(up), None),
            seen(at_leaf, 8, data, Point::After(up), out(0)),
            seen(at_spine, spine, data, Point::Before(1), out(0)),
            seen(at_spine, spine, data, Point::After(1), out(3)),
            seen(at_other, 9, data, Point::LastHop, out(3)),
            seen(at_other, 9, data, Point::Before(0), out(3)),
            seen(at_other, 9, data, Point::After(0), out(3)),
            seen(back_at_other, 9, ack, Point::Before(back), None),
            seen(back_at_other, 9, ack, Point::After(back), home(0)),
            seen(back_at_spine, u32::from(back) + 6, ack, Point::Before(0), home(0)),
            seen(back_at_spine, u32::from(back) + 6, ack, Point::After(0), home(0)),
            seen(back_at_leaf, 8, ack, Point::LastHop, home(0)),
            seen(back_at_leaf, 8, ack, Point::Before(0), home(0)),
            seen(back_at_leaf, 8, ack, Point::After(0), home(0)),
        ];
        assert_eq!(log, expected);
    }
}

/// Before the feedback arrives, a flow of another host takes either path; afterwards it takes the
/// path that the first flow does not use. The first packet of a flow, 1,122 B, passes a link of 100
/// Gb/s in 1,089,760 ps and a link of 10 Gb/s in 1,897,600 ps. An ACK passes these links in
/// 1,006,880 ps and 1,068,800 ps.
#[test]
fn feedback_counts_from_its_arrival() {
    let path_taken = |seed, first_packet_at: u64| {
        let mut spec = slow_on_the_far_side(LoadBalanceConfig::Conga(sensitive()));
        spec.seed = seed;
        let start = Time::from_ps(first_packet_at - 1_089_760);
        let flows = vec![flow(0, 4, 1024, 0), FlowSpec { start, ..flow(1, 5, 1024, 0) }];
        let mut simulation = Simulation::new(spec, flows, 1).unwrap();
        simulation.run_until(Time::from_ps(first_packet_at - 1000), 1);
        let before = sent_up(&simulation);
        drain(&mut simulation);
        // Leaf 8 sends no ACKs to spines, so all bytes sent are data.
        (before[0] > 0) == (sent_up(&simulation)[0] > before[0])
    };
    let back = 2 * 1_089_760 + 1_897_600 + 1_089_760 + 1_006_880 + 1_068_800 + 1_006_880;
    let same = |at| (0..64).filter(|seed| path_taken(*seed, at)).count();
    // About half of 64 flows take the same path. The tolerance is five standard deviations of 4.
    assert!((12..=52).contains(&same(back - 1)));
    assert_eq!(same(back + 1), 0);
}

// ------------------------------------------------------------------------ paths of different rates

/// Returns the share of bytes that take the slow path, and the outcomes. Four hosts send 50 Gb/s in
/// all: 2000 flows of 10 packets, 11,076 B per flow, one flow every 1.77216 us. The link to leaf 9
/// has 100 Gb/s from spine 10 and 10 Gb/s from spine 11.
fn many_flows(load_balance: LoadBalanceConfig) -> (f64, Vec<FlowOutcome>) {
    let flow = |i: u64| FlowSpec {
        start: Time::from_ps(i * 1_772_160),
        ..flow(i as u32 % 4, 4 + (i as u32 / 4) % 4, 10 * 1024, 0)
    };
    let mut spec = leaf_spine(load_balance, 10);
    spec.recovery = RecoveryConfig::InAnyOrder(InAnyOrderConfig { timeout: Duration::ZERO, ..Default::default() });
    let (simulation, outcomes) = run(&spec, (0..2000).map(flow).collect());
    assert!(outcomes.iter().all(|outcome| outcome.acknowledged.is_some() && outcome.retransmitted == 0));
    assert_eq!((simulation.audit(), simulation.violations()), (vec![], vec![]));
    let [fast, slow] = sent_up(&simulation);
    (slow as f64 / (fast + slow) as f64, outcomes)
}

/// CONGA keeps the utilisation of both paths equal. Their loads sum to 50 Gb/s, and their links
/// have 100 and 10 Gb/s, so the slow path gets 1/11 of the bytes. Metrics have steps of an eighth.
/// While the fast path's metric is 3 or 4, its load is 37.5 to 62.5 Gb/s. The slow path may then
/// have 3.75 to 6.25 Gb/s, a share of 0.075 to 0.125. The slow path gets somewhat more in the first
/// round trip after its metric has aged. With an ageing time of 10 ms, longer than the run, flows
/// avoid the slow path once it has been busy. The slow path gets flows until the first feedback,
/// and a few flows when the fast path has become as busy. Under ECMP and LetFlow half of the bytes
/// take each path, because hardly any flow has more than one flowlet. The tolerance is five
/// standard deviations of 0.011.
#[test]
fn conga_sends_most_flowlets_over_the_better_path() {
    let share = |load_balance| many_flows(load_balance).0;
    let [ecmp, letflow] = [LoadBalanceConfig::Ecmp(Default::default()), letflow()].map(share);
    assert!((ecmp - 0.5).abs() < 0.056 && (letflow - 0.5).abs() < 0.056, "{ecmp} {letflow}");
    let [usual, slow] = [200, 10_000].map(|us| {
        let aging = Duration::from_us(us);
        share(LoadBalanceConfig::Conga(CongaConfig { aging, ..Default::default() }))
    });
    assert!(usual > 0.075 && usual < 0.15, "{usual}");
    assert!(slow > 0.0 && slow < 0.03, "{slow}");
}

/// The flows start within 3.54 ms. CONGA keeps up with this load on both paths. With LetFlow, the
/// slow path of 10 Gb/s gets 25 Gb/s, so its flows need 2.5 times as long.
#[test]
fn conga_keeps_up_where_letflow_does_not() {
    let last = |load_balance| last_finish(&many_flows(load_balance).1).ps() / 1_000_000;
    let [conga, letflow] = [conga(), letflow()].map(last);
    assert!((3540..3700).contains(&conga) && (8000..9500).contains(&letflow), "{conga} {letflow}");
}

// --------------------------------------------------------------------------------- links that fail

/// Four hosts send 4 MB each, which takes 350 us at line rate; after 100 us the link to spine 10
/// fails for good. ACKs return over spine 11. With LetFlow and CONGA the other link carries all
/// packets after the failure, and all flows finish. ECMP's flows on the dead link wait for ever.
#[test]
fn flows_leave_a_link_that_fails() {
    let done = |load_balance| {
        let mut spec = leaf_spine(load_balance, 100);
        let down = at_us(100);
        spec.faults = vec![LinkFault { link: 8, down, up: Time::NEVER }];
        let flows = (0..4).map(|host| flow(host, 4 + host, 4_000_000, 0).via(vec![], vec![NodeId(11)]));
        let mut simulation = Simulation::new(spec, flows.collect(), 1).unwrap();
        simulation.run_until(down, 1);
        let [before, other] = sent_up(&simulation);
        assert!(before > 100_000 && other > 100_000, "both links are in use: {before} {other}");
        simulation.run_until(Time::ZERO + Duration::from_ms(20), 1);
        assert_eq!(simulation.audit(), []);
        let [after, _] = sent_up(&simulation);
        // The dead port finishes the frame whose transmission had started when the link failed.
        assert!(after - before <= 1106, "{before} {after}");
        simulation.outcomes().iter().filter(|outcome| outcome.acknowledged.is_some()).count()
    };
    assert_eq!([done(letflow()), done(conga())], [4, 4]);
    assert!((1..4).contains(&done(LoadBalanceConfig::Ecmp(Default::default()))));
}

/// ACKs, whose path is hashed, also avoid a dead link.
#[test]
fn acks_leave_a_link_that_fails() {
    for load_balance in [letflow(), conga()] {
        let mut spec = leaf_spine(load_balance, 100);
        let down = at_us(100);
        spec.faults = vec![LinkFault { link: 10, down, up: Time::NEVER }];
        let pinned = |host| flow(host, 4 + host, 1_000_000, 0).via(vec![NodeId(11)], vec![]);
        let mut simulation = Simulation::new(spec, (0..4).map(pinned).collect(), 1).unwrap();
        simulation.run_until(Time::ZERO + Duration::from_ms(20), 1);
        assert!(simulation.outcomes().iter().all(|outcome| outcome.acknowledged.is_some()));
    }
}

/// LetFlow's ageing affects only its memory use, not the results of a network.
#[test]
fn letflows_ageing_changes_nothing() {
    let trajectory = |aging| {
        let config = LetFlowConfig { aging, ..Default::default() };
        let mut spec = leaf_spine(LoadBalanceConfig::LetFlow(config), 40);
        spec.switch.buffer = Bytes(1 << 20);
        let flows: Vec<_> = (0..200).map(|i| flow(i % 4, 4 + i / 4 % 4, 20_000, u64::from(i) * 3000)).collect();
        run(&spec, flows).0.fingerprint()
    };
    assert_eq!(trajectory(Duration::from_us(50)), trajectory(Duration::from_ms(100)));
}

// ------------------------------------------------------------------------------ in random networks

proptest! {
    #![proptest_config(common::cases(200))]

    /// Every byte is delivered once, and results do not depend on the number of shards. No packet
    /// is sent twice if receivers tolerate reordering, or if flowlets are too far apart to overtake
    /// each other.
    #[test]
    fn everything_is_delivered_once(
        Case { mut spec, flows } in lossless_at_common_rates(),
        (load_balance, recovery) in flowlets(),
    ) {
        (spec.load_balance, spec.recovery) = (load_balance, recovery);
        // Some congestion controls need other load balancers.
        prop_assume!(!matches!(spec.congestion, CongestionConfig::MpRdma(_) | CongestionConfig::FlbRc(_)));
        prop_assume!(common::applies(&spec));
        let (simulation, outcomes) = run(&spec, flows.clone());
        for outcome in &outcomes {
            prop_assert_eq!(outcome.reception.delivered, outcome.spec.bytes);
            prop_assert!(outcome.acknowledged.is_some() && outcome.retransmitted == 0);
        }
        prop_assert_eq!(simulation.totals().drops, [0; 5]);
        prop_assert!(simulation.is_quiet() && simulation.audit().is_empty());
        let (sharded, _) = common::run_shards(&spec, flows, 3);
        prop_assert_eq!(sharded.fingerprint(), simulation.fingerprint());
        prop_assert_eq!(sharded.counters(), simulation.counters());
    }

    /// Go-Back-N takes an overtaking flowlet for a loss, and still delivers every byte, also while
    /// a link fails.
    #[test]
    fn reordered_and_lost_packets_are_delivered(
        Case { mut spec, flows } in lossless_at_common_rates(),
        (load_balance, _) in flowlets(),
        fault in prop::option::of((any::<prop::sample::Index>(), 0u64..60_000, 1u64..40_000)),
    ) {
        (spec.load_balance, spec.recovery) = (load_balance, NetworkSpec::default().recovery);
        prop_assume!(common::applies(&spec));
        spec.faults.extend(fault.map(|(link, down, length)| {
            let down = at_ns(down);
            LinkFault { link: link.index(spec.links.len()), down, up: down + Duration::from_ns(length) }
        }));
        let (simulation, outcomes) = run(&spec, flows);
        for outcome in &outcomes {
            prop_assert_eq!(outcome.reception.delivered, outcome.spec.bytes);
            prop_assert!(outcome.acknowledged.is_some());
        }
        prop_assert!(simulation.audit().is_empty());
        prop_assert_eq!(simulation.totals().paused_ports, 0);
    }
}
