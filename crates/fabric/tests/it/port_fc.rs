//! PortFC: queues, frames, thresholds, and guarantees in BCube networks.

use crate::prelude::*;
use backwater_fabric::contract::{Diagnostics, PauseScope, SchemeContext};
use backwater_fabric::mechanisms::congestion::none::{NoneConfig, Window};
use backwater_fabric::mechanisms::flow_control::port_fc::PortFcConfig;
use backwater_fabric::network::spec::{NodeKind, NodeSpec};
use proptest::prelude::*;

/// Returns BCube(n, k) under PortFC; switches share all of their buffer.
fn network(n: u32, k: u32, config: PortFcConfig) -> NetworkSpec {
    let mut spec = bcube(n, k);
    spec.switch.buffer = Bytes(5_000_000);
    spec.switch.flow_control = FlowControlConfig::PortFc(config);
    spec.switch.headroom =
        HeadroomConfig::Static(StaticConfig { xoff: Bytes(1 << 40), xon: None, headroom: Some(Bytes(0)) });
    spec
}

/// Returns PortFC with these thresholds in bytes for both types of queues; a one-hop BDP is 25 KB.
fn thresholds(xoff: u32, xon: u32) -> PortFcConfig {
    PortFcConfig { xoff: f64::from(xoff) / 25e3, xon: f64::from(xon) / 25e3, ..Default::default() }
}

/// Returns the queues, numbered as in the paper, that a packet of `flow` passes in BCube(4, 1). The
/// first queue is at its source.
fn queues(flow: FlowSpec) -> Vec<usize> {
    queues_in(&network(4, 1, Default::default()), flow)
}

/// Returns the queues that a packet of `flow` passes in this network.
fn queues_in(spec: &NetworkSpec, flow: FlowSpec) -> Vec<usize> {
    let queue = |action| match action {
        TracedAction::Sent { frame, .. } => {
            frame.packet().filter(|packet| packet.kind == PacketKind::Data).map(|packet| packet.queue)
        }
        TracedAction::Reported(_) => None,
    };
    let sent = run_traced(spec, vec![flow]).1.into_iter().filter_map(|traced| queue(traced.what));
    sent.map(|queue| usize::from(queue) - CLASSES).collect()
}

/// Figure 6 of the paper. Servers are nodes 0 to 15, switches of layer 0 are nodes 16 to 19, and
/// switches of layer 1 are nodes 20 to 23. Switch 19 connects servers 12 to 15, and switch 23
/// connects servers 3, 7, 11 and 15.
#[test]
fn packets_are_in_the_queues_of_the_papers_examples() {
    // The port of switch 23 to server 15 has Q0 to Q2, one per next port of switch 19, and Q3 for
    // packets that end at server 15.
    let at_switch = |src, dst| match dst {
        15 => queues(via(src, &[23], 15, 1000))[1],
        _ => queues(via(src, &[23, 15, 19], dst, 1000))[1],
    };
    let of_11 = [15, 12, 13, 14].map(|dst| at_switch(11, dst));
    assert_eq!((of_11, at_switch(3, 14), at_switch(7, 15)), ([3, 0, 1, 2], 2, 3));
    // At the port of server 15 to switch 19, F1 to F4 continue behind servers 12, 13, 14 and 12. F6
    // to F8 end at servers 12 to 14. F9 and F10 are relayed.
    let own = |through: u32, dst| queues(via(15, &[19, through, 8 + through], dst, 1000))[0];
    assert_eq!([own(12, 0), own(13, 1), own(14, 2), own(12, 4)], [0, 1, 2, 0]);
    assert_eq!([12, 13, 14].map(|dst| queues(via(15, &[19], dst, 1000))[0]), [3, 4, 5]);
    assert_eq!([(11, 12), (3, 14)].map(|(src, dst)| queues(via(src, &[23, 15, 19], dst, 1000))[2]), [6, 6]);
}

/// Packets of one byte are far apart, and all ports are idle. Nevertheless, each packet fills one
/// queue of the switch, number 19.
#[test]
fn a_packet_that_leaves_at_once_has_filled_its_queue() {
    let flows = (0..3).map(|number| flow(12, 13, 1, number * 50_000)).collect();
    let (simulation, _) = run(&network(4, 1, Default::default()), flows);
    assert_eq!(simulation.node(NodeId(19)).ports()[PortIx(1)].most_filled_queues(), 1);
}

/// Server 5 is at port 1 of switch 17 and of switch 21. No packet of server 5 continues through
/// that port. The port therefore has no queue, and the queue numbers of later ports are lower by
/// one.
#[test]
fn the_ingress_port_has_no_queue() {
    let own = [4, 6, 7].map(|dst| queues(via(5, &[17], dst, 1000))[0]);
    let own_on =
        [(4, 20, 8), (6, 22, 10), (7, 23, 11)].map(|(next, by, dst)| queues(via(5, &[17, next, by], dst, 1000))[0]);
    assert_eq!((own, own_on), ([3, 4, 5], [0, 1, 2]));
    assert_eq!([4, 6, 7].map(|dst| queues(via(1, &[21, 5, 17], dst, 1000))[1]), [0, 1, 2]);
    // These packets leave through the other port, to layer 1.
    assert_eq!([1, 9, 13].map(|dst| queues(via(5, &[21], dst, 1000))[0]), [3, 4, 5]);
    // Packets that are pinned to return to the same switch wait in the first A queue.
    assert_eq!(queues(via(0, &[16, 1, 16], 2, 1000))[1], 0);
}

/// BCube(4, 1) with two more hosts. Host 24 does not relay. It has a link to switch 20 and a faster
/// link to switch 21. Host 25 relays, but has only a link to switch 20. Packets to host 24 have one
/// queue. Host 24 forwards no frames and does not restrict other hosts.
#[test]
fn hosts_that_do_not_relay_are_only_destinations() {
    let mut spec = network(4, 1, Default::default());
    spec.switch.buffer = Bytes(1 << 30);
    spec.nodes.extend([NodeKind::Host, NodeKind::Relay].map(|kind| NodeSpec { name: format!("{kind:?}"), kind }));
    spec.links.extend([link(24, 20, 100, 1000), link(24, 21, 400, 1000), link(25, 20, 100, 1000)]);
    assert_eq!(guarantee(&spec, &[]), (true, String::new()));
    // Server 0 has five queues for longer paths through the other ports of switch 20, including
    // host 25 with its single link. Queue 8 is the fourth of the queues for packets that end behind
    // switch 20.
    assert_eq!(queues_in(&spec, via(0, &[20], 24, 1000)), [8, 0]);
    let mut s = Script::new(&spec, vec![], 24);
    let to_0 = s.fabric.wiring.ports_of(NodeId(20))[0].id;
    s.arrive_control(0, 0, frame(PAUSE, B, to_0));
    assert_eq!((frames_sent(&mut s, 1_000_000), s.node.flow_control().upstream_pauses()), (vec![], vec![]));
}

/// In BCube(2, 2), the packet from server 0 to server 7 passes six links. A server's queues for
/// paths of six hops come first, then those for four hops, for two hops, and the relay queue. At
/// switches, the queues for the lower layer behind the server come first (one port each).
#[test]
fn with_three_layers_there_are_queues_for_each_length_and_layer() {
    let (simulation, trace) = run_traced(&network(2, 2, Default::default()), vec![flow(0, 7, 1000, 0)]);
    let layer = |node: NodeId| (node.0 - 8) / 4;
    let mut seen = Vec::new();
    for traced in trace {
        let (TracedAction::Sent { frame, .. }, Some(port)) = (traced.what, traced.port) else { continue };
        let Some(packet) = frame.packet().filter(|packet| packet.kind == PacketKind::Data) else { continue };
        let (wiring, queue) = (&simulation.fabric().wiring, usize::from(packet.queue) - CLASSES);
        let facts = &wiring.ports[port];
        // The layer to which a server sends, or the switch's own layer.
        let is_switch = simulation.fabric().is_switch(traced.node);
        seen.push((is_switch, layer(if is_switch { traced.node } else { wiring.peer(facts) }), queue));
    }
    let layers: Vec<u32> = seen.iter().map(|(_, layer, _)| *layer).collect();
    let second = |own: u32, next: u32| {
        usize::from((0..3).filter(|layer| *layer != own).position(|layer| layer == next) == Some(1))
    };
    assert_eq!(
        seen,
        [
            (false, layers[0], 0),
            (true, layers[0], second(layers[0], layers[2])),
            (false, layers[2], 3),
            (true, layers[2], second(layers[2], layers[4])),
            (false, layers[4], 3),
            (true, layers[4], 2),
        ]
    );
}

/// Queue counts of section 3.2 of the PortFC paper, including the high-priority queue, here the
/// queue of the control class.
#[test]
fn ports_have_as_many_queues_as_the_paper_counts() {
    use backwater_fabric::contract::FlowControl;
    for (n, k) in (2..=8).map(|n| (n, 1)).chain([(2, 0), (8, 0), (2, 2), (3, 2)]) {
        let fabric = Fabric::new(network(n, k, Default::default())).unwrap();
        let count = |node| {
            let node = backwater_fabric::model::node::Node::new(&fabric, NodeId(node));
            u32::from(node.flow_control().added_queues().most) + 1
        };
        assert_eq!((count(n.pow(k + 1)), count(0)), (k * (n - 1) + 2, (k + 1) * (n - 1) + 2), "BCube({n}, {k})");
    }
}

const PAUSE: u16 = 0x40;
const RESUME: u16 = 0x41;
const A: u32 = 0;
const B: u32 = 1;

/// Returns a frame about the queues of this type at a port.
fn frame(opcode: u16, of: u32, port: PortId) -> Control {
    let signal = if opcode == PAUSE { Signal::Pause } else { Signal::Resume };
    Control::Custom { protocol: Protocol::named("port-fc"), opcode, signal, reliable: true, words: [port.0, of, 0] }
}

/// Returns time, port, opcode, type and congested port of the flow-control frames that a node sends
/// before `limit`.
fn frames_sent(s: &mut Script, limit: u64) -> Vec<(u64, u16, u16, u32, u32)> {
    let mut frames = Vec::new();
    while let Some((at, port, control)) = s.next_custom(limit) {
        let Control::Custom { opcode, words: [congested, of, _], .. } = control else { unreachable!() };
        frames.push((at, port, opcode, of, congested));
    }
    frames
}

/// Bytes charged for a full packet that is not the first of its flow.
const CHARGE: u32 = 1086;
/// Transmission time of a frame with 1024 B of payload at 100 Gb/s.
const FRAME: u64 = 1106 * 80;
/// Transmission time of a frame of flow control.
const CONTROL: u64 = 84 * 80;

/// At switch 23 of BCube(4, 1), the first of five packets for server 15 leaves at once. With four
/// packets in the queue, all other servers are paused, and with two they are resumed.
#[test]
fn a_full_queue_of_type_b_pauses_all_other_servers() {
    let spec = network(4, 1, thresholds(4 * CHARGE, 2 * CHARGE));
    let mut s = Script::new(&spec, vec![flow(11, 15, 100_000, 0)], 23);
    let id = s.port(3).id.0;
    s.arrive_each(0, 0, 2, 0, 1..=4);
    assert_eq!(frames_sent(&mut s, 1), []);
    s.arrive_data(1, 2, 0, 5);
    assert_eq!(frames_sent(&mut s, 2), [0, 1, 2].map(|port| (1, port, PAUSE, B, id)));
    // Four packets remain. One leaves at `FRAME`, and the next at 2 x `FRAME`.
    s.arrive_data(2, 2, 0, 6);
    assert_eq!(frames_sent(&mut s, 3 * FRAME), []);
    assert_eq!(frames_sent(&mut s, 3 * FRAME + 1), [0, 1, 2].map(|port| (3 * FRAME, port, RESUME, B, id)));
}

/// The A queues of a port count together, and the B queue counts separately. Two packets for server
/// 12 and two for server 13 trigger a PAUSE, but three packets in the B queue do not.
#[test]
fn the_queues_of_type_a_count_together_and_apart_from_type_b() {
    let spec = network(4, 1, thresholds(4 * CHARGE, 2 * CHARGE));
    let flows = vec![flow(11, 15, 100_000, 0), flow(11, 12, 100_000, 0), flow(11, 13, 100_000, 0)];
    let mut s = Script::new(&spec, flows, 23);
    let id = s.port(3).id.0;
    s.arrive_each(0, 0, 2, 0, 1..=4);
    for (flow, psn) in [1, 2, 1].into_iter().zip(1..) {
        s.arrive_data(0, 2, flow, psn);
    }
    assert_eq!(frames_sent(&mut s, 1), []);
    s.arrive_data(1, 2, 2, 9);
    assert_eq!(frames_sent(&mut s, 2), [0, 1, 2].map(|port| (1, port, PAUSE, A, id)));
    // The frames about type B leave as soon as the frames about type A have left, so each port
    // sends two frames.
    s.arrive_data(2, 2, 0, 9);
    assert_eq!(frames_sent(&mut s, 10_000), [0, 1, 2].map(|port| (1 + CONTROL, port, PAUSE, B, id)));
}

/// Type B may have thresholds of its own. With `Bdp::Path`, thresholds are multiples of the longest
/// path's BDP, whose round trip takes some 8.4 us with frames of 1106 B and ACKs of 86 B.
#[test]
fn thresholds_are_bdps_as_configured() {
    use backwater_fabric::mechanisms::flow_control::port_fc::Bdp;
    let first_pause_in = |spec: NetworkSpec| {
        let mut s = Script::new(&spec, vec![flow(11, 15, 10_000_000, 0)], 23);
        (0..2000).find(|psn| {
            s.arrive_data(0, 2, 0, psn + 1);
            !frames_sent(&mut s, 1).is_empty()
        })
    };
    let first_pause = |config| first_pause_in(network(4, 1, config));
    // The first packet leaves at once. The queue length includes the packet that joins the queue.
    let packets = |bytes: u64| Some(bytes.div_ceil(u64::from(CHARGE)) as u32);
    assert_eq!(first_pause(PortFcConfig::default()), packets(150_000));
    assert_eq!(
        first_pause(PortFcConfig { last_xoff: Some(3.0), last_xon: Some(2.0), ..Default::default() }),
        packets(75_000)
    );
    // PAUSEs are sent on the other links, so the delay of the link to server 15 does not matter.
    let mut uneven = network(4, 1, Default::default());
    uneven.links[16 + 15].delay = Duration::from_us(4);
    assert_eq!(first_pause_in(uneven), packets(150_000));
    let path = first_pause(PortFcConfig { bdp: Bdp::Path, ..Default::default() });
    let rtt_bytes = 8 * 12_500 + 4 * (1106 + 86);
    assert_eq!(path, packets(6 * rtt_bytes));
}

/// Returns server 15 of BCube(4, 1), which sends to server 12, to server 0 (relayed by server 12),
/// and to server 13.
fn server_15() -> (Script, [PortId; 2]) {
    let flows = vec![via(15, &[19], 12, 1 << 30), via(15, &[19, 12, 20], 0, 1 << 30), via(15, &[19], 13, 1 << 30)];
    let s = Script::new(&network(4, 1, Default::default()), flows, 15);
    let exit = |ix: usize| s.fabric.wiring.ports_of(NodeId(19))[ix].id;
    let exits = [exit(0), exit(1)];
    (s, exits)
}

/// Returns the flows whose data is sent until `limit`.
fn flows_sent(s: &mut Script, limit: u64) -> Vec<u32> {
    let mut sent = s.flows_sent(limit);
    sent.dedup();
    sent
}

#[test]
fn a_server_stops_its_own_data_for_the_congested_port_alone() {
    let us = 1_000_000;
    let (mut s, [to_12, _]) = server_15();
    assert_eq!(flows_sent(&mut s, us), [0, 1, 2]);
    // Type A stops packets that the next server relays. Type B stops packets that end at the next
    // server.
    s.arrive_control(us, 0, frame(PAUSE, A, to_12));
    assert_eq!((flows_sent(&mut s, us + 1).len(), flows_sent(&mut s, 2 * us)), (0, vec![0, 2]));
    s.arrive_control(2 * us, 0, frame(PAUSE, B, to_12));
    assert_eq!(flows_sent(&mut s, 3 * us), [2]);
    s.arrive_control(3 * us, 0, frame(RESUME, A, to_12));
    assert_eq!(flows_sent(&mut s, 4 * us), [1, 2]);
    s.arrive_control(4 * us, 0, frame(RESUME, B, to_12));
    assert_eq!(flows_sent(&mut s, 5 * us), [0, 1, 2]);
}

/// The server forwards frames about type B through its other port, but not frames about type A. A
/// frame that repeats a known state is not forwarded.
#[test]
fn a_server_forwards_frames_about_type_b() {
    let us = 1_000_000;
    let (mut s, [to_12, to_13]) = server_15();
    s.arrive_control(us, 0, frame(PAUSE, A, to_12));
    s.arrive_control(us, 0, frame(PAUSE, B, to_13));
    s.arrive_control(us, 0, frame(PAUSE, B, to_13));
    assert_eq!(frames_sent(&mut s, 2 * us), [(us, 1, PAUSE, B, to_13.0)]);
    s.arrive_control(2 * us, 0, frame(RESUME, A, to_12));
    s.arrive_control(2 * us, 0, frame(RESUME, B, to_13));
    assert_eq!(frames_sent(&mut s, 3 * us), [(2 * us, 1, RESUME, B, to_13.0)]);
    assert_eq!(s.counted("relayed_frames"), 2);
}

/// Server 15 notifies switch 23 that the B queue of switch 19's port to server 12 is full. Switch
/// 23 stops only the A queue for that port.
#[test]
fn a_switch_stops_the_queue_of_the_congested_port() {
    let us = 1_000_000;
    let flows = vec![flow(11, 15, 100_000, 0), flow(11, 12, 100_000, 0), flow(11, 13, 100_000, 0)];
    let mut s = Script::new(&network(4, 1, Default::default()), flows, 23);
    let to_12 = s.fabric.wiring.ports_of(NodeId(19))[0].id;
    s.arrive_control(0, 3, frame(PAUSE, B, to_12));
    for flow in 0..3 {
        s.arrive_data(1, 2, flow, 1);
    }
    assert_eq!(flows_sent(&mut s, us), [0, 2]);
    s.arrive_control(us, 3, frame(RESUME, B, to_12));
    assert_eq!(flows_sent(&mut s, 2 * us), [1]);
}

/// Both ends of a link use the same names for a pause, because audits and the deadlock detector
/// compare these names. A server names the closed queue of its own data, and the ports through
/// which it forwarded the pause. A switch sends the name of its full port to all servers except the
/// server behind that port.
#[test]
fn both_ends_name_a_pause_alike() {
    let stopped = |s: &Script| -> Vec<_> {
        s.node.ports().iter().map(|port| s.node.flow_control().obeyed_pauses(port.ix, port)).collect()
    };
    let scope = |of: u32, port| PauseScope::Port(port, of as u8);
    let (mut s, [to_12, _]) = server_15();
    s.arrive_control(0, 0, frame(PAUSE, A, to_12));
    assert_eq!((stopped(&s), s.node.flow_control().leftover()), (vec![vec![scope(A, to_12)], vec![]], None));
    s.arrive_control(0, 0, frame(PAUSE, B, to_12));
    let (books, because) = (s.node.flow_control(), scope(B, to_12));
    assert_eq!(stopped(&s), [vec![scope(A, to_12), because], vec![]]);
    assert_eq!((books.upstream_pauses(), books.leftover().is_some()), (vec![(PortIx(1), because)], true));
    let relayed = [0, 1].map(|port| books.relayed_pauses(PortIx(port), because));
    assert_eq!(relayed, [vec![], vec![(PortIx(0), QueueIx::added(3))]]);

    let spec = network(4, 1, thresholds(CHARGE, 0));
    let mut s = Script::new(&spec, vec![flow(11, 15, 100_000, 0)], 23);
    let to_15 = s.port(3).id;
    s.arrive_control(0, 3, frame(PAUSE, B, to_12));
    s.arrive_each(0, 0, 2, 0, 1..=2);
    assert_eq!(stopped(&s), [vec![], vec![], vec![], vec![because]]);
    assert_eq!(s.node.flow_control().upstream_pauses(), [0, 1, 2].map(|port| (PortIx(port), scope(B, to_15))));
}

/// A link recovers. The switch then opens the queues that the server had paused, and announces its
/// full queues again. The server does the same, also for pauses that it had forwarded through its
/// other port.
#[test]
fn both_ends_start_anew_when_a_link_recovers() {
    let us = 1_000_000;
    let spec = network(4, 1, thresholds(2 * CHARGE, CHARGE));
    let flows = vec![flow(11, 15, 100_000, 0), flow(3, 12, 100_000, 0)];
    let mut s = Script::new(&spec, flows, 23);
    let (to_12, to_15) = (s.fabric.wiring.ports_of(NodeId(19))[0].id, s.port(3).id);
    s.arrive_control(0, 3, frame(PAUSE, B, to_12));
    s.arrive_each(1, 0, 0, 1, 1..=3);
    s.arrive_each(1, 0, 2, 0, 1..=3);
    let both = |at, port| [(at, port, PAUSE, A, to_15.0), (at + CONTROL, port, PAUSE, B, to_15.0)];
    let mut first = frames_sent(&mut s, 10_000);
    first.sort_by_key(|(at, port, ..)| (*port, *at));
    assert_eq!(first, [0, 1, 2].map(|port| both(1, port)).concat());
    // Server 15 receives no frame about the port that leads to server 15, and sends packets for
    // server 12 again.
    s.link_change(20_000, 3, false);
    s.link_change(20_001, 3, true);
    assert_eq!(frames_sent(&mut s, 20_002), []);
    s.link_change(20_002, 0, false);
    s.link_change(20_003, 0, true);
    assert_eq!(frames_sent(&mut s, 30_000), both(20_003, 0));
    assert_eq!(flows_sent(&mut s, us), [0, 1]);

    let (mut s, [to_12, _]) = server_15();
    let to_11 = s.fabric.wiring.ports_of(NodeId(23))[2].id;
    s.arrive_control(0, 0, frame(PAUSE, B, to_12));
    s.arrive_control(0, 0, frame(PAUSE, A, to_12));
    s.arrive_control(0, 1, frame(PAUSE, B, to_11));
    assert_eq!(frames_sent(&mut s, us).len(), 2);
    s.link_change(us, 0, false);
    s.link_change(2 * us, 0, true);
    // A packet of server 15, the first of its flow, leaves before the PAUSE.
    let expected = [(2 * us, 1, RESUME, B, to_12.0), (2 * us + FRAME + 16 * 80, 0, PAUSE, B, to_11.0)];
    assert_eq!(frames_sent(&mut s, 2 * us + 2 * FRAME), expected);
    assert_eq!(flows_sent(&mut s, 3 * us), [0, 1, 2]);
}

/// In the case of Figure 5 of the PortFC paper, PFC has a deadlock, but PortFC has none.
#[test]
fn two_flows_and_a_burst_finish() {
    common::assert_flows_finish(network(4, 1, thresholds(30_000, 20_000)), common::two_flows_and_a_burst());
}

/// Returns BCube(4, 1) in which switch 16 has no links, so its servers can be reached only through
/// layer 1.
fn without_switch_16() -> NetworkSpec {
    let mut spec = network(4, 1, Default::default());
    spec.links.retain(|link| link.b != NodeId(16));
    spec
}

/// Returns the bytes of buffer that the guarantee needs.
fn need(spec: &NetworkSpec) -> u64 {
    let mut tiny = spec.clone();
    tiny.switch.buffer = Bytes(1);
    let reason = guarantee(&tiny, &[]).1;
    reason
        .split("hold up to ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("{reason}"))
}

/// Returns true if all switches guarantee losslessness, and otherwise the first reason against it.
fn guarantee(spec: &NetworkSpec, flows: &[FlowSpec]) -> (bool, String) {
    let mut fabric = Fabric::new(spec.clone()).unwrap();
    for flow in flows {
        fabric.check_flow(flow).unwrap();
    }
    let mut switches = (0..spec.nodes.len() as u32).map(NodeId).filter(|node| fabric.is_switch(*node));
    let reason = switches.find_map(|switch| fabric.check_guarantee(switch).err());
    let mut ports = fabric.wiring.ports.iter().filter(|port| fabric.is_switch(port.node));
    let is_kept = ports.all(|port| fabric.guarantee(port.id) == Guarantee::Lossless);
    assert_eq!(is_kept, reason.is_none());
    (is_kept, reason.unwrap_or_default())
}

#[test]
fn no_guarantee_where_the_papers_argument_fails() {
    let spec = network(4, 1, Default::default());
    assert_eq!(guarantee(&spec, &[]), (true, String::new()));
    let mut star = network(8, 0, Default::default());
    assert!(guarantee(&star, &[]).0);
    // If no server relays, the guarantee holds even if links fail and corrupt frames, because
    // PAUSEs are not lost and no packet takes a detour.
    star.faults = vec![LinkFault { link: 0, down: Time::from_ps(1), up: Time::from_ps(2) }];
    set_error_rate(&mut star, 1e-3);
    assert!(guarantee(&star, &[]).0);
    // Three layers break the guarantee, and so does a detour over three switches.
    assert!(guarantee(&network(2, 2, Default::default()), &[]).1.contains("up to 3 switches"));
    let detour = via(0, &[16, 1, 21, 5, 17], 4, 1000);
    assert!(guarantee(&spec, &[detour]).1.contains("up to 3 switches"));
    // ACKs in a lossless class break the guarantee, because no PAUSE stops ACKs.
    let mut acks = spec.clone();
    acks.host.ack_class = Class(3);
    assert!(guarantee(&acks, &[]).1.contains("do not stop ACKs"));
    // The guarantee requires that servers send relayed packets first.
    let mut fair = spec.clone();
    fair.host.scheduler = HostScheduler::Fair {};
    assert!(guarantee(&fair, &[]).1.contains("do not forward relayed packets first"));
    // If layer 1 is faster than layer 0, packets from layer 1 queue up at servers.
    let mut uneven = spec.clone();
    for link in &mut uneven.links[16..] {
        link.rate = Rate::from_gbps(400);
    }
    assert!(guarantee(&uneven, &[]).1.contains("that is faster"));
    // The buffer must hold eight thresholds, and the frames in flight: of twelve pairs of ports
    // over one hop, and of six pairs over one hop and over a server. A PAUSE waits for eight other
    // frames of flow control and a data frame, and its receiver finishes a frame. Two data frames
    // therefore count per hop, and three if a server relays the PAUSE.
    let mut small = spec.clone();
    let (hop, way) = (25_000 + 8 * 84 + 2 * 1122, 25_000 + 8 * 84 + 3 * 1122);
    let bound = 8 * 150_000 + 12 * hop + 6 * (hop + way);
    small.switch.buffer = Bytes(bound);
    assert_eq!(guarantee(&small, &[]), (true, String::new()));
    // Packets that arrive during the forwarding time of servers also need room.
    let mut later = small.clone();
    later.host.relay.delay = Duration::from_us(1);
    assert_eq!((guarantee(&later, &[]).0, need(&later)), (false, bound + 6 * 12_500));
    small.switch.buffer = Bytes(bound - 1);
    assert_eq!(
        guarantee(&small, &[]).1,
        format!("the ports of a switch may hold up to {bound} B together, but its buffer has {} B", bound - 1)
    );
    let endless = PortFcConfig { xoff: 1e6, xon: 0.0, ..Default::default() };
    assert!(!guarantee(&network(8, 1, endless), &[]).0);
    // Links that fail break the guarantee, with new routes or without.
    let mut faults = spec.clone();
    faults.faults = vec![LinkFault { link: 0, down: Time::from_ps(1), up: Time::from_ps(2) }];
    assert!(guarantee(&faults, &[]).1.contains("links fail"));
    // Servers that forward too slowly, a divided buffer, or switches with another flow control also
    // break the guarantee.
    let mut slow = spec.clone();
    slow.host.relay.rate = Some(Rate::from_gbps(50));
    assert!(guarantee(&slow, &[]).1.contains("at line rate"));
    let mut divided = spec.clone();
    divided.switch.headroom = HeadroomConfig::Sih(Default::default());
    assert!(guarantee(&divided, &[]).1.contains("share the whole"));
    let mut mixed = spec.clone();
    let flow_control = Some(common::no_flow_control());
    mixed.groups = vec![SwitchGroup { switches: vec![NodeId(20)], flow_control, headroom: None }];
    assert!(guarantee(&mixed, &[]).1.contains("another flow control"));
    // If a switch has no links from the start, packets to its servers pass three switches.
    assert!(guarantee(&without_switch_16(), &[]).1.contains("up to 3 switches"));
    // Two links of BCube(3, 1) are missing, from server 0 to switch 9 and from server 1 to switch
    // 13. Only paths between these servers are longer.
    let mut two_links = network(3, 1, Default::default());
    two_links.links.retain(|link| ![(0, 9), (1, 13)].contains(&(link.a.0, link.b.0)));
    assert!(guarantee(&two_links, &[]).1.contains("up to 4 switches"));
}

/// XON may be at most XOFF. Servers may not be linked to each other.
#[test]
fn thresholds_may_be_equal_and_servers_have_links_to_switches_only() {
    let is_sound = |xon| {
        let scheme = SchemeContext {
            mtu: Bytes(1024),
            ack_every: 1,
            ack_class: Class::CONTROL,
            lossless: ClassMask::default(),
            flow_control: ("port-fc", FlowControlFacts::default()),
            congestion: "none",
            load_balance: "ecmp",
            recovery: "irn",
        };
        let mut diagnostics = Diagnostics::default();
        PortFcConfig { xoff: 6.0, xon, ..Default::default() }.check(&scheme, &mut diagnostics);
        diagnostics.into_vec().is_empty()
    };
    assert_eq!([4.0, 6.0, 6.1, -1.0].map(is_sound), [true, true, false, false]);
    let mut direct = network(4, 1, Default::default());
    direct.links.push(link(0, 5, 100, 1000));
    let refused = Fabric::new(direct).unwrap_err();
    assert!(refused.iter().any(|error| error.to_string().contains("servers are linked to each other")), "{refused:?}");
}

/// Draws a network and its flows.
fn cases() -> impl Strategy<Value = (NetworkSpec, Vec<FlowSpec>)> {
    let shape = (2u32..=8, 0u32..=1);
    let config = (1.0f64..8.0, 0.0f64..1.0, prop::option::of((1.0f64..8.0, 0.0f64..1.0)));
    let spec = (shape, config, 0u64..2000, any::<u64>(), 0usize..3);
    let spec = spec.prop_map(|((n, k), (xoff, xon, last), relay_ns, seed, congestion)| {
        let (last_xoff, last_xon) = last.map(|(off, on)| (off, off * on)).unzip();
        let config = PortFcConfig { xoff, xon: xoff * xon, last_xoff, last_xon, ..Default::default() };
        let mut spec = network(n, k, config);
        spec.host.relay.delay = Duration::from_ns(relay_ns);
        spec.switch.buffer = Bytes(need(&spec));
        spec.congestion = [
            CongestionConfig::None(Default::default()),
            CongestionConfig::Dcqcn(Default::default()),
            CongestionConfig::None(NoneConfig { window: Some(Window::Bdp) }),
        ][congestion]
            .clone();
        NetworkSpec { seed, ..spec }
    });
    spec.prop_flat_map(|spec| {
        let hosts = spec.nodes.iter().filter(|node| node.kind.has_endpoint()).count() as u32;
        let incast = (0..hosts, 1..hosts, 10_000u64..300_000, 0u64..50_000);
        let other = (0..hosts, 1..hosts, 1u64..200_000, 0u64..100_000);
        let flows = (prop::collection::vec(incast, 0..4), prop::collection::vec(other, 1..60));
        (Just(spec), flows).prop_map(move |(spec, (incasts, others))| {
            let of_incast = |(dst, degree, bytes, start): (u32, u32, u64, u64)| {
                (1..=degree).map(move |ahead| flow((dst + ahead) % hosts, dst, bytes, start))
            };
            let others =
                others.into_iter().map(|(src, ahead, bytes, start)| flow(src, (src + ahead) % hosts, bytes, start));
            (spec, sorted(incasts.into_iter().flat_map(of_incast).chain(others)))
        })
    })
}

proptest! {
    #![proptest_config(common::cases(100))]

    /// In BCubes of up to two layers, with shortest paths and the buffer that the guarantee needs,
    /// no packet is dropped and there is no deadlock. No PAUSE crosses more than three links, every
    /// byte is delivered once and in order, and all gates are open in the end.
    #[test]
    fn bcubes_lose_nothing_and_never_deadlock((spec, flows) in cases(), shards in 1usize..4) {
        let (alone, _) = run(&spec, flows.clone());
        let mut simulation = Simulation::new(spec, flows, shards).unwrap();
        let switch = simulation.fabric().wiring.ports.iter().find(|port| simulation.fabric().is_switch(port.node));
        prop_assert_eq!(simulation.fabric().guarantee(switch.unwrap().id), Guarantee::Lossless);
        prop_assert_eq!(find_deadlock(&mut simulation, 10, 200), None);
        drain(&mut simulation);
        prop_assert_eq!((simulation.totals().drops, simulation.violations()), ([0; 5], vec![]));
        prop_assert_eq!((simulation.unfinished(), simulation.find_deadlock()), (vec![], None));
        let outcomes = simulation.outcomes();
        prop_assert!(all_delivered(&outcomes) && outcomes.iter().all(|outcome| outcome.retransmitted == 0));
        prop_assert!(simulation.is_quiet());
        prop_assert_eq!((simulation.audit(), simulation.fingerprint()), (vec![], alone.fingerprint()));
        for pause in simulation.take_pauses() {
            prop_assert!((1..=3).contains(&pause.closure.cause.hops), "{pause:?}");
        }
    }
}

/// An incast into server 5 of BCube(4, 1) fills its B queues. Relayed packets wait in A queues of
/// switches until these are full, and then at their sources. Pauses therefore cross one, two and
/// three links. Servers forwarded the pauses that crossed two links.
#[test]
fn a_pause_crosses_three_links_at_most() {
    let spec = network(4, 1, thresholds(30_000, 20_000));
    let incast = (0..16).filter(|src| *src != 5).map(|src| flow(src, 5, 1_000_000, 0)).collect();
    let mut simulation = Simulation::new(spec, incast, 1).unwrap();
    drain(&mut simulation);
    let pauses = simulation.take_pauses();
    let fabric = simulation.fabric();
    let mut seen = BTreeSet::new();
    for pause in &pauses {
        let (facts, Cause { root, via, parent, hops, .. }) = (&fabric.wiring.ports[pause.port], pause.closure.cause);
        seen.insert((hops, fabric.is_switch(facts.node)));
        // Port 1 of switch 17 and of switch 21 leads to server 5. Ports to other servers cause only
        // pauses over one link.
        let is_last = |switch: u32| fabric.wiring.ports_of(NodeId(switch))[1].id == root;
        assert!(hops == 1 || is_last(17) || is_last(21));
        let parent = parent.map(|parent| (via.unwrap(), parent.queue, parent.since));
        let found = |key| pauses.iter().find(|other| (other.port, other.queue, other.closure.from) == key);
        // A pause crosses one link more than its parent. A pause without a parent crosses one link.
        assert_eq!(parent.map_or(0, |key| found(key).unwrap().closure.cause.hops) + 1, hops);
    }
    assert_eq!(Vec::from_iter(seen), [(1, false), (2, true), (3, false)]);
}

/// Checks that packets are lost at the second of three switches. Several servers send through this
/// switch's port, and other flows end at the relaying server behind that port.
fn lost_behind_three_switches(spec: NetworkSpec, paths: &[(u32, [u32; 5])], beside: &[u32], second: u32) {
    let last = |path: &[u32; 5]| path[4];
    let passing = paths.iter().map(|(src, path)| via(*src, path, 0, 4_000_000));
    let own = beside.iter().map(|src| via(*src, &[last(&paths[0].1)], 0, 16_000_000));
    let (simulation, outcomes) = run(&spec, passing.chain(own).collect());
    let lost = drops(&simulation, DropCause::Headroom);
    let at_second = simulation.node(NodeId(second)).losses().frames[DropCause::Headroom as usize];
    assert!(lost > 0);
    assert_eq!((at_second, simulation.totals().unpromised_drops, simulation.violations()), (lost, lost, vec![]));
    assert!(all_delivered(&outcomes));
}

/// In BCube(3, 2), packets for server 0 reach switch 39 by servers 12 and 15 and leave it for
/// server 9. Packets arrive at the A queue of the port to server 9 at twice the link rate, the
/// queue is paused half of the time, and no PAUSE stops the switches before switch 39. The analysis
/// names this queue.
#[test]
fn with_three_layers_packets_are_lost_at_the_second_switch() {
    let paths =
        [(13, 31, 12), (14, 31, 12), (16, 32, 15), (17, 32, 15)].map(|(src, by, relay)| (src, [by, relay, 39, 9, 45]));
    lost_behind_three_switches(network(3, 2, Default::default()), &paths, &[18], 39);
}

/// Packets take a detour in BCube(4, 1): they reach server 0 through layers 0, 1 and 0, as if its
/// link to layer 1 had failed.
#[test]
fn on_detours_packets_are_lost_at_the_second_switch() {
    let paths = [(4, 17, 5), (6, 17, 5), (8, 18, 9), (10, 18, 9)].map(|(src, by, relay)| (src, [by, relay, 21, 1, 16]));
    lost_behind_three_switches(network(4, 1, Default::default()), &paths, &[2], 21);
}

/// A link fails for good, and routes avoid this link. The server withdraws all pauses received over
/// the link, so that no packet waits for a port that is no longer used.
#[test]
fn pauses_received_by_a_failed_link_are_withdrawn() {
    let us = 1_000_000;
    let mut spec = network(4, 1, Default::default());
    spec.reconvergence = Some(Duration::from_us(5));
    spec.faults = vec![LinkFault { link: 15, down: Time::from_ps(us), up: Time::NEVER }];
    spec.recovery = RecoveryConfig::Irn(Default::default());
    // The link from server 15 to switch 19 fails. Behind that switch, server 12 receives more than
    // its port carries.
    let incast = [13, 14, 15].map(|src| flow(src, 12, 4_000_000, 0)).into_iter();
    let passing = [3, 7, 11].map(|src| via(src, &[23, 15, 19], 12, 4_000_000)).into_iter();
    spec.faults[0].down = at_us(100);
    let (simulation, _) = run(&spec, incast.chain(passing).collect());
    let closed = |node: u32| {
        simulation.node(NodeId(node)).ports().iter().map(|port| port.closed_queues().count()).sum::<usize>()
    };
    assert_eq!((closed(15), closed(23), simulation.audit()), (0, 0, vec![]));
}

/// Links of a server fail one by one and recover during an incast, with new routes and without.
#[test]
fn link_failures_leave_no_state() {
    for reconvergence in [None, Some(Duration::from_us(40))] {
        // These are the links of server 1 to switches 16 and 21, and the first link of switch 22.
        for link in [1, 17, 18] {
            let mut spec = network(4, 1, thresholds(30_000, 20_000));
            spec.faults = vec![LinkFault { link, down: at_us(60), up: at_us(2_000) }];
            spec.reconvergence = reconvergence;
            spec.recovery = RecoveryConfig::Irn(Default::default());
            let incast = (0..16).filter(|src| *src != 5).map(|src| flow(src, 5, 400_000, 0));
            let back = (0..16).filter(|dst| *dst != 1).map(|dst| flow(1, dst, 100_000, 50_000));
            let (simulation, outcomes) = run(&spec, incast.chain(back).collect());
            assert!(all_delivered(&outcomes), "link {link}");
            assert_eq!((simulation.audit(), simulation.is_quiet()), (vec![], true), "link {link}");
            assert!(drops(&simulation, DropCause::LinkDown) > 0, "link {link}");
        }
    }
}

/// A server's own data takes half of its port's rate, so relayed packets queue up. The server holds
/// all of them, although they exceed the switches' thresholds by far.
#[test]
fn a_server_without_thresholds_holds_all_packets() {
    let mut spec = network(4, 1, Default::default());
    spec.host.scheduler = HostScheduler::Fair {};
    spec.switch.buffer = Bytes(1 << 30);
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(1 << 20), ..Default::default() });
    let flows = vec![via(0, &[16, 1, 21], 5, 8_000_000), via(1, &[21], 9, 8_000_000)];
    let (simulation, _) = run(&spec, flows);
    assert!(simulation.node(NodeId(1)).switch().unwrap().occupancy().peak > 3_000_000);
    assert_eq!((simulation.totals().drops, simulation.audit()), ([0; 5], vec![]));
}
