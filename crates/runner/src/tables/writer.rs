//! Writer of a table, with a bounded number of rows in memory.
//!
//! Files are Parquet with zstd compression. A file gets its final name when it is complete.

use super::row::Row;
use crate::disk::{FileSum, Keeper};
use backwater_columns::{FileWriter, Text, is_text};
use parquet::basic::{Compression, Encoding, LogicalType, Type as PhysicalType, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::{ColumnPath, Type};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Failure to write a table.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", path.display())]
pub struct TableWriteError {
    path: PathBuf,
    cause: Box<dyn std::error::Error + Send + Sync>,
}

/// Rows of a row group, which are held in memory until they are encoded.
const ROW_GROUP: usize = 1 << 14;
/// Bytes of a page, which the encoder of a column also holds in memory.
const PAGE: usize = 64 << 10;

/// Writer of one table.
pub(crate) struct TableWriter<R: Row> {
    /// File name in the result directory.
    file: String,
    path: PathBuf,
    partial: PathBuf,
    writer: FileWriter<Keeper<File>>,
    /// Rows that are not yet encoded.
    columns: R::Columns,
    /// Number of rows that are not yet encoded.
    rows: usize,
    /// First encoding error.
    error: Option<ParquetError>,
}

impl<R: Row> TableWriter<R> {
    /// Creates the table `name` in `directory`.
    ///
    /// # Errors
    ///
    /// If the file cannot be created.
    pub(crate) fn create(
        directory: &Path,
        name: &str,
        names: &Arc<[Text]>,
        metadata: &[(String, String)],
    ) -> Result<TableWriter<R>, TableWriteError> {
        let file = format!("{name}.parquet");
        let (path, partial) = (directory.join(&file), directory.join(format!("{file}.partial")));
        let fail = |cause: Box<dyn std::error::Error + Send + Sync>| TableWriteError { path: path.clone(), cause };
        let fields = R::fields();
        let level = ZstdLevel::try_new(1).map_err(|cause| fail(cause.into()))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_data_page_size_limit(PAGE)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_key_value_metadata(Some(with_meanings::<R>(metadata)))
            .set_dictionary_enabled(false);
        let properties = fields.iter().fold(properties, |properties, field| encoding(properties, field)).build();
        let opened = File::create(&partial).map_err(|cause| fail(cause.into()))?;
        let writer = FileWriter::new(Keeper::new(opened), fields, properties).map_err(|cause| fail(cause.into()))?;
        Ok(TableWriter { file, path, partial, writer, columns: R::columns(names), rows: 0, error: None })
    }

    /// Appends a row. Bytes that the disk rejects stay in memory; [`TableWriter::failure`] reports
    /// the error.
    #[inline]
    pub(crate) fn push(&mut self, row: R) {
        self.push_with(|number, columns| row.set(number, columns));
    }

    /// Appends a row, whose cells `fill` writes to the columns. `fill` is given the row's number.
    #[inline]
    pub(crate) fn push_with(&mut self, fill: impl FnOnce(u32, &mut R::Columns)) {
        fill(self.rows as u32, &mut self.columns);
        self.rows += 1;
        if self.rows == ROW_GROUP {
            let encoded = self.encode();
            self.error = self.error.take().or(encoded.err());
        }
    }

    /// Returns the first write error, if any.
    pub(crate) fn failure(&self) -> Option<String> {
        let rejected = self.writer.output().failure().map(ToString::to_string);
        let cause = rejected.or_else(|| self.error.as_ref().map(ToString::to_string))?;
        Some(format!("{}: {cause}", self.path.display()))
    }

    /// Encodes the rows in memory.
    fn encode(&mut self) -> Result<(), ParquetError> {
        match std::mem::take(&mut self.rows) {
            0 => Ok(()),
            rows => self.writer.write(rows, R::chunks(&mut self.columns)),
        }
    }

    /// Completes and renames the file. Returns its name and checksum. Bytes that the disk rejected
    /// are written again.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, for example because the disk is full.
    pub(crate) fn finish(mut self) -> Result<(String, FileSum), TableWriteError> {
        let path = self.path.clone();
        let fail = |cause: Box<dyn std::error::Error + Send + Sync>| TableWriteError { path: path.clone(), cause };
        let encoded = self.encode();
        if let Some(cause) = self.error.take().or(encoded.err()) {
            return Err(fail(cause.into()));
        }
        let keeper = self.writer.finish().map_err(|cause| fail(cause.into()))?;
        let (_, sum) = keeper.settle().map_err(|cause| fail(cause.into()))?;
        fs::rename(&self.partial, &self.path).map_err(|cause| fail(cause.into()))?;
        Ok((self.file, sum))
    }
}

/// Returns `metadata` with the meanings of the columns, a JSON object under the key `columns`.
fn with_meanings<R: Row>(metadata: &[(String, String)]) -> Vec<KeyValue> {
    let meanings = R::definitions().into_iter().map(|column| (column.name.to_owned(), column.meaning.into()));
    let meanings = serde_json::Value::Object(meanings.collect()).to_string();
    let pairs = metadata.iter().cloned().chain([("columns".to_owned(), meanings)]);
    pairs.map(|(key, value)| KeyValue::new(key, value)).collect()
}

/// Chooses the encoding of a column. Names use a dictionary. Times and small numbers use deltas,
/// because neighbouring values are close. Sizes use the plain encoding, because values repeat and
/// compress well.
fn encoding(properties: WriterPropertiesBuilder, field: &Type) -> WriterPropertiesBuilder {
    let column = ColumnPath::from(field.name());
    if is_text(field) {
        return properties
            .set_column_dictionary_enabled(column.clone(), true)
            .set_column_statistics_enabled(column, EnabledStatistics::None);
    }
    let is_size = field.get_basic_info().logical_type_ref() == Some(&LogicalType::integer(64, false));
    let is_close = field.is_primitive()
        && !is_size
        && matches!(field.get_physical_type(), PhysicalType::INT32 | PhysicalType::INT64);
    if is_close { properties.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED) } else { properties }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{GoodputRow, Name};
    use backwater_engine::Time;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use temp_dir::TempDir;

    #[test]
    fn files_hold_the_meanings_and_suitable_encodings_of_columns() {
        let directory = TempDir::new().unwrap();
        let names = Arc::from([Text::from("h0")]);
        let version = [("version".to_owned(), "0".to_owned())];
        let mut table = TableWriter::create(directory.path(), "goodput", &names, &version).unwrap();
        for i in 0..2000 {
            table.push(GoodputRow { time_ps: Time::from_ps(i), tag: Name(0), role: None, delivered_bytes: i % 3 });
        }
        table.finish().unwrap();
        let reader = SerializedFileReader::new(File::open(directory.path().join("goodput.parquet")).unwrap()).unwrap();
        let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap().iter();
        let metadata: Vec<_> = pairs.map(|pair| (pair.key.as_str(), pair.value.as_deref().unwrap())).collect();
        assert_eq!(metadata[0], ("version", "0"));
        let meanings: serde_json::Value = serde_json::from_str(metadata[1].1).unwrap();
        assert_eq!((metadata[1].0, &meanings["time_ps"]), ("columns", &"Time of the sample.".into()));
        assert_eq!(meanings.as_object().unwrap().len(), 4);

        let group = &reader.metadata().row_groups()[0];
        let is = |column: usize, encoding| group.column(column).encodings().any(|each| each == encoding);
        let encodings = [Encoding::DELTA_BINARY_PACKED, Encoding::RLE_DICTIONARY];
        let found = [0, 1, 2, 3].map(|column| encodings.map(|encoding| is(column, encoding)));
        // The columns are time, tag, role and bytes.
        assert_eq!(found, [[true, false], [false, true], [false, true], [false, true]]);
        let has_limits = [0, 1, 2, 3].map(|column| group.column(column).statistics().is_some());
        assert_eq!(has_limits, [true, false, false, true]);
    }
}
