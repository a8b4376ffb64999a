//! Resolves the names of failing links.

use crate::diagnostic::Diagnostic;
use crate::scenario::FaultConfig;
use crate::topology::Graph;
use backwater_engine::Time;
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::spec::LinkFault;

/// Returns the faults of links, in the order of the scenario.
pub(super) fn resolve(faults: &[FaultConfig], graph: &Graph, diagnostics: &mut Vec<Diagnostic>) -> Vec<LinkFault> {
    let mut resolved: Vec<LinkFault> = Vec::new();
    for (i, fault) in faults.iter().enumerate() {
        let (down, up) = (fault.down, fault.up.unwrap_or(Time::NEVER));
        if up <= down {
            let message = format!("must be after the failure at {down}");
            diagnostics.push(Diagnostic::error(format!("faults[{i}].up"), message));
        }
        let mut end = |side: usize| {
            let name = &fault.link[side];
            graph.node(name).or_else(|| {
                let error =
                    Diagnostic::error(format!("faults[{i}].link[{side}]"), format!("there is no node \"{name}\""));
                diagnostics.push(error.did_you_mean(name, graph.nodes.iter().map(|node| node.name.as_str())));
                None
            })
        };
        let (Some(a), Some(b)) = (end(0), end(1)) else { continue };
        for link in links(i, fault, (a, b), graph, diagnostics) {
            if resolved.iter().any(|other| other.link == link && down <= other.up && other.down <= up) {
                let message = format!(
                    "overlaps or touches another failure of the link between \"{}\" and \"{}\": the link must \
                     be up between two failures",
                    fault.link[0], fault.link[1]
                );
                diagnostics.push(Diagnostic::error(format!("faults[{i}].down"), message));
            }
            resolved.push(LinkFault { link, down, up });
        }
    }
    resolved
}

/// Returns the links of fault `i`: all links between its two ends, or the selected one.
fn links(
    i: usize,
    fault: &FaultConfig,
    ends: (NodeId, NodeId),
    graph: &Graph,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<usize> {
    let (a, b) = ends;
    let links: Vec<_> = graph.ports(a).iter().filter(|(peer, _)| *peer == b).map(|(_, link)| *link).collect();
    let [from, to] = &fault.link;
    match (links.len(), fault.parallel) {
        (0, _) => {
            let message = format!("there is no link between \"{from}\" and \"{to}\"");
            diagnostics.push(Diagnostic::error(format!("faults[{i}].link"), message));
            links
        }
        (_, None) => links,
        (count, Some(index)) => match links.get(index as usize) {
            Some(link) => vec![*link],
            None => {
                let message = format!("must be less than {count}, the number of links between \"{from}\" and \"{to}\"");
                diagnostics.push(Diagnostic::error(format!("faults[{i}].parallel"), message));
                Vec::new()
            }
        },
    }
}
