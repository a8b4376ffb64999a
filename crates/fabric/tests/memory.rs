//! Compares the memory that a simulation reports with the allocated memory.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, which prints what it counted")]

#[allow(dead_code, unused_macros, reason = "needs only some of the helpers")]
mod common;

use backwater_engine::{Duration, Time};
use backwater_fabric::Simulation;
use backwater_fabric::driver::outcome::FlowOutcome;
use backwater_fabric::fixtures::{self, flow};
use backwater_fabric::mechanisms::congestion::CongestionConfig;
use backwater_fabric::mechanisms::load_balance::LoadBalanceConfig;
use backwater_fabric::mechanisms::recovery::RecoveryConfig;
use backwater_fabric::network::spec::{FlowSpec, NetworkSpec};
use common::set_error_rate;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Returns 8 leaves with 16 hosts each, and 8 spines.
fn leaf_spine() -> NetworkSpec {
    fixtures::leaf_spine(8, 16, 8)
}

/// Returns the bytes allocated and in use by a simulation that has run for `us`, and the bytes that
/// the simulation reports.
fn compare(spec: NetworkSpec, flows: Vec<FlowSpec>, us: u64) -> (f64, f64) {
    let region = Region::new(ALLOCATOR);
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    simulation.run_until(Time::ZERO + Duration::from_us(us), 1);
    simulation.take_pauses();
    let with_finished = simulation.memory().flows.bytes;
    let finished = simulation.take_finished();
    let of_finished = (finished.capacity() * size_of::<FlowOutcome>()) as u64;
    assert_eq!(with_finished - simulation.memory().flows.bytes, of_finished);
    drop(finished);
    let change = region.change();
    let memory = simulation.memory();
    println!("{memory:#?}");
    let fabric = simulation.fabric();
    assert_eq!(
        (memory.nodes.count, memory.ports.count),
        (fabric.spec.nodes.len() as u64, fabric.wiring.ports.len() as u64)
    );
    let allocated = change.bytes_allocated as f64 - change.bytes_deallocated as f64;
    (allocated - memory.reserved as f64, memory.total() as f64)
}

/// Reported bytes that are not on the heap: the simulation itself.
const OUTSIDE: f64 = 11_974.0;

/// This file has only one test, because the counter counts allocations of the whole process and no
/// other test may run at the same time.
#[test]
fn what_is_counted_is_what_is_allocated() {
    let all_to_one: Vec<FlowSpec> = (1..128).map(|host| flow(host, 0, FlowSpec::ENDLESS, 0)).collect();
    let short = (0..50_000)
        .map(|i| flow(i % 128, (i * 7 + 1) % 128, 500, u64::from(i) * 2))
        .filter(|flow| flow.src != flow.dst);
    let short: Vec<FlowSpec> = short.collect();
    let with = |congestion, recovery| NetworkSpec { congestion, recovery, ..leaf_spine() };
    let balanced = |load_balance| NetworkSpec { load_balance, ..leaf_spine() };
    let hpcc = with(CongestionConfig::Hpcc(Default::default()), RecoveryConfig::Irn(Default::default()));
    let pcn = with(CongestionConfig::Pcn(Default::default()), RecoveryConfig::InAnyOrder(Default::default()));
    let mp_rdma = || with(CongestionConfig::MpRdma(Default::default()), RecoveryConfig::MpRdma(Default::default()));
    let mut unreliable = leaf_spine();
    set_error_rate(&mut unreliable, 1e-4);
    let (exact, of_maps) = (1000.0, 150_000.0);
    let runs = [
        (leaf_spine(), Vec::new(), 1, exact),
        (leaf_spine(), all_to_one.clone(), 200, exact),
        (leaf_spine(), short.clone(), 50, exact),
        (hpcc, short.clone(), 50, exact),
        (pcn, short.clone(), 50, exact),
        (mp_rdma(), short.clone(), 50, exact),
        (mp_rdma(), all_to_one.clone(), 200, exact),
        // Reports of hash maps include the slots of entries, but neither control bytes nor free
        // slots.
        (balanced(LoadBalanceConfig::LetFlow(Default::default())), short.clone(), 50, of_maps),
        (balanced(LoadBalanceConfig::Conga(Default::default())), short, 50, of_maps),
        (unreliable, Vec::new(), 1, exact),
    ];
    for (spec, flows, us, tolerance) in runs {
        let (allocated, counted) = compare(spec, flows, us);
        println!("{allocated} B allocated, {counted} B counted");
        assert!((counted - allocated - OUTSIDE).abs() < tolerance, "{allocated} B allocated, {counted} B counted");
    }
}
