//! BFC, Backpressure Flow Control (Goyal et al., NSDI 2022): each port has a few queues. A new flow
//! takes a free queue while there is one, and each queue is paused on its own.
//!
//! Every packet carries the number of its upstream queue. A packet that finds its egress queue long
//! is counted against the upstream queue until the packet departs. While any packet is counted
//! against an upstream queue, that queue is paused.

use super::hops::PerHop;
use crate::contract::{
    AddedQueues, Diagnostics, FlowControl, FlowControlAccounts, FlowControlFacts, FlowControlOptions, FlowKey,
    IngressGauge, Options, PacketContext, PauseScope, PortView, Pressure, QueueChoice, SchemeContext, Shape, Site,
    Stage, StartingFlow, View,
};
use crate::frame::cause::Causes;
use crate::frame::{Control, PacketKind, Protocol, Signal};
use crate::ids::{CLASSES, Class, FlowId, NodeId, PortId, PortIx, QueueIx};
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::random::{Stream, mix};
use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// BFC: flows spread over a few queues, which are paused one by one (NSDI 2022).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BfcConfig {
    /// Queues per port of a switch, in addition to the control queue. Default 32 (the paper's;
    /// Pyrrha's paper also compares with 128).
    #[schemars(range(min = 1, max = 240))]
    pub queues: u16,
    /// Queues per port of a host: flows share queues only if there are more flows than queues.
    /// Default 240, as many as a packet's queue field can name (the paper's network cards have one
    /// queue per flow).
    #[schemars(range(min = 1, max = 240))]
    pub host_queues: u16,
    /// Time that a flow without packets at the port keeps its queue, in round trips over the
    /// ingress link. Default 2 (the paper's).
    #[schemars(range(min = 0.0))]
    pub sticky: f64,
    /// Entries of a switch's flow table per queue; flows whose hashes are equal share an entry.
    /// Default 100 (the paper's).
    #[schemars(range(min = 1))]
    pub table: u32,
    /// Treatment of ACKs in a data class. Default `wait`.
    pub acks: Acks,
}

/// Treatment of ACKs in a data class by BFC's queues. Hosts have no such queues for ACKs, so ACKs
/// never wait at hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, GetSize)]
#[serde(rename_all = "kebab-case")]
pub enum Acks {
    /// ACKs are queued like data in their direction and wait while their queue is paused, but cause
    /// no PAUSE.
    #[default]
    Wait,
    /// ACKs are treated as data: if they arrive from a switch, they also count against that
    /// switch's queue and can cause a PAUSE (as in the simulator of Pyrrha's authors).
    Count,
    /// ACKs use the queue of their class, which is never paused.
    Apart,
}

impl Default for BfcConfig {
    fn default() -> Self {
        BfcConfig { queues: 32, host_queues: 240, sticky: 2.0, table: 100, acks: Acks::Wait }
    }
}

/// Bits of a packet's note: the counted flag, the upstream queue, and the flow's index in the
/// table.
const COUNTED: u32 = 1 << 31;
const UPSTREAM_SHIFT: u32 = 23;
const TABLE_LIMIT: u64 = 1 << UPSTREAM_SHIFT;

/// Number of values of a packet's `queue` field.
const UPSTREAM_QUEUES: usize = 1 << 8;

/// Returns the upstream queue against which a packet is counted, if it is.
fn counted_against(note: u32) -> Option<QueueIx> {
    (note & COUNTED != 0).then_some(QueueIx((note >> UPSTREAM_SHIFT & 0xff) as u16))
}

const BFC: Protocol = Protocol::named("bfc");
const PAUSE: u16 = 0x10;
const RESUME: u16 = 0x11;

/// State of a flow at an egress port.
#[derive(Clone, Copy, Debug, GetSize)]
struct Entry {
    queue: QueueIx,
    packets: u32,
    last: Time,
}

/// BFC at one node.
#[derive(Debug, GetSize)]
pub struct Bfc {
    queues: u16,
    acks: Acks,
    /// Number of indices of the flow table.
    table_size: u64,
    /// Entries by egress port and flow hash.
    flows: FxHashMap<(PortIx, u32), Entry>,
    /// Number of entries at which flows without packets are next removed.
    tidy_at: usize,
    /// Queue length above which packets are counted if no other queue is active.
    thresholds: PerHop<u64>,
    sticky: IndexVec<PortIx, Duration>,
    /// Counted packets, by ingress port and upstream queue.
    counted: IndexVec<PortIx, [u32; UPSTREAM_QUEUES]>,
    /// Flows in each queue, by port; at a host only.
    users: IndexVec<PortIx, Vec<u32>>,
    draws: Stream,
    most_used: u16,
}

impl Bfc {
    /// Returns BFC for the node at `site`.
    pub fn new(config: &BfcConfig, site: &Site<'_>) -> Bfc {
        let is_host = site.is_host;
        let (queues, switch_ports) = if is_host { (config.host_queues, 0) } else { (config.queues, site.ports.len()) };
        let places = u64::from(config.table) * u64::from(config.queues) * site.ports.len() as u64;
        let NodeId(view) = site.node;
        let sticky = |delay: Duration| Duration::from_ps((delay.ps() as f64 * 2.0 * config.sticky) as u64);
        Bfc {
            queues,
            acks: config.acks,
            table_size: places.min(TABLE_LIMIT),
            flows: FxHashMap::default(),
            tidy_at: 1024,
            thresholds: PerHop::new(site, |hop_bdp| hop_bdp),
            sticky: site.ports.iter().map(|port| sticky(port.delay)).collect(),
            counted: vec![[0; UPSTREAM_QUEUES]; switch_ports].into(),
            users: site.ports.iter().map(|_| if is_host { vec![0; queues.into()] } else { Vec::new() }).collect(),
            draws: site.seed.stream("bfc", view.into()),
            most_used: 0,
        }
    }

    fn random_queue(&mut self) -> QueueIx {
        QueueIx::added(self.draws.below(self.queues.into()) as usize)
    }

    /// Returns the first empty and open queue of `port`; a random queue if there is none.
    fn assign(&mut self, port: &dyn PortView) -> QueueIx {
        let mut all = (0..self.queues.into()).map(QueueIx::added);
        let used = all.clone().filter(|queue| port.is_occupied(*queue)).count() as u16;
        let free = all.find(|queue| !port.is_occupied(*queue) && !port.is_closed(*queue));
        self.most_used = self.most_used.max(used + u16::from(free.is_some()));
        free.unwrap_or_else(|| self.random_queue())
    }

    /// Removes flows that have had no packet here for the longest `sticky` time. A later packet of
    /// such a flow would get a new queue in any case.
    fn tidy(&mut self, now: Time) {
        let longest = self.sticky.iter().copied().max().unwrap_or(Duration::ZERO);
        self.flows.retain(|_, entry| entry.packets > 0 || now.since(entry.last) <= longest);
        self.tidy_at = 2 * self.flows.len() + 1024;
    }
}

fn frame(opcode: u16, queue: QueueIx, cause: PortId) -> Control {
    let signal = if opcode == PAUSE { Signal::Pause } else { Signal::Resume };
    // The frame is exempt from link errors, because a lost PAUSE without expiry could not be
    // repaired.
    Control::Custom { protocol: BFC, opcode, signal, reliable: true, words: [queue.0.into(), cause.0, 0] }
}

impl Options for BfcConfig {
    fn applies(&self, shape: &Shape) -> Result<(), String> {
        shape.without_relays("bfc")
    }

    fn check(&self, scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        diagnostics.warning(
            self.acks != Acks::Wait && scheme.ack_class == Class::CONTROL,
            "acks",
            "has no effect: ACKs are in the control class (host.ack_class)",
        );
    }
}

impl FlowControlOptions for BfcConfig {
    type Instance = Bfc;

    fn facts(&self, _is_host: bool) -> FlowControlFacts {
        FlowControlFacts {
            protocols: vec![BFC],
            bounds_queues: true,
            bypasses_class_queues: true,
            ..Default::default()
        }
    }

    fn build(&self, site: &Site<'_>) -> Bfc {
        Bfc::new(self, site)
    }
}

impl FlowControl for Bfc {
    fn added_queues(&self) -> AddedQueues {
        AddedQueues { most: self.queues, stage: Stage::Wire, ..Default::default() }
    }

    fn queue(&mut self, packet: &PacketContext<'_>, view: &View<'_>) -> QueueChoice {
        let (ingress, egress) = (packet.ingress(), packet.egress);
        let now = view.now;
        let headers = packet.headers();
        let is_data = headers.kind == PacketKind::Data;
        if !is_data && self.acks == Acks::Apart {
            return packet.by_class();
        }
        let FlowKey(key) = view.paths.key(headers.flow, headers.kind);
        let place = (mix(key) % self.table_size) as u32;
        if self.flows.len() >= self.tidy_at {
            self.tidy(now);
        }
        let port = view.port(egress);
        let known = self.flows.get(&(egress, place)).copied();
        let kept = known.filter(|entry| entry.packets > 0 || now.since(entry.last) <= self.sticky[ingress]);
        let entry = kept.unwrap_or_else(|| Entry { queue: self.assign(port), packets: 0, last: now });
        self.flows.insert((egress, place), Entry { packets: entry.packets + 1, last: now, ..entry });
        let joins = !port.is_occupied(entry.queue) && !port.is_closed(entry.queue);
        let active = port.active_queues() + usize::from(joins);
        let threshold = self.thresholds.get(egress, ingress) / active.max(1) as u64;
        let is_long = port.queue_bytes(entry.queue) + u64::from(packet.bytes()) > threshold;
        // ACKs from a host were in the queue of their class, which must not be paused.
        let from_switch = usize::from(headers.queue) >= CLASSES;
        let is_counted = is_long && (is_data || self.acks == Acks::Count && from_switch);
        let counted = if is_counted { COUNTED | u32::from(headers.queue) << UPSTREAM_SHIFT } else { 0 };
        packet.in_queue(entry.queue, counted | place)
    }

    fn on_enqueue(&mut self, packet: &PacketContext<'_>, _pressure: Pressure, view: &mut View<'_>) {
        if let Some(upstream) = counted_against(packet.note()) {
            let count = &mut self.counted[packet.ingress()][upstream.index()];
            *count += 1;
            if *count == 1 {
                let cause = view.culprit(packet.egress, packet.queue);
                view.send(packet.ingress(), self::frame(PAUSE, upstream, cause));
            }
        }
    }

    fn on_dequeue(&mut self, packet: &PacketContext<'_>, _gauge: IngressGauge<'_>, view: &mut View<'_>) {
        if packet.queue.index() < CLASSES {
            return;
        }
        let place = packet.note() & (TABLE_LIMIT as u32 - 1);
        if let Some(entry) = self.flows.get_mut(&(packet.egress, place)) {
            entry.packets -= 1;
            entry.last = view.now;
        }
        if let Some(upstream) = counted_against(packet.note()) {
            let count = &mut self.counted[packet.ingress()][upstream.index()];
            *count -= 1;
            if *count == 0 {
                view.send(packet.ingress(), self::frame(RESUME, upstream, PortId(0)));
            }
        }
    }

    fn on_flow_start(&mut self, flow: StartingFlow<'_>, _view: &mut View<'_>) -> QueueIx {
        let free = self.users[flow.port].iter().position(|users| *users == 0);
        let queue = free.map_or_else(|| self.random_queue(), QueueIx::added);
        self.users[flow.port][queue.index() - CLASSES] += 1;
        queue
    }

    fn on_flow_end(&mut self, _flow: FlowId, port: PortIx, queue: QueueIx, _view: &mut View<'_>) {
        self.users[port][queue.index() - CLASSES] -= 1;
    }

    fn on_control(&mut self, port: PortIx, control: &Control, _causes: Option<&Causes>, view: &mut View<'_>) {
        match *control {
            Control::Custom { protocol: BFC, opcode: PAUSE, words: [queue, cause, ..], .. } => {
                view.close(port, QueueIx(queue as u16), PortId(cause));
            }
            Control::Custom { protocol: BFC, opcode: RESUME, words: [queue, ..], .. } => {
                view.open(port, QueueIx(queue as u16))
            }
            _ => {}
        }
    }

    /// The upstream node opens all queues, and the downstream node repeats its PAUSEs.
    fn on_link_up(&mut self, port: PortIx, view: &mut View<'_>) {
        view.open_all(port);
        let cause = view.port(port).id();
        let counted = self.counted.get(port.index());
        for (queue, _) in (0..).map(QueueIx).zip(counted.into_iter().flatten()).filter(|(_, count)| **count > 0) {
            view.send(port, frame(PAUSE, queue, cause));
        }
    }
}

impl FlowControlAccounts for Bfc {
    fn upstream_pauses(&self) -> Vec<(PortIx, PauseScope)> {
        let of_port = |(port, counts): (PortIx, &[u32; UPSTREAM_QUEUES])| {
            let paused = (0..).map(QueueIx).zip(*counts).filter(|(_, count)| *count > 0);
            paused.map(move |(queue, _)| (port, PauseScope::Queue(queue))).collect::<Vec<_>>()
        };
        self.counted.enumerate().flat_map(of_port).collect()
    }

    fn sustains_pause(&self, ingress: PortIx, scope: PauseScope, packet: &PacketContext<'_>) -> bool {
        packet.ingress() == ingress && counted_against(packet.note()).map(PauseScope::Queue) == Some(scope)
    }

    fn leftover(&self) -> Option<String> {
        let (port, _) = self.upstream_pauses().into_iter().next()?;
        Some(format!("no packet is left, but packets that arrived at port {} are still counted", port.0))
    }

    fn most_queues_used(&self) -> u16 {
        self.most_used
    }
}
