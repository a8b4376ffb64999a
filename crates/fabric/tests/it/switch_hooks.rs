//! Hooks of switch mechanisms that no built-in mechanism uses yet. A test mechanism uses each hook.
//!
//! Links have 100 Gb/s and a delay of 1 us unless stated otherwise. A data frame with 1024 B of
//! payload has 1,106 B on the wire and takes 88.48 ns. The first frame of a flow has 1,122 B, a
//! notice has 84 B and takes 6.72 ns.

use crate::prelude::*;
use backwater_fabric::contract::{LossSignal, NoticeAction, OutgoingNotice, Paths};
use backwater_fabric::frame::{Notice, Route};

const TOY: Protocol = Protocol::named("toy");

// ----------------------------------------------------------------- a congestion control by notices

/// Congestion control by notices. A switch notifies the sender of every packet that joins a queue
/// of 10 KB or more. The sender then halves its rate, down to a tenth of its line rate.
#[derive(Clone, Debug, Default)]
struct Halving {
    sent: Log<(Time, NodeId)>,
    received: Log<(Time, Notice)>,
}

#[derive(Debug)]
struct HalvingPoint(NodeId, Log<(Time, NodeId)>);

#[derive(Debug)]
struct HalvingSender {
    line: Rate,
    rate: Rate,
    received: Log<(Time, Notice)>,
}

congestion_control!(
    Halving,
    HalvingPoint: |options, site| HalvingPoint(site.node, options.sent.clone()),
    HalvingSender: |options, sender| HalvingSender {
        line: sender.line_rate,
        rate: sender.line_rate,
        received: options.received.clone(),
    },
    needs_trails
);

impl PipelineHooks for HalvingPoint {
    fn hooks(&self) -> HookSet {
        HookSet::ENQUEUE
    }

    fn on_enqueue(&mut self, packet: &mut PacketContext<'_>, queue_bytes: u64, view: &mut View<'_>) {
        if queue_bytes >= 10_000 {
            self.1.push((view.now, self.0));
            let from = view.port(packet.egress).id();
            let (headers, trail) = (*packet.headers(), packet.trail().copied());
            let taken =
                |hop: usize| trail.and_then(|trail| trail.ports().get(hop).copied()).map_or(0, |port| port.0.into());
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
        self.received.push((now, *notice));
        self.rate = Rate::from_bps(self.rate.bps() / 2).max(Rate::from_bps(self.line.bps() / 10));
    }
}

/// Returns a chain of three switches with a slow link behind the last switch.
fn slow_chain() -> NetworkSpec {
    let mut spec = chain(&[100, 100, 100, 10], 1000);
    spec.host.ack_every = 1_000_000;
    spec
}

#[test]
fn a_notice_travels_back_hop_by_hop_and_sets_the_rate() {
    let halving = Halving::default();
    let mut spec = slow_chain();
    spec.congestion = CongestionConfig::custom(halving.clone());
    let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 200_000, 0)]);
    assert!(outcomes[0].acknowledged.is_some());
    assert_eq!((simulation.audit(), simulation.violations()), (vec![], vec![]));
    let (sent, received) = (halving.sent.take(), halving.received.take());
    // The bottleneck is the third switch, s2. A notice passes three links without queues.
    let way = Duration::from_ps(3 * (84 * 80 + 1_000_000));
    assert_eq!(sent[0].1, NodeId(4));
    assert_eq!(received[0].0, sent[0].0 + way);
    assert_eq!(sent.len(), received.len());
    let port = simulation.fabric().wiring.ports_of(NodeId(4))[1].id;
    let expected = Notice { protocol: TOY, from: port, flow: FlowId(0), to: NodeId(0), words: received[0].1.words };
    assert_eq!(received[0].1, expected);
    // With notices, the 196 packets arrive at about a tenth of the line rate. Without notices, they
    // arrive ten times as fast as they depart.
    let alone = run(&slow_chain(), vec![flow(0, 1, 200_000, 0)]).0;
    let peak = |simulation: &Simulation| simulation.node(NodeId(4)).switch().unwrap().occupancy().peak;
    assert!(peak(&simulation) < peak(&alone) / 2, "{} {}", peak(&simulation), peak(&alone));
}

/// A link that corrupts frames loses some notices, and the audit finds no error.
#[test]
fn a_notice_can_be_lost() {
    let halving = Halving::default();
    let mut spec = slow_chain();
    spec.congestion = CongestionConfig::custom(halving.clone());
    spec.links[1].error_rate = 0.3;
    let (simulation, _) = run(&spec, vec![flow(0, 1, 400_000, 0)]);
    assert_eq!(simulation.audit(), []);
    let (sent, received) = (halving.sent.take().len(), halving.received.take().len());
    assert!(received < sent * 9 / 10 && received > sent / 2, "{received} of {sent}");
}

/// Packets are sprayed. A notice about a packet returns through the switches that the packet
/// passed.
#[test]
fn a_notice_takes_the_reverse_path_of_its_packet() {
    let halving = Halving::default();
    let mut spec = three_tiers();
    spec.links[13].rate = Rate::from_gbps(10);
    spec.host.ack_every = 1_000_000;
    spec.load_balance = LoadBalanceConfig::Spray(SprayConfig {});
    spec.recovery = RecoveryConfig::InAnyOrder(Default::default());
    spec.congestion = CongestionConfig::custom(halving.clone());
    let (simulation, _) = run(&spec, vec![flow(0, 1, 200_000, 0)]);
    let received = halving.received.take();
    assert!(received.len() > 40, "{received:?}");
    // Each packet has two choices, at the edge and at the first aggregation switch. Over each path,
    // the core sends as many notices to the aggregation switch as the sender received about packets
    // of this path. One path also carries the only ACK.
    let mut acks = 0;
    for (aggregation, core) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let back = simulation.node(NodeId(5 + core)).ports()[PortIx(aggregation)].sent_wire_bytes() / 84;
        let taken = [aggregation as u32 + 1, core + 1];
        let about = received.iter().filter(|(_, notice)| notice.words[1..3] == taken).count() as u64;
        assert!(about > 0 && back - about <= 1, "{back} {about}");
        acks += back - about;
    }
    assert_eq!(acks, 1);
}

// --------------------------------------------------------- losses reported to a congestion control

/// Congestion control that records losses.
#[derive(Clone, Debug, Default)]
struct LossLog(Log<(u64, LossSignal)>);

#[derive(Debug)]
struct LossLogSender(Rate, Log<(u64, LossSignal)>);

congestion_control!(LossLog, LossLogSender: |options, sender| LossLogSender(sender.line_rate, options.0.clone()));

impl ReactionPoint for LossLogSender {
    fn rate(&mut self, _now: Time) -> Rate {
        self.0
    }

    fn on_loss(&mut self, now: Time, loss: LossSignal) {
        self.1.push((now.ps() / 1000, loss));
    }
}

/// A flow has three packets. The receiver requests the second packet, which is never acknowledged.
/// The retransmission timer fires 4 ms later, and then again.
#[test]
fn a_reaction_point_is_notified_of_losses_and_their_signal() {
    let losses = LossLog::default();
    let mut spec = star(2);
    spec.congestion = CongestionConfig::custom(losses.clone());
    let mut s = Script::new(&spec, vec![flow(0, 1, 3000, 0)], 0);
    arrive!(s, 5_000_000 ps, port 0, nack of flow 0, expected 1);
    while s.next_sent(9_000_000_000).is_some() {}
    assert_eq!(
        losses.0.take(),
        [(5_000, LossSignal::Nack), (4_005_000, LossSignal::TimedOut), (8_005_000, LossSignal::TimedOut)]
    );
}

// -------------------------------------------------- a load balancer of whole routes and its probes

/// Load balancer that assigns all routes in turn to packets at an edge switch. Every 10 us the
/// first edge switch sends a probe in a data class to the other edge switch, along the last of its
/// routes.
#[derive(Clone, Debug, Default)]
struct RouteCycling {
    probed: Log<Time>,
    received: Log<(Time, NodeId, Notice)>,
}

#[derive(Debug)]
struct RouteCycler {
    options: RouteCycling,
    node: NodeId,
    is_edge: bool,
    turn: usize,
    probes: u32,
}

/// Returns all paths from `node` to `destination`, as ports.
fn all_paths(node: NodeId, destination: NodeId, paths: &dyn Paths) -> Vec<Vec<PortIx>> {
    if node == destination {
        return vec![vec![]];
    }
    let through = |port: &PortIx| {
        let rest = all_paths(paths.neighbour(node, *port), destination, paths);
        rest.into_iter().map(|rest| [vec![*port], rest].concat()).collect::<Vec<_>>()
    };
    paths.candidates(node, destination).iter().flat_map(through).collect()
}

load_balancer!(RouteCycling, RouteCycler: |options, site| RouteCycler {
    options: options.clone(),
    node: site.node,
    is_edge: site.neighbours.iter().any(|neighbour| neighbour.is_host),
    turn: 0,
    probes: 0,
});

impl PipelineHooks for RouteCycler {
    fn hooks(&self) -> HookSet {
        HookSet::NOTICE
    }

    fn on_notice(&mut self, notice: &Notice, view: &mut View<'_>) -> NoticeAction {
        self.options.received.push((view.now, self.node, *notice));
        NoticeAction::Forward
    }

    fn on_wake(&mut self, view: &mut View<'_>) {
        let other = NodeId(9);
        let all = all_paths(self.node, NodeId(1), view.paths);
        // The probe's route omits the last hop, to the host behind the other edge switch.
        let path = &all[all.len() - 1][..all[0].len() - 1];
        let route = Route::fixed(path).unwrap().after_first();
        let notice =
            Notice { protocol: TOY, from: PortId(0), flow: FlowId::NONE, to: other, words: [self.probes, 0, 0, 0] };
        view.emit(OutgoingNotice { notice, egress: path[0], class: Class(3), route });
        self.options.probed.push(view.now);
        self.probes += 1;
        if self.probes < 3 {
            view.wake_at(view.now + Duration::from_us(10));
        }
    }
}

impl LoadBalance for RouteCycler {
    fn choose(&mut self, arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Choice {
        assert!(self.is_edge, "only edge switches route these packets");
        if self.node == NodeId(2) && self.probes == 0 {
            view.wake_at(view.now + Duration::from_us(10));
        }
        let all = all_paths(self.node, arrival.destination, view.paths);
        self.turn += 1;
        Choice::Route(Route::fixed(&all[self.turn % all.len()]).unwrap())
    }
}

/// Returns h0 on edge 2, h1 on edge 9, aggregation switches 3 and 4 for edge 2, aggregation
/// switches 7 and 8 for edge 9, and cores 5 and 6. Each aggregation switch has links to both cores.
fn three_tiers() -> NetworkSpec {
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
    linked(2, 8, ends)
}

#[test]
fn a_load_balancer_sets_whole_routes() {
    let mut spec = three_tiers();
    spec.load_balance = LoadBalanceConfig::custom(RouteCycling::default());
    let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 64 * 1024, 0)]);
    assert!(outcomes[0].acknowledged.is_some() && outcomes[0].retransmitted == 0);
    assert_eq!(simulation.audit(), []);
    // Two aggregation switches, two cores and two more aggregation switches give eight paths, each
    // of which carries 8 of 64 packets.
    let sent = |node: u32, port: u16| simulation.node(NodeId(node)).ports()[PortIx(port)].sent_wire_bytes();
    // Every link between these tiers carries a quarter of 64 packets. Packets have 1,106 B, and the
    // first has 1,122 B. In this direction there are no ACKs, but three probes.
    let ports = [(3, 1), (3, 2), (4, 1), (4, 2), (5, 2), (5, 3), (6, 2), (6, 3)];
    let share = |(node, port): &(u32, u16)| {
        sent(*node, *port) - if [(4, 2), (6, 3)].contains(&(*node, *port)) { 3 * 84 } else { 0 }
    };
    assert!(
        ports.iter().all(|port| [16 * 1106, 16 * 1106 + 16].contains(&share(port))),
        "{:?}",
        ports.map(|port| share(&port))
    );
}

/// A probe passes five links and is charged to no buffer. Every switch on its path handles the
/// probe.
#[test]
fn a_switch_originates_packets_in_any_class_along_a_chosen_path() {
    let balancer = RouteCycling::default();
    let mut spec = three_tiers();
    spec.load_balance = LoadBalanceConfig::custom(balancer.clone());
    let (simulation, _) = run(&spec, vec![flow(0, 1, 1024, 0)]);
    assert_eq!(simulation.audit(), []);
    let (probed, received) = (balancer.probed.take(), balancer.received.take());
    assert_eq!(probed.len(), 3);
    assert_eq!((probed[1] - probed[0], probed[2] - probed[1]), (Duration::from_us(10), Duration::from_us(10)));
    for (number, start) in (0..).zip(probed) {
        let of_probe = received.iter().filter(|(.., notice)| notice.words[0] == number);
        let seen: Vec<_> = of_probe.map(|(at, node, _)| (at.ps() - start.ps(), node.0)).collect();
        let hop = 84 * 80 + 1_000_000;
        // The last route passes aggregation switch 4, core 6, aggregation switch 8, and the other
        // edge switch.
        assert_eq!(seen, [(hop, 4), (2 * hop, 6), (3 * hop, 8), (4 * hop, 9)]);
    }
}

// ---------------------------------------------------------- notices to hosts other than the sender

/// Congestion control whose switches send host 2 a notice about every data packet of flow 1, and
/// record occupancy and threshold of the packet's ingress queue.
#[derive(Clone, Debug, Default)]
struct NotifyHost2 {
    received: Log<FlowId>,
    ingress_queues: Log<[Option<u64>; 2]>,
    passed: Log<NodeId>,
}

struct NotifyingPoint(NotifyHost2, NodeId);
struct NotifiedSender(NotifyHost2, Rate);

congestion_control!(
    NotifyHost2,
    NotifyingPoint: |options, site| NotifyingPoint(options.clone(), site.node),
    NotifiedSender: |options, sender| NotifiedSender(options.clone(), sender.line_rate)
);

impl PipelineHooks for NotifyingPoint {
    fn hooks(&self) -> HookSet {
        HookSet::ENQUEUE | HookSet::NOTICE
    }

    fn on_notice(&mut self, _notice: &Notice, _view: &mut View<'_>) -> NoticeAction {
        self.0.passed.push(self.1);
        NoticeAction::Forward
    }

    fn on_enqueue(&mut self, packet: &mut PacketContext<'_>, _queue_bytes: u64, view: &mut View<'_>) {
        let Packet { flow, kind, .. } = *packet.headers();
        if (flow, kind) == (FlowId(1), PacketKind::Data) {
            self.0.ingress_queues.push([
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

impl ReactionPoint for NotifiedSender {
    fn rate(&mut self, _now: Time) -> Rate {
        self.1
    }

    fn on_notice(&mut self, _now: Time, notice: &Notice) {
        self.0.received.push(notice.flow);
    }
}

/// Flow 1 goes from h0 to h2, so it is in no table of senders at h2. h2 sends another flow, has
/// sent a flow, or never sends a flow.
#[test]
fn a_notice_at_a_receiver_reaches_no_reaction_point() {
    for (src, bytes) in [(2, 400_000), (2, 1), (1, 1)] {
        let control = NotifyHost2::default();
        let mut spec = star(3);
        spec.congestion = CongestionConfig::custom(control.clone());
        let flows = vec![flow(src, if src == 1 { 0 } else { 1 }, bytes, 0), flow(0, 2, 100_000, 0)];
        let (simulation, outcomes) = run(&spec, flows);
        assert!(outcomes.iter().all(|outcome| outcome.acknowledged.is_some()));
        assert_eq!((simulation.audit(), control.received.take().len()), (vec![], 0));
    }
}

/// The static threshold is 30 KB. The occupancy includes the packet that has just arrived, but not
/// the packet on the wire.
#[test]
fn a_congestion_point_can_read_occupancy_and_threshold_of_an_ingress_queue() {
    let control = NotifyHost2::default();
    let mut spec = star(3);
    let xoff = Bytes(30_000);
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff, ..Default::default() });
    spec.congestion = CongestionConfig::custom(control.clone());
    run(&spec, vec![flow(1, 0, 1, 0), flow(0, 2, 3 * 1024, 0)]);
    let charge = spec.framing.data(1024, false, 0).charge;
    let first = spec.framing.data(1024, true, 0).charge;
    assert_eq!(
        control.ingress_queues.take(),
        [first, charge, charge].map(|held| [Some(u64::from(held)), Some(30_000)])
    );
}

/// A notice to a server that relays is delivered to the server's congestion point. h0 and h2 of
/// BCube(2, 1) share a switch.
#[test]
fn a_notice_to_a_relay_is_delivered_there() {
    let control = NotifyHost2::default();
    let mut spec = bcube(2, 1);
    spec.host.relay.congestion_point = true;
    spec.congestion = CongestionConfig::custom(control.clone());
    run(&spec, vec![flow(1, 0, 1, 0), flow(0, 2, 3 * 1024, 0)]);
    assert_eq!(control.passed.take(), [NodeId(2); 3]);
}
