//! A flow control for hosts that relay: it puts what it relays into another class, and relays its frames, each with one hop more.

use crate::prelude::*;
use backwater_fabric::contract::{AddedQueues, QueueChoice};
use backwater_fabric::frame::cause::Causes;

const TOY: Protocol = Protocol::named("toy-ladder");

/// Switches tell the upstream of every packet that makes a queue longer than 3 KB; what is heard is written down.
#[derive(Clone, Debug, Default)]
struct Ladder(Arc<Mutex<Vec<(NodeId, u32)>>>);

#[derive(Debug)]
struct Rung {
    toy: Ladder,
    node: NodeId,
    ports: PortIx,
    relays: bool,
}

fn frame(hops: u32) -> Control {
    Control::Custom { protocol: TOY, opcode: 1, signal: Signal::Other, reliable: true, words: [hops, 0, 0] }
}

impl Options for Ladder {}

impl FlowControlOptions for Ladder {
    type Instance = Rung;

    fn facts(&self, _is_host: bool) -> FlowControlFacts {
        FlowControlFacts { protocols: vec![TOY], ..Default::default() }
    }

    fn build(&self, site: &Site<'_>) -> Rung {
        Rung { toy: self.clone(), node: site.node, ports: site.ports.len() as PortIx, relays: site.relays }
    }
}

impl FlowControlAccounts for Rung {}

impl FlowControl for Rung {
    fn added_queues(&self) -> AddedQueues {
        AddedQueues { changes_class: self.relays, ..Default::default() }
    }

    fn queue(&mut self, packet: &PacketContext<'_>, _view: &View<'_>) -> QueueChoice {
        let class = Class(packet.packet.frame.class().0 + 1);
        QueueChoice { queue: QueueIx::from(class.0), class, note: 0 }
    }

    fn on_enqueue(&mut self, packet: &PacketContext<'_>, _pressure: Pressure, view: &mut View<'_>) {
        assert_eq!(packet.egress_class().0, packet.ingress_class().0 + u8::from(self.relays));
        if !self.relays && view.port(packet.egress).queue_bytes(packet.queue) > 3000 {
            view.send(packet.ingress(), frame(0));
        }
    }

    fn on_control(&mut self, port: PortIx, control: &Control, _causes: Option<&Causes>, view: &mut View<'_>) {
        let Control::Custom { protocol: TOY, words, .. } = control else { return };
        self.toy.0.lock().unwrap().push((self.node, words[0]));
        if self.relays {
            (0..self.ports).filter(|other| *other != port).for_each(|other| view.send(other, frame(words[0] + 1)));
        }
    }
}

fn ladder(n: u32) -> (Ladder, NetworkSpec) {
    let (toy, mut spec) = (Ladder::default(), bcube(n, 100, 1000));
    spec.switch.flow_control = FlowControlConfig::custom(toy.clone());
    spec.switch.buffer = Bytes(64 << 20);
    (toy, spec)
}

/// From h0 by h1 to h3 of BCube(2, 1): it comes in class 3 and leaves in class 4; the buffer is charged for the class in which it came.
#[test]
fn what_is_relayed_leaves_in_another_class() {
    let (_, spec) = ladder(2);
    let mut s = Script::new(&spec, vec![flow(0, 3, 10_000, 0)], 1);
    s.arrive_pfc(100, 1, &[4], 0);
    s.arrive_data(1_000_000, 0, 0, 0);
    s.arrive_data(1_000_000, 0, 0, 1);
    let pipeline = s.node.switch().unwrap();
    assert_eq!((pipeline.ingress_occupancy(0, Class(3)), pipeline.ingress_occupancy(0, Class(4))), (1086, 0));
    assert_eq!(s.next_sent(2_000_000).unwrap().says, Says::Data(4, 0));
    assert_eq!(s.next_sent(2_000_000).unwrap().says, Says::Data(4, 1));
    assert_eq!(s.node.switch().unwrap().ingress_occupancy(0, Class(3)), 0);
}

#[test]
fn frames_are_relayed_with_one_hop_more() {
    let (toy, spec) = ladder(2);
    let mut s = Script::new(&spec, vec![], 1);
    s.arrive_control(100, 0, frame(6));
    let sent = s.next_sent(1_000_000).unwrap();
    assert_eq!((sent.at, sent.port, sent.says), (100, 1, Says::Other(Signal::Other, 7)));
    assert_eq!(s.next_sent(1_000_000), None);
    assert_eq!(*toy.0.lock().unwrap(), [(NodeId(1), 6)]);
}

/// The next link is down: what is relayed waits at h1, and the audit finds it where it is charged.
#[test]
fn the_books_balance_while_relayed_packets_wait() {
    let (_, mut spec) = ladder(2);
    let at_us = |us| Time::ZERO + Duration::from_us(us);
    // Link 5 is that of h1 in layer 1.
    spec.faults = vec![LinkFault { link: 5, down: Time::ZERO, up: at_us(100) }];
    let through = |nodes: [u32; 3]| nodes.map(NodeId).to_vec();
    let relayed = FlowSpec { data_via: through([4, 1, 7]), ack_via: through([7, 1, 4]), ..flow(0, 3, 10_000, 0) };
    let mut simulation = Simulation::new(spec, vec![relayed], 1).unwrap();
    simulation.run_until(at_us(50), 1);
    assert_eq!(simulation.node(NodeId(1)).ports()[1].queue_bytes(4), 10 * 62 + 16 + 10_000);
    assert_eq!(simulation.audit(), []);
    common::drain(&mut simulation);
    assert_eq!((simulation.outcomes()[0].reception.delivered, simulation.audit()), (10_000, vec![]));
}

/// In a whole BCube(3, 1) under all-to-all traffic: what ends two links on was counted as two classes, the books balance at every node, and frames are heard two
/// links from where they were made.
#[test]
fn a_whole_network_with_relayed_classes_and_frames_balances() {
    let (toy, spec) = ladder(3);
    let pairs = (0..9u32).flat_map(|src| (1..9).map(move |ahead| (src, (src + ahead) % 9)));
    let flows = pairs.map(|(src, dst)| flow(src, dst, 40_000, 0)).collect();
    let (simulation, outcomes) = common::run(&spec, flows);
    assert!(outcomes.iter().all(|outcome| outcome.reception.delivered == 40_000 && outcome.retransmitted == 0));
    assert_eq!((simulation.audit(), simulation.totals().drops), (vec![], [0; 5]));
    let heard = toy.0.lock().unwrap();
    // A server hears of its own switches at first hand; a switch hears what a server has relayed, and sends nothing on.
    assert!(heard.iter().any(|(node, hops)| node.0 < 9 && *hops == 0));
    assert!(heard.iter().any(|(node, hops)| node.0 >= 9 && *hops == 1));
    assert!(heard.iter().all(|(_, hops)| *hops <= 1));
}
