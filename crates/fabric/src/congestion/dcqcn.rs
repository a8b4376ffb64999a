//! DCQCN.

use backwater_engine::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a column of parameters comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DcqcnProfile {
    /// The SIGCOMM 2015 paper: byte counter and timer, 50 us CNPs.
    Paper,
    /// The original authors' ns-3 code.
    AuthorsNs3,
    /// The HPCC simulator's run script ("dcqcn"), scaled with the link rate.
    #[default]
    HpccNs3,
    /// The HPCC simulator's run script ("dcqcn_paper").
    HpccNs3Paper,
    /// The configuration file shipped with the HPCC, PowerTCP and Pyrrha simulators.
    ConfigTxt,
    /// The ConWeave simulator.
    Conweave,
    /// ConnectX firmware defaults.
    Firmware,
}

/// How a receiver tells the sender of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CnpMode {
    /// A bit in the ACK of the marked packet (the HPCC family of simulators).
    AckBit,
    /// A CNP frame of its own, at most one per flow and `cnp_interval`.
    Frame,
}

/// ECN marking of a switch's egress queue (RED on the instantaneous length).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EcnConfig {
    /// Queue length up to which nothing is marked. Default 100 KB (ConWeave, PortFC).
    pub kmin: Bytes,
    /// Queue length above which everything is marked. Default 400 KB.
    pub kmax: Bytes,
    /// Marking probability at `kmax`. Default 0.2.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pmax: f64,
    /// If set, `kmin` and `kmax` hold for ports of this rate and grow in proportion to a port's rate.
    pub rate: Option<Rate>,
}

impl Default for EcnConfig {
    fn default() -> Self {
        EcnConfig { kmin: Bytes(100_000), kmax: Bytes(400_000), pmax: 0.2, rate: Some(Rate::from_gbps(100)) }
    }
}

/// Options of DCQCN: a profile, and single parameters that override it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DcqcnConfig {
    /// The column of parameters to start from.
    pub profile: DcqcnProfile,
    /// ECN marking at the switches.
    pub ecn: EcnConfig,
    /// Period of the update of alpha.
    pub alpha_interval: Option<Duration>,
    /// Shortest time between two rate decreases.
    pub decrease_interval: Option<Duration>,
    /// Period of the rate increase timer.
    pub increase_interval: Option<Duration>,
    /// Bytes sent per step of the byte counter; "0 B" switches it off.
    pub byte_counter: Option<Bytes>,
    /// Gain g of alpha's moving average.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gain: Option<f64>,
    /// Steps of fast recovery F before additive increase.
    pub fast_recovery_steps: Option<u32>,
    /// Additive increase of the target rate.
    pub additive_increase: Option<Rate>,
    /// Hyper increase of the target rate.
    pub hyper_increase: Option<Rate>,
    /// Lowest rate.
    pub min_rate: Option<Rate>,
    /// Whether every decrease lowers the target rate, even without an increase since the last.
    pub clamp_target: Option<bool>,
    /// How the receiver notifies.
    pub cnp: Option<CnpMode>,
    /// Shortest time between two CNP frames of a flow.
    pub cnp_interval: Option<Duration>,
    /// Whether bytes in flight are limited to rate x base RTT (off in the paper and the HPCC scripts, on in Pyrrha's).
    pub window: bool,
}
