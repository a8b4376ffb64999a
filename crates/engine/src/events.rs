//! The pending-event set: a two-level wheel with a heap behind it.
//!
//! Events are ordered by `(time, key)`. The caller's key names the entity and what happens to it; as long as an entity has one event per
//! instant, the order is total and depends neither on the order of insertion nor on how entities are spread over several sets.
//!
//! * The *near* wheel covers one slot of the coarse wheel in buckets of 4.1 ns, less than the smallest frame takes at 100 Gb/s: a bucket is
//!   sorted once, when its turn comes, and drained as a batch. Within a bucket, an event is one number: what its time is above the bucket's
//!   start, and its key below.
//! * The *coarse* wheel covers 17 ms in slots of 4.2 us; a slot is dealt out to the near wheel when the clock reaches it.
//! * Later events wait in a binary heap.
//!
//! Buckets that have been drained leave their memory, which is warm, to those that fill up next: nothing is allocated in steady state.

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
    /// Index of the bucket that `current` was taken from.
    cursor: usize,
    near: Vec<Vec<Packed>>,
    near_occupied: Occupied,
    near_spare: Vec<Vec<Packed>>,
    /// The coarse slot that the near wheel shows.
    slot: u64,
    coarse: Vec<Vec<Event>>,
    coarse_occupied: Occupied,
    coarse_spare: Vec<Vec<Event>>,
    /// The memory of the last slot dealt out in turn. The slot after the next takes it over: two of them get nearly all events, the others
    /// timers.
    dealt: Vec<Event>,
    far: BinaryHeap<Reverse<Event>>,
    len: usize,
}

/// An event within its bucket: its time since the bucket's start, then its key.
type Packed = u64;

fn pack(event: Event) -> Packed {
    debug_assert!(event.key >> KEY_BITS == 0, "a key has at most {KEY_BITS} bits");
    event.time.ps() << KEY_BITS | event.key
}

fn slot_of(time: Time) -> u64 {
    time.ps() >> SLOT_BITS
}

fn bucket_of(time: Time) -> usize {
    (time.ps() >> BUCKET_BITS) as usize & (NEAR - 1)
}

impl Default for EventSet {
    fn default() -> Self {
        EventSet {
            current: Vec::new(),
            cursor: 0,
            near: vec![Vec::new(); NEAR],
            near_occupied: Occupied::new(NEAR),
            near_spare: Vec::new(),
            slot: 0,
            coarse: vec![Vec::new(); COARSE],
            coarse_occupied: Occupied::new(COARSE),
            coarse_spare: Vec::new(),
            dealt: Vec::new(),
            far: BinaryHeap::new(),
            len: 0,
        }
    }
}

impl EventSet {
    /// Number of pending events.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes that the set holds on the heap.
    pub fn heap_bytes(&self) -> u64 {
        fn of<T>(buckets: &Vec<Vec<T>>) -> usize {
            let held = buckets.iter().map(|bucket| bucket.capacity() * size_of::<T>()).sum::<usize>();
            buckets.capacity() * size_of::<Vec<T>>() + held
        }
        let EventSet { near, near_spare, coarse, coarse_spare, current, dealt, far, .. } = self;
        let events = (dealt.capacity() + far.capacity()) * size_of::<Event>();
        let single = current.capacity() * size_of::<Packed>() + events;
        (of(near) + of(near_spare) + of(coarse) + of(coarse_spare) + single) as u64
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an event, which must be earlier neither than the last one taken nor than a limit before which there was nothing left to take.
    #[inline]
    pub fn push(&mut self, event: Event) {
        self.len += 1;
        let slot = slot_of(event.time);
        debug_assert!(slot >= self.slot, "events are not pushed into the past");
        if slot == self.slot {
            self.deal(event);
        } else if slot - self.slot < COARSE as u64 {
            let index = slot as usize & (COARSE - 1);
            put(event, &mut self.coarse[index], &mut self.coarse_spare);
            self.coarse_occupied.set(index);
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
        let event = self.unpack(self.cursor, *self.current.last()?);
        if event.time >= limit {
            return None;
        }
        self.len -= 1;
        self.current.pop();
        Some(event)
    }

    /// When the earliest event happens; [`Time::NEVER`] if nothing is pending.
    pub fn next_time(&self) -> Time {
        if let Some(packed) = self.current.last() {
            return self.unpack(self.cursor, *packed).time;
        }
        if let Some(bucket) = self.near_occupied.next_from(self.cursor) {
            let first = self.near[bucket].iter().min().expect("an occupied bucket holds an event");
            return self.unpack(bucket, *first).time;
        }
        let coarse = self.next_coarse().and_then(|slot| self.coarse[slot as usize & (COARSE - 1)].iter().min());
        let far = self.far.peek().map(|Reverse(event)| event);
        coarse.into_iter().chain(far).min().map_or(Time::NEVER, |event| event.time)
    }

    /// The key of the event that comes `steps` after the earliest, as far as that is settled: a later push may still come in between.
    #[inline]
    pub fn ahead(&self, steps: usize) -> Option<u64> {
        let index = self.current.len().checked_sub(1 + steps)?;
        Some(self.current[index] & (u64::MAX >> BUCKET_BITS))
    }

    #[inline]
    fn unpack(&self, bucket: usize, packed: Packed) -> Event {
        let start = self.slot << SLOT_BITS | (bucket as u64) << BUCKET_BITS;
        Event { time: Time::from_ps(start + (packed >> KEY_BITS)), key: packed & (u64::MAX >> BUCKET_BITS) }
    }

    /// Loads the next non-empty bucket into `current`; false if nothing is pending before `limit`.
    fn refill(&mut self, limit: Time) -> bool {
        loop {
            if let Some(bucket) = self.near_occupied.next_from(self.cursor) {
                if self.unpack(bucket, 0).time >= limit {
                    return false;
                }
                self.near_occupied.clear(bucket);
                self.cursor = bucket;
                self.near_spare.push(std::mem::replace(&mut self.current, std::mem::take(&mut self.near[bucket])));
                self.current.sort_unstable_by_key(|packed| Reverse(*packed));
                return true;
            }
            if !self.next_slot(limit) {
                return false;
            }
            if !self.current.is_empty() {
                return true;
            }
        }
    }

    /// Moves the near wheel to the next coarse slot that holds an event, and to its first bucket; false if nothing is pending before `limit`.
    fn next_slot(&mut self, limit: Time) -> bool {
        let far = self.far.peek().map(|Reverse(event)| slot_of(event.time));
        let Some(slot) = self.next_coarse().into_iter().chain(far).min() else { return false };
        if slot << SLOT_BITS >= limit.ps() {
            return false;
        }
        let index = |slot: u64| slot as usize & (COARSE - 1);
        let follows = slot == self.slot + 1;
        // The memory meant for the slot after the last one: not needed there if that slot is passed over.
        let unused = if follows { Vec::new() } else { std::mem::take(&mut self.coarse[index(self.slot + 1)]) };
        (self.slot, self.cursor) = (slot, 0);
        let mut dealt = std::mem::take(&mut self.coarse[index(slot)]);
        self.coarse_occupied.clear(index(slot));
        for event in dealt.drain(..) {
            self.deal(event);
        }
        let (mut large, small) =
            if follows { (std::mem::replace(&mut self.dealt, dealt), Vec::new()) } else { (unused, dealt) };
        let next = &mut self.coarse[index(slot + 1)];
        large.append(next);
        let next = std::mem::replace(next, large);
        self.coarse_spare.extend([small, next].into_iter().filter(|memory| memory.capacity() > 0));
        while let Some(Reverse(event)) = self.far.peek().copied().filter(|Reverse(event)| slot_of(event.time) == slot) {
            self.far.pop();
            self.deal(event);
        }
        true
    }

    /// The next coarse slot with a non-empty bucket.
    fn next_coarse(&self) -> Option<u64> {
        let here = self.slot as usize & (COARSE - 1);
        let index = self.coarse_occupied.next_from(here).or_else(|| self.coarse_occupied.next_from(0))?;
        Some(self.slot + (index.wrapping_sub(here) & (COARSE - 1)) as u64)
    }

    /// Puts an event of this slot into its bucket.
    #[inline]
    fn deal(&mut self, event: Event) {
        let bucket = bucket_of(event.time);
        if bucket == self.cursor {
            let packed = pack(event);
            let at = self.current.partition_point(|other| *other > packed);
            self.current.insert(at, packed);
        } else {
            debug_assert!(bucket > self.cursor, "events are not pushed into the past");
            put(pack(event), &mut self.near[bucket], &mut self.near_spare);
            self.near_occupied.set(bucket);
        }
    }
}

/// Puts `item` into `bucket`, which takes over spare memory if it has none.
#[inline]
fn put<T>(item: T, bucket: &mut Vec<T>, spare: &mut Vec<Vec<T>>) {
    if bucket.capacity() == 0 {
        *bucket = spare.pop().unwrap_or_default();
    }
    bucket.push(item);
}

/// A bitmap that finds its next set bit quickly.
struct Occupied(Vec<u64>);

impl Occupied {
    fn new(bits: usize) -> Occupied {
        Occupied(vec![0; bits / 64])
    }

    #[inline]
    fn set(&mut self, bit: usize) {
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    #[inline]
    fn clear(&mut self, bit: usize) {
        self.0[bit / 64] &= !(1 << (bit % 64));
    }

    /// The first set bit at or after `from`.
    fn next_from(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.0[word] & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.0.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }
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
