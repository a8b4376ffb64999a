//! Runtime handle of a mechanism on its node.

use crate::contract::headroom::BufferPolicy;
use crate::contract::packet::PacketContext;
use crate::contract::paths::{Paths, RemainingHops};
use crate::contract::report::Report;
use crate::frame::cause::{Cause, Causes, Parent};
use crate::frame::{Control, Notice, Packet, Protocol, Route, Trail};
use crate::ids::{Class, NodeId, PortId, PortIx, QueueIx};
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use backwater_engine::{Duration, Rate, Time};

/// Runtime handle of a mechanism on its node, valid during one hook. Requested actions are executed
/// when the hook returns: link-local frames first.
pub struct View<'a> {
    /// Present time.
    pub now: Time,
    /// Network around the node.
    pub paths: &'a dyn Paths,
    node: &'a mut dyn NodeAccess,
}

/// Notice that a switch sends.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingNotice {
    /// Content of the notice.
    pub notice: Notice,
    /// Port through which the notice leaves.
    pub egress: PortIx,
    /// Traffic class. Frames that a switch generates are charged to no pool.
    pub class: Class,
    /// Rest of the notice's route.
    pub route: Route,
}

/// Egress port as mechanisms observe it.
pub trait PortView {
    /// Returns the port's id in the network.
    fn id(&self) -> PortId;

    /// Returns true if the port's link is up.
    fn is_up(&self) -> bool;

    /// Returns the rate of the port's link.
    fn rate(&self) -> Rate;

    /// Returns the propagation delay of the port's link.
    fn delay(&self) -> Duration;

    /// Returns the time from `now` until the frame on the wire and all frames in `queue` are sent.
    /// Each queued frame takes `framing` bytes on the wire besides its charged bytes.
    fn ahead(&self, queue: QueueIx, framing: u64, now: Time) -> Duration;

    /// Returns the charged bytes in `queue`.
    fn queue_bytes(&self, queue: QueueIx) -> u64;

    /// Returns the number of frames in `queue`.
    fn queue_frames(&self, queue: QueueIx) -> u32;

    /// Returns the charged bytes in all queues, without control frames.
    fn queued_bytes(&self) -> u64;

    /// Returns the charged bytes in the queues that feed the wire.
    fn backlog(&self) -> u64;

    /// Returns the charged bytes sent so far.
    fn sent_bytes(&self) -> u64;

    /// Returns true if `queue` holds a frame.
    fn is_occupied(&self, queue: QueueIx) -> bool;

    /// Returns the number of queues used so far.
    fn queue_count(&self) -> usize;

    /// Returns the number of open, occupied queues that feed the wire, without the queue of the
    /// control class.
    fn active_queues(&self) -> usize;

    /// Returns the time of closure and the cause of a closed gate; `None` if the gate of `queue` is
    /// open.
    fn closed(&self, queue: QueueIx) -> Option<(Time, Cause)>;

    /// Returns true if the gate of `queue` is closed.
    fn is_closed(&self, queue: QueueIx) -> bool;

    /// Returns the first queue from `start` on with a closed gate.
    fn next_closed(&self, start: QueueIx) -> Option<QueueIx>;
}

impl<'a> dyn PortView + 'a {
    /// Returns the queues with a closed gate, in ascending order.
    pub fn closed_queues(&self) -> impl Iterator<Item = QueueIx> {
        std::iter::successors(self.next_closed(QueueIx(0)), |queue| self.next_closed(QueueIx(queue.0 + 1)))
    }
}

/// Part of a [`View`] that depends on the calling mechanism.
#[auto_impl(&mut)]
pub trait MechanismAccess {
    /// Returns the node's buffer policy; `None` for a flow control.
    fn buffer(&self) -> Option<&dyn BufferPolicy>;

    /// Sets the timer of the calling mechanism.
    fn wake_at(&mut self, at: Time);
}

/// Part of a [`View`] that depends on the node.
#[auto_impl(&mut)]
#[delegatable_trait]
pub trait NodeAccess: MechanismAccess {
    /// Returns the node's id.
    fn id(&self) -> NodeId;

    /// Returns a port of the node.
    fn port(&self, port: PortIx) -> &dyn PortView;

    /// Sends a link-local frame through `port`, before all waiting packets. `causes` are metadata
    /// of the simulator and take no bytes.
    fn send(&mut self, port: PortIx, control: Control, causes: Option<&Causes>);

    /// Closes the gate of a queue.
    fn close(&mut self, port: PortIx, queue: QueueIx, cause: Cause, now: Time);

    /// Opens the gate of a queue.
    fn open(&mut self, port: PortIx, queue: QueueIx, now: Time);

    /// Moves all packets of a queue to their next queues.
    fn flush(&mut self, port: PortIx, queue: QueueIx);

    /// Sets the flow control's timer of `port`.
    fn set_timer(&mut self, port: PortIx, at: Time);

    /// Sends a notice.
    fn emit(&mut self, notice: OutgoingNotice);

    /// Reports to the observers.
    fn report(&mut self, report: Report);

    /// Returns true if the run records the contents of full queues ([`Report::Full`]).
    fn records_full_queues(&self) -> bool;
}

impl<'a> View<'a> {
    /// Returns the view of `node` at `now`.
    pub fn new(now: Time, paths: &'a dyn Paths, node: &'a mut dyn NodeAccess) -> View<'a> {
        View { now, paths, node }
    }

    /// Returns the ports that `packet` passes after its egress port.
    #[inline]
    pub fn remaining_hops(&self, packet: &PacketContext<'_>) -> RemainingHops<'_> {
        let (headers, egress) = (packet.headers(), self.port(packet.egress).id());
        RemainingHops::new(self.paths, headers.flow, headers.kind, headers.route, egress)
    }

    /// Returns the bytes charged to an ingress queue. `None` for a flow control, which learns the
    /// state of ingress queues from a [`Pressure`](crate::contract::Pressure) or a
    /// [`IngressGauge`](crate::contract::IngressGauge).
    pub fn ingress_occupancy(&self, ingress: PortIx, class: Class) -> Option<u64> {
        Some(self.node.buffer()?.ingress_occupancy(ingress, class))
    }

    /// Returns the present threshold of an ingress queue ([`BufferPolicy::threshold`]). `None` if
    /// the queue has none, and for a flow control.
    pub fn threshold(&self, ingress: PortIx, class: Class) -> Option<u64> {
        self.node.buffer()?.threshold(ingress, class)
    }

    /// Sends a notice in the control class to the source of `packet`, which arrived through
    /// `ingress`. The notice takes the packet's path back, as recorded in the packet's route or in
    /// `trail`. Switches on the way may process the notice
    /// ([`on_notice`](crate::contract::PipelineHooks::on_notice)). Does nothing if the flow is
    /// already forgotten.
    pub fn notify_source(
        &mut self,
        packet: &Packet,
        trail: Option<&Trail>,
        ingress: PortIx,
        protocol: Protocol,
        from: PortId,
        words: [u32; 4],
    ) {
        let Some((to, route)) = self.route_to_source(packet, trail, ingress) else { return };
        let notice = Notice { protocol, from, flow: packet.flow, to, words };
        self.node.emit(OutgoingNotice { notice, egress: ingress, class: Class::CONTROL, route });
    }

    /// Returns the source of `packet`, which arrived through `ingress`, and the route back to this
    /// source; `None` if the flow is already forgotten.
    pub fn route_to_source(&self, packet: &Packet, trail: Option<&Trail>, ingress: PortIx) -> Option<(NodeId, Route)> {
        let (to, _) = self.paths.endpoints(packet.flow, packet.direction())?;
        Some((to, self.paths.reverse_route(to, packet, trail, self.port(ingress).id())))
    }

    /// Sends any notice, in any class and along any route.
    pub fn emit(&mut self, notice: OutgoingNotice) {
        self.node.emit(notice);
    }

    /// Sets the timer of the calling mechanism to `at`, in place of an earlier setting;
    /// [`Time::NEVER`] cancels it. `on_wake` is called when the timer fires.
    pub fn wake_at(&mut self, at: Time) {
        self.node.wake_at(at);
    }

    /// Returns a port of the node.
    pub fn port(&self, port: PortIx) -> &dyn PortView {
        self.node.port(port)
    }

    /// Sends a link-local frame through `port`, before all waiting packets.
    pub fn send(&mut self, port: PortIx, control: Control) {
        self.node.send(port, control, None);
    }

    /// Sends a link-local frame as [`send`](Self::send) does, with the cause for each class that
    /// the frame pauses.
    pub fn send_with_causes(&mut self, port: PortIx, control: Control, causes: &Causes) {
        self.node.send(port, control, Some(causes));
    }

    /// Reports the content of a full ingress queue, if the run records such contents. `held` lists,
    /// by egress port, the queued bytes that arrived on `ingress` in `class`.
    pub fn report_full(&mut self, ingress: PortIx, class: Class, held: impl Iterator<Item = (PortIx, u64)>) {
        if !self.node.records_full_queues() {
            return;
        }
        let port = self.port(ingress).id();
        for (egress, bytes) in held.filter(|(_, bytes)| *bytes > 0) {
            self.node.report(Report::Full { port, class, egress, bytes });
        }
    }

    /// Closes the gate of a queue: no packet leaves the queue until the gate opens. `cause` names
    /// at least the congested port.
    pub fn close(&mut self, port: PortIx, queue: QueueIx, cause: impl Into<Cause>) {
        self.node.close(port, queue, cause.into(), self.now);
    }

    /// Opens the gate of a queue.
    pub fn open(&mut self, port: PortIx, queue: QueueIx) {
        self.node.open(port, queue, self.now);
    }

    /// Opens all gates of a port.
    pub fn open_all(&mut self, port: PortIx) {
        let closed: Vec<QueueIx> = self.port(port).closed_queues().collect();
        for queue in closed {
            self.open(port, queue);
        }
    }

    /// Adds `amount` to the counter `what` of the mechanism. The results list the counter by this
    /// name.
    pub fn count(&mut self, what: &'static str, amount: u64) {
        let node = self.node.id();
        self.node.report(Report::Count { node, what, amount });
    }

    /// Moves all packets of a queue that does not feed the wire to the queues that
    /// [`next_queue`](crate::contract::FlowControl::next_queue) chooses: in order, and before
    /// another packet arrives.
    pub fn flush(&mut self, port: PortIx, queue: QueueIx) {
        self.node.flush(port, queue);
    }

    /// Sets the flow control's timer of `port` to `at`, in place of an earlier setting;
    /// [`Time::NEVER`] cancels it. `on_timer` is called when the timer fires.
    pub fn set_timer(&mut self, port: PortIx, at: Time) {
        self.node.set_timer(port, at);
    }

    /// Returns the congested port for which a packet waits in `queue` of `port`: the cause of the
    /// queue's closed gate, or `port` itself if the gate is open.
    pub fn culprit(&self, port: PortIx, queue: QueueIx) -> PortId {
        self.pause_cause(port, queue).root
    }

    /// Returns the cause of a PAUSE to a neighbour whose packets fill `queue` of `port`: derived
    /// from the queue's closed gate, or `port` itself if the gate is open.
    pub fn pause_cause(&self, port: PortIx, queue: QueueIx) -> Cause {
        let port = self.port(port);
        let here = Cause { via: Some(port.id()), hops: 1, ..Cause::from(port.id()) };
        port.closed(queue).map_or(here, |(since, Cause { root, hops, .. })| {
            let hops = if hops == 0 { 0 } else { hops.saturating_add(1) };
            Cause { root, parent: Some(Parent { queue, since }), hops, ..here }
        })
    }
}
