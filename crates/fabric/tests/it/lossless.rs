//! A lossless fabric loses no packet in any network, with any thresholds and any traffic.

use crate::prelude::*;
use backwater_fabric::contract::Occupancy;
use proptest::prelude::*;

proptest! {
    #![proptest_config(common::cases(400))]

    /// No packet is dropped, and every byte is delivered once and in order. In the end all buffers
    /// are empty, all gates are open, and the audit finds no error.
    #[test]
    fn every_byte_arrives_once_and_the_fabric_comes_to_rest(Case { spec, flows } in lossless()) {
        let (simulation, outcomes) = run(&spec, flows);
        prop_assert_eq!(simulation.find_deadlock(), None);
        prop_assert_eq!(simulation.totals().drops, [0; 5]);
        prop_assert!(all_delivered(&outcomes));
        for outcome in &outcomes {
            prop_assert!(outcome.reception.finish.is_some() && outcome.acknowledged > outcome.reception.finish);
            prop_assert_eq!(outcome.retransmitted, 0);
            prop_assert!(outcome.reception.blocked <= outcome.reception.paused);
            let taken = outcome.reception.finish.unwrap() - outcome.spec.start;
            prop_assert!(outcome.reception.paused <= taken, "paused for longer than the flow took: {:?}", outcome);
        }
        prop_assert!(simulation.is_quiet());
        prop_assert_eq!(simulation.unfinished(), []);
        for node in simulation.nodes() {
            for port in node.ports() {
                prop_assert_eq!((port.is_empty(), port.queued_bytes()), (true, 0));
                prop_assert!(port.closed_queues().next().is_none());
                prop_assert!((0..CLASSES as u16).all(|queue| port.queue_bytes(QueueIx(queue)) == 0));
            }
            if let Some(pipeline) = node.switch() {
                let peak = pipeline.occupancy().peak;
                prop_assert_eq!(pipeline.occupancy(), Occupancy { peak, ..Default::default() });
            }
        }
        prop_assert_eq!(simulation.audit(), []);
        let totals = simulation.totals();
        prop_assert_eq!((totals.live_flows(), totals.paused_ports), (0, 0));
        prop_assert_eq!(totals.acknowledged_flows, outcomes.len() as u64);
    }
}

/// Two flows share the link between two switches. The link to one receiver is down for 100 us, so
/// the shared link is paused. Many packets of the other flow wait while the gate is closed, but the
/// time of the PAUSE counts only once for the flow.
#[test]
fn a_pause_that_holds_many_packets_counts_once_for_their_flow() {
    let mut spec = linked(4, 2, [(0, 4), (1, 4), (2, 5), (3, 5), (4, 5)]);
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(20_000), ..Default::default() });
    spec.faults = vec![LinkFault { link: 3, down: Time::ZERO, up: at_us(100) }];
    let flows = vec![flow(0, 2, 400_000, 0), flow(1, 3, 400_000, 0)];
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    drain(&mut simulation);
    let shared = simulation.fabric().wiring.ports_of(NodeId(4))[2].id;
    let pauses = simulation.take_pauses().into_iter().filter(|pause| pause.port == shared);
    let total: Duration = pauses.map(|pause| pause.closure.to - pause.closure.from).sum();
    let held_up = simulation.outcomes()[0].reception.paused;
    // The last packet sent before the closure still passes two links, each in 1 us and 89 ns. The
    // flow counts as paused only after the delivery of this packet.
    assert!(total > Duration::from_us(90), "{total}");
    assert!(held_up <= total && held_up + Duration::from_ns(2 * 1089) > total, "{held_up} of {total}");
}

proptest! {
    #![proptest_config(common::cases(100))]

    /// The audit finds no error at any instant, even with frames on the wires and pauses that are
    /// about to take effect.
    #[test]
    fn the_audit_passes_at_every_instant(Case { spec, flows } in lossless(), step in 1u64..2_000_000) {
        let mut simulation = Simulation::new(spec, flows, 2).unwrap();
        let mut limit = Time::ZERO;
        for _ in 0..100 {
            limit += Duration::from_ps(step);
            simulation.run_until(limit, 1);
            prop_assert_eq!(simulation.audit(), []);
        }
    }
}

/// In the fabric of the README, three hosts send to h4 and a fourth host sends to h5 over the same
/// uplinks. The root of every pause is the port to h4, even if a packet for h5 made the queue full.
#[test]
fn the_port_to_the_busy_host_is_the_root_of_every_pause() {
    let mut spec = NetworkSpec::with_nodes(8, 3);
    spec.links = (0..8).map(|host| link(host, 8 + host / 4, 100, 1000)).collect();
    spec.links.extend([link(8, 10, 400, 1000), link(9, 10, 400, 1000)]);
    spec.switch.buffer = Bytes(2 << 20);
    let flows = [(0, 4), (1, 4), (6, 4), (2, 5)].map(|(src, dst)| flow(src, dst, 2_000_000, 0));
    let mut simulation = Simulation::new(spec, flows.to_vec(), 1).unwrap();
    simulation.watch_full();
    simulation.run_until(Time::ZERO + Duration::from_ms(10), 1);
    let (pauses, full) = (simulation.take_pauses(), simulation.take_full());
    let fabric = simulation.fabric();
    let port = |from: u32, to: u32| {
        let mut ports = fabric.wiring.ports_of(NodeId(from)).iter();
        ports.find(|port| fabric.wiring.peer(port) == NodeId(to)).unwrap()
    };
    let (busy, victim, spine) = (port(9, 4), port(2, 8), NodeId(10));
    assert!(pauses.iter().all(|pause| pause.closure.cause.root == busy.id));
    assert!(pauses.iter().any(|pause| pause.port == victim.id), "the host that sends to h5 is paused");
    // Pauses that leaf 9 triggered have no parent. All other pauses have a parent that began
    // earlier.
    for PauseInterval { port, closure, .. } in &pauses {
        let by_leaf = fabric.wiring.peer(&fabric.wiring.ports[*port]) == NodeId(9);
        assert_eq!(closure.cause.parent.is_none(), by_leaf);
        let is_parent = |other: &&PauseInterval| {
            let of = Parent { queue: other.queue, since: other.closure.from };
            (Some(other.port), Some(of)) == (closure.cause.via, closure.cause.parent)
        };
        assert!(by_leaf || pauses.iter().find(is_parent).is_some_and(|parent| parent.closure.from < closure.from));
    }
    // The spine's full queues hold packets for leaf 9, including the victim's.
    let at_spine = full.iter().filter(|queue| fabric.wiring.ports[queue.port].node == spine);
    assert!(at_spine.clone().count() > 0);
    assert!(at_spine.clone().all(|queue| queue.egress == port(10, 9).ix && queue.class == Class(3) && queue.bytes > 0));
    let blocked: Vec<_> = simulation.outcomes().iter().map(|outcome| outcome.reception.blocked.ps()).collect();
    assert!(blocked[3] > 100_000_000 && blocked[..3].iter().all(|blocked| *blocked == 0), "{blocked:?}");
}

/// A RESUME takes effect after the response time. Until then the fabric is not quiet, though no
/// frame is in flight.
#[test]
fn a_pending_resume_is_no_audit_error() {
    let mut spec = star(3);
    let response = Duration::from_us(20);
    spec.switch.flow_control = FlowControlConfig::Pfc(PfcConfig { response, ..Default::default() });
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(3000), ..Default::default() });
    let flows = vec![flow(0, 2, 20_000, 0), flow(1, 2, 20_000, 0)];
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    while simulation.next_event() < Time::NEVER {
        simulation.run_until(simulation.now() + Duration::from_ns(100), 1);
        assert_eq!(simulation.audit(), []);
    }
    assert!(simulation.totals().resume_frames > 0);
}
