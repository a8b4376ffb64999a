//! The trace contains all actions of nodes, once and in order, with any number of shards.

use crate::prelude::*;
use backwater_fabric::driver::trace::TraceScope;

/// Returns two leaves and a spine. Three hosts of the first leaf send to the only host of the
/// second leaf, which causes queues, marks and pauses.
fn incast() -> NetworkSpec {
    let mut spec = linked(4, 3, [(0, 4), (1, 4), (2, 4), (3, 5), (4, 6), (5, 6)]);
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(20_000), ..Default::default() });
    let ecn = EcnOptions { kmin: Some(Bytes(10_000)), kmax: Some(Bytes(40_000)), ..Default::default() };
    spec.congestion = CongestionConfig::Dcqcn(DcqcnConfig { ecn, ..Default::default() });
    spec
}

fn simulation(spec: NetworkSpec, shards: usize) -> Simulation {
    let flows = (0..3).map(|host| flow(host, 3, 200_000, 0)).collect();
    Simulation::new(spec, flows, shards).unwrap()
}

fn traced(spec: &NetworkSpec, shards: usize) -> (Simulation, Vec<Traced>) {
    let mut simulation = simulation(spec.clone(), shards);
    let trace = whole_trace(&mut simulation, &TraceSpec::ALL);
    (simulation, trace)
}

/// Runs to the end and returns the trace.
fn whole_trace(simulation: &mut Simulation, spec: &TraceSpec) -> Vec<Traced> {
    simulation.watch_trace(spec);
    drain(simulation);
    simulation.take_trace()
}

fn reports(trace: &[Traced]) -> impl Iterator<Item = (Time, NodeId, Report)> {
    trace.iter().filter_map(|traced| match traced.what {
        TracedAction::Reported(report) => Some((traced.at, traced.node, report)),
        TracedAction::Sent { .. } => None,
    })
}

#[test]
fn the_trace_agrees_with_the_totals() {
    let (mut simulation, trace) = traced(&incast(), 1);
    let count = |is_it: fn(&Report) -> bool| reports(&trace).filter(|(.., report)| is_it(report)).count() as u64;
    let totals = simulation.totals();
    let sent = trace.iter().filter(|traced| matches!(traced.what, TracedAction::Sent { .. })).count() as u64;
    assert_eq!(sent, totals.packet_hops);
    // A packet is enqueued and dequeued at each of three switches, and an ACK also at its host.
    let made = |is_it: fn(PacketKind) -> bool| {
        let by_hosts = trace.iter().filter(|traced| match &traced.what {
            TracedAction::Sent { frame, .. } => {
                traced.node.0 < 4 && frame.packet().is_some_and(|packet| is_it(packet.kind))
            }
            TracedAction::Reported(_) => false,
        });
        by_hosts.count() as u64
    };
    let joined = 3 * made(|_| true) + made(|kind| kind != PacketKind::Data);
    assert_eq!(count(|report| matches!(report, Report::Enqueued { .. })), joined);
    assert_eq!(count(|report| matches!(report, Report::Dequeued { .. })), joined);
    let (stopped, resumed) = (
        count(|report| matches!(report, Report::Stopped { .. })),
        count(|report| matches!(report, Report::Paused { .. })),
    );
    assert_eq!((stopped, resumed), (resumed, simulation.take_pauses().len() as u64));
    assert!(stopped > 0);
    assert_eq!(count(|report| matches!(report, Report::Received { .. })), 3);
    assert_eq!(count(|report| matches!(report, Report::Acknowledged { .. })), 3);
    // Marked packets arrive at h3 with their mark.
    let marks = count(|report| matches!(report, Report::Marked { .. }));
    let last_hop = trace.iter().filter(|traced| match &traced.what {
        TracedAction::Sent { frame, .. } if traced.node == NodeId(5) => {
            frame.packet().is_some_and(|packet| packet.kind == PacketKind::Data && packet.marked)
        }
        _ => false,
    });
    assert_eq!(marks, last_hop.count() as u64);
    assert!(marks > 0);
    // Senders start at line rate, and slow down.
    let rates: Vec<Rate> = reports(&trace)
        .filter_map(|(.., report)| match report {
            Report::Rate { rate, .. } => Some(rate),
            _ => None,
        })
        .collect();
    assert_eq!(rates[0], Rate::from_gbps(100));
    assert!(rates.iter().any(|rate| *rate < Rate::from_gbps(60)));
}

#[test]
fn the_trace_is_in_order_and_does_not_depend_on_shards() {
    let words = |trace: Vec<Traced>| trace.iter().map(|traced| format!("{traced:?}")).collect::<Vec<_>>();
    let without_records = |words: Vec<String>| -> Vec<String> {
        // The index of a frame's side record depends on the shard.
        words.into_iter().map(|word| word.split(", record: ").next().unwrap_or_default().to_owned()).collect()
    };
    let one = traced(&incast(), 1).1;
    assert!(one.is_sorted_by_key(|traced| (traced.at, traced.node)));
    assert_eq!(without_records(words(traced(&incast(), 3).1)), without_records(words(one)));
}

/// A dropped packet is traced. If no trace was requested, nothing is traced.
#[test]
fn a_loss_is_traced_where_it_happens() {
    let mut spec = incast();
    spec.switch.flow_control = common::no_flow_control();
    spec.switch.buffer = Bytes(64 << 10);
    spec.switch.lossless = vec![];
    let (simulation, trace) = traced(&spec, 1);
    let dropped_at = |report| match report {
        Report::Dropped { node, cause: DropCause::BufferFull, .. } => Some(node),
        _ => None,
    };
    let lost = reports(&trace).filter(|(_, node, report)| dropped_at(*report) == Some(*node));
    assert_eq!(lost.count() as u64, drops(&simulation, DropCause::BufferFull));
    assert!(drops(&simulation, DropCause::BufferFull) > 0);
    let mut silent = Simulation::new(incast(), vec![flow(0, 3, 1000, 0)], 1).unwrap();
    silent.run_until(Time::ZERO + Duration::from_ms(1), 1);
    assert!(silent.take_trace().is_empty());
}

/// The link to h3 fails, and routes change before the link recovers. Packets queued for this link
/// are dequeued and dropped.
#[test]
fn packets_dropped_from_a_queue_are_dequeued() {
    let mut spec = incast();
    spec.faults = vec![LinkFault { link: 3, down: at_us(10), up: at_us(100) }];
    spec.reconvergence = Some(Duration::from_us(30));
    let (_, trace) = traced(&spec, 1);
    let count = |is_it: fn(&Report) -> bool| {
        reports(&trace).filter(|(at, node, report)| (*at, *node) == (at_us(40), NodeId(5)) && is_it(report)).count()
    };
    let lost = count(|report| matches!(report, Report::Dropped { cause: DropCause::LinkDown, .. }));
    assert!(lost > 0);
    assert_eq!(count(|report| matches!(report, Report::Dequeued { .. })), lost);
}

/// For a time window and a node, port or flow, the trace is exactly that part of the whole trace.
#[test]
fn a_trace_has_exactly_its_scope() {
    let whole = traced(&incast(), 1).1;
    let at = |traced: &Traced| (traced.at, traced.node, traced.port);
    // Both ends of the time window are instants with events.
    let (from, until) = (whole[whole.len() / 3].at, whole[whole.len() / 2].at);
    let port = Simulation::new(incast(), vec![], 1).unwrap().fabric().wiring.ports_of(NodeId(5))[0].id;
    let of_flow = |traced: &Traced| match &traced.what {
        TracedAction::Sent { frame, .. } => frame.packet().is_some_and(|packet| packet.flow == FlowId(1)),
        TracedAction::Reported(
            Report::Enqueued { flow, .. }
            | Report::Dequeued { flow, .. }
            | Report::Marked { flow, .. }
            | Report::Rate { flow, .. }
            | Report::Sender { flow, .. }
            | Report::Received { flow, .. }
            | Report::Acknowledged { flow, .. },
        ) => *flow == FlowId(1),
        TracedAction::Reported(_) => false,
    };
    type Wanted<'a> = &'a dyn Fn(&Traced) -> bool;
    let cases: [(TraceScope, Wanted<'_>); 4] = [
        (TraceScope::All, &|_| true),
        (TraceScope::Nodes([NodeId(5)].into()), &|traced| traced.node == NodeId(5)),
        (TraceScope::Ports([port].into()), &|traced| traced.port == Some(port)),
        (TraceScope::Flows([FlowId(1)].into()), &of_flow),
    ];
    for (scope, is_wanted) in cases {
        let spec = TraceSpec { from, until, scope: scope.clone() };
        let found: Vec<_> = whole_trace(&mut simulation(incast(), 1), &spec).iter().map(at).collect();
        let in_window = whole.iter().filter(|traced| (from..until).contains(&traced.at));
        let expected: Vec<_> = in_window.filter(|traced| is_wanted(traced)).map(at).collect();
        assert!(!expected.is_empty());
        assert_eq!(found, expected, "{scope:?}");
    }
}

/// The completion of a flow has no port, so it is traced with every port of its node.
#[test]
fn a_trace_of_ports_has_the_actions_of_their_nodes() {
    let receiver = Simulation::new(incast(), vec![], 1).unwrap().fabric().wiring.ports_of(NodeId(3))[0].id;
    let spec = TraceSpec { scope: TraceScope::Ports([receiver].into()), ..TraceSpec::ALL };
    let trace = whole_trace(&mut simulation(incast(), 1), &spec);
    assert!(
        trace.iter().all(|traced| traced.port == Some(receiver) || (traced.node, traced.port) == (NodeId(3), None))
    );
    assert_eq!(reports(&trace).filter(|(.., report)| matches!(report, Report::Received { .. })).count(), 3);
    assert_eq!(reports(&trace).filter(|(.., report)| matches!(report, Report::Acknowledged { .. })).count(), 0);
}

/// A flow's trace contains its lost data and ACKs.
#[test]
fn a_trace_of_a_flow_has_its_losses() {
    let mut spec = incast();
    set_error_rate(&mut spec, 0.02);
    let mut simulation = simulation(spec, 1);
    simulation.watch_trace(&TraceSpec { scope: TraceScope::Flows([FlowId(1)].into()), ..TraceSpec::ALL });
    simulation.run_until(Time::ZERO + Duration::from_ms(5), 1);
    let trace = simulation.take_trace();
    let lost = |wanted: PacketKind| {
        let kind = |report| match report {
            Report::Dropped { packet: Some((kind, FlowId(1), _)), .. } => Some(kind),
            _ => None,
        };
        reports(&trace).filter(|(.., report)| kind(*report) == Some(wanted)).count()
    };
    assert!(lost(PacketKind::Data) > 0 && lost(PacketKind::Ack) > 0);
    let drops = reports(&trace).filter(|(.., report)| matches!(report, Report::Dropped { .. })).count();
    assert_eq!(drops, lost(PacketKind::Data) + lost(PacketKind::Ack) + lost(PacketKind::Nack) + lost(PacketKind::Cnp));
}

/// Pieces of the trace, taken at every stop while some of three shards are ahead of others,
/// together equal the trace taken at the end.
#[test]
fn a_trace_taken_piece_by_piece_is_complete() {
    let at = |traced: &Traced| (traced.at, traced.node, traced.port);
    let whole: Vec<_> = traced(&incast(), 1).1.iter().map(at).collect();
    let mut simulation = simulation(incast(), 3);
    simulation.watch_trace(&TraceSpec::ALL);
    let mut pieces = Vec::new();
    while simulation.next_event() < Time::NEVER {
        simulation.advance(Time::NEVER, 1, 7, &mut || true);
        pieces.extend(simulation.take_trace().iter().map(at));
    }
    pieces.extend(simulation.take_trace().iter().map(at));
    assert_eq!(pieces, whole);
}

/// One PFC frame opens the gates of three classes, and packets behind one of these gates leave in
/// the same instant.
#[test]
fn the_opening_of_a_gate_is_traced_before_a_departure() {
    let mut spec = star(4);
    spec.switch.lossless = vec![Class(1), Class(2), Class(3)];
    spec.switch.buffer = Bytes(150_000);
    spec.switch.headroom = HeadroomConfig::Dsh(DshConfig { private: Bytes(0), alpha: 0.0, ..Default::default() });
    spec.host.ack_class = Class(3);
    let pairs = (0..4).flat_map(|src| (0..4).map(move |dst| (src, dst))).filter(|(src, dst)| src != dst);
    let flows = pairs
        .flat_map(|(src, dst)| [1, 2, 3].map(|class| FlowSpec { class: Class(class), ..flow(src, dst, 60_000, 0) }));
    let trace = whole_trace(&mut Simulation::new(spec, flows.collect(), 1).unwrap(), &TraceSpec::ALL);
    let (mut closed, mut left) = (BTreeMap::new(), 0);
    for (at, _, report) in reports(&trace) {
        match report {
            Report::Stopped { port, queue, .. } => assert_eq!(closed.insert((port, queue), at), None, "{report:?}"),
            Report::Paused { port, queue, closure } => {
                assert_eq!(closed.remove(&(port, queue)), Some(closure.from), "{report:?}");
            }
            Report::Dequeued { port, queue, .. } => {
                left += 1;
                assert_eq!(closed.get(&(port, queue)).filter(|since| **since < at), None, "{at}: {report:?}");
            }
            _ => {}
        }
    }
    assert!(left > 1000, "{left}");
}
