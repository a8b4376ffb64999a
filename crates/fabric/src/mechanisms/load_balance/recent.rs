//! A table of what has been used lately.
//!
//! Two generations of entries take turns, so that ageing needs neither a timer nor a search: whatever has not been used for a whole period is in the
//! older one when that is dropped.

use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// The place of a key in such a table.
pub(super) struct Place<'a, V> {
    /// The entry there, if it has been used within the last period.
    pub(super) known: Option<V>,
    entry: Entry<'a, u64, V>,
}

impl<V> Place<'_, V> {
    /// Puts the entry there.
    pub(super) fn put(self, entry: V) {
        self.entry.insert_entry(entry);
    }
}

fn is_recent<V: Used>(entry: &V, now: Time, aging: Duration) -> bool {
    now.since(entry.last()) <= aging
}

/// An entry of a table of what has been used lately.
pub(super) trait Used {
    /// When it was used last.
    fn last(&self) -> Time;
}

/// Entries that have been used within the last period; some that have not may be there as well.
#[derive(Debug, GetSize)]
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

    /// The place of `key`, which is used now: an entry is to be put there.
    pub(super) fn place(&mut self, key: u64, now: Time) -> Place<'_, V> {
        self.forget_old(now);
        let entry = self.recent.entry(key);
        let found = match &entry {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(_) => self.older.remove(&key),
        };
        let known = found.filter(|entry| is_recent(entry, now, self.aging));
        Place { known, entry }
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
        self.recent.values().chain(self.older.values()).filter(|entry| is_recent(*entry, now, self.aging)).count()
            as u64
    }

    /// How many entries are kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.recent.len() + self.older.len()
    }
}
