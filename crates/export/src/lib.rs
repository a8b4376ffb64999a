//! Exports of a result: captures for Wireshark ([`pcapng`]), traces for Perfetto ([`perfetto`]),
//! and files for Backwater's viewer ([`view`]).
//!
//! An export reads tables and never simulates.

#![forbid(unsafe_code)]

mod frames;
pub mod pcapng;
pub mod perfetto;
mod run;
mod tables;
pub mod view;

pub use tables::TimeWindow;

use std::path::PathBuf;

/// Failure of an export.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The result lacks data that the export needs.
    #[error("{0}")]
    Missing(String),
    /// A file cannot be read, or is not a file of a run.
    #[error("{path}: {cause}", path = .path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error.
        cause: String,
    },
    /// The caller stopped the export.
    #[error("stopped")]
    Stopped,
    /// A file cannot be written.
    #[error("{path}: {cause}", path = .path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error.
        cause: std::io::Error,
    },
}
