//! Pyrrha: per-hop flow control by congestion root (NSDI 2025; IEEE Transactions on Networking
//! 2025).
//!
//! A port whose ordinary queue grows long declares itself a congestion root and notifies its
//! upstream neighbours. At every port on the way to the root, neighbours put packets that will pass
//! the root into a separate isolation queue. When an isolation queue grows long, its switch
//! notifies its own upstream neighbours. Only isolation queues are ever paused. A root gives up
//! when it learns of another root further downstream.
//!
//! `frames.rs` has the messages between neighbours, `switch.rs` the rules at switches, and
//! `host.rs` the rules at hosts. `roots.rs` has the table of roots, `queues.rs` the isolation
//! queues of a port, and `sets.rs` the single-tier variant of these queues.

mod frames;
mod given_up;
mod host;
mod queues;
mod roots;
mod sets;
mod switch;

pub use frames::PyrrhaFrame;
pub use queues::State;

use self::frames::PYRRHA;
use super::pfc::{Pfc, PfcConfig};
use crate::contract::{
    AddedQueues, Diagnostics, EffectiveValues, FlowControl, FlowControlAccounts, FlowControlFacts, FlowControlOptions,
    IngressGauge, Neighbour, Options, PacketContext, PauseScope, PortView, Pressure, QueueChoice, SchemeContext, Shape,
    Site, Stage, StartingFlow, View, effective_values,
};
use crate::frame::cause::Causes;
use crate::frame::{Control, Protocol};
use crate::ids::{CLASSES, FlowId, PortId, PortIx, QueueIx};
use backwater_engine::Duration;
use backwater_engine::index::{Id, IndexVec};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Pyrrha: flow control by congestion root, with isolation queues (NSDI 2025).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PyrrhaConfig {
    /// Queue length above which the upstream must pause, in one-hop BDPs: rate of the port x twice
    /// the delay of the ingress link. Default 2 (section VIII). Never less than two frames.
    #[schemars(range(min = 0.0))]
    pub pause: f64,
    /// Queue length below which the upstream may continue, in one-hop BDPs. Default 1 (section
    /// VIII). Never less than one frame.
    #[schemars(range(min = 0.0))]
    pub resume: f64,
    /// Maximum number of isolation queues per port. If more are needed, roots share queues by a
    /// hash. Default 100 (section VIII).
    #[schemars(range(min = 1, max = 60000))]
    pub isolation_queues: u16,
    /// Arrangement of isolation queues. Default `hierarchical`.
    pub organisation: Organisation,
    /// Transfer of packets from isolation queues to the ordinary queue, in a hierarchy. Default
    /// `line-rate`.
    pub feed: Feed,
    /// Quantity compared with the thresholds for a root further downstream. Default `queue`
    /// (section IV-D).
    pub relay_metric: RelayMetric,
    /// Roots that give up when they learn of another root further downstream. Default `down`.
    pub merge: MergePolicy,
    /// Treatment of the queue of a root that has given up. Default `flush`.
    pub soft_merge: SoftMerge,
    /// Longest time for which an isolation queue made by a MERGE waits for its first packet, or for
    /// the first PAUSE or RESUME of its root. If the queue were removed at once, the next PAUSE
    /// would make the port give up again. Default: 200 times the longest base RTT (the
    /// authors' simulator keeps the queue until its first packet has left, for ever if none
    /// arrives).
    pub merge_grace: Option<Duration>,
    /// True if a switch ignores frames about roots that are its own ports. This rule keeps routing
    /// loops free of deadlock (section IV-D). Default true; the authors' simulator does not
    /// ignore such frames.
    pub own_root_rule: bool,
    /// Reaction of hosts to paused roots. Default `per-flow`.
    pub hosts: HostReaction,
}

/// Arrangement of isolation queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Organisation {
    /// One queue per root: a packet passes the queues of the roots on its way, from near to far,
    /// and then the ordinary queue.
    Hierarchical,
    /// One queue per set of roots: a packet joins the queue of all the roots on its way, and goes
    /// straight from this queue to the wire.
    SingleTier,
}

/// Transfer of packets from isolation queues to the ordinary queue, in turn, whenever a packet of a
/// data class is transmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Feed {
    /// Packets move until one packet has reached the ordinary queue: together, all isolation queues
    /// feed this queue at the rate of the port.
    LineRate,
    /// One packet of every isolation queue moves: each queue feeds the ordinary queue at the rate
    /// of the port (as in the authors' simulator).
    EveryQueue,
}

/// Quantity compared with the thresholds for a root further downstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RelayMetric {
    /// Length of the isolation queue.
    Queue,
    /// Bytes from the ingress port in all isolation queues of the root together (as in the
    /// authors' simulator).
    PerIngress,
}

/// Roots that give up when they learn of another root further downstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MergePolicy {
    /// Ports towards hosts. Only a part of an uplink's packets pass any single root further
    /// downstream. A congested uplink therefore remains a root in addition to that root (as in the
    /// authors' simulator).
    Down,
    /// All ports (section IV-A).
    Any,
    /// None.
    Never,
}

/// Treatment of the queue of a root that has given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SoftMerge {
    /// Packets move on at once, in order.
    Flush,
    /// Packets move on in turn. Packets that pass the old root still join the queue until it is
    /// empty. The queue can thus grow without bound (as in the authors' simulator).
    Drain,
}

/// Reaction of hosts to paused roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostReaction {
    /// Hosts hold back flows that pass a paused root.
    PerFlow,
    /// No reaction: the first switch buffers the packets.
    None,
    /// Hosts obey PFC: the first switch sends them PFC frames.
    Pfc,
}

impl PyrrhaConfig {
    /// Returns the time that a queue made by a MERGE is kept if the longest base RTT is `base_rtt`.
    pub fn merge_grace(&self, base_rtt: Duration) -> Duration {
        self.merge_grace.unwrap_or(base_rtt * 200)
    }
}

impl Default for PyrrhaConfig {
    fn default() -> Self {
        PyrrhaConfig {
            pause: 2.0,
            resume: 1.0,
            isolation_queues: 100,
            organisation: Organisation::Hierarchical,
            feed: Feed::LineRate,
            relay_metric: RelayMetric::Queue,
            merge: MergePolicy::Down,
            soft_merge: SoftMerge::Flush,
            merge_grace: None,
            own_root_rule: true,
            hosts: HostReaction::PerFlow,
        }
    }
}

/// Isolation queue, for probes and tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isolated {
    /// Egress port.
    pub port: PortIx,
    /// Root for which packets are isolated.
    pub root: PortId,
    /// State of the queue.
    pub state: State,
    /// Number of the queue at its port; `None` in a single tier, where a root may have several.
    pub queue: Option<QueueIx>,
    /// Charged bytes in the queue.
    pub bytes: u64,
}

/// Pyrrha at one node.
#[derive(Debug, GetSize)]
pub struct Pyrrha {
    node: NodeState,
    foreign: Option<Box<Foreign>>,
    added: AddedQueues,
}

/// PFC towards neighbours that support only PFC (section IV-E, "Incremental deployment").
#[derive(Debug, GetSize)]
struct Foreign {
    pfc: Pfc,
    /// True for each port whose neighbour uses PFC.
    at: IndexVec<PortIx, bool>,
}

/// Neighbour of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, GetSize)]
enum Peer {
    /// A switch that runs Pyrrha.
    Switch,
    /// A host that holds back flows.
    Host,
    /// A neighbour that uses PFC.
    Pfc,
    /// A neighbour with no common flow control.
    Other,
}

impl Peer {
    /// Returns the kind of `neighbour` for the node at `site`. The results for the two ends of a
    /// link match.
    fn of(neighbour: &Neighbour, site: &Site<'_>) -> Peer {
        let is_common = |protocol| neighbour.flow_control.supports(protocol) && site.flow_control.supports(protocol);
        match neighbour.is_host {
            true if is_common(PYRRHA) => Peer::Host,
            false if is_common(PYRRHA) => Peer::Switch,
            _ if is_common(Protocol::PFC) => Peer::Pfc,
            _ => Peer::Other,
        }
    }
}

impl Foreign {
    fn new(site: &Site<'_>) -> Option<Box<Foreign>> {
        let at: Vec<bool> = site.neighbours.iter().map(|neighbour| Peer::of(neighbour, site) == Peer::Pfc).collect();
        // All neighbours that use only PFC have the same terms.
        let terms = site.neighbours.iter().find_map(|neighbour| neighbour.flow_control.pfc.clone());
        let pfc = || Pfc::new(&terms.map_or_else(PfcConfig::default, PfcConfig::of), site);
        at.contains(&true).then(|| Box::new(Foreign { pfc: pfc(), at: at.into() }))
    }
}

#[derive(Debug, GetSize)]
enum NodeState {
    Switch(Box<switch::PyrrhaSwitch>),
    Host(host::PyrrhaHost),
    /// A host without Pyrrha.
    Bystander,
}

impl Pyrrha {
    /// Returns Pyrrha for the node at `site`.
    pub fn new(config: &PyrrhaConfig, site: &Site<'_>) -> Pyrrha {
        let foreign = Foreign::new(site);
        if !site.is_host {
            let stage = match (config.organisation, config.feed) {
                (Organisation::SingleTier, _) => Stage::Wire,
                (Organisation::Hierarchical, Feed::LineRate) => Stage::Queue,
                (Organisation::Hierarchical, Feed::EveryQueue) => Stage::QueueAll,
            };
            let added = AddedQueues { most: config.isolation_queues, stage, ..Default::default() };
            return Pyrrha {
                node: NodeState::Switch(Box::new(switch::PyrrhaSwitch::new(config, site))),
                foreign,
                added,
            };
        }
        let (node, most) = match config.hosts {
            HostReaction::PerFlow => (NodeState::Host(host::PyrrhaHost::new(site)), host::PyrrhaHost::MOST_FLOWS),
            HostReaction::None | HostReaction::Pfc => (NodeState::Bystander, 0),
        };
        Pyrrha { node, foreign, added: AddedQueues { most, stage: Stage::Wire, ..Default::default() } }
    }

    /// Returns the isolation queues of a switch.
    pub fn isolated(&self) -> Vec<Isolated> {
        match &self.node {
            NodeState::Switch(switch) => switch.isolated(),
            NodeState::Host(_) | NodeState::Bystander => Vec::new(),
        }
    }

    /// Returns the ports of a switch that are congestion roots: ports about which an upstream
    /// neighbour has been notified and has not yet reported that no state is left.
    pub fn own_roots(&self) -> Vec<PortId> {
        match &self.node {
            NodeState::Switch(switch) => switch.own_roots(),
            NodeState::Host(_) | NodeState::Bystander => Vec::new(),
        }
    }

    /// Returns PFC if `port` uses it.
    #[inline]
    fn pfc_at(&mut self, port: PortIx) -> Option<&mut Pfc> {
        self.foreign.as_deref_mut().filter(|foreign| foreign.at[port]).map(|foreign| &mut foreign.pfc)
    }
}

impl Options for PyrrhaConfig {
    fn applies(&self, shape: &Shape) -> Result<(), String> {
        shape.without_relays("pyrrha")
    }

    fn check(&self, scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        diagnostics.ordered([("resume", self.resume), ("pause", self.pause)]);
        diagnostics.warning(
            self.hosts == HostReaction::Pfc && scheme.lossless.is_empty(),
            "hosts",
            "hosts are never paused: PFC pauses lossless classes only, and switch.lossless is empty",
        );
    }
}

impl FlowControlOptions for PyrrhaConfig {
    type Instance = Pyrrha;

    fn facts(&self, is_host: bool) -> FlowControlFacts {
        let protocols = match self.hosts {
            HostReaction::Pfc if is_host => vec![Protocol::PFC],
            HostReaction::None if is_host => Vec::new(),
            _ => vec![PYRRHA, Protocol::PFC],
        };
        FlowControlFacts { protocols, bounds_queues: true, ..Default::default() }
    }

    fn effective_values(&self, base_rtt: Duration) -> EffectiveValues {
        effective_values(json!({ "merge_grace": self.merge_grace(base_rtt) }))
    }

    fn build(&self, site: &Site<'_>) -> Pyrrha {
        Pyrrha::new(self, site)
    }
}

impl FlowControl for Pyrrha {
    #[inline]
    fn added_queues(&self) -> AddedQueues {
        self.added
    }

    #[inline]
    fn queue(&mut self, packet: &PacketContext<'_>, view: &View<'_>) -> QueueChoice {
        match &mut self.node {
            NodeState::Switch(switch) => switch.place(packet, None, view),
            NodeState::Host(_) | NodeState::Bystander => packet.by_class(),
        }
    }

    fn next_queue(&mut self, packet: &PacketContext<'_>, view: &View<'_>) -> QueueChoice {
        match &mut self.node {
            NodeState::Switch(switch) => switch.next_place(packet, view),
            NodeState::Host(_) | NodeState::Bystander => packet.by_class(),
        }
    }

    #[inline]
    fn count_enqueue(&mut self, packet: &PacketContext<'_>, _pressure: Pressure) -> bool {
        let reacts = match &mut self.node {
            NodeState::Switch(switch) => switch.count_join(packet),
            NodeState::Host(_) | NodeState::Bystander => false,
        };
        reacts || self.foreign.is_some()
    }

    fn on_enqueue(&mut self, packet: &PacketContext<'_>, pressure: Pressure, view: &mut View<'_>) {
        if let NodeState::Switch(switch) = &mut self.node {
            switch.joined(packet, view);
        }
        if let Some(pfc) = self.pfc_at(packet.ingress())
            && pfc.count_enqueue(packet, pressure)
        {
            pfc.on_enqueue(packet, pressure, view);
        }
    }

    fn on_move(&mut self, packet: &PacketContext<'_>, from: QueueChoice, view: &mut View<'_>) {
        if let NodeState::Switch(switch) = &mut self.node {
            switch.moved(packet, from, view);
        }
    }

    #[inline]
    fn count_dequeue(&mut self, packet: &PacketContext<'_>) -> bool {
        let reacts = match &mut self.node {
            NodeState::Switch(switch) => switch.count_departure(packet),
            NodeState::Host(_) | NodeState::Bystander => false,
        };
        reacts || self.foreign.is_some()
    }

    fn on_dequeue(&mut self, packet: &PacketContext<'_>, gauge: IngressGauge<'_>, view: &mut View<'_>) {
        if let NodeState::Switch(switch) = &mut self.node {
            switch.left(packet, view);
        }
        if let Some(pfc) = self.pfc_at(packet.ingress())
            && pfc.count_dequeue(packet)
        {
            pfc.on_dequeue(packet, gauge, view);
        }
    }

    fn on_flow_start(&mut self, flow: StartingFlow<'_>, view: &mut View<'_>) -> QueueIx {
        match &mut self.node {
            NodeState::Host(host) => host.on_flow_start(flow, view),
            NodeState::Switch(_) | NodeState::Bystander => QueueIx::of(flow.class),
        }
    }

    fn on_flow_end(&mut self, flow: FlowId, port: PortIx, queue: QueueIx, view: &mut View<'_>) {
        if let NodeState::Host(host) = &mut self.node {
            host.on_flow_end(flow, port, queue, view);
        }
    }

    fn on_control(&mut self, port: PortIx, control: &Control, causes: Option<&Causes>, view: &mut View<'_>) {
        if let Some(frame) = PyrrhaFrame::read(control) {
            match &mut self.node {
                NodeState::Switch(switch) => switch.on_frame(port, frame, view),
                NodeState::Host(host) => host.on_frame(port, frame, view),
                NodeState::Bystander => {}
            }
        } else if let Some(pfc) = self.pfc_at(port) {
            pfc.on_control(port, control, causes, view);
        }
    }

    fn on_timer(&mut self, port: PortIx, view: &mut View<'_>) {
        if let Some(pfc) = self.pfc_at(port) {
            pfc.on_timer(port, view);
        } else if let NodeState::Switch(switch) = &mut self.node {
            switch.on_timer(port, view);
        }
    }

    fn on_link_up(&mut self, port: PortIx, view: &mut View<'_>) {
        match &mut self.node {
            NodeState::Switch(switch) => switch.on_link_up(port, view),
            NodeState::Host(host) => host.on_link_up(port, view),
            NodeState::Bystander => {}
        }
        if let Some(pfc) = self.pfc_at(port) {
            pfc.on_link_up(port, view);
        }
    }
}

impl FlowControlAccounts for Pyrrha {
    fn upstream_pauses(&self) -> Vec<(PortIx, PauseScope)> {
        let pfc = self.foreign.as_ref().map(|foreign| foreign.pfc.upstream_pauses()).unwrap_or_default();
        match &self.node {
            NodeState::Switch(switch) => switch.upstream_pauses().into_iter().chain(pfc).collect(),
            NodeState::Host(_) | NodeState::Bystander => pfc,
        }
    }

    fn obeyed_pauses(&self, port: PortIx, view: &dyn PortView) -> Vec<PauseScope> {
        let classes = view.closed_queues().take_while(|queue| queue.index() < CLASSES).map(PauseScope::Queue);
        match &self.node {
            NodeState::Switch(switch) => switch.obeyed_pauses(port).into_iter().chain(classes).collect(),
            NodeState::Host(host) => host.obeyed_pauses(port).into_iter().chain(classes).collect(),
            NodeState::Bystander => classes.collect(),
        }
    }

    fn scope(&self, port: PortIx, queue: QueueIx) -> PauseScope {
        match &self.node {
            NodeState::Switch(switch) => switch.scope(port, queue),
            NodeState::Host(_) | NodeState::Bystander => PauseScope::Queue(queue),
        }
    }

    fn sustains_pause(&self, ingress: PortIx, scope: PauseScope, packet: &PacketContext<'_>) -> bool {
        match (&self.node, scope) {
            (NodeState::Switch(switch), PauseScope::Root(root)) => switch.sustains_pause(ingress, root, packet),
            _ => {
                let from = PauseScope::Queue(QueueIx(packet.headers().queue.into()));
                let is_kept = || packet.ingress() == ingress && from == scope;
                self.foreign.as_ref().map_or_else(is_kept, |foreign| foreign.pfc.sustains_pause(ingress, scope, packet))
            }
        }
    }

    fn leftover(&self) -> Option<String> {
        match &self.node {
            NodeState::Switch(switch) => switch.leftover(),
            NodeState::Host(host) => host.leftover(),
            NodeState::Bystander => None,
        }
    }

    fn most_queues_used(&self) -> u16 {
        match &self.node {
            NodeState::Switch(switch) => switch.most_queues_used(),
            NodeState::Host(_) | NodeState::Bystander => 0,
        }
    }
}
