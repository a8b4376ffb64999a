//! Facts about the environment of a mechanism at construction.

use crate::contract::options::Shape;
use crate::frame::control::Protocol;
use crate::frame::framing::{FrameSize, Framing};
use crate::ids::{ClassMask, FlowId, NodeId, PortId, PortIx};
use backwater_engine::index::IndexVec;
use backwater_engine::random::Seed;
use backwater_engine::{Bytes, Duration, Rate};
use std::fmt::Debug;

/// Environment of a mechanism at construction: its node, the node's links, and the facts of its
/// neighbours.
#[derive(Debug)]
pub struct Site<'a> {
    /// Node of the mechanism.
    pub node: NodeId,
    /// True if flows start and end at the node.
    pub is_host: bool,
    /// True if the node is a host that relays packets of other hosts.
    pub relays: bool,
    /// Number of links between the node and its nearest host.
    pub layer: u32,
    /// Source of random streams.
    pub seed: Seed,
    /// Seed of the hash functions of ECMP ([`FlowHash`](crate::contract::FlowHash)).
    pub hash_seed: Seed,
    /// Shape of the network.
    pub shape: Shape,
    /// Wiring of the network.
    pub network: &'a dyn Links,
    /// Ports of the node in order.
    pub ports: &'a [PortFacts],
    /// Neighbour at the other end of each port's link.
    pub neighbours: IndexVec<PortIx, Neighbour>,
    /// Number of ports of the switch chip without a link.
    pub unused_ports: usize,
    /// Classes that are lossless at switches.
    pub lossless: ClassMask,
    /// Buffer size in bytes.
    pub buffer: u64,
    /// True if hosts relay packets without a rate limit, before the data of their own flows.
    pub relays_first: bool,
    /// True if the buffer policy shares the whole buffer: without thresholds and without reserved
    /// bytes.
    pub shares_buffer: bool,
    /// Sizes of frames.
    pub sizes: Sizes,
    /// Largest base round-trip time of any pair of hosts.
    pub base_rtt: Duration,
    /// Protocol of the notices that senders react to, if any.
    pub notice_protocol: Option<Protocol>,
    /// Facts of the node's flow control.
    pub flow_control: FlowControlFacts,
    /// Facts of the node's buffer policy.
    pub headroom: HeadroomFacts,
}

impl Site<'_> {
    /// Returns the number of lossless classes.
    pub fn lossless_classes(&self) -> u64 {
        self.lossless.iter().count() as u64
    }

    /// Returns the ports, each with the neighbour at the other end of its link.
    pub fn links(&self) -> impl Iterator<Item = (&PortFacts, &Neighbour)> {
        self.ports.iter().zip(&self.neighbours)
    }
}

/// Wiring of the network.
pub trait Links: Debug {
    /// Returns the ports of a node in order.
    fn ports(&self, node: NodeId) -> &[PortFacts];

    /// Returns a port by its id.
    fn port(&self, port: PortId) -> &PortFacts;
}

/// Neighbour at the other end of a port's link.
#[derive(Clone, Debug)]
pub struct Neighbour {
    /// Node id.
    pub node: NodeId,
    /// True if flows start and end at the node.
    pub is_host: bool,
    /// True if the node is a host that relays packets of other hosts.
    pub relays: bool,
    /// Number of links between the node and its nearest host.
    pub layer: u32,
    /// Facts of the node's flow control.
    pub flow_control: FlowControlFacts,
}

/// Properties of a flow control that neighbours, the buffer policy and the audit rely on. A host
/// uses the flow control of its first-hop switch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowControlFacts {
    /// Protocols that the flow control sends and obeys, its own first.
    pub protocols: Vec<Protocol>,
    /// Use of PFC frames; `None` if the flow control uses none.
    pub pfc: Option<PfcTerms>,
    /// True if the flow control keeps packets of lossless classes from being dropped for lack of
    /// buffer.
    pub is_lossless: bool,
    /// True if the flow control bounds egress queues instead of the bytes per ingress port. The
    /// buffer is then best shared as a whole, and headroom is of no use.
    pub bounds_queues: bool,
    /// True if data packets wait in added queues only, never in the queue of their class.
    pub bypasses_class_queues: bool,
    /// True if link errors do not corrupt the flow control's frames.
    pub is_exempt_from_errors: bool,
    /// True if relaying hosts forward PAUSEs without counting bytes themselves. Their buffers must
    /// then hold the packets that are in flight when a PAUSE is forwarded.
    pub relays_pauses: bool,
    /// True if packets move up to the next lossless class on their way. Flows then start in the
    /// lowest lossless class.
    pub raises_classes: bool,
    /// Assumption of the flow control's lossless guarantee if hosts relay. The scenario check
    /// cannot verify this assumption.
    pub lossless_assumption: Option<&'static str>,
}

impl FlowControlFacts {
    /// Returns true if two neighbours can pause each other: they share a protocol.
    pub fn interoperates_with(&self, other: &FlowControlFacts) -> bool {
        self.protocols.iter().any(|protocol| other.protocols.contains(protocol))
    }

    /// Returns true if the flow control sends and obeys frames of `protocol`.
    pub fn supports(&self, protocol: Protocol) -> bool {
        self.protocols.contains(&protocol)
    }

    /// Returns true if the flow control pauses queues and whole ports of its neighbours by the
    /// bytes buffered per ingress port.
    pub fn pauses_ports(&self) -> bool {
        self.pfc.is_some() && !self.bounds_queues
    }

    /// Returns the time from the arrival of a PFC frame to its effect. Headroom must cover this
    /// time.
    pub fn response(&self) -> Duration {
        self.pfc.as_ref().map_or(Duration::ZERO, |terms| terms.response)
    }
}

/// Use of PFC frames.
#[derive(Clone, Debug, PartialEq)]
pub struct PfcTerms {
    /// Pause time of a PAUSE frame in quanta of 512 bit times.
    pub quanta: u16,
    /// True if a PAUSE stays in effect until a RESUME, however long that takes.
    pub until_resume: bool,
    /// Time from the arrival of a frame to its effect.
    pub response: Duration,
}

/// Properties of a buffer policy that other mechanisms rely on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeadroomFacts {
    /// True if the policy drops no packet of a lossless class, given enough headroom.
    pub is_lossless: bool,
    /// True if the policy also pauses whole ports: the pressure on one ingress queue depends on the
    /// port's other queues, too.
    pub has_port_thresholds: bool,
    /// True if ingress queues have a bound that does not grow with the buffer.
    pub bounds_ingress: bool,
    /// True if ingress queues of lossless classes have thresholds
    /// ([`BufferPolicy::threshold`](crate::contract::BufferPolicy::threshold)).
    pub has_thresholds: bool,
    /// Bytes of headroom above a threshold, if the scenario sets the option `headroom`. Otherwise
    /// headroom is derived from links and frames.
    pub set_headroom: Option<Bytes>,
}

/// Sizes of frames.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Headers of frames.
    pub framing: Framing,
    /// Payload bytes of a full data packet.
    pub mtu: u32,
    /// Bytes of in-band headers on data packets.
    pub telemetry: u32,
}

impl Sizes {
    /// Returns the size of the largest data frame.
    pub fn largest(&self) -> FrameSize {
        self.framing.largest(self.mtu, self.telemetry)
    }

    /// Returns the charged bytes of the largest data frame.
    pub fn largest_charge(&self) -> u64 {
        self.largest().charge.into()
    }
}

/// Fixed properties of a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortFacts {
    /// Id in the network.
    pub id: PortId,
    /// Node that owns the port.
    pub node: NodeId,
    /// Index within the node.
    pub ix: PortIx,
    /// Port at the other end of the link.
    pub peer: PortId,
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Duration,
    /// Probability that the link corrupts a frame.
    pub error_rate: f64,
}

/// Environment of a per-flow mechanism at construction.
#[derive(Clone, Copy, Debug)]
pub struct SenderFacts {
    /// Flow id.
    pub flow: FlowId,
    /// Number that names the flow in random streams ([`FlowKeys`](crate::FlowKeys)).
    pub identity: u64,
    /// Source of random streams: `seed.stream("my-mechanism", identity)`.
    pub seed: Seed,
    /// Rate of the sender's link.
    pub line_rate: Rate,
    /// Largest base round-trip time of any pair of hosts.
    pub base_rtt: Duration,
    /// Number of links between the two hosts with this round-trip time, as counted by
    /// [`AckView::hops`](crate::contract::AckView::hops).
    pub hops: u8,
    /// Contribution of one link to a base round-trip time. A path with one link less has a base
    /// round-trip time that is shorter by at least this time.
    pub hop_rtt: Duration,
    /// Sizes of frames.
    pub sizes: Sizes,
}

impl SenderFacts {
    /// Returns the bandwidth-delay product in bytes: the sender's line rate times the largest base
    /// round-trip time.
    pub fn bdp(&self) -> u64 {
        self.line_rate.bytes_in(self.base_rtt)
    }
}
