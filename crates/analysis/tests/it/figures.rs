//! The two scenarios of section VII of the Pyrrha paper, and small cases at the limits of its
//! theorems.

use crate::common::{blocking, case, cycle, protocol};
use backwater_analysis::overflow::overflows;
use backwater_analysis::protocol::{Bfc, PerDestination, PerFlow, Pfc, Protocol, Pyrrha, QueueId};
use backwater_analysis::{Case, Dependencies, QueueGraph};

const RING: [&str; 3] = ["A1", "B1", "C1"];

/// Returns the case of Figure 12: one flow circulates in a loop. C1 is congested first.
fn one_flow_in_a_loop() -> Case {
    case(&[&["A1", "B1", "C1", "A1"]], &["C1"])
}

/// Returns the case of Figure 13: three flows, none of which passes a port twice, form a ring. C1
/// is congested first, and finally all three ports are congested.
fn three_flows_in_a_ring(congested: &[&str]) -> Case {
    case(&[&["A1", "B1", "C2"], &["B1", "C1", "A2"], &["C1", "A1", "B2"]], congested)
}

fn queues(count: u32) -> Bfc {
    Bfc::Queues(count.try_into().unwrap())
}

#[test]
fn figure_12_only_pyrrha_breaks_a_loop() {
    let case = one_flow_in_a_loop();
    let waiting: [&dyn Protocol; 5] = [&Pfc, &Bfc::WorstCase, &queues(128), &PerDestination, &PerFlow];
    for protocol in waiting {
        assert_eq!(cycle(&case, protocol).as_deref(), Some(&RING[..]), "{}", protocol.name());
    }
    assert_eq!(cycle(&case, &Pyrrha { own_root_rule: true }), None);
    assert_eq!(cycle(&case, &Pyrrha { own_root_rule: false }).as_deref(), Some(&RING[..]));
}

#[test]
fn figure_12_the_output_queue_of_the_root_waits_for_nobody() {
    let case = one_flow_in_a_loop();
    let protocol = Pyrrha { own_root_rule: true };
    let graph = QueueGraph::new(&case, &protocol);
    let names: Vec<_> = graph.queues.iter().map(|queue| queue.describe(&case)).collect();
    assert_eq!(names, ["the isolation queue of C1", "the isolation queue of C1", "the output queue"]);
    let dependencies = Dependencies::new(&case, &protocol, &graph);
    assert_eq!([0, 1, 2].map(|queue| dependencies.holders(queue)), [&[1][..], &[2], &[]]);
}

/// With the own-root rule, C1 still sends when A1 is full. This breaks the cycle of waiting queues,
/// but A1 can overflow.
#[test]
fn figure_12_the_root_overruns_the_queue_behind_it() {
    let case = one_flow_in_a_loop();
    for (own_root_rule, expected) in [(true, vec![("A1", "C1")]), (false, vec![])] {
        let protocol = Pyrrha { own_root_rule };
        let graph = QueueGraph::new(&case, &protocol);
        let found = overflows(&case, &protocol, &graph, &Dependencies::new(&case, &protocol, &graph));
        let port = |queue: usize| case.port(graph.queues[queue].port).name.as_str();
        let found: Vec<_> = found.iter().map(|found| (port(found.queue), port(found.feeder))).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn figure_13_queues_of_their_own_keep_flows_apart() {
    for congested in [&["C1"][..], &RING] {
        let case = three_flows_in_a_ring(congested);
        for protocol in [&Pfc as &dyn Protocol, &Bfc::WorstCase, &queues(1)] {
            assert_eq!(cycle(&case, protocol).as_deref(), Some(&RING[..]), "{}", protocol.name());
        }
        for protocol in [&queues(128) as &dyn Protocol, &PerDestination, &PerFlow] {
            assert_eq!(cycle(&case, protocol), None, "{}", protocol.name());
        }
        for own_root_rule in [true, false] {
            assert_eq!(cycle(&case, &Pyrrha { own_root_rule }), None);
        }
    }
}

/// In the final state of Figure 13(c), each port of the ring has an output queue and one isolation
/// queue.
#[test]
fn figure_13_the_queues_of_pyrrha() {
    let case = three_flows_in_a_ring(&RING);
    let graph = QueueGraph::new(&case, &Pyrrha { own_root_rule: true });
    let mut names: Vec<String> =
        graph.queues.iter().map(|queue| format!("{}: {}", case.port(queue.port).name, queue.describe(&case))).collect();
    names.sort();
    let ring = [
        "A1: the isolation queue of B1",
        "A1: the output queue",
        "B1: the isolation queue of C1",
        "B1: the output queue",
        "C1: the isolation queue of A1",
        "C1: the output queue",
    ];
    assert_eq!(names.iter().filter(|name| name.contains('1')).collect::<Vec<_>>(), ring.iter().collect::<Vec<_>>());
    let blocking = blocking(&case, &Pyrrha { own_root_rule: true });
    assert!(blocking.is_free());
    assert_eq!((blocking.queues.values().sum::<usize>(), blocking.paused_queues), (6, 3));
}

/// Returns an incast to X, and a flow to X's neighbour Y that shares port S1 with the incast.
fn victim() -> Case {
    case(&[&["H1", "S1", "LX"], &["I1", "L2", "LX"], &["V1", "S1", "LY"]], &["LX"])
}

#[test]
fn an_innocent_flow_is_named() {
    let case = victim();
    let graph = QueueGraph::new(&case, &Pfc);
    let found = blocking(&case, &Pfc).counterexample().unwrap();
    assert_eq!(case.port(found.cause).name, "LX");
    assert_eq!((case.flow(found.innocent).name.as_str(), case.flow(found.culprit).name.as_str()), ("F3", "F1"));
    let queue = &graph.queues[found.queue];
    assert_eq!((case.port(queue.port).name.as_str(), queue.describe(&case).as_str()), ("S1", "the queue of class 3"));
    for free in ["per-flow", "per-destination", "pyrrha"] {
        assert!(blocking(&case, &*protocol(free)).is_free(), "{free}");
    }
}

/// Definitions 3 to 6 and the numbers of queues of section VI-C, counted by hand.
#[test]
fn sets_and_queues_are_counted() {
    let case = victim();
    let pfc = blocking(&case, &Pfc);
    let [cause] = &pfc.causes[..] else { panic!("one port is congested") };
    assert_eq!((cause.congested_flows, cause.paused_ports.len(), cause.paused_queues.len()), (2, 4, 4));
    assert_eq!((cause.paused_flows, cause.innocent_flows), (3, 1));
    let at = |name: &str| case.port(*pfc.blocked_at.first().unwrap()).name == name;
    assert!(at("S1") && pfc.blocked_at.len() == 1);
    // H1, S1, I1 and L2 can be paused, and LX is congested. V1 and LY are neither paused nor
    // congested.
    assert_eq!((pfc.queues.len(), pfc.most_queues().unwrap().1, pfc.paused_queues), (5, 1, 4));
    let per_flow = blocking(&case, &PerFlow);
    assert_eq!((per_flow.queues.values().sum::<usize>(), per_flow.paused_queues), (6, 4));
    assert_eq!(case.port(per_flow.most_queues().unwrap().0).name, "LX");
}

/// A port without flows blocks no flow.
#[test]
fn a_congested_port_without_flows_pauses_nothing() {
    let case = case(&[&["H1", "L1"]], &["L9"]);
    let blocking = blocking(&case, &Pfc);
    assert!(blocking.is_free() && blocking.queues.is_empty() && blocking.most_queues().is_none());
}

/// Definition 7 depends on whether a flow passes the congested port, not on the order of ports. If
/// two flows pass two ports in opposite orders, Lemma 2 and Theorem 2 do not hold. F2 passes C1
/// before P1, so Pyrrha separates F2 from F1. By the definition, however, a common queue for both
/// flows blocks no innocent flow.
#[test]
fn theorem_2_needs_ports_in_one_order() {
    let case = case(&[&["P1", "C1"], &["C1", "P1"]], &["P1", "C1"]);
    let (pyrrha, pfc) = (blocking(&case, &Pyrrha { own_root_rule: true }), blocking(&case, &Pfc));
    assert_eq!((pyrrha.queues.values().sum::<usize>(), pfc.queues.values().sum::<usize>()), (4, 2));
    assert!(pyrrha.is_free() && pfc.is_free());
}

/// Three flows reach one congested port on different paths around a ring, so the isolation queues
/// of this root wait for each other. Section VII covers only two other scenarios.
#[test]
fn pyrrha_deadlocks_if_paths_to_one_root_form_a_ring() {
    let flows: [&[&str]; 3] = [&["A1", "B1", "B2", "D1"], &["B1", "C1", "C2", "D1"], &["C1", "A1", "A2", "D1"]];
    for own_root_rule in [true, false] {
        assert_eq!(cycle(&case(&flows, &["D1"]), &Pyrrha { own_root_rule }).as_deref(), Some(&RING[..]));
    }
    // If no port outside the ring is congested, there is no isolation queue and no cycle.
    assert_eq!(cycle(&case(&flows, &["C1"]), &Pyrrha { own_root_rule: true }), None);
}

/// With two congested ports on a loop, every isolation queue of both roots waits for one of these
/// roots, all around the loop.
#[test]
fn two_roots_on_a_loop_wait_for_each_other() {
    let case = case(&[&["A1", "B1", "C1", "D1", "A1"]], &["B1", "D1"]);
    let protocol = Pyrrha { own_root_rule: true };
    assert_eq!(cycle(&case, &protocol).as_deref(), Some(&["A1", "B1", "C1", "D1"][..]));
    let graph = QueueGraph::new(&case, &protocol);
    let roots: Vec<usize> = graph.queues.iter().map(|queue| queue.id.roots().len()).collect();
    assert_eq!(roots, [2, 1, 2, 1]);
    assert!(graph.queues.iter().all(|queue| matches!(queue.id, QueueId::Roots(_))));
}

/// Under the own-root rule, flows that will pass another port of the same switch share queues with
/// other flows. On paths that pass a switch twice, this can close a cycle of two roots that does
/// not exist without the rule.
#[test]
fn the_own_root_rule_can_close_a_cycle() {
    let flows: [&[&str]; 4] = [
        &["X2", "P1", "Y1", "X9", "Y9"],
        &["Y1", "P2", "Y2", "X9"],
        &["Y2", "P3", "X1", "Y9", "X9"],
        &["X1", "P4", "X2", "Y9"],
    ];
    let case = case(&flows, &["X9", "Y9"]);
    let circle = ["X2", "P1", "Y1", "P2", "Y2", "P3", "X1", "P4"];
    assert_eq!(cycle(&case, &Pyrrha { own_root_rule: true }).as_deref(), Some(&circle[..]));
    assert_eq!(cycle(&case, &Pyrrha { own_root_rule: false }), None);
}
