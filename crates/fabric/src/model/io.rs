//! Input and output of a node: its ports, its endpoint, and the actions that mechanisms request
//! through a [`View`](crate::contract::View).

use crate::contract::report::{DropCause, Report};
use crate::contract::view::{MechanismAccess, ambassador_impl_NodeAccess};
use crate::contract::{BufferPolicy, NodeAccess, OutgoingNotice, PortView};
use crate::frame::cause::{Cause, Causes};
use crate::frame::record::Records;
use crate::frame::{Control, Frame};
use crate::ids::{CLASSES, NodeId, PortIx, QueueIx};
use crate::mechanisms::headroom::AnyBufferPolicy;
use crate::model::fifo::Place;
use crate::model::flags::NodeFlags;
use crate::model::host::endpoint::Endpoint;
use crate::model::ledger::Ledger;
use crate::model::port::Port;
use crate::model::sink::{Env, Sink};
use crate::network::fabric::Fabric;
use ambassador::Delegate;
use backwater_engine::Time;
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::memory::HeapBytes;
use std::collections::VecDeque;

/// Charged bytes that a node has handled: `received + created = sent + consumed + lost + queued`,
/// where `sent` is the sum over the node's ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes received over links.
    pub received: u64,
    /// Bytes of frames created by this node.
    pub created: u64,
    /// Bytes of frames consumed by this node.
    pub consumed: u64,
}

/// Losses of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Charged bytes.
    pub bytes: u64,
    /// Frames, by cause ([`DropCause::ALL`]).
    pub frames: [u64; DropCause::ALL.len()],
}

/// Ports and endpoint of a node, and the actions that its mechanisms requested.
#[repr(C)]
pub(crate) struct NodeIo {
    pub(crate) ports: IndexVec<PortIx, Port>,
    pub(crate) counters: Counters,
    pub(crate) actions: PendingActions,
    pub(crate) endpoint: Option<Endpoint>,
    /// Latency breakdown of packets, if recorded.
    pub(crate) ledger: Option<Box<Ledger>>,
    /// Hooks of mechanisms, and the model's own flags.
    pub(crate) flags: NodeFlags,
    /// Timer of each mechanism, by [`HookOwner`].
    pub(crate) wakes: [Time; HookOwner::ALL.len()],
    /// Wake-up scheduled for the first of these timers; [`Time::NEVER`] if none.
    pub(crate) wake_at: Time,
    pub(crate) losses: Losses,
    /// Node that owns the ports.
    pub(crate) node: NodeId,
}

/// Actions that hooks requested. The node runs them when the hook returns. The queues are reused,
/// so nothing is allocated in steady state.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct PendingActions {
    /// True if any action may have been requested.
    pub(crate) pending: bool,
    /// Number of pending reports. Observers receive reports before any other action runs: the
    /// report of an opened gate precedes the departures from the gate's queue.
    reports: u32,
    /// Link-local frames to send; true if causes travel with the frame. The frames are queued
    /// before other actions run, so that a resumed port does not send waiting packets first.
    controls: VecDeque<(PortIx, Control, bool)>,
    /// Causes, in the order of the frames.
    causes: VecDeque<Causes>,
    /// Reports first, then all other actions, each in order.
    pub(crate) others: VecDeque<Action>,
    /// Notices to send.
    pub(crate) notices: VecDeque<OutgoingNotice>,
    /// True if the content of full queues is recorded ([`Report::Full`]).
    pub(crate) records_full_queues: bool,
}

/// An action that a hook requested.
#[derive(Debug)]
pub(crate) enum Action {
    /// Schedule a port's next transmission.
    Schedule(PortIx),
    /// Move all packets of a queue to their next queues.
    Flush(PortIx, QueueIx),
    /// Schedule the wake-up for a port's timer.
    Timer(PortIx),
    /// Schedule the wake-up for a mechanism's timer.
    WakeUp,
    /// Report to the observers.
    Report(Report),
    /// Call the hooks for a gate; true if the gate opened, false if it closed.
    Gate(PortIx, QueueIx, bool),
}

/// Mechanism that a [`View`](crate::contract::View) serves; the view sets this mechanism's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookOwner {
    FlowControl,
    CongestionPoint,
    LoadBalance,
}

impl HookOwner {
    pub(crate) const ALL: [HookOwner; 3] = [HookOwner::FlowControl, HookOwner::CongestionPoint, HookOwner::LoadBalance];
}

impl PendingActions {
    fn report(&mut self, report: Report) {
        self.pending = true;
        self.others.insert(self.reports as usize, Action::Report(report));
        self.reports += 1;
    }

    /// Takes the next report, or the next other action if there is no report.
    pub(crate) fn next(&mut self) -> Option<Action> {
        self.reports = self.reports.saturating_sub(1);
        self.others.pop_front()
    }

    /// Takes the next report.
    pub(crate) fn next_report(&mut self) -> Option<Report> {
        match (self.reports > 0).then(|| self.next())?? {
            Action::Report(report) => Some(report),
            _ => None,
        }
    }

    fn add(&mut self, action: Action) {
        self.pending = true;
        self.others.push_back(action);
    }

    /// Takes the next link-local frame to send, with its causes.
    pub(crate) fn next_control(&mut self) -> Option<(PortIx, Control, Option<Causes>)> {
        let (port, control, has_causes) = self.controls.pop_front()?;
        Some((port, control, if has_causes { self.causes.pop_front() } else { None }))
    }

    pub(crate) fn heap_bytes(&self) -> u64 {
        let frames = self.controls.heap_bytes() + self.causes.heap_bytes() + self.notices.heap_bytes();
        frames + self.others.heap_bytes()
    }
}

impl NodeIo {
    /// Returns the access of a congestion point or load balancer, which may read the buffer.
    #[inline(always)]
    pub(crate) fn access_for<'a>(&'a mut self, owner: HookOwner, buffer: &'a AnyBufferPolicy) -> ScopedAccess<'a> {
        ScopedAccess { io: self, buffer, owner }
    }

    /// Sets a mechanism's timer.
    fn set_wake_up(&mut self, owner: HookOwner, at: Time) {
        self.wakes[owner as usize] = at;
        self.actions.pending = true;
        self.actions.others.push_back(Action::WakeUp);
    }

    pub(crate) fn new(node: NodeId, ports: Vec<Port>, endpoint: Option<Endpoint>) -> NodeIo {
        NodeIo {
            node,
            losses: Losses::default(),
            ports: ports.into(),
            counters: Counters::default(),
            actions: PendingActions::default(),
            endpoint,
            ledger: None,
            flags: NodeFlags::empty(),
            wakes: [Time::NEVER; HookOwner::ALL.len()],
            wake_at: Time::NEVER,
        }
    }

    /// Returns true if a packet that would join `queue` of `egress` now need not be queued: the
    /// packet would leave at once, and nothing accounts for the queue. Packets of added queues are
    /// always queued: the port counts filled ones, and inner ones pass packets on.
    #[inline(always)]
    pub(crate) fn passes<S: Sink>(&self, egress: PortIx, queue: QueueIx, now: Time) -> bool {
        let is_unobserved = !self.flags.has::<S>(NodeFlags::ACCOUNTED_DEPARTURE);
        let is_of_class = S::PLAIN || queue.index() < CLASSES;
        is_unobserved && is_of_class && self.ports[egress].is_free_for::<S>(queue, now)
    }

    /// Returns true if the link of `egress` has failed and routes avoid it: a packet would wait
    /// there for ever.
    #[inline]
    pub(crate) fn is_dead_end<S: Sink>(&self, egress: PortIx, env: &Env<'_, S>) -> bool {
        self.flags.has::<S>(NodeFlags::DEAD_ENDS) && self.is_avoided(egress, env.fabric)
    }

    #[cold]
    #[inline(never)]
    fn is_avoided(&self, egress: PortIx, fabric: &Fabric) -> bool {
        let port = &self.ports[egress];
        port.is_down() && fabric.routes.avoid(port.id)
    }

    /// Appends `egress` to a packet's trail, if trails are kept and the packet's route does not
    /// record its ports.
    #[inline(always)]
    pub(crate) fn extend_trail<S: Sink>(&self, egress: PortIx, frame: &mut Frame, records: &mut Records) {
        if self.flags.has::<S>(NodeFlags::TRAIL)
            && frame.packet().is_some_and(|packet| packet.route.destination().is_some())
        {
            records.trail_mut(&mut frame.record).push(egress);
        }
    }

    /// Consumes a frame: counts its bytes and frees its record.
    pub(crate) fn consume<S: Sink>(&mut self, frame: &Frame, env: &mut Env<'_, S>) {
        self.counters.consumed += u64::from(frame.size.charge);
        env.records.free(frame.record);
    }

    /// Drops the frame at `place`, which arrived on `port`.
    #[cold]
    pub(crate) fn drop<S: Sink>(&mut self, port: PortIx, place: Place, cause: DropCause, env: &mut Env<'_, S>) {
        let frame = env.frames.take(place).frame;
        self.losses.bytes += u64::from(frame.size.charge);
        self.losses.frames[cause as usize] += 1;
        env.records.free(frame.record);
        let (ingress, bytes) = (self.ports[port].id, u32::from(frame.size.charge));
        let packet = frame.packet().map(|packet| (packet.kind, packet.flow, packet.psn));
        env.sink
            .report(Report::Dropped { node: self.node, ingress, class: frame.class(), bytes, packet, cause }, env.now);
    }
}

/// Access of the flow control.
impl MechanismAccess for NodeIo {
    fn buffer(&self) -> Option<&dyn BufferPolicy> {
        None
    }

    fn wake_at(&mut self, at: Time) {
        self.set_wake_up(HookOwner::FlowControl, at);
    }
}

impl NodeAccess for NodeIo {
    fn id(&self) -> NodeId {
        self.node
    }

    fn port(&self, port: PortIx) -> &dyn PortView {
        &self.ports[port]
    }

    fn send(&mut self, port: PortIx, control: Control, causes: Option<&Causes>) {
        self.actions.pending = true;
        self.actions.controls.push_back((port, control, causes.is_some()));
        self.actions.causes.extend(causes);
    }

    fn close(&mut self, port: PortIx, queue: QueueIx, cause: Cause, now: Time) {
        let was_open = self.ports[port].close(queue, now, cause);
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.close(port, queue);
        }
        if was_open && self.flags.intersects(NodeFlags::TRACE) {
            if let Some(ledger) = &mut self.ledger {
                ledger.gate(port, queue, Some(cause), now);
            }
            let port = self.ports[port].id;
            self.actions.report(Report::Stopped { port, queue, cause });
        }
        if was_open && self.flags.intersects(NodeFlags::GATE) {
            self.actions.add(Action::Gate(port, queue, false));
        }
    }

    fn open(&mut self, port: PortIx, queue: QueueIx, now: Time) {
        let port = &mut self.ports[port];
        if let Some(closure) = port.open(queue, now) {
            let (report, ix) = (Report::Paused { port: port.id, queue, closure }, port.ix);
            if let Some(endpoint) = &mut self.endpoint {
                endpoint.open(ix, queue);
            }
            if let Some(ledger) = &mut self.ledger {
                ledger.gate(ix, queue, None, now);
            }
            if self.flags.intersects(NodeFlags::GATE) {
                self.actions.add(Action::Gate(ix, queue, true));
            }
            self.actions.report(report);
            self.actions.add(Action::Schedule(ix));
        }
    }

    fn flush(&mut self, port: PortIx, queue: QueueIx) {
        self.actions.add(Action::Flush(port, queue));
        self.actions.add(Action::Schedule(port));
    }

    fn set_timer(&mut self, port: PortIx, at: Time) {
        let timer = &mut self.ports[port].timer_at;
        if *timer != at {
            *timer = at;
            self.actions.add(Action::Timer(port));
        }
    }

    fn emit(&mut self, notice: OutgoingNotice) {
        self.actions.pending = true;
        self.actions.notices.push_back(notice);
    }

    fn report(&mut self, report: Report) {
        self.actions.report(report);
    }

    fn records_full_queues(&self) -> bool {
        self.actions.records_full_queues
    }
}

/// Access of a congestion point or load balancer.
#[derive(Delegate)]
#[delegate(NodeAccess, target = "io")]
pub(crate) struct ScopedAccess<'a> {
    io: &'a mut NodeIo,
    buffer: &'a AnyBufferPolicy,
    owner: HookOwner,
}

impl MechanismAccess for ScopedAccess<'_> {
    fn buffer(&self) -> Option<&dyn BufferPolicy> {
        Some(self.buffer)
    }

    fn wake_at(&mut self, at: Time) {
        self.io.set_wake_up(self.owner, at);
    }
}
