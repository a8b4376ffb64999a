//! Loss recovery of MP-RDMA (Lu et al., NSDI 2018): the receiver keeps what comes early as far as a short bitmap goes, and asks when a packet is beyond it.

use super::in_any_order::{self, InAnyOrderConfig};
use super::scoreboard::Scoreboard;
use crate::contract::{
    Answer, Findings, Options, Progress, RecoveryOptions, RecoveryReceiver, RecoverySender, SchemeContext, SenderFacts,
    Verdict,
};
use crate::frame::Psn;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The receiver keeps early packets within a short bitmap; the sender repeats what has not been answered (MP-RDMA, NSDI 2018).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MpRdmaRecoveryConfig {
    /// Packets from the one expected on, itself included, that a receiver keeps track of, L; it throws away one beyond, and asks. Default 64 (the paper, and its
    /// re-implementation).
    #[schemars(range(min = 2, max = 65_536))]
    pub bitmap: u32,
    /// Retransmission timeout: without progress for this long everything is lost that has not been answered. Default 8 ms (the re-implementation: always the
    /// same); "0 s" switches it off.
    pub rto: Duration,
}

impl Default for MpRdmaRecoveryConfig {
    fn default() -> Self {
        MpRdmaRecoveryConfig { bitmap: 64, rto: Duration::from_ms(8) }
    }
}

impl Options for MpRdmaRecoveryConfig {
    fn check(&self, beside: &SchemeContext<'_>, findings: &mut Findings) {
        findings.scenario_error(
            beside.ack_every > 1,
            "host.ack_every",
            "must be 1: mp-rdma answers every packet, and its sender knows by the answers which have come",
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

/// The sender of one flow.
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
        // It has come, and has been thrown away; if it has not been repaired since, it is lost, and so is what has not been answered before it.
        let is_missing = |psn: &Psn| *psn >= progress.acked && !self.board.has_arrived(*psn, progress);
        let thrown_away = answer.arrived.filter(|psn| answer.is_nack && is_missing(psn));
        // Sent behind what has been sent again: that has been lost once more.
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

/// The receiver of one flow.
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
