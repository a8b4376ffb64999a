//! Frames: everything that travels over a link.

use crate::framing::FrameSize;
use crate::ids::{Class, ClassMask, FlowId, NodeId, PortId, PortIx};
use backwater_engine::Time;
use backwater_engine::random::mix;

/// Number of a packet within its flow, from 0.
pub type Psn = u32;

/// Longest route that a packet carries, in egress ports. Longer ones are looked up hop by hop.
pub const MAX_HOPS: usize = 7;

/// One frame on a link or in a queue, by value.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// What it is.
    pub body: Body,
    /// Its sizes.
    pub size: FrameSize,
    /// Its traffic class.
    pub class: Class,
    /// Congestion experienced: the ECN mark.
    pub marked: bool,
    /// Port through which it entered the node that holds it.
    pub ingress: PortIx,
    /// Side record of what it met on its way, if any.
    pub record: RecordRef,
    /// When it joined the queue it stands in.
    pub queued_at: Time,
}

/// What a frame is.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// Travels from host to host.
    Packet(Packet),
    /// Travels over one link only and is consumed by the flow control at its other end.
    Control(Control),
}

/// A packet of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// What it carries.
    pub kind: PacketKind,
    /// The flow that it belongs to, in either direction.
    pub flow: FlowId,
    /// The host that consumes it.
    pub dst: NodeId,
    /// Data: the packet's number. ACK, NACK: the number of the next packet expected.
    pub psn: Psn,
    /// Payload bytes; 0 except for data.
    pub payload: u16,
    /// Data: when its transmission began. ACK, NACK: the echo of that of the packet answered.
    pub sent_at: Time,
    /// The egress ports that it takes.
    pub route: Route,
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// Payload.
    Data,
    /// Everything before `psn` has arrived; `congested` echoes a mark where the notification point says so.
    Ack {
        /// Echo of the ECN mark.
        congested: bool,
    },
    /// Something was lost: resume at `psn`.
    Nack {
        /// Echo of the ECN mark.
        congested: bool,
    },
    /// Congestion notification packet.
    Cnp,
}

/// The egress ports of a packet from its source host to the last switch, fixed at its source; or empty, to be found hop by hop.
///
/// Eight bytes, because every packet in every queue carries one: ports are numbered up to 255 and there are at most [`MAX_HOPS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Route {
    hops: [u8; MAX_HOPS],
    /// Number of hops in the upper half, number of the next one in the lower.
    cursor: u8,
}

impl Route {
    /// Found hop by hop.
    pub const DYNAMIC: Route = Route { hops: [0; MAX_HOPS], cursor: 0 };

    /// A fixed route; `None` if it has more than [`MAX_HOPS`] hops or a port beyond 255.
    pub fn fixed(ports: &[PortIx]) -> Option<Route> {
        let mut route = Route { cursor: (ports.len() as u8) << 4, ..Route::DYNAMIC };
        for (hop, port) in route.hops.get_mut(..ports.len())?.iter_mut().zip(ports) {
            *hop = u8::try_from(*port).ok()?;
        }
        Some(route)
    }

    /// The egress port at the node that the packet is in, and one step onwards; `None` for a dynamic route.
    #[inline]
    pub fn step(&mut self) -> Option<PortIx> {
        if self.is_dynamic() {
            return None;
        }
        let port = self.hops[usize::from(self.cursor & 0xf)];
        self.cursor += 1;
        Some(port.into())
    }

    /// Whether the way is found hop by hop.
    #[inline]
    pub fn is_dynamic(&self) -> bool {
        self.cursor == 0
    }

    /// All egress ports from the source host on; none for a dynamic route.
    pub fn ports(&self) -> impl Iterator<Item = PortIx> + '_ {
        self.hops[..usize::from(self.cursor >> 4)].iter().map(|port| PortIx::from(*port))
    }
}

/// A link-local MAC control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Priority-based flow control, IEEE 802.1Qbb clause 36.
    Pfc(Pfc),
    /// A frame of another mechanism.
    Custom {
        /// What the frame says.
        opcode: u16,
        /// Whether link errors spare it (see [`Pfc::reliable`]).
        reliable: bool,
        /// Its fields.
        words: [u32; 4],
    },
}

/// A PFC frame: for every enabled class, how long it must stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// The class-enable vector.
    pub enabled: ClassMask,
    /// Pause time in quanta of 512 bit times for every enabled class; 0 resumes. (One number: we never send different ones at once.)
    pub quanta: u16,
    /// Whether link errors spare the frame: a PAUSE that holds until RESUME has no other remedy against loss.
    pub reliable: bool,
    /// In the simulation only: the port whose congestion caused the pause, so that victims can be told from culprits.
    pub cause: PortId,
}

impl Frame {
    /// The packet in it, if it is one.
    pub fn packet(&self) -> Option<&Packet> {
        match &self.body {
            Body::Packet(packet) => Some(packet),
            Body::Control(_) => None,
        }
    }

    /// Whether link errors spare it.
    pub fn is_reliable(&self) -> bool {
        matches!(
            self.body,
            Body::Control(Control::Pfc(Pfc { reliable: true, .. }) | Control::Custom { reliable: true, .. })
        )
    }

    /// A hash of what it is, for the fingerprint of a trajectory.
    #[inline]
    pub fn digest(&self) -> u64 {
        let body = match &self.body {
            Body::Packet(packet) => {
                let kind = match packet.kind {
                    PacketKind::Data => 0,
                    PacketKind::Ack { congested } => 1 + u64::from(congested),
                    PacketKind::Nack { congested } => 3 + u64::from(congested),
                    PacketKind::Cnp => 5,
                };
                (u64::from(packet.flow.0) << 32 | u64::from(packet.psn)).wrapping_mul(8) + kind
            }
            Body::Control(Control::Pfc(pfc)) => u64::from(pfc.enabled.0) << 16 | u64::from(pfc.quanta),
            Body::Control(Control::Custom { opcode, words, .. }) => {
                words.iter().fold(u64::from(*opcode), |hash, word| mix(hash ^ u64::from(*word)))
            }
        };
        body ^ u64::from(self.size.wire) << 40 ^ u64::from(self.class.0) << 56 ^ u64::from(self.marked) << 60
    }
}

/// Names a [`crate::record::Record`], or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordRef(pub(crate) u32);

impl RecordRef {
    /// No record.
    pub const NONE: RecordRef = RecordRef(u32::MAX);

    /// Whether there is one.
    pub fn is_some(self) -> bool {
        self != RecordRef::NONE
    }
}
