//! Encodings of the Parquet format: plain values, deltas, packed bits and runs.

use crate::dictionary::Dictionary;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::statistics::Statistics;

/// Deltas of a block, and of each of its miniblocks.
const BLOCK: usize = 128;
const MINIBLOCK: usize = 32;

/// Physical value of a column.
pub trait Physical: Sized {
    /// Appends values in the plain encoding.
    fn write_plain(values: &[Self], output: &mut Vec<u8>);

    /// Appends values in the encoding `DELTA_BINARY_PACKED`.
    ///
    /// # Errors
    ///
    /// If the values are no whole numbers.
    fn write_deltas(_: &[Self], _: &mut Vec<u8>) -> Result<(), ParquetError> {
        Err(ParquetError::General("only whole numbers have deltas".to_owned()))
    }

    /// Gives codes to whole numbers. Returns the different numbers in the order of their codes;
    /// `None` if a dictionary is of no use.
    fn assign_codes(_: &[Self], _: &mut Dictionary) -> Option<Vec<Self>> {
        None
    }

    /// Returns the limits of whole numbers, which are signed or not. Other types have no limits.
    fn limits(_: &[Self], _nulls: u64, _is_signed: bool) -> Option<Statistics> {
        None
    }
}

/// Implements [`Physical`] for whole numbers: type, unsigned type, constructor of statistics.
macro_rules! whole_numbers {
    ($($number:ty, $unsigned:ty, $statistics:expr;)+) => {
        $(impl Physical for $number {
            fn write_plain(values: &[$number], output: &mut Vec<u8>) {
                let start = output.len();
                output.resize(start + size_of_val(values), 0);
                for (bytes, value) in output[start..].chunks_exact_mut(size_of::<$number>()).zip(values) {
                    bytes.copy_from_slice(&value.to_le_bytes());
                }
            }

            fn write_deltas(values: &[$number], output: &mut Vec<u8>) -> Result<(), ParquetError> {
                let first = values.first().copied().unwrap_or_default();
                for number in [BLOCK, BLOCK / MINIBLOCK, values.len()] {
                    write_number(output, number as u64);
                }
                write_signed(output, first.into());
                for start in (1..values.len()).step_by(BLOCK) {
                    let block = &values[start - 1..values.len().min(start + BLOCK)];
                    let mut deltas = [0; BLOCK];
                    let deltas = &mut deltas[..block.len() - 1];
                    for ((delta, before), value) in deltas.iter_mut().zip(block).zip(&block[1..]) {
                        *delta = value.wrapping_sub(*before);
                    }
                    let least = deltas.iter().fold(<$number>::MAX, |least, delta| least.min(*delta));
                    write_signed(output, least.into());
                    let widths = output.len();
                    output.resize(widths + BLOCK / MINIBLOCK, 0);
                    for (number, part) in deltas.chunks(MINIBLOCK).enumerate() {
                        let mut excess = [0; MINIBLOCK];
                        for (excess, delta) in excess.iter_mut().zip(part) {
                            *excess = delta.wrapping_sub(least) as $unsigned;
                        }
                        let width = width_of(excess.iter().fold(0, |bits, excess| bits | excess).into());
                        output[widths + number] = width as u8;
                        write_bits(output, excess.iter().map(|value| u64::from(*value)), width);
                    }
                }
                Ok(())
            }

            fn assign_codes(values: &[$number], dictionary: &mut Dictionary) -> Option<Vec<$number>> {
                dictionary.assign(values)
            }

            fn limits(values: &[$number], nulls: u64, is_signed: bool) -> Option<Statistics> {
                // Flipping the highest bit orders unsigned numbers as signed ones.
                let flip = if is_signed { 0 } else { <$number>::MIN };
                let flipped = values.iter().map(|value| value ^ flip);
                let (least, most) = flipped.fold((<$number>::MAX, <$number>::MIN), |(least, most), value| {
                    (least.min(value), most.max(value))
                });
                let limit = |value| Some(value ^ flip).filter(|_| !values.is_empty());
                Some($statistics(limit(least), limit(most), None, Some(nulls), false))
            }
        })+
    };
}

whole_numbers! {
    i32, u32, Statistics::int32;
    i64, u64, Statistics::int64;
}

impl Physical for bool {
    fn write_plain(values: &[bool], output: &mut Vec<u8>) {
        write_bits(output, values.iter().map(|value| u64::from(*value)), 1);
    }
}

impl Physical for f64 {
    fn write_plain(values: &[f64], output: &mut Vec<u8>) {
        for value in values {
            output.extend_from_slice(&value.to_le_bytes());
        }
    }
}

impl Physical for ByteArray {
    fn write_plain(values: &[ByteArray], output: &mut Vec<u8>) {
        for value in values {
            output.extend_from_slice(&(value.len() as u32).to_le_bytes());
            output.extend_from_slice(value.data());
        }
    }
}

/// Appends the definition levels of `count` rows. `rows` have values, the other rows are null.
pub(crate) fn write_definition(output: &mut Vec<u8>, rows: &[u32], count: usize) {
    let start = output.len();
    output.extend_from_slice(&[0; 4]);
    if rows.is_empty() || rows.len() == count {
        write_run(output, u32::from(!rows.is_empty()), count, 1);
    } else {
        let bytes = write_packed_header(output, count, 1);
        let bits = output.len();
        output.resize(bits + bytes, 0);
        for row in rows {
            output[bits + *row as usize / 8] |= 1 << (row % 8);
        }
    }
    let length = output.len() - start - 4;
    output[start..start + 4].copy_from_slice(&(length as u32).to_le_bytes());
}

/// Appends codes below `codes`, preceded by their width: one run if all are equal, packed bits
/// otherwise.
pub(crate) fn write_codes(output: &mut Vec<u8>, values: &[u32], codes: usize) {
    let width = width_of(codes.saturating_sub(1) as u64);
    output.push(width as u8);
    match (values, codes) {
        ([], _) => {}
        (_, 1) => write_run(output, 0, values.len(), width),
        _ => {
            let end = write_packed_header(output, values.len(), width) + output.len();
            write_bits(output, values.iter().map(|value| u64::from(*value)), width);
            output.resize(end, 0);
        }
    }
}

/// Appends a run of equal values of `width` bits.
fn write_run(output: &mut Vec<u8>, value: u32, count: usize, width: u32) {
    write_number(output, (count as u64) << 1);
    output.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
}

/// Appends the header of `count` packed values, whose number is a multiple of eight in the file.
/// Returns the number of bytes that follow.
fn write_packed_header(output: &mut Vec<u8>, count: usize, width: u32) -> usize {
    let groups = count.div_ceil(8);
    write_number(output, (groups as u64) << 1 | 1);
    groups * width as usize
}

/// Appends values of `width` bits, the lowest bit first.
fn write_bits(output: &mut Vec<u8>, values: impl Iterator<Item = u64>, width: u32) {
    if width == 0 {
        return;
    }
    let (mut bits, mut count) = (0_u64, 0);
    for value in values {
        bits |= value << count;
        count += width;
        if count >= u64::BITS {
            output.extend_from_slice(&bits.to_le_bytes());
            count -= u64::BITS;
            // The bits of the value that did not fit.
            bits = value.checked_shr(width - count).unwrap_or(0);
        }
    }
    output.extend_from_slice(&bits.to_le_bytes()[..count.div_ceil(8) as usize]);
}

/// Returns the number of bits that `value` needs.
fn width_of(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

/// Appends a number with seven bits per byte, the lowest first.
fn write_number(output: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        output.push(number as u8 | 0x80);
        number >>= 7;
    }
    output.push(number as u8);
}

/// Appends a signed number in zigzag order: 0, -1, 1, -2.
fn write_signed(output: &mut Vec<u8>, number: i64) {
    write_number(output, (number << 1 ^ number >> 63) as u64);
}
