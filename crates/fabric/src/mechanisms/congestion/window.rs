//! Windows in proportion to rates.

use backwater_engine::Rate;

/// Returns the window at `rate` if the window at `line_rate` is `full`; at least one byte, so that
/// a packet may be sent.
pub(super) fn window_at(rate: Rate, line_rate: Rate, full: u64) -> u64 {
    let window = match full.checked_mul(rate.bps()) {
        // Most products fit into 64 bits, and 64-bit division is much faster.
        Some(product) => product / line_rate.bps(),
        None => (u128::from(full) * u128::from(rate.bps()) / u128::from(line_rate.bps())) as u64,
    };
    window.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Products of bytes and rates may exceed 64 bits.
    #[test]
    fn a_window_is_in_proportion_to_the_rate() {
        let gbps = Rate::from_gbps;
        for full in [1000, (1 << 26) - 8, 1 << 27, 1 << 40, u64::MAX / 8 * 8] {
            assert_eq!(window_at(gbps(100), gbps(800), full), full / 8, "{full}");
            assert_eq!(window_at(gbps(800), gbps(800), full), full);
        }
        assert_eq!(window_at(Rate::from_bps(1), gbps(800), 1000), 1);
    }
}
