//! Loss recovery slot: reaction of sender and receiver to gaps.

pub mod go_back_n;
pub mod in_any_order;
pub mod irn;
pub mod mp_rdma;
mod scoreboard;

#[allow(unused_imports, reason = "macros generate methods that use them")]
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
        GoBackN = "go-back-n": go_back_n::GoBackNConfig;
        InAnyOrder = "in-any-order": in_any_order::InAnyOrderConfig;
        Irn = "irn": irn::IrnConfig;
        MpRdma = "mp-rdma": mp_rdma::MpRdmaRecoveryConfig;
    }
}
