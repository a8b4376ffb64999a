//! DSH, dynamic and shared headroom (Shan et al., IEEE Transactions on Networking 2025).
//!
//! Worst-case headroom is reserved once per port, as *insurance*. Apart from private bytes, the
//! rest of the buffer is one pool for the queues' footroom and headroom. Other schemes have
//! separate pools for footroom and headroom. A queue is paused early enough that the pool still has
//! the headroom that the queue will probably need. A port as a whole is paused when its queues
//! together have used up their share: the bytes on the wire then fit into the insurance.

mod gradient;

pub use gradient::EstimatorKind;

use super::options::{effective_values, offset, per_port, resume_offset};
use super::pools::{of_all_ports, private_bytes};
use super::threshold::DynamicThreshold;
use crate::contract::report::DropCause;
use crate::contract::{
    Admission, BufferAccounts, BufferPolicy, Diagnostics, HeadroomFacts, HeadroomOptions, Occupancy, Options,
    PacketContext, PortFacts, PortPressure, Pressure, SchemeContext, Site,
};
use crate::ids::{CLASSES, Class, ClassMask, PortIx};
use backwater_engine::index::IndexVec;
use backwater_engine::{Bytes, Duration, Time};
use get_size2::GetSize;
use gradient::{Averages, Estimator, Reach};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Dynamic and shared headroom: each port reserves worst-case headroom, and queues share the rest
/// of the buffer. PAUSEs stop a queue or a whole port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DshConfig {
    /// Share of the free shared pool that one ingress queue may take: T = alpha (B_s - used).
    /// Default 1/16 (DSH section V-A).
    #[schemars(range(min = 0.0, max = 64.0))]
    pub alpha: f64,
    /// Private bytes of every lossless (ingress port, class). Default 3 KB (DSH section V-A).
    pub private: Bytes,
    /// Worst-case headroom of a port, reserved as the port's insurance; also the maximum headroom
    /// that a queue is assumed to need. Default: Equation 1 of DSH, 2 (C D + MTU) + 3840 B, for
    /// that port's link; more if long frames or response times need more.
    pub headroom: Option<Bytes>,
    /// Distance below the threshold at which a paused queue resumes. Default: two full frames
    /// (section IV-E of DSH's paper; the paper's evaluation has 0).
    pub queue_resume_offset: Option<Bytes>,
    /// Distance below the threshold at which a paused port resumes. Default: two full frames
    /// (section IV-E of DSH's paper; the paper's evaluation has 0).
    pub port_resume_offset: Option<Bytes>,
    /// Arithmetic of the estimate of a queue's headroom. Default `exact`.
    pub estimator: EstimatorKind,
    /// Weight of the newest gradient in the average of gradients, w_g. Default 0.25 (DSH section
    /// V-A).
    #[schemars(range(min = 0.0001, max = 1.0))]
    pub gradient_weight: f64,
    /// Weight of the newest deviation in the average of deviations, w_v. Default 0.25 (DSH section
    /// V-A).
    #[schemars(range(min = 0.0001, max = 1.0))]
    pub deviation_weight: f64,
    /// Factor k: number of mean deviations that are added to the gradient. Default 4 (DSH section
    /// V-A).
    #[schemars(range(min = 0.0, max = 1024.0))]
    pub deviation_factor: f64,
    /// Time after which a port that has received packets of a single class gives this class's queue
    /// no shared headroom: the queue has the insurance to itself. Default 10 ms (DSH section IV-D).
    pub window: Duration,
    /// True if insurance is reserved. Without insurance, packets may be dropped (the ablation of
    /// DSH Figure 21).
    pub insurance: bool,
    /// True if queues get headroom from the shared pool. Otherwise no queue takes more than its
    /// threshold from the pool; further packets are charged to the insurance, and the port is
    /// paused (the ablation of DSH Figures 15 and 25).
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
    fn check(&self, scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        let (name, flow_control) = &scheme.flow_control;
        diagnostics.warning(
            !flow_control.pauses_ports() && !scheme.lossless.is_empty(),
            "",
            format_args!(
                "dsh needs a flow control that can pause single queues and whole ports, such as pfc; \"{name}\" cannot"
            ),
        );
        let weights = [
            ("gradient_weight", self.gradient_weight, self.gradient_weight <= 1.0, "1 or less"),
            ("deviation_weight", self.deviation_weight, self.deviation_weight <= 1.0, "1 or less"),
            ("deviation_factor", self.deviation_factor, self.deviation_factor >= 1.0, "1 or more"),
        ];
        for (key, weight, in_range, bound) in weights {
            let is_power = weight.log2().fract() == 0.0;
            diagnostics.error(
                self.estimator == EstimatorKind::Hardware && !(in_range && is_power),
                key,
                format_args!("must be a power of two, {bound}: the hardware estimator shifts instead of multiplying"),
            );
        }
    }
}

impl HeadroomOptions for DshConfig {
    type Instance = Dsh;

    fn facts(&self) -> HeadroomFacts {
        HeadroomFacts {
            is_lossless: self.insurance,
            has_port_thresholds: true,
            bounds_ingress: false,
            has_thresholds: true,
            set_headroom: self.headroom,
        }
    }

    /// Returns the private bytes and the insurance (DSH Equation 9).
    fn reserved(&self, site: &Site<'_>) -> u64 {
        private_bytes(site, self.private.get()) + of_all_ports(site, &self.insurance(site))
    }

    fn build(&self, site: &Site<'_>) -> Dsh {
        Dsh::new(self, site)
    }

    fn effective_values(&self, site: &Site<'_>) -> Vec<(&'static str, Vec<Value>)> {
        vec![
            effective_values("headroom", per_port(self.headroom, site)),
            offset("queue_resume_offset", self.queue_resume_offset, site),
            offset("port_resume_offset", self.port_resume_offset, site),
        ]
    }
}

impl DshConfig {
    /// Returns the insurance of every port.
    fn insurance(&self, site: &Site<'_>) -> Vec<u64> {
        if self.insurance { per_port(self.headroom, site) } else { vec![0; site.ports.len()] }
    }
}

/// DSH at one switch.
#[derive(Debug, GetSize)]
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
    /// Number of lossless queues of a port, N_q.
    queues_per_port: u64,
    window: Duration,
    estimator: Estimator,
    ports: IndexVec<PortIx, IngressPort>,
    queues: IndexVec<PortIx, [IngressQueue; CLASSES]>,
}

/// Counters of an ingress port, over its lossless queues.
#[derive(Debug, GetSize)]
struct IngressPort {
    /// Bytes in the shared pool.
    shared: u64,
    /// Bytes in the port's insurance.
    insurance: u64,
    /// Size of the insurance.
    insurance_size: u64,
    peak_insurance: u64,
    reach: Reach,
    /// Class of the last packet, and start of the time in which no packet of another class arrived.
    class: Class,
    since: Time,
    /// True if that time is longer than the window.
    is_single: bool,
}

/// Counters of an ingress queue.
#[derive(Clone, Copy, Debug, GetSize)]
#[repr(align(64))]
struct IngressQueue {
    /// Bytes in all pools: private bytes first, then the port's pools.
    held: u64,
    /// Bytes in all pools at the last arrival, and the time of that arrival.
    seen: u64,
    at: Time,
    averages: Averages,
    /// Headroom that the queue will probably need.
    need: u64,
}

impl Dsh {
    /// Returns DSH for the switch at `site`.
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
            queues: vec![[queue; CLASSES]; site.ports.len()].into(),
            estimator,
        }
    }

    /// Returns T(t) (DSH Equation 2); the used bytes include footroom and headroom.
    fn shared_threshold(&self, ingress: PortIx) -> u64 {
        self.threshold.of(ingress, self.shared_size - self.used.shared)
    }

    /// Returns the bytes of a queue beyond its private bytes.
    fn beyond_private(&self, ingress: PortIx, class: Class) -> u64 {
        self.queues[ingress][class.index()].held.saturating_sub(self.private)
    }

    /// Updates the state of a queue after an admitted packet of `class`: the headroom that the
    /// queue will need (DSH Algorithm 2), and whether the queue has the port to itself (Algorithm
    /// 4).
    fn observe(&mut self, ingress: PortIx, class: Class, now: Time) {
        let port = &mut self.ports[ingress];
        if class != port.class {
            (port.class, port.since, port.is_single) = (class, now, false);
        } else if now - port.since > self.window {
            port.is_single = true;
        }
        let queue = &mut self.queues[ingress][class.index()];
        let (grown, elapsed) = (queue.held as i64 - queue.seen as i64, now - queue.at);
        if elapsed > Duration::ZERO {
            (queue.seen, queue.at) = (queue.held, now);
            queue.need = self.estimator.update(&mut queue.averages, grown, elapsed, &port.reach);
        }
    }

    /// Charges a packet of a class that has neither private bytes nor insurance.
    fn admit_lossy(&mut self, ingress: PortIx, class: Class, bytes: u64) -> Result<(), DropCause> {
        let (free, threshold) = (self.shared_size - self.used.shared, self.shared_threshold(ingress));
        let queue = &mut self.queues[ingress][class.index()];
        if queue.held + bytes > threshold || bytes > free {
            return Err(DropCause::BufferFull);
        }
        queue.held += bytes;
        self.used.shared += bytes;
        Ok(())
    }

    /// Charges a packet of a lossless class: to private bytes while any are free, then to the
    /// shared pool while the port is below its threshold, then to the insurance.
    fn admit_lossless(&mut self, ingress: PortIx, class: Class, bytes: u64) -> Result<(), DropCause> {
        let (free, threshold) = (self.shared_size - self.used.shared, self.shared_threshold(ingress));
        let port = &mut self.ports[ingress];
        let queue = &mut self.queues[ingress][class.index()];
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
    fn admit(&mut self, packet: &PacketContext<'_>, now: Time) -> Admission {
        let (ingress, class, bytes) = (packet.ingress(), packet.ingress_class(), u64::from(packet.bytes()));
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

    /// Frees the insurance first, whichever queue of the port used it, then the shared pool, then
    /// private bytes.
    fn release(&mut self, packet: &PacketContext<'_>, _now: Time) {
        let (ingress, class, bytes) = (packet.ingress(), packet.ingress_class(), u64::from(packet.bytes()));
        let queue = &mut self.queues[ingress][class.index()];
        let before = queue.held;
        queue.held -= bytes;
        self.used.used -= bytes;
        if self.lossless.has(class) {
            let less = before.saturating_sub(self.private) - queue.held.saturating_sub(self.private);
            let port = &mut self.ports[ingress];
            let from_insurance = less.min(port.insurance);
            port.insurance -= from_insurance;
            self.used.headroom -= from_insurance;
            port.shared -= less - from_insurance;
            self.used.shared -= less - from_insurance;
        } else {
            self.used.shared -= bytes;
        }
    }

    /// Checks all queues of the port, since packets of other queues change the common threshold.
    /// This is a separate function, because its use of registers would slow down other policies.
    #[inline(never)]
    fn pressure(&self, ingress: PortIx, _class: Class) -> Pressure {
        let port = &self.ports[ingress];
        let threshold = self.shared_threshold(ingress);
        // Most packets need no further check: the result would be the same.
        let margin = port.reach.most + self.queue_offset.max(self.port_offset);
        if port.insurance == 0 && port.shared + margin < threshold {
            return Pressure { full: ClassMask::NONE, below_xon: self.lossless, port: PortPressure::BelowXon };
        }
        let mut pressure = Pressure { port: self.port_pressure(port, threshold), ..Default::default() };
        for class in self.lossless.iter() {
            let shared = self.beyond_private(ingress, class);
            let limit = self.limit(ingress, class, threshold);
            if shared > limit {
                pressure.full = pressure.full.with(class);
            } else if shared == 0 || shared + self.queue_offset < limit {
                pressure.below_xon = pressure.below_xon.with(class);
            }
        }
        pressure
    }

    fn threshold(&self, ingress: PortIx, class: Class) -> Option<u64> {
        let limit = || self.limit(ingress, class, self.shared_threshold(ingress));
        self.lossless.has(class).then(|| self.private + limit() + 1)
    }
}

impl BufferAccounts for Dsh {
    fn occupancy(&self) -> Occupancy {
        self.used
    }

    fn ingress_occupancy(&self, ingress: PortIx, class: Class) -> u64 {
        self.queues[ingress][class.index()].held
    }

    fn headroom(&self, ingress: PortIx, _class: Class) -> u64 {
        self.ports[ingress].insurance
    }

    fn peak_headroom(&self, ingress: PortIx, _class: Class) -> u64 {
        self.ports[ingress].peak_insurance
    }
}

impl Dsh {
    /// Returns X_qoff (Equation 10) if the port's threshold is T(t).
    #[inline(always)]
    fn limit(&self, ingress: PortIx, class: Class, threshold: u64) -> u64 {
        let need = self.queues[ingress][class.index()].need;
        let is_single = self.ports[ingress].is_single;
        threshold.saturating_sub(if is_single || !self.shared_headroom { 0 } else { need })
    }

    /// Returns the pressure of a port. The port is full if its queues together hold more than
    /// X_poff (Equation 11), or if the insurance is in use.
    fn port_pressure(&self, port: &IngressPort, threshold: u64) -> PortPressure {
        let limit = self.queues_per_port * threshold;
        if port.insurance > 0 || port.shared > limit {
            PortPressure::Full
        } else if port.shared == 0 || port.shared + self.port_offset < limit {
            PortPressure::BelowXon
        } else {
            PortPressure::Between
        }
    }
}

#[cfg(test)]
mod tests;
