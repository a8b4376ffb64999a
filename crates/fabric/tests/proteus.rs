//! Proteus at a switch and in a network: paths that are stopped, probes, what is measured.
//!
//! Hosts 0 to 3 on leaf 8, 4 to 7 on leaf 9, spines 10 and 11, links of 100 Gb/s and 1 us. At a leaf ports 0 to 3 lead to hosts, 4 and 5 to the spines.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use backwater_engine::{Duration, Time};
use backwater_fabric::contract::{Held, PathState};
use backwater_fabric::driver::simulation::Simulation;
use backwater_fabric::ids::{NodeId, PortIx};
use backwater_fabric::mechanisms::load_balance::LoadBalanceConfig;
use backwater_fabric::mechanisms::load_balance::proteus::ProteusConfig;
use backwater_fabric::mechanisms::recovery::RecoveryConfig;
use backwater_fabric::network::spec::{FlowSpec, NetworkSpec};
use common::script::Script;
use common::{flow, link, network};

fn leaf_spine(config: ProteusConfig) -> NetworkSpec {
    let mut spec = network(8, 4);
    spec.links = (0..8).map(|host| link(host, 8 + host / 4, 100, 1000)).collect();
    spec.links.extend([(8, 10), (8, 11), (9, 10), (9, 11)].map(|(leaf, spine)| link(leaf, spine, 100, 1000)));
    spec.load_balance = LoadBalanceConfig::Proteus(config);
    spec.recovery = RecoveryConfig::InAnyOrder(Default::default());
    spec
}

const US: u64 = 1_000_000;

/// The uplink that packet `psn` of flow 0, which comes to leaf 8 at `us`, takes before `until`; `None` if it waits.
fn uplink(leaf: &mut Script, us: u64, psn: u32, until: u64) -> Option<PortIx> {
    leaf.arrive_data(us * US, 0, 0, psn);
    leaf.next_data(until * US).map(|(port, ..)| port)
}

/// A packet that would wait behind a PAUSE stays if nothing waits in front of it: the queue drains no later than the other path is. The next one leaves, and overtakes it. Within a
/// round trip the flow does not leave again; after it, it does.
#[test]
fn a_flow_leaves_a_path_that_is_stopped_in_front_of_it() {
    let spec = leaf_spine(ProteusConfig { move_interval: Some(Duration::from_us(20)), ..Default::default() });
    let mut leaf = Script::new(&spec, vec![flow(0, 4, 1 << 20, 0)], 8);
    let first = uplink(&mut leaf, 1, 0, 2).unwrap();
    let other = 9 - first;
    leaf.arrive_pfc(2 * US, first, &[3], u16::MAX);
    assert_eq!(uplink(&mut leaf, 3, 1, 4), None);
    assert_eq!(uplink(&mut leaf, 4, 2, 5), Some(other));
    assert_eq!(leaf.counted("reroutes"), 1);
    assert_eq!(uplink(&mut leaf, 5, 3, 6), Some(other));
    // The other one is stopped as well: too soon to move again.
    leaf.arrive_pfc(6 * US, other, &[3], u16::MAX);
    leaf.arrive_pfc(7 * US, first, &[3], 0);
    assert_eq!(leaf.next_data(8 * US), Some((first, 0, 1)));
    assert_eq!(uplink(&mut leaf, 8, 4, 9), None);
    assert_eq!(uplink(&mut leaf, 9, 5, 10), None);
    assert_eq!(uplink(&mut leaf, 25, 6, 26), Some(first));
}

/// A stopped uplink is left out of all choices until it may send again.
#[test]
fn a_stopped_uplink_is_out_for_new_flows() {
    let flows: Vec<FlowSpec> = (0..40).map(|_| flow(0, 4, 1 << 20, 0)).collect();
    let mut leaf = Script::new(&leaf_spine(ProteusConfig::default()), flows, 8);
    let first = uplink(&mut leaf, 1, 0, 2).unwrap();
    leaf.arrive_pfc(2 * US, first, &[3], u16::MAX);
    uplink(&mut leaf, 3, 1, 4);
    assert_eq!(uplink(&mut leaf, 4, 2, 5), Some(9 - first));
    let new = |leaf: &mut Script, flow: u32| {
        let at = u64::from(flow) * 5 * US;
        leaf.arrive_data(at, 0, flow, 0);
        leaf.next_data(at + US).map(|(port, ..)| port)
    };
    assert!((1..20).all(|flow| new(&mut leaf, flow) == Some(9 - first)));
    leaf.arrive_pfc(97 * US, first, &[3], 0);
    assert_eq!(leaf.next_data(98 * US), Some((first, 0, 1)));
    assert!((20..40).any(|flow| new(&mut leaf, flow) == Some(first)));
}

/// Of two paths that are equal before, flows take the one that has not just been chosen: it counts as 1 us longer.
#[test]
fn a_path_that_was_chosen_counts_as_longer() {
    for (burden, both) in [(Duration::from_us(1), true), (Duration::ZERO, false)] {
        let taken: Vec<bool> = (1..30)
            .map(|seed| {
                let mut spec = leaf_spine(ProteusConfig { burden, ..Default::default() });
                spec.seed = seed;
                let mut leaf = Script::new(&spec, vec![flow(0, 4, 1 << 20, 0), flow(1, 5, 1 << 20, 0)], 8);
                leaf.arrive_data(US, 0, 0, 0);
                leaf.arrive_data(US, 1, 1, 0);
                let mut next = || leaf.next_data(2 * US).unwrap().0;
                next() != next()
            })
            .collect();
        assert_eq!(taken.iter().all(|differ| *differ), both, "{taken:?}");
    }
}

/// Every 10 us a probe goes along each path to the edges that flows go to, in their class, and ends there; when flows are gone, so are probes.
#[test]
fn paths_are_probed_as_long_as_flows_take_them() {
    let config = ProteusConfig {
        probe_period: Some(Duration::from_us(10)),
        flow_timeout: Duration::from_us(25),
        ..Default::default()
    };
    let mut leaf = Script::new(&leaf_spine(config), vec![flow(0, 4, 1 << 20, 0)], 8);
    leaf.arrive_data(US, 0, 0, 0);
    let sent: Vec<_> =
        std::iter::from_fn(|| leaf.next_notice(1000 * US)).map(|(at, port, ..)| (at / US, port)).collect();
    assert_eq!(sent, [(11, 4), (11, 5), (21, 4), (21, 5)]);
    assert_eq!(leaf.counted("probes"), 4);
}

/// What leaf 8 knows of its paths.
fn delays(simulation: &Simulation) -> Vec<Duration> {
    let mut delays = Vec::new();
    let pipeline = simulation.node(NodeId(8)).pipeline().unwrap();
    pipeline.observe_balancing(simulation.now(), &mut |held| {
        if let Held::Path(PathState { delay, .. }) = held {
            delays.push(delay);
        }
    });
    delays
}

/// Spine 10 has a slow link to leaf 9: with stamps and with probes alike, leaf 8 learns that there is a queue.
#[test]
fn queues_are_seen_by_stamps_and_by_probes() {
    for probe_period in [None, Some(Duration::from_us(5))] {
        let mut spec = leaf_spine(ProteusConfig { probe_period, ..Default::default() });
        spec.links[10].rate = backwater_engine::Rate::from_gbps(25);
        spec.switch.buffer = backwater_engine::Bytes(1 << 30);
        let flows = (0..2).map(|host| flow(host, 4 + host, 1 << 22, 0)).collect();
        let mut simulation = Simulation::new(spec, flows, 1).unwrap();
        simulation.run_until(Time::ZERO + Duration::from_us(100), 1);
        let seen = delays(&simulation);
        assert!(seen[0] > seen[1] && seen[0] > Duration::from_us(2), "{seen:?}");
        assert_eq!(simulation.counters().contains_key("probes"), probe_period.is_some());
        common::drain(&mut simulation);
        let outcomes = simulation.outcomes();
        assert!(outcomes.iter().all(|outcome| outcome.acknowledged.is_some()));
        assert_eq!(simulation.audit(), []);
    }
}
