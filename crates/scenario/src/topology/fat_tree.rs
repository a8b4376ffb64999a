//! Fat-tree: three tiers of k-port switches in k pods (Al-Fares et al., SIGCOMM 2008).

use super::draft::{Checks, Draft, Wire};
use super::{BuildError, ChangedLink, Graph};
use backwater_engine::{Duration, Rate};
use backwater_fabric::network::spec::NodeKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of a fat-tree: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores. The i-th aggregation switch of every pod is
/// linked to the i-th group of k/2 cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatTreeConfig {
    /// Ports per switch; even.
    #[schemars(range(min = 2), extend("multipleOf" = 2))]
    pub k: u32,
    /// Hosts per edge switch. Default k/2; more oversubscribe the edge.
    #[schemars(range(min = 1))]
    pub hosts_per_edge: Option<u32>,
    /// Rate of host links. Default 100 Gbps.
    #[serde(default = "super::default_rate")]
    pub host_rate: Rate,
    /// Rate of each link between switches. Default: that of host links.
    pub uplink_rate: Option<Rate>,
    /// Propagation delay of every link that has none of its own below. Default 1 us.
    #[serde(default = "super::default_delay")]
    pub delay: Duration,
    /// Propagation delay of host links.
    pub host_delay: Option<Duration>,
    /// Propagation delay between switches.
    pub uplink_delay: Option<Duration>,
    /// Probability that a frame is corrupted on a link. Default 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub error_rate: f64,
    /// Links that have a rate or delay of their own.
    #[serde(default)]
    pub changed_links: Vec<ChangedLink>,
    /// Links that are absent from the start, each as the names of its two ends.
    #[serde(default)]
    pub failed_links: Vec<[String; 2]>,
    /// Nodes that take no part from the start: they have no links, and hosts among them no traffic.
    #[serde(default)]
    pub failed_nodes: Vec<String>,
}

impl FatTreeConfig {
    /// Hosts per edge switch.
    pub(super) fn hosts_per_edge(&self) -> u32 {
        self.hosts_per_edge.unwrap_or(self.k / 2)
    }

    /// Host links, and links between switches.
    pub(super) fn wires(&self) -> [Wire; 2] {
        let host =
            Wire { rate: self.host_rate, delay: self.host_delay.unwrap_or(self.delay), error_rate: self.error_rate };
        let rate = self.uplink_rate.unwrap_or(self.host_rate);
        [host, Wire { rate, delay: self.uplink_delay.unwrap_or(self.delay), ..host }]
    }

    pub(super) fn build(&self) -> Result<Graph, Vec<BuildError>> {
        let (half, hosts_per_edge) = (self.k / 2, self.hosts_per_edge());
        let [host_wire, uplink] = self.wires();
        let mut checks = Checks::default();
        if self.k < 2 || self.k % 2 == 1 {
            checks.error("k", format!("is {}, must be an even number of at least 2", self.k));
        }
        if self.hosts_per_edge == Some(0) {
            checks.count("hosts_per_edge", 0);
        }
        let edges = u128::from(self.k) * u128::from(half);
        checks.size("k", edges * (u128::from(hosts_per_edge) + 2 * u128::from(half)));
        checks.wire("host_rate", "host_delay", host_wire);
        checks.wire("uplink_rate", "uplink_delay", uplink);
        checks.error_rate("error_rate", self.error_rate);
        checks.done()?;

        let mut draft = Draft::default();
        let hosts = draft.nodes(NodeKind::Host, "h", self.k * half * hosts_per_edge);
        let edges = draft.nodes(NodeKind::Switch, "edge", self.k * half);
        let aggregations = draft.nodes(NodeKind::Switch, "agg", self.k * half);
        let cores = draft.nodes(NodeKind::Switch, "core", half * half);
        let per_pod = half as usize;
        for (hosts, &edge) in hosts.chunks(hosts_per_edge as usize).zip(&edges) {
            for &host in hosts {
                draft.link(host, edge, host_wire, 1);
            }
        }
        for (pod_edges, pod_aggregations) in edges.chunks(per_pod).zip(aggregations.chunks(per_pod)) {
            for &edge in pod_edges {
                for &aggregation in pod_aggregations {
                    draft.link(edge, aggregation, uplink, 1);
                }
            }
        }
        for pod in aggregations.chunks(per_pod) {
            for (&aggregation, group) in pod.iter().zip(cores.chunks(per_pod)) {
                for &core in group {
                    draft.link(aggregation, core, uplink, 1);
                }
            }
        }
        draft.change_links(&self.changed_links);
        let ratio = draft.oversubscription(&edges);
        draft.notes.push(format!(
            "fat-tree: k = {}, {} hosts, {} edge, {} aggregation and {} core switches, oversubscription {ratio} at the edge",
            self.k,
            hosts.len(),
            edges.len(),
            aggregations.len(),
            cores.len()
        ));
        draft.finish(&self.failed_links, &self.failed_nodes)
    }
}
