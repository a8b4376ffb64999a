//! Go-Back-N: RoCE's own loss recovery.

use backwater_engine::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of Go-Back-N.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GoBackNConfig {
    /// Shortest time between two NACKs for the same gap. Default 4 us (ConWeave); the HPCC simulator has 500 us.
    pub nack_interval: Duration,
    /// Retransmission timeout: without progress for this long the sender goes back to the oldest unacknowledged packet. Default 4 ms
    /// (ConWeave); "0 s" switches it off.
    pub timeout: Duration,
}

impl Default for GoBackNConfig {
    fn default() -> Self {
        GoBackNConfig { nack_interval: Duration::from_us(4), timeout: Duration::from_ms(4) }
    }
}
