//! Observations of a shard while a network runs.

use crate::contract::report::{DropCause, Report};
use crate::driver::totals::Totals;
use crate::driver::trace::Trace;
use crate::frame::cause::Closure;
use crate::frame::{Control, PacketKind, Signal};
use crate::ids::{Class, FlowId, NodeId, PortId, PortIx, QueueIx};
use crate::model::sink::MessageEvent;
use crate::network::fabric::{Fabric, Guarantee};
use backwater_engine::Time;
use backwater_engine::fingerprint::Fingerprint;
use std::collections::BTreeMap;

/// Counters and records of a shard.
#[derive(Default)]
pub(crate) struct Observations {
    /// Totals that are not kept by nodes.
    pub(crate) totals: Totals,
    /// Counters of mechanisms, by name.
    pub(crate) counters: BTreeMap<&'static str, u64>,
    /// Flows that their senders completed since the list was last collected.
    pub(crate) acknowledged: Vec<Acknowledged>,
    /// Ends of messages since the list was last collected.
    pub(crate) messages: Vec<(Time, MessageEvent)>,
    /// Flow and kind of every packet that was lost since the list was last collected, except for
    /// notices.
    pub(crate) lost: Vec<(FlowId, PacketKind)>,
    pub(crate) pauses: Vec<PauseInterval>,
    pub(crate) full: Vec<FullQueue>,
    /// Drops that break the lossless guarantee.
    pub(crate) violations: Vec<LossyDrop>,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) trace: Trace,
}

/// A flow whose sender has received the last ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) flow: FlowId,
    pub(crate) at: Time,
    /// Packets sent, retransmissions included.
    pub(crate) packets: u64,
    pub(crate) retransmitted: u64,
}

/// Interval in which an egress queue was paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseInterval {
    /// Paused port.
    pub port: PortId,
    /// Paused queue; the class, for class-based flow controls.
    pub queue: QueueIx,
    /// Start, end and cause.
    pub closure: Closure,
}

/// Part of a full ingress queue at one egress port, when the PAUSE for the queue was generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullQueue {
    /// Time of the PAUSE.
    pub at: Time,
    /// Ingress port.
    pub port: PortId,
    /// Traffic class.
    pub class: Class,
    /// Egress port of the same node.
    pub egress: PortIx,
    /// Charged bytes of the ingress queue at the egress port.
    pub bytes: u64,
}

/// Drop of a packet of a lossless class that found no headroom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossyDrop {
    /// Time of the drop.
    pub at: Time,
    /// Node.
    pub node: NodeId,
    /// Ingress port.
    pub ingress: PortId,
    /// Ingress class.
    pub class: Class,
}

impl Observations {
    /// Counts a link-local frame that starts on a wire.
    #[inline(never)]
    pub(super) fn count_control(&mut self, control: &Control) {
        self.totals.port_pause_frames += u64::from(control.is_port_pause());
        match control.signal() {
            Signal::Pause => self.totals.pause_frames += 1,
            Signal::Resume => self.totals.resume_frames += 1,
            Signal::Other => {}
        }
    }

    /// Records a report of a node.
    pub(super) fn report(&mut self, report: Report, now: Time, fabric: &Fabric) {
        if self.trace.is_on(now) {
            self.trace.add_report(now, &report, fabric);
        }
        match report {
            // Only traces use these reports.
            Report::Enqueued { .. }
            | Report::Moved { .. }
            | Report::Dequeued { .. }
            | Report::Marked { .. }
            | Report::Stopped { .. }
            | Report::Link { .. }
            | Report::Sender { .. }
            | Report::Rate { .. } => {}
            Report::Posted { .. } => self.totals.started_flows += 1,
            Report::Dropped { node, ingress, class, packet, cause, .. } => {
                let packet = packet.filter(|(kind, ..)| *kind != PacketKind::Notice);
                self.lost.extend(packet.map(|(kind, flow, _)| (flow, kind)));
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
            Report::Acknowledged { flow, .. } if fabric.flow(flow).is_connection() => {
                self.totals.acknowledged_flows += 1;
            }
            Report::Acknowledged { flow, packets, retransmitted } => {
                self.acknowledged.push(Acknowledged { flow, at: now, packets, retransmitted });
            }
        }
    }
}
