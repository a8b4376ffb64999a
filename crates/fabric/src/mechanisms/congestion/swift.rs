//! Swift (Kumar et al., SIGCOMM 2020): the sender's window keeps the delay of its packets at a
//! target (Algorithm 1).
//!
//! The target grows with the number of links on a packet's path. It also grows as the window
//! shrinks, so that many flows can share a link without coordination. A window can be smaller than
//! a packet: then packets are paced.

use super::parameters::parameters;
use crate::contract::{
    AckView, CongestionOptions, CongestionSignal, Diagnostics, EffectiveValues, LossSignal, Options, ReactionPoint,
    SchemeContext, SenderFacts, effective_values,
};
use crate::{no_congestion_point, no_notification_point};
use backwater_engine::{Duration, Rate, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Source of a set of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwiftProfile {
    /// The target is the network's base round-trip time plus some queueing. The other parameters
    /// are those on which the two simulators below agree.
    #[default]
    Fabric,
    /// The Pyrrha simulator: a target that suits only its fabric.
    PyrrhaNs3,
    /// The htsim simulator, whose authors call its values guesses: a target that suits base
    /// round-trip times around 20 us.
    Htsim,
}

parameters! {
    /// Swift: window control by the distance of delays from a target (SIGCOMM 2020).
    SwiftConfig => SwiftParameters;

    /// Set of parameters that the options below override.
    profile: SwiftProfile,
    /// Target delay, before links and a small window add to it. With the profile `fabric`, the
    /// target over the longest path is the network's base round-trip time plus `queueing`.
    base_target?: Duration,
    /// Part of the target above the base round-trip time. Default 8 us (100 KB at 100 Gb/s, the
    /// Kmin of ECN); used only if `base_target` is not set.
    queueing: Option<Duration>,
    /// Addition to the target per link of the path. With the profile `fabric`, the part of a base
    /// round-trip time that a link adds.
    per_hop?: Duration,
    /// Largest addition to the target by a small window (flow scaling); "0 s" switches flow scaling
    /// off.
    fs_range?: Duration,
    /// Window, in packets, at which flow scaling adds the most.
    #[schemars(range(min = 0.0, max = 1000000.0))]
    fs_min_cwnd?: f64,
    /// Window, in packets, from which on flow scaling adds nothing.
    #[schemars(range(min = 0.0, max = 1000000.0))]
    fs_max_cwnd?: f64,
    /// Additive increase: packets per round trip.
    #[schemars(range(min = 0.0, max = 1000.0))]
    ai?: f64,
    /// Factor beta of a multiplicative decrease.
    #[schemars(range(min = 0.0, max = 1.0))]
    beta?: f64,
    /// Largest share of the window that one decrease takes off.
    #[schemars(range(min = 0.0, max = 1.0))]
    max_mdf?: f64,
    /// Smallest window, in packets.
    #[schemars(range(min = 0.0, max = 1000000.0))]
    min_cwnd?: f64,
    /// Largest window, in packets.
    #[schemars(range(min = 0.0, max = 1000000.0))]
    max_cwnd?: f64,
    /// Initial window of a flow, in packets.
    #[schemars(range(min = 0.0, max = 1000000.0))]
    initial_cwnd?: f64,
    /// Weight of the past in the smoothed round-trip time, which paces packets and limits decreases
    /// to one per round trip. The delay of each packet, not the smoothed round-trip time, is
    /// compared with the target.
    #[schemars(range(min = 0.0, max = 0.999))]
    rtt_weight?: f64,
}

/// Consecutive retransmission timeouts that set the window to the smallest (RETX_RESET_THRESHOLD of
/// the paper).
const TIMEOUTS_TO_RESET: u32 = 5;

/// Default queueing delay that the target includes.
const QUEUEING: Duration = Duration::from_us(8);

/// Largest addition of flow scaling, as a multiple of the target over the longest path (htsim: 5 of
/// its base targets).
const FS_TARGETS: u64 = 5;

fn sum(one: Duration, other: Duration) -> Duration {
    Duration::from_ps(one.ps().saturating_add(other.ps()))
}

fn times(one: Duration, factor: u64) -> Duration {
    Duration::from_ps(one.ps().saturating_mul(factor))
}

impl Options for SwiftConfig {
    fn check(&self, scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        diagnostics.one_ack_per_packet(scheme);
        diagnostics.positive(self.fs_min_cwnd, "fs_min_cwnd");
        diagnostics.positive(self.min_cwnd, "min_cwnd");
        let (low, high) = self.fs_windows();
        diagnostics.error(low >= high, "fs_min_cwnd", format_args!("must be less than fs_max_cwnd, {high}"));
        let is_off = self.fs_range == Some(Duration::ZERO);
        for (option, window) in [("fs_min_cwnd", self.fs_min_cwnd), ("fs_max_cwnd", self.fs_max_cwnd)] {
            diagnostics.error(is_off && window.is_some(), option, "has no effect: fs_range is 0 s");
        }
        let is_set = self.base_target.is_some() || self.profile != SwiftProfile::Fabric;
        let message = "has no effect: base_target is set explicitly or by the profile";
        diagnostics.error(self.queueing.is_some() && is_set, "queueing", message);
    }

    fn profile(&self, _option: &str) -> Option<Value> {
        Some(json!(self.profile))
    }
}

impl CongestionOptions for SwiftConfig {
    no_congestion_point!();
    no_notification_point!();
    type Reaction = Swift;

    fn reaction(&self, sender: &SenderFacts) -> Swift {
        Swift::new(self, sender)
    }

    fn needs_hops(&self) -> bool {
        true
    }

    fn check_at(&self, sender: &SenderFacts, diagnostics: &mut Diagnostics) {
        let parameters = self.parameters(sender);
        let [least, first, most] = [parameters.min_cwnd, parameters.initial_cwnd, parameters.max_cwnd];
        diagnostics.ordered([("min_cwnd", least), ("max_cwnd", most)]);
        diagnostics.ordered([("initial_cwnd", first), ("max_cwnd", most)]);
        diagnostics.error(first < least, "initial_cwnd", format_args!("must be at least min_cwnd, {least}"));
        // Check the longest and the shortest possible path: the target is linear in between.
        for hops in [sender.hops, sender.hops.min(2)] {
            let target = sum(parameters.base_target, times(parameters.per_hop, hops.into()));
            let base_rtt = sender.base_rtt - sender.hop_rtt * u64::from(sender.hops - hops);
            let message = format_args!(
                "the target delay over {hops} links is {target}, but base round-trip times are up to {base_rtt}: \
                    packets exceed the target even with empty queues, and rates collapse"
            );
            diagnostics.warning(target <= base_rtt, "base_target", message);
            if target <= base_rtt {
                break;
            }
        }
    }

    fn effective_values(&self, sender: &SenderFacts) -> EffectiveValues {
        let is_derived = self.profile == SwiftProfile::Fabric && self.base_target.is_none();
        let queueing = if is_derived { json!(self.queueing.unwrap_or(QUEUEING)) } else { json!("none") };
        effective_values(self.parameters(sender)).into_iter().chain([("queueing".to_owned(), queueing)]).collect()
    }
}

impl SwiftConfig {
    /// Returns the windows between which flow scaling acts.
    fn fs_windows(&self) -> (f64, f64) {
        let most = match self.profile {
            SwiftProfile::Fabric | SwiftProfile::Htsim => 100.0,
            SwiftProfile::PyrrhaNs3 => 50.0,
        };
        (self.fs_min_cwnd.unwrap_or(0.1), self.fs_max_cwnd.unwrap_or(most))
    }

    /// Returns the effective parameters at `sender`.
    fn parameters(&self, sender: &SenderFacts) -> SwiftParameters {
        let us = Duration::from_us;
        let wire = packet_bytes(sender) as f64;
        let packets = |bytes: u64| (bytes as f64 / wire).ceil().max(1.0);
        // Target delay over the longest path.
        let target = sum(sender.base_rtt, self.queueing.unwrap_or(QUEUEING));
        let per_hop = self.per_hop.unwrap_or(match self.profile {
            SwiftProfile::Fabric => sender.hop_rtt,
            SwiftProfile::PyrrhaNs3 => Duration::from_ns(1500),
            SwiftProfile::Htsim => Duration::from_ns(3050),
        });
        let (fs_min_cwnd, fs_max_cwnd) = self.fs_windows();
        let fabric = SwiftParameters {
            base_target: Duration::from_ps(target.ps().saturating_sub(times(per_hop, sender.hops.into()).ps())),
            per_hop,
            fs_range: times(target, FS_TARGETS),
            fs_min_cwnd,
            fs_max_cwnd,
            ai: 1.0,
            beta: 0.8,
            max_mdf: 0.5,
            min_cwnd: 0.01,
            max_cwnd: 2.0 * packets(sender.line_rate.bytes_in(target)),
            initial_cwnd: packets(sender.bdp()),
            rtt_weight: 0.7,
        };
        let mut profile = match self.profile {
            SwiftProfile::Fabric => fabric,
            SwiftProfile::PyrrhaNs3 => {
                SwiftParameters { base_target: us(3), fs_range: us(50), beta: 0.5, max_cwnd: 100.0, ..fabric }
            }
            SwiftProfile::Htsim => SwiftParameters {
                base_target: us(20),
                fs_range: us(100),
                min_cwnd: 10.0 / f64::from(sender.sizes.mtu),
                max_cwnd: 1000.0,
                initial_cwnd: 12.0,
                rtt_weight: 0.875,
                ..fabric
            },
        };
        // If an option sets the initial or the largest window, the profile's value of the other one
        // is adapted: the initial window is never above the largest.
        profile.max_cwnd = profile.max_cwnd.max(self.initial_cwnd.unwrap_or(0.0));
        profile.initial_cwnd = profile.initial_cwnd.min(self.max_cwnd.unwrap_or(profile.max_cwnd));
        self.over(profile)
    }
}

/// Returns the wire bytes of a full packet.
fn packet_bytes(sender: &SenderFacts) -> u64 {
    sender.sizes.framing.data(sender.sizes.mtu, false, sender.sizes.telemetry).wire.into()
}

/// Reaction point of one flow.
#[derive(Debug, GetSize)]
pub struct Swift {
    parameters: SwiftParameters,
    /// Factor and summand of flow scaling, ps: alpha / sqrt(cwnd) + beta.
    fs_alpha: f64,
    fs_beta: f64,
    line_rate: Rate,
    /// Payload bytes of a full packet.
    mtu: u64,
    /// Picoseconds that a full packet takes at one bit per second.
    packet: f64,
    /// Window in packets.
    cwnd: f64,
    /// Smoothed round-trip time in ps; before the first ACK, the network's base round-trip time.
    rtt: f64,
    has_rtt: bool,
    last_decrease: Option<Time>,
    /// Consecutive retransmission timeouts.
    timeouts: u32,
    /// Acknowledged payload bytes.
    acked_bytes: u64,
}

impl Swift {
    pub(super) fn new(config: &SwiftConfig, sender: &SenderFacts) -> Swift {
        let parameters = config.parameters(sender);
        // Square roots are exact to the last bit on every platform (IEEE 754).
        let [low, high] = [parameters.fs_min_cwnd, parameters.fs_max_cwnd].map(|window| 1.0 / window.sqrt());
        let fs_alpha = parameters.fs_range.ps() as f64 / (low - high);
        Swift {
            fs_alpha,
            fs_beta: -fs_alpha * high,
            line_rate: sender.line_rate,
            mtu: sender.sizes.mtu.into(),
            packet: packet_bytes(sender) as f64 * 8e12,
            cwnd: parameters.initial_cwnd,
            rtt: sender.base_rtt.ps() as f64,
            has_rtt: false,
            last_decrease: None,
            timeouts: 0,
            acked_bytes: 0,
            parameters,
        }
    }

    /// Returns the target delay of a packet that has passed `hops` links, in ps.
    fn target(&self, hops: u8) -> f64 {
        let SwiftParameters { base_target, per_hop, fs_range, .. } = self.parameters;
        let scaling = (self.fs_alpha / self.cwnd.sqrt() + self.fs_beta).clamp(0.0, fs_range.ps() as f64);
        base_target.ps() as f64 + f64::from(hops) * per_hop.ps() as f64 + scaling
    }

    /// Returns the window that corresponds to `rate`.
    fn window_at(&self, rate: Rate) -> f64 {
        rate.min(self.line_rate).bps() as f64 * self.rtt / self.packet
    }

    fn set_window(&mut self, cwnd: f64) {
        self.cwnd = cwnd.clamp(self.parameters.min_cwnd, self.parameters.max_cwnd);
    }

    /// Multiplies the window by `factor`, at most once per round trip.
    fn decrease(&mut self, now: Time, factor: f64) {
        if self.last_decrease.is_none_or(|last| now.since(last).ps() as f64 >= self.rtt) {
            self.set_window(self.cwnd * factor);
            self.last_decrease = Some(now);
        }
    }
}

impl ReactionPoint for Swift {
    /// Returns the line rate for windows of at least one packet, which ACKs clock. Smaller windows
    /// are paced: one packet per `rtt / cwnd`.
    fn rate(&mut self, _now: Time) -> Rate {
        if self.cwnd >= 1.0 {
            return self.line_rate;
        }
        Rate::from_bps((self.cwnd * self.packet / self.rtt).round() as u64).clamp(Rate::from_bps(1), self.line_rate)
    }

    /// Returns the window in whole packets, at least one.
    fn window(&self) -> u64 {
        self.cwnd.max(1.0) as u64 * self.mtu
    }

    fn on_ack(&mut self, ack: &AckView<'_>) {
        let SwiftParameters { ai, beta, max_mdf, rtt_weight, .. } = self.parameters;
        let delay = ack.rtt.ps() as f64;
        let weight = if self.has_rtt { rtt_weight } else { 0.0 };
        (self.rtt, self.has_rtt) = (weight * self.rtt + (1.0 - weight) * delay, true);
        self.timeouts = 0;
        let acked = ack.acked_bytes.saturating_sub(self.acked_bytes) as f64 / self.mtu as f64;
        self.acked_bytes = self.acked_bytes.max(ack.acked_bytes);
        let target = self.target(ack.hops);
        if delay < target {
            self.set_window(self.cwnd + ai * acked / self.cwnd.max(1.0));
        } else {
            self.decrease(ack.now, (1.0 - beta * (delay - target) / delay).max(1.0 - max_mdf));
        }
    }

    /// Reports the delay if it is not below the target.
    fn signal(&self, ack: &AckView<'_>) -> Option<CongestionSignal> {
        (ack.rtt.ps() as f64 >= self.target(ack.hops)).then_some(CongestionSignal::Delay)
    }

    fn on_loss(&mut self, now: Time, loss: LossSignal) {
        self.timeouts = if loss == LossSignal::TimedOut { self.timeouts + 1 } else { 0 };
        if self.timeouts >= TIMEOUTS_TO_RESET {
            self.cwnd = self.parameters.min_cwnd;
        } else {
            self.decrease(now, 1.0 - self.parameters.max_mdf);
        }
    }

    fn lower_rate(&mut self, now: Time, rate: Rate) {
        if self.window_at(rate) < self.cwnd {
            self.set_rate(now, rate);
        }
    }

    fn set_rate(&mut self, now: Time, rate: Rate) {
        let before = self.cwnd;
        self.set_window(self.window_at(rate));
        if self.cwnd < before {
            // ACKs of earlier packets report delays that the new rate accounts for.
            self.last_decrease = Some(now);
        }
    }

    fn repaces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
