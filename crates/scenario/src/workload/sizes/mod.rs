//! Sizes of flows: options, the library of published tables, and the sampler.

mod config;
mod distribution;
mod library;
mod table;
#[cfg(test)]
mod tests;

pub use config::{FlowSizes, Interpolation, SizesConfig, SizesTable};
pub(crate) use config::{bytes, round};
pub use distribution::{Distribution, Knot, MAX_BYTES};
pub use library::{LIBRARY, library};
pub use table::{SizeTable, TableError};
