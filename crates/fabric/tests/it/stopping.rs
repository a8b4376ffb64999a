//! A simulation stops soon after a request, in any phase. `determinism.rs` shows that interruptions
//! do not change results.

use crate::prelude::*;

const LIMIT: Time = Time::from_ps(1_000_000_000);

/// Returns eight hosts, with a flow that starts at each of them at the same instant.
fn at_once(shards: usize) -> Simulation {
    let flows = (0..8).map(|host| flow(host, (host + 1) % 8, FlowSpec::ENDLESS, 0)).collect();
    Simulation::new(star(8), flows, shards).unwrap()
}

/// Maximum number of events of a node in an epoch of 1 us: through each of eight links, 13 data
/// packets and 13 ACKs arrive, and each of them may wake up a port.
const VISIT: u64 = 8 * 13 * 4;

/// In the first epoch, every host handles the start of its flow and 12 transmissions.
#[test]
fn a_run_stops_after_n_events_even_within_an_epoch() {
    let mut simulation = at_once(1);
    for calls in 1..=100 {
        let before = simulation.totals().events;
        assert!(!simulation.advance(LIMIT, 1, 3, &mut || true));
        assert!((3..3 + VISIT).contains(&(simulation.totals().events - before)));
        assert!(calls > 7 || simulation.now() < at_us(1), "the first visits are those of the hosts");
    }
    assert!(simulation.now() > at_us(1));
}

#[test]
fn a_run_checks_for_a_stop_every_n_events() {
    let (mut simulation, mut calls) = (at_once(1), 0);
    simulation.advance(LIMIT, 1, 50, &mut || {
        calls += 1;
        calls == 20
    });
    assert!((50 * 20..(50 + VISIT) * 20).contains(&simulation.totals().events));
}

/// After a stop, nodes differ in time. Then all of them reach the same time, and no flow can tell.
#[test]
fn a_stopped_run_settles_within_an_epoch() {
    for (shards, threads) in [(1, 1), (2, 1), (2, 2)] {
        let mut simulation = at_once(shards);
        for _ in 0..20 {
            simulation.advance(LIMIT, threads, 1, &mut || true);
            let stopped = simulation.now();
            simulation.settle(threads);
            let settled = simulation.now();
            assert!(stopped <= settled && settled <= stopped + Duration::from_us(2));
            let mut whole = at_once(1);
            whole.run_until(settled, 1);
            assert_eq!(simulation.fingerprint(), whole.fingerprint());
            assert_eq!(simulation.audit(), []);
        }
    }
}

/// A limit may lie within an epoch. No node passes the limit, and none begins before it must.
#[test]
fn a_stopped_run_settles_before_its_limit() {
    for (shards, threads) in [(1, 1), (2, 1), (2, 2)] {
        let mut simulation = at_once(shards);
        simulation.settle(threads);
        assert_eq!((simulation.now(), simulation.totals().events), (Time::ZERO, 0));
        let limit = Time::from_ps(1_500_000);
        while !simulation.advance(limit, threads, 1, &mut || true) {
            simulation.settle(threads);
            assert!(simulation.now() <= limit, "{}", simulation.now());
        }
    }
}

/// The plain pipeline has no observers. An observer that is added during a run receives all later
/// events.
#[test]
fn an_observer_receives_the_events_after_its_start() {
    let mut simulation = at_once(1);
    assert!(simulation.is_plain());
    simulation.run_until(at_us(1), 1);
    simulation.watch_trace(&TraceSpec::ALL);
    assert!(!simulation.is_plain());
    simulation.run_until(at_us(2), 1);
    let trace = simulation.take_trace();
    assert!(trace.iter().any(|traced| traced.node == NodeId(8)) && trace.iter().all(|traced| traced.at >= at_us(1)));
}

/// Links between shards have a delay of 1 us, so a window is 1 us.
#[test]
fn several_shards_stop_after_a_window() {
    for threads in [1, 2] {
        let mut simulation = at_once(2);
        let (mut before, mut stops) = (Time::ZERO, 0);
        while !simulation.advance(at_us(20), threads, u64::MAX, &mut || true) {
            let (window, frame) = (Duration::from_us(1), Duration::from_ns(90));
            assert!(simulation.now() > before && simulation.now() <= before + window + frame, "{before}");
            (before, stops) = (simulation.now(), stops + 1);
        }
        assert!(stops >= 19, "{stops}");
    }
}

/// No link connects the shards, so only the number of events ends a window.
#[test]
fn several_shards_stop_after_n_events() {
    let mut spec = NetworkSpec::with_nodes(4, 2);
    spec.links = [(0, 4), (1, 4), (2, 5), (3, 5)].map(|(a, b)| link(a, b, 100, 500)).to_vec();
    let flows = vec![flow(0, 1, FlowSpec::ENDLESS, 0), flow(3, 2, FlowSpec::ENDLESS, 0)];
    for threads in [1, 2] {
        let mut simulation = Simulation::new(spec.clone(), flows.clone(), 2).unwrap();
        for calls in 1..=10 {
            assert!(!simulation.advance(LIMIT, threads, 100, &mut || true));
            assert!((2 * 100 * calls..2 * (100 + VISIT) * calls).contains(&simulation.totals().events));
        }
    }
}

#[test]
fn a_run_stops_while_flows_are_admitted() {
    let flows: Vec<_> = (0..30_000).map(|_| flow(0, 1, 100, 0)).collect();
    let mut simulation = Simulation::new(star(2), flows, 1).unwrap();
    let mut calls = 0;
    while simulation.totals().events == 0 {
        assert!(!simulation.advance(LIMIT, 1, 1, &mut || true));
        calls += 1;
    }
    assert!(calls > 2, "{calls}");
}

/// Flows are admitted some time before they start.
#[test]
fn flows_that_start_later_have_not_started() {
    let flows = vec![flow(0, 1, 10_000, 0), flow(0, 1, FlowSpec::ENDLESS, 1000), flow(1, 0, 10_000, 900_000)];
    let mut simulation = Simulation::new(star(2), flows, 1).unwrap();
    let started = |simulation: &Simulation| {
        let totals = simulation.totals();
        (totals.started_flows, totals.endless_flows, simulation.unfinished().len())
    };
    assert!(!simulation.advance(LIMIT, 1, 1, &mut || true));
    assert_eq!(started(&simulation), (1, 0, 1));
    while simulation.now() < at_us(2) {
        simulation.advance(LIMIT, 1, 1, &mut || true);
    }
    assert_eq!(started(&simulation), (2, 1, 2));
}
