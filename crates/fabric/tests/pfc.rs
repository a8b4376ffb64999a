//! Packet scripts of PFC: one switch or NIC, fed by hand, watched to the picosecond.
//!
//! Frames are those of the HPCC simulator with 952 B of payload: data are 1000 B, PFC frames 43 B, ACKs 60 B. At 100 Gb/s they take 80,000 ps,
//! 3,000 ps and 4,000 ps (that simulator counts whole nanoseconds). A quantum is 512 bit times: 5,120 ps.

mod common;

use backwater_engine::{Bytes, Duration, Rate};
use backwater_fabric::flow_control::FlowControlConfig;
use backwater_fabric::flow_control::pfc::{PauseModel, PfcConfig};
use backwater_fabric::framing::Framing;
use backwater_fabric::headroom::HeadroomConfig;
use backwater_fabric::headroom::static_threshold::StaticConfig;
use backwater_fabric::ids::Class;
use backwater_fabric::spec::{FlowSpec, NetworkSpec, SchedulerConfig};
use common::script::Script;
use common::{flow, star};

const SWITCH: u32 = 4;
const PACKETS: u64 = 100;

/// A switch with four hosts at 100 Gb/s, whose ingress queues are full at 2.5 packets and eased at none.
fn spec() -> NetworkSpec {
    let mut spec = star(4, 100, 1000);
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

/// A flow of many packets in `class`.
fn in_class(class: u8, src: u32, dst: u32) -> FlowSpec {
    FlowSpec { class: Class(class), ..flow(src, dst, 952 * PACKETS, 0) }
}

#[test]
fn a_full_ingress_queue_pauses_and_an_eased_one_resumes() {
    let mut s = Script::new(&spec(), vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 0 ps, port 1, pause [3]);
    arrive!(s, 100_000 ps, port 0, data of flow 0, psn 0);
    arrive!(s, 180_000 ps, port 0, data of flow 0, psn 1);
    expect_nothing!(s, before 260_000 ps);
    // The third packet crosses 2500 B.
    arrive!(s, 260_000 ps, port 0, data of flow 0, psn 2);
    expect!(s, 260_000..263_000 ps, port 0, Pause(vec![3]));
    // The fourth finds its upstream already told.
    arrive!(s, 340_000 ps, port 0, data of flow 0, psn 3);
    expect_nothing!(s, before 1_000_000 ps);
    arrive!(s, 1_000_000 ps, port 1, resume [3]);
    expect!(s, 1_000_000..1_080_000 ps, port 1, Data(3, 0));
    expect!(s, 1_080_000..1_160_000 ps, port 1, Data(3, 1));
    expect!(s, 1_160_000..1_240_000 ps, port 1, Data(3, 2));
    expect!(s, 1_240_000..1_320_000 ps, port 1, Data(3, 3));
    // Freed when the last packet starts on the wire.
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
    arrive!(s, 240_000 ps, port 0, data of flow 0, psn 1);
    arrive!(s, 320_000 ps, port 0, data of flow 0, psn 2);
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
    arrive!(s, 180_000 ps, port 2, data of flow 1, psn 1);
    arrive!(s, 260_000 ps, port 2, data of flow 1, psn 2);
    expect!(s, 260_000..263_000 ps, port 2, Pause(vec![3]));
    expect_nothing!(s, before 1_000_000_000 ps);
}

#[test]
fn a_pause_waits_behind_the_frame_on_the_wire_and_passes_those_in_the_queue() {
    let mut s = Script::new(&spec(), vec![in_class(3, 0, 1), in_class(3, 2, 0)], SWITCH);
    arrive!(s, 0 ps, port 1, pause [3]);
    arrive!(s, 100_000 ps, port 0, data of flow 0, psn 0);
    arrive!(s, 180_000 ps, port 0, data of flow 0, psn 1);
    // A packet towards host 0 starts one picosecond before the PAUSE for host 0 is due, and another waits behind it.
    arrive!(s, 259_999 ps, port 2, data of flow 1, psn 0);
    arrive!(s, 260_000 ps, port 0, data of flow 0, psn 2);
    arrive!(s, 300_000 ps, port 2, data of flow 1, psn 1);
    expect!(s, 259_999..339_999 ps, port 0, Data(3, 0));
    expect!(s, 339_999..342_999 ps, port 0, Pause(vec![3]));
    expect!(s, 342_999..422_999 ps, port 0, Data(3, 1));
}

#[test]
fn a_paused_port_finishes_its_frame_and_starts_no_other() {
    let mut s = Script::new(&spec(), vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 0 ps, port 0, data of flow 0, psn 0);
    arrive!(s, 0 ps, port 0, data of flow 0, psn 1);
    expect!(s, 0..80_000 ps, port 1, Data(3, 0));
    arrive!(s, 40_000 ps, port 1, pause [3]);
    expect_nothing!(s, before 500_000 ps);
    arrive!(s, 500_000 ps, port 1, resume [3]);
    expect!(s, 500_000..580_000 ps, port 1, Data(3, 1));
}

#[test]
fn a_pause_that_arrives_as_a_frame_ends_stops_the_next() {
    let mut s = Script::new(&spec(), vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 0 ps, port 0, data of flow 0, psn 0);
    arrive!(s, 0 ps, port 0, data of flow 0, psn 1);
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
    for psn in 0..4 {
        arrive!(s, 0 ps, port 0, data of flow 0, psn psn);
    }
    arrive!(s, 1 ps, port 1, pause [3]);
    expect!(s, 0..80_000 ps, port 1, Data(3, 0));
    expect!(s, 0..3_000 ps, port 0, Pause(vec![3]));
    // Closes at 100,001 ps: a second packet has started at 80,000 ps, a third does not.
    expect!(s, 80_000..160_000 ps, port 1, Data(3, 1));
    expect_nothing!(s, before 400_000 ps);
    assert_eq!(s.closed(1, 3), Some(Duration::from_ps(100_001)));
    // Two frames under way at once: each takes effect in its turn.
    arrive!(s, 400_000 ps, port 1, resume [3]);
    arrive!(s, 450_000 ps, port 1, pause [3]);
    expect!(s, 500_000..580_000 ps, port 1, Data(3, 2));
    expect_nothing!(s, before 1_000_000_000 ps);
    assert_eq!(s.closed(1, 3), Some(Duration::from_ps(550_000)));
}

#[test]
fn a_pause_of_quanta_runs_out_after_that_many_times_512_bits() {
    let mut s = Script::new(&quanta(1000), vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 7 ps, port 1, pause [3], quanta 1000);
    arrive!(s, 100 ps, port 0, data of flow 0, psn 0);
    expect!(s, 5_120_007..5_200_007 ps, port 1, Data(3, 0));
    // The frame says how long, not the receiver's own setting.
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
    // 10 x 512 bits at 25 ps per bit, then 1000 B at 200 ps.
    expect!(s, 128_000..328_000 ps, port 1, Data(3, 0));
}

#[test]
fn a_second_pause_extends_the_first_and_a_resume_ends_it() {
    let mut s = Script::new(&quanta(1000), vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 0 ps, port 1, pause [3], quanta 1000);
    arrive!(s, 0 ps, port 0, data of flow 0, psn 0);
    arrive!(s, 0 ps, port 0, data of flow 0, psn 1);
    arrive!(s, 5_000_000 ps, port 1, pause [3], quanta 1000);
    expect!(s, 10_120_000..10_200_000 ps, port 1, Data(3, 0));
    expect!(s, 10_200_000..10_280_000 ps, port 1, Data(3, 1));
    arrive!(s, 20_000_000 ps, port 1, pause [3], quanta 1000);
    arrive!(s, 20_000_000 ps, port 0, data of flow 0, psn 2);
    arrive!(s, 21_000_000 ps, port 1, resume [3]);
    expect!(s, 21_000_000..21_080_000 ps, port 1, Data(3, 2));
    // The old expiry, at 25.12 us, must not open a gate that has been closed since.
    arrive!(s, 25_000_000 ps, port 1, pause [3], quanta 1000);
    arrive!(s, 25_000_000 ps, port 0, data of flow 0, psn 3);
    expect!(s, 30_120_000..30_200_000 ps, port 1, Data(3, 3));
}

#[test]
fn a_pause_is_refreshed_at_half_its_time_until_the_queue_eases() {
    let mut s = Script::new(&quanta(1000), vec![in_class(3, 0, 1)], SWITCH);
    arrive!(s, 0 ps, port 1, pause [3], quanta 65_535);
    for psn in 0..3 {
        arrive!(s, 100_000 ps, port 0, data of flow 0, psn psn);
    }
    expect!(s, 100_000..103_000 ps, port 0, Pause(vec![3]));
    expect!(s, 2_660_000..2_663_000 ps, port 0, Pause(vec![3]));
    expect!(s, 5_220_000..5_223_000 ps, port 0, Pause(vec![3]));
    arrive!(s, 6_000_000 ps, port 1, resume [3]);
    expect!(s, 6_000_000..6_080_000 ps, port 1, Data(3, 0));
    expect!(s, 6_080_000..6_160_000 ps, port 1, Data(3, 1));
    expect!(s, 6_160_000..6_240_000 ps, port 1, Data(3, 2));
    expect!(s, 6_160_000..6_163_000 ps, port 0, Resume(vec![3]));
    expect_nothing!(s, before 1_000_000_000 ps);
}

/// A class that fills later must not put off the refresh of one that has been paused for long: its pause would run out.
#[test]
fn a_pause_of_another_class_does_not_delay_a_refresh() {
    let flows = vec![in_class(3, 0, 1), in_class(4, 0, 1), in_class(5, 0, 1)];
    let mut s = Script::new(&quanta(1000), flows, SWITCH);
    arrive!(s, 0 ps, port 1, pause [3, 4, 5], quanta 65_535);
    for psn in 0..3 {
        arrive!(s, 100_000 ps, port 0, data of flow 0, psn psn);
    }
    expect!(s, 100_000..103_000 ps, port 0, Pause(vec![3]));
    for psn in 0..3 {
        arrive!(s, 2_500_000 ps, port 0, data of flow 1, psn psn);
    }
    expect!(s, 2_500_000..2_503_000 ps, port 0, Pause(vec![4]));
    expect!(s, 2_660_000..2_663_000 ps, port 0, Pause(vec![3, 4]));
    for psn in 0..3 {
        arrive!(s, 5_000_000 ps, port 0, data of flow 2, psn psn);
    }
    expect!(s, 5_000_000..5_003_000 ps, port 0, Pause(vec![5]));
    expect!(s, 5_220_000..5_223_000 ps, port 0, Pause(vec![3, 4, 5]));
}

#[test]
fn a_nic_obeys_a_pause_of_each_class_by_itself() {
    let mut s = Script::new(&spec(), vec![in_class(3, 0, 1), in_class(5, 0, 2)], 0);
    expect!(s, 0..80_000 ps, port 0, Data(3, 0));
    arrive!(s, 10_000 ps, port 0, pause [3]);
    expect!(s, 80_000..160_000 ps, port 0, Data(5, 0));
    expect!(s, 160_000..240_000 ps, port 0, Data(5, 1));
    arrive!(s, 170_000 ps, port 0, resume [3]);
    expect!(s, 240_000..320_000 ps, port 0, Data(3, 1));
    arrive!(s, 250_000 ps, port 0, pause [3, 5]);
    expect_nothing!(s, before 900_000 ps);
    // An ACK is of the control class and goes out of a NIC whose data stand still.
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
    arrive!(s, 0 ps, port 0, data of flow 0, psn 0);
    arrive!(s, 0 ps, port 0, data of flow 0, psn 1);
    arrive!(s, 0 ps, port 2, data of flow 1, psn 0);
    arrive!(s, 0 ps, port 2, data of flow 1, psn 1);
    arrive!(s, 10_000 ps, port 3, ack of flow 2, expected 1);
    expect!(s, 0..80_000 ps, port 1, Data(3, 0));
    expect!(s, 80_000..84_000 ps, port 1, Ack(1));
    expect!(s, 84_000..164_000 ps, port 1, Data(5, 0));
    expect!(s, 164_000..244_000 ps, port 1, Data(3, 1));
    expect!(s, 244_000..324_000 ps, port 1, Data(5, 1));
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
    // Two packets of 1000 B per turn.
    let order: Vec<_> = (0..8).map(|_| s.next_sent(u64::MAX).unwrap().says).collect();
    use common::script::Says::Data;
    let turns = [Data(3, 0), Data(3, 1), Data(5, 0), Data(5, 1), Data(3, 2), Data(3, 3), Data(5, 2), Data(5, 3)];
    assert_eq!(order, turns);
}

/// What was on the wire is lost, so both ends of a link that comes back stop and tell each other anew.
#[test]
fn a_link_that_comes_back_waits_for_its_peer_to_speak() {
    let mut spec = spec();
    spec.switch.lossless = vec![Class(3), Class(5)];
    let mut s = Script::new(&spec, vec![in_class(3, 0, 1)], SWITCH);
    s.link_change(0, 1, false);
    for psn in 0..3 {
        arrive!(s, 100_000 ps, port 0, data of flow 0, psn psn);
    }
    expect!(s, 100_000..103_000 ps, port 0, Pause(vec![3]));
    expect_nothing!(s, before 1_000_000 ps);
    s.link_change(1_000_000, 1, true);
    expect!(s, 1_000_000..1_003_000 ps, port 1, Resume(vec![3, 5]));
    expect_nothing!(s, before 2_000_000 ps);
    arrive!(s, 2_000_000 ps, port 1, resume [3, 5]);
    expect!(s, 2_000_000..2_080_000 ps, port 1, Data(3, 0));
    // The other link fails with its class paused: it is told again, and class 5 may go.
    s.link_change(2_010_000, 0, false);
    s.link_change(2_020_000, 0, true);
    expect!(s, 2_020_000..2_023_000 ps, port 0, Pause(vec![3]));
    expect!(s, 2_023_000..2_026_000 ps, port 0, Resume(vec![5]));
    assert_eq!(s.closed(1, 3), None);
}
