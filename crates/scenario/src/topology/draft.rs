//! The draft of a fabric, and the range checks that all kinds share.

use super::{Failures, Graph};
use crate::diagnostic::{Diagnostic, counted};
use backwater_engine::index::IndexVec;
use backwater_engine::interrupt;
use backwater_engine::{Duration, Rate};
use backwater_fabric::contract::Diagnostics;
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::spec::{LinkSpec, NodeKind, NodeSpec, Nodes};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

/// Maximum number of links of a fabric, so that a mistyped count does not exhaust memory.
const MAX_LINKS: u64 = 1 << 22;

/// Limits of link properties. Each check returns an error message such as `"must be from ..."`.
pub(crate) struct LinkLimits;

impl LinkLimits {
    const RATES: (Rate, Rate) = (Rate::from_bps(1_000_000), Rate::from_gbps(100_000));
    const DELAYS: (Duration, Duration) = (Duration::from_ps(1), Duration::from_ms(10_000));

    pub(crate) fn rate(rate: Rate) -> Option<String> {
        let (low, high) = Self::RATES;
        (rate < low || rate > high).then(|| format!("must be from {low} to {high}"))
    }

    pub(crate) fn delay(delay: Duration) -> Option<String> {
        let (low, high) = Self::DELAYS;
        (delay < low || delay > high).then(|| format!("must be from {low} to {high}"))
    }

    pub(crate) fn error_rate(error_rate: f64) -> Option<String> {
        (!(0.0..1.0).contains(&error_rate)).then(|| "must be at least 0 and less than 1".into())
    }
}

/// Maximum length of a port name in bytes. No system known to us allows more.
const LONGEST_PORT_NAME: usize = 64;

/// Returns the rule that `name` breaks, if it cannot be printed as it is.
pub(crate) fn wrong_in_name(name: &str) -> Option<&'static str> {
    name.chars().any(char::is_control).then_some("must not contain control characters")
}

/// Returns the rule that `name` breaks as the name of a port.
pub(crate) fn wrong_in_port_name(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("must not be empty".into());
    }
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some("must not be a number; numbers identify unnamed ports".into());
    }
    if name.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Some("must not contain spaces or control characters".into());
    }
    if name.len() > LONGEST_PORT_NAME {
        return Some(format!("must have at most {LONGEST_PORT_NAME} bytes; has {}", name.len()));
    }
    let reserved = [":", "->"].into_iter().find(|reserved| name.contains(reserved));
    reserved.map(|reserved| format!("must not contain \"{reserved}\""))
}

/// The physical properties of a link.
#[derive(Clone, Copy)]
pub(super) struct LinkProperties {
    pub(super) rate: Rate,
    pub(super) delay: Duration,
    pub(super) error_rate: f64,
}

/// A fabric under construction.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) nodes: Nodes,
    pub(super) links: Vec<LinkSpec>,
    /// Names of the ports at the two ends of each link, by index into `links`.
    pub(super) port_names: BTreeMap<usize, [Option<String>; 2]>,
    pub(super) notes: Vec<String>,
    /// Links and nodes to remove.
    pub(super) failures: Failures,
    /// Number of changed links.
    pub(super) changed: usize,
    /// Errors found so far.
    pub(super) errors: Vec<Diagnostic>,
}

impl Draft {
    /// Returns a fabric without nodes, from which [`Draft::finish`] removes the failed parts.
    pub(super) fn new(failures: &Failures) -> Draft {
        Draft { failures: failures.clone(), ..Draft::default() }
    }

    /// Adds the hosts `h0`.. and returns their ids.
    pub(super) fn hosts(&mut self, count: u32) -> Vec<NodeId> {
        (0..count).map(|i| self.node(NodeKind::Host, format!("h{i}"))).collect()
    }

    /// Adds the switches `prefix0`.. and returns their ids.
    pub(super) fn switches(&mut self, prefix: &str, count: u32) -> Vec<NodeId> {
        (0..count).map(|i| self.switch(format!("{prefix}{i}"))).collect()
    }

    pub(super) fn switch(&mut self, name: impl Into<String>) -> NodeId {
        self.node(NodeKind::Switch, name)
    }

    pub(super) fn node(&mut self, kind: NodeKind, name: impl Into<String>) -> NodeId {
        interrupt::check();
        self.nodes.push(NodeSpec { name: name.into(), kind });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds `count` parallel links.
    pub(super) fn link(&mut self, a: NodeId, b: NodeId, link: LinkProperties, count: u32) {
        interrupt::check();
        let LinkProperties { rate, delay, error_rate } = link;
        self.links.extend((0..count).map(|_| LinkSpec { a, b, rate, delay, error_rate }));
    }

    /// Links every host to one of `switches`, in order. Each switch gets the same number of hosts.
    pub(super) fn attach(&mut self, hosts: &[NodeId], switches: &[NodeId], link: LinkProperties) {
        for (hosts, &switch) in hosts.chunks(hosts.len() / switches.len()).zip(switches) {
            hosts.iter().for_each(|&host| self.link(host, switch, link, 1));
        }
    }

    /// Links every node of `lower` to every node of `upper` by `count` parallel links.
    pub(super) fn mesh(&mut self, lower: &[NodeId], upper: &[NodeId], link: LinkProperties, count: u32) {
        for &below in lower {
            upper.iter().for_each(|&above| self.link(below, above, link, count));
        }
    }

    /// Returns the ratio of host-link to uplink capacity of `switches`: `"2:1"`, or `"1:1 to 2:1"`
    /// if switches differ.
    pub(super) fn oversubscription(&self, switches: &[NodeId]) -> String {
        let is_host = |node: NodeId| self.nodes[node].kind.has_endpoint();
        let mut rates = IndexVec::from(vec![[0u64; 2]; self.nodes.len()]);
        for link in &self.links {
            for (node, peer) in [(link.a, link.b), (link.b, link.a)] {
                rates[node][usize::from(!is_host(peer))] += link.rate.bps();
            }
        }
        let ratio = |node: &NodeId| {
            let [down, up] = rates[*node].map(|rate| rate as f64);
            (down / up * 100.0).round() / 100.0
        };
        let ratios = || switches.iter().map(ratio);
        let (least, most) = (ratios().fold(f64::INFINITY, f64::min), ratios().fold(0.0, f64::max));
        if least < most { format!("{least}:1 to {most}:1") } else { format!("{least}:1") }
    }

    /// Removes failed links and the links of failed nodes, then checks the fabric.
    pub(super) fn finish(self) -> Result<Graph, Vec<Diagnostic>> {
        let Draft { nodes, links, mut port_names, mut notes, failures, changed, mut errors } = self;
        let Failures { failed_links, failed_nodes } = failures;
        let names = (0..links.len()).map(|link| port_names.remove(&link).unwrap_or_default());
        let mut links: Vec<(LinkSpec, [Option<String>; 2])> = links.into_iter().zip(names).collect();
        for (i, [a, b]) in failed_links.iter().enumerate() {
            let mut end = |name: &String| {
                let found = find(&nodes, &format!("topology.failed_links[{i}]"), name);
                found.map_err(|error| errors.push(error)).ok()
            };
            let (Some(from), Some(to)) = (end(a), end(b)) else { continue };
            match links.iter().rposition(|(link, _)| (link.a, link.b) == (from, to) || (link.a, link.b) == (to, from)) {
                Some(link) => drop(links.remove(link)),
                None => errors.push(
                    Diagnostic::error(
                        format!("topology.failed_links[{i}]"),
                        format!("there is no link between \"{a}\" and \"{b}\" to fail"),
                    )
                    .hint("each entry removes one link between the two nodes"),
                ),
            }
        }
        let mut failed = BTreeSet::new();
        for (i, name) in failed_nodes.iter().enumerate() {
            let path = format!("topology.failed_nodes[{i}]");
            match find(&nodes, &path, name) {
                Ok(node) if failed.insert(node) => {}
                Ok(_) => errors.push(Diagnostic::error(path, format!("\"{name}\" is listed twice"))),
                Err(error) => errors.push(error),
            }
        }
        links.retain(|(link, _)| !failed.contains(&link.a) && !failed.contains(&link.b));
        notes.extend((changed > 0).then(|| format!("{} changed", counted(changed, "link"))));
        for (count, what) in [(failed_links.len(), "failed link"), (failed.len(), "failed node")] {
            notes.extend((count > 0).then(|| format!("{} removed", counted(count, what))));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let (links, names): (Vec<LinkSpec>, Vec<_>) = links.into_iter().unzip();
        let mut graph = Graph::with_failed(nodes, links, notes, failed)?;
        graph.name_ports(&names);
        Ok(graph)
    }
}

/// Returns the node called `name`, which the option at `path` names.
fn find(nodes: &[NodeSpec], path: &str, name: &str) -> Result<NodeId, Diagnostic> {
    let found = (0..).map(NodeId).zip(nodes).find(|(_, node)| node.name == name);
    found.map(|(id, _)| id).ok_or_else(|| unknown_node(path.into(), name, nodes))
}

pub(super) fn unknown_node(path: String, name: &str, nodes: &[NodeSpec]) -> Diagnostic {
    let error = Diagnostic::error(path, format!("there is no node \"{name}\""));
    error.did_you_mean(name, nodes.iter().map(|node| node.name.as_str()))
}

/// Range checks of the options of a topology.
pub(super) trait RangeChecks {
    fn count(&mut self, field: impl Display, count: u32);

    /// Checks rate and delay of a kind of links.
    fn link(&mut self, rate_field: &str, delay_field: &str, link: LinkProperties) {
        self.rate(rate_field, link.rate);
        self.delay(delay_field, link.delay);
    }

    fn rate(&mut self, field: impl Display, rate: Rate);

    fn delay(&mut self, field: impl Display, delay: Duration);

    fn error_rate(&mut self, field: impl Display, error_rate: f64);

    /// Rejects more than [`MAX_LINKS`] links. Every host has a link, so this bounds the nodes as
    /// well.
    fn size(&mut self, field: &str, links: u128);
}

impl RangeChecks for Diagnostics {
    fn count(&mut self, field: impl Display, count: u32) {
        self.error(count == 0, field, "must be at least 1");
    }

    fn rate(&mut self, field: impl Display, rate: Rate) {
        LinkLimits::rate(rate).into_iter().for_each(|why| self.error(true, &field, why));
    }

    fn delay(&mut self, field: impl Display, delay: Duration) {
        LinkLimits::delay(delay).into_iter().for_each(|why| self.error(true, &field, why));
    }

    fn error_rate(&mut self, field: impl Display, error_rate: f64) {
        LinkLimits::error_rate(error_rate).into_iter().for_each(|why| self.error(true, &field, why));
    }

    fn size(&mut self, field: &str, links: u128) {
        let message = format_args!("makes {links} links; at most {MAX_LINKS} are supported");
        self.error(links > u128::from(MAX_LINKS), field, message);
    }
}
