//! Parsers of size distributions: any text results in a table or in an error, without a panic.
//! Every table can be sampled, truncated and averaged with every rule of interpolation.
#![no_main]

use backwater_scenario::workload::Interpolation;
use backwater_scenario::workload::sizes::SizeTable;
use libfuzzer_sys::fuzz_target;

const RULES: [Interpolation; 3] = [Interpolation::Linear, Interpolation::LogLinear, Interpolation::Step];

fuzz_target!(|text: &str| {
    for read in [SizeTable::from_lines, SizeTable::from_toml] {
        let table = match read(text) {
            Ok(table) => table,
            Err(error) => {
                assert!(error.line >= 1 && error.line <= text.lines().count().max(1) + 1 && !error.message.is_empty());
                continue;
            }
        };
        for rule in RULES {
            let sizes = table.distribution(Some(rule), 1).expect("the parser has checked the points");
            let largest = sizes.largest();
            for i in 0..=16 {
                let bytes = sizes.quantile((f64::from(i) / 16.0).min(1.0 - f64::EPSILON));
                assert!((1..=largest).contains(&bytes), "{bytes} of at most {largest}");
            }
            let (mean, packets) = (sizes.mean(), sizes.mean_packets(1000));
            assert!((1.0 - 1e-6..=largest as f64 * (1.0 + 1e-6)).contains(&mean), "mean {mean} of at most {largest}");
            assert!(
                (1.0 - 1e-6..=largest as f64 / 1000.0 * (1.0 + 1e-6) + 1.0).contains(&packets),
                "{packets} packets"
            );
            for limit in [1, 1000, largest / 2, largest] {
                assert!((0.0..=1.0).contains(&sizes.cumulative(limit)));
                if let Some(cut) = sizes.truncate(limit) {
                    assert!(cut.largest() <= limit.max(1) && cut.mean() <= limit.max(1) as f64 * (1.0 + 1e-6));
                }
            }
            // With a larger unit, sizes may be too large, which is an error.
            let _ = table.distribution(Some(rule), 1460);
        }
    }
});
