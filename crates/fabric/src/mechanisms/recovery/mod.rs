//! Slot *loss recovery*: what sender and receiver do about gaps.

pub mod go_back_n;
pub mod in_any_order;

#[allow(unused_imports, reason = "for the methods that enum_dispatch generates")]
use crate::contract::signatures::*;
use crate::contract::{RecoveryReceiver, RecoverySender};
use crate::mechanisms::registry::registry;
use enum_dispatch::enum_dispatch;
use std::fmt::Debug;

registry! {
    /// Loss recovery.
    pub enum RecoveryConfig, factory RecoveryFactory;
    /// The receiver accepts packets in order only; the sender goes back to the first one missing.
    GoBackN = "go-back-n": go_back_n::GoBackNConfig;
    /// The receiver accepts packets in any order; the sender goes back only after a timeout.
    InAnyOrder = "in-any-order": in_any_order::InAnyOrderConfig;
}

/// Any [`RecoverySender`]: built-ins inline, others boxed.
#[enum_dispatch(RecoverySender)]
#[allow(missing_docs, clippy::large_enum_variant, reason = "state is kept inline, not boxed")]
pub enum AnyRecoverySender {
    GoBackN(go_back_n::Sender),
    Custom(Box<dyn RecoverySender>),
}

/// Any [`RecoveryReceiver`]: built-ins inline, others boxed.
#[enum_dispatch(RecoveryReceiver)]
#[allow(missing_docs, clippy::large_enum_variant, reason = "state is kept inline, not boxed")]
pub enum AnyRecoveryReceiver {
    GoBackN(go_back_n::Receiver),
    InAnyOrder(in_any_order::Receiver),
    Custom(Box<dyn RecoveryReceiver>),
}

/// Makes a loss recovery of another crate.
pub trait RecoveryFactory: Debug + Send + Sync {
    /// What a flow's sender does.
    fn sender(&self) -> Box<dyn RecoverySender>;
    /// What a flow's receiver does.
    fn receiver(&self) -> Box<dyn RecoveryReceiver>;
}

impl RecoveryConfig {
    /// What a flow's sender does.
    pub fn sender(&self) -> AnyRecoverySender {
        match self {
            RecoveryConfig::GoBackN(config) => go_back_n::Sender::new(config.timeout).into(),
            RecoveryConfig::InAnyOrder(config) => go_back_n::Sender::new(config.timeout).into(),
            RecoveryConfig::Custom(factory) => factory.sender().into(),
        }
    }

    /// What a flow's receiver does.
    pub fn receiver(&self) -> AnyRecoveryReceiver {
        match self {
            RecoveryConfig::GoBackN(config) => go_back_n::Receiver::new(config).into(),
            RecoveryConfig::InAnyOrder(config) => in_any_order::Receiver::new(config).into(),
            RecoveryConfig::Custom(factory) => factory.receiver().into(),
        }
    }
}
