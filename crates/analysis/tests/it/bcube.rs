//! Analysis of BCube(n, k), whose servers relay, under PFC, PFC* and PortFC.

use crate::common::networks::{all_to_all, along, bcube, flow, leaf_spine, linked, star};
use crate::common::{blocking, cycle};
use backwater_analysis::answer::ProtocolAnswer;
use backwater_analysis::overflow::overflows;
use backwater_analysis::protocol::port_fc::{self, PortFc};
use backwater_analysis::protocol::{Pfc, PfcForward, PfcStar, Protocol, QueueId};
use backwater_analysis::{Case, Dependencies, Question, QueueGraph, analyze, network};
use backwater_engine::Rate;
use backwater_fabric::contract::Diagnostic;
use backwater_fabric::ids::{Class, NodeId, PortId};
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::names::ports_called;
use backwater_fabric::network::spec::{FlowSpec, NetworkSpec, NodeKind};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the case of `flows`, with all ports congested.
fn case(spec: NetworkSpec, flows: Vec<FlowSpec>) -> (Fabric, Case) {
    let mut fabric = Fabric::new(spec).unwrap();
    let flows = network::flows(&mut fabric, flows).unwrap();
    let congested = flows.iter().flat_map(|flow| flow.path.ports()).copied().collect();
    let case = network::case(&fabric, flows, congested);
    (fabric, case)
}

/// Returns the queues that can overflow, each with its upstream queue, as `port: queue`.
fn overflowing(case: &Case, protocol: &dyn Protocol) -> Vec<[String; 2]> {
    let graph = QueueGraph::new(case, protocol);
    let name = |queue: usize| {
        let queue = &graph.queues[queue];
        format!("{}: {}", case.port(queue.port).name, queue.describe(case))
    };
    let found = overflows(case, protocol, &graph, &Dependencies::new(case, protocol, &graph));
    found.iter().map(|found| [found.queue, found.feeder].map(name)).collect()
}

/// Returns the answer of `analyze` for one protocol.
fn ask(spec: NetworkSpec, flows: Vec<FlowSpec>, protocol: &str, congested: &[&str]) -> ProtocolAnswer {
    let question = Question {
        congested: congested.iter().map(|name| (*name).to_owned()).collect(),
        protocols: vec![protocol.into()],
        flows: flows.len(),
        own_root_rule: true,
        names: true,
    };
    analyze(spec, flows, &question).unwrap().protocols.remove(0)
}

/// Returns two flows of four hops between two servers, in opposite directions around the shortest
/// ring of BCube(2, 1).
fn figure_5() -> Vec<FlowSpec> {
    vec![along(2, 1, &[0, 1, 3]), along(2, 1, &[3, 2, 0])]
}

/// Returns the queues of `flows` at port `port` of `node`, by their numbers in the PortFC paper.
fn numbers(flows: &[&[u32]], node: &str, port: usize) -> Vec<usize> {
    let (fabric, case) = case(bcube(4, 1), flows.iter().map(|servers| along(4, 1, servers)).collect());
    let [port] = ports_called(&fabric, "", &format!("{node}:{port}")).unwrap()[..] else { panic!("one port") };
    let (graph, order) = (QueueGraph::new(&case, &PortFc), port_fc::queues(&fabric, port));
    let number = |queue: &usize| order.iter().position(|id| *id == graph.queues[*queue].id).unwrap();
    let at = |queue: &&usize| graph.queues[**queue].port == port;
    graph.of_flow.iter().map(|queues| number(queues.iter().find(at).unwrap())).collect()
}

/// The example flows of Figure 6 and section 3.2 of the PortFC paper, which has no flow F5.
/// Switches 16 to 23 of the paper are `s0` to `s7` here.
#[test]
fn figure_6_flows_are_in_the_queues_of_the_paper() {
    // At the port of server 15 to switch 19: F1 to F4, F6 to F8, F9 and F10.
    let own: [&[u32]; 7] = [&[15, 12, 0], &[15, 13, 1], &[15, 14, 2], &[15, 12, 4], &[15, 12], &[15, 13], &[15, 14]];
    assert_eq!(numbers(&own, "h15", 0), [0, 1, 2, 0, 3, 4, 5]);
    assert_eq!(numbers(&[&[3, 15, 12], &[7, 15, 13]], "h15", 0), [6, 6]);
    // At the port of switch 23 to server 15: F11 to F16.
    let through: [&[u32]; 6] = [&[11, 15], &[11, 15, 12], &[11, 15, 13], &[11, 15, 14], &[3, 15, 14], &[7, 15]];
    assert_eq!(numbers(&through, "s7", 3), [3, 0, 1, 2, 2, 3]);
}

/// Server 13 is on port 1 of switch 19. No packet of server 13 continues through that port, so the
/// port has no queue number, and the numbers of later ports are lower by one.
#[test]
fn numbers_skip_the_own_port_of_a_server() {
    let own: [&[u32]; 6] = [&[13, 12, 0], &[13, 14, 2], &[13, 15, 3], &[13, 12], &[13, 14], &[13, 15]];
    assert_eq!(numbers(&own, "h13", 0), [0, 1, 2, 3, 4, 5]);
    let through: [&[u32]; 4] = [&[9, 13, 12], &[9, 13, 14], &[5, 13, 15], &[5, 13]];
    assert_eq!(numbers(&through, "s5", 3), [0, 1, 2, 3]);
}

/// In the PortFC paper, a switch port has k(n-1)+2 queues and a server port (k+1)(n-1)+2, including
/// a queue for control frames. Flows between all servers along all paths use exactly the queues
/// that the analysis computes from the topology.
#[test]
fn numbers_of_queues_match_the_paper() {
    for (n, k) in (2..=8).map(|n| (n, 1)).chain((2..=4).map(|n| (n, 2))) {
        let (fabric, case) = case(bcube(n, k), all_to_all(n, k));
        let mut joined: BTreeMap<PortId, BTreeSet<QueueId>> = BTreeMap::new();
        for queue in QueueGraph::new(&case, &PortFc).queues {
            joined.entry(queue.port).or_default().insert(queue.id);
        }
        assert_eq!(joined.len(), fabric.wiring.ports.len());
        for (port, joined) in joined {
            let queues = port_fc::queues(&fabric, port);
            let is_server = case.port(port).name.starts_with('h');
            let expected = if is_server { (k + 1) * (n - 1) + 2 } else { k * (n - 1) + 2 };
            assert_eq!(queues.len() + 1, expected as usize, "BCube({n}, {k}), {}", case.port(port).name);
            assert_eq!(queues.into_iter().collect::<BTreeSet<_>>(), joined);
        }
    }
}

/// Flows between all servers take all shortest paths. PFC can deadlock with and without forwarded
/// PAUSEs; PFC* and PortFC cannot. With k = 1 no queue can overflow.
#[test]
fn what_holds_in_bcube_n_1() {
    for n in 2..=8 {
        let (_, case) = case(bcube(n, 1), all_to_all(n, 1));
        for waiting in [&Pfc as &dyn Protocol, &PfcForward] {
            let found = cycle(&case, waiting).unwrap();
            assert!(found.len() >= 8, "{}, n = {n}: {found:?}", waiting.name());
        }
        for free in [&PfcStar as &dyn Protocol, &PortFc] {
            assert_eq!(cycle(&case, free), None, "{}, n = {n}", free.name());
        }
        for protocol in [&Pfc as &dyn Protocol, &PfcForward, &PfcStar, &PortFc] {
            assert_eq!(overflowing(&case, protocol), Vec::<[String; 2]>::new(), "{}, n = {n}", protocol.name());
        }
        assert_eq!(
            (QueueGraph::new(&case, &PfcStar).classes(), QueueGraph::new(&case, &Pfc).classes()),
            (Some(2), Some(1))
        );
        // Under PortFC, no flow is innocently blocked in BCube(2, 1), where a server relays all
        // packets of one ingress port to the same server.
        assert_eq!(blocking(&case, &PortFc).is_free(), n == 2);
        assert!(
            [&Pfc as &dyn Protocol, &PfcForward, &PfcStar].iter().all(|blocks| !blocking(&case, *blocks).is_free())
        );
    }
}

/// With k = 2, PortFC also has no cycle, but queues overflow. These are class A queues with
/// arrivals from class A of another switch, and relay queues with arrivals from two ports.
#[test]
fn what_holds_in_bcube_n_2() {
    for n in [2, 3] {
        let (fabric, case) = case(bcube(n, 2), all_to_all(n, 2));
        for waiting in [&Pfc as &dyn Protocol, &PfcForward] {
            assert!(cycle(&case, waiting).is_some(), "{}, n = {n}", waiting.name());
        }
        for free in [&PfcStar as &dyn Protocol, &PortFc] {
            assert_eq!(cycle(&case, free), None, "{}, n = {n}", free.name());
        }
        assert_eq!(QueueGraph::new(&case, &PfcStar).classes(), Some(3));
        assert!(!blocking(&case, &PortFc).is_free());
        let found = overflowing(&case, &PortFc);
        let (relay, class_a): (Vec<_>, Vec<_>) =
            found.iter().partition(|[queue, _]| queue.ends_with("the relay queue"));
        let ports_of =
            |kind: char| fabric.wiring.ports.iter().filter(|port| fabric.port_name(port.id).starts_with(kind)).count();
        assert_eq!(relay.len(), ports_of('h'));
        assert!(relay.iter().all(|[_, feeder]| feeder.contains("the queue of packets relayed to s")));
        // Every switch port has 2(n-1) queues of class A, each of which a relay can feed.
        assert_eq!(class_a.len(), ports_of('s') * 2 * (n as usize - 1));
        assert!(class_a.iter().all(|[_, feeder]| feeder.ends_with("the relay queue")));
        // Servers that only forward PAUSEs do not detect full relay queues. Under PFC and PFC*,
        // servers detect them.
        assert_eq!(overflowing(&case, &PfcForward).len(), ports_of('h'));
        assert!(overflowing(&case, &Pfc).is_empty() && overflowing(&case, &PfcStar).is_empty());
    }
}

/// A pause crosses at most three hops. It leads from class B to servers, through these servers to
/// class A of the previous switches, and from there to further servers.
#[test]
fn pauses_cross_at_most_three_hops() {
    for (n, k) in [(2, 1), (4, 1), (2, 2)] {
        let (_, case) = case(bcube(n, k), all_to_all(n, k));
        let graph = QueueGraph::new(&case, &PortFc);
        let (mut longest, signalled) = (0, |queues: &BTreeSet<usize>| -> BTreeSet<usize> {
            queues.iter().flat_map(|queue| &graph.signalled[*queue]).copied().collect()
        });
        let mut front: BTreeSet<usize> = (0..graph.queues.len()).collect();
        while !front.is_empty() {
            (front, longest) = (signalled(&front), longest + 1);
        }
        // The longest chain has a queue of class B, a queue of class A and a queue of a server. The
        // first two of these queues are two hops apart.
        assert_eq!(longest, 3);
    }
}

/// Figure 5 of the PortFC paper: the loop closes through the servers at the ends of the flows, and
/// only if servers forward PAUSEs.
#[test]
fn figure_5_closes_where_servers_pass_pauses_on() {
    let (_, case) = case(bcube(2, 1), figure_5());
    let ring = ["h0:0", "s0:1", "h1:1", "s3:1", "h3:0", "s1:0", "h2:1", "s2:0"];
    assert_eq!(cycle(&case, &PfcForward).as_deref(), Some(&ring[..]));
    for free in [&Pfc as &dyn Protocol, &PfcStar, &PortFc] {
        assert_eq!(cycle(&case, free), None, "{}", free.name());
    }
}

/// Four flows, each relayed by the next server of the ring, deadlock under ordinary PFC.
#[test]
fn four_relayed_flows_deadlock_under_pfc() {
    let round = [[0, 1, 3], [1, 3, 2], [3, 2, 0], [2, 0, 1]];
    let (_, case) = case(bcube(2, 1), round.iter().map(|servers| along(2, 1, servers)).collect());
    assert_eq!(cycle(&case, &Pfc).unwrap().len(), 8);
    assert!([&PfcStar as &dyn Protocol, &PortFc].iter().all(|free| cycle(&case, *free).is_none()));
}

/// h0 sends to h8 and to h5, both relayed by h2. The port to h8 is congested. Packets to h5 also
/// wait, because the queues to both destinations count as one at the hop before h2.
#[test]
fn port_fc_can_block_innocently() {
    let flows = vec![along(3, 1, &[0, 2, 8]), along(3, 1, &[0, 2, 5]), along(3, 1, &[1, 2, 5])];
    let found = ask(bcube(3, 1), flows, "port-fc", &["s5->h8"]);
    let example = found.counterexample.unwrap();
    assert_eq!((example.innocent.as_str(), example.culprit.as_str()), ("flow 1 (h0 -> h5)", "flow 0 (h0 -> h8)"));
    assert_eq!((example.queue.port.as_str(), example.cause.as_str()), ("h0:0", "s5:2"));
    assert_eq!(example.queue.queue, "the queue of the server's own packets towards s0:2, 2 switches ahead");
    // h1 sends nothing through the congested port, but is paused.
    let paused = found.causes[0].paused.as_ref().unwrap();
    let queues: Vec<String> = paused.queues.iter().map(|queue| format!("{}: {}", queue.port, queue.queue)).collect();
    let own = "the queue of the server's own packets towards s0:2, 2 switches ahead";
    assert_eq!(
        queues,
        ["s0:2: the queue of packets relayed to s5:2".into(), format!("h0:0: {own}"), format!("h1:0: {own}")]
    );
    assert_eq!((found.causes[0].paused_flows, found.causes[0].innocent_flows), (3, 2));
    assert!(found.deadlock_free && found.overflows.is_empty());
}

/// A paused server pauses its upstream neighbours: h0 forwards the PAUSE through all its other
/// ports.
#[test]
fn servers_that_pass_pauses_on_stop_their_own_arrivals() {
    let flows = || vec![along(2, 1, &[0, 1]), along(2, 1, &[3, 1]), along(2, 1, &[2, 0])];
    assert!(ask(bcube(2, 1), flows(), "pfc", &["s0->h1"]).hol_free);
    let example = ask(bcube(2, 1), flows(), "pfc-forward", &["s0->h1"]).counterexample.unwrap();
    assert_eq!((example.innocent.as_str(), example.queue.port.as_str()), ("flow 2 (h2 -> h0)", "s2:0"));
    // Another class is not paused.
    let mut classes = flows();
    classes[2].class = Class(4);
    assert!(ask(bcube(2, 1), classes, "pfc-forward", &["s0->h1"]).hol_free);
    // Flows that avoid the congested switch port are not paused.
    let apart = vec![along(3, 1, &[0, 1]), along(3, 1, &[1, 2])];
    assert!(ask(bcube(3, 1), apart, "pfc-forward", &["s0->h2"]).hol_free);
    // Congestion at a server port causes no PAUSE.
    let relayed = || vec![along(2, 1, &[0, 1, 3]), along(2, 1, &[0, 1])];
    assert!(!ask(bcube(2, 1), relayed(), "pfc", &["h1:1"]).hol_free);
    assert!(ask(bcube(2, 1), relayed(), "pfc-forward", &["h1:1"]).hol_free);
}

/// A PAUSE is not forwarded over its ingress link, so two neighbours can send to each other.
#[test]
fn pauses_are_not_passed_back() {
    let (_, case) = case(bcube(2, 1), vec![along(2, 1, &[0, 1]), along(2, 1, &[1, 0])]);
    assert_eq!(cycle(&case, &PfcForward), None);
}

/// On a detour around a failed link, class A of one switch feeds class A of another through a
/// relay.
#[test]
fn a_detour_overflows_under_port_fc() {
    let (_, case) = case(bcube(2, 1), vec![along(2, 1, &[0, 2, 3, 1])]);
    let expected = ["s1:1: the queue of packets relayed to s3:0", "h2:0: the relay queue"].map(String::from);
    assert_eq!(overflowing(&case, &PortFc), [expected]);
    assert!(overflowing(&case, &PfcStar).is_empty());
}

/// On a path through four switches, class A of the second switch fills only if its port is
/// congested. Class A of the third switch, which class B holds back, does not pause class A of the
/// second.
#[test]
fn class_a_fills_if_its_port_is_congested() {
    for (congested, expected) in [("s3:1", &["s2:1"][..]), ("s1:1", &["s1:1", "s2:1"])] {
        let mut spec = linked(5, 4, (0..4).flat_map(|i| [(i, 5 + i), (i + 1, 5 + i)]));
        for server in spec.nodes.iter_mut().take(5) {
            server.kind = NodeKind::Relay;
        }
        let found = ask(spec, vec![flow(0, 4)], "port-fc", &[congested]).overflows;
        assert_eq!(found.iter().map(|found| found.queue.port.as_str()).collect::<Vec<_>>(), expected);
    }
}

/// A server relays packets from a fast layer to a slow layer.
#[test]
fn a_slow_layer_overflows_relay_queues() {
    for (slow, overflows) in [(0, false), (1, true)] {
        let mut spec = bcube(2, 1);
        spec.links.iter_mut().skip(4 * slow).take(4).for_each(|link| link.rate = Rate::from_gbps(40));
        let found = ask(spec, vec![along(2, 1, &[0, 1, 3])], "port-fc", &["auto"]).overflows;
        assert_eq!(found.len(), usize::from(overflows));
        if let [found] = &found[..] {
            assert_eq!((found.queue.port.as_str(), found.queue.queue.as_str()), ("h1:1", "the relay queue"));
            assert_eq!((found.feeder.port.as_str(), found.flow.as_str()), ("s0:1", "flow 0 (h0 -> h3)"));
        }
    }
}

/// By default, protocols for relaying servers are analysed only if a server relays. Requesting
/// these protocols for a network of several switches without relays is an error.
#[test]
fn protocols_for_relays_need_relays() {
    let question = |protocols: &[&str]| Question {
        congested: Vec::new(),
        protocols: protocols.iter().map(|name| (*name).to_owned()).collect(),
        flows: 9,
        own_root_rule: true,
        names: false,
    };
    let names = ["pfc-forward", "port-fc"];
    let asked = |spec, flow, protocols| {
        let answer = analyze(spec, vec![flow], &question(protocols))?;
        Ok(answer.protocols.into_iter().map(|found| found.protocol).collect::<Vec<_>>())
    };
    let by_default = asked(bcube(2, 1), along(2, 1, &[0, 1, 3]), &[]).unwrap();
    assert_eq!(by_default[6..], ["pfc-star", "pfc-forward", "port-fc"]);
    let tree = || leaf_spine(2, 2, 1);
    assert_eq!(asked(tree(), flow(0, 3), &[]).unwrap(), by_default[..7]);
    // With a single switch, no packet needs a relay, so the protocols are allowed.
    assert_eq!(asked(star(2), flow(0, 1), &["port-fc"]).unwrap(), ["port-fc"]);
    let refused: Vec<Diagnostic> = asked(tree(), flow(0, 3), &names).unwrap_err();
    assert_eq!(
        refused.iter().filter_map(|refused| refused.value.as_deref()?.split('"').nth(1)).collect::<Vec<_>>(),
        names
    );
    assert!(refused[1].message.contains("only between switches and hosts"), "{}", refused[1].message);
}

/// In a ring of four switches with a host each, every host sends to the host two switches ahead.
/// PFC has a cycle. PFC* with a class for each of three switches has none.
#[test]
fn rings_of_switches_need_a_class_per_switch_on_a_path() {
    let ends = (0..4).map(|host| (host, 4 + host)).chain((0..4).map(|switch| (4 + switch, 4 + (switch + 1) % 4)));
    let spec = linked(4, 4, ends);
    let flows = (0..4).map(|src| {
        let via = [0, 1, 2].map(|step| NodeId(4 + (src + step) % 4));
        flow(src, (src + 2) % 4).via(via.to_vec(), vec![])
    });
    let flows: Vec<FlowSpec> = flows.collect();
    assert_eq!(ask(spec.clone(), flows.clone(), "pfc", &[]).cycle.len(), 4);
    let raised = ask(spec, flows, "pfc-star", &[]);
    assert_eq!((raised.cycle.len(), raised.classes), (0, Some(3)));
}
