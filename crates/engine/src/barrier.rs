//! Where threads that work side by side meet.
//!
//! Unlike the standard library's, this barrier does not go to sleep at once, for the wait is mostly shorter than a sleep; and a thread that
//! panics sets the others free.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

/// Looks at the round before a thread goes to sleep: some 20 us, about what sleeping and waking cost.
const SPINS: u32 = 2000;

/// The round of a broken barrier.
const BROKEN: usize = usize::MAX;

/// What the system lets run at once; asked for once, as the answer takes it some time.
static CORES: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

/// A meeting point of a fixed number of threads, each of which takes a [`Seat`]. It can be used over and over.
#[derive(Debug)]
pub struct Barrier {
    seats: usize,
    spins: u32,
    /// How many have come to the present round.
    arrived: AtomicUsize,
    /// Rounds that are over, or [`BROKEN`]; written with `sleepers` held, so that no thread misses the end of a round.
    round: AtomicUsize,
    sleepers: Mutex<usize>,
    wake: Condvar,
}

/// A place at a [`Barrier`]. The barrier breaks if its holder panics.
#[derive(Debug)]
pub struct Seat<'a>(&'a Barrier);

/// A thread has panicked: there will be no further meeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another thread has panicked")]
pub struct Broken;

impl Barrier {
    /// A barrier of `seats` threads. With fewer cores than threads, no thread spins: another one needs the core.
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

    /// One of the barrier's seats; each is to be taken once.
    pub fn seat(&self) -> Seat<'_> {
        Seat(self)
    }

    fn sleepers(&self) -> MutexGuard<'_, usize> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins `round`, and wakes all who wait for the end of the one before.
    fn begin(&self, round: usize) {
        let sleepers = self.sleepers();
        self.round.store(round, Ordering::Release);
        if *sleepers > 0 {
            self.wake.notify_all();
        }
    }

    /// Waits until `round` is over: spinning at first, then asleep.
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
    /// Waits for all others. What each has done before is then seen by all.
    ///
    /// # Errors
    /// Another holder of a seat has panicked.
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

    /// Every thread adds its share, and then finds the shares of all.
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
    fn nobody_goes_on_before_all_have_come() {
        for seats in [1, 2, 3, 8, 32] {
            count_together(&Barrier::new(seats), 200);
        }
    }

    #[test]
    fn it_makes_no_difference_whether_threads_wait_awake_or_asleep() {
        for spins in [0, 1, 10_000] {
            count_together(&Barrier { spins, ..Barrier::new(4) }, 500);
        }
    }

    #[test]
    fn a_thread_that_panics_sets_the_others_free() {
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
