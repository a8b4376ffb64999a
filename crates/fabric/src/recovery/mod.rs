//! Slot *loss recovery*: what sender and receiver do about gaps.

pub mod go_back_n;

use crate::registry::registry;

registry! {
    /// Loss recovery.
    pub enum RecoveryConfig: std::fmt::Debug {
        /// The receiver accepts packets in order only; the sender goes back to the first one missing.
        GoBackN = "go-back-n": go_back_n::GoBackNConfig,
    }
}
