//! What is counted and noted while a network runs.

use crate::contract::report::{DropCause, Report};
use crate::driver::totals::Totals;
use crate::driver::trace::Trace;
use crate::frame::PacketKind;
use crate::frame::cause::Closure;
use crate::ids::{Class, FlowId, NodeId, PortId, PortIx};
use crate::network::fabric::{Fabric, Guarantee};
use backwater_engine::Time;
use backwater_engine::fingerprint::Fingerprint;
use std::collections::BTreeMap;

/// What a shard has counted and noted.
#[derive(Default)]
pub(crate) struct Observations {
    /// Totals that are not kept by nodes.
    pub(crate) totals: Totals,
    /// Counters of mechanisms, by name.
    pub(crate) counters: BTreeMap<&'static str, u64>,
    /// Flows that their senders have completed since the last look.
    pub(crate) acknowledged: Vec<Acknowledged>,
    /// The flow of every data packet lost since the last look.
    pub(crate) lost: Vec<FlowId>,
    pub(crate) pauses: Vec<PauseInterval>,
    pub(crate) full: Vec<FullQueue>,
    /// Drops for lack of headroom where none is allowed.
    pub(crate) violations: Vec<LossyDrop>,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) trace: Trace,
}

/// A flow whose sender knows that it is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) flow: FlowId,
    pub(crate) at: Time,
    /// Packets sent, those sent again included.
    pub(crate) packets: u64,
    pub(crate) retransmitted: u64,
}

/// An interval in which an egress queue was paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseInterval {
    /// The paused port.
    pub port: PortId,
    /// Its queue; of a class-based flow control, the class.
    pub queue: u16,
    /// From when to when, and because of whom.
    pub closure: Closure,
}

/// What was at one egress port of an ingress queue that was full, when a PAUSE was generated for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullQueue {
    /// When.
    pub at: Time,
    /// The ingress port.
    pub port: PortId,
    /// The class.
    pub class: Class,
    /// The egress port, at the same node.
    pub egress: PortIx,
    /// Charged bytes.
    pub bytes: u64,
}

/// A packet of a lossless class that a switch had no headroom for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossyDrop {
    /// When.
    pub at: Time,
    /// Where.
    pub node: NodeId,
    /// The port through which it came.
    pub ingress: PortId,
    /// Its class.
    pub class: Class,
}

impl Observations {
    /// Takes down what a node reports.
    pub(super) fn report(&mut self, report: Report, now: Time, fabric: &Fabric) {
        if self.trace.is_on(now) {
            self.trace.add_report(now, &report, fabric);
        }
        match report {
            // These are for the trace alone.
            Report::Enqueued { .. }
            | Report::Moved { .. }
            | Report::Dequeued { .. }
            | Report::Marked { .. }
            | Report::Stopped { .. }
            | Report::Link { .. }
            | Report::Sender { .. }
            | Report::Rate { .. } => {}
            Report::Dropped { node, ingress, class, packet, cause, .. } => {
                self.lost.extend(packet.filter(|(kind, ..)| *kind == PacketKind::Data).map(|(_, flow, _)| flow));
                match (cause, fabric.guarantee(ingress)) {
                    (DropCause::Headroom, Guarantee::Lossless) => {
                        self.totals.violations += 1;
                        self.violations.push(LossyDrop { at: now, node, ingress, class });
                    }
                    (DropCause::Headroom, Guarantee::BestEffort { .. })
                    | (DropCause::BufferFull, Guarantee::BestEffort { any_class: true }) => {
                        self.totals.unpromised_drops += 1;
                    }
                    _ => {}
                }
            }
            Report::Paused { port, queue, closure } => {
                self.totals.paused += closure.to - closure.from;
                self.pauses.push(PauseInterval { port, queue, closure });
            }
            Report::Full { port, class, egress, bytes } => {
                self.full.push(FullQueue { at: now, port, class, egress, bytes });
            }
            Report::Count { what, amount, .. } => *self.counters.entry(what).or_default() += amount,
            Report::Received { .. } => self.totals.received_flows += 1,
            Report::Acknowledged { flow, packets, retransmitted } => {
                self.acknowledged.push(Acknowledged { flow, at: now, packets, retransmitted });
            }
        }
    }
}
