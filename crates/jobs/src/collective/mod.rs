//! Collectives: operations that are generated on demand.
//!
//! Sizes are counted as nccl-tests counts them: the bytes of the whole array. With `n` ranks, the
//! array consists of `n` blocks, one per rank. A block is divided among the channels, and the part
//! of a channel is cut into chunks, each a message of its own.

pub mod all_to_all;
pub mod ring;

use crate::operation::{Operation, OperationIx, StreamIx};
use backwater_engine::Duration;

/// Division of the array of a collective into blocks, channels and chunks. Parts differ by at most
/// one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    bytes: u64,
    blocks: u32,
    channels: u32,
    chunks: u32,
}

impl Division {
    /// Smallest chunk size that can be asked for, in bytes.
    pub const LEAST_CHUNK: u64 = 64;

    /// Divides `bytes` into `blocks` blocks, for `channels` channels each, in chunks of at most
    /// `chunk` bytes, which is at least [`Division::LEAST_CHUNK`].
    ///
    /// # Errors
    /// The smallest number of bytes that can be divided in this way, if there are fewer.
    pub fn new(bytes: u64, blocks: u32, channels: u32, chunk: u64) -> Result<Division, u64> {
        let parts = u64::from(blocks) * u64::from(channels);
        if bytes < parts {
            return Err(parts);
        }
        let largest = bytes.div_ceil(blocks.into()).div_ceil(channels.into());
        let chunks = largest.div_ceil(chunk).try_into().unwrap_or(u32::MAX);
        Ok(Division { bytes, blocks, channels, chunks })
    }

    /// Returns the number of messages per block; `u32::MAX` if there are more.
    pub fn messages(&self) -> u32 {
        self.channels.saturating_mul(self.chunks)
    }

    /// Returns the bytes of a block.
    pub fn block(&self, block: u32) -> u64 {
        part(self.bytes, self.blocks, block)
    }

    /// Returns the number of messages per block and channel.
    pub fn chunks(&self) -> u32 {
        self.chunks
    }

    /// Returns the bytes of the largest message.
    pub fn largest_message(&self) -> u64 {
        let shares = [self.blocks, self.channels, self.chunks];
        shares.iter().fold(self.bytes, |bytes, share| bytes.div_ceil(u64::from(*share)))
    }

    /// Returns the channel of message `message` of any block.
    pub fn channel(&self, message: u32) -> u32 {
        message / self.chunks
    }

    /// Returns the bytes of message `message` of a block.
    pub fn message(&self, block: u32, message: u32) -> u64 {
        let of_channel = part(self.block(block), self.channels, message / self.chunks);
        part(of_channel, self.chunks, message % self.chunks)
    }
}

/// Returns the share of an array that belongs to other ranks.
fn of_others(ranks: u32) -> f64 {
    f64::from(ranks - 1) / f64::from(ranks)
}

/// Returns the size of part `index` of `whole` in `parts` parts.
fn part(whole: u64, parts: u32, index: u32) -> u64 {
    let end = |index: u32| (u128::from(whole) * u128::from(index) / u128::from(parts)) as u64;
    end(index + 1) - end(index)
}

/// Place of an operation of a collective whose iterations consist of a computation, followed by
/// steps with pairs of a send and a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Computation before an iteration. After the last iteration, it ends the rank.
    Begin {
        iteration: u32,
    },
    Send {
        iteration: u32,
        step: u32,
        message: u32,
    },
    Receive {
        iteration: u32,
        step: u32,
        message: u32,
    },
}

/// Numbering of the operations of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbering {
    iterations: u32,
    steps: u32,
    /// Messages per step.
    messages: u32,
    /// Computation before each iteration but the first.
    gap: Duration,
}

impl Numbering {
    /// Returns the number of operations per iteration.
    fn stride(self) -> u64 {
        1 + 2 * u64::from(self.steps) * u64::from(self.messages)
    }

    /// Returns the number of all operations.
    fn count(self) -> u64 {
        self.stride() * u64::from(self.iterations) + 1
    }

    fn place(self, OperationIx(operation): OperationIx) -> Place {
        let iteration = (operation / self.stride()) as u32;
        let Some(index) = (operation % self.stride()).checked_sub(1) else { return Place::Begin { iteration } };
        let (pair, messages) = (index / 2, u64::from(self.messages));
        let (step, message) = ((pair / messages) as u32, (pair % messages) as u32);
        if index.is_multiple_of(2) {
            Place::Send { iteration, step, message }
        } else {
            Place::Receive { iteration, step, message }
        }
    }

    /// Returns the computation before an iteration.
    fn begin(self, iteration: u32) -> Operation {
        let is_gap = iteration > 0 && iteration < self.iterations;
        Operation::Compute { length: if is_gap { self.gap } else { Duration::ZERO }, stream: StreamIx(0) }
    }

    /// Returns the iteration that begins when `operation` ends.
    fn begins(self, operation: OperationIx) -> Option<u32> {
        match self.place(operation) {
            Place::Begin { iteration } => Some(iteration),
            Place::Send { .. } | Place::Receive { .. } => None,
        }
    }

    fn number(self, place: Place) -> OperationIx {
        let at = |iteration: u32, step: u32, message: u32, offset: u64| {
            let pair = u64::from(step) * u64::from(self.messages) + u64::from(message);
            OperationIx(self.stride() * u64::from(iteration) + 1 + 2 * pair + offset)
        };
        match place {
            Place::Begin { iteration } => OperationIx(self.stride() * u64::from(iteration)),
            Place::Send { iteration, step, message } => at(iteration, step, message, 0),
            Place::Receive { iteration, step, message } => at(iteration, step, message, 1),
        }
    }

    /// Returns the number of events that end an iteration: starts of sends, and ends of receives.
    fn events(self) -> u32 {
        2 * self.steps * self.messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Messages add up to blocks and blocks to the array. No message is empty, and none exceeds
        /// the size of a chunk.
        #[test]
        fn divisions_are_exact(
            bytes in 1u64..1_000_000_000,
            blocks in 1u32..40,
            channels in 1u32..9,
            chunk in prop_oneof![Division::LEAST_CHUNK..2000, 1_000_000u64..2_000_000, Just(u64::MAX)],
        ) {
            let bytes = if chunk < 2000 { bytes % 1_000_000 + 1 } else { bytes };
            let parts = u64::from(blocks * channels);
            let division = match Division::new(bytes, blocks, channels, chunk) {
                Ok(division) => division,
                Err(least) => {
                    prop_assert!(bytes < parts && least == parts);
                    return Ok(());
                }
            };
            let mut total = 0;
            for block in 0..blocks {
                let messages: Vec<_> =
                    (0..division.messages()).map(|message| division.message(block, message)).collect();
                prop_assert_eq!(messages.iter().sum::<u64>(), division.block(block));
                let largest = division.largest_message();
                prop_assert!(largest <= chunk && messages.iter().all(|bytes| (1..=largest).contains(bytes)), "{:?}", messages);
                total += division.block(block);
            }
            prop_assert_eq!(total, bytes);
            prop_assert_eq!(division.channel(division.messages() - 1), channels - 1);
        }

        #[test]
        fn numbers_and_places_correspond(iterations in 1u32..4, steps in 1u32..5, messages in 1u32..4) {
            let numbering = Numbering { iterations, steps, messages, gap: Duration::ZERO };
            for operation in (0..numbering.count()).map(OperationIx) {
                prop_assert_eq!(numbering.number(numbering.place(operation)), operation);
            }
            let last = numbering.place(OperationIx(numbering.count() - 1));
            prop_assert_eq!(last, Place::Begin { iteration: iterations });
        }
    }
}
