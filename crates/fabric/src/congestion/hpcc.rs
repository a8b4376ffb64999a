//! HPCC.

use backwater_engine::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of HPCC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HpccConfig {
    /// Target utilisation. Default 0.95 (paper).
    #[schemars(range(min = 0.01, max = 1.0))]
    pub eta: f64,
    /// Additive steps before a multiplicative one. Default 5 (paper); the public simulator ships 0.
    pub max_stage: u32,
    /// Additive increase as a rate: W_ai = rate x T. Default 0.4 Mb/s per Gb/s of the host's link (HPCC simulator).
    pub additive_increase: Option<Rate>,
    /// Base round-trip time T. Default: the longest of any pair of hosts, computed from the topology.
    pub base_rtt: Option<Duration>,
    /// Lowest rate. Default 100 Mb/s (HPCC simulator).
    pub min_rate: Rate,
}

impl Default for HpccConfig {
    fn default() -> Self {
        HpccConfig {
            eta: 0.95,
            max_stage: 5,
            additive_increase: None,
            base_rtt: None,
            min_rate: Rate::from_bps(100_000_000),
        }
    }
}
