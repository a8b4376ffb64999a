//! Packet scripts of a switch with FLB: notices about flows, and isolation and rerouting for an
//! edge switch's own queues.
//!
//! The network has hosts 0 to 2 on switch 6, hosts 3 to 5 on switch 7, spines 8 and 9, and links of
//! 100 Gb/s with a delay of 1 us. Ports 0 to 2 of switch 6 lead to hosts, ports 3 and 4 to spines.
//! A data packet with 1,024 B of payload is charged 1,086 B and takes 88.48 ns. The first packet of
//! a flow is charged 1,102 B and takes 89.76 ns.

use crate::prelude::*;
use backwater_fabric::mechanisms::load_balance::flb::{
    FlbThreshold, Moves, OwnUplinks, Rerouting, Spread, StampPoint, Ties,
};

fn leaf_spine(config: FlbConfig) -> NetworkSpec {
    let mut spec = fixtures::leaf_spine(2, 3, 2);
    spec.load_balance = LoadBalanceConfig::Flb(FlbConfig { ties: Ties::InTurn, ..config });
    spec.congestion = CongestionConfig::FlbRc(Default::default());
    spec.recovery = RecoveryConfig::InAnyOrder(Default::default());
    spec
}

/// Returns FLB with a static threshold K of three packets of 1,086 B.
fn fixed() -> FlbConfig {
    let static_threshold = Some(Bytes(3 * 1086));
    FlbConfig { threshold: FlbThreshold::Static, static_threshold, ..Default::default() }
}

/// Returns flows 0 and 1 from hosts 3 and 4 over the spines to host 0, and flow 2 from host 5 to
/// host 1.
fn inward() -> Vec<FlowSpec> {
    vec![flow(3, 0, 1 << 20, 0), flow(4, 0, 1 << 20, 0), flow(5, 1, 1 << 20, 0)]
}

/// Returns flows 0 to 2 from hosts 0 to 2 over the spines to hosts 3 to 5.
fn outward() -> Vec<FlowSpec> {
    (0..3).map(|host| flow(host, 3 + host, 1 << 20, 0)).collect()
}

/// Returns the switch with the adaptive threshold of Equation 4, bounded by a PFC threshold of
/// `xoff` bytes.
fn with_equation_4(xoff: u64) -> Script {
    let config = FlbConfig { threshold: FlbThreshold::Adaptive, ..Default::default() };
    Script::new(&with_bound(leaf_spine(config), xoff), inward(), 6)
}

/// Sets PFC's threshold to `xoff` bytes.
fn with_bound(mut spec: NetworkSpec, xoff: u64) -> NetworkSpec {
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(xoff), xon: None, headroom: None });
    spec.switch.buffer = Bytes(50_000_000);
    spec
}

const NS: u64 = 1000;

/// Returns time, port, flow and flag of the notices that the switch sends before `until`; times are
/// in ns.
fn notices(switch: &mut Script, until: u64) -> Vec<(u64, u16, u32, bool)> {
    let next = || switch.next_notice(until * NS).map(|(at, port, flow, flag)| (at / NS, port, flow, flag == 1));
    std::iter::from_fn(next).collect()
}

/// Returns the value of a counter of the switch's load balancer at `at`, in ns.
fn count(switch: &mut Script, at: u64, counted: &str) -> u64 {
    let mut found = 0;
    let now = Time::from_ps(at * NS);
    switch.node.switch().unwrap().observe_balancing(now, &mut |statistic| match statistic {
        LbStat::Count(name, amount) if name == counted => found = amount,
        _ => {}
    });
    found
}

/// Handles packets of these flows that arrive together at `at`, in ns, alternately from the two
/// spines. None is the first packet of its flow.
fn arrive(switch: &mut Script, at: u64, flows: &[u32]) {
    for (nth, flow) in (0..).zip(flows) {
        switch.arrive_data(at * NS, 3 + nth % 2, *flow, 1 + u32::from(nth));
    }
}

/// One packet is on the wire, and three wait, which equals K. With the next packet, the queue
/// exceeds K, and the source of the packet's flow is notified. The other flow's source is notified
/// when that flow's next packet arrives. Both sources get a clear notice when the queue is shorter
/// than K. New notices follow when the queue exceeds K again, at most one per flow in 300 ns.
#[test]
fn flows_of_a_queue_above_k_are_notified_and_cleared() {
    let spec = leaf_spine(FlbConfig { notice_interval: Some(Duration::from_ns(300)), ..fixed() });
    let mut switch = Script::new(&spec, inward(), 6);
    arrive(&mut switch, 1000, &[0, 0, 0, 0]);
    assert_eq!(notices(&mut switch, 1001), []);
    arrive(&mut switch, 1001, &[0]);
    // The notice leaves at once through the ingress port of the packet.
    assert_eq!(notices(&mut switch, 1002), [(1001, 3, 0, true)]);
    arrive(&mut switch, 1002, &[0, 1]);
    assert_eq!(notices(&mut switch, 1010), [(1002, 4, 1, true)]);
    // At 1,353.92 ns the fifth of seven packets leaves and two remain. The departure of the fourth
    // left three packets, which equals K.
    let cleared = notices(&mut switch, 2000);
    assert_eq!(
        cleared.iter().map(|(_, port, flow, flag)| (*port, *flow, *flag)).collect::<Vec<_>>(),
        [(3, 0, false), (4, 1, false)]
    );
    assert!(cleared.iter().all(|(at, ..)| *at == 1353), "{cleared:?}");
    assert_eq!(switch.counted("cnms"), 2);
    assert_eq!(switch.counted("clear_cnms"), 2);
    // A notice is sent when the queue exceeds K again, and another one with the first packet that
    // arrives more than 300 ns later.
    arrive(&mut switch, 3000, &[0, 0, 0, 0, 0, 0]);
    arrive(&mut switch, 3250, &[0, 0, 0, 0]);
    arrive(&mut switch, 3301, &[0]);
    let notified: Vec<_> = notices(&mut switch, 3400).into_iter().map(|(at, _, _, flag)| (at, flag)).collect();
    assert_eq!(notified, [(3000, true), (3301, true)]);
}

/// K = 2 d C for links of delay d and rate C: 2 us x 100 Gb/s = 25 KB, so the 24th packet behind
/// the packet on the wire exceeds K. With a PFC threshold of 20 KB, K is half of this threshold,
/// and the 10th packet exceeds K. K is at least two packets. With a configured d of 2 us, K is 50
/// KB, or 46 packets.
#[test]
fn k_is_two_link_delays_within_half_the_bound_and_two_packets() {
    let longer = Some(Duration::from_us(2));
    for (bound, link_delay, above) in
        [(1_000_000, None, 24), (20_000, None, 10), (3_000, None, 3), (1_000_000, longer, 47)]
    {
        let spec = with_bound(leaf_spine(FlbConfig { link_delay, ..FlbConfig::default() }), bound);
        let mut switch = Script::new(&spec, inward(), 6);
        arrive(&mut switch, 1000, &vec![0; above]);
        assert_eq!(notices(&mut switch, 1001), [], "{bound}");
        arrive(&mut switch, 1001, &[0]);
        assert_eq!(notices(&mut switch, 1002).len(), 1, "{bound}");
    }
}

/// The link to host 0 is paused, so its queue causes notices only if `notify_while_paused` is set.
#[test]
fn paused_queues_count_if_configured() {
    for notify_while_paused in [true, false] {
        let mut switch = Script::new(&leaf_spine(FlbConfig { notify_while_paused, ..fixed() }), inward(), 6);
        switch.arrive_pfc(500 * NS, 0, &[3], u16::MAX);
        arrive(&mut switch, 1000, &[0, 0, 0, 0, 0, 0]);
        assert_eq!(notices(&mut switch, 1100).len(), usize::from(notify_while_paused));
    }
}

#[test]
fn only_what_can_be_paused_counts() {
    let mut flows = inward();
    flows[0].class = Class(5);
    let mut switch = Script::new(&leaf_spine(fixed()), flows, 6);
    arrive(&mut switch, 1000, &[0, 0, 0, 0, 0, 0]);
    assert_eq!(notices(&mut switch, 5000), []);
}

/// Flow 0 sends no more packets, while flow 1 keeps the queue above K. After the timeout of 2 us, a
/// clear notice is sent for flow 0.
#[test]
fn flows_without_packets_are_cleared() {
    let config =
        FlbConfig { flow_timeout: Duration::from_us(2), notice_interval: Some(Duration::from_us(50)), ..fixed() };
    let mut switch = Script::new(&leaf_spine(config), inward(), 6);
    arrive(&mut switch, 1000, &[0, 0, 0, 0, 0, 0, 0, 0]);
    // A packet arrives every 80 ns, and one leaves every 88.48 ns.
    for nth in 0..60 {
        arrive(&mut switch, 1080 + 80 * nth, &[1]);
    }
    let all = notices(&mut switch, 5800);
    let of = |flow: u32| {
        all.iter()
            .filter(|(_, _, notified, _)| *notified == flow)
            .map(|(at, .., flag)| (*at, *flag))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(1).len(), 1);
    let of_first = of(0);
    assert!(matches!(of_first[..], [(1000, true), (3000..5200, false)]), "{of_first:?}");
}

/// Flow 0 sends nothing after 1,000 ns and counts as active until its timeout at 3,000 ns. Notices
/// for flow 1, sent every 300 ns, count two flows until then and one flow afterwards. No packet
/// leaves the queue, because a departure would trigger a search for inactive flows.
#[test]
fn flows_without_packets_are_not_counted() {
    let (flow_timeout, interval) = (Duration::from_us(2), Some(Duration::from_ns(300)));
    let mut switch =
        Script::new(&leaf_spine(FlbConfig { flow_timeout, notice_interval: interval, ..fixed() }), inward(), 6);
    // The link is paused, so that no packet leaves.
    switch.arrive_pfc(100 * NS, 0, &[3], u16::MAX);
    arrive(&mut switch, 1000, &[0, 0, 0, 0]);
    assert_eq!(switch.next_notice_words(1001 * NS).map(|words| words[1]), Some(1));
    for (at, flows) in [(1500, 2), (3000, 2), (3400, 1)] {
        arrive(&mut switch, at, &[1]);
        assert_eq!(switch.next_notice_words((at + 1) * NS).map(|words| words[1]), Some(flows), "{at}");
    }
}

/// Flow 0 sends nothing after 1,000 ns. With an `n_timeout` of 2 us, notices count two flows until
/// 3,000 ns and one flow afterwards, clear notices included. A clear notice is also sent for flow
/// 0, because its entry lasts for `flow_timeout`.
#[test]
fn flows_count_in_n_for_a_time_of_their_own() {
    let (n_timeout, notice_interval) = (Some(Duration::from_us(2)), Some(Duration::from_ns(300)));
    let mut switch = Script::new(&leaf_spine(FlbConfig { n_timeout, notice_interval, ..fixed() }), inward(), 6);
    // The link is paused, so that no packet leaves.
    switch.arrive_pfc(100 * NS, 0, &[3], u16::MAX);
    arrive(&mut switch, 1000, &[0, 0, 0, 0]);
    assert_eq!(switch.next_notice_words(1001 * NS).map(|words| words[1]), Some(1));
    for (at, flows) in [(3000, 2), (3400, 1)] {
        arrive(&mut switch, at, &[1]);
        assert_eq!(switch.next_notice_words((at + 1) * NS).map(|words| words[1]), Some(flows), "{at}");
    }
    switch.arrive_pfc(3500 * NS, 0, &[3], 0);
    let words: Vec<_> =
        std::iter::from_fn(|| switch.next_notice_words(9000 * NS)).map(|[flag, n, ..]| (flag, n)).collect();
    assert_eq!(words, [(0, 1), (0, 1)]);
}

/// Flow 0's notice counts one flow, and flow 1's notice counts two. When the queue is short again,
/// both clear notices count two flows.
#[test]
fn clear_notices_count_the_flows() {
    let mut switch = Script::new(&leaf_spine(fixed()), inward(), 6);
    arrive(&mut switch, 1000, &[0, 0, 0, 0, 0, 1]);
    let words: Vec<_> =
        std::iter::from_fn(|| switch.next_notice_words(5000 * NS)).map(|[flag, n, ..]| (flag, n)).collect();
    assert_eq!(words, [(1, 1), (1, 2), (0, 2), (0, 2)]);
}

/// ACKs have the class of data, and K is 100 B. When the last data packet leaves, the two ACKs
/// behind it exceed K. The clear notice is sent when the first ACK leaves.
#[test]
fn acks_leave_congested_queues_as_well() {
    let mut spec = leaf_spine(FlbConfig { static_threshold: Some(Bytes(100)), ..fixed() });
    spec.host.ack_class = Class(3);
    let mut switch = Script::new(&spec, [inward(), vec![flow(0, 3, 1 << 20, 0)]].concat(), 6);
    arrive(&mut switch, 1000, &[0, 0]);
    for _ in 0..2 {
        switch.arrive_answer(1001 * NS, 3, 3, PacketKind::Ack, 1);
    }
    let notified: Vec<_> = notices(&mut switch, 5000).into_iter().map(|(at, .., flag)| (at, flag)).collect();
    // The second packet starts at 1,088.48 ns, and the ACKs behind it at 1,176.96 ns.
    assert_eq!(notified.last(), Some(&(1176, false)));
}

/// Equation 4 reduces the bound, a PFC threshold of 100 KB, by the queue's growth during 2 N d,
/// where N is the number of links that a packet has passed, and d their delay. This time is 2 us,
/// because the packets of the script have passed one link of 1 us. In 177 ns, three or five packets
/// arrive and two leave. The queue becomes congested at the reduced bound, with a tolerance of two
/// packets.
#[test]
fn equation_4_includes_the_growth_of_the_queue() {
    let congested = |per_step: u32| {
        let mut switch = with_equation_4(100_000);
        // Two packets leave in 177 ns.
        for step in 0..200u64 {
            arrive(&mut switch, 1000 + 177 * step, &vec![0; per_step as usize]);
            let queued = switch.port(0).queued_bytes();
            if !notices(&mut switch, 1000 + 177 * step + 1).is_empty() {
                return queued;
            }
        }
        u64::MAX
    };
    for (per_step, net) in [(3, 1), (5, 3)] {
        let bound = 100_000 - net * 1086 * 2000 / 177;
        let queued = congested(per_step);
        assert!((bound - 2 * 1086..=bound).contains(&queued), "{queued} {bound}");
    }
}

/// Equation 4 divides the bound, a PFC threshold of 40 KB, by the number of congested queues. One
/// packet of 1,086 B arrived in the last 2 us, so one more is expected within 2 N d = 2 us. The
/// remaining 38,914 B hold 35 packets. Half of the bound, less one packet, is 18,914 B and holds 17
/// packets.
#[test]
fn equation_4_divides_by_the_congested_queues() {
    let congested = |beside: bool| {
        let mut switch = with_equation_4(40_000);
        // Both queues are paused, so that they do not shrink, and they do not grow for a while
        // before the test.
        switch.arrive_pfc(100 * NS, 0, &[3], u16::MAX);
        switch.arrive_pfc(100 * NS, 1, &[3], u16::MAX);
        let packets_beside = if beside { 45 } else { 0 };
        for nth in 0..packets_beside {
            switch.arrive_data((1000 + 2000 * nth) * NS, 4, 2, 1);
        }
        for nth in 0..60 {
            arrive(&mut switch, 200_000 + 8000 * nth, &[0]);
            if notices(&mut switch, 200_001 + 8000 * nth).iter().any(|(.., flow, _)| *flow == 0) {
                return nth;
            }
        }
        u64::MAX
    };
    assert_eq!([congested(false), congested(true)], [35, 17]);
}

/// As above, one packet arrived in the last 2 us before the 36th packet exceeded the bound of 40
/// KB. From 4 us after the 36th packet on, one packet leaves every 86.88 ns, and 2 N d is 2 us.
/// When packet n leaves, n - 1 packets of 1,086 B have left within 4 us + (n - 1) x 86.88 ns. At
/// this average rate, 8.43 packets leave in 2 us when n = 28, and only 8 packets wait. When n = 27,
/// 8.22 packets leave in 2 us, and 9 packets wait.
#[test]
fn equation_4_clears_a_queue_that_is_about_to_be_empty() {
    let mut switch = with_equation_4(40_000);
    switch.arrive_pfc(100 * NS, 0, &[3], u16::MAX);
    for nth in 0..36 {
        arrive(&mut switch, 200_000 + 8000 * nth, &[0]);
    }
    assert_eq!(notices(&mut switch, 480_001), [(480_000, 3, 0, true)]);
    switch.arrive_pfc(484_000 * NS, 0, &[3], 0);
    let cleared = switch.next_notice(500_000 * NS).unwrap();
    assert_eq!((cleared.1, cleared.2, cleared.3), (3, 0, 0));
    assert_eq!(switch.port(0).queued_bytes(), 8 * 1086);
}

/// Three flows of hosts 0 to 2 take one uplink, because the other uplink is down, and the queue
/// exceeds K. Depending on the options, flows are isolated, or hosts are only notified, or neither.
/// A notice leaves through the host's port. Then the other uplink recovers, and the congested
/// uplink fails. The congestion is then over, although no packet leaves the queue.
#[test]
fn an_edge_isolates_for_its_own_uplinks() {
    for (own_uplinks, isolated, notified) in
        [(OwnUplinks::Isolate, 1, 1), (OwnUplinks::Notify, 0, 1), (OwnUplinks::Ignore, 0, 0)]
    {
        let spec = leaf_spine(FlbConfig { own_uplinks, ..fixed() });
        let flows = vec![flow(0, 3, 1 << 20, 0), flow(1, 4, 1 << 20, 0), flow(2, 5, 1 << 20, 0)];
        let mut edge = Script::new(&spec, flows, 6);
        edge.link_change(500 * NS, 4, false);
        for nth in 0..5 {
            edge.arrive_data(1000 * NS, nth % 3, u32::from(nth % 3), 1 + u32::from(nth / 3));
        }
        let sent = notices(&mut edge, 1001);
        assert_eq!(sent, [(1000, 1, 1, true)].repeat(notified).as_slice(), "{own_uplinks:?}");
        assert_eq!(count(&mut edge, 1001, "isolated_flows"), isolated, "{own_uplinks:?}");
        edge.link_change(1050 * NS, 4, true);
        edge.link_change(1060 * NS, 3, false);
        let sent = notices(&mut edge, 1500);
        assert!(sent.len() == notified && sent.iter().all(|cnm| matches!(cnm, (1060..1080, 1, 1, false))), "{sent:?}");
        assert_eq!(count(&mut edge, 1500, "isolated_flows"), 0, "{own_uplinks:?}");
    }
}

/// Returns a leaf with three uplinks, and six flows from hosts 0 to 2 to hosts 3 to 5, two per
/// host.
fn three_uplinks(config: FlbConfig) -> Script {
    let mut spec = leaf_spine(config);
    spec.nodes = NetworkSpec::with_nodes(6, 5).nodes;
    spec.links.extend([(6, 10), (7, 10)].map(|(leaf, spine)| link(leaf, spine, 100, 1000)));
    spec.congestion = CongestionConfig::None(Default::default());
    let flows = (0..6).map(|nth| flow(nth % 3, 3 + nth % 3, 1 << 20, 0)).collect();
    Script::new(&spec, flows, 6)
}

/// Flow 0 keeps its first uplink. A new flow takes the same uplink, because this uplink was chosen
/// least recently; later packets of flow 0 do not count as choices.
#[test]
fn flows_take_turns_and_not_packets() {
    let mut edge = three_uplinks(FlbConfig::default());
    let mut uplink = |at, flow, psn| uplink_at(&mut edge, at, flow, psn);
    let first = uplink(1000, 0, 0);
    assert!(uplink(2000, 1, 0) != first && uplink(3000, 2, 0) != first);
    assert_eq!([1, 2].map(|psn| uplink(3000 + 1000 * u64::from(psn), 0, psn)), [first; 2]);
    assert_eq!(uplink(6000, 3, 0), first);
}

/// The report counts the largest tables. The flow table has three flows. After these are forgotten,
/// the table has four flows. Two flows are congested one after the other, so the greatest number of
/// congested flows is one.
#[test]
fn the_largest_tables_are_counted() {
    let mut edge = three_uplinks(FlbConfig { flow_timeout: Duration::from_us(10), ..FlbConfig::default() });
    let arrivals =
        [(1000, &[0][..], 1), (1100, &[1], 2), (1200, &[2], 3), (100_000, &[3, 4], 3), (102_000, &[5, 0], 4)];
    for (at, flows, most) in arrivals {
        for flow in flows {
            edge.arrive_data(at * NS, (flow % 3) as u16, *flow, 0);
        }
        assert_eq!(edge.counted("flow_entries"), most, "{at}");
    }
    for (flow, is_congested) in [(0, 1), (0, 0), (5, 1)] {
        edge.arrive_notice(103_000 * NS, 3, flow, Protocol::named("flb"), [is_congested, 1, 0, 0]);
    }
    assert_eq!(["isolated_flows", "isolation_entries"].map(|name| edge.counted(name)), [2, 1]);
}

/// Flows 0 and 3 have an isolation path each. The flow table forgets both flows after 10 us without
/// packets. The isolation table, which is checked every millisecond, still has both flows, so each
/// flow returns to its isolation path.
#[test]
fn a_congested_flow_comes_back_to_its_own_path() {
    let (flow_timeout, check_period) = (Duration::from_us(10), Some(Duration::from_ms(1)));
    let mut edge = three_uplinks(FlbConfig { flow_timeout, check_period, ..FlbConfig::default() });
    for flow in [0, 3] {
        edge.arrive_notice(1000 * NS, 3, flow, Protocol::named("flb"), [1, 1, 0, 0]);
    }
    let own = [0, 3].map(|flow| uplink_at(&mut edge, 2000 + 1000 * u64::from(flow), flow, 0));
    assert_ne!(own[0], own[1]);
    for psn in 1..20 {
        let at = 40_000 * u64::from(psn);
        assert_eq!([0, 3].map(|flow| uplink_at(&mut edge, at + 1000 * u64::from(flow), flow, psn)), own);
    }
}

/// The link of the isolation path fails. The congested flow gets another path of its own at once,
/// and all other flows take the third. After the failure of another link, no path is isolated any
/// more, and flow 0 shares its path with the other flows.
#[test]
fn another_path_is_isolated_when_the_first_one_fails() {
    let mut edge = three_uplinks(FlbConfig::default());
    let mut uplink = one_by_one();
    let first = [0, 1, 2].map(|flow| uplink(&mut edge, flow, 0));
    edge.arrive_notice(4600 * NS, first[0], 0, Protocol::named("flb"), [1, 1, 0, 0]);
    assert_eq!(uplink(&mut edge, 0, 1), first[0]);
    edge.link_change(5600 * NS, first[0], false);
    assert_eq!(count(&mut edge, 5600, "isolation_paths"), 0);
    let second = uplink(&mut edge, 0, 2);
    assert_ne!(second, first[0]);
    let third = 12 - first[0] - second;
    assert_eq!(count(&mut edge, 6600, "isolation_paths"), 1);
    assert_eq!([1, 2, 4].map(|flow| uplink(&mut edge, flow, 1)), [third; 3]);
    edge.link_change(9600 * NS, third, false);
    assert_eq!([0, 1].map(|flow| uplink(&mut edge, flow, 3)), [second; 2]);
}

/// Returns the uplink that a packet which arrives at `at`, in ns, takes.
fn uplink_at(edge: &mut Script, at: u64, flow: u32, psn: u32) -> u16 {
    edge.arrive_data(at * NS, (flow % 3) as u16, flow, psn);
    edge.next_data((at + 500) * NS).map(|(port, ..)| port).unwrap()
}

/// Returns a function that handles packets which arrive 1 us apart, from 2 us on, and returns their
/// uplinks.
fn one_by_one() -> impl FnMut(&mut Script, u32, u32) -> u16 {
    let mut at = 1000;
    move |edge, flow, psn| {
        at += 1000;
        uplink_at(edge, at, flow, psn)
    }
}

/// Closes these uplinks with PAUSE frames.
fn stop(edge: &mut Script, at: u64, uplinks: &[u16]) {
    for uplink in uplinks {
        edge.arrive_pfc(at * NS, *uplink, &[3], u16::MAX);
    }
}

/// Opens, by RESUME frames, all uplinks of the leaf except `stopped`.
fn open_all_but(edge: &mut Script, at: u64, stopped: u16) {
    for uplink in (3..6).filter(|uplink| *uplink != stopped) {
        edge.arrive_pfc(at * NS, uplink, &[3], 0);
    }
}

/// Returns the bytes queued at each of the leaf's three uplinks.
fn waiting(edge: &Script) -> [u64; 3] {
    [3, 4, 5].map(|uplink| edge.port(uplink).queued_bytes())
}

/// Five packets of flow 0 arrive together. The last packet waits for the other four. The first
/// packet has 16 B more and is on the wire, so the wait is 89.76 + 3 x 88.48 = 355.2 ns. The next
/// packet changes its uplink if it follows at least 355.2 ns later.
#[test]
fn the_queue_at_the_uplink_counts_as_the_last_packet_found_it() {
    for (stamp, gap, moves) in [
        (StampPoint::DepartureAndQueue, 355, false),
        (StampPoint::DepartureAndQueue, 356, true),
        (StampPoint::Departure, 356, false),
    ] {
        let mut edge = three_uplinks(FlbConfig { stamp, ..FlbConfig::default() });
        edge.arrive_each(2000 * NS, 0, 0, 0, 0..5);
        let full = waiting(&edge).iter().position(|bytes| *bytes == 4 * 1086).unwrap();
        edge.arrive_data((2000 + gap) * NS, 0, 0, 5);
        let sixth = edge.next_data(10_000 * NS).map(|(uplink, ..)| usize::from(uplink) - 3);
        let uplinks: Vec<_> =
            std::iter::successors(sixth, |_| edge.next_data(10_000 * NS).map(|(port, ..)| usize::from(port) - 3))
                .collect();
        assert_eq!(uplinks.iter().any(|uplink| *uplink != full), moves, "{stamp:?} {gap}");
    }
}

/// All uplinks have been paused for 500 ns when a packet of flow 0 joins the queue of its uplink.
/// The pauses are expected to last another 500 ns. This uplink opens after 250 ns. When flow 0's
/// next packet arrives, 38.48 ns of the first packet's wait remain. At the other uplinks, the next
/// packet would wait 264.44 ns: less than the first packet's expected wait, but more than the wait
/// at its own uplink.
#[test]
fn flows_do_not_move_to_a_longer_wait() {
    let mut edge = three_uplinks(FlbConfig::default());
    let [own, ..] = [0, 1, 2].map(|flow| uplink_at(&mut edge, 500 + 500 * u64::from(flow), flow, 0));
    stop(&mut edge, 2500, &[3, 4, 5]);
    edge.arrive_data(3000 * NS, 0, 0, 1);
    open_all_but(&mut edge, 3001, own);
    edge.arrive_pfc(3250 * NS, own, &[3], 0);
    for (flow, psn) in [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)] {
        edge.arrive_data(3299 * NS, flow as u16, flow, psn);
    }
    edge.arrive_data(3300 * NS, 0, 0, 2);
    assert_eq!(waiting(&edge).iter().sum::<u64>(), 5 * 1086);
    assert_eq!(waiting(&edge)[usize::from(own) - 3], 1086);
}

/// Flow 0's first packet finds an idle uplink. The flow's second packet arrives 1,327,200 ps later.
/// A packet of flow 2 then needs this uplink for another 33,577 of its 89,760 ps, and the other
/// uplink is idle. Only the rule `FasterThanLast` keeps the flow at its uplink, because no delay is
/// below the first packet's delay of 0.
#[test]
fn a_packet_leaves_a_path_that_has_become_slower() {
    let (first, second) = (1_000_000, 1_000_000 + 1_327_200);
    for (rerouting, moves) in
        [(Rerouting::KeepOrder, true), (Rerouting::AsPrinted, true), (Rerouting::FasterThanLast, false)]
    {
        let mut edge = Script::new(&leaf_spine(FlbConfig { rerouting, ..Default::default() }), outward(), 6);
        edge.arrive_data(first, 0, 0, 0);
        let (own, ..) = edge.next_data(first + 500 * NS).unwrap();
        edge.arrive_data(first + 500 * NS, 1, 1, 0);
        let (other, ..) = edge.next_data(first + 700 * NS).unwrap();
        assert_ne!(own, other);
        edge.arrive_data(second + 33_577 - 89_760, 2, 2, 0);
        edge.arrive_data(second, 0, 0, 1);
        let uplinks = [2, 0].map(|flow| {
            let (uplink, sent, _) = edge.next_data(second + 500 * NS).unwrap();
            assert_eq!(sent, flow);
            uplink
        });
        assert_eq!(uplinks, [own, if moves { other } else { own }], "{rerouting:?}");
    }
}

/// All uplinks have been paused for 500 ns when a packet of flow 0 joins the empty queue of its
/// uplink. This uplink is expected to stay closed for another 500 ns. The other uplinks open. The
/// flow's next packet moves to another uplink if it follows more than 500 ns later. New flows take
/// the other uplinks at once.
#[test]
fn a_paused_uplink_counts_for_as_long_as_its_pause() {
    for (gap, moves) in [(500, 0), (501, 1)] {
        let mut edge = three_uplinks(FlbConfig::default());
        edge.arrive_data(1000 * NS, 0, 0, 0);
        let (stopped, ..) = edge.next_data(1500 * NS).unwrap();
        stop(&mut edge, 1500, &[3, 4, 5]);
        edge.arrive_data(2000 * NS, 0, 0, 1);
        open_all_but(&mut edge, 2001, stopped);
        edge.arrive_data((2000 + gap) * NS, 0, 0, 2);
        assert_eq!(waiting(&edge)[usize::from(stopped) - 3], (2 - moves) * 1086, "{gap}");
        for flow in 1..6 {
            assert_ne!(uplink_at(&mut edge, 3000 + 500 * u64::from(flow), flow, 0), stopped);
        }
    }
}

/// Flows 0 and 3 share an uplink. All uplinks are paused for 300 ns, four packets of flow 3 arrive,
/// and the other uplinks open. Flow 0 becomes congested, so that its next packet isolates the path.
/// Flow 3 leaves the path at once, or in order: when its next packet arrives after the expected
/// wait of the flow's last packet. For the packet at 3,000 ns, this wait is 3 x 88.48 + 300 ns. For
/// the packet at 3,565 ns, if this packet stays, the wait is 5 x 88.48 + 865 ns. Flow 1 also
/// becomes congested, and moves to the isolated path by the same rule.
#[test]
fn flows_move_in_order_if_configured() {
    for (moves, stays) in [(Moves::AtOnce, 0), (Moves::InOrder, 1)] {
        let mut edge = three_uplinks(FlbConfig { moves, ..FlbConfig::default() });
        let uplinks = [0, 1, 2, 3].map(|flow| {
            let at = 1000 + 500 * u64::from(flow);
            edge.arrive_data(at * NS, (flow % 3) as u16, flow, 0);
            edge.next_data((at + 100) * NS).unwrap().0
        });
        assert_eq!(uplinks[0], uplinks[3]);
        let waits = |edge: &mut Script, uplink: u16, at: u64, flow: u32, psn: u32| {
            edge.arrive_data(at * NS, (flow % 3) as u16, flow, psn);
            waiting(edge)[usize::from(uplink) - 3] / 1086
        };
        let [isolated, other, ..] = uplinks;
        stop(&mut edge, 2700, &[3, 4, 5]);
        assert_eq!([1, 2, 3, 4].map(|psn| waits(&mut edge, isolated, 3000, 3, psn)), [1, 2, 3, 4]);
        open_all_but(&mut edge, 3001, isolated);
        let congested = |edge: &mut Script, at: u64, flow| {
            edge.arrive_notice(at * NS, uplinks[2], flow, Protocol::named("flb"), [1, 2, 0, 0]);
        };
        congested(&mut edge, 3100, 0);
        assert_eq!(waits(&mut edge, isolated, 3100, 0, 1), 5);
        assert_eq!(waits(&mut edge, isolated, 3565, 3, 5), 5 + stays, "{moves:?}");
        assert_eq!(waits(&mut edge, isolated, 3565 + 1308, 3, 6), 5 + stays, "{moves:?}");
        edge.arrive_pfc(4900 * NS, isolated, &[3], 0);
        stop(&mut edge, 6000, &[other, uplinks[2]]);
        assert_eq!([1, 2, 3].map(|psn| waits(&mut edge, other, 6100, 1, psn)), [1, 2, 3]);
        edge.arrive_pfc(6101 * NS, uplinks[2], &[3], 0);
        congested(&mut edge, 6200, 1);
        // Packets of flow 1 wait for 2 x 88.48 + 100 ns, then for 3 x 88.48 + 360 ns.
        assert_eq!(waits(&mut edge, other, 6360, 1, 4), 3 + stays, "{moves:?}");
        assert_eq!(waits(&mut edge, other, 6360 + 626, 1, 5), 3 + stays, "{moves:?}");
    }
}

/// Six flows take three uplinks in turn. Notices report flows 0 and 3, which share an uplink, as
/// congested at two different ports. Two isolation paths are needed, so flow 3 gets a second path.
/// The third path remains for all other flows.
#[test]
fn a_second_root_opens_a_second_path() {
    let mut edge = three_uplinks(FlbConfig::default());
    let mut uplink = one_by_one();
    let first = [0, 1, 2, 3, 4, 5].map(|flow| uplink(&mut edge, flow, 0));
    assert!(first[0] == first[3] && first[0] != first[1]);
    for flow in [0, 3] {
        edge.arrive_notice(7600 * NS, first[0], flow, Protocol::named("flb"), [1, 1, 0, 0]);
    }
    let [mine, other] = [0, 3].map(|flow| uplink(&mut edge, flow, 1));
    assert!(mine == first[0] && other != mine, "{mine} {other}");
    assert_eq!([0, 3].map(|flow| uplink(&mut edge, flow, 2)), [mine, other]);
    assert_eq!([1, 2, 4, 5].map(|flow| uplink(&mut edge, flow, 1)), [12 - mine - other; 4]);
}

/// With `spread = "per-packet"`, packets of congested flows take the two isolation paths about
/// equally often, and never the third path.
#[test]
fn packets_take_any_isolation_path_if_configured() {
    let mut edge = three_uplinks(FlbConfig { spread: Spread::PerPacket, ..FlbConfig::default() });
    let mut uplink = one_by_one();
    let first = [0, 1, 2, 3].map(|flow| uplink(&mut edge, flow, 0));
    for flow in [0, 3] {
        edge.arrive_notice(5600 * NS, first[0], flow, Protocol::named("flb"), [1, 1, 0, 0]);
    }
    let [mine, other] = [0, 3].map(|flow| uplink(&mut edge, flow, 1));
    assert_ne!(mine, other);
    let taken: Vec<u16> = (2..402).map(|psn| uplink(&mut edge, 0, psn)).collect();
    let counts = [mine, other].map(|port| taken.iter().filter(|taken| **taken == port).count());
    // Each path has 200 of 400 packets on average. The tolerance is five standard deviations of 10.
    assert!(counts[0] + counts[1] == 400 && counts[0].abs_diff(200) < 50, "{counts:?}");
}

/// Flow 0 is reported as congested, but no clear notice arrives. Its last packet arrives at 2 us.
/// The first check of the table more than 10 us later removes the flow and its isolation path.
/// Checks are 4 us apart, from the notice at 1 us on.
#[test]
fn a_flow_whose_clear_notice_is_lost_is_forgotten() {
    let (flow_timeout, check_period) = (Duration::from_us(10), Some(Duration::from_us(4)));
    let mut spec = leaf_spine(FlbConfig { flow_timeout, check_period, ..FlbConfig::default() });
    spec.congestion = CongestionConfig::None(Default::default());
    let mut edge = Script::new(&spec, vec![flow(0, 3, 1 << 20, 0)], 6);
    edge.arrive_notice(1000 * NS, 3, 0, Protocol::named("flb"), [1, 1, 0, 0]);
    edge.arrive_data(2000 * NS, 0, 0, 0);
    for (until, left) in [(12_999, 1), (13_001, 0)] {
        assert_eq!(notices(&mut edge, until), []);
        assert_eq!(
            ["isolated_flows", "isolation_paths"].map(|name| count(&mut edge, until, name)),
            [left; 2],
            "{until}"
        );
    }
}

/// Flows 0 and 2 share an uplink, and flow 1 has the other uplink. A notice reports flow 0 as
/// congested. The flow's next packet isolates the path, and the next packet of flow 2 moves to the
/// other uplink. After a clear notice for flow 0, other flows may use its path again, and a new
/// flow does.
#[test]
fn an_uncongested_flow_leaves_an_isolation_path() {
    let mut spec = leaf_spine(FlbConfig::default());
    spec.congestion = CongestionConfig::None(Default::default());
    let flows = (0..6).map(|nth| flow(nth % 3, 3 + nth % 3, 1 << 20, 0)).collect();
    let mut edge = Script::new(&spec, flows, 6);
    let mut uplink = one_by_one();
    let [mine, other, shared] = [0, 1, 2].map(|flow| uplink(&mut edge, flow, 0));
    assert!(mine == shared && mine != other);
    edge.arrive_notice(4500 * NS, other, 0, Protocol::named("flb"), [1, 4, 0, 0]);
    // The switch does not forward the notice, because the host does not support notices.
    assert_eq!(uplink(&mut edge, 2, 1), mine);
    assert_eq!(uplink(&mut edge, 0, 1), mine);
    assert_eq!([2, 1, 3].map(|flow| uplink(&mut edge, flow, 2)), [other; 3]);
    edge.arrive_notice(9500 * NS, other, 0, Protocol::named("flb"), [0; 4]);
    assert_eq!([4, 5].map(|flow| uplink(&mut edge, flow, 0)), [mine, other]);
}
