//! DRILL (Ghorbani et al., SIGCOMM 2017): every packet takes the port with the shortest queue among
//! a few random ports and the best remembered ones. Receivers must tolerate reordering.

use super::flowlets::{any_usable, is_usable};
use crate::contract::{Choice, LoadBalance, LoadBalanceOptions, Options, PipelineHooks, RouteRequest, Site, View};
use crate::ids::{NodeId, PortIx};
use backwater_engine::random::{Seed, Stream};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// DRILL: every packet takes the shortest queue of a few ports (SIGCOMM 2017).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DrillConfig {
    /// Number d of ports drawn at random for every packet, with repetition. Default 2 (paper).
    #[schemars(range(min = 1, max = 64))]
    pub samples: u32,
    /// Number m of ports with the shortest queues that are remembered for the next packet. Default
    /// 1 (paper).
    #[schemars(range(max = 64))]
    pub memory: u32,
}

impl Default for DrillConfig {
    fn default() -> Self {
        DrillConfig { samples: 2, memory: 1 }
    }
}

/// DRILL at one node.
#[derive(Debug, GetSize)]
pub struct Drill {
    samples: u32,
    memory: usize,
    draws: Stream,
    /// Best ports of the last comparison, for each set of equal-cost ports, as indices into the
    /// set.
    best: BTreeMap<Vec<PortIx>, Vec<usize>>,
    /// Queued bytes and indices of compared ports. The memory is kept from packet to packet.
    seen: Vec<(u64, usize)>,
}

impl Drill {
    /// Returns DRILL at `node`.
    pub fn new(config: &DrillConfig, seed: Seed, node: NodeId) -> Drill {
        Drill {
            samples: config.samples.max(1),
            memory: config.memory as usize,
            draws: seed.stream("drill", u64::from(node.0)),
            best: BTreeMap::new(),
            seen: Vec::new(),
        }
    }
}

impl Options for DrillConfig {}

impl LoadBalanceOptions for DrillConfig {
    type Instance = Drill;

    fn reorders(&self) -> bool {
        true
    }

    fn chooses_per_packet(&self) -> bool {
        true
    }

    fn build(&self, site: &Site<'_>) -> Drill {
        Drill::new(self, site.seed, site.node)
    }
}

impl PipelineHooks for Drill {}

impl LoadBalance for Drill {
    fn choose(&mut self, arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Choice {
        let candidates = arrival.candidates;
        let Drill { samples, memory, draws, best, seen } = self;
        let best = match best.get_mut(candidates) {
            Some(best) => best,
            None => best.entry(candidates.to_vec()).or_default(),
        };
        let load = |index: usize| (view.port(candidates[index]).queued_bytes(), index);
        seen.clear();
        seen.extend((0..*samples).map(|_| load(any_usable(candidates, view, draws))));
        let remembered = best.drain(..).filter(|way| is_usable(*way, candidates, view));
        seen.extend(remembered.map(load));
        // The sort is stable: among equal queues, the first one drawn wins, and remembered ports
        // rank last.
        seen.sort_by_key(|(bytes, _)| *bytes);
        for (_, index) in seen.iter() {
            if best.len() < *memory && !best.contains(index) {
                best.push(*index);
            }
        }
        Choice::Candidate(seen[0].1)
    }
}

#[cfg(test)]
mod tests;
