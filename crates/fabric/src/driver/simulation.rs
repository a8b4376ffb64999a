//! The driver: runs the simulation of a network.
//!
//! Shards run in windows. The length of a window is the delay of the shortest link between two
//! shards. Thus a frame that one shard sends to another within a window arrives after the window.
//! The result does not depend on the number of shards and threads, nor on the partition.

use crate::contract::report::Reception;
use crate::contract::{Application, Diagnostic};
use crate::driver::exchange::MailExchange;
use crate::driver::layout::{Layout, NodePlace};
use crate::driver::observations::Acknowledged;
use crate::driver::outcome::FlowOutcome;
use crate::driver::partition::{SAMPLE, expected_load};
use crate::driver::shard::Shard;
use crate::frame::Direction;
use crate::ids::{FlowId, NodeId};
use crate::model::fifo::Frames;
use crate::model::host::Endpoint;
use crate::model::ledger::FlowAccount;
use crate::model::node::Node;
use crate::model::sink::MessageEvent;
use crate::network::fabric::Fabric;
use crate::network::flows::Flow;
use crate::network::routes::PortPath;
use crate::network::spec::{FlowSpec, LinkFault, NetworkSpec};
use backwater_engine::pages::enlarge_heap;
use backwater_engine::{Duration, Time};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::iter::Peekable;

pub use crate::driver::partition::Partition;

/// Source of a run's flows, in order of start. Each flow must pass [`Fabric::check_flow`].
pub type FlowSource = Box<dyn Iterator<Item = FlowSpec> + Send>;

/// Maximum number of flows admitted in one batch, before they start. Later flows wait until
/// simulated time reaches their starts.
const ADMITTED_AT_ONCE: usize = 1 << 13;

/// Simulation of a network.
///
/// Flows are taken from their source as simulated time reaches them. They are forgotten when their
/// last packet has left the network: [`Simulation::take_finished`] returns their outcomes.
pub struct Simulation {
    pub(super) fabric: Fabric,
    pub(super) layout: Layout,
    pub(super) shards: Vec<Shard>,
    pub(super) exchange: MailExchange,
    /// Delay of the shortest link between two shards.
    pub(super) lookahead: Duration,
    pub(super) now: Time,
    /// All flows that start before this instant have been admitted, and no others.
    pub(super) horizon: Time,
    pub(super) source: Peekable<FlowSource>,
    /// Pending recomputations of routes, the latest first: time, link, and true if the link is up
    /// again.
    pub(super) changes: Vec<(Time, usize, bool)>,
    /// Links that are down, as known to the routes.
    pub(super) down: BTreeSet<usize>,
    /// Live flows that started before the last change of routes, with their paths at their start.
    pub(super) first_paths: BTreeMap<FlowId, PortPath>,
    /// Flows whose sender is done, while some of their packets or answers may be in the network.
    pub(super) settling: Vec<Acknowledged>,
    /// Numbers of lost packets of live flows: data, and ACKs, NACKs and CNPs.
    pub(super) lost: BTreeMap<FlowId, [u64; 2]>,
    /// Messages that have ended at their receivers, but not at their senders.
    pub(super) arrived: FxHashMap<(FlowId, u32), Arrived>,
    /// Messages that have ended at their senders since flows were last forgotten.
    pub(super) ended: Vec<(Time, MessageEvent)>,
    /// Hosts with an application.
    pub(super) applications: Vec<NodeId>,
    /// Time of the last recomputation of routes.
    rerouted: Time,
    /// Forgotten flows, and messages that have ended, that have not been collected.
    pub(super) finished: Vec<FlowOutcome>,
    pub(super) acknowledged_flows: u64,
    pub(super) endless_flows: u64,
}

/// A message that has arrived completely.
#[derive(Clone)]
pub(super) struct Arrived {
    pub(super) bytes: u64,
    pub(super) posted: Time,
    pub(super) reception: Box<Reception>,
    /// Latency breakdown at the receiver, if it is recorded.
    pub(super) account: Option<Box<FlowAccount>>,
}

/// Returns the recomputations of routes, the latest first: time, link, and true if the link is up
/// again.
fn changes(spec: &NetworkSpec) -> Vec<(Time, usize, bool)> {
    let Some(delay) = spec.reconvergence else { return Vec::new() };
    let both = |fault: &LinkFault| [(fault.down, fault.link, false), (fault.up, fault.link, true)];
    let known = spec.faults.iter().flat_map(both).filter(|(at, ..)| *at < Time::NEVER);
    // With a delay of zero, routes change after all events of the instant in which a link fails.
    let delay = delay.max(Duration::from_ps(1));
    let mut changes: Vec<_> = known.map(|(at, link, is_up)| (at + delay, link, is_up)).collect();
    changes.sort_unstable_by(|one, other| other.cmp(one));
    changes
}

/// Minimum number of ports for which large pages save time.
const LARGE_FABRIC: usize = 2048;

impl Simulation {
    /// Creates the simulation of `spec` with `flows`, sorted by start, in at most `shards` shards.
    ///
    /// # Errors
    /// All reasons for which the network or a flow cannot run.
    pub fn new(spec: NetworkSpec, flows: Vec<FlowSpec>, shards: usize) -> Result<Simulation, Vec<Diagnostic>> {
        let wrong_flow = |flow: usize, reason: &str| Diagnostic::error("traffic", format!("flow {flow}: {reason}"));
        let mut fabric = Fabric::new(spec)?;
        let mut refused: Vec<_> = flows
            .iter()
            .enumerate()
            .filter_map(|(flow, spec)| Some(wrong_flow(flow, &fabric.check_flow(spec).err()?.message)))
            .collect();
        let unsorted = flows.windows(2).position(|pair| pair[1].start < pair[0].start);
        refused.extend(unsorted.map(|flow| wrong_flow(flow + 1, "it starts before the previous flow")));
        if !refused.is_empty() {
            return Err(refused);
        }
        Ok(Simulation::streaming(fabric, Box::new(flows.into_iter()), &[], shards))
    }

    /// Creates the simulation of `fabric` with the flows of `source`, in `shards` shards.
    /// `messages` are typical bytes of connections, for the prediction of loads.
    pub fn streaming(mut fabric: Fabric, mut source: FlowSource, messages: &[FlowSpec], shards: usize) -> Simulation {
        let first: Vec<FlowSpec> = source.by_ref().take(SAMPLE).collect();
        for flow in &first {
            fabric.add_waypoint_routes(flow);
        }
        let load: Vec<FlowSpec> = first.iter().chain(messages).cloned().collect();
        let partition = Partition::automatic(&fabric, &expected_load(&fabric, &load), shards);
        Simulation::with_partition(fabric, Box::new(first.into_iter().chain(source)), &partition)
    }

    /// Creates the simulation of `fabric` with the flows of `source`. `partition` must hold every
    /// node once.
    pub fn with_partition(fabric: Fabric, source: FlowSource, partition: &Partition) -> Simulation {
        let layout = Layout::new(&fabric, partition);
        let members = partition.0.iter().enumerate();
        let shards = members.map(|(index, members)| Shard::new(&fabric, &layout, index as u32, members)).collect();
        let exchange = MailExchange::new(partition.0.len());
        let shard_of = |node: NodeId| layout.node(node).shard;
        let cut = fabric.spec.links.iter().filter(|link| shard_of(link.a) != shard_of(link.b));
        let lookahead = cut.map(|link| link.delay).min().unwrap_or(Duration::from_ps(u64::MAX));
        if fabric.wiring.ports.len() >= LARGE_FABRIC {
            enlarge_heap();
        }
        let changes = changes(&fabric.spec);
        Simulation {
            changes,
            down: BTreeSet::new(),
            fabric,
            layout,
            shards,
            exchange,
            lookahead,
            now: Time::ZERO,
            horizon: Time::ZERO,
            source: source.peekable(),
            first_paths: BTreeMap::new(),
            settling: Vec::new(),
            lost: BTreeMap::new(),
            arrived: FxHashMap::default(),
            ended: Vec::new(),
            applications: Vec::new(),
            rerouted: Time::ZERO,
            finished: Vec::new(),
            acknowledged_flows: 0,
            endless_flows: 0,
        }
    }

    /// Returns the state that all nodes share.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Returns the time before which all events have been handled.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns true if all nodes use the plain pipeline: nothing is traced, no link fails, and
    /// mechanisms subscribe only to departures, gates and links.
    pub fn is_plain(&mut self) -> bool {
        let Simulation { shards, fabric, .. } = self;
        shards.iter_mut().all(|shard| shard.is_plain(fabric))
    }

    /// Returns a node.
    pub fn node(&self, id: NodeId) -> &Node {
        let NodePlace { shard, node } = self.layout.node(id);
        &self.shards[shard as usize].nodes[node as usize]
    }

    /// Returns the frames in the queues of `node`, among all frames of its shard.
    pub fn frames(&self, node: NodeId) -> &Frames {
        &self.shards[self.layout.node(node).shard as usize].frames
    }

    /// Returns all nodes in order of their ids.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.fabric.spec.nodes.ids().map(|id| self.node(id))
    }

    /// Installs the application of a host, which must have none. Applications are installed before
    /// the first event.
    pub fn install(&mut self, host: NodeId, application: Box<dyn Application>) {
        let shard = self.layout.node(host).shard as usize;
        self.shards[shard].install(host, application, self.now, &self.fabric, &self.layout);
        self.applications.push(host);
    }

    /// Returns the hosts with an application, in order of installation, and their applications.
    pub fn applications(&self) -> impl Iterator<Item = (NodeId, &dyn Application)> {
        self.applications.iter().filter_map(|host| Some((*host, self.node(*host).endpoint()?.application()?)))
    }

    /// Calls `visit` with each host that has an application, in order of installation.
    pub fn visit_applications(&mut self, mut visit: impl FnMut(NodeId, &mut dyn Application)) {
        for host in &self.applications {
            let NodePlace { shard, node } = self.layout.node(*host);
            let node = &mut self.shards[shard as usize].nodes[node as usize];
            if let Some(application) = node.io.endpoint.as_mut().and_then(Endpoint::application_mut) {
                visit(*host, application);
            }
        }
    }

    /// Handles all events before `limit`, on up to `threads` threads.
    ///
    /// # Panics
    /// If a mechanism panics, on any thread. The simulation is then unusable.
    pub fn run_until(&mut self, limit: Time, threads: usize) {
        while !self.advance(limit, threads, u64::MAX, &mut || false) {}
    }

    /// Handles events before `limit`, on up to `threads` threads, until `stop` returns true.
    /// Returns true when all events before `limit` have been handled. Otherwise, call `advance`
    /// again: stops do not affect the result. After a stop, some nodes may be ahead of
    /// [`Simulation::now`] by less than a window or an epoch.
    ///
    /// With one shard, `stop` is called whenever the shard has handled `events` events and ended
    /// the visit of a node. With several shards, `stop` is called after every window.
    ///
    /// # Panics
    /// As [`Simulation::run_until`].
    pub fn advance(&mut self, limit: Time, threads: usize, events: u64, stop: &mut dyn FnMut() -> bool) -> bool {
        let threads = threads.clamp(1, self.shards.len());
        loop {
            self.reroute();
            if self.now >= self.horizon {
                self.horizon = self.admit_flows(limit);
            }
            let end = self.horizon.min(limit).min(self.next_change());
            let Simulation { fabric, layout, .. } = self;
            if let [shard] = &mut self.shards[..] {
                while shard.run(end, events, fabric, layout) >= events && !stop() {}
            } else {
                self.run_windows(end, threads, events, stop);
            }
            let next = self.shards.iter().map(Shard::next_event).min().unwrap_or(Time::NEVER);
            self.now = self.now.max(end.min(next));
            self.take_notes();
            if self.now < end {
                return false;
            }
            let known = self.finished.len();
            self.forget_flows();
            if !self.ended.is_empty() {
                self.end_messages();
                // The order of flows and messages does not depend on the times of these calls.
                self.finished[known..].sort_by_key(|it| (it.acknowledged, it.flow, it.message));
            }
            if end == limit {
                return true;
            }
            if stop() {
                return false;
            }
        }
    }

    /// Handles events, after a stop of [`Simulation::advance`], up to a time before which all
    /// events have been handled.
    ///
    /// # Panics
    /// As [`Simulation::run_until`].
    pub fn settle(&mut self, threads: usize) {
        let reached = self.shards.iter().map(Shard::reached).max().unwrap_or(Time::ZERO);
        self.run_until(self.now.max(reached), threads);
    }

    /// Returns the time of the next recomputation of routes; [`Time::NEVER`] if none is pending.
    fn next_change(&self) -> Time {
        self.changes.last().map_or(Time::NEVER, |(at, ..)| *at)
    }

    /// Recomputes the routes if links have failed or recovered long enough ago. Flows take the new
    /// routes from now on, and frames queued at ports of failed links are lost.
    fn reroute(&mut self) {
        let before = self.down.clone();
        while let Some((_, link, is_up)) = self.changes.pop_if(|(at, ..)| *at <= self.now) {
            if is_up {
                self.down.remove(&link)
            } else {
                self.down.insert(link)
            };
        }
        if self.down == before {
            return;
        }
        let Simulation { fabric, first_paths, shards, now, .. } = self;
        for (id, flow) in fabric.flows.iter().filter(|(_, flow)| flow.spec.start < *now) {
            first_paths.entry(id).or_insert_with(|| fabric.path(id, &flow.spec, Direction::Data));
        }
        for node in shards.iter_mut().flat_map(|shard| &mut shard.nodes) {
            node.start_all_waiting(fabric);
        }
        self.fabric.reroute(&self.down);
        self.rerouted = self.now;
        for from in 0..self.shards.len() {
            self.shards[from].reroute(self.now, &self.fabric, &self.layout);
            // Deliver sent frames before the next window begins.
            for to in 0..self.shards.len() {
                let mut outbox = std::mem::take(&mut self.shards[from].io.outboxes[to]);
                self.shards[to].accept(&mut outbox, &self.layout);
                self.shards[from].io.outboxes[to] = outbox;
            }
        }
    }

    /// Admits the next flows that start before `limit`. Returns the start of the first flow that is
    /// not admitted, or `limit`.
    fn admit_flows(&mut self, limit: Time) -> Time {
        for _ in 0..ADMITTED_AT_ONCE {
            let Some(spec) = self.source.next_if(|flow| flow.start < limit) else { return limit };
            self.endless_flows += u64::from(spec.is_endless());
            let FlowSpec { src, start, .. } = spec;
            let flow = (self.fabric.admit(spec), start);
            let shard = self.layout.node(src).shard as usize;
            self.shards[shard].expect_flow(src, flow, self.now, &self.fabric, &self.layout);
        }
        self.next_start().min(limit)
    }

    /// Returns the start of the first flow that is not admitted; [`Time::NEVER`] if there is none.
    fn next_start(&mut self) -> Time {
        self.source.peek().map_or(Time::NEVER, |flow| flow.start)
    }

    /// Returns true if an admitted flow has started.
    pub(super) fn has_started(&self, id: FlowId, flow: &Flow) -> bool {
        self.node(flow.spec.src).endpoint().is_some_and(|source| !source.expects(id))
    }

    /// Returns the egress ports of the data of a live flow or message by the routes that held at
    /// its start.
    pub fn path_at_start(&self, id: FlowId, flow: &FlowSpec) -> PortPath {
        let first = self.first_path(id, flow).cloned();
        first.unwrap_or_else(|| self.fabric.path(id, flow, Direction::Data))
    }

    /// Returns the path of a live flow or message at its start, if routes have changed since.
    pub(super) fn first_path(&self, id: FlowId, flow: &FlowSpec) -> Option<&PortPath> {
        self.first_paths.get(&id).filter(|_| flow.start < self.rerouted)
    }

    /// Returns the flows of each host that have been admitted but not started.
    pub(super) fn upcoming(&self) -> impl Iterator<Item = &VecDeque<FlowId>> {
        self.nodes().filter_map(|node| Some(node.endpoint()?.upcoming()))
    }

    /// Collects completed senders and lost packets.
    fn take_notes(&mut self) {
        for shard in &mut self.shards {
            self.acknowledged_flows += shard.io.observations.acknowledged.len() as u64;
            self.settling.append(&mut shard.io.observations.acknowledged);
            self.ended.append(&mut shard.io.observations.messages);
            for (flow, kind) in shard.io.observations.lost.drain(..) {
                self.lost.entry(flow).or_default()[kind.direction() as usize] += 1;
            }
        }
    }

    /// Combines what is known at both ends of each message that has ended.
    fn end_messages(&mut self) {
        let mut acknowledged = Vec::new();
        for (at, event) in std::mem::take(&mut self.ended) {
            match event {
                MessageEvent::Received { message, posted, reception, account } => {
                    let arrived = Arrived { bytes: message.bytes, posted, reception, account };
                    self.arrived.insert((message.connection, message.number), arrived);
                }
                MessageEvent::Acknowledged { connection, number, retransmitted, account } => {
                    acknowledged.push((at, (connection, number), retransmitted, account));
                }
            }
        }
        acknowledged.sort_unstable_by_key(|(at, message, ..)| (*at, *message));
        for (at, message, retransmitted, account) in acknowledged {
            let arrived = self.arrived.remove(&message).expect("a message arrives before its acknowledgement");
            let outcome = self.message_outcome(message, arrived, Some(at), retransmitted, account);
            self.finished.push(outcome);
        }
    }

    /// Returns the outcome of a message that has arrived.
    pub(super) fn message_outcome(
        &self,
        (connection, message): (FlowId, u32),
        Arrived { bytes, posted, reception, account }: Arrived,
        acknowledged: Option<Time>,
        retransmitted: u64,
        at_sender: Option<Box<FlowAccount>>,
    ) -> FlowOutcome {
        let spec = FlowSpec { bytes, start: posted, ..self.fabric.flow(connection).clone() };
        let account = account.zip(at_sender).map(|(receiver, sender)| Box::new(receiver.with_sender(*sender)));
        let outcome = self.outcome(connection, &spec, *reception, acknowledged, retransmitted, account);
        FlowOutcome { message, ..outcome }
    }

    /// Forgets flows whose sender is done and whose packets and answers have all arrived or been
    /// lost.
    fn forget_flows(&mut self) {
        self.settling.sort_unstable_by_key(|done| (done.at, done.flow));
        let mut settling = std::mem::take(&mut self.settling);
        settling.retain(|done| {
            let flow = self.fabric.live_flow(done.flow);
            let NodePlace { shard, node } = self.layout.node(flow.spec.dst);
            let endpoint = self.shards[shard as usize].nodes[node as usize].io.endpoint.as_mut();
            let endpoint = endpoint.expect("flows end at nodes with an endpoint");
            let [lost_data, lost_answers] = self.lost.get(&done.flow).copied().unwrap_or_default();
            let arrived = endpoint.reception(flow).map_or(0, |reception| reception.arrived);
            let (answers, answered) = (endpoint.answers(flow), flow.answered.get());
            if arrived + lost_data < done.packets || u64::from(answered) + lost_answers < u64::from(answers) {
                return true;
            }
            let reception = endpoint.forget_receiver(flow);
            self.lost.remove(&done.flow);
            let flow = self.fabric.flows.forget(done.flow).expect("it was live a moment ago");
            let account = self.take_account(done.flow, &flow);
            let outcome = self.outcome(done.flow, &flow.spec, reception, Some(done.at), done.retransmitted, account);
            self.first_paths.remove(&done.flow);
            self.finished.push(outcome);
            false
        });
        self.settling = settling;
    }

    /// Returns true if the source has more flows.
    pub fn expects_flows(&mut self) -> bool {
        self.source.peek().is_some()
    }

    /// Returns true if no frame is on a wire or in a queue.
    pub fn is_empty(&self) -> bool {
        self.shards.iter().all(Shard::is_empty)
    }

    /// Returns true if the network is empty and no timer of a flow control is set, such as for a
    /// PAUSE that has yet to take effect or to expire.
    pub fn is_quiet(&self) -> bool {
        self.shards.iter().all(Shard::is_quiet)
    }

    /// Returns the time of the next event, starts of flows included; [`Time::NEVER`] if there is
    /// none.
    pub fn next_event(&mut self) -> Time {
        let next = self.shards.iter().map(Shard::next_event).min().unwrap_or(Time::NEVER);
        next.min(self.next_start()).min(self.next_change())
    }

    /// Changes the state of a node, for tests of the audit.
    #[cfg(test)]
    pub(crate) fn tamper(&mut self, id: NodeId, harm: impl FnOnce(&mut Node, &mut crate::frame::record::Records)) {
        let NodePlace { shard, node } = self.layout.node(id);
        let shard = &mut self.shards[shard as usize];
        harm(&mut shard.nodes[node as usize], &mut shard.records);
    }
}
