//! Isolation at the source edge: which flows are congested, and which paths are left to them (section 3.2).

use crate::ids::{FlowId, PortId};
use crate::mechanisms::cnm::{Cnm, MOST_ROOTS};
use crate::mechanisms::load_balance::paths::Ascent;
use arrayvec::ArrayVec;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use std::collections::BTreeMap;

/// The isolation table of an edge, and its isolation paths.
#[derive(Debug, Default, GetSize)]
pub(super) struct Isolation {
    flows: BTreeMap<FlowId, Isolated>,
    /// The ports at which these are congested.
    roots: BTreeMap<PortId, Root>,
    /// The isolation paths, in the order in which they were made.
    paths: Vec<IsolationPath>,
    /// How many there may be, those left out that are extra.
    wanted: usize,
}

/// A path that is left to congested flows.
#[derive(Clone, Copy, Debug, GetSize)]
struct IsolationPath {
    ascent: Ascent,
    /// Whether it was made though no more were needed: none led to where a flow goes.
    is_extra: bool,
}

/// A congested flow.
#[derive(Debug, GetSize)]
struct Isolated {
    #[get_size(ignore)]
    roots: ArrayVec<PortId, MOST_ROOTS>,
    /// The isolation path that it has.
    path: Option<Ascent>,
    /// When a packet of it came last, or a notice about it.
    last: Time,
}

/// What a congested flow is, and which isolation path it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Congested {
    flow: FlowId,
    pub(super) path: Option<Ascent>,
}

/// A port at which flows of this edge are congested.
#[derive(Debug, GetSize)]
struct Root {
    /// How many of this edge are.
    here: u32,
    /// How many are in all (n), as was heard last.
    in_all: u32,
}

impl Isolation {
    /// What a notice from `root` says of `flow`; whether it is a new entry.
    pub(super) fn hear(&mut self, flow: FlowId, root: PortId, cnm: Cnm, now: Time) -> bool {
        match cnm {
            Cnm::Congested { flows } => self.add(flow, root, flows, now),
            Cnm::Clear { .. } => {
                if let Some(entry) = self.flows.get_mut(&flow)
                    && let Some(place) = entry.roots.iter().position(|known| *known == root)
                {
                    entry.roots.remove(place);
                    if entry.roots.is_empty() {
                        self.flows.remove(&flow);
                    }
                    self.leave(root);
                    self.release_all_if_empty();
                }
                false
            }
        }
    }

    fn add(&mut self, flow: FlowId, root: PortId, in_all: u32, now: Time) -> bool {
        let before = self.flows.len();
        let new = || Isolated { roots: ArrayVec::new(), path: None, last: now };
        let entry = self.flows.entry(flow).or_insert_with(new);
        entry.last = now;
        let is_root_new = !entry.roots.contains(&root);
        if is_root_new && entry.roots.try_push(root).is_err() {
            return self.flows.len() > before;
        }
        let of_root = self.roots.entry(root).or_insert(Root { here: 0, in_all });
        of_root.in_all = in_all;
        if is_root_new {
            of_root.here += 1;
            self.wanted = self.wanted.max(self.paths_needed());
        }
        self.flows.len() > before
    }

    /// A flow of this edge is no longer congested at `root`.
    fn leave(&mut self, root: PortId) {
        if let Some(of_root) = self.roots.get_mut(&root) {
            of_root.here -= 1;
            if of_root.here == 0 {
                self.roots.remove(&root);
            }
        }
    }

    fn release_all_if_empty(&mut self) {
        if self.flows.is_empty() {
            self.paths.clear();
            self.wanted = 0;
        }
    }

    /// How many isolation paths the congested flows need: ceil(sum of C / n over C), where n is the largest of a flow's ports. Each term is cut down to
    /// 64 bits behind the point, so that n times 1 / n is no more than 1.
    fn paths_needed(&self) -> usize {
        let in_all = |root: &PortId| self.roots.get(root).map_or(1, |root| root.in_all);
        let share = |entry: &Isolated| (1u128 << 64) / u128::from(entry.roots.iter().map(in_all).max().unwrap_or(1));
        self.flows.values().map(share).sum::<u128>().div_ceil(1 << 64) as usize
    }

    /// Forgets flows of which nothing has come for `timeout`, and releases the paths that the others do not need.
    pub(super) fn check(&mut self, now: Time, timeout: Duration) {
        let idle: Vec<FlowId> =
            self.flows.iter().filter(|(_, entry)| now.since(entry.last) > timeout).map(|(flow, _)| *flow).collect();
        for flow in idle {
            let entry = self.flows.remove(&flow).expect("it has just been found");
            entry.roots.into_iter().for_each(|root| self.leave(root));
        }
        self.wanted = self.paths_needed();
        self.release_all_if_empty();
        while self.needed_ones().count() > self.wanted {
            self.release_one();
        }
        let Isolation { flows, paths, .. } = self;
        paths.retain(|path| !path.is_extra || flows.values().any(|entry| entry.path == Some(path.ascent)));
    }

    /// The isolation paths that are not extra.
    fn needed_ones(&self) -> impl DoubleEndedIterator<Item = Ascent> {
        self.paths.iter().filter(|path| !path.is_extra).map(|path| path.ascent)
    }

    /// Of those releases the one with the fewest flows, of several the last one made: they get another.
    fn release_one(&mut self) {
        let flows_of = |path: &Ascent| self.flows.values().filter(|entry| entry.path == Some(*path)).count();
        if let Some(released) = self.needed_ones().rev().min_by_key(flows_of) {
            self.release(|path| path == released);
        }
    }

    /// Releases these isolation paths: their flows get another.
    pub(super) fn release(&mut self, which: impl Fn(Ascent) -> bool) {
        self.paths.retain(|path| !which(path.ascent));
        for entry in self.flows.values_mut().filter(|entry| entry.path.is_some_and(&which)) {
            entry.path = None;
        }
    }

    /// Whether no flow is congested.
    pub(super) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// A packet of `flow` has come; what is known of it, if it is congested.
    pub(super) fn saw(&mut self, flow: FlowId, now: Time) -> Option<Congested> {
        let entry = self.flows.get_mut(&flow)?;
        entry.last = now;
        Some(Congested { flow, path: entry.path })
    }

    /// Gives a congested flow an isolation path: one of those that there are, or a new one.
    pub(super) fn assign(&mut self, Congested { flow, path: before }: Congested, path: Ascent) {
        if before == Some(path) {
            return;
        }
        if !self.is_isolated(path) {
            self.paths.push(IsolationPath { ascent: path, is_extra: !self.wants_more() });
        }
        self.flows.entry(flow).and_modify(|entry| entry.path = Some(path));
    }

    /// Whether there may be one more isolation path.
    pub(super) fn wants_more(&self) -> bool {
        self.needed_ones().count() < self.wanted
    }

    /// Whether a path is an isolation path.
    pub(super) fn is_isolated(&self, path: Ascent) -> bool {
        self.paths.iter().any(|isolated| isolated.ascent == path)
    }

    /// How many flows are congested, and how many paths isolated.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.flows.len(), self.paths.len())
    }
}

#[cfg(test)]
mod tests;
