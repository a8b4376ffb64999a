//! Pauses as intervals, and as shares of bins.
//!
//! An interval belongs to the lowest level whose chunks are at least as long as the interval. At
//! this level, it belongs to the chunk in which it starts. The intervals that contain an instant
//! are therefore in at most two chunks of each level. Bins of a level sum up the pauses of this and
//! all lower levels. There are few longer pauses, which are read as intervals.

use crate::ExportError;
use crate::run::Run;
use crate::tables::Rows;
use crate::view::BRANCHING;
use crate::view::pyramid::bins_of_levels;
use crate::view::sheet::Sheet;
use backwater_columns::{Column, Encode, field};
use parquet::schema::types::TypePtr;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::mem::{replace, take};
use std::path::Path;

/// Maximum number of bins of the lowest level in a run without samples.
const BINS: u64 = 1 << 12;
/// Bins in a chunk.
const CHUNK: u32 = 64;
/// Maximum length of the list of ports that caused pauses.
const MOST: usize = 1000;
/// Placeholder for an unknown number.
const UNKNOWN: i32 = -1;

#[derive(Clone, Copy, Debug)]
struct Interval {
    port: u32,
    queue: u16,
    start: u64,
    end: u64,
    is_open: bool,
    cause: u32,
    via: Option<u32>,
    parent: Option<(u64, u64)>,
    hops: Option<u64>,
}

/// Pause time of a queue in a bin, ps, and the port that caused most of it.
#[derive(Clone, Copy, Debug)]
struct Share {
    port: u32,
    queue: u16,
    bin: u64,
    cause: u32,
    paused: u64,
}

/// Pause time by cause, for each port, queue and bin.
type Bins = BTreeMap<(u32, u16, u64), BTreeMap<u32, u64>>;

/// Part of a level that is not yet written, by chunk.
#[derive(Debug, Default)]
struct Level {
    intervals: BTreeMap<u64, Vec<Interval>>,
    bins: BTreeMap<u64, Bins>,
}

/// Files of pauses in progress.
pub(super) struct Pauses {
    intervals: Sheet,
    paused: Sheet,
    /// Width of the bins of level 0, ps.
    width: u64,
    end: u64,
    levels: Vec<Level>,
    /// Time at which the next chunk can be closed.
    next: u64,
    /// Total pause time by cause.
    causes: BTreeMap<u32, u64>,
}

/// Returns the bin width of level 0, ps: the sample interval, or the width for at most [`BINS`]
/// bins.
fn width_of(sample_ps: u64, end_ps: u64) -> u64 {
    if sample_ps > 0 { sample_ps } else { end_ps / BINS + 1 }
}

impl Pauses {
    pub(super) fn create(output: &Path, sample_ps: u64, end_ps: u64) -> Result<Pauses, ExportError> {
        let keys = of::<i32>(&["level", "port", "queue"]);
        let times = of::<f64>(&["start", "end", "parent_start"]);
        let others = of::<i32>(&["open", "cause", "via", "parent_queue", "hops"]);
        let shares = [of::<i32>(&["bin", "cause"]), of::<f64>(&["paused"])].concat();
        let width = width_of(sample_ps, end_ps);
        let bins = end_ps.div_ceil(width).min(u32::MAX.into()) as u32;
        Ok(Pauses {
            intervals: Sheet::create(output, "pauses", [keys.clone(), times, others].concat())?,
            paused: Sheet::create(output, "paused", [keys, shares].concat())?,
            width,
            end: end_ps,
            levels: bins_of_levels(bins).map(|_| Level::default()).collect(),
            next: 0,
            causes: BTreeMap::new(),
        })
    }

    /// Returns the bin width of a level.
    fn width(&self, level: usize) -> u64 {
        self.width * u64::from(BRANCHING).pow(level as u32)
    }

    /// Returns the chunk width of a level.
    fn span(&self, level: usize) -> u64 {
        self.width(level) * u64::from(CHUNK)
    }

    /// Reads rows of the table, which is ordered by end.
    pub(super) fn read(&mut self, rows: &Rows<'_>, run: &Run) -> Result<(), ExportError> {
        let node = |column: &str| Ok::<_, ExportError>(rows.names(column)?.numbers(run));
        let (node, peer, cause_node) = (node("node")?, node("peer")?, node("cause_node")?);
        let (port, queue, start) = (rows.numbers("port")?, rows.numbers("queue")?, rows.numbers("start_ps")?);
        let (end, cause, via) = (rows.numbers("end_ps")?, rows.numbers("cause_port")?, rows.numbers("via_port")?);
        let (parent, since) = (rows.numbers("parent_queue")?, rows.numbers("parent_start_ps")?);
        let hops = rows.numbers("hops")?;
        for row in 0..rows.len() {
            self.push(Interval {
                port: run.port_number((node(row), port.at(row) as u16)),
                queue: queue.at(row) as u16,
                start: start.at(row),
                end: end.get(row).unwrap_or(self.end),
                is_open: end.get(row).is_none(),
                cause: run.port_number((cause_node(row), cause.at(row) as u16)),
                via: via.get(row).map(|via| run.port_number((peer(row), via as u16))),
                parent: parent.get(row).zip(since.get(row)),
                hops: hops.get(row),
            })?;
        }
        Ok(())
    }

    fn push(&mut self, pause: Interval) -> Result<(), ExportError> {
        if pause.end >= self.next {
            self.close(pause.end)?;
            self.next = (pause.end / self.span(0) + 1) * self.span(0);
        }
        let length = pause.end - pause.start;
        *self.causes.entry(pause.cause).or_default() += length;
        let last = self.levels.len() - 1;
        let level = (0..last).find(|level| length <= self.span(*level)).unwrap_or(last);
        let (width, span) = (self.width(level), self.span(level));
        let open = &mut self.levels[level];
        open.intervals.entry(pause.start / span).or_default().push(pause);
        for bin in pause.start / width..pause.end.div_ceil(width) {
            let share = pause.end.min((bin + 1) * width) - pause.start.max(bin * width);
            let bins = open.bins.entry(bin / u64::from(CHUNK)).or_default();
            *bins.entry((pause.port, pause.queue, bin)).or_default().entry(pause.cause).or_default() += share;
        }
        Ok(())
    }

    /// Writes the chunks to which no pause that ends at `now` or later belongs.
    fn close(&mut self, now: u64) -> Result<(), ExportError> {
        for level in 0..self.levels.len() {
            let span = self.span(level);
            // Later intervals of this level start at most one span before `now`.
            let first = (now / span).saturating_sub(1);
            let open = &mut self.levels[level];
            let later = open.intervals.split_off(&first);
            let intervals = replace(&mut open.intervals, later);
            let later = open.bins.split_off(&first);
            let bins = replace(&mut open.bins, later);
            self.write(level, Level { intervals, bins })?;
        }
        Ok(())
    }

    /// Writes complete chunks of a level.
    fn write(&mut self, level: usize, Level { intervals, bins }: Level) -> Result<(), ExportError> {
        for mut intervals in intervals.into_values() {
            intervals.sort_unstable_by_key(|pause| (pause.start, pause.port, pause.queue));
            self.intervals.write(&intervals, |rows| interval_columns(level, rows))?;
        }
        bins.into_iter().try_for_each(|(chunk, bins)| self.write_bins(level, chunk, bins))
    }

    /// Writes a chunk of bins, and adds it to the next level.
    fn write_bins(&mut self, level: usize, chunk: u64, bins: Bins) -> Result<(), ExportError> {
        let share = |(&(port, queue, bin), causes): (&(u32, u16, u64), &BTreeMap<u32, u64>)| {
            let main = causes.iter().max_by_key(|(_, length)| **length).map_or(0, |(cause, _)| *cause);
            Share { port, queue, bin, cause: main, paused: causes.values().sum() }
        };
        let shares: Vec<Share> = bins.iter().map(share).collect();
        self.paused.write(&shares, |shares| share_columns(level, shares))?;
        if let Some(above) = self.levels.get_mut(level + 1) {
            let above = above.bins.entry(chunk / u64::from(BRANCHING)).or_default();
            for ((port, queue, bin), causes) in bins {
                let sums = above.entry((port, queue, bin / u64::from(BRANCHING))).or_default();
                causes.into_iter().for_each(|(cause, length)| *sums.entry(cause).or_default() += length);
            }
        }
        Ok(())
    }

    /// Writes the rest. Returns the bin width of level 0 and the ports that caused the longest
    /// pauses, longest first.
    pub(super) fn finish(mut self) -> Result<Value, ExportError> {
        for level in 0..self.levels.len() {
            let left = take(&mut self.levels[level]);
            self.write(level, left)?;
        }
        self.intervals.finish()?;
        self.paused.finish()?;
        let mut causes: Vec<_> = self.causes.into_iter().collect();
        causes.sort_by_key(|&(port, length)| (Reverse(length), port));
        let causes: Vec<u32> = causes.into_iter().take(MOST).map(|(port, _)| port).collect();
        Ok(json!({ "width_ps": self.width, "causes": causes }))
    }
}

/// Declares columns of one type.
fn of<V: Encode>(names: &[&str]) -> Vec<TypePtr> {
    names.iter().map(|name| field::<V>(name, false)).collect()
}

fn share_columns(level: usize, shares: &[Share]) -> Vec<Column> {
    let numbers = |of: &dyn Fn(&Share) -> i32| Column::required(shares.iter().map(of));
    vec![
        numbers(&|_| level as i32),
        numbers(&|share| share.port as i32),
        numbers(&|share| share.queue.into()),
        numbers(&|share| share.bin as i32),
        numbers(&|share| share.cause as i32),
        Column::required(shares.iter().map(|share| share.paused as f64)),
    ]
}

fn interval_columns(level: usize, rows: &[Interval]) -> Vec<Column> {
    let numbers = |of: &dyn Fn(&Interval) -> i32| Column::required(rows.iter().map(of));
    let times = |of: &dyn Fn(&Interval) -> f64| Column::required(rows.iter().map(of));
    vec![
        numbers(&|_| level as i32),
        numbers(&|pause| pause.port as i32),
        numbers(&|pause| pause.queue.into()),
        times(&|pause| pause.start as f64),
        times(&|pause| pause.end as f64),
        times(&|pause| pause.parent.map_or(f64::from(UNKNOWN), |(_, since)| since as f64)),
        numbers(&|pause| pause.is_open.into()),
        numbers(&|pause| pause.cause as i32),
        numbers(&|pause| pause.via.map_or(UNKNOWN, |via| via as i32)),
        numbers(&|pause| pause.parent.map_or(UNKNOWN, |(queue, _)| queue as i32)),
        numbers(&|pause| pause.hops.map_or(UNKNOWN, |hops| hops as i32)),
    ]
}

#[cfg(test)]
mod tests;
