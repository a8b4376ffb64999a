//! TIMELY (Mittal et al., SIGCOMM 2015): the sender's rate follows the gradient of its round-trip
//! times (Algorithm 1, section 4.3).
//!
//! The paper updates the rate after each completed segment. Here, as in the ns-3 simulators, the
//! rate is updated once per round trip, with the first ACK of data sent after the last update.

use super::parameters::parameters;
use super::window::window_at;
use crate::contract::{
    AckView, CongestionOptions, CongestionSignal, Diagnostics, EffectiveValues, Options, ReactionPoint, SchemeContext,
    SenderFacts, effective_values,
};
use crate::{no_congestion_point, no_notification_point};
use backwater_engine::{Bytes, Duration, Rate, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Source of a set of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimelyProfile {
    /// The HPCC simulator's run script ("timely"), whose increases scale with the link rate.
    #[default]
    HpccNs3,
    /// The Pyrrha simulator's configuration: fixed increases. The simulator's runs also limit the
    /// bytes in flight (`window = true`).
    PyrrhaNs3,
}

parameters! {
    /// TIMELY: rate control by the gradient of round-trip times (SIGCOMM 2015).
    TimelyConfig => TimelyParameters;

    /// Set of parameters that the options below override.
    profile: TimelyProfile,
    /// Weight alpha, 0 to 1, of the newest difference of two round-trip times in the moving average
    /// of these differences.
    #[schemars(range(min = 0.0, max = 1.0))]
    gain?: f64,
    /// Factor beta of a multiplicative decrease, 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    beta?: f64,
    /// T_low: round-trip time below which the rate increases, regardless of the gradient.
    low_rtt?: Duration,
    /// T_high: round-trip time above which the rate decreases, regardless of the gradient.
    high_rtt?: Duration,
    /// Constant round-trip time by which differences are divided to give the gradient.
    min_rtt?: Duration,
    /// Additive increase delta.
    additive_increase?: Rate,
    /// Increase after five consecutive increases (hyperactive increase, HAI).
    hyper_increase?: Rate,
    /// Lowest rate of a flow.
    min_rate?: Rate,
    /// True if bytes in flight are limited to rate x base RTT (off in the paper and the HPCC
    /// simulator's script, on in the Pyrrha simulator's runs). Needs `host.ack_every = 1`.
    window: bool,
    /// True if every new rate moves the departure of the packet being paced. Default false: in the
    /// paper's pacing engine (section 5) and in the HPCC and Pyrrha simulators, a departure is
    /// fixed when it is scheduled.
    repace: bool,
}

/// Consecutive increases after which the rate increases faster (section 4.4).
const HYPER_AFTER: u32 = 5;

impl TimelyProfile {
    /// Returns the profile's parameters for a link of `line_rate`.
    fn parameters(self, line_rate: Rate) -> TimelyParameters {
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
    fn check(&self, scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        // Thresholds do not depend on the link.
        let parameters = self.parameters(Rate::from_gbps(100));
        diagnostics.ordered([("low_rtt", parameters.low_rtt), ("high_rtt", parameters.high_rtt)]);
        if self.window {
            diagnostics.one_ack_per_packet(scheme);
        }
        diagnostics.positive(self.min_rtt, "min_rtt");
        diagnostics.positive(self.min_rate, "min_rate");
    }

    fn profile(&self, _option: &str) -> Option<Value> {
        Some(json!(self.profile))
    }
}

impl CongestionOptions for TimelyConfig {
    no_congestion_point!();
    no_notification_point!();
    type Reaction = Timely;

    fn reaction(&self, sender: &SenderFacts) -> Timely {
        Timely::new(self, sender)
    }

    fn effective_values(&self, sender: &SenderFacts) -> EffectiveValues {
        let window = self.window.then(|| ("window".to_owned(), json!(Bytes(sender.bdp()))));
        effective_values(self.parameters(sender.line_rate)).into_iter().chain(window).collect()
    }
}

impl TimelyConfig {
    /// Returns the effective parameters on a link of `line_rate`: `min_rate` is at most the link's
    /// rate.
    fn parameters(&self, line_rate: Rate) -> TimelyParameters {
        let parameters = self.over(self.profile.parameters(line_rate));
        TimelyParameters { min_rate: parameters.min_rate.min(line_rate), ..parameters }
    }
}

/// Reaction point of one flow.
#[derive(Debug, GetSize)]
pub struct Timely {
    parameters: TimelyParameters,
    line_rate: Rate,
    /// Limit of bytes in flight: line rate times base RTT. `None` without a limit.
    window: Option<u64>,
    current: Rate,
    /// Round-trip time at the last update; `None` before the first ACK.
    last_rtt: Option<Duration>,
    /// True if the last update was before an idle gap longer than minRTT. Its round-trip time then
    /// tells nothing about the present gradient.
    is_stale: bool,
    /// Moving average of the differences of round-trip times, ps.
    rtt_diff: f64,
    /// Consecutive increases.
    increases: u32,
    /// Payload bytes sent before the last update.
    updated_at: u64,
    repaces: bool,
}

impl Timely {
    pub(super) fn new(config: &TimelyConfig, sender: &SenderFacts) -> Timely {
        Timely {
            parameters: config.parameters(sender.line_rate),
            line_rate: sender.line_rate,
            window: config.window.then(|| sender.bdp()),
            current: sender.line_rate,
            last_rtt: None,
            is_stale: false,
            rtt_diff: 0.0,
            increases: 0,
            updated_at: 0,
            repaces: config.repace,
        }
    }

    /// Returns the moving average of round-trip time differences after `rtt`, which follows `last`,
    /// in ps. After a gap, there is no difference yet.
    fn rtt_diff(&self, last: Duration, rtt: Duration) -> f64 {
        if self.is_stale {
            return 0.0;
        }
        let gain = self.parameters.gain;
        (1.0 - gain) * self.rtt_diff + gain * (rtt.ps() as f64 - last.ps() as f64)
    }

    /// Returns the factor of the decrease at the round-trip time `rtt` and the average `rtt_diff`;
    /// `None` if the rate increases.
    fn decrease(&self, rtt_diff: f64, rtt: Duration) -> Option<f64> {
        let parameters = &self.parameters;
        let ps = |span: Duration| span.ps() as f64;
        let gradient = rtt_diff / ps(parameters.min_rtt);
        if rtt < parameters.low_rtt {
            None
        } else if rtt > parameters.high_rtt {
            Some(1.0 - parameters.beta * (1.0 - ps(parameters.high_rtt) / ps(rtt)))
        } else {
            (gradient > 0.0).then_some((1.0 - parameters.beta * gradient).max(0.0))
        }
    }

    /// Sets the rate after the round-trip times `last` and `rtt` (Algorithm 1).
    fn update(&mut self, last: Duration, rtt: Duration) {
        self.rtt_diff = self.rtt_diff(last, rtt);
        self.is_stale = false;
        let decrease = self.decrease(self.rtt_diff, rtt);
        let parameters = &self.parameters;
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

    /// Reports the delay if the rate decreases.
    fn signal(&self, ack: &AckView<'_>) -> Option<CongestionSignal> {
        let last = self.last_rtt.filter(|_| ack.acked_bytes > self.updated_at)?;
        self.decrease(self.rtt_diff(last, ack.rtt), ack.rtt).map(|_| CongestionSignal::Delay)
    }

    fn set_rate(&mut self, _now: Time, rate: Rate) {
        self.current = rate.clamp(self.parameters.min_rate, self.line_rate);
        self.increases = 0;
    }

    fn on_resume(&mut self, now: Time, since: Time) {
        self.is_stale |= self.last_rtt.is_some() && now.since(since) > self.parameters.min_rtt;
    }

    fn repaces(&self) -> bool {
        self.repaces
    }
}

#[cfg(test)]
mod tests;
