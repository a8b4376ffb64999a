//! Reader of the tables of a result.

use crate::ExportError;
use crate::run::Run;
use backwater_columns::{ByteArray, Cells};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use serde_json::{Map, Value};
use std::fs::File;
use std::path::Path;

/// Row group of a table. Columns are read on request.
pub(crate) struct Rows<'a> {
    group: &'a dyn RowGroupReader,
    path: &'a Path,
}

/// Column of whole numbers.
pub(crate) struct Numbers(Vec<Option<u64>>);

/// Column of names.
pub(crate) struct Names(Vec<Option<ByteArray>>);

/// Time window: start, and end (exclusive), ps.
pub type TimeWindow = (u64, u64);

fn open(path: &Path) -> Result<SerializedFileReader<File>, ParquetError> {
    SerializedFileReader::new(File::open(path)?)
}

fn read_error(path: &Path) -> impl Fn(ParquetError) -> ExportError {
    |cause| ExportError::Read { path: path.into(), cause: cause.to_string() }
}

/// Returns the number of rows of a table.
pub(crate) fn row_count(path: &Path) -> Result<u64, ExportError> {
    let file = open(path).map_err(read_error(path))?;
    Ok(file.metadata().file_metadata().num_rows() as u64)
}

/// Returns the columns of a table by name, each with its meaning; null if the table has none.
pub(crate) fn columns(path: &Path) -> Result<Map<String, Value>, ExportError> {
    let file = open(path).map_err(read_error(path))?;
    let metadata = file.metadata().file_metadata();
    let stated = metadata.key_value_metadata().into_iter().flatten().find(|pair| pair.key == "columns");
    let mut meanings: Map<String, Value> = match stated.and_then(|pair| pair.value.as_ref()) {
        Some(text) => serde_json::from_str(text).map_err(|error| ExportError::Read {
            path: path.into(),
            cause: format!("the meanings of the columns cannot be read: {error}; run the scenario again"),
        })?,
        None => Map::new(),
    };
    let names = metadata.schema().get_fields().iter().map(|column| column.name());
    Ok(names.map(|name| (name.to_owned(), meanings.remove(name).unwrap_or_default())).collect())
}

/// Calls `handle` with each row group of a table. With a `window`, skips row groups whose
/// `time_ps`, the first column, lies outside it.
pub(crate) fn read(
    path: &Path,
    window: Option<TimeWindow>,
    mut handle: impl FnMut(&Rows<'_>) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let file = open(path).map_err(read_error(path))?;
    let needed = file.metadata().row_groups().iter().enumerate().filter(|(_, group)| overlaps(group, window));
    for (number, _) in needed {
        let group = file.get_row_group(number).map_err(read_error(path))?;
        handle(&Rows { group: &*group, path })?;
    }
    Ok(())
}

/// Returns true if a row group may have times within `window`.
fn overlaps(group: &RowGroupMetaData, window: Option<TimeWindow>) -> bool {
    let Some((from, until)) = window else { return true };
    match group.column(0).statistics() {
        Some(Statistics::Int64(times)) => {
            let (first, last) = (times.min_opt(), times.max_opt());
            first.is_none_or(|first| (*first as u64) < until) && last.is_none_or(|last| *last as u64 >= from)
        }
        _ => true,
    }
}

impl Rows<'_> {
    pub(crate) fn len(&self) -> usize {
        self.group.metadata().num_rows() as usize
    }

    fn column(&self, name: &str) -> Result<Option<Cells>, ExportError> {
        backwater_columns::read(self.group, name).map_err(read_error(self.path))
    }

    fn other_version(&self, name: &str) -> ExportError {
        let cause = format!("column {name} is missing or has another type: run the scenario again with this version");
        ExportError::Read { path: self.path.into(), cause }
    }

    /// Reads a column of whole numbers or truth values.
    pub(crate) fn numbers(&self, name: &str) -> Result<Numbers, ExportError> {
        let Some(Cells::Numbers(cells)) = self.column(name)? else { return Err(self.other_version(name)) };
        Ok(Numbers(cells))
    }

    /// Reads a column of whole numbers; `None` if the table is older than the column.
    pub(crate) fn newer_numbers(&self, name: &str) -> Result<Option<Numbers>, ExportError> {
        if self.column(name)?.is_none() {
            return Ok(None);
        }
        self.numbers(name).map(Some)
    }

    /// Reads a column of names.
    pub(crate) fn names(&self, name: &str) -> Result<Names, ExportError> {
        let Some(Cells::Text(cells)) = self.column(name)? else { return Err(self.other_version(name)) };
        Ok(Names(cells))
    }

    /// Reads a column of lists of whole numbers.
    pub(crate) fn lists(&self, name: &str) -> Result<Vec<Option<Vec<u64>>>, ExportError> {
        let Some(Cells::Lists(cells)) = self.column(name)? else { return Err(self.other_version(name)) };
        Ok(cells)
    }

    /// Reads a column of bytes.
    pub(crate) fn bytes(&self, name: &str) -> Result<Vec<Option<ByteArray>>, ExportError> {
        let Some(Cells::Bytes(cells)) = self.column(name)? else { return Err(self.other_version(name)) };
        Ok(cells)
    }
}

impl Numbers {
    pub(crate) fn get(&self, row: usize) -> Option<u64> {
        self.0[row]
    }

    /// Returns a value of a column without nulls.
    pub(crate) fn at(&self, row: usize) -> u64 {
        self.get(row).unwrap_or_default()
    }
}

impl Names {
    /// Returns a function from the row to the number of the node. The column has no nulls.
    pub(crate) fn numbers(self, run: &Run) -> impl Fn(usize) -> u32 {
        let numbers: Vec<u32> = (0..self.0.len()).map(|row| run.number(self.at(row))).collect();
        move |row| numbers[row]
    }

    pub(crate) fn get(&self, row: usize) -> Option<&str> {
        // Bytes that are not UTF-8 become an empty name.
        self.0[row].as_ref().map(|name| name.as_utf8().unwrap_or_default())
    }

    /// Returns a name of a column without nulls.
    pub(crate) fn at(&self, row: usize) -> &str {
        self.get(row).unwrap_or_default()
    }
}
