//! Former kernel: all events of the network are in one pending-event set. It is kept as the fixed
//! reference for ratios, and changes only if the interfaces that it uses do.

mod event_set;

use self::event_set::{Event, EventSet};
use crate::{ECN_THRESHOLD, Figures, PACKET};
use backwater_engine::prefetch::prefetch;
use backwater_engine::units::ByteTime;
use backwater_engine::{Duration, Time};
use backwater_fabric::network::fabric::Fabric;
use std::collections::VecDeque;

/// Minimum number of ports for prefetching.
const LOOK_AHEAD_FROM: usize = 2048;
const ARRIVE: u64 = 0;
const SEND: u64 = 1 << 32;

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
    /// Endless flow that a host sends through this port.
    source: Option<u32>,
}

/// Receiving side of a port.
#[derive(Default)]
struct Ingress {
    wire: VecDeque<Packet>,
    bytes: u64,
}

pub(crate) struct Kernel {
    egress: Vec<Egress>,
    ingress: Vec<Ingress>,
    /// Egress ports of each flow's path.
    paths: Vec<Vec<u32>>,
    events: EventSet,
    hops: u64,
    handled: u64,
    delivered: u64,
}

impl Kernel {
    pub(crate) fn new(fabric: &Fabric, paths: Vec<Vec<u32>>) -> Kernel {
        let egress = fabric.wiring.ports.iter().map(|port| Egress {
            queue: VecDeque::new(),
            bytes: 0,
            busy_until: Time::ZERO,
            is_waiting: false,
            sent: 0,
            byte_time: ByteTime::of(port.rate),
            delay: port.delay,
            peer: port.peer.0,
            source: None,
        });
        let mut kernel = Kernel {
            egress: egress.collect(),
            ingress: fabric.wiring.ports.iter().map(|_| Ingress::default()).collect(),
            paths,
            events: EventSet::default(),
            hops: 0,
            handled: 0,
            delivered: 0,
        };
        for flow in 0..kernel.paths.len() {
            let port = kernel.paths[flow][0];
            kernel.egress[port as usize].source = Some(flow as u32);
            // Stagger the starts of hosts, so that their packets do not move in lockstep.
            kernel.events.push(Event { time: Time::from_ps(flow as u64 * 977), key: SEND | u64::from(port) });
        }
        kernel
    }

    pub(crate) fn run(&mut self, hops: u64) -> Figures {
        while self.hops < hops
            && let Some(Event { time, key }) = self.events.pop_before(Time::NEVER)
        {
            self.handled += 1;
            self.look_ahead();
            let port = key as u32;
            if key < SEND { self.arrive(port, time) } else { self.send(port, time) }
        }
        Figures { packet_hops: self.hops, events: self.handled, delivered: self.delivered }
    }

    /// Prefetches the data of the next events: first the port, then the packet.
    fn look_ahead(&self) {
        if self.ingress.len() < LOOK_AHEAD_FROM {
            return;
        }
        if let Some(key) = self.events.ahead(6) {
            let port = key as u32 as usize;
            if key < SEND { prefetch(&self.ingress[port]) } else { prefetch(&self.egress[port]) }
        }
        if let Some(key) = self.events.ahead(3) {
            let port = key as u32 as usize;
            if key < SEND {
                if let Some(packet) = self.ingress[port].wire.front() {
                    prefetch(packet);
                }
            } else {
                if let Some(packet) = self.egress[port].queue.front() {
                    prefetch(packet);
                }
            }
        }
    }

    fn arrive(&mut self, port: u32, now: Time) {
        let ingress = &mut self.ingress[port as usize];
        let Some(mut packet) = ingress.wire.pop_front() else { return };
        packet.hop += 1;
        let path = &self.paths[packet.flow as usize];
        let Some(next) = path.get(usize::from(packet.hop)).copied() else {
            self.delivered += 1;
            return;
        };
        ingress.bytes += u64::from(PACKET);
        packet.ingress = port;
        let egress = &mut self.egress[next as usize];
        egress.bytes += u64::from(PACKET);
        egress.queue.push_back(packet);
        if egress.busy_until <= now {
            self.send(next, now);
        } else if !egress.is_waiting {
            egress.is_waiting = true;
            self.events.push(Event { time: egress.busy_until, key: SEND | u64::from(next) });
        }
    }

    fn send(&mut self, port: u32, now: Time) {
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
        self.hops += 1;
        egress.sent += u64::from(PACKET);
        egress.busy_until = now + egress.byte_time.times(PACKET);
        if egress.source.is_some() || !egress.queue.is_empty() {
            egress.is_waiting = true;
            self.events.push(Event { time: egress.busy_until, key: SEND | u64::from(port) });
        }
        let (peer, arrival) = (egress.peer, egress.busy_until + egress.delay);
        self.events.push(Event { time: arrival, key: ARRIVE | u64::from(peer) });
        self.ingress[peer as usize].wire.push_back(packet);
    }
}
