//! What all nodes of a running network share and none changes: wiring, routes, flows, sizes.

use crate::frame::{Packet, Route};
use crate::ids::{FlowId, NodeId, PortId, PortIx};
use crate::load_balance::ecmp::Ecmp;
use crate::routes::{Routes, Wiring};
use crate::slots::{FlowKey, Site};
use crate::spec::{FlowSpec, NetworkSpec, NodeKind};
use backwater_engine::Duration;
use backwater_engine::random::{Seed, mix};
use std::collections::BTreeSet;

/// The shared, immutable part of a network.
#[derive(Debug)]
pub struct Fabric {
    /// What it was made from.
    pub spec: NetworkSpec,
    /// Who is connected to whom.
    pub wiring: Wiring,
    /// Shortest paths.
    pub routes: Routes,
    /// All flows in order of start.
    pub flows: Vec<FlowSpec>,
    /// Per flow, its number among the flows of its source and among those of its destination.
    ordinals: Vec<(u32, u32)>,
    /// Per node, the flows that start there, and those that end there.
    outgoing: Vec<Vec<FlowId>>,
    incoming: Vec<Vec<FlowId>>,
    /// Longest base round-trip time of any pair of hosts.
    pub base_rtt: Duration,
    /// Bytes of in-band headers on data packets.
    pub telemetry_bytes: u32,
    hashes: Vec<Ecmp>,
}

/// Which way a packet of a flow travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Data, from source to destination.
    Data,
    /// ACK, NACK and CNP, from destination to source.
    Ack,
}

impl Fabric {
    /// The fabric of `spec` with `flows`, which are sorted by start.
    pub fn new(spec: NetworkSpec, flows: Vec<FlowSpec>) -> Fabric {
        let wiring = Wiring::new(&spec.nodes, &spec.links);
        let waypoints: BTreeSet<NodeId> =
            flows.iter().flat_map(|flow| flow.data_via.iter().chain(&flow.ack_via)).copied().collect();
        let routes = Routes::new(&spec.nodes, &wiring, &waypoints);
        let telemetry_bytes = spec.congestion.telemetry_bytes();
        let data = spec.framing.data(spec.mtu.get() as u32, false, telemetry_bytes).wire;
        let ack = spec.framing.ack(telemetry_bytes).wire;
        let base_rtt = routes.longest_rtt(&spec.nodes, &wiring, data.into(), ack.into());
        let (mut outgoing, mut incoming) = (vec![Vec::new(); spec.nodes.len()], vec![Vec::new(); spec.nodes.len()]);
        let append = |lists: &mut Vec<Vec<FlowId>>, node: NodeId, flow: u32| {
            let list = &mut lists[node.0 as usize];
            list.push(FlowId(flow));
            list.len() as u32 - 1
        };
        let ordinal =
            |(id, flow): (u32, &FlowSpec)| (append(&mut outgoing, flow.src, id), append(&mut incoming, flow.dst, id));
        let ordinals = (0..).zip(&flows).map(ordinal).collect();
        let hashes = (0..spec.nodes.len() as u32).map(|node| Ecmp::new(Seed(spec.seed), NodeId(node))).collect();
        Fabric { wiring, routes, flows, ordinals, outgoing, incoming, base_rtt, telemetry_bytes, hashes, spec }
    }

    /// The flow called `id`.
    #[inline]
    pub fn flow(&self, id: FlowId) -> &FlowSpec {
        &self.flows[id.0 as usize]
    }

    /// The flows that start at `node`, in order of start.
    pub fn outgoing(&self, node: NodeId) -> &[FlowId] {
        &self.outgoing[node.0 as usize]
    }

    /// The flows that end at `node`, in order of start.
    pub fn incoming(&self, node: NodeId) -> &[FlowId] {
        &self.incoming[node.0 as usize]
    }

    /// The number of a flow among those of its source.
    #[inline]
    pub fn source_ordinal(&self, id: FlowId) -> usize {
        self.ordinals[id.0 as usize].0 as usize
    }

    /// The number of a flow among those of its destination.
    #[inline]
    pub fn destination_ordinal(&self, id: FlowId) -> usize {
        self.ordinals[id.0 as usize].1 as usize
    }

    /// What a hash over the addresses of a flow's packets sees.
    pub fn key(&self, flow: FlowId, direction: Direction) -> FlowKey {
        FlowKey(mix(u64::from(flow.0) << 1 | u64::from(direction == Direction::Ack)))
    }

    /// The host that consumes `packet`.
    pub fn destination(&self, packet: &Packet) -> NodeId {
        let flow = self.flow(packet.flow);
        match packet.direction() {
            Direction::Data => flow.dst,
            Direction::Ack => flow.src,
        }
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
    pub fn route(&self, flow: FlowId, direction: Direction) -> (PortIx, Route) {
        let path = self.path(flow, direction);
        let spec = self.flow(flow);
        let pinned = match direction {
            Direction::Data => !spec.data_via.is_empty(),
            Direction::Ack => !spec.ack_via.is_empty(),
        };
        let carries = pinned || self.spec.load_balance.is_static();
        let mut route = if carries { Route::fixed(&path).unwrap_or(Route::DYNAMIC) } else { Route::DYNAMIC };
        if !route.is_dynamic() {
            route.advance();
        }
        (path[0], route)
    }

    /// The egress ports of a flow's packets from their host on: pinned, or by ECMP (which stands for every equal-cost path).
    pub fn path(&self, flow: FlowId, direction: Direction) -> Vec<PortIx> {
        let (spec, key) = (self.flow(flow), self.key(flow, direction));
        let (source, via, target) = match direction {
            Direction::Data => (spec.src, &spec.data_via, spec.dst),
            Direction::Ack => (spec.dst, &spec.ack_via, spec.src),
        };
        let choose = |node: NodeId, ports: &[PortIx]| ports[self.hashes[node.0 as usize].index(key, ports.len())];
        self.routes.path(&self.wiring, source, via, target, choose).expect("NetworkSpec::check found every flow a path")
    }

    /// Whether `packet`, which is leaving through `egress`, passes `port` on its way from source to destination.
    pub fn passes(&self, packet: &Packet, egress: PortId, port: PortId) -> bool {
        let (egress, port) = (&self.wiring.ports[egress.0 as usize], &self.wiring.ports[port.0 as usize]);
        if packet.route.is_dynamic() {
            return self.routes.candidates(port.node, self.destination(packet)).contains(&port.ix);
        }
        // What is congested mostly lies ahead.
        let (here, route) = (self.wiring.neighbour(egress.node, egress.ix), &packet.route);
        self.wiring.meets(here, route.ahead(), port)
            || self.wiring.meets(self.flow(packet.flow).src, route.behind(), port)
    }

    /// Time from start to last byte at the receiver on an idle fabric; `None` for an endless flow.
    ///
    /// Every packet leaves its host as soon as the one before has left, and is stored and forwarded at every hop.
    pub fn ideal_fct(&self, flow: FlowId) -> Option<Duration> {
        let spec = self.flow(flow);
        if spec.bytes == FlowSpec::ENDLESS {
            return None;
        }
        let (mut node, mut hops) = (spec.src, Vec::new());
        for ix in self.path(flow, Direction::Data) {
            let port = self.wiring.of(node)[usize::from(ix)];
            hops.push((self.spec.framing.byte_time(port.rate), port.delay));
            node = self.wiring.neighbour(node, ix);
        }
        let mtu = self.spec.mtu.get();
        let packets = self.packets(spec);
        let wire = |packet: u32| {
            let payload = (spec.bytes - u64::from(packet) * mtu).min(mtu) as u32;
            u32::from(self.spec.framing.data(payload, packet == 0, self.telemetry_bytes).wire)
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
                free.iter_mut().zip(&step).for_each(|(free, step)| *free += *step * u64::from(skipped));
                packet += skipped;
            }
            steps = Some(step);
        }
        Some(*free.last()? + hops.last()?.1)
    }

    /// What a mechanism may know about `node`.
    pub fn site(&self, node: NodeId) -> Site<'_> {
        let largest = self.spec.framing.largest(self.spec.mtu.get() as u32, self.telemetry_bytes);
        Site {
            spec: &self.spec,
            node,
            ports: self.wiring.of(node),
            largest_frame: largest.charge.into(),
            base_rtt: self.base_rtt,
        }
    }

    /// Whether `node` forwards.
    pub fn is_switch(&self, node: NodeId) -> bool {
        self.spec.nodes[node.0 as usize].kind == NodeKind::Switch
    }

    /// The name of `node`.
    pub fn name(&self, node: NodeId) -> &str {
        &self.spec.nodes[node.0 as usize].name
    }

    /// `port` in words: `leaf3:5`.
    pub fn port_name(&self, port: PortId) -> String {
        let facts = &self.wiring.ports[port.0 as usize];
        format!("{}:{}", self.name(facts.node), facts.ix)
    }
}
