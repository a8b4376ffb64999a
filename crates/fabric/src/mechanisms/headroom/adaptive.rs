//! Adaptive headroom: SIH for the delays that a port and its peer have measured (IEEE P802.1Qdt;
//! DSH section V-B).

use super::options::offset;
use super::pools::{Pools, reserved};
use super::sih::Sih;
use super::threshold::DynamicThreshold;
use crate::contract::need::exact_need_at;
use crate::contract::{Diagnostics, HeadroomFacts, HeadroomOptions, Options, SchemeContext, Site};
use backwater_engine::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `sih` with headroom for the delays that the ports have measured (IEEE P802.1Qdt).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptiveConfig {
    /// Share of the free shared pool that one ingress queue may take, as with SIH. Default 1/16
    /// (DSH section V-A).
    #[schemars(range(min = 0.0, max = 64.0))]
    pub alpha: f64,
    /// Private bytes of every lossless (ingress port, class). Default 3 KB (DSH section V-A).
    pub private: Bytes,
    /// Unit of the time stamps: the measured delay of a link is its real delay, rounded up to a
    /// multiple of this unit. Default 8 ns, the clock of IEEE 802.1AS time stamps at 125 MHz.
    pub resolution: Duration,
    /// Distance below the threshold at which a paused queue resumes. Default: two full frames.
    pub resume_offset: Option<Bytes>,
}

impl Default for AdaptiveConfig {
    fn default() -> Self {
        AdaptiveConfig { alpha: 0.0625, private: Bytes(3000), resolution: Duration::from_ns(8), resume_offset: None }
    }
}

impl Options for AdaptiveConfig {
    fn check(&self, _scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        diagnostics.positive(Some(self.resolution), "resolution");
    }
}

impl HeadroomOptions for AdaptiveConfig {
    type Instance = Sih;

    fn facts(&self) -> HeadroomFacts {
        HeadroomFacts {
            is_lossless: true,
            has_port_thresholds: false,
            bounds_ingress: false,
            has_thresholds: true,
            set_headroom: None,
        }
    }

    fn reserved(&self, site: &Site<'_>) -> u64 {
        reserved(site, self.private.get(), &self.per_port(site))
    }

    fn build(&self, site: &Site<'_>) -> Sih {
        let pools = Pools::new(site, self.private.get(), &self.per_port(site));
        Sih::new(pools, DynamicThreshold::new(self.alpha, None, site), self.resume_offset, site)
    }

    fn effective_values(&self, site: &Site<'_>) -> Vec<(&'static str, Vec<Value>)> {
        vec![offset("resume_offset", self.resume_offset, site)]
    }
}

impl AdaptiveConfig {
    /// Returns the headroom that every port needs at the measured delays.
    fn per_port(&self, site: &Site<'_>) -> Vec<u64> {
        let unit = self.resolution.ps().max(1);
        let measured = |delay: Duration| Duration::from_ps(delay.ps().div_ceil(unit) * unit);
        site.ports.iter().map(|port| exact_need_at(site, port, measured(port.delay))).collect()
    }
}
