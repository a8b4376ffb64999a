//! Fat-tree: three tiers of k-port switches in k pods (Al-Fares et al., SIGCOMM 2008).

use super::draft::{Draft, RangeChecks as _};
use super::{Exceptions, TierLinks, TopologyOptions};
use crate::diagnostic::Diagnostic;
use backwater_fabric::contract::Diagnostics;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;

/// Three tiers of k-port switches: `edge0`.., `agg0`.., `core0`.. in k pods. Each pod has k/2 edge
/// and k/2 aggregation switches; there are (k/2)^2 cores. The i-th aggregation switch of every pod
/// is linked to the i-th group of k/2 cores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct FatTreeConfig {
    /// Ports per switch, an even number.
    #[schemars(range(min = 2), extend("multipleOf" = 2))]
    pub k: u32,
    /// Hosts per edge switch. Default k/2; larger values oversubscribe the edge.
    #[schemars(range(min = 1))]
    pub hosts_per_edge: Option<u32>,
    /// Properties of host links and of links between switches.
    #[serde(flatten)]
    pub tiers: TierLinks,
    /// Links with properties of their own.
    #[serde(flatten)]
    pub exceptions: Exceptions,
}

impl FatTreeConfig {
    fn hosts_per_edge(&self) -> u32 {
        self.hosts_per_edge.unwrap_or(self.k / 2)
    }
}

impl TopologyOptions for FatTreeConfig {
    fn draft(&self, _: &Path) -> Result<Draft, Vec<Diagnostic>> {
        let (half, hosts_per_edge) = (self.k / 2, self.hosts_per_edge());
        let [host_link, uplink] = self.tiers.properties(self.exceptions.error_rate);
        let mut checks = Diagnostics::at("topology");
        checks.error(self.k < 2 || self.k % 2 == 1, "k", "must be an even number of at least 2");
        checks.count("hosts_per_edge", self.hosts_per_edge.unwrap_or(1));
        let edges = u128::from(self.k) * u128::from(half);
        checks.size("k", edges * (u128::from(hosts_per_edge) + 2 * u128::from(half)));
        self.tiers.check(&mut checks);
        self.exceptions.check(&mut checks);
        checks.into_result()?;

        let mut draft = Draft::new(&self.exceptions.failures);
        let hosts = draft.hosts(self.k * half * hosts_per_edge);
        let edges = draft.switches("edge", self.k * half);
        let aggregations = draft.switches("agg", self.k * half);
        let cores = draft.switches("core", half * half);
        let per_pod = half as usize;
        draft.attach(&hosts, &edges, host_link);
        for (pod_edges, pod_aggregations) in edges.chunks(per_pod).zip(aggregations.chunks(per_pod)) {
            draft.mesh(pod_edges, pod_aggregations, uplink, 1);
        }
        for (i, &aggregation) in aggregations.iter().enumerate() {
            let first = i % per_pod * per_pod;
            draft.mesh(&[aggregation], &cores[first..first + per_pod], uplink, 1);
        }
        draft.change_links(&self.exceptions.changed_links);
        let ratio = draft.oversubscription(&edges);
        draft.notes.push(format!(
            "fat-tree: k = {}, {} hosts, {} edge, {} aggregation and {} core switches, \
             oversubscription {ratio} at the edge",
            self.k,
            hosts.len(),
            edges.len(),
            aggregations.len(),
            cores.len()
        ));
        Ok(draft)
    }

    fn effective_values(&self) -> Vec<(&'static str, Value)> {
        let mut values = self.tiers.effective_values();
        values.push(("hosts_per_edge", json!(self.hosts_per_edge())));
        values
    }
}
