//! Notices: messages of a switch to a sender, to its first-hop switch or to another switch. They
//! travel hop by hop, as packets, and can be lost.

use crate::frame::control::Protocol;
use crate::ids::{FlowId, NodeId, PortId};

/// Content of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Protocol of the notice.
    pub protocol: Protocol,
    /// Port whose queue the notice reports.
    pub from: PortId,
    /// Flow that the notice reports; [`FlowId::NONE`] if none.
    pub flow: FlowId,
    /// Final destination of the notice.
    pub to: NodeId,
    /// Fields, as the protocol defines them.
    pub words: [u32; 4],
}
