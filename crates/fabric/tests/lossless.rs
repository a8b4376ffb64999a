//! A lossless fabric loses nothing: whatever the network, its thresholds and its traffic.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use backwater_engine::{Bytes, Duration, Time};
use backwater_fabric::Simulation;
use backwater_fabric::flow_control::FlowControlConfig;
use backwater_fabric::flow_control::pfc::PfcConfig;
use backwater_fabric::headroom::HeadroomConfig;
use backwater_fabric::headroom::static_threshold::StaticConfig;
use backwater_fabric::ids::CLASSES;
use backwater_fabric::slots::Occupancy;
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
        prop_assert_eq!(simulation.totals().drops, [0; 5]);
        for (outcome, bytes) in outcomes.iter().zip(sizes) {
            prop_assert_eq!(outcome.reception.delivered, bytes);
            prop_assert!(outcome.reception.finish.is_some() && outcome.acknowledged > outcome.reception.finish);
            prop_assert_eq!(outcome.retransmitted, 0);
            prop_assert!(outcome.reception.blocked <= outcome.reception.paused);
        }
        prop_assert!(simulation.is_quiet());
        prop_assert_eq!(simulation.unfinished(), []);
        for node in simulation.nodes() {
            for port in node.ports() {
                prop_assert_eq!((port.is_empty(), port.queued_bytes()), (true, 0));
                prop_assert!(port.closed_queues().next().is_none());
                prop_assert!((0..CLASSES as u16).all(|queue| port.queue_bytes(queue) == 0));
            }
            if let Some(pipeline) = node.pipeline() {
                let peak = pipeline.occupancy().peak;
                prop_assert_eq!(pipeline.occupancy(), Occupancy { peak, ..Default::default() });
            }
        }
        prop_assert_eq!(simulation.audit(), []);
        let totals = simulation.totals();
        prop_assert_eq!((totals.live_flows(), totals.paused_ports), (0, 0));
        prop_assert_eq!(totals.acknowledged_flows, outcomes.len() as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..Default::default() })]

    /// The audit can look at any instant, with frames on the wires and pauses about to take effect.
    #[test]
    fn the_books_balance_at_every_instant(Case { spec, flows } in lossless(), step in 1u64..2_000_000) {
        let mut simulation = Simulation::new(spec, flows, 2).unwrap();
        let mut limit = Time::ZERO;
        for _ in 0..100 {
            limit += Duration::from_ps(step);
            simulation.run_until(limit, 1);
            prop_assert_eq!(simulation.audit(), []);
        }
    }
}

/// A RESUME that has arrived takes effect after the response time: until then the fabric has not come to rest, though nothing is on its way.
#[test]
fn a_resume_about_to_take_effect_is_no_imbalance() {
    let mut spec = common::star(3, 100, 1000);
    let response = Duration::from_us(20);
    spec.switch.flow_control = FlowControlConfig::Pfc(PfcConfig { response, ..Default::default() });
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(3000), ..Default::default() });
    let flows = vec![common::flow(0, 2, 20_000, 0), common::flow(1, 2, 20_000, 0)];
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    while simulation.next_event() < Time::NEVER {
        simulation.run_until(simulation.now() + Duration::from_ns(100), 1);
        assert_eq!(simulation.audit(), []);
    }
    assert!(simulation.totals().resume_frames > 0);
}
