//! `run.json`: outcome, totals and cost of a run.

use crate::disk::FileSum;
use backwater_fabric::driver::outcome::Totals;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All flows and jobs finished; endless flows ran until the end of the traffic. With `run.until
    /// = "jobs"`, all jobs finished.
    Completed,
    /// Flows or jobs were unfinished at the end of the drain window.
    TimeLimit,
    /// The user stopped the run.
    Interrupted,
    /// A write error stopped the run. The results up to then are complete.
    WriteError,
    /// Queues wait for each other in a cycle.
    Deadlock,
    /// Flows or jobs are unfinished, but no event is pending.
    Stalled,
    /// The audit failed.
    Violation,
}

/// Contents of `run.json`. Times are in ps, sizes in bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Version of the tables.
    pub schema_version: u32,
    /// Outcome.
    pub outcome: Outcome,
    /// Write error, if any.
    pub write_error: Option<String>,
    /// Simulated time.
    pub simulated_ps: u64,
    /// Numbers of flows.
    pub flows: FlowCounts,
    /// Jobs.
    pub jobs: Vec<JobSummary>,
    /// Frames lost, by cause.
    pub drops: BTreeMap<&'static str, u64>,
    /// Totals. Those that serialisation skips are in other fields, or not in the file.
    #[serde(flatten)]
    pub totals: Totals,
    /// Total time that queues were paused.
    pub paused_ps: u64,
    /// Counters of mechanisms, by name.
    pub counters: BTreeMap<&'static str, u64>,
    /// Result of the audit.
    pub audit: Audit,
    /// Deadlock, if any.
    pub deadlock: Option<DeadlockReport>,
    /// CPU time of the process during the run, user and system, in seconds.
    pub cpu_seconds: f64,
    /// Wall-clock time, in seconds.
    pub wall_seconds: f64,
    /// Growth of the process's resident set during the run.
    pub memory_bytes: u64,
    /// Peak resident set of the process.
    pub peak_rss_bytes: u64,
    /// Hash of the trajectory: all arrivals of all frames.
    pub fingerprint: String,
    /// Seed of the run.
    pub seed: u64,
    /// Version of the package.
    pub version: &'static str,
    /// Commit of the build.
    pub commit: &'static str,
    /// Cargo profile of the build.
    pub build_profile: &'static str,
    /// Versions of the mechanisms of other crates in use, by slot and name: `flow_control.on-off`.
    pub plug_ins: BTreeMap<String, &'static str>,
    /// Scenario with all defaults.
    pub scenario: Value,
    /// Effective values that the scenario does not state, by path: values that follow from a
    /// profile, from links or from other values.
    pub effective: Value,
    /// Checksums of the other files, by name.
    pub files: BTreeMap<String, FileSum>,
}

/// Numbers of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FlowCounts {
    /// Flows that started.
    pub total: u64,
    /// Flows whose last byte arrived.
    pub finished: u64,
    /// Flows that did not finish, without endless flows.
    pub unfinished: u64,
    /// Endless flows.
    pub endless: u64,
    /// Flows that were left out, because they would start at or after the end of the traffic.
    pub left_out: u64,
    /// Payload bytes that were not delivered: the rest of unfinished flows and messages, and flows
    /// that were left out. Endless flows do not count.
    pub undelivered_bytes: u64,
}

/// Job at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobSummary {
    /// Tag of the job's part of the traffic.
    pub job: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Number of iterations.
    pub iterations: u32,
    /// Iterations that all ranks have ended.
    pub finished: u32,
    /// Operations that have not ended.
    pub operations_left: u64,
    /// If the job has not ended: some messages that are not acknowledged, receives whose message
    /// has not arrived, and computations that have not ended.
    pub waiting: Vec<String>,
}

/// Result of the audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Audit {
    /// Verdict: `ok` or `violated`.
    pub verdict: &'static str,
    /// Violations.
    pub violations: Vec<String>,
}

/// Deadlock, with names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeadlockReport {
    /// Time at which the cycle closed.
    pub onset_ps: u64,
    /// Paused egress queues. Each queue waits for the next one, and the last for the first.
    pub cycle: Vec<DeadQueue>,
}

/// Egress queue in a deadlock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeadQueue {
    /// Node.
    pub node: String,
    /// Port number at the node.
    pub port: u16,
    /// Name of the port, with its node.
    pub name: String,
    /// Node at the other end of the link, which paused the queue.
    pub peer: String,
    /// Queue. A class queue has the number of its class.
    pub queue: u16,
    /// Queue length.
    pub bytes: u64,
    /// Flows with data in the queue, in order of start.
    pub flows: Vec<DeadFlow>,
}

/// Flow with data in a deadlocked queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeadFlow {
    /// Number of the flow.
    pub id: u32,
    /// Sending host.
    pub src: String,
    /// Receiving host.
    pub dst: String,
}
