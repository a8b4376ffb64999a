//! Priority-based flow control (IEEE 802.1Qbb).
//!
//! Downstream, at an ingress port: when the buffer policy reports a class as full, the port sends a
//! PAUSE for the class. When the policy reports the class as below XON, the port sends a RESUME. If
//! the port as a whole is full, a PAUSE stops all classes, and none is resumed until the port is
//! below XON (section IV-E of DSH's paper). Upstream, at an egress port: the frame closes or opens
//! the gate of each class that it names.

use super::held::Held;
use super::pfc_star::Raises;
use crate::contract::{
    AddedQueues, Diagnostics, FlowControl, FlowControlAccounts, FlowControlContext, FlowControlFacts,
    FlowControlOptions, IngressGauge, Neighbour, Options, PacketContext, PauseScope, PfcTerms, PortFacts, PortPressure,
    Pressure, QueueChoice, RunningFlowControl, Site, View,
};
use crate::frame::cause::{Cause, Causes};
use crate::frame::{Control, Pfc as PfcFrame, Protocol};
use crate::ids::{CLASSES, Class, ClassMask, PortIx, QueueIx};
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::VecDeque;

/// Duration of a PAUSE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PauseModel {
    /// Until an explicit RESUME, as in the common ns-3 simulators. Link errors then spare PFC
    /// frames.
    #[default]
    UntilResume,
    /// `quanta` x 512 bit times of the paused port. The pausing side refreshes the PAUSE after half
    /// that time (IEEE 802.1Qbb clause 36).
    Quanta,
}

/// PFC at relaying hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Relaying {
    /// Relaying hosts count arriving bytes and send PAUSEs of their own, as switches do.
    #[default]
    Ingress,
    /// Relaying hosts count nothing: a PAUSE or RESUME that arrives at one port is sent out of all
    /// other ports (section 2.2.3 of PortFC's paper).
    Forward,
}

/// Priority-based flow control, IEEE 802.1Qbb.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PfcConfig {
    /// Duration of a PAUSE.
    pub pause: PauseModel,
    /// Pause time in quanta of 512 bit times that a PAUSE frame carries. Default 65535, the
    /// longest.
    #[schemars(range(min = 1))]
    pub quanta: u16,
    /// Time from a PFC frame's arrival to its effect at the receiver. Default 0; IEEE allows up to
    /// the time in which the link sends 3840 B.
    pub response: Duration,
    /// PFC at relaying hosts.
    pub relays: Relaying,
}

impl Default for PfcConfig {
    fn default() -> Self {
        PfcConfig {
            pause: PauseModel::UntilResume,
            quanta: u16::MAX,
            response: Duration::ZERO,
            relays: Relaying::Ingress,
        }
    }
}

/// Bytes sent in one pause quantum: 512 bit times of the link.
const QUANTUM_BYTES: u64 = 512 / 8;

/// Class that is never paused.
const CONTROL: ClassMask = ClassMask::of(Class::CONTROL);

/// PFC at one node.
#[derive(Debug, GetSize)]
pub struct Pfc {
    #[get_size(ignore)]
    config: PfcConfig,
    lossless: ClassMask,
    /// True if PAUSEs are passed on and arriving bytes are not counted.
    relays_pauses: bool,
    /// True if the buffer policy also has thresholds for whole ports. A departing packet can then
    /// resume other classes of its ingress port.
    has_port_thresholds: bool,
    /// Packets that change class, if any.
    raises: Option<Box<Raises>>,
    /// Reasons why the peer is paused, by port.
    stopped: IndexVec<PortIx, Stopped>,
    /// Charged bytes.
    held: Held,
    ports: IndexVec<PortIx, PortState>,
}

/// Full queues of an ingress port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, GetSize)]
struct Stopped {
    /// Classes whose own queue is full.
    queues: ClassMask,
    /// True if the port as a whole is full.
    port: bool,
}

impl Stopped {
    /// Returns the classes that the peer must stop. A port-level PAUSE names all classes.
    fn classes(self) -> ClassMask {
        if self.port { ClassMask::ALL } else { self.queues }
    }

    /// Returns the state after the buffer policy has reported `pressure`.
    #[inline]
    fn after(self, pressure: Pressure) -> Stopped {
        let port = match pressure.port {
            PortPressure::Full => true,
            PortPressure::Between => self.port,
            PortPressure::BelowXon => false,
        };
        Stopped { queues: self.queues.minus(pressure.below_xon).or(pressure.full), port }
    }
}

/// Further state of a port: for the PAUSEs that the port sends (`refresh`) and for those that it
/// receives (`received`, `expiry`).
#[derive(Debug, GetSize)]
struct PortState {
    /// Time and frame of the next refresh (model `quanta`).
    refresh: Option<(Time, PfcFrame)>,
    /// Cause of each class's PAUSE, which a refresh repeats.
    causes: Causes,
    /// Received frames that take effect later (option `response`).
    received: VecDeque<(Time, PfcFrame, Causes)>,
    /// Expiry of each class's pause (model `quanta`).
    expiry: [Time; CLASSES],
    /// Duration of the pauses that this port requests.
    pause_time: Duration,
    /// Time to wait for the peer's state after the link is restored (model `quanta`): propagation,
    /// response and one pause. Half of the pause covers queueing of the frame, the other half a
    /// lost frame. `None` if the peer's flow control does not interoperate.
    answer_time: Option<Duration>,
}

impl Pfc {
    /// Returns PFC for the node at `site`.
    pub fn new(config: &PfcConfig, site: &Site<'_>) -> Pfc {
        let port = |(facts, neighbour): (&PortFacts, &Neighbour)| {
            let pause_time = facts.rate.time_for(u64::from(config.quanta) * QUANTUM_BYTES);
            let interoperates = site.flow_control.interoperates_with(&neighbour.flow_control);
            PortState {
                refresh: None,
                causes: Causes::default(),
                received: VecDeque::new(),
                expiry: [Time::NEVER; CLASSES],
                pause_time,
                answer_time: interoperates.then(|| facts.delay + config.response + pause_time),
            }
        };
        Pfc {
            config: config.clone(),
            lossless: site.lossless,
            relays_pauses: site.relays && config.relays == Relaying::Forward,
            has_port_thresholds: site.headroom.has_port_thresholds,
            raises: None,
            stopped: vec![Stopped::default(); site.ports.len()].into(),
            held: Held::new(site.ports.len()),
            ports: site.links().map(port).collect(),
        }
    }

    /// Returns PFC for packets that change class.
    pub(super) fn raising(self, raises: Raises) -> Pfc {
        Pfc { raises: Some(Box::new(raises)), ..self }
    }

    /// Returns the egress class of a packet that arrived at `ingress` in class `came`.
    fn leaves(&self, ingress: PortIx, came: Class) -> Class {
        self.raises.as_ref().map_or(came, |raises| raises.class(ingress, came))
    }

    /// Changes the charged bytes of the packet's ingress class that arrived at the packet's ingress
    /// port and wait at its egress port.
    #[inline(always)]
    fn update_held(&mut self, packet: &PacketContext<'_>, change: impl FnOnce(&mut u64)) {
        self.held.update(packet.ingress(), packet.egress, packet.ingress_class(), change);
    }

    /// Returns the cause for a PAUSE of `class` at the ingress port of `packet`, where `held`
    /// lists the counted bytes of egress ports. Ports that hold none may be missing.
    ///
    /// The cause is at the egress port that holds the most bytes. Among equal ports, the packet's
    /// egress port counts, or else the first port. If the port's queue of the class is closed, the
    /// cause is the cause of that closure. If the whole ingress port is paused and the egress port
    /// holds nothing of the class, the queue of the class with the most bytes at that port counts
    /// (the first among equals). If another flow control has added queues at the egress port, the
    /// longest queue among the added queues and the class's queue counts.
    fn cause(
        &self,
        packet: &PacketContext<'_>,
        class: Class,
        held: impl Iterator<Item = (PortIx, u64)>,
        view: &View<'_>,
    ) -> Cause {
        let rank = |(egress, bytes): &(PortIx, u64)| (*bytes, *egress == packet.egress, Reverse(*egress));
        let (egress, _) = held.chain([(packet.egress, 0)]).max_by_key(rank).expect("it has an item");
        let port = view.port(egress);
        let there = self.held.get(packet.ingress(), egress);
        let fuller = |of: Class, other: Class| if there[other.index()] > there[of.index()] { other } else { of };
        let class = if there[class.index()] > 0 { class } else { (0..CLASSES as u8).map(Class).fold(class, fuller) };
        let added = QueueIx::range(CLASSES..port.queue_count());
        let fullest = |of: QueueIx, other| if port.queue_bytes(other) > port.queue_bytes(of) { other } else { of };
        let of_class = self.leaves(packet.ingress(), class);
        view.pause_cause(egress, added.fold(QueueIx::of(of_class), fullest))
    }

    /// Determines the causes for a PAUSE of the classes in `pause`.
    fn blame(&mut self, packet: &PacketContext<'_>, pause: ClassMask, whole_port: bool, view: &mut View<'_>) {
        for class in pause.minus(CONTROL).iter() {
            let held = self.held.of_ingress(packet.ingress());
            let of_class = held.clone().map(|(egress, bytes)| (egress, bytes[class.index()]));
            view.report_full(packet.ingress(), class, of_class.clone());
            let cause = if whole_port {
                self.cause(packet, class, held.map(|(egress, bytes)| (egress, bytes.iter().sum())), view)
            } else {
                self.cause(packet, class, of_class, view)
            };
            self.ports[packet.ingress()].causes[class.index()] = cause;
        }
    }

    /// Notifies the peer at the packet's ingress port of a change: more classes to stop, or some to
    /// resume.
    #[inline(never)]
    fn notify(&mut self, packet: &PacketContext<'_>, stopped: Stopped, view: &mut View<'_>) {
        self.notify_because(packet.ingress(), stopped, view, |this, pause, whole_port, view| {
            this.blame(packet, pause, whole_port, view);
        });
    }

    /// Passes on changed gates: if the gate of a class is closed at any port, the peers at all
    /// other ports must stop the class.
    fn pass_on(&mut self, view: &mut View<'_>) {
        let ports = self.ports.ids();
        for port in ports.clone() {
            let others = || ports.clone().filter(|other| *other != port);
            let closed = |class: &Class| others().any(|other| view.port(other).is_closed(QueueIx::of(*class)));
            let queues = ClassMask::ALL.minus(CONTROL).iter().filter(closed).collect();
            let stopped = Stopped { queues, port: false };
            if stopped == self.stopped[port] {
                continue;
            }
            self.notify_because(port, stopped, view, |this, pause, _, view| {
                for class in pause.iter() {
                    let queue = QueueIx::of(class);
                    // The class is stopped at this port because of another port's gate.
                    let Some(other) = others().find(|other| view.port(*other).is_closed(queue)) else { continue };
                    this.ports[port].causes[class.index()] = view.pause_cause(other, queue);
                }
            });
        }
    }

    /// Notifies the peer of `ingress` of a change; `blame` determines the causes of new PAUSEs.
    fn notify_because(
        &mut self,
        ingress: PortIx,
        stopped: Stopped,
        view: &mut View<'_>,
        blame: impl FnOnce(&mut Pfc, ClassMask, bool, &mut View<'_>),
    ) {
        let before = std::mem::replace(&mut self.stopped[ingress], stopped);
        // No receiver obeys a frame that names only the control class.
        let resume = Some(before.classes().minus(stopped.classes())).filter(|resume| *resume != CONTROL);
        let resume = resume.unwrap_or(ClassMask::NONE);
        let whole_port = stopped.port && !before.port;
        let pause = if whole_port { ClassMask::ALL } else { stopped.classes().minus(before.classes()) };
        if !pause.is_empty() {
            blame(self, pause, whole_port, view);
            if self.config.pause == PauseModel::Quanta {
                let frame = PfcFrame { enabled: stopped.classes(), quanta: self.config.quanta, reliable: false };
                let state = &mut self.ports[ingress];
                // A refresh that is already scheduled keeps its time, and will cover all paused
                // classes.
                state.refresh.get_or_insert((view.now + Duration::from_ps(state.pause_time.ps() / 2), frame));
            }
            self.send_pause(ingress, pause, view);
        }
        if !resume.is_empty() {
            view.send(ingress, Control::Pfc(self.frame(resume, 0)));
        }
        self.arm(ingress, view);
    }

    fn frame(&self, enabled: ClassMask, quanta: u16) -> PfcFrame {
        PfcFrame { enabled, quanta, reliable: self.config.pause == PauseModel::UntilResume }
    }

    fn send_pause(&self, port: PortIx, classes: ClassMask, view: &mut View<'_>) {
        let frame = Control::Pfc(self.frame(classes, self.config.quanta));
        view.send_with_causes(port, frame, &self.ports[port].causes);
    }

    /// Applies a received frame. The control class is never paused.
    fn obey(&mut self, port: PortIx, frame: PfcFrame, causes: &Causes, view: &mut View<'_>) {
        let pause_time = view.port(port).rate().time_for(u64::from(frame.quanta) * QUANTUM_BYTES);
        let state = &mut self.ports[port];
        for class in frame.enabled.minus(CONTROL).iter() {
            let queue = QueueIx::of(class);
            if frame.quanta == 0 {
                state.expiry[class.index()] = Time::NEVER;
                view.open(port, queue);
            } else {
                if self.config.pause == PauseModel::Quanta {
                    state.expiry[class.index()] = view.now + pause_time;
                }
                view.close(port, queue, causes[class.index()]);
            }
        }
        self.settle(port, view);
    }

    /// Handles a possible change of the gates of `port`.
    fn settle(&mut self, port: PortIx, view: &mut View<'_>) {
        if self.relays_pauses {
            self.pass_on(view);
        }
        self.arm(port, view);
    }

    /// Sets the port's timer to its earliest event.
    fn arm(&mut self, port: PortIx, view: &mut View<'_>) {
        let state = &mut self.ports[port];
        if self.stopped[port] == Stopped::default() {
            state.refresh = None;
        }
        let expiry = state.expiry.iter().copied().min().unwrap_or(Time::NEVER);
        let effect = state.received.front().map_or(Time::NEVER, |(at, ..)| *at);
        let refresh = state.refresh.map_or(Time::NEVER, |(at, _)| at);
        view.set_timer(port, expiry.min(effect).min(refresh));
    }
}

impl PfcConfig {
    /// Returns the configuration for `terms`.
    pub(super) fn of(terms: PfcTerms) -> PfcConfig {
        let pause = if terms.until_resume { PauseModel::UntilResume } else { PauseModel::Quanta };
        PfcConfig { pause, quanta: terms.quanta, response: terms.response, relays: Relaying::Ingress }
    }

    fn terms(&self) -> PfcTerms {
        let until_resume = self.pause == PauseModel::UntilResume;
        PfcTerms { quanta: self.quanta, until_resume, response: self.response }
    }
}

impl Options for PfcConfig {}

/// Returns true if a node runs PFC itself, not only as a fallback for neighbours.
fn is_pfc(other: &RunningFlowControl) -> bool {
    other.facts.protocols.first() == Some(&Protocol::PFC)
}

/// Checks that PAUSEs can be refreshed after half of their pause time. The period of refreshes is
/// shortest at the fastest link. A refresh must arrive within the other half, even if it waits for
/// a data frame and a PFC frame of every class.
fn check_quanta(quanta: u16, network: &FlowControlContext<'_>, diagnostics: &mut Diagnostics) {
    let FlowControlContext { fastest, sizes, .. } = network;
    let classes = network.lossless.iter().count().max(1) as u64;
    let wait = u64::from(sizes.largest().wire) + u64::from(sizes.framing.control().wire) * classes;
    let finest = Diagnostics::FINEST_CLOCK;
    let [of_wait, of_clock] = [2 * wait, 2 * fastest.bytes_in(finest)].map(|bytes| bytes.div_ceil(QUANTUM_BYTES));
    let least = of_wait.max(of_clock);
    if u64::from(quanta) < least {
        let why = if of_wait < of_clock {
            format!("and at links of {fastest} refreshes must be at least {finest} apart")
        } else {
            format!("and a refresh can wait behind {wait} B: one data frame and one PFC frame of each lossless class")
        };
        let message = format_args!("must be at least {least}: a PAUSE is refreshed after half its duration, {why}");
        diagnostics.error(true, "quanta", message);
    }
}

impl FlowControlOptions for PfcConfig {
    type Instance = Pfc;

    fn facts(&self, _is_host: bool) -> FlowControlFacts {
        FlowControlFacts {
            protocols: vec![Protocol::PFC],
            pfc: Some(self.terms()),
            is_lossless: true,
            is_exempt_from_errors: self.pause == PauseModel::UntilResume,
            relays_pauses: self.relays == Relaying::Forward,
            ..Default::default()
        }
    }

    fn check_among(&self, network: &FlowControlContext<'_>, diagnostics: &mut Diagnostics) {
        let is_idle = self.relays == Relaying::Forward && !network.relays;
        diagnostics.warning(is_idle, "relays", "has no effect: no host of this topology relays packets");
        if self.pause == PauseModel::Quanta {
            check_quanta(self.quanta, network, diagnostics);
        }
        let Some((first, terms)) =
            network.running.iter().find_map(|other| Some((other, other.facts.pfc.as_ref().filter(|_| is_pfc(other))?)))
        else {
            return;
        };
        let ours = self.terms();
        let agrees = ours.until_resume == terms.until_resume;
        let message = format_args!("must equal {}.pause: neighbours must agree on the duration of a PAUSE", first.path);
        diagnostics.error(!agrees, "pause", message);
        let at_border = network.running.iter().find(|other| !is_pfc(other) && other.facts.supports(Protocol::PFC));
        if let Some(RunningFlowControl { name, .. }) = at_border.filter(|_| agrees && ours != *terms) {
            let message = format_args!(
                "must have the same options as {}: a switch with {name} uses one set of PFC options for all its \
                    neighbours",
                first.path
            );
            diagnostics.error(true, "", message);
        }
    }

    fn build(&self, site: &Site<'_>) -> Pfc {
        Pfc::new(self, site)
    }
}

impl FlowControl for Pfc {
    fn follows_flows(&self) -> bool {
        false
    }

    fn added_queues(&self) -> AddedQueues {
        AddedQueues { changes_class: self.raises.is_some(), ..Default::default() }
    }

    fn queue(&mut self, packet: &PacketContext<'_>, _view: &View<'_>) -> QueueChoice {
        let class = self.leaves(packet.ingress(), packet.packet.frame.class());
        QueueChoice { queue: QueueIx::of(class), class, note: 0 }
    }

    #[inline(always)]
    fn count_enqueue(&mut self, packet: &PacketContext<'_>, pressure: Pressure) -> bool {
        if self.relays_pauses {
            return false;
        }
        self.update_held(packet, |held| *held += u64::from(packet.bytes()));
        self.stopped[packet.ingress()] != Stopped::default() || pressure.is_full()
    }

    fn on_enqueue(&mut self, packet: &PacketContext<'_>, pressure: Pressure, view: &mut View<'_>) {
        let before = self.stopped[packet.ingress()];
        let stopped = before.after(pressure);
        if stopped != before {
            self.notify(packet, stopped, view);
        }
    }

    #[inline(always)]
    fn count_dequeue(&mut self, packet: &PacketContext<'_>) -> bool {
        if self.relays_pauses {
            return false;
        }
        self.update_held(packet, |held| *held -= u64::from(packet.bytes()));
        self.stopped[packet.ingress()] != Stopped::default()
    }

    /// Checks if the departure lets a paused peer resume. Never sends a PAUSE, even if the
    /// threshold has fallen since the last arrival.
    fn on_dequeue(&mut self, packet: &PacketContext<'_>, gauge: IngressGauge<'_>, view: &mut View<'_>) {
        let before = self.stopped[packet.ingress()];
        let Pressure { below_xon, port, .. } = gauge.pressure();
        let port = if port == PortPressure::Full { PortPressure::Between } else { port };
        let stopped = before.after(Pressure { full: ClassMask::NONE, below_xon, port });
        if stopped != before {
            self.notify(packet, stopped, view);
        }
    }

    /// A packet dropped for lack of headroom also causes a PAUSE, if the departure of other packets
    /// can resume the class.
    fn on_refuse(&mut self, packet: &PacketContext<'_>, gauge: IngressGauge<'_>, view: &mut View<'_>) {
        if self.relays_pauses {
            return;
        }
        let before = self.stopped[packet.ingress()];
        let pressure = gauge.pressure();
        let full = pressure.full.with(packet.ingress_class());
        let stopped = before.after(Pressure { full, ..pressure });
        if gauge.occupancy() > 0 && stopped != before {
            self.notify(packet, stopped, view);
        }
    }

    fn on_control(&mut self, port: PortIx, control: &Control, causes: Option<&Causes>, view: &mut View<'_>) {
        let Control::Pfc(frame) = control else { return };
        // A frame without causes belongs to another flow control.
        let causes = causes.copied().unwrap_or([view.port(port).id().into(); CLASSES]);
        if self.config.response == Duration::ZERO {
            self.obey(port, *frame, &causes, view);
        } else {
            let effect = view.now + self.config.response;
            self.ports[port].received.push_back((effect, *frame, causes));
            self.arm(port, view);
        }
    }

    fn on_timer(&mut self, port: PortIx, view: &mut View<'_>) {
        while let Some((_, frame, causes)) = self.ports[port].received.pop_front_if(|(at, ..)| *at <= view.now) {
            self.obey(port, frame, &causes, view);
        }
        let state = &mut self.ports[port];
        for class in (0..CLASSES as u8).map(Class) {
            if state.expiry[class.index()] <= view.now {
                state.expiry[class.index()] = Time::NEVER;
                view.open(port, QueueIx::of(class));
            }
        }
        if let Some((at, frame)) = &mut state.refresh
            && *at <= view.now
        {
            frame.enabled = self.stopped[port].classes();
            *at = view.now + Duration::from_ps(state.pause_time.ps() / 2);
            view.send_with_causes(port, Control::Pfc(*frame), &state.causes);
        }
        self.settle(port, view);
    }

    /// Frames were lost, so neither end knows the other's state. Closes the gates of the lossless
    /// classes until the peer has sent its state, and sends this node's state again. A class that
    /// is not lossless is paused only together with its whole port.
    fn on_link_up(&mut self, port: PortIx, view: &mut View<'_>) {
        let cause = view.port(port).id();
        let state = &mut self.ports[port];
        state.received.clear();
        let (stop, expiry) = match (state.answer_time, self.config.pause) {
            (None, _) => (ClassMask::NONE, Time::NEVER),
            (Some(_), PauseModel::UntilResume) => (self.lossless, Time::NEVER),
            (Some(answer_time), PauseModel::Quanta) => (self.lossless, view.now + answer_time),
        };
        for class in stop.iter() {
            state.expiry[class.index()] = expiry;
            view.close(port, QueueIx::of(class), cause);
        }
        for class in ClassMask::ALL.minus(stop).iter() {
            state.expiry[class.index()] = Time::NEVER;
            view.open(port, QueueIx::of(class));
        }
        let pause = self.stopped[port].classes();
        let resume = self.lossless.minus(pause);
        if !pause.is_empty() {
            self.send_pause(port, pause, view);
        }
        if !resume.is_empty() {
            view.send(port, Control::Pfc(self.frame(resume, 0)));
        }
        self.settle(port, view);
    }
}

impl FlowControlAccounts for Pfc {
    fn holds_until_resume(&self) -> bool {
        self.config.pause == PauseModel::UntilResume
    }

    fn upstream_pauses(&self) -> Vec<(PortIx, PauseScope)> {
        let named = |stopped: &Stopped| stopped.classes().minus(CONTROL).iter();
        let classes =
            self.stopped.enumerate().flat_map(|(port, stopped)| named(stopped).map(move |class| (port, class)));
        classes.map(|(port, class)| (port, PauseScope::Queue(QueueIx::of(class)))).collect()
    }

    fn relayed_pauses(&self, ingress: PortIx, scope: PauseScope) -> Vec<(PortIx, QueueIx)> {
        match scope {
            PauseScope::Queue(queue) if self.relays_pauses => {
                self.ports.ids().filter(|port| *port != ingress).map(|port| (port, queue)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A packet sustains a PAUSE of its ingress class. If the buffer policy has thresholds for
    /// whole ports, a packet sustains a PAUSE of any class.
    fn sustains_pause(&self, ingress: PortIx, scope: PauseScope, packet: &PacketContext<'_>) -> bool {
        let from = Some(PauseScope::Queue(QueueIx(packet.headers().queue.into())));
        !self.relays_pauses && packet.ingress() == ingress && (self.has_port_thresholds || from == Some(scope))
    }
}
