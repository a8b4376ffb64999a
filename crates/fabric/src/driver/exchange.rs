//! Frames between shards: a mailbox for every pair of shards.

use crate::driver::wire::Outbox;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Mailboxes, in two alternating sets.
pub(crate) struct MailExchange {
    shards: usize,
    boxes: [Vec<Mutex<Outbox>>; 2],
}

impl MailExchange {
    pub(crate) fn new(shards: usize) -> MailExchange {
        MailExchange { shards, boxes: [0, 1].map(|_| (0..shards * shards).map(|_| Mutex::default()).collect()) }
    }

    /// Returns the mailbox from one shard to another in set `turn`. The sending shard fills the
    /// mailbox in one window, and the receiving shard empties the mailbox in the next window.
    pub(crate) fn mailbox(&self, turn: usize, from: usize, to: usize) -> MutexGuard<'_, Outbox> {
        self.boxes[turn][to * self.shards + from].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
