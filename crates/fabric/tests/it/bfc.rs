//! Packet scripts of a switch with BFC, and of a switch with per-flow flow control. Both flow
//! controls pause by the same rule.
//!
//! Frames are those of the HPCC simulator with 952 B of payload: data frames are 1000 B, ACKs 60 B.
//! Links have 100 Gb/s and a delay of 600 ns, so a one-hop BDP is 15,000 B. The link of the
//! switch's port 2 is down, so that packets remain queued.

use crate::prelude::*;

const SWITCH: u32 = 3;

/// Returns both flow controls, each with the value that its PAUSE frames carry for flow 0: the
/// upstream queue, or the flow.
fn both() -> [(FlowControlConfig, u32); 2] {
    [(FlowControlConfig::Bfc(BfcConfig::default()), 3), (FlowControlConfig::PerFlow(PerFlowConfig {}), 0)]
}

/// Returns a switch with three hosts.
fn spec(flow_control: FlowControlConfig) -> NetworkSpec {
    let mut spec = star_of(3, 100, 600);
    (spec.framing, spec.mtu) = (Framing::HpccNs3, Bytes(952));
    spec.switch.lossless = Vec::new();
    spec.switch.flow_control = flow_control;
    spec.host.ack_class = Class(3);
    spec
}

/// Returns the switch, with port 2's link down.
fn script(flow_control: FlowControlConfig, flows: Vec<FlowSpec>) -> Script {
    let mut script = Script::new(&spec(flow_control), flows, SWITCH);
    script.link_change(0, 2, false);
    script
}

fn packets(src: u32, dst: u32) -> FlowSpec {
    flow(src, dst, 952 * 1000, 0)
}

/// Returns the switch's PAUSE frame for queue or flow `name`.
fn pause(flow_control: &FlowControlConfig, name: u32) -> Control {
    let mut switch = script(flow_control.clone(), vec![packets(0, 2)]);
    switch.arrive_each(1000, 0, 0, 0, 0..16);
    let mut pause = switch.next_control(1_000_000).expect("16,000 B are more than a one-hop BDP");
    if let Control::Custom { words, .. } = &mut pause {
        words[0] = name;
    }
    pause
}

/// If one queue is active, the first packet beyond 15,000 B pauses the upstream; if two are, the
/// first packet beyond 7,500 B in a queue does.
#[test]
fn queues_that_are_active_share_a_one_hop_bdp() {
    for (flow_control, name) in both() {
        for (others, fit) in [(0, 15), (1, 7)] {
            let mut s = script(flow_control.clone(), vec![packets(0, 2), packets(1, 2)]);
            s.arrive_each(1000, 0, 1, 1, 0..others);
            s.arrive_each(2000, 0, 0, 0, 0..fit);
            assert_eq!(s.next_sent(1_000_000), None, "{flow_control:?}, {others} others");
            s.arrive_data(1_000_000, 0, 0, fit);
            s.arrive_data(1_000_000, 0, 0, fit + 1);
            let stop = (1_000_000, Content::Other(Signal::Pause, name));
            assert_eq!(s.sent_until(2_000_000, 0), [stop], "{flow_control:?}, {others} others");
        }
    }
}

/// A flow keeps its queue while packets of the flow are queued, even without sticky time. Otherwise
/// these packets would overtake each other.
#[test]
fn a_flow_of_bfc_keeps_its_queue_as_long_as_it_has_packets() {
    let mut s = script(FlowControlConfig::Bfc(BfcConfig { sticky: 0.0, ..Default::default() }), vec![packets(0, 2)]);
    s.arrive_each(0, 1_000_000, 0, 0, 0..5);
    assert_eq!(s.port(2).occupied_queues(), 1);
}

/// After a failure, neighbours forget the state exchanged before. The switch repeats all pauses
/// that still hold.
#[test]
fn a_recovered_link_repeats_all_pauses() {
    for (flow_control, name) in both() {
        let mut s = script(flow_control, vec![packets(0, 2)]);
        s.arrive_each(1000, 0, 0, 0, 0..20);
        let stop = |at| (at, Content::Other(Signal::Pause, name));
        assert_eq!(s.sent_until(1_000_000, 0), [stop(1000)]);
        s.link_change(1_000_000, 0, false);
        s.link_change(2_000_000, 0, true);
        assert_eq!(s.sent_until(3_000_000, 0), [stop(2_000_000)]);
    }
}

/// At the other end of the link, flows paused before the failure continue after the recovery,
/// unless another PAUSE arrives.
#[test]
fn a_recovered_link_has_open_gates() {
    for (flow_control, name) in
        [(FlowControlConfig::Bfc(BfcConfig::default()), 8), (FlowControlConfig::PerFlow(PerFlowConfig {}), 0)]
    {
        // `name` is the flow's queue at the host, or the flow itself.
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

/// A flow is acknowledged in full while it is paused. The next flow gets a queue of its own, whose
/// gate is open.
#[test]
fn a_flow_that_ends_while_paused_delays_no_other() {
    next_flow_is_not_paused(&FlowControlConfig::PerFlow(PerFlowConfig {}), 0);
}

/// Checks that a second flow starts on time after a PAUSE of `name` and the end of the first flow.
fn next_flow_is_not_paused(flow_control: &FlowControlConfig, name: u32) {
    let flows = vec![flow(0, 2, 952, 0), flow(0, 2, 952, 5_000)];
    let mut host = Script::new(&spec(flow_control.clone()), flows, 0);
    expect!(host, 0..80_000 ps, port 0, Data(3, 0));
    host.arrive_control(100_000, 0, pause(flow_control, name));
    host.arrive_answer(1_000_000, 0, 0, PacketKind::Ack, 1);
    expect!(host, 5_000_000..5_080_000 ps, port 0, Data(3, 0));
}

/// The next flow takes queue 8 of the finished flow, so a PAUSE of queue 9 stops no flow.
#[test]
fn a_flow_of_bfc_takes_the_queue_of_a_finished_flow() {
    next_flow_is_not_paused(&FlowControlConfig::Bfc(BfcConfig::default()), 9);
}

#[test]
fn queues_of_bfc_in_use_are_counted() {
    let mut s = script(FlowControlConfig::Bfc(BfcConfig::default()), vec![packets(0, 2), packets(1, 2)]);
    for (flow, used) in [(0, 1), (1, 2), (1, 2)] {
        s.arrive_data(1000, flow as u16, flow, 0);
        assert_eq!(s.node.flow_control().most_queues_used(), used);
    }
}

/// A host keeps ACKs in the queue of their class, which PAUSE frames of these flow controls cannot
/// address. A PAUSE caused by ACKs would stop other packets, or none.
#[test]
fn acks_pause_nobody() {
    for (flow_control, _) in both() {
        let mut s = script(flow_control, vec![packets(2, 0)]);
        for psn in 0..300 {
            s.arrive_answer(1000, 0, 0, PacketKind::Ack, psn);
        }
        assert_eq!(s.port(2).queued_bytes(), 18_000);
        assert_eq!(s.next_sent(1_000_000), None);
    }
}
