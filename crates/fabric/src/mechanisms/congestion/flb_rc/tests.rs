use super::*;
use crate::ids::{FlowId, NodeId};
use crate::testing::{ack_view, at_us as at, sender};

/// Returns a reaction point with a base round-trip time of 8 us, so that the BDP is 100 KB.
fn reaction_point() -> FlbRc {
    FlbRc::new(&FlbRcConfig::default(), &sender(Rate::from_gbps(100), Duration::from_us(8)))
}

fn hear(point: &mut FlbRc, us: u64, from: u32, cnm: Cnm) {
    let notice = Notice { protocol: FLB, from: PortId(from), flow: FlowId(0), to: NodeId(0), words: cnm.words() };
    point.on_notice(at(us), &notice);
}

/// Returns the rate in Mb/s, and the window.
fn state(point: &mut FlbRc, us: u64) -> (u64, u64) {
    (point.rate(at(us)).bps() / 1_000_000, point.window())
}

const FREE: (u64, u64) = (100_000, u64::MAX);

fn ack(point: &mut FlbRc) {
    point.on_ack(&ack_view(at(1), [1, 1], Duration::ZERO));
}

#[test]
fn a_bdp_may_be_in_flight_until_the_first_ack() {
    let mut point = reaction_point();
    assert_eq!(state(&mut point, 0), (100_000, 100_000));
    ack(&mut point);
    assert_eq!(state(&mut point, 1), FREE);
}

#[test]
fn a_notice_that_ends_a_congestion_tells_of_none() {
    let tells = |cnm: Cnm| {
        let notice = Notice { protocol: FLB, from: PortId(7), flow: FlowId(0), to: NodeId(0), words: cnm.words() };
        reaction_point().signals_congestion(&notice)
    };
    assert!(tells(Cnm::Congested { flows: 4 }));
    assert!(!tells(Cnm::Clear { flows: 4 }));
}

/// A notice of congestion stops the flow, and the notice that congestion has ended lets the flow
/// continue at C / n. After a round trip without notices, the flow has line rate.
#[test]
fn a_flow_stops_and_goes_on_at_its_share() {
    let mut point = reaction_point();
    ack(&mut point);
    hear(&mut point, 1, 7, Cnm::Congested { flows: 4 });
    assert_eq!((state(&mut point, 1).1, point.wake_at()), (0, at(1001)));
    hear(&mut point, 5, 7, Cnm::Congested { flows: 10 });
    hear(&mut point, 6, 7, Cnm::Congested { flows: 5 });
    assert_eq!((state(&mut point, 6).1, point.wake_at()), (0, at(1006)));
    hear(&mut point, 20, 7, Cnm::Clear { flows: 1 });
    assert_eq!((state(&mut point, 20), point.wake_at()), ((10_000, u64::MAX), at(28)));
    // The flow is congested again: its rate follows the largest n.
    hear(&mut point, 22, 7, Cnm::Congested { flows: 20 });
    hear(&mut point, 30, 7, Cnm::Clear { flows: 1 });
    assert_eq!(state(&mut point, 30), (5_000, u64::MAX));
    point.on_wake(at(38));
    assert_eq!((state(&mut point, 38), point.wake_at()), (FREE, Time::NEVER));
    // Earlier notices no longer count.
    hear(&mut point, 40, 7, Cnm::Congested { flows: 2 });
    hear(&mut point, 41, 7, Cnm::Clear { flows: 1 });
    assert_eq!(state(&mut point, 41), (50_000, u64::MAX));
    // The first notice about the first flow of a burst counts only one flow. The later notice
    // counts 25.
    hear(&mut point, 42, 7, Cnm::Congested { flows: 1 });
    hear(&mut point, 43, 7, Cnm::Clear { flows: 25 });
    assert_eq!(state(&mut point, 43), (4_000, u64::MAX));
}

#[test]
fn all_ports_must_be_clear() {
    let mut point = reaction_point();
    ack(&mut point);
    hear(&mut point, 1, 7, Cnm::Congested { flows: 4 });
    hear(&mut point, 1, 8, Cnm::Congested { flows: 2 });
    hear(&mut point, 2, 7, Cnm::Clear { flows: 1 });
    hear(&mut point, 2, 9, Cnm::Clear { flows: 1 });
    assert_eq!(state(&mut point, 2).1, 0);
    hear(&mut point, 3, 8, Cnm::Clear { flows: 1 });
    assert_eq!(state(&mut point, 3), (25_000, u64::MAX));
}

/// The notice that congestion has ended is lost.
#[test]
fn a_flow_without_notices_continues_after_the_timeout() {
    let mut point = reaction_point();
    ack(&mut point);
    hear(&mut point, 1, 7, Cnm::Congested { flows: 4 });
    point.on_wake(at(1001));
    assert_eq!((state(&mut point, 1001), point.wake_at()), ((25_000, u64::MAX), at(1009)));
    hear(&mut point, 1002, 7, Cnm::Clear { flows: 1 });
    assert_eq!(point.wake_at(), at(1009));
}

/// Another control sets 40 of 100 Gb/s. A continued flow gets the smaller of this rate and C / n:
/// with n = 2 it gets 40 instead of 50 Gb/s, and with n = 10 it gets 10 Gb/s. Line rate is the
/// maximum.
#[test]
fn rate_set_by_another_control_is_the_maximum() {
    let mut point = reaction_point();
    ack(&mut point);
    point.set_rate(at(1), Rate::from_gbps(40));
    assert_eq!(state(&mut point, 1), (40_000, u64::MAX));
    for (flows, rate) in [(2, 40_000), (10, 10_000)] {
        hear(&mut point, 2, 7, Cnm::Congested { flows });
        hear(&mut point, 3, 7, Cnm::Clear { flows: 1 });
        assert_eq!(state(&mut point, 3), (rate, u64::MAX));
    }
    point.on_wake(at(11));
    assert_eq!(state(&mut point, 11), (40_000, u64::MAX));
    point.set_rate(at(12), Rate::from_gbps(400));
    assert_eq!(state(&mut point, 12), FREE);
}

#[test]
fn notices_of_other_protocols_are_ignored() {
    let mut point = reaction_point();
    let words = Cnm::Congested { flows: 4 }.words();
    let protocol = Protocol::named("another");
    point.on_notice(at(1), &Notice { protocol, from: PortId(1), flow: FlowId(0), to: NodeId(0), words });
    assert_eq!(state(&mut point, 1), (100_000, 100_000));
}
