use super::*;
use crate::contract::{BufferPolicy, FlowControl, FlowControlFacts, FlowControlOptions, Site};
use crate::frame::record::Record;
use crate::ids::{FlowId, PortId, QueueIx};
use crate::mechanisms::flow_control::FlowControlConfig;
use crate::network::spec::NetworkSpec;
use crate::testing::{admit, flow, frame, hpcc_frames, packet, star};
use backwater_engine::Duration;

const HOST: NodeId = NodeId(0);
const SWITCH: NodeId = NodeId(3);
const CLASS: Class = Class(3);

/// Returns a simulation at `at_us` in which two hosts send 10 KB each to a third.
fn simulation(spec: NetworkSpec, at_us: u64) -> Simulation {
    let flows = vec![flow(0, 2, 10_000, 0), flow(1, 2, 10_000, 0)];
    let mut simulation = Simulation::new(hpcc_frames(spec), flows, 1).unwrap();
    simulation.run_until(Time::ZERO + Duration::from_us(at_us), 1);
    simulation
}

#[test]
fn violations_show_time_place_and_problem() {
    let violation = Violation::new(Time::ZERO + Duration::from_us(2), "sw0 port 1", "12 B are missing".into());
    assert_eq!(violation.to_string(), "2 us at sw0 port 1: 12 B are missing");
}

const UNDER_WAY: u64 = 2;
const AT_REST: u64 = 100;

/// Returns places and violations after `harm` changes the state of node `id`.
fn complaints(at_us: u64, id: NodeId, harm: impl FnOnce(&mut Node)) -> Vec<(String, String)> {
    let mut simulation = simulation(star(3), at_us);
    assert_eq!((simulation.audit(), simulation.is_quiet()), (vec![], at_us == AT_REST));
    simulation.tamper(id, |node, _| harm(node));
    found(&simulation)
}

fn found(simulation: &Simulation) -> Vec<(String, String)> {
    simulation.audit().into_iter().map(|violation| (violation.place, violation.what)).collect()
}

fn complaint(place: &str, what: &str) -> Vec<(String, String)> {
    vec![(place.into(), what.into())]
}

/// Host 0 sends eleven packets, 10,528 B with charged headers, and receives eleven ACKs of 60 B.
#[test]
fn bytes_that_appear_or_vanish_at_a_node_are_found() {
    let balance =
        |added, removed| format!("{added} B received or created, but {removed} B sent, consumed or lost and 0 B held");
    let (added, removed) = (10_528 + 660, 10_528 + 660);
    for (harm, added, removed) in [
        ((|node| node.io.counters.received += 1) as fn(&mut Node), added + 1, removed),
        (|node| node.io.counters.created += 1, added + 1, removed),
        (|node| node.io.ports[PortIx(0)].start(frame(3, 1).size, Time::NEVER), added, removed + 1),
        (|node| node.io.counters.consumed += 1, added, removed + 1),
    ] {
        assert_eq!(complaints(AT_REST, HOST, harm), complaint("h0", &balance(added, removed)));
        assert_eq!(complaints(UNDER_WAY, SWITCH, harm).len(), 1);
    }
}

/// After 2 us all packets, 21,056 B, have arrived at the switch and twelve of 1000 B have departed.
#[test]
fn charged_bytes_without_a_queue_are_found() {
    for at_us in [AT_REST, UNDER_WAY] {
        let found = complaints(at_us, SWITCH, |node| {
            let buffer = &mut node.switch.as_mut().unwrap().buffer;
            assert_eq!(admit(buffer, 2, CLASS, 1000, Time::ZERO), Ok(()));
        });
        let standing = if at_us == AT_REST { 0 } else { 21_056 - 12_000 };
        let total = format!("{} B of the buffer charged, but {standing} B in egress queues", standing + 1000);
        let expected = [
            ("s0", "ingress queue of port 2, class 3: 1000 B charged, but 0 B in egress queues"),
            ("s0", total.as_str()),
        ];
        assert_eq!(found, expected.map(|(place, what)| (place.into(), what.into())));
    }
}

/// Two ingress queues have wrong counters whose sum is right.
#[test]
fn bytes_that_are_charged_to_the_wrong_queue_are_found() {
    let found = complaints(UNDER_WAY, SWITCH, |node| {
        let buffer = &mut node.switch.as_mut().unwrap().buffer;
        buffer.release(&packet(0, CLASS, 1000), Time::ZERO);
        assert_eq!(admit(buffer, 0, Class(4), 1000, Time::ZERO), Ok(()));
    });
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn a_gate_that_nobody_has_closed_is_found_once_all_is_quiet() {
    let close = |node: &mut Node| assert!(node.io.ports[PortIx(0)].close(QueueIx(3), Time::ZERO, PortId(0).into()));
    let what = "port 0 has paused nothing, but its peer has stopped Queue(3)";
    assert_eq!(complaints(AT_REST, HOST, close), complaint("s0", what));
    assert_eq!(complaints(UNDER_WAY, HOST, close), []);
}

/// Flow control whose switches report a fixed state.
#[derive(Clone, Debug, Default)]
struct Fixed {
    pauses: Vec<(PortIx, PauseScope)>,
    leftover: Option<String>,
}

impl FlowControl for Fixed {}

impl FlowControlAccounts for Fixed {
    fn upstream_pauses(&self) -> Vec<(PortIx, PauseScope)> {
        self.pauses.clone()
    }

    fn leftover(&self) -> Option<String> {
        self.leftover.clone()
    }
}

impl crate::contract::Options for Fixed {}

impl FlowControlOptions for Fixed {
    type Instance = Fixed;

    fn facts(&self, _is_host: bool) -> FlowControlFacts {
        FlowControlFacts::default()
    }

    fn build(&self, site: &Site<'_>) -> Fixed {
        if site.is_host { Fixed::default() } else { self.clone() }
    }
}

fn under(fixed: Fixed, at_us: u64) -> Vec<(String, String)> {
    let mut spec = star(3);
    spec.switch.flow_control = FlowControlConfig::custom(fixed);
    found(&simulation(spec, at_us))
}

#[test]
fn a_pause_that_nobody_obeys_is_found_once_all_is_quiet() {
    let scope = PauseScope::Flow(FlowId(7), crate::frame::Direction::Data);
    let fixed = Fixed { pauses: vec![(PortIx(1), scope)], ..Default::default() };
    let what = "port 1 has paused Flow(FlowId(7), Data), but its peer has stopped nothing";
    assert_eq!(under(fixed.clone(), AT_REST), complaint("s0", what));
    assert_eq!(under(fixed, UNDER_WAY), []);
}

#[test]
fn leftover_state_of_flow_control_is_found_once_all_is_quiet() {
    let fixed = Fixed { leftover: Some("a root".into()), ..Default::default() };
    assert_eq!(under(fixed.clone(), AT_REST), complaint("s0", "a root"));
    assert_eq!(under(fixed, UNDER_WAY), []);
}

#[test]
fn a_record_that_is_not_freed_is_found_once_all_is_quiet() {
    for (at_us, expected) in [(AT_REST, complaint("network", "frame records not freed: 1")), (UNDER_WAY, vec![])] {
        let mut simulation = simulation(star(3), at_us);
        simulation.tamper(HOST, |_, records| {
            records.insert(Record::default());
        });
        assert_eq!(found(&simulation), expected);
    }
}
