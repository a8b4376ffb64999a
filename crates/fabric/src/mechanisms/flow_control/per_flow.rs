//! A queue for every flow: the upper bound of flow control, with as many queues as flows (section
//! II-C of Pyrrha's paper).
//!
//! The pause rule is BFC's. A packet that finds its flow's queue longer than the queue's share of a
//! one-hop BDP is counted until the packet departs. While any packet of a flow is counted, the flow
//! is paused upstream.

use super::hops::PerHop;
use crate::contract::{
    AddedQueues, FlowControl, FlowControlAccounts, FlowControlFacts, FlowControlOptions, IngressGauge, Options,
    PacketContext, PauseScope, Pressure, QueueChoice, Shape, Site, Stage, StartingFlow, View,
};
use crate::frame::Direction;
use crate::frame::cause::Causes;
use crate::frame::{Control, PacketKind, Protocol, Signal};
use crate::ids::{CLASSES, FlowId, PortId, PortIx, QueueIx};
use backwater_engine::index::{Id, IndexVec};
use get_size2::GetSize;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A queue for every flow: an ideal that no switch can afford.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PerFlowConfig {}

/// Identifies the packets of a flow in one direction.
type Key = (FlowId, Direction);

/// A queue of a port.
#[derive(Clone, Copy, Debug, Default, GetSize)]
struct Line {
    /// Flow of the queue; `None` if the queue is free.
    flow: Option<Key>,
    packets: u32,
    paused: bool,
    /// True if the flow starts at this host and has not ended.
    lives_here: bool,
}

/// Queues of one port.
#[derive(Debug, Default, GetSize)]
struct Lines {
    lines: Vec<Line>,
    of_flow: FxHashMap<Key, QueueIx>,
    free: Vec<QueueIx>,
}

impl Lines {
    fn get(&mut self, queue: QueueIx) -> &mut Line {
        &mut self.lines[queue.index() - CLASSES]
    }

    /// Returns the queue of a flow, and assigns one if needed; `None` if no queue is left.
    fn of(&mut self, flow: Key) -> Option<QueueIx> {
        let Lines { lines, of_flow, free } = self;
        if let Some(queue) = of_flow.get(&flow) {
            return Some(*queue);
        }
        let queue = free.pop().or_else(|| {
            let queue = u16::try_from(CLASSES + lines.len()).ok().filter(|queue| *queue < u16::MAX).map(QueueIx)?;
            lines.push(Line::default());
            Some(queue)
        })?;
        lines[queue.index() - CLASSES] = Line { flow: Some(flow), ..Line::default() };
        of_flow.insert(flow, queue);
        Some(queue)
    }

    /// Frees a queue that is no longer needed.
    fn tidy(&mut self, queue: QueueIx) {
        let line = self.get(queue);
        if line.packets == 0 && !line.paused && !line.lives_here {
            let flow = line.flow.take();
            flow.into_iter().for_each(|flow| {
                self.of_flow.remove(&flow);
            });
            self.free.push(queue);
        }
    }

    fn in_use(&self) -> usize {
        self.lines.len() - self.free.len()
    }
}

/// Note of a counted packet.
const COUNTED: u32 = 1;

const PER_FLOW: Protocol = Protocol::named("per-flow");
const PAUSE: u16 = 0x20;
const RESUME: u16 = 0x21;

fn frame(opcode: u16, (flow, direction): Key, cause: PortId) -> Control {
    let signal = if opcode == PAUSE { Signal::Pause } else { Signal::Resume };
    let words = [flow.0, u32::from(direction == Direction::Ack), cause.0];
    // The frame is exempt from link errors, because a lost PAUSE without expiry could not be
    // repaired.
    Control::Custom { protocol: PER_FLOW, opcode, signal, reliable: true, words }
}

/// Per-flow flow control at one node.
#[derive(Debug, GetSize)]
pub struct PerFlow {
    ports: IndexVec<PortIx, Lines>,
    thresholds: PerHop<u64>,
    /// Counted packets, by ingress port and flow.
    counted: FxHashMap<(PortIx, Key), u32>,
    most_used: u16,
}

impl PerFlow {
    /// Returns the flow control for the node at `site`.
    pub fn new(site: &Site<'_>) -> PerFlow {
        PerFlow {
            ports: site.ports.iter().map(|_| Lines::default()).collect(),
            thresholds: PerHop::new(site, |hop_bdp| hop_bdp),
            counted: FxHashMap::default(),
            most_used: 0,
        }
    }

    fn line(&mut self, port: PortIx, queue: QueueIx) -> &mut Line {
        self.ports[port].get(queue)
    }

    /// Returns the flow against which the packet is counted, if it is.
    fn counts(&mut self, packet: &PacketContext<'_>) -> Option<Key> {
        (packet.note() == COUNTED).then(|| self.line(packet.egress, packet.queue).flow).flatten()
    }
}

impl Options for PerFlowConfig {
    fn applies(&self, shape: &Shape) -> Result<(), String> {
        shape.without_relays("per-flow")
    }
}

impl FlowControlOptions for PerFlowConfig {
    type Instance = PerFlow;

    fn facts(&self, _is_host: bool) -> FlowControlFacts {
        FlowControlFacts {
            protocols: vec![PER_FLOW],
            bounds_queues: true,
            bypasses_class_queues: true,
            ..Default::default()
        }
    }

    fn build(&self, site: &Site<'_>) -> PerFlow {
        PerFlow::new(site)
    }
}

impl FlowControl for PerFlow {
    fn added_queues(&self) -> AddedQueues {
        AddedQueues { most: u16::MAX - CLASSES as u16, stage: Stage::Wire, ..Default::default() }
    }

    fn queue(&mut self, packet: &PacketContext<'_>, view: &View<'_>) -> QueueChoice {
        let (ingress, egress) = (packet.ingress(), packet.egress);
        let headers = packet.headers();
        let lines = &mut self.ports[egress];
        let Some(queue) = lines.of((headers.flow, headers.direction())) else { return packet.by_class() };
        lines.get(queue).packets += 1;
        self.most_used = self.most_used.max(lines.in_use() as u16);
        let port = view.port(egress);
        let active = port.active_queues() + usize::from(!port.is_occupied(queue) && !port.is_closed(queue));
        let threshold = self.thresholds.get(egress, ingress) / active.max(1) as u64;
        let is_long = port.queue_bytes(queue) + u64::from(packet.bytes()) > threshold;
        // ACKs are never paused, since hosts have no queues for them.
        let is_counted = is_long && headers.kind == PacketKind::Data;
        packet.in_queue(queue, if is_counted { COUNTED } else { 0 })
    }

    fn on_enqueue(&mut self, packet: &PacketContext<'_>, _pressure: Pressure, view: &mut View<'_>) {
        let Some(flow) = self.counts(packet) else { return };
        let count = self.counted.entry((packet.ingress(), flow)).or_default();
        *count += 1;
        if *count == 1 {
            let cause = view.culprit(packet.egress, packet.queue);
            view.send(packet.ingress(), frame(PAUSE, flow, cause));
        }
    }

    fn on_dequeue(&mut self, packet: &PacketContext<'_>, _gauge: IngressGauge<'_>, view: &mut View<'_>) {
        if let Some(flow) = self.counts(packet) {
            let count = self.counted.entry((packet.ingress(), flow)).or_default();
            *count -= 1;
            if *count == 0 {
                self.counted.remove(&(packet.ingress(), flow));
                view.send(packet.ingress(), frame(RESUME, flow, PortId(0)));
            }
        }
        if packet.queue.index() >= CLASSES {
            self.line(packet.egress, packet.queue).packets -= 1;
            self.ports[packet.egress].tidy(packet.queue);
        }
    }

    fn on_flow_start(&mut self, flow: StartingFlow<'_>, _view: &mut View<'_>) -> QueueIx {
        let lines = &mut self.ports[flow.port];
        let Some(queue) = lines.of((flow.flow, Direction::Data)) else { return QueueIx::of(flow.class) };
        lines.get(queue).lives_here = true;
        queue
    }

    fn on_flow_end(&mut self, _flow: FlowId, port: PortIx, queue: QueueIx, _view: &mut View<'_>) {
        if queue.index() >= CLASSES {
            self.line(port, queue).lives_here = false;
            self.ports[port].tidy(queue);
        }
    }

    fn on_control(&mut self, port: PortIx, control: &Control, _causes: Option<&Causes>, view: &mut View<'_>) {
        let Control::Custom { protocol: PER_FLOW, opcode: opcode @ (PAUSE | RESUME), words, .. } = *control else {
            return;
        };
        let [flow, is_ack, cause] = words;
        let direction = if is_ack == 0 { Direction::Data } else { Direction::Ack };
        let lines = &mut self.ports[port];
        let Some(queue) = lines.of((FlowId(flow), direction)) else { return };
        lines.get(queue).paused = opcode == PAUSE;
        if opcode == PAUSE {
            view.close(port, queue, PortId(cause));
        } else {
            view.open(port, queue);
            lines.tidy(queue);
        }
    }

    /// The upstream node opens all queues, and the downstream node repeats its PAUSEs.
    fn on_link_up(&mut self, port: PortIx, view: &mut View<'_>) {
        let closed: Vec<QueueIx> = view.port(port).closed_queues().collect();
        for queue in closed {
            view.open(port, queue);
            self.line(port, queue).paused = false;
            self.ports[port].tidy(queue);
        }
        let cause = view.port(port).id();
        let mut flows: Vec<Key> =
            self.counted.keys().filter(|(ingress, _)| *ingress == port).map(|(_, flow)| *flow).collect();
        flows.sort_unstable();
        flows.into_iter().for_each(|flow| view.send(port, frame(PAUSE, flow, cause)));
    }
}

impl FlowControlAccounts for PerFlow {
    fn upstream_pauses(&self) -> Vec<(PortIx, PauseScope)> {
        let mut pauses: Vec<_> =
            self.counted.keys().map(|(port, (flow, way))| (*port, PauseScope::Flow(*flow, *way))).collect();
        pauses.sort_unstable();
        pauses
    }

    fn scope(&self, port: PortIx, queue: QueueIx) -> PauseScope {
        let line = queue.index().checked_sub(CLASSES).and_then(|index| self.ports[port].lines.get(index));
        line.and_then(|line| line.flow).map_or(PauseScope::Queue(queue), |(flow, way)| PauseScope::Flow(flow, way))
    }

    fn sustains_pause(&self, ingress: PortIx, scope: PauseScope, packet: &PacketContext<'_>) -> bool {
        let headers = packet.headers();
        let flow = Some(PauseScope::Flow(headers.flow, headers.direction()));
        packet.ingress() == ingress && packet.note() == COUNTED && flow == Some(scope)
    }

    /// A flow that has not ended keeps its queue at the host.
    fn leftover(&self) -> Option<String> {
        let kept = |lines: &Lines| lines.lines.iter().filter(|line| line.flow.is_some() && !line.lives_here).count();
        let of_port = |(port, lines)| Some((port, kept(lines))).filter(|(_, kept)| *kept > 0);
        let (port, kept) = self.ports.enumerate().find_map(of_port)?;
        Some(format!("queues that port {} still keeps for flows without packets: {kept}", port.0))
    }

    fn most_queues_used(&self) -> u16 {
        self.most_used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulation;
    use crate::ids::NodeId;
    use crate::mechanisms::flow_control::{AnyFlowControl, FlowControlConfig};
    use crate::testing::{flow, star};
    use backwater_engine::{Duration, Time};

    const HOST: NodeId = NodeId(0);

    /// Returns a simulation in which host 0 has sent all its data to host 1. The last ACK has
    /// returned, unless the link was down in between (`is_cut`).
    fn at_rest(is_cut: bool) -> Simulation {
        let mut spec = star(2);
        spec.switch.flow_control = FlowControlConfig::PerFlow(Default::default());
        if is_cut {
            let (down, up) = (Time::ZERO + Duration::from_ns(100), Time::ZERO + Duration::from_us(10));
            spec.faults = vec![crate::network::spec::LinkFault { link: 0, down, up }];
        }
        let mut simulation = Simulation::new(spec, vec![flow(0, 1, 100, 0)], 1).unwrap();
        simulation.run_until(Time::ZERO + Duration::from_us(100), 1);
        assert!(simulation.is_quiet());
        simulation
    }

    fn complaints(simulation: &Simulation) -> Vec<String> {
        simulation.audit().into_iter().map(|violation| violation.what).collect()
    }

    #[test]
    fn a_queue_that_is_not_given_back_is_found() {
        let mut simulation = at_rest(false);
        assert_eq!(complaints(&simulation), [""; 0]);
        simulation.tamper(HOST, |node, _| {
            let AnyFlowControl::PerFlow(per_flow) = &mut node.flow_control else { panic!("every node runs it") };
            per_flow.ports[PortIx(0)].of((FlowId(7), Direction::Data)).unwrap();
        });
        assert_eq!(complaints(&simulation), ["queues that port 0 still keeps for flows without packets: 1"]);
    }

    /// A packet is lost and its sender waits for the timer: the network is idle, but the flow has
    /// not ended.
    #[test]
    fn a_flow_that_has_not_ended_keeps_its_queue() {
        let simulation = at_rest(true);
        assert_eq!(simulation.unfinished().len(), 1);
        assert_eq!(complaints(&simulation), [""; 0]);
    }
}
