//! Breakdown of a packet's time since the start of its flow. The breakdown exists only in the
//! simulation, where it explains slow flows.

use crate::ids::{PortId, QueueIx};
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Time};
use std::iter;

/// Reason for which time passes. If several reasons to wait hold at once, only the first one
/// counts. A queue and a source check reasons in their own orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Term {
    /// The packet is being transmitted.
    Serialisation,
    /// The packet propagates on the link.
    Propagation,
    /// A relaying host has yet to forward the packet to its queue.
    Forwarding,
    /// At the source: earlier messages of the connection have packets to send.
    EarlierMessage,
    /// At the source: new data of the flow is being transmitted.
    Sending,
    /// At the source: data of the flow is being retransmitted.
    Resending,
    /// At the source: all data is sent; neither an answer nor a timeout has arrived.
    Unanswered,
    /// At the source: the window is full.
    Window,
    /// At the source: the rate allows no packet yet (pacing).
    Pacing,
    /// The link is down.
    LinkDown,
    /// A frame from the packet's own queue is being transmitted.
    OwnQueue,
    /// The gate is closed because of a port's congestion.
    Paused,
    /// The gate is closed to keep packets in order, until another queue of the port has advanced.
    Order,
    /// Data of another flow of the host, or relayed data, is being transmitted.
    OtherFlow,
    /// A frame of the same class from another queue is being transmitted.
    OtherQueue,
    /// A frame of another data class is being transmitted.
    OtherClass,
    /// At the source: an ACK or NACK is being transmitted.
    Ack,
    /// At the source: a CNP or a notice is being transmitted.
    Cnp,
    /// A packet of the control class is being transmitted.
    ControlClass,
    /// A link-local frame is being transmitted.
    LinkLocal,
    /// No known reason. Never occurs.
    Unexplained,
}

impl Term {
    /// All reasons.
    pub const ALL: [Term; 21] = [
        Term::Serialisation,
        Term::Propagation,
        Term::Forwarding,
        Term::EarlierMessage,
        Term::Sending,
        Term::Resending,
        Term::Unanswered,
        Term::Window,
        Term::Pacing,
        Term::LinkDown,
        Term::OwnQueue,
        Term::Paused,
        Term::Order,
        Term::OtherFlow,
        Term::OtherQueue,
        Term::OtherClass,
        Term::Ack,
        Term::Cnp,
        Term::ControlClass,
        Term::LinkLocal,
        Term::Unexplained,
    ];

    /// Returns the name in results.
    pub fn name(self) -> &'static str {
        match self {
            Term::Serialisation => "serialisation",
            Term::Propagation => "propagation",
            Term::Forwarding => "forwarding",
            Term::EarlierMessage => "earlier-message",
            Term::Sending => "sending",
            Term::Resending => "resending",
            Term::Unanswered => "unanswered",
            Term::Window => "window",
            Term::Pacing => "pacing",
            Term::LinkDown => "link-down",
            Term::OwnQueue => "own-queue",
            Term::Paused => "paused",
            Term::Order => "order",
            Term::OtherFlow => "other-flow",
            Term::OtherQueue => "other-queue",
            Term::OtherClass => "other-class",
            Term::Ack => "ack",
            Term::Cnp => "cnp",
            Term::ControlClass => "control-class",
            Term::LinkLocal => "link-local",
            Term::Unexplained => "unexplained",
        }
    }
}

/// Time spent at one port for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Egress port.
    pub port: PortId,
    /// Reason.
    pub term: Term,
    /// For [`Term::Paused`], the port whose congestion closed the gate. `None` for closures that
    /// are too old to be stored one by one.
    pub root: Option<PortId>,
    /// Total time.
    pub length: Duration,
}

/// One span, or a transmission with its propagation, in 16 bytes, because many packets have many
/// spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) port: PortId,
    /// Root of a pause, or [`Step::NO_ROOT`]; propagation time of a transmission in ps.
    more: u32,
    /// Length in ps times [`Step::TERMS`], plus the position of the reason in [`Term::ALL`].
    length_and_term: u64,
}

impl Step {
    const NO_ROOT: u32 = u32::MAX;
    /// Upper limit of the number of reasons. Lengths have the other bits: 6 days.
    const TERMS: u64 = 32;

    fn new(port: PortId, term: Term, more: u32, length: Duration) -> Step {
        Step { port, more, length_and_term: length.ps() * Self::TERMS + term as u64 }
    }

    /// Returns the time without propagation.
    pub(crate) fn length(self) -> Duration {
        Duration::from_ps(self.length_and_term / Self::TERMS)
    }

    /// Returns the propagation time after a transmission.
    pub(crate) fn propagation(self) -> Duration {
        let is_transmission = self.term() == Term::Serialisation;
        if is_transmission { Duration::from_ps(self.more.into()) } else { Duration::ZERO }
    }

    pub(crate) fn term(self) -> Term {
        Term::ALL[(self.length_and_term % Self::TERMS) as usize]
    }

    /// Returns the root of a pause.
    pub(crate) fn root(self) -> Option<PortId> {
        (self.term() == Term::Paused && self.more != Self::NO_ROOT).then_some(PortId(self.more))
    }

    /// Returns the span, and the span of the propagation after a transmission.
    fn spans(self) -> (Span, Option<Span>) {
        let (port, propagation) = (self.port, self.propagation());
        let first = Span { port, term: self.term(), root: self.root(), length: self.length() };
        let second = Span { port, term: Term::Propagation, root: None, length: propagation };
        (first, Some(second).filter(|_| propagation > Duration::ZERO))
    }
}

/// Breakdown of a packet's time. The spans cover the time from the start of its flow to `until`. An
/// answer continues the breakdown of the packet that it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub struct Journey {
    /// Spans in the order of the path.
    steps: Vec<Step>,
    /// End of the last span. For a packet on a wire: its arrival. For a packet in a queue: its
    /// arrival in the queue.
    pub until: Time,
    /// Port that set the packet's ECN mark, and the time.
    pub(crate) marked: Option<(PortId, Time)>,
    rare: Option<Box<RareFacts>>,
}

// A packet that joins or leaves a queue touches one cache line here.
const _: () = assert!(size_of::<Option<Journey>>() == 64);

/// Facts of packets that only some mechanisms have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct RareFacts {
    /// Earlier queues of the packet at the current port.
    passed: Vec<QueueIx>,
    /// Ports that stamped telemetry into the packet, and the times, in order.
    stamped: Vec<(PortId, Time)>,
}

impl Journey {
    /// Number of spans for which a new breakdown has room.
    const SPANS: usize = 16;

    /// Creates an empty breakdown that begins at `start`.
    pub(crate) fn new(start: Time) -> Journey {
        Journey { steps: Vec::with_capacity(Self::SPANS), until: start, marked: None, rare: None }
    }

    /// Makes this an empty breakdown that begins at `start`. Keeps the memory.
    pub(crate) fn restart(&mut self, start: Time) {
        (self.until, self.marked) = (start, None);
        self.steps.clear();
        if let Some(rare) = &mut self.rare {
            rare.passed.clear();
            rare.stamped.clear();
        }
    }

    /// Returns the spans in the order of the path.
    pub fn spans(&self) -> impl DoubleEndedIterator<Item = Span> + Clone {
        self.steps.iter().flat_map(|step| {
            let (first, second) = step.spans();
            iter::once(first).chain(second)
        })
    }

    /// Adds time at `port`, if there is any.
    #[inline]
    pub(crate) fn add(&mut self, port: PortId, term: Term, root: Option<PortId>, length: Duration) {
        debug_assert_ne!(term, Term::Serialisation, "recorded by `transmit`");
        if length > Duration::ZERO {
            self.steps.push(Step::new(port, term, root.map_or(Step::NO_ROOT, |root| root.0), length));
            self.until += length;
        }
    }

    /// Adds a transmission by `port`, and its propagation. The transmission is recorded even if it
    /// takes no time (a clock may cut it to zero), because it records the path.
    #[inline]
    pub(crate) fn transmit(&mut self, port: PortId, length: Duration, propagation: Duration) {
        let more = u32::try_from(propagation.ps()).unwrap_or(0);
        self.steps.push(Step::new(port, Term::Serialisation, more, length));
        self.until += length + Duration::from_ps(more.into());
        self.add(port, Term::Propagation, None, propagation - Duration::from_ps(more.into()));
    }

    /// Returns the spans from the packet's transmission at its source on.
    pub(crate) fn steps_on_way(&self) -> &[Step] {
        let first = self.steps.iter().position(|step| step.term() == Term::Serialisation);
        &self.steps[first.unwrap_or(self.steps.len())..]
    }

    /// Returns the time between the start of the flow and the packet's transmission at its source.
    pub(crate) fn sent_after(&self) -> Duration {
        let at_source = self.spans().take_while(|span| span.term != Term::Serialisation);
        at_source.map(|span| span.length).sum()
    }

    /// Removes everything after `end`.
    pub(crate) fn cut(&mut self, end: Time) {
        while self.until > end
            && let Some(last) = self.steps.last_mut()
        {
            let (length, propagation) = (last.length(), last.propagation());
            let excess = self.until - end;
            let cut = if propagation > Duration::ZERO { propagation } else { length }.min(excess);
            self.until = Time::from_ps(self.until.ps() - cut.ps());
            if propagation > Duration::ZERO {
                last.more -= cut.ps() as u32;
            } else if cut < length {
                last.length_and_term -= cut.ps() * Step::TERMS;
            } else {
                self.steps.pop();
            }
        }
    }

    /// Returns the earlier queues of the packet at the current port.
    pub(crate) fn passed(&self) -> &[QueueIx] {
        self.rare.as_ref().map_or(&[], |rare| &rare.passed)
    }

    /// The packet leaves a queue for another queue of the same port.
    pub(crate) fn pass(&mut self, queue: QueueIx) {
        self.rare.get_or_insert_default().passed.push(queue);
    }

    /// Returns the ports that stamped telemetry into the packet, and the times, in order.
    pub(crate) fn stamped(&self) -> &[(PortId, Time)] {
        self.rare.as_ref().map_or(&[], |rare| &rare.stamped)
    }

    /// Adds a stamp of `port`.
    pub(crate) fn stamp(&mut self, port: PortId, at: Time) {
        self.rare.get_or_insert_default().stamped.push((port, at));
    }

    /// The packet leaves its port.
    pub(crate) fn leave_port(&mut self) {
        if let Some(rare) = &mut self.rare {
            rare.passed.clear();
        }
    }
}

impl HeapBytes for Journey {
    fn heap_bytes(&self) -> u64 {
        self.steps.heap_bytes() + self.rare.heap_bytes()
    }
}

impl HeapBytes for RareFacts {
    fn heap_bytes(&self) -> u64 {
        self.passed.heap_bytes() + self.stamped.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(term: Term, root: Option<u32>, length: u64) -> Span {
        Span { port: PortId(3), term, root: root.map(PortId), length: Duration::from_ps(length) }
    }

    #[test]
    fn spans_of_six_days_are_exact() {
        let longest = Duration::from_ps(u64::MAX / Step::TERMS);
        let mut journey = Journey::new(Time::ZERO);
        for term in Term::ALL {
            match term {
                Term::Serialisation => journey.transmit(PortId(3), longest, Duration::ZERO),
                _ => journey.add(PortId(3), term, None, longest),
            }
            assert_eq!(journey.spans().next_back(), Some(span(term, None, longest.ps())));
            journey.restart(Time::ZERO);
        }
        journey.add(PortId(3), Term::Paused, Some(PortId(7)), longest);
        assert_eq!(journey.spans().next_back(), Some(span(Term::Paused, Some(7), longest.ps())));
        assert!(longest > Duration::from_ms(1000 * 60 * 60 * 24 * 6));
    }

    /// A transmission and its propagation are two spans, however long they are. A journey can be
    /// cut anywhere.
    #[test]
    fn transmissions_can_be_cut() {
        let limit = u64::from(u32::MAX);
        for (length, propagation) in [(5, 0), (0, 7), (0, 0), (5, 1), (5, limit), (5, limit + 1), (9, 7 * limit)] {
            let whole = || {
                let mut journey = Journey::new(Time::from_ps(100));
                journey.add(PortId(3), Term::Pacing, None, Duration::from_ps(4));
                journey.transmit(PortId(3), Duration::from_ps(length), Duration::from_ps(propagation));
                journey
            };
            for kept in [0, 3, 4, 5, 8, 9, 10, 11, limit, limit + 9, limit + 10, 8 * limit] {
                let mut journey = whole();
                journey.cut(Time::from_ps(100 + kept));
                let parts = [(Term::Pacing, 4), (Term::Serialisation, length), (Term::Propagation, propagation)];
                let (mut from, mut spans) = (0, Vec::new());
                for (term, length) in parts {
                    let part = length.min(kept.saturating_sub(from));
                    if part > 0 || term == Term::Serialisation && from <= kept && length == 0 {
                        spans.push(span(term, None, part));
                    }
                    from += length;
                }
                assert_eq!(journey.spans().collect::<Vec<_>>(), spans, "{kept} ps of {length} and {propagation} ps");
                assert_eq!(journey.until, Time::from_ps(100 + kept.min(from)));
            }
        }
    }
}
