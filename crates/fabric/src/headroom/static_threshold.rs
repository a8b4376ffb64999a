//! Static threshold: every lossless ingress queue is paused at a fixed length.

use super::pools::{Pools, reserved};
use super::worst_case;
use crate::ids::{Class, ClassMask, PortIx};
use crate::note::DropCause;
use crate::slots::{BufferPolicy, Occupancy, Pressure, Site};
use backwater_engine::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of the static threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StaticConfig {
    /// Length of an ingress queue at which its upstream is paused. Default 256 KB (FLB section 5, PCN).
    pub xoff: Bytes,
    /// Length below which it is resumed. Default: two full frames below `xoff`.
    pub xon: Option<Bytes>,
    /// Headroom of every lossless (ingress port, class). Default: Equation 1 of DSH for that port's link; more where frames or response
    /// times are so long that it would not do.
    pub headroom: Option<Bytes>,
}

impl Default for StaticConfig {
    fn default() -> Self {
        StaticConfig { xoff: Bytes(256_000), xon: None, headroom: None }
    }
}

impl StaticConfig {
    /// Bytes set aside at `site`.
    pub fn reserved(&self, site: &Site<'_>) -> u64 {
        reserved(site, 0, &self.headrooms(site))
    }

    fn headrooms(&self, site: &Site<'_>) -> Vec<u64> {
        let of = |port| self.headroom.map_or_else(|| worst_case(site, port), Bytes::get);
        site.ports.iter().map(of).collect()
    }
}

/// The static threshold at one switch.
#[derive(Debug)]
pub struct StaticThreshold {
    pools: Pools,
    xoff: u64,
    xon: u64,
}

impl StaticThreshold {
    /// The static threshold for the switch at `site`.
    pub fn new(config: &StaticConfig, site: &Site<'_>) -> StaticThreshold {
        let xoff = config.xoff.get();
        StaticThreshold {
            pools: Pools::new(site, 0, config.headrooms(site)),
            xoff,
            xon: config.xon.map_or(xoff.saturating_sub(2 * site.largest_frame), Bytes::get),
        }
    }
}

impl BufferPolicy for StaticThreshold {
    fn admit(&mut self, ingress: PortIx, class: Class, bytes: u64, _now: Time) -> Result<(), DropCause> {
        let threshold = if self.pools.is_lossless(class) { self.xoff } else { u64::MAX };
        self.pools.admit(ingress, class, bytes, threshold)
    }

    fn release(&mut self, ingress: PortIx, class: Class, bytes: u64, _now: Time) {
        self.pools.release(ingress, class, bytes);
    }

    fn pressure(&self, ingress: PortIx, class: Class) -> Pressure {
        if !self.pools.is_lossless(class) {
            return Pressure::default();
        }
        let held = self.pools.held(ingress, class);
        let is_full = held >= self.xoff.max(1) || self.pools.headroom(ingress, class) > 0;
        let class = ClassMask::of(class);
        Pressure {
            full: if is_full { class } else { ClassMask::NONE },
            eased: if !is_full && held <= self.xon { class } else { ClassMask::NONE },
        }
    }

    fn occupancy(&self) -> Occupancy {
        self.pools.occupancy()
    }

    fn held(&self, ingress: PortIx, class: Class) -> u64 {
        self.pools.held(ingress, class)
    }

    fn peak_headroom(&self, ingress: PortIx, class: Class) -> u64 {
        self.pools.peak_headroom(ingress, class)
    }
}
