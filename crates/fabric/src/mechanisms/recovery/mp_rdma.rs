//! Loss recovery of MP-RDMA (Lu et al., NSDI 2018): the receiver keeps early packets within a short
//! bitmap, and sends a NACK for each packet beyond the bitmap.

use super::in_any_order::{self, InAnyOrderConfig};
use super::scoreboard::Scoreboard;
use crate::contract::{
    Answer, Diagnostics, Options, Progress, RecoveryOptions, RecoveryReceiver, RecoverySender, SchemeContext,
    SenderFacts, Verdict,
};
use crate::frame::Psn;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The receiver keeps early packets within a short bitmap; the sender retransmits unacknowledged
/// packets (MP-RDMA, NSDI 2018).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MpRdmaRecoveryConfig {
    /// L: number of packets that a receiver tracks, from the expected packet on. The receiver drops
    /// later packets and sends a NACK for each. Default 64 (the paper and its re-implementation).
    #[schemars(range(min = 2, max = 65_536))]
    pub bitmap: u32,
    /// Retransmission timeout: after this time without progress, all unacknowledged packets count
    /// as lost. Default 8 ms (the re-implementation, which has a fixed timeout); "0 s" switches it
    /// off.
    pub rto: Duration,
}

impl Default for MpRdmaRecoveryConfig {
    fn default() -> Self {
        MpRdmaRecoveryConfig { bitmap: 64, rto: Duration::from_ms(8) }
    }
}

impl Options for MpRdmaRecoveryConfig {
    fn check(&self, scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        diagnostics.scenario_error(
            scheme.ack_every > 1,
            "host.ack_every",
            "must be 1: mp-rdma needs an ACK for every packet",
        );
    }
}

impl RecoveryOptions for MpRdmaRecoveryConfig {
    type Sender = Box<Sender>;
    type Receiver = Box<Receiver>;

    fn sender(&self, _facts: &SenderFacts) -> Box<Sender> {
        let rto = Some(self.rto).filter(|rto| *rto > Duration::ZERO);
        Box::new(Sender { rto, board: Scoreboard::new(self.bitmap) })
    }

    fn receiver(&self) -> Box<Receiver> {
        let bitmap = InAnyOrderConfig { room: self.bitmap, ..Default::default() };
        Box::new(Receiver(in_any_order::Receiver::new(&bitmap)))
    }

    fn is_selective(&self) -> bool {
        true
    }

    fn tolerates_reordering(&self) -> bool {
        true
    }
}

/// Sender of one flow.
#[derive(Debug, GetSize)]
pub struct Sender {
    rto: Option<Duration>,
    board: Scoreboard,
}

impl RecoverySender for Sender {
    fn next(&self, progress: &Progress, packets: Psn) -> Option<Psn> {
        self.board.lost().or_else(|| Some(progress.next).filter(|next| *next < packets))
    }

    fn on_sent(&mut self, psn: Psn, progress: &mut Progress) {
        self.board.on_sent(psn, progress);
    }

    fn not_in_flight(&self, progress: &Progress) -> u32 {
        self.board.not_in_flight(progress)
    }

    fn on_answer(&mut self, answer: &Answer, progress: &mut Progress) -> bool {
        self.board.on_answer(answer.expected, answer.arrived.filter(|_| !answer.is_nack), progress);
        // A NACK names a packet that arrived and was dropped. If that packet has not been
        // retransmitted since, it is lost, as are unacknowledged packets before it.
        let is_missing = |psn: &Psn| *psn >= progress.acked && !self.board.has_arrived(*psn, progress);
        let thrown_away = answer.arrived.filter(|psn| answer.is_nack && is_missing(psn));
        // If the dropped packet was sent after a retransmission, the retransmitted packet is lost
        // again.
        let begins = thrown_away.filter(|psn| !self.board.repairs(*psn));
        match begins {
            Some(psn) => self.board.recover(psn + 1, progress.next, progress),
            None => self.board.lose_before(thrown_away.map_or(0, |psn| psn + 1), progress),
        }
        begins.is_some()
    }

    fn on_timeout(&mut self, progress: &mut Progress) {
        self.board.recover(progress.next, progress.next, progress);
    }

    fn timeout(&self, _progress: &Progress) -> Option<Duration> {
        self.rto
    }
}

/// Receiver of one flow.
#[derive(Debug, GetSize)]
pub struct Receiver(in_any_order::Receiver);

impl RecoveryReceiver for Receiver {
    fn on_data(&mut self, psn: Psn, expected: Psn, now: Time) -> Verdict {
        match self.0.on_data(psn, expected, now) {
            Verdict::Ignore => Verdict::Nack { is_kept: false },
            verdict => verdict,
        }
    }
}

#[cfg(test)]
mod tests;
