//! Tests of the ledger: sequences of events with sums calculated by hand. Times are in ps.

use super::*;
use crate::frame::PacketKind;
use crate::testing::{fabric, star};
use proptest::prelude::*;

const PORT: PortIx = PortIx(0);
const DATA: Class = Class(3);
const QUEUE: QueueIx = QueueIx(3);

/// Returns the ledger of a host with one port.
fn ledger() -> Ledger {
    Ledger::new(fabric(star(2)).wiring.ports_of(crate::ids::NodeId(0)), true)
}

fn at(ps: u64) -> Time {
    Time::from_ps(ps)
}

fn journey(start: u64) -> Journey {
    Journey::new(at(start))
}

fn packet(kind: PacketKind, class: u8) -> OnWire {
    OnWire::Packet(kind, Class(class))
}

fn because(root: u32) -> Option<Cause> {
    Some(PortId(root).into())
}

/// Returns terms with their roots and lengths.
fn spans(journey: &Journey) -> Vec<(Term, Option<u32>, u64)> {
    journey.spans().map(|span| (span.term, span.root.map(|root| root.0), span.length.ps())).collect()
}

/// A packet waits in queue 3 from 100 to 1000. Of several simultaneous reasons, the first in the
/// expected list counts.
#[test]
fn a_packet_in_a_queue_waits_for_the_first_reason_that_holds() {
    let mut ledger = ledger();
    // When the packet arrives, a frame of its own queue is on the wire, until 150.
    ledger.start(PORT, packet(PacketKind::Data, 3), Some(QUEUE), &[], at(150), at(50));
    let mut journey = Journey::new(at(100));
    ledger.join(PORT, QUEUE, DATA, &mut journey, at(100));
    // The gate closes meanwhile. From 150 on, the gate counts, whatever else is on the wire, except
    // while the link is down.
    ledger.gate(PORT, QUEUE, because(7), at(120));
    ledger.start(PORT, packet(PacketKind::Data, 3), Some(QueueIx(9)), &[], at(220), at(200));
    ledger.link(PORT, false, at(230));
    ledger.link(PORT, true, at(300));
    ledger.gate(PORT, QUEUE, None, at(320));
    // The gate is open. A frame of the packet's class takes 10, a frame of another class 20, one of
    // the control class 30, and a link-local frame 40.
    ledger.start(PORT, packet(PacketKind::Data, 3), None, &[], at(330), at(320));
    ledger.start(PORT, packet(PacketKind::Data, 4), Some(QueueIx(4)), &[], at(350), at(330));
    ledger.start(PORT, packet(PacketKind::Cnp, 0), Some(QueueIx(0)), &[], at(380), at(350));
    ledger.start(PORT, OnWire::LinkLocal, None, &[], at(420), at(380));
    // The gate closes again: first for a root, then to keep packets in order.
    ledger.gate(PORT, QUEUE, because(8), at(420));
    ledger.gate(PORT, QUEUE, Some(Cause::order(PortId(0))), at(500));
    ledger.gate(PORT, QUEUE, None, at(600));
    ledger.leave(PORT, QUEUE, DATA, &mut journey, at(600));
    let expected = [
        (Term::LinkDown, None, 70),
        (Term::OwnQueue, None, 50),
        (Term::Paused, Some(7), 100),
        (Term::Paused, Some(8), 80),
        (Term::Order, None, 100),
        (Term::OtherQueue, None, 10),
        (Term::OtherClass, None, 20),
        (Term::ControlClass, None, 30),
        (Term::LinkLocal, None, 40),
    ];
    assert_eq!(spans(&journey), expected);
    assert_eq!(journey.until, at(600));
}

/// A frame from an inner queue counts as a frame of that queue for packets that wait there, and as
/// a frame of another queue elsewhere.
#[test]
fn a_frame_counts_for_every_queue_that_it_passed() {
    let mut ledger = ledger();
    let [mut one, mut other] = [Journey::new(at(0)), Journey::new(at(0))];
    ledger.join(PORT, QueueIx(8), DATA, &mut one, at(0));
    ledger.join(PORT, QueueIx(9), DATA, &mut other, at(0));
    ledger.start(PORT, packet(PacketKind::Data, 3), Some(QUEUE), &[QueueIx(8)], at(10), at(0));
    ledger.leave(PORT, QueueIx(8), DATA, &mut one, at(10));
    ledger.leave(PORT, QueueIx(9), DATA, &mut other, at(10));
    assert_eq!((spans(&one), spans(&other)), (vec![(Term::OwnQueue, None, 10)], vec![(Term::OtherQueue, None, 10)]));
}

/// Two packets wait in a queue. Waiting before the second packet's arrival does not count for that
/// packet, nor does time in which the queue was empty.
#[test]
fn a_packet_waits_from_its_arrival_on() {
    let mut ledger = ledger();
    let [mut one, mut other, mut late] = [0, 30, 200].map(|start| Journey::new(at(start)));
    ledger.gate(PORT, QUEUE, because(7), at(0));
    ledger.join(PORT, QUEUE, DATA, &mut one, at(0));
    ledger.join(PORT, QUEUE, DATA, &mut other, at(30));
    ledger.gate(PORT, QUEUE, None, at(50));
    ledger.leave(PORT, QUEUE, DATA, &mut one, at(50));
    ledger.start(PORT, packet(PacketKind::Data, 3), Some(QUEUE), &[], at(60), at(50));
    ledger.leave(PORT, QUEUE, DATA, &mut other, at(60));
    ledger.join(PORT, QUEUE, DATA, &mut late, at(200));
    ledger.leave(PORT, QUEUE, DATA, &mut late, at(200));
    assert_eq!(spans(&one), [(Term::Paused, Some(7), 50)]);
    assert_eq!(spans(&other), [(Term::OwnQueue, None, 10), (Term::Paused, Some(7), 20)]);
    assert_eq!(spans(&late), []);
}

#[test]
fn a_server_takes_time_to_bring_a_packet_to_its_queue() {
    let mut ledger = ledger();
    let mut journey = Journey::new(at(100));
    ledger.join(PORT, QUEUE, DATA, &mut journey, at(140));
    assert_eq!(spans(&journey), [(Term::Forwarding, None, 40)]);
    assert_eq!(spans(&ledger.forwarding(PORT, &Journey::new(at(10)), at(25))), [(Term::Forwarding, None, 15)]);
}

/// The journey of a waiting packet can be read at any time, and the packet continues to wait.
#[test]
fn the_journey_of_a_waiting_packet_can_be_read() {
    let mut ledger = ledger();
    let mut journey = Journey::new(at(0));
    ledger.join(PORT, QUEUE, DATA, &mut journey, at(0));
    ledger.gate(PORT, QUEUE, because(7), at(0));
    assert_eq!(spans(&ledger.waiting(PORT, (QUEUE, 0), DATA, &journey, at(40))), [(Term::Paused, Some(7), 40)]);
    ledger.leave(PORT, QUEUE, DATA, &mut journey, at(90));
    assert_eq!(spans(&journey), [(Term::Paused, Some(7), 90)]);
}

fn facts(next: Option<u32>, in_flight: u64, departure: u64) -> PairFacts {
    let (flow, port, queue) = (FlowId(5), PORT, QUEUE);
    PairFacts { flow, class: DATA, port, queue, next, in_flight, window: 1000, departure: at(departure) }
}

/// A sender sends from 0 on. Of several simultaneous reasons, the first in the order of precedence
/// counts.
#[test]
fn a_sender_waits_for_the_first_reason_that_holds() {
    let mut ledger = ledger();
    ledger.update_pair(Slot(2), facts(Some(0), 0, 0), at(0));
    // A data frame of the sender's class, a data frame of another class, an ACK, a CNP and a
    // link-local frame take 1, 2, 3, 4 and 5.
    ledger.start(PORT, packet(PacketKind::Data, 3), None, &[], at(1), at(0));
    ledger.start(PORT, packet(PacketKind::Data, 4), Some(QueueIx(4)), &[], at(3), at(1));
    ledger.start(PORT, packet(PacketKind::Nack, 3), Some(QUEUE), &[], at(6), at(3));
    ledger.start(PORT, packet(PacketKind::Notice, 0), Some(QueueIx(0)), &[], at(10), at(6));
    ledger.start(PORT, OnWire::LinkLocal, None, &[], at(15), at(10));
    // The sender sends new data for 20. Then all packets are sent.
    ledger.start(PORT, packet(PacketKind::Data, 3), None, &[], at(35), at(15));
    ledger.send(Slot(2), (0, at(35)), facts(None, 100, 15), &mut journey(0), at(15));
    // The sender has nothing to send for 25, has a full window for 30, and is paced for 35. The
    // gate is closed from 20 on.
    ledger.gate(PORT, QUEUE, because(7), at(20));
    ledger.update_pair(Slot(2), facts(Some(1), 1000, 35), at(60));
    ledger.update_pair(Slot(2), facts(Some(1), 999, 125), at(90));
    // The gate of the sender's queue holds the sender for 40, with cause 7. The gate then opens and
    // closes again at once, and holds the sender for another 60, with cause 8. The link is down
    // during 50 of the latter 60.
    ledger.gate(PORT, QUEUE, None, at(165));
    ledger.gate(PORT, QUEUE, because(8), at(165));
    ledger.link(PORT, false, at(175));
    ledger.link(PORT, true, at(225));
    ledger.gate(PORT, QUEUE, None, at(225));
    // The sender retransmits for 60.
    let mut journey = journey(0);
    ledger.send(Slot(2), (0, at(285)), facts(None, 999, 285), &mut journey, at(225));
    let expected = [
        (Term::Sending, None, 20),
        (Term::Unanswered, None, 25),
        (Term::Window, None, 30),
        (Term::Pacing, None, 35),
        (Term::LinkDown, None, 50),
        (Term::Paused, Some(7), 40),
        (Term::Paused, Some(8), 10),
        (Term::OtherFlow, None, 1),
        (Term::OtherClass, None, 2),
        (Term::Ack, None, 3),
        (Term::Cnp, None, 4),
        (Term::LinkLocal, None, 5),
    ];
    assert_eq!(spans(&journey), expected);
    let again = ledger.sending(Slot(2), (0, at(0)), at(285)).unwrap();
    assert_eq!(spans(&again)[1], (Term::Resending, None, 60));
    ledger.end(Slot(2));
    assert_eq!(ledger.sending(Slot(2), (0, at(0)), at(300)), None);
}

/// The sender waits in the added queue 11. The queue of its class, queue 3, is closed from 0 to 20.
/// Queue 11 is closed from 10 on, and then its gate is the reason.
#[test]
fn a_sender_is_held_by_the_gate_of_its_class_as_well() {
    let mut ledger = ledger();
    ledger.update_pair(Slot(0), PairFacts { queue: QueueIx(11), ..facts(Some(0), 0, 0) }, at(0));
    ledger.gate(PORT, QUEUE, because(7), at(0));
    ledger.gate(PORT, QueueIx(11), because(8), at(10));
    ledger.gate(PORT, QUEUE, None, at(20));
    let journey = ledger.sending(Slot(0), (0, at(0)), at(30)).unwrap();
    assert_eq!(spans(&journey), [(Term::Paused, Some(7), 10), (Term::Paused, Some(8), 20)]);
}

/// A slot that another flow reuses starts with a new account.
#[test]
fn a_slot_belongs_to_one_flow_at_a_time() {
    let mut ledger = ledger();
    ledger.update_pair(Slot(0), facts(None, 0, 0), at(0));
    ledger.update_pair(Slot(0), PairFacts { flow: FlowId(6), ..facts(None, 0, 0) }, at(40));
    assert_eq!(spans(&ledger.sending(Slot(0), (0, at(40)), at(50)).unwrap()), [(Term::Unanswered, None, 10)]);
}

/// For the packets of a flow, time counts from their first transmission on; time at the source does
/// not count.
#[test]
fn an_account_covers_the_last_packet_fully_and_others_from_the_first_wire() {
    let mut ledger = ledger();
    let mut journey = Journey::new(at(0));
    let [here, there] = [PortId(1), PortId(2)];
    journey.add(here, Term::Window, None, Duration::from_ps(5));
    journey.transmit(here, Duration::from_ps(7), Duration::ZERO);
    journey.add(there, Term::Paused, Some(PortId(9)), Duration::from_ps(11));
    ledger.deliver(FlowId(5), &journey, false);
    assert_eq!(ledger.account(FlowId(5)).completion, []);
    ledger.deliver(FlowId(5), &journey, true);
    let account = ledger.take(FlowId(5));
    assert_eq!((account.completion.len(), account.delivered), (3, 2));
    let sums = [((here, Term::Serialisation, None), 14), ((there, Term::Paused, Some(PortId(9))), 22)];
    assert_eq!(account.packets, Sums::from(sums.map(|(key, ps)| (key, Duration::from_ps(ps)))));
    assert_eq!(ledger.account(FlowId(5)), FlowAccount::default());
}

fn signals(count: u64, first: u64, last: u64, waited: u64) -> Signals {
    Signals { count, first: at(first), last: at(last), waited: Duration::from_ps(waited) }
}

/// A flow has two marks of one port, one mark of another port, and two notices. Of the two marks of
/// one port, the later mark is counted first.
#[test]
fn marks_and_notices_count_by_port() {
    let (mut receiver, mut sender) = (ledger(), ledger());
    for marked in [Some((PortId(1), at(40))), None, Some((PortId(1), at(30))), Some((PortId(2), at(9)))] {
        let mut journey = journey(0);
        journey.marked = marked;
        receiver.count_mark(FlowId(5), &journey);
    }
    sender.count_notice(FlowId(5), PortId(1), at(7));
    sender.count_notice(FlowId(5), PortId(1), at(8));
    let account = receiver.take(FlowId(5)).with_sender(sender.take(FlowId(5)));
    let expected = [
        ((SignalKind::Mark, PortId(1)), signals(2, 30, 40, 0)),
        ((SignalKind::Mark, PortId(2)), signals(1, 9, 9, 0)),
        ((SignalKind::Notice, PortId(1)), signals(2, 7, 8, 0)),
    ];
    assert_eq!(account.signals, SignalSums::from(expected));
}

/// The telemetry of a packet makes the sender slow down: the signal counts for the port of the
/// stamp.
#[test]
fn a_load_counts_for_the_port_that_stamped_it() {
    let mut ledger = ledger();
    let mut journey = journey(0);
    for (port, time) in [(3, 10), (4, 20)] {
        journey.stamp(PortId(port), at(time));
    }
    for hop in [1, 0, 1, 2] {
        ledger.count_signal(FlowId(5), CongestionSignal::Load(hop), &journey);
    }
    let expected = [(PortId(3), signals(1, 10, 10, 0)), (PortId(4), signals(2, 20, 20, 0))];
    let expected = expected.map(|(port, signals)| ((SignalKind::Load, port), signals));
    assert_eq!(ledger.take(FlowId(5)).signals, SignalSums::from(expected));
}

/// A flow starts at 100. Its packet leaves the source 5 later, waits for 11 at one port and does
/// not wait at the next port. The ACK waits for 13 at a third port.
#[test]
fn a_delay_counts_for_the_ports_where_packet_and_ack_waited() {
    let mut ledger = ledger();
    let mut journey = Journey::new(at(100));
    let mut add = |port, waits: &[(Term, u64)], transmission, propagation| {
        for (term, ps) in waits {
            journey.add(PortId(port), *term, None, Duration::from_ps(*ps));
        }
        journey.transmit(PortId(port), Duration::from_ps(transmission), Duration::from_ps(propagation));
    };
    add(0, &[(Term::Pacing, 5)], 7, 3);
    add(1, &[(Term::OwnQueue, 4), (Term::LinkLocal, 7)], 7, 0);
    add(2, &[], 7, 0);
    add(3, &[(Term::OtherClass, 13)], 1, 0);
    ledger.count_signal(FlowId(5), CongestionSignal::Delay, &journey);
    ledger.count_signal(FlowId(5), CongestionSignal::Delay, &journey);
    let expected = [(PortId(1), signals(2, 126, 126, 22)), (PortId(3), signals(2, 153, 153, 26))];
    let expected = expected.map(|(port, signals)| ((SignalKind::Delay, port), signals));
    assert_eq!(ledger.take(FlowId(5)).signals, SignalSums::from(expected));
}

/// An ACK counts as opening a full window if the window was full until the ACK arrived, and is not
/// full any more.
#[test]
fn an_ack_counts_that_opens_a_full_window() {
    let mut ledger = ledger();
    let mut journey = Journey::new(at(0));
    journey.transmit(PortId(1), Duration::from_ps(7), Duration::ZERO);
    let mut openings = |before: u64, after: u64| {
        ledger.update_pair(Slot(0), facts(Some(3), before, 0), at(0));
        ledger.update_pair(Slot(0), facts(Some(3), after, 0), at(1));
        ledger.open_window(Slot(0), &journey);
        ledger.account(FlowId(5)).openings
    };
    assert_eq!([openings(999, 900), openings(1000, 999), openings(1000, 1000), openings(1200, 10)], [0, 1, 1, 2]);
    let account = ledger.account(FlowId(5));
    assert_eq!(account.window[&(PortId(1), Term::Serialisation, None)], Duration::from_ps(14));
    // Without a packet to send, the window holds nothing back.
    ledger.update_pair(Slot(0), facts(None, 1000, 0), at(2));
    ledger.update_pair(Slot(0), facts(None, 0, 0), at(3));
    ledger.open_window(Slot(0), &journey);
    assert_eq!(ledger.account(FlowId(5)).openings, 2);
}

#[test]
fn a_journey_can_be_cut_short() {
    let mut journey = Journey::new(at(10));
    journey.transmit(PortId(1), Duration::from_ps(5), Duration::from_ps(20));
    assert_eq!((journey.until, journey.sent_after()), (at(35), Duration::ZERO));
    journey.cut(at(40));
    assert_eq!(journey.until, at(35));
    journey.cut(at(17));
    assert_eq!(spans(&journey), [(Term::Serialisation, None, 5), (Term::Propagation, None, 2)]);
    journey.cut(at(15));
    assert_eq!(spans(&journey), [(Term::Serialisation, None, 5)]);
    journey.cut(at(10));
    assert_eq!(spans(&journey), []);
}

/// A sender moves to another port of its host. Waiting counts at the port where it occurred,
/// including the roots of closed gates.
#[test]
fn waiting_of_a_sender_counts_at_the_port_where_it_waits() {
    let fabric = fabric(star(2));
    let ports = fabric.wiring.ports_of(crate::ids::NodeId(2));
    let mut ledger = Ledger::new(ports, true);
    let here = |port| PairFacts { port, ..facts(Some(0), 0, 0) };
    ledger.gate(PortIx(0), QueueIx(3), because(7), at(0));
    ledger.update_pair(Slot(0), here(PortIx(0)), at(0));
    ledger.update_pair(Slot(0), here(PortIx(1)), at(30));
    ledger.link(PortIx(1), false, at(30));
    ledger.link(PortIx(1), true, at(50));
    ledger.update_pair(Slot(0), here(PortIx(0)), at(50));
    let mut journey = journey(0);
    ledger.send(Slot(0), (0, at(80)), here(PortIx(0)), &mut journey, at(60));
    let found: Vec<_> = journey.spans().map(|span| (span.port, span.term, span.length.ps())).collect();
    let [first, second] = [ports[0].id, ports[1].id];
    assert_eq!(found, [(first, Term::Paused, 30), (second, Term::LinkDown, 20), (first, Term::Paused, 10)]);
    assert_eq!(journey.until, at(60));
}

/// Time by reason and root, in ps.
type Waits = BTreeMap<(Term, Option<PortId>), u64>;

/// Reference of the ledger of one port: visits everything that waits, from change to change.
#[derive(Default)]
struct Reference {
    now: Time,
    is_down: bool,
    until: Time,
    frame: Option<OnWire>,
    /// Queues that the frame on the wire passed.
    passed: Vec<QueueIx>,
    gates: BTreeMap<QueueIx, Cause>,
    packets: Vec<(QueueIx, Class, Waits)>,
    /// Facts, end of own data on the wire, true if that data is a retransmission, and times.
    pairs: [Option<(PairFacts, Time, bool, Waits)>; 2],
    /// One more than the highest packet that each queue pair sent.
    highest: [Psn; 2],
}

impl Reference {
    /// A frame that passed `passed` starts on the wire.
    fn start(&mut self, ledger: &mut Ledger, frame: OnWire, passed: &[QueueIx], until: Time) {
        (self.frame, self.until, self.passed) = (Some(frame), until, passed.to_vec());
        let (queue, before) = passed.split_first().map_or((None, passed), |(queue, before)| (Some(*queue), before));
        ledger.start(PORT, frame, queue, before, until, self.now);
    }

    fn advance(&mut self, now: Time) {
        while self.now < now {
            let ends = self.pairs.iter().flatten().flat_map(|(facts, own, ..)| [facts.departure, *own]);
            let end = ends.chain([self.until]).filter(|end| *end > self.now).min().unwrap_or(now).min(now);
            let length = (end - self.now).ps();
            let mut packets = std::mem::take(&mut self.packets);
            for (queue, class, waits) in &mut packets {
                *waits.entry(self.reason_in(*queue, *class)).or_default() += length;
            }
            self.packets = packets;
            let mut pairs = std::mem::take(&mut self.pairs);
            for (facts, own, resends, waits) in pairs.iter_mut().flatten() {
                *waits.entry(self.reason_of(facts, *own, *resends)).or_default() += length;
            }
            (self.pairs, self.now) = (pairs, end);
        }
    }

    fn closed(cause: &Cause) -> (Term, Option<PortId>) {
        if cause.for_order { (Term::Order, None) } else { (Term::Paused, Some(cause.root)) }
    }

    fn reason_in(&self, queue: QueueIx, class: Class) -> (Term, Option<PortId>) {
        let frame = self.frame.filter(|_| self.now < self.until);
        match (frame, self.gates.get(&queue)) {
            _ if self.is_down => (Term::LinkDown, None),
            (Some(_), _) if self.passed.contains(&queue) => (Term::OwnQueue, None),
            (_, Some(cause)) => Self::closed(cause),
            (Some(OnWire::LinkLocal), None) => (Term::LinkLocal, None),
            (Some(OnWire::Packet(_, other)), None) if other == class => (Term::OtherQueue, None),
            (Some(OnWire::Packet(_, Class::CONTROL)), None) => (Term::ControlClass, None),
            (Some(OnWire::Packet(..)), None) => (Term::OtherClass, None),
            (None, None) => (Term::Unexplained, None),
        }
    }

    fn reason_of(&self, facts: &PairFacts, own: Time, resends: bool) -> (Term, Option<PortId>) {
        let gate = self.gates.get(&facts.queue).or_else(|| self.gates.get(&QueueIx::of(facts.class)));
        match (self.frame.filter(|_| self.now < self.until), gate) {
            _ if self.now < own => (if resends { Term::Resending } else { Term::Sending }, None),
            _ if facts.next.is_none() => (Term::Unanswered, None),
            _ if facts.is_window_full() => (Term::Window, None),
            _ if self.now < facts.departure => (Term::Pacing, None),
            _ if self.is_down => (Term::LinkDown, None),
            (_, Some(cause)) => Self::closed(cause),
            (Some(OnWire::LinkLocal), None) => (Term::LinkLocal, None),
            (Some(OnWire::Packet(PacketKind::Ack | PacketKind::Nack, _)), None) => (Term::Ack, None),
            (Some(OnWire::Packet(PacketKind::Cnp | PacketKind::Notice, _)), None) => (Term::Cnp, None),
            (Some(OnWire::Packet(PacketKind::Data, other)), None) if other == facts.class => (Term::OtherFlow, None),
            (Some(OnWire::Packet(PacketKind::Data, _)), None) => (Term::OtherClass, None),
            (None, None) => (Term::Unexplained, None),
        }
    }
}

/// Returns the time in a journey by reason and root.
fn waits(journey: &Journey) -> Waits {
    let mut waits = Waits::new();
    for span in journey.spans() {
        *waits.entry((span.term, span.root)).or_default() += span.length.ps();
    }
    waits
}

proptest! {
    /// Any sequence of events at a port gives the same times as a visit to everything that waits.
    #[test]
    fn sums_of_the_line_give_the_time_of_each_waiter(
        events in prop::collection::vec((0u64..30, 0u8..9, 0u16..4, 0u8..4, 1u64..40), 1..120),
    ) {
        let (mut ledger, mut reference) = (ledger(), Reference::default());
        let mut journeys: Vec<Journey> = Vec::new();
        let kinds = [PacketKind::Data, PacketKind::Ack, PacketKind::Cnp, PacketKind::Data];
        for (wait, event, queue, choice, length) in events {
            let now = reference.now + Duration::from_ps(wait);
            reference.advance(now);
            let (queue, class) = (QueueIx([0, 3, 4, 11][usize::from(queue)]), Class([0, 3, 4, 3][usize::from(queue)]));
            let (slot, until) = (Slot(u32::from(choice % 2)), now + Duration::from_ps(length));
            let is_idle = !reference.is_down && reference.until <= now;
            match event {
                0 | 1 => {
                    let mut journey = Journey::new(now);
                    ledger.join(PORT, queue, class, &mut journey, now);
                    journeys.push(journey);
                    reference.packets.push((queue, class, Waits::new()));
                }
                2 => {
                    let first = reference.packets.iter().position(|(other, ..)| *other == queue);
                    let Some((at, (_, class, expected))) = first.map(|at| (at, reference.packets.remove(at))) else {
                        continue;
                    };
                    let mut journey = journeys.remove(at);
                    prop_assert_eq!(&waits(&ledger.waiting(PORT, (queue, 0), class, &journey, now)), &expected);
                    ledger.leave(PORT, queue, class, &mut journey, now);
                    prop_assert_eq!(waits(&journey), expected);
                }
                3 | 4 if is_idle => {
                    let passed = [queue, QueueIx(12), queue];
                    let count = usize::from(event - 2) + usize::from(choice == 3);
                    let frame = packet(kinds[usize::from(choice)], class.0);
                    reference.start(&mut ledger, frame, &passed[..count], until);
                }
                5 if is_idle => reference.start(&mut ledger, OnWire::LinkLocal, &[], until),
                6 => {
                    let causes = [None, because(1), because(2), Some(Cause::order(PortId(0)))];
                    let cause = causes[usize::from(choice)].filter(|_| !reference.gates.contains_key(&queue));
                    ledger.gate(PORT, queue, cause, now);
                    reference.gates.remove(&queue);
                    reference.gates.extend(cause.map(|cause| (queue, cause)));
                }
                7 if choice == 0 => {
                    reference.is_down = !reference.is_down;
                    ledger.link(PORT, !reference.is_down, now);
                }
                7 => {
                    let next = (choice > 1).then_some(1);
                    let facts = PairFacts { queue, class, ..facts(next, 980 + length, now.ps() + length) };
                    let facts = if choice == 3 { PairFacts { in_flight: 0, ..facts } } else { facts };
                    ledger.update_pair(slot, facts, now);
                    match &mut reference.pairs[slot.index()] {
                        Some((known, ..)) => *known = facts,
                        place => *place = Some((facts, Time::ZERO, false, Waits::new())),
                    }
                }
                8 if is_idle => {
                    let Some((mut facts, ..)) = reference.pairs[slot.index()] else { continue };
                    facts.departure = until + Duration::from_ps(5 * u64::from(choice));
                    reference.start(&mut ledger, packet(PacketKind::Data, facts.class.0), &[], until);
                    let (psn, mut journey) = (Psn::from(choice), Journey::new(Time::ZERO));
                    ledger.send(slot, (psn, until), facts, &mut journey, now);
                    let highest = &mut reference.highest[slot.index()];
                    let resends = psn < std::mem::replace(highest, (psn + 1).max(*highest));
                    if let Some((known, own, resent, expected)) = &mut reference.pairs[slot.index()] {
                        prop_assert_eq!(&waits(&journey), &*expected);
                        (*known, *own, *resent) = (facts, until, resends);
                    }
                }
                _ => {}
            }
            for (slot, pair) in reference.pairs.iter().enumerate() {
                let Some((.., expected)) = pair else { continue };
                let journey = ledger.sending(Slot(slot as u32), (0, Time::ZERO), now).unwrap();
                prop_assert_eq!(&waits(&journey), expected);
            }
        }
    }
}
