//! Resolution of port names.

use crate::contract::{Diagnostic, PortFacts};
use crate::ids::PortId;
use crate::network::fabric::Fabric;

/// Returns the ports called `name`: `leaf3:5`, `leaf3:Ethernet20` if ports have names, or all ports
/// from one node to another, `leaf3->h7`.
///
/// # Errors
/// If there is no such port. The error's path is `path`.
pub fn ports_called(fabric: &Fabric, path: &str, name: &str) -> Result<Vec<PortId>, Diagnostic> {
    let error = |message: String| Diagnostic::error(path, message);
    let nodes = &fabric.spec.nodes;
    let ports_of = |node: &str| {
        let id = nodes.enumerate().find(|(_, spec)| spec.name == node);
        id.map(|(id, _)| fabric.wiring.ports_of(id)).ok_or_else(|| {
            let names = nodes.iter().map(|spec| spec.name.as_str());
            error(format!("there is no node \"{node}\"")).did_you_mean(node, names)
        })
    };
    if let Some((from, to)) = name.split_once("->") {
        let (from, to) = (from.trim(), to.trim());
        let ports = ports_of(from)?;
        ports_of(to)?;
        let peer = |port: PortId| fabric.name(fabric.wiring.ports[port].node);
        let found: Vec<PortId> = ports.iter().filter(|port| peer(port.peer) == to).map(|port| port.id).collect();
        if found.is_empty() {
            let neighbours = ports.iter().map(|port| peer(port.peer));
            return Err(error(format!("there is no link from \"{from}\" to \"{to}\"")).did_you_mean(to, neighbours));
        }
        return Ok(found);
    }
    match name.rsplit_once(':') {
        None => Err(error("must be a port, such as leaf3:5 or leaf3->h7".into())),
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
                None if ports.is_empty() => Err(error(format!("\"{node}\" has no ports"))),
                None => Err(error(format!("\"{node}\" has the ports 0 to {}", ports.len() - 1))),
            }
        }
    }
}
