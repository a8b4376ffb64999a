//! Frames: packets and link-local control frames.

pub mod cause;
pub mod control;
pub mod framing;
pub mod journey;
pub mod notice;
pub mod record;
pub mod route;

pub use control::{Control, Pfc, Protocol, Signal};
pub use notice::Notice;
pub use record::{Cnp, RecordRef, Trail};
pub use route::{MAX_HOPS, NextHop, Route, TIME_TO_LIVE};

use crate::frame::framing::FrameSize;
use crate::ids::{Class, FlowId};
use backwater_engine::random::mix;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;

/// Sequence number of a packet within its flow, from 0.
pub type Psn = u32;

/// A frame on a link or in a queue, passed by value.
///
/// A run moves millions of frames per second and holds thousands at a time, so frames are small.
/// Rare fields are in side records, and fields that follow from the flow are looked up.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Packet or control frame.
    pub body: Body,
    /// Sizes on the wire and in buffers.
    pub size: FrameSize,
    /// Side record, if the frame has one.
    pub record: RecordRef,
}

const _: () = assert!(size_of::<Frame>() == 32, "frames are half a cache line");

/// Content of a frame.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// Packet that travels from host to host.
    Packet(Packet),
    /// Link-local frame. The flow control at the other end of the link consumes it.
    Control(Control),
}

/// Direction of a packet of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, GetSize)]
pub enum Direction {
    /// From source to destination: data.
    Data,
    /// From destination to source: ACK, NACK and CNP. Also all notices, in any direction.
    Ack,
}

/// A packet of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Kind of the packet.
    pub kind: PacketKind,
    /// Traffic class.
    pub class: Class,
    /// Data: the ECN mark (congestion experienced). ACK, NACK: the echo of the mark, if the
    /// notification point sets it.
    pub marked: bool,
    /// Queue of the packet at the last egress port (the field that BFC adds to headers); 255 for
    /// queue 255 and above.
    pub queue: u8,
    /// Flow of the packet, in either direction.
    pub flow: FlowId,
    /// Data: the packet's sequence number. ACK, NACK: the next expected sequence number.
    pub psn: Psn,
    /// Data: start of transmission. ACK, NACK: the acknowledged packet's start of transmission.
    pub sent_at: Timestamp,
    /// Route of the packet.
    pub route: Route,
}

/// Timestamp that a network card writes into packets to measure round-trip times. It counts whole
/// nanoseconds and wraps after 4.29 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp(u32);

impl Timestamp {
    /// Returns the timestamp of `now`.
    #[inline]
    pub fn of(now: Time) -> Timestamp {
        Timestamp((now.ps() / 1000) as u32)
    }

    /// Returns the time since the timestamp, in whole nanoseconds, below 4.29 s.
    #[inline]
    pub fn elapsed(self, now: Time) -> Duration {
        Duration::from_ns(Timestamp::of(now).0.wrapping_sub(self.0).into())
    }
}

/// Bit of a digest for the mark of a data packet.
const MARK: u64 = 1 << 60;

/// Parts of a packet's digest for its kind, without and with a mark. Marks of CNPs and notices have
/// no meaning.
static KINDS: [[u64; 2]; 5] = [[0, MARK], [1, 2], [3, 4], [5, 5], [6, 6]];

/// Kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// Payload.
    Data,
    /// Acknowledges all packets before `psn`.
    Ack,
    /// Requests retransmission from `psn`.
    Nack,
    /// Congestion notification packet.
    Cnp,
    /// Notice of a switch: see [`Notice`].
    Notice,
}

impl PacketKind {
    /// Returns the direction of packets of this kind.
    pub fn direction(self) -> Direction {
        if self == PacketKind::Data { Direction::Data } else { Direction::Ack }
    }
}

impl Packet {
    /// Returns the direction of the packet.
    pub fn direction(&self) -> Direction {
        self.kind.direction()
    }
}

impl Frame {
    /// Creates a frame without a side record.
    pub fn new(body: Body, size: FrameSize) -> Frame {
        Frame { body, size, record: RecordRef::NONE }
    }

    /// Returns the packet, if the frame holds one.
    #[inline]
    pub fn packet(&self) -> Option<&Packet> {
        match &self.body {
            Body::Packet(packet) => Some(packet),
            Body::Control(_) => None,
        }
    }

    /// Returns the traffic class. Link-local frames belong to the control class.
    #[inline]
    pub fn class(&self) -> Class {
        self.packet().map_or(Class::CONTROL, |packet| packet.class)
    }

    /// Returns true for a packet with an ECN mark.
    pub(crate) fn is_marked(&self) -> bool {
        self.packet().is_some_and(|packet| packet.marked)
    }

    /// Sets the class of a packet.
    pub(crate) fn set_class(&mut self, class: Class) {
        if let Body::Packet(packet) = &mut self.body {
            packet.class = class;
        }
    }

    /// Sets the ECN mark of a packet.
    pub fn mark(&mut self) {
        if let Body::Packet(packet) = &mut self.body {
            packet.marked = true;
        }
    }

    /// Returns true if the frame is exempt from link errors.
    pub fn is_reliable(&self) -> bool {
        matches!(
            self.body,
            Body::Control(Control::Pfc(Pfc { reliable: true, .. }) | Control::Custom { reliable: true, .. })
        )
    }

    /// Returns a hash of the frame for the fingerprint of a run.
    #[inline]
    pub fn digest(&self) -> u64 {
        let body = match &self.body {
            Body::Packet(packet) => {
                let kind = KINDS[packet.kind as usize][usize::from(packet.marked)];
                let name = (u64::from(packet.flow.0) << 32 | u64::from(packet.psn)).wrapping_mul(8) + (kind & 7);
                name ^ u64::from(packet.class.0) << 56 ^ (kind & MARK)
            }
            Body::Control(Control::Pfc(pfc)) => u64::from(pfc.enabled.0) << 16 | u64::from(pfc.quanta),
            Body::Control(Control::Custom { opcode, words, .. }) => {
                // The constant 0 stands for a fourth field that no frame has.
                words.iter().chain(&[0]).fold(u64::from(*opcode), |hash, word| mix(hash ^ u64::from(*word)))
            }
        };
        body ^ u64::from(self.size.wire) << 40
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_wrap() {
        let sent = Time::from_ps(u64::from(u32::MAX) * 1000 + 999);
        let stamp = Timestamp::of(sent);
        assert_eq!(stamp.elapsed(sent + Duration::from_us(12)), Duration::from_us(12));
        assert_eq!(Timestamp::of(Time::from_ps(1999)).elapsed(Time::from_ps(4000)), Duration::from_ns(3));
    }
}
