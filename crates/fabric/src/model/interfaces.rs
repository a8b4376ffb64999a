//! The interfaces of a node: its ports, and the endpoint behind them; what mechanisms see through a [`View`](crate::contract::View), and
//! what they ask of it.

use crate::contract::note::Note;
use crate::contract::view::{MechanismAccess, ambassador_impl_NodeAccess};
use crate::contract::{BufferPolicy, HookSet, NodeAccess, OutgoingNotice, PortView};
use crate::frame::Control;
use crate::frame::cause::{Cause, Causes};
use crate::ids::{NodeId, PortIx, QueueIx};
use crate::mechanisms::headroom::AnyBufferPolicy;
use crate::model::host::Endpoint;
use crate::model::ledger::Ledger;
use crate::model::port::Port;
use ambassador::Delegate;
use backwater_engine::Time;
use backwater_engine::memory::HeapBytes;
use std::collections::VecDeque;

/// What a node has seen, in charged bytes. `received + created = sent + consumed + lost + held`; what was sent is the sum over
/// its ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes that came over links.
    pub received: u64,
    /// Bytes of frames made here.
    pub created: u64,
    /// Bytes that ended here.
    pub consumed: u64,
}

/// The ports of a node and the endpoint behind them.
#[repr(C)]
pub(crate) struct Interfaces {
    pub(crate) ports: Vec<Port>,
    pub(crate) counters: Counters,
    pub(crate) effects: Effects,
    pub(crate) endpoint: Option<Endpoint>,
    /// Where packets spend their time here, if somebody wants to know.
    pub(crate) ledger: Option<Box<Ledger>>,
    /// Where mechanisms ask to be called.
    pub(crate) stations: HookSet,
    /// When each of them is to be called again, by [`Caller`].
    pub(crate) wakes: [Time; Caller::ALL.len()],
    /// When the node has asked to be woken for the first of them; [`Time::NEVER`] if it has not.
    pub(crate) wake_at: Time,
    /// Whose interfaces they are.
    pub(crate) node: NodeId,
}

/// What hooks asked for, carried out by the node when the hook returns. Reused, so that nothing is allocated.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Effects {
    /// Whether there may be any.
    pub(crate) pending: bool,
    /// Number of notes. Observers are told before anything else is done: a packet leaves a queue
    /// after the note that the queue is open.
    notes: u32,
    /// Frames to send, and whether causes travel with them: they are queued before anything else is done, so that a resumed port does not send
    /// waiting packets first.
    controls: VecDeque<(PortIx, Control, bool)>,
    /// The causes, in the same order.
    causes: VecDeque<Causes>,
    /// Notes first, then everything else, each in order.
    pub(crate) others: VecDeque<Effect>,
    /// Notices to send.
    pub(crate) emissions: VecDeque<OutgoingNotice>,
    /// Whether it is to be told what made a queue full ([`Note::Full`]).
    pub(crate) watches_full: bool,
}

/// One thing that a hook asked for.
#[derive(Debug)]
pub(crate) enum Effect {
    /// See whether a port has something to send.
    Kick(PortIx),
    /// Forward everything in a queue.
    Flush(PortIx, QueueIx),
    /// Ask to be woken for a port's timer.
    Timer(PortIx),
    /// Ask to be woken for a mechanism.
    Wake,
    /// Notify the observers.
    Note(Note),
    /// Tell the stations of a gate that has closed or opened.
    Gate(PortIx, QueueIx, bool),
}

/// Which mechanism of a node a [`View`](crate::contract::View) is for: the one that is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// It is, unless another one is named.
    FlowControl,
    CongestionPoint,
    LoadBalance,
}

impl Caller {
    pub(crate) const ALL: [Caller; 3] = [Caller::FlowControl, Caller::CongestionPoint, Caller::LoadBalance];
}

impl Effects {
    fn note(&mut self, note: Note) {
        self.pending = true;
        self.others.insert(self.notes as usize, Effect::Note(note));
        self.notes += 1;
    }

    /// Takes the next of the notes, or if there are none, of the other things.
    pub(crate) fn next(&mut self) -> Option<Effect> {
        self.notes = self.notes.saturating_sub(1);
        self.others.pop_front()
    }

    /// Takes the next note.
    pub(crate) fn next_note(&mut self) -> Option<Note> {
        match (self.notes > 0).then(|| self.next())?? {
            Effect::Note(note) => Some(note),
            _ => None,
        }
    }

    fn add(&mut self, effect: Effect) {
        self.pending = true;
        self.others.push_back(effect);
    }

    /// The next frame to send, with the causes that travel with it.
    pub(crate) fn next_control(&mut self) -> Option<(PortIx, Control, Option<Causes>)> {
        let (port, control, has_causes) = self.controls.pop_front()?;
        Some((port, control, if has_causes { self.causes.pop_front() } else { None }))
    }

    pub(crate) fn heap_bytes(&self) -> u64 {
        let frames = self.controls.heap_bytes() + self.causes.heap_bytes() + self.emissions.heap_bytes();
        frames + self.others.heap_bytes()
    }
}

impl Interfaces {
    /// The node as a station or a load balancer sees it.
    #[inline(always)]
    pub(crate) fn seen_by<'a>(&'a mut self, caller: Caller, buffer: &'a AnyBufferPolicy) -> AtStation<'a> {
        AtStation { interfaces: self, buffer, caller }
    }

    /// A mechanism wants to be called at `at`.
    fn ask_to_wake(&mut self, caller: Caller, at: Time) {
        self.wakes[caller as usize] = at;
        self.effects.pending = true;
        self.effects.others.push_back(Effect::Wake);
    }

    pub(crate) fn new(node: NodeId, ports: Vec<Port>, endpoint: Option<Endpoint>) -> Interfaces {
        Interfaces {
            node,
            ports,
            counters: Counters::default(),
            effects: Effects::default(),
            endpoint,
            ledger: None,
            stations: HookSet::NONE,
            wakes: [Time::NEVER; Caller::ALL.len()],
            wake_at: Time::NEVER,
        }
    }
}

/// That of the flow control.
impl MechanismAccess for Interfaces {
    fn buffer(&self) -> Option<&dyn BufferPolicy> {
        None
    }

    fn wake_at(&mut self, at: Time) {
        self.ask_to_wake(Caller::FlowControl, at);
    }
}

impl NodeAccess for Interfaces {
    fn id(&self) -> NodeId {
        self.node
    }

    fn port(&self, port: PortIx) -> &dyn PortView {
        &self.ports[usize::from(port)]
    }

    fn send(&mut self, port: PortIx, control: Control, causes: Option<&Causes>) {
        self.effects.pending = true;
        self.effects.controls.push_back((port, control, causes.is_some()));
        self.effects.causes.extend(causes);
    }

    fn close(&mut self, port: PortIx, queue: QueueIx, cause: Cause, now: Time) {
        let was_open = self.ports[usize::from(port)].close(queue, now, cause);
        self.endpoint.iter_mut().for_each(|endpoint| endpoint.close(port, queue));
        if was_open && self.stations.intersects(HookSet::TRACE) {
            self.ledger.iter_mut().for_each(|ledger| ledger.gate(port, queue, Some(cause), now));
            let port = self.ports[usize::from(port)].id;
            self.effects.note(Note::Stopped { port, queue, cause });
        }
        if was_open && self.stations.intersects(HookSet::GATE) {
            self.effects.add(Effect::Gate(port, queue, false));
        }
    }

    fn open(&mut self, port: PortIx, queue: QueueIx, now: Time) {
        let port = &mut self.ports[usize::from(port)];
        if let Some(closure) = port.open(queue, now) {
            let (note, ix) = (Note::Paused { port: port.id, queue, closure }, port.ix);
            self.endpoint.iter_mut().for_each(|endpoint| endpoint.open(ix, queue));
            self.ledger.iter_mut().for_each(|ledger| ledger.gate(ix, queue, None, now));
            if self.stations.intersects(HookSet::GATE) {
                self.effects.add(Effect::Gate(ix, queue, true));
            }
            self.effects.note(note);
            self.effects.add(Effect::Kick(ix));
        }
    }

    fn flush(&mut self, port: PortIx, queue: QueueIx) {
        self.effects.add(Effect::Flush(port, queue));
        self.effects.add(Effect::Kick(port));
    }

    fn set_timer(&mut self, port: PortIx, at: Time) {
        let timer = &mut self.ports[usize::from(port)].timer_at;
        if *timer != at {
            *timer = at;
            self.effects.add(Effect::Timer(port));
        }
    }

    fn emit(&mut self, emission: OutgoingNotice) {
        self.effects.pending = true;
        self.effects.emissions.push_back(emission);
    }

    fn note(&mut self, note: Note) {
        self.effects.note(note);
    }

    fn watches_full(&self) -> bool {
        self.effects.watches_full
    }
}

/// The node as a station or a load balancer sees it.
#[derive(Delegate)]
#[delegate(NodeAccess, target = "interfaces")]
pub(crate) struct AtStation<'a> {
    interfaces: &'a mut Interfaces,
    buffer: &'a AnyBufferPolicy,
    caller: Caller,
}

impl MechanismAccess for AtStation<'_> {
    fn buffer(&self) -> Option<&dyn BufferPolicy> {
        Some(self.buffer)
    }

    fn wake_at(&mut self, at: Time) {
        self.interfaces.ask_to_wake(self.caller, at);
    }
}
