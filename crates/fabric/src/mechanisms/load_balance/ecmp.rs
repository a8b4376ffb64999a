//! Equal-cost multi-path: a hash of the flow, with the switch's seed, selects the port.

use crate::contract::{
    Choice, FlowHash, LoadBalance, LoadBalanceOptions, Options, PipelineHooks, RouteRequest, Site, View,
};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Equal-cost multi-path: a hash of the flow, seeded per switch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcmpConfig {}

impl Options for EcmpConfig {}

impl LoadBalanceOptions for EcmpConfig {
    type Instance = Ecmp;

    fn is_static(&self) -> bool {
        true
    }

    fn build(&self, site: &Site<'_>) -> Ecmp {
        Ecmp(FlowHash::new(site.hash_seed, site.node))
    }
}

/// ECMP at one node, with the hash that also determines paths when flows start.
#[derive(Debug, GetSize)]
pub struct Ecmp(FlowHash);

impl PipelineHooks for Ecmp {}

impl LoadBalance for Ecmp {
    fn choose(&mut self, arrival: &mut RouteRequest<'_>, _view: &mut View<'_>) -> Choice {
        Choice::Candidate(self.0.index(arrival.key, arrival.candidates.len()))
    }
}
