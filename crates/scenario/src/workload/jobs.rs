//! Jobs of the traffic: ranks that send, receive and compute in an order given by dependencies.

use super::part::Part;
use backwater_engine::{Duration, Time};
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::flows::Connections;
use backwater_fabric::network::spec::FlowSpec;
use backwater_jobs::collective::Division;
use backwater_jobs::connections::{JobConnections, Pairs, Spread};
use backwater_jobs::operation::{Operation, OperationIx, Operations, Rank};
use rustc_hash::FxHashMap;
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
    /// Lower bound of the time of an iteration; zero before planning.
    pub bound: Duration,
}

/// Steps of an iteration.
#[derive(Clone, Copy, Debug)]
pub enum Steps {
    /// Each rank sends a block to the next rank in every step.
    Ring {
        /// Number of steps.
        steps: u32,
        /// Division of the array.
        division: Division,
    },
    /// Each rank sends a block to every other rank.
    AllToAll {
        /// Number of peers at once.
        window: u32,
        /// Division of the array.
        division: Division,
    },
    /// Operations listed one by one.
    Listed {
        /// True if no two messages to a rank have the same sender and tag, and if no receive takes
        /// any message.
        has_unique_tags: bool,
    },
}

impl PlannedJob {
    /// Returns up to `most` connections, spread over all of them: the index, and a flow with the
    /// bytes that an iteration sends, on average over the queue pairs between two ranks.
    pub fn loads(&self, most: u32) -> impl Iterator<Item = (u32, FlowSpec)> {
        let (connections, pairs) = (&self.connections, self.bytes_by_pair());
        let count = connections.count();
        let stride = stride(count);
        (0..most.min(count)).filter_map(move |place| {
            let index = (u64::from(place) * u64::from(stride) % u64::from(count)) as u32;
            let spec = connections.get(index)?;
            let (from, to, _) = connections.ends(index);
            let bytes = pairs(from, to) / connections.per_pair();
            Some((index, FlowSpec { bytes: bytes.max(1), ..spec }))
        })
    }

    /// Returns the bytes that an iteration sends from one rank to another that has a connection.
    fn bytes_by_pair(&self) -> Box<dyn Fn(Rank, Rank) -> u64> {
        match self.steps {
            Steps::Ring { steps, division } => Box::new(move |_, _| u64::from(steps) * division.block(0)),
            Steps::AllToAll { division, .. } => Box::new(move |_, to| division.block(to.0)),
            Steps::Listed { .. } => {
                let mut bytes: FxHashMap<(Rank, Rank), u64> = FxHashMap::default();
                for rank in (0..self.operations.ranks()).map(Rank) {
                    for operation in (0..self.operations.count(rank)).map(OperationIx) {
                        if let Operation::Send { to, bytes: sent, .. } = self.operations.get(rank, operation) {
                            *bytes.entry((rank, to)).or_default() += sent;
                        }
                    }
                }
                Box::new(move |from, to| bytes.get(&(from, to)).copied().unwrap_or_default())
            }
        }
    }
}

/// Returns a stride that visits all of `count` places, and spreads any number of them: about the
/// golden section, without a common divisor. Other strides could visit the connections of few ranks
/// only.
fn stride(count: u32) -> u32 {
    let golden = (f64::from(count) * 0.618_033_988_749_895) as u32;
    (golden.max(1)..).find(|stride| gcd(*stride, count) == 1).unwrap_or(1)
}

fn gcd(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { gcd(other, one % other) }
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

/// Maximum number of connections of a scenario. Each needs a number of its own, beside the flows.
const MOST_CONNECTIONS: u64 = 1 << 31;

/// Messages of a job from one rank to another on one channel.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lane {
    /// A number of messages of at most some bytes.
    Equal { messages: u64, bytes: u64 },
    /// Messages with so many packets in total.
    Listed { packets: u64 },
}

impl Lane {
    /// Returns the packets of one queue pair, at most.
    fn packets(self, mtu: u64, queue_pairs: u32, spread: Spread) -> u128 {
        match (self, spread) {
            (Lane::Equal { messages, bytes }, Spread::RoundRobin) => {
                u128::from(messages.div_ceil(queue_pairs.into())) * u128::from(bytes.div_ceil(mtu))
            }
            (Lane::Equal { messages, bytes }, Spread::Split) => {
                u128::from(messages) * u128::from(spread.largest_part(bytes, queue_pairs).div_ceil(mtu))
            }
            (Lane::Listed { packets }, _) => packets.into(),
        }
    }
}

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
    pub(super) fn check_job(&mut self, queue_pairs: u32, spread: Option<Spread>, has_stop: bool) {
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
        spread: Option<Spread>,
        most: Lane,
    ) -> Option<Arc<JobConnections>> {
        let spread = spread.unwrap_or_default();
        let packets = most.packets(self.scene.mtu, queue_pairs, spread);
        if packets >= u32::MAX.into() {
            let message = format!("sends {packets} packets on one connection, must send less than {}", u32::MAX);
            self.error("", message);
            return None;
        }
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
        Some(Arc::new(JobConnections::new(hosts, pairs, queue_pairs, spread, template)))
    }
}
