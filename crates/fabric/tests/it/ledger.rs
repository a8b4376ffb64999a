//! The ledger: where the time of flows goes, to the picosecond, whatever the network and the mechanisms.

use crate::common::random::lossy;
use crate::prelude::*;
use backwater_fabric::frame::journey::Term;
use proptest::prelude::*;

/// Runs a case for 50 ms with the ledger.
fn watched(spec: &NetworkSpec, flows: Vec<FlowSpec>, shards: usize) -> (Simulation, Vec<FlowOutcome>) {
    let mut simulation = Simulation::new(spec.clone(), flows, shards).unwrap();
    simulation.watch_flows();
    simulation.run_until(Time::ZERO + Duration::from_ms(50), shards);
    let outcomes = simulation.outcomes();
    (simulation, outcomes)
}

/// What does not add up of a flow's account; nothing if all is well.
fn complaint(outcome: &FlowOutcome, now: Time) -> Option<String> {
    let account = outcome.account.as_ref()?;
    let end = outcome.reception.finish.unwrap_or(now);
    let told: Duration = account.completion.iter().map(|span| span.length).sum();
    let unexplained = |term: Term| term == Term::Unexplained;
    let is_whole = told == end - outcome.spec.start
        && !account.completion.iter().any(|span| unexplained(span.term))
        && !account.packets.keys().chain(account.window.keys()).any(|(_, term, _)| unexplained(*term));
    (!is_whole).then(|| format!("{told} of {}: {outcome:#?}", end - outcome.spec.start))
}

/// The way of the packet with which a flow was complete, where its outcome has it.
fn way(outcome: &FlowOutcome) -> Option<Vec<PortIx>> {
    Some(outcome.reception.way?.passed().collect())
}

/// The ports through which the packet has left that the account is about, for the same flows.
fn wires(outcome: &FlowOutcome, simulation: &Simulation) -> Option<Vec<PortIx>> {
    outcome.reception.way?;
    let sent = outcome.account.iter().flat_map(|account| &account.completion);
    let wires = sent.filter(|span| span.term == Term::Serialisation);
    Some(wires.map(|span| simulation.fabric().wiring.ports[span.port].ix).collect())
}

/// BCubes whose servers take some time to relay, or none.
fn relayed() -> impl Strategy<Value = Case> {
    let flows = prop::collection::vec((0u32..9, 1u32..9, 1u64..60_000, 0u64..20_000), 1..20);
    let relay = (0u64..1000, prop::option::of(50u64..400), 5_000u64..60_000, any::<u64>());
    (flows, relay).prop_map(|(flows, (delay, gbps, xoff, seed))| {
        let mut spec = common::bcube(3, 100, 1000);
        spec.host.relay.delay = Duration::from_ns(delay);
        spec.host.relay.rate = gbps.map(Rate::from_gbps);
        spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(xoff), ..Default::default() });
        spec.seed = seed;
        let mut flows: Vec<FlowSpec> = flows
            .into_iter()
            .map(|(src, ahead, bytes, start)| common::flow(src, (src + ahead) % 9, bytes, start))
            .collect();
        flows.sort_by_key(|flow| flow.start);
        Case { spec, flows }
    })
}

/// Any mechanism in any slot, and links that fail or corrupt.
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
        flow_control.into_iter().for_each(|one| spec.switch.flow_control = one);
        headroom.into_iter().for_each(|one| spec.switch.headroom = one);
        congestion.into_iter().for_each(|one| spec.congestion = one);
        balancer.into_iter().for_each(|one| spec.load_balance = one);
        recovery.into_iter().for_each(|one| spec.recovery = one);
        schedulers.0.into_iter().for_each(|one| spec.switch.scheduler = one);
        spec.host.scheduler = schedulers.1;
        if let Some((down, up, link)) = fault {
            let up = up.map_or(Time::NEVER, |up| at_us(down + up));
            spec.faults = vec![LinkFault { link: link.index(spec.links.len()), down: at_us(down), up }];
            spec.reconvergence = reconvergence.map(Duration::from_us);
        }
        errors.into_iter().for_each(|rate| spec.links[0].error_rate = rate);
        case
    })
}

proptest! {
    #![proptest_config(common::cases(250))]

    /// The time of every flow is explained in full, whatever becomes of it, and nobody does anything else because it is written down.
    #[test]
    fn every_picosecond_is_explained(Case { spec, flows } in schemes(), shards in 1usize..4) {
        prop_assume!(Fabric::new(spec.clone()).is_ok());
        let (simulation, outcomes) = watched(&spec, flows.clone(), shards);
        for outcome in &outcomes {
            prop_assert!(outcome.account.is_some());
            prop_assert_eq!(complaint(outcome, simulation.now()), None);
            prop_assert_eq!(way(outcome), wires(outcome, &simulation));
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
}

fn spans(outcome: &FlowOutcome) -> Vec<(Term, u64)> {
    let account = outcome.account.as_ref().unwrap();
    account.completion.iter().map(|span| (span.term, span.length.ps())).collect()
}

/// Two hosts on a switch, 100 Gb/s and 1 us; Go-Back-N with a timer of 50 us.
fn pair(recovery: RecoveryConfig) -> NetworkSpec {
    let mut spec = common::star(2, 100, 1000);
    spec.recovery = recovery;
    spec
}

fn go_back_n(timeout_us: u64) -> RecoveryConfig {
    RecoveryConfig::GoBackN(GoBackNConfig { timeout: Duration::from_us(timeout_us), ..Default::default() })
}

/// 49 B at 400 Gb/s take 980 ps, which the clock of HPCC's simulator cuts to 0: the packet has been on both wires all the same.
#[test]
fn a_wire_on_which_a_frame_takes_no_time_is_on_its_way() {
    let spec = NetworkSpec { framing: Framing::HpccNs3, ..common::star(2, 400, 1000) };
    let (simulation, outcomes) = watched(&spec, vec![common::flow(0, 1, 1, 0)], 1);
    let hop = [(Term::Serialisation, 0), (Term::Propagation, 1_000_000)];
    assert_eq!(spans(&outcomes[0]), [hop, hop].concat());
    let packets = &outcomes[0].account.as_ref().unwrap().packets;
    assert_eq!(packets.values().copied().sum::<Duration>(), Duration::from_us(2));
    assert_eq!(way(&outcomes[0]), wires(&outcomes[0], &simulation));
    assert!(way(&outcomes[0]).is_some());
}

/// Both packets of a flow are lost on the first link, which is down from the start on for 10 us. The sender has nothing more to send until its timer
/// runs out.
#[test]
fn a_sender_that_waits_for_its_timer_has_nothing_to_send_until_then() {
    let mut spec = pair(go_back_n(50));
    spec.faults = vec![LinkFault { link: 0, down: at_ns(500), up: at_ns(10_000) }];
    let (_, outcomes) = watched(&spec, vec![common::flow(0, 1, 2048, 0)], 1);
    // 1122 and 1106 B on the wire, new and then again; in between 50 us from the start of the first, less the time of both.
    let each = [1122 * 80, 1106 * 80];
    let unanswered = 50_000_000 - each[0] - each[1];
    let expected = [
        (Term::Sending, each[0] + each[1]),
        (Term::Resending, each[0]),
        (Term::Unanswered, unanswered),
        (Term::Serialisation, each[1]),
        (Term::Propagation, 1_000_000),
        // The first one is 16 B longer, and leaves the switch that much later.
        (Term::OwnQueue, each[0] - each[1]),
        (Term::Serialisation, each[1]),
        (Term::Propagation, 1_000_000),
    ];
    assert_eq!(spans(&outcomes[0]), expected);
}

/// The only packet of a flow is lost; when its timer runs out, after 50 us, its port has a frame of another flow for 39.76 ns more.
#[test]
fn from_a_timer_on_a_sender_waits_for_the_wire() {
    let mut spec = pair(go_back_n(50));
    spec.faults = vec![LinkFault { link: 0, down: at_ns(500), up: at_ns(10_000) }];
    let flows = vec![common::flow(0, 1, 1024, 0), common::flow(0, 1, 1024, 49_950)];
    let (_, outcomes) = watched(&spec, flows, 1);
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

/// Packets wait at a switch for a link that is down, and are lost when routes are computed anew: what comes after them waits for itself alone.
#[test]
fn what_is_lost_in_a_queue_keeps_nobody_waiting() {
    let mut spec = pair(go_back_n(400));
    spec.faults = vec![LinkFault { link: 1, down: at_us(1), up: at_us(100) }];
    spec.reconvergence = Some(Duration::from_us(20));
    let (_, outcomes) = watched(&spec, vec![common::flow(0, 1, 50 * 1024, 0)], 1);
    assert_eq!(complaint(&outcomes[0], Time::NEVER), None);
    // 50 packets are sent, the first 16 B longer than the others; 400 us after the first, all again.
    let each = [1122 * 80, 1106 * 80];
    let expected = [
        (Term::Sending, each[0] + 49 * each[1]),
        (Term::Resending, each[0] + 48 * each[1]),
        (Term::Unanswered, 400_000_000 - each[0] - 49 * each[1]),
        (Term::Serialisation, each[1]),
        (Term::Propagation, 1_000_000),
        (Term::OwnQueue, each[0] - each[1]),
        (Term::Serialisation, each[1]),
        (Term::Propagation, 1_000_000),
    ];
    assert_eq!(spans(&outcomes[0]), expected);
}

/// Go-Back-N throws away what comes behind a gap: of 40 packets, each is delivered once, however many come.
#[test]
fn what_a_receiver_throws_away_is_not_delivered() {
    let mut spec = pair(go_back_n(50));
    spec.links[0].error_rate = 0.05;
    let (_, outcomes) = watched(&spec, vec![common::flow(0, 1, 40 * 1024, 0)], 1);
    assert!(outcomes[0].reception.arrived > 40, "{}", outcomes[0].reception.arrived);
    assert_eq!(outcomes[0].account.as_ref().unwrap().delivered, 40);
}

/// A timer that is too short has the only packet of a flow sent three times before it arrives, over a link of 30 us. The one that was sent first is the one that will
/// complete the flow.
#[test]
fn of_several_copies_the_first_is_explained() {
    let mut spec = pair(go_back_n(10));
    spec.links[0].delay = Duration::from_us(30);
    let mut simulation = Simulation::new(spec, vec![common::flow(0, 1, 1024, 0)], 1).unwrap();
    simulation.watch_flows();
    simulation.run_until(at_us(25), 1);
    let outcome = &simulation.unfinished()[0];
    // It has left at once, and is on its way.
    assert_eq!(spans(outcome), [(Term::Serialisation, 1122 * 80), (Term::Propagation, 25_000_000 - 1122 * 80)]);
}
