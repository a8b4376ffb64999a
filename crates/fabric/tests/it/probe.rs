//! The probe of ingress queues agrees with the counts that switches keep, with any number of
//! shards.

use crate::common::drain;
use crate::common::random::under_dsh;
use crate::prelude::*;
use backwater_fabric::model::probe::{HeadroomPeak, Stop};
use proptest::prelude::*;

fn watched(case: &Case, shards: usize) -> (Simulation, Vec<Stop>, Vec<HeadroomPeak>) {
    let mut simulation = Simulation::new(case.spec.clone(), case.flows.clone(), shards).unwrap();
    simulation.watch_ingress();
    drain(&mut simulation);
    let (stops, peaks) = simulation.take_ingress();
    (simulation, stops, peaks)
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let (simulation, stops, peaks) = watched(case, 1);
    // On a slow link the counting window of a stop may last longer than the run.
    let open = simulation.open_stops();
    prop_assert!(open.iter().all(|stop| stop.to < Time::NEVER));
    // A queue's peak headroom is the maximum over its stops. Under DSH, the peak is that of the
    // port's insurance.
    let is_dsh = matches!(case.spec.switch.headroom, HeadroomConfig::Dsh(_));
    let mut most: BTreeMap<_, u64> = BTreeMap::new();
    for stop in stops.iter().chain(&open) {
        let facts = &simulation.fabric().wiring.ports[stop.port];
        let peak = simulation.node(facts.node).switch().unwrap().peak_headroom(facts.ix, stop.class);
        prop_assert!(stop.headroom <= peak && stop.from <= stop.to);
        prop_assert!(stop.stopped_at_port >= 1 && stop.stopped_at_switch >= stop.stopped_at_port);
        let rate = stop.window.ps() as f64 * facts.rate.bps() as f64 / 8e12;
        prop_assert!(stop.arrived as f64 <= rate + 10_000.0, "more than the link carries");
        let most = most.entry((stop.port, if is_dsh { Class::CONTROL } else { stop.class })).or_default();
        *most = stop.headroom.max(*most);
    }
    for ((port, class), most) in most {
        let facts = &simulation.fabric().wiring.ports[port];
        prop_assert_eq!(most, simulation.node(facts.node).switch().unwrap().peak_headroom(facts.ix, class));
    }
    prop_assert!(peaks.iter().all(|peak| peak.headroom > 0 && simulation.fabric().is_switch(peak.node)));
    // If a queue has used headroom, its upstream has been paused, so there is a stop.
    prop_assert!(peaks.is_empty() || !stops.is_empty() || !open.is_empty());
    let (_, same_stops, same_peaks) = watched(case, 3);
    prop_assert_eq!((stops, peaks), (same_stops, same_peaks));
    Ok(())
}

proptest! {
    #![proptest_config(common::cases(100))]

    #[test]
    fn stops_are_what_the_switches_count(case in lossless()) {
        check(&case)?;
    }

    #[test]
    fn stops_are_what_the_switches_count_under_dsh(case in under_dsh()) {
        check(&case)?;
    }
}

/// A sender transmits at line rate to a receiver whose link is down. With a shared buffer of 20,000
/// B and alpha 1, the queue is full at 10,000 B, and all frames in flight enter its headroom.
#[test]
fn a_stop_counts_arrivals_and_departures() {
    let mut spec: NetworkSpec = star(3);
    let config = SihConfig { alpha: 1.0, private: Bytes(0), ..Default::default() };
    spec.switch.headroom = HeadroomConfig::Sih(config);
    spec.switch.buffer = Bytes(reserved(&spec) + 20_000);
    let up = at_us(100);
    spec.faults = vec![LinkFault { link: 2, down: Time::ZERO, up }];
    let case = Case { spec, flows: vec![flow(0, 2, 100_000, 0)] };
    let (simulation, stops, peaks) = watched(&case, 1);
    let switch = NodeId(3);
    let peak = simulation.node(switch).switch().unwrap().peak_headroom(PortIx(0), case.flows[0].class);
    let first = stops[0];
    assert_eq!((first.headroom, first.departed, first.stopped_at_port, first.stopped_at_switch), (peak, 0, 1, 1));
    // The tenth packet crosses the threshold and is the first in headroom. Arrivals are counted
    // from the PAUSE on, after this packet.
    assert_eq!(first.arrived + 1086, peak);
    assert!(first.from < up && first.to > up);
    // The window is 2 x 1 us plus two full frames of 1102 B.
    assert_eq!(first.window, Duration::from_ps(2_176_320));
    assert_eq!(peaks[0].headroom, peak);
}
