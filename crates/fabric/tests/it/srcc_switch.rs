//! Packet scripts of a switch with SRCC.
//!
//! The switch has six hosts on links of 100 Gb/s with a delay of 1 us. The port to h4 is paused, so
//! every packet to h4 makes the port's queue longer by 1,086 B. Flows 0, 1 and 2 go from h0, h1 and
//! h2 to h4, flow 3 from h0 to h5, and flow 4 from h1 to h4. Flow 5 goes from h0 to h5 in class 4,
//! which is not lossless. Flow 6 goes from h5 to h0, and flow 7 from h0 to h4.

use crate::prelude::*;
use backwater_fabric::mechanisms::congestion::srcc::{
    ArrivalCount, EgressPorts, SrccThreshold, Target, Uncongested, WindowTest,
};

const PACKET: u64 = 1086;
const US: u64 = 1_000_000;
const END: u64 = 1_000 * US;

fn script(config: SrccConfig) -> Script {
    script_of(config, star(6), &[Class(3)], &[])
}

/// Returns the switch in another network, with other lossless classes and some flows of class 5.
fn script_of(config: SrccConfig, mut spec: NetworkSpec, lossless: &[Class], of_class_5: &[usize]) -> Script {
    spec.switch.lossless = lossless.to_vec();
    spec.congestion = CongestionConfig::Srcc(config);
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(20 * PACKET), ..Default::default() });
    spec.switch.buffer = Bytes(100_000_000);
    let mut flows: Vec<_> = [(0, 4), (1, 4), (2, 4), (0, 5), (1, 4), (0, 5), (5, 0), (0, 4)]
        .map(|(src, dst)| flow(src, dst, 1_000_000, 0))
        .into();
    flows[5].class = Class(4);
    for flow in of_class_5 {
        flows[*flow].class = Class(5);
    }
    let mut s = Script::new(&spec, flows, 6);
    arrive!(s, 0 ps, port 4, pause [3]);
    s
}

/// Handles a packet of a flow that arrives from the flow's source.
fn packet(s: &mut Script, at: u64, flow: u32) {
    let port = [0, 1, 2, 0, 1, 0, 5][flow as usize];
    s.arrive_data(at, port, flow, 1);
}

/// Handles `count` packets of a flow that arrive `gap` ps apart.
fn packets(s: &mut Script, at: u64, gap: u64, flow: u32, count: u64) {
    for nth in 0..count {
        packet(s, at + nth * gap, flow);
    }
}

/// Returns time, port, flow and rate in Gb/s of the remaining notices.
fn notices(s: &mut Script) -> Vec<(u64, u16, u32, u32)> {
    let notices = std::iter::from_fn(|| s.next_notice(END));
    notices.map(|(at, port, flow, kbps)| (at, port, flow, kbps / 1_000_000)).collect()
}

/// Returns SRCC with a static threshold of this number of packets.
fn fixed(packets: u64) -> SrccConfig {
    SrccConfig {
        threshold: SrccThreshold::Static,
        static_threshold: Some(Bytes(packets * PACKET)),
        window: Some(Duration::from_us(10)),
        ..Default::default()
    }
}

/// Returns the number of packets at the port to h4 when the first notice, about flow 0, is sent.
/// Packets of flow 0 arrive `gap` ps apart from 2 us on, after a packet of flow 3 and one packet of
/// each flow in `before`.
fn packets_until_notice(config: SrccConfig, before: &[u32], gap: u64) -> usize {
    let mut s = script(SrccConfig { window: Some(Duration::from_us(100)), ..config });
    packet(&mut s, US, 3);
    for flow in before {
        packet(&mut s, US, *flow);
    }
    packets(&mut s, 2 * US, gap, 0, 40);
    let (at, port, flow, _) = notices(&mut s)[0];
    assert_eq!((port, flow, (at - 2 * US) % gap), (0, 0, 0));
    before.len() + ((at - 2 * US) / gap) as usize + 1
}

// --------------------------------------------------------------------------------- who is notified

/// The first packet that makes the queue longer than four packets triggers a notice. Further
/// notices follow at most once per link delay of 1 us. With two flows the notified rate is half of
/// the line rate.
#[test]
fn a_notice_is_sent_at_once_and_again_after_the_feedback_delay() {
    let mut s = script(fixed(4));
    packet(&mut s, US, 3);
    packets(&mut s, 2 * US, 1, 0, 6);
    // No other flow uses the ingress port of flow 1, so flow 1 gets no notice.
    packets(&mut s, 2 * US + 10, 1, 1, 6);
    for at in [3 * US + 3, 3 * US + 4, 4 * US + 3, 4 * US + 4] {
        packet(&mut s, at, 0);
    }
    assert_eq!(notices(&mut s), [(2 * US + 4, 0, 0, 100), (3 * US + 4, 0, 0, 50), (4 * US + 4, 0, 0, 50)]);
    assert_eq!((s.counted("notices"), s.counted("flow_entries")), (3, 3));
    let mut s = script(SrccConfig { notice_interval: Some(Duration::from_ps(3)), ..fixed(1) });
    packet(&mut s, US, 3);
    packets(&mut s, 2 * US, 100_000, 0, 9);
    assert_eq!(notices(&mut s).len(), 8);
}

/// The window T is 10 us, so a packet of an uncongested flow counts for less than 10 us.
#[test]
fn sharing_ends_with_the_window() {
    for (gap, is_shared) in [(0, true), (10 * US - 1, true), (10 * US, false), (20 * US, false)] {
        let last = |config| {
            let mut s = script(config);
            packet(&mut s, US, 1);
            packet(&mut s, US, 3);
            packet(&mut s, US + gap, 0);
            !notices(&mut s).is_empty()
        };
        assert_eq!(last(fixed(1)), is_shared, "{gap} ps");
        assert_eq!(last(SrccConfig { window_test: WindowTest::Beyond, ..fixed(1) }), !is_shared, "{gap} ps");
    }
}

/// ACKs and packets of a class that cannot be paused are no victims, and their flows get no
/// notices.
#[test]
fn only_data_that_can_be_paused_counts() {
    let mut spec = star(6);
    spec.host.ack_class = Class(3);
    let mut s = script_of(fixed(1), spec, &[Class(3)], &[]);
    s.arrive_answer(US, 0, 6, PacketKind::Ack, 1);
    packet(&mut s, US, 5);
    packet(&mut s, 2 * US, 0);
    packet(&mut s, 2 * US, 0);
    packet(&mut s, 2 * US, 5);
    packet(&mut s, 2 * US, 5);
    assert_eq!(notices(&mut s), []);
    assert_eq!(s.counted("flow_entries"), 1);
}

/// With `any-port`, packets to the same egress port also make an ingress port shared. The last
/// packet to another egress port is remembered, too.
#[test]
fn packets_to_the_same_port_count_if_configured() {
    for (before, which, is_shared) in [
        ([0, 0], Uncongested::OtherPorts, false),
        ([0, 0], Uncongested::AnyPort, true),
        ([3, 0], Uncongested::OtherPorts, true),
        ([0, 3], Uncongested::OtherPorts, true),
    ] {
        let mut s = script(SrccConfig { uncongested: which, ..fixed(2) });
        for (flow, at) in before.iter().zip(1..) {
            packet(&mut s, at * US, *flow);
        }
        packets(&mut s, 3 * US, 0, 1, 2);
        packet(&mut s, 4 * US, 0);
        assert_eq!(!notices(&mut s).is_empty(), is_shared, "{before:?}, {which:?}");
    }
}

/// Packets of flow 3 that find more than one packet in their queue are congested themselves, so
/// they cause no notices to flow 0.
#[test]
fn only_uncongested_packets_make_a_port_shared() {
    let mut s = script(fixed(1));
    packet(&mut s, US, 1);
    // The first packet leaves and the second waits. The other packets join the queue when the
    // window of the first two packets is over.
    arrive!(s, 1_000_000 ps, port 5, pause [3]);
    packet(&mut s, US, 3);
    packets(&mut s, 11 * US, US, 3, 4);
    packet(&mut s, 15 * US, 0);
    assert_eq!(notices(&mut s), []);
}

/// Without `notify_while_paused`, a paused queue is not congested. Its packets then count as
/// victims, so other flows are notified on behalf of these packets.
#[test]
fn paused_queues_count_if_configured() {
    for (notify_while_paused, told) in [(true, vec![0, 3]), (false, vec![3])] {
        let mut s = script(SrccConfig { notify_while_paused, ..fixed(2) });
        // The first of four packets to h5 leaves, and the last finds two packets in the queue.
        packet(&mut s, US, 3);
        packets(&mut s, 2 * US, 0, 0, 3);
        packets(&mut s, 2 * US, 0, 3, 4);
        assert_eq!(notices(&mut s).into_iter().map(|(_, _, flow, _)| flow).collect::<Vec<_>>(), told);
    }
}

// ----------------------------------------------------------------------------------- the threshold

/// Returns SRCC with the threshold of Equation 6. Q_PFC is 20 packets and a link holds 2 packets,
/// so the threshold is 20 / M - 2 (m - 1) packets. M is the number of egress ports that receive
/// packets from an ingress port, and m the number of flows or ingress ports that send to an egress
/// port.
fn eq6() -> SrccConfig {
    SrccConfig {
        threshold: SrccThreshold::Eq6,
        q_pfc: Some(Bytes(20 * PACKET)),
        link_delay: Some(Duration::from_ps(173_760)),
        floor: Some(Bytes(1)),
        static_threshold: None,
        ..fixed(0)
    }
}

#[test]
fn equation_6_counts_egress_ports_flows_and_links() {
    // With M = 2 and one to four flows, thresholds are 10, 8, 6 and 4 packets. If ingress ports
    // count, four flows from three ports have a threshold of 6 packets.
    assert_eq!(packets_until_notice(eq6(), &[], 1), 11);
    assert_eq!(packets_until_notice(eq6(), &[1], 1), 9);
    assert_eq!(packets_until_notice(eq6(), &[1, 2], 1), 7);
    assert_eq!(packets_until_notice(eq6(), &[1, 2, 4], 1), 5);
    let of_ports = SrccConfig { arrivals: ArrivalCount::IngressPorts, ..eq6() };
    assert_eq!(packets_until_notice(of_ports, &[1, 2, 4], 1), 7);
    // With `two_way`, the threshold is 10 - 4 (m - 1) = 6 packets.
    assert_eq!(packets_until_notice(SrccConfig { two_way: true, ..eq6() }, &[1], 1), 7);
    // With all egress ports, M = 5 and the threshold is 4 packets.
    assert_eq!(packets_until_notice(SrccConfig { egress_ports: EgressPorts::All, ..eq6() }, &[], 1), 5);
    // The minimum threshold is 8 packets.
    let floored = SrccConfig { floor: Some(Bytes(8 * PACKET)), ..eq6() };
    assert_eq!(packets_until_notice(floored.clone(), &[1, 2], 1), 9);
    assert_eq!(packets_until_notice(floored, &[1], 1), 9);
    // By default, Q_PFC is the buffer policy's PFC threshold, also 20 packets. Then Q_PFC is set to
    // 30 packets.
    assert_eq!(packets_until_notice(SrccConfig { q_pfc: None, ..eq6() }, &[1], 1), 9);
    assert_eq!(packets_until_notice(SrccConfig { q_pfc: Some(Bytes(30 * PACKET)), ..eq6() }, &[1], 1), 14);
}

/// Notices whose threshold was the minimum are counted. The threshold 20 / 2 - 2 (m - 1) is 10, 8
/// and 6 packets with one, two and three flows.
#[test]
fn notices_at_the_floor_are_counted() {
    for (before, floored) in [(&[][..], 0), (&[1], 0), (&[1, 2], 1)] {
        let mut s = script(SrccConfig { floor: Some(Bytes(8 * PACKET)), ..eq6() });
        packet(&mut s, US, 3);
        for flow in before {
            packet(&mut s, US, *flow);
        }
        packets(&mut s, 2 * US, 1, 0, 12);
        assert_eq!(notices(&mut s).len(), 1);
        assert_eq!((s.counted("notices"), s.counted("floored_notices")), (1, floored), "{before:?}");
    }
}

/// The feedback delay N d is 400 ns, and dQ/dt is measured over at least 1 us. If packets arrive
/// 100 ns apart, a queue of k packets has grown by k packets in that interval. This is 0.4 k
/// packets in N d, so the threshold is 10 - 0.4 k. If packets arrive 1 us apart, the queue grows by
/// two packets in 1 to 2 us, so the threshold is 10 - 0.8.
#[test]
fn equation_5_includes_the_growth_of_the_queue() {
    let eq5 = SrccConfig {
        threshold: SrccThreshold::Eq5,
        link_delay: Some(Duration::from_ns(400)),
        rate_interval: Some(Duration::from_us(1)),
        ..eq6()
    };
    assert_eq!(packets_until_notice(eq5.clone(), &[], 100_000), 8);
    assert_eq!(packets_until_notice(eq5.clone(), &[], US), 10);
    assert_eq!(packets_until_notice(SrccConfig { two_way: true, ..eq5.clone() }, &[], 100_000), 6);
    // The default interval is the longest delay of the switch's links.
    assert_eq!(packets_until_notice(SrccConfig { rate_interval: None, ..eq5.clone() }, &[], 100_000), 8);
    let mut longer = star(6);
    longer.links[5].delay = Duration::from_us(4);
    let mut s = script_of(SrccConfig { rate_interval: None, ..eq5.clone() }, longer, &[Class(3)], &[]);
    packet(&mut s, US, 3);
    assert_eq!(burst(&mut s, 2 * US, 100_000), 10);
    assert_eq!(packets_until_notice(SrccConfig { rate_interval: Some(Duration::from_us(4)), ..eq5 }, &[], 100_000), 10);
}

// -------------------------------------------------------------------------------------- the target

/// Flows of two classes pass one port. Each class has its own queue and its own victims, and all
/// flows share the rate. Flow 1 is in class 5, which is also lossless.
#[test]
fn classes_have_victims_of_their_own_and_share_the_rate() {
    let mut s = script_of(fixed(2), star(6), &[Class(3), Class(5)], &[1, 7]);
    arrive!(s, 0 ps, port 4, pause [3, 5]);
    // Packets of class 3 to another port are no victims of class 5.
    packet(&mut s, US, 3);
    packets(&mut s, 2 * US, 0, 0, 3);
    s.arrive_each(2 * US, 0, 0, 7, 1..4);
    assert_eq!(notices(&mut s), [(2 * US, 0, 0, 100)]);
    packet(&mut s, 4 * US, 0);
    assert_eq!(notices(&mut s), [(4 * US, 0, 0, 50)]);
}

/// The target is C / n for n flows with a packet in the count window.
#[test]
fn the_target_is_the_average_of_recent_flows() {
    let target = |config: SrccConfig| {
        let mut s = script(config);
        packet(&mut s, US, 3);
        packet(&mut s, 2 * US, 1);
        packet(&mut s, 4 * US, 2);
        packet(&mut s, 7 * US, 0);
        notices(&mut s)[0].3
    };
    assert_eq!(target(fixed(2)), 33);
    let counted = |ps| SrccConfig { count_window: Some(Duration::from_ps(ps)), ..fixed(2) };
    assert_eq!(target(counted(5 * US + 1)), 33);
    assert_eq!(target(counted(5 * US)), 50);
    assert_eq!(target(counted(3 * US)), 100);
}

/// The target is the flow's share of packets, here one of four, if this share is less than the
/// average of all flows. Packets from before the previous window do not count.
#[test]
fn the_target_can_be_a_flows_own_share() {
    let mut s = script(SrccConfig { target: Target::Share, ..fixed(3) });
    packet(&mut s, US, 3);
    packets(&mut s, 2 * US, US, 1, 3);
    packet(&mut s, 5 * US, 0);
    // At the notice, flow 0 has two of five packets in this window of 10 us and the previous one.
    packet(&mut s, 8 * US, 3);
    packet(&mut s, 14 * US, 0);
    packet(&mut s, 14 * US, 0);
    // Two windows later, flow 0 has the only packet to h4.
    packet(&mut s, 34 * US, 3);
    packet(&mut s, 34 * US, 0);
    let rates: Vec<u32> = notices(&mut s).into_iter().map(|(_, _, _, gbps)| gbps).collect();
    assert_eq!(rates, [25, 40, 100]);
    // Flow 0 has three of four packets, more than the average.
    let mut s = script(SrccConfig { target: Target::Share, ..fixed(3) });
    for flow in [3, 1, 0, 0, 0] {
        packet(&mut s, US, flow);
    }
    assert_eq!(notices(&mut s)[0].3, 50);
}

// ------------------------------------------------------------------------------ windows that count

/// Returns the number of packets at the port to h4 when the first notice is sent. 40 packets of
/// flow 0 arrive `gap` ps apart.
fn burst(s: &mut Script, from: u64, gap: u64) -> u64 {
    packets(s, from, gap, 0, 40);
    (notices(s)[0].0 - from) / gap + 1
}

/// After a packet to h5, M is 2 for T, here 10 us, and then 1. (By the rule as printed in the SRCC
/// paper, the port is shared only after this time.)
#[test]
fn egress_ports_count_within_the_window() {
    let after = |gap, window_test| {
        let q_pfc = Some(Bytes(10 * PACKET));
        let mut s = script(SrccConfig { q_pfc, window_test, ..eq6() });
        packet(&mut s, US, 3);
        burst(&mut s, US + gap, 1)
    };
    assert_eq!(after(5 * US, WindowTest::Within), 6);
    assert_eq!(after(10 * US, WindowTest::Beyond), 11);
}

/// m counts ingress ports of all lossless classes. It is two, although packets of both classes
/// arrived on one of the ports.
#[test]
fn ingress_ports_count_once_for_all_classes() {
    let config = SrccConfig { arrivals: ArrivalCount::IngressPorts, ..eq6() };
    let mut s = script_of(config, star(6), &[Class(3), Class(5)], &[1, 7]);
    packet(&mut s, US, 3);
    packet(&mut s, US, 1);
    s.arrive_data(US, 0, 7, 1);
    assert_eq!(burst(&mut s, 2 * US, 1), 9);
}

/// After a packet from h1, m is 2 for T, and then 1.
#[test]
fn ingress_ports_count_within_the_window() {
    let after = |gap| {
        let mut s = script(SrccConfig { arrivals: ArrivalCount::IngressPorts, ..eq6() });
        packet(&mut s, US, 1);
        packet(&mut s, US + gap, 3);
        burst(&mut s, US + gap, 1) + 1
    };
    assert_eq!((after(9 * US), after(10 * US)), (9, 11));
}
