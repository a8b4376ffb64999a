//! Kernel with the calendar of the simulator: nodes handle their events of an epoch one node after
//! another.

use crate::{ECN_THRESHOLD, Figures, PACKET};
use backwater_engine::calendar::{Calendar, EPOCHS};
use backwater_engine::tournament::Tournament;
use backwater_engine::units::ByteTime;
use backwater_engine::{Duration, Time};
use backwater_fabric::network::fabric::Fabric;
use std::collections::VecDeque;
use std::ops::Range;

/// Maximum length of an epoch, as in the simulator.
const LONGEST: Duration = Duration::from_us(2);
/// Time by which all hosts have started, if the calendar reaches so far.
const LAST_START: Duration = Duration::from_us(32);
/// Bits of a key after the time: whether the event is a wake-up, then the port.
const WAKE: u64 = 1 << 16;
const TIME_SHIFT: u32 = 17;

/// A packet, stored by value in queues and on wires.
#[derive(Clone, Copy)]
struct Packet {
    flow: u32,
    hop: u16,
    ingress: u32,
    marked: bool,
}

/// Sending side of a port.
struct Egress {
    queue: VecDeque<Packet>,
    bytes: u64,
    busy_until: Time,
    is_waiting: bool,
    sent: u64,
    byte_time: ByteTime,
    delay: Duration,
    peer: u32,
    peer_node: u32,
    /// Endless flow that a host sends through this port.
    source: Option<u32>,
}

/// Receiving side of a port.
#[derive(Default)]
struct Ingress {
    /// Packets and the times of their arrivals.
    wire: VecDeque<(Time, Packet)>,
    bytes: u64,
}

struct Node {
    ports: Range<u32>,
    /// Times at which ports become idle, in order, and the ports.
    wake_ups: VecDeque<(Time, u32)>,
}

pub(crate) struct Kernel {
    egress: Vec<Egress>,
    ingress: Vec<Ingress>,
    nodes: Vec<Node>,
    /// Egress ports of each flow's path.
    paths: Vec<Vec<u32>>,
    calendar: Calendar,
    /// Start and end of the present epoch.
    epoch: Range<Time>,
    arrivals: Tournament,
    figures: Figures,
}

impl Kernel {
    /// Creates the kernel.
    ///
    /// # Errors
    ///
    /// If a packet is on a link for so long that the calendar does not reach its arrival.
    pub(crate) fn new(fabric: &Fabric, paths: Vec<Vec<u32>>) -> Result<Kernel, String> {
        let ports = &fabric.wiring.ports;
        let epoch = ports.iter().map(|port| port.delay).min().unwrap_or(LONGEST).min(LONGEST);
        let reach = epoch * (EPOCHS - 1);
        if let Some(port) = ports.iter().find(|port| port.delay + ByteTime::of(port.rate).times(PACKET) > reach) {
            let name = fabric.port_name(port.id);
            return Err(format!(
                "the link of {name}: a packet takes more than {reach}, which is {} times the shortest link delay; the \
                 kernel cannot simulate this network",
                EPOCHS - 1
            ));
        }
        let egress = ports.iter().map(|port| Egress {
            queue: VecDeque::new(),
            bytes: 0,
            busy_until: Time::ZERO,
            is_waiting: false,
            sent: 0,
            byte_time: ByteTime::of(port.rate),
            delay: port.delay,
            peer: port.peer.0,
            peer_node: ports[port.peer].node.0,
            source: None,
        });
        let node = |node| {
            let ports = fabric.wiring.ports_of(node);
            let first = ports.first().map_or(0, |port| port.id.0);
            Node { ports: first..first + ports.len() as u32, wake_ups: VecDeque::new() }
        };
        let nodes: Vec<Node> = fabric.spec.nodes.ids().map(node).collect();
        let mut kernel = Kernel {
            egress: egress.collect(),
            ingress: ports.iter().map(|_| Ingress::default()).collect(),
            calendar: Calendar::new(nodes.len(), epoch),
            epoch: Time::ZERO..Time::ZERO,
            nodes,
            arrivals: Tournament::default(),
            paths,
            figures: Figures::default(),
        };
        for flow in 0..kernel.paths.len() {
            let port = kernel.paths[flow][0];
            kernel.egress[port as usize].source = Some(flow as u32);
            // Stagger the starts of hosts, so that their packets do not move in lockstep.
            let at = Time::from_ps(flow as u64 * 977 % LAST_START.min(reach).ps());
            let node = kernel.egress[kernel.egress[port as usize].peer as usize].peer_node;
            kernel.wake(node, port, at);
        }
        Ok(kernel)
    }

    pub(crate) fn run(&mut self, hops: u64) -> Figures {
        while self.figures.packet_hops < hops
            && let Some(epoch) = self.calendar.next()
        {
            self.calendar.advance(epoch);
            self.epoch = self.calendar.start_of(epoch)..self.calendar.start_of(epoch + 1);
            let mut from = 0;
            while let Some(node) = self.calendar.take(from) {
                self.visit(node);
                from = node + 1;
            }
            self.calendar.close();
        }
        self.figures
    }

    /// Returns the key by which an event of the present epoch is ordered; [`Tournament::OUT`] for a
    /// later event.
    fn key(&self, at: Time, place: u64) -> u64 {
        if at < self.epoch.end { (at - self.epoch.start).ps() << TIME_SHIFT | place } else { Tournament::OUT }
    }

    /// Returns the key of the first arrival at a port.
    fn arrival(&self, ix: u64, ingress: &Ingress) -> u64 {
        ingress.wire.front().map_or(Tournament::OUT, |(at, _)| self.key(*at, ix))
    }

    /// Handles the events of a node in the present epoch.
    fn visit(&mut self, node: u32) {
        let Range { start, end } = self.nodes[node as usize].ports;
        let mut arrivals = std::mem::take(&mut self.arrivals);
        let ports = self.ingress[start as usize..end as usize].iter().enumerate();
        arrivals.begin(ports.map(|(ix, ingress)| self.arrival(ix as u64, ingress)));
        loop {
            let first = self.nodes[node as usize].wake_ups.front();
            let wake_up = first.map_or(Tournament::OUT, |(at, port)| self.key(*at, WAKE | u64::from(port - start)));
            let next = arrivals.smallest().min(wake_up);
            if next == Tournament::OUT {
                break;
            }
            self.figures.events += 1;
            let now = self.epoch.start + Duration::from_ps(next >> TIME_SHIFT);
            let ix = next & (WAKE - 1);
            let port = start + ix as u32;
            if next < wake_up {
                let Some((_, packet)) = self.ingress[port as usize].wire.pop_front() else { break };
                arrivals.change(ix as usize, self.arrival(ix, &self.ingress[port as usize]));
                self.arrive(node, port, packet, now);
            } else {
                self.nodes[node as usize].wake_ups.pop_front();
                self.send(node, port, now);
            }
        }
        self.arrivals = arrivals;
    }

    /// Schedules a wake-up.
    fn wake(&mut self, node: u32, port: u32, at: Time) {
        let wake_ups = &mut self.nodes[node as usize].wake_ups;
        let mut index = wake_ups.len();
        wake_ups.push_back((at, port));
        while index > 0 && wake_ups[index - 1] > (at, port) {
            wake_ups.swap(index - 1, index);
            index -= 1;
        }
        self.expect(node, at);
    }

    /// Notes that a node has something to do after this visit.
    fn expect(&mut self, node: u32, at: Time) {
        if at >= self.epoch.end {
            let is_marked = self.calendar.mark(node, at);
            debug_assert!(is_marked, "`new` refuses slower links");
        }
    }

    fn arrive(&mut self, node: u32, port: u32, mut packet: Packet, now: Time) {
        packet.hop += 1;
        let path = &self.paths[packet.flow as usize];
        let Some(next) = path.get(usize::from(packet.hop)).copied() else {
            self.figures.delivered += 1;
            return;
        };
        self.ingress[port as usize].bytes += u64::from(PACKET);
        packet.ingress = port;
        let egress = &mut self.egress[next as usize];
        egress.bytes += u64::from(PACKET);
        egress.queue.push_back(packet);
        let until = egress.busy_until;
        if until <= now {
            self.send(node, next, now);
        } else if !egress.is_waiting {
            egress.is_waiting = true;
            self.wake(node, next, until);
        }
    }

    fn send(&mut self, node: u32, port: u32, now: Time) {
        let egress = &mut self.egress[port as usize];
        if egress.busy_until > now {
            return;
        }
        egress.is_waiting = false;
        let packet = if let Some(flow) = egress.source {
            Packet { flow, hop: 0, ingress: 0, marked: false }
        } else {
            let Some(mut packet) = egress.queue.pop_front() else { return };
            egress.bytes -= u64::from(PACKET);
            self.ingress[packet.ingress as usize].bytes -= u64::from(PACKET);
            packet.marked |= egress.bytes > ECN_THRESHOLD;
            packet
        };
        self.figures.packet_hops += 1;
        egress.sent += u64::from(PACKET);
        egress.busy_until = now + egress.byte_time.times(PACKET);
        let (peer, peer_node, until, delay) = (egress.peer, egress.peer_node, egress.busy_until, egress.delay);
        if egress.source.is_some() || !egress.queue.is_empty() {
            egress.is_waiting = true;
            self.wake(node, port, until);
        }
        self.ingress[peer as usize].wire.push_back((until + delay, packet));
        self.expect(peer_node, until + delay);
    }
}
