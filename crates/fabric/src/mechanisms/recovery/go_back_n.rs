//! Go-Back-N: RoCE's own loss recovery.

use crate::contract::{
    Answer, Options, Progress, RecoveryOptions, RecoveryReceiver, RecoverySender, SenderFacts, Verdict,
};
use crate::frame::Psn;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The receiver accepts packets in order only; the sender goes back to the first missing packet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GoBackNConfig {
    /// Shortest time between two NACKs for the same gap. Default 4 us (ConWeave); the HPCC
    /// simulator has 500 us.
    pub nack_interval: Duration,
    /// Retransmission timeout: after this time without progress, the sender goes back to the oldest
    /// unacknowledged packet. Default 4 ms (ConWeave); "0 s" switches it off.
    pub timeout: Duration,
}

impl Default for GoBackNConfig {
    fn default() -> Self {
        GoBackNConfig { nack_interval: Duration::from_us(4), timeout: Duration::from_ms(4) }
    }
}

impl Options for GoBackNConfig {}

impl RecoveryOptions for GoBackNConfig {
    type Sender = Sender;
    type Receiver = Receiver;

    fn sender(&self, _facts: &SenderFacts) -> Sender {
        Sender::new(self.timeout)
    }

    fn receiver(&self) -> Receiver {
        Receiver::new(self)
    }
}

/// Sender of one flow. It goes back to the packet that a NACK requests, and after a timeout to the
/// oldest unacknowledged packet.
#[derive(Debug, GetSize)]
pub struct Sender {
    timeout: Option<Duration>,
}

impl Sender {
    pub(super) fn new(timeout: Duration) -> Sender {
        Sender { timeout: Some(timeout).filter(|timeout| *timeout > Duration::ZERO) }
    }
}

impl RecoverySender for Sender {
    #[inline]
    fn on_answer(&mut self, answer: &Answer, progress: &mut Progress) -> bool {
        if !answer.is_nack {
            progress.acked = progress.acked.max(answer.expected);
            progress.next = progress.next.max(answer.expected);
            return false;
        }
        // A NACK from before the last acknowledgement is stale.
        let is_recent = answer.expected >= progress.acked;
        if is_recent {
            progress.acked = answer.expected;
            progress.next = answer.expected;
        }
        is_recent
    }

    fn on_timeout(&mut self, progress: &mut Progress) {
        progress.next = progress.acked;
    }

    #[inline]
    fn timeout(&self, _progress: &Progress) -> Option<Duration> {
        self.timeout
    }
}

/// Receiver of one flow.
#[derive(Debug, GetSize)]
pub struct Receiver {
    nack_interval: Duration,
    /// Packet of the last NACK, and the time from which on the NACK may be repeated.
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
            return Verdict::Deliver { packets: 1 };
        }
        if psn < expected {
            return Verdict::Duplicate;
        }
        match self.asked {
            Some((gap, again)) if gap == expected && now < again => Verdict::Ignore,
            _ => {
                self.asked = Some((expected, now + self.nack_interval));
                Verdict::Nack { is_kept: false }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at_us;

    fn progress(next: Psn, acked: Psn, highest: Psn) -> Progress {
        Progress { next, acked, highest }
    }

    #[test]
    fn receiver_accepts_in_order_and_sends_one_nack_per_interval() {
        let mut receiver = Receiver::new(&GoBackNConfig { nack_interval: Duration::from_us(10), ..Default::default() });
        assert_eq!(receiver.on_data(0, 0, at_us(0)), Verdict::Deliver { packets: 1 });
        assert_eq!(receiver.on_data(2, 1, at_us(1)), Verdict::Nack { is_kept: false });
        assert_eq!(receiver.on_data(3, 1, at_us(2)), Verdict::Ignore);
        assert_eq!(receiver.on_data(4, 1, Time::from_ps(10_999_999)), Verdict::Ignore);
        assert_eq!(receiver.on_data(5, 1, at_us(11)), Verdict::Nack { is_kept: false });
        assert_eq!(receiver.on_data(6, 1, at_us(20)), Verdict::Ignore);
        // A packet from before the gap is acknowledged again. The missing packet is delivered. The
        // next gap triggers a NACK at once.
        assert_eq!(receiver.on_data(0, 1, at_us(20)), Verdict::Duplicate);
        assert_eq!(receiver.on_data(1, 1, at_us(20)), Verdict::Deliver { packets: 1 });
        assert_eq!(receiver.on_data(3, 2, at_us(20)), Verdict::Nack { is_kept: false });
    }

    fn ack(sender: &mut Sender, expected: Psn, state: &mut Progress) {
        assert!(!sender.on_answer(&Answer { is_nack: false, expected, arrived: None, path: None }, state));
    }

    fn nack(sender: &mut Sender, expected: Psn, state: &mut Progress) -> bool {
        sender.on_answer(&Answer { is_nack: true, expected, arrived: None, path: None }, state)
    }

    #[test]
    fn a_sender_goes_back_on_a_nack_and_never_below_what_is_acknowledged() {
        let mut sender = Sender::new(Duration::from_ms(4));
        let mut state = progress(10, 0, 10);
        ack(&mut sender, 4, &mut state);
        assert_eq!(state, progress(10, 4, 10));
        assert!(nack(&mut sender, 6, &mut state));
        assert_eq!(state, progress(6, 6, 10));
        // The oldest packet in flight is lost again.
        state.next = 8;
        assert!(nack(&mut sender, 6, &mut state));
        assert_eq!(state, progress(6, 6, 10));
        // Answers older than the last acknowledgement have no effect.
        assert!(!nack(&mut sender, 5, &mut state));
        ack(&mut sender, 3, &mut state);
        assert_eq!(state, progress(6, 6, 10));
        // Packets that arrived after all need no retransmission.
        ack(&mut sender, 9, &mut state);
        assert_eq!(state, progress(9, 9, 10));
        state.next = 12;
        sender.on_timeout(&mut state);
        assert_eq!(state, progress(9, 9, 10));
    }

    #[test]
    fn a_timeout_of_zero_is_disabled() {
        let timeout = |timeout| Sender::new(timeout).timeout(&Progress::default());
        assert_eq!(timeout(Duration::ZERO), None);
        assert_eq!(timeout(Duration::from_ms(4)), Some(Duration::from_ms(4)));
    }
}
