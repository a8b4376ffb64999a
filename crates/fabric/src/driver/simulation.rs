//! The driver: a network in motion.
//!
//! Shards run in windows as long as the shortest link between two of them: whatever one sends to another within a window arrives after it.
//! The result does not depend on how many shards or threads there are, nor on which nodes share one.

use crate::contract::note::{DropCause, Reception};
use crate::driver::audit::{Violation, audit};
use crate::driver::deadlock::{Deadlock, find_deadlock};
use crate::driver::layout::{Layout, NodePlace};
use crate::driver::memory::Memory;
use crate::driver::partition::{SAMPLE, expected_load};
use crate::driver::post::Post;
use crate::driver::shard::{Acknowledged, FullQueue, LossyDrop, PauseInterval, Scene, Shard};
use crate::ids::{FlowId, NodeId};
use crate::model::fifo::Frames;
use crate::model::node::Node;
use crate::model::port::Port;
use crate::model::probe::{HeadroomPeak, Stop};
use crate::network::fabric::Fabric;
use crate::network::flows::Flow;
use crate::network::spec::{FlowSpec, NetworkSpec, SpecError};
use backwater_engine::barrier::Barrier;
use backwater_engine::fingerprint::Fingerprint;
use backwater_engine::memory::HeapBytes;
use backwater_engine::pages::enlarge_heap;
use backwater_engine::{Duration, Time};
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub use crate::driver::partition::Partition;

/// Where the flows of a run come from, in order of start. Each must pass [`Fabric::check_flow`].
pub type FlowSource = Box<dyn Iterator<Item = FlowSpec> + Send>;

/// Flows admitted at once, at most: the rest waits until simulated time reaches them.
const ADMITTED_AT_ONCE: usize = 1 << 13;

/// A network in motion.
///
/// Flows are taken from their source as simulated time reaches them, and forgotten when nothing of them is left: [`Simulation::take_finished`]
/// tells how they fared.
pub struct Simulation {
    fabric: Fabric,
    layout: Layout,
    shards: Vec<Shard>,
    post: Post,
    /// Shortest link between two shards.
    lookahead: Duration,
    now: Time,
    /// Every flow that starts before this instant has been admitted, and none that starts after it.
    horizon: Time,
    source: Peekable<FlowSource>,
    /// Flows whose sender is done, while packets of theirs may be on their way.
    settling: Vec<Acknowledged>,
    /// Packets lost, of flows that are not forgotten.
    lost: BTreeMap<FlowId, u64>,
    /// Flows that are forgotten, until they are collected.
    finished: Vec<FlowOutcome>,
    acknowledged_flows: u64,
    endless_flows: u64,
}

/// Ports from which on large pages are worth their price.
const LARGE_FABRIC: usize = 2048;

/// Counts of the whole run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Events handled.
    pub events: u64,
    /// Frames put onto links: data, ACK and control.
    pub packet_hops: u64,
    /// PAUSE frames sent.
    pub pause_frames: u64,
    /// Of those, PAUSE frames for a whole port.
    pub port_pause_frames: u64,
    /// RESUME frames sent.
    pub resume_frames: u64,
    /// Frames sent that move a congestion root.
    pub merge_frames: u64,
    /// Drops for lack of headroom where none is allowed: [`Simulation::violations`].
    pub violations: u64,
    /// Drops that flow control should prevent, but does not promise to ([`Promise::Unpromised`](crate::network::fabric::Promise::Unpromised)).
    pub unpromised_drops: u64,
    /// For how long gates were closed for roots that had given up, while the frames that report it were in flight: gates added up, and for
    /// each frame no longer than the delay of its link.
    pub merge_wait: Duration,
    /// Frames lost, by cause ([`DropCause::ALL`]).
    pub drops: [u64; DropCause::ALL.len()],
    /// Flows that have started.
    pub started_flows: u64,
    /// Of those, flows without an end.
    pub endless_flows: u64,
    /// Flows whose bytes have all arrived.
    pub received_flows: u64,
    /// Flows whose sender knows it.
    pub acknowledged_flows: u64,
    /// Ports with a closed gate.
    pub paused_ports: u64,
}

impl Totals {
    /// Flows that have started and are not acknowledged in full.
    pub fn live_flows(&self) -> u64 {
        self.started_flows - self.acknowledged_flows
    }
}

/// How one flow fared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowOutcome {
    /// Its number.
    pub flow: FlowId,
    /// What it was.
    pub spec: FlowSpec,
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
        let mut fabric = Fabric::new(spec)?;
        let mut refused: Vec<_> = flows
            .iter()
            .enumerate()
            .filter_map(|(flow, spec)| Some(SpecError::Flow { flow, reason: fabric.check_flow(spec).err()? }))
            .collect();
        let unsorted = flows.windows(2).position(|pair| pair[1].start < pair[0].start);
        refused.extend(
            unsorted.map(|flow| SpecError::Flow {
                flow: flow + 1,
                reason: "it starts before the flow in front of it".into(),
            }),
        );
        if !refused.is_empty() {
            return Err(refused);
        }
        Ok(Simulation::streaming(fabric, Box::new(flows.into_iter()), shards))
    }

    /// `fabric` with the flows of `source`, in `shards` shards.
    pub fn streaming(mut fabric: Fabric, mut source: FlowSource, shards: usize) -> Simulation {
        let first: Vec<FlowSpec> = source.by_ref().take(SAMPLE).collect();
        first.iter().for_each(|flow| fabric.learn_waypoints(flow));
        let partition = Partition::automatic(&fabric, &expected_load(&fabric, &first), shards);
        Simulation::with_partition(fabric, Box::new(first.into_iter().chain(source)), &partition)
    }

    /// `fabric` with its nodes spread as `partition` says, every node in exactly one shard, and the flows of `source`.
    pub fn with_partition(fabric: Fabric, source: FlowSource, partition: &Partition) -> Simulation {
        let layout = Layout::new(&fabric, partition);
        let members = partition.0.iter().enumerate();
        let shards = members.map(|(index, members)| Shard::new(&fabric, &layout, index as u32, members)).collect();
        let post = Post::new(partition.0.len());
        let shard_of = |node: NodeId| layout.node(node).shard;
        let cut = fabric.spec.links.iter().filter(|link| shard_of(link.a) != shard_of(link.b));
        let lookahead = cut.map(|link| link.delay).min().unwrap_or(Duration::from_ps(u64::MAX));
        if fabric.wiring.ports.len() >= LARGE_FABRIC {
            enlarge_heap();
        }
        Simulation {
            fabric,
            layout,
            shards,
            post,
            lookahead,
            now: Time::ZERO,
            horizon: Time::ZERO,
            source: source.peekable(),
            settling: Vec::new(),
            lost: BTreeMap::new(),
            finished: Vec::new(),
            acknowledged_flows: 0,
            endless_flows: 0,
        }
    }

    /// What the nodes share.
    pub fn fabric(&self) -> &Fabric {
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

    /// Where the frames in the queues of `node` stand.
    pub fn frames(&self, node: NodeId) -> &Frames {
        &self.shards[self.layout.node(node).shard as usize].frames
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
        while !self.advance(limit, threads, u64::MAX, &mut || false) {}
    }

    /// Goes on towards `limit`, on up to `threads` threads, until `stop` returns true. It is called whenever a shard has handled so many `events`, and
    /// after every window of several shards. Whether everything before `limit` has happened; otherwise call it again: where it stops changes
    /// nothing of what happens. Until then, some shards may be ahead of [`Simulation::now`], by less than a window.
    ///
    /// # Panics
    /// As [`Simulation::run_until`].
    pub fn advance(&mut self, limit: Time, threads: usize, events: u64, stop: &mut dyn FnMut() -> bool) -> bool {
        let threads = threads.clamp(1, self.shards.len());
        loop {
            if self.now >= self.horizon {
                self.horizon = self.admit_flows(limit);
            }
            let end = self.horizon.min(limit);
            let Simulation { fabric, layout, .. } = self;
            if let [shard] = &mut self.shards[..] {
                while shard.run(end, events, fabric, layout) == events && !stop() {}
            } else {
                self.run_windows(end, threads, events, stop);
            }
            let next = self.shards.iter().map(Shard::next_event).min().unwrap_or(Time::NEVER);
            self.now = self.now.max(end.min(next));
            self.take_notes();
            if self.now < end {
                return false;
            }
            self.forget_flows();
            if end == limit {
                return true;
            }
            if stop() {
                return false;
            }
        }
    }

    /// Admits flows that start before `limit`, the next ones; when the first starts that is not admitted, or `limit`.
    fn admit_flows(&mut self, limit: Time) -> Time {
        for _ in 0..ADMITTED_AT_ONCE {
            let Some(spec) = self.source.next_if(|flow| flow.start < limit) else { return limit };
            self.endless_flows += u64::from(spec.bytes == FlowSpec::ENDLESS);
            let shard = self.layout.node(spec.src).shard;
            let flow = self.fabric.admit(spec);
            let scene = &Scene { now: self.now, fabric: &self.fabric, layout: &self.layout };
            self.shards[shard as usize].expect_flow(flow, scene);
        }
        self.next_start().min(limit)
    }

    /// When the first flow starts that has not been admitted; [`Time::NEVER`] if there is none.
    fn next_start(&mut self) -> Time {
        self.source.peek().map_or(Time::NEVER, |flow| flow.start)
    }

    /// Whether `flow`, which has been admitted, has started: all have, unless the simulation was stopped on its way.
    fn has_started(&self, id: FlowId, flow: &Flow) -> bool {
        self.now >= self.horizon || self.node(flow.spec.src).endpoint().is_some_and(|source| !source.expects(id))
    }

    /// Flows that have been admitted and not started.
    fn upcoming(&self) -> impl Iterator<Item = &Flow> {
        let admitted = (self.now < self.horizon).then(|| self.fabric.flows.iter());
        admitted.into_iter().flatten().filter(|(id, flow)| !self.has_started(*id, flow)).map(|(_, flow)| flow)
    }

    /// Takes down which senders are done, and which packets are lost.
    fn take_notes(&mut self) {
        for shard in &mut self.shards {
            self.acknowledged_flows += shard.outside.watch.acknowledged.len() as u64;
            self.settling.append(&mut shard.outside.watch.acknowledged);
            for flow in shard.outside.watch.lost.drain(..) {
                *self.lost.entry(flow).or_default() += 1;
            }
        }
    }

    /// Forgets flows whose sender is done and whose packets have all come or been lost.
    fn forget_flows(&mut self) {
        self.settling.sort_unstable_by_key(|done| (done.at, done.flow));
        let Simulation { fabric, layout, shards, settling, lost, finished, .. } = self;
        settling.retain(|done| {
            let flow = fabric.live_flow(done.flow);
            let NodePlace { shard, node } = layout.node(flow.spec.dst);
            let endpoint = shards[shard as usize].nodes[node as usize].interfaces.endpoint.as_mut();
            let endpoint = endpoint.expect("flows end at nodes with an endpoint");
            let lost_packets = lost.get(&done.flow).copied().unwrap_or(0);
            if endpoint.arrived(flow) + lost_packets < done.packets {
                return true;
            }
            let reception = endpoint.reception(flow);
            endpoint.forget_receiver(flow);
            lost.remove(&done.flow);
            let flow = fabric.flows.forget(done.flow).expect("it was live a moment ago");
            finished.push(FlowOutcome {
                flow: done.flow,
                spec: flow.spec,
                reception,
                acknowledged: Some(done.at),
                retransmitted: done.retransmitted,
            });
            false
        });
    }

    /// Runs the shards window by window. Each of `threads` workers owns some of them.
    ///
    /// The workers meet once per window, when all have posted their mail and the time of their next event; from that all compute the end of the
    /// next window. Two sets of mailboxes alternate: one is emptied while the other is filled. The same holds for the next events. After each
    /// window the first worker asks whether to `stop`; all see its answer when they meet, and stop between the same two windows. A shard with
    /// more `events` than that in a window handles the rest in the next, which then begins where it is: others may be ahead, but no frame of
    /// its reaches them before they expect it.
    fn run_windows(&mut self, limit: Time, threads: usize, events: u64, stop: &mut dyn FnMut() -> bool) {
        let (fabric, layout, post, lookahead) = (&self.fabric, &self.layout, &self.post, self.lookahead);
        let count = self.shards.len();
        // Workers take equal shares, which may leave nothing for the last of them.
        let share = count.div_ceil(threads);
        let threads = count.div_ceil(share);
        let next_events = [0, 1].map(|_| (0..threads).map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
        let stopped = [0, 1].map(|_| AtomicBool::new(false));
        let barrier = Barrier::new(threads);
        let work = |worker: usize, shards: &mut [Shard], mut stop: Option<&mut dyn FnMut() -> bool>| {
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
                if earliest >= limit || stopped[turn].load(Ordering::Relaxed) {
                    return;
                }
                let end = limit.min(earliest + lookahead);
                next = Time::NEVER;
                for (number, shard) in numbers.clone().zip(&mut *shards) {
                    shard.run(end, events, fabric, layout);
                    next = next.min(shard.next_event());
                    for (to, mail) in shard.outside.outboxes.iter_mut().enumerate() {
                        next = next.min(mail.first_arrival());
                        std::mem::swap(&mut *post.letter_box(1 - turn, number, to), mail);
                    }
                }
                if let Some(stop) = &mut stop {
                    stopped[1 - turn].store(stop(), Ordering::Relaxed);
                }
            }
        };
        std::thread::scope(|scope| {
            let mut parts = self.shards.chunks_mut(share).enumerate();
            let mine = parts.next();
            let work = &work;
            let others: Vec<_> = parts.map(|(worker, part)| scope.spawn(move || work(worker, part, None))).collect();
            mine.into_iter().for_each(|(worker, part)| work(worker, part, Some(&mut *stop)));
            for other in others {
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        });
    }

    /// Whether flows are still to come.
    pub fn expects_flows(&mut self) -> bool {
        self.source.peek().is_some()
    }

    /// Whether no frame is on a wire or in a queue.
    pub fn is_empty(&self) -> bool {
        self.shards.iter().all(Shard::is_empty)
    }

    /// Whether it is empty, and no flow control waits for a timer: a pause that has yet to take effect or to run out, a queue that is kept for
    /// a while.
    pub fn is_quiet(&self) -> bool {
        self.shards.iter().all(Shard::is_quiet)
    }

    /// When the next event happens, the start of a flow included; [`Time::NEVER`] if there is none.
    pub fn next_event(&mut self) -> Time {
        self.shards.iter().map(Shard::next_event).min().unwrap_or(Time::NEVER).min(self.next_start())
    }

    /// Counts of the whole run so far.
    pub fn totals(&self) -> Totals {
        let endless = self.upcoming().filter(|flow| flow.spec.bytes == FlowSpec::ENDLESS).count();
        let mut totals = Totals {
            started_flows: u64::from(self.fabric.flows.admitted()) - self.upcoming().count() as u64,
            endless_flows: self.endless_flows - endless as u64,
            acknowledged_flows: self.acknowledged_flows,
            ..Totals::default()
        };
        for shard in &self.shards {
            let watch = &shard.outside.watch;
            totals.events += watch.events;
            totals.packet_hops += watch.packet_hops;
            totals.pause_frames += watch.pause_frames;
            totals.port_pause_frames += watch.port_pause_frames;
            totals.resume_frames += watch.resume_frames;
            totals.merge_frames += watch.merge_frames;
            totals.unpromised_drops += watch.unpromised_drops;
            totals.violations += watch.violations.len() as u64;
            totals.merge_wait += watch.merge_wait;
            totals.received_flows += watch.received_flows;
            for node in &shard.nodes {
                totals.paused_ports +=
                    node.interfaces.ports.iter().filter(|port| port.closed_queues().next().is_some()).count() as u64;
                for (total, drops) in totals.drops.iter_mut().zip(node.losses().frames) {
                    *total += drops;
                }
            }
        }
        totals
    }

    /// What the simulation takes of memory; of flows and frames the most that there have been at once.
    pub fn memory(&self) -> Memory {
        let (of_nodes, of_ports) = self.fabric.heap_bytes();
        let mut memory = Memory::default();
        memory.nodes.bytes = of_nodes;
        memory.ports.bytes = of_ports + self.layout.heap_bytes();
        memory.flows.bytes = self.fabric.flows.heap_bytes() + self.settling.heap_bytes() + self.finished.heap_bytes();
        self.shards.iter().for_each(|shard| memory += shard.memory());
        memory
    }

    /// A hash of every frame's every arrival.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = Fingerprint::default();
        self.shards.iter().for_each(|shard| fingerprint.merge(shard.outside.watch.fingerprint));
        fingerprint
    }

    /// Drops that the scheme is not allowed, in order of time and node: packets of a lossless class for which a switch had no headroom.
    pub fn violations(&self) -> Vec<LossyDrop> {
        let mut drops: Vec<_> =
            self.shards.iter().flat_map(|shard| shard.outside.watch.violations.iter().copied()).collect();
        drops.sort_unstable_by_key(|drop| (drop.at, drop.node, drop.ingress));
        drops
    }

    /// Takes the pauses that have ended since the last call, in order of port, queue and time.
    pub fn take_pauses(&mut self) -> Vec<PauseInterval> {
        let mut pauses: Vec<_> =
            self.shards.iter_mut().flat_map(|shard| std::mem::take(&mut shard.outside.watch.pauses)).collect();
        // Those of one shard mostly are in order, which a merge sort makes use of.
        pauses.sort_by_key(|pause| (pause.closure.to, pause.port, pause.queue));
        pauses
    }

    /// From now on it is written down what makes ingress queues full: see [`Simulation::take_full`].
    pub fn watch_full(&mut self) {
        let nodes = self.shards.iter_mut().flat_map(|shard| &mut shard.nodes);
        nodes.for_each(|node| node.interfaces.effects.watches_full = true);
    }

    /// Takes what made ingress queues full since the last call, in order of time, queue and egress port.
    pub fn take_full(&mut self) -> Vec<FullQueue> {
        let mut full: Vec<_> =
            self.shards.iter_mut().flat_map(|shard| std::mem::take(&mut shard.outside.watch.full)).collect();
        full.sort_by_key(|queue| (queue.at, queue.port, queue.class, queue.egress));
        full
    }

    /// How long queues have been paused, all added up; those that still are, until now.
    pub fn paused(&self) -> Duration {
        let past: Duration = self.shards.iter().map(|shard| shard.outside.watch.paused).sum();
        let open = |port: &Port| -> Duration {
            let closed = port.closed_queues().filter_map(|queue| port.gate(queue).closed());
            closed.map(|(since, _)| self.now.since(since)).sum()
        };
        past + self.nodes().flat_map(Node::ports).map(open).sum()
    }

    /// From now on, what the ingress queues of all switches do is written down: see
    /// [`Simulation::take_ingress`].
    pub fn watch_ingress(&mut self) {
        for node in self.shards.iter_mut().flat_map(|shard| &mut shard.nodes) {
            let site = self.fabric.site(node.id);
            node.pipeline.iter_mut().for_each(|pipeline| pipeline.watch(&site));
        }
    }

    /// Takes what the probes have seen since the last call: the times in which upstreams were told to stop that are complete, and the local
    /// maxima of the headroom that switches use, both in order of time.
    pub fn take_ingress(&mut self) -> (Vec<Stop>, Vec<HeadroomPeak>) {
        let (mut stops, mut peaks) = (Vec::new(), Vec::new());
        for pipeline in
            self.shards.iter_mut().flat_map(|shard| &mut shard.nodes).filter_map(|node| node.pipeline.as_mut())
        {
            let mut seen = pipeline.take_seen(self.now);
            stops.append(&mut seen.stops);
            peaks.append(&mut seen.peaks);
        }
        stops.sort_by_key(|stop| (stop.to, stop.port, stop.class));
        peaks.sort_by_key(|peak| (peak.at, peak.node));
        (stops, peaks)
    }

    /// The times in which upstreams were told to stop that are not complete yet, in order of port and class.
    pub fn open_stops(&self) -> Vec<Stop> {
        let probes = self.nodes().filter_map(|node| node.pipeline()?.probe());
        probes.flat_map(|probe| probe.open_stops(self.now)).collect()
    }

    /// Takes the flows that have been forgotten since the last call: their senders are done, and no packet of theirs is on its way. In order of
    /// the senders' knowledge, but for flows of which packets were sent again.
    pub fn take_finished(&mut self) -> Vec<FlowOutcome> {
        std::mem::take(&mut self.finished)
    }

    /// How the flows that have started and not been forgotten fare so far, in order of start.
    pub fn unfinished(&self) -> Vec<FlowOutcome> {
        let settling: BTreeMap<FlowId, &Acknowledged> = self.settling.iter().map(|done| (done.flow, done)).collect();
        let outcome = |(id, flow): (FlowId, &Flow)| {
            let endpoint = |node: NodeId| self.node(node).endpoint().expect("flows start and end at nodes with one");
            let done = settling.get(&id);
            FlowOutcome {
                flow: id,
                spec: flow.spec.clone(),
                reception: endpoint(flow.spec.dst).reception(flow),
                acknowledged: done.map(|done| done.at),
                retransmitted: done
                    .map_or_else(|| endpoint(flow.spec.src).retransmitted(flow), |done| done.retransmitted),
            }
        };
        let started = self.fabric.flows.iter().filter(|(id, flow)| self.has_started(*id, flow));
        started.map(outcome).collect()
    }

    /// How every flow that has started fared, in order of start; those that were taken before are left out.
    pub fn outcomes(&self) -> Vec<FlowOutcome> {
        let mut outcomes = self.unfinished();
        outcomes.extend(self.finished.iter().cloned());
        outcomes.sort_unstable_by_key(|outcome| outcome.flow);
        outcomes
    }

    /// A cycle of queues that wait for each other and will do so for ever, if there is one.
    pub fn find_deadlock(&self) -> Option<Deadlock> {
        find_deadlock(self)
    }

    /// Whether none of the gates of `deadlock`, which was found earlier, has opened since.
    pub fn is_still_dead(&self, deadlock: &Deadlock) -> bool {
        deadlock.still_holds(self)
    }

    /// Changes the state of a node as the model never does: for tests of the audit.
    #[cfg(test)]
    pub(crate) fn tamper(&mut self, id: NodeId, harm: impl FnOnce(&mut Node, &mut crate::frame::record::Records)) {
        let NodePlace { shard, node } = self.layout.node(id);
        let shard = &mut self.shards[shard as usize];
        harm(&mut shard.nodes[node as usize], &mut shard.records);
    }

    /// Checks that bytes, buffers and pauses balance.
    pub fn audit(&self) -> Vec<Violation> {
        let mut violations = audit(self);
        if self.is_quiet() {
            let records: usize = self.shards.iter().map(Shard::records_in_use).sum();
            if records > 0 {
                violations.push(Violation::new(self.now, "network", format!("frame records not freed: {records}")));
            }
        }
        violations
    }
}
