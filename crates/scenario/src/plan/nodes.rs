//! Options of single nodes: routes set by hand, names of ports, and groups of switches with their
//! own mechanisms.

use super::collect_errors;
use crate::diagnostic::{Diagnostic, counted};
use crate::scenario::{GroupConfig, InterfacesConfig, RouteConfig};
use crate::topology::{Graph, wrong_in_port_name};
use backwater_fabric::ids::{NodeId, PortIx};
use backwater_fabric::network::spec::{RouteSpec, SwitchGroup};
use std::collections::{BTreeMap, BTreeSet};

/// Resolves the routes set by hand, in the order of the scenario: later routes replace earlier
/// ones.
pub(super) fn routes(routes: &[RouteConfig], graph: &Graph, diagnostics: &mut Vec<Diagnostic>) -> Vec<RouteSpec> {
    let mut resolved = Vec::new();
    for (i, route) in routes.iter().enumerate() {
        let switches = collect_errors(route.at.switches(&format!("routes[{i}].at"), graph), diagnostics);
        let hosts = collect_errors(route.to.hosts(&format!("routes[{i}].to"), graph), diagnostics);
        let (Some(switches), Some(hosts)) = (switches, hosts) else { continue };
        for node in switches {
            let neighbour =
                graph.ports(node).iter().map(|(peer, _)| *peer).find(|peer| graph.name(*peer) == route.next);
            match neighbour {
                Some(next) if !graph.nodes[next].kind.forwards() && hosts.iter().any(|to| *to != next) => {
                    let message = format!("host \"{}\" does not relay packets of other hosts", route.next);
                    diagnostics.push(Diagnostic::error(format!("routes[{i}].next"), message));
                }
                Some(next) => resolved.extend(hosts.iter().map(|to| RouteSpec { node, to: *to, next })),
                None => {
                    let message = format!("there is no link from \"{}\" to \"{}\"", graph.name(node), route.next);
                    diagnostics.push(Diagnostic::error(format!("routes[{i}].next"), message));
                }
            }
        }
    }
    resolved
}

/// Resolves the names of ports: first those of the topology, then those of the scenario in its
/// order. Later names replace earlier ones.
pub(super) fn interfaces(
    interfaces: &[InterfacesConfig],
    graph: &Graph,
    diagnostics: &mut Vec<Diagnostic>,
) -> BTreeMap<(NodeId, PortIx), String> {
    let mut names = graph.port_names.clone();
    for (i, config) in interfaces.iter().enumerate() {
        for node in collect_errors(config.nodes.nodes(&format!("interfaces[{i}].nodes"), graph), diagnostics)
            .unwrap_or_default()
        {
            let ports = graph.ports(node).len();
            if config.names.len() > ports {
                let message = format!("\"{}\" has only {}", graph.name(node), counted(ports, "port"));
                diagnostics.push(Diagnostic::error(format!("interfaces[{i}].names[{ports}]"), message));
            }
            for (port, name) in (0..ports as u16).map(PortIx).zip(port_names(config)) {
                names.insert((node, port), name);
            }
        }
        for (j, name) in config.names.iter().enumerate() {
            let wrong =
                wrong_in_port_name(name).map(|why| Diagnostic::error(format!("interfaces[{i}].names[{j}]"), why));
            diagnostics.extend(wrong);
        }
    }
    for ((node, port), name) in &names {
        let mut ports = names.range((*node, PortIx(port.0 + 1))..).take_while(|((of, _), _)| of == node);
        if let Some(((_, other), _)) = ports.find(|(_, other)| *other == name) {
            let node = graph.name(*node);
            let message = format!("ports {} and {} of \"{node}\" have the same name, \"{name}\"", port.0, other.0);
            let path = if interfaces.is_empty() { "topology.links" } else { "interfaces" };
            diagnostics.push(Diagnostic::error(path, message));
        }
    }
    names
}

/// Returns the names of ports. If the last name ends with a number, further names continue it.
fn port_names(InterfacesConfig { names, step, .. }: &InterfacesConfig) -> impl Iterator<Item = String> {
    let last = names.last().map_or("", String::as_str);
    let stem = last.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &last[stem.len()..];
    let first = digits.parse::<u64>().ok();
    let more =
        first.into_iter().flat_map(move |first| (1u64..).map_while(move |n| first.checked_add(n * u64::from(*step))));
    let more = more.map(move |number| format!("{stem}{number:0width$}", width = digits.len()));
    names.iter().cloned().chain(more)
}

/// Resolves the groups of switches. No switch is in two groups.
pub(super) fn groups(groups: &[GroupConfig], graph: &Graph, diagnostics: &mut Vec<Diagnostic>) -> Vec<SwitchGroup> {
    let (mut resolved, mut taken) = (Vec::new(), BTreeSet::new());
    for (i, group) in groups.iter().enumerate() {
        let path = format!("groups[{i}].switches");
        let Some(mut switches) = collect_errors(group.switches.switches(&path, graph), diagnostics) else { continue };
        switches.sort_unstable();
        let twice = |node: &&NodeId| !taken.insert(**node);
        if let Some(node) = switches.iter().find(twice) {
            diagnostics.push(Diagnostic::error(path, format!("\"{}\" is already in another group", graph.name(*node))));
        }
        let (flow_control, headroom) = (group.flow_control.clone(), group.headroom.clone());
        if flow_control.is_none() && headroom.is_none() {
            let message = "has no effect: it sets neither flow_control nor headroom";
            diagnostics.push(Diagnostic::warning(format!("groups[{i}]"), message));
        }
        resolved.push(SwitchGroup { switches, flow_control, headroom });
    }
    resolved
}
