//! What the model reports to observers: rare facts, pushed into the sink as they happen.

use crate::frame::cause::{Cause, Closure};
use crate::frame::{PacketKind, Psn, Route};
use crate::ids::{Class, FlowId, NodeId, PortId, PortIx, QueueIx};
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Rate, Time};

/// Why a frame was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropCause {
    /// No pool of the buffer had room for a packet of a lossless class: a violation where [`Guarantee::Lossless`](crate::network::fabric::Guarantee::Lossless) holds.
    Headroom,
    /// No pool of the buffer had room for a packet of a class that is not lossless.
    BufferFull,
    /// The link corrupted it.
    LinkError,
    /// The link went down while it was on the wire; or it stood at a port whose link is down, or had no way left, when routes were computed anew.
    LinkDown,
    /// It was in a routing loop until its time to live was over.
    TimeToLive,
}

impl DropCause {
    /// All causes.
    pub const ALL: [DropCause; 5] =
        [DropCause::Headroom, DropCause::BufferFull, DropCause::LinkError, DropCause::LinkDown, DropCause::TimeToLive];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            DropCause::Headroom => "headroom",
            DropCause::BufferFull => "buffer-full",
            DropCause::LinkError => "link-error",
            DropCause::LinkDown => "link-down",
            DropCause::TimeToLive => "time-to-live",
        }
    }
}

/// What an ingress queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IngressHeld {
    /// The port.
    pub port: PortIx,
    /// The class.
    pub class: Class,
    /// Charged bytes.
    pub bytes: u64,
    /// Bytes at which it is full, as things are; `None` if it has no such bound.
    pub threshold: Option<u64>,
}

/// Something worth telling.
#[derive(Clone, Copy, Debug)]
pub enum Note {
    /// A frame was lost at `node`.
    Dropped {
        /// Where.
        node: NodeId,
        /// Port through which it came.
        ingress: PortId,
        /// Its class.
        class: Class,
        /// Charged bytes.
        bytes: u32,
        /// If it was a packet: what that carried, of which flow, and its number.
        packet: Option<(PacketKind, FlowId, Psn)>,
        /// Why.
        cause: DropCause,
    },
    /// A gate has opened again.
    Paused {
        /// The port that was paused.
        port: PortId,
        /// Its queue.
        queue: QueueIx,
        /// From when to when, and because of whom.
        closure: Closure,
    },
    /// A PAUSE is generated because an ingress queue is full: how much of it is at one egress port of the node.
    Full {
        /// The ingress port.
        port: PortId,
        /// The class.
        class: Class,
        /// The egress port.
        egress: PortIx,
        /// Charged bytes.
        bytes: u64,
    },
    /// Something that a mechanism counts, by the name that it gives it.
    Count {
        /// Where it runs.
        node: NodeId,
        /// The name: `merge_frames`.
        what: &'static str,
        /// How many more.
        amount: u64,
    },
    /// A gate has closed. Told only for a trace, as the rest of these.
    Stopped {
        /// The port that is paused.
        port: PortId,
        /// Its queue.
        queue: QueueIx,
        /// Because of whom.
        cause: Cause,
    },
    /// A packet has joined a queue.
    Enqueued {
        /// The port.
        port: PortId,
        /// Its queue.
        queue: QueueIx,
        /// What the packet carries.
        kind: PacketKind,
        /// The class in which it leaves.
        class: Class,
        /// Whose packet it is.
        flow: FlowId,
        /// Its number.
        psn: Psn,
        /// Charged bytes in the queue with it.
        bytes: u64,
        /// What its ingress queue holds with it, if that is charged.
        ingress: Option<IngressHeld>,
    },
    /// A packet has left a queue for another one of the same port.
    Moved {
        /// The port.
        port: PortId,
        /// The queue that it has left.
        queue: QueueIx,
        /// The queue that it has joined.
        to: QueueIx,
        /// What the packet carries.
        kind: PacketKind,
        /// Its class.
        class: Class,
        /// Whose packet it is.
        flow: FlowId,
        /// Its number.
        psn: Psn,
    },
    /// A packet has left a queue for the wire.
    Dequeued {
        /// The port.
        port: PortId,
        /// Its queue.
        queue: QueueIx,
        /// What the packet carries.
        kind: PacketKind,
        /// Its class.
        class: Class,
        /// Whose packet it is.
        flow: FlowId,
        /// Its number.
        psn: Psn,
        /// Charged bytes left in the queue.
        bytes: u64,
        /// What its ingress queue holds without it, if that is charged.
        ingress: Option<IngressHeld>,
    },
    /// The link of a port has gone down or come up.
    Link {
        /// The port, at either end.
        port: PortId,
        /// Whether it is up.
        up: bool,
    },
    /// What the sender of a flow may do next has changed.
    Sender {
        /// Which flow.
        flow: FlowId,
        /// The port through which it sends.
        port: PortId,
        /// The queue of that port whose gate holds it back.
        queue: QueueIx,
        /// The packet that it sends next; `None` if all has been sent.
        next: Option<Psn>,
        /// Payload bytes in flight.
        in_flight: u64,
        /// How many there may be before it stops.
        window: u64,
        /// When its rate allows for the next packet.
        departure: Time,
    },
    /// A packet has been marked as it left a queue.
    Marked {
        /// The port.
        port: PortId,
        /// Its queue.
        queue: QueueIx,
        /// Whose packet it is.
        flow: FlowId,
        /// Its number.
        psn: Psn,
    },
    /// The rate at which a sender goes on after a packet.
    Rate {
        /// Of this flow.
        flow: FlowId,
        /// The port through which it sends.
        port: PortId,
        /// The rate.
        rate: Rate,
    },
    /// The receiver has all bytes of a flow.
    Received {
        /// Which flow.
        flow: FlowId,
        /// The packet that completed it.
        psn: Psn,
    },
    /// The sender knows that the receiver has all bytes of a flow.
    Acknowledged {
        /// Which flow.
        flow: FlowId,
        /// Packets sent, those sent again included.
        packets: u64,
        /// Payload bytes sent more than once.
        retransmitted: u64,
    },
}

/// Measurements of a flow at its receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reception {
    /// Payload bytes delivered in order.
    pub delivered: u64,
    /// Arrival of the last byte; `None` while unfinished.
    pub finish: Option<Time>,
    /// Time that the next packet in order waited behind a PAUSE.
    pub paused: Duration,
    /// Part of `paused` behind a PAUSE caused by a port that is not on the flow's path.
    pub blocked: Duration,
    /// Data packets that arrived, retransmissions included.
    pub arrived: u64,
    /// Packets of these that arrived before an earlier one.
    pub disorder: Disorder,
    /// Route of the packet that completed the flow, if known.
    pub way: Option<Route>,
}

/// Numbers of data packets that arrived before an earlier one, by degree.
///
/// The degree is the packet's number minus the number that the receiver expects. Retransmissions count again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::box_collection, reason = "a receiver without such packets spends one pointer")]
pub struct Disorder(Option<Box<Vec<(Psn, u64)>>>);

impl Disorder {
    /// Adds a packet of a degree above 0.
    #[cold]
    pub fn add(&mut self, degree: Psn) {
        self.add_many(degree, 1);
    }

    /// Adds packets of a degree above 0.
    pub fn add_many(&mut self, degree: Psn, packets: u64) {
        let counts = self.0.get_or_insert_default();
        match counts.binary_search_by_key(&degree, |(known, _)| *known) {
            Ok(place) => counts[place].1 += packets,
            Err(place) => counts.insert(place, (degree, packets)),
        }
    }

    /// Returns the degrees in ascending order, each with its number of packets.
    pub fn degrees(&self) -> impl DoubleEndedIterator<Item = (Psn, u64)> + '_ {
        self.0.iter().flat_map(|counts| counts.iter().copied())
    }

    /// Returns the number of packets.
    pub fn packets(&self) -> u64 {
        self.degrees().map(|(_, packets)| packets).sum()
    }

    /// Returns the largest degree, or 0 without packets.
    pub fn largest(&self) -> Psn {
        self.degrees().next_back().map_or(0, |(degree, _)| degree)
    }

    /// Returns the bytes on the heap.
    pub fn heap_bytes(&self) -> u64 {
        self.0.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_called_as_here_in_lower_case() {
        for cause in DropCause::ALL {
            assert_eq!(cause.name().replace('-', ""), format!("{cause:?}").to_lowercase());
        }
    }

    #[test]
    fn disorder_counts_packets_by_degree() {
        let mut disorder = Disorder::default();
        assert_eq!((disorder.packets(), disorder.largest()), (0, 0));
        [3, 1, 3, 7, 1, 3].into_iter().for_each(|degree| disorder.add(degree));
        disorder.add_many(2, 10);
        assert_eq!(disorder.degrees().collect::<Vec<_>>(), [(1, 2), (2, 10), (3, 3), (7, 1)]);
        assert_eq!((disorder.packets(), disorder.largest()), (16, 7));
    }
}
