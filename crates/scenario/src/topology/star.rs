//! Star: hosts on one switch.

use super::draft::{Draft, RangeChecks as _};
use super::{Failures, TopologyOptions, UniformLinks};
use crate::diagnostic::{Diagnostic, counted};
use backwater_fabric::contract::Diagnostics;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Hosts `h0`.. on one switch `s0`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct StarConfig {
    /// Number of hosts.
    #[schemars(range(min = 1))]
    pub hosts: u32,
    /// Properties of the links.
    #[serde(flatten)]
    pub links: UniformLinks,
    /// Failed parts.
    #[serde(flatten)]
    pub failures: Failures,
}

impl TopologyOptions for StarConfig {
    fn draft(&self, _: &Path) -> Result<Draft, Vec<Diagnostic>> {
        let mut checks = Diagnostics::at("topology");
        checks.count("hosts", self.hosts);
        checks.size("hosts", self.hosts.into());
        self.links.check(&mut checks);
        checks.into_result()?;

        let mut draft = Draft::new(&self.failures);
        let hosts = draft.hosts(self.hosts);
        let switch = draft.switch("s0");
        draft.attach(&hosts, &[switch], self.links.properties());
        draft.notes.push(format!("star: {} at {}", counted(self.hosts, "host"), self.links.rate));
        Ok(draft)
    }
}
