//! BCube: names, layers, failures, and the order of address digits corrected along a path.

use crate::common;
use backwater_fabric::fixtures::flow;
use backwater_fabric::frame::Direction;
use backwater_fabric::ids::{FlowId, NodeId};
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::spec::{FlowSpec, NodeKind};
use backwater_scenario::topology::{Graph, TopologyConfig};
use backwater_scenario::workload::NodeList;
use backwater_scenario::{Diagnostic, Document, Plan};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/hpcc");
const DIRECTIONS: [Direction; 2] = [Direction::Data, Direction::Ack];

fn bcube(n: u32, k: u32, rest: &str) -> String {
    format!("kind = \"bcube\"\nn = {n}\nk = {k}\n{rest}")
}

/// Builds the graph, or returns all error messages.
fn try_build(topology: &str) -> Result<Graph, String> {
    let config: TopologyConfig = toml::from_str(topology).unwrap();
    let line = |error: &Diagnostic| format!("{}: {}\n", error.path, error.message);
    config.build(Path::new(DATA)).map_err(|errors| errors.iter().map(line).collect())
}

fn build(n: u32, k: u32, rest: &str) -> Graph {
    try_build(&bcube(n, k, rest)).unwrap()
}

/// Plans a scenario with this topology and traffic, or returns all messages.
fn try_plan(topology: &str, traffic: &str) -> Result<Plan, String> {
    let document = Document::from_toml("s.toml", &format!("traffic = [{traffic}]\n[topology]\n{topology}")).unwrap();
    let plan = Plan::from_document(&document, Path::new(DATA));
    plan.map_err(|diagnostics| diagnostics.iter().map(|diagnostic| format!("{diagnostic}\n")).collect())
}

fn names(graph: &Graph, nodes: impl IntoIterator<Item = NodeId>) -> Vec<String> {
    nodes.into_iter().map(|node| graph.name(node).to_owned()).collect()
}

fn peers(graph: &Graph, name: &str) -> Vec<String> {
    names(graph, graph.ports(graph.node(name).unwrap()).iter().map(|(peer, _)| *peer))
}

/// Returns `flows` flows per ordered pair of hosts, with consecutive ids.
fn all_pairs(graph: &Graph, flows: u32) -> Vec<(FlowId, FlowSpec)> {
    let pairs = graph.hosts().flat_map(|src| graph.hosts().map(move |dst| (src, dst))).filter(|(src, dst)| src != dst);
    let pairs = pairs.flat_map(|pair| (0..flows).map(move |number| (pair, number)));
    let flow = |((src, dst), number): ((NodeId, NodeId), u32)| FlowSpec { number, ..flow(src.0, dst.0, 1000, 0) };
    (0..).map(FlowId).zip(pairs.map(flow)).collect()
}

/// Builds the fabric of a scenario with this topology.
fn fabric(topology: &str) -> Fabric {
    let traffic = "{ kind = \"all-to-all\", bytes = \"1 KB\" }";
    try_plan(topology, traffic).unwrap().take_fabric()
}

/// Returns the nodes on a flow's path, including both ends.
fn path(fabric: &Fabric, id: FlowId, flow: &FlowSpec, direction: Direction) -> Vec<NodeId> {
    let source = if direction == Direction::Data { flow.src } else { flow.dst };
    let onward = |node: &mut NodeId, port| {
        *node = fabric.wiring.neighbour(*node, port);
        Some(*node)
    };
    std::iter::once(source).chain(fabric.path(id, flow, direction).into_iter().scan(source, onward)).collect()
}

/// BCube(n, k) has n^(k+1) servers with k + 1 ports, and (k + 1) n^k switches with n ports. With
/// one layer, no server relays.
#[test]
fn node_and_port_counts_match_the_paper() {
    for (n, k, servers, switches) in [(4, 0, 4, 1), (4, 1, 16, 8), (8, 1, 64, 16), (4, 2, 64, 48), (3, 2, 27, 27)] {
        let graph = build(n, k, "");
        assert_eq!((graph.hosts().count(), graph.switches().count()), (servers, switches));
        assert!(graph.hosts().all(|host| graph.ports(host).len() == k as usize + 1));
        assert!(graph.switches().all(|switch| graph.ports(switch).len() == n as usize));
        let relays = graph.nodes.iter().filter(|node| node.kind == NodeKind::Relay).count();
        assert_eq!(relays, if k > 0 { servers } else { 0 });
    }
}

/// Server 15 of BCube(4, 1) has the address (3, 3). A switch of layer l links the servers whose
/// addresses have the digits of the switch's name and one more digit at place l.
#[test]
fn names_are_addresses() {
    let graph = build(4, 1, "");
    let in_order = ["h0.0", "h0.1", "h0.2", "h0.3", "h1.0"];
    assert_eq!(names(&graph, graph.hosts().take(5)), in_order);
    assert_eq!(graph.node("h3.3"), Some(NodeId(15)));
    assert_eq!(peers(&graph, "h3.3"), ["s0.3", "s1.3"]);
    assert_eq!(peers(&graph, "h1.2"), ["s0.1", "s1.2"]);
    assert_eq!(peers(&graph, "s0.1"), ["h1.0", "h1.1", "h1.2", "h1.3"]);
    assert_eq!(peers(&graph, "s1.2"), ["h0.2", "h1.2", "h2.2", "h3.2"]);

    let graph = build(3, 2, "");
    assert_eq!(graph.node("h2.1.0"), Some(NodeId(2 * 9 + 3)));
    assert_eq!(peers(&graph, "h2.1.0"), ["s0.2.1", "s1.2.0", "s2.1.0"]);
    assert_eq!(peers(&graph, "s1.2.0"), ["h2.0.0", "h2.1.0", "h2.2.0"]);

    let graph = build(12, 0, "");
    assert_eq!(peers(&graph, "h11"), ["s0"]);
    assert_eq!(build(12, 1, "").node("h11.10"), Some(NodeId(11 * 12 + 10)));
}

#[test]
fn patterns_select_nodes_by_digit() {
    let graph = build(4, 1, "");
    let hosts = |pattern: &str| names(&graph, NodeList(vec![pattern.into()]).hosts("hosts", &graph).unwrap());
    let switches = |pattern: &str| names(&graph, NodeList(vec![pattern.into()]).switches("at", &graph).unwrap());
    assert_eq!(hosts("h3.*"), ["h3.0", "h3.1", "h3.2", "h3.3"]);
    assert_eq!(hosts("h[0-1].2"), ["h0.2", "h1.2"]);
    assert_eq!(hosts("h*.[2-3]").len(), 8);
    assert_eq!(switches("s1.*"), ["s1.0", "s1.1", "s1.2", "s1.3"]);
}

/// Rates and delays are common to all layers, or listed by layer.
#[test]
fn rates_and_delays_can_differ_by_layer() {
    let gbps = |graph: &Graph, name: &str| -> Vec<(u64, u64)> {
        let links = graph.ports(graph.node(name).unwrap()).iter().map(|(_, link)| &graph.links[*link]);
        links.map(|link| (link.rate.bps() / 1_000_000_000, link.delay.ps() / 1_000_000)).collect()
    };
    let graph = build(2, 2, "rate = [\"100 Gbps\", \"25 Gbps\", \"40 Gbps\"]\ndelay = \"2 us\"");
    assert_eq!(gbps(&graph, "h0.1.0"), [(100, 2), (25, 2), (40, 2)]);
    assert_eq!(gbps(&graph, "s2.1.0"), [(40, 2); 2]);
    let graph = build(2, 1, "rate = \"10 Gbps\"\ndelay = [\"1 us\", \"3 us\"]");
    assert_eq!(gbps(&graph, "h1.0"), [(10, 1), (10, 3)]);
    assert_eq!(gbps(&build(2, 1, ""), "h1.0"), [(100, 1); 2]);
    assert!(build(2, 1, "error_rate = 0.25").links.iter().all(|link| link.error_rate == 0.25));
}

/// Two links correct one digit, for data and for ACKs. Over many flows, all orders in which digits
/// are corrected are about equally frequent.
#[test]
fn paths_correct_digits_in_an_order_chosen_by_hash() {
    for (n, k) in [(4, 1), (3, 2)] {
        let (graph, fabric) = (build(n, k, ""), fabric(&bcube(n, k, "")));
        let digits = |node: NodeId| -> Vec<u32> {
            graph.name(node)[1..].split('.').map(|digit| digit.parse().unwrap()).collect()
        };
        let mut orders: [BTreeMap<Vec<usize>, f64>; 2] = Default::default();
        for (id, flow) in all_pairs(&graph, 60) {
            for (direction, orders) in DIRECTIONS.into_iter().zip(&mut orders) {
                let path = path(&fabric, id, &flow, direction);
                let (first, last) = (digits(path[0]), digits(path[path.len() - 1]));
                let differing: Vec<_> = (0..=k as usize).filter(|place| first[*place] != last[*place]).collect();
                let mut here = first;
                let mut order = Vec::new();
                for hop in path[1..].chunks(2) {
                    assert!(!graph.is_host(hop[0]) && graph.is_host(hop[1]));
                    let next = digits(hop[1]);
                    let changed: Vec<_> = (0..next.len()).filter(|place| next[*place] != here[*place]).collect();
                    let [place] = changed[..] else { panic!("{changed:?}") };
                    assert_eq!(next[place], last[place]);
                    order.push(place);
                    here = next;
                }
                assert_eq!((&here, order.len()), (&last, differing.len()));
                if differing.len() == k as usize + 1 {
                    *orders.entry(order).or_default() += 1.0;
                }
            }
        }
        for orders in orders {
            let mean = orders.values().sum::<f64>() / orders.len() as f64;
            assert_eq!(orders.len(), (1..=k as usize + 1).product::<usize>());
            assert!(orders.values().all(|count| (count / mean - 1.0).abs() < 0.05), "{orders:?}");
        }
    }
}

/// After failures in BCube(4, 1), paths in both directions reach all other hosts and avoid the
/// failed nodes and links. Node ids do not change.
#[test]
fn routes_avoid_failed_nodes_and_links() {
    let intact = build(4, 1, "");
    let table = [
        ("failed_links = [[\"h0.0\", \"s0.0\"]]", vec!["h0.0", "s0.0"], 16, 31),
        ("failed_nodes = [\"h1.2\"]", vec!["h1.2"], 15, 30),
        ("failed_nodes = [\"s1.2\"]", vec!["s1.2"], 16, 28),
        ("failed_nodes = [\"h0.1\", \"s0.3\"]\nfailed_links = [[\"s1.1\", \"h0.1\"]]", vec!["s0.3"], 15, 26),
    ];
    for (failed, avoided, hosts, links) in table {
        let graph = build(4, 1, failed);
        assert_eq!(graph.nodes, intact.nodes);
        assert_eq!((graph.hosts().count(), graph.links.len()), (hosts, links));
        let fabric = fabric(&bcube(4, 1, failed));
        for (id, flow) in all_pairs(&graph, 4) {
            for direction in DIRECTIONS {
                let path = names(&graph, path(&fabric, id, &flow, direction));
                let intersects = |step: &[String]| avoided.iter().all(|name| step.iter().any(|node| node == name));
                assert!(!path.windows(avoided.len()).any(intersects), "{path:?}");
                // Paths have at most one relay more than without failures.
                assert!(path.len() <= 7, "{path:?}");
            }
        }
    }
}

#[test]
fn a_failed_server_has_no_traffic() {
    let failed = bcube(2, 1, "failed_nodes = [\"h0.1\"]");
    let plan = try_plan(&failed, "{ kind = \"all-to-all\", bytes = \"100 KB\" }").unwrap();
    let flows: Vec<_> = plan.traffic.flows().collect();
    let ends: BTreeSet<_> = flows.iter().flat_map(|flow| [flow.src.0, flow.dst.0]).collect();
    assert_eq!((flows.len(), ends), (6, BTreeSet::from([0, 2, 3])));
    assert!(plan.notes.contains(&"1 failed node removed".into()), "{:?}", plan.notes);
    // The nodes of failed servers remain, without links, and so do switches whose servers have all
    // failed.
    assert_eq!(build(2, 1, "failed_nodes = [\"h0.0\", \"h0.1\"]").hosts().count(), 2);
    let (simulation, outcomes) = common::run(plan.spec(), flows);
    assert!(outcomes.iter().all(|outcome| outcome.acknowledged.is_some()));
    assert_eq!(simulation.audit(), []);
    for (hosts, expected) in [
        ("\"h0.1\"", "\"h0.1\" has failed (topology.failed_nodes)\n"),
        ("\"h*.[1-1]1\"", "no host matches \"h*.[1-1]1\"; the first host is called \"h0.0\"\n"),
        ("\"h0.2\"", "there is no host \"h0.2\"; did you mean \"h0.0\"?\n"),
    ] {
        let message = try_plan(&failed, &format!("{{ kind = \"all-to-all\", bytes = \"1 KB\", hosts = {hosts} }}"));
        assert!(message.as_ref().is_err_and(|message| message.ends_with(expected)), "{message:?}");
    }
    let file = "kind = \"file\"\npath = \"topology.txt\"\nfailed_nodes = [\"h1\"]";
    let message = try_plan(file, "{ kind = \"hpcc-flows\", path = \"flow.txt\" }").unwrap_err();
    assert!(message.contains(" 1 has failed (topology.failed_nodes)"), "{message}");
    let message = try_plan(&failed, "{ kind = \"long-lived\", pairs = [[\"h0.0\", \"h0.1\"]] }").unwrap_err();
    assert!(
        message.contains("traffic[0].pairs[0][1] = \"h0.1\": \"h0.1\" has failed (topology.failed_nodes)"),
        "{message}"
    );
}

#[test]
fn unreachable_servers_are_errors() {
    let cut = "failed_links = [[\"h0.0\", \"s0.0\"], [\"h0.0\", \"s1.0\"]]";
    assert_eq!(try_build(&bcube(4, 1, cut)).unwrap_err(), "topology: host \"h0.0\" has no link\n");
    let halves = try_build(&bcube(2, 1, "failed_nodes = [\"s1.0\", \"s1.1\"]")).unwrap_err();
    assert_eq!(halves, "topology: there is no path from host \"h0.0\" to \"h1.0\", \"h1.1\"\n");
    // The two remaining servers have lost their relays.
    let corners = try_build(&bcube(2, 1, "failed_nodes = [\"h0.1\", \"h1.0\"]")).unwrap_err();
    assert_eq!(corners, "topology: there is no path from host \"h0.0\" to \"h1.1\"\n");
}

/// `data_via` and `ack_via` of a listed flow determine the order in which the flow's paths correct
/// the digits of the address.
#[test]
fn paths_of_listed_flows_pass_the_listed_servers() {
    let listed = |via: &str| {
        format!("{{ kind = \"flows\", flows = [{{ src = \"h0.0\", dst = \"h3.3\", bytes = \"1 KB\", {via} }}] }}")
    };
    for (there, back) in [("h0.3", "h3.0"), ("h3.0", "h3.0"), ("h0.3", "h0.3")] {
        let traffic = listed(&format!("data_via = [\"{there}\"], ack_via = [\"{back}\"]"));
        let plan = try_plan(&bcube(4, 1, ""), &traffic).unwrap();
        let flow = plan.traffic.flows().next().unwrap();
        let mut fabric = plan.take_fabric();
        fabric.add_waypoint_routes(&flow);
        let graph = build(4, 1, "");
        for id in (0..50).map(FlowId) {
            let paths = DIRECTIONS.map(|direction| names(&graph, path(&fabric, id, &flow, direction)));
            assert_eq!((&*paths[0][2], &*paths[1][2], paths[0].len(), paths[1].len()), (there, back, 5, 5));
        }
    }
    for (via, expected) in [
        (
            "data_via = [\"h0.4\"]",
            "data_via[0] = \"h0.4\": there is no switch or relay \"h0.4\"; did you mean \"h0.0\"?",
        ),
        ("data_via = [\"h0.3\", \"h0.3\", \"h1.2\"]", "its pinned path has more than 7 hops"),
    ] {
        let message = try_plan(&bcube(4, 1, ""), &listed(via)).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
    let message = try_plan(&bcube(4, 1, "failed_nodes = [\"h0.3\"]"), &listed("ack_via = [\"h0.3\"]")).unwrap_err();
    assert!(
        message.contains("flows[0].ack_via[0] = \"h0.3\": \"h0.3\" has failed (topology.failed_nodes)"),
        "{message}"
    );
}

/// With relaying hosts, a topology file of BCube(2, 1) yields the same paths as the built-in
/// topology.
#[test]
fn hosts_of_a_topology_file_can_relay() {
    let file = |relays: &str| format!("kind = \"file\"\npath = \"bcube.txt\"\n{relays}");
    let (written, made) = (fabric(&file("relays = \"h*\"")), fabric(&bcube(2, 1, "")));
    for (id, flow) in all_pairs(&build(2, 1, ""), 50) {
        for direction in DIRECTIONS {
            assert_eq!(path(&written, id, &flow, direction), path(&made, id, &flow, direction));
        }
    }
    let relays = try_build(&file("relays = [\"h1\", \"h[2-3]\"]")).unwrap().nodes.into_iter();
    assert_eq!(relays.filter(|node| node.kind == NodeKind::Relay).count(), 3);
    for (relays, expected) in [
        ("", "topology: there is no path from host \"h0\" to \"h3\"\n"),
        ("relays = \"h1\"", "topology: there is no path from host \"h1\" to \"h2\"\n"),
        (
            "relays = [\"s4\", \"h4\"]",
            "topology.relays[0]: \"s4\" is a switch, not a host\ntopology.relays[1]: there is no host \"h4\"\n",
        ),
        ("relays = \"g*\"", "topology.relays: no host matches \"g*\"\n"),
    ] {
        assert_eq!(try_build(&file(relays)).unwrap_err(), expected);
    }
}
