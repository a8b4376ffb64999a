//! A queue per flow.

use super::{Protocol, QueueId};
use crate::case::Case;
use backwater_fabric::ids::FlowId;

/// A queue per port and flow. A full queue pauses the flow's queue one hop upstream.
#[derive(Clone, Copy, Debug)]
pub struct PerFlow;

impl Protocol for PerFlow {
    fn name(&self) -> String {
        "per-flow".into()
    }

    fn queue(&self, _case: &Case, flow: FlowId, _hop: usize) -> QueueId {
        QueueId::Flow(flow)
    }
}
