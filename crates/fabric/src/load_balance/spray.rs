//! Packet spraying: every packet takes a uniformly random equal-cost port. Needs receivers that stand reordering.

use crate::ids::{NodeId, PortIx};
use crate::port::Port;
use crate::slots::{FlowKey, LoadBalance};
use backwater_engine::random::{Seed, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SprayConfig {}

/// Spraying at one node.
#[derive(Debug)]
pub struct Spray {
    draws: Stream,
}

impl Spray {
    /// Spraying at `node`.
    pub fn new(seed: Seed, node: NodeId) -> Spray {
        Spray { draws: seed.stream("spray", u64::from(node.0)) }
    }
}

impl LoadBalance for Spray {
    fn choose(&mut self, _key: FlowKey, candidates: &[PortIx], _ports: &[Port]) -> usize {
        self.draws.below(candidates.len() as u64) as usize
    }
}
