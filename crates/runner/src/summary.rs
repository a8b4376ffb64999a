//! `run.json`: what a run came to.

use crate::disk::FileSum;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every flow finished; endless flows ran until the traffic's end.
    Completed,
    /// Flows were left when the drain window closed.
    TimeLimit,
    /// It was stopped by the user.
    Interrupted,
    /// Its results could not be written any more; those until then are complete.
    WriteError,
    /// Queues wait for each other for ever.
    Deadlock,
    /// Flows are left, but nothing will ever happen again.
    Stalled,
    /// Something that must hold did not.
    Violation,
}

/// The contents of `run.json`. Times in ps, sizes in bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Of the tables beside it: changes whenever a column changes.
    pub schema_version: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Why results could not be written, if they could not.
    pub write_error: Option<String>,
    /// Simulated time.
    pub simulated_ps: u64,
    /// Flows.
    pub flows: FlowCounts,
    /// Frames lost, by cause.
    pub drops: BTreeMap<&'static str, u64>,
    /// Of the drops for lack of buffer, those that flow control should prevent but, with this buffer policy, does not promise to.
    pub unpromised_drops: u64,
    /// PAUSE frames sent.
    pub pause_frames: u64,
    /// Of those, PAUSE frames for a whole port.
    pub port_pause_frames: u64,
    /// How long queues were paused, all added up.
    pub paused_ps: u64,
    /// RESUME frames sent.
    pub resume_frames: u64,
    /// What mechanisms count, by the names that they give it.
    pub counters: BTreeMap<&'static str, u64>,
    /// The most bytes that a switch has held at once.
    pub peak_buffer_bytes: u64,
    /// The most queues beyond those of the classes that a port has used at once: isolation queues, queues of flows.
    pub peak_queues: u16,
    /// The most of those queues of any port that held a packet at once.
    pub peak_filled_queues: u16,
    /// Whether everything balanced.
    pub audit: Audit,
    /// The deadlock, if one was found.
    pub deadlock: Option<DeadlockReport>,
    /// Events handled.
    pub events: u64,
    /// Frames put onto links: data, ACK and control.
    pub packet_hops: u64,
    /// CPU time of the process while it ran, user and system, in seconds.
    pub cpu_seconds: f64,
    /// Wall-clock time, in seconds.
    pub wall_seconds: f64,
    /// What the run took of memory: by how much the resident set of the process grew for it.
    pub memory_bytes: u64,
    /// Largest resident set of the process.
    pub peak_rss_bytes: u64,
    /// Hash of the trajectory: every arrival of every frame.
    pub fingerprint: String,
    /// Seed of the run.
    pub seed: u64,
    /// Version of the package.
    pub version: &'static str,
    /// Commit that it was built from.
    pub commit: &'static str,
    /// Profile that it was built with.
    pub build_profile: &'static str,
    /// Versions of the mechanisms of other crates that ran, by slot and name: `flow_control.on-off`.
    pub plug_ins: BTreeMap<String, &'static str>,
    /// The scenario with all defaults filled in.
    pub scenario: Value,
    /// The values in force beside those: what follows from a profile, the links or other values, by path.
    pub effective: Value,
    /// The other files of the result, by name.
    pub files: BTreeMap<String, FileSum>,
}

/// Flows of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FlowCounts {
    /// Which have started.
    pub total: u64,
    /// Whose last byte arrived.
    pub finished: u64,
    /// Which did not finish; endless flows left out.
    pub unfinished: u64,
    /// Which have no end.
    pub endless: u64,
}

/// Whether everything balanced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Audit {
    /// `ok` or `violated`.
    pub verdict: &'static str,
    /// What did not.
    pub violations: Vec<String>,
}

/// A deadlock by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeadlockReport {
    /// Since when.
    pub onset_ps: u64,
    /// The paused egress queues: each waits for the next, the last for the first.
    pub cycle: Vec<DeadQueue>,
}

/// An egress queue that waits for ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeadQueue {
    /// Node.
    pub node: String,
    /// Number of the port at its node.
    pub port: u16,
    /// What the port is called, with its node.
    pub name: String,
    /// Node at the other end of the link, which has told it to stop.
    pub peer: String,
    /// Queue: one of the classes' goes by the number of its class.
    pub queue: u16,
    /// Bytes in it.
    pub bytes: u64,
    /// Flows whose data stands in it, in order of start.
    pub flows: Vec<DeadFlow>,
}

/// A flow that has data in such a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeadFlow {
    /// Its number.
    pub id: u32,
    /// Sending host.
    pub src: String,
    /// Receiving host.
    pub dst: String,
}
