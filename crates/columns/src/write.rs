//! Writer of the columns of a row group.

use crate::Encode;
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use std::io::Write;

/// Definition levels of a null list, an empty list, and an element.
const NO_LIST: i16 = 0;
const EMPTY: i16 = 1;
const ELEMENT: i16 = 2;

/// Values of a column in a row group.
pub struct Column(Box<dyn Chunk>);

trait Chunk {
    fn write(&self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError>;
}

/// Values, and the levels that mark nulls and the starts of lists.
struct Levels<D: DataType> {
    values: Vec<D::T>,
    definition: Option<Vec<i16>>,
    repetition: Option<Vec<i16>>,
}

impl<D: DataType> Chunk for Levels<D> {
    fn write(&self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let (definition, repetition) = (self.definition.as_deref(), self.repetition.as_deref());
        writer.typed::<D>().write_batch(&self.values, definition, repetition).map(drop)
    }
}

impl Column {
    /// Collects values without nulls.
    pub fn required<V: Encode>(cells: impl Iterator<Item = V>) -> Column {
        let values = cells.map(V::encode).collect();
        Column(Box::new(Levels::<V::Type> { values, definition: None, repetition: None }))
    }

    /// Collects values with nulls.
    pub fn optional<V: Encode>(cells: impl Iterator<Item = Option<V>>) -> Column {
        let (mut values, mut definition) = (Vec::new(), Vec::with_capacity(cells.size_hint().0));
        for cell in cells {
            definition.push(cell.is_some().into());
            values.extend(cell.map(V::encode));
        }
        Column(Box::new(Levels::<V::Type> { values, definition: Some(definition), repetition: None }))
    }

    /// Collects lists with nulls.
    pub fn lists<V: Encode>(cells: impl Iterator<Item = Option<impl IntoIterator<Item = V>>>) -> Column {
        let (mut values, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
        for cell in cells {
            let has_list = cell.is_some();
            let before = values.len();
            values.extend(cell.into_iter().flatten().map(V::encode));
            let elements = values.len() - before;
            if elements == 0 {
                definition.push(if has_list { EMPTY } else { NO_LIST });
                repetition.push(0);
            }
            definition.extend(std::iter::repeat_n(ELEMENT, elements));
            repetition.extend((0..elements).map(|place| i16::from(place > 0)));
        }
        let (definition, repetition) = (Some(definition), Some(repetition));
        Column(Box::new(Levels::<V::Type> { values, definition, repetition }))
    }
}

/// Writes a row group. `columns` are in the order of the schema.
///
/// # Errors
///
/// If the file cannot be written.
///
/// # Panics
///
/// If the type of a column differs from the schema.
pub fn write_group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    columns: impl IntoIterator<Item = Column>,
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        let next = group.next_column()?;
        let mut chunk = next.ok_or_else(|| ParquetError::General("more columns than in the schema".to_owned()))?;
        column.0.write(&mut chunk)?;
        chunk.close()?;
    }
    group.close().map(drop)
}
