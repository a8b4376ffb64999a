use super::*;
use crate::testing::{ack_view, at_us, sender, stamp, stamped_ack};

const GBPS: f64 = 1e9;

/// Returns a reaction point with a line rate of 100 Gb/s and a base round-trip time of 10 us. Its
/// window is 125,000 B.
fn reaction_point(config: PowerTcpConfig) -> PowerTcp {
    PowerTcp::new(&config, &sender(Rate::from_gbps(100), Duration::from_us(10)))
}

/// Processes an ACK, and returns the signal in it.
fn ack(point: &mut PowerTcp, acked_bytes: u64, sent_bytes: u64, stamps: &[Stamp]) -> Option<CongestionSignal> {
    stamped_ack(point, [acked_bytes, sent_bytes], stamps)
}

/// The target is 0.95. In three ACKs, the powers of the two hops are 0.8 and 1, then 0.96 and 0.5
/// (idle), then 0.9 and 0.8.
#[test]
fn the_hop_with_the_greatest_power_above_the_target_is_the_signal() {
    let mut point = reaction_point(PowerTcpConfig::default());
    let mut signal = |us, first, second| ack(&mut point, us, us, &[stamp(us, first, 0), stamp(us, second, 0)]);
    assert_eq!(signal(10, 0, 0), None);
    assert_eq!(signal(20, 100_000, 125_000), Some(CongestionSignal::Load(1)));
    assert_eq!(signal(30, 220_000, 125_000), Some(CongestionSignal::Load(0)));
    assert_eq!(signal(40, 332_500, 225_000), None);
}

/// The shortest round-trip time is 10 us, later 8 us. A round-trip time of up to 1.05 times the
/// shortest is no signal.
#[test]
fn a_round_trip_time_above_the_margin_is_the_signal() {
    let mut point = reaction_point(PowerTcpConfig { variant: Variant::Delay, ..Default::default() });
    let mut signal = |us, rtt_ns| {
        let ack = ack_view(at_us(us), [us; 2], Duration::from_ns(rtt_ns));
        let signal = point.signal(&ack);
        point.on_ack(&ack);
        signal
    };
    let found = [(10, 10_500), (20, 10_501), (30, 8000), (40, 8401), (50, 8400)].map(|(at, rtt)| signal(at, rtt));
    assert_eq!(found, [None, Some(CongestionSignal::Delay), None, Some(CongestionSignal::Delay), None]);
}

fn assert_near(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1.0, "{actual} is not {expected}");
}

/// Computes the paper's Algorithm 1 by hand: target utilisation 1, no lower bound of a current,
/// gamma 0.9, beta 1 Gb/s.
#[test]
fn three_acks_by_hand() {
    let additive_increase = Rate::from_gbps(1);
    let mut point =
        reaction_point(PowerTcpConfig { eta: 1.0, lowest_current: 0.0, additive_increase, ..Default::default() });
    assert_eq!((point.window(), point.current), (125_000, 100.0 * GBPS));
    ack(&mut point, 1000, 125_000, &[stamp(10, 0, 0)]);
    assert_eq!(point.current, 100.0 * GBPS);
    // In the 10 us before this ACK, the port sent at line rate and 62,500 B accumulated in its
    // queue. The current is 1.5, the voltage 1.5 and the power 2.25. The rate is 0.9 (100 G / 2.25
    // + 1 G) + 0.1 x 100 G.
    ack(&mut point, 100_000, 200_000, &[stamp(20, 125_000, 62_500)]);
    assert_near(point.current, 50.9 * GBPS);
    assert_eq!((point.window(), point.old), (63_625, 100.0 * GBPS));
    // In the next 5 us, the port sent at line rate and nothing arrived, so the queue is empty. The
    // power is 0, and the average (2.25 + 0) / 2. The rate is 0.9 (100 G / 1.125 + 1 G) + 0.1 x
    // 50.9 G. The first round trip is over.
    ack(&mut point, 125_001, 260_000, &[stamp(25, 187_500, 0)]);
    assert_near(point.current, 85.99 * GBPS);
    assert_eq!((point.old, point.taken_at), (point.current, 260_000));
    // In the next 5 us, the port sent at half of line rate. The power is 0.5, and the average
    // 0.8125. The rate would exceed line rate and is capped.
    ack(&mut point, 130_000, 260_000, &[stamp(30, 218_750, 0)]);
    assert_eq!((point.current, point.window()), (100.0 * GBPS, 125_000));
}

/// A rate set by another control replaces both rates of an update: the present rate, and the rate
/// one round trip ago. The rate is 0.9 (40 G / 2.25 + 1 G) + 0.1 x 40 G.
#[test]
fn set_rate_also_sets_the_old_rate() {
    let additive_increase = Rate::from_gbps(1);
    let mut point =
        reaction_point(PowerTcpConfig { eta: 1.0, lowest_current: 0.0, additive_increase, ..Default::default() });
    ack(&mut point, 1000, 125_000, &[stamp(10, 0, 0)]);
    point.set_rate(Time::ZERO, Rate::from_gbps(40));
    assert_eq!((point.rate(Time::ZERO), point.window()), (Rate::from_gbps(40), 50_000));
    ack(&mut point, 100_000, 200_000, &[stamp(20, 125_000, 62_500)]);
    assert_near(point.current, 20.9 * GBPS);
    for (set, held) in [(1, 100_000_000), (200_000_000_000, 100_000_000_000)] {
        point.set_rate(Time::ZERO, Rate::from_bps(set));
        assert_eq!(point.rate(Time::ZERO), Rate::from_bps(held));
    }
}

/// The hop with the greatest power counts, with the interval between its own stamps. An interval
/// longer than tau counts as tau.
#[test]
fn the_hop_with_the_greatest_power_counts() {
    let mut point = reaction_point(PowerTcpConfig::default());
    ack(&mut point, 1, 1_000_000, &[stamp(0, 0, 0), stamp(1, 0, 0)]);
    // For 5 us, hop 1 is idle, which counts as half busy, and hop 2 is at 80 %.
    ack(&mut point, 2, 1_000_000, &[stamp(5, 0, 0), stamp(6, 50_000, 0)]);
    assert!((point.power - 0.9).abs() < 1e-12, "{}", point.power);
    ack(&mut point, 3, 1_000_000, &[stamp(25, 12_500, 0), stamp(26, 225_000, 0)]);
    assert!((point.power - 0.7).abs() < 1e-12, "{}", point.power);
}

/// The path has become longer. The new hop has no earlier stamp to compare with; it counts from the
/// next ACK on.
#[test]
fn a_new_hop_has_no_power_yet() {
    let mut point = reaction_point(PowerTcpConfig::default());
    ack(&mut point, 1, 1_000_000, &[stamp(0, 0, 0)]);
    ack(&mut point, 2, 1_000_000, &[stamp(10, 100_000, 0), stamp(11, 100_000_000, 0)]);
    assert!((point.power - 0.8).abs() < 1e-12, "{}", point.power);
    ack(&mut point, 3, 1_000_000, &[stamp(20, 200_000, 0), stamp(21, 100_112_500, 0)]);
    assert!((point.power - 0.9).abs() < 1e-12, "{}", point.power);
}

/// A paused port sends and receives nothing, but its current counts as half of the link rate.
#[test]
fn a_paused_port_counts_as_half_busy() {
    let mut point = reaction_point(PowerTcpConfig::default());
    ack(&mut point, 1, 1_000_000, &[stamp(0, 0, 125_000)]);
    ack(&mut point, 2, 1_000_000, &[stamp(10, 0, 125_000)]);
    // The current is 0.5, and the voltage 2.
    assert!((point.power - 1.0).abs() < 1e-12, "{}", point.power);
}

/// Computes Algorithm 2 by hand: the rate changes once per round trip.
#[test]
fn without_telemetry_power_comes_from_delays() {
    let config = PowerTcpConfig { variant: Variant::Delay, delay_margin: 1.0, ..Default::default() };
    let mut point = reaction_point(config);
    let mut answer = |us, rtt_us, acked_bytes, sent_bytes| {
        point.on_ack(&ack_view(at_us(us), [acked_bytes, sent_bytes], Duration::from_us(rtt_us)));
        (point.power, point.current / GBPS)
    };
    assert_eq!(answer(10, 10, 1000, 100_000), (1.0, 100.0));
    // After 5 us, the round trip is 5 us longer: the gradient is 1, the current 2, the voltage 1.5
    // and the power 3. 5 us are half of tau, so the average is (1 + 3) / 2.
    assert_eq!(answer(15, 15, 2000, 100_000), (2.0, 100.0));
    // After 10 us more, the round trip is equally long: the current is 1, and the voltage 1.5. The
    // round trip is over, so the rate is 0.7 (100 / 1.5 + 0.15) + 0.3 x 100.
    let (power, rate) = answer(25, 15, 100_001, 200_000);
    assert!((power - 1.5).abs() < 1e-12 && (rate - (0.7 * (100.0 / 1.5 + 0.15) + 30.0)).abs() < 1e-9, "{power} {rate}");
    // The round trip returns to 10 us at once. The gradient is limited to -0.5.
    let (power, _) = answer(30, 10, 110_000, 200_000);
    assert!((power - 1.0).abs() < 1e-12, "{power}");
}

#[test]
fn rates_stay_between_lowest_and_line_rate() {
    let mut point = reaction_point(PowerTcpConfig { additive_increase: Rate::from_bps(0), ..Default::default() });
    ack(&mut point, 1, 1, &[stamp(0, 0, 0)]);
    for us in 1..100 {
        ack(&mut point, us * 10 + 1, us * 10 + 1, &[stamp(us * 10, us * 125_000, 100_000_000)]);
    }
    assert_eq!((point.rate(Time::ZERO), point.window()), (Rate::from_bps(100_000_000), 125));
    for us in 100..200 {
        ack(&mut point, us * 10 + 1, us * 10 + 1, &[stamp(us * 10, 99 * 125_000 + us, 0)]);
    }
    assert_eq!((point.current, point.window()), (100.0 * GBPS, 125_000));
}

/// Two messages with a gap of one second between them. After the gap, the first ACK only provides
/// stamps. Compared with the stamps from before the gap, the current would be the lowest one, 0.5,
/// and the rate would grow.
#[test]
fn stamps_from_before_a_gap_are_not_compared() {
    let mut point = reaction_point(PowerTcpConfig::default());
    let second = 1_000_000;
    ack(&mut point, 1000, 125_000, &[stamp(0, 0, 0)]);
    // In 10 us, the port sends at line rate, and its queue grows to half a window: the current is
    // 1.5, the voltage 1.5 and the power 2.25.
    ack(&mut point, 125_001, 125_001, &[stamp(10, 125_000, 62_500)]);
    let (rate, power) = (point.current, point.power);
    assert_near(rate, 0.9 * (100.0 * GBPS / (2.25 / 0.95) + 0.15 * GBPS) + 0.1 * 100.0 * GBPS);
    point.on_idle(at_us(10));
    point.on_resume(at_us(second), at_us(10));
    assert_eq!(ack(&mut point, 126_001, 200_000, &[stamp(second + 10, 125_000, 0)]), None);
    assert_eq!((point.current, point.power), (rate, power));
    // In the next 10 us, the port sends at 95 % of line rate: the power is 0.95, the target.
    ack(&mut point, 150_000, 210_000, &[stamp(second + 20, 243_750, 0)]);
    let rate = 0.9 * (rate + 0.15 * GBPS) + 0.1 * rate;
    assert_near(point.current, rate);
    // In a second gap, the port is busy. The average power, 1, is no signal either.
    point.on_resume(at_us(2 * second + 20), at_us(second + 20));
    let sent = 243_750 + second * 12_500;
    assert_eq!(ack(&mut point, 151_000, 220_000, &[stamp(2 * second + 20, sent, 0)]), None);
    assert_near(point.current, rate);
}

/// A gap of one base round-trip time keeps the stamps.
#[test]
fn stamps_from_before_a_short_gap_are_compared() {
    let mut point = reaction_point(PowerTcpConfig::default());
    ack(&mut point, 1000, 1000, &[stamp(0, 0, 0)]);
    point.on_resume(at_us(10), Time::ZERO);
    ack(&mut point, 2000, 2000, &[stamp(20, 237_500, 0)]);
    assert!((point.power - 0.95).abs() < 1e-12);
}

/// Without telemetry, the gradient over a gap is that of the whole gap. A round-trip time that is
/// 10 us longer after a second has a gradient of 1e-5: the power is that of the round-trip time
/// alone, 20 / (1.05 x 10).
#[test]
fn a_gradient_over_a_gap_is_near_zero() {
    let mut point = reaction_point(PowerTcpConfig { variant: Variant::Delay, ..Default::default() });
    let second = 1_000_000;
    point.on_ack(&ack_view(at_us(10), [1000, 1000], Duration::from_us(10)));
    point.on_idle(at_us(10));
    point.on_resume(at_us(second), at_us(10));
    point.on_ack(&ack_view(at_us(second + 20), [2000, 2000], Duration::from_us(20)));
    assert!((point.power - 20.0 / 10.5).abs() < 1e-4, "{}", point.power);
}
