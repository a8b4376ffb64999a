//! Files of the HPCC family of ns-3 simulators: `topology.txt`, `flow.txt`, `config.txt`.
//!
//! The family: HPCC (alibaba-edu/High-Precision-Congestion-Control), ConWeave, SimAI (ns-3-alibabacloud) and Pyrrha. All read numbers
//! separated by white space, and as many records as the first line announces; what follows is documentation. Numbers are read exactly,
//! never through floating point, and rounded to whole picoseconds and bits per second where they are finer.

mod config;
mod convert;
mod flows;
mod text;
mod topology;

pub use convert::{Converted, Source, convert, convert_texts};
pub use flows::{HpccFlow, HpccFlows, read_flows, write_flows};
pub use topology::{HpccTopology, TopologyDialect, read_topology, write_topology};

use crate::topology::BuildError;
use std::path::Path;

/// Something wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct ParseError {
    /// Name of the file.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
    /// Character within the line, counted from 1.
    pub column: usize,
    /// What is wrong, and what is expected.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl ParseError {
    /// The same error, raised at the field `path` of a scenario that names the file.
    pub fn at(self, path: &str) -> BuildError {
        BuildError { path: path.into(), message: self.to_string(), hint: self.hint }
    }
}

/// The text of a file, or an error at its first character that says why there is none.
pub(crate) fn read_text(path: &Path) -> Result<String, ParseError> {
    let error =
        |message: String| ParseError { file: path.display().to_string(), line: 1, column: 1, message, hint: None };
    let bytes = std::fs::read(path).map_err(|cause| error(format!("cannot be read: {cause}")))?;
    String::from_utf8(bytes).map_err(|_| error("is not a text file (UTF-8)".into()))
}
