//! A shard: a part of the nodes, with their wires and pending events. Every event of a shard
//! concerns one of its nodes.
//!
//! Events are ordered by time, kind and entity. This order does not depend on the partition. A
//! burst is a sequence of frames without gaps. Of frames that arrive in the same picosecond, the
//! frame whose sender has the shortest burst is handled first. An order by port alone would always
//! favour the same port, and ties are common among hosts that PFC resumed (`docs/decisions/`).
//! Frames for other shards are put into an outbox and arrive at least one link delay later.

use crate::contract::PortFacts;
use crate::contract::report::Report;
use crate::driver::keys::{AGE_MAX, Kind, arrival, event, id_of, kind_of};
use crate::driver::layout::{Layout, NodePlace};
use crate::driver::memory::Memory;
use crate::driver::observations::Observations;
use crate::driver::wire::{InFlight, LinkFaults, Outbox, Wire, WireArrival, wire_index};
use crate::frame::record::Records;
use crate::frame::{Body, Frame, Signal};
use crate::ids::{FlowId, NodeId, PortIx};
use crate::model::fifo::{Fifo, Frames, Pool};
use crate::model::host::Endpoint;
use crate::model::node::Node;
use crate::model::port::{Port, WireIx};
use crate::model::sink::{Env, Sink, Wakeup};
use crate::model::switch::Switch;
use crate::network::fabric::Fabric;
use backwater_engine::Time;
use backwater_engine::events::{Event, EventSet};
use backwater_engine::memory::HeapBytes;
use backwater_engine::random::Seed;
use get_size2::GetSize;

/// Number of frames per port for which addresses are reserved, in queues and again on wires.
const ROOM: usize = 256;

/// Wires, pending events, outboxes and observations of a shard.
pub(crate) struct ShardIo {
    pub(super) wires: Vec<Wire>,
    /// Frames on the wires.
    pub(super) in_flight: Pool<InFlight>,
    pub(super) events: EventSet,
    pub(crate) outboxes: Vec<Outbox>,
    pub(crate) observations: Observations,
}

impl ShardIo {
    /// Puts a frame on a wire.
    #[inline(always)]
    fn carry(&mut self, wire: WireIx, frame: &Frame, when: WireArrival) {
        self.events.push(arrival(wire, when));
        self.wires[wire_index(wire) as usize].frames.push(InFlight(*frame), &mut self.in_flight);
    }
}

/// A part of a network's nodes. A shard shares no cache line with other shards, which may run on
/// other threads, nor the pairs of lines that processors fetch together. With 128 hosts and two
/// threads, this saves a quarter of the run time.
#[repr(align(128))]
pub(crate) struct Shard {
    pub(crate) nodes: Vec<Node>,
    pub(crate) records: Records,
    /// Frames in queues.
    pub(crate) frames: Frames,
    pub(crate) io: ShardIo,
}

impl Shard {
    pub(crate) fn new(fabric: &Fabric, layout: &Layout, index: u32, members: &[NodeId]) -> Shard {
        let seed = Seed(fabric.spec.seed);
        let wire = |port: &PortFacts| {
            let errors = (port.error_rate > 0.0).then(|| seed.stream("link-errors", u64::from(port.id.0)));
            let faults = errors.map(|errors| Box::new(LinkFaults { failed_at: None, errors: Some(errors) }));
            let node = layout.node(port.node).node;
            Wire { frames: Fifo::default(), node, port: port.id, ix: port.ix, faults }
        };
        let mut ports: Vec<&PortFacts> = members.iter().flat_map(|node| fabric.wiring.ports_of(*node)).collect();
        ports.sort_unstable_by_key(|port| port.id);
        let node = |id: &NodeId| {
            let mut node = Node::new(fabric, *id);
            for port in &mut node.io.ports {
                port.wires = layout.port(port.id);
            }
            node
        };
        let mut shard = Shard {
            nodes: members.iter().map(node).collect(),
            records: Records::default(),
            frames: Frames::with_room(ROOM * ports.len()),
            io: ShardIo {
                in_flight: Pool::with_room(ROOM * ports.len()),
                wires: ports.into_iter().map(wire).collect(),
                events: EventSet::default(),
                outboxes: (0..layout.shards).map(|_| Outbox::default()).collect(),
                observations: Observations::default(),
            },
        };
        for fault in &fabric.spec.faults {
            for port in fabric.wiring.links[fault.link] {
                if layout.node(fabric.wiring.ports[port].node).shard == index {
                    let wire = wire_index(layout.port(port).wire);
                    shard.io.events.push(event(Kind::LinkDown, wire, fault.down));
                    if fault.up != Time::NEVER {
                        shard.io.events.push(event(Kind::LinkUp, wire, fault.up));
                    }
                }
            }
        }
        shard
    }

    /// Notifies `source`, a node of this shard, that `flow` will start there at `start`.
    pub(crate) fn expect_flow(
        &mut self,
        source: NodeId,
        (flow, start): (FlowId, Time),
        now: Time,
        fabric: &Fabric,
        layout: &Layout,
    ) {
        self.act(now, fabric, layout, |handler| {
            handler.at_node(source, |node, env| node.expect_flow(flow, start, env))
        });
    }

    /// Notifies all nodes that routes were recomputed.
    pub(crate) fn reroute(&mut self, now: Time, fabric: &Fabric, layout: &Layout) {
        self.act(now, fabric, layout, |Handler { nodes, env }| {
            for node in nodes.iter_mut() {
                node.reroute(env);
            }
        });
        self.pack_records();
    }

    /// Returns the time of the next event; [`Time::NEVER`] if none is pending.
    pub(crate) fn next_event(&self) -> Time {
        self.io.events.next_time()
    }

    /// Returns true if no frame is on a wire, in a queue or between ports.
    pub(crate) fn is_empty(&self) -> bool {
        self.io.wires.iter().all(|wire| wire.frames.is_empty())
            && self.nodes.iter().all(|node| {
                node.io.ports.iter().all(Port::is_empty) && node.switch().is_none_or(|switch| switch.transit.is_empty())
            })
    }

    /// Returns true if the shard is empty and no timer of a flow control is set.
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_empty() && self.nodes.iter().all(|node| node.io.ports.iter().all(|port| port.timer_at == Time::NEVER))
    }

    /// Returns the frames on the shard's wires.
    pub(crate) fn frames_on_wires(&self) -> impl Iterator<Item = &Frame> {
        self.io.wires.iter().flat_map(|wire| wire.frames.iter(&self.io.in_flight)).map(|InFlight(frame)| frame)
    }

    /// Returns the memory use of the shard.
    pub(crate) fn memory(&self) -> Memory {
        let mut memory = Memory { events: self.io.events.heap_bytes(), ..Memory::default() };
        let Memory { nodes, ports, flows, frames, reserved, .. } = &mut memory;
        for node in &self.nodes {
            let switch = node.switch().map_or(0, |switch| size_of::<Switch>() as u64 + switch.heap_bytes());
            nodes.count += 1;
            nodes.bytes += size_of::<Node>() as u64 + node.io.actions.heap_bytes() + node.io.ledger.heap_bytes();
            ports.bytes += switch + node.flow_control.get_heap_size() as u64;
            ports.count += node.io.ports.len() as u64;
            ports.bytes += node.io.ports.iter().map(|port| size_of::<Port>() as u64 + port.heap_bytes()).sum::<u64>();
            flows.bytes += node.endpoint().map_or(0, Endpoint::heap_bytes);
        }
        let troubled = self.io.wires.iter().filter(|wire| wire.faults.is_some()).count();
        ports.bytes += self.io.wires.heap_bytes() + (troubled * size_of::<LinkFaults>()) as u64;
        flows.bytes += self.io.observations.acknowledged.heap_bytes() + self.io.observations.trace.heap_bytes();
        *frames += self.frames.memory();
        *frames += self.io.in_flight.memory();
        *reserved += self.frames.reserved() + self.io.in_flight.reserved();
        frames.bytes += self.records.heap_bytes();
        memory
    }

    /// Returns the number of side records in use.
    pub(crate) fn records_in_use(&self) -> usize {
        self.records.in_use()
    }

    /// Accepts the frames of another shard's outbox.
    pub(crate) fn accept(&mut self, outbox: &mut Outbox, layout: &Layout) {
        let mut records = outbox.records.drain(..);
        for (port, arrival, mut frame) in outbox.frames.drain(..) {
            if frame.record.is_some() {
                let record = records.next().expect("a record travels with every frame that names one");
                frame.record = self.records.insert(record);
            }
            self.io.carry(layout.port(port).wire, &frame, arrival);
        }
    }

    /// Handles the events before `limit`, at most `most`. Returns the number of handled events.
    pub(crate) fn run(&mut self, limit: Time, most: u64, fabric: &Fabric, layout: &Layout) -> u64 {
        let mut handled = 0;
        self.act(Time::ZERO, fabric, layout, |handler| {
            let looks_ahead = handler.looks_ahead();
            while handled < most
                && let Some(event) = handler.env.sink.io.events.pop_before(limit)
            {
                handled += 1;
                if looks_ahead {
                    handler.look_ahead();
                }
                handler.handle(event);
            }
        });
        self.pack_records();
        self.io.observations.totals.events += handled;
        handled
    }

    /// Calls `act` with the shard's nodes and their environment, at `now`.
    fn act<R>(&mut self, now: Time, fabric: &Fabric, layout: &Layout, act: impl FnOnce(&mut Handler<'_>) -> R) -> R {
        let Shard { nodes, records, frames, io } = self;
        let sink = &mut ShardSink { now, fabric, layout, io };
        act(&mut Handler { nodes, env: Env { now, fabric, records, frames, sink } })
    }

    /// Moves the records of frames that leave the shard into the outboxes.
    fn pack_records(&mut self) {
        for outbox in &mut self.io.outboxes {
            let leaving = outbox.frames.iter().map(|(_, _, frame)| frame.record);
            outbox.records.extend(leaving.filter_map(|record| self.records.take(record)));
        }
    }
}

/// Event handler: the nodes of a shard and their environment.
pub(super) struct Handler<'a> {
    pub(super) nodes: &'a mut [Node],
    pub(super) env: Env<'a, ShardSink<'a>>,
}

impl Handler<'_> {
    #[inline(always)]
    fn handle(&mut self, Event { time, key }: Event) {
        (self.env.now, self.env.sink.now) = (time, time);
        let id = id_of(key);
        match kind_of(key) {
            Kind::Arrive => self.arrive(id),
            Kind::Port => self.at_port(id, |node, ix, env| node.port_ready(ix, env)),
            rare => self.handle_rare(rare, id),
        }
    }

    /// Handles events other than arrivals and port events.
    #[inline(never)]
    fn handle_rare(&mut self, kind: Kind, id: u32) {
        match kind {
            Kind::Arrive | Kind::Port => unreachable!("handled by `handle`"),
            Kind::FlowControl => self.at_port(id, |node, ix, env| node.flow_control_timer(ix, env)),
            Kind::FlowStart => self.at_node(NodeId(id), |node, env| node.start_flows(env)),
            Kind::Retransmission => self.at_node(NodeId(id), |node, env| node.retransmission_timer(env)),
            Kind::Node => self.at_node(NodeId(id), |node, env| node.wake(env)),
            Kind::LinkDown => {
                let faults = &mut self.env.sink.io.wires[id as usize].faults;
                let faults = faults.get_or_insert_with(|| Box::new(LinkFaults { failed_at: None, errors: None }));
                faults.failed_at = Some(self.env.now);
                self.at_port(id, |node, ix, env| node.link_change(ix, false, env));
            }
            Kind::LinkUp => self.at_port(id, |node, ix, env| node.link_change(ix, true, env)),
        }
    }

    /// Delivers the first frame on a wire.
    #[inline(always)]
    fn arrive(&mut self, wire: u32) {
        let (now, fabric) = (self.env.now, self.env.fabric);
        let ShardIo { wires, in_flight, observations, .. } = &mut *self.env.sink.io;
        let wire = &mut wires[wire as usize];
        let InFlight(frame) = &wire.frames.pop(in_flight);
        observations.fingerprint.add(now.ps(), u64::from(wire.port.0), frame.digest());
        let faults = wire.faults.as_mut();
        let lost = faults.and_then(|faults| faults.loss_of(frame, wire.port, now, fabric));
        let (node, ix) = (&mut self.nodes[wire.node as usize], wire.ix);
        match lost {
            None => node.arrive(ix, frame, &mut self.env),
            Some(cause) => node.arrive_lost(ix, frame, cause, &mut self.env),
        }
    }

    /// Calls `act` with the node and port at which a wire ends.
    #[inline(always)]
    fn at_port(&mut self, wire: u32, act: impl FnOnce(&mut Node, PortIx, &mut Env<'_, ShardSink<'_>>)) {
        let Wire { node, ix, .. } = self.env.sink.io.wires[wire as usize];
        act(&mut self.nodes[node as usize], ix, &mut self.env);
    }

    /// Calls `act` with a node of the shard.
    fn at_node(&mut self, node: NodeId, act: impl FnOnce(&mut Node, &mut Env<'_, ShardSink<'_>>)) {
        let NodePlace { node, .. } = self.env.sink.layout.node(node);
        act(&mut self.nodes[node as usize], &mut self.env);
    }
}

/// Sink for the actions of nodes.
pub(super) struct ShardSink<'a> {
    now: Time,
    fabric: &'a Fabric,
    layout: &'a Layout,
    pub(super) io: &'a mut ShardIo,
}

impl Sink for ShardSink<'_> {
    #[inline]
    fn transmit(&mut self, port: &Port, frame: &Frame, records: &Records) {
        let observations = &mut self.io.observations;
        observations.totals.packet_hops += 1;
        if let Body::Control(control) = &frame.body {
            observations.totals.port_pause_frames += u64::from(control.is_port_pause());
            match control.signal() {
                Signal::Pause => observations.totals.pause_frames += 1,
                Signal::Resume => observations.totals.resume_frames += 1,
                Signal::Other => {}
            }
        }
        if observations.trace.is_on(self.now) {
            let record = || records.copy(frame.record).map(Box::new);
            observations.trace.add_sent(self.now, port.id, frame, port.busy_until, record, self.fabric);
        }
        let at = port.busy_until + port.delay;
        let arrival = WireArrival { at, burst_age: ((at - port.burst_start).ps() / 1000).min(AGE_MAX) as u32 };
        match port.wires.peer_wire {
            Some(wire) => self.io.carry(wire, frame, arrival),
            None => {
                let ports = &self.fabric.wiring.ports;
                let peer = ports[port.id].peer;
                let shard = self.layout.node(ports[peer].node).shard;
                self.io.outboxes[shard as usize].frames.push((peer, arrival, *frame));
            }
        }
    }

    #[inline(always)]
    fn schedule(&mut self, wakeup: Wakeup<'_>, at: Time) {
        let wire = |port: &Port| wire_index(port.wires.wire);
        self.io.events.push(match wakeup {
            Wakeup::FlowStart(node) => event(Kind::FlowStart, node.0, at),
            Wakeup::FlowControl(port) => event(Kind::FlowControl, wire(port), at),
            Wakeup::Retransmission(node) => event(Kind::Retransmission, node.0, at),
            Wakeup::Port(port) => event(Kind::Port, wire(port), at),
            Wakeup::Node(node) => event(Kind::Node, node.0, at),
        });
    }
    fn traces(&self) -> bool {
        self.io.observations.trace.is_on(self.now)
    }

    fn report(&mut self, report: Report) {
        self.io.observations.report(report, self.now, self.fabric);
    }
}
