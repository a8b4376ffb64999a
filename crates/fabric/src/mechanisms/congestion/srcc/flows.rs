//! Recent flows of an egress port: their number, and the time of the last notice to each.

use crate::ids::FlowId;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use rustc_hash::FxHashMap;

/// Index of a flow in the list.
pub(super) type Place = u32;
const NONE: Place = Place::MAX;

/// Flows with a packet within a window, in the order of their last packets.
#[derive(Debug, GetSize)]
pub(super) struct RecentFlows {
    places: FxHashMap<FlowId, Place>,
    flows: Vec<RecentFlow>,
    free: Vec<Place>,
    /// Flow whose last packet is the oldest, and flow whose last packet is the newest.
    oldest: Place,
    newest: Place,
    /// Bytes of all flows.
    bytes: RecentBytes,
}

#[derive(Debug, GetSize)]
struct RecentFlow {
    flow: FlowId,
    last: Time,
    notified: Option<Time>,
    bytes: RecentBytes,
    /// Neighbours in the list.
    older: Place,
    newer: Place,
}

/// Bytes that arrived in the current and in the previous window.
#[derive(Clone, Copy, Debug, Default, GetSize)]
struct RecentBytes {
    window: u64,
    bytes: u64,
    before: u64,
}

impl RecentBytes {
    fn go_on(&mut self, window: u64) {
        if window != self.window {
            self.before = if window == self.window + 1 { self.bytes } else { 0 };
            (self.window, self.bytes) = (window, 0);
        }
    }

    fn add(&mut self, window: u64, bytes: u64) {
        self.go_on(window);
        self.bytes += bytes;
    }

    fn total(&self) -> u64 {
        self.bytes + self.before
    }
}

impl Default for RecentFlows {
    fn default() -> Self {
        RecentFlows {
            places: FxHashMap::default(),
            flows: Vec::new(),
            free: Vec::new(),
            oldest: NONE,
            newest: NONE,
            bytes: RecentBytes::default(),
        }
    }
}

impl RecentFlows {
    /// Removes all flows whose last packet is at least `window` old, then records a packet of
    /// `flow`. Returns the flow's index.
    #[inline]
    pub(super) fn record(&mut self, flow: FlowId, now: Time, window: Duration) -> Place {
        if self.flows.get(self.oldest as usize).is_some_and(|oldest| now.since(oldest.last) >= window) {
            self.forget_old(now, window);
        }
        let newest = self.flows.get(self.newest as usize);
        let place = if newest.is_some_and(|newest| newest.flow == flow) { self.newest } else { self.renew(flow) };
        self.flows[place as usize].last = now;
        place
    }

    /// Removes all flows whose last packet is at least `window` old.
    #[inline(never)]
    fn forget_old(&mut self, now: Time, window: Duration) {
        while let Some(oldest) = self.flows.get(self.oldest as usize)
            && now.since(oldest.last) >= window
        {
            self.places.remove(&oldest.flow);
            let place = self.oldest;
            self.unlink(place);
            self.free.push(place);
        }
    }

    /// Makes `flow` the newest flow. Returns its index.
    #[inline(never)]
    fn renew(&mut self, flow: FlowId) -> Place {
        let Some(place) = self.places.get(&flow).copied() else { return self.add(flow) };
        self.unlink(place);
        self.append(place);
        place
    }

    /// Adds `bytes` to the flow at `place`.
    pub(super) fn add_bytes(&mut self, place: Place, bytes: u64, now: Time, window: Duration) {
        let number = now.ps() / window.ps();
        self.bytes.add(number, bytes);
        self.flows[place as usize].bytes.add(number, bytes);
    }

    /// Returns the number of flows.
    pub(super) fn count(&self) -> usize {
        self.places.len()
    }

    /// Returns the bytes of the flow at `place` and of all flows in the current and the previous
    /// window.
    pub(super) fn share(&self, place: Place) -> (u64, u64) {
        (self.flows[place as usize].bytes.total(), self.bytes.total())
    }

    /// Returns true if no notice to the flow at `place` was recorded less than `interval` ago, and
    /// then records a notice.
    pub(super) fn is_due(&mut self, place: Place, now: Time, interval: Duration) -> bool {
        let notified = &mut self.flows[place as usize].notified;
        let is_due = notified.is_none_or(|last| now.since(last) >= interval);
        if is_due {
            *notified = Some(now);
        }
        is_due
    }

    fn add(&mut self, flow: FlowId) -> Place {
        let entry = RecentFlow {
            flow,
            last: Time::ZERO,
            notified: None,
            bytes: RecentBytes::default(),
            older: NONE,
            newer: NONE,
        };
        let place = self.free.pop().unwrap_or(self.flows.len() as Place);
        match self.flows.get_mut(place as usize) {
            Some(free) => *free = entry,
            None => self.flows.push(entry),
        }
        self.places.insert(flow, place);
        self.append(place);
        place
    }

    fn unlink(&mut self, place: Place) {
        let RecentFlow { older, newer, .. } = self.flows[place as usize];
        match self.flows.get_mut(older as usize) {
            Some(neighbour) => neighbour.newer = newer,
            None => self.oldest = newer,
        }
        match self.flows.get_mut(newer as usize) {
            Some(neighbour) => neighbour.older = older,
            None => self.newest = older,
        }
    }

    fn append(&mut self, place: Place) {
        let newest = std::mem::replace(&mut self.newest, place);
        match self.flows.get_mut(newest as usize) {
            Some(neighbour) => neighbour.newer = place,
            None => self.oldest = place,
        }
        let entry = &mut self.flows[place as usize];
        (entry.older, entry.newer) = (newest, NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at_us as at;

    const WINDOW: Duration = Duration::from_us(10);

    /// Flows expire 10 us after their last packets, in any order of indices.
    #[test]
    fn flows_are_forgotten_in_the_order_of_their_last_packets() {
        let mut flows = RecentFlows::default();
        let mut model: Vec<(u32, u64)> = Vec::new();
        let mut draws = backwater_engine::random::Seed(1).stream("flows", 0);
        let mut now = 0;
        for _ in 0..10_000 {
            now += draws.below(3);
            let flow = draws.below(12) as u32;
            flows.record(FlowId(flow), at(now), WINDOW);
            model.retain(|(other, last)| *other != flow && now - last < 10);
            model.push((flow, now));
            assert_eq!(flows.count(), model.len());
        }
        assert!(flows.flows.len() <= 12);
        // All flows expire at once after a break.
        flows.record(FlowId(3), at(now + 100), WINDOW);
        assert_eq!(flows.count(), 1);
    }

    #[test]
    fn a_flow_that_comes_back_has_not_been_notified_of() {
        let mut flows = RecentFlows::default();
        let mut is_due = |us, interval| {
            let place = flows.record(FlowId(1), at(us), WINDOW);
            flows.is_due(place, at(us), Duration::from_us(interval))
        };
        assert_eq!([is_due(0, 4), is_due(3, 4), is_due(4, 4), is_due(13, 20)], [true, false, true, false]);
        assert!(is_due(23, 100));
    }
}
