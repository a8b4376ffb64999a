//! Slot *load balancing*: which of several equal-cost ports a packet takes.

pub mod ecmp;
pub mod spray;

use crate::registry::registry;

registry! {
    /// Path choice.
    pub enum LoadBalanceConfig: std::fmt::Debug {
        /// Equal-cost multi-path: a hash of the flow, seeded per switch.
        Ecmp = "ecmp": ecmp::EcmpConfig,
        /// Packet spraying: every packet takes a random equal-cost port.
        Spray = "spray": spray::SprayConfig,
    }
}
