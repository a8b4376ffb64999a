//! Flows by number, and those that suffered most.

use crate::ExportError;
use crate::run::Run;
use crate::tables::Rows;
use crate::view::sheet::Sheet;
use backwater_columns::{Column, Text, field, list_field};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Of `flows.parquet`.
pub(super) const COLUMNS: [&str; 15] = [
    "id",
    "tag",
    "role",
    "src",
    "dst",
    "class",
    "bytes",
    "start_ps",
    "receiver_finish_ps",
    "ideal_fct_ps",
    "retransmitted_bytes",
    "paused_ps",
    "blocked_ps",
    "delivered_bytes",
    "path",
];
/// Flows in a list of those that suffered most.
const MOST: usize = 1000;

/// Rows of each flow in a table that has them in a row: the first, and how many.
#[derive(Debug, Default)]
pub(super) struct Places {
    rows: u64,
    of: BTreeMap<u64, (u64, u64)>,
}

/// Rows of each flow in `waits.parquet` and in `signals.parquet`.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) waits: Places,
    pub(super) signals: Places,
}

impl Places {
    fn of(&self, flow: u64) -> [f64; 2] {
        let (row, rows) = self.of.get(&flow).copied().unwrap_or_default();
        [row as f64, rows as f64]
    }

    pub(super) fn read(&mut self, rows: &Rows<'_>) -> Result<(), ExportError> {
        let flow = rows.numbers("flow")?;
        for row in 0..rows.len() {
            self.of.entry(flow.at(row)).or_insert((self.rows + row as u64, 0)).1 += 1;
        }
        self.rows += rows.len() as u64;
        Ok(())
    }
}

#[derive(Debug)]
struct Flow {
    id: u64,
    tag: u32,
    role: Option<u32>,
    src: u32,
    dst: u32,
    class: u8,
    bytes: Option<u64>,
    start: u64,
    finish: Option<u64>,
    ideal: Option<u64>,
    retransmitted: u64,
    paused: u64,
    blocked: u64,
    delivered: u64,
    path: Vec<u32>,
}

impl Flow {
    /// Until it was complete, or the run ended at `end`.
    fn taken(&self, end: u64) -> u64 {
        self.finish.unwrap_or(end) - self.start
    }

    /// That time over the one on an idle fabric; 0 for a flow without end.
    fn slowdown(&self, end: u64) -> f64 {
        self.ideal.map_or(0.0, |ideal| self.taken(end) as f64 / ideal as f64)
    }
}

/// All flows.
#[derive(Debug, Default)]
pub(super) struct Flows {
    /// Tags and roles, in the order in which they were met.
    words: Vec<String>,
    flows: Vec<Flow>,
}

impl Flows {
    pub(super) fn read(&mut self, rows: &Rows<'_>, run: &Run) -> Result<(), ExportError> {
        let (id, class, bytes) = (rows.numbers("id")?, rows.numbers("class")?, rows.numbers("bytes")?);
        let (start, finish) = (rows.numbers("start_ps")?, rows.numbers("receiver_finish_ps")?);
        let (ideal, retransmitted) = (rows.numbers("ideal_fct_ps")?, rows.numbers("retransmitted_bytes")?);
        let (paused, blocked) = (rows.numbers("paused_ps")?, rows.numbers("blocked_ps")?);
        let (delivered, path) = (rows.numbers("delivered_bytes")?, rows.lists("path")?);
        let (src, dst) = (rows.names("src")?.numbers(run), rows.names("dst")?.numbers(run));
        let (tag, role) = (rows.names("tag")?, rows.names("role")?);
        for row in 0..rows.len() {
            let (mut node, mut way) = (src(row), Vec::new());
            for port in path(row).unwrap_or_default().iter().map(|port| *port as u16) {
                way.push(run.port_number((node, port)));
                node = run.links.get(&(node, port)).map_or(node, |link| link.to.0);
            }
            let (tag, role) = (self.word(tag.at(row)), role.get(row).map(|role| self.word(role)));
            self.flows.push(Flow {
                id: id.at(row),
                tag,
                role,
                src: src(row),
                dst: dst(row),
                class: class.at(row) as u8,
                bytes: bytes.get(row),
                start: start.at(row),
                finish: finish.get(row),
                ideal: ideal.get(row),
                retransmitted: retransmitted.at(row),
                paused: paused.at(row),
                blocked: blocked.at(row),
                delivered: delivered.at(row),
                path: way,
            });
        }
        Ok(())
    }

    /// The number of a tag or role.
    fn word(&mut self, word: &str) -> u32 {
        let known = self.words.iter().position(|known| known == word);
        known.unwrap_or_else(|| {
            self.words.push(word.to_owned());
            self.words.len() - 1
        }) as u32
    }

    /// Writes `flows.parquet` into `output`; how many there are, and those that suffered most.
    pub(super) fn write(mut self, output: &Path, told: &Told, end: u64) -> Result<Value, ExportError> {
        self.flows.sort_unstable_by_key(|flow| flow.id);
        let columns = ["id", "src", "dst", "class"].iter().map(|name| field::<i32>(name, false));
        let columns = columns.chain(["tag", "role"].iter().map(|name| field::<Text>(name, true)));
        let columns = columns.chain(NUMBERS.iter().map(|name| field::<f64>(name, false)));
        let mut sheet = Sheet::create(output, "flows", columns.chain([list_field::<i32>("path")]).collect())?;
        sheet.write(&self.flows, |flows| self.columns(flows, told, end))?;
        sheet.finish()?;
        let most = |key: &dyn Fn(&Flow) -> f64| -> Vec<Value> {
            let mut flows: Vec<_> = self.flows.iter().filter(|flow| flow.bytes.is_some() && key(flow) > 0.0).collect();
            flows.sort_by(|one, other| key(other).total_cmp(&key(one)).then(one.id.cmp(&other.id)));
            flows.into_iter().take(MOST).map(|flow| summary(flow, end)).collect()
        };
        Ok(json!({
            "count": self.flows.len(),
            "blocked": most(&|flow| flow.blocked as f64),
            "slowdown": most(&|flow| flow.slowdown(end)),
        }))
    }

    fn columns(&self, flows: &[Flow], told: &Told, end: u64) -> Vec<Column> {
        let whole = |of: &dyn Fn(&Flow) -> u32| Column::required(flows.iter().map(|flow| of(flow) as i32));
        let word = |word: u32| Text::from(self.words[word as usize].as_str());
        let words = |of: &dyn Fn(&Flow) -> Option<u32>| Column::optional(flows.iter().map(|flow| of(flow).map(word)));
        let numbers = |i: usize| Column::required(flows.iter().map(|flow| numbers_of(flow, told, end)[i]));
        let mut columns = vec![
            whole(&|flow| flow.id as u32),
            whole(&|flow| flow.src),
            whole(&|flow| flow.dst),
            whole(&|flow| flow.class.into()),
        ];
        columns.extend([words(&|flow| Some(flow.tag)), words(&|flow| flow.role)]);
        columns.extend((0..NUMBERS.len()).map(numbers));
        columns.push(Column::lists(flows.iter().map(|flow| Some(flow.path.iter().map(|port| *port as i32)))));
        columns
    }
}

/// Columns in double precision; what a flow does not have is not a number.
const NUMBERS: [&str; 13] = [
    "bytes",
    "start",
    "finish",
    "ideal_fct",
    "slowdown",
    "paused",
    "blocked",
    "delivered",
    "retransmitted",
    "waits_row",
    "waits_rows",
    "signals_row",
    "signals_rows",
];

fn numbers_of(flow: &Flow, told: &Told, end: u64) -> [f64; NUMBERS.len()] {
    let or_none = |number: Option<u64>| number.map_or(f64::NAN, |number| number as f64);
    let ([waits_row, waits_rows], [signals_row, signals_rows]) = (told.waits.of(flow.id), told.signals.of(flow.id));
    [
        or_none(flow.bytes),
        flow.start as f64,
        or_none(flow.finish),
        or_none(flow.ideal),
        flow.slowdown(end),
        flow.paused as f64,
        flow.blocked as f64,
        flow.delivered as f64,
        flow.retransmitted as f64,
        waits_row,
        waits_rows,
        signals_row,
        signals_rows,
    ]
}

/// A line of a list.
fn summary(flow: &Flow, end: u64) -> Value {
    json!({
        "id": flow.id,
        "src": flow.src,
        "dst": flow.dst,
        "bytes": flow.bytes,
        "start": flow.start,
        "taken": flow.taken(end),
        "isComplete": flow.finish.is_some(),
        "slowdown": flow.slowdown(end),
        "blocked": flow.blocked,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_columns::Cells;
    use std::path::Path;

    #[test]
    fn rows_of_flows_are_numbered_through_all_groups() {
        let mut waits = Places::default();
        for flows in [[1, 1, 2], [3, 3, 3], [4, 4, 1]] {
            let cells = Cells::Numbers(flows.map(Some).to_vec());
            let group = Rows { len: 3, columns: vec![("flow", Some(cells))], path: Path::new("waits.parquet") };
            waits.read(&group).unwrap();
        }
        assert_eq!(waits.of, BTreeMap::from([(1, (0, 3)), (2, (2, 1)), (3, (3, 3)), (4, (6, 2))]));
    }
}
