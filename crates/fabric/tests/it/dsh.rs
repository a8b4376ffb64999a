//! DSH: frames, the lossless guarantee, and small experiments of the paper.

use crate::common::random::under_dsh;
use crate::prelude::*;
use backwater_fabric::mechanisms::headroom::oversubscribed::OversubscribedConfig;
use proptest::prelude::*;
use std::cell::Cell;

// ---------------------------------------------------------------------------------- packet scripts

const SWITCH: u32 = 4;

/// Returns a switch with two lossless classes and a shared buffer of 41,000 B. The threshold T of a
/// queue is a quarter of the free shared buffer. Headroom estimates are a few bytes.
fn two_classes() -> NetworkSpec {
    let mut spec = star(4);
    spec.framing = Framing::HpccNs3;
    spec.mtu = Bytes(952);
    spec.switch.lossless = vec![Class(3), Class(5)];
    spec.switch.headroom = HeadroomConfig::Dsh(DshConfig {
        alpha: 0.25,
        private: Bytes(0),
        headroom: Some(Bytes(30_000)),
        queue_resume_offset: Some(Bytes(0)),
        port_resume_offset: Some(Bytes(0)),
        gradient_weight: 0.0001,
        deviation_factor: 0.0,
        ..Default::default()
    });
    spec.switch.buffer = Bytes(reserved(&spec) + 41_000);
    spec
}

/// Returns a policy whose headroom pool is empty, although every queue needs headroom of 30,000 B.
fn without_headroom(alpha: f64) -> HeadroomConfig {
    HeadroomConfig::Oversubscribed(OversubscribedConfig {
        ratio: 0.0,
        alpha,
        private: Bytes(0),
        headroom: Some(Bytes(30_000)),
        resume_offset: Some(Bytes(0)),
    })
}

fn in_class(class: u8, src: u32, dst: u32) -> FlowSpec {
    FlowSpec { class: Class(class), ..flow(src, dst, 952 * 100, 0) }
}

const EVERY_CLASS: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// A queue's PAUSE names its class, a port's PAUSE all classes. A port is resumed when its
/// insurance is empty and its occupancy is below its threshold. Classes that are full themselves
/// stay paused.
#[test]
fn a_queue_is_paused_at_t_and_a_port_at_n_t() {
    let mut s = Script::new(&two_classes(), vec![in_class(3, 0, 1), in_class(5, 0, 1)], SWITCH);
    arrive!(s, 0 ps, port 1, pause [3, 5]);
    arrive!(s, 100_000 ps, every 80_000 ps, port 0, data of flow 0, psns 0..8);
    expect_nothing!(s, before 740_000 ps);
    // Class 3 has 9,000 B, more than T = (41,000 - 9,000) / 4.
    arrive!(s, 740_000 ps, port 0, data of flow 0, psn 8);
    expect!(s, 740_000..743_000 ps, port 0, Pause(vec![3]));
    arrive!(s, 820_000 ps, every 80_000 ps, port 0, data of flow 1, psns 0..4);
    expect_nothing!(s, before 1_140_000 ps);
    // The port has 14,000 B, more than 2 T = 2 (41,000 - 14,000) / 4, although class 5 has only
    // 5,000 B.
    arrive!(s, 1_140_000 ps, port 0, data of flow 1, psn 4);
    expect!(s, 1_140_000..1_143_000 ps, port 0, Pause(EVERY_CLASS.to_vec()));
    // Packets in flight use the insurance. Class 5 is also full now, but its upstream is already
    // paused.
    arrive!(s, 1_220_000 ps, every 80_000 ps, port 0, data of flow 1, psns 5..7);
    expect_nothing!(s, before 2_000_000 ps);
    let occupancy = s.node.switch().unwrap().occupancy();
    assert_eq!((occupancy.shared, occupancy.headroom), (14_000, 2_000));
    assert_eq!(s.node.flow_control().upstream_pauses().len(), 7);
    // Two departures empty the insurance. The third leaves 13,000 B in the port, less than 2 T =
    // 14,000 B. Class 3 remains paused, because it has 7,000 B and T is 7,000 B.
    arrive!(s, 2_000_000 ps, port 1, resume [3, 5]);
    expect_each!(s, from 2_000_000 ps, 80_000 ps each, port 1, [Data(3, 0), Data(5, 0), Data(3, 1)]);
    expect!(s, 2_160_000..2_163_000 ps, port 0, Resume(vec![0, 1, 2, 4, 5, 6, 7]));
    // With the next departure T becomes 7,250 B, so class 3 is resumed.
    expect!(s, 2_240_000..2_320_000 ps, port 1, Data(5, 1));
    expect!(s, 2_240_000..2_243_000 ps, port 0, Resume(vec![3]));
    assert_eq!(s.node.flow_control().upstream_pauses(), []);
}

/// A departure triggers no port-wide PAUSE, though the threshold has fallen below the port's
/// occupancy since the last arrival.
#[test]
fn a_departure_pauses_no_port() {
    let flows = vec![in_class(3, 0, 1), in_class(5, 0, 1), in_class(5, 2, 1), in_class(5, 3, 1)];
    let mut s = Script::new(&two_classes(), flows, SWITCH);
    arrive!(s, 0 ps, port 1, pause [3, 5]);
    arrive!(s, 100_000 ps, every 80_000 ps, port 0, data of flow 1, psns 0..3);
    arrive!(s, 340_000 ps, every 80_000 ps, port 0, data of flow 0, psns 0..8);
    expect!(s, 900_000..903_000 ps, port 0, Pause(vec![3]));
    for psn in 0..6 {
        s.arrive_data(980_000 + 80_000 * u64::from(psn), 2, 2, psn);
        s.arrive_data(980_000 + 80_000 * u64::from(psn), 3, 3, psn);
    }
    let pauses =
        |s: &Script| s.node.flow_control().upstream_pauses().iter().filter(|(port, _)| *port == PortIx(0)).count();
    assert_eq!((s.node.switch().unwrap().occupancy().shared, pauses(&s)), (23_000, 1));
    // 10,000 B remain in port 0, more than 2 T = 2 (41,000 - 22,000) / 4.
    arrive!(s, 2_000_000 ps, port 1, resume [3]);
    s.sent_until(2_010_000, 0);
    assert_eq!((s.node.switch().unwrap().occupancy().shared, pauses(&s)), (22_000, 1));
}

/// A packet that is dropped for lack of headroom also triggers a PAUSE.
#[test]
fn a_drop_pauses_its_class() {
    let mut spec = two_classes();
    spec.switch.headroom = without_headroom(0.25);
    spec.switch.buffer = Bytes(10_500);
    let flows = vec![in_class(3, 0, 1), in_class(3, 2, 1)];
    let mut s = Script::new(&spec, flows, SWITCH);
    arrive!(s, 0 ps, port 1, pause [3]);
    arrive!(s, 100_000 ps, every 80_000 ps, port 0, data of flow 0, psns 0..2);
    expect_nothing!(s, before 200_000 ps);
    // 2,000 B are less than T = (10,500 - 2,000) / 4, and 3,000 B would be more than T.
    arrive!(s, 260_000 ps, port 0, data of flow 0, psn 2);
    expect!(s, 260_000..263_000 ps, port 0, Pause(vec![3]));
    assert_eq!(s.node.losses().frames[DropCause::Headroom as usize], 1);
    // A departure resumes the class.
    arrive!(s, 1_000_000 ps, port 1, resume [3]);
    expect!(s, 1_000_000..1_080_000 ps, port 1, Data(3, 0));
    expect!(s, 1_000_000..1_003_000 ps, port 0, Resume(vec![3]));
}

/// A drop at an empty queue triggers no PAUSE, because no departure from this queue could end the
/// PAUSE.
#[test]
fn a_drop_at_an_empty_queue_pauses_nobody() {
    let mut spec = two_classes();
    spec.switch.headroom = without_headroom(0.0);
    let mut s = Script::new(&spec, vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 100_000 ps, port 0, data of flow 0, psn 0);
    expect_nothing!(s, before 1_000_000 ps);
    assert_eq!(s.node.losses().frames[DropCause::Headroom as usize], 1);
    assert_eq!(s.node.flow_control().upstream_pauses(), []);
}

/// The peer stops all classes but the control class until the peer is resumed.
#[test]
fn a_port_level_pause_spares_the_control_class_alone() {
    let mut spec = two_classes();
    spec.switch.lossless.push(Class(7));
    let flows = vec![in_class(3, 0, 1), in_class(5, 0, 1), in_class(7, 0, 1)];
    let mut s = Script::new(&spec, flows, SWITCH);
    arrive!(s, 0 ps, port 1, pause EVERY_CLASS);
    arrive!(s, 80_000 ps, port 0, data of flow 0, psn 0);
    arrive!(s, 160_000 ps, port 0, data of flow 1, psn 0);
    expect_nothing!(s, before 200_000 ps);
    arrive!(s, 200_000 ps, port 0, ack of flow 0, expected 0);
    expect!(s, 200_000..204_000 ps, port 0, Ack(0));
    arrive!(s, 300_000 ps, port 1, resume [0, 1, 2, 4, 5, 6, 7]);
    expect!(s, 300_000..380_000 ps, port 1, Data(5, 0));
    assert_eq!((s.closed(1, 3), s.closed(1, 5)), (Some(Duration::ZERO), None));
}

// ----------------------------------------------------------------------------------- the guarantee

/// No packet is dropped in random fabrics, even with the smallest buffer: private bytes, insurance,
/// and one shared byte. Queues and ports are paused in many of these fabrics.
#[test]
fn nothing_is_lost() {
    let (with_queues, with_ports) = (Cell::new(0), Cell::new(0));
    let config = common::cases(250);
    let quarter = config.cases / 4;
    let mut runner = TestRunner::new(config);
    let run = runner.run(&under_dsh(), |Case { spec, flows }| {
        let (simulation, outcomes) = run(&spec, flows);
        let totals = simulation.totals();
        prop_assert_eq!(totals.drops, [0; 5]);
        prop_assert_eq!(simulation.find_deadlock(), None);
        prop_assert!(all_delivered(&outcomes) && outcomes.iter().all(|outcome| outcome.retransmitted == 0));
        prop_assert_eq!(simulation.audit(), []);
        let closed =
            simulation.nodes().flat_map(|node| node.ports()).filter(|port| port.closed_queues().next().is_some());
        prop_assert_eq!(closed.count(), 0);
        with_queues.set(with_queues.get() + u32::from(totals.pause_frames > totals.port_pause_frames));
        with_ports.set(with_ports.get() + u32::from(totals.port_pause_frames > 0));
        Ok(())
    });
    run.unwrap();
    assert!(with_queues.get() > quarter && with_ports.get() > quarter, "{with_queues:?} {with_ports:?}");
}

/// Returns six hosts that send to one host in all seven classes, through a switch with almost no
/// shared buffer.
fn crowd(headroom: HeadroomConfig, room: u64) -> (NetworkSpec, Vec<FlowSpec>) {
    let mut spec = star_of(7, 100, 2000);
    spec.switch.lossless = (1..8).map(Class).collect();
    spec.switch.scheduler = SchedulerConfig::Dwrr { quantum: Bytes(1600) };
    spec.switch.headroom = headroom;
    spec.switch.buffer = Bytes(reserved(&spec) + room);
    let flows =
        (0..6).flat_map(|src| (1..8).map(move |class| FlowSpec { class: Class(class), ..flow(src, 6, 200_000, 0) }));
    (spec, flows.collect())
}

/// Checks that every byte is delivered, without violations.
fn assert_delivered(simulation: &Simulation) {
    assert!(all_delivered(&simulation.outcomes()));
    assert_eq!((simulation.violations(), simulation.audit()), (vec![], vec![]));
}

/// The insurance makes DSH lossless. Without the insurance the same traffic loses packets, which
/// are retransmitted.
#[test]
fn without_insurance_packets_are_lost() {
    for (insurance, is_lossy) in [(true, false), (false, true)] {
        let config = DshConfig { insurance, ..Default::default() };
        let (spec, flows) = crowd(HeadroomConfig::Dsh(config), 400_000);
        let (simulation, outcomes) = run(&spec, flows);
        assert_eq!(drops(&simulation, DropCause::Headroom) > 0, is_lossy, "insurance: {insurance}");
        assert_eq!(outcomes.iter().any(|outcome| outcome.retransmitted > 0), is_lossy);
        assert!(simulation.totals().port_pause_frames > 0);
        assert_delivered(&simulation);
    }
}

/// A headroom pool of a tenth of the required size is too small when many queues need headroom at
/// once. Go-Back-N repeats lost packets.
#[test]
fn oversubscribed_headroom_loses_packets_and_go_back_n_delivers_them() {
    for (ratio, is_lossy) in [(1.0, false), (0.1, true)] {
        let config = OversubscribedConfig { ratio, alpha: 1.0, ..Default::default() };
        let (spec, flows) = crowd(HeadroomConfig::Oversubscribed(config), 100_000);
        let (simulation, outcomes) = run(&spec, flows);
        assert_eq!(drops(&simulation, DropCause::Headroom) > 0, is_lossy, "ratio {ratio}");
        assert_eq!(outcomes.iter().any(|outcome| outcome.retransmitted > 0), is_lossy);
        assert_delivered(&simulation);
    }
}

// ------------------------------------------------------------------------- the paper's experiments

/// Configures the switch of DSH's evaluation (section V-A).
fn evaluation(spec: &mut NetworkSpec, headroom: HeadroomConfig) {
    spec.mtu = Bytes(1000);
    spec.framing = Framing::HpccNs3;
    spec.switch.lossless = (1..8).map(Class).collect();
    spec.switch.scheduler = SchedulerConfig::Dwrr { quantum: Bytes(1600) };
    spec.switch.ports = Some(32);
    spec.switch.headroom = headroom;
}

fn sih() -> HeadroomConfig {
    let (headroom, resume_offset) = (Some(Bytes(60_000)), Some(Bytes(0)));
    HeadroomConfig::Sih(SihConfig { headroom, resume_offset, ..Default::default() })
}

fn dsh() -> HeadroomConfig {
    let none = Some(Bytes(0));
    HeadroomConfig::Dsh(DshConfig {
        headroom: Some(Bytes(60_000)),
        queue_resume_offset: none,
        port_resume_offset: none,
        ..Default::default()
    })
}

/// DSH Figure 14: F0 and F1 share the link between two switches, and 24 hosts send 64 KB each to
/// the receiver of F1. Returns the payload of F0 delivered in the 200 us from the start of the
/// burst, as a share of half the link rate. Also returns the pause time of the link between the
/// switches.
fn collateral_damage(headroom: HeadroomConfig) -> (f64, Duration) {
    const FAN_IN: u64 = 400_000;
    let (hosts, near, far) = (28, 28, 29);
    let mut spec = NetworkSpec::with_nodes(hosts, 2);
    // h0 and h1 are at the first switch, r0, r1 and 24 more hosts at the second.
    spec.links = (0..hosts).map(|host| link(host, if host < 2 { near } else { far }, 100, 2000)).collect();
    spec.links.push(link(near, far, 100, 2000));
    evaluation(&mut spec, headroom);
    let long = |src, dst| FlowSpec { class: Class(1), bytes: FlowSpec::ENDLESS, ..flow(src, dst, 1, 0) };
    let fan_in = (4..hosts).map(|src| FlowSpec { class: Class(1), ..flow(src, 3, 64_000, FAN_IN) });
    let mut simulation =
        Simulation::new(spec, [long(0, 2), long(1, 3)].into_iter().chain(fan_in).collect(), 1).unwrap();
    let delivered = |simulation: &Simulation| simulation.outcomes()[0].reception.delivered;
    simulation.run_until(at_ns(FAN_IN), 1);
    let before = delivered(&simulation);
    simulation.run_until(at_ns(FAN_IN + 200_000), 1);
    let half = 50e9 / 8.0 * 200e-6 * 1000.0 / 1048.0;
    let trunk = &simulation.node(NodeId(near)).ports()[PortIx(2)];
    let paused = trunk.gate(QueueIx(1)).waits(Time::ZERO).map(|wait| wait.length).sum();
    ((delivered(&simulation) - before) as f64 / half, paused)
}

#[test]
fn an_innocent_flow_keeps_its_rate_under_dsh_and_loses_it_under_sih() {
    let (kept, paused) = collateral_damage(dsh());
    // When the second switch has forwarded the whole burst, 800 KB of F1 are queued at this switch.
    // The PAUSE threshold of F1's ingress queue is about as high, so PAUSEs are short.
    assert!(paused < Duration::from_us(5), "{paused}");
    assert!(kept > 0.99, "{kept}");
    let (kept, paused) = collateral_damage(sih());
    assert!(paused > Duration::from_us(50), "{paused}");
    assert!(kept < 0.6, "{kept}");
}

/// DSH Figure 16: a leaf-spine whose links S0-L3 and S1-L0 have failed, so that traffic between L0
/// and L3 goes up and down twice. SIH leads to a deadlock with the paper's cycle: S0, L1, S1, L2
/// and back to S0.
#[test]
fn the_deadlock_of_the_paper_has_its_cycle() {
    const LEAF: [u32; 4] = [64, 65, 66, 67];
    const SPINE: [u32; 2] = [68, 69];
    let mut spec = NetworkSpec::with_nodes(64, 6);
    spec.links = (0..64).map(|host| link(host, LEAF[host as usize / 16], 100, 2000)).collect();
    let pairs = LEAF.iter().flat_map(|leaf| SPINE.map(|spine| (*leaf, spine)));
    let up = pairs.filter(|pair| ![(LEAF[3], SPINE[0]), (LEAF[0], SPINE[1])].contains(pair));
    spec.links.extend(up.map(|(leaf, spine)| link(leaf, spine, 400, 2000)));
    evaluation(&mut spec, HeadroomConfig::Sih(SihConfig { resume_offset: Some(Bytes(0)), ..Default::default() }));
    spec.switch.ports = None;
    // All hosts of a leaf send to three hosts of another leaf, in both directions.
    let between = [(0, 3), (3, 0), (1, 2), (2, 1)];
    let flows = between.into_iter().flat_map(|(from, to)| {
        (0..16)
            .flat_map(move |host| (0..3).map(move |i| flow(from * 16 + host, to * 16 + (host + i) % 3, 3_000_000, 0)))
    });
    let mut simulation = Simulation::new(spec, flows.collect(), 1).unwrap();
    let deadlock = find_deadlock(&mut simulation, 10, 2000);
    let wiring = &simulation.fabric().wiring;
    let mut cycle: Vec<u32> = deadlock.unwrap().cycle.iter().map(|(port, _)| wiring.ports[*port].node.0).collect();
    let start = cycle.iter().position(|node| *node == SPINE[0]).unwrap();
    cycle.rotate_left(start);
    assert_eq!(cycle, [SPINE[0], LEAF[1], SPINE[1], LEAF[2]]);
}

/// The network is a ring of three switches. Every class uses all links. In no class do queues wait
/// for each other in a cycle, because only two hosts send in each class, and no flow goes all round
/// the ring. SIH delivers all packets. Under DSH, the end of a port-wide pause depends on packets
/// of all classes at the next switch, which closes the cycle.
#[test]
fn a_deadlock_of_port_wide_pauses_is_found() {
    let ring = |headroom| {
        let size = 3u32;
        let mut spec = NetworkSpec::with_nodes(size, size);
        spec.links = (0..size).map(|i| link(i, size + i, 100, 500)).collect();
        spec.links.extend((0..size).map(|i| link(size + i, size + (i + 1) % size, 100, 500)));
        spec.switch.lossless = (1..8).map(Class).collect();
        spec.switch.headroom = headroom;
        spec.switch.buffer = Bytes(reserved(&spec) + 100_000);
        let via = |hosts: [u32; 3]| hosts.map(|i| NodeId(size + i % size)).to_vec();
        let round = (0..size).flat_map(|i| {
            [i, (i + 1) % size].map(|class| {
                let flow = flow(i, (i + 2) % size, 3_000_000, 0).via(via([i, i + 1, i + 2]), via([i + 2, i + 1, i]));
                FlowSpec { class: Class(1 + class as u8), ..flow }
            })
        });
        Simulation::new(spec, round.collect(), 1).unwrap()
    };
    let mut under_sih = ring(HeadroomConfig::Sih(SihConfig::default()));
    assert_eq!(find_deadlock(&mut under_sih, 1, 2000), None);
    assert!(under_sih.totals().pause_frames > 0);
    assert_delivered(&under_sih);
    // Without shared headroom, a queue above its threshold uses the insurance at once, which pauses
    // the port.
    let mut simulation = ring(HeadroomConfig::Dsh(DshConfig { shared_headroom: false, ..Default::default() }));
    let deadlock = find_deadlock(&mut simulation, 1, 2000).unwrap();
    assert_eq!(deadlock.cycle.len(), 3, "{:?}", deadlock.cycle);
    assert!(simulation.totals().port_pause_frames > 0);
    // Packets that have left the ring are delivered; then no packet moves any more.
    simulation.run_until(simulation.now() + Duration::from_ms(1), 1);
    let frozen = simulation.totals();
    simulation.run_until(simulation.now() + Duration::from_ms(1), 1);
    assert_eq!(simulation.totals().packet_hops, frozen.packet_hops);
    assert!(simulation.is_still_dead(&deadlock));
    assert_eq!(simulation.audit(), []);
}
