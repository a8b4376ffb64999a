//! Files of the HPCC ns-3 simulator and its relatives: dialects, invalid files, round trips.

use backwater_engine::{Duration, Rate, Time};
use backwater_fabric::ids::{Class, NodeId};
use backwater_fabric::network::spec::NodeKind;
use backwater_scenario::Diagnostic;
use backwater_scenario::hpcc::{HpccFlow, TopologyDialect, read_flows, read_topology, write_flows, write_topology};
use backwater_scenario::topology::{Graph, TopologyConfig};
use backwater_scenario::workload::FlowDialect;
use proptest::prelude::*;
use std::path::Path;

fn all(errors: Vec<Diagnostic>) -> String {
    let line = |error: Diagnostic| Diagnostic { hint: None, ..error }.to_string().replace(": error: ", ": ");
    errors.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_hpcc_dialect_allows_switches_first_and_text_at_the_end() {
    let text = "3 1 2\n0\n0 1 100Gbps 0.001ms 0\n0 2 25000000000.0 1000ns 0.01\n\nFirst line: total node #, switch \
        node #, link #\n";
    let topology = read_topology(text, "t.txt").unwrap();
    assert_eq!(topology.dialect, TopologyDialect::Hpcc);
    let names: Vec<_> = topology.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["s0", "h1", "h2"]);
    let link = &topology.links[1];
    assert_eq!((link.a, link.b, link.rate), (NodeId(0), NodeId(2), Rate::from_gbps(25)));
    assert_eq!((link.delay, link.error_rate), (Duration::from_us(1), 0.01));
    assert_eq!(topology.notes, ["t.txt: the header announces 2 links; the text from line 6 on is ignored"]);
}

#[test]
fn the_simai_dialect_has_nvswitches() {
    let text = "5 2 1 1 5 H100\n2\n4\n0 2 2400Gbps 0.000025ms 0\n1 2 2400Gbps 0.000025ms 0\n0 4 400Gbps 0.0005ms 0\n1 \
        4 400Gbps 0.0005ms 0\n3 4 400Gbps 0.0005ms 0\n";
    let topology = read_topology(text, "t.txt").unwrap();
    assert_eq!(topology.dialect, TopologyDialect::Simai);
    assert_eq!(topology.nodes[2].kind, NodeKind::Switch);
    assert_eq!(topology.links[0].delay, Duration::from_ns(25));
    assert_eq!(topology.notes, ["t.txt: 1 NVSwitch is modelled as an ordinary switch"]);
    let graph = Graph::new(topology.nodes, topology.links, Vec::new()).unwrap();
    assert_eq!(graph.host_rate(NodeId(0)), Rate::from_gbps(2800));
}

#[test]
fn the_pyrrha_dialect_has_no_error_rates() {
    let text = "5 3 1 2 1 4\n2\n3\n4\n0 2 100Gbps 1us\n1 3 100Gbps 1us\n2 4 400Gbps 1us\n3 4 400Gbps 1us\n";
    let topology = read_topology(text, "t.txt").unwrap();
    assert_eq!(topology.dialect, TopologyDialect::Pyrrha);
    assert_eq!(topology.links.len(), 4);
    assert!(topology.notes.is_empty());
}

/// Files of the Pyrrha simulator have rates in Gb/s and delays in ns, both without units. The flow
/// file has two numbers in its header and six columns.
#[test]
fn the_files_of_the_pyrrha_simulator_are_read() {
    let topology = read_topology(include_str!("../data/pyrrha/topology.txt"), "t.txt").unwrap();
    assert_eq!(topology.dialect, TopologyDialect::Pyrrha);
    let links: Vec<_> = topology.links.iter().map(|link| (link.rate, link.delay)).collect();
    let (down, up) = ((Rate::from_gbps(100), Duration::from_ns(600)), (Rate::from_gbps(400), Duration::from_ns(1500)));
    assert_eq!(links, [down, down, down, down, up, up]);
    for dialect in [None, Some(FlowDialect::Pyrrha)] {
        let flows = read_flows(include_str!("../data/pyrrha/flows.txt"), "f.txt", dialect).unwrap();
        assert_eq!(flows.dialect, FlowDialect::Pyrrha);
        let read: Vec<_> =
            flows.flows.iter().map(|flow| (flow.src.0, flow.dst.0, flow.bytes, flow.start.ps())).collect();
        assert_eq!(
            read,
            [(0, 2, 49_640, 2_000_000_099_000), (1, 2, 1460, 2_000_001_000_000), (3, 0, 5_000_000, 2_000_001_000_000)]
        );
        let notes: &[&str] = match dialect {
            None => &["f.txt: read as a file of the Pyrrha simulator, since the first line has two numbers"],
            Some(_) => &[],
        };
        assert_eq!(flows.notes, notes);
    }
    for header in ["1", "1 7"] {
        let flows = read_flows(&format!("{header}\n0 2 1460 2.000001\n"), "f", None).unwrap();
        assert_eq!((flows.dialect, flows.flows.len()), (FlowDialect::Pyrrha, 1));
    }
}

#[test]
fn parallel_links_are_kept() {
    let text = "4 2 4\n2 3\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 40Gbps 1us 0\n2 3 40Gbps 1us 0\n";
    let topology = read_topology(text, "t.txt").unwrap();
    let graph = Graph::new(topology.nodes, topology.links, Vec::new()).unwrap();
    assert_eq!(graph.uplink_capacity(NodeId(2)), Rate::from_gbps(80));
}

#[test]
fn errors_in_topology_files_have_positions() {
    let table = [
        ("", "t:1:1: the file is empty; expected <nodes> <switches> <links>"),
        ("3 1", "t:1:1: the first line has 2 words; expected 3 (HPCC, ConWeave) or 6 (SimAI, Pyrrha)"),
        (
            "3 x 2",
            "t:1:3: \"x\" is not a number; expected the number of switches, less than the number of nodes, a whole \
                number from 0 to 2",
        ),
        (
            "3 -1 2",
            "t:1:3: \"-1\" is negative; expected the number of switches, less than the number of nodes, a whole number \
                from 0 to 2",
        ),
        (
            "3 1.5 2",
            "t:1:3: \"1.5\" does not consist of digits only; expected the number of switches, less than the number of \
                nodes, a whole number from 0 to 2",
        ),
        (
            "99999999999999999999 1 2",
            "t:1:1: \"99999999999999999999\" is too large; expected the number of nodes, a whole number from 2 to \
                4194304",
        ),
        (
            "9999999 1 2",
            "t:1:1: \"9999999\" is out of range; expected the number of nodes, a whole number from 2 to 4194304",
        ),
        ("100 1 2", "t:1:1: 2 links cannot connect 99 hosts"),
        ("3 2 1 2 2 H100", "t:1:1: 3 nodes, of which 3 are switches, leave no host"),
        ("3 1 2", "t:2:1: the header announces 1 switch number, but the file ends after 0"),
        ("3 1 2\n7\n", "t:2:1: \"7\" is out of range; expected a switch number, a whole number from 0 to 2"),
        ("4 2 2\n2 2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0", "t:2:3: switch 2 is listed twice"),
        (
            "3 1 2\n2 1\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0",
            "t:2:3: unexpected \"1\"; the header announces 1 switch number",
        ),
        ("3 1 2\n2\n0 2 1Gbps 1us 0\n", "t:4:1: the header announces 2 links, but the file ends after 1"),
        (
            "3 1 2\n2\n0 2 1Gbps 1us\n1 2 1Gbps 1us 0 0",
            "t:3:1: a link has 5 columns, <node> <node> <rate> <delay> <error rate>; found 4\n\
             t:4:1: a link has 5 columns, <node> <node> <rate> <delay> <error rate>; found 6",
        ),
        (
            "4 1 1 2 1 3\n3\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us\n2 3 1Gbps 1us",
            "t:3:1: a link has 4 columns, <node> <node> <rate> <delay>; found 5",
        ),
        (
            "3 1 2\n2\n0 3 fast 1us 0\n1 1 1Gbps soon 2",
            "t:3:3: \"3\" is out of range; expected a node number, a whole number from 0 to 2\n\
             t:3:5: \"fast\" is not a number; expected a bit rate such as 100Gbps\n\
             t:4:3: node 1 is linked to itself\n\
             t:4:11: \"soon\" is not a number; expected a delay such as 1000ns\n\
             t:4:16: the error rate is 2; must be at least 0 and less than 1",
        ),
        (
            "4 1 1 2 1 3\n3\n0 3 1000000000 1\n1 3 100 0\n2 3 100 1000",
            "t:3:5: the rate is 1000000 Tbps; must be from 1 Mbps to 100 Tbps\nt:4:9: the delay is 0 ps; must be from \
                1 ps to 10 s",
        ),
        ("3 1 2\n2\n0 2 0Gbps 1us 0\n1 2 1Gbps 1us 0", "t:3:5: the rate is 0 bps; must be from 1 Mbps to 100 Tbps"),
        (
            "3 1 2\n2\n0 2 100 1000 0\n1 2 1Gbps 1us 0",
            "t:3:5: the rate is 100 bps; must be from 1 Mbps to 100 Tbps\nt:3:9: the delay is 1000 s; must be from 1 \
                ps to 10 s",
        ),
        (
            "3 1 2\n2\n0 2 1Gbps 0ns 0\n1 2 1Gbps -1ns 0",
            "t:3:11: the delay is 0 ps; must be from 1 ps to 10 s\nt:4:11: \"-1ns\" is negative; expected a delay \
                such as 1000ns",
        ),
        (
            "3 1 2\n2\n0 2 1Gbps 1us nan\n1 2 1Gbps 1us -0.1",
            "t:3:15: \"nan\" is not a number; expected a probability\nt:4:15: \"-0.1\" is negative; expected a \
                probability",
        ),
        (
            "3 1 2\n2\n0 2 99999999999Gbps 1us 0\n1 2 1Gbps 1e30us 0",
            "t:3:5: \"99999999999Gbps\" is too large; expected a bit rate such as 100Gbps\nt:4:11: \"1e30us\" is too \
                large; expected a delay such as 1000ns",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(all(read_topology(text, "t").unwrap_err()), expected, "{text}");
    }
}

#[test]
fn flows_are_read_exactly_in_every_dialect() {
    let flow = |pg, dport, line| HpccFlow {
        src: NodeId(0),
        dst: NodeId(5),
        pg,
        dport,
        bytes: 5_000_000_000,
        start: Time::from_ps(2_000_000_037_123),
        line,
    };
    let hpcc = read_flows("1\n0 5 3 200 5000000000 2.000000037123\n", "f", None).unwrap();
    assert_eq!((hpcc.dialect, &hpcc.flows[..]), (FlowDialect::Hpcc, &[flow(Some(Class(3)), Some(200), 2)][..]));
    let conweave = read_flows("1\n\n0 5 3 5000000000 2.000000037123\n", "f", None).unwrap();
    assert_eq!((conweave.dialect, &conweave.flows[..]), (FlowDialect::Conweave, &[flow(Some(Class(3)), None, 3)][..]));
    let pyrrha = read_flows("1\n0 5 5000000000 2.000000037123\n", "f", None).unwrap();
    assert_eq!((pyrrha.dialect, &pyrrha.flows[..]), (FlowDialect::Pyrrha, &[flow(None, None, 2)][..]));
    let long = read_flows("1\n0 5 5000000000 2.000000037123 7 8\n", "f", Some(FlowDialect::Pyrrha)).unwrap();
    assert_eq!(long.flows, pyrrha.flows);
}

#[test]
fn unsorted_flows_are_sorted_and_surplus_lines_ignored_with_a_note() {
    let flows =
        read_flows("3\n0 1 3 100 10 2.5\n1 0 3 100 20 2\n2 0 3 100 30 2.5\n\nFirst line: # of flows\n", "f", None)
            .unwrap();
    assert_eq!(flows.flows.iter().map(|flow| flow.bytes).collect::<Vec<_>>(), [20, 10, 30]);
    assert_eq!(
        flows.notes,
        [
            "f: the header announces 3 flows; the text from line 6 on is ignored",
            "f: the flow of line 3 starts before the previous flow; flows are sorted by start time"
        ]
    );
}

#[test]
fn errors_in_flow_files_have_positions() {
    let table = [
        ("", None, "f:1:1: the file is empty; expected the number of flows"),
        (
            "many\n",
            None,
            "f:1:1: \"many\" is not a number; expected the number of flows, a whole number from 0 to 4294967295",
        ),
        ("1 2\n0 1 3 100 10 2", Some(FlowDialect::Hpcc), "f:1:3: the first line must contain only the number of flows"),
        ("1 2 3\n0 1 10 2", None, "f:1:3: the first line must contain only the number of flows"),
        (
            "1 2 3\n0 1 10 2",
            Some(FlowDialect::Pyrrha),
            "f:1:5: the first line must contain the number of flows and at most one more number",
        ),
        (
            "1 x\n0 1 10 2",
            None,
            "f:1:3: \"x\" is not a number; expected the second number of the first line (ignored), a whole number from \
                0 to 18446744073709551615",
        ),
        (
            "1 2\n0 1 3 10 2",
            None,
            "f:2:1: a flow has 4 or 6 columns, <src> <dst> <bytes> <start s> [<qp> <msg>], the same number in every \
                line; found 5",
        ),
        ("2\n0 1 3 100 10 2", None, "f:3:1: the header announces 2 flows, but the file ends after 1"),
        ("1\n0 1 3", None, "f:2:1: a flow has 6 columns, <src> <dst> <pg> <dport> <bytes> <start s>; found 3"),
        (
            "2\n0 1 10 2\n0 1 10 2 7 8",
            None,
            "f:3:1: a flow has 4 or 6 columns, <src> <dst> <bytes> <start s> [<qp> <msg>], the same number in every \
                line; found 6",
        ),
        (
            "1\n0 1 3 100 10 2",
            Some(FlowDialect::Conweave),
            "f:2:1: a flow has 5 columns, <src> <dst> <pg> <bytes> <start s>; found 6",
        ),
        ("1\n0 0 3 100 10 2", None, "f:2:3: host 0 cannot send to itself"),
        (
            "2\n-1 0 8 70000 0 -2\n0 1 3 100 1e3 nan",
            None,
            "f:2:1: \"-1\" is negative; expected a host number, a whole number from 0 to 4294967295\n\
             f:2:6: \"8\" is out of range; expected a priority group, a whole number from 0 to 7\n\
             f:2:8: \"70000\" is out of range; expected a port, a whole number from 0 to 65535\n\
             f:2:14: \"0\" is out of range; expected a size in bytes, a whole number from 1 to 18446744073709551614\n\
             f:2:16: \"-2\" is negative; expected a start time in seconds such as 2.000001\n\
             f:3:11: \"1e3\" does not consist of digits only; expected a size in bytes, a whole number from 1 to \
             18446744073709551614\n\
             f:3:15: \"nan\" is not a number; expected a start time in seconds such as 2.000001",
        ),
        (
            "1\n0 1 3 100 10 99999999999",
            None,
            "f:2:14: \"99999999999\" is too large; expected a start time in seconds such as 2.000001",
        ),
    ];
    for (text, dialect, expected) in table {
        assert_eq!(all(read_flows(text, "f", dialect).unwrap_err()), expected, "{text}");
    }
}

#[test]
fn at_most_fifty_errors_of_a_file_are_shown() {
    let text = format!("1000\n{}", "0 0 3 100 10 2\n".repeat(1000));
    let errors = read_flows(&text, "f", None).unwrap_err();
    assert_eq!(errors.len(), 50);
    assert_eq!(errors[49].hint.as_deref(), Some("not shown: 950 more errors of this file"));
}

#[test]
fn flows_must_run_between_hosts_of_the_topology() {
    let topology = read_topology("3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0", "t").unwrap();
    let graph = Graph::new(topology.nodes, topology.links, Vec::new()).unwrap();
    let flows = read_flows("3\n0 1 3 100 10 2\n0 2 3 100 10 2\n7 1 3 100 10 2", "f", None).unwrap();
    assert_eq!(
        all(flows.check(&graph)),
        "f:3:1: the destination 2 is a switch, not a host\nf:4:1: the source 7 is not a node; the topology has nodes \
            0 to 2"
    );
}

#[test]
fn graphs_are_unchanged_by_a_round_trip() {
    for toml in [
        "kind = \"star\"\nhosts = 3\ndelay = \"1.5 ns\"\nerror_rate = 0.00001",
        "kind = \"dumbbell\"\nleft = 2\nright = 3\ntrunks = 4\nrate = \"79999999000 bps\"",
        "kind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 2\nparallel_links = 2",
        "kind = \"fat-tree\"\nk = 4",
    ] {
        let config: TopologyConfig = toml::from_str(toml).unwrap();
        let graph = config.build(Path::new(".")).unwrap();
        let back = read_topology(&write_topology(&graph), "t").unwrap();
        assert_eq!(back.links, graph.links);
        let kinds = |graph: &[backwater_fabric::network::spec::NodeSpec]| {
            graph.iter().map(|node| node.kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&back.nodes), kinds(&graph.nodes));
    }
}

proptest! {
    #[test]
    fn flows_are_unchanged_by_a_round_trip(
        flows in prop::collection::vec(
            (0u32..9, 9u32..20, 0u8..8, any::<u16>(), 1u64..1 << 60, 0u64..1_000_000_000_000_000_000),
            0..20,
        ),
    ) {
        let mut flows: Vec<_> = flows.into_iter().map(|(src, dst, pg, dport, bytes, start)| HpccFlow {
            src: NodeId(src),
            dst: NodeId(dst),
            pg: Some(Class(pg)),
            dport: Some(dport),
            bytes,
            start: Time::from_ps(start),
            line: 0,
        }).collect();
        flows.sort_by_key(|flow| flow.start);
        for (i, flow) in flows.iter_mut().enumerate() {
            flow.line = i + 2;
        }
        prop_assert_eq!(read_flows(&write_flows(&flows), "f", None).unwrap().flows, flows);
    }

    #[test]
    fn arbitrary_text_never_panics(text in "(?s).*") {
        let _ = read_topology(&text, "t");
        let _ = read_flows(&text, "f", None);
    }

    #[test]
    fn nearly_valid_text_never_panics(text in "[0-9]{1,2}( [0-9]{1,2}){2}(\n[0-9 .eGbpsun-]{0,30}){0,8}") {
        if let Ok(topology) = read_topology(&text, "t") {
            let _ = Graph::new(topology.nodes, topology.links, Vec::new());
        }
        let _ = read_flows(&text, "f", None);
    }
}
