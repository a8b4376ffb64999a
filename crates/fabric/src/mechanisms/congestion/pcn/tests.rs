use super::*;
use crate::testing::sender;

const GBPS: u64 = 1_000_000_000;

fn at(us: u64, ns: u64) -> Time {
    Time::ZERO + Duration::from_us(us) + Duration::from_ns(ns)
}

fn reaction_point(config: &PcnConfig) -> Pcn {
    Pcn::new(config, &sender(Rate::from_gbps(100), Duration::from_us(8)))
}

/// The default is 1 KB per Gb/s. A `threshold` holds for all ports. If `threshold_rate` is also
/// set, the threshold scales with a port's rate.
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

/// Feeds packets of `bytes` to a receiver, which must not send a CNP for them.
fn feed(receiver: &mut PcnReceiver, arrivals: impl IntoIterator<Item = (Time, bool)>, bytes: u64) {
    for (now, marked) in arrivals {
        assert_eq!(receiver.on_data(now, marked, bytes), Notification::default(), "at {now}");
    }
}

/// 50 packets of 1250 B in 50 us are 10 Gb/s. The clock started with the first packet, at 7 us.
#[test]
fn a_receiver_reports_the_rate_of_arrival_at_the_end_of_a_period() {
    let mut receiver = PcnConfig::default().notification(Rate::from_gbps(100));
    assert_eq!(receiver.wake_at(), Time::NEVER);
    feed(&mut receiver, (7..57).map(|us| (at(us, 0), true)), 1250);
    assert_eq!((receiver.wake_at(), receiver.on_wake(at(56, 999))), (at(57, 0), None));
    let congested = Some(Cnp::Congested(Some(Rate::from_gbps(10))));
    assert_eq!((receiver.on_wake(at(57, 0)), receiver.wake_at()), (congested, Time::NEVER));
    // No packet arrives for a while: the next period with a packet is from 107 to 157 us.
    assert_eq!(receiver.on_wake(at(107, 0)), None);
    feed(&mut receiver, [(at(130, 0), false), (at(131, 0), false)], 1250);
    assert_eq!(receiver.wake_at(), at(157, 0));
    // A packet that arrives at the end of a period belongs to the next period, whether the packet
    // or the timer is handled first.
    let notification = receiver.on_data(at(157, 0), true, 1250);
    assert_eq!((notification.cnp, receiver.wake_at()), (Some(Cnp::NotCongested), at(207, 0)));
    assert_eq!(receiver.on_wake(at(157, 0)), None);
}

/// A single packet of 1000 B counts over T if it is the first of a flow, otherwise over the gap to
/// the previous packet. The gaps are 80 us and 1 us.
#[test]
fn a_single_packet_counts_over_the_gap_before_it() {
    let mut receiver = PcnConfig::default().notification(Rate::from_gbps(100));
    let mut rate_of = |arrivals: &[u64], end| {
        feed(&mut receiver, arrivals.iter().map(|us| (at(*us, 0), true)), 1000);
        match receiver.on_wake(at(end, 0)) {
            Some(Cnp::Congested(Some(rate))) => rate.bps(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(rate_of(&[10], 60), 160_000_000);
    assert_eq!(rate_of(&[90], 110), 100_000_000);
    assert_eq!(rate_of(&[120, 159], 160), 320_000_000);
    assert_eq!(rate_of(&[160], 210), 8 * GBPS);
}

/// 19 of 20 packets are exactly 95 %, so the flow is not congested. 39 of 40 packets are more than
/// 95 %.
#[test]
fn a_flow_is_congested_if_more_than_95_percent_of_its_packets_are_marked() {
    for (packets, unmarked, is_congested) in [(20, 1, false), (40, 1, true), (20, 0, true), (20, 20, false)] {
        let mut receiver = PcnConfig::default().notification(Rate::from_gbps(100));
        feed(&mut receiver, (0..packets).map(|packet| (at(packet, 0), packet >= unmarked)), 1000);
        let rate = Rate::from_bps(packets * 160_000_000);
        let cnp = if is_congested { Cnp::Congested(Some(rate)) } else { Cnp::NotCongested };
        assert_eq!(receiver.on_wake(at(50, 0)), Some(cnp), "{unmarked} of {packets} not marked");
    }
}

/// The rate falls to 127/128 of 50 Gb/s. Each CNP "not congested" then adds a part of the
/// difference to line rate: 1/128, then 191/16384, in the end a half.
#[test]
fn rate_falls_to_arrival_rate_and_grows_with_uncongested_cnps() {
    let mut point = reaction_point(&PcnConfig::default());
    assert_eq!(point.rate(at(0, 0)).bps(), 100 * GBPS);
    point.on_cnp(at(10, 0), Cnp::Congested(Some(Rate::from_gbps(50))));
    assert_eq!(point.rate(at(10, 0)).bps(), 49_609_375_000);
    let mut increases = |count| {
        (0..count).for_each(|_| point.on_cnp(at(60, 0), Cnp::NotCongested));
        point.rate(at(60, 0)).bps()
    };
    assert_eq!([1, 1, 1].map(&mut increases), [50_003_051_758, 50_585_901_924, 51_443_269_631]);
    assert_eq!([17, 26, 1].map(&mut increases), [99_929_007_412, 100 * GBPS - 1, 100 * GBPS]);
}

/// With `public-ns3`, the rate falls to 63/64 of 50 Gb/s, then grows by 1/64 of the difference to
/// line rate. A weight that is set overrides the profile.
#[test]
fn profiles_differ_in_the_smallest_weight() {
    let of = |config: &PcnConfig| {
        let mut point = reaction_point(config);
        let cnps = [Cnp::Congested(Some(Rate::from_gbps(50))), Cnp::NotCongested];
        cnps.map(|cnp| {
            point.on_cnp(at(0, 0), cnp);
            point.rate(at(0, 0)).bps()
        })
    };
    let public = PcnConfig { profile: PcnProfile::PublicNs3, ..Default::default() };
    assert_eq!(of(&public), [49_218_750_000, 50_012_207_032]);
    assert_eq!(of(&PcnConfig { w_min: Some(1.0 / 128.0), ..public }), of(&PcnConfig::default()));
}

/// A CNP "congested" with a rate above the present one does not change the rate, and growth starts
/// anew.
#[test]
fn a_cnp_for_congestion_raises_no_rate() {
    let mut point = reaction_point(&PcnConfig::default());
    let mut rate_after = |cnp| {
        point.on_cnp(at(0, 0), cnp);
        point.rate(at(0, 0)).bps()
    };
    let congested = |bps| Cnp::Congested(Some(Rate::from_bps(bps)));
    assert_eq!(rate_after(congested(50 * GBPS)), 49_609_375_000);
    assert_eq!(rate_after(Cnp::NotCongested), 50_003_051_758);
    assert_eq!(rate_after(congested(80 * GBPS)), 50_003_051_758);
    // The rate grows by 1/128 of the missing 49,996,948,242 b/s.
    assert_eq!(rate_after(Cnp::NotCongested), 50_393_652_917);
    // A CNP without a rate reduces the present rate by 1/128.
    assert_eq!(rate_after(Cnp::Congested(None)), 49_999_952_503);
    assert_eq!(rate_after(congested(1)), 100_000_000);
}

/// A flow sends 1 packet per microsecond through a congested port. Its rate falls to the rate of
/// arrival. A PAUSE then stops the packets for 200 us, in which no CNP is sent. Packets that waited
/// arrive unmarked, and the next CNP causes one increase. Rates are computed by hand.
#[test]
fn a_pause_does_not_lower_a_flows_rate() {
    let config = PcnConfig::default();
    let (mut receiver, mut sender) = (config.notification(Rate::from_gbps(100)), reaction_point(&config));
    let mut run = |arrivals: std::ops::Range<u64>, marked, timers: std::ops::RangeInclusive<u64>| {
        feed(&mut receiver, arrivals.map(|us| (at(us, 0), marked)), 1250);
        let mut cnps = 0;
        for us in timers {
            let cnp = receiver.on_wake(at(us, 0));
            cnps += usize::from(cnp.is_some());
            cnp.into_iter().for_each(|cnp| sender.on_cnp(at(us, 0), cnp));
        }
        (cnps, sender.rate(at(0, 0)).bps())
    };
    // The rate is 10 Gb/s, less 1/128.
    assert_eq!(run(0..50, true, 50..=50), (1, 9_921_875_000));
    assert_eq!(run(50..50, true, 51..=250), (0, 9_921_875_000));
    // The rate grows by 1/128 of the missing 90,078,125,000 b/s.
    assert_eq!(run(260..290, false, 300..=300), (1, 10_625_610_352));
}

#[test]
fn the_lowest_rate_is_no_higher_than_the_links() {
    let line_rate = Rate::from_bps(50_000_000);
    let mut point = Pcn::new(&PcnConfig::default(), &sender(line_rate, Duration::from_us(8)));
    point.on_cnp(at(0, 0), Cnp::Congested(Some(Rate::from_bps(1))));
    assert_eq!(point.rate(at(0, 0)), line_rate);
}

/// The next increase after `set_rate` has the smallest weight, as after a CNP "congested": 1/128 of
/// the difference between the set rate and the line rate.
#[test]
fn set_rate_grows_as_after_a_cnp() {
    let mut point = reaction_point(&PcnConfig::default());
    point.on_cnp(at(0, 0), Cnp::Congested(Some(Rate::from_gbps(50))));
    (0..10).for_each(|_| point.on_cnp(at(0, 0), Cnp::NotCongested));
    point.set_rate(at(520, 0), Rate::from_gbps(36));
    assert_eq!(point.rate(at(520, 0)).bps(), 36 * GBPS);
    point.on_cnp(at(570, 0), Cnp::NotCongested);
    assert_eq!(point.rate(at(570, 0)).bps(), 36_500_000_000);
    for (set, held) in [(1, 100_000_000), (200 * GBPS, 100 * GBPS)] {
        point.set_rate(at(600, 0), Rate::from_bps(set));
        assert_eq!(point.rate(at(600, 0)).bps(), held);
    }
}
