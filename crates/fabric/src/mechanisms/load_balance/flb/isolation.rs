//! Isolation at the source edge: congested flows, and their paths (section 3.2).

use crate::ids::{FlowId, PortId};
use crate::mechanisms::cnm::{Cnm, MOST_ROOTS};
use crate::mechanisms::load_balance::paths::Ascent;
use arrayvec::ArrayVec;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use std::collections::BTreeMap;

/// Isolation table of an edge, and its isolation paths.
#[derive(Debug, Default, GetSize)]
pub(super) struct Isolation {
    flows: BTreeMap<FlowId, Isolated>,
    /// Ports at which these flows are congested.
    roots: BTreeMap<PortId, Root>,
    /// Isolation paths, in the order of their creation.
    paths: Vec<IsolationPath>,
    /// Number of isolation paths that are allowed, extra paths excluded.
    wanted: usize,
}

/// Path for congested flows.
#[derive(Clone, Copy, Debug, GetSize)]
struct IsolationPath {
    ascent: Ascent,
    /// True if the path was created beyond the needed number, because no isolation path led to a
    /// flow's destination.
    is_extra: bool,
}

/// Congested flow.
#[derive(Debug, GetSize)]
struct Isolated {
    #[get_size(ignore)]
    roots: ArrayVec<PortId, MOST_ROOTS>,
    /// Isolation path of the flow.
    path: Option<Ascent>,
    /// Arrival of the flow's last packet or notice.
    last: Time,
}

/// Congested flow and its isolation path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Congested {
    flow: FlowId,
    pub(super) path: Option<Ascent>,
}

/// Port at which flows of this edge are congested.
#[derive(Debug, GetSize)]
struct Root {
    /// Number of this edge's flows that are congested at the port.
    here: u32,
    /// Number n of all flows that are congested at the port, as last reported.
    in_all: u32,
}

impl Isolation {
    /// Processes a notice from `root` about `flow`. Returns true if the notice adds an entry.
    pub(super) fn record(&mut self, flow: FlowId, root: PortId, cnm: Cnm, now: Time) -> bool {
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

    /// Removes a flow of this edge at `root`.
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

    /// Returns the number of isolation paths that congested flows need: the sum of 1 / n over the
    /// flows, rounded up, where n is the largest n of the ports at which the flow is congested.
    /// Each term is truncated to 64 fraction bits, so that n times 1 / n is at most 1.
    fn paths_needed(&self) -> usize {
        let in_all = |root: &PortId| self.roots.get(root).map_or(1, |root| root.in_all);
        let share = |entry: &Isolated| (1u128 << 64) / u128::from(entry.roots.iter().map(in_all).max().unwrap_or(1));
        self.flows.values().map(share).sum::<u128>().div_ceil(1 << 64) as usize
    }

    /// Removes flows without a packet or notice for `timeout`, and releases paths that the other
    /// flows do not need.
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

    /// Returns the isolation paths that are not extra.
    fn needed_ones(&self) -> impl DoubleEndedIterator<Item = Ascent> {
        self.paths.iter().filter(|path| !path.is_extra).map(|path| path.ascent)
    }

    /// Releases the path with the fewest flows among those that are not extra, the last created
    /// among equals. The flows on this path get another path.
    fn release_one(&mut self) {
        let flows_of = |path: &Ascent| self.flows.values().filter(|entry| entry.path == Some(*path)).count();
        if let Some(released) = self.needed_ones().rev().min_by_key(flows_of) {
            self.release(|path| path == released);
        }
    }

    /// Releases the isolation paths for which `which` is true. The flows on these paths get other
    /// paths.
    pub(super) fn release(&mut self, which: impl Fn(Ascent) -> bool) {
        self.paths.retain(|path| !which(path.ascent));
        for entry in self.flows.values_mut().filter(|entry| entry.path.is_some_and(&which)) {
            entry.path = None;
        }
    }

    /// Returns true if no flow is congested.
    pub(super) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Records a packet of `flow`. Returns the flow's state if it is congested.
    pub(super) fn record_packet(&mut self, flow: FlowId, now: Time) -> Option<Congested> {
        let entry = self.flows.get_mut(&flow)?;
        entry.last = now;
        Some(Congested { flow, path: entry.path })
    }

    /// Assigns an isolation path to a congested flow: an existing or a new one.
    pub(super) fn assign(&mut self, Congested { flow, path: before }: Congested, path: Ascent) {
        if before == Some(path) {
            return;
        }
        if !self.is_isolated(path) {
            self.paths.push(IsolationPath { ascent: path, is_extra: !self.wants_more() });
        }
        self.flows.entry(flow).and_modify(|entry| entry.path = Some(path));
    }

    /// Returns true if another isolation path is allowed.
    pub(super) fn wants_more(&self) -> bool {
        self.needed_ones().count() < self.wanted
    }

    /// Returns true if a path is an isolation path.
    pub(super) fn is_isolated(&self, path: Ascent) -> bool {
        self.paths.iter().any(|isolated| isolated.ascent == path)
    }

    /// Returns the numbers of congested flows and isolation paths.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.flows.len(), self.paths.len())
    }
}

#[cfg(test)]
mod tests;
