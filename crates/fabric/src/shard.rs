//! A shard: some of the nodes, their wires and their pending events. Everything that happens in it touches one of its own nodes.
//!
//! Events are ordered by (time, kind, entity), an order that does not depend on which nodes share a shard. Of frames that arrive in the same
//! picosecond, the one whose sender has been sending without a gap for the shortest time goes first: an order by port alone would favour the
//! same port for ever, and ties are the rule among hosts that PFC has let go (`docs/decisions/`). A frame for a node of another shard goes
//! into an outbox and arrives at least one link delay later.

use crate::fabric::Fabric;
use crate::fifo::{Fifo, Frames};
use crate::frame::{Body, Control, Frame};
use crate::host::Endpoint;
use crate::ids::{FlowId, NodeId, PortId, PortIx};
use crate::layout::{Layout, PortPlace, WireIx};
use crate::memory::{HeapBytes, Memory, Share};
use crate::node::{Env, Node, Sink, Wakeup};
use crate::note::{DropCause, Note};
use crate::port::{Closure, Port};
use crate::record::{Record, Records};
use crate::slots::{FlowControl, PortFacts};
use crate::switch::Pipeline;
use backwater_engine::Time;
use backwater_engine::events::{Event, EventSet, KEY_BITS};
use backwater_engine::fingerprint::Fingerprint;
use backwater_engine::prefetch::prefetch;
use backwater_engine::random::{Seed, Stream};

/// The receiving end of a link: frames on their way to one port, first to arrive first.
#[repr(align(64))]
struct Wire {
    frames: Fifo,
    /// When the link last failed.
    failed_at: Option<Time>,
    /// What spoils frames; `None` for a link without errors.
    errors: Option<Box<Stream>>,
}

/// The arrival of a frame on `port`.
#[inline]
fn arrival(at: Time, burst_age: u32, port: PortId) -> Event {
    let key = (Kind::Arrive as u64) << KIND_SHIFT | u64::from(burst_age) << AGE_SHIFT | u64::from(port.0);
    Event { time: at, key }
}

impl Wire {
    /// Why `frame`, which arrives on `port` now, is lost, if it is.
    fn spoils(&mut self, frame: &Frame, port: PortId, now: Time, fabric: &Fabric) -> Option<DropCause> {
        let facts = &fabric.wiring.ports[port.0 as usize];
        if let Some(failed_at) = self.failed_at {
            let travel = facts.delay + fabric.spec.framing.byte_time(facts.rate).times(u32::from(frame.size.wire));
            if failed_at + travel >= now {
                return Some(DropCause::LinkDown);
            }
        }
        let errors = self.errors.as_mut().filter(|_| !frame.is_reliable());
        errors.is_some_and(|errors| errors.chance(facts.error_rate)).then_some(DropCause::LinkError)
    }
}

/// Frames for another shard.
#[derive(Default)]
pub(crate) struct Mail {
    frames: Vec<(PortId, Frame)>,
    records: Vec<Record>,
}

impl Mail {
    /// When the first of its frames arrives; [`Time::NEVER`] if it holds none.
    pub(crate) fn first_arrival(&self) -> Time {
        self.frames.iter().map(|(_, frame)| frame.at).min().unwrap_or(Time::NEVER)
    }
}

/// What a shard has counted and noted.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) events: u64,
    pub(crate) packet_hops: u64,
    pub(crate) pause_frames: u64,
    pub(crate) resume_frames: u64,
    pub(crate) received_flows: u64,
    /// Flows that their senders have done with since somebody last looked.
    pub(crate) acknowledged: Vec<Acknowledged>,
    /// The flow of every data packet lost since somebody last looked.
    pub(crate) lost: Vec<FlowId>,
    pub(crate) pauses: Vec<PauseInterval>,
    /// Drops for want of headroom, unless the scheme is allowed to.
    pub(crate) violations: Vec<LossyDrop>,
    pub(crate) fingerprint: Fingerprint,
}

/// A flow whose sender knows that it is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) flow: FlowId,
    pub(crate) at: Time,
    /// Packets sent, those sent again included.
    pub(crate) packets: u64,
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

/// A packet of a lossless class that a switch had no headroom for.
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
}

/// Kinds of events, in the order in which those of one instant are handled.
#[derive(Clone, Copy)]
enum Kind {
    LinkDown,
    LinkUp,
    Arrive,
    FlowStart,
    FlowControl,
    Retransmission,
    Port,
}

const KINDS: [Kind; 7] =
    [Kind::LinkDown, Kind::LinkUp, Kind::Arrive, Kind::FlowStart, Kind::FlowControl, Kind::Retransmission, Kind::Port];
/// A key is the kind, the age of the sender's burst if it is an arrival, and the name of the port or node.
const KIND_SHIFT: u32 = KEY_BITS - 3;
const AGE_SHIFT: u32 = 27;
const AGE_MAX: u64 = (1 << (KIND_SHIFT - AGE_SHIFT)) - 1;
/// Most ports and nodes that events can name.
pub(crate) const ID_LIMIT: u32 = 1 << AGE_SHIFT;

#[inline]
fn event(kind: Kind, id: u32, time: Time) -> Event {
    Event { time, key: (kind as u64) << KIND_SHIFT | u64::from(id) }
}

#[inline]
fn kind_of(key: u64) -> Kind {
    KINDS[(key >> KIND_SHIFT) as usize]
}

#[inline]
fn id_of(key: u64) -> u32 {
    key as u32 & (ID_LIMIT - 1)
}

/// Index of a wire in its shard's list.
#[inline]
fn wire_index(wire: WireIx) -> usize {
    wire.get() as usize - 1
}

/// What an upcoming event leads to, step by step: each must be near before the next can be asked for.
#[derive(Clone, Copy)]
enum Lead {
    /// Where the wire or the port is.
    Place,
    /// The wire, or the port.
    Entity,
    /// The frame on the wire, or the queue of the port.
    Content,
    /// Where the frame goes.
    Target,
}

/// How many events ahead each step is taken: far enough for the memory to answer, near enough for the answer to stay.
const LEADS: [(usize, Lead); 4] = [(12, Lead::Place), (9, Lead::Entity), (6, Lead::Content), (3, Lead::Target)];

/// With fewer events pending, asking costs more than it saves: 5 to 15 % at 128 hosts (`benches/`), where some thousand are pending.
const LOOK_AHEAD_FROM: usize = 2048;

/// When and where an event happens.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) now: Time,
    pub(crate) fabric: &'a Fabric,
    pub(crate) layout: &'a Layout,
}

/// What lies beyond the ports of a shard's nodes: its wires, its pending events, and what is written down.
pub(crate) struct Outside {
    wires: Vec<Wire>,
    /// The frames on the wires.
    flying: Frames,
    events: EventSet,
    pub(crate) outboxes: Vec<Mail>,
    pub(crate) watch: Watch,
}

impl Outside {
    /// Puts a frame onto the wire to `port`, where it arrives `at`. Only the first frame on a wire has an event; it calls the next.
    #[inline]
    fn carry(&mut self, wire: WireIx, frame: &Frame, at: Time, burst_age: u32, port: PortId) {
        let queue = &mut self.wires[wire_index(wire)].frames;
        if queue.is_empty() {
            self.events.push(arrival(at, burst_age, port));
        }
        let flying = queue.push(frame, &mut self.flying);
        (flying.at, flying.burst_age) = (at, burst_age);
    }
}

/// Some of the nodes of a network. It shares no cache line with the next, which may run on another thread, nor the pair of lines that
/// processors fetch together: that saves two threads a quarter of their time at 128 hosts.
#[repr(align(128))]
pub(crate) struct Shard {
    pub(crate) nodes: Vec<Node>,
    records: Records,
    /// The frames in queues.
    pub(crate) frames: Frames,
    pub(crate) outside: Outside,
}

impl Shard {
    pub(crate) fn new(fabric: &Fabric, layout: &Layout, index: u32, members: &[NodeId]) -> Shard {
        let seed = Seed(fabric.spec.seed);
        let wire = |port: &PortFacts| Wire {
            frames: Fifo::default(),
            failed_at: None,
            errors: (port.error_rate > 0.0).then(|| Box::new(seed.stream("link-errors", u64::from(port.id.0)))),
        };
        let ports = members.iter().flat_map(|node| fabric.wiring.of(*node));
        let mut shard = Shard {
            nodes: members.iter().map(|node| Node::new(fabric, *node)).collect(),
            records: Records::default(),
            frames: Frames::default(),
            outside: Outside {
                wires: ports.map(wire).collect(),
                flying: Frames::default(),
                events: EventSet::default(),
                outboxes: (0..layout.shards).map(|_| Mail::default()).collect(),
                watch: Watch::default(),
            },
        };
        for fault in &fabric.spec.faults {
            for port in fabric.wiring.links[fault.link] {
                if layout.port(port).shard == index {
                    shard.outside.events.push(event(Kind::LinkDown, port.0, fault.down));
                    if fault.up != Time::NEVER {
                        shard.outside.events.push(event(Kind::LinkUp, port.0, fault.up));
                    }
                }
            }
        }
        shard
    }

    /// Tells the source of `flow`, which is a node of this shard, that it will start.
    pub(crate) fn expect_flow(&mut self, flow: FlowId, scene: Scene<'_>) {
        let source = scene.layout.node(scene.fabric.flow(flow).src).node;
        self.at_node(source, scene, |node, env| node.expect_flow(flow, env));
    }

    /// When the next event happens; [`Time::NEVER`] if none is pending.
    pub(crate) fn next_event(&self) -> Time {
        self.outside.events.next_time()
    }

    /// Whether no frame is on a wire or in a queue.
    pub(crate) fn is_quiet(&self) -> bool {
        let held = |node: &Node| node.ports.iter().map(|port| port.held_frames()).sum::<usize>();
        self.outside.wires.iter().all(|wire| wire.frames.is_empty()) && self.nodes.iter().all(|node| held(node) == 0)
    }

    /// What the shard takes of memory.
    pub(crate) fn memory(&self) -> Memory {
        let mut memory = Memory { events: self.outside.events.heap_bytes(), ..Memory::default() };
        let Memory { nodes, ports, flows, frames, reserved, .. } = &mut memory;
        for node in &self.nodes {
            let pipeline = node.pipeline().map_or(0, Pipeline::heap_bytes);
            nodes.count += 1;
            nodes.bytes += size_of::<Node>() as u64 + node.effects.heap_bytes();
            ports.bytes += pipeline + node.flow_control.heap_bytes();
            ports.count += node.ports.len() as u64;
            ports.bytes += node.ports.iter().map(|port| size_of::<Port>() as u64 + port.heap_bytes()).sum::<u64>();
            *flows += node.endpoint().map_or(Share::default(), Endpoint::memory);
        }
        ports.bytes += self.outside.wires.heap_bytes();
        flows.bytes += self.outside.watch.acknowledged.heap_bytes();
        for pool in [&self.frames, &self.outside.flying] {
            *frames += pool.memory();
            *reserved += pool.reserved();
        }
        frames.bytes += self.records.heap_bytes();
        memory
    }

    /// Side records in use.
    pub(crate) fn records_in_use(&self) -> usize {
        self.records.in_use()
    }

    /// Takes in what another shard has sent.
    pub(crate) fn accept(&mut self, mail: &mut Mail, layout: &Layout) {
        let mut records = mail.records.drain(..);
        for (port, mut frame) in mail.frames.drain(..) {
            if frame.record.is_some() {
                let record = records.next().expect("a record travels with every frame that names one");
                frame.record = self.records.insert(record);
            }
            self.outside.carry(layout.port(port).wire, &frame, frame.at, frame.burst_age, port);
        }
    }

    /// Handles every event before `limit`.
    pub(crate) fn run(&mut self, limit: Time, fabric: &Fabric, layout: &Layout) {
        while let Some(Event { time, key }) = self.outside.events.pop_before(limit) {
            self.outside.watch.events += 1;
            self.look_ahead(fabric, layout);
            self.handle(kind_of(key), id_of(key), Scene { now: time, fabric, layout });
        }
        self.pack_records();
    }

    /// Asks the memory for what the next events will need.
    #[inline]
    fn look_ahead(&self, fabric: &Fabric, layout: &Layout) {
        if self.outside.events.len() < LOOK_AHEAD_FROM {
            return;
        }
        for (steps, lead) in LEADS {
            let Some(key) = self.outside.events.ahead(steps) else { continue };
            let port = PortId(id_of(key));
            match (kind_of(key), lead) {
                (Kind::Arrive | Kind::Port, Lead::Place) => prefetch(layout.port(port)),
                (Kind::Arrive, _) => self.expect_arrival(lead, port, fabric, layout),
                (Kind::Port, _) => self.expect_departure(lead, layout.port(port)),
                _ => {}
            }
        }
    }

    #[inline]
    fn expect_arrival(&self, lead: Lead, port: PortId, fabric: &Fabric, layout: &Layout) {
        let Outside { wires, flying, .. } = &self.outside;
        let place = layout.port(port);
        let wire = &wires[wire_index(place.wire)];
        match lead {
            Lead::Place => {}
            Lead::Entity => prefetch(wire),
            Lead::Content => wire.frames.expect_front(flying),
            Lead::Target => {
                let node = &self.nodes[place.node as usize];
                let egress = wire.frames.front(flying).and_then(|frame| node.expect_arrival(place.ix, frame, fabric));
                if let Some(egress) = egress {
                    // Ports of a node are numbered without gaps.
                    let onward = layout.port(PortId(port.0 - u32::from(place.ix) + u32::from(egress)));
                    self.expect_transmission(onward);
                }
            }
        }
    }

    /// Asks for the wire that the port at `place` sends into.
    #[inline]
    fn expect_transmission(&self, place: &PortPlace) {
        if let Some(wire) = place.peer_wire {
            prefetch(&self.outside.wires[wire_index(wire)]);
        }
    }

    #[inline]
    fn expect_departure(&self, lead: Lead, place: &PortPlace) {
        let node = &self.nodes[place.node as usize];
        let port = &node.ports[usize::from(place.ix)];
        match lead {
            Lead::Place => {}
            Lead::Entity => {
                port.expect_use();
                self.expect_transmission(place);
            }
            Lead::Content => port.expect_departure(),
            Lead::Target => {
                node.expect_departure(place.ix, &self.frames);
                if let Some(wire) = place.peer_wire {
                    self.outside.wires[wire_index(wire)].frames.expect_push(&self.outside.flying);
                }
            }
        }
    }

    #[inline]
    fn handle(&mut self, kind: Kind, id: u32, scene: Scene<'_>) {
        let port = PortId(id);
        match kind {
            Kind::Arrive => self.arrive(port, scene),
            Kind::Port => self.at_port(port, scene, |node, ix, env| node.port_ready(ix, env)),
            Kind::FlowControl => self.at_port(port, scene, |node, ix, env| node.flow_control_timer(ix, env)),
            Kind::FlowStart => {
                self.at_node(scene.layout.node(NodeId(id)).node, scene, |node, env| node.start_flows(env))
            }
            Kind::Retransmission => self.at_node(scene.layout.node(NodeId(id)).node, scene, |node, env| {
                node.retransmission_timer(env);
            }),
            Kind::LinkDown => {
                self.outside.wires[wire_index(scene.layout.port(port).wire)].failed_at = Some(scene.now);
                self.at_port(port, scene, |node, ix, env| node.link_change(ix, false, env));
            }
            Kind::LinkUp => self.at_port(port, scene, |node, ix, env| node.link_change(ix, true, env)),
        }
    }

    /// The first frame on the wire to `port` arrives.
    #[inline]
    fn arrive(&mut self, port: PortId, scene: Scene<'_>) {
        let place = scene.layout.port(port);
        let Outside { wires, flying, events, watch, .. } = &mut self.outside;
        let wire = &mut wires[wire_index(place.wire)];
        let frame = wire.frames.pop(flying);
        if let Some(next) = wire.frames.front(flying) {
            events.push(arrival(next.at, next.burst_age, port));
        }
        watch.fingerprint.add(scene.now.ps(), u64::from(port.0), frame.digest());
        let is_sound = wire.failed_at.is_none() && wire.errors.is_none();
        let spoilt = if is_sound { None } else { wire.spoils(&frame, port, scene.now, scene.fabric) };
        self.at_node(place.node, scene, |node, env| match spoilt {
            None => node.arrive(place.ix, &frame, env),
            Some(cause) => node.arrive_spoilt(place.ix, &frame, cause, env),
        });
    }

    #[inline]
    fn at_port(
        &mut self,
        port: PortId,
        scene: Scene<'_>,
        act: impl FnOnce(&mut Node, PortIx, &mut Env<'_, ShardSink<'_>>),
    ) {
        let place = scene.layout.port(port);
        self.at_node(place.node, scene, |node, env| act(node, place.ix, env));
    }

    /// Lets the shard's node number `node` act, with all that it works with.
    #[inline]
    fn at_node(&mut self, node: u32, scene: Scene<'_>, act: impl FnOnce(&mut Node, &mut Env<'_, ShardSink<'_>>)) {
        let Shard { nodes, records, frames, outside } = self;
        let sink = &mut ShardSink { scene, outside };
        act(&mut nodes[node as usize], &mut Env { now: scene.now, fabric: scene.fabric, records, frames, sink });
    }

    /// Packs the records of frames that leave for other shards.
    fn pack_records(&mut self) {
        for mail in &mut self.outside.outboxes {
            let leaving = mail.frames.iter().map(|(_, frame)| frame.record);
            mail.records.extend(leaving.filter_map(|record| self.records.take(record)));
        }
    }
}

/// What nodes push their effects into.
struct ShardSink<'a> {
    scene: Scene<'a>,
    outside: &'a mut Outside,
}

impl Sink for ShardSink<'_> {
    #[inline]
    fn transmit(&mut self, port: PortId, frame: &Frame, done: Time, burst_start: Time) {
        let watch = &mut self.outside.watch;
        watch.packet_hops += 1;
        match &frame.body {
            Body::Control(Control::Pfc(pfc)) if pfc.quanta == 0 => watch.resume_frames += 1,
            Body::Control(Control::Pfc(_)) => watch.pause_frames += 1,
            _ => {}
        }
        let place = self.scene.layout.port(port);
        let at = done + place.delay;
        let burst_age = ((at - burst_start).ps() / 1000).min(AGE_MAX) as u32;
        match place.peer_wire {
            Some(wire) => self.outside.carry(wire, frame, at, burst_age, place.peer),
            None => {
                let shard = self.scene.layout.port(place.peer).shard;
                self.outside.outboxes[shard as usize].frames.push((place.peer, Frame { at, burst_age, ..*frame }));
            }
        }
    }

    fn schedule(&mut self, wakeup: Wakeup, at: Time) {
        self.outside.events.push(match wakeup {
            Wakeup::FlowStart(node) => event(Kind::FlowStart, node.0, at),
            Wakeup::FlowControl(port) => event(Kind::FlowControl, port.0, at),
            Wakeup::Retransmission(node) => event(Kind::Retransmission, node.0, at),
            Wakeup::Port(port) => event(Kind::Port, port.0, at),
        });
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Dropped { node, ingress, class, flow, cause, .. } => {
                self.outside.watch.lost.extend(flow);
                if cause == DropCause::Headroom && self.scene.fabric.is_lossless {
                    self.outside.watch.violations.push(LossyDrop { at: self.scene.now, node, ingress, class });
                }
            }
            Note::Paused { port, queue, closure } => {
                self.outside.watch.pauses.push(PauseInterval { port, queue, closure })
            }
            Note::Received { .. } => self.outside.watch.received_flows += 1,
            Note::Acknowledged { flow, packets, retransmitted } => {
                self.outside.watch.acknowledged.push(Acknowledged { flow, at: self.scene.now, packets, retransmitted });
            }
        }
    }
}
