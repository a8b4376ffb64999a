//! What a network is made of: plain data, built by hand or by the scenario crate, from which [`crate::Simulation`] is made.
//!
//! Nothing here is checked against the outside world; [`NetworkSpec::check`] refuses what the model cannot run.

use crate::congestion::CongestionConfig;
use crate::flow_control::FlowControlConfig;
use crate::framing::Framing;
use crate::headroom::HeadroomConfig;
use crate::ids::{Class, NodeId};
use crate::load_balance::LoadBalanceConfig;
use crate::recovery::RecoveryConfig;
use backwater_engine::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A network and the mechanisms that run in it.
#[derive(Clone, Debug)]
pub struct NetworkSpec {
    /// Seed of every random stream of the model.
    pub seed: u64,
    /// Sizes of frames.
    pub framing: Framing,
    /// Payload bytes of a full data packet (the RoCE path MTU).
    pub mtu: Bytes,
    /// Hosts and switches; a [`NodeId`] is an index into this list.
    pub nodes: Vec<NodeSpec>,
    /// Full-duplex links. A node's ports are numbered in the order in which its links stand here.
    pub links: Vec<LinkSpec>,
    /// Times at which links fail and come back.
    pub faults: Vec<LinkFault>,
    /// Every switch.
    pub switch: SwitchConfig,
    /// Every host.
    pub host: HostConfig,
    /// Congestion control of every flow.
    pub congestion: CongestionConfig,
    /// Path choice.
    pub load_balance: LoadBalanceConfig,
    /// Loss recovery of every flow.
    pub recovery: RecoveryConfig,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// Unique name: `h12`, `leaf3`.
    pub name: String,
    /// What the node does.
    pub kind: NodeKind,
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Sends and receives flows; forwards nothing.
    Host,
    /// Forwards; no endpoint of its own.
    Switch,
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

/// A link that is down from `down` until `up`: what is on the wire is lost, what is queued waits.
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
            lossless: vec![Class(3)],
            scheduler: SchedulerConfig::RoundRobin {},
            flow_control: FlowControlConfig::Pfc(Default::default()),
            headroom: HeadroomConfig::Sih(Default::default()),
        }
    }
}

/// How an egress port chooses among its open, non-empty queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SchedulerConfig {
    /// One packet of each queue in turn (the HPCC family of simulators).
    RoundRobin {},
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
}

impl Default for HostConfig {
    fn default() -> Self {
        HostConfig { ack_every: 1, ack_class: Class::CONTROL }
    }
}
