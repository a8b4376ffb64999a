//! PortFC, per-port flow control for BCube (Cao et al., ICS 2025): switches detect congestion at
//! their egress ports. PAUSEs stop the queues for the congested port at the switch's servers and,
//! through these servers, at upstream switches.
//!
//! ```text
//! switch i, B queue of port p full     ─ PAUSE(B, p) ─► server i-1, b queue of p
//! server i-1, b queue of p             ─ PAUSE(B, p) ─► switch i-2, A queue of p
//! switch i-2, A queues of a port full  ─ PAUSE(A) ────► server i-3, a queue of that port
//! ```

mod queues;
mod server;
mod switch;

use self::server::PortFcServer;
use self::switch::PortFcSwitch;
use crate::contract::{
    AddedQueues, Diagnostics, FlowControl, FlowControlAccounts, FlowControlFacts, FlowControlOptions, IngressGauge,
    Options, PacketContext, PauseScope, Pressure, QueueChoice, SchemeContext, Shape, Site, StartingFlow, View,
};
use crate::frame::cause::{Cause, Causes};
use crate::frame::{Control, Protocol, Signal};
use crate::ids::{PortId, PortIx, QueueIx};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// PortFC, per-port flow control for BCube (ICS 2025). Packets are queued by the egress port that
/// they will take at the next switch, and a PAUSE names the congested port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PortFcConfig {
    /// X_off: bytes in all type A queues of a switch port, in BDPs, from which on the servers at
    /// the other ports stop data to this port. Type A queues hold packets that a server will relay.
    /// Default 6 (section 5.1).
    pub xoff: f64,
    /// X_on: bytes in the type A queues, in BDPs, down to which the servers wait. Default 4
    /// (section 5.1).
    pub xon: f64,
    /// X_off of a port's type B queue, which holds packets whose next node is their destination.
    /// Default: `xoff` (the paper gives none).
    pub last_xoff: Option<f64>,
    /// X_on of the type B queue. Default: `xon`.
    pub last_xon: Option<f64>,
    /// Round trip by which a BDP is computed. Default `hop`.
    pub bdp: Bdp,
}

/// Round trip of a bandwidth-delay product, which the paper leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bdp {
    /// One link: a BDP is the bytes that the port sends while a PAUSE travels upstream and the
    /// bytes on the wire arrive. At 100 Gb/s and a link delay of 1 us, these are 25 KB.
    #[default]
    Hop,
    /// The longest base round-trip time of any pair of hosts.
    Path,
}

/// Longest threshold in BDPs: longer queues fit into no buffer.
const MOST_BDPS: f64 = 1e6;

impl Default for PortFcConfig {
    fn default() -> Self {
        PortFcConfig { xoff: 6.0, xon: 4.0, last_xoff: None, last_xon: None, bdp: Bdp::Hop }
    }
}

impl PortFcConfig {
    /// Returns the thresholds of PAUSE and RESUME for both types, in BDPs.
    fn thresholds(&self) -> [(f64, f64); 2] {
        [(self.xoff, self.xon), (self.last_xoff.unwrap_or(self.xoff), self.last_xon.unwrap_or(self.xon))]
    }
}

impl Options for PortFcConfig {
    fn check(&self, _scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        for (value, option) in [(Some(self.xoff), "xoff"), (self.last_xoff, "last_xoff")] {
            let is_sound = value.is_none_or(|value| value > 0.0 && value <= MOST_BDPS);
            let message = format_args!("must be greater than zero and at most {MOST_BDPS} BDPs");
            diagnostics.error(!is_sound, option, message);
        }
        let [of_a, of_b] = self.thresholds();
        let option_of_b = if self.last_xon.is_some() { "last_xon" } else { "last_xoff" };
        let are_of_b = self.last_xon.is_some() || self.last_xoff.is_some();
        for ((xoff, xon), option) in [(of_a, "xon")].into_iter().chain(are_of_b.then_some((of_b, option_of_b))) {
            let message = format_args!(
                "the RESUME threshold is {xon} BDPs, but must be from 0 to the PAUSE threshold, {xoff} BDPs"
            );
            diagnostics.error(!(0.0..=xoff).contains(&xon), option, message);
        }
    }

    fn applies(&self, shape: &Shape) -> Result<(), String> {
        if shape.trunks {
            return Err(
                "port-fc needs a topology that links switches to servers only, such as bcube; here switches are linked \
                    to each other"
                    .into(),
            );
        }
        if shape.direct {
            return Err(
                "port-fc needs a topology that links servers to switches only, such as bcube; here servers are linked \
                    to each other"
                    .into(),
            );
        }
        if shape.switches > 1 && !shape.relays {
            return Err(
                "port-fc needs servers that relay packets between switches, such as those of bcube; here no server \
                    relays packets"
                    .into(),
            );
        }
        if !shape.fixed_paths {
            return Err(
                "port-fc must know the path of every packet: use load_balance = \"ecmp\", and no congestion control \
                    that chooses paths, such as mp-rdma"
                    .into(),
            );
        }
        Ok(())
    }
}

impl FlowControlOptions for PortFcConfig {
    type Instance = PortFc;

    fn facts(&self, _is_host: bool) -> FlowControlFacts {
        FlowControlFacts {
            protocols: vec![PORT_FC],
            is_lossless: true,
            bounds_queues: true,
            is_exempt_from_errors: true,
            relays_pauses: true,
            lossless_assumption: Some("the servers' own ACKs, which have priority, do not delay relayed packets much"),
            ..Default::default()
        }
    }

    fn build(&self, site: &Site<'_>) -> PortFc {
        if site.is_host {
            PortFc::Server(PortFcServer::new(site))
        } else {
            PortFc::Switch(PortFcSwitch::new(self, site))
        }
    }

    fn check_guarantee(&self, site: &Site<'_>) -> Result<(), String> {
        let Shape { stages, faults, relays, uniform, lossless_acks, .. } = site.shape;
        if stages > 2 {
            return Err(format!(
                "paths have up to {stages} switches, but a PAUSE for packets that the next server relays stops only \
                    the previous server, not the switch before that server"
            ));
        }
        if faults && relays {
            return Err(
                "links fail: packets that wait at servers during a failure may arrive later in spite of a PAUSE, or \
                    take a detour"
                    .into(),
            );
        }
        if lossless_acks {
            return Err("host.ack_class is a lossless class, but PAUSEs do not stop ACKs".into());
        }
        if !uniform {
            return Err("some switches use another flow control".into());
        }
        if relays && !site.relays_first {
            return Err(
                "servers do not forward relayed packets first and at line rate: these packets queue up at servers and \
                    may arrive later in spite of a PAUSE; use host.scheduler = { kind = \"relay-first\" } without \
                    host.relay.rate"
                    .into(),
            );
        }
        if site.is_host {
            return Ok(());
        }
        if !site.shares_buffer {
            return Err(
                "the buffer policy does not share the whole buffer; use switch.headroom = { kind = \"static\", \
                headroom = \"0 B\" } with xoff = switch.buffer"
                    .into(),
            );
        }
        if switch::is_fed_faster(site) {
            return Err("a relaying server has another link that is faster than its link to this switch: relayed \
                packets queue up at the server"
                .into());
        }
        let need = switch::need(self, site);
        if need > site.buffer {
            return Err(format!(
                "the ports of a switch may hold up to {need} B together, but its buffer has {} B",
                site.buffer
            ));
        }
        Ok(())
    }
}

/// Queue types of a switch port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Packets that the next server relays.
    A,
    /// Packets that reach their destination next.
    B,
}

const PORT_FC: Protocol = Protocol::named("port-fc");
const PAUSE: u16 = 0x40;
const RESUME: u16 = 0x41;

/// Content of a frame: the queues of a type at a port are congested, or no longer congested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Message {
    pauses: bool,
    of: Type,
    /// Congested port.
    port: PortId,
}

impl Message {
    fn read(control: &Control) -> Option<Message> {
        let Control::Custom { protocol: PORT_FC, opcode, words: [port, of, _], .. } = *control else { return None };
        let of = if of == Type::A as u32 { Type::A } else { Type::B };
        Some(Message { pauses: opcode == PAUSE, of, port: PortId(port) })
    }

    /// Returns the frame of the message. The frame is exempt from link errors, because a lost PAUSE
    /// without expiry could not be repaired.
    fn frame(self) -> Control {
        let (opcode, signal) = if self.pauses { (PAUSE, Signal::Pause) } else { (RESUME, Signal::Resume) };
        let words = [self.port.0, self.of as u32, 0];
        Control::Custom { protocol: PORT_FC, opcode, signal, reliable: true, words }
    }

    fn send(self, out_of: PortIx, cause: Cause, view: &mut View<'_>) {
        if self.pauses {
            let mut causes = Causes::default();
            causes[0] = cause;
            view.send_with_causes(out_of, self.frame(), &causes);
        } else {
            view.send(out_of, self.frame());
        }
    }

    /// Closes or opens the gate of `queue` at the port where the frame arrived.
    fn obey(self, port: PortIx, queue: QueueIx, causes: Option<&Causes>, view: &mut View<'_>) {
        if self.pauses {
            view.close(port, queue, causes.map_or(self.port.into(), |causes| causes[0]));
        } else {
            view.open(port, queue);
        }
    }

    /// Returns the scope of the PAUSE.
    fn scope(self) -> PauseScope {
        PauseScope::Port(self.port, self.of as u8)
    }
}

/// PortFC at one node.
#[derive(Debug, GetSize)]
pub enum PortFc {
    /// Switch side.
    Switch(PortFcSwitch),
    /// Server side.
    Server(PortFcServer),
}

impl FlowControl for PortFc {
    fn added_queues(&self) -> AddedQueues {
        let most = match self {
            PortFc::Switch(switch) => switch.most_queues(),
            PortFc::Server(server) => server.most_queues(),
        };
        AddedQueues { most, ..Default::default() }
    }

    fn queue(&mut self, packet: &PacketContext<'_>, view: &View<'_>) -> QueueChoice {
        let queue = match self {
            PortFc::Switch(switch) => switch.queue(packet, view),
            PortFc::Server(server) => server.relay_queue(packet.egress),
        };
        packet.in_queue(queue, 0)
    }

    #[inline]
    fn count_enqueue(&mut self, packet: &PacketContext<'_>, _pressure: Pressure) -> bool {
        match self {
            PortFc::Switch(switch) => switch.count_enqueue(packet),
            PortFc::Server(_) => false,
        }
    }

    fn on_enqueue(&mut self, packet: &PacketContext<'_>, _pressure: Pressure, view: &mut View<'_>) {
        if let PortFc::Switch(switch) = self {
            switch.notify(packet, true, view);
        }
    }

    #[inline]
    fn count_dequeue(&mut self, packet: &PacketContext<'_>) -> bool {
        match self {
            PortFc::Switch(switch) => switch.count_dequeue(packet),
            PortFc::Server(_) => false,
        }
    }

    fn on_dequeue(&mut self, packet: &PacketContext<'_>, _gauge: IngressGauge<'_>, view: &mut View<'_>) {
        if let PortFc::Switch(switch) = self {
            switch.notify(packet, false, view);
        }
    }

    fn on_flow_start(&mut self, flow: StartingFlow<'_>, _view: &mut View<'_>) -> QueueIx {
        let own = match self {
            PortFc::Server(server) => server.own_queue(flow.port, flow.remaining_hops),
            PortFc::Switch(_) => None,
        };
        own.unwrap_or(QueueIx::of(flow.class))
    }

    fn on_control(&mut self, port: PortIx, control: &Control, causes: Option<&Causes>, view: &mut View<'_>) {
        let Some(message) = Message::read(control) else { return };
        match self {
            PortFc::Switch(switch) => switch.on_message(port, message, causes, view),
            PortFc::Server(server) => server.on_message(port, message, causes, view),
        }
    }

    /// Withdraws the messages received at `port`, since no further message can withdraw them.
    fn on_dead_end(&mut self, port: PortIx, view: &mut View<'_>) {
        view.open_all(port);
        if let PortFc::Server(server) = self {
            server.withdraw(port, view);
        }
    }

    /// Both ends repeat their PAUSEs and forget received messages.
    fn on_link_up(&mut self, port: PortIx, view: &mut View<'_>) {
        match self {
            PortFc::Switch(switch) => switch.on_link_up(port, view),
            PortFc::Server(server) => server.on_link_up(port, view),
        }
    }
}

impl FlowControlAccounts for PortFc {
    fn upstream_pauses(&self) -> Vec<(PortIx, PauseScope)> {
        match self {
            PortFc::Switch(switch) => switch.upstream_pauses(),
            PortFc::Server(server) => server.upstream_pauses(),
        }
    }

    fn scope(&self, port: PortIx, queue: QueueIx) -> PauseScope {
        let scope = match self {
            PortFc::Switch(switch) => switch.scope(port, queue),
            PortFc::Server(server) => server.scope(port, queue),
        };
        scope.unwrap_or(PauseScope::Queue(queue))
    }

    fn sustains_pause(&self, _ingress: PortIx, scope: PauseScope, packet: &PacketContext<'_>) -> bool {
        match self {
            PortFc::Switch(switch) => switch.message_of(packet).scope() == scope,
            PortFc::Server(_) => false,
        }
    }

    fn relayed_pauses(&self, ingress: PortIx, scope: PauseScope) -> Vec<(PortIx, QueueIx)> {
        match self {
            PortFc::Switch(_) => Vec::new(),
            PortFc::Server(server) => server.relayed_pauses(ingress, scope),
        }
    }

    fn leftover(&self) -> Option<String> {
        let (port, scope) = self.upstream_pauses().into_iter().next()?;
        Some(format!("port {} still pauses its peer: {scope:?}", port.0))
    }

    fn most_queues_used(&self) -> u16 {
        self.added_queues().most
    }
}
