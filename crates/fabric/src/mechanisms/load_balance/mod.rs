//! Slot *load balancing*: which of several equal-cost ports a packet takes.

pub mod conga;
pub mod drill;
pub mod ecmp;
mod flowlets;
pub mod letflow;
pub mod spray;

#[allow(unused_imports, reason = "for the methods that are generated")]
use crate::contract::signatures::*;
use crate::mechanisms::registry::registry;

registry! {
    /// Path choice.
    pub enum LoadBalanceConfig, factory LoadBalanceFactory;
    instances AnyLoadBalance: LoadBalance + Station, of LoadBalanceOptions::Instance,
    by build(site: &Site<'_>) or boxed;
    mechanisms {
        /// Equal-cost multi-path: a hash of the flow, seeded per switch.
        Ecmp = "ecmp": ecmp::EcmpConfig;
        /// Packet spraying: every packet takes a random equal-cost port.
        Spray = "spray": spray::SprayConfig;
        /// DRILL: every packet takes the shortest queue of a few ports (SIGCOMM 2017).
        Drill = "drill": drill::DrillConfig;
        /// LetFlow: every flowlet takes a random equal-cost port (NSDI 2017).
        LetFlow = "letflow": letflow::LetFlowConfig;
        /// CONGA: every flowlet takes the path whose busiest link is the least busy (SIGCOMM 2014).
        Conga = "conga": conga::CongaConfig;
    }
}
