//! Priority-based flow control: a queue per traffic class.

use super::{Protocol, QueueId};
use crate::case::Case;
use backwater_fabric::ids::FlowId;

/// A queue per port and traffic class. A full one pauses the class on every link that feeds it.
#[derive(Clone, Copy, Debug)]
pub struct Pfc;

impl Protocol for Pfc {
    fn name(&self) -> String {
        "pfc".into()
    }

    fn queue(&self, case: &Case, flow: FlowId, _hop: usize) -> QueueId {
        QueueId::Class(case.flow(flow).class)
    }
}
