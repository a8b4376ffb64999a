//! The bipartite graph of flows and queues (definition 1 of the Pyrrha paper).

use crate::case::Case;
use crate::protocol::{Protocol, Queue, QueueId};
use backwater_engine::index::IndexVec;
use backwater_fabric::ids::{FlowId, PortId};
use std::collections::{BTreeMap, BTreeSet};

/// Index of a queue in [`QueueGraph::queues`].
pub type QueueNumber = usize;

/// The queues of every flow, and the flows of every queue, under one protocol.
#[derive(Debug)]
pub struct QueueGraph {
    /// Queues with at least one flow, in order of first use.
    pub queues: Vec<Queue>,
    /// Queue of each flow at every hop.
    pub of_flow: IndexVec<FlowId, Vec<QueueNumber>>,
    /// Flows of each queue, in order of id.
    pub flows: Vec<Vec<FlowId>>,
    /// Queues of each port, in ascending order.
    pub of_port: BTreeMap<PortId, Vec<QueueNumber>>,
    /// For each queue, the queues that it can hold back by signals of its port, even if no flow
    /// passes both queues.
    pub signalled: Vec<Vec<QueueNumber>>,
}

impl QueueGraph {
    /// Builds the graph of `case` under `protocol`.
    pub fn new(case: &Case, protocol: &dyn Protocol) -> QueueGraph {
        let mut graph = QueueGraph {
            queues: Vec::new(),
            of_flow: Vec::with_capacity(case.flows().len()).into(),
            flows: Vec::new(),
            of_port: BTreeMap::new(),
            signalled: Vec::new(),
        };
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
        for (number, queue) in graph.queues.iter().enumerate() {
            graph.of_port.entry(queue.port).or_default().push(number);
        }
        graph.signalled = vec![Vec::new(); graph.queues.len()];
        for (number, queue) in graph.queues.iter().enumerate() {
            let ports = protocol.signalled_by(case, queue).into_iter();
            for holder in ports.filter_map(|port| graph.of_port.get(&port)).flatten() {
                if protocol.holds_back(queue, &graph.queues[*holder]) {
                    graph.signalled[*holder].push(number);
                }
            }
        }
        graph
    }

    /// Returns the number of traffic classes that the flows need; `None` if the protocol has no
    /// queues per class.
    pub fn classes(&self) -> Option<usize> {
        let is_class = |queue: &&Queue| matches!(queue.id, QueueId::Class(_) | QueueId::Raised { .. });
        let classes: BTreeSet<&QueueId> = self.queues.iter().filter(is_class).map(|queue| &queue.id).collect();
        (!classes.is_empty()).then_some(classes.len())
    }
}
