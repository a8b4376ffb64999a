//! Congestion state of a connection between two messages, in a star with a contending flow.
//!
//! All hosts have links of 100 Gb/s with a delay of 1 us: a byte takes 80 ps. A full packet has
//! 1106 B on the wire, and 1122 B if it is the first one of its message. An ACK has 86 B.

use crate::fabric::applications::{Poster, connected, whole};
use crate::fabric::drain;
use backwater_engine::{Bytes, Duration, Rate, Time};
use backwater_fabric::contract::Posting;
use backwater_fabric::fixtures::{flow, star};
use backwater_fabric::ids::{FlowId, NodeId};
use backwater_fabric::mechanisms::congestion::CongestionConfig;
use backwater_fabric::mechanisms::congestion::dcqcn::{CnpMode, DcqcnConfig, DcqcnProfile};
use backwater_fabric::mechanisms::congestion::ecn::EcnOptions;
use backwater_fabric::mechanisms::congestion::hpcc::HpccConfig;
use backwater_fabric::mechanisms::congestion::swift::SwiftConfig;
use backwater_fabric::network::spec::{IdleConfig, NetworkSpec};

const MTU: u64 = 1024;
/// Time from the departure of a full packet to its arrival, without queues.
const PASSAGE: u64 = 2 * 1106 * 80 + 2_000_000;
/// Time from the arrival of a packet to that of its ACK, without queues.
const ANSWER: u64 = 2 * 86 * 80 + 2_000_000;

/// Returns the time that the second message of a connection from host 0 to host 2 takes, in ps.
/// Each message has a number of full packets. The second one is posted at `second`. A flow from
/// host 1 contends with the first one.
fn second(spec: &NetworkSpec, idle: IdleConfig, packets: [u64; 2], second: Duration) -> u64 {
    let mut spec = spec.clone();
    spec.host.idle = idle;
    let contending = vec![flow(1, 2, 200 * MTU, 0)];
    let mut simulation = connected(&spec, &[flow(0, 2, 1, 0)], contending, whole);
    let starts = [Time::ZERO, Time::ZERO + second];
    let post = |(at, packets)| (at, Posting { connection: FlowId(0), bytes: packets * MTU, tag: 0, id: 0 });
    let timed = starts.into_iter().zip(packets).map(post).collect();
    simulation.install(NodeId(0), Box::new(Poster { timed, ..Default::default() }));
    drain(&mut simulation);
    let outcomes = simulation.outcomes();
    let [first, second] = [0, 1].map(|number| {
        outcomes.iter().find(|it| (it.flow, it.message) == (FlowId(0), number)).expect("both messages are sent")
    });
    assert!(first.acknowledged.unwrap() < second.spec.start, "the connection was idle");
    (second.reception.finish.unwrap() - second.spec.start).ps()
}

const KEEP: IdleConfig = IdleConfig::Keep {};

/// Fresh state after an idle time.
fn fresh(after_us: u64) -> IdleConfig {
    IdleConfig::Fresh { after: Duration::from_us(after_us) }
}

/// The first message shares the receiver's link with the flow, and the receiver sends one CNP.
/// Alpha is 1, so the CNP cuts the rate to 50 Gb/s; the target stays at 100 Gb/s. The timer has a
/// tick every millisecond after the CNP. The CNP arrives within 40 us, so two ticks are due before
/// the second message: the rate is (50 + 100) / 2 = 75, then (75 + 100) / 2 = 87.5 Gb/s. At this
/// rate, a byte takes 640 / 7 ps: 102,583 ps for a first packet, and 101,120 ps for others.
#[test]
fn dcqcn_recovers_while_a_connection_is_idle() {
    let mut spec = star(3);
    spec.congestion = CongestionConfig::Dcqcn(DcqcnConfig {
        profile: DcqcnProfile::Paper,
        ecn: EcnOptions { kmin: Some(Bytes(20_000)), kmax: Some(Bytes(20_000)), pmax: Some(1.0), rate: None },
        decrease_interval: Some(Duration::ZERO),
        increase_interval: Some(Duration::from_ms(1)),
        byte_counter: Some(Bytes(0)),
        fast_recovery_steps: Some(5),
        cnp: Some(CnpMode::Frame),
        cnp_interval: Some(Duration::from_ms(1000)),
        ..Default::default()
    });
    let after = |us: u64, idle| second(&spec, idle, [100, 21], Duration::from_us(us));
    // 20 packets leave before the last one.
    let recovering = 102_583 + 19 * 101_120 + PASSAGE;
    assert_eq!(after(2500, KEEP), recovering);
    assert_eq!(after(2500, fresh(5000)), recovering);
    // At 50 Gb/s, before the first tick.
    assert_eq!(after(500, KEEP), (1122 + 19 * 1106) * 160 + PASSAGE);
    assert_eq!(after(500, fresh(1000)), (1122 + 19 * 1106) * 160 + PASSAGE);
    // At line rate, packets wait at the switch for the first one, which is longer.
    let line = (1122 + 20 * 1106) * 80 + 1122 * 80 + 2_000_000;
    assert_eq!(after(2500, fresh(1000)), line);
    assert_eq!(after(500, fresh(100)), line);
}

/// With a target utilisation of 5%, every measurement is at least five times too high, so the first
/// message ends at the smallest rate: 25 Gb/s. HPCC has no clock. Packets have 42 B of telemetry,
/// and a byte takes 320 ps. The second message leaves before its first ACK arrives, and its 8 KB
/// fit into a quarter of the initial window, which is more than 50 KB.
#[test]
fn hpcc_keeps_its_rate_while_a_connection_is_idle() {
    let mut spec = star(3);
    let min_rate = Rate::from_gbps(25);
    spec.congestion = CongestionConfig::Hpcc(HpccConfig { eta: 0.05, min_rate, ..Default::default() });
    let (first, wire) = (1122 + 42, 1106 + 42);
    let passage = 2 * wire * 80 + 2_000_000;
    for us in [100, 2500] {
        let after = |idle| second(&spec, idle, [100, 8], Duration::from_us(us));
        assert_eq!(after(KEEP), (first + 6 * wire) * 320 + passage);
        assert_eq!(after(fresh(us)), (first + 6 * wire) * 320 + passage);
        assert_eq!(after(fresh(20)), (first + 7 * wire) * 80 + first * 80 + 2_000_000);
    }
}

/// All delays are below the target, so the window grows by 1 / cwnd per packet: from 2 to 2.5, 2.9
/// and 3.24 during a first message of three packets. Three packets of the second message leave at
/// once, and two more when the ACKs of the first two arrive. A fresh window of two packets admits
/// two more when these ACKs arrive (2.5, 2.9), and the fifth packet with the third ACK (3.24).
#[test]
fn swift_keeps_its_window_while_a_connection_is_idle() {
    let mut spec = star(3);
    spec.congestion = CongestionConfig::Swift(SwiftConfig {
        base_target: Some(Duration::from_us(200)),
        per_hop: Some(Duration::ZERO),
        fs_range: Some(Duration::ZERO),
        initial_cwnd: Some(2.0),
        ..Default::default()
    });
    // The first packet is longer, and delays the second at the switch.
    let first_answer = 2 * 1122 * 80 + 2_000_000 + ANSWER;
    let second_answer = first_answer + 1106 * 80;
    let third_answer = first_answer + PASSAGE + ANSWER;
    for us in [100, 2500] {
        let after = |idle| second(&spec, idle, [3, 5], Duration::from_us(us));
        assert_eq!(after(KEEP), second_answer + PASSAGE);
        assert_eq!(after(fresh(us)), second_answer + PASSAGE);
        assert_eq!(after(fresh(20)), third_answer + PASSAGE);
    }
}
