//! Queues that can overflow, because they fill and their arrivals are not paused.

use crate::case::Case;
use crate::dependency::Dependencies;
use crate::graph::{QueueGraph, QueueNumber};
use crate::protocol::Protocol;
use backwater_fabric::ids::{FlowId, PortId};
use std::collections::{BTreeMap, BTreeSet};

/// A queue that can overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// The queue.
    pub queue: QueueNumber,
    /// Upstream queue that keeps sending although the queue is full.
    pub feeder: QueueNumber,
    /// First flow from the upstream queue.
    pub flow: FlowId,
}

/// Returns the queues of `case` that can overflow, in ascending order, each with the first flow
/// that is not paused.
///
/// At a node that detects full queues, a queue overflows under two conditions. First, it can fill,
/// because its port is congested or another queue can hold it back. Second, it holds back no
/// earlier queue of the flow. At other nodes, a queue overflows if packets of other nodes can
/// arrive faster than the port sends.
pub fn overflows(
    case: &Case,
    protocol: &dyn Protocol,
    graph: &QueueGraph,
    dependencies: &Dependencies,
) -> Vec<Overflow> {
    let feeders = feeders(case);
    let rate = |port: &PortId| u128::from(case.port(*port).rate.bps());
    let is_overrun = |port: PortId| feeders[&port].iter().map(rate).sum::<u128>() > rate(&port);
    let mut found: BTreeMap<QueueNumber, Overflow> = BTreeMap::new();
    for (flow, queues) in graph.of_flow.enumerate() {
        let path = &case.flow(flow).path;
        for (hop, feeder) in queues.iter().enumerate() {
            let Some(queue) = path.next(hop).map(|next| queues[next]) else { continue };
            let port = graph.queues[queue].port;
            let overflows = if protocol.detects(case, port) {
                let fills = case.congested().contains(&port) || !dependencies.holders(queue).is_empty();
                fills && !queues[..=hop].iter().any(|before| dependencies.holders(*before).contains(&queue))
            } else {
                is_overrun(port)
            };
            if overflows {
                found.entry(queue).or_insert(Overflow { queue, feeder: *feeder, flow });
            }
        }
    }
    found.into_values().collect()
}

/// Returns, for each port, the ports that its flows pass directly before this port.
fn feeders(case: &Case) -> BTreeMap<PortId, BTreeSet<PortId>> {
    let mut feeders: BTreeMap<PortId, BTreeSet<PortId>> = BTreeMap::new();
    for path in case.flows().iter().map(|flow| &flow.path) {
        for (hop, port) in path.ports().iter().enumerate() {
            if let Some(next) = path.next(hop) {
                feeders.entry(path.ports()[next]).or_default().insert(*port);
            }
        }
    }
    feeders
}
