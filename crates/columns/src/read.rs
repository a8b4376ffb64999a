//! Reader of a column of a row group.

use crate::is_text;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::RowGroupReader;
use parquet::schema::types::ColumnDescriptor;

/// Cells of a column in a row group. `None` is null.
#[derive(Clone, Debug)]
pub enum Cells {
    /// Non-negative whole numbers, and truth values (0 or 1).
    Numbers(Vec<Option<u64>>),
    /// Text in UTF-8.
    Text(Vec<Option<ByteArray>>),
    /// Bytes.
    Bytes(Vec<Option<ByteArray>>),
    /// Lists of whole numbers.
    Lists(Vec<Option<Vec<u64>>>),
}

/// Values of a column chunk, with definition and repetition levels.
struct Levels<T> {
    values: Vec<T>,
    definition: Vec<i16>,
    repetition: Vec<i16>,
}

/// Reads column `name` of a row group. Returns `None` if the column is missing or has another type.
///
/// # Errors
///
/// If the file cannot be read or is damaged.
pub fn read(group: &dyn RowGroupReader, name: &str) -> Result<Option<Cells>, ParquetError> {
    let columns = group.metadata().schema_descr().columns();
    let found = columns.iter().position(|column| column.path().parts().first().is_some_and(|root| root == name));
    let Some(place) = found else { return Ok(None) };
    let (column, rows) = (&columns[place], group.metadata().num_rows() as usize);
    let numbers = match group.get_column_reader(place)? {
        ColumnReader::BoolColumnReader(reader) => levels(reader, rows)?.map(u64::from),
        // These are unsigned numbers of up to 32 bits.
        ColumnReader::Int32ColumnReader(reader) => levels(reader, rows)?.map(|value: i32| (value as u32).into()),
        ColumnReader::Int64ColumnReader(reader) => levels(reader, rows)?.map(|value: i64| value as u64),
        ColumnReader::ByteArrayColumnReader(reader) => {
            let cells = levels(reader, rows)?.cells(column);
            return Ok(Some(if is_text(column.self_type()) { Cells::Text(cells) } else { Cells::Bytes(cells) }));
        }
        _ => return Ok(None),
    };
    let is_list = column.max_rep_level() > 0;
    Ok(Some(if is_list { Cells::Lists(numbers.lists(column)) } else { Cells::Numbers(numbers.cells(column)) }))
}

fn levels<D: DataType>(mut reader: ColumnReaderImpl<D>, rows: usize) -> Result<Levels<D::T>, ParquetError> {
    let mut read = Levels { values: Vec::new(), definition: Vec::new(), repetition: Vec::new() };
    reader.read_records(rows, Some(&mut read.definition), Some(&mut read.repetition), &mut read.values)?;
    Ok(read)
}

impl<T> Levels<T> {
    fn map<U>(self, convert: impl Fn(T) -> U) -> Levels<U> {
        let Levels { values, definition, repetition } = self;
        Levels { values: values.into_iter().map(convert).collect(), definition, repetition }
    }

    /// Assigns the values to rows.
    fn cells(self, column: &ColumnDescriptor) -> Vec<Option<T>> {
        let mut values = self.values.into_iter();
        match column.max_def_level() {
            0 => values.map(Some).collect(),
            defined => {
                let cell = |level| if level == defined { values.next() } else { None };
                self.definition.into_iter().map(cell).collect()
            }
        }
    }

    /// Joins the values to the lists of the rows.
    fn lists(self, column: &ColumnDescriptor) -> Vec<Option<Vec<T>>> {
        let mut values = self.values.into_iter();
        let mut lists = Vec::new();
        for (definition, repetition) in self.definition.into_iter().zip(self.repetition) {
            if repetition == 0 {
                lists.push((definition > 0).then(Vec::new));
            }
            if let Some(Some(list)) = lists.last_mut().filter(|_| definition == column.max_def_level()) {
                list.extend(values.next());
            }
        }
        lists
    }
}
