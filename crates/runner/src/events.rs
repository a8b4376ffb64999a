//! Writer of traced events to `events.parquet`.

use crate::header::{of_control, of_notice, of_telemetry};
use crate::tables::events::Columns;
use crate::tables::{Cell, EventRow, TableWriter};
use backwater_engine::{Rate, Time};
use backwater_fabric::contract::report::{DropCause, IngressOccupancy, Report};
use backwater_fabric::driver::trace::{Traced, TracedAction};
use backwater_fabric::frame::cause::Cause;
use backwater_fabric::frame::record::Record;
use backwater_fabric::frame::{Body, Control, Frame, PacketKind, Pfc, Protocol, Psn};
use backwater_fabric::ids::{Class, FlowId, QueueIx};
use backwater_fabric::mechanisms::congestion::CongestionConfig;
use backwater_fabric::mechanisms::flow_control::FlowControlConfig;
use backwater_fabric::mechanisms::load_balance::LoadBalanceConfig;
use backwater_fabric::network::fabric::Fabric;
use std::collections::BTreeMap;

/// Defines [`Word`] and the text of each word.
macro_rules! words {
    ($($word:ident = $text:literal,)+) => {
        /// Kind of event or of frame, or reason.
        #[derive(Clone, Copy)]
        enum Word {
            $($word,)+
        }

        /// Texts of all words.
        const WORDS: &[&str] = &[$($text),+];
    };
}

words! {
    Sent = "sent",
    Enqueue = "enqueue",
    Dequeue = "dequeue",
    Move = "move",
    Pause = "pause",
    Resume = "resume",
    LinkDown = "link-down",
    LinkUp = "link-up",
    Mark = "mark",
    Drop = "drop",
    Rate = "rate",
    Sender = "sender",
    Posted = "posted",
    Received = "received",
    Acknowledged = "acknowledged",
    Data = "data",
    Ack = "ack",
    Nack = "nack",
    Cnp = "cnp",
    Notice = "notice",
    Pfc = "pfc",
    Custom = "custom",
    Congestion = "congestion",
    Order = "order",
}

/// Writer of traced events.
pub(crate) struct EventLog {
    /// Index of the first of [`WORDS`] in the table's names. The names of [`DropCause::ALL`]
    /// follow.
    first_word: u32,
    /// Index of each mechanism's protocol in the table's names.
    protocols: BTreeMap<Protocol, u32>,
    /// Last rate written for each flow's sender.
    rates: BTreeMap<FlowId, Rate>,
}

/// Row in progress.
struct RowWriter<'a> {
    log: &'a EventLog,
    fabric: &'a Fabric,
    columns: &'a mut Columns,
    row: u32,
}

/// Returns the mechanisms that may send frames of their own. A mechanism and its protocol have the
/// same name.
fn mechanisms() -> impl Iterator<Item = &'static str> {
    let flow_controls = FlowControlConfig::all().into_iter().map(|one| one.name());
    let congestions = CongestionConfig::all().into_iter().map(|one| one.name());
    let balancers = LoadBalanceConfig::all().into_iter().map(|one| one.name());
    flow_controls.chain(congestions).chain(balancers)
}

impl EventLog {
    /// Adds the words to `names` and stores their indices.
    pub(crate) fn new(names: &mut Vec<String>) -> EventLog {
        let first_word = names.len() as u32;
        names.extend(WORDS.iter().copied().chain(DropCause::ALL.map(DropCause::name)).map(str::to_owned));
        let pfc = Word::Pfc as usize;
        let mut protocols = BTreeMap::from([(Protocol::named(WORDS[pfc]), first_word + pfc as u32)]);
        for name in mechanisms() {
            protocols.entry(Protocol::named(name)).or_insert_with(|| {
                names.push(name.to_owned());
                names.len() as u32 - 1
            });
        }
        EventLog { first_word, protocols, rates: BTreeMap::new() }
    }

    /// Writes `trace`, which continues the previous one and is ordered by time and node. All events
    /// of an instant must be in one trace.
    pub(crate) fn write(&mut self, trace: &[Traced], fabric: &Fabric, table: &mut TableWriter<EventRow>) {
        let mut events = Vec::new();
        for together in trace.chunk_by(|one, next| (one.at, one.node) == (next.at, next.node)) {
            let news = together.iter().filter(|traced| self.is_news(traced));
            events.extend(news.zip(0..).map(|(traced, sequence)| {
                let port = traced.port.map(|port| fabric.wiring.ports[port].ix.0);
                (port, sequence, traced)
            }));
            events.sort_by_key(|(port, ..)| *port);
            for (port, sequence, traced) in events.drain(..) {
                table.push_with(|row, columns| {
                    columns.time_ps.push(ps(traced.at));
                    columns.node.push(traced.node.0);
                    port.set(row, &mut columns.port);
                    columns.sequence.push(sequence);
                    RowWriter { log: self, fabric, columns, row }.write(&traced.what);
                });
            }
        }
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
}

/// Returns a time as a cell.
fn ps(time: Time) -> i64 {
    time.ps() as i64
}

impl RowWriter<'_> {
    fn write(&mut self, action: &TracedAction) {
        match action {
            TracedAction::Sent { frame, record, until } => {
                self.event(Word::Sent);
                self.columns.until_ps.set(self.row, ps(*until));
                self.frame(frame, record.as_deref());
            }
            TracedAction::Reported(report) => self.report(report),
        }
    }

    fn word(&self, word: Word) -> u32 {
        self.log.first_word + word as u32
    }

    fn event(&mut self, event: Word) {
        self.columns.event.push(self.word(event));
    }

    fn kind(&mut self, kind: PacketKind) {
        let word = self.word(match kind {
            PacketKind::Data => Word::Data,
            PacketKind::Ack => Word::Ack,
            PacketKind::Nack => Word::Nack,
            PacketKind::Cnp => Word::Cnp,
            PacketKind::Notice => Word::Notice,
        });
        self.columns.frame.set(self.row, word);
    }

    /// Writes the flow and the number of a packet.
    fn packet(&mut self, flow: FlowId, psn: Psn) {
        self.flow(flow);
        self.columns.psn.set(self.row, psn);
    }

    /// Writes the number of a flow. Path probes have no flow.
    fn flow(&mut self, flow: FlowId) {
        if flow != FlowId::NONE {
            self.columns.flow.set(self.row, flow.0);
        }
    }

    /// Writes the columns of a frame.
    fn frame(&mut self, frame: &Frame, record: Option<&Record>) {
        let row = self.row;
        self.columns.frame_bytes.set(row, frame.size.charge.into());
        self.columns.wire_bytes.set(row, frame.size.wire);
        self.columns.class.set(row, frame.class().0);
        let header = match &frame.body {
            Body::Packet(packet) => {
                self.kind(packet.kind);
                self.packet(packet.flow, packet.psn);
                self.columns.marked.set(row, packet.marked);
                let telemetry = self.fabric.telemetry_bytes as usize;
                match packet.kind {
                    PacketKind::Notice => record.and_then(|record| record.notice.as_ref()).map(of_notice),
                    PacketKind::Cnp => None,
                    PacketKind::Data | PacketKind::Ack | PacketKind::Nack => {
                        let stamped = || record.map(|record| record.telemetry).unwrap_or_default();
                        (telemetry > 0).then(|| of_telemetry(&stamped(), telemetry))
                    }
                }
            }
            Body::Control(Control::Pfc(Pfc { enabled, quanta, .. })) => {
                self.columns.frame.set(row, self.word(Word::Pfc));
                self.columns.pfc_classes.set(row, enabled.0);
                self.columns.pfc_quanta.set(row, *quanta);
                None
            }
            Body::Control(control @ Control::Custom { protocol, .. }) => {
                let name = self.log.protocols.get(protocol).copied().unwrap_or_else(|| self.word(Word::Custom));
                self.columns.frame.set(row, name);
                of_control(control)
            }
        };
        if let Some(header) = header {
            self.columns.header.set(row, header);
        }
    }

    fn report(&mut self, report: &Report) {
        let row = self.row;
        match *report {
            Report::Enqueued { queue, kind, class, flow, psn, bytes, ingress, .. } => {
                self.event(Word::Enqueue);
                self.columns.queue_bytes.set(row, bytes);
                self.in_queue(queue, kind, class, (flow, psn), ingress);
            }
            Report::Dequeued { queue, kind, class, flow, psn, bytes, ingress, .. } => {
                self.event(Word::Dequeue);
                self.columns.queue_bytes.set(row, bytes);
                self.in_queue(queue, kind, class, (flow, psn), ingress);
            }
            Report::Moved { queue, to, kind, class, flow, psn, .. } => {
                self.event(Word::Move);
                self.columns.to_queue.set(row, to.0);
                self.in_queue(queue, kind, class, (flow, psn), None);
            }
            Report::Stopped { queue, cause, .. } => self.gate(Word::Pause, queue, cause),
            Report::Paused { queue, closure, .. } => self.gate(Word::Resume, queue, closure.cause),
            Report::Link { up, .. } => self.event(if up { Word::LinkUp } else { Word::LinkDown }),
            Report::Marked { queue, flow, psn, .. } => {
                self.event(Word::Mark);
                self.columns.queue.set(row, queue.0);
                self.packet(flow, psn);
            }
            Report::Dropped { class, bytes, packet, cause, .. } => {
                self.event(Word::Drop);
                self.columns.class.set(row, class.0);
                self.columns.frame_bytes.set(row, bytes);
                if let Some((kind, flow, psn)) = packet {
                    self.kind(kind);
                    self.packet(flow, psn);
                }
                let causes = self.log.first_word + WORDS.len() as u32;
                self.columns.reason.set(row, causes + cause as u32);
            }
            Report::Rate { flow, rate, .. } => {
                self.event(Word::Rate);
                self.flow(flow);
                self.columns.rate_bps.set(row, rate.bps());
            }
            Report::Sender { flow, queue, next, in_flight, window, departure, .. } => {
                self.event(Word::Sender);
                self.flow(flow);
                self.columns.queue.set(row, queue.0);
                self.columns.in_flight_bytes.set(row, in_flight);
                self.columns.departure_ps.set(row, ps(departure));
                if let Some(psn) = next {
                    self.columns.psn.set(row, psn);
                }
                if window < u64::MAX {
                    self.columns.window_bytes.set(row, window);
                }
            }
            Report::Posted { flow, psn } => {
                self.event(Word::Posted);
                self.packet(flow, psn);
            }
            Report::Received { flow, psn, .. } => {
                self.event(Word::Received);
                self.packet(flow, psn);
            }
            Report::Acknowledged { flow, .. } => {
                self.event(Word::Acknowledged);
                self.flow(flow);
            }
            Report::Full { .. } | Report::Count { .. } => unreachable!("these are not traced"),
        }
    }

    /// Writes a packet in `queue`.
    fn in_queue(
        &mut self,
        queue: QueueIx,
        kind: PacketKind,
        class: Class,
        (flow, psn): (FlowId, Psn),
        ingress: Option<IngressOccupancy>,
    ) {
        let row = self.row;
        self.kind(kind);
        self.packet(flow, psn);
        self.columns.class.set(row, class.0);
        self.columns.queue.set(row, queue.0);
        if let Some(IngressOccupancy { port, class, bytes, threshold }) = ingress {
            self.columns.ingress_port.set(row, port.0);
            self.columns.ingress_class.set(row, class.0);
            self.columns.ingress_bytes.set(row, bytes);
            if let Some(threshold) = threshold {
                self.columns.threshold_bytes.set(row, threshold);
            }
        }
    }

    /// Writes a gate that closes or opens.
    fn gate(&mut self, event: Word, queue: QueueIx, cause: Cause) {
        let (row, root) = (self.row, &self.fabric.wiring.ports[cause.root]);
        self.event(event);
        self.columns.queue.set(row, queue.0);
        self.columns.cause_node.set(row, root.node.0);
        self.columns.cause_port.set(row, root.ix.0);
        let reason = self.word(if cause.for_order { Word::Order } else { Word::Congestion });
        self.columns.reason.set(row, reason);
    }
}
