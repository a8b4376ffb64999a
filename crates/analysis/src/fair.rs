//! Max-min fair rates of flows, and the ports that these rates saturate.
//!
//! All arithmetic is in integers of 2^-63 bit/s, and shares are rounded down. The rounding error is
//! far below 1 bit/s, the tolerance for a saturated port. Exact fractions would need more digits
//! with every settled port.

use backwater_engine::Rate;
use backwater_engine::index::IndexVec;
use backwater_fabric::ids::{FlowId, PortId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// A rate in units of 2^-63 bit/s, which can express any [`Rate`].
type FineRate = u128;

const UNITS_PER_BPS: FineRate = 1 << 63;

/// Max-min fair rates of flows with unlimited data.
#[derive(Clone, Debug)]
pub struct FairShares {
    rates: IndexVec<FlowId, FineRate>,
    spare: BTreeMap<PortId, FineRate>,
    /// Rate of the fastest flow of each port.
    fastest: BTreeMap<PortId, FineRate>,
}

/// A port with flows whose rates are not settled.
struct Open {
    spare: FineRate,
    /// Number of flows without a settled rate.
    unsettled: u32,
    flows: Vec<FlowId>,
}

impl Open {
    /// Returns the equal share of each unsettled flow; there must be at least one.
    fn share(&self) -> FineRate {
        self.spare / FineRate::from(self.unsettled)
    }
}

impl FairShares {
    /// Computes the rates by progressive filling: repeatedly, the port with the smallest share
    /// settles the rates of its flows. A flow without ports has rate zero.
    ///
    /// `paths` are the ports of each flow, each port once; `rate` is the bit rate of a port.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a [PortId]>, rate: impl Fn(PortId) -> Rate) -> FairShares {
        let paths: IndexVec<FlowId, &[PortId]> = paths.into_iter().collect();
        let mut ports: BTreeMap<PortId, Open> = BTreeMap::new();
        for (flow, path) in paths.enumerate() {
            for port in *path {
                let open = ports.entry(*port).or_insert_with(|| {
                    let spare = FineRate::from(rate(*port).bps()) * UNITS_PER_BPS;
                    Open { spare, unsettled: 0, flows: Vec::new() }
                });
                open.unsettled += 1;
                open.flows.push(flow);
            }
        }
        let mut rates: IndexVec<FlowId, Option<FineRate>> = vec![None; paths.len()].into();
        // Shares only grow while flows settle. A share from the heap is either up to date or too
        // small.
        let mut heap: BinaryHeap<_> = ports.iter().map(|(port, open)| Reverse((open.share(), *port))).collect();
        while let Some(Reverse((share, port))) = heap.pop() {
            let open = ports.get_mut(&port).expect("the heap holds ports of the map");
            if open.unsettled == 0 {
                continue;
            }
            if open.share() > share {
                heap.push(Reverse((open.share(), port)));
                continue;
            }
            for flow in std::mem::take(&mut open.flows) {
                if rates[flow].is_some() {
                    continue;
                }
                rates[flow] = Some(share);
                for passed in paths[flow] {
                    let passed = ports.get_mut(passed).expect("every port of a path is in the map");
                    passed.unsettled -= 1;
                    passed.spare -= share;
                }
            }
        }
        let rates: IndexVec<FlowId, FineRate> = rates.into_iter().map(Option::unwrap_or_default).collect();
        let mut fastest: BTreeMap<PortId, FineRate> = BTreeMap::new();
        for (path, rate) in paths.iter().zip(&rates) {
            for port in *path {
                let fastest = fastest.entry(*port).or_default();
                *fastest = (*fastest).max(*rate);
            }
        }
        FairShares { rates, fastest, spare: ports.into_iter().map(|(port, open)| (port, open.spare)).collect() }
    }

    /// Returns the rate of `flow`, to the nearest bit per second.
    pub fn rate(&self, flow: FlowId) -> Rate {
        nearest(self.rates[flow])
    }

    /// True if flows fill `port` up to less than 1 bit/s.
    pub fn is_saturated(&self, port: PortId) -> bool {
        self.spare.get(&port).is_some_and(|spare| *spare < UNITS_PER_BPS)
    }

    /// Returns the first bottleneck on the `path` of `flow`: a saturated port where no flow is
    /// faster by 1 bit/s or more. Only a flow without ports has no bottleneck.
    pub fn first_bottleneck(&self, flow: FlowId, path: &[PortId]) -> Option<PortId> {
        let is_fastest = |port: &PortId| self.fastest[port] < self.rates[flow] + UNITS_PER_BPS;
        path.iter().copied().find(|port| self.is_saturated(*port) && is_fastest(port))
    }
}

fn nearest(rate: FineRate) -> Rate {
    // No flow is faster than a port, whose rate has 64 bits.
    Rate::from_bps(((rate + UNITS_PER_BPS / 2) / UNITS_PER_BPS) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn ports(path: impl IntoIterator<Item = u32>) -> Vec<PortId> {
        path.into_iter().map(PortId).collect()
    }

    /// Returns the rates of flows in bit/s, and the saturated ports.
    fn shares(paths: &[&[u32]], bps: &[u64]) -> (Vec<u64>, Vec<u32>) {
        let paths: Vec<Vec<PortId>> = paths.iter().map(|path| ports(path.iter().copied())).collect();
        let shares = FairShares::new(paths.iter().map(Vec::as_slice), |port| Rate::from_bps(bps[port.0 as usize]));
        let full = (0..bps.len() as u32).filter(|port| shares.is_saturated(PortId(*port)));
        ((0..paths.len() as u32).map(|flow| shares.rate(FlowId(flow)).bps()).collect(), full.collect())
    }

    /// Port 1 limits one of three flows through port 0. The other two flows share the rest of the
    /// rate.
    #[test]
    fn unused_shares_go_to_other_flows() {
        assert_eq!(shares(&[&[0], &[0], &[0, 1]], &[100, 10, 50]), (vec![45, 45, 10], vec![0, 1]));
    }

    /// Each of three flows gets a third of port 0 and leaves two thirds of port 1, 2 or 3 to
    /// another flow. All ports are saturated.
    #[test]
    fn thirds_add_up() {
        let (rates, full) = shares(&[&[0, 1], &[0, 2], &[0, 3], &[1], &[2], &[3]], &[100; 4]);
        assert_eq!((rates, full), (vec![33, 33, 33, 67, 67, 67], vec![0, 1, 2, 3]));
        // Two successive ports with the same flows and rates are both saturated.
        assert_eq!(shares(&[&[0, 1], &[0, 1], &[0, 1]], &[100; 2]).1, [0, 1]);
    }

    #[test]
    fn a_port_with_room_is_not_full() {
        assert_eq!(shares(&[&[0, 2], &[1, 2]], &[40, 50, 100]).1, [0, 1]);
        assert_eq!(shares(&[&[0, 1]], &[100, 101]).1, [0]);
        assert_eq!(shares(&[&[]], &[100]), (vec![0], vec![]));
    }

    #[test]
    fn any_rate_fits() {
        assert_eq!(shares(&[&[0], &[0]], &[u64::MAX]), (vec![1 << 63; 2], vec![0]));
    }

    proptest! {
        /// Checks the definition of max-min fairness: no port carries more than its rate, and every
        /// flow passes a saturated port on which no other flow is faster.
        #[test]
        fn every_flow_has_a_bottleneck(
            paths in prop::collection::vec(prop::collection::btree_set(0u32..6, 1..4), 1..16),
            gbps in prop::collection::vec(1u64..50, 6),
        ) {
            let paths: Vec<Vec<PortId>> = paths.into_iter().map(ports).collect();
            let rate = |port: PortId| Rate::from_gbps(gbps[port.0 as usize]);
            let shares = FairShares::new(paths.iter().map(Vec::as_slice), rate);
            let through = |port: PortId| {
                let flows = paths.iter().zip(&shares.rates);
                flows.filter(move |(path, _)| path.contains(&port)).map(|(_, rate)| *rate)
            };
            for port in BTreeSet::from_iter(paths.iter().flatten().copied()) {
                let capacity = FineRate::from(Rate::from_gbps(gbps[port.0 as usize]).bps()) * UNITS_PER_BPS;
                prop_assert_eq!(through(port).sum::<FineRate>() + shares.spare[&port], capacity);
            }
            for ((flow, path), rate) in (0..).map(FlowId).zip(&paths).zip(&shares.rates) {
                let limit = shares.first_bottleneck(flow, path).expect("something limits every flow");
                prop_assert!(shares.is_saturated(limit) && path.contains(&limit));
                prop_assert!(through(limit).all(|other| other < rate + UNITS_PER_BPS));
            }
        }
    }
}
