//! Jobs of the traffic: ranks that send, receive and compute in an order given by dependencies.

use super::part::Part;
use backwater_engine::{Duration, Time};
use backwater_fabric::ids::NodeId;
use backwater_jobs::connections::{JobConnections, Pairs, Spread};
use backwater_jobs::operation::Operations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A job that the traffic contains.
#[derive(Clone, Debug)]
pub struct PlannedJob {
    /// Tag of the job's part of the traffic.
    pub tag: u16,
    /// Index of the part in the scenario.
    pub part: usize,
    /// Operations of all ranks.
    pub operations: Arc<dyn Operations>,
    /// Connections of all ranks.
    pub connections: Arc<JobConnections>,
    /// Start of the job.
    pub start: Time,
    /// Number of iterations at the beginning that are not measured.
    pub warmup: u32,
    /// Facts of a collective; `None` for a schedule.
    pub collective: Option<Collective>,
    /// Steps of an iteration, for lower bounds.
    pub steps: Steps,
    /// Computation between two iterations.
    pub gap: Duration,
    /// True if no two messages to a rank have the same sender and tag, and if no receive takes any
    /// message.
    pub has_unique_tags: bool,
    /// Lower bound of the time of an iteration, after planning.
    pub bound: Option<Duration>,
}

/// Steps of an iteration.
#[derive(Clone, Debug)]
pub enum Steps {
    /// Each rank sends to the next rank in every step.
    Ring {
        /// Number of steps.
        steps: u32,
        /// Bytes of the messages of a step, at least.
        messages: Vec<u64>,
    },
    /// Each rank exchanges messages with every other rank.
    AllToAll {
        /// Number of peers at once.
        window: u32,
        /// Bytes of the messages for a peer, at least.
        messages: Vec<u64>,
    },
    /// Operations listed one by one.
    Listed,
}

/// Facts of a collective that its bandwidth depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collective {
    /// Name of the collective.
    pub operation: &'static str,
    /// Name of the algorithm.
    pub algorithm: &'static str,
    /// Bytes of the whole array, as nccl-tests counts them.
    pub bytes: u64,
    /// Ratio of bus bandwidth to algorithm bandwidth.
    pub bus_factor: f64,
}

/// Use of several queue pairs by the messages between two ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpreadConfig {
    /// Each message uses the next queue pair in turn (`NCCL_IB_SPLIT_DATA_ON_QPS=0`, the default of
    /// NCCL 2.30).
    #[default]
    Turns,
    /// Each message is cut into equal parts, multiples of 128 B, one for each queue pair
    /// (`NCCL_IB_SPLIT_DATA_ON_QPS=1`).
    Split,
}

impl From<SpreadConfig> for Spread {
    fn from(config: SpreadConfig) -> Spread {
        match config {
            SpreadConfig::Turns => Spread::Turns,
            SpreadConfig::Split => Spread::Split,
        }
    }
}

/// Maximum number of connections of a scenario. Each needs a number of its own, beside the flows.
const MOST_CONNECTIONS: u64 = 1 << 31;

impl Part<'_> {
    /// Returns the hosts of a job, one per rank.
    pub(super) fn ranks(&mut self, list: Option<&super::NodeList>) -> Option<Vec<NodeId>> {
        let hosts = self.hosts(".hosts", list)?;
        if let Some(host) = list.and_then(|list| self.first_repeated(list)) {
            let message = format!("must name each host once, one per rank; \"{host}\" is named twice");
            self.error(".hosts", message);
            return None;
        }
        if hosts.len() < 2 {
            self.error(".hosts", format!("a job needs at least 2 hosts, one per rank; found {}", hosts.len()));
            return None;
        }
        Some(hosts)
    }

    /// Checks the options that all jobs share.
    pub(super) fn check_job(&mut self, queue_pairs: u32, spread: Option<SpreadConfig>, has_stop: bool) {
        if !(1..=JobConnections::MOST_QUEUE_PAIRS).contains(&queue_pairs) {
            let most = JobConnections::MOST_QUEUE_PAIRS;
            self.error(".queue_pairs", format!("must be from 1 to {most}"));
        }
        if queue_pairs == 1 && spread.is_some() {
            self.error(".spread", "has no effect with one queue pair: set `queue_pairs`, or omit this option");
        }
        if self.names_another_job() {
            self.error(".tag", "must differ from the tags of other jobs, whose results it would mix: set a `tag`");
        }
        if has_stop {
            self.error(".stop", "has no effect on a job, which runs to its end: omit this option");
        }
        if self.draws_classes() {
            self.error(".class", "must be one class: all messages of a connection have the same class");
        }
    }

    /// Returns the connections of a job.
    pub(super) fn connections(
        &mut self,
        hosts: Vec<NodeId>,
        pairs: Pairs,
        queue_pairs: u32,
        spread: Option<SpreadConfig>,
    ) -> Option<Arc<JobConnections>> {
        let number = JobConnections::number(&pairs, queue_pairs);
        if self.declared() + number > MOST_CONNECTIONS {
            let message = format!(
                "needs {number} connections; all jobs together may have at most {MOST_CONNECTIONS}: use fewer hosts, \
                    channels or queue pairs"
            );
            self.error("", message);
            return None;
        }
        let template = self.template().flow(hosts[0], hosts[0], 1, self.window.start);
        let spread = spread.unwrap_or_default().into();
        Some(Arc::new(JobConnections::new(hosts, pairs, queue_pairs, spread, template)))
    }
}
