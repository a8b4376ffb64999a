//! The driver: a network in motion.
//!
//! Shards run in windows as long as the shortest link between two of them: whatever one sends to another within a window arrives after it.
//! The result does not depend on how many shards or threads there are, nor on which nodes share one.

use crate::audit::{Violation, audit};
use crate::deadlock::{Deadlock, find_deadlock};
use crate::fabric::Fabric;
use crate::ids::{FlowId, NodeId};
use crate::layout::{Layout, NodePlace};
use crate::node::Node;
use crate::note::{DropCause, Reception};
use crate::partition::expected_load;
use crate::post::Post;
use crate::shard::{LossyDrop, PauseInterval, Shard};
use crate::spec::{FlowSpec, NetworkSpec, SpecError};
use backwater_engine::barrier::Barrier;
use backwater_engine::fingerprint::Fingerprint;
use backwater_engine::{Duration, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use crate::partition::Partition;

/// A network in motion.
pub struct Simulation {
    fabric: Arc<Fabric>,
    layout: Layout,
    shards: Vec<Shard>,
    post: Post,
    /// Shortest link between two shards.
    lookahead: Duration,
    now: Time,
}

/// Counts of the whole run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Events handled.
    pub events: u64,
    /// Frames put onto links: data, ACK and control.
    pub packet_hops: u64,
    /// PAUSE frames sent.
    pub pause_frames: u64,
    /// RESUME frames sent.
    pub resume_frames: u64,
    /// Frames lost, by cause ([`DropCause::ALL`]).
    pub drops: [u64; DropCause::ALL.len()],
    /// Flows that have started and are not acknowledged in full.
    pub live_flows: u64,
    /// Flows whose bytes have all arrived.
    pub received_flows: u64,
    /// Flows whose sender knows it.
    pub acknowledged_flows: u64,
    /// Ports with a closed gate.
    pub paused_ports: u64,
}

/// How one flow fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowOutcome {
    /// At its receiver.
    pub reception: Reception,
    /// When its sender knew that it was done.
    pub acknowledged: Option<Time>,
    /// Payload bytes sent more than once.
    pub retransmitted: u64,
}

impl Simulation {
    /// The network of `spec` with `flows` (sorted by start), in at most `shards` shards.
    ///
    /// # Errors
    /// Everything that makes the network or a flow impossible.
    pub fn new(spec: NetworkSpec, flows: Vec<FlowSpec>, shards: usize) -> Result<Simulation, Vec<SpecError>> {
        spec.check(&flows)?;
        let fabric = Fabric::new(spec, flows);
        let partition = Partition::automatic(&fabric, &expected_load(&fabric, &fabric.flows), shards);
        Ok(Simulation::with_partition(fabric, &partition))
    }

    /// `fabric`, checked before, with its nodes spread as `partition` says: every node in exactly one shard.
    pub fn with_partition(fabric: Fabric, partition: &Partition) -> Simulation {
        let layout = Layout::new(&fabric, partition);
        let members = partition.0.iter().enumerate();
        let shards = members.map(|(index, members)| Shard::new(&fabric, &layout, index as u32, members)).collect();
        let post = Post::new(partition.0.len());
        let shard_of = |node: NodeId| layout.node(node).shard;
        let cut = fabric.spec.links.iter().filter(|link| shard_of(link.a) != shard_of(link.b));
        let lookahead = cut.map(|link| link.delay).min().unwrap_or(Duration::from_ps(u64::MAX));
        Simulation { fabric: Arc::new(fabric), layout, shards, post, lookahead, now: Time::ZERO }
    }

    /// What the nodes share.
    pub fn fabric(&self) -> &Arc<Fabric> {
        &self.fabric
    }

    /// Everything before this instant has happened.
    pub fn now(&self) -> Time {
        self.now
    }

    /// One node.
    pub fn node(&self, id: NodeId) -> &Node {
        let NodePlace { shard, node } = self.layout.node(id);
        &self.shards[shard as usize].nodes[node as usize]
    }

    /// All nodes in order of their ids.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        (0..self.fabric.spec.nodes.len() as u32).map(|id| self.node(NodeId(id)))
    }

    /// Lets everything before `limit` happen, on up to `threads` threads.
    ///
    /// # Panics
    /// A mechanism panics; on whichever thread it does so, the panic comes out here. The simulation is of no use then.
    pub fn run_until(&mut self, limit: Time, threads: usize) {
        let threads = threads.clamp(1, self.shards.len());
        if self.shards.len() == 1 {
            self.shards[0].run(limit, &self.fabric, &self.layout);
        } else {
            self.run_windows(limit, threads);
        }
        self.now = self.now.max(limit);
    }

    /// Runs the shards window by window. Each of `threads` workers owns some of them.
    ///
    /// The workers meet once per window, when all have posted their mail and said when their next event is; from that all find the end of the
    /// next window. Two sets of letter boxes take turns: one is emptied while the other is filled. The same holds for the next events.
    fn run_windows(&mut self, limit: Time, threads: usize) {
        let (fabric, layout, post, lookahead) = (&*self.fabric, &self.layout, &self.post, self.lookahead);
        let count = self.shards.len();
        // Workers take equal shares, which may leave nothing for the last of them.
        let share = count.div_ceil(threads);
        let threads = count.div_ceil(share);
        let next_events = [0, 1].map(|_| (0..threads).map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
        let barrier = Barrier::new(threads);
        let work = |worker: usize, shards: &mut [Shard]| {
            let numbers = worker * share..;
            let mut seat = barrier.seat();
            let mut next = shards.iter().map(Shard::next_event).min().unwrap_or(Time::NEVER);
            for turn in [0, 1].into_iter().cycle() {
                next_events[turn][worker].store(next.ps(), Ordering::Relaxed);
                if seat.wait().is_err() {
                    return;
                }
                for (number, shard) in numbers.clone().zip(&mut *shards) {
                    (0..count).for_each(|from| shard.accept(&mut post.letter_box(turn, from, number), layout));
                }
                let earliest = next_events[turn].iter().map(|next| next.load(Ordering::Relaxed)).min();
                let earliest = earliest.map_or(Time::NEVER, Time::from_ps);
                if earliest >= limit {
                    return;
                }
                let end = limit.min(earliest + lookahead);
                next = Time::NEVER;
                for (number, shard) in numbers.clone().zip(&mut *shards) {
                    shard.run(end, fabric, layout);
                    next = next.min(shard.next_event());
                    for (to, mail) in shard.outboxes.iter_mut().enumerate() {
                        next = next.min(mail.first_arrival());
                        std::mem::swap(&mut *post.letter_box(1 - turn, number, to), mail);
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            let mut parts = self.shards.chunks_mut(share).enumerate();
            let mine = parts.next();
            let work = &work;
            let others: Vec<_> = parts.map(|(worker, part)| scope.spawn(move || work(worker, part))).collect();
            mine.into_iter().for_each(|(worker, part)| work(worker, part));
            for other in others {
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        });
    }

    /// Whether no frame is on a wire or in a queue.
    pub fn is_quiet(&self) -> bool {
        self.shards.iter().all(Shard::is_quiet)
    }

    /// When the next event happens; [`Time::NEVER`] if there is none.
    pub fn next_event(&self) -> Time {
        self.shards.iter().map(Shard::next_event).min().unwrap_or(Time::NEVER)
    }

    /// Counts of the whole run so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for shard in &self.shards {
            let watch = &shard.watch;
            totals.events += watch.events;
            totals.packet_hops += watch.packet_hops;
            totals.pause_frames += watch.pause_frames;
            totals.resume_frames += watch.resume_frames;
            totals.received_flows += watch.received_flows;
            totals.acknowledged_flows += watch.acknowledged.len() as u64;
            for node in &shard.nodes {
                totals.live_flows += node.endpoint().map_or(0, |endpoint| endpoint.live_flows() as u64);
                totals.paused_ports +=
                    node.ports.iter().filter(|port| port.closed_queues().next().is_some()).count() as u64;
                for (total, drops) in totals.drops.iter_mut().zip(node.counters.drops) {
                    *total += drops;
                }
            }
        }
        totals
    }

    /// A hash of every frame's every arrival.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = Fingerprint::default();
        self.shards.iter().for_each(|shard| fingerprint.merge(shard.watch.fingerprint));
        fingerprint
    }

    /// Packets that switches had no room for, in order of time and node.
    pub fn buffer_drops(&self) -> Vec<LossyDrop> {
        let mut drops: Vec<_> = self.shards.iter().flat_map(|shard| shard.watch.drops.iter().copied()).collect();
        drops.sort_unstable_by_key(|drop| (drop.at, drop.node, drop.ingress));
        drops
    }

    /// Drops that the scheme is not allowed: packets of a lossless class for which a switch had no headroom.
    pub fn violations(&self) -> Vec<LossyDrop> {
        let lossless = self.fabric.spec.is_lossless();
        self.buffer_drops().into_iter().filter(|drop| lossless && drop.cause == DropCause::Headroom).collect()
    }

    /// Takes the pauses that have ended since the last call, in order of port, queue and time.
    pub fn take_pauses(&mut self) -> Vec<PauseInterval> {
        let mut pauses: Vec<_> =
            self.shards.iter_mut().flat_map(|shard| std::mem::take(&mut shard.watch.pauses)).collect();
        pauses.sort_unstable_by_key(|pause| (pause.closure.to, pause.port, pause.queue));
        pauses
    }

    /// How every flow fared, in order of flow.
    pub fn outcomes(&self) -> Vec<FlowOutcome> {
        let mut outcomes: Vec<FlowOutcome> = (0u32..)
            .zip(&self.fabric.flows)
            .map(|(id, flow)| {
                let endpoint = self.node(flow.dst).endpoint().expect("flows end at hosts");
                let reception = *endpoint.reception(self.fabric.destination_ordinal(FlowId(id)));
                FlowOutcome { reception, ..FlowOutcome::default() }
            })
            .collect();
        for shard in &self.shards {
            for done in &shard.watch.acknowledged {
                let outcome = &mut outcomes[done.flow.0 as usize];
                outcome.acknowledged = Some(done.at);
                outcome.retransmitted = done.retransmitted;
            }
            for (flow, retransmitted) in shard.nodes.iter().filter_map(Node::endpoint).flat_map(|e| e.unfinished()) {
                outcomes[flow.0 as usize].retransmitted = retransmitted;
            }
        }
        outcomes
    }

    /// A cycle of queues that wait for each other and will do so for ever, if there is one.
    pub fn find_deadlock(&self) -> Option<Deadlock> {
        find_deadlock(self)
    }

    /// Checks that bytes, buffers and pauses balance.
    pub fn audit(&self) -> Vec<Violation> {
        let mut violations = audit(self);
        if self.is_quiet() {
            let records: usize = self.shards.iter().map(Shard::records_in_use).sum();
            if records > 0 {
                violations.push(Violation::new(self.now, "network", format!("{records} frame records were not freed")));
            }
        }
        violations
    }
}
