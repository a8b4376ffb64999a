use super::*;
use crate::ids::NodeId;
use crate::model::io::NodeIo;
use crate::testing::{fabric, node_io, port, star};
use backwater_engine::random::Seed;

const FLOW: FlowKey = FlowKey(7);
const ALL: [PortIx; 4] = [PortIx(0), PortIx(1), PortIx(2), PortIx(3)];

fn at(ns: u64) -> Time {
    Time::from_ps(ns * 1000)
}

/// Returns a node with four ports, of which the ports in `down` are down.
fn ports(down: &[u16]) -> NodeIo {
    let mut node = node_io((0..4).map(|_| port(100)).collect());
    down.iter().for_each(|port| node.ports[PortIx(*port)].fail());
    node
}

/// Returns a table with a timeout of 100 ns and ageing after 1 us.
fn flowlets() -> Flowlets {
    with_gaps(Gaps::Exact)
}

fn with_gaps(gaps: Gaps) -> Flowlets {
    Flowlets::new(Duration::from_ns(100), gaps, Duration::from_us(1))
}

/// Returns the port of a packet, and whether the packet starts a flowlet with or without a known
/// last port. A new flowlet takes the port `new`.
fn packet(flowlets: &mut Flowlets, flow: FlowKey, now: Time, node: &mut NodeIo, new: usize) -> (usize, Asked) {
    let fabric = fabric(star(2));
    let mut asked = Asked::No;
    let view = View::new(now, &fabric, node);
    let way = flowlets.way(flow, &ALL, &view, |before| {
        asked = before.map_or(Asked::Unknown, Asked::After);
        new
    });
    (way, asked)
}

#[derive(Debug, PartialEq)]
enum Asked {
    No,
    Unknown,
    After(usize),
}

#[test]
fn a_flowlet_ends_with_a_gap_longer_than_the_timeout() {
    let (mut flowlets, mut node) = (flowlets(), ports(&[]));
    assert_eq!(packet(&mut flowlets, FLOW, at(0), &mut node, 2), (2, Asked::Unknown));
    // Every packet extends a flowlet: the third is 200 ns after the first, and 100 ns after the
    // second.
    assert_eq!(packet(&mut flowlets, FLOW, at(100), &mut node, 3), (2, Asked::No));
    assert_eq!(packet(&mut flowlets, FLOW, at(200), &mut node, 3), (2, Asked::No));
    let late = Time::from_ps(300_001);
    assert_eq!(packet(&mut flowlets, FLOW, late, &mut node, 3), (3, Asked::After(2)));
    assert_eq!(packet(&mut flowlets, FLOW, at(400), &mut node, 0), (3, Asked::No));
    // Another flow has a flowlet of its own.
    assert_eq!(packet(&mut flowlets, FlowKey(8), at(400), &mut node, 0), (0, Asked::Unknown));
}

/// The age bit is set at 100, 200, ... ns, and a packet clears it. After a packet at 110 ns, the
/// bit is set at 200 ns and the flowlet ends at 300 ns. After a packet at 199 ns, the flowlet also
/// ends at 300 ns.
#[test]
fn an_age_bit_ends_a_flowlet_after_one_to_two_timeouts() {
    for (last, next, ends) in
        [(110, 299, false), (110, 300, true), (199, 299, false), (199, 300, true), (200, 399, false)]
    {
        let (mut flowlets, mut node) = (with_gaps(Gaps::AgeBit), ports(&[]));
        packet(&mut flowlets, FLOW, at(last), &mut node, 1);
        let (way, _) = packet(&mut flowlets, FLOW, at(next), &mut node, 2);
        assert_eq!(way, if ends { 2 } else { 1 }, "{last} {next}");
    }
}

/// The last port is remembered for exactly 1 us, at whatever time within a period of 1 us the
/// packet arrives.
#[test]
fn a_flow_is_remembered_until_it_is_too_old() {
    for start in [0, 1, 999_999, 1_500_000] {
        for (gap, asked) in [(1_000_000, Asked::After(1)), (1_000_001, Asked::Unknown), (5_000_000, Asked::Unknown)] {
            let (mut flowlets, mut node) = (flowlets(), ports(&[]));
            packet(&mut flowlets, FLOW, Time::from_ps(start), &mut node, 1);
            let found = packet(&mut flowlets, FLOW, Time::from_ps(start + gap), &mut node, 3);
            assert_eq!(found, (3, asked), "{start} {gap}");
        }
    }
}

/// 100 flows per us have one packet each. The table never holds more than the flows of two periods.
#[test]
fn ended_flows_are_removed() {
    let (mut flowlets, mut node) = (flowlets(), ports(&[]));
    for flow in 0..2000 {
        packet(&mut flowlets, FlowKey(flow), at(flow * 10), &mut node, 0);
        assert!(flowlets.flows.len() <= 200);
    }
    packet(&mut flowlets, FLOW, at(1_000_000), &mut node, 0);
    assert_eq!(flowlets.flows.len(), 1);
}

#[test]
fn a_flowlet_whose_link_is_down_chooses_at_once() {
    let (mut flowlets, mut up) = (flowlets(), ports(&[]));
    packet(&mut flowlets, FLOW, at(0), &mut up, 1);
    assert_eq!(packet(&mut flowlets, FLOW, at(10), &mut ports(&[0, 2]), 3), (1, Asked::No));
    assert_eq!(packet(&mut flowlets, FLOW, at(20), &mut ports(&[1]), 3), (3, Asked::After(1)));
    // If no link is up, the flow stays on its port.
    assert_eq!(packet(&mut flowlets, FLOW, at(30), &mut ports(&[0, 1, 2, 3]), 0), (3, Asked::No));
}

/// A flow keeps its port when routes change, at any position of the port among the candidates. If
/// the port is no longer a candidate, the flow chooses anew.
#[test]
fn a_flowlet_keeps_to_its_port() {
    let (mut flowlets, mut node, fabric) = (flowlets(), ports(&[]), fabric(star(2)));
    let mut way = |ns, candidates: &[u16]| {
        let view = View::new(at(ns), &fabric, &mut node);
        let candidates: Vec<PortIx> = candidates.iter().copied().map(PortIx).collect();
        flowlets.way(FLOW, &candidates, &view, |before| before.unwrap_or(0))
    };
    assert_eq!(way(0, &[2, 3]), 0);
    assert_eq!(way(10, &[0, 1, 2, 3]), 2);
    assert_eq!(way(20, &[1, 3]), 0);
    assert_eq!(way(30, &[0, 1]), 1);
    // After a gap, the previous port is found at its new position.
    assert_eq!(way(500, &[3, 0, 1]), 2);
}

#[test]
fn only_links_that_are_up_are_candidates() {
    let fabric = fabric(star(2));
    let mut draws = Seed(1).stream("test", 0);
    for (down, left) in [(vec![], vec![0, 1, 2, 3]), (vec![0, 2], vec![1, 3]), (vec![0, 1, 2, 3], vec![0, 1, 2, 3])] {
        let mut node = ports(&down);
        let view = View::new(Time::ZERO, &fabric, &mut node);
        assert_eq!(usable(&ALL, &view).collect::<Vec<_>>(), left);
        let mut counts = [0u32; 4];
        (0..4000).for_each(|_| counts[any_of(usable(&ALL, &view), &mut draws).unwrap()] += 1);
        // Five standard deviations of 4000 draws are at most 158.
        let fair = 4000 / left.len() as u32;
        assert!((0..4).all(|way| counts[way].abs_diff(if left.contains(&way) { fair } else { 0 }) < 158));
    }
}

/// Packets sent by hash take ECMP's port, and only packets whose link is down take another port.
#[test]
fn a_hash_avoids_links_that_are_down() {
    let (fabric, hash) = (fabric(star(2)), FlowHash::new(Seed(1), NodeId(5)));
    let ways = |down: &[u16]| {
        let mut node = ports(down);
        let view = View::new(Time::ZERO, &fabric, &mut node);
        (0..400).map(|flow| by_hash(hash, FlowKey(flow), &ALL, &view)).collect::<Vec<_>>()
    };
    let all: Vec<_> = (0..400).map(|flow| hash.index(FlowKey(flow), 4)).collect();
    assert_eq!([ways(&[]), ways(&[0, 1, 2, 3])], [all.clone(), all.clone()]);
    for (before, now) in all.iter().zip(ways(&[1, 2])) {
        assert!(if [0, 3].contains(before) { now == *before } else { [0, 3].contains(&now) });
    }
}

/// Packets of dead links are spread: of some 200 flows, each of the two remaining links gets half,
/// within five standard deviations of 35.
#[test]
fn a_hash_spreads_the_flows_of_dead_links_over_those_that_are_up() {
    let (fabric, hash, mut node) = (fabric(star(2)), FlowHash::new(Seed(1), NodeId(5)), ports(&[1, 2]));
    let view = View::new(Time::ZERO, &fabric, &mut node);
    let of_dead = (0..400).map(FlowKey).filter(|flow| [1, 2].contains(&hash.index(*flow, 4)));
    let mut counts = [0u32; 4];
    of_dead.for_each(|flow| counts[by_hash(hash, flow, &ALL, &view)] += 1);
    assert!(counts[0].abs_diff(counts[3]) < 2 * 35 && counts[0] + counts[3] > 150, "{counts:?}");
}
