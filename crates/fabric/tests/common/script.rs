//! Packet scripts: one node, fed by hand and watched, without a network around it.

use backwater_engine::{Duration, Time};
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
use backwater_fabric::model::fifo::Frames;
use backwater_fabric::model::node::Node;
use backwater_fabric::model::port::Port;
use backwater_fabric::model::sink::{Env, Sink, Wakeup};
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::spec::{FlowSpec, NetworkSpec};
use std::collections::{BTreeSet, VecDeque};

/// What a frame says, as far as scripts care.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    /// A data packet: its class and number.
    Data(u8, u32),
    /// An ACK: the next packet expected.
    Ack(u32),
    /// A NACK: the packet that is missing.
    Nack(u32),
    /// A PAUSE for these classes.
    Pause(Vec<u8>),
    /// A RESUME for these classes.
    Resume(Vec<u8>),
    /// A frame of Pyrrha.
    Pyrrha(PyrrhaFrame),
    /// A frame of another flow control: what it is counted as, and its first field.
    Other(Signal, u32),
}

/// A frame that the node has started to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When, in picoseconds.
    pub at: u64,
    pub port: PortIx,
    pub says: Says,
    /// When it has left, in picoseconds.
    pub done: u64,
}

/// What a node does, written down.
#[derive(Default)]
struct Recorder {
    now: Time,
    sent: VecDeque<(Time, PortId, Frame, Time)>,
    wakeups: BTreeSet<(Time, u8, u32)>,
    reports: Vec<Report>,
}

impl Sink for Recorder {
    fn transmit(&mut self, port: &Port, frame: &Frame, _: &Records) {
        self.sent.push_back((self.now, port.id, *frame, port.busy_until));
    }

    fn schedule(&mut self, wakeup: Wakeup<'_>, at: Time) {
        // The order of kinds is the simulator's.
        self.wakeups.insert(match wakeup {
            Wakeup::FlowStart(node) => (at, 0, node.0),
            Wakeup::FlowControl(port) => (at, 1, port.id.0),
            Wakeup::Retransmission(node) => (at, 2, node.0),
            Wakeup::Port(port) => (at, 3, port.id.0),
            Wakeup::Node(node) => (at, 4, node.0),
        });
    }

    fn traces(&self) -> bool {
        true
    }

    fn report(&mut self, report: Report) {
        self.reports.push(report);
    }
}

/// One node of a network, and what it has done so far.
pub struct Script {
    pub fabric: Fabric,
    pub node: Node,
    records: Records,
    frames: Frames,
    recorder: Recorder,
}

impl Script {
    /// The node called `id` of `spec`, which must be possible.
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
            script.with(Time::ZERO, |node, env| node.expect_flow(flow, env));
        }
        script
    }

    /// Lets everything that the node has asked for before `at` happen, then `input` at `at`.
    fn input(&mut self, at: u64, input: impl FnOnce(&mut Node, &mut Env<'_, Recorder>)) {
        self.run_before(at);
        self.with(Time::from_ps(at), input);
    }

    fn with(&mut self, now: Time, input: impl FnOnce(&mut Node, &mut Env<'_, Recorder>)) {
        self.recorder.now = now;
        let Script { fabric, node, records, frames, recorder } = self;
        let env = &mut Env { now, fabric, records, frames, sink: recorder };
        input(node, env);
    }

    fn run_before(&mut self, limit: u64) {
        while let Some(&(at, kind, id)) = self.recorder.wakeups.first().filter(|(at, ..)| at.ps() < limit) {
            self.recorder.wakeups.pop_first();
            let ix = |script: &Script| script.fabric.wiring.ports[PortId(id)].ix;
            match kind {
                0 => self.with(at, |node, env| node.start_flows(env)),
                1 => {
                    let ix = ix(self);
                    self.with(at, |node, env| node.flow_control_timer(ix, env));
                }
                2 => self.with(at, |node, env| node.retransmission_timer(env)),
                3 => {
                    let ix = ix(self);
                    self.with(at, |node, env| node.port_ready(ix, env));
                }
                _ => self.with(at, |node, env| node.wake(env)),
            }
        }
    }

    /// A data packet of `flow` arrives whole on `port` at `at`.
    pub fn arrive_data(&mut self, at: u64, port: PortIx, flow: u32, psn: u32) {
        self.arrive_data_marked(at, port, flow, psn, false);
    }

    /// The same; it may have been marked on its way.
    pub fn arrive_data_marked(&mut self, at: u64, port: PortIx, flow: u32, psn: u32, marked: bool) {
        let (body, size) = self.data(flow, psn, marked);
        self.arrive(at, port, body, size);
    }

    /// A data packet of `flow` on which a load balancer has written arrives whole on `port` at `at`.
    pub fn arrive_data_with(&mut self, at: u64, port: PortIx, flow: u32, psn: u32, header: PathHeader) {
        let (body, size) = self.data(flow, psn, false);
        self.arrive_with(at, port, body, size, header);
    }

    fn data(&self, flow: u32, psn: u32, marked: bool) -> (Body, FrameSize) {
        let spec = self.fabric.flow(FlowId(flow)).clone();
        let before = |psn| self.fabric.payload_before(psn, spec.bytes);
        let payload = before(psn + 1) - before(psn);
        let size = self.fabric.spec.framing.data(payload as u32, psn == 0, self.fabric.telemetry_bytes);
        let mut body = packet(PacketKind::Data, flow, psn, spec.class, spec.dst);
        if let Body::Packet(packet) = &mut body {
            packet.marked = marked;
        }
        (body, size)
    }

    /// An ACK or NACK of `flow` arrives whole on `port` at `at`.
    pub fn arrive_answer(&mut self, at: u64, port: PortIx, flow: u32, kind: PacketKind, expected: u32) {
        let size = self.fabric.spec.framing.ack(self.fabric.telemetry_bytes);
        let (class, destination) = (self.fabric.spec.host.ack_class, self.fabric.flow(FlowId(flow)).src);
        self.arrive(at, port, packet(kind, flow, expected, class, destination), size);
    }

    /// An ACK of `flow` on which a load balancer has written arrives whole on `port` at `at`.
    pub fn arrive_ack_with(&mut self, at: u64, port: PortIx, flow: u32, header: PathHeader) {
        let size = self.fabric.spec.framing.ack(self.fabric.telemetry_bytes);
        let (class, destination) = (self.fabric.spec.host.ack_class, self.fabric.flow(FlowId(flow)).src);
        self.arrive_with(at, port, packet(PacketKind::Ack, flow, 1, class, destination), size, header);
    }

    /// An ACK of `flow`, which stood in `queue` of the port that sent it, arrives whole on `port` at `at`.
    pub fn arrive_ack_of_queue(&mut self, at: u64, port: PortIx, flow: u32, queue: u8) {
        let size = self.fabric.spec.framing.ack(0);
        let (class, destination) = (self.fabric.spec.host.ack_class, self.fabric.flow(FlowId(flow)).src);
        let Body::Packet(packet) = packet(PacketKind::Ack, flow, 1, class, destination) else { unreachable!() };
        self.arrive(at, port, Body::Packet(Packet { queue, ..packet }), size);
    }

    /// A notice of `protocol` about a flow, for its source, arrives whole on `port` at `at`.
    pub fn arrive_notice(&mut self, at: u64, port: PortIx, flow: u32, protocol: Protocol, words: [u32; 4]) {
        let to = self.fabric.flow(FlowId(flow)).src;
        let notice = Notice { protocol, from: PortId(0), flow: FlowId(flow), to, words };
        let record = self.records.insert(Record { notice: Some(notice), ..Record::default() });
        let body = packet(PacketKind::Notice, flow, 0, Class::CONTROL, to);
        let frame = Frame { record, ..Frame::new(body, self.fabric.spec.framing.notice()) };
        self.input(at, |node, env| node.arrive(port, &frame, env));
    }

    /// A PFC frame with `quanta` for `classes` arrives whole on `port` at `at`.
    pub fn arrive_pfc(&mut self, at: u64, port: PortIx, classes: &[u8], quanta: u16) {
        let enabled: ClassMask = classes.iter().copied().map(Class).collect();
        let pfc = Pfc { enabled, quanta, reliable: true };
        self.arrive_control(at, port, Control::Pfc(pfc));
    }

    /// A PAUSE for `class` because of `cause` arrives whole on `port` at `at`.
    pub fn arrive_pause(&mut self, at: u64, port: PortIx, class: u8, cause: Cause) {
        let pfc = Pfc { enabled: ClassMask::of(Class(class)), quanta: u16::MAX, reliable: true };
        let record = self.records.insert(Record { causes: Some([cause; CLASSES]), ..Record::default() });
        let frame =
            Frame { record, ..Frame::new(Body::Control(Control::Pfc(pfc)), self.fabric.spec.framing.control()) };
        self.input(at, |node, env| node.arrive(port, &frame, env));
    }

    /// The next PAUSE that the node sends: its port, its classes, and the cause for each. Whatever it sends before is passed over.
    pub fn next_pause(&mut self) -> (PortIx, Vec<(u8, Cause)>) {
        loop {
            let (_, port, frame, _) = self.next_frame(u64::MAX).expect("the node sends a PAUSE");
            if let (Body::Control(Control::Pfc(Pfc { enabled, quanta: 1.., .. })), Some(causes)) =
                (frame.body, self.records.causes(frame.record))
            {
                let named = enabled.iter().map(|class| (class.0, causes[class.index()])).collect();
                return (self.fabric.wiring.ports[port].ix, named);
            }
        }
    }

    /// A frame of Pyrrha arrives whole on `port` at `at`.
    pub fn arrive_pyrrha(&mut self, at: u64, port: PortIx, frame: PyrrhaFrame) {
        self.arrive_control(at, port, frame.into());
    }

    /// A link-local frame arrives whole on `port` at `at`.
    pub fn arrive_control(&mut self, at: u64, port: PortIx, control: Control) {
        let size = self.fabric.spec.framing.control();
        self.arrive(at, port, Body::Control(control), size);
    }

    /// The next data packet that the node sends before `limit`, if any: its port, its flow and its number. All else is passed over.
    pub fn next_data(&mut self, limit: u64) -> Option<(PortIx, u32, u32)> {
        loop {
            let (_, port, frame, _) = self.next_frame(limit)?;
            if let Some(packet) = frame.packet().filter(|packet| packet.kind == PacketKind::Data) {
                return Some((self.fabric.wiring.ports[port].ix, packet.flow.0, packet.psn));
            }
        }
    }

    /// For how long the next data packet that the node sends before `limit`, if any, has been held up by PAUSEs here. All else is passed over.
    pub fn next_held_up(&mut self, limit: u64) -> Option<Duration> {
        loop {
            let (_, _, frame, _) = self.next_frame(limit)?;
            if frame.packet().is_some_and(|packet| packet.kind == PacketKind::Data) {
                return Some(self.records.pauses(frame.record).map_or(Duration::ZERO, |log| log.paused.length));
            }
        }
    }

    /// The next notice that the node sends before `limit`, if any: when it starts, through which port, its flow and its first field. All else is passed over.
    pub fn next_notice(&mut self, limit: u64) -> Option<(u64, PortIx, u32, u32)> {
        loop {
            let (at, port, frame, _) = self.next_frame(limit)?;
            if let Some(notice) = self.records.notice(frame.record) {
                return Some((at.ps(), self.fabric.wiring.ports[port].ix, notice.flow.0, notice.words[0]));
            }
        }
    }

    /// The fields of the next notice that the node sends before `limit`, if any. All else is passed over.
    pub fn next_notice_words(&mut self, limit: u64) -> Option<[u32; 4]> {
        loop {
            let (.., frame, _) = self.next_frame(limit)?;
            if let Some(notice) = self.records.notice(frame.record) {
                return Some(notice.words);
            }
        }
    }

    /// The next notice that the node sends before `limit`, if any: when it starts, through which port, and its class. All else is passed over.
    pub fn next_notice_class(&mut self, limit: u64) -> Option<(u64, PortIx, u8)> {
        loop {
            let (at, port, frame, _) = self.next_frame(limit)?;
            if let Some(packet) = frame.packet().filter(|packet| packet.kind == PacketKind::Notice) {
                return Some((at.ps(), self.fabric.wiring.ports[port].ix, packet.class.0));
            }
        }
    }

    /// The next data packet that the node sends before `limit`, if any: its port, and what load balancers have written on it. All else is passed over.
    pub fn next_path_header(&mut self, limit: u64) -> Option<(PortIx, Option<PathHeader>)> {
        loop {
            let (_, port, frame, _) = self.next_frame(limit)?;
            if frame.packet().is_some_and(|packet| packet.kind == PacketKind::Data) {
                let header = self.records.path_header(frame.record).copied();
                return Some((self.fabric.wiring.ports[port].ix, header));
            }
        }
    }

    /// Whether the next data packet that the node sends before `limit`, if any, is marked. All else is passed over.
    pub fn next_mark(&mut self, limit: u64) -> Option<bool> {
        self.next_mark_of(PacketKind::Data, limit)
    }

    /// The same of the next packet of a kind.
    pub fn next_mark_of(&mut self, kind: PacketKind, limit: u64) -> Option<bool> {
        loop {
            let (_, _, frame, _) = self.next_frame(limit)?;
            if let Some(packet) = frame.packet().filter(|packet| packet.kind == kind) {
                return Some(packet.marked);
            }
        }
    }

    /// The next link-local frame that the node sends before `limit`, if any. All else is passed over.
    pub fn next_control(&mut self, limit: u64) -> Option<Control> {
        loop {
            if let (_, _, Frame { body: Body::Control(control), .. }, _) = self.next_frame(limit)? {
                return Some(control);
            }
        }
    }

    /// The next link-local frame other than PFC's that the node sends before `limit`, if any: when it starts, and through which port. All else is passed
    /// over.
    pub fn next_custom(&mut self, limit: u64) -> Option<(u64, PortIx, Control)> {
        loop {
            let (at, port, frame, _) = self.next_frame(limit)?;
            if let Body::Control(control @ Control::Custom { .. }) = frame.body {
                return Some((at.ps(), self.fabric.wiring.ports[port].ix, control));
            }
        }
    }

    /// All that the node sends from now on until `limit`, on `port`: when it starts, and what it says.
    pub fn sent_until(&mut self, limit: u64, port: PortIx) -> Vec<(u64, Says)> {
        let sent = std::iter::from_fn(|| self.next_sent(limit));
        sent.filter(|sent| sent.port == port).map(|sent| (sent.at, sent.says)).collect()
    }

    fn arrive(&mut self, at: u64, port: PortIx, body: Body, size: FrameSize) {
        let frame = Frame::new(body, size);
        self.input(at, |node, env| node.arrive(port, &frame, env));
    }

    fn arrive_with(&mut self, at: u64, port: PortIx, body: Body, size: FrameSize, header: PathHeader) {
        let record = self.records.insert(Record { path_header: Some(header), ..Record::default() });
        let frame = Frame { record, ..Frame::new(body, size) };
        self.input(at, |node, env| node.arrive(port, &frame, env));
    }

    /// The link of `port` goes down or comes up.
    pub fn link_change(&mut self, at: u64, port: PortIx, up: bool) {
        self.input(at, |node, env| node.link_change(port, up, env));
    }

    fn next_frame(&mut self, limit: u64) -> Option<(Time, PortId, Frame, Time)> {
        while self.recorder.sent.is_empty() {
            let next = self.recorder.wakeups.first().map(|(at, ..)| at.ps()).filter(|at| *at < limit)?;
            self.run_before(next + 1);
        }
        self.recorder.sent.pop_front()
    }

    /// The next frame that the node sends before `limit`, if any.
    pub fn next_sent(&mut self, limit: u64) -> Option<Sent> {
        let (at, port, frame, done) = self.next_frame(limit)?;
        let says = match &frame.body {
            Body::Packet(packet) => match packet.kind {
                PacketKind::Data => Says::Data(packet.class.0, packet.psn),
                PacketKind::Ack => Says::Ack(packet.psn),
                PacketKind::Nack => Says::Nack(packet.psn),
                PacketKind::Cnp | PacketKind::Notice => panic!("no script expects a CNP or a notice"),
            },
            Body::Control(Control::Pfc(pfc)) => {
                let classes = pfc.enabled.iter().map(|class| class.0).collect();
                if pfc.quanta == 0 { Says::Resume(classes) } else { Says::Pause(classes) }
            }
            Body::Control(control @ Control::Custom { signal, words, .. }) => {
                PyrrhaFrame::read(control).map_or(Says::Other(*signal, words[0]), Says::Pyrrha)
            }
        };
        let port = self.fabric.wiring.ports[port].ix;
        Some(Sent { at: at.ps(), port, says, done: done.ps() })
    }

    /// The number of packets queued here that keep `scope` stopped, upstream of `ingress`.
    pub fn keep_stopped(&self, ingress: PortIx, scope: PauseScope) -> usize {
        let keeps = |queued: &QueuedPacket, port: &Port, queue| {
            let (mut queued, records) = (*queued, &mut Records::default());
            self.node.flow_control().sustains_pause(ingress, scope, &queued.context_in(port.ix, queue, records))
        };
        let of_queue =
            |port: &Port, queue| port.frames(queue, &self.frames).filter(|queued| keeps(queued, port, queue)).count();
        let of_port =
            |port: &Port| (0..port.queue_count() as QueueIx).map(|queue| of_queue(port, queue)).sum::<usize>();
        self.node.ports().iter().map(of_port).sum()
    }

    /// What a mechanism has counted by this name.
    pub fn counted(&self, name: &str) -> u64 {
        let amount = |report: &Report| match report {
            Report::Count { what, amount, .. } if *what == name => *amount,
            _ => 0,
        };
        self.recorder.reports.iter().map(amount).sum()
    }

    /// For how long gates have stood shut for roots that had given up.
    pub fn given_up(&self) -> Duration {
        Duration::from_ps(self.counted("merge_wait_ps"))
    }

    /// Since when the gate of `class` at `port` has been closed.
    pub fn closed(&self, port: PortIx, class: u8) -> Option<Duration> {
        let gate = self.node.ports()[port].gate(class.into());
        gate.closed().map(|(since, _)| since - Time::ZERO)
    }
}

/// A frame arrives whole: `arrive!(script, 80_000 ps, port 0, data of flow 1, psn 0)`.
macro_rules! arrive {
    ($script:ident, $at:literal ps, port $port:literal, data of flow $flow:literal, psn $psn:expr) => {
        $script.arrive_data($at, $port, $flow, $psn)
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

/// The next frame that the node sends, to the picosecond: `expect!(script, 80_000..160_000 ps, port 1, Data(3, 0))`, from its first bit
/// to its last.
macro_rules! expect {
    ($script:ident, $at:literal .. $done:literal ps, port $port:literal, $says:expr) => {{
        use $crate::common::script::{Says::*, Sent};
        let expected = Sent { at: $at, port: $port, says: $says, done: $done };
        assert_eq!($script.next_sent(u64::MAX), Some(expected));
    }};
}

/// The node sends nothing (more) before this instant.
macro_rules! expect_nothing {
    ($script:ident, before $limit:literal ps) => {
        assert_eq!($script.next_sent($limit), None)
    };
}

fn packet(kind: PacketKind, flow: u32, psn: Psn, class: Class, destination: NodeId) -> Body {
    let (flow, sent_at, route) = (FlowId(flow), Timestamp::of(Time::ZERO), Route::towards(destination));
    Body::Packet(Packet { kind, class, marked: false, queue: class.0, flow, psn, sent_at, route })
}
