//! Active flows.
//!
//! Flows are numbered in order of start and stored in small pages. A page is freed when its last
//! flow is forgotten, so that memory grows with the number of live flows, not with the length of a
//! run. Until the first flow of a page sends, a page of similar flows stores only their ends.
//!
//! Connections have the first numbers. They are declared as ranges before the first flow, and
//! never forgotten. A page of connections is built when one of them sends its first message.

use crate::ids::{FlowId, NodeId, Slot};
use crate::network::spec::FlowSpec;
use backwater_engine::memory::HeapBytes;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Flows per page. Small, because a flow that outlives the other flows of its page keeps the whole
/// page in memory.
const PAGE: usize = 64;

/// An active flow. Fields that every packet needs come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Flow {
    /// Slot of the queue pair at the source.
    pub(crate) sender: SlotCell,
    /// Slot of the receiver at the destination.
    pub(crate) receiver: SlotCell,
    /// Number of ACKs, NACKs and CNPs that arrived at the source. Only the source changes it.
    pub(crate) answered: Counter,
    /// Specification of the flow.
    pub spec: FlowSpec,
}

impl Flow {
    fn new(spec: FlowSpec) -> Flow {
        Flow { spec, sender: SlotCell::default(), receiver: SlotCell::default(), answered: Counter::default() }
    }
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

impl Clone for SlotCell {
    fn clone(&self) -> SlotCell {
        SlotCell(AtomicU32::new(self.0.load(Ordering::Relaxed)))
    }
}

/// Counter of one host, which other threads may read between two windows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU32);

impl Counter {
    #[inline]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn increment(&self) {
        self.0.store(self.get() + 1, Ordering::Relaxed);
    }
}

impl Clone for Counter {
    fn clone(&self) -> Counter {
        Counter(AtomicU32::new(self.get()))
    }
}

/// A range of declared connections.
pub trait Connections: Debug + Send + Sync {
    /// Returns the number of connections.
    fn count(&self) -> u32;

    /// Returns connection `index`, whose size is [`FlowSpec::CONNECTION`]. Every call returns the
    /// same connection. `None` if the range has a gap here.
    fn get(&self, index: u32) -> Option<FlowSpec>;
}

type OpenPage = [Option<Flow>; PAGE];

#[derive(Debug)]
struct Page {
    /// Flows. Created when a flow of a packed page, or a declared connection, sends its first
    /// packet, on any thread.
    open: OnceLock<Box<OpenPage>>,
    /// Flows until then, if they are similar.
    packed: Option<Box<Similar>>,
    live: usize,
}

/// Flows of a page that differ only in their ends.
#[derive(Debug)]
struct Similar {
    first: FlowSpec,
    /// Source and destination of each flow.
    ends: [(NodeId, NodeId); PAGE],
}

impl Similar {
    /// Returns the flows of a page if they differ only in their ends. None of them has sent a
    /// packet.
    fn of(flows: &OpenPage) -> Option<Box<Similar>> {
        let first = flows[0].as_ref()?.spec.clone();
        let mut ends = [(first.src, first.dst); PAGE];
        for (ends, flow) in ends.iter_mut().zip(flows) {
            let Flow { spec, sender, receiver, .. } = flow.as_ref()?;
            let FlowSpec { src, dst, .. } = *spec;
            let is_similar = *spec == FlowSpec { src, dst, ..first.clone() };
            if !is_similar || sender.get().is_some() || receiver.get().is_some() {
                return None;
            }
            *ends = (src, dst);
        }
        Some(Box::new(Similar { first, ends }))
    }

    fn flow(&self, index: usize) -> Flow {
        let (src, dst) = self.ends[index];
        Flow::new(FlowSpec { src, dst, ..self.first.clone() })
    }
}

impl Page {
    fn new() -> Page {
        Page { open: OnceLock::from(Box::new([const { None }; PAGE])), packed: None, live: 0 }
    }

    /// Returns a page of declared connections, which is built later.
    fn declared() -> Page {
        Page { open: OnceLock::new(), packed: None, live: PAGE }
    }

    /// Returns the flows. Opens a packed page.
    #[inline]
    fn flows(&self) -> &OpenPage {
        self.open.get_or_init(|| self.unpacked())
    }

    #[cold]
    fn unpacked(&self) -> Box<OpenPage> {
        let packed = self.packed.as_ref().expect("a page is open or packed");
        Box::new(std::array::from_fn(|index| Some(packed.flow(index))))
    }

    /// Returns the flows for writing. Opens a packed page.
    fn flows_mut(&mut self) -> &mut OpenPage {
        self.flows();
        self.packed = None;
        self.open.get_mut().expect("opened above")
    }

    /// Packs the page, which is full, if the flows are similar.
    fn pack(&mut self) {
        self.packed = Similar::of(self.flows());
        if self.packed.is_some() {
            self.open = OnceLock::new();
        }
    }

    /// Returns a copy of a flow of a packed page.
    fn peek(&self, index: usize) -> Option<Cow<'_, Flow>> {
        match (self.open.get(), &self.packed) {
            (None, Some(packed)) => Some(Cow::Owned(packed.flow(index))),
            _ => self.flows()[index].as_ref().map(Cow::Borrowed),
        }
    }

    fn heap_bytes(&self) -> u64 {
        let open = self.open.get().map_or(0, |flows| size_of_val(&**flows));
        (open + self.packed.as_ref().map_or(0, |packed| size_of_val(&**packed))) as u64
    }
}

/// Flows that have been admitted and not yet forgotten.
#[derive(Debug, Default)]
pub struct Flows {
    pages: VecDeque<Option<Page>>,
    /// Ranges of connections, each with its first number.
    declared: Vec<(u32, Arc<dyn Connections>)>,
    /// Number of pages of connections. These pages come first.
    declared_pages: usize,
    /// Number of pages removed from the front.
    gone: usize,
    admitted: u32,
    live: usize,
    most_live: usize,
}

impl Flows {
    #[inline]
    fn page(&self, id: FlowId) -> Option<&Page> {
        self.pages.get((id.0 as usize / PAGE).checked_sub(self.gone)?)?.as_ref()
    }

    /// Returns flow `id`, if it has been admitted and not forgotten.
    #[inline]
    pub fn get(&self, id: FlowId) -> Option<&Flow> {
        let page = self.page(id)?;
        let flows = match page.open.get() {
            Some(flows) => flows,
            None => self.open(id, page),
        };
        flows[id.0 as usize % PAGE].as_ref()
    }

    /// Opens a packed page, or builds a page of connections.
    #[cold]
    fn open<'a>(&'a self, id: FlowId, page: &'a Page) -> &'a OpenPage {
        if page.packed.is_some() {
            return page.flows();
        }
        page.open.get_or_init(|| {
            let first = id.0 / PAGE as u32 * PAGE as u32;
            let range = self.declared.partition_point(|(start, _)| *start <= first);
            let (start, connections) = &self.declared[range - 1];
            let flow = |index: usize| {
                let index = first - start + index as u32;
                (index < connections.count()).then(|| connections.get(index)).flatten().map(Flow::new)
            };
            Box::new(std::array::from_fn(flow))
        })
    }

    /// Declares a range of connections, before any flow is admitted. Returns the first number.
    ///
    /// # Panics
    /// If a flow has been admitted, or if no number is left.
    pub fn declare(&mut self, connections: Arc<dyn Connections>) -> FlowId {
        assert_eq!(self.pages.len(), self.declared_pages, "connections are declared before flows");
        let (first, pages) = (self.admitted, (connections.count() as usize).div_ceil(PAGE));
        self.declared_pages += pages;
        self.pages.extend((0..pages).map(|_| Some(Page::declared())));
        self.admitted = u32::try_from(self.declared_pages * PAGE).expect("a run has fewer than 2^32 connections");
        self.declared.push((first, connections));
        FlowId(first)
    }

    /// Returns flow `id` like [`Flows::get`], without effect on memory: a flow that has not sent a
    /// packet may be a copy. Returns no connection that has not sent a message.
    pub fn peek(&self, id: FlowId) -> Option<Cow<'_, Flow>> {
        let (page, index) = (self.page(id)?, id.0 as usize % PAGE);
        if id.0 as usize >= self.declared_pages * PAGE {
            return page.peek(index);
        }
        let flow = page.open.get()?[index].as_ref()?;
        flow.sender.get().map(|_| Cow::Borrowed(flow))
    }

    /// Returns the number of the next flow.
    pub fn next_id(&self) -> FlowId {
        FlowId(self.admitted)
    }

    /// Returns the number of flows admitted so far. Connections do not count.
    pub fn admitted(&self) -> u32 {
        self.admitted - (self.declared_pages * PAGE) as u32
    }

    /// Returns the number of flows admitted and not forgotten.
    pub fn live(&self) -> usize {
        self.live
    }

    /// Returns the largest number of flows so far that were admitted and not forgotten.
    pub(crate) fn most_live(&self) -> usize {
        self.most_live
    }

    /// Returns the flows that are not forgotten, in order of start. Flows that have not sent a
    /// packet may be copies.
    pub fn iter(&self) -> impl Iterator<Item = (FlowId, Cow<'_, Flow>)> {
        self.iter_from(FlowId(0))
    }

    /// Returns the flows from `first` on that are not forgotten: see [`Flows::iter`].
    pub(crate) fn iter_from(&self, FlowId(first): FlowId) -> impl Iterator<Item = (FlowId, Cow<'_, Flow>)> {
        let first = first.max((self.gone * PAGE) as u32);
        let pages = first as usize / PAGE..(self.admitted as usize).div_ceil(PAGE);
        let is_used = |page: &usize| *page >= self.declared_pages || self.is_open(*page);
        let ids = pages.filter(is_used).flat_map(|page| page * PAGE..(page + 1) * PAGE).map(|id| FlowId(id as u32));
        ids.skip_while(move |id| id.0 < first).filter_map(|id| Some((id, self.peek(id)?)))
    }

    /// Returns true if the page with this number is open.
    fn is_open(&self, page: usize) -> bool {
        self.pages[page - self.gone].as_ref().is_some_and(|page| page.open.get().is_some())
    }

    /// Returns the heap size in bytes.
    pub(crate) fn heap_bytes(&self) -> u64 {
        self.declared.heap_bytes()
            + self.pages.heap_bytes()
            + self.pages.iter().flatten().map(Page::heap_bytes).sum::<u64>()
    }

    /// Adds a flow under the next number.
    ///
    /// # Panics
    /// After 2^32 - 1 flows, when no number is left.
    pub(crate) fn admit(&mut self, spec: FlowSpec) -> FlowId {
        let index = self.admitted as usize;
        let page = index / PAGE - self.gone;
        if page == self.pages.len() {
            self.pages.push_back(Some(Page::new()));
        }
        let page = self.pages[page].as_mut().expect("the newest page stays while there is room in it");
        page.flows_mut()[index % PAGE] = Some(Flow::new(spec));
        page.live += 1;
        if page.live == PAGE {
            page.pack();
        }
        self.live += 1;
        self.most_live = self.most_live.max(self.live);
        self.admitted = self.admitted.checked_add(1).expect("a run has fewer than 2^32 flows");
        FlowId(index as u32)
    }

    /// Removes a flow.
    pub(crate) fn forget(&mut self, id: FlowId) -> Option<Flow> {
        debug_assert!(id.0 as usize >= self.declared_pages * PAGE, "connections are never forgotten");
        let index = id.0 as usize;
        let slot = self.pages.get_mut((index / PAGE).checked_sub(self.gone)?)?;
        let page = slot.as_mut()?;
        let flow = page.flows_mut()[index % PAGE].take()?;
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

    /// Connections from host 0 to hosts 1 to 100, with a gap at host 50.
    #[derive(Debug)]
    struct ToAll;

    impl Connections for ToAll {
        fn count(&self) -> u32 {
            100
        }

        fn get(&self, index: u32) -> Option<FlowSpec> {
            (index != 49).then(|| FlowSpec { bytes: FlowSpec::CONNECTION, ..flow(0, index + 1, 1, 0) })
        }
    }

    /// Ranges begin at multiples of the size of a page. A page is built when a connection is used.
    #[test]
    fn declared_connections_cost_nothing_until_they_are_used() {
        let mut flows = Flows::default();
        let firsts = [flows.declare(Arc::new(ToAll)), flows.declare(Arc::new(ToAll))];
        assert_eq!(firsts, [FlowId(0), FlowId(128)]);
        assert_eq!(flows.admit(flow(7, 8, 1, 0)), FlowId(256));
        assert_eq!((flows.admitted(), flows.iter().count()), (1, 1));
        let before = flows.heap_bytes();
        let to = |flows: &Flows, id: u32| flows.get(FlowId(id)).map(|flow| flow.spec.dst.0);
        assert_eq!(
            [1, 49, 99, 100, 128, 227].map(|id| to(&flows, id)),
            [Some(2), None, Some(100), None, Some(1), Some(100)]
        );
        assert!(flows.heap_bytes() > before);
        // Connections without a sender are not in use.
        assert_eq!(flows.iter().count(), 1);
        flows.get(FlowId(130)).unwrap().sender.set(Some(Slot(5)));
        assert_eq!(flows.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [130, 256]);
        assert_eq!(flows.iter_from(FlowId(131)).map(|(id, _)| id.0).collect::<Vec<_>>(), [256]);
        assert_eq!(flows.forget(FlowId(256)).map(|flow| flow.spec.src.0), Some(7));
    }

    /// A page of similar flows stores only their ends, until one of them is used.
    #[test]
    fn pages_of_similar_flows_are_packed_until_they_are_used() {
        let mut flows = Flows::default();
        let similar = |number: u32| flow(number, number + 1, 1000, 7);
        let other = |number: u32| FlowSpec { bytes: u64::from(number) + 1, ..similar(number) };
        for number in 0..PAGE as u32 {
            flows.admit(similar(number));
        }
        let packed = flows.heap_bytes();
        assert!(packed < 13 * PAGE as u64, "{packed}");
        for number in 0..PAGE as u32 {
            flows.admit(other(number));
        }
        assert!(flows.heap_bytes() - packed > 60 * PAGE as u64);
        let specs = |flows: &Flows| flows.iter().map(|(_, flow)| flow.into_owned().spec).collect::<Vec<_>>();
        let expected: Vec<_> = (0..64).map(similar).chain((0..64).map(other)).collect();
        let before = flows.heap_bytes();
        assert_eq!((specs(&flows), flows.heap_bytes()), (expected.clone(), before));
        assert_eq!(flows.get(FlowId(3)).map(|flow| &flow.spec), Some(&expected[3]));
        assert!(flows.heap_bytes() > before);
        flows.get(FlowId(4)).unwrap().sender.set(Some(Slot(5)));
        assert_eq!(flows.peek(FlowId(4)).unwrap().sender.get(), Some(Slot(5)));
        assert_eq!(flows.forget(FlowId(3)).map(|flow| flow.spec), Some(expected[3].clone()));
        assert_eq!(specs(&flows), [&expected[..3], &expected[4..]].concat());
    }
}
