//! The retransmission timers of a host.

use super::sender::{QueuePair, Slot};
use crate::ids::{FlowId, NodeId};
use crate::model::sink::{Env, Sink, Wakeup};
use backwater_engine::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The retransmission timers of a host's queue pairs: it is woken for the first of them only.
#[derive(Debug)]
pub(super) struct Timers {
    /// When a queue pair's timer is to be looked at. Holds as long as the pair says the same.
    pub(super) looks: BinaryHeap<Reverse<(Time, FlowId, Slot)>>,
    /// When the host is woken; [`Time::NEVER`] if it is not.
    pub(super) wake_at: Time,
}

impl Timers {
    /// Looks that may have become needless before they are sorted out.
    pub(super) const NEEDLESS: usize = 64;

    /// Has the timer of `pair` looked at when it runs out.
    pub(super) fn look<S: Sink>(&mut self, slot: Slot, pair: &mut QueuePair, host: NodeId, env: &mut Env<'_, S>) {
        pair.look_at = pair.deadline();
        self.looks.push(Reverse((pair.look_at, pair.flow, slot)));
        self.wake(pair.look_at, host, env);
    }

    /// Asks for the host to be woken at `at`, unless it is before.
    pub(super) fn wake<S: Sink>(&mut self, at: Time, host: NodeId, env: &mut Env<'_, S>) {
        if at < self.wake_at {
            self.wake_at = at;
            env.sink.schedule(Wakeup::Retransmission(host), at);
        }
    }
}
