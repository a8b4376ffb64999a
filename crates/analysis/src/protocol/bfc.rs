//! Backpressure flow control: flows are hashed onto a fixed number of queues.

use super::{Protocol, QueueId};
use crate::case::Case;
use backwater_engine::random::mix;
use backwater_fabric::ids::FlowId;
use std::num::NonZeroU32;

/// Queues per port that flows share by hash. A full queue pauses the upstream queues of its flows.
#[derive(Clone, Copy, Debug)]
pub enum Bfc {
    /// Number of queues per port. A flow has the same queue number at every port.
    Queues(NonZeroU32),
    /// All flows of a port collide in one queue (Figure 13(b) of the Pyrrha paper).
    WorstCase,
}

impl Protocol for Bfc {
    fn name(&self) -> String {
        match self {
            Bfc::Queues(queues) => format!("bfc-{queues}"),
            Bfc::WorstCase => "bfc-worst-case".into(),
        }
    }

    fn queue(&self, _case: &Case, flow: FlowId, _hop: usize) -> QueueId {
        QueueId::Number(match self {
            // The result is less than `queues`, which has 32 bits.
            Bfc::Queues(queues) => (mix(flow.0.into()) % u64::from(queues.get())) as u32,
            Bfc::WorstCase => 0,
        })
    }
}
