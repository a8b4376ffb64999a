//! Bytes and bit rates, and quantities in text: a number and a unit, such as `"100 Gbps"`, `"2 us"`
//! or `"16 MiB"`.
//!
//! This is the only parser of quantities, for scenarios, command line and Python. It is exact:
//! `"1.5 us"` is 1,500,000 ps, and a fraction of a base unit is an error. White space may separate
//! number and unit.

use crate::time::{Duration, Time};
use get_size2::GetSize;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// Number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, GetSize)]
pub struct Bytes(pub u64);

/// Bit rate, in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, GetSize)]
pub struct Rate(u64);

impl Bytes {
    /// Returns the number of bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Add for Bytes {
    type Output = Bytes;
    #[inline]
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    #[inline]
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}

impl Rate {
    /// Returns a rate of `bps` bits per second.
    #[inline]
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }

    /// Returns a rate of `gbps` times 10^9 bits per second.
    #[inline]
    pub const fn from_gbps(gbps: u64) -> Rate {
        Rate(gbps * 1_000_000_000)
    }

    /// Returns the bits per second.
    #[inline]
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// Returns the time for `bytes`, rounded to the nearest picosecond. For rate zero, the longest
    /// span.
    #[inline]
    pub fn time_for(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::from_ps(u64::MAX);
        }
        const BYTE: u64 = 8_000_000_000_000;
        // The product for a packet fits into 64 bits, and 64-bit division is much faster.
        if let Some(rounded) = bytes.checked_mul(BYTE).and_then(|bit_ps| bit_ps.checked_add(self.0 / 2)) {
            return Duration::from_ps(rounded / self.0);
        }
        let rate = u128::from(self.0);
        Duration::from_ps(((u128::from(bytes) * u128::from(BYTE) + rate / 2) / rate) as u64)
    }

    /// Returns the number of bytes in `span`, rounded down.
    #[inline]
    pub fn bytes_in(self, span: Duration) -> u64 {
        (u128::from(self.0) * u128::from(span.ps()) / 8_000_000_000_000) as u64
    }
}

/// Time per byte at a rate, so that a serialisation time costs one multiplication.
///
/// Exact if a byte takes a whole number of picoseconds; otherwise within half a picosecond per
/// frame. Packed to ten bytes, so that a port's state for a frame fits into two cache lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(Rust, packed(2))]
pub struct ByteTime {
    /// Picoseconds per byte, with [`ByteTime::FRACTION_BITS`] binary places.
    scaled: u64,
    /// Clock tick in picoseconds. Times are rounded down to multiples of this tick.
    tick_ps: u16,
}

impl ByteTime {
    const FRACTION_BITS: u32 = 32;

    /// Returns the time per byte at `rate`, which must not be zero.
    pub fn of(rate: Rate) -> ByteTime {
        ByteTime::with_tick(rate, Duration::from_ps(1))
    }

    /// Returns the time per byte for a clock with the given tick, at most 65 ns. Times are rounded
    /// down to multiples of the tick.
    pub fn with_tick(rate: Rate, tick: Duration) -> ByteTime {
        debug_assert!(tick.ps() <= u16::MAX.into(), "a tick has at most 65 ns");
        let scaled = 8_000_000_000_000u128 << Self::FRACTION_BITS;
        let rate = u128::from(rate.0);
        ByteTime { scaled: ((scaled + rate / 2) / rate) as u64, tick_ps: tick.ps().max(1) as u16 }
    }

    /// Returns the time for `bytes` on the wire.
    #[inline]
    pub fn times(self, bytes: u32) -> Duration {
        let half = 1u128 << (Self::FRACTION_BITS - 1);
        let ps = ((u128::from(self.scaled) * u128::from(bytes) + half) >> Self::FRACTION_BITS) as u64;
        let tick = u64::from(self.tick_ps);
        Duration::from_ps(if tick == 1 { ps } else { ps / tick * tick })
    }
}

/// Units of a kind of quantity, with their size in base units.
pub(crate) struct Units {
    /// Units for output, largest first. The last one is the base unit.
    names: &'static [(&'static str, u64)],
    /// Other accepted spellings.
    aliases: &'static [(&'static str, u64)],
    example: &'static str,
}

pub(crate) const TIME: Units = Units {
    names: &[("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)],
    // Both the micro sign and the Greek letter mu are accepted.
    aliases: &[("\u{b5}s", 1_000_000), ("\u{3bc}s", 1_000_000)],
    example: "2 us",
};
const SIZE: Units = Units {
    names: &[
        ("GiB", 1 << 30),
        ("GB", 1_000_000_000),
        ("MiB", 1 << 20),
        ("MB", 1_000_000),
        ("KiB", 1 << 10),
        ("KB", 1_000),
        ("B", 1),
    ],
    aliases: &[("kB", 1_000)],
    example: "64 KB",
};
const RATE: Units = Units {
    names: &[("Tbps", 1_000_000_000_000), ("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("Kbps", 1_000), ("bps", 1)],
    aliases: &[
        ("Tb/s", 1_000_000_000_000),
        ("Gb/s", 1_000_000_000),
        ("Mb/s", 1_000_000),
        ("Kb/s", 1_000),
        ("b/s", 1),
        ("kbps", 1_000),
        ("kb/s", 1_000),
        ("T", 1_000_000_000_000),
        ("G", 1_000_000_000),
        ("M", 1_000_000),
        ("K", 1_000),
    ],
    example: "100 Gbps",
};

/// Kind of quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Instants and spans, in ps.
    Time,
    /// Sizes, in bytes.
    Size,
    /// Bit rates, in bits per second.
    Rate,
}

impl Quantity {
    fn units(self) -> &'static Units {
        match self {
            Quantity::Time => &TIME,
            Quantity::Size => &SIZE,
            Quantity::Rate => &RATE,
        }
    }

    /// Returns the units for output, smallest first.
    pub fn unit_names(self) -> Vec<&'static str> {
        self.units().names.iter().rev().map(|(name, _)| *name).collect()
    }

    /// Returns the message for a number with a fraction of the base unit.
    fn too_fine(self) -> &'static str {
        match self {
            Quantity::Time => "not a whole number of ps",
            Quantity::Size => "not a whole number of bytes",
            Quantity::Rate => "not a whole number of bps",
        }
    }

    /// Parses `text` to a number of base units.
    ///
    /// # Errors
    ///
    /// If `text` is not a quantity of this kind.
    pub fn read(self, text: &str) -> Result<u64, UnitError> {
        let Units { names, aliases, example } = *self.units();
        let trimmed = text.trim();
        if trimmed.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            return Err(UnitError::NotRepresentable(text.into(), "negative"));
        }
        let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
        let (number, unit) = (&trimmed[..split], trimmed[split..].trim_start());
        // As in TOML, each `_` is between two digits.
        let is_sound =
            number.split('.').all(|part| !part.contains('_') || part.split('_').all(|digits| !digits.is_empty()));
        let number = number.replace('_', "");
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
        if whole.is_empty() || fraction.contains('.') || !is_sound {
            return Err(UnitError::NoNumber(text.into(), example));
        }
        if unit.is_empty() {
            return Err(UnitError::NoUnit(text.into(), example, self.unit_names()));
        }
        let Some(&(_, scale)) = names.iter().chain(aliases).find(|(name, _)| *name == unit) else {
            return Err(UnitError::UnknownUnit(unit.into(), self.unit_names()));
        };
        let too_large = || UnitError::TooLarge(text.into());
        let too_fine = || UnitError::NotRepresentable(text.into(), self.too_fine());
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > 18 {
            return Err(too_fine());
        }
        let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| too_large())?;
        let scaled = digits.checked_mul(u128::from(scale)).ok_or_else(too_large)?;
        let divisor = 10u128.pow(fraction.len() as u32);
        if scaled % divisor != 0 {
            return Err(too_fine());
        }
        u64::try_from(scaled / divisor).map_err(|_| too_large())
    }
}

/// Invalid text of a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The text does not start with a number.
    #[error("\"{0}\" does not start with a number; write for example \"{1}\"")]
    NoNumber(String, &'static str),
    /// The unit is missing.
    #[error("\"{0}\" has no unit; write for example \"{1}\" (units: {units})", units = .2.join(", "))]
    NoUnit(String, &'static str, Vec<&'static str>),
    /// The unit does not belong to this kind of quantity.
    #[error("\"{0}\" is not one of the units {units}", units = .1.join(", "))]
    UnknownUnit(String, Vec<&'static str>),
    /// The number is negative or finer than the base unit.
    #[error("\"{0}\" is {1}")]
    NotRepresentable(String, &'static str),
    /// The number exceeds 64 bits.
    #[error("\"{0}\" is too large")]
    TooLarge(String),
}

/// Writes `value` exactly: in the unit with the fewest digits, at most three of them decimals. Of
/// several such units, the one with the shortest name is used.
pub(crate) fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &Units) -> fmt::Result {
    let in_unit = |&(name, scale): &(&str, u64)| {
        let thousandths = u128::from(value) * 1000;
        if (value < scale && scale > 1) || thousandths % u128::from(scale) != 0 {
            return None;
        }
        let (whole, fraction) = (value / scale, (thousandths / u128::from(scale) % 1000) as u64);
        Some(match fraction {
            0 => format!("{whole} {name}"),
            _ => format!("{whole}.{} {name}", format!("{fraction:03}").trim_end_matches('0')),
        })
    };
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).count();
    let name = |text: &str| text.len() - text.find(' ').unwrap_or(0);
    let shortest = units.names.iter().filter_map(in_unit).min_by_key(|text| (digits(text), name(text)));
    f.write_str(&shortest.unwrap_or_default())
}

/// Implements the text form of a quantity: `FromStr`, `Display`, serde as a string, and JSON Schema
/// with a `format`.
macro_rules! quantity {
    ($type:ty, $kind:ident, $format:literal, $make:expr) => {
        impl FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                Quantity::$kind.read(text).map($make)
            }
        }
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Cow::<str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                $format.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "format": $format, "examples": [Quantity::$kind.units().example] })
            }
        }
    };
}

quantity!(Bytes, Size, "bytes", Bytes);
quantity!(Rate, Rate, "rate", Rate);
quantity!(Duration, Time, "duration", Duration::from_ps);
quantity!(Time, Time, "time", Time::from_ps);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, &SIZE)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, &RATE)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
