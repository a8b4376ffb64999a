//! Results of a simulation: totals, flows, PAUSE intervals and samples of probes.

use crate::contract::report::Reception;
use crate::driver::memory::Memory;
use crate::driver::observations::{Acknowledged, FullQueue, LossyDrop, PauseInterval};
use crate::driver::shard::Shard;
use crate::driver::simulation::{Arrived, Simulation};
pub use crate::driver::totals::Totals;
use crate::driver::trace::{TraceSpec, Traced};
use crate::frame::journey::Journey;
use crate::ids::{FlowId, NodeId};
use crate::model::flags::NodeFlags;
use crate::model::host::Posted;
use crate::model::ledger::{FlowAccount, Ledger};
use crate::model::node::Node;
use crate::model::probe::{HeadroomPeak, Stop};
use crate::network::flows::Flow;
use crate::network::routes::PortPath;
use crate::network::spec::FlowSpec;
use backwater_engine::Time;
use backwater_engine::fingerprint::Fingerprint;
use backwater_engine::memory::HeapBytes;
use std::collections::{BTreeMap, VecDeque};

/// Outcome of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowOutcome {
    /// Id of the flow, or of the connection.
    pub flow: FlowId,
    /// Number of the message on its connection; 0 for a flow.
    pub message: u32,
    /// Specification of the flow. For a message: its bytes, and the time at which it was posted.
    pub spec: FlowSpec,
    /// Egress ports of the flow's data, from its host on, by the routes at its start.
    pub path: PortPath,
    /// True if routes have been recomputed since the flow's start.
    pub rerouted: bool,
    /// Measurements at the receiver.
    pub reception: Reception,
    /// Arrival of the last ACK at the sender.
    pub acknowledged: Option<Time>,
    /// Payload bytes sent more than once.
    pub retransmitted: u64,
    /// Latency breakdown, if it is recorded ([`Simulation::watch_flows`]).
    pub account: Option<Box<FlowAccount>>,
}

/// Outcomes so far of the messages that are not acknowledged, by connection, and of the flows that
/// have started and are not forgotten, in order of start.
pub struct Unfinished {
    settling: BTreeMap<FlowId, Acknowledged>,
    stuck: BTreeMap<FlowId, Journey>,
    /// Messages of the connection before `next`.
    messages: VecDeque<FlowOutcome>,
    /// First flow of the rest.
    next: FlowId,
}

impl Unfinished {
    /// Returns the next outcome. `simulation` must not have advanced since the first call.
    pub fn next(&mut self, simulation: &Simulation) -> Option<FlowOutcome> {
        let (id, flow) = loop {
            if let Some(message) = self.messages.pop_front() {
                return Some(message);
            }
            let mut flows = simulation.fabric.flows.iter_from(self.next);
            let (id, flow) = flows.find(|(id, flow)| simulation.has_started(*id, flow))?;
            self.next = FlowId(id.0 + 1);
            if !flow.spec.is_connection() {
                break (id, flow);
            }
            self.messages.extend(simulation.unfinished_messages(id, &flow, &self.stuck));
        };
        let endpoint = |node: NodeId| simulation.node(node).endpoint().expect("flows start and end at nodes with one");
        let done = self.settling.get(&id);
        let retransmitted =
            done.map_or_else(|| endpoint(flow.spec.src).retransmitted(&flow), |done| done.retransmitted);
        let reception = endpoint(flow.spec.dst).reception(&flow).cloned().unwrap_or_default();
        let acknowledged = done.map(|done| done.at);
        let account = simulation.account(id, &flow, &self.stuck);
        Some(simulation.outcome(id, &flow.spec, reception, acknowledged, retransmitted, account))
    }
}

impl Simulation {
    /// Returns the totals of the run up to now.
    pub fn totals(&self) -> Totals {
        let mut totals = self.counts();
        for node in self.nodes() {
            totals += self.totals_of(node);
        }
        totals
    }

    /// Returns the totals that follow from the state of a node.
    pub fn totals_of(&self, node: &Node) -> Totals {
        Totals::of_node(node, self.now)
    }

    /// Returns the totals that the shards count. Totals that follow from the state of the nodes are
    /// zero here, so that the call is cheap.
    pub fn counts(&self) -> Totals {
        let upcoming: u64 = self.upcoming().map(|flows| flows.len() as u64).sum();
        let is_endless = |flow: &FlowId| self.fabric.flows.peek(*flow).is_some_and(|flow| flow.spec.is_endless());
        let endless = || self.upcoming().flatten().filter(|flow| is_endless(flow)).count() as u64;
        let mut totals = Totals {
            started_flows: u64::from(self.fabric.flows.admitted()) - upcoming,
            endless_flows: if self.endless_flows == 0 { 0 } else { self.endless_flows - endless() },
            acknowledged_flows: self.acknowledged_flows,
            ..Totals::default()
        };
        for shard in &self.shards {
            totals += shard.io.observations.totals;
        }
        totals
    }

    /// Returns the counters of mechanisms by name. Counters that were never incremented are
    /// missing.
    pub fn counters(&self) -> BTreeMap<&'static str, u64> {
        let mut counters = BTreeMap::new();
        for (what, amount) in self.shards.iter().flat_map(|shard| &shard.io.observations.counters) {
            *counters.entry(*what).or_default() += amount;
        }
        counters
    }

    /// Returns the memory use; flows and frames count with their peaks.
    pub fn memory(&self) -> Memory {
        let (of_nodes, of_ports) = self.fabric.heap_bytes_by_part();
        let mut memory = Memory::default();
        memory.nodes.bytes = of_nodes;
        memory.ports.bytes = of_ports + self.layout.heap_bytes();
        memory.flows.bytes = self.fabric.flows.heap_bytes() + self.settling.heap_bytes() + self.finished.heap_bytes();
        memory.flows.count = self.fabric.flows.most_live() as u64;
        for shard in &self.shards {
            memory += shard.memory();
        }
        memory
    }

    /// Returns a hash of all arrivals of all frames.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = Fingerprint::default();
        for shard in &self.shards {
            fingerprint.merge(shard.io.observations.fingerprint);
        }
        fingerprint
    }

    /// Returns the drops that break the lossless guarantee, by time and node: packets of a lossless
    /// class that found no headroom.
    pub fn violations(&self) -> Vec<LossyDrop> {
        let mut drops: Vec<_> =
            self.shards.iter().flat_map(|shard| shard.io.observations.violations.iter().copied()).collect();
        drops.sort_unstable_by_key(|drop| (drop.at, drop.node, drop.ingress));
        drops
    }

    /// Takes the PAUSE intervals that have ended since the last call, by port, queue and time.
    pub fn take_pauses(&mut self) -> Vec<PauseInterval> {
        let mut pauses: Vec<_> =
            self.shards.iter_mut().flat_map(|shard| std::mem::take(&mut shard.io.observations.pauses)).collect();
        // Intervals of a shard are almost sorted, which the stable sort exploits.
        pauses.sort_by_key(|pause| (pause.closure.to, pause.port, pause.queue));
        pauses
    }

    /// Starts a trace: see [`Simulation::take_trace`].
    pub fn watch_trace(&mut self, spec: &TraceSpec) {
        for shard in &mut self.shards {
            shard.io.observations.trace.start(spec.clone());
            for node in shard.nodes_mut().iter_mut().filter(|node| spec.covers(node.id, &self.fabric)) {
                node.io.flags |= NodeFlags::TRACE;
            }
        }
    }

    /// Takes the trace since the last call, ordered by time, then node, then order of execution.
    /// Shards can be ahead of [`Simulation::now`]: actions from this time on stay for a later call.
    pub fn take_trace(&mut self) -> Vec<Traced> {
        let mut all = Vec::new();
        for shard in &mut self.shards {
            shard.io.observations.trace.take(self.now, &mut all);
        }
        // Actions are large: short keys are sorted instead.
        all.sort_by_cached_key(|traced| (traced.at, traced.node));
        all
    }

    /// Starts to record the content of full ingress queues: see [`Simulation::take_full`].
    pub fn watch_full(&mut self) {
        for node in self.shards.iter_mut().flat_map(Shard::nodes_mut) {
            node.io.actions.records_full_queues = true;
        }
    }

    /// Takes the content of full ingress queues since the last call, by time, ingress queue and
    /// egress port.
    pub fn take_full(&mut self) -> Vec<FullQueue> {
        let mut full: Vec<_> =
            self.shards.iter_mut().flat_map(|shard| std::mem::take(&mut shard.io.observations.full)).collect();
        full.sort_by_key(|queue| (queue.at, queue.port, queue.class, queue.egress));
        full
    }

    /// Starts to record PAUSE times and headroom peaks of all switches' ingress queues: see
    /// [`Simulation::take_ingress`].
    pub fn watch_ingress(&mut self) {
        for node in self.shards.iter_mut().flat_map(Shard::nodes_mut) {
            let site = self.fabric.site(node.id);
            if let Some(switch) = &mut node.switch {
                switch.watch(&site);
            }
        }
    }

    /// Takes the probes' records since the last call, by time: completed intervals in which
    /// upstream queues were paused, and local maxima of the switches' headroom use.
    pub fn take_ingress(&mut self) -> (Vec<Stop>, Vec<HeadroomPeak>) {
        let (mut stops, mut peaks) = (Vec::new(), Vec::new());
        for switch in self.shards.iter_mut().flat_map(|shard| &mut shard.nodes).filter_map(|node| node.switch.as_mut())
        {
            let mut seen = switch.take_records(self.now);
            stops.append(&mut seen.stops);
            peaks.append(&mut seen.peaks);
        }
        stops.sort_by_key(|stop| (stop.to, stop.port, stop.class));
        peaks.sort_by_key(|peak| (peak.at, peak.node));
        (stops, peaks)
    }

    /// Returns the open intervals in which upstream queues are paused, by port and class.
    pub fn open_stops(&self) -> Vec<Stop> {
        let probes = self.nodes().filter_map(|node| node.switch()?.probe());
        probes.flat_map(|probe| probe.open_stops(self.now)).collect()
    }

    /// Takes the flows that have been forgotten since the last call: their senders are done, and
    /// none of their packets is in the network. Also takes the messages that have been acknowledged
    /// since then. Both are ordered by the time of the last ACK, except for flows with
    /// retransmissions.
    pub fn take_finished(&mut self) -> Vec<FlowOutcome> {
        std::mem::take(&mut self.finished)
    }

    /// Returns the outcomes so far of flows that have started and are not forgotten, in order of
    /// start.
    pub fn unfinished(&self) -> Vec<FlowOutcome> {
        let mut unfinished = self.unfinished_flows();
        std::iter::from_fn(|| unfinished.next(self)).collect()
    }

    /// Returns the same outcomes one by one, since there may be many.
    pub fn unfinished_flows(&self) -> Unfinished {
        let settling = self.settling.iter().map(|done| (done.flow, *done)).collect();
        Unfinished { settling, stuck: self.stuck(), messages: VecDeque::new(), next: FlowId(0) }
    }

    /// Returns the outcomes so far of the messages of a connection that are not acknowledged.
    fn unfinished_messages(&self, id: FlowId, flow: &Flow, stuck: &BTreeMap<FlowId, Journey>) -> Vec<FlowOutcome> {
        let endpoint = |node: NodeId| self.node(node).endpoint().expect("connections join nodes with an endpoint");
        let (source, destination) = (endpoint(flow.spec.src), endpoint(flow.spec.dst));
        let arriving = destination.arriving(id, flow);
        let outcome = |posted: &Posted| {
            let message = (id, posted.number);
            let arrived = self.arrived.get(&message).cloned().unwrap_or_else(|| {
                let reception = arriving.filter(|(number, _)| *number == posted.number).map(|(_, it)| it.clone());
                let is_first = posted.packets[0] <= destination.expected(flow);
                let account = self.message_account(id, flow, posted, is_first, stuck);
                let reception = Box::new(reception.unwrap_or_default());
                Arrived { bytes: posted.bytes, posted: posted.at, reception, account }
            });
            let is_oldest = source.posted(flow).next().is_some_and(|oldest| oldest.number == posted.number);
            let account = |ledger: &Ledger| if is_oldest { ledger.account(id) } else { FlowAccount::default() };
            let at_sender = self.node(flow.spec.src).io.ledger.as_deref().map(account).map(Box::new);
            self.message_outcome(message, arrived, None, posted.retransmitted, at_sender)
        };
        source.posted(flow).map(outcome).collect()
    }

    /// Returns the outcome of a flow that is still admitted.
    pub(super) fn outcome(
        &self,
        flow: FlowId,
        spec: &FlowSpec,
        reception: Reception,
        acknowledged: Option<Time>,
        retransmitted: u64,
        account: Option<Box<FlowAccount>>,
    ) -> FlowOutcome {
        let path = self.path_at_start(flow, spec);
        let rerouted = self.first_path(flow, spec).is_some();
        FlowOutcome {
            flow,
            message: 0,
            spec: spec.clone(),
            path,
            rerouted,
            reception,
            acknowledged,
            retransmitted,
            account,
        }
    }

    /// Returns the payload bytes delivered by flows that have started and are not forgotten, and by
    /// messages that are not acknowledged.
    pub fn delivered(&self) -> impl Iterator<Item = (FlowId, FlowSpec, u64)> {
        let started = self.fabric.flows.iter().filter(|(id, flow)| self.has_started(*id, flow));
        let endpoint = |node: NodeId| self.node(node).endpoint().expect("flows start and end at nodes with one");
        let delivered = move |id: FlowId, flow: &Flow| {
            let all = endpoint(flow.spec.dst).delivered(id, flow);
            all - endpoint(flow.spec.src).acknowledged_bytes(flow)
        };
        started.map(move |(id, flow)| {
            let bytes = delivered(id, &flow);
            (id, flow.into_owned().spec, bytes)
        })
    }

    /// Returns the outcomes of all flows that have started, in order of start, without those
    /// already taken.
    pub fn outcomes(&self) -> Vec<FlowOutcome> {
        let mut outcomes = self.unfinished();
        outcomes.extend(self.finished.iter().cloned());
        outcomes.sort_unstable_by_key(|outcome| outcome.flow);
        outcomes
    }
}
