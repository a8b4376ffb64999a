//! Active flows.
//!
//! Flows are numbered in order of start and stored in small pages. A page is freed when its last
//! flow is forgotten, so that memory grows with the number of live flows, not with the length of a
//! run.

use crate::ids::{FlowId, Slot};
use crate::network::spec::FlowSpec;
use backwater_engine::memory::HeapBytes;
use backwater_engine::prefetch::prefetch;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};

/// Flows per page. Small, because a flow that outlives the other flows of its page keeps the whole
/// page in memory.
const PAGE: usize = 64;

/// An active flow. Fields that every packet needs come first.
#[derive(Debug)]
#[repr(C)]
pub struct Flow {
    /// Slot of the queue pair at the source.
    pub(crate) sender: SlotCell,
    /// Slot of the receiver at the destination.
    pub(crate) receiver: SlotCell,
    /// Specification of the flow.
    pub spec: FlowSpec,
}

/// Optional index into a host's table. Only that host writes the index; other hosts may read it at
/// the same time.
#[derive(Debug)]
pub(crate) struct SlotCell(AtomicU32);

impl SlotCell {
    #[inline]
    pub(crate) fn get(&self) -> Option<Slot> {
        Some(Slot(self.0.load(Ordering::Relaxed))).filter(|slot| *slot != Slot::NONE)
    }

    #[inline]
    pub(crate) fn set(&self, slot: Option<Slot>) {
        self.0.store(slot.unwrap_or(Slot::NONE).0, Ordering::Relaxed);
    }
}

impl Default for SlotCell {
    fn default() -> SlotCell {
        SlotCell(AtomicU32::new(Slot::NONE.0))
    }
}

#[derive(Debug)]
struct Page {
    flows: [Option<Flow>; PAGE],
    live: usize,
}

/// Flows that have been admitted and not yet forgotten.
#[derive(Debug, Default)]
pub struct Flows {
    pages: VecDeque<Option<Box<Page>>>,
    /// Number of pages removed from the front.
    gone: usize,
    admitted: u32,
    live: usize,
}

impl Flows {
    /// Returns flow `id`, if it has been admitted and not forgotten.
    #[inline]
    pub fn get(&self, id: FlowId) -> Option<&Flow> {
        let index = id.0 as usize;
        let page = self.pages.get((index / PAGE).checked_sub(self.gone)?)?;
        page.as_ref()?.flows[index % PAGE].as_ref()
    }

    /// Prefetches flow `id`.
    #[inline]
    pub(crate) fn prefetch(&self, id: FlowId) {
        let index = id.0 as usize;
        let page = (index / PAGE).checked_sub(self.gone).and_then(|page| self.pages.get(page)?.as_ref());
        if let Some(page) = page {
            prefetch(&page.flows[index % PAGE]);
        }
    }

    /// Returns the number of flows admitted so far.
    pub fn admitted(&self) -> u32 {
        self.admitted
    }

    /// Returns the number of flows admitted and not forgotten.
    pub fn live(&self) -> usize {
        self.live
    }

    /// Returns the flows that are not forgotten, in order of start.
    pub fn iter(&self) -> impl Iterator<Item = (FlowId, &Flow)> {
        let first = (self.gone * PAGE) as u32;
        let slots = self
            .pages
            .iter()
            .flat_map(|page| (0..PAGE).map(move |index| page.as_ref().and_then(|page| page.flows[index].as_ref())));
        (first..).map(FlowId).zip(slots).filter_map(|(id, flow)| Some((id, flow?)))
    }

    /// Returns the heap size in bytes.
    pub(crate) fn heap_bytes(&self) -> u64 {
        self.pages.heap_bytes() + (self.pages.iter().flatten().count() * size_of::<Page>()) as u64
    }

    /// Adds a flow under the next number.
    ///
    /// # Panics
    /// After 2^32 - 1 flows, when no number is left.
    pub(crate) fn admit(&mut self, spec: FlowSpec) -> FlowId {
        let index = self.admitted as usize;
        let page = index / PAGE - self.gone;
        if page == self.pages.len() {
            self.pages.push_back(Some(Box::new(Page { flows: [const { None }; PAGE], live: 0 })));
        }
        let page = self.pages[page].as_mut().expect("the newest page stays while there is room in it");
        page.flows[index % PAGE] = Some(Flow { spec, sender: SlotCell::default(), receiver: SlotCell::default() });
        page.live += 1;
        self.live += 1;
        self.admitted = self.admitted.checked_add(1).expect("a run has fewer than 2^32 flows");
        FlowId(index as u32)
    }

    /// Removes a flow.
    pub(crate) fn forget(&mut self, id: FlowId) -> Option<Flow> {
        let index = id.0 as usize;
        let slot = self.pages.get_mut((index / PAGE).checked_sub(self.gone)?)?;
        let page = slot.as_mut()?;
        let flow = page.flows[index % PAGE].take()?;
        page.live -= 1;
        self.live -= 1;
        let is_newest = index / PAGE == self.admitted as usize / PAGE;
        if page.live == 0 && !is_newest {
            *slot = None;
        }
        while let Some(None) = self.pages.front() {
            self.pages.pop_front();
            self.gone += 1;
        }
        Some(flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::flow;
    use std::collections::BTreeSet;

    #[test]
    fn forgotten_flows_free_their_pages() {
        let (mut flows, mut known) = (Flows::default(), BTreeSet::new());
        // Flow 5 outlives all others. Every other flow is forgotten 100 flows later, out of order.
        for number in 0..10_000u32 {
            let id = flows.admit(flow(0, 1, u64::from(number) + 1, 0));
            assert_eq!(id, FlowId(number));
            known.insert(id);
            let old = (number ^ 3).checked_sub(100).map(FlowId).filter(|old| *old != FlowId(5) && known.remove(old));
            if let Some(old) = old {
                assert_eq!(flows.forget(old).map(|flow| flow.spec.bytes), Some(u64::from(old.0) + 1));
                assert!(flows.get(old).is_none() && flows.forget(old).is_none());
            }
            assert_eq!(flows.live(), known.len());
        }
        assert_eq!(flows.iter().map(|(id, _)| id).collect::<BTreeSet<_>>(), known);
        assert!(flows.pages.iter().flatten().count() <= 4, "a page for flow 5, the rest for the last 100");
        for id in known {
            assert_eq!(flows.get(id).map(|flow| flow.spec.bytes), Some(u64::from(id.0) + 1));
            flows.forget(id);
        }
        assert_eq!((flows.live(), flows.pages.iter().flatten().count()), (0, 1));
        assert_eq!(flows.admit(flow(0, 1, 1, 0)), FlowId(10_000));
    }
}
