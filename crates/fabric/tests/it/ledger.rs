//! The ledger attributes every picosecond of a flow's time, in any network with any mechanisms.

use crate::common::complaint;
use crate::common::random::{lossy, pyrrha_configs, with_flow_control};
use crate::prelude::*;
use backwater_fabric::frame::journey::Term;
use backwater_fabric::mechanisms::congestion::none::{NoneConfig, Window};
use proptest::prelude::*;

/// Runs a case for 50 ms with the ledger.
fn watched(spec: &NetworkSpec, flows: Vec<FlowSpec>, shards: usize) -> (Simulation, Vec<FlowOutcome>) {
    let mut simulation = Simulation::new(spec.clone(), flows, shards).unwrap();
    simulation.watch_flows();
    simulation.run_until(Time::ZERO + Duration::from_ms(50), shards);
    let outcomes = simulation.outcomes();
    (simulation, outcomes)
}

/// Returns the path of the packet that completed the flow, if the outcome has a path.
fn path(outcome: &FlowOutcome) -> Option<Vec<PortIx>> {
    Some(outcome.reception.way?.passed().collect())
}

/// Returns the ports at which the account has serialisation, for flows whose outcome has a path.
fn wires(outcome: &FlowOutcome, simulation: &Simulation) -> Option<Vec<PortIx>> {
    outcome.reception.way?;
    let sent = outcome.account.iter().flat_map(|account| &account.completion);
    let wires = sent.filter(|span| span.term == Term::Serialisation);
    Some(wires.map(|span| simulation.fabric().wiring.ports[span.port].ix).collect())
}

/// Draws BCubes whose servers relay with or without a delay.
fn relayed() -> impl Strategy<Value = Case> {
    let flows = prop::collection::vec((0u32..9, 1u32..9, 1u64..60_000, 0u64..20_000), 1..20);
    let relay = (0u64..1000, prop::option::of(50u64..400), 5_000u64..60_000, any::<u64>());
    (flows, relay).prop_map(|(flows, (delay, gbps, xoff, seed))| {
        let mut spec = bcube(3, 1);
        spec.host.relay.delay = Duration::from_ns(delay);
        spec.host.relay.rate = gbps.map(Rate::from_gbps);
        spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(xoff), ..Default::default() });
        spec.seed = seed;
        Case { spec, flows: flows_ahead(9, flows) }
    })
}

/// Draws any mechanism in any slot, and links that fail or corrupt frames.
fn schemes() -> impl Strategy<Value = Case> {
    let quantum = Bytes(1600);
    let slots = (
        prop::option::weighted(0.8, select(FlowControlConfig::all())),
        prop::option::weighted(0.3, select(HeadroomConfig::all())),
        prop::option::weighted(0.3, select(CongestionConfig::all())),
        prop::option::weighted(0.3, select(LoadBalanceConfig::all())),
        prop::option::weighted(0.5, select(RecoveryConfig::all())),
    );
    let schedulers = (
        prop::option::weighted(
            0.7,
            select(vec![
                SchedulerConfig::RoundRobin {},
                SchedulerConfig::LowestFirst {},
                SchedulerConfig::Dwrr { quantum },
            ]),
        ),
        select(vec![HostScheduler::RelayFirst {}, HostScheduler::Fair {}, HostScheduler::Dwrr { quantum }]),
    );
    let troubles = (
        prop::option::weighted(0.3, (0u64..60, prop::option::of(1u64..100), any::<prop::sample::Index>())),
        prop::option::weighted(0.5, 0u64..50),
        prop::option::weighted(0.2, 0.0f64..0.05),
    );
    let bases = prop_oneof![3 => lossless(), 1 => lossy(), 1 => relayed().boxed()];
    (bases, slots, schedulers, troubles).prop_map(|(mut case, slots, schedulers, (fault, reconvergence, errors))| {
        let spec = &mut case.spec;
        let (flow_control, headroom, congestion, balancer, recovery) = slots;
        spec.switch.flow_control = flow_control.unwrap_or(spec.switch.flow_control.clone());
        spec.switch.headroom = headroom.unwrap_or(spec.switch.headroom.clone());
        spec.congestion = congestion.unwrap_or(spec.congestion.clone());
        spec.load_balance = balancer.unwrap_or(spec.load_balance.clone());
        spec.recovery = recovery.unwrap_or(spec.recovery.clone());
        spec.switch.scheduler = schedulers.0.unwrap_or(spec.switch.scheduler);
        spec.host.scheduler = schedulers.1;
        if let Some((down, up, link)) = fault {
            let up = up.map_or(Time::NEVER, |up| at_us(down + up));
            spec.faults = vec![LinkFault { link: link.index(spec.links.len()), down: at_us(down), up }];
            spec.reconvergence = reconvergence.map(Duration::from_us);
        }
        spec.links[0].error_rate = errors.unwrap_or(spec.links[0].error_rate);
        case
    })
}

proptest! {
    #![proptest_config(common::cases(250))]

    /// The ledger explains the full time of every flow, finished or not, and does not change any
    /// result.
    #[test]
    fn every_picosecond_is_explained(Case { spec, flows } in schemes(), shards in 1usize..4) {
        prop_assume!(Fabric::new(spec.clone()).is_ok());
        let (simulation, outcomes) = watched(&spec, flows.clone(), shards);
        for outcome in &outcomes {
            prop_assert_eq!(complaint(outcome, simulation.now()), None);
            prop_assert_eq!(path(outcome), wires(outcome, &simulation));
        }
        let mut unwatched = Simulation::new(spec, flows, 1).unwrap();
        unwatched.run_until(simulation.now(), 1);
        prop_assert_eq!(unwatched.fingerprint(), simulation.fingerprint());
        let strip = |outcome: FlowOutcome| FlowOutcome { account: None, ..outcome };
        prop_assert_eq!(unwatched.outcomes(), outcomes.into_iter().map(strip).collect::<Vec<_>>());
        if simulation.is_quiet() {
            let audits = [&simulation, &unwatched].map(Simulation::audit);
            prop_assert_eq!(&audits[0], &audits[1]);
        }
    }

    /// A window that is never full changes nothing, except that the time of ACKs is recorded. With
    /// Pyrrha, ACKs move from queue to queue, too.
    #[test]
    fn the_times_of_data_do_not_depend_on_those_of_acks(Case { spec, flows } in lossy(), pyrrha in pyrrha_configs()) {
        let [without, with] = [None, Some(Window::Bytes(Bytes(1 << 40)))].map(|window| {
            let mut spec = NetworkSpec { congestion: CongestionConfig::None(NoneConfig { window }), ..spec.clone() };
            with_flow_control(&mut spec, FlowControlConfig::Pyrrha(pyrrha.clone()));
            let accounts = watched(&spec, flows.clone(), 1).1.into_iter().map(|outcome| outcome.account.unwrap());
            accounts.map(|account| (account.completion, account.packets)).collect::<Vec<_>>()
        });
        prop_assert_eq!(with, without);
    }
}

fn spans(outcome: &FlowOutcome) -> Vec<(Term, u64)> {
    let account = outcome.account.as_ref().unwrap();
    account.completion.iter().map(|span| (span.term, span.length.ps())).collect()
}

/// Returns two hosts on a switch, with links of 100 Gb/s and a delay of 1 us.
fn pair(recovery: RecoveryConfig) -> NetworkSpec {
    let mut spec = star(2);
    spec.recovery = recovery;
    spec
}

/// Returns [`pair`] with a timer of 50 us. The first link fails at 0.5 us and recovers at 10 us.
fn with_early_failure() -> NetworkSpec {
    let mut spec = pair(go_back_n(50));
    spec.faults = vec![LinkFault { link: 0, down: at_ns(500), up: at_ns(10_000) }];
    spec
}

/// Returns the terms of a packet's last trip, from the sender's wire to the receiver.
fn last_way(each: [u64; 2]) -> Vec<(Term, u64)> {
    vec![
        (Term::Serialisation, each[1]),
        (Term::Propagation, 1_000_000),
        // The first packet is 16 B longer, so the next packet waits for it at the switch.
        (Term::OwnQueue, each[0] - each[1]),
        (Term::Serialisation, each[1]),
        (Term::Propagation, 1_000_000),
    ]
}

fn go_back_n(timeout_us: u64) -> RecoveryConfig {
    RecoveryConfig::GoBackN(GoBackNConfig { timeout: Duration::from_us(timeout_us), ..Default::default() })
}

/// 49 B at 400 Gb/s take 980 ps, which the clock of the HPCC simulator cuts to 0. The path still
/// contains both wires.
#[test]
fn a_wire_without_transmission_time_is_part_of_the_path() {
    let spec = NetworkSpec { framing: Framing::HpccNs3, ..star_of(2, 400, 1000) };
    let (simulation, outcomes) = watched(&spec, vec![flow(0, 1, 1, 0)], 1);
    let hop = [(Term::Serialisation, 0), (Term::Propagation, 1_000_000)];
    assert_eq!(spans(&outcomes[0]), [hop, hop].concat());
    let packets = &outcomes[0].account.as_ref().unwrap().packets;
    assert_eq!(packets.values().copied().sum::<Duration>(), Duration::from_us(2));
    assert_eq!(path(&outcomes[0]), wires(&outcomes[0], &simulation));
    assert!(path(&outcomes[0]).is_some());
}

/// Both packets of a flow are lost on the first link, which fails before they arrive. The sender
/// has no packet to send until its timer fires.
#[test]
fn a_sender_waits_for_its_timer_without_packets_to_send() {
    let (_, outcomes) = watched(&with_early_failure(), vec![flow(0, 1, 2048, 0)], 1);
    // The packets have 1122 and 1106 B on the wire. The timer fires 50 us after the start of the
    // first packet, and the sender waits for this time less both transmissions.
    let each = [1122 * 80, 1106 * 80];
    let unanswered = 50_000_000 - each[0] - each[1];
    let expected = [(Term::Sending, each[0] + each[1]), (Term::Resending, each[0]), (Term::Unanswered, unanswered)];
    assert_eq!(spans(&outcomes[0]), [&expected[..], &last_way(each)].concat());
}

/// The only packet of a flow is lost. When the timer fires after 50 us, the port is busy for
/// another 39.76 ns with a frame of another flow.
#[test]
fn after_its_timer_a_sender_waits_for_the_wire() {
    let flows = vec![flow(0, 1, 1024, 0), flow(0, 1, 1024, 49_950)];
    let (_, outcomes) = watched(&with_early_failure(), flows, 1);
    let each = 1122 * 80;
    let expected = [
        (Term::Sending, each),
        (Term::Unanswered, 50_000_000 - each),
        (Term::OtherFlow, 39_760),
        (Term::Serialisation, each),
        (Term::Propagation, 1_000_000),
        (Term::Serialisation, each),
        (Term::Propagation, 1_000_000),
    ];
    let first = outcomes.iter().find(|outcome| outcome.flow.0 == 0).unwrap();
    assert_eq!(spans(first), expected);
}

/// Packets wait at a switch for a link that is down, and are dropped when routes change. The
/// dropped packets are not part of the waiting time of later packets.
#[test]
fn packets_dropped_from_a_queue_delay_no_other() {
    let mut spec = pair(go_back_n(400));
    spec.faults = vec![LinkFault { link: 1, down: at_us(1), up: at_us(100) }];
    spec.reconvergence = Some(Duration::from_us(20));
    let (_, outcomes) = watched(&spec, vec![flow(0, 1, 50 * 1024, 0)], 1);
    assert_eq!(complaint(&outcomes[0], Time::NEVER), None);
    // 50 packets are sent, and the first is 16 B longer than the others. All are repeated 400 us
    // after the first was sent.
    let each = [1122 * 80, 1106 * 80];
    let expected = [
        (Term::Sending, each[0] + 49 * each[1]),
        (Term::Resending, each[0] + 48 * each[1]),
        (Term::Unanswered, 400_000_000 - each[0] - 49 * each[1]),
    ];
    assert_eq!(spans(&outcomes[0]), [&expected[..], &last_way(each)].concat());
}

/// Go-Back-N discards packets behind a gap. Each of 40 packets is delivered once, although some
/// arrive several times.
#[test]
fn discarded_packets_are_not_delivered() {
    let mut spec = pair(go_back_n(50));
    spec.links[0].error_rate = 0.05;
    let (_, outcomes) = watched(&spec, vec![flow(0, 1, 40 * 1024, 0)], 1);
    assert!(outcomes[0].reception.arrived > 40, "{}", outcomes[0].reception.arrived);
    assert_eq!(outcomes[0].account.as_ref().unwrap().delivered, 40);
}

/// The timer of 10 us is too short for a link with a delay of 30 us, so the only packet of a flow
/// is sent three times before the first copy arrives. The account explains the first copy, which
/// will complete the flow.
#[test]
fn of_several_copies_the_first_is_explained() {
    let mut spec = pair(go_back_n(10));
    spec.links[0].delay = Duration::from_us(30);
    let mut simulation = Simulation::new(spec, vec![flow(0, 1, 1024, 0)], 1).unwrap();
    simulation.watch_flows();
    simulation.run_until(at_us(25), 1);
    let outcome = &simulation.unfinished()[0];
    // The packet left at once, and is still on the wire.
    assert_eq!(spans(outcome), [(Term::Serialisation, 1122 * 80), (Term::Propagation, 25_000_000 - 1122 * 80)]);
}

/// A window of 4 KB is full after each of the first packets until an ACK opens it. Then the time of
/// the packet and of its ACK count. Without a window, no ACK opens one.
#[test]
fn the_time_of_acks_that_open_a_window_is_recorded() {
    for (window, opens) in [(Some(Window::Bytes(Bytes(4096))), true), (None, false)] {
        let congestion = CongestionConfig::None(NoneConfig { window });
        let spec = NetworkSpec { congestion, ..pair(go_back_n(1000)) };
        let (simulation, outcomes) = watched(&spec, vec![flow(0, 1, 100 * 1024, 0)], 1);
        let account = outcomes[0].account.as_ref().unwrap();
        assert_eq!(account.openings > 0, opens);
        let ports = &simulation.fabric().wiring.ports;
        let sent = account.window.keys().filter(|(_, term, _)| *term == Term::Serialisation);
        let nodes: Vec<u32> = sent.map(|(port, ..)| ports[*port].node.0).collect();
        // The packet passes host 0 and the switch, and the ACK host 1 and the switch.
        assert_eq!(nodes, if opens { vec![0, 1, 2, 2] } else { vec![] });
    }
}

/// Only controls that neither limit the bytes in flight nor read signals in ACKs do without the
/// time of ACKs.
#[test]
fn controls_without_windows_and_signals_need_no_times_of_acks() {
    let without = CongestionConfig::all().into_iter().filter(|congestion| !congestion.needs_ack_times());
    let names: Vec<_> = without.map(|congestion| congestion.name()).collect();
    assert_eq!(names, ["none", "dcqcn", "pcn", "srcc"]);
    assert!(DcqcnConfig { window: true, ..Default::default() }.needs_ack_times());
}
