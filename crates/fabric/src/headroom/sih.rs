//! SIH, static and independent headroom: what switch chips do, and the baseline of DSH (DSH section II).

use backwater_engine::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of SIH.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SihConfig {
    /// Share of the free shared pool that one ingress queue may take: T = alpha (B_s - used). Default 1/16 (DSH section V-A).
    #[schemars(range(min = 0.0, max = 64.0))]
    pub alpha: f64,
    /// If set, alpha holds for ports of this rate and grows in proportion to a port's rate (the rule of the HPCC simulator).
    pub alpha_rate: Option<Rate>,
    /// Private bytes of every lossless (ingress port, class). Default 3 KB (DSH section V-A).
    pub private: Bytes,
    /// Headroom of every lossless (ingress port, class). Default: Equation 1 of DSH, 2 (C D + MTU) + 3840 B, for that port's link.
    pub headroom: Option<Bytes>,
    /// A paused queue resumes this far below its threshold. Default: two full frames (DCQCN, DSH section IV-B).
    pub resume_offset: Option<Bytes>,
}

impl Default for SihConfig {
    fn default() -> Self {
        SihConfig { alpha: 0.0625, alpha_rate: None, private: Bytes(3000), headroom: None, resume_offset: None }
    }
}
