//! Proteus at a switch and in networks: paused paths, probes, packet headers, choice of paths, and
//! measured delays.
//!
//! The network has hosts 0 to 3 on leaf 8, hosts 4 to 7 on leaf 9, spines 10 and 11, and links of
//! 100 Gb/s with a delay of 1 us. Ports 0 to 3 of a leaf lead to hosts, ports 4 and 5 to spines.

use crate::prelude::*;
use backwater_fabric::contract::PathState;
use backwater_fabric::frame::record::PathHeader;
use backwater_fabric::mechanisms::load_balance::proteus::ProteusConfig;

fn leaf_spine(config: ProteusConfig) -> NetworkSpec {
    let mut spec = fixtures::leaf_spine(2, 4, 2);
    spec.load_balance = LoadBalanceConfig::Proteus(config);
    spec.recovery = RecoveryConfig::InAnyOrder(Default::default());
    spec
}

const US: u64 = 1_000_000;

/// Returns the uplink through which packet `psn` of flow 0, which arrives at leaf 8 at `us`, leaves
/// before `until`; `None` if the packet waits.
fn uplink(leaf: &mut Script, us: u64, psn: u32, until: u64) -> Option<u16> {
    leaf.arrive_data(us * US, 0, 0, psn);
    leaf.next_data(until * US).map(|(port, ..)| port)
}

/// The first packet behind a PAUSE stays at its uplink, because with an empty queue the other path
/// is no faster. The next packet takes the other uplink and overtakes the first packet. The flow
/// does not move again within `move_interval`, but it does afterwards.
#[test]
fn a_flow_leaves_a_paused_path() {
    let spec = leaf_spine(ProteusConfig { move_interval: Some(Duration::from_us(20)), ..Default::default() });
    let mut leaf = Script::new(&spec, vec![flow(0, 4, 1 << 20, 0)], 8);
    let first = uplink(&mut leaf, 1, 0, 2).unwrap();
    let other = 9 - first;
    leaf.arrive_pfc(2 * US, first, &[3], u16::MAX);
    assert_eq!(uplink(&mut leaf, 3, 1, 4), None);
    assert_eq!(uplink(&mut leaf, 4, 2, 5), Some(other));
    assert_eq!(leaf.counted("reroutes"), 1);
    assert_eq!(uplink(&mut leaf, 5, 3, 6), Some(other));
    // The other uplink is also paused, but the flow may not move again yet.
    leaf.arrive_pfc(6 * US, other, &[3], u16::MAX);
    leaf.arrive_pfc(7 * US, first, &[3], 0);
    assert_eq!(leaf.next_data(8 * US), Some((first, 0, 1)));
    assert_eq!(uplink(&mut leaf, 8, 4, 9), None);
    assert_eq!(uplink(&mut leaf, 9, 5, 10), None);
    assert_eq!(uplink(&mut leaf, 25, 6, 26), Some(first));
}

/// A paused uplink is excluded from all choices until its RESUME.
#[test]
fn new_flows_avoid_a_paused_uplink() {
    let flows: Vec<FlowSpec> = (0..40).map(|_| flow(0, 4, 1 << 20, 0)).collect();
    let mut leaf = Script::new(&leaf_spine(ProteusConfig::default()), flows, 8);
    let first = uplink(&mut leaf, 1, 0, 2).unwrap();
    leaf.arrive_pfc(2 * US, first, &[3], u16::MAX);
    uplink(&mut leaf, 3, 1, 4);
    assert_eq!(uplink(&mut leaf, 4, 2, 5), Some(9 - first));
    let new = |leaf: &mut Script, flow: u32| {
        let at = u64::from(flow) * 5 * US;
        leaf.arrive_data(at, 0, flow, 0);
        leaf.next_data(at + US).map(|(port, ..)| port)
    };
    assert!((1..20).all(|flow| new(&mut leaf, flow) == Some(9 - first)));
    leaf.arrive_pfc(97 * US, first, &[3], 0);
    assert_eq!(leaf.next_data(98 * US), Some((first, 0, 1)));
    assert!((20..40).any(|flow| new(&mut leaf, flow) == Some(first)));
}

/// Of two equal paths, a flow takes the path that was not chosen last, because a chosen path counts
/// as 1 us longer.
#[test]
fn a_path_that_was_chosen_counts_as_longer() {
    for (burden, both) in [(Duration::from_us(1), true), (Duration::ZERO, false)] {
        let taken: Vec<bool> = (1..30)
            .map(|seed| {
                let mut spec = leaf_spine(ProteusConfig { burden, ..Default::default() });
                spec.seed = seed;
                let mut leaf = Script::new(&spec, vec![flow(0, 4, 1 << 20, 0), flow(1, 5, 1 << 20, 0)], 8);
                leaf.arrive_data(US, 0, 0, 0);
                leaf.arrive_data(US, 1, 1, 0);
                let mut next = || leaf.next_data(2 * US).unwrap().0;
                next() != next()
            })
            .collect();
        assert_eq!(taken.iter().all(|differ| *differ), both, "{taken:?}");
    }
}

/// Every 10 us, a probe in the class of current flows is sent along each path to the edge switch of
/// their destinations. The probe ends at that edge switch. After the flows no more probes are sent.
#[test]
fn paths_are_probed_while_flows_use_them() {
    let config = ProteusConfig {
        probe_period: Some(Duration::from_us(10)),
        flow_timeout: Duration::from_us(25),
        ..Default::default()
    };
    let mut leaf = Script::new(&leaf_spine(config), vec![flow(0, 4, 1 << 20, 0)], 8);
    leaf.arrive_data(US, 0, 0, 0);
    let sent: Vec<_> =
        std::iter::from_fn(|| leaf.next_notice(1000 * US)).map(|(at, port, ..)| (at / US, port)).collect();
    assert_eq!(sent, [(11, 4), (11, 5), (21, 4), (21, 5)]);
    assert_eq!(leaf.counted("probes"), 4);
}

/// Probes have the class of the last packet to their edge switch. At 11 us this is the class of
/// flow 1, and at 21 us that of flow 0, whose second packet arrives at 12 us.
#[test]
fn probes_have_the_class_of_the_last_packet() {
    let config = ProteusConfig { probe_period: Some(Duration::from_us(10)), ..Default::default() };
    let flows = vec![flow(0, 4, 1 << 20, 0), FlowSpec { class: Class(5), ..flow(1, 5, 1 << 20, 0) }];
    let mut leaf = Script::new(&leaf_spine(config), flows, 8);
    leaf.arrive_data(US, 0, 0, 0);
    leaf.arrive_data(2 * US, 1, 1, 0);
    leaf.arrive_data(12 * US, 0, 0, 1);
    let sent: Vec<_> = std::iter::from_fn(|| leaf.next_notice_class(22 * US))
        .map(|(at, port, class)| (at / US, port, class))
        .collect();
    assert_eq!(sent, [(11, 4, 5), (11, 5, 5), (21, 4, 3), (21, 5, 3)]);
}

// ----------------------------------------------------------------------------------------- headers

/// Returns one half of a header: a path's time stamp or delay, in ps, and the load of its links.
fn half(path: u32, ps: u64, busy: u8) -> [u32; 3] {
    [path | 1 << 31, ps as u32, ((ps >> 32) as u32) << 8 | u32::from(busy)]
}

/// Returns the header of a packet from leaf `from`, with a stamp and a report.
fn header(from: u32, [a, b, c]: [u32; 3], [d, e, f]: [u32; 3]) -> PathHeader {
    [from, a, b, c, d, e, f]
}

const NOTHING: [u32; 3] = [0; 3];

/// Two packets with stamps for path 1 arrive from leaf 9, one with a delay of 1 us and one of 6 us.
/// The report has the difference, 5 us. The packet that returns the report to leaf 9 is the first
/// on its path. It is therefore stamped, too, unless probes measure the paths.
#[test]
fn a_packet_carries_a_stamp_and_a_report() {
    for probe_period in [None, Some(Duration::from_us(100))] {
        let spec = leaf_spine(ProteusConfig { probe_period, ..Default::default() });
        let mut leaf = Script::new(&spec, vec![flow(0, 4, 1 << 20, 0), flow(4, 0, 1 << 20, 0)], 8);
        leaf.arrive_data_with(US, 4, 1, 1, header(9, half(1, 0, 10), NOTHING));
        assert!(leaf.next_data(2 * US).is_some());
        leaf.arrive_data_with(7 * US, 4, 1, 2, header(9, half(1, US, 77), NOTHING));
        assert!(leaf.next_data(8 * US).is_some());
        leaf.arrive_data(8 * US, 0, 0, 0);
        let (port, written) = leaf.next_path_header(9 * US).unwrap();
        let stamp = if probe_period.is_none() { half(u32::from(port) - 4, 8 * US, 0) } else { NOTHING };
        assert_eq!(written, Some(header(8, stamp, half(1, 5 * US, 77))));
    }
}

/// A probe cannot carry a route with a port above 255, so packets are stamped instead. Hosts 0 to
/// 255 are on leaf 260, and hosts 256 to 259 on leaf 261.
#[test]
fn paths_that_cannot_be_probed_are_measured_with_packets() {
    let config = ProteusConfig { probe_period: Some(Duration::from_us(10)), ..Default::default() };
    let mut spec = NetworkSpec { links: Vec::new(), ..leaf_spine(config) };
    spec.nodes = NetworkSpec::with_nodes(260, 4).nodes;
    spec.links = (0..260).map(|host| link(host, 260 + host / 256, 100, 1000)).collect();
    spec.links
        .extend([(260, 262), (260, 263), (261, 262), (261, 263)].map(|(leaf, spine)| link(leaf, spine, 100, 1000)));
    let mut leaf = Script::new(&spec, vec![flow(0, 256, 1 << 20, 0)], 260);
    leaf.arrive_data(US, 0, 0, 0);
    let (port, written) = leaf.next_path_header(2 * US).unwrap();
    assert_eq!(written, Some(header(260, half(u32::from(port) - 256, US, 0), NOTHING)));
    assert!(leaf.next_notice(100 * US).is_none());
    assert_eq!(leaf.counted("probes"), 0);
}

/// A metric of 256 corresponds to 12,500 B within 1 us. At a spine with an idle link, a packet of
/// 1,106 B gives a load of 22. With a notice of 84 B behind the packet, 1,190 B in all, the load is
/// 24. A stamp or probe that passed a link with a higher load keeps that value.
#[test]
fn the_busiest_link_counts() {
    let config = ProteusConfig { dre_period: Duration::from_us(1), alpha: 1.0, ..Default::default() };
    let mut spine = Script::new(&leaf_spine(config), vec![flow(0, 4, 1 << 20, 0), flow(4, 0, 1 << 20, 0)], 10);
    for (nth, busy, [stamp, probe]) in [(1, 0, [22, 24]), (2, 23, [23, 24]), (3, 200, [200, 200])] {
        spine.arrive_data_with(nth * US, 0, 0, 1, header(8, half(1, 0, busy), NOTHING));
        assert_eq!(spine.next_path_header(nth * US + 1), Some((1, Some(header(8, half(1, 0, stamp), NOTHING)))));
        // A notice for host 4.
        spine.arrive_notice(nth * US + US / 2, 0, 1, Protocol::named("proteus"), [u32::from(busy) << 24 | 1, 8, 0, 0]);
        let (_, port, _, word) = spine.next_notice(nth * US + US / 2 + 1).unwrap();
        assert_eq!((port, word), (1, u32::from(probe) << 24 | 1));
    }
}

// ------------------------------------------------------------------------------------- path choice

/// Gain that exceeds any difference of delays, so that flows never leave paused paths.
const NEVER: Duration = Duration::from_ms(1000);

/// Returns `config` with reports that do not age and choices that do not count. Flows never leave
/// paused paths.
fn steady(config: ProteusConfig) -> ProteusConfig {
    ProteusConfig { delay_aging: Some(Duration::from_ms(100)), burden: Duration::ZERO, gain: NEVER, ..config }
}

/// Returns the leaf with flows of host 0, and the uplink through which flow 0's first packet has
/// left.
fn begun(spec: &NetworkSpec, flows: usize) -> (Script, u16) {
    let mut leaf = Script::new(spec, vec![flow(0, 4, 1 << 20, 0); flows], 8);
    let first = uplink(&mut leaf, 1, 0, 2).unwrap();
    (leaf, first)
}

/// Handles an ACK of flow 0 at `at` that reports the delay, in ps, and the load of the path through
/// `port`.
fn report(leaf: &mut Script, at: u64, port: u16, ps: u64, busy: u8) {
    leaf.arrive_ack_with(at, 4, 0, header(9, NOTHING, half(u32::from(port) - 4, ps, busy)));
}

/// Returns the uplink of a flow's packet `psn`, which arrives at `at`.
fn taken(leaf: &mut Script, at: u64, flow: u32, psn: u32) -> u16 {
    leaf.arrive_data(at, 0, flow, psn);
    leaf.next_data(at + 1).unwrap().0
}

/// A path without queues takes half a base round-trip time. The base round-trip time is 8,381.44
/// ns: 2 x 4 links of 1 us, 4 x 88.48 ns for the packet and 4 x 6.88 ns for its ACK. With
/// `low_delay = 1.5`, a delay is low if the extra delay is below a quarter of the round trip,
/// 2,095,360 ps. An idle path below this limit is preferred to a path with some load. An idle path
/// at the limit is not preferred.
#[test]
fn a_delay_is_low_below_a_share_of_half_a_round_trip() {
    let spec = leaf_spine(steady(ProteusConfig { low_delay: 1.5, ..Default::default() }));
    for (ps, best) in [(2_095_359, 4), (2_095_360, 5)] {
        let (mut leaf, _) = begun(&spec, 2);
        report(&mut leaf, 2 * US, 4, ps, 0);
        report(&mut leaf, 2 * US, 5, 30 * US, 100);
        assert_eq!(taken(&mut leaf, 3 * US, 1, 0), best, "{ps}");
    }
}

/// Of four paths the first is the longest, and the last the shortest. Of two drawn paths the
/// shorter one is the last in 3 of 6 cases, the third in 2, the second in 1. A single drawn path is
/// any of the four. If all four are drawn, the last path is always taken. The tolerance for 600
/// flows is five standard deviations of 12.2.
#[test]
fn the_best_of_some_paths_is_taken() {
    for (candidates, expected) in [(1, [150; 4]), (2, [0, 100, 200, 300]), (0, [0, 0, 0, 600])] {
        let mut spec = leaf_spine(steady(ProteusConfig { candidates, ..Default::default() }));
        spec.nodes = NetworkSpec::with_nodes(8, 6).nodes;
        spec.links.extend([(8, 12), (8, 13), (9, 12), (9, 13)].map(|(leaf, spine)| link(leaf, spine, 100, 1000)));
        let (mut leaf, _) = begun(&spec, 601);
        for port in 4..8 {
            report(&mut leaf, 2 * US, port, (10 - u64::from(port)) * US, 0);
        }
        let ports: Vec<u16> = (1..601).map(|flow| taken(&mut leaf, (2 + u64::from(flow)) * US, flow, 0)).collect();
        let counts = [4, 5, 6, 7].map(|port| ports.iter().filter(|taken| **taken == port).count());
        let is_near = |(count, expected): (usize, usize)| {
            if expected % 600 == 0 { count == expected } else { count.abs_diff(expected) < 61 }
        };
        assert!(counts.into_iter().zip(expected).all(is_near), "{candidates}: {counts:?}");
    }
}

/// The path through uplink 4 adds a delay of 30 us. The path through uplink 5 adds 15 us and has
/// the lower load. Neither delay is low, so the path with the higher load is taken. A path that
/// adds more than `sojourn` is excluded, unless both paths do.
#[test]
fn a_late_path_is_excluded() {
    for (sojourn, best) in [(None, 4), (Some(30 * US), 4), (Some(30 * US - 1), 5), (Some(15 * US - 1), 4)] {
        let sojourn = sojourn.map(Duration::from_ps);
        let (mut leaf, _) = begun(&leaf_spine(steady(ProteusConfig { sojourn, ..Default::default() })), 2);
        report(&mut leaf, 2 * US, 4, 30 * US, 100);
        report(&mut leaf, 2 * US, 5, 15 * US, 50);
        assert_eq!(taken(&mut leaf, 3 * US, 1, 0), best, "{sojourn:?}");
    }
}

/// A path that adds more than `sojourn`, 20 us, counts as paused, and its flow leaves this path at
/// once. The uplink of this path is open, so new flows use the path as soon as it is the better one
/// again.
#[test]
fn a_flow_leaves_a_late_path() {
    for sojourn in [None, Some(Duration::from_us(20))] {
        let (mut leaf, first) = begun(&leaf_spine(steady(ProteusConfig { sojourn, ..Default::default() })), 2);
        let other = 9 - first;
        report(&mut leaf, 2 * US, first, 20 * US, 0);
        assert_eq!(taken(&mut leaf, 3 * US, 0, 1), first);
        report(&mut leaf, 4 * US, first, 20 * US + 1, 0);
        assert_eq!(taken(&mut leaf, 5 * US, 0, 2), if sojourn.is_some() { other } else { first });
        assert_eq!(leaf.counted("reroutes"), u64::from(sojourn.is_some()));
        report(&mut leaf, 6 * US, first, 0, 0);
        report(&mut leaf, 6 * US, other, 5 * US, 0);
        assert_eq!(taken(&mut leaf, 7 * US, 1, 0), first);
    }
}

/// The flow's path adds 20 us, the other path nothing. The flow moves if the difference exceeds
/// `gain` and if more than 20 us have passed since its last packet, which arrived at 1 us. After
/// such a gap, the next packet overtakes no other packet.
#[test]
fn a_flow_moves_for_a_gain_that_keeps_its_order() {
    let gains = [
        (NEVER.ps(), 25 * US, false),
        (6 * US, 20 * US, false),
        (6 * US, 20 * US + 1, true),
        (20 * US, 25 * US, false),
        (20 * US - 1, 25 * US, true),
    ];
    for (gain, gap, moves) in gains {
        let config = ProteusConfig { gain: Duration::from_ps(gain), ..steady(ProteusConfig::default()) };
        let (mut leaf, first) = begun(&leaf_spine(config), 1);
        report(&mut leaf, 2 * US, first, 20 * US, 0);
        assert_eq!(taken(&mut leaf, US + gap, 0, 1) != first, moves, "{gain} {gap}");
        assert_eq!(leaf.counted("reroutes"), u64::from(moves));
    }
}

/// A flow does not move from a path of 30 us to a path of 10 us in a worse class. The links of the
/// faster path are busy, and those of the present path are not.
#[test]
fn a_flow_moves_to_no_path_of_a_worse_class() {
    for (busy, moves) in [(152, true), (153, false)] {
        let config = ProteusConfig { gain: Duration::from_us(1), ..steady(ProteusConfig::default()) };
        let (mut leaf, first) = begun(&leaf_spine(config), 1);
        report(&mut leaf, 2 * US, first, 30 * US, 100);
        report(&mut leaf, 2 * US, 9 - first, 10 * US, busy);
        assert_eq!(taken(&mut leaf, 50 * US, 0, 1) != first, moves, "{busy}");
    }
}

/// n packets of flow 1 arrive together at the uplink of flow 0, and n - 1 packets of 1,086 B wait.
/// The next packet of flow 0 arrives 1 ns later, 2,001 ns after its last packet. Flow 0 moves to
/// the idle uplink if the waiting packets take more than 1 us and less than this gap.
#[test]
fn the_queue_of_the_uplink_counts() {
    for (packets, moves) in [(12, false), (13, true), (24, true), (25, false)] {
        let config = ProteusConfig { gain: Duration::from_us(1), ..steady(ProteusConfig::default()) };
        let (mut leaf, first) = begun(&leaf_spine(config), 2);
        let other = 9 - first;
        // Flow 1 takes the uplink of flow 0, because the other path is longer at this time.
        report(&mut leaf, 2 * US, other, 5 * US, 0);
        leaf.arrive_each(3 * US, 0, 0, 1, 0..packets);
        report(&mut leaf, 3 * US, other, 0, 0);
        leaf.arrive_data(3 * US + 1000, 0, 0, 1);
        let sent: Vec<_> = std::iter::from_fn(|| leaf.next_data(10 * US)).collect();
        let uplink = |flow| sent.iter().find(|(_, sent, _)| *sent == flow).map(|(uplink, ..)| *uplink);
        assert_eq!((uplink(1), uplink(0)), (Some(first), Some(if moves { other } else { first })), "{packets}");
    }
}

/// Stamps and probes carry the time of departure from a paused uplink, not the time of arrival at
/// the edge.
#[test]
fn delays_are_measured_behind_the_uplink() {
    let (mut leaf, first) = begun(&leaf_spine(ProteusConfig::default()), 1);
    leaf.arrive_pfc(6 * US, first, &[3], u16::MAX);
    leaf.arrive_data(7 * US, 0, 0, 1);
    leaf.arrive_pfc(9 * US, first, &[3], 0);
    let stamped = header(8, half(u32::from(first) - 4, 9 * US, 0), NOTHING);
    assert_eq!(leaf.next_path_header(10 * US), Some((first, Some(stamped))));
    let probe_period = Some(Duration::from_us(10));
    let (mut leaf, first) = begun(&leaf_spine(ProteusConfig { probe_period, ..Default::default() }), 1);
    leaf.arrive_pfc(10 * US, first, &[3], u16::MAX);
    leaf.arrive_pfc(15 * US, first, &[3], 0);
    let times: Vec<_> = std::iter::from_fn(|| leaf.next_notice_words(16 * US)).map(|words| words[2]).collect();
    assert_eq!(times, [11 * US as u32, 15 * US as u32]);
}

// ------------------------------------------------------------------------------------ in a network

/// Returns the delays that leaf 8 has measured for its paths.
fn delays(simulation: &Simulation) -> Vec<Duration> {
    let mut delays = Vec::new();
    let pipeline = simulation.node(NodeId(8)).switch().unwrap();
    pipeline.observe_balancing(simulation.now(), &mut |held| {
        if let LbStat::Path(PathState { delay, .. }) = held {
            delays.push(delay);
        }
    });
    delays
}

/// 22 hosts of 5 Gb/s send to 22 other hosts over uplinks of 80 and 40 Gb/s under DCQCN, which
/// avoids PAUSEs. Flows leave the queue of the slower uplink without reordering.
#[test]
fn flows_fill_unequal_uplinks_without_a_pause() {
    for seed in 1..5 {
        let mut spec = leaf_spine(ProteusConfig::default());
        spec.nodes = NetworkSpec::with_nodes(44, 4).nodes;
        spec.seed = seed;
        spec.links = (0..44).map(|host| link(host, 44 + host / 22, 5, 1000)).collect();
        let uplinks = [44, 45].into_iter().flat_map(|leaf| [(leaf, 46, 80), (leaf, 47, 40)]);
        spec.links.extend(uplinks.map(|(leaf, spine, gbps)| link(leaf, spine, gbps, 1000)));
        spec.congestion = CongestionConfig::Dcqcn(Default::default());
        let flows = (0..22).map(|host| flow(host, 22 + host, FlowSpec::ENDLESS, u64::from(host) * 1700)).collect();
        let mut simulation = Simulation::new(spec, flows, 1).unwrap();
        let mut delivered = |ms| {
            simulation.run_until(Time::ZERO + Duration::from_ms(ms), 1);
            simulation.outcomes().iter().map(|outcome| outcome.reception.delivered).sum::<u64>()
        };
        let [before, after] = [2, 10].map(&mut delivered);
        // A packet of 1,024 B of payload has 1,106 B on the wire.
        let gbps = (after - before) as f64 * 1106.0 / 1024.0 * 8e-6 / 8.0;
        let disordered: u64 = simulation.outcomes().iter().map(|outcome| outcome.reception.disorder.packets()).sum();
        assert!(gbps > 109.0 && disordered == 0, "{seed}: {gbps} Gb/s, {disordered} early packets");
        assert_eq!(simulation.totals().pause_frames, 0);
    }
}

/// Spine 10 has a slow link to leaf 9. Leaf 8 detects the queue at this link by stamps and by
/// probes.
#[test]
fn queues_are_detected_by_stamps_and_by_probes() {
    for probe_period in [None, Some(Duration::from_us(5))] {
        let mut spec = leaf_spine(ProteusConfig { probe_period, ..Default::default() });
        spec.links[10].rate = Rate::from_gbps(25);
        spec.switch.buffer = Bytes(1 << 30);
        let flows = (0..2).map(|host| flow(host, 4 + host, 1 << 22, 0)).collect();
        let mut simulation = Simulation::new(spec, flows, 1).unwrap();
        simulation.run_until(at_us(100), 1);
        let seen = delays(&simulation);
        assert!(seen[0] > seen[1] && seen[0] > Duration::from_us(2), "{seen:?}");
        assert_eq!(simulation.counters().contains_key("probes"), probe_period.is_some());
        drain(&mut simulation);
        let outcomes = simulation.outcomes();
        assert!(outcomes.iter().all(|outcome| outcome.acknowledged.is_some()));
        assert_eq!(simulation.audit(), []);
    }
}
