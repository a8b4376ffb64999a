//! Where a packet has spent its time since its flow began: kept in the simulation only, for those who ask why a flow is slow.

use crate::ids::{CLASSES, Class, PortId, QueueIx};
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Time};

/// What a packet does, or waits for. While it waits, the first that holds counts: those of a queue and those of a source stand in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Term {
    /// It goes onto the wire.
    Serialisation,
    /// It is on its way to the other end of the link.
    Propagation,
    /// A server that relays has yet to bring it to its queue.
    Forwarding,
    /// At its source: new data of its own flow is on the wire.
    Sending,
    /// At its source: data of its own flow is on the wire that has been sent before.
    Resending,
    /// At its source: all has been sent, and no answer or timer has come.
    Unanswered,
    /// At its source: the window is full.
    Window,
    /// At its source: the flow's rate does not allow for the next packet yet.
    Pacing,
    /// The link is down.
    LinkDown,
    /// A frame from its own queue is on the wire.
    OwnQueue,
    /// The gate is closed, because of the congestion of a port.
    Paused,
    /// The gate is closed until another queue of the port has got further: order has to be kept.
    Order,
    /// Data of another flow of the same host, or relayed, is on the wire.
    OtherFlow,
    /// A frame of its class from another queue is on the wire.
    OtherQueue,
    /// A frame of another class of data is on the wire.
    OtherClass,
    /// At its source: an ACK or NACK is on the wire.
    Ack,
    /// At its source: a CNP or a notice is on the wire.
    Cnp,
    /// A packet of the control class is on the wire.
    ControlClass,
    /// A link-local frame is on the wire.
    LinkLocal,
    /// Nothing of that: it never happens.
    Unexplained,
}

impl Term {
    /// All of them.
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

    /// Its name in results.
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

/// Some time at one port, for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The egress port.
    pub port: PortId,
    /// The reason.
    pub term: Term,
    /// Of [`Term::Paused`]: the port whose congestion closed the gate; `None` for closures that ended too long ago to be remembered one by one.
    pub root: Option<PortId>,
    /// How long, in all.
    pub length: Duration,
}

/// Where a packet has spent its time: the spans add up to the time from the start of its flow to `until`. An answer goes on with that of the packet that
/// it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journey {
    /// In the order of its way.
    pub spans: Vec<Span>,
    /// Until when they reach: of a packet on a wire, when it arrives.
    pub until: Time,
    /// In a queue: what the clock of that queue showed when it came.
    pub(crate) mark: Option<Totals>,
    /// Queues of this port that it has left for another one.
    pub(crate) passed: Vec<QueueIx>,
    /// Port that set the packet's ECN mark, and when.
    pub(crate) marked: Option<(PortId, Time)>,
    /// Ports that stamped telemetry into the packet, and when, in the order of the stamps.
    pub(crate) stamped: Vec<(PortId, Time)>,
}

impl Journey {
    /// Nothing has happened by `start`.
    pub(crate) fn new(start: Time) -> Journey {
        let (spans, passed, stamped) = Default::default();
        Journey { spans, until: start, mark: None, passed, marked: None, stamped }
    }

    /// Some time has passed at `port`. A start on a wire counts even if the frame takes no time there (a clock may cut it to nothing): it tells the way.
    pub(crate) fn add(&mut self, port: PortId, term: Term, root: Option<PortId>, length: Duration) {
        if length > Duration::ZERO || term == Term::Serialisation {
            self.spans.push(Span { port, term, root, length });
            self.until += length;
        }
    }

    /// How long after the start of its flow the packet left its source.
    pub(crate) fn sent_after(&self) -> Duration {
        let at_source = self.spans.iter().take_while(|span| span.term != Term::Serialisation);
        at_source.map(|span| span.length).sum()
    }

    /// The part of it until `end`.
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

/// Time by reason. While others are on the wire, by their class: who waits for them may be of any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    terms: [Duration; Term::ALL.len()],
    others: [Duration; CLASSES],
}

/// What is waited for, as [`Totals`] have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    For(Term),
    /// For a packet of this class from another queue to leave.
    Others(Class),
}

impl Totals {
    pub(crate) fn add(&mut self, waiting: Waiting, length: Duration) {
        match waiting {
            Waiting::For(term) => self.terms[term as usize] += length,
            Waiting::Others(class) => self.others[class.index()] += length,
        }
    }

    /// Time behind a closed gate.
    pub(crate) fn paused(&self) -> Duration {
        self.terms[Term::Paused as usize]
    }

    /// What has been added for a packet of `class`, in the order of [`Term::ALL`].
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
