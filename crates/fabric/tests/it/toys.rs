//! What the contract lets mechanisms do that no built-in one does yet: each power by a toy that needs it.
//!
//! Links are of 100 Gb/s and 1 us unless said otherwise: a data frame of 1024 B of payload takes 1,106 B or 88.48 ns (the first of a flow 1,122 B), a
//! notice 84 B or 6.72 ns.

use crate::prelude::*;
use backwater_fabric::contract::{LossSignal, NoticeAction, OutgoingNotice, Paths};
use backwater_fabric::frame::{Notice, Route};

/// What toys have seen.
type Log<T> = Arc<Mutex<Vec<T>>>;

fn take<T>(log: &Log<T>) -> Vec<T> {
    std::mem::take(&mut log.lock().unwrap())
}

const TOY: Protocol = Protocol::named("toy");

// ------------------------------------------------------------------------------------------- a congestion control by notices

/// A switch tells the sender of every packet that joins a queue of 10 KB or more, and the sender halves its rate, to a tenth of its line at least.
#[derive(Clone, Debug, Default)]
struct Halving {
    sent: Log<(Time, NodeId)>,
    heard: Log<(Time, Notice)>,
}

#[derive(Debug)]
struct HalvingPoint(NodeId, Log<(Time, NodeId)>);
#[derive(Debug)]
struct Silent;
#[derive(Debug)]
struct HalvingSender {
    line: Rate,
    rate: Rate,
    heard: Log<(Time, Notice)>,
}

impl Options for Halving {}

impl CongestionOptions for Halving {
    type Point = HalvingPoint;
    type Notification = Silent;
    type Reaction = HalvingSender;

    fn point(&self, site: &Site<'_>) -> HalvingPoint {
        HalvingPoint(site.node, self.sent.clone())
    }

    fn notification(&self, _line_rate: Rate) -> Silent {
        Silent
    }

    fn reaction(&self, sender: &SenderFacts) -> HalvingSender {
        HalvingSender { line: sender.line_rate, rate: sender.line_rate, heard: self.heard.clone() }
    }

    fn needs_trails(&self) -> bool {
        true
    }
}

impl NotificationPoint for Silent {}
impl PipelineHooks for Silent {}
impl CongestionPoint for Silent {}
impl CongestionPoint for HalvingPoint {}

impl PipelineHooks for HalvingPoint {
    fn hooks(&self) -> HookSet {
        HookSet::ENQUEUE
    }

    fn on_enqueue(&mut self, packet: &mut PacketContext<'_>, queue_bytes: u64, view: &mut View<'_>) {
        if queue_bytes >= 10_000 {
            self.1.lock().unwrap().push((view.now, self.0));
            let from = view.port(packet.egress).id();
            let (headers, trail) = (*packet.headers(), packet.trail().copied());
            let taken = |hop: usize| trail.and_then(|trail| trail.ports().get(hop).copied()).unwrap_or(0).into();
            view.notify_source(
                &headers,
                trail.as_ref(),
                packet.ingress(),
                TOY,
                from,
                [headers.psn, taken(1), taken(2), 0],
            );
        }
    }
}

impl ReactionPoint for HalvingSender {
    fn rate(&mut self, _now: Time) -> Rate {
        self.rate
    }

    fn on_notice(&mut self, now: Time, notice: &Notice) {
        self.heard.lock().unwrap().push((now, *notice));
        self.rate = Rate::from_bps(self.rate.bps() / 2).max(Rate::from_bps(self.line.bps() / 10));
    }
}

/// Three switches, and a slow link behind the last.
fn slow_chain() -> NetworkSpec {
    let mut spec = chain(&[100, 100, 100, 10], 1000);
    spec.host.ack_every = 1_000_000;
    spec
}

#[test]
fn a_notice_travels_back_hop_by_hop_and_sets_the_rate() {
    let toy = Halving::default();
    let mut spec = slow_chain();
    spec.congestion = CongestionConfig::custom(toy.clone());
    let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 200_000, 0)]);
    assert!(outcomes[0].acknowledged.is_some());
    assert_eq!((simulation.audit(), simulation.violations()), (vec![], vec![]));
    let (sent, heard) = (take(&toy.sent), take(&toy.heard));
    // The bottleneck is the third switch, s2: three links, and nothing in the way.
    let way = Duration::from_ps(3 * (84 * 80 + 1_000_000));
    assert_eq!(sent[0].1, NodeId(4));
    assert_eq!(heard[0].0, sent[0].0 + way);
    assert_eq!(sent.len(), heard.len());
    let port = simulation.fabric().wiring.of(NodeId(4))[1].id;
    let expected = Notice { protocol: TOY, from: port, flow: FlowId(0), to: NodeId(0), words: heard[0].1.words };
    assert_eq!(heard[0].1, expected);
    // 200 packets at a tenth of the line, or nearly: without the notices they would come eight times as fast as they can leave.
    let alone = run(&slow_chain(), vec![flow(0, 1, 200_000, 0)]).0;
    let peak = |simulation: &Simulation| simulation.node(NodeId(4)).switch().unwrap().occupancy().peak;
    assert!(peak(&simulation) < peak(&alone) / 2, "{} {}", peak(&simulation), peak(&alone));
}

/// Notices are frames: a link that corrupts frames loses some of them, and the books balance.
#[test]
fn a_notice_can_be_lost() {
    let toy = Halving::default();
    let mut spec = slow_chain();
    spec.congestion = CongestionConfig::custom(toy.clone());
    spec.links[1].error_rate = 0.3;
    let (simulation, _) = run(&spec, vec![flow(0, 1, 400_000, 0)]);
    assert_eq!(simulation.audit(), []);
    let (sent, heard) = (take(&toy.sent).len(), take(&toy.heard).len());
    assert!(heard < sent * 9 / 10 && heard > sent / 2, "{heard} of {sent}");
}

/// Where packets are sprayed, a notice about one goes back through the switches that the packet has come through.
#[test]
fn a_notice_takes_the_reverse_of_the_way_that_its_packet_has_come() {
    let toy = Halving::default();
    let mut spec = three_tiers();
    spec.links[13].rate = Rate::from_gbps(10);
    spec.host.ack_every = 1_000_000;
    spec.load_balance = LoadBalanceConfig::Spray(SprayConfig {});
    spec.recovery = RecoveryConfig::InAnyOrder(Default::default());
    spec.congestion = CongestionConfig::custom(toy.clone());
    let (simulation, _) = run(&spec, vec![flow(0, 1, 200_000, 0)]);
    let heard = take(&toy.heard);
    assert!(heard.len() > 40, "{heard:?}");
    // By the ports that the packets took at the edge and at the first aggregation switch: so many notices went back from that core to that switch,
    // and somewhere the only ACK.
    let mut acks = 0;
    for (aggregation, core) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let back = simulation.node(NodeId(5 + core)).ports()[aggregation].sent_wire_bytes() / 84;
        let taken = [aggregation as u32 + 1, core + 1];
        let about = heard.iter().filter(|(_, notice)| notice.words[1..3] == taken).count() as u64;
        assert!(about > 0 && back - about <= 1, "{back} {about}");
        acks += back - about;
    }
    assert_eq!(acks, 1);
}

// ------------------------------------------------------------------------------ a congestion control that hears of losses

/// Writes down what is lost.
#[derive(Clone, Debug, Default)]
struct Mourning(Log<(u64, LossSignal)>);

#[derive(Debug)]
struct Mourner(Rate, Log<(u64, LossSignal)>);

impl Options for Mourning {}

impl CongestionOptions for Mourning {
    type Point = Silent;
    type Notification = Silent;
    type Reaction = Mourner;

    fn point(&self, _site: &Site<'_>) -> Silent {
        Silent
    }

    fn notification(&self, _line_rate: Rate) -> Silent {
        Silent
    }

    fn reaction(&self, sender: &SenderFacts) -> Mourner {
        Mourner(sender.line_rate, self.0.clone())
    }
}

impl ReactionPoint for Mourner {
    fn rate(&mut self, _now: Time) -> Rate {
        self.0
    }

    fn on_loss(&mut self, now: Time, loss: LossSignal) {
        self.1.lock().unwrap().push((now.ps() / 1000, loss));
    }
}

/// Three packets, of which the second is asked for and then never answered: 4 ms later, and again, the retransmission timer runs out.
#[test]
fn a_reaction_point_hears_how_a_loss_was_found_out() {
    let toy = Mourning::default();
    let mut spec = star(2, 100, 1000);
    spec.congestion = CongestionConfig::custom(toy.clone());
    let mut s = Script::new(&spec, vec![flow(0, 1, 3000, 0)], 0);
    arrive!(s, 5_000_000 ps, port 0, nack of flow 0, expected 1);
    while s.next_sent(9_000_000_000).is_some() {}
    assert_eq!(
        take(&toy.0),
        [(5_000, LossSignal::Nack), (4_005_000, LossSignal::TimedOut), (8_005_000, LossSignal::TimedOut)]
    );
}

// ---------------------------------------------------------------------- a load balancer that chooses whole routes and probes them

/// At an edge switch every packet takes the next of all routes, in turn; every 10 us the first edge switch sends a probe to the other along the last
/// of its routes, in a data class.
#[derive(Clone, Debug, Default)]
struct Touring {
    probed: Log<Time>,
    heard: Log<(Time, NodeId, Notice)>,
}

#[derive(Debug)]
struct Tour {
    toy: Touring,
    node: NodeId,
    is_edge: bool,
    turn: usize,
    probes: u32,
}

/// All ways from `node` to `destination`, as ports.
fn ways(node: NodeId, destination: NodeId, paths: &dyn Paths) -> Vec<Vec<PortIx>> {
    if node == destination {
        return vec![vec![]];
    }
    let through = |port: &PortIx| {
        let rest = ways(paths.neighbour(node, *port), destination, paths);
        rest.into_iter().map(|rest| [vec![*port], rest].concat()).collect::<Vec<_>>()
    };
    paths.candidates(node, destination).iter().flat_map(through).collect()
}

impl Options for Touring {}

impl LoadBalanceOptions for Touring {
    type Instance = Tour;

    fn build(&self, site: &Site<'_>) -> Tour {
        let is_edge = site.neighbours.iter().any(|neighbour| neighbour.is_host);
        Tour { toy: self.clone(), node: site.node, is_edge, turn: 0, probes: 0 }
    }
}

impl PipelineHooks for Tour {
    fn hooks(&self) -> HookSet {
        HookSet::NOTICE
    }

    fn on_notice(&mut self, notice: &Notice, view: &mut View<'_>) -> NoticeAction {
        self.toy.heard.lock().unwrap().push((view.now, self.node, *notice));
        NoticeAction::Forward
    }

    fn on_wake(&mut self, view: &mut View<'_>) {
        let other = NodeId(9);
        let all = ways(self.node, NodeId(1), view.paths);
        // The last hop would lead to the host behind the other edge switch.
        let way = &all[all.len() - 1][..all[0].len() - 1];
        let route = Route::fixed(way).unwrap().after_first();
        let notice =
            Notice { protocol: TOY, from: PortId(0), flow: FlowId::NONE, to: other, words: [self.probes, 0, 0, 0] };
        view.emit(OutgoingNotice { notice, egress: way[0], class: Class(3), route });
        self.toy.probed.lock().unwrap().push(view.now);
        self.probes += 1;
        if self.probes < 3 {
            view.wake_at(view.now + Duration::from_us(10));
        }
    }
}

impl LoadBalance for Tour {
    fn choose(&mut self, arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Choice {
        assert!(self.is_edge, "packets with a whole route are not asked for elsewhere");
        if self.node == NodeId(2) && self.probes == 0 {
            view.wake_at(view.now + Duration::from_us(10));
        }
        let all = ways(self.node, arrival.destination, view.paths);
        self.turn += 1;
        Choice::Route(Route::fixed(&all[self.turn % all.len()]).unwrap())
    }
}

/// h0 on edge 2, h1 on edge 9; aggregation 3, 4 and 7, 8; cores 5 and 6: 3 and 7 are on core 5, 4 and 8 on core 6, and both on the other as well.
fn three_tiers() -> NetworkSpec {
    let mut spec = network(2, 8);
    let ends = [
        (0, 2),
        (2, 3),
        (2, 4),
        (3, 5),
        (3, 6),
        (4, 5),
        (4, 6),
        (5, 7),
        (5, 8),
        (6, 7),
        (6, 8),
        (7, 9),
        (8, 9),
        (9, 1),
    ];
    spec.links = ends.map(|(a, b)| link(a, b, 100, 1000)).to_vec();
    spec
}

#[test]
fn a_load_balancer_sends_packets_along_whole_routes_of_its_choice() {
    let toy = Touring::default();
    let mut spec = three_tiers();
    spec.load_balance = LoadBalanceConfig::custom(toy);
    let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 64 * 1024, 0)]);
    assert!(outcomes[0].acknowledged.is_some() && outcomes[0].retransmitted == 0);
    assert_eq!(simulation.audit(), []);
    // 2 aggregation switches, 2 cores, 2 aggregation switches: eight ways, each taken by 8 of 64 packets.
    let sent = |node: u32, port: PortIx| simulation.node(NodeId(node)).ports()[port].sent_wire_bytes();
    // Of 64 packets, of 1,106 B and the first of 1,122 B, every link between these tiers carries a quarter; no ACK goes this way, but three probes.
    let ways = [(3, 1), (3, 2), (4, 1), (4, 2), (5, 2), (5, 3), (6, 2), (6, 3)];
    let share = |(node, port): &(u32, PortIx)| {
        sent(*node, *port) - if [(4, 2), (6, 3)].contains(&(*node, *port)) { 3 * 84 } else { 0 }
    };
    assert!(
        ways.iter().all(|way| [16 * 1106, 16 * 1106 + 16].contains(&share(way))),
        "{:?}",
        ways.map(|way| share(&way))
    );
}

/// Five links; a probe is charged to no buffer, and is heard by every switch on its way and at its end.
#[test]
fn a_switch_originates_packets_in_any_class_along_a_chosen_path() {
    let toy = Touring::default();
    let mut spec = three_tiers();
    spec.load_balance = LoadBalanceConfig::custom(toy.clone());
    let (simulation, _) = run(&spec, vec![flow(0, 1, 1024, 0)]);
    assert_eq!(simulation.audit(), []);
    let (probed, heard) = (take(&toy.probed), take(&toy.heard));
    assert_eq!(probed.len(), 3);
    assert_eq!((probed[1] - probed[0], probed[2] - probed[1]), (Duration::from_us(10), Duration::from_us(10)));
    for (number, start) in (0..).zip(probed) {
        let of_probe = heard.iter().filter(|(.., notice)| notice.words[0] == number);
        let seen: Vec<_> = of_probe.map(|(at, node, _)| (at.ps() - start.ps(), node.0)).collect();
        let hop = 84 * 80 + 1_000_000;
        // The last of the ways: aggregation 4, core 6, aggregation 8, and the other edge.
        assert_eq!(seen, [(hop, 4), (2 * hop, 6), (3 * hop, 8), (4 * hop, 9)]);
    }
}

// ---------------------------------------------------------------------------------- notices to others than the sender of a flow

/// A switch tells host 2 of every data packet of flow 1, and what it finds of the packet's ingress queue.
#[derive(Clone, Debug, Default)]
struct Telling {
    heard: Log<FlowId>,
    found: Log<[Option<u64>; 2]>,
    passed: Log<NodeId>,
}

struct Teller(Telling, NodeId);
struct Told(Telling, Rate);

impl Options for Telling {}

impl CongestionOptions for Telling {
    type Point = Teller;
    type Notification = Silent;
    type Reaction = Told;

    fn point(&self, site: &Site<'_>) -> Teller {
        Teller(self.clone(), site.node)
    }

    fn notification(&self, _line_rate: Rate) -> Silent {
        Silent
    }

    fn reaction(&self, sender: &SenderFacts) -> Told {
        Told(self.clone(), sender.line_rate)
    }
}

impl PipelineHooks for Teller {
    fn hooks(&self) -> HookSet {
        HookSet::ENQUEUE | HookSet::NOTICE
    }

    fn on_notice(&mut self, _notice: &Notice, _view: &mut View<'_>) -> NoticeAction {
        self.0.passed.lock().unwrap().push(self.1);
        NoticeAction::Forward
    }

    fn on_enqueue(&mut self, packet: &mut PacketContext<'_>, _queue_bytes: u64, view: &mut View<'_>) {
        let Packet { flow, kind, .. } = *packet.headers();
        if (flow, kind) == (FlowId(1), PacketKind::Data) {
            self.0.found.lock().unwrap().push([
                view.ingress_occupancy(packet.ingress(), packet.ingress_class()),
                view.threshold(packet.ingress(), packet.ingress_class()),
            ]);
            let notice =
                Notice { protocol: TOY, from: view.port(packet.egress).id(), flow, to: NodeId(2), words: [0; 4] };
            let route = Route::towards(NodeId(2));
            view.emit(OutgoingNotice { notice, egress: packet.egress, class: Class::CONTROL, route });
        }
    }
}

impl CongestionPoint for Teller {}
impl ReactionPoint for Told {
    fn rate(&mut self, _now: Time) -> Rate {
        self.1
    }

    fn on_notice(&mut self, _now: Time, notice: &Notice) {
        self.0.heard.lock().unwrap().push(notice.flow);
    }
}

/// Flow 1 goes from h0 to h2: its queue pair is in no table of h2, whether another flow is, was or never has been.
#[test]
fn a_notice_of_a_flow_is_no_news_of_another_one_at_the_host_where_it_ends() {
    for (src, bytes) in [(2, 400_000), (2, 1), (1, 1)] {
        let toy = Telling::default();
        let mut spec = star(3, 100, 1000);
        spec.congestion = CongestionConfig::custom(toy.clone());
        let flows = vec![flow(src, if src == 1 { 0 } else { 1 }, bytes, 0), flow(0, 2, 100_000, 0)];
        let (simulation, outcomes) = run(&spec, flows);
        assert!(outcomes.iter().all(|outcome| outcome.acknowledged.is_some()));
        assert_eq!((simulation.audit(), take(&toy.heard).len()), (vec![], 0));
    }
}

/// A static threshold of 30 KB: the queue holds the packet that has just come, one that is on the wire is no longer charged.
#[test]
fn a_station_sees_how_full_an_ingress_queue_is_and_where_it_is_full() {
    let toy = Telling::default();
    let mut spec = star(3, 100, 1000);
    let xoff = Bytes(30_000);
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff, ..Default::default() });
    spec.congestion = CongestionConfig::custom(toy.clone());
    run(&spec, vec![flow(1, 0, 1, 0), flow(0, 2, 3 * 1024, 0)]);
    let charge = spec.framing.data(1024, false, 0).charge;
    let first = spec.framing.data(1024, true, 0).charge;
    assert_eq!(take(&toy.found), [first, charge, charge].map(|held| [Some(u64::from(held)), Some(30_000)]));
}

/// What a notice that ends at a server says is heard there by what runs at its relay: h0 and h2 of BCube(2, 1) have a switch in common.
#[test]
fn a_notice_that_ends_at_a_relay_is_heard_there() {
    let toy = Telling::default();
    let mut spec = bcube(2, 100, 1000);
    spec.host.relay.congestion_point = true;
    spec.congestion = CongestionConfig::custom(toy.clone());
    run(&spec, vec![flow(1, 0, 1, 0), flow(0, 2, 3 * 1024, 0)]);
    assert_eq!(take(&toy.passed), [NodeId(2); 3]);
}
