//! Options that all kinds of traffic share.

use super::part::Part;
use crate::topology::Graph;
use backwater_engine::Time;
use backwater_fabric::ids::Class;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Options of one kind of traffic.
pub(super) trait TrafficOptions {
    /// Checks the options and adds flows, schedules and notes to `part`. Errors are collected in
    /// `part`. `None` means that the generation stopped early because of an error.
    fn generate(&self, part: &mut Part) -> Option<()>;

    /// Role of flows without a `role` option.
    fn default_role(&self) -> Role {
        Role::Other
    }

    /// True if the senders of an incast are drawn uniformly from a set, so that all of them send
    /// equally much on average.
    fn draws_senders(&self) -> bool {
        false
    }

    /// Returns the values of unset options in the fabric `graph`, by name.
    fn effective_values(&self, _graph: &Graph) -> Vec<(&'static str, Value)> {
        Vec::new()
    }
}

/// Options of every kind of traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommonConfig {
    /// Name of this part of the traffic in results and of its random streams. Default: its kind.
    pub tag: Option<String>,
    /// Traffic class of the data, 0 to 7, or a list from which every flow draws one: `[1, 2, 3, 4,
    /// 5, 6, 7]`. A job has one class. Default 3 (the lossless class of the HPCC family of
    /// simulators).
    #[serde(default = "default_class")]
    pub class: Classes,
    /// Start of this part. Default 0 s.
    #[serde(default)]
    pub start: Time,
    /// End of this part: no flow starts at or after this time. Jobs have no such end. Default: the
    /// end of the traffic.
    pub stop: Option<Time>,
    /// Role of the flows. Flows of other parts that share paths with an incast count as vulnerable,
    /// the rest as background. Default: `incast` for the kind `incast`, `other` for all other
    /// kinds.
    pub role: Option<Role>,
}

fn default_class() -> Classes {
    Classes::One(Class(3))
}

/// Effective values of the options that all kinds share.
#[derive(Clone, Copy, Debug)]
pub struct Common<'a> {
    /// Name of this part of the traffic.
    pub tag: &'a str,
    /// Traffic classes of the data.
    pub classes: &'a [Class],
    /// Start of this part.
    pub start: Time,
    /// End of this part, if this part ends before the traffic does.
    pub stop: Option<Time>,
    /// Role of the flows.
    pub role: Role,
    /// True if the senders of an incast are drawn uniformly from a set, so that all of them send
    /// equally much on average.
    pub draws_senders: bool,
}

/// Role of the flows of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A flow of an incast, or of other traffic that causes congestion. Other flows on the same
    /// paths may be victims.
    Incast,
    /// Any other flow.
    Other,
}

/// Traffic class of the data of a part: one for all flows, or a list from which each flow draws one
/// uniformly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "must be a class, or a list of classes")]
#[schemars(inline)]
pub enum Classes {
    /// Class of all flows.
    One(Class),
    /// Classes from which every flow draws one.
    Drawn(#[schemars(length(min = 1))] Vec<Class>),
}

impl Classes {
    /// Returns the classes that flows may have.
    pub fn as_slice(&self) -> &[Class] {
        match self {
            Classes::One(class) => std::slice::from_ref(class),
            Classes::Drawn(classes) => classes,
        }
    }
}
