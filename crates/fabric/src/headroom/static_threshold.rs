//! Static threshold: every lossless ingress queue is paused at a fixed length.

use backwater_engine::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of the static threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StaticConfig {
    /// Length of an ingress queue at which its upstream is paused. Default 256 KB (FLB section 5, PCN).
    pub xoff: Bytes,
    /// Length below which it is resumed. Default: two full frames below `xoff`.
    pub xon: Option<Bytes>,
    /// Headroom of every lossless (ingress port, class). Default: Equation 1 of DSH for that port's link.
    pub headroom: Option<Bytes>,
}

impl Default for StaticConfig {
    fn default() -> Self {
        StaticConfig { xoff: Bytes(256_000), xon: None, headroom: None }
    }
}
