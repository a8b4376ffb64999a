//! Go-Back-N delivers every byte over links that corrupt frames, and over links that fail and
//! recover.
//!
//! Frames are those of the HPCC simulator with 952 B of payload, at 100 Gb/s. Data frames of 1000 B
//! take 80,000 ps, and ACKs of 60 B take 4,000 ps (that simulator counts whole nanoseconds).

use crate::common::no_flow_control;
use crate::prelude::*;
use backwater_fabric::mechanisms::congestion::dcqcn::CnpMode;
use proptest::prelude::*;

const DATA: u64 = 80_000;
const ACK: u64 = 4_000;

fn fault(link: usize, down: Time, up: Time) -> LinkFault {
    LinkFault { link, down, up }
}

/// Returns two hosts on one link with a delay of 1 us, with the frames described above.
fn pair() -> NetworkSpec {
    let mut spec = NetworkSpec::with_nodes(2, 0);
    spec.framing = Framing::HpccNs3;
    spec.mtu = Bytes(952);
    spec.links = vec![link(0, 1, 100, 1000)];
    spec
}

/// Returns the script of a host of [`pair`] with a NACK interval of 1 us.
fn script(timeout: Duration, packets: u64, host: u32) -> Script {
    let spec = NetworkSpec { recovery: go_back_n(Duration::from_us(1), timeout), ..pair() };
    Script::new(&spec, vec![flow(0, 1, packets * 952, 0)], host)
}

fn go_back_n(nack_interval: Duration, timeout: Duration) -> RecoveryConfig {
    RecoveryConfig::GoBackN(GoBackNConfig { nack_interval, timeout })
}

/// Returns two leaves and two spines: two paths between hosts of different leaves.
fn leaf_spine() -> NetworkSpec {
    let mut spec = NetworkSpec::with_nodes(6, 4);
    spec.links = (0..6).map(|host| link(host, 6 + host / 3, 100, 500)).collect();
    spec.links.extend([(6, 8), (6, 9), (7, 8), (7, 9)].map(|(leaf, spine)| link(leaf, spine, 100, 700)));
    spec
}

fn across() -> Vec<FlowSpec> {
    (0..12).map(|i| flow(i % 3, 3 + (i / 3 + i) % 3, 100_000 + u64::from(i) * 999, u64::from(i) * 500)).collect()
}

fn assert_delivered(simulation: &Simulation, outcomes: &[FlowOutcome]) {
    for outcome in outcomes {
        assert_eq!(outcome.reception.delivered, outcome.spec.bytes, "{:?}", outcome.spec);
        assert!(outcome.acknowledged.is_some());
    }
    assert_eq!(simulation.audit(), []);
    assert_eq!(simulation.totals().paused_ports, 0);
    assert_eq!((simulation.unfinished(), simulation.fabric().flows.live()), (vec![], 0));
}

/// Flows finish one after the other, all within the timeout of the first flow.
#[test]
fn a_finished_flow_leaves_neither_state_nor_timer() {
    let flows = (0..30_000).map(|i| flow(0, 1, 100, i * 100)).collect();
    let mut simulation = Simulation::new(pair(), flows, 1).unwrap();
    let mut bytes_after = |us: u64| {
        simulation.run_until(at_ns(us * 1000), 1);
        assert!(!simulation.take_finished().is_empty());
        simulation.memory().flows.bytes
    };
    let early = bytes_after(1000);
    let later: Vec<u64> = (11..30).map(|tenth| bytes_after(100 * tenth)).collect();
    assert!(later.iter().all(|bytes| *bytes <= early), "{early} {later:?}");
}

#[test]
fn everything_is_delivered_over_lossy_links() {
    for (error_rate, pause) in [
        (1e-4, PauseModel::UntilResume),
        (1e-3, PauseModel::UntilResume),
        (1e-3, PauseModel::Quanta),
        (3e-2, PauseModel::Quanta),
    ] {
        let mut lost = 0;
        for seed in 0..5 {
            let mut spec = leaf_spine();
            spec.seed = seed;
            spec.switch.buffer = Bytes(700_000);
            spec.switch.flow_control = FlowControlConfig::Pfc(PfcConfig { pause, quanta: 4096, ..Default::default() });
            set_error_rate(&mut spec, error_rate);
            let (simulation, outcomes) = run(&spec, across());
            assert_delivered(&simulation, &outcomes);
            lost += drops(&simulation, DropCause::LinkError);
        }
        assert!(lost > 0, "{error_rate}");
    }
}

/// The share of frames lost equals the error rate. A flow of 20 MB sends packets of 1 KB over one
/// link, and ACKs return over the same link.
#[test]
fn the_error_rate_is_that_of_frames() {
    let mut spec = pair();
    spec.links[0].error_rate = 0.01;
    let (simulation, _) = run(&spec, vec![flow(0, 1, 20_000_000, 0)]);
    let totals = simulation.totals();
    let rate = totals.drops[DropCause::LinkError as usize] as f64 / totals.packet_hops as f64;
    assert!((rate - 0.01).abs() < 0.002, "{rate}");
}

#[test]
fn everything_is_delivered_when_a_link_fails_and_recovers() {
    let (spec, us) = (leaf_spine(), |us: u64| at_ns(us * 1000));
    // Each link fails in turn, host links and uplinks, for a short or a long time.
    for link in 0..spec.links.len() {
        for up in [6, 60, 9000] {
            let mut spec = spec.clone();
            spec.faults = vec![fault(link, us(5), us(up))];
            let (simulation, outcomes) = run(&spec, across());
            assert_delivered(&simulation, &outcomes);
            let lost: u64 = simulation.totals().drops.iter().sum();
            assert_eq!(lost, drops(&simulation, DropCause::LinkDown));
        }
    }
}

/// Host 3 is overloaded, and its senders are paused all the time. The links of the senders fail
/// meanwhile, so that data, PAUSEs and RESUMEs are lost.
#[test]
fn a_link_may_fail_while_it_is_paused() {
    for pause in [PauseModel::UntilResume, PauseModel::Quanta] {
        let mut lost_control = 0;
        for step in 0..60 {
            let mut spec = star(4);
            spec.switch.buffer = Bytes(500_000);
            spec.switch.flow_control = FlowControlConfig::Pfc(PfcConfig { pause, quanta: 4096, ..Default::default() });
            let down = 15_000 + step * 173;
            spec.faults = vec![
                fault(0, at_ns(down), at_ns(down + 2500)),
                fault(1, at_ns(down + 400), at_ns(down + 900)),
                fault(0, at_ns(down + 5000), at_ns(down + 5001)),
            ];
            let flows = (0..3).map(|src| flow(src, 3, 300_000, 0)).collect();
            let (simulation, outcomes) = run(&spec, flows);
            assert_delivered(&simulation, &outcomes);
            assert_eq!(drops(&simulation, DropCause::Headroom), 0);
            assert!(simulation.totals().pause_frames > 0);
            lost_control += u64::from(simulation.totals().pause_frames != simulation.totals().resume_frames);
        }
        assert!(lost_control > 0);
    }
}

/// A pause of 2000 quanta lasts 0.64 us at 1600 Gb/s, less than the link's delay of 1 us. The
/// switch still uses no more than its headroom after a failure.
#[test]
fn a_recovered_link_waits_longer_than_a_short_pause() {
    let mut spec = NetworkSpec::with_nodes(2, 1);
    spec.links = vec![link(0, 2, 1600, 1000), link(1, 2, 10, 1)];
    spec.switch.headroom = HeadroomConfig::Sih(SihConfig { private: Bytes(0), alpha: 0.0, ..Default::default() });
    spec.switch.buffer = Bytes(4_000_000);
    let pfc = PfcConfig { pause: PauseModel::Quanta, quanta: 2000, ..Default::default() };
    spec.switch.flow_control = FlowControlConfig::Pfc(pfc);
    for down in (0..40).map(|step| 4_000 + 97 * step) {
        spec.faults = vec![fault(0, at_ns(down), at_ns(down + 1))];
        let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 1_228_800, 1978)]);
        assert_delivered(&simulation, &outcomes);
        assert_eq!(drops(&simulation, DropCause::Headroom), 0);
        assert!(simulation.totals().pause_frames > 1);
    }
}

/// After a recovery, PFC does not wait for the state of a peer whose flow control never announces
/// its state.
#[test]
fn a_link_between_two_kinds_of_flow_control_recovers() {
    for flow_control in
        [no_flow_control(), FlowControlConfig::Bfc(Default::default()), FlowControlConfig::PerFlow(Default::default())]
    {
        let mut spec = chain(&[100, 100, 100], 1000);
        spec.groups = vec![SwitchGroup { switches: vec![NodeId(3)], flow_control: Some(flow_control), headroom: None }];
        spec.faults = vec![fault(1, at_ns(1), at_ns(2))];
        let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 10_000, 1000), flow(1, 0, 10_000, 1000)]);
        assert_delivered(&simulation, &outcomes);
    }
}

/// Neighbours with PFC and with Pyrrha, in either order, wait for each other after a failure. No
/// buffer is shared, so packets sent immediately after the recovery would be lost.
#[test]
fn a_border_of_pfc_and_pyrrha_recovers_without_loss() {
    let roomy = HeadroomConfig::Static(StaticConfig { xoff: Bytes(1 << 30), ..Default::default() });
    for (pyrrha_at, headroom) in [(2, Some(roomy)), (3, None)] {
        let mut paused = 0;
        for step in 0..40 {
            let mut spec = chain(&[100, 100, 10], 1000);
            spec.switch.headroom =
                HeadroomConfig::Sih(SihConfig { private: Bytes(0), alpha: 0.0, ..Default::default() });
            spec.switch.buffer = Bytes(1 << 30);
            let flow_control = Some(FlowControlConfig::Pyrrha(Default::default()));
            spec.groups =
                vec![SwitchGroup { switches: vec![NodeId(pyrrha_at)], flow_control, headroom: headroom.clone() }];
            let down = 2_500 + 173 * step;
            spec.faults = vec![fault(1, at_ns(down), at_ns(down + 1))];
            let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 400_000, 0)]);
            assert_delivered(&simulation, &outcomes);
            assert_eq!(drops(&simulation, DropCause::Headroom), 0, "{pyrrha_at} {down}");
            paused += simulation.totals().pause_frames;
        }
        assert!(paused > 0);
    }
}

/// The link recovers for less than a frame time, so that neither end receives the other's state.
#[test]
fn differing_states_at_the_ends_of_a_failed_link_are_no_violation() {
    let mut spec = star(3);
    spec.faults = vec![fault(2, at_ns(1000), at_ns(2000)), fault(2, at_ns(2500), Time::NEVER)];
    let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 1000, 0)]);
    assert_eq!((simulation.audit(), outcomes[0].reception.delivered), (vec![], 1000));
}

/// A frame of Pyrrha that would have released a root is lost with the link.
#[test]
fn state_kept_because_of_a_failed_link_is_no_violation() {
    let mut spec = NetworkSpec::with_nodes(8, 3);
    spec.links = (0..8).map(|host| link(host, 8 + host / 4, 100, 1000)).collect();
    spec.links.extend([link(8, 10, 100, 1000), link(9, 10, 100, 1000)]);
    spec.switch.lossless = Vec::new();
    spec.switch.headroom = HeadroomConfig::Static(Default::default());
    spec.switch.flow_control = FlowControlConfig::Pyrrha(Default::default());
    spec.host.ack_every = 100_000;
    for down in (0..40).map(|step| 12_000 + 50 * step) {
        spec.faults = vec![fault(0, at_ns(down), Time::NEVER)];
        let flows = [0, 1, 6, 7].map(|src| flow(src, 4, 400_000, 1000)).to_vec();
        let mut simulation = Simulation::new(spec.clone(), flows, 1).unwrap();
        simulation.run_until(at_ns(1_300_000), 1);
        assert_eq!(simulation.audit(), [], "{down}");
    }
}

/// The last packet is lost. No later packet reveals the loss, so only the retransmission timer
/// makes the sender repeat the packet.
#[test]
fn a_lost_tail_is_repeated_when_the_timer_fires() {
    let mut spec = pair();
    spec.recovery = go_back_n(Duration::from_us(4), Duration::from_us(100));
    spec.links[0].delay = Duration::from_ps(1);
    // The flow has three packets. The last is on the wire from 160,000 to 240,000 ps, and the
    // second ACK arrives before the link fails.
    spec.faults = vec![fault(0, Time::from_ps(2 * DATA + DATA / 2), Time::from_ps(3 * DATA))];
    let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 3 * 952, 0)]);
    assert_eq!(simulation.totals().drops, [0, 0, 0, 1, 0]);
    // The second ACK was the last progress.
    let progress = 2 * DATA + 1 + ACK + 1;
    let resent = progress + 100_000_000;
    assert_eq!(outcomes[0].reception.finish, Some(Time::from_ps(resent + DATA + 1)));
    assert_eq!(outcomes[0].acknowledged, Some(Time::from_ps(resent + DATA + 1 + ACK + 1)));
    assert_eq!(outcomes[0].retransmitted, 952);
    assert_delivered(&simulation, &outcomes);
}

/// Data and ACKs pass different spines. All ACKs are lost at first, so that all data is repeated.
/// The first ACK that arrives acknowledges the whole flow, while repeated data is still in flight.
/// The flow's state is released only after this data has arrived.
#[test]
fn flow_state_is_kept_until_the_last_packet_in_flight_arrives() {
    let mut spec = leaf_spine();
    let route = |node, to, next| RouteSpec { node: NodeId(node), to: NodeId(to), next: NodeId(next) };
    spec.routes = vec![route(6, 3, 8), route(7, 0, 9)];
    spec.recovery = go_back_n(Duration::from_us(4), Duration::from_us(100));
    // The link from leaf 7 to spine 9 fails at 9, 18 and 27 us. With its delay of 10 us, no ACK
    // passes between two failures.
    spec.links[9].delay = Duration::from_us(10);
    spec.faults = [9, 18, 27].map(|us| fault(9, at_ns(us * 1000), at_ns(us * 1000 + 100))).to_vec();
    let packets = 200;
    let mut simulation = Simulation::new(spec, vec![flow(0, 3, packets * 1024, 0)], 1).unwrap();
    let outcome = (1..10_000).find_map(|step| {
        simulation.run_until(at_ns(step * 100), 1);
        simulation.take_finished().pop()
    });
    let outcome = outcome.expect("the flow finishes within a millisecond");
    let lost = drops(&simulation, DropCause::LinkDown);
    assert!(lost > packets / 2, "{lost}");
    assert!(outcome.retransmitted > 0);
    assert_eq!(outcome.reception.arrived, packets + outcome.retransmitted / 1024);
    assert_eq!(simulation.audit(), []);
}

#[test]
fn without_a_timer_a_lost_tail_is_lost() {
    let mut spec = pair();
    spec.recovery = go_back_n(Duration::from_us(4), Duration::ZERO);
    spec.faults = vec![fault(0, Time::from_ps(1), Time::from_ps(2))];
    let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 100, 0)]);
    assert_eq!((outcomes[0].reception.delivered, outcomes[0].acknowledged), (0, None));
    assert_eq!((simulation.totals().live_flows(), simulation.audit()), (1, vec![]));
}

/// The receiver sends a NACK for each gap at once, and repeats the NACK only after the NACK
/// interval.
#[test]
fn a_gap_triggers_a_nack_at_once_and_again_after_the_nack_interval() {
    let mut s = script(Duration::from_ms(1), 100, 1);
    arrive!(s, 0 ps, port 0, data of flow 0, psn 0);
    expect!(s, 0..4_000 ps, port 0, Ack(1));
    arrive!(s, 160_000 ps, port 0, data of flow 0, psn 2);
    expect!(s, 160_000..164_000 ps, port 0, Nack(1));
    arrive!(s, 240_000 ps, every 919_999 ps, port 0, data of flow 0, psns 3..5);
    expect_nothing!(s, before 1_160_000 ps);
    arrive!(s, 1_160_000 ps, port 0, data of flow 0, psn 5);
    expect!(s, 1_160_000..1_164_000 ps, port 0, Nack(1));
    // The gap is filled. Then another gap follows, which triggers a NACK at once.
    arrive!(s, 1_240_000 ps, port 0, data of flow 0, psn 1);
    expect!(s, 1_240_000..1_244_000 ps, port 0, Ack(2));
    arrive!(s, 1_320_000 ps, port 0, data of flow 0, psn 3);
    expect!(s, 1_320_000..1_324_000 ps, port 0, Nack(2));
    // A duplicate of a delivered packet is acknowledged again.
    arrive!(s, 1_400_000 ps, port 0, data of flow 0, psn 0);
    expect!(s, 1_400_000..1_404_000 ps, port 0, Ack(2));
    expect_nothing!(s, before 1_000_000_000 ps);
}

/// After a NACK the sender continues from the gap; a stale NACK has no effect. The timer counts
/// from the last progress.
#[test]
fn a_nack_takes_the_sender_back_to_the_gap() {
    let mut s = script(Duration::from_us(10), 5, 0);
    expect_each!(s, from 0 ps, 80_000 ps each, port 0, [Data(3, 0), Data(3, 1), Data(3, 2)]);
    arrive!(s, 200_000 ps, port 0, nack of flow 0, expected 1);
    expect!(s, 240_000..320_000 ps, port 0, Data(3, 1));
    arrive!(s, 250_000 ps, port 0, ack of flow 0, expected 2);
    arrive!(s, 260_000 ps, port 0, nack of flow 0, expected 1);
    expect_each!(s, from 320_000 ps, 80_000 ps each, port 0, [Data(3, 2), Data(3, 3), Data(3, 4)]);
    // The timer counts from the retransmission of packet 2, since no packet was in flight before.
    expect_nothing!(s, before 10_320_000 ps);
    expect_each!(s, from 10_320_000 ps, 80_000 ps each, port 0, [Data(3, 2), Data(3, 3)]);
    // An ACK for the first transmissions arrives late, so the remaining packets need not be
    // repeated.
    arrive!(s, 10_450_000 ps, port 0, ack of flow 0, expected 5);
    expect_nothing!(s, before 1_000_000_000 ps);
}

/// ACKs and NACKs that acknowledge no new packet do not delay the timer.
#[test]
fn the_timer_counts_from_the_last_progress() {
    let mut s = script(Duration::from_us(10), 3, 0);
    expect_each!(s, from 0 ps, 80_000 ps each, port 0, [Data(3, 0), Data(3, 1), Data(3, 2)]);
    arrive!(s, 1_000_000 ps, port 0, ack of flow 0, expected 2);
    arrive!(s, 5_000_000 ps, port 0, ack of flow 0, expected 2);
    arrive!(s, 6_000_000 ps, port 0, nack of flow 0, expected 1);
    expect_nothing!(s, before 11_000_000 ps);
    expect!(s, 11_000_000..11_080_000 ps, port 0, Data(3, 2));
}

/// A NACK for the oldest packet acknowledges nothing, and afterwards no packet counts as in flight.
/// The timer therefore counts from the next packet, at 240,000 ps, not from the first one.
#[test]
fn a_nack_of_all_that_is_in_flight_stops_the_timer() {
    let mut s = script(Duration::from_us(10), 3, 0);
    expect_each!(s, from 0 ps, 80_000 ps each, port 0, [Data(3, 0), Data(3, 1), Data(3, 2)]);
    arrive!(s, 200_000 ps, port 0, nack of flow 0, expected 0);
    expect_each!(s, from 240_000 ps, 80_000 ps each, port 0, [Data(3, 0), Data(3, 1), Data(3, 2)]);
    expect_nothing!(s, before 10_240_000 ps);
    expect!(s, 10_240_000..10_320_000 ps, port 0, Data(3, 0));
}

/// A flow starts while the link is down. The recovery of the link is the only event that starts the
/// transmission.
#[test]
fn waiting_packets_leave_at_the_instant_of_recovery() {
    let mut spec = pair();
    spec.switch.flow_control = no_flow_control();
    let mut s = Script::new(&spec, vec![flow(0, 1, 100 * 952, 1000)], 0);
    s.link_change(500_000, 0, false);
    expect_nothing!(s, before 3_000_000 ps);
    s.link_change(3_000_000, 0, true);
    expect_each!(s, from 3_000_000 ps, 80_000 ps each, port 0, [Data(3, 0), Data(3, 1)]);
}

/// A marked packet is acknowledged at once, whatever `ack_every` is. Counting then restarts with
/// the next packet.
#[test]
fn a_mark_is_answered_at_once() {
    let mut spec = pair();
    spec.host.ack_every = 4;
    spec.congestion = CongestionConfig::Dcqcn(DcqcnConfig { cnp: Some(CnpMode::AckBit), ..Default::default() });
    let mut s = Script::new(&spec, vec![flow(0, 1, 100 * 952, 0)], 1);
    let mut answers = |psn, marked| {
        let at = u64::from(psn) * DATA;
        s.arrive_data_marked(at, 0, 0, psn, marked);
        s.sent_until(at + DATA, 0)
    };
    let answered: Vec<u32> = (0..12).filter(|psn| !answers(*psn, [5, 6].contains(psn)).is_empty()).collect();
    assert_eq!(answered, [3, 5, 6, 10]);
}

/// With fewer ACKs no data is lost and flows do not end later, because the last packet is always
/// acknowledged.
#[test]
fn acks_every_n_packets_lose_no_data() {
    for (ack_every, expected) in [(1, 100), (2, 50), (7, 15), (100, 1), (1000, 1)] {
        let mut spec = pair();
        spec.host.ack_every = ack_every;
        let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 100 * 952, 0)]);
        assert_eq!(simulation.totals().packet_hops, 100 + expected, "{ack_every}");
        let finish = 100 * DATA + 1_000_000;
        assert_eq!(outcomes[0].reception.finish, Some(Time::from_ps(finish)));
        assert_eq!(outcomes[0].acknowledged, Some(Time::from_ps(finish + ACK + 1_000_000)));
        assert_delivered(&simulation, &outcomes);
    }
}

/// Spraying reorders packets, and Go-Back-N takes every gap for a loss. Many packets are sent
/// twice, and all bytes are delivered.
#[test]
fn spraying_reorders_and_still_delivers() {
    let mut spec = leaf_spine();
    spec.links[6].delay = Duration::from_us(3);
    spec.load_balance = LoadBalanceConfig::Spray(Default::default());
    let (simulation, outcomes) = run(&spec, across());
    assert_eq!(simulation.totals().drops, [0; 5]);
    assert!(outcomes.iter().map(|outcome| outcome.retransmitted).sum::<u64>() > 0);
    assert_delivered(&simulation, &outcomes);
}

/// A host with two ports uses both, and the failure of a port stops only the flows that use this
/// port.
#[test]
fn a_host_with_two_ports() {
    let mut spec = NetworkSpec::with_nodes(3, 2);
    spec.links = (0..3).flat_map(|host| [link(host, 3, 100, 500), link(host, 4, 100, 500)]).collect();
    let flows: Vec<_> = (0..16).map(|i| flow(i % 2, 2, 200_000, 0)).collect();
    let (simulation, outcomes) = run(&spec, flows.clone());
    assert_delivered(&simulation, &outcomes);
    let sent: Vec<u64> = (0..2).map(|port| simulation.node(NodeId(0)).ports()[PortIx(port)].sent_bytes()).collect();
    assert!(sent.iter().all(|bytes| *bytes > 200_000), "{sent:?}");
    // The flows send 3.2 MB in all, over two ports of 100 Gb/s.
    let finish = outcomes.iter().map(|outcome| outcome.reception.finish.unwrap()).max().unwrap();
    assert!(finish < at_ns(240_000), "{finish}");

    spec.faults = vec![fault(0, at_ns(1000), at_ns(9_000_000))];
    let (simulation, outcomes) = run(&spec, flows);
    assert_delivered(&simulation, &outcomes);
    let late = outcomes.iter().filter(|outcome| outcome.acknowledged > Some(at_ns(9_000_000))).count();
    assert!(late > 0 && late < 8, "{late} flows waited for the link");
}

proptest! {
    #![proptest_config(common::cases(100))]

    /// Every byte is delivered in random fabrics with random errors and faults.
    #[test]
    fn everything_is_delivered_despite_errors_and_faults(
        case in common::random::lossless(),
        error_rate in prop::sample::select(vec![0.0, 1e-4, 1e-3, 1e-2]),
        faults in prop::collection::vec((any::<prop::sample::Index>(), 0u64..60_000, 1u64..40_000), 0..4),
    ) {
        let mut spec = case.spec;
        spec.recovery = NetworkSpec::default().recovery;
        set_error_rate(&mut spec, error_rate);
        for (link, down, length) in faults {
            let link = link.index(spec.links.len());
            if spec.faults.iter().all(|fault| fault.link != link) {
                spec.faults.push(fault(link, at_ns(down), at_ns(down + length)));
            }
        }
        let (simulation, outcomes) = run(&spec, case.flows);
        for outcome in outcomes {
            prop_assert_eq!(outcome.reception.delivered, outcome.spec.bytes);
            prop_assert!(outcome.acknowledged.is_some());
        }
        prop_assert_eq!(simulation.unfinished(), []);
        prop_assert_eq!(simulation.audit(), []);
        prop_assert_eq!(simulation.totals().paused_ports, 0);
    }
}

/// A link that is down cannot fail again, nor recover twice.
#[test]
fn faults_of_one_link_that_overlap_are_refused() {
    let us = |us: u64| at_ns(us * 1000);
    let refused = |faults: Vec<LinkFault>| {
        let spec = NetworkSpec { faults, ..leaf_spine() };
        Fabric::new(spec).err().map(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let message = "error: topology: link s0 - s3: its faults overlap; each must end before the next begins".to_owned();
    assert_eq!(refused(vec![fault(7, us(10), us(100)), fault(7, us(50), us(60))]), Some(vec![message.clone()]));
    assert_eq!(refused(vec![fault(7, us(20), us(30)), fault(7, us(10), us(20))]), Some(vec![message.clone()]));
    assert_eq!(refused(vec![fault(7, us(10), Time::NEVER), fault(7, us(20), us(30))]), Some(vec![message]));
    assert_eq!(refused(vec![fault(7, us(10), us(20)), fault(6, us(15), us(30)), fault(7, us(21), us(30))]), None);
}
