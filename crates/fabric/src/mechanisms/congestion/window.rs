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
