//! Static threshold: every lossless ingress queue is paused at a fixed length.

use super::HeadroomConfig;
use super::options::{effective_values, per_port, resume_offset};
use super::pools::{PoolUsage, Pools, reserved};
use crate::contract::accounts::ambassador_impl_BufferAccounts;
use crate::contract::{
    Admission, BufferAccounts, BufferPolicy, Diagnostics, HeadroomFacts, HeadroomOptions, Occupancy, Options,
    PacketContext, Pressure, SchemeContext, Site,
};
use crate::ids::{CLASSES, Class, ClassMask, PortIx};
use ambassador::Delegate;
use backwater_engine::{Bytes, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Fixed threshold for every lossless ingress queue, with worst-case headroom above it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StaticConfig {
    /// Length of an ingress queue at which its upstream is paused. Default 256 KB (section 4.3 of
    /// FLB's paper; PCN).
    pub xoff: Bytes,
    /// Length below which the upstream is resumed. Default: two full frames below `xoff`.
    pub xon: Option<Bytes>,
    /// Headroom of every lossless (ingress port, class). Default: Equation 1 of DSH for that port's
    /// link; more if long frames or response times need more.
    pub headroom: Option<Bytes>,
}

impl Default for StaticConfig {
    fn default() -> Self {
        StaticConfig { xoff: Bytes(256_000), xon: None, headroom: None }
    }
}

impl HeadroomConfig {
    /// Policy by which queues share the whole buffer: the threshold of an ingress queue is 1 TiB.
    pub(crate) const SHARED: HeadroomConfig =
        HeadroomConfig::Static(StaticConfig { xoff: Bytes(1 << 40), xon: None, headroom: Some(Bytes(0)) });
}

impl Options for StaticConfig {
    fn check(&self, _scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        self.xon.into_iter().for_each(|xon| diagnostics.ordered([("xon", xon), ("xoff", self.xoff)]));
    }
}

impl HeadroomOptions for StaticConfig {
    type Instance = StaticThreshold;

    fn facts(&self) -> HeadroomFacts {
        HeadroomFacts {
            is_lossless: true,
            has_port_thresholds: false,
            bounds_ingress: true,
            has_thresholds: true,
            set_headroom: self.headroom,
        }
    }

    fn reserved(&self, site: &Site<'_>) -> u64 {
        reserved(site, 0, &per_port(self.headroom, site))
    }

    fn below_thresholds(&self, site: &Site<'_>) -> Option<(&'static str, u64)> {
        Some(("xoff", self.xoff.get() * (site.ports.len() + site.unused_ports) as u64 * site.lossless_classes()))
    }

    fn shares_buffer(&self, buffer: Bytes, lossless: ClassMask) -> bool {
        lossless.is_empty() || self.xoff >= buffer && self.headroom == Some(Bytes(0))
    }

    fn build(&self, site: &Site<'_>) -> StaticThreshold {
        StaticThreshold::new(self, site)
    }

    fn effective_values(&self, site: &Site<'_>) -> Vec<(&'static str, Vec<Value>)> {
        let xon = vec![self.xon(site); site.ports.len()];
        vec![effective_values("headroom", per_port(self.headroom, site)), effective_values("xon", xon)]
    }
}

impl StaticConfig {
    /// Returns the length below which a queue is resumed.
    fn xon(&self, site: &Site<'_>) -> u64 {
        self.xon.map_or(self.xoff.get().saturating_sub(resume_offset(None, site)), Bytes::get)
    }
}

/// Static threshold at one switch.
#[derive(Debug, GetSize, Delegate)]
#[delegate(BufferAccounts, target = "pools")]
pub struct StaticThreshold {
    pools: Pools,
    xoff: u64,
    xon: u64,
}

impl StaticThreshold {
    /// Returns the static threshold for the switch at `site`.
    pub fn new(config: &StaticConfig, site: &Site<'_>) -> StaticThreshold {
        StaticThreshold {
            pools: Pools::new(site, 0, &per_port(config.headroom, site)),
            xoff: config.xoff.get(),
            xon: config.xon(site),
        }
    }

    /// Returns the pressure of a class whose queue has this usage. Queues have no private bytes.
    #[inline(always)]
    fn pressure_of(&self, PoolUsage { shared, headroom }: PoolUsage, class: Class) -> Pressure {
        if !self.pools.is_lossless(class) {
            return Pressure::default();
        }
        let is_full = headroom > 0 || shared >= self.xoff.max(1);
        Pressure::of_class(class, is_full, !is_full && shared <= self.xon)
    }
}

impl BufferPolicy for StaticThreshold {
    #[inline(always)]
    fn admit(&mut self, packet: &PacketContext<'_>, _now: Time) -> Admission {
        let threshold = if self.pools.is_lossless(packet.ingress_class()) { self.xoff } else { u64::MAX };
        match self.pools.admit(packet, |_| threshold) {
            Ok(held) => Admission::Charged(self.pressure_of(held, packet.ingress_class())),
            Err(cause) => Admission::Refused(cause),
        }
    }

    #[inline(always)]
    fn release(&mut self, packet: &PacketContext<'_>, _now: Time) {
        self.pools.release(packet);
    }

    fn pressure(&self, ingress: PortIx, class: Class) -> Pressure {
        self.pressure_of(self.pools.beyond_private(ingress, class), class)
    }

    fn threshold(&self, _ingress: PortIx, class: Class) -> Option<u64> {
        self.pools.is_lossless(class).then_some(self.xoff.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::report::DropCause;
    use crate::ids::{ClassMask, NodeId};
    use crate::mechanisms::headroom::HeadroomConfig;
    use crate::testing::{admit, fabric, hpcc_frames, packet, star};

    const CLASS: Class = Class(3);

    #[test]
    fn full_at_xoff_and_resumed_at_xon() {
        let fabric = fabric(star(2));
        let config = StaticConfig { xoff: Bytes(3000), xon: Some(Bytes(1000)), headroom: Some(Bytes(2000)) };
        let mut policy = StaticThreshold::new(&config, &fabric.site(NodeId(2)));
        let (full, below_xon) = (ClassMask::of(CLASS), ClassMask::of(CLASS));
        let told = |policy: &StaticThreshold| {
            let pressure = policy.pressure(PortIx(0), CLASS);
            (pressure.full == full, pressure.below_xon == below_xon)
        };
        assert_eq!(told(&policy), (false, true));
        let mut seen = Vec::new();
        for _ in 0..5 {
            assert_eq!(admit(&mut policy, 0, CLASS, 1000, Time::ZERO), Ok(()));
            seen.push(told(&policy));
        }
        assert_eq!(seen, [(false, true), (false, false), (true, false), (true, false), (true, false)]);
        assert_eq!(policy.occupancy(), Occupancy { used: 5000, shared: 3000, headroom: 2000, peak: 5000 });
        assert_eq!(admit(&mut policy, 0, CLASS, 1, Time::ZERO), Err(DropCause::Headroom));
        seen.clear();
        for _ in 0..5 {
            policy.release(&packet(0, CLASS, 1000), Time::ZERO);
            seen.push(told(&policy));
        }
        assert_eq!(seen, [(true, false), (true, false), (false, false), (false, true), (false, true)]);
    }

    /// The default XON is two full frames of 1000 B below `xoff`, and never below zero.
    #[test]
    fn xon_is_two_frames_below_xoff_by_default() {
        let fabric = fabric(hpcc_frames(star(2)));
        let xon = |xoff| {
            let config = StaticConfig { xoff: Bytes(xoff), ..Default::default() };
            StaticThreshold::new(&config, &fabric.site(NodeId(2))).xon
        };
        assert_eq!((xon(256_000), xon(1500)), (254_000, 0));
    }

    /// Lossy classes have no threshold and no headroom, and their upstream is never notified.
    #[test]
    fn a_lossy_class_uses_free_bytes_and_is_dropped_without() {
        let mut spec = star(2);
        let config = StaticConfig { headroom: Some(Bytes(10_000)), ..Default::default() };
        spec.switch.buffer = Bytes(20_000 + 5000);
        spec.switch.headroom = HeadroomConfig::Static(config.clone());
        let fabric = fabric(spec);
        let mut policy = StaticThreshold::new(&config, &fabric.site(NodeId(2)));
        for _ in 0..5 {
            assert_eq!(admit(&mut policy, 0, Class(1), 1000, Time::ZERO), Ok(()));
            assert_eq!(policy.pressure(PortIx(0), Class(1)), Pressure::default());
        }
        assert_eq!(admit(&mut policy, 0, Class(1), 1, Time::ZERO), Err(DropCause::BufferFull));
        // A lossless packet that finds the pool empty is charged to headroom, and its upstream is
        // notified.
        assert_eq!(admit(&mut policy, 1, CLASS, 1000, Time::ZERO), Ok(()));
        assert_eq!(policy.pressure(PortIx(1), CLASS).full, ClassMask::of(CLASS));
    }
}
