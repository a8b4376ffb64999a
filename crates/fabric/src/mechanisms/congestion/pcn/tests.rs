use super::*;
use crate::testing::sender;

const GBPS: u64 = 1_000_000_000;

fn at(us: u64, ns: u64) -> Time {
    Time::ZERO + Duration::from_us(us) + Duration::from_ns(ns)
}

fn reaction_point(config: &PcnConfig) -> Pcn {
    Pcn::new(config, &sender(Rate::from_gbps(100), Duration::from_us(8)))
}

/// 1 KB per Gb/s; where it is written, the same for all, or in proportion to what is written.
#[test]
fn the_threshold_grows_with_the_rate_of_the_port() {
    let thresholds =
        |config: &PcnConfig| [25, 40, 100, 400].map(|gbps| config.threshold(Rate::from_gbps(gbps)).get() / 1000);
    assert_eq!(thresholds(&PcnConfig::default()), [25, 40, 100, 400]);
    let fixed = PcnConfig { threshold: Some(Bytes(60_000)), ..Default::default() };
    assert_eq!(thresholds(&fixed), [60, 60, 60, 60]);
    let scaled = PcnConfig { threshold_rate: Some(Rate::from_gbps(100)), ..fixed };
    assert_eq!(thresholds(&scaled), [15, 24, 60, 240]);
}

/// 50 packets of 1250 B in 50 us are 10 Gb/s: what came at the very beginning counts for no period.
#[test]
fn a_receiver_tells_at_what_rate_packets_have_come() {
    let mut receiver = PcnConfig::default().notification(Rate::from_gbps(100));
    let told = |rate: u64| Notification { cnp: true, rate: Some(Rate::from_bps(rate)), ..Default::default() };
    assert_eq!(receiver.on_data(at(7, 0), true, 9000), Notification::default());
    for us in 8..57 {
        assert_eq!(receiver.on_data(at(us, 0), true, 1250), Notification::default());
    }
    assert_eq!(receiver.on_data(at(57, 0), true, 1250), told(10 * GBPS));
    // The next begins with that packet. 20,000 B, the last of them 51 us later: a little less than 3.2 Gb/s.
    assert_eq!(receiver.on_data(at(106, 999), true, 10_000), Notification::default());
    assert_eq!(receiver.on_data(at(108, 0), true, 10_000), told(3_137_254_901));
    // One packet in 80 us is one of 100 Mb/s.
    assert_eq!(receiver.on_data(at(188, 0), true, 1000), told(GBPS / 10));
    assert_eq!(receiver.on_data(at(268, 0), false, 1000), Notification::default());
    assert_eq!(receiver.on_data(at(348, 0), true, 1000), told(GBPS / 10));
}

/// 19 of 20 are 95 %, and 18 are less.
#[test]
fn a_receiver_is_silent_unless_nearly_all_packets_are_marked() {
    let mut receiver = PcnConfig::default().notification(Rate::from_gbps(100));
    receiver.on_data(at(0, 0), true, 1000);
    for (period, unmarked, is_told) in [(0, 1, true), (1, 2, false), (2, 0, true), (3, 20, false)] {
        for packet in 1..=20 {
            let now = at(period * 50, packet * 2500);
            let is_last = packet == 20;
            let notification = receiver.on_data(now, packet > unmarked, 1000);
            assert_eq!(notification.cnp, is_last && is_told, "packet {packet} of period {period}");
            assert!(!notification.echo);
        }
    }
}

/// From 127/128 of 50 Gb/s on, every 50 us: 1/128 of what is missing at first, then 191/16384, at last half of it.
#[test]
fn a_cnp_leaves_the_rate_of_arrival_and_it_grows_from_there() {
    let mut point = reaction_point(&PcnConfig::default());
    assert_eq!(point.rate(at(1_000_000, 0)).bps(), 100 * GBPS);
    point.on_cnp(at(1_000_010, 0), Some(Rate::from_gbps(50)));
    let mut rate = |us: u64, ns| point.rate(at(1_000_000 + us, ns)).bps();
    assert_eq!((rate(10, 0), rate(59, 999)), (49_609_375_000, 49_609_375_000));
    assert_eq!((rate(60, 0), rate(109, 999)), (50_003_051_758, 50_003_051_758));
    assert_eq!((rate(110, 0), rate(160, 0)), (50_585_901_924, 51_443_269_631));
    // Twenty times, and 46 and 47.
    assert_eq!(rate(10 + 20 * 50, 0), 99_929_007_412);
    assert_eq!((rate(10 + 46 * 50, 0), rate(10 + 47 * 50, 0)), (100 * GBPS - 1, 100 * GBPS));
    assert_eq!(point.next_increase, Time::NEVER);
}

/// 63/64 of 50 Gb/s, and 1/64 of what is missing; a weight that is written goes before that of the profile.
#[test]
fn a_profile_says_how_carefully_rates_grow() {
    let of = |config: &PcnConfig| {
        let mut point = reaction_point(config);
        point.on_cnp(at(0, 0), Some(Rate::from_gbps(50)));
        [0, 50].map(|us| point.rate(at(us, 0)).bps())
    };
    let public = PcnConfig { profile: PcnProfile::PublicNs3, ..Default::default() };
    assert_eq!(of(&public), [49_218_750_000, 50_012_207_032]);
    assert_eq!(of(&PcnConfig { w_min: Some(1.0 / 128.0), ..public }), of(&PcnConfig::default()));
}

/// A rate that is below that of arrival stays, and its growth begins anew.
#[test]
fn a_cnp_raises_no_rate() {
    let mut point = reaction_point(&PcnConfig::default());
    point.on_cnp(at(0, 0), Some(Rate::from_gbps(50)));
    assert_eq!(point.rate(at(100, 0)).bps(), 50_585_901_924);
    point.on_cnp(at(110, 0), Some(Rate::from_gbps(80)));
    assert_eq!(point.rate(at(159, 999)).bps(), 50_585_901_924);
    // 1/128 of 49,414,098,076.
    assert_eq!(point.rate(at(160, 0)).bps(), 50_971_949_566);
    // Whoever tells no rate tells that it is too high.
    point.on_cnp(at(161, 0), None);
    assert_eq!(point.rate(at(161, 0)).bps(), 50_573_731_210);
    point.on_cnp(at(162, 0), Some(Rate::from_bps(1)));
    assert_eq!(point.rate(at(162, 0)).bps(), 100_000_000);
}

/// What was due 50 and 100 us behind the first CNP comes before the second, though nothing has been sent since: from 49.6 to 50.6 Gb/s.
#[test]
fn a_cnp_finds_the_rate_that_has_grown_by_then() {
    let mut point = reaction_point(&PcnConfig::default());
    point.on_cnp(at(0, 0), Some(Rate::from_gbps(50)));
    point.on_cnp(at(110, 0), Some(Rate::from_gbps(80)));
    assert_eq!(point.rate(at(110, 0)).bps(), 50_585_901_924);
    // The next is due 50 us behind the second.
    assert_eq!((point.rate(at(159, 999)).bps(), point.rate(at(160, 0)).bps()), (50_585_901_924, 50_971_949_566));
}

#[test]
fn the_lowest_rate_is_no_higher_than_the_links() {
    let line_rate = Rate::from_bps(50_000_000);
    let mut point = Pcn::new(&PcnConfig::default(), &sender(line_rate, Duration::from_us(8)));
    point.on_cnp(at(0, 0), Some(Rate::from_bps(1)));
    assert_eq!(point.rate(at(0, 0)), line_rate);
}

/// As behind a CNP, from the very rate that is set: 1/128 of what is missing 50 us later.
#[test]
fn a_rate_that_is_set_grows_as_behind_a_cnp() {
    let mut point = reaction_point(&PcnConfig::default());
    point.on_cnp(at(0, 0), Some(Rate::from_gbps(50)));
    point.rate(at(500, 0));
    point.set_rate(at(520, 0), Rate::from_gbps(36));
    assert_eq!(point.rate(at(569, 999)).bps(), 36 * GBPS);
    assert_eq!(point.rate(at(570, 0)).bps(), 36_500_000_000);
    for (set, held) in [(1, 100_000_000), (200 * GBPS, 100 * GBPS)] {
        point.set_rate(at(600, 0), Rate::from_bps(set));
        assert_eq!(point.rate(at(600, 0)).bps(), held);
    }
}
