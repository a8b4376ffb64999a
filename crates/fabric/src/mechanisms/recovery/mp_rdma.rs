//! Loss recovery of MP-RDMA (Lu et al., NSDI 2018): the receiver keeps what comes early as far as a short bitmap goes, and asks when a packet is beyond it.

use super::in_any_order::{self, InAnyOrderConfig};
use super::scoreboard::Scoreboard;
use crate::contract::{
    Answer, Beside, Findings, Footprint, Key, Options, Progress, RecoveryOptions, RecoveryReceiver, RecoverySender,
    SenderFacts, Verdict,
};
use crate::frame::Psn;
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Time};
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
    fn check(&self, beside: &Beside<'_>, findings: &mut Findings) {
        findings.error(
            beside.ack_every > 1,
            Key::Scenario("host.ack_every"),
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
#[derive(Debug)]
pub struct Sender {
    rto: Option<Duration>,
    board: Scoreboard,
}

impl Footprint for Sender {
    fn heap_bytes(&self) -> u64 {
        self.board.heap_bytes()
    }
}

impl RecoverySender for Sender {
    fn next(&self, progress: &Progress, packets: Psn) -> Option<Psn> {
        self.board.lost().or_else(|| Some(progress.next).filter(|next| *next < packets))
    }

    fn on_sent(&mut self, psn: Psn, progress: &mut Progress) {
        self.board.on_sent(psn, progress);
    }

    fn settled(&self, progress: &Progress) -> u32 {
        self.board.settled(progress)
    }

    fn on_answer(&mut self, answer: &Answer, progress: &mut Progress) -> bool {
        self.board.on_answer(answer.expected, answer.arrived.filter(|_| !answer.asks), progress);
        // It has come, and has been thrown away; if it has not been repaired since, it is lost, and so is what has not been answered before it.
        let is_missing = |psn: &Psn| *psn >= progress.acked && !self.board.has_arrived(*psn, progress);
        let thrown_away = answer.arrived.filter(|psn| answer.asks && is_missing(psn));
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
#[derive(Debug)]
pub struct Receiver(in_any_order::Receiver);

impl Footprint for Receiver {
    fn heap_bytes(&self) -> u64 {
        self.0.heap_bytes()
    }
}

impl RecoveryReceiver for Receiver {
    fn on_data(&mut self, psn: Psn, expected: Psn, now: Time) -> Verdict {
        match self.0.on_data(psn, expected, now) {
            Verdict::Ignore => Verdict::Nack { is_kept: false },
            verdict => verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use backwater_engine::Rate;

    /// A bitmap of eight packets.
    fn config() -> MpRdmaRecoveryConfig {
        MpRdmaRecoveryConfig { bitmap: 8, ..Default::default() }
    }

    fn sender() -> Box<Sender> {
        config().sender(&testing::sender(Rate::from_gbps(100), Duration::from_us(8)))
    }

    /// What is sent next of a flow of 100 packets, with a window of `window`.
    fn send(sender: &mut Sender, progress: &mut Progress, window: u32) -> Vec<Psn> {
        let next = || {
            let in_flight = progress.next - progress.acked - sender.settled(progress);
            let psn = sender.next(progress, 100).filter(|_| in_flight < window)?;
            sender.on_sent(psn, progress);
            Some(psn)
        };
        std::iter::from_fn(next).collect()
    }

    fn ack(sender: &mut Sender, progress: &mut Progress, expected: Psn, arrived: Psn) {
        let answer = Answer { asks: false, expected, arrived: Some(arrived), path: None };
        assert!(!sender.on_answer(&answer, progress));
    }

    fn nack(sender: &mut Sender, progress: &mut Progress, expected: Psn, thrown_away: Psn) -> bool {
        sender.on_answer(&Answer { asks: true, expected, arrived: Some(thrown_away), path: None }, progress)
    }

    #[test]
    fn a_receiver_asks_when_a_packet_is_beyond_its_bitmap() {
        let mut receiver = config().receiver();
        let mut on_data = |psn, expected| receiver.on_data(psn, expected, Time::ZERO);
        assert_eq!(on_data(0, 0), Verdict::Deliver { packets: 1 });
        assert_eq!([on_data(2, 1), on_data(8, 1), on_data(2, 1)], [Verdict::Keep, Verdict::Keep, Verdict::Duplicate]);
        assert_eq!([on_data(9, 1), on_data(10, 1), on_data(9, 1)], [Verdict::Nack { is_kept: false }; 3]);
        assert_eq!(on_data(1, 1), Verdict::Deliver { packets: 2 });
        assert_eq!(on_data(9, 3), Verdict::Keep);
        assert_eq!(on_data(2, 3), Verdict::Duplicate);
    }

    /// What has come in another order opens the window for what is new, and is no loss.
    #[test]
    fn reordering_is_no_loss_and_what_has_arrived_is_not_in_flight() {
        let (mut sender, mut progress) = (sender(), Progress::default());
        assert_eq!(send(&mut sender, &mut progress, 4), [0, 1, 2, 3]);
        ack(&mut sender, &mut progress, 0, 2);
        ack(&mut sender, &mut progress, 0, 3);
        assert_eq!((sender.settled(&progress), send(&mut sender, &mut progress, 4)), (2, vec![4, 5]));
        ack(&mut sender, &mut progress, 1, 0);
        ack(&mut sender, &mut progress, 4, 1);
        assert_eq!((sender.settled(&progress), progress.acked), (0, 4));
        assert_eq!(send(&mut sender, &mut progress, 4), [6, 7]);
    }

    /// Of 0 to 11, packets 0, 3 and 6 are late or lost, 8 and 9 come and are thrown away, and nothing is known of 10 and 11.
    #[test]
    fn a_nack_has_what_was_not_answered_before_it_sent_again_once() {
        let (mut sender, mut progress) = (sender(), Progress::default());
        assert_eq!(send(&mut sender, &mut progress, 12).len(), 12);
        [1, 2, 4, 5, 7].iter().for_each(|arrived| ack(&mut sender, &mut progress, 0, *arrived));
        assert!(nack(&mut sender, &mut progress, 0, 8));
        // The oldest whatever the window; 3, 6 and 8 beside 0, 9, 10 and 11, which are in flight.
        assert_eq!(send(&mut sender, &mut progress, 1), [0]);
        assert_eq!((sender.settled(&progress), send(&mut sender, &mut progress, 4)), (5 + 3, vec![]));
        assert_eq!((send(&mut sender, &mut progress, 7), sender.settled(&progress)), (vec![3, 6, 8], 5));
        // Another NACK is no news; 9 is lost as well.
        assert!(!nack(&mut sender, &mut progress, 0, 9));
        assert_eq!((send(&mut sender, &mut progress, 7), sender.settled(&progress)), (vec![9], 5));
        ack(&mut sender, &mut progress, 3, 0);
        assert_eq!(send(&mut sender, &mut progress, 7), [12]);
        for (expected, arrived) in [(6, 3), (8, 6), (9, 8), (10, 9), (11, 10)] {
            ack(&mut sender, &mut progress, expected, arrived);
        }
        // Until 11, sent before the first NACK, is acknowledged as well.
        assert!(sender.board.recovers());
        ack(&mut sender, &mut progress, 12, 11);
        assert_eq!((sender.board.recovers(), sender.board.arrivals()), (false, 0));
    }

    /// Of 0 to 9, packet 0 is lost, and sent again because of 8 and 9, and these behind it. If they are thrown away once more, 0 has been lost once more: it is
    /// sent a third time, once for both.
    #[test]
    fn what_is_thrown_away_again_begins_another_repair() {
        let (mut sender, mut progress) = (sender(), Progress::default());
        send(&mut sender, &mut progress, 10);
        (1..8).for_each(|arrived| ack(&mut sender, &mut progress, 0, arrived));
        assert!(nack(&mut sender, &mut progress, 0, 8));
        assert!(!nack(&mut sender, &mut progress, 0, 9));
        assert_eq!(send(&mut sender, &mut progress, 3), [0, 8, 9]);
        assert!(nack(&mut sender, &mut progress, 0, 8));
        assert_eq!(send(&mut sender, &mut progress, 1), [0]);
        assert!(!nack(&mut sender, &mut progress, 0, 9));
        assert_eq!(send(&mut sender, &mut progress, 3), [8, 9]);
        // So does what is new: it goes behind all that is sent again.
        assert_eq!(send(&mut sender, &mut progress, 4), [10]);
        assert!(nack(&mut sender, &mut progress, 0, 10));
        assert_eq!(send(&mut sender, &mut progress, 4), [0, 8, 9, 10]);
    }

    /// Packets 0 to 3 are sent, 2 has come, and the timer runs out.
    #[test]
    fn after_a_timeout_what_was_not_answered_is_sent_again() {
        let (mut sender, mut progress) = (sender(), Progress::default());
        send(&mut sender, &mut progress, 4);
        ack(&mut sender, &mut progress, 0, 2);
        sender.on_timeout(&mut progress);
        assert_eq!(sender.settled(&progress), 4);
        assert_eq!(send(&mut sender, &mut progress, 2), [0, 1]);
        assert_eq!(send(&mut sender, &mut progress, 4), [3, 4]);
        // Lost once more, all of them.
        sender.on_timeout(&mut progress);
        assert_eq!(send(&mut sender, &mut progress, 4), [0, 1, 3, 4]);
        ack(&mut sender, &mut progress, 1, 0);
        ack(&mut sender, &mut progress, 3, 1);
        ack(&mut sender, &mut progress, 5, 3);
        assert!(!sender.board.recovers());
    }

    #[test]
    fn the_timeout_is_always_the_same_and_zero_is_none() {
        let timeout = |rto| {
            let config = MpRdmaRecoveryConfig { rto, ..Default::default() };
            let facts = testing::sender(Rate::from_gbps(100), Duration::from_us(8));
            [1, 100].map(|next| config.sender(&facts).timeout(&Progress { next, acked: 0, highest: next }))
        };
        assert_eq!(timeout(Duration::from_ms(8)), [Some(Duration::from_ms(8)); 2]);
        assert_eq!(timeout(Duration::ZERO), [None; 2]);
    }

    /// A NACK for what has been repaired since is stale, and so is an ACK for what has been acknowledged.
    #[test]
    fn answers_that_are_late_do_no_harm() {
        let (mut sender, mut progress) = (sender(), Progress::default());
        send(&mut sender, &mut progress, 12);
        ack(&mut sender, &mut progress, 4, 3);
        ack(&mut sender, &mut progress, 4, 9);
        assert!(!nack(&mut sender, &mut progress, 0, 9));
        assert!(!nack(&mut sender, &mut progress, 0, 3));
        ack(&mut sender, &mut progress, 1, 0);
        assert_eq!((progress.acked, sender.board.arrivals(), sender.board.recovers()), (4, 1, false));
        // One that has been thrown away is lost, whatever has come since.
        assert!(nack(&mut sender, &mut progress, 0, 8));
        assert_eq!(send(&mut sender, &mut progress, 12), [4, 5, 6, 7, 8, 12, 13, 14, 15, 16]);
    }

    /// Packets that have come do not hide those a bitmap's length behind them.
    #[test]
    fn what_is_beyond_the_bitmap_has_not_arrived() {
        let (mut sender, mut progress) = (sender(), Progress::default());
        send(&mut sender, &mut progress, 12);
        ack(&mut sender, &mut progress, 0, 1);
        assert!(nack(&mut sender, &mut progress, 0, 9));
        send(&mut sender, &mut progress, 12);
        // A place of the bitmap has been left by 1 when 9 comes to it.
        for psn in [0, 2, 3, 4, 5, 6, 7, 8] {
            ack(&mut sender, &mut progress, if psn == 0 { 2 } else { psn + 1 }, psn);
        }
        assert_eq!((progress.acked, sender.board.arrivals()), (9, 0));
    }
}
