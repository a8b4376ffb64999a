//! Reader and writer of Parquet columns, one row group at a time.
//!
//! [`field`] and [`list_field`] declare columns, [`schema`] a file. A [`Column`] holds the values
//! of one row group, which [`write_group`] writes. [`read`] returns a column as [`Cells`].
//! Properties, metadata and statistics are those of the `parquet` crate.

mod read;
mod write;

pub use parquet::data_type::ByteArray;
pub use read::{Cells, read};
pub use write::{Column, write_group};

use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

/// Rust type of a column.
pub trait Encode {
    /// Physical type in the file.
    type Type: DataType;

    /// Returns the logical type, or `None` if the physical type is sufficient.
    fn logical_type() -> Option<LogicalType>;

    /// Converts a value to its physical type.
    fn encode(self) -> <Self::Type as DataType>::T;
}

/// Implements [`Encode`]: Rust type, physical type, logical type, conversion.
macro_rules! values {
    ($($value:ty: $physical:ty, $logical:expr, $encode:expr;)+) => {
        $(impl Encode for $value {
            type Type = $physical;

            fn logical_type() -> Option<LogicalType> {
                $logical
            }

            fn encode(self) -> <$physical as DataType>::T {
                $encode(self)
            }
        })+
    };
}

values! {
    bool: BoolType, None, std::convert::identity;
    u8: Int32Type, Some(LogicalType::integer(8, false)), i32::from;
    u16: Int32Type, Some(LogicalType::integer(16, false)), i32::from;
    u32: Int32Type, Some(LogicalType::integer(32, false)), |value: u32| value as i32;
    i32: Int32Type, None, std::convert::identity;
    u64: Int64Type, Some(LogicalType::integer(64, false)), |value: u64| value as i64;
    i64: Int64Type, None, std::convert::identity;
    f64: DoubleType, None, std::convert::identity;
    Text: ByteArrayType, Some(LogicalType::String), |text: Text| text.0;
    Vec<u8>: ByteArrayType, None, ByteArray::from;
}

/// Text in UTF-8, shared by equal cells.
#[derive(Clone, Debug)]
pub struct Text(ByteArray);

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text(ByteArray::from(text))
    }
}

/// Declares a column of `V`.
pub fn field<V: Encode>(name: &str, is_optional: bool) -> TypePtr {
    let repetition = if is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let primitive = Type::primitive_type_builder(name, V::Type::get_physical_type());
    built(primitive.with_repetition(repetition).with_logical_type(V::logical_type()).build())
}

/// Declares a column of lists of `V`, which may be null. The three nested levels are those of
/// `LogicalTypes.md` in the Parquet format.
pub fn list_field<V: Encode>(name: &str) -> TypePtr {
    let items = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![field::<V>("element", false)]);
    let list = Type::group_type_builder(name)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(Some(LogicalType::List))
        .with_converted_type(ConvertedType::LIST)
        .with_fields(vec![built(items.build())]);
    built(list.build())
}

/// Declares a file with the columns `fields`.
pub fn schema(fields: Vec<TypePtr>) -> TypePtr {
    built(Type::group_type_builder("schema").with_fields(fields).build())
}

fn built(declared: Result<Type, ParquetError>) -> TypePtr {
    // The library rejects only logical types that do not fit the physical type, and all types in
    // `values!` fit.
    Arc::new(declared.expect("types that fit"))
}

/// Returns true if the column holds text.
pub fn is_text(field: &Type) -> bool {
    field.is_primitive() && field.get_basic_info().logical_type_ref() == Some(&LogicalType::String)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::properties::WriterProperties;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::file::writer::SerializedFileWriter;
    use std::fs::File;
    use temp_dir::TempDir;

    /// Writes `column` alone, and reads column `name`.
    fn round_trip(field: TypePtr, column: Column, name: &str) -> Result<Option<Cells>, ParquetError> {
        let directory = TempDir::new()?;
        let path = directory.path().join("table.parquet");
        let properties = WriterProperties::builder().set_dictionary_enabled(is_text(&field)).build();
        let mut writer = SerializedFileWriter::new(File::create(&path)?, schema(vec![field]), Arc::new(properties))?;
        write_group(&mut writer, [column])?;
        writer.close()?;
        let file = SerializedFileReader::new(File::open(path)?)?;
        read(&*file.get_row_group(0)?, name)
    }

    fn optional<V: Encode + Clone>(cells: &[Option<V>]) -> Result<Option<Cells>, ParquetError> {
        round_trip(field::<V>("cells", true), Column::optional(cells.iter().cloned()), "cells")
    }

    fn required<V: Encode + Clone>(cells: &[V]) -> Result<Option<Cells>, ParquetError> {
        round_trip(field::<V>("cells", false), Column::required(cells.iter().cloned()), "cells")
    }

    #[test]
    fn numbers_of_the_whole_range_are_read_back() -> Result<(), ParquetError> {
        let read = [
            optional(&[Some(0), None, Some(u8::MAX)])?,
            optional(&[Some(0), None, Some(u16::MAX)])?,
            optional(&[Some(0), None, Some(u32::MAX)])?,
            optional(&[Some(0), None, Some(u64::MAX)])?,
            optional(&[Some(0), None, Some(i64::MAX)])?,
            optional(&[Some(false), None, Some(true)])?,
        ];
        let most = [u64::from(u8::MAX), u16::MAX.into(), u32::MAX.into(), u64::MAX, i64::MAX as u64, 1];
        for (read, most) in read.into_iter().zip(most) {
            assert!(matches!(read, Some(Cells::Numbers(cells)) if cells == [Some(0), None, Some(most)]), "{most}");
        }
        assert!(matches!(required(&[7_u16, 8])?, Some(Cells::Numbers(cells)) if cells == [Some(7), Some(8)]));
        Ok(())
    }

    #[test]
    fn text_and_bytes_are_distinct() -> Result<(), ParquetError> {
        let [text, bytes] = [
            optional(&[None, Some(Text::from("h1")), Some(Text::from("")), Some(Text::from("h1"))])?,
            optional(&[None, Some(b"h1".to_vec()), Some(Vec::new()), Some(b"h1".to_vec())])?,
        ];
        let expected = [None, Some("h1"), Some(""), Some("h1")].map(|cell| cell.map(ByteArray::from));
        assert!(matches!(text, Some(Cells::Text(cells)) if cells == expected));
        assert!(matches!(bytes, Some(Cells::Bytes(cells)) if cells == expected));
        Ok(())
    }

    #[test]
    fn empty_and_null_lists_are_read_back() -> Result<(), ParquetError> {
        let lists: [Option<Vec<u64>>; 5] = [Some(vec![3, 1, 2]), None, Some(vec![]), Some(vec![9]), None];
        let short = lists.iter().map(|list| list.as_ref().map(|list| list.iter().map(|number| *number as u16)));
        let read = round_trip(list_field::<u16>("path"), Column::lists(short), "path")?;
        assert!(matches!(read, Some(Cells::Lists(read)) if read == lists));
        Ok(())
    }

    #[test]
    fn missing_and_unsupported_columns_are_none() -> Result<(), ParquetError> {
        assert!(required(&[0.5])?.is_none());
        assert!(round_trip(field::<u8>("cells", false), Column::required([1].into_iter()), "other")?.is_none());
        Ok(())
    }
}
