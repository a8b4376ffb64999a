//! Order of the actions that a hook of a flow control requests: packet scripts with a test
//! mechanism.
//!
//! Frames are those of the HPCC simulator with 952 B of payload at 100 Gb/s: data frames take
//! 80,000 ps, PFC frames 3,000 ps.

use crate::prelude::*;
use backwater_fabric::contract::{AddedQueues, QueueChoice, Stage};
use backwater_fabric::frame::Pfc;
use backwater_fabric::frame::cause::Causes;

/// Flow control that keeps every flow in a queue of its own, closed until a link-local frame
/// arrives on the port. That frame opens all queues, and the flow control sends a frame back.
#[derive(Debug)]
struct ClosedQueues;

/// Number of unused queues before those of flows. Queues of flows therefore have indices above 64.
const SPARE: u16 = 90;

impl FlowControl for ClosedQueues {
    fn added_queues(&self) -> AddedQueues {
        AddedQueues { most: SPARE + 2, stage: Stage::Wire, ..Default::default() }
    }

    fn queue(&mut self, packet: &PacketContext<'_>, _view: &View<'_>) -> QueueChoice {
        let flow = packet.packet.frame.packet().expect("only packets are queued").flow;
        packet.in_queue(QueueIx(CLASSES as u16 + SPARE + flow.0 as u16), 0)
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

flow_control!(ClosedQueues, ClosedQueues: |_options, _site| ClosedQueues);

#[test]
fn a_frame_sent_by_a_hook_precedes_the_packets_it_releases() {
    let mut spec = star(4);
    (spec.framing, spec.mtu) = (Framing::HpccNs3, Bytes(952));
    spec.switch.flow_control = FlowControlConfig::custom(ClosedQueues);
    let flows = vec![flow(0, 1, 95_200, 0), flow(2, 1, 95_200, 0)];
    let mut s = Script::new(&spec, flows, 4);
    arrive!(s, 100_000 ps, port 0, data of flow 0, psn 0);
    arrive!(s, 100_000 ps, port 2, data of flow 1, psn 0);
    arrive!(s, 180_000 ps, port 0, data of flow 0, psn 1);
    expect_nothing!(s, before 1_000_000 ps);
    arrive!(s, 1_000_000 ps, port 1, resume [3]);
    expect!(s, 1_000_000..1_003_000 ps, port 1, Resume(vec![3]));
    // After the frame, packets of both flows leave in turn.
    expect_each!(s, from 1_003_000 ps, 80_000 ps each, port 1, [Data(3, 0), Data(3, 0), Data(3, 1)]);
    expect_nothing!(s, before 2_000_000 ps);
}
