//! Answers for networks and their flows.

use crate::common::networks::{fat_tree, flow, leaf_spine};
use backwater_analysis::{Question, analyze, network};
use backwater_engine::Rate;
use backwater_fabric::ids::NodeId;
use backwater_fabric::mechanisms::congestion::CongestionConfig;
use backwater_fabric::mechanisms::load_balance::LoadBalanceConfig;
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::names::ports_called;
use backwater_fabric::network::spec::{FlowSpec, LinkSpec, NetworkSpec};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Returns two leaves, `s0` and `s1`, with four hosts each, and one spine, `s2`.
fn spec() -> NetworkSpec {
    leaf_spine(2, 4, 1)
}

/// Returns an incast to h4 from both leaves, and a flow from h2 to h4's neighbour h5.
fn incast() -> Vec<FlowSpec> {
    vec![flow(0, 4), flow(1, 4), flow(6, 4), flow(2, 5)]
}

fn question() -> Question {
    Question { congested: Vec::new(), protocols: Vec::new(), flows: 100, own_root_rule: true, names: false }
}

fn congested(spec: NetworkSpec, flows: Vec<FlowSpec>) -> Vec<String> {
    let mut fabric = Fabric::new(spec).unwrap();
    let flows = network::flows(&mut fabric, flows).unwrap();
    network::congested(&fabric.wiring, &flows).into_iter().map(|port| fabric.port_name(port)).collect()
}

#[test]
fn paths_are_those_of_the_simulation() {
    let mut fabric = Fabric::new(spec()).unwrap();
    let flows = network::flows(&mut fabric, incast()).unwrap();
    let names = |flow: &backwater_analysis::Flow| -> Vec<String> {
        flow.path.ports().iter().map(|port| fabric.port_name(*port)).collect()
    };
    assert_eq!(names(&flows[0]), ["h0:0", "s0:4", "s2:1", "s1:0"]);
    assert_eq!(names(&flows[2]), ["h6:0", "s1:0"]);
    assert_eq!((flows[3].name.as_str(), flows[3].destination), ("flow 3 (h2 -> h5)", NodeId(5)));
}

/// Each of three senders gets a third of h4's link. Two of these flows pass the uplink of `s0`, so
/// the victim gets the last third of the uplink.
#[test]
fn ports_that_limit_flows_are_congested() {
    assert_eq!(congested(spec(), incast()), ["s0:4", "s1:0"]);
    // An uplink with twice the rate is not saturated. The NIC of the victim's host then limits the
    // victim.
    let mut fast = spec();
    fast.links.iter_mut().skip(8).for_each(|link| link.rate = Rate::from_gbps(200));
    assert_eq!(congested(fast.clone(), incast()), ["s1:0"]);
    // Two senders behind one fast link are enough to congest a port.
    assert_eq!(congested(fast, vec![flow(0, 4), flow(1, 4)]), ["s1:0"]);
    // A single sender saturates only its own NIC, where no PAUSE is needed.
    assert_eq!(congested(spec(), vec![flow(0, 4)]), Vec::<String>::new());
}

proptest! {
    /// If all links have the same rate, a bottleneck port has flows from several ingress ports.
    #[test]
    fn congested_ports_have_several_feeders(pairs in prop::collection::vec((0u32..16, 1u32..16), 1..60), seed: u64) {
        let mut fabric = Fabric::new(NetworkSpec { seed, ..fat_tree(4) }).unwrap();
        let specs = pairs.into_iter().map(|(src, ahead)| flow(src, (src + ahead) % 16));
        let flows = network::flows(&mut fabric, specs).unwrap();
        for port in network::congested(&fabric.wiring, &flows) {
            let hops = flows.iter().flat_map(|flow| flow.path.ports().windows(2));
            let feeders: BTreeSet<_> = hops.filter(|hop| hop[1] == port).map(|hop| hop[0]).collect();
            prop_assert!(feeders.len() > 1, "{} is fed by {feeders:?}", fabric.port_name(port));
        }
    }
}

#[test]
fn ports_are_called_by_number_or_by_neighbour() {
    let mut spec = spec();
    spec.links.push(spec.links[8].clone());
    let fabric = Fabric::new(spec).unwrap();
    let names = |name: &str| -> Vec<String> {
        ports_called(&fabric, "", name).unwrap().into_iter().map(|port| fabric.port_name(port)).collect()
    };
    assert_eq!(
        (names("s1:0"), names("s1->h4"), names("s1 -> h4")),
        (vec!["s1:0".into()], names("s1:0"), names("s1:0"))
    );
    assert_eq!(names("s0->s2"), ["s0:4", "s0:5"]);
    let refused = |name: &str| {
        let error = ports_called(&fabric, "congested", name).unwrap_err();
        (error.message, error.hint.unwrap_or_default())
    };
    assert_eq!(refused("x1:0"), ("there is no node \"x1\"".into(), String::new()));
    assert_eq!(refused("s1->x4"), ("there is no node \"x4\"".into(), String::new()));
    assert_eq!(refused("s1->h0"), ("there is no link from \"s1\" to \"h0\"".into(), String::new()));
    assert_eq!(refused("s1:7"), ("\"s1\" has the ports 0 to 4".into(), String::new()));
    assert_eq!(refused("s1:-1"), ("\"s1\" has the ports 0 to 4".into(), String::new()));
    assert_eq!(refused("s1").0, "must be a port, such as leaf3:5 or leaf3->h7");
}

#[test]
fn answers_contain_all_names() {
    let question = Question { congested: vec!["s1:0".into()], ..question() };
    let answer = analyze(spec(), incast(), &question).unwrap();
    assert_eq!((answer.flows, answer.congested.as_slice(), answer.notes.len()), (4, &["s1:0".to_owned()][..], 0));
    let verdicts: Vec<_> = answer.protocols.iter().map(|found| (found.protocol.as_str(), found.hol_free)).collect();
    let expected =
        [("pfc", false), ("bfc-worst-case", false), ("per-destination", true), ("per-flow", true), ("pyrrha", true)];
    assert!(expected.iter().all(|verdict| verdicts.contains(verdict)), "{verdicts:?}");
    assert!(answer.protocols.iter().all(|found| found.deadlock_free && found.cycle.is_empty()));
    let pfc = &answer.protocols[0];
    let example = pfc.counterexample.as_ref().unwrap();
    assert_eq!((example.innocent.as_str(), example.culprit.as_str()), ("flow 3 (h2 -> h5)", "flow 0 (h0 -> h4)"));
    assert_eq!((example.queue.port.as_str(), example.queue.queue.as_str()), ("s0:4", "the queue of class 3"));
    assert_eq!((example.cause.as_str(), pfc.blocked_at), ("s1:0", 2));
    let pyrrha = answer.protocols.iter().find(|found| found.protocol == "pyrrha").unwrap();
    // There are isolation queues at h0, h1, h6, s0 and s2, and the output queue of the root.
    assert_eq!((pyrrha.queues.most, pyrrha.queues.total, pyrrha.queues.paused), (1, 6, 5));
}

#[test]
fn auto_adds_to_named_ports() {
    let named = |names: &[&str]| {
        let congested = names.iter().map(|name| (*name).to_owned()).collect();
        analyze(spec(), incast(), &Question { congested, ..question() }).unwrap().congested
    };
    assert_eq!(named(&[]), ["s0:4", "s1:0"]);
    assert_eq!(named(&["auto", "s2:1"]), ["s0:4", "s1:0", "s2:1"]);
    assert_eq!(named(&["s2:1"]), ["s2:1"]);
}

#[test]
fn notes_describe_exceptions() {
    let notes = |spec, congested: &[&str], flows: usize| {
        let congested = congested.iter().map(|name| (*name).to_owned()).collect();
        analyze(spec, incast(), &Question { congested, flows, ..question() }).unwrap().notes
    };
    assert_eq!(notes(spec(), &[], 1), ["analysed only 1 flow; the scenario has more", "no port is congested"]);
    assert_eq!(notes(spec(), &["s1:3"], 4), ["no flow passes the congested port s1:3"]);
    let mut sprayed = spec();
    sprayed.load_balance = LoadBalanceConfig::Spray(Default::default());
    assert_eq!(
        notes(sprayed, &["s1:0"], 4),
        ["packets of a flow may take several paths; the analysis uses the flow's ECMP path"]
    );
    let mut chosen = spec();
    chosen.congestion = CongestionConfig::MpRdma(Default::default());
    assert_eq!(notes(chosen, &["s1:0"], 4).len(), 1);
}

/// A pinned path may pass a switch, and therefore a port, more than once.
#[test]
fn pinned_loops_are_noted_and_found() {
    let mut spec = spec();
    let (s0, s1) = (NodeId(8), NodeId(9));
    spec.links.push(LinkSpec { a: s0, b: s1, ..spec.links[0].clone() });
    let round = flow(0, 4).via(vec![s0, s1, s0, s1], vec![]);
    let protocols = vec!["per-flow".into(), "pyrrha".into()];
    let question = Question { congested: vec!["s0->s1".into()], protocols, ..question() };
    let answer = analyze(spec, [round], &question).unwrap();
    assert_eq!(answer.notes, ["1 flow has a routing loop; its path is cut at the first repeated port"]);
    let cycle: Vec<&str> = answer.protocols[0].cycle.iter().map(|queue| queue.port.as_str()).collect();
    assert_eq!(cycle, ["s0:5", "s1:5"]);
    assert!(answer.protocols[1].deadlock_free);
}

#[test]
fn all_errors_are_reported_together() {
    let (congested, protocols) = (vec!["s9:0".into(), "auto".into()], vec!["pyhrra".into(), "bfc-0".into()]);
    let refused = analyze(spec(), incast(), &Question { congested, protocols, flows: 0, ..question() }).unwrap_err();
    let reported: Vec<_> = refused
        .iter()
        .map(|error| (error.path.as_str(), error.value.as_deref().map(|value| value.trim_matches('"'))))
        .collect();
    let expected =
        [("protocol", Some("pyhrra")), ("protocol", Some("bfc-0")), ("flows", Some("0")), ("congested", Some("s9:0"))];
    assert_eq!(reported, expected);
    assert!(refused[0].message.starts_with("must be one of pfc, bfc-32, "), "{}", refused[0].message);
    let to_itself = analyze(spec(), [flow(1, 1)], &question()).unwrap_err();
    assert_eq!((to_itself[0].path.as_str(), to_itself[0].message.contains("h1 to h1")), ("traffic", true));
}
