//! Checks that packets and events allocate no memory in steady state.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, which prints what it counted")]

#[allow(dead_code, unused_macros, reason = "needs only some of the helpers")]
mod common;

use backwater_engine::{Duration, Rate, Time};
use backwater_fabric::Simulation;
use backwater_fabric::fixtures::{flow, leaf_spine, star};
use backwater_fabric::mechanisms::congestion::CongestionConfig;
use backwater_fabric::mechanisms::load_balance::LoadBalanceConfig;
use backwater_fabric::mechanisms::recovery::RecoveryConfig;
use backwater_fabric::network::spec::{FlowSpec, NetworkSpec};
use common::mechanisms::PathCycling;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Returns the numbers of allocations (reallocations included) and of packet-hops in the
/// millisecond that follows `warm_up` milliseconds.
fn steady_state(spec: NetworkSpec, flows: Vec<FlowSpec>, warm_up: u64) -> (usize, u64) {
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    let millisecond = |n: u64| Time::ZERO + Duration::from_ms(n);
    simulation.run_until(millisecond(warm_up), 1);
    let before = simulation.totals().packet_hops;
    let region = Region::new(ALLOCATOR);
    simulation.run_until(millisecond(warm_up + 1), 1);
    let change = region.change();
    (change.allocations + change.reallocations, simulation.totals().packet_hops - before)
}

/// This file has only one test, because the counter counts allocations of the whole process and no
/// other test may run at the same time.
#[test]
fn packets_and_events_do_not_allocate() {
    let endless = |src, dst| flow(src, dst, FlowSpec::ENDLESS, 0);
    let ring = (0..8).map(|host| endless(host, (host + 1) % 8)).collect();
    let (allocations, hops) = steady_state(star(8), ring, 4);
    println!("uncongested: {allocations} allocations in {hops} packet-hops");
    assert!(hops > 100_000);
    assert_eq!(allocations, 0);

    // An incast under PFC. Finished pauses are kept as results, in a list that doubles its capacity
    // when it is full. No other data structure may grow.
    let incast = (0..7).map(|host| endless(host, 7)).collect();
    let (allocations, hops) = steady_state(star(8), incast, 10);
    println!("incast: {allocations} allocations in {hops} packet-hops");
    assert!(hops > 10_000);
    assert!(allocations <= 2, "{allocations}");

    // LetFlow and CONGA keep tables in switches. In the other two runs, hosts choose the path of
    // each packet.
    let none = CongestionConfig::None(Default::default());
    for (load_balance, congestion) in [
        (LoadBalanceConfig::LetFlow(Default::default()), none.clone()),
        (LoadBalanceConfig::Conga(Default::default()), none.clone()),
        (LoadBalanceConfig::custom(PathCycling(None)), none),
        (LoadBalanceConfig::Ecmp(Default::default()), CongestionConfig::MpRdma(Default::default())),
    ] {
        let kind = format!("{} {}", load_balance.name(), congestion.name());
        let mut spec = leaf_spine(2, 4, 2);
        for uplink in &mut spec.links[8..] {
            uplink.rate = Rate::from_gbps(400);
        }
        (spec.load_balance, spec.congestion) = (load_balance, congestion);
        spec.recovery = RecoveryConfig::InAnyOrder(Default::default());
        let across = (0..8).map(|host| endless(host, (host + 4) % 8)).collect();
        let (allocations, hops) = steady_state(spec, across, 4);
        println!("{kind}: {allocations} allocations in {hops} packet-hops");
        assert!(hops > 100_000);
        assert_eq!(allocations, 0);
    }
}
