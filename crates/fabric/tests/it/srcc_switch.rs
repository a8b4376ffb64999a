//! SRCC at a switch, by packet scripts.
//!
//! Six hosts at links of 100 Gb/s and 1 us. The port to h4 is stopped, so that its queue grows by every packet, which is charged 1,086 B. Flows by number:
//! 0, 1 and 2 from h0, h1 and h2 to h4; 3 from h0 to h5; 4 from h1 to h4; 5 from h0 to h5 in class 4, which is not lossless; 6 from h5 to h0; 7 as 0.

use crate::prelude::*;
use backwater_fabric::mechanisms::congestion::srcc::{
    Arrivals, EgressPorts, Target, Threshold, Uncongested, WindowTest,
};

const PACKET: u64 = 1086;
const US: u64 = 1_000_000;
const END: u64 = 1_000 * US;

fn script(config: SrccConfig) -> Script {
    script_of(config, star(6, 100, 1000), &[Class(3)], &[])
}

/// The same in another network, where other classes are lossless and some flows are of class 5.
fn script_of(config: SrccConfig, mut spec: NetworkSpec, lossless: &[Class], of_class_5: &[usize]) -> Script {
    spec.switch.lossless = lossless.to_vec();
    spec.congestion = CongestionConfig::Srcc(config);
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(20 * PACKET), ..Default::default() });
    spec.switch.buffer = Bytes(100_000_000);
    let mut flows: Vec<_> = [(0, 4), (1, 4), (2, 4), (0, 5), (1, 4), (0, 5), (5, 0), (0, 4)]
        .map(|(src, dst)| flow(src, dst, 1_000_000, 0))
        .into();
    flows[5].class = Class(4);
    of_class_5.iter().for_each(|flow| flows[*flow].class = Class(5));
    let mut s = Script::new(&spec, flows, 6);
    arrive!(s, 0 ps, port 4, pause [3]);
    s
}

/// A packet of a flow comes in by the port of its host.
fn comes(s: &mut Script, at: u64, flow: u32) {
    let port = [0, 1, 2, 0, 1, 0, 5][flow as usize];
    s.arrive_data(at, port, flow, 1);
}

/// What is left of what the switch sends: notices, each with its time, port and flow, and its rate in Gb/s.
fn notices(s: &mut Script) -> Vec<(u64, PortIx, u32, u32)> {
    let notices = std::iter::from_fn(|| s.next_notice(END));
    notices.map(|(at, port, flow, kbps)| (at, port, flow, kbps / 1_000_000)).collect()
}

/// So many packets are the threshold.
fn fixed(packets: u64) -> SrccConfig {
    SrccConfig {
        threshold: Threshold::Static,
        static_threshold: Some(Bytes(packets * PACKET)),
        window: Some(Duration::from_us(10)),
        ..Default::default()
    }
}

/// Packets of flow 0 come `gap` ps apart from 2 us on, after one of flow 3 and those of `before` have come; how many are at the port to h4 when the first
/// notice is sent. It is about flow 0.
fn packets_until_notice(config: SrccConfig, before: &[u32], gap: u64) -> usize {
    let mut s = script(SrccConfig { window: Some(Duration::from_us(100)), ..config });
    comes(&mut s, US, 3);
    before.iter().for_each(|flow| comes(&mut s, US, *flow));
    (0..40).for_each(|packet| comes(&mut s, 2 * US + packet * gap, 0));
    let (at, port, flow, _) = notices(&mut s)[0];
    assert_eq!((port, flow, (at - 2 * US) % gap), (0, 0, 0));
    before.len() + ((at - 2 * US) / gap) as usize + 1
}

// --------------------------------------------------------------------------------------------------------- who is notified

/// The first packet with which the queue is longer than four, and from then on one in the delay of the link at most. With two flows the rate is half.
#[test]
fn a_notice_goes_back_at_once_and_again_after_the_feedback_delay() {
    let mut s = script(fixed(4));
    comes(&mut s, US, 3);
    (0..6).for_each(|packet| comes(&mut s, 2 * US + packet, 0));
    // Its ingress port is its own.
    (0..6).for_each(|packet| comes(&mut s, 2 * US + 10 + packet, 1));
    for at in [3 * US + 3, 3 * US + 4, 4 * US + 3, 4 * US + 4] {
        comes(&mut s, at, 0);
    }
    assert_eq!(notices(&mut s), [(2 * US + 4, 0, 0, 100), (3 * US + 4, 0, 0, 50), (4 * US + 4, 0, 0, 50)]);
    assert_eq!((s.counted("notices"), s.counted("flow_entries")), (3, 3));
    let mut s = script(SrccConfig { notice_interval: Some(Duration::from_ps(3)), ..fixed(1) });
    comes(&mut s, US, 3);
    (0..9).for_each(|packet| comes(&mut s, 2 * US + packet * 100_000, 0));
    assert_eq!(notices(&mut s).len(), 8);
}

/// T is 10 us: a packet of an uncongested flow counts for less than that.
#[test]
fn sharing_ends_with_the_window() {
    for (gap, is_shared) in [(0, true), (10 * US - 1, true), (10 * US, false), (20 * US, false)] {
        let last = |config| {
            let mut s = script(config);
            comes(&mut s, US, 1);
            comes(&mut s, US, 3);
            comes(&mut s, US + gap, 0);
            !notices(&mut s).is_empty()
        };
        assert_eq!(last(fixed(1)), is_shared, "{gap} ps");
        assert_eq!(last(SrccConfig { window_test: WindowTest::Beyond, ..fixed(1) }), !is_shared, "{gap} ps");
    }
}

/// Neither answers nor packets of a class that cannot be paused are victims; and nobody is told of these.
#[test]
fn only_data_that_can_be_paused_counts() {
    let mut spec = star(6, 100, 1000);
    spec.host.ack_class = Class(3);
    let mut s = script_of(fixed(1), spec, &[Class(3)], &[]);
    s.arrive_answer(US, 0, 6, PacketKind::Ack, 1);
    comes(&mut s, US, 5);
    comes(&mut s, 2 * US, 0);
    comes(&mut s, 2 * US, 0);
    comes(&mut s, 2 * US, 5);
    comes(&mut s, 2 * US, 5);
    assert_eq!(notices(&mut s), []);
    assert_eq!(s.counted("flow_entries"), 1);
}

/// What has gone to the same port makes a port shared only if asked to; the last one to another port is remembered behind it.
#[test]
fn packets_to_the_same_port_count_if_asked_to() {
    for (before, which, is_shared) in [
        ([0, 0], Uncongested::OtherPorts, false),
        ([0, 0], Uncongested::AnyPort, true),
        ([3, 0], Uncongested::OtherPorts, true),
        ([0, 3], Uncongested::OtherPorts, true),
    ] {
        let mut s = script(SrccConfig { uncongested: which, ..fixed(2) });
        before.iter().zip(1..).for_each(|(flow, at)| comes(&mut s, at * US, *flow));
        comes(&mut s, 3 * US, 1);
        comes(&mut s, 3 * US, 1);
        comes(&mut s, 4 * US, 0);
        assert_eq!(!notices(&mut s).is_empty(), is_shared, "{before:?}, {which:?}");
    }
}

/// Packets of flow 3 that find more than one in their queue are congested themselves, and no reason to tell of flow 0.
#[test]
fn only_uncongested_packets_make_a_port_shared() {
    let mut s = script(fixed(1));
    comes(&mut s, US, 1);
    // The first leaves, the second waits, and the others find it, after the first two have been forgotten.
    arrive!(s, 1_000_000 ps, port 5, pause [3]);
    comes(&mut s, US, 3);
    (11..15).for_each(|at| comes(&mut s, at * US, 3));
    comes(&mut s, 15 * US, 0);
    assert_eq!(notices(&mut s), []);
}

/// A queue that is stopped is no congestion then: what goes to it is a victim, for whose sake others are told.
#[test]
fn stopped_queues_count_if_asked_to() {
    for (notify_while_paused, told) in [(true, vec![0, 3]), (false, vec![3])] {
        let mut s = script(SrccConfig { notify_while_paused, ..fixed(2) });
        // Of the four to h5 the first leaves, and the last finds two.
        comes(&mut s, US, 3);
        (0..3).for_each(|_| comes(&mut s, 2 * US, 0));
        (0..4).for_each(|_| comes(&mut s, 2 * US, 3));
        assert_eq!(notices(&mut s).into_iter().map(|(_, _, flow, _)| flow).collect::<Vec<_>>(), told);
    }
}

// ------------------------------------------------------------------------------------------------------------- the threshold

/// Equation 6 with Q_PFC of 20 packets and a link that holds two: 20 / M - 2 (m - 1).
fn eq6() -> SrccConfig {
    SrccConfig {
        threshold: Threshold::Eq6,
        q_pfc: Some(Bytes(20 * PACKET)),
        link_delay: Some(Duration::from_ps(173_760)),
        floor: Some(Bytes(1)),
        static_threshold: None,
        ..fixed(0)
    }
}

#[test]
fn equation_6_counts_egress_ports_flows_and_links() {
    // M = 2, and m = 1, 2, 3; four flows from three ports.
    assert_eq!(packets_until_notice(eq6(), &[], 1), 11);
    assert_eq!(packets_until_notice(eq6(), &[1], 1), 9);
    assert_eq!(packets_until_notice(eq6(), &[1, 2], 1), 7);
    assert_eq!(packets_until_notice(eq6(), &[1, 2, 4], 1), 5);
    let of_ports = SrccConfig { arrivals: Arrivals::IngressPorts, ..eq6() };
    assert_eq!(packets_until_notice(of_ports, &[1, 2, 4], 1), 7);
    // Both ways, 4 packets for each flow but one.
    assert_eq!(packets_until_notice(SrccConfig { two_way: true, ..eq6() }, &[1], 1), 7);
    // M = 5.
    assert_eq!(packets_until_notice(SrccConfig { egress_ports: EgressPorts::All, ..eq6() }, &[], 1), 5);
    // The least threshold.
    let floored = SrccConfig { floor: Some(Bytes(8 * PACKET)), ..eq6() };
    assert_eq!(packets_until_notice(floored.clone(), &[1, 2], 1), 9);
    assert_eq!(packets_until_notice(floored, &[1], 1), 9);
    // Q_PFC of the buffer policy, 20 packets as well, and another one.
    assert_eq!(packets_until_notice(SrccConfig { q_pfc: None, ..eq6() }, &[1], 1), 9);
    assert_eq!(packets_until_notice(SrccConfig { q_pfc: Some(Bytes(30 * PACKET)), ..eq6() }, &[1], 1), 14);
}

/// Of the notices, those whose threshold was the floor. 20 / 2 - 2 (m - 1) is 10 and 8 with one and two flows, and 6 with three.
#[test]
fn notices_at_the_floor_are_counted() {
    for (before, floored) in [(&[][..], 0), (&[1], 0), (&[1, 2], 1)] {
        let mut s = script(SrccConfig { floor: Some(Bytes(8 * PACKET)), ..eq6() });
        comes(&mut s, US, 3);
        before.iter().for_each(|flow| comes(&mut s, US, *flow));
        (0..12).for_each(|packet| comes(&mut s, 2 * US + packet, 0));
        assert_eq!(notices(&mut s).len(), 1);
        assert_eq!((s.counted("notices"), s.counted("floored_notices")), (1, floored), "{before:?}");
    }
}

/// T_c is 400 ns, and dQ/dt is measured over 1 us at least. Packets in 100 ns make the queue longer by 0.4 k packets in T_c when it holds k: 10 - 0.4 k. One in 1 us
/// makes it longer by two in 1 to 2 us: 10 - 0.8.
#[test]
fn equation_5_sees_how_fast_the_queue_grows() {
    let eq5 = SrccConfig {
        threshold: Threshold::Eq5,
        link_delay: Some(Duration::from_ns(400)),
        rate_interval: Some(Duration::from_us(1)),
        ..eq6()
    };
    assert_eq!(packets_until_notice(eq5.clone(), &[], 100_000), 8);
    assert_eq!(packets_until_notice(eq5.clone(), &[], US), 10);
    assert_eq!(packets_until_notice(SrccConfig { two_way: true, ..eq5.clone() }, &[], 100_000), 6);
    // By default over the longest delay of the switch's links.
    assert_eq!(packets_until_notice(SrccConfig { rate_interval: None, ..eq5.clone() }, &[], 100_000), 8);
    let mut longer = star(6, 100, 1000);
    longer.links[5].delay = Duration::from_us(4);
    let mut s = script_of(SrccConfig { rate_interval: None, ..eq5.clone() }, longer, &[Class(3)], &[]);
    comes(&mut s, US, 3);
    assert_eq!(burst(&mut s, 2 * US, 100_000), 10);
    assert_eq!(packets_until_notice(SrccConfig { rate_interval: Some(Duration::from_us(4)), ..eq5 }, &[], 100_000), 10);
}

// ---------------------------------------------------------------------------------------------------------------- the target

/// Flows of two classes through one port: each class has its own queue and its own victims, and all of them share the rate. Flow 1 is of class 5, which is lossless
/// as well.
#[test]
fn classes_have_victims_of_their_own_and_share_the_rate() {
    let mut s = script_of(fixed(2), star(6, 100, 1000), &[Class(3), Class(5)], &[1, 7]);
    arrive!(s, 0 ps, port 4, pause [3, 5]);
    // Packets of class 3 that went elsewhere are no victims of class 5.
    comes(&mut s, US, 3);
    (0..3).for_each(|_| comes(&mut s, 2 * US, 0));
    s.arrive_data(US * 2, 0, 7, 1);
    s.arrive_data(US * 2, 0, 7, 2);
    s.arrive_data(US * 2, 0, 7, 3);
    assert_eq!(notices(&mut s), [(2 * US, 0, 0, 100)]);
    comes(&mut s, 4 * US, 0);
    assert_eq!(notices(&mut s), [(4 * US, 0, 0, 50)]);
}

/// C / n, where n flows have had a packet within the window that counts them.
#[test]
fn the_target_is_the_average_of_the_flows_of_late() {
    let target = |config: SrccConfig| {
        let mut s = script(config);
        comes(&mut s, US, 3);
        comes(&mut s, 2 * US, 1);
        comes(&mut s, 4 * US, 2);
        comes(&mut s, 7 * US, 0);
        notices(&mut s)[0].3
    };
    assert_eq!(target(fixed(2)), 33);
    let counted = |ps| SrccConfig { count_window: Some(Duration::from_ps(ps)), ..fixed(2) };
    assert_eq!(target(counted(5 * US + 1)), 33);
    assert_eq!(target(counted(5 * US)), 50);
    assert_eq!(target(counted(3 * US)), 100);
}

/// One of four packets, if that is less than the average. What came two windows before, or more, has not been brought of late.
#[test]
fn the_target_can_be_a_flows_own_share() {
    let mut s = script(SrccConfig { target: Target::Share, ..fixed(3) });
    comes(&mut s, US, 3);
    for at in 2..5 {
        comes(&mut s, at * US, 1);
    }
    comes(&mut s, 5 * US, 0);
    // Three of six, in this window of 10 us and the one before.
    comes(&mut s, 8 * US, 3);
    comes(&mut s, 14 * US, 0);
    comes(&mut s, 14 * US, 0);
    // In the next but one: one of one.
    comes(&mut s, 34 * US, 3);
    comes(&mut s, 34 * US, 0);
    let told: Vec<u32> = notices(&mut s).into_iter().map(|(_, _, _, gbps)| gbps).collect();
    assert_eq!(told, [25, 40, 100]);
    // Three of four are more than the average.
    let mut s = script(SrccConfig { target: Target::Share, ..fixed(3) });
    [3, 1, 0, 0, 0].iter().for_each(|flow| comes(&mut s, US, *flow));
    assert_eq!(notices(&mut s)[0].3, 50);
}

// ------------------------------------------------------------------------------------------------------- windows that count

/// How many of 40 packets of flow 0, which come `gap` ps apart, are at the port to h4 when the first notice is sent.
fn burst(s: &mut Script, from: u64, gap: u64) -> u64 {
    (0..40).for_each(|packet| comes(s, from + packet * gap, 0));
    (notices(s)[0].0 - from) / gap + 1
}

/// A packet has gone to h5 as well: M is 2 for T, which is 10 us here, then 1. (By the printed test the port is shared only then.)
#[test]
fn egress_ports_count_within_the_window() {
    let after = |gap, window_test| {
        let q_pfc = Some(Bytes(10 * PACKET));
        let mut s = script(SrccConfig { q_pfc, window_test, ..eq6() });
        comes(&mut s, US, 3);
        burst(&mut s, US + gap, 1)
    };
    assert_eq!(after(5 * US, WindowTest::Within), 6);
    assert_eq!(after(10 * US, WindowTest::Beyond), 11);
}

/// m counts ingress ports of whatever lossless class: two, though one has sent packets of both.
#[test]
fn ingress_ports_count_once_for_all_classes() {
    let config = SrccConfig { arrivals: Arrivals::IngressPorts, ..eq6() };
    let mut s = script_of(config, star(6, 100, 1000), &[Class(3), Class(5)], &[1, 7]);
    comes(&mut s, US, 3);
    comes(&mut s, US, 1);
    s.arrive_data(US, 0, 7, 1);
    assert_eq!(burst(&mut s, 2 * US, 1), 9);
}

/// A packet has come from h1 as well: m is 2 for T, then 1.
#[test]
fn ingress_ports_count_within_the_window() {
    let after = |gap| {
        let mut s = script(SrccConfig { arrivals: Arrivals::IngressPorts, ..eq6() });
        comes(&mut s, US, 1);
        comes(&mut s, US + gap, 3);
        burst(&mut s, US + gap, 1) + 1
    };
    assert_eq!((after(9 * US), after(10 * US)), (9, 11));
}
