//! Hosts that relay: servers of BCube, which forward packets of other servers.

use crate::prelude::*;
use backwater_fabric::mechanisms::flow_control::pfc::Relaying;
use backwater_fabric::network::spec::LinkSpec;
use proptest::prelude::*;

/// Transmission time of a data frame of 1024 B of payload at 100 Gb/s; the first of a flow is 16 B
/// longer.
const FRAME: u64 = 1106 * 80;
/// Propagation time.
const LINK: u64 = 1_000_000;

/// Returns the frames that a node sent by `limit`: start of transmission, port, content and end of
/// transmission.
fn sent_by(script: &mut Script, limit: u64) -> Vec<(u64, u16, Content, u64)> {
    let sent = std::iter::from_fn(|| script.next_sent(limit));
    sent.map(|Sent { at, port, content, done }| (at, port, content, done)).collect()
}

fn thresholds(xoff: u64) -> HeadroomConfig {
    HeadroomConfig::Static(StaticConfig { xoff: Bytes(xoff), ..Default::default() })
}

fn pfc(relays: Relaying) -> FlowControlConfig {
    FlowControlConfig::Pfc(PfcConfig { relays, ..Default::default() })
}

/// The path has four links, two switches and a server between them. All three store and forward,
/// and the server takes another 700 ns.
#[test]
fn a_packet_with_two_digits_to_correct_passes_one_server() {
    for delay in [0, 700_000] {
        let mut spec = bcube(2, 1);
        spec.host.relay.delay = Duration::from_ps(delay);
        let (simulation, outcomes) = run(&spec, vec![flow(0, 3, 1024, 0)]);
        let finish = outcomes[0].reception.finish.unwrap();
        assert_eq!(finish.ps(), 4 * (1122 * 80 + LINK) + delay);
        // The ACK has 86 B, and also passes a server.
        assert_eq!(outcomes[0].acknowledged.unwrap().ps() - finish.ps(), 4 * (86 * 80 + LINK) + delay);
        assert_eq!(simulation.audit(), []);
    }
}

/// h1 relays a packet of h0 and its ACK. The two ACKs that h1 itself sends do not count as relayed.
#[test]
fn own_packets_of_a_host_do_not_count_as_relayed() {
    let flows = vec![via(0, &[4, 1, 7], 3, 1024), flow(0, 1, 1024, 0), flow(3, 1, 1024, 0)];
    let (simulation, _) = run(&bcube(2, 1), flows);
    let ports = simulation.node(NodeId(1)).ports();
    assert_eq!(
        [0, 1].map(|ix| (ports[PortIx(ix)].relayed_wire_bytes(), ports[PortIx(ix)].sent_wire_bytes())),
        [(86, 172), (1122, 1208)]
    );
}

/// The audit finds no error at any instant while a server forwards packets from one port to
/// another.
#[test]
fn the_audit_passes_while_packets_are_forwarded() {
    // Packets of HPCC have a telemetry record, which must be kept during forwarding.
    for congestion in [CongestionConfig::None(Default::default()), CongestionConfig::Hpcc(Default::default())] {
        let mut spec = NetworkSpec { congestion, ..bcube(2, 1) };
        spec.host.relay.delay = Duration::from_us(20);
        let mut simulation = Simulation::new(spec, vec![flow(0, 3, 100_000, 0)], 1).unwrap();
        for step in 1..1000 {
            simulation.run_until(Time::from_ps(step * 100_000), 1);
            assert_eq!(simulation.audit(), []);
        }
        assert_eq!(simulation.outcomes()[0].reception.delivered, 100_000);
    }
}

/// h1's next link is ten times slower than the previous one. Packets are charged on arrival,
/// however long the forwarding takes. Packets that arrive until the PAUSE takes effect fit into the
/// headroom, and their number does not depend on the forwarding time.
#[test]
fn headroom_holds_packets_that_are_being_forwarded() {
    for delay_ns in [0, 100, 500, 1000, 5000, 50_000] {
        let mut spec = bcube(2, 1);
        spec.host.relay.delay = Duration::from_ns(delay_ns);
        spec.host.relay.headroom = Some(thresholds(20_000));
        let behind = spec.links.iter().position(|link| [link.a, link.b].contains(&NodeId(1)) && link.b == NodeId(7));
        spec.links[behind.unwrap()].rate = Rate::from_gbps(10);
        let (simulation, outcomes) = run(&spec, vec![via(0, &[4, 1, 7], 3, 4_000_000)]);
        assert_eq!((simulation.totals().drops, simulation.violations()), ([0; 5], vec![]));
        assert_eq!((outcomes[0].reception.delivered, outcomes[0].retransmitted), (4_000_000, 0));
        assert!(simulation.totals().pause_frames > 0);
        // The headroom holds little more than the packets that arrive within 2 us, the delay of two
        // links.
        let peak = simulation.node(NodeId(1)).switch().unwrap().peak_headroom(PortIx(0), Class(3));
        assert!(peak > 20_000 && peak < 30_000, "{delay_ns} ns: {peak} B");
    }
}

/// A server forwards at 40 Gb/s and receives at 100 Gb/s. Without flow control, packets that wait
/// for forwarding fill the server's buffer at the difference of these rates. The queue of the
/// server's port holds one packet at a time. Under PFC the threshold bounds the number of waiting
/// packets, and the flow runs at 40 Gb/s.
#[test]
fn a_server_forwards_at_its_configured_rate() {
    let run = |flow_control| {
        let mut spec = bcube(2, 1);
        spec.switch.flow_control = flow_control;
        spec.switch.headroom = thresholds(20_000);
        spec.host.relay.headroom =
            Some(thresholds(if spec.switch.flow_control.name() == "none" { 1 << 30 } else { 20_000 }));
        spec.host.relay.rate = Some(Rate::from_gbps(40));
        // ACKs, which would be forwarded as well, take another path.
        let flow = flow(0, 3, 100_000_000, 0).via([4, 1, 7].map(NodeId).to_vec(), [5, 2, 6].map(NodeId).to_vec());
        let mut simulation = Simulation::new(spec, vec![flow], 1).unwrap();
        let mut at = |us| {
            simulation.run_until(at_us(us), 1);
            assert_eq!((simulation.audit(), simulation.totals().drops), (vec![], [0; 5]));
            let server = simulation.node(NodeId(1));
            assert!(server.ports()[PortIx(1)].queued_bytes() <= 1102);
            (simulation.outcomes()[0].reception.delivered, server.switch().unwrap().occupancy().used)
        };
        let (before, after) = (at(200), at(1200));
        (after.0 - before.0, after.1 as i64 - before.1 as i64, after.1)
    };
    // In 1 ms the server forwards 5 MB of charged bytes at 40 Gb/s, of which 1024 in 1086 are
    // payload. On the wire 12.5 MB arrive, of which 1086 in 1106 are charged.
    let (delivered, growth, _) = run(common::no_flow_control());
    assert!((delivered as f64 - 5e6 * 1024.0 / 1086.0).abs() < 3000.0, "{delivered}");
    assert!((growth as f64 - (12.5e6 * 1086.0 / 1106.0 - 5e6)).abs() < 3000.0, "{growth}");
    let (delivered, _, held) = run(pfc(Relaying::Ingress));
    assert!((delivered as f64 - 5e6 * 1024.0 / 1086.0).abs() < 3000.0, "{delivered}");
    assert!(held < 20_000 + 30_000, "{held}");
}

/// Packets that are being forwarded to a dead port are dropped as soon as routes change.
#[test]
fn packets_being_forwarded_to_a_dead_port_are_dropped() {
    // One of the two servers between h0 and h3 relays the flow, and this server's next link fails.
    let lost = [1, 2].map(|server| {
        let mut spec = bcube(2, 1);
        spec.host.relay.delay = Duration::from_us(50);
        spec.reconvergence = Some(Duration::from_us(30));
        let leads_on = |link: &LinkSpec| link.a == NodeId(server) && link.b.0 == [7, 5][server as usize - 1];
        let behind = spec.links.iter().position(leads_on).unwrap();
        spec.faults = vec![LinkFault { link: behind, down: at_us(80), up: Time::NEVER }];
        let mut simulation = Simulation::new(spec, vec![flow(0, 3, 4_000_000, 0)], 1).unwrap();
        drain(&mut simulation);
        assert_eq!((simulation.unfinished().len(), simulation.audit()), (0, vec![]));
        assert!(simulation.is_quiet());
        drops(&simulation, DropCause::LinkDown)
    });
    assert!(lost.iter().any(|lost| *lost > 0), "{lost:?}");
}

/// h1 relays more packets than its port carries. DCQCN marks packets at h1 only if servers are
/// congestion points.
#[test]
fn servers_mark_packets_only_if_configured() {
    let is_slowed = |congestion_point| {
        let mut spec = bcube(2, 1);
        spec.congestion = CongestionConfig::Dcqcn(Default::default());
        spec.host.scheduler = HostScheduler::Fair {};
        spec.host.relay.congestion_point = congestion_point;
        let flows = vec![via(0, &[4, 1, 7], 3, 4_000_000), via(1, &[7], 3, 4_000_000)];
        let (simulation, _) = run(&spec, flows);
        simulation.node(NodeId(1)).switch().unwrap().occupancy().peak < 1_500_000
    };
    assert_eq!([is_slowed(false), is_slowed(true)], [false, true]);
}

/// Neighbours in a layer need no relay.
#[test]
fn a_packet_with_one_digit_to_correct_passes_a_switch_alone() {
    let (_, outcomes) = run(&bcube(3, 1), vec![flow(0, 2, 1024, 0), flow(3, 6, 1024, 0)]);
    for outcome in outcomes {
        assert_eq!(outcome.reception.finish.unwrap().ps(), 2 * (1122 * 80 + LINK));
    }
}

/// Port 0 of a server of BCube(2, 1) is paused and resumed. Port 1 sends the same PFC frames and no
/// others.
#[test]
fn a_pause_is_forwarded_to_the_other_ports() {
    let mut spec = bcube(2, 1);
    spec.switch.flow_control = pfc(Relaying::Forward);
    let mut s = Script::new(&spec, vec![], 1);
    s.arrive_pfc(100, 0, &[3], 65_535);
    let frame = 84 * 80;
    assert_eq!(sent_by(&mut s, 1_000_000), [(100, 1, Content::Pause(vec![3]), 100 + frame)]);
    // A repeated PAUSE is not forwarded; a PAUSE on the other port is.
    s.arrive_pfc(1_000_000, 0, &[3], 65_535);
    s.arrive_pfc(2_000_000, 1, &[3], 65_535);
    assert_eq!(sent_by(&mut s, 3_000_000), [(2_000_000, 0, Content::Pause(vec![3]), 2_000_000 + frame)]);
    s.arrive_pfc(3_000_000, 0, &[3], 0);
    assert_eq!(sent_by(&mut s, 4_000_000), [(3_000_000, 1, Content::Resume(vec![3]), 3_000_000 + frame)]);
    s.arrive_pfc(4_000_000, 1, &[3], 0);
    assert_eq!(sent_by(&mut s, 5_000_000), [(4_000_000, 0, Content::Resume(vec![3]), 4_000_000 + frame)]);
}

/// Servers that count their ingress queues send PAUSEs of their own, but forward no PAUSEs.
#[test]
fn a_server_that_counts_ingress_queues_sends_its_own_pauses() {
    let mut spec = bcube(2, 1);
    spec.switch.flow_control = pfc(Relaying::Ingress);
    spec.host.relay.headroom = Some(thresholds(2000));
    // h1 relays a flow from h0 to h3. Two packets are queued at h1's port 1, whose gate is closed.
    let mut s = Script::new(&spec, vec![via(0, &[4, 1, 7], 3, 10_000)], 1);
    s.arrive_pfc(100, 1, &[3], 65_535);
    s.arrive_data(1_000_000, 0, 0, 0);
    assert_eq!(sent_by(&mut s, 1_500_000), []);
    s.arrive_data(2_000_000, 0, 0, 1);
    let paused = sent_by(&mut s, 3_000_000);
    assert_eq!(paused, [(2_000_000, 0, Content::Pause(vec![3]), 2_000_000 + 84 * 80)]);
}

/// Returns BCube(4, 1), in which h0, h1, h5, h4 and the switches between them form a ring of eight
/// nodes, the shortest cycle.
fn ring_of_eight(relays: Relaying) -> NetworkSpec {
    let mut spec = bcube(4, 1);
    spec.switch.flow_control = pfc(relays);
    spec.switch.headroom = thresholds(30_000);
    spec
}

/// Servers that forward PAUSEs close the ring at the ends of both flows, though no packet is queued
/// there. Eight ports wait for each other. The deadlock arises although h1 and h5 have a third
/// port.
#[test]
fn two_flows_and_a_burst_deadlock_if_pauses_are_forwarded() {
    let mut spec = ring_of_eight(Relaying::Forward);
    spec.nodes.push(NetworkSpec::with_nodes(0, 1).nodes.remove(0));
    spec.links.extend([1, 5].map(|server| link(server, 24, 100, 1000)));
    let mut simulation = Simulation::new(spec, common::two_flows_and_a_burst(), 1).unwrap();
    find_deadlock(&mut simulation, 1, 1000).unwrap();
    // All frames in flight arrive within 100 us.
    simulation.run_until(simulation.now() + Duration::from_us(100), 1);
    let deadlock = simulation.find_deadlock().unwrap();
    let names: Vec<String> = deadlock.cycle.iter().map(|(port, _)| simulation.fabric().port_name(*port)).collect();
    // Ports of a switch are in the order of its servers, and s0 is node 16. Port 0 of a server
    // leads to layer 0 and port 1 to layer 1.
    let ring = ["h0:0", "s0:1", "h1:1", "s5:1", "h5:0", "s1:0", "h4:1", "s4:0"];
    let start = names.iter().position(|name| name == ring[0]).unwrap();
    let turned: Vec<&str> = names[start..].iter().chain(&names[..start]).map(String::as_str).collect();
    assert_eq!(turned, ring);
    // No packet moves any more.
    let at = simulation.now();
    simulation.run_until(at + Duration::from_ms(1), 1);
    let frozen = simulation.totals().packet_hops;
    simulation.run_until(at + Duration::from_ms(2), 1);
    assert_eq!(simulation.totals().packet_hops, frozen);
    assert!(simulation.is_still_dead(&deadlock));
}

/// The traffic of the test above finishes if servers count relayed packets, because packets that
/// end at a server trigger no PAUSE.
#[test]
fn two_flows_and_a_burst_finish_if_servers_count() {
    let mut simulation = Simulation::new(ring_of_eight(Relaying::Ingress), common::two_flows_and_a_burst(), 1).unwrap();
    assert_eq!(find_deadlock(&mut simulation, 1, 1000), None);
    drain(&mut simulation);
    assert_eq!((simulation.unfinished().len(), simulation.totals().drops), (0, [0; 5]));
    assert_eq!(simulation.audit(), []);
}

/// Each of four servers relays a flow and sends another one through the same port.
#[test]
fn four_flows_round_four_servers_deadlock_if_servers_count() {
    let mut spec = ring_of_eight(Relaying::Ingress);
    spec.switch.headroom = thresholds(10_000);
    let mut simulation = Simulation::new(spec, common::four_flows_and_bursts(), 1).unwrap();
    find_deadlock(&mut simulation, 1, 1000).unwrap();
    simulation.run_until(simulation.now() + Duration::from_us(100), 1);
    let deadlock = simulation.find_deadlock().unwrap();
    assert_eq!(deadlock.cycle.len(), 8);
    simulation.run_until(simulation.now() + Duration::from_ms(1), 1);
    assert!(simulation.is_still_dead(&deadlock));
}

/// Returns the bytes delivered after `us` of h0's flow, whose packets reach h1 at line rate, and of
/// h1's own flow through the same port.
fn shares(scheduler: HostScheduler, us: u64) -> (u64, u64) {
    let mut spec = bcube(2, 1);
    spec.host.scheduler = scheduler;
    spec.switch.flow_control = common::no_flow_control();
    spec.switch.buffer = Bytes(1 << 30);
    let flows = vec![via(0, &[4, 1, 7], 3, 100_000_000), via(1, &[7], 3, 100_000_000)];
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    simulation.run_until(at_us(us), 1);
    let delivered = delivered(&simulation);
    (delivered[0], delivered[1])
}

#[test]
fn a_port_is_shared_as_the_host_scheduler_says() {
    // With `relay-first`, own data is sent only until relayed packets arrive after two links.
    let (relayed, own) = shares(HostScheduler::RelayFirst {}, 1000);
    let start = 2 * LINK + 2 * 1122 * 80;
    assert!((start / FRAME..=start / FRAME + 2).contains(&(own / 1024)), "{own}");
    assert!(relayed > 10_000_000);
    // Relayed and own traffic get half of the link each, whether packets or bytes are shared
    // equally. The relayed flow passes four links and the own flow two, so relayed packets reach
    // the receiver later.
    for scheduler in [HostScheduler::Fair {}, HostScheduler::Dwrr { quantum: Bytes(1600) }] {
        let (relayed, own) = shares(scheduler, 1000);
        let ratio = relayed as f64 / own as f64;
        assert!((0.98..1.0).contains(&ratio), "{ratio}");
    }
}

/// Congestion control that paces every flow at half of the line rate.
#[derive(Clone, Debug)]
struct HalfRate;

congestion_control!(
    HalfRate,
    FixedRate: |_options, sender| FixedRate(Rate::from_bps(sender.line_rate.bps() / 2))
);

/// Returns h1 of BCube(2, 1) with a fair scheduler. h1 relays flow 0, and sends data of flow 1 and
/// ACKs of flow 2, all through port 1.
fn fair_port(congestion: CongestionConfig) -> Script {
    let mut spec = NetworkSpec { congestion, ..bcube(2, 1) };
    spec.host.scheduler = HostScheduler::Fair {};
    spec.switch.flow_control = pfc(Relaying::Forward);
    let flows = vec![via(0, &[4, 1, 7], 3, 100_000), via(1, &[7], 3, 100_000), via(3, &[7], 1, 100_000)];
    Script::new(&spec, flows, 1)
}

/// Transmission times of the first data frame of a flow, and of an ACK.
const FIRST: u64 = 1122 * 80;
const ACK: u64 = 86 * 80;

/// Own data leaves at 0, and may leave again two packet times later. At that time a relayed packet
/// has just left, and another relayed packet waits.
#[test]
fn own_data_takes_its_turn_at_its_departure_time() {
    let mut s = fair_port(CongestionConfig::custom(HalfRate));
    s.arrive_data(FIRST / 2, 0, 0, 0);
    s.arrive_data(FIRST + FIRST / 2, 0, 0, 7);
    let own = 2 * FIRST + FRAME;
    let expected = [
        (0, 1, Content::Data(3, 0), FIRST),
        (FIRST, 1, Content::Data(3, 0), 2 * FIRST),
        (2 * FIRST, 1, Content::Data(3, 1), own),
        (own, 1, Content::Data(3, 7), own + FRAME),
    ];
    assert_eq!(sent_by(&mut s, own + FRAME), expected);
}

/// It is the turn of own data, but a forwarded PAUSE and an ACK are sent first.
#[test]
fn control_frames_precede_own_data_in_its_turn() {
    let mut s = fair_port(CongestionConfig::None(Default::default()));
    s.arrive_data(FIRST / 2, 0, 0, 0);
    // The relayed packet is on the wire from `FIRST` to 2 x `FIRST`.
    s.arrive_data(FIRST + 1, 1, 2, 0);
    s.arrive_pfc(FIRST + 2, 0, &[3], 65_535);
    let (pause, ack) = (2 * FIRST + 84 * 80, 2 * FIRST + 84 * 80 + ACK);
    let expected = [
        (0, 1, Content::Data(3, 0), FIRST),
        (FIRST, 1, Content::Data(3, 0), 2 * FIRST),
        (2 * FIRST, 1, Content::Pause(vec![3]), pause),
        (pause, 1, Content::Ack(1), ack),
        (ack, 1, Content::Data(3, 1), ack + FRAME),
    ];
    assert_eq!(sent_by(&mut s, ack + FRAME), expected);
}

/// After own data an ACK is sent, and then it is still the turn of the relayed packet.
#[test]
fn an_ack_of_the_control_class_does_not_change_the_turn() {
    let mut s = fair_port(CongestionConfig::None(Default::default()));
    s.arrive_data(FIRST / 2, 0, 0, 7);
    s.arrive_data(FIRST / 2, 1, 2, 0);
    let ack = FIRST + ACK;
    let expected = [
        (0, 1, Content::Data(3, 0), FIRST),
        (FIRST, 1, Content::Ack(1), ack),
        (ack, 1, Content::Data(3, 7), ack + FRAME),
        (ack + FRAME, 1, Content::Data(3, 1), ack + 2 * FRAME),
    ];
    assert_eq!(sent_by(&mut s, ack + 2 * FRAME), expected);
}

/// Relayed packets arrive at line rate, but a fair scheduler sends them at half of that rate. The
/// queue therefore grows at half of the line rate.
#[test]
fn behind_a_fair_port_the_relay_queue_grows_at_half_the_line_rate() {
    let mut spec = bcube(2, 1);
    spec.host.scheduler = HostScheduler::Fair {};
    let flows = vec![via(0, &[4, 1, 7], 3, 100_000_000), via(1, &[7], 3, 100_000_000)];
    let mut simulation = Simulation::new(spec, flows, 1).unwrap();
    let queued = |simulation: &mut Simulation, us| {
        simulation.run_until(at_us(us), 1);
        simulation.node(NodeId(1)).ports()[PortIx(1)].queue_bytes(QueueIx(3))
    };
    let (before, after) = (queued(&mut simulation, 100), queued(&mut simulation, 1100));
    // In 1 ms the queue grows by 6.25 MB on the wire at 50 Gb/s, of which 1086 of 1106 B are
    // charged.
    let expected = 6_250_000.0 * 1086.0 / 1106.0;
    assert!(((after - before) as f64 - expected).abs() < 2.0 * 1086.0, "{} of {expected}", after - before);
    // The buffer of a server is unbounded, and reports its peak occupancy.
    let peak = simulation.node(NodeId(1)).switch().unwrap().occupancy().peak;
    assert!((after..after + 2 * 1086).contains(&peak), "{peak}");
}

/// A server that forwards PAUSEs drops packets if its buffer is too small for the frames in flight.
/// The guarantee is only best-effort.
#[test]
fn a_relay_buffer_that_is_too_small_loses_packets_there() {
    let lost = |buffer: u64| {
        let mut spec = ring_of_eight(Relaying::Forward);
        spec.host.relay.buffer = Some(Bytes(buffer));
        spec.host.relay.headroom = Some(HeadroomConfig::Static(StaticConfig {
            xoff: Bytes(buffer),
            headroom: Some(Bytes(0)),
            ..Default::default()
        }));
        let burst = [9, 13].map(|src| via(src, &[21], 5, 400_000));
        let flows = [via(0, &[16, 1, 21], 5, 400_000)].into_iter().chain(burst).collect();
        let (simulation, outcomes) = run(&spec, flows);
        assert_eq!((simulation.audit(), simulation.unfinished().len()), (vec![], 0));
        assert!(outcomes.iter().all(|outcome| outcome.acknowledged.is_some()));
        let dropped = drops(&simulation, DropCause::Headroom);
        let at_relay = simulation.node(NodeId(1)).losses().frames[DropCause::Headroom as usize];
        assert_eq!((dropped, simulation.totals().unpromised_drops), (at_relay, dropped));
        (dropped, simulation.node(NodeId(1)).switch().unwrap().occupancy().peak)
    };
    let (none, peak) = lost(1 << 20);
    assert_eq!(none, 0);
    assert_eq!(lost(peak).0, 0);
    assert!(lost(peak - 1).0 > 0);
}

/// A server that only forwards PAUSEs has a best-effort guarantee if its buffer policy bounds
/// queues, however large the buffer is.
#[test]
fn with_forwarded_pauses_a_bounded_queue_is_best_effort() {
    let mut spec = bcube(2, 1);
    spec.switch.flow_control = pfc(Relaying::Forward);
    spec.host.relay.headroom = Some(thresholds(5_000));
    // With Go-Back-N the flow would never finish.
    spec.recovery = RecoveryConfig::Irn(Default::default());
    let behind = spec.links.iter().position(|link| [link.a, link.b] == [NodeId(1), NodeId(7)]);
    spec.links[behind.unwrap()].rate = Rate::from_gbps(10);
    let (simulation, outcomes) = run(&spec, vec![via(0, &[4, 1, 7], 3, 400_000)]);
    let dropped = drops(&simulation, DropCause::Headroom);
    assert!(dropped > 0);
    assert_eq!((simulation.violations(), simulation.totals().unpromised_drops), (vec![], dropped));
    assert_eq!((outcomes[0].reception.delivered, simulation.audit()), (400_000, vec![]));
}

/// Server buffers are unbounded by default.
#[test]
fn servers_that_forward_pauses_are_lossless_with_unbounded_buffers() {
    let mut spec = bcube(2, 1);
    spec.switch.flow_control = pfc(Relaying::Forward);
    let mut guarantee = |buffer| {
        spec.host.relay.buffer = buffer;
        let fabric = Fabric::new(spec.clone()).unwrap();
        fabric.guarantee(fabric.wiring.ports_of(NodeId(1))[0].id)
    };
    let bounded = guarantee(Some(Bytes(1 << 30)));
    assert_eq!((guarantee(None), bounded), (Guarantee::Lossless, Guarantee::BestEffort { any_class: false }));
}

/// Draws a BCube with any kind of PFC, any schedulers and thresholds, and flows.
fn bcubes() -> impl Strategy<Value = (NetworkSpec, Vec<FlowSpec>)> {
    let kinds = (select(vec![Relaying::Ingress, Relaying::Forward]), any::<bool>(), 0u64..2000);
    let scheduler = prop_oneof![
        Just(HostScheduler::RelayFirst {}),
        Just(HostScheduler::Fair {}),
        (100u64..4000).prop_map(|quantum| HostScheduler::Dwrr { quantum: Bytes(quantum) }),
    ];
    let drawn = (2u32..5).prop_flat_map(|n| {
        let flows = prop::collection::vec((0..n * n, 1..n * n, 1u64..60_000, 0u64..20_000), 1..30);
        (Just(n), flows)
    });
    let options = (2_000u64..60_000, 2_000u64..60_000, 0u64..1_000, any::<u64>());
    (drawn, kinds, scheduler, options).prop_map(|((n, flows), (relays, expires, response), scheduler, options)| {
        let (xoff, at_relays, delay, seed) = options;
        let mut spec = bcube(n, 1);
        let pause = if expires { PauseModel::Quanta } else { PauseModel::UntilResume };
        let response = Duration::from_ns(response);
        spec.switch.flow_control = FlowControlConfig::Pfc(PfcConfig { pause, relays, response, ..Default::default() });
        spec.switch.headroom = thresholds(xoff);
        // With forwarded PAUSEs, a server that bounds its queues gives only a best-effort
        // guarantee.
        let unbounded = HeadroomConfig::Sih(Default::default());
        spec.host.relay.headroom = Some(if relays == Relaying::Forward { unbounded } else { thresholds(at_relays) });
        spec.host.relay.delay = Duration::from_ns(delay);
        spec.host.scheduler = scheduler;
        spec.seed = seed;
        (spec, flows_ahead(n * n, flows))
    })
}

proptest! {
    #![proptest_config(common::cases(200))]

    /// Servers drop no packet, every byte arrives once, and no state remains. The only other
    /// outcome is a deadlock, which is possible with PFC in a BCube. The search finds the deadlock
    /// unless pauses expire, and the audit finds no error.
    #[test]
    fn servers_that_relay_lose_nothing((spec, flows) in bcubes(), shards in 1usize..4) {
        let is_refreshed =
            matches!(&spec.switch.flow_control, FlowControlConfig::Pfc(pfc) if pfc.pause == PauseModel::Quanta);
        let mut simulation = Simulation::new(spec, flows, shards).unwrap();
        simulation.run_until(Time::ZERO + Duration::from_ms(3), 1);
        prop_assert_eq!(simulation.audit(), []);
        if simulation.find_deadlock().is_some() {
            return Ok(());
        }
        if is_refreshed && !simulation.unfinished().is_empty() {
            // In a deadlock no packet moves, and only PAUSEs are repeated.
            let hops_of_data = |simulation: &mut Simulation, ms| {
                simulation.run_until(Time::ZERO + Duration::from_ms(ms), 1);
                let totals = simulation.totals();
                totals.packet_hops - totals.pause_frames - totals.resume_frames
            };
            if hops_of_data(&mut simulation, 20) == hops_of_data(&mut simulation, 40) {
                prop_assert!(simulation.totals().paused_ports > 3);
                prop_assert_eq!((simulation.totals().drops, simulation.audit()), ([0; 5], vec![]));
                return Ok(());
            }
        }
        drain(&mut simulation);
        prop_assert_eq!(simulation.totals().drops, [0; 5]);
        prop_assert_eq!(simulation.unfinished(), []);
        let outcomes = simulation.outcomes();
        prop_assert!(all_delivered(&outcomes) && outcomes.iter().all(|outcome| outcome.retransmitted == 0));
        prop_assert!(simulation.is_quiet());
        prop_assert_eq!(simulation.audit(), []);
    }
}
