//! Backpressure flow control: a fixed number of queues, which flows are hashed onto.

use super::{Protocol, QueueId};
use crate::case::Case;
use backwater_engine::random::mix;
use backwater_fabric::ids::FlowId;
use std::num::NonZeroU32;

/// Queues per port that flows share by hash. A full one pauses the queues that its flows come from.
#[derive(Clone, Copy, Debug)]
pub enum Bfc {
    /// So many queues per port. A flow has the same number at every port.
    Queues(NonZeroU32),
    /// All flows of a port collide in one queue (figure 13b).
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
            // Below `queues`, which has 32 bits.
            Bfc::Queues(queues) => (mix(flow.0.into()) % u64::from(queues.get())) as u32,
            Bfc::WorstCase => 0,
        })
    }
}
