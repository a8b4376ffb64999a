//! Names of flows in hash keys: no flow's path depends on unrelated flows.

use backwater_fabric::frame::Direction;
use backwater_fabric::ids::FlowId;
use backwater_fabric::network::spec::FlowSpec;
use backwater_scenario::{Document, Plan};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

fn plan(traffic: &str, network: &str) -> Plan {
    let text = format!(
        "run.until = \"100 us\"\ntopology = {{ kind = \"leaf-spine\", leaves = 4, spines = 8, hosts_per_leaf = 4 }}\n\
         {network}\ntraffic = [{traffic}]\n"
    );
    Plan::from_document(&Document::from_toml("s.toml", &text).unwrap(), Path::new(".")).unwrap()
}

/// Start, source, destination, bytes and number of a flow.
type Name = (u64, u32, u32, u64, u32);

/// Returns the paths of the flows with `tag`, by everything that identifies a flow.
fn paths(plan: &Plan, tag: &str) -> BTreeMap<Name, Vec<Vec<u16>>> {
    let fabric = plan.take_fabric();
    let tag = plan.traffic.tags.iter().position(|name| name == tag).unwrap() as u16;
    let mut paths: BTreeMap<_, Vec<Vec<u16>>> = BTreeMap::new();
    for (id, flow) in (0..).map(FlowId).zip(plan.traffic.flows()).filter(|(_, flow)| flow.tag == tag) {
        let path = |direction| fabric.path(id, &flow, direction).iter().map(|port| port.0).collect::<Vec<_>>();
        let FlowSpec { start, src, dst, bytes, number, .. } = flow.clone();
        let both = [path(Direction::Data), path(Direction::Ack)].concat();
        paths.entry((start.ps(), src.0, dst.0, bytes, number)).or_default().push(both);
    }
    paths
}

/// Parts of traffic of all kinds that are listed or generated, with the tag `own`.
const PARTS: [&str; 6] = [
    "{ kind = \"permutation\", tag = \"own\", sizes = \"1 MB\" }",
    "{ kind = \"poisson\", tag = \"own\", sizes = { fixed = \"10 KB\" }, load = 0.5 }",
    "{ kind = \"incast\", tag = \"own\", degree = 4, size = \"1 KB\", period = \"10 us\" }",
    "{ kind = \"all-to-all\", tag = \"own\", bytes = \"1 KB\" }",
    "{ kind = \"rack-shuffle\", tag = \"own\", one_in = 2, size = \"1 KB\", flows = 3 }",
    "{ kind = \"flows\", tag = \"own\", flows = [{ src = \"h0\", dst = \"h4\", bytes = \"1 KB\" }, { src = \"h0\", dst = \
     \"h4\", bytes = \"1 KB\", start = \"1 us\" }] }",
];

#[test]
fn other_parts_do_not_move_a_path() {
    let others = [
        "{ kind = \"flows\", tag = \"first\", flows = [{ src = \"h1\", dst = \"h2\", bytes = \"1 KB\" }] }",
        "{ kind = \"poisson\", tag = \"more\", sizes = { fixed = \"1 KB\" }, load = 0.1 }",
    ];
    for own in PARTS {
        let alone = paths(&plan(own, ""), "own");
        for other in others {
            assert_eq!(paths(&plan(&format!("{other}, {own}"), ""), "own"), alone, "{own}");
        }
        // The check can fail: with numbers in order of start, the paths differ.
        let by_number = "network.flow_keys = \"number\"";
        let moved = paths(&plan(&format!("{}, {own}", others[0]), by_number), "own");
        assert_ne!(moved, paths(&plan(own, by_number), "own"), "{own}");
    }
}

/// Flows of one pair of hosts take different paths, and so do parts with other tags.
#[test]
fn flows_of_a_pair_spread_over_the_paths() {
    let flows = "{ src = \"h0\", dst = \"h4\", bytes = \"1 KB\" },".repeat(64);
    let traffic = format!(
        "{{ kind = \"flows\", tag = \"a\", flows = [{flows}] }}, {{ kind = \"flows\", tag = \"b\", flows = [{flows}] }}"
    );
    let plan = plan(&traffic, "");
    let [a, b] = ["a", "b"].map(|tag| paths(&plan, tag).into_values().flatten().collect::<Vec<_>>());
    let distinct = |paths: &[Vec<u16>]| paths.iter().map(|path| path[1]).collect::<std::collections::BTreeSet<_>>();
    assert_eq!((distinct(&a).len(), distinct(&b).len()), (8, 8));
    assert_ne!(a, b);
}

#[test]
fn the_seed_of_the_hash_moves_paths_and_nothing_else() {
    let with = |network: &str| plan(PARTS[1], network);
    let (one, other) = (with(""), with("network.hash_seed = 7"));
    assert_ne!(paths(&one, "own"), paths(&other, "own"));
    assert!(one.traffic.flows().eq(other.traffic.flows()));
    // The default is the seed of the run.
    assert_eq!(paths(&with("network.hash_seed = 1"), "own"), paths(&one, "own"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    /// A removed flow moves only later flows of the same pair of hosts.
    #[test]
    fn a_removed_flow_moves_no_other_pair(
        ends in prop::collection::vec((0u32..16, 1u32..16), 2..30),
        removed in any::<prop::sample::Index>(),
    ) {
        let list = |skipped: Option<usize>| {
            let entry = |(i, (src, ahead)): (usize, &(u32, u32))| {
                let dst = (src + ahead) % 16;
                (Some(i) != skipped).then(|| {
                    format!("{{ src = \"h{src}\", dst = \"h{dst}\", bytes = \"{} B\", start = \"{i} ns\" }}", i + 1)
                })
            };
            let flows: Vec<String> = ends.iter().enumerate().filter_map(entry).collect();
            paths(&plan(&format!("{{ kind = \"flows\", tag = \"own\", flows = [{}] }}", flows.join(", ")), ""), "own")
        };
        let removed = removed.index(ends.len());
        let (src, ahead) = ends[removed];
        let pair = (src, (src + ahead) % 16);
        let mut before = list(None);
        before.retain(|(_, src, dst, ..), _| (*src, *dst) != pair);
        let mut after = list(Some(removed));
        after.retain(|(_, src, dst, ..), _| (*src, *dst) != pair);
        prop_assert_eq!(before, after);
    }
}
