//! Input files of the viewer, which answers queries with few short reads for runs of any length.
//! The files contain pyramids of samples, pauses by length and start, and flows by number.
//!
//! | file | contents |
//! |---|---|
//! | `queues`, `egress`, `ingress`, `ports`, `buffers` | extremes of samples ([`pyramid`]) |
//! | `pauses` | intervals of `pauses.parquet` ([`pauses`]) |
//! | `paused` | pause time in bins, and its cause ([`pauses`]) |
//! | `flows` | rows of `flows.parquet`, by number ([`flows`]) |
//! | `senders` | activity of traced senders, by flow |
//! | `index.json` | checksums of the tables; written last |
//!
//! Nodes are numbered in the order of `topology.json`, and ports are numbered node by node.
//!
//! Row groups are small. Each row group has one level and one time span, so that a reader finds the
//! row groups that it needs by the statistics in the footer. Whole numbers have 32 bits and all
//! other numbers double precision, which scripts in a browser read without conversion. Times up to
//! 2^53 ps (150 minutes) are exact.

mod flows;
mod pauses;
mod pyramid;
mod senders;
mod sheet;

use self::pauses::Pauses;
use self::pyramid::{Absent, Pyramid};
use crate::ExportError;
use crate::run::Run;
use crate::tables::{self, Rows};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Version of the format of the files. Increase it with every change of the format.
const VERSION: u32 = 6;
/// File with the checksums of the tables.
pub const INDEX: &str = "index.json";
/// Tables from which the files are derived.
pub const TABLES: [&str; 10] =
    ["queues", "egress", "ingress", "ports", "buffers", "pauses", "flows", "waits", "signals", "events"];
/// Files besides the index.
pub const FILES: [&str; 9] = [
    "queues.parquet",
    "egress.parquet",
    "ingress.parquet",
    "ports.parquet",
    "buffers.parquet",
    "pauses.parquet",
    "paused.parquet",
    "flows.parquet",
    "senders.parquet",
];

/// Returns the version of the files: that of their format, and the columns of flows that the index
/// lists. Files of another version are derived again.
pub fn version() -> String {
    format!("{VERSION}, flows: {}", flows::LISTED.join(", "))
}

/// Number of bins that form a bin of the next level.
const BRANCHING: u32 = 4;
/// Maximum number of bins of the highest level.
const FEW: u32 = 64;
/// Maximum number of rows of a row group.
const GROUP: usize = 1 << 14;
/// Place number that stands for all ports together.
const EVERYWHERE: i32 = -1;
/// Number of events between two times in the index.
const EVENT_STEP: u64 = 1 << 12;

/// Progress callback: rows read, and total rows. Returns false to stop.
pub type Tell<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

/// Result that is being read.
struct Source<'a> {
    directory: &'a Path,
    run: Run,
    done: u64,
    total: u64,
    tell: Tell<'a>,
}

impl Source<'_> {
    fn path(&self, table: &str) -> Option<PathBuf> {
        Some(self.directory.join(format!("{table}.parquet"))).filter(|path| path.exists())
    }

    /// Returns the number of rows of a table, or 0 if the result lacks the table.
    fn row_count(&self, table: &str) -> Result<u64, ExportError> {
        self.path(table).map_or(Ok(0), |path| tables::row_count(&path))
    }

    /// Calls `handle` with all row groups of a table, if the result has the table.
    fn read(
        &mut self,
        table: &str,
        mut handle: impl FnMut(&Rows<'_>, &Run) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let Some(path) = self.path(table) else { return Ok(()) };
        tables::read(&path, None, |rows| {
            handle(rows, &self.run)?;
            self.done += rows.len() as u64;
            if (self.tell)(self.done, self.total) { Ok(()) } else { Err(ExportError::Stopped) }
        })
    }
}

/// Writes the files for the run in `directory` into `output`, which exists.
///
/// # Errors
///
/// If a file cannot be read or written, or `tell` returned false.
pub fn build(directory: &Path, output: &Path, tell: Tell<'_>) -> Result<(), ExportError> {
    let run = Run::read(directory)?;
    let mut source = Source { directory, run, done: 0, total: 0, tell };
    source.total = TABLES.iter().map(|table| source.row_count(table)).sum::<Result<_, _>>()?;
    if source.run.sample_ps > 0 {
        source.queues(output)?;
        source.pyramid(output, "egress", Some("queue"), &[("bytes", Absent::IsZero)])?;
        let ingress =
            [("bytes", Absent::IsZero), ("threshold_bytes", Absent::IsUnknown), ("headroom_bytes", Absent::IsZero)];
        source.pyramid(output, "ingress", Some("class"), &ingress)?;
        source.pyramid(output, "ports", None, &[("tx_bytes", Absent::IsZero)])?;
        let buffers = [("used_bytes", Absent::IsZero), ("headroom_bytes", Absent::IsZero)];
        source.pyramid(output, "buffers", None, &buffers)?;
    }
    let pauses = source.pauses(output)?;
    let flows = source.flows(output)?;
    let events = source.events(output)?;
    let size = |file: &&str| Some(((*file).to_owned(), fs::metadata(output.join(file)).ok()?.len()));
    let index = json!({
        "version": version(),
        "files": FILES.iter().filter_map(size).collect::<BTreeMap<_, _>>(),
        "of": source.run.sums(&TABLES),
        "sample_ps": source.run.sample_ps,
        "samples": source.run.samples(),
        "pauses": pauses,
        "flows": flows,
        "events": events,
    });
    let path = output.join(INDEX);
    fs::write(&path, index.to_string() + "\n").map_err(|cause| ExportError::Write { path, cause })
}

impl Source<'_> {
    /// Writes the pyramid of a table with one row per place and sample.
    fn pyramid(
        &mut self,
        output: &Path,
        table: &str,
        queue: Option<&str>,
        values: &[(&'static str, Absent)],
    ) -> Result<(), ExportError> {
        let mut pyramid = Pyramid::create(output, table, values, self.run.samples(), self.row_count(table)?)?;
        let is_of_ports = table != "buffers";
        self.read(table, |rows, run| {
            let (time, node) = (rows.numbers("time_ps")?, rows.names("node")?.numbers(run));
            let port = is_of_ports.then(|| rows.numbers("port")).transpose()?;
            let queue = queue.map(|queue| rows.numbers(queue)).transpose()?;
            let values = values.iter().map(|(name, _)| rows.numbers(name)).collect::<Result<Vec<_>, _>>()?;
            for row in 0..rows.len() {
                let node = node(row);
                let place = port.as_ref().map_or(node, |port| run.port_number((node, port.at(row) as u16)));
                let queue = queue.as_ref().map_or(0, |queue| queue.at(row) as i32);
                let read = |i: usize| values[i].get(row).map_or(f64::NAN, |value| value as f64);
                pyramid.push(run.bin(time.at(row)), place as i32, queue, read)?;
            }
            Ok(())
        })?;
        pyramid.finish()
    }

    /// Writes the pyramid of the ports' queues, with the sums over all ports.
    fn queues(&mut self, output: &Path) -> Result<(), ExportError> {
        let values = [("bytes", Absent::IsZero), ("paused_queues", Absent::IsZero)];
        let mut pyramid = Pyramid::create(output, "queues", &values, self.run.samples(), self.row_count("queues")?)?;
        // Time and sums of the current sample.
        let (mut at, mut sums) = (None, [0.0; 2]);
        self.read("queues", |rows, run| {
            let (time, node, port) =
                (rows.numbers("time_ps")?, rows.names("node")?.numbers(run), rows.numbers("port")?);
            let values = [rows.numbers("bytes")?, rows.numbers("paused_queues")?];
            for row in 0..rows.len() {
                let bin = run.bin(time.at(row));
                if let Some(before) = at.replace(bin).filter(|before| *before != bin) {
                    pyramid.push(before, EVERYWHERE, 0, |i| sums[i])?;
                    sums = [0.0; 2];
                }
                let place = run.port_number((node(row), port.at(row) as u16));
                let read = |i: usize| values[i].at(row) as f64;
                pyramid.push(bin, place as i32, 0, read)?;
                sums = std::array::from_fn(|i| sums[i] + read(i));
            }
            Ok(())
        })?;
        if let Some(bin) = at {
            pyramid.push(bin, EVERYWHERE, 0, |i| sums[i])?;
        }
        pyramid.finish()
    }

    /// Writes pauses. Returns the bin width of the lowest level and the ports that caused pauses.
    fn pauses(&mut self, output: &Path) -> Result<Value, ExportError> {
        let mut pauses = Pauses::create(output, self.run.sample_ps, self.run.end_ps)?;
        self.read("pauses", |rows, run| pauses.read(rows, run))?;
        pauses.finish()
    }

    /// Writes flows. Returns the index of the flows.
    fn flows(&mut self, output: &Path) -> Result<Value, ExportError> {
        let mut told = flows::Told::default();
        self.read("waits", |rows, _| told.waits.read(rows))?;
        self.read("signals", |rows, _| told.signals.read(rows))?;
        let columns = self.path("flows").map_or(Ok(Map::new()), |path| tables::columns(&path))?;
        let mut flows = flows::Flows::new(columns);
        self.read("flows", |rows, run| flows.read(rows, run))?;
        flows.write(output, &told, self.run.end_ps)
    }

    /// Writes the activity of senders. Returns the times of some events.
    fn events(&mut self, output: &Path) -> Result<Value, ExportError> {
        let (mut next, mut first, mut times, mut last) = (0, 0, Vec::new(), 0);
        let mut senders = senders::Senders::default();
        self.read("events", |rows, _| {
            senders.read(rows)?;
            let time = rows.numbers("time_ps")?;
            while next - first < rows.len() as u64 {
                times.push(time.at((next - first) as usize));
                next += EVENT_STEP;
            }
            first += rows.len() as u64;
            last = time.at(rows.len() - 1);
            Ok(())
        })?;
        senders.write(output)?;
        Ok(json!({ "rows": first, "step": EVENT_STEP, "times": times, "last": last }))
    }
}
