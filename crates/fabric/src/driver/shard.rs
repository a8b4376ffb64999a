//! A shard: a part of the nodes, with their wires and pending events.
//!
//! In each epoch, the shard visits its nodes one after another ([`Agenda`]). A visit handles a
//! node's events of the epoch in order: by time, kind and port. This order does not depend on the
//! partition. A burst is a sequence of frames without gaps. Of frames that arrive in the same
//! picosecond, the frame whose sender has the shortest burst is handled first. An order by port
//! alone would always favour the same port, and ties are common among hosts that PFC resumed
//! (`docs/decisions/`). Frames for other shards are put into an outbox and arrive at least one link
//! delay later.

use crate::contract::packet::QueuedPacket;
use crate::contract::report::Report;
use crate::contract::{Announcement, Application, PortFacts};
use crate::driver::agenda::Agenda;
use crate::driver::layout::{Layout, NodePlace};
use crate::driver::memory::Memory;
use crate::driver::observations::Observations;
use crate::driver::rank::{Kind, Rank, age_of, epoch, is_of, kind_of, port_of, rank, time_of};
use crate::driver::wire::{LinkFaults, Outbox, Wire, WireArrival, wire_index};
use crate::frame::record::Records;
use crate::frame::{Body, Frame};
use crate::ids::{FlowId, NodeId, PortIx};
use crate::model::fifo::{Frames, Place};
use crate::model::host::Endpoint;
use crate::model::node::Node;
use crate::model::port::{Port, WireIx};
use crate::model::sink::{Env, MessageEvent, Sink, Wakeup};
use crate::model::switch::Switch;
use crate::network::fabric::Fabric;
use backwater_engine::Time;
use backwater_engine::index::Id;
use backwater_engine::memory::HeapBytes;
use backwater_engine::random::Seed;
use backwater_engine::tournament::Tournament;
use get_size2::GetSize;
use std::ops::Range;

/// Number of frames per port for which addresses are reserved, in queues and again on wires.
const ROOM: usize = 256;

/// Wires, pending events, outboxes and observations of a shard.
pub(crate) struct ShardIo {
    pub(super) wires: Vec<Wire>,
    /// Wires that end at each node. They are numbered in the order of the node's ports.
    wires_of: Vec<Range<u32>>,
    pub(super) agenda: Agenda,
    /// Next arrival on each wire of the visited node.
    arrivals: Tournament,
    pub(crate) outboxes: Vec<Outbox>,
    /// Messages that were posted in this epoch, and that arrive at nodes of this shard.
    announcements: Vec<(u32, Announcement)>,
    pub(crate) observations: Observations,
}

impl ShardIo {
    /// Returns the wires that end at `node`.
    #[inline(always)]
    fn wires_of(&self, node: u32) -> Range<usize> {
        let Range { start, end } = self.wires_of[node as usize];
        start as usize..end as usize
    }

    /// Prepares a packet for its wire. Returns the wire, which the caller puts the packet on.
    #[inline(always)]
    fn prepare(&mut self, packet: &mut QueuedPacket, wire: WireIx, arrival: WireArrival) -> &mut Wire {
        let wire = &mut self.wires[wire_index(wire) as usize];
        arrival.note_in(packet);
        if wire.begins(self.agenda.epoch_of(arrival.at)) {
            self.agenda.expect(wire.node, arrival.at);
        }
        wire
    }
}

/// A part of a network's nodes. A shard shares no cache line with other shards, which may run on
/// other threads, nor the pairs of lines that processors fetch together. With 128 hosts and two
/// threads, this saves a quarter of the run time.
#[repr(align(128))]
pub(crate) struct Shard {
    pub(crate) nodes: Vec<Node>,
    /// True if the plain pipeline suffices ([`Sink::PLAIN`]); `None` if nodes may have changed.
    is_plain: Option<bool>,
    pub(crate) records: Records,
    /// Frames in queues and on wires.
    pub(crate) frames: Frames,
    pub(crate) io: ShardIo,
}

impl Shard {
    pub(crate) fn new(fabric: &Fabric, layout: &Layout, index: u32, members: &[NodeId]) -> Shard {
        let seed = Seed(fabric.spec.seed);
        let wire = |port: &PortFacts| {
            let errors = (port.error_rate > 0.0).then(|| seed.stream("link-errors", u64::from(port.id.0)));
            Wire::new(port, layout.node(port.node).node, errors)
        };
        let mut ports: Vec<&PortFacts> = members.iter().flat_map(|node| fabric.wiring.ports_of(*node)).collect();
        ports.sort_unstable_by_key(|port| port.id);
        let node = |id: &NodeId| {
            let mut node = Node::new(fabric, *id);
            for port in &mut node.io.ports {
                let peer = &fabric.wiring.ports[fabric.wiring.ports[port.id].peer];
                port.wire = (layout.node(peer.node).shard == index).then(|| layout.wire(peer.id));
            }
            node
        };
        let wires_of = |id: &NodeId| match fabric.wiring.ports_of(*id) {
            [] => 0..0,
            [first, others @ ..] => {
                let first = wire_index(layout.wire(first.id));
                first..first + 1 + others.len() as u32
            }
        };
        let mut shard = Shard {
            nodes: members.iter().map(node).collect(),
            is_plain: None,
            records: Records::default(),
            frames: Frames::with_room(2 * ROOM * ports.len()),
            io: ShardIo {
                wires: ports.into_iter().map(wire).collect(),
                wires_of: members.iter().map(wires_of).collect(),
                agenda: Agenda::new(members.len(), epoch(fabric)),
                arrivals: Tournament::default(),
                outboxes: (0..layout.shards).map(|_| Outbox::default()).collect(),
                announcements: Vec::new(),
                observations: Observations::default(),
            },
        };
        for fault in &fabric.spec.faults {
            for port in fabric.wiring.links[fault.link] {
                let PortFacts { node, ix, .. } = fabric.wiring.ports[port];
                let NodePlace { shard: home, node } = layout.node(node);
                if home == index {
                    shard.io.agenda.schedule(node, Kind::LinkDown, ix, fault.down);
                    if fault.up != Time::NEVER {
                        shard.io.agenda.schedule(node, Kind::LinkUp, ix, fault.up);
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
        let NodePlace { node, .. } = layout.node(source);
        self.act::<false, _>(now, fabric, layout, |handler| {
            handler.at_node(node, |node, env| node.expect_flow(flow, start, env))
        });
    }

    /// Installs the application of `host`, a node of this shard.
    pub(crate) fn install(
        &mut self,
        host: NodeId,
        application: Box<dyn Application>,
        now: Time,
        fabric: &Fabric,
        layout: &Layout,
    ) {
        let NodePlace { node, .. } = layout.node(host);
        self.act::<false, _>(now, fabric, layout, |handler| {
            handler.at_node(node, |node, env| node.install(application, env))
        });
    }

    /// Notifies all nodes that routes were recomputed.
    pub(crate) fn reroute(&mut self, now: Time, fabric: &Fabric, layout: &Layout) {
        self.is_plain = None;
        self.act::<false, _>(now, fabric, layout, |handler| {
            for node in 0..handler.nodes.len() {
                handler.at_node(node as u32, |node, env| node.reroute(env));
            }
        });
        self.pack_records();
    }

    /// Returns the time of the next event; [`Time::NEVER`] if none is pending.
    pub(crate) fn next_event(&self) -> Time {
        self.io.agenda.next_event(|node| next_arrival(&self.io.wires[self.io.wires_of(node)], &self.frames))
    }

    /// Returns a time that no node has passed.
    pub(crate) fn reached(&self) -> Time {
        self.io.agenda.reached
    }

    /// Returns true if no frame is on a wire, in a queue or between ports.
    pub(crate) fn is_empty(&self) -> bool {
        self.io.wires.iter().all(Wire::is_empty)
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
        self.io.wires.iter().flat_map(|wire| wire.frames(&self.frames))
    }

    /// Returns the memory use of the shard.
    pub(crate) fn memory(&self) -> Memory {
        let mut memory = Memory { events: self.io.agenda.heap_bytes(), ..Memory::default() };
        let Memory { nodes, ports, flows, frames, reserved, .. } = &mut memory;
        for node in &self.nodes {
            let switch = node.switch().map_or(0, |switch| size_of::<Switch>() as u64 + switch.heap_bytes());
            nodes.count += 1;
            nodes.bytes += size_of::<Node>() as u64 + node.io.actions.heap_bytes() + node.io.ledger.heap_bytes();
            ports.bytes += switch + node.flow_control.get_heap_size() as u64;
            ports.count += node.io.ports.len() as u64;
            ports.bytes += node.io.ports.iter().map(|port| size_of::<Port>() as u64 + port.heap_bytes()).sum::<u64>();
            flows.count += node.endpoint().map_or(0, Endpoint::connections);
            flows.bytes += node.endpoint().map_or(0, Endpoint::heap_bytes);
        }
        let troubled = self.io.wires.iter().filter(|wire| wire.faults.is_some()).count();
        ports.bytes += self.io.wires.heap_bytes() + (troubled * size_of::<LinkFaults>()) as u64;
        nodes.bytes += self.io.wires_of.heap_bytes();
        flows.bytes += self.io.observations.acknowledged.heap_bytes() + self.io.observations.trace.heap_bytes();
        *frames += self.frames.memory();
        *reserved += self.frames.reserved();
        frames.bytes += self.records.heap_bytes();
        memory
    }

    /// Returns the number of side records in use.
    pub(crate) fn records_in_use(&self) -> usize {
        self.records.in_use()
    }

    /// Accepts the frames and announcements of another shard's outbox.
    pub(crate) fn accept(&mut self, outbox: &mut Outbox, layout: &Layout) {
        for (to, announcement) in outbox.announcements.drain(..) {
            self.nodes[layout.node(to).node as usize].endpoint_mut().announce(announcement);
        }
        let mut records = outbox.records.drain(..);
        for (port, arrival, mut frame) in outbox.frames.drain(..) {
            if frame.record.is_some() {
                let record = records.next().expect("a record travels with every frame that names one");
                frame.record = self.records.insert(record);
            }
            let mut packet = QueuedPacket::new(frame, PortIx::NONE, arrival.at);
            let wire = self.io.prepare(&mut packet, layout.wire(port), arrival);
            wire.push(self.frames.put(packet), &mut self.frames);
        }
    }

    /// Handles the events before `limit`. Stops after a visit if at least `most` events have been
    /// handled. Returns the number of handled events.
    pub(crate) fn run(&mut self, limit: Time, most: u64, fabric: &Fabric, layout: &Layout) -> u64 {
        if self.is_plain(fabric) {
            self.run_as::<true>(limit, most, fabric, layout)
        } else {
            self.run_as::<false>(limit, most, fabric, layout)
        }
    }

    /// Returns true if the plain pipeline suffices.
    pub(super) fn is_plain(&mut self, fabric: &Fabric) -> bool {
        let Shard { nodes, is_plain, io, .. } = self;
        *is_plain.get_or_insert_with(|| {
            let is_reliable = fabric.spec.faults.is_empty() && io.wires.iter().all(|wire| wire.faults.is_none());
            is_reliable && !io.observations.trace.is_set() && nodes.iter().all(Node::is_plain)
        })
    }

    /// Returns the nodes for a change of what they observe.
    pub(crate) fn nodes_mut(&mut self) -> &mut [Node] {
        self.is_plain = None;
        &mut self.nodes
    }

    fn run_as<const PLAIN: bool>(&mut self, limit: Time, most: u64, fabric: &Fabric, layout: &Layout) -> u64 {
        let mut handled = 0;
        self.act::<PLAIN, _>(Time::ZERO, fabric, layout, |handler| {
            while handled < most && handler.env.sink.io.agenda.open(limit) {
                let mut from = 0;
                while handled < most
                    && let Some(node) = handler.env.sink.io.agenda.next_node(from)
                {
                    from = node + 1;
                    handled += handler.visit(node);
                }
                if !handler.env.sink.io.announcements.is_empty() {
                    handler.announce();
                }
                if !handler.env.sink.io.agenda.close() {
                    break;
                }
            }
        });
        self.pack_records();
        self.io.observations.totals.events += handled;
        handled
    }

    /// Calls `act` with the shard's nodes and their environment, at `now`.
    fn act<const PLAIN: bool, R>(
        &mut self,
        now: Time,
        fabric: &Fabric,
        layout: &Layout,
        act: impl FnOnce(&mut Handler<'_, PLAIN>) -> R,
    ) -> R {
        let Shard { nodes, records, frames, io, .. } = self;
        let sink = &mut ShardSink { node: 0, fabric, layout, io };
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
pub(super) struct Handler<'a, const PLAIN: bool> {
    pub(super) nodes: &'a mut [Node],
    pub(super) env: Env<'a, ShardSink<'a, PLAIN>>,
}

impl<const PLAIN: bool> Handler<'_, PLAIN> {
    /// Handles the events of a node in the open epoch, and returns their number.
    fn visit(&mut self, index: u32) -> u64 {
        let Handler { nodes, env } = self;
        let node = &mut nodes[index as usize];
        env.sink.node = index;
        let io = &mut *env.sink.io;
        let (start, end, wires) = (io.agenda.start, io.agenda.end, io.wires_of(index));
        let mut arrivals = std::mem::take(&mut io.arrivals);
        io.agenda.begin_visit(index);
        arrivals.begin(io.wires[wires.clone()].iter().enumerate().map(|(ix, wire)| {
            wire.prefetch_second(env.frames);
            first_arrival(wire, PortIx::from_index(ix), start, end, env.frames)
        }));
        let (mut handled, is_host) = (0, node.io.endpoint.is_some());
        loop {
            let io = &mut *env.sink.io;
            let (arrival, wake_up) = (arrivals.smallest(), io.agenda.next());
            let next = arrival.min(wake_up);
            if next == Rank::MAX {
                break;
            }
            handled += 1;
            let (now, ix) = (time_of(next, start), port_of(next));
            env.now = now;
            if arrival < wake_up {
                let wire = &mut io.wires[wires.start + ix.index()];
                let (place, frame) = wire.pop(ix, env.frames);
                io.observations.fingerprint.add(now.ps(), u64::from(wire.port.0), frame.digest());
                let faults = wire.faults.as_mut().filter(|_| !PLAIN);
                let lost = faults.and_then(|faults| faults.loss_of(frame, wire.port, now, env.fabric));
                arrivals.change(ix.index(), first_arrival(wire, ix, start, end, env.frames));
                if is_host || env.records.have_telemetry() {
                    wire.prefetch_record(env.frames, env.records);
                }
                match lost {
                    None => node.arrive(place, env),
                    Some(cause) => node.arrive_lost(ix, place, cause, env),
                }
            } else {
                io.agenda.take();
                if is_of(next, Kind::Port) {
                    node.port_ready(ix, env);
                } else {
                    Self::handle_rare(kind_of(next), wires.start, node, ix, env);
                }
            }
        }
        env.sink.io.arrivals = arrivals;
        let ShardIo { agenda, wires: all, .. } = &mut *env.sink.io;
        agenda.end_visit(index, || next_arrival(&all[wires], env.frames));
        handled
    }

    /// Announces the messages that were posted in this epoch to their receivers.
    #[inline(never)]
    fn announce(&mut self) {
        let Handler { nodes, env } = self;
        for (node, announcement) in env.sink.io.announcements.drain(..) {
            nodes[node as usize].endpoint_mut().announce(announcement);
        }
    }

    /// Handles events other than arrivals and port events.
    #[inline(never)]
    fn handle_rare(
        kind: Kind,
        first_wire: usize,
        node: &mut Node,
        ix: PortIx,
        env: &mut Env<'_, ShardSink<'_, PLAIN>>,
    ) {
        match kind {
            Kind::Arrive | Kind::Port => unreachable!("handled by `visit`"),
            Kind::FlowControl => node.flow_control_timer(ix, env),
            Kind::FlowStart => node.start_flows(env),
            Kind::Retransmission => node.retransmission_timer(env),
            Kind::Node => node.wake(env),
            Kind::LinkDown => {
                let faults = &mut env.sink.io.wires[first_wire + ix.index()].faults;
                let faults = faults.get_or_insert_with(|| Box::new(LinkFaults { failed_at: None, errors: None }));
                faults.failed_at = Some(env.now);
                node.link_change(ix, false, env);
            }
            Kind::LinkUp => node.link_change(ix, true, env),
        }
    }

    /// Calls `act` with a node of the shard.
    fn at_node(&mut self, index: u32, act: impl FnOnce(&mut Node, &mut Env<'_, ShardSink<'_, PLAIN>>)) {
        self.env.sink.node = index;
        act(&mut self.nodes[index as usize], &mut self.env);
    }
}

/// Returns the rank of the first arrival on `wire`, at port `ix`, during a visit from `start` to
/// `end`; [`Tournament::OUT`] if no frame arrives.
#[inline(always)]
fn first_arrival(wire: &Wire, ix: PortIx, start: Time, end: Time, frames: &Frames) -> Rank {
    match wire.next(frames) {
        Some(WireArrival { at, burst_age }) if at < end => rank(at - start, Kind::Arrive, burst_age, ix),
        _ => Tournament::OUT,
    }
}

/// Returns the time of the next arrival on `wires`; [`Time::NEVER`] if there is none.
fn next_arrival(wires: &[Wire], frames: &Frames) -> Time {
    wires.iter().filter_map(|wire| wire.next(frames)).map(|next| next.at).min().unwrap_or(Time::NEVER)
}

/// Sink for the actions of nodes.
pub(super) struct ShardSink<'a, const PLAIN: bool> {
    /// Index of the node whose actions these are.
    node: u32,
    fabric: &'a Fabric,
    layout: &'a Layout,
    pub(super) io: &'a mut ShardIo,
}

impl<const PLAIN: bool> Sink for ShardSink<'_, PLAIN> {
    const PLAIN: bool = PLAIN;

    #[inline(always)]
    fn transmit(&mut self, port: &Port, place: Place, now: Time, records: &Records, frames: &mut Frames) {
        let observations = &mut self.io.observations;
        observations.totals.packet_hops += 1;
        let packet = &mut frames[place];
        let frame = &packet.frame;
        if let Body::Control(control) = &frame.body {
            observations.count_control(control);
        }
        if !PLAIN && observations.trace.is_on(now) {
            let record = || records.copy(frame.record).map(Box::new);
            observations.trace.add_sent(now, port.id, frame, port.busy_until, record, self.fabric);
        }
        let at = port.busy_until + port.delay;
        let arrival = WireArrival { at, burst_age: age_of(at - port.burst_start) };
        match port.wire {
            Some(wire) => self.io.prepare(packet, wire, arrival).push(place, frames),
            None => {
                let ports = &self.fabric.wiring.ports;
                let peer = ports[port.id].peer;
                let shard = self.layout.node(ports[peer].node).shard;
                self.io.outboxes[shard as usize].frames.push((peer, arrival, frames.take(place).frame));
            }
        }
    }

    #[inline(always)]
    fn schedule(&mut self, wakeup: Wakeup<'_>, at: Time) {
        let (kind, port) = match wakeup {
            Wakeup::Port(port) => (Kind::Port, port.ix),
            Wakeup::FlowControl(port) => (Kind::FlowControl, port.ix),
            Wakeup::FlowStart(_) => (Kind::FlowStart, PortIx(0)),
            Wakeup::Retransmission(_) => (Kind::Retransmission, PortIx(0)),
            Wakeup::Node(_) => (Kind::Node, PortIx(0)),
        };
        self.io.agenda.schedule(self.node, kind, port, at);
    }

    fn traces(&self, now: Time) -> bool {
        self.io.observations.trace.is_on(now)
    }

    fn report(&mut self, report: Report, now: Time) {
        self.io.observations.report(report, now, self.fabric);
    }

    fn announce(&mut self, to: NodeId, announcement: Announcement) {
        let NodePlace { shard, node } = self.layout.node(to);
        let own = self.layout.node(self.fabric.flow(announcement.message.connection).src).shard;
        if shard == own {
            self.io.announcements.push((node, announcement));
        } else {
            self.io.outboxes[shard as usize].announcements.push((to, announcement));
        }
    }

    fn message(&mut self, event: MessageEvent, now: Time) {
        self.io.observations.messages.push((now, event));
    }
}
