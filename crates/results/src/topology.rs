//! `topology.json`: the fabric by name, for pictures.

use backwater_fabric::ids::NodeId;
use backwater_fabric::network::routes::Wiring;
use backwater_fabric::network::spec::{NetworkSpec, NodeKind};
use serde_json::{Value, json};

/// Nodes (`name`; `kind`: `host`, `relay` for a host that relays, or `switch`; `layer`: hops from the nearest host) and links (`a`, `b`, `rate_bps`, `delay_ps`, and the ports at both ends).
pub fn topology_json(spec: &NetworkSpec) -> Value {
    let wiring = Wiring::new(&spec.nodes, &spec.links);
    let kind = |kind| match kind {
        NodeKind::Host => "host",
        NodeKind::Relay => "relay",
        NodeKind::Switch => "switch",
    };
    let nodes: Vec<Value> = (0..)
        .map(NodeId)
        .zip(&spec.nodes)
        .map(|(id, node)| json!({ "name": node.name, "kind": kind(node.kind), "layer": wiring.layer(id) }))
        .collect();
    let mut next_port = vec![0; spec.nodes.len()];
    let mut port = |node: usize| {
        next_port[node] += 1;
        next_port[node] - 1
    };
    let links: Vec<Value> = spec
        .links
        .iter()
        .map(|link| {
            let (a, b) = (link.a.0 as usize, link.b.0 as usize);
            json!({
                "a": spec.nodes[a].name, "a_port": port(a), "b": spec.nodes[b].name, "b_port": port(b),
                "rate_bps": link.rate.bps(), "delay_ps": link.delay.ps(),
            })
        })
        .collect();
    json!({ "nodes": nodes, "links": links })
}
