//! The pending-event set: a two-level wheel with a heap behind it.
//!
//! Events are ordered by `(time, key)`. The caller's key names the entity and what happens to it; as long as an entity has one event per
//! instant, the order is total and depends neither on the order of insertion nor on how entities are spread over several sets.
//!
//! * The *near* wheel covers one slot of the coarse wheel in buckets of 4.1 ns, less than the smallest frame takes at 100 Gb/s: a bucket is
//!   sorted once, when its turn comes, and drained as a batch.
//! * The *coarse* wheel covers 17 ms in slots of 4.2 us; a slot is dealt out to the near wheel when the clock reaches it.
//! * Later events wait in a binary heap.
//!
//! Buckets keep their memory, so nothing is allocated in steady state.

use crate::time::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One event: when, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// When it happens.
    pub time: Time,
    /// The caller's name for it; orders events of one instant.
    pub key: u64,
}

impl Event {
    /// Time and key as one number, which compares without a branch.
    #[inline]
    fn rank(self) -> u128 {
        u128::from(self.time.ps()) << 64 | u128::from(self.key)
    }
}

const BUCKET_BITS: u32 = 12;
const NEAR_BITS: u32 = 10;
const COARSE_BITS: u32 = 12;
const SLOT_BITS: u32 = BUCKET_BITS + NEAR_BITS;
const NEAR: usize = 1 << NEAR_BITS;
const COARSE: usize = 1 << COARSE_BITS;

/// The set of events that have not happened yet.
pub struct EventSet {
    /// Events of the bucket being drained, latest first.
    current: Vec<Event>,
    /// Index of the bucket that `current` was taken from, or will be compared with: times below its end go to `current`.
    cursor: usize,
    near: Vec<Vec<Event>>,
    near_occupied: Occupied,
    /// The coarse slot that the near wheel shows.
    slot: u64,
    coarse: Vec<Vec<Event>>,
    coarse_occupied: Occupied,
    /// Empty buckets of coarse slots that have been dealt out, for those that come.
    spare: Vec<Vec<Event>>,
    far: BinaryHeap<Reverse<Event>>,
    len: usize,
}

impl Default for EventSet {
    fn default() -> Self {
        EventSet {
            current: Vec::new(),
            cursor: 0,
            near: vec![Vec::new(); NEAR],
            near_occupied: Occupied::new(NEAR),
            slot: 0,
            coarse: vec![Vec::new(); COARSE],
            coarse_occupied: Occupied::new(COARSE),
            spare: Vec::new(),
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

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an event, which must not be earlier than the last one taken.
    #[inline]
    pub fn push(&mut self, event: Event) {
        self.len += 1;
        let time = event.time.ps();
        let slot = time >> SLOT_BITS;
        if slot == self.slot {
            let bucket = (time >> BUCKET_BITS) as usize & (NEAR - 1);
            if bucket > self.cursor {
                self.near[bucket].push(event);
                self.near_occupied.set(bucket);
            } else {
                self.insert_current(event);
            }
        } else if slot < self.slot {
            // The near wheel already moved ahead of the clock to find the next event; this one comes before all of it.
            self.insert_current(event);
        } else if slot - self.slot < COARSE as u64 {
            let index = slot as usize & (COARSE - 1);
            let bucket = &mut self.coarse[index];
            if bucket.capacity() == 0 {
                *bucket = self.spare.pop().unwrap_or_default();
            }
            bucket.push(event);
            self.coarse_occupied.set(index);
        } else {
            self.far.push(Reverse(event));
        }
    }

    /// The earliest pending event, if any.
    #[inline]
    pub fn peek(&mut self) -> Option<Event> {
        if self.current.is_empty() && !self.refill() {
            return None;
        }
        self.current.last().copied()
    }

    /// Takes the earliest event if it happens before `limit`.
    #[inline]
    pub fn pop_before(&mut self, limit: Time) -> Option<Event> {
        let event = self.peek()?;
        if event.time >= limit {
            return None;
        }
        self.len -= 1;
        self.current.pop()
    }

    fn insert_current(&mut self, event: Event) {
        let at = self.current.partition_point(|other| *other > event);
        self.current.insert(at, event);
    }

    /// Loads the next non-empty bucket into `current`; false when nothing is pending.
    fn refill(&mut self) -> bool {
        if self.len == 0 {
            return false;
        }
        loop {
            if let Some(bucket) = self.near_occupied.next_from(self.cursor) {
                self.near_occupied.clear(bucket);
                self.cursor = bucket;
                std::mem::swap(&mut self.current, &mut self.near[bucket]);
                self.current.sort_unstable_by_key(|event| Reverse(event.rank()));
                return true;
            }
            self.next_slot();
        }
    }

    /// Moves the near wheel to the next coarse slot that holds an event.
    fn next_slot(&mut self) {
        let here = self.slot as usize & (COARSE - 1);
        let ahead = self.coarse_occupied.next_from(here).or_else(|| self.coarse_occupied.next_from(0));
        let coarse_slot = ahead.map(|index| self.slot + (index.wrapping_sub(here) & (COARSE - 1)) as u64);
        let far_slot = self.far.peek().map(|Reverse(event)| event.time.ps() >> SLOT_BITS);
        self.slot = match (coarse_slot, far_slot) {
            (Some(coarse), Some(far)) => coarse.min(far),
            (Some(slot), None) | (None, Some(slot)) => slot,
            (None, None) => unreachable!("a pending event is in the near wheel, the coarse wheel or the heap"),
        };
        self.cursor = 0;
        let index = self.slot as usize & (COARSE - 1);
        let mut dealt = std::mem::take(&mut self.coarse[index]);
        self.coarse_occupied.clear(index);
        for event in dealt.drain(..) {
            self.deal(event);
        }
        if dealt.capacity() > 0 {
            self.spare.push(dealt);
        }
        while let Some(Reverse(event)) = self.far.peek().copied() {
            if event.time.ps() >> SLOT_BITS != self.slot {
                break;
            }
            self.far.pop();
            self.deal(event);
        }
    }

    fn deal(&mut self, event: Event) {
        let bucket = (event.time.ps() >> BUCKET_BITS) as usize & (NEAR - 1);
        self.near[bucket].push(event);
        self.near_occupied.set(bucket);
    }
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
        let operation = prop_oneof![
            4 => (ahead.clone(), 0u64..4).prop_map(|(ahead, key)| Operation::Push { ahead, key }),
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
                        now = expected.map_or(now, |event| event.time.ps());
                    }
                }
                prop_assert_eq!(set.len(), heap.len());
                prop_assert_eq!(set.peek(), heap.peek().map(|Reverse(event)| *event));
            }
        }
    }
}
