//! Custom: nodes and links by name.

use super::draft::{Checks, Draft, Wire, unknown_node, wrong_in_name, wrong_in_port_name};
use super::{BuildError, Graph};
use crate::diagnostic::counted;
use backwater_engine::{Duration, Rate};
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::spec::NodeKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Options of a fabric that is written out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomConfig {
    /// Names of the hosts that do not relay.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Names of the hosts that relay: packets of others pass through them.
    #[serde(default)]
    pub relays: Vec<String>,
    /// Names of the switches.
    #[serde(default)]
    pub switches: Vec<String>,
    /// The links; a node's ports are numbered in this order.
    pub links: Vec<CustomLink>,
    /// Rate of links that give none. Default 100 Gbps.
    #[serde(default = "super::default_rate")]
    pub rate: Rate,
    /// Propagation delay of links that give none. Default 1 us.
    #[serde(default = "super::default_delay")]
    pub delay: Duration,
    /// Probability that a frame is corrupted on a link that gives none. Default 0.
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

/// One link, or several in parallel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomLink {
    /// Name of one end.
    pub a: String,
    /// Name of the other end.
    pub b: String,
    /// Bit rate in each direction. Default: the topology's.
    pub rate: Option<Rate>,
    /// Propagation delay. Default: the topology's.
    pub delay: Option<Duration>,
    /// Probability that a frame is corrupted. Default: the topology's.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub error_rate: Option<f64>,
    /// Name of the port at `a`, as `Ethernet0`. Default: none, or what `interfaces` says.
    pub a_port: Option<String>,
    /// Name of the port at `b`.
    pub b_port: Option<String>,
    /// Parallel links of this kind. Default 1.
    #[serde(default = "super::default_one")]
    #[schemars(range(min = 1))]
    pub count: u32,
}

impl CustomConfig {
    pub(super) fn build(&self) -> Result<Graph, Vec<BuildError>> {
        let mut draft = Draft::default();
        let (mut checks, mut idle) = (Checks::default(), Checks::default());
        let mut ids = BTreeMap::new();
        let linked: BTreeSet<&String> = self.links.iter().flat_map(|link| [&link.a, &link.b]).collect();
        let kinds = [
            (NodeKind::Host, "hosts", &self.hosts),
            (NodeKind::Relay, "relays", &self.relays),
            (NodeKind::Switch, "switches", &self.switches),
        ];
        for (kind, key, names) in kinds {
            for (i, name) in names.iter().enumerate() {
                let is_idle = kind.has_endpoint() && !linked.contains(name) && !self.failed_nodes.contains(name);
                if name.is_empty() {
                    checks.error(&format!("{key}[{i}]"), "is empty".into());
                } else if let Some(wrong) = wrong_in_name(name) {
                    checks.error(&format!("{key}[{i}]"), wrong.into());
                } else if ids.insert(name.as_str(), draft.node(kind, name)).is_some() {
                    checks.error(&format!("{key}[{i}]"), format!("\"{name}\" is the name of another node"));
                } else if is_idle {
                    idle.error(&format!("{key}[{i}]"), format!("host \"{name}\" has no link"));
                }
            }
        }
        let mut unknown = Vec::new();
        checks.size("links", self.links.iter().map(|link| u128::from(link.count)).sum());
        checks.error_rate("error_rate", self.error_rate);
        checks.wire("rate", "delay", self.wire());
        let mut ends: Vec<Option<(NodeId, NodeId)>> = Vec::new();
        for (i, link) in self.links.iter().enumerate() {
            let field = |name: &str| format!("links[{i}].{name}");
            checks.count(&field("count"), link.count);
            if let Some(rate) = link.rate {
                checks.rate(&field("rate"), rate);
            }
            if let Some(delay) = link.delay {
                checks.delay(&field("delay"), delay);
            }
            if let Some(error_rate) = link.error_rate {
                checks.error_rate(&field("error_rate"), error_rate);
            }
            for (side, name) in [("a_port", &link.a_port), ("b_port", &link.b_port)] {
                let Some(name) = name else { continue };
                let wrong =
                    wrong_in_port_name(name).or_else(|| (link.count > 1).then(|| "names one of several".into()));
                wrong.into_iter().for_each(|why| checks.error(&field(side), why));
            }
            let mut end = |side: &str, name: &str| {
                let id = ids.get(name).copied();
                if id.is_none() {
                    unknown.push(unknown_node(format!("topology.{}", field(side)), name, &draft.nodes));
                }
                id
            };
            let (a, b) = (end("a", &link.a), end("b", &link.b));
            ends.push(a.zip(b));
        }
        let mut errors = checks.done().err().unwrap_or_default();
        errors.extend(unknown);
        if !errors.is_empty() {
            return Err(errors);
        }
        idle.done()?;
        for (link, (a, b)) in self.links.iter().zip(ends.into_iter().flatten()) {
            let default = self.wire();
            let wire = Wire {
                rate: link.rate.unwrap_or(default.rate),
                delay: link.delay.unwrap_or(default.delay),
                error_rate: link.error_rate.unwrap_or(default.error_rate),
            };
            draft.port_names.insert(draft.links.len(), [link.a_port.clone(), link.b_port.clone()]);
            draft.link(a, b, wire, link.count);
        }
        draft.notes.push(format!(
            "custom: {}, {}, {}",
            counted(self.hosts.len() + self.relays.len(), "host"),
            counted(self.switches.len(), "switch"),
            counted(draft.links.len(), "link")
        ));
        draft.finish(&self.failed_links, &self.failed_nodes)
    }

    fn wire(&self) -> Wire {
        Wire { rate: self.rate, delay: self.delay, error_rate: self.error_rate }
    }
}
