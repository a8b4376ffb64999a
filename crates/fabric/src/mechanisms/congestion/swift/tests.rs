use super::*;
use crate::testing::{self, ack_view, assert_near, at_us};

fn us(us: u64) -> Duration {
    Duration::from_us(us)
}

/// Returns a sender with a line rate of 100 Gb/s and a base round-trip time of 8 us over four
/// links. Packets of 952 B take 1000 B on the wire, so that the line carries 100 packets in 8 us.
fn sender() -> SenderFacts {
    SenderFacts { hops: 4, hop_rtt: us(2), ..testing::sender(Rate::from_gbps(100), us(8)) }
}

/// Returns options with a target of 10 us for any path and window. The smoothed round-trip time is
/// the round-trip time of the last packet.
fn fixed() -> SwiftConfig {
    let [target, none] = [us(10), Duration::ZERO].map(Some);
    let per_hop = none;
    SwiftConfig { base_target: target, per_hop, fs_range: none, rtt_weight: Some(0.0), ..Default::default() }
}

fn reaction_point(config: SwiftConfig, cwnd: f64) -> Swift {
    Swift { cwnd, ..Swift::new(&config, &sender()) }
}

/// Returns the window after an ACK at `now_us` for `packets` more packets, the last of which had a
/// delay of `delay_us`.
fn ack(point: &mut Swift, now_us: u64, delay_us: u64, packets: u64) -> f64 {
    let acked_bytes = point.acked_bytes + packets * 952;
    point.on_ack(&AckView { hops: 4, ..ack_view(at_us(now_us), [acked_bytes; 2], us(delay_us)) });
    point.cwnd
}

/// The target is 10 us: a delay of 10 us or more is a signal.
#[test]
fn a_delay_of_the_target_or_longer_is_the_signal() {
    let point = reaction_point(fixed(), 50.0);
    let signal = |delay_us| point.signal(&AckView { hops: 4, ..ack_view(Time::ZERO, [952; 2], us(delay_us)) });
    assert_eq!([9, 10, 11].map(signal), [None, Some(CongestionSignal::Delay), Some(CongestionSignal::Delay)]);
}

/// Flow scaling acts between windows of 1/4 and 100: alpha = 19 us / (2 - 0.1) = 10 us, beta = -1
/// us.
#[test]
fn the_target_grows_with_links_and_with_a_smaller_window() {
    let config = SwiftConfig {
        base_target: Some(us(5)),
        per_hop: Some(us(2)),
        fs_range: Some(us(19)),
        fs_min_cwnd: Some(0.25),
        ..Default::default()
    };
    for (hops, cwnd, target) in [
        (0, 100.0, 5.0),
        (2, 100.0, 9.0),
        (6, 100.0, 17.0),
        (0, 25.0, 6.0),
        (0, 4.0, 9.0),
        (4, 1.0, 22.0),
        (0, 0.25, 24.0),
        // Outside of these windows, flow scaling adds nothing or the maximum.
        (0, 400.0, 5.0),
        (0, 0.01, 24.0),
    ] {
        assert_near(reaction_point(config.clone(), cwnd).target(hops) / 1e6, target);
    }
}

/// Below the target, the window grows by a packet per acknowledged window. Above the target, the
/// window is multiplied by 1 - 0.8 (delay - target) / delay, or by one half if that is more.
#[test]
fn a_window_grows_below_the_target_and_shrinks_beyond_it() {
    let mut point = reaction_point(fixed(), 10.0);
    assert_near(ack(&mut point, 10, 9, 1), 10.1);
    assert_near(ack(&mut point, 11, 9, 2), 10.1 + 2.0 / 10.1);
    point.cwnd = 10.0;
    assert_near(ack(&mut point, 50, 16, 1), 7.0);
    assert_near(ack(&mut point, 100, 100, 1), 7.0);
    assert_near(ack(&mut point, 200, 100, 1), 3.5);
    // At the target, the window neither grows nor shrinks.
    assert_near(ack(&mut point, 300, 10, 1), 3.5);
}

/// Packets of the same round trip as a decrease report delays that the decrease accounts for.
#[test]
fn a_window_is_decreased_once_per_round_trip() {
    let mut point = reaction_point(fixed(), 16.0);
    assert_near(ack(&mut point, 50, 20, 1), 9.6);
    assert_near(ack(&mut point, 69, 20, 1), 9.6);
    assert_near(ack(&mut point, 70, 20, 1), 5.76);
    // Meanwhile, the window grows at a delay below the target.
    assert_near(ack(&mut point, 71, 9, 1), 5.76 + 1.0 / 5.76);
    point.cwnd = 10.0;
    point.on_loss(at_us(78), LossSignal::Nack);
    assert_near(point.cwnd, 10.0);
    // The round-trip time is 9 us now.
    point.on_loss(at_us(79), LossSignal::Nack);
    assert_near(point.cwnd, 5.0);
    assert_near(ack(&mut point, 80, 20, 1), 5.0);
}

/// With a window below one packet, a packet of 1000 B is sent every rtt / cwnd. Here the window is
/// half a packet. The round-trip time is 8 us before the first ACK and 20 us after it.
#[test]
fn below_a_packet_the_window_is_paced_and_grows_by_whole_packets() {
    let config = SwiftConfig { ai: Some(0.25), ..fixed() };
    let mut point = reaction_point(config, 0.5);
    assert_eq!((point.rate(Time::ZERO), point.window()), (Rate::from_bps(500_000_000), 952));
    assert_near(ack(&mut point, 50, 20, 1), 0.3);
    assert_eq!((point.rate(Time::ZERO), point.window()), (Rate::from_bps(120_000_000), 952));
    assert_near(ack(&mut point, 51, 8, 2), 0.8);
    assert_eq!(point.rate(Time::ZERO), Rate::from_bps(800_000_000));
    // From a window of one packet on, packets are clocked by ACKs.
    assert_near(ack(&mut point, 52, 8, 1), 1.05);
    assert_eq!((point.rate(Time::ZERO), point.window()), (Rate::from_gbps(100), 952));
    point.cwnd = 2.99;
    assert_eq!(point.window(), 2 * 952);
}

/// Half a packet in 20 ns would be 200 Gb/s, and half a packet in 100 ns is 40 Gb/s.
#[test]
fn a_small_window_is_paced_no_faster_than_the_line() {
    for (rtt_ns, gbps) in [(20, 100), (100, 40)] {
        let mut point = reaction_point(fixed(), 0.5);
        point.rtt = rtt_ns as f64 * 1000.0;
        assert_eq!(point.rate(Time::ZERO), Rate::from_gbps(gbps));
    }
}

/// Three ACKs acknowledge 10, 5 and 12 packets in all; the second is late. They acknowledge 10, 0
/// and 2 new packets.
#[test]
fn a_late_ack_changes_nothing() {
    let mut point = reaction_point(fixed(), 100.0);
    let mut ack = |now_us, packets: u64| {
        point.on_ack(&AckView { hops: 4, ..ack_view(at_us(now_us), [packets * 952, 100 * 952], us(9)) });
        point.cwnd
    };
    assert_near(ack(10, 10), 100.1);
    assert_near(ack(11, 5), 100.1);
    assert_near(ack(12, 12), 100.1 + 2.0 / 100.1);
}

/// The first round-trip time is 2 us. From then on, the past has a weight of three quarters: three
/// round-trip times of 10 us give 4, 5.5 and 6.625 us.
#[test]
fn pacing_goes_by_the_smoothed_round_trip_time() {
    let mut point = reaction_point(SwiftConfig { rtt_weight: Some(0.75), ai: Some(0.0), ..fixed() }, 0.5);
    ack(&mut point, 10, 2, 1);
    assert_eq!(point.rate(Time::ZERO), Rate::from_bps(2_000_000_000));
    point.last_decrease = Some(at_us(20));
    ack(&mut point, 20, 10, 1);
    assert_eq!(point.rate(Time::ZERO), Rate::from_bps(1_000_000_000));
    // The smoothed round-trip time also limits decreases.
    ack(&mut point, 24, 10, 1);
    assert_eq!(point.last_decrease, Some(at_us(20)));
    ack(&mut point, 27, 10, 1);
    assert_eq!(point.last_decrease, Some(at_us(27)));
}

#[test]
fn windows_stay_between_smallest_and_largest() {
    let mut point = reaction_point(fixed(), 400.0);
    assert_eq!(ack(&mut point, 0, 1, 1000), 400.0);
    (1..40).for_each(|round| _ = ack(&mut point, round * 1000, 1000, 1));
    assert_eq!(point.cwnd, 0.01);
}

/// A timeout counts as a loss, once per round trip. The fifth timeout without an ACK in between
/// sets the smallest window. A NACK ends the sequence.
#[test]
fn five_timeouts_in_a_row_leave_the_smallest_window() {
    let mut point = reaction_point(fixed(), 64.0);
    ack(&mut point, 0, 9, 0);
    let mut lose = |now_us: u64, loss| {
        point.on_loss(at_us(now_us), loss);
        point.cwnd
    };
    assert_eq!([1000, 2000, 3000].map(|at| lose(at, LossSignal::TimedOut)), [32.0, 16.0, 8.0]);
    assert_eq!(lose(4000, LossSignal::Nack), 4.0);
    assert_eq!([5000, 6000].map(|at| lose(at, LossSignal::TimedOut)), [2.0, 1.0]);
    ack(&mut point, 7000, 10, 0);
    point.cwnd = 64.0;
    let mut lose = |now_us: u64| {
        point.on_loss(at_us(now_us), LossSignal::TimedOut);
        point.cwnd
    };
    assert_eq!([8000, 8001, 9000, 9001, 9002].map(&mut lose), [32.0, 32.0, 16.0, 16.0, 0.01]);
    assert_eq!(lose(10_000), 0.01);
}

/// 8 us at 25 Gb/s are 25 packets, and 8 us at 50 Mb/s are a twentieth of a packet. A window that
/// shrinks is not decreased again within the round trip.
#[test]
fn set_rate_sets_the_window() {
    let mut point = reaction_point(fixed(), 100.0);
    point.set_rate(at_us(50), Rate::from_gbps(25));
    assert_eq!((point.cwnd, point.window()), (25.0, 25 * 952));
    assert_near(ack(&mut point, 57, 9, 1), 25.04);
    assert_near(ack(&mut point, 58, 20, 1), 25.04);
    assert_near(ack(&mut point, 70, 20, 1), 15.024);
    // The window is the set rate times the round-trip time of 20 us: 31.25 packets, and later an
    // eighth of a packet.
    point.set_rate(at_us(71), Rate::from_bps(12_500_000_000));
    assert_near(point.cwnd, 31.25);
    assert_near(ack(&mut point, 90, 20, 1), 18.75);
    point.set_rate(at_us(91), Rate::from_bps(50_000_000));
    assert_eq!((point.rate(Time::ZERO), point.cwnd), (Rate::from_bps(50_000_000), 0.125));
    // The window is limited by line rate and by the smallest window.
    point.set_rate(at_us(92), Rate::from_gbps(200));
    assert_eq!(point.cwnd, 250.0);
    point.set_rate(at_us(93), Rate::from_bps(1));
    assert_eq!(point.cwnd, 0.01);
    // The set rate equals the present rate. An ACK may then decrease the window within the round
    // trip.
    let mut point = reaction_point(fixed(), 25.0);
    point.set_rate(at_us(50), Rate::from_gbps(25));
    assert_near(ack(&mut point, 57, 20, 1), 15.0);
}

/// Compares every profile with its source. A row has base target, per-hop delay and fs_range in ns;
/// smallest and largest window of flow scaling; ai, beta and max_mdf; smallest, initial and largest
/// window; and the weight of the round-trip time.
#[test]
fn profiles_have_the_parameters_of_their_sources() {
    type Row = ([u64; 3], [f64; 2], [f64; 3], [f64; 3], f64);
    let table: [(SwiftProfile, Row); 3] = [
        // The base target of 8 us and four links of 2 us are 16 us in all, which are 200 packets.
        (SwiftProfile::Fabric, ([8000, 2000, 80_000], [0.1, 100.0], [1.0, 0.8, 0.5], [0.01, 100.0, 400.0], 0.7)),
        (SwiftProfile::PyrrhaNs3, ([3000, 1500, 50_000], [0.1, 50.0], [1.0, 0.5, 0.5], [0.01, 100.0, 100.0], 0.7)),
        (
            SwiftProfile::Htsim,
            ([20_000, 3050, 100_000], [0.1, 100.0], [1.0, 0.8, 0.5], [10.0 / 952.0, 12.0, 1000.0], 0.875),
        ),
    ];
    for (profile, row) in table {
        let p = SwiftConfig { profile, ..Default::default() }.parameters(&sender());
        let ns = [p.base_target, p.per_hop, p.fs_range].map(|span| span.ps() / 1000);
        let windows = [p.min_cwnd, p.initial_cwnd, p.max_cwnd];
        let actual: Row = (ns, [p.fs_min_cwnd, p.fs_max_cwnd], [p.ai, p.beta, p.max_mdf], windows, p.rtt_weight);
        assert_eq!(actual, row, "{profile:?}");
    }
}

#[test]
fn single_parameters_override_the_profile_and_what_follows_from_them() {
    let config = |config: SwiftConfig| config.parameters(&sender());
    let default = config(SwiftConfig::default());
    // The target over the longest path is 8 us plus 4 us of queueing. Without four links of 1 us, 8
    // us remain for the base target. 12 us are 150 packets.
    let queueing = config(SwiftConfig { queueing: Some(us(4)), per_hop: Some(us(1)), ..Default::default() });
    let expected = SwiftParameters { base_target: us(8), per_hop: us(1), fs_range: us(60), max_cwnd: 300.0, ..default };
    assert_eq!(queueing, expected);
    // Links contribute more than the whole target, so the base target is zero.
    assert_eq!(config(SwiftConfig { per_hop: Some(us(5)), ..Default::default() }).base_target, Duration::ZERO);
    let small = config(SwiftConfig { max_cwnd: Some(10.0), ..Default::default() });
    assert_eq!((small.initial_cwnd, small.max_cwnd), (10.0, 10.0));
    let large = config(SwiftConfig { initial_cwnd: Some(500.0), ..Default::default() });
    assert_eq!((large.initial_cwnd, large.max_cwnd), (500.0, 500.0));
}

/// Returns the messages about the target.
fn late(config: &SwiftConfig, sender: &SenderFacts) -> Vec<String> {
    let mut diagnostics = Diagnostics::default();
    config.check_at(sender, &mut diagnostics);
    diagnostics.into_vec().into_iter().map(|diagnostic| diagnostic.message).collect()
}

#[test]
fn warns_of_a_target_not_above_the_base_rtt() {
    let message = |hops: u8, target: u64, base: u64| {
        format!(
            "the target delay over {hops} links is {target} us, but base round-trip times are up to {base} us: packets \
                exceed the target even with empty queues, and rates collapse"
        )
    };
    let config = |base: u64, per_hop: u64| SwiftConfig {
        base_target: Some(us(base)),
        per_hop: Some(us(per_hop)),
        ..Default::default()
    };
    assert_eq!(late(&SwiftConfig::default(), &sender()), [""; 0]);
    assert_eq!(late(&config(1, 2), &sender()), [""; 0]);
    assert_eq!(late(&config(0, 2), &sender()), [message(4, 8, 8)]);
    assert_eq!(late(&config(4, 1), &sender()), [message(4, 8, 8)]);
    // With long links at the hosts and short links between switches, the base round-trip time is 7
    // us over two links and 8 us over four.
    let edge = SenderFacts { hop_rtt: Duration::from_ns(500), ..sender() };
    assert_eq!(late(&config(1, 2), &edge), [message(2, 5, 7)]);
    assert_eq!(late(&SwiftConfig::default(), &edge), [""; 0]);
}

/// Two messages with a gap of one second between them; the target is 10 us. The first message ends
/// with a decrease from 20 to 14 packets, 1 - 0.8 (16 - 10) / 16 = 0.7. The window is kept, so 14
/// packets may leave at line rate after the gap. Their first ACK decreases the window again: the
/// last decrease is longer ago than a round trip. Delays have no stale reference.
#[test]
fn a_window_is_kept_between_messages() {
    let mut point = reaction_point(fixed(), 20.0);
    assert_near(ack(&mut point, 50, 16, 1), 14.0);
    let second = 1_000_000;
    point.on_idle(at_us(51));
    point.on_resume(at_us(second), at_us(51));
    assert_eq!((point.window(), point.rate(at_us(second))), (14 * 952, Rate::from_gbps(100)));
    assert_near(ack(&mut point, second + 16, 16, 1), 9.8);
    // The second ACK is of the same round trip: no decrease. A delay below the target adds 1 / 9.8.
    assert_near(ack(&mut point, second + 17, 16, 1), 9.8);
    assert_near(ack(&mut point, second + 18, 8, 1), 9.8 + 1.0 / 9.8);
}
