//! SIH, static and independent headroom: what switch chips do, and the baseline of DSH (DSH section II).

use super::pools::{Pools, reserved};
use super::worst_case;
use crate::ids::{Class, ClassMask, PortIx};
use crate::note::DropCause;
use crate::slots::{BufferPolicy, Occupancy, Pressure, Site};
use backwater_engine::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of SIH.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SihConfig {
    /// Share of the free shared pool that one ingress queue may take: T = alpha (B_s - used). Default 1/16 (DSH section V-A).
    #[schemars(range(min = 0.0, max = 64.0))]
    pub alpha: f64,
    /// If set, alpha holds for ports of this rate and grows in proportion to a port's rate (the rule of the HPCC simulator).
    pub alpha_rate: Option<Rate>,
    /// Private bytes of every lossless (ingress port, class). Default 3 KB (DSH section V-A).
    pub private: Bytes,
    /// Headroom of every lossless (ingress port, class). Default: Equation 1 of DSH, 2 (C D + MTU) + 3840 B, for that port's link; more
    /// where frames or response times are so long that it would not do.
    pub headroom: Option<Bytes>,
    /// A paused queue resumes this far below its threshold. Default: two full frames (DCQCN, DSH section IV-B).
    pub resume_offset: Option<Bytes>,
}

impl Default for SihConfig {
    fn default() -> Self {
        SihConfig { alpha: 0.0625, alpha_rate: None, private: Bytes(3000), headroom: None, resume_offset: None }
    }
}

impl SihConfig {
    /// Bytes set aside at `site`.
    pub fn reserved(&self, site: &Site<'_>) -> u64 {
        reserved(site, self.private.get(), &self.headrooms(site))
    }

    fn headrooms(&self, site: &Site<'_>) -> Vec<u64> {
        let of = |port| self.headroom.map_or_else(|| worst_case(site, port), Bytes::get);
        site.ports.iter().map(of).collect()
    }
}

/// SIH at one switch.
#[derive(Debug)]
pub struct Sih {
    pools: Pools,
    /// Alpha of each port, in units of 2^-16.
    alpha: Vec<u64>,
    resume_offset: u64,
}

const ALPHA_BITS: u32 = 16;

impl Sih {
    /// SIH for the switch at `site`.
    pub fn new(config: &SihConfig, site: &Site<'_>) -> Sih {
        let scale = |rate: Rate| config.alpha_rate.map_or(1.0, |at| rate.bps() as f64 / at.bps() as f64);
        let alpha = |rate| (config.alpha * scale(rate) * f64::from(1 << ALPHA_BITS)).round() as u64;
        Sih {
            pools: Pools::new(site, config.private.get(), config.headrooms(site)),
            alpha: site.ports.iter().map(|port| alpha(port.rate)).collect(),
            resume_offset: config.resume_offset.map_or(2 * site.largest_frame, Bytes::get),
        }
    }

    /// T(t) = alpha (B_s - used) (DSH Equation 2).
    fn threshold(&self, ingress: PortIx) -> u64 {
        ((u128::from(self.pools.free_shared()) * u128::from(self.alpha[usize::from(ingress)])) >> ALPHA_BITS) as u64
    }
}

impl BufferPolicy for Sih {
    fn admit(&mut self, ingress: PortIx, class: Class, bytes: u64, _now: Time) -> Result<(), DropCause> {
        self.pools.admit(ingress, class, bytes, self.threshold(ingress))
    }

    fn release(&mut self, ingress: PortIx, class: Class, bytes: u64, _now: Time) {
        self.pools.release(ingress, class, bytes);
    }

    fn pressure(&self, ingress: PortIx, class: Class) -> Pressure {
        if !self.pools.is_lossless(class) {
            return Pressure::default();
        }
        let (shared, headroom) = (self.pools.shared(ingress, class), self.pools.headroom(ingress, class));
        let threshold = self.threshold(ingress);
        let is_full = headroom > 0 || (shared > 0 && shared >= threshold);
        let is_eased = !is_full && (shared == 0 || shared + self.resume_offset <= threshold);
        let class = |it_is| if it_is { ClassMask::of(class) } else { ClassMask::NONE };
        Pressure { full: class(is_full), eased: class(is_eased) }
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
