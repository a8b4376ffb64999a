//! Any two mechanisms of different slots run together: every pair of them, in as few schemes as that takes, on two kinds of networks.

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
    // At least as many as the two largest slots have pairs, and far fewer than the product.
    assert!((20..40).contains(&rows.len()), "{}", rows.len());
}

/// Two leaves of four hosts, and two spines.
fn leaf_spine() -> NetworkSpec {
    let mut spec = network(8, 4);
    spec.links = (0..8).map(|host| link(host, 8 + host / 4, 100, 1000)).collect();
    spec.links.extend([(8, 10), (8, 11), (9, 10), (9, 11)].map(|(leaf, spine)| link(leaf, spine, 100, 1000)));
    spec
}

/// Incast to the last host, beside flows that cross it.
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
        for (network, hosts) in [(leaf_spine(), 8), (bcube(3, 100, 1000), 9)] {
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
            // Mechanisms say themselves where they do not apply.
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
