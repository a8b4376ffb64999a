//! Dictionary of the numbers in a chunk.

/// Slot of the hash table without a code.
const FREE: u32 = u32::MAX;
/// Largest dictionary. At least half of the slots stay free, so that searches are short.
const MOST: usize = 1 << 11;
const SLOTS: usize = 2 * MOST;

/// Gives codes to numbers. All chunks of a file use the same memory.
#[derive(Default)]
pub struct Dictionary {
    /// Hash table of the codes.
    slots: Vec<u32>,
    /// Code of each number of the chunk.
    pub(crate) codes: Vec<u32>,
}

impl Dictionary {
    /// Gives a code to each of `numbers`. Returns the different numbers in the order of their
    /// codes; `None` if a dictionary would not be much shorter than the numbers.
    pub(crate) fn assign<N: Copy + PartialEq + Into<i64>>(&mut self, numbers: &[N]) -> Option<Vec<N>> {
        let most = MOST.min(numbers.len() / 4);
        self.slots.clear();
        self.slots.resize(SLOTS, FREE);
        self.codes.clear();
        let mut known: Vec<N> = Vec::new();
        for number in numbers {
            // Fibonacci hashing: the highest bits depend on all bits of the number.
            let hash = ((*number).into() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mut slot = (hash >> (u64::BITS - SLOTS.ilog2())) as usize;
            let code = loop {
                match self.slots[slot] {
                    FREE if known.len() == most => return None,
                    FREE => {
                        self.slots[slot] = known.len() as u32;
                        known.push(*number);
                    }
                    code if known[code as usize] == *number => break code,
                    _ => slot = (slot + 1) % SLOTS,
                }
            };
            self.codes.push(code);
        }
        Some(known)
    }
}
