//! A packet at one point of a node's pipeline, and the scope of a PAUSE.

use crate::frame::record::{PathHeader, Records, Telemetry};
use crate::frame::{Direction, Frame, Notice, Packet, Trail};
use crate::ids::{Class, FlowId, PortId, PortIx, QueueIx};
use backwater_engine::Time;

/// A packet at a node: its frame, and the facts that the node keeps beside the frame. Also a frame
/// on a wire, with facts about its arrival.
#[derive(Clone, Copy, Debug)]
pub struct QueuedPacket {
    /// Frame of the packet.
    pub frame: Frame,
    /// Arrival at the present queue. On a wire: arrival at the end of the wire.
    pub at: Time,
    /// Ingress port; [`PortIx::NONE`] if the node made the packet: a notice, or the answer of a
    /// host. Without meaning on a wire.
    pub ingress: PortIx,
    /// Traffic class on arrival. The buffer charges this class, and a PAUSE to the upstream names
    /// this class.
    pub ingress_class: Class,
    /// Note that the flow control attached when it chose the queue. On a wire: age of the sender's
    /// burst on arrival, in nanoseconds.
    pub note: u32,
}

const _: () = assert!(size_of::<QueuedPacket>() == 48);

impl QueuedPacket {
    /// Returns a packet that arrived on `ingress` at `at`.
    #[inline(always)]
    pub fn new(frame: Frame, ingress: PortIx, at: Time) -> QueuedPacket {
        QueuedPacket { frame, at, ingress, ingress_class: frame.class(), note: 0 }
    }

    /// Returns the context of the packet in the queue of its class at `egress`.
    #[inline(always)]
    pub fn context<'a>(&'a mut self, egress: PortIx, records: &'a mut Records) -> PacketContext<'a> {
        let queue = QueueIx::of(self.frame.class());
        self.context_in(egress, queue, records)
    }

    /// Returns the context of the packet in `queue` of `egress`.
    #[inline(always)]
    pub fn context_in<'a>(&'a mut self, egress: PortIx, queue: QueueIx, records: &'a mut Records) -> PacketContext<'a> {
        PacketContext { packet: self, egress, queue, records }
    }
}

/// A packet at one point of a node's pipeline: its egress port and queue, its frame, and its side
/// record.
pub struct PacketContext<'a> {
    /// The packet as it is queued.
    pub packet: &'a mut QueuedPacket,
    /// Egress port; [`PortIx::NONE`] before the load balancer chose one.
    pub egress: PortIx,
    /// Queue of the egress port: the packet's present queue, or on dequeue the queue that it left.
    pub queue: QueueIx,
    /// Side records of all frames.
    pub records: &'a mut Records,
}

impl PacketContext<'_> {
    /// Borrows the context for one call. If the call is not inlined, only this copy of the context
    /// is forced into memory.
    #[inline(always)]
    pub(crate) fn reborrow(&mut self) -> PacketContext<'_> {
        PacketContext { packet: self.packet, egress: self.egress, queue: self.queue, records: self.records }
    }

    /// Returns the ingress port; [`PortIx::NONE`] if the node made the packet.
    #[inline]
    pub fn ingress(&self) -> PortIx {
        self.packet.ingress
    }

    /// Returns the traffic class on arrival, which the buffer charges.
    #[inline]
    pub fn ingress_class(&self) -> Class {
        self.packet.ingress_class
    }

    /// Returns the traffic class on departure.
    #[inline]
    pub fn egress_class(&self) -> Class {
        self.packet.frame.class()
    }

    /// Returns the charged bytes.
    #[inline]
    pub fn bytes(&self) -> u16 {
        self.packet.frame.size.charge
    }

    /// Returns the wire bytes.
    #[inline]
    pub fn wire_bytes(&self) -> u16 {
        self.packet.frame.size.wire
    }

    /// Returns the note that the flow control attached when it chose the queue.
    #[inline]
    pub fn note(&self) -> u32 {
        self.packet.note
    }

    /// Returns true if the packet is charged to a pool and therefore subject to flow control.
    /// Packets of the control class and packets of this node are not.
    #[inline]
    pub(crate) fn is_charged(&self) -> bool {
        self.packet.ingress_class != Class::CONTROL && self.packet.ingress != PortIx::NONE
    }

    /// Returns the headers of the packet.
    ///
    /// # Panics
    /// If the frame is link-local. Such frames pass no hook.
    #[inline]
    pub fn headers(&self) -> &Packet {
        self.packet.frame.packet().expect("link-local frames pass no hook")
    }

    /// Sets the ECN mark.
    pub fn mark(&mut self) {
        self.packet.frame.mark();
    }

    /// Returns the ports that the packet passed, if its route does not record them.
    pub fn trail(&self) -> Option<&Trail> {
        self.records.trail(self.packet.frame.record)
    }

    /// Returns the content of a notice. A switch that forwards the notice may change the content.
    pub fn notice_mut(&mut self) -> Option<&mut Notice> {
        self.records.notice_mut(self.packet.frame.record)
    }

    /// Returns the header of load balancing, if the packet has one.
    pub fn path_header(&self) -> Option<&PathHeader> {
        self.records.path_header(self.packet.frame.record)
    }

    /// Returns the header of load balancing; adds one if the packet has none.
    pub fn path_header_mut(&mut self) -> &mut PathHeader {
        self.records.path_header_mut(&mut self.packet.frame.record)
    }

    /// Returns the telemetry that switches stamped into the packet; adds an empty one if there is
    /// none.
    pub fn telemetry_mut(&mut self) -> &mut Telemetry {
        self.records.telemetry_mut(&mut self.packet.frame.record)
    }

    /// Returns the packet's present queue, egress class and note.
    pub fn choice(&self) -> QueueChoice {
        self.in_queue(self.queue, self.note())
    }

    /// Moves the packet to the queue that the flow control chose.
    #[inline]
    pub(crate) fn choose(&mut self, choice: QueueChoice) {
        (self.queue, self.packet.note) = (choice.queue, choice.note);
        self.packet.frame.set_class(choice.class);
    }

    /// Chooses the queue of the packet's class, without a note.
    #[inline]
    pub fn by_class(&self) -> QueueChoice {
        self.in_queue(QueueIx::of(self.egress_class()), 0)
    }

    /// Chooses `queue`, with a note, and keeps the packet's class.
    #[inline]
    pub fn in_queue(&self, queue: QueueIx, note: u32) -> QueueChoice {
        QueueChoice { queue, class: self.egress_class(), note }
    }
}

/// Queue that a packet joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueChoice {
    /// Queue of the packet's egress port.
    pub queue: QueueIx,
    /// Class on departure: a data class. Differs from the class on arrival only if
    /// `AddedQueues::changes_class` is true.
    pub class: Class,
    /// Note for later hooks: they read it as [`PacketContext::note`].
    pub note: u32,
}

/// Part of a link's traffic that a PAUSE stops, in terms that both ends understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PauseScope {
    /// A queue of the upstream port.
    Queue(QueueIx),
    /// Packets of a flow in one direction.
    Flow(FlowId, Direction),
    /// Packets that will pass a port further downstream: a congestion root.
    Root(PortId),
    /// Packets that will pass a port; the flow control numbers several types of such packets.
    Port(PortId, u8),
}
