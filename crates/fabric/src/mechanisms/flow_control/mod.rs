//! Flow control slot: queue of each packet, and PAUSE and RESUME of the upstream neighbour.

pub mod bfc;
mod held;
mod hops;
pub mod none;
pub mod per_flow;
pub mod pfc;
pub mod pfc_star;
pub mod port_fc;
pub mod pyrrha;

#[allow(unused_imports, reason = "macros generate methods that use them")]
use crate::contract::signatures::*;
use crate::mechanisms::registry::registry;

registry! {
    /// Flow control between neighbours.
    pub enum FlowControlConfig, factory FlowControlFactory;
    instances AnyFlowControl: FlowControl + FlowControlAccounts, of FlowControlOptions::Instance,
    by build(site: &Site<'_>) or boxed;
    mechanisms {
        None = "none": none::NoneConfig;
        Pfc = "pfc": pfc::PfcConfig;
        Bfc = "bfc": bfc::BfcConfig;
        PerFlow = "per-flow": per_flow::PerFlowConfig;
        Pyrrha = "pyrrha": pyrrha::PyrrhaConfig;
        PfcStar = "pfc-star": pfc_star::PfcStarConfig;
        PortFc = "port-fc": port_fc::PortFcConfig;
    }
}
