//! Notices: what a switch tells a sender, its edge switch, or another switch. They travel as packets, hop by hop, and can be lost.

use crate::frame::control::Protocol;
use crate::ids::{FlowId, NodeId, PortId};

/// What a notice says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Whose notice it is.
    pub protocol: Protocol,
    /// The port of whose queue it tells.
    pub from: PortId,
    /// The flow that it is about; [`FlowId::NONE`] if it is about none.
    pub flow: FlowId,
    /// Whom it is for in the end.
    pub to: NodeId,
    /// Its fields.
    pub words: [u32; 4],
}
