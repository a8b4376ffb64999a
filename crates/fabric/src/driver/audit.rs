//! The audit: invariants of every run, whatever the mechanisms do.

use crate::contract::packet::QueuedPacket;
use crate::contract::{FlowControlAccounts, PauseScope};
use crate::driver::shard::Shard;
use crate::driver::simulation::Simulation;
use crate::ids::{CLASSES, Class, NodeId, PortIx};
use crate::model::fifo::Frames;
use crate::model::node::Node;
use crate::model::port::Port;
use backwater_engine::Time;
use backwater_engine::index::IndexVec;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Time of the check.
    pub at: Time,
    /// Node or port.
    pub place: String,
    /// Violation in words.
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

impl Simulation {
    /// Checks the invariants of bytes, buffers and PAUSEs.
    pub fn audit(&self) -> Vec<Violation> {
        let mut violations = audit(self);
        if self.is_quiet() {
            let records: usize = self.shards.iter().map(Shard::records_in_use).sum();
            if records > 0 {
                violations.push(Violation::new(self.now, "network", format!("frame records not freed: {records}")));
            }
        }
        violations
    }
}

/// Checks that, at every node, bytes in = bytes out + bytes held, and that buffer counters match
/// the queues. Once the network is quiet, every PAUSE sent must match a closed gate, and flow
/// control must hold back nothing. The check of PAUSEs skips links that are down. The check of the
/// flow control's state is skipped while any link is down.
fn audit(simulation: &Simulation) -> Vec<Violation> {
    let fabric = simulation.fabric();
    let mut violations = Vec::new();
    let mut report = |node: NodeId, what: String| {
        violations.push(Violation::new(simulation.now(), fabric.name(node), what));
    };
    let list = |pauses: &BTreeSet<PauseScope>| {
        let names: Vec<_> = pauses.iter().map(|scope| format!("{scope:?}")).collect();
        if names.is_empty() { "nothing".into() } else { names.join(", ") }
    };
    let quiet = simulation.is_quiet();
    // A failed link may have lost a RESUME. Nodes relay PAUSEs, so state may be left at any node.
    let is_whole = !simulation.nodes().any(|node| node.ports().iter().any(Port::is_down));
    for node in simulation.nodes() {
        let counters = node.counters();
        let frames = simulation.frames(node.id);
        let queued: u64 = node.ports().iter().map(|port| port.total_bytes(frames)).sum();
        let held = queued + node.switch().map_or(0, |switch| switch.transit.bytes());
        let sent: u64 = node.ports().iter().map(Port::sent_bytes).sum();
        let (added, removed) = (counters.received + counters.created, sent + counters.consumed + node.losses().bytes);
        if added != removed + held {
            let balance =
                format!("{added} B received or created, but {removed} B sent, consumed or lost and {held} B held");
            report(node.id, balance);
        }
        check_buffer(node, frames, &mut report);
        if quiet {
            let leftover = node.flow_control().leftover().filter(|_| is_whole);
            if let Some(what) = leftover {
                report(node.id, what);
            }
            let mut pauses: BTreeMap<PortIx, BTreeSet<PauseScope>> = BTreeMap::new();
            for (ix, scope) in node.flow_control().upstream_pauses() {
                pauses.entry(ix).or_default().insert(scope);
            }
            for port in fabric.wiring.ports_of(node.id) {
                let peer = &fabric.wiring.ports[port.peer];
                let sent = pauses.remove(&port.ix).unwrap_or_default();
                let upstream = simulation.node(peer.node);
                let upstream_port = &upstream.ports()[peer.ix];
                if upstream_port.is_down() {
                    continue;
                }
                let obeyed: BTreeSet<PauseScope> =
                    upstream.flow_control().obeyed_pauses(peer.ix, upstream_port).into_iter().collect();
                if sent != obeyed {
                    report(
                        node.id,
                        format!(
                            "port {} has paused {}, but its peer has stopped {}",
                            port.ix.0,
                            list(&sent),
                            list(&obeyed)
                        ),
                    );
                }
            }
        }
    }
    violations
}

/// Checks that the bytes charged to each ingress queue are in egress queues or in transit to them.
fn check_buffer<'a>(node: &'a Node, frames: &'a Frames, report: &mut impl FnMut(NodeId, String)) {
    let Some(switch) = node.switch() else { return };
    let mut queued_bytes: IndexVec<PortIx, _> = vec![[0u64; CLASSES]; node.ports().len()].into();
    let in_queues = |port: &'a Port| port.queues().flat_map(move |queue| port.frames(queue, frames));
    let queued = node.ports().iter().flat_map(in_queues).chain(switch.transit.packets());
    for QueuedPacket { frame, ingress, ingress_class, .. } in queued {
        if *ingress_class != Class::CONTROL && *ingress != PortIx::NONE {
            queued_bytes[*ingress][ingress_class.index()] += u64::from(frame.size.charge);
        }
    }
    for (ingress, classes) in queued_bytes.enumerate() {
        for (class, (bytes, charged)) in classes.iter().zip(switch.ingress_occupancies(ingress)).enumerate() {
            if charged != *bytes {
                let what = format!(
                    "ingress queue of port {}, class {class}: {charged} B charged, but {bytes} B in egress queues",
                    ingress.0
                );
                report(node.id, what);
            }
        }
    }
    let total: u64 = queued_bytes.iter().flatten().sum();
    let used = switch.occupancy().used;
    if total != used {
        report(node.id, format!("{used} B of the buffer charged, but {total} B in egress queues"));
    }
}

#[cfg(test)]
mod tests;
