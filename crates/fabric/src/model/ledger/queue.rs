//! Waiting time in a queue, by reason.

use super::line::{FrameTimes, Line, OnWire};
use super::roots::Roots;
use crate::frame::cause::Cause;
use crate::frame::journey::{Journey, Term};
use crate::ids::{Class, PortId};
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Time};
use std::collections::VecDeque;

/// Totals of the waiting time of packets of one class in a queue, by reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WaitTotals {
    link_down: Duration,
    own_queue: Duration,
    paused: Duration,
    order: Duration,
    other_queue: Duration,
    other_class: Duration,
    control_class: Duration,
    link_local: Duration,
}

/// Gate of a queue, with the reason for which it is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Gate {
    #[default]
    Open,
    /// Closed to keep packets in order.
    InOrder,
    /// Closed because of the congestion of a port.
    Paused(PortId),
}

impl From<Option<Cause>> for Gate {
    fn from(closed: Option<Cause>) -> Gate {
        match closed {
            None => Gate::Open,
            Some(cause) if cause.for_order => Gate::InOrder,
            Some(cause) => Gate::Paused(cause.root),
        }
    }
}

/// Adds up the time in which packets of a queue wait. If several reasons hold at once, only the
/// first one counts: the link is down, a frame of the queue is on the wire, the gate is closed,
/// another frame is on the wire.
#[derive(Clone, Debug, Default)]
pub(super) struct QueueLedger {
    pub(super) gate: Gate,
    /// Transmission time of the queue's frames.
    own: Duration,
    paused: Duration,
    order: Duration,
    /// Closed gate: transmission time of other frames for which the queue waited. Open gate:
    /// transmission time of the frames for which it did not wait.
    others: FrameTimes,
    /// Time without the queue's frames and with the link up, when `paused` and `order` were last
    /// updated.
    free: Duration,
    roots: Option<Box<Roots>>,
    /// Totals when each of the waiting packets joined, for packets with a journey.
    marks: VecDeque<WaitTotals>,
}

impl HeapBytes for QueueLedger {
    fn heap_bytes(&self) -> u64 {
        self.roots.heap_bytes() + self.marks.heap_bytes()
    }
}

impl QueueLedger {
    /// Adds transmission time of a frame of this queue.
    pub(super) fn transmit(&mut self, frame: OnWire, length: Duration) {
        self.own += length;
        if self.gate == Gate::Open {
            self.others.add(frame.class(), length);
        }
    }

    /// Closes or opens the gate. `line` has advanced to the present.
    pub(super) fn set_gate(&mut self, gate: Gate, line: &Line) {
        self.settle(line);
        if (gate == Gate::Open) != (self.gate == Gate::Open) {
            self.others = line.frames - self.others;
        }
        self.gate = gate;
    }

    /// A packet of `class` joins the queue. `line` has advanced to the present.
    pub(super) fn join(&mut self, class: Class, line: &Line) {
        let totals = self.totals(class, line);
        self.marks.push_back(totals);
    }

    /// A packet of `class` leaves the queue: adds its waiting time to `journey`. `line` has
    /// advanced to the present.
    pub(super) fn leave(&mut self, class: Class, line: &Line, journey: &mut Journey) {
        if let Some(mark) = self.marks.pop_front()
            && journey.until < line.since
        {
            self.add_to(&mark, class, line, journey);
        }
    }

    /// Returns the journey of the packet in the queue before which `ahead` packets with journeys
    /// wait, as if the packet left at present. `line` has advanced to the present.
    pub(super) fn waiting(mut self, ahead: usize, class: Class, line: &Line, mut journey: Journey) -> Journey {
        if let Some(mark) = self.marks.get(ahead).copied() {
            self.add_to(&mark, class, line, &mut journey);
        }
        journey
    }

    fn totals(&mut self, class: Class, line: &Line) -> WaitTotals {
        let is_open = self.gate == Gate::Open;
        if !is_open {
            self.settle(line);
        }
        let (frames, others) = (&line.frames, &self.others);
        let waited = |frames: Duration, others: Duration| if is_open { frames - others } else { others };
        let of = |class: Class| waited(frames.packets[class.index()], others.packets[class.index()]);
        let control = if class == Class::CONTROL { Duration::ZERO } else { of(Class::CONTROL) };
        WaitTotals {
            link_down: line.down,
            own_queue: self.own,
            paused: self.paused,
            order: self.order,
            other_queue: of(class),
            other_class: waited(frames.all_packets, others.all_packets) - of(class) - control,
            control_class: control,
            link_local: waited(frames.link_local, others.link_local),
        }
    }

    /// Adds the time behind the closed gate.
    fn settle(&mut self, line: &Line) {
        let free = (line.since - Time::ZERO) - line.down - self.own;
        let length = free - std::mem::replace(&mut self.free, free);
        match self.gate {
            _ if length == Duration::ZERO => {}
            Gate::Open => {}
            Gate::InOrder => self.order += length,
            Gate::Paused(root) => {
                self.paused += length;
                self.roots.get_or_insert_default().add(root, self.paused);
            }
        }
    }

    /// Adds to `journey` the time since its end, when the totals were `mark`.
    fn add_to(&mut self, mark: &WaitTotals, class: Class, line: &Line, journey: &mut Journey) {
        let (port, now) = (line.port, self.totals(class, line));
        journey.add(port, Term::LinkDown, None, now.link_down - mark.link_down);
        journey.add(port, Term::OwnQueue, None, now.own_queue - mark.own_queue);
        if let Some(roots) = &self.roots {
            roots.add_to(mark.paused, port, journey);
        }
        journey.add(port, Term::Order, None, now.order - mark.order);
        journey.add(port, Term::OtherQueue, None, now.other_queue - mark.other_queue);
        journey.add(port, Term::OtherClass, None, now.other_class - mark.other_class);
        journey.add(port, Term::ControlClass, None, now.control_class - mark.control_class);
        journey.add(port, Term::LinkLocal, None, now.link_local - mark.link_local);
        journey.add(port, Term::Unexplained, None, line.since.since(journey.until));
    }
}
