use super::*;
use crate::frame::Protocol;
use crate::frame::record::{Stamp, Telemetry};
use crate::ids::{FlowId, NodeId};
use crate::mechanisms::congestion::dcqcn::{DcqcnConfig, DcqcnProfile};
use crate::mechanisms::congestion::none::NoneConfig;
use crate::mechanisms::congestion::srcc::notice::words_of;
use crate::testing::{ack_view, at_us as at, sender};

const GBPS: u64 = 1_000_000_000;

/// Returns a reaction point with a base round-trip time of 8 us, so that T is 24 us.
fn reaction_point(config: &SrccConfig) -> Srcc {
    Srcc::new(config, &sender(Rate::from_gbps(100), Duration::from_us(8)))
}

fn alone() -> SrccConfig {
    SrccConfig { base: Base::None(NoneConfig::default()), ..Default::default() }
}

fn hear(point: &mut Srcc, us: u64, from: u32, gbps: u64) -> u64 {
    let words = words_of(Rate::from_gbps(gbps));
    let notice = Notice { protocol: SRCC, from: PortId(from), flow: FlowId(0), to: NodeId(0), words };
    point.on_notice(at(us), &notice);
    point.rate(at(us)).bps()
}

/// The base reads ACKs: its signals are reported.
#[test]
fn signals_in_acks_are_those_of_the_base() {
    for (base, signal) in
        [(Base::None(NoneConfig::default()), None), (Base::Swift(Default::default()), Some(CongestionSignal::Delay))]
    {
        let point = reaction_point(&SrccConfig { base, ..Default::default() });
        let ack = AckView { hops: 4, ..ack_view(at(0), [1, 1], Duration::from_ms(1)) };
        assert_eq!(point.signal(&ack), signal);
    }
}

/// Every base continues from the rate of a notice, also at the first ACK after the notice.
#[test]
fn a_notice_sets_the_rate_with_every_base() {
    for base in [
        Base::None(NoneConfig::default()),
        Base::Dcqcn(Default::default()),
        Base::Hpcc(Default::default()),
        Base::Swift(Default::default()),
    ] {
        let is_windowed = matches!(base, Base::Swift(_));
        let mut point = reaction_point(&SrccConfig { base, ..Default::default() });
        assert_eq!(point.rate(at(0)).bps(), 100 * GBPS);
        hear(&mut point, 1, 0, 25);
        // Swift has a window: 25 Gb/s for 8 us are 25 packets of 1000 B on the wire.
        let rate =
            |point: &mut Srcc, us| if is_windowed { point.window() / 952 * GBPS } else { point.rate(at(us)).bps() };
        assert_eq!(rate(&mut point, 1), 25 * GBPS);
        for queue_bytes in [0, 1_000_000] {
            let mut telemetry = Telemetry::default();
            telemetry.push(Stamp { time: at(2), tx_bytes: 100_000, queue_bytes, rate: Rate::from_gbps(100) });
            let ack = ack_view(at(2), [1000, 2000], Duration::from_us(8));
            point.on_ack(&AckView { hops: 4, telemetry: Some(&telemetry), ..ack });
            assert_eq!(rate(&mut point, 2), 25 * GBPS);
        }
    }
}

/// DCQCN's timer ticks 300 us later. With the adjustment `cut`, the rate then recovers half of the
/// way to its previous value. With the other adjustments, the rate does not change.
#[test]
fn rate_cut_by_a_notice_recovers_as_after_a_cnp() {
    let after = |adjustment| {
        let mut point = reaction_point(&SrccConfig { adjustment, ..Default::default() });
        assert_eq!(hear(&mut point, 1, 0, 20), 20 * GBPS);
        assert_eq!(hear(&mut point, 2, 0, 50), if adjustment == Adjustment::Set { 50 } else { 20 } * GBPS);
        point.rate(at(305)).bps()
    };
    assert_eq!([Adjustment::Cut, Adjustment::Lower, Adjustment::Set].map(after), [60, 20, 50].map(|gbps| gbps * GBPS));
}

/// `lower_rate` and `cut_rate` never raise a rate. DCQCN's timer ticks 300 us later.
#[test]
fn another_control_lowers_or_cuts_the_rate() {
    let mut lowered = reaction_point(&SrccConfig::default());
    lowered.lower_rate(at(1), Rate::from_gbps(20));
    lowered.lower_rate(at(2), Rate::from_gbps(50));
    let mut cut = reaction_point(&SrccConfig::default());
    cut.cut_rate(at(1), Rate::from_gbps(20));
    cut.cut_rate(at(2), Rate::from_gbps(50));
    let rates = [&mut lowered, &mut cut].map(|point| [2, 305].map(|us| point.rate(at(us)).bps() / GBPS));
    assert_eq!(rates, [[20, 20], [20, 60]]);
    // The rate of a base without such recovery is only lowered.
    let mut alone = reaction_point(&alone());
    alone.cut_rate(at(1), Rate::from_gbps(20));
    alone.cut_rate(at(2), Rate::from_gbps(50));
    assert_eq!(alone.rate(at(2)).bps(), 20 * GBPS);
}

#[test]
fn of_several_switches_the_lowest_rate_holds_for_a_round_trip() {
    let mut point = reaction_point(&SrccConfig { adjustment: Adjustment::Set, ..alone() });
    assert_eq!(hear(&mut point, 0, 1, 40), 40 * GBPS);
    // Other switches name a higher rate, then a lower one, then the higher one again.
    assert_eq!(hear(&mut point, 1, 2, 60), 40 * GBPS);
    assert_eq!(hear(&mut point, 2, 3, 20), 20 * GBPS);
    assert_eq!(hear(&mut point, 9, 2, 60), 20 * GBPS);
    // The notice of 20 Gb/s is 8 us old and no longer counts.
    assert_eq!(hear(&mut point, 10, 2, 60), 60 * GBPS);
    // The same switch names another rate.
    assert_eq!(hear(&mut point, 11, 2, 80), 80 * GBPS);
    // The switch whose rate was in force names a higher rate. The lowest later rate of another
    // switch is then in force.
    let told = [(100, 1, 20), (101, 2, 40), (102, 1, 80), (109, 1, 90)]
        .map(|(us, from, gbps)| hear(&mut point, us, from, gbps) / GBPS);
    assert_eq!(told, [20, 20, 40, 90]);
    // If many switches send notices, only the last ones count.
    let told: Vec<u64> = (0..12).map(|port| hear(&mut point, 200, port, 10 + u64::from(port)) / GBPS).collect();
    assert_eq!(told, [10, 10, 10, 10, 10, 10, 10, 10, 11, 12, 13, 14]);
    point.notices.clear();
    // The rate never exceeds the line rate.
    assert_eq!(hear(&mut point, 12, 2, 400), 100 * GBPS);
}

/// By default, a notice raises no rate. Without recovery by the base, the rate grows later, by an
/// eighth of the last named rate.
#[test]
fn a_notice_raises_no_rate() {
    for base in [Base::None(NoneConfig::default()), Base::Dcqcn(Default::default()), Base::Hpcc(Default::default())] {
        let mut point = reaction_point(&SrccConfig { base, ..Default::default() });
        assert_eq!([(0, 25), (10, 50), (20, 20)].map(|(us, gbps)| hear(&mut point, us, 0, gbps) / GBPS), [25, 25, 20]);
    }
    let mut point = reaction_point(&SrccConfig { base: Base::Swift(Default::default()), ..Default::default() });
    let windows = [(0, 25), (10, 50), (20, 20)].map(|(us, gbps)| {
        hear(&mut point, us, 0, gbps);
        point.window() / 952
    });
    assert_eq!(windows, [25, 25, 20]);
    let mut point = reaction_point(&alone());
    hear(&mut point, 0, 0, 24);
    hear(&mut point, 10, 0, 80);
    assert_eq!([33, 34].map(|us| point.rate(at(us)).bps() / GBPS), [24, 34]);
}

#[test]
fn notices_of_other_protocols_are_ignored() {
    let mut point = reaction_point(&alone());
    let notice = Notice {
        protocol: Protocol::named("another"),
        from: PortId(0),
        flow: FlowId(0),
        to: NodeId(0),
        words: words_of(Rate::from_gbps(1)),
    };
    point.on_notice(at(0), &notice);
    assert_eq!(point.rate(at(1)).bps(), 100 * GBPS);
}

/// The rate grows up to line rate: by an eighth of the named rate for every 24 us without a notice,
/// or by the set amount.
#[test]
fn without_a_base_the_rate_grows_between_notices() {
    let mut point = reaction_point(&alone());
    hear(&mut point, 100, 0, 40);
    let mut rate = |us| point.rate(at(us)).bps() / GBPS;
    assert_eq!([rate(123), rate(124), rate(147), rate(148), rate(220)], [40, 45, 45, 50, 65]);
    assert_eq!([rate(100 + 11 * 24), rate(100 + 12 * 24), rate(10_000)], [95, 100, 100]);
    // A notice restarts the growth.
    hear(&mut point, 20_000, 0, 8);
    assert_eq!([20_023, 20_024].map(|us| point.rate(at(us)).bps() / GBPS), [8, 9]);
    hear(&mut point, 20_030, 0, 8);
    assert_eq!([20_053, 20_054].map(|us| point.rate(at(us)).bps() / GBPS), [8, 9]);
    let steps =
        SrccConfig { additive_increase: Some(Rate::from_gbps(30)), window: Some(Duration::from_us(10)), ..alone() };
    let mut point = reaction_point(&steps);
    hear(&mut point, 0, 0, 40);
    assert_eq!([9, 10, 20].map(|us| point.rate(at(us)).bps() / GBPS), [40, 70, 100]);
}

/// Growth also starts from a rate set by another control.
#[test]
fn set_rate_grows_like_a_notices_rate() {
    let mut point = reaction_point(&alone());
    point.set_rate(at(0), Rate::from_gbps(16));
    assert_eq!([23, 24].map(|us| point.rate(at(us)).bps() / GBPS), [16, 18]);
}

/// The base learns of gaps: DCQCN sets no timer while the connection is idle, and HPCC compares no
/// stamps across a gap.
#[test]
fn the_base_learns_of_gaps() {
    let firmware = DcqcnConfig { profile: DcqcnProfile::Firmware, ..Default::default() };
    let mut point = reaction_point(&SrccConfig { base: Base::Dcqcn(firmware), ..Default::default() });
    hear(&mut point, 1, 0, 25);
    assert_ne!(point.wake_at(), Time::NEVER);
    point.on_idle(at(10));
    assert_eq!(point.wake_at(), Time::NEVER);
    point.on_resume(at(20), at(10));
    assert_ne!(point.wake_at(), Time::NEVER);
    let mut point = reaction_point(&SrccConfig { base: Base::Hpcc(Default::default()), ..Default::default() });
    let ack = |us, tx_bytes| {
        let mut telemetry = Telemetry::default();
        telemetry.push(Stamp { time: at(us), tx_bytes, queue_bytes: 0, rate: Rate::from_gbps(100) });
        (us, telemetry)
    };
    for (us, telemetry) in [ack(0, 0), ack(1_000_000, 12_500_000_000)] {
        let ack = ack_view(at(us), [us + 1000, us + 1000], Duration::from_us(8));
        point.on_ack(&AckView { telemetry: Some(&telemetry), ..ack });
        point.on_idle(at(us));
        point.on_resume(at(us + 1000), at(us));
    }
    // The link was busy during the gap, which would lower the rate.
    assert_eq!(point.rate(at(1_000_001)).bps(), 100 * GBPS);
}

/// A gap of 1000 s is about 42 million increases, which end at line rate.
#[test]
fn probing_catches_up_over_a_long_gap() {
    let mut point = reaction_point(&alone());
    hear(&mut point, 1, 0, 10);
    point.on_idle(at(2));
    point.on_resume(at(1_000_000_000), at(2));
    assert_eq!(point.rate(at(1_000_000_000)).bps(), 100 * GBPS);
}
