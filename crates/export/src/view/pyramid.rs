//! Minima and maxima of samples in bins. The bins of a level are [`BRANCHING`] times as wide as
//! those of the level below.
//!
//! A row is a bin of a place (port or node) and a queue. A bin of level 0 is a sample: bin i is the
//! sample at the end of sample interval i. Bins without samples have no row.
//!
//! Rows of a level form chunks of successive bins, sorted by place, queue and bin. Chunks of level
//! 0 are short, because all places of a sample are read at once. Chunks of other levels are long,
//! because many bins of one place are read.

use crate::ExportError;
use crate::view::sheet::Sheet;
use crate::view::{BRANCHING, FEW};
use backwater_columns::{Column, field};
use std::mem::take;
use std::path::Path;

/// Maximum number of values of a row.
const MOST: usize = 3;
/// Approximate number of rows of a chunk of level 0, and of a higher level.
const ROWS: [u64; 2] = [1 << 13, 1 << 19];
/// Minimum number of bins of a chunk, and maximum number of times that this number is quadrupled.
const BINS: u32 = 16;
const QUADRUPLED: u32 = 3;

/// Meaning of a missing sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absent {
    /// The value is zero.
    IsZero,
    /// The value is unknown.
    IsUnknown,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    place: i32,
    queue: i32,
    bin: u32,
    /// Minimum and maximum of each value; NaN if unknown.
    values: [[f64; 2]; MOST],
}

/// Bins of a level that are not yet written.
#[derive(Debug, Default)]
struct Level {
    /// Number of bins of this level.
    bins: u32,
    /// Number of bins in a chunk, a power of [`BRANCHING`], so that a chunk contributes to only one
    /// chunk of the next level.
    width: u32,
    chunk: u32,
    rows: Vec<Row>,
}

/// Pyramid in progress.
pub(super) struct Pyramid {
    sheet: Sheet,
    absent: Vec<Absent>,
    levels: Vec<Level>,
}

/// Returns the number of bins of each level, from the lowest. The highest has at most [`FEW`].
pub(super) fn bins_of_levels(samples: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(samples), |bins| (*bins > FEW).then(|| bins.div_ceil(BRANCHING)))
}

/// Returns the number of bins in a chunk of a level. A chunk has about [`ROWS`] rows at most, if
/// `samples` have `rows` in total.
fn width(level: usize, samples: u32, rows: u64) -> u32 {
    let bins = ROWS[level.min(1)].saturating_mul(samples.into()) / rows.max(1);
    let widths = (0..=QUADRUPLED).map(|times| BINS * BRANCHING.pow(times));
    widths.rev().find(|width| u64::from(*width) <= bins).unwrap_or(BINS)
}

impl Pyramid {
    /// Creates the pyramid `name` in `output` for `samples` with about `rows` rows in total.
    pub(super) fn create(
        output: &Path,
        name: &str,
        values: &[(&'static str, Absent)],
        samples: u32,
        rows: u64,
    ) -> Result<Pyramid, ExportError> {
        let keys = ["level", "place", "queue", "bin"].map(|name| field::<i32>(name, false));
        let bounds =
            |(name, _): &(&str, Absent)| ["min", "max"].map(|bound| field::<f64>(&format!("{name}_{bound}"), false));
        let columns = keys.into_iter().chain(values.iter().flat_map(bounds)).collect();
        let levels = bins_of_levels(samples).enumerate();
        let levels =
            levels.map(|(level, bins)| Level { bins, width: width(level, samples, rows), ..Default::default() });
        Ok(Pyramid {
            sheet: Sheet::create(output, name, columns)?,
            absent: values.iter().map(|(_, absent)| *absent).collect(),
            levels: levels.collect(),
        })
    }

    /// Adds a sample, in order of time.
    pub(super) fn push(
        &mut self,
        bin: u32,
        place: i32,
        queue: i32,
        value: impl Fn(usize) -> f64,
    ) -> Result<(), ExportError> {
        let count = self.absent.len();
        let values = std::array::from_fn(|i| if i < count { [value(i); 2] } else { [f64::NAN; 2] });
        self.add(0, Row { place, queue, bin, values })
    }

    fn add(&mut self, level: usize, row: Row) -> Result<(), ExportError> {
        let chunk = row.bin / self.levels[level].width;
        if chunk != self.levels[level].chunk {
            self.close(level)?;
            self.levels[level].chunk = chunk;
        }
        self.levels[level].rows.push(row);
        Ok(())
    }

    /// Writes the open chunk of a level, and adds it to the next level.
    fn close(&mut self, level: usize) -> Result<(), ExportError> {
        let Level { bins, ref mut rows, .. } = self.levels[level];
        let mut rows = take(rows);
        rows.sort_unstable_by_key(|row| (row.place, row.queue, row.bin));
        let values = self.absent.len();
        self.sheet.write(&rows, |rows| columns(level, rows, values))?;
        if level + 1 < self.levels.len() {
            let parent = |row: &Row| (row.place, row.queue, row.bin / BRANCHING);
            for children in rows.chunk_by(|one, other| parent(one) == parent(other)) {
                let row = self.merged(children, bins);
                self.add(level + 1, row)?;
            }
        }
        Ok(())
    }

    /// Merges non-empty bins to a bin of the next level. `bins` is the number of bins of their
    /// level.
    fn merged(&self, children: &[Row], bins: u32) -> Row {
        let mut row = children[0];
        row.bin /= BRANCHING;
        let is_complete = children.len() as u32 == BRANCHING.min(bins - row.bin * BRANCHING);
        for (i, absent) in self.absent.iter().enumerate() {
            // NaN is ignored.
            let [least, most] = children
                .iter()
                .map(|child| child.values[i])
                .fold([f64::NAN; 2], |[least, most], [low, high]| [least.min(low), most.max(high)]);
            let has_zero = !is_complete && *absent == Absent::IsZero;
            row.values[i] = [if has_zero { least.min(0.0) } else { least }, most];
        }
        row
    }

    /// Writes the rest.
    pub(super) fn finish(mut self) -> Result<(), ExportError> {
        for level in 0..self.levels.len() {
            self.close(level)?;
        }
        self.sheet.finish()
    }
}

fn columns(level: usize, rows: &[Row], values: usize) -> Vec<Column> {
    let numbers = |of: &dyn Fn(&Row) -> i32| Column::required(rows.iter().map(of));
    let keys = [
        numbers(&|_| level as i32),
        numbers(&|row| row.place),
        numbers(&|row| row.queue),
        numbers(&|row| row.bin as i32),
    ];
    let bounds = (0..values).flat_map(|i| [0, 1].map(|bound| (i, bound)));
    let bounds = bounds.map(|(i, bound)| Column::required(rows.iter().map(move |row| row.values[i][bound])));
    keys.into_iter().chain(bounds).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_has_a_quarter_of_the_bins() {
        let bins = |samples| bins_of_levels(samples).collect::<Vec<_>>();
        assert_eq!(bins(5000), [5000, 1250, 313, 79, 20]);
        assert_eq!((bins(FEW), bins(FEW + 1), bins(0)), (vec![FEW], vec![FEW + 1, 17], vec![0]));
    }

    /// The limits are 8192 rows at level 0 and 524,288 rows at higher levels.
    #[test]
    fn chunks_have_about_the_intended_number_of_rows() {
        let widths = |rows_of_a_sample: u64| [0, 1, 2].map(|level| width(level, 1000, 1000 * rows_of_a_sample));
        assert_eq!(widths(100), [64, 1024, 1024]);
        assert_eq!(widths(3000), [16, 64, 64]);
        assert_eq!(widths(8), [1024; 3]);
        assert_eq!(widths(9), [256, 1024, 1024]);
        assert_eq!((widths(40_000), widths(0)), ([16; 3], [1024; 3]));
    }
}
