//! Topologies: from a few counts, a list of links or a file to nodes and links.
//!
//! Hosts come first in a [`Graph`], then switches, lower tiers first; host links come first in host order, then the links of each switch
//! to the tier above. A node's ports are numbered in link order.

mod bcube;
mod changes;
mod custom;
mod draft;
mod dumbbell;
mod fat_tree;
mod file;
mod graph;
mod leaf_spine;
mod star;

pub use bcube::{BcubeConfig, PerLayer};
pub use changes::ChangedLink;
pub use custom::{CustomConfig, CustomLink};
pub(crate) use draft::{LinkLimits, wrong_in_name, wrong_in_port_name};
pub use dumbbell::DumbbellConfig;
pub use fat_tree::FatTreeConfig;
pub use file::{FileConfig, FileFormat};
pub use graph::Graph;
pub(crate) use graph::word;
pub use leaf_spine::LeafSpineConfig;
pub use star::StarConfig;

use crate::diagnostic::closest;
use backwater_engine::{Duration, Rate};
use draft::Wire;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;

/// The fabric: which hosts and switches there are, and the links between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TopologyConfig {
    /// Hosts `h0`.. on one switch `s0`.
    Star(StarConfig),
    /// Two switches, `left` and `right`, with hosts on either side of a bottleneck.
    Dumbbell(DumbbellConfig),
    /// Two tiers: every leaf (`leaf0`..) has a link to every spine (`spine0`..).
    LeafSpine(LeafSpineConfig),
    /// Three tiers of k-port switches: `edge0`.., `agg0`.., `core0`..
    FatTree(FatTreeConfig),
    /// Servers that relay, with a port to a switch in each layer. Names are addresses: server `h1.2` has the digits 1 and 2; `s0.1` joins it to those that
    /// differ in the last digit, layer 0, and `s1.2` to those that differ in the first.
    Bcube(BcubeConfig),
    /// Nodes and links by name.
    Custom(CustomConfig),
    /// A topology file of another simulator.
    File(FileConfig),
}

impl TopologyConfig {
    /// Builds and checks the fabric. `base_dir` is where relative paths start: the scenario's directory.
    ///
    /// # Errors
    /// Everything that is wrong, each with the path of its field.
    pub fn build(&self, base_dir: &Path) -> Result<Graph, Vec<BuildError>> {
        match self {
            TopologyConfig::Star(config) => config.build(),
            TopologyConfig::Dumbbell(config) => config.build(),
            TopologyConfig::LeafSpine(config) => config.build(),
            TopologyConfig::FatTree(config) => config.build(),
            TopologyConfig::Bcube(config) => config.build(),
            TopologyConfig::Custom(config) => config.build(),
            TopologyConfig::File(config) => config.build(base_dir),
        }
    }

    /// What options come to that follow from others, by name.
    pub(crate) fn effective_values(&self) -> Vec<(&'static str, Value)> {
        let tiers = |[host, uplink]: [Wire; 2]| {
            vec![
                ("host_delay", json!(host.delay)),
                ("uplink_delay", json!(uplink.delay)),
                ("uplink_rate", json!(uplink.rate)),
            ]
        };
        match self {
            TopologyConfig::Dumbbell(config) => {
                let [_, bottleneck] = config.wires();
                vec![("bottleneck_delay", json!(bottleneck.delay)), ("bottleneck_rate", json!(bottleneck.rate))]
            }
            TopologyConfig::LeafSpine(config) => tiers(config.wires()),
            TopologyConfig::FatTree(config) => {
                let edge = ("hosts_per_edge", json!(config.hosts_per_edge()));
                tiers(config.wires()).into_iter().chain([edge]).collect()
            }
            TopologyConfig::Star(_)
            | TopologyConfig::Bcube(_)
            | TopologyConfig::Custom(_)
            | TopologyConfig::File(_) => Vec::new(),
        }
    }
}

/// Something in a scenario that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct BuildError {
    /// Where: the dotted path of the field in the scenario, `topology.links[3].a`.
    pub path: String,
    /// What is wrong, with the value and the limit.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl BuildError {
    /// An error without a hint.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> BuildError {
        BuildError { path: path.into(), message: message.into(), hint: None }
    }

    /// The same error with a hint.
    pub fn hint(self, hint: impl Into<String>) -> BuildError {
        BuildError { hint: Some(hint.into()), ..self }
    }
}

/// A sentence that proposes the most similar of `names`, if one is similar enough to be what was meant.
pub fn did_you_mean<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(written, names).map(|name| format!("did you mean \"{name}\"?"))
}

/// What most published set-ups of the field have.
fn default_rate() -> Rate {
    Rate::from_gbps(100)
}

fn default_delay() -> Duration {
    Duration::from_us(1)
}

fn default_one() -> u32 {
    1
}
