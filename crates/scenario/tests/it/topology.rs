//! Topologies: nodes, links and their order; errors; port names.

use backwater_engine::Rate;
use backwater_engine::interrupt::interruptible;
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::routes::Wiring;
use backwater_scenario::Diagnostic;
use backwater_scenario::topology::{Graph, TopologyConfig};
use std::path::Path;

fn try_build(toml: &str) -> Result<Graph, Vec<Diagnostic>> {
    let config: TopologyConfig = toml::from_str(toml).unwrap();
    config.build(Path::new("."))
}

fn build(toml: &str) -> Graph {
    try_build(toml).unwrap()
}

/// Returns all errors of an invalid topology, one per line.
fn errors(toml: &str) -> String {
    let lines: Vec<_> = try_build(toml).unwrap_err().iter().map(describe).collect();
    lines.join("\n")
}

fn describe(error: &Diagnostic) -> String {
    let hint = error.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
    format!("{}: {}{hint}", error.path, error.message)
}

fn peers(graph: &Graph, name: &str) -> Vec<String> {
    let node = graph.node(name).unwrap();
    graph.ports(node).iter().map(|&(peer, _)| graph.name(peer).into()).collect()
}

#[test]
fn fat_trees_have_k_cubed_over_four_hosts() {
    for k in [4u32, 8, 16] {
        let graph = build(&format!("kind = \"fat-tree\"\nk = {k}"));
        let hosts = k * k * k / 4;
        assert_eq!(graph.hosts().count() as u32, hosts);
        assert_eq!(graph.nodes.len() as u32, hosts + k * k + k * k / 4);
        assert_eq!(graph.links.len() as u32, 3 * hosts);
        for switch in graph.switches() {
            assert_eq!(graph.ports(switch).len() as u32, k, "{}", graph.name(switch));
        }
        let wiring = Wiring::new(&graph.nodes, &graph.links);
        let layers = ["h0", "edge0", "agg0", "core0"].map(|name| wiring.layer(graph.node(name).unwrap()));
        assert_eq!(layers, [0, 1, 2, 3]);
    }
}

#[test]
fn links_of_a_fat_tree_match_the_paper() {
    let graph = build("kind = \"fat-tree\"\nk = 4\nhosts_per_edge = 4");
    assert_eq!(graph.hosts().count(), 32);
    assert_eq!(peers(&graph, "edge2"), ["h8", "h9", "h10", "h11", "agg2", "agg3"]);
    assert_eq!(peers(&graph, "agg3"), ["edge2", "edge3", "core2", "core3"]);
    assert_eq!(peers(&graph, "core0"), ["agg0", "agg2", "agg4", "agg6"]);
    assert!(graph.notes[0].contains("oversubscription 2:1"), "{:?}", graph.notes);
}

#[test]
fn only_relaying_hosts_connect_switches() {
    let names = "kind = \"custom\"\nswitches = [\"a\", \"b\"]\nlinks = [{ a = \"h0\", b = \"a\" }, { a = \"h1\", b = \
        \"a\" }, { a = \"h1\", b = \"b\" }, { a = \"h2\", b = \"b\" }]";
    assert!(
        errors(&format!("{names}\nhosts = [\"h0\", \"h1\", \"h2\"]"))
            .contains("there is no path from host \"h0\" to \"h2\"")
    );
    let graph = build(&format!("{names}\nhosts = [\"h0\", \"h2\"]\nrelays = [\"h1\"]"));
    assert_eq!(graph.hosts().count(), 3);
    assert_eq!(graph.notes, ["custom: 3 hosts, 2 switches, 4 links"]);
}

#[test]
fn leaf_spine_counts_rates_and_oversubscription() {
    let graph = build("kind = \"leaf-spine\"\nleaves = 8\nspines = 8\nhosts_per_leaf = 16");
    assert_eq!((graph.nodes.len(), graph.links.len()), (144, 192));
    assert!(graph.notes[0].contains("oversubscription 2:1"), "{:?}", graph.notes);
    let leaf = graph.node("leaf3").unwrap();
    assert_eq!(leaf, NodeId(131));
    assert_eq!(graph.rack_of(NodeId(63)), Some(leaf));
    assert_eq!(graph.uplink_capacity(leaf), Rate::from_gbps(800));
    assert_eq!(graph.host_rate(NodeId(0)), Rate::from_gbps(100));
    assert_eq!(peers(&graph, "leaf3")[15..18], ["h63", "spine0", "spine1"]);

    let graph = build(
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 3\nhosts_per_leaf = 4\nuplink_rate = \"400 \
            Gbps\"\nparallel_links = 2\nuplink_delay = \"2 us\"",
    );
    assert_eq!(graph.links.len(), 8 + 2 * 3 * 2);
    assert!(graph.notes[0].contains("oversubscription 0.17:1"), "{:?}", graph.notes);
    assert_eq!(peers(&graph, "spine1"), ["leaf0", "leaf0", "leaf1", "leaf1"]);
    assert_eq!((graph.links[0].delay.ps(), graph.links[8].delay.ps()), (1_000_000, 2_000_000));
}

#[test]
fn star_and_dumbbell() {
    let graph = build("kind = \"star\"\nhosts = 3\nerror_rate = 1e-4");
    assert_eq!(peers(&graph, "s0"), ["h0", "h1", "h2"]);
    assert_eq!(graph.links[2].error_rate, 1e-4);

    let graph = build("kind = \"dumbbell\"\nleft = 2\nright = 1\ntrunks = 2\nbottleneck_rate = \"25 Gbps\"");
    assert_eq!(peers(&graph, "left"), ["h0", "h1", "right", "right"]);
    assert_eq!(peers(&graph, "h2"), ["right"]);
    assert!(graph.notes[0].contains("oversubscription 4:1"), "{:?}", graph.notes);
    assert_eq!(graph.uplink_capacity(graph.node("left").unwrap()), Rate::from_gbps(50));
}

#[test]
fn custom_links_default_to_the_rate_and_delay_of_the_topology() {
    let graph = build(
        r#"
        kind = "custom"
        hosts = ["a", "b"]
        switches = ["s"]
        rate = "10 Gbps"
        links = [
            { a = "a", b = "s", count = 2 },
            { a = "s", b = "b", rate = "40 Gbps", delay = "3 us", error_rate = 0.1 },
        ]
        "#,
    );
    assert_eq!(peers(&graph, "a"), ["s", "s"]);
    assert_eq!(graph.host_rate(NodeId(0)), Rate::from_gbps(20));
    assert_eq!((graph.links[2].rate, graph.links[2].error_rate), (Rate::from_gbps(40), 0.1));
}

#[test]
fn each_failed_link_entry_removes_one_parallel_link() {
    let fabric = "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\nparallel_links = 2\n";
    let graph = build(&format!("{fabric}failed_links = [[\"spine1\", \"leaf0\"]]"));
    assert_eq!(peers(&graph, "leaf0"), ["h0", "spine0", "spine0", "spine1"]);
    let graph = build(&format!("{fabric}failed_links = [[\"spine1\", \"leaf0\"], [\"leaf0\", \"spine1\"]]"));
    assert_eq!(peers(&graph, "leaf0"), ["h0", "spine0", "spine0"]);
}

/// Returns rate (Gb/s) and delay (ns) of every link between two nodes, in order.
fn wires(graph: &Graph, a: &str, b: &str) -> Vec<(u64, u64)> {
    let [a, b] = [a, b].map(|name| graph.node(name).unwrap());
    let between = graph.links.iter().filter(|link| [(a, b), (b, a)].contains(&(link.a, link.b)));
    between.map(|link| (link.rate.bps() / 1_000_000_000, link.delay.ps() / 1000)).collect()
}

#[test]
fn changed_links_have_their_own_rate_and_delay() {
    let fabric = "kind = \"leaf-spine\"\nleaves = 3\nspines = 4\nhosts_per_leaf = 4\nhost_rate = \"40 Gbps\"\n";
    let graph = build(&format!(
        "{fabric}changed_links = [{{ link = [\"spine3\", \"leaf0\"], rate = \"25 Gbps\" }},\n\
         {{ link = [\"leaf[1-2]\", \"spine0\"], delay = \"5 us\" }}, {{ link = [\"h0\", \"leaf0\"], rate = \"10 \
             Gbps\" }}]"
    ));
    let uplinks = |leaf: &str| ["spine0", "spine1", "spine2", "spine3"].map(|spine| wires(&graph, leaf, spine)[0]);
    assert_eq!(uplinks("leaf0"), [(40, 1000), (40, 1000), (40, 1000), (25, 1000)]);
    for leaf in ["leaf1", "leaf2"] {
        assert_eq!(uplinks(leaf), [(40, 5000), (40, 1000), (40, 1000), (40, 1000)]);
    }
    assert_eq!([wires(&graph, "h0", "leaf0"), wires(&graph, "h1", "leaf0")], [[(10, 1000)], [(40, 1000)]]);
    // leaf0 has host links of 130 Gb/s and uplinks of 145 Gb/s in all; the other leaves have 160
    // Gb/s of both.
    assert!(graph.notes[0].ends_with("oversubscription 0.9:1 to 1:1"), "{:?}", graph.notes);
    assert_eq!(graph.notes[1..], ["4 links changed"]);
}

#[test]
fn some_of_several_parallel_links_can_be_changed() {
    let fabric = "kind = \"dumbbell\"\nleft = 2\nright = 1\ntrunks = 4\nbottleneck_rate = \"40 Gbps\"\n";
    let changed = |more: &str| {
        let change = "changed_links = [{ link = [\"right\", \"left\"], rate = \"20 Gbps\"";
        build(&format!("{fabric}{change}{more} }}]\nfailed_links = [[\"left\", \"right\"]]"))
    };
    let rates = |graph: &Graph| wires(graph, "left", "right").into_iter().map(|wire| wire.0).collect::<Vec<_>>();
    // The last parallel link fails.
    assert_eq!(rates(&changed(", count = 3")), [20, 20, 20]);
    assert_eq!(rates(&changed(", count = 1")), [20, 40, 40]);
    let all = changed("");
    assert_eq!(
        (rates(&all), &all.notes[1..]),
        (vec![20; 3], &["4 links changed".into(), "1 failed link removed".into()][..])
    );
    assert!(all.notes[0].ends_with("oversubscription 2.5:1 at the left switch"), "{:?}", all.notes);
    let graph =
        build("kind = \"fat-tree\"\nk = 4\nchanged_links = [{ link = [\"agg*\", \"core0\"], rate = \"25 Gbps\" }]");
    assert_eq!((wires(&graph, "agg2", "core0"), wires(&graph, "agg2", "core1")), (vec![(25, 1000)], vec![(100, 1000)]));
    assert_eq!((graph.notes.len(), &*graph.notes[1]), (2, "4 links changed"));
}

#[test]
fn hosts_can_be_linked_without_switches() {
    let graph = build("kind = \"custom\"\nhosts = [\"a\", \"b\"]\nlinks = [{ a = \"a\", b = \"b\" }]");
    assert_eq!(graph.rack_of(NodeId(0)), None);
}

/// All errors are reported at once, each at its field.
#[test]
fn errors_of_invalid_topologies() {
    let custom = |hosts: &str, links: &str| {
        let switches = if links.contains("\"t\"") { "\"s\", \"t\"" } else { "\"s\"" };
        format!("kind = \"custom\"\nhosts = [{hosts}]\nswitches = [{switches}]\nlinks = [{links}]")
    };
    let table: Vec<(String, &str)> = vec![
        ("kind = \"star\"\nhosts = 0".into(), "topology.hosts: must be at least 1"),
        (
            "kind = \"star\"\nhosts = 4000000000".into(),
            "topology.hosts: makes 4000000000 links; at most 4194304 are supported",
        ),
        ("kind = \"star\"\nhosts = 100000".into(), "topology: \"s0\" has 100000 ports; at most 65535 are supported"),
        (
            "kind = \"star\"\nhosts = 2\nrate = \"0 bps\"\ndelay = \"0 s\"".into(),
            "topology.rate: must be from 1 Mbps to 100 Tbps\n\
             topology.delay: must be from 1 ps to 10 s",
        ),
        (
            "kind = \"star\"\nhosts = 2\nerror_rate = 1.0".into(),
            "topology.error_rate: must be at least 0 and less than 1",
        ),
        (
            "kind = \"star\"\nhosts = 2\nerror_rate = nan".into(),
            "topology.error_rate: must be at least 0 and less than 1",
        ),
        ("kind = \"fat-tree\"\nk = 5".into(), "topology.k: must be an even number of at least 2"),
        ("kind = \"fat-tree\"\nk = 0".into(), "topology.k: must be an even number of at least 2"),
        ("kind = \"fat-tree\"\nk = 4\nhosts_per_edge = 0".into(), "topology.hosts_per_edge: must be at least 1"),
        (
            "kind = \"fat-tree\"\nk = 4000000000".into(),
            "topology.k: makes 48000000000000000000000000000 links; at most 4194304 are supported",
        ),
        (
            "kind = \"leaf-spine\"\nleaves = 0\nspines = 0\nhosts_per_leaf = 0\nparallel_links = 0".into(),
            "topology.leaves: must be at least 1\n\
             topology.spines: must be at least 1\n\
             topology.hosts_per_leaf: must be at least 1\n\
             topology.parallel_links: must be at least 1",
        ),
        ("kind = \"dumbbell\"\nleft = 1\nright = 1\ntrunks = 0".into(), "topology.trunks: must be at least 1"),
        (
            "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\nfailed_links = [[\"leaf0\", \"spin0\"]]"
                .into(),
            "topology.failed_links[0]: there is no node \"spin0\" (did you mean \"spine0\"?)",
        ),
        (
            "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\nfailed_links = [[\"leaf0\", \"leaf1\"]]"
                .into(),
            "topology.failed_links[0]: there is no link between \"leaf0\" and \"leaf1\" to fail \
             (each entry removes one link between the two nodes)",
        ),
        (
            "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\nfailed_links = [[\"leaf0\", \
                \"spine0\"]]"
                .into(),
            "topology: there is no path from host \"h0\" to \"h1\" (only switches and relaying hosts forward packets; \
                add links between them)",
        ),
        (
            format!(
                "{}changed_links = [\n{}\n]",
                "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1\n",
                "{ link = [\"laef0\", \"spine7\"], rate = \"1 Gbps\" }, { link = [\"leaf0\", \"leaf*\"], rate = \"1 \
                 Gbps\" },\n\
                 { link = [\"leaf0\", \"spine0\"] }, { link = [\"leaf*\", \"spine0\"], rate = \"1 bps\", delay = \"0 \
                 s\" },\n\
                 { link = [\"leaf[0-\", \"spine1\"], rate = \"1 Gbps\" }, { link = [\"core*\", \"spine1\"], rate = \
                 \"1 Gbps\" },\n\
                 { link = [\"leaf1\", \"spine1\"], rate = \"1 Gbps\", count = 2 }, { link = [\"leaf0\", \"spine1\"], \
                     rate = \"1 Gbps\", count = 0 }"
            ),
            "topology.changed_links[0].link: there is no node \"laef0\" (did you mean \"leaf0\"?)\n\
             topology.changed_links[0].link: there is no node \"spine7\" (did you mean \"spine0\"?)\n\
             topology.changed_links[1].link: there is no link between \"leaf0\" and \"leaf*\" to change\n\
             topology.changed_links[2]: changes nothing (set rate, delay or both)\n\
             topology.changed_links[3].rate: must be from 1 Mbps to 100 Tbps\n\
             topology.changed_links[3].delay: must be from 1 ps to 10 s\n\
             topology.changed_links[3].link: the link between \"leaf0\" and \"spine0\" is already changed by \
             changed_links[2]\n\
             topology.changed_links[4].link: \"leaf[0-\" is not a valid pattern; write a range of numbers as \
             `[0-15]`; `*` matches any text\n\
             topology.changed_links[5].link: there is no node \"core*\"\n\
             topology.changed_links[6].link: selects 2 parallel links between \"leaf1\" and \"spine1\", but there are \
             only 1\n\
             topology.changed_links[7].count: must be at least 1",
        ),
        ("kind = \"star\"\nhosts = 2\nfailed_links = [[\"h1\", \"s0\"]]".into(), "topology: host \"h1\" has no link"),
        (
            "kind = \"star\"\nhosts = 2\nfailed_nodes = [\"h1\", \"h7\", \"h1\"]".into(),
            "topology.failed_nodes[1]: there is no node \"h7\"\n\
             topology.failed_nodes[2]: \"h1\" is listed twice",
        ),
        ("kind = \"star\"\nhosts = 1\nfailed_nodes = [\"h0\"]".into(), "topology: all hosts have failed"),
        ("kind = \"star\"\nhosts = 1\nfailed_nodes = [\"s0\"]".into(), "topology: host \"h0\" has no link"),
        (
            "kind = \"custom\"\nhosts = [\"a\", \"b\"]\nswitches = [\"s\"]\nlinks = [{ a = \"a\", b = \"b\" }]".into(),
            "topology: switch \"s\" has no link",
        ),
        (custom("\"a\", \"a\"", "{ a = \"a\", b = \"s\" }"), "topology.hosts[1]: another node is already called \"a\""),
        (
            "kind = \"custom\"\nhosts = [\"a\"]\nrelays = [\"b\", \"a\", \"b\"]\nlinks = [{ a = \"a\", b = \"b\" }]"
            .into(),
            "topology.relays[1]: another node is already called \"a\"\ntopology.relays[2]: another node is already \
                called \"b\"",
        ),
        (
            "kind = \"custom\"\nhosts = [\"a\"]\nrelays = [\"b\", \"c\", \"d\"]\nlinks = [{ a = \"a\", b = \"b\" \
                }]\nfailed_nodes = [\"d\"]"
                .into(),
            "topology.relays[1]: host \"c\" has no link",
        ),
        (
            custom("\"a\"", "{ a = \"a\", b = \"s\" }, { a = \"s\", b = \"s\" }"),
            "topology: link 1 links \"s\" to itself",
        ),
        (
            custom("\"alpha\"", "{ a = \"alpah\", b = \"s\", count = 0 }"),
            "topology.links[0].count: must be at least 1\n\
             topology.links[0].a: there is no node \"alpah\" (did you mean \"alpha\"?)",
        ),
        (
            custom("\"a\"", "{ a = \"a\", b = \"s\", rate = \"1 bps\", delay = \"1 s\", error_rate = -0.5 }"),
            "topology.links[0].rate: must be from 1 Mbps to 100 Tbps\n\
             topology.links[0].error_rate: must be at least 0 and less than 1",
        ),
        (custom("", "{ a = \"s\", b = \"t\" }"), "topology: has no host"),
        (custom("\"\"", "{ a = \"s\", b = \"t\" }"), "topology.hosts[0]: must not be empty"),
        (
            // Host a is linked to both switches but does not forward packets between b and c.
            custom(
                "\"a\", \"b\", \"c\"",
                "{ a = \"a\", b = \"s\" }, { a = \"a\", b = \"t\" }, { a = \"b\", b = \"s\" \
                }, { a = \"c\", b = \"t\" }",
            ),
            "topology: there is no path from host \"b\" to \"c\" (only switches and relaying hosts forward packets; \
                add links between them)",
        ),
        (
            "kind = \"file\"\npath = \"no/such/topology.txt\"".into(),
            "topology.path: ./no/such/topology.txt:1:1: cannot be read: No such file or directory (os error 2)",
        ),
    ];
    for (toml, expected) in table {
        assert_eq!(errors(&toml), expected, "{toml}");
    }
}

/// Links of a custom topology can name their ports. The names of a failed link's ports are dropped.
#[test]
fn links_can_name_their_ports() {
    let graph = build(
        r#"
        kind = "custom"
        hosts = ["a", "b"]
        switches = ["s"]
        failed_links = [["a", "s"]]
        links = [
            { a = "a", b = "s", a_port = "eth0", b_port = "Ethernet0" },
            { a = "s", b = "b", a_port = "Ethernet4" },
            { a = "s", b = "a", a_port = "Ethernet8", b_port = "eth1" },
            { a = "a", b = "s", a_port = "eth2", b_port = "Ethernet12" },
        ]
        "#,
    );
    let [a, s] = ["a", "s"].map(|name| graph.node(name).unwrap());
    let names: Vec<_> = graph.port_names.iter().map(|((node, port), name)| (*node, port.0, name.as_str())).collect();
    let expected = [(a, 0, "eth0"), (a, 1, "eth1"), (s, 0, "Ethernet0"), (s, 1, "Ethernet4"), (s, 2, "Ethernet8")];
    assert_eq!(names, expected);
}

#[test]
fn building_and_checking_can_be_interrupted() {
    let star = || build("kind = \"star\"\nhosts = 3");
    assert!(interruptible(|| Err(()), star).is_err());
    let Graph { nodes, links, .. } = star();
    assert!(interruptible(|| Err(()), || Graph::new(nodes, links, Vec::new())).is_err());
}
