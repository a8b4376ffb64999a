//! Rows, the types of their cells, and their definitions.

use backwater_columns::{Chunk, Encode, Levels, Text, Values, Words, field, list_field};
use backwater_engine::{Duration, Time};
use backwater_fabric::ids::NodeId;
use parquet::schema::types::TypePtr;
use serde::Serialize;
use std::sync::Arc;

/// Index into the table's list of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Name(pub u32);

impl From<NodeId> for Name {
    fn from(node: NodeId) -> Name {
        Name(node.0)
    }
}

/// Definition of a table.
#[derive(Clone, Debug, Serialize)]
pub struct TableDefinition {
    /// Name of the table and of its file.
    pub name: &'static str,
    /// Contents.
    pub meaning: &'static str,
    /// Columns in the order of the file.
    pub columns: Vec<ColumnDefinition>,
}

/// Definition of a column.
#[derive(Clone, Debug, Serialize)]
pub struct ColumnDefinition {
    /// Name.
    pub name: &'static str,
    /// Type: `bool`, `u8` to `u64`, `i64`, `f64`, `text`, `binary` or `list of u16`.
    pub r#type: &'static str,
    /// True if cells may be null.
    pub optional: bool,
    /// Unit, if the name implies one.
    pub unit: Option<&'static str>,
    /// Meaning of the values.
    pub meaning: &'static str,
}

/// Returns the definition of a column with cells of type `C`.
pub(super) fn definition<C: Cell>(name: &'static str, meaning: &'static str) -> ColumnDefinition {
    let units = [("_ps", "ps"), ("bytes", "B"), ("_bps", "bit/s")];
    let unit = units.iter().find(|(suffix, _)| name.ends_with(suffix)).map(|(_, unit)| *unit);
    ColumnDefinition { name, r#type: C::TYPE, optional: C::OPTIONAL, unit, meaning: meaning.trim() }
}

/// Row of a table.
pub(crate) trait Row {
    /// Cells of the rows that are not yet written, by column.
    type Columns;

    /// Returns the definitions of the columns.
    fn definitions() -> Vec<ColumnDefinition>;

    /// Returns the Parquet types of the columns.
    fn fields() -> Vec<TypePtr>;

    /// Returns empty columns. Names are indices into `names`.
    fn columns(names: &Arc<[Text]>) -> Self::Columns;

    /// Writes the row to columns, as row number `row`.
    fn set(self, row: u32, columns: &mut Self::Columns);

    /// Returns the columns in the order of the file.
    fn chunks(columns: &mut Self::Columns) -> Vec<&mut dyn Chunk>;
}

/// Type of a cell.
pub(crate) trait Cell {
    /// Name of the type in definitions.
    const TYPE: &str;
    /// True if the cell may be null.
    const OPTIONAL: bool;
    /// Column of such cells.
    type Column: Chunk;

    /// Returns the Parquet type of a column.
    fn field(name: &str) -> TypePtr;

    /// Returns an empty column. Names are indices into `names`.
    fn column(names: &Arc<[Text]>) -> Self::Column;

    /// Writes the cell to a column, in row number `row`.
    fn set(self, row: u32, column: &mut Self::Column);
}

/// Type of a cell that is stored as a single value.
pub(crate) trait Plain {
    /// Name of the type in definitions.
    const TYPE: &str;
    /// Type of the stored value.
    type Value: Encode;

    /// Converts the cell to the stored value.
    fn value(self) -> Self::Value;
}

/// Implements [`Plain`]: cell, name of the type, stored type, conversion.
macro_rules! plain {
    ($($cell:ty: $name:literal, $value:ty = $convert:expr),+ $(,)?) => {
        $(impl Plain for $cell {
            const TYPE: &str = $name;
            type Value = $value;

            fn value(self) -> $value {
                $convert(self)
            }
        })+
    };
}

plain! {
    bool: "bool", bool = std::convert::identity,
    u8: "u8", u8 = std::convert::identity,
    u16: "u16", u16 = std::convert::identity,
    u32: "u32", u32 = std::convert::identity,
    u64: "u64", u64 = std::convert::identity,
    f64: "f64", f64 = std::convert::identity,
    Time: "i64", i64 = |time: Time| time.ps() as i64,
    Duration: "i64", i64 = |span: Duration| span.ps() as i64,
    Vec<u8>: "binary", Vec<u8> = std::convert::identity,
}

impl<T: Plain> Cell for T {
    const TYPE: &str = T::TYPE;
    const OPTIONAL: bool = false;
    type Column = Values<T::Value>;

    fn field(name: &str) -> TypePtr {
        field::<T::Value>(name, false)
    }

    fn column(_: &Arc<[Text]>) -> Self::Column {
        Values::default()
    }

    #[inline]
    fn set(self, _: u32, column: &mut Self::Column) {
        column.push(self.value());
    }
}

impl Cell for Name {
    const TYPE: &str = "text";
    const OPTIONAL: bool = false;
    type Column = Words;

    fn field(name: &str) -> TypePtr {
        field::<Text>(name, false)
    }

    fn column(names: &Arc<[Text]>) -> Words {
        Words::new(names)
    }

    #[inline]
    fn set(self, _: u32, column: &mut Words) {
        column.push(self.0);
    }
}

impl<T: Plain> Cell for Option<T> {
    const TYPE: &str = T::TYPE;
    const OPTIONAL: bool = true;
    type Column = Values<T::Value>;

    fn field(name: &str) -> TypePtr {
        field::<T::Value>(name, true)
    }

    fn column(_: &Arc<[Text]>) -> Self::Column {
        Values::default()
    }

    #[inline]
    fn set(self, row: u32, column: &mut Self::Column) {
        if let Some(cell) = self {
            column.set(row, cell.value());
        }
    }
}

impl Cell for Option<Name> {
    const TYPE: &str = "text";
    const OPTIONAL: bool = true;
    type Column = Words;

    fn field(name: &str) -> TypePtr {
        field::<Text>(name, true)
    }

    fn column(names: &Arc<[Text]>) -> Words {
        Words::new(names)
    }

    #[inline]
    fn set(self, row: u32, column: &mut Words) {
        if let Some(Name(word)) = self {
            column.set(row, word);
        }
    }
}

impl Cell for Option<Vec<u16>> {
    const TYPE: &str = "list of u16";
    const OPTIONAL: bool = true;
    type Column = Levels<u16>;

    fn field(name: &str) -> TypePtr {
        list_field::<u16>(name)
    }

    fn column(_: &Arc<[Text]>) -> Levels<u16> {
        Levels::default()
    }

    fn set(self, _: u32, column: &mut Levels<u16>) {
        column.push_list(self);
    }
}
