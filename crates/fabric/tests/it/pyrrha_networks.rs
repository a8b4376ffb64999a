//! Pyrrha in small networks: figures of the paper that can be computed by hand, and rings in which
//! other flow controls have deadlocks.

use crate::prelude::*;
use crate::pyrrha::{DELAY_NS, with_delay};
use backwater_fabric::mechanisms::flow_control::AnyFlowControl;
use backwater_fabric::mechanisms::flow_control::pyrrha::{Feed, MergePolicy};
use backwater_fabric::mechanisms::recovery::RecoveryConfig::GoBackN;

/// Returns a network with PFC and its thresholds, or with per-hop flow control and a fully shared
/// buffer.
fn with(mut spec: NetworkSpec, flow_control: FlowControlConfig) -> NetworkSpec {
    spec.mtu = Bytes(1460);
    spec.switch.buffer = Bytes(20 << 20);
    match &flow_control {
        FlowControlConfig::Pfc(_) => {
            let (xoff, xon) = (Bytes(100_000), Some(Bytes(97_000)));
            spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff, xon, headroom: None });
        }
        _ => spec.switch.lossless = Vec::new(),
    }
    spec.switch.flow_control = flow_control;
    spec
}

fn pfc() -> FlowControlConfig {
    FlowControlConfig::Pfc(Default::default())
}

fn bfc(queues: u16) -> FlowControlConfig {
    FlowControlConfig::Bfc(BfcConfig { queues, ..Default::default() })
}

fn per_flow() -> FlowControlConfig {
    FlowControlConfig::PerFlow(PerFlowConfig {})
}

fn pyrrha(config: PyrrhaConfig) -> FlowControlConfig {
    FlowControlConfig::Pyrrha(config)
}

fn endless(src: u32, dst: u32, start_ns: u64) -> FlowSpec {
    flow(src, dst, FlowSpec::ENDLESS, start_ns)
}

/// Returns the payload bytes delivered of every flow, by source.
fn delivered(simulation: &Simulation) -> BTreeMap<u32, u64> {
    let fabric = simulation.fabric();
    let reception = |flow: &backwater_fabric::network::flows::Flow| {
        let receiver = simulation.node(flow.spec.dst).endpoint().expect("flows end at hosts");
        receiver.reception(flow).map_or(0, |reception| reception.delivered)
    };
    fabric.flows.iter().map(|(_, flow)| (flow.spec.src.0, reception(&flow))).collect()
}

/// Returns the rates of flows between two instants, in Gb/s of frames on the wire, by source.
fn wire_rates(simulation: &mut Simulation, from_us: u64, to_us: u64) -> BTreeMap<u32, f64> {
    simulation.run_until(at_us(from_us), 1);
    let before = delivered(simulation);
    simulation.run_until(at_us(to_us), 1);
    let fabric = simulation.fabric();
    let frame = f64::from(fabric.spec.framing.data(1460, false, fabric.telemetry_bytes).wire) / 1460.0;
    let rate = |bytes: u64| bytes as f64 * frame * 8.0 / ((to_us - from_us) as f64 * 1e3);
    delivered(simulation).into_iter().map(|(src, bytes)| (src, rate(bytes - before[&src]))).collect()
}

/// Returns the port from one node to another.
fn port(simulation: &Simulation, node: u32, peer: u32) -> PortId {
    let wiring = &simulation.fabric().wiring;
    let mut ports = wiring.ports_of(NodeId(node)).iter();
    ports.find(|port| wiring.peer(port) == NodeId(peer)).expect("they are linked").id
}

fn own_roots(simulation: &Simulation) -> BTreeSet<PortId> {
    switches(simulation).flat_map(crate::pyrrha::own_roots).collect()
}

/// Returns port and root of each isolation queue.
fn isolated(simulation: &Simulation) -> BTreeSet<(PortId, PortId)> {
    let mut queues = BTreeSet::new();
    for node in switches(simulation) {
        let isolated = crate::pyrrha::isolated(node).into_iter();
        queues.extend(isolated.map(|queue| (node.ports()[queue.port].id, queue.root)));
    }
    queues
}

fn switches(simulation: &Simulation) -> impl Iterator<Item = &Node> {
    simulation.nodes().filter(|node| matches!(node.flow_control(), AnyFlowControl::Pyrrha(_)))
}

// --------------------------------------------------------------------------------------- Figure 10

/// Returns three ToRs (6, 7, 8) with two hosts each, and two cores (9, 10), with 100 Gb/s on all
/// links. S1 (0) sends to R1 (4) through core 9. S2 (2) sends to R1, and VS (3) sends to VR (5),
/// both through core 10 and its port to ToR 8.
fn testbed(flow_control: FlowControlConfig) -> Simulation {
    let spec = with_delay(leaf_spine(3, 2, 2));
    let via = |core: u32, from: u32| vec![NodeId(from), NodeId(core), NodeId(8)];
    let flows = [(0, 4, 9, 6, 0), (2, 4, 10, 7, 100_000), (3, 5, 10, 7, 200_000)];
    let flows = flows.map(|(src, dst, core, tor, start)| endless(src, dst, start).via(via(core, tor), vec![]));
    Simulation::new(with(spec, flow_control), flows.to_vec(), 1).expect("the network is valid")
}

/// Returns the rates of S1, S2 and VS while all three send.
fn testbed_rates(flow_control: FlowControlConfig) -> [f64; 3] {
    let rates = wire_rates(&mut testbed(flow_control), 1000, 3000);
    [rates[&0], rates[&2], rates[&3]]
}

#[test]
fn in_the_testbed_the_incast_keeps_its_link_and_the_vulnerable_flow_its_share() {
    let config = |organisation, feed| PyrrhaConfig { organisation, feed, ..Default::default() };
    // In the hierarchical organisation, packets that leave isolation queues join the ordinary
    // queue, and S2 and VS get the same rate. If all queues share the wire equally, as in the
    // switch of the paper's testbed, VS gets twice the rate of S2, as in Figure 10 (66.7 Gb/s).
    for (config, expected) in [
        (config(Organisation::Hierarchical, Feed::LineRate), 47.0..52.0),
        (config(Organisation::Hierarchical, Feed::EveryQueue), 47.0..52.0),
        (config(Organisation::SingleTier, Feed::LineRate), 60.0..67.0),
    ] {
        let [s1, s2, vs] = testbed_rates(pyrrha(config.clone()));
        assert!(s1 + s2 > 98.0 && s2 + vs > 94.0, "{config:?}: S1 {s1:.1}, S2 {s2:.1}, VS {vs:.1}");
        assert!(expected.contains(&vs), "{config:?}: S1 {s1:.1}, S2 {s2:.1}, VS {vs:.1}");
    }
    for (name, flow_control) in [("PFC", pfc()), ("BFC", bfc(32)), ("per flow", per_flow())] {
        let [s1, s2, vs] = testbed_rates(flow_control);
        assert!(s1 + s2 > 75.0, "{name}: S1 {s1:.1}, S2 {s2:.1}, VS {vs:.1}");
    }
}

// ---------------------------------------------------------------------------------------- Figure 4

/// Returns S1 and S2 (0, 1) and VS (5) on switch 8, S3 (2) on switch 9, and S4 and S5 (3, 4) on
/// switch 10. Each switch has one link, P1 to P3, to switch 11, where R1 (6) and VR (7) are. P5 is
/// the port to R1. The link of VS has 25 Gb/s, all other links have 100 Gb/s. S1, S2 and S3 send
/// `bytes` each.
fn tree(bytes: u64) -> Simulation {
    let ends = [(0, 8), (1, 8), (5, 8), (2, 9), (3, 10), (4, 10), (8, 11), (9, 11), (10, 11), (6, 11), (7, 11)];
    let mut spec = with_delay(linked(8, 4, ends));
    spec.links[2].rate = Rate::from_gbps(25);
    let mut flows: Vec<FlowSpec> = (0..3).map(|src| flow(src, 6, bytes, 0)).collect();
    flows.extend([endless(3, 6, 0), endless(4, 6, 0), endless(5, 7, 0)]);
    // All switches are at the same distance from hosts.
    let flow_control = pyrrha(PyrrhaConfig { merge: MergePolicy::Any, ..Default::default() });
    Simulation::new(with(spec, flow_control), flows, 1).expect("the network is valid")
}

#[test]
fn a_congestion_tree_has_one_root_and_spares_the_vulnerable_flow() {
    let mut simulation = tree(FlowSpec::ENDLESS);
    let p5 = port(&simulation, 11, 6);
    let [p1, p2, p3] = [8, 9, 10].map(|switch| port(&simulation, switch, 11));
    simulation.run_until(at_us(100), 1);
    let (mut roots, mut queues) = (BTreeSet::new(), BTreeSet::new());
    for us in 100..1000 {
        simulation.run_until(at_us(us), 1);
        roots.extend(own_roots(&simulation));
        queues.extend(isolated(&simulation));
    }
    // P3 carries the traffic of S4 and S5, which exceeds the rate of P3's link. P3 is therefore a
    // root, too, besides P5.
    assert!(roots.contains(&p5) && !roots.contains(&p1) && !roots.contains(&p2));
    assert!(queues.is_superset(&BTreeSet::from([(p1, p5), (p2, p5), (p3, p5)])));
    let rates = wire_rates(&mut simulation, 1000, 2000);
    assert!(rates[&5] > 24.9, "VS keeps its rate: {rates:?}");
    let incast: f64 = (0..5).map(|src| rates[&src]).sum();
    assert!(incast > 98.0, "R1's link is full: {incast}");
}

/// After the end of the first three flows, the traffic of S4 and S5 exceeds the link of P3, but no
/// longer that of P5. The root moves to P3, and no packet of a flow is overtaken.
#[test]
fn the_root_moves_with_the_traffic() {
    let mut simulation = tree(500_000);
    let (p5, p3) = (port(&simulation, 11, 6), port(&simulation, 10, 11));
    simulation.run_until(at_us(50), 1);
    assert!(own_roots(&simulation).contains(&p5));
    simulation.run_until(at_us(600), 1);
    let (mut roots, mut queues) = (BTreeSet::new(), BTreeSet::new());
    for us in 600..800 {
        simulation.run_until(at_us(us), 1);
        roots.extend(own_roots(&simulation));
        queues.extend(isolated(&simulation));
    }
    assert_eq!((roots, queues), (BTreeSet::from([p3]), BTreeSet::new()));
    let source = |node| simulation.node(node).endpoint().expect("a host");
    let retransmitted = simulation.fabric().flows.iter().map(|(_, flow)| source(flow.spec.src).retransmitted(&flow));
    assert_eq!(retransmitted.sum::<u64>(), 0);
    assert!(simulation.take_finished().iter().all(|outcome| outcome.retransmitted == 0));
}

// ------------------------------------------------------------------------------ end of an incast

/// A single 8:1 incast of finite size runs in a star and across a spine. After the incast no state
/// is left, as the audit checks. If no root gives up, there are as many RESUMEs as PAUSEs.
#[test]
fn after_an_incast_nothing_is_left() {
    let star = star_of(9, 100, DELAY_NS);
    let mut spine = NetworkSpec::with_nodes(9, 4);
    let hosts = (0..9).map(|host| (host, 9 + host / 3, 100));
    spine.links =
        hosts.chain((9..12).map(|tor| (tor, 12, 400))).map(|(a, b, gbps)| link(a, b, gbps, DELAY_NS)).collect();
    for (spec, is_star) in [(star, true), (spine, false)] {
        for flow_control in [pyrrha(PyrrhaConfig::default()), bfc(4), per_flow()] {
            let flows: Vec<FlowSpec> = (0..8).map(|src| flow(src, 8, 1_000_000, 0)).collect();
            let (simulation, outcomes) = run(&with(spec.clone(), flow_control.clone()), flows);
            let totals = simulation.totals();
            assert!(outcomes.iter().all(|outcome| outcome.retransmitted == 0 && outcome.acknowledged.is_some()));
            assert_eq!(simulation.audit(), [], "{}", flow_control.name());
            assert!(totals.pause_frames > 0);
            let is_balanced = totals.pause_frames == totals.resume_frames;
            assert!(is_balanced || !is_star && flow_control.name() == "pyrrha", "{totals:?}");
        }
    }
}

// ------------------------------------------------------------------------------- Figures 12 and 13

const A: u32 = 6;
const B: u32 = 7;
const C: u32 = 8;

/// Returns a ring of three switches A, B and C, with a sender (0, 1, 2) and a receiver (3, 4, 5) at
/// each switch.
fn ring() -> NetworkSpec {
    let hosts = (0..6).map(|host| (host, A + host % 3));
    with_delay(linked(6, 3, hosts.chain([(A, B), (B, C), (C, A)])))
}

/// Returns the flows of Figure 13: F1 passes ports A1, B1 and C2, F2 passes B1, C1 and A2, and F3
/// passes C1, A1 and B2. C1 is congested first.
fn three_flows(flow_control: FlowControlConfig) -> Simulation {
    let flows = [(1, 3, [B, C, A], 0), (2, 4, [C, A, B], 0), (0, 5, [A, B, C], 20_000)];
    let flows = flows.map(|(src, dst, way, start)| {
        let back = way.iter().rev().copied().map(NodeId).collect();
        endless(src, dst, start).via(way.map(NodeId).to_vec(), back)
    });
    Simulation::new(with(ring(), flow_control), flows.to_vec(), 1).expect("the network is valid")
}

/// Returns the flow of Figure 12: a routing loop sends packets from host 0 to host 3 round A1, B1,
/// C1, A1 and so on. The link from C to A is the slowest, so C1 is congested first.
fn one_flow(flow_control: FlowControlConfig, bytes: u64) -> Simulation {
    let mut spec = with(ring(), flow_control);
    spec.links[8].rate = Rate::from_gbps(40);
    let next = [(A, B), (B, C), (C, A)];
    spec.routes = next.map(|(node, next)| RouteSpec { node: NodeId(node), to: NodeId(3), next: NodeId(next) }).to_vec();
    let GoBackN(recovery) = &mut spec.recovery else { panic!("the default is Go-Back-N") };
    recovery.timeout = Duration::ZERO;
    Simulation::new(spec, vec![flow(0, 3, bytes, 0)], 1).expect("the network is valid")
}

/// Returns the deadlock found within a millisecond by a check every 10 us.
fn search(simulation: &mut Simulation) -> Option<Deadlock> {
    find_deadlock(simulation, 10, 1000)
}

/// Returns the ports of the deadlock's cycle.
fn cycle(simulation: &mut Simulation) -> Option<BTreeSet<PortId>> {
    search(simulation).map(|deadlock| deadlock.cycle.iter().map(|(port, _)| *port).collect())
}

/// Returns A1, B1 and C1.
fn ring_ports(simulation: &Simulation) -> [PortId; 3] {
    [port(simulation, A, B), port(simulation, B, C), port(simulation, C, A)]
}

#[test]
fn a_routing_loop_deadlocks_pfc_bfc_and_per_flow_queues_but_not_pyrrha() {
    for flow_control in [pfc(), bfc(32), per_flow()] {
        let mut simulation = one_flow(flow_control.clone(), 10_000_000);
        let expected = ring_ports(&simulation).into_iter().collect();
        assert_eq!(cycle(&mut simulation), Some(expected), "{}", flow_control.name());
    }
    let mut simulation = one_flow(pyrrha(PyrrhaConfig::default()), 10_000_000);
    let [a1, b1, c1] = ring_ports(&simulation);
    assert_eq!(search(&mut simulation), None);
    // Packets are isolated for root C1 at B1 and at A1, but not at C1 itself, which always sends at
    // full rate.
    assert_eq!(isolated(&simulation), BTreeSet::from([(a1, c1), (b1, c1)]));
    let sent = |simulation: &Simulation| simulation.node(NodeId(C)).ports()[PortIx(3)].sent_wire_bytes();
    let before = sent(&simulation);
    simulation.run_until(at_us(1990), 1);
    let gbps = (sent(&simulation) - before) as f64 * 8.0 / 1e6;
    assert!(gbps > 39.0, "{gbps}");
    // A packet is dropped after 64 switches. When the source is done, the network drains, and no
    // state of the root is left.
    drain(&mut simulation);
    assert!(simulation.is_quiet());
    assert_eq!(simulation.audit(), []);
    assert_eq!(simulation.totals().received_flows, 0);
}

/// Without the rule that a switch ignores pauses about its own ports, Pyrrha has a deadlock in the
/// loop.
#[test]
fn without_the_own_root_rule_pyrrha_deadlocks_in_a_routing_loop() {
    let mut simulation = one_flow(pyrrha(PyrrhaConfig { own_root_rule: false, ..Default::default() }), 10_000_000);
    let expected: BTreeSet<PortId> = ring_ports(&simulation).into_iter().collect();
    assert_eq!(cycle(&mut simulation), Some(expected));
}

#[test]
fn three_flows_in_a_ring_deadlock_pfc_and_bfc_with_hash_collisions_but_not_pyrrha() {
    for flow_control in [pfc(), bfc(1)] {
        let mut simulation = three_flows(flow_control.clone());
        let expected = ring_ports(&simulation).into_iter().collect();
        assert_eq!(cycle(&mut simulation), Some(expected), "{}", flow_control.name());
    }
    // The fair share of each flow is 50 Gb/s.
    for (flow_control, least) in [(bfc(32), 10.0), (per_flow(), 10.0), (pyrrha(PyrrhaConfig::default()), 40.0)] {
        let mut simulation = three_flows(flow_control.clone());
        assert_eq!(search(&mut simulation), None, "{}", flow_control.name());
        let rates = wire_rates(&mut simulation, 1000, 3000);
        assert!(rates.values().all(|rate| *rate >= least), "{}: {rates:?}", flow_control.name());
    }
    // In the steady state of Figure 13(c), each port of the ring has one isolation queue besides
    // the ordinary queue.
    let mut simulation = three_flows(pyrrha(PyrrhaConfig::default()));
    let [a1, b1, c1] = ring_ports(&simulation);
    simulation.run_until(at_us(1000), 1);
    let mut seen = BTreeSet::new();
    for us in 1000..1500 {
        simulation.run_until(at_us(us), 1);
        seen.extend(isolated(&simulation));
    }
    assert_eq!(seen, BTreeSet::from([(a1, b1), (b1, c1), (c1, a1)]));
    // If every root gives up when it learns of another root, and queues created by a MERGE are not
    // kept, merges circulate in the ring. There is no deadlock, but the rate is low.
    for (merge_grace, expected) in [(Some(Duration::ZERO), 0.5..10.0), (None, 40.0..50.0)] {
        let config = PyrrhaConfig { merge: MergePolicy::Any, merge_grace, ..Default::default() };
        let mut simulation = three_flows(pyrrha(config));
        assert_eq!(search(&mut simulation), None);
        let rates = wire_rates(&mut simulation, 1000, 3000);
        assert!(rates.values().all(|rate| expected.contains(rate)), "{rates:?}");
    }
}

/// A leaf runs PFC, and the spine and the other leaf run Pyrrha. Three hosts send to h4 and a
/// fourth host sends to h5. The spine isolates packets for the port to h4, because this port pauses
/// them. That port is therefore the cause of the PAUSEs that the leaf with PFC receives, and these
/// PAUSEs block the victim.
#[test]
fn a_pause_at_the_border_has_the_cause_of_the_isolation_queue_behind_it() {
    let mut spec = NetworkSpec::with_nodes(8, 3);
    spec.links = (0..8).map(|host| link(host, 8 + host / 4, 100, 1000)).collect();
    spec.links.extend([link(8, 10, 400, 1000), link(9, 10, 400, 1000)]);
    spec.switch.buffer = Bytes(2 << 20);
    spec.groups = vec![SwitchGroup {
        switches: vec![NodeId(9), NodeId(10)],
        flow_control: Some(pyrrha(PyrrhaConfig::default())),
        headroom: None,
    }];
    let flows = [(0, 4), (1, 4), (6, 4), (2, 5)].map(|(src, dst)| flow(src, dst, 4_000_000, 0));
    let mut simulation = Simulation::new(spec, flows.to_vec(), 1).expect("the network is valid");
    drain(&mut simulation);
    let [uplink, spine, busy] = [(8, 10), (10, 9), (9, 4)].map(|(node, peer)| port(&simulation, node, peer));
    let pauses = simulation.take_pauses();
    let at_border: Vec<_> = pauses.iter().filter(|pause| pause.port == uplink).collect();
    assert!(!at_border.is_empty());
    for pause in at_border {
        let Cause { root, via, parent, .. } = pause.closure.cause;
        assert_eq!((root, via), (busy, Some(spine)));
        let parent = parent.expect("an isolation queue was closed");
        let is_parent = |other: &&PauseInterval| {
            (other.port, other.queue, other.closure.from) == (spine, parent.queue, parent.since)
        };
        assert!(usize::from(parent.queue.0) >= CLASSES && pauses.iter().any(|other| is_parent(&other)));
    }
    assert!(simulation.outcomes()[3].reception.blocked > Duration::from_us(10));
}
