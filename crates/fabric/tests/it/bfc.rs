//! BFC, and flow control by flows, which pauses by the same rule: packet scripts of a switch.
//!
//! Frames are those of the HPCC simulator with 952 B of payload: data are 1000 B, ACKs 60 B. Links of 100 Gb/s are 600 ns long: a one-hop BDP is
//! 15,000 B. Port 2 of the switch stands still, so that what has come stays.

use crate::prelude::*;

const SWITCH: u32 = 3;

/// Both, with the name under which they pause the packets of flow 0: the queue upstream, or the flow.
fn both() -> [(FlowControlConfig, u32); 2] {
    [(FlowControlConfig::Bfc(BfcConfig::default()), 3), (FlowControlConfig::PerFlow(PerFlowConfig {}), 0)]
}

/// A switch with three hosts.
fn spec(flow_control: FlowControlConfig) -> NetworkSpec {
    let mut spec = star(3, 100, 600);
    (spec.framing, spec.mtu) = (Framing::HpccNs3, Bytes(952));
    spec.switch.lossless = Vec::new();
    spec.switch.flow_control = flow_control;
    spec.host.ack_class = Class(3);
    spec
}

/// The switch, whose port 2 stands still.
fn script(flow_control: FlowControlConfig, flows: Vec<FlowSpec>) -> Script {
    let mut script = Script::new(&spec(flow_control), flows, SWITCH);
    script.link_change(0, 2, false);
    script
}

fn packets(src: u32, dst: u32) -> FlowSpec {
    flow(src, dst, 952 * 1000, 0)
}

/// The frame by which the switch stops the queue or flow called `name`.
fn pause(flow_control: &FlowControlConfig, name: u32) -> Control {
    let mut switch = script(flow_control.clone(), vec![packets(0, 2)]);
    (0..16).for_each(|psn| switch.arrive_data(1000, 0, 0, psn));
    let mut pause = switch.next_control(1_000_000).expect("16,000 B are more than a one-hop BDP");
    if let Control::Custom { words, .. } = &mut pause {
        words[0] = name;
    }
    pause
}

/// With one queue, the upstream is stopped by the first packet beyond 15,000 B; with two, by the first beyond 7,500 B.
#[test]
fn queues_that_are_active_share_a_one_hop_bdp() {
    for (flow_control, name) in both() {
        for (others, fit) in [(0, 15), (1, 7)] {
            let mut s = script(flow_control.clone(), vec![packets(0, 2), packets(1, 2)]);
            (0..others).for_each(|psn| s.arrive_data(1000, 1, 1, psn));
            (0..fit).for_each(|psn| s.arrive_data(2000, 0, 0, psn));
            assert_eq!(s.next_sent(1_000_000), None, "{flow_control:?}, {others} others");
            s.arrive_data(1_000_000, 0, 0, fit);
            s.arrive_data(1_000_000, 0, 0, fit + 1);
            let stop = (1_000_000, Says::Other(Signal::Pause, name));
            assert_eq!(s.sent_until(2_000_000, 0), [stop], "{flow_control:?}, {others} others");
        }
    }
}

/// Without any time to keep its queue when it has no packets, a flow that has some keeps it, or they would overtake each other.
#[test]
fn a_flow_of_bfc_keeps_its_queue_as_long_as_it_has_packets() {
    let mut s = script(FlowControlConfig::Bfc(BfcConfig { sticky: 0.0, ..Default::default() }), vec![packets(0, 2)]);
    (0..5).for_each(|psn| s.arrive_data(1_000_000 * u64::from(psn), 0, 0, psn));
    assert_eq!(s.node.ports()[2].occupied_queues(), 1);
}

/// State exchanged before a failure is void: what is still to stop is paused again.
#[test]
fn a_link_that_comes_back_hears_of_all_pauses_again() {
    for (flow_control, name) in both() {
        let mut s = script(flow_control, vec![packets(0, 2)]);
        (0..20).for_each(|psn| s.arrive_data(1000, 0, 0, psn));
        let stop = |at| (at, Says::Other(Signal::Pause, name));
        assert_eq!(s.sent_until(1_000_000, 0), [stop(1000)]);
        s.link_change(1_000_000, 0, false);
        s.link_change(2_000_000, 0, true);
        assert_eq!(s.sent_until(3_000_000, 0), [stop(2_000_000)]);
    }
}

/// The other end of such a link: what was paused before the failure goes on after it, unless it is paused again.
#[test]
fn a_link_that_comes_back_has_all_its_gates_open() {
    for (flow_control, name) in
        [(FlowControlConfig::Bfc(BfcConfig::default()), 8), (FlowControlConfig::PerFlow(PerFlowConfig {}), 0)]
    {
        // The queue in which the host keeps the flow, or the flow.
        let pause = pause(&flow_control, name);
        let mut host = Script::new(&spec(flow_control), vec![flow(0, 2, 2 * 952, 0)], 0);
        expect!(host, 0..80_000 ps, port 0, Data(3, 0));
        host.arrive_control(10_000, 0, pause);
        expect_nothing!(host, before 1_000_000 ps);
        host.link_change(1_000_000, 0, false);
        host.link_change(2_000_000, 0, true);
        expect!(host, 2_000_000..2_080_000 ps, port 0, Data(3, 1));
    }
}

/// A flow is acknowledged in full while it is paused: the next one has a queue of its own, and a gate that is open.
#[test]
fn a_flow_that_ends_while_it_is_paused_holds_back_no_other() {
    let flow_control = FlowControlConfig::PerFlow(PerFlowConfig {});
    let pause = pause(&flow_control, 0);
    let mut host = Script::new(&spec(flow_control), vec![flow(0, 2, 952, 0), flow(0, 2, 952, 5_000)], 0);
    expect!(host, 0..80_000 ps, port 0, Data(3, 0));
    host.arrive_control(100_000, 0, pause);
    host.arrive_answer(1_000_000, 0, 0, PacketKind::Ack, 1);
    expect!(host, 5_000_000..5_080_000 ps, port 0, Data(3, 0));
}

/// The queue of a flow that has ended, 8, is the next one's: a PAUSE for queue 9 stops nobody.
#[test]
fn a_flow_of_bfc_takes_the_queue_of_one_that_has_ended() {
    let flow_control = FlowControlConfig::Bfc(BfcConfig::default());
    let pause = pause(&flow_control, 9);
    let mut host = Script::new(&spec(flow_control), vec![flow(0, 2, 952, 0), flow(0, 2, 952, 5_000)], 0);
    expect!(host, 0..80_000 ps, port 0, Data(3, 0));
    host.arrive_control(100_000, 0, pause);
    host.arrive_answer(1_000_000, 0, 0, PacketKind::Ack, 1);
    expect!(host, 5_000_000..5_080_000 ps, port 0, Data(3, 0));
}

#[test]
fn queues_of_bfc_in_use_are_counted() {
    let mut s = script(FlowControlConfig::Bfc(BfcConfig::default()), vec![packets(0, 2), packets(1, 2)]);
    for (flow, used) in [(0, 1), (1, 2), (1, 2)] {
        s.arrive_data(1000, flow as u16, flow, 0);
        assert_eq!(s.node.flow_control().most_queues_used(), used);
    }
}

/// At a host, ACKs are in the queue of their class, which cannot be named in a PAUSE: a PAUSE because of them would stop the wrong packets, or none.
#[test]
fn acks_stop_nobody() {
    for (flow_control, _) in both() {
        let mut s = script(flow_control, vec![packets(2, 0)]);
        (0..300).for_each(|psn| s.arrive_answer(1000, 0, 0, PacketKind::Ack, psn));
        assert_eq!(s.node.ports()[2].queued_bytes(), 18_000);
        assert_eq!(s.next_sent(1_000_000), None);
    }
}
