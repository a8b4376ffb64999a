//! Cases and results in terms of port names.

pub(crate) mod networks;
pub(crate) mod random;

use backwater_analysis::protocol::{Protocol, parse};
use backwater_analysis::{Blocking, Case, Dependencies, Flow, Path, Port, QueueGraph};
use backwater_engine::Rate;
use backwater_fabric::ids::{Class, NodeId, PortId};
use backwater_fabric::network::spec::NodeKind;
use std::collections::BTreeMap;

/// Returns a case of `flows`, given by names of ports. The first letter names the node: `A1` is a
/// port of node `A`. Each flow has its own destination.
pub(crate) fn case(flows: &[&[&str]], congested: &[&str]) -> Case {
    let names = flows.iter().flat_map(|path| path.iter()).chain(congested);
    let mut ids: BTreeMap<&str, PortId> = names.map(|name| (*name, PortId(0))).collect();
    ids.values_mut().zip(0..).for_each(|(id, number)| *id = PortId(number));
    let node = |name: &str| NodeId(name.bytes().next().unwrap().into());
    let port = |name: &str, id| {
        let (kind, rate) = (NodeKind::Switch, Rate::from_gbps(100));
        Port { name: name.into(), node: node(name), kind, rate, peer: id }
    };
    let ports = ids.iter().map(|(name, id)| (*id, port(name, *id)));
    let flow = |(number, path): (u32, &&[&str])| Flow {
        name: format!("F{number}"),
        class: Class(3),
        destination: NodeId(1000 + number),
        path: Path::new(path.iter().map(|name| ids[name])),
    };
    let congested = congested.iter().map(|name| ids[name]);
    Case::new(ports.collect(), (1..).zip(flows).map(flow).collect(), congested).unwrap()
}

/// Returns the protocol called `name`, with the own-root rule.
pub(crate) fn protocol(name: &str) -> Box<dyn Protocol> {
    parse(name, true).unwrap()
}

/// Returns the cycle of buffer dependencies, by names of ports.
pub(crate) fn cycle<'a>(case: &'a Case, protocol: &dyn Protocol) -> Option<Vec<&'a str>> {
    let graph = QueueGraph::new(case, protocol);
    let cycle = Dependencies::new(case, protocol, &graph).cycle()?;
    Some(cycle.into_iter().map(|queue| case.port(graph.queues[queue].port).name.as_str()).collect())
}

/// Returns the blocked flows.
pub(crate) fn blocking(case: &Case, protocol: &dyn Protocol) -> Blocking {
    Blocking::new(case, protocol, &QueueGraph::new(case, protocol))
}
