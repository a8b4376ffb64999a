//! Windows that follow rates.

use backwater_engine::Rate;

/// The window that is to `full` as `rate` is to `line_rate`; at least a byte, so that a packet may go.
pub(super) fn window_at(rate: Rate, line_rate: Rate, full: u64) -> u64 {
    (u128::from(full) * u128::from(rate.bps()) / u128::from(line_rate.bps())).max(1) as u64
}
