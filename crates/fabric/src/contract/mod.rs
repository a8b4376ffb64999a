//! The slots: what mechanisms may see and do. Read this first.
//!
//! A scheme is a choice of one mechanism per slot. The model (`switch.rs`, `host.rs`, `port.rs`) owns the pipeline and calls the hooks
//! below; it never asks which mechanism it is talking to. Hooks that a mechanism does not need have empty defaults.
//!
//! | slot | trait | instance |
//! |---|---|---|
//! | flow control | [`FlowControl`] | one per node |
//! | headroom | [`BufferPolicy`] | one per switch |
//! | congestion control | [`CongestionPoint`], [`NotificationPoint`], [`ReactionPoint`] | per switch, per flow at its receiver, per flow at its sender |
//! | load balancing | [`LoadBalance`] | one per switch |
//! | loss recovery | [`RecoverySender`], [`RecoveryReceiver`] | per flow |

pub mod note;

use crate::contract::note::{DropCause, Note};
use crate::frame::Direction;
use crate::frame::cause::{Cause, Causes};
use crate::frame::record::{Records, Telemetry};
use crate::frame::{Control, Frame, Pfc, Psn, RecordRef};
use crate::ids::{Class, ClassMask, FlowId, NodeId, PortId, PortIx, QueueIx};
use crate::mechanisms::flow_control::FlowControlConfig;
use crate::mechanisms::headroom::AnyBufferPolicy;
use crate::model::host::Endpoint;
use crate::model::port::Port;
use crate::network::fabric::Onward;
use crate::network::routes::Wiring;
use crate::network::spec::{NetworkSpec, NodeKind};
use auto_impl::auto_impl;
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Rate, Time};
use enum_dispatch::enum_dispatch;
use std::collections::VecDeque;

/// The names that the signatures of the slots' methods use.
pub(crate) mod signatures {
    pub(crate) use super::{
        AckView, AddedQueues, Candidate, Departing, Departure, FlowKey, Gauge, NodeView, Notification, Occupancy,
        Passage, PauseScope, Place, Pressure, Progress, Verdict,
    };
    pub(crate) use crate::contract::note::DropCause;
    pub(crate) use crate::frame::{Control, Frame, Psn};
    pub(crate) use crate::ids::{Class, FlowId, PortIx, QueueIx};
    pub(crate) use crate::model::port::Port;
    pub(crate) use backwater_engine::{Duration, Time};
}

/// What a mechanism may know about the place where it is set up.
#[derive(Debug)]
pub struct Site<'a> {
    /// The network and its mechanisms.
    pub spec: &'a NetworkSpec,
    /// The node.
    pub node: NodeId,
    /// The node's ports in order.
    pub ports: &'a [PortFacts],
    /// Charged bytes of the largest data frame.
    pub largest_frame: u64,
    /// Longest base round-trip time of any pair of hosts.
    pub base_rtt: Duration,
    /// Who is connected to whom.
    pub wiring: &'a Wiring,
}

impl Site<'_> {
    /// The node at the other end of the link of `port`.
    pub fn peer(&self, port: &PortFacts) -> NodeId {
        self.wiring.peer(port)
    }

    /// The flow control that runs at `node`: a host goes with the switch at the other end of its first link.
    pub fn flow_control(&self, node: NodeId) -> &FlowControlConfig {
        let first = self.wiring.of(node).first().filter(|_| self.is_host(node));
        self.spec.flow_control(first.map_or(node, |port| self.peer(port)))
    }

    /// Ports of the chip that have no link.
    pub fn unused_ports(&self) -> usize {
        self.spec.switch.ports.map_or(0, |ports| usize::from(ports).saturating_sub(self.ports.len()))
    }

    /// Whether `node` is a host.
    pub fn is_host(&self, node: NodeId) -> bool {
        self.spec.nodes[node.0 as usize].kind == NodeKind::Host
    }
}

/// What is fixed about a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortFacts {
    /// Its name in the whole network.
    pub id: PortId,
    /// The node that it belongs to.
    pub node: NodeId,
    /// Its number within the node.
    pub ix: PortIx,
    /// The port at the other end of its link.
    pub peer: PortId,
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Duration,
    /// Probability that a frame sent over the link is corrupted.
    pub error_rate: f64,
}

// ---------------------------------------------------------------------------------------------------------------- flow control

/// Where a charged packet is on its way through a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The port through which it came in.
    pub ingress: PortIx,
    /// The port through which it leaves.
    pub egress: PortIx,
    /// The queue of the egress port in which it is (on enqueue) or was (on dequeue).
    pub queue: QueueIx,
    /// Its traffic class.
    pub class: Class,
    /// Its charged bytes.
    pub bytes: u16,
    /// What the flow control wrote down about it when it chose the queue.
    pub note: u32,
}

/// A charged packet that is about to join a queue of its egress port.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    /// The packet; its route begins behind the egress port.
    pub frame: &'a Frame,
    /// The port through which it came in.
    pub ingress: PortIx,
    /// The port through which it leaves.
    pub egress: PortIx,
    /// The ports that it passes behind that one.
    pub onward: Onward<'a>,
    /// The node's ports.
    pub ports: &'a [Port],
    /// The present.
    pub now: Time,
}

impl Candidate<'_> {
    /// The queue of its class, without a note.
    #[inline]
    pub fn by_class(&self) -> Place {
        Place { queue: QueueIx::from(self.frame.class().0), note: 0 }
    }
}

/// Where a packet is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The queue of its egress port.
    pub queue: QueueIx,
    /// What its [`Passage`] tells from now on.
    pub note: u32,
}

/// A flow that is about to start at a host.
#[derive(Clone, Copy)]
pub struct Departing<'a> {
    /// Its number.
    pub flow: FlowId,
    /// Traffic class of its data.
    pub class: Class,
    /// The port through which it leaves the host.
    pub port: PortIx,
    /// The ports that its packets pass behind that one.
    pub onward: Onward<'a>,
}

/// Queues that a flow control adds to every port of a node; they follow those of the classes in number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddedQueues {
    /// The most at one port.
    pub most: QueueIx,
    /// Where their packets go.
    pub stage: Stage,
}

/// Where packets go that leave a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Onto the wire, in turn with the queues of the classes.
    #[default]
    Wire,
    /// Into the next queue, which [`FlowControl::next_queue`] names: whenever a packet of a data class goes onto the wire, open queues hand one
    /// packet each on, in turn, until one has come to a queue that leads to the wire.
    Queue,
    /// The same, but every open queue hands one packet on.
    QueueAll,
}

/// What a PAUSE stops, named so that both ends of the link understand it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PauseScope {
    /// A queue of the upstream port.
    Queue(QueueIx),
    /// The packets of a flow in one direction.
    Flow(FlowId, Direction),
    /// What passes a port further down: a congestion root.
    Root(PortId),
}

/// What the buffer policy finds about an ingress port after an arrival or a departure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Classes whose ingress queue is full: their upstream must stop.
    pub full: ClassMask,
    /// Classes whose ingress queue has room again: their upstream may go.
    pub eased: ClassMask,
    /// The port as a whole.
    pub port: PortPressure,
}

impl Pressure {
    /// What a policy finds that looks at single queues.
    pub fn of_class(class: Class, is_full: bool, is_eased: bool) -> Pressure {
        let class = |it_is| if it_is { ClassMask::of(class) } else { ClassMask::NONE };
        Pressure { full: class(is_full), eased: class(is_eased), port: PortPressure::Between }
    }
}

/// What the buffer policy finds about an ingress port as a whole, whatever it finds about its queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortPressure {
    /// All classes of the upstream port must stop.
    Full,
    /// Neither full nor eased. Policies that look at queues alone say nothing else.
    #[default]
    Between,
    /// It has room again: those classes may go whose own queue is not full.
    Eased,
}

/// The ingress queue of a packet that came or went, as the buffer policy sees it; read only when someone wants to know.
#[derive(Clone, Copy)]
pub struct Gauge<'a> {
    pub(crate) policy: &'a AnyBufferPolicy,
    pub(crate) passage: Passage,
}

impl Gauge<'_> {
    /// Bytes that the packet's ingress queue holds.
    pub fn held(&self) -> u64 {
        self.policy.held(self.passage.ingress, self.passage.class)
    }

    /// Which classes of the packet's ingress port are full or eased now.
    #[inline]
    pub fn pressure(&self) -> Pressure {
        self.policy.pressure(self.passage.ingress, self.passage.class)
    }
}

/// Flow control between neighbours: which queue a packet joins, and when the upstream is paused and resumed.
#[auto_impl(Box)]
#[enum_dispatch]
pub trait FlowControl: Send {
    /// The queues that it needs at every port besides those of the classes. Never changes.
    fn added_queues(&self) -> AddedQueues {
        AddedQueues::default()
    }

    /// The queue of its egress port that a packet joins which has come in. Default: that of its class; so it is for all packets where no queues are
    /// added, and this is not called.
    fn queue(&mut self, candidate: Candidate<'_>) -> Place {
        candidate.by_class()
    }

    /// The queue that a packet joins next which leaves the queue of `from`, one that does not lead to the wire ([`Stage::Queue`]).
    fn next_queue(&mut self, candidate: Candidate<'_>, _from: Passage) -> Place {
        candidate.by_class()
    }

    /// A charged packet has joined its queue.
    fn on_enqueue(&mut self, _passage: Passage, _gauge: Gauge<'_>, _node: &mut NodeView<'_>) {}

    /// A packet of a lossless class is lost for lack of headroom; its queue is the one it would have joined.
    fn on_refuse(&mut self, _passage: Passage, _gauge: Gauge<'_>, _node: &mut NodeView<'_>) {}

    /// A charged packet has left one queue for another one.
    fn on_move(&mut self, _from: Passage, _to: Passage, _node: &mut NodeView<'_>) {}

    /// A charged packet has left its queue for the wire.
    fn on_dequeue(&mut self, _passage: Passage, _gauge: Gauge<'_>, _node: &mut NodeView<'_>) {}

    /// A flow starts at this host: the queue of its port whose gate holds it back. Default: that of its class.
    fn on_flow_start(&mut self, flow: Departing<'_>, _node: &mut NodeView<'_>) -> QueueIx {
        QueueIx::from(flow.class.0)
    }

    /// A flow of this host, which was held back by the gate of `queue`, is acknowledged in full.
    fn on_flow_end(&mut self, _flow: FlowId, _port: PortIx, _queue: QueueIx, _node: &mut NodeView<'_>) {}

    /// A control frame has arrived on `port`.
    fn on_control(&mut self, _port: PortIx, _control: &Control, _node: &mut NodeView<'_>) {}

    /// The timer that was set for `port` is due.
    fn on_timer(&mut self, _port: PortIx, _node: &mut NodeView<'_>) {}

    /// The link of `port` has come back: both ends discard the state they exchanged.
    fn on_link_up(&mut self, _port: PortIx, _node: &mut NodeView<'_>) {}

    /// Whether a closed gate stays closed until the downstream opens it: then a cycle of waits is a deadlock.
    fn holds_until_resume(&self) -> bool {
        true
    }

    /// What this node keeps stopped upstream, by ingress port: what an audit balances against [`FlowControl::stopped`] there.
    fn stopping(&self) -> Vec<(PortIx, PauseScope)> {
        Vec::new()
    }

    /// What the downstream of `port` has stopped here. Default: the queues behind closed gates.
    fn stopped(&self, port: &Port) -> Vec<PauseScope> {
        port.closed_queues().map(|queue| self.scope(port.ix, queue)).collect()
    }

    /// What a closed gate of `queue` at `port` waits to hear of. Default: the queue itself.
    fn scope(&self, _port: PortIx, queue: QueueIx) -> PauseScope {
        PauseScope::Queue(queue)
    }

    /// Whether a packet queued here is among those that keep `scope` stopped, upstream of `ingress`. Default: whether it came from there
    /// and from that queue.
    fn keeps_stopped(&self, ingress: PortIx, scope: PauseScope, frame: &Frame, at: Passage) -> bool {
        let from = frame.packet().map(|packet| PauseScope::Queue(packet.queue.into()));
        at.ingress == ingress && from == Some(scope)
    }

    /// What should have been released by now, in words, when nothing is in flight any more; `None` if all is well.
    fn leftover(&self) -> Option<String> {
        None
    }

    /// The most queues beyond those of the classes that any one port has had in use at once.
    fn most_queues_used(&self) -> QueueIx {
        0
    }

    /// Bytes that it holds on the heap, for estimates of memory.
    fn heap_bytes(&self) -> u64 {
        0
    }
}

/// What flow control may see and do at its node.
pub struct NodeView<'a> {
    /// The present.
    pub now: Time,
    ports: &'a mut [Port],
    effects: &'a mut Effects,
    endpoint: Option<&'a mut Endpoint>,
    records: &'a mut Records,
    /// Side record of the control frame that has arrived, if it is one.
    told: RecordRef,
}

/// What hooks asked for, carried out by the node when the hook returns. Reused, so that nothing is allocated.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Effects {
    /// Whether there may be any.
    pub(crate) pending: bool,
    /// Frames to send: they are queued before anything else is done, so that a resumed port does not send waiting packets first.
    pub(crate) controls: VecDeque<(PortIx, Control, RecordRef)>,
    pub(crate) others: VecDeque<Effect>,
    /// Whether it is to be told what made a queue full ([`Note::Full`]).
    pub(crate) watches_full: bool,
}

impl Effects {
    pub(crate) fn add(&mut self, effect: Effect) {
        self.pending = true;
        self.others.push_back(effect);
    }

    pub(crate) fn heap_bytes(&self) -> u64 {
        self.controls.heap_bytes() + self.others.heap_bytes()
    }
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
    /// Notify the observers.
    Note(Note),
}

impl<'a> NodeView<'a> {
    pub(crate) fn new(
        now: Time,
        ports: &'a mut [Port],
        effects: &'a mut Effects,
        endpoint: Option<&'a mut Endpoint>,
        records: &'a mut Records,
    ) -> Self {
        NodeView { now, ports, effects, endpoint, records, told: RecordRef::NONE }
    }

    /// The same for a control frame with this side record, which has arrived.
    pub(crate) fn told(self, told: RecordRef) -> Self {
        NodeView { told, ..self }
    }

    /// The node's ports.
    pub fn ports(&self) -> &[Port] {
        self.ports
    }

    /// Sends a link-local frame out of `port`, before everything that waits there.
    pub fn send(&mut self, port: PortIx, control: Control) {
        self.effects.pending = true;
        self.effects.controls.push_back((port, control, RecordRef::NONE));
    }

    /// Sends a PAUSE, with the cause for each class that it names.
    pub fn send_pause(&mut self, port: PortIx, pause: Pfc, causes: &Causes) {
        self.effects.pending = true;
        let record = self.records.insert_causes(causes);
        self.effects.controls.push_back((port, Control::Pfc(pause), record));
    }

    /// The causes in the PAUSE that has arrived, if it has any.
    pub fn causes(&self) -> Option<&Causes> {
        self.records.causes(self.told)
    }

    /// Reports what made a queue full, if this is recorded: for each egress port in turn the bytes queued there of what arrived on
    /// `ingress` in `class`.
    pub fn note_full(&mut self, ingress: PortIx, class: Class, held: impl Iterator<Item = u64>) {
        if !self.effects.watches_full {
            return;
        }
        let port = self.ports[usize::from(ingress)].id;
        for (egress, bytes) in (0..).zip(held).filter(|(_, bytes)| *bytes > 0) {
            self.effects.add(Effect::Note(Note::Full { port, class, egress, bytes }));
        }
    }

    /// Closes the gate of a queue: nothing leaves it from now on. `cause` says why: at least the port whose congestion is the cause.
    pub fn close(&mut self, port: PortIx, queue: QueueIx, cause: impl Into<Cause>) {
        self.ports[usize::from(port)].close(queue, self.now, cause.into());
        self.endpoint.iter_mut().for_each(|endpoint| endpoint.close(port, queue));
    }

    /// Opens the gate of a queue.
    pub fn open(&mut self, port: PortIx, queue: QueueIx) {
        let port = &mut self.ports[usize::from(port)];
        if let Some(closure) = port.open(queue, self.now) {
            let (note, kick) = (Effect::Note(Note::Paused { port: port.id, queue, closure }), Effect::Kick(port.ix));
            self.endpoint.iter_mut().for_each(|endpoint| endpoint.open(port.ix, queue));
            self.effects.add(note);
            self.effects.add(kick);
        }
    }

    /// Notes that `root`, for which gates of `port` are closed, had given up already when the frame that reports it was sent.
    pub fn note_given_up(&mut self, port: PortIx, root: PortId) {
        let port = &self.ports[usize::from(port)];
        let closed = port.closed_queues().filter_map(|queue| port.gate(queue).closed());
        let since = closed.filter(|(_, cause)| *cause == root).map(|(since, _)| since);
        let waited: Duration = since.map(|since| self.now.since(since).min(port.delay)).sum();
        if waited > Duration::ZERO {
            self.effects.add(Effect::Note(Note::GivenUp { waited }));
        }
    }

    /// Moves all packets of a queue that does not lead to the wire into the queues that [`FlowControl::next_queue`] names, in order, before
    /// another packet arrives.
    pub fn flush(&mut self, port: PortIx, queue: QueueIx) {
        self.effects.add(Effect::Flush(port, queue));
        self.effects.add(Effect::Kick(port));
    }

    /// Calls [`FlowControl::on_timer`] for `port` at `at`, instead of any earlier request; [`Time::NEVER`] cancels.
    pub fn set_timer(&mut self, port: PortIx, at: Time) {
        let timer = &mut self.ports[usize::from(port)].timer_at;
        if *timer != at {
            *timer = at;
            self.effects.add(Effect::Timer(port));
        }
    }

    /// The port that is the cause when a packet waits in `queue` of `port`: the port itself, or the cause of its closed gate.
    pub fn culprit(&self, port: PortIx, queue: QueueIx) -> PortId {
        let port = &self.ports[usize::from(port)];
        port.gate(queue).closed().map_or(port.id, |(_, cause)| cause)
    }
}

// -------------------------------------------------------------------------------------------------------------------- headroom

/// The buffer policy of a switch: which pool pays for a packet, and when an ingress queue is full.
#[auto_impl(Box)]
#[enum_dispatch]
pub trait BufferPolicy: Send {
    /// Charges an arriving packet of `bytes` to a pool.
    ///
    /// # Errors
    /// The reason why no pool takes it; it is then dropped.
    fn admit(&mut self, ingress: PortIx, class: Class, bytes: u64, now: Time) -> Result<(), DropCause>;

    /// A packet of `class` is about to come in on `ingress`: the moment to ask the memory for what [`BufferPolicy::admit`] needs.
    fn expect(&self, _ingress: PortIx, _class: Class) {}

    /// Frees a departing packet that was admitted.
    fn release(&mut self, ingress: PortIx, class: Class, bytes: u64, now: Time);

    /// Which classes of `ingress` are full or eased, after a packet of `class` came or went.
    fn pressure(&self, ingress: PortIx, class: Class) -> Pressure;

    /// Bytes in use, for probes and audits.
    fn occupancy(&self) -> Occupancy;

    /// Bytes charged to one ingress queue, all pools together.
    fn held(&self, ingress: PortIx, class: Class) -> u64;

    /// Bytes of headroom that one ingress queue uses; its port, where queues share it.
    fn headroom(&self, _ingress: PortIx, _class: Class) -> u64 {
        0
    }

    /// The most bytes of headroom that one ingress queue has used so far; its port, where queues share it.
    fn peak_headroom(&self, _ingress: PortIx, _class: Class) -> u64 {
        0
    }

    /// Bytes that it holds on the heap, for estimates of memory.
    fn heap_bytes(&self) -> u64 {
        0
    }
}

/// Bytes in use in a switch's buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// In all pools.
    pub used: u64,
    /// Of these in the shared pool.
    pub shared: u64,
    /// Of these in headroom.
    pub headroom: u64,
    /// The most that has been in use at once so far.
    pub peak: u64,
}

// ---------------------------------------------------------------------------------------------------------- congestion control

/// Congestion point: what a switch does to packets as they leave.
#[auto_impl(Box)]
#[enum_dispatch]
pub trait CongestionPoint: Send {
    /// A data packet leaves `queue` of `port` (its bytes are already gone from the counters).
    fn on_departure(&mut self, _departure: Departure<'_>) {}

    /// Bytes that it holds on the heap, for estimates of memory.
    fn heap_bytes(&self) -> u64 {
        0
    }
}

/// A data packet that starts on the wire of a switch's egress port.
#[derive(Debug)]
pub struct Departure<'a> {
    /// The present.
    pub now: Time,
    /// The port that it leaves through.
    pub port: &'a Port,
    /// The queue that it stood in.
    pub queue: QueueIx,
    /// The packet.
    pub frame: &'a mut Frame,
    /// Where its telemetry is kept.
    pub records: &'a mut Records,
}

/// What the receiver reports about a data packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notification {
    /// Echo congestion in the packet's ACK (which is then sent at once).
    pub echo: bool,
    /// Send a CNP frame.
    pub cnp: bool,
}

/// Notification point: what a receiver reports about one flow.
#[auto_impl(Box)]
#[enum_dispatch]
pub trait NotificationPoint: Send {
    /// A data packet of the flow has arrived; `marked` is its ECN mark.
    fn on_data(&mut self, _now: Time, _marked: bool) -> Notification {
        Notification::default()
    }
}

/// Reaction point: rate and window of one flow at its sender.
#[auto_impl(Box)]
#[enum_dispatch]
pub trait ReactionPoint: Send {
    /// Rate at which the next packet is paced.
    fn rate(&mut self, now: Time) -> Rate;

    /// Most payload bytes in flight; a packet may go while fewer are.
    fn window(&self) -> u64 {
        u64::MAX
    }

    /// `wire_bytes` of the flow start on the wire.
    fn on_sent(&mut self, _now: Time, _wire_bytes: u64) {}

    /// An ACK (or NACK) has arrived.
    fn on_ack(&mut self, _ack: &AckView<'_>) {}

    /// A CNP has arrived, as a frame or as the echo in an ACK.
    fn on_cnp(&mut self, _now: Time) {}

    /// Whether a new rate also moves the departure of the packet already being paced.
    fn repaces(&self) -> bool {
        false
    }
}

/// What an ACK tells the reaction point.
#[derive(Debug)]
pub struct AckView<'a> {
    /// The present.
    pub now: Time,
    /// Payload bytes acknowledged so far.
    pub acked_bytes: u64,
    /// Payload bytes sent so far.
    pub sent_bytes: u64,
    /// Time since the packet answered began its transmission, as its time stamp tells: in whole nanoseconds, below 4.29 s.
    pub rtt: Duration,
    /// What the switches stamped into the packet answered.
    pub telemetry: Option<&'a Telemetry>,
}

// -------------------------------------------------------------------------------------------------------------- load balancing

/// Load balancing: which of several equal-cost ports a packet takes.
#[auto_impl(Box)]
#[enum_dispatch]
pub trait LoadBalance: Send {
    /// Index into `candidates` (at least two) for a packet of the flow named by `key`.
    fn choose(&mut self, key: FlowKey, candidates: &[PortIx], ports: &[Port]) -> usize;
}

/// What a hash over a packet's addresses sees: the same for all packets of a flow in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowKey(pub u64);

// --------------------------------------------------------------------------------------------------------------- loss recovery

/// How far a sender is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The next packet to send.
    pub next: Psn,
    /// The oldest packet not acknowledged.
    pub acked: Psn,
    /// One more than the highest packet ever sent.
    pub highest: Psn,
}

/// Loss recovery at the sender of one flow.
#[auto_impl(Box)]
#[enum_dispatch]
pub trait RecoverySender: Send {
    /// Everything before `expected` has arrived.
    fn on_ack(&mut self, expected: Psn, progress: &mut Progress);

    /// The receiver misses `expected`.
    fn on_nack(&mut self, expected: Psn, progress: &mut Progress);

    /// Nothing was acknowledged for [`Self::timeout`].
    fn on_timeout(&mut self, progress: &mut Progress);

    /// How long a sender with packets in flight waits for progress; `None`: for ever.
    fn timeout(&self) -> Option<Duration>;
}

/// What a receiver does with a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The next one in order: deliver it, and those kept that follow it.
    Deliver {
        /// How many these are, itself included.
        packets: u32,
    },
    /// Something before it is missing, but may still come: it is kept.
    Keep,
    /// Had it already: acknowledge again.
    Duplicate,
    /// Something before it is missing: ask for it.
    Nack,
    /// Something before it is missing and has been asked for.
    Ignore,
}

/// Loss recovery at the receiver of one flow.
#[auto_impl(Box)]
#[enum_dispatch]
pub trait RecoveryReceiver: Send {
    /// Packet `psn` has arrived while `expected` is the next in order.
    fn on_data(&mut self, psn: Psn, expected: Psn, now: Time) -> Verdict;
}
