use super::*;
use crate::workload::tests::describe;
use backwater_engine::random::Seed;
use backwater_fabric::frame::framing::Framing;
use proptest::prelude::*;
use std::path::Path;

/// Name, mean in bytes, and percentages of flows up to 100 KB, up to 1 MB, and above. These values
/// were computed independently from the sources.
const REFERENCE: &[(&str, f64, [f64; 3])] = &[
    ("websearch-dctcp", 1_711_250.1, [54.2, 15.8, 30.0]),
    ("websearch-abm", 1_711_222.5, [54.2, 15.8, 30.0]),
    ("websearch-packets", 1_665_830.8, [54.4, 15.9, 29.7]),
    ("websearch-homa", 2_510_779.6, [54.4, 15.9, 29.7]),
    ("websearch-srcc", 1_600_175.1, [62.0, 18.0, 20.0]),
    ("datamining-vl2", 7_410_726.9, [82.4, 8.8, 8.9]),
    ("datamining-abm", 5_036_535.2, [87.4, 4.7, 7.9]),
    ("webserver-fb", 62_457.8, [81.4, 18.6, 0.0]),
    ("webserver-64k", 64_001.1, [81.0, 19.0, 0.0]),
    ("webserver-flb", 63_995.1, [90.0, 10.0, 0.0]),
    ("cache-fb", 687_462.9, [53.4, 18.4, 28.2]),
    ("cache-701k", 701_009.3, [53.0, 18.0, 29.0]),
    ("hadoop-fb", 122_468.3, [88.6, 8.7, 2.7]),
    ("hadoop-hpcc", 120_420.8, [88.5, 9.0, 2.5]),
    ("hadoop-srcc", 1_040_412.5, [60.0, 38.0, 2.0]),
    ("hadoop-flb", 652_531.5, [86.0, 5.0, 9.0]),
    ("alistorage", 40_869.8, [95.4, 3.2, 1.4]),
    ("solar2022", 39_424.0, [95.9, 4.1, 0.0]),
    ("memcached-etc", 185.1, [100.0, 0.0, 0.0]),
    ("google-searchrpc", 426.2, [100.0, 0.0, 0.0]),
    ("google-allrpc", 2_925.0, [99.6, 0.4, 0.0]),
];

fn table(name: &str) -> Distribution {
    library(name).unwrap().distribution(None, 1).unwrap()
}

#[test]
fn every_table_has_the_mean_and_the_size_classes_of_its_source() {
    let names: Vec<_> = REFERENCE.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, LIBRARY.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (name, mean, bins) in REFERENCE {
        let sizes = table(name);
        assert!((sizes.mean() / mean - 1.0).abs() < 0.003, "{name}: mean {}", sizes.mean());
        let (small, medium) = (sizes.cumulative(100_000), sizes.cumulative(1_000_000));
        for (found, expected) in [small, medium - small, 1.0 - medium].into_iter().zip(bins) {
            assert!((100.0 * found - expected).abs() < 0.06, "{name}: {found} against {expected} %");
        }
    }
}

#[test]
fn a_million_samples_have_the_mean_and_the_size_classes_that_loads_assume() {
    const SAMPLES: u32 = 1_000_000;
    for (name, _) in LIBRARY {
        let (sizes, mut stream) = (table(name), Seed(7).stream("test", 0));
        let (mut sum, mut small, mut medium) = (0.0, 0, 0);
        for _ in 0..SAMPLES {
            let bytes = sizes.sample(&mut stream);
            sum += bytes as f64;
            small += u32::from(bytes <= 100_000);
            medium += u32::from(bytes <= 1_000_000);
        }
        let tolerance = if ["datamining-vl2", "datamining-abm", "hadoop-srcc"].contains(name) { 0.05 } else { 0.01 };
        let mean = sum / f64::from(SAMPLES);
        assert!((mean / sizes.mean() - 1.0).abs() < tolerance, "{name}: {mean} against {}", sizes.mean());
        for (count, limit) in [(small, 100_000), (medium, 1_000_000)] {
            let share = f64::from(count) / f64::from(SAMPLES);
            assert!((share - sizes.cumulative(limit)).abs() < 0.002, "{name}: {share} at {limit}");
        }
    }
}

#[test]
fn first_samples_never_change() {
    let draw = |name: &str| {
        let (sizes, mut stream) = (table(name), Seed(1).stream("sizes", 0));
        (0..5).map(|_| sizes.sample(&mut stream)).collect::<Vec<_>>()
    };
    assert_eq!(draw("websearch-dctcp"), GOLDEN_WEB_SEARCH);
    assert_eq!(draw("memcached-etc"), GOLDEN_MEMCACHED);
    let log = library("websearch-dctcp").unwrap().distribution(Some(Interpolation::LogLinear), 1).unwrap();
    let mut stream = Seed(1).stream("sizes", 0);
    assert_eq!((0..5).map(|_| log.sample(&mut stream)).collect::<Vec<_>>(), GOLDEN_LOG);
}
const GOLDEN_WEB_SEARCH: [u64; 5] = [47214, 8410, 233270, 58358, 1503610];
const GOLDEN_MEMCACHED: [u64; 5] = [11, 2, 81, 14, 200];
const GOLDEN_LOG: [u64; 5] = [46566, 2312, 213845, 56995, 1417757];

#[test]
fn web_search_has_three_means() {
    let mean = |rule| library("websearch-dctcp").unwrap().distribution(Some(rule), 1).unwrap().mean();
    assert!((mean(Interpolation::Linear) / 1.711e6 - 1.0).abs() < 1e-3);
    assert!((mean(Interpolation::LogLinear) / 1.597e6 - 1.0).abs() < 1e-3);
    assert!((mean(Interpolation::Step) / 2.435e6 - 1.0).abs() < 1e-3);
}

#[test]
fn a_truncated_table_keeps_the_shape_below_the_limit() {
    let (whole, cut) = (table("datamining-vl2"), table("datamining-vl2").truncate(97_000_000).unwrap());
    assert!((cut.mean() / 2.14e6 - 1.0).abs() < 0.01, "{}", cut.mean());
    assert_eq!(cut.largest(), 97_000_000);
    let kept = whole.cumulative(97_000_000);
    for bytes in [100, 2_000, 1_000_000, 50_000_000] {
        assert!((cut.cumulative(bytes) * kept - whole.cumulative(bytes)).abs() < 1e-12);
    }
    assert_eq!(whole.truncate(u64::MAX).unwrap(), whole);
    assert_eq!(whole.truncate(50), None);
}

#[test]
fn masses_occur_with_just_their_probability() {
    let sizes = table("solar2022");
    let step = |bytes: u64| sizes.cumulative(bytes) - sizes.cumulative(bytes - 1);
    for (bytes, mass) in [(4096, 0.3), (16384, 0.15), (65536, 0.35)] {
        assert!((step(bytes) - mass).abs() < 1e-4, "{bytes}: {}", step(bytes));
    }
    // A first point above probability zero is also a point mass.
    assert_eq!(table("google-searchrpc").quantile(0.07), 2);
    assert_eq!(Distribution::fixed(64_000).quantile(0.5), 64_000);
}

#[test]
fn wire_bytes_count_every_frame() {
    // 2500 B are sent in frames of 1000, 1000 and 500 B. Each frame has another 82 B, and the first
    // also has 16 B of RETH.
    let sizes = Distribution::fixed(2500);
    assert!((sizes.mean_wire(Framing::Rocev2, 1000) - (2500.0 + 3.0 * 82.0 + 16.0)).abs() < 1e-9);
    assert!((sizes.mean_wire(Framing::HpccNs3, 1000) - (2500.0 + 3.0 * 48.0)).abs() < 1e-9);
}

#[test]
fn lines_are_read_in_all_dialects() {
    let expected = vec![
        Knot { bytes: 0, cumulative: 0.0 },
        Knot { bytes: 4000, cumulative: 0.25 },
        Knot { bytes: 8000, cumulative: 1.0 },
    ];
    let percent = SizeTable::from_lines("0 0\n4000\t25  # most\n\n8000 100\n").unwrap();
    assert_eq!((percent.knots, percent.stated_mean), (expected.clone(), None));
    let fraction = SizeTable::from_lines("5000.5\n0 0\n4e3 0.25\n8000.0 1").unwrap();
    assert_eq!((fraction.knots, fraction.stated_mean), (expected, Some(5000.5)));
}

#[test]
fn what_is_no_table_says_where_and_why() {
    for (text, expected) in [
        ("", "line 1: must have at least 2 points; found 0"),
        ("5000\n", "line 1: must have at least 2 points; found 0"),
        ("64 100", "line 1: must have at least 2 points; found 1"),
        ("0 0\n64 0.9", "line 2: the last probability is 0.9; must be 100 (percent) or 1"),
        ("0 0\n64 99", "line 2: the last probability is 99; must be 100 (percent) or 1"),
        ("0 0\n64 50\n32 100", "line 3: the size is 32; must be at least the previous size, 64"),
        (
            "0 0\n64 0.5\n\n96 0.4\n128 1",
            "line 4: the probability is 0.4; must be at least the previous probability, 0.5",
        ),
        ("0 0\n64 0.5\n64 0.5\n128 1", "line 3: repeats the previous point (size 64, probability 0.5)"),
        ("0 -1\n64 100", "line 1: the probability is -0.01; must be from 0 to 1 (0 to 100 percent)"),
        ("0 0\n64 150\n128 100", "line 2: the probability is 1.5; must be from 0 to 1 (0 to 100 percent)"),
        ("0 0\n64 NaN\n128 1", "line 2: \"NaN\" is not a number"),
        ("0 0\nlarge 1", "line 2: \"large\" is not a number"),
        ("0 0\n-64 1", "line 2: the size is -64; must be a whole number from 0 to 1000000000000000"),
        ("0 0\n64.5 1", "line 2: the size is 64.5; must be a whole number from 0 to 1000000000000000"),
        ("0 0\n1e30 1", "line 2: the size is 1e30; must be a whole number from 0 to 1000000000000000"),
        ("6 1 0.15\n20 1 1", "line 1: must be `<bytes> <cumulative percent>`; found 3 columns"),
        ("0 0\n64\n128 1", "line 2: must be `<bytes> <cumulative percent>`; found 1 columns"),
        ("0 0\n0 1", "line 2: the largest size is 0; must be at least 1"),
    ] {
        assert_eq!(SizeTable::from_lines(text).unwrap_err().to_string(), expected, "{text:?}");
    }
    for (text, expected) in [
        ("title = \"t\"\nknots = [[1, 0.0], [2, 1.0]]", "line 1: missing field `source`"),
        (
            "title = \"t\"\nsource = \"s\"\nknots = [\n[1, 0.0],\n[2, 1.5]]",
            "line 5: the probability is 1.5; must be from 0 to 1",
        ),
        ("title = \"t\"\nsource = \"s\"\nmean = 3", "line 3: unknown field `mean`"),
        (
            "title = \"t\"\nsource = \"s\"\ninterpolation = \"cubic\"",
            "line 3: unknown variant `cubic`, expected one of `linear`",
        ),
        ("title = ", "line 1: "),
        ("title = \"t\"\nsource = \"s\"\nknots = [[-1, 0.0], [2, 1.0]]", "line 3: invalid value: integer `-1`"),
    ] {
        let message = SizeTable::from_toml(text).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{text:?}: {message}");
    }
}

fn error_of(sizes: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Holder {
        sizes: SizesConfig,
    }
    let config = toml::from_str::<Holder>(&format!("sizes = {sizes}")).map_err(|error| error.message().to_owned());
    match config {
        Err(message) => message,
        Ok(config) => {
            let errors = config.sizes.resolve("traffic[0].sizes", Path::new("/nowhere")).unwrap_err();
            errors.iter().map(describe).collect::<Vec<_>>().join("\n")
        }
    }
}

#[test]
fn multiples_of_a_unit_occur_equally_often() {
    let (sizes, mut stream) = (Distribution::multiples(1460, 30, 40), Seed(7).stream("test", 0));
    assert!((sizes.mean() - 35.0 * 1460.0).abs() < 1e-6, "{}", sizes.mean());
    assert!((sizes.mean_packets(1460) - 35.0).abs() < 1e-9);
    let mut counts = std::collections::BTreeMap::new();
    (0..110_000).for_each(|_| *counts.entry(sizes.sample(&mut stream)).or_insert(0u32) += 1);
    assert!(counts.keys().copied().eq((30..=40).map(|packets| packets * 1460)));
    // The tolerance is five standard deviations.
    assert!(counts.values().all(|count| count.abs_diff(10_000) < 477), "{counts:?}");
    assert_eq!(Distribution::multiples(7, 3, 3), Distribution::fixed(21));
}

#[test]
fn what_a_scenario_may_not_say_of_sizes() {
    for (sizes, expected) in [
        ("\"websearch\"", "traffic[0].sizes: there is no size distribution \"websearch\"; did you mean \"websearch-"),
        ("\"xyz\"", "traffic[0].sizes: there is no size distribution \"xyz\"; the library has websearch-dctcp, "),
        ("\"64\"", "\"64\" has no unit; write for example \"64 KB\""),
        ("\"64 kilos\"", "\"kilos\" is not one of the units"),
        ("{}", "traffic[0].sizes: set exactly one of `name`, `path`, `fixed` and `uniform`"),
        ("{ name = \"alistorage\", fixed = \"1 KB\" }", "traffic[0].sizes: set exactly one of"),
        ("{ nam = \"alistorage\" }", "unknown field `nam`, expected one of"),
        ("{ fixed = \"0 B\" }", "traffic[0].sizes.fixed: must be from 1 B to 1 PB"),
        ("{ uniform = [\"2 KB\", \"1 KB\"] }", "traffic[0].sizes.uniform: must list the smaller size first"),
        ("{ uniform = [\"0 B\", \"1 KB\"] }", "traffic[0].sizes.uniform[0]: must be from"),
        ("{ path = \"no.cdf\" }", "traffic[0].sizes.path: no.cdf: No such file"),
        (
            "{ name = \"alistorage\", unit = \"1 KB\" }",
            "traffic[0].sizes.unit: is allowed only with `path` or `uniform`",
        ),
        (
            "{ uniform = [\"1 KB\", \"5 KB\"], unit = \"2 KB\" }",
            "traffic[0].sizes.uniform: 1 KB and 5 KB must be multiples of the unit, 2 KB",
        ),
        (
            "{ uniform = [\"1 B\", \"1 GB\"], unit = \"1 B\" }",
            "traffic[0].sizes.unit: is too small: 1 B to 1 GB contains over 100000 multiples of this unit",
        ),
        (
            "{ fixed = \"1 KB\", interpolation = \"linear\" }",
            "traffic[0].sizes.interpolation: is allowed only with `name` or `path`",
        ),
        (
            "{ name = \"cache-fb\", truncate = \"10 B\" }",
            "traffic[0].sizes.truncate: is below the smallest size of cache-fb",
        ),
        (
            "17",
            "invalid type: integer `17`, expected the name of a size distribution, a size such as \"64 KB\", or a \
                table",
        ),
    ] {
        let message = error_of(sizes);
        assert!(message.starts_with(expected), "{sizes}: {message}");
    }
}

/// The lists in `data/README.md` contain exactly the tables of the library.
#[test]
fn the_readme_of_the_data_lists_the_library() {
    let readme = include_str!("../../../../../data/README.md");
    let row = |&(name, _): &(&str, &str)| {
        let (about, sizes) = (library(name).unwrap(), table(name));
        let (mean, largest) = (bytes(sizes.mean()), bytes(sizes.largest() as f64));
        let (small, medium) = (100.0 * sizes.cumulative(100_000), 100.0 * sizes.cumulative(1_000_000));
        let classes = format!("{small:.1} / {:.1} / {:.1}", medium - small, 100.0 - medium);
        format!("| `{name}` | {} | {mean} | {largest} | {classes} | {} |\n", about.title, about.source)
    };
    let rows: String = LIBRARY.iter().map(row).collect();
    assert!(readme.contains(&rows), "data/README.md must have the rows\n{rows}");
}

fn tables() -> impl Strategy<Value = Distribution> {
    let points = prop::collection::vec((0u64..60, 0u32..40), 2..7);
    let rules = [Interpolation::Linear, Interpolation::LogLinear, Interpolation::Step];
    (points, prop::sample::select(rules.to_vec()), prop::bool::ANY).prop_map(|(points, rule, from_zero)| {
        let (mut bytes, mut weight) = (0, 0);
        let mut knots: Vec<(u64, u32)> = Vec::new();
        for (step, mass) in points {
            bytes += step;
            weight += if knots.is_empty() && from_zero { 0 } else { mass + u32::from(step == 0) };
            knots.push((bytes, weight));
        }
        knots.push((bytes + 1, weight + 1));
        let knot = |(bytes, mass)| Knot { bytes, cumulative: f64::from(mass) / f64::from(weight + 1) };
        Distribution::new(knots.into_iter().map(knot).collect(), rule).unwrap()
    })
}

proptest! {
    /// The mean number of packets equals the average over evenly spaced quantiles, up to the error
    /// bound for monotone functions.
    #[test]
    fn means_are_those_of_the_draws(sizes in tables(), payload in prop::sample::select(vec![1u64, 7, 64])) {
        const POINTS: u32 = 100_000;
        let quantile = |i: u32| sizes.quantile((f64::from(i) + 0.5) / f64::from(POINTS)).div_ceil(payload);
        let average = (0..POINTS).map(|i| quantile(i) as f64).sum::<f64>() / f64::from(POINTS);
        let tolerance = 1e-9 + sizes.largest() as f64 / f64::from(POINTS);
        let mean = sizes.mean_packets(payload);
        prop_assert!((mean - average).abs() < tolerance, "{mean} {average}");
    }

    #[test]
    fn any_text_is_a_table_or_an_error(text in "([0-9]{1,17}(\\.[0-9]+)?[ \t\n#]{1,2}){0,12}|\\PC{0,80}") {
        for read in [SizeTable::from_lines, SizeTable::from_toml] {
            let Ok(sizes) = read(&text).map(|table| table.distribution(None, 1).unwrap()) else { continue };
            prop_assert!(sizes.mean() >= 1.0 && sizes.mean() <= sizes.largest() as f64 * (1.0 + 1e-9));
        }
    }

    #[test]
    fn draws_lie_between_the_ends(sizes in tables(), u in 0.0f64..1.0, limit in 0u64..400) {
        prop_assert!((1..=sizes.largest()).contains(&sizes.quantile(u)));
        if let Some(cut) = sizes.truncate(limit) {
            prop_assert!(cut.largest() <= limit.max(1) && (1..=limit.max(1)).contains(&cut.quantile(u)));
        }
    }
}
