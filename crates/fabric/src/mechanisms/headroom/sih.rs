//! SIH, static and independent headroom: what switch chips do, and the baseline of DSH (DSH section II).

use super::options::{in_force, offset, per_port, resume_offset};
use super::pools::{Held, Pools, reserved};
use super::threshold::{self, DynamicThreshold};
use crate::contract::{
    Admission, Beside, BufferAccounts, BufferPolicy, Findings, Footprint, HeadroomFacts, HeadroomOptions, Occupancy,
    Options, Passage, PortFacts, Pressure, Site,
};
use crate::ids::{Class, PortIx};
use backwater_engine::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Static and independent headroom: worst-case headroom for every lossless ingress queue, the rest shared by a dynamic threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SihConfig {
    /// Share of the free shared pool that one ingress queue may take: T = alpha (B_s - used). Default 1/16 (DSH section V-A).
    #[schemars(range(min = 0.0, max = 64.0))]
    pub alpha: f64,
    /// If set, alpha holds for ports of this rate and grows in proportion to a port's rate (the rule of the HPCC simulator). Default: none.
    pub alpha_rate: Option<Rate>,
    /// Private bytes of every lossless (ingress port, class). Default 3 KB (DSH section V-A).
    pub private: Bytes,
    /// Headroom of every lossless (ingress port, class). Default: Equation 1 of DSH, 2 (C D + MTU) + 3840 B, for that port's link; more
    /// where frames or response times are so long that it would not do.
    pub headroom: Option<Bytes>,
    /// A paused queue resumes this far below its threshold. Default: two full frames (DCQCN, DSH section IV-E).
    pub resume_offset: Option<Bytes>,
}

impl Default for SihConfig {
    fn default() -> Self {
        SihConfig { alpha: 0.0625, alpha_rate: None, private: Bytes(3000), headroom: None, resume_offset: None }
    }
}

impl Options for SihConfig {
    fn check(&self, _beside: &Beside<'_>, findings: &mut Findings) {
        findings.positive(self.alpha_rate, "alpha_rate");
    }
}

impl HeadroomOptions for SihConfig {
    type Instance = Sih;

    fn facts(&self) -> HeadroomFacts {
        HeadroomFacts { is_lossless: true, looks_at_ports: false, bounds_ingress: false, has_thresholds: true }
    }

    fn reserved(&self, site: &Site<'_>) -> u64 {
        reserved(site, self.private.get(), &per_port(self.headroom, site))
    }

    fn build(&self, site: &Site<'_>) -> Sih {
        let pools = Pools::new(site, self.private.get(), &per_port(self.headroom, site));
        Sih::new(pools, DynamicThreshold::new(self.alpha, self.alpha_rate, site), self.resume_offset, site)
    }

    fn in_force(&self, site: &Site<'_>) -> Vec<(&'static str, Vec<Value>)> {
        let alpha = |port: &PortFacts| json!(threshold::alpha(self.alpha, self.alpha_rate, port));
        let alpha = ("alpha", site.ports.iter().map(alpha).collect());
        vec![
            alpha,
            in_force("headroom", per_port(self.headroom, site)),
            offset("resume_offset", self.resume_offset, site),
        ]
    }
}

/// SIH at one switch, and its kin that only reserve another amount: private, shared up to a dynamic threshold, headroom.
#[derive(Debug)]
pub struct Sih {
    pools: Pools,
    threshold: DynamicThreshold,
    resume_offset: u64,
}

impl Sih {
    /// The policy over `pools`; a queue resumes `offset` below its threshold.
    pub(super) fn new(pools: Pools, threshold: DynamicThreshold, offset: Option<Bytes>, site: &Site<'_>) -> Sih {
        Sih { pools, threshold, resume_offset: resume_offset(offset, site) }
    }

    /// T(t) of the queues of `ingress`.
    fn shared_threshold(&self, ingress: PortIx) -> u64 {
        self.threshold.of(ingress, self.pools.free_shared())
    }

    /// Whether the queue of a class is full or eased that has these bytes.
    #[inline(always)]
    fn pressure_of(&self, Held { shared, headroom }: Held, ingress: PortIx, class: Class) -> Pressure {
        if !self.pools.is_lossless(class) {
            return Pressure::default();
        }
        // Spares most packets the threshold; what follows would say the same.
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
    #[inline]
    fn admit(&mut self, arrival: &Passage, _now: Time) -> Admission {
        match self.pools.admit(arrival, |free| self.threshold.of(arrival.ingress, free)) {
            Ok(held) => Admission::Charged(self.pressure_of(held, arrival.ingress, arrival.came)),
            Err(cause) => Admission::Refused(cause),
        }
    }

    fn release(&mut self, departure: &Passage, _now: Time) {
        self.pools.release(departure);
    }

    #[inline]
    fn pressure(&self, ingress: PortIx, class: Class) -> Pressure {
        self.pressure_of(self.pools.beyond_private(ingress, class), ingress, class)
    }

    fn threshold(&self, ingress: PortIx, class: Class) -> Option<u64> {
        self.pools.is_lossless(class).then(|| self.pools.private() + self.shared_threshold(ingress).max(1))
    }

    fn prefetch(&self, ingress: PortIx, class: Class) {
        self.pools.prefetch(ingress, class);
    }
}

impl Footprint for Sih {
    fn heap_bytes(&self) -> u64 {
        self.pools.heap_bytes() + self.threshold.heap_bytes()
    }
}

impl BufferAccounts for Sih {
    fn occupancy(&self) -> Occupancy {
        self.pools.occupancy()
    }

    fn held(&self, ingress: PortIx, class: Class) -> u64 {
        self.pools.held(ingress, class)
    }

    fn headroom(&self, ingress: PortIx, class: Class) -> u64 {
        self.pools.headroom(ingress, class)
    }

    fn peak_headroom(&self, ingress: PortIx, class: Class) -> u64 {
        self.pools.peak_headroom(ingress, class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::note::DropCause;
    use crate::ids::{ClassMask, NodeId};
    use crate::mechanisms::headroom::HeadroomConfig;
    use crate::network::fabric::Fabric;
    use crate::testing::{admit, fabric, passage, star};

    /// The switch of DSH's evaluation: 16 MiB, 32 ports of 100 Gb/s, seven lossless classes, 60,000 B of headroom and 3,000 B private each.
    fn evaluation() -> (Fabric, SihConfig) {
        let mut spec = star(32);
        spec.switch.lossless = (1..8).map(Class).collect();
        (fabric(spec), SihConfig { headroom: Some(Bytes(60_000)), resume_offset: Some(Bytes(0)), ..Default::default() })
    }

    const CLASS: Class = Class(3);

    #[test]
    fn the_first_threshold_of_the_evaluation_is_167_kb() {
        let (fabric, config) = evaluation();
        let site = fabric.site(NodeId(32));
        // 13.44 MB of headroom and 672 KB private leave 2.67 MB to share.
        assert_eq!(config.reserved(&site), 13_440_000 + 672_000);
        let sih = config.build(&site);
        assert_eq!(sih.pools.free_shared(), 2_665_216);
        assert_eq!(sih.shared_threshold(0), 166_576);
    }

    /// A single queue ends at alpha B_s / (1 + alpha) = 156,777 B, and eases as soon as it is below that.
    #[test]
    fn one_queue_fills_up_to_the_fixed_point_of_its_threshold() {
        let (fabric, config) = evaluation();
        let mut sih = config.build(&fabric.site(NodeId(32)));
        let (full, eased) = (ClassMask::of(CLASS), ClassMask::NONE);
        let mut packets = 0;
        while sih.pressure(0, CLASS).full.is_empty() {
            assert_eq!(admit(&mut sih, 0, CLASS, 1000, Time::ZERO), Ok(()));
            packets += 1;
        }
        // 3 private, 156 shared, and the one that crossed the threshold, wholly in headroom.
        assert_eq!(packets, 3 + 156 + 1);
        assert_eq!(sih.occupancy(), Occupancy { used: 160_000, shared: 156_000, headroom: 1000, peak: 160_000 });
        assert_eq!(sih.pressure(0, CLASS), Pressure { full, eased, ..Default::default() });
        // No other queue's pressure changes.
        assert_eq!(sih.pressure(0, Class(4)), Pressure::of_class(Class(4), false, true));
        assert_eq!(sih.pressure(1, CLASS), Pressure::of_class(CLASS, false, true));
        sih.release(&passage(0, CLASS, 1000), Time::ZERO);
        assert_eq!(sih.occupancy().headroom, 0);
        assert_eq!(sih.pressure(0, CLASS), Pressure::of_class(CLASS, false, true));
    }

    #[test]
    fn a_queue_eases_below_its_threshold_by_the_offset() {
        let (fabric, config) = evaluation();
        let config = SihConfig { resume_offset: Some(Bytes(2000)), ..config };
        let mut sih = config.build(&fabric.site(NodeId(32)));
        while sih.pressure(0, CLASS).full.is_empty() {
            assert_eq!(admit(&mut sih, 0, CLASS, 1000, Time::ZERO), Ok(()));
        }
        // 156,000 against a threshold of 156,826; 155,000 against 156,888; 154,000 against 156,951: only the last is 2,000 below.
        let mut eased = Vec::new();
        for _ in 0..3 {
            sih.release(&passage(0, CLASS, 1000), Time::ZERO);
            eased.push(!sih.pressure(0, CLASS).eased.is_empty());
        }
        assert_eq!(eased, [false, false, true]);
    }

    /// Alpha 1 and 10,000 B to share: T = 10,000 - x.
    #[test]
    fn a_queue_is_full_at_its_threshold_and_eased_at_the_offset_below_it() {
        let (headroom, resume_offset) = (Some(Bytes(5000)), Some(Bytes(2000)));
        let config = SihConfig { alpha: 1.0, private: Bytes(0), headroom, resume_offset, ..Default::default() };
        let mut spec = star(2);
        spec.switch.headroom = HeadroomConfig::Sih(config.clone());
        spec.switch.buffer = Bytes(10_000 + 2 * 5000);
        let fabric = fabric(spec);
        let mut sih = config.build(&fabric.site(NodeId(2)));
        // At 4,000 B it is 2,000 B below T, and at 5,000 B it has reached it.
        for (bytes, full, eased) in
            [(1000, false, true), (2000, false, true), (3000, false, true), (4000, false, true), (5000, true, false)]
        {
            assert_eq!(admit(&mut sih, 0, CLASS, 1000, Time::ZERO), Ok(()));
            assert_eq!(sih.pressure(0, CLASS), Pressure::of_class(CLASS, full, eased), "{bytes} B");
        }
        assert_eq!(admit(&mut sih, 0, CLASS, 1, Time::ZERO), Ok(()));
        assert_eq!(sih.occupancy().headroom, 1, "T has no room for another byte");
        sih.release(&passage(0, CLASS, 1000), Time::ZERO);
        // 4,001 B, and T is 5,999: not far enough below.
        assert_eq!(sih.pressure(0, CLASS), Pressure::default());
    }

    /// When others have taken the pool, the threshold is nothing: private bytes alone do not make a queue full.
    #[test]
    fn a_queue_within_its_private_bytes_is_eased_whatever_the_threshold() {
        let (fabric, config) = evaluation();
        let mut sih = SihConfig { alpha: 0.0, ..config }.build(&fabric.site(NodeId(32)));
        assert_eq!(admit(&mut sih, 0, CLASS, 3000, Time::ZERO), Ok(()));
        assert_eq!(sih.pressure(0, CLASS).eased, ClassMask::of(CLASS));
        assert_eq!(admit(&mut sih, 0, CLASS, 64, Time::ZERO), Ok(()));
        assert_eq!(sih.pressure(0, CLASS).full, ClassMask::of(CLASS));
        assert_eq!(sih.occupancy(), Occupancy { used: 3064, shared: 0, headroom: 64, peak: 3064 });
        // Headroom is drained first.
        sih.release(&passage(0, CLASS, 1000), Time::ZERO);
        assert_eq!(sih.occupancy(), Occupancy { used: 2064, shared: 0, headroom: 0, peak: 3064 });
        assert_eq!(sih.pressure(0, CLASS).eased, ClassMask::of(CLASS));
    }

    #[test]
    fn headroom_ends_at_its_size() {
        let (fabric, config) = evaluation();
        let mut sih = SihConfig { alpha: 0.0, ..config }.build(&fabric.site(NodeId(32)));
        assert_eq!(admit(&mut sih, 0, CLASS, 3000, Time::ZERO), Ok(()));
        for _ in 0..60 {
            assert_eq!(admit(&mut sih, 0, CLASS, 1000, Time::ZERO), Ok(()));
        }
        assert_eq!(admit(&mut sih, 0, CLASS, 1, Time::ZERO), Err(DropCause::Headroom));
        assert_eq!(sih.peak_headroom(0, CLASS), 60_000);
    }

    /// HPCC's simulator: alpha 1/8 at 100 Gb/s is 1/2 at 400.
    #[test]
    fn alpha_grows_with_the_rate_of_the_port_if_asked_to() {
        let mut spec = star(2);
        spec.links[1].rate = Rate::from_gbps(400);
        let fabric = fabric(spec);
        let config = SihConfig { alpha: 0.125, alpha_rate: Some(Rate::from_gbps(100)), ..Default::default() };
        let sih = config.build(&fabric.site(NodeId(2)));
        let shared = sih.pools.free_shared();
        assert_eq!((sih.shared_threshold(0), sih.shared_threshold(1)), (shared / 8, shared / 2));
    }
}
