//! Topologies: counts, a list of links or a file, turned into nodes and links.
//!
//! A [`Graph`] lists hosts first, then switches, with lower tiers first. Links of hosts precede
//! links between switches; both are in the order of their lower ends. A node's ports are numbered
//! in link order.

mod changes;
mod draft;
mod graph;
mod shared;

pub use changes::ChangedLink;
pub(crate) use draft::{LinkLimits, wrong_in_name, wrong_in_port_name};
pub use graph::Graph;
pub(crate) use graph::word;
pub use shared::{Exceptions, Failures, TierLinks, UniformLinks};
use shared::{default_delay, default_one, default_rate};

use crate::diagnostic::Diagnostic;
use draft::Draft;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// Declares the kinds of topologies. For every line `Variant = "kind": file::Config`, a scenario
/// accepts `kind = "kind"` with the fields of `Config`, a [`TopologyOptions`] of the module `file`.
/// The documentation of `Config` describes the kind.
macro_rules! topologies {
    ($($variant:ident = $kind:literal: $module:ident::$config:ident;)+) => {
        $(
            mod $module;
            pub use $module::*;
        )+

        /// The fabric: its hosts, its switches and the links between them.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind")]
        #[allow(missing_docs, reason = "documented by the options of each kind")]
        pub enum TopologyConfig {
            $(#[serde(rename = $kind)] $variant($config),)+
        }

        impl TopologyConfig {
            fn options(&self) -> &dyn TopologyOptions {
                match self {
                    $(TopologyConfig::$variant(options) => options,)+
                }
            }
        }
    };
}

topologies! {
    Star = "star": star::StarConfig;
    Dumbbell = "dumbbell": dumbbell::DumbbellConfig;
    LeafSpine = "leaf-spine": leaf_spine::LeafSpineConfig;
    FatTree = "fat-tree": fat_tree::FatTreeConfig;
    Bcube = "bcube": bcube::BcubeConfig;
    Custom = "custom": custom::CustomConfig;
    File = "file": file::FileConfig;
}

/// Options of one kind of topology.
trait TopologyOptions {
    /// Checks the options and builds nodes and links. Relative paths start at `base_dir`.
    ///
    /// # Errors
    /// Every wrong option, with its path.
    fn draft(&self, base_dir: &Path) -> Result<Draft, Vec<Diagnostic>>;

    /// Returns the values of options that follow from other options, by name.
    fn effective_values(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }
}

impl TopologyConfig {
    /// Builds and checks the fabric. Relative paths start at `base_dir`, the scenario's directory.
    ///
    /// # Errors
    /// Every wrong option, with its path.
    pub fn build(&self, base_dir: &Path) -> Result<Graph, Vec<Diagnostic>> {
        self.options().draft(base_dir)?.finish()
    }

    /// Returns the values of options that follow from other options, by name.
    pub(crate) fn effective_values(&self) -> Vec<(&'static str, Value)> {
        self.options().effective_values()
    }
}
