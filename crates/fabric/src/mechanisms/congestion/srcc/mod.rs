//! SRCC, sub-RTT congestion control (Hu et al., IEEE Transactions on Industrial Informatics 2024):
//! a switch notifies the sender of a congested flow directly. The switch does so only if the flow's
//! packets share an ingress port with packets that would be victims of a PAUSE.
//!
//! A flow is congested if its queue is longer than a threshold. The threshold depends on the queue
//! length at which PFC acts and on the delay of the notice. The notice (CNM) names a rate, and the
//! sender adopts that rate at once. Between notices, an end-to-end congestion control governs the
//! flow, and the state of this control follows the notices.

pub mod base;
mod detector;
mod flows;
mod notice;
pub mod reaction;

use self::base::{Base, BaseNotification, BasePoint};
use self::detector::Detector;
use self::reaction::Srcc;
use crate::contract::{
    AnswerPath, CongestionOptions, CongestionPoint, Diagnostics, EffectiveValues, HookSet, Options, PacketContext,
    PipelineHooks, SchemeContext, SenderFacts, Shape, Site, Sizes, View,
};
use crate::frame::Protocol;
use backwater_engine::{Bytes, Duration, Rate};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Protocol of SRCC's notices.
const SRCC: Protocol = Protocol::named("srcc");

/// Default of T in base round-trip times: three (Figure 8(b)).
const WINDOW_RTTS: u64 = 3;

/// Number of flows through a port that the rates of notices should support.
const FLOWS_TO_REACH: u64 = 100;

/// Computation of the queue length above which a flow is congested (section III-C).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SrccThreshold {
    /// Equation 5 with measured rates: Q_PFC / M - T_c dQ/dt.
    #[default]
    Eq5,
    /// Equation 6, the worst case: Q_PFC / M - T_c C (m - 1).
    Eq6,
    /// A fixed number of bytes: `static_threshold`.
    Static,
}

/// Test of the time since the last packet of an uncongested flow: it decides if a congested flow
/// shares its ingress port (section III-B).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowTest {
    /// The time is shorter than T, so uncongested traffic is still present. The discussion of
    /// Figure 8(b) presumes this test.
    #[default]
    Within,
    /// The time is T or longer, as printed in the paper.
    Beyond,
}

/// Packets that count as uncongested: those that a PAUSE of their ingress port would stop
/// needlessly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Uncongested {
    /// Packets to another egress port than the congested flow. A packet that went to the same port
    /// before the port's queue grew is no victim.
    #[default]
    OtherPorts,
    /// Packets to any port. Even a flow alone on an ingress port then counts as sharing this port,
    /// for T after the flow's own queue has become long.
    AnyPort,
}

/// Egress ports that count in M, by which Q_PFC is divided (section III-C).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EgressPorts {
    /// Egress ports that received packets from the ingress port within T.
    #[default]
    Active,
    /// All ports of the switch except the ingress port.
    All,
}

/// Count that Equation 6 uses as m: flows or ingress ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalCount {
    /// Flows with a packet to the egress port within `count_window`.
    #[default]
    Flows,
    /// Ingress ports with a packet to the egress port within T. At each of them, packets arrive at
    /// most at the rate of its link.
    IngressPorts,
}

/// Rate that a notice names (section III-D).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// An equal share C / n for each of the n flows at the egress port, whose rate is C.
    #[default]
    Average,
    /// The lesser of C / n and a share of C: the flow's share of the bytes that arrived for the
    /// port in the current and the previous `count_window`.
    Share,
}

/// Effect of the named rate at a sender (section III-E).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, GetSize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjustment {
    /// A faster sender adopts the rate, and the sender's base continues from that rate.
    #[default]
    Lower,
    /// As `lower`, but a base DCQCN then recovers to the rate before the notice, as after a CNP.
    Cut,
    /// Every sender adopts the rate, even if the sender is slower.
    Set,
}

/// SRCC: switches notify senders of congested flows that share an ingress port with other flows
/// (IEEE TII 2024).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SrccConfig {
    /// Congestion control between notices. After a notice that changes the rate, this control
    /// continues from the new rate. Default `dcqcn`: the paper's hosts react to "CNM or CNP"
    /// (section IV). With `none`, rates grow by `additive_increase`.
    pub base: Base,
    /// Computation of the queue length above which a flow is congested. Default `eq5`, which adapts
    /// to the traffic: Equation 6 gives less than `floor` for nearly any number m of flows.
    pub threshold: SrccThreshold,
    /// Threshold with `threshold = "static"`; the paper compares 40 % and 60 % of the buffer
    /// (Figure 8(a)).
    pub static_threshold: Option<Bytes>,
    /// Lowest threshold (q_min): the equations can give less than zero. Default: two full frames.
    pub floor: Option<Bytes>,
    /// Q_PFC, the bytes of an ingress queue at which PFC acts. Default: the buffer policy's
    /// threshold at the moment of the test.
    pub q_pfc: Option<Bytes>,
    /// Egress ports that count in M, by which Q_PFC is divided.
    pub egress_ports: EgressPorts,
    /// Count that Equation 6 uses as m, the number of simultaneous arrivals.
    pub arrivals: ArrivalCount,
    /// Delay d of a link. A notice takes T_c = N d over the N links to the sender. Default: the
    /// delay of the packet's ingress link.
    pub link_delay: Option<Duration>,
    /// True if T_c is 2 N d: packets sent before the notice arrives still take N d to the switch.
    /// Default false (Equation 6).
    pub two_way: bool,
    /// Time over which dQ/dt is measured. Default: the longest link delay of the switch.
    pub rate_interval: Option<Duration>,
    /// T, the time with which `window_test` compares the time since the last packet of an
    /// uncongested flow. Default: three base round-trip times of the network (Figure 8(b)).
    pub window: Option<Duration>,
    /// Test that decides if an ingress port is shared.
    pub window_test: WindowTest,
    /// Packets that count as uncongested.
    pub uncongested: Uncongested,
    /// Time after a packet during which its flow counts among those of the egress port (m and n).
    /// Default: `window`.
    pub count_window: Option<Duration>,
    /// Rate that a notice names.
    pub target: Target,
    /// Shortest time between two notices about a flow at an egress port. Default: N d, the time of
    /// a notice to the sender.
    pub notice_interval: Option<Duration>,
    /// True if a queue stopped by a PAUSE can also be congested, even if only the PAUSE made it
    /// long. Default true: the paper makes no difference.
    pub notify_while_paused: bool,
    /// Effect of the named rate at a sender. Default `lower`: a notice that raised a rate would
    /// undo the reaction of `base` to a long queue.
    pub adjustment: Adjustment,
    /// With the base `none`: increase of the rate for every T without a notice. Default: an eighth
    /// of the rate in the last notice.
    pub additive_increase: Option<Rate>,
}

impl Default for SrccConfig {
    fn default() -> Self {
        SrccConfig {
            base: Base::default(),
            threshold: SrccThreshold::default(),
            static_threshold: None,
            floor: None,
            q_pfc: None,
            egress_ports: EgressPorts::default(),
            arrivals: ArrivalCount::default(),
            link_delay: None,
            two_way: false,
            rate_interval: None,
            window: None,
            window_test: WindowTest::default(),
            uncongested: Uncongested::default(),
            count_window: None,
            target: Target::default(),
            notice_interval: None,
            notify_while_paused: true,
            adjustment: Adjustment::default(),
            additive_increase: None,
        }
    }
}

impl Options for SrccConfig {
    fn check(&self, scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        diagnostics.within("base", |diagnostics| self.base.options().check(scheme, diagnostics));

        diagnostics.error(
            scheme.lossless.is_empty(),
            "",
            "srcc protects lossless classes, but switch.lossless is empty",
        );
        let is_static = self.threshold == SrccThreshold::Static;
        diagnostics.error(
            is_static && self.static_threshold.is_none(),
            "static_threshold",
            "must be set: threshold is static",
        );
        let unused = |threshold| format!("has no effect: threshold is not {threshold}");
        diagnostics.error(!is_static && self.static_threshold.is_some(), "static_threshold", unused("static"));
        let without_equation = [
            ("floor", self.floor.is_some()),
            ("q_pfc", self.q_pfc.is_some()),
            ("egress_ports", self.egress_ports != EgressPorts::default()),
            ("two_way", self.two_way),
        ];
        for (option, is_set) in without_equation {
            diagnostics.error(is_static && is_set, option, "has no effect: threshold is static");
        }
        let is_idle = self.threshold != SrccThreshold::Eq5 && self.rate_interval.is_some();
        diagnostics.error(is_idle, "rate_interval", unused("eq5"));
        let is_idle = self.threshold != SrccThreshold::Eq6 && self.arrivals != ArrivalCount::default();
        diagnostics.error(is_idle, "arrivals", unused("eq6"));
        let is_idle = !self.uses_delay() && self.link_delay.is_some();
        diagnostics.error(is_idle, "link_delay", "has no effect: threshold is static, and notice_interval is set");
        let (flow_control, facts) = &scheme.flow_control;
        let message = format_args!("has no effect: flow control {flow_control} never pauses a queue");
        diagnostics.warning(!self.notify_while_paused && facts.protocols.is_empty(), "notify_while_paused", message);
        let is_idle = !matches!(self.base, Base::None(_)) && self.additive_increase.is_some();
        diagnostics.error(is_idle, "additive_increase", "has no effect: base.kind is not \"none\"");
        let is_idle = !matches!(self.base, Base::Dcqcn(_)) && self.adjustment == Adjustment::Cut;
        diagnostics.error(is_idle, "adjustment", "has no effect: base.kind is not \"dcqcn\"");
        for (option, bytes) in
            [("static_threshold", self.static_threshold), ("floor", self.floor), ("q_pfc", self.q_pfc)]
        {
            diagnostics.positive(bytes, option);
        }
        for (option, time) in [
            ("window", self.window),
            ("count_window", self.count_window),
            ("rate_interval", self.rate_interval),
            ("link_delay", self.link_delay),
        ] {
            diagnostics.positive(time, option);
        }
        diagnostics.positive(self.additive_increase, "additive_increase");
    }

    fn applies(&self, shape: &Shape) -> Result<(), String> {
        if self.keeps_pairs() {
            shape.few_ports("srcc")?;
        }
        self.base.options().applies(shape)
    }

    fn profile(&self, option: &str) -> Option<Value> {
        self.base.options().profile(option.strip_prefix("base.")?)
    }
}

impl CongestionOptions for SrccConfig {
    type Point = Box<SrccPoint>;
    type Notification = BaseNotification;
    type Reaction = Box<Srcc>;

    fn point(&self, site: &Site<'_>) -> Box<SrccPoint> {
        Box::new(SrccPoint { base: self.base.point(site), detector: Detector::new(self, site) })
    }

    fn notification(&self, line_rate: Rate) -> BaseNotification {
        self.base.notification(line_rate)
    }

    fn reaction(&self, sender: &SenderFacts) -> Box<Srcc> {
        Box::new(Srcc::new(self, sender))
    }

    fn telemetry_bytes(&self) -> u32 {
        self.base.options().telemetry_bytes()
    }

    fn notice_protocol(&self) -> Option<Protocol> {
        Some(SRCC)
    }

    fn needs_trails(&self) -> bool {
        true
    }

    fn chooses_paths(&self) -> bool {
        self.base.options().chooses_paths()
    }

    fn answer_path(&self) -> Option<AnswerPath> {
        self.base.options().answer_path()
    }

    fn needs_sender_timers(&self) -> bool {
        self.base.options().needs_sender_timers()
    }

    fn needs_receiver_timers(&self) -> bool {
        self.base.options().needs_receiver_timers()
    }

    fn needs_hops(&self) -> bool {
        self.base.options().needs_hops()
    }

    fn needs_ack_times(&self) -> bool {
        self.base.options().needs_ack_times()
    }

    fn sends_cnps(&self, line_rate: Rate) -> bool {
        self.base.options().sends_cnps(line_rate)
    }

    fn window(&self, sender: &SenderFacts) -> u64 {
        self.base.options().window(sender)
    }

    fn check_at(&self, sender: &SenderFacts, diagnostics: &mut Diagnostics) {
        diagnostics.within("base", |diagnostics| self.base.options().check_at(sender, diagnostics));
        if let Some(lowest) = self.base.lowest_rate(sender) {
            let flows = sender.line_rate.bps() / lowest.bps().max(1);
            let message = format_args!(
                "cannot lower rates below {lowest}, but with more than {flows} flows through one {} port, notices name \
                    lower rates; lower base.min_rate",
                sender.line_rate
            );
            diagnostics.warning(flows < FLOWS_TO_REACH, "base", message);
        }
        let option = if self.count_window.is_some() { "count_window" } else { "window" };
        let message = format_args!(
            "is shorter than the longest base round-trip time, {}: a flow that waits for an ACK for longer than the \
                window is not counted",
            sender.base_rtt
        );
        diagnostics.warning(self.count_window(self.window(sender.base_rtt)) < sender.base_rtt, option, message);
    }

    fn check_at_switch(&self, site: &Site<'_>, diagnostics: &mut Diagnostics) {
        diagnostics.within("base", |diagnostics| self.base.options().check_at_switch(site, diagnostics));
        for (option, bytes) in
            [("static_threshold", self.static_threshold), ("floor", self.floor), ("q_pfc", self.q_pfc)]
        {
            let message = format_args!("must be at most the buffer size, {}", Bytes(site.buffer));
            diagnostics.error(bytes.is_some_and(|bytes| bytes.get() > site.buffer), option, message);
        }
        let lacks_bound =
            self.threshold != SrccThreshold::Static && self.q_pfc.is_none() && !site.headroom.has_thresholds;
        let message = "must be set: a switch has a buffer policy without ingress-queue thresholds";
        diagnostics.error(lacks_bound, "q_pfc", message);
    }

    fn effective_values(&self, sender: &SenderFacts) -> EffectiveValues {
        let window = self.window(sender.base_rtt);
        let is_static = self.threshold == SrccThreshold::Static;
        let is_eq5 = self.threshold == SrccThreshold::Eq5;
        let is_alone = matches!(self.base, Base::None(_));
        let own = [
            ("window", self.window.is_none(), json!(window)),
            ("count_window", self.count_window.is_none(), json!(self.count_window(window))),
            ("floor", self.floor.is_none() && !is_static, json!(Bytes(self.floor(&sender.sizes)))),
            ("q_pfc", self.q_pfc.is_none() && !is_static, json!("the buffer policy's threshold")),
            ("link_delay", self.link_delay.is_none() && self.uses_delay(), json!("delay of the packet's ingress link")),
            (
                "notice_interval",
                self.notice_interval.is_none(),
                json!("link_delay times the number of links to the sender"),
            ),
            ("rate_interval", self.rate_interval.is_none() && is_eq5, json!("the longest link delay of the switch")),
            (
                "additive_increase",
                self.additive_increase.is_none() && is_alone,
                json!("1/8 of the rate in the last notice"),
            ),
        ];
        let own = own.into_iter().filter(|(_, applies, _)| *applies).map(|(key, _, value)| (key.to_owned(), value));
        of_base(self.base.options().effective_values(sender)).chain(own).collect()
    }

    fn effective_values_at_switch(&self, rate: Rate) -> EffectiveValues {
        of_base(self.base.options().effective_values_at_switch(rate)).collect()
    }
}

/// Returns the effective values of the base, prefixed for SRCC's options.
fn of_base(effective_values: EffectiveValues) -> impl Iterator<Item = (String, Value)> {
    effective_values.into_iter().map(|(key, value)| (format!("base.{key}"), value))
}

impl SrccConfig {
    /// Returns true if switches keep the time of the last packet between each pair of ports.
    fn keeps_pairs(&self) -> bool {
        let looks = self.egress_ports == EgressPorts::Active || self.arrivals == ArrivalCount::IngressPorts;
        self.threshold != SrccThreshold::Static && looks
    }

    /// Returns T for this base round-trip time.
    fn window(&self, base_rtt: Duration) -> Duration {
        self.window.unwrap_or(Duration::from_ps(base_rtt.ps().saturating_mul(WINDOW_RTTS)))
    }

    /// Returns the lowest threshold.
    fn floor(&self, sizes: &Sizes) -> u64 {
        self.floor.map_or(2 * sizes.largest_charge(), Bytes::get)
    }

    /// Returns true if the delay of a notice matters.
    fn uses_delay(&self) -> bool {
        self.threshold != SrccThreshold::Static || self.notice_interval.is_none()
    }

    /// Returns the time after a packet during which its flow counts.
    fn count_window(&self, window: Duration) -> Duration {
        self.count_window.unwrap_or(window)
    }
}

/// Congestion point of one switch: the base's congestion point, and the detector.
#[derive(Debug, GetSize)]
pub struct SrccPoint {
    /// Acts on departing packets.
    base: BasePoint,
    /// Acts on arriving packets.
    detector: Detector,
}

impl CongestionPoint for SrccPoint {}

impl PipelineHooks for SrccPoint {
    fn hooks(&self) -> HookSet {
        self.base.hooks() | HookSet::DATA_ENQUEUE
    }

    #[inline]
    fn ignores_departure(&self, packet: &PacketContext<'_>, queue_bytes: u64) -> bool {
        self.base.ignores_departure(packet, queue_bytes)
    }

    fn on_enqueue(&mut self, packet: &mut PacketContext<'_>, queue_bytes: u64, view: &mut View<'_>) {
        self.detector.on_enqueue(packet, queue_bytes, view);
    }

    fn on_departure(&mut self, packet: &mut PacketContext<'_>, queue_bytes: u64, view: &mut View<'_>) {
        self.base.on_departure(packet, queue_bytes, view);
    }
}
