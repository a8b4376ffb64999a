//! Tests of egress ports.

use super::*;
use crate::ids::NodeId;
use crate::testing::{enqueue, queued};

fn port(scheduler: SchedulerConfig) -> Port {
    let facts = PortFacts {
        id: PortId(0),
        node: NodeId(0),
        ix: PortIx(0),
        peer: PortId(1),
        rate: Rate::from_gbps(100),
        delay: Duration::from_us(1),
        error_rate: 0.0,
    };
    Port::new(&facts, Framing::Rocev2, scheduler, AddedQueues::default())
}

fn order(port: &mut Port, count: usize, frames: &mut Frames) -> Vec<u16> {
    let mut next = || {
        let queue = port.next_queue(frames)?;
        port.take(queue, frames);
        Some(queue.0)
    };
    (0..count).map_while(|_| next()).collect()
}

#[test]
fn round_robin_takes_one_packet_of_each_queue_in_turn() {
    let (mut port, mut frames) = (port(SchedulerConfig::RoundRobin {}), Frames::default());
    for queue in [3, 3, 3, 5, 5, 0] {
        enqueue(&mut port, queue, 1000, &mut frames);
    }
    assert_eq!([0, 3, 4, 5, 99].map(|queue| port.queue_frames(QueueIx(queue))), [1, 3, 0, 2, 0]);
    let occupancies = port.queue_occupancies().map(|(queue, bytes)| (queue.0, bytes));
    assert_eq!(occupancies.collect::<Vec<_>>(), [(0, 1000), (3, 3000), (5, 2000)]);
    assert_eq!(order(&mut port, 2, &mut frames), [0, 3]);
    assert_eq!([0, 3, 5].map(|queue| port.queue_frames(QueueIx(queue))), [0, 2, 2]);
    assert_eq!(order(&mut port, 9, &mut frames), [5, 3, 5, 3]);
    assert_eq!(port.queued_bytes(), 0);
}

#[test]
fn the_lowest_queue_goes_first_if_asked_to() {
    let (mut port, mut frames) = (port(SchedulerConfig::LowestFirst {}), Frames::default());
    for queue in [5, 3, 5, 3] {
        enqueue(&mut port, queue, 1000, &mut frames);
    }
    assert_eq!(order(&mut port, 3, &mut frames), [3, 3, 5]);
    for queue in [3, 0] {
        enqueue(&mut port, queue, 1000, &mut frames);
    }
    port.close(QueueIx(3), Time::ZERO, PortId(9).into());
    assert_eq!(order(&mut port, 3, &mut frames), [0, 5]);
    port.open(QueueIx(3), Time::ZERO);
    assert_eq!(order(&mut port, 3, &mut frames), [3]);
}

#[test]
fn dwrr_shares_bytes_not_packets() {
    let mut frames = Frames::default();
    let mut port = port(SchedulerConfig::Dwrr { quantum: backwater_engine::Bytes(1600) });
    for _ in 0..400 {
        enqueue(&mut port, 1, 1500, &mut frames);
    }
    for _ in 0..2000 {
        enqueue(&mut port, 2, 300, &mut frames);
    }
    let (mut bytes, sizes) = ([0u64; 3], [0, 1500, 300]);
    for queue in order(&mut port, 600, &mut frames) {
        bytes[usize::from(queue)] += sizes[usize::from(queue)];
    }
    assert!(bytes[1].abs_diff(bytes[2]) <= 1600, "{bytes:?}");
}

/// With a quantum of 1500 B and packets of 1000 B, unused credit lasts as long as the queue is
/// occupied.
#[test]
fn dwrr_forgets_the_credit_of_a_queue_that_becomes_empty() {
    let mut frames = Frames::default();
    let mut port = port(SchedulerConfig::Dwrr { quantum: backwater_engine::Bytes(1500) });
    for queue in [1, 2, 2, 2, 2] {
        enqueue(&mut port, queue, 1000, &mut frames);
    }
    assert_eq!(order(&mut port, 2, &mut frames), [1, 2]);
    enqueue(&mut port, 1, 1000, &mut frames);
    enqueue(&mut port, 1, 1000, &mut frames);
    // Queue 1 starts with a credit of 1500 B again, enough for one packet. Queue 2 has 500 B left;
    // 1500 B more are enough for two packets.
    assert_eq!(order(&mut port, 5, &mut frames), [1, 2, 2, 1, 2]);
}

#[test]
fn frames_without_a_gap_between_them_are_one_burst() {
    let mut port = port(SchedulerConfig::RoundRobin {});
    let mut begin = |start: Time| {
        port.start(queued(3, 1000).frame.size, start);
        (port.burst_start, port.busy_until)
    };
    let first = Time::from_ps(7);
    let (_, second) = begin(first);
    let (burst, third) = begin(second);
    assert_eq!(burst, first);
    let late = third + Duration::from_ps(1);
    assert_eq!(begin(late).0, late);
}

/// A frame ends 80 ns after its start, even if the link fails in between. No other frame starts
/// while the link is down.
#[test]
fn a_frame_leaves_in_its_time_whether_the_link_is_up_or_not() {
    let mut port = port(SchedulerConfig::RoundRobin {});
    port.start(queued(3, 1000).frame.size, Time::ZERO);
    let free = [port.free_at(), port.busy_until];
    port.fail();
    assert_eq!(
        (free, port.free_at(), port.busy_until),
        ([Time::from_ps(80_000); 2], Time::from_ps(80_000), Time::NEVER)
    );
}

#[test]
fn a_closed_queue_keeps_its_frames_and_the_gate_remembers() {
    let (mut port, mut frames) = (port(SchedulerConfig::RoundRobin {}), Frames::default());
    enqueue(&mut port, 3, 1000, &mut frames);
    port.close(QueueIx(3), Time::from_ps(10), PortId(9).into());
    port.close(QueueIx(3), Time::from_ps(20), PortId(8).into());
    assert!(!port.has_control() && !port.can_send() && !port.can_advance());
    assert_eq!(port.gate(QueueIx(3)).closed(), Some((Time::from_ps(10), PortId(9).into())));
    port.open(QueueIx(3), Time::from_ps(50));
    assert_eq!(order(&mut port, 1, &mut frames), [3]);
    let wait =
        |cause, length, end| Wait { cause: PortId(cause), length: Duration::from_ps(length), end: Time::from_ps(end) };
    let waits = |port: &Port, since| port.gate(QueueIx(3)).waits(Time::from_ps(since)).collect::<Vec<_>>();
    assert_eq!(waits(&port, 30), [wait(9, 20, 50)]);
    assert_eq!(waits(&port, 50), []);
    for (from, to, cause) in [(60, 70, 9), (80, 100, 9), (110, 111, 8), (120, 140, 9)] {
        port.close(QueueIx(3), Time::from_ps(from), PortId(cause).into());
        port.open(QueueIx(3), Time::from_ps(to));
    }
    assert_eq!(waits(&port, 0), [wait(9, 20, 140), wait(8, 1, 111), wait(9, 70, 100)]);
    assert_eq!(waits(&port, 65), [wait(9, 20, 140), wait(8, 1, 111), wait(9, 25, 100)]);
    assert_eq!(waits(&port, 130), [wait(9, 10, 140)]);
}

/// The gate is closed for 1 ps out of every 10, for one cause. Sums are exact although the oldest
/// closures are forgotten.
#[test]
fn a_gate_forgets_the_oldest_closures() {
    let mut gate = Gate::default();
    for round in 0..3 * Gate::MEMORY as u64 {
        gate.close(Time::from_ps(10 * round), PortId(1).into());
        gate.open(Time::from_ps(10 * round + 1));
    }
    let last = 10 * (3 * Gate::MEMORY as u64 - 1);
    let length = |since| gate.waits(Time::from_ps(since)).map(|wait| wait.length.ps()).collect::<Vec<_>>();
    assert_eq!(length(last - 100), [11]);
    assert_eq!(length(0), [Gate::MEMORY as u64]);
}
