//! Congestion-root table of a switch (section IV-B): its knowledge of each root, and the neighbours
//! that it controls for the root.

use crate::ids::{PortId, PortIx};
use backwater_engine::index::{Id, IndexVec};
use get_size2::GetSize;

/// State of one congestion root: a port further downstream, or a port of this switch.
#[derive(Debug, Default, GetSize)]
pub(super) struct Root {
    pub(super) id: PortId,
    /// Number of ports up to the root, including the root, as in the first frame about the root; 0
    /// for a port of this switch.
    pub(super) distance: u8,
    /// Upstream neighbours that hold back the root's packets, or did so until they were resumed.
    pub(super) children: Vec<Child>,
    /// Bytes in the root's isolation queues at all ports, by ingress port.
    load: IndexVec<PortIx, u64>,
    /// Number of ports with an isolation queue for the root.
    pub(super) queues: u16,
}

/// Upstream neighbour that was notified of a root and has not yet reported that it has no state for
/// the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, GetSize)]
pub(super) struct Child {
    pub(super) ingress: PortIx,
    pub(super) paused: bool,
}

impl Root {
    pub(super) fn child(&mut self, ingress: PortIx) -> Option<&mut Child> {
        self.children.iter_mut().find(|child| child.ingress == ingress)
    }

    /// Records that the neighbour at `ingress` was notified to pause, or to resume. Returns true if
    /// that is a change.
    pub(super) fn register(&mut self, ingress: PortIx, paused: bool) -> bool {
        match self.child(ingress) {
            Some(child) => std::mem::replace(&mut child.paused, paused) != paused,
            None => {
                self.children.push(Child { ingress, paused });
                true
            }
        }
    }

    /// Records that the neighbour at `ingress` no longer holds back packets.
    pub(super) fn let_go(&mut self, ingress: PortIx) {
        self.child(ingress).into_iter().for_each(|child| child.paused = false);
    }

    pub(super) fn forget(&mut self, ingress: PortIx) {
        self.children.retain(|child| child.ingress != ingress);
    }

    pub(super) fn load_of(&self, ingress: PortIx) -> u64 {
        self.load.get(ingress.index()).copied().unwrap_or(0)
    }

    pub(super) fn add_load(&mut self, ingress: PortIx, bytes: u16) {
        *self.load.get_or_default(ingress) += u64::from(bytes);
    }

    pub(super) fn take_load(&mut self, ingress: PortIx, bytes: u16) {
        self.load[ingress] -= u64::from(bytes);
    }

    /// Returns true if a neighbour is paused.
    pub(super) fn pauses(&self) -> bool {
        self.children.iter().any(|child| child.paused)
    }

    fn is_needless(&self) -> bool {
        self.children.is_empty() && self.queues == 0
    }
}

/// Roots known to a switch, in the order of their identifiers.
#[derive(Debug, Default, GetSize)]
pub(super) struct Roots {
    known: Vec<Root>,
    /// Unused entries. They are kept for reuse, so that no memory is allocated.
    spare: Vec<Root>,
}

impl Roots {
    fn position(&self, id: PortId) -> Result<usize, usize> {
        self.known.binary_search_by_key(&id, |root| root.id)
    }

    pub(super) fn get(&self, id: PortId) -> Option<&Root> {
        self.position(id).ok().map(|position| &self.known[position])
    }

    pub(super) fn get_mut(&mut self, id: PortId) -> Option<&mut Root> {
        self.position(id).ok().map(|position| &mut self.known[position])
    }

    /// Returns the entry of a root; adds one with `distance` if the root is unknown.
    pub(super) fn learn(&mut self, id: PortId, distance: u8) -> &mut Root {
        let position = self.position(id).unwrap_or_else(|position| {
            let mut root = self.spare.pop().unwrap_or_default();
            (root.id, root.distance) = (id, distance);
            self.known.insert(position, root);
            position
        });
        &mut self.known[position]
    }

    /// Removes the entry of a root if it holds no state.
    pub(super) fn tidy(&mut self, id: PortId) {
        if let Ok(position) = self.position(id)
            && self.known[position].is_needless()
        {
            let mut root = self.known.remove(position);
            root.load.clear();
            self.spare.push(root);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Root> {
        self.known.iter()
    }
}
