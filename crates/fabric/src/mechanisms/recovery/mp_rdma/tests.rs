use super::*;
use crate::testing;
use backwater_engine::Rate;

/// Returns options with a bitmap of eight packets.
fn config() -> MpRdmaRecoveryConfig {
    MpRdmaRecoveryConfig { bitmap: 8, ..Default::default() }
}

fn sender() -> Box<Sender> {
    config().sender(&testing::sender(Rate::from_gbps(100), Duration::from_us(8)))
}

/// Returns the next packets of a flow of 100 packets, with a window of `window`.
fn send(sender: &mut Sender, progress: &mut Progress, window: u32) -> Vec<Psn> {
    let next = || {
        let in_flight = progress.next - progress.acked - sender.not_in_flight(progress);
        let psn = sender.next(progress, 100).filter(|_| in_flight < window)?;
        sender.on_sent(psn, progress);
        Some(psn)
    };
    std::iter::from_fn(next).collect()
}

fn ack(sender: &mut Sender, progress: &mut Progress, expected: Psn, arrived: Psn) {
    let answer = Answer { is_nack: false, expected, arrived: Some(arrived), path: None };
    assert!(!sender.on_answer(&answer, progress));
}

fn nack(sender: &mut Sender, progress: &mut Progress, expected: Psn, thrown_away: Psn) -> bool {
    sender.on_answer(&Answer { is_nack: true, expected, arrived: Some(thrown_away), path: None }, progress)
}

#[test]
fn receiver_sends_a_nack_for_a_packet_beyond_its_bitmap() {
    let mut receiver = config().receiver();
    let mut on_data = |psn, expected| receiver.on_data(psn, expected, Time::ZERO);
    assert_eq!(on_data(0, 0), Verdict::Deliver { packets: 1 });
    assert_eq!([on_data(2, 1), on_data(8, 1), on_data(2, 1)], [Verdict::Keep, Verdict::Keep, Verdict::Duplicate]);
    assert_eq!([on_data(9, 1), on_data(10, 1), on_data(9, 1)], [Verdict::Nack { is_kept: false }; 3]);
    assert_eq!(on_data(1, 1), Verdict::Deliver { packets: 2 });
    assert_eq!(on_data(9, 3), Verdict::Keep);
    assert_eq!(on_data(2, 3), Verdict::Duplicate);
}

/// Reordered arrivals open the window for new packets, and are no loss.
#[test]
fn reordering_is_no_loss_and_arrived_packets_are_not_in_flight() {
    let (mut sender, mut progress) = (sender(), Progress::default());
    assert_eq!(send(&mut sender, &mut progress, 4), [0, 1, 2, 3]);
    ack(&mut sender, &mut progress, 0, 2);
    ack(&mut sender, &mut progress, 0, 3);
    assert_eq!((sender.not_in_flight(&progress), send(&mut sender, &mut progress, 4)), (2, vec![4, 5]));
    ack(&mut sender, &mut progress, 1, 0);
    ack(&mut sender, &mut progress, 4, 1);
    assert_eq!((sender.not_in_flight(&progress), progress.acked), (0, 4));
    assert_eq!(send(&mut sender, &mut progress, 4), [6, 7]);
}

/// Of packets 0 to 11, 0, 3 and 6 are late or lost, 8 and 9 arrive and are dropped, and the state
/// of 10 and 11 is unknown.
#[test]
fn a_nack_retransmits_earlier_unacknowledged_packets_once() {
    let (mut sender, mut progress) = (sender(), Progress::default());
    assert_eq!(send(&mut sender, &mut progress, 12).len(), 12);
    [1, 2, 4, 5, 7].iter().for_each(|arrived| ack(&mut sender, &mut progress, 0, *arrived));
    assert!(nack(&mut sender, &mut progress, 0, 8));
    // The oldest lost packet, 0, is sent whatever the window is. Packets 3, 6 and 8 wait for the
    // window, since 0, 9, 10 and 11 count as in flight.
    assert_eq!(send(&mut sender, &mut progress, 1), [0]);
    assert_eq!((sender.not_in_flight(&progress), send(&mut sender, &mut progress, 4)), (5 + 3, vec![]));
    assert_eq!((send(&mut sender, &mut progress, 7), sender.not_in_flight(&progress)), (vec![3, 6, 8], 5));
    // Another NACK starts no second recovery, but packet 9 is now lost, too.
    assert!(!nack(&mut sender, &mut progress, 0, 9));
    assert_eq!((send(&mut sender, &mut progress, 7), sender.not_in_flight(&progress)), (vec![9], 5));
    ack(&mut sender, &mut progress, 3, 0);
    assert_eq!(send(&mut sender, &mut progress, 7), [12]);
    for (expected, arrived) in [(6, 3), (8, 6), (9, 8), (10, 9), (11, 10)] {
        ack(&mut sender, &mut progress, expected, arrived);
    }
    // Recovery lasts until 11, sent before the first NACK, is acknowledged.
    assert!(sender.board.recovers());
    ack(&mut sender, &mut progress, 12, 11);
    assert_eq!((sender.board.recovers(), sender.board.arrivals()), (false, 0));
}

/// Of packets 0 to 9, packet 0 is lost. Packets 8 and 9 are dropped, so packet 0 is retransmitted,
/// and packets 8 and 9 after it. If packets 8 and 9 are dropped again, packet 0 was lost again.
/// Packet 0 is then sent a third time, but only once for both drops.
#[test]
fn a_second_drop_starts_another_repair() {
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
    // New packets follow all retransmissions.
    assert_eq!(send(&mut sender, &mut progress, 4), [10]);
    assert!(nack(&mut sender, &mut progress, 0, 10));
    assert_eq!(send(&mut sender, &mut progress, 4), [0, 8, 9, 10]);
}

/// Packets 0 to 3 are sent, packet 2 has arrived, and the timer fires.
#[test]
fn a_timeout_retransmits_unacknowledged_packets() {
    let (mut sender, mut progress) = (sender(), Progress::default());
    send(&mut sender, &mut progress, 4);
    ack(&mut sender, &mut progress, 0, 2);
    sender.on_timeout(&mut progress);
    assert_eq!(sender.not_in_flight(&progress), 4);
    assert_eq!(send(&mut sender, &mut progress, 2), [0, 1]);
    assert_eq!(send(&mut sender, &mut progress, 4), [3, 4]);
    // All retransmitted packets are lost again.
    sender.on_timeout(&mut progress);
    assert_eq!(send(&mut sender, &mut progress, 4), [0, 1, 3, 4]);
    ack(&mut sender, &mut progress, 1, 0);
    ack(&mut sender, &mut progress, 3, 1);
    ack(&mut sender, &mut progress, 5, 3);
    assert!(!sender.board.recovers());
}

#[test]
fn the_timeout_is_constant_and_zero_disables_it() {
    let timeout = |rto| {
        let config = MpRdmaRecoveryConfig { rto, ..Default::default() };
        let facts = testing::sender(Rate::from_gbps(100), Duration::from_us(8));
        [1, 100].map(|next| config.sender(&facts).timeout(&Progress { next, acked: 0, highest: next }))
    };
    assert_eq!(timeout(Duration::from_ms(8)), [Some(Duration::from_ms(8)); 2]);
    assert_eq!(timeout(Duration::ZERO), [None; 2]);
}

/// A NACK for a repaired packet is stale, and so is an ACK for an acknowledged one.
#[test]
fn late_answers_are_ignored() {
    let (mut sender, mut progress) = (sender(), Progress::default());
    send(&mut sender, &mut progress, 12);
    ack(&mut sender, &mut progress, 4, 3);
    ack(&mut sender, &mut progress, 4, 9);
    assert!(!nack(&mut sender, &mut progress, 0, 9));
    assert!(!nack(&mut sender, &mut progress, 0, 3));
    ack(&mut sender, &mut progress, 1, 0);
    assert_eq!((progress.acked, sender.board.arrivals(), sender.board.recovers()), (4, 1, false));
    // A dropped packet is lost, whatever has arrived since.
    assert!(nack(&mut sender, &mut progress, 0, 8));
    assert_eq!(send(&mut sender, &mut progress, 12), [4, 5, 6, 7, 8, 12, 13, 14, 15, 16]);
}

/// The record of an arrived packet does not count for the packet one bitmap length later.
#[test]
fn packets_beyond_the_bitmap_have_not_arrived() {
    let (mut sender, mut progress) = (sender(), Progress::default());
    send(&mut sender, &mut progress, 12);
    ack(&mut sender, &mut progress, 0, 1);
    assert!(nack(&mut sender, &mut progress, 0, 9));
    send(&mut sender, &mut progress, 12);
    // Packet 9 uses the place in the bitmap that packet 1 used before.
    for psn in [0, 2, 3, 4, 5, 6, 7, 8] {
        ack(&mut sender, &mut progress, if psn == 0 { 2 } else { psn + 1 }, psn);
    }
    assert_eq!((progress.acked, sender.board.arrivals()), (9, 0));
}
