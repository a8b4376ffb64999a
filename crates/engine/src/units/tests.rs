//! Tests of units.

use super::*;
use proptest::prelude::*;

#[test]
fn quantities_are_parsed_exactly() {
    for text in ["400 Gbps", "400Gbps", "400 Gb/s", "400G", " 0.4  T ", "400_000 M", "400000000K"] {
        assert_eq!(text.parse().map(Rate::bps), Ok(400_000_000_000), "{text}");
    }
    for text in ["1.5 us", "1.5us", "1500ns", "0.0015 ms", "1.5 \u{b5}s", "1.5\u{3bc}s"] {
        assert_eq!(text.parse(), Ok(Duration::from_ns(1500)), "{text}");
    }
    // 2^-18 GiB has 18 decimals, the maximum.
    let finest = "0.000003814697265625 GiB";
    for (text, bytes) in
        [("113MiB", 113 << 20), ("113 MiB", 113 << 20), ("64 KB", 64_000), ("64kB", 64_000), (finest, 4096)]
    {
        assert_eq!(text.parse().map(Bytes::get), Ok(bytes), "{text}");
    }
}

#[test]
fn quantities_are_formatted_with_few_digits() {
    for (bytes, text) in [
        (0, "0 B"),
        (400_000, "400 KB"),
        (65_536, "64 KiB"),
        (16 << 20, "16 MiB"),
        (1600, "1.6 KB"),
        (203_976, "203976 B"),
    ] {
        assert_eq!(Bytes(bytes).to_string(), text);
    }
    for (ps, text) in [
        (0, "0 ps"),
        (499_987_000_000, "499.987 ms"),
        (1_500_000, "1.5 us"),
        (2_000_000_000_000, "2 s"),
        (1_234_567, "1234.567 ns"),
    ] {
        assert_eq!(Duration::from_ps(ps).to_string(), text);
    }
    assert_eq!(Rate::from_gbps(25).to_string(), "25 Gbps");
    assert_eq!(Rate::from_bps(1_000_000).to_string(), "1 Mbps");
    assert_eq!(Rate::from_bps(0).to_string(), "0 bps");
}

#[test]
fn errors_name_the_problem() {
    let message = |text: &str| text.parse::<Rate>().unwrap_err().to_string();
    assert!(message("100").contains("no unit"));
    assert!(message("fast").contains("does not start with a number"));
    assert!(message("100 parsec").contains("not one of the units"));
    assert!(message("0.5 bps").contains("not a whole number of bps"));
    assert!(message(&format!("0.{} Tbps", "1".repeat(60))).contains("not a whole number of bps"));
    assert!(message("-1 Gbps").contains("is negative"));
    assert!(message("-Gbps").contains("does not start with a number"));
    assert!(message("99999999999999 Tbps").contains("too large"));
    for text in ["1.2.3 Gbps", "_1 Gbps", "1_ Gbps", "1__0 Gbps", "1_.5 Gbps", "1._5 Gbps"] {
        assert!(message(text).contains("does not start with a number"), "{text}");
    }
    // In a size, K, M and G could mean powers of 1000 or of 1024.
    let refused = "64K".parse::<Bytes>().unwrap_err().to_string();
    assert_eq!(refused, "\"K\" is not one of the units B, KB, KiB, MB, MiB, GB, GiB");
}

#[test]
fn a_byte_takes_80_20_10_ps() {
    for (gbps, ps) in [(100, 80), (400, 20), (800, 10)] {
        assert_eq!(ByteTime::of(Rate::from_gbps(gbps)).times(1).ps(), ps);
        let cut = ByteTime::with_tick(Rate::from_gbps(gbps), Duration::from_ns(1));
        assert_eq!(cut.times(43).ps(), 43 * ps / 1000 * 1000);
        assert_eq!(Rate::from_gbps(gbps).time_for(1000).ps(), 1000 * ps);
    }
}

/// A byte takes 4000/3 ps at 6 Gb/s, and 8000/7 ps at 7 Gb/s.
#[test]
fn times_are_rounded_to_the_nearest_picosecond() {
    let times = |gbps| [1, 2, 3, 4].map(|bytes| ByteTime::of(Rate::from_gbps(gbps)).times(bytes).ps());
    assert_eq!((times(6), times(7)), ([1333, 2667, 4000, 5333], [1143, 2286, 3429, 4571]));
    for rate in (1..1000).map(|step| Rate::from_bps(1_234_567_891 * step)) {
        let exact = 8_000_000_000_000u128 << ByteTime::FRACTION_BITS;
        let kept = u128::from(ByteTime::of(rate).scaled) * u128::from(rate.0);
        assert!(2 * exact.abs_diff(kept) <= rate.0.into(), "{rate}");
    }
}

#[test]
fn sizes_are_added_and_subtracted() {
    let mut sum = Bytes(1000) + Bytes(24);
    sum += Bytes(3);
    assert_eq!((sum, sum - Bytes(27)), (Bytes(1027), Bytes(1000)));
    assert_eq!(format!("{:?} {:?}", sum, Rate::from_gbps(1)), "1027 B 1 Gbps");
}

proptest! {
    /// Covers products of 64 and of 128 bits.
    #[test]
    fn time_at_a_rate_is_exact_to_half_a_picosecond(
        bps in 1u64..1 << 42,
        bytes in prop_oneof![0u64..10_000, 0u64..1 << 40],
    ) {
        let (ps, bit_ps) = (u128::from(Rate(bps).time_for(bytes).ps()), u128::from(bytes) * 8_000_000_000_000);
        let error = (ps * u128::from(bps)).abs_diff(bit_ps);
        prop_assume!(bit_ps / u128::from(bps) < u128::from(u64::MAX));
        prop_assert!(2 * error <= u128::from(bps));
    }

    #[test]
    fn formatted_quantities_parse_to_the_same_value(value in any::<u64>()) {
        prop_assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
        prop_assert_eq!(Duration::from_ps(value).to_string().parse(), Ok(Duration::from_ps(value)));
        prop_assert_eq!(Rate::from_bps(value).to_string().parse(), Ok(Rate::from_bps(value)));
    }

    #[test]
    fn byte_time_is_the_rounded_quotient(bps in 1_000_000u64..2_000_000_000_000, bytes in 1u32..20_000) {
        let exact = Rate::from_bps(bps).time_for(bytes.into()).ps();
        prop_assert!(ByteTime::of(Rate::from_bps(bps)).times(bytes).ps().abs_diff(exact) <= 1);
    }
}
