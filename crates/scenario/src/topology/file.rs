//! Files of other simulators.

use super::draft::{Checks, Draft};
use super::{BuildError, Graph};
use crate::diagnostic::counted;
use crate::hpcc;
use crate::workload::NodeList;
use backwater_fabric::network::spec::NodeKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Options of a topology file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileConfig {
    /// The file, relative to the scenario's.
    pub path: PathBuf,
    /// Its format. Default `hpcc`.
    #[serde(default)]
    pub format: FileFormat,
    /// Probability that a frame is corrupted on a link for which the file says 0 or nothing. Default 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub error_rate: f64,
    /// Hosts that relay, so that packets of others pass through them. Default: none.
    #[serde(default)]
    pub relays: NodeList,
    /// Links that are absent from the start, each as the names of its two ends; a pair counts for one of its parallel links.
    #[serde(default)]
    pub failed_links: Vec<[String; 2]>,
    /// Nodes that take no part from the start: they have no links, and hosts among them no traffic.
    #[serde(default)]
    pub failed_nodes: Vec<String>,
}

/// Formats of topology files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileFormat {
    /// `topology.txt` of the HPCC family of ns-3 simulators: HPCC and ConWeave, SimAI, Pyrrha, told from the first line. Node number n
    /// becomes `hn` if it is a host, `sn` if it is a switch.
    #[default]
    Hpcc,
}

impl FileConfig {
    pub(super) fn build(&self, base_dir: &Path) -> Result<Graph, Vec<BuildError>> {
        let mut checks = Checks::default();
        checks.error_rate("error_rate", self.error_rate);
        checks.done()?;
        let FileFormat::Hpcc = self.format;
        let path = base_dir.join(&self.path);
        let at_path = |error: hpcc::ParseError| error.at("topology.path");
        let text = hpcc::read_text(&path).map_err(|error| vec![at_path(error)])?;
        let file = hpcc::read_topology(&text, &self.path.display().to_string())
            .map_err(|errors| errors.into_iter().map(at_path).collect::<Vec<_>>())?;
        let mut draft = Draft { nodes: file.nodes, links: file.links, notes: file.notes, ..Draft::default() };
        for link in draft.links.iter_mut().filter(|link| link.error_rate == 0.0) {
            link.error_rate = self.error_rate;
        }
        if !self.relays.0.is_empty() {
            // Names are looked up in a graph. If there is one with some of the hosts as relays, there is one with all.
            let mut nodes = draft.nodes.clone();
            nodes.iter_mut().filter(|node| node.kind == NodeKind::Host).for_each(|host| host.kind = NodeKind::Relay);
            let graph = Graph::new(nodes, draft.links.clone(), Vec::new())?;
            for relay in self.relays.hosts("topology.relays", &graph)? {
                draft.nodes[relay.0 as usize].kind = NodeKind::Relay;
            }
        }
        let hosts = draft.nodes.iter().filter(|node| node.kind.has_endpoint()).count();
        let (switches, links) = (draft.nodes.len() - hosts, draft.links.len());
        let (hosts, switches, links) = (counted(hosts, "host"), counted(switches, "switch"), counted(links, "link"));
        draft.notes.insert(0, format!("{}: {hosts}, {switches}, {links}", self.path.display()));
        draft.finish(&self.failed_links, &self.failed_nodes)
    }
}
