//! Custom: nodes and links by name.

use super::draft::{Draft, LinkProperties, RangeChecks as _, unknown_node, wrong_in_name, wrong_in_port_name};
use super::{Failures, TopologyOptions, UniformLinks};
use crate::diagnostic::{Diagnostic, counted};
use backwater_engine::{Duration, Rate};
use backwater_fabric::contract::Diagnostics;
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::spec::NodeKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

/// Nodes and links, listed by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CustomConfig {
    /// Names of the hosts that do not relay.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Names of the hosts that relay: they forward packets of other hosts.
    #[serde(default)]
    pub relays: Vec<String>,
    /// Names of the switches.
    #[serde(default)]
    pub switches: Vec<String>,
    /// Links. A node's ports are numbered in this order.
    pub links: Vec<CustomLink>,
    /// Properties of links that do not set these properties.
    #[serde(flatten)]
    pub defaults: UniformLinks,
    /// Failed parts.
    #[serde(flatten)]
    pub failures: Failures,
}

/// One link, or several in parallel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomLink {
    /// Name of one end.
    pub a: String,
    /// Name of the other end.
    pub b: String,
    /// Bit rate in each direction. Default: the topology's `rate`.
    pub rate: Option<Rate>,
    /// Propagation delay. Default: the topology's `delay`.
    pub delay: Option<Duration>,
    /// Probability that a frame is corrupted. Default: the topology's `error_rate`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub error_rate: Option<f64>,
    /// Name of the port at `a`, such as `Ethernet0`. Default: none, unless `interfaces` gives one.
    pub a_port: Option<String>,
    /// Name of the port at `b`. Default: as for `a_port`.
    pub b_port: Option<String>,
    /// Number of parallel links with these properties. Default 1.
    #[serde(default = "super::default_one")]
    #[schemars(range(min = 1))]
    pub count: u32,
}

impl TopologyOptions for CustomConfig {
    fn draft(&self, _: &Path) -> Result<Draft, Vec<Diagnostic>> {
        let mut draft = Draft::new(&self.failures);
        let (mut checks, mut idle) = (Diagnostics::at("topology"), Diagnostics::at("topology"));
        let mut ids = BTreeMap::new();
        let linked: BTreeSet<&String> = self.links.iter().flat_map(|link| [&link.a, &link.b]).collect();
        let kinds = [
            (NodeKind::Host, "hosts", &self.hosts),
            (NodeKind::Relay, "relays", &self.relays),
            (NodeKind::Switch, "switches", &self.switches),
        ];
        for (kind, key, names) in kinds {
            for (i, name) in names.iter().enumerate() {
                let field = format_args!("{key}[{i}]");
                let is_idle =
                    kind.has_endpoint() && !linked.contains(name) && !self.failures.failed_nodes.contains(name);
                if name.is_empty() {
                    checks.error(true, field, "must not be empty");
                } else if let Some(wrong) = wrong_in_name(name) {
                    checks.error(true, field, wrong);
                } else if ids.insert(name.as_str(), draft.node(kind, name)).is_some() {
                    checks.error(true, field, format_args!("another node is already called \"{name}\""));
                } else if is_idle {
                    idle.error(true, field, format_args!("host \"{name}\" has no link"));
                }
            }
        }
        let mut unknown = Vec::new();
        checks.size("links", self.links.iter().map(|link| u128::from(link.count)).sum());
        self.defaults.check(&mut checks);
        let mut ends: Vec<Option<(NodeId, NodeId)>> = Vec::new();
        for (i, link) in self.links.iter().enumerate() {
            let field = |name| fmt::from_fn(move |f| write!(f, "links[{i}].{name}"));
            checks.count(field("count"), link.count);
            if let Some(rate) = link.rate {
                checks.rate(field("rate"), rate);
            }
            if let Some(delay) = link.delay {
                checks.delay(field("delay"), delay);
            }
            if let Some(error_rate) = link.error_rate {
                checks.error_rate(field("error_rate"), error_rate);
            }
            for (side, name) in [("a_port", &link.a_port), ("b_port", &link.b_port)] {
                let Some(name) = name else { continue };
                let wrong = wrong_in_port_name(name).or_else(|| {
                    (link.count > 1).then(|| {
                        "must not be set if `count` is above 1: parallel links would share the port name".into()
                    })
                });
                wrong.into_iter().for_each(|why| checks.error(true, field(side), why));
            }
            let mut end = |side: &str, name: &str| {
                let id = ids.get(name).copied();
                if id.is_none() {
                    unknown.push(unknown_node(format!("topology.links[{i}].{side}"), name, &draft.nodes));
                }
                id
            };
            let (a, b) = (end("a", &link.a), end("b", &link.b));
            ends.push(a.zip(b));
        }
        checks.extend(unknown);
        checks.into_result()?;
        idle.into_result()?;
        for (link, (a, b)) in self.links.iter().zip(ends.into_iter().flatten()) {
            let properties = LinkProperties {
                rate: link.rate.unwrap_or(self.defaults.rate),
                delay: link.delay.unwrap_or(self.defaults.delay),
                error_rate: link.error_rate.unwrap_or(self.defaults.error_rate),
            };
            draft.port_names.insert(draft.links.len(), [link.a_port.clone(), link.b_port.clone()]);
            draft.link(a, b, properties, link.count);
        }
        draft.notes.push(format!(
            "custom: {}, {}, {}",
            counted(self.hosts.len() + self.relays.len(), "host"),
            counted(self.switches.len(), "switch"),
            counted(draft.links.len(), "link")
        ));
        Ok(draft)
    }
}
