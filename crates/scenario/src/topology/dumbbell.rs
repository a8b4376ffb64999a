//! Dumbbell: two switches with a bottleneck between them.

use super::draft::{Draft, LinkProperties, RangeChecks as _};
use super::{Exceptions, TopologyOptions};
use crate::diagnostic::Diagnostic;
use backwater_engine::{Duration, Rate};
use backwater_fabric::contract::Diagnostics;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;

/// Two switches, `left` and `right`, with a bottleneck between them. The first hosts, from `h0` on,
/// are on the left, and the others on the right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
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
    /// Rate of each link between the switches. Default: rate of host links.
    pub bottleneck_rate: Option<Rate>,
    /// Propagation delay between the switches. Default: delay of host links.
    pub bottleneck_delay: Option<Duration>,
    /// Parallel links between the switches. Default 1.
    #[serde(default = "super::default_one")]
    #[schemars(range(min = 1))]
    pub trunks: u32,
    /// Links with properties of their own.
    #[serde(flatten)]
    pub exceptions: Exceptions,
}

impl DumbbellConfig {
    /// Properties of host links, and of links between the switches.
    fn properties(&self) -> [LinkProperties; 2] {
        let host = LinkProperties { rate: self.rate, delay: self.delay, error_rate: self.exceptions.error_rate };
        let rate = self.bottleneck_rate.unwrap_or(self.rate);
        [host, LinkProperties { rate, delay: self.bottleneck_delay.unwrap_or(self.delay), ..host }]
    }
}

impl TopologyOptions for DumbbellConfig {
    fn draft(&self, _: &Path) -> Result<Draft, Vec<Diagnostic>> {
        let [host_link, bottleneck] = self.properties();
        let mut checks = Diagnostics::at("topology");
        checks.count("left", self.left);
        checks.count("right", self.right);
        checks.count("trunks", self.trunks);
        checks.size("left", u128::from(self.left) + u128::from(self.right) + u128::from(self.trunks));
        checks.link("rate", "delay", host_link);
        checks.link("bottleneck_rate", "bottleneck_delay", bottleneck);
        self.exceptions.check(&mut checks);
        checks.into_result()?;

        let mut draft = Draft::new(&self.exceptions.failures);
        let hosts = draft.hosts(self.left + self.right);
        let (left, right) = (draft.switch("left"), draft.switch("right"));
        let (on_left, on_right) = hosts.split_at(self.left as usize);
        draft.attach(on_left, &[left], host_link);
        draft.attach(on_right, &[right], host_link);
        draft.link(left, right, bottleneck, self.trunks);
        draft.change_links(&self.exceptions.changed_links);
        let ratio = draft.oversubscription(&[left]);
        draft.notes.push(format!(
            "dumbbell: {} + {} hosts at {}, {} x {} between the switches, oversubscription {ratio} at the left switch",
            self.left, self.right, host_link.rate, self.trunks, bottleneck.rate
        ));
        Ok(draft)
    }

    fn effective_values(&self) -> Vec<(&'static str, Value)> {
        let [_, bottleneck] = self.properties();
        vec![("bottleneck_delay", json!(bottleneck.delay)), ("bottleneck_rate", json!(bottleneck.rate))]
    }
}
