//! Packet scripts of a switch or NIC with PFC, to the picosecond.
//!
//! Frames are those of the HPCC simulator with 952 B of payload: data frames are 1000 B, PFC frames
//! 43 B, ACKs 60 B. At 100 Gb/s they take 80,000 ps, 3,000 ps and 4,000 ps (that simulator counts
//! whole nanoseconds). A quantum is 512 bit times: 5,120 ps.

use crate::prelude::*;

const SWITCH: u32 = 4;
const PACKETS: u64 = 100;

/// Returns a switch with four hosts at 100 Gb/s, whose ingress queues are full at 2.5 packets and
/// below XON when empty.
fn spec() -> NetworkSpec {
    let mut spec = star(4);
    spec.framing = Framing::HpccNs3;
    spec.mtu = Bytes(952);
    spec.switch.lossless = (1..8).map(Class).collect();
    spec.switch.headroom =
        HeadroomConfig::Static(StaticConfig { xoff: Bytes(2500), xon: Some(Bytes(0)), ..Default::default() });
    spec
}

fn with_pfc(config: PfcConfig) -> NetworkSpec {
    let mut spec = spec();
    spec.switch.flow_control = FlowControlConfig::Pfc(config);
    spec
}

fn quanta(quanta: u16) -> NetworkSpec {
    with_pfc(PfcConfig { pause: PauseModel::Quanta, quanta, ..Default::default() })
}

/// Returns a flow of many packets in `class`.
fn in_class(class: u8, src: u32, dst: u32) -> FlowSpec {
    FlowSpec { class: Class(class), ..flow(src, dst, 952 * PACKETS, 0) }
}

#[test]
fn a_full_ingress_queue_pauses_and_resumes_below_xon() {
    let mut s = Script::new(&spec(), vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 0 ps, port 1, pause [3]);
    arrive!(s, 100_000 ps, every 80_000 ps, port 0, data of flow 0, psns 0..2);
    expect_nothing!(s, before 260_000 ps);
    // The third packet crosses 2500 B.
    arrive!(s, 260_000 ps, port 0, data of flow 0, psn 2);
    expect!(s, 260_000..263_000 ps, port 0, Pause(vec![3]));
    // The upstream of the fourth packet is already paused.
    arrive!(s, 340_000 ps, port 0, data of flow 0, psn 3);
    expect_nothing!(s, before 1_000_000 ps);
    arrive!(s, 1_000_000 ps, port 1, resume [3]);
    expect_each!(s, from 1_000_000 ps, 80_000 ps each, port 1, [Data(3, 0), Data(3, 1), Data(3, 2), Data(3, 3)]);
    // A packet frees its buffer when its transmission starts.
    expect!(s, 1_240_000..1_243_000 ps, port 0, Resume(vec![3]));
    expect_nothing!(s, before 1_000_000_000 ps);
}

#[test]
fn one_class_among_eight_is_paused_and_the_others_pass() {
    let mut s = Script::new(&spec(), vec![in_class(5, 0, 1), in_class(6, 0, 1)], SWITCH);
    arrive!(s, 0 ps, port 1, pause [5]);
    arrive!(s, 80_000 ps, port 0, data of flow 0, psn 0);
    arrive!(s, 160_000 ps, port 0, data of flow 1, psn 0);
    expect!(s, 160_000..240_000 ps, port 1, Data(6, 0));
    arrive!(s, 240_000 ps, every 80_000 ps, port 0, data of flow 0, psns 1..3);
    expect!(s, 320_000..323_000 ps, port 0, Pause(vec![5]));
    arrive!(s, 400_000 ps, port 0, data of flow 1, psn 1);
    expect!(s, 400_000..480_000 ps, port 1, Data(6, 1));
    expect_nothing!(s, before 1_000_000_000 ps);
}

#[test]
fn each_ingress_port_has_its_own_account() {
    let mut s = Script::new(&spec(), vec![in_class(3, 0, 1), in_class(3, 2, 1)], SWITCH);
    arrive!(s, 0 ps, port 1, pause [3]);
    arrive!(s, 100_000 ps, port 0, data of flow 0, psn 0);
    arrive!(s, 100_000 ps, port 2, data of flow 1, psn 0);
    arrive!(s, 180_000 ps, port 0, data of flow 0, psn 1);
    arrive!(s, 180_000 ps, every 80_000 ps, port 2, data of flow 1, psns 1..3);
    expect!(s, 260_000..263_000 ps, port 2, Pause(vec![3]));
    expect_nothing!(s, before 1_000_000_000 ps);
}

#[test]
fn a_pause_overtakes_queued_frames_but_not_the_one_on_the_wire() {
    let mut s = Script::new(&spec(), vec![in_class(3, 0, 1), in_class(3, 2, 0)], SWITCH);
    arrive!(s, 0 ps, port 1, pause [3]);
    arrive!(s, 100_000 ps, every 80_000 ps, port 0, data of flow 0, psns 0..2);
    // A packet to host 0 starts one picosecond before the PAUSE for host 0 is due, and another
    // waits behind it.
    arrive!(s, 259_999 ps, port 2, data of flow 1, psn 0);
    arrive!(s, 260_000 ps, port 0, data of flow 0, psn 2);
    arrive!(s, 300_000 ps, port 2, data of flow 1, psn 1);
    expect!(s, 259_999..339_999 ps, port 0, Data(3, 0));
    expect!(s, 339_999..342_999 ps, port 0, Pause(vec![3]));
    expect!(s, 342_999..422_999 ps, port 0, Data(3, 1));
}

/// At its departure, a PFC frame carries the present state of a class. A waiting frame that is out
/// of date is not sent, and at most one frame per class waits.
#[test]
fn a_waiting_pfc_frame_is_replaced_by_a_newer_one_of_its_class() {
    let mut spec = spec();
    spec.links[0].rate = Rate::from_gbps(10);
    let mut s = Script::new(&spec, vec![in_class(3, 0, 1), in_class(5, 0, 2), in_class(3, 3, 0)], SWITCH);
    arrive!(s, 0 ps, port 1, pause [3]);
    arrive!(s, 0 ps, port 2, pause [5]);
    for psn in 0..2 {
        arrive!(s, 0 ps, port 0, data of flow 0, psn psn);
        arrive!(s, 0 ps, port 0, data of flow 1, psn psn);
    }
    // A packet to host 0 is on the wire when class 3 becomes full, and then class 5.
    arrive!(s, 1_000 ps, port 3, data of flow 2, psn 0);
    arrive!(s, 2_000 ps, port 0, data of flow 0, psn 2);
    arrive!(s, 3_000 ps, port 0, data of flow 1, psn 2);
    // Class 3 empties while its PAUSE waits, and fills again while its RESUME waits.
    arrive!(s, 4_000 ps, port 1, resume [3]);
    arrive!(s, 200_000 ps, port 1, pause [3]);
    arrive!(s, 300_000 ps, port 0, data of flow 0, psns 3..6);
    expect!(s, 1_000..801_000 ps, port 0, Data(3, 0));
    expect_each!(s, from 4_000 ps, 80_000 ps each, port 1, [Data(3, 0), Data(3, 1), Data(3, 2)]);
    expect_each!(s, from 801_000 ps, 34_000 ps each, port 0, [Pause(vec![5]), Pause(vec![3])]);
    expect_nothing!(s, before 1_000_000_000 ps);
}

#[test]
fn a_paused_port_finishes_its_frame_and_starts_no_other() {
    let mut s = Script::new(&spec(), vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 0 ps, port 0, data of flow 0, psns 0..2);
    expect!(s, 0..80_000 ps, port 1, Data(3, 0));
    arrive!(s, 40_000 ps, port 1, pause [3]);
    expect_nothing!(s, before 500_000 ps);
    arrive!(s, 500_000 ps, port 1, resume [3]);
    expect!(s, 500_000..580_000 ps, port 1, Data(3, 1));
}

#[test]
fn a_pause_that_arrives_as_a_frame_ends_stops_the_next() {
    let mut s = Script::new(&spec(), vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 0 ps, port 0, data of flow 0, psns 0..2);
    expect!(s, 0..80_000 ps, port 1, Data(3, 0));
    arrive!(s, 80_000 ps, port 1, pause [3]);
    expect_nothing!(s, before 1_000_000_000 ps);
}

#[test]
fn the_control_class_is_never_paused_not_even_by_all_eight_bits() {
    let mut s = Script::new(&spec(), vec![in_class(3, 0, 1), in_class(3, 1, 0)], SWITCH);
    arrive!(s, 0 ps, port 1, pause [0, 1, 2, 3, 4, 5, 6, 7]);
    arrive!(s, 100_000 ps, port 0, data of flow 0, psn 0);
    arrive!(s, 200_000 ps, port 0, ack of flow 1, expected 1);
    expect!(s, 200_000..204_000 ps, port 1, Ack(1));
    expect_nothing!(s, before 1_000_000_000 ps);
}

#[test]
fn a_pause_takes_effect_after_the_response_time() {
    let config = PfcConfig { response: Duration::from_ps(100_000), ..Default::default() };
    let mut s = Script::new(&with_pfc(config), vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 0 ps, port 0, data of flow 0, psns 0..4);
    arrive!(s, 1 ps, port 1, pause [3]);
    expect!(s, 0..80_000 ps, port 1, Data(3, 0));
    expect!(s, 0..3_000 ps, port 0, Pause(vec![3]));
    // The gate closes at 100,001 ps. The second packet started at 80,000 ps, and the third does not
    // start.
    expect!(s, 80_000..160_000 ps, port 1, Data(3, 1));
    expect_nothing!(s, before 400_000 ps);
    assert_eq!(s.closed(1, 3), Some(Duration::from_ps(100_001)));
    // Two PFC frames are within their response time at once. Each takes effect at its own time.
    arrive!(s, 400_000 ps, port 1, resume [3]);
    arrive!(s, 450_000 ps, port 1, pause [3]);
    expect!(s, 500_000..580_000 ps, port 1, Data(3, 2));
    expect_nothing!(s, before 1_000_000_000 ps);
    assert_eq!(s.closed(1, 3), Some(Duration::from_ps(550_000)));
}

#[test]
fn a_pause_expires_after_its_quanta_of_512_bits() {
    let mut s = Script::new(&quanta(1000), vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 7 ps, port 1, pause [3], quanta 1000);
    arrive!(s, 100 ps, port 0, data of flow 0, psn 0);
    expect!(s, 5_120_007..5_200_007 ps, port 1, Data(3, 0));
    // The duration of the pause depends on the frame's quanta, not on the receiver's own setting.
    arrive!(s, 6_000_000 ps, port 1, pause [3], quanta 2);
    arrive!(s, 6_000_000 ps, port 0, data of flow 0, psn 1);
    expect!(s, 6_010_240..6_090_240 ps, port 1, Data(3, 1));
}

#[test]
fn a_quantum_is_counted_at_the_rate_of_the_paused_port() {
    let mut spec = quanta(10);
    spec.links[1].rate = Rate::from_gbps(40);
    let mut s = Script::new(&spec, vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 0 ps, port 1, pause [3], quanta 10);
    arrive!(s, 0 ps, port 0, data of flow 0, psn 0);
    // The pause lasts 10 x 512 bits at 25 ps per bit, then 1000 B take 200 ps each.
    expect!(s, 128_000..328_000 ps, port 1, Data(3, 0));
}

#[test]
fn a_second_pause_extends_the_first_and_a_resume_ends_it() {
    let mut s = Script::new(&quanta(1000), vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 0 ps, port 1, pause [3], quanta 1000);
    arrive!(s, 0 ps, port 0, data of flow 0, psns 0..2);
    arrive!(s, 5_000_000 ps, port 1, pause [3], quanta 1000);
    expect_each!(s, from 10_120_000 ps, 80_000 ps each, port 1, [Data(3, 0), Data(3, 1)]);
    arrive!(s, 20_000_000 ps, port 1, pause [3], quanta 1000);
    arrive!(s, 20_000_000 ps, port 0, data of flow 0, psn 2);
    arrive!(s, 21_000_000 ps, port 1, resume [3]);
    expect!(s, 21_000_000..21_080_000 ps, port 1, Data(3, 2));
    // The old expiry, at 25.12 us, must not open a gate that has closed since.
    arrive!(s, 25_000_000 ps, port 1, pause [3], quanta 1000);
    arrive!(s, 25_000_000 ps, port 0, data of flow 0, psn 3);
    expect!(s, 30_120_000..30_200_000 ps, port 1, Data(3, 3));
}

#[test]
fn a_pause_is_refreshed_at_half_its_time_until_the_queue_drains() {
    let mut s = Script::new(&quanta(1000), vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 0 ps, port 1, pause [3], quanta 65_535);
    arrive!(s, 100_000 ps, port 0, data of flow 0, psns 0..3);
    expect!(s, 100_000..103_000 ps, port 0, Pause(vec![3]));
    expect!(s, 2_660_000..2_663_000 ps, port 0, Pause(vec![3]));
    expect!(s, 5_220_000..5_223_000 ps, port 0, Pause(vec![3]));
    arrive!(s, 6_000_000 ps, port 1, resume [3]);
    expect_each!(s, from 6_000_000 ps, 80_000 ps each, port 1, [Data(3, 0), Data(3, 1), Data(3, 2)]);
    expect!(s, 6_160_000..6_163_000 ps, port 0, Resume(vec![3]));
    expect_nothing!(s, before 1_000_000_000 ps);
}

/// A class that fills later must not delay the refresh of a class that was paused earlier, because
/// that pause would expire.
#[test]
fn a_pause_of_another_class_does_not_delay_a_refresh() {
    let flows = vec![in_class(3, 0, 1), in_class(4, 0, 1), in_class(5, 0, 1)];
    let mut s = Script::new(&quanta(1000), flows, SWITCH);
    arrive!(s, 0 ps, port 1, pause [3, 4, 5], quanta 65_535);
    arrive!(s, 100_000 ps, port 0, data of flow 0, psns 0..3);
    expect!(s, 100_000..103_000 ps, port 0, Pause(vec![3]));
    arrive!(s, 2_500_000 ps, port 0, data of flow 1, psns 0..3);
    expect!(s, 2_500_000..2_503_000 ps, port 0, Pause(vec![4]));
    expect!(s, 2_660_000..2_663_000 ps, port 0, Pause(vec![3, 4]));
    arrive!(s, 5_000_000 ps, port 0, data of flow 2, psns 0..3);
    expect!(s, 5_000_000..5_003_000 ps, port 0, Pause(vec![5]));
    expect!(s, 5_220_000..5_223_000 ps, port 0, Pause(vec![3, 4, 5]));
}

#[test]
fn a_nic_obeys_a_pause_of_each_class_by_itself() {
    let mut s = Script::new(&spec(), vec![in_class(3, 0, 1), in_class(5, 0, 2)], 0);
    expect!(s, 0..80_000 ps, port 0, Data(3, 0));
    arrive!(s, 10_000 ps, port 0, pause [3]);
    expect_each!(s, from 80_000 ps, 80_000 ps each, port 0, [Data(5, 0), Data(5, 1)]);
    arrive!(s, 170_000 ps, port 0, resume [3]);
    expect!(s, 240_000..320_000 ps, port 0, Data(3, 1));
    arrive!(s, 250_000 ps, port 0, pause [3, 5]);
    expect_nothing!(s, before 900_000 ps);
    // The NIC sends data of class 5 as soon as class 5 is resumed.
    arrive!(s, 900_000 ps, port 0, resume [5]);
    expect!(s, 900_000..980_000 ps, port 0, Data(5, 2));
}

#[test]
fn a_paused_nic_still_acknowledges() {
    let mut s = Script::new(&spec(), vec![in_class(3, 0, 1), in_class(3, 1, 0)], 0);
    expect!(s, 0..80_000 ps, port 0, Data(3, 0));
    arrive!(s, 10_000 ps, port 0, pause [3]);
    arrive!(s, 200_000 ps, port 0, data of flow 1, psn 0);
    expect!(s, 200_000..204_000 ps, port 0, Ack(1));
    expect_nothing!(s, before 1_000_000_000 ps);
}

#[test]
fn the_control_class_has_strict_priority_and_the_others_take_turns() {
    let flows = vec![in_class(3, 0, 1), in_class(5, 2, 1), in_class(3, 1, 3)];
    let mut s = Script::new(&spec(), flows, SWITCH);
    arrive!(s, 0 ps, port 0, data of flow 0, psns 0..2);
    arrive!(s, 0 ps, port 2, data of flow 1, psns 0..2);
    arrive!(s, 10_000 ps, port 3, ack of flow 2, expected 1);
    expect!(s, 0..80_000 ps, port 1, Data(3, 0));
    expect!(s, 80_000..84_000 ps, port 1, Ack(1));
    expect_each!(s, from 84_000 ps, 80_000 ps each, port 1, [Data(5, 0), Data(3, 1), Data(5, 1)]);
}

#[test]
fn deficit_round_robin_gives_each_class_a_quantum_in_turn() {
    let mut spec = spec();
    spec.switch.scheduler = SchedulerConfig::Dwrr { quantum: Bytes(2000) };
    spec.switch.headroom = HeadroomConfig::Sih(Default::default());
    let mut s = Script::new(&spec, vec![in_class(3, 0, 1), in_class(5, 2, 1)], SWITCH);
    arrive!(s, 0 ps, port 1, pause [3, 5]);
    for psn in 0..4 {
        arrive!(s, 10 ps, port 0, data of flow 0, psn psn);
        arrive!(s, 10 ps, port 2, data of flow 1, psn psn);
    }
    arrive!(s, 1_000_000 ps, port 1, resume [3, 5]);
    // Each class sends two packets of 1000 B per turn.
    let order: Vec<_> = (0..8).map(|_| s.next_sent(u64::MAX).unwrap().content).collect();
    use common::script::Content::Data;
    let turns = [Data(3, 0), Data(3, 1), Data(5, 0), Data(5, 1), Data(3, 2), Data(3, 3), Data(5, 2), Data(5, 3)];
    assert_eq!(order, turns);
}

// ---------------------------------------------------------------------------- the cause of a PAUSE

/// Returns the port and the causes of the PAUSE that the last packet triggers, and the ids of all
/// ports. Packets of class 3 arrive on port 0 of a switch with four hosts. Egress ports 1 to 3 are
/// paused because of the remote ports 77, 78 and 79.
fn pause_triggered_by(flows: &[u32]) -> (u16, Vec<(u8, Cause)>, Vec<PortId>) {
    let destinations = vec![in_class(3, 0, 1), in_class(3, 0, 2), in_class(3, 0, 3)];
    let mut spec = spec();
    // The last packet crosses the threshold.
    let xoff = Bytes(1000 * flows.len() as u64 - 500);
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff, xon: Some(Bytes(0)), ..Default::default() });
    let mut s = Script::new(&spec, destinations, SWITCH);
    for port in 1..4 {
        s.arrive_pause(u64::from(port), port, 3, PortId(76 + u32::from(port)).into());
    }
    for (packet, flow) in flows.iter().enumerate() {
        s.arrive_data(100_000 + 80_000 * packet as u64, 0, *flow, packet as u32);
    }
    let (port, causes) = s.next_pause();
    (port, causes, s.node.ports().iter().map(|port| port.id).collect())
}

/// The cause is the egress port that has most bytes of the ingress queue, not the port of the
/// packet that made the queue full. If several ports have most bytes, the cause is the packet's
/// port if it is one of them, and otherwise the first of them. The cause is a paused port, so its
/// pause is the parent, and the root is the cause of that pause.
#[test]
fn the_cause_is_the_port_with_most_of_the_full_queue() {
    let cases = [
        (vec![0, 0, 1], 1),
        (vec![0, 1, 1], 2),
        (vec![2, 1, 0], 1),
        (vec![0, 1, 2], 3),
        (vec![1, 0, 1, 0, 2], 1),
        (vec![2, 1, 2, 1, 0], 2),
    ];
    for (flows, most) in cases {
        let (port, causes, ids) = pause_triggered_by(&flows);
        let since = Time::from_ps(most as u64);
        let parent = Some(Parent { queue: QueueIx(3), since });
        let cause = Cause { via: Some(ids[most]), parent, ..PortId(76 + most as u32).into() };
        assert_eq!((port, causes), (0, vec![(3, cause)]), "{flows:?}");
    }
}

/// Departed packets do not count. Five packets left through port 1 before its PAUSE. Afterwards
/// ports 1 and 2 have equally many packets, and the last packet is for port 2.
#[test]
fn departed_packets_are_no_part_of_the_cause() {
    let mut spec = spec();
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(3500), ..Default::default() });
    let mut s = Script::new(&spec, vec![in_class(3, 0, 1), in_class(3, 0, 2)], SWITCH);
    s.arrive_each(0, 80_000, 0, 0, 0..5);
    s.arrive_pause(500_000, 1, 3, PortId(77).into());
    s.arrive_pause(500_000, 2, 3, PortId(78).into());
    let last = [(0, 5), (0, 6), (1, 0), (1, 1)];
    for (nth, (flow, psn)) in (0..).zip(last) {
        s.arrive_data(600_000 + 80_000 * nth, 0, flow, psn);
    }
    let parent = Some(Parent { queue: QueueIx(3), since: Time::from_ps(500_000) });
    let cause = Cause { via: Some(s.port(2).id), parent, ..PortId(78).into() };
    assert_eq!(s.next_pause(), (0, vec![(3, cause)]));
}

/// An open port with a queue is the root itself.
#[test]
fn a_port_that_is_open_is_the_root() {
    let mut spec = spec();
    spec.links[1].rate = Rate::from_gbps(10);
    let mut s = Script::new(&spec, vec![in_class(3, 0, 1), in_class(3, 0, 2)], SWITCH);
    s.arrive_each(100_000, 80_000, 0, 0, 0..4);
    let id = s.port(1).id;
    assert_eq!(s.next_pause(), (0, vec![(3, Cause { via: Some(id), hops: 1, ..id.into() })]));
}

/// A refresh repeats the cause that every class had in its first PAUSE.
#[test]
fn a_refresh_repeats_the_causes() {
    let mut s = Script::new(&quanta(1000), vec![in_class(3, 0, 1), in_class(5, 0, 2)], SWITCH);
    s.arrive_pfc(0, 1, &[3], 65_535);
    s.arrive_pfc(0, 2, &[5], 65_535);
    s.arrive_each(100_000, 0, 0, 0, 0..3);
    s.arrive_each(200_000, 0, 0, 1, 0..3);
    let [(port, first), (_, second)] = [s.next_pause(), s.next_pause()];
    let (third, fifth) = (first[0].1, second[0].1);
    assert_eq!((port, third.via, fifth.via), (0, Some(s.port(1).id), Some(s.port(2).id)));
    // Meanwhile port 2 has most packets of class 3, which does not change the cause.
    assert_eq!(s.next_pause(), (0, vec![(3, third), (5, fifth)]));
}

/// Returns a switch under DSH whose ingress port 0 is full. Four packets of class 3 wait for port
/// 1, and the last of them crosses the threshold. Three packets of class 5 and `of_class_6` packets
/// of class 6 wait for port 2. Ports 1 and 2 are paused with a cause per class.
fn full_port_under_dsh(of_class_6: u32) -> Script {
    let mut spec = spec();
    // Without a shared buffer packets use the insurance, which pauses the port.
    let dsh = DshConfig { alpha: 0.0, private: Bytes(3000), ..Default::default() };
    spec.switch.headroom = HeadroomConfig::Dsh(dsh);
    let mut s = Script::new(&spec, vec![in_class(3, 0, 1), in_class(5, 0, 2), in_class(6, 0, 2)], SWITCH);
    s.arrive_pause(1, 1, 3, PortId(71).into());
    s.arrive_pause(2, 2, 5, PortId(72).into());
    s.arrive_pause(3, 2, 6, PortId(73).into());
    let packets =
        [(1, 3), (2, of_class_6), (0, 4)].into_iter().flat_map(|(flow, count)| (0..count).map(move |psn| (flow, psn)));
    for (at, (flow, psn)) in (4..).zip(packets) {
        s.arrive_data(80_000 * at, 0, flow, psn);
    }
    s
}

/// The cause of a port-wide PAUSE is the egress port with most of the ingress port's packets of all
/// classes. The root of each class is that of the egress port's queue of this class. If this queue
/// is empty, the root is that of the egress port's fullest queue.
#[test]
fn a_port_wide_pause_has_one_cause_and_a_root_per_class() {
    let mut s = full_port_under_dsh(2);
    let (port, causes) = s.next_pause();
    let (id, of) = (s.port(2).id, |class| causes.iter().find(|(named, _)| *named == class).unwrap().1);
    let parent = |queue, at| Some(Parent { queue, since: Time::from_ps(at) });
    assert_eq!((port, causes.len()), (0, 8));
    assert_eq!(of(5), Cause { via: Some(id), parent: parent(QueueIx(5), 2), ..PortId(72).into() });
    assert_eq!(of(6), Cause { via: Some(id), parent: parent(QueueIx(6), 3), ..PortId(73).into() });
    // Class 3 is queued at port 1, but port 2 has most packets, most of them in class 5.
    assert_eq!((of(3), of(7)), (of(5), of(5)));
}

#[test]
fn the_first_of_equally_full_queues_is_the_cause_of_other_classes() {
    let (_, causes) = full_port_under_dsh(3).next_pause();
    let root = |class| causes.iter().find(|(named, _)| *named == class).unwrap().1.root;
    assert_eq!([5, 6, 3, 7].map(root), [72, 73, 72, 72].map(PortId));
}

/// A failure loses frames on the wire. Both ends of a recovered link therefore stop and announce
/// their state again.
#[test]
fn a_recovered_link_waits_for_the_peers_state() {
    let mut spec = spec();
    spec.switch.lossless = vec![Class(3), Class(5)];
    let mut s = Script::new(&spec, vec![in_class(3, 0, 1)], SWITCH);
    s.link_change(0, 1, false);
    arrive!(s, 100_000 ps, port 0, data of flow 0, psns 0..3);
    expect!(s, 100_000..103_000 ps, port 0, Pause(vec![3]));
    expect_nothing!(s, before 1_000_000 ps);
    s.link_change(1_000_000, 1, true);
    expect!(s, 1_000_000..1_003_000 ps, port 1, Resume(vec![3, 5]));
    expect_nothing!(s, before 2_000_000 ps);
    arrive!(s, 2_000_000 ps, port 1, resume [3, 5]);
    expect!(s, 2_000_000..2_080_000 ps, port 1, Data(3, 0));
    // The link of port 0 fails while the switch pauses host 0 in class 3. After the recovery the
    // PAUSE is repeated, and host 0 may send class 5.
    s.link_change(2_010_000, 0, false);
    s.link_change(2_020_000, 0, true);
    expect_each!(s, from 2_020_000 ps, 3_000 ps each, port 0, [Pause(vec![3]), Resume(vec![5])]);
    assert_eq!(s.closed(1, 3), None);
}

/// A RESUME that waited at the dead port is not sent after the recovery, because both ends announce
/// their state again.
#[test]
fn a_resume_that_waited_at_a_dead_port_is_not_sent() {
    let mut spec = spec();
    spec.switch.lossless = vec![Class(3)];
    let mut s = Script::new(&spec, vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 0 ps, port 1, pause [3]);
    arrive!(s, 100_000 ps, port 0, data of flow 0, psns 0..3);
    expect!(s, 100_000..103_000 ps, port 0, Pause(vec![3]));
    s.link_change(500_000, 0, false);
    arrive!(s, 1_000_000 ps, port 1, resume [3]);
    expect_each!(s, from 1_000_000 ps, 80_000 ps each, port 1, [Data(3, 0), Data(3, 1), Data(3, 2)]);
    s.link_change(2_000_000, 0, true);
    expect!(s, 2_000_000..2_003_000 ps, port 0, Resume(vec![3]));
    expect_nothing!(s, before 3_000_000 ps);
}

#[test]
fn a_pause_repeated_after_a_failure_repeats_its_causes() {
    let mut s = full_port_under_dsh(2);
    let first = s.next_pause();
    s.link_change(2_000_000, 0, false);
    s.link_change(2_010_000, 0, true);
    assert_eq!(first, s.next_pause());
}

/// With quanta, the wait ends when every pause by the peer must have expired. This takes 1 us on
/// the link, a response time of 2 us, and a pause of 5.12 us.
#[test]
fn a_recovered_link_with_quanta_waits_a_finite_time() {
    let pfc =
        PfcConfig { pause: PauseModel::Quanta, quanta: 1000, response: Duration::from_us(2), ..Default::default() };
    let mut spec = with_pfc(pfc);
    spec.switch.lossless = vec![Class(3)];
    let mut s = Script::new(&spec, vec![in_class(3, 0, 1)], SWITCH);
    s.link_change(0, 1, false);
    arrive!(s, 100_000 ps, port 0, data of flow 0, psn 0);
    s.link_change(1_000_000, 1, true);
    expect!(s, 1_000_000..1_003_000 ps, port 1, Resume(vec![3]));
    expect!(s, 9_120_000..9_200_000 ps, port 1, Data(3, 0));
}

/// A RESUME received before a failure opens no gate after the failure.
#[test]
fn a_resume_before_a_failure_takes_no_effect_after_it() {
    let mut spec = with_pfc(PfcConfig { response: Duration::from_ps(100_000), ..Default::default() });
    spec.switch.lossless = vec![Class(3)];
    let mut s = Script::new(&spec, vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 0 ps, port 1, pause [3]);
    arrive!(s, 200_000 ps, port 0, data of flow 0, psn 0);
    // The RESUME would take effect at 1,100,000 ps.
    arrive!(s, 1_000_000 ps, port 1, resume [3]);
    s.link_change(1_010_000, 1, false);
    s.link_change(1_020_000, 1, true);
    expect!(s, 1_020_000..1_023_000 ps, port 1, Resume(vec![3]));
    expect_nothing!(s, before 2_000_000 ps);
    arrive!(s, 2_000_000 ps, port 1, resume [3]);
    expect!(s, 2_100_000..2_180_000 ps, port 1, Data(3, 0));
}

/// The transmitter finishes the frame, though the receiver discards it.
#[test]
fn a_link_that_recovers_within_a_frame_is_busy_until_its_end() {
    let mut spec = spec();
    spec.switch.lossless = vec![Class(3)];
    let mut s = Script::new(&spec, vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 0 ps, port 0, data of flow 0, psn 0);
    expect!(s, 0..80_000 ps, port 1, Data(3, 0));
    s.link_change(10_000, 1, false);
    s.link_change(20_000, 1, true);
    expect!(s, 80_000..83_000 ps, port 1, Resume(vec![3]));
}

/// A flow counts as paused only while it has a packet that the PAUSE alone holds back.
#[test]
fn a_flow_without_packets_to_send_is_not_paused() {
    let flow = FlowSpec { bytes: 2 * 952, ..in_class(3, 0, 1) };
    let mut s = Script::new(&spec(), vec![flow], 0);
    assert_eq!([(); 2].map(|()| s.next_held_up(1_000_000)), [Some(Duration::ZERO); 2]);
    arrive!(s, 1_000_000 ps, port 0, pause [3]);
    arrive!(s, 2_000_000 ps, port 0, resume [3]);
    // The second packet is lost and repeated twice: first while the gate is open, then in the
    // second half of a PAUSE.
    arrive!(s, 3_000_000 ps, port 0, nack of flow 0, expected 1);
    assert_eq!(s.next_held_up(4_000_000), Some(Duration::ZERO));
    arrive!(s, 4_000_000 ps, port 0, pause [3]);
    arrive!(s, 4_500_000 ps, port 0, nack of flow 0, expected 1);
    arrive!(s, 5_000_000 ps, port 0, resume [3]);
    assert_eq!(s.next_held_up(6_000_000), Some(Duration::from_ns(500)));
}

/// A table of all pairs of ports would take 270 GB.
#[test]
fn a_switch_with_65000_ports_runs_pfc() {
    let mut spec = star(65_000);
    spec.switch.buffer = Bytes(1 << 40);
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(4000), ..Default::default() });
    let mut simulation =
        Simulation::new(spec, vec![flow(0, 64_999, 40_000, 0), flow(1, 64_999, 40_000, 0)], 1).unwrap();
    drain(&mut simulation);
    assert!(all_delivered(&simulation.outcomes()) && simulation.totals().pause_frames > 0);
    assert_eq!(simulation.audit(), []);
    let per_port = simulation.memory().total() / 65_000;
    assert!(per_port < 10_000, "{per_port} B");
}

/// SRCC keeps the time of the last packet of each pair of ports.
#[test]
fn state_per_pair_of_ports_limits_the_ports_of_a_node() {
    let refusal = |spec: &NetworkSpec| {
        let errors = Fabric::new(spec.clone()).err().unwrap_or_default();
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let mut spec = star(8193);
    spec.switch.buffer = Bytes(1 << 40);
    assert_eq!(refusal(&spec), [""; 0]);
    spec.congestion = CongestionConfig::Srcc(Default::default());
    let expected = "error: congestion_control: srcc supports at most 8192 ports per node (it keeps state per pair of \
        ports), but a node has 8193";
    assert_eq!(refusal(&spec), [expected]);
}
