//! Slot *flow control*: which queue a packet joins, and when the upstream is told to stop and go.

pub mod none;
pub mod pfc;

use crate::registry::registry;

registry! {
    /// Flow control between neighbours.
    pub enum FlowControlConfig: std::fmt::Debug {
        /// No flow control: a full buffer drops.
        None = "none": none::NoneConfig,
        /// Priority-based flow control, IEEE 802.1Qbb.
        Pfc = "pfc": pfc::PfcConfig,
    }
}
