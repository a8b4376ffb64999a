//! The notice (CNM): the rate that it names, in a field of 32 bits as in the paper. Its flow and its addresses are those of every notice.

use backwater_engine::Rate;

/// The unit of the field, so that it reaches to 4.29 Tb/s.
const UNIT: u64 = 1000;

/// The fields of a notice that names `target`; no rate is zero, at which a flow would stay.
pub(super) fn words_of(target: Rate) -> [u32; 4] {
    [u32::try_from(target.bps() / UNIT).unwrap_or(u32::MAX).max(1), 0, 0, 0]
}

/// The rate that a notice names.
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
