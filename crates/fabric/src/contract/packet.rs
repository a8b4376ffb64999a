//! A packet at one point of a node's pipeline, and the scope of a PAUSE.

use crate::contract::flow_control::QueueChoice;
use crate::contract::paths::RemainingHops;
use crate::contract::view::View;
use crate::frame::record::{PathHeader, Records, Telemetry};
use crate::frame::{Direction, Frame, Notice, Packet, Trail};
use crate::ids::{Class, FlowId, PortId, PortIx, QueueIx};

/// No port: the ingress of a packet that the node made, and the egress of a packet that is not
/// routed yet.
pub const NO_PORT: PortIx = PortIx::MAX;

/// A packet at one point of a node's pipeline: its place there, its frame, and its side record.
pub struct PacketContext<'a> {
    /// Ingress port; [`NO_PORT`] if the node made the packet: a notice, or the answer of a host.
    pub ingress: PortIx,
    /// Egress port; [`NO_PORT`] before the load balancer chose one.
    pub egress: PortIx,
    /// Queue of the egress port: the packet's present queue, or on dequeue the queue that it left.
    pub queue: QueueIx,
    /// Traffic class on arrival. The buffer charges this class, and a PAUSE to the upstream names
    /// it.
    pub ingress_class: Class,
    /// Traffic class on departure.
    pub egress_class: Class,
    /// Charged bytes.
    pub bytes: u16,
    /// Note that the flow control attached when it chose the queue.
    pub note: u32,
    /// Frame of the packet.
    pub frame: &'a mut Frame,
    /// Side records of all frames.
    pub records: &'a mut Records,
}

impl<'a> PacketContext<'a> {
    /// Returns the context of a packet that arrived on `ingress` and leaves through `egress` in the
    /// queue of its class.
    #[inline]
    pub fn new(frame: &'a mut Frame, ingress: PortIx, egress: PortIx, records: &'a mut Records) -> PacketContext<'a> {
        let (class, bytes) = (frame.class(), frame.size.charge);
        let queue = class.0.into();
        PacketContext {
            ingress,
            egress,
            queue,
            ingress_class: class,
            egress_class: class,
            bytes,
            note: 0,
            frame,
            records,
        }
    }

    /// Returns true if the packet is charged to a pool and therefore subject to flow control.
    /// Packets of the control class and packets of this node are not.
    #[inline]
    pub(crate) fn is_charged(&self) -> bool {
        self.ingress_class != Class::CONTROL && self.ingress != NO_PORT
    }

    /// Returns the headers of the packet.
    ///
    /// # Panics
    /// If the frame is link-local. Such frames pass no hook.
    #[inline]
    pub fn packet(&self) -> &Packet {
        self.frame.packet().expect("link-local frames pass no hook")
    }

    /// Sets the ECN mark.
    pub fn mark(&mut self) {
        self.frame.mark();
    }

    /// Returns the ports that the packet passed, if its route does not record them.
    pub fn trail(&self) -> Option<&Trail> {
        self.records.trail(self.frame.record)
    }

    /// Returns the content of a notice. A switch on its way may change it.
    pub fn notice_mut(&mut self) -> Option<&mut Notice> {
        self.records.notice_mut(self.frame.record)
    }

    /// Returns the header of load balancing, if the packet has one.
    pub fn path_header(&self) -> Option<&PathHeader> {
        self.records.path_header(self.frame.record)
    }

    /// Returns the header of load balancing; adds one if the packet has none.
    pub fn path_header_mut(&mut self) -> &mut PathHeader {
        self.records.path_header_mut(&mut self.frame.record)
    }

    /// Returns the telemetry that switches stamped into the packet; adds an empty one if there is
    /// none.
    pub fn telemetry_mut(&mut self) -> &mut Telemetry {
        self.records.telemetry_mut(&mut self.frame.record)
    }

    /// Returns the ports that the packet passes after its egress port.
    #[inline]
    pub fn remaining_hops<'v>(&self, view: &'v View<'_>) -> RemainingHops<'v> {
        let (packet, egress) = (self.packet(), view.port(self.egress).id());
        RemainingHops::new(view.paths, packet.flow, packet.direction(), packet.route, egress)
    }

    /// Returns the packet's present queue, egress class and note.
    pub fn choice(&self) -> QueueChoice {
        self.in_queue(self.queue, self.note)
    }

    /// Chooses the queue of the packet's class, without a note.
    #[inline]
    pub fn by_class(&self) -> QueueChoice {
        self.in_queue(QueueIx::from(self.egress_class.0), 0)
    }

    /// Chooses `queue`, with a note, and keeps the packet's class.
    #[inline]
    pub fn in_queue(&self, queue: QueueIx, note: u32) -> QueueChoice {
        QueueChoice { queue, class: self.egress_class, note }
    }
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
