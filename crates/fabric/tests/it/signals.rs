//! Checks that the congestion signals of accounts equal those of the trace, port by port.

use crate::prelude::*;
use backwater_fabric::mechanisms::congestion::flb_rc::FlbRcConfig;
use backwater_fabric::model::ledger::{SignalKind, Signals};

/// Signals of one kind: count, first and last time by flow and port.
type SignalsByPort = BTreeMap<(FlowId, PortId), (u64, Time, Time)>;

/// Returns two leaves and a spine. Three hosts of the first leaf send to one host of the second
/// leaf, and the fourth host sends to the other. PAUSEs spread the congestion to several ports.
fn incast(congestion: CongestionConfig) -> NetworkSpec {
    let mut spec = NetworkSpec::with_nodes(6, 3);
    let gbps = |b| if b == 8 { 400 } else { 100 };
    let links = [(0, 6), (1, 6), (2, 6), (3, 6), (4, 7), (5, 7), (6, 8), (7, 8)];
    spec.links = links.map(|(a, b)| link(a, b, gbps(b), 1000)).into();
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(20_000), ..Default::default() });
    spec.congestion = congestion;
    spec
}

fn ran(congestion: CongestionConfig, shards: usize) -> Simulation {
    ran_in(incast(congestion), shards)
}

fn ran_in(spec: NetworkSpec, shards: usize) -> Simulation {
    let flows = (0..4).map(|host| flow(host, if host < 3 { 4 } else { 5 }, 200_000, 0)).collect();
    let mut simulation = Simulation::new(spec, flows, shards).unwrap();
    simulation.watch_flows();
    simulation.watch_trace(&TraceSpec::ALL);
    drain(&mut simulation);
    simulation
}

/// Returns the signals of one kind in all accounts.
fn signals(simulation: &mut Simulation, kind: SignalKind) -> SignalsByPort {
    let accounts = simulation.outcomes().into_iter().map(|outcome| (outcome.flow, outcome.account.unwrap()));
    let of_kind = accounts.flat_map(|(flow, account)| {
        let of_flow = account.signals.into_iter().filter(move |((of, _), _)| *of == kind);
        of_flow.map(move |((_, port), Signals { count, first, last, .. })| ((flow, port), (count, first, last)))
    });
    of_kind.collect()
}

fn add(signals: &mut SignalsByPort, key: (FlowId, PortId), at: Time) {
    let (count, first, last) = signals.entry(key).or_insert((0, at, at));
    *count += 1;
    (*first, *last) = ((*first).min(at), (*last).max(at));
}

/// Under DCQCN several ports mark packets. With any number of shards, each mark of a flow counts
/// for the port that set it.
#[test]
fn marks_of_a_flow_are_those_of_the_trace() {
    let ecn = EcnOptions { kmin: Some(Bytes(5_000)), kmax: Some(Bytes(20_000)), ..Default::default() };
    for shards in [1, 3] {
        let mut simulation =
            ran(CongestionConfig::Dcqcn(DcqcnConfig { ecn: ecn.clone(), ..Default::default() }), shards);
        let mut expected = SignalsByPort::new();
        for traced in simulation.take_trace() {
            if let TracedAction::Reported(Report::Marked { port, flow, .. }) = traced.what {
                add(&mut expected, (flow, port), traced.at);
            }
        }
        assert_eq!(signals(&mut simulation, SignalKind::Mark), expected);
        let ports = expected.keys().filter(|(flow, _)| *flow == FlowId(0)).count();
        assert!(ports > 1, "{expected:?}");
        assert_eq!(signals(&mut simulation, SignalKind::Load), SignalsByPort::new());
    }
}

/// Under SRCC, a notice that reached a sender counts for the port whose queue caused the notice, a
/// port of the switch that sent it.
#[test]
fn notices_of_a_flow_are_those_that_reached_its_sender() {
    let mut simulation = ran(CongestionConfig::Srcc(SrccConfig::default()), 1);
    let (mut sent, mut made) = (BTreeMap::<FlowId, u64>::new(), BTreeMap::<(FlowId, NodeId), u64>::new());
    let mut done = BTreeMap::new();
    for traced in simulation.take_trace() {
        match traced.what {
            TracedAction::Sent { frame, .. } => {
                let Some(packet) = frame.packet().filter(|packet| packet.kind == PacketKind::Notice) else { continue };
                // The sender's leaf delivers the notice.
                if traced.node == NodeId(6) {
                    *sent.entry(packet.flow).or_default() += 1;
                }
                *made.entry((packet.flow, traced.node)).or_default() += 1;
            }
            TracedAction::Reported(Report::Acknowledged { flow, .. }) => {
                done.insert(flow, sent.get(&flow).copied().unwrap_or_default());
            }
            TracedAction::Reported(_) => {}
        }
    }
    let signals = signals(&mut simulation, SignalKind::Notice);
    assert!(!signals.is_empty());
    let mut counted = BTreeMap::<FlowId, u64>::new();
    for ((flow, port), (count, ..)) in &signals {
        let node = simulation.fabric().wiring.ports[*port].node;
        assert!(made[&(*flow, node)] >= *count, "{flow:?} {port:?}");
        *counted.entry(*flow).or_default() += count;
    }
    for (flow, count) in &counted {
        // A notice may be on the last link when the flow is done, and is then not counted.
        assert!((count..=&(count + 1)).contains(&&done[flow]), "{flow:?}: {count} of {}", done[flow]);
    }
    assert_eq!(counted.len(), done.values().filter(|count| **count > 0).count());
}

/// FLB also notifies senders of the end of congestion. These notices reduce no rate, so they do not
/// count.
#[test]
fn notices_that_end_a_congestion_are_no_signals() {
    let mut spec = incast(CongestionConfig::FlbRc(FlbRcConfig::default()));
    spec.load_balance = LoadBalanceConfig::Flb(FlbConfig::default());
    let mut simulation = ran_in(spec, 1);
    let count: u64 = signals(&mut simulation, SignalKind::Notice).values().map(|(count, ..)| count).sum();
    let counters = simulation.counters();
    assert!(counters["clear_cnms"] > 0 && count > 0, "{counters:?}");
    assert!(count <= counters["cnms"], "{count} of {counters:?}");
}
