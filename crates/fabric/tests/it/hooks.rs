//! What hooks of a flow control may ask for, and in which order it happens: scripts with a mechanism made for the purpose.
//!
//! Frames are those of the HPCC simulator with 952 B of payload at 100 Gb/s: data take 80,000 ps, PFC frames 3,000 ps.

use crate::prelude::*;
use backwater_fabric::contract::{AddedQueues, QueueChoice, Stage};
use backwater_fabric::frame::Pfc;
use backwater_fabric::frame::cause::Causes;

/// Keeps every flow in a queue of its own, shut, until a frame comes through the port: then lets all go and answers.
#[derive(Debug)]
struct Turnstile;

/// The queues of flows come behind these, beyond the first 64.
const SPARE: QueueIx = 90;

impl FlowControl for Turnstile {
    fn added_queues(&self) -> AddedQueues {
        AddedQueues { most: SPARE + 2, stage: Stage::Wire, ..Default::default() }
    }

    fn queue(&mut self, packet: &PacketContext<'_>, _view: &View<'_>) -> QueueChoice {
        let flow = packet.packet.frame.packet().expect("only packets are queued").flow;
        packet.in_queue(CLASSES as QueueIx + SPARE + flow.0 as QueueIx, 0)
    }

    fn on_enqueue(&mut self, packet: &PacketContext<'_>, _pressure: Pressure, view: &mut View<'_>) {
        let cause = view.port(packet.egress).id();
        view.close(packet.egress, packet.queue, cause);
    }

    fn on_control(&mut self, port: PortIx, _control: &Control, _causes: Option<&Causes>, view: &mut View<'_>) {
        for queue in view.port(port).closed_queues().collect::<Vec<_>>() {
            view.open(port, queue);
        }
        let enabled = ClassMask::of(Class(3));
        view.send(port, Control::Pfc(Pfc { enabled, quanta: 0, reliable: true }));
    }
}

impl FlowControlAccounts for Turnstile {}

impl Options for Turnstile {}

impl FlowControlOptions for Turnstile {
    type Instance = Turnstile;

    fn facts(&self, _is_host: bool) -> FlowControlFacts {
        FlowControlFacts::default()
    }

    fn build(&self, _site: &Site<'_>) -> Turnstile {
        Turnstile
    }
}

#[test]
fn a_frame_sent_by_a_hook_goes_before_the_packets_that_it_lets_go() {
    let mut spec = star(4, 100, 1000);
    (spec.framing, spec.mtu) = (Framing::HpccNs3, Bytes(952));
    spec.switch.flow_control = FlowControlConfig::custom(Turnstile);
    let flows = vec![flow(0, 1, 95_200, 0), flow(2, 1, 95_200, 0)];
    let mut s = Script::new(&spec, flows, 4);
    arrive!(s, 100_000 ps, port 0, data of flow 0, psn 0);
    arrive!(s, 100_000 ps, port 2, data of flow 1, psn 0);
    arrive!(s, 180_000 ps, port 0, data of flow 0, psn 1);
    expect_nothing!(s, before 1_000_000 ps);
    arrive!(s, 1_000_000 ps, port 1, resume [3]);
    expect!(s, 1_000_000..1_003_000 ps, port 1, Resume(vec![3]));
    // Then one packet of each flow in turn.
    expect!(s, 1_003_000..1_083_000 ps, port 1, Data(3, 0));
    expect!(s, 1_083_000..1_163_000 ps, port 1, Data(3, 0));
    expect!(s, 1_163_000..1_243_000 ps, port 1, Data(3, 1));
    expect_nothing!(s, before 2_000_000 ps);
}
