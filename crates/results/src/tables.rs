//! The tables of a result directory: columns with their meaning, and a writer that keeps a bounded number of rows in memory.
//!
//! Times are picoseconds since the start of the run, sizes bytes, names dictionary-encoded. Files are zstd-compressed Parquet and appear under
//! their name only when complete.

use crate::disk::Keeper;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name out of a few.
    Name,
    /// 8-bit unsigned.
    U8,
    /// 16-bit unsigned.
    U16,
    /// 32-bit unsigned.
    U32,
    /// 64-bit unsigned.
    U64,
    /// 64-bit signed.
    I64,
    /// Real.
    F64,
    /// Yes or no.
    Bool,
}

/// One column: name, type, whether it may be empty, meaning.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// Whether a row may have no value.
    pub nullable: bool,
    /// What it means, with its unit.
    pub meaning: &'static str,
}

const fn column(name: &'static str, kind: Kind, meaning: &'static str) -> Column {
    Column { name, kind, nullable: false, meaning }
}

const fn optional(name: &'static str, kind: Kind, meaning: &'static str) -> Column {
    Column { name, kind, nullable: true, meaning }
}

/// `flows.parquet`: a row per flow, written when the last of its packets is gone; flows that did not finish come last.
pub const FLOWS: &[Column] = &[
    column("id", Kind::U32, "number of the flow in order of start"),
    column("tag", Kind::Name, "part of the traffic that it belongs to"),
    column("src", Kind::Name, "sending host"),
    column("dst", Kind::Name, "receiving host"),
    column("class", Kind::U8, "traffic class of its data"),
    optional("bytes", Kind::U64, "payload bytes; empty for an endless flow"),
    column("start_ps", Kind::I64, "when it became ready to send, ps"),
    optional("receiver_finish_ps", Kind::I64, "when its last byte arrived, ps"),
    optional("sender_finish_ps", Kind::I64, "when its sender had the last acknowledgement, ps"),
    optional("fct_ps", Kind::I64, "flow completion time: start to last byte at the receiver, ps"),
    optional("ideal_fct_ps", Kind::I64, "the same on an idle fabric, ps; empty for an endless flow"),
    optional("slowdown", Kind::F64, "fct_ps / ideal_fct_ps"),
    column("retransmitted_bytes", Kind::U64, "payload bytes sent more than once"),
    column("paused_ps", Kind::I64, "time that its next packet stood behind a PAUSE, ps"),
    column("blocked_ps", Kind::I64, "of that, behind a PAUSE caused by a port that is not on its path, ps"),
    column("delivered_bytes", Kind::U64, "payload bytes delivered in order"),
    column("measured", Kind::Bool, "whether it started after the warm-up"),
];

/// `pauses.parquet`: a row per interval in which an egress queue was paused, in order of end.
pub const PAUSES: &[Column] = &[
    column("node", Kind::Name, "node of the paused port"),
    column("port", Kind::U16, "number of the port at its node, from 0"),
    column("peer", Kind::Name, "node at the other end of the link, which sent the PAUSE"),
    column("class", Kind::U8, "paused traffic class"),
    column("start_ps", Kind::I64, "when the pause took effect, ps"),
    optional("end_ps", Kind::I64, "when it ended, ps; empty if it had not when the run ended"),
    column("cause_node", Kind::Name, "node of the port whose congestion caused it"),
    column("cause_port", Kind::U16, "number of that port at its node"),
];

/// `queues.parquet`: egress ports that hold bytes or are paused, at every sample.
pub const QUEUES: &[Column] = &[
    column("time_ps", Kind::I64, "time of the sample, ps"),
    column("node", Kind::Name, "node"),
    column("port", Kind::U16, "number of the port at its node, from 0"),
    column("bytes", Kind::U64, "bytes in the queues of the port"),
    column("paused", Kind::U8, "mask of the paused classes: bit i stands for class i"),
];

/// `ports.parquet`: ports that have sent something since the sample before.
pub const PORTS: &[Column] = &[
    column("time_ps", Kind::I64, "time of the sample, ps"),
    column("node", Kind::Name, "node"),
    column("port", Kind::U16, "number of the port at its node, from 0"),
    column("peer", Kind::Name, "node at the other end of the link"),
    column("tx_bytes", Kind::U64, "bytes put onto the wire since the sample before, preamble and gap included"),
];

/// `buffers.parquet`: switches whose buffer is in use, at every sample.
pub const BUFFERS: &[Column] = &[
    column("time_ps", Kind::I64, "time of the sample, ps"),
    column("node", Kind::Name, "switch"),
    column("used_bytes", Kind::U64, "bytes in use in all pools"),
    column("shared_bytes", Kind::U64, "of these in the shared pool"),
    column("headroom_bytes", Kind::U64, "of these in headroom"),
];

/// One value of a row. Names are indices into the table's list of names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Of an unsigned column or a name.
    Unsigned(u64),
    /// Of a signed column.
    Signed(i64),
    /// Of a real column.
    Real(f64),
    /// Of a yes-or-no column.
    Bool(bool),
    /// None.
    Empty,
}

impl From<u64> for Value {
    fn from(value: u64) -> Value {
        Value::Unsigned(value)
    }
}

impl From<Option<u64>> for Value {
    fn from(value: Option<u64>) -> Value {
        value.map_or(Value::Empty, Value::Unsigned)
    }
}

impl From<Option<f64>> for Value {
    fn from(value: Option<f64>) -> Value {
        value.map_or(Value::Empty, Value::Real)
    }
}

impl From<backwater_engine::Time> for Value {
    fn from(time: backwater_engine::Time) -> Value {
        Value::Signed(time.ps() as i64)
    }
}

impl From<backwater_engine::Duration> for Value {
    fn from(span: backwater_engine::Duration) -> Value {
        Value::Signed(span.ps() as i64)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value
where
    T: TimeLike,
{
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Empty, Into::into)
    }
}

/// Times and spans.
pub trait TimeLike {}
impl TimeLike for backwater_engine::Time {}
impl TimeLike for backwater_engine::Duration {}

/// Why a table could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", path.display())]
pub struct TableError {
    path: PathBuf,
    cause: Box<dyn std::error::Error + Send + Sync>,
}

/// Rows held in memory before they are encoded.
const BATCH: usize = 1 << 12;
/// Encoded bytes held in memory before they are written: a row group.
const ROW_GROUP: usize = 2 << 20;
/// Bytes of a page, which the encoder of every column holds besides.
const PAGE: usize = 64 << 10;

/// Writes one table.
pub struct TableWriter {
    path: PathBuf,
    partial: PathBuf,
    columns: &'static [Column],
    names: ArrayRef,
    schema: Arc<Schema>,
    writer: ArrowWriter<Keeper<File>>,
    /// Per column, the values not yet encoded.
    rows: Vec<Vec<Value>>,
    /// Why rows could not be encoded.
    broken: Option<ParquetError>,
}

impl TableWriter {
    /// A table called `name` in `directory`, whose names are indices into `names`.
    ///
    /// # Errors
    /// The file can not be made.
    pub fn create(
        directory: &Path,
        name: &str,
        columns: &'static [Column],
        names: &[String],
        metadata: &[(String, String)],
    ) -> Result<TableWriter, TableError> {
        let path = directory.join(format!("{name}.parquet"));
        let partial = directory.join(format!("{name}.parquet.partial"));
        let fail = |cause: Box<dyn std::error::Error + Send + Sync>| TableError { path: path.clone(), cause };
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let metadata = metadata.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
        let level = ZstdLevel::try_new(1).map_err(|cause| fail(cause.into()))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_data_page_size_limit(PAGE)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_key_value_metadata(Some(metadata))
            .set_dictionary_enabled(false);
        // Only what has few values gains from a dictionary; of everything else, the dictionary would be one more copy.
        let few = columns.iter().filter(|column| matches!(column.kind, Kind::Name | Kind::U8 | Kind::U16));
        let with_dictionary = |properties: WriterPropertiesBuilder, column: &Column| {
            properties.set_column_dictionary_enabled(ColumnPath::from(column.name), true)
        };
        let properties = few.fold(properties, with_dictionary).build();
        let file = File::create(&partial).map_err(|cause| fail(cause.into()))?;
        let writer = ArrowWriter::try_new(Keeper::new(file), schema.clone(), Some(properties))
            .map_err(|cause| fail(cause.into()))?;
        let names: ArrayRef = Arc::new(StringArray::from_iter_values(names));
        let rows = vec![Vec::new(); columns.len()];
        Ok(TableWriter { path, partial, columns, names, schema, writer, rows, broken: None })
    }

    /// Appends a row: a value per column, in order. What the disk can not take is kept: [`TableWriter::failure`] tells.
    pub fn push<const N: usize>(&mut self, row: [Value; N]) {
        debug_assert_eq!(N, self.columns.len());
        for (column, value) in self.rows.iter_mut().zip(row) {
            column.push(value);
        }
        if self.rows[0].len() == BATCH {
            let encoded = self.encode();
            self.broken = self.broken.take().or(encoded.err());
        }
    }

    /// Why rows could not be written, if they could not.
    pub fn failure(&self) -> Option<String> {
        let full = self.writer.inner().failure().map(ToString::to_string);
        let cause = full.or_else(|| self.broken.as_ref().map(ToString::to_string))?;
        Some(format!("{}: {cause}", self.path.display()))
    }

    /// Encodes the rows held in memory.
    fn encode(&mut self) -> Result<(), ParquetError> {
        let arrays: Result<Vec<ArrayRef>, ArrowError> =
            self.columns.iter().zip(&self.rows).map(|(column, values)| array(column, values, &self.names)).collect();
        self.rows.iter_mut().for_each(Vec::clear);
        self.writer.write(&RecordBatch::try_new(self.schema.clone(), arrays?)?)?;
        if self.writer.in_progress_size() >= ROW_GROUP { self.writer.flush() } else { Ok(()) }
    }

    /// Completes the file and gives it its name. What was kept is written now.
    ///
    /// # Errors
    /// The disk is full, or the file can not be written for another reason.
    pub fn finish(mut self) -> Result<(), TableError> {
        let path = self.path.clone();
        let fail = |cause: Box<dyn std::error::Error + Send + Sync>| TableError { path: path.clone(), cause };
        let encoded = self.encode();
        if let Some(cause) = self.broken.take().or(encoded.err()) {
            return Err(fail(cause.into()));
        }
        let file = self.writer.into_inner().map_err(|cause| fail(cause.into()))?;
        file.settle().map_err(|cause| fail(cause.into()))?;
        fs::rename(&self.partial, &self.path).map_err(|cause| fail(cause.into()))
    }
}

fn field(column: &Column) -> Field {
    let data_type = match column.kind {
        Kind::Name => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        Kind::U8 => DataType::UInt8,
        Kind::U16 => DataType::UInt16,
        Kind::U32 => DataType::UInt32,
        Kind::U64 => DataType::UInt64,
        Kind::I64 => DataType::Int64,
        Kind::F64 => DataType::Float64,
        Kind::Bool => DataType::Boolean,
    };
    let meaning = [("description".to_owned(), column.meaning.to_owned())];
    Field::new(column.name, data_type, column.nullable).with_metadata(HashMap::from(meaning))
}

fn array(column: &Column, values: &[Value], names: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let unsigned = || {
        values.iter().map(|value| match value {
            Value::Unsigned(value) => Some(*value),
            _ => None,
        })
    };
    Ok(match column.kind {
        Kind::Name => {
            let keys: Int32Array = unsigned().map(|value| value.map(|value| value as i32)).collect();
            Arc::new(DictionaryArray::<Int32Type>::try_new(keys, names.clone())?)
        }
        Kind::U8 => Arc::new(unsigned().map(|value| value.map(|value| value as u8)).collect::<UInt8Array>()),
        Kind::U16 => Arc::new(unsigned().map(|value| value.map(|value| value as u16)).collect::<UInt16Array>()),
        Kind::U32 => Arc::new(unsigned().map(|value| value.map(|value| value as u32)).collect::<UInt32Array>()),
        Kind::U64 => Arc::new(unsigned().collect::<UInt64Array>()),
        Kind::I64 => Arc::new(
            values
                .iter()
                .map(|value| match value {
                    Value::Signed(value) => Some(*value),
                    _ => None,
                })
                .collect::<Int64Array>(),
        ),
        Kind::F64 => Arc::new(
            values
                .iter()
                .map(|value| match value {
                    Value::Real(value) => Some(*value),
                    _ => None,
                })
                .collect::<Float64Array>(),
        ),
        Kind::Bool => Arc::new(
            values
                .iter()
                .map(|value| match value {
                    Value::Bool(value) => Some(*value),
                    _ => None,
                })
                .collect::<BooleanArray>(),
        ),
    })
}
