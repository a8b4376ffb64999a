//! MP-RDMA in networks with 2 leaves. Hosts have links of 100 Gb/s, and every link has a delay of 1
//! us. A full packet has 1,106 B on the wire and carries 1,024 B.

use crate::prelude::*;
use backwater_fabric::contract::AnswerPath;
use backwater_fabric::mechanisms::congestion::mp_rdma::{MarkConfig, MpRdmaConfig};
use backwater_fabric::mechanisms::headroom::egress::EgressConfig;

/// Returns two leaves with `hosts` hosts each, and one spine per entry of `uplinks`. An entry is
/// the rate of the spine's links, in Gb/s.
fn leaf_spine(hosts: u32, uplinks: &[u64]) -> NetworkSpec {
    let mut spec = fixtures::leaf_spine(2, hosts, uplinks.len() as u32);
    for (link, gbps) in spec.links.iter_mut().skip(2 * hosts as usize).zip(uplinks.iter().cycle()) {
        link.rate = Rate::from_gbps(*gbps);
    }
    with(spec, MpRdmaConfig::default())
}

fn with(spec: NetworkSpec, config: MpRdmaConfig) -> NetworkSpec {
    let recovery = RecoveryConfig::MpRdma(Default::default());
    NetworkSpec { congestion: CongestionConfig::MpRdma(config), recovery, ..spec }
}

fn endless(src: u32, dst: u32) -> FlowSpec {
    flow(src, dst, FlowSpec::ENDLESS, u64::from(src) * 700)
}

/// Measures between two instants. Rates are in Gb/s on the wire.
#[derive(Debug)]
struct Measures {
    /// Rate of each flow at its receiver.
    flows: Vec<f64>,
    /// Rate of each uplink of the first leaf.
    uplinks: Vec<f64>,
    /// Payload bytes retransmitted.
    resent: u64,
    pauses: u64,
}

fn watch(spec: &NetworkSpec, flows: Vec<FlowSpec>, [from, to]: [u64; 2]) -> Measures {
    let mut simulation = Simulation::new(spec.clone(), flows, 1).unwrap();
    let leaf = NodeId(spec.links[0].b.0);
    let hosts = spec.links.iter().filter(|link| link.b == leaf).count();
    let mut at = |ms| {
        simulation.run_until(Time::ZERO + Duration::from_ms(ms), 1);
        let outcomes = simulation.outcomes();
        let flows: Vec<_> = outcomes.iter().map(|outcome| outcome.reception.delivered * 1106 / 1024).collect();
        let ports = simulation.node(leaf).ports().iter().skip(hosts);
        let uplinks: Vec<_> = ports.map(|port| port.sent_wire_bytes()).collect();
        let resent = outcomes.iter().map(|outcome| outcome.retransmitted).sum::<u64>();
        assert_eq!(simulation.totals().drops, [0; 5]);
        assert_eq!(simulation.audit(), []);
        (flows, uplinks, resent, simulation.totals().pause_frames)
    };
    let (before, after) = (at(from), at(to));
    let rates = |before: &[u64], after: &[u64]| {
        let bytes = before.iter().zip(after).map(|(before, after)| after - before);
        bytes.map(|bytes| bytes as f64 * 8e-6 / (to - from) as f64).collect()
    };
    Measures {
        flows: rates(&before.0, &after.0),
        uplinks: rates(&before.1, &after.1),
        resent: after.2 - before.2,
        pauses: after.3 - before.3,
    }
}

/// A flow uses four uplinks of 40 Gb/s. Three would be enough, and no uplink is full.
#[test]
fn a_flow_alone_fills_its_line_over_several_paths() {
    let spec = leaf_spine(1, &[40; 4]);
    let seen = watch(&spec, vec![endless(0, 1)], [1, 3]);
    assert!(seen.flows[0] > 99.0 && (seen.resent, seen.pauses) == (0, 0), "{seen:?}");
    assert!(seen.uplinks.iter().all(|rate| (10.0..40.0).contains(rate)), "{seen:?}");
    // Every byte of a finite flow arrives once. 2 MB with headers take 173 us at line rate, and the
    // last packet takes another 4.5 us to the receiver.
    let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 2_000_000, 0)]);
    assert_eq!((outcomes[0].reception.delivered, outcomes[0].retransmitted), (2_000_000, 0));
    assert_eq!((simulation.audit(), simulation.is_quiet()), (vec![], true));
    let finish = outcomes[0].reception.finish.unwrap().ps() / 1_000_000;
    assert!((173..185).contains(&finish), "{finish} us");
}

/// All hosts of a leaf send to one host of the other leaf over four uplinks. Marks bound the queue
/// of that host's port, and no PAUSE is sent.
#[test]
fn congested_senders_share_fairly() {
    for senders in [2u32, 4] {
        let spec = leaf_spine(senders, &[100; 4]);
        let flows = (0..senders).map(|src| endless(src, senders)).collect();
        let seen = watch(&spec, flows, [5, 40]);
        let fair = 100.0 / f64::from(senders);
        assert!(seen.flows.iter().all(|rate| (rate / fair - 1.0).abs() < 0.1), "{seen:?}");
        assert!(seen.flows.iter().sum::<f64>() > 99.0 && (seen.resent, seen.pauses) == (0, 0), "{seen:?}");
    }
}

/// Two hosts of 100 Gb/s each share uplinks of 100 and 25 Gb/s. With thresholds scaled by port
/// rate, packets are delayed about equally on both uplinks. With equal thresholds, a queue at the
/// slow port delays packets by 14 us more, and some packets arrive too late for the receiver's
/// bitmap. If every packet takes a random path, half of the packets arrive too late, and each of
/// these removes a packet from the window.
#[test]
fn a_slow_path_gets_its_share() {
    let watch = |rate, probing| {
        let ecn = MarkConfig { rate, ..Default::default() };
        let spec = with(leaf_spine(2, &[100, 25]), MpRdmaConfig { ecn, probing, ..Default::default() });
        let seen = watch(&spec, vec![endless(0, 2), endless(1, 3)], [2, 12]);
        assert_eq!(seen.pauses, 0, "{seen:?}");
        seen.uplinks
    };
    let (scaled, fixed) = (watch(Some(Rate::from_gbps(100)), 0.01), watch(None, 0.01));
    assert!(scaled[0] > 99.0 && scaled[1] > 24.5, "{scaled:?}");
    assert!(fixed[0] > 99.0 && (20.0..24.5).contains(&fixed[1]), "{fixed:?}");
    let random = watch(None, 1.0);
    assert!(random[0] < 40.0 && random[1] < 25.0, "{random:?}");
}

/// h1's flow is pinned to the first of two spines, and h0's flow yields on that path. A flow under
/// ECMP cannot yield if its hash selects the same spine.
#[test]
fn a_flow_yields_to_a_pinned_flow() {
    let spec = leaf_spine(2, &[100; 2]);
    let pinned = endless(1, 3).via([4, 6, 5].map(NodeId).to_vec(), vec![]);
    let seen = watch(&spec, vec![endless(0, 2), pinned], [2, 6]);
    assert!(seen.flows[0] > 95.0 && seen.flows[1] > 95.0 && seen.pauses == 0, "{seen:?}");
}

/// Eight flows over eight spines take about as long as each flow alone. 2 MB with headers take 173
/// us.
#[test]
fn flows_share_the_spines_evenly() {
    let flows = (0..8).map(|host| flow(host, 8 + host, 2_000_000, 0)).collect();
    let (_, outcomes) = run(&leaf_spine(8, &[100; 8]), flows);
    let last = last_finish(&outcomes).ps() / 1_000_000;
    assert!(last < 225, "{last} us");
}

/// Without flow control and with a small buffer, packets are lost. Every recovery repeats lost
/// packets, and every byte is delivered.
#[test]
fn every_flow_finishes_although_packets_are_lost() {
    for recovery in [
        RecoveryConfig::MpRdma(Default::default()),
        RecoveryConfig::InAnyOrder(Default::default()),
        RecoveryConfig::Irn(Default::default()),
    ] {
        let mut spec = leaf_spine(4, &[100; 4]);
        spec.switch.flow_control = common::no_flow_control();
        spec.switch.lossless = vec![];
        spec.switch.buffer = Bytes(60_000);
        spec.switch.headroom = HeadroomConfig::Egress(EgressConfig { alpha: 1.0 });
        spec.recovery = recovery;
        let sizes = [1, 1000, 50_000, 300_000, 2_000_000];
        let flows = (0..20u32).map(|i| flow(i % 4, 4 + i % 2, sizes[i as usize % 5], u64::from(i) * 300));
        let flows: Vec<_> = flows.collect();
        let (simulation, outcomes) = run(&spec, flows);
        let name = spec.recovery.name();
        assert!(simulation.totals().drops.iter().sum::<u64>() > 100, "{name}");
        assert!(all_delivered(&outcomes), "{name}");
        assert_eq!((simulation.audit(), simulation.is_quiet()), (vec![], true), "{name}");
        // With `in-any-order`, which has no selective repeat, a timeout also repeats packets that
        // arrived after the lost packet, and repeated packets are lost again.
        let last = last_finish(&outcomes);
        assert!(last < Time::ZERO + Duration::from_ms(60) || name == "in-any-order", "{name}: {last}");
    }
}

/// One of four uplinks fails for 2 ms during a flow of 20 MB, and routes do not change. Packets on
/// this uplink are lost; later only an occasional probe is lost. The receiver requests lost
/// packets, and the sender repeats them along another path.
#[test]
fn a_flow_leaves_a_failed_path() {
    let finish = |is_broken: bool, config: MpRdmaConfig| {
        let mut spec = with(leaf_spine(1, &[100; 4]), config);
        if is_broken {
            spec.faults = vec![LinkFault { link: 2, down: at_us(100), up: at_us(2100) }];
        }
        spec.switch.flow_control = common::no_flow_control();
        spec.switch.headroom = HeadroomConfig::Egress(EgressConfig { alpha: 0.01 });
        let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 20_000_000, 0)]);
        assert_eq!((outcomes[0].reception.delivered, simulation.audit()), (20_000_000, vec![]));
        assert_eq!(outcomes[0].retransmitted > 0, is_broken);
        outcomes[0].reception.finish.unwrap().ps() / 1_000_000
    };
    let still = MpRdmaConfig { probing: 0.0, ..Default::default() };
    let whole = finish(false, still.clone());
    assert!((1728..1745).contains(&whole), "{whole} us");
    let broken = finish(true, still);
    assert!(broken < whole + 100, "{broken} us");
    let probing = finish(true, MpRdmaConfig::default());
    assert!(probing > broken, "{probing} us");
}

/// Four flows of 8 MB use four spines. The link between a leaf and a spine fails for 50 us. Routes
/// avoid the link after 10 us, or never. A flow that loses all its ACKs stops until its timer fires
/// after 8 ms. ACKs spread over the spines, so no flow loses all its ACKs in these runs. With other
/// seeds and unchanged routes some flows lose all their ACKs, as docs/mechanisms/mp-rdma.md shows.
#[test]
fn a_failed_link_stops_no_flow_for_its_timeout() {
    for reconvergence in [None, Some(Duration::from_us(10))] {
        for link in 8..16 {
            let mut spec = leaf_spine(4, &[100; 4]);
            spec.faults = vec![LinkFault { link, down: at_us(200), up: at_us(250) }];
            spec.reconvergence = reconvergence;
            let flows = (0..4).map(|host| flow(host, 4 + host, 8_000_000, 0)).collect();
            let (_, outcomes) = run(&spec, flows);
            let ends: Vec<_> = outcomes.iter().map(|it| it.acknowledged.unwrap().ps() / 1_000_000).collect();
            assert!(ends.iter().all(|us| *us < 2000), "{reconvergence:?} {link}: {ends:?}");
        }
    }
}

/// A flow uses four spines, and the links to one of them take 10 us longer. The bitmap has no room
/// for all packets that overtake a packet on this path. The flow leaves the spine after the first
/// window and then sends only probes through it. Each probe causes some hundred retransmissions.
#[test]
fn a_flow_leaves_a_path_that_takes_too_long() {
    for ack_path in [AnswerPath::Echoed, AnswerPath::Reverse] {
        let watch = |probing| {
            let mut spec = with(leaf_spine(1, &[100; 4]), MpRdmaConfig { probing, ack_path, ..Default::default() });
            for link in [5, 9] {
                spec.links[link].delay = Duration::from_us(11);
            }
            watch(&spec, vec![endless(0, 1)], [1, 6])
        };
        let (still, probing) = (watch(0.0), watch(MpRdmaConfig::default().probing));
        assert!(still.flows[0] > 99.0 && (still.resent, still.uplinks[3]) == (0, 0.0), "{ack_path:?}: {still:?}");
        assert!(probing.flows[0] > 75.0 && probing.resent < 15_000_000, "{ack_path:?}: {probing:?}");
    }
}

/// If ACKs take the reverse routes of packets, each of two spines carries exactly as many ACKs as
/// packets. If the echoed path is hashed, the numbers differ, but each spine carries some ACKs.
#[test]
fn acks_take_the_path_of_their_packets() {
    for (ack_path, is_reverse) in [(AnswerPath::Echoed, false), (AnswerPath::Reverse, true)] {
        let spec = with(leaf_spine(1, &[100; 2]), MpRdmaConfig { ack_path, ..Default::default() });
        let (simulation, outcomes) = run(&spec, vec![flow(0, 1, 2_000_000, 0)]);
        assert_eq!(outcomes[0].retransmitted, 0);
        let carried =
            |leaf: u32, spine: u16| simulation.node(NodeId(leaf)).ports()[PortIx(1 + spine)].sent_wire_bytes();
        for spine in [0, 1] {
            // An ACK has 86 B. One data packet is shorter than the others, and one has 16 B more.
            let (bytes, acks) = (carried(2, spine), carried(3, spine) / 86);
            assert!(acks > 500, "{ack_path:?}");
            assert_eq!((acks * 1106).abs_diff(bytes) < 1106, is_reverse, "{ack_path:?} {spine}: {bytes} {acks}");
        }
    }
}

/// Both packets of a flow are lost. Only the timer, which fires after 8 ms, repeats them.
#[test]
fn a_lost_tail_is_repeated_after_the_timeout() {
    let mut spec = leaf_spine(1, &[100]);
    // The link to the leaf fails during the transmission.
    spec.faults = vec![LinkFault { link: 0, down: at_ns(500), up: at_us(1) }];
    let finish = |recovery| {
        let (_, outcomes) = run(&NetworkSpec { recovery, ..spec.clone() }, vec![flow(0, 1, 2048, 0)]);
        assert_eq!(outcomes[0].retransmitted, 2048);
        outcomes[0].reception.finish.unwrap()
    };
    let own = finish(RecoveryConfig::MpRdma(Default::default()));
    // The timer fires 8 ms after the start of the first packet. That packet then passes four links
    // of 1 us with 1122 B on each, followed by the second packet of 1106 B.
    let path = Duration::from_ps(4 * (1_000_000 + 1122 * 80) + 1106 * 80);
    assert_eq!(own, Time::ZERO + Duration::from_ms(8) + path);
    let timeout = Duration::from_us(500);
    let other = finish(RecoveryConfig::InAnyOrder(InAnyOrderConfig { timeout, ..Default::default() }));
    assert_eq!(other, Time::ZERO + timeout + path);
}

/// Each host has links to two leaves. A flow keeps one of its host's links, and spreads over the
/// spines behind that link.
#[test]
fn a_flow_of_a_host_with_two_links_uses_one_of_them() {
    let mut spec = NetworkSpec::with_nodes(2, 4);
    spec.links = [(0, 2), (0, 3), (1, 2), (1, 3)].map(|(host, leaf)| link(host, leaf, 100, 1000)).to_vec();
    spec.links.extend([(2, 4), (2, 5), (3, 4), (3, 5)].map(|(leaf, spine)| link(leaf, spine, 100, 1000)));
    let (simulation, outcomes) = run(&with(spec, MpRdmaConfig::default()), vec![flow(0, 1, 1_000_000, 0)]);
    assert_eq!((outcomes[0].reception.delivered, outcomes[0].retransmitted), (1_000_000, 0));
    let sent = simulation.node(NodeId(0)).ports().iter().map(|port| port.sent_wire_bytes() > 0);
    assert_eq!(sent.filter(|has_sent| *has_sent).count(), 1);
    assert_eq!(simulation.audit(), []);
}
