//! A shard: some of the nodes, their wires and their pending events. Everything that happens in it touches one of its own nodes.
//!
//! Events are ordered by (time, kind, entity), an order that does not depend on which nodes share a shard. Of frames that arrive in the same
//! picosecond, the one whose sender has been sending without a gap for the shortest time goes first: an order by port alone would favour the
//! same port for ever, and ties are the rule among hosts that PFC has resumed (`docs/decisions/`). A frame for a node of another shard goes
//! into an outbox and arrives at least one link delay later.

use crate::contract::note::{DropCause, Note};
use crate::contract::{FlowControlAccounts, PortFacts};
use crate::driver::layout::Layout;
use crate::driver::memory::Memory;
use crate::frame::cause::Closure;
use crate::frame::record::{Record, Records};
use crate::frame::{Body, Frame, Signal};
use crate::ids::{Class, FlowId, ID_LIMIT, NodeId, PortId, PortIx};
use crate::model::fifo::{Fifo, Frames, Pool};
use crate::model::host::Endpoint;
use crate::model::node::{Env, Node, Sink, Wakeup};
use crate::model::port::{Port, WireIx};
use crate::model::switch::Pipeline;
use crate::network::fabric::{Fabric, Promise};
use backwater_engine::events::{Event, EventSet, KEY_BITS};
use backwater_engine::fingerprint::Fingerprint;
use backwater_engine::memory::{HeapBytes, Share};
use backwater_engine::prefetch::prefetch;
use backwater_engine::random::{Seed, Stream};
use backwater_engine::{Duration, Time};

/// The receiving end of a link: half a cache line that every event of a port reads.
#[repr(align(32))]
struct Wire {
    /// Frames on their way, first to arrive first.
    frames: Fifo,
    /// The number in the shard of the node where it ends.
    node: u32,
    /// The port where it ends.
    port: PortId,
    /// The number of that port in its node.
    ix: PortIx,
    /// What may corrupt or lose frames; `None` for a link without errors that has never failed.
    trouble: Option<Box<Trouble>>,
}

const _: () = assert!(size_of::<Wire>() == 32);

/// A frame on a wire, within one cache line.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Flying(Frame);

/// What corrupts or loses frames on the link.
struct Trouble {
    /// When the link last failed.
    failed_at: Option<Time>,
    /// Draws of the link's errors.
    errors: Option<Stream>,
}

impl Trouble {
    /// Why `frame`, which arrives on `port` now, is lost, if it is.
    fn loss_of(&mut self, frame: &Frame, port: PortId, now: Time, fabric: &Fabric) -> Option<DropCause> {
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

/// When a frame arrives, and how long its sender will have been sending without a gap then, in whole nanoseconds.
#[derive(Clone, Copy)]
struct Arrival {
    at: Time,
    burst_age: u32,
}

/// Frames for another shard.
#[derive(Default)]
pub(crate) struct Mail {
    frames: Vec<(PortId, Arrival, Frame)>,
    records: Vec<Record>,
}

impl Mail {
    /// When the first of its frames arrives; [`Time::NEVER`] if it holds none.
    pub(crate) fn first_arrival(&self) -> Time {
        self.frames.iter().map(|(_, arrival, _)| arrival.at).min().unwrap_or(Time::NEVER)
    }
}

/// What a shard has counted and noted.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) events: u64,
    pub(crate) packet_hops: u64,
    pub(crate) pause_frames: u64,
    pub(crate) port_pause_frames: u64,
    /// How long gates have been closed that are open again.
    pub(crate) paused: Duration,
    pub(crate) resume_frames: u64,
    pub(crate) merge_frames: u64,
    pub(crate) merge_wait: Duration,
    pub(crate) received_flows: u64,
    /// Flows that their senders have completed since the last look.
    pub(crate) acknowledged: Vec<Acknowledged>,
    /// The flow of every data packet lost since the last look.
    pub(crate) lost: Vec<FlowId>,
    pub(crate) pauses: Vec<PauseInterval>,
    pub(crate) full: Vec<FullQueue>,
    /// Drops for lack of headroom where none is allowed.
    pub(crate) violations: Vec<LossyDrop>,
    /// Drops where flow control should prevent them, but nothing is promised.
    pub(crate) unpromised_drops: u64,
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

/// What was at one egress port of an ingress queue that was full, when a PAUSE was generated for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullQueue {
    /// When.
    pub at: Time,
    /// The ingress port.
    pub port: PortId,
    /// The class.
    pub class: Class,
    /// The egress port, at the same node.
    pub egress: PortIx,
    /// Charged bytes.
    pub bytes: u64,
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
    pub class: Class,
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
/// A key is the kind, the age of the sender's burst if it is an arrival, and the wire that ends at the port, or the name of the node.
const KIND_SHIFT: u32 = KEY_BITS - 3;
const AGE_SHIFT: u32 = 27;
const AGE_MAX: u64 = (1 << (KIND_SHIFT - AGE_SHIFT)) - 1;
const _: () = assert!(ID_LIMIT == 1 << AGE_SHIFT);

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

/// The arrival of a frame from `wire`.
#[inline]
fn arrival(wire: WireIx, Arrival { at, burst_age }: Arrival) -> Event {
    let Event { time, key } = event(Kind::Arrive, wire_index(wire), at);
    Event { time, key: key | u64::from(burst_age) << AGE_SHIFT }
}

/// Index of a wire in its shard's list.
#[inline]
fn wire_index(wire: WireIx) -> u32 {
    wire.get() - 1
}

/// With fewer ports in a shard, asking costs more than it saves: 3 to 30 % at 128 hosts (`benches/`), which have 384 and 768 ports.
const LOOK_AHEAD_FROM: usize = 2048;

/// Frames in queues, and as many on wires, that room is set aside for, per port.
const ROOM: usize = 256;

/// When and where an event happens.
pub(crate) struct Scene<'a> {
    pub(crate) now: Time,
    pub(crate) fabric: &'a Fabric,
    pub(crate) layout: &'a Layout,
}

/// What lies beyond the ports of a shard's nodes: its wires, its pending events, and what is written down.
pub(crate) struct Outside {
    wires: Vec<Wire>,
    /// The frames on the wires.
    flying: Pool<Flying>,
    events: EventSet,
    pub(crate) outboxes: Vec<Mail>,
    pub(crate) watch: Watch,
}

impl Outside {
    /// Puts a frame onto a wire.
    #[inline(always)]
    fn carry(&mut self, wire: WireIx, frame: &Frame, when: Arrival) {
        self.events.push(arrival(wire, when));
        self.wires[wire_index(wire) as usize].frames.push(&Flying(*frame), &mut self.flying);
    }
}

/// Some of the nodes of a network. It shares no cache line with the next, which may run on another thread, nor the pair of lines that
/// processors fetch together: that saves two threads a quarter of their time at 128 hosts.
#[repr(align(128))]
pub(crate) struct Shard {
    pub(crate) nodes: Vec<Node>,
    pub(crate) records: Records,
    /// The frames in queues.
    pub(crate) frames: Frames,
    pub(crate) outside: Outside,
}

impl Shard {
    pub(crate) fn new(fabric: &Fabric, layout: &Layout, index: u32, members: &[NodeId]) -> Shard {
        let seed = Seed(fabric.spec.seed);
        let wire = |port: &PortFacts| {
            let errors = (port.error_rate > 0.0).then(|| seed.stream("link-errors", u64::from(port.id.0)));
            let trouble = errors.map(|errors| Box::new(Trouble { failed_at: None, errors: Some(errors) }));
            let node = layout.node(port.node).node;
            Wire { frames: Fifo::default(), node, port: port.id, ix: port.ix, trouble }
        };
        let mut ports: Vec<&PortFacts> = members.iter().flat_map(|node| fabric.wiring.of(*node)).collect();
        ports.sort_unstable_by_key(|port| port.id);
        let node = |id: &NodeId| {
            let mut node = Node::new(fabric, *id);
            node.interfaces.ports.iter_mut().for_each(|port| port.place = layout.port(port.id));
            node
        };
        let mut shard = Shard {
            nodes: members.iter().map(node).collect(),
            records: Records::default(),
            frames: Frames::with_room(ROOM * ports.len()),
            outside: Outside {
                flying: Pool::with_room(ROOM * ports.len()),
                wires: ports.into_iter().map(wire).collect(),
                events: EventSet::default(),
                outboxes: (0..layout.shards).map(|_| Mail::default()).collect(),
                watch: Watch::default(),
            },
        };
        for fault in &fabric.spec.faults {
            for port in fabric.wiring.links[fault.link] {
                if layout.node(fabric.wiring.ports[port.0 as usize].node).shard == index {
                    let wire = wire_index(layout.port(port).wire);
                    shard.outside.events.push(event(Kind::LinkDown, wire, fault.down));
                    if fault.up != Time::NEVER {
                        shard.outside.events.push(event(Kind::LinkUp, wire, fault.up));
                    }
                }
            }
        }
        shard
    }

    /// Tells the source of `flow`, which is a node of this shard, that it will start.
    pub(crate) fn expect_flow(&mut self, flow: FlowId, scene: &Scene<'_>) {
        let source = scene.layout.node(scene.fabric.flow(flow).src).node;
        self.at_node(source, scene, |node, env| node.expect_flow(flow, env));
    }

    /// When the next event happens; [`Time::NEVER`] if none is pending.
    pub(crate) fn next_event(&self) -> Time {
        self.outside.events.next_time()
    }

    /// Whether no frame is on a wire or in a queue.
    pub(crate) fn is_empty(&self) -> bool {
        self.outside.wires.iter().all(|wire| wire.frames.is_empty())
            && self.nodes.iter().all(|node| node.interfaces.ports.iter().all(Port::is_empty))
    }

    /// Whether it is empty, and no flow control waits for a timer.
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_empty()
            && self.nodes.iter().all(|node| node.interfaces.ports.iter().all(|port| port.timer_at == Time::NEVER))
    }

    /// What the shard takes of memory.
    pub(crate) fn memory(&self) -> Memory {
        let mut memory = Memory { events: self.outside.events.heap_bytes(), ..Memory::default() };
        let Memory { nodes, ports, flows, frames, reserved, .. } = &mut memory;
        for node in &self.nodes {
            let pipeline = node.pipeline().map_or(0, Pipeline::heap_bytes);
            nodes.count += 1;
            nodes.bytes += size_of::<Node>() as u64 + node.interfaces.effects.heap_bytes();
            ports.bytes += pipeline + node.flow_control.heap_bytes();
            ports.count += node.interfaces.ports.len() as u64;
            ports.bytes +=
                node.interfaces.ports.iter().map(|port| size_of::<Port>() as u64 + port.heap_bytes()).sum::<u64>();
            *flows += node.endpoint().map_or(Share::default(), Endpoint::memory);
        }
        let troubled = self.outside.wires.iter().filter(|wire| wire.trouble.is_some()).count();
        ports.bytes += self.outside.wires.heap_bytes() + (troubled * size_of::<Trouble>()) as u64;
        flows.bytes += self.outside.watch.acknowledged.heap_bytes();
        *frames += self.frames.memory();
        *frames += self.outside.flying.memory();
        *reserved += self.frames.reserved() + self.outside.flying.reserved();
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
        for (port, arrival, mut frame) in mail.frames.drain(..) {
            if frame.record.is_some() {
                let record = records.next().expect("a record travels with every frame that names one");
                frame.record = self.records.insert(record);
            }
            self.outside.carry(layout.port(port).wire, &frame, arrival);
        }
    }

    /// Handles the events before `limit`, the first `most` of them; how many it has handled.
    pub(crate) fn run(&mut self, limit: Time, most: u64, fabric: &Fabric, layout: &Layout) -> u64 {
        let mut handled = 0;
        while handled < most
            && let Some(Event { time, key }) = self.outside.events.pop_before(limit)
        {
            handled += 1;
            self.look_ahead(fabric);
            self.handle(kind_of(key), id_of(key), &Scene { now: time, fabric, layout });
        }
        self.pack_records();
        self.outside.watch.events += handled;
        handled
    }

    /// Asks the memory for what the next events will need, step by step: each answer is there before the next question needs it, and near
    /// enough to its event to stay.
    #[inline]
    fn look_ahead(&self, fabric: &Fabric) {
        let Outside { wires, flying, .. } = &self.outside;
        if wires.len() < LOOK_AHEAD_FROM {
            return;
        }
        if let Some((_, wire)) = self.upcoming(10) {
            prefetch(wire);
        }
        if let Some((kind, wire)) = self.upcoming(8) {
            prefetch(&self.nodes[wire.node as usize]);
            if let Kind::Arrive = kind {
                wire.frames.expect_front(flying);
            }
        }
        if let Some((kind, wire)) = self.upcoming(6) {
            let node = &self.nodes[wire.node as usize];
            match (kind, wire.frames.front(flying)) {
                (Kind::Arrive, Some(Flying(frame))) => node.expect_arrival(wire.ix, frame, fabric),
                _ => node.expect_turn(wire.ix),
            }
        }
        if let Some((kind, wire)) = self.upcoming(4) {
            let node = &self.nodes[wire.node as usize];
            let port = match (kind, wire.frames.front(flying)) {
                (Kind::Arrive, Some(Flying(frame))) => node.expect_passage(frame, fabric, &self.frames),
                _ => Some(node.expect_departure(wire.ix)),
            };
            if let Some(onward) = port.and_then(|port| port.place.peer_wire) {
                prefetch(&wires[wire_index(onward) as usize]);
            }
        }
        if let Some((Kind::Port, wire)) = self.upcoming(2) {
            let port = self.nodes[wire.node as usize].expect_frame(wire.ix, &self.frames);
            if let Some(onward) = port.place.peer_wire {
                wires[wire_index(onward) as usize].frames.expect_push(flying);
            }
        }
    }

    /// The event that comes `steps` after the next, if it is an arrival or a port's turn, and the wire that ends at the port.
    #[inline]
    fn upcoming(&self, steps: usize) -> Option<(Kind, &Wire)> {
        let key = self.outside.events.ahead(steps)?;
        let kind = kind_of(key);
        matches!(kind, Kind::Arrive | Kind::Port).then(|| (kind, &self.outside.wires[id_of(key) as usize]))
    }

    #[inline]
    fn handle(&mut self, kind: Kind, id: u32, scene: &Scene<'_>) {
        match kind {
            Kind::Arrive => self.arrive(id, scene),
            Kind::Port => self.at_port(id, scene, |node, ix, env| node.port_ready(ix, env)),
            Kind::FlowControl => self.at_port(id, scene, |node, ix, env| node.flow_control_timer(ix, env)),
            Kind::FlowStart => {
                self.at_node(scene.layout.node(NodeId(id)).node, scene, |node, env| node.start_flows(env))
            }
            Kind::Retransmission => self.at_node(scene.layout.node(NodeId(id)).node, scene, |node, env| {
                node.retransmission_timer(env);
            }),
            Kind::LinkDown => {
                let trouble = &mut self.outside.wires[id as usize].trouble;
                let trouble = trouble.get_or_insert_with(|| Box::new(Trouble { failed_at: None, errors: None }));
                trouble.failed_at = Some(scene.now);
                self.at_port(id, scene, |node, ix, env| node.link_change(ix, false, env));
            }
            Kind::LinkUp => self.at_port(id, scene, |node, ix, env| node.link_change(ix, true, env)),
        }
    }

    /// The first frame on a wire arrives.
    #[inline]
    fn arrive(&mut self, wire: u32, scene: &Scene<'_>) {
        let Outside { wires, flying, watch, .. } = &mut self.outside;
        let wire = &mut wires[wire as usize];
        let Flying(frame) = wire.frames.pop(flying);
        watch.fingerprint.add(scene.now.ps(), u64::from(wire.port.0), frame.digest());
        let trouble = wire.trouble.as_mut();
        let lost = trouble.and_then(|trouble| trouble.loss_of(&frame, wire.port, scene.now, scene.fabric));
        let (node, ix) = (wire.node, wire.ix);
        self.at_node(node, scene, |node, env| match lost {
            None => node.arrive(ix, &frame, env),
            Some(cause) => node.arrive_lost(ix, &frame, cause, env),
        });
    }

    /// Lets the port where a wire ends act.
    #[inline]
    fn at_port(
        &mut self,
        wire: u32,
        scene: &Scene<'_>,
        act: impl FnOnce(&mut Node, PortIx, &mut Env<'_, ShardSink<'_>>),
    ) {
        let Wire { node, ix, .. } = self.outside.wires[wire as usize];
        self.at_node(node, scene, |node, env| act(node, ix, env));
    }

    /// Lets the shard's node number `node` act, with all that it works with.
    #[inline]
    fn at_node(&mut self, node: u32, scene: &Scene<'_>, act: impl FnOnce(&mut Node, &mut Env<'_, ShardSink<'_>>)) {
        let Shard { nodes, records, frames, outside } = self;
        let sink = &mut ShardSink { scene, outside };
        act(&mut nodes[node as usize], &mut Env { now: scene.now, fabric: scene.fabric, records, frames, sink });
    }

    /// Packs the records of frames that leave for other shards.
    fn pack_records(&mut self) {
        for mail in &mut self.outside.outboxes {
            let leaving = mail.frames.iter().map(|(_, _, frame)| frame.record);
            mail.records.extend(leaving.filter_map(|record| self.records.take(record)));
        }
    }
}

/// What nodes push their effects into.
struct ShardSink<'a> {
    scene: &'a Scene<'a>,
    outside: &'a mut Outside,
}

impl Sink for ShardSink<'_> {
    #[inline(never)]
    fn transmit(&mut self, port: &Port, frame: &Frame) {
        let watch = &mut self.outside.watch;
        watch.packet_hops += 1;
        if let Body::Control(control) = &frame.body {
            watch.port_pause_frames += u64::from(control.is_port_pause());
            match control.signal() {
                Signal::Pause => watch.pause_frames += 1,
                Signal::Resume => watch.resume_frames += 1,
                Signal::Merge => watch.merge_frames += 1,
                Signal::Other => {}
            }
        }
        let at = port.busy_until + port.delay;
        let arrival = Arrival { at, burst_age: ((at - port.burst_start).ps() / 1000).min(AGE_MAX) as u32 };
        match port.place.peer_wire {
            Some(wire) => self.outside.carry(wire, frame, arrival),
            None => {
                let ports = &self.scene.fabric.wiring.ports;
                let peer = ports[port.id.0 as usize].peer;
                let shard = self.scene.layout.node(ports[peer.0 as usize].node).shard;
                self.outside.outboxes[shard as usize].frames.push((peer, arrival, *frame));
            }
        }
    }

    fn schedule(&mut self, wakeup: Wakeup<'_>, at: Time) {
        let wire = |port: &Port| wire_index(port.place.wire);
        self.outside.events.push(match wakeup {
            Wakeup::FlowStart(node) => event(Kind::FlowStart, node.0, at),
            Wakeup::FlowControl(port) => event(Kind::FlowControl, wire(port), at),
            Wakeup::Retransmission(node) => event(Kind::Retransmission, node.0, at),
            Wakeup::Port(port) => event(Kind::Port, wire(port), at),
        });
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Dropped { node, ingress, class, flow, cause, .. } => {
                self.outside.watch.lost.extend(flow);
                match (cause, self.scene.fabric.promise(ingress)) {
                    (DropCause::Headroom, Promise::Lossless) => {
                        self.outside.watch.violations.push(LossyDrop { at: self.scene.now, node, ingress, class });
                    }
                    (DropCause::Headroom, Promise::Unpromised { .. })
                    | (DropCause::BufferFull, Promise::Unpromised { any_class: true }) => {
                        self.outside.watch.unpromised_drops += 1;
                    }
                    _ => {}
                }
            }
            Note::Paused { port, queue, closure } => {
                self.outside.watch.paused += closure.to - closure.from;
                self.outside.watch.pauses.push(PauseInterval { port, queue, closure });
            }
            Note::Full { port, class, egress, bytes } => {
                self.outside.watch.full.push(FullQueue { at: self.scene.now, port, class, egress, bytes });
            }
            Note::GivenUp { waited } => self.outside.watch.merge_wait += waited,
            Note::Received { .. } => self.outside.watch.received_flows += 1,
            Note::Acknowledged { flow, packets, retransmitted } => {
                self.outside.watch.acknowledged.push(Acknowledged { flow, at: self.scene.now, packets, retransmitted });
            }
        }
    }
}
