//! Headroom slot (the buffer policy): pool of each packet, and thresholds of ingress queues.

pub mod adaptive;
pub mod dsh;
pub mod egress;
mod options;
pub mod oversubscribed;
mod pools;
pub mod sih;
pub mod static_threshold;
mod threshold;

#[allow(unused_imports, reason = "macros generate methods that use them")]
use crate::contract::signatures::*;
use crate::mechanisms::registry::registry;

registry! {
    /// Buffer sharing of a switch.
    pub enum HeadroomConfig, factory HeadroomFactory;
    instances AnyBufferPolicy: BufferPolicy + BufferAccounts, of HeadroomOptions::Instance,
    by build(site: &Site<'_>) or boxed;
    mechanisms {
        Sih = "sih": sih::SihConfig;
        Dsh = "dsh": dsh::DshConfig;
        Adaptive = "adaptive": adaptive::AdaptiveConfig;
        Oversubscribed = "oversubscribed": oversubscribed::OversubscribedConfig;
        Egress = "egress": egress::EgressConfig;
        Static = "static": static_threshold::StaticConfig;
    }
}
