//! `topology.json`: nodes, links and faults by name.

use backwater_engine::index::IndexVec;
use backwater_engine::{Duration, Rate, Time};
use backwater_fabric::ids::{NodeId, PortId};
use backwater_fabric::network::routes::{Routes, Wiring};
use backwater_fabric::network::spec::{LinkSpec, NetworkSpec, NodeKind, NodeSpec, Nodes};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashMap;

#[derive(Serialize, Deserialize)]
#[serde(remote = "NodeKind", rename_all = "lowercase")]
enum Kind {
    Host,
    Relay,
    Switch,
}

#[derive(Serialize, Deserialize)]
struct TopologyNode {
    name: String,
    #[serde(with = "Kind")]
    kind: NodeKind,
    layer: u32,
}

#[derive(Serialize, Deserialize)]
struct Link {
    a: String,
    a_port: u16,
    a_interface: Option<String>,
    b: String,
    b_port: u16,
    b_interface: Option<String>,
    rate_bps: u64,
    delay_ps: u64,
}

/// Returns the contents of `topology.json`.
///
/// * `nodes`: `name`, `kind` (`host`, `relay` or `switch`) and `layer` (links to the nearest host).
/// * `links`: `a`, `b`, `rate_bps`, `delay_ps`, and number and name, if any, of the ports at both
///   ends.
/// * `faults`: `link` (index in `links`), `down_ps` and `up_ps` (null if the link stays down).
pub fn topology_json(spec: &NetworkSpec) -> Value {
    let wiring = Wiring::new(&spec.nodes, &spec.links);
    let node = |(id, node): (NodeId, &NodeSpec)| TopologyNode {
        name: node.name.clone(),
        kind: node.kind,
        layer: wiring.layer(id),
    };
    let nodes: Vec<TopologyNode> = spec.nodes.enumerate().map(node).collect();
    let end = |port: PortId| {
        let port = &wiring.ports[port];
        let name = spec.nodes[port.node].name.clone();
        (name, port.ix.0, spec.interfaces.get(&(port.node, port.ix)).cloned())
    };
    let link = |(link, [a, b]): (&LinkSpec, &[PortId; 2])| {
        let ((a, a_port, a_interface), (b, b_port, b_interface)) = (end(*a), end(*b));
        let (rate_bps, delay_ps) = (link.rate.bps(), link.delay.ps());
        Link { a, a_port, a_interface, b, b_port, b_interface, rate_bps, delay_ps }
    };
    let links: Vec<Link> = spec.links.iter().zip(&wiring.links).map(link).collect();
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

/// Part of `topology.json` that [`shortest_paths`] reads.
#[derive(Deserialize)]
struct Topology {
    nodes: Vec<TopologyNode>,
    links: Vec<Link>,
}

/// Returns the links of a shortest path for each pair of hosts, as indices in the list of links.
/// The paths are the routes while no link has failed. Of several shortest paths, the one through
/// the lowest port numbers is returned.
///
/// # Errors
///
/// If the text is invalid, a host does not exist, or a pair has no path.
pub fn shortest_paths(topology: &str, pairs: &[(String, String)]) -> Result<Vec<Vec<usize>>, String> {
    let Topology { nodes, links } =
        serde_json::from_str(topology).map_err(|error| format!("invalid topology: {error}"))?;
    let numbers: HashMap<&str, NodeId> = nodes.iter().map(|node| node.name.as_str()).zip((0..).map(NodeId)).collect();
    let number = |name: &str| numbers.get(name).copied().ok_or_else(|| format!("there is no node \"{name}\""));
    let node = |node: &TopologyNode| NodeSpec { name: node.name.clone(), kind: node.kind };
    let link = |link: &Link| {
        let (rate, delay) = (Rate::from_bps(link.rate_bps), Duration::from_ps(link.delay_ps));
        Ok(LinkSpec::new(number(&link.a)?, number(&link.b)?, rate, delay))
    };
    let specs: Nodes = nodes.iter().map(node).collect();
    let wiring = Wiring::new(&specs, &links.iter().map(link).collect::<Result<Vec<_>, String>>()?);
    let routes = Routes::new(&specs, &wiring);
    let mut link_of = IndexVec::from(vec![0; wiring.ports.len()]);
    for (link, [a, b]) in wiring.links.iter().enumerate() {
        (link_of[*a], link_of[*b]) = (link, link);
    }
    let path = |(source, target): &(String, String)| {
        let mut node = number(source)?;
        let way = routes.path(&wiring, node, &[], number(target)?, |_, ports| ports[0]);
        let links = way.ok_or_else(|| format!("there is no path from {source} to {target}"))?.into_iter().map(|ix| {
            let port = wiring.port_at(node, ix);
            node = wiring.peer(port);
            link_of[port.id]
        });
        Ok(links.collect())
    };
    pairs.iter().map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Builds a network of hosts `h`, relaying hosts `r` and switches `s` with these links.
    fn paths(links: &[&str], pairs: &[(&str, &str)]) -> Result<Vec<Vec<usize>>, String> {
        let ends = || links.iter().map(|link| link.split_once('-').expect("two ends"));
        let kind = |name: &str| match &name[..1] {
            "h" => "host",
            "r" => "relay",
            _ => "switch",
        };
        let names: BTreeSet<&str> = ends().flat_map(|(a, b)| [a, b]).collect();
        let nodes: Vec<_> = names.iter().map(|name| json!({ "name": name, "kind": kind(name), "layer": 0 })).collect();
        let link = |(a, b)| {
            json!({
                "a": a, "a_port": 0, "a_interface": null, "b": b, "b_port": 0, "b_interface": null,
                "rate_bps": 1_000_000_000_u64, "delay_ps": 1000
            })
        };
        let topology = json!({ "nodes": nodes, "links": ends().map(link).collect::<Vec<_>>(), "faults": [] });
        let pairs: Vec<_> = pairs.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
        shortest_paths(&topology.to_string(), &pairs)
    }

    #[test]
    fn equal_paths_are_resolved_by_port_number() {
        let links = ["h0-s0", "h1-s1", "s0-s3", "s0-s2", "s2-s1", "s3-s1", "s3-s1"];
        let found = paths(&links, &[("h0", "h1"), ("h1", "h0"), ("h0", "h0")]);
        assert_eq!(found, Ok(vec![vec![0, 2, 5, 1], vec![1, 4, 3, 0], vec![]]));
    }

    #[test]
    fn only_relaying_hosts_forward() {
        for (middle, expected) in [("h", vec![0, 3, 4, 5]), ("r", vec![0, 1, 2, 5])] {
            let links = ["h0-s0", "s0-h1", "h1-s1", "s0-s2", "s2-s1", "s1-h2"]
                .map(|link| link.replace("h1", &format!("{middle}1")));
            assert_eq!(paths(&links.each_ref().map(String::as_str), &[("h0", "h2")]), Ok(vec![expected]));
        }
    }

    #[test]
    fn missing_paths_and_nodes_are_errors() {
        let links = ["h0-s0", "h1-s1"];
        assert_eq!(paths(&links, &[("h0", "h1")]), Err("there is no path from h0 to h1".into()));
        assert_eq!(paths(&links, &[("h0", "h2")]), Err("there is no node \"h2\"".into()));
        assert!(shortest_paths("{}", &[]).is_err_and(|error| error.starts_with("invalid topology: missing field")));
    }
}
