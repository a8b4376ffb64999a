use super::*;
use crate::contract::FlowKey;
use crate::contract::packet::QueuedPacket;
use crate::fixtures::linked;
use crate::frame::framing::FrameSize;
use crate::frame::record::Records;
use crate::frame::{Body, Frame, PacketKind, Route};
use crate::model::node::Node;
use crate::network::fabric::Fabric;
use crate::testing::{at_us as at, fabric, frame};

/// Returns options for which a metric of 1 is 100 Gb/s x 1 us / (8 x 0.5 x 2^3) = 3,125 B.
fn config() -> CongaConfig {
    CongaConfig {
        flowlet_timeout: Duration::from_us(1),
        aging: Duration::from_us(100),
        bits: 3,
        dre_period: Duration::from_us(1),
        alpha: 0.5,
        ..CongaConfig::default()
    }
}

/// Switch of a network with hosts 0 and 1 on leaf 4, hosts 2 and 3 on leaf 5, and spines 6 to 8. At
/// a leaf, ports 0 and 1 lead to hosts, and ports 2 to 4 to spines.
struct Switch {
    fabric: Fabric,
    node: Node,
    conga: Conga,
    records: Records,
    flows: u64,
}

const UPLINKS: [u16; 3] = [2, 3, 4];

impl Switch {
    fn new(id: u32) -> Switch {
        Switch::with(id, &config())
    }

    fn with(id: u32, config: &CongaConfig) -> Switch {
        let access = [(0, 4), (1, 4), (2, 5), (3, 5)];
        let up = [4, 5].map(|leaf| [6, 7, 8].map(|spine| (leaf, spine)));
        let fabric = fabric(linked(4, 5, access.into_iter().chain(up.into_iter().flatten())));
        let node = Node::new(&fabric, NodeId(id));
        let conga = Conga::new(config, &fabric.site(NodeId(id)));
        Switch { fabric, node, conga, records: Records::default(), flows: 1_000_000 }
    }

    /// Returns a packet towards host `to`, with this header.
    fn packet(&mut self, to: u32, header: Option<LeafHeader>) -> Frame {
        let mut frame = frame(3, 1000);
        if let Body::Packet(packet) = &mut frame.body {
            packet.route = Route::towards(NodeId(to));
        }
        if let Some(header) = header {
            *self.records.path_header_mut(&mut frame.record) = header.into();
        }
        frame
    }

    fn header(&self, frame: &Frame) -> Option<LeafHeader> {
        self.records.path_header(frame.record).copied().map(LeafHeader::from)
    }

    /// Returns the header with which a packet departs.
    fn depart(&mut self, frame: Frame, ingress: PortIx, egress: PortIx, now: Time) -> Option<LeafHeader> {
        let mut queued = QueuedPacket::new(frame, ingress, now);
        let packet = &mut queued.context(egress, &mut self.records);
        self.conga.on_departure(packet, 0, &mut self.node.view(now, &self.fabric));
        self.header(&queued.frame)
    }

    /// Returns the header of a packet from port 0 towards host `to`.
    fn send(&mut self, to: u32, egress: u16, now: Time) -> Option<LeafHeader> {
        let frame = self.packet(to, None);
        self.depart(frame, PortIx(0), PortIx(egress), now)
    }

    /// Processes a packet with `header` that has reached its destination leaf.
    fn record(&mut self, header: LeafHeader, now: Time) {
        let mut queued = QueuedPacket::new(self.packet(0, Some(header)), PortIx(0), now);
        let packet = &mut queued.context(PortIx(0), &mut self.records);
        self.conga.on_last_hop(packet, &mut self.node.view(now, &self.fabric));
    }

    /// Processes a report of leaf 5: the path through `port` has the load `metric`.
    fn feed_back(&mut self, port: u16, metric: u8, now: Time) {
        self.record(
            LeafHeader { leaf: NodeId(5), tag: PortIx(2), metric: 0, feedback: Some((PortIx(port), metric)) },
            now,
        );
    }

    /// Counts `bytes` that leave through `port`.
    fn load(&mut self, port: u16, bytes: u16, now: Time) {
        self.conga.links[PortIx(port)].dre.add(bytes, now);
    }

    fn choose_for(&mut self, kind: PacketKind, flow: u64, ingress: u16, now: Time) -> u16 {
        let mut frame = self.packet(2, None);
        if let Body::Packet(packet) = &mut frame.body {
            packet.kind = kind;
        }
        let mut queued = QueuedPacket::new(frame, PortIx(ingress), now);
        let packet = queued.context(PortIx::NONE, &mut self.records);
        let (key, destination) = (FlowKey(flow), NodeId(2));
        let arrival = &mut RouteRequest { packet, destination, key, candidates: &UPLINKS.map(PortIx) };
        match self.conga.choose(arrival, &mut self.node.view(now, &self.fabric)) {
            Choice::Candidate(way) => UPLINKS[way],
            Choice::Route(route) => panic!("a whole route: {route:?}"),
        }
    }

    /// Returns the port that data of `flow` from a host take.
    fn choose(&mut self, flow: u64, now: Time) -> u16 {
        self.choose_for(PacketKind::Data, flow, 0, now)
    }

    /// Returns how many of 3000 new flows take each uplink.
    fn spread(&mut self, now: Time) -> [usize; 3] {
        self.flows += 3000;
        let flows = self.flows - 3000..self.flows;
        let chosen: Vec<u16> = flows.map(|flow| self.choose(flow, now)).collect();
        UPLINKS.map(|port| chosen.iter().filter(|taken| **taken == port).count())
    }
}

/// Asserts that the ports in `by` have equal shares of 3000, within five standard deviations, and
/// that the other ports have none.
fn assert_shared(counts: [usize; 3], by: [bool; 3]) {
    let ports = by.into_iter().filter(|takes| *takes).count() as f64;
    let (fair, deviation) = (3000.0 / ports, (3000.0 / ports * (1.0 - 1.0 / ports)).sqrt());
    for (count, takes) in counts.into_iter().zip(by) {
        let is_fair = (count as f64 - fair).abs() <= 5.0 * deviation;
        assert!(if takes { is_fair } else { count == 0 }, "{counts:?}");
    }
}

#[test]
fn a_header_is_read_as_it_was_written() {
    for feedback in [None, Some((PortIx(0), 0)), Some((PortIx(513), 255))] {
        let header = LeafHeader { leaf: NodeId(70_000), tag: PortIx(300), metric: 255, feedback };
        assert_eq!(LeafHeader::from(PathHeader::from(header)), header);
    }
}

#[test]
fn a_leaf_writes_headers_on_what_its_hosts_send_to_other_leaves() {
    let mut leaf = Switch::new(4);
    let header = |tag, metric| Some(LeafHeader { leaf: NodeId(4), tag: PortIx(tag), metric, feedback: None });
    assert_eq!(leaf.send(2, 3, at(0)), header(3, 0));
    // With 1,000 B each, the fourth packet exceeds 3,125 B. All packets of the link count.
    assert_eq!([leaf.send(2, 3, at(0)), leaf.send(3, 3, at(0))], [header(3, 0), header(3, 0)]);
    assert_eq!([leaf.send(2, 3, at(0)), leaf.send(2, 4, at(0))], [header(3, 1), header(4, 0)]);
    // Packets within the leaf, and the leaf's own packets, have no header.
    assert_eq!(leaf.send(1, 1, at(0)), None);
    let own = leaf.packet(2, None);
    assert_eq!(leaf.depart(own, PortIx::NONE, PortIx(3), at(0)), None);
}

/// The header keeps the largest metric on the path; the link to the host does not count.
#[test]
fn links_raise_the_metric_of_what_passes() {
    let met = |metric| LeafHeader { leaf: NodeId(4), tag: PortIx(3), metric, feedback: Some((PortIx(2), 5)) };
    let mut spine = Switch::new(6);
    spine.load(1, 9375, at(0));
    for (before, after) in [(0, 3), (3, 3), (5, 5)] {
        let packet = spine.packet(2, Some(met(before)));
        assert_eq!(spine.depart(packet, PortIx(0), PortIx(1), at(0)), Some(met(after)));
    }
    let mut leaf = Switch::new(5);
    leaf.load(0, 50_000, at(0));
    let packet = leaf.packet(2, Some(met(1)));
    assert_eq!(leaf.depart(packet, PortIx(2), PortIx(0), at(0)), Some(met(1)));
}

/// Of 4,000 B on the wire, only 3,000 B are charged to buffers. The metric counts 4,000 B, so it is
/// 1 and not 0.
#[test]
fn estimators_count_what_is_on_the_wire() {
    let mut leaf = Switch::new(4);
    let mut packet = leaf.packet(2, None);
    packet.size = FrameSize { wire: 4000, charge: 3000 };
    assert_eq!(leaf.depart(packet, PortIx(0), PortIx(2), at(0)).unwrap().metric, 1);
}

/// On a pinned path, a packet's destination follows from its route: port 1 of spine 6 leads to leaf
/// 5, and port 0 of leaf 5 to the host.
#[test]
fn pinned_packets_carry_feedback() {
    let mut leaf = Switch::new(4);
    leaf.record(LeafHeader { leaf: NodeId(5), tag: PortIx(3), metric: 6, feedback: None }, at(0));
    let mut packet = leaf.packet(0, None);
    if let Body::Packet(packet) = &mut packet.body {
        packet.route = Route::fixed(&[0, 2, 1, 0].map(PortIx)).unwrap().after_first().after_first();
    }
    let header = LeafHeader { leaf: NodeId(4), tag: PortIx(2), metric: 0, feedback: Some((PortIx(3), 6)) };
    assert_eq!(leaf.depart(packet, PortIx(0), PortIx(2), at(0)), Some(header));
}

#[test]
fn feedback_takes_turns_and_changes_go_first() {
    let mut leaf = Switch::new(4);
    let heard = |tag, metric| LeafHeader { leaf: NodeId(5), tag: PortIx(tag), metric, feedback: None };
    let fed_back =
        |leaf: &mut Switch, us| leaf.send(2, 2, at(us)).unwrap().feedback.map(|(tag, metric)| (tag.0, metric));
    assert_eq!(fed_back(&mut leaf, 0), None);
    [(2, 0), (3, 0), (4, 0)].into_iter().for_each(|(tag, metric)| leaf.record(heard(tag, metric), at(0)));
    // No metric differs from its last reported value, which is 0 at first, so paths take turns.
    let turns: Vec<_> = (0..4).map(|_| fed_back(&mut leaf, 1)).collect();
    assert_eq!(turns, [Some((2, 0)), Some((3, 0)), Some((4, 0)), Some((2, 0))]);
    // It is the turn of path 3, but the metrics of paths 2 and 4 have changed.
    leaf.record(heard(2, 5), at(2));
    leaf.record(heard(4, 6), at(2));
    let turns: Vec<_> = (0..4).map(|_| fed_back(&mut leaf, 2)).collect();
    assert_eq!(turns, [Some((4, 6)), Some((2, 5)), Some((3, 0)), Some((4, 6))]);
    // A value 100 us old counts; an older one counts as 0, which is a change.
    leaf.record(heard(2, 5), at(50));
    assert_eq!(fed_back(&mut leaf, 102), Some((2, 5)));
    let turns: Vec<_> = (0..3).map(|_| fed_back(&mut leaf, 103)).collect();
    assert_eq!(turns, [Some((4, 0)), Some((2, 5)), Some((3, 0))]);
    // Other leaves have tables of their own.
    assert_eq!(leaf.conga.leaves.keys().collect::<Vec<_>>(), [&NodeId(5)]);
}

#[test]
fn new_flowlets_take_the_path_whose_busiest_link_is_the_least_busy() {
    let mut leaf = Switch::new(4);
    // The uplinks have local metrics of 0, 3 and 1, and remote metrics of 2, 0 and 1.
    leaf.load(3, 9375, at(0));
    leaf.load(4, 3125, at(0));
    leaf.feed_back(2, 2, at(0));
    leaf.feed_back(4, 1, at(0));
    assert_eq!(leaf.spread(at(0)), [0, 0, 3000]);
    // After a period, the local metrics are 0, 1 and 0.
    assert_shared(leaf.spread(at(1)), [false, true, true]);
    leaf.feed_back(4, 2, at(1));
    assert_eq!(leaf.spread(at(10)), [0, 3000, 0]);
    // Metrics of paths to other leaves do not count for this leaf.
    leaf.record(LeafHeader { leaf: NodeId(9), tag: PortIx(2), metric: 0, feedback: Some((PortIx(3), 7)) }, at(10));
    assert_eq!(leaf.spread(at(20)), [0, 3000, 0]);
}

#[test]
fn equal_paths_are_taken_equally_and_not_left_for_each_other() {
    let mut leaf = Switch::new(4);
    assert_shared(leaf.spread(at(0)), [true; 3]);
    let first = leaf.choose(1, at(0));
    assert!((1..50).all(|flowlet| leaf.choose(1, at(2 * flowlet)) == first));
    // The next flowlet takes a better path; packets of the present flowlet do not.
    let better = if first == 3 { 4 } else { 3 };
    UPLINKS.into_iter().filter(|port| *port != better).for_each(|port| leaf.feed_back(port, 1, at(99)));
    assert_eq!([99, 101].map(|us| leaf.choose(1, at(us))), [first, better]);
    // After 100 us, the metrics of the other two uplinks are 0 again, and all uplinks are equal.
    // The flow stays on its last path until the flow is removed.
    assert!((0..40).all(|flowlet| leaf.choose(1, at(201 + 2 * flowlet)) == better));
    let anew: Vec<_> = (0..40).map(|i| leaf.choose(1, Time::from_ps(1_000_000_000 + i * 100_000_001))).collect();
    assert!(UPLINKS.iter().all(|port| anew.contains(port)));
}

#[test]
fn failed_links_are_no_paths() {
    let mut leaf = Switch::new(4);
    leaf.feed_back(3, 2, at(0));
    leaf.feed_back(4, 3, at(0));
    assert_eq!(leaf.choose(1, at(0)), 2);
    leaf.node.io.ports[PortIx(2)].fail();
    assert_eq!(leaf.choose(1, at(0)), 3);
    assert_shared(leaf.spread(at(0)), [false, true, false]);
}

#[test]
fn an_old_metric_counts_as_zero() {
    let mut leaf = Switch::new(4);
    [(2, 1), (3, 2), (4, 2)].into_iter().for_each(|(port, metric)| leaf.feed_back(port, metric, at(5)));
    assert_eq!(leaf.spread(at(105)), [3000, 0, 0]);
    leaf.feed_back(3, 1, at(60));
    assert_shared(leaf.spread(Time::from_ps(105_000_001)), [true, false, true]);
}

/// A metric of 7 holds for 100 us, and then falls to 0 within 70 us: by one every 10 us, rounded
/// down.
#[test]
fn a_metric_fades_if_set() {
    let ageing = Ageing { after: Duration::from_us(100), fade: Duration::from_us(70) };
    let metric = Metric { value: 7, updated: at(5) };
    for (us, left) in [(105, 7), (106, 6), (115, 6), (116, 5), (165, 1), (166, 0), (175, 0), (1000, 0)] {
        assert_eq!(metric.at(at(us), ageing), left, "{us} us");
    }
}

/// ACKs also take the best path. Without a gap between packets, ACKs stay on their path.
#[test]
fn answers_choose_by_metrics_if_set() {
    let mut leaf = Switch::with(4, &CongaConfig { answers: Answers::ByFlowlets, ..config() });
    [3, 4].into_iter().for_each(|port| leaf.feed_back(port, 7, at(0)));
    assert!((0..50).all(|flow| leaf.choose_for(PacketKind::Ack, flow, 0, at(0)) == 2));
    leaf.feed_back(2, 7, at(1));
    leaf.feed_back(3, 0, at(1));
    assert_eq!(leaf.choose_for(PacketKind::Ack, 0, 0, at(1)), 2);
    assert_eq!(leaf.choose_for(PacketKind::Ack, 99, 0, at(1)), 3);
}

#[test]
fn only_data_from_hosts_choose_by_metrics() {
    let mut leaf = Switch::new(4);
    [3, 4].into_iter().for_each(|port| leaf.feed_back(port, 7, at(0)));
    for flow in 0..50 {
        let by_hash = UPLINKS[leaf.conga.hash.index(FlowKey(flow), 3)];
        assert_eq!(leaf.choose_for(PacketKind::Data, flow, 0, at(0)), 2);
        for kind in [PacketKind::Ack, PacketKind::Nack, PacketKind::Cnp, PacketKind::Notice] {
            assert_eq!(leaf.choose_for(kind, flow, 0, at(0)), by_hash);
        }
        // Data from another switch also take a port by hash. Such data have a choice if links are
        // parallel.
        assert_eq!(leaf.choose_for(PacketKind::Data, flow, 2, at(0)), by_hash);
    }
}

#[test]
fn requires_leaves_and_spines() {
    let applies = |layers, multihomed| config().applies(&Shape { layers, multihomed, ..Default::default() });
    assert_eq!([applies(1, false), applies(2, false)], [Ok(()), Ok(())]);
    assert!(applies(3, false).is_err_and(|why| why.ends_with("this network has 3 layers")));
    assert!(applies(2, true).is_err_and(|why| why.contains("hosts with one link only")));
}

/// Below the shortest published timeout, receivers must tolerate reordering.
#[test]
fn short_timeouts_reorder() {
    let reorders = |us| CongaConfig { flowlet_timeout: Duration::from_us(us), ..Default::default() }.reorders();
    assert_eq!([reorders(49), reorders(50), reorders(500)], [true, false, false]);
}
