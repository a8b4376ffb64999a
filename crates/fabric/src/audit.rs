//! The audit: what must balance in every run, whatever the mechanisms do.

use crate::fifo::{Frames, Queued};
use crate::ids::{CLASSES, Class, NodeId};
use crate::node::Node;
use crate::simulation::Simulation;
use crate::slots::{FlowControl, PauseScope};
use backwater_engine::Time;
use std::collections::BTreeSet;
use std::fmt;

/// Something that does not balance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When it was found.
    pub at: Time,
    /// The node, or the port.
    pub place: String,
    /// What is wrong.
    pub what: String,
}

impl Violation {
    pub(crate) fn new(at: Time, place: impl Into<String>, what: String) -> Violation {
        Violation { at, place: place.into(), what }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.at, self.place, self.what)
    }
}

/// Bytes in = bytes out + bytes held at every node; buffer counters = what stands in the queues; and, once nothing is under way, pauses sent =
/// gates closed.
pub(crate) fn audit(simulation: &Simulation) -> Vec<Violation> {
    let fabric = simulation.fabric();
    let mut violations = Vec::new();
    let mut report = |node: NodeId, what: String| {
        violations.push(Violation::new(simulation.now(), fabric.name(node), what));
    };
    let quiet = simulation.is_quiet();
    for node in simulation.nodes() {
        let counters = node.counters();
        let frames = simulation.frames(node.id);
        let held: u64 = node.ports().iter().map(|port| port.held_bytes(frames)).sum();
        let (came, went) =
            (counters.received + counters.created, counters.sent + counters.consumed + node.losses().bytes);
        if came != went + held {
            report(node.id, format!("{came} B came in or were made, but {went} B left and {held} B are held"));
        }
        check_buffer(node, simulation.frames(node.id), &mut report);
        if quiet {
            node.flow_control().leftover().into_iter().for_each(|what| report(node.id, what));
            for port in fabric.wiring.of(node.id) {
                let peer = &fabric.wiring.ports[port.peer.0 as usize];
                let stopping = node.flow_control().stopping().into_iter().filter(|(ix, _)| *ix == port.ix);
                let told: BTreeSet<PauseScope> = stopping.map(|(_, scope)| scope).collect();
                let upstream = simulation.node(peer.node);
                let its_port = &upstream.ports()[usize::from(peer.ix)];
                let obeyed: BTreeSet<PauseScope> = upstream.flow_control().stopped(its_port).into_iter().collect();
                // A timer means that something has yet to take effect or to run out.
                if told != obeyed && its_port.timer_at == Time::NEVER {
                    report(
                        node.id,
                        format!("port {} told its peer to stop {told:?}, which has stopped {obeyed:?}", port.ix),
                    );
                }
            }
        }
    }
    violations
}

/// What the buffer policy has charged to every ingress queue must stand in the egress queues.
fn check_buffer(node: &Node, frames: &Frames, report: &mut impl FnMut(NodeId, String)) {
    let Some(pipeline) = node.pipeline() else { return };
    let mut standing = vec![[0u64; CLASSES]; node.ports().len()];
    for port in node.ports() {
        for Queued { frame, ingress, .. } in (0..port.queue_count() as u16).flat_map(|queue| port.frames(queue, frames))
        {
            if frame.class() != Class::CONTROL {
                standing[usize::from(*ingress)][frame.class().index()] += u64::from(frame.size.charge);
            }
        }
    }
    for (ingress, classes) in (0u16..).zip(&standing) {
        for (class, bytes) in (0u8..).map(Class).zip(classes) {
            let charged = pipeline.held(ingress, class);
            if charged != *bytes {
                let what = format!("ingress {ingress} class {}: {charged} B charged, {bytes} B in queues", class.0);
                report(node.id, what);
            }
        }
    }
    let total: u64 = standing.iter().flatten().sum();
    let used = pipeline.occupancy().used;
    if total != used {
        report(node.id, format!("the buffer counts {used} B in use, {total} B are in queues"));
    }
}
