//! FLB's minimal rate control (Hu et al., USENIX ATC 2025, section 3.3): a sender stops a flow that
//! a switch reports as congested. When congestion ends, the flow continues at its share of the line
//! rate.

use crate::contract::{
    AckView, CongestionOptions, Diagnostics, EffectiveValues, Options, ReactionPoint, SchemeContext, SenderFacts,
    effective_values,
};
use crate::frame::{Notice, Protocol};
use crate::ids::PortId;
use crate::mechanisms::cnm::{Cnm, FLB, MOST_ROOTS};
use crate::{no_congestion_point, no_notification_point};
use arrayvec::ArrayVec;
use backwater_engine::{Bytes, Duration, Rate, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// FLB's minimal rate control: a flow stops during congestion, then continues at its share of the
/// line rate (ATC 2025).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlbRcConfig {
    /// Maximum number of payload bytes in flight until the first ACK. Default: line rate times the
    /// longest base round-trip time of any pair of hosts (section 3.3).
    pub initial_window: Option<Bytes>,
    /// Time without congestion notices after which a flow at its share C / n of the line rate
    /// returns to line rate. Default: a base round-trip time of the network. In section 3.3, the
    /// flow keeps this share; in section 4.2, it continues at line rate (`"0 s"`).
    pub line_rate_after: Option<Duration>,
    /// Longest stop of a flow without further notices. After this time, the notice to continue is
    /// assumed lost. Default 1 ms, the timeout of the isolation table's entries (section 3.2).
    pub timeout: Duration,
}

impl Default for FlbRcConfig {
    fn default() -> Self {
        FlbRcConfig { initial_window: None, line_rate_after: None, timeout: Duration::from_ms(1) }
    }
}

impl Options for FlbRcConfig {
    fn check(&self, scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        let message = format_args!(
            "flb-rc needs the notices of load_balance = \"flb\", but load_balance is \"{}\"",
            scheme.load_balance
        );
        diagnostics.error(scheme.load_balance != "flb", "", message);
        diagnostics.positive(Some(self.timeout), "timeout");
        let needed = u64::from(scheme.ack_every.saturating_sub(1)) * scheme.mtu.get() + 1;
        let message = format_args!(
            "must be at least {}: a smaller window holds less than host.ack_every packets, so no ACK would be sent",
            Bytes(needed)
        );
        diagnostics.error(self.initial_window.is_some_and(|window| window.get() < needed), "initial_window", message);
    }
}

impl FlbRcConfig {
    fn first_window(&self, sender: &SenderFacts) -> u64 {
        self.initial_window.map_or_else(|| sender.bdp(), Bytes::get)
    }
}

impl CongestionOptions for FlbRcConfig {
    no_congestion_point!();
    no_notification_point!();
    type Reaction = FlbRc;

    fn reaction(&self, sender: &SenderFacts) -> FlbRc {
        FlbRc::new(self, sender)
    }

    fn notice_protocol(&self) -> Option<Protocol> {
        Some(FLB)
    }

    fn needs_sender_timers(&self) -> bool {
        true
    }

    fn window(&self, sender: &SenderFacts) -> u64 {
        self.first_window(sender)
    }

    fn effective_values(&self, sender: &SenderFacts) -> EffectiveValues {
        let line_rate_after = self.line_rate_after.unwrap_or(sender.base_rtt);
        effective_values(
            json!({ "initial_window": Bytes(self.first_window(sender)), "line_rate_after": line_rate_after }),
        )
    }
}

/// Reaction point of one flow.
#[derive(Debug, GetSize)]
pub struct FlbRc {
    line_rate: Rate,
    /// Rate without congestion: line rate, or the rate set by another control.
    free_rate: Rate,
    /// Maximum number of payload bytes in flight before the first ACK.
    first_window: Option<u64>,
    line_rate_after: Duration,
    timeout: Duration,
    /// Largest n received since the flow last sent at line rate.
    most_flows: u32,
    state: State,
}

/// Sending state of a flow.
#[derive(Debug, GetSize)]
enum State {
    /// At line rate.
    Free,
    /// Stopped, until each port in `at` reports that congestion has ended, or until `until`.
    Stopped {
        #[get_size(ignore)]
        at: ArrayVec<PortId, MOST_ROOTS>,
        until: Time,
    },
    /// Limited to its share of the line rate.
    Held { until: Time },
}

impl FlbRc {
    fn new(config: &FlbRcConfig, sender: &SenderFacts) -> FlbRc {
        FlbRc {
            line_rate: sender.line_rate,
            free_rate: sender.line_rate,
            first_window: Some(config.first_window(sender)),
            line_rate_after: config.line_rate_after.unwrap_or(sender.base_rtt),
            timeout: config.timeout,
            most_flows: 1,
            state: State::Free,
        }
    }

    fn go_on(&mut self, now: Time) {
        self.state = State::Held { until: now + self.line_rate_after };
    }
}

impl ReactionPoint for FlbRc {
    fn rate(&mut self, _now: Time) -> Rate {
        match self.state {
            State::Free => self.free_rate,
            State::Stopped { .. } | State::Held { .. } => {
                let share = Rate::from_bps((self.line_rate.bps() / u64::from(self.most_flows)).max(1));
                share.min(self.free_rate)
            }
        }
    }

    fn window(&self) -> u64 {
        match self.state {
            State::Stopped { .. } => 0,
            State::Free | State::Held { .. } => self.first_window.unwrap_or(u64::MAX),
        }
    }

    fn on_ack(&mut self, _ack: &AckView<'_>) {
        self.first_window = None;
    }

    fn signals_congestion(&self, notice: &Notice) -> bool {
        matches!(Cnm::of(notice.words), Cnm::Congested { .. })
    }

    fn on_notice(&mut self, now: Time, notice: &Notice) {
        if notice.protocol != FLB {
            return;
        }
        match (Cnm::of(notice.words), &mut self.state) {
            (Cnm::Congested { flows }, state) => {
                self.most_flows = self.most_flows.max(flows);
                let latest = now + self.timeout;
                if let State::Stopped { at, until } = state {
                    *until = latest;
                    if !at.contains(&notice.from) && at.is_full() {
                        at.remove(0);
                    }
                } else {
                    *state = State::Stopped { at: ArrayVec::new(), until: latest };
                }
                if let State::Stopped { at, .. } = state
                    && !at.contains(&notice.from)
                {
                    at.push(notice.from);
                }
            }
            (Cnm::Clear { flows }, State::Stopped { at, .. }) => {
                self.most_flows = self.most_flows.max(flows);
                at.retain(|root| *root != notice.from);
                if at.is_empty() {
                    self.go_on(now);
                }
            }
            (Cnm::Clear { .. }, State::Free | State::Held { .. }) => {}
        }
    }

    fn set_rate(&mut self, _now: Time, rate: Rate) {
        self.free_rate = rate.min(self.line_rate);
    }

    fn wake_at(&self) -> Time {
        match self.state {
            State::Free => Time::NEVER,
            State::Stopped { until, .. } | State::Held { until } => until,
        }
    }

    fn on_wake(&mut self, now: Time) {
        match self.state {
            State::Stopped { .. } => self.go_on(now),
            State::Free | State::Held { .. } => (self.state, self.most_flows) = (State::Free, 1),
        }
    }

    fn repaces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
