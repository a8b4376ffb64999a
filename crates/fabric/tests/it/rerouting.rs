//! Links fail, and routes are recomputed some time later.

use crate::prelude::*;
use backwater_fabric::contract::StartingFlow;
use backwater_fabric::frame::Direction;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

/// Returns h0 on leaf 2, h1 on leaf 3, spines 4 and 5, one flow, and leaf 2's port to the flow's
/// spine. The link from that spine to leaf 3 fails at 50 us.
fn two_spines(reconvergence_us: Option<u64>, up_us: Option<u64>) -> (NetworkSpec, FlowSpec, u16) {
    let mut spec = leaf_spine(2, 1, 2);
    spec.reconvergence = reconvergence_us.map(Duration::from_us);
    let flow = flow(0, 1, 4_000_000, 0);
    let fabric = Fabric::new(spec.clone()).unwrap();
    let PortIx(uplink) = fabric.path(FlowId(0), &flow, Direction::Data)[1];
    let up = up_us.map_or(Time::NEVER, at_us);
    // Leaf 2 has port 1 to spine 4 and port 2 to spine 5, whose links to leaf 3 are links 4 and 5.
    spec.faults = vec![LinkFault { link: 3 + usize::from(uplink), down: at_us(50), up }];
    (spec, flow, uplink)
}

/// Returns the bytes that leaf 2 has sent through a port.
fn by_uplink(simulation: &Simulation, port: u16) -> u64 {
    simulation.node(NodeId(2)).ports()[PortIx(port)].sent_wire_bytes()
}

/// Without reconvergence, packets wait for the link for ever. With reconvergence, packets take the
/// other path as soon as routes change. Packets at the dead port are dropped, counted, and
/// retransmitted.
#[test]
fn routes_change_after_the_reconvergence_time() {
    let (spec, flow, _) = two_spines(None, None);
    let mut simulation = Simulation::new(spec, vec![flow], 1).unwrap();
    simulation.run_until(Time::ZERO + Duration::from_ms(3), 1);
    assert_eq!((simulation.unfinished().len(), drops(&simulation, DropCause::LinkDown) > 0), (1, true));

    for shards in [1, 3] {
        let (spec, flow, uplink) = two_spines(Some(100), None);
        let other = 3 - uplink;
        let mut simulation = Simulation::new(spec, vec![flow], shards).unwrap();
        simulation.run_until(at_us(150), 1);
        assert_eq!(by_uplink(&simulation, other), 0);
        let waiting = drops(&simulation, DropCause::LinkDown);
        let spine = NodeId(3 + u32::from(uplink));
        let dead = &simulation.node(spine).ports()[PortIx(1)];
        let queued = dead.frames(QueueIx(3), simulation.frames(spine)).count() as u64;
        let leaf = NodeId(2);
        let uplink = &simulation.node(leaf).ports()[PortIx(uplink)];
        let behind = uplink.frames(QueueIx(3), simulation.frames(leaf)).count() as u64;
        assert!(queued > 10, "{queued} packets wait at the dead port");
        drain(&mut simulation);
        let dropped = drops(&simulation, DropCause::LinkDown) - waiting;
        // The dropped packets were queued at the spine or at the leaf, or were on the wires of the
        // old route (fewer than 40).
        assert!((queued + behind..queued + behind + 40).contains(&dropped), "{dropped} of {queued} and {behind}");
        assert!(by_uplink(&simulation, other) > 2_000_000);
        let outcome = &simulation.outcomes()[0];
        assert_eq!((outcome.reception.delivered, simulation.audit()), (4_000_000, vec![]));
        assert_eq!(outcome.reception.way.and_then(|way| way.passed().nth(1)), Some(PortIx(other)));
        assert!(simulation.is_quiet());
    }
}

/// After the link's recovery and the reconvergence time, routes are the original ones.
#[test]
fn routes_are_restored_after_the_links_recovery() {
    let (spec, flow, uplink) = two_spines(Some(20), Some(100));
    let later = FlowSpec { start: Time::ZERO + Duration::from_ms(1), ..flow.clone() };
    let before = Fabric::new(spec.clone()).unwrap().path(FlowId(1), &later, Direction::Data);
    let mut simulation = Simulation::new(spec, vec![flow, later.clone()], 1).unwrap();
    simulation.run_until(at_us(119), 1);
    assert_eq!(simulation.fabric().path(FlowId(0), &later, Direction::Data)[1], PortIx(3 - uplink));
    simulation.run_until(at_us(121), 1);
    assert_eq!(simulation.fabric().path(FlowId(0), &later, Direction::Data)[1], PortIx(uplink));
    assert_eq!(simulation.fabric().path(FlowId(1), &later, Direction::Data), before);
    drain(&mut simulation);
    assert_eq!((delivered(&simulation), simulation.audit()), (vec![4_000_000; 2], vec![]));
}

/// If no path is left, packets are dropped until the link recovers, and under every load balancer
/// all bytes are delivered in the end.
#[test]
fn without_a_path_packets_are_dropped_until_recovery() {
    for load_balance in LoadBalanceConfig::all() {
        let mut spec = chain(&[100, 100, 100], 1000);
        spec.load_balance = load_balance;
        spec.reconvergence = Some(Duration::from_us(10));
        spec.faults = vec![LinkFault { link: 1, down: at_us(20), up: at_us(500) }];
        let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 1_000_000, 0)]);
        assert_eq!((outcomes[0].reception.delivered, simulation.audit()), (1_000_000, vec![]));
        assert!(drops(&simulation, DropCause::LinkDown) > 100);
    }
}

/// The link of a server of BCube(2, 1) fails. The server's flow then uses the other port and
/// another relay.
#[test]
fn a_flow_leaves_its_host_by_another_port_when_its_link_fails() {
    let mut spec = bcube(2, 1);
    let flow = flow(0, 3, 4_000_000, 0);
    let PortIx(port) = Fabric::new(spec.clone()).unwrap().path(FlowId(0), &flow, Direction::Data)[0];
    spec.reconvergence = Some(Duration::from_us(30));
    // Links 0 to 3 are those of layer 0, in server order.
    let link = usize::from(port) * 4;
    spec.faults = vec![LinkFault { link, down: at_us(50), up: Time::NEVER }];
    let (simulation, outcomes) = run(&spec, vec![flow]);
    assert_eq!((outcomes[0].reception.delivered, simulation.audit()), (4_000_000, vec![]));
    let sent = simulation.node(NodeId(0)).ports()[PortIx(1 - port)].sent_wire_bytes();
    assert!(sent > 3_000_000, "{sent}");
}

/// The sender continues at its other port as soon as routes change, before its timer fires.
#[test]
fn a_flow_continues_at_once_at_another_port_of_its_host() {
    let (mut spec, flow) = (bcube(2, 1), flow(0, 3, 4_000_000, 0));
    let PortIx(port) = Fabric::new(spec.clone()).unwrap().path(FlowId(0), &flow, Direction::Data)[0];
    spec.reconvergence = Some(Duration::from_us(30));
    spec.faults = vec![LinkFault { link: usize::from(port) * 4, down: at_us(50), up: Time::NEVER }];
    let mut simulation = Simulation::new(spec, vec![flow], 1).unwrap();
    let sent = |simulation: &Simulation| simulation.node(NodeId(0)).ports()[PortIx(1 - port)].sent_wire_bytes();
    simulation.run_until(at_us(80), 1);
    assert_eq!(sent(&simulation), 0);
    simulation.run_until(at_us(81), 1);
    assert!(sent(&simulation) > 10_000, "a microsecond at 100 Gb/s is 12.5 kB");
}

/// After a failure of the link that ACKs use, the receiver sends ACKs through another port.
#[test]
fn acks_leave_the_receiver_by_another_port_when_their_link_fails() {
    let mut spec = bcube(2, 1);
    let flows: Vec<_> = (0..16).map(|_| flow(0, 3, 1_000_000, 0)).collect();
    let fabric = Fabric::new(spec.clone()).unwrap();
    let answers_by = |flow: &u32| fabric.path(FlowId(*flow), &flows[0], Direction::Ack)[0];
    let data_by = |flow: &u32| fabric.path(FlowId(*flow), &flows[0], Direction::Data)[0];
    // Data that leaves h0 in one layer reaches h3 in the other layer, so neither end of the flow's
    // data is at the dead link.
    let apart = (0..16)
        .find(|flow| answers_by(flow) == data_by(flow))
        .expect("some of 16 flows have ACKs on a path of their own");
    spec.reconvergence = Some(Duration::from_us(30));
    let link = usize::from(answers_by(&apart).0) * 4 + 3;
    spec.faults = vec![LinkFault { link, down: at_us(20), up: Time::NEVER }];
    let mut simulation = Simulation::new(spec, flows.clone(), 1).unwrap();
    simulation.run_until(Time::ZERO + Duration::from_ms(100), 1);
    assert!(simulation.outcomes().iter().all(|outcome| outcome.acknowledged.is_some()), "{:?}", simulation.totals());
    assert_eq!((simulation.unfinished().len(), simulation.audit()), (0, vec![]));
}

/// Flow control that records the ports at which flows start and end.
#[derive(Clone, Debug, Default)]
struct FlowLog(Log<Entry>);

type Entry = (&'static str, u16, u16);

impl FlowControl for FlowLog {
    fn on_flow_start(&mut self, flow: StartingFlow<'_>, _view: &mut View<'_>) -> QueueIx {
        let queue = QueueIx::of(flow.class);
        self.0.push(("start", flow.port.0, queue.0));
        queue
    }

    fn on_flow_end(&mut self, _flow: FlowId, port: PortIx, queue: QueueIx, _view: &mut View<'_>) {
        self.0.push(("end", port.0, queue.0));
    }
}

flow_control!(FlowLog, FlowLog: |options, _site| options.clone());

/// Flow control is first notified that a flow has left a port, and then that the flow uses another
/// port.
#[test]
fn flow_control_is_notified_when_a_flow_changes_its_port() {
    let (mut spec, flow, log) = (bcube(2, 1), flow(0, 3, 1_000_000, 0), FlowLog::default());
    let PortIx(port) = Fabric::new(spec.clone()).unwrap().path(FlowId(0), &flow, Direction::Data)[0];
    spec.switch.flow_control = FlowControlConfig::custom(log.clone());
    spec.reconvergence = Some(Duration::from_us(10));
    let down = at_us(20);
    spec.faults = vec![LinkFault { link: usize::from(port) * 4, down, up: Time::NEVER }];
    let (simulation, _) = run(&spec, vec![flow]);
    assert_eq!((simulation.unfinished().len(), simulation.audit()), (0, vec![]));
    let changes = [("start", port, 3), ("end", port, 3), ("start", 1 - port, 3), ("end", 1 - port, 3)];
    assert_eq!(log.0.take(), changes);
}

/// Returns hosts h0 to h5 with links to both switches 8 and 9. These switches have links to switch
/// 10, and slower links to h6 and h7.
fn two_links_each() -> NetworkSpec {
    let access = (0..6).flat_map(|host| [(host, 8), (host, 9)]);
    let mut spec = linked(8, 3, access.chain([(8, 10), (9, 10), (10, 6), (10, 7)]));
    for link in &mut spec.links[14..] {
        link.rate = Rate::from_gbps(40);
    }
    spec
}

/// All state about flows and queues is released at hosts whose flows change ports and at switches
/// that drop waiting packets.
#[test]
fn every_flow_control_releases_the_state_of_a_dead_port() {
    for flow_control in FlowControlConfig::all() {
        // Link 0 belongs to a host, and link 12 connects two switches.
        for link in [0, 12] {
            let name = flow_control.name();
            let mut spec = two_links_each();
            spec.switch.flow_control = flow_control.clone();
            if spec.switch.flow_control.facts(false).bounds_queues {
                spec.switch.headroom = HeadroomConfig::Static(Default::default());
                spec.switch.lossless = Vec::new();
            }
            if !common::applies(&spec) {
                continue;
            }
            spec.reconvergence = Some(Duration::from_us(40));
            spec.faults = vec![LinkFault { link, down: at_us(60), up: at_us(20_000) }];
            let incast = (0..6).flat_map(|src| [6, 7].map(|dst| flow(src, dst, 400_000, u64::from(src) * 500)));
            let (simulation, outcomes) = run(&spec, incast.collect());
            assert!(outcomes.len() == 12 && all_delivered(&outcomes), "{name}, link {link}");
            assert_eq!((simulation.audit(), simulation.is_quiet()), (vec![], true), "{name}, link {link}");
            assert!(drops(&simulation, DropCause::LinkDown) > 0, "{name}, link {link}");
        }
    }
}

/// Three leaves with three hosts each and two spines run Pyrrha. The link between the third leaf
/// and the second spine is down from 100 us to 300 us. Isolation queues for this link then hold
/// packets, some of which wait for other queues. All these packets are dropped, and every table is
/// empty in the end.
#[test]
fn pyrrha_drops_the_packets_of_a_dead_port_in_all_its_queues() {
    let strategy = prop::collection::vec((0u32..9, 0u32..9, 10_000u64..400_000, 0u64..100_000), 40);
    let mut runner = TestRunner::deterministic();
    for case in 0..60 {
        let mut spec = leaf_spine(3, 3, 2);
        spec.switch.flow_control = FlowControlConfig::all().into_iter().find(|kind| kind.name() == "pyrrha").unwrap();
        spec.reconvergence = Some(Duration::from_us(20));
        spec.faults = vec![LinkFault { link: 14, down: at_us(100), up: at_us(300) }];
        let drawn = strategy.new_tree(&mut runner).unwrap().current();
        let destination = |src, dst| if src == dst { (dst + 3) % 9 } else { dst };
        let flows = drawn.into_iter().map(|(src, dst, bytes, at)| flow(src, destination(src, dst), bytes, at));
        let (simulation, outcomes) = run(&spec, sorted(flows));
        assert!(all_delivered(&outcomes), "{case}");
        assert_eq!((simulation.audit(), simulation.is_quiet()), (vec![], true), "{case}");
    }
}

/// Frames on the wire are lost at the second failure of a link as well as at the first.
#[test]
fn a_link_that_fails_again_loses_frames_on_the_wire() {
    let mut spec = chain(&[100, 100], 5000);
    spec.faults = [(20, 30), (60, 70)].map(|(down, up)| LinkFault { link: 1, down: at_us(down), up: at_us(up) }).into();
    let mut simulation = Simulation::new(spec, vec![flow(0, 1, 4_000_000, 0)], 1).unwrap();
    for down in [20, 60] {
        simulation.run_until(at_us(down) + Duration::from_ps(1), 1);
        let lost = |simulation: &Simulation| drops(simulation, DropCause::LinkDown);
        let before = (lost(&simulation), simulation.outcomes()[0].reception.delivered);
        simulation.run_until(at_us(down + 9), 1);
        let (now, delivered) = (lost(&simulation), simulation.outcomes()[0].reception.delivered);
        // In 5 us at 100 Gb/s, a link carries 62.5 kB: 56 packets of 1106 B. If packets arrive in
        // order, as many ACKs are on the link.
        assert!((50..120).contains(&(now - before.0)) && delivered == before.1, "{down} us: {now} {before:?}");
    }
}

/// Returns BCube(3, 1) with a flow between any two servers. The link between h1 and a switch of
/// layer 0 fails at 20 us.
fn all_to_all(bytes: u64, reconvergence: Duration) -> (NetworkSpec, Vec<FlowSpec>) {
    let mut spec = NetworkSpec { reconvergence: Some(reconvergence), ..bcube(3, 1) };
    let down = at_us(20);
    spec.faults = vec![LinkFault { link: 1, down, up: Time::NEVER }];
    let pairs = (0..9).flat_map(|src| (0..9).filter(move |dst| *dst != src).map(move |dst| (src, dst)));
    (spec, pairs.map(|(src, dst)| flow(src, dst, bytes, 0)).collect())
}

/// Packets and PAUSEs that nodes send when routes change arrive on time, even if the neighbour is
/// in another shard.
#[test]
fn new_routes_are_the_same_with_any_number_of_shards() {
    for reconvergence_ns in [0, 500, 20_000] {
        let results = [1, 2, 3, 5].map(|shards| {
            let (spec, flows) = all_to_all(40_000, Duration::from_ns(reconvergence_ns));
            let (simulation, outcomes) = common::run_shards(&spec, flows, shards);
            assert_eq!((simulation.unfinished().len(), simulation.audit()), (0, vec![]));
            assert!(drops(&simulation, DropCause::LinkDown) > 0 && simulation.is_quiet());
            let finished: Vec<_> = outcomes.iter().map(|outcome| outcome.reception.finish).collect();
            (simulation.fingerprint(), finished)
        });
        assert!(results.iter().all(|result| *result == results[0]), "{reconvergence_ns} ns");
    }
}

/// A flow that leaves a port before its departure time is no longer scheduled there.
#[test]
fn paced_flows_change_their_ports() {
    for link in [0, 9, 12] {
        for reconvergence in [1, 100_000, 10_000_000].map(Duration::from_ps) {
            let (mut spec, flows) = all_to_all(500_000, reconvergence);
            spec.faults[0] = LinkFault { link, down: at_us(50), up: Time::NEVER };
            spec.congestion = CongestionConfig::Hpcc(Default::default());
            let (simulation, outcomes) = run(&spec, flows);
            assert_eq!((simulation.unfinished().len(), simulation.audit()), (0, vec![]));
            assert!(all_delivered(&outcomes));
        }
    }
}

/// The network has h0 on leaf 2, h1 on leaf 3, and spines 4 to 6. A flow is pinned to spine 5,
/// whose link to leaf 2 is down from 100 to 120 us. Packets wait for that link even if another link
/// fails. Routes change 50 us after each failure, and by then the first link has recovered.
#[test]
fn packets_wait_for_their_link_despite_another_links_failure() {
    let lost = |other: Option<u64>| {
        let mut spec = leaf_spine(2, 1, 3);
        spec.reconvergence = Some(Duration::from_us(50));
        spec.faults = vec![LinkFault { link: 3, down: at_us(100), up: at_us(120) }];
        spec.faults.extend(other.map(|us| LinkFault { link: 2, down: at_us(us), up: Time::NEVER }));
        let pinned = flow(0, 1, 4_000_000, 0).via(vec![NodeId(5)], vec![NodeId(6)]);
        let mut simulation = Simulation::new(spec, vec![pinned], 1).unwrap();
        simulation.run_until(at_us(119), 1);
        let waiting = &simulation.node(NodeId(2)).ports()[PortIx(2)];
        assert!(waiting.frames(QueueIx(3), simulation.frames(NodeId(2))).count() > 100);
        let drops = drops(&simulation, DropCause::LinkDown);
        drain(&mut simulation);
        assert_eq!((simulation.outcomes()[0].reception.delivered, simulation.audit()), (4_000_000, vec![]));
        drops
    };
    // Only frames on the wire are lost.
    let alone = lost(None);
    assert!((1..20).contains(&alone), "{alone}");
    assert_eq!([lost(Some(20)), lost(Some(60))], [alone; 2]);
}

/// Flow control is notified when a flow takes another path behind the same port, because the flow
/// control's state about later ports belongs to the old path.
#[test]
fn flow_control_is_notified_when_a_path_changes_behind_the_same_port() {
    let log = FlowLog::default();
    let (mut spec, flow, _) = two_spines(Some(20), None);
    spec.switch.flow_control = FlowControlConfig::custom(log.clone());
    let (simulation, outcomes) = run(&spec, vec![flow]);
    assert_eq!((outcomes[0].reception.delivered, simulation.audit()), (4_000_000, vec![]));
    assert_eq!(log.0.take(), [("start", 0, 3), ("end", 0, 3), ("start", 0, 3), ("end", 0, 3)]);
}

/// Packets dropped at a dead port are reported as lost at their ingress port, like packets that are
/// not admitted. At the spine this is port 0, to leaf 2.
#[test]
fn packets_at_a_dead_port_are_reported_lost_at_their_ingress_port() {
    let (spec, flow, uplink) = two_spines(Some(100), None);
    let spine = NodeId(3 + u32::from(uplink));
    let mut simulation = Simulation::new(spec, vec![flow], 1).unwrap();
    simulation.watch_trace(&TraceSpec::ALL);
    simulation.run_until(at_us(150), 1);
    let waiting = simulation.node(spine).ports()[PortIx(1)].frames(QueueIx(3), simulation.frames(spine)).count();
    let ingress = simulation.node(spine).ports()[PortIx(0)].id;
    simulation.run_until(at_us(151), 1);
    let ingress_of = |traced: Traced| match traced.what {
        TracedAction::Reported(Report::Dropped { node, ingress, cause: DropCause::LinkDown, .. })
            if node == spine && traced.at == at_us(150) =>
        {
            Some(ingress)
        }
        _ => None,
    };
    let lost: Vec<_> = simulation.take_trace().into_iter().filter_map(ingress_of).collect();
    assert!(waiting > 10);
    assert_eq!(lost, vec![ingress; waiting]);
}

/// h0 and h1 have links to both switches 2 and 3. Data is pinned to switch 2 and ACKs to switch 3,
/// whose link to h1 fails at 10 us. When routes change at 20 us, h1's ACK for that port is dropped.
/// The ACK does not wait until the link recovers at 300 us.
#[test]
fn an_ack_for_a_dead_port_is_dropped() {
    let mut spec = linked(2, 2, [(0, 2), (0, 3), (1, 2), (1, 3)]);
    spec.reconvergence = Some(Duration::from_us(10));
    spec.faults = vec![LinkFault { link: 3, down: at_us(10), up: at_us(300) }];
    let pinned = flow(0, 1, 1024, 100_000).via(vec![NodeId(2)], vec![NodeId(3)]);
    let mut simulation = Simulation::new(spec, vec![pinned], 1).unwrap();
    // Both ways pass two links of 1 us, with a frame of 1122 B forward and of 86 B back.
    let (there, back) = (2 * (1_000_000 + 1122 * 80), 2 * (1_000_000 + 86 * 80));
    simulation.run_until(at_us(200), 1);
    assert_eq!(simulation.outcomes()[0].reception.finish, Some(at_us(100) + Duration::from_ps(there)));
    let lost = |simulation: &Simulation| simulation.node(NodeId(1)).losses().frames[DropCause::LinkDown as usize];
    assert_eq!((lost(&simulation), simulation.node(NodeId(1)).ports()[PortIx(1)].is_empty()), (1, true));
    drain(&mut simulation);
    // The sender's timer of 4 ms repeats the packet, and the second ACK passes the recovered link.
    assert_eq!(simulation.outcomes()[0].acknowledged, Some(at_us(4100) + Duration::from_ps(there + back)));
    assert_eq!((lost(&simulation), simulation.audit()), (1, vec![]));
}

/// Flow control that closes class 3 at one port of h0 from 60 to 70 us.
#[derive(Clone, Debug)]
struct ClosedGate(PortIx);

struct ClosedGateAt(NodeId, PortIx);

flow_control!(ClosedGate, ClosedGateAt: |options, site| ClosedGateAt(site.node, options.0));

impl FlowControl for ClosedGateAt {
    fn on_flow_start(&mut self, flow: StartingFlow<'_>, view: &mut View<'_>) -> QueueIx {
        if view.now < at_us(60) {
            view.wake_at(at_us(60));
        }
        QueueIx::of(flow.class)
    }

    fn on_wake(&mut self, view: &mut View<'_>) {
        let ClosedGateAt(node, port) = *self;
        if node == NodeId(0) && view.now < at_us(70) {
            view.close(port, QueueIx(3), view.port(port).id());
            view.wake_at(at_us(70));
        } else {
            view.open(port, QueueIx(3));
        }
    }
}

/// A flow starts at 55 us at a port whose link is down, and moves to the other port at 80 us. The
/// gate of the other port was closed until 70 us, so it delayed no packet of the flow.
#[test]
fn a_gate_closed_before_a_flows_arrival_did_not_delay_it() {
    let (mut spec, flow) = (bcube(2, 1), flow(0, 3, 100_000, 55_000));
    let PortIx(port) = Fabric::new(spec.clone()).unwrap().path(FlowId(0), &flow, Direction::Data)[0];
    spec.switch.flow_control = FlowControlConfig::custom(ClosedGate(PortIx(1 - port)));
    spec.reconvergence = Some(Duration::from_us(30));
    spec.faults = vec![LinkFault { link: usize::from(port) * 4, down: at_us(50), up: Time::NEVER }];
    let (mut simulation, outcomes) = run(&spec, vec![flow]);
    let reception = &outcomes[0].reception;
    assert_eq!((reception.delivered, reception.paused, simulation.audit()), (100_000, Duration::ZERO, vec![]));
    // The gate was closed from 60 to 70 us, and all packets left through its port.
    let closures: Vec<_> = simulation.take_pauses().into_iter().map(|pause| pause.closure).collect();
    assert_eq!(closures.iter().map(|it| (it.from, it.to)).collect::<Vec<_>>(), [(at_us(60), at_us(70))]);
    assert!(simulation.node(NodeId(0)).ports()[PortIx(1 - port)].sent_wire_bytes() > 100_000);
}

/// Returns h0 to h3 on leaf 8, h4 to h7 on leaf 9, and spines 10 to 13.
fn four_spines() -> NetworkSpec {
    NetworkSpec { recovery: RecoveryConfig::InAnyOrder(Default::default()), ..leaf_spine(2, 4, 4) }
}

/// Returns leaf, port and time of packets that joined the queue of a leaf's dead uplink while
/// another uplink was up. Notices do not count, because they return along the path of their packet.
fn put_behind_dead_links(spec: &NetworkSpec, flows: Vec<FlowSpec>) -> Vec<(NodeId, PortIx, Time)> {
    let (simulation, trace) = run_traced(spec, flows);
    assert_eq!((simulation.unfinished().len(), simulation.audit()), (0, vec![]));
    let is_down = |link: usize, at: Time| {
        let mut faults = spec.faults.iter().filter(|fault| fault.link == link);
        faults.any(|fault| fault.down <= at && at < fault.up)
    };
    let misplaced = |traced: Traced| {
        let TracedAction::Reported(Report::Enqueued { port, kind, .. }) = traced.what else { return None };
        if kind == PacketKind::Notice {
            return None;
        }
        let facts = &simulation.fabric().wiring.ports[port];
        let leaf = facts.node.0.checked_sub(8).filter(|leaf| *leaf < 2)? as usize;
        let uplink = usize::from(facts.ix.0).checked_sub(4)?;
        let uplinks = 8 + 4 * leaf..12 + 4 * leaf;
        let is_wrong =
            is_down(uplinks.start + uplink, traced.at) && !uplinks.into_iter().all(|it| is_down(it, traced.at));
        is_wrong.then_some((facts.node, facts.ix, traced.at))
    };
    trace.into_iter().filter_map(misplaced).collect()
}

/// Flows under ECMP wait for their link; all other load balancers use another port.
#[test]
fn only_ecmp_enqueues_packets_at_a_dead_uplink() {
    for load_balance in LoadBalanceConfig::all() {
        let is_ecmp = load_balance.name() == "ecmp";
        let mut spec = NetworkSpec { load_balance, ..four_spines() };
        spec.faults = (8..11).map(|link| LinkFault { link, down: at_us(20), up: at_us(60) }).collect();
        let flows = (0..8).map(|host| flow(host, (host + 4) % 8, 500_000, 0)).collect();
        let misplaced = put_behind_dead_links(&spec, flows);
        assert_eq!(misplaced.is_empty(), !is_ecmp, "{}: {misplaced:?}", spec.load_balance.name());
    }
}

proptest! {
    #![proptest_config(common::cases(60))]

    /// Links fail and recover at random times.
    #[test]
    fn no_packet_is_enqueued_at_a_dead_uplink_while_another_is_up(
        load_balance in prop::sample::select(LoadBalanceConfig::all()),
        faults in prop::collection::btree_map(8usize..16, (0u64..60_000, 1u64..60_000), 1..8),
        ends in prop::collection::vec((0u32..8, 1u32..8, 1u64..200_000, 0u64..60_000), 1..20),
    ) {
        prop_assume!(load_balance.name() != "ecmp");
        let mut spec = NetworkSpec { load_balance, ..four_spines() };
        let fault = |(link, (down, length))| LinkFault { link, down: at_ns(down), up: at_ns(down + length) };
        spec.faults = faults.into_iter().map(fault).collect();
        prop_assert_eq!(put_behind_dead_links(&spec, flows_ahead(8, ends)), []);
    }
}
