//! Pending-event set: a two-level wheel, with a heap for distant events.
//!
//! Events are ordered by `(time, key)`. The caller's key identifies the entity and its event. If an
//! entity has at most one event per instant, the order is total. This order depends neither on the
//! order of insertion nor on the distribution of entities over several sets.
//!
//! * The *near* wheel covers the next 4.2 us in buckets of 4.1 ns, less than the smallest frame
//!   takes at 100 Gb/s. A bucket is sorted once and drained as a batch. Within a bucket, an event
//!   is one number: the time since the bucket's start, then the key.
//! * The *coarse* wheel covers 17 ms in slots of 4.2 us. When the clock reaches a slot, the slot's
//!   events move to the near wheel.
//! * Later events wait in a binary heap.
//!
//! All lists of a wheel share one pool of chunks. The chunks of an emptied list are still in the
//! cache, and are reused first. In steady state, nothing is allocated.

use backwater_engine::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Pending event: a time and a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    /// Time of the event.
    pub(super) time: Time,
    /// Key of the caller, below 2^[`KEY_BITS`]. Orders the events of an instant.
    pub(super) key: u64,
}

const BUCKET_BITS: u32 = 12;
const NEAR_BITS: u32 = 10;
const COARSE_BITS: u32 = 12;
const SLOT_BITS: u32 = BUCKET_BITS + NEAR_BITS;
const NEAR: usize = 1 << NEAR_BITS;
const COARSE: usize = 1 << COARSE_BITS;
/// Maximum number of bins for sorting a bucket: one per picosecond.
const BINS: usize = 1 << BUCKET_BITS;
/// Bits of a key.
pub(super) const KEY_BITS: u32 = u64::BITS - BUCKET_BITS;

/// Set of pending events.
pub(super) struct EventSet {
    /// Events of the current bucket, latest first.
    current: Vec<Packed>,
    /// Number of the current bucket, from time zero.
    cursor: u64,
    /// Events of later buckets within reach of the near wheel.
    near: Wheel<Packed, NEAR>,
    /// Events beyond the near wheel, by slot.
    coarse: Wheel<Event, COARSE>,
    /// Events beyond both wheels.
    far: BinaryHeap<Reverse<Event>>,
    /// First slot with an event in `coarse` or `far`, or [`u64::MAX`].
    next_slot: u64,
    sorter: Sorter,
}

/// Event within its bucket: the time since the bucket's start, then the key.
type Packed = u64;

#[inline]
fn pack(event: Event) -> Packed {
    debug_assert!(event.key >> KEY_BITS == 0, "a key has at most {KEY_BITS} bits");
    event.time.ps() << KEY_BITS | event.key
}

#[inline]
fn unpack(bucket: u64, packed: Packed) -> Event {
    let time = Time::from_ps(bucket << BUCKET_BITS | packed >> KEY_BITS);
    Event { time, key: packed & (u64::MAX >> BUCKET_BITS) }
}

#[inline]
fn bucket_of(time: Time) -> u64 {
    time.ps() >> BUCKET_BITS
}

fn slot_of(time: Time) -> u64 {
    time.ps() >> SLOT_BITS
}

impl Default for EventSet {
    fn default() -> Self {
        EventSet {
            current: Vec::new(),
            cursor: 0,
            near: Wheel::default(),
            coarse: Wheel::default(),
            far: BinaryHeap::new(),
            next_slot: u64::MAX,
            sorter: Sorter { unsorted: Vec::new(), bins: Box::new([0; BINS]) },
        }
    }
}

impl EventSet {
    /// Adds an event. The event must not precede the last event taken, nor a `limit` at which
    /// [`EventSet::pop_before`] returned `None`.
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        let bucket = bucket_of(event.time);
        debug_assert!(bucket >= self.cursor, "events are not pushed into the past");
        if bucket.wrapping_sub(self.cursor + 1) < NEAR as u64 - 1 {
            self.near.push(bucket, pack(event));
        } else {
            self.push_elsewhere(event);
        }
    }

    /// Adds an event of the current bucket, or beyond the near wheel.
    #[inline(never)]
    fn push_elsewhere(&mut self, event: Event) {
        if bucket_of(event.time) == self.cursor {
            let packed = pack(event);
            let at = self.current.partition_point(|other| *other > packed);
            self.current.insert(at, packed);
            return;
        }
        let slot = slot_of(event.time);
        if slot - (self.cursor >> NEAR_BITS) < COARSE as u64 {
            self.coarse.push(slot, event);
        } else {
            self.far.push(Reverse(event));
        }
        self.next_slot = self.next_slot.min(slot);
    }

    /// Takes the earliest event if it is before `limit`.
    #[inline]
    pub(super) fn pop_before(&mut self, limit: Time) -> Option<Event> {
        if self.current.is_empty() && !self.refill(limit) {
            return None;
        }
        let event = unpack(self.cursor, *self.current.last()?);
        if event.time >= limit {
            return None;
        }
        self.current.pop();
        Some(event)
    }

    /// Returns the key of the event `steps` after the earliest event, if the returned event is
    /// sorted already. A later push may insert an event before the returned event.
    #[inline]
    pub(super) fn ahead(&self, steps: usize) -> Option<u64> {
        let index = self.current.len().checked_sub(1 + steps)?;
        Some(self.current[index] & (u64::MAX >> BUCKET_BITS))
    }

    /// Moves the next non-empty bucket to `current`, which is empty. Returns false if no event is
    /// before `limit`.
    #[inline(never)]
    fn refill(&mut self, limit: Time) -> bool {
        loop {
            let bucket = self.near.next_from(self.cursor).filter(|bucket| bucket >> NEAR_BITS < self.next_slot);
            let start = match bucket {
                Some(bucket) => bucket << BUCKET_BITS,
                None => self.next_slot.saturating_mul(1 << SLOT_BITS),
            };
            if start >= limit.ps() {
                return false;
            }
            if let Some(bucket) = bucket {
                self.cursor = bucket;
                self.sorter.sort(self.near.chunks(bucket), &mut self.current);
                self.near.clear(bucket);
                return true;
            }
            self.deal();
        }
    }

    /// Advances to the next non-empty slot, and moves its events to the near wheel.
    fn deal(&mut self) {
        let slot = self.next_slot;
        self.cursor = slot << NEAR_BITS;
        for event in self.coarse.chunks(slot).flatten() {
            self.near.push(bucket_of(event.time), pack(*event));
        }
        self.coarse.clear(slot);
        while let Some(Reverse(event)) = self.far.peek().copied().filter(|Reverse(event)| slot_of(event.time) == slot) {
            self.far.pop();
            self.near.push(bucket_of(event.time), pack(event));
        }
        let far = self.far.peek().map(|Reverse(event)| slot_of(event.time));
        self.next_slot = self.coarse.next_from(slot).into_iter().chain(far).min().unwrap_or(u64::MAX);
    }
}

/// Number of events up to which bins are not used.
const FEW: usize = 12;

/// Mean number of events in an event's bin, taken over all events, from which on bins do not help:
/// many events then share an instant.
const CROWD: u64 = 5;

/// Sorter for a bucket. It distributes events by time into about as many bins as there are events,
/// so that few comparisons remain.
struct Sorter {
    /// Copy of the unsorted events.
    unsorted: Vec<Packed>,
    /// Bin counters, zero between calls.
    bins: Box<[u32; BINS]>,
}

impl Sorter {
    /// Writes the events of all `chunks` to `sorted`, which is empty, latest first.
    fn sort<'a>(&mut self, chunks: impl Iterator<Item = &'a [Packed]>, sorted: &mut Vec<Packed>) {
        for chunk in chunks {
            sorted.extend_from_slice(chunk);
        }
        if sorted.len() <= FEW || self.spread(sorted) {
            finish(sorted);
        } else {
            sorted.sort_unstable_by_key(|packed| Reverse(*packed));
        }
    }

    /// Orders `events` by bin. Returns false, without a change, if bins are crowded.
    fn spread(&mut self, events: &mut [Packed]) -> bool {
        let bits = (events.len().ilog2() + 1).min(BUCKET_BITS);
        let bin_of = |packed: Packed| (packed >> KEY_BITS >> (BUCKET_BITS - bits)) as usize;
        for packed in &*events {
            self.bins[bin_of(*packed)] += 1;
        }
        // Converts the bins' counts to start positions.
        let (mut start, mut squares) = (0, 0);
        for bin in self.bins[..1 << bits].iter_mut().rev() {
            squares += u64::from(*bin) * u64::from(*bin);
            start += std::mem::replace(bin, start);
        }
        let is_crowded = squares >= CROWD * events.len() as u64;
        if !is_crowded {
            self.unsorted.clear();
            self.unsorted.extend_from_slice(events);
            for packed in &self.unsorted {
                let at = &mut self.bins[bin_of(*packed)];
                events[*at as usize] = *packed;
                *at += 1;
            }
        }
        self.bins[..1 << bits].fill(0);
        !is_crowded
    }
}

/// Sorts nearly sorted events, latest first, by insertion. The first comparison of each event has
/// no branch, because its outcome is hard to predict.
fn finish(sorted: &mut [Packed]) {
    let Some(mut carry) = sorted.first().copied() else { return };
    let mut before = Packed::MAX;
    for index in 1..sorted.len() {
        let next = sorted[index];
        let later = carry.max(next);
        carry = carry.min(next);
        sorted[index - 1] = later;
        if later > before {
            sink(sorted, index - 1);
        } else {
            before = later;
        }
    }
    sorted[sorted.len() - 1] = carry;
    sink(sorted, sorted.len() - 1);
}

/// Moves the event at `index` before all earlier events.
#[inline]
fn sink(sorted: &mut [Packed], mut index: usize) {
    while index > 0 && sorted[index - 1] < sorted[index] {
        sorted.swap(index - 1, index);
        index -= 1;
    }
}

/// Items of a chunk.
const CHUNK: usize = 32;

/// Ring of `N` lists in chunks of one pool. The ring identifies a list by the low bits of its
/// number.
struct Wheel<T, const N: usize> {
    /// End of each list in `items`, or zero if the list is empty.
    ends: Box<[u32; N]>,
    /// One bit per list, set if the list is not empty.
    occupied: Vec<u64>,
    /// All chunks.
    items: Vec<T>,
    /// End of the list before each chunk, or zero for the first chunk of a list.
    before: Vec<u32>,
    /// End of the list of unused chunks.
    unused: u32,
}

impl<T, const N: usize> Default for Wheel<T, N> {
    fn default() -> Self {
        let occupied = vec![0; N / 64];
        Wheel { ends: Box::new([0; N]), occupied, items: Vec::new(), before: Vec::new(), unused: 0 }
    }
}

/// Returns the last chunk of a list that ends at `end`.
#[inline]
fn chunk_of(end: u32) -> usize {
    (end as usize - 1) / CHUNK
}

impl<T: Copy, const N: usize> Wheel<T, N> {
    #[inline]
    fn index(number: u64) -> usize {
        number as usize % N
    }

    /// Adds `item` to the list of `number`.
    #[inline]
    fn push(&mut self, number: u64, item: T) {
        let list = Self::index(number);
        if (self.ends[list] as usize).is_multiple_of(CHUNK) {
            self.extend(list, item);
        }
        let end = &mut self.ends[list];
        self.items[*end as usize] = item;
        *end += 1;
    }

    /// Appends a chunk to `list`, whose chunks are full. A new chunk is filled with `any` item.
    #[inline(never)]
    fn extend(&mut self, list: usize, any: T) {
        if self.unused == 0 {
            self.items.resize(self.items.len() + CHUNK, any);
            self.before.push(0);
            self.unused = u32::try_from(self.items.len()).expect("fewer than 2^32 events are pending at once");
        }
        let chunk = chunk_of(self.unused);
        self.unused = std::mem::replace(&mut self.before[chunk], self.ends[list]);
        self.ends[list] = (chunk * CHUNK) as u32;
        self.occupied[list / 64] |= 1 << (list % 64);
    }

    /// Returns the chunks of the list of `number`, from last to first.
    #[inline]
    fn chunks(&self, number: u64) -> impl Iterator<Item = &[T]> + Clone {
        let end = |end: u32| (end > 0).then_some(end);
        let ends =
            std::iter::successors(end(self.ends[Self::index(number)]), move |last| end(self.before[chunk_of(*last)]));
        ends.map(|end| &self.items[chunk_of(end) * CHUNK..end as usize])
    }

    /// Empties the list of `number`.
    fn clear(&mut self, number: u64) {
        let list = Self::index(number);
        let mut end = std::mem::take(&mut self.ends[list]);
        while end > 0 {
            let chunk = chunk_of(end);
            end = std::mem::replace(&mut self.before[chunk], self.unused);
            self.unused = ((chunk + 1) * CHUNK) as u32;
        }
        self.occupied[list / 64] &= !(1 << (list % 64));
    }

    /// Returns the first number, from `from` on, with a non-empty list within the ring's reach.
    fn next_from(&self, from: u64) -> Option<u64> {
        let first = Self::index(from);
        let rest = self.occupied[first / 64] >> (first % 64);
        if rest != 0 {
            return Some(from + u64::from(rest.trailing_zeros()));
        }
        let words = N / 64;
        let (steps, bits) = (1..=words)
            .map(|steps| (steps, self.occupied[(first / 64 + steps) % words]))
            .find(|(_, bits)| *bits != 0)?;
        Some((from / 64 + steps as u64) * 64 + u64::from(bits.trailing_zeros()))
    }
}
