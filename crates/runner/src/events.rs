//! Conversion of traced events to rows of `events.parquet`.

use crate::header::{of_control, of_notice, of_telemetry};
use crate::tables::{EventRow, Name};
use backwater_engine::{Rate, Time};
use backwater_fabric::contract::report::{DropCause, IngressOccupancy, Report};
use backwater_fabric::driver::trace::{Traced, TracedAction};
use backwater_fabric::frame::cause::Cause;
use backwater_fabric::frame::record::{Record, Telemetry};
use backwater_fabric::frame::{Body, Control, Frame, PacketKind, Pfc, Protocol, Psn};
use backwater_fabric::ids::{FlowId, NodeId, PortId, QueueIx};
use backwater_fabric::mechanisms::congestion::CongestionConfig;
use backwater_fabric::mechanisms::flow_control::FlowControlConfig;
use backwater_fabric::mechanisms::load_balance::LoadBalanceConfig;
use backwater_fabric::network::fabric::Fabric;
use std::collections::BTreeMap;

/// Kinds of events and of frames.
const WORDS: [&str; 21] = [
    "sent",
    "enqueue",
    "dequeue",
    "move",
    "pause",
    "resume",
    "link-down",
    "link-up",
    "mark",
    "drop",
    "rate",
    "sender",
    "received",
    "acknowledged",
    "data",
    "ack",
    "nack",
    "cnp",
    "notice",
    "custom",
    "order",
];

/// Reason in the row of a gate that closes because of congestion.
const CONGESTION: &str = "congestion";

/// Converter of traced events to rows.
pub(crate) struct EventLog {
    /// Index of each word in the table's names.
    words: BTreeMap<&'static str, Name>,
    /// Index of each mechanism's protocol in the table's names.
    protocols: BTreeMap<Protocol, Name>,
    /// Time, node and sequence of the last row.
    last: (Time, NodeId, u32),
    /// Last rate written for each flow's sender.
    rates: BTreeMap<FlowId, Rate>,
}

/// Returns all words that rows may contain.
fn every_word() -> impl Iterator<Item = &'static str> {
    WORDS.into_iter().chain([CONGESTION]).chain(DropCause::ALL.map(DropCause::name)).chain(mechanisms())
}

/// Returns the mechanisms that may send frames of their own. A mechanism and its protocol have the
/// same name.
fn mechanisms() -> impl Iterator<Item = &'static str> {
    let flow_controls = FlowControlConfig::all().into_iter().map(|one| one.name());
    let congestions = CongestionConfig::all().into_iter().map(|one| one.name());
    let balancers = LoadBalanceConfig::all().into_iter().map(|one| one.name());
    flow_controls.chain(congestions).chain(balancers)
}

/// Returns the number of a flow. `None` for path probes, which have no flow.
fn number(flow: FlowId) -> Option<u32> {
    (flow != FlowId::NONE).then_some(flow.0)
}

impl EventLog {
    /// Adds the words to `names` and stores their indices.
    pub(crate) fn new(names: &mut Vec<String>) -> EventLog {
        let mut words = BTreeMap::new();
        for word in every_word() {
            words.entry(word).or_insert_with(|| {
                names.push(word.to_owned());
                Name(names.len() as u32 - 1)
            });
        }
        let protocols = mechanisms().map(|name| (Protocol::named(name), words[name])).collect();
        EventLog { words, protocols, last: (Time::ZERO, NodeId(u32::MAX), 0), rates: BTreeMap::new() }
    }

    fn word(&self, word: &str) -> Name {
        self.words[word]
    }

    /// Converts `trace`, which continues the previous one. All events of an instant must be in one
    /// trace.
    pub(crate) fn rows(&mut self, trace: Vec<Traced>, fabric: &Fabric) -> Vec<EventRow> {
        let mut rows = Vec::with_capacity(trace.len());
        for traced in trace {
            if !self.is_news(&traced) {
                continue;
            }
            let (time, node, sequence) = self.last;
            let is_next = (traced.at, traced.node) == (time, node);
            let sequence = if is_next { sequence + 1 } else { 0 };
            self.last = (traced.at, traced.node, sequence);
            rows.push(self.row(&traced, sequence, fabric));
        }
        rows.sort_by_key(|row| (row.time_ps, row.node.0, row.port, row.sequence));
        rows
    }

    /// Returns false if the event only repeats a sender's last rate. Senders report their rate with
    /// every packet.
    fn is_news(&mut self, traced: &Traced) -> bool {
        match traced.what {
            TracedAction::Reported(Report::Rate { flow, rate, .. }) => self.rates.insert(flow, rate) != Some(rate),
            TracedAction::Reported(Report::Acknowledged { flow, .. }) => {
                self.rates.remove(&flow);
                true
            }
            _ => true,
        }
    }

    fn row(&self, traced: &Traced, sequence: u32, fabric: &Fabric) -> EventRow {
        let ix = |port: PortId| fabric.wiring.ports[port].ix.0;
        let blank = EventRow {
            time_ps: traced.at,
            node: traced.node.into(),
            port: traced.port.map(ix),
            sequence,
            event: self.word("sent"),
            ..EventRow::default()
        };
        match &traced.what {
            TracedAction::Sent { frame, record, until } => {
                EventRow { until_ps: Some(*until), ..self.with_frame(blank, frame, record.as_deref(), fabric) }
            }
            TracedAction::Reported(report) => self.of_report(blank, report, fabric),
        }
    }

    /// Adds the columns of a frame.
    fn with_frame(&self, row: EventRow, frame: &Frame, record: Option<&Record>, fabric: &Fabric) -> EventRow {
        let (frame_bytes, wire_bytes) = (Some(frame.size.charge.into()), Some(frame.size.wire));
        let row = EventRow { frame_bytes, wire_bytes, class: Some(frame.class().0), ..row };
        match &frame.body {
            Body::Packet(packet) => {
                let telemetry = fabric.telemetry_bytes as usize;
                let header = match packet.kind {
                    PacketKind::Notice => record.and_then(|record| record.notice.as_ref()).map(of_notice),
                    PacketKind::Cnp => None,
                    PacketKind::Data | PacketKind::Ack | PacketKind::Nack => {
                        let stamped = record.map_or(Telemetry::default(), |record| record.telemetry);
                        (telemetry > 0).then(|| of_telemetry(&stamped, telemetry))
                    }
                };
                EventRow {
                    frame: Some(self.kind(packet.kind)),
                    flow: number(packet.flow),
                    psn: Some(packet.psn),
                    marked: Some(packet.marked),
                    header,
                    ..row
                }
            }
            Body::Control(Control::Pfc(Pfc { enabled, quanta, .. })) => EventRow {
                frame: Some(self.word("pfc")),
                pfc_classes: Some(enabled.0),
                pfc_quanta: Some(*quanta),
                ..row
            },
            Body::Control(control @ Control::Custom { protocol, .. }) => {
                let name = self.protocols.get(protocol).copied().unwrap_or_else(|| self.word("custom"));
                EventRow { frame: Some(name), header: of_control(control), ..row }
            }
        }
    }

    fn kind(&self, kind: PacketKind) -> Name {
        self.word(match kind {
            PacketKind::Data => "data",
            PacketKind::Ack => "ack",
            PacketKind::Nack => "nack",
            PacketKind::Cnp => "cnp",
            PacketKind::Notice => "notice",
        })
    }

    fn of_report(&self, row: EventRow, report: &Report, fabric: &Fabric) -> EventRow {
        let row = |event| EventRow { event: self.word(event), ..row };
        match *report {
            Report::Enqueued { queue, kind, class, flow, psn, bytes, ingress, .. } => {
                let row = EventRow { queue_bytes: Some(bytes), ..row("enqueue") };
                self.in_queue(row, queue, kind, class.0, (flow, psn), ingress)
            }
            Report::Dequeued { queue, kind, class, flow, psn, bytes, ingress, .. } => {
                let row = EventRow { queue_bytes: Some(bytes), ..row("dequeue") };
                self.in_queue(row, queue, kind, class.0, (flow, psn), ingress)
            }
            Report::Moved { queue, to, kind, class, flow, psn, .. } => {
                let row = EventRow { to_queue: Some(to.0), ..row("move") };
                self.in_queue(row, queue, kind, class.0, (flow, psn), None)
            }
            Report::Stopped { queue, cause, .. } => self.because(row("pause"), queue, cause, fabric),
            Report::Paused { queue, closure, .. } => self.because(row("resume"), queue, closure.cause, fabric),
            Report::Link { up, .. } => row(if up { "link-up" } else { "link-down" }),
            Report::Marked { queue, flow, psn, .. } => {
                EventRow { queue: Some(queue.0), flow: Some(flow.0), psn: Some(psn), ..row("mark") }
            }
            Report::Dropped { class, bytes, packet, cause, .. } => EventRow {
                frame: packet.map(|(kind, ..)| self.kind(kind)),
                class: Some(class.0),
                frame_bytes: Some(bytes),
                flow: packet.and_then(|(_, flow, _)| number(flow)),
                psn: packet.map(|(.., psn)| psn),
                reason: Some(self.word(cause.name())),
                ..row("drop")
            },
            Report::Rate { flow, rate, .. } => {
                EventRow { flow: Some(flow.0), rate_bps: Some(rate.bps()), ..row("rate") }
            }
            Report::Sender { flow, queue, next, in_flight, window, departure, .. } => EventRow {
                flow: Some(flow.0),
                queue: Some(queue.0),
                psn: next,
                in_flight_bytes: Some(in_flight),
                window_bytes: Some(window).filter(|window| *window < u64::MAX),
                departure_ps: Some(departure),
                ..row("sender")
            },
            Report::Received { flow, psn, .. } => EventRow { flow: Some(flow.0), psn: Some(psn), ..row("received") },
            Report::Acknowledged { flow, .. } => EventRow { flow: Some(flow.0), ..row("acknowledged") },
            Report::Full { .. } | Report::Count { .. } => unreachable!("these are not traced"),
        }
    }

    fn in_queue(
        &self,
        row: EventRow,
        queue: QueueIx,
        kind: PacketKind,
        class: u8,
        (flow, psn): (FlowId, Psn),
        ingress: Option<IngressOccupancy>,
    ) -> EventRow {
        EventRow {
            frame: Some(self.kind(kind)),
            class: Some(class),
            flow: number(flow),
            psn: Some(psn),
            queue: Some(queue.0),
            ingress_port: ingress.map(|held| held.port.0),
            ingress_class: ingress.map(|held| held.class.0),
            ingress_bytes: ingress.map(|held| held.bytes),
            threshold_bytes: ingress.and_then(|held| held.threshold),
            ..row
        }
    }

    fn because(&self, row: EventRow, queue: QueueIx, cause: Cause, fabric: &Fabric) -> EventRow {
        let root = &fabric.wiring.ports[cause.root];
        let reason = self.word(if cause.for_order { "order" } else { CONGESTION });
        let (cause_node, cause_port) = (Some(root.node.into()), Some(root.ix.0));
        EventRow { queue: Some(queue.0), cause_node, cause_port, reason: Some(reason), ..row }
    }
}
