//! Congestion controls that can govern a flow between notices.

use crate::contract::signatures::*;
use crate::mechanisms::congestion::dcqcn::{CnpSender, Dcqcn, DcqcnConfig};
use crate::mechanisms::congestion::ecn::EcnMarker;
use crate::mechanisms::congestion::hpcc::{Hpcc, HpccConfig};
use crate::mechanisms::congestion::none::{LineRate, NoCongestionControl, NoneConfig};
use crate::mechanisms::congestion::swift::{Swift, SwiftConfig};
use crate::mechanisms::congestion::telemetry::TelemetryStamper;
use ambassador::Delegate;
#[allow(unused_imports, reason = "macros generate methods that use them")]
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Congestion control between notices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[allow(missing_docs, reason = "documented by their options")]
pub enum Base {
    Dcqcn(DcqcnConfig),
    Hpcc(HpccConfig),
    Swift(SwiftConfig),
    None(NoneConfig),
}

impl Default for Base {
    fn default() -> Self {
        Base::Dcqcn(DcqcnConfig::default())
    }
}

impl Base {
    /// Returns the options by their common trait.
    pub(super) fn options(&self) -> &dyn CongestionFactory {
        match self {
            Base::Dcqcn(options) => options,
            Base::Hpcc(options) => options,
            Base::Swift(options) => options,
            Base::None(options) => options,
        }
    }

    /// Returns the lowest rate of a flow, if the base has one.
    pub(super) fn lowest_rate(&self, sender: &SenderFacts) -> Option<Rate> {
        match self {
            Base::Dcqcn(options) => Some(options.parameters(sender.line_rate).min_rate),
            Base::Hpcc(options) => Some(options.min_rate(sender)),
            Base::Swift(_) | Base::None(_) => None,
        }
    }

    pub(super) fn point(&self, site: &Site<'_>) -> BasePoint {
        match self {
            Base::Dcqcn(options) => BasePoint::Ecn(options.point(site)),
            Base::Hpcc(options) => BasePoint::Telemetry(options.point(site)),
            Base::Swift(_) | Base::None(_) => BasePoint::None(NoCongestionControl),
        }
    }

    pub(super) fn notification(&self, line_rate: Rate) -> BaseNotification {
        match self {
            Base::Dcqcn(options) => BaseNotification::Cnp(options.notification(line_rate)),
            Base::Hpcc(_) | Base::Swift(_) | Base::None(_) => BaseNotification::None(NoCongestionControl),
        }
    }

    pub(super) fn reaction(&self, sender: &SenderFacts) -> BaseReaction {
        match self {
            Base::Dcqcn(options) => BaseReaction::Dcqcn(options.reaction(sender)),
            Base::Hpcc(options) => BaseReaction::Hpcc(options.reaction(sender)),
            Base::Swift(options) => BaseReaction::Swift(options.reaction(sender)),
            Base::None(options) => BaseReaction::None(options.reaction(sender)),
        }
    }
}

/// Congestion point of a base.
#[derive(Debug, Delegate, GetSize)]
#[delegate(PipelineHooks, inline = "always")]
pub enum BasePoint {
    /// DCQCN's ECN marker.
    Ecn(EcnMarker),
    /// HPCC's telemetry stamper.
    Telemetry(TelemetryStamper),
    /// No action, for other bases.
    None(NoCongestionControl),
}

/// Notification point of a base.
#[derive(Debug, Delegate, GetSize)]
#[delegate(NotificationPoint)]
pub enum BaseNotification {
    /// DCQCN's CNPs.
    Cnp(CnpSender),
    /// No action, for other bases.
    None(NoCongestionControl),
}

/// Reaction point of a base.
#[derive(Debug, Delegate, GetSize)]
#[delegate(ReactionPoint)]
#[allow(missing_docs, clippy::large_enum_variant, reason = "the types document the variants; the enum is in a box")]
pub enum BaseReaction {
    Dcqcn(Dcqcn),
    Hpcc(Hpcc),
    Swift(Swift),
    None(LineRate),
}
