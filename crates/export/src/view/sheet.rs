//! Writer of a file with explicit row groups.

use crate::ExportError;
use crate::view::GROUP;
use backwater_columns::{Column, FileWriter};
use parquet::basic::{Compression, Encoding, Type as PhysicalType, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::{ColumnPath, TypePtr};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Rows of a page, which can be read separately.
const PAGE: usize = 1 << 11;

/// File in progress.
pub(super) struct Sheet {
    path: PathBuf,
    writer: FileWriter<File>,
}

impl Sheet {
    /// Creates the file `name` in `output`. Columns of numbers have statistics.
    pub(super) fn create(output: &Path, name: &str, columns: Vec<TypePtr>) -> Result<Sheet, ExportError> {
        let path = output.join(format!("{name}.parquet"));
        let level = ZstdLevel::try_new(1).map_err(|cause| write_error(&path, cause))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_dictionary_enabled(false)
            .set_data_page_row_count_limit(PAGE)
            .set_statistics_enabled(EnabledStatistics::None);
        let properties = columns.iter().filter(|field| field.is_primitive()).fold(properties, |properties, field| {
            let column = ColumnPath::from(field.name());
            let encoding = match field.get_physical_type() {
                PhysicalType::INT32 => Encoding::DELTA_BINARY_PACKED,
                PhysicalType::DOUBLE => Encoding::BYTE_STREAM_SPLIT,
                _ => return properties,
            };
            properties
                .set_column_encoding(column.clone(), encoding)
                .set_column_statistics_enabled(column, EnabledStatistics::Chunk)
        });
        let file = File::create(&path).map_err(|cause| ExportError::Write { path: path.clone(), cause })?;
        let writer = FileWriter::new(file, columns, properties.build());
        let writer = writer.map_err(|cause| write_error(&path, cause))?;
        Ok(Sheet { path, writer })
    }

    /// Appends rows as new row groups.
    pub(super) fn write<R>(&mut self, rows: &[R], columns: impl Fn(&[R]) -> Vec<Column>) -> Result<(), ExportError> {
        for rows in rows.chunks(GROUP) {
            let mut columns = columns(rows);
            let written = self.writer.write(rows.len(), columns.iter_mut().map(Column::chunk));
            written.map_err(|cause| write_error(&self.path, cause))?;
        }
        Ok(())
    }

    /// Completes the file.
    pub(super) fn finish(self) -> Result<(), ExportError> {
        self.writer.finish().map(drop).map_err(|cause| write_error(&self.path, cause))
    }
}

fn write_error(path: &Path, cause: impl std::error::Error + Send + Sync + 'static) -> ExportError {
    ExportError::Write { path: path.into(), cause: std::io::Error::other(cause) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_columns::{Text, field};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::file::statistics::Statistics;
    use temp_dir::TempDir;

    /// A reader finds row groups by their minima and maxima.
    #[test]
    fn numbers_have_limits_and_a_suitable_encoding() {
        let directory = TempDir::new().unwrap();
        let fields = vec![field::<i32>("bin", false), field::<f64>("most", false), field::<Text>("name", false)];
        let mut sheet = Sheet::create(directory.path(), "some", fields).unwrap();
        let columns = |rows: &[i32]| {
            let most = rows.iter().map(|row| f64::from(*row) / 2.0);
            vec![
                Column::required(rows.iter().copied()),
                Column::required(most),
                Column::required(rows.iter().map(|_| Text::from("text"))),
            ]
        };
        let rows: Vec<i32> = (0..GROUP as i32 + 1).collect();
        sheet.write(&rows, columns).unwrap();
        sheet.finish().unwrap();
        let file = File::open(directory.path().join("some.parquet")).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let groups = reader.metadata().row_groups();
        assert_eq!(groups.iter().map(|group| group.num_rows()).collect::<Vec<_>>(), [GROUP as i64, 1]);
        let encodings: [Vec<_>; 3] = std::array::from_fn(|i| groups[0].column(i).encodings().collect());
        assert!(encodings[0].contains(&Encoding::DELTA_BINARY_PACKED), "{encodings:?}");
        assert!(encodings[1].contains(&Encoding::BYTE_STREAM_SPLIT), "{encodings:?}");
        let limits = |i: usize| match groups[0].column(i).statistics() {
            Some(Statistics::Int32(limits)) => limits.max_opt().map(|most| f64::from(*most)),
            Some(Statistics::Double(limits)) => limits.max_opt().copied(),
            _ => None,
        };
        assert_eq!([0, 1, 2].map(limits), [Some(16_383.0), Some(8191.5), None]);
    }
}
