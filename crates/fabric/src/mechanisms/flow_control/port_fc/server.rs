//! PortFC at a server. A server does not detect congestion. A server stops its own data towards a
//! congested port, and passes on messages about type B queues.

use super::queues::Exits;
use super::{Message, Type};
use crate::contract::{PauseScope, RemainingHops, Site, View};
use crate::frame::cause::Causes;
use crate::ids::{CLASSES, PortId, PortIx, QueueIx};
use backwater_engine::index::IndexVec;
use get_size2::GetSize;
use std::collections::BTreeSet;

/// PortFC at a server.
#[derive(Debug, GetSize)]
pub struct PortFcServer {
    relays: bool,
    /// Number of path lengths, in switches, for which own data has separate queues. It equals the
    /// number of ports of a server.
    kinds: u16,
    ports: IndexVec<PortIx, Port>,
}

/// Port to a switch.
#[derive(Debug, GetSize)]
struct Port {
    /// Exit ports of the switch, with the first group of queues of own data. This group serves the
    /// longest paths.
    exits: Exits,
    /// Ports of the switch whose B queue is full.
    full: BTreeSet<PortId>,
}

impl PortFcServer {
    pub(super) fn new(site: &Site<'_>) -> PortFcServer {
        let exits = |port| Exits::new(site.network, port, QueueIx::added(0));
        let ports = site.ports.iter().map(|port| Port { exits: exits(port.peer), full: BTreeSet::new() });
        PortFcServer { relays: site.relays, kinds: site.shape.relay_ports.max(1) as u16, ports: ports.collect() }
    }

    pub(super) fn most_queues(&self) -> u16 {
        let most = |port| self.relay_queue(port).0 + 1 - CLASSES as u16;
        self.ports.ids().map(most).max().unwrap_or(0)
    }

    /// Returns the queue of relayed packets.
    pub(super) fn relay_queue(&self, port: PortIx) -> QueueIx {
        QueueIx(CLASSES as u16 + self.kinds * self.ports[port].exits.len())
    }

    /// Returns the queue of own data. The queue depends on the ports on the data's path after
    /// `port`; these ports belong to switches and servers in turn.
    pub(super) fn own_queue(&self, port: PortIx, remaining_hops: RemainingHops<'_>) -> Option<QueueIx> {
        let (mut remaining_hops, exits) = (remaining_hops, &self.ports[port].exits);
        let exit = remaining_hops.next()?;
        let further = (remaining_hops.count() / 2) as u16;
        let longest = self.kinds - 1;
        Some(QueueIx(exits.queue(exit)?.0 + (longest - further.min(longest)) * exits.len()))
    }

    /// Returns the queues of own data for `exit` of the switch at `port`. Type B is data whose
    /// destination is the next node after the exit, type A is all other data.
    fn own_queues(&self, port: PortIx, of: Type, exit: PortId) -> impl Iterator<Item = QueueIx> {
        let exits = self.ports[port].exits;
        let kinds = if of == Type::B { self.kinds - 1..self.kinds } else { 0..self.kinds - 1 };
        let of_kind = move |first: QueueIx, kind| QueueIx(first.0 + kind * exits.len());
        exits.queue(exit).into_iter().flat_map(move |first| kinds.clone().map(move |kind| of_kind(first, kind)))
    }

    pub(super) fn on_message(&mut self, port: PortIx, message: Message, causes: Option<&Causes>, view: &mut View<'_>) {
        for queue in self.own_queues(port, message.of, message.port) {
            message.obey(port, queue, causes, view);
        }
        if message.of == Type::A {
            return;
        }
        let full = &mut self.ports[port].full;
        let is_news = if message.pauses { full.insert(message.port) } else { full.remove(&message.port) };
        if is_news {
            self.pass_on(port, message, view);
        }
    }

    /// Passes on a message from `port` to all other ports.
    fn pass_on(&self, port: PortIx, message: Message, view: &mut View<'_>) {
        for other in self.others(port) {
            self.repeat(other, port, message, view);
        }
    }

    /// Returns the ports to which a message from `port` is passed on: none if the host does not
    /// relay.
    fn others(&self, port: PortIx) -> impl Iterator<Item = PortIx> {
        self.ports.ids().filter(move |other| self.relays && *other != port)
    }

    /// Sends out of `out_of` a message that was received at `port`.
    fn repeat(&self, out_of: PortIx, port: PortIx, message: Message, view: &mut View<'_>) {
        let own = self.own_queues(port, Type::B, message.port).next();
        let cause = own.map_or(message.port.into(), |queue| view.pause_cause(port, queue));
        message.send(out_of, cause, view);
        view.count("relayed_frames", 1);
    }

    /// Withdraws the messages received at `port`, and notifies other ports.
    pub(super) fn withdraw(&mut self, port: PortIx, view: &mut View<'_>) {
        for exit in std::mem::take(&mut self.ports[port].full) {
            self.pass_on(port, Message { pauses: false, of: Type::B, port: exit }, view);
        }
    }

    pub(super) fn on_link_up(&mut self, port: PortIx, view: &mut View<'_>) {
        view.open_all(port);
        self.withdraw(port, view);
        for (heard_at, exit) in self.full().filter(|(heard_at, _)| self.relays && *heard_at != port) {
            self.repeat(port, heard_at, Message { pauses: true, of: Type::B, port: exit }, view);
        }
    }

    /// Returns switch ports with full B queues, each with the server port that leads to it.
    fn full(&self) -> impl Iterator<Item = (PortIx, PortId)> {
        self.ports.enumerate().flat_map(|(port, Port { full, .. })| full.iter().map(move |exit| (port, *exit)))
    }

    pub(super) fn upstream_pauses(&self) -> Vec<(PortIx, PauseScope)> {
        let scope = |exit| Message { pauses: true, of: Type::B, port: exit }.scope();
        self.full().flat_map(|(port, exit)| self.others(port).map(move |other| (other, scope(exit)))).collect()
    }

    pub(super) fn scope(&self, port: PortIx, queue: QueueIx) -> Option<PauseScope> {
        let exits = &self.ports[port].exits;
        let number = queue.0.checked_sub(CLASSES as u16).filter(|_| exits.len() > 0)?;
        let (kind, number) = (number / exits.len(), number % exits.len());
        let of = if kind + 1 == self.kinds { Type::B } else { Type::A };
        let port = exits.exit(QueueIx::added(number.into())).filter(|_| kind < self.kinds)?;
        Some(Message { pauses: true, of, port }.scope())
    }

    /// Returns the closed queues of other ports that keep `scope` stopped upstream of `ingress`.
    pub(super) fn relayed_pauses(&self, ingress: PortIx, scope: PauseScope) -> Vec<(PortIx, QueueIx)> {
        let PauseScope::Port(exit, _) = scope else { return Vec::new() };
        let queues =
            self.others(ingress).flat_map(|port| self.own_queues(port, Type::B, exit).map(move |queue| (port, queue)));
        queues.filter(|(port, queue)| self.scope(*port, *queue) == Some(scope)).collect()
    }
}
