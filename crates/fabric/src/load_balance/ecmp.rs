//! Equal-cost multi-path: the port is a hash of the flow and of a seed of the switch.

use crate::ids::{NodeId, PortIx};
use crate::port::Port;
use crate::slots::{FlowKey, LoadBalance};
use backwater_engine::random::{Seed, mix};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcmpConfig {}

/// ECMP at one node.
#[derive(Clone, Copy, Debug)]
pub struct Ecmp {
    /// Differs from switch to switch, lest the choices of consecutive tiers be the same (polarisation).
    seed: u64,
}

impl Ecmp {
    /// ECMP at `node`.
    pub fn new(seed: Seed, node: NodeId) -> Ecmp {
        Ecmp { seed: seed.hash("ecmp", u64::from(node.0)) }
    }

    /// Index of the port among `count` that packets of `key` take.
    pub fn index(self, key: FlowKey, count: usize) -> usize {
        (mix(key.0 ^ self.seed) % count as u64) as usize
    }
}

impl LoadBalance for Ecmp {
    fn choose(&mut self, key: FlowKey, candidates: &[PortIx], _ports: &[Port]) -> usize {
        self.index(key, candidates.len())
    }
}
