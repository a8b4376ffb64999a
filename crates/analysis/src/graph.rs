//! The bipartite graph of flows and queues (definition 1 of the Pyrrha paper).

use crate::case::Case;
use crate::protocol::{Protocol, Queue};
use backwater_fabric::ids::FlowId;
use std::collections::BTreeMap;

/// A queue: index into [`Graph::queues`].
pub type QueueNumber = usize;

/// Which flow passes which queue under one protocol.
#[derive(Debug)]
pub struct Graph {
    /// The queues that some flow passes, in the order in which flows come to them.
    pub queues: Vec<Queue>,
    /// Per flow, its queue at every hop.
    pub of_flow: Vec<Vec<QueueNumber>>,
    /// Per queue, the flows that pass it, in the order of their ids.
    pub flows: Vec<Vec<FlowId>>,
}

impl Graph {
    /// The graph of `case` under `protocol`.
    pub fn new(case: &Case, protocol: &dyn Protocol) -> Graph {
        let mut graph =
            Graph { queues: Vec::new(), of_flow: Vec::with_capacity(case.flows().len()), flows: Vec::new() };
        let mut numbers: BTreeMap<Queue, QueueNumber> = BTreeMap::new();
        for (id, flow) in (0..).map(FlowId).zip(case.flows()) {
            let queues = flow.path.ports().iter().enumerate().map(|(hop, port)| {
                let queue = Queue { port: *port, id: protocol.queue(case, id, hop) };
                let number = *numbers.entry(queue).or_insert_with_key(|queue| {
                    graph.queues.push(queue.clone());
                    graph.flows.push(Vec::new());
                    graph.queues.len() - 1
                });
                graph.flows[number].push(id);
                number
            });
            let queues = queues.collect();
            graph.of_flow.push(queues);
        }
        graph
    }
}
