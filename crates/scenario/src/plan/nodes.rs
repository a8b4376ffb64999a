//! What is said of single switches: routes set by hand, and groups with mechanisms of their own.

use super::keep;
use crate::diagnostic::Diagnostic;
use crate::scenario::{GroupConfig, RouteConfig};
use crate::topology::Graph;
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::spec::{RouteSpec, SwitchGroup};
use std::collections::BTreeSet;

/// The routes that are set by hand, in the order of the scenario: later ones replace earlier ones.
pub(super) fn routes(routes: &[RouteConfig], graph: &Graph, findings: &mut Vec<Diagnostic>) -> Vec<RouteSpec> {
    let mut resolved = Vec::new();
    for (i, route) in routes.iter().enumerate() {
        let switches = keep(route.at.switches(&format!("routes[{i}].at"), graph), findings);
        let hosts = keep(route.to.hosts(&format!("routes[{i}].to"), graph), findings);
        let (Some(switches), Some(hosts)) = (switches, hosts) else { continue };
        for node in switches {
            let neighbour =
                graph.ports(node).iter().map(|(peer, _)| *peer).find(|peer| graph.name(*peer) == route.next);
            match neighbour {
                Some(next) if !graph.nodes[next.0 as usize].kind.forwards() && hosts.iter().any(|to| *to != next) => {
                    let message = format!("host \"{}\" does not forward packets of others", route.next);
                    findings.push(Diagnostic::error(format!("routes[{i}].next"), message));
                }
                Some(next) => resolved.extend(hosts.iter().map(|to| RouteSpec { node, to: *to, next })),
                None => {
                    let message = format!("there is no link from \"{}\" to \"{}\"", graph.name(node), route.next);
                    findings.push(Diagnostic::error(format!("routes[{i}].next"), message));
                }
            }
        }
    }
    resolved
}

/// The groups of switches, none in two of them.
pub(super) fn groups(groups: &[GroupConfig], graph: &Graph, findings: &mut Vec<Diagnostic>) -> Vec<SwitchGroup> {
    let (mut resolved, mut taken) = (Vec::new(), BTreeSet::new());
    for (i, group) in groups.iter().enumerate() {
        let path = format!("groups[{i}].switches");
        let Some(mut switches) = keep(group.switches.switches(&path, graph), findings) else { continue };
        switches.sort_unstable();
        let twice = |node: &&NodeId| !taken.insert(**node);
        if let Some(node) = switches.iter().find(twice) {
            findings.push(Diagnostic::error(path, format!("\"{}\" is in another group already", graph.name(*node))));
        }
        let (flow_control, headroom) = (group.flow_control.clone(), group.headroom.clone());
        if flow_control.is_none() && headroom.is_none() {
            let message = "has no effect: it sets neither flow_control nor headroom";
            findings.push(Diagnostic::warning(format!("groups[{i}]"), message));
        }
        resolved.push(SwitchGroup { switches, flow_control, headroom });
    }
    resolved
}
