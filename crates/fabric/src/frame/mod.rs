//! Frames: everything that travels over a link.

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

/// Number of a packet within its flow, from 0.
pub type Psn = u32;

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

/// Which way a packet of a flow travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, GetSize)]
pub enum Direction {
    /// Data, from source to destination.
    Data,
    /// ACK, NACK and CNP, from destination to source; notices, wherever they go.
    Ack,
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
    /// What a switch has to tell: see [`Notice`].
    Notice,
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

    /// Puts a packet into another class.
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
                    PacketKind::Notice => (6, 0),
                };
                let name = (u64::from(packet.flow.0) << 32 | u64::from(packet.psn)).wrapping_mul(8) + kind;
                name ^ u64::from(packet.class.0) << 56 ^ mark << 60
            }
            Body::Control(Control::Pfc(pfc)) => u64::from(pfc.enabled.0) << 16 | u64::from(pfc.quanta),
            Body::Control(Control::Custom { opcode, words, .. }) => {
                // Four fields, of which none uses the last.
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
    fn a_time_stamp_starts_anew_without_harm() {
        let sent = Time::from_ps(u64::from(u32::MAX) * 1000 + 999);
        let stamp = Timestamp::of(sent);
        assert_eq!(stamp.elapsed(sent + Duration::from_us(12)), Duration::from_us(12));
        assert_eq!(Timestamp::of(Time::from_ps(1999)).elapsed(Time::from_ps(4000)), Duration::from_ns(3));
    }
}
