use super::*;
use crate::testing::{ack_view, assert_rate, at_us, sender};

const MBPS: u64 = 1_000_000;
const GBPS: u64 = 1_000 * MBPS;

fn reaction_point(config: &TimelyConfig, gbps: u64) -> Timely {
    Timely::new(config, &sender(Rate::from_gbps(gbps), Duration::from_us(8)))
}

/// Returns the rate after another round trip of `us`.
fn round_trip(point: &mut Timely, us: u64) -> u64 {
    let acked_bytes = point.updated_at + 1;
    let sent_bytes = acked_bytes + 100_000;
    point.on_ack(&ack_view(at_us(us), [acked_bytes, sent_bytes], Duration::from_us(us)));
    point.rate(at_us(us)).bps()
}

/// A delay is a signal if the rate decreases: by the gradient, or above T_high. ACKs of the round
/// trip that was measured last carry no signal.
#[test]
fn a_delay_at_which_the_rate_decreases_is_the_signal() {
    let mut point = reaction_point(&TimelyConfig::default(), 100);
    for (us, slows) in [(100, false), (104, true), (90, false), (1000, true), (40, false)] {
        let ack = ack_view(at_us(us), [point.updated_at + 1; 2], Duration::from_us(us));
        let old = AckView { acked_bytes: point.updated_at, ..ack };
        assert_eq!(point.signal(&ack), slows.then_some(CongestionSignal::Delay), "{us} us");
        assert_eq!(point.signal(&old), None);
        let before = point.rate(ack.now);
        point.on_ack(&ack);
        assert_eq!(point.rate(ack.now) < before, slows, "{us} us");
    }
}

/// Computes Algorithm 1 by hand: alpha 0.875, beta 0.8, minRTT 20 us.
#[test]
fn between_the_thresholds_the_gradient_decides() {
    let mut point = reaction_point(&TimelyConfig::default(), 100);
    // The first round trip only serves for comparison.
    assert_eq!(round_trip(&mut point, 100), 100 * GBPS);
    // The round trip is 4 us longer. The average of the differences is 3.5 us, the gradient 0.175,
    // the rate's factor 0.86.
    assert_rate(round_trip(&mut point, 104), 86 * GBPS);
    // The round trip is as long as the last round trip. The average of the differences is 0.4375
    // us, the rate's factor 0.9825.
    assert_rate(round_trip(&mut point, 104), 84_495 * MBPS);
    // The round trip is 8 us shorter. The average of the differences is negative, so the rate
    // grows by 100 Mb/s.
    assert_rate(round_trip(&mut point, 96), 84_595 * MBPS);
    // The round trip is 40 us longer. The gradient is slightly below 35 / 20, so the rate's
    // factor would be negative and is set to zero. The rate is at least 100 Mb/s.
    assert_rate(round_trip(&mut point, 136), 100 * MBPS);
}

#[test]
fn beyond_the_thresholds_the_gradient_does_not_matter() {
    let mut point = reaction_point(&TimelyConfig::default(), 100);
    round_trip(&mut point, 1000);
    // The round trip is shorter but still above T_high. The rate's factor is
    // 1 - 0.8 (1 - 500 / 625).
    assert_rate(round_trip(&mut point, 625), 84 * GBPS);
    // The round trip is shorter and no longer above T_high.
    assert_rate(round_trip(&mut point, 500), 84_100 * MBPS);
    round_trip(&mut point, 10);
    round_trip(&mut point, 10);
    // The round trip is longer, but below T_low.
    assert_rate(round_trip(&mut point, 49), 84_400 * MBPS);
    assert!(point.rtt_diff > 0.0);
    // At T_low the gradient counts, which is positive.
    assert!(round_trip(&mut point, 50) < 84_400 * MBPS);
}

#[test]
fn the_sixth_increase_in_a_row_and_those_after_it_are_larger() {
    let mut point = reaction_point(&TimelyConfig::default(), 100);
    point.current = Rate::from_gbps(10);
    round_trip(&mut point, 10);
    let rates: Vec<u64> = (0..7).map(|_| round_trip(&mut point, 10) / MBPS).collect();
    assert_eq!(rates, [10_100, 10_200, 10_300, 10_400, 10_500, 11_000, 11_500]);
    // A decrease restarts the count. Its factor is 1 - 0.8 (1 - 500 / 1000).
    assert_rate(round_trip(&mut point, 1000), 6_900 * MBPS);
    assert_rate(round_trip(&mut point, 10), 7_000 * MBPS);
    point.current = Rate::from_gbps(100);
    assert_eq!(round_trip(&mut point, 10), 100 * GBPS, "no more than line rate");
}

/// After six increases, the seventh would be hyperactive, except after another control has set the
/// rate. The moving average of the gradient is not reset.
#[test]
fn set_rate_restarts_the_count_of_increases() {
    let mut point = reaction_point(&TimelyConfig::default(), 100);
    (0..7).for_each(|_| assert_rate(round_trip(&mut point, 10), 100 * GBPS));
    point.set_rate(Time::ZERO, Rate::from_gbps(20));
    assert_eq!((point.rate(Time::ZERO).bps(), point.window()), (20 * GBPS, u64::MAX));
    assert_rate(round_trip(&mut point, 10), 20_100 * MBPS);
    // The round trip is 90 us longer. The average of the differences is 78.75 us, and the rate's
    // factor is set to zero.
    assert_rate(round_trip(&mut point, 100), 100 * MBPS);
    for (set, held) in [(1, 100 * MBPS), (200 * GBPS, 100 * GBPS)] {
        point.set_rate(Time::ZERO, Rate::from_bps(set));
        assert_eq!(point.rate(Time::ZERO).bps(), held);
    }
}

/// ACKs of data sent before the last update have no effect.
#[test]
fn the_rate_is_updated_once_per_round_trip() {
    let mut point = reaction_point(&TimelyConfig::default(), 100);
    let mut ack = |acked_bytes, sent_bytes, us| {
        point.on_ack(&ack_view(Time::ZERO, [acked_bytes, sent_bytes], Duration::from_us(us)));
        point.rate(Time::ZERO).bps()
    };
    assert_eq!(ack(1000, 50_000, 100), 100 * GBPS);
    assert_eq!(ack(2000, 51_000, 900), 100 * GBPS);
    assert_eq!(ack(50_000, 99_000, 900), 100 * GBPS);
    // This round trip is compared with the 100 us of the last update.
    assert_rate(ack(51_000, 100_000, 104), 86 * GBPS);
    assert_rate(ack(100_000, 149_000, 900), 86 * GBPS);
    assert!(ack(101_000, 150_000, 900) < 86 * GBPS);
}

#[test]
fn a_window_shrinks_with_the_rate() {
    let mut point = reaction_point(&TimelyConfig { window: true, ..Default::default() }, 100);
    assert_eq!(point.window(), 100_000);
    point.current = Rate::from_gbps(25);
    assert_eq!(point.window(), 25_000);
    assert_eq!(reaction_point(&TimelyConfig::default(), 100).window(), u64::MAX);
}

/// Compares every profile with its source: additive increase, hyper increase and lowest rate, in
/// Mb/s.
#[test]
fn profiles_have_the_parameters_of_their_sources() {
    for (profile, gbps, rates) in [
        (TimelyProfile::HpccNs3, 25, [25, 125, 100]),
        (TimelyProfile::HpccNs3, 100, [100, 500, 100]),
        (TimelyProfile::HpccNs3, 400, [400, 2000, 100]),
        (TimelyProfile::PyrrhaNs3, 100, [50, 100, 100]),
    ] {
        let p = profile.parameters(Rate::from_gbps(gbps));
        let rates_of = [p.additive_increase, p.hyper_increase, p.min_rate].map(|rate| rate.bps() / MBPS);
        assert_eq!(rates_of, rates, "{profile:?} at {gbps} Gb/s");
        let times = [p.low_rtt, p.high_rtt, p.min_rtt].map(|span| span.ps() / 1_000_000);
        assert_eq!((times, p.gain, p.beta), ([50, 500, 20], 0.875, 0.8));
    }
    let config = TimelyConfig { beta: Some(0.5), min_rtt: Some(Duration::from_us(5)), ..Default::default() };
    let profile = TimelyProfile::HpccNs3.parameters(Rate::from_gbps(40));
    let expected = TimelyParameters { beta: 0.5, min_rtt: Duration::from_us(5), ..profile };
    assert_eq!(config.parameters(Rate::from_gbps(40)), expected);
}

/// Returns the rate after a gap of `us` and another round trip of 140 us.
fn rate_after_a_gap(us: u64) -> u64 {
    let mut point = reaction_point(&TimelyConfig::default(), 100);
    round_trip(&mut point, 100);
    round_trip(&mut point, 104);
    point.on_idle(at_us(1000));
    point.on_resume(at_us(1000 + us), at_us(1000));
    let ack = ack_view(at_us(1000), [point.updated_at + 1; 2], Duration::from_us(140));
    let signal = point.signal(&ack);
    let before = point.current;
    let after = round_trip(&mut point, 140);
    assert_eq!(signal.is_some(), after < before.bps());
    after
}

/// The rate is 86 Gb/s before the gap. A round-trip time that is 36 us longer reduces the rate to
/// the lowest rate: the gradient is above 1.25. After a gap of more than minRTT, 20 us, the
/// difference is no gradient, and the rate grows by 100 Mb/s.
#[test]
fn the_difference_over_a_gap_is_no_gradient() {
    assert_rate(rate_after_a_gap(20), 100 * MBPS);
    assert_rate(rate_after_a_gap(21), 86_100 * MBPS);
}

/// After a gap, the thresholds decide at once, and the next difference gives the gradient: 4 us x
/// 0.875 / 20 us. The differences before the gap do not count.
#[test]
fn thresholds_hold_after_a_gap() {
    let mut point = reaction_point(&TimelyConfig::default(), 100);
    round_trip(&mut point, 100);
    round_trip(&mut point, 104);
    point.on_resume(at_us(5000), at_us(1000));
    // The rate's factor is 1 - 0.8 (1 - 500 / 1000).
    assert_rate(round_trip(&mut point, 1000), 51_600 * MBPS);
    point.on_resume(at_us(9000), at_us(6000));
    assert_rate(round_trip(&mut point, 100), 51_700 * MBPS);
    assert_rate(round_trip(&mut point, 104), 44_462 * MBPS);
    // The first ACK of all still only provides a value for comparison.
    let mut unused = reaction_point(&TimelyConfig::default(), 100);
    unused.on_resume(at_us(5000), Time::ZERO);
    assert_eq!(round_trip(&mut unused, 100), 100 * GBPS);
    assert_rate(round_trip(&mut unused, 104), 86 * GBPS);
}
