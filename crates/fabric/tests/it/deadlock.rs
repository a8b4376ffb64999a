//! The deadlock detector finds deadlocks with their cycle and onset, and gives no false alarms.

use crate::prelude::*;
use proptest::prelude::*;

/// Returns a ring of `size` switches with a host at each. Link `size` + i connects switch i to
/// switch i + 1.
fn ring(size: u32) -> NetworkSpec {
    let mut spec = NetworkSpec::with_nodes(size, size);
    spec.links = (0..size).map(|i| link(i, size + i, 100, 500)).collect();
    spec.links.extend((0..size).map(|i| link(size + i, size + (i + 1) % size, 100, 500)));
    spec.switch.headroom =
        HeadroomConfig::Static(StaticConfig { xoff: Bytes(30_000), xon: Some(Bytes(20_000)), headroom: None });
    spec
}

/// Returns a flow from every host to the host two switches ahead. All flows go round the ring in
/// the same direction.
fn all_round(size: u32, bytes: u64) -> Vec<FlowSpec> {
    let switches = |i: u32| [i, i + 1, i + 2].map(|i| size + i % size);
    (0..size).map(|i| via(i, &switches(i), (i + 2) % size, bytes)).collect()
}

/// Returns the deadlock found by a check every microsecond, and the time of that check.
fn search(simulation: &mut Simulation, limit_us: u64) -> Option<(Time, Deadlock)> {
    let deadlock = find_deadlock(simulation, 1, limit_us)?;
    Some((simulation.now(), deadlock))
}

/// Returns the time at which each gate of the cycle closed.
fn closures(simulation: &Simulation, deadlock: &Deadlock) -> Vec<Time> {
    let closure = |(port, queue): &(PortId, QueueIx)| {
        let facts = &simulation.fabric().wiring.ports[*port];
        simulation.node(facts.node).ports()[facts.ix].gate(*queue).closed().unwrap().0
    };
    deadlock.cycle.iter().map(closure).collect()
}

#[test]
fn rings_of_three_and_four_deadlock_and_the_cycle_is_named() {
    for size in [3, 4] {
        let mut simulation = Simulation::new(ring(size), all_round(size, 10_000_000), 1).unwrap();
        let (found, deadlock) = search(&mut simulation, 1000).unwrap();
        // Every switch of the ring waits for the next switch.
        assert_eq!(deadlock.cycle.len(), size as usize);
        let wiring = &simulation.fabric().wiring;
        for (index, (port, queue)) in deadlock.cycle.iter().enumerate() {
            let (next, _) = deadlock.cycle[(index + 1) % deadlock.cycle.len()];
            let facts = &wiring.ports[*port];
            assert_eq!(wiring.neighbour(facts.node, facts.ix), wiring.ports[next].node);
            assert_eq!(*queue, QueueIx(3));
            let switch = facts.node.0 - size;
            assert_eq!(simulation.fabric().port_name(*port), format!("s{switch}:{}", if switch == 0 { 1 } else { 2 }));
        }
        // The onset is the time at which the last gate of the cycle closed. It is not later than
        // the detection, and later checks do not change it.
        assert!(deadlock.onset <= found && found <= deadlock.onset + Duration::from_us(1), "{deadlock:?} at {found}");
        assert_eq!(closures(&simulation, &deadlock).into_iter().max(), Some(deadlock.onset));
        // Packets that have left the ring are delivered; then no packet moves any more.
        simulation.run_until(found + Duration::from_ms(1), 1);
        let frozen = simulation.totals();
        simulation.run_until(found + Duration::from_ms(2), 1);
        assert_eq!(
            (simulation.totals().packet_hops, simulation.totals().live_flows()),
            (frozen.packet_hops, size.into())
        );
        assert_eq!(simulation.find_deadlock().unwrap().onset, deadlock.onset);
        // A deadlock is no audit error.
        assert_eq!((simulation.audit(), simulation.totals().drops), (vec![], [0; 5]));
    }
}

/// The flows start one after the other, and the gates close in that order.
#[test]
fn the_onset_is_the_time_of_the_last_closure() {
    let mut flows = all_round(3, 10_000_000);
    for (i, flow) in (0..).zip(&mut flows) {
        flow.start += Duration::from_ns(700 * i);
    }
    let mut simulation = Simulation::new(ring(3), flows, 1).unwrap();
    let (_, deadlock) = search(&mut simulation, 1000).unwrap();
    let closures = closures(&simulation, &deadlock);
    assert!(closures.iter().min() < closures.iter().max(), "the gates close one after the other");
    assert_eq!(closures.into_iter().max(), Some(deadlock.onset));
}

/// A known deadlock still exists if all of its gates have been closed since its onset.
#[test]
fn a_deadlock_holds_as_long_as_none_of_its_gates_has_opened() {
    let mut simulation = Simulation::new(ring(3), all_round(3, 10_000_000), 1).unwrap();
    let (found, deadlock) = search(&mut simulation, 1000).unwrap();
    let paused = simulation.totals().paused;
    simulation.run_until(found + Duration::from_ms(1), 1);
    assert!(simulation.is_still_dead(&deadlock));
    // The three hosts are paused, too.
    assert!(simulation.totals().paused >= paused + Duration::from_ms(3));
    // This onset is earlier than the closure of one of the gates.
    let onset = Time::from_ps(deadlock.onset.ps() - 1);
    assert!(!simulation.is_still_dead(&Deadlock { onset, ..deadlock.clone() }));
    // The gate of another class is open.
    let cycle = deadlock.cycle.iter().map(|(port, queue)| (*port, QueueIx(queue.0 + 1))).collect();
    assert!(!simulation.is_still_dead(&Deadlock { cycle, ..deadlock }));
}

/// With shorter flows on the same routes no queue is ever full.
#[test]
fn a_ring_with_short_flows_has_no_deadlock() {
    let mut simulation = Simulation::new(ring(3), all_round(3, 20_000), 1).unwrap();
    assert_eq!(search(&mut simulation, 100), None);
    assert!(simulation.outcomes().iter().all(|outcome| outcome.acknowledged.is_some()));
}

/// Every flow passes one link of the ring. All links are busy and sometimes paused, but packets in
/// buffers wait only for hosts.
#[test]
fn a_busy_ring_without_a_cycle_of_buffers_is_no_deadlock() {
    let size = 4;
    let mut spec = ring(size);
    // Host links have a quarter of the ring's rate.
    for link in spec.links.iter_mut().take(size as usize) {
        link.rate = Rate::from_gbps(25);
    }
    let flows = (0..size).flat_map(|i| {
        let via = vec![NodeId(size + i), NodeId(size + (i + 1) % size)];
        (0..3).map(move |_| flow(i, (i + 1) % size, 300_000, 0).via(via.clone(), vec![]))
    });
    let incast = (1..size).map(|i| flow(i, 0, 300_000, 0));
    let mut simulation = Simulation::new(spec, incast.chain(flows).collect(), 1).unwrap();
    assert_eq!(search(&mut simulation, 2000), None);
    assert!(simulation.totals().pause_frames > 0);
    assert!(simulation.outcomes().iter().all(|outcome| outcome.acknowledged.is_some()));
}

/// Class 3 has a deadlock. Flows of class 5 on the same links finish.
#[test]
fn traffic_outside_the_cycle_continues() {
    let size = 3;
    let mut spec = ring(size);
    spec.switch.lossless = vec![Class(3), Class(5)];
    let others = (0..size).map(|i| FlowSpec { class: Class(5), ..flow(i, (i + 1) % size, 100_000, 400_000) });
    let flows = all_round(size, 10_000_000).into_iter().chain(others).collect();
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    let (_, deadlock) = search(&mut simulation, 400).unwrap();
    assert!(deadlock.cycle.iter().all(|(_, queue)| *queue == QueueIx(3)));
    simulation.run_until(Time::ZERO + Duration::from_ms(2), 1);
    let outcomes = simulation.outcomes();
    assert!(outcomes[..3].iter().all(|outcome| outcome.acknowledged.is_none()));
    assert!(outcomes[3..].iter().all(|outcome| outcome.acknowledged.is_some()));
}

/// Packets leave after a pause has expired. The wait is finite, whether there is enough headroom or
/// not.
#[test]
fn pauses_that_expire_are_no_deadlock() {
    let mut spec = ring(3);
    spec.switch.flow_control =
        FlowControlConfig::Pfc(PfcConfig { pause: PauseModel::Quanta, quanta: 1024, ..Default::default() });
    let mut simulation = Simulation::new(spec, all_round(3, 1_000_000), 1).unwrap();
    assert_eq!(search(&mut simulation, 1000), None);
}

proptest! {
    #![proptest_config(common::cases(60))]

    /// Paths that go up and then down form no cycle of buffers under any load, so the search must
    /// never report a deadlock.
    #[test]
    fn there_is_no_false_alarm(Case { spec, mut flows } in lossless()) {
        for flow in &mut flows {
            flow.bytes *= 8;
        }
        let mut simulation = Simulation::new(spec, flows, 1).unwrap();
        let mut limit = Time::ZERO;
        for _ in 0..200 {
            limit += Duration::from_ns(700);
            simulation.run_until(limit, 1);
            prop_assert_eq!(simulation.find_deadlock(), None);
        }
    }
}
