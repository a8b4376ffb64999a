//! Networks, packets and helpers for unit tests.

use crate::contract::packet::QueuedPacket;
use crate::contract::report::DropCause;
use crate::contract::{
    AckView, AddedQueues, Admission, BufferPolicy, Choice, CongestionSignal, FlowKey, LoadBalance, PacketContext,
    PipelineHooks, ReactionPoint, RouteRequest, SenderFacts, View,
};
pub(crate) use crate::fixtures::{at_us, flow, star};
use crate::frame::framing::{FrameSize, Framing};
use crate::frame::record::{Records, Stamp, Telemetry};
use crate::frame::{Body, Frame, Packet, PacketKind, Route, Timestamp};
use crate::ids::{Class, FlowId, NodeId, PortIx, QueueIx};
use crate::model::fifo::Frames;
use crate::model::io::NodeIo;
use crate::model::port::Port;
use crate::network::fabric::Fabric;
use crate::network::spec::{NetworkSpec, SchedulerConfig};
use backwater_engine::{Bytes, Duration, Rate, Time};

/// Asserts equality except for rounding errors of floating-point arithmetic.
pub(crate) fn assert_near(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-9 * expected.abs(), "{actual} is not {expected}");
}

/// Asserts equality of rates in bit/s, which are cut to whole bits per second.
pub(crate) fn assert_rate(actual: u64, expected: u64) {
    assert!(actual.abs_diff(expected) <= 1, "{actual} is not {expected}");
}

/// Returns `spec` with packets of 952 B, which take 1000 B on the wire and in buffers.
pub(crate) fn hpcc_frames(spec: NetworkSpec) -> NetworkSpec {
    NetworkSpec { framing: Framing::HpccNs3, mtu: Bytes(952), ..spec }
}

/// Returns the fabric of `spec`, without flows.
pub(crate) fn fabric(spec: NetworkSpec) -> Fabric {
    Fabric::new(spec).unwrap()
}

/// Returns the facts of a sender in a star, with this rate and base round-trip time.
pub(crate) fn sender(line_rate: Rate, base_rtt: Duration) -> SenderFacts {
    SenderFacts { base_rtt, ..fabric(hpcc_frames(star(2))).sender(line_rate) }
}

/// Returns an ACK for acknowledged and sent bytes, without hops, path and telemetry.
pub(crate) fn ack_view(now: Time, [acked_bytes, sent_bytes]: [u64; 2], rtt: Duration) -> AckView<'static> {
    AckView { now, arrived: None, acked_bytes, sent_bytes, rtt, hops: 0, path: None, telemetry: None }
}

/// Returns the stamp of a port of 100 Gb/s.
pub(crate) fn stamp(us: u64, tx_bytes: u64, queue_bytes: u64) -> Stamp {
    Stamp { time: at_us(us), tx_bytes, queue_bytes, rate: Rate::from_gbps(100) }
}

/// Handles an ACK with telemetry after a round trip of 10 us. Returns its signal.
pub(crate) fn stamped_ack(
    point: &mut impl ReactionPoint,
    bytes: [u64; 2],
    stamps: &[Stamp],
) -> Option<CongestionSignal> {
    let mut telemetry = Telemetry::default();
    for stamp in stamps {
        telemetry.push(*stamp);
    }
    let now = stamps.last().unwrap().time;
    let ack = AckView { telemetry: Some(&telemetry), ..ack_view(now, bytes, Duration::from_us(10)) };
    let signal = point.signal(&ack);
    point.on_ack(&ack);
    signal
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
pub(crate) fn choose(balancer: &mut impl LoadBalance, candidates: &[u16], ports: &mut NodeIo) -> usize {
    let candidates: Vec<PortIx> = candidates.iter().copied().map(PortIx).collect();
    let (fabric, mut records) = (fabric(star(2)), Records::default());
    let mut queued = queued(3, 1000);
    let packet = queued.context(PortIx::NONE, &mut records);
    let arrival = &mut RouteRequest { packet, destination: NodeId(1), key: FlowKey(7), candidates: &candidates };
    match balancer.choose(arrival, &mut View::new(Time::ZERO, &fabric, ports)) {
        Choice::Candidate(index) => index,
        Choice::Route(route) => panic!("a whole route: {route:?}"),
    }
}

/// Reports the departure of a data packet of class 3 from port 1, with `queue_bytes` left in the
/// queue. Asserts that the packet is unchanged if the mechanism ignores it. Returns the packet.
pub(crate) fn depart(
    mechanism: &mut impl PipelineHooks,
    queue_bytes: u64,
    now: Time,
    ports: &mut NodeIo,
) -> (Frame, Records) {
    let (fabric, mut records) = (fabric(star(2)), Records::default());
    let mut queued = queued(3, 1000);
    let packet = &mut queued.context(PortIx(1), &mut records);
    let is_ignored = mechanism.ignores_departure(packet, queue_bytes);
    mechanism.on_departure(packet, queue_bytes, &mut View::new(now, &fabric, ports));
    assert!(!is_ignored || !queued.frame.is_marked() && !queued.frame.record.is_some());
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

/// Returns a queued data packet of `class` with `bytes` on the wire and in buffers.
pub(crate) fn queued(class: u8, bytes: u16) -> QueuedPacket {
    QueuedPacket::new(frame(class, bytes), PortIx(0), Time::ZERO)
}

/// Adds a data packet of `bytes` to `queue`, which is that of a class.
pub(crate) fn enqueue(port: &mut Port, queue: u16, bytes: u16, frames: &mut Frames) {
    let place = frames.put(queued(queue as u8, bytes));
    port.enqueue(QueueIx(queue), place, bytes, frames);
}

/// Returns the context of a data packet from `ingress` to port 0. Leaks the packet's frame, because
/// contexts borrow frames.
pub(crate) fn packet(ingress: u16, class: Class, bytes: u64) -> PacketContext<'static> {
    let packet = QueuedPacket::new(frame(class.0, bytes as u16), PortIx(ingress), Time::ZERO);
    Box::leak(Box::new(packet)).context(PortIx(0), Box::leak(Box::default()))
}

/// Offers a packet to a buffer policy.
///
/// # Errors
/// The cause of the drop.
pub(crate) fn admit(
    policy: &mut impl BufferPolicy,
    ingress: u16,
    class: Class,
    bytes: u64,
    now: Time,
) -> Result<(), DropCause> {
    match policy.admit(&packet(ingress, class, bytes), now) {
        Admission::Charged(pressure) => {
            assert_eq!(pressure, policy.pressure(PortIx(ingress), class));
            Ok(())
        }
        Admission::Refused(cause) => Err(cause),
    }
}
