//! The pending-event set: a two-level wheel with a heap behind it.
//!
//! Events are ordered by `(time, key)`. The caller's key names the entity and what happens to it; as long as an entity has one event per
//! instant, the order is total and depends neither on the order of insertion nor on how entities are spread over several sets.
//!
//! * The *near* wheel covers the next 4.2 us in buckets of 4.1 ns, less than the smallest frame takes at 100 Gb/s: a bucket is sorted once,
//!   when its turn comes, and drained as a batch. Within a bucket, an event is one number: what its time is above the bucket's start, and
//!   its key below.
//! * The *coarse* wheel covers 17 ms in slots of 4.2 us; a slot is dealt out to the near wheel when the clock reaches it.
//! * Later events wait in a binary heap.
//!
//! The lists of a wheel share one pool of chunks. Those of a list that has been taken, which are warm, go to the lists that fill up next:
//! nothing is allocated in steady state.

use crate::time::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One event: when, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// When it happens.
    pub time: Time,
    /// The caller's name for it, below 2^[`KEY_BITS`]; orders events of one instant.
    pub key: u64,
}

const BUCKET_BITS: u32 = 12;
const NEAR_BITS: u32 = 10;
const COARSE_BITS: u32 = 12;
const SLOT_BITS: u32 = BUCKET_BITS + NEAR_BITS;
const NEAR: usize = 1 << NEAR_BITS;
const COARSE: usize = 1 << COARSE_BITS;
/// Bits of a key.
pub const KEY_BITS: u32 = u64::BITS - BUCKET_BITS;

/// The set of events that have not happened yet.
pub struct EventSet {
    /// Events of the bucket being drained, latest first.
    current: Vec<Packed>,
    /// Number of the bucket that `current` was taken from, counted from time zero.
    cursor: u64,
    /// Events of the buckets after the cursor.
    near: Wheel<Packed, NEAR>,
    /// Events of slots after the cursor's that were too far ahead for the near wheel.
    coarse: Wheel<Event, COARSE>,
    far: BinaryHeap<Reverse<Event>>,
    /// The first slot with an event in `coarse` or `far`; [`u64::MAX`] if there is none.
    next_slot: u64,
    sorter: Sorter,
}

/// An event within its bucket: its time since the bucket's start, then its key.
type Packed = u64;

#[inline]
fn pack(event: Event) -> Packed {
    debug_assert!(event.key >> KEY_BITS == 0, "a key has at most {KEY_BITS} bits");
    event.time.ps() << KEY_BITS | event.key
}

#[inline]
fn unpack(bucket: u64, packed: Packed) -> Event {
    Event { time: Time::from_ps((bucket << BUCKET_BITS) + (packed >> KEY_BITS)), key: packed & (u64::MAX >> BUCKET_BITS) }
}

#[inline]
fn bucket_of(time: Time) -> u64 {
    time.ps() >> BUCKET_BITS
}

#[inline]
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
            sorter: Sorter::default(),
        }
    }
}

impl EventSet {
    /// Number of pending events.
    #[inline]
    pub fn len(&self) -> usize {
        self.current.len() + self.near.len + self.coarse.len + self.far.len()
    }

    /// Bytes that the set holds on the heap.
    pub fn heap_bytes(&self) -> u64 {
        let EventSet { current, near, coarse, far, sorter, .. } = self;
        let single = current.capacity() * size_of::<Packed>() + far.capacity() * size_of::<Event>();
        (near.heap_bytes() + coarse.heap_bytes() + sorter.heap_bytes() + single) as u64
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an event, which must be earlier neither than the last one taken nor than a limit before which there was nothing left to take.
    #[inline]
    pub fn push(&mut self, event: Event) {
        let bucket = bucket_of(event.time);
        debug_assert!(bucket >= self.cursor, "events are not pushed into the past");
        let ahead = bucket.wrapping_sub(self.cursor);
        if ahead.wrapping_sub(1) < NEAR as u64 - 1 {
            self.near.push(bucket, pack(event));
        } else if ahead == 0 {
            self.insert(pack(event));
        } else {
            self.push_late(event);
        }
    }

    /// Adds an event of the bucket that is being drained.
    #[inline(never)]
    fn insert(&mut self, packed: Packed) {
        let at = self.current.partition_point(|other| *other > packed);
        self.current.insert(at, packed);
    }

    /// Adds an event that is too far ahead for the near wheel.
    #[inline(never)]
    fn push_late(&mut self, event: Event) {
        let slot = slot_of(event.time);
        self.next_slot = self.next_slot.min(slot);
        if slot - (self.cursor >> NEAR_BITS) < COARSE as u64 {
            self.coarse.push(slot, event);
        } else {
            self.far.push(Reverse(event));
        }
    }

    /// Takes the earliest event if it happens before `limit`.
    #[inline]
    pub fn pop_before(&mut self, limit: Time) -> Option<Event> {
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

    /// When the earliest event happens; [`Time::NEVER`] if nothing is pending.
    pub fn next_time(&self) -> Time {
        if let Some(packed) = self.current.last() {
            return unpack(self.cursor, *packed).time;
        }
        let near = self.near.next_from(self.cursor).into_iter().flat_map(|bucket| {
            self.near.list(bucket).map(move |packed| unpack(bucket, *packed).time)
        });
        let coarse = self.coarse.next_from(self.cursor >> NEAR_BITS).into_iter();
        let coarse = coarse.flat_map(|slot| self.coarse.list(slot)).map(|event| event.time);
        let far = self.far.peek().map(|Reverse(event)| event.time);
        near.chain(coarse).chain(far).min().unwrap_or(Time::NEVER)
    }

    /// The key of the event that comes `steps` after the earliest, as far as that is settled: a later push may still come in between.
    #[inline]
    pub fn ahead(&self, steps: usize) -> Option<u64> {
        let index = self.current.len().checked_sub(1 + steps)?;
        Some(self.current[index] & (u64::MAX >> BUCKET_BITS))
    }

    /// Loads the next bucket that holds an event into `current`; false if nothing is pending before `limit`.
    #[inline(never)]
    fn refill(&mut self, limit: Time) -> bool {
        loop {
            let bucket = self.near.next_from(self.cursor).filter(|bucket| bucket >> NEAR_BITS < self.next_slot);
            let start = bucket.map_or(self.next_slot.saturating_mul(1 << SLOT_BITS), |bucket| bucket << BUCKET_BITS);
            if start >= limit.ps() {
                return false;
            }
            if let Some(bucket) = bucket {
                self.cursor = bucket;
                self.near.take(bucket, |chunk| self.sorter.items.extend_from_slice(chunk));
                self.sorter.sort(&mut self.current);
                return true;
            }
            self.deal();
        }
    }

    /// Moves the cursor to the next slot that has events in `coarse` or `far`, and these to the near wheel.
    fn deal(&mut self) {
        let slot = self.next_slot;
        self.cursor = slot << NEAR_BITS;
        self.coarse.take(slot, |events| events.iter().for_each(|event| self.near.push(bucket_of(event.time), pack(*event))));
        while let Some(Reverse(event)) = self.far.peek().copied().filter(|Reverse(event)| slot_of(event.time) == slot) {
            self.far.pop();
            self.near.push(bucket_of(event.time), pack(event));
        }
        let far = self.far.peek().map(|Reverse(event)| slot_of(event.time));
        self.next_slot = self.coarse.next_from(slot).into_iter().chain(far).min().unwrap_or(u64::MAX);
    }
}

/// Items of a chunk.
const CHUNK: u32 = 32;

/// A ring of `N` lists, which share one pool of chunks.
struct Wheel<T, const N: usize> {
    /// Where each list ends in `items`; zero if it is empty.
    ends: Box<[u32; N]>,
    /// A bit for each list that is not empty.
    occupied: Vec<u64>,
    /// The chunks, one after the other.
    items: Vec<T>,
    /// For each chunk, where the list ends that it continues.
    before: Vec<u32>,
    /// Where chunks start that no list uses.
    free: Vec<u32>,
    /// Number of items in all lists.
    len: usize,
}

impl<T, const N: usize> Default for Wheel<T, N> {
    fn default() -> Self {
        let occupied = vec![0; N.div_ceil(64)];
        Wheel { ends: Box::new([0; N]), occupied, items: Vec::new(), before: Vec::new(), free: Vec::new(), len: 0 }
    }
}

impl<T: Copy, const N: usize> Wheel<T, N> {
    /// Adds `item` to the list of `number`, of which the ring shows the last bits.
    #[inline]
    fn push(&mut self, number: u64, item: T) {
        let list = number as usize & (N - 1);
        let mut end = self.ends[list];
        if end % CHUNK == 0 {
            end = self.extend(list, item);
        }
        self.items[end as usize] = item;
        self.ends[list] = end + 1;
        self.len += 1;
    }

    /// Where the chunk starts that is to continue `list`.
    #[inline(never)]
    fn extend(&mut self, list: usize, any: T) -> u32 {
        let start = self.free.pop().unwrap_or_else(|| {
            let start = self.items.len();
            self.items.resize(start + CHUNK as usize, any);
            self.before.push(0);
            start as u32
        });
        self.before[(start / CHUNK) as usize] = self.ends[list];
        self.occupied[list / 64] |= 1 << (list % 64);
        start
    }

    /// Empties the list of `number`, chunk by chunk.
    fn take(&mut self, number: u64, mut each: impl FnMut(&[T])) {
        let list = number as usize & (N - 1);
        let mut end = std::mem::take(&mut self.ends[list]);
        while end > 0 {
            let start = (end - 1) / CHUNK * CHUNK;
            each(&self.items[start as usize..end as usize]);
            self.len -= (end - start) as usize;
            self.free.push(start);
            end = self.before[(start / CHUNK) as usize];
        }
        self.occupied[list / 64] &= !(1 << (list % 64));
    }

    /// What the list of `number` holds.
    fn list(&self, number: u64) -> impl Iterator<Item = &T> {
        let last = self.ends[number as usize & (N - 1)];
        let start = |end: u32| (end - 1) / CHUNK * CHUNK;
        let before = move |end: &u32| Some(self.before[(start(*end) / CHUNK) as usize]).filter(|end| *end > 0);
        let chunks = std::iter::successors(Some(last).filter(|end| *end > 0), before);
        chunks.flat_map(move |end| &self.items[start(end) as usize..end as usize])
    }

    /// The first number from `from` on whose list holds something, of as many as there are lists.
    fn next_from(&self, from: u64) -> Option<u64> {
        let first = from as usize & (N - 1);
        let rest = self.occupied[first / 64] >> (first % 64);
        if rest != 0 {
            return Some(from + u64::from(rest.trailing_zeros()));
        }
        let words = N / 64;
        (1..=words).find_map(|step| {
            let bits = self.occupied[(first / 64 + step) % words];
            (bits != 0).then(|| (from & !63) + 64 * step as u64 + u64::from(bits.trailing_zeros()))
        })
    }

    fn heap_bytes(&self) -> usize {
        let numbers = N + self.before.capacity() + self.free.capacity();
        self.items.capacity() * size_of::<T>() + self.occupied.capacity() * size_of::<u64>() + numbers * size_of::<u32>()
    }
}

/// Sorts the events of a bucket: by the first bits of their time in one pass, and within those by comparing.
struct Sorter {
    items: Vec<Packed>,
    counts: Box<[u32; 1 << BUCKET_BITS]>,
}

impl Default for Sorter {
    fn default() -> Self {
        Sorter { items: Vec::new(), counts: Box::new([0; 1 << BUCKET_BITS]) }
    }
}

impl Sorter {
    /// Moves `items` to `sorted`, latest first.
    fn sort(&mut self, sorted: &mut Vec<Packed>) {
        let Sorter { items, counts } = self;
        sorted.extend_from_slice(items);
        if items.len() <= 20 {
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            items.clear();
            return;
        }
        let bits = (items.len().ilog2() + 1).min(BUCKET_BITS);
        let shift = BUCKET_BITS - bits;
        let bin = |packed: Packed| (packed >> KEY_BITS >> shift) as usize;
        for packed in items.iter() {
            counts[bin(*packed)] += 1;
        }
        let (mut sum, mut most) = (0, 0);
        for count in counts[..1 << bits].iter_mut().rev() {
            most = most.max(*count);
            sum += std::mem::replace(count, sum);
        }
        if most > 16 {
            sorted.sort_unstable_by(|a, b| b.cmp(a));
        } else {
            for packed in items.iter() {
                let at = &mut counts[bin(*packed)];
                sorted[*at as usize] = *packed;
                *at += 1;
            }
            finish(sorted);
        }
        items.clear();
        counts[..1 << bits].fill(0);
    }

    fn heap_bytes(&self) -> usize {
        self.items.capacity() * size_of::<Packed>() + size_of_val(&*self.counts)
    }
}

/// Sorts what is nearly sorted, latest first.
fn finish(sorted: &mut [Packed]) {
    let (mut before, mut carry) = (u64::MAX, sorted[0]);
    for i in 1..sorted.len() {
        let next = sorted[i];
        let first = carry.max(next);
        carry = carry.min(next);
        sorted[i - 1] = first;
        if first > before {
            let mut at = i - 1;
            while at > 0 && sorted[at - 1] < first {
                sorted[at] = sorted[at - 1];
                at -= 1;
            }
            sorted[at] = first;
        } else {
            before = first;
        }
    }
    let mut at = sorted.len() - 1;
    while at > 0 && sorted[at - 1] < carry {
        sorted[at] = sorted[at - 1];
        at -= 1;
    }
    sorted[at] = carry;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Operation {
        Push { ahead: u64, key: u64 },
        Pop,
        PopBefore { ahead: u64 },
    }

    fn operations() -> impl Strategy<Value = Vec<Operation>> {
        let ahead = prop_oneof![0u64..3, 0u64..10_000, 0u64..5_000_000, 0u64..200_000_000, 0u64..100_000_000_000];
        let key = prop_oneof![0u64..4, 0u64..1 << KEY_BITS, Just((1u64 << KEY_BITS) - 1)];
        let operation = prop_oneof![
            4 => (ahead.clone(), key).prop_map(|(ahead, key)| Operation::Push { ahead, key }),
            3 => Just(Operation::Pop),
            1 => ahead.prop_map(|ahead| Operation::PopBefore { ahead }),
        ];
        prop::collection::vec(operation, 1..400)
    }

    proptest! {
        /// Whatever is pushed and popped, the wheel and a binary heap agree.
        #[test]
        fn agrees_with_a_binary_heap(operations in operations()) {
            let (mut set, mut heap, mut now) = (EventSet::default(), BinaryHeap::new(), 0);
            for operation in operations {
                match operation {
                    Operation::Push { ahead, key } => {
                        let event = Event { time: Time::from_ps(now + ahead), key };
                        set.push(event);
                        heap.push(Reverse(event));
                    }
                    Operation::Pop => {
                        let expected = heap.pop().map(|Reverse(event)| event);
                        prop_assert_eq!(set.pop_before(Time::NEVER), expected);
                        now = expected.map_or(now, |event| event.time.ps());
                    }
                    Operation::PopBefore { ahead } => {
                        let limit = Time::from_ps(now + ahead);
                        let due = heap.peek().is_some_and(|Reverse(event)| event.time < limit);
                        let expected = if due { heap.pop().map(|Reverse(event)| event) } else { None };
                        prop_assert_eq!(set.pop_before(limit), expected);
                        now = expected.map_or(limit, |event| event.time).ps();
                    }
                }
                prop_assert_eq!(set.len(), heap.len());
                if let Some(key) = set.ahead(0) {
                    prop_assert_eq!(heap.peek().map(|Reverse(event)| event.key), Some(key));
                }
                prop_assert_eq!(set.next_time(), heap.peek().map_or(Time::NEVER, |Reverse(event)| event.time));
            }
        }
    }

    #[test]
    fn what_is_ahead_is_what_comes() {
        let mut set = EventSet::default();
        for key in [7, 3, 5] {
            set.push(Event { time: Time::from_ps(100 + key), key });
        }
        set.push(Event { time: Time::from_ps(1 << BUCKET_BITS), key: 1 });
        assert_eq!(set.pop_before(Time::NEVER).map(|event| event.key), Some(3));
        // The bucket that is being drained is known, the next is not.
        assert_eq!([0, 1, 2].map(|steps| set.ahead(steps)), [Some(5), Some(7), None]);
    }
}
