//! A table of what has been used lately.
//!
//! Two generations of entries take turns, so that ageing needs neither a timer nor a search: whatever has not been used for a whole period is in the
//! older one when that is dropped.

use backwater_engine::{Duration, Time};
use rustc_hash::FxHashMap;

/// An entry of a table of what has been used lately.
pub(super) trait Used {
    /// When it was used last.
    fn last(&self) -> Time;
}

/// Entries that have been used within the last period; some that have not may be there as well.
#[derive(Debug)]
pub(super) struct Recent<V> {
    aging: Duration,
    /// Entries that have been used in this period.
    recent: FxHashMap<u64, V>,
    /// Entries that were last used in the one before.
    older: FxHashMap<u64, V>,
    /// Number of the period, each as long as `aging`.
    period: u64,
}

impl<V: Copy + Used> Recent<V> {
    /// An empty table, whose entries may be forgotten when they have not been used for `aging`.
    pub(super) fn new(aging: Duration) -> Recent<V> {
        Recent { aging, recent: FxHashMap::default(), older: FxHashMap::default(), period: 0 }
    }

    /// The entry of `key`, if it has been used within the last `aging`. It is to be put in again.
    pub(super) fn take(&mut self, key: u64, now: Time) -> Option<V> {
        self.forget_old(now);
        let found = self.recent.get(&key).copied().or_else(|| self.older.remove(&key));
        found.filter(|entry| self.is_recent(entry, now))
    }

    fn is_recent(&self, entry: &V, now: Time) -> bool {
        now.since(entry.last()) <= self.aging
    }

    /// `key` has been used, with this for an entry.
    pub(super) fn put(&mut self, key: u64, entry: V) {
        self.recent.insert(key, entry);
    }

    /// Drops the entries that are too old, and those only.
    fn forget_old(&mut self, now: Time) {
        let period = now.ps() / self.aging.ps().max(1);
        if period == self.period {
            return;
        }
        std::mem::swap(&mut self.recent, &mut self.older);
        self.recent.clear();
        if period > self.period + 1 {
            self.older.clear();
        }
        self.period = period;
    }

    /// How many have been used within the last `aging`.
    pub(super) fn count(&self, now: Time) -> u64 {
        self.recent.values().chain(self.older.values()).filter(|entry| self.is_recent(entry, now)).count() as u64
    }

    /// How many entries are kept.
    pub(super) fn len(&self) -> usize {
        self.recent.len() + self.older.len()
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        let places = self.recent.capacity() + self.older.capacity();
        (places * (size_of::<(u64, V)>() + 1)) as u64
    }
}
