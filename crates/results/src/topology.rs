//! `topology.json`: the fabric by name, for pictures.

use backwater_engine::Time;
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::routes::Wiring;
use backwater_fabric::network::spec::{NetworkSpec, NodeKind};
use serde_json::{Value, json};

/// Nodes (`name`; `kind`: `host`, `relay` for a host that relays, or `switch`; `layer`: hops from the nearest host) and links (`a`, `b`, `rate_bps`, `delay_ps`, and the ports at both ends: their
/// numbers, and their names if they have any), and when links fail (`faults`: `link`, its place in the list; `down_ps`; `up_ps`, null if it does not come back).
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
    let mut port = |node: NodeId| {
        let next = &mut next_port[node.0 as usize];
        *next += 1;
        *next - 1
    };
    let links: Vec<Value> = spec
        .links
        .iter()
        .map(|link| {
            let name = |node: NodeId| &spec.nodes[node.0 as usize].name;
            let (a_port, b_port) = (port(link.a), port(link.b));
            json!({
                "a": name(link.a), "a_port": a_port, "a_interface": spec.interfaces.get(&(link.a, a_port)),
                "b": name(link.b), "b_port": b_port, "b_interface": spec.interfaces.get(&(link.b, b_port)),
                "rate_bps": link.rate.bps(), "delay_ps": link.delay.ps(),
            })
        })
        .collect();
    let faults: Vec<Value> = spec
        .faults
        .iter()
        .map(|fault| {
            let up = (fault.up != Time::NEVER).then(|| fault.up.ps());
            json!({ "link": fault.link, "down_ps": fault.down.ps(), "up_ps": up })
        })
        .collect();
    json!({ "nodes": nodes, "links": links, "faults": faults })
}
