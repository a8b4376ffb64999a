//! Slot *headroom* (the buffer policy): which pool pays for a packet, and when an ingress queue is full.

pub mod adaptive;
pub mod dsh;
pub mod egress;
mod options;
pub mod oversubscribed;
mod pools;
pub mod sih;
pub mod static_threshold;
mod threshold;

#[allow(unused_imports, reason = "for the methods that are generated")]
use crate::contract::signatures::*;
use crate::mechanisms::registry::registry;

registry! {
    /// How a switch shares its buffer.
    pub enum HeadroomConfig, factory HeadroomFactory;
    instances AnyBufferPolicy: BufferPolicy + BufferAccounts, of HeadroomOptions::Instance,
    by build(site: &Site<'_>) or boxed;
    mechanisms {
        /// Static and independent headroom: worst-case headroom for every lossless ingress queue, the rest shared by a dynamic threshold.
        Sih = "sih": sih::SihConfig;
        /// Dynamic and shared headroom: worst-case headroom per port, everything else shared, flow control of queues and of ports.
        Dsh = "dsh": dsh::DshConfig;
        /// As `sih`, with headroom for the delays that the ports have measured (IEEE P802.1Qdt).
        Adaptive = "adaptive": adaptive::AdaptiveConfig;
        /// As `sih`, but all queues draw their headroom from a pool smaller than the sum: may drop.
        Oversubscribed = "oversubscribed": oversubscribed::OversubscribedConfig;
        /// A dynamic threshold for every egress queue, for traffic that may be lost: no headroom, nothing for flow control to go by.
        Egress = "egress": egress::EgressConfig;
        /// A fixed threshold for every lossless ingress queue, with worst-case headroom above it.
        Static = "static": static_threshold::StaticConfig;
    }
}
