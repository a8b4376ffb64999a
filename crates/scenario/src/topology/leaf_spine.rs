//! Leaf-spine: two tiers of switches, every leaf linked to every spine.

use super::draft::{Checks, Draft, Wire};
use super::{BuildError, ChangedLink, Graph};
use crate::diagnostic::counted;
use backwater_engine::{Duration, Rate};
use backwater_fabric::network::spec::NodeKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of a leaf-spine fabric. Hosts are numbered leaf by leaf.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeafSpineConfig {
    /// Number of leaves.
    #[schemars(range(min = 1))]
    pub leaves: u32,
    /// Number of spines.
    #[schemars(range(min = 1))]
    pub spines: u32,
    /// Hosts per leaf.
    #[schemars(range(min = 1))]
    pub hosts_per_leaf: u32,
    /// Rate of host links. Default 100 Gbps.
    #[serde(default = "super::default_rate")]
    pub host_rate: Rate,
    /// Rate of each link between a leaf and a spine. Default: that of host links.
    pub uplink_rate: Option<Rate>,
    /// Propagation delay of every link that has none of its own below. Default 1 us.
    #[serde(default = "super::default_delay")]
    pub delay: Duration,
    /// Propagation delay of host links.
    pub host_delay: Option<Duration>,
    /// Propagation delay between leaves and spines.
    pub uplink_delay: Option<Duration>,
    /// Parallel links between each leaf and each spine. Default 1.
    #[serde(default = "super::default_one")]
    #[schemars(range(min = 1))]
    pub parallel_links: u32,
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

impl LeafSpineConfig {
    /// Host links, and links between switches.
    pub(super) fn wires(&self) -> [Wire; 2] {
        let host =
            Wire { rate: self.host_rate, delay: self.host_delay.unwrap_or(self.delay), error_rate: self.error_rate };
        let rate = self.uplink_rate.unwrap_or(self.host_rate);
        [host, Wire { rate, delay: self.uplink_delay.unwrap_or(self.delay), ..host }]
    }

    pub(super) fn build(&self) -> Result<Graph, Vec<BuildError>> {
        let [host_wire, uplink] = self.wires();
        let uplinks = u64::from(self.spines) * u64::from(self.parallel_links);
        let mut checks = Checks::default();
        checks.count("leaves", self.leaves);
        checks.count("spines", self.spines);
        checks.count("hosts_per_leaf", self.hosts_per_leaf);
        checks.count("parallel_links", self.parallel_links);
        checks.size("leaves", u128::from(self.leaves) * (u128::from(self.hosts_per_leaf) + u128::from(uplinks)));
        checks.wire("host_rate", "host_delay", host_wire);
        checks.wire("uplink_rate", "uplink_delay", uplink);
        checks.error_rate("error_rate", self.error_rate);
        checks.done()?;

        let mut draft = Draft::default();
        let hosts = draft.nodes(NodeKind::Host, "h", self.leaves * self.hosts_per_leaf);
        let leaves = draft.nodes(NodeKind::Switch, "leaf", self.leaves);
        let spines = draft.nodes(NodeKind::Switch, "spine", self.spines);
        for (hosts, &leaf) in hosts.chunks(self.hosts_per_leaf as usize).zip(&leaves) {
            for &host in hosts {
                draft.link(host, leaf, host_wire, 1);
            }
        }
        for &leaf in &leaves {
            for &spine in &spines {
                draft.link(leaf, spine, uplink, self.parallel_links);
            }
        }
        draft.change_links(&self.changed_links);
        let ratio = draft.oversubscription(&leaves);
        draft.notes.push(format!(
            "leaf-spine: {}, {}, {}; per leaf {} x {} down, {uplinks} x {} up, oversubscription {ratio}",
            counted(hosts.len(), "host"),
            counted(self.leaves, "leaf"),
            counted(self.spines, "spine"),
            self.hosts_per_leaf,
            host_wire.rate,
            uplink.rate
        ));
        draft.finish(&self.failed_links, &self.failed_nodes)
    }
}
