//! Slot *headroom* (the buffer policy): which pool pays for a packet, and when an ingress queue or port is full.

pub mod sih;
pub mod static_threshold;

use crate::registry::registry;

registry! {
    /// How a switch shares its buffer.
    pub enum HeadroomConfig: std::fmt::Debug {
        /// Static and independent headroom: worst-case headroom for every lossless ingress queue, the rest shared by a dynamic threshold.
        Sih = "sih": sih::SihConfig,
        /// A fixed threshold for every lossless ingress queue, with worst-case headroom above it.
        Static = "static": static_threshold::StaticConfig,
    }
}
