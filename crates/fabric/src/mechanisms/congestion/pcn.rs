//! PCN, Photonic Congestion Notification (Cheng et al., NSDI 2020): marks distinguish congestion
//! from PAUSE, and senders reduce their rates to the arrival rate of their packets.
//!
//! A packet that waited behind a PAUSE is not marked. Any other packet is marked if its queue is
//! long after its departure. At the end of each period with arrivals, a flow's receiver sends a CNP
//! to the sender: "congested", with the arrival rate, or "not congested".

use super::ecn::EcnConfig;
use crate::contract::{
    CongestionOptions, CongestionPoint, Diagnostics, EffectiveValues, HookSet, Notification, NotificationPoint,
    Options, PacketContext, PipelineHooks, ReactionPoint, SchemeContext, SenderFacts, Site, View, effective_values,
};
use crate::frame::{Cnp, PacketKind};
use crate::ids::{PortIx, QueueIx};
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::{Bytes, Duration, Rate, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Source of a set of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PcnProfile {
    /// The NSDI 2020 paper.
    #[default]
    Paper,
    /// A public re-implementation in ns-3.
    PublicNs3,
}

impl PcnProfile {
    /// Returns the smallest weight of an increase, the only parameter that differs between
    /// profiles.
    fn w_min(self) -> f64 {
        match self {
            PcnProfile::Paper => 1.0 / 128.0,
            PcnProfile::PublicNs3 => 1.0 / 64.0,
        }
    }
}

/// PCN: packets held by a PAUSE are not marked, and senders reduce their rates to the arrival rate
/// (NSDI 2020).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PcnConfig {
    /// Set of parameters that the options below override.
    pub profile: PcnProfile,
    /// K: queue length above which packets are marked, unless they waited behind a PAUSE. Default:
    /// 1 KB per Gb/s of the port. That is 40 KB at 40 Gb/s, the rate of the paper's simulations;
    /// the paper has tens of KB.
    pub threshold: Option<Bytes>,
    /// Port rate for which `threshold` holds: the threshold of a port scales with its rate.
    /// Default: none; every port has the same threshold.
    pub threshold_rate: Option<Rate>,
    /// T: clock period of a receiver. The clock starts with the flow's first packet. At the end of
    /// each period with arrivals, the receiver sends a CNP. Default 50 us (paper); at least 100 ns.
    pub period: Duration,
    /// Share of marked packets above which a flow is congested, below 1. Default 0.95 (paper).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub marked_share: f64,
    /// Smallest weight of an increase: the weight after a CNP that reports congestion. Such a CNP
    /// also sets the rate below the arrival rate by this share.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub w_min: Option<f64>,
    /// Largest weight of an increase. Default 0.5 (paper).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub w_max: f64,
    /// Lowest rate of a flow. Default 100 Mb/s (a public implementation).
    pub min_rate: Rate,
    /// True if every new rate moves the departure of the packet being paced. Default false: the
    /// public re-implementations descend from simulators that fix a departure when the previous
    /// packet departs. At the lowest rate, a packet of 1 KB waits for 88 us, less than two periods.
    pub repace: bool,
}

impl Default for PcnConfig {
    fn default() -> Self {
        PcnConfig {
            profile: PcnProfile::Paper,
            threshold: None,
            threshold_rate: None,
            period: Duration::from_us(50),
            marked_share: 0.95,
            w_min: None,
            w_max: 0.5,
            min_rate: Rate::from_bps(100_000_000),
            repace: false,
        }
    }
}

impl Options for PcnConfig {
    fn check(&self, _scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        diagnostics.clock(Some(self.period), "period", None);
        let message = "must be below 1: otherwise no flow would ever count as congested";
        diagnostics.error(self.marked_share >= 1.0, "marked_share", message);
        diagnostics.positive(self.w_min, "w_min");
        diagnostics.ordered([("w_min", self.w_min()), ("w_max", self.w_max)]);
        diagnostics.positive(Some(self.min_rate), "min_rate");
        diagnostics.positive(self.threshold_rate, "threshold_rate");
        let is_idle = self.threshold_rate.is_some() && self.threshold.is_none();
        diagnostics.error(is_idle, "threshold_rate", "has no effect: threshold is not set");
    }

    fn profile(&self, option: &str) -> Option<Value> {
        (option == "w_min").then(|| json!(self.profile))
    }
}

impl CongestionOptions for PcnConfig {
    type Point = PcnMarker;
    type Notification = Box<PcnReceiver>;
    type Reaction = Pcn;

    fn point(&self, site: &Site<'_>) -> PcnMarker {
        let thresholds = site.ports.iter().map(|port| self.threshold(port.rate).get());
        PcnMarker { thresholds: thresholds.collect(), paused: vec![IndexVec::default(); site.ports.len()].into() }
    }

    fn notification(&self, _line_rate: Rate) -> Box<PcnReceiver> {
        Box::new(PcnReceiver::new(self.period, self.marked_share))
    }

    fn reaction(&self, sender: &SenderFacts) -> Pcn {
        Pcn::new(self, sender)
    }

    fn needs_ack_times(&self) -> bool {
        false
    }

    fn sends_cnps(&self, _line_rate: Rate) -> bool {
        true
    }

    fn needs_receiver_timers(&self) -> bool {
        true
    }

    fn effective_values(&self, sender: &SenderFacts) -> EffectiveValues {
        effective_values(json!({ "min_rate": self.min_rate.min(sender.line_rate), "w_min": self.w_min() }))
    }

    fn effective_values_at_switch(&self, rate: Rate) -> EffectiveValues {
        effective_values(json!({ "threshold": self.threshold(rate) }))
    }
}

impl PcnConfig {
    fn w_min(&self) -> f64 {
        self.w_min.unwrap_or(self.profile.w_min())
    }

    /// Returns K of a port of rate `port`.
    fn threshold(&self, port: Rate) -> Bytes {
        let (kmin, rate) = match self.threshold {
            Some(threshold) => (threshold, self.threshold_rate),
            None => (Bytes(40_000), Some(Rate::from_gbps(40))),
        };
        EcnConfig { kmin, rate, ..EcnConfig::default() }.thresholds(port).0
    }
}

/// Marker of one switch: NP-ECN of the paper.
#[derive(Debug, GetSize)]
pub struct PcnMarker {
    /// K by port.
    thresholds: IndexVec<PortIx, u64>,
    /// Packets that waited behind a PAUSE and have not yet left, by port and queue.
    paused: IndexVec<PortIx, IndexVec<QueueIx, u32>>,
}

impl CongestionPoint for PcnMarker {}

impl PipelineHooks for PcnMarker {
    fn hooks(&self) -> HookSet {
        HookSet::GATE | HookSet::DATA_DEPARTURE | HookSet::OTHER_DEPARTURE
    }

    fn on_departure(&mut self, packet: &mut PacketContext<'_>, length: u64, _view: &mut View<'_>) {
        match self.paused[packet.egress].get_mut(packet.queue.index()) {
            Some(paused @ 1..) => *paused -= 1,
            // Only data packets are marked: a mark on an ACK has another meaning.
            _ if length > self.thresholds[packet.egress] && packet.headers().kind == PacketKind::Data => packet.mark(),
            _ => {}
        }
    }

    fn on_gate(&mut self, port: PortIx, queue: QueueIx, is_open: bool, view: &mut View<'_>) {
        let paused = self.paused[port].get_or_default(queue);
        // A frame may open several gates. A queue can send before its own gate is reported open: no
        // packet that leaves until then is marked.
        *paused = if is_open { view.port(port).queue_frames(queue) } else { u32::MAX };
    }
}

/// Notification point of one flow.
///
/// Periods of length T follow each other from the flow's first packet on. A timer is set only in a
/// period in which a packet has arrived.
#[derive(Debug, GetSize)]
pub struct PcnReceiver {
    period: Duration,
    marked_share: f64,
    /// Arrival of the flow's first packet, at which the clock starts.
    first: Option<Time>,
    /// Arrival of the flow's last packet.
    last: Time,
    /// Time between the last two packets; T for the first packet.
    gap: Duration,
    /// End of the current period; [`Time::NEVER`] while no packet has arrived in it.
    ends: Time,
    /// Arrivals in the current period.
    packets: u32,
    marked: u32,
    wire_bytes: u64,
}

impl PcnReceiver {
    fn new(period: Duration, marked_share: f64) -> PcnReceiver {
        PcnReceiver {
            period,
            marked_share,
            first: None,
            last: Time::ZERO,
            gap: period,
            ends: Time::NEVER,
            packets: 0,
            marked: 0,
            wire_bytes: 0,
        }
    }

    /// Ends the period and returns its CNP, unless no packet arrived in it.
    fn close(&mut self, now: Time) -> Option<Cnp> {
        if self.ends > now {
            return None;
        }
        let is_congested = f64::from(self.marked) > self.marked_share * f64::from(self.packets);
        let time = if self.packets == 1 { self.gap } else { self.period };
        let bps = u128::from(self.wire_bytes) * 8_000_000_000_000 / u128::from(time.ps().max(1));
        self.ends = Time::NEVER;
        (self.packets, self.marked, self.wire_bytes) = (0, 0, 0);
        Some(if is_congested { Cnp::Congested(Some(Rate::from_bps(bps as u64))) } else { Cnp::NotCongested })
    }
}

impl NotificationPoint for PcnReceiver {
    fn on_data(&mut self, now: Time, marked: bool, wire_bytes: u64) -> Notification {
        // A packet that arrives at the end of a period belongs to the next period.
        let cnp = self.close(now);
        match self.first {
            None => self.first = Some(now),
            Some(_) => self.gap = now.since(self.last),
        }
        if self.packets == 0 {
            let since_first = now.since(self.first.unwrap_or(now)).ps();
            self.ends = now + Duration::from_ps(self.period.ps() - since_first % self.period.ps());
        }
        self.last = now;
        self.packets += 1;
        self.marked += u32::from(marked);
        self.wire_bytes += wire_bytes;
        Notification { cnp, ..Default::default() }
    }

    fn wake_at(&self) -> Time {
        self.ends
    }

    fn on_wake(&mut self, now: Time) -> Option<Cnp> {
        self.close(now)
    }
}

/// Reaction point of one flow. It has no clock: only CNPs change its rate.
#[derive(Debug, GetSize)]
pub struct Pcn {
    line_rate: Rate,
    min_rate: Rate,
    w_min: f64,
    w_max: f64,
    current: Rate,
    /// Weight of the next increase.
    weight: f64,
    repaces: bool,
}

impl Pcn {
    fn new(config: &PcnConfig, sender: &SenderFacts) -> Pcn {
        Pcn {
            line_rate: sender.line_rate,
            min_rate: config.min_rate.min(sender.line_rate),
            w_min: config.w_min(),
            w_max: config.w_max,
            current: sender.line_rate,
            weight: config.w_min(),
            repaces: config.repace,
        }
    }

    /// Increases the rate: R <- R (1 - w) + C w, then w <- w (1 - w) + w_max w.
    fn increase(&mut self) {
        let missing = (self.line_rate.bps() - self.current.bps()) as f64 * (1.0 - self.weight);
        self.current = Rate::from_bps(self.line_rate.bps() - missing as u64);
        self.weight = self.weight * (1.0 - self.weight) + self.w_max * self.weight;
    }
}

impl ReactionPoint for Pcn {
    fn rate(&mut self, _now: Time) -> Rate {
        self.current
    }

    fn on_cnp(&mut self, now: Time, cnp: Cnp) {
        match cnp {
            Cnp::NotCongested => self.increase(),
            Cnp::Congested(rate) => {
                let arrived = rate.unwrap_or(self.current).bps() as f64;
                let lower = Rate::from_bps((arrived * (1.0 - self.w_min)) as u64);
                self.set_rate(now, lower.min(self.current));
            }
        }
    }

    fn set_rate(&mut self, _now: Time, rate: Rate) {
        self.current = rate.clamp(self.min_rate, self.line_rate);
        self.weight = self.w_min;
    }

    fn repaces(&self) -> bool {
        self.repaces
    }
}

#[cfg(test)]
mod tests;
