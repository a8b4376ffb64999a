//! On/off flow control of whole ports (IEEE 802.3x), the predecessor of PFC. It has no classes.
//!
//! A node sends STOP through an ingress port if any class of the port is full. The neighbour then
//! stops all classes but the control class. The node sends GO when no class is full any more, but
//! not earlier than `hold` after the STOP.

#![forbid(unsafe_code)]

use backwater_engine::index::IndexVec;
use backwater_engine::{Duration, Time};
use backwater_fabric::contract::{
    Diagnostics, FlowControl, FlowControlAccounts, FlowControlFacts, FlowControlOptions, IngressGauge, Options,
    PacketContext, PauseScope, Pressure, SchemeContext, Site, View,
};
use backwater_fabric::frame::cause::Causes;
use backwater_fabric::frame::{Control, Protocol, Signal};
use backwater_fabric::ids::{ClassMask, PortId, PortIx, QueueIx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

backwater_pymodule::extension!(on_off, flow_control "on-off": OnOffConfig);

/// Protocol of the frames; other flow controls ignore it.
const ON_OFF: Protocol = Protocol::named("on-off");
/// Values of a frame's `opcode`.
const STOP: u16 = 1;
const GO: u16 = 2;

/// Every class but the control class.
const DATA: ClassMask = ClassMask(0xfe);

/// On/off flow control of whole ports (IEEE 802.3x).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OnOffConfig {
    /// Shortest time from a STOP to the GO that follows, at most 1 ms. Default 0 s.
    pub hold: Duration,
}

impl Options for OnOffConfig {
    fn check(&self, _scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        let message = format!("must be at most {}", Duration::from_ms(1));
        diagnostics.error(self.hold > Duration::from_ms(1), "hold", message);
    }
}

impl FlowControlOptions for OnOffConfig {
    type Instance = OnOff;

    /// Lossless, given headroom for the bytes in flight when a STOP is sent.
    fn facts(&self, _is_host: bool) -> FlowControlFacts {
        FlowControlFacts { protocols: vec![ON_OFF], is_lossless: true, ..Default::default() }
    }

    fn build(&self, site: &Site<'_>) -> OnOff {
        OnOff { hold: self.hold, ports: site.ports.iter().map(|_| Ingress::default()).collect() }
    }
}

/// On/off flow control at one node.
#[derive(Debug)]
pub struct OnOff {
    hold: Duration,
    ports: IndexVec<PortIx, Ingress>,
}

/// State of an ingress port.
#[derive(Debug, Default)]
struct Ingress {
    /// Full classes.
    full: ClassMask,
    /// Time of the STOP; `None` if the neighbour is not stopped.
    stopped: Option<Time>,
}

impl OnOff {
    /// Records the pressure at `ingress`, and sends STOP or GO if needed. `cause` is the congested
    /// port.
    fn update(&mut self, ingress: PortIx, pressure: Pressure, cause: PortId, view: &mut View<'_>) {
        let port = &mut self.ports[ingress];
        port.full = port.full.or(pressure.full).minus(pressure.below_xon);
        match port.stopped {
            None if !port.full.is_empty() => {
                port.stopped = Some(view.now);
                view.count("stops", 1);
                view.send(ingress, frame(STOP, cause));
            }
            Some(since) if port.full.is_empty() && since + self.hold <= view.now => {
                port.stopped = None;
                view.send(ingress, frame(GO, cause));
            }
            Some(since) if port.full.is_empty() => view.set_timer(ingress, since + self.hold),
            _ => {}
        }
    }
}

/// Returns a frame that is exempt from link errors, because a lost STOP or GO is never repeated.
fn frame(opcode: u16, cause: PortId) -> Control {
    let signal = if opcode == STOP { Signal::Pause } else { Signal::Resume };
    Control::Custom { protocol: ON_OFF, opcode, signal, reliable: true, words: [cause.0, 0, 0] }
}

fn queues() -> impl Iterator<Item = QueueIx> {
    DATA.iter().map(QueueIx::of)
}

impl FlowControl for OnOff {
    fn on_enqueue(&mut self, packet: &PacketContext<'_>, pressure: Pressure, view: &mut View<'_>) {
        let cause = view.culprit(packet.egress, packet.queue);
        self.update(packet.ingress(), pressure, cause, view);
    }

    fn on_dequeue(&mut self, packet: &PacketContext<'_>, gauge: IngressGauge<'_>, view: &mut View<'_>) {
        let cause = view.port(packet.egress).id();
        self.update(packet.ingress(), gauge.pressure(), cause, view);
    }

    fn on_control(&mut self, port: PortIx, control: &Control, _causes: Option<&Causes>, view: &mut View<'_>) {
        match *control {
            Control::Custom { protocol: ON_OFF, opcode: STOP, words: [cause, ..], .. } => {
                for queue in queues() {
                    view.close(port, queue, PortId(cause));
                }
            }
            Control::Custom { protocol: ON_OFF, opcode: GO, .. } => {
                for queue in queues() {
                    view.open(port, queue);
                }
            }
            _ => {}
        }
    }

    fn on_timer(&mut self, port: PortIx, view: &mut View<'_>) {
        let cause = view.port(port).id();
        self.update(port, Pressure::default(), cause, view);
    }

    /// Closes all gates until the neighbour sends its state, and sends the state of this port,
    /// because frames on the wire were lost.
    fn on_link_up(&mut self, port: PortIx, view: &mut View<'_>) {
        let cause = view.port(port).id();
        for queue in queues() {
            view.close(port, queue, cause);
        }
        let opcode = if self.ports[port].stopped.is_none() { GO } else { STOP };
        view.send(port, frame(opcode, cause));
    }
}

impl FlowControlAccounts for OnOff {
    fn upstream_pauses(&self) -> Vec<(PortIx, PauseScope)> {
        let stopped = self.ports.enumerate().filter(|(_, port)| port.stopped.is_some());
        stopped.flat_map(|(port, _)| queues().map(move |queue| (port, PauseScope::Queue(queue)))).collect()
    }
}
