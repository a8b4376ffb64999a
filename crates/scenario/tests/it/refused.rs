//! Plans random cases of the model's property tests as scenarios, nearly all of which must be
//! accepted.

#![allow(clippy::print_stdout, reason = "a test that prints its measurements")]

use crate::common;
use crate::common::random::{Case, lossless, under_dsh};
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::spec::{FlowSpec, NetworkSpec, NodeKind};
use backwater_scenario::{Document, Plan};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::path::Path;

/// Returns the scenario for `case`.
fn scenario(Case { spec, flows }: &Case) -> Value {
    let name = |node: NodeId| &spec.nodes[node].name;
    let of_kind = |kind: NodeKind| -> Vec<_> {
        let nodes = spec.nodes.iter().filter(|node| node.kind == kind);
        nodes.map(|node| &node.name).collect()
    };
    let links = spec.links.iter().map(|link| {
        let (a, b) = (name(link.a), name(link.b));
        json!({ "a": a, "b": b, "rate": link.rate, "delay": link.delay, "error_rate": link.error_rate })
    });
    let flows = flows.iter().map(|flow| {
        json!({
            "src": name(flow.src), "dst": name(flow.dst), "bytes": format!("{} B", flow.bytes),
            "start": flow.start, "class": flow.class,
        })
    });
    let NetworkSpec { seed, framing, mtu, switch, host, congestion, load_balance, recovery, .. } = spec;
    json!({
        "run": { "seed": seed },
        "topology": {
            "kind": "custom", "hosts": of_kind(NodeKind::Host), "switches": of_kind(NodeKind::Switch),
            "links": links.collect::<Vec<_>>(),
        },
        "network": { "framing": framing, "mtu": mtu, "flow_keys": "number" },
        "switch": switch,
        "host": host,
        "congestion_control": congestion,
        "load_balance": load_balance,
        "recovery": recovery,
        "traffic": [{ "kind": "flows", "flows": flows.collect::<Vec<_>>() }],
    })
}

/// Draws cases and plans them. Prints the number of refused scenarios and the first reasons.
fn assert_few_are_refused(name: &str, strategy: impl Strategy<Value = Case>) {
    let config = common::cases(400);
    let count = config.cases;
    let mut runner = TestRunner::new(config);
    let mut refused = Vec::new();
    for _ in 0..count {
        let case = strategy.new_tree(&mut runner).unwrap().current();
        match Plan::from_document(&Document::from_json(&scenario(&case)), Path::new(".")) {
            // The planned network and flows must equal the case, except for the names of flows.
            Ok(plan) => {
                let flows: Vec<_> = plan.traffic.flows().map(|flow| FlowSpec { part: 0, number: 0, ..flow }).collect();
                assert_eq!(format!("{:?} {flows:?}", plan.spec()), format!("{:?} {:?}", case.spec, case.flows));
            }
            Err(diagnostics) => refused.extend(diagnostics.first().map(ToString::to_string)),
        }
    }
    println!("{name}: {} of {count} scenarios refused", refused.len());
    for reason in refused.iter().take(5) {
        println!("  {reason}");
    }
    assert!(refused.len() * 20 < count as usize);
}

#[test]
fn planning_accepts_nearly_all_lossless_cases() {
    assert_few_are_refused("lossless", lossless());
}

#[test]
fn planning_accepts_nearly_all_cases_under_dsh() {
    assert_few_are_refused("under DSH", under_dsh());
}
