//! On/off flow control of whole ports: the ancestor of PFC (IEEE 802.3x), which knows no classes.
//!
//! When the buffer policy finds any class of an ingress port full, a STOP frame goes out of that port, and the neighbour stops *everything* but
//! the control class; when no class is full any more, a GO frame follows.

pub mod incast;

use backwater_fabric::mechanisms::flow_control::FlowControlFactory;
use backwater_fabric::frame::{Control, Signal};
use backwater_fabric::ids::{Class, ClassMask, PortId, PortIx, QueueIx};
use backwater_fabric::contract::{FlowControl, Gauge, NodeView, Passage, PauseScope, Pressure, Site};

/// What frames say, in their `opcode`. Any numbers will do: no other code reads them.
const STOP: u16 = 1;
const GO: u16 = 2;

/// Every class but the control class.
const DATA: ClassMask = ClassMask(0xfe);

/// Makes an [`OnOff`] for every node.
#[derive(Debug)]
pub struct OnOffFactory;

impl FlowControlFactory for OnOffFactory {
    fn build(&self, site: &Site<'_>) -> Box<dyn FlowControl> {
        Box::new(OnOff { full: vec![ClassMask::NONE; site.ports.len()] })
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
    fn update(&mut self, ingress: PortIx, pressure: Pressure, cause: PortId, node: &mut NodeView<'_>) {
        let full = &mut self.full[usize::from(ingress)];
        let before = full.is_empty();
        *full = full.or(pressure.full).minus(pressure.eased);
        match (before, full.is_empty()) {
            (true, false) => node.send(ingress, frame(STOP, cause)),
            (false, true) => node.send(ingress, frame(GO, cause)),
            _ => {}
        }
    }
}

/// Link errors spare the frame: a STOP or GO that is lost would never be made up for.
fn frame(opcode: u16, cause: PortId) -> Control {
    let signal = if opcode == STOP { Signal::Pause } else { Signal::Resume };
    Control::Custom { opcode, signal, reliable: true, words: [cause.0, 0, 0, 0] }
}

fn queues() -> impl Iterator<Item = QueueIx> {
    DATA.iter().map(|Class(class)| QueueIx::from(class))
}

impl FlowControl for OnOff {
    fn on_enqueue(&mut self, passage: Passage, gauge: Gauge<'_>, node: &mut NodeView<'_>) {
        let cause = node.culprit(passage.egress, passage.queue);
        self.update(passage.ingress, gauge.pressure(), cause, node);
    }

    fn on_dequeue(&mut self, passage: Passage, gauge: Gauge<'_>, node: &mut NodeView<'_>) {
        let cause = node.ports()[usize::from(passage.egress)].id;
        self.update(passage.ingress, gauge.pressure(), cause, node);
    }

    fn on_control(&mut self, port: PortIx, control: &Control, node: &mut NodeView<'_>) {
        match *control {
            Control::Custom { opcode: STOP, words: [cause, ..], .. } => {
                queues().for_each(|queue| node.close(port, queue, PortId(cause)));
            }
            Control::Custom { opcode: GO, .. } => queues().for_each(|queue| node.open(port, queue)),
            _ => {}
        }
    }

    /// What was on the wire is lost: stop until the neighbour has told its state, and tell ours.
    fn on_link_up(&mut self, port: PortIx, node: &mut NodeView<'_>) {
        let cause = node.ports()[usize::from(port)].id;
        queues().for_each(|queue| node.close(port, queue, cause));
        let opcode = if self.full[usize::from(port)].is_empty() { GO } else { STOP };
        node.send(port, frame(opcode, cause));
    }

    fn stopping(&self) -> Vec<(PortIx, PauseScope)> {
        let stopped = (0..).zip(&self.full).filter(|(_, full)| !full.is_empty());
        stopped.flat_map(|(port, _)| queues().map(move |queue| (port, PauseScope::Queue(queue)))).collect()
    }
}
