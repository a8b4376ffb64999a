//! Compares the analysis with simulations. If the analysis excludes that an innocent flow is
//! blocked, the simulation must not block it. If the analysis names a victim, the simulation must
//! block this flow.

use crate::cases::cases;
use crate::common::networks::{self, flow, leaf_spine};
use backwater_analysis::answer::ProtocolAnswer;
use backwater_analysis::{Dependencies, Question, QueueGraph, analyze, network};
use backwater_engine::random::Seed;
use backwater_engine::{Bytes, Duration, Rate, Time};
use backwater_fabric::Simulation;
use backwater_fabric::ids::{Class, PortId};
use backwater_fabric::mechanisms::flow_control::FlowControlConfig;
use backwater_fabric::mechanisms::flow_control::pfc::{PfcConfig, Relaying};
use backwater_fabric::mechanisms::flow_control::port_fc::PortFcConfig;
use backwater_fabric::mechanisms::headroom::HeadroomConfig;
use backwater_fabric::mechanisms::headroom::static_threshold::StaticConfig;
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::spec::{FlowSpec, NetworkSpec};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Hosts at each of three leaves. Uplinks are four times as fast as host links, so only ports to
/// hosts stay congested.
const PER_LEAF: u32 = 4;
const HOSTS: u32 = 3 * PER_LEAF;

fn pfc() -> NetworkSpec {
    let mut spec = leaf_spine(3, PER_LEAF, 2);
    spec.links.iter_mut().skip(HOSTS as usize).for_each(|link| link.rate = Rate::from_gbps(400));
    spec.switch.buffer = Bytes(64 << 20);
    spec.switch.headroom =
        HeadroomConfig::Static(StaticConfig { xoff: Bytes(20_000), xon: Some(Bytes(15_000)), headroom: None });
    spec
}

fn pyrrha() -> NetworkSpec {
    let mut spec = pfc();
    spec.switch.flow_control = FlowControlConfig::Pyrrha(Default::default());
    spec.switch.lossless = Vec::new();
    spec
}

/// Returns the time for which each flow was innocently blocked within 500 us, and the ports that
/// caused pauses.
fn simulate(spec: NetworkSpec, flows: &[FlowSpec]) -> (Vec<Duration>, BTreeSet<String>) {
    let mut simulation = Simulation::new(spec, flows.to_vec(), 1).unwrap();
    simulation.run_until(Time::ZERO + Duration::from_us(500), 1);
    let pauses = simulation.take_pauses();
    let causes = pauses.iter().map(|pause| simulation.fabric().port_name(pause.closure.cause.root)).collect();
    let mut outcomes = simulation.unfinished();
    outcomes.sort_by_key(|outcome| outcome.flow);
    (outcomes.iter().map(|outcome| outcome.reception.blocked).collect(), causes)
}

/// Returns the analysis of one protocol for these congested ports.
fn theory(
    spec: NetworkSpec,
    flows: &[FlowSpec],
    protocol: &str,
    congested: impl IntoIterator<Item = String>,
) -> ProtocolAnswer {
    let question = Question {
        congested: congested.into_iter().collect(),
        protocols: vec![protocol.into()],
        flows: flows.len(),
        own_root_rule: true,
        names: false,
    };
    analyze(spec, flows.to_vec(), &question).unwrap().protocols.remove(0)
}

proptest! {
    #![proptest_config(cases(60))]

    /// Whatever ports are congested, under Pyrrha no flow waits for a port that it does not pass.
    /// Under PFC a flow does so only if the analysis allows it.
    #[test]
    fn nobody_is_blocked_where_the_theory_forbids_it(ends in prop::collection::vec((0..HOSTS, 1..HOSTS), 2..12)) {
        let flows: Vec<FlowSpec> = ends.iter().map(|(src, ahead)| flow(*src, (src + ahead) % HOSTS)).collect();
        let (blocked, causes) = simulate(pyrrha(), &flows);
        prop_assert!(blocked.iter().all(|blocked| *blocked == Duration::ZERO), "{:?}", blocked);
        if !causes.is_empty() {
            prop_assert!(theory(pyrrha(), &flows, "pyrrha", causes).hol_free);
        }
        let (blocked, causes) = simulate(pfc(), &flows);
        let somebody = blocked.iter().any(|blocked| *blocked > Duration::ZERO);
        prop_assert!(!somebody || !theory(pfc(), &flows, "pfc", causes).hol_free);
    }

    /// Senders at two leaves send to the first host of the third leaf, and one flow from the first
    /// leaf goes to that host's neighbour. The analysis names this flow as a victim, and PFC blocks
    /// it.
    #[test]
    fn the_victim_that_the_theory_names_is_blocked(here in 1u32..4, there in 1u32..4, spine in 0u32..2) {
        let root = 2 * PER_LEAF;
        let via = |leaf: u32| {
            [HOSTS + leaf, HOSTS + 3 + spine, HOSTS + 2].map(backwater_fabric::ids::NodeId).to_vec()
        };
        let pinned = |src: u32, dst: u32| flow(src, dst).via(via(src / PER_LEAF), vec![]);
        let mut flows: Vec<FlowSpec> =
            (0..here).chain(PER_LEAF..PER_LEAF + there).map(|src| pinned(src, root)).collect();
        flows.push(pinned(PER_LEAF - 1, root + 1));
        let congested = || ["s2:0".to_owned()];
        let expected = theory(pfc(), &flows, "pfc", congested());
        prop_assert_eq!(expected.causes[0].innocent_flows, 1);
        let victim = flows.len() - 1;
        let blocked = simulate(pfc(), &flows).0;
        prop_assert!(blocked[victim] > Duration::ZERO);
        prop_assert!(theory(pyrrha(), &flows, "pyrrha", congested()).hol_free);
        prop_assert!(simulate(pyrrha(), &flows).0.iter().all(|blocked| *blocked == Duration::ZERO));
    }
}

/// Returns a BCube(n, 1) with early pauses under `protocol`, named as in the analysis.
fn bcube_under(protocol: &str, n: u32) -> NetworkSpec {
    let mut spec = networks::bcube(n, 1);
    spec.switch.buffer = Bytes(64 << 20);
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(15_000), ..Default::default() });
    let pfc = |relays| FlowControlConfig::Pfc(PfcConfig { relays, ..Default::default() });
    spec.switch.flow_control = match protocol {
        "pfc" => pfc(Relaying::Ingress),
        "pfc-forward" => pfc(Relaying::Forward),
        "pfc-star" => {
            spec.switch.lossless = vec![Class(3), Class(4)];
            FlowControlConfig::PfcStar(Default::default())
        }
        _ => {
            let shared = StaticConfig { xoff: Bytes(1 << 40), xon: None, headroom: Some(Bytes(0)) };
            spec.switch.headroom = HeadroomConfig::Static(shared);
            FlowControlConfig::PortFc(PortFcConfig { xoff: 0.6, xon: 0.4, ..Default::default() })
        }
    };
    spec
}

/// Returns the ports of a deadlock within 2 ms, if any. Each port waits for the next.
fn deadlock(spec: NetworkSpec, flows: &[FlowSpec]) -> Option<Vec<PortId>> {
    let mut simulation = Simulation::new(spec, flows.to_vec(), 1).unwrap();
    let found = (1..=100).find_map(|step| {
        simulation.run_until(Time::ZERO + Duration::from_us(20 * step), 1);
        simulation.find_deadlock()
    })?;
    Some(found.cycle.into_iter().map(|(port, _)| port).collect())
}

/// True if, according to the analysis, these ports have queues that can wait for each other in this
/// order. A queue of the last port must wait for a queue of the first.
fn is_foreseen(spec: NetworkSpec, flows: &[FlowSpec], protocol: &str, ports: &[PortId]) -> bool {
    let mut fabric = Fabric::new(spec).unwrap();
    let flows = network::flows(&mut fabric, flows.to_vec()).unwrap();
    let case = network::case(&fabric, flows, BTreeSet::new());
    let protocol = backwater_analysis::protocol::parse(protocol, true).unwrap();
    let graph = QueueGraph::new(&case, protocol.as_ref());
    let dependencies = Dependencies::new(&case, protocol.as_ref(), &graph);
    let waits = |(port, next): (&PortId, &PortId)| {
        let mut queues = (0..graph.queues.len()).filter(|queue| graph.queues[*queue].port == *port);
        queues.any(|queue| dependencies.holders(queue).iter().any(|holder| graph.queues[*holder].port == *next))
    };
    dependencies.cycle().is_some() && ports.iter().zip(ports.iter().cycle().skip(1)).all(waits)
}

/// Simulates 40 BCubes with random flows and counts deadlocks. Each deadlock must be a cycle of the
/// analysis.
fn locked(protocol: &str) -> usize {
    let mut draws = Seed(5).stream("test", 0);
    let mut draw = |below: u32| draws.below(below.into()) as u32;
    let mut is_locked = |case: u32| {
        let n = 2 + case % 7;
        let servers = n * n;
        let flows: Vec<FlowSpec> = (0..(3 * servers).min(100))
            .map(|_| {
                let src = draw(servers);
                FlowSpec { bytes: 1_000_000, ..flow(src, (src + 1 + draw(servers - 1)) % servers) }
            })
            .collect();
        let spec = bcube_under(protocol, n);
        let ports = deadlock(spec.clone(), &flows);
        if let Some(ports) = &ports {
            assert!(is_foreseen(spec, &flows, protocol, ports), "{protocol}: {ports:?}");
        }
        ports.is_some()
    };
    (0..40).filter(|case| is_locked(*case)).count()
}

#[test]
fn deadlocks_of_pfc_are_cycles_of_the_analysis() {
    assert!(locked("pfc") > 0);
}

#[test]
fn deadlocks_of_pfc_forward_are_cycles_of_the_analysis() {
    assert!(locked("pfc-forward") > 0);
}

#[test]
fn there_is_no_deadlock_under_pfc_star() {
    assert_eq!(locked("pfc-star"), 0);
}

#[test]
fn there_is_no_deadlock_under_port_fc() {
    assert_eq!(locked("port-fc"), 0);
}
