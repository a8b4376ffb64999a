//! Oversubscribed headroom: SIH with one headroom pool for all queues, smaller than the sum of the
//! queues' needs (section V-B of DSH's paper; SONiC).

use super::options::{effective_values, offset, per_port};
use super::pools::{Pools, headroom_bytes, private_bytes};
use super::sih::Sih;
use super::threshold::DynamicThreshold;
use crate::contract::{HeadroomFacts, HeadroomOptions, Options, Site};
use backwater_engine::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `sih` with one headroom pool for all queues. The pool can be smaller than the sum of the queues'
/// needs; packets may then be dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OversubscribedConfig {
    /// Size of the pool, as a share of the sum of all lossless ingress queues' headroom. Each queue
    /// may use its full headroom, first come, first served. Below 1, packets may be dropped.
    /// Default 0.8 (DSH section V-B).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ratio: f64,
    /// Share of the free shared pool that one ingress queue may take, as with SIH. Default 1/16
    /// (DSH section V-A).
    #[schemars(range(min = 0.0, max = 64.0))]
    pub alpha: f64,
    /// Private bytes of every lossless (ingress port, class). Default 3 KB (DSH section V-A).
    pub private: Bytes,
    /// Maximum headroom of a lossless (ingress port, class). Default: as with SIH.
    pub headroom: Option<Bytes>,
    /// Distance below the threshold at which a paused queue resumes. Default: two full frames.
    pub resume_offset: Option<Bytes>,
}

impl Default for OversubscribedConfig {
    fn default() -> Self {
        OversubscribedConfig { ratio: 0.8, alpha: 0.0625, private: Bytes(3000), headroom: None, resume_offset: None }
    }
}

impl Options for OversubscribedConfig {}

impl HeadroomOptions for OversubscribedConfig {
    type Instance = Sih;

    fn facts(&self) -> HeadroomFacts {
        HeadroomFacts {
            is_lossless: self.ratio >= 1.0,
            has_port_thresholds: false,
            bounds_ingress: false,
            has_thresholds: true,
            set_headroom: self.headroom,
        }
    }

    fn reserved(&self, site: &Site<'_>) -> u64 {
        private_bytes(site, self.private.get()) + self.pool(site, &per_port(self.headroom, site))
    }

    fn build(&self, site: &Site<'_>) -> Sih {
        let headroom = per_port(self.headroom, site);
        let pools = Pools::with_headroom_pool(site, self.private.get(), &headroom, self.pool(site, &headroom));
        Sih::new(pools, DynamicThreshold::new(self.alpha, None, site), self.resume_offset, site)
    }

    fn effective_values(&self, site: &Site<'_>) -> Vec<(&'static str, Vec<Value>)> {
        vec![
            effective_values("headroom", per_port(self.headroom, site)),
            offset("resume_offset", self.resume_offset, site),
        ]
    }
}

impl OversubscribedConfig {
    /// Returns the size of the headroom pool that all queues share.
    fn pool(&self, site: &Site<'_>, headroom: &[u64]) -> u64 {
        (headroom_bytes(site, headroom) as f64 * self.ratio).round() as u64
    }
}
