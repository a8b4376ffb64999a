//! SIH, static and independent headroom: the method of switch chips, and the baseline of DSH
//! (section II of DSH's paper).

use super::options::{effective_values, offset, per_port, resume_offset};
use super::pools::{PoolUsage, Pools, reserved};
use super::threshold::{self, DynamicThreshold};
use crate::contract::accounts::ambassador_impl_BufferAccounts;
use crate::contract::{
    Admission, BufferAccounts, BufferPolicy, Diagnostics, HeadroomFacts, HeadroomOptions, Occupancy, Options,
    PacketContext, PortFacts, Pressure, SchemeContext, Site,
};
use crate::ids::{CLASSES, Class, PortIx};
use ambassador::Delegate;
use backwater_engine::{Bytes, Rate, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Static and independent headroom: worst-case headroom for every lossless ingress queue. Queues
/// share the rest of the buffer by a dynamic threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SihConfig {
    /// Share of the free shared pool that one ingress queue may take: T = alpha (B_s - used).
    /// Default 1/16 (DSH section V-A).
    #[schemars(range(min = 0.0, max = 64.0))]
    pub alpha: f64,
    /// Port rate for which alpha holds: the alpha of a port scales with its rate (the rule of the
    /// HPCC simulator). Default: none.
    pub alpha_rate: Option<Rate>,
    /// Private bytes of every lossless (ingress port, class). Default 3 KB (DSH section V-A).
    pub private: Bytes,
    /// Headroom of every lossless (ingress port, class). Default: Equation 1 of DSH, 2 (C D + MTU)
    /// + 3840 B, for that port's link; more if long frames or response times need more.
    pub headroom: Option<Bytes>,
    /// Distance below the threshold at which a paused queue resumes. Default: two full frames
    /// (DCQCN, DSH section IV-E).
    pub resume_offset: Option<Bytes>,
}

impl Default for SihConfig {
    fn default() -> Self {
        SihConfig { alpha: 0.0625, alpha_rate: None, private: Bytes(3000), headroom: None, resume_offset: None }
    }
}

impl Options for SihConfig {
    fn check(&self, _scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        diagnostics.positive(self.alpha_rate, "alpha_rate");
    }
}

impl HeadroomOptions for SihConfig {
    type Instance = Sih;

    fn facts(&self) -> HeadroomFacts {
        HeadroomFacts {
            is_lossless: true,
            has_port_thresholds: false,
            bounds_ingress: false,
            has_thresholds: true,
            set_headroom: self.headroom,
        }
    }

    fn reserved(&self, site: &Site<'_>) -> u64 {
        reserved(site, self.private.get(), &per_port(self.headroom, site))
    }

    fn build(&self, site: &Site<'_>) -> Sih {
        let pools = Pools::new(site, self.private.get(), &per_port(self.headroom, site));
        Sih::new(pools, DynamicThreshold::new(self.alpha, self.alpha_rate, site), self.resume_offset, site)
    }

    fn effective_values(&self, site: &Site<'_>) -> Vec<(&'static str, Vec<Value>)> {
        let alpha = |port: &PortFacts| json!(threshold::alpha(self.alpha, self.alpha_rate, port));
        let alpha = ("alpha", site.ports.iter().map(alpha).collect());
        vec![
            alpha,
            effective_values("headroom", per_port(self.headroom, site)),
            offset("resume_offset", self.resume_offset, site),
        ]
    }
}

/// SIH at one switch: private bytes, a shared pool with a dynamic threshold, and headroom. Policies
/// that differ from SIH only in the reserved amounts also use this type.
#[derive(Debug, GetSize, Delegate)]
#[delegate(BufferAccounts, target = "pools")]
pub struct Sih {
    pools: Pools,
    threshold: DynamicThreshold,
    resume_offset: u64,
}

impl Sih {
    /// Returns the policy over `pools`; a queue resumes `offset` below its threshold.
    pub(super) fn new(pools: Pools, threshold: DynamicThreshold, offset: Option<Bytes>, site: &Site<'_>) -> Sih {
        Sih { pools, threshold, resume_offset: resume_offset(offset, site) }
    }

    /// Returns T(t) of the queues of `ingress`.
    fn shared_threshold(&self, ingress: PortIx) -> u64 {
        self.threshold.of(ingress, self.pools.free_shared())
    }

    /// Returns the pressure of a class whose queue has this usage.
    #[inline(always)]
    fn pressure_of(&self, PoolUsage { shared, headroom }: PoolUsage, ingress: PortIx, class: Class) -> Pressure {
        if !self.pools.is_lossless(class) {
            return Pressure::default();
        }
        // A queue within its private bytes is below any threshold. This holds for most packets.
        if (shared, headroom) == (0, 0) {
            return Pressure::of_class(class, false, true);
        }
        let threshold = self.shared_threshold(ingress);
        let is_full = headroom > 0 || (shared > 0 && shared >= threshold);
        let is_eased = !is_full && (shared == 0 || shared + self.resume_offset <= threshold);
        Pressure::of_class(class, is_full, is_eased)
    }
}

impl BufferPolicy for Sih {
    #[inline(always)]
    fn admit(&mut self, packet: &PacketContext<'_>, _now: Time) -> Admission {
        match self.pools.admit(packet, |free| self.threshold.of(packet.ingress(), free)) {
            Ok(held) => Admission::Charged(self.pressure_of(held, packet.ingress(), packet.ingress_class())),
            Err(cause) => Admission::Refused(cause),
        }
    }

    #[inline(always)]
    fn release(&mut self, packet: &PacketContext<'_>, _now: Time) {
        self.pools.release(packet);
    }

    #[inline]
    fn pressure(&self, ingress: PortIx, class: Class) -> Pressure {
        self.pressure_of(self.pools.beyond_private(ingress, class), ingress, class)
    }

    fn threshold(&self, ingress: PortIx, class: Class) -> Option<u64> {
        self.pools.is_lossless(class).then(|| self.pools.private() + self.shared_threshold(ingress).max(1))
    }
}

#[cfg(test)]
mod tests;
