//! Frames: everything that travels over a link.

pub mod cause;
pub mod framing;
pub mod record;

use crate::frame::framing::FrameSize;
use crate::ids::{Class, ClassMask, FlowId, NodeId, PortIx};
use crate::network::fabric::Direction;
use backwater_engine::random::mix;
use backwater_engine::{Duration, Time};

/// Number of a packet within its flow, from 0.
pub type Psn = u32;

/// Longest route that a packet carries, in egress ports. Longer ones are looked up hop by hop.
pub const MAX_HOPS: usize = 7;

/// Most switches that a packet passes whose way is found hop by hop (the time to live of its IP header; 64 is the usual one).
pub const TIME_TO_LIVE: u8 = 64;

/// One frame on a link or in a queue, by value.
///
/// Millions are moved per second, and thousands wait: what can be looked up elsewhere or holds for some frames only is not in here.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// What it is.
    pub body: Body,
    /// Its sizes.
    pub size: FrameSize,
    /// Side record of what it met on its way, if any.
    pub record: RecordRef,
}

const _: () = assert!(size_of::<Frame>() == 32, "frames are half a cache line");

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
    /// Its traffic class.
    pub class: Class,
    /// Data: congestion experienced, the ECN mark. ACK, NACK: its echo, where the notification point sets it.
    pub marked: bool,
    /// The queue in which it was at the port that sent it last (the field that BFC adds to headers); 255 for any from there on.
    pub queue: u8,
    /// The flow that it belongs to, in either direction.
    pub flow: FlowId,
    /// Data: the packet's number. ACK, NACK: the number of the next packet expected.
    pub psn: Psn,
    /// Data: when its transmission began. ACK, NACK: the echo of that of the packet answered.
    pub sent_at: Timestamp,
    /// The egress ports that it takes.
    pub route: Route,
}

/// What a network card writes into a packet to measure round-trip times: whole nanoseconds, starting anew every 4.29 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp(u32);

impl Timestamp {
    /// The time stamp of `now`.
    #[inline]
    pub fn of(now: Time) -> Timestamp {
        Timestamp((now.ps() / 1000) as u32)
    }

    /// Time since it was taken, in whole nanoseconds below 4.29 s.
    #[inline]
    pub fn elapsed(self, now: Time) -> Duration {
        Duration::from_ns(Timestamp::of(now).0.wrapping_sub(self.0).into())
    }
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// Payload.
    Data,
    /// Everything before `psn` has arrived.
    Ack,
    /// Something was lost: resume at `psn`.
    Nack,
    /// Congestion notification packet.
    Cnp,
}

/// The egress ports of a packet from its source host to the last switch, fixed at its source; or its destination alone, to which the way is
/// found hop by hop.
///
/// Eight bytes, because every packet in every queue carries one: ports are numbered up to 255 and there are at most [`MAX_HOPS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Ports; or, where there is no hop, the destination in the first four bytes and the time to live in the fifth.
    hops: [u8; MAX_HOPS],
    /// Number of hops in the upper half, number of the next one in the lower.
    cursor: u8,
}

impl Route {
    /// To be found hop by hop.
    pub fn towards(destination: NodeId) -> Route {
        let [a, b, c, d] = destination.0.to_le_bytes();
        Route { hops: [a, b, c, d, TIME_TO_LIVE, 0, 0], cursor: 0 }
    }

    /// A fixed route; `None` if it has more than [`MAX_HOPS`] hops or a port beyond 255.
    pub fn fixed(ports: &[PortIx]) -> Option<Route> {
        let mut route = Route { hops: [0; MAX_HOPS], cursor: (ports.len() as u8) << 4 };
        for (hop, port) in route.hops.get_mut(..ports.len())?.iter_mut().zip(ports) {
            *hop = u8::try_from(*port).ok()?;
        }
        Some(route)
    }

    /// Where the packet goes from the node that it is in.
    #[inline]
    pub fn next(&self) -> NextHop {
        let (hop, hops) = (self.cursor & 0xf, self.cursor >> 4);
        if hop < hops {
            NextHop::Port(self.hops[usize::from(hop)].into())
        } else if hops > 0 {
            NextHop::Arrived
        } else {
            let [a, b, c, d, ..] = self.hops;
            NextHop::Towards(NodeId(u32::from_le_bytes([a, b, c, d])))
        }
    }

    /// Where the packet goes in the end, if the way is found hop by hop.
    pub fn destination(&self) -> Option<NodeId> {
        match self.next() {
            NextHop::Towards(destination) => Some(destination),
            NextHop::Port(_) | NextHop::Arrived => None,
        }
    }

    /// A fixed route whose first hop has been taken.
    pub fn after_first(mut self) -> Route {
        self.advance();
        self
    }

    /// The next hop has been taken; a way that is found hop by hop stays what it is, and the packet has one hop less to live. Whether it may
    /// go on: one that has passed as many switches as it may must be in a routing loop.
    #[inline]
    pub fn advance(&mut self) -> bool {
        if self.cursor > 0 {
            self.cursor += 1;
            return true;
        }
        self.hops[4] = self.hops[4].saturating_sub(1);
        self.hops[4] > 0
    }

    /// The egress ports taken so far, from the source host on.
    pub fn behind(&self) -> impl Iterator<Item = PortIx> + '_ {
        self.hops[..usize::from(self.cursor & 0xf)].iter().map(|port| PortIx::from(*port))
    }

    /// The egress ports to come.
    pub fn ahead(&self) -> impl Iterator<Item = PortIx> + '_ {
        self.hops[usize::from(self.cursor & 0xf)..usize::from(self.cursor >> 4)].iter().map(|port| PortIx::from(*port))
    }
}

/// Where a packet goes from the node that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// Out of this port.
    Port(PortIx),
    /// Nowhere: the node is its destination.
    Arrived,
    /// Out of a port that leads to this host.
    Towards(NodeId),
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
        /// What it is counted as.
        signal: Signal,
        /// Whether link errors spare it (see [`Pfc::reliable`]).
        reliable: bool,
        /// Its fields.
        words: [u32; 4],
    },
}

/// What a control frame means to those who only count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Stop.
    Pause,
    /// Go on.
    Resume,
    /// What was stopped for one cause goes on, under the control of another.
    Merge,
    /// Something else between neighbours.
    Other,
}

impl Control {
    /// What the frame is counted as.
    pub fn signal(&self) -> Signal {
        match self {
            Control::Pfc(Pfc { quanta: 0, .. }) => Signal::Resume,
            Control::Pfc(_) => Signal::Pause,
            Control::Custom { signal, .. } => *signal,
        }
    }

    /// Takes out of this frame, which waits to be sent, what `newer` says anew; whether anything is left of it. A network card fills in the
    /// state of every class when it sends a PFC frame: of each class at most one frame waits, so that waiting frames cannot pile up.
    pub(crate) fn yields_to(&mut self, newer: &Control) -> bool {
        let (Control::Pfc(waiting), Control::Pfc(newer)) = (self, newer) else { return true };
        waiting.enabled = waiting.enabled.minus(newer.enabled);
        // No receiver obeys a frame that names the control class alone.
        !waiting.enabled.minus(ClassMask::of(Class::CONTROL)).is_empty()
    }

    /// Whether it stops a port as a whole: a PAUSE for all classes, the control class included.
    pub fn is_port_pause(&self) -> bool {
        matches!(self, Control::Pfc(Pfc { enabled: ClassMask::ALL, quanta: 1.., .. }))
    }
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
}

impl Packet {
    /// Which way it travels.
    pub fn direction(&self) -> Direction {
        if self.kind == PacketKind::Data { Direction::Data } else { Direction::Ack }
    }
}

impl Frame {
    /// A frame at its source.
    pub fn new(body: Body, size: FrameSize) -> Frame {
        Frame { body, size, record: RecordRef::NONE }
    }

    /// The packet in it, if it is one.
    #[inline]
    pub fn packet(&self) -> Option<&Packet> {
        match &self.body {
            Body::Packet(packet) => Some(packet),
            Body::Control(_) => None,
        }
    }

    /// Its traffic class; link-local frames go with the control class.
    #[inline]
    pub fn class(&self) -> Class {
        self.packet().map_or(Class::CONTROL, |packet| packet.class)
    }

    /// Sets the ECN mark of a packet.
    pub fn mark(&mut self) {
        if let Body::Packet(packet) = &mut self.body {
            packet.marked = true;
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
                let marked = u64::from(packet.marked);
                let (kind, mark) = match packet.kind {
                    PacketKind::Data => (0, marked),
                    PacketKind::Ack => (1 + marked, 0),
                    PacketKind::Nack => (3 + marked, 0),
                    PacketKind::Cnp => (5, 0),
                };
                let name = (u64::from(packet.flow.0) << 32 | u64::from(packet.psn)).wrapping_mul(8) + kind;
                name ^ u64::from(packet.class.0) << 56 ^ mark << 60
            }
            Body::Control(Control::Pfc(pfc)) => u64::from(pfc.enabled.0) << 16 | u64::from(pfc.quanta),
            Body::Control(Control::Custom { opcode, words, .. }) => {
                words.iter().fold(u64::from(*opcode), |hash, word| mix(hash ^ u64::from(*word)))
            }
        };
        body ^ u64::from(self.size.wire) << 40
    }
}

/// Names a [`crate::frame::record::Record`], or none.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_leads_from_port_to_port_and_ends() {
        let mut route = Route::fixed(&[4, 0, 255, 1, 2, 3, 9]).expect("seven hops fit");
        for port in [4, 0, 255, 1, 2, 3, 9] {
            assert_eq!(route.next(), NextHop::Port(port));
            route.advance();
        }
        assert_eq!(route.next(), NextHop::Arrived);
        assert_eq!((route.behind().count(), route.ahead().count()), (7, 0));
        let route = Route::towards(NodeId(0x0102_0304));
        assert_eq!(
            (route.next(), route.destination()),
            (NextHop::Towards(NodeId(0x0102_0304)), Some(NodeId(0x0102_0304)))
        );
    }

    #[test]
    fn routes_that_are_too_long_or_need_large_ports_are_found_hop_by_hop() {
        assert_eq!(Route::fixed(&[1; MAX_HOPS + 1]), None);
        assert_eq!(Route::fixed(&[256]), None);
    }

    #[test]
    fn a_time_stamp_starts_anew_without_harm() {
        let sent = Time::from_ps(u64::from(u32::MAX) * 1000 + 999);
        let stamp = Timestamp::of(sent);
        assert_eq!(stamp.elapsed(sent + Duration::from_us(12)), Duration::from_us(12));
        assert_eq!(Timestamp::of(Time::from_ps(1999)).elapsed(Time::from_ps(4000)), Duration::from_ns(3));
    }
}
