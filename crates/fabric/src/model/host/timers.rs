//! Timers of a host: many timers share one scheduled wake-up.

use crate::ids::{FlowId, Slot};
use crate::model::sink::{Env, Sink, Wakeup};
use backwater_engine::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Timer of a flow: its time, the flow, and the slot of the flow's queue pair.
pub(super) type Timer = (Time, FlowId, Slot);

/// Timers of a host. The host schedules one wake-up, for the earliest of them.
///
/// An entry is stale if its owner has moved or cancelled the timer since. Owners remember the time
/// of their present entry; stale entries are skipped.
#[derive(Debug)]
pub(super) struct Timers {
    pub(super) queue: BinaryHeap<Reverse<Timer>>,
    /// Time of the scheduled wake-up; [`Time::NEVER`] if none is scheduled.
    pub(super) wake_at: Time,
}

impl Default for Timers {
    fn default() -> Timers {
        Timers { queue: BinaryHeap::new(), wake_at: Time::NEVER }
    }
}

impl Timers {
    /// Adds a timer.
    pub(super) fn set<S: Sink>(&mut self, timer: Timer, wakeup: Wakeup<'_>, env: &mut Env<'_, S>) {
        self.queue.push(Reverse(timer));
        self.wake(timer.0, wakeup, env);
    }

    /// Schedules `wakeup` for `at`, unless an earlier wake-up is scheduled.
    pub(super) fn wake<S: Sink>(&mut self, at: Time, wakeup: Wakeup<'_>, env: &mut Env<'_, S>) {
        if at < self.wake_at {
            self.wake_at = at;
            env.sink.schedule(wakeup, at.max(env.now));
        }
    }
}
