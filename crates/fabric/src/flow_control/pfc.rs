//! Priority-based flow control (IEEE 802.1Qbb).

use backwater_engine::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long a PAUSE lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PauseModel {
    /// Until an explicit RESUME, as in the ns-3 simulators of the field. PFC frames are then spared by link errors.
    #[default]
    UntilResume,
    /// For `quanta` x 512 bit times of the paused port, refreshed by the pausing side at half that time (IEEE 802.1Qbb clause 36).
    Quanta,
}

/// Options of PFC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PfcConfig {
    /// How long a PAUSE lasts.
    pub pause: PauseModel,
    /// Pause time in quanta of 512 bit times that a PAUSE frame carries. Default 65535, the longest.
    #[schemars(range(min = 1))]
    pub quanta: u16,
    /// Time from a PFC frame's arrival to its effect at the receiver. Default 0; IEEE allows up to 3840 B of link time.
    pub response: Duration,
}

impl Default for PfcConfig {
    fn default() -> Self {
        PfcConfig { pause: PauseModel::UntilResume, quanta: u16::MAX, response: Duration::ZERO }
    }
}
