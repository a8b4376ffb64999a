//! Runs a checked plan and writes its result directory: Parquet tables and a summary in JSON.
//!
//! | file | contents |
//! |---|---|
//! | `run.json` | scenario, counts, verdicts, cost, checksums of the other files ([`Summary`]) |
//! | `topology.json` | nodes, links and faults by name ([`topology_json`]) |
//! | `*.parquet` | [`tables`] |

#![forbid(unsafe_code)]

mod disk;
mod estimate;
mod events;
mod header;
mod roles;
mod run;
mod summary;
pub mod tables;
mod topology;
pub mod usage;

pub use disk::FileSum;
pub use estimate::{Estimate, estimate};
pub use roles::{FlowRole, Roles};
pub use run::{Run, RunError, RunProgress};
pub use summary::{Audit, DeadFlow, DeadQueue, DeadlockReport, FlowCounts, Outcome, Summary};
pub use tables::SCHEMA_VERSION;
pub use topology::{shortest_paths, topology_json};

/// Sources of a program, as recorded in `run.json` and in the metadata of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Build {
    /// Version of the package.
    pub version: &'static str,
    /// Commit, or `unknown` outside a checkout.
    pub commit: &'static str,
    /// Cargo profile: `debug`, `release` or `dist`.
    pub profile: &'static str,
    /// Hash of the sources that determine results. Builds with equal hashes give a scenario equal
    /// results.
    pub source: &'static str,
}
