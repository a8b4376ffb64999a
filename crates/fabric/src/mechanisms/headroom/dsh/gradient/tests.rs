use super::*;
use backwater_engine::random::Seed;

fn estimator(estimator: EstimatorKind) -> Estimator {
    Estimator::new(&DshConfig { estimator, ..Default::default() })
}

/// Returns the parameters of a port with 60,000 B of headroom at 100 Gb/s: a delay of 4.8 us.
fn reach() -> Reach {
    Reach::new(60_000, Rate::from_gbps(100))
}

/// Computes Algorithm 2 by hand, with k = 1. 1000 B every 80 ns are the rate of the link, 12.5
/// B/ns.
#[test]
fn three_arrivals_by_hand() {
    let reach = reach();
    let estimator = Estimator::new(&DshConfig { deviation_factor: 1.0, ..Default::default() });
    let mut averages = estimator.start();
    let mut arrive = |grown| estimator.update(&mut averages, grown, Duration::from_ns(80), &reach);
    // With g = 12.5 and v = 12.5, the averages are 3.125 and 3.125. Together, 6.25 B/ns for 4.8 us
    // are 30,000 B.
    assert_eq!(arrive(1000), 30_000);
    // With g = 0 and v = 3.125, the averages are 2.34375 and 3.125.
    assert_eq!(arrive(0), 26_250);
    // With g = -12.5 and v = 14.84375, the averages are -1.3671875 and 6.0546875.
    assert_eq!(arrive(-1000), 22_500);
    // With k = 4, the first estimate would be 75,000 B, but it is limited to the port's headroom.
    let mut averages = self::estimator(EstimatorKind::Exact).start();
    let first = self::estimator(EstimatorKind::Exact).update(&mut averages, 1000, Duration::from_ns(80), &reach);
    assert_eq!(first, 60_000);
}

#[test]
fn a_queue_that_shrinks_steadily_needs_nothing() {
    let reach = reach();
    for kind in [EstimatorKind::Exact, EstimatorKind::Hardware] {
        let estimator = estimator(kind);
        let mut averages = estimator.start();
        let last = (0..100).map(|_| estimator.update(&mut averages, -500, Duration::from_ns(80), &reach)).last();
        assert_eq!(last, Some(0), "{kind:?}");
    }
}

#[test]
fn a_queue_that_grows_at_half_the_rate_of_its_link_needs_half() {
    let reach = reach();
    for (kind, expected) in [(EstimatorKind::Exact, 30_000..30_010), (EstimatorKind::Hardware, 30_000..33_751)] {
        let estimator = estimator(kind);
        let mut averages = estimator.start();
        let last = (0..100).map(|_| estimator.update(&mut averages, 500, Duration::from_ns(80), &reach)).last();
        assert!(expected.contains(&last.unwrap_or(0)), "{kind:?} {last:?}");
    }
}

/// Quotients by logarithms differ from exact quotients by less than 1 %, or by two in the last
/// place.
#[test]
fn division_by_tables_is_nearly_exact() {
    let tables = Tables::new();
    let mut draws = Seed(7).stream("quotients", 0);
    for _ in 0..100_000 {
        let grown = draws.below(20_000) as i64 - 10_000;
        let scale = 1 + draws.below(30);
        let elapsed = 1 + draws.below(1 << scale);
        let exact = (grown << FRACTION) as f64 / elapsed as f64;
        let off = (tables.divide(grown, elapsed) as f64 - exact).abs();
        assert!(off <= exact.abs() * 0.01 + 2.0, "{grown} / {elapsed}: off by {off} of {exact}");
    }
}

/// Runs both forms on the same arrivals. In the hardware form, a gradient is off by at most e = 1 %
/// of the largest gradient. The mean deviation is off by at most 2 e, and is multiplied by 4. Each
/// shift rounds by less than one in the last place; for each average, these errors add up to 4. The
/// staircase adds up to one step.
#[test]
fn the_hardware_form_is_within_a_step_and_a_tenth_of_the_exact_one() {
    let reach = reach();
    let (exact, hardware) = (estimator(EstimatorKind::Exact), estimator(EstimatorKind::Hardware));
    for seed in 0..200 {
        let mut draws = Seed(seed).stream("arrivals", 0);
        let (mut one, mut other) = (exact.start(), hardware.start());
        let (mut held, mut largest) = (0i64, 0.0f64);
        for _ in 0..500 {
            // Frames of 64 to 1500 B arrive back to back or with gaps. Meanwhile, more or fewer
            // bytes leave.
            let size = 64 + draws.below(1437) as i64;
            let scale = draws.below(12);
            let gap = size as u64 * 80 / 1000 + 1 + draws.below(1 << scale);
            // At most four links drain the queue.
            let left = (draws.below(3000) as i64).min(held).min(gap as i64 * 50);
            held += size - left;
            let (grown, elapsed) = (size - left, Duration::from_ns(gap));
            largest = largest.max((grown as f64 / gap as f64).abs());
            let need = exact.update(&mut one, grown, elapsed, &reach) as f64;
            let step = hardware.update(&mut other, grown, elapsed, &reach) as f64;
            let rounding = (4.0 + 4.0 * 8.0) / f64::from(1 << FRACTION);
            let bound = (0.01 * 9.0 * largest + rounding) * 4800.0 + 60_000.0 / STEPS as f64;
            assert!(bound < 30_000.0, "{bound} would allow anything");
            assert!((need - step).abs() <= bound, "{need} and {step} differ by more than {bound}");
        }
    }
}

/// The staircase rounds a gradient up to the next of 16 steps. A step is 12,800 / 16 = 800 units of
/// gradient, and 60,000 / 16 = 3750 B of headroom.
#[test]
fn steps_of_the_staircase_are_rounded_up() {
    let reach = reach();
    assert_eq!(reach.gradient, 12_800);
    let steps = [(-5, 0), (0, 0), (1, 3750), (800, 3750), (801, 7500), (12_799, 60_000), (99_999, 60_000)];
    for (gradient, headroom) in steps {
        assert_eq!(reach.staircase(gradient), headroom, "{gradient}");
    }
}

#[test]
fn weights_are_powers_of_two_in_hardware() {
    assert_eq!([1.0, 2.0, 4.0, 1024.0].map(shift), [0, 1, 2, 10]);
}
