//! Number of random cases of a property.

#![allow(unreachable_pub, reason = "helpers of tests are no interface")]

use proptest::prelude::ProptestConfig;

/// Configures the number of random cases of a property: the value of the environment variable
/// `BACKWATER_CASES`, or else `usual`. A property may reject many drawn cases for each that it
/// tests.
pub fn cases(usual: u32) -> ProptestConfig {
    let cases = std::env::var("BACKWATER_CASES").ok().map(|cases| cases.parse().expect("BACKWATER_CASES is a number"));
    let cases = cases.unwrap_or(usual);
    ProptestConfig { cases, max_global_rejects: cases.saturating_mul(256), ..Default::default() }
}
