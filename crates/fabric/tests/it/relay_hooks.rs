//! Flow controls for hosts that relay: relayed packets leave in another class, and relayed frames
//! count hops.

use crate::prelude::*;
use backwater_fabric::contract::{AddedQueues, QueueChoice};
use backwater_fabric::frame::cause::Causes;

const HOP_COUNT: Protocol = Protocol::named("hop-count");

/// Flow control whose switches send a frame upstream for every packet that makes a queue longer
/// than 3 KB. Received frames are recorded with their hops.
#[derive(Clone, Debug, Default)]
struct HopCounting(Log<(NodeId, u32)>);

#[derive(Debug)]
struct HopCounter {
    received: Log<(NodeId, u32)>,
    node: NodeId,
    ports: u16,
    relays: bool,
}

fn frame(hops: u32) -> Control {
    Control::Custom { protocol: HOP_COUNT, opcode: 1, signal: Signal::Other, reliable: true, words: [hops, 0, 0] }
}

flow_control!(HopCounting, HopCounter: |options, site| HopCounter {
    received: options.0.clone(),
    node: site.node,
    ports: site.ports.len() as u16,
    relays: site.relays,
}, HOP_COUNT);

impl FlowControl for HopCounter {
    fn added_queues(&self) -> AddedQueues {
        AddedQueues { changes_class: self.relays, ..Default::default() }
    }

    fn queue(&mut self, packet: &PacketContext<'_>, _view: &View<'_>) -> QueueChoice {
        let class = Class(packet.packet.frame.class().0 + 1);
        QueueChoice { queue: QueueIx::of(class), class, note: 0 }
    }

    fn on_enqueue(&mut self, packet: &PacketContext<'_>, _pressure: Pressure, view: &mut View<'_>) {
        assert_eq!(packet.egress_class().0, packet.ingress_class().0 + u8::from(self.relays));
        if !self.relays && view.port(packet.egress).queue_bytes(packet.queue) > 3000 {
            view.send(packet.ingress(), frame(0));
        }
    }

    fn on_control(&mut self, port: PortIx, control: &Control, _causes: Option<&Causes>, view: &mut View<'_>) {
        let Control::Custom { protocol: HOP_COUNT, words, .. } = control else { return };
        self.received.push((self.node, words[0]));
        for other in (0..self.ports).map(PortIx).filter(|other| self.relays && *other != port) {
            view.send(other, frame(words[0] + 1));
        }
    }
}

fn hop_counting(n: u32) -> (Log<(NodeId, u32)>, NetworkSpec) {
    let (received, mut spec) = (Log::default(), bcube(n, 1));
    spec.switch.flow_control = FlowControlConfig::custom(HopCounting(received.clone()));
    spec.switch.buffer = Bytes(64 << 20);
    (received, spec)
}

/// In BCube(2, 1), h1 relays a packet from h0 to h3. The packet arrives at h1 in class 3 and leaves
/// in class 4. The buffer is charged in the class of arrival.
#[test]
fn relayed_packets_leave_in_another_class() {
    let (_, spec) = hop_counting(2);
    let mut s = Script::new(&spec, vec![flow(0, 3, 10_000, 0)], 1);
    s.arrive_pfc(100, 1, &[4], 0);
    s.arrive_data(1_000_000, 0, 0, 0);
    s.arrive_data(1_000_000, 0, 0, 1);
    let pipeline = s.node.switch().unwrap();
    assert_eq!(pipeline.ingress_occupancies(PortIx(0))[3..5], [1086, 0]);
    assert_eq!(s.next_sent(2_000_000).unwrap().content, Content::Data(4, 0));
    assert_eq!(s.next_sent(2_000_000).unwrap().content, Content::Data(4, 1));
    assert_eq!(s.node.switch().unwrap().ingress_occupancies(PortIx(0)), [0; 8]);
}

#[test]
fn frames_are_relayed_with_one_hop_more() {
    let (received, spec) = hop_counting(2);
    let mut s = Script::new(&spec, vec![], 1);
    s.arrive_control(100, 0, frame(6));
    let sent = s.next_sent(1_000_000).unwrap();
    assert_eq!((sent.at, sent.port, sent.content), (100, 1, Content::Other(Signal::Other, 7)));
    assert_eq!(s.next_sent(1_000_000), None);
    assert_eq!(received.take(), [(NodeId(1), 6)]);
}

/// The next link is down, so relayed packets wait at h1. The audit finds them charged in their
/// class of arrival.
#[test]
fn the_audit_passes_while_relayed_packets_wait() {
    let (_, mut spec) = hop_counting(2);
    // Link 5 is h1's link in layer 1.
    spec.faults = vec![LinkFault { link: 5, down: Time::ZERO, up: at_us(100) }];
    let mut simulation = Simulation::new(spec, vec![via(0, &[4, 1, 7], 3, 10_000)], 1).unwrap();
    simulation.run_until(at_us(50), 1);
    assert_eq!(simulation.node(NodeId(1)).ports()[PortIx(1)].queue_bytes(QueueIx(4)), 10 * 62 + 16 + 10_000);
    assert_eq!(simulation.audit(), []);
    common::drain(&mut simulation);
    assert_eq!((simulation.outcomes()[0].reception.delivered, simulation.audit()), (10_000, vec![]));
}

/// All servers of BCube(3, 1) send to each other. Relayed packets are counted in two classes, the
/// audit finds no error at any node, and frames of flow control arrive two links from their origin.
#[test]
fn a_network_with_relayed_classes_and_frames_passes_the_audit() {
    let (received, spec) = hop_counting(3);
    let pairs = (0..9u32).flat_map(|src| (1..9).map(move |ahead| (src, (src + ahead) % 9)));
    let flows = pairs.map(|(src, dst)| flow(src, dst, 40_000, 0)).collect();
    let (simulation, outcomes) = common::run(&spec, flows);
    assert!(outcomes.iter().all(|outcome| outcome.reception.delivered == 40_000 && outcome.retransmitted == 0));
    assert_eq!((simulation.audit(), simulation.totals().drops), (vec![], [0; 5]));
    let received = received.take();
    // A server receives frames from its own switches. A switch receives relayed frames and does not
    // forward these.
    assert!(received.iter().any(|(node, hops)| node.0 < 9 && *hops == 0));
    assert!(received.iter().any(|(node, hops)| node.0 >= 9 && *hops == 1));
    assert!(received.iter().all(|(_, hops)| *hops <= 1));
}
