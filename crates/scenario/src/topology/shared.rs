//! Groups of options that several kinds of topologies share.

use super::ChangedLink;
use super::draft::{LinkProperties, RangeChecks as _};
use backwater_engine::{Duration, Rate};
use backwater_fabric::contract::Diagnostics;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Returns the link rate of most published set-ups.
pub(super) fn default_rate() -> Rate {
    Rate::from_gbps(100)
}

pub(super) fn default_delay() -> Duration {
    Duration::from_us(1)
}

pub(super) fn default_one() -> u32 {
    1
}

/// Links that are all alike unless they have values of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UniformLinks {
    /// Rate of every link without a rate of its own. Default 100 Gbps.
    #[serde(default = "default_rate")]
    pub rate: Rate,
    /// Propagation delay of every link without a delay of its own. Default 1 us.
    #[serde(default = "default_delay")]
    pub delay: Duration,
    /// Probability that a frame is corrupted on a link without an error rate of its own. Default 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub error_rate: f64,
}

impl UniformLinks {
    pub(super) fn properties(&self) -> LinkProperties {
        LinkProperties { rate: self.rate, delay: self.delay, error_rate: self.error_rate }
    }

    pub(super) fn check(&self, checks: &mut Diagnostics) {
        checks.link("rate", "delay", self.properties());
        checks.error_rate("error_rate", self.error_rate);
    }
}

/// Links of hosts, and links between tiers of switches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierLinks {
    /// Rate of host links. Default 100 Gbps.
    #[serde(default = "default_rate")]
    pub host_rate: Rate,
    /// Rate of each link between switches. Default: rate of host links.
    pub uplink_rate: Option<Rate>,
    /// Propagation delay of every link, unless `host_delay` or `uplink_delay` sets it. Default 1
    /// us.
    #[serde(default = "default_delay")]
    pub delay: Duration,
    /// Propagation delay of host links. Default: `delay`.
    pub host_delay: Option<Duration>,
    /// Propagation delay of links between switches. Default: `delay`.
    pub uplink_delay: Option<Duration>,
}

impl TierLinks {
    /// Properties of host links, and of links between switches.
    pub(super) fn properties(&self, error_rate: f64) -> [LinkProperties; 2] {
        let link = |rate, delay: Option<_>| LinkProperties { rate, delay: delay.unwrap_or(self.delay), error_rate };
        let uplink_rate = self.uplink_rate.unwrap_or(self.host_rate);
        [link(self.host_rate, self.host_delay), link(uplink_rate, self.uplink_delay)]
    }

    pub(super) fn check(&self, checks: &mut Diagnostics) {
        let [host_link, uplink] = self.properties(0.0);
        checks.link("host_rate", "host_delay", host_link);
        checks.link("uplink_rate", "uplink_delay", uplink);
    }

    /// Returns the values of options that follow from other options, by name.
    pub(super) fn effective_values(&self) -> Vec<(&'static str, Value)> {
        let [host_link, uplink] = self.properties(0.0);
        vec![
            ("host_delay", json!(host_link.delay)),
            ("uplink_delay", json!(uplink.delay)),
            ("uplink_rate", json!(uplink.rate)),
        ]
    }
}

/// Links that corrupt frames, differ from the others, or have failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exceptions {
    /// Probability that a frame is corrupted on a link. Default 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub error_rate: f64,
    /// Links with a rate or delay of their own.
    #[serde(default)]
    pub changed_links: Vec<ChangedLink>,
    /// Failed parts.
    #[serde(flatten)]
    pub failures: Failures,
}

impl Exceptions {
    pub(super) fn check(&self, checks: &mut Diagnostics) {
        checks.error_rate("error_rate", self.error_rate);
    }
}

/// Parts that have failed before the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Failures {
    /// Links that are absent during the whole run, each as the names of its two ends. A pair
    /// removes one of its parallel links.
    #[serde(default)]
    pub failed_links: Vec<[String; 2]>,
    /// Nodes that have failed before the run: they have no links, and failed hosts have no traffic.
    #[serde(default)]
    pub failed_nodes: Vec<String>,
}
