//! No congestion control: line rate, held back by flow control alone, or by a fixed window.

use crate::contract::{CongestionOptions, CongestionPoint, NotificationPoint, ReactionPoint, Sender, Site, Station};
use backwater_engine::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of the absence of congestion control.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NoneConfig {
    /// Most payload bytes of a flow in flight: `bdp` or a size. Default: no limit (Pyrrha's runs without congestion control have one BDP).
    pub window: Option<Window>,
}

/// A fixed window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// What the sender's line carries in the longest base round-trip time of any pair of hosts.
    Bdp,
    /// A number of bytes.
    #[serde(untagged)]
    Bytes(Bytes),
}

impl CongestionOptions for NoneConfig {
    type Point = NoCongestionControl;
    type Notification = NoCongestionControl;
    type Reaction = LineRate;

    fn point(&self, _site: &Site<'_>) -> NoCongestionControl {
        NoCongestionControl
    }

    fn notification(&self, _line_rate: Rate) -> NoCongestionControl {
        NoCongestionControl
    }

    fn reaction(&self, sender: &Sender) -> LineRate {
        LineRate::new(self, sender)
    }
}

/// Marks nothing, reports nothing.
#[derive(Debug)]
pub struct NoCongestionControl;

impl Station for NoCongestionControl {}
impl CongestionPoint for NoCongestionControl {}
impl NotificationPoint for NoCongestionControl {}

/// Sends at line rate.
#[derive(Debug)]
pub struct LineRate {
    rate: Rate,
    window: u64,
}

impl LineRate {
    pub(super) fn new(config: &NoneConfig, sender: &Sender) -> LineRate {
        let window = match config.window {
            None => u64::MAX,
            Some(Window::Bdp) => sender.bdp(),
            Some(Window::Bytes(bytes)) => bytes.get(),
        };
        LineRate { rate: sender.line_rate, window }
    }
}

impl ReactionPoint for LineRate {
    fn rate(&mut self, _now: Time) -> Rate {
        self.rate
    }

    fn window(&self) -> u64 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_engine::Duration;

    #[test]
    fn a_window_is_a_bdp_or_a_number_of_bytes() {
        let sender = Sender { line_rate: Rate::from_gbps(100), base_rtt: Duration::from_us(8) };
        for (window, bytes) in
            [(None, u64::MAX), (Some(Window::Bdp), 100_000), (Some(Window::Bytes(Bytes(64_000))), 64_000)]
        {
            let mut point = LineRate::new(&NoneConfig { window }, &sender);
            assert_eq!((point.rate(Time::ZERO), point.window()), (sender.line_rate, bytes));
        }
    }
}
