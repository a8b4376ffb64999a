//! A shard: some of the nodes, their wires and their pending events. Everything that happens in it touches one of its own nodes.
//!
//! Events are ordered by (time, kind, entity), an order that does not depend on which nodes share a shard. Of frames that arrive in the same
//! picosecond, the one whose sender has been sending without a gap for the shortest time goes first: an order by port alone would favour the
//! same port for ever, and ties are the rule among hosts that PFC has let go (`docs/decisions/`). A frame for a node of another shard goes
//! into an outbox and arrives at least one link delay later.

use crate::fabric::Fabric;
use crate::frame::{Body, Control, Frame};
use crate::ids::{FlowId, NodeId, PortId, PortIx};
use crate::node::{Env, Node, Sink, Wakeup};
use crate::note::{DropCause, Note};
use crate::port::Closure;
use crate::record::{Record, Records};
use crate::slots::PortFacts;
use backwater_engine::Time;
use backwater_engine::events::{Event, EventSet};
use backwater_engine::fingerprint::Fingerprint;
use backwater_engine::random::{Seed, Stream};
use std::collections::VecDeque;

/// Where nodes and ports live.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Number of shards; some may be empty.
    pub(crate) shards: usize,
    /// Per node, its shard and its number there.
    pub(crate) nodes: Vec<(u32, u32)>,
    /// Per port, the place of its node, its number in the node, and its wire's number in the shard.
    pub(crate) ports: Vec<PortPlace>,
}

/// Where a port lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortPlace {
    pub(crate) shard: u32,
    pub(crate) node: u32,
    pub(crate) ix: PortIx,
    pub(crate) wire: u32,
}

/// The receiving end of a link: frames on their way to one port, first to arrive first.
struct Wire {
    frames: VecDeque<InFlight>,
    /// When the link last failed.
    failed_at: Option<Time>,
    /// What spoils frames; `None` for a link without errors.
    errors: Option<Box<Stream>>,
}

/// A frame on a wire.
struct InFlight {
    arrival: Time,
    /// How long its sender will have been sending without a gap when it arrives, in whole nanoseconds.
    burst_age: u32,
    frame: Frame,
}

impl InFlight {
    fn arrival_at(&self, port: PortId) -> Event {
        let entity = u64::from(self.burst_age) << AGE_SHIFT | u64::from(port.0);
        Event { time: self.arrival, key: (Kind::Arrive as u64) << KIND_SHIFT | entity }
    }
}

/// Frames for another shard.
#[derive(Default)]
pub(crate) struct Mail {
    frames: Vec<(PortId, InFlight)>,
    records: Vec<Record>,
}

/// What a shard has counted and noted.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) events: u64,
    pub(crate) packet_hops: u64,
    pub(crate) pause_frames: u64,
    pub(crate) resume_frames: u64,
    pub(crate) received_flows: u64,
    pub(crate) acknowledged: Vec<Acknowledged>,
    pub(crate) pauses: Vec<PauseInterval>,
    pub(crate) drops: Vec<LossyDrop>,
    pub(crate) fingerprint: Fingerprint,
}

/// A flow whose sender knows that it is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) flow: FlowId,
    pub(crate) at: Time,
    pub(crate) retransmitted: u64,
}

/// An interval in which an egress queue was paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseInterval {
    /// The paused port.
    pub port: PortId,
    /// Its queue; of a class-based flow control, the class.
    pub queue: u16,
    /// From when to when, and because of whom.
    pub closure: Closure,
}

/// A packet that a switch had no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossyDrop {
    /// When.
    pub at: Time,
    /// Where.
    pub node: NodeId,
    /// The port through which it came.
    pub ingress: PortId,
    /// Its class.
    pub class: crate::ids::Class,
    /// Why.
    pub cause: DropCause,
}

/// Kinds of events, in the order in which those of one instant are handled.
#[derive(Clone, Copy)]
enum Kind {
    LinkDown,
    LinkUp,
    Arrive,
    FlowStart,
    FlowControl,
    FlowTimeout,
    Port,
}

const KINDS: [Kind; 7] =
    [Kind::LinkDown, Kind::LinkUp, Kind::Arrive, Kind::FlowStart, Kind::FlowControl, Kind::FlowTimeout, Kind::Port];
const KIND_SHIFT: u32 = 56;
/// Between kind and entity of an arrival stands the age of its sender's burst.
const AGE_SHIFT: u32 = 32;
const AGE_MAX: u64 = (1 << (KIND_SHIFT - AGE_SHIFT)) - 1;

fn event(kind: Kind, id: u32, time: Time) -> Event {
    Event { time, key: (kind as u64) << KIND_SHIFT | u64::from(id) }
}

/// Some of the nodes of a network.
pub(crate) struct Shard {
    index: u32,
    pub(crate) nodes: Vec<Node>,
    wires: Vec<Wire>,
    events: EventSet,
    records: Records,
    pub(crate) outboxes: Vec<Mail>,
    pub(crate) watch: Watch,
}

impl Shard {
    pub(crate) fn new(fabric: &Fabric, layout: &Layout, index: u32, members: &[NodeId]) -> Shard {
        let seed = Seed(fabric.spec.seed);
        let wire = |port: &PortFacts| Wire {
            frames: VecDeque::new(),
            failed_at: None,
            errors: (port.error_rate > 0.0).then(|| Box::new(seed.stream("link-errors", u64::from(port.id.0)))),
        };
        let ports = members.iter().flat_map(|node| fabric.wiring.of(*node));
        let mut shard = Shard {
            index,
            nodes: members.iter().map(|node| Node::new(fabric, *node)).collect(),
            wires: ports.map(wire).collect(),
            events: EventSet::default(),
            records: Records::default(),
            outboxes: (0..layout.shards).map(|_| Mail::default()).collect(),
            watch: Watch::default(),
        };
        for node in &shard.nodes {
            if let Some(start) = node.endpoint().and_then(|endpoint| endpoint.next_start(fabric)) {
                shard.events.push(event(Kind::FlowStart, node.id.0, start));
            }
        }
        for fault in &fabric.spec.faults {
            for port in fabric.wiring.links[fault.link] {
                if layout.ports[port.0 as usize].shard == index {
                    shard.events.push(event(Kind::LinkDown, port.0, fault.down));
                    if fault.up != Time::NEVER {
                        shard.events.push(event(Kind::LinkUp, port.0, fault.up));
                    }
                }
            }
        }
        shard
    }

    /// When the next event happens; [`Time::NEVER`] if none is pending.
    pub(crate) fn next_event(&mut self) -> Time {
        self.events.peek().map_or(Time::NEVER, |event| event.time)
    }

    /// Whether no frame is on a wire or in a queue.
    pub(crate) fn is_quiet(&self) -> bool {
        let held = |node: &Node| node.ports.iter().map(|port| port.held_frames()).sum::<usize>();
        self.wires.iter().all(|wire| wire.frames.is_empty()) && self.nodes.iter().all(|node| held(node) == 0)
    }

    /// Side records in use.
    pub(crate) fn records_in_use(&self) -> usize {
        self.records.in_use()
    }

    /// Takes in what another shard has sent.
    pub(crate) fn accept(&mut self, mail: &mut Mail, layout: &Layout) {
        let mut records = mail.records.drain(..);
        for (port, mut in_flight) in mail.frames.drain(..) {
            if in_flight.frame.record.is_some() {
                let record = records.next().expect("a record travels with every frame that names one");
                in_flight.frame.record = self.records.insert(record);
            }
            let wire = &mut self.wires[layout.ports[port.0 as usize].wire as usize];
            if wire.frames.is_empty() {
                self.events.push(in_flight.arrival_at(port));
            }
            wire.frames.push_back(in_flight);
        }
    }

    /// Handles every event before `limit`.
    pub(crate) fn run(&mut self, limit: Time, fabric: &Fabric, layout: &Layout) {
        while let Some(Event { time, key }) = self.events.pop_before(limit) {
            self.watch.events += 1;
            self.handle(KINDS[(key >> KIND_SHIFT) as usize], key as u32, time, fabric, layout);
        }
        self.pack_records();
    }

    #[inline]
    fn handle(&mut self, kind: Kind, id: u32, now: Time, fabric: &Fabric, layout: &Layout) {
        let place = |port: u32| layout.ports[port as usize];
        let (node, ix, wire) = match kind {
            Kind::FlowStart => (layout.nodes[id as usize].1, 0, 0),
            Kind::FlowTimeout => (layout.nodes[fabric.flow(FlowId(id)).src.0 as usize].1, 0, 0),
            _ => (place(id).node, place(id).ix, place(id).wire as usize),
        };
        let arrival = matches!(kind, Kind::Arrive).then(|| self.take_arrival(PortId(id), wire, now, fabric));
        if matches!(kind, Kind::LinkDown) {
            self.wires[wire].failed_at = Some(now);
        }
        let sink = &mut ShardSink {
            now,
            shard: self.index,
            fabric,
            layout,
            wires: &mut self.wires,
            events: &mut self.events,
            outboxes: &mut self.outboxes,
            watch: &mut self.watch,
        };
        let env = &mut Env { now, fabric, records: &mut self.records, sink };
        let node = &mut self.nodes[node as usize];
        match (kind, arrival) {
            (Kind::Arrive, Some((frame, None))) => node.arrive(ix, frame, env),
            (Kind::Arrive, Some((frame, Some(cause)))) => node.arrive_spoilt(ix, frame, cause, env),
            (Kind::Port, _) => node.port_ready(ix, env),
            (Kind::FlowStart, _) => node.start_flows(env),
            (Kind::FlowControl, _) => node.flow_control_timer(ix, env),
            (Kind::FlowTimeout, _) => node.flow_timeout(FlowId(id), env),
            (Kind::LinkDown, _) => node.link_change(ix, false, env),
            (Kind::LinkUp, _) => node.link_change(ix, true, env),
            (Kind::Arrive, None) => unreachable!("an arrival takes its frame from the wire"),
        }
    }

    /// The frame that arrives on `port` now, and why it is lost, if it is.
    fn take_arrival(&mut self, port: PortId, wire: usize, now: Time, fabric: &Fabric) -> (Frame, Option<DropCause>) {
        let wire = &mut self.wires[wire];
        let InFlight { frame, .. } =
            wire.frames.pop_front().expect("an arrival is pending only while a frame is on the wire");
        match wire.frames.front() {
            Some(next) => self.events.push(next.arrival_at(port)),
            None => wire.frames.clear(),
        }
        self.watch.fingerprint.add(now.ps(), u64::from(port.0), frame.digest());
        let facts = &fabric.wiring.ports[port.0 as usize];
        if let Some(failed_at) = wire.failed_at {
            let travel = facts.delay + fabric.spec.framing.byte_time(facts.rate).times(u32::from(frame.size.wire));
            if failed_at + travel >= now {
                return (frame, Some(DropCause::LinkDown));
            }
        }
        let errors = wire.errors.as_mut().filter(|_| !frame.is_reliable());
        let spoilt = errors.is_some_and(|errors| errors.chance(facts.error_rate));
        (frame, spoilt.then_some(DropCause::LinkError))
    }

    /// Packs the records of frames that leave for other shards.
    fn pack_records(&mut self) {
        for mail in &mut self.outboxes {
            let leaving = mail.frames.iter().map(|(_, in_flight)| in_flight.frame.record);
            mail.records.extend(leaving.filter_map(|record| self.records.take(record)));
        }
    }
}

/// What nodes push their effects into.
struct ShardSink<'a> {
    now: Time,
    shard: u32,
    fabric: &'a Fabric,
    layout: &'a Layout,
    wires: &'a mut [Wire],
    events: &'a mut EventSet,
    outboxes: &'a mut [Mail],
    watch: &'a mut Watch,
}

impl Sink for ShardSink<'_> {
    #[inline]
    fn transmit(&mut self, port: PortId, frame: Frame, done: Time, burst_start: Time) {
        self.watch.packet_hops += 1;
        match &frame.body {
            Body::Control(Control::Pfc(pfc)) if pfc.quanta == 0 => self.watch.resume_frames += 1,
            Body::Control(Control::Pfc(_)) => self.watch.pause_frames += 1,
            _ => {}
        }
        let facts = &self.fabric.wiring.ports[port.0 as usize];
        let (peer, arrival) = (facts.peer, done + facts.delay);
        let burst_age = ((arrival - burst_start).ps() / 1000).min(AGE_MAX) as u32;
        let in_flight = InFlight { arrival, burst_age, frame };
        let place = &self.layout.ports[peer.0 as usize];
        if place.shard == self.shard {
            let wire = &mut self.wires[place.wire as usize];
            if wire.frames.is_empty() {
                self.events.push(in_flight.arrival_at(peer));
            }
            wire.frames.push_back(in_flight);
        } else {
            self.outboxes[place.shard as usize].frames.push((peer, in_flight));
        }
    }

    fn schedule(&mut self, wakeup: Wakeup, at: Time) {
        self.events.push(match wakeup {
            Wakeup::FlowStart(node) => event(Kind::FlowStart, node.0, at),
            Wakeup::FlowControl(port) => event(Kind::FlowControl, port.0, at),
            Wakeup::FlowTimeout(flow) => event(Kind::FlowTimeout, flow.0, at),
            Wakeup::Port(port) => event(Kind::Port, port.0, at),
        });
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Dropped { node, ingress, class, cause, .. } => {
                if matches!(cause, DropCause::Headroom | DropCause::BufferFull) {
                    self.watch.drops.push(LossyDrop { at: self.now, node, ingress, class, cause });
                }
            }
            Note::Paused { port, queue, closure } => self.watch.pauses.push(PauseInterval { port, queue, closure }),
            Note::Received { .. } => self.watch.received_flows += 1,
            Note::Acknowledged { flow, retransmitted } => {
                self.watch.acknowledged.push(Acknowledged { flow, at: self.now, retransmitted });
            }
        }
    }
}
