use super::*;
use crate::testing::{self, assert_near};
use backwater_engine::Duration;
use std::collections::BTreeSet;

/// Returns a sender with a line rate of 100 Gb/s and a base round-trip time of 8 us. Packets of 952
/// B take 1000 B on the wire, so that the line carries 100 packets in 8 us.
fn sender() -> SenderFacts {
    testing::sender(Rate::from_gbps(100), Duration::from_us(8))
}

/// Returns a flow that has sent packets 0 to 99 and does not probe.
fn flow(cwnd: f64) -> MpRdma {
    let config = MpRdmaConfig { probing: 0.0, ..Default::default() };
    MpRdma { cwnd, sent: 100, ..MpRdma::new(&config, &sender()) }
}

/// Returns the window after the ACK of packet `psn`, which took `path`.
fn ack(point: &mut MpRdma, psn: Psn, path: u16, is_marked: bool) -> f64 {
    if is_marked {
        point.on_cnp(Time::ZERO, Cnp::Congested(None));
    }
    let ack = testing::ack_view(Time::ZERO, [0, 0], Duration::from_us(8));
    point.on_ack(&AckView { arrived: Some(psn), path: Some(Entropy(path)), ..ack });
    point.cwnd
}

/// Returns the paths that ACKs have released, in the order of their use.
fn released(point: &MpRdma) -> Vec<u16> {
    point.released.iter().rev().map(|path| path.0).collect()
}

/// A window of 10 packets grows by 1/10, then by 1/10.1. Each mark takes off half a packet, but the
/// window is at least 1.
#[test]
fn the_window_grows_by_a_packet_per_round_trip_and_loses_half_a_packet_per_mark() {
    let mut point = flow(10.0);
    assert_near(ack(&mut point, 0, 1, false), 10.1);
    assert_near(ack(&mut point, 1, 1, false), 10.1 + 1.0 / 10.1);
    assert_near(ack(&mut point, 2, 1, true), 9.6 + 1.0 / 10.1);
    // A mark counts for one ACK only.
    point.cwnd = 4.0;
    assert_near(ack(&mut point, 3, 1, false), 4.25);
    assert_eq!(point.window(), 4 * 952);
    point.cwnd = 1.25;
    assert_eq!([ack(&mut point, 4, 1, true), ack(&mut point, 5, 1, true)], [1.0, 1.0]);
    assert_eq!((point.window(), ack(&mut point, 6, 1, false)), (952, 2.0));
}

/// If the window grows from 10 to 10.1, the ACK releases one packet, for the packet that left the
/// network. If the window grows from 9.95 to 10.05, past a whole number, the ACK releases one more
/// packet.
#[test]
fn an_ack_releases_a_packet_onto_its_path_and_two_where_the_window_has_grown_by_one() {
    let mut point = flow(10.0);
    ack(&mut point, 0, 7, false);
    assert_eq!(released(&point), [7]);
    assert_eq!(point.path(100, Time::ZERO), Some(Entropy(7)));
    point.cwnd = 9.95;
    ack(&mut point, 1, 8, false);
    assert_eq!(released(&point), [8, 8]);
    assert_eq!([101, 102].map(|psn| point.path(psn, Time::ZERO)), [Some(Entropy(8)); 2]);
    // No ACK has released these packets: they take the path of the last ACK, which was not late.
    assert_eq!([103, 104, 105].map(|psn| point.path(psn, Time::ZERO)), [Some(Entropy(8)); 3]);
    point.highest = 99;
    ack(&mut point, 2, 9, false);
    assert_eq!([106, 107].map(|psn| point.path(psn, Time::ZERO)), [Some(Entropy(8)); 2]);
}

/// If the window shrinks from 10 to 9.5, nine packets may be in flight. Nine are in flight, so none
/// is released. If the window shrinks from 9.5 to 9, nine packets may still be in flight. The ACK
/// then releases one packet, for the packet that left the network.
#[test]
fn every_other_mark_takes_a_packet_from_its_path() {
    let mut point = flow(10.0);
    ack(&mut point, 0, 7, true);
    assert_eq!(released(&point), [0; 0]);
    ack(&mut point, 1, 8, true);
    assert_eq!(released(&point), [8]);
    // At the smallest window, an ACK with a mark still releases a packet.
    point.cwnd = 1.0;
    ack(&mut point, 2, 9, true);
    assert_eq!(released(&point), [9, 8][..1]);
}

/// Packet 40 is the highest acknowledged packet. Packet 8 is 32 packets behind packet 40, and
/// packet 7 is 33 packets behind packet 40.
#[test]
fn an_ack_too_far_behind_does_not_release_its_path() {
    let mut point = flow(20.0);
    ack(&mut point, 40, 1, false);
    point.cwnd = 20.0;
    assert_near(ack(&mut point, 8, 2, false), 20.05);
    assert_eq!(released(&point), [2, 1]);
    point.cwnd = 20.0;
    assert_near(ack(&mut point, 7, 3, false), 19.05);
    // The cut is added to the effect of a mark. The window stays at least one packet.
    assert_near(ack(&mut point, 6, 3, true), 17.55);
    assert_eq!(released(&point), [2, 1]);
    point.cwnd = 1.5;
    assert_eq!(ack(&mut point, 5, 3, true), 1.0);
    // A packet is late if it is far behind the highest acknowledged packet, not behind the packet
    // acknowledged last.
    assert_eq!((point.highest, ack(&mut point, 41, 4, true)), (40, 1.0));
    assert_eq!(released(&point), [4]);
}

/// Without a cut, an ACK of a slow path changes the window like any other ACK. Packets sent next do
/// not take the slow path.
#[test]
fn a_slow_path_may_leave_the_window_as_it_is() {
    let mut point = MpRdma { slow_path_cut: 0.0, highest: 99, ..flow(20.0) };
    assert_near(ack(&mut point, 3, 2, false), 20.05);
    assert_near(ack(&mut point, 4, 2, true), 19.55);
    assert_eq!(released(&point), [0; 0]);
    assert_ne!(point.path(100, Time::ZERO), Some(Entropy(2)));
}

/// An ACK of a packet that was sent twice does not tell which copy arrived. The ACK does not count
/// as late, since the second copy was sent later.
#[test]
fn acks_of_retransmissions_identify_no_path() {
    let mut point = MpRdma { highest: 99, ..flow(20.0) };
    point.path(10, Time::ZERO);
    point.path(5, Time::ZERO);
    assert_near(ack(&mut point, 10, 2, false), 20.05);
    assert_eq!(released(&point), [2]);
    for psn in [11, 7] {
        point.cwnd = 20.0;
        assert_near(ack(&mut point, psn, 2, false), 19.05);
    }
}

/// There are 65,536 paths: of a thousand packets, hardly two take the same path. Each eighth of the
/// paths is taken by an eighth of the packets, within five standard deviations.
#[test]
fn the_first_window_is_a_bdp_on_random_paths() {
    let config = MpRdmaConfig::default();
    let mut point = MpRdma::new(&config, &sender());
    assert_eq!((point.rate(Time::ZERO), point.window()), (Rate::from_gbps(100), 100 * 952));
    let paths: Vec<_> = (0..1000).filter_map(|psn| point.path(psn, Time::ZERO)).collect();
    assert!(paths.iter().collect::<BTreeSet<_>>().len() > 970);
    for part in 0..8 {
        let count = paths.iter().filter(|path| path.0 / 8192 == part).count();
        assert!(count.abs_diff(125) < 53, "{part}: {count}");
    }
    // Another flow takes other paths. The same flow takes the same paths again.
    let first = |identity| {
        let facts = SenderFacts { identity, ..sender() };
        let mut point = MpRdma::new(&config, &facts);
        [0, 1].map(|psn| point.path(psn, Time::ZERO))
    };
    assert_eq!(first(0), [Some(paths[0]), Some(paths[1])]);
    assert_ne!(first(77), first(0));
}

/// Of 100,000 packets released onto path 7, 1000 take a new path, within five standard deviations.
/// A few of these get path 7 again by chance.
#[test]
fn a_released_packet_takes_a_new_path_now_and_then() {
    let probes = |probing| {
        let mut point = MpRdma { probing, ..flow(10.0) };
        let mut draw = |psn| {
            point.released.push_back(Entropy(7));
            point.path(psn, Time::ZERO)
        };
        (0..100_000).filter(|psn| draw(100 + psn) != Some(Entropy(7))).count()
    };
    assert_eq!(probes(0.0), 0);
    assert!(probes(MpRdmaConfig::default().probing).abs_diff(1000) < 158);
    assert!(probes(1.0) > 99_900);
}

/// While the port is closed, the newest paths are kept, one per packet of the window.
#[test]
fn released_paths_wait_while_the_port_is_closed() {
    let mut point = flow(4.0);
    (0..100).for_each(|psn| _ = ack(&mut point, psn, psn as u16, true));
    assert_eq!((point.cwnd, released(&point)), (1.0, vec![99]));
    // The window grows to 4.25, 4.49, 4.71, 4.92 and 5.12: the fifth ACK releases two packets.
    point.cwnd = 4.0;
    (100..106).for_each(|psn| _ = ack(&mut point, psn, psn as u16, false));
    assert_eq!((point.packets(), released(&point)), (5, vec![105, 104, 104, 103, 102]));
    let sent = [110, 111, 112].map(|psn| point.path(psn, Time::ZERO));
    assert_eq!(sent, [105, 104, 104].map(|path| Some(Entropy(path))));
}

#[test]
fn a_timeout_resets_the_flow() {
    let mut point = flow(3.0);
    ack(&mut point, 0, 7, false);
    let before = point.cwnd;
    point.on_loss(Time::ZERO, LossSignal::Nack);
    assert_eq!((point.cwnd, released(&point)), (before, vec![7]));
    point.on_loss(Time::ZERO, LossSignal::TimedOut);
    assert_eq!((point.cwnd, released(&point)), (100.0, vec![]));
    let own = [0, 1, 2].map(|psn| point.path(psn, Time::ZERO));
    assert_eq!(own.iter().collect::<BTreeSet<_>>().len(), 3);
    let config = MpRdmaConfig { initial_cwnd: Some(12.0), ..Default::default() };
    let mut point = MpRdma { cwnd: 3.0, ..MpRdma::new(&config, &sender()) };
    point.on_loss(Time::ZERO, LossSignal::TimedOut);
    assert_eq!(point.window(), 12 * 952);
}

/// A rate of 40 Gb/s carries 40 packets in 8 us, which become the window. Until the next ACK,
/// packets are paced at this rate. A rate of 1 Mb/s gives the smallest window, one packet.
#[test]
fn set_rate_sets_the_window() {
    let mut point = flow(100.0);
    for (set, rate, cwnd) in [(40_000, 40_000, 40.0), (200_000, 100_000, 100.0), (1, 1, 1.0)] {
        point.set_rate(Time::ZERO, Rate::from_bps(set * 1_000_000));
        assert_eq!((point.rate(Time::ZERO), point.cwnd), (Rate::from_bps(rate * 1_000_000), cwnd));
    }
    ack(&mut point, 0, 7, false);
    assert_eq!(point.rate(Time::ZERO), Rate::from_gbps(100));
}

#[test]
fn one_threshold_marks_unless_two_are_set() {
    let kb = |kb: u64| Bytes(kb * 1000);
    let thresholds = |config: &MarkConfig| [40, 100].map(|gbps| config.ecn().thresholds(Rate::from_gbps(gbps)));
    let default = MarkConfig::default();
    assert_eq!((thresholds(&default), default.ecn().pmax), ([(kb(60), kb(60)); 2], 1.0));
    let scaled = MarkConfig { rate: Some(Rate::from_gbps(40)), ..default.clone() };
    assert_eq!(thresholds(&scaled), [(kb(60), kb(60)), (kb(150), kb(150))]);
    let other = MarkConfig { kmin: kb(400), kmax: Some(kb(1600)), pmax: 0.2, ..default.clone() };
    assert_eq!((thresholds(&other), other.ecn().pmax), ([(kb(400), kb(1600)); 2], 0.2));
    assert_eq!(thresholds(&MarkConfig { kmax: Some(kb(120)), ..default }), [(kb(60), kb(120)); 2]);
}

#[test]
fn every_mark_is_echoed_and_nothing_else() {
    let notification = [true, false].map(|marked| MarkEcho.on_data(Time::ZERO, marked, 1000));
    assert_eq!(notification.map(|notification| (notification.echo, notification.cnp)), [(true, None), (false, None)]);
}
