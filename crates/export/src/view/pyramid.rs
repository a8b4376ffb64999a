//! Minima and maxima of samples in bins, each level's [`BRANCHING`] times as wide as those below.
//!
//! A row is a bin of a place (a port or a node) and a queue there. A bin of level 0 is a sample: bin i that at the end of sample interval i. Bins in which
//! nothing was sampled have no row. Rows of a level stand in chunks of successive bins; within a chunk by place, queue and bin. Chunks of level 0 are short,
//! as all places of a sample are read at once; those of the other levels are long, as many bins of one place are.

use crate::ExportError;
use crate::view::sheet::Sheet;
use crate::view::{BRANCHING, FEW};
use backwater_columns::{Column, field};
use std::mem::take;
use std::path::Path;

/// The most values of a row.
const MOST: usize = 3;
/// About how many rows a chunk of level 0 has, and one of a higher level.
const ROWS: [u64; 2] = [1 << 13, 1 << 19];
/// The fewest bins of a chunk, and how often that can be quadrupled.
const BINS: u32 = 16;
const QUADRUPLED: u32 = 3;

/// What it means that a sample has no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absent {
    /// There was nothing.
    IsZero,
    /// The value is not known.
    IsUnknown,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    place: i32,
    queue: i32,
    bin: u32,
    /// Minimum and maximum of each value; not a number where it is not known.
    values: [[f64; 2]; MOST],
}

/// Bins of a level that have been made and not written.
#[derive(Debug, Default)]
struct Level {
    /// How many there are of this level in all.
    bins: u32,
    /// How many make up a chunk. All levels have powers of [`BRANCHING`], so that what a chunk adds to the level above is in one chunk there.
    width: u32,
    chunk: u32,
    rows: Vec<Row>,
}

/// A pyramid that is being written.
pub(super) struct Pyramid {
    sheet: Sheet,
    absent: Vec<Absent>,
    levels: Vec<Level>,
}

/// How many bins each level has, from the lowest one; the highest has [`FEW`] at most.
pub(super) fn bins_of_levels(samples: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(samples), |bins| (*bins > FEW).then(|| bins.div_ceil(BRANCHING)))
}

/// Bins of a chunk of a level: the most that have as many rows as [`ROWS`] says, or fewer, where
/// `samples` have `rows` together.
fn width(level: usize, samples: u32, rows: u64) -> u32 {
    let bins = ROWS[level.min(1)].saturating_mul(samples.into()) / rows.max(1);
    let widths = (0..=QUADRUPLED).map(|times| BINS * BRANCHING.pow(times));
    widths.rev().find(|width| u64::from(*width) <= bins).unwrap_or(BINS)
}

impl Pyramid {
    /// A pyramid called `name` in `output`, of so many samples; all of them together have about so many rows.
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

    /// A sample; they come in order of time.
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

    /// Writes what there is of a level, and adds it to the one above.
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

    /// The bin above some that are not empty, of a level with so many.
    fn merged(&self, children: &[Row], bins: u32) -> Row {
        let mut row = children[0];
        row.bin /= BRANCHING;
        let is_complete = children.len() as u32 == BRANCHING.min(bins - row.bin * BRANCHING);
        for (i, absent) in self.absent.iter().enumerate() {
            // What is not a number does not count.
            let [least, most] = children
                .iter()
                .map(|child| child.values[i])
                .fold([f64::NAN; 2], |[least, most], [low, high]| [least.min(low), most.max(high)]);
            let has_zero = !is_complete && *absent == Absent::IsZero;
            row.values[i] = [if has_zero { least.min(0.0) } else { least }, most];
        }
        row
    }

    /// Writes what is left.
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
    fn each_level_has_a_quarter_of_the_bins_until_they_are_few() {
        let bins = |samples| bins_of_levels(samples).collect::<Vec<_>>();
        assert_eq!(bins(5000), [5000, 1250, 313, 79, 20]);
        assert_eq!((bins(FEW), bins(FEW + 1), bins(0)), (vec![FEW], vec![FEW + 1, 17], vec![0]));
    }

    /// 8192 rows at level 0 and 524,288 above; a sample has 100 rows.
    #[test]
    fn chunks_have_about_as_many_rows_as_wanted() {
        let widths = |rows_of_a_sample: u64| [0, 1, 2].map(|level| width(level, 1000, 1000 * rows_of_a_sample));
        assert_eq!(widths(100), [64, 1024, 1024]);
        assert_eq!(widths(3000), [16, 64, 64]);
        assert_eq!(widths(8), [1024; 3]);
        assert_eq!(widths(9), [256, 1024, 1024]);
        assert_eq!((widths(40_000), widths(0)), ([16; 3], [1024; 3]));
    }
}
