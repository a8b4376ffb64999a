//! Networks, packets and helpers for unit tests.

use crate::contract::packet::NO_PORT;
use crate::contract::packet::QueuedPacket;
use crate::contract::report::DropCause;
use crate::contract::{
    AddedQueues, Admission, BufferPolicy, Choice, FlowKey, LoadBalance, PacketContext, PipelineHooks, RouteRequest,
    SenderFacts, View,
};
use crate::frame::framing::{FrameSize, Framing};
use crate::frame::record::Records;
use crate::frame::{Body, Frame, Packet, PacketKind, Route, Timestamp};
use crate::ids::{Class, FlowId, NodeId, PortIx};
use crate::model::io::NodeIo;
use crate::model::port::Port;
use crate::network::fabric::Fabric;
use crate::network::spec::{FlowSpec, LinkSpec, NetworkSpec, SchedulerConfig};
use backwater_engine::{Bytes, Duration, Rate, Time};

/// Returns a network of hosts and switches, linked by `ends` at 100 Gb/s and 1 us. Node ids count
/// the hosts first.
pub(crate) fn network(hosts: u32, switches: u32, ends: &[(u32, u32)]) -> NetworkSpec {
    let link = |(a, b): &(u32, u32)| LinkSpec {
        a: NodeId(*a),
        b: NodeId(*b),
        rate: Rate::from_gbps(100),
        delay: Duration::from_us(1),
        error_rate: 0.0,
    };
    NetworkSpec {
        framing: Framing::HpccNs3,
        mtu: Bytes(952),
        links: ends.iter().map(link).collect(),
        ..NetworkSpec::with_nodes(hosts, switches)
    }
}

/// Returns a network of `hosts` hosts on one switch, whose id is `hosts`.
pub(crate) fn star(hosts: u32) -> NetworkSpec {
    let ends: Vec<_> = (0..hosts).map(|host| (host, hosts)).collect();
    network(hosts, 1, &ends)
}

/// Returns the fabric of `spec`, without flows.
pub(crate) fn fabric(spec: NetworkSpec) -> Fabric {
    Fabric::new(spec).unwrap()
}

/// Returns the facts of a sender in a star, with this rate and base round-trip time.
pub(crate) fn sender(line_rate: Rate, base_rtt: Duration) -> SenderFacts {
    SenderFacts { base_rtt, ..fabric(star(2)).sender(line_rate) }
}

/// Returns a flow of class 3.
pub(crate) fn flow(src: u32, dst: u32, bytes: u64, start_ns: u64) -> FlowSpec {
    let start = Time::ZERO + Duration::from_ns(start_ns);
    FlowSpec { start, ..FlowSpec::new(NodeId(src), NodeId(dst), bytes) }
}

/// Returns an idle port of a star's switch.
pub(crate) fn port(gbps: u64) -> Port {
    let mut spec = star(2);
    spec.links[1].rate = Rate::from_gbps(gbps);
    Port::new(
        &fabric(spec).site(NodeId(2)).ports[1],
        Framing::Rocev2,
        SchedulerConfig::RoundRobin {},
        AddedQueues::default(),
    )
}

/// Returns the state of a switch with these ports.
pub(crate) fn node_io(ports: Vec<Port>) -> NodeIo {
    NodeIo::new(NodeId(0), ports, None)
}

/// Returns the index of the load balancer's choice among `candidates` for a packet with flow key 7.
pub(crate) fn choose(balancer: &mut impl LoadBalance, candidates: &[PortIx], ports: &mut NodeIo) -> usize {
    let (fabric, mut records) = (fabric(star(2)), Records::default());
    let mut queued = queued(3, 1000);
    let packet = queued.context(NO_PORT, &mut records);
    let arrival = &mut RouteRequest { packet, destination: NodeId(1), key: FlowKey(7), candidates };
    match balancer.choose(arrival, &mut View::new(Time::ZERO, &fabric, ports)) {
        Choice::Candidate(index) => index,
        Choice::Route(route) => panic!("a whole route: {route:?}"),
    }
}

/// Reports the departure of a data packet of class 3 from port 1, with `queue_bytes` left in the
/// queue. Returns the packet.
pub(crate) fn depart(
    mechanism: &mut impl PipelineHooks,
    queue_bytes: u64,
    now: Time,
    ports: &mut NodeIo,
) -> (Frame, Records) {
    let (fabric, mut records) = (fabric(star(2)), Records::default());
    let mut queued = queued(3, 1000);
    let packet = &mut queued.context(1, &mut records);
    mechanism.on_departure(packet, queue_bytes, &mut View::new(now, &fabric, ports));
    (queued.frame, records)
}

/// Returns a data packet of `class` with `bytes` on the wire and in buffers.
pub(crate) fn frame(class: u8, bytes: u16) -> Frame {
    let packet = Packet {
        kind: PacketKind::Data,
        class: Class(class),
        marked: false,
        queue: class,
        flow: FlowId(0),
        psn: 0,
        sent_at: Timestamp::of(Time::ZERO),
        route: Route::towards(NodeId(0)),
    };
    Frame::new(Body::Packet(packet), FrameSize { wire: bytes, charge: bytes })
}

/// Returns a queued data packet of `class` with `bytes`.
pub(crate) fn queued(class: u8, bytes: u16) -> QueuedPacket {
    QueuedPacket::new(frame(class, bytes), 0, Time::ZERO)
}

/// Returns the context of a data packet from `ingress` to port 0. Leaks its frame, because contexts
/// borrow frames.
pub(crate) fn packet(ingress: PortIx, class: Class, bytes: u64) -> PacketContext<'static> {
    let packet = QueuedPacket::new(frame(class.0, bytes as u16), ingress, Time::ZERO);
    Box::leak(Box::new(packet)).context(0, Box::leak(Box::default()))
}

/// Offers a packet to a buffer policy.
///
/// # Errors
/// The cause of the drop.
pub(crate) fn admit(
    policy: &mut impl BufferPolicy,
    ingress: PortIx,
    class: Class,
    bytes: u64,
    now: Time,
) -> Result<(), DropCause> {
    match policy.admit(&packet(ingress, class, bytes), now) {
        Admission::Charged(pressure) => {
            assert_eq!(pressure, policy.pressure(ingress, class));
            Ok(())
        }
        Admission::Refused(cause) => Err(cause),
    }
}
