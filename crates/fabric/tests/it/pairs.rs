//! Runs all pairs of mechanisms of different slots, in as few schemes as possible, on two kinds of
//! networks.

use crate::common::{covering, run_shards};
use crate::prelude::*;

#[test]
fn a_covering_holds_every_pair() {
    let sizes = [3, 4, 2, 5];
    let rows = covering(&sizes);
    for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
        let found: BTreeSet<_> = rows.iter().map(|row| (row[a], row[b])).collect();
        assert_eq!(found.len(), sizes[a] * sizes[b]);
    }
    // The number of rows is at least the number of pairs of the two largest slots, and far below
    // the number of all combinations.
    assert!((20..40).contains(&rows.len()), "{}", rows.len());
}

/// Returns an incast to the last host, and flows that cross the incast.
fn flows(hosts: u32) -> Vec<FlowSpec> {
    let incast = (0..hosts - 1).map(|src| flow(src, hosts - 1, 60_000, 0));
    let crossing = (0..hosts).map(|src| flow(src, (src + hosts / 2) % hosts, 30_000, 1000));
    incast.chain(crossing).collect()
}

fn schedulers() -> Vec<(SchedulerConfig, HostScheduler)> {
    let quantum = Bytes(1600);
    vec![
        (SchedulerConfig::RoundRobin {}, HostScheduler::RelayFirst {}),
        (SchedulerConfig::LowestFirst {}, HostScheduler::Fair {}),
        (SchedulerConfig::Dwrr { quantum }, HostScheduler::Dwrr { quantum }),
    ]
}

#[test]
fn every_two_mechanisms_run_together() {
    let (flow_controls, policies) = (FlowControlConfig::all(), HeadroomConfig::all());
    let (congestions, balancers, recoveries) =
        (CongestionConfig::all(), LoadBalanceConfig::all(), RecoveryConfig::all());
    let acks = [Class::CONTROL, Class(3)];
    let sizes = [
        flow_controls.len(),
        policies.len(),
        congestions.len(),
        balancers.len(),
        recoveries.len(),
        schedulers().len(),
        acks.len(),
    ];
    let (mut ran, mut refused) = (0, 0);
    for row in covering(&sizes) {
        for (network, hosts) in [(leaf_spine(2, 4, 2), 8), (bcube(3, 1), 9)] {
            let mut spec = network;
            spec.switch.flow_control = flow_controls[row[0]].clone();
            spec.switch.headroom = policies[row[1]].clone();
            if spec.switch.flow_control.facts(false).raises_classes {
                spec.switch.lossless = [3, 4, 5].map(Class).to_vec();
            }
            spec.congestion = congestions[row[2]].clone();
            spec.load_balance = balancers[row[3]].clone();
            spec.recovery = recoveries[row[4]].clone();
            (spec.switch.scheduler, spec.host.scheduler) = schedulers()[row[5]];
            spec.host.ack_class = acks[row[6]];
            let names = format!(
                "{} {} {} {} {} {:?} {:?}",
                spec.switch.flow_control.name(),
                spec.switch.headroom.name(),
                spec.congestion.name(),
                spec.load_balance.name(),
                spec.recovery.name(),
                spec.host.scheduler,
                spec.host.ack_class
            );
            // A mechanism that does not apply is refused with a reason.
            if let Err(errors) = Fabric::new(spec.clone()) {
                assert!(errors.iter().all(|error| error.to_string().len() > 20), "{names}: {errors:?}");
                refused += 1;
                continue;
            }
            let (simulation, outcomes) = run_shards(&spec, flows(hosts), 2);
            assert_eq!(simulation.audit(), [], "{names}");
            assert_eq!(simulation.violations(), [], "{names}");
            for outcome in &outcomes {
                assert_eq!(outcome.reception.delivered, outcome.spec.bytes, "{names}: {outcome:?}");
                assert!(outcome.acknowledged > Some(Time::ZERO), "{names}: {outcome:?}");
            }
            assert!(simulation.is_quiet(), "{names}");
            ran += 1;
        }
    }
    assert!(ran > refused, "{ran} ran, {refused} were refused");
}
