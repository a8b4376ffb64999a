//! Windows: shards run in parallel.

use crate::driver::shard::Shard;
use crate::driver::simulation::Simulation;
use backwater_engine::Time;
use backwater_engine::barrier::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

impl Simulation {
    /// Runs the shards window by window. Each of `threads` workers owns some shards.
    ///
    /// Workers meet once per window, after posting their outboxes and the time of their next event.
    /// From these times, all workers compute the end of the next window. Two sets of mailboxes and
    /// of times alternate: one is read while the other is written.
    ///
    /// After each window the first worker calls `stop`. All workers read the answer at the next
    /// meeting, so all stop between the same two windows.
    ///
    /// A shard ends its part of a window after `events` events, once the visit of a node ends. The
    /// next window begins at the shard's time. Other shards are then ahead of this shard by less
    /// than the lookahead, so this shard's frames never arrive in the past of another shard.
    pub(super) fn run_windows(&mut self, limit: Time, threads: usize, events: u64, stop: &mut dyn FnMut() -> bool) {
        let (fabric, layout, exchange, lookahead) = (&self.fabric, &self.layout, &self.exchange, self.lookahead);
        let count = self.shards.len();
        // Workers take equal shares, so the last workers may have none.
        let share = count.div_ceil(threads);
        let threads = count.div_ceil(share);
        let next_events = [0, 1].map(|_| (0..threads).map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
        let stopped = [0, 1].map(|_| AtomicBool::new(false));
        let barrier = Barrier::new(threads);
        let work = |worker: usize, shards: &mut [Shard], mut stop: Option<&mut dyn FnMut() -> bool>| {
            let numbers = worker * share..;
            let mut seat = barrier.seat();
            let mut next = shards.iter().map(Shard::next_event).min().unwrap_or(Time::NEVER);
            for turn in [0, 1].into_iter().cycle() {
                next_events[turn][worker].store(next.ps(), Ordering::Relaxed);
                if seat.wait().is_err() {
                    return;
                }
                for (number, shard) in numbers.clone().zip(&mut *shards) {
                    for from in 0..count {
                        shard.accept(&mut exchange.mailbox(turn, from, number), layout);
                    }
                }
                let earliest = next_events[turn].iter().map(|next| next.load(Ordering::Relaxed)).min();
                let earliest = earliest.map_or(Time::NEVER, Time::from_ps);
                if earliest >= limit || stopped[turn].load(Ordering::Relaxed) {
                    return;
                }
                let end = limit.min(earliest + lookahead);
                next = Time::NEVER;
                for (number, shard) in numbers.clone().zip(&mut *shards) {
                    shard.run(end, events, fabric, layout);
                    next = next.min(shard.next_event());
                    for (to, outbox) in shard.io.outboxes.iter_mut().enumerate() {
                        next = next.min(outbox.first_arrival());
                        std::mem::swap(&mut *exchange.mailbox(1 - turn, number, to), outbox);
                    }
                }
                if let Some(stop) = &mut stop {
                    stopped[1 - turn].store(stop(), Ordering::Relaxed);
                }
            }
        };
        std::thread::scope(|scope| {
            let mut parts = self.shards.chunks_mut(share).enumerate();
            let mine = parts.next();
            let work = &work;
            let others: Vec<_> = parts.map(|(worker, part)| scope.spawn(move || work(worker, part, None))).collect();
            if let Some((worker, part)) = mine {
                work(worker, part, Some(&mut *stop));
            }
            for other in others {
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        });
    }
}
