//! Pyrrha: per-hop flow control by congestion root (NSDI 2025; IEEE Transactions on Networking 2025).
//!
//! A port whose ordinary queue grows long nominates itself as a congestion root and tells its upstream neighbours. They isolate what will pass
//! the root in a queue of its own, at every port that leads there, and tell their own neighbours when that grows long. Only isolation queues
//! are ever paused. A root that hears of another one further downstream gives up because of it.
//!
//! `frames.rs` is what neighbours say to each other, `roots.rs` the table of roots, `queues.rs` the isolation queues of a port, `sets.rs`
//! their variant in a single tier, `switch.rs` the rules, `host.rs` what hosts do.

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
    AddedQueues, EffectiveValues, Findings, FlowControl, FlowControlAccounts, FlowControlFacts, FlowControlOptions,
    IngressGauge, Neighbour, Options, PacketContext, PauseScope, PortView, Pressure, QueueChoice, SchemeContext, Shape,
    Site, Stage, StartingFlow, View, effective_values,
};
use crate::frame::cause::Causes;
use crate::frame::{Control, Protocol};
use crate::ids::{CLASSES, FlowId, PortId, PortIx, QueueIx};
use backwater_engine::Duration;
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Pyrrha: by congestion root, with isolation queues (NSDI 2025).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PyrrhaConfig {
    /// Length of a queue above which the upstream must pause, in one-hop BDPs: rate of the port x twice the delay of the ingress link. Default
    /// 2 (section VIII). Never less than two frames.
    #[schemars(range(min = 0.0))]
    pub pause: f64,
    /// Length below which the upstream may go on, in one-hop BDPs. Default 1 (section VIII). Never less than one frame.
    #[schemars(range(min = 0.0))]
    pub resume: f64,
    /// Most isolation queues per port; beyond that, roots share queues by a hash. Default 100 (section VIII).
    #[schemars(range(min = 1, max = 60000))]
    pub isolation_queues: u16,
    /// How isolation queues are arranged. Default `hierarchical`.
    pub organisation: Organisation,
    /// How isolation queues feed the ordinary queue, where they do. Default `line-rate`.
    pub feed: Feed,
    /// What is compared with the thresholds where a root further down is relayed. Default `queue` (section IV-D).
    pub relay_metric: RelayMetric,
    /// Which roots give up when they hear of another one further down. Default `down`.
    pub merge: MergePolicy,
    /// What becomes of the queue of a root that has given up. Default `flush`.
    pub soft_merge: SoftMerge,
    /// How long an isolation queue that a MERGE has made is kept for its first packet or the first PAUSE or RESUME of its root. Without it, the
    /// next PAUSE would make the port give up once more. Default: 200 times the longest base RTT (the public simulator keeps it until its
    /// first packet has left; here no queue stays for ever).
    pub merge_grace: Option<Duration>,
    /// Whether a switch ignores frames about roots that are its own ports: what keeps routing loops free of deadlock (section IV-D). Default
    /// true; the public simulator does not.
    pub own_root_rule: bool,
    /// What hosts do about paused roots. Default `per-flow`.
    pub hosts: HostReaction,
}

/// How isolation queues are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Organisation {
    /// One per root: a packet goes through those of the roots on its way, from near to far, and then through the ordinary queue.
    Hierarchical,
    /// One per set of roots: a packet goes through that of all the roots on its way, and straight onto the wire.
    SingleTier,
}

/// How isolation queues feed the ordinary queue: whenever a packet of a data class goes onto the wire, in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Feed {
    /// Until one packet has come to the ordinary queue: all isolation queues together feed it at the rate of the port.
    LineRate,
    /// One packet of every isolation queue: each of them feeds it at the rate of the port (as in the public simulator).
    EveryQueue,
}

/// What is compared with the thresholds where a root further down is relayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RelayMetric {
    /// The length of the isolation queue.
    Queue,
    /// The bytes that came from the ingress port, in all isolation queues of the root together (as in the public simulator).
    PerIngress,
}

/// Which roots give up when they hear of another one further down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MergePolicy {
    /// Ports that lead towards hosts: of what passes an uplink only a part passes any one root behind it, so an uplink that is congested
    /// remains a root beside it (as in the public simulator).
    Down,
    /// All ports (section IV-A).
    Any,
    /// None.
    Never,
}

/// What becomes of the queue of a root that has given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SoftMerge {
    /// Its packets move on at once, in order.
    Flush,
    /// Its packets move on in turn, and packets that pass the old root still join it until it is empty: it can grow without bound (as in the
    /// public simulator).
    Drain,
}

/// What hosts do about paused roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostReaction {
    /// They hold back the flows that pass a paused root.
    PerFlow,
    /// Nothing: the first switch buffers.
    None,
    /// They obey PFC, which the first switch then speaks with them.
    Pfc,
}

impl PyrrhaConfig {
    /// How long a queue that a MERGE has made is kept where the longest base RTT is `base_rtt`.
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

/// An isolation queue, for probes and tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isolated {
    /// The egress port.
    pub port: PortIx,
    /// The root for which it isolates.
    pub root: PortId,
    /// Its state.
    pub state: State,
    /// Its number among the queues of the port; `None` in a single tier, where there may be several.
    pub queue: Option<QueueIx>,
    /// Charged bytes in it.
    pub bytes: u64,
}

/// Pyrrha at one node.
#[derive(Debug, GetSize)]
pub struct Pyrrha {
    role: Role,
    foreign: Option<Box<Foreign>>,
    added: AddedQueues,
}

/// What is used with neighbours that support PFC only (section IV-E, "Incremental deployment").
#[derive(Debug, GetSize)]
struct Foreign {
    pfc: Pfc,
    /// Whether that is so, port by port.
    at: Vec<bool>,
}

/// What is at the other end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, GetSize)]
enum Peer {
    /// A switch that runs Pyrrha.
    Switch,
    /// A host that holds flows back.
    Host,
    /// A neighbour that uses PFC.
    Pfc,
    /// A neighbour with no common flow control.
    Other,
}

impl Peer {
    /// What `neighbour` is to the node at `site`. Both ends of a link come to the same answer.
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
        // Those who use nothing but PFC say how; they all say the same.
        let terms = site.neighbours.iter().find_map(|neighbour| neighbour.flow_control.pfc.clone());
        let pfc = || Pfc::new(&terms.map_or_else(PfcConfig::default, PfcConfig::of), site);
        at.contains(&true).then(|| Box::new(Foreign { pfc: pfc(), at }))
    }
}

#[derive(Debug, GetSize)]
enum Role {
    Switch(Box<switch::Switch>),
    Host(host::Host),
    /// A host that knows nothing of Pyrrha.
    Bystander,
}

impl Pyrrha {
    /// Pyrrha for the node at `site`.
    pub fn new(config: &PyrrhaConfig, site: &Site<'_>) -> Pyrrha {
        let foreign = Foreign::new(site);
        if !site.is_host {
            let stage = match (config.organisation, config.feed) {
                (Organisation::SingleTier, _) => Stage::Wire,
                (Organisation::Hierarchical, Feed::LineRate) => Stage::Queue,
                (Organisation::Hierarchical, Feed::EveryQueue) => Stage::QueueAll,
            };
            let added = AddedQueues { most: config.isolation_queues, stage, ..Default::default() };
            return Pyrrha { role: Role::Switch(Box::new(switch::Switch::new(config, site))), foreign, added };
        }
        let (role, most) = match config.hosts {
            HostReaction::PerFlow => (Role::Host(host::Host::new(site)), host::Host::MOST_FLOWS),
            HostReaction::None | HostReaction::Pfc => (Role::Bystander, 0),
        };
        Pyrrha { role, foreign, added: AddedQueues { most, stage: Stage::Wire, ..Default::default() } }
    }

    /// What is isolated at the ports of a switch.
    pub fn isolated(&self) -> Vec<Isolated> {
        match &self.role {
            Role::Switch(switch) => switch.isolated(),
            Role::Host(_) | Role::Bystander => Vec::new(),
        }
    }

    /// The ports of a switch that are congestion roots: those that keep anybody upstream under control.
    pub fn own_roots(&self) -> Vec<PortId> {
        match &self.role {
            Role::Switch(switch) => switch.own_roots(),
            Role::Host(_) | Role::Bystander => Vec::new(),
        }
    }

    /// PFC, if it is what is spoken at `port`.
    #[inline]
    fn pfc_at(&mut self, port: PortIx) -> Option<&mut Pfc> {
        self.foreign.as_deref_mut().filter(|foreign| foreign.at[usize::from(port)]).map(|foreign| &mut foreign.pfc)
    }
}

impl Options for PyrrhaConfig {
    fn applies(&self, shape: &Shape) -> Result<(), String> {
        shape.without_relays("pyrrha")?;
        // PFC runs at the ports of neighbours that use it.
        let has_pfc = !shape.uniform || self.hosts == HostReaction::Pfc;
        if has_pfc { shape.few_ports("pyrrha") } else { Ok(()) }
    }

    fn check(&self, beside: &SchemeContext<'_>, findings: &mut Findings) {
        findings.ordered([("resume", self.resume), ("pause", self.pause)]);
        findings.warning(
            self.hosts == HostReaction::Pfc && beside.lossless.is_empty(),
            "hosts",
            "PFC stops lossless classes only, and switch.lossless is empty: hosts are never stopped",
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
        match &mut self.role {
            Role::Switch(switch) => switch.place(packet, None, view),
            Role::Host(_) | Role::Bystander => packet.by_class(),
        }
    }

    fn next_queue(&mut self, packet: &PacketContext<'_>, view: &View<'_>) -> QueueChoice {
        match &mut self.role {
            Role::Switch(switch) => switch.next_place(packet, view),
            Role::Host(_) | Role::Bystander => packet.by_class(),
        }
    }

    fn on_enqueue(&mut self, packet: &PacketContext<'_>, pressure: Pressure, view: &mut View<'_>) {
        if let Role::Switch(switch) = &mut self.role {
            switch.joined(packet, view);
        }
        if let Some(pfc) = self.pfc_at(packet.ingress) {
            pfc.on_enqueue(packet, pressure, view);
        }
    }

    fn on_move(&mut self, packet: &PacketContext<'_>, from: QueueChoice, view: &mut View<'_>) {
        if let Role::Switch(switch) = &mut self.role {
            switch.moved(packet, from, view);
        }
    }

    fn on_dequeue(&mut self, packet: &PacketContext<'_>, gauge: IngressGauge<'_>, view: &mut View<'_>) {
        if let Role::Switch(switch) = &mut self.role {
            switch.left(packet, view);
        }
        if let Some(pfc) = self.pfc_at(packet.ingress) {
            pfc.on_dequeue(packet, gauge, view);
        }
    }

    fn on_flow_start(&mut self, flow: StartingFlow<'_>, view: &mut View<'_>) -> QueueIx {
        match &mut self.role {
            Role::Host(host) => host.on_flow_start(flow, view),
            Role::Switch(_) | Role::Bystander => QueueIx::from(flow.class.0),
        }
    }

    fn on_flow_end(&mut self, flow: FlowId, port: PortIx, queue: QueueIx, view: &mut View<'_>) {
        if let Role::Host(host) = &mut self.role {
            host.on_flow_end(flow, port, queue, view);
        }
    }

    fn on_control(&mut self, port: PortIx, control: &Control, causes: Option<&Causes>, view: &mut View<'_>) {
        if let Some(frame) = PyrrhaFrame::read(control) {
            match &mut self.role {
                Role::Switch(switch) => switch.on_frame(port, frame, view),
                Role::Host(host) => host.on_frame(port, frame, view),
                Role::Bystander => {}
            }
        } else if let Some(pfc) = self.pfc_at(port) {
            pfc.on_control(port, control, causes, view);
        }
    }

    fn on_timer(&mut self, port: PortIx, view: &mut View<'_>) {
        if let Some(pfc) = self.pfc_at(port) {
            pfc.on_timer(port, view);
        } else if let Role::Switch(switch) = &mut self.role {
            switch.on_timer(port, view);
        }
    }

    fn on_link_up(&mut self, port: PortIx, view: &mut View<'_>) {
        match &mut self.role {
            Role::Switch(switch) => switch.on_link_up(port, view),
            Role::Host(host) => host.on_link_up(port, view),
            Role::Bystander => {}
        }
        if let Some(pfc) = self.pfc_at(port) {
            pfc.on_link_up(port, view);
        }
    }
}

impl FlowControlAccounts for Pyrrha {
    fn upstream_pauses(&self) -> Vec<(PortIx, PauseScope)> {
        let pfc = self.foreign.as_ref().map(|foreign| foreign.pfc.upstream_pauses()).unwrap_or_default();
        match &self.role {
            Role::Switch(switch) => switch.upstream_pauses().into_iter().chain(pfc).collect(),
            Role::Host(_) | Role::Bystander => pfc,
        }
    }

    fn obeyed_pauses(&self, port: PortIx, view: &dyn PortView) -> Vec<PauseScope> {
        let classes = view.closed_queues().take_while(|queue| usize::from(*queue) < CLASSES).map(PauseScope::Queue);
        match &self.role {
            Role::Switch(switch) => switch.obeyed_pauses(port).into_iter().chain(classes).collect(),
            Role::Host(host) => host.obeyed_pauses(port).into_iter().chain(classes).collect(),
            Role::Bystander => classes.collect(),
        }
    }

    fn scope(&self, port: PortIx, queue: QueueIx) -> PauseScope {
        match &self.role {
            Role::Switch(switch) => switch.scope(port, queue),
            Role::Host(_) | Role::Bystander => PauseScope::Queue(queue),
        }
    }

    fn sustains_pause(&self, ingress: PortIx, scope: PauseScope, packet: &PacketContext<'_>) -> bool {
        match (&self.role, scope) {
            (Role::Switch(switch), PauseScope::Root(root)) => switch.sustains_pause(ingress, root, packet),
            _ => {
                let from = PauseScope::Queue(packet.packet().queue.into());
                let is_kept = || packet.ingress == ingress && from == scope;
                self.foreign.as_ref().map_or_else(is_kept, |foreign| foreign.pfc.sustains_pause(ingress, scope, packet))
            }
        }
    }

    fn leftover(&self) -> Option<String> {
        match &self.role {
            Role::Switch(switch) => switch.leftover(),
            Role::Host(host) => host.leftover(),
            Role::Bystander => None,
        }
    }

    fn most_queues_used(&self) -> QueueIx {
        match &self.role {
            Role::Switch(switch) => switch.most_queues_used(),
            Role::Host(_) | Role::Bystander => 0,
        }
    }
}
