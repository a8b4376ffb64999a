//! Go-Back-N: RoCE's own loss recovery.

use crate::frame::Psn;
use crate::slots::{Progress, RecoveryReceiver, RecoverySender, Verdict};
use backwater_engine::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of Go-Back-N.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GoBackNConfig {
    /// Shortest time between two NACKs for the same gap. Default 4 us (ConWeave); the HPCC simulator has 500 us.
    pub nack_interval: Duration,
    /// Retransmission timeout: without progress for this long the sender goes back to the oldest unacknowledged packet. Default 4 ms
    /// (ConWeave); "0 s" switches it off.
    pub timeout: Duration,
}

impl Default for GoBackNConfig {
    fn default() -> Self {
        GoBackNConfig { nack_interval: Duration::from_us(4), timeout: Duration::from_ms(4) }
    }
}

/// The sender of one flow.
#[derive(Debug)]
pub struct Sender {
    timeout: Option<Duration>,
}

impl Sender {
    pub(super) fn new(config: &GoBackNConfig) -> Sender {
        Sender { timeout: Some(config.timeout).filter(|timeout| *timeout > Duration::ZERO) }
    }
}

impl RecoverySender for Sender {
    fn on_ack(&mut self, expected: Psn, progress: &mut Progress) {
        progress.acked = progress.acked.max(expected);
        progress.next = progress.next.max(expected);
    }

    fn on_nack(&mut self, expected: Psn, progress: &mut Progress) {
        // A NACK from before the last acknowledgement is stale.
        if expected >= progress.acked {
            progress.acked = expected;
            progress.next = expected;
        }
    }

    fn on_timeout(&mut self, progress: &mut Progress) {
        progress.next = progress.acked;
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }
}

/// The receiver of one flow.
#[derive(Debug)]
pub struct Receiver {
    nack_interval: Duration,
    /// The gap last asked for, and when it may be asked for again.
    asked: Option<(Psn, Time)>,
}

impl Receiver {
    pub(super) fn new(config: &GoBackNConfig) -> Receiver {
        Receiver { nack_interval: config.nack_interval, asked: None }
    }
}

impl RecoveryReceiver for Receiver {
    fn on_data(&mut self, psn: Psn, expected: Psn, now: Time) -> Verdict {
        if psn == expected {
            return Verdict::Deliver;
        }
        if psn < expected {
            return Verdict::Duplicate;
        }
        match self.asked {
            Some((gap, again)) if gap == expected && now < again => Verdict::Ignore,
            _ => {
                self.asked = Some((expected, now + self.nack_interval));
                Verdict::Nack
            }
        }
    }
}
