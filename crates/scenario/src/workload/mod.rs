//! Traffic: options, turned into schedules that generate flows.
//!
//! All randomness comes from streams named by the part's tag, the purpose and the host
//! (`traffic/poisson/sizes/h3`). An additional part, host or purpose therefore never changes the
//! draws of other streams, and schemes under comparison have identical traffic.

mod config;
pub mod jobs;
mod nodes;
mod part;
mod schedule;
pub mod sizes;
#[cfg(test)]
mod tests;

pub use config::{Classes, Common, CommonConfig, Role};
pub use nodes::{NodeList, chosen};
pub use schedule::Flows;
pub use sizes::{Interpolation, SizesConfig, SizesTable};

use crate::diagnostic::Diagnostic;
use crate::scenario::RunConfig;
use crate::topology::Graph;
use backwater_engine::random::Seed;
use backwater_engine::{Bytes, Time};
use backwater_fabric::frame::framing::Framing;
use backwater_fabric::ids::{CLASSES, Class, NodeId};
use backwater_fabric::network::spec::FlowSpec;
use config::TrafficOptions;
use jobs::PlannedJob;
use part::{Part, Scene};
use schedule::Schedule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Declares the kinds of traffic. For every line `Variant = "kind": file::Config`, a scenario
/// accepts `kind = "kind"` with the fields of `Config`, a [`TrafficOptions`] of the module `file`
/// with a field `common`. The documentation of `Config` describes the kind.
macro_rules! traffic {
    ($($variant:ident = $kind:literal: $module:ident::$config:ident;)+) => {
        $(
            mod $module;
            pub use $module::*;
        )+

        /// One part of the traffic; a scenario has any number of parts.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind")]
        #[allow(missing_docs, reason = "documented by the options of each kind")]
        pub enum TrafficConfig {
            $(#[serde(rename = $kind)] $variant($config),)+
        }

        impl TrafficConfig {
            /// Returns the name of the kind, which is also the default tag.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(TrafficConfig::$variant(_) => $kind,)+
                }
            }

            fn options(&self) -> &dyn TrafficOptions {
                match self {
                    $(TrafficConfig::$variant(options) => options,)+
                }
            }

            /// Returns the options that all kinds share.
            fn common_options(&self) -> &CommonConfig {
                match self {
                    $(TrafficConfig::$variant(options) => &options.common,)+
                }
            }
        }
    };
}

traffic! {
    Poisson = "poisson": poisson::PoissonConfig;
    Incast = "incast": incast::IncastConfig;
    Permutation = "permutation": permutation::PermutationConfig;
    AllToAll = "all-to-all": all_to_all::AllToAllConfig;
    Moe = "moe": moe::MoeConfig;
    RackShuffle = "rack-shuffle": rack_shuffle::RackShuffleConfig;
    LongLived = "long-lived": long_lived::LongLivedConfig;
    Flows = "flows": flows::FlowsConfig;
    Collective = "collective": collective::CollectiveConfig;
    Schedule = "schedule": operations::ScheduleConfig;
    HpccFlows = "hpcc-flows": hpcc_flows::HpccFlowsConfig;
}

impl TrafficConfig {
    /// Returns the effective values of the options that all kinds share.
    pub fn common(&self) -> Common<'_> {
        let options = self.options();
        let CommonConfig { tag, class, start, stop, role } = self.common_options();
        Common {
            tag: tag.as_deref().unwrap_or(self.kind()),
            classes: class.as_slice(),
            start: *start,
            stop: *stop,
            role: role.unwrap_or(options.default_role()),
            draws_senders: options.draws_senders(),
        }
    }

    /// Returns true if this part is a job, and not made of flows.
    pub(crate) fn is_job(&self) -> bool {
        matches!(self, TrafficConfig::Collective(_) | TrafficConfig::Schedule(_))
    }

    /// Returns the values of unset options in the fabric `graph`, by name.
    pub(crate) fn effective_values(&self, graph: &Graph) -> Vec<(&'static str, Value)> {
        self.options().effective_values(graph)
    }
}

/// Maximum number of flows of a scenario. Flows are generated on demand, but each needs its own
/// number.
pub const MAX_FLOWS: u64 = 100_000_000;

/// The flows of a run. Every request generates the same flows again.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    parts: Vec<Arc<dyn Schedule>>,
    /// Approximate number of flows.
    pub expected: f64,
    /// Tags and classes of the flows.
    pub classes: BTreeSet<(u16, Class)>,
    /// Names of the parts of the traffic. [`FlowSpec::tag`] is an index into this list.
    pub tags: Vec<String>,
    /// Role of the flows of each tag.
    pub roles: Vec<Role>,
    /// Tags of incasts that [`Traffic::fans`] does not cover: their flows must be read one by one.
    pub traced: BTreeSet<u16>,
    /// Bytes that hosts must send, for parts of which this is known before the flows are generated.
    pub offered: Vec<Offered>,
    /// Flows that would start at or after the end of the traffic.
    pub left_out: LeftOut,
    /// Warnings about probable mistakes.
    pub warnings: Vec<Diagnostic>,
    /// Jobs, in the order of their parts.
    pub jobs: Vec<PlannedJob>,
    /// Notes for the user: mean sizes, loads, numbers of flows.
    pub notes: Vec<String>,
}

/// Bytes that a host must send.
#[derive(Clone, Copy, Debug)]
pub struct Offered {
    /// Index of the part in the scenario.
    pub part: usize,
    /// The host.
    pub host: NodeId,
    /// Start of the first flow.
    pub start: Time,
    /// Bytes on the wire.
    pub wire: u128,
}

/// Flows that a run leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Number of flows.
    pub flows: u64,
    /// Their payload in bytes.
    pub bytes: u64,
}

impl Traffic {
    /// Returns all flows in order of start. Simultaneous flows are in the order of their parts,
    /// then in order of generation.
    pub fn flows(&self) -> Flows {
        Flows::new(self.parts.iter().map(|part| part.clone().stream()))
    }

    /// Returns, for incasts whose senders are drawn uniformly from a set, each possible receiver
    /// with its possible senders.
    pub fn fans(&self) -> impl Iterator<Item = (NodeId, Vec<NodeId>)> {
        self.parts.iter().flat_map(|part| part.fans())
    }

    /// Returns the bytes of up to `most` connections of jobs, for the prediction of loads.
    pub fn messages(&self, most: usize) -> Vec<FlowSpec> {
        let each = most.div_ceil(self.jobs.len().max(1)) as u32;
        self.jobs.iter().flat_map(|job| job.loads(each)).map(|(_, flow)| flow).take(most).collect()
    }

    /// Returns the flows that are listed one by one, not drawn from a distribution.
    pub fn listed(&self) -> impl Iterator<Item = &FlowSpec> {
        self.parts.iter().flat_map(|part| part.listed())
    }
}

/// Prepares the flows that start before the end of the traffic. Relative paths start at `base_dir`.
/// `framing` and `mtu` determine loads in wire bytes.
///
/// # Errors
/// All errors, each with the path of its option below `traffic`.
pub fn generate(
    traffic: &[TrafficConfig],
    graph: &Graph,
    framing: Framing,
    mtu: Bytes,
    seed: u64,
    run: &RunConfig,
    base_dir: &Path,
) -> Result<Traffic, Vec<Diagnostic>> {
    let scene = Scene { graph, framing, mtu: mtu.get(), seed: Seed(seed), base_dir, traffic, run };
    let until = run.end_of_traffic();
    let (mut made, mut errors) = (Traffic::default(), Vec::new());
    let mut namesakes: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, config) in traffic.iter().enumerate() {
        let common = config.common();
        let namesake = namesakes.entry(common.tag).or_default();
        let stop = common.stop.unwrap_or(until).min(until);
        let mut part = Part::new(&scene, i, *namesake, &common, common.start..stop, &mut made);
        *namesake += 1;
        if common.classes.iter().any(|class| usize::from(class.0) >= CLASSES) {
            part.error(".class", "must be from 0 to 7");
        }
        if common.classes.is_empty() {
            part.error(".class", "must not be empty");
        }
        if common.start >= until {
            part.error(".start", format!("must be before the end of the traffic ({until})"));
        } else if common.start >= stop {
            part.error(".stop", format!("must be after `start` ({})", common.start));
        }
        // Errors are collected in the part.
        let _ = config.options().generate(&mut part);
        errors.extend(part.finish());
    }
    if errors.is_empty() { Ok(made) } else { Err(errors) }
}
