//! Runs a plan and writes what happened into a directory: typed Parquet tables and a summary in JSON.
//!
//! | file | contents |
//! |---|---|
//! | `run.json` | scenario as resolved, seed, version, counts, verdicts, checksums of the other files ([`Summary`]) |
//! | `topology.json` | nodes and links by name |
//! | `flows.parquet` | a row per flow |
//! | `waits.parquet` | where the time of flows has gone |
//! | `signals.parquet` | congestion signals that reached flows |
//! | `events.parquet` | what nodes did, event by event |
//! | `pauses.parquet` | a row per interval in which an egress queue was paused |
//! | `queues.parquet`, `egress.parquet`, `ingress.parquet`, `ports.parquet`, `buffers.parquet`, `goodput.parquet`, `paths.parquet`, `balancing.parquet` | samples |
//! | `switches.parquet` | a row per switch |
//! | `reordering.parquet` | how many packets came how far before an earlier one |
//!
//! Every column's meaning and unit is in the schema of its table ([`tables`]).

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
pub use run::{Progress, Run, RunError};
pub use summary::{Audit, DeadFlow, DeadQueue, DeadlockReport, FlowCounts, Outcome, Summary};
pub use tables::SCHEMA_VERSION;
pub use topology::{shortest_paths, topology_json};

/// Sources that a program was built from, as recorded in `run.json` and in the metadata of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Build {
    /// Version of the package.
    pub version: &'static str,
    /// Commit, or `unknown` outside a checkout.
    pub commit: &'static str,
    /// Cargo profile: `debug`, `release` or `dist`.
    pub profile: &'static str,
    /// Hash of the sources that results follow from: with the same hash, a scenario has the same result.
    pub source: &'static str,
}
