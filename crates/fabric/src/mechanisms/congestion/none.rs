//! No congestion control: flows send at line rate, limited only by flow control or a fixed window.

use crate::contract::{
    CongestionOptions, CongestionPoint, Diagnostics, EffectiveValues, NotificationPoint, Options, PipelineHooks,
    ReactionPoint, SchemeContext, SenderFacts,
};
use crate::{no_congestion_point, no_notification_point};
use backwater_engine::{Bytes, Rate, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// None: every flow sends at line rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NoneConfig {
    /// Maximum number of payload bytes of a flow in flight: `bdp` or a size. Default: no limit
    /// (Pyrrha's runs without congestion control have one BDP).
    pub window: Option<Window>,
}

/// A fixed window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// The sender's bandwidth-delay product: line rate times the longest base round-trip time of
    /// any pair of hosts.
    Bdp,
    /// A number of bytes.
    #[serde(untagged)]
    Bytes(Bytes),
}

impl Options for NoneConfig {
    fn check(&self, scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        let Some(Window::Bytes(window)) = self.window else { return };
        let needed = u64::from(scheme.ack_every.saturating_sub(1)) * scheme.mtu.get() + 1;
        let message = format_args!(
            "must be at least {}: a smaller window holds less than host.ack_every packets, so no ACK would be sent",
            Bytes(needed)
        );
        diagnostics.error(window.get() < needed, "window", message);
    }
}

impl CongestionOptions for NoneConfig {
    no_congestion_point!();
    no_notification_point!();
    type Reaction = LineRate;

    fn reaction(&self, sender: &SenderFacts) -> LineRate {
        LineRate::new(self, sender)
    }

    fn window(&self, sender: &SenderFacts) -> u64 {
        match self.window {
            None => u64::MAX,
            Some(Window::Bdp) => sender.bdp(),
            Some(Window::Bytes(bytes)) => bytes.get(),
        }
    }

    fn needs_ack_times(&self) -> bool {
        self.window.is_some()
    }

    fn effective_values(&self, sender: &SenderFacts) -> EffectiveValues {
        let window = (self.window == Some(Window::Bdp)).then(|| ("window".to_owned(), json!(Bytes(sender.bdp()))));
        window.into_iter().collect()
    }
}

/// Declares in an `impl CongestionOptions` that switches take no part in congestion control.
#[macro_export]
macro_rules! no_congestion_point {
    () => {
        type Point = $crate::mechanisms::congestion::none::NoCongestionControl;

        fn point(&self, _site: &$crate::contract::Site<'_>) -> Self::Point {
            $crate::mechanisms::congestion::none::NoCongestionControl
        }
    };
}

/// Declares in an `impl CongestionOptions` that receivers take no part in congestion control.
#[macro_export]
macro_rules! no_notification_point {
    () => {
        type Notification = $crate::mechanisms::congestion::none::NoCongestionControl;

        fn notification(&self, _line_rate: ::backwater_engine::Rate) -> Self::Notification {
            $crate::mechanisms::congestion::none::NoCongestionControl
        }
    };
}

/// Congestion point and notification point of a control that runs at senders alone.
#[derive(Debug, GetSize)]
pub struct NoCongestionControl;

impl PipelineHooks for NoCongestionControl {}
impl CongestionPoint for NoCongestionControl {}
impl NotificationPoint for NoCongestionControl {}

/// Reaction point that sends at line rate, or at the lower rate set by another control.
#[derive(Debug, GetSize)]
pub struct LineRate {
    line_rate: Rate,
    rate: Rate,
    window: u64,
}

impl LineRate {
    pub(super) fn new(config: &NoneConfig, sender: &SenderFacts) -> LineRate {
        LineRate { line_rate: sender.line_rate, rate: sender.line_rate, window: config.window(sender) }
    }
}

impl ReactionPoint for LineRate {
    fn rate(&mut self, _now: Time) -> Rate {
        self.rate
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn set_rate(&mut self, _now: Time, rate: Rate) {
        self.rate = rate.min(self.line_rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sender;
    use backwater_engine::Duration;

    #[test]
    fn a_window_is_a_bdp_or_a_number_of_bytes() {
        let sender = sender(Rate::from_gbps(100), Duration::from_us(8));
        for (window, bytes) in
            [(None, u64::MAX), (Some(Window::Bdp), 100_000), (Some(Window::Bytes(Bytes(64_000))), 64_000)]
        {
            let mut point = LineRate::new(&NoneConfig { window }, &sender);
            assert_eq!((point.rate(Time::ZERO), point.window()), (sender.line_rate, bytes));
            // Only another control changes the rate, and nothing changes the window.
            for (set, held) in [(40, 40), (200, 100)] {
                point.set_rate(Time::ZERO, Rate::from_gbps(set));
                assert_eq!((point.rate(Time::ZERO), point.window()), (Rate::from_gbps(held), bytes));
            }
        }
    }
}
