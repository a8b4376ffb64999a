//! Dumbbell: two switches with a bottleneck between them.

use super::draft::{Checks, Draft, Wire};
use super::{BuildError, ChangedLink, Graph};
use backwater_engine::{Duration, Rate};
use backwater_fabric::network::spec::NodeKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of a dumbbell. Hosts `h0`.. hang on the left, the following ones on the right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DumbbellConfig {
    /// Number of hosts on the left.
    #[schemars(range(min = 1))]
    pub left: u32,
    /// Number of hosts on the right.
    #[schemars(range(min = 1))]
    pub right: u32,
    /// Rate of host links. Default 100 Gbps.
    #[serde(default = "super::default_rate")]
    pub rate: Rate,
    /// Propagation delay of host links. Default 1 us.
    #[serde(default = "super::default_delay")]
    pub delay: Duration,
    /// Rate of each link between the switches. Default: that of host links.
    pub bottleneck_rate: Option<Rate>,
    /// Propagation delay between the switches. Default: that of host links.
    pub bottleneck_delay: Option<Duration>,
    /// Parallel links between the switches. Default 1.
    #[serde(default = "super::default_one")]
    #[schemars(range(min = 1))]
    pub trunks: u32,
    /// Probability that a frame is corrupted on a link. Default 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub error_rate: f64,
    /// Links that have a rate or delay of their own.
    #[serde(default)]
    pub changed_links: Vec<ChangedLink>,
    /// Links that are absent from the start, each as the names of its two ends; a pair counts for one of its parallel links.
    #[serde(default)]
    pub failed_links: Vec<[String; 2]>,
    /// Nodes that take no part from the start: they have no links, and hosts among them no traffic.
    #[serde(default)]
    pub failed_nodes: Vec<String>,
}

impl DumbbellConfig {
    /// Host links, and links between the switches.
    pub(super) fn wires(&self) -> [Wire; 2] {
        let host = Wire { rate: self.rate, delay: self.delay, error_rate: self.error_rate };
        let rate = self.bottleneck_rate.unwrap_or(self.rate);
        [host, Wire { rate, delay: self.bottleneck_delay.unwrap_or(self.delay), ..host }]
    }

    pub(super) fn build(&self) -> Result<Graph, Vec<BuildError>> {
        let [wire, bottleneck] = self.wires();
        let mut checks = Checks::default();
        checks.count("left", self.left);
        checks.count("right", self.right);
        checks.count("trunks", self.trunks);
        checks.size("left", u128::from(self.left) + u128::from(self.right) + u128::from(self.trunks));
        checks.wire("rate", "delay", wire);
        checks.wire("bottleneck_rate", "bottleneck_delay", bottleneck);
        checks.error_rate("error_rate", self.error_rate);
        checks.done()?;

        let mut draft = Draft::default();
        let hosts = draft.nodes(NodeKind::Host, "h", self.left + self.right);
        let left = draft.node(NodeKind::Switch, "left");
        let right = draft.node(NodeKind::Switch, "right");
        for (i, host) in (0..).zip(hosts) {
            draft.link(host, if i < self.left { left } else { right }, wire, 1);
        }
        draft.link(left, right, bottleneck, self.trunks);
        draft.change_links(&self.changed_links);
        let ratio = draft.oversubscription(&[left]);
        draft.notes.push(format!(
            "dumbbell: {} + {} hosts at {}, {} x {} between them, oversubscription {ratio} from the left",
            self.left, self.right, wire.rate, self.trunks, bottleneck.rate
        ));
        draft.finish(&self.failed_links, &self.failed_nodes)
    }
}
