//! Pyrrha when a root gives up in favour of another root: packet scripts of one switch, to the
//! picosecond, and the order of packets.

use crate::common::random::pyrrha_configs;
use crate::prelude::*;
use crate::pyrrha::{
    DELAY_NS, Line, P7, W, X, Y, at_port, isolated, line, merge, own_roots, packets, pause, resume, signals,
};
use backwater_fabric::mechanisms::flow_control::pyrrha::{MergePolicy, PyrrhaFrame, SoftMerge, State};
use proptest::prelude::*;

/// Returns switch 8, whose port to switch 9 has nominated itself as a root, with the identifiers of
/// this port and of another root behind switch 9.
fn false_positive(config: PyrrhaConfig) -> (Script, PortId, PortId) {
    let flows = vec![packets(0, 3, 10_000), packets(5, 4, 10_000), packets(6, 3, 10_000)];
    let mut s = Script::new(&line(config), flows, 8);
    let (p1, p5) = (s.port(3).id, s.fabric.wiring.ports_of(NodeId(9))[1].id);
    s.link_change(0, 3, false);
    for psn in 0..12 {
        for port in 0..3 {
            s.arrive_data(u64::from(psn) * 80_000, port, port.into(), psn);
        }
    }
    assert_eq!(signals(&mut s, 1_000_000).len(), 3, "a PAUSE to each of the three");
    assert_eq!(own_roots(&s.node), [p1]);
    (s, p1, p5)
}

#[test]
fn a_root_gives_up_for_one_further_down_once() {
    let (mut s, p1, p5) = false_positive(PyrrhaConfig { merge: MergePolicy::Any, ..Default::default() });
    s.arrive_pyrrha(1_000_000, 3, pause(p5, 1));
    assert_eq!(at_port(&s.node, 3), [(p5, State::Paused)]);
    assert_eq!(own_roots(&s.node), []);
    let merge = Content::Pyrrha(PyrrhaFrame::Merge { old: p1, new: p5, distance: 2 });
    let frames: Vec<_> = signals(&mut s, 1_500_000).into_iter().map(|(_, port, content)| (port, content)).collect();
    assert_eq!(frames.len(), 3);
    for port in 0..3 {
        assert!(frames.contains(&(port, merge.clone())), "{frames:?}");
    }
    assert_eq!(s.counted("merge_frames"), 3);
    // No second MERGE is sent, because the new root is known.
    s.arrive_pyrrha(2_000_000, 3, resume(p5));
    s.arrive_pyrrha(2_100_000, 3, pause(p5, 1));
    assert!(signals(&mut s, 2_500_000).iter().all(|(.., content)| *content != merge));
    // With the default policy, only a port that leads closer to hosts gives up. Switch 9 is no
    // closer to hosts than switch 8.
    let (mut s, p1, p5) = false_positive(PyrrhaConfig::default());
    s.arrive_pyrrha(1_000_000, 3, pause(p5, 1));
    assert_eq!((signals(&mut s, 1_500_000), own_roots(&s.node)), (vec![], vec![p1]));
}

/// An upstream switch receives a MERGE. Packets that pass the new root wait for it, all other
/// packets continue, and the old root's queue is released.
#[test]
fn a_merge_separates_packets_that_pass_the_new_root() {
    for soft_merge in [SoftMerge::Flush, SoftMerge::Drain] {
        let (mut line, p6, p5) = Line::paused(PyrrhaConfig { soft_merge, ..Default::default() });
        for (flow, round) in [X, Y, X, Y].into_iter().zip(1..) {
            line.packet(round * 100_000, flow);
        }
        assert_eq!(line.leave(1_000_000), []);
        line.frame(1_000_000, merge(p6, p5));
        let after = line.queues();
        if soft_merge == SoftMerge::Drain {
            assert!(after.contains(&(p6, State::SoftMerging)), "{after:?}");
        }
        line.frame(1_000_000, pause(p5, 2));
        // The first packet of X was released just before the PAUSE about P5 arrived; the second
        // waits.
        let mut left = line.leave(5_000_000);
        left.sort_unstable();
        assert_eq!(left, [(X, 0), (Y, 0), (Y, 1)], "{soft_merge:?}");
        assert_eq!(line.queues(), [(p5, State::Paused)]);
        line.frame(6_000_000, resume(p5));
        assert_eq!(line.leave(7_000_000), [(X, 1)]);
        assert_eq!(isolated(&line.s.node), []);
    }
}

/// While packets of a root that has given up still leave, a second MERGE names another successor.
/// The empty queue of the first successor is released at once.
#[test]
fn a_second_merge_releases_the_first_successors_queue() {
    let mut line = Line::new(PyrrhaConfig {
        soft_merge: SoftMerge::Drain,
        merge_grace: Some(Duration::ZERO),
        ..Default::default()
    });
    let (p6, p5, p4) = (line.p6, line.p5, line.p4);
    line.frame(0, pause(p6, 1));
    line.packets(100_000, 100_000, Y, 4);
    line.frame(1_000_000, merge(p6, p5));
    assert_eq!(line.queues(), [(p6, State::SoftMerging), (p5, State::Resumed)]);
    line.frame(1_010_000, merge(p6, p4));
    assert_eq!(line.queues(), [(p6, State::SoftMerging), (p4, State::Resumed)]);
    assert_eq!(line.leave(5_000_000), [(Y, 0), (Y, 1), (Y, 2), (Y, 3)]);
    line.assert_released();
}

/// Packets that pass a root that has given up are no longer controlled. They trigger no PAUSE,
/// however many arrive.
#[test]
fn a_queue_whose_root_has_given_up_pauses_nobody() {
    for gives_up in [false, true] {
        let (mut line, p6, p5) = Line::paused(PyrrhaConfig { soft_merge: SoftMerge::Drain, ..Default::default() });
        line.packets(100_000, 0, Y, 20);
        if gives_up {
            line.frame(1_000_000, merge(p6, p5));
        }
        // With these packets, the queue exceeds two one-hop BDPs, 30,000 B.
        line.packets(1_000_000, 0, Y, 20);
        let bytes = isolated(&line.s.node).iter().find(|queue| queue.root == p6).unwrap().bytes;
        assert!(bytes > 35_000, "{bytes}");
        let frames = line.s.sent_until(1_010_000, 0);
        assert_eq!(frames.is_empty(), gives_up, "{frames:?}");
    }
}

/// The own-root rule applies to a MERGE whose new root is a port of this switch: the switch creates
/// no queue and returns "unassigned" at once.
#[test]
fn a_merge_for_an_own_port_is_declined() {
    let mut line = Line::new(PyrrhaConfig { soft_merge: SoftMerge::Drain, ..Default::default() });
    let (p6, own) = (line.p6, line.s.port(0).id);
    line.frame(0, pause(p6, 1));
    line.packets(100_000, 0, Y, 4);
    line.frame(1_000_000, PyrrhaFrame::Merge { old: p6, new: own, distance: 1 });
    assert_eq!(line.queues(), [(p6, State::SoftMerging)]);
    let gone = Content::Pyrrha(PyrrhaFrame::Unassigned { root: own });
    assert_eq!(signals(&mut line.s, 2_000_000), [(1_000_000, P7, gone)]);
    line.assert_released();
}

/// A link recovers while a frame is still on the wire. Packets isolated for roots behind the link
/// are no longer controlled. The neighbour that was paused because of these packets is resumed at
/// once, before any of them has left.
#[test]
fn a_recovered_link_resumes_neighbours_paused_for_its_queues() {
    let mut line = Line::new(PyrrhaConfig { soft_merge: SoftMerge::Drain, ..Default::default() });
    let p6 = line.p6;
    line.frame(0, pause(p6, 1));
    line.packets(100_000, 0, Y, 31);
    assert_eq!(line.s.sent_until(500_000, 0), [(100_000, Content::Pyrrha(pause(p6, 2)))]);
    // The packet of W is on the wire until 1,080,000 ps.
    line.packet(1_000_000, W);
    line.s.link_change(1_010_000, P7, false);
    line.s.link_change(1_020_000, P7, true);
    assert_eq!(line.s.sent_until(2_000_000, 0), [(1_020_000, Content::Pyrrha(resume(p6)))]);
}

/// Packets still wait from the instant at which a root gives up until its MERGE arrives. This time
/// is one link delay, or less if the PAUSE arrived later.
#[test]
fn time_around_a_merge_is_counted() {
    for organisation in [Organisation::Hierarchical, Organisation::SingleTier] {
        for (merge_at, waited_ns) in [(200_000, 200), (5_000_000, DELAY_NS)] {
            let (mut line, p6, p5) = Line::paused(PyrrhaConfig { organisation, ..Default::default() });
            line.packet(0, Y);
            line.frame(merge_at, merge(p6, p5));
            assert_eq!(line.s.given_up(), Duration::from_ns(waited_ns), "{organisation:?}");
        }
    }
}

/// The link fails while the queue of a root that has given up still drains. Afterwards, this queue
/// and the queue of the root's successor are released.
#[test]
fn a_link_that_recovers_during_a_merge_releases_both_queues() {
    let (mut line, p6, p5) = Line::paused(PyrrhaConfig { soft_merge: SoftMerge::Drain, ..Default::default() });
    line.packets(100_000, 100_000, Y, 4);
    line.frame(1_000_000, merge(p6, p5));
    assert_eq!(line.queues(), [(p6, State::SoftMerging), (p5, State::Resumed)]);
    line.s.link_change(1_010_000, P7, false);
    line.s.link_change(2_000_000, P7, true);
    assert_eq!(line.leave(5_000_000), [(Y, 0), (Y, 1), (Y, 2), (Y, 3)]);
    line.assert_released();
}

// ------------------------------------------------------------------------------------------- order

/// An event at switch 7.
#[derive(Clone, Copy, Debug)]
enum Event {
    Packet(u32),
    Pause(usize),
    Resume(usize),
    /// The first root gives up in favour of this root.
    Merge(usize),
}

fn events() -> impl Strategy<Value = Vec<(Event, u64)>> {
    let one = prop_oneof![
        6 => (0u32..3).prop_map(Event::Packet),
        2 => (0usize..3).prop_map(Event::Pause),
        2 => (0usize..3).prop_map(Event::Resume),
        1 => (1usize..3).prop_map(Event::Merge),
    ];
    prop::collection::vec((one, 1u64..200_000), 1..300)
}

/// The first PAUSE and RESUME of a root end the grace time of the root's queue, which a MERGE
/// created.
#[test]
fn a_pause_and_resume_within_the_grace_time_release_the_queue() {
    let unassigned = |at, root| (at, P7, Content::Pyrrha(PyrrhaFrame::Unassigned { root }));
    let mut line = Line::new(PyrrhaConfig { merge_grace: Some(Duration::from_us(20)), ..Default::default() });
    let (p6, p5) = (line.p6, line.p5);
    line.frame(0, pause(p6, 1));
    line.frame(1_000_000, merge(p6, p5));
    line.frame(2_000_000, pause(p5, 2));
    line.frame(5_000_000, resume(p5));
    assert_eq!(signals(&mut line.s, 200_000_000), [unassigned(5_000_000, p5)]);
}

#[test]
fn the_most_queues_filled_is_a_peak() {
    let (mut line, p6, p5) =
        Line::paused(PyrrhaConfig { organisation: Organisation::SingleTier, ..Default::default() });
    line.frame(0, pause(p5, 2));
    line.packet(80_000, Y);
    line.packet(160_000, X);
    assert_eq!(line.s.port(P7).most_filled_queues(), 2);
    line.frame(1_000_000, resume(p6));
    line.frame(1_000_000, resume(p5));
    let _ = line.s.sent_until(3_000_000, P7);
    line.frame(3_000_000, pause(p6, 1));
    line.packet(3_100_000, Y);
    assert_eq!(line.s.port(P7).most_filled_queues(), 2);
}

proptest! {
    #![proptest_config(common::cases(1000))]

    /// Whatever frames arrive at whatever times, the packets of a flow leave in order of arrival,
    /// and all packets leave in the end.
    #[test]
    fn no_packet_of_a_flow_overtakes_another_in_a_switch(
        events in events(), config in pyrrha_configs(), queues in 1u16..4,
    ) {
        let mut line = Line::new(PyrrhaConfig { isolation_queues: queues, ..config });
        let roots = [(line.p6, 1), (line.p5, 2), (line.p4, 2)];
        let mut now = 0;
        for (event, gap) in events {
            now += gap;
            match event {
                Event::Packet(flow) => line.packet(now, flow),
                Event::Pause(which) => line.frame(now, pause(roots[which].0, roots[which].1)),
                Event::Resume(which) => line.frame(now, resume(roots[which].0)),
                Event::Merge(which) => {
                    let (old, (new, distance)) = (roots[0].0, roots[which]);
                    line.frame(now, PyrrhaFrame::Merge { old, new, distance });
                }
            }
        }
        for (root, _) in roots {
            now += 1000;
            line.frame(now, resume(root));
        }
        let arrived = line.psn;
        let left = line.leave(u64::MAX);
        for (flow, count) in (0..).zip(arrived) {
            let order: Vec<u32> = left.iter().filter(|(other, _)| *other == flow).map(|(_, psn)| *psn).collect();
            prop_assert_eq!(order, (0..count).collect::<Vec<_>>());
        }
        prop_assert_eq!(line.s.node.flow_control().leftover(), None);
    }
}
