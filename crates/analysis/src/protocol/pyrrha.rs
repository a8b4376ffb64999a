//! Pyrrha with a single tier of isolation queues: a queue per set of congested ports ahead (section
//! VI-C).

use super::{Protocol, Queue, QueueId, congested_ahead};
use crate::case::Case;
use backwater_fabric::ids::{FlowId, PortId};

/// A queue per port and set of congested ports ahead. The output queue is never paused.
#[derive(Clone, Copy, Debug)]
pub struct Pyrrha {
    /// True if a switch ignores a PAUSE with one of its own ports as root (section IV-E).
    pub own_root_rule: bool,
}

impl Protocol for Pyrrha {
    fn name(&self) -> String {
        "pyrrha".into()
    }

    fn queue(&self, case: &Case, flow: FlowId, hop: usize) -> QueueId {
        let path = &case.flow(flow).path;
        let here = case.port(path.ports()[hop]).node;
        let is_obeyed = |root: &PortId| !(self.own_root_rule && case.port(*root).node == here);
        let mut roots: Vec<PortId> = congested_ahead(case, path, hop).filter(is_obeyed).collect();
        roots.sort_unstable();
        QueueId::Roots(roots)
    }

    fn pauses(&self, queue: &Queue, cause: PortId) -> bool {
        queue.id.roots().contains(&cause)
    }

    /// An isolation queue waits for the next port's isolation queue of a shared root, or for the
    /// root itself if the root is the next port.
    fn holds_back(&self, queue: &Queue, next: &Queue) -> bool {
        let roots = queue.id.roots();
        roots.contains(&next.port) || roots.iter().any(|root| next.id.roots().contains(root))
    }
}
