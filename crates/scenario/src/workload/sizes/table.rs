//! Files of size distributions: the library's format, and the lines of the HPCC family.

use super::{Distribution, Interpolation, Knot, MAX_BYTES};
use serde::Deserialize;

/// A size distribution and its source.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeTable {
    /// Title.
    pub title: String,
    /// Authors of the measurement, and of the published points.
    pub source: String,
    /// Points of the cumulative probability.
    pub knots: Vec<Knot>,
    /// Interpolation rule of the source.
    pub interpolation: Interpolation,
    /// Mean stated in the file, in the file's unit (line 1 of Pyrrha's files).
    pub stated_mean: Option<f64>,
}

/// An error in a file of sizes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TableError {
    /// Line, counted from 1.
    pub line: usize,
    /// The value and the rule that it breaks.
    pub message: String,
}

impl SizeTable {
    /// Reads the library's format: TOML with `title`, `source`, `interpolation` and
    /// `knots = [[bytes, cumulative probability], ...]`.
    ///
    /// # Errors
    /// The first error.
    pub fn from_toml(text: &str) -> Result<SizeTable, TableError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            title: String,
            source: String,
            #[serde(default)]
            interpolation: Interpolation,
            knots: Vec<toml::Spanned<(u64, f64)>>,
        }
        let line = |offset: usize| text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count() + 1;
        let file: File = toml::from_str(text).map_err(|error| TableError {
            line: line(error.span().map_or(0, |span| span.start.min(text.len()))),
            message: error.message().into(),
        })?;
        let lines: Vec<usize> = file.knots.iter().map(|knot| line(knot.span().start)).collect();
        let knots =
            file.knots.into_iter().map(|knot| knot.into_inner()).map(|(bytes, cumulative)| Knot { bytes, cumulative });
        let knots = checked(knots.collect(), &lines)?;
        let File { title, source, interpolation, .. } = file;
        Ok(SizeTable { title, source, knots, interpolation, stated_mean: None })
    }

    /// Reads lines `<bytes> <cumulative probability>`. Probabilities are percentages if the last
    /// value is 100, and fractions if the last value is 1. A first line of one number states the
    /// mean (Pyrrha and Homa). Empty lines and text after a `#` are skipped.
    ///
    /// # Errors
    /// The first error.
    pub fn from_lines(text: &str) -> Result<SizeTable, TableError> {
        let (mut knots, mut lines, mut stated_mean) = (Vec::new(), Vec::new(), None);
        for (i, line) in text.lines().enumerate() {
            let at = |message: String| TableError { line: i + 1, message };
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            match words[..] {
                [] => {}
                [mean] if knots.is_empty() && stated_mean.is_none() => stated_mean = Some(number(mean).map_err(at)?),
                [bytes, cumulative] => {
                    let size = number(bytes).map_err(at)?;
                    if size.fract() != 0.0 || !(0.0..=MAX_BYTES as f64).contains(&size) {
                        return Err(at(format!("the size is {bytes}; must be a whole number from 0 to {MAX_BYTES}")));
                    }
                    knots.push(Knot { bytes: size as u64, cumulative: number(cumulative).map_err(at)? });
                    lines.push(i + 1);
                }
                _ => {
                    let message = format!("must be `<bytes> <cumulative percent>`; found {} columns", words.len());
                    return Err(at(message));
                }
            }
        }
        let last = knots.last().map_or(0.0, |knot| knot.cumulative);
        if (last - 100.0).abs() < 1e-6 {
            for knot in &mut knots {
                knot.cumulative /= 100.0;
            }
        } else if !knots.is_empty() && (last - 1.0).abs() > 1e-9 {
            let message = format!("the last probability is {last}; must be 100 (percent) or 1");
            return Err(TableError { line: lines[lines.len() - 1], message });
        }
        let knots = checked(knots, &lines)?;
        let (title, source) = (String::new(), String::new());
        Ok(SizeTable { title, source, knots, interpolation: Interpolation::Linear, stated_mean })
    }

    /// Returns the distribution with sizes in units of `unit` bytes, interpolated by `rule` or by
    /// the table's own rule.
    ///
    /// # Errors
    /// If `unit` makes the sizes too large.
    pub fn distribution(&self, rule: Option<Interpolation>, unit: u64) -> Result<Distribution, String> {
        let scaled = |knot: &Knot| Knot { bytes: knot.bytes.saturating_mul(unit), ..*knot };
        let knots = self.knots.iter().map(scaled).collect();
        Distribution::new(knots, rule.unwrap_or(self.interpolation)).map_err(|(_, message)| message)
    }
}

fn checked(knots: Vec<Knot>, lines: &[usize]) -> Result<Vec<Knot>, TableError> {
    match Distribution::new(knots.clone(), Interpolation::Linear) {
        Ok(_) => Ok(knots),
        Err((i, message)) => Err(TableError { line: lines.get(i).copied().unwrap_or(1), message }),
    }
}

fn number(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("\"{text}\" is not a number")),
    }
}
