//! Runs of a job on an ideal network, in which no message waits for another one.

use crate::operation::{OperationIx, Operations, Rank};
use crate::rank::{RankState, Sending};
use backwater_engine::{Duration, Time, interrupt};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Result of a run on an ideal network.
#[derive(Debug, Default)]
pub struct IdealRun {
    /// Time from the start of each iteration at its first rank to its end at its last rank.
    pub iterations: Vec<Duration>,
    /// Time of the last event.
    pub end: Duration,
    /// Number of operations that never end, by rank, for ranks with such operations.
    pub stuck: Vec<(Rank, u64)>,
}

/// Event of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Received { from: Rank, tag: u64 },
    Acknowledged(OperationIx),
    Timer,
}

/// Runs a job. `travel` returns the time of a message from one rank to another, and the time of its
/// acknowledgement back. Computations do not wait for their streams, so the time of the last event
/// is that of the longest path of operations.
pub fn ideal_run(
    operations: &Arc<dyn Operations>,
    travel: &dyn Fn(Rank, Rank, u64) -> (Duration, Duration),
) -> IdealRun {
    let mut states: Vec<RankState> =
        (0..operations.ranks()).map(|rank| RankState::unlimited(operations.clone(), Rank(rank))).collect();
    let mut events: BinaryHeap<Reverse<(Time, u64, Rank, Event)>> = BinaryHeap::new();
    let (mut sends, mut count, mut now) = (Vec::new(), 0, Time::ZERO);
    let mut spans: Vec<(Time, Time)> = Vec::new();
    let mut after = |state: &mut RankState, now: Time, sends: &mut Vec<Sending>, events: &mut BinaryHeap<_>| {
        let mut add = |at: Time, rank: Rank, event: Event| {
            count += 1;
            events.push(Reverse((at, count, rank, event)));
        };
        for Sending { operation, to, bytes, tag, .. } in sends.drain(..) {
            let (data, ack) = travel(state.rank(), to, bytes);
            add(now + data, to, Event::Received { from: state.rank(), tag });
            add(now + data + ack, state.rank(), Event::Acknowledged(operation));
        }
        if state.wake_at() != Time::NEVER {
            add(state.wake_at(), state.rank(), Event::Timer);
        }
        for iteration in state.take_report().iterations {
            let index = iteration.number as usize;
            if spans.len() <= index {
                spans.resize(index + 1, (Time::NEVER, Time::ZERO));
            }
            let (start, end) = &mut spans[index];
            (*start, *end) = ((*start).min(iteration.start), (*end).max(iteration.end));
        }
    };
    for state in &mut states {
        state.start(now, &mut sends);
        after(state, now, &mut sends, &mut events);
    }
    let mut handled = 0_u64;
    while let Some(Reverse((at, _, rank, event))) = events.pop() {
        handled += 1;
        if handled.is_multiple_of(1 << 12) {
            interrupt::check();
        }
        now = at;
        let state = &mut states[rank.index()];
        match event {
            Event::Received { from, tag } => state.on_received(from, tag, now, &mut sends),
            Event::Acknowledged(operation) => state.on_acknowledged(operation, now, &mut sends),
            Event::Timer if state.wake_at() <= now => state.on_timer(now, &mut sends),
            Event::Timer => continue,
        }
        after(state, now, &mut sends, &mut events);
    }
    IdealRun {
        iterations: spans.into_iter().map(|(start, end)| end - start).collect(),
        end: now - Time::ZERO,
        stuck: states.iter().filter(|state| !state.is_done()).map(|state| (state.rank(), state.left())).collect(),
    }
}
