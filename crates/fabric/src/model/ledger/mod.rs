//! Ledger of a node: attributes the time of packets at the node to reasons, to the picosecond
//! (`probes.flows`).
//!
//! A `Clock` per queue and per queue pair adds up waiting time by reason. All clocks of a port
//! advance to the present before the port changes: a link fails, a gate closes, a frame starts. A
//! packet that joins a queue stores the clock's totals in its [`Journey`]; when it leaves, the
//! difference is its waiting time. The only state per packet is therefore its side record, and the
//! cost of a packet does not depend on the queue's length.

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

/// Time by port, reason and congestion root.
pub type Sums = BTreeMap<(PortId, Term, Option<PortId>), Duration>;

/// Account of the packets of one flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowAccount {
    /// Journey of the packet that completed the flow, from the flow's start. For an incomplete
    /// flow: the journey so far of the packet that the receiver expects, or the journey of the
    /// sender until that packet leaves.
    pub completion: Vec<Span>,
    /// Total time of the delivered data packets, from their first transmission on.
    pub packets: Sums,
    /// Number of delivered data packets.
    pub delivered: u64,
    /// Total time of the ACKs that opened a full window, and of the packets that they acknowledge,
    /// from their first transmission on.
    pub window: Sums,
    /// Number of ACKs that opened a full window.
    pub openings: u64,
    /// Congestion signals that reached the receiver ([`SignalKind::Mark`]) or the sender (other
    /// kinds).
    pub signals: SignalSums,
}

impl FlowAccount {
    /// Combines the receiver's account with the sender's.
    pub(crate) fn with_sender(mut self, FlowAccount { window, openings, signals, .. }: FlowAccount) -> FlowAccount {
        self.signals.extend(signals);
        FlowAccount { window, openings, ..self }
    }
}

/// Ledger of a node.
#[derive(Debug)]
pub(crate) struct Ledger {
    ports: IndexVec<PortIx, PortLedger>,
    /// Queue pairs by slot.
    pairs: IndexVec<Slot, Option<PairLedger>>,
    /// Accounts of the flows that start or end at this node, with the facts known at this end.
    flows: BTreeMap<FlowId, FlowAccount>,
    /// Journey of the data packet that arrived last, until it is answered.
    pub(super) answered: Option<Box<Journey>>,
}

#[derive(Debug)]
struct PortLedger {
    id: PortId,
    is_down: bool,
    wire: Transmission,
    /// Queues used so far.
    queues: IndexVec<QueueIx, QueueLedger>,
}

/// Frame on the wire, or the last frame that was on the wire.
#[derive(Debug)]
struct Transmission {
    until: Time,
    frame: OnWire,
    /// Queue of the frame; `None` for link-local frames and for data of a host's own flows.
    queue: Option<QueueIx>,
    /// Other queues of the port that the frame passed before.
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
    /// Cause of the queue's closed gate; `None` if the gate is open.
    closed: Option<Cause>,
    /// Number of packets in the queue that store the clock's totals.
    packets: u32,
}

#[derive(Clone, Debug)]
struct PairLedger {
    facts: PairFacts,
    clock: Clock,
    /// Time at ports that the queue pair has left.
    earlier: Sums,
    /// End of the queue pair's own data on the wire, and true if that data is a retransmission.
    own: (Time, bool),
    /// One more than the highest packet that the queue pair sent.
    highest: Psn,
    /// True if the ACK that just arrived opened a full window.
    has_opened: bool,
}

impl PortLedger {
    pub(super) fn gate(&self, queue: QueueIx) -> Option<Cause> {
        self.queues.get(queue.index()).and_then(|queue| queue.closed)
    }

    fn queue(&mut self, queue: QueueIx) -> &mut QueueLedger {
        self.queues.get_or_default(queue)
    }

    /// Advances the clocks of all occupied queues to `now`.
    fn advance(&mut self, now: Time) {
        for queue in self.queues.ids() {
            self.advance_queue(queue, now);
        }
    }

    fn advance_queue(&mut self, queue: QueueIx, now: Time) {
        if self.queues[queue].packets > 0 {
            let mut clock = std::mem::take(&mut self.queues[queue].clock);
            clock.advance(now, |at| self.reason_in(queue, at));
            self.queues[queue].clock = clock;
        }
    }

    /// Returns the reason for which the packets in `queue` wait at `at`.
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

    /// Returns the activity of a queue pair at `at`. The queue pair's own data is on the wire until
    /// `own.0`.
    fn reason_of(&self, facts: &PairFacts, own: (Time, bool), at: Time) -> Reason {
        let (wire, class) = (&self.wire, facts.class);
        match self.gate(facts.queue).or_else(|| self.gate(QueueIx::of(class))) {
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
    /// Returns the reason for which packets in other queues wait for this frame.
    fn waiting_of_queues(&self) -> Waiting {
        match self.frame {
            OnWire::LinkLocal => Waiting::For(Term::LinkLocal),
            OnWire::Packet(_, class) => Waiting::Others(class),
        }
    }

    /// Returns the reason for which the data of a host's own flow in `class` waits for this frame.
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

    /// Advances all clocks of `port` to `now`.
    fn advance(&mut self, port: PortIx, now: Time) {
        self.ports[port].advance(now);
        for pair in self.pairs.iter_mut().flatten().filter(|pair| pair.facts.port == port) {
            pair.advance(&self.ports[port], now);
        }
    }

    /// The link of a port fails or recovers.
    pub(crate) fn link(&mut self, port: PortIx, up: bool, now: Time) {
        self.advance(port, now);
        self.ports[port].is_down = !up;
    }

    /// The gate of a queue closes or opens.
    pub(crate) fn gate(&mut self, port: PortIx, queue: QueueIx, closed: Option<Cause>, now: Time) {
        self.advance(port, now);
        self.ports[port].queue(queue).closed = closed;
    }

    /// A packet joins a queue. The time since its journey's end is forwarding time.
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

    /// A frame starts on the wire and ends at `until`.
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

    /// The facts of a queue pair changed.
    pub(super) fn update_pair(&mut self, slot: Slot, facts: PairFacts, now: Time) {
        match self.pairs.get_or_default(slot) {
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

    /// A queue pair starts to send packet `psn`, until `until`. Returns the packet's journey, which
    /// starts with the flow at `start`.
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

    /// A queue pair is finished.
    pub(super) fn end(&mut self, slot: Slot) {
        if let Some(pair) = self.pairs.get_mut(slot.index()) {
            *pair = None;
        }
    }

    /// A data packet was delivered. The last packet completes its flow.
    pub(super) fn deliver(&mut self, flow: FlowId, journey: &Journey, is_last: bool) {
        let account = self.flows.entry(flow).or_default();
        account.delivered += 1;
        sum(&journey.spans, &mut account.packets);
        if is_last {
            account.completion.clone_from(&journey.spans);
        }
    }

    /// An ACK arrived. If the ACK opened a full window, counts `journey`, which covers the
    /// acknowledged packet and the ACK.
    pub(super) fn open_window(&mut self, slot: Slot, journey: &Journey) {
        let Some(Some(pair)) = self.pairs.get(slot.index()) else { return };
        if pair.has_opened {
            let account = self.flows.entry(pair.facts.flow).or_default();
            account.openings += 1;
            sum(&journey.spans, &mut account.window);
        }
    }

    /// Counts the ECN mark of a data packet of `flow`, if it carries one.
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

    /// Counts a notice about `flow` that the switch of `port` generated at `at`.
    pub(crate) fn count_notice(&mut self, flow: FlowId, port: PortId, at: Time) {
        let signals = &mut self.flows.entry(flow).or_default().signals;
        signals::count(signals, SignalKind::Notice, port, at, Duration::ZERO);
    }

    /// Removes and returns the account of a flow that is over.
    pub(crate) fn take(&mut self, flow: FlowId) -> FlowAccount {
        self.flows.remove(&flow).unwrap_or_default()
    }

    /// Returns the present account of a flow.
    pub(crate) fn account(&self, flow: FlowId) -> FlowAccount {
        self.flows.get(&flow).cloned().unwrap_or_default()
    }

    /// Returns the journey of a packet that waits in `queue`, as if the packet left at `now`.
    pub(crate) fn waiting(&self, port: PortIx, queue: QueueIx, class: Class, journey: &Journey, now: Time) -> Journey {
        let port = &self.ports[port];
        let (mut journey, mut clock) = (journey.clone(), port.queues[queue].clock.clone());
        clock.advance(now, |at| port.reason_in(queue, at));
        let mark = journey.mark.take().unwrap_or_default();
        clock.add_to(&mark, class, port.id, &mut journey);
        journey
    }

    /// Returns the journey up to `now` of a packet that a relaying server still forwards to its
    /// queue.
    pub(crate) fn forwarding(&self, port: PortIx, journey: &Journey, now: Time) -> Journey {
        let mut journey = journey.clone();
        journey.add(self.ports[port].id, Term::Forwarding, None, now.since(journey.until));
        journey
    }

    /// Returns the journey up to `now` of the sender in `slot`. The flow started at `start`.
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

    /// Closes the account of the port that the queue pair leaves.
    pub(super) fn leave(&mut self, port: PortId, now: Time) {
        let mut here = Journey::new(now);
        self.clock.add_to(&Default::default(), self.facts.class, port, &mut here);
        add(&here.spans, &mut self.earlier);
        self.clock = Clock::new(now);
    }

    /// Adds the time of the queue pair to `journey`.
    fn add_to(&self, port: PortId, journey: &mut Journey) {
        for ((port, term, root), length) in &self.earlier {
            journey.add(*port, *term, *root, *length);
        }
        self.clock.add_to(&Default::default(), self.facts.class, port, journey);
    }
}

/// Adds spans to `sums`, from the first transmission on.
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
