//! Buffer dependencies between queues, and their cycles: section VII of the Pyrrha paper.

use crate::case::Case;
use crate::graph::{QueueGraph, QueueNumber};
use crate::protocol::Protocol;

/// The graph of buffer dependencies, with an edge from each queue to every queue that can hold it
/// back.
#[derive(Clone, Debug)]
pub struct Dependencies {
    /// Queues that can hold back each queue, in ascending order.
    holders: Vec<Vec<QueueNumber>>,
}

impl Dependencies {
    /// Builds the dependencies of `case`, whose queue graph under `protocol` is `graph`.
    pub fn new(case: &Case, protocol: &dyn Protocol, graph: &QueueGraph) -> Dependencies {
        let mut holders = vec![Vec::new(); graph.queues.len()];
        for (flow, queues) in case.flows().iter().zip(&graph.of_flow) {
            for (hop, queue) in queues.iter().enumerate() {
                holders[*queue].extend(flow.path.next(hop).map(|next| queues[next]));
            }
        }
        for (holder, signalled) in graph.signalled.iter().enumerate() {
            signalled.iter().for_each(|queue| holders[*queue].push(holder));
        }
        for (queue, holders) in holders.iter_mut().enumerate() {
            holders.sort_unstable();
            holders.dedup();
            holders.retain(|holder| protocol.holds_back(&graph.queues[queue], &graph.queues[*holder]));
        }
        Dependencies { holders }
    }

    /// Returns the queues that can hold back `queue`, in ascending order.
    pub fn holders(&self, queue: QueueNumber) -> &[QueueNumber] {
        &self.holders[queue]
    }

    /// Returns a cyclic buffer dependency, starting with the lowest number. Each queue can wait for
    /// the next, and the last for the first. Without a cycle, no deadlock is possible.
    pub fn cycle(&self) -> Option<Vec<QueueNumber>> {
        let is_left = self.waiting_forever();
        // Every remaining queue waits for another remaining queue, so the walk returns to a visited
        // queue.
        let next = |queue: QueueNumber| {
            let left = self.holders[queue].iter().copied().find(|holder| is_left[*holder]);
            left.expect("a queue that waits for none is removed")
        };
        let mut visited = vec![None; self.holders.len()];
        let (mut walk, mut queue) = (Vec::new(), is_left.iter().position(|is_left| *is_left)?);
        let first = loop {
            if let Some(step) = visited[queue] {
                break step;
            }
            visited[queue] = Some(walk.len());
            walk.push(queue);
            queue = next(queue);
        };
        let mut cycle = walk.split_off(first);
        let lowest = (0..cycle.len()).min_by_key(|step| cycle[*step]).unwrap_or(0);
        cycle.rotate_left(lowest);
        Some(cycle)
    }

    /// Returns, for each queue, true if it remains after repeated removal of queues that wait for
    /// no other queue.
    fn waiting_forever(&self) -> Vec<bool> {
        let mut waiting: Vec<Vec<QueueNumber>> = vec![Vec::new(); self.holders.len()];
        for (queue, holders) in self.holders.iter().enumerate() {
            holders.iter().for_each(|holder| waiting[*holder].push(queue));
        }
        let mut count: Vec<usize> = self.holders.iter().map(Vec::len).collect();
        let mut free: Vec<QueueNumber> = (0..count.len()).filter(|queue| count[*queue] == 0).collect();
        while let Some(queue) = free.pop() {
            for waiting in &waiting[queue] {
                count[*waiting] -= 1;
                if count[*waiting] == 0 {
                    free.push(*waiting);
                }
            }
        }
        count.into_iter().map(|count| count > 0).collect()
    }
}
