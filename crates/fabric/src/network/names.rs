//! Ports as people name them.

use crate::contract::PortFacts;
use crate::ids::{NodeId, PortId};
use crate::network::fabric::Fabric;

/// A text that should have named ports, and does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSuchPort {
    /// What is wrong with it.
    pub message: String,
    /// The unknown name in it, if a similar one can be suggested.
    pub unknown: String,
    /// The names that are allowed there.
    pub known: Vec<String>,
}

/// The ports called `name`: `leaf3:5`, `leaf3:Ethernet20` where ports have names, or all from one node to another, `leaf3->h7`.
///
/// # Errors
/// If there is no such port.
pub fn ports_called(fabric: &Fabric, name: &str) -> Result<Vec<PortId>, NoSuchPort> {
    let nodes = &fabric.spec.nodes;
    let ports_of = |node: &str| {
        let id = (0..).map(NodeId).zip(nodes).find(|(_, spec)| spec.name == node);
        id.map(|(id, _)| fabric.wiring.of(id)).ok_or_else(|| NoSuchPort {
            message: format!("there is no node \"{node}\""),
            unknown: node.into(),
            known: nodes.iter().map(|spec| spec.name.clone()).collect(),
        })
    };
    let refuse = |message, unknown: &str, known| Err(NoSuchPort { message, unknown: unknown.into(), known });
    if let Some((from, to)) = name.split_once("->") {
        let (from, to) = (from.trim(), to.trim());
        let ports = ports_of(from)?;
        ports_of(to)?;
        let peer = |port: PortId| fabric.name(fabric.wiring.ports[port.0 as usize].node);
        let found: Vec<PortId> = ports.iter().filter(|port| peer(port.peer) == to).map(|port| port.id).collect();
        if found.is_empty() {
            let neighbours = ports.iter().map(|port| peer(port.peer).to_owned()).collect();
            return refuse(format!("there is no link from \"{from}\" to \"{to}\""), to, neighbours);
        }
        return Ok(found);
    }
    match name.rsplit_once(':') {
        None => refuse("must be a port, as leaf3:5 or leaf3->h7".into(), "", Vec::new()),
        Some((node, number)) => {
            let ports = ports_of(node)?;
            let is_called = |port: &&PortFacts| {
                fabric.spec.interfaces.get(&(port.node, port.ix)).is_some_and(|name| name == number)
            };
            if let Some(port) = ports.iter().find(is_called) {
                return Ok(vec![port.id]);
            }
            match number.parse::<usize>().ok().and_then(|number| ports.get(number)) {
                Some(port) => Ok(vec![port.id]),
                None if ports.is_empty() => refuse(format!("\"{node}\" has no ports"), "", Vec::new()),
                None => refuse(format!("\"{node}\" has the ports 0 to {}", ports.len() - 1), "", Vec::new()),
            }
        }
    }
}
