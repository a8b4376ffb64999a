//! Turns the result of a run into files for tools that people already have, Wireshark ([`pcapng`]) and Perfetto ([`perfetto`]), and for Backwater's own viewer
//! ([`view`]).
//!
//! An export reads tables, and never simulates: what it shows has been written down by the run.

#![forbid(unsafe_code)]

mod frames;
pub mod pcapng;
pub mod perfetto;
mod run;
mod tables;
pub mod view;

pub use tables::Window;

use std::path::PathBuf;

/// Why a result could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The result does not hold what the export needs.
    #[error("{0}")]
    Missing(String),
    /// A file cannot be read, or is not what a run writes.
    #[error("{path}: {cause}", path = .path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why not.
        cause: String,
    },
    /// Whoever asked for it does not want it any more.
    #[error("stopped")]
    Stopped,
    /// A file cannot be written.
    #[error("{path}: {cause}", path = .path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
}
