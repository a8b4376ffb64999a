//! Packets of one flow take several paths in a network of 2 leaves with 8 hosts each and 8 spines.
//! Links have 100 Gb/s and a delay of 1 us.

use crate::prelude::*;

const RACK: u32 = 8;

fn leaf_spine(load_balance: LoadBalanceConfig, recovery: RecoveryConfig) -> NetworkSpec {
    NetworkSpec { load_balance, recovery, ..fixtures::leaf_spine(2, RACK, 8) }
}

fn in_any_order() -> RecoveryConfig {
    RecoveryConfig::InAnyOrder(Default::default())
}

/// Returns a flow of 2 MB from every host of the first rack to a host of the second rack.
fn across() -> Vec<FlowSpec> {
    (0..RACK).map(|host| flow(host, RACK + host, 2_000_000, 0)).collect()
}

fn retransmitted(outcomes: &[FlowOutcome]) -> u64 {
    outcomes.iter().map(|outcome| outcome.retransmitted).sum()
}

/// Returns flow completion times as multiples of those on an idle fabric.
fn slowdowns((simulation, outcomes): &(Simulation, Vec<FlowOutcome>)) -> Vec<f64> {
    let ideal = |outcome: &FlowOutcome| simulation.fabric().ideal_fct(&outcome.spec, &outcome.path, 0).unwrap();
    let slowdown = |outcome: &FlowOutcome| {
        let fct = outcome.reception.finish.unwrap() - outcome.spec.start;
        fct.ps() as f64 / ideal(outcome).ps() as f64
    };
    outcomes.iter().map(slowdown).collect()
}

#[test]
fn a_receiver_that_tolerates_reordering_requests_no_packet_in_flight() {
    for load_balance in [LoadBalanceConfig::Spray(Default::default()), LoadBalanceConfig::Drill(Default::default())] {
        let (_, outcomes) = run(&leaf_spine(load_balance.clone(), NetworkSpec::default().recovery), across());
        assert!(retransmitted(&outcomes) > 0, "Go-Back-N repeats overtaken packets: {load_balance:?}");
        let (simulation, outcomes) = run(&leaf_spine(load_balance, in_any_order()), across());
        assert_eq!(retransmitted(&outcomes), 0);
        assert!(all_delivered(&outcomes));
        assert_eq!((simulation.audit(), simulation.violations()), (vec![], vec![]));
    }
}

/// Eight flows share eight paths. ECMP hashes several flows to one path, spraying loads all paths
/// equally on average, and DRILL chooses short queues.
#[test]
fn drill_spreads_better_than_spraying_and_spraying_better_than_ecmp() {
    let slowdown = |load_balance| {
        slowdowns(&run(&leaf_spine(load_balance, in_any_order()), across())).into_iter().fold(0.0, f64::max)
    };
    let ecmp = slowdown(LoadBalanceConfig::Ecmp(Default::default()));
    let spray = slowdown(LoadBalanceConfig::Spray(Default::default()));
    let drill = slowdown(LoadBalanceConfig::Drill(Default::default()));
    assert!(ecmp > 1.9 && spray < 1.3 && drill < spray && drill < 1.1, "{ecmp} {spray} {drill}");
}

/// A link that fails for a microsecond loses the frames on it. These are repeated after the
/// timeout, or earlier if the receiver sends NACKs.
#[test]
fn lost_packets_are_repeated() {
    let longest = |allowance| {
        let config = InAnyOrderConfig { allowance, timeout: Duration::from_us(500), ..Default::default() };
        let drill = LoadBalanceConfig::Drill(Default::default());
        let mut spec = leaf_spine(drill, RecoveryConfig::InAnyOrder(config));
        let down = at_us(50);
        spec.faults = vec![LinkFault { link: 2 * RACK as usize, down, up: down + Duration::from_us(1) }];
        let (_, outcomes) = run(&spec, across());
        assert!(all_delivered(&outcomes));
        assert!(retransmitted(&outcomes) > 0);
        last_finish(&outcomes).ps() / 1_000_000
    };
    let (waiting, asking) = (longest(None), longest(Some(Duration::from_us(20))));
    assert!(waiting > 500 && asking < 300, "{waiting} us, {asking} us");
}

/// All senders of a rack send to one host. PAUSEs delay packets on some paths but not on others,
/// and no packet is lost.
#[test]
fn pauses_reorder_and_lose_nothing() {
    let mut spec = leaf_spine(LoadBalanceConfig::Drill(Default::default()), in_any_order());
    spec.switch.buffer = Bytes(3_000_000);
    let flows: Vec<_> = (0..4 * RACK).map(|i| flow(i % RACK, RACK, 500_000, u64::from(i) * 10)).collect();
    let (simulation, outcomes) = run(&spec, flows);
    assert!(simulation.totals().pause_frames > 0);
    assert_eq!(retransmitted(&outcomes), 0);
    assert!(all_delivered(&outcomes));
    let last = last_finish(&outcomes);
    // 16 MB with headers at 100 Gb/s take 1.4 ms, and the link is never idle for long.
    assert!(last.ps() < 1_500_000_000, "{last}");
}

/// Load balancer that sends data packets with even numbers through the first port, and odd ones
/// through the second.
#[derive(Clone, Debug)]
struct OddEven;

load_balancer!(OddEven, OddEven: |_options, _site| OddEven);

impl PipelineHooks for OddEven {}

impl LoadBalance for OddEven {
    fn choose(&mut self, arrival: &mut RouteRequest<'_>, _view: &mut View<'_>) -> Choice {
        Choice::Candidate(arrival.packet.headers().psn as usize % arrival.candidates.len())
    }
}

/// Runs one flow in [`two_paths`].
fn over_two_paths(recovery: RecoveryConfig, packets: u64, shards: usize) -> FlowOutcome {
    let (simulation, mut outcomes) =
        common::run_shards(&two_paths(recovery), vec![flow(0, 1, packets * 1024, 0)], shards);
    assert_eq!(simulation.audit(), []);
    outcomes.remove(0)
}

/// Returns h0 on leaf 2, h1 on leaf 3, and spines 4 and 5. The path over spine 4 takes 4.5 packet
/// times longer. Packets 1, 3, 5... arrive at packet times 1, 3, 5..., and packets 0, 2, 4... at
/// 4.5, 6.5, 8.5... Packets 1 and 3 arrive before packet 0, packet 5 arrives when 2 is expected,
/// and packet 7 when 4 is expected.
fn two_paths(recovery: RecoveryConfig) -> NetworkSpec {
    let mut spec = fixtures::leaf_spine(2, 1, 2);
    // The first packet of a flow, with 1024 B of payload, has 1122 B on the wire.
    spec.links[4].delay = Duration::from_ps(1_000_000 + 1122 * 80 * 9 / 2);
    (spec.load_balance, spec.recovery) = (LoadBalanceConfig::custom(OddEven), recovery);
    spec
}

#[test]
fn the_degree_of_a_packet_is_its_number_minus_the_expected_one() {
    for shards in [1, 3] {
        let outcome = over_two_paths(in_any_order(), 100, shards);
        assert_eq!(outcome.reception.disorder.degrees().collect::<Vec<_>>(), [(1, 1), (3, 49)]);
        assert_eq!(
            (outcome.reception.arrived, outcome.reception.disorder.packets(), outcome.reception.disorder.largest()),
            (100, 50, 3)
        );
        let short = over_two_paths(in_any_order(), 2, shards);
        assert_eq!(
            (short.reception.arrived, short.reception.disorder.degrees().collect::<Vec<_>>()),
            (2, vec![(1, 1)])
        );
    }
}

/// The receiver table gives the slot of a finished flow to the next flow.
#[test]
fn a_flow_that_takes_the_place_of_another_begins_in_order() {
    let flows = vec![flow(0, 1, 100 * 1024, 0), flow(0, 1, 1024, 100_000)];
    let (_, outcomes) = run(&two_paths(in_any_order()), flows);
    assert_eq!(
        outcomes.iter().map(|it| (it.reception.arrived, it.reception.disorder.packets())).collect::<Vec<_>>(),
        [(100, 50), (1, 0)]
    );
}

/// Go-Back-N discards early packets. Packets 1 and 3 arrive before 0, and 2 before 1. Of the
/// repeated packets 1, 2 and 3, packet 3 arrives before 2, and is repeated again after the timeout.
#[test]
fn repeated_packets_count_and_may_be_early_again() {
    let outcome = over_two_paths(NetworkSpec::default().recovery, 4, 1);
    assert_eq!((outcome.reception.arrived, outcome.retransmitted), (4 + 4, 4 * 1024));
    assert_eq!(outcome.reception.disorder.degrees().collect::<Vec<_>>(), [(1, 3), (3, 1)]);
}

/// If all packets of a flow take one path, no packet is early.
#[test]
fn packets_in_order_have_no_degree() {
    let (simulation, outcomes) =
        run(&leaf_spine(LoadBalanceConfig::Ecmp(Default::default()), in_any_order()), across());
    assert!(simulation.totals().pause_frames > 0, "packets wait on the way");
    for outcome in outcomes {
        assert_eq!((outcome.reception.arrived, outcome.reception.disorder.packets()), (2_000_000u64.div_ceil(1024), 0));
    }
}
