//! From a network and its traffic to a [`Case`]: paths of flows, ports by name, ports that are congested.

use crate::case::{Case, Flow, Path, Port};
use crate::fair::FairShares;
use backwater_fabric::frame::Direction;
use backwater_fabric::ids::{FlowId, PortId};
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::routes::Wiring;
use backwater_fabric::network::spec::FlowSpec;
use std::collections::BTreeSet;

/// `flows` with their paths, numbered in their order: pinned, or by ECMP, just as a simulation sends their packets.
///
/// # Errors
/// What is wrong with the first flow that cannot run.
pub fn flows(fabric: &mut Fabric, flows: impl IntoIterator<Item = FlowSpec>) -> Result<Vec<Flow>, String> {
    let mut made = Vec::new();
    for (id, spec) in (0..).map(FlowId).zip(flows) {
        fabric.check_flow(&spec).map_err(|error| error.reason)?;
        let mut node = spec.src;
        let ports = fabric.path(id, &spec, Direction::Data).into_iter().map(|ix| {
            let port = fabric.wiring.of(node)[usize::from(ix)].id;
            node = fabric.wiring.neighbour(node, ix);
            port
        });
        let path = Path::new(ports);
        let name = format!("flow {} ({} -> {})", id.0, fabric.name(spec.src), fabric.name(spec.dst));
        made.push(Flow { name, class: spec.class, destination: spec.dst, path });
    }
    Ok(made)
}

/// The case of `flows`, which belong to `fabric`, with `congested` ports of it.
pub fn case(fabric: &Fabric, flows: Vec<Flow>, congested: BTreeSet<PortId>) -> Case {
    let passed =
        flows.iter().flat_map(|flow| flow.path.ports()).chain(&congested).map(|id| &fabric.wiring.ports[id.0 as usize]);
    let both_ends = passed.flat_map(|port| [port.id, port.peer]);
    let port = |id: PortId| {
        let facts = &fabric.wiring.ports[id.0 as usize];
        let kind = fabric.spec.nodes[facts.node.0 as usize].kind;
        (id, Port { name: fabric.port_name(id), node: facts.node, kind, rate: facts.rate, peer: facts.peer })
    };
    let ports = both_ends.map(port).collect();
    Case::new(ports, flows, congested).expect("the ports of all paths have just been collected")
}

/// The ports that `flows` congest if each sends as fast as the others let it: those where, at max-min fair rates, some flow first meets what
/// limits it. The NIC of its own host does not count: there is no upstream to pause. Where all links have one rate, all of these are fed
/// through at least two ingress ports, for a single link would have been full before.
pub fn congested(wiring: &Wiring, flows: &[Flow]) -> BTreeSet<PortId> {
    let rate = |port: PortId| wiring.ports[port.0 as usize].rate;
    let shares = FairShares::new(flows.iter().map(|flow| flow.path.ports()), rate);
    let limit = |(id, flow): (FlowId, &Flow)| {
        let first = shares.first_bottleneck(id, flow.path.ports())?;
        (flow.path.ports().first() != Some(&first)).then_some(first)
    };
    (0..).map(FlowId).zip(flows).filter_map(limit).collect()
}

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

/// The ports called `name`: `leaf3:5`, or all from one node to another, `leaf3->h7`.
///
/// # Errors
/// If there is no such port.
pub fn ports_called(fabric: &Fabric, name: &str) -> Result<Vec<PortId>, NoSuchPort> {
    let nodes = &fabric.spec.nodes;
    let ports_of = |node: &str| {
        let id = (0..).map(backwater_fabric::ids::NodeId).zip(nodes).find(|(_, spec)| spec.name == node);
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
            match number.parse::<usize>().ok().and_then(|number| ports.get(number)) {
                Some(port) => Ok(vec![port.id]),
                None if ports.is_empty() => refuse(format!("\"{node}\" has no ports"), "", Vec::new()),
                None => refuse(format!("\"{node}\" has the ports 0 to {}", ports.len() - 1), "", Vec::new()),
            }
        }
    }
}
