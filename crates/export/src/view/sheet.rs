//! Writing a file whose row groups are chosen by hand.

use crate::ExportError;
use crate::view::GROUP;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a page, which can be read without the others of its row group.
const PAGE: usize = 1 << 11;

/// A file that is being written.
pub(super) struct Sheet {
    path: PathBuf,
    schema: Arc<Schema>,
    writer: ArrowWriter<File>,
}

impl Sheet {
    /// A file called `name` in `output`. Columns of whole numbers have statistics.
    pub(super) fn create(output: &Path, name: &str, columns: &[(String, DataType)]) -> Result<Sheet, ExportError> {
        let path = output.join(format!("{name}.parquet"));
        let fields = columns
            .iter()
            .map(|(name, kind)| Field::new(name, kind.clone(), kind.is_nested() || *kind == DataType::Utf8));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let level = ZstdLevel::try_new(1).map_err(|cause| write_error(&path, cause))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_dictionary_enabled(false)
            .set_data_page_row_count_limit(PAGE)
            .set_statistics_enabled(EnabledStatistics::None);
        let properties = columns.iter().fold(properties, |properties, (name, kind)| {
            let column = ColumnPath::from(name.as_str());
            match kind {
                DataType::Int32 => properties
                    .set_column_encoding(column.clone(), Encoding::DELTA_BINARY_PACKED)
                    .set_column_statistics_enabled(column, EnabledStatistics::Chunk),
                DataType::Float64 => properties
                    .set_column_encoding(column.clone(), Encoding::BYTE_STREAM_SPLIT)
                    .set_column_statistics_enabled(column, EnabledStatistics::Chunk),
                _ => properties,
            }
        });
        let file = File::create(&path).map_err(|cause| ExportError::Write { path: path.clone(), cause })?;
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties.build()));
        let writer = writer.map_err(|cause| write_error(&path, cause))?;
        Ok(Sheet { path, schema, writer })
    }

    /// Appends rows, in row groups of their own.
    pub(super) fn write<R>(&mut self, rows: &[R], columns: impl Fn(&[R]) -> Vec<ArrayRef>) -> Result<(), ExportError> {
        for rows in rows.chunks(GROUP) {
            let batch = RecordBatch::try_new(self.schema.clone(), columns(rows));
            let batch = batch.map_err(|cause| write_error(&self.path, cause))?;
            let written = self.writer.write(&batch).and_then(|()| self.writer.flush());
            written.map_err(|cause| write_error(&self.path, cause))?;
        }
        Ok(())
    }

    /// Completes the file.
    pub(super) fn finish(self) -> Result<(), ExportError> {
        self.writer.close().map(drop).map_err(|cause| write_error(&self.path, cause))
    }
}

fn write_error(path: &Path, cause: impl std::error::Error + Send + Sync + 'static) -> ExportError {
    ExportError::Write { path: path.into(), cause: std::io::Error::other(cause) }
}
