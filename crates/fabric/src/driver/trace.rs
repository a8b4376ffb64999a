//! The trace: what nodes do, event by event. It stands behind the sink: whatever shows, exports or tests single events takes them from here.

use crate::contract::report::Report;
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
    /// Report of a node or a mechanism.
    Reported(Report),
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
        let node = fabric.wiring.ports[port].node;
        let flow = frame.packet().map(|packet| packet.flow);
        let Some(tracer) = self.0.as_mut().filter(|tracer| tracer.wants(node, Some(port), flow, fabric)) else {
            return;
        };
        let what = Action::Sent { frame: *frame, record: record(), until };
        tracer.actions.push(Traced { at, node, port: Some(port), what });
    }

    /// Adds a report of a node.
    pub(crate) fn add_report(&mut self, at: Time, report: &Report, fabric: &Fabric) {
        let Some((node, port)) = place(report, fabric) else { return };
        let flow = flow_of(report);
        let Some(tracer) = self.0.as_mut().filter(|tracer| tracer.wants(node, port, flow, fabric)) else { return };
        tracer.actions.push(Traced { at, node, port, what: Action::Reported(*report) });
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
fn place(report: &Report, fabric: &Fabric) -> Option<(NodeId, Option<PortId>)> {
    match report {
        Report::Paused { port, .. }
        | Report::Stopped { port, .. }
        | Report::Enqueued { port, .. }
        | Report::Moved { port, .. }
        | Report::Dequeued { port, .. }
        | Report::Link { port, .. }
        | Report::Sender { port, .. }
        | Report::Rate { port, .. }
        | Report::Marked { port, .. }
        | Report::Dropped { ingress: port, .. } => Some((fabric.wiring.ports[*port].node, Some(*port))),
        Report::Received { flow, .. } => Some((fabric.flow(*flow).dst, None)),
        Report::Acknowledged { flow, .. } => Some((fabric.flow(*flow).src, None)),
        Report::Full { .. } | Report::Count { .. } => None,
    }
}

/// Which flow it concerns.
fn flow_of(report: &Report) -> Option<FlowId> {
    match report {
        Report::Enqueued { flow, .. }
        | Report::Moved { flow, .. }
        | Report::Dequeued { flow, .. }
        | Report::Sender { flow, .. }
        | Report::Rate { flow, .. }
        | Report::Marked { flow, .. }
        | Report::Received { flow, .. }
        | Report::Acknowledged { flow, .. } => Some(*flow),
        Report::Dropped { packet, .. } => packet.map(|(_, flow, _)| flow),
        Report::Paused { .. }
        | Report::Stopped { .. }
        | Report::Link { .. }
        | Report::Full { .. }
        | Report::Count { .. } => None,
    }
}
