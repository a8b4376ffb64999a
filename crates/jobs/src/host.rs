//! Application of a host: its ranks, each of another job.

use crate::connections::{JobConnections, Spread};
use crate::operation::{Matching, OperationIx, Operations, Rank};
use crate::rank::{RankState, Report, Sending};
use backwater_engine::Time;
use backwater_engine::memory::HeapBytes;
use backwater_fabric::contract::{Application, Message, Posting};
use backwater_fabric::ids::{FlowId, NodeId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bits of a message's tag for the tag of its send; the upper bits hold the number of parts.
const TAG_BITS: u32 = 56;
/// Bits of a message's tag for the tag of a listed send; the bits above hold a number of the
/// message, which tells apart the parts of messages with equal tags.
const LISTED_BITS: u32 = 32;

/// A job, as its ranks see it.
#[derive(Clone, Debug)]
pub struct Job {
    /// Operations of all ranks.
    pub operations: Arc<dyn Operations>,
    /// Connections of all ranks.
    pub connections: Arc<JobConnections>,
    /// First of the connections.
    pub first: FlowId,
    /// Start of the job.
    pub start: Time,
    /// True if the start and end of each operation are recorded.
    pub records: bool,
}

/// A rank that runs on a host.
#[derive(Debug)]
struct HostedRank {
    /// Index of the job.
    job: usize,
    spec: Job,
    state: RankState,
    has_started: bool,
    /// Number of messages sent so far, by first connection.
    turns: FxHashMap<u32, u32>,
    /// Number of parts that are not acknowledged, for sends with several parts.
    unacknowledged: FxHashMap<OperationIx, u32>,
    /// Number of parts that have not arrived, by sender and tag, for messages with several parts.
    missing: FxHashMap<(Rank, u64), u32>,
}

/// Application of a host that runs ranks of jobs.
#[derive(Debug, Default)]
pub struct HostProgram {
    /// Ranks in the order of their jobs' connections.
    ranks: Vec<HostedRank>,
    /// Messages that the rank which is called has sent.
    sends: Vec<Sending>,
}

impl HostProgram {
    /// Maximum number of operations of a rank that are generated. Their numbers are tags.
    pub const MOST_OPERATIONS: u64 = 1 << (TAG_BITS - 1);

    /// Adds rank `rank` of a job. Jobs are added in the order of their connections.
    pub fn add(&mut self, job: usize, spec: Job, rank: Rank) {
        let state = RankState::new(spec.operations.clone(), rank, spec.records);
        self.ranks.push(HostedRank {
            job,
            spec,
            state,
            has_started: false,
            turns: FxHashMap::default(),
            unacknowledged: FxHashMap::default(),
            missing: FxHashMap::default(),
        });
    }

    /// Takes the reports of all ranks, each with the index of its job.
    pub fn take_reports(&mut self) -> impl Iterator<Item = (usize, Rank, Report)> {
        self.ranks.iter_mut().map(|rank| (rank.job, rank.state.rank(), rank.state.take_report()))
    }

    /// Returns the states of all ranks, each with the index of its job.
    pub fn states(&self) -> impl Iterator<Item = (usize, &RankState)> {
        self.ranks.iter().map(|rank| (rank.job, &rank.state))
    }

    /// Calls the state of the rank of a connection, and posts the messages that it sends.
    fn call(
        &mut self,
        connection: FlowId,
        posts: &mut Vec<Posting>,
        call: impl FnOnce(&mut HostedRank, u32, &mut Vec<Sending>),
    ) {
        let place = self.ranks.partition_point(|rank| rank.spec.first <= connection);
        // Connections of applications belong to jobs.
        let Some(rank) = place.checked_sub(1).and_then(|place| self.ranks.get_mut(place)) else { return };
        call(rank, connection.0 - rank.spec.first.0, &mut self.sends);
        rank.post(&mut self.sends, posts);
    }
}

impl HostedRank {
    /// Posts messages, each on one queue pair or split over several.
    fn post(&mut self, sends: &mut Vec<Sending>, posts: &mut Vec<Posting>) {
        if sends.is_empty() {
            return;
        }
        let HostedRank { spec: Job { operations, connections, first, .. }, state, turns, unacknowledged, .. } = self;
        let matching = operations.matching();
        for Sending { operation, to, bytes, tag, channel } in sends.drain(..) {
            let lane = connections.first(state.rank(), to, channel);
            let turn = turns.entry(lane).or_default();
            let number = u64::from(*turn);
            let queue_pair = match connections.spread() {
                Spread::RoundRobin => *turn % connections.queue_pairs(),
                Spread::Split => 0,
            };
            *turn = turn.wrapping_add(1);
            let count = connections.parts(bytes).count() as u64;
            let tag = match matching {
                Matching::Operation => tag,
                Matching::Tag => tag | (number << LISTED_BITS) & ((1 << TAG_BITS) - 1),
            };
            let first = first.0 + lane + queue_pair;
            for (connection, bytes) in (first..).map(FlowId).zip(connections.parts(bytes)) {
                posts.push(Posting { connection, bytes, tag: tag | count << TAG_BITS, id: operation.0 });
            }
            if count > 1 {
                unacknowledged.insert(operation, count as u32);
            }
        }
    }

    /// A part of a message arrived. Returns the tag of the send if no part is missing.
    fn arrive(&mut self, from: Rank, tag: u64) -> Option<u64> {
        let count = (tag >> TAG_BITS) as u32;
        let tag = tag & ((1 << TAG_BITS) - 1);
        if count > 1 {
            let missing = self.missing.entry((from, tag)).or_insert(count);
            *missing -= 1;
            if *missing > 0 {
                return None;
            }
            self.missing.remove(&(from, tag));
        }
        Some(match self.spec.operations.matching() {
            Matching::Operation => tag,
            Matching::Tag => tag & ((1 << LISTED_BITS) - 1),
        })
    }

    /// A part of a send's message is acknowledged. Returns true if it is the last one.
    fn acknowledge(&mut self, operation: OperationIx) -> bool {
        let Some(left) = self.unacknowledged.get_mut(&operation) else { return true };
        *left -= 1;
        let is_last = *left == 0;
        if is_last {
            self.unacknowledged.remove(&operation);
        }
        is_last
    }

    fn wake_at(&self) -> Time {
        if self.has_started { self.state.wake_at() } else { self.spec.start }
    }
}

impl Application for HostProgram {
    fn on_received(&mut self, now: Time, message: &Message, posts: &mut Vec<Posting>) {
        self.call(message.connection, posts, |rank, index, sends| {
            let (from, ..) = rank.spec.connections.ends(index);
            if let Some(tag) = rank.arrive(from, message.tag) {
                rank.state.on_received(from, tag, now, sends);
            }
        });
    }

    fn on_acknowledged(&mut self, now: Time, connection: FlowId, id: u64, posts: &mut Vec<Posting>) {
        self.call(connection, posts, |rank, _, sends| {
            if rank.acknowledge(OperationIx(id)) {
                rank.state.on_acknowledged(OperationIx(id), now, sends);
            }
        });
    }

    fn on_timer(&mut self, now: Time, posts: &mut Vec<Posting>) {
        for rank in &mut self.ranks {
            if rank.wake_at() > now {
                continue;
            }
            if rank.has_started {
                rank.state.on_timer(now, &mut self.sends);
            } else {
                rank.has_started = true;
                rank.state.start(now, &mut self.sends);
            }
            rank.post(&mut self.sends, posts);
        }
    }

    fn wake_at(&self) -> Time {
        self.ranks.iter().map(HostedRank::wake_at).min().unwrap_or(Time::NEVER)
    }

    fn is_done(&self) -> bool {
        self.ranks.iter().all(|rank| rank.state.is_done())
    }

    fn heap_bytes(&self) -> u64 {
        let rank = |rank: &HostedRank| {
            let turns = rank.turns.capacity() * size_of::<(u32, u32)>();
            let parts = rank.unacknowledged.capacity() * size_of::<(OperationIx, u32)>();
            let missing = rank.missing.capacity() * size_of::<((Rank, u64), u32)>();
            (size_of::<HostedRank>() + turns + parts + missing) as u64 + rank.state.heap_bytes()
        };
        self.ranks.iter().map(rank).sum::<u64>() + self.sends.heap_bytes()
    }
}

/// Returns the application of each host that runs ranks of `jobs`, which are in the order of their
/// connections.
pub fn programs(jobs: &[Job]) -> BTreeMap<NodeId, HostProgram> {
    let mut programs: BTreeMap<NodeId, HostProgram> = BTreeMap::new();
    for (index, job) in jobs.iter().enumerate() {
        for rank in (0..job.operations.ranks()).map(Rank) {
            programs.entry(job.connections.host(rank)).or_default().add(index, job.clone(), rank);
        }
    }
    programs
}
