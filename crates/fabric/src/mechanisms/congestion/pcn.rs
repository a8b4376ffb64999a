//! PCN, Photonic Congestion Notification (Cheng et al., NSDI 2020): marks tell congestion from being paused, and senders fall to the rate at which their
//! packets arrive.
//!
//! A packet that has waited behind a PAUSE is not marked: the queue may be long for the PAUSE alone. One that came later, and leaves a long queue behind, is.
//! A receiver that sees nearly all packets of a flow marked tells the sender at what rate they come.
//!
//! Nothing needs an event: periods end with the packet that comes next, and a sender's clock is caught up when it is looked at.

use super::ecn::EcnConfig;
use crate::contract::{
    Beside, Carried, CongestionOptions, CongestionPoint, Findings, Footprint, InForce, Notification, NotificationPoint,
    Options, Passage, ReactionPoint, SenderFacts, Site, Station, Stations, View,
};
use crate::frame::PacketKind;
use crate::ids::{PortIx, QueueIx};
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Where a column of parameters comes from.
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
    /// The smallest weight of an increase, the one parameter in which they differ.
    fn w_min(self) -> f64 {
        match self {
            PcnProfile::Paper => 1.0 / 128.0,
            PcnProfile::PublicNs3 => 1.0 / 64.0,
        }
    }
}

/// PCN: marks that leave out victims of PAUSEs, and senders that fall to the rate of arrival (NSDI 2020).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PcnConfig {
    /// The column of parameters to start from.
    pub profile: PcnProfile,
    /// K: queue length above which packets are marked that have not waited behind a PAUSE. Default: 1 KB per Gb/s of the port (40 KB at the 40 Gb/s of the
    /// paper's simulations, where it has tens of KB).
    pub threshold: Option<Bytes>,
    /// If set, `threshold` holds for ports of this rate and grows in proportion to a port's rate. Default: none; it holds for every port.
    pub threshold_rate: Option<Rate>,
    /// T: shortest time between two CNPs of a flow, over which its packets are counted and behind which its rate grows. Default 50 us (paper); at least 100 ns.
    pub period: Duration,
    /// Share of a flow's packets that must be marked for a CNP. Default 0.95 (paper).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub marked_share: f64,
    /// Smallest weight of an increase: that behind a CNP, and how much less than the rate of arrival a CNP leaves.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub w_min: Option<f64>,
    /// Largest weight of an increase. Default 0.5 (paper).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub w_max: f64,
    /// Lowest rate. Default 100 Mb/s (a public code).
    pub min_rate: Rate,
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
        }
    }
}

impl Options for PcnConfig {
    fn check(&self, _beside: &Beside<'_>, findings: &mut Findings) {
        findings.clock(Some(self.period), "period", None);
        findings.positive(self.w_min, "w_min");
        findings.ordered([("w_min", self.w_min()), ("w_max", self.w_max)]);
        findings.positive(Some(self.min_rate), "min_rate");
        findings.positive(self.threshold_rate, "threshold_rate");
        let is_idle = self.threshold_rate.is_some() && self.threshold.is_none();
        findings.error(is_idle, "threshold_rate", "has no effect without threshold");
    }

    fn profile(&self, _option: &str) -> Option<Value> {
        Some(json!(self.profile))
    }
}

impl CongestionOptions for PcnConfig {
    type Point = PcnMarker;
    type Notification = Box<PcnReceiver>;
    type Reaction = Pcn;

    fn point(&self, site: &Site<'_>) -> PcnMarker {
        let thresholds = site.ports.iter().map(|port| self.threshold(port.rate).get());
        PcnMarker { thresholds: thresholds.collect(), paused: vec![Vec::new(); site.ports.len()] }
    }

    fn notification(&self, _line_rate: Rate) -> Box<PcnReceiver> {
        Box::new(PcnReceiver {
            period: self.period,
            marked_share: self.marked_share,
            since: None,
            packets: 0,
            marked: 0,
            wire_bytes: 0,
        })
    }

    fn reaction(&self, sender: &SenderFacts) -> Pcn {
        Pcn::new(self, sender)
    }

    fn sends_cnps(&self, _line_rate: Rate) -> bool {
        true
    }

    fn in_force(&self, sender: &SenderFacts) -> InForce {
        let min_rate = json!(self.min_rate.min(sender.line_rate));
        [("min_rate".to_owned(), min_rate), ("w_min".to_owned(), json!(self.w_min()))].into_iter().collect()
    }

    fn in_force_at_switch(&self, rate: Rate) -> InForce {
        [("threshold".to_owned(), json!(self.threshold(rate)))].into_iter().collect()
    }
}

impl PcnConfig {
    fn w_min(&self) -> f64 {
        self.w_min.unwrap_or(self.profile.w_min())
    }

    /// K of a port of rate `port`.
    fn threshold(&self, port: Rate) -> Bytes {
        let (kmin, rate) = match self.threshold {
            Some(threshold) => (threshold, self.threshold_rate),
            None => (Bytes(40_000), Some(Rate::from_gbps(40))),
        };
        EcnConfig { kmin, rate, ..EcnConfig::default() }.thresholds(port).0
    }
}

/// The marker of one switch: NP-ECN of the paper.
#[derive(Debug)]
pub struct PcnMarker {
    /// K of every port.
    thresholds: Vec<u64>,
    /// By port and queue, how many packets are still to leave that have waited behind a PAUSE.
    paused: Vec<Vec<u32>>,
}

impl CongestionPoint for PcnMarker {}

impl Footprint for PcnMarker {
    fn heap_bytes(&self) -> u64 {
        let of_ports: u64 = self.paused.iter().map(HeapBytes::heap_bytes).sum();
        self.thresholds.heap_bytes() + self.paused.heap_bytes() + of_ports
    }
}

impl Station for PcnMarker {
    fn stations(&self) -> Stations {
        Stations::GATE | Stations::DATA_DEPARTURE | Stations::OTHER_DEPARTURE
    }

    fn on_departure(&mut self, at: &Passage, length: u64, packet: &mut Carried<'_>, _view: &mut View<'_>) {
        let port = usize::from(at.egress);
        match self.paused[port].get_mut(usize::from(at.queue)) {
            Some(paused @ 1..) => *paused -= 1,
            // The mark of an answer means something else.
            _ if length > self.thresholds[port] && packet.packet().kind == PacketKind::Data => packet.mark(),
            _ => {}
        }
    }

    fn on_gate(&mut self, port: PortIx, queue: QueueIx, is_open: bool, view: &mut View<'_>) {
        let (paused, index) = (&mut self.paused[usize::from(port)], usize::from(queue));
        if paused.len() <= index {
            paused.resize(index + 1, 0);
        }
        // Of several gates that one frame opens, a queue may send before this is told of its own: nothing that leaves until then is marked.
        paused[index] = if is_open { view.port(port).queue_frames(queue) } else { u32::MAX };
    }
}

/// The notification point of one flow.
///
/// A period begins with a packet, and ends with the first that comes T later or more: what has come in between, the last one included, has come at
/// its bytes over that time. Where packets are further apart than T, that is the rate of one packet per gap.
#[derive(Debug)]
pub struct PcnReceiver {
    period: Duration,
    marked_share: f64,
    /// When the period began; `None` before the first packet.
    since: Option<Time>,
    /// What has come since.
    packets: u32,
    marked: u32,
    wire_bytes: u64,
}

impl Footprint for PcnReceiver {}

impl NotificationPoint for PcnReceiver {
    fn on_data(&mut self, now: Time, marked: bool, wire_bytes: u64) -> Notification {
        let Some(since) = self.since else {
            self.since = Some(now);
            return Notification::default();
        };
        self.packets += 1;
        self.marked += u32::from(marked);
        self.wire_bytes += wire_bytes;
        let time = now.since(since);
        if time < self.period {
            return Notification::default();
        }
        let is_congested = f64::from(self.marked) >= self.marked_share * f64::from(self.packets);
        let bps = u128::from(self.wire_bytes) * 8_000_000_000_000 / u128::from(time.ps().max(1));
        self.since = Some(now);
        (self.packets, self.marked, self.wire_bytes) = (0, 0, 0);
        if is_congested {
            Notification { cnp: true, rate: Some(Rate::from_bps(bps as u64)), ..Default::default() }
        } else {
            Notification::default()
        }
    }
}

/// The reaction point of one flow.
#[derive(Debug)]
pub struct Pcn {
    line_rate: Rate,
    min_rate: Rate,
    period: Duration,
    w_min: f64,
    w_max: f64,
    current: Rate,
    /// The weight of the next increase.
    weight: f64,
    /// When that is due; [`Time::NEVER`] at line rate.
    next_increase: Time,
}

impl Pcn {
    fn new(config: &PcnConfig, sender: &SenderFacts) -> Pcn {
        Pcn {
            line_rate: sender.line_rate,
            min_rate: config.min_rate.min(sender.line_rate),
            period: config.period,
            w_min: config.w_min(),
            w_max: config.w_max,
            current: sender.line_rate,
            weight: config.w_min(),
            next_increase: Time::NEVER,
        }
    }

    /// Makes the increases that are due by `now`: R <- R (1 - w) + C w, then w <- w (1 - w) + w_max w.
    fn catch_up(&mut self, now: Time) {
        while self.next_increase <= now {
            let missing = (self.line_rate.bps() - self.current.bps()) as f64 * (1.0 - self.weight);
            self.current = Rate::from_bps(self.line_rate.bps() - missing as u64);
            self.weight = self.weight * (1.0 - self.weight) + self.w_max * self.weight;
            self.next_increase =
                if self.current < self.line_rate { self.next_increase + self.period } else { Time::NEVER };
        }
    }

    /// Has the flow go on at `rate`, and grow from there as carefully as at first.
    fn go_on(&mut self, now: Time, rate: Rate) {
        self.current = rate.clamp(self.min_rate, self.line_rate);
        self.weight = self.w_min;
        self.next_increase = now + self.period;
    }
}

impl Footprint for Pcn {}

impl ReactionPoint for Pcn {
    fn rate(&mut self, now: Time) -> Rate {
        self.catch_up(now);
        self.current
    }

    fn on_cnp(&mut self, now: Time, rate: Option<Rate>) {
        self.catch_up(now);
        let arrived = rate.unwrap_or(self.current).bps() as f64;
        self.go_on(now, Rate::from_bps((arrived * (1.0 - self.w_min)) as u64).min(self.current));
    }

    fn set_rate(&mut self, now: Time, rate: Rate) {
        self.catch_up(now);
        self.go_on(now, rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sender;

    const GBPS: u64 = 1_000_000_000;

    fn at(us: u64, ns: u64) -> Time {
        Time::ZERO + Duration::from_us(us) + Duration::from_ns(ns)
    }

    fn reaction_point(config: &PcnConfig) -> Pcn {
        Pcn::new(config, &sender(Rate::from_gbps(100), Duration::from_us(8)))
    }

    /// 1 KB per Gb/s; where it is written, the same for all, or in proportion to what is written.
    #[test]
    fn the_threshold_grows_with_the_rate_of_the_port() {
        let thresholds =
            |config: &PcnConfig| [25, 40, 100, 400].map(|gbps| config.threshold(Rate::from_gbps(gbps)).get() / 1000);
        assert_eq!(thresholds(&PcnConfig::default()), [25, 40, 100, 400]);
        let fixed = PcnConfig { threshold: Some(Bytes(60_000)), ..Default::default() };
        assert_eq!(thresholds(&fixed), [60, 60, 60, 60]);
        let scaled = PcnConfig { threshold_rate: Some(Rate::from_gbps(100)), ..fixed };
        assert_eq!(thresholds(&scaled), [15, 24, 60, 240]);
    }

    /// 50 packets of 1250 B in 50 us are 10 Gb/s: what came at the very beginning counts for no period.
    #[test]
    fn a_receiver_tells_at_what_rate_packets_have_come() {
        let mut receiver = PcnConfig::default().notification(Rate::from_gbps(100));
        let told = |rate: u64| Notification { cnp: true, rate: Some(Rate::from_bps(rate)), ..Default::default() };
        assert_eq!(receiver.on_data(at(7, 0), true, 9000), Notification::default());
        for us in 8..57 {
            assert_eq!(receiver.on_data(at(us, 0), true, 1250), Notification::default());
        }
        assert_eq!(receiver.on_data(at(57, 0), true, 1250), told(10 * GBPS));
        // The next begins with that packet. 20,000 B, the last of them 51 us later: a little less than 3.2 Gb/s.
        assert_eq!(receiver.on_data(at(106, 999), true, 10_000), Notification::default());
        assert_eq!(receiver.on_data(at(108, 0), true, 10_000), told(3_137_254_901));
        // One packet in 80 us is one of 100 Mb/s.
        assert_eq!(receiver.on_data(at(188, 0), true, 1000), told(GBPS / 10));
        assert_eq!(receiver.on_data(at(268, 0), false, 1000), Notification::default());
        assert_eq!(receiver.on_data(at(348, 0), true, 1000), told(GBPS / 10));
    }

    /// 19 of 20 are 95 %, and 18 are less.
    #[test]
    fn a_receiver_is_silent_unless_nearly_all_packets_are_marked() {
        let mut receiver = PcnConfig::default().notification(Rate::from_gbps(100));
        receiver.on_data(at(0, 0), true, 1000);
        for (period, unmarked, is_told) in [(0, 1, true), (1, 2, false), (2, 0, true), (3, 20, false)] {
            for packet in 1..=20 {
                let now = at(period * 50, packet * 2500);
                let is_last = packet == 20;
                let notification = receiver.on_data(now, packet > unmarked, 1000);
                assert_eq!(notification.cnp, is_last && is_told, "packet {packet} of period {period}");
                assert!(!notification.echo);
            }
        }
    }

    /// From 127/128 of 50 Gb/s on, every 50 us: 1/128 of what is missing at first, then 191/16384, at last half of it.
    #[test]
    fn a_cnp_leaves_the_rate_of_arrival_and_it_grows_from_there() {
        let mut point = reaction_point(&PcnConfig::default());
        assert_eq!(point.rate(at(1_000_000, 0)).bps(), 100 * GBPS);
        point.on_cnp(at(1_000_010, 0), Some(Rate::from_gbps(50)));
        let mut rate = |us: u64, ns| point.rate(at(1_000_000 + us, ns)).bps();
        assert_eq!((rate(10, 0), rate(59, 999)), (49_609_375_000, 49_609_375_000));
        assert_eq!((rate(60, 0), rate(109, 999)), (50_003_051_758, 50_003_051_758));
        assert_eq!((rate(110, 0), rate(160, 0)), (50_585_901_924, 51_443_269_631));
        // Twenty times, and 46 and 47.
        assert_eq!(rate(10 + 20 * 50, 0), 99_929_007_412);
        assert_eq!((rate(10 + 46 * 50, 0), rate(10 + 47 * 50, 0)), (100 * GBPS - 1, 100 * GBPS));
        assert_eq!(point.next_increase, Time::NEVER);
    }

    /// 63/64 of 50 Gb/s, and 1/64 of what is missing; a weight that is written goes before that of the profile.
    #[test]
    fn a_profile_says_how_carefully_rates_grow() {
        let of = |config: &PcnConfig| {
            let mut point = reaction_point(config);
            point.on_cnp(at(0, 0), Some(Rate::from_gbps(50)));
            [0, 50].map(|us| point.rate(at(us, 0)).bps())
        };
        let public = PcnConfig { profile: PcnProfile::PublicNs3, ..Default::default() };
        assert_eq!(of(&public), [49_218_750_000, 50_012_207_032]);
        assert_eq!(of(&PcnConfig { w_min: Some(1.0 / 128.0), ..public }), of(&PcnConfig::default()));
    }

    /// A rate that is below that of arrival stays, and its growth begins anew.
    #[test]
    fn a_cnp_raises_no_rate() {
        let mut point = reaction_point(&PcnConfig::default());
        point.on_cnp(at(0, 0), Some(Rate::from_gbps(50)));
        assert_eq!(point.rate(at(100, 0)).bps(), 50_585_901_924);
        point.on_cnp(at(110, 0), Some(Rate::from_gbps(80)));
        assert_eq!(point.rate(at(159, 999)).bps(), 50_585_901_924);
        // 1/128 of 49,414,098,076.
        assert_eq!(point.rate(at(160, 0)).bps(), 50_971_949_566);
        // Whoever tells no rate tells that it is too high.
        point.on_cnp(at(161, 0), None);
        assert_eq!(point.rate(at(161, 0)).bps(), 50_573_731_210);
        point.on_cnp(at(162, 0), Some(Rate::from_bps(1)));
        assert_eq!(point.rate(at(162, 0)).bps(), 100_000_000);
    }

    /// What was due 50 and 100 us behind the first CNP comes before the second, though nothing has been sent since: from 49.6 to 50.6 Gb/s.
    #[test]
    fn a_cnp_finds_the_rate_that_has_grown_by_then() {
        let mut point = reaction_point(&PcnConfig::default());
        point.on_cnp(at(0, 0), Some(Rate::from_gbps(50)));
        point.on_cnp(at(110, 0), Some(Rate::from_gbps(80)));
        assert_eq!(point.rate(at(110, 0)).bps(), 50_585_901_924);
        // The next is due 50 us behind the second.
        assert_eq!((point.rate(at(159, 999)).bps(), point.rate(at(160, 0)).bps()), (50_585_901_924, 50_971_949_566));
    }

    #[test]
    fn the_lowest_rate_is_no_higher_than_the_links() {
        let line_rate = Rate::from_bps(50_000_000);
        let mut point = Pcn::new(&PcnConfig::default(), &sender(line_rate, Duration::from_us(8)));
        point.on_cnp(at(0, 0), Some(Rate::from_bps(1)));
        assert_eq!(point.rate(at(0, 0)), line_rate);
    }

    /// As behind a CNP, from the very rate that is set: 1/128 of what is missing 50 us later.
    #[test]
    fn a_rate_that_is_set_grows_as_behind_a_cnp() {
        let mut point = reaction_point(&PcnConfig::default());
        point.on_cnp(at(0, 0), Some(Rate::from_gbps(50)));
        point.rate(at(500, 0));
        point.set_rate(at(520, 0), Rate::from_gbps(36));
        assert_eq!(point.rate(at(569, 999)).bps(), 36 * GBPS);
        assert_eq!(point.rate(at(570, 0)).bps(), 36_500_000_000);
        for (set, held) in [(1, 100_000_000), (200 * GBPS, 100 * GBPS)] {
            point.set_rate(at(600, 0), Rate::from_bps(set));
            assert_eq!(point.rate(at(600, 0)).bps(), held);
        }
    }
}
