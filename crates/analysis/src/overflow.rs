//! Queues that can overflow: they fill, and what comes to them is not stopped.

use crate::case::Case;
use crate::dependency::Dependencies;
use crate::graph::{Graph, QueueNumber};
use crate::protocol::Protocol;
use backwater_fabric::ids::{FlowId, PortId};
use std::collections::{BTreeMap, BTreeSet};

/// A queue that can overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// The queue.
    pub queue: QueueNumber,
    /// The queue one hop before from which it is fed although it is full.
    pub feeder: QueueNumber,
    /// The first flow that comes from there.
    pub flow: FlowId,
}

/// The queues of `case` that can overflow, in ascending order, each with the first flow that feeds it unhindered.
///
/// Where full queues are noticed, that takes a queue that can fill, because its port is congested or something can hold it back, and that holds back
/// no queue that the flow passes before it. Where they are not, it takes a port at which packets can come in faster than it sends, whatever waits there:
/// what the node itself sends is not counted, for it can wait.
pub fn overflows(case: &Case, protocol: &dyn Protocol, graph: &Graph, dependencies: &Dependencies) -> Vec<Overflow> {
    let feeders = feeders(case);
    let rate = |port: &PortId| u128::from(case.port(*port).rate.bps());
    let is_overrun = |port: PortId| feeders[&port].iter().map(rate).sum::<u128>() > rate(&port);
    let mut found: BTreeMap<QueueNumber, Overflow> = BTreeMap::new();
    for (flow, queues) in (0..).map(FlowId).zip(&graph.of_flow) {
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

/// Per port, those that flows pass directly before it.
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
