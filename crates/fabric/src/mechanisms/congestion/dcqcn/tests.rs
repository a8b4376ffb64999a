use super::*;
use crate::contract::FlowControlFacts;
use crate::ids::{Class, ClassMask};
use crate::testing::{ack_view, sender};

mod catch_up;

const MBPS: u64 = 1_000_000;
const GBPS: u64 = 1_000 * MBPS;

fn at(us: u64, ns: u64) -> Time {
    Time::ZERO + Duration::from_us(us) + Duration::from_ns(ns)
}

fn reaction_point(profile: DcqcnProfile, gbps: u64) -> Dcqcn {
    let sender = sender(Rate::from_gbps(gbps), Duration::from_us(8));
    Dcqcn::new(&DcqcnConfig { profile, ..Default::default() }, &sender)
}

fn rates(point: &mut Dcqcn, now: Time) -> (u64, u64) {
    (point.rate(now).bps(), point.target.bps())
}

/// After one CNP, alpha is 1 and decays in four ticks to (255/256)^4. The cut follows, one
/// nanosecond after the fourth tick.
#[test]
fn the_first_cnp_cuts_after_the_decrease_interval() {
    let mut point = reaction_point(DcqcnProfile::HpccNs3, 100);
    point.on_cnp(at(10, 0), Cnp::Congested(None));
    assert_eq!(rates(&mut point, at(14, 0)), (100 * GBPS, 100 * GBPS));
    assert_eq!(rates(&mut point, at(14, 1)), (50_776_684_272, 100 * GBPS));
    // Without a further CNP, the rate is not cut at 18.001 us.
    assert_eq!(rates(&mut point, at(309, 0)), (50_776_684_272, 100 * GBPS));
}

/// A CNP in every period of alpha keeps alpha at 1. Every four microseconds, a cut halves the rate,
/// down to the lowest rate.
#[test]
fn steady_cnps_halve_the_rate_every_decrease_interval() {
    for (profile, lowest) in [(DcqcnProfile::HpccNs3, 1000 * MBPS), (DcqcnProfile::Conweave, 100 * MBPS)] {
        let mut point = reaction_point(profile, 100);
        point.on_cnp(at(0, 0), Cnp::Congested(None));
        let mut expected = 100 * GBPS;
        for us in 0..44 {
            point.on_cnp(at(us, 500), Cnp::Congested(None));
            if us % 4 == 0 && us > 0 {
                expected = (expected / 2).max(lowest);
                assert_eq!(rates(&mut point, at(us, 500)), (expected, 100 * GBPS), "{us} us");
            }
        }
        assert_eq!(expected, lowest);
    }
}

/// The link is slower than the profile's lowest rate: a cut must not raise a flow above its link's
/// rate.
#[test]
fn the_lowest_rate_is_no_higher_than_the_links() {
    let line_rate = Rate::from_bps(500 * MBPS);
    let sender = sender(line_rate, Duration::from_us(8));
    let mut point = Dcqcn::new(&DcqcnConfig { window: true, ..Default::default() }, &sender);
    for us in 0..5 {
        point.on_cnp(at(us, 0), Cnp::Congested(None));
    }
    assert_eq!((point.rate(at(10, 0)), point.window()), (line_rate, 500));
}

#[test]
fn alpha_decays_once_per_tick_and_grows_with_a_cnp() {
    let mut point = reaction_point(DcqcnProfile::HpccNs3, 100);
    point.on_cnp(at(0, 0), Cnp::Congested(None));
    let mut alpha = 1.0;
    for tick in 1..=20u64 {
        // CNPs arrive only in the periods that end at ticks 6 and 7.
        if tick == 6 || tick == 7 {
            point.on_cnp(at(tick - 1, 300), Cnp::Congested(None));
        }
        // A CNP exactly at the tick would count for the period that ends at this tick, so query the
        // rate later.
        point.rate(at(tick, 1));
        alpha *= 255.0 / 256.0;
        if tick == 6 || tick == 7 {
            alpha += 1.0 / 256.0;
        }
        assert_eq!(point.limited.as_ref().map(|limited| limited.alpha), Some(alpha), "tick {tick}");
    }
}

/// With F = 1, one step of fast recovery and one of additive increase precede hyper increase. Each
/// step halves the distance to the target.
#[test]
fn the_timer_recovers_in_three_stages() {
    let mut point = reaction_point(DcqcnProfile::HpccNs3, 100);
    for ns in [0, 500, 1500, 2500, 3500] {
        point.on_cnp(at(0, ns), Cnp::Congested(None));
    }
    assert_eq!(rates(&mut point, at(4, 1)), (50 * GBPS, 100 * GBPS));
    // The increase timer starts with the cut at 4.001 us.
    assert_eq!(rates(&mut point, at(304, 0)), (50 * GBPS, 100 * GBPS));
    assert_eq!(rates(&mut point, at(304, 1)), (75 * GBPS, 100 * GBPS));
    // A cut after an increase also lowers the target. Alpha is near 0 by now, so set it to 1.
    point.limited.as_mut().unwrap().alpha = 1.0;
    point.limited.as_mut().unwrap().next_alpha = at(1_000_000, 0);
    point.on_cnp(at(305, 0), Cnp::Congested(None));
    assert_eq!(rates(&mut point, at(308, 1)), (37_500 * MBPS, 75 * GBPS));
    assert_eq!(rates(&mut point, at(608, 1)), (56_250 * MBPS, 75 * GBPS));
    // The target grows by 20 Mb/s (additive increase), then by 200 Mb/s (hyper increase).
    assert_eq!(rates(&mut point, at(908, 1)), (65_635 * MBPS, 75_020 * MBPS));
    assert_eq!(rates(&mut point, at(1208, 1)), (70_427_500_000, 75_220 * MBPS));
    assert_eq!(rates(&mut point, at(1508, 1)), (72_923_750_000, 75_420 * MBPS));
}

/// The paper's variant at 40 Gb/s: every CNP cuts at once. A timer of 55 us and a counter of 10 MB
/// drive recovery, with F = 5.
#[test]
fn paper_variant_recovers_by_timer_and_byte_counter() {
    let mut point = reaction_point(DcqcnProfile::Paper, 40);
    point.on_cnp(at(0, 0), Cnp::Congested(None));
    assert_eq!(rates(&mut point, at(0, 0)), (20 * GBPS, 40 * GBPS));
    point.on_cnp(at(50, 0), Cnp::Congested(None));
    assert_eq!(rates(&mut point, at(50, 0)), (10 * GBPS, 20 * GBPS));
    // The byte counter takes five steps of fast recovery, each after 10 MB and not a byte sooner.
    point.on_sent(at(51, 0), 9_999_999);
    assert_eq!(rates(&mut point, at(51, 0)), (10 * GBPS, 20 * GBPS));
    point.on_sent(at(51, 0), 1);
    assert_eq!(rates(&mut point, at(51, 0)), (15 * GBPS, 20 * GBPS));
    point.on_sent(at(51, 0), 40_000_000);
    assert_eq!(rates(&mut point, at(51, 0)), (19_687_500_000, 20 * GBPS));
    // The sixth step is additive: the target grows by 40 Mb/s. The six timer ticks from 105 us (50
    // + 55 us) on are also additive steps.
    point.on_sent(at(51, 0), 10_000_000);
    assert_eq!(rates(&mut point, at(51, 0)), (19_863_750_000, 20_040 * MBPS));
    assert_eq!(rates(&mut point, at(105, 0)), (19_971_875_000, 20_080 * MBPS));
    assert_eq!(rates(&mut point, at(380, 0)), (20_237_871_093, 20_280 * MBPS));
    // Both clocks have taken more than F steps, so the target grows by 200 Mb/s.
    assert_eq!(rates(&mut point, at(435, 0)), (20_358_935_546, 20_480 * MBPS));
    // A CNP restarts recovery.
    point.on_cnp(at(440, 0), Cnp::Congested(None));
    let limited = point.limited.as_ref().unwrap();
    assert_eq!((limited.timer_steps, limited.byte_steps, limited.bytes), (0, 0, 0));
    assert_eq!((limited.next_increase, limited.next_alpha), (at(495, 0), at(495, 0)));
}

/// In the paper's variant at 40 Gb/s, 55 us and 10 MB are counted from the last cut.
#[test]
fn a_cut_restarts_timer_and_byte_counter() {
    let mut point = reaction_point(DcqcnProfile::Paper, 40);
    point.on_cnp(at(0, 0), Cnp::Congested(None));
    point.on_sent(at(10, 0), 9_999_999);
    point.on_cnp(at(50, 0), Cnp::Congested(None));
    assert_eq!(rates(&mut point, at(50, 0)), (10 * GBPS, 20 * GBPS));
    // Neither the ten-millionth byte since the first cut nor the instant 55 us after the first cut
    // has an effect.
    point.on_sent(at(51, 0), 1);
    assert_eq!(rates(&mut point, at(104, 999)), (10 * GBPS, 20 * GBPS));
    assert_eq!(rates(&mut point, at(105, 0)), (15 * GBPS, 20 * GBPS));
    point.on_sent(at(106, 0), 9_999_999);
    assert_eq!(rates(&mut point, at(106, 0)), (17_500 * MBPS, 20 * GBPS));
}

/// The paper's variant at 40 Gb/s, before any CNP. The set rate is also the target, so five steps
/// of fast recovery change nothing; the sixth step raises the target by 40 Mb/s. Alpha is 1 at the
/// first CNP, which halves the rate.
#[test]
fn recovery_starts_from_a_set_rate() {
    let mut point = reaction_point(DcqcnProfile::Paper, 40);
    point.set_rate(at(10, 0), Rate::from_gbps(10));
    assert_eq!(rates(&mut point, at(10, 0)), (10 * GBPS, 10 * GBPS));
    assert_eq!(rates(&mut point, at(339, 999)), (10 * GBPS, 10 * GBPS));
    assert_eq!(rates(&mut point, at(340, 0)), (10_020 * MBPS, 10_040 * MBPS));
    point.on_cnp(at(341, 0), Cnp::Congested(None));
    assert_eq!(rates(&mut point, at(341, 0)), (5_010 * MBPS, 10_020 * MBPS));
}

/// The previous target and the steps towards it no longer count. The timer tick at 304.001 us moves
/// to 310 us.
#[test]
fn set_rate_also_sets_the_target() {
    let mut point = reaction_point(DcqcnProfile::HpccNs3, 100);
    for ns in [0, 500, 1500, 2500, 3500] {
        point.on_cnp(at(0, ns), Cnp::Congested(None));
    }
    assert_eq!(rates(&mut point, at(4, 1)), (50 * GBPS, 100 * GBPS));
    // A CNP that has not yet caused a cut does not count either.
    point.on_cnp(at(9, 0), Cnp::Congested(None));
    point.set_rate(at(10, 0), Rate::from_gbps(60));
    assert_eq!(rates(&mut point, at(609, 999)), (60 * GBPS, 60 * GBPS));
    assert_eq!(rates(&mut point, at(610, 0)), (60_010 * MBPS, 60_020 * MBPS));
    for (set, held) in [(1, 1000 * MBPS), (200 * GBPS, 100 * GBPS)] {
        point.set_rate(at(611, 0), Rate::from_bps(set));
        assert_eq!(rates(&mut point, at(611, 0)), (held, held));
    }
}

/// The paper's variant at 40 Gb/s, whose timer ticks every 55 us. After a cut, recovery aims at the
/// rate before the cut. With `clamp_target = false`, recovery keeps its target if no step was taken
/// since the previous cut.
#[test]
fn cut_rate_recovers_as_after_a_cnp() {
    for (clamp_target, after_a_second_cut) in [(false, 25 * GBPS), (true, 20 * GBPS)] {
        let config =
            DcqcnConfig { profile: DcqcnProfile::Paper, clamp_target: Some(clamp_target), ..Default::default() };
        let mut point = Dcqcn::new(&config, &sender(Rate::from_gbps(40), Duration::from_us(8)));
        point.cut_rate(at(10, 0), Rate::from_gbps(10));
        assert_eq!(rates(&mut point, at(64, 999)), (10 * GBPS, 40 * GBPS));
        assert_eq!(rates(&mut point, at(65, 0)), (25 * GBPS, 40 * GBPS));
        point.cut_rate(at(70, 0), Rate::from_gbps(20));
        assert_eq!(rates(&mut point, at(70, 0)), (20 * GBPS, 25 * GBPS));
        // The rate is already no higher than 20 Gb/s.
        point.cut_rate(at(71, 0), Rate::from_gbps(20));
        assert_eq!(rates(&mut point, at(71, 0)), (20 * GBPS, 25 * GBPS));
        point.cut_rate(at(72, 0), Rate::from_gbps(15));
        assert_eq!(rates(&mut point, at(72, 0)), (15 * GBPS, after_a_second_cut));
    }
}

/// Before a cut, all due steps of the timer and of the byte counter are taken, even if nothing
/// queried the rate. A cut below the lowest rate ends at the lowest rate, and the timer restarts.
#[test]
fn a_cut_includes_pending_clock_steps() {
    let config = DcqcnConfig { profile: DcqcnProfile::Paper, clamp_target: Some(false), ..Default::default() };
    let point = || Dcqcn::new(&config, &sender(Rate::from_gbps(40), Duration::from_us(8)));
    let mut by_bytes = point();
    by_bytes.cut_rate(at(10, 0), Rate::from_gbps(10));
    by_bytes.on_sent(at(20, 0), by_bytes.parameters.byte_counter.get());
    by_bytes.cut_rate(at(21, 0), Rate::from_gbps(20));
    assert_eq!(rates(&mut by_bytes, at(21, 0)), (20 * GBPS, 25 * GBPS));
    let mut unasked = point();
    unasked.cut_rate(at(10, 0), Rate::from_gbps(10));
    unasked.cut_rate(at(66, 0), Rate::from_gbps(20));
    assert_eq!(rates(&mut unasked, at(66, 0)), (20 * GBPS, 25 * GBPS));
    assert_eq!(rates(&mut unasked, at(120, 999)), (20 * GBPS, 25 * GBPS));
    assert_eq!(rates(&mut unasked, at(121, 0)), (22_500 * MBPS, 25 * GBPS));
    let mut lowest = point();
    lowest.cut_rate(at(10, 0), Rate::from_bps(1000));
    let min_rate = lowest.parameters.min_rate.bps();
    lowest.cut_rate(at(60, 0), Rate::from_bps(1000));
    assert_eq!(rates(&mut lowest, at(65, 0)), (min_rate, 40 * GBPS));
}

/// Lowering a rate to its present value changes neither the rate nor the timer.
#[test]
fn lower_rate_keeps_a_lower_rate() {
    let mut point = reaction_point(DcqcnProfile::HpccNs3, 100);
    point.lower_rate(at(10, 0), Rate::from_gbps(60));
    point.lower_rate(at(200, 0), Rate::from_gbps(60));
    assert_eq!(rates(&mut point, at(309, 999)), (60 * GBPS, 60 * GBPS));
    assert_ne!(rates(&mut point, at(610, 0)).0, 60 * GBPS);
}

/// At the first CNP after a set rate, alpha is 1 and its clock starts. Four microseconds later,
/// alpha is (255/256)^4.
#[test]
fn set_rate_does_not_count_as_a_cnp() {
    let mut point = reaction_point(DcqcnProfile::HpccNs3, 100);
    point.set_rate(at(0, 0), Rate::from_gbps(50));
    point.on_cnp(at(200, 0), Cnp::Congested(None));
    assert_eq!(rates(&mut point, at(204, 0)), (50 * GBPS, 50 * GBPS));
    assert_eq!(rates(&mut point, at(204, 1)), (25_388_342_136, 50 * GBPS));
}

/// A CNP at the tick of 3 us counts for the period that ends at this tick: alpha is ((255/256)^3 +
/// 1/256) 255/256 at the cut.
#[test]
fn cnp_at_an_alpha_tick_counts_for_the_ending_period() {
    let mut point = reaction_point(DcqcnProfile::HpccNs3, 100);
    point.on_cnp(at(0, 0), Cnp::Congested(None));
    point.on_cnp(at(3, 0), Cnp::Congested(None));
    assert_eq!(rates(&mut point, at(4, 1)), (50_582_134_712, 100 * GBPS));
}

/// Returns a point at 100 Gb/s that CNPs have cut to half of line rate, at 4.001 us.
fn halved() -> Dcqcn {
    let mut point = reaction_point(DcqcnProfile::HpccNs3, 100);
    for ns in [0, 500, 1500, 2500, 3500] {
        point.on_cnp(at(0, ns), Cnp::Congested(None));
    }
    assert_eq!(rates(&mut point, at(4, 1)), (50 * GBPS, 100 * GBPS));
    point
}

/// The clocks run on between two messages. From 304.001 us on, the timer halves the distance to the
/// target every 300 us: 75, 87.5 and 93.75 Gb/s. Additive increase cannot raise the target above
/// line rate.
#[test]
fn recovery_continues_between_messages() {
    let mut point = halved();
    point.on_idle(at(10, 0));
    point.on_resume(at(910, 0), at(10, 0));
    assert_eq!(rates(&mut point, at(910, 0)), (93_750 * MBPS, 100 * GBPS));
    // Alpha was 1 at its tick at 4 us, and 997 ticks until 1001 us have reduced it to 0.0202. The
    // last of these ticks adds 1/256 for a CNP in its period, and three ticks follow until the cut
    // at 1004.001 us: alpha = ((255/256)^997 + 1/256) (255/256)^3 = 0.02383. The rate is 93.75 G
    // (1 - alpha / 2).
    point.on_cnp(at(1000, 500), Cnp::Congested(None));
    assert_eq!(rates(&mut point, at(1004, 0)).0, 93_750 * MBPS);
    assert_eq!(rates(&mut point, at(1004, 1)), (92_633_289_324, 93_750 * MBPS));
}

/// After a second, alpha is 0, and the rate is 1 b/s below line rate. A CNP in the next message
/// sets alpha to 1/256, which decays in three ticks until the cut: the rate is 100 G (1 -
/// (1/256) (255/256)^3 / 2).
#[test]
fn a_long_gap_forgets_congestion() {
    let mut point = halved();
    let second = 1_000_000;
    point.on_idle(at(10, 0));
    point.on_resume(at(second, 0), at(10, 0));
    assert_eq!(rates(&mut point, at(second, 0)), (99_999_999_999, 100 * GBPS));
    point.on_cnp(at(second, 500), Cnp::Congested(None));
    assert_eq!(rates(&mut point, at(second + 4, 1)).0, 99_806_967_388);
}

/// A CNP for the last packets of a message may arrive after their ACKs. The cut halves 75 Gb/s: at
/// 305 us, alpha is set to 1.
#[test]
fn a_late_cnp_cuts_the_rate_of_an_idle_connection() {
    let mut point = halved();
    point.on_idle(at(304, 500));
    point.rate(at(305, 0));
    let limited = point.limited.as_mut().unwrap();
    (limited.alpha, limited.next_alpha) = (1.0, at(1_000_000, 0));
    point.on_cnp(at(305, 0), Cnp::Congested(None));
    point.on_resume(at(400, 0), at(304, 500));
    assert_eq!(rates(&mut point, at(400, 0)), (37_500 * MBPS, 75 * GBPS));
}

/// A smaller gain would make alpha's decay over a long gap too slow to compute.
#[test]
fn a_gain_is_zero_or_not_too_small() {
    let error = |gain| {
        let scheme = SchemeContext {
            mtu: Bytes(1000),
            ack_every: 1,
            ack_class: Class(0),
            lossless: ClassMask::ALL,
            flow_control: ("pfc", FlowControlFacts::default()),
            congestion: "dcqcn",
            load_balance: "ecmp",
            recovery: "go-back-n",
        };
        let mut diagnostics = Diagnostics::default();
        DcqcnConfig { gain: Some(gain), ..Default::default() }.check(&scheme, &mut diagnostics);
        diagnostics.into_result().map_err(|errors| errors[0].message.clone()).err()
    };
    assert_eq!([0.0, 1e-4, 1.0].map(error), [None, None, None]);
    let message = "must be 0 or at least 0.0001: smaller gains slow the simulation down";
    assert_eq!(error(0.99e-4).as_deref(), Some(message));
}

/// The first cut of `firmware` would leave 1 - (1019/1024)^4 / 2 of the rate, 51 %. A percentage
/// of 50 changes nothing, 75 leaves 75 %, and 100 the whole rate.
#[test]
fn a_cut_leaves_a_percentage_of_the_rate() {
    let cut = |percentage| {
        let config = DcqcnConfig { rpg_min_dec_fac: percentage, profile: DcqcnProfile::Firmware, ..Default::default() };
        let mut point = Dcqcn::new(&config, &sender(Rate::from_gbps(400), Duration::from_us(8)));
        point.on_cnp(at(10, 0), Cnp::Congested(None));
        point.rate(at(14, 1)).bps()
    };
    assert_eq!([None, Some(50), Some(0)].map(cut), [203_877_732_789; 3]);
    assert_eq!([Some(75), Some(100)].map(cut), [300 * GBPS, 400 * GBPS]);
}

/// The first CNP sets 40 Gb/s. The rate is cut 4 us later: by half of alpha, which has decayed
/// since. A second CNP sets no rate, and no CNP raises a rate.
#[test]
fn a_rate_is_set_on_the_first_cnp() {
    let first_rate = Some(Rate::from_gbps(40));
    let config = DcqcnConfig { rate_to_set_on_first_cnp: first_rate, ..Default::default() };
    let of = |config: &DcqcnConfig| Dcqcn::new(config, &sender(Rate::from_gbps(100), Duration::from_us(8)));
    let mut point = of(&config);
    point.on_cnp(at(10, 0), Cnp::Congested(None));
    assert_eq!(rates(&mut point, at(10, 0)), (40 * GBPS, 40 * GBPS));
    assert_eq!(rates(&mut point, at(14, 1)), (20_310_673_709, 40 * GBPS));
    let mut slow = of(&config);
    slow.set_rate(at(0, 0), Rate::from_gbps(30));
    slow.on_cnp(at(10, 0), Cnp::Congested(None));
    assert_eq!(rates(&mut slow, at(10, 0)), (30 * GBPS, 30 * GBPS));
    let mut later = reaction_point(DcqcnProfile::HpccNs3, 100);
    later.on_cnp(at(10, 0), Cnp::Congested(None));
    later.parameters.rate_to_set_on_first_cnp = Rate::from_gbps(1);
    later.on_cnp(at(20, 0), Cnp::Congested(None));
    assert_eq!(rates(&mut later, at(20, 0)).0, 50_776_684_272);
}

/// A repacing control sets timers: for the cut due after a CNP, and for increases up to line rate.
#[test]
fn repacing_sets_timers_for_rate_changes() {
    let mut point = reaction_point(DcqcnProfile::Firmware, 100);
    assert!(point.repaces() && point.wake_at() == Time::NEVER);
    point.on_cnp(at(10, 0), Cnp::Congested(None));
    assert_eq!(point.wake_at(), at(14, 1));
    point.on_wake(at(14, 1));
    assert_eq!((point.current.bps() / MBPS, point.wake_at()), (50_969, at(314, 1)));
    point.on_wake(at(314, 1));
    assert_eq!((point.current.bps() / MBPS, point.wake_at()), (75_484, at(614, 1)));
    let unpaced = reaction_point(DcqcnProfile::HpccNs3, 100);
    assert!(!unpaced.repaces() && unpaced.wake_at() == Time::NEVER);
}

#[test]
fn a_window_shrinks_with_the_rate() {
    let sender = sender(Rate::from_gbps(100), Duration::from_us(8));
    let mut point = Dcqcn::new(&DcqcnConfig { window: true, ..Default::default() }, &sender);
    assert_eq!(point.window(), 100_000);
    for ns in [0, 500, 1500, 2500, 3500] {
        point.on_cnp(at(0, ns), Cnp::Congested(None));
    }
    point.rate(at(4, 1));
    assert_eq!(point.window(), 50_000);
    assert_eq!(reaction_point(DcqcnProfile::HpccNs3, 100).window(), u64::MAX);
}

#[test]
fn a_notification_point_paces_cnp_frames_or_echoes_every_mark() {
    let parameters = DcqcnProfile::Paper.parameters(Rate::from_gbps(40));
    let mut frames = CnpSender::new(&parameters);
    let cnp = Notification { cnp: Some(Cnp::Congested(None)), ..Default::default() };
    assert_eq!(frames.on_data(at(0, 0), false, 1000), Notification::default());
    assert_eq!(frames.on_data(at(1, 0), true, 1000), cnp);
    assert_eq!(frames.on_data(at(50, 999), true, 1000), Notification::default());
    assert_eq!(frames.on_data(at(51, 0), false, 1000), Notification::default());
    assert_eq!(frames.on_data(at(52, 0), true, 1000), cnp);
    assert_eq!(frames.on_data(at(101, 999), true, 1000), Notification::default());
    assert_eq!(frames.on_data(at(102, 0), true, 1000), cnp);
    let mut echoes = CnpSender::new(&DcqcnProfile::HpccNs3.parameters(Rate::from_gbps(40)));
    assert_eq!(echoes.on_data(at(0, 0), true, 1000), Notification { echo: true, ..Default::default() });
    assert_eq!(echoes.on_data(at(0, 1), true, 1000), Notification { echo: true, ..Default::default() });
    assert_eq!(echoes.on_data(at(0, 2), false, 1000), Notification::default());
}

/// Compares every profile with its source, at 100 Gb/s. A row has the intervals of alpha, decrease
/// and increase in us; the byte counter in bytes; 1/g; F; the additive increase, the hyper increase
/// and the lowest rate in Mb/s; and whether the target rate is clamped.
#[test]
fn profiles_have_the_parameters_of_their_sources() {
    type Row = (u64, u64, u64, u64, f64, u32, u64, u64, u64, bool);
    let firmware = (1, 4, 300, 32_767, 204.8, 1, 5, 50, 1, false);
    let table: [(DcqcnProfile, Row); 10] = [
        (DcqcnProfile::Paper, (55, 0, 55, 10_000_000, 256.0, 5, 40, 200, 10, true)),
        (DcqcnProfile::AuthorsNs3, (55, 0, 60, 300_000, 256.0, 5, 40, 200, 100, true)),
        (DcqcnProfile::HpccNs3, (1, 4, 300, 0, 256.0, 1, 20, 200, 1000, false)),
        (DcqcnProfile::HpccNs3Paper, (50, 50, 55, 0, 256.0, 1, 20, 200, 1000, false)),
        (DcqcnProfile::ConfigTxt, (1, 4, 900, 0, 256.0, 1, 50, 100, 100, false)),
        (DcqcnProfile::Conweave, (1, 4, 300, 0, 256.0, 1, 40, 100, 100, false)),
        (DcqcnProfile::Firmware, firmware),
        (DcqcnProfile::At200G, firmware),
        (DcqcnProfile::At400G, firmware),
        (DcqcnProfile::At800G, firmware),
    ];
    for (profile, row) in table {
        let p = profile.parameters(Rate::from_gbps(100));
        let us = |span: Duration| span.ps() / 1_000_000;
        let mbps = |rate: Rate| rate.bps() / MBPS;
        let actual: Row = (
            us(p.alpha_interval),
            us(p.decrease_interval),
            us(p.increase_interval),
            p.byte_counter.get(),
            1.0 / p.gain,
            p.fast_recovery_steps,
            mbps(p.additive_increase),
            mbps(p.hyper_increase),
            mbps(p.min_rate),
            p.clamp_target,
        );
        assert_eq!(actual, row, "{profile:?}");
    }
    // Increases scale with the link: 5 and 50 Mb/s at 25 Gb/s, 80 and 800 Mb/s at 400 Gb/s. The
    // lowest rate is not scaled (HPCC's run script).
    for (gbps, additive, hyper) in [(25, 5, 50), (40, 8, 80), (400, 80, 800)] {
        let p = DcqcnProfile::HpccNs3.parameters(Rate::from_gbps(gbps));
        let rates = [p.additive_increase, p.hyper_increase, p.min_rate].map(|rate| rate.bps() / MBPS);
        assert_eq!(rates, [additive, hyper, 1000]);
    }
}

#[test]
fn single_parameters_override_the_profile() {
    let config = DcqcnConfig {
        profile: DcqcnProfile::Conweave,
        increase_interval: Some(Duration::from_us(7)),
        cnp: Some(CnpMode::Frame),
        ..Default::default()
    };
    let (line, profile) = (Rate::from_gbps(100), DcqcnProfile::Conweave.parameters(Rate::from_gbps(100)));
    let expected = DcqcnParameters { increase_interval: Duration::from_us(7), cnp: CnpMode::Frame, ..profile };
    assert_eq!(config.parameters(line), expected);
}

/// Profiles made for a link rate have thresholds of 4 KB and 16 KB per Gb/s of a port. Other
/// profiles have 100 KB and 400 KB at every port. Thresholds that are set hold for every port,
/// unless `rate` is set as well.
#[test]
fn ecn_thresholds_are_the_profiles_unless_they_are_set() {
    let kb = |profile, ecn: &EcnOptions, gbps| {
        let config = DcqcnConfig { profile, ecn: ecn.clone(), ..Default::default() };
        let (kmin, kmax) = config.thresholds().thresholds(Rate::from_gbps(gbps));
        (kmin.get() / 1000, kmax.get() / 1000)
    };
    let unset = EcnOptions::default();
    assert_eq!(kb(DcqcnProfile::Firmware, &unset, 400), (100, 400));
    assert_eq!(kb(DcqcnProfile::At200G, &unset, 200), (800, 3200));
    assert_eq!([100, 400, 800].map(|gbps| kb(DcqcnProfile::At400G, &unset, gbps).0), [400, 1600, 3200]);
    assert_eq!(kb(DcqcnProfile::At800G, &unset, 800), (3200, 12_800));
    let own = EcnOptions { kmin: Some(Bytes(50_000)), ..unset };
    assert_eq!([100, 400].map(|gbps| kb(DcqcnProfile::At400G, &own, gbps)), [(50, 6400); 2]);
    let scaled = EcnOptions { rate: Some(Rate::from_gbps(100)), ..own };
    assert_eq!(kb(DcqcnProfile::At400G, &scaled, 400), (200, 25_600));
}
