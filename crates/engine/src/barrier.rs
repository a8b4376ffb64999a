//! Barrier for threads that run in lockstep.
//!
//! Unlike the standard library's barrier, threads spin before they sleep, since most waits are
//! shorter than a sleep. If a thread panics, [`Seat::wait`] returns an error in the other threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

/// Number of checks of `round` before a thread sleeps. They take about 20 us, as long as sleeping
/// and waking up.
const SPINS: u32 = 2000;

/// Value of `round` in a broken barrier.
const BROKEN: usize = usize::MAX;

/// Number of available cores. Cached, because the query is slow.
static CORES: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

/// Reusable barrier for a fixed number of threads. Each thread holds a [`Seat`].
#[derive(Debug)]
pub struct Barrier {
    seats: usize,
    spins: u32,
    /// Threads that have arrived in the current round.
    arrived: AtomicUsize,
    /// Number of completed rounds, or [`BROKEN`]. Written with `sleepers` locked, so that no thread
    /// misses the end of a round.
    round: AtomicUsize,
    sleepers: Mutex<usize>,
    wake: Condvar,
}

/// Place of a thread at a [`Barrier`]. The barrier breaks if the holder of a seat panics.
#[derive(Debug)]
pub struct Seat<'a>(&'a Barrier);

/// Another thread has panicked, so the barrier is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another thread has panicked")]
pub struct Broken;

impl Barrier {
    /// Creates a barrier for `seats` threads. With fewer cores than threads, threads do not spin.
    pub fn new(seats: usize) -> Barrier {
        Barrier {
            seats,
            spins: if seats <= *CORES { SPINS } else { 0 },
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            sleepers: Mutex::new(0),
            wake: Condvar::new(),
        }
    }

    /// Returns a seat. Each thread takes one seat.
    pub fn seat(&self) -> Seat<'_> {
        Seat(self)
    }

    fn sleepers(&self) -> MutexGuard<'_, usize> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts `round` and wakes all threads that wait for the end of the previous round.
    fn begin(&self, round: usize) {
        let sleepers = self.sleepers();
        self.round.store(round, Ordering::Release);
        if *sleepers > 0 {
            self.wake.notify_all();
        }
    }

    /// Waits until `round` is over: spins first, then sleeps.
    fn outlast(&self, round: usize) {
        let is_over = || self.round.load(Ordering::Acquire) != round;
        for _ in 0..self.spins {
            if is_over() {
                return;
            }
            std::hint::spin_loop();
        }
        let mut sleepers = self.sleepers();
        while !is_over() {
            *sleepers += 1;
            sleepers = self.wake.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
            *sleepers -= 1;
        }
    }
}

impl Seat<'_> {
    /// Waits for all other threads. Their earlier writes are then visible.
    ///
    /// # Errors
    ///
    /// If another holder of a seat has panicked.
    pub fn wait(&mut self) -> Result<(), Broken> {
        let barrier = self.0;
        let round = barrier.round.load(Ordering::Acquire);
        if round == BROKEN {
            return Err(Broken);
        }
        if barrier.arrived.fetch_add(1, Ordering::AcqRel) + 1 < barrier.seats {
            barrier.outlast(round);
        } else {
            barrier.arrived.store(0, Ordering::Relaxed);
            barrier.begin(round + 1);
        }
        if barrier.round.load(Ordering::Acquire) == BROKEN { Err(Broken) } else { Ok(()) }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.begin(BROKEN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    /// Adds one per thread and round, and checks that each thread then finds the sum.
    fn count_together(barrier: &Barrier, rounds: usize) {
        let counter = AtomicUsize::new(0);
        let work = || {
            let mut seat = barrier.seat();
            for round in 1..=rounds {
                counter.fetch_add(1, Ordering::Relaxed);
                seat.wait().unwrap();
                assert_eq!(counter.load(Ordering::Relaxed), round * barrier.seats);
                seat.wait().unwrap();
            }
        };
        thread::scope(|scope| (0..barrier.seats).for_each(|_| drop(scope.spawn(work))));
    }

    #[test]
    fn no_thread_continues_before_all_arrive() {
        for seats in [1, 2, 3, 8, 32] {
            count_together(&Barrier::new(seats), 200);
        }
    }

    #[test]
    fn spinning_and_sleeping_threads_are_equivalent() {
        for spins in [0, 1, 10_000] {
            count_together(&Barrier { spins, ..Barrier::new(4) }, 500);
        }
    }

    #[test]
    fn a_panicking_thread_releases_the_others() {
        for spins in [0, SPINS] {
            let barrier = Barrier { spins, ..Barrier::new(4) };
            let rounds = |rounds: usize| {
                let mut seat = barrier.seat();
                let met = (0..rounds).take_while(|_| seat.wait().is_ok()).count();
                assert_eq!(met, rounds, "cut short");
                panic!("my own");
            };
            thread::scope(|scope| {
                let others: Vec<_> = (0..3).map(|_| scope.spawn(|| rounds(1000))).collect();
                assert!(catch_unwind(AssertUnwindSafe(|| rounds(7))).is_err());
                for other in others {
                    let payload = other.join().unwrap_err();
                    assert!(payload.downcast::<String>().unwrap().contains("cut short"));
                }
            });
            assert_eq!(barrier.seat().wait(), Err(Broken));
        }
    }
}
