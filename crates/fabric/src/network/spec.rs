//! What a network is made of: plain data, built by hand or by the scenario crate, from which [`crate::Simulation`] is made.
//!
//! Nothing here is checked against the outside world; [`crate::network::fabric::Fabric::new`] refuses what the model cannot run.

use crate::contract::{Diagnostic, HeadroomFacts, Neighbour, Options, Shape, Site, Sizes};
use crate::frame::framing::Framing;
use crate::ids::{Class, ID_LIMIT, NodeId, PortIx};
use crate::mechanisms::congestion::{AnyCongestionPoint, CongestionConfig};
use crate::mechanisms::flow_control::{AnyFlowControl, FlowControlConfig};
use crate::mechanisms::headroom::HeadroomConfig;
use crate::mechanisms::load_balance::LoadBalanceConfig;
use crate::mechanisms::recovery::RecoveryConfig;
use crate::network::routes::{Routes, Wiring};
use backwater_engine::index::IndexVec;
use backwater_engine::random::Seed;
use backwater_engine::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A network and the mechanisms that run in it.
#[derive(Clone, Debug)]
pub struct NetworkSpec {
    /// Seed of every random stream of the model.
    pub seed: u64,
    /// Sizes of frames.
    pub framing: Framing,
    /// Payload bytes of a full data packet (the RoCE path MTU).
    pub mtu: Bytes,
    /// Hosts and switches; a [`NodeId`] is an index into this list. Nodes without links take no part.
    pub nodes: Nodes,
    /// Full-duplex links. A node's ports are numbered in the order in which its links stand here.
    pub links: Vec<LinkSpec>,
    /// Names of ports, of those that have one.
    pub interfaces: BTreeMap<(NodeId, PortIx), String>,
    /// Entries of forwarding tables that are set by hand.
    pub routes: Vec<RouteSpec>,
    /// Times at which links fail and come back.
    pub faults: Vec<LinkFault>,
    /// Time from then until routes are computed anew; `None`: they never are.
    pub reconvergence: Option<Duration>,
    /// Every switch.
    pub switch: SwitchConfig,
    /// Switches that differ from the others.
    pub groups: Vec<SwitchGroup>,
    /// Every host.
    pub host: HostConfig,
    /// Congestion control of every flow.
    pub congestion: CongestionConfig,
    /// Path choice.
    pub load_balance: LoadBalanceConfig,
    /// Loss recovery of every flow.
    pub recovery: RecoveryConfig,
}

/// A mechanism of the network.
struct Configured<'a> {
    /// Where a scenario says so; the last part is the slot.
    path: String,
    options: &'a dyn Options,
    /// Name and version, if it is of another crate.
    plug_in: Option<(&'static str, &'static str)>,
}

/// The nodes of a network.
pub type Nodes = IndexVec<NodeId, NodeSpec>;

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// Unique name: `h12`, `leaf3`.
    pub name: String,
    /// What the node does.
    pub kind: NodeKind,
}

impl NodeSpec {
    /// Returns an error about the node.
    pub(crate) fn error(&self, reason: &str) -> Diagnostic {
        Diagnostic::error("topology", format!("node \"{}\": {reason}", self.name))
    }
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Sends and receives flows; forwards nothing.
    Host,
    /// Sends and receives flows, and forwards those of others: a server of BCube, which relays.
    Relay,
    /// Forwards; no endpoint of its own.
    Switch,
}

impl NodeKind {
    /// Whether flows start and end there.
    pub fn has_endpoint(self) -> bool {
        self != NodeKind::Switch
    }

    /// Whether packets pass through.
    pub fn forwards(self) -> bool {
        self != NodeKind::Host
    }
}

/// One full-duplex link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Bit rate in each direction.
    pub rate: Rate,
    /// Propagation delay; must not be zero.
    pub delay: Duration,
    /// Probability that a frame is corrupted and discarded at its receiver.
    pub error_rate: f64,
}

/// An entry of a forwarding table that is set by hand, right or wrong: at `node`, packets for host `to` go to `next`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteSpec {
    /// The switch whose table it is.
    pub node: NodeId,
    /// The destination.
    pub to: NodeId,
    /// The neighbour that the packets go to.
    pub next: NodeId,
}

/// A link that is down from `down` until `up`: what is on the wire is lost; what is queued waits, or is lost when routes are computed anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkFault {
    /// Index into [`NetworkSpec::links`].
    pub link: usize,
    /// When it fails.
    pub down: Time,
    /// When it comes back; [`Time::NEVER`] if it does not.
    pub up: Time,
}

/// One flow: `bytes` of payload from `src` to `dst`, ready to send at `start`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// Sending host.
    pub src: NodeId,
    /// Receiving host.
    pub dst: NodeId,
    /// Payload bytes, at least 1; [`FlowSpec::ENDLESS`] for a flow that never ends.
    pub bytes: u64,
    /// Traffic class of its data.
    pub class: Class,
    /// When it becomes ready to send.
    pub start: Time,
    /// Index into the run's list of tags (which part of the traffic it belongs to).
    pub tag: u16,
    /// Switches that its data must pass, in order; empty: the load balancer decides.
    pub data_via: Vec<NodeId>,
    /// Switches that its ACKs must pass, in order; empty: the load balancer decides.
    pub ack_via: Vec<NodeId>,
}

impl FlowSpec {
    /// The size of a long-lived flow that sends until the run ends.
    pub const ENDLESS: u64 = u64::MAX;
}

/// Every switch of the fabric.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchConfig {
    /// Packet buffer shared by all ports. Default 16 MiB (Broadcom Tomahawk; DSH section V).
    pub buffer: Bytes,
    /// Ports of the chip. Private buffer and headroom are set aside for those without a link too, as for the one that needs most. Default: as
    /// many as the switch has links.
    pub ports: Option<u16>,
    /// Traffic classes that are lossless: they have private buffer and headroom, and flow control protects them.
    pub lossless: Vec<Class>,
    /// How an egress port chooses among its queues, below the control class, which has strict priority.
    pub scheduler: SchedulerConfig,
    /// Flow control between neighbours, hosts included.
    pub flow_control: FlowControlConfig,
    /// Buffer policy.
    pub headroom: HeadroomConfig,
}

impl Default for SwitchConfig {
    fn default() -> Self {
        SwitchConfig {
            buffer: Bytes(16 << 20),
            ports: None,
            lossless: vec![Class(3)],
            scheduler: SchedulerConfig::RoundRobin {},
            flow_control: FlowControlConfig::Pfc(Default::default()),
            headroom: HeadroomConfig::Sih(Default::default()),
        }
    }
}

/// Switches that run other mechanisms than [`NetworkSpec::switch`] says.
#[derive(Clone, Debug)]
pub struct SwitchGroup {
    /// Which ones, in ascending order.
    pub switches: Vec<NodeId>,
    /// Their flow control, if it is another one.
    pub flow_control: Option<FlowControlConfig>,
    /// Their buffer policy, if it is another one.
    pub headroom: Option<HeadroomConfig>,
}

/// How an egress port chooses among its open, non-empty queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SchedulerConfig {
    /// One packet of each queue in turn (the HPCC family of simulators).
    RoundRobin {},
    /// The queue with the lowest number goes first (strict priority). It is what the switches of the simulator of Pyrrha's authors come to, whose
    /// round robin always begins anew: with BFC, which gives new flows the lowest queue that is free, flows in high queues starve.
    LowestFirst {},
    /// Deficit weighted round robin with equal weights.
    Dwrr {
        /// Bytes added to a queue's deficit per round. Default 1600 B (DSH section V-A).
        #[serde(default = "default_quantum")]
        quantum: Bytes,
    },
}

fn default_quantum() -> Bytes {
    Bytes(1600)
}

/// Every host.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostConfig {
    /// Data packets per ACK; the last packet of a flow is always acknowledged. Default 1 (all public simulators).
    #[schemars(range(min = 1))]
    pub ack_every: u32,
    /// Traffic class of ACK and NACK frames. Default 0, the control class: never paused, never charged.
    pub ack_class: Class,
    /// How a port chooses between what waits in its queues (ACKs, and packets that the host relays) and the data of its own flows.
    pub scheduler: HostScheduler,
    /// Hosts that relay, such as the servers of BCube.
    pub relay: RelayConfig,
}

impl Default for HostConfig {
    fn default() -> Self {
        HostConfig {
            ack_every: 1,
            ack_class: Class::CONTROL,
            scheduler: HostScheduler::RelayFirst {},
            relay: RelayConfig::default(),
        }
    }
}

/// How a host's port chooses between its queues and the data of its own flows. The control class goes before both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum HostScheduler {
    /// What waits in queues goes first, packets that the host relays and ACKs of a data class: own data fills the gaps.
    RelayFirst {},
    /// Queues and own data take turns, packet by packet.
    Fair {},
    /// Queues and own data share the port by bytes, by deficit round robin with equal weights.
    Dwrr {
        /// Bytes added to the deficit of either per round. Default 1600 B, as of `switch.scheduler`.
        #[serde(default = "default_quantum")]
        quantum: Bytes,
    },
}

/// Hosts that relay.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RelayConfig {
    /// Buffer for the packets that a host relays. Default: unlimited (main memory; its peak is reported).
    pub buffer: Option<Bytes>,
    /// Buffer policy. Default: that of `switch.headroom`; under a flow control that counts nothing at hosts that relay (`port-fc`, and `pfc` with
    /// `relays = "forward"`), all of the buffer is for whatever comes.
    pub headroom: Option<HeadroomConfig>,
    /// Time that a host takes to forward a packet, from its last bit's arrival to its place in a queue, besides its turn (`rate`). Default 0 s.
    pub delay: Duration,
    /// How fast a host forwards, all ports together: a packet takes the time of its charged bytes, and those that come meanwhile wait for their turn, in
    /// the host's buffer. Default: as fast as they come.
    pub rate: Option<Rate>,
    /// Whether the congestion control's congestion point is at the relaying hosts' ports as well: ECN marks, telemetry. Default false.
    pub congestion_point: bool,
}

impl RelayConfig {
    /// What stands for an unlimited buffer: 1 TiB.
    pub const UNLIMITED: Bytes = Bytes(1 << 40);
}

impl NetworkSpec {
    /// The group that `switch` belongs to, if any.
    fn group(&self, switch: NodeId) -> Option<&SwitchGroup> {
        self.groups.iter().find(|group| group.switches.binary_search(&switch).is_ok())
    }

    /// The flow control that runs at a switch.
    pub fn flow_control(&self, switch: NodeId) -> &FlowControlConfig {
        let own = self.group(switch).and_then(|group| group.flow_control.as_ref());
        own.unwrap_or(&self.switch.flow_control)
    }

    /// The buffer policy that runs at a switch, or at a host that relays.
    pub fn headroom(&self, node: NodeId) -> &HeadroomConfig {
        let own = match self.relays(node) {
            true => {
                let ends = |link: &LinkSpec| [(link.a, link.b), (link.b, link.a)];
                let first = self.links.iter().flat_map(ends).find(|(end, _)| *end == node);
                let counts_nothing = self.flow_control(first.map_or(node, |(_, peer)| peer)).facts(true).relays_pauses;
                self.host.relay.headroom.as_ref().or(counts_nothing.then_some(&HeadroomConfig::SHARED))
            }
            false => self.group(node).and_then(|group| group.headroom.as_ref()),
        };
        own.unwrap_or(&self.switch.headroom)
    }

    /// Bytes of the buffer of a switch, or of a host that relays.
    pub fn buffer(&self, node: NodeId) -> Bytes {
        if self.relays(node) { self.host.relay.buffer.unwrap_or(RelayConfig::UNLIMITED) } else { self.switch.buffer }
    }

    /// What happens to packets that leave a switch, or a host that relays.
    pub(crate) fn congestion_point(&self, site: &Site<'_>) -> AnyCongestionPoint {
        if site.is_host && !self.host.relay.congestion_point {
            CongestionConfig::None(Default::default()).point(site)
        } else {
            self.congestion.point(site)
        }
    }

    /// The flow control that runs at `node`: a host goes with the switch at the other end of its first link.
    pub fn flow_control_of(&self, node: NodeId, wiring: &Wiring) -> &FlowControlConfig {
        let first = wiring.of(node).first().filter(|_| self.is_host(node));
        self.flow_control(first.map_or(node, |port| wiring.peer(port)))
    }

    /// Returns the id of every node, in ascending order.
    pub fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// Whether flows start and end at `node`.
    pub fn is_host(&self, node: NodeId) -> bool {
        self.nodes[node].kind.has_endpoint()
    }

    /// Whether `node` is a host through which packets of others pass.
    pub fn relays(&self, node: NodeId) -> bool {
        self.nodes[node].kind == NodeKind::Relay
    }

    /// Sizes of frames.
    pub fn sizes(&self) -> Sizes {
        let telemetry = self.congestion.telemetry_bytes();
        Sizes { framing: self.framing, mtu: self.mtu.get() as u32, telemetry }
    }

    /// What a mechanism may know about `node`.
    pub fn site<'a>(&self, node: NodeId, wiring: &'a Wiring, shape: Shape, base_rtt: Duration) -> Site<'a> {
        let (ports, is_host, policy) = (wiring.of(node), self.is_host(node), self.headroom(node));
        let lossless = self.switch.lossless.iter().copied().collect();
        let is_bounded = policy.facts().bounds_ingress && !policy.shares_buffer(self.buffer(node), lossless);
        let facts = |node| self.flow_control_of(node, wiring).facts(self.is_host(node));
        let neighbour = |port| {
            let node = wiring.peer(port);
            let (is_host, relays, layer) = (self.is_host(node), self.relays(node), wiring.layer(node));
            Neighbour { node, is_host, relays, layer, flow_control: facts(node) }
        };
        Site {
            node,
            is_host,
            relays: self.relays(node),
            layer: wiring.layer(node),
            seed: Seed(self.seed),
            shape,
            network: wiring,
            ports,
            neighbours: ports.iter().map(neighbour).collect(),
            unused_ports: self.switch.ports.map_or(0, |most| usize::from(most).saturating_sub(ports.len())),
            lossless,
            buffer: self.buffer(node).get(),
            relays_first: self.host.scheduler == (HostScheduler::RelayFirst {}) && self.host.relay.rate.is_none(),
            shares_buffer: policy.shares_buffer(self.buffer(node), lossless),
            sizes: self.sizes(),
            base_rtt,
            notice_protocol: self.congestion.notice_protocol(),
            flow_control: facts(node),
            headroom: HeadroomFacts { bounds_ingress: is_bounded, ..policy.facts() },
        }
    }

    /// Whether packets keep trails where their routes do not tell the way that they have come: some mechanism of a switch asks for them.
    pub(crate) fn keeps_trails(&self) -> bool {
        self.congestion.needs_trails() || self.load_balance.needs_trails()
    }

    /// Whether the path of a packet is its sender's choice.
    pub(crate) fn senders_choose_paths(&self) -> bool {
        self.congestion.chooses_paths() || self.load_balance.chooses_paths()
    }

    /// What runs at `site` as flow control.
    pub(crate) fn build_flow_control(&self, site: &Site<'_>, wiring: &Wiring) -> AnyFlowControl {
        self.flow_control_of(site.node, wiring).build(site)
    }

    /// Checks that the model can run this network. [`crate::network::fabric::Fabric::check_flow`] checks
    /// the paths of flows.
    ///
    /// # Errors
    /// All errors of the network.
    pub(crate) fn check(&self) -> Result<(), Vec<Diagnostic>> {
        let mut errors = Vec::new();
        self.check_sizes(&mut errors);
        self.check_options(&mut errors);
        self.check_links(&mut errors);
        self.check_routes(&mut errors);
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// All mechanisms in the network.
    fn mechanisms(&self) -> Vec<Configured<'_>> {
        // The configurations of the slots are types of their own, with methods of the same names.
        macro_rules! configured {
            ($path:literal, $configs:expr) => {
                $configs.map(|it| Configured { path: $path.into(), options: it.options(), plug_in: it.plug_in() })
            };
            (of groups, $key:literal, $configs:expr) => {
                $configs.map(|(i, it)| Configured {
                    path: format!(concat!("groups[{}].", $key), i),
                    options: it.options(),
                    plug_in: it.plug_in(),
                })
            };
        }
        let groups = || self.groups.iter().enumerate();
        configured!("switch.flow_control", [&self.switch.flow_control].into_iter())
            .chain(configured!("switch.headroom", [&self.switch.headroom].into_iter()))
            .chain(configured!(of groups, "flow_control", groups().filter_map(|(i, group)| Some((i, group.flow_control.as_ref()?)))))
            .chain(configured!(of groups, "headroom", groups().filter_map(|(i, group)| Some((i, group.headroom.as_ref()?)))))
            .chain(configured!("host.relay.headroom", self.host.relay.headroom.iter()))
            .chain(configured!("congestion_control", [&self.congestion].into_iter()))
            .chain(configured!("load_balance", [&self.load_balance].into_iter()))
            .chain(configured!("recovery", [&self.recovery].into_iter()))
            .collect()
    }

    /// The mechanisms of other crates in the network that scenarios can name, as `slot.name`, with their versions.
    pub fn plug_ins(&self) -> BTreeMap<String, &'static str> {
        let slot = |path: &str| path.rsplit('.').next().unwrap_or(path).to_owned();
        let plug_ins = self.mechanisms().into_iter().filter_map(|it| Some((slot(&it.path), it.plug_in?)));
        plug_ins.map(|(slot, (name, version))| (format!("{slot}.{name}"), version)).collect()
    }

    /// What the network is like, in which packets take these routes.
    pub fn shape(&self, wiring: &Wiring, routes: &Routes) -> Shape {
        let nodes = || self.node_ids();
        let is_switch = |node: &NodeId| self.nodes[*node].kind == NodeKind::Switch;
        Shape {
            layers: nodes().map(|node| wiring.layer(node)).max().unwrap_or(0),
            multihomed: nodes().any(|node| self.is_host(node) && wiring.of(node).len() > 1),
            relays: nodes().any(|node| self.relays(node)),
            relay_delay: self.host.relay.delay,
            relay_ports: nodes().filter(|node| self.relays(*node)).map(|node| wiring.of(node).len()).max().unwrap_or(0),
            ports: nodes().map(|node| wiring.of(node).len()).max().unwrap_or(0),
            switches: nodes().filter(is_switch).count(),
            trunks: self.links.iter().any(|link| is_switch(&link.a) && is_switch(&link.b)),
            direct: self.links.iter().any(|link| !is_switch(&link.a) && !is_switch(&link.b)),
            uniform: self.groups.iter().all(|group| group.flow_control.is_none()),
            stages: routes.most_stages(&self.nodes, wiring),
            choices: routes.most_choices(&self.nodes, wiring),
            lossless: self.switch.lossless.iter().copied().collect(),
            lossless_acks: self.switch.lossless.contains(&self.host.ack_class),
            routes_by_hand: !self.routes.is_empty(),
            fixed_paths: self.load_balance.is_static() && !self.senders_choose_paths(),
            faults: !self.faults.is_empty(),
        }
    }

    /// Checks that every mechanism can run in a network of this shape.
    ///
    /// # Errors
    /// The reason of every mechanism that cannot.
    pub(crate) fn check_mechanisms(&self, shape: &Shape) -> Result<(), Vec<Diagnostic>> {
        let refused = self.mechanisms().into_iter().filter_map(|Configured { path, options, .. }| {
            let reason = options.applies(shape).err()?;
            Some(Diagnostic::error(path, reason))
        });
        let errors: Vec<_> = refused.collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Events name nodes and ports in a limited number of bits.
    fn check_sizes(&self, errors: &mut Vec<Diagnostic>) {
        let counts = [(self.nodes.len(), "nodes"), (2 * self.links.len(), "ports")];
        for (count, of_what) in counts.into_iter().filter(|(count, _)| *count > ID_LIMIT as usize) {
            errors.push(Diagnostic::error("topology", format!("has {count} {of_what}, must have at most {ID_LIMIT}")));
        }
    }

    fn check_options(&self, errors: &mut Vec<Diagnostic>) {
        let mut reject = |option: &str, reason: &str| errors.push(Diagnostic::error(option, reason));
        let mtu = self.mtu.get();
        if !(1..=9000).contains(&mtu) {
            reject("network.mtu", &format!("is {}, must be from 1 B to 9000 B", self.mtu));
        }
        if self.switch.lossless.contains(&Class::CONTROL) {
            reject("switch.lossless", "contains class 0, the control class, which is never paused");
        }
        let highest = self.switch.lossless.iter().chain([&self.host.ack_class]).map(|class| class.0).max();
        if highest > Some(7) {
            reject("switch.lossless", "has a class above 7, the highest class");
        }
        if self.host.ack_every == 0 {
            reject("host.ack_every", "is 0, must be at least 1");
        }
        if let SchedulerConfig::Dwrr { quantum } = self.switch.scheduler
            && quantum.get() == 0
        {
            reject("switch.scheduler.quantum", "is 0 B, so no packet would ever be sent");
        }
        if self.host.scheduler == (HostScheduler::Dwrr { quantum: Bytes(0) }) {
            reject("host.scheduler.quantum", "is 0 B, so no packet would ever be sent");
        }
    }

    fn check_routes(&self, errors: &mut Vec<Diagnostic>) {
        let kind = |node: NodeId| self.nodes.get(node.0 as usize).map(|node| node.kind);
        for route in &self.routes {
            let ends = [(route.node, route.next), (route.next, route.node)];
            let is_linked = self.links.iter().any(|link| ends.contains(&(link.a, link.b)));
            let is_route =
                kind(route.node).is_some_and(NodeKind::forwards) && kind(route.to).is_some_and(NodeKind::has_endpoint);
            let is_way = kind(route.next).is_some_and(NodeKind::forwards) || route.next == route.to;
            if !is_linked || !is_route || !is_way {
                let rule = "a route is set at a switch, for a host, to a neighbour that is a switch or that host";
                errors.push(Diagnostic::error("routes", rule));
            }
        }
    }

    fn check_links(&self, errors: &mut Vec<Diagnostic>) {
        let name = |node: NodeId| self.nodes.get(node.0 as usize).map_or("?", |node| &node.name);
        let mut degree = IndexVec::<NodeId, usize>::from(vec![0; self.nodes.len()]);
        let error = |link: &LinkSpec, reason: &str| {
            Diagnostic::error("topology", format!("link {} - {}: {reason}", name(link.a), name(link.b)))
        };
        for link in &self.links {
            let mut reject = |reason: &str| errors.push(error(link, reason));
            let (Some(_), Some(_)) = (self.nodes.get(link.a.0 as usize), self.nodes.get(link.b.0 as usize)) else {
                reject("one end does not exist");
                continue;
            };
            degree[link.a] += 1;
            degree[link.b] += 1;
            if link.a == link.b {
                reject("both ends are the same node");
            }
            if link.rate.bps() < 1_000_000 {
                reject("its rate must be at least 1 Mbps");
            }
            if link.delay == Duration::ZERO {
                reject("its delay must be longer than 0 s");
            }
            if !(0.0..1.0).contains(&link.error_rate) {
                reject("its error rate must be at least 0 and less than 1");
            }
        }
        for fault in &self.faults {
            if fault.link >= self.links.len() || fault.up <= fault.down {
                let rule = "a fault needs a link that exists and must end after it begins";
                errors.push(Diagnostic::error("faults", rule));
            }
        }
        let mut faults: Vec<&LinkFault> = self.faults.iter().filter(|fault| fault.link < self.links.len()).collect();
        faults.sort_by_key(|fault| (fault.link, fault.down));
        for pair in faults.windows(2).filter(|pair| pair[0].link == pair[1].link && pair[1].down <= pair[0].up) {
            let reason = "its faults overlap; one must be over before the next begins";
            errors.push(error(&self.links[pair[0].link], reason));
        }
        for (node, degree) in self.nodes.iter().zip(degree) {
            if let Some(ports) =
                self.switch.ports.filter(|ports| node.kind == NodeKind::Switch && degree > usize::from(*ports))
            {
                errors.push(node.error(&format!("has {degree} links, but a switch has {ports} ports")));
            }
            if degree > usize::from(u16::MAX) {
                errors.push(node.error(&format!("has {degree} links, must have at most {}", u16::MAX)));
            }
        }
    }
}
