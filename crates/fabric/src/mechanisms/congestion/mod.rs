//! Slot *congestion control*: congestion point (switch), notification point (receiver), reaction point (sender).

pub mod dcqcn;
pub mod ecn;
pub mod hpcc;
pub mod none;
pub mod power_tcp;
pub mod telemetry;
pub mod timely;

#[allow(unused_imports, reason = "for the methods that enum_dispatch generates")]
use crate::contract::signatures::*;
use crate::contract::{CongestionPoint, NotificationPoint, ReactionPoint, Site};
use crate::mechanisms::registry::registry;
use backwater_engine::{Duration, Rate};
use enum_dispatch::enum_dispatch;
use power_tcp::Variant;
use std::fmt::Debug;
use telemetry::{RateCode, TelemetryStamper};

registry! {
    /// End-to-end congestion control.
    pub enum CongestionConfig, factory CongestionFactory;
    /// None: every flow sends at line rate.
    None = "none": none::NoneConfig;
    /// DCQCN: ECN marks, CNPs, rate control at the sender (SIGCOMM 2015).
    Dcqcn = "dcqcn": dcqcn::DcqcnConfig;
    /// HPCC: in-band telemetry and window control (SIGCOMM 2019).
    Hpcc = "hpcc": hpcc::HpccConfig;
    /// TIMELY: rate control by the gradient of round-trip times (SIGCOMM 2015).
    Timely = "timely": timely::TimelyConfig;
    /// PowerTCP: window control by the product of queue length and arrival rate, from telemetry or from delays (NSDI 2022).
    PowerTcp = "power-tcp": power_tcp::PowerTcpConfig;
}

/// Any [`CongestionPoint`]: built-ins inline, others boxed.
#[enum_dispatch(CongestionPoint)]
#[allow(missing_docs, clippy::large_enum_variant, reason = "state is kept inline, not boxed")]
pub enum AnyCongestionPoint {
    None(none::NoCongestionControl),
    Ecn(ecn::EcnMarker),
    Telemetry(telemetry::TelemetryStamper),
    Custom(Box<dyn CongestionPoint>),
}

/// Any [`NotificationPoint`]: built-ins inline, others boxed.
#[enum_dispatch(NotificationPoint)]
#[allow(missing_docs, clippy::large_enum_variant, reason = "state is kept inline, not boxed")]
pub enum AnyNotificationPoint {
    None(none::NoCongestionControl),
    Cnp(dcqcn::CnpSender),
    Custom(Box<dyn NotificationPoint>),
}

/// Any [`ReactionPoint`]: built-ins inline, others boxed.
#[enum_dispatch(ReactionPoint)]
#[allow(missing_docs, clippy::large_enum_variant, reason = "state is kept inline, not boxed")]
pub enum AnyReactionPoint {
    LineRate(none::LineRate),
    Dcqcn(dcqcn::Dcqcn),
    Hpcc(hpcc::Hpcc),
    Timely(timely::Timely),
    PowerTcp(power_tcp::PowerTcp),
    Custom(Box<dyn ReactionPoint>),
}

/// Makes a congestion control of another crate.
pub trait CongestionFactory: Debug + Send + Sync {
    /// What the switch at `site` does.
    fn congestion_point(&self, site: &Site<'_>) -> Box<dyn CongestionPoint>;
    /// What a flow's receiver does.
    fn notification_point(&self) -> Box<dyn NotificationPoint>;
    /// What a flow's sender does.
    fn reaction_point(&self, sender: &Sender) -> Box<dyn ReactionPoint>;
    /// Bytes of in-band headers on data packets, echoed on their ACKs.
    fn telemetry_bytes(&self) -> u32 {
        0
    }
}

/// What a reaction point may know about its flow.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    /// Rate of the port that the flow leaves its host through.
    pub line_rate: Rate,
    /// Longest base round-trip time of any pair of hosts.
    pub base_rtt: Duration,
}

impl Sender {
    /// Bytes that the sender's line carries in the longest base round-trip time.
    pub fn bdp(&self) -> u64 {
        self.line_rate.bytes_in(self.base_rtt)
    }
}

/// The window that is to `full` as `rate` is to `line_rate`; at least a byte, so that a packet may go.
fn window_at(rate: Rate, line_rate: Rate, full: u64) -> u64 {
    (u128::from(full) * u128::from(rate.bps()) / u128::from(line_rate.bps())).max(1) as u64
}

impl CongestionConfig {
    /// What the switch at `site` does.
    pub fn congestion_point(&self, site: &Site<'_>) -> AnyCongestionPoint {
        match self {
            CongestionConfig::None(_) | CongestionConfig::Timely(_) => none::NoCongestionControl.into(),
            CongestionConfig::Dcqcn(config) => ecn::EcnMarker::new(&config.ecn, site).into(),
            CongestionConfig::Hpcc(config) => TelemetryStamper::new(config.rate_code).into(),
            CongestionConfig::PowerTcp(config) => match config.variant {
                Variant::Telemetry => TelemetryStamper::new(RateCode::Exact).into(),
                Variant::Delay => none::NoCongestionControl.into(),
            },
            CongestionConfig::Custom(factory) => factory.congestion_point(site).into(),
        }
    }

    /// What a flow's receiver does, whose port has rate `line_rate`.
    pub fn notification_point(&self, line_rate: Rate) -> AnyNotificationPoint {
        match self {
            CongestionConfig::None(_)
            | CongestionConfig::Hpcc(_)
            | CongestionConfig::Timely(_)
            | CongestionConfig::PowerTcp(_) => none::NoCongestionControl.into(),
            CongestionConfig::Dcqcn(config) => dcqcn::CnpSender::new(&config.parameters(line_rate)).into(),
            CongestionConfig::Custom(factory) => factory.notification_point().into(),
        }
    }

    /// What a flow's sender does.
    pub fn reaction_point(&self, sender: &Sender) -> AnyReactionPoint {
        match self {
            CongestionConfig::None(config) => none::LineRate::new(config, sender).into(),
            CongestionConfig::Dcqcn(config) => dcqcn::Dcqcn::new(config, sender).into(),
            CongestionConfig::Hpcc(config) => hpcc::Hpcc::new(config, sender).into(),
            CongestionConfig::Timely(config) => timely::Timely::new(config, sender).into(),
            CongestionConfig::PowerTcp(config) => power_tcp::PowerTcp::new(config, sender).into(),
            CongestionConfig::Custom(factory) => factory.reaction_point(sender).into(),
        }
    }

    /// Bytes of in-band headers on data packets, echoed on their ACKs.
    pub fn telemetry_bytes(&self) -> u32 {
        match self {
            CongestionConfig::None(_) | CongestionConfig::Dcqcn(_) | CongestionConfig::Timely(_) => 0,
            CongestionConfig::Hpcc(_) => telemetry::TELEMETRY_BYTES,
            CongestionConfig::PowerTcp(config) => match config.variant {
                Variant::Telemetry => telemetry::TELEMETRY_BYTES,
                Variant::Delay => 0,
            },
            CongestionConfig::Custom(factory) => factory.telemetry_bytes(),
        }
    }
}
