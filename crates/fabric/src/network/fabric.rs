//! State that all nodes of a running network share and that no node changes: wiring, routes, active
//! flows, and values derived from the specification.

use crate::contract::need::unmet;
use crate::contract::{
    AnswerPath, Diagnostic, Entropy, FlowHash, FlowKey, Neighbour, Paths, PortFacts, RemainingHops, SenderFacts, Shape,
    Site,
};
use crate::frame::{Direction, MAX_HOPS, NextHop, Packet, PacketKind, Route, TIME_TO_LIVE, Trail};
use crate::ids::{Class, FlowId, NodeId, PortId, PortIx};
use crate::network::flows::{Flow, Flows};
use crate::network::routes::{PortPath, RoundTrips, Routes, Wiring, begins_stage};
use crate::network::spec::{FlowKeys, FlowSpec, NetworkSpec, NodeKind, RelayConfig};
use arrayvec::ArrayVec;
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::interrupt;
use backwater_engine::memory::HeapBytes;
use backwater_engine::random::Seed;
use backwater_engine::{Bytes, Duration, Rate};
use std::collections::BTreeSet;

/// Shared state of a network.
#[derive(Debug)]
pub struct Fabric {
    /// Specification of the network.
    pub spec: NetworkSpec,
    /// Ports and links.
    pub wiring: Wiring,
    /// Current routes.
    pub routes: Routes,
    /// Initial routes, if routes have been recomputed.
    first_routes: Option<Box<Routes>>,
    /// Number of recomputations of routes.
    epoch: u32,
    /// Active flows.
    pub flows: Flows,
    /// Longest base round-trip time of any pair of hosts.
    pub base_rtt: Duration,
    /// Number of links between the two hosts with the round-trip time `base_rtt`, and the increment
    /// of the round-trip time per link.
    hops: (u8, Duration),
    /// Summary of the topology and configuration.
    shape: Shape,
    /// Bytes of in-band headers on data packets.
    pub telemetry_bytes: u32,
    /// True if answers echo the number of the packet that arrived and the number of links that it
    /// passed.
    pub echoes: bool,
    /// True if hosts choose the paths of packets.
    pub(crate) chooses_paths: bool,
    /// Path of answers, if hosts choose the paths of packets and answers depend on these paths.
    pub(crate) answer_path: Option<AnswerPath>,
    /// True if reaction points use timers.
    pub(crate) reaction_timers: bool,
    /// True if notification points use timers.
    pub(crate) receiver_timers: bool,
    /// Lossless guarantee of every ingress port.
    guarantees: IndexVec<PortId, Guarantee>,
    hashes: IndexVec<NodeId, FlowHash>,
}

/// Guarantee that a switch gives packets that arrive on a port, if the switch's buffer is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarantee {
    /// No packet of a lossless class is dropped: flow control pauses the neighbour, and headroom
    /// absorbs packets in flight.
    Lossless,
    /// Best effort: packets of a lossless class may be dropped.
    BestEffort {
        /// True if flow control tries to prevent drops of all classes, not only of lossless ones.
        any_class: bool,
    },
}

impl Guarantee {
    /// Returns the guarantee for packets that arrive on `port` of `site` from `neighbour`.
    ///
    /// The guarantee is lossless if all of these conditions hold:
    /// * flow control and buffer policy provide it,
    /// * the neighbour obeys the flow control,
    /// * the link never corrupts frames of the flow control,
    /// * no frame has a serialisation time of zero,
    /// * headroom suffices, if the scenario sets it.
    fn of(port: &PortFacts, neighbour: &Neighbour, site: &Site<'_>, is_kept: bool) -> Guarantee {
        let ours = &site.flow_control;
        // Packets in flight when a PAUSE is relayed are not counted, so a bounded buffer may lack
        // room for them.
        let is_bounded = site.buffer < RelayConfig::UNLIMITED.get() || site.headroom.bounds_ingress;
        let holds = !(ours.relays_pauses && site.relays && is_bounded);
        let obeys = ours.interoperates_with(&neighbour.flow_control);
        let takes_time = site.sizes.framing.rate_excess(port.rate, site.sizes.telemetry).is_some();
        let arrives = port.error_rate == 0.0 || ours.is_exempt_from_errors;
        let has_room = unmet(site, port).is_none();
        let is_sound = holds && arrives && takes_time && has_room && is_kept;
        if obeys && is_sound && ours.is_lossless && site.headroom.is_lossless {
            Guarantee::Lossless
        } else {
            Guarantee::BestEffort { any_class: ours.bounds_queues }
        }
    }
}

impl Paths for Fabric {
    fn candidates(&self, node: NodeId, destination: NodeId) -> &[PortIx] {
        self.routes.candidates(node, destination)
    }

    fn neighbour(&self, node: NodeId, port: PortIx) -> NodeId {
        self.wiring.neighbour(node, port)
    }

    fn epoch(&self) -> u32 {
        self.epoch
    }

    fn serialisation(&self, node: NodeId, ports: &[PortIx], wire: u16) -> Duration {
        let (mut node, mut time) = (node, Duration::ZERO);
        for ix in ports {
            let port = self.wiring.port_at(node, *ix);
            time += self.spec.framing.byte_time(port.rate).times(wire.into());
            node = self.wiring.peer(port);
        }
        time
    }

    fn first_hop_switch(&self, host: NodeId) -> NodeId {
        match self.wiring.ports_of(host) {
            [first, ..] if self.spec.is_host(host) => self.wiring.peer(first),
            _ => host,
        }
    }

    fn endpoints(&self, flow: FlowId, direction: Direction) -> Option<(NodeId, NodeId)> {
        let FlowSpec { src, dst, .. } = &self.flows.get(flow)?.spec;
        match direction {
            Direction::Data => Some((*src, *dst)),
            Direction::Ack => Some((*dst, *src)),
        }
    }

    fn reverse_route(&self, source: NodeId, packet: &Packet, trail: Option<&Trail>, ingress: PortId) -> Route {
        let taken: ArrayVec<PortIx, MAX_HOPS> = match packet.route.destination() {
            None => packet.route.passed().collect(),
            Some(_) => trail.into_iter().flat_map(Trail::ports).copied().collect(),
        };
        let (mut node, mut reverse) = (source, ArrayVec::<PortIx, MAX_HOPS>::new());
        for egress in taken {
            let port = &self.wiring.ports[self.wiring.port_at(node, egress).peer];
            reverse.push(port.ix);
            node = port.node;
        }
        reverse.reverse();
        // Without a complete trail, the notice takes any path.
        let is_whole = node == self.wiring.ports[ingress].node && !reverse.is_empty();
        let fixed = if is_whole { Route::fixed(&reverse) } else { None };
        fixed.map_or(Route::towards(source), Route::after_first)
    }

    #[inline]
    fn key(&self, flow: FlowId, kind: PacketKind) -> FlowKey {
        let identity = match self.spec.flow_keys {
            FlowKeys::Number => flow.0.into(),
            FlowKeys::Connection => self.identity_of_packet(flow, kind),
        };
        FlowKey::of(identity, kind.direction())
    }

    fn next_hop_port(&self, port: PortId, flow: FlowId, kind: PacketKind, route: &Route) -> Option<PortId> {
        match route.next() {
            NextHop::Port(ix) => Some(self.wiring.port_of_peer(port, ix)),
            NextHop::Arrived => None,
            NextHop::Towards(destination) => self.predicted_port(port, destination, || self.key(flow, kind)),
        }
    }
}

impl Fabric {
    /// Creates the fabric of `spec`, without flows.
    ///
    /// # Errors
    /// All errors of the specification.
    pub fn new(spec: NetworkSpec) -> Result<Fabric, Vec<Diagnostic>> {
        spec.check()?;
        let wiring = Wiring::new(&spec.nodes, &spec.links);
        let mut routes = Routes::new(&spec.nodes, &wiring);
        let telemetry_bytes = spec.congestion.telemetry_bytes();
        let data = spec.framing.data(spec.mtu.get() as u32, false, telemetry_bytes).wire;
        let ack = spec.framing.ack(telemetry_bytes).wire;
        let RoundTrips { longest, hops, per_hop } = routes.round_trips(&spec.nodes, &wiring, data.into(), ack.into());
        for route in &spec.routes {
            let ports = wiring.ports_of(route.node).iter().map(|port| port.ix);
            let port = ports.into_iter().find(|port| wiring.neighbour(route.node, *port) == route.next);
            routes.set(route.node, route.to, port.expect("NetworkSpec::check found the link"));
        }
        let shape = spec.shape(&wiring, &routes);
        spec.check_mechanisms(&shape)?;
        let hashes = spec.nodes.ids().map(|node| FlowHash::new(spec.hash_seed(), node)).collect();
        let (flows, guarantees) = (Flows::default(), IndexVec::default());
        let chooses_paths = spec.senders_choose_paths();
        let reaction_timers = spec.congestion.needs_sender_timers();
        let receiver_timers = spec.congestion.needs_receiver_timers();
        let echoes = spec.recovery.is_selective() || spec.congestion.needs_hops() || chooses_paths;
        let (base_rtt, hops) = (longest, (hops, per_hop));
        let mut fabric = Fabric {
            wiring,
            routes,
            first_routes: None,
            epoch: 0,
            chooses_paths,
            answer_path: spec.congestion.answer_path(),
            reaction_timers,
            receiver_timers,
            flows,
            base_rtt,
            hops,
            shape,
            telemetry_bytes,
            echoes,
            guarantees,
            hashes,
            spec,
        };
        fabric.guarantees = fabric.all_guarantees();
        fabric.check_buffers()?;
        Ok(fabric)
    }

    /// Returns the guarantee of each ingress port.
    fn all_guarantees(&self) -> IndexVec<PortId, Guarantee> {
        let of_node = |node| {
            let (site, is_kept) = (self.site(node), self.check_guarantee(node).is_ok());
            site.links().map(|(port, neighbour)| Guarantee::of(port, neighbour, &site, is_kept)).collect::<Vec<_>>()
        };
        self.spec.nodes.ids().flat_map(of_node).collect()
    }

    /// Checks the conditions for the flow control's lossless guarantee at `node`.
    ///
    /// # Errors
    /// The first condition that does not hold.
    pub fn check_guarantee(&self, node: NodeId) -> Result<(), String> {
        self.spec.flow_control_of(node, &self.wiring).check_guarantee(&self.site(node))
    }

    /// Returns the port through which a packet that is routed hop by hop leaves the neighbour of
    /// `port`, if that port is known in advance. Otherwise returns the next port that the packet
    /// certainly passes: the last port of its path, if the destination has only one switch.
    fn predicted_port(&self, port: PortId, destination: NodeId, key: impl FnOnce() -> FlowKey) -> Option<PortId> {
        let node = self.wiring.peer(&self.wiring.ports[port]);
        if destination == node {
            return None;
        }
        match self.routes.candidates(node, destination) {
            [] => None,
            [only] => Some(self.wiring.port_of_peer(port, *only)),
            several if self.spec.load_balance.is_static() && !self.chooses_paths => {
                let choice = several[self.hashes[node].index(key(), several.len())];
                Some(self.wiring.port_of_peer(port, choice))
            }
            _ => match self.wiring.ports_of(destination) {
                [link] => Some(link.peer),
                _ => None,
            },
        }
    }

    /// Returns the guarantee for packets that arrive on `ingress`.
    pub fn guarantee(&self, ingress: PortId) -> Guarantee {
        self.guarantees[ingress]
    }

    /// Checks that every switch's buffer holds the reserved bytes of its buffer policy.
    pub(crate) fn check_buffers(&self) -> Result<(), Vec<Diagnostic>> {
        let switches = self.spec.nodes.enumerate().filter(|(_, node)| node.kind.forwards());
        let reserved =
            switches.map(|(id, node)| (self.spec.headroom(id, &self.wiring).reserved(&self.site(id)), id, node));
        let refused = reserved.filter(|(reserved, id, _)| *reserved >= self.spec.buffer(*id).get());
        let refused = refused.map(|(reserved, id, node)| {
            let buffer = self.spec.buffer(id);
            let reserved = Bytes(reserved);
            let short = Bytes(reserved.get() - buffer.get() + 1);
            let reason = format!(
                "its ports reserve {reserved} as headroom and private buffer, but the buffer has {buffer}; increase \
                    the buffer by at least {short}"
            );
            node.error(&reason)
        });
        let errors: Vec<_> = refused.collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Checks that `flow` can run. Computes the routes to the nodes through which the flow is
    /// pinned. Long pinned paths can weaken guarantees.
    ///
    /// # Errors
    /// The first error. The path of this diagnostic is the field of [`FlowSpec`] that pins the
    /// flow's path, or empty.
    pub fn check_flow(&mut self, flow: &FlowSpec) -> Result<(), Diagnostic> {
        interrupt::check();
        self.check_endpoints(flow).map_err(|reason| Diagnostic::error("", reason))?;
        self.add_waypoint_routes(flow);
        let paths =
            [(flow.src, "data_via", flow.data_via(), flow.dst), (flow.dst, "ack_via", flow.ack_via(), flow.src)];
        for (source, key, via, target) in paths {
            let key = if via.is_empty() { "" } else { key };
            self.check_path(source, via, target).map_err(|reason| Diagnostic::error(key, reason))?;
        }
        Ok(())
    }

    /// Checks everything but the flow's paths.
    fn check_endpoints(&self, flow: &FlowSpec) -> Result<(), String> {
        let kind = |node: NodeId| self.spec.nodes.get(node.index()).map(|node| node.kind);
        let name = |node: NodeId| self.spec.nodes.get(node.index()).map_or("?", |node| &node.name);
        let is_host = |node: NodeId| kind(node).is_some_and(NodeKind::has_endpoint);
        if !is_host(flow.src) || !is_host(flow.dst) || flow.src == flow.dst {
            return Err(format!("{} to {}: a flow needs two different hosts", name(flow.src), name(flow.dst)));
        }
        if flow.bytes == 0 {
            return Err("it has no bytes".into());
        }
        if flow.bytes != FlowSpec::ENDLESS && flow.bytes.div_ceil(self.spec.mtu.get()) >= u64::from(u32::MAX) {
            return Err("it has more than 4,294,967,294 packets".into());
        }
        if flow.class.0 > 7 || flow.class == Class::CONTROL {
            return Err(format!("class {} is not a data class, 1 to 7", flow.class.0));
        }
        if !flow.data_via().iter().chain(flow.ack_via()).all(|node| kind(*node).is_some_and(NodeKind::forwards)) {
            return Err("its pinned path goes through a node that does not forward packets".into());
        }
        Ok(())
    }

    /// Checks the path from `source` to `target` through `via`, to which routes must exist.
    fn check_path(&mut self, source: NodeId, via: &[NodeId], target: NodeId) -> Result<(), String> {
        match self.routes.path(&self.wiring, source, via, target, |_, ports| ports[0]) {
            None if via.is_empty() => {
                Err(format!("there is no path from {} to {}", self.name(source), self.name(target)))
            }
            None => Err("there is no path through the switches of its pinned path".into()),
            Some(_) if via.is_empty() => Ok(()),
            Some(path) if path.len() > MAX_HOPS => Err(format!("its pinned path has more than {MAX_HOPS} hops")),
            Some(path) if Route::fixed(&path).is_none() => {
                Err(format!("its pinned path uses a port number above {}", u8::MAX))
            }
            Some(path) => self.account_for_path(source, &path),
        }
    }

    /// Updates the network's shape and guarantees for a pinned path from `source`, which may have
    /// more stages than any other path.
    fn account_for_path(&mut self, source: NodeId, path: &[PortIx]) -> Result<(), String> {
        let (mut node, mut stages) = (source, 1);
        for ix in &path[..path.len() - 1] {
            let next = self.wiring.neighbour(node, *ix);
            stages += usize::from(begins_stage(&self.spec.nodes, node, next));
            node = next;
        }
        if stages > self.shape.stages {
            let shape = Shape { stages, ..self.shape };
            let mut errors = self.spec.check_mechanisms(&shape).err().into_iter().flatten();
            errors.next().map_or(Ok(()), |error| Err(format!("{}: {}", error.path, error.message)))?;
            self.shape = shape;
            self.guarantees = self.all_guarantees();
        }
        Ok(())
    }

    /// Returns the summary of the topology and configuration.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Adds a flow under the next number. The flow must pass [`Fabric::check_flow`] and start no
    /// earlier than flows before it.
    pub fn admit(&mut self, flow: FlowSpec) -> FlowId {
        self.add_waypoint_routes(&flow);
        self.flows.admit(flow)
    }

    /// Recomputes the routes without `links`, which are down.
    pub(crate) fn reroute(&mut self, links: &BTreeSet<usize>) {
        let down = links.iter().flat_map(|link| self.wiring.links[*link]).collect();
        self.first_routes.get_or_insert_with(|| Box::new(self.routes.clone()));
        self.routes.renew(&self.spec.nodes, &self.wiring, down);
        self.epoch += 1;
    }

    /// Computes the routes to the switches through which `flow` is pinned.
    pub fn add_waypoint_routes(&mut self, flow: &FlowSpec) {
        let waypoints = flow.data_via().iter().chain(flow.ack_via()).copied();
        self.routes.add(&self.spec.nodes, &self.wiring, waypoints);
    }

    /// Returns the specification of the active flow `id`.
    #[inline]
    pub fn flow(&self, id: FlowId) -> &FlowSpec {
        &self.live_flow(id).spec
    }

    /// Returns the active flow `id`.
    #[inline]
    pub(crate) fn live_flow(&self, id: FlowId) -> &Flow {
        self.flows.get(id).expect("a flow is live until its last packet has left the network")
    }

    /// Returns the identity of the flow of a packet. The flow of a notice may be forgotten. The
    /// attribute keeps the caller as short as with keys that are numbers.
    #[cold]
    fn identity_of_packet(&self, flow: FlowId, kind: PacketKind) -> u64 {
        if kind == PacketKind::Notice { FlowId::NONE.0.into() } else { self.flow(flow).identity() }
    }

    /// Returns the number that names a flow in hash keys and random streams.
    fn identity(&self, id: FlowId, flow: &FlowSpec) -> u64 {
        match self.spec.flow_keys {
            FlowKeys::Number => id.0.into(),
            FlowKeys::Connection => flow.identity(),
        }
    }

    /// Returns the hash key of a flow's packets, which stands for their addresses.
    fn key_of(&self, id: FlowId, flow: &FlowSpec, direction: Direction) -> FlowKey {
        FlowKey::of(self.identity(id, flow), direction)
    }

    /// Returns the number of packets of a flow.
    pub fn packets(&self, flow: &FlowSpec) -> u32 {
        if flow.bytes == FlowSpec::ENDLESS { u32::MAX } else { flow.bytes.div_ceil(self.spec.mtu.get()) as u32 }
    }

    /// Returns the payload bytes of the first `packets` packets of a flow of `bytes`.
    #[inline]
    pub fn payload_before(&self, packets: u32, bytes: u64) -> u64 {
        (u64::from(packets) * self.spec.mtu.get()).min(bytes)
    }

    /// Returns the host port and the route of a flow's packets.
    pub fn route(&self, id: FlowId, flow: &FlowSpec, direction: Direction) -> (PortIx, Route) {
        let path = self.path(id, flow, direction);
        (path[0], self.route_along(&path, flow, direction))
    }

    /// Returns the route of a packet of a flow that leaves its host through `port` with path number
    /// `path`.
    #[inline(never)]
    pub(crate) fn route_by(
        &self,
        id: FlowId,
        flow: &FlowSpec,
        direction: Direction,
        port: PortIx,
        path: Entropy,
    ) -> Route {
        if !self.has_fixed_route(flow, direction) {
            return Route::towards(if direction == Direction::Data { flow.dst } else { flow.src });
        }
        let path = self.path_with_key(self.key_of(id, flow, direction).with(Some(path)), flow, direction, Some(port));
        self.route_along(&path, flow, direction)
    }

    /// Returns the port and the route of the answer to a data packet, which arrived on `ingress`
    /// with path number `path`. By default answers leave through `egress`.
    #[inline(never)]
    pub(crate) fn answer_route(
        &self,
        answers: AnswerPath,
        flow: &FlowSpec,
        packet: &Packet,
        trail: Option<&Trail>,
        [ingress, egress]: [PortId; 2],
        path: Entropy,
    ) -> (PortIx, Route) {
        let ix = |port: PortId| self.wiring.ports[port].ix;
        if answers == AnswerPath::Reverse && flow.ack_via().is_empty() {
            let reverse = self.reverse_route(flow.src, packet, trail, ingress);
            if reverse.destination().is_none() {
                return (ix(ingress), reverse);
            }
        }
        (ix(egress), self.route_by(packet.flow, flow, Direction::Ack, ix(egress), path))
    }

    /// Returns the route of packets on `path`, a path of the flow.
    fn route_along(&self, path: &[PortIx], flow: &FlowSpec, direction: Direction) -> Route {
        let target = if direction == Direction::Data { flow.dst } else { flow.src };
        let fixed = if self.has_fixed_route(flow, direction) { Route::fixed(path) } else { None };
        fixed.map_or(Route::towards(target), Route::after_first)
    }

    /// Returns the part of the route that all data packets of a flow share, where `route` is the
    /// flow's own route from its host on.
    pub(crate) fn common_route(&self, flow: &FlowSpec, route: Route) -> Route {
        let is_chosen = self.chooses_paths && flow.data_via().is_empty();
        if is_chosen { Route::towards(flow.dst) } else { route }
    }

    /// Returns true if all data packets of a flow take one path that is known when the flow starts.
    pub fn has_known_path(&self, flow: &FlowSpec) -> bool {
        self.has_fixed_route(flow, Direction::Data) && !self.chooses_paths
    }

    /// Returns true if packets of a flow carry a fixed route: the route is pinned, or a pure
    /// function of the flow.
    fn has_fixed_route(&self, flow: &FlowSpec, direction: Direction) -> bool {
        let via = if direction == Direction::Data { flow.data_via() } else { flow.ack_via() };
        !via.is_empty() || self.spec.load_balance.is_static()
    }

    /// Returns the path of a flow's packets: the pinned path, or else the path that ECMP chooses,
    /// as a representative of all equal-cost paths.
    pub fn path(&self, id: FlowId, flow: &FlowSpec, direction: Direction) -> PortPath {
        self.path_with_key(self.key_of(id, flow, direction), flow, direction, None)
    }

    /// Returns the path of a packet with hash key `key` that leaves its host through port `first`,
    /// if given.
    fn path_with_key(&self, key: FlowKey, flow: &FlowSpec, direction: Direction, first: Option<PortIx>) -> PortPath {
        let (source, via, target) = match direction {
            Direction::Data => (flow.src, flow.data_via(), flow.dst),
            Direction::Ack => (flow.dst, flow.ack_via(), flow.src),
        };
        let hashed = |node: NodeId, ports: &[PortIx]| ports[self.hashes[node].index(key, ports.len())];
        let choose =
            |node: NodeId, ports: &[PortIx]| match first.filter(|first| node == source && ports.contains(first)) {
                Some(first) => first,
                None => hashed(node, ports),
            };
        let path = |routes: &Routes| routes.path(&self.wiring, source, via, target, choose);
        // If failed links leave no path, the initial path leads to the node where packets are lost.
        let path = path(&self.routes).or_else(|| path(self.first_routes.as_ref()?));
        path.expect("Fabric::check_flow found every flow a path")
    }

    /// Returns the ports that a packet of `flow` and of `kind` passes after `egress`, where `route`
    /// is the rest of its route.
    #[inline]
    pub fn remaining_hops(&self, flow: FlowId, kind: PacketKind, route: Route, egress: PortId) -> RemainingHops<'_> {
        RemainingHops::new(self, flow, kind, route, egress)
    }

    /// Returns the egress ports of `path`, which begins at the flow's source.
    pub fn egress_ports(&self, flow: &FlowSpec, path: &[PortIx]) -> impl Iterator<Item = &PortFacts> {
        let mut node = flow.src;
        path.iter().map(move |ix| {
            let port = self.wiring.port_at(node, *ix);
            node = self.wiring.peer(port);
            port
        })
    }

    /// Returns true if `packet`, which departs through `egress`, passes `port` anywhere on its
    /// path.
    pub fn passes(&self, packet: &Packet, egress: PortId, port: PortId) -> bool {
        let (egress, port) = (&self.wiring.ports[egress], &self.wiring.ports[port]);
        let (here, route) = (self.wiring.neighbour(egress.node, egress.ix), &packet.route);
        if let Some(destination) = packet.route.destination() {
            return egress.id == port.id || self.routes.may_meet(&self.wiring, here, destination, port);
        }
        // Test the ports ahead first: most congestion is there.
        self.wiring.intersects(here, route.remaining(), port)
            || self.wiring.intersects(self.flow(packet.flow).src, route.passed(), port)
    }

    /// Returns the time from the flow's start to its last byte at the receiver on an idle network,
    /// along `path`, with `telemetry` bytes in every data packet. `None` for an endless flow and
    /// for a routing loop.
    ///
    /// Packets leave the host back to back and are stored and forwarded at every hop.
    pub fn ideal_fct(&self, flow: &FlowSpec, path: &[PortIx], telemetry: u32) -> Option<Duration> {
        if flow.bytes == FlowSpec::ENDLESS {
            return None;
        }
        let hop = |port: &PortFacts| (self.spec.framing.byte_time(port.rate), port.delay);
        let hops: Vec<_> = self.egress_ports(flow, path).map(hop).collect();
        if hops.len() >= usize::from(TIME_TO_LIVE) {
            return None;
        }
        let mtu = self.spec.mtu.get();
        let packets = self.packets(flow);
        let wire = |packet: u32| {
            let payload = (flow.bytes - u64::from(packet) * mtu).min(mtu) as u32;
            u32::from(self.spec.framing.data(payload, packet == 0, telemetry).wire)
        };
        // Time at which hop `h` has sent the latest packet.
        let mut free = vec![Duration::ZERO; hops.len()];
        let mut steps: Option<Vec<Duration>> = None;
        let mut packet = 0;
        while packet < packets {
            let before = free.clone();
            let (mut ready, size) = (Duration::ZERO, wire(packet));
            for (free, (byte_time, delay)) in free.iter_mut().zip(&hops) {
                *free = ready.max(*free) + byte_time.times(size);
                ready = *free + *delay;
            }
            packet += 1;
            // All packets between the first and the last have one size. Once every hop advances by
            // the same step per packet, the remaining packets take a multiple of this step.
            let step: Vec<Duration> = free.iter().zip(&before).map(|(now, before)| *now - *before).collect();
            let alike = step.windows(2).all(|pair| pair[0] == pair[1]) && steps.as_ref() == Some(&step);
            if alike && packet > 2 && packet + 1 < packets {
                let skipped = packets - 1 - packet;
                for (free, step) in free.iter_mut().zip(&step) {
                    *free += *step * u64::from(skipped);
                }
                packet += skipped;
            }
            steps = Some(step);
        }
        Some(*free.last()? + hops.last()?.1)
    }

    /// Returns the static environment of mechanisms at `node`.
    pub fn site(&self, node: NodeId) -> Site<'_> {
        self.spec.site(node, &self.wiring, self.shape, self.base_rtt)
    }

    /// Returns the facts of the sender of active flow `id`, whose port has rate `line_rate`.
    pub(crate) fn sender_of(&self, id: FlowId, line_rate: Rate) -> SenderFacts {
        SenderFacts { flow: id, identity: self.identity(id, self.flow(id)), ..self.sender(line_rate) }
    }

    /// Returns the facts of any sender whose port has rate `line_rate`. The facts name flow 0.
    pub fn sender(&self, line_rate: Rate) -> SenderFacts {
        let (hops, hop_rtt) = self.hops;
        SenderFacts {
            flow: FlowId(0),
            identity: 0,
            seed: Seed(self.spec.seed),
            line_rate,
            base_rtt: self.base_rtt,
            hops,
            hop_rtt,
            sizes: self.spec.sizes(),
        }
    }

    /// Returns the heap memory of the fabric.
    pub fn heap_bytes(&self) -> u64 {
        let (nodes, links) = self.heap_bytes_by_part();
        nodes + links
    }

    /// Returns the heap sizes of nodes with routes, and of ports, in bytes.
    pub(crate) fn heap_bytes_by_part(&self) -> (u64, u64) {
        let names: u64 = self.spec.nodes.iter().map(|node| node.name.capacity() as u64).sum();
        let nodes = self.spec.nodes.heap_bytes() + names + self.hashes.heap_bytes() + self.routes.heap_bytes();
        (nodes, self.spec.links.heap_bytes() + self.wiring.heap_bytes())
    }

    /// Returns true if `node` is a switch.
    pub fn is_switch(&self, node: NodeId) -> bool {
        self.spec.nodes[node].kind == NodeKind::Switch
    }

    /// Returns the name of `node`.
    pub fn name(&self, node: NodeId) -> &str {
        &self.spec.nodes[node].name
    }

    /// Returns the name of `port`, such as `leaf3:5`.
    pub fn port_name(&self, port: PortId) -> String {
        let facts = &self.wiring.ports[port];
        let node = self.name(facts.node);
        match self.spec.interfaces.get(&(facts.node, facts.ix)) {
            Some(name) => format!("{node}:{name}"),
            None => format!("{node}:{}", facts.ix.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::linked;
    use crate::mechanisms::congestion::CongestionConfig;
    use crate::mechanisms::load_balance::LoadBalanceConfig;
    use crate::mechanisms::load_balance::spray::SprayConfig;
    use crate::network::spec::RouteSpec;
    use crate::testing::{fabric, flow};

    /// Hosts 0 and 1 are on leaf 4, hosts 2 and 3 on leaf 5; the spines are 6 and 7. Switches
    /// choose the spine per packet.
    #[test]
    fn only_the_last_port_is_known_if_switches_choose_per_packet() {
        let mut spec = linked(4, 4, [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (5, 6), (5, 7)]);
        spec.load_balance = LoadBalanceConfig::Spray(SprayConfig {});
        let fabric = fabric(spec);
        let port = |from: u32, to: u32| {
            let ports = fabric.wiring.ports_of(NodeId(from));
            ports.iter().find(|port| fabric.wiring.peer(port) == NodeId(to)).unwrap().id
        };
        let remaining_hops = |egress| {
            let route = Route::towards(NodeId(3));
            fabric.remaining_hops(FlowId(0), PacketKind::Data, route, egress).collect::<Vec<_>>()
        };
        assert_eq!(remaining_hops(port(0, 4)), [port(5, 3)]);
        assert_eq!(remaining_hops(port(4, 6)), [port(6, 5), port(5, 3)]);
        assert_eq!(remaining_hops(port(5, 3)), []);
    }

    /// Hosts 0 and 1 are on leaf 4, hosts 2 and 3 on leaf 5; the spines are 6 and 7. Senders choose
    /// the spine, except for pinned flows.
    #[test]
    fn only_the_last_port_is_known_if_senders_choose_paths() {
        let mut spec = linked(4, 4, [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (5, 6), (5, 7)]);
        let known = |spec: &NetworkSpec, via: &[u32]| {
            let fabric = fabric(spec.clone());
            let flow = flow(0, 3, 1000, 0);
            let (port, route) = fabric.route(FlowId(0), &flow, Direction::Data);
            let first = fabric.wiring.port_at(NodeId(0), port).id;
            let flow = flow.via(via.iter().copied().map(NodeId).collect(), vec![]);
            let remaining_hops =
                fabric.remaining_hops(FlowId(0), PacketKind::Data, fabric.common_route(&flow, route), first);
            (remaining_hops.count(), fabric.has_known_path(&flow))
        };
        assert_eq!([known(&spec, &[]), known(&spec, &[4, 6, 5])], [(3, true); 2]);
        spec.congestion = CongestionConfig::MpRdma(Default::default());
        assert_eq!([known(&spec, &[]), known(&spec, &[4, 6, 5])], [(1, false), (3, false)]);
    }

    /// Returns a line of switches, from 2 on, with hosts 0 and 1 at its ends.
    fn line(switches: u32) -> NetworkSpec {
        let between = (2..switches + 1).map(|switch| (switch, switch + 1));
        linked(2, switches, [(0, 2), (switches + 1, 1)].into_iter().chain(between))
    }

    #[test]
    fn pinned_paths_have_at_most_seven_hops() {
        let refusal = |spec: NetworkSpec, via: &[u32]| {
            let flow = flow(0, 1, 1000, 0).via(via.iter().copied().map(NodeId).collect(), vec![]);
            fabric(spec).check_flow(&flow).err().map(|error| error.message)
        };
        assert_eq!(refusal(line(6), &[2, 3, 4, 5, 6, 7]), None);
        let too_long = Some("its pinned path has more than 7 hops".to_owned());
        assert_eq!(refusal(line(7), &[2, 3, 4, 5, 6, 7, 8]), too_long);
        let no_way = linked(3, 4, [(0, 3), (1, 3), (2, 4), (4, 5), (5, 6)]);
        assert_eq!(
            refusal(no_way, &[3, 4]),
            Some("there is no path through the switches of its pinned path".to_owned())
        );
    }

    #[test]
    fn routes_set_by_hand_lead_to_a_switch_or_to_the_destination() {
        let is_fine = |to, next| {
            let routes = vec![RouteSpec { node: NodeId(2), to: NodeId(to), next: NodeId(next) }];
            Fabric::new(NetworkSpec { routes, ..line(2) }).is_ok()
        };
        assert_eq!([is_fine(0, 0), is_fine(1, 3), is_fine(1, 0), is_fine(0, 3)], [true, true, false, true]);
    }

    /// Host 0 is on leaf 2, host 1 on leaves 3 and 4. Spine 5 connects the leaves.
    #[test]
    fn the_last_port_to_a_host_with_two_links_is_unknown() {
        let mut spec = linked(2, 4, [(0, 2), (1, 3), (1, 4), (2, 5), (3, 5), (4, 5)]);
        spec.load_balance = LoadBalanceConfig::Spray(SprayConfig {});
        let fabric = fabric(spec);
        let [first, second] = [NodeId(0), NodeId(2)].map(|node| fabric.wiring.ports_of(node).last().unwrap().id);
        let remaining_hops =
            |egress| fabric.remaining_hops(FlowId(0), PacketKind::Data, Route::towards(NodeId(1)), egress);
        assert_eq!(remaining_hops(first).collect::<Vec<_>>(), [second]);
        assert_eq!(remaining_hops(second).collect::<Vec<_>>(), []);
    }
}
