//! Slot *flow control*: which queue a packet joins, and when the upstream is paused and resumed.

pub mod bfc;
mod hops;
pub mod none;
pub mod per_flow;
pub mod pfc;
pub mod pyrrha;

#[allow(unused_imports, reason = "for the methods that enum_dispatch generates")]
use crate::contract::signatures::*;
use crate::contract::{FlowControl, Site};
use crate::mechanisms::registry::registry;
use backwater_engine::Duration;
use enum_dispatch::enum_dispatch;
use std::fmt::Debug;

registry! {
    /// Flow control between neighbours.
    pub enum FlowControlConfig, factory FlowControlFactory;
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

/// Any [`FlowControl`]: built-ins inline, others boxed.
#[enum_dispatch(FlowControl)]
#[allow(missing_docs, clippy::large_enum_variant, reason = "state is kept inline, not boxed")]
pub enum AnyFlowControl {
    None(none::NoFlowControl),
    Pfc(pfc::Pfc),
    Bfc(bfc::Bfc),
    PerFlow(per_flow::PerFlow),
    Pyrrha(pyrrha::Pyrrha),
    Custom(Box<dyn FlowControl>),
}

/// Makes a flow control of another crate for a node.
pub trait FlowControlFactory: Debug + Send + Sync {
    /// The instance that runs at `site`.
    fn build(&self, site: &Site<'_>) -> Box<dyn FlowControl>;
}

impl FlowControlConfig {
    /// The instance that runs at `site`.
    pub fn build(&self, site: &Site<'_>) -> AnyFlowControl {
        match self {
            FlowControlConfig::None(_) => none::NoFlowControl.into(),
            FlowControlConfig::Pfc(config) => pfc::Pfc::new(config, site).into(),
            FlowControlConfig::Bfc(config) => bfc::Bfc::new(config, site).into(),
            FlowControlConfig::PerFlow(_) => per_flow::PerFlow::new(site).into(),
            FlowControlConfig::Pyrrha(config) => pyrrha::Pyrrha::new(config, site).into(),
            FlowControlConfig::Custom(factory) => factory.build(site).into(),
        }
    }

    /// Time from a frame's arrival to its effect, which headroom must allow for.
    pub fn response(&self) -> Duration {
        match self {
            FlowControlConfig::Pfc(config) => config.response,
            _ => Duration::ZERO,
        }
    }

    /// Whether two neighbours that run these stop each other: only Pyrrha uses another one, PFC, where it borders on it.
    pub fn interoperates_with(&self, other: &FlowControlConfig) -> bool {
        use FlowControlConfig::{Pfc, Pyrrha};
        let is_border = matches!((self, other), (Pfc(_), Pyrrha(_)) | (Pyrrha(_), Pfc(_)));
        is_border || std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// Whether packets of a lossless class may never be dropped for lack of buffer.
    pub fn is_lossless(&self) -> bool {
        matches!(self, FlowControlConfig::Pfc(_) | FlowControlConfig::Custom(_))
    }

    /// Whether link errors spare its frames.
    pub fn is_spared_by_errors(&self) -> bool {
        matches!(self, FlowControlConfig::Pfc(config) if config.pause == pfc::PauseModel::UntilResume)
    }

    /// Whether it bounds egress queues, not what comes in by a port: then the whole buffer is best shared, and headroom is of no use.
    pub fn bounds_queues(&self) -> bool {
        matches!(self, FlowControlConfig::Bfc(_) | FlowControlConfig::PerFlow(_) | FlowControlConfig::Pyrrha(_))
    }
}
