//! Reports of the model to its observers: rare facts, pushed into the sink at the time of the
//! event.

use crate::frame::cause::{Cause, Closure};
use crate::frame::{PacketKind, Psn, Route};
use crate::ids::{Class, FlowId, NodeId, PortId, PortIx, QueueIx};
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Rate, Time};

/// Cause of a frame's loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropCause {
    /// No pool of the buffer had room for a packet of a lossless class. A violation under
    /// [`Guarantee::Lossless`](crate::network::fabric::Guarantee::Lossless).
    Headroom,
    /// No pool of the buffer had room for a packet of a lossy class.
    BufferFull,
    /// The link corrupted the frame.
    LinkError,
    /// The link failed while the frame was on the wire. Or, when new routes were computed, the
    /// packet waited at a port with a failed link or had no route left.
    LinkDown,
    /// The packet's time to live expired in a routing loop.
    TimeToLive,
}

impl DropCause {
    /// All causes.
    pub const ALL: [DropCause; 5] =
        [DropCause::Headroom, DropCause::BufferFull, DropCause::LinkError, DropCause::LinkDown, DropCause::TimeToLive];

    /// Returns the name in results.
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

/// Occupancy of an ingress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IngressOccupancy {
    /// Ingress port.
    pub port: PortIx,
    /// Class of the queue.
    pub class: Class,
    /// Charged bytes.
    pub bytes: u64,
    /// Present size at which the queue is full; `None` if the queue has no threshold.
    pub threshold: Option<u64>,
}

/// Report to the observers. Observers use the variants from `Stopped` to `Rate` for traces only.
#[derive(Clone, Copy, Debug)]
pub enum Report {
    /// A frame was lost.
    Dropped {
        /// Node that lost the frame.
        node: NodeId,
        /// Ingress port.
        ingress: PortId,
        /// Class of the frame.
        class: Class,
        /// Charged bytes.
        bytes: u32,
        /// Kind, flow and number of the packet; `None` for a control frame.
        packet: Option<(PacketKind, FlowId, Psn)>,
        /// Cause of the loss.
        cause: DropCause,
    },
    /// A gate opened again.
    Paused {
        /// Port with the gate.
        port: PortId,
        /// Queue behind the gate.
        queue: QueueIx,
        /// Interval and cause of the closure.
        closure: Closure,
    },
    /// A PAUSE was generated because an ingress queue is full. The report gives the bytes of the
    /// queue that wait at one egress port.
    Full {
        /// Ingress port.
        port: PortId,
        /// Class of the ingress queue.
        class: Class,
        /// Egress port.
        egress: PortIx,
        /// Charged bytes that wait at the egress port.
        bytes: u64,
    },
    /// A mechanism's counter increased.
    Count {
        /// Node of the mechanism.
        node: NodeId,
        /// Name of the counter, such as `merge_frames`.
        what: &'static str,
        /// Increase.
        amount: u64,
    },
    /// A gate closed.
    Stopped {
        /// Port with the gate.
        port: PortId,
        /// Queue behind the gate.
        queue: QueueIx,
        /// Cause of the closure.
        cause: Cause,
    },
    /// A packet joined a queue.
    Enqueued {
        /// Egress port.
        port: PortId,
        /// Queue of the port.
        queue: QueueIx,
        /// Kind of the packet.
        kind: PacketKind,
        /// Class on departure.
        class: Class,
        /// Flow of the packet.
        flow: FlowId,
        /// Number of the packet.
        psn: Psn,
        /// Charged bytes in the queue, including the packet.
        bytes: u64,
        /// Ingress queue including the packet; `None` if the packet is not charged.
        ingress: Option<IngressOccupancy>,
    },
    /// A packet moved from one queue of a port to another.
    Moved {
        /// Egress port.
        port: PortId,
        /// Queue that the packet left.
        queue: QueueIx,
        /// Queue that the packet joined.
        to: QueueIx,
        /// Kind of the packet.
        kind: PacketKind,
        /// Class of the packet.
        class: Class,
        /// Flow of the packet.
        flow: FlowId,
        /// Number of the packet.
        psn: Psn,
    },
    /// A packet left a queue for the wire.
    Dequeued {
        /// Egress port.
        port: PortId,
        /// Queue of the port.
        queue: QueueIx,
        /// Kind of the packet.
        kind: PacketKind,
        /// Class of the packet.
        class: Class,
        /// Flow of the packet.
        flow: FlowId,
        /// Number of the packet.
        psn: Psn,
        /// Charged bytes that remain in the queue.
        bytes: u64,
        /// Ingress queue without the packet; `None` if the packet is not charged.
        ingress: Option<IngressOccupancy>,
    },
    /// The link of a port failed or recovered.
    Link {
        /// Port at either end.
        port: PortId,
        /// True if the link is up.
        up: bool,
    },
    /// The next packet, window or departure time of a sender changed.
    Sender {
        /// Flow of the sender.
        flow: FlowId,
        /// Port through which the sender transmits.
        port: PortId,
        /// Queue of the port whose gate holds the sender back.
        queue: QueueIx,
        /// Next packet to send; `None` if all packets were sent.
        next: Option<Psn>,
        /// Payload bytes in flight.
        in_flight: u64,
        /// Maximum number of payload bytes in flight.
        window: u64,
        /// Earliest departure of the next packet by the sender's rate.
        departure: Time,
    },
    /// A packet was marked on departure from a queue.
    Marked {
        /// Egress port.
        port: PortId,
        /// Queue of the port.
        queue: QueueIx,
        /// Flow of the packet.
        flow: FlowId,
        /// Number of the packet.
        psn: Psn,
    },
    /// Rate of a sender after it sent a packet.
    Rate {
        /// Flow of the sender.
        flow: FlowId,
        /// Port through which the sender transmits.
        port: PortId,
        /// Rate that paces the next packet.
        rate: Rate,
    },
    /// A message was posted.
    Posted {
        /// Connection of the message.
        flow: FlowId,
        /// First packet of the message.
        psn: Psn,
    },
    /// The receiver has all bytes of a flow or of a message.
    Received {
        /// Flow that is complete, or whose message is complete.
        flow: FlowId,
        /// Packet that completed the flow or the message.
        psn: Psn,
    },
    /// The sender has the acknowledgement of all bytes of a flow or of a message.
    Acknowledged {
        /// Flow that is acknowledged, or whose message is acknowledged.
        flow: FlowId,
        /// Packets of a flow that were sent, including retransmissions; 0 for a message.
        packets: u64,
        /// Payload bytes of retransmissions.
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
    /// Data packets that arrived before a packet with a lower number.
    pub disorder: Disorder,
    /// Route of the packet that completed the flow, if known.
    pub way: Option<Route>,
}

/// Counts of data packets that arrived before a packet with a lower number, by degree.
///
/// The degree is the packet's number minus the number that the receiver expects. Retransmissions
/// count again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::box_collection, reason = "takes one word for a receiver without disordered packets")]
pub struct Disorder(Option<Box<Vec<(Psn, u64)>>>);

impl Disorder {
    /// Adds a packet of a degree above 0.
    #[cold]
    pub fn add(&mut self, degree: Psn) {
        self.add_many(degree, 1);
    }

    /// Adds `packets` packets of the same degree, which is above 0.
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
    fn names_of_causes_follow_their_variants() {
        for cause in DropCause::ALL {
            assert_eq!(cause.name().replace('-', ""), format!("{cause:?}").to_lowercase());
        }
    }

    #[test]
    fn disorder_counts_packets_by_degree() {
        let mut disorder = Disorder::default();
        assert_eq!((disorder.packets(), disorder.largest()), (0, 0));
        for degree in [3, 1, 3, 7, 1, 3] {
            disorder.add(degree);
        }
        disorder.add_many(2, 10);
        assert_eq!(disorder.degrees().collect::<Vec<_>>(), [(1, 2), (2, 10), (3, 3), (7, 1)]);
        assert_eq!((disorder.packets(), disorder.largest()), (16, 7));
    }
}
