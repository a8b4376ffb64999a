//! Flows by number, and those that suffered most.

use crate::ExportError;
use crate::run::Run;
use crate::tables::Rows;
use crate::view::sheet::Sheet;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Float64Array, Int32Array, ListArray, StringArray};
use arrow_schema::{DataType, Field};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

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

/// Where the rows of each flow stand in `waits.parquet`: the first, and how many.
#[derive(Debug, Default)]
pub(super) struct Waits {
    rows: u64,
    of: BTreeMap<u64, (u64, u64)>,
}

impl Waits {
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
            for port in path(row).unwrap_or_default() {
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
    pub(super) fn write(mut self, output: &Path, waits: &Waits, end: u64) -> Result<Value, ExportError> {
        self.flows.sort_unstable_by_key(|flow| flow.id);
        let of = |names: &[&str], kind: &DataType| -> Vec<_> {
            names.iter().map(|name| ((*name).to_owned(), kind.clone())).collect()
        };
        let list = DataType::List(Arc::new(Field::new_list_field(DataType::Int32, true)));
        let columns = [
            of(&["id", "src", "dst", "class"], &DataType::Int32),
            of(&["tag", "role"], &DataType::Utf8),
            of(&NUMBERS, &DataType::Float64),
            of(&["path"], &list),
        ];
        let mut sheet = Sheet::create(output, "flows", &columns.concat())?;
        sheet.write(&self.flows, |flows| self.columns(flows, waits, end))?;
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

    fn columns(&self, flows: &[Flow], waits: &Waits, end: u64) -> Vec<ArrayRef> {
        let whole = |of: &dyn Fn(&Flow) -> u32| -> ArrayRef {
            Arc::new(Int32Array::from_iter_values(flows.iter().map(|flow| of(flow) as i32)))
        };
        let words = |of: &dyn Fn(&Flow) -> Option<u32>| -> ArrayRef {
            Arc::new(flows.iter().map(|flow| of(flow).map(|word| &self.words[word as usize])).collect::<StringArray>())
        };
        let numbers = |i: usize| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(flows.iter().map(|flow| numbers_of(flow, waits, end)[i])))
        };
        let paths = flows.iter().map(|flow| Some(flow.path.iter().map(|port| Some(*port as i32))));
        let mut columns = vec![
            whole(&|flow| flow.id as u32),
            whole(&|flow| flow.src),
            whole(&|flow| flow.dst),
            whole(&|flow| flow.class.into()),
        ];
        columns.extend([words(&|flow| Some(flow.tag)), words(&|flow| flow.role)]);
        columns.extend((0..NUMBERS.len()).map(numbers));
        columns.push(Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(paths)));
        columns
    }
}

/// Columns in double precision; what a flow does not have is not a number.
const NUMBERS: [&str; 11] = [
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
];

fn numbers_of(flow: &Flow, waits: &Waits, end: u64) -> [f64; NUMBERS.len()] {
    let or_none = |number: Option<u64>| number.map_or(f64::NAN, |number| number as f64);
    let (row, rows) = waits.of.get(&flow.id).copied().unwrap_or_default();
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
        row as f64,
        rows as f64,
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
