use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Operation {
    Push {
        ahead: u64,
        key: u64,
    },
    /// Pushes many events, `spacing` apart on average, so that several may be at one instant.
    PushMany {
        ahead: u64,
        key: u64,
        count: u64,
        spacing: u64,
    },
    Pop,
    PopMany,
    PopBefore {
        ahead: u64,
    },
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let ahead = prop_oneof![0u64..3, 0u64..10_000, 0u64..5_000_000, 0u64..200_000_000, 0u64..100_000_000_000];
    let key = prop_oneof![0u64..4, 0u64..1 << KEY_BITS, Just((1u64 << KEY_BITS) - 1)];
    let operation = prop_oneof![
        8 => (ahead.clone(), key).prop_map(|(ahead, key)| Operation::Push { ahead, key }),
        1 => (ahead.clone(), 0u64..1 << 40, 1u64..400, prop_oneof![0u64..2, 0u64..100]).prop_map(
            |(ahead, key, count, spacing)| Operation::PushMany { ahead, key, count, spacing }
        ),
        6 => Just(Operation::Pop),
        6 => Just(Operation::PopMany),
        2 => ahead.prop_map(|ahead| Operation::PopBefore { ahead }),
    ];
    prop::collection::vec(operation, 1..400)
}

proptest! {
    /// The event set and a binary heap agree on any operations.
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
                Operation::PushMany { ahead, key, count, spacing } => {
                    for number in 0..count {
                        // Times and keys are unordered.
                        let time = Time::from_ps(now + ahead + number * 7919 % count * spacing);
                        let event = Event { time, key: key + number * 3163 % count };
                        set.push(event);
                        heap.push(Reverse(event));
                    }
                }
                Operation::PopMany => {
                    for _ in 0..100 {
                        let expected = heap.pop().map(|Reverse(event)| event);
                        prop_assert_eq!(set.pop_before(Time::NEVER), expected);
                        now = expected.map_or(now, |event| event.time.ps());
                    }
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
            if let Some(key) = set.ahead(0) {
                prop_assert_eq!(heap.peek().map(|Reverse(event)| event.key), Some(key));
            }
            prop_assert_eq!(set.next_time(), heap.peek().map_or(Time::NEVER, |Reverse(event)| event.time));
        }
        let rest = std::iter::from_fn(|| heap.pop().map(|Reverse(event)| event));
        rest.for_each(|event| assert_eq!(set.pop_before(Time::NEVER), Some(event)));
        prop_assert_eq!(set.pop_before(Time::NEVER), None);
    }
}

#[test]
fn memory_is_reused() {
    let mut set = EventSet::default();
    let mut run = |from: u64, to: u64| {
        for step in from..to {
            let now = step * 1000;
            for (key, ahead) in [1_000_000, 1_088_480, 90_000, 10_000_000].into_iter().enumerate() {
                set.push(Event { time: Time::from_ps(now + ahead), key: key as u64 });
            }
            while set.pop_before(Time::from_ps(now)).is_some() {}
        }
        set.heap_bytes()
    };
    let held = run(0, 40_000);
    assert_eq!(run(40_000, 200_000), held);
}

#[test]
fn ahead_returns_the_next_keys() {
    let mut set = EventSet::default();
    for key in [7, 3, 5] {
        set.push(Event { time: Time::from_ps(100 + key), key });
    }
    set.push(Event { time: Time::from_ps(1 << BUCKET_BITS), key: 1 });
    assert_eq!(set.pop_before(Time::NEVER).map(|event| event.key), Some(3));
    // Only the current bucket is sorted.
    assert_eq!([0, 1, 2].map(|steps| set.ahead(steps)), [Some(5), Some(7), None]);
}
