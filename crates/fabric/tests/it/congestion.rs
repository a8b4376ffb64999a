//! Congestion controls keep the queue of a bottleneck in bounds. Eight hosts send endless flows to
//! a ninth, over links of 100 Gb/s with a delay of 1 us.

use crate::prelude::*;
use backwater_fabric::mechanisms::congestion::none::{NoneConfig, Window};
use backwater_fabric::mechanisms::congestion::power_tcp::{PowerTcpConfig, Variant};
use backwater_fabric::mechanisms::congestion::timely::TimelyConfig;

const SENDERS: u32 = 8;
const RECEIVER: NodeId = NodeId(SENDERS);
const SWITCH: NodeId = NodeId(SENDERS + 1);

/// Measures of the interval from 10 ms to 20 ms.
#[derive(Debug)]
struct Measures {
    /// Shortest and longest queue at the receiver's port, bytes.
    queue: (u64, u64),
    /// Share of the receiver's link rate that is payload.
    goodput: f64,
    /// Smallest and largest share of one flow in the payload of all flows.
    shares: (f64, f64),
    pauses: u64,
    /// Line rate times base round-trip time, bytes.
    bdp: u64,
}

fn watch(congestion: CongestionConfig) -> Measures {
    let mut spec = star(SENDERS + 1);
    spec.congestion = congestion;
    let flows = (0..SENDERS).map(|sender| flow(sender, RECEIVER.0, FlowSpec::ENDLESS, u64::from(sender) * 700));
    let mut simulation = Simulation::new(spec, flows.collect(), 1).unwrap();
    simulation.run_until(at_us(10_000), 1);
    let (before, pauses) = (delivered(&simulation), simulation.totals().pause_frames);
    let mut queue = (u64::MAX, 0);
    for us in (10_000..20_000).step_by(5) {
        simulation.run_until(at_us(us), 1);
        let switch = simulation.nodes().find(|node| node.id == SWITCH).unwrap();
        let bytes = switch.ports()[PortIx(RECEIVER.0 as u16)].queued_bytes();
        queue = (queue.0.min(bytes), queue.1.max(bytes));
    }
    simulation.run_until(at_us(20_000), 1);
    let gained: Vec<u64> = delivered(&simulation).iter().zip(before).map(|(after, before)| after - before).collect();
    let total: u64 = gained.iter().sum();
    let share = |bytes: Option<&u64>| *bytes.unwrap() as f64 / total as f64;
    Measures {
        queue,
        goodput: total as f64 / 125e6,
        shares: (share(gained.iter().min()), share(gained.iter().max())),
        pauses: simulation.totals().pause_frames - pauses,
        bdp: Rate::from_gbps(100).bytes_in(simulation.fabric().base_rtt),
    }
}

#[test]
fn without_congestion_control_pauses_hold_the_queue_at_the_threshold() {
    let seen = watch(CongestionConfig::None(Default::default()));
    assert!(seen.pauses > 1000 && seen.queue.0 > 1_000_000, "{seen:?}");
    assert!(seen.goodput > 0.9 && seen.shares.0 > 0.12 && seen.shares.1 < 0.13, "{seen:?}");
}

/// The length of a packet's own queue decides on its mark. Packets in another queue of the port do
/// not count.
#[test]
fn a_mark_depends_on_the_packets_own_queue() {
    let threshold = Some(Bytes(10_000));
    let step = EcnOptions { kmin: threshold, kmax: threshold, pmax: Some(1.0), rate: None };
    let mut spec = star(3);
    spec.congestion = CongestionConfig::Dcqcn(DcqcnConfig { ecn: step, ..Default::default() });
    spec.switch.lossless = vec![Class(3), Class(4)];
    let mut waiting = flow(0, 1, 100_000, 0);
    waiting.class = Class(4);
    let mut s = Script::new(&spec, vec![waiting, flow(2, 1, 100_000, 0)], 3);
    arrive!(s, 0 ps, port 1, pause [4]);
    s.arrive_each(100_000, 100_000, 0, 0, 0..20);
    arrive!(s, 3_000_000 ps, port 2, data of flow 1, psn 0);
    assert_eq!(s.next_mark(3_500_000), Some(false));
    arrive!(s, 4_000_000 ps, port 1, resume [4]);
    assert_eq!(s.next_mark(4_500_000), Some(true));
}

/// With thresholds that suit the link, TIMELY keeps the queue shorter than the length that
/// corresponds to T_high, and no PAUSE is sent.
#[test]
fn timely_holds_the_round_trip_time_between_its_thresholds() {
    let (low, high) = (Duration::from_us(20), Duration::from_us(100));
    let config = TimelyConfig { low_rtt: Some(low), high_rtt: Some(high), ..Default::default() };
    let seen = watch(CongestionConfig::Timely(config));
    let bytes = |rtt: Duration| rtt.ps() / 80;
    assert!(seen.queue.1 < bytes(high) && seen.pauses == 0, "{seen:?}");
    assert!(seen.goodput > 0.8, "{seen:?}");
    assert!(seen.shares.0 > 0.03 && seen.shares.1 < 0.4, "{seen:?}");
}

/// PowerTCP keeps the queue almost empty and the link almost fully used, with telemetry and
/// without.
#[test]
fn power_tcp_keeps_the_queue_short() {
    for variant in [Variant::Telemetry, Variant::Delay] {
        let seen = watch(CongestionConfig::PowerTcp(PowerTcpConfig { variant, ..Default::default() }));
        assert!(seen.queue.1 < seen.bdp && seen.pauses == 0, "{variant:?} {seen:?}");
        assert!(seen.goodput > 0.75, "{variant:?} {seen:?}");
        assert!(seen.shares.0 > 0.06 && seen.shares.1 < 0.25, "{variant:?} {seen:?}");
    }
}

/// A window of rate times base round-trip time bounds the bytes in flight if the queue stays too
/// short for TIMELY's thresholds.
#[test]
fn a_window_bounds_what_timely_has_in_flight() {
    let seen = watch(CongestionConfig::Timely(TimelyConfig { window: true, ..Default::default() }));
    // A packet may start while at least one byte of the window is free, so a flow may exceed the
    // window by one packet.
    assert!(seen.queue.1 <= u64::from(SENDERS) * (seen.bdp + 1100) && seen.pauses == 0, "{seen:?}");
    assert!(seen.goodput > 0.9, "{seen:?}");
}

/// 31 hosts send 1 MB each to one host over links of 400 Gb/s, with DCQCN's parameters of NIC
/// firmware. At line rate this takes 670 us with headers. CNPs reduce some flows to 1 Mb/s, at
/// which the next packet departs 8.8 ms later. All flows finish earlier than that only if a rising
/// rate advances departures that are already scheduled.
#[test]
fn a_rate_that_rises_moves_the_next_departure() {
    let makespan = |repace| {
        let mut spec = star_of(32, 400, 200);
        spec.switch.buffer = Bytes(16_000_000);
        let ecn = EcnOptions { kmin: Some(Bytes(1 << 20)), kmax: Some(Bytes(1 << 21)), pmax: Some(0.05), rate: None };
        let profile = DcqcnProfile::Firmware;
        spec.congestion = CongestionConfig::Dcqcn(DcqcnConfig { profile, ecn, repace, ..Default::default() });
        let (_, outcomes) = run(&spec, (0..31).map(|host| flow(host, 31, 1_000_000, 0)).collect());
        last_finish(&outcomes)
    };
    let ms = |ms| Time::ZERO + Duration::from_ms(ms);
    assert!(makespan(None) < ms(2), "{}", makespan(None));
    assert!(makespan(Some(false)) > ms(8), "{}", makespan(Some(false)));
}

/// 32 hosts in four racks send 4 MB each to the next rack over seven spines. All links have 400
/// Gb/s, so the eight hosts of a rack send 14 % more than its seven uplinks carry. Thresholds for
/// ports of 100 Gb/s slow the flows for longer than the overload lasts. With the thresholds of the
/// profile for 400 Gb/s, the makespan is within 5 % of the makespan without congestion control.
#[test]
fn thresholds_for_the_rate_survive_a_slight_overload() {
    let makespan = |congestion| {
        let (mut spec, racks, spines) = (NetworkSpec::with_nodes(32, 11), 32..36, 36..43);
        spec.links = (0..32).map(|host| link(host, 32 + host / 8, 400, 500)).collect();
        spec.links.extend(spines.flat_map(|spine| racks.clone().map(move |rack| link(rack, spine, 400, 500))));
        spec.load_balance = LoadBalanceConfig::Drill(Default::default());
        spec.recovery = RecoveryConfig::InAnyOrder(Default::default());
        spec.congestion = congestion;
        let (_, outcomes) = run(&spec, (0..32).map(|host| flow(host, (host + 8) % 32, 4_000_000, 0)).collect());
        last_finish(&outcomes).ps() as f64 / 1e6
    };
    let dcqcn = |profile| makespan(CongestionConfig::Dcqcn(DcqcnConfig { profile, ..Default::default() }));
    let none = makespan(CongestionConfig::None(Default::default()));
    let (default, scaled) = (dcqcn(DcqcnProfile::HpccNs3), dcqcn(DcqcnProfile::At400G));
    assert!(none < 110.0 && default > 3.0 * none && scaled < 1.05 * none, "{none} {default} {scaled}");
}

/// Each of a hundred flows of two hosts has a timer. The second 4 ms take as many events as the
/// first 4 ms.
#[test]
fn the_timers_of_a_host_schedule_one_event_at_a_time() {
    let mut spec = star(3);
    let profile = DcqcnProfile::Firmware;
    spec.congestion = CongestionConfig::Dcqcn(DcqcnConfig { profile, ..Default::default() });
    let flows = (0..100).map(|number| flow(1 + number % 2, 0, FlowSpec::ENDLESS, 0)).collect();
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    let events: Vec<_> = [4, 8]
        .map(|ms| {
            simulation.advance(Time::ZERO + Duration::from_ms(ms), 1, u64::MAX, &mut || false);
            simulation.totals().events
        })
        .into();
    assert!(events[1] < 22 * events[0] / 10, "{events:?}");
}

/// The fourth packet of a window of three waits for an ACK. A packet has 1106 B on the link; the
/// first packet has 16 B more.
#[test]
fn a_full_window_sends_no_packet() {
    let mut spec = star(2);
    spec.congestion = CongestionConfig::None(NoneConfig { window: Some(Window::Bytes(Bytes(3 * 1024))) });
    let mut simulation = Simulation::new(spec, vec![flow(0, 1, 10 * 1024, 0)], 1).unwrap();
    let sent = |simulation: &Simulation| simulation.node(NodeId(0)).ports()[PortIx(0)].sent_wire_bytes();
    simulation.run_until(at_us(2), 1);
    assert_eq!(sent(&simulation), 16 + 3 * 1106);
    drain(&mut simulation);
    assert_eq!(sent(&simulation), 16 + 10 * 1106);
}
