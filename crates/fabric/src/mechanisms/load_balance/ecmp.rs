//! Equal-cost multi-path: the port is a hash of the flow and of a seed of the switch.

use crate::contract::{FlowHash, FlowKey, LoadBalance, LoadBalanceOptions, Site, View};
use crate::ids::PortIx;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcmpConfig {}

impl LoadBalanceOptions for EcmpConfig {
    type Instance = Ecmp;

    fn is_static(&self) -> bool {
        true
    }

    fn build(&self, site: &Site<'_>) -> Ecmp {
        Ecmp(FlowHash::new(site.seed, site.node))
    }
}

/// ECMP at one node: the hash that also fixes paths where flows start.
#[derive(Debug)]
pub struct Ecmp(FlowHash);

impl LoadBalance for Ecmp {
    fn choose(&mut self, key: FlowKey, candidates: &[PortIx], _view: &View<'_>) -> usize {
        self.0.index(key, candidates.len())
    }
}
