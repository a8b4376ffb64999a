//! On/off flow control of whole ports: the ancestor of PFC (IEEE 802.3x), which knows no classes.
//!
//! When the buffer policy finds any class of an ingress port full, a STOP frame goes out of that port, and the neighbour stops *everything* but
//! the control class; when no class is full any more, a GO frame follows.

pub mod incast;

use backwater_fabric::contract::{Options, 
    FlowControl, FlowControlAccounts, FlowControlFacts, FlowControlOptions, Gauge, Passage, PauseScope, Pressure, Site,
    View,
};
use backwater_fabric::frame::cause::Causes;
use backwater_fabric::frame::{Control, Protocol, Signal};
use backwater_fabric::ids::{Class, ClassMask, PortId, PortIx, QueueIx};

/// Whose frames these are: others take no notice of them.
const ON_OFF: Protocol = Protocol::named("on-off");
/// What they say, in their `opcode`.
const STOP: u16 = 1;
const GO: u16 = 2;

/// Every class but the control class.
const DATA: ClassMask = ClassMask(0xfe);

/// Its options: it has none.
#[derive(Debug)]
pub struct OnOffConfig;

impl Options for OnOffConfig {}

impl FlowControlOptions for OnOffConfig {
    type Instance = OnOff;

    /// With headroom for what is on its way when a STOP is sent, nothing is lost.
    fn facts(&self, _is_host: bool) -> FlowControlFacts {
        FlowControlFacts { protocols: vec![ON_OFF], is_lossless: true, ..Default::default() }
    }

    fn build(&self, site: &Site<'_>) -> OnOff {
        OnOff { full: vec![ClassMask::NONE; site.ports.len()] }
    }
}

/// On/off flow control at one node.
#[derive(Debug)]
pub struct OnOff {
    /// Per ingress port, the classes that are full: the neighbour is stopped while there are any.
    full: Vec<ClassMask>,
}

impl OnOff {
    /// Takes note of the pressure at `ingress`, and tells the neighbour what has changed. `cause` is the congested port.
    fn update(&mut self, ingress: PortIx, pressure: Pressure, cause: PortId, view: &mut View<'_>) {
        let full = &mut self.full[usize::from(ingress)];
        let before = full.is_empty();
        *full = full.or(pressure.full).minus(pressure.eased);
        match (before, full.is_empty()) {
            (true, false) => view.send(ingress, frame(STOP, cause)),
            (false, true) => view.send(ingress, frame(GO, cause)),
            _ => {}
        }
    }
}

/// Link errors spare the frame: a STOP or GO that is lost would never be made up for.
fn frame(opcode: u16, cause: PortId) -> Control {
    let signal = if opcode == STOP { Signal::Pause } else { Signal::Resume };
    Control::Custom { protocol: ON_OFF, opcode, signal, reliable: true, words: [cause.0, 0, 0] }
}

fn queues() -> impl Iterator<Item = QueueIx> {
    DATA.iter().map(|Class(class)| QueueIx::from(class))
}

impl FlowControl for OnOff {
    fn on_enqueue(&mut self, passage: Passage, pressure: Pressure, view: &mut View<'_>) {
        let cause = view.culprit(passage.egress, passage.queue);
        self.update(passage.ingress, pressure, cause, view);
    }

    fn on_dequeue(&mut self, passage: Passage, gauge: Gauge<'_>, view: &mut View<'_>) {
        let cause = view.port(passage.egress).id();
        self.update(passage.ingress, gauge.pressure(), cause, view);
    }

    fn on_control(&mut self, port: PortIx, control: &Control, _causes: Option<&Causes>, view: &mut View<'_>) {
        match *control {
            Control::Custom { protocol: ON_OFF, opcode: STOP, words: [cause, ..], .. } => {
                queues().for_each(|queue| view.close(port, queue, PortId(cause)));
            }
            Control::Custom { protocol: ON_OFF, opcode: GO, .. } => queues().for_each(|queue| view.open(port, queue)),
            _ => {}
        }
    }

    /// What was on the wire is lost: stop until the neighbour has told its state, and tell ours.
    fn on_link_up(&mut self, port: PortIx, view: &mut View<'_>) {
        let cause = view.port(port).id();
        queues().for_each(|queue| view.close(port, queue, cause));
        let opcode = if self.full[usize::from(port)].is_empty() { GO } else { STOP };
        view.send(port, frame(opcode, cause));
    }
}

impl FlowControlAccounts for OnOff {
    fn stopping(&self) -> Vec<(PortIx, PauseScope)> {
        let stopped = (0..).zip(&self.full).filter(|(_, full)| !full.is_empty());
        stopped.flat_map(|(port, _)| queues().map(move |queue| (port, PauseScope::Queue(queue)))).collect()
    }
}
