//! Packet scripts: the inputs of one node, and checks of its actions, without a network around it.

use backwater_engine::{Duration, Time};
use backwater_fabric::contract::Announcement;
use backwater_fabric::contract::packet::QueuedPacket;
use backwater_fabric::contract::report::Report;
use backwater_fabric::contract::{FlowControlAccounts as _, PauseScope};
use backwater_fabric::frame::cause::Cause;
use backwater_fabric::frame::framing::FrameSize;
use backwater_fabric::frame::record::{PathHeader, Record, Records};
use backwater_fabric::frame::{
    Body, Control, Frame, Notice, Packet, PacketKind, Pfc, Protocol, Psn, Route, Signal, Timestamp,
};
use backwater_fabric::ids::{CLASSES, Class, ClassMask, FlowId, NodeId, PortId, PortIx, QueueIx};
use backwater_fabric::mechanisms::flow_control::pyrrha::PyrrhaFrame;
use backwater_fabric::model::fifo::{Frames, Place};
use backwater_fabric::model::node::Node;
use backwater_fabric::model::port::Port;
use backwater_fabric::model::sink::{Env, MessageEvent, Sink, Wakeup};
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::spec::{FlowSpec, NetworkSpec};
use std::collections::{BTreeSet, VecDeque};

/// Content of a frame, as far as scripts check it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A data packet: its class and number.
    Data(u8, u32),
    /// An ACK: the next packet expected.
    Ack(u32),
    /// A NACK: the missing packet.
    Nack(u32),
    /// A PAUSE for these classes.
    Pause(Vec<u8>),
    /// A RESUME for these classes.
    Resume(Vec<u8>),
    /// A frame of Pyrrha.
    Pyrrha(PyrrhaFrame),
    /// A frame of another flow control: its signal, and its first field.
    Other(Signal, u32),
}

/// A frame that the node has started to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Start of transmission, in picoseconds.
    pub at: u64,
    pub port: u16,
    pub content: Content,
    /// End of transmission, in picoseconds.
    pub done: u64,
}

/// A transmission with its whole frame; times are in picoseconds.
struct Transmission {
    at: u64,
    port: u16,
    frame: Frame,
    done: u64,
}

impl Transmission {
    /// Returns the packet sent, if it is of this kind.
    fn packet(&self, kind: PacketKind) -> Option<&Packet> {
        self.frame.packet().filter(|packet| packet.kind == kind)
    }

    fn content(&self) -> Content {
        match &self.frame.body {
            Body::Packet(packet) => match packet.kind {
                PacketKind::Data => Content::Data(packet.class.0, packet.psn),
                PacketKind::Ack => Content::Ack(packet.psn),
                PacketKind::Nack => Content::Nack(packet.psn),
                PacketKind::Cnp | PacketKind::Notice => panic!("no script expects a CNP or a notice"),
            },
            Body::Control(Control::Pfc(pfc)) => {
                let classes = pfc.enabled.iter().map(|class| class.0).collect();
                if pfc.quanta == 0 { Content::Resume(classes) } else { Content::Pause(classes) }
            }
            Body::Control(control @ Control::Custom { signal, words, .. }) => {
                PyrrhaFrame::read(control).map_or(Content::Other(*signal, words[0]), Content::Pyrrha)
            }
        }
    }
}

/// Sink that records a node's actions.
#[derive(Default)]
struct Recorder {
    sent: VecDeque<Transmission>,
    wakeups: BTreeSet<(Time, u8, u32)>,
    reports: Vec<Report>,
}

impl Sink for Recorder {
    fn transmit(&mut self, port: &Port, place: Place, now: Time, _: &Records, frames: &mut Frames) {
        let (at, done) = (now.ps(), port.busy_until.ps());
        let frame = frames.take(place).frame;
        self.sent.push_back(Transmission { at, port: port.ix.0, frame, done });
    }

    fn schedule(&mut self, wakeup: Wakeup<'_>, at: Time) {
        // The second element sorts timers of one instant in the order in which the simulator fires
        // them.
        self.wakeups.insert(match wakeup {
            Wakeup::FlowStart(node) => (at, 0, node.0),
            Wakeup::FlowControl(port) => (at, 1, port.ix.0.into()),
            Wakeup::Retransmission(node) => (at, 2, node.0),
            Wakeup::Port(port) => (at, 3, port.ix.0.into()),
            Wakeup::Node(node) => (at, 4, node.0),
        });
    }

    fn traces(&self, _: Time) -> bool {
        true
    }

    fn report(&mut self, report: Report, _: Time) {
        self.reports.push(report);
    }

    fn announce(&mut self, _to: NodeId, _announcement: Announcement) {
        unreachable!("scripts have no applications")
    }

    fn message(&mut self, _event: MessageEvent, _now: Time) {
        unreachable!("scripts have no applications")
    }
}

/// One node of a network, and its actions so far.
pub struct Script {
    pub fabric: Fabric,
    pub node: Node,
    records: Records,
    frames: Frames,
    recorder: Recorder,
}

impl Script {
    /// Creates node `id` of `spec`, which must be valid.
    pub fn new(spec: &NetworkSpec, flows: Vec<FlowSpec>, id: u32) -> Script {
        let mut fabric = Fabric::new(spec.clone()).unwrap();
        let sources: Vec<NodeId> = flows.iter().map(|flow| flow.src).collect();
        let flows: Vec<FlowId> = flows.into_iter().map(|flow| fabric.admit(flow)).collect();
        let node = Node::new(&fabric, NodeId(id));
        let mut script = Script {
            fabric,
            node,
            records: Records::default(),
            frames: Frames::default(),
            recorder: Recorder::default(),
        };
        for (flow, _) in flows.into_iter().zip(sources).filter(|(_, source)| *source == NodeId(id)) {
            script.with(Time::ZERO, |node, env| node.expect_flow(flow, env.fabric.flow(flow).start, env));
        }
        script
    }

    /// Returns a port of the node.
    pub fn port(&self, number: u16) -> &Port {
        &self.node.ports()[PortIx(number)]
    }

    /// Fires the node's timers that are due before `at`, then applies `input` at `at`.
    fn input(&mut self, at: u64, input: impl FnOnce(&mut Node, &mut Env<'_, Recorder>)) {
        self.run_before(at);
        self.with(Time::from_ps(at), input);
    }

    fn with(&mut self, now: Time, input: impl FnOnce(&mut Node, &mut Env<'_, Recorder>)) {
        let Script { fabric, node, records, frames, recorder } = self;
        let env = &mut Env { now, fabric, records, frames, sink: recorder };
        input(node, env);
    }

    fn run_before(&mut self, limit: u64) {
        while let Some(&(at, kind, id)) = self.recorder.wakeups.first().filter(|(at, ..)| at.ps() < limit) {
            self.recorder.wakeups.pop_first();
            self.with(at, |node, env| match kind {
                0 => node.start_flows(env),
                1 => node.flow_control_timer(PortIx(id as u16), env),
                2 => node.retransmission_timer(env),
                3 => node.port_ready(PortIx(id as u16), env),
                _ => node.wake(env),
            });
        }
    }

    /// Handles a data packet of `flow` whose last byte arrives on `port` at `at`.
    pub fn arrive_data(&mut self, at: u64, port: u16, flow: u32, psn: u32) {
        self.arrive_data_marked(at, port, flow, psn, false);
    }

    /// Handles arrivals of data packets of `flow` on `port`, the first at `at`, the others `gap`
    /// apart.
    pub fn arrive_each(&mut self, at: u64, gap: u64, port: u16, flow: u32, psns: impl IntoIterator<Item = u32>) {
        for (nth, psn) in (0..).zip(psns) {
            self.arrive_data(at + nth * gap, port, flow, psn);
        }
    }

    /// Handles the arrival of a data packet of `flow`, marked or not, on `port` at `at`.
    pub fn arrive_data_marked(&mut self, at: u64, port: u16, flow: u32, psn: u32, marked: bool) {
        let (body, size) = self.data(flow, psn, marked);
        self.arrive(at, port, Frame::new(body, size));
    }

    /// Handles the arrival of a data packet of `flow` with a load balancer's header on `port` at
    /// `at`.
    pub fn arrive_data_with(&mut self, at: u64, port: u16, flow: u32, psn: u32, header: PathHeader) {
        let data = self.data(flow, psn, false);
        self.arrive_with(at, port, data, Record { path_header: Some(header), ..Record::default() });
    }

    fn data(&self, flow: u32, psn: u32, marked: bool) -> (Body, FrameSize) {
        let spec = self.fabric.flow(FlowId(flow)).clone();
        let before = |psn| self.fabric.payload_before(psn, spec.bytes);
        let payload = before(psn + 1) - before(psn);
        let size = self.fabric.spec.framing.data(payload as u32, psn == 0, self.fabric.telemetry_bytes);
        let packet = packet(PacketKind::Data, flow, psn, spec.class, spec.dst);
        (Body::Packet(Packet { marked, ..packet }), size)
    }

    /// Handles the arrival of an ACK or NACK of `flow` on `port` at `at`.
    pub fn arrive_answer(&mut self, at: u64, port: u16, flow: u32, kind: PacketKind, expected: u32) {
        let (packet, size) = self.answer(flow, kind, expected);
        self.arrive(at, port, Frame::new(Body::Packet(packet), size));
    }

    /// Handles the arrival of an ACK of `flow` with a load balancer's header on `port` at `at`.
    pub fn arrive_ack_with(&mut self, at: u64, port: u16, flow: u32, header: PathHeader) {
        let (packet, size) = self.answer(flow, PacketKind::Ack, 1);
        let record = Record { path_header: Some(header), ..Record::default() };
        self.arrive_with(at, port, (Body::Packet(packet), size), record);
    }

    /// Handles the arrival, on `port` at `at`, of an ACK of `flow` that the neighbour sent from its
    /// queue `queue`.
    pub fn arrive_ack_of_queue(&mut self, at: u64, port: u16, flow: u32, queue: u8) {
        let (packet, size) = self.answer(flow, PacketKind::Ack, 1);
        self.arrive(at, port, Frame::new(Body::Packet(Packet { queue, ..packet }), size));
    }

    fn answer(&self, flow: u32, kind: PacketKind, expected: u32) -> (Packet, FrameSize) {
        let (class, destination) = (self.fabric.spec.host.ack_class, self.fabric.flow(FlowId(flow)).src);
        let size = self.fabric.spec.framing.ack(self.fabric.telemetry_bytes);
        (packet(kind, flow, expected, class, destination), size)
    }

    /// Handles the arrival, on `port` at `at`, of a notice of `protocol` about a flow for the
    /// flow's source.
    pub fn arrive_notice(&mut self, at: u64, port: u16, flow: u32, protocol: Protocol, words: [u32; 4]) {
        let to = self.fabric.flow(FlowId(flow)).src;
        let notice = Notice { protocol, from: PortId(0), flow: FlowId(flow), to, words };
        let body = Body::Packet(packet(PacketKind::Notice, flow, 0, Class::CONTROL, to));
        let size = self.fabric.spec.framing.notice();
        self.arrive_with(at, port, (body, size), Record { notice: Some(notice), ..Record::default() });
    }

    /// Handles the arrival of a PFC frame with `quanta` for `classes` on `port` at `at`.
    pub fn arrive_pfc(&mut self, at: u64, port: u16, classes: &[u8], quanta: u16) {
        let enabled: ClassMask = classes.iter().copied().map(Class).collect();
        let pfc = Pfc { enabled, quanta, reliable: true };
        self.arrive_control(at, port, Control::Pfc(pfc));
    }

    /// Handles the arrival of a PAUSE for `class` with this `cause` on `port` at `at`.
    pub fn arrive_pause(&mut self, at: u64, port: u16, class: u8, cause: Cause) {
        let pfc = Pfc { enabled: ClassMask::of(Class(class)), quanta: u16::MAX, reliable: true };
        let (body, size) = (Body::Control(Control::Pfc(pfc)), self.fabric.spec.framing.control());
        self.arrive_with(at, port, (body, size), Record { causes: Some([cause; CLASSES]), ..Record::default() });
    }

    /// Handles the arrival of a frame of Pyrrha on `port` at `at`.
    pub fn arrive_pyrrha(&mut self, at: u64, port: u16, frame: PyrrhaFrame) {
        self.arrive_control(at, port, frame.into());
    }

    /// Handles the arrival of a link-local frame on `port` at `at`.
    pub fn arrive_control(&mut self, at: u64, port: u16, control: Control) {
        let size = self.fabric.spec.framing.control();
        self.arrive(at, port, Frame::new(Body::Control(control), size));
    }

    fn arrive_with(&mut self, at: u64, port: u16, (body, size): (Body, FrameSize), record: Record) {
        let record = self.records.insert(record);
        self.arrive(at, port, Frame { record, ..Frame::new(body, size) });
    }

    fn arrive(&mut self, at: u64, port: u16, frame: Frame) {
        self.input(at, |node, env| {
            let place = env.frames.put(QueuedPacket::new(frame, PortIx(port), env.now));
            node.arrive(place, env);
        });
    }

    /// Handles the failure or recovery of the link of `port`.
    pub fn link_change(&mut self, at: u64, port: u16, up: bool) {
        self.input(at, |node, env| node.link_change(PortIx(port), up, env));
    }

    fn next_transmission(&mut self, limit: u64) -> Option<Transmission> {
        while self.recorder.sent.is_empty() {
            let next = self.recorder.wakeups.first().map(|(at, ..)| at.ps()).filter(|at| *at < limit)?;
            self.run_before(next + 1);
        }
        self.recorder.sent.pop_front()
    }

    /// Returns the result of `read` for the next frame for which `read` returns a value, if the
    /// node sends such a frame before `limit`. Earlier frames are skipped.
    fn next_of<T>(&mut self, limit: u64, read: impl Fn(&Transmission, &Records) -> Option<T>) -> Option<T> {
        loop {
            let sent = self.next_transmission(limit)?;
            if let Some(result) = read(&sent, &self.records) {
                return Some(result);
            }
        }
    }

    /// Returns the next frame that the node sends before `limit`, if any.
    pub fn next_sent(&mut self, limit: u64) -> Option<Sent> {
        let sent = self.next_transmission(limit)?;
        Some(Sent { at: sent.at, port: sent.port, content: sent.content(), done: sent.done })
    }

    /// Returns start of transmission and content of all frames that `port` sends until `limit`.
    pub fn sent_until(&mut self, limit: u64, port: u16) -> Vec<(u64, Content)> {
        let sent = std::iter::from_fn(|| self.next_sent(limit));
        sent.filter(|sent| sent.port == port).map(|sent| (sent.at, sent.content)).collect()
    }

    /// Returns port, flow and number of the next data packet sent before `limit`.
    pub fn next_data(&mut self, limit: u64) -> Option<(u16, u32, u32)> {
        self.next_of(limit, |sent, _| {
            sent.packet(PacketKind::Data).map(|packet| (sent.port, packet.flow.0, packet.psn))
        })
    }

    /// Returns the flows of all data packets sent until `limit`, in ascending order.
    pub fn flows_sent(&mut self, limit: u64) -> Vec<u32> {
        let mut flows: Vec<u32> = std::iter::from_fn(|| self.next_data(limit)).map(|(_, flow, _)| flow).collect();
        flows.sort_unstable();
        flows
    }

    /// Returns the time for which PAUSEs delayed, at this node, the next data packet sent before
    /// `limit`.
    pub fn next_held_up(&mut self, limit: u64) -> Option<Duration> {
        self.next_of(limit, |sent, records| {
            sent.packet(PacketKind::Data)?;
            Some(records.pauses(sent.frame.record).map_or(Duration::ZERO, |log| log.paused.length))
        })
    }

    /// Returns the port and the load balancer's header of the next data packet sent before `limit`.
    pub fn next_path_header(&mut self, limit: u64) -> Option<(u16, Option<PathHeader>)> {
        self.next_of(limit, |sent, records| {
            sent.packet(PacketKind::Data).map(|_| (sent.port, records.path_header(sent.frame.record).copied()))
        })
    }

    /// True if the next data packet sent before `limit` is marked.
    pub fn next_mark(&mut self, limit: u64) -> Option<bool> {
        self.next_mark_of(PacketKind::Data, limit)
    }

    /// True if the next packet of this kind sent before `limit` is marked.
    pub fn next_mark_of(&mut self, kind: PacketKind, limit: u64) -> Option<bool> {
        self.next_of(limit, |sent, _| sent.packet(kind).map(|packet| packet.marked))
    }

    /// Returns start of transmission, port, flow and first field of the next notice sent before
    /// `limit`.
    pub fn next_notice(&mut self, limit: u64) -> Option<(u64, u16, u32, u32)> {
        self.next_of(limit, |sent, records| {
            records.notice(sent.frame.record).map(|notice| (sent.at, sent.port, notice.flow.0, notice.words[0]))
        })
    }

    /// Returns the fields of the next notice sent before `limit`.
    pub fn next_notice_words(&mut self, limit: u64) -> Option<[u32; 4]> {
        self.next_of(limit, |sent, records| records.notice(sent.frame.record).map(|notice| notice.words))
    }

    /// Returns start of transmission, port and class of the next notice sent before `limit`.
    pub fn next_notice_class(&mut self, limit: u64) -> Option<(u64, u16, u8)> {
        self.next_of(limit, |sent, _| {
            sent.packet(PacketKind::Notice).map(|packet| (sent.at, sent.port, packet.class.0))
        })
    }

    /// Returns port, classes and causes of the next PAUSE sent, which must exist.
    pub fn next_pause(&mut self) -> (u16, Vec<(u8, Cause)>) {
        let pause = self.next_of(u64::MAX, |sent, records| {
            let Body::Control(Control::Pfc(Pfc { enabled, quanta: 1.., .. })) = sent.frame.body else { return None };
            let causes = records.causes(sent.frame.record)?;
            Some((sent.port, enabled.iter().map(|class| (class.0, causes[class.index()])).collect()))
        });
        pause.expect("the node sends a PAUSE")
    }

    /// Returns the next link-local frame that the node sends before `limit`.
    pub fn next_control(&mut self, limit: u64) -> Option<Control> {
        self.next_of(limit, |sent, _| match sent.frame.body {
            Body::Control(control) => Some(control),
            Body::Packet(_) => None,
        })
    }

    /// Returns start of transmission, port and content of the next link-local frame other than
    /// PFC's sent before `limit`.
    pub fn next_custom(&mut self, limit: u64) -> Option<(u64, u16, Control)> {
        self.next_of(limit, |sent, _| match sent.frame.body {
            Body::Control(control @ Control::Custom { .. }) => Some((sent.at, sent.port, control)),
            _ => None,
        })
    }

    /// Counts the queued packets that sustain the upstream pause of `scope` at `ingress`.
    pub fn packets_sustaining(&self, ingress: u16, scope: PauseScope) -> usize {
        let sustains = |queued: &QueuedPacket, port: &Port, queue| {
            let (mut queued, records) = (*queued, &mut Records::default());
            self.node.flow_control().sustains_pause(PortIx(ingress), scope, &queued.context_in(port.ix, queue, records))
        };
        let of_queue = |port: &Port, queue| {
            port.frames(queue, &self.frames).filter(|queued| sustains(queued, port, queue)).count()
        };
        let of_port = |port: &Port| port.queues().map(|queue| of_queue(port, queue)).sum::<usize>();
        self.node.ports().iter().map(of_port).sum()
    }

    /// Returns a mechanism's counter.
    pub fn counted(&self, name: &str) -> u64 {
        let amount = |report: &Report| match report {
            Report::Count { what, amount, .. } if *what == name => *amount,
            _ => 0,
        };
        self.recorder.reports.iter().map(amount).sum()
    }

    /// Returns the time for which gates stayed closed because of a root that had already given up,
    /// until this root's MERGE arrived.
    pub fn given_up(&self) -> Duration {
        Duration::from_ps(self.counted("merge_wait_ps"))
    }

    /// Returns the time at which the gate of `class` at `port` closed; `None` if the gate is open.
    pub fn closed(&self, port: u16, class: u8) -> Option<Duration> {
        let gate = self.port(port).gate(QueueIx::of(Class(class)));
        gate.closed().map(|(since, _)| since - Time::ZERO)
    }
}

/// Handles the arrival of one or several frames: `arrive!(script, 80_000 ps, port 0, data of flow
/// 1, psn 0)`, `arrive!(script, 80_000 ps, every 1_000 ps, port 0, data of flow 1, psns 0..8)`.
macro_rules! arrive {
    ($script:ident, $at:literal ps, port $port:literal, data of flow $flow:literal, psn $psn:expr) => {
        $script.arrive_data($at, $port, $flow, $psn)
    };
    ($script:ident, $at:literal ps, port $port:literal, data of flow $flow:literal, psns $psns:expr) => {
        $script.arrive_each($at, 0, $port, $flow, $psns)
    };
    (
        $script:ident, $at:literal ps, every $gap:literal ps, port $port:literal,
        data of flow $flow:literal, psns $psns:expr
    ) => {
        $script.arrive_each($at, $gap, $port, $flow, $psns)
    };
    ($script:ident, $at:literal ps, port $port:literal, ack of flow $flow:literal, expected $psn:expr) => {
        $script.arrive_answer($at, $port, $flow, backwater_fabric::frame::PacketKind::Ack, $psn)
    };
    ($script:ident, $at:literal ps, port $port:literal, nack of flow $flow:literal, expected $psn:expr) => {
        $script.arrive_answer($at, $port, $flow, backwater_fabric::frame::PacketKind::Nack, $psn)
    };
    ($script:ident, $at:literal ps, port $port:literal, pause $classes:expr, quanta $quanta:expr) => {
        $script.arrive_pfc($at, $port, &$classes, $quanta)
    };
    ($script:ident, $at:literal ps, port $port:literal, pause $classes:expr) => {
        $script.arrive_pfc($at, $port, &$classes, u16::MAX)
    };
    ($script:ident, $at:literal ps, port $port:literal, resume $classes:expr) => {
        $script.arrive_pfc($at, $port, &$classes, 0)
    };
}

/// Checks the next frame sent, with the times of its first and last bit: `expect!(script,
/// 80_000..160_000 ps, port 1, Data(3, 0))`.
macro_rules! expect {
    ($script:ident, $at:literal .. $done:literal ps, port $port:literal, $content:expr) => {{
        use $crate::common::script::{Content::*, Sent};
        let expected = Sent { at: $at, port: $port, content: $content, done: $done };
        assert_eq!($script.next_sent(u64::MAX), Some(expected));
    }};
}

/// Checks the next frames sent, back to back and of equal length:
/// `expect_each!(script, from 80_000 ps, 80_000 ps each, port 1, [Data(3, 0), Data(3, 1)])`.
macro_rules! expect_each {
    ($script:ident, from $at:literal ps, $length:literal ps each, port $port:literal, $contents:expr) => {{
        use $crate::common::script::{Content::*, Sent};
        for (nth, content) in (0..).zip($contents) {
            let at = $at + nth * $length;
            let expected = Sent { at, port: $port, content, done: at + $length };
            assert_eq!($script.next_sent(u64::MAX), Some(expected));
        }
    }};
}

/// Checks that the node sends no further frame before this instant.
macro_rules! expect_nothing {
    ($script:ident, before $limit:literal ps) => {
        assert_eq!($script.next_sent($limit), None)
    };
}

fn packet(kind: PacketKind, flow: u32, psn: Psn, class: Class, destination: NodeId) -> Packet {
    let (flow, sent_at, route) = (FlowId(flow), Timestamp::of(Time::ZERO), Route::towards(destination));
    Packet { kind, class, marked: false, queue: class.0, flow, psn, sent_at, route }
}
