//! FLB (Hu et al., USENIX ATC 2025): edge switches send every packet along the fastest of the paths
//! on which the packet overtakes no packet of its flow. Edges keep congested flows on as few paths
//! as these flows need, so that a PAUSE stops no other flow.
//!
//! Edges measure the paths to each other by stamps on some packets. A switch whose egress queue
//! exceeds a threshold notifies the source edges of the flows whose packets join the queue (CNM),
//! and notifies these edges again when the queue is shorter.

mod detector;
mod edge;
mod isolation;

pub use self::edge::{Present, reroute};

use self::detector::{Detector, Message};
use self::edge::Edge;
use super::flowlets::by_hash;
use super::paths::{is_edge, stamp_departure};
use crate::contract::{
    Choice, Diagnostics, FlowHash, HookSet, LbStat, LoadBalance, LoadBalanceOptions, NoticeAction, Options,
    PacketContext, PipelineHooks, RouteRequest, SchemeContext, Shape, Site, View,
};
use crate::frame::{Notice, PacketKind};
use crate::ids::{NodeId, PortIx};
use crate::mechanisms::cnm::{Cnm, FLB};
use backwater_engine::{Bytes, Duration, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stamping point of delay samples (section 3.1: "departure timestamps").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StampPoint {
    /// Arrival at the edge: the delay includes the queue of the uplink, which a PAUSE may stop.
    Arrival,
    /// Start of transmission on the uplink.
    Departure,
    /// As `departure`, plus the state of the uplink when a path is chosen: the bytes on the
    /// uplink's wire and in the packet's queue, and the time for which a PAUSE has stopped this
    /// queue.
    #[default]
    DepartureAndQueue,
}

/// Delay by which paths are compared (section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DelayOf {
    /// Excess over the shortest delay measured on the path: the time in queues.
    #[default]
    Queueing,
    /// Excess over the shortest delay measured on any path to the same edge: slower links count as
    /// well.
    OneWay,
}

/// Condition on which a packet leaves its flow's path for a faster path (Algorithm 1, lines 9 to
/// 12). "Gap" is the time since the flow's previous packet, "delay" the delay of the faster path.
/// "Now" is the present delay of the flow's path, "met" the delay that the previous packet met on
/// the flow's path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rerouting {
    /// Delay < now, and max(0, met - delay) < gap: the packet overtakes no packet of its flow
    /// (section 3.1).
    #[default]
    KeepOrder,
    /// 0 < now - delay < gap, literally as in Algorithm 1. This rule counts bytes that drained
    /// during the gap twice, so that packets overtake others if a queue drains.
    AsPrinted,
    /// As `keep-order`, and delay < met. Neither Algorithm 1 nor section 3.1 requires this. The
    /// rule is for comparison.
    FasterThanLast,
}

/// Computation of the isolation threshold K (Appendix A).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, GetSize)]
#[serde(rename_all = "kebab-case")]
pub enum FlbThreshold {
    /// 2 d C, with the delay and the rate of the egress port's link; at most half of PFC's bound
    /// for the packet's ingress queue, and at least two packets.
    #[default]
    Delay,
    /// Equation 4 with measured rates: a queue is congested from the upper end of the range on,
    /// until it falls below the lower end. n is the number of congested egress queues of the
    /// switch.
    Adaptive,
    /// A fixed number of bytes: `static_threshold`.
    Static,
}

/// Choice among paths of equal delay for a flow that needs a path. At first no delay is known, and
/// later reports are two round trips old.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// A random path.
    #[default]
    Random,
    /// The path to which no flow has moved for the longest time.
    InTurn,
}

/// Distribution of congested flows over several isolation paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// One path per flow (section 3.2).
    #[default]
    PerFlow,
    /// A random path per packet (section 3.4).
    PerPacket,
}

/// Time when a flow leaves a path that it may no longer use: an isolation path for an uncongested
/// flow, any other path for a congested flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Moves {
    /// At its next packet (section 3.2).
    #[default]
    AtOnce,
    /// At the first packet that overtakes no packet of its flow (Algorithm 1).
    InOrder,
}

/// Reaction of an edge to congestion of its own uplink. In section 3.2, switches notify source
/// edges; the section does not specify the reaction to an edge's own queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, GetSize)]
#[serde(rename_all = "kebab-case")]
pub enum OwnUplinks {
    /// No reaction. Flows leave the uplink by rerouting, since its delay grows.
    Ignore,
    /// Senders are notified, if they process notices.
    Notify,
    /// Flows are isolated and their senders notified, as for queues of other switches.
    #[default]
    Isolate,
}

/// FLB: every packet takes the fastest of the paths on which it overtakes no packet of its flow;
/// congested flows keep to few paths (ATC 2025).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlbConfig {
    /// Time that an edge, or a congested queue, remembers a flow without packets. Default 1 ms
    /// (section 3.1).
    pub flow_timeout: Duration,
    /// Time between two samples of a path. Default: two base round-trip times of the network
    /// (section 3.1).
    pub sample_period: Option<Duration>,
    /// Time for which a measured delay holds, if no sample is pending. After that, the delay
    /// decreases by the time that passes, as an idle queue drains. Default: two sample periods.
    pub delay_aging: Option<Duration>,
    /// Point at which samples are stamped. The point also decides if a path's delay includes the
    /// queue of the uplink.
    pub stamp: StampPoint,
    /// Delay by which paths are compared.
    pub delay_of: DelayOf,
    /// Unit of the ageing counter that measures the gap between two packets of a flow (section 3.4;
    /// the paper names no unit). Gaps are rounded down. Default: gaps are exact.
    pub gap_unit: Option<Duration>,
    /// Condition on which a packet leaves its flow's path for a faster path.
    pub rerouting: Rerouting,
    /// Choice among paths of equal delay for a flow that needs a path.
    pub ties: Ties,
    /// True if congested flows are isolated. Default true; false keeps only rerouting.
    pub isolation: bool,
    /// Computation of the isolation threshold K.
    pub threshold: FlbThreshold,
    /// K with `threshold = "static"`; the paper compares 20 % and 30 % of the buffer (Figure 12).
    pub static_threshold: Option<Bytes>,
    /// Link delay d in the thresholds `delay` and `adaptive`. Default: the delay of the egress
    /// port's link. In Appendix A, d is the delay from a sender to the edge of a receiver.
    pub link_delay: Option<Duration>,
    /// Time for which a flow counts as congested after one of its packets found the queue above K.
    /// Notices carry n, the number of congested flows. Default: `flow_timeout`. Section 3.1 names
    /// one timeout, 1 ms, also for congested flows.
    pub n_timeout: Option<Duration>,
    /// Shortest time between two notices about a flow at an egress queue. Default: a base
    /// round-trip time of the network.
    pub notice_interval: Option<Duration>,
    /// True if a queue stopped by a PAUSE can also be congested, even if only the PAUSE made it
    /// long. Default true: the paper makes no difference.
    pub notify_while_paused: bool,
    /// Reaction of an edge to congestion of its own uplink.
    pub own_uplinks: OwnUplinks,
    /// Time between two checks of the isolation table for ended flows and unneeded paths. Default:
    /// a base round-trip time of the network.
    pub check_period: Option<Duration>,
    /// Distribution of congested flows over several isolation paths.
    pub spread: Spread,
    /// Time when a flow leaves a path that it may no longer use.
    pub moves: Moves,
}

impl Default for FlbConfig {
    fn default() -> Self {
        FlbConfig {
            flow_timeout: Duration::from_ms(1),
            sample_period: None,
            delay_aging: None,
            stamp: StampPoint::default(),
            delay_of: DelayOf::default(),
            gap_unit: None,
            rerouting: Rerouting::default(),
            ties: Ties::default(),
            isolation: true,
            threshold: FlbThreshold::default(),
            static_threshold: None,
            link_delay: None,
            n_timeout: None,
            notice_interval: None,
            notify_while_paused: true,
            own_uplinks: OwnUplinks::default(),
            check_period: None,
            spread: Spread::default(),
            moves: Moves::default(),
        }
    }
}

impl Options for FlbConfig {
    fn check(&self, scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        diagnostics.positive(Some(self.flow_timeout), "flow_timeout");
        diagnostics.clock(self.sample_period, "sample_period", None);
        diagnostics.clock(self.check_period, "check_period", None);
        diagnostics.positive(self.gap_unit, "gap_unit");
        diagnostics.positive(self.link_delay, "link_delay");
        diagnostics.positive(self.n_timeout, "n_timeout");
        let message =
            format_args!("must be at most flow_timeout, {}, after which queues forget a flow", self.flow_timeout);
        diagnostics.error(self.n_timeout.is_some_and(|timeout| timeout > self.flow_timeout), "n_timeout", message);
        let is_static = self.threshold == FlbThreshold::Static;
        diagnostics.error(
            is_static && self.static_threshold.is_none(),
            "static_threshold",
            "must be set: threshold is static",
        );
        let message = "has no effect: threshold is not static";
        diagnostics.error(!is_static && self.static_threshold.is_some(), "static_threshold", message);
        diagnostics.positive(self.static_threshold, "static_threshold");
        let message = "is not shorter than flow_timeout: a flow is forgotten before its gap counts as one unit, so \
            flows never move to a path with less delay";
        diagnostics.warning(self.gap_unit.is_some_and(|unit| unit >= self.flow_timeout), "gap_unit", message);
        let is_heard = scheme.congestion == "flb-rc" || self.own_uplinks != OwnUplinks::Notify || !self.isolation;
        diagnostics.warning(
            !is_heard,
            "own_uplinks",
            "has no effect: only congestion control flb-rc reacts to the notices",
        );
        diagnostics.error(is_static && self.link_delay.is_some(), "link_delay", "has no effect: threshold is static");
        let default = FlbConfig::default();
        let of_isolation = [
            ("threshold", self.threshold != default.threshold),
            ("link_delay", self.link_delay.is_some()),
            ("n_timeout", self.n_timeout.is_some()),
            ("notice_interval", self.notice_interval.is_some()),
            ("notify_while_paused", self.notify_while_paused != default.notify_while_paused),
            ("own_uplinks", self.own_uplinks != default.own_uplinks),
            ("check_period", self.check_period.is_some()),
            ("spread", self.spread != default.spread),
            ("moves", self.moves != default.moves),
        ];
        for (option, is_set) in of_isolation {
            diagnostics.error(!self.isolation && is_set, option, "has no effect: isolation is false");
        }
        let message = "must be true: congestion control flb-rc needs the notices";
        diagnostics.error(!self.isolation && scheme.congestion == "flb-rc", "isolation", message);
        let (flow_control, facts) = &scheme.flow_control;
        let message = format_args!("has no effect: flow control {flow_control} never pauses a queue");
        diagnostics.warning(!self.notify_while_paused && facts.protocols.is_empty(), "notify_while_paused", message);
        let message = "pyrrha keeps packets in its own queues: flows congested there leave isolation only by timeout";
        diagnostics.warning(self.isolation && *flow_control == "pyrrha", "isolation", message);
        if self.stamp == StampPoint::DepartureAndQueue {
            super::paths::check_queues(scheme, diagnostics);
        }
        let message = "isolates no flow: switch.lossless is empty";
        diagnostics.warning(self.isolation && scheme.lossless.is_empty(), "isolation", message);
    }

    fn applies(&self, shape: &Shape) -> Result<(), String> {
        super::paths::applies("flb", shape)
    }
}

impl LoadBalanceOptions for FlbConfig {
    type Instance = Box<Flb>;

    fn reorders(&self) -> bool {
        true
    }

    fn check_at_switch(&self, site: &Site<'_>, diagnostics: &mut Diagnostics) {
        let is_never = self.static_threshold.is_some_and(|bytes| bytes.get() >= site.buffer);
        let message =
            format_args!("isolates no flow: the threshold is not below the buffer size, {}", Bytes(site.buffer));
        diagnostics.warning(is_never, "static_threshold", message);
        let lacks_bound = self.isolation && self.threshold == FlbThreshold::Adaptive && !site.headroom.has_thresholds;
        let message = "isolates no flow at switches whose buffer policy has no ingress-queue thresholds, which \
            Equation 4 of the FLB paper needs; use threshold = \"static\"";
        diagnostics.warning(lacks_bound, "threshold", message);
    }

    fn build(&self, site: &Site<'_>) -> Box<Flb> {
        Box::new(Flb {
            node: site.node,
            edge: is_edge(site).then(|| Edge::new(self, site)),
            detector: self.isolation.then(|| Detector::new(self, site)),
            own_uplinks: self.own_uplinks,
            stamps_departures: self.stamp != StampPoint::Arrival,
            acks_join: site.shape.lossless_acks,
            hash: FlowHash::new(site.hash_seed, site.node),
        })
    }
}

/// FLB at one switch.
#[derive(Debug, GetSize)]
pub struct Flb {
    node: NodeId,
    /// Edge role, at a switch with hosts.
    edge: Option<Edge>,
    /// `None` without isolation.
    detector: Option<Detector>,
    own_uplinks: OwnUplinks,
    stamps_departures: bool,
    /// True if ACKs wait in queues that can be congested.
    acks_join: bool,
    hash: FlowHash,
}

impl Flb {
    /// Returns true if a packet that joins a queue of `length` bytes may be congested.
    #[inline]
    fn may_be_congested(&self, packet: &PacketContext<'_>, length: u64) -> bool {
        packet.headers().kind == PacketKind::Data
            && self.detector.as_ref().is_some_and(|detector| detector.may_be_congested(length))
    }

    /// Returns true if a packet that departs carries a stamp of this edge.
    #[inline]
    fn is_stamped(&self, packet: &PacketContext<'_>) -> bool {
        self.stamps_departures
            && packet.path_header().is_some()
            && self.edge.as_ref().is_some_and(|edge| edge.measuring.is_to_host(packet.ingress()))
    }

    /// Processes a departure from a congested queue, which now holds `length` bytes.
    #[inline(never)]
    fn on_drained(&mut self, packet: &PacketContext<'_>, length: u64, view: &mut View<'_>) {
        let Some(detector) = &mut self.detector else { return };
        let message = detector.release(packet, length, view);
        message.iter().for_each(|message| self.announce(message, packet.egress, view));
    }

    /// Sends a message about a flow of `egress`. A switch that is the flow's edge processes the
    /// message itself.
    fn announce(&mut self, message: &Message, egress: PortIx, view: &mut View<'_>) {
        if let Some(edge) = self.edge.as_mut().filter(|edge| edge.measuring.is_to_host(message.back.port)) {
            let is_uplink = !edge.measuring.is_to_host(egress);
            if is_uplink && self.own_uplinks == OwnUplinks::Isolate {
                edge.record(message.flow, message.root, message.cnm, view);
            }
            if !edge.informs_senders || is_uplink && self.own_uplinks == OwnUplinks::Ignore {
                return;
            }
        }
        message.send(view);
        let is_clear = matches!(message.cnm, Cnm::Clear { .. });
        view.count(if is_clear { "clear_cnms" } else { "cnms" }, 1);
    }
}

impl PipelineHooks for Flb {
    fn hooks(&self) -> HookSet {
        let (is_edge, detects) = (self.edge.is_some(), self.detector.is_some());
        (HookSet::ENQUEUE | HookSet::NOTICE).only_if(is_edge)
            | (HookSet::DATA_ENQUEUE | HookSet::LINK).only_if(detects)
            | HookSet::DATA_DEPARTURE.only_if(detects || is_edge && self.stamps_departures)
            | HookSet::OTHER_DEPARTURE.only_if(detects && self.acks_join)
    }

    #[inline]
    fn ignores_enqueue(&self, packet: &PacketContext<'_>, queue_bytes: u64) -> bool {
        !self.may_be_congested(packet, queue_bytes)
            && !self.edge.as_ref().is_some_and(|edge| edge.measuring.may_use(packet))
    }

    #[inline]
    fn ignores_departure(&self, packet: &PacketContext<'_>, _queue_bytes: u64) -> bool {
        !self.detector.as_ref().is_some_and(|detector| detector.is_congested(packet)) && !self.is_stamped(packet)
    }

    fn on_enqueue(&mut self, packet: &mut PacketContext<'_>, queue_bytes: u64, view: &mut View<'_>) {
        if let Some(edge) = &mut self.edge {
            edge.measuring.on_enqueue(packet, view);
        }
        if self.may_be_congested(packet, queue_bytes)
            && let Some(detector) = &mut self.detector
            && detector.finds_congested(packet, queue_bytes, view)
        {
            let message = detector.add(packet, view);
            message.iter().for_each(|message| self.announce(message, packet.egress, view));
        }
    }

    fn on_departure(&mut self, packet: &mut PacketContext<'_>, queue_bytes: u64, view: &mut View<'_>) {
        if self.is_stamped(packet) {
            stamp_departure(packet, view.now);
        }
        if self.detector.as_ref().is_some_and(|detector| detector.is_congested(packet)) {
            self.on_drained(packet, queue_bytes, view);
        }
    }

    fn on_notice(&mut self, notice: &Notice, view: &mut View<'_>) -> NoticeAction {
        match &mut self.edge {
            Some(edge) if notice.protocol == FLB && view.paths.first_hop_switch(notice.to) == self.node => {
                edge.record(notice.flow, notice.from, Cnm::of(notice.words), view);
                if edge.informs_senders { NoticeAction::Forward } else { NoticeAction::Consume }
            }
            _ => NoticeAction::Forward,
        }
    }

    fn on_link(&mut self, port: PortIx, is_up: bool, view: &mut View<'_>) {
        if let Some(edge) = self.edge.as_mut().filter(|_| !is_up) {
            edge.lose(port);
            // Packets queued at the port keep waiting; flows take other uplinks at once.
            if !edge.measuring.is_to_host(port) {
                self.on_dead_end(port, view);
            }
        }
    }

    fn on_dead_end(&mut self, port: PortIx, view: &mut View<'_>) {
        let message = self.detector.as_mut().map_or_else(Vec::new, |detector| detector.forget(port, view));
        message.iter().for_each(|message| self.announce(message, port, view));
    }

    fn on_wake(&mut self, view: &mut View<'_>) {
        if let Some(edge) = &mut self.edge {
            edge.on_wake(view);
        }
    }
}

impl LoadBalance for Flb {
    fn choose(&mut self, arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Choice {
        let is_data = arrival.packet.headers().kind == PacketKind::Data;
        let edge = self.edge.as_mut().filter(|edge| is_data && edge.measuring.is_to_host(arrival.packet.ingress()));
        let chosen = edge.and_then(|edge| edge.choose(arrival, view));
        chosen.unwrap_or_else(|| Choice::Candidate(by_hash(self.hash, arrival.key, arrival.candidates, view)))
    }

    fn observe(&self, now: Time, observer: &mut dyn FnMut(LbStat)) {
        self.edge.iter().for_each(|edge| edge.observe(now, observer));
        if let Some(detector) = &self.detector {
            let (flows, queues) = detector.counts();
            observer(LbStat::Count("congested_flows", flows as u64));
            observer(LbStat::Count("congested_queues", queues as u64));
        }
    }
}
