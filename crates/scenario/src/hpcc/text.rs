//! Lines, tokens and exact numbers.

use super::in_file;
use crate::diagnostic::{Diagnostic, counted};
use backwater_engine::{Duration, Rate};
use std::fmt::Display;

/// A non-blank line.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) number: usize,
    text: &'a str,
}

/// A word of a line.
#[derive(Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) line: Line<'a>,
}

/// Returns the non-blank lines of `text`.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..)
        .zip(text.lines())
        .map(|(number, text)| Line { number, text })
        .filter(|line| !line.text.trim_ascii().is_empty())
}

impl<'a> Line<'a> {
    pub(super) fn tokens(self) -> impl Iterator<Item = Token<'a>> {
        self.text.split_ascii_whitespace().map(move |text| Token { text, line: self })
    }

    /// Returns the line up to the first of `marks`.
    pub(super) fn before(self, marks: &[char]) -> Line<'a> {
        Line { text: self.text.split(marks).next().unwrap_or(""), ..self }
    }
}

impl Token<'_> {
    /// Returns the column within the line, counted from 1.
    pub(super) fn column(self) -> usize {
        let offset = self.text.as_ptr() as usize - self.line.text.as_ptr() as usize;
        self.line.text[..offset].chars().count() + 1
    }
}

/// Collects the errors of one file, up to a readable number.
pub(super) struct Errors<'a> {
    file: &'a str,
    list: Vec<Diagnostic>,
    left_out: usize,
}

const MOST_ERRORS: usize = 50;

impl<'a> Errors<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Errors { file, list: Vec::new(), left_out: 0 }
    }

    pub(super) fn push(&mut self, line: usize, column: usize, message: impl Into<String>) {
        if self.list.len() < MOST_ERRORS {
            self.list.push(in_file(self.file, line, column, message));
        } else {
            self.left_out += 1;
        }
    }

    pub(super) fn at(&mut self, token: Token<'_>, message: impl Into<String>) {
        self.push(token.line.number, token.column(), message);
    }

    /// Adds a hint to the last error.
    pub(super) fn hint(&mut self, hint: impl Into<String>) {
        if let Some(error) = self.list.last_mut() {
            error.hint = Some(hint.into());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn into_list(mut self) -> Vec<Diagnostic> {
        if let (Some(last), more @ 1..) = (self.list.last_mut(), self.left_out) {
            last.hint = Some(format!("not shown: {} of this file", counted(more, "more error")));
        }
        self.list.sort_by_key(|error| (error.line, error.column));
        self.list
    }

    /// Returns `value`, or the errors if there are any.
    pub(super) fn into_result<T>(self, value: T) -> Result<T, Vec<Diagnostic>> {
        if self.is_empty() { Ok(value) } else { Err(self.into_list()) }
    }

    /// Converts a token by `read`. An error has the token, the reason and the `expected` form.
    pub(super) fn read<T>(&mut self, token: Token<'_>, expected: impl Display, read: Reader<T>) -> Option<T> {
        match read(token.text) {
            Ok(value) => Some(value),
            Err(why) => {
                self.at(token, format!("\"{}\" {why}; expected {expected}", shorten(token.text)));
                None
            }
        }
    }

    /// Reads a whole number between `low` and `high`.
    pub(super) fn integer<T>(&mut self, token: Token<'_>, what: &str, low: T, high: T) -> Option<T>
    where
        T: TryFrom<u64> + Into<u64> + Display + PartialOrd + Copy,
    {
        let expected = format_args!("{what}, a whole number from {low} to {high}");
        let value = self.read(token, expected, whole)?;
        match T::try_from(value) {
            Ok(value) if value >= low && value <= high => Some(value),
            _ => {
                self.at(token, format!("\"{}\" is out of range; expected {expected}", token.text));
                None
            }
        }
    }
}

fn whole(text: &str) -> Result<u64, &'static str> {
    let value = decimal(text, 0)?;
    if text.bytes().all(|byte| byte.is_ascii_digit()) { Ok(value) } else { Err("does not consist of digits only") }
}

/// Converts a text to a value, or returns the reason for a failure, such as "is negative".
pub(super) type Reader<T> = fn(&str) -> Result<T, &'static str>;

/// Shortens a token for an error.
fn shorten(text: &str) -> String {
    if text.chars().count() > 40 { format!("{}…", text.chars().take(40).collect::<String>()) } else { text.into() }
}

/// Returns the decimal number `text` times 10^`scale`, rounded to the nearest integer. The result
/// is exact for any number of digits.
pub(super) fn decimal(text: &str, scale: i64) -> Result<u64, &'static str> {
    const NOT_A_NUMBER: &str = "is not a number";
    const TOO_LARGE: &str = "is too large";
    if let Some(rest) = text.strip_prefix('-') {
        return decimal(rest, scale).and(Err("is negative"));
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NOT_A_NUMBER);
    }
    let exponent: i32 = exponent.parse().map_err(|_| NOT_A_NUMBER)?;
    // Position of the decimal point among the digits after scaling. If the point is before the
    // first digit, the number is below a tenth and rounds to 0.
    let Ok(point) = usize::try_from(whole.len() as i64 + i64::from(exponent) + scale) else { return Ok(0) };
    let (kept, cut) = digits.split_at(point.min(digits.len()));
    let kept = kept.trim_start_matches('0');
    let value: u64 = if kept.is_empty() { 0 } else { kept.parse().map_err(|_| TOO_LARGE)? };
    let zeros = if value == 0 { 0 } else { point.saturating_sub(digits.len()) };
    let zeros = u32::try_from(zeros).map_err(|_| TOO_LARGE)?;
    let value = 10u64.checked_pow(zeros).and_then(|power| value.checked_mul(power)).ok_or(TOO_LARGE)?;
    value.checked_add(u64::from(cut.as_bytes().first() >= Some(&b'5'))).ok_or(TOO_LARGE)
}

/// Reads a time in units of 10^(`scale` - 12) s, up to 10^6 s.
pub(super) fn ticks(text: &str, scale: i64) -> Result<u64, &'static str> {
    decimal(text, scale).and_then(|ps| if ps <= 1_000_000_000_000_000_000 { Ok(ps) } else { Err("is too large") })
}

/// Reads a real number of at least zero.
pub(super) fn real(text: &str) -> Result<f64, &'static str> {
    let value: f64 = text.parse().map_err(|_| "is not a number")?;
    match value {
        value if value.is_nan() => Err("is not a number"),
        value if value < 0.0 => Err("is negative"),
        value if value.is_infinite() => Err("is too large"),
        value => Ok(value),
    }
}

/// Reads a bit rate of ns-3: `100Gbps`, `40Mb/s`, or bits per second without a unit.
pub(super) fn rate(text: &str) -> Result<Rate, &'static str> {
    let number = text.strip_suffix("bps").or_else(|| text.strip_suffix("b/s")).unwrap_or(text);
    let (number, scale) = match number.char_indices().next_back() {
        Some((end, 'k' | 'K')) => (&number[..end], 3),
        Some((end, 'M')) => (&number[..end], 6),
        Some((end, 'G')) => (&number[..end], 9),
        Some((end, 'T')) => (&number[..end], 12),
        _ => (number, 0),
    };
    decimal(number, scale).map(Rate::from_bps)
}

/// Like [`rate`], but in Gb/s without a unit (Pyrrha).
pub(super) fn rate_or_gbps(text: &str) -> Result<Rate, &'static str> {
    if is_bare(text) { decimal(text, 9).map(Rate::from_bps) } else { rate(text) }
}

/// True if `text` is a number without a unit.
fn is_bare(text: &str) -> bool {
    text.ends_with(|last: char| last.is_ascii_digit() || last == '.')
}

/// Reads a duration of ns-3: `1000ns`, `0.001ms`, or seconds without a unit.
pub(super) fn span(text: &str) -> Result<Duration, &'static str> {
    let units = [("ps", 0), ("ns", 3), ("us", 6), ("ms", 9), ("s", 12)];
    let unit = units.into_iter().find_map(|(unit, scale)| text.strip_suffix(unit).map(|number| (number, scale)));
    let (number, scale) = unit.unwrap_or((text, 12));
    ticks(number, scale).map(Duration::from_ps)
}

/// Like [`span`], but in nanoseconds without a unit (Pyrrha).
pub(super) fn span_or_ns(text: &str) -> Result<Duration, &'static str> {
    if is_bare(text) { ticks(text, 3).map(Duration::from_ps) } else { span(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(decimal("2.000000037", 12), Ok(2_000_000_037_000));
        assert_eq!(decimal("2", 12), Ok(2_000_000_000_000));
        assert_eq!(decimal("1e-06", 12), Ok(1_000_000));
        assert_eq!(decimal("25000000000.0", 0), Ok(25_000_000_000));
        assert_eq!(decimal("0.00000000000049", 12), Ok(0));
        assert_eq!(decimal("0.0000000000005", 12), Ok(1));
        assert_eq!(decimal("000e999999999", 12), Ok(0));
        assert_eq!(decimal("18446744073709551615", 0), Ok(u64::MAX));
        for (text, why) in [
            ("18446744073709551616", "is too large"),
            ("1e20", "is too large"),
            ("1e999999999", "is too large"),
            ("-1", "is negative"),
            ("nan", "is not a number"),
            ("1.2.3", "is not a number"),
            (".", "is not a number"),
            ("1e", "is not a number"),
            ("--1", "is negative"),
            ("", "is not a number"),
        ] {
            assert_eq!(decimal(text, 0), Err(why), "{text}");
        }
    }

    #[test]
    fn rates_and_spans_are_those_of_ns3() {
        for text in ["100Gbps", "100Gb/s", "100000000000bps", "100000000000.0", "0.1Tbps"] {
            assert_eq!(rate(text), Ok(Rate::from_gbps(100)), "{text}");
        }
        for text in ["1000ns", "1us", "0.001ms", "0.000001s", "0.000001"] {
            assert_eq!(span(text), Ok(Duration::from_us(1)), "{text}");
        }
        for text in ["100", "100.0", "100Gbps", "1e2"] {
            assert_eq!(rate_or_gbps(text), Ok(Rate::from_gbps(100)), "{text}");
        }
        for text in ["1000", "1000.", "1us", "1e3"] {
            assert_eq!(span_or_ns(text), Ok(Duration::from_us(1)), "{text}");
        }
        assert_eq!(rate("Gbps"), Err("is not a number"));
        assert_eq!(span("1 parsec"), Err("is not a number"));
    }

    #[test]
    fn columns_count_characters() {
        let line = lines("\n  ä b ").next().unwrap();
        let columns: Vec<_> = line.tokens().map(Token::column).collect();
        assert_eq!((line.number, columns), (2, vec![3, 5]));
    }

    proptest! {
        #[test]
        fn decimal_agrees_with_integers(value in any::<u64>(), zeros in 0usize..4) {
            prop_assert_eq!(decimal(&format!("{value}.{}", "0".repeat(zeros)), 0), Ok(value));
            prop_assert_eq!(decimal(&format!("{value}e-3"), 3), Ok(value));
        }

        #[test]
        fn readers_never_panic(text in "\\PC*") {
            let _ = (decimal(&text, 12), rate(&text), span(&text), real(&text));
            let _ = (rate_or_gbps(&text), span_or_ns(&text));
        }
    }
}
