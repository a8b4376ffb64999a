//! A fabric being put together, and the range checks that all kinds share.

use super::{BuildError, Graph, did_you_mean};
use crate::diagnostic::counted;
use backwater_engine::{Duration, Rate};
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::spec::{LinkSpec, NodeKind, NodeSpec};
use std::collections::{BTreeMap, BTreeSet};

/// Largest fabric that a few counts may ask for; guards the memory against a misplaced digit.
const MAX_LINKS: u64 = 1 << 22;

/// What a link may be. Each check gives what is wrong: `"is 0 ps, must be ..."`.
pub(crate) struct LinkLimits;

impl LinkLimits {
    const RATES: (Rate, Rate) = (Rate::from_bps(1_000_000), Rate::from_gbps(100_000));
    const DELAYS: (Duration, Duration) = (Duration::from_ps(1), Duration::from_ms(10_000));

    pub(crate) fn rate(rate: Rate) -> Option<String> {
        let (low, high) = Self::RATES;
        (rate < low || rate > high).then(|| format!("is {rate}, must be between {low} and {high}"))
    }

    pub(crate) fn delay(delay: Duration) -> Option<String> {
        let (low, high) = Self::DELAYS;
        (delay < low || delay > high).then(|| format!("is {delay}, must be between {low} and {high}"))
    }

    pub(crate) fn error_rate(error_rate: f64) -> Option<String> {
        (!(0.0..1.0).contains(&error_rate)).then(|| format!("is {error_rate}, must be at least 0 and less than 1"))
    }
}

/// Bytes of the name of a port; no system that we know takes more.
const LONGEST_PORT_NAME: usize = 64;

/// Returns what keeps `name` from being shown as it is.
pub(crate) fn wrong_in_name(name: &str) -> Option<&'static str> {
    name.chars().any(char::is_control).then_some("must not contain control characters")
}

/// What keeps `name` from being the name of a port.
pub(crate) fn wrong_in_port_name(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("is empty".into());
    }
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some("must not be a number: that is what a port is called without a name".into());
    }
    if name.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Some("must not contain spaces or control characters".into());
    }
    if name.len() > LONGEST_PORT_NAME {
        return Some(format!("has {} bytes; {LONGEST_PORT_NAME} are allowed", name.len()));
    }
    let reserved = [":", "->"].into_iter().find(|reserved| name.contains(reserved));
    reserved.map(|reserved| format!("must not contain \"{reserved}\""))
}

/// The physical properties of a link.
#[derive(Clone, Copy)]
pub(super) struct Wire {
    pub(super) rate: Rate,
    pub(super) delay: Duration,
    pub(super) error_rate: f64,
}

/// Nodes and links so far.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) nodes: Vec<NodeSpec>,
    pub(super) links: Vec<LinkSpec>,
    /// How the ports at the two ends of a link are called, an index into `links`.
    pub(super) port_names: BTreeMap<usize, [Option<String>; 2]>,
    pub(super) notes: Vec<String>,
    /// Links that differ from the others.
    pub(super) changed: usize,
    /// What has been found to be wrong.
    pub(super) errors: Vec<BuildError>,
}

impl Draft {
    /// Adds `count` nodes called `prefix0`.. and returns their ids.
    pub(super) fn nodes(&mut self, kind: NodeKind, prefix: &str, count: u32) -> Vec<NodeId> {
        (0..count).map(|i| self.node(kind, format!("{prefix}{i}"))).collect()
    }

    pub(super) fn node(&mut self, kind: NodeKind, name: impl Into<String>) -> NodeId {
        self.nodes.push(NodeSpec { name: name.into(), kind });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds `count` parallel links.
    pub(super) fn link(&mut self, a: NodeId, b: NodeId, wire: Wire, count: u32) {
        let Wire { rate, delay, error_rate } = wire;
        self.links.extend((0..count).map(|_| LinkSpec { a, b, rate, delay, error_rate }));
    }

    /// How many bits may come in from hosts at one of `switches` for each bit that may leave to other switches: `"2:1"`, or `"1:1 to 2:1"` where these differ.
    pub(super) fn oversubscription(&self, switches: &[NodeId]) -> String {
        let is_host = |node: NodeId| self.nodes[node.0 as usize].kind.has_endpoint();
        let mut rates = vec![[0u64; 2]; self.nodes.len()];
        for link in &self.links {
            for (node, peer) in [(link.a, link.b), (link.b, link.a)] {
                rates[node.0 as usize][usize::from(!is_host(peer))] += link.rate.bps();
            }
        }
        let ratio = |node: &NodeId| {
            let [down, up] = rates[node.0 as usize].map(|rate| rate as f64);
            (down / up * 100.0).round() / 100.0
        };
        let ratios = || switches.iter().map(ratio);
        let (least, most) = (ratios().fold(f64::INFINITY, f64::min), ratios().fold(0.0, f64::max));
        if least < most { format!("{least}:1 to {most}:1") } else { format!("{least}:1") }
    }

    /// Takes the failed links out, and those of failed nodes, and checks the whole.
    pub(super) fn finish(
        self,
        failed_links: &[[String; 2]],
        failed_nodes: &[String],
    ) -> Result<Graph, Vec<BuildError>> {
        let Draft { nodes, links, mut port_names, mut notes, changed, mut errors } = self;
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
                    BuildError::new(
                        format!("topology.failed_links[{i}]"),
                        format!("there is no link between \"{a}\" and \"{b}\" that could fail"),
                    )
                    .hint("name a pair once for each of its parallel links"),
                ),
            }
        }
        let mut failed = BTreeSet::new();
        for (i, name) in failed_nodes.iter().enumerate() {
            let path = format!("topology.failed_nodes[{i}]");
            match find(&nodes, &path, name) {
                Ok(node) if failed.insert(node) => {}
                Ok(_) => errors.push(BuildError::new(path, format!("\"{name}\" is listed twice"))),
                Err(error) => errors.push(error),
            }
        }
        links.retain(|(link, _)| !failed.contains(&link.a) && !failed.contains(&link.b));
        notes.extend((changed > 0).then(|| format!("{} changed", counted(changed, "link"))));
        for (count, what) in [(failed_links.len(), "failed link"), (failed.len(), "failed node")] {
            notes.extend((count > 0).then(|| format!("{} taken out", counted(count, what))));
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

/// The node called `name`, asked for at `path`.
fn find(nodes: &[NodeSpec], path: &str, name: &str) -> Result<NodeId, BuildError> {
    let found = (0..).map(NodeId).zip(nodes).find(|(_, node)| node.name == name);
    found.map(|(id, _)| id).ok_or_else(|| unknown_node(path.into(), name, nodes))
}

pub(super) fn unknown_node(path: String, name: &str, nodes: &[NodeSpec]) -> BuildError {
    let hint = did_you_mean(name, nodes.iter().map(|node| node.name.as_str()));
    BuildError { path, message: format!("there is no node \"{name}\""), hint }
}

/// Range checks that collect what they find.
#[derive(Default)]
pub(super) struct Checks(Vec<BuildError>);

impl Checks {
    pub(super) fn error(&mut self, field: &str, message: String) {
        self.0.push(BuildError::new(format!("topology.{field}"), message));
    }

    pub(super) fn count(&mut self, field: &str, count: u32) {
        if count == 0 {
            self.error(field, "is 0, must be at least 1".into());
        }
    }

    pub(super) fn wire(&mut self, rate_field: &str, delay_field: &str, wire: Wire) {
        self.rate(rate_field, wire.rate);
        self.delay(delay_field, wire.delay);
    }

    pub(super) fn rate(&mut self, field: &str, rate: Rate) {
        LinkLimits::rate(rate).into_iter().for_each(|why| self.error(field, why));
    }

    pub(super) fn delay(&mut self, field: &str, delay: Duration) {
        LinkLimits::delay(delay).into_iter().for_each(|why| self.error(field, why));
    }

    pub(super) fn error_rate(&mut self, field: &str, error_rate: f64) {
        LinkLimits::error_rate(error_rate).into_iter().for_each(|why| self.error(field, why));
    }

    /// Refuses a fabric of more than [`MAX_LINKS`] links; every host has one, so this bounds the nodes too.
    pub(super) fn size(&mut self, field: &str, links: u128) {
        if links > u128::from(MAX_LINKS) {
            self.error(field, format!("asks for {links} links in all, must be at most {MAX_LINKS}"));
        }
    }

    pub(super) fn done(self) -> Result<(), Vec<BuildError>> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0) }
    }
}
