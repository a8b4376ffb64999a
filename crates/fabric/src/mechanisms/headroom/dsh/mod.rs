//! DSH, dynamic and shared headroom (Shan et al., IEEE Transactions on Networking 2025).
//!
//! Worst-case headroom is set aside once per port, as *insurance*. Everything else beyond private bytes is one pool, shared by what other schemes
//! keep apart: footroom, and the headroom of the queues. A queue is paused early enough to leave it the headroom that it will probably need;
//! a port as a whole when its queues together have used up what they may, so that what is on the wire then fits into the insurance.

mod gradient;

pub use gradient::EstimatorKind;

use super::options::{in_force, offset, per_port, resume_offset};
use super::pools::{of_all_ports, private_bytes};
use super::threshold::DynamicThreshold;
use crate::contract::note::DropCause;
use crate::contract::{
    Admission, Beside, BufferAccounts, BufferPolicy, Findings, Footprint, HeadroomFacts, HeadroomOptions, Occupancy,
    Options, Passage, PortFacts, PortPressure, Pressure, Site,
};
use crate::ids::{CLASSES, Class, ClassMask, PortIx};
use backwater_engine::memory::HeapBytes;
use backwater_engine::prefetch::prefetch;
use backwater_engine::{Bytes, Duration, Time};
use gradient::{Averages, Estimator, Reach};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Dynamic and shared headroom: worst-case headroom per port, everything else shared, flow control of queues and of ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DshConfig {
    /// Share of the free shared pool that one ingress queue may take: T = alpha (B_s - used). Default 1/16 (DSH section V-A).
    #[schemars(range(min = 0.0, max = 64.0))]
    pub alpha: f64,
    /// Private bytes of every lossless (ingress port, class). Default 3 KB (DSH section V-A).
    pub private: Bytes,
    /// Worst-case headroom of a port, set aside as its insurance; also the most that a queue can be taken to need. Default: Equation 1 of DSH,
    /// 2 (C D + MTU) + 3840 B, for that port's link; more where frames or response times are so long that it would not do.
    pub headroom: Option<Bytes>,
    /// A paused queue resumes this far below its threshold. Default: two full frames (DSH section IV-E; its evaluation has 0).
    pub queue_resume_offset: Option<Bytes>,
    /// A paused port resumes this far below its threshold. Default: two full frames (DSH section IV-E; its evaluation has 0).
    pub port_resume_offset: Option<Bytes>,
    /// How the headroom is estimated that a queue will need. Default `exact`.
    pub estimator: EstimatorKind,
    /// Weight of the newest gradient in their average, w_g. Default 0.25 (DSH section V-A).
    #[schemars(range(min = 0.0001, max = 1.0))]
    pub gradient_weight: f64,
    /// Weight of the newest deviation in their average, w_v. Default 0.25 (DSH section V-A).
    #[schemars(range(min = 0.0001, max = 1.0))]
    pub deviation_weight: f64,
    /// How many mean deviations are added to the gradient, k. Default 4 (DSH section V-A).
    #[schemars(range(min = 0.0, max = 1024.0))]
    pub deviation_factor: f64,
    /// When a port has received a single class for longer than this, its queue needs no shared headroom: it has the insurance for itself.
    /// Default 10 ms (DSH section IV-D).
    pub window: Duration,
    /// Whether there is insurance. Without it packets may be dropped (the ablation of DSH Figure 21).
    pub insurance: bool,
    /// Whether queues get headroom from the shared pool. Without it a queue ends at its threshold, and what comes then takes the insurance
    /// and pauses the port (the ablation of DSH Figures 15 and 25).
    pub shared_headroom: bool,
}

impl Default for DshConfig {
    fn default() -> Self {
        DshConfig {
            alpha: 0.0625,
            private: Bytes(3000),
            headroom: None,
            queue_resume_offset: None,
            port_resume_offset: None,
            estimator: EstimatorKind::Exact,
            gradient_weight: 0.25,
            deviation_weight: 0.25,
            deviation_factor: 4.0,
            window: Duration::from_ms(10),
            insurance: true,
            shared_headroom: true,
        }
    }
}

impl Options for DshConfig {
    fn check(&self, beside: &Beside<'_>, findings: &mut Findings) {
        let (name, flow_control) = &beside.flow_control;
        findings.warning(
            !flow_control.pauses_ports() && !beside.lossless.is_empty(),
            "",
            format!("dsh needs a flow control that pauses queues and ports of the neighbour, as PFC does; \"{name}\" does not"),
        );
        let weights = [
            ("gradient_weight", self.gradient_weight, self.gradient_weight <= 1.0, "1 or less"),
            ("deviation_weight", self.deviation_weight, self.deviation_weight <= 1.0, "1 or less"),
            ("deviation_factor", self.deviation_factor, self.deviation_factor >= 1.0, "1 or more"),
        ];
        for (key, weight, in_range, bound) in weights {
            let is_power = weight.log2().fract() == 0.0;
            findings.error(
                self.estimator == EstimatorKind::Hardware && !(in_range && is_power),
                key,
                format!("must be a power of two, {bound}: the hardware estimator has shifts, not products"),
            );
        }
    }
}

impl HeadroomOptions for DshConfig {
    type Instance = Dsh;

    fn facts(&self) -> HeadroomFacts {
        HeadroomFacts { is_lossless: self.insurance, looks_at_ports: true, bounds_ingress: false, has_thresholds: true }
    }

    /// Private bytes, and the insurance (DSH Equation 9).
    fn reserved(&self, site: &Site<'_>) -> u64 {
        private_bytes(site, self.private.get()) + of_all_ports(site, &self.insurance(site))
    }

    fn build(&self, site: &Site<'_>) -> Dsh {
        Dsh::new(self, site)
    }

    fn in_force(&self, site: &Site<'_>) -> Vec<(&'static str, Vec<Value>)> {
        vec![
            in_force("headroom", per_port(self.headroom, site)),
            offset("queue_resume_offset", self.queue_resume_offset, site),
            offset("port_resume_offset", self.port_resume_offset, site),
        ]
    }
}

impl DshConfig {
    /// The insurance of every port.
    fn insurance(&self, site: &Site<'_>) -> Vec<u64> {
        if self.insurance { per_port(self.headroom, site) } else { vec![0; site.ports.len()] }
    }
}

/// DSH at one switch.
#[derive(Debug)]
#[repr(C)]
pub struct Dsh {
    used: Occupancy,
    shared_size: u64,
    threshold: DynamicThreshold,
    /// Private bytes of every lossless ingress queue.
    private: u64,
    lossless: ClassMask,
    shared_headroom: bool,
    queue_offset: u64,
    port_offset: u64,
    /// The number of lossless queues of a port, N_q.
    queues_per_port: u64,
    window: Duration,
    estimator: Estimator,
    ports: Vec<IngressPort>,
    queues: Vec<[IngressQueue; CLASSES]>,
}

/// What is counted for an ingress port as a whole, over its lossless queues.
#[derive(Debug)]
struct IngressPort {
    /// Bytes in the shared pool.
    shared: u64,
    /// Bytes in its insurance.
    insurance: u64,
    /// The size of that.
    insurance_size: u64,
    peak_insurance: u64,
    reach: Reach,
    /// The class of the last packet that came, and since when there has been no other.
    class: Class,
    since: Time,
    /// Whether that is longer than the window.
    is_single: bool,
}

/// What is counted for an ingress queue.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct IngressQueue {
    /// Bytes in all pools: private first, then those of the port.
    held: u64,
    /// The same when the last packet came, and when that was.
    seen: u64,
    at: Time,
    averages: Averages,
    /// The headroom that it will probably need.
    need: u64,
}

impl Dsh {
    /// DSH for the switch at `site`.
    pub fn new(config: &DshConfig, site: &Site<'_>) -> Dsh {
        let estimator = Estimator::new(config);
        let headroom = per_port(config.headroom, site);
        let port = |((facts, most), insurance_size): ((&PortFacts, &u64), u64)| IngressPort {
            shared: 0,
            insurance: 0,
            insurance_size,
            peak_insurance: 0,
            reach: Reach::new(*most, facts.rate),
            class: Class::CONTROL,
            since: Time::ZERO,
            is_single: false,
        };
        let queue = IngressQueue { held: 0, seen: 0, at: Time::ZERO, averages: estimator.start(), need: 0 };
        Dsh {
            used: Occupancy::default(),
            shared_size: site.buffer.saturating_sub(config.reserved(site)),
            threshold: DynamicThreshold::new(config.alpha, None, site),
            private: config.private.get(),
            lossless: site.lossless,
            shared_headroom: config.shared_headroom,
            queue_offset: resume_offset(config.queue_resume_offset, site),
            port_offset: resume_offset(config.port_resume_offset, site),
            queues_per_port: site.lossless_classes(),
            window: config.window,
            ports: site.ports.iter().zip(&headroom).zip(config.insurance(site)).map(port).collect(),
            queues: vec![[queue; CLASSES]; site.ports.len()],
            estimator,
        }
    }

    /// T(t) (DSH Equation 2), where what is used counts footroom and headroom alike.
    fn shared_threshold(&self, ingress: PortIx) -> u64 {
        self.threshold.of(ingress, self.shared_size - self.used.shared)
    }

    /// Bytes of a queue beyond its private ones.
    fn beyond_private(&self, ingress: PortIx, class: Class) -> u64 {
        self.queues[usize::from(ingress)][class.index()].held.saturating_sub(self.private)
    }

    /// A packet of `class` has come in and is held: what its queue will need (DSH Algorithm 2), and whether it has the port for itself
    /// (Algorithm 4).
    fn observe(&mut self, ingress: PortIx, class: Class, now: Time) {
        let port = &mut self.ports[usize::from(ingress)];
        if class != port.class {
            (port.class, port.since, port.is_single) = (class, now, false);
        } else if now - port.since > self.window {
            port.is_single = true;
        }
        let queue = &mut self.queues[usize::from(ingress)][class.index()];
        let (grown, elapsed) = (queue.held as i64 - queue.seen as i64, now - queue.at);
        if elapsed > Duration::ZERO {
            (queue.seen, queue.at) = (queue.held, now);
            queue.need = self.estimator.update(&mut queue.averages, grown, elapsed, &port.reach);
        }
    }

    /// Charges a packet of a class that has neither private bytes nor insurance.
    fn admit_lossy(&mut self, ingress: PortIx, class: Class, bytes: u64) -> Result<(), DropCause> {
        let (free, threshold) = (self.shared_size - self.used.shared, self.shared_threshold(ingress));
        let queue = &mut self.queues[usize::from(ingress)][class.index()];
        if queue.held + bytes > threshold || bytes > free {
            return Err(DropCause::BufferFull);
        }
        queue.held += bytes;
        self.used.shared += bytes;
        Ok(())
    }

    /// Charges a packet of a lossless class: private bytes while there are any, then the shared pool as long as the port is below its
    /// threshold, then the insurance.
    fn admit_lossless(&mut self, ingress: PortIx, class: Class, bytes: u64) -> Result<(), DropCause> {
        let (free, threshold) = (self.shared_size - self.used.shared, self.shared_threshold(ingress));
        let port = &mut self.ports[usize::from(ingress)];
        let queue = &mut self.queues[usize::from(ingress)][class.index()];
        let beyond = |held: u64| held.saturating_sub(self.private);
        let more = beyond(queue.held + bytes) - beyond(queue.held);
        let is_below = if self.shared_headroom {
            port.shared < self.queues_per_port * threshold
        } else {
            beyond(queue.held + bytes) <= threshold
        };
        if more == 0 || is_below && more <= free {
            port.shared += more;
            self.used.shared += more;
        } else if port.insurance + more <= port.insurance_size {
            port.insurance += more;
            port.peak_insurance = port.peak_insurance.max(port.insurance);
            self.used.headroom += more;
        } else {
            return Err(DropCause::Headroom);
        }
        queue.held += bytes;
        Ok(())
    }
}

impl BufferPolicy for Dsh {
    fn admit(&mut self, arrival: &Passage, now: Time) -> Admission {
        let (ingress, class, bytes) = (arrival.ingress, arrival.came, u64::from(arrival.bytes));
        let admitted = if self.lossless.has(class) {
            self.admit_lossless(ingress, class, bytes)
        } else {
            self.admit_lossy(ingress, class, bytes)
        };
        if let Err(cause) = admitted {
            return Admission::Refused(cause);
        }
        if self.lossless.has(class) {
            self.observe(ingress, class, now);
        }
        self.used.used += bytes;
        self.used.peak = self.used.peak.max(self.used.used);
        Admission::Charged(self.pressure(ingress, class))
    }

    /// Insurance first, whichever queue of the port it was for; then shared, then private.
    fn release(&mut self, departure: &Passage, _now: Time) {
        let (ingress, class, bytes) = (departure.ingress, departure.came, u64::from(departure.bytes));
        let queue = &mut self.queues[usize::from(ingress)][class.index()];
        let before = queue.held;
        queue.held -= bytes;
        self.used.used -= bytes;
        if self.lossless.has(class) {
            let less = before.saturating_sub(self.private) - queue.held.saturating_sub(self.private);
            let port = &mut self.ports[usize::from(ingress)];
            let from_insurance = less.min(port.insurance);
            port.insurance -= from_insurance;
            self.used.headroom -= from_insurance;
            port.shared -= less - from_insurance;
            self.used.shared -= less - from_insurance;
        } else {
            self.used.shared -= bytes;
        }
    }

    /// All queues of the port, since the threshold moves with what others do. A function of its own, since other policies would pay for its registers.
    #[inline(never)]
    fn pressure(&self, ingress: PortIx, _class: Class) -> Pressure {
        let port = &self.ports[usize::from(ingress)];
        let threshold = self.shared_threshold(ingress);
        // Spares most packets the rest, which would say the same.
        let margin = port.reach.most + self.queue_offset.max(self.port_offset);
        if port.insurance == 0 && port.shared + margin < threshold {
            return Pressure { full: ClassMask::NONE, eased: self.lossless, port: PortPressure::Eased };
        }
        let mut pressure = Pressure { port: self.port_pressure(port, threshold), ..Default::default() };
        for class in self.lossless.iter() {
            let shared = self.beyond_private(ingress, class);
            let limit = self.limit(ingress, class, threshold);
            if shared > limit {
                pressure.full = pressure.full.with(class);
            } else if shared == 0 || shared + self.queue_offset < limit {
                pressure.eased = pressure.eased.with(class);
            }
        }
        pressure
    }

    fn threshold(&self, ingress: PortIx, class: Class) -> Option<u64> {
        let limit = || self.limit(ingress, class, self.shared_threshold(ingress));
        self.lossless.has(class).then(|| self.private + limit() + 1)
    }

    fn prefetch(&self, ingress: PortIx, class: Class) {
        prefetch(&self.queues[usize::from(ingress)][class.index()]);
        prefetch(&self.ports[usize::from(ingress)]);
    }
}

impl Footprint for Dsh {
    fn heap_bytes(&self) -> u64 {
        self.ports.heap_bytes() + self.queues.heap_bytes() + self.threshold.heap_bytes()
    }
}

impl BufferAccounts for Dsh {
    fn occupancy(&self) -> Occupancy {
        self.used
    }

    fn held(&self, ingress: PortIx, class: Class) -> u64 {
        self.queues[usize::from(ingress)][class.index()].held
    }

    fn headroom(&self, ingress: PortIx, _class: Class) -> u64 {
        self.ports[usize::from(ingress)].insurance
    }

    fn peak_headroom(&self, ingress: PortIx, _class: Class) -> u64 {
        self.ports[usize::from(ingress)].peak_insurance
    }
}

impl Dsh {
    /// X_qoff (Equation 10), where the port's threshold is T(t).
    #[inline(always)]
    fn limit(&self, ingress: PortIx, class: Class, threshold: u64) -> u64 {
        let need = self.queues[usize::from(ingress)][class.index()].need;
        let is_single = self.ports[usize::from(ingress)].is_single;
        threshold.saturating_sub(if is_single || !self.shared_headroom { 0 } else { need })
    }

    /// X_poff (Equation 11): the port's queues together have used up what they may, or the insurance is in use.
    fn port_pressure(&self, port: &IngressPort, threshold: u64) -> PortPressure {
        let limit = self.queues_per_port * threshold;
        if port.insurance > 0 || port.shared > limit {
            PortPressure::Full
        } else if port.shared == 0 || port.shared + self.port_offset < limit {
            PortPressure::Eased
        } else {
            PortPressure::Between
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::need::{equation_1, worst_case};
    use crate::ids::NodeId;
    use crate::mechanisms::headroom::HeadroomConfig;
    use crate::mechanisms::headroom::sih::SihConfig;
    use crate::network::fabric::Fabric;
    use crate::testing::{admit, fabric, passage, star};
    use backwater_engine::Rate;

    /// The switch of DSH's evaluation: 16 MiB, 32 ports of 100 Gb/s, seven lossless classes, 60,000 B of headroom, 3,000 B private.
    fn evaluation() -> (Fabric, DshConfig) {
        let mut spec = star(32);
        spec.switch.lossless = (1..8).map(Class).collect();
        let none = Some(Bytes(0));
        let config = DshConfig {
            headroom: Some(Bytes(60_000)),
            queue_resume_offset: none,
            port_resume_offset: none,
            ..Default::default()
        };
        (fabric(spec), config)
    }

    /// A switch of two ports, with 5,000 B of headroom each, nothing private, and `pool` bytes to share.
    fn two_ports(config: DshConfig, pool: u64) -> Dsh {
        let config = DshConfig { private: Bytes(0), headroom: Some(Bytes(5000)), ..config };
        let mut spec = star(2);
        spec.switch.lossless = vec![CLASS];
        spec.switch.headroom = HeadroomConfig::Dsh(config.clone());
        spec.switch.buffer = Bytes(pool + 2 * 5000);
        Dsh::new(&config, &fabric(spec).site(NodeId(2)))
    }

    const SWITCH: NodeId = NodeId(32);
    const CLASS: Class = Class(3);

    /// A packet of 1000 B every 80 ns, which is the rate of the link.
    fn arrive(dsh: &mut Dsh, now: &mut Time, ingress: PortIx, class: Class) -> Result<(), DropCause> {
        *now += Duration::from_ns(80);
        admit(dsh, ingress, class, 1000, *now)
    }

    #[test]
    fn the_first_threshold_of_the_evaluation_is_887_kb() {
        let (fabric, config) = evaluation();
        let site = fabric.site(SWITCH);
        // 1.92 MB of insurance and 672 KB private leave 14.19 MB to share, where SIH leaves 2.67 MB.
        assert_eq!(config.reserved(&site), 1_920_000 + 672_000);
        let dsh = Dsh::new(&config, &site);
        assert_eq!(dsh.shared_size, 14_185_216);
        assert_eq!(dsh.shared_threshold(0), 886_576);
    }

    /// DSH section III-A: a Trident2 with 12 MiB and 32 ports of 40 Gb/s, 1.5 us and eight classes needs 5.33 MiB, 44.4 %, for SIH's headroom. And
    /// the evaluation's link, which it rounds to 60,000 B.
    #[test]
    fn equation_1_gives_the_figures_of_the_paper() {
        let mut spec = star(2);
        (spec.links[0].rate, spec.links[0].delay) = (Rate::from_gbps(40), Duration::from_ns(1500));
        spec.links[1].delay = Duration::from_us(2);
        let fabric = fabric(spec);
        let ports = fabric.site(NodeId(2)).ports;
        assert_eq!(equation_1(&ports[0], 1500), 21_840);
        let total = (32 * 8 * 21_840) as f64 / f64::from(1 << 20);
        assert_eq!(((total * 100.0).round(), (total / 12.0 * 1000.0).round()), (533.0, 444.0));
        assert_eq!(equation_1(&ports[1], 1500), 56_840);
    }

    /// DSH section IV-F: with a single class it sets aside what SIH does.
    #[test]
    fn with_one_class_the_reserve_is_that_of_sih() {
        let spec = star(32);
        assert_eq!(spec.switch.lossless.len(), 1);
        let fabric = fabric(spec);
        let site = fabric.site(SWITCH);
        assert_eq!(DshConfig::default().reserved(&site), SihConfig::default().reserved(&site));
        let insurance = DshConfig::default().insurance(&site);
        assert_eq!(insurance[0], worst_case(&site, &site.ports[0]));
    }

    /// A queue that grows at line rate needs all of the headroom: it is paused when it holds T - 60,000 B. No other queue is.
    #[test]
    fn a_queue_is_paused_below_its_threshold_by_what_it_will_need() {
        let (fabric, config) = evaluation();
        let (mut dsh, mut now) = (Dsh::new(&config, &fabric.site(SWITCH)), Time::ZERO);
        while dsh.pressure(0, CLASS).full.is_empty() {
            assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
        }
        // x beyond private bytes with x > (14,185,216 - x) / 16 - 60,000.
        assert_eq!(dsh.beyond_private(0, CLASS), 778_000);
        assert_eq!(dsh.pressure(0, CLASS).full, ClassMask::of(CLASS));
        assert_eq!(dsh.pressure(0, CLASS).port, PortPressure::Eased);
        assert_eq!(dsh.pressure(1, CLASS).full, ClassMask::NONE);
        // It may go on: T is no limit for a queue that has been paused, only for the port's queues together.
        for _ in 0..200 {
            assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
        }
        assert_eq!((dsh.occupancy().headroom, dsh.occupancy().shared), (0, 978_000));
        // It eases as soon as it is below: with no offset, at the very length.
        while dsh.pressure(0, CLASS).eased.minus(ClassMask::of(CLASS)) == dsh.pressure(0, CLASS).eased {
            dsh.release(&passage(0, CLASS, 1000), now);
        }
        assert_eq!(dsh.beyond_private(0, CLASS), 777_000);
    }

    /// The arrivals of `three_arrivals_by_hand` in `gradient`, two at one instant, of which the second teaches nothing about the rate.
    #[test]
    fn what_a_queue_needs_follows_from_how_it_grows() {
        let (fabric, config) = evaluation();
        let config = DshConfig { deviation_factor: 1.0, ..config };
        let (mut dsh, mut now) = (Dsh::new(&config, &fabric.site(SWITCH)), Time::ZERO);
        let need = |dsh: &Dsh| dsh.queues[0][CLASS.index()].need;
        assert_eq!((arrive(&mut dsh, &mut now, 0, CLASS), need(&dsh)), (Ok(()), 30_000));
        assert_eq!((admit(&mut dsh, 0, CLASS, 1000, now), need(&dsh)), (Ok(()), 30_000));
        dsh.release(&passage(0, CLASS, 2000), now);
        assert_eq!((arrive(&mut dsh, &mut now, 0, CLASS), need(&dsh)), (Ok(()), 26_250));
    }

    /// With offsets of 2000 B, a queue and a port go on 2000 B below their thresholds.
    #[test]
    fn queues_and_ports_ease_below_their_thresholds_by_the_offset() {
        let (fabric, config) = evaluation();
        let offset = Some(Bytes(2000));
        let config = DshConfig { queue_resume_offset: offset, port_resume_offset: offset, ..config };
        let (mut dsh, mut now) = (Dsh::new(&config, &fabric.site(SWITCH)), Time::ZERO);
        while dsh.pressure(0, CLASS).full.is_empty() {
            assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
        }
        let mut steps = Vec::new();
        while !dsh.pressure(0, CLASS).eased.has(CLASS) {
            dsh.release(&passage(0, CLASS, 1000), now);
            steps.push(dsh.pressure(0, CLASS).full.has(CLASS));
        }
        // 778,000 is above; 777,000 and 776,000 are not far enough below 778,013 and 778,076, of which T has changed by 63 each.
        assert_eq!((steps, dsh.beyond_private(0, CLASS)), (vec![false, false], 776_000));
    }

    /// One class, alpha 1, 10,000 B to share, no shared headroom: T = 10,000 - x, for the queue and for its port. At T neither is full any
    /// more, and neither is eased: each waits for its own offset.
    #[test]
    fn a_queue_and_its_port_are_full_above_t_and_each_eases_by_its_own_offset() {
        let config = DshConfig {
            alpha: 1.0,
            queue_resume_offset: Some(Bytes(0)),
            port_resume_offset: Some(Bytes(2000)),
            shared_headroom: false,
            ..Default::default()
        };
        let (mut dsh, mut now) = (two_ports(config, 10_000), Time::ZERO);
        let (none, class) = (ClassMask::NONE, ClassMask::of(CLASS));
        let told = |dsh: &Dsh| {
            let Pressure { full, eased, port } = dsh.pressure(0, CLASS);
            (full, eased, port)
        };
        for _ in 0..5 {
            assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
        }
        // 5,000 B, and T is 5,000.
        assert_eq!(told(&dsh), (none, none, PortPressure::Between));
        assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
        assert_eq!(dsh.occupancy().headroom, 1000);
        assert_eq!(told(&dsh), (class, none, PortPressure::Full));
        let mut after_one_less = || {
            dsh.release(&passage(0, CLASS, 1000), now);
            told(&dsh)
        };
        assert_eq!(after_one_less(), (none, none, PortPressure::Between));
        // 4,000 B are below T, which is 6,000, but not by more than 2,000.
        assert_eq!(after_one_less(), (none, class, PortPressure::Between));
        assert_eq!(after_one_less(), (none, class, PortPressure::Eased));
    }

    /// 7000 B to share and alpha 1: the first packet leaves T = 6000, and its queue needs all of the port's 5000 B, by which it is just not below T.
    #[test]
    fn a_queue_is_not_eased_at_its_threshold() {
        let none = Some(Bytes(0));
        let config =
            DshConfig { alpha: 1.0, queue_resume_offset: none, port_resume_offset: none, ..Default::default() };
        let (mut dsh, mut now) = (two_ports(config, 7000), Time::ZERO);
        assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
        assert_eq!((dsh.queues[0][CLASS.index()].need, dsh.shared_threshold(0)), (5000, 6000));
        assert_eq!(dsh.pressure(0, CLASS), Pressure { port: PortPressure::Eased, ..Default::default() });
    }

    /// With alpha 64 the pool, of 10,500 B, ends before the threshold does: a packet that is too large for what is left takes the insurance.
    #[test]
    fn a_packet_for_which_the_pool_has_no_room_takes_the_insurance() {
        let config = DshConfig { alpha: 64.0, ..Default::default() };
        let (mut dsh, mut now) = (two_ports(config, 10_500), Time::ZERO);
        for _ in 0..11 {
            assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
        }
        assert_eq!((dsh.occupancy().shared, dsh.occupancy().headroom), (10_000, 1000));
    }

    /// The pool, of 10,000 B, is used up by one port, so that the other takes its insurance. That makes it full until the insurance is given back,
    /// however much of the pool is free by then.
    #[test]
    fn a_port_is_full_while_its_insurance_is_in_use_though_the_pool_is_free_again() {
        let config = DshConfig { alpha: 64.0, ..Default::default() };
        let (mut dsh, mut now) = (two_ports(config, 10_000), Time::ZERO);
        for ingress in [0; 10].into_iter().chain([1]) {
            assert_eq!(arrive(&mut dsh, &mut now, ingress, CLASS), Ok(()));
        }
        assert_eq!((dsh.occupancy().shared, dsh.headroom(1, CLASS)), (10_000, 1000));
        (0..10).for_each(|_| dsh.release(&passage(0, CLASS, 1000), now));
        assert_eq!((dsh.occupancy().shared, dsh.pressure(1, CLASS).port), (0, PortPressure::Full));
        dsh.release(&passage(1, CLASS, 1000), now);
        assert_eq!(dsh.pressure(1, CLASS).port, PortPressure::Eased);
    }

    /// The window is over when more than 10 ms have passed since the first packet, which came after 80 ns.
    #[test]
    fn a_port_is_single_when_the_window_has_passed_and_not_before() {
        let (fabric, config) = evaluation();
        let (mut dsh, mut now) = (Dsh::new(&config, &fabric.site(SWITCH)), Time::ZERO);
        while dsh.pressure(0, CLASS).full.is_empty() {
            assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
        }
        let over = Time::ZERO + Duration::from_ns(80) + Duration::from_ms(10);
        for (at, is_full) in [(over, true), (over + Duration::from_ps(1), false)] {
            assert_eq!(admit(&mut dsh, 0, CLASS, 64, at), Ok(()));
            assert_eq!(dsh.pressure(0, CLASS).full.has(CLASS), is_full, "{at}");
        }
    }

    /// A single class for more than 10 ms: the insurance is all its own, and it is paused at T itself.
    #[test]
    fn a_class_that_has_the_port_for_itself_needs_no_shared_headroom() {
        let (fabric, config) = evaluation();
        let (mut dsh, mut now) = (Dsh::new(&config, &fabric.site(SWITCH)), Time::ZERO);
        let length_when_full = |dsh: &mut Dsh, now: &mut Time| {
            while dsh.pressure(0, CLASS).full.is_empty() {
                assert_eq!(arrive(dsh, now, 0, CLASS), Ok(()));
            }
            let length = dsh.beyond_private(0, CLASS);
            while dsh.held(0, CLASS) > 0 {
                dsh.release(&passage(0, CLASS, 1000), *now);
            }
            length
        };
        assert_eq!(length_when_full(&mut dsh, &mut now), 778_000);
        now += Duration::from_ms(10);
        // x > (14,185,216 - x) / 16.
        assert_eq!(length_when_full(&mut dsh, &mut now), 835_000);
        // Another class comes along: the window starts again.
        assert_eq!(arrive(&mut dsh, &mut now, 0, Class(4)), Ok(()));
        assert_eq!(length_when_full(&mut dsh, &mut now), 778_000);
    }

    /// Seven queues together: the port is paused at 7 T; from there on the insurance takes what comes, to the last byte.
    #[test]
    fn a_port_is_paused_when_its_queues_together_have_used_up_their_share() {
        let (fabric, config) = evaluation();
        let (mut dsh, mut now) = (Dsh::new(&config, &fabric.site(SWITCH)), Time::ZERO);
        let mut classes = (1..8).map(Class).cycle();
        while dsh.pressure(0, CLASS).port != PortPressure::Full {
            assert_eq!(arrive(&mut dsh, &mut now, 0, classes.next().unwrap()), Ok(()));
        }
        // x > 7 (14,185,216 - x) / 16.
        assert_eq!(dsh.occupancy(), Occupancy { used: 4_339_000, shared: 4_318_000, headroom: 0, peak: 4_339_000 });
        assert_eq!(dsh.pressure(0, CLASS).full, dsh.lossless, "all queues are full as well");
        let mut taken = 0;
        while arrive(&mut dsh, &mut now, 0, CLASS).is_ok() {
            taken += 1000;
        }
        assert_eq!((taken, dsh.occupancy().headroom, dsh.peak_headroom(0, CLASS)), (60_000, 60_000, 60_000));
        assert_eq!(admit(&mut dsh, 0, CLASS, 1, now), Err(DropCause::Headroom));
        // The other ports have theirs, and their share of the pool.
        assert_eq!(arrive(&mut dsh, &mut now, 1, CLASS), Ok(()));
        assert_eq!(dsh.pressure(1, CLASS).port, PortPressure::Eased);
        // Insurance is given back first, whichever queue a packet leaves; until then the port stays full.
        for left in (0..60).rev() {
            assert_eq!(dsh.pressure(0, CLASS).port, PortPressure::Full);
            dsh.release(&passage(0, Class(5), 1000), now);
            assert_eq!(dsh.occupancy().headroom, left * 1000);
        }
        // Now the packet that made it full must leave again.
        assert_eq!(dsh.pressure(0, CLASS).port, PortPressure::Full);
        dsh.release(&passage(0, Class(5), 1000), now);
        assert_eq!(dsh.pressure(0, CLASS).port, PortPressure::Eased);
    }

    /// When other ports have filled the pool, a port that sends its private bytes' worth more goes to its insurance, and is stopped.
    #[test]
    fn a_port_without_a_share_of_the_pool_lives_on_its_insurance() {
        let (fabric, config) = evaluation();
        let (mut dsh, mut now) = (Dsh::new(&DshConfig { alpha: 0.0, ..config }, &fabric.site(SWITCH)), Time::ZERO);
        for _ in 0..3 {
            assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
        }
        let told = dsh.pressure(0, CLASS);
        assert_eq!((told.port, told.full, told.eased), (PortPressure::Eased, ClassMask::NONE, dsh.lossless));
        assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
        assert_eq!((dsh.occupancy().headroom, dsh.occupancy().shared), (1000, 0));
        assert_eq!(dsh.pressure(0, CLASS).port, PortPressure::Full);
        dsh.release(&passage(0, CLASS, 1000), now);
        assert_eq!(dsh.pressure(0, CLASS).port, PortPressure::Eased);
    }

    /// The ablations: without shared headroom a queue ends at T, and what comes then takes the insurance and stops the port; without insurance
    /// what comes beyond the port's threshold is lost.
    #[test]
    fn what_is_missing_without_shared_headroom_or_without_insurance() {
        let (fabric, config) = evaluation();
        let (site, mut now) = (fabric.site(SWITCH), Time::ZERO);
        let mut dsh = Dsh::new(&DshConfig { shared_headroom: false, ..config.clone() }, &site);
        while dsh.pressure(0, CLASS).port != PortPressure::Full {
            assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
        }
        // x <= (14,185,216 - x') / 16, where x' is x before the packet.
        assert_eq!((dsh.occupancy().shared, dsh.occupancy().headroom), (834_000, 1000));
        assert_eq!(dsh.pressure(0, CLASS).full, ClassMask::of(CLASS));
        let mut dsh = Dsh::new(&DshConfig { insurance: false, ..config }, &site);
        assert_eq!(dsh.shared_size, 14_185_216 + 1_920_000);
        while dsh.pressure(0, CLASS).port != PortPressure::Full {
            assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Ok(()));
        }
        assert_eq!(arrive(&mut dsh, &mut now, 0, CLASS), Err(DropCause::Headroom));
    }

    /// Of a pool of 10,000 B a lossy class gets its threshold, alpha times what is free, and no more than is free, to the byte.
    #[test]
    fn a_lossy_class_gets_its_threshold_and_what_is_free_to_the_byte() {
        for (alpha, most) in [(1.0, [4000, 2000]), (64.0, [9500, 500])] {
            let config = DshConfig { alpha, ..Default::default() };
            let (mut dsh, lossy) = (two_ports(config, 10_000), Class(7));
            assert_eq!(admit(&mut dsh, 0, lossy, most[0], Time::ZERO), Ok(()));
            assert_eq!(admit(&mut dsh, 0, lossy, most[1] + 1, Time::ZERO), Err(DropCause::BufferFull));
            assert_eq!(admit(&mut dsh, 0, lossy, most[1], Time::ZERO), Ok(()));
            assert_eq!((dsh.held(0, lossy), dsh.occupancy().shared), (most[0] + most[1], most[0] + most[1]));
            assert_eq!(admit(&mut dsh, 0, lossy, 1, Time::ZERO), Err(DropCause::BufferFull));
            dsh.release(&passage(0, lossy, most[0]), Time::ZERO);
            assert_eq!((dsh.held(0, lossy), dsh.occupancy().shared), (most[1], most[1]));
        }
    }

    /// Lossy classes share the pool under the same threshold, and have nothing else.
    #[test]
    fn a_lossy_class_ends_at_its_threshold() {
        let (fabric, config) = evaluation();
        let mut spec = fabric.spec;
        spec.switch.lossless.retain(|class| *class != Class(7));
        let fabric = crate::testing::fabric(spec);
        let (mut dsh, mut now) = (Dsh::new(&config, &fabric.site(SWITCH)), Time::ZERO);
        while arrive(&mut dsh, &mut now, 0, Class(7)).is_ok() {}
        assert_eq!(admit(&mut dsh, 0, Class(7), 1000, now), Err(DropCause::BufferFull));
        assert!(dsh.held(0, Class(7)).abs_diff(dsh.shared_threshold(0)) <= 1000);
        assert_eq!(dsh.occupancy().headroom, 0);
        assert_eq!(dsh.pressure(0, Class(7)).full, ClassMask::NONE);
    }
}
