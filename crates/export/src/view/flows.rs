//! All flows and messages by number, and lists of the most affected flows.

use crate::ExportError;
use crate::run::{Run, message_name};
use crate::tables::Rows;
use crate::view::sheet::Sheet;
use backwater_columns::{Column, Text, field, list_field};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Length of the lists of affected flows.
const MOST: usize = 1000;

/// Columns of whole numbers of `flows.parquet` that the viewer lists for a flow, under their names.
/// Formats follow from the units that the names imply, and tooltips from the columns' meanings.
pub(super) const LISTED: &[&str] = &["paused_ps", "blocked_ps", "delivered_bytes", "retransmitted_bytes"];

/// Number of a flow, and of one of its messages.
type Key = (u64, u64);

/// Rows of each message in a table with consecutive rows per message: the first row, and the number
/// of rows.
#[derive(Debug, Default)]
pub(super) struct Places {
    rows: u64,
    of: BTreeMap<Key, (u64, u64)>,
}

/// Rows of each message in `waits.parquet` and `signals.parquet`.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) waits: Places,
    pub(super) signals: Places,
}

impl Places {
    fn of(&self, message: Key) -> [f64; 2] {
        let (row, rows) = self.of.get(&message).copied().unwrap_or_default();
        [row as f64, rows as f64]
    }

    pub(super) fn read(&mut self, rows: &Rows<'_>) -> Result<(), ExportError> {
        let (flow, message) = (rows.numbers("flow")?, rows.newer_numbers("message")?);
        for row in 0..rows.len() {
            self.add((flow.at(row), message.as_ref().map_or(0, |message| message.at(row))));
        }
        Ok(())
    }

    fn add(&mut self, message: Key) {
        self.of.entry(message).or_insert((self.rows, 0)).1 += 1;
        self.rows += 1;
    }
}

/// Flow, or message of a connection.
#[derive(Debug)]
struct Flow {
    id: u64,
    message: u64,
    /// True if the connection carries several messages.
    is_one_of_many: bool,
    tag: u32,
    role: Option<u32>,
    src: u32,
    dst: u32,
    class: u8,
    bytes: Option<u64>,
    start: u64,
    finish: Option<u64>,
    ideal: Option<u64>,
    blocked: u64,
    /// Values of [`Flows::listed`], NaN for null.
    listed: [f64; LISTED.len()],
    path: Vec<u32>,
}

impl Flow {
    fn key(&self) -> Key {
        (self.id, self.message)
    }

    /// Returns the name as shown to users.
    fn name(&self) -> String {
        message_name(self.id, self.message, self.is_one_of_many)
    }

    /// Returns the time from the flow's start until the flow finished, or until `end`.
    fn taken(&self, end: u64) -> u64 {
        self.finish.unwrap_or(end) - self.start
    }

    /// Returns the time of [`Flow::taken`] divided by the ideal time; 0 for an endless flow.
    fn slowdown(&self, end: u64) -> f64 {
        self.ideal.map_or(0.0, |ideal| self.taken(end) as f64 / ideal as f64)
    }
}

/// All flows.
#[derive(Debug, Default)]
pub(super) struct Flows {
    /// Tags and roles, in order of appearance.
    words: Vec<String>,
    flows: Vec<Flow>,
    /// Meanings of the listed columns. Columns that are newer than the result are missing.
    listed: Map<String, Value>,
}

impl Flows {
    /// Creates an empty collection for a table with the given columns.
    pub(super) fn new(mut columns: Map<String, Value>) -> Flows {
        let listed = LISTED.iter().filter_map(|column| columns.remove_entry(*column)).collect();
        Flows { listed, ..Flows::default() }
    }

    pub(super) fn read(&mut self, rows: &Rows<'_>, run: &Run) -> Result<(), ExportError> {
        let message = rows.newer_numbers("message")?;
        let (id, class, bytes) = (rows.numbers("id")?, rows.numbers("class")?, rows.numbers("bytes")?);
        let (start, finish) = (rows.numbers("start_ps")?, rows.numbers("receiver_finish_ps")?);
        let (ideal, blocked) = (rows.numbers("ideal_fct_ps")?, rows.numbers("blocked_ps")?);
        let listed = self.listed.keys().map(|column| rows.numbers(column)).collect::<Result<Vec<_>, _>>()?;
        let (src, dst) = (rows.names("src")?.numbers(run), rows.names("dst")?.numbers(run));
        let (tag, role) = (rows.names("tag")?, rows.names("role")?);
        for (row, path) in rows.lists("path")?.into_iter().enumerate() {
            let (mut node, mut way) = (src(row), Vec::new());
            for port in path.into_iter().flatten().map(|port| port as u16) {
                way.push(run.port_number((node, port)));
                node = run.links.get(&(node, port)).map_or(node, |link| link.to.0);
            }
            let (tag, role) = (self.word(tag.at(row)), role.get(row).map(|role| self.word(role)));
            let mut values = [f64::NAN; LISTED.len()];
            values.iter_mut().zip(&listed).for_each(|(value, column)| *value = or_nan(column.get(row)));
            self.flows.push(Flow {
                id: id.at(row),
                message: message.as_ref().map_or(0, |message| message.at(row)),
                is_one_of_many: false,
                tag,
                role,
                src: src(row),
                dst: dst(row),
                class: class.at(row) as u8,
                bytes: bytes.get(row),
                start: start.at(row),
                finish: finish.get(row),
                ideal: ideal.get(row),
                blocked: blocked.at(row),
                listed: values,
                path: way,
            });
        }
        Ok(())
    }

    /// Returns the number of a tag or role.
    fn word(&mut self, word: &str) -> u32 {
        let known = self.words.iter().position(|known| known == word);
        known.unwrap_or_else(|| {
            self.words.push(word.to_owned());
            self.words.len() - 1
        }) as u32
    }

    /// Writes `flows.parquet` into `output`. Returns the number of flows, the meanings of listed
    /// columns, and the most affected flows.
    pub(super) fn write(mut self, output: &Path, told: &Told, end: u64) -> Result<Value, ExportError> {
        self.flows.sort_unstable_by_key(Flow::key);
        for flows in self.flows.chunk_by_mut(|one, other| one.id == other.id) {
            let many = flows.len() > 1;
            flows.iter_mut().for_each(|flow| flow.is_one_of_many = many);
        }
        let columns = ["id", "src", "dst", "class"].iter().map(|name| field::<i32>(name, false));
        let columns = columns.chain([field::<i32>("message", true)]);
        let columns = columns.chain(["tag", "role"].iter().map(|name| field::<Text>(name, true)));
        let numbers = NUMBERS.iter().map(|(name, _)| *name).chain(self.listed.keys().map(String::as_str));
        let columns = columns.chain(numbers.map(|name| field::<f64>(name, false)));
        let mut sheet = Sheet::create(output, "flows", columns.chain([list_field::<i32>("path")]).collect())?;
        sheet.write(&self.flows, |flows| self.columns(flows, told, end))?;
        sheet.finish()?;
        let most = |key: &dyn Fn(&Flow) -> f64| -> Vec<Value> {
            let mut flows: Vec<_> = self.flows.iter().filter(|flow| flow.bytes.is_some() && key(flow) > 0.0).collect();
            flows.sort_by(|one, other| key(other).total_cmp(&key(one)).then(one.key().cmp(&other.key())));
            flows.into_iter().take(MOST).map(|flow| summary(flow, end)).collect()
        };
        Ok(json!({
            "count": self.flows.len(),
            "listed": self.listed,
            "blocked": most(&|flow| flow.blocked as f64),
            "slowdown": most(&|flow| flow.slowdown(end)),
        }))
    }

    fn columns(&self, flows: &[Flow], told: &Told, end: u64) -> Vec<Column> {
        let whole = |of: &dyn Fn(&Flow) -> u32| Column::required(flows.iter().map(|flow| of(flow) as i32));
        let word = |word: u32| Text::from(self.words[word as usize].as_str());
        let words = |of: &dyn Fn(&Flow) -> Option<u32>| Column::optional(flows.iter().map(|flow| of(flow).map(word)));
        let numbers = |(_, number): &(&str, Number)| Column::required(flows.iter().map(|flow| number(flow, told, end)));
        let mut columns = vec![
            whole(&|flow| flow.id as u32),
            whole(&|flow| flow.src),
            whole(&|flow| flow.dst),
            whole(&|flow| flow.class.into()),
        ];
        let message = |flow: &Flow| flow.is_one_of_many.then_some(flow.message as i32);
        columns.push(Column::optional(flows.iter().map(message)));
        columns.extend([words(&|flow| Some(flow.tag)), words(&|flow| flow.role)]);
        columns.extend(NUMBERS.iter().map(numbers));
        columns.extend((0..self.listed.len()).map(|i| Column::required(flows.iter().map(move |flow| flow.listed[i]))));
        columns.push(Column::lists(flows.iter().map(|flow| Some(flow.path.iter().map(|port| *port as i32)))));
        columns
    }
}

/// Value of a flow in a column. The run ends at the given time.
type Number = fn(&Flow, &Told, u64) -> f64;

/// Columns in double precision, NaN for null.
const NUMBERS: [(&str, Number); 9] = [
    ("bytes", |flow, _, _| or_nan(flow.bytes)),
    ("start", |flow, _, _| flow.start as f64),
    ("finish", |flow, _, _| or_nan(flow.finish)),
    ("ideal_fct", |flow, _, _| or_nan(flow.ideal)),
    ("slowdown", |flow, _, end| flow.slowdown(end)),
    ("waits_row", |flow, told, _| told.waits.of(flow.key())[0]),
    ("waits_rows", |flow, told, _| told.waits.of(flow.key())[1]),
    ("signals_row", |flow, told, _| told.signals.of(flow.key())[0]),
    ("signals_rows", |flow, told, _| told.signals.of(flow.key())[1]),
];

fn or_nan(number: Option<u64>) -> f64 {
    number.map_or(f64::NAN, |number| number as f64)
}

/// Returns an entry of a list.
fn summary(flow: &Flow, end: u64) -> Value {
    json!({
        "name": flow.name(),
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

    #[test]
    fn rows_of_messages_are_counted_over_all_row_groups() {
        let mut waits = Places::default();
        for message in [(1, 0), (1, 0), (2, 0), (3, 0), (3, 0), (3, 1), (4, 0), (4, 0), (1, 0)] {
            waits.add(message);
        }
        let rows = [((1, 0), (0, 3)), ((2, 0), (2, 1)), ((3, 0), (3, 2)), ((3, 1), (5, 1)), ((4, 0), (6, 2))];
        assert_eq!(waits.of, BTreeMap::from(rows));
    }
}
