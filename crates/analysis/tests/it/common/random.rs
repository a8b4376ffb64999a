//! Random cases: flows on shortest or arbitrary paths through small fabrics, and random congested
//! ports.

use super::networks::{fat_tree, flow, leaf_spine, linked};
use backwater_analysis::{Case, Flow, Path, Port, network};
use backwater_engine::Rate;
use backwater_fabric::ids::{Class, NodeId, PortId};
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::spec::{NetworkSpec, NodeKind};
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};
use std::collections::BTreeSet;

/// Draws a random tree of switches with additional random links, and a host at each switch.
fn graph() -> impl Strategy<Value = NetworkSpec> {
    let links = |switches: u32| {
        let tree = prop::collection::vec(any::<Index>(), switches as usize - 1);
        let further = prop::collection::vec((0..switches, 1..switches), 0..10);
        (Just(switches), tree, further)
    };
    (3u32..9).prop_flat_map(links).prop_map(|(switches, tree, further)| {
        let access = (0..switches).map(|host| (host, switches + host));
        let parent =
            |(switch, index): (u32, Index)| (switches + switch, switches + index.index(switch as usize) as u32);
        let tree = (1..).zip(tree).map(parent);
        let further = further.into_iter().map(|(a, ahead)| (switches + a, switches + (a + ahead) % switches));
        linked(switches, switches, access.chain(tree).chain(further))
    })
}

fn hosts(spec: &NetworkSpec) -> u32 {
    spec.nodes.iter().filter(|node| node.kind == NodeKind::Host).count() as u32
}

fn congested(case: Case, all: bool) -> impl Strategy<Value = Case> {
    let passed: BTreeSet<PortId> = case.flows().iter().flat_map(|flow| flow.path.ports()).copied().collect();
    let (passed, most) = (Vec::from_iter(passed), if all { usize::MAX } else { 8 });
    let count = 0..=passed.len().min(most);
    subsequence(passed.clone(), count).prop_map(move |congested| {
        let port = |port: &PortId| (*port, case.port(*port).clone());
        Case::new(passed.iter().map(port).collect(), case.flows().to_vec(), congested).unwrap()
    })
}

/// Draws flows on shortest paths through leaf-spine fabrics, fat-trees and graphs, with random
/// congested ports.
pub(crate) fn shortest_paths() -> impl Strategy<Value = Case> {
    let leaf_spine =
        (2u32..5, 1u32..4, 1u32..5).prop_map(|(leaves, spines, per_leaf)| leaf_spine(leaves, per_leaf, spines));
    let spec = prop_oneof![2 => leaf_spine, 1 => Just(fat_tree(4)), 2 => graph()];
    let with_flows = spec.prop_flat_map(|spec| {
        let hosts = hosts(&spec);
        (Just(spec), prop::collection::vec((0..hosts, 1..hosts), 1..24), any::<u64>())
    });
    let case = with_flows.prop_map(|(spec, pairs, seed)| {
        let hosts = hosts(&spec);
        let mut fabric = Fabric::new(NetworkSpec { seed, ..spec }).unwrap();
        let specs = pairs.into_iter().map(|(src, ahead)| flow(src, (src + ahead) % hosts));
        let flows = network::flows(&mut fabric, specs).unwrap();
        network::case(&fabric, flows, BTreeSet::new())
    });
    case.prop_flat_map(|case| congested(case, false))
}

/// Draws flows on arbitrary paths, including loops, through 12 ports of 4 nodes, with random
/// congested ports.
pub(crate) fn any_paths() -> impl Strategy<Value = Case> {
    const PORTS: u32 = 12;
    let path = prop::collection::vec((0..PORTS).prop_map(PortId), 1..8).prop_map(Path::new);
    let paths = prop::collection::vec((path, 1u8..4), 1..12);
    let case = paths.prop_map(|paths| {
        let port = |port: u32| {
            let (node, kind, rate) = (NodeId(port / 3), NodeKind::Switch, Rate::from_gbps(100));
            (PortId(port), Port { name: format!("s{}:{port}", node.0), node, kind, rate, peer: PortId(port) })
        };
        let flow = |(number, (path, class)): (u32, (Path, u8))| Flow {
            name: format!("F{number}"),
            class: Class(class),
            destination: NodeId(number),
            path,
        };
        Case::new((0..PORTS).map(port).collect(), (0..).zip(paths).map(flow).collect(), []).unwrap()
    });
    case.prop_flat_map(|case| congested(case, true))
}
