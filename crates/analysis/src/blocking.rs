//! Head-of-line blocking and the queues that a protocol needs: definitions 3 to 7 of the Pyrrha
//! paper, section VI.

use crate::case::Case;
use crate::graph::{QueueGraph, QueueNumber};
use crate::protocol::Protocol;
use backwater_fabric::ids::{FlowId, PortId};
use std::collections::{BTreeMap, BTreeSet};

/// The flows that congested ports can block, and the number of queues involved.
#[derive(Clone, Debug)]
pub struct Blocking {
    /// Effects of each congested port, in ascending order.
    pub causes: Vec<BlockingCause>,
    /// Ports where an innocent flow shares a potentially paused queue.
    pub blocked_at: BTreeSet<PortId>,
    /// Number of congested or potentially paused queues of each port. Ports without such queues are
    /// left out.
    pub queues: BTreeMap<PortId, usize>,
    /// Number of potentially paused queues; under Pyrrha, these are the isolation queues.
    pub paused_queues: usize,
}

/// Effects of one congested port.
#[derive(Clone, Debug)]
pub struct BlockingCause {
    /// Congested port.
    pub port: PortId,
    /// Number of congested flows, which pass the port (definition 3).
    pub congested_flows: usize,
    /// Ports with a queue that the port can pause (definition 4).
    pub paused_ports: BTreeSet<PortId>,
    /// Queues that the port can pause (definition 5).
    pub paused_queues: Vec<QueueNumber>,
    /// Number of flows through queues that the port can pause (definition 6).
    pub paused_flows: usize,
    /// Number of innocent flows: flows through paused queues that do not pass the port. Zero means
    /// no blocking (definition 7).
    pub innocent_flows: usize,
    /// Example of an innocent flow that the port can block.
    pub counterexample: Option<Counterexample>,
}

/// An innocent flow that can be blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// Congested port.
    pub cause: PortId,
    /// Innocent flow, which does not pass `cause`.
    pub innocent: FlowId,
    /// Queue in which the innocent flow can be paused.
    pub queue: QueueNumber,
    /// Flow that passes `cause`, because of which `cause` pauses the queue. The flow is in the same
    /// queue if possible. Otherwise the queue obeys the signals of a queue that contains this flow.
    pub culprit: FlowId,
}

impl Blocking {
    /// Analyses `case`, whose queue graph under `protocol` is `graph`. All queues of a congested
    /// port count as congested.
    pub fn new(case: &Case, protocol: &dyn Protocol, graph: &QueueGraph) -> Blocking {
        let mut search = Search {
            case,
            protocol,
            graph,
            blocked_at: BTreeSet::new(),
            is_paused: vec![false; graph.queues.len()],
            through: Marks::new(case.flows().len()),
            paused_flows: Marks::new(case.flows().len()),
            paused_queues: Marks::new(graph.queues.len()),
        };
        let causes = case.congested().iter().map(|port| search.cause(*port)).collect();
        let mut queues = BTreeMap::new();
        for (queue, is_paused) in graph.queues.iter().zip(&search.is_paused) {
            if *is_paused || case.congested().contains(&queue.port) {
                *queues.entry(queue.port).or_default() += 1;
            }
        }
        let paused_queues = search.is_paused.iter().filter(|is_paused| **is_paused).count();
        Blocking { causes, blocked_at: search.blocked_at, queues, paused_queues }
    }

    /// True if no congested port can pause a flow that does not pass the port.
    pub fn is_free(&self) -> bool {
        self.causes.iter().all(|cause| cause.innocent_flows == 0)
    }

    /// Returns the counterexample of the first congested port that has one.
    pub fn counterexample(&self) -> Option<Counterexample> {
        self.causes.iter().find_map(|cause| cause.counterexample)
    }

    /// Returns the first port with the largest number of queues, and this number.
    pub fn most_queues(&self) -> Option<(PortId, usize)> {
        let most = self.queues.values().max()?;
        self.queues.iter().find(|(_, queues)| *queues == most).map(|(port, queues)| (*port, *queues))
    }
}

struct Search<'a> {
    case: &'a Case,
    protocol: &'a dyn Protocol,
    graph: &'a QueueGraph,
    blocked_at: BTreeSet<PortId>,
    is_paused: Vec<bool>,
    through: Marks,
    paused_flows: Marks,
    paused_queues: Marks,
}

impl Search<'_> {
    fn cause(&mut self, port: PortId) -> BlockingCause {
        let Search { case, protocol, graph, .. } = *self;
        [&mut self.through, &mut self.paused_flows, &mut self.paused_queues].into_iter().for_each(Marks::clear);
        let congested_flows = case.through(port);
        congested_flows.iter().for_each(|flow| {
            self.through.set(flow.0 as usize);
        });
        // Queues that the port can pause, each with the first flow from the queue to the port.
        let mut paused: Vec<(QueueNumber, FlowId)> = Vec::new();
        let stopped = if protocol.detects(case, port) { congested_flows } else { &[] };
        for flow in stopped {
            for hop in case.flow(*flow).path.hops_before(port) {
                let queue = graph.of_flow[*flow][hop];
                if protocol.pauses(&graph.queues[queue], port) && self.paused_queues.set(queue) {
                    self.is_paused[queue] = true;
                    paused.push((queue, *flow));
                }
            }
        }
        // Queues paused by signals. A queue that is paused because of the port also sends signals.
        let own = graph.of_port.get(&port).filter(|_| protocol.detects(case, port)).into_iter().flatten();
        let mut signalling: Vec<(QueueNumber, FlowId)> = own.map(|queue| (*queue, graph.flows[*queue][0])).collect();
        signalling.extend(&paused);
        while let Some((holder, culprit)) = signalling.pop() {
            for queue in &graph.signalled[holder] {
                if self.paused_queues.set(*queue) {
                    self.is_paused[*queue] = true;
                    let passes = |flow: &&FlowId| self.through.has(flow.0 as usize);
                    let found = (*queue, graph.flows[*queue].iter().find(passes).copied().unwrap_or(culprit));
                    paused.push(found);
                    signalling.push(found);
                }
            }
        }
        let (mut paused_flows, mut innocent_flows, mut counterexample) = (0, 0, None);
        for (queue, culprit) in &paused {
            for flow in &graph.flows[*queue] {
                let is_innocent = !self.through.has(flow.0 as usize);
                if is_innocent {
                    self.blocked_at.insert(graph.queues[*queue].port);
                }
                if self.paused_flows.set(flow.0 as usize) {
                    paused_flows += 1;
                    innocent_flows += usize::from(is_innocent);
                    if is_innocent {
                        let found = Counterexample { cause: port, innocent: *flow, queue: *queue, culprit: *culprit };
                        counterexample.get_or_insert(found);
                    }
                }
            }
        }
        BlockingCause {
            port,
            congested_flows: congested_flows.len(),
            paused_ports: paused.iter().map(|(queue, _)| graph.queues[*queue].port).collect(),
            paused_queues: paused.into_iter().map(|(queue, _)| queue).collect(),
            paused_flows,
            innocent_flows,
            counterexample,
        }
    }
}

/// A set of small numbers with a constant-time `clear`.
struct Marks {
    round: usize,
    marked_in: Vec<usize>,
}

impl Marks {
    fn new(size: usize) -> Marks {
        Marks { round: 1, marked_in: vec![0; size] }
    }

    fn clear(&mut self) {
        self.round += 1;
    }

    /// Adds `index`. Returns true if it is new.
    fn set(&mut self, index: usize) -> bool {
        std::mem::replace(&mut self.marked_in[index], self.round) != self.round
    }

    fn has(&self, index: usize) -> bool {
        self.marked_in[index] == self.round
    }
}
