//! Slot *load balancing*: which of several equal-cost ports a packet takes.

pub mod drill;
pub mod ecmp;
pub mod spray;

use crate::contract::LoadBalance;
#[allow(unused_imports, reason = "for the methods that enum_dispatch generates")]
use crate::contract::signatures::*;
use crate::ids::NodeId;
use crate::mechanisms::registry::registry;
use backwater_engine::random::Seed;
use enum_dispatch::enum_dispatch;
use std::fmt::Debug;

registry! {
    /// Path choice.
    pub enum LoadBalanceConfig, factory LoadBalanceFactory;
    /// Equal-cost multi-path: a hash of the flow, seeded per switch.
    Ecmp = "ecmp": ecmp::EcmpConfig;
    /// Packet spraying: every packet takes a random equal-cost port.
    Spray = "spray": spray::SprayConfig;
    /// DRILL: every packet takes the shortest queue of a few ports (SIGCOMM 2017).
    Drill = "drill": drill::DrillConfig;
}

/// Any [`LoadBalance`]: built-ins inline, others boxed.
#[enum_dispatch(LoadBalance)]
#[allow(missing_docs, clippy::large_enum_variant, reason = "state is kept inline, not boxed")]
pub enum AnyLoadBalance {
    Ecmp(ecmp::Ecmp),
    Spray(spray::Spray),
    Drill(drill::Drill),
    Custom(Box<dyn LoadBalance>),
}

/// Makes a load balancer of another crate for a node.
pub trait LoadBalanceFactory: Debug + Send + Sync {
    /// The instance that runs at `node`.
    fn build(&self, seed: Seed, node: NodeId) -> Box<dyn LoadBalance>;
}

impl LoadBalanceConfig {
    /// The instance that runs at `node`.
    pub fn build(&self, seed: Seed, node: NodeId) -> AnyLoadBalance {
        match self {
            LoadBalanceConfig::Ecmp(_) => ecmp::Ecmp::new(seed, node).into(),
            LoadBalanceConfig::Spray(_) => spray::Spray::new(seed, node).into(),
            LoadBalanceConfig::Drill(config) => drill::Drill::new(config, seed, node).into(),
            LoadBalanceConfig::Custom(factory) => factory.build(seed, node).into(),
        }
    }

    /// Whether a flow's path is a pure function of the flow, so that it can be fixed when the flow starts.
    pub fn is_static(&self) -> bool {
        matches!(self, LoadBalanceConfig::Ecmp(_))
    }
}
