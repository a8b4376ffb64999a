//! Slot *flow control*: which queue a packet joins, and when the upstream is paused and resumed.

pub mod bfc;
mod hops;
pub mod none;
pub mod per_flow;
pub mod pfc;
pub mod pyrrha;

#[allow(unused_imports, reason = "for the methods that are generated")]
use crate::contract::signatures::*;
use crate::mechanisms::registry::registry;

registry! {
    /// Flow control between neighbours.
    pub enum FlowControlConfig, factory FlowControlFactory;
    instances AnyFlowControl: FlowControl + FlowControlAccounts, of FlowControlOptions::Instance,
    by build(site: &Site<'_>) or boxed;
    mechanisms {
        /// No flow control: a full buffer drops.
        None = "none": none::NoneConfig;
        /// Priority-based flow control, IEEE 802.1Qbb.
        Pfc = "pfc": pfc::PfcConfig;
        /// BFC: flows spread over a few queues, which are paused one by one (NSDI 2022).
        Bfc = "bfc": bfc::BfcConfig;
        /// A queue for every flow: the ideal that no switch can afford.
        PerFlow = "per-flow": per_flow::PerFlowConfig;
        /// Pyrrha: by congestion root, with isolation queues (NSDI 2025).
        Pyrrha = "pyrrha": pyrrha::PyrrhaConfig;
    }
}
