use super::*;
use crate::testing::{assert_rate, sender, stamp, stamped_ack};

const GBPS: u64 = 1_000_000_000;

/// Returns a reaction point with a line rate of 100 Gb/s and a base round-trip time of 10 us. Its
/// window is 125,000 B, and W_ai is 40 Mb/s.
fn reaction_point(config: HpccConfig) -> Hpcc {
    Hpcc::new(&config, &sender(Rate::from_gbps(100), Duration::from_us(10)))
}

fn ack(point: &mut Hpcc, acked_bytes: u64, sent_bytes: u64, stamps: &[Stamp]) -> u64 {
    signal_and_rate(point, acked_bytes, sent_bytes, stamps).1
}

/// Returns the signal in an ACK, and the rate after the ACK.
fn signal_and_rate(
    point: &mut Hpcc,
    acked_bytes: u64,
    sent_bytes: u64,
    stamps: &[Stamp],
) -> (Option<CongestionSignal>, u64) {
    let signal = stamped_ack(point, [acked_bytes, sent_bytes], stamps);
    (signal, point.rate(stamps.last().unwrap().time).bps())
}

/// The path has two hops. An ACK arrives every 10 us, in which a link can send 125,000 B. The
/// target is 0.95.
#[test]
fn the_busiest_hop_above_the_target_is_the_signal() {
    let mut point = reaction_point(HpccConfig::default());
    let mut signal = |us, first, second| {
        signal_and_rate(&mut point, us * 1000, us * 1000, &[stamp(us, first, 0), stamp(us, second, 0)]).0
    };
    // The first ACK has no earlier stamps to compare with. In the following ACKs, hop 1 is at 100
    // %, then hop 0 is at 96 %, then both hops are below the target, then both are equal.
    assert_eq!(signal(10, 0, 0), None);
    assert_eq!(signal(20, 62_500, 125_000), Some(CongestionSignal::Load(1)));
    assert_eq!(signal(30, 182_500, 125_000), Some(CongestionSignal::Load(0)));
    assert_eq!(signal(40, 300_000, 225_000), None);
    assert_eq!(signal(50, 425_000, 350_000), Some(CongestionSignal::Load(0)));
}

/// Computes Algorithm 1 by hand, for one hop.
#[test]
fn three_acks_by_hand() {
    let mut point = reaction_point(HpccConfig::default());
    assert_eq!(point.window(), 125_000);
    // The first ACK only provides stamps to compare with.
    assert_eq!(ack(&mut point, 1000, 125_000, &[stamp(10, 0, 62_500)]), 100 * GBPS);
    // In the 10 us before this ACK, the port sent at line rate with half a window in its queue. u =
    // 1.5, tau = T, U = 1.5. W = 100 G / (1.5 / 0.95) + 40 M. The first round trip is not over, so
    // W is not committed.
    assert_rate(ack(&mut point, 100_000, 200_000, &[stamp(20, 125_000, 62_500)]), 63_373_333_333);
    assert_eq!((point.reference.bps(), point.stage), (100 * GBPS, 0));
    assert_eq!(point.window(), 79_216);
    // In the next 5 us, the port sent at half of line rate, and its queue is empty: min(0, 62,500)
    // = 0. u = 0.5, U = 0.5 x 1.5 + 0.5 x 0.5 = 1. W = 100 G x 0.95 + 40 M. More than 125,000 B are
    // acknowledged, so W is committed.
    assert_rate(ack(&mut point, 125_001, 260_000, &[stamp(25, 156_250, 0)]), 95_040_000_000);
    assert_rate(point.reference.bps(), 95_040_000_000);
    assert_eq!((point.stage, point.committed_at), (0, 260_000));
    // In each of the next intervals of 10 us, the port sent at 1 % of line rate: U = 0.01. The step
    // is additive on the committed rate, so it gives the same rate until a rate is committed.
    for us in [35, 45, 55] {
        assert_rate(ack(&mut point, 200_000, 270_000, &[stamp(us, 156_250 + (us - 25) * 125, 0)]), 95_080_000_000);
    }
    assert_rate(point.reference.bps(), 95_040_000_000);
    assert_eq!(point.stage, 0);
    assert_rate(ack(&mut point, 260_001, 300_000, &[stamp(65, 161_250, 0)]), 95_080_000_000);
    assert_rate(point.reference.bps(), 95_080_000_000);
    assert_eq!(point.stage, 1);
}

/// After `max_stage` additive steps, a multiplicative step follows at any U.
#[test]
fn stages_are_counted_per_commit() {
    let mut point = reaction_point(HpccConfig { max_stage: 2, ..Default::default() });
    point.reference = Rate::from_gbps(10);
    ack(&mut point, 1, 100, &[stamp(0, 0, 0)]);
    // The link is half busy, so u = 0.5 every 10 us.
    let commits = [(10, 10_040_000_000, 1), (20, 10_080_000_000, 2), (30, 19_192_000_000, 0), (40, 19_232_000_000, 1)];
    for (us, rate, stage) in commits {
        let sent = us * 1000;
        assert_rate(ack(&mut point, sent - 1, sent, &[stamp(us, us * 6250, 0)]), rate);
        assert_rate(point.reference.bps(), rate);
        assert_eq!(point.stage, stage);
    }
}

/// A set rate replaces the committed rate, and ACKs of packets sent before `set_rate` have no
/// effect. The next step starts from the set rate and is the first of `max_stage`.
#[test]
fn set_rate_sets_the_reference() {
    let mut point = reaction_point(HpccConfig { max_stage: 1, ..Default::default() });
    ack(&mut point, 1, 100, &[stamp(0, 0, 0)]);
    // The link is half busy: the step is additive and is committed.
    ack(&mut point, 101, 200, &[stamp(10, 62_500, 0)]);
    assert_eq!(point.stage, 1);
    point.set_rate(Time::ZERO, Rate::from_gbps(40));
    assert_eq!((point.rate(Time::ZERO).bps(), point.window()), (40 * GBPS, 50_000));
    // Three windows are queued, but both ACKs are for the first 250 B, sent before `set_rate`.
    assert_rate(ack(&mut point, 150, 250, &[stamp(20, 125_000, 375_000)]), 40 * GBPS);
    assert_rate(ack(&mut point, 250, 300, &[stamp(30, 250_000, 375_000)]), 40 * GBPS);
    // The link is half busy and its queue is empty: U = 0.5, so the step is additive.
    assert_rate(ack(&mut point, 251, 310, &[stamp(40, 312_500, 0)]), 40_040_000_000);
    assert_eq!((point.stage, point.committed_at), (1, 310));
    // The link is busy and half a window is queued: U = 1.5. The rate is 40.04 G / (1.5 / 0.95) +
    // 40 M.
    ack(&mut point, 300, 320, &[stamp(45, 375_000, 62_500)]);
    assert_rate(ack(&mut point, 311, 330, &[stamp(55, 500_000, 62_500)]), 25_398_666_666);
    for (set, held) in [(1, 100_000_000), (200 * GBPS, 100 * GBPS)] {
        point.set_rate(Time::ZERO, Rate::from_bps(set));
        assert_eq!(point.rate(Time::ZERO).bps(), held);
    }
}

/// A round trip ends with an acknowledgement of data sent after the last commit.
#[test]
fn the_last_byte_of_a_round_trip_does_not_commit() {
    let mut point = reaction_point(HpccConfig::default());
    ack(&mut point, 1000, 125_000, &[stamp(0, 0, 0)]);
    // The link is half busy, so the step is additive.
    ack(&mut point, 125_000, 200_000, &[stamp(10, 62_500, 0)]);
    assert_eq!((point.stage, point.committed_at), (0, 125_000));
    ack(&mut point, 125_001, 250_000, &[stamp(20, 125_000, 0)]);
    assert_eq!((point.stage, point.committed_at), (1, 250_000));
}

/// A queue that has just filled or drained does not count: of the queue lengths in two successive
/// stamps, the shorter counts.
#[test]
fn the_shorter_queue_of_two_stamps_counts() {
    let mut point = reaction_point(HpccConfig::default());
    ack(&mut point, 1, 1_000_000, &[stamp(0, 0, 0)]);
    for (us, queue_bytes, utilisation) in [(10, 62_500, 1.0), (20, 125_000, 1.5), (30, 0, 1.0)] {
        ack(&mut point, 2, 1_000_000, &[stamp(us, us * 12_500, queue_bytes)]);
        assert!((point.utilisation - utilisation).abs() < 1e-12, "{} at {us} us", point.utilisation);
    }
}

/// The port has 25 Gb/s, a quarter of the host's rate. It can send 31,250 B in 10 us, and 15,625 B
/// in its queue take half a round trip.
#[test]
fn utilisation_is_relative_to_the_rate_of_the_port() {
    let mut point = reaction_point(HpccConfig::default());
    let stamp = |us, tx_bytes| Stamp { rate: Rate::from_gbps(25), ..stamp(us, tx_bytes, 15_625) };
    ack(&mut point, 1, 1_000_000, &[stamp(0, 0)]);
    ack(&mut point, 2, 1_000_000, &[stamp(10, 31_250)]);
    assert!((point.utilisation - 1.5).abs() < 1e-12, "{}", point.utilisation);
}

/// The busiest hop counts, with the interval between its own stamps.
#[test]
fn the_busiest_hop_counts() {
    let mut point = reaction_point(HpccConfig::default());
    ack(&mut point, 1, 1_000_000, &[stamp(0, 0, 0), stamp(1, 0, 0)]);
    // For 5 us, hop 1 sends at 20 % and hop 2 at 80 % of line rate. U starts at 1, so U = 0.5 x 1 +
    // 0.5 x 0.8.
    ack(&mut point, 2, 1_000_000, &[stamp(5, 12_500, 0), stamp(6, 50_000, 0)]);
    assert!((point.utilisation - 0.9).abs() < 1e-12, "{}", point.utilisation);
    // An interval longer than T counts as T: U = 0.4.
    ack(&mut point, 3, 1_000_000, &[stamp(25, 12_500, 0), stamp(26, 150_000, 0)]);
    assert!((point.utilisation - 0.4).abs() < 1e-12, "{}", point.utilisation);
}

#[test]
fn rates_stay_between_lowest_and_line_rate() {
    let mut point = reaction_point(HpccConfig { max_stage: 0, ..Default::default() });
    ack(&mut point, 1, 1, &[stamp(0, 0, 0)]);
    for us in 1..100 {
        ack(&mut point, us * 10 + 1, us * 10 + 1, &[stamp(us * 10, us * 125_000, 10_000_000)]);
    }
    assert_eq!(point.current.bps(), 100_000_000);
    for us in 100..200 {
        ack(&mut point, us * 10 + 1, us * 10 + 1, &[stamp(us * 10, 99 * 125_000 + us, 0)]);
    }
    assert_eq!((point.current.bps(), point.window()), (100 * GBPS, 125_000));
}

/// Two messages with a gap of one second between them. The first message ends at 50 Gb/s with U =
/// 1.9. During the gap, the port sends 1 % of what it could send.
///
/// The first ACK after the gap only provides stamps: compared with the stamps from before the gap,
/// u = 0.01 would count fully, and the rate would grow to line rate.
#[test]
fn stamps_from_before_a_gap_are_not_compared() {
    let mut point = reaction_point(HpccConfig { max_stage: 0, ..Default::default() });
    ack(&mut point, 1000, 125_000, &[stamp(0, 0, 112_500)]);
    // The port sends at line rate, and 112,500 of 125,000 B are in its queue: u = 1 + 0.9. The rate
    // is 100 G / (1.9 / 0.95) + 40 M.
    assert_rate(ack(&mut point, 125_001, 125_001, &[stamp(10, 125_000, 112_500)]), 50_040_000_000);
    let second = 1_000_000;
    // The whole message is acknowledged.
    point.on_idle(Time::ZERO + Duration::from_us(10));
    point.on_resume(Time::ZERO + Duration::from_us(second), Time::ZERO + Duration::from_us(10));
    let sent = 125_000 + second * 125;
    let (signal, rate) = signal_and_rate(&mut point, 126_001, 200_000, &[stamp(second + 10, sent, 0)]);
    assert_rate(rate, 50_040_000_000);
    assert_eq!(signal, None);
    assert!((point.utilisation - 1.9).abs() < 1e-12);
    assert_eq!(point.committed_at, 125_001);
    // In the next 5 us, the port sends at 90 % of line rate: U = 0.5 x 1.9 + 0.5 x 0.9 = 1.4. The
    // round trip is over, so the rate is committed: 50.04 G / (1.4 / 0.95) + 40 M.
    assert_rate(ack(&mut point, 150_000, 210_000, &[stamp(second + 15, sent + 56_250, 0)]), 33_995_714_285);
    assert_rate(point.reference.bps(), 33_995_714_285);
    assert_eq!(point.committed_at, 210_000);
    // In a second gap, the port is busy. This is no signal either.
    let (now, sent) = (2 * second + 15, sent + 56_250 + second * 12_500);
    point.on_resume(Time::ZERO + Duration::from_us(now), Time::ZERO + Duration::from_us(second + 15));
    let (signal, rate) = signal_and_rate(&mut point, 211_000, 220_000, &[stamp(now, sent, 0)]);
    assert_rate(rate, 33_995_714_285);
    assert_eq!(signal, None);
}

/// A gap of one base round-trip time keeps the stamps: U is the average of the last two round
/// trips.
#[test]
fn stamps_from_before_a_short_gap_are_compared() {
    let mut point = reaction_point(HpccConfig { max_stage: 0, ..Default::default() });
    ack(&mut point, 1000, 1000, &[stamp(0, 0, 0)]);
    point.on_idle(Time::ZERO);
    point.on_resume(Time::ZERO + Duration::from_us(10), Time::ZERO);
    // The port sends 237,500 B in 20 us: u = 0.95.
    assert_rate(ack(&mut point, 2000, 2000, &[stamp(20, 237_500, 0)]), 100 * GBPS);
    assert!((point.utilisation - 0.95).abs() < 1e-12);
}
