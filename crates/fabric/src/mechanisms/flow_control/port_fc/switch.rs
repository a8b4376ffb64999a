//! PortFC at a switch: it detects congestion at its egress ports and pauses its servers.

use super::queues::Exits;
use super::{Bdp, Message, PortFcConfig, Type};
use crate::contract::{PacketContext, PauseScope, PortFacts, Site, View};
use crate::frame::cause::Causes;
use crate::ids::{CLASSES, PortId, PortIx, QueueIx};
use backwater_engine::Duration;
use backwater_engine::index::{Id, IndexVec};
use get_size2::GetSize;

/// PortFC at a switch.
#[derive(Debug, GetSize)]
pub struct PortFcSwitch {
    ports: IndexVec<PortIx, Port>,
}

/// Egress port to a server.
#[derive(Debug, GetSize)]
struct Port {
    id: PortId,
    /// Ports of the switches behind the server, with an A queue each.
    exits: Vec<Exits>,
    /// B queue.
    last: QueueIx,
    /// Bytes in the queues of each type.
    held: [u64; 2],
    /// Thresholds of PAUSE and RESUME of each type.
    thresholds: [(u64, u64); 2],
    /// True for each type for which the servers at the other ports are paused.
    stops: [bool; 2],
}

impl Port {
    fn type_of(&self, queue: QueueIx) -> Type {
        if queue == self.last { Type::B } else { Type::A }
    }

    fn exit_queue(&self, exit: PortId) -> Option<QueueIx> {
        self.exits.iter().find_map(|exits| exits.queue(exit))
    }
}

impl PortFcSwitch {
    pub(super) fn new(config: &PortFcConfig, site: &Site<'_>) -> PortFcSwitch {
        let ports = site.links().map(|(facts, neighbour)| {
            let (mut exits, mut last) = (Vec::new(), QueueIx::added(0));
            if neighbour.relays {
                for beyond in site.network.ports(neighbour.node).iter().filter(|port| port.id != facts.peer) {
                    exits.push(Exits::new(site.network, beyond.peer, last));
                    last.0 += exits.last().map_or(0, Exits::len);
                }
            }
            let thresholds = thresholds(config, facts, site);
            Port { id: facts.id, exits, last, held: [0; 2], thresholds, stops: [false; 2] }
        });
        PortFcSwitch { ports: ports.collect() }
    }

    pub(super) fn most_queues(&self) -> u16 {
        self.ports.iter().map(|port| port.last.0 + 1 - CLASSES as u16).max().unwrap_or(0)
    }

    /// Returns the queue of a packet. The queue depends on the ports on the path after the packet's
    /// egress port: a port of the server, then a port of the next switch.
    pub(super) fn queue(&self, packet: &PacketContext<'_>, view: &View<'_>) -> QueueIx {
        let port = &self.ports[packet.egress];
        match view.remaining_hops(packet).nth(1) {
            None => port.last,
            // A packet whose pinned path leads back to its previous node has no queue of its own.
            Some(exit) => port.exit_queue(exit).unwrap_or(QueueIx::added(0)),
        }
    }

    /// Counts a packet that is about to join its queue. Returns true if the queues of its type have
    /// become too long: the servers at all other ports must then be notified.
    #[inline]
    pub(super) fn count_enqueue(&mut self, packet: &PacketContext<'_>) -> bool {
        let port = &mut self.ports[packet.egress];
        let of = port.type_of(packet.queue) as usize;
        port.held[of] += u64::from(packet.bytes());
        let reacts = !port.stops[of] && port.held[of] >= port.thresholds[of].0;
        port.stops[of] |= reacts;
        reacts
    }

    /// Counts a packet that left its queue. Returns true if the queues of its type have become
    /// short enough: the servers at all other ports must then be notified.
    #[inline]
    pub(super) fn count_dequeue(&mut self, packet: &PacketContext<'_>) -> bool {
        let port = &mut self.ports[packet.egress];
        let of = port.type_of(packet.queue) as usize;
        port.held[of] -= u64::from(packet.bytes());
        let reacts = port.stops[of] && port.held[of] <= port.thresholds[of].1;
        port.stops[of] &= !reacts;
        reacts
    }

    /// Notifies the servers at all other ports of a change in the queues of a packet's type.
    pub(super) fn notify(&self, packet: &PacketContext<'_>, pauses: bool, view: &mut View<'_>) {
        let message = Message { pauses, ..self.message_of(packet) };
        for other in self.ports.ids().filter(|other| *other != packet.egress) {
            self.send(other, message, packet.egress, view);
        }
    }

    /// Sends a message about `egress` out of another port.
    fn send(&self, out_of: PortIx, message: Message, egress: PortIx, view: &mut View<'_>) {
        let Port { last, .. } = self.ports[egress];
        let there = view.port(egress);
        let fuller = |of, other| if there.queue_bytes(other) > there.queue_bytes(of) { other } else { of };
        let of_type_a = QueueIx::range(CLASSES..last.index());
        let fullest = if message.of == Type::B { last } else { of_type_a.fold(QueueIx::added(0), fuller) };
        message.send(out_of, view.pause_cause(egress, fullest), view);
    }

    /// Handles a server's message that the B queue of a port behind the server is full, or no
    /// longer full.
    pub(super) fn on_message(&self, port: PortIx, message: Message, causes: Option<&Causes>, view: &mut View<'_>) {
        if let Some(queue) = self.ports[port].exit_queue(message.port) {
            message.obey(port, queue, causes, view);
        }
    }

    pub(super) fn on_link_up(&self, port: PortIx, view: &mut View<'_>) {
        view.open_all(port);
        for (egress, message) in self.messages().filter(|(egress, _)| *egress != port) {
            self.send(port, message, egress, view);
        }
    }

    /// Returns the messages in effect, by egress port.
    fn messages(&self) -> impl Iterator<Item = (PortIx, Message)> {
        let of_port = |(egress, port): (PortIx, &Port)| {
            let types = [Type::A, Type::B].into_iter().filter(|of| port.stops[*of as usize]);
            let port = port.id;
            types.map(move |of| (egress, Message { pauses: true, of, port })).collect::<Vec<_>>()
        };
        self.ports.enumerate().flat_map(of_port)
    }

    /// Returns the message for a full queue of this packet.
    pub(super) fn message_of(&self, packet: &PacketContext<'_>) -> Message {
        let port = &self.ports[packet.egress];
        Message { pauses: true, of: port.type_of(packet.queue), port: port.id }
    }

    pub(super) fn upstream_pauses(&self) -> Vec<(PortIx, PauseScope)> {
        let others = |egress| self.ports.ids().filter(move |other| *other != egress);
        self.messages()
            .flat_map(|(egress, message)| others(egress).map(move |other| (other, message.scope())))
            .collect()
    }

    pub(super) fn scope(&self, port: PortIx, queue: QueueIx) -> Option<PauseScope> {
        let port = self.ports[port].exits.iter().find_map(|exits| exits.exit(queue))?;
        Some(Message { pauses: true, of: Type::B, port }.scope())
    }
}

/// Returns the longest delay of `ports`.
fn longest<'a>(ports: impl IntoIterator<Item = &'a PortFacts>) -> Duration {
    ports.into_iter().map(|port| port.delay).max().unwrap_or_default()
}

/// Returns the thresholds of PAUSE and RESUME at `port`, in bytes.
fn thresholds(config: &PortFcConfig, port: &PortFacts, site: &Site<'_>) -> [(u64, u64); 2] {
    let round_trip = match config.bdp {
        Bdp::Hop => longest(site.ports.iter().filter(|other| other.ix != port.ix)) * 2,
        Bdp::Path => site.base_rtt,
    };
    let bdp = port.rate.bytes_in(round_trip) as f64;
    config.thresholds().map(|(xoff, xon)| ((bdp * xoff) as u64, (bdp * xon) as u64))
}

/// Returns true if a server that relays to this switch has another link faster than its link to the
/// switch.
pub(super) fn is_fed_faster(site: &Site<'_>) -> bool {
    let feeds = |(port, neighbour): (&PortFacts, &crate::contract::Neighbour)| {
        neighbour.relays && site.network.ports(neighbour.node).iter().any(|other| other.rate > port.rate)
    };
    site.links().any(feeds)
}

/// Returns the most bytes that all ports of a switch can hold, if packets pass two switches at most
/// and servers send relayed packets first. Derived in `docs/mechanisms/port-fc.md`.
pub(super) fn need(config: &PortFcConfig, site: &Site<'_>) -> u64 {
    let ports = site.ports.len() as u64;
    let Some(rate) = site.ports.iter().map(|port| port.rate).max() else { return 0 };
    let thresholds = site.ports.iter().flat_map(|port| thresholds(config, port, site));
    let below: u128 = thresholds.map(|(xoff, _)| u128::from(xoff)).sum();
    let beyond = site.links().filter(|(_, neighbour)| neighbour.relays);
    let beyond = longest(beyond.flat_map(|(_, neighbour)| site.network.ports(neighbour.node)));
    // A PAUSE may wait for one frame and for PAUSEs of every port and type. The receiver of the
    // PAUSE finishes another frame.
    let largest = u64::from(site.sizes.largest().wire);
    let pauses = 2 * ports * u64::from(site.sizes.framing.control().wire);
    let hop = longest(site.ports) * 2 + rate.time_for(2 * largest + pauses);
    let two_hops = hop + beyond * 2 + site.shape.relay_delay + rate.time_for(3 * largest + pauses);
    let (pairs, bytes) = (ports * (ports - 1), |time| u128::from(rate.bytes_in(time)));
    let above = u128::from(pairs) * bytes(hop) + u128::from(pairs / 2) * bytes(two_hops);
    u64::try_from(below + above).unwrap_or(u64::MAX)
}
