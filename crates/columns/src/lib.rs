//! Reader and writer of Parquet columns, one row group at a time.
//!
//! [`field`] and [`list_field`] declare columns. [`Values`], [`Words`] and [`Levels`] collect the
//! cells of one row group, which a [`FileWriter`] writes. [`read`] returns a column as [`Cells`].
//! Properties, metadata and page headers are those of the `parquet` crate.

mod dictionary;
mod encode;
mod pages;
mod read;
mod words;
mod write;

pub use encode::Physical;
pub use parquet::data_type::ByteArray;
pub use read::{Cells, read};
pub use words::Words;
pub use write::{Chunk, Column, Encoded, FileWriter, Levels, Target, Values};

use parquet::basic::{ConvertedType, LogicalType, Repetition};
use parquet::data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

/// Rust type of a column.
pub trait Encode {
    /// Physical type in the file.
    type Type: DataType<T: Physical>;

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
fn schema(fields: Vec<TypePtr>) -> TypePtr {
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
mod tests;
