//! Comparison of the lazy clocks with a loop over all ticks, and bounds of their cost.

use super::*;
use proptest::prelude::*;

/// Profiles with different parameters.
const PROFILES: [DcqcnProfile; 7] = [
    DcqcnProfile::Paper,
    DcqcnProfile::AuthorsNs3,
    DcqcnProfile::HpccNs3,
    DcqcnProfile::HpccNs3Paper,
    DcqcnProfile::ConfigTxt,
    DcqcnProfile::Conweave,
    DcqcnProfile::Firmware,
];

const SECOND: u64 = 1_000_000_000_000;

/// Maximum number of ticks that a random case processes one by one.
const MOST_TICKS: u64 = 2_000_000;

fn at_ps(ps: u64) -> Time {
    Time::from_ps(ps)
}

/// Runs the clocks of `point` tick by tick, without any shortcut.
fn tick_by_tick(point: &mut Dcqcn, now: Time) {
    let parameters = point.parameters;
    while let Some(limited) = &mut point.limited {
        let next = limited.next_decrease.min(limited.next_increase);
        let until = next.min(now);
        while limited.next_alpha < until {
            limited.alpha *= 1.0 - parameters.gain;
            if limited.cnp_for_alpha {
                limited.alpha += parameters.gain;
                limited.cnp_for_alpha = false;
            }
            limited.next_alpha += parameters.alpha_interval;
        }
        if next > now {
            return;
        }
        if limited.next_decrease == next {
            limited.next_decrease += parameters.decrease_interval;
            if limited.cnp_for_decrease {
                limited.cnp_for_decrease = false;
                limited.decrease(&parameters, &mut point.current, &mut point.target, next);
            }
            continue;
        }
        limited.next_increase += parameters.increase_interval;
        let (timer, bytes) = (limited.timer_steps, limited.byte_steps);
        let has_counter = parameters.byte_counter.get() > 0;
        let (first, last) = if has_counter { (timer.max(bytes), timer.min(bytes)) } else { (timer, timer) };
        let gain = match parameters.fast_recovery_steps {
            steps if first < steps => 0,
            steps if last > steps => parameters.hyper_increase.bps(),
            _ => parameters.additive_increase.bps(),
        };
        limited.timer_steps = timer.saturating_add(1);
        point.target = Rate::from_bps(point.target.bps() + gain).min(point.line_rate);
        point.current = Rate::from_bps(point.current.bps() / 2 + point.target.bps() / 2);
    }
}

/// State of a reaction point, apart from alpha.
type State = (u64, u64, Option<(bool, bool, Time, Time, Time, u32, u32, u64)>);

fn state(point: &Dcqcn) -> State {
    let clocks = point.limited.as_ref().map(|it| {
        let next = (it.next_alpha, it.next_decrease, it.next_increase);
        let steps = (it.timer_steps, it.byte_steps, it.bytes);
        (it.cnp_for_alpha, it.cnp_for_decrease, next.0, next.1, next.2, steps.0, steps.1, steps.2)
    });
    (point.current.bps(), point.target.bps(), clocks)
}

fn alpha(point: &Dcqcn) -> f64 {
    point.limited.as_ref().map_or(0.0, |it| it.alpha)
}

fn ticks(point: &Dcqcn) -> u64 {
    point.limited.as_ref().map_or(0, |it| it.ticks)
}

/// Returns the largest number of ticks that a gap costs. Alpha is negligible after ln(2^54 / g) / g
/// ticks. Each phase of recovery takes less than 60 steps until its steps are regular, and recovery
/// may restart with a cut.
fn most_ticks(gain: f64) -> f64 {
    let of_alpha = if gain > 0.0 { (54.0 * std::f64::consts::LN_2 - gain.ln()) / gain } else { 0.0 };
    of_alpha + 500.0
}

/// Input of a reaction point.
#[derive(Clone, Copy, Debug)]
enum Input {
    Cnp,
    Ack,
    Sent(u64),
    Rate,
    Set(u64),
    Cut(u64),
}

impl Input {
    fn apply(self, point: &mut Dcqcn, now: Time) {
        match self {
            Input::Cnp => point.on_cnp(now, Cnp::Congested(None)),
            Input::Ack => point.on_ack(&ack_view(now, [1000, 2000], Duration::from_us(8))),
            Input::Sent(bytes) => point.on_sent(now, bytes),
            Input::Rate => assert_eq!(point.rate(now), point.current),
            Input::Set(mbps) => point.set_rate(now, Rate::from_bps(mbps * 1_000_000)),
            Input::Cut(mbps) => point.cut_rate(now, Rate::from_bps(mbps * 1_000_000)),
        }
    }
}

fn an_input() -> impl Strategy<Value = Input> {
    prop_oneof![
        3 => Just(Input::Cnp),
        2 => Just(Input::Ack),
        2 => (64u64..20_000_000).prop_map(Input::Sent),
        2 => Just(Input::Rate),
        1 => (1u64..100_000).prop_map(Input::Set),
        1 => (1u64..100_000).prop_map(Input::Cut),
    ]
}

/// Returns spans from `least` ps to 10 s, of any order of magnitude.
fn a_span(least: u64) -> impl Strategy<Value = u64> {
    (0u32..44, 0u64..1 << 43).prop_map(move |(bits, random)| (random >> bits).max(least))
}

/// Returns gaps between inputs. Many gaps are whole periods of the clocks.
fn a_gap() -> impl Strategy<Value = u64> {
    let whole = prop_oneof![Just(1_000_000u64), Just(4_001_000), Just(55_000_000), Just(300_000_000)];
    prop_oneof![1 => Just(0), 2 => whole, 4 => a_span(0)]
}

fn a_config() -> impl Strategy<Value = DcqcnConfig> {
    let interval = || proptest::option::weighted(0.3, a_span(100_000).prop_map(Duration::from_ps));
    let decrease = prop_oneof![3 => Just(None), 1 => Just(Some(Duration::ZERO)), 2 => interval()];
    let gain = prop_oneof![
        3 => Just(None),
        1 => prop_oneof![Just(Some(0.0)), Just(Some(1.0)), Just(Some(SMALLEST_GAIN))],
        2 => (SMALLEST_GAIN..1.0).prop_map(Some),
    ];
    let counter = proptest::option::weighted(0.3, prop_oneof![Just(0u64), 100u64..10_000_000].prop_map(Bytes));
    let steps = proptest::option::weighted(0.5, prop_oneof![3 => 0u32..7, 1 => 0u32..20_000, 1 => Just(u32::MAX)]);
    let increase = || {
        let bps = prop_oneof![Just(0u64), 1u64..1000, 1u64..1_000_000_000];
        proptest::option::weighted(0.5, bps.prop_map(Rate::from_bps))
    };
    let flags = (any::<Option<bool>>(), proptest::option::weighted(0.2, 0u8..=100), any::<Option<bool>>());
    let clocks = (interval(), decrease, interval());
    (0..PROFILES.len(), clocks, gain, counter, steps, (increase(), increase()), flags).prop_map(
        |(profile, clocks, gain, byte_counter, fast_recovery_steps, (additive, hyper), (clamp, keep, repace))| {
            DcqcnConfig {
                profile: PROFILES[profile],
                alpha_interval: clocks.0,
                decrease_interval: clocks.1,
                increase_interval: clocks.2,
                gain,
                byte_counter,
                fast_recovery_steps,
                additive_increase: additive,
                hyper_increase: hyper,
                clamp_target: clamp,
                rpg_min_dec_fac: keep,
                repace,
                ..Default::default()
            }
        },
    )
}

proptest! {
    /// For random parameters, inputs and gaps, the clocks give the same bits as a loop over all
    /// ticks. An alpha that is negligible may differ from zero. The number of ticks processed is
    /// bounded. While no timer is due, the rate does not change.
    #[test]
    fn clocks_catch_up_as_tick_by_tick(
        config in a_config(),
        line_bps in prop_oneof![Just(100_000_000_000u64), 100_000_000u64..800_000_000_000],
        inputs in proptest::collection::vec((a_gap(), an_input()), 1..40),
    ) {
        let sender = sender(Rate::from_bps(line_bps), Duration::from_us(8));
        let (mut lazy, mut eager) = (Dcqcn::new(&config, &sender), Dcqcn::new(&config, &sender));
        let parameters = lazy.parameters;
        let shortest = [parameters.alpha_interval, parameters.decrease_interval, parameters.increase_interval];
        let shortest = shortest.map(Duration::ps).into_iter().filter(|ps| *ps > 0).min().unwrap_or(1);
        let (mut now, mut left) = (0u64, MOST_TICKS.saturating_mul(shortest));
        for (gap, input) in inputs {
            let gap = gap.min(left);
            (now, left) = (now + gap, left - gap);
            let timer = lazy.wake_at();
            let before = eager.current;
            tick_by_tick(&mut eager, at_ps(now));
            // From an odd line rate, a step takes 1 b/s off, without a timer: halves are rounded.
            if parameters.repace && timer > at_ps(now) && before < eager.line_rate {
                prop_assert_eq!(eager.current, before, "no timer before {}", timer);
            }
            input.apply(&mut eager, at_ps(now));
            let ticks_before = ticks(&lazy);
            lazy.catch_up(at_ps(now));
            let processed = ticks(&lazy) - ticks_before;
            prop_assert!(processed as f64 <= most_ticks(parameters.gain), "{} ticks", processed);
            input.apply(&mut lazy, at_ps(now));
            prop_assert_eq!(state(&lazy), state(&eager), "{:?} at {}", input, at_ps(now));
            let (ours, theirs) = (alpha(&lazy), alpha(&eager));
            let is_negligible = ours == 0.0 && theirs < NEGLIGIBLE * parameters.gain;
            prop_assert!(is_negligible || ours.to_bits() == theirs.to_bits(), "alpha: {} is not {}", ours, theirs);
        }
    }
}

/// A gap of 10 s with the clocks of the default profile is ten million ticks. The next CNP then has
/// the effect that it has after all these ticks.
#[test]
fn a_gap_of_ten_seconds_gives_the_bits_of_ten_million_ticks() {
    for profile in PROFILES {
        let config = DcqcnConfig { profile, ..Default::default() };
        let sender = sender(Rate::from_gbps(100), Duration::from_us(8));
        let (mut lazy, mut eager) = (Dcqcn::new(&config, &sender), Dcqcn::new(&config, &sender));
        let times = [0, 700_000, 10 * SECOND, 10 * SECOND + 5_000_000, 10 * SECOND + 900_000_000];
        for (ps, input) in times.into_iter().zip([Input::Cnp, Input::Cnp, Input::Cnp, Input::Rate, Input::Rate]) {
            tick_by_tick(&mut eager, at_ps(ps));
            input.apply(&mut eager, at_ps(ps));
            input.apply(&mut lazy, at_ps(ps));
            lazy.catch_up(at_ps(ps));
            assert_eq!(state(&lazy), state(&eager), "{profile:?} at {}", at_ps(ps));
        }
    }
}

/// A second gap costs a few ticks.
#[test]
fn a_gap_of_a_thousand_seconds_costs_a_bounded_number_of_ticks() {
    let small = DcqcnConfig {
        gain: Some(SMALLEST_GAIN),
        alpha_interval: Some(Duration::from_ns(100)),
        increase_interval: Some(Duration::from_ns(100)),
        additive_increase: Some(Rate::from_bps(1)),
        hyper_increase: Some(Rate::from_bps(3)),
        fast_recovery_steps: Some(1_000_000),
        ..Default::default()
    };
    let of_profiles = PROFILES.map(|profile| DcqcnConfig { profile, ..Default::default() });
    let endless = DcqcnConfig { fast_recovery_steps: Some(u32::MAX), ..small.clone() };
    for config in of_profiles.into_iter().chain([small, endless]) {
        let mut point = Dcqcn::new(&config, &sender(Rate::from_gbps(400), Duration::from_us(8)));
        for ns in 0..40 {
            point.on_cnp(Time::ZERO + Duration::from_ns(ns * 500), Cnp::Congested(None));
        }
        let most = most_ticks(point.parameters.gain);
        let before = ticks(&point);
        point.rate(at_ps(1000 * SECOND));
        let first = ticks(&point) - before;
        assert!(first as f64 <= most, "{config:?}: {first} ticks, not {most}");
        let before = ticks(&point);
        point.rate(at_ps(2000 * SECOND));
        assert!(ticks(&point) - before < 100, "{config:?}: {} ticks", ticks(&point) - before);
    }
}

/// Steps are counted up to the largest count and stay hyper increases: of 200 Mb/s at 100 Gb/s.
#[test]
fn numbers_of_steps_saturate() {
    let config = DcqcnConfig { byte_counter: Some(Bytes(1000)), ..Default::default() };
    let mut point = Dcqcn::new(&config, &sender(Rate::from_gbps(100), Duration::from_us(8)));
    let end = 1_500_000 * SECOND;
    point.set_rate(Time::ZERO, Rate::from_gbps(10));
    point.rate(at_ps(end));
    point.limited.as_mut().unwrap().byte_steps = u32::MAX;
    point.target = Rate::from_gbps(10);
    point.on_sent(at_ps(end), 1000);
    point.rate(at_ps(end + 300_000_000));
    assert_eq!(point.target.bps(), 10_400_000_000);
    let limited = point.limited.as_ref().unwrap();
    assert_eq!((limited.timer_steps, limited.byte_steps), (u32::MAX, u32::MAX));
}

/// Returns the number of timers that fire in the `seconds` after `now`.
fn timers(point: &mut Dcqcn, seconds: u64) -> usize {
    let fired = std::iter::from_fn(|| {
        let at = point.wake_at();
        (at < at_ps(seconds * SECOND)).then(|| point.on_wake(at))
    });
    fired.count()
}

/// At 100 Gb/s, recovery from a cut to half of line rate ends at 1 b/s below line rate, which
/// further steps do not change: halves are rounded down. From there on, no timer fires.
#[test]
fn timers_end_with_recovery() {
    let config = DcqcnConfig { profile: DcqcnProfile::Firmware, ..Default::default() };
    let mut point = Dcqcn::new(&config, &sender(Rate::from_gbps(100), Duration::from_us(8)));
    point.on_cnp(Time::ZERO, Cnp::Congested(None));
    // One timer is for the cut. The distance to the target, 49 Gb/s < 2^36 b/s, is then halved 36
    // times at most.
    let fired = timers(&mut point, 1000);
    assert!((30..=37).contains(&fired), "{fired} timers");
    assert_eq!(point.rate(at_ps(1000 * SECOND)).bps(), 99_999_999_999);
    // A later CNP sets a timer for its cut.
    point.on_cnp(at_ps(1000 * SECOND), Cnp::Congested(None));
    assert!(point.wake_at() < at_ps(1000 * SECOND + 5_000_000));
}

/// With additive increase alone, timers end only at a target of line rate. Without any increase,
/// they end once the rate has reached its target.
#[test]
fn timers_end_only_if_no_increase_is_left() {
    let fired = |additive, hyper, byte_counter| {
        let config = DcqcnConfig {
            profile: DcqcnProfile::Firmware,
            additive_increase: Some(Rate::from_gbps(additive)),
            hyper_increase: Some(Rate::from_gbps(hyper)),
            byte_counter: Some(Bytes(byte_counter)),
            ..Default::default()
        };
        let mut point = Dcqcn::new(&config, &sender(Rate::from_gbps(100), Duration::from_us(8)));
        point.set_rate(Time::ZERO, Rate::from_gbps(40));
        (timers(&mut point, 10), point.current.bps() > 99_000_000_000)
    };
    let is_recovered = |additive, hyper, byte_counter| fired(additive, hyper, byte_counter).1;
    assert_eq!(fired(0, 0, 32_767), (0, false));
    // Without bytes sent, hyper increase is out of reach of the timer if there is a byte counter.
    assert_eq!(fired(0, 1, 32_767), (0, false));
    assert!(is_recovered(1, 0, 32_767) && is_recovered(0, 1, 0) && is_recovered(1, 1, 0));
    // Without a byte counter, one step is additive.
    assert!(fired(1, 0, 0).0 < 40 && !is_recovered(1, 0, 0));
}

/// An idle connection sets no timer: recovery catches up when the connection resumes. The window is
/// that of the recovered rate at once.
#[test]
fn an_idle_connection_sets_no_timer() {
    let config = DcqcnConfig { profile: DcqcnProfile::Firmware, window: true, ..Default::default() };
    let new = || Dcqcn::new(&config, &sender(Rate::from_gbps(100), Duration::from_us(8)));
    let (mut idle, mut busy) = (new(), new());
    let end = Duration::from_us(500);
    for point in [&mut idle, &mut busy] {
        point.on_cnp(Time::ZERO, Cnp::Congested(None));
        point.on_wake(Time::ZERO + Duration::from_ns(4001));
    }
    idle.on_idle(Time::ZERO + Duration::from_us(5));
    assert_eq!(idle.wake_at(), Time::NEVER);
    // The cut for a late CNP, at 8.001 us, and the timer step at 308.001 us also need no timer.
    for point in [&mut idle, &mut busy] {
        point.on_cnp(Time::ZERO + Duration::from_us(6), Cnp::Congested(None));
    }
    assert_eq!(idle.wake_at(), Time::NEVER);
    for ns in [8001, 308_001] {
        assert_eq!(busy.wake_at(), Time::ZERO + Duration::from_ns(ns));
        busy.on_wake(Time::ZERO + Duration::from_ns(ns));
    }
    idle.on_resume(Time::ZERO + end, Time::ZERO + Duration::from_us(5));
    busy.catch_up(Time::ZERO + end);
    assert_eq!((state(&idle), idle.window(), idle.wake_at()), (state(&busy), busy.window(), busy.wake_at()));
    assert_eq!(idle.wake_at(), Time::ZERO + Duration::from_ns(608_001));
}
