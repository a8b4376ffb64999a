//! Specification of a network: plain data, from which [`crate::Simulation`] is created.
//!
//! [`crate::network::fabric::Fabric::new`] rejects specifications that the model cannot run.
//! Nothing here checks that they are realistic.

use crate::contract::{Diagnostic, HeadroomFacts, Neighbour, Options, Shape, Site, Sizes};
use crate::frame::framing::Framing;
use crate::ids::{Class, ID_LIMIT, NodeId, PortIx};
use crate::mechanisms::congestion::{AnyCongestionPoint, CongestionConfig};
use crate::mechanisms::flow_control::{AnyFlowControl, FlowControlConfig};
use crate::mechanisms::headroom::HeadroomConfig;
use crate::mechanisms::load_balance::LoadBalanceConfig;
use crate::mechanisms::recovery::RecoveryConfig;
use crate::network::routes::{Extent, Routes, Wiring};
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::interrupt;
use backwater_engine::random::{Seed, mix};
use backwater_engine::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A network and its mechanisms.
#[derive(Clone, Debug)]
pub struct NetworkSpec {
    /// Seed of all random streams of the model.
    pub seed: u64,
    /// Sizes of frames.
    pub framing: Framing,
    /// Payload bytes of a full data packet (the RoCE path MTU).
    pub mtu: Bytes,
    /// Hosts and switches. Nodes without links are idle.
    pub nodes: Nodes,
    /// Full-duplex links. A node's ports are numbered in the order of its links here.
    pub links: Vec<LinkSpec>,
    /// Names of ports. Other ports have no names.
    pub interfaces: BTreeMap<(NodeId, PortIx), String>,
    /// Forwarding table entries set by hand.
    pub routes: Vec<RouteSpec>,
    /// Link failures.
    pub faults: Vec<LinkFault>,
    /// Time from a failure or recovery to the recomputation of routes; `None` for no recomputation.
    pub reconvergence: Option<Duration>,
    /// Configuration of all switches.
    pub switch: SwitchConfig,
    /// Groups of switches with other mechanisms.
    pub groups: Vec<SwitchGroup>,
    /// Configuration of all hosts.
    pub host: HostConfig,
    /// Names of flows in hash keys.
    pub flow_keys: FlowKeys,
    /// Seed of the hash functions of ECMP; `None` for `seed`.
    pub hash_seed: Option<u64>,
    /// Congestion control of all flows.
    pub congestion: CongestionConfig,
    /// Load balancer.
    pub load_balance: LoadBalanceConfig,
    /// Loss recovery of all flows.
    pub recovery: RecoveryConfig,
}

/// No nodes; default switches and hosts; RoCEv2 with an MTU of 1024 B, no congestion control, ECMP
/// and Go-Back-N.
impl Default for NetworkSpec {
    fn default() -> NetworkSpec {
        NetworkSpec {
            seed: 1,
            framing: Framing::Rocev2,
            mtu: Bytes(1024),
            nodes: Nodes::default(),
            links: Vec::new(),
            interfaces: BTreeMap::new(),
            routes: Vec::new(),
            faults: Vec::new(),
            reconvergence: None,
            switch: SwitchConfig::default(),
            groups: Vec::new(),
            host: HostConfig::default(),
            flow_keys: FlowKeys::Number,
            hash_seed: None,
            congestion: CongestionConfig::None(Default::default()),
            load_balance: LoadBalanceConfig::Ecmp(Default::default()),
            recovery: RecoveryConfig::GoBackN(Default::default()),
        }
    }
}

/// A mechanism of the network.
struct Configured<'a> {
    /// Path of the scenario key; the last part is the slot.
    path: String,
    options: &'a dyn Options,
    /// Name and version of a mechanism from another crate.
    plug_in: Option<(&'static str, &'static str)>,
}

/// Nodes of a network.
pub type Nodes = IndexVec<NodeId, NodeSpec>;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// Unique name: `h12`, `leaf3`.
    pub name: String,
    /// Kind of the node.
    pub kind: NodeKind,
}

impl NodeSpec {
    /// Returns an error about the node.
    pub(crate) fn error(&self, reason: &str) -> Diagnostic {
        Diagnostic::error("topology", format!("node \"{}\": {reason}", self.name))
    }
}

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Sends and receives flows; does not forward packets.
    Host,
    /// Sends and receives flows, and forwards packets of other hosts: a relaying host, such as a
    /// BCube server.
    Relay,
    /// Forwards packets; has no endpoint.
    Switch,
}

impl NodeKind {
    /// Returns true if flows may start and end at the node.
    pub fn has_endpoint(self) -> bool {
        self != NodeKind::Switch
    }

    /// Returns true if the node forwards packets.
    pub fn forwards(self) -> bool {
        self != NodeKind::Host
    }
}

/// A full-duplex link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// First end.
    pub a: NodeId,
    /// Second end.
    pub b: NodeId,
    /// Bit rate in each direction.
    pub rate: Rate,
    /// Propagation delay, longer than zero.
    pub delay: Duration,
    /// Probability that a frame is corrupted, so that its receiver discards it.
    pub error_rate: f64,
}

impl LinkSpec {
    /// Returns a link without errors.
    pub fn new(a: NodeId, b: NodeId, rate: Rate, delay: Duration) -> LinkSpec {
        LinkSpec { a, b, rate, delay, error_rate: 0.0 }
    }
}

/// Forwarding table entry set by hand, which may be wrong: `node` sends packets for
/// host `to` to `next`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteSpec {
    /// Switch of the entry.
    pub node: NodeId,
    /// Destination host.
    pub to: NodeId,
    /// Next hop, a neighbour of `node`.
    pub next: NodeId,
}

/// Failure of a link from `down` to `up`. Frames on the wire are lost. Queued frames wait, but are
/// lost if routes are recomputed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkFault {
    /// Index into [`NetworkSpec::links`].
    pub link: usize,
    /// Time of the failure.
    pub down: Time,
    /// Time of the recovery; [`Time::NEVER`] if the link stays down.
    pub up: Time,
}

/// Names of flows in hash keys: in the hash of ECMP, in BFC's table of flows, and in the random
/// streams of senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowKeys {
    /// The part of the traffic, source, destination, and a number. For listed flows: the number
    /// among the part's flows with the same ends. For generated arrivals: the number among the
    /// part's flows with the same source. So flows of other parts do not affect a flow's path.
    Connection,
    /// The number of the flow among all flows, in order of start. So the path of a flow depends on
    /// the number of earlier flows. For the results of earlier versions.
    Number,
}

/// A flow: `bytes` of payload from `src` to `dst`, ready to send at `start`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// Sending host.
    pub src: NodeId,
    /// Receiving host.
    pub dst: NodeId,
    /// Payload bytes, at least 1; [`FlowSpec::ENDLESS`] for an endless flow, and
    /// [`FlowSpec::CONNECTION`] for a connection with any number of messages.
    pub bytes: u64,
    /// Traffic class of the data.
    pub class: Class,
    /// Time at which the flow is ready to send.
    pub start: Time,
    /// Index into the run's list of tags, which name parts of the traffic.
    pub tag: u16,
    /// Hash of the name of the flow's part of the traffic.
    pub part: u32,
    /// Number of the flow among the flows of its part, either with the same ends or with the same
    /// source. With the part and the ends, it determines the flow's hash key
    /// ([`FlowKeys::Connection`]).
    pub number: u32,
    /// Pinned paths; `None` if the load balancer chooses both paths.
    pub pinned: Option<Box<PinnedPaths>>,
}

/// Pinned paths of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedPaths {
    /// Switches that the data passes, in order.
    pub data: Vec<NodeId>,
    /// Switches that the ACKs pass, in order.
    pub ack: Vec<NodeId>,
}

impl FlowSpec {
    /// Returns a flow of class 3 that starts at time 0 and that the load balancer routes.
    pub fn new(src: NodeId, dst: NodeId, bytes: u64) -> FlowSpec {
        let (start, pinned) = (Time::ZERO, None);
        FlowSpec { src, dst, bytes, class: Class(3), start, tag: 0, part: 0, number: 0, pinned }
    }

    /// Pins the paths of the data and of the ACKs to switches, in order. The load balancer chooses
    /// a path whose list is empty.
    pub fn via(mut self, data: Vec<NodeId>, ack: Vec<NodeId>) -> FlowSpec {
        let is_pinned = !data.is_empty() || !ack.is_empty();
        self.pinned = is_pinned.then(|| Box::new(PinnedPaths { data, ack }));
        self
    }

    /// Returns the switches that the data passes, in order. If empty, the load balancer chooses the
    /// path.
    pub fn data_via(&self) -> &[NodeId] {
        self.pinned.as_ref().map_or(&[], |paths| &paths.data)
    }

    /// Returns the switches that the ACKs pass, in order. If empty, the load balancer chooses the
    /// path.
    pub fn ack_via(&self) -> &[NodeId] {
        self.pinned.as_ref().map_or(&[], |paths| &paths.ack)
    }

    /// Size of an endless flow, which sends until the run ends.
    pub const ENDLESS: u64 = u64::MAX;

    /// Size of a connection, which sends the messages that an application posts.
    pub const CONNECTION: u64 = 0;

    /// Returns true if the flow is a connection with any number of messages.
    #[inline]
    pub fn is_connection(&self) -> bool {
        self.bytes == FlowSpec::CONNECTION
    }

    /// Returns the number that names the flow in hash keys ([`FlowKeys::Connection`]).
    pub(crate) fn identity(&self) -> u64 {
        let ends = u64::from(self.src.0) << 32 | u64::from(self.dst.0);
        mix(mix(ends) ^ (u64::from(self.part) << 32 | u64::from(self.number)))
    }

    /// Returns true if the flow never ends.
    pub fn is_endless(&self) -> bool {
        self.bytes == FlowSpec::ENDLESS
    }
}

/// Configuration of all switches.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchConfig {
    /// Packet buffer shared by all ports. Default 16 MiB (Broadcom Tomahawk; section V of DSH's
    /// paper).
    pub buffer: Bytes,
    /// Number of ports of the chip. Ports without a link also get private buffer and headroom, as
    /// much as the port that needs the most. Default: the number of links of the switch.
    pub ports: Option<u16>,
    /// Lossless traffic classes. They have private buffer and headroom, and flow control protects
    /// them.
    pub lossless: Vec<Class>,
    /// Scheduler of the queues of an egress port. The control class has strict priority over them.
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

/// Switches with mechanisms other than those of [`NetworkSpec::switch`].
#[derive(Clone, Debug)]
pub struct SwitchGroup {
    /// Switches of the group, in ascending order.
    pub switches: Vec<NodeId>,
    /// Flow control, if it differs.
    pub flow_control: Option<FlowControlConfig>,
    /// Buffer policy, if it differs.
    pub headroom: Option<HeadroomConfig>,
}

/// Scheduler of the open, non-empty queues of an egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SchedulerConfig {
    /// One packet of each queue in turn (HPCC family of simulators).
    RoundRobin {},
    /// Strict priority: the queue with the lowest number first. The switches in the simulator of
    /// Pyrrha's authors behave like this, because their round robin always restarts at the first
    /// queue. With BFC, which assigns new flows to the lowest free queue, flows in high queues
    /// starve.
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

/// Configuration of all hosts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostConfig {
    /// Data packets per ACK. The last packet of a flow is always acknowledged. Default 1 (all
    /// public simulators).
    #[schemars(range(min = 1))]
    pub ack_every: u32,
    /// Traffic class of ACKs and NACKs. Default 0, the control class, which is never paused or
    /// charged to a buffer.
    pub ack_class: Class,
    /// Scheduler of a port, which chooses between the port's queues (ACKs and relayed packets) and
    /// the data of the host's own flows.
    pub scheduler: HostScheduler,
    /// Congestion state of a connection that is idle between two messages.
    pub idle: IdleConfig,
    /// Options of hosts that relay, such as BCube servers.
    pub relay: RelayConfig,
}

/// Congestion state of a connection that is idle: all packets of all its messages are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum IdleConfig {
    /// Rate and window persist, and clocks run on.
    Keep {},
    /// A message that is posted after the connection has been idle for some time starts with the
    /// rate and window of a new connection.
    Fresh {
        /// Shortest idle time after which the state starts afresh.
        after: Duration,
    },
}

impl IdleConfig {
    /// Returns true if a connection that was idle for this time starts afresh.
    pub(crate) fn is_over(self, idle: Duration) -> bool {
        matches!(self, IdleConfig::Fresh { after } if idle >= after)
    }
}

impl Default for HostConfig {
    fn default() -> Self {
        HostConfig {
            ack_every: 1,
            ack_class: Class::CONTROL,
            scheduler: HostScheduler::RelayFirst {},
            idle: IdleConfig::Keep {},
            relay: RelayConfig::default(),
        }
    }
}

/// Scheduler between a host port's queues and the data of the host's own flows. The control class
/// has strict priority over both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum HostScheduler {
    /// Strict priority for the queues (relayed packets and ACKs of a data class). The host's own
    /// data is sent when no queue can send.
    RelayFirst {},
    /// Queues and own data take turns, packet by packet.
    Fair {},
    /// Queues and own data share the port by bytes, by deficit round robin with equal weights.
    Dwrr {
        /// Bytes added to each deficit per round. Default 1600 B, as for `switch.scheduler`.
        #[serde(default = "default_quantum")]
        quantum: Bytes,
    },
}

/// Configuration of hosts that relay.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RelayConfig {
    /// Buffer for relayed packets. Default: unlimited (main memory; results report its peak).
    pub buffer: Option<Bytes>,
    /// Buffer policy. Default: that of `switch.headroom`. With a flow control that does not count
    /// packets at relaying hosts (`port-fc`, and `pfc` with `relays = "forward"`), all packets
    /// share the buffer.
    pub headroom: Option<HeadroomConfig>,
    /// Time from the arrival of a packet's last bit until the packet is queued for forwarding,
    /// without the wait due to `rate`. Default 0 s.
    pub delay: Duration,
    /// Forwarding rate of a host, all ports together. Forwarding a packet takes as long as its
    /// charged bytes take at this rate; packets that arrive meanwhile wait in the host's buffer.
    /// Default: unlimited.
    pub rate: Option<Rate>,
    /// True if the ports of relaying hosts are congestion points, too: they mark ECN and stamp
    /// telemetry. Default false.
    pub congestion_point: bool,
}

impl RelayConfig {
    /// Value of an unlimited buffer: 1 TiB.
    pub const UNLIMITED: Bytes = Bytes(1 << 40);
}

impl NetworkSpec {
    /// Returns a network of hosts `h0`.. and switches `s0`.. without links. Node ids count hosts
    /// first.
    pub fn with_nodes(hosts: u32, switches: u32) -> NetworkSpec {
        let host = |i| NodeSpec { name: format!("h{i}"), kind: NodeKind::Host };
        let switch = |i| NodeSpec { name: format!("s{i}"), kind: NodeKind::Switch };
        let nodes = (0..hosts).map(host).chain((0..switches).map(switch)).collect();
        NetworkSpec { nodes, ..NetworkSpec::default() }
    }

    /// Returns the group of `switch`, if any.
    fn group(&self, switch: NodeId) -> Option<&SwitchGroup> {
        self.groups.iter().find(|group| group.switches.binary_search(&switch).is_ok())
    }

    /// Returns the flow control of a switch.
    pub fn flow_control(&self, switch: NodeId) -> &FlowControlConfig {
        let own = self.group(switch).and_then(|group| group.flow_control.as_ref());
        own.unwrap_or(&self.switch.flow_control)
    }

    /// Returns the buffer policy of a switch or relaying host.
    pub fn headroom(&self, node: NodeId, wiring: &Wiring) -> &HeadroomConfig {
        let own = match self.relays(node) {
            true => {
                let counts_nothing = self.flow_control_of(node, wiring).facts(true).relays_pauses;
                self.host.relay.headroom.as_ref().or(counts_nothing.then_some(&HeadroomConfig::SHARED))
            }
            false => self.group(node).and_then(|group| group.headroom.as_ref()),
        };
        own.unwrap_or(&self.switch.headroom)
    }

    /// Returns the buffer size of a switch or relaying host.
    pub fn buffer(&self, node: NodeId) -> Bytes {
        if self.relays(node) { self.host.relay.buffer.unwrap_or(RelayConfig::UNLIMITED) } else { self.switch.buffer }
    }

    /// Returns the congestion point of a switch or relaying host.
    pub(crate) fn congestion_point(&self, site: &Site<'_>) -> AnyCongestionPoint {
        if site.is_host && !self.host.relay.congestion_point {
            CongestionConfig::None(Default::default()).point(site)
        } else {
            self.congestion.point(site)
        }
    }

    /// Returns the flow control of `node`. Hosts run the flow control of their first-hop switch.
    pub fn flow_control_of(&self, node: NodeId, wiring: &Wiring) -> &FlowControlConfig {
        let first = wiring.ports_of(node).first().filter(|_| self.is_host(node));
        self.flow_control(first.map_or(node, |port| wiring.peer(port)))
    }

    /// Returns true if `node` is a host.
    pub fn is_host(&self, node: NodeId) -> bool {
        self.nodes[node].kind.has_endpoint()
    }

    /// Returns true if `node` is a relaying host.
    pub fn relays(&self, node: NodeId) -> bool {
        self.nodes[node].kind == NodeKind::Relay
    }

    /// Returns the sizes of frames.
    pub fn sizes(&self) -> Sizes {
        let telemetry = self.congestion.telemetry_bytes();
        Sizes { framing: self.framing, mtu: self.mtu.get() as u32, telemetry }
    }

    /// Returns the static environment of mechanisms at `node`. Planning and set-up, which call this
    /// for every node, can be [interrupted](interrupt::check) here.
    pub fn site<'a>(&self, node: NodeId, wiring: &'a Wiring, shape: Shape, base_rtt: Duration) -> Site<'a> {
        interrupt::check();
        let (ports, is_host, policy) = (wiring.ports_of(node), self.is_host(node), self.headroom(node, wiring));
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
            hash_seed: self.hash_seed(),
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

    /// Returns the seed of the hash functions of ECMP.
    pub(crate) fn hash_seed(&self) -> Seed {
        Seed(self.hash_seed.unwrap_or(self.seed))
    }

    /// Returns true if packets record the ports that they passed, because a mechanism needs them.
    pub(crate) fn keeps_trails(&self) -> bool {
        self.congestion.needs_trails() || self.load_balance.needs_trails()
    }

    /// Returns true if senders choose the paths of packets.
    pub(crate) fn senders_choose_paths(&self) -> bool {
        self.congestion.chooses_paths() || self.load_balance.chooses_paths()
    }

    /// Builds the flow control at `site`.
    pub(crate) fn build_flow_control(&self, site: &Site<'_>, wiring: &Wiring) -> AnyFlowControl {
        self.flow_control_of(site.node, wiring).build(site)
    }

    /// Checks that the model can run this network.
    /// [`crate::network::fabric::Fabric::check_flow`] checks the paths of flows.
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

    /// Returns all mechanisms of the network.
    fn mechanisms(&self) -> Vec<Configured<'_>> {
        // The configurations of slots are different types, with methods of equal names.
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
        let flow_controls = groups().filter_map(|(i, group)| Some((i, group.flow_control.as_ref()?)));
        let policies = groups().filter_map(|(i, group)| Some((i, group.headroom.as_ref()?)));
        configured!("switch.flow_control", [&self.switch.flow_control].into_iter())
            .chain(configured!("switch.headroom", [&self.switch.headroom].into_iter()))
            .chain(configured!(of groups, "flow_control", flow_controls))
            .chain(configured!(of groups, "headroom", policies))
            .chain(configured!("host.relay.headroom", self.host.relay.headroom.iter()))
            .chain(configured!("congestion_control", [&self.congestion].into_iter()))
            .chain(configured!("load_balance", [&self.load_balance].into_iter()))
            .chain(configured!("recovery", [&self.recovery].into_iter()))
            .collect()
    }

    /// Returns the mechanisms of other crates that scenarios can name, as `slot.name`, with their
    /// versions.
    pub fn plug_ins(&self) -> BTreeMap<String, &'static str> {
        let slot = |path: &str| path.rsplit('.').next().unwrap_or(path).to_owned();
        let plug_ins = self.mechanisms().into_iter().filter_map(|it| Some((slot(&it.path), it.plug_in?)));
        plug_ins.map(|(slot, (name, version))| (format!("{slot}.{name}"), version)).collect()
    }

    /// Summarises the topology and configuration of the network.
    pub fn shape(&self, wiring: &Wiring, routes: &Routes) -> Shape {
        let nodes = || self.nodes.ids();
        let is_switch = |node: &NodeId| self.nodes[*node].kind == NodeKind::Switch;
        let Extent { stages, choices } = routes.extent(&self.nodes, wiring);
        Shape {
            layers: nodes().map(|node| wiring.layer(node)).max().unwrap_or(0),
            multihomed: nodes().any(|node| self.is_host(node) && wiring.ports_of(node).len() > 1),
            relays: nodes().any(|node| self.relays(node)),
            relay_delay: self.host.relay.delay,
            relay_ports: nodes()
                .filter(|node| self.relays(*node))
                .map(|node| wiring.ports_of(node).len())
                .max()
                .unwrap_or(0),
            ports: nodes().map(|node| wiring.ports_of(node).len()).max().unwrap_or(0),
            switches: nodes().filter(is_switch).count(),
            trunks: self.links.iter().any(|link| is_switch(&link.a) && is_switch(&link.b)),
            direct: self.links.iter().any(|link| !is_switch(&link.a) && !is_switch(&link.b)),
            uniform: self.groups.iter().all(|group| group.flow_control.is_none()),
            stages,
            choices,
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

    /// Checks the numbers of nodes and ports, because event keys have a limited number of bits.
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
        let kind = |node: NodeId| self.nodes.get(node.index()).map(|node| node.kind);
        for route in &self.routes {
            let ends = [(route.node, route.next), (route.next, route.node)];
            let is_linked = self.links.iter().any(|link| ends.contains(&(link.a, link.b)));
            let is_route =
                kind(route.node).is_some_and(NodeKind::forwards) && kind(route.to).is_some_and(NodeKind::has_endpoint);
            let is_way = kind(route.next).is_some_and(NodeKind::forwards) || route.next == route.to;
            if !is_linked || !is_route || !is_way {
                let rule = "a route must lead from a switch to a host, and its next node must be that host or a \
                    neighbouring switch";
                errors.push(Diagnostic::error("routes", rule));
            }
        }
    }

    fn check_links(&self, errors: &mut Vec<Diagnostic>) {
        let name = |node: NodeId| self.nodes.get(node.index()).map_or("?", |node| &node.name);
        let mut degree = IndexVec::<NodeId, usize>::from(vec![0; self.nodes.len()]);
        let error = |link: &LinkSpec, reason: &str| {
            Diagnostic::error("topology", format!("link {} - {}: {reason}", name(link.a), name(link.b)))
        };
        for link in &self.links {
            let mut reject = |reason: &str| errors.push(error(link, reason));
            let (Some(_), Some(_)) = (self.nodes.get(link.a.index()), self.nodes.get(link.b.index())) else {
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
                let rule = "a fault must name an existing link and end after it begins";
                errors.push(Diagnostic::error("faults", rule));
            }
        }
        let mut faults: Vec<&LinkFault> = self.faults.iter().filter(|fault| fault.link < self.links.len()).collect();
        faults.sort_by_key(|fault| (fault.link, fault.down));
        for pair in faults.windows(2).filter(|pair| pair[0].link == pair[1].link && pair[1].down <= pair[0].up) {
            let reason = "its faults overlap; each must end before the next begins";
            errors.push(error(&self.links[pair[0].link], reason));
        }
        for (node, degree) in self.nodes.iter().zip(degree) {
            if let Some(ports) =
                self.switch.ports.filter(|ports| node.kind == NodeKind::Switch && degree > usize::from(*ports))
            {
                errors.push(node.error(&format!("has {degree} links, but a switch has {ports} ports (switch.ports)")));
            }
            if degree > usize::from(u16::MAX) {
                errors.push(node.error(&format!("has {degree} links, must have at most {}", u16::MAX)));
            }
        }
    }
}
