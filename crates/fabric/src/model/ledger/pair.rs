//! Time of a queue pair, by activity.

use super::line::{Delays, Line};
use super::queue::Gate;
use super::roots::Roots;
use super::{Sums, add, sums_bytes};
use crate::frame::Psn;
use crate::frame::journey::{Journey, Term};
use crate::ids::{Class, FlowId, PortId, PortIx, QueueIx};
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Time};
use std::collections::VecDeque;

/// Next packet, window and departure time of a queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairFacts {
    pub(crate) flow: FlowId,
    pub(crate) class: Class,
    pub(crate) port: PortIx,
    /// Queue of the port whose gate holds the queue pair back.
    pub(crate) queue: QueueIx,
    /// Next packet; `None` if all packets were sent.
    pub(crate) next: Option<Psn>,
    /// Payload bytes in flight.
    pub(crate) in_flight: u64,
    /// Maximum number of payload bytes in flight.
    pub(crate) window: u64,
    /// Earliest departure of the next packet by pacing.
    pub(crate) departure: Time,
}

impl PairFacts {
    /// Returns true if there is a packet to send and the window has no room for it.
    pub(crate) fn is_window_full(&self) -> bool {
        self.next.is_some() && self.in_flight >= self.window
    }
}

/// Adds up the time of a queue pair. If several activities hold at once, only the first one counts:
/// data of the queue pair is on the wire, all data is sent, the window is full, the rate allows no
/// packet, the link is down, a gate is closed, another frame is on the wire.
#[derive(Clone, Debug)]
pub(super) struct PairLedger {
    pub(super) facts: PairFacts,
    /// Time up to which `totals` are added up.
    since: Time,
    /// Time by activity, in the order of [`Term::ALL`].
    totals: Totals,
    /// Bits of the activities with time.
    used: u32,
    roots: Roots,
    /// Time at ports that the queue pair has left.
    earlier: Sums,
    /// Messages of a connection that are not acknowledged; empty for a flow.
    messages: VecDeque<MessageLedger>,
    /// End of the queue pair's own data on the wire, and true if that data is a retransmission.
    own: (Time, bool),
    /// One more than the highest packet that the queue pair sent.
    highest: Psn,
    /// True if the ACK that just arrived opened a full window.
    pub(super) has_opened: bool,
    /// Delays of the line at [`PairLedger::ready_from`], once this time has come.
    pub(super) delays: Delays,
    /// Time at which the port will store `delays`; [`Time::NEVER`] if the port will not.
    pub(super) due: Time,
}

impl PairLedger {
    pub(super) fn new(facts: PairFacts, now: Time) -> PairLedger {
        PairLedger {
            facts,
            since: now,
            totals: Default::default(),
            used: 0,
            roots: Roots::default(),
            earlier: Sums::new(),
            messages: VecDeque::new(),
            own: (Time::ZERO, false),
            highest: 0,
            has_opened: false,
            delays: Delays::default(),
            due: Time::NEVER,
        }
    }

    /// Returns the time from which the queue pair may wait for its port.
    pub(super) fn ready_from(&self) -> Time {
        self.since.max(self.own.0).max(self.facts.departure)
    }

    /// Advances to `now`. Since the last advance, the facts, the link and the gate have not
    /// changed; `gate` is the gate that holds the queue pair.
    pub(super) fn advance(&mut self, line: &Line, gate: Gate, now: Time) {
        if self.since == now {
            return;
        }
        let ready = self.ready_from();
        self.spend(self.own_term(), self.own.0.min(now));
        if self.facts.next.is_none() {
            self.spend(Term::Unanswered, now);
        } else if self.facts.is_window_full() {
            self.spend(Term::Window, now);
        } else {
            self.spend(Term::Pacing, self.facts.departure.min(now));
            if self.since < now {
                self.wait(ready, line, gate, now);
            }
        }
    }

    /// Returns the term of the time in which the queue pair's own data is on the wire.
    fn own_term(&self) -> Term {
        if self.own.1 { Term::Resending } else { Term::Sending }
    }

    /// Adds the time up to `end`, if `end` is later, to `term`.
    fn spend(&mut self, term: Term, end: Time) {
        if end > self.since {
            self.totals[term as usize] += end - self.since;
            self.used |= 1 << term as u32;
            self.since = end;
        }
    }

    /// Adds the time from `ready` to `now`, in which the queue pair waited for its port.
    fn wait(&mut self, ready: Time, line: &Line, gate: Gate, now: Time) {
        if line.is_down {
            return self.spend(Term::LinkDown, now);
        }
        match gate {
            Gate::Open => {}
            Gate::InOrder => return self.spend(Term::Order, now),
            Gate::Paused(root) => {
                self.spend(Term::Paused, now);
                return self.roots.add(root, self.totals[Term::Paused as usize]);
            }
        }
        let before = if ready > line.since { line.delays(self.facts.class, ready) } else { self.delays };
        let after = line.delays(self.facts.class, now);
        for (term, before, after) in [
            (Term::OtherFlow, before.other_flow, after.other_flow),
            (Term::OtherClass, before.other_class, after.other_class),
            (Term::Ack, before.answers, after.answers),
            (Term::Cnp, before.notices, after.notices),
            (Term::LinkLocal, before.link_local, after.link_local),
        ] {
            self.spend(term, self.since + (after - before));
        }
        self.spend(Term::Unexplained, now);
    }

    /// Starts to send packet `psn`, until `until`.
    pub(super) fn send(&mut self, psn: Psn, until: Time) {
        self.own = (until, psn < self.highest);
        self.highest = self.highest.max(psn + 1);
        let next = self.messages.iter().position(|message| message.begun.is_none());
        if let Some(place) = next.filter(|place| self.messages[*place].packets[0] <= self.highest) {
            self.begin(place);
        }
    }

    /// Returns true if the time of the queue pair depends on the difference between its facts and
    /// `facts`.
    pub(super) fn needs_update(&self, facts: &PairFacts) -> bool {
        let relevant = |facts: &PairFacts| {
            let PairFacts { port, queue, class, departure, .. } = *facts;
            (facts.next.is_some(), facts.is_window_full(), port, queue, class, departure)
        };
        relevant(&self.facts) != relevant(facts)
    }

    /// Closes the account of `port`, which the queue pair leaves.
    pub(super) fn leave(&mut self, port: PortId) {
        let mut here = Journey::new(self.since);
        self.add_here_to(port, &mut here);
        add(here.spans(), &mut self.earlier);
        let own_term = self.own_term();
        for message in &mut self.messages {
            if let Some(begun) = &mut message.begun {
                let mut here = Journey::new(self.since);
                add_difference((&self.totals, &self.roots), &begun.totals, port, &mut here);
                add(here.spans(), &mut begun.earlier);
                begun.totals = Totals::default();
                // The message may begin later, when the packet on the wire has left.
                begun.totals[own_term as usize] = begun.at.max(self.since) - self.since;
            }
        }
        (self.totals, self.used, self.roots) = Default::default();
    }

    /// Adds a message that is posted now, at [`PairLedger::advance`]'s time. `packets` are its
    /// first packet and the packet after its last one.
    pub(super) fn post(&mut self, packets: [Psn; 2]) {
        self.messages.push_back(MessageLedger { packets, posted: self.since, begun: None });
        if self.highest >= packets[0] {
            self.begin(self.messages.len() - 1);
        }
    }

    /// All packets before those of a message have been sent. The message begins when the last of
    /// them has left.
    fn begin(&mut self, place: usize) {
        let mut totals = self.totals;
        let rest = self.own.0.max(self.since) - self.since;
        totals[self.own_term() as usize] += rest;
        self.messages[place].begun = Some(Begun { at: self.since + rest, totals, earlier: Sums::new() });
    }

    /// Returns the message of packet `psn` of a connection.
    pub(super) fn message_of(&self, psn: Psn) -> Option<&MessageLedger> {
        let place = self.messages.partition_point(|message| message.packets[1] <= psn);
        self.messages.get(place)
    }

    /// The first message is acknowledged.
    pub(super) fn end_message(&mut self) {
        self.messages.pop_front();
    }

    pub(super) fn set_facts(&mut self, facts: PairFacts) {
        self.has_opened = self.facts.is_window_full() && !facts.is_window_full();
        self.facts = facts;
    }

    /// Adds the time of the queue pair to `journey`: since the start of a flow, or since the
    /// posting of `message`.
    pub(super) fn add_to(&self, message: Option<&MessageLedger>, port: PortId, journey: &mut Journey) {
        let Some(message) = message else {
            add_sums(&self.earlier, journey);
            return self.add_here_to(port, journey);
        };
        let Some(begun) = &message.begun else {
            return journey.add(port, Term::EarlierMessage, None, self.since - message.posted);
        };
        journey.add(port, Term::EarlierMessage, None, begun.at - message.posted);
        add_sums(&begun.earlier, journey);
        add_difference((&self.totals, &self.roots), &begun.totals, port, journey);
    }

    /// Adds the time at the present port, `port`, to `journey`.
    fn add_here_to(&self, port: PortId, journey: &mut Journey) {
        let mut left = self.used;
        while left > 0 {
            match Term::ALL[left.trailing_zeros() as usize] {
                Term::Paused => self.roots.add_to(Duration::ZERO, port, journey),
                term => journey.add(port, term, None, self.totals[term as usize]),
            }
            left &= left - 1;
        }
    }

    pub(super) fn heap_bytes(&self) -> u64 {
        let begun = self.messages.iter().filter_map(|message| message.begun.as_ref());
        let messages = self.messages.heap_bytes() + begun.map(|begun| sums_bytes(&begun.earlier)).sum::<u64>();
        self.roots.heap_bytes() + sums_bytes(&self.earlier) + messages
    }
}

/// Time of a queue pair by activity, in the order of [`Term::ALL`].
type Totals = [Duration; Term::ALL.len()];

/// Message of a connection that is not acknowledged.
#[derive(Clone, Debug)]
pub(super) struct MessageLedger {
    /// First packet, and the packet after the last one.
    packets: [Psn; 2],
    pub(super) posted: Time,
    /// Account of the queue pair when the message began; `None` while earlier messages have packets
    /// to send.
    begun: Option<Begun>,
}

/// Account of a queue pair when a message began.
#[derive(Clone, Debug)]
struct Begun {
    at: Time,
    totals: Totals,
    /// Time since then at ports that the queue pair has left.
    earlier: Sums,
}

fn add_sums(sums: &Sums, journey: &mut Journey) {
    for ((port, term, root), length) in sums {
        journey.add(*port, *term, *root, *length);
    }
}

/// Adds the time at `port` since the account was `before` to `journey`.
fn add_difference((now, roots): (&Totals, &Roots), before: &Totals, port: PortId, journey: &mut Journey) {
    for term in Term::ALL {
        let (now, before) = (now[term as usize], before[term as usize]);
        match term {
            Term::Paused if now > before => roots.add_to(before, port, journey),
            // A message begins when the last packet before it has left, which may be in the future.
            _ if now > before => journey.add(port, term, None, now - before),
            _ => {}
        }
    }
}
