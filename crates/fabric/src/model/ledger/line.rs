//! Sums of the time of a port's line, by frame on the wire.

use crate::frame::PacketKind;
use crate::ids::{CLASSES, Class, PortId, QueueIx};
use backwater_engine::{Duration, Time};
use std::ops::Sub;

/// Line of a port: its link, and the frame on the wire. The sums grow when the line changes. In
/// between, a sum at any time follows from the present frame.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) port: PortId,
    pub(super) is_down: bool,
    /// Time up to which the sums below are added up.
    pub(super) since: Time,
    pub(super) wire: Transmission,
    /// Time in which the link was down. The other sums exclude this time.
    pub(super) down: Duration,
    /// Time of all frames.
    pub(super) frames: FrameTimes,
    /// Time of data packets, by class.
    data: [Duration; CLASSES],
    /// Time of all data packets.
    all_data: Duration,
    /// Time of ACKs and NACKs.
    answers: Duration,
    /// Time of CNPs and notices.
    notices: Duration,
}

/// Frame on the wire, or the last frame that was on the wire.
#[derive(Clone, Debug)]
pub(super) struct Transmission {
    pub(super) until: Time,
    pub(super) frame: OnWire,
    /// Queue of the frame; `None` for link-local frames and for data of a host's own flows.
    pub(super) queue: Option<QueueIx>,
    /// Other queues of the port that the frame passed before.
    pub(super) passed: Vec<QueueIx>,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::model) enum OnWire {
    LinkLocal,
    Packet(PacketKind, Class),
}

impl OnWire {
    /// Returns the class of a packet; `None` for a link-local frame.
    pub(super) fn class(self) -> Option<Class> {
        match self {
            OnWire::LinkLocal => None,
            OnWire::Packet(_, class) => Some(class),
        }
    }
}

/// Transmission time of frames: of packets by class, because the packets that wait may belong to
/// any class, and of link-local frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameTimes {
    pub(super) packets: [Duration; CLASSES],
    /// Sum over all classes.
    pub(super) all_packets: Duration,
    pub(super) link_local: Duration,
}

impl FrameTimes {
    /// Adds the time of frames of `class`, or of link-local frames if there is no class.
    pub(super) fn add(&mut self, class: Option<Class>, length: Duration) {
        match class {
            None => self.link_local += length,
            Some(class) => {
                self.packets[class.index()] += length;
                self.all_packets += length;
            }
        }
    }
}

impl Sub for FrameTimes {
    type Output = FrameTimes;

    fn sub(self, other: FrameTimes) -> FrameTimes {
        FrameTimes {
            packets: std::array::from_fn(|class| self.packets[class] - other.packets[class]),
            all_packets: self.all_packets - other.all_packets,
            link_local: self.link_local - other.link_local,
        }
    }
}

/// Totals of the transmission time of frames that delay a host's own data of one class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delays {
    pub(super) other_flow: Duration,
    pub(super) other_class: Duration,
    pub(super) answers: Duration,
    pub(super) notices: Duration,
    pub(super) link_local: Duration,
}

impl Line {
    pub(super) fn new(port: PortId) -> Line {
        Line {
            port,
            is_down: false,
            wire: Transmission { until: Time::ZERO, frame: OnWire::LinkLocal, queue: None, passed: Vec::new() },
            since: Time::ZERO,
            down: Duration::ZERO,
            frames: FrameTimes::default(),
            data: [Duration::ZERO; CLASSES],
            all_data: Duration::ZERO,
            answers: Duration::ZERO,
            notices: Duration::ZERO,
        }
    }

    /// Returns true if the frame on the wire passed `queue`.
    pub(super) fn passed(&self, queue: QueueIx) -> bool {
        self.wire.queue == Some(queue) || self.wire.passed.contains(&queue)
    }

    /// Returns the time after which the line may change without a link event.
    pub(super) fn constant_until(&self) -> Time {
        self.since.max(self.wire.until)
    }

    /// Returns the time between `since` and `now` of the frame on the wire.
    fn busy(&self, now: Time) -> Duration {
        if self.is_down { Duration::ZERO } else { self.wire.until.min(now).since(self.since) }
    }

    /// Advances all sums to `now`. Returns the added time of the frame on the wire.
    #[inline]
    pub(super) fn advance(&mut self, now: Time) -> Duration {
        let busy = self.busy(now);
        if self.is_down {
            self.down += now - self.since;
        }
        self.since = now;
        if busy == Duration::ZERO {
            return busy;
        }
        self.frames.add(self.wire.frame.class(), busy);
        match self.wire.frame {
            OnWire::LinkLocal => {}
            OnWire::Packet(PacketKind::Data, class) => {
                self.data[class.index()] += busy;
                self.all_data += busy;
            }
            OnWire::Packet(PacketKind::Ack | PacketKind::Nack, _) => self.answers += busy,
            OnWire::Packet(PacketKind::Cnp | PacketKind::Notice, _) => self.notices += busy,
        }
        busy
    }

    /// Returns the delays of a host's own data of `class` up to `at`, if the line does not change
    /// between `since` and `at`.
    pub(super) fn delays(&self, class: Class, at: Time) -> Delays {
        let same = self.data[class.index()];
        let mut delays = Delays {
            other_flow: same,
            other_class: self.all_data - same,
            answers: self.answers,
            notices: self.notices,
            link_local: self.frames.link_local,
        };
        let sum = match self.wire.frame {
            OnWire::LinkLocal => &mut delays.link_local,
            OnWire::Packet(PacketKind::Ack | PacketKind::Nack, _) => &mut delays.answers,
            OnWire::Packet(PacketKind::Cnp | PacketKind::Notice, _) => &mut delays.notices,
            OnWire::Packet(PacketKind::Data, other) if other != class => &mut delays.other_class,
            OnWire::Packet(PacketKind::Data, _) => &mut delays.other_flow,
        };
        *sum += self.busy(at);
        delays
    }
}
