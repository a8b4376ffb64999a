//! TIMELY (Mittal et al., SIGCOMM 2015): the sender's rate follows the gradient of its round-trip times (Algorithm 1, section 4.3).
//!
//! The paper updates the rate with every completion of a segment. Here, as in the ns-3 simulators, it is updated once per round trip: when
//! something is acknowledged that was sent after the last update.

use super::none::NoCongestionControl;
use super::window::window_at;
use crate::contract::{
    AckView, Beside, CongestionOptions, Findings, Footprint, InForce, Options, ReactionPoint, SenderFacts, Site,
    in_force,
};
use backwater_engine::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Where a column of parameters comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimelyProfile {
    /// The HPCC simulator's run script ("timely"), whose increases are scaled with the link rate.
    #[default]
    HpccNs3,
    /// The Pyrrha simulator's configuration: fixed increases. Its runs also have `window = true`.
    PyrrhaNs3,
}

/// TIMELY: rate control by the gradient of round-trip times (SIGCOMM 2015).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimelyConfig {
    /// The column of parameters to start from.
    pub profile: TimelyProfile,
    /// Weight alpha of a new difference of round-trip times in their moving average, 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gain: Option<f64>,
    /// Factor beta of a multiplicative decrease, 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub beta: Option<f64>,
    /// T_low: below this round-trip time the rate increases, whatever the gradient.
    pub low_rtt: Option<Duration>,
    /// T_high: above this round-trip time the rate decreases, whatever the gradient.
    pub high_rtt: Option<Duration>,
    /// The round-trip time that differences are divided by to give the gradient: a constant, not measured.
    pub min_rtt: Option<Duration>,
    /// Additive increase delta.
    pub additive_increase: Option<Rate>,
    /// Increase after five increases in a row (hyperactive increase, HAI).
    pub hyper_increase: Option<Rate>,
    /// Lowest rate.
    pub min_rate: Option<Rate>,
    /// Whether bytes in flight are limited to rate x base RTT (off in the paper and the HPCC script, on in Pyrrha's runs). Needs
    /// `host.ack_every = 1`.
    pub window: bool,
}

/// The parameters that a profile and its overrides come to on one link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TimelyParameters {
    /// Weight of a new difference of round-trip times.
    pub gain: f64,
    /// Factor of a multiplicative decrease.
    pub beta: f64,
    /// Round-trip time below which the rate increases.
    pub low_rtt: Duration,
    /// Round-trip time above which the rate decreases.
    pub high_rtt: Duration,
    /// What differences are divided by to give the gradient.
    pub min_rtt: Duration,
    /// Additive increase.
    pub additive_increase: Rate,
    /// Increase after [`HYPER_AFTER`] increases in a row.
    pub hyper_increase: Rate,
    /// Lowest rate.
    pub min_rate: Rate,
}

/// Increases in a row after which the rate increases faster (section 4.4).
const HYPER_AFTER: u32 = 5;

impl TimelyProfile {
    /// The column of parameters for a link of `line_rate`.
    pub fn parameters(self, line_rate: Rate) -> TimelyParameters {
        let mbps = |rate: u64| Rate::from_bps(rate * 1_000_000);
        let hpcc = TimelyParameters {
            gain: 0.875,
            beta: 0.8,
            low_rtt: Duration::from_us(50),
            high_rtt: Duration::from_us(500),
            min_rtt: Duration::from_us(20),
            additive_increase: Rate::from_bps(line_rate.bps() / 1000),
            hyper_increase: Rate::from_bps(line_rate.bps() / 1000 * 5),
            min_rate: mbps(100),
        };
        match self {
            TimelyProfile::HpccNs3 => hpcc,
            TimelyProfile::PyrrhaNs3 => {
                TimelyParameters { additive_increase: mbps(50), hyper_increase: mbps(100), ..hpcc }
            }
        }
    }
}

impl Options for TimelyConfig {
    fn check(&self, beside: &Beside<'_>, findings: &mut Findings) {
        // Thresholds do not depend on the link.
        let parameters = self.parameters(Rate::from_gbps(100));
        findings.ordered([("low_rtt", parameters.low_rtt), ("high_rtt", parameters.high_rtt)]);
        if self.window {
            findings.one_ack_per_packet(beside);
        }
        findings.positive(self.min_rtt, "min_rtt");
        findings.positive(self.min_rate, "min_rate");
    }

    fn profile(&self, _option: &str) -> Option<Value> {
        Some(json!(self.profile))
    }
}

impl CongestionOptions for TimelyConfig {
    type Point = NoCongestionControl;
    type Notification = NoCongestionControl;
    type Reaction = Timely;

    fn point(&self, _site: &Site<'_>) -> Self::Point {
        NoCongestionControl
    }

    fn notification(&self, _line_rate: Rate) -> Self::Notification {
        NoCongestionControl
    }

    fn reaction(&self, sender: &SenderFacts) -> Timely {
        Timely::new(self, sender)
    }

    fn in_force(&self, sender: &SenderFacts) -> InForce {
        let window = self.window.then(|| ("window".to_owned(), json!(Bytes(sender.bdp()))));
        in_force(self.parameters(sender.line_rate)).into_iter().chain(window).collect()
    }
}

impl TimelyConfig {
    /// The parameters that hold on a link of `line_rate`: the profile's, overridden by those given; the lowest rate is no higher than the
    /// link's.
    pub fn parameters(&self, line_rate: Rate) -> TimelyParameters {
        let profile = self.profile.parameters(line_rate);
        TimelyParameters {
            gain: self.gain.unwrap_or(profile.gain),
            beta: self.beta.unwrap_or(profile.beta),
            low_rtt: self.low_rtt.unwrap_or(profile.low_rtt),
            high_rtt: self.high_rtt.unwrap_or(profile.high_rtt),
            min_rtt: self.min_rtt.unwrap_or(profile.min_rtt),
            additive_increase: self.additive_increase.unwrap_or(profile.additive_increase),
            hyper_increase: self.hyper_increase.unwrap_or(profile.hyper_increase),
            min_rate: self.min_rate.unwrap_or(profile.min_rate).min(line_rate),
        }
    }
}

/// The reaction point of one flow.
#[derive(Debug)]
pub struct Timely {
    parameters: TimelyParameters,
    line_rate: Rate,
    /// Bytes of line rate times base RTT, if bytes in flight are limited.
    window: Option<u64>,
    current: Rate,
    /// The round-trip time of the last update; `None` before the first ACK.
    last_rtt: Option<Duration>,
    /// The moving average of the differences of round-trip times, ps.
    rtt_diff: f64,
    /// Increases in a row.
    increases: u32,
    /// Payload bytes that had been sent at the last update.
    updated_at: u64,
}

impl Timely {
    pub(super) fn new(config: &TimelyConfig, sender: &SenderFacts) -> Timely {
        Timely {
            parameters: config.parameters(sender.line_rate),
            line_rate: sender.line_rate,
            window: config.window.then(|| sender.bdp()),
            current: sender.line_rate,
            last_rtt: None,
            rtt_diff: 0.0,
            increases: 0,
            updated_at: 0,
        }
    }

    /// Algorithm 1: the new rate after the round-trip times `last` and `rtt`.
    fn update(&mut self, last: Duration, rtt: Duration) {
        let parameters = &self.parameters;
        let ps = |span: Duration| span.ps() as f64;
        self.rtt_diff = (1.0 - parameters.gain) * self.rtt_diff + parameters.gain * (ps(rtt) - ps(last));
        let gradient = self.rtt_diff / ps(parameters.min_rtt);
        let decrease = if rtt < parameters.low_rtt {
            None
        } else if rtt > parameters.high_rtt {
            Some(1.0 - parameters.beta * (1.0 - ps(parameters.high_rtt) / ps(rtt)))
        } else {
            (gradient > 0.0).then_some((1.0 - parameters.beta * gradient).max(0.0))
        };
        let rate = match decrease {
            Some(factor) => {
                self.increases = 0;
                Rate::from_bps((self.current.bps() as f64 * factor) as u64)
            }
            None => {
                let is_hyper = self.increases >= HYPER_AFTER;
                self.increases += 1;
                let step = if is_hyper { parameters.hyper_increase } else { parameters.additive_increase };
                Rate::from_bps(self.current.bps().saturating_add(step.bps()))
            }
        };
        self.current = rate.clamp(parameters.min_rate, self.line_rate);
    }
}

impl Footprint for Timely {}

impl ReactionPoint for Timely {
    fn rate(&mut self, _now: Time) -> Rate {
        self.current
    }

    fn window(&self) -> u64 {
        self.window.map_or(u64::MAX, |window| window_at(self.current, self.line_rate, window))
    }

    fn on_ack(&mut self, ack: &AckView<'_>) {
        if ack.acked_bytes <= self.updated_at {
            return;
        }
        if let Some(last) = self.last_rtt {
            self.update(last, ack.rtt);
        }
        self.last_rtt = Some(ack.rtt);
        self.updated_at = ack.sent_bytes;
    }

    fn set_rate(&mut self, _now: Time, rate: Rate) {
        self.current = rate.clamp(self.parameters.min_rate, self.line_rate);
        self.increases = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sender;

    const MBPS: u64 = 1_000_000;
    const GBPS: u64 = 1_000 * MBPS;

    fn reaction_point(config: &TimelyConfig, gbps: u64) -> Timely {
        Timely::new(config, &sender(Rate::from_gbps(gbps), Duration::from_us(8)))
    }

    /// The rate after one more round trip that took `us`.
    fn round_trip(point: &mut Timely, us: u64) -> u64 {
        let acked_bytes = point.updated_at + 1;
        let sent_bytes = acked_bytes + 100_000;
        let (now, rtt) = (Time::ZERO + Duration::from_us(us), Duration::from_us(us));
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
        point.rate(now).bps()
    }

    /// Rates are cut to whole bits per second after a multiplication in floating point.
    fn assert_rate(actual: u64, expected: u64) {
        assert!(actual.abs_diff(expected) <= 1, "{actual} is not {expected}");
    }

    /// Algorithm 1 by hand: alpha 0.875, beta 0.8, minRTT 20 us.
    #[test]
    fn between_the_thresholds_the_gradient_decides() {
        let mut point = reaction_point(&TimelyConfig::default(), 100);
        // The first round trip only gives something to compare with.
        assert_eq!(round_trip(&mut point, 100), 100 * GBPS);
        // 4 us longer: the average is 3.5 us, the gradient 0.175, the factor 0.86.
        assert_rate(round_trip(&mut point, 104), 86 * GBPS);
        // As long again: the average is 0.4375 us, the factor 0.9825.
        assert_rate(round_trip(&mut point, 104), 84_495 * MBPS);
        // 8 us shorter: the average is negative, 100 Mb/s more.
        assert_rate(round_trip(&mut point, 96), 84_595 * MBPS);
        // 40 us longer: the gradient is 35 / 20 less a little, and the factor is not below zero; the rate not below 100 Mb/s.
        assert_rate(round_trip(&mut point, 136), 100 * MBPS);
    }

    #[test]
    fn beyond_the_thresholds_the_gradient_does_not_matter() {
        let mut point = reaction_point(&TimelyConfig::default(), 100);
        round_trip(&mut point, 1000);
        // Half as long, which is still above T_high: 1 - 0.8 (1 - 500 / 625).
        assert_rate(round_trip(&mut point, 625), 84 * GBPS);
        // Not above T_high any more, and shorter.
        assert_rate(round_trip(&mut point, 500), 84_100 * MBPS);
        round_trip(&mut point, 10);
        round_trip(&mut point, 10);
        // Longer, but below T_low.
        assert_rate(round_trip(&mut point, 49), 84_400 * MBPS);
        assert!(point.rtt_diff > 0.0);
        // At T_low the gradient counts, which is positive.
        assert!(round_trip(&mut point, 50) < 84_400 * MBPS);
    }

    #[test]
    fn the_sixth_increase_in_a_row_and_those_after_it_are_larger() {
        let mut point = reaction_point(&TimelyConfig::default(), 100);
        point.current = Rate::from_gbps(10);
        round_trip(&mut point, 10);
        let rates: Vec<u64> = (0..7).map(|_| round_trip(&mut point, 10) / MBPS).collect();
        assert_eq!(rates, [10_100, 10_200, 10_300, 10_400, 10_500, 11_000, 11_500]);
        // A decrease begins the count anew: 1 - 0.8 (1 - 500 / 1000).
        assert_rate(round_trip(&mut point, 1000), 6_900 * MBPS);
        assert_rate(round_trip(&mut point, 10), 7_000 * MBPS);
        point.current = Rate::from_gbps(100);
        assert_eq!(round_trip(&mut point, 10), 100 * GBPS, "no more than line rate");
    }

    /// After six increases the seventh would be hyperactive: not where another control has set the rate. The gradient goes on.
    #[test]
    fn a_rate_that_is_set_begins_a_new_row_of_increases() {
        let mut point = reaction_point(&TimelyConfig::default(), 100);
        (0..7).for_each(|_| assert_rate(round_trip(&mut point, 10), 100 * GBPS));
        point.set_rate(Time::ZERO, Rate::from_gbps(20));
        assert_eq!((point.rate(Time::ZERO).bps(), point.window()), (20 * GBPS, u64::MAX));
        assert_rate(round_trip(&mut point, 10), 20_100 * MBPS);
        // 90 us longer: the average is 78.75 us, the factor not below zero.
        assert_rate(round_trip(&mut point, 100), 100 * MBPS);
        for (set, held) in [(1, 100 * MBPS), (200 * GBPS, 100 * GBPS)] {
            point.set_rate(Time::ZERO, Rate::from_bps(set));
            assert_eq!(point.rate(Time::ZERO).bps(), held);
        }
    }

    /// ACKs for what was sent before the last update say nothing new.
    #[test]
    fn the_rate_is_updated_once_per_round_trip() {
        let mut point = reaction_point(&TimelyConfig::default(), 100);
        let mut ack = |acked_bytes, sent_bytes, us| {
            let (now, rtt) = (Time::ZERO, Duration::from_us(us));
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
            point.rate(now).bps()
        };
        assert_eq!(ack(1000, 50_000, 100), 100 * GBPS);
        assert_eq!(ack(2000, 51_000, 900), 100 * GBPS);
        assert_eq!(ack(50_000, 99_000, 900), 100 * GBPS);
        // Compared with the 100 us of the last update.
        assert_rate(ack(51_000, 100_000, 104), 86 * GBPS);
        assert_rate(ack(100_000, 149_000, 900), 86 * GBPS);
        assert!(ack(101_000, 150_000, 900) < 86 * GBPS);
    }

    #[test]
    fn a_window_shrinks_with_the_rate() {
        let mut point = reaction_point(&TimelyConfig { window: true, ..Default::default() }, 100);
        assert_eq!(point.window(), 100_000);
        point.current = Rate::from_gbps(25);
        assert_eq!(point.window(), 25_000);
        assert_eq!(reaction_point(&TimelyConfig::default(), 100).window(), u64::MAX);
    }

    /// Mb/s of additive, hyper and lowest rate.
    #[test]
    fn profiles_have_the_parameters_of_their_sources() {
        for (profile, gbps, rates) in [
            (TimelyProfile::HpccNs3, 25, [25, 125, 100]),
            (TimelyProfile::HpccNs3, 100, [100, 500, 100]),
            (TimelyProfile::HpccNs3, 400, [400, 2000, 100]),
            (TimelyProfile::PyrrhaNs3, 100, [50, 100, 100]),
        ] {
            let p = profile.parameters(Rate::from_gbps(gbps));
            let rates_of = [p.additive_increase, p.hyper_increase, p.min_rate].map(|rate| rate.bps() / MBPS);
            assert_eq!(rates_of, rates, "{profile:?} at {gbps} Gb/s");
            let times = [p.low_rtt, p.high_rtt, p.min_rtt].map(|span| span.ps() / 1_000_000);
            assert_eq!((times, p.gain, p.beta), ([50, 500, 20], 0.875, 0.8));
        }
        let config = TimelyConfig { beta: Some(0.5), min_rtt: Some(Duration::from_us(5)), ..Default::default() };
        let profile = TimelyProfile::HpccNs3.parameters(Rate::from_gbps(40));
        let expected = TimelyParameters { beta: 0.5, min_rtt: Duration::from_us(5), ..profile };
        assert_eq!(config.parameters(Rate::from_gbps(40)), expected);
    }
}
