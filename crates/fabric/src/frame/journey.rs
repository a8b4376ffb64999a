//! Breakdown of a packet's time since the start of its flow. The breakdown exists only in the
//! simulation, where it explains slow flows.

use crate::ids::{CLASSES, Class, PortId, QueueIx};
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Time};

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
    pub const ALL: [Term; 20] = [
        Term::Serialisation,
        Term::Propagation,
        Term::Forwarding,
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

/// Breakdown of a packet's time. The spans cover the time from the start of its flow to `until`. An
/// answer continues the breakdown of the packet that it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journey {
    /// Spans in the order of the path.
    pub spans: Vec<Span>,
    /// End of the last span. For a packet on a wire: its arrival.
    pub until: Time,
    /// In a queue: totals of the queue's clock when the packet was enqueued.
    pub(crate) mark: Option<TermTotals>,
    /// Earlier queues of the packet at the current port.
    pub(crate) passed: Vec<QueueIx>,
    /// Port that set the packet's ECN mark, and the time.
    pub(crate) marked: Option<(PortId, Time)>,
    /// Ports that stamped telemetry into the packet, and the times, in order.
    pub(crate) stamped: Vec<(PortId, Time)>,
}

impl Journey {
    /// Creates an empty breakdown that begins at `start`.
    pub(crate) fn new(start: Time) -> Journey {
        let (spans, passed, stamped) = Default::default();
        Journey { spans, until: start, mark: None, passed, marked: None, stamped }
    }

    /// Adds time at `port`. Transmissions are recorded even if they take no time (a clock may cut
    /// them to zero), because they record the path.
    pub(crate) fn add(&mut self, port: PortId, term: Term, root: Option<PortId>, length: Duration) {
        if length > Duration::ZERO || term == Term::Serialisation {
            self.spans.push(Span { port, term, root, length });
            self.until += length;
        }
    }

    /// Returns the time between the start of the flow and the packet's transmission at its source.
    pub(crate) fn sent_after(&self) -> Duration {
        let at_source = self.spans.iter().take_while(|span| span.term != Term::Serialisation);
        at_source.map(|span| span.length).sum()
    }

    /// Removes everything after `end`.
    pub(crate) fn cut(&mut self, end: Time) {
        while self.until > end {
            let Some(last) = self.spans.last_mut() else { return };
            let cut = last.length.min(self.until - end);
            last.length = last.length - cut;
            self.until = Time::from_ps(self.until.ps() - cut.ps());
            if last.length == Duration::ZERO {
                self.spans.pop();
            }
        }
    }
}

impl HeapBytes for Journey {
    fn heap_bytes(&self) -> u64 {
        self.spans.heap_bytes() + self.passed.heap_bytes() + self.stamped.heap_bytes()
    }
}

/// Time by reason. Time in which other queues transmit is kept by the class of their packets,
/// because waiting packets may belong to any class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TermTotals {
    terms: [Duration; Term::ALL.len()],
    others: [Duration; CLASSES],
}

/// Reason to wait, as stored in [`TermTotals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    For(Term),
    /// A packet of this class from another queue is being transmitted.
    Others(Class),
}

impl TermTotals {
    pub(crate) fn add(&mut self, waiting: Waiting, length: Duration) {
        match waiting {
            Waiting::For(term) => self.terms[term as usize] += length,
            Waiting::Others(class) => self.others[class.index()] += length,
        }
    }

    /// Returns the time behind a closed gate.
    pub(crate) fn paused(&self) -> Duration {
        self.terms[Term::Paused as usize]
    }

    /// Returns the time that a packet of `class` waited, by reason, in the order of [`Term::ALL`].
    pub(crate) fn of(&self, class: Class) -> [Duration; Term::ALL.len()] {
        let mut terms = self.terms;
        for (other, length) in (0..).map(Class).zip(self.others) {
            let term = match other {
                _ if other == class => Term::OtherQueue,
                Class::CONTROL => Term::ControlClass,
                _ => Term::OtherClass,
            };
            terms[term as usize] += length;
        }
        terms
    }
}
