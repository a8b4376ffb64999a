//! Load balancing slot: choice among equal-cost ports.

pub mod conga;
mod dre;
pub mod drill;
pub mod ecmp;
pub mod flb;
mod flowlets;
pub mod letflow;
mod paths;
pub mod proteus;
mod recent;
pub mod spray;

#[allow(unused_imports, reason = "macros generate methods that use them")]
use crate::contract::signatures::*;
use crate::mechanisms::registry::registry;

registry! {
    /// Path choice.
    pub enum LoadBalanceConfig, factory LoadBalanceFactory;
    instances AnyLoadBalance: LoadBalance + PipelineHooks, of LoadBalanceOptions::Instance,
    by build(site: &Site<'_>) or boxed;
    mechanisms {
        Ecmp = "ecmp": ecmp::EcmpConfig;
        Spray = "spray": spray::SprayConfig;
        Drill = "drill": drill::DrillConfig;
        LetFlow = "letflow": letflow::LetFlowConfig;
        Conga = "conga": conga::CongaConfig;
        Flb = "flb": flb::FlbConfig;
        Proteus = "proteus": proteus::ProteusConfig;
    }
}
