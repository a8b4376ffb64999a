//! CONGA (Alizadeh et al., SIGCOMM 2014): leaf switches tell each other how busy the paths between them are, and every flowlet takes the path whose
//! busiest link is the least busy.
//!
//! Every link between switches has a rate estimator. A packet carries the most that those on its way have shown, by the uplink through which it has left
//! its leaf; the leaf at its end keeps that in a table, and sends it back with the packets that go the other way.

use super::dre::Dre;
use super::flowlets::{self, Answers, Flowlets, Gaps, any_of, by_hash, usable};
use crate::contract::{
    Arrival, Beside, Carried, Choice, Findings, FlowHash, Footprint, Held, LoadBalance, LoadBalanceOptions, Neighbour,
    Options, Passage, PortFacts, Shape, Site, Station, Stations, View,
};
use crate::frame::Packet;
use crate::frame::record::PathHeader;
use crate::ids::{NodeId, PortIx};
use backwater_engine::memory::HeapBytes;
use backwater_engine::random::Stream;
use backwater_engine::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// CONGA: every flowlet takes the path whose busiest link is the least busy (SIGCOMM 2014).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CongaConfig {
    /// Longest gap between two packets of a flowlet. Default 50 us (that of LetFlow in FLB section 2.1, in a lossless fabric of 40 Gb/s; the ConWeave
    /// simulator has 100 us, the paper 500 us with TCP at 10 Gb/s).
    pub flowlet_timeout: Duration,
    /// How long a leaf remembers what it hears nothing new of, at least `flowlet_timeout`: a metric older than that counts as 0, and of a flow it is
    /// forgotten which path it has taken. Default 200 us (configurations of the ConWeave simulator; others have 500 us, and the paper names 10 ms as an
    /// example).
    pub aging: Duration,
    /// Bits Q of a metric: a utilisation of 1 is 2^Q, and more than 2^Q - 1 is written as that. Default 3 (paper).
    #[schemars(range(min = 1, max = 8))]
    pub bits: u8,
    /// Period T_dre of the rate estimators. Default 32 us, so that with the default of `alpha` the time constant T_dre / alpha is 160 us (paper; the
    /// ConWeave simulator is run with 50 us).
    pub dre_period: Duration,
    /// What part alpha of its count of bytes a rate estimator drops in every period: more than 0, at most 1. Default 0.2 (the ConWeave simulator; the
    /// paper tells only the time constant).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub alpha: f64,
    /// How long a metric that has aged takes to fall to 0, evenly and rounded down. Default 0: it counts as 0 at once (the paper has it decay gradually, and
    /// does not tell how; the ConWeave simulator has it count as 0).
    pub fade: Duration,
    /// How a switch tells that a flowlet has ended.
    pub gaps: Gaps,
    /// How packets that are no data find their way.
    pub answers: Answers,
}

impl Default for CongaConfig {
    fn default() -> Self {
        CongaConfig {
            flowlet_timeout: flowlets::SHORTEST_PUBLISHED,
            aging: Duration::from_us(200),
            bits: 3,
            dre_period: Duration::from_us(32),
            alpha: 0.2,
            fade: Duration::ZERO,
            gaps: Gaps::default(),
            answers: Answers::default(),
        }
    }
}

impl Options for CongaConfig {
    fn check(&self, _beside: &Beside<'_>, findings: &mut Findings) {
        flowlets::check(self.flowlet_timeout, self.gaps, self.aging, findings);
        findings.positive(Some(self.dre_period), "dre_period");
        findings.positive(Some(self.alpha), "alpha");
    }

    fn applies(&self, shape: &Shape) -> Result<(), String> {
        if shape.layers > 2 {
            return Err(format!(
                "conga's leaves choose between uplinks, one for each path to another leaf: there can be 2 layers of switches, and there are {}",
                shape.layers
            ));
        }
        if shape.multihomed {
            return Err(
                "conga's tables are from leaf to leaf: a host must have one link, and there are hosts with several"
                    .into(),
            );
        }
        Ok(())
    }
}

impl LoadBalanceOptions for CongaConfig {
    type Instance = Box<Conga>;

    fn reorders(&self) -> bool {
        self.flowlet_timeout < flowlets::SHORTEST_PUBLISHED
    }

    fn build(&self, site: &Site<'_>) -> Box<Conga> {
        Box::new(Conga::new(self, site))
    }
}

/// What a packet carries between leaves (in the paper, in the header of the overlay).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The leaf that it comes from.
    pub leaf: NodeId,
    /// The port through which it has left that (LBTag).
    pub tag: PortIx,
    /// The largest metric of the links that it has passed (CE).
    pub metric: u8,
    /// What packets had met that came to that leaf from the one to which this one goes: their tag, and their metric (FB_LBTag, FB_Metric).
    pub feedback: Option<(PortIx, u8)>,
}

impl From<Header> for PathHeader {
    fn from(Header { leaf, tag, metric, feedback }: Header) -> PathHeader {
        let feedback = feedback.map_or(0, |(tag, metric)| 1 << 31 | u32::from(tag) << 8 | u32::from(metric));
        [leaf.0, tag.into(), metric.into(), feedback, 0, 0, 0]
    }
}

impl From<PathHeader> for Header {
    fn from([leaf, tag, metric, feedback, ..]: PathHeader) -> Header {
        let feedback = (feedback >> 31 == 1).then_some(((feedback >> 8) as PortIx, feedback as u8));
        Header { leaf: NodeId(leaf), tag: tag as PortIx, metric: metric as u8, feedback }
    }
}

/// CONGA at one switch.
#[derive(Debug)]
pub struct Conga {
    node: NodeId,
    links: Vec<Link>,
    /// The other leaves that packets have come from.
    leaves: BTreeMap<NodeId, Leaf>,
    ageing: Ageing,
    flowlets: Flowlets,
    answers: Answers,
    hash: FlowHash,
    draws: Stream,
}

/// A link of the switch.
#[derive(Debug)]
struct Link {
    to_host: bool,
    dre: Dre,
}

/// How metrics age.
#[derive(Clone, Copy, Debug)]
struct Ageing {
    /// How long one stays what it is.
    after: Duration,
    /// How long it then takes to fall to 0.
    fade: Duration,
}

/// How busy a path was, and when that was heard.
#[derive(Clone, Copy, Debug, Default)]
struct Metric {
    value: u8,
    heard: Time,
}

impl Metric {
    /// What it is worth now.
    fn at(&self, now: Time, ageing: Ageing) -> u8 {
        let over = now.since(self.heard).saturating_sub(ageing.after);
        if over == Duration::ZERO {
            return self.value;
        }
        let left = ageing.fade.saturating_sub(over);
        // No more than the value; a `fade` of 0 leaves nothing.
        (u128::from(self.value) * u128::from(left.ps()) / u128::from(ageing.fade.ps().max(1))) as u8
    }
}

/// What is known of the paths to another leaf, and of those from it.
#[derive(Debug)]
struct Leaf {
    /// Congestion-To-Leaf, by port here.
    to: Vec<Metric>,
    /// Congestion-From-Leaf, in the order in which they were first heard of.
    from: Vec<FromLeaf>,
    /// Whose turn it is to be sent back.
    turn: usize,
}

/// How busy a path from another leaf is.
#[derive(Debug)]
struct FromLeaf {
    tag: PortIx,
    metric: Metric,
    /// What was last sent back.
    told: u8,
}

impl Leaf {
    fn new(ports: usize) -> Leaf {
        Leaf { to: vec![Metric::default(); ports], from: Vec::new(), turn: 0 }
    }

    /// Takes down what a packet from there says.
    fn hear(&mut self, header: &Header, now: Time) {
        if let Some((port, value)) = header.feedback
            && let Some(metric) = self.to.get_mut(usize::from(port))
        {
            *metric = Metric { value, heard: now };
        }
        let metric = Metric { value: header.metric, heard: now };
        match self.from.iter_mut().find(|from| from.tag == header.tag) {
            Some(from) => from.metric = metric,
            None => self.from.push(FromLeaf { tag: header.tag, metric, told: 0 }),
        }
    }

    /// What to send back: the next path in turn whose metric is not what was last sent of it, or else the next path.
    fn feedback(&mut self, now: Time, ageing: Ageing) -> Option<(PortIx, u8)> {
        let (count, turn) = (self.from.len(), self.turn);
        let is_new = |ix: &usize| self.from[*ix].metric.at(now, ageing) != self.from[*ix].told;
        let mut in_turn = (0..count).map(|step| (turn + step) % count);
        let chosen = in_turn.clone().find(is_new).or_else(|| in_turn.next())?;
        self.turn = chosen + 1;
        let from = &mut self.from[chosen];
        from.told = from.metric.at(now, ageing);
        Some((from.tag, from.told))
    }
}

impl Conga {
    /// CONGA at `site`.
    pub fn new(config: &CongaConfig, site: &Site<'_>) -> Conga {
        let link = |(port, neighbour): (&PortFacts, &Neighbour)| Link {
            to_host: neighbour.is_host,
            dre: Dre::new(config.dre_period, config.alpha, 1 << config.bits, port),
        };
        Conga {
            node: site.node,
            links: site.links().map(link).collect(),
            leaves: BTreeMap::new(),
            ageing: Ageing { after: config.aging, fade: config.fade },
            flowlets: Flowlets::new(config.flowlet_timeout, config.gaps, config.aging),
            answers: config.answers,
            hash: FlowHash::new(site.seed, site.node),
            draws: site.seed.stream("conga", u64::from(site.node.0)),
        }
    }

    /// Whether what comes in at `port` comes from a host. What the switch itself makes comes in at none.
    fn is_from_host(&self, port: PortIx) -> bool {
        self.links.get(usize::from(port)).is_some_and(|link| link.to_host)
    }
}

/// The leaf to which `packet` goes that leaves `node` through `egress`.
fn leaf_of(packet: &Packet, node: NodeId, egress: PortIx, view: &View<'_>) -> NodeId {
    let along = |node: NodeId, port: PortIx| view.paths.neighbour(node, port);
    let pinned = || packet.route.ahead().fold(along(node, egress), along);
    view.paths.edge(packet.route.destination().unwrap_or_else(pinned))
}

impl Footprint for Conga {
    fn heap_bytes(&self) -> u64 {
        let leaves: u64 = self.leaves.values().map(|leaf| leaf.to.heap_bytes() + leaf.from.heap_bytes()).sum();
        let entries = self.leaves.len() * size_of::<(NodeId, Leaf)>();
        self.links.heap_bytes() + leaves + entries as u64 + self.flowlets.heap_bytes()
    }
}

impl Station for Conga {
    fn stations(&self) -> Stations {
        Stations::DATA_DEPARTURE | Stations::OTHER_DEPARTURE | Stations::LAST_HOP
    }

    fn on_departure(&mut self, at: &Passage, _queue_bytes: u64, packet: &mut Carried<'_>, view: &mut View<'_>) {
        let link = &mut self.links[usize::from(at.egress)];
        if link.to_host {
            return;
        }
        link.dre.add(packet.frame.size.wire, view.now);
        let metric = link.dre.metric(view.now);
        if self.is_from_host(at.ingress) {
            let leaf = leaf_of(packet.packet(), self.node, at.egress, view);
            let feedback = self.leaves.get_mut(&leaf).and_then(|leaf| leaf.feedback(view.now, self.ageing));
            *packet.path_header_mut() = Header { leaf: self.node, tag: at.egress, metric, feedback }.into();
        } else if let Some(header) = packet.path_header().copied() {
            let header = Header::from(header);
            *packet.path_header_mut() = Header { metric: metric.max(header.metric), ..header }.into();
        }
    }

    fn on_last_hop(&mut self, _egress: PortIx, packet: &mut Carried<'_>, view: &mut View<'_>) {
        let Some(header) = packet.path_header().copied().map(Header::from) else { return };
        let ports = self.links.len();
        self.leaves.entry(header.leaf).or_insert_with(|| Leaf::new(ports)).hear(&header, view.now);
    }
}

impl LoadBalance for Conga {
    fn choose(&mut self, arrival: &mut Arrival<'_>, view: &mut View<'_>) -> Choice {
        let Arrival { key, candidates, ingress, destination, .. } = *arrival;
        if !self.answers.by_flowlets(arrival.packet.packet().kind) || !self.is_from_host(ingress) {
            return Choice::Candidate(by_hash(self.hash, key, candidates, view));
        }
        let Conga { links, leaves, ageing, flowlets, draws, .. } = self;
        let leaf = leaves.get(&view.paths.edge(destination));
        let metric = |way: usize| {
            let port = usize::from(candidates[way]);
            let remote = leaf.map_or(0, |leaf| leaf.to[port].at(view.now, *ageing));
            links[port].dre.metric(view.now).max(remote)
        };
        Choice::Candidate(flowlets.way(key, candidates, view, |before| {
            let ways = usable(candidates, view);
            let least = ways.clone().map(metric).min();
            let best = ways.filter(|way| Some(metric(*way)) == least);
            match before {
                Some(way) if best.clone().any(|best| best == way) => way,
                _ => any_of(best, draws).expect("packets have candidates"),
            }
        }))
    }

    fn observe(&self, now: Time, observer: &mut dyn FnMut(Held)) {
        self.flowlets.observe(now, observer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::FlowKey;
    use crate::contract::passage::OWN;
    use crate::frame::framing::FrameSize;
    use crate::frame::record::Records;
    use crate::frame::{Body, Frame, PacketKind, Route};
    use crate::ids::Class;
    use crate::model::node::Node;
    use crate::network::fabric::Fabric;
    use crate::testing::{fabric, frame, network, passage};

    /// A metric of 1 is 100 Gb/s x 1 us / (8 x 0.5 x 2^3) = 3,125 B.
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

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// Hosts 0 and 1 on leaf 4, 2 and 3 on leaf 5, spines 6 to 8: at a leaf ports 0 and 1 lead to hosts, 2 to 4 to spines.
    struct Switch {
        fabric: Fabric,
        node: Node,
        conga: Conga,
        records: Records,
        flows: u64,
    }

    const UPLINKS: [PortIx; 3] = [2, 3, 4];

    impl Switch {
        fn new(id: u32) -> Switch {
            Switch::with(id, &config())
        }

        fn with(id: u32, config: &CongaConfig) -> Switch {
            let access = [(0, 4), (1, 4), (2, 5), (3, 5)];
            let up = [4, 5].map(|leaf| [6, 7, 8].map(|spine| (leaf, spine)));
            let fabric = fabric(network(4, 5, &[&access[..], &up.concat()].concat()));
            let node = Node::new(&fabric, NodeId(id));
            let conga = Conga::new(config, &fabric.site(NodeId(id)));
            Switch { fabric, node, conga, records: Records::default(), flows: 1_000_000 }
        }

        /// A packet towards host `to`, with this header.
        fn packet(&mut self, to: u32, header: Option<Header>) -> Frame {
            let mut frame = frame(3, 1000);
            if let Body::Packet(packet) = &mut frame.body {
                packet.route = Route::towards(NodeId(to));
            }
            if let Some(header) = header {
                *self.records.path_header_mut(&mut frame.record) = header.into();
            }
            frame
        }

        fn header(&self, frame: &Frame) -> Option<Header> {
            self.records.path_header(frame.record).copied().map(Header::from)
        }

        /// The header of a packet when it leaves.
        fn depart(&mut self, mut frame: Frame, ingress: PortIx, egress: PortIx, now: Time) -> Option<Header> {
            let at = Passage { egress, ..passage(ingress, Class(3), 1000) };
            let packet = &mut Carried { frame: &mut frame, records: &mut self.records };
            self.conga.on_departure(&at, 0, packet, &mut self.node.view(now, &self.fabric));
            self.header(&frame)
        }

        /// The header of a packet from port 0 towards host `to`.
        fn send(&mut self, to: u32, egress: PortIx, now: Time) -> Option<Header> {
            let frame = self.packet(to, None);
            self.depart(frame, 0, egress, now)
        }

        /// A packet with this header has reached its destination.
        fn hear(&mut self, header: Header, now: Time) {
            let mut frame = self.packet(0, Some(header));
            let packet = &mut Carried { frame: &mut frame, records: &mut self.records };
            self.conga.on_last_hop(0, packet, &mut self.node.view(now, &self.fabric));
        }

        /// From leaf 5 it is heard that our packets through `port` have met `metric`.
        fn feed_back(&mut self, port: PortIx, metric: u8, now: Time) {
            self.hear(Header { leaf: NodeId(5), tag: 2, metric: 0, feedback: Some((port, metric)) }, now);
        }

        /// `bytes` leave through `port`.
        fn load(&mut self, port: PortIx, bytes: u16, now: Time) {
            self.conga.links[usize::from(port)].dre.add(bytes, now);
        }

        fn choose_for(&mut self, kind: PacketKind, flow: u64, ingress: PortIx, now: Time) -> PortIx {
            let mut frame = self.packet(2, None);
            if let Body::Packet(packet) = &mut frame.body {
                packet.kind = kind;
            }
            let packet = Carried { frame: &mut frame, records: &mut self.records };
            let (key, destination) = (FlowKey(flow), NodeId(2));
            let arrival = &mut Arrival { packet, ingress, destination, key, candidates: &UPLINKS };
            match self.conga.choose(arrival, &mut self.node.view(now, &self.fabric)) {
                Choice::Candidate(way) => UPLINKS[way],
                Choice::Route(route) => panic!("a whole route: {route:?}"),
            }
        }

        /// The port that data of `flow` take from a host.
        fn choose(&mut self, flow: u64, now: Time) -> PortIx {
            self.choose_for(PacketKind::Data, flow, 0, now)
        }

        /// How many of 3000 new flows take each uplink.
        fn spread(&mut self, now: Time) -> [usize; 3] {
            self.flows += 3000;
            let flows = self.flows - 3000..self.flows;
            let chosen: Vec<PortIx> = flows.map(|flow| self.choose(flow, now)).collect();
            UPLINKS.map(|port| chosen.iter().filter(|taken| **taken == port).count())
        }
    }

    /// As many of 3000 each of some ports as five standard deviations allow, and none of the others.
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
        for feedback in [None, Some((0, 0)), Some((513, 255))] {
            let header = Header { leaf: NodeId(70_000), tag: 300, metric: 255, feedback };
            assert_eq!(Header::from(PathHeader::from(header)), header);
        }
    }

    #[test]
    fn a_leaf_writes_headers_on_what_its_hosts_send_to_other_leaves() {
        let mut leaf = Switch::new(4);
        let header = |tag, metric| Some(Header { leaf: NodeId(4), tag, metric, feedback: None });
        assert_eq!(leaf.send(2, 3, at(0)), header(3, 0));
        // With 1,000 B each, the fourth passes 3,125 B; the count is that of the link.
        assert_eq!([leaf.send(2, 3, at(0)), leaf.send(3, 3, at(0))], [header(3, 0), header(3, 0)]);
        assert_eq!([leaf.send(2, 3, at(0)), leaf.send(2, 4, at(0))], [header(3, 1), header(4, 0)]);
        // What stays at the leaf and what the leaf has made itself has none.
        assert_eq!(leaf.send(1, 1, at(0)), None);
        let own = leaf.packet(2, None);
        assert_eq!(leaf.depart(own, OWN, 3, at(0)), None);
    }

    /// The largest metric on the way stays; the link to the host does not count.
    #[test]
    fn links_raise_the_metric_of_what_passes() {
        let met = |metric| Header { leaf: NodeId(4), tag: 3, metric, feedback: Some((2, 5)) };
        let mut spine = Switch::new(6);
        spine.load(1, 9375, at(0));
        for (before, after) in [(0, 3), (3, 3), (5, 5)] {
            let packet = spine.packet(2, Some(met(before)));
            assert_eq!(spine.depart(packet, 0, 1, at(0)), Some(met(after)));
        }
        let mut leaf = Switch::new(5);
        leaf.load(0, 50_000, at(0));
        let packet = leaf.packet(2, Some(met(1)));
        assert_eq!(leaf.depart(packet, 2, 0, at(0)), Some(met(1)));
    }

    /// Of 4,000 B on the wire 3,000 B are charged to buffers: a metric of 1, not of 0.
    #[test]
    fn estimators_count_what_is_on_the_wire() {
        let mut leaf = Switch::new(4);
        let mut packet = leaf.packet(2, None);
        packet.size = FrameSize { wire: 4000, charge: 3000 };
        assert_eq!(leaf.depart(packet, 0, 2, at(0)).unwrap().metric, 1);
    }

    /// Where its way is pinned, a packet's destination is what its route leads to: port 1 of spine 6 to leaf 5, and port 0 there.
    #[test]
    fn what_is_pinned_carries_feedback_as_well() {
        let mut leaf = Switch::new(4);
        leaf.hear(Header { leaf: NodeId(5), tag: 3, metric: 6, feedback: None }, at(0));
        let mut packet = leaf.packet(0, None);
        if let Body::Packet(packet) = &mut packet.body {
            packet.route = Route::fixed(&[0, 2, 1, 0]).unwrap().after_first().after_first();
        }
        let header = Header { leaf: NodeId(4), tag: 2, metric: 0, feedback: Some((3, 6)) };
        assert_eq!(leaf.depart(packet, 0, 2, at(0)), Some(header));
    }

    #[test]
    fn feedback_takes_turns_and_what_has_changed_goes_first() {
        let mut leaf = Switch::new(4);
        let heard = |tag, metric| Header { leaf: NodeId(5), tag, metric, feedback: None };
        let fed_back = |leaf: &mut Switch, us| leaf.send(2, 2, at(us)).unwrap().feedback;
        assert_eq!(fed_back(&mut leaf, 0), None);
        [(2, 0), (3, 0), (4, 0)].into_iter().for_each(|(tag, metric)| leaf.hear(heard(tag, metric), at(0)));
        // Nothing is different from what is known without feedback: in turn.
        let turns: Vec<_> = (0..4).map(|_| fed_back(&mut leaf, 1)).collect();
        assert_eq!(turns, [Some((2, 0)), Some((3, 0)), Some((4, 0)), Some((2, 0))]);
        // It would be the turn of 3.
        leaf.hear(heard(2, 5), at(2));
        leaf.hear(heard(4, 6), at(2));
        let turns: Vec<_> = (0..4).map(|_| fed_back(&mut leaf, 2)).collect();
        assert_eq!(turns, [Some((4, 6)), Some((2, 5)), Some((3, 0)), Some((4, 6))]);
        // What is 100 us old counts, what is older counts as 0: that is a change.
        leaf.hear(heard(2, 5), at(50));
        assert_eq!(fed_back(&mut leaf, 102), Some((2, 5)));
        let turns: Vec<_> = (0..3).map(|_| fed_back(&mut leaf, 103)).collect();
        assert_eq!(turns, [Some((4, 0)), Some((2, 5)), Some((3, 0))]);
        // Other leaves have tables of their own.
        assert_eq!(leaf.conga.leaves.keys().collect::<Vec<_>>(), [&NodeId(5)]);
    }

    #[test]
    fn new_flowlets_take_the_path_whose_busiest_link_is_the_least_busy() {
        let mut leaf = Switch::new(4);
        // Local 0, 3, 1; remote 2, 0, 1.
        leaf.load(3, 9375, at(0));
        leaf.load(4, 3125, at(0));
        leaf.feed_back(2, 2, at(0));
        leaf.feed_back(4, 1, at(0));
        assert_eq!(leaf.spread(at(0)), [0, 0, 3000]);
        // Local 0, 1, 0 after a period.
        assert_shared(leaf.spread(at(1)), [false, true, true]);
        leaf.feed_back(4, 2, at(1));
        assert_eq!(leaf.spread(at(10)), [0, 3000, 0]);
        // Metrics of paths to other leaves say nothing of these.
        leaf.hear(Header { leaf: NodeId(9), tag: 2, metric: 0, feedback: Some((3, 7)) }, at(10));
        assert_eq!(leaf.spread(at(20)), [0, 3000, 0]);
    }

    #[test]
    fn equal_paths_are_taken_equally_and_not_left_for_each_other() {
        let mut leaf = Switch::new(4);
        assert_shared(leaf.spread(at(0)), [true; 3]);
        let first = leaf.choose(1, at(0));
        assert!((1..50).all(|flowlet| leaf.choose(1, at(2 * flowlet)) == first));
        // A better path is taken by the next flowlet, and not before.
        let better = if first == 3 { 4 } else { 3 };
        UPLINKS.into_iter().filter(|port| *port != better).for_each(|port| leaf.feed_back(port, 1, at(99)));
        assert_eq!([99, 101].map(|us| leaf.choose(1, at(us))), [first, better]);
        // After 100 us the other two are as good again: what the flow has taken last counts until it is forgotten.
        assert!((0..40).all(|flowlet| leaf.choose(1, at(201 + 2 * flowlet)) == better));
        let anew: Vec<_> = (0..40).map(|i| leaf.choose(1, Time::from_ps(1_000_000_000 + i * 100_000_001))).collect();
        assert!(UPLINKS.iter().all(|port| anew.contains(port)));
    }

    #[test]
    fn what_has_failed_is_no_path_however_idle_it_is() {
        let mut leaf = Switch::new(4);
        leaf.feed_back(3, 2, at(0));
        leaf.feed_back(4, 3, at(0));
        assert_eq!(leaf.choose(1, at(0)), 2);
        leaf.node.interfaces.ports[2].fail();
        assert_eq!(leaf.choose(1, at(0)), 3);
        assert_shared(leaf.spread(at(0)), [false, true, false]);
    }

    #[test]
    fn a_metric_that_is_not_heard_again_counts_as_nothing() {
        let mut leaf = Switch::new(4);
        [(2, 1), (3, 2), (4, 2)].into_iter().for_each(|(port, metric)| leaf.feed_back(port, metric, at(5)));
        assert_eq!(leaf.spread(at(105)), [3000, 0, 0]);
        leaf.feed_back(3, 1, at(60));
        assert_shared(leaf.spread(Time::from_ps(105_000_001)), [true, false, true]);
    }

    /// A 7 stays for 100 us, and then falls to 0 within 70 us: by one in 10 us, and rounded down.
    #[test]
    fn a_metric_fades_if_asked_to() {
        let ageing = Ageing { after: Duration::from_us(100), fade: Duration::from_us(70) };
        let metric = Metric { value: 7, heard: at(5) };
        for (us, left) in [(105, 7), (106, 6), (115, 6), (116, 5), (165, 1), (166, 0), (175, 0), (1000, 0)] {
            assert_eq!(metric.at(at(us), ageing), left, "{us} us");
        }
    }

    /// Answers take the best path as well, and stay on it without a gap.
    #[test]
    fn answers_choose_by_metrics_if_asked_to() {
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
            // What comes from another switch, where there are links side by side.
            assert_eq!(leaf.choose_for(PacketKind::Data, flow, 2, at(0)), by_hash);
        }
    }

    #[test]
    fn it_runs_where_there_are_leaves_and_spines() {
        let applies = |layers, multihomed| config().applies(&Shape { layers, multihomed, ..Default::default() });
        assert_eq!([applies(1, false), applies(2, false)], [Ok(()), Ok(())]);
        assert!(applies(3, false).is_err_and(|why| why.ends_with("and there are 3")));
        assert!(applies(2, true).is_err_and(|why| why.contains("a host must have one link")));
    }
}
