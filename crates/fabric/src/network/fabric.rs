//! What all nodes of a running network share and none changes: wiring, routes, the active flows, sizes.

use crate::contract::need::unmet;
use crate::contract::{
    AnswerPath, Diagnostic, Entropy, FlowHash, FlowKey, Neighbour, Paths, PortFacts, RemainingHops, SenderFacts, Shape,
    Site,
};
use crate::frame::{Direction, MAX_HOPS, NextHop, Packet, Route, TIME_TO_LIVE, Trail};
use crate::ids::{Class, FlowId, NodeId, PortId, PortIx};
use crate::network::flows::{Flow, Flows};
use crate::network::routes::{PortPath, RoundTrips, Routes, Wiring, begins_stage};
use crate::network::spec::{FlowSpec, NetworkSpec, NodeKind, RelayConfig};
use arrayvec::ArrayVec;
use backwater_engine::index::IndexVec;
use backwater_engine::memory::HeapBytes;
use backwater_engine::random::{Seed, mix};
use backwater_engine::{Bytes, Duration, Rate};
use std::collections::BTreeSet;

/// The shared part of a network.
#[derive(Debug)]
pub struct Fabric {
    /// What it was made from.
    pub spec: NetworkSpec,
    /// Who is connected to whom.
    pub wiring: Wiring,
    /// Shortest paths.
    pub routes: Routes,
    /// What these were at first, once they have been computed anew.
    first_routes: Option<Box<Routes>>,
    /// How often they have been computed anew.
    epoch: u32,
    /// The active flows.
    pub flows: Flows,
    /// Longest base round-trip time of any pair of hosts.
    pub base_rtt: Duration,
    /// The links between that pair, and what a link adds.
    hops: (u8, Duration),
    /// What the network is like.
    shape: Shape,
    /// Bytes of in-band headers on data packets.
    pub telemetry_bytes: u32,
    /// Whether answers tell more than their headers do: which packet has come, and how far.
    pub echoes: bool,
    /// Whether hosts choose the paths of packets.
    pub(crate) chooses_paths: bool,
    /// Path of answers, where hosts choose the paths of packets and answers follow these.
    pub(crate) answer_path: Option<AnswerPath>,
    /// Whether reaction points ask to be called by the clock.
    pub(crate) reactions_wake: bool,
    /// True if notification points use timers.
    pub(crate) receiver_timers: bool,
    /// What becomes of a lossless class at every ingress port, by [`PortId`].
    guarantees: IndexVec<PortId, Guarantee>,
    hashes: IndexVec<NodeId, FlowHash>,
}

/// What a switch promises of the packets that come in at a port, if its buffer is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarantee {
    /// No packet of a lossless class is dropped: flow control stops the neighbour, and headroom holds what comes until then.
    Lossless,
    /// Packets of a lossless class may be dropped; `any_class`: flow control is to prevent drops of every class, and does not promise to.
    BestEffort {
        /// Whether that goes for classes that are not listed as lossless as well.
        any_class: bool,
    },
}

impl Guarantee {
    /// What is promised of the packets that come in at `port`, one of those of `site`, from `neighbour`: no drops under a flow control and a buffer
    /// policy that promise it, as long as the neighbour obeys, the link corrupts no frame of flow
    /// control, every frame takes time, and headroom that is set by hand is enough.
    fn of(port: &PortFacts, neighbour: &Neighbour, site: &Site<'_>, is_kept: bool) -> Guarantee {
        let ours = &site.flow_control;
        // What has been on its way when a PAUSE is passed on has to find room, whatever else is there: it is not counted.
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
        match self.wiring.of(host) {
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
        let (mut node, mut back) = (source, ArrayVec::<PortIx, MAX_HOPS>::new());
        for egress in taken {
            let port = &self.wiring.ports[self.wiring.port_at(node, egress).peer];
            back.push(port.ix);
            node = port.node;
        }
        back.reverse();
        // Where a trail is cut off, or there is none, any way will do.
        let is_whole = node == self.wiring.ports[ingress].node && !back.is_empty();
        let fixed = if is_whole { Route::fixed(&back) } else { None };
        fixed.map_or(Route::towards(source), Route::after_first)
    }

    fn next_hop_port(&self, port: PortId, flow: FlowId, direction: Direction, route: &Route) -> Option<PortId> {
        match route.next() {
            NextHop::Port(ix) => Some(self.wiring.port_of_peer(port, ix)),
            NextHop::Arrived => None,
            NextHop::Towards(destination) => self.predicted_port(port, destination, self.key(flow, direction)),
        }
    }
}

impl Fabric {
    /// The fabric of `spec`, without flows.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn new(spec: NetworkSpec) -> Result<Fabric, Vec<Diagnostic>> {
        spec.check()?;
        let wiring = Wiring::new(&spec.nodes, &spec.links);
        let mut routes = Routes::new(&spec.nodes, &wiring);
        let telemetry_bytes = spec.congestion.telemetry_bytes();
        let data = spec.framing.data(spec.mtu.get() as u32, false, telemetry_bytes).wire;
        let ack = spec.framing.ack(telemetry_bytes).wire;
        let RoundTrips { longest, hops, per_hop } = routes.round_trips(&spec.nodes, &wiring, data.into(), ack.into());
        for route in &spec.routes {
            let ports = wiring.of(route.node).iter().map(|port| port.ix);
            let port = ports.into_iter().find(|port| wiring.neighbour(route.node, *port) == route.next);
            routes.set(route.node, route.to, port.expect("NetworkSpec::check found the link"));
        }
        let shape = spec.shape(&wiring, &routes);
        spec.check_mechanisms(&shape)?;
        let hashes = spec.node_ids().map(|node| FlowHash::new(Seed(spec.seed), node)).collect();
        let (flows, guarantees) = (Flows::default(), IndexVec::default());
        let chooses_paths = spec.senders_choose_paths();
        let reactions_wake = spec.congestion.needs_sender_timers();
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
            reactions_wake,
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

    /// What is promised of the packets that come in at each port.
    fn all_guarantees(&self) -> IndexVec<PortId, Guarantee> {
        let of_node = |node| {
            let (site, is_kept) = (self.site(node), self.check_guarantee(node).is_ok());
            site.links().map(|(port, neighbour)| Guarantee::of(port, neighbour, &site, is_kept)).collect::<Vec<_>>()
        };
        self.spec.node_ids().flat_map(of_node).collect()
    }

    /// Whether the flow control of `node` keeps what it promises.
    ///
    /// # Errors
    /// What stands against it.
    pub fn check_guarantee(&self, node: NodeId) -> Result<(), String> {
        self.spec.flow_control_of(node, &self.wiring).check_guarantee(&self.site(node))
    }

    /// The port through which a packet that is routed hop by hop leaves the node behind `port`, where that is known beforehand; otherwise the next
    /// one that it passes for certain: that of the only switch of its destination.
    fn predicted_port(&self, port: PortId, destination: NodeId, key: FlowKey) -> Option<PortId> {
        let node = self.wiring.peer(&self.wiring.ports[port]);
        if destination == node {
            return None;
        }
        match self.routes.candidates(node, destination) {
            [] => None,
            [only] => Some(self.wiring.port_of_peer(port, *only)),
            several if self.spec.load_balance.is_static() && !self.chooses_paths => {
                let choice = several[self.hashes[node].index(key, several.len())];
                Some(self.wiring.port_of_peer(port, choice))
            }
            _ => match self.wiring.of(destination) {
                [link] => Some(link.peer),
                _ => None,
            },
        }
    }

    /// What is promised of the packets that come in at `ingress`.
    pub fn guarantee(&self, ingress: PortId) -> Guarantee {
        self.guarantees[ingress]
    }

    /// Checks that every switch's buffer holds what its policy sets aside.
    pub(crate) fn check_buffers(&self) -> Result<(), Vec<Diagnostic>> {
        let switches = (0..).map(NodeId).zip(&self.spec.nodes).filter(|(_, node)| node.kind.forwards());
        let reserved = switches.map(|(id, node)| (self.spec.headroom(id).reserved(&self.site(id)), id, node));
        let refused = reserved.filter(|(reserved, id, _)| *reserved >= self.spec.buffer(*id).get());
        let refused = refused.map(|(reserved, id, node)| {
            let buffer = self.spec.buffer(id);
            let reserved = Bytes(reserved);
            let short = Bytes(reserved.get() - buffer.get() + 1);
            let reason = format!(
                "headroom and private buffer of its ports take {reserved}, but the buffer has {buffer}, {short} too few"
            );
            node.error(&reason)
        });
        let errors: Vec<_> = refused.collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Checks that `flow` can run. Computes the routes to the nodes that pin it; long pinned paths can
    /// weaken guarantees.
    ///
    /// # Errors
    /// The first error. Its path is the field of [`FlowSpec`] that pins the path, or empty.
    pub fn check_flow(&mut self, flow: &FlowSpec) -> Result<(), Diagnostic> {
        self.check_endpoints(flow).map_err(|reason| Diagnostic::error("", reason))?;
        self.learn_waypoints(flow);
        let ways = [(flow.src, "data_via", &flow.data_via, flow.dst), (flow.dst, "ack_via", &flow.ack_via, flow.src)];
        for (source, key, via, target) in ways {
            let key = if via.is_empty() { "" } else { key };
            self.check_path(source, via, target).map_err(|reason| Diagnostic::error(key, reason))?;
        }
        Ok(())
    }

    /// The same, without its ways.
    fn check_endpoints(&self, flow: &FlowSpec) -> Result<(), String> {
        let kind = |node: NodeId| self.spec.nodes.get(node.0 as usize).map(|node| node.kind);
        let name = |node: NodeId| self.spec.nodes.get(node.0 as usize).map_or("?", |node| &node.name);
        let is_host = |node: NodeId| kind(node).is_some_and(NodeKind::has_endpoint);
        if !is_host(flow.src) || !is_host(flow.dst) || flow.src == flow.dst {
            return Err(format!("{} to {}: flows go from one host to another", name(flow.src), name(flow.dst)));
        }
        if flow.bytes == 0 {
            return Err("it has no bytes".into());
        }
        if flow.bytes != FlowSpec::ENDLESS && flow.bytes.div_ceil(self.spec.mtu.get()) >= u64::from(u32::MAX) {
            return Err("it has more than 4,294,967,294 packets".into());
        }
        if flow.class.0 > 7 || flow.class == Class::CONTROL {
            return Err(format!("class {} is not a data class; those are 1 to 7", flow.class.0));
        }
        if !flow.data_via.iter().chain(&flow.ack_via).all(|node| kind(*node).is_some_and(NodeKind::forwards)) {
            return Err("its pinned path goes through a node that does not forward packets".into());
        }
        Ok(())
    }

    /// Checks the way from `source` to `target` past the nodes `via`, to which the ways are known.
    fn check_path(&mut self, source: NodeId, via: &[NodeId], target: NodeId) -> Result<(), String> {
        match self.routes.path(&self.wiring, source, via, target, |_, ports| ports[0]) {
            None if via.is_empty() => {
                Err(format!("there is no way from {} to {}", self.name(source), self.name(target)))
            }
            None => Err("there is no way along its pinned path".into()),
            Some(_) if via.is_empty() => Ok(()),
            Some(path) if path.len() > MAX_HOPS => Err(format!("its pinned path has more than {MAX_HOPS} hops")),
            Some(path) if Route::fixed(&path).is_none() => {
                Err(format!("its pinned path has a port beyond {}", u8::MAX))
            }
            Some(path) => self.account_for_path(source, &path),
        }
    }

    /// A flow is pinned to this path from `source` on, which may have more stages than any other.
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

    /// What the network is like.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Adds a flow, which gets the next number. It must pass [`Fabric::check_flow`] and start no earlier than those before it.
    pub fn admit(&mut self, flow: FlowSpec) -> FlowId {
        self.learn_waypoints(&flow);
        self.flows.admit(flow)
    }

    /// Computes the routes anew, as `links` are down.
    pub(crate) fn reroute(&mut self, links: &BTreeSet<usize>) {
        let down = links.iter().flat_map(|link| self.wiring.links[*link]).collect();
        let first = self.routes.clone();
        self.routes.renew(&self.spec.nodes, &self.wiring, down);
        self.epoch += 1;
        self.first_routes.get_or_insert_with(|| Box::new(first));
    }

    /// Finds the ways to the switches that pin `flow`.
    pub fn learn_waypoints(&mut self, flow: &FlowSpec) {
        for switch in flow.data_via.iter().chain(&flow.ack_via) {
            self.routes.add(&self.spec.nodes, &self.wiring, *switch);
        }
    }

    /// The specification of the active flow `id`.
    #[inline]
    pub fn flow(&self, id: FlowId) -> &FlowSpec {
        &self.live_flow(id).spec
    }

    /// The active flow `id`.
    #[inline]
    pub(crate) fn live_flow(&self, id: FlowId) -> &Flow {
        self.flows.get(id).expect("a flow stays until it is acknowledged and none of its packets is on its way")
    }

    /// What a hash over the addresses of a flow's packets sees.
    pub fn key(&self, flow: FlowId, direction: Direction) -> FlowKey {
        FlowKey(mix(u64::from(flow.0) << 1 | u64::from(direction == Direction::Ack)))
    }

    /// Number of packets of a flow.
    pub fn packets(&self, flow: &FlowSpec) -> u32 {
        if flow.bytes == FlowSpec::ENDLESS { u32::MAX } else { flow.bytes.div_ceil(self.spec.mtu.get()) as u32 }
    }

    /// Payload bytes in the first `packets` packets of a flow of `bytes`.
    #[inline]
    pub fn payload_before(&self, packets: u32, bytes: u64) -> u64 {
        (u64::from(packets) * self.spec.mtu.get()).min(bytes)
    }

    /// The port that a flow's packets leave their host through, and the route that they carry.
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
        if !self.carries_its_route(flow, direction) {
            return Route::towards(if direction == Direction::Data { flow.dst } else { flow.src });
        }
        let path = self.path_with_key(self.key(id, direction).with(Some(path)), flow, direction, Some(port));
        self.route_along(&path, flow, direction)
    }

    /// Returns the port and the route of the answer to a data packet of a flow, which came in
    /// through `ingress` with path number `path`; by default answers leave through `egress`.
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
        if answers == AnswerPath::Reverse && flow.ack_via.is_empty() {
            let back = self.reverse_route(flow.src, packet, trail, ingress);
            if back.destination().is_none() {
                return (ix(ingress), back);
            }
        }
        (ix(egress), self.route_by(packet.flow, flow, Direction::Ack, ix(egress), path))
    }

    /// The route of packets that take `path`, one of the flow's.
    fn route_along(&self, path: &[PortIx], flow: &FlowSpec, direction: Direction) -> Route {
        let target = if direction == Direction::Data { flow.dst } else { flow.src };
        let fixed = if self.carries_its_route(flow, direction) { Route::fixed(path) } else { None };
        fixed.map_or(Route::towards(target), Route::after_first)
    }

    /// What can be said of the ways of all data packets of a flow when it starts, whose own route from its host on is `route`.
    pub(crate) fn common_route(&self, flow: &FlowSpec, route: Route) -> Route {
        let is_chosen = self.chooses_paths && flow.data_via.is_empty();
        if is_chosen { Route::towards(flow.dst) } else { route }
    }

    /// Whether all data packets of a flow go the same way, and it is known from the start.
    pub fn carries_route(&self, flow: &FlowSpec) -> bool {
        self.carries_its_route(flow, Direction::Data) && !self.chooses_paths
    }

    /// Whether packets of a flow carry their route: it is pinned, or a pure function of the flow.
    fn carries_its_route(&self, flow: &FlowSpec, direction: Direction) -> bool {
        let via = if direction == Direction::Data { &flow.data_via } else { &flow.ack_via };
        !via.is_empty() || self.spec.load_balance.is_static()
    }

    /// The egress ports of a flow's packets from their host on: pinned, or by ECMP (which stands for every equal-cost path).
    pub fn path(&self, id: FlowId, flow: &FlowSpec, direction: Direction) -> PortPath {
        self.path_with_key(self.key(id, direction), flow, direction, None)
    }

    /// The same for a packet of which hashes see `key`, and which leaves its host through port `first`, if that is given.
    fn path_with_key(&self, key: FlowKey, flow: &FlowSpec, direction: Direction, first: Option<PortIx>) -> PortPath {
        let (source, via, target) = match direction {
            Direction::Data => (flow.src, &flow.data_via, flow.dst),
            Direction::Ack => (flow.dst, &flow.ack_via, flow.src),
        };
        let hashed = |node: NodeId, ports: &[PortIx]| ports[self.hashes[node].index(key, ports.len())];
        let choose =
            |node: NodeId, ports: &[PortIx]| match first.filter(|first| node == source && ports.contains(first)) {
                Some(first) => first,
                None => hashed(node, ports),
            };
        let path = |routes: &Routes| routes.path(&self.wiring, source, via, target, choose);
        // Where links are down there may be no way left: then the old one leads to where the packets are lost.
        let path = path(&self.routes).or_else(|| path(self.first_routes.as_ref()?));
        path.expect("Fabric::check_flow found every flow a path")
    }

    /// The ports that a packet of `flow` passes behind `egress`, where its route goes on with `route`.
    #[inline]
    pub fn remaining_hops(
        &self,
        flow: FlowId,
        direction: Direction,
        route: Route,
        egress: PortId,
    ) -> RemainingHops<'_> {
        RemainingHops::new(self, flow, direction, route, egress)
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

    /// Whether `packet`, which is leaving through `egress`, passes `port` on its way from source to destination.
    pub fn passes(&self, packet: &Packet, egress: PortId, port: PortId) -> bool {
        let (egress, port) = (&self.wiring.ports[egress], &self.wiring.ports[port]);
        let (here, route) = (self.wiring.neighbour(egress.node, egress.ix), &packet.route);
        if let Some(destination) = packet.route.destination() {
            return egress.id == port.id || self.routes.may_meet(&self.wiring, here, destination, port);
        }
        // What is congested mostly lies ahead.
        self.wiring.intersects(here, route.remaining(), port)
            || self.wiring.intersects(self.flow(packet.flow).src, route.passed(), port)
    }

    /// Time from start to last byte at the receiver on an idle fabric, along `path` and with this
    /// many bytes of telemetry in every data packet; `None` for an endless flow, and for one in a
    /// routing loop.
    ///
    /// Every packet leaves its host as soon as the one before has left, and is stored and forwarded at every hop.
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
        // `free[h]`: when hop h has sent the last packet so far.
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
            // Between the first packet and the last, all are alike: once every hop keeps step, the rest is a multiple.
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

    /// What a mechanism may know about `node`.
    pub fn site(&self, node: NodeId) -> Site<'_> {
        self.spec.site(node, &self.wiring, self.shape, self.base_rtt)
    }

    /// What a mechanism may know at a sender whose port has rate `line_rate`, of the first flow or whichever the caller fills in.
    pub fn sender(&self, line_rate: Rate) -> SenderFacts {
        let (hops, hop_rtt) = self.hops;
        SenderFacts {
            flow: FlowId(0),
            seed: Seed(self.spec.seed),
            line_rate,
            base_rtt: self.base_rtt,
            hops,
            hop_rtt,
            sizes: self.spec.sizes(),
        }
    }

    /// Bytes that nodes hold on the heap, with the routes between them, and those that ports do.
    pub(crate) fn heap_bytes(&self) -> (u64, u64) {
        let names: u64 = self.spec.nodes.iter().map(|node| node.name.capacity() as u64).sum();
        let nodes = self.spec.nodes.heap_bytes() + names + self.hashes.heap_bytes() + self.routes.heap_bytes();
        (nodes, self.spec.links.heap_bytes() + self.wiring.heap_bytes())
    }

    /// Whether `node` is a switch.
    pub fn is_switch(&self, node: NodeId) -> bool {
        self.spec.nodes[node].kind == NodeKind::Switch
    }

    /// The name of `node`.
    pub fn name(&self, node: NodeId) -> &str {
        &self.spec.nodes[node].name
    }

    /// `port` in words: `leaf3:5`.
    pub fn port_name(&self, port: PortId) -> String {
        let facts = &self.wiring.ports[port];
        let node = self.name(facts.node);
        match self.spec.interfaces.get(&(facts.node, facts.ix)) {
            Some(name) => format!("{node}:{name}"),
            None => format!("{node}:{}", facts.ix),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanisms::congestion::CongestionConfig;
    use crate::mechanisms::load_balance::LoadBalanceConfig;
    use crate::mechanisms::load_balance::spray::SprayConfig;
    use crate::network::spec::RouteSpec;
    use crate::testing::{fabric, flow, network};

    /// Hosts 0 and 1 on leaf 4, 2 and 3 on leaf 5, spines 6 and 7: which spine is chosen packet by packet.
    #[test]
    fn where_paths_part_only_the_last_port_is_known() {
        let mut spec = network(4, 4, &[(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (5, 6), (5, 7)]);
        spec.load_balance = LoadBalanceConfig::Spray(SprayConfig {});
        let fabric = fabric(spec);
        let port = |from: u32, to: u32| {
            let ports = fabric.wiring.of(NodeId(from));
            ports.iter().find(|port| fabric.wiring.peer(port) == NodeId(to)).unwrap().id
        };
        let remaining_hops = |egress| {
            let route = Route::towards(NodeId(3));
            fabric.remaining_hops(FlowId(0), Direction::Data, route, egress).collect::<Vec<_>>()
        };
        assert_eq!(remaining_hops(port(0, 4)), [port(5, 3)]);
        assert_eq!(remaining_hops(port(4, 6)), [port(6, 5), port(5, 3)]);
        assert_eq!(remaining_hops(port(5, 3)), []);
    }

    /// The same network, where the sender chooses the spine, unless its flow is pinned.
    #[test]
    fn where_senders_choose_paths_only_the_last_port_is_known_beforehand() {
        let mut spec = network(4, 4, &[(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (5, 6), (5, 7)]);
        let known = |spec: &NetworkSpec, via: &[u32]| {
            let fabric = fabric(spec.clone());
            let mut flow = flow(0, 3, 1000, 0);
            let (port, route) = fabric.route(FlowId(0), &flow, Direction::Data);
            let first = fabric.wiring.port_at(NodeId(0), port).id;
            flow.data_via = via.iter().copied().map(NodeId).collect();
            let remaining_hops =
                fabric.remaining_hops(FlowId(0), Direction::Data, fabric.common_route(&flow, route), first);
            (remaining_hops.count(), fabric.carries_route(&flow))
        };
        assert_eq!([known(&spec, &[]), known(&spec, &[4, 6, 5])], [(3, true); 2]);
        spec.congestion = CongestionConfig::MpRdma(Default::default());
        assert_eq!([known(&spec, &[]), known(&spec, &[4, 6, 5])], [(1, false), (3, false)]);
    }

    /// Hosts 0 and 1 at the ends of a line of switches from 2 on.
    fn line(switches: u32) -> NetworkSpec {
        let between = (2..switches + 1).map(|switch| (switch, switch + 1));
        network(2, switches, &[(0, 2), (switches + 1, 1)].into_iter().chain(between).collect::<Vec<_>>())
    }

    #[test]
    fn a_pinned_path_is_a_way_of_seven_hops_at_most() {
        let refusal = |spec: NetworkSpec, via: &[u32]| {
            let mut flow = flow(0, 1, 1000, 0);
            flow.data_via = via.iter().copied().map(NodeId).collect();
            fabric(spec).check_flow(&flow).err().map(|error| error.message)
        };
        assert_eq!(refusal(line(6), &[2, 3, 4, 5, 6, 7]), None);
        let too_long = Some("its pinned path has more than 7 hops".to_owned());
        assert_eq!(refusal(line(7), &[2, 3, 4, 5, 6, 7, 8]), too_long);
        let no_way = network(3, 4, &[(0, 3), (1, 3), (2, 4), (4, 5), (5, 6)]);
        assert_eq!(refusal(no_way, &[3, 4]), Some("there is no way along its pinned path".to_owned()));
    }

    #[test]
    fn a_route_leads_to_a_switch_or_to_the_host_itself() {
        let is_fine = |to, next| {
            let routes = vec![RouteSpec { node: NodeId(2), to: NodeId(to), next: NodeId(next) }];
            Fabric::new(NetworkSpec { routes, ..line(2) }).is_ok()
        };
        assert_eq!([is_fine(0, 0), is_fine(1, 3), is_fine(1, 0), is_fine(0, 3)], [true, true, false, true]);
    }

    /// Host 0 on leaf 2, host 1 on leaves 3 and 4, spine 5 between them.
    #[test]
    fn of_a_host_with_two_links_the_last_port_is_not_known() {
        let mut spec = network(2, 4, &[(0, 2), (1, 3), (1, 4), (2, 5), (3, 5), (4, 5)]);
        spec.load_balance = LoadBalanceConfig::Spray(SprayConfig {});
        let fabric = fabric(spec);
        let [first, second] = [NodeId(0), NodeId(2)].map(|node| fabric.wiring.of(node).last().unwrap().id);
        let remaining_hops =
            |egress| fabric.remaining_hops(FlowId(0), Direction::Data, Route::towards(NodeId(1)), egress);
        assert_eq!(remaining_hops(first).collect::<Vec<_>>(), [second]);
        assert_eq!(remaining_hops(second).collect::<Vec<_>>(), []);
    }
}
