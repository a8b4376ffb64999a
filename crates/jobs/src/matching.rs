//! Messages that have arrived, and receives that wait for them.

use crate::operation::{OperationIx, Rank};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};

/// Sender and tag of a message.
type Envelope = (Rank, u64);

/// Receives that wait for messages, and messages that wait for receives. A message ends the receive
/// that started first among those that match, and a receive takes the message that arrived first.
#[derive(Debug, Default)]
pub(crate) struct Receives {
    /// Number of receives and messages so far.
    count: u64,
    /// Receives of a given sender and tag that wait, with their numbers.
    exact: FxHashMap<Envelope, VecDeque<(u64, OperationIx)>>,
    /// Other receives that wait, by number.
    wildcards: BTreeMap<u64, (OperationIx, Option<Rank>, Option<u64>)>,
    /// Messages that wait, by number.
    arrived: BTreeMap<u64, Envelope>,
    /// Numbers of the messages that wait, by sender and tag.
    arrived_from: FxHashMap<Envelope, VecDeque<u64>>,
}

impl Receives {
    /// A receive starts. Returns true if a message waits for it.
    pub(crate) fn start(&mut self, operation: OperationIx, from: Option<Rank>, tag: Option<u64>) -> bool {
        self.count += 1;
        let matches =
            |(sender, sent): &Envelope| from.is_none_or(|from| from == *sender) && tag.is_none_or(|tag| tag == *sent);
        let found = match (from, tag) {
            (Some(from), Some(tag)) => self.arrived_from.get(&(from, tag)).and_then(|of| of.front()).copied(),
            _ => self.arrived.iter().find(|(_, envelope)| matches(envelope)).map(|(number, _)| *number),
        };
        if let Some(number) = found
            && let Some(envelope) = self.arrived.remove(&number)
        {
            // Messages with equal envelopes wait in the order of their numbers.
            take_first(&mut self.arrived_from, envelope);
            return true;
        }
        match (from, tag) {
            (Some(from), Some(tag)) => {
                self.exact.entry((from, tag)).or_default().push_back((self.count, operation));
            }
            _ => {
                self.wildcards.insert(self.count, (operation, from, tag));
            }
        }
        false
    }

    /// A message arrives. Returns the receive that waits for it, if any.
    pub(crate) fn arrive(&mut self, from: Rank, tag: u64) -> Option<OperationIx> {
        self.count += 1;
        let envelope = (from, tag);
        let exact = self.exact.get(&envelope).and_then(|of| of.front()).copied();
        let any = self.wildcards.iter().find(|(_, (_, source, wanted))| {
            source.is_none_or(|source| source == from) && wanted.is_none_or(|wanted| wanted == tag)
        });
        let any = any.map(|(number, (operation, ..))| (*number, *operation));
        match (exact, any) {
            (Some((first, operation)), any) if any.is_none_or(|(number, _)| first < number) => {
                take_first(&mut self.exact, envelope);
                Some(operation)
            }
            (_, Some((number, operation))) => {
                self.wildcards.remove(&number);
                Some(operation)
            }
            _ => {
                self.arrived.insert(self.count, envelope);
                self.arrived_from.entry(envelope).or_default().push_back(self.count);
                None
            }
        }
    }

    /// Returns the receives that wait, in order of their starts.
    pub(crate) fn waiting(&self) -> Vec<OperationIx> {
        let mut waiting: Vec<(u64, OperationIx)> =
            self.wildcards.iter().map(|(number, (operation, ..))| (*number, *operation)).collect();
        #[allow(clippy::iter_over_hash_type, reason = "sorted below")]
        for of in self.exact.values() {
            waiting.extend(of);
        }
        waiting.sort_unstable();
        waiting.into_iter().map(|(_, operation)| operation).collect()
    }

    /// Returns the heap size in bytes, without the nodes of trees.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let exact = self.exact.capacity() * size_of::<(Envelope, VecDeque<(u64, OperationIx)>)>();
        let arrived = self.arrived_from.capacity() * size_of::<(Envelope, VecDeque<u64>)>();
        (exact + arrived + self.arrived.len() * 40 + self.wildcards.len() * 56) as u64
    }
}

/// Removes the first entry of an envelope.
fn take_first<T>(entries: &mut FxHashMap<Envelope, VecDeque<T>>, envelope: Envelope) {
    if let Some(of) = entries.get_mut(&envelope) {
        of.pop_front();
        if of.is_empty() {
            entries.remove(&envelope);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Compares with lists that are searched from the front.
    #[derive(Default)]
    struct Lists {
        waiting: Vec<(OperationIx, Option<Rank>, Option<u64>)>,
        arrived: Vec<Envelope>,
    }

    fn is_match(from: Option<Rank>, tag: Option<u64>, (sender, sent): Envelope) -> bool {
        from.is_none_or(|from| from == sender) && tag.is_none_or(|tag| tag == sent)
    }

    proptest! {
        #[test]
        fn first_receives_take_first_messages(
            events in prop::collection::vec((any::<bool>(), prop::option::of(0u32..3), prop::option::of(0u64..3)), 1..60),
        ) {
            let (mut receives, mut lists) = (Receives::default(), Lists::default());
            for (number, (is_receive, from, tag)) in (0..).map(OperationIx).zip(events) {
                let from = from.map(Rank);
                if is_receive {
                    let place = lists.arrived.iter().position(|envelope| is_match(from, tag, *envelope));
                    place.map(|place| lists.arrived.remove(place));
                    prop_assert_eq!(receives.start(number, from, tag), place.is_some());
                    if place.is_none() {
                        lists.waiting.push((number, from, tag));
                    }
                } else {
                    let envelope = (from.unwrap_or_default(), tag.unwrap_or_default());
                    let place = lists.waiting.iter().position(|(_, from, tag)| is_match(*from, *tag, envelope));
                    let receive = place.map(|place| lists.waiting.remove(place).0);
                    prop_assert_eq!(receives.arrive(envelope.0, envelope.1), receive);
                    if receive.is_none() {
                        lists.arrived.push(envelope);
                    }
                }
                let waiting: Vec<_> = lists.waiting.iter().map(|(operation, ..)| *operation).collect();
                prop_assert_eq!(receives.waiting(), waiting);
            }
        }
    }
}
