//! `topology.json`: the fabric by name, for pictures.

use backwater_fabric::spec::{NetworkSpec, NodeKind};
use serde_json::{Value, json};

/// Nodes (`name`, `kind`, `layer`: hops from the nearest host) and links (`a`, `b`, `rate_bps`, `delay_ps`, and the ports at both ends).
pub fn topology_json(spec: &NetworkSpec) -> Value {
    let mut layers: Vec<Option<u32>> =
        spec.nodes.iter().map(|node| (node.kind == NodeKind::Host).then_some(0)).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for link in &spec.links {
            for (from, to) in [(link.a, link.b), (link.b, link.a)] {
                if let Some(layer) = layers[from.0 as usize] {
                    let known = &mut layers[to.0 as usize];
                    if known.is_none_or(|known| known > layer + 1) {
                        *known = Some(layer + 1);
                        changed = true;
                    }
                }
            }
        }
    }
    let kind = |kind| if kind == NodeKind::Host { "host" } else { "switch" };
    let nodes: Vec<Value> = (spec.nodes.iter().zip(&layers))
        .map(|(node, layer)| json!({ "name": node.name, "kind": kind(node.kind), "layer": layer.unwrap_or(0) }))
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
