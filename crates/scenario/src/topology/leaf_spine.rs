//! Leaf-spine: two tiers of switches, every leaf linked to every spine.

use super::draft::{Draft, RangeChecks as _};
use super::{Exceptions, TierLinks, TopologyOptions};
use crate::diagnostic::{Diagnostic, counted};
use backwater_fabric::contract::Diagnostics;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// Two tiers: every leaf (`leaf0`..) has a link to every spine (`spine0`..). Hosts are numbered
/// leaf by leaf.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
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
    /// Properties of host links and of links between switches.
    #[serde(flatten)]
    pub tiers: TierLinks,
    /// Parallel links between each leaf and each spine. Default 1.
    #[serde(default = "super::default_one")]
    #[schemars(range(min = 1))]
    pub parallel_links: u32,
    /// Links with properties of their own.
    #[serde(flatten)]
    pub exceptions: Exceptions,
}

impl TopologyOptions for LeafSpineConfig {
    fn draft(&self, _: &Path) -> Result<Draft, Vec<Diagnostic>> {
        let [host_link, uplink] = self.tiers.properties(self.exceptions.error_rate);
        let uplinks = u64::from(self.spines) * u64::from(self.parallel_links);
        let mut checks = Diagnostics::at("topology");
        checks.count("leaves", self.leaves);
        checks.count("spines", self.spines);
        checks.count("hosts_per_leaf", self.hosts_per_leaf);
        checks.count("parallel_links", self.parallel_links);
        checks.size("leaves", u128::from(self.leaves) * (u128::from(self.hosts_per_leaf) + u128::from(uplinks)));
        self.tiers.check(&mut checks);
        self.exceptions.check(&mut checks);
        checks.into_result()?;

        let mut draft = Draft::new(&self.exceptions.failures);
        let hosts = draft.hosts(self.leaves * self.hosts_per_leaf);
        let leaves = draft.switches("leaf", self.leaves);
        let spines = draft.switches("spine", self.spines);
        draft.attach(&hosts, &leaves, host_link);
        draft.mesh(&leaves, &spines, uplink, self.parallel_links);
        draft.change_links(&self.exceptions.changed_links);
        let ratio = draft.oversubscription(&leaves);
        draft.notes.push(format!(
            "leaf-spine: {}, {}, {}; per leaf {} x {} down, {uplinks} x {} up, oversubscription {ratio}",
            counted(hosts.len(), "host"),
            counted(self.leaves, "leaf"),
            counted(self.spines, "spine"),
            self.hosts_per_leaf,
            host_link.rate,
            uplink.rate
        ));
        Ok(draft)
    }

    fn effective_values(&self) -> Vec<(&'static str, Value)> {
        self.tiers.effective_values()
    }
}
