//! Connections: messages on queue pairs that persist, and the applications that post them.

use crate::common::applications::{Gambler, Poster, Told, connected, whole};
use crate::common::random::{any_case, dealt};
use crate::common::{complaint, without_breakdown};
use crate::prelude::*;
use backwater_fabric::contract::{Application, Posting};
use backwater_fabric::driver::outcome::Totals;
use backwater_fabric::driver::partition::Partition;
use proptest::prelude::*;
use std::any::Any;

fn post(connection: u32, bytes: u64, tag: u64, id: u64) -> Posting {
    Posting { connection: FlowId(connection), bytes, tag, id }
}

/// Returns the logs of the hosts' [`Poster`]s.
fn logs(simulation: &Simulation) -> Vec<(NodeId, Vec<(u64, Told)>)> {
    let log = |application: &dyn Application| -> Vec<(u64, Told)> {
        let poster = (application as &dyn Any).downcast_ref::<Poster>().unwrap();
        poster.log.iter().map(|(at, told)| (at.ps(), *told)).collect()
    };
    simulation.applications().map(|(host, application)| (host, log(application))).collect()
}

/// Two messages of one connection, posted together, are sent without a gap. Each has its own first
/// packet, last packet and acknowledgement, although `ack_every` exceeds their packets.
#[test]
fn messages_follow_each_other_on_a_connection() {
    let mut spec = star(2);
    spec.host.ack_every = 1000;
    let mut simulation = connected(&spec, &[flow(0, 1, 1, 0)], vec![], whole);
    let timed = [post(0, 2500, 71, 1), post(0, 1000, 72, 2)].map(|posting| (at_ns(500), posting)).into();
    simulation.install(NodeId(0), Box::new(Poster { timed, ..Default::default() }));
    simulation.install(NodeId(1), Box::new(Poster::default()));
    drain(&mut simulation);
    let wire = |bytes, is_first| u64::from(Framing::Rocev2.data(bytes, is_first, 0).wire) * 80;
    let ack = u64::from(Framing::Rocev2.ack(0).wire) * 80;
    // At 100 Gb/s, a byte takes 80 ps. Links have a delay of 1 us. The switch forwards a packet
    // after its arrival, and after the packet before.
    let (mut sent, mut forwarded) = (500_000, 0);
    let alone = wire(1000, true);
    let arrivals = [wire(1024, true), wire(1024, false), wire(452, false), alone].map(|wire| {
        sent += wire;
        forwarded = forwarded.max(sent + 1_000_000) + wire;
        forwarded + 1_000_000
    });
    let [_, _, first, second] = arrivals;
    let back = 2 * ack + 2_000_000;
    let connection = FlowId(0);
    let expected = vec![
        (
            NodeId(0),
            vec![(first + back, Told::Acknowledged(connection, 1)), (second + back, Told::Acknowledged(connection, 2))],
        ),
        (
            NodeId(1),
            vec![(first, Told::Received(connection, 0, 2500, 71)), (second, Told::Received(connection, 1, 1000, 72))],
        ),
    ];
    assert_eq!(logs(&simulation), expected);
    let outcomes = simulation.outcomes();
    let brief = |outcome: &FlowOutcome| {
        let FlowOutcome { message, spec, reception, acknowledged, .. } = outcome;
        let at = |time: &Option<Time>| time.map(Time::ps);
        (*message, spec.bytes, spec.start.ps(), reception.delivered, at(&reception.finish), at(acknowledged))
    };
    assert_eq!(
        outcomes.iter().map(brief).collect::<Vec<_>>(),
        [
            (0, 2500, 500_000, 2500, Some(first), Some(first + back)),
            (1, 1000, 500_000, 1000, Some(second), Some(second + back)),
        ]
    );
    let ideal = simulation.fabric().ideal_fct(&outcomes[1].spec, &outcomes[1].path, 0);
    assert_eq!(ideal, Some(Duration::from_ps(2 * alone + 2_000_000)));
    let Totals { started_flows, received_flows, acknowledged_flows, .. } = simulation.totals();
    assert_eq!([started_flows, received_flows, acknowledged_flows], [2; 3]);
    assert_eq!((simulation.audit(), simulation.is_quiet()), (vec![], true));
}

/// A message can be posted when another message arrives, or when it is acknowledged. Messages go
/// once around a ring of three hosts.
#[test]
fn messages_depend_on_messages() {
    let ring = [(0, 1), (1, 2), (2, 0)].map(|(src, dst)| flow(src, dst, 1, 0));
    let mut spec = star(3);
    spec.host.ack_every = 1000;
    let mut simulation = connected(&spec, &ring, vec![], whole);
    let timed = [(Time::ZERO, post(0, 1024, 0, 0))].into();
    let on_acknowledged = [((FlowId(0), 0), vec![post(0, 1024, 9, 1)])].into();
    simulation.install(NodeId(0), Box::new(Poster { timed, on_acknowledged, ..Default::default() }));
    for host in [1, 2] {
        let on_received = [((FlowId(host - 1), 0), vec![post(host, 1024, host.into(), 0)])].into();
        simulation.install(NodeId(host), Box::new(Poster { on_received, ..Default::default() }));
    }
    drain(&mut simulation);
    let data = u64::from(Framing::Rocev2.data(1024, true, 0).wire) * 80;
    let ack = u64::from(Framing::Rocev2.ack(0).wire) * 80;
    // The ACK of a message leaves before the message that its arrival causes.
    let (step, back) = (2 * data + 2_000_000, 2 * ack + 2_000_000);
    let arrivals = [step, 2 * step + ack, 3 * step + 2 * ack];
    let again = step + back + step;
    let logs = logs(&simulation);
    assert_eq!(logs[1].1[0], (arrivals[0], Told::Received(FlowId(0), 0, 1024, 0)));
    assert_eq!(logs[2].1[0], (arrivals[1], Told::Received(FlowId(1), 0, 1024, 1)));
    assert!(logs[0].1.contains(&(arrivals[2], Told::Received(FlowId(2), 0, 1024, 2))));
    assert!(logs[1].1.contains(&(again, Told::Received(FlowId(0), 1, 1024, 9))), "{logs:?}");
}

/// Results of a run with applications.
#[derive(Clone, Debug, PartialEq)]
struct Results {
    fingerprint: String,
    messages: Vec<FlowOutcome>,
    totals: Totals,
    logs: Vec<(NodeId, Vec<(Time, Told)>)>,
    violations: Vec<String>,
}

fn results(mut simulation: Simulation, threads: usize, step_us: u64) -> Results {
    let (mut limit, end) = (Duration::from_us(step_us), Duration::from_ms(10));
    while limit < end {
        simulation.run_until(Time::ZERO + limit, threads);
        limit = limit * 3;
    }
    simulation.run_until(Time::ZERO + end, threads);
    let log = |application: &dyn Application| {
        (application as &dyn Any).downcast_ref::<Gambler>().map(|it| it.log.clone()).unwrap()
    };
    let mut messages = simulation.outcomes();
    messages.sort_by_key(|outcome| (outcome.flow, outcome.message));
    Results {
        fingerprint: simulation.fingerprint().to_string(),
        messages,
        totals: simulation.totals(),
        logs: simulation.applications().map(|(host, application)| (host, log(application))).collect(),
        violations: simulation.audit().iter().map(ToString::to_string).collect(),
    }
}

/// Returns a simulation in which each host posts up to 20 messages on the connections that have the
/// ends of the case's flows. The case's flows run beside them.
fn gamble(case: &Case, seed: u64, partition: impl FnOnce(&Fabric) -> Partition) -> Simulation {
    let ends: Vec<FlowSpec> = case.flows.iter().map(|flow| FlowSpec { start: Time::ZERO, ..flow.clone() }).collect();
    let mut simulation = connected(&case.spec, &ends, case.flows.clone(), partition);
    for host in case.spec.nodes.ids().filter(|host| case.spec.is_host(*host)) {
        let own = (0..).zip(&ends).filter(|(_, flow)| flow.src == host).map(|(id, _)| FlowId(id)).collect();
        simulation.install(host, Box::new(Gambler::new(host, own, 20, seed)));
    }
    simulation
}

proptest! {
    #![proptest_config(common::cases(60))]

    /// A connection with one message behaves like a flow, unless receivers have timers: these end
    /// with a flow, but not with a message. Starts differ from all other times, since timers come
    /// last within an instant.
    #[test]
    fn a_connection_with_one_message_is_a_flow(case in any_case()) {
        prop_assume!(!case.spec.congestion.needs_receiver_timers());
        let mut case = case;
        case.flows.retain(|flow| !flow.is_endless());
        for (flow, place) in case.flows.iter_mut().zip(0..) {
            flow.start += Duration::from_ps(1 + 2 * place);
        }
        let flows = results_of_flows(Simulation::new(case.spec.clone(), case.flows.clone(), 1).unwrap());
        let ends: Vec<_> = case.flows.iter().map(|flow| FlowSpec { start: Time::ZERO, ..flow.clone() }).collect();
        let mut simulation = connected(&case.spec, &ends, vec![], whole);
        for host in case.spec.nodes.ids().filter(|host| case.spec.is_host(*host)) {
            let own = (0..).zip(&case.flows).filter(|(_, flow)| flow.src == host);
            let timed = own.map(|(id, flow)| (flow.start, post(id, flow.bytes, 0, 0))).collect();
            simulation.install(host, Box::new(Poster { timed, ..Default::default() }));
        }
        prop_assert_eq!(results_of_flows(simulation), flows);
    }

    /// Applications react to each other in the same way in any partition, with any threads, limits
    /// and traces. Every message that is received was posted, and arrives once.
    #[test]
    fn shards_threads_and_traces_change_no_message(case in any_case(), seed in any::<u64>()) {
        let expected = results(gamble(&case, seed, whole), 1, 3);
        prop_assert_eq!(&expected.violations, &Vec::<String>::new());
        for (shards, threads, step) in [(2, 1, 5), (3, 2, 3), (7, 1, 1), (5, 2, 7)] {
            let dealt = gamble(&case, seed, |fabric| dealt(fabric, shards, seed));
            prop_assert_eq!(&results(dealt, threads, step), &expected, "{} shards", shards);
        }
        let mut traced = gamble(&case, seed, whole);
        traced.watch_trace(&TraceSpec::ALL);
        prop_assert_eq!(&results(traced, 1, 3), &expected, "traced");
        let mut watched = gamble(&case, seed, whole);
        watched.watch_flows();
        let watched = results(watched, 1, 3);
        for outcome in &watched.messages {
            prop_assert_eq!(complaint(outcome, Time::ZERO + Duration::from_ms(10)), None);
        }
        let without = |results: &Results| -> Results {
            let messages = results.messages.iter().cloned().map(without_breakdown).collect();
            Results { messages, ..results.clone() }
        };
        prop_assert_eq!(without(&watched), without(&expected));
        let received = |(_, told): &(Time, Told)| match told {
            Told::Received(connection, number, bytes, _) => Some((*connection, *number, *bytes)),
            Told::Acknowledged(..) => None,
        };
        let told: Vec<_> = expected.logs.iter().flat_map(|(_, log)| log.iter().filter_map(received)).collect();
        let arrived = expected.messages.iter().filter(|it| it.flow.0 < case.flows.len() as u32);
        let arrived = arrived.filter(|it| it.reception.finish.is_some());
        let mut arrived: Vec<_> = arrived.map(|it| (it.flow, it.message, it.reception.delivered)).collect();
        let mut told_sorted = told;
        told_sorted.sort_unstable();
        arrived.sort_unstable();
        prop_assert_eq!(told_sorted, arrived);
    }
}

/// Arrival of the last byte and of the last ACK of a flow.
type Ends = (FlowId, Option<Time>, Option<Time>);

/// Returns what a run of flows and a run of messages have in common.
fn results_of_flows(mut simulation: Simulation) -> (String, Vec<Ends>) {
    let mut limit = Duration::from_us(3);
    while simulation.next_event() < Time::NEVER && simulation.now() < Time::ZERO + Duration::from_ms(10) {
        simulation.run_until(Time::ZERO + limit, 1);
        limit = limit * 3;
    }
    let times = |outcome: &FlowOutcome| (outcome.flow, outcome.reception.finish, outcome.acknowledged);
    let mut flows: Vec<_> = simulation.outcomes().iter().map(times).collect();
    flows.sort_unstable();
    (simulation.fingerprint().to_string(), flows)
}
