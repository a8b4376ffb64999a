//! Collectives: all-reduce, all-gather, reduce-scatter, all-to-all, send and receive.

use super::NodeList;
use super::config::{CommonConfig, TrafficOptions};
use super::jobs::{Collective, Lane, PlannedJob, Steps};
use super::part::Part;
use crate::diagnostic::{Diagnostic, counted};
use crate::scenario::one;
use crate::topology::Graph;
use backwater_engine::{Bytes, Duration};
use backwater_jobs::collective::Division;
use backwater_jobs::collective::all_to_all::{AllToAll, PeerOrder};
use backwater_jobs::collective::ring::{Ring, RingKind};
use backwater_jobs::connections::{Pairs, Spread};
use backwater_jobs::host::HostProgram;
use backwater_jobs::operation::Operations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// A collective among hosts, once or repeatedly: messages wait for messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CollectiveConfig {
    /// Options that all kinds share.
    #[serde(flatten)]
    pub common: CommonConfig,
    /// Collective.
    pub operation: CollectiveOperation,
    /// Algorithm. Default: `ring`, and `pairwise` for an all-to-all.
    pub algorithm: Option<CollectiveAlgorithm>,
    /// Bytes of the whole array, as nccl-tests counts them: with n ranks, each step of a ring sends
    /// bytes / n, and each pair of an all-to-all exchanges bytes / n. For `send-receive`, the bytes
    /// that each rank sends.
    pub bytes: Bytes,
    /// Hosts in the order of their ranks. Default: all.
    pub hosts: Option<NodeList>,
    /// Number of channels. Each channel has connections of its own and carries an equal share of
    /// the array. Default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 128))]
    pub channels: u32,
    /// Largest message. A rank passes a message on when it has arrived, so small chunks overlap the
    /// steps of a ring. Default: the share of a step and channel is one message. (NCCL's slices
    /// with the protocol Simple: 1 MiB.)
    pub chunk: Option<Bytes>,
    /// Number of queue pairs per channel and pair of ranks. Default 1 (NCCL).
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 128))]
    pub queue_pairs: u32,
    /// Use of several queue pairs. Default `round-robin`.
    pub spread: Option<Spread>,
    /// Number of peers with which a rank of an all-to-all exchanges messages at once. Default: 1
    /// for `pairwise`, 8 for `nccl`; `naive` has no such limit.
    #[schemars(range(min = 1))]
    pub window: Option<u32>,
    /// Number of iterations. A rank begins an iteration when its previous iteration has ended.
    /// Default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub repeat: u32,
    /// Computation of every rank between two iterations. Default 0 s.
    #[serde(default)]
    pub gap: Duration,
    /// Number of iterations at the beginning that are simulated but not measured. Default 0.
    #[serde(default)]
    pub warmup_iterations: u32,
}

/// A collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CollectiveOperation {
    /// Every rank ends with the sum of all arrays.
    AllReduce,
    /// Every rank ends with the blocks of all ranks.
    AllGather,
    /// Every rank ends with its block of the sum of all arrays.
    ReduceScatter,
    /// Every rank sends one block to every other rank.
    AllToAll,
    /// Every rank sends an array to the next rank.
    SendReceive,
}

/// Algorithm of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CollectiveAlgorithm {
    /// Each rank sends to the next rank and receives from the previous one.
    Ring,
    /// All-to-all: all messages are posted at once.
    Naive,
    /// All-to-all: in step k, rank r sends to rank r + k and receives from rank r - k.
    Pairwise,
    /// All-to-all: the distances of the steps are those of NCCL's `ncclP2pSchedule`: 1, 3, 6, 10
    /// and so on.
    Nccl,
}

/// Default window of NCCL's order: operations per batch of a kernel
/// (`NCCL_MAX_DEV_WORK_P2P_PER_BATCH` of NCCL 2.30).
const NCCL_WINDOW: u32 = 8;

/// Maximum number of operations per iteration and rank.
const MOST_OPERATIONS: u64 = 1 << 30;

impl CollectiveOperation {
    fn name(self) -> &'static str {
        match self {
            CollectiveOperation::AllReduce => "all-reduce",
            CollectiveOperation::AllGather => "all-gather",
            CollectiveOperation::ReduceScatter => "reduce-scatter",
            CollectiveOperation::AllToAll => "all-to-all",
            CollectiveOperation::SendReceive => "send-receive",
        }
    }

    fn ring(self) -> Option<RingKind> {
        match self {
            CollectiveOperation::AllReduce => Some(RingKind::AllReduce),
            CollectiveOperation::AllGather => Some(RingKind::AllGather),
            CollectiveOperation::ReduceScatter => Some(RingKind::ReduceScatter),
            CollectiveOperation::SendReceive => Some(RingKind::SendReceive),
            CollectiveOperation::AllToAll => None,
        }
    }
}

impl CollectiveAlgorithm {
    fn name(self) -> &'static str {
        match self {
            CollectiveAlgorithm::Ring => "ring",
            CollectiveAlgorithm::Naive => "naive",
            CollectiveAlgorithm::Pairwise => "pairwise",
            CollectiveAlgorithm::Nccl => "nccl",
        }
    }
}

impl CollectiveConfig {
    fn algorithm(&self) -> CollectiveAlgorithm {
        self.algorithm.unwrap_or(match self.operation.ring() {
            Some(_) => CollectiveAlgorithm::Ring,
            None => CollectiveAlgorithm::Pairwise,
        })
    }

    /// Returns the number of peers with which a rank of an all-to-all exchanges messages at once;
    /// `None` without a limit.
    fn window(&self) -> Option<u32> {
        match self.algorithm() {
            CollectiveAlgorithm::Ring | CollectiveAlgorithm::Naive => None,
            CollectiveAlgorithm::Nccl => Some(self.window.unwrap_or(NCCL_WINDOW)),
            CollectiveAlgorithm::Pairwise => Some(self.window.unwrap_or(1)),
        }
    }
}

impl TrafficOptions for CollectiveConfig {
    fn generate(&self, part: &mut Part) -> Option<()> {
        let hosts = part.ranks(self.hosts.as_ref());
        part.check_bytes(".bytes", self.bytes);
        part.check_job(self.queue_pairs, self.spread, self.common.stop.is_some());
        let ring = self.operation.ring();
        let algorithm = self.algorithm();
        if ring.is_some() != (algorithm == CollectiveAlgorithm::Ring) {
            let (operation, name) = (self.operation.name(), algorithm.name());
            let fitting = if ring.is_some() { "\"ring\"" } else { "\"naive\", \"pairwise\" or \"nccl\"" };
            part.error(".algorithm", format!("must be {fitting} for an {operation}, not \"{name}\""));
        }
        if self.window.is_some() && matches!(algorithm, CollectiveAlgorithm::Ring | CollectiveAlgorithm::Naive) {
            part.error(".window", format!("has no effect on the algorithm \"{}\": omit this option", algorithm.name()));
        }
        if self.gap > Duration::ZERO && self.repeat == 1 {
            part.error(".gap", "has no effect on one iteration: set `repeat`, or omit this option");
        }
        if self.warmup_iterations >= self.repeat {
            let repeat = self.repeat;
            part.error(".warmup_iterations", format!("must be less than `repeat` ({repeat})"));
        }
        if self.chunk.is_some_and(|chunk| chunk.get() < Division::LEAST_CHUNK) {
            part.error(".chunk", format!("must be at least {}", Bytes(Division::LEAST_CHUNK)));
        }
        part.sound()?;
        let hosts = hosts?;
        let ranks = hosts.len() as u32;
        let blocks = ring.map_or(ranks, |kind| kind.blocks(ranks));
        let division =
            match Division::new(self.bytes.get(), blocks, self.channels, self.chunk.map_or(u64::MAX, Bytes::get)) {
                Ok(division) => division,
                Err(least) => {
                    let message = format!("must be at least {}, 1 B per rank and channel", Bytes(least));
                    part.error(".bytes", message);
                    return None;
                }
            };
        let steps = ring.map_or(ranks - 1, |kind| kind.steps(ranks));
        let operations = 2 * u64::from(steps) * u64::from(division.messages());
        if operations > MOST_OPERATIONS {
            let message = format!("makes more than {MOST_OPERATIONS} operations per rank and iteration");
            part.add(Diagnostic::error(part.field(".chunk"), message).hint("set a larger `chunk`"));
            return None;
        }
        if operations * u64::from(self.repeat) > HostProgram::MOST_OPERATIONS {
            let message = format!("makes more than {} operations per rank", HostProgram::MOST_OPERATIONS);
            part.error(".repeat", message);
            return None;
        }
        let channels = self.channels;
        let pairs = if ring.is_some() { Pairs::Ring { ranks, channels } } else { Pairs::All { ranks, channels } };
        let rounds = u64::from(if ring.is_some() { steps } else { 1 }) * u64::from(self.repeat);
        let lane = Lane::Equal { messages: rounds * u64::from(division.chunks()), bytes: division.largest_message() };
        let connections = part.connections(hosts, pairs, self.queue_pairs, self.spread, lane)?;
        let (operations, bus_factor, kind): (Arc<dyn Operations>, f64, Steps) = match ring {
            Some(kind) => {
                let ring = Ring::new(kind, ranks, division, self.repeat, self.gap);
                (Arc::new(ring), kind.bus_factor(ranks), Steps::Ring { steps, division })
            }
            None => {
                let order = match algorithm {
                    CollectiveAlgorithm::Nccl => PeerOrder::Nccl,
                    _ => PeerOrder::Rotation,
                };
                let window = self.window().unwrap_or(ranks - 1);
                let exchange = AllToAll::new(ranks, order, window, division, self.repeat, self.gap);
                (Arc::new(exchange), AllToAll::bus_factor(ranks), Steps::AllToAll { window, division })
            }
        };
        part.note(format!(
            "{} of {} among {ranks} ranks ({}), {}; {} in {} per rank",
            self.operation.name(),
            self.bytes,
            algorithm.name(),
            counted(self.repeat, "iteration"),
            counted(u64::from(steps) * u64::from(division.messages()), "message"),
            counted(steps, "step"),
        ));
        let collective = Collective {
            operation: self.operation.name(),
            algorithm: algorithm.name(),
            bytes: self.bytes.get(),
            bus_factor,
        };
        part.job(|tag, part| PlannedJob {
            tag,
            part,
            operations,
            connections,
            start: self.common.start,
            warmup: self.warmup_iterations,
            collective: Some(collective),
            steps: kind,
            gap: self.gap,
            bound: Duration::ZERO,
        });
        Some(())
    }

    fn effective_values(&self, _graph: &Graph) -> Vec<(&'static str, Value)> {
        vec![("algorithm", json!(self.algorithm())), ("window", json!(self.window()))]
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;

    #[test]
    fn wrong_options_are_rejected() {
        check_rejected(&[
            (
                "{ kind = \"collective\", operation = \"all-reduce\", bytes = \"3 B\", hosts = \"h[0-3]\" }",
                "traffic[0].bytes: must be at least 4 B, 1 B per rank and channel",
            ),
            (
                "{ kind = \"collective\", operation = \"all-gather\", algorithm = \"naive\", bytes = \"0 B\", hosts = \
                    \"h1\", window = 2, gap = \"1 us\", warmup_iterations = 1, chunk = \"1 B\", spread = \"split\", \
                    stop = \"1 us\", class = [1, 2] }",
                "traffic[0].hosts: a job needs at least 2 hosts, one per rank; found 1\ntraffic[0].bytes: must be at \
                    least 1 B\ntraffic[0].spread: has no effect with one queue pair: set `queue_pairs`, or omit this \
                    option\ntraffic[0].stop: has no effect on a job, which runs to its end: omit this \
                    option\ntraffic[0].class: must be one class: all messages of a connection have the same \
                    class\ntraffic[0].algorithm: must be \"ring\" for an all-gather, not \"naive\"\n\
                 traffic[0].window: has no effect on the algorithm \"naive\": omit this option\ntraffic[0].gap: has no \
                    effect on one iteration: set `repeat`, or omit this option\ntraffic[0].warmup_iterations: must be \
                    less than `repeat` (1)\ntraffic[0].chunk: must be at least 64 B",
            ),
            (
                "{ kind = \"collective\", operation = \"all-to-all\", algorithm = \"ring\", bytes = \"1 MB\", \
                    queue_pairs = 129 }",
                "traffic[0].queue_pairs: must be from 1 to 128\ntraffic[0].algorithm: must be \"naive\", \"pairwise\" \
                    or \"nccl\" for an all-to-all, not \"ring\"",
            ),
            (
                "{ kind = \"collective\", operation = \"all-reduce\", bytes = \"1 MB\" }, { kind = \"schedule\", \
                    tag = \"collective\", operations = [{ rank = 0, send = 1, bytes = \"1 B\" }, { rank = 1, receive \
                    = 0 }] }",
                "traffic[1].tag: must differ from the tags of other jobs, whose results it would mix: set a `tag`",
            ),
            (
                "{ kind = \"collective\", operation = \"send-receive\", bytes = \"100 GB\", chunk = \"64 B\" }",
                "traffic[0].chunk: makes more than 1073741824 operations per rank and iteration; set a larger \
                    `chunk`",
            ),
        ]);
    }
}
