//! Traffic: from what a scenario says to schedules that make its flows.
//!
//! All randomness comes from streams named by the part's tag, the purpose and the host (`traffic/poisson/sizes/h3`), so that another part,
//! another host or another purpose never shifts anybody's draws, and two schemes compared see identical traffic.

mod config;
mod incast;
mod lists;
mod moe;
mod nodes;
mod part;
mod patterns;
mod poisson;
mod rack_shuffle;
mod schedule;
pub mod sizes;
#[cfg(test)]
mod tests;

pub use config::*;
pub use nodes::{NodeList, chosen};
pub use schedule::Flows;
pub use sizes::{Interpolation, SizesConfig, SizesTable};

use crate::topology::{BuildError, Graph};
use backwater_engine::random::Seed;
use backwater_engine::{Bytes, Time};
use backwater_fabric::frame::framing::Framing;
use backwater_fabric::ids::{CLASSES, Class, NodeId};
use backwater_fabric::network::spec::FlowSpec;
use part::{Part, Scene};
use schedule::Schedule;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Most flows of one scenario. They are made one after the other, but each needs a number of its own.
pub const MAX_FLOWS: u64 = 100_000_000;

/// The flows of a run: generated again on every request, always the same.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    parts: Vec<Arc<dyn Schedule>>,
    /// About how many flows there will be.
    pub expected: f64,
    /// Tags and classes of the flows.
    pub classes: BTreeSet<(u16, Class)>,
    /// Names of the parts of the traffic: what [`FlowSpec::tag`] points into.
    pub tags: Vec<String>,
    /// What the flows of each tag are to others.
    pub roles: Vec<Role>,
    /// Tags of incasts that are not [`Traffic::fans`]: their flows are to be taken one by one.
    pub traced: BTreeSet<u16>,
    /// What a reader wants to know of it: mean sizes, loads, numbers of flows.
    pub notes: Vec<String>,
}

impl Traffic {
    /// All flows in order of start; those that start together in the order of their parts, then of their making.
    pub fn flows(&self) -> Flows {
        Flows::new(self.parts.iter().map(|part| part.clone().stream()))
    }

    /// Of incasts whose senders are drawn alike from a set: every host that may be the receiver, and those that then may send.
    pub fn fans(&self) -> impl Iterator<Item = (NodeId, Vec<NodeId>)> {
        self.parts.iter().flat_map(|part| part.fans())
    }

    /// The flows that are listed one by one, not drawn from a distribution.
    pub fn listed(&self) -> impl Iterator<Item = &FlowSpec> {
        self.parts.iter().flat_map(|part| part.listed())
    }
}

/// Prepares the flows that start before `until`. Relative paths start at `base_dir`; wire loads follow from `framing` and `mtu`.
///
/// # Errors
/// Everything that is wrong, each with the path of its field below `traffic`.
pub fn generate(
    traffic: &[TrafficConfig],
    graph: &Graph,
    framing: Framing,
    mtu: Bytes,
    seed: u64,
    until: Time,
    base_dir: &Path,
) -> Result<Traffic, Vec<BuildError>> {
    let scene = Scene { graph, framing, mtu: mtu.get(), seed: Seed(seed), base_dir, traffic };
    let (mut made, mut errors) = (Traffic::default(), Vec::new());
    let mut namesakes: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, config) in traffic.iter().enumerate() {
        let common = config.common();
        let namesake = namesakes.entry(common.tag).or_default();
        let stop = common.stop.unwrap_or(until).min(until);
        let mut part = Part::new(&scene, i, *namesake, &common, common.start..stop, &mut made);
        *namesake += 1;
        if let Some(class) = common.classes.iter().find(|class| usize::from(class.0) >= CLASSES) {
            part.refuse(".class", format!("is {}, must be between 0 and 7", class.0));
        }
        if common.classes.is_empty() {
            part.refuse(".class", "is an empty list".into());
        }
        if common.start >= until {
            part.refuse(".start", format!("is {}, the traffic ends at {until}", common.start));
        } else if common.start >= stop {
            part.refuse(".stop", format!("is {stop}, must be after the start at {}", common.start));
        }
        // What is wrong is kept by the part; `None` only says that it could not go on.
        let _ = match config {
            TrafficConfig::Poisson(config) => config.generate(&mut part),
            TrafficConfig::Incast(config) => config.generate(&mut part),
            TrafficConfig::Permutation(config) => config.generate(&mut part),
            TrafficConfig::AllToAll(config) => config.generate(&mut part),
            TrafficConfig::Moe(config) => config.generate(&mut part),
            TrafficConfig::RackShuffle(config) => config.generate(&mut part),
            TrafficConfig::LongLived(config) => config.generate(&mut part),
            TrafficConfig::Flows(config) => config.generate(&mut part),
            TrafficConfig::HpccFlows(config) => config.generate(&mut part),
        };
        errors.extend(part.finish());
    }
    if errors.is_empty() { Ok(made) } else { Err(errors) }
}
