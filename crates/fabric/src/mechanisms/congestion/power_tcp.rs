//! PowerTCP (Addanki et al., NSDI 2022): the sender's window follows the *power* of the network.
//! Power is the product of current (bytes arriving at a port) and voltage (bytes queued at the port
//! and in flight).
//!
//! With telemetry (Algorithm 1), power is measured at every hop. Without telemetry (Algorithm 2,
//! theta-PowerTCP), it is computed from round-trip times and their gradient. Rates represent
//! windows: W = rate x base RTT.

use super::telemetry::{RateCode, TELEMETRY_BYTES, TelemetryStamper};
use super::window::window_at;
use crate::contract::{
    AckView, CongestionOptions, CongestionSignal, Diagnostics, EffectiveValues, Options, ReactionPoint, SchemeContext,
    SenderFacts, Site, effective_values,
};
use crate::frame::MAX_HOPS;
use crate::frame::record::{Stamp, Telemetry};
use crate::no_notification_point;
use backwater_engine::{Duration, Rate, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Source of power measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Stamps of switches in packets.
    #[default]
    Telemetry,
    /// Round-trip times: theta-PowerTCP.
    Delay,
}

/// PowerTCP: window control by the product of queue length and arrival rate, from telemetry or from
/// delays (NSDI 2022).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PowerTcpConfig {
    /// Source of power measurements.
    pub variant: Variant,
    /// Weight gamma of a new window, 0 to 1. Default 0.9 with telemetry, 0.7 without (authors'
    /// simulator; the paper has 0.9).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gamma: Option<f64>,
    /// Additive increase beta as a rate: beta = rate x base RTT. Default 150 Mb/s (authors'
    /// simulator; the paper has a tenth of the line rate).
    pub additive_increase: Rate,
    /// Target utilisation with telemetry, 0 to 1. Default 0.95 (authors' simulator; the paper has
    /// no target, which equals 1).
    #[schemars(range(min = 0.01, max = 1.0))]
    pub eta: f64,
    /// Without telemetry, the longest round-trip time that is no sign of congestion, as a multiple
    /// of the shortest. Default 1.05 (authors' simulator; the paper has no margin, which equals 1).
    #[schemars(range(min = 1.0, max = 10.0))]
    pub delay_margin: f64,
    /// Lower bound of a measured current, as a share of the link's rate. A paused port has a
    /// current of zero: without this bound, rates would rise. Default 0.5 (authors' simulator; the
    /// paper has no bound, which equals 0).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub lowest_current: f64,
    /// Base round-trip time tau. Default: the longest of any pair of hosts, computed from the
    /// topology.
    pub base_rtt: Option<Duration>,
    /// Lowest rate of a flow. Default 100 Mb/s (authors' simulator).
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

impl Options for PowerTcpConfig {
    fn check(&self, scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        diagnostics.positive(Some(self.min_rate), "min_rate");
        diagnostics.positive(self.base_rtt, "base_rtt");
        diagnostics.one_ack_per_packet(scheme);
    }
}

impl CongestionOptions for PowerTcpConfig {
    type Point = Option<TelemetryStamper>;
    no_notification_point!();
    type Reaction = PowerTcp;

    fn point(&self, site: &Site<'_>) -> Self::Point {
        self.has_telemetry().then(|| TelemetryStamper::new(RateCode::Exact, site))
    }

    fn reaction(&self, sender: &SenderFacts) -> PowerTcp {
        PowerTcp::new(self, sender)
    }

    fn telemetry_bytes(&self) -> u32 {
        if self.has_telemetry() { TELEMETRY_BYTES } else { 0 }
    }

    fn effective_values(&self, sender: &SenderFacts) -> EffectiveValues {
        let PowerTcp { gamma, base_rtt, .. } = PowerTcp::new(self, sender);
        effective_values(json!({ "gamma": gamma, "base_rtt": base_rtt, "min_rate": self.min_rate(sender) }))
    }
}

impl PowerTcpConfig {
    fn has_telemetry(&self) -> bool {
        self.variant == Variant::Telemetry
    }

    /// Returns the lowest rate of a flow, which is at most the rate of the sender's link.
    fn min_rate(&self, sender: &SenderFacts) -> Rate {
        self.min_rate.min(sender.line_rate)
    }
}

/// Reaction point of one flow.
#[derive(Debug, GetSize)]
pub struct PowerTcp {
    gamma: f64,
    additive_increase: f64,
    lowest_current: f64,
    min_rate: f64,
    line_rate: Rate,
    base_rtt: Duration,
    /// Rate in use, b/s.
    current: f64,
    /// Window in use, in bytes: the rate in use times base RTT.
    window: u64,
    /// Rate one round trip ago, b/s.
    old: f64,
    /// Moving average of normalised power.
    power: f64,
    /// Payload bytes sent before `old` was recorded; 0 before the first ACK.
    taken_at: u64,
    meter: Meter,
}

/// State for measuring power.
#[derive(Debug, GetSize)]
enum Meter {
    Telemetry {
        eta: f64,
        /// True if `previous` is from before an idle gap longer than the base round-trip time. The
        /// current since then is an average over the gap.
        is_stale: bool,
        previous: Box<[Stamp; MAX_HOPS]>,
    },
    Delay {
        margin: f64,
        /// Shortest round-trip time so far. It starts with the base round-trip time, so that a flow
        /// that starts under congestion does not take queueing for propagation delay.
        shortest: Duration,
        last: (Time, Duration),
    },
}

impl PowerTcp {
    pub(super) fn new(config: &PowerTcpConfig, sender: &SenderFacts) -> PowerTcp {
        let base_rtt = config.base_rtt.unwrap_or(sender.base_rtt);
        let (gamma, meter) = match config.variant {
            Variant::Telemetry => {
                let previous = Box::new([Stamp::default(); MAX_HOPS]);
                (0.9, Meter::Telemetry { eta: config.eta, is_stale: false, previous })
            }
            Variant::Delay => {
                let last = (Time::ZERO, Duration::ZERO);
                (0.7, Meter::Delay { margin: config.delay_margin, shortest: base_rtt, last })
            }
        };
        let line_rate = sender.line_rate.bps() as f64;
        PowerTcp {
            gamma: config.gamma.unwrap_or(gamma),
            additive_increase: config.additive_increase.bps() as f64,
            lowest_current: config.lowest_current,
            min_rate: config.min_rate(sender).bps() as f64,
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

    /// Adds a measurement of normalised power over `interval` to the moving average.
    fn smooth(&mut self, power: f64, interval: Duration, base_rtt: Duration) {
        let weight = interval.min(base_rtt).ps() as f64 / base_rtt.ps() as f64;
        self.power = (1.0 - weight) * self.power + weight * power;
    }

    /// Updates the rate: W = gamma (W_old / power + beta) + (1 - gamma) W. A `power` of 1 is the
    /// target.
    fn update(&mut self, power: f64) {
        self.use_rate(self.gamma * (self.old / power + self.additive_increase) + (1.0 - self.gamma) * self.current);
    }

    /// Sets the rate to `rate`, but at least to the lowest rate and at most to the line rate. Also
    /// sets the window that corresponds to the rate.
    fn use_rate(&mut self, rate: f64) {
        self.current = rate.clamp(self.min_rate, self.line_rate.bps() as f64);
        let full = self.line_rate.bytes_in(self.base_rtt);
        self.window = window_at(Rate::from_bps(self.current as u64), self.line_rate, full);
    }
}

/// Returns the hop with the greatest power, this power, and the time between the hop's stamps
/// (Algorithm 1, NORMPOWER). The power is normalised by the power of a busy link without a queue.
fn greatest(
    telemetry: &Telemetry,
    previous: &[Stamp; MAX_HOPS],
    base_rtt: Duration,
    lowest_current: f64,
) -> Option<(usize, f64, Duration)> {
    let mut greatest: Option<(usize, f64, Duration)> = None;
    for (hop, (stamp, previous)) in telemetry.stamps().iter().zip(previous).enumerate() {
        let interval = stamp.time.since(previous.time);
        // The first stamp of a hop only serves for comparison.
        if interval > Duration::ZERO && previous.rate.bps() > 0 {
            let rate = stamp.rate.bps() as f64;
            // Arrived bytes are the bytes sent plus the growth of the queue.
            let arrived =
                (stamp.tx_bytes + stamp.queue_bytes) as f64 - (previous.tx_bytes + previous.queue_bytes) as f64;
            let current = (arrived * 8.0 / interval.as_secs_f64() / rate).max(lowest_current);
            let voltage = 1.0 + stamp.queue_bytes as f64 * 8.0 / (rate * base_rtt.as_secs_f64());
            if greatest.is_none_or(|(_, power, _)| current * voltage > power) {
                greatest = Some((hop, current * voltage, interval));
            }
        }
    }
    greatest
}

/// Returns the longest round-trip time that is no sign of congestion.
fn longest_free(shortest: Duration, margin: f64) -> Duration {
    Duration::from_ps((shortest.ps() as f64 * margin) as u64)
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
            Meter::Telemetry { eta, is_stale, previous } => {
                let Some(telemetry) = ack.telemetry else { return };
                if is_first || std::mem::take(is_stale) {
                    previous[..telemetry.stamps().len()].copy_from_slice(telemetry.stamps());
                    return;
                }
                let (eta, found) = (*eta, greatest(telemetry, previous, self.base_rtt, self.lowest_current));
                previous[..telemetry.stamps().len()].copy_from_slice(telemetry.stamps());
                if let Some((_, power, interval)) = found {
                    self.smooth(power, interval, self.base_rtt);
                }
                self.update(self.power / eta);
                if round_trip_is_over {
                    (self.old, self.taken_at) = (self.current, ack.sent_bytes);
                }
            }
            Meter::Delay { margin, shortest, last } => {
                *shortest = ack.rtt.min(*shortest);
                let target = longest_free(*shortest, *margin);
                let (then, before) = std::mem::replace(last, (ack.now, ack.rtt));
                let interval = ack.now - then;
                if is_first || interval == Duration::ZERO {
                    return;
                }
                let gradient = (ack.rtt.ps() as f64 - before.ps() as f64) / interval.ps() as f64;
                let current = (gradient + 1.0).max(self.lowest_current);
                self.smooth(current * ack.rtt.ps() as f64 / target.ps().max(1) as f64, interval, target);
                // Without telemetry, the window changes once per round trip.
                if round_trip_is_over {
                    self.update(self.power);
                    (self.old, self.taken_at) = (self.current, ack.sent_bytes);
                }
            }
        }
    }

    /// Reports the hop with the greatest power if this power exceeds the target. Without telemetry,
    /// reports the delay if it exceeds the longest round-trip time that is no sign of congestion.
    fn signal(&self, ack: &AckView<'_>) -> Option<CongestionSignal> {
        match &self.meter {
            Meter::Telemetry { eta, is_stale, previous } => {
                let telemetry = ack.telemetry.filter(|_| self.taken_at > 0 && !is_stale)?;
                let (hop, power, _) = greatest(telemetry, previous, self.base_rtt, self.lowest_current)?;
                (power > *eta).then_some(CongestionSignal::Load(hop))
            }
            Meter::Delay { margin, shortest, .. } => {
                (ack.rtt > longest_free(*shortest.min(&ack.rtt), *margin)).then_some(CongestionSignal::Delay)
            }
        }
    }

    fn set_rate(&mut self, _now: Time, rate: Rate) {
        self.use_rate(rate.bps() as f64);
        self.old = self.current;
    }

    /// Drops the stamps from before a long gap. Without telemetry, nothing is stale: the change of
    /// the round-trip time is divided by the time in which it occurred.
    fn on_resume(&mut self, now: Time, since: Time) {
        if let Meter::Telemetry { is_stale, .. } = &mut self.meter {
            *is_stale |= now.since(since) > self.base_rtt;
        }
    }

    fn repaces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
