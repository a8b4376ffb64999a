//! HPCC (Li et al., SIGCOMM 2019): switches stamp their load into every packet, and senders compute
//! window and rate from the stamps (Algorithm 1).

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

/// HPCC: in-band telemetry and window control (SIGCOMM 2019).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HpccConfig {
    /// Target utilisation. Default 0.95 (paper).
    #[schemars(range(min = 0.01, max = 1.0))]
    pub eta: f64,
    /// Number of additive steps before a multiplicative step. Default 5 (paper); the HPCC
    /// simulator has 0.
    pub max_stage: u32,
    /// Additive increase as a rate: W_ai = rate x T. Default 0.4 Mb/s per Gb/s of the host's link
    /// (HPCC simulator).
    pub additive_increase: Option<Rate>,
    /// Base round-trip time T. Default: the longest of any pair of hosts, computed from the
    /// topology.
    pub base_rtt: Option<Duration>,
    /// Lowest rate of a flow. Default 100 Mb/s (the HPCC simulator's example configuration; its run
    /// script has 1000 Mb/s).
    pub min_rate: Rate,
    /// Encoding of a port's rate in the header.
    pub rate_code: RateCode,
}

impl Default for HpccConfig {
    fn default() -> Self {
        HpccConfig {
            eta: 0.95,
            max_stage: 5,
            additive_increase: None,
            base_rtt: None,
            min_rate: Rate::from_bps(100_000_000),
            rate_code: RateCode::Exact,
        }
    }
}

impl Options for HpccConfig {
    fn check(&self, scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        diagnostics.positive(Some(self.min_rate), "min_rate");
        diagnostics.positive(self.base_rtt, "base_rtt");
        diagnostics.one_ack_per_packet(scheme);
    }
}

impl CongestionOptions for HpccConfig {
    type Point = TelemetryStamper;
    no_notification_point!();
    type Reaction = Hpcc;

    fn point(&self, site: &Site<'_>) -> Self::Point {
        TelemetryStamper::new(self.rate_code, site)
    }

    fn reaction(&self, sender: &SenderFacts) -> Hpcc {
        Hpcc::new(self, sender)
    }

    fn telemetry_bytes(&self) -> u32 {
        TELEMETRY_BYTES
    }

    fn effective_values(&self, sender: &SenderFacts) -> EffectiveValues {
        let Hpcc { additive_increase, base_rtt, min_rate, .. } = Hpcc::new(self, sender);
        effective_values(json!({ "additive_increase": additive_increase, "base_rtt": base_rtt, "min_rate": min_rate }))
    }
}

impl HpccConfig {
    /// Returns the lowest rate of a flow, which is at most the rate of the sender's link.
    pub(super) fn min_rate(&self, sender: &SenderFacts) -> Rate {
        self.min_rate.min(sender.line_rate)
    }
}

/// Reaction point of one flow.
#[derive(Debug, GetSize)]
pub struct Hpcc {
    eta: f64,
    max_stage: u32,
    additive_increase: Rate,
    min_rate: Rate,
    line_rate: Rate,
    base_rtt: Duration,
    /// Line rate times base RTT, in bytes.
    initial_window: u64,
    /// Rate in use, R.
    current: Rate,
    /// Window in use, in bytes: the initial window times R divided by the line rate.
    window: u64,
    /// Rate committed once per round trip, W_c / T.
    reference: Rate,
    /// Moving average of the busiest hop's utilisation, U.
    utilisation: f64,
    stage: u32,
    /// Payload bytes sent before the reference was committed; 0 before the first ACK, and from
    /// `set_rate` until the next ACK.
    committed_at: u64,
    /// True if another control has set the rate and no packet sent since then is acknowledged. ACKs
    /// of earlier packets report congestion that the new rate accounts for.
    is_set: bool,
    /// True if `previous` is from before an idle gap longer than T. The load since then is an
    /// average over the gap, not the load of the last T.
    is_stale: bool,
    previous: Box<[Stamp; MAX_HOPS]>,
}

impl Hpcc {
    pub(super) fn new(config: &HpccConfig, sender: &SenderFacts) -> Hpcc {
        let base_rtt = config.base_rtt.unwrap_or(sender.base_rtt);
        let default_increase = Rate::from_bps(sender.line_rate.bps() / 10_000 * 4);
        Hpcc {
            eta: config.eta,
            max_stage: config.max_stage,
            additive_increase: config.additive_increase.unwrap_or(default_increase),
            min_rate: config.min_rate(sender),
            line_rate: sender.line_rate,
            base_rtt,
            initial_window: sender.line_rate.bytes_in(base_rtt),
            current: sender.line_rate,
            window: sender.line_rate.bytes_in(base_rtt).max(1),
            reference: sender.line_rate,
            utilisation: 1.0,
            stage: 0,
            committed_at: 0,
            is_set: false,
            is_stale: false,
            previous: Box::new([Stamp::default(); MAX_HOPS]),
        }
    }

    /// Returns the utilisation of one hop between two stamps, and the time between them.
    fn load(&self, stamp: &Stamp, previous: &Stamp) -> Option<(f64, Duration)> {
        let tau = stamp.time.since(previous.time);
        if tau == Duration::ZERO {
            return None;
        }
        let rate = stamp.rate.bps() as f64;
        let tx_rate = stamp.tx_bytes.saturating_sub(previous.tx_bytes) as f64 * 8.0 / tau.as_secs_f64();
        let queue = stamp.queue_bytes.min(previous.queue_bytes) as f64;
        let queueing = queue * self.line_rate.bps() as f64 / rate / self.initial_window as f64;
        Some((tx_rate / rate + queueing, tau))
    }

    /// Returns the index of the busiest hop, its utilisation, and the time between its stamps.
    fn busiest(&self, telemetry: &Telemetry) -> Option<(usize, f64, Duration)> {
        let mut busiest = None;
        for (hop, (stamp, previous)) in telemetry.stamps().iter().zip(&*self.previous).enumerate() {
            if let Some((utilisation, tau)) = self.load(stamp, previous)
                && utilisation > busiest.map_or(0.0, |(_, most, _)| most)
            {
                busiest = Some((hop, utilisation, tau));
            }
        }
        busiest
    }

    /// Updates U from the stamps of one ACK (MeasureInflight of Algorithm 1).
    fn measure(&mut self, telemetry: &Telemetry) {
        let (busiest, interval) = self.busiest(telemetry).map_or((0.0, Duration::ZERO), |(_, most, tau)| (most, tau));
        self.previous[..telemetry.stamps().len()].copy_from_slice(telemetry.stamps());
        let weight = interval.min(self.base_rtt).ps() as f64 / self.base_rtt.ps() as f64;
        self.utilisation = (1.0 - weight) * self.utilisation + weight * busiest;
    }

    /// Returns the new rate, and the stage to commit with it (ComputeWind of Algorithm 1).
    fn adjusted(&self) -> (Rate, u32) {
        let excess = self.utilisation / self.eta;
        let (rate, stage) = if excess >= 1.0 || self.stage >= self.max_stage {
            ((self.reference.bps() as f64 / excess) as u64, 0)
        } else {
            (self.reference.bps(), self.stage + 1)
        };
        let rate = Rate::from_bps(rate.saturating_add(self.additive_increase.bps()));
        (rate.clamp(self.min_rate, self.line_rate), stage)
    }
}

impl Hpcc {
    /// Returns true if the stamps of the next ACK can be compared with earlier ones.
    fn can_compare(&self) -> bool {
        self.committed_at > 0 && !self.is_stale
    }

    fn use_rate(&mut self, rate: Rate) {
        (self.current, self.window) = (rate, window_at(rate, self.line_rate, self.initial_window));
    }
}

impl ReactionPoint for Hpcc {
    fn rate(&mut self, _now: Time) -> Rate {
        self.current
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn on_ack(&mut self, ack: &AckView<'_>) {
        let Some(telemetry) = ack.telemetry else { return };
        if !self.can_compare() {
            // The first ACK, also of a message after a gap, only provides stamps to compare with.
            self.previous[..telemetry.stamps().len()].copy_from_slice(telemetry.stamps());
            self.is_stale = false;
            if self.committed_at == 0 {
                self.committed_at = ack.sent_bytes;
            }
            return;
        }
        self.measure(telemetry);
        if self.is_set && ack.acked_bytes <= self.committed_at {
            return;
        }
        self.is_set = false;
        let (rate, stage) = self.adjusted();
        self.use_rate(rate);
        if ack.acked_bytes > self.committed_at {
            self.reference = rate;
            self.stage = stage;
            self.committed_at = ack.sent_bytes;
        }
    }

    /// Reports the busiest hop if its utilisation exceeds the target.
    fn signal(&self, ack: &AckView<'_>) -> Option<CongestionSignal> {
        let telemetry = ack.telemetry.filter(|_| self.can_compare())?;
        let (hop, utilisation, _) = self.busiest(telemetry)?;
        (utilisation > self.eta).then_some(CongestionSignal::Load(hop))
    }

    fn set_rate(&mut self, _now: Time, rate: Rate) {
        self.reference = rate.clamp(self.min_rate, self.line_rate);
        self.stage = 0;
        (self.committed_at, self.is_set) = (0, true);
        self.use_rate(self.reference);
    }

    fn on_resume(&mut self, now: Time, since: Time) {
        self.is_stale |= now.since(since) > self.base_rtt;
    }

    fn repaces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
