//! Notice (CNM) and its rate, a field of 32 bits as in the paper. Flow and addresses are in the
//! fields that every notice has.

use backwater_engine::Rate;

/// Unit of the field in b/s: the largest rate is 4.29 Tb/s.
const UNIT: u64 = 1000;

/// Returns the fields of a notice that names `target`. The rate is never zero: a flow at rate zero
/// would never send again.
pub(super) fn words_of(target: Rate) -> [u32; 4] {
    [u32::try_from(target.bps() / UNIT).unwrap_or(u32::MAX).max(1), 0, 0, 0]
}

/// Returns the rate in a notice.
pub(super) fn target_of(words: [u32; 4]) -> Rate {
    Rate::from_bps(u64::from(words[0]) * UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_whole_kilobits() {
        for (target, named) in
            [(0, 1000), (999, 1000), (1999, 1000), (1_562_500_000, 1_562_500_000), (u64::MAX, 4_294_967_295_000)]
        {
            assert_eq!(target_of(words_of(Rate::from_bps(target))).bps(), named);
        }
    }
}
