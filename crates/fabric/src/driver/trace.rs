//! Traces of nodes' actions, for export, the viewer and tests.

use crate::contract::report::Report;
use crate::frame::Frame;
use crate::frame::record::Record;
use crate::ids::{FlowId, NodeId, PortId};
use crate::network::fabric::Fabric;
use backwater_engine::Time;
use backwater_engine::memory::HeapBytes;
use std::collections::BTreeSet;

/// Actions to trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSpec {
    /// Start of the trace.
    pub from: Time,
    /// End of the trace, exclusive.
    pub until: Time,
    /// Scope of the trace.
    pub scope: TraceScope,
}

/// Scope of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceScope {
    /// All actions.
    All,
    /// Actions of these nodes.
    Nodes(BTreeSet<NodeId>),
    /// Actions at these ports, and actions of the ports' nodes that belong to no port.
    Ports(BTreeSet<PortId>),
    /// Actions on these flows: data, answers and senders.
    Flows(BTreeSet<FlowId>),
}

/// A traced action.
#[derive(Clone, Debug)]
pub struct Traced {
    /// Time.
    pub at: Time,
    /// Node.
    pub node: NodeId,
    /// Port, if the action belongs to one.
    pub port: Option<PortId>,
    /// Action.
    pub what: TracedAction,
}

/// Action of a node.
#[derive(Clone, Debug)]
pub enum TracedAction {
    /// Start of a transmission.
    Sent {
        /// Frame.
        frame: Frame,
        /// Copy of the frame's side record.
        record: Option<Box<Record>>,
        /// End of the transmission.
        until: Time,
    },
    /// Report of a node or a mechanism.
    Reported(Report),
}

/// Trace of a shard's nodes, of each node in order of execution; `None` if tracing is off.
#[derive(Debug, Default)]
pub(crate) struct Trace(Option<Box<Recording>>);

#[derive(Debug)]
struct Recording {
    spec: TraceSpec,
    actions: Vec<Traced>,
}

impl HeapBytes for Trace {
    fn heap_bytes(&self) -> u64 {
        self.0.as_ref().map_or(0, |recording| recording.actions.heap_bytes())
    }
}

impl Trace {
    /// Starts to trace what `spec` selects.
    pub(crate) fn start(&mut self, spec: TraceSpec) {
        self.0 = Some(Box::new(Recording { spec, actions: Vec::new() }));
    }

    /// Moves the actions before `now` to `trace`.
    pub(crate) fn take(&mut self, now: Time, trace: &mut Vec<Traced>) {
        if let Some(Recording { actions, .. }) = self.0.as_deref_mut() {
            trace.extend(actions.extract_if(.., |traced| traced.at < now));
        }
    }

    /// Returns true if there is a trace.
    pub(crate) fn is_set(&self) -> bool {
        self.0.is_some()
    }

    /// Returns true if actions at `now` are traced.
    #[inline]
    pub(crate) fn is_on(&self, now: Time) -> bool {
        self.0.as_ref().is_some_and(|recording| (recording.spec.from..recording.spec.until).contains(&now))
    }

    /// Records the start of a transmission at `port`.
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
        let Some(recording) = self.0.as_mut().filter(|recording| recording.selects(node, Some(port), flow, fabric))
        else {
            return;
        };
        let what = TracedAction::Sent { frame: *frame, record: record(), until };
        recording.actions.push(Traced { at, node, port: Some(port), what });
    }

    /// Records a report of a node.
    pub(crate) fn add_report(&mut self, at: Time, report: &Report, fabric: &Fabric) {
        let Some((node, port)) = place(report, fabric) else { return };
        let flow = flow_of(report);
        let Some(recording) = self.0.as_mut().filter(|recording| recording.selects(node, port, flow, fabric)) else {
            return;
        };
        recording.actions.push(Traced { at, node, port, what: TracedAction::Reported(*report) });
    }
}

impl Recording {
    fn selects(&self, node: NodeId, port: Option<PortId>, flow: Option<FlowId>, fabric: &Fabric) -> bool {
        match (&self.spec.scope, port) {
            (TraceScope::Ports(ports), Some(port)) => ports.contains(&port),
            (TraceScope::Flows(flows), _) => flow.is_some_and(|flow| flows.contains(&flow)),
            _ => self.spec.covers(node, fabric),
        }
    }
}

impl TraceSpec {
    /// All actions of the whole run.
    pub const ALL: TraceSpec = TraceSpec { from: Time::ZERO, until: Time::NEVER, scope: TraceScope::All };

    /// Returns true if actions of `node` may be traced.
    pub(crate) fn covers(&self, node: NodeId, fabric: &Fabric) -> bool {
        match &self.scope {
            TraceScope::All | TraceScope::Flows(_) => true,
            TraceScope::Nodes(nodes) => nodes.contains(&node),
            TraceScope::Ports(ports) => fabric.wiring.ports_of(node).iter().any(|port| ports.contains(&port.id)),
        }
    }
}

/// Returns node and port of a report; `None` for reports that are not traced.
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
        Report::Posted { flow, .. } | Report::Acknowledged { flow, .. } => Some((fabric.flow(*flow).src, None)),
        Report::Full { .. } | Report::Count { .. } => None,
    }
}

/// Returns the flow of a report.
fn flow_of(report: &Report) -> Option<FlowId> {
    match report {
        Report::Enqueued { flow, .. }
        | Report::Moved { flow, .. }
        | Report::Dequeued { flow, .. }
        | Report::Sender { flow, .. }
        | Report::Rate { flow, .. }
        | Report::Marked { flow, .. }
        | Report::Posted { flow, .. }
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
