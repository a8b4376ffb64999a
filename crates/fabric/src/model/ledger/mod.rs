//! Ledger of a node: attributes the time of packets at the node to reasons, to the picosecond
//! (`probes.flows`).
//!
//! A port's [`Line`] adds up the time of its frames. A queue's waiting time follows from these sums
//! and from the times of its gate and of its own frames. A packet that joins a queue stores the
//! queue's totals in its [`Journey`]; when it leaves, the difference is its waiting time. A queue
//! pair stores the sums of the line when it starts to wait. The cost of a frame therefore does not
//! depend on the number of waiting packets, queues or queue pairs, and the only state per packet is
//! its side record.

mod line;
mod pair;
mod queue;
mod roots;
mod signals;
mod tally;

pub(super) use self::line::OnWire;
pub(crate) use self::pair::PairFacts;
pub use self::signals::{SignalKind, SignalSums, Signals};

use self::line::{Line, Transmission};
use self::pair::PairLedger;
use self::queue::{Gate, QueueLedger};
use self::tally::Tally;
use crate::contract::{CongestionSignal, PortFacts};
use crate::frame::Psn;
use crate::frame::cause::Cause;
use crate::frame::journey::{Journey, Span, Term};
use crate::ids::{Class, FlowId, PortId, PortIx, QueueIx, Slot};
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

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
    flows: BTreeMap<FlowId, Account>,
    /// True if ACKs continue the journeys of the packets that they answer.
    pub(super) follows_acks: bool,
    /// Journey of the data packet that arrived last, until it is answered.
    pub(super) answered: Option<Journey>,
}

/// [`FlowAccount`] whose sums still grow.
#[derive(Clone, Debug, Default)]
struct Account {
    completion: Vec<Span>,
    packets: Tally,
    delivered: u64,
    window: Tally,
    openings: u64,
    signals: SignalSums,
}

#[derive(Debug)]
struct PortLedger {
    line: Line,
    /// Queues used so far.
    queues: IndexVec<QueueIx, QueueLedger>,
    /// Queue pairs by the time at which they start to wait for the port, if frames may start
    /// before.
    due: BTreeSet<(Time, Slot)>,
    /// Lower limit of the times in `due`.
    next_due: Time,
}

impl Account {
    fn heap_bytes(&self) -> u64 {
        let signals = self.signals.len() * size_of::<((SignalKind, PortId), Signals)>();
        self.completion.heap_bytes() + self.packets.heap_bytes() + self.window.heap_bytes() + signals as u64
    }
}

impl From<Account> for FlowAccount {
    fn from(Account { completion, packets, delivered, window, openings, signals }: Account) -> FlowAccount {
        let (packets, window) = (packets.sums(), window.sums());
        FlowAccount { completion, packets, delivered, window, openings, signals }
    }
}

impl PortLedger {
    fn new(id: PortId) -> PortLedger {
        PortLedger { line: Line::new(id), queues: IndexVec::default(), due: BTreeSet::new(), next_due: Time::NEVER }
    }

    /// Advances the line to `now`.
    fn advance(&mut self, now: Time) {
        let busy = self.line.advance(now);
        if busy > Duration::ZERO {
            let Transmission { frame, queue, passed, .. } = &self.line.wire;
            let mut transmit = |queue: &QueueIx| {
                if let Some(queue) = self.queues.get_mut(queue.index()) {
                    queue.transmit(*frame, busy);
                }
            };
            queue.iter().for_each(&mut transmit);
            passed.iter().for_each(transmit);
        }
    }

    /// Returns the gate that holds a queue pair.
    fn gate_of(&self, facts: &PairFacts) -> Gate {
        let gate = |queue: QueueIx| self.queues.get(queue.index()).map_or(Gate::Open, |queue| queue.gate);
        match gate(facts.queue) {
            Gate::Open => gate(QueueIx::of(facts.class)),
            closed => closed,
        }
    }

    /// Stores the delays of the line at the time from which the queue pair in `slot` may wait, now
    /// if they are known, or else when that time has come.
    fn arm(&mut self, slot: Slot, pair: &mut PairLedger) {
        let ready = pair.ready_from();
        if ready <= self.line.constant_until() {
            self.disarm(slot, pair);
            pair.delays = self.line.delays(pair.facts.class, ready);
        } else if pair.due != ready {
            self.disarm(slot, pair);
            self.due.insert((ready, slot));
            (pair.due, self.next_due) = (ready, self.next_due.min(ready));
        }
    }

    /// Stores delays of the line for the queue pairs that are due by `now`.
    #[inline(never)]
    fn ready(&mut self, pairs: &mut IndexVec<Slot, Option<PairLedger>>, now: Time) {
        while let Some(&(at, slot)) = self.due.first().filter(|(at, _)| *at <= now) {
            self.due.pop_first();
            if let Some(pair) = &mut pairs[slot] {
                pair.due = Time::NEVER;
                pair.delays = self.line.delays(pair.facts.class, at);
            }
        }
        self.next_due = self.due.first().map_or(Time::NEVER, |(at, _)| *at);
    }

    /// Drops the time at which delays are to be stored for the queue pair in `slot`.
    fn disarm(&mut self, slot: Slot, pair: &mut PairLedger) {
        if pair.due != Time::NEVER {
            self.due.remove(&(pair.due, slot));
            pair.due = Time::NEVER;
        }
    }
}

/// Returns the bytes of sums on the heap, without the nodes of the tree.
fn sums_bytes(sums: &Sums) -> u64 {
    (sums.len() * size_of::<((PortId, Term, Option<PortId>), Duration)>()) as u64
}

impl HeapBytes for Ledger {
    fn heap_bytes(&self) -> u64 {
        let port = |port: &PortLedger| {
            let queues = port.queues.iter().map(QueueLedger::heap_bytes).sum::<u64>();
            let lists = port.queues.heap_bytes() + port.line.wire.passed.heap_bytes();
            queues + lists + (port.due.len() * size_of::<(Time, Slot)>()) as u64
        };
        let flow = |account: &Account| size_of::<(FlowId, Account)>() as u64 + account.heap_bytes();
        self.ports.heap_bytes()
            + self.ports.iter().map(port).sum::<u64>()
            + self.pairs.heap_bytes()
            + self.pairs.iter().flatten().map(PairLedger::heap_bytes).sum::<u64>()
            + self.answered.as_ref().map_or(0, Journey::heap_bytes)
            + self.flows.values().map(flow).sum::<u64>()
    }
}

impl Ledger {
    pub(crate) fn new(ports: &[PortFacts], follows_acks: bool) -> Ledger {
        Ledger {
            ports: ports.iter().map(|facts| PortLedger::new(facts.id)).collect(),
            pairs: IndexVec::default(),
            flows: BTreeMap::new(),
            follows_acks,
            answered: None,
        }
    }

    /// Advances a port to `now`, and stores its delays for the queue pairs that are due.
    #[inline]
    fn advance(&mut self, port: PortIx, now: Time) -> &mut PortLedger {
        let port = &mut self.ports[port];
        if port.line.since == now {
            return port;
        }
        if port.next_due <= now {
            port.ready(&mut self.pairs, now);
        }
        port.advance(now);
        port
    }

    /// Changes the link or a gate of `port` at `now`, which may hold the queue pairs for which
    /// `concerns` returns true.
    fn change(
        &mut self,
        port: PortIx,
        now: Time,
        concerns: impl Fn(&PairFacts) -> bool,
        change: impl FnOnce(&mut PortLedger),
    ) {
        self.advance(port, now);
        let (place, pairs) = (&mut self.ports[port], &mut self.pairs);
        let concerned = |pair: &&mut PairLedger| pair.facts.port == port && concerns(&pair.facts);
        for pair in pairs.iter_mut().flatten().filter(concerned) {
            pair.advance(&place.line, place.gate_of(&pair.facts), now);
        }
        change(place);
        for (slot, pair) in pairs.ids().zip(pairs.iter_mut()) {
            if let Some(pair) = pair.as_mut().filter(concerned) {
                place.arm(slot, pair);
            }
        }
    }

    /// The link of a port fails or recovers.
    pub(crate) fn link(&mut self, port: PortIx, up: bool, now: Time) {
        self.change(port, now, |_| true, |port| port.line.is_down = !up);
    }

    /// The gate of a queue closes or opens.
    pub(crate) fn gate(&mut self, port: PortIx, queue: QueueIx, closed: Option<Cause>, now: Time) {
        let concerns = |facts: &PairFacts| facts.queue == queue || QueueIx::of(facts.class) == queue;
        self.change(port, now, concerns, |port| {
            port.queues.get_or_default(queue).set_gate(closed.into(), &port.line);
        });
    }

    /// A packet of `class` joins a queue. The time since its journey's end is forwarding time.
    pub(super) fn join(&mut self, port: PortIx, queue: QueueIx, class: Class, journey: &mut Journey, now: Time) {
        let PortLedger { line, queues, .. } = self.advance(port, now);
        journey.add(line.port, Term::Forwarding, None, now.since(journey.until));
        queues.get_or_default(queue).join(class, line);
    }

    /// A packet of `class` leaves a queue.
    pub(super) fn leave(&mut self, port: PortIx, queue: QueueIx, class: Class, journey: &mut Journey, now: Time) {
        let PortLedger { line, queues, .. } = self.advance(port, now);
        queues[queue].leave(class, line, journey);
    }

    /// A frame starts on the wire and ends at `until`. The frame has passed `queue`, and `passed`
    /// before, if it is a packet of a queue.
    pub(super) fn start(
        &mut self,
        port: PortIx,
        frame: OnWire,
        queue: Option<QueueIx>,
        passed: &[QueueIx],
        until: Time,
        now: Time,
    ) {
        let wire = &mut self.advance(port, now).line.wire;
        (wire.until, wire.frame, wire.queue) = (until, frame, queue);
        wire.passed.clear();
        for before in passed {
            // A packet may pass a queue twice.
            if queue != Some(*before) && !wire.passed.contains(before) {
                wire.passed.push(*before);
            }
        }
    }

    /// The facts of a queue pair may have changed.
    pub(super) fn update_pair(&mut self, slot: Slot, facts: PairFacts, now: Time) {
        debug_assert!(self.follows_acks || facts.window == u64::MAX, "ACKs open windows: needs_ack_times");
        match self.pairs.get_or_default(slot) {
            Some(pair) if pair.facts.flow == facts.flow => {
                if pair.needs_update(&facts) {
                    self.advance_pair(slot, now);
                    self.set_facts(slot, facts, now);
                } else {
                    pair.set_facts(facts);
                }
            }
            _ => {
                self.end(slot);
                self.pairs[slot] = Some(PairLedger::new(facts, now));
                self.set_facts(slot, facts, now);
            }
        }
    }

    /// A queue pair starts to send packet `psn`, until `until`, and has `facts` from then on. Adds
    /// the time of the queue pair to the packet's journey.
    pub(super) fn send(
        &mut self,
        slot: Slot,
        (psn, until): (Psn, Time),
        facts: PairFacts,
        journey: &mut Journey,
        now: Time,
    ) {
        let Some((pair, port)) = self.advance_pair(slot, now) else { return };
        pair.add_to(pair.message_of(psn), port.line.port, journey);
        pair.send(psn, until);
        self.set_facts(slot, facts, now);
    }

    /// A message is posted on the connection in `slot`. `packets` are its first packet and the
    /// packet after its last one.
    pub(super) fn post(&mut self, slot: Slot, packets: [Psn; 2], now: Time) {
        if let Some((pair, _)) = self.advance_pair(slot, now) {
            pair.post(packets);
            // The queue pair may wait for its port from now on.
            let facts = pair.facts;
            self.set_facts(slot, facts, now);
        }
    }

    /// The first message of the connection in `slot` is acknowledged. Returns the connection's
    /// account since the previous message.
    pub(super) fn end_message(&mut self, slot: Slot, flow: FlowId) -> FlowAccount {
        if let Some(Some(pair)) = self.pairs.get_mut(slot.index()) {
            pair.end_message();
        }
        self.take(flow)
    }

    /// Returns the posting time of the message of packet `psn` of a connection.
    pub(super) fn posted(&self, slot: Slot, psn: Psn) -> Option<Time> {
        Some(self.pairs.get(slot.index())?.as_ref()?.message_of(psn)?.posted)
    }

    /// Sets the facts of a queue pair that has advanced to `now`.
    fn set_facts(&mut self, slot: Slot, facts: PairFacts, now: Time) {
        self.advance(facts.port, now);
        let Some(pair) = &mut self.pairs[slot] else { return };
        if pair.facts.port != facts.port {
            let before = &mut self.ports[pair.facts.port];
            before.disarm(slot, pair);
            pair.leave(before.line.port);
        }
        pair.set_facts(facts);
        self.ports[facts.port].arm(slot, pair);
    }

    /// Advances a queue pair to `now`. Returns the queue pair and its port.
    fn advance_pair(&mut self, slot: Slot, now: Time) -> Option<(&mut PairLedger, &mut PortLedger)> {
        let port = self.pairs.get(slot.index())?.as_ref()?.facts.port;
        self.advance(port, now);
        let (pair, port) = (self.pairs[slot].as_mut()?, &mut self.ports[port]);
        pair.advance(&port.line, port.gate_of(&pair.facts), now);
        Some((pair, port))
    }

    /// A queue pair is finished.
    pub(super) fn end(&mut self, slot: Slot) {
        if let Some(mut pair) = self.pairs.get_mut(slot.index()).and_then(Option::take) {
            self.ports[pair.facts.port].disarm(slot, &mut pair);
        }
    }

    /// A data packet was delivered. The last packet completes its flow.
    pub(super) fn deliver(&mut self, flow: FlowId, journey: &Journey, is_last: bool) {
        let account = self.flows.entry(flow).or_default();
        account.delivered += 1;
        account.packets.add(journey.steps_on_way());
        if is_last {
            account.completion = journey.spans().collect();
        }
    }

    /// An ACK arrived. If the ACK opened a full window, counts `journey`, which covers the
    /// acknowledged packet and the ACK.
    pub(super) fn open_window(&mut self, slot: Slot, journey: &Journey) {
        let Some(Some(pair)) = self.pairs.get(slot.index()) else { return };
        if pair.has_opened {
            let account = self.flows.entry(pair.facts.flow).or_default();
            account.openings += 1;
            account.window.add(journey.steps_on_way());
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
        self.flows.remove(&flow).unwrap_or_default().into()
    }

    /// Returns the present account of a flow.
    pub(crate) fn account(&self, flow: FlowId) -> FlowAccount {
        self.flows.get(&flow).cloned().unwrap_or_default().into()
    }

    /// Returns the journey of a packet that waits in `queue` behind `ahead` packets with journeys,
    /// as if the packet left at `now`.
    pub(crate) fn waiting(
        &self,
        port: PortIx,
        (queue, ahead): (QueueIx, usize),
        class: Class,
        journey: &Journey,
        now: Time,
    ) -> Journey {
        let PortLedger { line, queues, .. } = &self.ports[port];
        let (mut line, mut ledger) = (line.clone(), queues[queue].clone());
        let busy = line.advance(now);
        if line.passed(queue) {
            ledger.transmit(line.wire.frame, busy);
        }
        ledger.waiting(ahead, class, &line, journey.clone())
    }

    /// Returns the journey up to `now` of a packet that a relaying server still forwards to its
    /// queue.
    pub(crate) fn forwarding(&self, port: PortIx, journey: &Journey, now: Time) -> Journey {
        let mut journey = journey.clone();
        journey.add(self.ports[port].line.port, Term::Forwarding, None, now.since(journey.until));
        journey
    }

    /// Returns the journey up to `now` of the sender in `slot`. The flow, or the message of packet
    /// `psn` of a connection, started at `start`.
    pub(crate) fn sending(&self, slot: Slot, (psn, start): (Psn, Time), now: Time) -> Option<Journey> {
        let mut pair = self.pairs.get(slot.index())?.clone()?;
        let port = &self.ports[pair.facts.port];
        pair.advance(&port.line, port.gate_of(&pair.facts), now);
        let mut journey = Journey::new(start);
        pair.add_to(pair.message_of(psn), port.line.port, &mut journey);
        Some(journey)
    }
}

fn add(spans: impl Iterator<Item = Span>, sums: &mut Sums) {
    for span in spans {
        *sums.entry((span.port, span.term, span.root)).or_default() += span.length;
    }
}

#[cfg(test)]
mod tests;
