//! Sets of small numbers, kept as bits in words.

/// The first member after `cursor`, going round, of a set of `words` words that `word` tells one by one; `None` for the empty set.
#[inline]
pub(crate) fn first_after(cursor: usize, words: usize, word: impl Fn(usize) -> u64) -> Option<usize> {
    let start = cursor + 1;
    let (first, mask) = (start / 64, u64::MAX << (start % 64));
    let found = |index: usize, bits: u64| (bits != 0).then(|| index * 64 + bits.trailing_zeros() as usize);
    let behind = if first < words { found(first, word(first) & mask) } else { None };
    behind
        .or_else(|| (first + 1..words).find_map(|index| found(index, word(index))))
        .or_else(|| (0..words.min(first + 1)).find_map(|index| found(index, word(index))))
}
