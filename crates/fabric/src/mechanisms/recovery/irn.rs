//! IRN (Mittal et al., SIGCOMM 2018): selective retransmission, and at most as many packets in
//! flight as fill the path, so that PFC is not needed.

use super::scoreboard::Scoreboard;
use crate::contract::{
    Answer, Diagnostics, EffectiveValues, Options, Progress, RecoveryOptions, RecoveryReceiver, RecoverySender,
    SchemeContext, SenderFacts, Verdict, effective_values,
};
use crate::frame::Psn;
use backwater_engine::bits::BitSet;
use backwater_engine::{Bytes, Duration, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// IRN: selective retransmission, with at most as many packets in flight as fill the path (SIGCOMM
/// 2018).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IrnConfig {
    /// Maximum payload from the oldest unacknowledged packet to the newest sent (BDP-FC). Default:
    /// line rate times the longest base round-trip time (section 3.2: the BDP of the longest path).
    pub bdp_cap: Option<Bytes>,
    /// Size of a receiver's bitmap in packets, which also bounds `bdp_cap`. Default 4096: 4 MB at
    /// the usual MTU.
    #[schemars(range(min = 2, max = 65_536))]
    pub bitmap: u32,
    /// Retransmission timeout while few packets are in flight, RTO_low. Default 100 us (section
    /// 4.1).
    pub rto_low: Duration,
    /// Retransmission timeout while more packets are in flight, RTO_high. Default 320 us (section
    /// 4.1).
    pub rto_high: Duration,
    /// Largest number of packets that counts as few, N. Default 3 (section 4.1).
    pub few: u32,
    /// Packets that a sender declares lost when the timeout expires. Default `oldest`.
    pub timeout_loses: TimeoutLoses,
}

/// Packets that a sender declares lost when the timeout expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, GetSize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeoutLoses {
    /// The oldest unacknowledged packet. Another packet is declared lost, as usual, when a later
    /// packet has arrived (section 3.1).
    #[default]
    Oldest,
    /// Every packet that has not arrived.
    All,
}

impl Default for IrnConfig {
    fn default() -> Self {
        let (rto_low, rto_high) = (Duration::from_us(100), Duration::from_us(320));
        IrnConfig { bdp_cap: None, bitmap: 4096, rto_low, rto_high, few: 3, timeout_loses: TimeoutLoses::Oldest }
    }
}

impl Options for IrnConfig {
    fn check(&self, scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        diagnostics.positive(Some(self.rto_low), "rto_low");
        diagnostics.ordered([("rto_low", self.rto_low), ("rto_high", self.rto_high)]);
        diagnostics.positive(self.bdp_cap, "bdp_cap");
        let most = Bytes(u64::from(self.bitmap) * scheme.mtu.get());
        let message =
            format_args!("has no effect above {most}: bitmap limits a flow to {} packets in flight", self.bitmap);
        diagnostics.warning(self.bdp_cap.is_some_and(|cap| cap > most), "bdp_cap", message);
        diagnostics.scenario_error(
            scheme.ack_every > 1,
            "host.ack_every",
            "must be 1: irn needs an ACK for every packet",
        );
    }
}

impl IrnConfig {
    /// Returns the maximum number of packets from the oldest unacknowledged one to the newest sent,
    /// for a sender with `facts`.
    fn cap(&self, facts: &SenderFacts) -> Psn {
        let mtu = u64::from(facts.sizes.mtu);
        let packets = self.bdp_cap.map_or(facts.bdp(), Bytes::get).div_ceil(mtu).max(1);
        packets.min(self.bitmap.into()) as Psn
    }
}

impl RecoveryOptions for IrnConfig {
    type Sender = Box<Sender>;
    type Receiver = Receiver;

    fn sender(&self, facts: &SenderFacts) -> Box<Sender> {
        Box::new(Sender {
            cap: self.cap(facts),
            timeouts: [self.rto_low, self.rto_high],
            few: self.few,
            timeout_loses: self.timeout_loses,
            board: Scoreboard::new(self.bitmap),
            arrived_before: 0,
        })
    }

    fn receiver(&self) -> Receiver {
        Receiver { places: self.bitmap, held: BitSet::default() }
    }

    fn is_selective(&self) -> bool {
        true
    }

    fn effective_values(&self, sender: &SenderFacts) -> EffectiveValues {
        let cap = Bytes(u64::from(self.cap(sender)) * u64::from(sender.sizes.mtu));
        effective_values(json!({ "bdp_cap": cap }))
    }
}

/// Sender of one flow.
#[derive(Debug, GetSize)]
pub struct Sender {
    cap: Psn,
    /// RTO_low and RTO_high.
    timeouts: [Duration; 2],
    few: u32,
    timeout_loses: TimeoutLoses,
    board: Scoreboard,
    /// Packet after the latest one that has arrived.
    arrived_before: Psn,
}

impl RecoverySender for Sender {
    fn next(&self, progress: &Progress, packets: Psn) -> Option<Psn> {
        let new = || Some(progress.next).filter(|next| *next < packets && next - progress.acked < self.cap);
        self.board.lost().or_else(new)
    }

    fn on_sent(&mut self, psn: Psn, progress: &mut Progress) {
        self.board.on_sent(psn, progress);
    }

    fn not_in_flight(&self, progress: &Progress) -> u32 {
        self.board.not_in_flight(progress)
    }

    fn on_answer(&mut self, answer: &Answer, progress: &mut Progress) -> bool {
        self.board.on_answer(answer.expected, answer.arrived, progress);
        self.arrived_before = self.arrived_before.max(answer.arrived.map_or(0, |psn| psn + 1));
        // A NACK from before the last acknowledgement is stale.
        let is_recent = answer.is_nack && answer.expected == progress.acked;
        let begins = is_recent && !self.board.recovers();
        if begins {
            self.board.recover(progress.acked + 1, progress.next, progress);
        }
        let beyond = answer.arrived.filter(|psn| *psn > progress.acked);
        self.board.lose_before(beyond.unwrap_or(0), progress);
        begins
    }

    fn on_timeout(&mut self, progress: &mut Progress) {
        let lost_before = match self.timeout_loses {
            TimeoutLoses::Oldest => self.arrived_before.max(progress.acked + 1),
            TimeoutLoses::All => progress.next,
        };
        self.board.recover(lost_before, progress.next, progress);
    }

    fn timeout(&self, progress: &Progress) -> Option<Duration> {
        let [low, high] = self.timeouts;
        Some(if progress.next - progress.acked <= self.few { low } else { high })
    }
}

/// Receiver of one flow: it keeps early packets, and every answer reports the missing packet.
#[derive(Debug, GetSize)]
pub struct Receiver {
    places: u32,
    /// Early packets, by number modulo `places`.
    held: BitSet,
}

impl RecoveryReceiver for Receiver {
    fn on_data(&mut self, psn: Psn, expected: Psn, _now: Time) -> Verdict {
        let place = |psn: Psn| (psn % self.places) as usize;
        if psn < expected {
            return Verdict::Duplicate;
        }
        if psn > expected {
            if psn - expected >= self.places {
                return Verdict::Ignore;
            }
            let is_kept = !self.held.has(place(psn));
            self.held.insert(place(psn));
            return Verdict::Nack { is_kept };
        }
        let mut next = psn + 1;
        while self.held.has(place(next)) {
            self.held.remove(place(next));
            next += 1;
        }
        Verdict::Deliver { packets: next - psn }
    }
}

#[cfg(test)]
mod tests;
