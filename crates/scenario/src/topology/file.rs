//! Topology files of other simulators.

use super::draft::{Draft, RangeChecks as _};
use super::{Failures, Graph, TopologyOptions};
use crate::diagnostic::{Diagnostic, counted};
use crate::hpcc;
use crate::workload::NodeList;
use backwater_fabric::contract::Diagnostics;
use backwater_fabric::network::spec::NodeKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A topology file of another simulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct FileConfig {
    /// Path of the file, relative to the scenario's directory.
    pub path: PathBuf,
    /// Format of the file. Default `hpcc`.
    #[serde(default)]
    pub format: FileFormat,
    /// Probability that a frame is corrupted on a link for which the file gives 0 or no value.
    /// Default 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub error_rate: f64,
    /// Hosts that relay: they forward packets of other hosts. Default: none.
    #[serde(default)]
    pub relays: NodeList,
    /// Failed parts.
    #[serde(flatten)]
    pub failures: Failures,
}

/// Formats of topology files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileFormat {
    /// `topology.txt` of the HPCC family of ns-3 simulators: HPCC and ConWeave, SimAI, Pyrrha. The
    /// first line determines the variant. Host number n is named `hn`, switch number n `sn`.
    #[default]
    Hpcc,
}

impl TopologyOptions for FileConfig {
    fn draft(&self, base_dir: &Path) -> Result<Draft, Vec<Diagnostic>> {
        let mut checks = Diagnostics::at("topology");
        checks.error_rate("error_rate", self.error_rate);
        checks.into_result()?;
        let FileFormat::Hpcc = self.format;
        let path = base_dir.join(&self.path);
        let at_path = |error| hpcc::at_option(error, "topology.path");
        let text = hpcc::read_text(&path).map_err(|error| vec![at_path(error)])?;
        let file = hpcc::read_topology(&text, &self.path.display().to_string())
            .map_err(|errors| errors.into_iter().map(at_path).collect::<Vec<_>>())?;
        let mut draft =
            Draft { nodes: file.nodes.into(), links: file.links, notes: file.notes, ..Draft::new(&self.failures) };
        for link in draft.links.iter_mut().filter(|link| link.error_rate == 0.0) {
            link.error_rate = self.error_rate;
        }
        if !self.relays.0.is_empty() {
            // Names can be resolved only with a graph. In this graph all hosts are relays, so that
            // it is connected whenever the graph with the selected relays is connected.
            let mut nodes = draft.nodes.clone();
            nodes.iter_mut().filter(|node| node.kind == NodeKind::Host).for_each(|host| host.kind = NodeKind::Relay);
            let graph = Graph::new(nodes, draft.links.clone(), Vec::new())?;
            for relay in self.relays.hosts("topology.relays", &graph)? {
                draft.nodes[relay].kind = NodeKind::Relay;
            }
        }
        let hosts = draft.nodes.iter().filter(|node| node.kind.has_endpoint()).count();
        let (switches, links) = (draft.nodes.len() - hosts, draft.links.len());
        let (hosts, switches, links) = (counted(hosts, "host"), counted(switches, "switch"), counted(links, "link"));
        draft.notes.insert(0, format!("{}: {hosts}, {switches}, {links}", self.path.display()));
        Ok(draft)
    }
}
