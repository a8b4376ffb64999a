//! Reading the tables of a result, column by column.

use crate::ExportError;
use crate::run::Run;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;
use std::fs::File;
use std::path::Path;

/// Some rows of a table.
pub(crate) struct Rows<'a> {
    batch: &'a RecordBatch,
    path: &'a Path,
}

/// A column of whole numbers.
pub(crate) struct Numbers<'a>(&'a ArrayRef);

/// A column of names.
pub(crate) struct Names<'a> {
    keys: &'a ArrayRef,
    values: &'a StringArray,
}

/// Rows that are read at a time.
const BATCH: usize = 1 << 16;

/// Times from the first on and before the second, ps.
pub type Window = (u64, u64);

fn open(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, ExportError> {
    let fail = |cause: String| ExportError::Read { path: path.into(), cause };
    let file = File::open(path).map_err(|cause| fail(cause.to_string()))?;
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(|cause| fail(cause.to_string()))
}

/// How many rows a table has.
pub(crate) fn row_count(path: &Path) -> Result<u64, ExportError> {
    Ok(open(path)?.metadata().file_metadata().num_rows() as u64)
}

/// Calls `handle` with all rows of a table, some at a time, of which it needs `columns`. Where `window` is given, row groups are left out whose `time_ps`, the
/// first column, is outside it.
pub(crate) fn read(
    path: &Path,
    columns: &[&str],
    window: Option<Window>,
    mut handle: impl FnMut(&Rows<'_>) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let fail = |cause: String| ExportError::Read { path: path.into(), cause };
    let mut builder = open(path)?.with_batch_size(BATCH);
    if let Some((from, until)) = window {
        let is_needed = |group: &RowGroupMetaData| match group.column(0).statistics() {
            Some(Statistics::Int64(times)) => {
                let (first, last) = (times.min_opt(), times.max_opt());
                first.is_none_or(|first| (*first as u64) < until) && last.is_none_or(|last| *last as u64 >= from)
            }
            _ => true,
        };
        let groups = builder.metadata().row_groups().iter().enumerate();
        let needed = groups.filter(|(_, group)| is_needed(group)).map(|(number, _)| number).collect();
        builder = builder.with_row_groups(needed);
    }
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
    let reader = builder.with_projection(mask).build().map_err(|cause| fail(cause.to_string()))?;
    for batch in reader {
        handle(&Rows { batch: &batch.map_err(|cause| fail(cause.to_string()))?, path })?;
    }
    Ok(())
}

impl<'a> Rows<'a> {
    pub(crate) fn len(&self) -> usize {
        self.batch.num_rows()
    }

    fn column(&self, name: &str) -> Result<&'a ArrayRef, ExportError> {
        self.batch.column_by_name(name).ok_or_else(|| self.other_version(name))
    }

    fn other_version(&self, name: &str) -> ExportError {
        let cause = format!("has no column {name} of the kind that this version writes: run the scenario again");
        ExportError::Read { path: self.path.into(), cause }
    }

    /// A column of whole numbers, or of truth values.
    pub(crate) fn numbers(&self, name: &str) -> Result<Numbers<'a>, ExportError> {
        let column = self.column(name)?;
        let is_known = column.data_type().is_integer() || column.data_type() == &DataType::Boolean;
        is_known.then_some(Numbers(column)).ok_or_else(|| self.other_version(name))
    }

    /// A column of names.
    pub(crate) fn names(&self, name: &str) -> Result<Names<'a>, ExportError> {
        let column = self.column(name)?;
        let dictionary = column.as_dictionary_opt::<Int32Type>().ok_or_else(|| self.other_version(name))?;
        let values = dictionary.values().as_string_opt::<i32>().ok_or_else(|| self.other_version(name))?;
        Ok(Names { keys: column, values })
    }

    /// A column of lists of whole numbers, as a function of the row.
    pub(crate) fn lists(&self, name: &str) -> Result<impl Fn(usize) -> Option<Vec<u16>> + use<'a>, ExportError> {
        let column = self.column(name)?.as_list_opt::<i32>().ok_or_else(|| self.other_version(name))?;
        let is_known = column.value_type() == DataType::UInt16;
        is_known.then_some(()).ok_or_else(|| self.other_version(name))?;
        Ok(move |row| column.is_valid(row).then(|| column.value(row).as_primitive::<UInt16Type>().values().to_vec()))
    }

    /// A column of bytes, as a function of the row.
    pub(crate) fn bytes(&self, name: &str) -> Result<impl Fn(usize) -> Option<&'a [u8]> + use<'a>, ExportError> {
        let column = self.column(name)?.as_binary_opt::<i32>().ok_or_else(|| self.other_version(name))?;
        Ok(move |row| column.is_valid(row).then(|| column.value(row)))
    }
}

impl Numbers<'_> {
    pub(crate) fn get(&self, row: usize) -> Option<u64> {
        let column = self.0;
        column.is_valid(row).then(|| match column.data_type() {
            DataType::UInt8 => column.as_primitive::<UInt8Type>().value(row).into(),
            DataType::UInt16 => column.as_primitive::<UInt16Type>().value(row).into(),
            DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).into(),
            DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row),
            DataType::Boolean => column.as_boolean().value(row).into(),
            // Times are never negative.
            _ => column.as_primitive::<Int64Type>().value(row) as u64,
        })
    }

    /// A value that every row has.
    pub(crate) fn at(&self, row: usize) -> u64 {
        self.get(row).unwrap_or_default()
    }
}

impl Names<'_> {
    /// The places in the list of nodes of nodes that every row has, as a function of the row.
    pub(crate) fn numbers(self, run: &Run) -> impl Fn(usize) -> u32 {
        let numbers: Vec<u32> = self.values.iter().map(|name| run.number(name.unwrap_or_default())).collect();
        let keys = self.keys.as_dictionary::<Int32Type>().keys().clone();
        move |row| numbers.get(keys.value(row) as usize).copied().unwrap_or_default()
    }

    pub(crate) fn get(&self, row: usize) -> Option<&str> {
        let dictionary = self.keys.as_dictionary::<Int32Type>();
        dictionary.key(row).map(|key| self.values.value(key))
    }

    /// A name that every row has.
    pub(crate) fn at(&self, row: usize) -> &str {
        self.get(row).unwrap_or_default()
    }
}
