//! Max-min fair rates, exactly: which ports are full when every flow sends as fast as the others let it.

use backwater_engine::Rate;
use backwater_fabric::ids::{FlowId, PortId};
use num_rational::BigRational;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Max-min fair rates of flows that always have something to send.
#[derive(Clone, Debug)]
pub struct FairShares {
    /// Per flow, its rate in bits per second.
    pub rates: Vec<BigRational>,
    /// Per port that some flow passes, the rate in bits per second that is left over.
    pub spare: BTreeMap<PortId, BigRational>,
}

/// A port whose flows are not all settled.
struct Open {
    spare: BigRational,
    /// Its flows that are not settled.
    unsettled: usize,
    flows: Vec<FlowId>,
}

impl Open {
    /// What each of its unsettled flows can have.
    fn share(&self) -> BigRational {
        &self.spare / BigRational::from_integer(self.unsettled.into())
    }
}

impl FairShares {
    /// Fills the ports from below: the port with the least to share settles its flows, and so on. A flow of no port gets nothing.
    ///
    /// `paths` are the ports of each flow, each port once; `rate` is the bit rate of a port.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a [PortId]>, rate: impl Fn(PortId) -> Rate) -> FairShares {
        let paths: Vec<&[PortId]> = paths.into_iter().collect();
        let zero = BigRational::from_integer(0.into());
        let mut ports: BTreeMap<PortId, Open> = BTreeMap::new();
        for (flow, path) in (0..).map(FlowId).zip(&paths) {
            for port in *path {
                let spare = || BigRational::from_integer(rate(*port).bps().into());
                let open =
                    ports.entry(*port).or_insert_with(|| Open { spare: spare(), unsettled: 0, flows: Vec::new() });
                open.unsettled += 1;
                open.flows.push(flow);
            }
        }
        let mut rates: Vec<Option<BigRational>> = vec![None; paths.len()];
        // Shares only grow while flows settle, so that one taken from the heap is either up to date or too small.
        let mut heap: BinaryHeap<_> = ports.iter().map(|(port, open)| Reverse((open.share(), *port))).collect();
        while let Some(Reverse((share, port))) = heap.pop() {
            let open = ports.get_mut(&port).expect("the heap holds ports of the map");
            if open.unsettled == 0 {
                continue;
            }
            let now = open.share();
            if now > share {
                heap.push(Reverse((now, port)));
                continue;
            }
            let flows = std::mem::take(&mut open.flows);
            let settled = flows.into_iter().filter(|flow| rates[flow.0 as usize].is_none());
            let mut taken: BTreeMap<PortId, usize> = BTreeMap::new();
            for flow in Vec::from_iter(settled) {
                rates[flow.0 as usize] = Some(share.clone());
                paths[flow.0 as usize].iter().for_each(|port| *taken.entry(*port).or_default() += 1);
            }
            for (port, flows) in taken {
                let open = ports.get_mut(&port).expect("every port of a path is in the map");
                open.unsettled -= flows;
                open.spare -= &share * BigRational::from_integer(flows.into());
            }
        }
        FairShares {
            rates: rates.into_iter().map(|rate| rate.unwrap_or_else(|| zero.clone())).collect(),
            spare: ports.into_iter().map(|(port, open)| (port, open.spare)).collect(),
        }
    }

    /// Whether flows fill `port` completely.
    pub fn is_saturated(&self, port: PortId) -> bool {
        self.spare.get(&port).is_some_and(|spare| *spare == BigRational::from_integer(0.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn shares(paths: &[&[u32]], gbps: &[u64]) -> (Vec<String>, Vec<u32>) {
        let paths: Vec<Vec<PortId>> = paths.iter().map(|path| path.iter().copied().map(PortId).collect()).collect();
        let rate = |port: PortId| Rate::from_bps(gbps[port.0 as usize]);
        let shares = FairShares::new(paths.iter().map(Vec::as_slice), rate);
        let full = (0..gbps.len() as u32).filter(|port| shares.is_saturated(PortId(*port)));
        (shares.rates.iter().map(ToString::to_string).collect(), full.collect())
    }

    /// Three flows through port 0, one of which is held to less by port 1: the others share what it leaves.
    #[test]
    fn what_one_flow_cannot_use_the_others_get() {
        let (rates, full) = shares(&[&[0], &[0], &[0, 1]], &[100, 10, 50]);
        assert_eq!((rates, full), (vec!["45".into(), "45".into(), "10".into()], vec![0, 1]));
    }

    /// Thirds stay thirds: ports 1 to 3 are full exactly, with no tolerance.
    #[test]
    fn shares_are_exact() {
        let (rates, full) = shares(&[&[0, 1], &[0, 2], &[0, 3], &[1], &[2], &[3]], &[100, 100, 100, 100]);
        assert_eq!(rates, ["100/3", "100/3", "100/3", "200/3", "200/3", "200/3"]);
        assert_eq!(full, [0, 1, 2, 3]);
    }

    #[test]
    fn a_port_with_room_is_not_full() {
        assert_eq!(shares(&[&[0, 2], &[1, 2]], &[40, 50, 100]).1, [0, 1]);
        assert_eq!(shares(&[&[]], &[100]), (vec!["0".into()], vec![]));
    }

    proptest! {
        /// What defines max-min fairness: no port carries more than its rate, and every flow passes a full port on which none is faster.
        #[test]
        fn every_flow_has_a_bottleneck(
            paths in prop::collection::vec(prop::collection::btree_set(0u32..6, 1..4), 1..16),
            rates in prop::collection::vec(1u64..50, 6),
        ) {
            let paths: Vec<Vec<PortId>> = paths.iter().map(|path| path.iter().copied().map(PortId).collect()).collect();
            let shares = FairShares::new(paths.iter().map(Vec::as_slice), |port| Rate::from_bps(rates[port.0 as usize]));
            let zero = BigRational::from_integer(0.into());
            let passed: BTreeSet<PortId> = paths.iter().flatten().copied().collect();
            let through = |port: PortId| {
                let flows = paths.iter().zip(&shares.rates);
                flows.filter(move |(path, _)| path.contains(&port)).map(|(_, rate)| rate)
            };
            for port in passed {
                let carried: BigRational = through(port).sum();
                prop_assert_eq!(&carried + &shares.spare[&port], BigRational::from_integer(rates[port.0 as usize].into()));
                prop_assert!(shares.spare[&port] >= zero);
            }
            for (path, rate) in paths.iter().zip(&shares.rates) {
                let is_bottleneck = |port: &PortId| shares.is_saturated(*port) && through(*port).all(|other| other <= rate);
                prop_assert!(path.iter().any(is_bottleneck));
            }
        }
    }
}
