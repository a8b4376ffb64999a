//! PowerTCP (Addanki et al., NSDI 2022): the sender's window follows the *power* of the network, the product of what arrives at a port (current)
//! and of what is queued there and in flight (voltage).
//!
//! With telemetry (Algorithm 1) power is measured at every hop; without it (Algorithm 2, theta-PowerTCP) it is taken from round-trip times and
//! their gradient. Rates represent windows: W = rate x base RTT.

use super::none::NoCongestionControl;
use super::telemetry::{RateCode, TELEMETRY_BYTES, TelemetryStamper};
use super::window::window_at;
use crate::contract::{
    AckView, Beside, CongestionOptions, Findings, Footprint, InForce, Options, ReactionPoint, SenderFacts, Site,
    in_force,
};
use crate::frame::MAX_HOPS;
use crate::frame::record::{Stamp, Telemetry};
use backwater_engine::{Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where power is taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// From what switches stamp into packets.
    #[default]
    Telemetry,
    /// From round-trip times: theta-PowerTCP.
    Delay,
}

/// PowerTCP: window control by the product of queue length and arrival rate, from telemetry or from delays (NSDI 2022).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PowerTcpConfig {
    /// Where power is taken from.
    pub variant: Variant,
    /// Weight gamma of a new window, 0 to 1. Default 0.9 with telemetry, 0.7 without (authors' simulator; the paper has 0.9).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gamma: Option<f64>,
    /// Additive increase beta as a rate: beta = rate x base RTT. Default 150 Mb/s (authors' simulator; the paper has a tenth of the line rate).
    pub additive_increase: Rate,
    /// Utilisation aimed at with telemetry, 0 to 1. Default 0.95 (authors' simulator; the paper has none, which is 1).
    #[schemars(range(min = 0.01, max = 1.0))]
    pub eta: f64,
    /// Without telemetry, how much longer than the shortest a round-trip time may be. Default 1.05 (authors' simulator; the paper has none, 1).
    #[schemars(range(min = 1.0, max = 10.0))]
    pub delay_margin: f64,
    /// Lowest current, as a share of the link's rate: a port that is paused sends and receives nothing, and is no invitation to send more.
    /// Default 0.5 (authors' simulator; the paper has none, 0).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub lowest_current: f64,
    /// Base round-trip time tau. Default: the longest of any pair of hosts, computed from the topology.
    pub base_rtt: Option<Duration>,
    /// Lowest rate. Default 100 Mb/s (authors' simulator).
    pub min_rate: Rate,
}

impl Default for PowerTcpConfig {
    fn default() -> Self {
        PowerTcpConfig {
            variant: Variant::Telemetry,
            gamma: None,
            additive_increase: Rate::from_bps(150_000_000),
            eta: 0.95,
            delay_margin: 1.05,
            lowest_current: 0.5,
            base_rtt: None,
            min_rate: Rate::from_bps(100_000_000),
        }
    }
}

/// What options come to for one sender that follow from its link, the fabric and the variant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PowerTcpParameters {
    /// Weight of a new window.
    pub gamma: f64,
    /// Base round-trip time.
    pub base_rtt: Duration,
    /// Lowest rate.
    pub min_rate: Rate,
}

impl Options for PowerTcpConfig {
    fn check(&self, beside: &Beside<'_>, findings: &mut Findings) {
        findings.positive(Some(self.min_rate), "min_rate");
        findings.positive(self.base_rtt, "base_rtt");
        findings.one_ack_per_packet(beside);
    }
}

impl CongestionOptions for PowerTcpConfig {
    type Point = Option<TelemetryStamper>;
    type Notification = NoCongestionControl;
    type Reaction = PowerTcp;

    fn point(&self, _site: &Site<'_>) -> Self::Point {
        self.has_telemetry().then(|| TelemetryStamper::new(RateCode::Exact))
    }

    fn notification(&self, _line_rate: Rate) -> Self::Notification {
        NoCongestionControl
    }

    fn reaction(&self, sender: &SenderFacts) -> PowerTcp {
        PowerTcp::new(self, sender)
    }

    fn telemetry_bytes(&self) -> u32 {
        if self.has_telemetry() { TELEMETRY_BYTES } else { 0 }
    }

    fn in_force(&self, sender: &SenderFacts) -> InForce {
        in_force(self.parameters(sender))
    }
}

impl PowerTcpConfig {
    fn has_telemetry(&self) -> bool {
        self.variant == Variant::Telemetry
    }

    /// The parameters that hold for `sender`.
    pub fn parameters(&self, sender: &SenderFacts) -> PowerTcpParameters {
        let gamma = match self.variant {
            Variant::Telemetry => 0.9,
            Variant::Delay => 0.7,
        };
        PowerTcpParameters {
            gamma: self.gamma.unwrap_or(gamma),
            base_rtt: self.base_rtt.unwrap_or(sender.base_rtt),
            min_rate: self.min_rate.min(sender.line_rate),
        }
    }
}

/// The reaction point of one flow.
#[derive(Debug)]
pub struct PowerTcp {
    gamma: f64,
    additive_increase: f64,
    lowest_current: f64,
    min_rate: f64,
    line_rate: Rate,
    base_rtt: Duration,
    /// The rate in use, b/s.
    current: f64,
    /// The window in use: to line rate times base RTT as the rate is to line rate.
    window: u64,
    /// The rate of a round trip ago, b/s.
    old: f64,
    /// The moving average of normalised power.
    power: f64,
    /// Payload bytes that had been sent when `old` was taken; 0 before the first ACK.
    taken_at: u64,
    meter: Meter,
}

/// What power is measured with.
#[derive(Debug)]
enum Meter {
    Telemetry {
        eta: f64,
        previous: Box<[Stamp; MAX_HOPS]>,
    },
    Delay {
        margin: f64,
        /// The shortest round-trip time so far; at first the base one, so that a flow that begins under congestion does not take
        /// queueing for propagation delay.
        shortest: Duration,
        last: (Time, Duration),
    },
}

impl PowerTcp {
    pub(super) fn new(config: &PowerTcpConfig, sender: &SenderFacts) -> PowerTcp {
        let PowerTcpParameters { gamma, base_rtt, min_rate } = config.parameters(sender);
        let meter = match config.variant {
            Variant::Telemetry => {
                Meter::Telemetry { eta: config.eta, previous: Box::new([Stamp::default(); MAX_HOPS]) }
            }
            Variant::Delay => {
                let last = (Time::ZERO, Duration::ZERO);
                Meter::Delay { margin: config.delay_margin, shortest: base_rtt, last }
            }
        };
        let line_rate = sender.line_rate.bps() as f64;
        PowerTcp {
            gamma,
            additive_increase: config.additive_increase.bps() as f64,
            lowest_current: config.lowest_current,
            min_rate: min_rate.bps() as f64,
            line_rate: sender.line_rate,
            base_rtt,
            current: line_rate,
            window: sender.line_rate.bytes_in(base_rtt).max(1),
            old: line_rate,
            power: 1.0,
            taken_at: 0,
            meter,
        }
    }

    /// Takes a measurement of normalised power over `interval` into the moving average.
    fn smooth(&mut self, power: f64, interval: Duration, base_rtt: Duration) {
        let weight = interval.min(base_rtt).ps() as f64 / base_rtt.ps() as f64;
        self.power = (1.0 - weight) * self.power + weight * power;
    }

    /// W = gamma (W_old / power + beta) + (1 - gamma) W, for a target of `power` that is 1 where it is met.
    fn update(&mut self, power: f64) {
        self.use_rate(self.gamma * (self.old / power + self.additive_increase) + (1.0 - self.gamma) * self.current);
    }

    /// Has the flow sent at `rate`, or at the lowest or highest that there may be, and the window follow.
    fn use_rate(&mut self, rate: f64) {
        self.current = rate.clamp(self.min_rate, self.line_rate.bps() as f64);
        let full = self.line_rate.bytes_in(self.base_rtt);
        self.window = window_at(Rate::from_bps(self.current as u64), self.line_rate, full);
    }
}

/// The power of the hop where it is greatest, normalised by that of a link that is busy without a queue, and the interval between its stamps
/// (Algorithm 1, NORMPOWER).
fn greatest(
    telemetry: &Telemetry,
    previous: &mut [Stamp; MAX_HOPS],
    base_rtt: Duration,
    lowest_current: f64,
) -> Option<(f64, Duration)> {
    let mut greatest: Option<(f64, Duration)> = None;
    for (stamp, previous) in telemetry.stamps().iter().zip(previous) {
        let interval = stamp.time.since(previous.time);
        // A hop that was not there before gives something to compare with, no more.
        if interval > Duration::ZERO && previous.rate.bps() > 0 {
            let rate = stamp.rate.bps() as f64;
            // Sent, and what the queue has grown by.
            let arrived =
                (stamp.tx_bytes + stamp.queue_bytes) as f64 - (previous.tx_bytes + previous.queue_bytes) as f64;
            let current = (arrived * 8.0 / interval.as_secs_f64() / rate).max(lowest_current);
            let voltage = 1.0 + stamp.queue_bytes as f64 * 8.0 / (rate * base_rtt.as_secs_f64());
            if greatest.is_none_or(|(power, _)| current * voltage > power) {
                greatest = Some((current * voltage, interval));
            }
        }
        *previous = *stamp;
    }
    greatest
}

impl Footprint for PowerTcp {
    fn heap_bytes(&self) -> u64 {
        match &self.meter {
            Meter::Telemetry { previous, .. } => size_of_val(&**previous) as u64,
            Meter::Delay { .. } => 0,
        }
    }
}

impl ReactionPoint for PowerTcp {
    fn rate(&mut self, _now: Time) -> Rate {
        Rate::from_bps(self.current as u64)
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn on_ack(&mut self, ack: &AckView<'_>) {
        let is_first = self.taken_at == 0;
        let is_blind = matches!(self.meter, Meter::Telemetry { .. }) && ack.telemetry.is_none();
        if is_blind {
            return;
        }
        if is_first {
            self.taken_at = ack.sent_bytes;
        }
        let round_trip_is_over = ack.acked_bytes > self.taken_at;
        match &mut self.meter {
            Meter::Telemetry { eta, previous } => {
                let Some(telemetry) = ack.telemetry else { return };
                if is_first {
                    previous[..telemetry.stamps().len()].copy_from_slice(telemetry.stamps());
                    return;
                }
                let (eta, found) = (*eta, greatest(telemetry, previous, self.base_rtt, self.lowest_current));
                if let Some((power, interval)) = found {
                    self.smooth(power, interval, self.base_rtt);
                }
                self.update(self.power / eta);
                if round_trip_is_over {
                    (self.old, self.taken_at) = (self.current, ack.sent_bytes);
                }
            }
            Meter::Delay { margin, shortest, last } => {
                *shortest = ack.rtt.min(*shortest);
                let target = Duration::from_ps((shortest.ps() as f64 * *margin) as u64);
                let (then, before) = std::mem::replace(last, (ack.now, ack.rtt));
                let interval = ack.now - then;
                if is_first || interval == Duration::ZERO {
                    return;
                }
                let gradient = (ack.rtt.ps() as f64 - before.ps() as f64) / interval.ps() as f64;
                let current = (gradient + 1.0).max(self.lowest_current);
                self.smooth(current * ack.rtt.ps() as f64 / target.ps().max(1) as f64, interval, target);
                // Without telemetry the window changes once per round trip.
                if round_trip_is_over {
                    self.update(self.power);
                    (self.old, self.taken_at) = (self.current, ack.sent_bytes);
                }
            }
        }
    }

    fn set_rate(&mut self, _now: Time, rate: Rate) {
        self.use_rate(rate.bps() as f64);
        self.old = self.current;
    }

    fn repaces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sender;

    const GBPS: f64 = 1e9;

    /// 100 Gb/s and 10 us: a window of 125,000 B.
    fn reaction_point(config: PowerTcpConfig) -> PowerTcp {
        PowerTcp::new(&config, &sender(Rate::from_gbps(100), Duration::from_us(10)))
    }

    fn stamp(us: u64, tx_bytes: u64, queue_bytes: u64) -> Stamp {
        Stamp { time: Time::ZERO + Duration::from_us(us), tx_bytes, queue_bytes, rate: Rate::from_gbps(100) }
    }

    fn ack(point: &mut PowerTcp, acked_bytes: u64, sent_bytes: u64, stamps: &[Stamp]) {
        let mut telemetry = Telemetry::default();
        stamps.iter().for_each(|stamp| telemetry.push(*stamp));
        let now = stamps.last().unwrap().time;
        let rtt = Duration::from_us(10);
        point.on_ack(&AckView {
            now,
            arrived: None,
            acked_bytes,
            sent_bytes,
            rtt,
            hops: 0,
            path: None,
            telemetry: Some(&telemetry),
        });
    }

    fn assert_near(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 1.0, "{actual} is not {expected}");
    }

    /// The paper's Algorithm 1 by hand: no margin, no floor, gamma 0.9, beta 1 Gb/s.
    #[test]
    fn three_acks_by_hand() {
        let additive_increase = Rate::from_gbps(1);
        let mut point =
            reaction_point(PowerTcpConfig { eta: 1.0, lowest_current: 0.0, additive_increase, ..Default::default() });
        assert_eq!((point.window(), point.current), (125_000, 100.0 * GBPS));
        ack(&mut point, 1000, 125_000, &[stamp(10, 0, 0)]);
        assert_eq!(point.current, 100.0 * GBPS);
        // 10 us later: sent at line rate, and 62,500 B in the queue. Current 1.5, voltage 1.5, power 2.25.
        // 0.9 (100 G / 2.25 + 1 G) + 0.1 x 100 G.
        ack(&mut point, 100_000, 200_000, &[stamp(20, 125_000, 62_500)]);
        assert_near(point.current, 50.9 * GBPS);
        assert_eq!((point.window(), point.old), (63_625, 100.0 * GBPS));
        // 5 us later the queue is empty: sent at line rate, nothing arrived. Power 0; average (2.25 + 0) / 2.
        // 0.9 (100 G / 1.125 + 1 G) + 0.1 x 50.9 G. The first round trip is over.
        ack(&mut point, 125_001, 260_000, &[stamp(25, 187_500, 0)]);
        assert_near(point.current, 85.99 * GBPS);
        assert_eq!((point.old, point.taken_at), (point.current, 260_000));
        // 5 us later: half of line rate. Power 0.5, average 0.8125; more than line rate would be wanted.
        ack(&mut point, 130_000, 260_000, &[stamp(30, 218_750, 0)]);
        assert_eq!((point.current, point.window()), (100.0 * GBPS, 125_000));
    }

    /// Both windows of the update, that of now and that of a round trip ago, are what another control has set: 0.9 (40 G / 2.25 + 1 G) + 0.1 x 40 G.
    #[test]
    fn a_rate_that_is_set_is_the_old_one_too() {
        let additive_increase = Rate::from_gbps(1);
        let mut point =
            reaction_point(PowerTcpConfig { eta: 1.0, lowest_current: 0.0, additive_increase, ..Default::default() });
        ack(&mut point, 1000, 125_000, &[stamp(10, 0, 0)]);
        point.set_rate(Time::ZERO, Rate::from_gbps(40));
        assert_eq!((point.rate(Time::ZERO), point.window()), (Rate::from_gbps(40), 50_000));
        ack(&mut point, 100_000, 200_000, &[stamp(20, 125_000, 62_500)]);
        assert_near(point.current, 20.9 * GBPS);
        for (set, held) in [(1, 100_000_000), (200_000_000_000, 100_000_000_000)] {
            point.set_rate(Time::ZERO, Rate::from_bps(set));
            assert_eq!(point.rate(Time::ZERO), Rate::from_bps(held));
        }
    }

    /// The hop with the greatest power counts, with the interval between its own stamps; longer than tau counts as tau.
    #[test]
    fn the_hop_with_the_greatest_power_rules() {
        let mut point = reaction_point(PowerTcpConfig::default());
        ack(&mut point, 1, 1_000_000, &[stamp(0, 0, 0), stamp(1, 0, 0)]);
        // Hop 1 idles (counted as half busy), hop 2: 80 %, for 5 us.
        ack(&mut point, 2, 1_000_000, &[stamp(5, 0, 0), stamp(6, 50_000, 0)]);
        assert!((point.power - 0.9).abs() < 1e-12, "{}", point.power);
        ack(&mut point, 3, 1_000_000, &[stamp(25, 12_500, 0), stamp(26, 225_000, 0)]);
        assert!((point.power - 0.7).abs() < 1e-12, "{}", point.power);
    }

    /// The path has become longer: what the new hop has sent in total is no measure yet. From the next ACK on it counts.
    #[test]
    fn a_hop_that_was_not_there_before_has_no_power_yet() {
        let mut point = reaction_point(PowerTcpConfig::default());
        ack(&mut point, 1, 1_000_000, &[stamp(0, 0, 0)]);
        ack(&mut point, 2, 1_000_000, &[stamp(10, 100_000, 0), stamp(11, 100_000_000, 0)]);
        assert!((point.power - 0.8).abs() < 1e-12, "{}", point.power);
        ack(&mut point, 3, 1_000_000, &[stamp(20, 200_000, 0), stamp(21, 100_112_500, 0)]);
        assert!((point.power - 0.9).abs() < 1e-12, "{}", point.power);
    }

    /// A paused port sends and receives nothing: its power is at least half.
    #[test]
    fn a_paused_port_is_no_invitation() {
        let mut point = reaction_point(PowerTcpConfig::default());
        ack(&mut point, 1, 1_000_000, &[stamp(0, 0, 125_000)]);
        ack(&mut point, 2, 1_000_000, &[stamp(10, 0, 125_000)]);
        // Current 0.5, voltage 2.
        assert!((point.power - 1.0).abs() < 1e-12, "{}", point.power);
    }

    /// Algorithm 2 by hand: once per round trip.
    #[test]
    fn without_telemetry_power_comes_from_delays() {
        let config = PowerTcpConfig { variant: Variant::Delay, delay_margin: 1.0, ..Default::default() };
        let mut point = reaction_point(config);
        let mut answer = |at_us: u64, rtt_us: u64, acked_bytes, sent_bytes| {
            let (now, rtt) = (Time::ZERO + Duration::from_us(at_us), Duration::from_us(rtt_us));
            point.on_ack(&AckView {
                now,
                arrived: None,
                acked_bytes,
                sent_bytes,
                rtt,
                hops: 0,
                path: None,
                telemetry: None,
            });
            (point.power, point.current / GBPS)
        };
        assert_eq!(answer(10, 10, 1000, 100_000), (1.0, 100.0));
        // 5 us later 5 us more: gradient 1, current 2, voltage 1.5. Half of tau: (1 + 3) / 2.
        assert_eq!(answer(15, 15, 2000, 100_000), (2.0, 100.0));
        // 10 us later as long: current 1, voltage 1.5. The round trip is over: 0.7 (100 / 1.5 + 0.15) + 0.3 x 100.
        let (power, rate) = answer(25, 15, 100_001, 200_000);
        assert!(
            (power - 1.5).abs() < 1e-12 && (rate - (0.7 * (100.0 / 1.5 + 0.15) + 30.0)).abs() < 1e-9,
            "{power} {rate}"
        );
        // Back at 10 us at once: the gradient is at least -0.5.
        let (power, _) = answer(30, 10, 110_000, 200_000);
        assert!((power - 1.0).abs() < 1e-12, "{power}");
    }

    #[test]
    fn rates_end_at_the_lowest_and_at_line_rate() {
        let mut point = reaction_point(PowerTcpConfig { additive_increase: Rate::from_bps(0), ..Default::default() });
        ack(&mut point, 1, 1, &[stamp(0, 0, 0)]);
        for us in 1..100 {
            ack(&mut point, us * 10 + 1, us * 10 + 1, &[stamp(us * 10, us * 125_000, 100_000_000)]);
        }
        assert_eq!((point.rate(Time::ZERO), point.window()), (Rate::from_bps(100_000_000), 125));
        for us in 100..200 {
            ack(&mut point, us * 10 + 1, us * 10 + 1, &[stamp(us * 10, 99 * 125_000 + us, 0)]);
        }
        assert_eq!((point.current, point.window()), (100.0 * GBPS, 125_000));
    }
}
