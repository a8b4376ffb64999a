//! Table of recently used entries.
//!
//! Two generations of entries alternate, so that ageing needs neither a timer nor a search. An
//! entry that is not used for a whole period is in the older generation when that generation is
//! dropped.

use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Place of a key in the table.
pub(super) struct Place<'a, V> {
    /// Entry of the key, if it was used within the last period.
    pub(super) known: Option<V>,
    entry: Entry<'a, u64, V>,
}

impl<V> Place<'_, V> {
    /// Stores the entry.
    pub(super) fn put(self, entry: V) {
        self.entry.insert_entry(entry);
    }
}

fn is_recent<V: Used>(entry: &V, now: Time, aging: Duration) -> bool {
    now.since(entry.last()) <= aging
}

/// Entry of the table.
pub(super) trait Used {
    /// Returns the time of the last use.
    fn last(&self) -> Time;
}

/// Entries used within the last period, and possibly some older ones.
#[derive(Debug, GetSize)]
pub(super) struct Recent<V> {
    aging: Duration,
    /// Entries used in the current period.
    recent: FxHashMap<u64, V>,
    /// Entries last used in the previous period.
    older: FxHashMap<u64, V>,
    /// Number of the current period; a period lasts for `aging`.
    period: u64,
}

impl<V: Copy + Used> Recent<V> {
    /// Returns an empty table. It may remove entries that are unused for `aging`.
    pub(super) fn new(aging: Duration) -> Recent<V> {
        Recent { aging, recent: FxHashMap::default(), older: FxHashMap::default(), period: 0 }
    }

    /// Returns the place of `key`, which is used now: the caller must store an entry.
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

    /// Removes the entries that are too old, and only those.
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

    /// Returns the number of entries used within the last `aging`.
    pub(super) fn count(&self, now: Time) -> u64 {
        self.recent.values().chain(self.older.values()).filter(|entry| is_recent(*entry, now, self.aging)).count()
            as u64
    }

    /// Returns the number of stored entries.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.recent.len() + self.older.len()
    }
}
