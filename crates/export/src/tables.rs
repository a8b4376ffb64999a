//! Reading the tables of a result, column by column.

use crate::ExportError;
use crate::run::Run;
use backwater_columns::{ByteArray, Cells};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use std::fs::File;
use std::path::Path;

/// Rows of a row group, and the columns of them that were asked for.
pub(crate) struct Rows<'a> {
    pub(crate) len: usize,
    pub(crate) columns: Vec<(&'a str, Option<Cells>)>,
    pub(crate) path: &'a Path,
}

/// A column of whole numbers.
pub(crate) struct Numbers<'a>(&'a [Option<u64>]);

/// A column of names.
pub(crate) struct Names<'a>(&'a [Option<ByteArray>]);

/// Times from the first on and before the second, ps.
pub type Window = (u64, u64);

fn open(path: &Path) -> Result<SerializedFileReader<File>, ParquetError> {
    SerializedFileReader::new(File::open(path)?)
}

fn read_error(path: &Path) -> impl Fn(ParquetError) -> ExportError {
    |cause| ExportError::Read { path: path.into(), cause: cause.to_string() }
}

/// How many rows a table has.
pub(crate) fn row_count(path: &Path) -> Result<u64, ExportError> {
    let file = open(path).map_err(read_error(path))?;
    Ok(file.metadata().file_metadata().num_rows() as u64)
}

/// Calls `handle` with every row group of a table, of which it reads `columns`. With a `window`,
/// skips row groups whose `time_ps`, the first column, lies outside it.
pub(crate) fn read(
    path: &Path,
    columns: &[&str],
    window: Option<Window>,
    mut handle: impl FnMut(&Rows<'_>) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let file = open(path).map_err(read_error(path))?;
    let needed = file.metadata().row_groups().iter().enumerate().filter(|(_, group)| overlaps(group, window));
    for (number, _) in needed {
        let group = file.get_row_group(number).map_err(read_error(path))?;
        let columns = columns.iter().map(|name| backwater_columns::read(&*group, name).map(|cells| (*name, cells)));
        let columns = columns.collect::<Result<_, _>>().map_err(read_error(path))?;
        handle(&Rows { len: group.metadata().num_rows() as usize, columns, path })?;
    }
    Ok(())
}

/// Returns whether a row group may have times within `window`.
fn overlaps(group: &RowGroupMetaData, window: Option<Window>) -> bool {
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
        self.len
    }

    fn column(&self, name: &str) -> Option<&Cells> {
        self.columns.iter().find(|(column, _)| *column == name)?.1.as_ref()
    }

    fn other_version(&self, name: &str) -> ExportError {
        let cause = format!("has no column {name} of the kind that this version writes: run the scenario again");
        ExportError::Read { path: self.path.into(), cause }
    }

    /// A column of whole numbers, or of truth values.
    pub(crate) fn numbers(&self, name: &str) -> Result<Numbers<'_>, ExportError> {
        let Some(Cells::Numbers(cells)) = self.column(name) else { return Err(self.other_version(name)) };
        Ok(Numbers(cells))
    }

    /// A column of names.
    pub(crate) fn names(&self, name: &str) -> Result<Names<'_>, ExportError> {
        let Some(Cells::Text(cells)) = self.column(name) else { return Err(self.other_version(name)) };
        Ok(Names(cells))
    }

    /// A column of lists of whole numbers, as a function of the row.
    pub(crate) fn lists<'a>(
        &'a self,
        name: &str,
    ) -> Result<impl Fn(usize) -> Option<&'a [u64]> + use<'a>, ExportError> {
        let Some(Cells::Lists(cells)) = self.column(name) else { return Err(self.other_version(name)) };
        Ok(|row: usize| cells[row].as_deref())
    }

    /// A column of bytes, as a function of the row.
    pub(crate) fn bytes<'a>(&'a self, name: &str) -> Result<impl Fn(usize) -> Option<&'a [u8]> + use<'a>, ExportError> {
        let Some(Cells::Bytes(cells)) = self.column(name) else { return Err(self.other_version(name)) };
        Ok(|row: usize| cells[row].as_ref().map(ByteArray::data))
    }
}

impl Numbers<'_> {
    pub(crate) fn get(&self, row: usize) -> Option<u64> {
        self.0[row]
    }

    /// A value that every row has.
    pub(crate) fn at(&self, row: usize) -> u64 {
        self.get(row).unwrap_or_default()
    }
}

impl<'a> Names<'a> {
    /// The places in the list of nodes of nodes that every row has, as a function of the row.
    pub(crate) fn numbers(self, run: &Run) -> impl Fn(usize) -> u32 {
        let numbers: Vec<u32> = (0..self.0.len()).map(|row| run.number(self.at(row))).collect();
        move |row| numbers[row]
    }

    pub(crate) fn get(&self, row: usize) -> Option<&'a str> {
        // Bytes that are not UTF-8 name nothing.
        self.0[row].as_ref().map(|name| name.as_utf8().unwrap_or_default())
    }

    /// A name that every row has.
    pub(crate) fn at(&self, row: usize) -> &'a str {
        self.get(row).unwrap_or_default()
    }
}
