use super::*;
use crate::model::fifo::Frames;
use crate::model::io::NodeIo;
use crate::testing::{choose, enqueue, node_io, port};

/// Returns a node whose ports have these numbers of packets of 1000 B in their queues.
fn ports(packets: &[u32]) -> NodeIo {
    let with = |count: &u32| {
        let (mut port, mut frames) = (port(100), Frames::default());
        (0..*count).for_each(|_| enqueue(&mut port, 3, 1000, &mut frames));
        port
    };
    node_io(packets.iter().map(with).collect())
}

fn drill(samples: u32, memory: u32) -> Drill {
    Drill::new(&DrillConfig { samples, memory }, Seed(1), NodeId(3))
}

fn counts(drill: &mut Drill, candidates: &[u16], ports: &mut NodeIo, packets: u32) -> Vec<u32> {
    let mut counts = vec![0; candidates.len()];
    (0..packets).for_each(|_| counts[choose(drill, candidates, ports)] += 1);
    counts
}

/// Asserts that each port takes 10,000 of 40,000 packets, within five standard deviations.
fn assert_even(counts: &[u32]) {
    assert!(counts.iter().all(|count| count.abs_diff(10_000) < 433), "{counts:?}");
}

#[test]
fn one_sample_and_no_memory_is_spraying() {
    let mut unequal = ports(&[0, 9, 1, 5]);
    assert_even(&counts(&mut drill(1, 0), &[0, 1, 2, 3], &mut unequal, 40_000));
}

/// A remembered port does not win against a drawn port whose queue is equally short.
#[test]
fn equal_queues_are_used_evenly() {
    let mut equal = ports(&[2, 2, 2, 2]);
    for (samples, memory) in [(1, 1), (2, 1), (2, 0), (3, 2)] {
        assert_even(&counts(&mut drill(samples, memory), &[0, 1, 2, 3], &mut equal, 40_000));
    }
}

/// Without memory, a long queue is taken when all samples fall on it: once in 16 with two samples
/// of four ports.
#[test]
fn a_long_queue_is_avoided() {
    let mut one_long = ports(&[0, 0, 9, 0]);
    let chosen = counts(&mut drill(2, 0), &[0, 1, 2, 3], &mut one_long, 40_000);
    assert!(chosen[2].abs_diff(2500) < 242, "{chosen:?}");
    // For the first packet, no port is remembered.
    let chosen = counts(&mut drill(2, 1), &[0, 1, 2, 3], &mut one_long, 40_000);
    assert!(chosen[2] <= 1, "{chosen:?}");
}

#[test]
fn the_best_port_is_remembered_until_its_queue_grows() {
    let mut drill = drill(1, 1);
    let (mut queues, candidates) = (ports(&[5, 5, 0, 5]), [0, 1, 2, 3]);
    // Once the empty queue has been drawn, every packet takes it.
    let first = (0..100).find(|_| counts(&mut drill, &candidates, &mut queues, 1)[2] == 1);
    assert!(first.is_some());
    assert_eq!(counts(&mut drill, &candidates, &mut queues, 1000), [0, 0, 1000, 0]);
    let mut frames = Frames::default();
    (0..9).for_each(|_| enqueue(&mut queues.ports[PortIx(2)], 3, 1000, &mut frames));
    // The port with the grown queue is used at most until another port is drawn.
    assert!(counts(&mut drill, &candidates, &mut queues, 1000)[2] < 10);
}

#[test]
fn a_port_whose_link_is_down_is_not_taken_and_forgotten() {
    let mut drill = drill(1, 1);
    let mut queues = ports(&[5, 0, 5, 5]);
    // The empty queue is remembered.
    counts(&mut drill, &[0, 1, 2, 3], &mut queues, 100);
    assert_eq!(counts(&mut drill, &[0, 1, 2, 3], &mut queues, 100), [0, 100, 0, 0]);
    queues.ports[PortIx(1)].fail();
    let chosen = counts(&mut drill, &[0, 1, 2, 3], &mut queues, 30_000);
    assert!(chosen[1] == 0 && [0, 2, 3].iter().all(|way| chosen[*way].abs_diff(10_000) < 433), "{chosen:?}");
    queues.ports[PortIx(0)].fail();
    queues.ports[PortIx(3)].fail();
    assert_eq!(counts(&mut drill, &[0, 1, 2, 3], &mut queues, 100), [0, 0, 100, 0]);
    // If all ports are down, all may be taken, and the empty queue is the best again.
    queues.ports[PortIx(2)].fail();
    counts(&mut drill, &[0, 1, 2, 3], &mut queues, 100);
    assert_eq!(counts(&mut drill, &[0, 1, 2, 3], &mut queues, 100), [0, 100, 0, 0]);
}

/// The best port of one set is not remembered for other sets.
#[test]
fn every_set_of_ports_has_a_memory_of_its_own() {
    let mut drill = drill(1, 1);
    let mut queues = ports(&[5, 5, 0, 5, 5, 5]);
    counts(&mut drill, &[0, 1, 2], &mut queues, 100);
    counts(&mut drill, &[3, 4, 5], &mut queues, 100);
    assert_eq!(counts(&mut drill, &[0, 1, 2], &mut queues, 100), [0, 0, 100]);
    assert_eq!(drill.best.len(), 2);
}
