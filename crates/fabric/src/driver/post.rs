//! Frames between shards: a mailbox for every pair of them.

use crate::driver::wire::Mail;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Mailboxes, in two sets that alternate.
pub(crate) struct Post {
    shards: usize,
    boxes: [Vec<Mutex<Mail>>; 2],
}

impl Post {
    pub(crate) fn new(shards: usize) -> Post {
        Post { shards, boxes: [0, 1].map(|_| (0..shards * shards).map(|_| Mutex::default()).collect()) }
    }

    /// The box for mail between two shards in the set numbered `turn`. No other shard uses it: one fills it in one window, the other empties it in
    /// the next.
    pub(crate) fn letter_box(&self, turn: usize, from: usize, to: usize) -> MutexGuard<'_, Mail> {
        self.boxes[turn][to * self.shards + from].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
