//! Connections between the ranks of a job.

use crate::operation::Rank;
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::flows::Connections;
use backwater_fabric::network::spec::FlowSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pairs of ranks that have connections.
#[derive(Clone, Debug)]
pub enum Pairs {
    /// Every rank to the next one, on each channel.
    Ring {
        /// Number of ranks.
        ranks: u32,
        /// Number of channels.
        channels: u32,
    },
    /// Every rank to every other rank, on each channel.
    All {
        /// Number of ranks.
        ranks: u32,
        /// Number of channels.
        channels: u32,
    },
    /// Pairs in ascending order, with one channel.
    Listed(Vec<(Rank, Rank)>),
}

/// Use of several queue pairs by the messages of one channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// Each message uses the next queue pair in turn (`NCCL_IB_SPLIT_DATA_ON_QPS=0`, the default of
    /// NCCL 2.30).
    #[default]
    RoundRobin,
    /// Each message is cut into equal parts, multiples of 128 B, one for each queue pair
    /// (`NCCL_IB_SPLIT_DATA_ON_QPS=1`).
    Split,
}

impl Spread {
    /// Returns the bytes of the largest part of a message.
    pub fn largest_part(self, bytes: u64, queue_pairs: u32) -> u64 {
        match self {
            Spread::RoundRobin => bytes,
            Spread::Split => bytes.div_ceil(queue_pairs.into()).next_multiple_of(PART).min(bytes),
        }
    }
}

/// Unit of the parts of a message that is split over queue pairs, in bytes.
const PART: u64 = 128;

/// Connections of a job: for each pair of ranks and channel, one per queue pair.
#[derive(Clone, Debug)]
pub struct JobConnections {
    /// Host of each rank.
    hosts: Vec<NodeId>,
    pairs: Pairs,
    queue_pairs: u32,
    spread: Spread,
    /// Class, tag and part of the connections.
    template: FlowSpec,
}

impl JobConnections {
    /// Maximum number of queue pairs per channel.
    pub const MOST_QUEUE_PAIRS: u32 = 128;

    /// Creates the connections of a job whose rank `r` runs on `hosts[r]`. All connections have the
    /// class, tag and part of `template`.
    pub fn new(hosts: Vec<NodeId>, pairs: Pairs, queue_pairs: u32, spread: Spread, template: FlowSpec) -> Self {
        JobConnections { hosts, pairs, queue_pairs, spread, template }
    }

    /// Returns the number of connections that a job would have.
    pub fn number(pairs: &Pairs, queue_pairs: u32) -> u64 {
        let channels = match pairs {
            Pairs::Ring { ranks, channels } => u64::from(*ranks) * u64::from(*channels),
            Pairs::All { ranks, channels } => u64::from(*ranks) * u64::from(*ranks) * u64::from(*channels),
            Pairs::Listed(pairs) => pairs.len() as u64,
        };
        channels * u64::from(queue_pairs)
    }

    /// Returns the host of a rank.
    pub fn host(&self, rank: Rank) -> NodeId {
        self.hosts[rank.index()]
    }

    /// Returns the number of queue pairs per channel.
    pub fn queue_pairs(&self) -> u32 {
        self.queue_pairs
    }

    /// Returns the number of connections from one rank to another.
    pub fn per_pair(&self) -> u64 {
        let (Pairs::Ring { channels, .. } | Pairs::All { channels, .. }) = self.pairs else {
            return self.queue_pairs.into();
        };
        u64::from(channels) * u64::from(self.queue_pairs)
    }

    /// Returns the use of several queue pairs.
    pub fn spread(&self) -> Spread {
        self.spread
    }

    /// Returns the index of the first connection from one rank to another on `channel`.
    ///
    /// # Panics
    /// If a listed pair is missing.
    pub fn first(&self, from: Rank, to: Rank, channel: u32) -> u32 {
        let lane = match &self.pairs {
            Pairs::Ring { channels, .. } => from.0 * channels + channel,
            Pairs::All { ranks, channels } => (from.0 * ranks + to.0) * channels + channel,
            Pairs::Listed(pairs) => {
                pairs.binary_search(&(from, to)).expect("all pairs that exchange messages are listed") as u32
            }
        };
        lane * self.queue_pairs
    }

    /// Returns the two ranks and the channel of a connection.
    pub fn ends(&self, index: u32) -> (Rank, Rank, u32) {
        let lane = index / self.queue_pairs;
        match &self.pairs {
            Pairs::Ring { ranks, channels } => {
                let from = lane / channels;
                (Rank(from), Rank((from + 1) % ranks), lane % channels)
            }
            Pairs::All { ranks, channels } => {
                let pair = lane / channels;
                (Rank(pair / ranks), Rank(pair % ranks), lane % channels)
            }
            Pairs::Listed(pairs) => {
                let (from, to) = pairs[lane as usize];
                (from, to, 0)
            }
        }
    }

    /// Returns the sizes of the parts of a message.
    pub fn parts(&self, bytes: u64) -> impl Iterator<Item = u64> {
        let part = self.spread.largest_part(bytes, self.queue_pairs);
        (0..bytes.div_ceil(part)).map(move |index| part.min(bytes - index * part))
    }
}

impl Connections for JobConnections {
    fn count(&self) -> u32 {
        JobConnections::number(&self.pairs, self.queue_pairs) as u32
    }

    fn get(&self, index: u32) -> Option<FlowSpec> {
        let (from, to, channel) = self.ends(index);
        let (src, dst) = (self.host(from), self.host(to));
        let number = channel * self.queue_pairs + index % self.queue_pairs;
        let bytes = FlowSpec::CONNECTION;
        (from != to).then(|| FlowSpec { src, dst, bytes, number, ..self.template.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(pairs: Pairs, queue_pairs: u32, spread: Spread) -> JobConnections {
        let hosts = (10..20).map(NodeId).collect();
        JobConnections::new(hosts, pairs, queue_pairs, spread, FlowSpec::new(NodeId(0), NodeId(0), 1))
    }

    #[test]
    fn every_connection_has_its_own_index() {
        let listed = vec![(Rank(0), Rank(2)), (Rank(2), Rank(0)), (Rank(2), Rank(1))];
        let kinds =
            [Pairs::Ring { ranks: 3, channels: 2 }, Pairs::All { ranks: 3, channels: 2 }, Pairs::Listed(listed)];
        for (pairs, used) in kinds.into_iter().zip([12, 24, 6]) {
            let connections = connections(pairs, 2, Spread::RoundRobin);
            let mut numbers = std::collections::BTreeSet::new();
            for index in 0..connections.count() {
                let (from, to, channel) = connections.ends(index);
                assert_eq!(connections.first(from, to, channel) + index % 2, index);
                let Some(spec) = connections.get(index) else { continue };
                assert_eq!((spec.src, spec.dst), (NodeId(10 + from.0), NodeId(10 + to.0)));
                assert!(spec.is_connection() && numbers.insert((spec.src, spec.dst, spec.number)));
            }
            assert_eq!(numbers.len(), used);
        }
    }

    #[test]
    fn messages_are_split_into_multiples_of_128_bytes() {
        let parts = |bytes, queue_pairs, spread| -> Vec<u64> {
            let pairs = Pairs::Ring { ranks: 2, channels: 1 };
            connections(pairs, queue_pairs, spread).parts(bytes).collect()
        };
        assert_eq!(parts(1000, 4, Spread::Split), [256, 256, 256, 232]);
        assert_eq!(parts(100, 4, Spread::Split), [100]);
        assert_eq!(parts(1_048_576, 2, Spread::Split), [524_288; 2]);
        assert_eq!(parts(1000, 4, Spread::RoundRobin), [1000]);
    }
}
