//! What a mechanism may see of its node and ask of it.

use crate::contract::headroom::BufferPolicy;
use crate::contract::note::Note;
use crate::contract::paths::Paths;
use crate::frame::cause::{Cause, Causes, Parent};
use crate::frame::{Control, Notice, Packet, Protocol, Route, Trail};
use crate::ids::{Class, NodeId, PortId, PortIx, QueueIx};
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use backwater_engine::{Duration, Rate, Time};

/// What a mechanism sees of its node, and asks of it: what it asks for is done when its hook returns, frames first.
pub struct View<'a> {
    /// The present.
    pub now: Time,
    /// The network around the node.
    pub paths: &'a dyn Paths,
    node: &'a mut dyn NodeAccess,
}

/// A frame that a switch makes: a notice under way.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingNotice {
    /// What it says.
    pub notice: Notice,
    /// The port through which it leaves.
    pub egress: PortIx,
    /// Its traffic class. What a switch makes itself is charged to no pool.
    pub class: Class,
    /// Where it goes from there.
    pub route: Route,
}

/// An egress port as mechanisms see it.
pub trait PortView {
    /// Its name in the whole network.
    fn id(&self) -> PortId;

    /// Whether its link is up.
    fn is_up(&self) -> bool;

    /// Rate of its link.
    fn rate(&self) -> Rate;

    /// Propagation delay of its link.
    fn delay(&self) -> Duration;

    /// How long the wire takes from `now` on for what is on it and the frames in `queue`, each of which has `framing` bytes there that are not charged.
    fn ahead(&self, queue: QueueIx, framing: u64, now: Time) -> Duration;

    /// Charged bytes in `queue`.
    fn queue_bytes(&self, queue: QueueIx) -> u64;

    /// Frames in `queue`.
    fn queue_frames(&self, queue: QueueIx) -> u32;

    /// Charged bytes in all queues, control frames left out.
    fn queued_bytes(&self) -> u64;

    /// Charged bytes in the queues that lead to the wire.
    fn backlog(&self) -> u64;

    /// Charged bytes sent so far.
    fn sent_bytes(&self) -> u64;

    /// Whether `queue` holds a frame.
    fn is_occupied(&self, queue: QueueIx) -> bool;

    /// Number of queues that there have been so far.
    fn queue_count(&self) -> QueueIx;

    /// Number of open queues that hold packets for the wire, that of the control class left out.
    fn active_queues(&self) -> usize;

    /// Since when the gate of `queue` has been closed, and why; `None` if it is open.
    fn closed(&self, queue: QueueIx) -> Option<(Time, Cause)>;

    /// Whether the gate of `queue` is closed.
    fn is_closed(&self, queue: QueueIx) -> bool;

    /// The first queue from `start` on whose gate is closed.
    fn next_closed(&self, start: QueueIx) -> Option<QueueIx>;
}

impl<'a> dyn PortView + 'a {
    /// Queues whose gate is closed, in ascending order.
    pub fn closed_queues(&self) -> impl Iterator<Item = QueueIx> {
        std::iter::successors(self.next_closed(0), |queue| self.next_closed(queue + 1))
    }
}

/// What the model lets a [`View`] do that depends on whose view it is.
#[auto_impl(&mut)]
pub trait MechanismAccess {
    /// The node's buffer policy, for those who may see it.
    fn buffer(&self) -> Option<&dyn BufferPolicy>;

    /// Sets the time at which the mechanism that is called is called again.
    fn wake_at(&mut self, at: Time);
}

/// What the model lets a [`View`] do with a node.
#[auto_impl(&mut)]
#[delegatable_trait]
pub trait NodeAccess: MechanismAccess {
    /// Which node it is.
    fn id(&self) -> NodeId;

    /// One of its ports.
    fn port(&self, port: PortIx) -> &dyn PortView;

    /// Sends a link-local frame out of `port`, before everything that waits there; `causes` travel with it in the simulation.
    fn send(&mut self, port: PortIx, control: Control, causes: Option<&Causes>);

    /// Closes the gate of a queue.
    fn close(&mut self, port: PortIx, queue: QueueIx, cause: Cause, now: Time);

    /// Opens the gate of a queue.
    fn open(&mut self, port: PortIx, queue: QueueIx, now: Time);

    /// Moves all packets of a queue on.
    fn flush(&mut self, port: PortIx, queue: QueueIx);

    /// Sets the timer of `port`.
    fn set_timer(&mut self, port: PortIx, at: Time);

    /// Sends a notice.
    fn emit(&mut self, emission: OutgoingNotice);

    /// Tells the observers.
    fn note(&mut self, note: Note);

    /// Whether anybody wants to know what makes a queue full ([`Note::Full`]).
    fn watches_full(&self) -> bool;
}

impl<'a> View<'a> {
    /// The view of `node` at `now`.
    pub fn new(now: Time, paths: &'a dyn Paths, node: &'a mut dyn NodeAccess) -> View<'a> {
        View { now, paths, node }
    }

    /// Bytes charged to an ingress queue, as stations and load balancers see it; `None` for a flow control, which hears of queues by a
    /// [`Pressure`](crate::contract::Pressure) or a [`Gauge`](crate::contract::Gauge).
    pub fn held(&self, ingress: PortIx, class: Class) -> Option<u64> {
        Some(self.node.buffer()?.held(ingress, class))
    }

    /// Bytes at which an ingress queue is full, as things are ([`BufferPolicy::threshold`]); `None` if it has no such bound, and for a flow control.
    pub fn threshold(&self, ingress: PortIx, class: Class) -> Option<u64> {
        self.node.buffer()?.threshold(ingress, class)
    }

    /// Sends a notice to the source of `packet`, which has come in through port `ingress`, back along the way that it has come (its `trail` tells
    /// where its route does not), in the control class. Switches on the way may hear it ([`on_notice`](crate::contract::PipelineHooks::on_notice)).
    pub fn notify_source(
        &mut self,
        packet: &Packet,
        trail: Option<&Trail>,
        ingress: PortIx,
        protocol: Protocol,
        from: PortId,
        words: [u32; 4],
    ) {
        let Some((to, route)) = self.way_back(packet, trail, ingress) else { return };
        let notice = Notice { protocol, from, flow: packet.flow, to, words };
        self.node.emit(OutgoingNotice { notice, egress: ingress, class: Class::CONTROL, route });
    }

    /// The source of `packet`, which has come in through port `ingress`, and the way back to it from there; `None` if nobody waits there any more.
    pub fn way_back(&self, packet: &Packet, trail: Option<&Trail>, ingress: PortIx) -> Option<(NodeId, Route)> {
        let (to, _) = self.paths.endpoints(packet.flow, packet.direction())?;
        Some((to, self.paths.reverse_route(to, packet, trail, self.port(ingress).id())))
    }

    /// Sends a notice that need not be about a packet: in any class, along any route.
    pub fn emit(&mut self, emission: OutgoingNotice) {
        self.node.emit(emission);
    }

    /// Has the mechanism that is called called again at `at`, instead of any earlier request; [`Time::NEVER`] cancels.
    pub fn wake_at(&mut self, at: Time) {
        self.node.wake_at(at);
    }

    /// One of the node's ports.
    pub fn port(&self, port: PortIx) -> &dyn PortView {
        self.node.port(port)
    }

    /// Sends a link-local frame out of `port`, before everything that waits there.
    pub fn send(&mut self, port: PortIx, control: Control) {
        self.node.send(port, control, None);
    }

    /// The same with the cause for each class that it stops.
    pub fn send_because(&mut self, port: PortIx, control: Control, causes: &Causes) {
        self.node.send(port, control, Some(causes));
    }

    /// Reports what made a queue full, if this is recorded: for each egress port in turn the bytes queued there of what arrived on
    /// `ingress` in `class`.
    pub fn note_full(&mut self, ingress: PortIx, class: Class, held: impl Iterator<Item = u64>) {
        if !self.node.watches_full() {
            return;
        }
        let port = self.port(ingress).id();
        for (egress, bytes) in (0..).zip(held).filter(|(_, bytes)| *bytes > 0) {
            self.node.note(Note::Full { port, class, egress, bytes });
        }
    }

    /// Closes the gate of a queue: nothing leaves it from now on. `cause` says why: at least the port whose congestion is the cause.
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
        closed.into_iter().for_each(|queue| self.open(port, queue));
    }

    /// Adds `amount` to what the mechanism counts as `what`: a run's results have it by that name.
    pub fn count(&mut self, what: &'static str, amount: u64) {
        let node = self.node.id();
        self.node.note(Note::Count { node, what, amount });
    }

    /// Moves all packets of a queue that does not lead to the wire into the queues that
    /// [`next_queue`](crate::contract::FlowControl::next_queue) names, in order, before another packet arrives.
    pub fn flush(&mut self, port: PortIx, queue: QueueIx) {
        self.node.flush(port, queue);
    }

    /// Has the flow control called for `port` at `at`, instead of any earlier request; [`Time::NEVER`] cancels.
    pub fn set_timer(&mut self, port: PortIx, at: Time) {
        self.node.set_timer(port, at);
    }

    /// The port that is the cause when a packet waits in `queue` of `port`: the port itself, or the cause of its closed gate.
    pub fn culprit(&self, port: PortIx, queue: QueueIx) -> PortId {
        self.because(port, queue).root
    }

    /// Why a neighbour has to stop because of what waits in `queue` of `port`: the port itself, or what its closed gate waits for.
    pub fn because(&self, port: PortIx, queue: QueueIx) -> Cause {
        let port = self.port(port);
        let here = Cause { via: Some(port.id()), hops: 1, ..Cause::from(port.id()) };
        port.closed(queue).map_or(here, |(since, Cause { root, hops, .. })| {
            let hops = if hops == 0 { 0 } else { hops.saturating_add(1) };
            Cause { root, parent: Some(Parent { queue, since }), hops, ..here }
        })
    }
}
