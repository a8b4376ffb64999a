//! A lossless fabric loses nothing: whatever the network, its thresholds and its traffic.

mod common;

use backwater_fabric::ids::CLASSES;
use common::random::{Case, lossless};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..Default::default() })]

    /// No drop, every byte delivered once and in order, nothing left in a buffer, no gate left closed, the books balance.
    #[test]
    fn every_byte_arrives_once_and_the_fabric_comes_to_rest(Case { spec, flows } in lossless()) {
        let sizes: Vec<u64> = flows.iter().map(|flow| flow.bytes).collect();
        let (simulation, outcomes) = common::run(&spec, flows);
        prop_assert_eq!(simulation.find_deadlock(), None);
        prop_assert_eq!(simulation.totals().drops, [0; 4]);
        for (outcome, bytes) in outcomes.iter().zip(sizes) {
            prop_assert_eq!(outcome.reception.delivered, bytes);
            prop_assert!(outcome.reception.finish.is_some() && outcome.acknowledged > outcome.reception.finish);
            prop_assert_eq!(outcome.retransmitted, 0);
            prop_assert!(outcome.reception.blocked <= outcome.reception.paused);
        }
        prop_assert!(simulation.is_quiet());
        for node in simulation.nodes() {
            for port in node.ports() {
                prop_assert_eq!((port.held_frames(), port.held_bytes()), (0, 0));
                prop_assert!(port.closed_queues().is_empty());
                prop_assert!((0..CLASSES as u16).all(|queue| port.queue_bytes(queue) == 0));
            }
            if let Some(pipeline) = node.pipeline() {
                prop_assert_eq!(pipeline.occupancy(), Default::default());
            }
        }
        prop_assert_eq!(simulation.audit(), []);
        let totals = simulation.totals();
        prop_assert_eq!((totals.live_flows, totals.paused_ports), (0, 0));
        prop_assert_eq!(totals.acknowledged_flows, outcomes.len() as u64);
    }
}
