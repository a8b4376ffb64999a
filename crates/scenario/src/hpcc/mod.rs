//! Files of the HPCC family of ns-3 simulators: `topology.txt`, `flow.txt`, `config.txt`.
//!
//! The family consists of HPCC (alibaba-edu/High-Precision-Congestion-Control), ConWeave, SimAI
//! (ns-3-alibabacloud) and Pyrrha. All of these simulators read numbers separated by white space.
//! The first line announces the number of records; text after the last record is documentation.
//! Numbers are parsed exactly, without floating point, and rounded to whole picoseconds and bits
//! per second.

mod config;
mod convert;
mod flows;
mod text;
mod topology;

pub use convert::{Converted, Source, convert, convert_texts};
pub use flows::{HpccFlow, HpccFlows, read_flows, write_flows};
pub use topology::{HpccTopology, TopologyDialect, read_topology, write_topology};

use crate::diagnostic::Diagnostic;
use std::path::Path;

/// Returns an error in a file.
pub(crate) fn in_file(file: &str, line: usize, column: usize, message: impl Into<String>) -> Diagnostic {
    let (line, column) = (u32::try_from(line).ok(), u32::try_from(column).ok());
    Diagnostic { file: Some(file.into()), line, column, ..Diagnostic::error("", message) }
}

/// Moves an error in a file to the option at `path`, which names the file.
pub(crate) fn at_option(error: Diagnostic, path: &str) -> Diagnostic {
    let place = [error.line, error.column].map(|number| number.unwrap_or(1).to_string()).join(":");
    let message = format!("{}:{place}: {}", error.file.unwrap_or_default(), error.message);
    Diagnostic { hint: error.hint, ..Diagnostic::error(path, message) }
}

/// Reads a text file. An error is placed at the first character.
pub(crate) fn read_text(path: &Path) -> Result<String, Diagnostic> {
    let error = |message: String| in_file(&path.display().to_string(), 1, 1, message);
    let bytes = std::fs::read(path).map_err(|cause| error(format!("cannot be read: {cause}")))?;
    String::from_utf8(bytes).map_err(|_| error("is not a UTF-8 text file".into()))
}
