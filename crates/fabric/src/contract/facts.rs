//! What a mechanism may know about the place where it is set up.

use crate::contract::options::Shape;
use crate::frame::control::Protocol;
use crate::frame::framing::{FrameSize, Framing};
use crate::ids::{ClassMask, FlowId, NodeId, PortId, PortIx};
use backwater_engine::random::Seed;
use backwater_engine::{Bytes, Duration, Rate};
use std::fmt::Debug;

/// The place where a mechanism is set up: a node, its links, and what its neighbours do.
#[derive(Debug)]
pub struct Site<'a> {
    /// The node.
    pub node: NodeId,
    /// Whether flows start and end there.
    pub is_host: bool,
    /// Whether it is a host through which packets of others pass.
    pub relays: bool,
    /// How many links it is away from the nearest host.
    pub layer: u32,
    /// Where random streams come from.
    pub seed: Seed,
    /// What the network is like.
    pub shape: Shape,
    /// Who is linked to whom in it.
    pub around: &'a dyn Links,
    /// The node's ports in order.
    pub ports: &'a [PortFacts],
    /// What is at the other end of each port's link.
    pub neighbours: Vec<Neighbour>,
    /// Ports of the chip that have no link.
    pub unused_ports: usize,
    /// Classes that are lossless at switches.
    pub lossless: ClassMask,
    /// Bytes of the buffer.
    pub buffer: u64,
    /// Whether hosts forward packets as fast as they come, before the data of their own flows.
    pub relays_first: bool,
    /// Whether the buffer policy has all of the buffer shared: no thresholds, and nothing set aside.
    pub shares_buffer: bool,
    /// Sizes and times of frames.
    pub sizes: Sizes,
    /// Longest base round-trip time of any pair of hosts.
    pub base_rtt: Duration,
    /// Whose notices senders hear, if any.
    pub senders_hear: Option<Protocol>,
    /// The flow control that runs here.
    pub flow_control: FlowControlFacts,
    /// The buffer policy that runs here.
    pub headroom: HeadroomFacts,
}

impl Site<'_> {
    /// Number of lossless classes.
    pub fn lossless_classes(&self) -> u64 {
        self.lossless.iter().count() as u64
    }

    /// Ports with what is at the other end of their links.
    pub fn links(&self) -> impl Iterator<Item = (&PortFacts, &Neighbour)> {
        self.ports.iter().zip(&self.neighbours)
    }
}

/// Knows who is linked to whom.
pub trait Links: Debug {
    /// The ports of a node, in order.
    fn ports(&self, node: NodeId) -> &[PortFacts];

    /// A port by its name.
    fn port(&self, port: PortId) -> &PortFacts;
}

/// What is at the other end of a port's link.
#[derive(Clone, Debug)]
pub struct Neighbour {
    /// The node.
    pub node: NodeId,
    /// Whether flows start and end there.
    pub is_host: bool,
    /// Whether it is a host through which packets of others pass.
    pub relays: bool,
    /// How many links it is away from the nearest host.
    pub layer: u32,
    /// Its flow control.
    pub flow_control: FlowControlFacts,
}

/// What a flow control is to its neighbours, to the buffer and to the audit. A host runs that of the switch at its first link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowControlFacts {
    /// Whose frames it sends and obeys, its own first.
    pub protocols: Vec<Protocol>,
    /// How it uses PFC frames, if it does.
    pub pfc: Option<PfcTerms>,
    /// Whether packets of a lossless class may never be dropped for lack of buffer.
    pub is_lossless: bool,
    /// Whether it bounds egress queues, not what comes in by a port: then the whole buffer is best shared, and headroom is of no use.
    pub bounds_queues: bool,
    /// Whether data packets wait in queues that it adds, and none in that of its class.
    pub leaves_class_queues: bool,
    /// Whether link errors spare its frames.
    pub is_spared_by_errors: bool,
    /// Whether hosts that relay pass PAUSEs on, and count nothing themselves: what is on its way then is for their buffers to hold.
    pub passes_on: bool,
    /// Whether packets go up a lossless class on their way: then they begin in the lowest.
    pub raises_classes: bool,
    /// What its promise rests on where hosts relay, and planning cannot know.
    pub lossless_assumption: Option<&'static str>,
}

impl FlowControlFacts {
    /// Whether two neighbours stop each other: they have a protocol in common.
    pub fn interoperates_with(&self, other: &FlowControlFacts) -> bool {
        self.protocols.iter().any(|protocol| other.protocols.contains(protocol))
    }

    /// Whether frames of `protocol` are sent and obeyed.
    pub fn speaks(&self, protocol: Protocol) -> bool {
        self.protocols.contains(&protocol)
    }

    /// Whether it pauses single queues of the neighbour and its port as a whole, when what comes in by the port takes too much buffer.
    pub fn pauses_ports(&self) -> bool {
        self.pfc.is_some() && !self.bounds_queues
    }

    /// Time from the arrival of a PFC frame to its effect, which headroom must allow for.
    pub fn response(&self) -> Duration {
        self.pfc.as_ref().map_or(Duration::ZERO, |terms| terms.response)
    }
}

/// How PFC frames are used.
#[derive(Clone, Debug, PartialEq)]
pub struct PfcTerms {
    /// Pause time in quanta of 512 bit times that a PAUSE frame carries.
    pub quanta: u16,
    /// Whether a PAUSE holds until a RESUME, however long that takes.
    pub until_resume: bool,
    /// Time from a frame's arrival to its effect.
    pub response: Duration,
}

/// What a buffer policy is to the mechanisms beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeadroomFacts {
    /// Whether it promises to drop no packet of a lossless class.
    pub is_lossless: bool,
    /// Whether what it says of one queue of a port also depends on packets of the others.
    pub looks_at_ports: bool,
    /// Whether an ingress queue has a bound that does not grow with the buffer.
    pub bounds_ingress: bool,
    /// Whether ingress queues of lossless classes have thresholds ([`BufferPolicy::threshold`](crate::contract::BufferPolicy::threshold)).
    pub has_thresholds: bool,
    /// Bytes of headroom above a threshold, if the scenario sets them by the option `headroom`.
    /// Otherwise they follow from links and frames.
    pub set_headroom: Option<Bytes>,
}

/// Sizes of frames.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Which headers they carry.
    pub framing: Framing,
    /// Payload bytes of a full data packet.
    pub mtu: u32,
    /// Bytes of in-band headers on data packets.
    pub telemetry: u32,
}

impl Sizes {
    /// The largest data frame.
    pub fn largest(&self) -> FrameSize {
        self.framing.largest(self.mtu, self.telemetry)
    }

    /// Its charged bytes.
    pub fn largest_charge(&self) -> u64 {
        self.largest().charge.into()
    }
}

/// What is fixed about a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortFacts {
    /// Its name in the whole network.
    pub id: PortId,
    /// The node that it belongs to.
    pub node: NodeId,
    /// Its number within the node.
    pub ix: PortIx,
    /// The port at the other end of its link.
    pub peer: PortId,
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Duration,
    /// Probability that a frame sent over the link is corrupted.
    pub error_rate: f64,
}

/// What a mechanism at a flow's sender may know about it.
#[derive(Clone, Copy, Debug)]
pub struct SenderFacts {
    /// The flow.
    pub flow: FlowId,
    /// Where random streams come from: `seed.stream("my-mechanism", flow)`.
    pub seed: Seed,
    /// Rate of the port that the flow leaves its host through.
    pub line_rate: Rate,
    /// Longest base round-trip time of any pair of hosts.
    pub base_rtt: Duration,
    /// Links between those two, as [`AckView::hops`](crate::contract::AckView::hops) counts them.
    pub hops: u8,
    /// What a link adds to a base round-trip time: a pair with fewer links between them has one that is shorter by at least so much for each.
    pub hop_rtt: Duration,
    /// Sizes of frames.
    pub sizes: Sizes,
}

impl SenderFacts {
    /// Bytes that the sender's line carries in the longest base round-trip time.
    pub fn bdp(&self) -> u64 {
        self.line_rate.bytes_in(self.base_rtt)
    }
}
