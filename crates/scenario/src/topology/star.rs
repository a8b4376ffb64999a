//! Star: hosts on one switch.

use super::draft::{Checks, Draft, Wire};
use super::{BuildError, Graph};
use crate::diagnostic::counted;
use backwater_engine::{Duration, Rate};
use backwater_fabric::network::spec::NodeKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of a star.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StarConfig {
    /// Number of hosts.
    #[schemars(range(min = 1))]
    pub hosts: u32,
    /// Rate of every link. Default 100 Gbps.
    #[serde(default = "super::default_rate")]
    pub rate: Rate,
    /// Propagation delay of every link. Default 1 us.
    #[serde(default = "super::default_delay")]
    pub delay: Duration,
    /// Probability that a frame is corrupted on a link. Default 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub error_rate: f64,
    /// Links that are absent from the start, each as the names of its two ends; a pair counts for one of its parallel links.
    #[serde(default)]
    pub failed_links: Vec<[String; 2]>,
    /// Nodes that take no part from the start: they have no links, and hosts among them no traffic.
    #[serde(default)]
    pub failed_nodes: Vec<String>,
}

impl StarConfig {
    pub(super) fn build(&self) -> Result<Graph, Vec<BuildError>> {
        let wire = Wire { rate: self.rate, delay: self.delay, error_rate: self.error_rate };
        let mut checks = Checks::default();
        checks.count("hosts", self.hosts);
        checks.size("hosts", self.hosts.into());
        checks.wire("rate", "delay", wire);
        checks.error_rate("error_rate", self.error_rate);
        checks.done()?;

        let mut draft = Draft::default();
        let hosts = draft.nodes(NodeKind::Host, "h", self.hosts);
        let switch = draft.node(NodeKind::Switch, "s0");
        for host in hosts {
            draft.link(host, switch, wire, 1);
        }
        draft.notes.push(format!("star: {} at {}", counted(self.hosts, "host"), self.rate));
        draft.finish(&self.failed_links, &self.failed_nodes)
    }
}
