//! Writer of a file, and of the columns of a row group.

use crate::dictionary::Dictionary;
use crate::encode::Physical;
use crate::pages::{Attempts, Pages};
use crate::{Encode, schema};
use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::writer::{ColumnCloseResult, ColumnWriterImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, TypePtr};
use std::io::Write;
use std::sync::Arc;
use zstd::bulk::Compressor;

/// Compression level of [`Words`](crate::Words) and [`Values`].
const LEVEL: i32 = 1;

/// Definition levels of a null list, an empty list, and an element.
const NO_LIST: i16 = 0;
const EMPTY: i16 = 1;
const ELEMENT: i16 = 2;

/// Writer of a file, one row group at a time.
pub struct FileWriter<W: Write> {
    file: SerializedFileWriter<W>,
    compressor: Compressor<'static>,
    scratch: Scratch,
}

/// Memory that all columns of a file use.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Page before compression.
    pub(crate) page: Vec<u8>,
    pub(crate) dictionary: Dictionary,
}

impl<W: Write + Send> FileWriter<W> {
    /// Starts a file with the columns `fields`. [`Words`](crate::Words) and [`Values`] are
    /// compressed with zstd if that helps, and numbers in the plain encoding get a dictionary if
    /// that helps, whatever the properties say. They have one data page per row group.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn new(output: W, fields: Vec<TypePtr>, properties: WriterProperties) -> Result<FileWriter<W>, ParquetError> {
        let file = SerializedFileWriter::new(output, schema(fields), Arc::new(properties))?;
        Ok(FileWriter { file, compressor: Compressor::new(LEVEL)?, scratch: Scratch::default() })
    }

    /// Writes a row group of `rows` rows, and removes them from `columns`, which are in the order
    /// of the schema.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    ///
    /// # Panics
    ///
    /// If the type of a column differs from the schema.
    pub fn write<'a>(
        &mut self,
        rows: usize,
        columns: impl IntoIterator<Item = &'a mut dyn Chunk>,
    ) -> Result<(), ParquetError> {
        let descriptors = self.file.schema_descr().columns().to_vec();
        let properties = self.file.properties().clone();
        let FileWriter { file, compressor, scratch } = self;
        let mut group = file.next_row_group()?;
        for (descriptor, column) in descriptors.into_iter().zip(columns) {
            let mut target = Target { descriptor, properties: properties.clone(), compressor, scratch };
            let (bytes, closed) = column.encode(rows, &mut target)?;
            group.append_column(&bytes, closed)?;
        }
        group.close().map(drop)
    }

    /// Returns the output.
    pub fn output(&self) -> &W {
        self.file.inner()
    }

    /// Completes the file and returns the output.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn finish(self) -> Result<W, ParquetError> {
        self.file.into_inner()
    }
}

/// Column of the file to which cells are written.
pub struct Target<'a> {
    pub(crate) descriptor: ColumnDescPtr,
    pub(crate) properties: WriterPropertiesPtr,
    pub(crate) compressor: &'a mut Compressor<'static>,
    pub(crate) scratch: &'a mut Scratch,
}

/// Pages and metadata of a column of a row group.
pub type Encoded = (Bytes, ColumnCloseResult);

/// Cells of a column, collected for a row group.
pub trait Chunk {
    /// Encodes the cells of `rows` rows, and removes them.
    ///
    /// # Errors
    ///
    /// If the cells cannot be encoded.
    fn encode(&mut self, rows: usize, target: &mut Target<'_>) -> Result<Encoded, ParquetError>;
}

type Stored<V> = <<V as Encode>::Type as DataType>::T;

/// Column of single values, with or without nulls.
pub struct Values<V: Encode> {
    values: Vec<Stored<V>>,
    /// Rows of the values, if the column has nulls. The other rows are null.
    rows: Vec<u32>,
    compression: Attempts,
    dictionary: Attempts,
}

/// Column of single values or lists, which the library encodes.
pub struct Levels<V: Encode> {
    values: Vec<Stored<V>>,
    /// Definition levels; empty without nulls.
    definition: Vec<i16>,
    /// Repetition levels; empty without lists.
    repetition: Vec<i16>,
}

impl<V: Encode> Values<V> {
    /// Appends a cell of a column without nulls.
    #[inline]
    pub fn push(&mut self, value: V) {
        self.values.push(value.encode());
    }

    /// Sets the cell of `row` in a column with nulls. `row` is after all rows set before.
    #[inline]
    pub fn set(&mut self, row: u32, value: V) {
        self.rows.push(row);
        self.values.push(value.encode());
    }
}

impl<V: Encode> Levels<V> {
    /// Appends a list, or null.
    pub fn push_list(&mut self, cell: Option<impl IntoIterator<Item = V>>) {
        let Levels { values, definition, repetition } = self;
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
}

impl<V: Encode> Default for Values<V> {
    fn default() -> Self {
        Values {
            values: Vec::new(),
            rows: Vec::new(),
            compression: Attempts::default(),
            dictionary: Attempts::default(),
        }
    }
}

impl<V: Encode> Default for Levels<V> {
    fn default() -> Self {
        Levels { values: Vec::new(), definition: Vec::new(), repetition: Vec::new() }
    }
}

impl<V: Encode> Chunk for Values<V> {
    fn encode(&mut self, rows: usize, target: &mut Target<'_>) -> Result<Encoded, ParquetError> {
        let Values { values, rows: defined, compression, dictionary } = self;
        let encoding = target.properties.encoding(target.descriptor.path()).unwrap_or(Encoding::PLAIN);
        let is_signed = target.descriptor.sort_order().is_signed();
        let limits = Stored::<V>::limits(values, (rows - values.len()) as u64, is_signed);
        let is_due = encoding == Encoding::PLAIN && dictionary.is_due();
        let words = is_due.then(|| Stored::<V>::assign_codes(values, &mut target.scratch.dictionary)).flatten();
        dictionary.count(words.is_some());
        let mut pages = Pages::new(target, compression);
        let encoding = match (&words, encoding) {
            (Some(words), _) => {
                Stored::<V>::write_plain(words, pages.page());
                pages.write_dictionary(words.len())?;
                pages.write_codes(rows, defined, words.len());
                Encoding::RLE_DICTIONARY
            }
            (None, Encoding::DELTA_BINARY_PACKED) => {
                Stored::<V>::write_deltas(values, pages.start(rows, defined))?;
                encoding
            }
            (None, _) => {
                Stored::<V>::write_plain(values, pages.start(rows, defined));
                encoding
            }
        };
        values.clear();
        defined.clear();
        pages.finish(rows, encoding, limits)
    }
}

impl<V: Encode> Chunk for Levels<V> {
    fn encode(&mut self, _: usize, target: &mut Target<'_>) -> Result<Encoded, ParquetError> {
        let Levels { values, definition, repetition } = self;
        let mut output = TrackedWrite::new(Vec::new());
        let pages = Box::new(SerializedPageWriter::new(&mut output));
        let mut writer = ColumnWriterImpl::<V::Type>::new(target.descriptor.clone(), target.properties.clone(), pages);
        let [defined, repeated] = [&definition[..], repetition].map(|levels| Some(levels).filter(|it| !it.is_empty()));
        writer.write_batch(values, defined, repeated)?;
        let closed = writer.close()?;
        values.clear();
        definition.clear();
        repetition.clear();
        Ok((output.into_inner()?.into(), closed))
    }
}

/// Column of any type, which the library encodes.
pub struct Column(Box<dyn Chunk>);

impl Column {
    /// Collects values without nulls.
    pub fn required<V: Encode + 'static>(cells: impl Iterator<Item = V>) -> Column {
        Column(Box::new(Levels::<V> { values: cells.map(V::encode).collect(), ..Levels::default() }))
    }

    /// Collects values with nulls.
    pub fn optional<V: Encode + 'static>(cells: impl Iterator<Item = Option<V>>) -> Column {
        let mut column = Levels::<V>::default();
        for cell in cells {
            column.definition.push(cell.is_some().into());
            column.values.extend(cell.map(V::encode));
        }
        Column(Box::new(column))
    }

    /// Collects lists with nulls.
    pub fn lists<V: Encode + 'static>(cells: impl Iterator<Item = Option<impl IntoIterator<Item = V>>>) -> Column {
        let mut column = Levels::default();
        cells.for_each(|cell| column.push_list(cell));
        Column(Box::new(column))
    }

    /// Returns the cells.
    pub fn chunk(&mut self) -> &mut dyn Chunk {
        &mut *self.0
    }
}
