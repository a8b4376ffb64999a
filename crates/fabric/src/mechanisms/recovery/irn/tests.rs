use super::*;
use crate::testing;
use backwater_engine::Rate;

fn facts() -> SenderFacts {
    let mut facts = testing::sender(Rate::from_gbps(100), Duration::from_us(8));
    facts.sizes.mtu = 1024;
    facts
}

const NONE: [Psn; 0] = [];

/// Returns a sender with a cap of eight packets of 1024 B.
fn sender() -> Box<Sender> {
    IrnConfig { bdp_cap: Some(Bytes(8 * 1024)), ..Default::default() }.sender(&facts())
}

/// Returns the next packets that the sender allows, of a flow of 100 packets.
fn send(sender: &mut Sender, progress: &mut Progress) -> Vec<Psn> {
    let next = || {
        let psn = sender.next(progress, 100)?;
        sender.on_sent(psn, progress);
        Some(psn)
    };
    std::iter::from_fn(next).collect()
}

fn ack(sender: &mut Sender, progress: &mut Progress, expected: Psn) {
    assert!(!sender.on_answer(&Answer { is_nack: false, expected, arrived: Some(expected - 1), path: None }, progress));
}

fn nack(sender: &mut Sender, progress: &mut Progress, expected: Psn, arrived: Psn) -> bool {
    sender.on_answer(&Answer { is_nack: true, expected, arrived: Some(arrived), path: None }, progress)
}

#[test]
fn at_most_the_bdp_is_in_flight() {
    let (mut sender, mut progress) = (sender(), Progress::default());
    assert_eq!(send(&mut sender, &mut progress), [0, 1, 2, 3, 4, 5, 6, 7]);
    ack(&mut sender, &mut progress, 3);
    assert_eq!(send(&mut sender, &mut progress), [8, 9, 10]);
    // Early packets free no space: the receiver's bitmap starts at the missing packet.
    assert!(nack(&mut sender, &mut progress, 3, 10));
    assert_eq!(send(&mut sender, &mut progress), [3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(send(&mut sender, &mut progress), NONE);
    assert_eq!(sender.next(&Progress { next: 100, acked: 95, highest: 100 }, 100), None);
}

/// The cap is the BDP of 100 Gb/s and 8 us, 100 kB, in packets of 1024 B and rounded up. It is
/// never more than the bitmap.
#[test]
fn the_cap_is_the_bdp_in_packets() {
    let facts = facts();
    assert_eq!(facts.bdp(), 100_000);
    assert_eq!(IrnConfig::default().cap(&facts), 98);
    assert_eq!(IrnConfig { bitmap: 64, ..Default::default() }.cap(&facts), 64);
    assert_eq!(IrnConfig { bdp_cap: Some(Bytes(1)), ..Default::default() }.cap(&facts), 1);
    assert_eq!(
        serde_json::to_value(IrnConfig::default().effective_values(&facts)).unwrap(),
        json!({ "bdp_cap": "98 KiB" })
    );
}

/// Of packets 0 to 7, packets 2, 4 and 7 are lost.
#[test]
fn only_lost_packets_are_retransmitted_once() {
    let (mut sender, mut progress) = (sender(), Progress::default());
    send(&mut sender, &mut progress);
    ack(&mut sender, &mut progress, 1);
    ack(&mut sender, &mut progress, 2);
    assert_eq!(send(&mut sender, &mut progress), [8, 9]);
    // Packet 3 has arrived, so packet 2 is lost. The state of packet 4 and later packets is
    // unknown.
    assert!(nack(&mut sender, &mut progress, 2, 3));
    assert_eq!((send(&mut sender, &mut progress), sender.not_in_flight(&progress)), (vec![2], 1));
    // Packet 5 has arrived, so packet 4 is lost. The arrival of packet 6 changes nothing, and
    // packet 4 is not sent twice.
    assert!(!nack(&mut sender, &mut progress, 2, 5));
    assert_eq!(sender.not_in_flight(&progress), 3);
    assert_eq!((send(&mut sender, &mut progress), sender.not_in_flight(&progress)), (vec![4], 2));
    assert!(!nack(&mut sender, &mut progress, 2, 6));
    assert_eq!(send(&mut sender, &mut progress), NONE);
    // Packet 8 has arrived, so packet 7 is lost. The answer to packet 2 allows new packets.
    assert!(!nack(&mut sender, &mut progress, 2, 8));
    assert_eq!(send(&mut sender, &mut progress), [7]);
    ack(&mut sender, &mut progress, 4);
    assert_eq!(send(&mut sender, &mut progress), [10, 11]);
    ack(&mut sender, &mut progress, 7);
    // Recovery lasts until packets 0 to 9, sent before it began, are acknowledged. A NACK in
    // between reports no new loss.
    assert!(!nack(&mut sender, &mut progress, 7, 10));
    ack(&mut sender, &mut progress, 11);
    assert_eq!((progress.acked, sender.board.arrivals(), sender.board.recovers()), (11, 0, false));
    assert_eq!(send(&mut sender, &mut progress), [12, 13, 14, 15, 16, 17, 18]);
    assert!(nack(&mut sender, &mut progress, 11, 12));
}

/// Packets 0 to 7 are all lost. The oldest is retransmitted at the timeout. Its answer allows a new
/// packet. The answer to the new packet reports the other packets as lost, except packets that
/// arrive.
#[test]
fn after_a_timeout_the_oldest_is_lost_and_others_by_later_answers() {
    let (mut sender, mut progress) = (sender(), Progress::default());
    send(&mut sender, &mut progress);
    sender.on_timeout(&mut progress);
    // The window does not limit the retransmission: none of the eight packets counts as in flight.
    assert_eq!(sender.not_in_flight(&progress), 8);
    assert_eq!((send(&mut sender, &mut progress), sender.not_in_flight(&progress)), (vec![0], 0));
    ack(&mut sender, &mut progress, 1);
    assert_eq!(send(&mut sender, &mut progress), [8]);
    assert!(!nack(&mut sender, &mut progress, 1, 8));
    assert_eq!(send(&mut sender, &mut progress), [1, 2, 3, 4, 5, 6, 7]);
    // All packets but packet 3 are lost again. The next timeout covers all packets before 8.
    assert!(!nack(&mut sender, &mut progress, 1, 3));
    assert_eq!(send(&mut sender, &mut progress), NONE);
    sender.on_timeout(&mut progress);
    assert_eq!(send(&mut sender, &mut progress), [1, 2, 4, 5, 6, 7]);
}

/// Returns a sender that declares all packets lost at the timeout.
fn eager() -> Box<Sender> {
    let config = IrnConfig { timeout_loses: TimeoutLoses::All, bdp_cap: Some(Bytes(8 * 1024)), ..Default::default() };
    config.sender(&facts())
}

/// Of packets 0 to 7, only 5 arrives, and the answer to it is lost.
#[test]
fn with_all_a_timeout_loses_every_unarrived_packet() {
    let (mut sender, mut progress) = (eager(), Progress::default());
    send(&mut sender, &mut progress);
    assert_eq!(sender.timeout(&progress), Some(Duration::from_us(320)));
    sender.on_timeout(&mut progress);
    assert_eq!(sender.not_in_flight(&progress), 8);
    assert_eq!(send(&mut sender, &mut progress), [0, 1, 2, 3, 4, 5, 6, 7]);
    // All packets but 2 are lost again, and the timer fires again.
    assert!(!nack(&mut sender, &mut progress, 0, 2));
    assert_eq!(send(&mut sender, &mut progress), NONE);
    sender.on_timeout(&mut progress);
    assert_eq!(send(&mut sender, &mut progress), [0, 1, 3, 4, 5, 6, 7]);
    assert_eq!(sender.timeout(&Progress { next: 8, acked: 5, highest: 8 }), Some(Duration::from_us(100)));
    assert_eq!(sender.timeout(&Progress { next: 8, acked: 4, highest: 8 }), Some(Duration::from_us(320)));
}

/// Of packets 0 to 7, 0 and 4 are lost. Both are sent again, then 8 to 11. Packet 4 and 8 to 11 are
/// lost, so the timer fires during recovery.
#[test]
fn a_timeout_in_recovery_covers_all_sent_packets() {
    let (mut sender, mut progress) = (eager(), Progress::default());
    send(&mut sender, &mut progress);
    for arrived in [1, 2, 3, 5, 6, 7] {
        nack(&mut sender, &mut progress, 0, arrived);
    }
    assert_eq!(send(&mut sender, &mut progress), [0, 4]);
    sender.on_answer(&Answer { is_nack: false, expected: 4, arrived: Some(0), path: None }, &mut progress);
    assert_eq!(send(&mut sender, &mut progress), [8, 9, 10, 11]);
    sender.on_timeout(&mut progress);
    // The window is small, so packets are repeated one at a time.
    assert_eq!(sender.next(&progress, 100), Some(4));
    sender.on_sent(4, &mut progress);
    sender.on_answer(&Answer { is_nack: false, expected: 8, arrived: Some(4), path: None }, &mut progress);
    assert_eq!((sender.next(&progress, 100), sender.not_in_flight(&progress)), (Some(8), 4));
    assert_eq!(send(&mut sender, &mut progress), [8, 9, 10, 11, 12, 13, 14, 15]);
}

#[test]
fn late_answers_are_ignored() {
    let (mut sender, mut progress) = (sender(), Progress::default());
    send(&mut sender, &mut progress);
    ack(&mut sender, &mut progress, 6);
    assert!(!nack(&mut sender, &mut progress, 2, 4));
    ack(&mut sender, &mut progress, 3);
    assert_eq!((progress.acked, sender.board.arrivals(), sender.board.recovers()), (6, 0, false));
}

#[test]
fn receiver_keeps_early_packets_and_every_answer_is_a_nack() {
    let mut receiver = IrnConfig { bitmap: 4, ..Default::default() }.receiver();
    let mut on_data = |psn, expected| receiver.on_data(psn, expected, Time::ZERO);
    assert_eq!(on_data(0, 0), Verdict::Deliver { packets: 1 });
    assert_eq!(
        [on_data(3, 1), on_data(2, 1), on_data(3, 1)],
        [true, true, false].map(|is_kept| Verdict::Nack { is_kept })
    );
    // There is no place for packet 5, which would share the place of packet 1.
    assert_eq!(on_data(5, 1), Verdict::Ignore);
    assert_eq!(on_data(1, 1), Verdict::Deliver { packets: 3 });
    assert_eq!(on_data(2, 4), Verdict::Duplicate);
    // Delivered packets free their places: packets 6 and 7 use the places of packets 2 and 3.
    assert_eq!([on_data(4, 4), on_data(5, 5)], [Verdict::Deliver { packets: 1 }; 2]);
}

/// Of packets 0 to 7, packet 0 is lost. Recovery is over once packet 7 is acknowledged. The loss of
/// packet 8, sent later, is a new loss.
#[test]
fn recovery_ends_with_the_ack_of_packets_sent_before_it() {
    let (mut sender, mut progress) = (sender(), Progress::default());
    send(&mut sender, &mut progress);
    assert!(nack(&mut sender, &mut progress, 0, 1));
    assert_eq!(send(&mut sender, &mut progress), [0]);
    ack(&mut sender, &mut progress, 7);
    assert!(sender.board.recovers());
    assert_eq!(send(&mut sender, &mut progress), [8, 9, 10, 11, 12, 13, 14]);
    ack(&mut sender, &mut progress, 8);
    assert!(!sender.board.recovers());
    assert!(nack(&mut sender, &mut progress, 8, 9));
    assert_eq!(send(&mut sender, &mut progress), [8, 15]);
}

/// Bits are used again: a receiver of a long flow takes no more memory than one of a short flow.
#[test]
fn receiver_memory_is_bounded_by_its_bitmap() {
    let mut receiver = IrnConfig { bitmap: 64, ..Default::default() }.receiver();
    let mut sizes = std::collections::BTreeSet::new();
    for expected in (0..10_000).step_by(2) {
        receiver.on_data(expected + 1, expected, Time::ZERO);
        receiver.on_data(expected, expected, Time::ZERO);
        sizes.insert(receiver.get_heap_size());
    }
    assert_eq!(sizes.len(), 1);
}
