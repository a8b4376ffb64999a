//! The trace: what nodes do, event by event. It stands behind the sink: whatever shows, exports or tests single events takes them from here.

use crate::contract::note::Note;
use crate::frame::Frame;
use crate::frame::record::Record;
use crate::ids::{FlowId, NodeId, PortId};
use crate::network::fabric::Fabric;
use backwater_engine::Time;
use backwater_engine::memory::HeapBytes;
use std::collections::BTreeSet;

/// What is traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSpec {
    /// From when on.
    pub from: Time,
    /// Until when; what happens at this instant is not traced any more.
    pub until: Time,
    /// What of all that happens meanwhile.
    pub scope: TraceScope,
}

/// What of all that happens is traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceScope {
    /// All.
    All,
    /// What these nodes do.
    Nodes(BTreeSet<NodeId>),
    /// What happens at these ports, and what their nodes do that is at none.
    Ports(BTreeSet<PortId>),
    /// What concerns these flows: their packets and answers, and their senders.
    Flows(BTreeSet<FlowId>),
}

/// Something that a node has done.
#[derive(Clone, Debug)]
pub struct Traced {
    /// When.
    pub at: Time,
    /// Which node.
    pub node: NodeId,
    /// At which of its ports, if at one.
    pub port: Option<PortId>,
    /// What.
    pub what: Action,
}

/// What a node has done.
#[derive(Clone, Debug)]
pub enum Action {
    /// A frame has started on the wire.
    Sent {
        /// The frame.
        frame: Frame,
        /// What its side record holds.
        record: Option<Box<Record>>,
        /// When its last bit leaves.
        until: Time,
    },
    /// Anything else that is told as a note.
    Noted(Note),
}

/// What has been traced of a shard's nodes, in the order in which it happened; `None` if nobody wants to know.
#[derive(Debug, Default)]
pub(crate) struct Trace(Option<Box<Tracer>>);

#[derive(Debug)]
struct Tracer {
    spec: TraceSpec,
    actions: Vec<Traced>,
}

impl HeapBytes for Trace {
    fn heap_bytes(&self) -> u64 {
        self.0.as_ref().map_or(0, |tracer| tracer.actions.heap_bytes())
    }
}

impl Trace {
    /// Writes down what `spec` says.
    pub(crate) fn start(&mut self, spec: TraceSpec) {
        self.0 = Some(Box::new(Tracer { spec, actions: Vec::new() }));
    }

    /// Takes what has happened before `now`.
    pub(crate) fn take(&mut self, now: Time) -> impl Iterator<Item = Traced> {
        self.0.iter_mut().flat_map(move |tracer| {
            let past = tracer.actions.partition_point(|traced| traced.at < now);
            tracer.actions.drain(..past)
        })
    }

    /// Whether anything that happens at `now` is traced.
    #[inline]
    pub(crate) fn is_on(&self, now: Time) -> bool {
        self.0.as_ref().is_some_and(|tracer| (tracer.spec.from..tracer.spec.until).contains(&now))
    }

    /// A frame has started on the wire of `port`.
    pub(crate) fn add_sent(
        &mut self,
        at: Time,
        port: PortId,
        frame: &Frame,
        until: Time,
        record: impl FnOnce() -> Option<Box<Record>>,
        fabric: &Fabric,
    ) {
        let node = fabric.wiring.ports[port.0 as usize].node;
        let flow = frame.packet().map(|packet| packet.flow);
        let Some(tracer) = self.0.as_mut().filter(|tracer| tracer.wants(node, Some(port), flow, fabric)) else {
            return;
        };
        let what = Action::Sent { frame: *frame, record: record(), until };
        tracer.actions.push(Traced { at, node, port: Some(port), what });
    }

    /// A node has told a note.
    pub(crate) fn add_note(&mut self, at: Time, note: &Note, fabric: &Fabric) {
        let Some((node, port)) = place(note, fabric) else { return };
        let flow = flow_of(note);
        let Some(tracer) = self.0.as_mut().filter(|tracer| tracer.wants(node, port, flow, fabric)) else { return };
        tracer.actions.push(Traced { at, node, port, what: Action::Noted(*note) });
    }
}

impl Tracer {
    fn wants(&self, node: NodeId, port: Option<PortId>, flow: Option<FlowId>, fabric: &Fabric) -> bool {
        match (&self.spec.scope, port) {
            (TraceScope::Ports(ports), Some(port)) => ports.contains(&port),
            (TraceScope::Flows(flows), _) => flow.is_some_and(|flow| flows.contains(&flow)),
            _ => self.spec.covers(node, fabric),
        }
    }
}

impl TraceSpec {
    /// Everything, from beginning to end.
    pub const ALL: TraceSpec = TraceSpec { from: Time::ZERO, until: Time::NEVER, scope: TraceScope::All };

    /// Whether anything that `node` does may be traced.
    pub(crate) fn covers(&self, node: NodeId, fabric: &Fabric) -> bool {
        match &self.scope {
            TraceScope::All | TraceScope::Flows(_) => true,
            TraceScope::Nodes(nodes) => nodes.contains(&node),
            TraceScope::Ports(ports) => fabric.wiring.of(node).iter().any(|port| ports.contains(&port.id)),
        }
    }
}

/// Which node has done something, and at which port; `None` for what is not traced.
fn place(note: &Note, fabric: &Fabric) -> Option<(NodeId, Option<PortId>)> {
    match note {
        Note::Paused { port, .. }
        | Note::Stopped { port, .. }
        | Note::Enqueued { port, .. }
        | Note::Moved { port, .. }
        | Note::Dequeued { port, .. }
        | Note::Link { port, .. }
        | Note::Sender { port, .. }
        | Note::Rate { port, .. }
        | Note::Marked { port, .. }
        | Note::Dropped { ingress: port, .. } => Some((fabric.wiring.ports[port.0 as usize].node, Some(*port))),
        Note::Received { flow, .. } => Some((fabric.flow(*flow).dst, None)),
        Note::Acknowledged { flow, .. } => Some((fabric.flow(*flow).src, None)),
        Note::Full { .. } | Note::Count { .. } => None,
    }
}

/// Which flow it concerns.
fn flow_of(note: &Note) -> Option<FlowId> {
    match note {
        Note::Enqueued { flow, .. }
        | Note::Moved { flow, .. }
        | Note::Dequeued { flow, .. }
        | Note::Sender { flow, .. }
        | Note::Rate { flow, .. }
        | Note::Marked { flow, .. }
        | Note::Received { flow, .. }
        | Note::Acknowledged { flow, .. } => Some(*flow),
        Note::Dropped { packet, .. } => packet.map(|(_, flow, _)| flow),
        Note::Paused { .. } | Note::Stopped { .. } | Note::Link { .. } | Note::Full { .. } | Note::Count { .. } => None,
    }
}
