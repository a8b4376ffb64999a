//! The theorems of the Pyrrha paper as properties of random cases, with their conditions.

use crate::cases::cases;
use crate::common::blocking;
use crate::common::random::{any_paths, shortest_paths};
use backwater_analysis::overflow::overflows;
use backwater_analysis::protocol::{Bfc, NAMES, PerFlow, Pfc, Protocol, Pyrrha, Queue, QueueId, parse};
use backwater_analysis::{Blocking, Case, Dependencies, QueueGraph};
use backwater_fabric::ids::{FlowId, PortId};
use proptest::prelude::*;
use std::collections::BTreeSet;

const PYRRHA: Pyrrha = Pyrrha { own_root_rule: true };

fn is_deadlock_free(case: &Case, protocol: &dyn Protocol) -> bool {
    let graph = QueueGraph::new(case, protocol);
    Dependencies::new(case, protocol, &graph).cycle().is_none()
}

fn queues_at(case: &Case, port: PortId) -> Vec<QueueId> {
    let graph = QueueGraph::new(case, &PYRRHA);
    graph.queues.into_iter().filter(|queue| queue.port == port).map(|queue| queue.id).collect()
}

/// Pyrrha with two queues of a port merged. A PAUSE for any flow in the merged queue pauses the
/// whole queue (definition 5).
struct Merged<'a> {
    port: PortId,
    one: &'a QueueId,
    other: &'a QueueId,
}

impl Protocol for Merged<'_> {
    fn name(&self) -> String {
        "merged".into()
    }

    fn queue(&self, case: &Case, flow: FlowId, hop: usize) -> QueueId {
        let id = PYRRHA.queue(case, flow, hop);
        let is_merged = case.flow(flow).path.ports()[hop] == self.port && id == *self.other;
        if is_merged { self.one.clone() } else { id }
    }
}

/// Checks Lemma 2 for every pair of queues: if they are merged, an innocent flow is blocked.
fn check_merging(case: &Case) -> Result<(), TestCaseError> {
    let ports: BTreeSet<PortId> = case.flows().iter().flat_map(|flow| flow.path.ports()).copied().collect();
    for port in ports {
        let queues = queues_at(case, port);
        for (i, one) in queues.iter().enumerate() {
            for other in &queues[i + 1..] {
                let found = blocking(case, &Merged { port, one, other });
                prop_assert!(found.blocked_at.contains(&port), "{} {one:?} {other:?}", case.port(port).name);
            }
        }
    }
    Ok(())
}

/// Checks Lemma 2 for whole protocols: with fewer queues at a port, an innocent flow is blocked
/// there.
fn check_fewer_queues(case: &Case, protocol: &dyn Protocol) -> Result<(), TestCaseError> {
    let (pyrrha, other) = (blocking(case, &PYRRHA), blocking(case, protocol));
    for (port, queues) in &pyrrha.queues {
        let fewer = other.queues.get(port).copied().unwrap_or(0) < *queues;
        prop_assert!(!fewer || other.blocked_at.contains(port), "{} at {}", protocol.name(), case.port(*port).name);
    }
    let total = |blocking: &Blocking| blocking.queues.values().sum::<usize>();
    prop_assert!(total(&other) >= total(&pyrrha) || !other.is_free(), "{}", protocol.name());
    Ok(())
}

/// True if for every port and every congested port all flows pass the two in the same order, and no
/// flow returns to a congested port.
fn is_in_one_order(case: &Case) -> bool {
    let comes_before = |flow: FlowId, first: PortId, second: PortId| {
        let path = &case.flow(flow).path;
        path.position(first).is_some_and(|hop| path.ahead(hop).any(|port| port == second))
    };
    let pairs = case.congested().iter().flat_map(|root| {
        let flows = case.through(*root).iter();
        flows.flat_map(|flow| case.flow(*flow).path.ports()).map(move |port| (*root, *port))
    });
    BTreeSet::from_iter(pairs).into_iter().all(|(root, port)| {
        let orders = |first, second| case.through(root).iter().any(|flow| comes_before(*flow, first, second));
        !(orders(root, port) && orders(port, root))
    })
}

/// True if the ports before `root` on all paths have a common order.
fn is_ordered_towards(case: &Case, root: PortId) -> bool {
    struct ToRoot(PortId);
    impl Protocol for ToRoot {
        fn name(&self) -> String {
            "to root".into()
        }
        fn queue(&self, case: &Case, flow: FlowId, hop: usize) -> QueueId {
            let is_before = case.flow(flow).path.hops_before(self.0).contains(&hop);
            QueueId::Number(u32::from(is_before))
        }
        fn holds_back(&self, queue: &Queue, next: &Queue) -> bool {
            queue.id == QueueId::Number(1) && next.id == QueueId::Number(1)
        }
    }
    is_deadlock_free(case, &ToRoot(root))
}

proptest! {
    #![proptest_config(cases(400))]

    /// Theorem 1: on any paths, Pyrrha blocks no innocent flow.
    #[test]
    fn theorem_1(case in prop_oneof![shortest_paths(), any_paths()], own_root_rule: bool) {
        let protocol = Pyrrha { own_root_rule };
        prop_assert!(blocking(&case, &protocol).is_free());
    }

    /// A queue per flow also blocks no innocent flow.
    #[test]
    fn per_flow_queues_block_nobody(case in prop_oneof![shortest_paths(), any_paths()]) {
        prop_assert!(blocking(&case, &PerFlow).is_free());
    }

    /// Lemma 2 holds on shortest paths, where no two flows pass two ports in opposite orders.
    #[test]
    fn lemma_2_on_shortest_paths(case in shortest_paths()) {
        prop_assert!(is_in_one_order(&case));
        check_merging(&case)?;
    }

    /// Lemma 2 holds on any paths if all flows pass a port and a congested port in the same order.
    /// The own-root rule is covered by a test of its own.
    #[test]
    fn lemma_2_on_ordered_paths(case in any_paths()) {
        prop_assume!(is_in_one_order(&case));
        check_merging(&case)?;
    }

    /// Theorem 2: protocols with fewer queues, at one port or in total, block an innocent flow.
    #[test]
    fn theorem_2(case in shortest_paths(), queues in 1u32..6) {
        check_fewer_queues(&case, &Pfc)?;
        check_fewer_queues(&case, &Bfc::WorstCase)?;
        check_fewer_queues(&case, &Bfc::Queues(queues.try_into().unwrap()))?;
    }

    /// Under Pyrrha, the isolation queues are exactly the queues that can be paused.
    #[test]
    fn paused_queues_are_isolation_queues(case in prop_oneof![shortest_paths(), any_paths()], own_root_rule: bool) {
        let protocol = Pyrrha { own_root_rule };
        let graph = QueueGraph::new(&case, &protocol);
        let isolation = graph.queues.iter().filter(|queue| !queue.id.roots().is_empty()).count();
        prop_assert_eq!(blocking(&case, &protocol).paused_queues, isolation);
    }

    /// Section VII, as far as it holds: isolation queues form no cycle if the paths to each
    /// congested port have a common order. This property is without the own-root rule, which the
    /// next property covers.
    #[test]
    fn pyrrha_waits_in_a_circle_only_if_ways_to_a_root_do(case in any_paths()) {
        prop_assume!(case.congested().iter().all(|root| is_ordered_towards(&case, *root)));
        let protocol = Pyrrha { own_root_rule: false };
        prop_assert!(is_deadlock_free(&case, &protocol));
    }

    /// The own-root rule affects only paths that pass a switch twice.
    #[test]
    fn the_own_root_rule_is_for_loops(case in shortest_paths()) {
        let queues = |own_root_rule| QueueGraph::new(&case, &Pyrrha { own_root_rule }).queues;
        prop_assert_eq!(queues(true), queues(false));
    }

    /// On shortest paths, every hop towards a root reduces the distance to the root, so the paths
    /// have a common order.
    #[test]
    fn pyrrha_never_waits_in_a_circle_on_shortest_paths(case in shortest_paths()) {
        prop_assert!(is_deadlock_free(&case, &PYRRHA));
    }

    /// In BFC's worst case, all flows of a port share one queue, so queues depend on each other
    /// wherever they do under another protocol. If this case cannot deadlock, no other protocol
    /// can.
    #[test]
    fn without_a_ring_nobody_waits_in_a_circle(case in prop_oneof![shortest_paths(), any_paths()], queues in 1u32..6) {
        prop_assume!(is_deadlock_free(&case, &Bfc::WorstCase));
        for protocol in [&Pfc as &dyn Protocol, &Bfc::Queues(queues.try_into().unwrap()), &PerFlow, &PYRRHA] {
            prop_assert!(is_deadlock_free(&case, protocol), "{}", protocol.name());
        }
    }

    /// Hop-by-hop flow controls pause all arrivals at a full queue, so no queue overflows.
    #[test]
    fn no_queue_overflows_on_shortest_paths(case in shortest_paths()) {
        for name in &NAMES[..6] {
            let protocol = parse(name, true).unwrap();
            let graph = QueueGraph::new(&case, &*protocol);
            let dependencies = Dependencies::new(&case, &*protocol, &graph);
            prop_assert_eq!(overflows(&case, &*protocol, &graph, &dependencies), vec![], "{}", name);
        }
    }

    /// Each queue of a returned cycle waits for the next, and the last for the first.
    #[test]
    fn cycles_are_cycles(case in any_paths()) {
        for protocol in [&Pfc as &dyn Protocol, &PerFlow, &Pyrrha { own_root_rule: false }] {
            let graph = QueueGraph::new(&case, protocol);
            let dependencies = Dependencies::new(&case, protocol, &graph);
            let cycle = dependencies.cycle().unwrap_or_default();
            for (queue, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
                prop_assert!(dependencies.holders(*queue).contains(next));
            }
            prop_assert_eq!(BTreeSet::from_iter(&cycle).len(), cycle.len());
        }
    }
}
