//! Builds the [`Case`] of a network and its traffic: paths of flows, and congested ports.

use crate::case::{Case, Flow, Path, Port};
use crate::fair::FairShares;
use backwater_fabric::contract::Diagnostic;
use backwater_fabric::frame::Direction;
use backwater_fabric::ids::{FlowId, PortId};
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::routes::Wiring;
use backwater_fabric::network::spec::FlowSpec;
use std::collections::BTreeSet;

/// Returns `flows`, numbered in order, with the paths that a simulation uses: pinned, or chosen by
/// ECMP.
///
/// # Errors
/// The error of the first flow that cannot run.
pub fn flows(fabric: &mut Fabric, flows: impl IntoIterator<Item = FlowSpec>) -> Result<Vec<Flow>, Diagnostic> {
    let mut made = Vec::new();
    for (id, spec) in (0..).map(FlowId).zip(flows) {
        fabric.check_flow(&spec).map_err(|error| Diagnostic::error("traffic", error.message))?;
        let mut node = spec.src;
        let ports = fabric.path(id, &spec, Direction::Data).into_iter().map(|ix| {
            let port = fabric.wiring.port_at(node, ix).id;
            node = fabric.wiring.neighbour(node, ix);
            port
        });
        let path = Path::new(ports);
        let name = format!("flow {} ({} -> {})", id.0, fabric.name(spec.src), fabric.name(spec.dst));
        made.push(Flow { name, class: spec.class, destination: spec.dst, path });
    }
    Ok(made)
}

/// Returns the case of `flows` in `fabric` with the `congested` ports.
pub fn case(fabric: &Fabric, flows: Vec<Flow>, congested: BTreeSet<PortId>) -> Case {
    let passed = flows.iter().flat_map(|flow| flow.path.ports()).chain(&congested).map(|id| &fabric.wiring.ports[*id]);
    let both_ends = passed.flat_map(|port| [port.id, port.peer]);
    let port = |id: PortId| {
        let facts = &fabric.wiring.ports[id];
        let kind = fabric.spec.nodes[facts.node].kind;
        (id, Port { name: fabric.port_name(id), node: facts.node, kind, rate: facts.rate, peer: facts.peer })
    };
    let ports = both_ends.map(port).collect();
    Case::new(ports, flows, congested).expect("the ports of all paths have just been collected")
}

/// Returns the ports that `flows` congest at max-min fair rates: the first bottleneck of every
/// flow. NICs of source hosts do not count, because they have no upstream to pause. If all links
/// have the same rate, flows enter a congested port from at least two ingress ports, because a
/// single ingress link would be saturated first.
pub fn congested(wiring: &Wiring, flows: &[Flow]) -> BTreeSet<PortId> {
    let rate = |port: PortId| wiring.ports[port].rate;
    let shares = FairShares::new(flows.iter().map(|flow| flow.path.ports()), rate);
    let limit = |(id, flow): (FlowId, &Flow)| {
        let first = shares.first_bottleneck(id, flow.path.ports())?;
        (flow.path.ports().first() != Some(&first)).then_some(first)
    };
    (0..).map(FlowId).zip(flows).filter_map(limit).collect()
}
