//! Tests of roles.

use super::*;
use FlowRole::{Background, Incast, Vulnerable};
use backwater_scenario::{Document, Plan};
use std::path::Path;

/// Network of 10 leaves with 2 hosts each and 4 spines. Hosts `2 l` and `2 l + 1` are at leaf
/// l.
fn plan(traffic: &str) -> Plan {
    let text = format!(
        "topology = {{ kind = \"leaf-spine\", leaves = 10, spines = 4, hosts_per_leaf = 2 }}\ntraffic = [{traffic}]\n"
    );
    Plan::from_document(&Document::from_toml("s.toml", &text).unwrap(), Path::new(".")).unwrap()
}

/// Returns the source, the destination and the role of all flows.
fn roles(traffic: &str, least: f64) -> Vec<(u32, u32, FlowRole)> {
    let plan = plan(traffic);
    let mut fabric = Fabric::new(plan.spec().clone()).unwrap();
    let roles = Roles::new(&plan.traffic, &[], &mut fabric, least).unwrap();
    let flows = (0..).map(FlowId).zip(plan.traffic.flows());
    let role = |(id, flow): (FlowId, FlowSpec)| {
        fabric.add_waypoint_routes(&flow);
        (flow.src.0, flow.dst.0, roles.of(&fabric, &flow, &fabric.path(id, &flow, Direction::Data)))
    };
    flows.map(role).collect()
}

const INCAST: &str = "{ kind = \"incast\", degree = 18, size = \"64 KB\", receivers = \"h0\", stop = \"1 us\" }";

/// Each spine carries a quarter of the incast to leaf 0, each uplink of a leaf 1/36, and each
/// host's link 1/18.
#[test]
fn victims_share_a_port_where_an_incast_converges() {
    let traffic =
        format!("{INCAST}, {{ kind = \"all-to-all\", bytes = \"1 KB\", tag = \"others\", start = \"1 us\" }}");
    for (src, dst, role) in roles(&traffic, 0.1).into_iter().skip(18) {
        let intersects = dst / 2 == 0 && src / 2 != 0;
        assert_eq!(role, if intersects { Vulnerable } else { Background }, "{src} to {dst}");
    }
    // With a smaller limit, uplinks also count. All flows that leave their rack are then
    // vulnerable, except those of the receiver's rack.
    for (src, dst, role) in roles(&traffic, 1.0 / 36.0).into_iter().skip(18) {
        // Flows from other racks also share their host's link with the incast.
        let intersects = src / 2 != 0;
        assert_eq!(role, if intersects { Vulnerable } else { Background }, "{src} to {dst}");
    }
    assert!(roles(&traffic, 0.1).iter().take(18).all(|(_, dst, role)| (*dst, *role) == (0, Incast)));
}

/// Each possible receiver of an incast counts.
#[test]
fn every_possible_receiver_counts() {
    let traffic = format!(
        "{}, {{ kind = \"all-to-all\", bytes = \"1 KB\", tag = \"others\", start = \"1 us\" }}",
        INCAST.replace("\"h0\"", "[\"h0\", \"h5\"]")
    );
    for (src, dst, role) in roles(&traffic, 0.1).into_iter().skip(18) {
        let intersects = [0, 2].contains(&(dst / 2)) && src / 2 != dst / 2;
        assert_eq!(role, if intersects { Vulnerable } else { Background }, "{src} to {dst}");
    }
}

/// Two large flows and a small one go to h0, each through a given spine. No other flow uses the
/// last hop.
#[test]
fn listed_flows_count_on_their_own_paths_by_their_bytes() {
    let flow = |src: u32, dst: u32, spine: u32, bytes: &str| {
        format!("{{ src = \"h{src}\", dst = \"h{dst}\", bytes = \"{bytes}\", data_via = [\"spine{spine}\"] }}")
    };
    let list = |flows: &[String]| format!("flows = [{}]", flows.join(", "));
    let culprits = list(&[flow(2, 0, 1, "9 MB"), flow(4, 0, 1, "10 MB"), flow(6, 0, 2, "1 MB")]);
    let others = [(8, 1, 1), (8, 1, 0), (8, 1, 2), (3, 9, 1), (3, 9, 0), (7, 9, 2), (2, 9, 0), (1, 8, 1)];
    let listed: Vec<String> = others.iter().map(|(src, dst, spine)| flow(*src, *dst, *spine, "1 KB")).collect();
    let traffic = format!(
        "{{ kind = \"flows\", tag = \"culprits\", role = \"incast\", {culprits} }}, {{ kind = \"flows\", {} }}",
        list(&listed)
    );
    let expected = [
        Vulnerable, // shares a port of spine 1
        Background, Background, // spine 0 carries no incast, spine 2 carries a twentieth of it
        Vulnerable, // shares the uplink of its leaf
        Background, Background, Vulnerable, // the last shares the link of its host
        Background, // passes the same links in the other direction
    ];
    let found: Vec<_> = roles(&traffic, 0.1).into_iter().map(|(_, _, role)| role).collect();
    assert_eq!(found[..3], [Incast; 3]);
    assert_eq!(found[3..], expected);
    assert_eq!(roles(&traffic, 0.05)[5].2, Vulnerable);
}

/// A ring of two hosts: each link carries half of the bytes, all of them to one host.
#[test]
fn jobs_count_on_the_paths_of_their_connections() {
    let traffic = "{ kind = \"collective\", operation = \"all-gather\", bytes = \"1 MB\", hosts = [\"h0\", \"h2\"], role = \
        \"incast\" }, { kind = \"flows\", flows = [{ src = \"h0\", dst = \"h4\" }, { src = \"h1\", dst = \"h4\" }] }";
    let plan = plan(traffic);
    let mut fabric = Fabric::new(plan.spec().clone()).unwrap();
    let first = fabric.flows.declare(plan.traffic.jobs[0].connections.clone());
    let roles = Roles::new(&plan.traffic, &[first], &mut fabric, 0.1).unwrap();
    let ids = (fabric.flows.next_id().0..).map(FlowId);
    let role = |(id, flow): (FlowId, FlowSpec)| roles.of(&fabric, &flow, &fabric.path(id, &flow, Direction::Data));
    let mut found = ids.zip(plan.traffic.flows()).map(role);
    assert_eq!(found.next(), Some(Vulnerable), "shares the link of h0");
    assert_eq!(found.next(), Some(Background));
}

#[test]
fn a_scenario_without_incast_has_no_roles() {
    let none = |traffic: &str| {
        let plan = plan(traffic);
        Roles::new(&plan.traffic, &[], &mut Fabric::new(plan.spec().clone()).unwrap(), 0.1).is_none()
    };
    assert!(none("{ kind = \"permutation\" }"));
    assert!(none(&INCAST.replace("degree", "role = \"other\", degree")));
    assert!(!none("{ kind = \"permutation\", role = \"incast\" }"));
}
