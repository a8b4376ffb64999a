//! The ledger of a node: where packets spend their time here, to the picosecond (`probes.flows`).
//!
//! A [`Clock`] per queue and per queue pair adds up what is waited for, reason by reason. Whenever something changes at a port, a link that fails, a gate
//! that closes, a frame that starts, the clocks of all who wait there go on to the present first. A packet that joins a queue remembers what the
//! clock showed ([`Journey`]); when it leaves, the difference is what it has waited for. So nothing is kept per packet but in its side record, and what a
//! packet costs does not grow with the length of its queue.

mod clock;
mod pair;
mod signals;

pub(crate) use self::pair::PairFacts;
pub use self::signals::{SignalKind, SignalSums, Signals};

use self::clock::{Clock, Reason};
use crate::contract::{CongestionSignal, PortFacts};
use crate::frame::cause::Cause;
use crate::frame::journey::{Journey, Span, Term, Waiting};
use crate::frame::{PacketKind, Psn};
use crate::ids::{Class, FlowId, PortId, PortIx, QueueIx, Slot};
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Time};
use std::collections::BTreeMap;

/// Time by port, reason and root.
pub type Sums = BTreeMap<(PortId, Term, Option<PortId>), Duration>;

/// Where the packets of one flow have spent their time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowAccount {
    /// The packet with whose arrival the flow was complete, from the flow's start on. Of one that is not: the packet that its receiver waits for, or its
    /// sender while that has not left, until now.
    pub completion: Vec<Span>,
    /// The data packets that have been delivered: their time from the first wire on, added up.
    pub packets: Sums,
    /// How many these are.
    pub delivered: u64,
    /// The packets, and the ACKs that answer them, whose arrival opened a window that was full: their time from the first wire on, added up.
    pub window: Sums,
    /// How many ACKs these are.
    pub openings: u64,
    /// Congestion signals that reached the receiver ([`SignalKind::Mark`]) or the sender (others).
    pub signals: SignalSums,
}

impl FlowAccount {
    /// What its receiver knows, and its sender.
    pub(crate) fn with_sender(mut self, FlowAccount { window, openings, signals, .. }: FlowAccount) -> FlowAccount {
        self.signals.extend(signals);
        FlowAccount { window, openings, ..self }
    }
}

/// The ledger of a node.
#[derive(Debug)]
pub(crate) struct Ledger {
    ports: IndexVec<PortIx, PortLedger>,
    /// By slot.
    pairs: IndexVec<Slot, Option<PairLedger>>,
    /// Of the flows that start or end here: what is known of them at this end.
    flows: BTreeMap<FlowId, FlowAccount>,
    /// Of the data packet that has come last, until it is answered.
    pub(super) answered: Option<Box<Journey>>,
}

#[derive(Debug)]
struct PortLedger {
    id: PortId,
    is_down: bool,
    wire: Transmission,
    /// As many as have been needed so far.
    queues: IndexVec<QueueIx, QueueLedger>,
}

/// The frame that is, or was last, on the wire.
#[derive(Debug)]
struct Transmission {
    until: Time,
    frame: OnWire,
    /// The queue that it came from; `None` of a link-local frame, and of data that a host sends itself.
    queue: Option<QueueIx>,
    /// Queues of the port that it had been in before.
    passed: Vec<QueueIx>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum OnWire {
    LinkLocal,
    Packet(PacketKind, Class),
}

#[derive(Debug, Default)]
struct QueueLedger {
    clock: Clock,
    /// Why its gate is closed.
    closed: Option<Cause>,
    /// Packets in it that remember when they came.
    packets: u32,
}

#[derive(Clone, Debug)]
struct PairLedger {
    facts: PairFacts,
    clock: Clock,
    /// What it has done and waited for at the ports that it has left.
    earlier: Sums,
    /// Until when data of its own is on the wire, and whether that has been sent before.
    own: (Time, bool),
    /// One more than the highest packet that it has sent.
    highest: Psn,
    /// Whether the window was full until what has just come opened it.
    has_opened: bool,
}

impl PortLedger {
    pub(super) fn gate(&self, queue: QueueIx) -> Option<Cause> {
        self.queues.get(queue.index()).and_then(|queue| queue.closed)
    }

    fn queue(&mut self, queue: QueueIx) -> &mut QueueLedger {
        if self.queues.len() <= queue.index() {
            self.queues.resize_with(queue.index() + 1, QueueLedger::default);
        }
        &mut self.queues[queue]
    }

    /// All who wait in its queues do so until `now`.
    fn advance(&mut self, now: Time) {
        for queue in 0..self.queues.len() {
            self.advance_queue(queue as QueueIx, now);
        }
    }

    fn advance_queue(&mut self, queue: QueueIx, now: Time) {
        if self.queues[queue].packets > 0 {
            let mut clock = std::mem::take(&mut self.queues[queue].clock);
            clock.advance(now, |at| self.reason_in(queue, at));
            self.queues[queue].clock = clock;
        }
    }

    /// What the packets in `queue` wait for at `at`.
    fn reason_in(&self, queue: QueueIx, at: Time) -> Reason {
        let (wire, is_busy) = (&self.wire, at < self.wire.until);
        let is_own = wire.queue == Some(queue) || wire.passed.contains(&queue);
        match self.gate(queue) {
            _ if self.is_down => Reason::lasting(Term::LinkDown),
            _ if is_busy && is_own => Reason::until(wire.until, Waiting::For(Term::OwnQueue)),
            Some(cause) => Reason::closed(cause),
            None if is_busy => Reason::until(wire.until, wire.waiting_of_queues()),
            None => Reason::lasting(Term::Unexplained),
        }
    }

    /// What the queue pair of `facts`, whose own data is on the wire until `own.0`, does or waits for at `at`.
    fn reason_of(&self, facts: &PairFacts, own: (Time, bool), at: Time) -> Reason {
        let (wire, class) = (&self.wire, facts.class);
        match self.gate(facts.queue).or_else(|| self.gate(class.0.into())) {
            _ if at < own.0 => Reason::until(own.0, Waiting::For(if own.1 { Term::Resending } else { Term::Sending })),
            _ if facts.next.is_none() => Reason::lasting(Term::Unanswered),
            _ if facts.is_window_full() => Reason::lasting(Term::Window),
            _ if at < facts.departure => Reason::until(facts.departure, Waiting::For(Term::Pacing)),
            _ if self.is_down => Reason::lasting(Term::LinkDown),
            Some(cause) => Reason::closed(cause),
            None if at < wire.until => Reason::until(wire.until, wire.waiting_of_pairs(class)),
            None => Reason::lasting(Term::Unexplained),
        }
    }
}

impl Transmission {
    /// What packets in queues wait for that are not those of the frame's own queue.
    fn waiting_of_queues(&self) -> Waiting {
        match self.frame {
            OnWire::LinkLocal => Waiting::For(Term::LinkLocal),
            OnWire::Packet(_, class) => Waiting::Others(class),
        }
    }

    /// What the data of a host's own flow waits for that is of `class`.
    fn waiting_of_pairs(&self, class: Class) -> Waiting {
        Waiting::For(match self.frame {
            OnWire::LinkLocal => Term::LinkLocal,
            OnWire::Packet(PacketKind::Ack | PacketKind::Nack, _) => Term::Ack,
            OnWire::Packet(PacketKind::Cnp | PacketKind::Notice, _) => Term::Cnp,
            OnWire::Packet(PacketKind::Data, other) if other != class => Term::OtherClass,
            OnWire::Packet(PacketKind::Data, _) => Term::OtherFlow,
        })
    }
}

impl HeapBytes for Ledger {
    fn heap_bytes(&self) -> u64 {
        let queues = || self.ports.iter().flat_map(|port| &port.queues);
        let clocks = queues().map(|queue| &queue.clock).chain(self.pairs.iter().flatten().map(|pair| &pair.clock));
        let of_ports = self.ports.iter().map(|port| port.queues.heap_bytes() + port.wire.passed.heap_bytes());
        let sums = |sums: &Sums| (sums.len() * size_of::<((PortId, Term, Option<PortId>), Duration)>()) as u64;
        let flow = |account: &FlowAccount| {
            size_of::<(FlowId, FlowAccount)>() as u64
                + account.completion.heap_bytes()
                + sums(&account.packets)
                + sums(&account.window)
                + (account.signals.len() * size_of::<((SignalKind, PortId), Signals)>()) as u64
        };
        self.ports.heap_bytes()
            + of_ports.sum::<u64>()
            + self.pairs.heap_bytes()
            + clocks.map(Clock::heap_bytes).sum::<u64>()
            + self.pairs.iter().flatten().map(|pair| sums(&pair.earlier)).sum::<u64>()
            + self.answered.heap_bytes()
            + self.flows.values().map(flow).sum::<u64>()
    }
}

impl Ledger {
    pub(crate) fn new(ports: &[PortFacts]) -> Ledger {
        let port = |facts: &PortFacts| PortLedger {
            id: facts.id,
            is_down: false,
            wire: Transmission { until: Time::ZERO, frame: OnWire::LinkLocal, queue: None, passed: Vec::new() },
            queues: IndexVec::default(),
        };
        Ledger {
            ports: ports.iter().map(port).collect(),
            pairs: IndexVec::default(),
            flows: BTreeMap::new(),
            answered: None,
        }
    }

    /// All who wait at `port` do so until `now`.
    fn advance(&mut self, port: PortIx, now: Time) {
        self.ports[port].advance(now);
        for pair in self.pairs.iter_mut().flatten().filter(|pair| pair.facts.port == port) {
            pair.advance(&self.ports[port], now);
        }
    }

    /// The link of a port goes down or comes up.
    pub(crate) fn link(&mut self, port: PortIx, up: bool, now: Time) {
        self.advance(port, now);
        self.ports[port].is_down = !up;
    }

    /// The gate of a queue closes, or opens.
    pub(crate) fn gate(&mut self, port: PortIx, queue: QueueIx, closed: Option<Cause>, now: Time) {
        self.advance(port, now);
        self.ports[port].queue(queue).closed = closed;
    }

    /// A packet joins a queue, `forwarded` after it has come.
    pub(super) fn join(&mut self, port: PortIx, queue: QueueIx, journey: &mut Journey, now: Time) {
        let port = &mut self.ports[port];
        if port.queue(queue).packets == 0 {
            port.queue(queue).clock.restart(now);
        }
        port.advance_queue(queue, now);
        journey.add(port.id, Term::Forwarding, None, now.since(journey.until));
        let queue = port.queue(queue);
        queue.packets += 1;
        journey.mark = Some(queue.clock.totals());
    }

    /// A packet of `class` leaves a queue.
    pub(super) fn leave(&mut self, port: PortIx, queue: QueueIx, class: Class, journey: &mut Journey, now: Time) {
        let port = &mut self.ports[port];
        port.advance_queue(queue, now);
        let id = port.id;
        let queue = port.queue(queue);
        if let Some(mark) = journey.mark.take() {
            queue.packets -= 1;
            queue.clock.add_to(&mark, class, id, journey);
        }
    }

    /// A frame starts on the wire, and has left at `until`.
    pub(super) fn start(
        &mut self,
        port: PortIx,
        frame: OnWire,
        queue: Option<QueueIx>,
        passed: &[QueueIx],
        until: Time,
        now: Time,
    ) {
        self.advance(port, now);
        let wire = &mut self.ports[port].wire;
        (wire.until, wire.frame, wire.queue) = (until, frame, queue);
        wire.passed.clear();
        wire.passed.extend_from_slice(passed);
    }

    /// What is known of a queue pair has changed.
    pub(super) fn update_pair(&mut self, slot: Slot, facts: PairFacts, now: Time) {
        if self.pairs.len() <= slot.index() {
            self.pairs.resize(slot.index() + 1, None);
        }
        match &mut self.pairs[slot] {
            Some(pair) if pair.facts.flow == facts.flow => {
                let port = &self.ports[pair.facts.port];
                pair.advance(port, now);
                if pair.facts.port != facts.port {
                    pair.leave(port.id, now);
                }
                pair.has_opened = pair.facts.is_window_full() && !facts.is_window_full();
                pair.facts = facts;
            }
            place => {
                *place = Some(PairLedger {
                    facts,
                    clock: Clock::new(now),
                    earlier: Sums::new(),
                    own: (Time::ZERO, false),
                    highest: 0,
                    has_opened: false,
                });
            }
        }
    }

    /// A queue pair begins to send packet `psn`, which has left at `until`: the journey of that packet, which began with the flow at `start`.
    pub(super) fn send(&mut self, slot: Slot, psn: Psn, until: Time, start: Time, now: Time) -> Option<Journey> {
        let pair = self.pairs.get_mut(slot.index())?.as_mut()?;
        let port = &self.ports[pair.facts.port];
        pair.advance(port, now);
        pair.own = (until, psn < pair.highest);
        pair.highest = pair.highest.max(psn + 1);
        let mut journey = Journey::new(start);
        pair.add_to(port.id, &mut journey);
        Some(journey)
    }

    /// A queue pair is done.
    pub(super) fn end(&mut self, slot: Slot) {
        if let Some(pair) = self.pairs.get_mut(slot.index()) {
            *pair = None;
        }
    }

    /// A data packet has been delivered; with the last one, its flow is complete.
    pub(super) fn deliver(&mut self, flow: FlowId, journey: &Journey, is_last: bool) {
        let account = self.flows.entry(flow).or_default();
        account.delivered += 1;
        sum(&journey.spans, &mut account.packets);
        if is_last {
            account.completion.clone_from(&journey.spans);
        }
    }

    /// An ACK has come whose packet, and itself, have spent their time as `journey` says: if it has opened a full window, that counts.
    pub(super) fn open_window(&mut self, slot: Slot, journey: &Journey) {
        let Some(Some(pair)) = self.pairs.get(slot.index()) else { return };
        if pair.has_opened {
            let account = self.flows.entry(pair.facts.flow).or_default();
            account.openings += 1;
            sum(&journey.spans, &mut account.window);
        }
    }

    /// Counts the ECN mark of a data packet of `flow` that has arrived, if it carries one.
    pub(super) fn count_mark(&mut self, flow: FlowId, journey: &Journey) {
        if let Some((port, at)) = journey.marked {
            let signals = &mut self.flows.entry(flow).or_default().signals;
            signals::count(signals, SignalKind::Mark, port, at, Duration::ZERO);
        }
    }

    /// Counts the congestion signal in an ACK of `flow`.
    pub(crate) fn count_signal(&mut self, flow: FlowId, signal: CongestionSignal, journey: &Journey) {
        signals::count_answer(&mut self.flows.entry(flow).or_default().signals, signal, journey);
    }

    /// Counts a notice about `flow` that the switch of `port` made at `at`.
    pub(crate) fn count_notice(&mut self, flow: FlowId, port: PortId, at: Time) {
        let signals = &mut self.flows.entry(flow).or_default().signals;
        signals::count(signals, SignalKind::Notice, port, at, Duration::ZERO);
    }

    /// What is known of a flow at this end; it is over.
    pub(crate) fn take(&mut self, flow: FlowId) -> FlowAccount {
        self.flows.remove(&flow).unwrap_or_default()
    }

    /// What is known of a flow at this end so far.
    pub(crate) fn account(&self, flow: FlowId) -> FlowAccount {
        self.flows.get(&flow).cloned().unwrap_or_default()
    }

    /// What the journey of a packet in `queue` has come to by `now`, as if it left.
    pub(crate) fn waiting(&self, port: PortIx, queue: QueueIx, class: Class, journey: &Journey, now: Time) -> Journey {
        let port = &self.ports[port];
        let (mut journey, mut clock) = (journey.clone(), port.queues[queue].clock.clone());
        clock.advance(now, |at| port.reason_in(queue, at));
        let mark = journey.mark.take().unwrap_or_default();
        clock.add_to(&mark, class, port.id, &mut journey);
        journey
    }

    /// What the journey of a packet that a server has yet to bring to its queue has come to by `now`.
    pub(crate) fn forwarding(&self, port: PortIx, journey: &Journey, now: Time) -> Journey {
        let mut journey = journey.clone();
        journey.add(self.ports[port].id, Term::Forwarding, None, now.since(journey.until));
        journey
    }

    /// What the sender in `slot` has done and waited for by `now`, since its flow began at `start`.
    pub(crate) fn sending(&self, slot: Slot, start: Time, now: Time) -> Option<Journey> {
        let mut pair = self.pairs.get(slot.index())?.clone()?;
        let port = &self.ports[pair.facts.port];
        pair.advance(port, now);
        let mut journey = Journey::new(start);
        pair.add_to(port.id, &mut journey);
        Some(journey)
    }
}

impl PairLedger {
    fn advance(&mut self, port: &PortLedger, now: Time) {
        let PairLedger { facts, clock, own, .. } = self;
        clock.advance(now, |at| port.reason_of(facts, *own, at));
    }

    /// It goes on at another port.
    pub(super) fn leave(&mut self, port: PortId, now: Time) {
        let mut here = Journey::new(now);
        self.clock.add_to(&Default::default(), self.facts.class, port, &mut here);
        add(&here.spans, &mut self.earlier);
        self.clock = Clock::new(now);
    }

    /// Adds what it has done and waited for.
    fn add_to(&self, port: PortId, journey: &mut Journey) {
        for ((port, term, root), length) in &self.earlier {
            journey.add(*port, *term, *root, *length);
        }
        self.clock.add_to(&Default::default(), self.facts.class, port, journey);
    }
}

/// Adds spans from the first wire on to sums.
fn sum(spans: &[Span], sums: &mut Sums) {
    let on_wire = spans.iter().position(|span| span.term == Term::Serialisation).unwrap_or(spans.len());
    add(&spans[on_wire..], sums);
}

fn add(spans: &[Span], sums: &mut Sums) {
    for span in spans {
        *sums.entry((span.port, span.term, span.root)).or_default() += span.length;
    }
}

#[cfg(test)]
mod tests;
