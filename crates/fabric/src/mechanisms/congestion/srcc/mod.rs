//! SRCC, sub-RTT congestion control (Hu et al., IEEE Transactions on Industrial Informatics 2024): a switch tells the sender of a congested flow itself, and
//! only if its packets share an ingress port with packets that a PAUSE would stop for nothing.
//!
//! A queue is long for a flow when it is longer than a threshold that follows from when PFC would act and from how long the notice takes. The notice (CNM)
//! names a rate, at which the sender goes on at once. Between notices an end-to-end congestion control governs, whose own state follows them.

pub mod base;
mod detector;
mod flows;
mod notice;
pub mod reaction;

use self::base::{Base, BaseNotification, BasePoint};
use self::detector::Detector;
use self::reaction::Srcc;
use crate::contract::{
    AnswerPath, CongestionOptions, CongestionPoint, EffectiveValues, Findings, HookSet, Options, PacketContext,
    PipelineHooks, SchemeContext, SenderFacts, Shape, Site, Sizes, View,
};
use crate::frame::Protocol;
use backwater_engine::{Bytes, Duration, Rate};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Whose notices these are.
const SRCC: Protocol = Protocol::named("srcc");

/// Windows of the paper: T is three base round-trip times (Figure 8(b)).
const WINDOW_RTTS: u64 = 3;

/// As many flows through a port should be able to have the rates that notices name.
const FLOWS_TO_REACH: u64 = 100;

/// How the queue length above which a flow is congested follows from what is known (section III-C).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Threshold {
    /// Equation 5 with measured rates: Q_PFC / M - T_c dQ/dt.
    #[default]
    Eq5,
    /// Equation 6, the worst case: Q_PFC / M - T_c C (m - 1).
    Eq6,
    /// A number of bytes: `static_threshold`.
    Static,
}

/// Which gap since the last packet of an uncongested flow means that a congested one shares its ingress port (section III-B).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowTest {
    /// One shorter than T: uncongested traffic is still there. What the discussion of Figure 8(b) presumes.
    #[default]
    Within,
    /// One of T or more, as the text prints it.
    Beyond,
}

/// Which packets count as those of an uncongested flow that a PAUSE of their ingress port would stop for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Uncongested {
    /// Those that went to another egress port than the congested flow. What went to the same one before its queue grew is no victim.
    #[default]
    OtherPorts,
    /// Those to any port: then a flow alone counts as sharing for T after its own queue has become long.
    AnyPort,
}

/// Which M divides Q_PFC (section III-C).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EgressPorts {
    /// Egress ports to which packets have gone from the ingress port within T.
    #[default]
    Active,
    /// All ports of the switch but the ingress port.
    All,
}

/// Which m counts in Equation 6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Flows of which a packet has come to the egress port within `count_window`.
    #[default]
    Flows,
    /// Ingress ports from which one has come within T: each may bring what a link carries, and no more.
    IngressPorts,
}

/// Which rate a notice names (section III-D).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The average of the flows at the egress port, normalised to its rate: C / n, the same for all.
    #[default]
    Average,
    /// That, or the flow's own share of what has come to the port in this `count_window` and the one before, if it is less.
    Share,
}

/// What a sender makes of the rate that a notice names (section III-E).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, GetSize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjustment {
    /// It goes on at that rate if it is faster, and its base goes on from there.
    #[default]
    Lower,
    /// The same, but DCQCN as base recovers to the rate before, as after a CNP.
    Cut,
    /// It goes on at that rate, though it may be slower.
    Set,
}

/// SRCC: switches tell the senders of congested flows that share an ingress port with others (IEEE TII 2024).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SrccConfig {
    /// The congestion control between notices, whose own state follows them. Default `dcqcn`: hosts of the paper react to "CNM or CNP" (section IV). With
    /// `none`, rates grow by `additive_increase`.
    pub base: Base,
    /// How the queue length above which a flow is congested is found. Default `eq5`, which adapts: Equation 6 is below the floor for nearly any m.
    pub threshold: Threshold,
    /// The threshold with `threshold = "static"`; the paper compares 40 % and 60 % of the buffer (Figure 8(a)).
    pub static_threshold: Option<Bytes>,
    /// The least threshold (q_min): equations can come below zero. Default: two full frames.
    pub floor: Option<Bytes>,
    /// Q_PFC, the bytes at which PFC stops what comes in by a port. Default: what the buffer policy says at that moment.
    pub q_pfc: Option<Bytes>,
    /// Which egress ports M counts.
    pub egress_ports: EgressPorts,
    /// What m of Equation 6 counts.
    pub arrivals: Arrivals,
    /// d, the delay of a link: a notice takes T_c = N d over N of them. Default: that of the link by which the packet came.
    pub link_delay: Option<Duration>,
    /// Whether T_c is 2 N d: as much as the notice takes comes in behind it that has been sent before. Default false (Equation 6).
    pub two_way: bool,
    /// Time over which dQ/dt is measured. Default: the longest delay of a link of the switch.
    pub rate_interval: Option<Duration>,
    /// T: how long ago the last packet of an uncongested flow may have come. Default: three base round-trip times of the network (Figure 8(b)).
    pub window: Option<Duration>,
    /// Which gap means that an ingress port is shared.
    pub window_test: WindowTest,
    /// Which packets are those of uncongested flows.
    pub uncongested: Uncongested,
    /// Flows count as those of an egress port for so long after a packet. Default: `window`.
    pub count_window: Option<Duration>,
    /// Which rate a notice names.
    pub target: Target,
    /// Shortest time between two notices about a flow at an egress port. Default: N d.
    pub notice_interval: Option<Duration>,
    /// Whether a queue whose own port is stopped by a PAUSE counts as well, though it may be long for that alone. Default true: the paper makes no difference.
    pub notify_while_paused: bool,
    /// What a sender makes of the rate that a notice names. Default `lower`: notices that raise rates would undo what the base does to drain a long queue.
    pub adjustment: Adjustment,
    /// With the base `none`: by how much a rate grows for every T in which no notice came. Default: an eighth of the rate that the last notice named.
    pub additive_increase: Option<Rate>,
}

impl Default for SrccConfig {
    fn default() -> Self {
        SrccConfig {
            base: Base::default(),
            threshold: Threshold::default(),
            static_threshold: None,
            floor: None,
            q_pfc: None,
            egress_ports: EgressPorts::default(),
            arrivals: Arrivals::default(),
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
    fn check(&self, beside: &SchemeContext<'_>, findings: &mut Findings) {
        findings.within("base", |findings| self.base.options().check(beside, findings));

        findings.error(beside.lossless.is_empty(), "", "no class is lossless: there is nothing for SRCC to protect");
        let is_static = self.threshold == Threshold::Static;
        findings.error(
            is_static && self.static_threshold.is_none(),
            "static_threshold",
            "must be set: threshold is static",
        );
        let unused = |threshold| format!("has no effect: threshold is not {threshold}");
        findings.error(!is_static && self.static_threshold.is_some(), "static_threshold", unused("static"));
        let without_equation = [
            ("floor", self.floor.is_some()),
            ("q_pfc", self.q_pfc.is_some()),
            ("egress_ports", self.egress_ports != EgressPorts::default()),
            ("two_way", self.two_way),
        ];
        for (option, is_set) in without_equation {
            findings.error(is_static && is_set, option, "has no effect: threshold is static");
        }
        let is_idle = self.threshold != Threshold::Eq5 && self.rate_interval.is_some();
        findings.error(is_idle, "rate_interval", unused("eq5"));
        let is_idle = self.threshold != Threshold::Eq6 && self.arrivals != Arrivals::default();
        findings.error(is_idle, "arrivals", unused("eq6"));
        let is_idle = !self.uses_delay() && self.link_delay.is_some();
        findings.error(is_idle, "link_delay", "has no effect: threshold is static, and notice_interval is set");
        let (flow_control, facts) = &beside.flow_control;
        let message = format_args!("has no effect under flow control {flow_control}: no PAUSE stops a queue");
        findings.warning(!self.notify_while_paused && facts.protocols.is_empty(), "notify_while_paused", message);
        let is_idle = !matches!(self.base, Base::None(_)) && self.additive_increase.is_some();
        findings.error(is_idle, "additive_increase", "has no effect: the base is not none");
        let is_idle = !matches!(self.base, Base::Dcqcn(_)) && self.adjustment == Adjustment::Cut;
        findings.error(is_idle, "adjustment", "has no effect: the base is not dcqcn");
        for (option, bytes) in
            [("static_threshold", self.static_threshold), ("floor", self.floor), ("q_pfc", self.q_pfc)]
        {
            findings.positive(bytes, option);
        }
        for (option, time) in [
            ("window", self.window),
            ("count_window", self.count_window),
            ("rate_interval", self.rate_interval),
            ("link_delay", self.link_delay),
        ] {
            findings.positive(time, option);
        }
        findings.positive(self.additive_increase, "additive_increase");
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

    fn sends_cnps(&self, line_rate: Rate) -> bool {
        self.base.options().sends_cnps(line_rate)
    }

    fn window(&self, sender: &SenderFacts) -> u64 {
        self.base.options().window(sender)
    }

    fn check_at(&self, sender: &SenderFacts, findings: &mut Findings) {
        findings.within("base", |findings| self.base.options().check_at(sender, findings));
        if let Some(lowest) = self.base.lowest_rate(sender) {
            let flows = sender.line_rate.bps() / lowest.bps().max(1);
            let message = format_args!(
                "goes no lower than {lowest}: more than {flows} flows through a port of {} are faster than notices say; lower base.min_rate",
                sender.line_rate
            );
            findings.warning(flows < FLOWS_TO_REACH, "base", message);
        }
        let option = if self.count_window.is_some() { "count_window" } else { "window" };
        let message = format_args!(
            "is shorter than the longest base round-trip time, {}: flows that wait for an answer count as gone",
            sender.base_rtt
        );
        findings.warning(self.count_window(self.window(sender.base_rtt)) < sender.base_rtt, option, message);
    }

    fn check_at_switch(&self, site: &Site<'_>, findings: &mut Findings) {
        findings.within("base", |findings| self.base.options().check_at_switch(site, findings));
        for (option, bytes) in
            [("static_threshold", self.static_threshold), ("floor", self.floor), ("q_pfc", self.q_pfc)]
        {
            let message = format_args!("must be at most the buffer, {}", Bytes(site.buffer));
            findings.error(bytes.is_some_and(|bytes| bytes.get() > site.buffer), option, message);
        }
        let lacks_bound = self.threshold != Threshold::Static && self.q_pfc.is_none() && !site.headroom.has_thresholds;
        let message = "must be set: there is a buffer policy without thresholds of its own for ingress queues";
        findings.error(lacks_bound, "q_pfc", message);
    }

    fn effective_values(&self, sender: &SenderFacts) -> EffectiveValues {
        let window = self.window(sender.base_rtt);
        let is_static = self.threshold == Threshold::Static;
        let is_eq5 = self.threshold == Threshold::Eq5;
        let is_alone = matches!(self.base, Base::None(_));
        let own = [
            ("window", self.window.is_none(), json!(window)),
            ("count_window", self.count_window.is_none(), json!(self.count_window(window))),
            ("floor", self.floor.is_none() && !is_static, json!(Bytes(self.floor(&sender.sizes)))),
            ("q_pfc", self.q_pfc.is_none() && !is_static, json!("what the buffer policy says")),
            (
                "link_delay",
                self.link_delay.is_none() && self.uses_delay(),
                json!("that of the link by which a packet came"),
            ),
            ("notice_interval", self.notice_interval.is_none(), json!("link_delay for each link to the sender")),
            (
                "rate_interval",
                self.rate_interval.is_none() && is_eq5,
                json!("the longest delay of a link of the switch"),
            ),
            (
                "additive_increase",
                self.additive_increase.is_none() && is_alone,
                json!("an eighth of the rate that a notice names"),
            ),
        ];
        let own = own.into_iter().filter(|(_, applies, _)| *applies).map(|(key, _, value)| (key.to_owned(), value));
        of_base(self.base.options().effective_values(sender)).chain(own).collect()
    }

    fn effective_values_at_switch(&self, rate: Rate) -> EffectiveValues {
        of_base(self.base.options().effective_values_at_switch(rate)).collect()
    }
}

/// What the options of the base come to, under their names among those of SRCC.
fn of_base(effective_values: EffectiveValues) -> impl Iterator<Item = (String, Value)> {
    effective_values.into_iter().map(|(key, value)| (format!("base.{key}"), value))
}

impl SrccConfig {
    /// Returns whether switches keep the time of the last packet between each pair of ports.
    fn keeps_pairs(&self) -> bool {
        let looks = self.egress_ports == EgressPorts::Active || self.arrivals == Arrivals::IngressPorts;
        self.threshold != Threshold::Static && looks
    }

    /// T in a network of this base round-trip time.
    fn window(&self, base_rtt: Duration) -> Duration {
        self.window.unwrap_or(Duration::from_ps(base_rtt.ps().saturating_mul(WINDOW_RTTS)))
    }

    /// The least threshold.
    fn floor(&self, sizes: &Sizes) -> u64 {
        self.floor.map_or(2 * sizes.largest_charge(), Bytes::get)
    }

    /// Whether it matters how long a notice takes to the sender.
    fn uses_delay(&self) -> bool {
        self.threshold != Threshold::Static || self.notice_interval.is_none()
    }

    /// How long a flow counts after a packet.
    fn count_window(&self, window: Duration) -> Duration {
        self.count_window.unwrap_or(window)
    }
}

/// The congestion point of one switch: that of the base, and the detector.
#[derive(Debug, GetSize)]
pub struct SrccPoint {
    /// Its part is done as packets leave.
    base: BasePoint,
    /// Its part is done as they come.
    detector: Detector,
}

impl CongestionPoint for SrccPoint {}

impl PipelineHooks for SrccPoint {
    fn hooks(&self) -> HookSet {
        self.base.hooks() | HookSet::DATA_ENQUEUE
    }

    fn on_enqueue(&mut self, packet: &mut PacketContext<'_>, queue_bytes: u64, view: &mut View<'_>) {
        self.detector.on_enqueue(packet, queue_bytes, view);
    }

    fn on_departure(&mut self, packet: &mut PacketContext<'_>, queue_bytes: u64, view: &mut View<'_>) {
        self.base.on_departure(packet, queue_bytes, view);
    }
}
