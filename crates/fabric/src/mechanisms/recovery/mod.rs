//! Slot *loss recovery*: what sender and receiver do about gaps.

pub mod go_back_n;
pub mod in_any_order;
pub mod irn;

#[allow(unused_imports, reason = "for the methods that are generated")]
use crate::contract::signatures::*;
use crate::mechanisms::registry::registry;

registry! {
    /// Loss recovery.
    pub enum RecoveryConfig, factory RecoveryFactory;
    instances AnyRecoverySender: RecoverySender, of RecoveryOptions::Sender,
    by sender(sender: &SenderFacts) or boxed_sender;
    instances AnyRecoveryReceiver: RecoveryReceiver, of RecoveryOptions::Receiver,
    by receiver() or boxed_receiver;
    mechanisms {
        /// The receiver accepts packets in order only; the sender goes back to the first one missing.
        GoBackN = "go-back-n": go_back_n::GoBackNConfig;
        /// The receiver accepts packets in any order; the sender goes back only after a timeout.
        InAnyOrder = "in-any-order": in_any_order::InAnyOrderConfig;
        /// IRN: selective retransmission, with no more packets in flight than fill the path (SIGCOMM 2018).
        Irn = "irn": irn::IrnConfig;
    }
}
