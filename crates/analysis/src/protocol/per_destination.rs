//! A queue per destination: virtual output queues for the whole network.

use super::{Protocol, QueueId};
use crate::case::Case;
use backwater_fabric::ids::FlowId;

/// A queue per port and destination host. A full queue pauses the upstream queues of the same
/// destination.
#[derive(Clone, Copy, Debug)]
pub struct PerDestination;

impl Protocol for PerDestination {
    fn name(&self) -> String {
        "per-destination".into()
    }

    fn queue(&self, case: &Case, flow: FlowId, _hop: usize) -> QueueId {
        QueueId::Destination(case.flow(flow).destination)
    }
}
