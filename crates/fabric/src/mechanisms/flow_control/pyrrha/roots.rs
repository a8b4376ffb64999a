//! The congestion-root table of a switch (section IV-B): what it knows of each root, and whom it controls on a root's behalf.

use crate::ids::{PortId, PortIx};
use get_size2::GetSize;

/// What a switch keeps for one congestion root: a port further down, or one of its own.
#[derive(Debug, Default, GetSize)]
pub(super) struct Root {
    pub(super) id: PortId,
    /// Ports between ours and the root, that one included, as in the first frame; 0 for a port of our own.
    pub(super) distance: u8,
    /// The upstream neighbours that hold back what passes the root because we paused them, or did so until we resumed them.
    pub(super) children: Vec<Child>,
    /// Bytes in its isolation queues, all ports together, by ingress port.
    load: Vec<(PortIx, u64)>,
    /// How many of our ports have an isolation queue for it.
    pub(super) queues: u16,
}

/// An upstream neighbour that has been told of a root and has not reported yet that it has no state for it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, GetSize)]
pub(super) struct Child {
    pub(super) ingress: PortIx,
    pub(super) paused: bool,
}

impl Root {
    pub(super) fn child(&mut self, ingress: PortIx) -> Option<&mut Child> {
        self.children.iter_mut().find(|child| child.ingress == ingress)
    }

    /// Takes note that the neighbour at `ingress` has been told to pause, or not to; whether that is news.
    pub(super) fn register(&mut self, ingress: PortIx, paused: bool) -> bool {
        match self.child(ingress) {
            Some(child) => std::mem::replace(&mut child.paused, paused) != paused,
            None => {
                self.children.push(Child { ingress, paused });
                true
            }
        }
    }

    /// The neighbour at `ingress`, if it was told to pause, does so no more.
    pub(super) fn let_go(&mut self, ingress: PortIx) {
        self.child(ingress).into_iter().for_each(|child| child.paused = false);
    }

    pub(super) fn forget(&mut self, ingress: PortIx) {
        self.children.retain(|child| child.ingress != ingress);
    }

    pub(super) fn load_of(&self, ingress: PortIx) -> u64 {
        self.load.iter().find(|(port, _)| *port == ingress).map_or(0, |(_, bytes)| *bytes)
    }

    pub(super) fn add_load(&mut self, ingress: PortIx, bytes: u16) {
        match self.load.iter_mut().find(|(port, _)| *port == ingress) {
            Some((_, load)) => *load += u64::from(bytes),
            None => self.load.push((ingress, bytes.into())),
        }
    }

    pub(super) fn take_load(&mut self, ingress: PortIx, bytes: u16) {
        let load = self.load.iter_mut().find(|(port, _)| *port == ingress);
        let (_, load) = load.expect("what leaves an isolation queue has been added when it came");
        *load -= u64::from(bytes);
    }

    fn is_needless(&self) -> bool {
        self.children.is_empty() && self.queues == 0
    }
}

/// All roots that a switch knows of, in order of their names.
#[derive(Debug, Default, GetSize)]
pub(super) struct Roots {
    known: Vec<Root>,
    /// Entries to be used again, so that nothing is allocated.
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

    /// The entry of a root; a new one, with `distance`, if it was not known.
    pub(super) fn learn(&mut self, id: PortId, distance: u8) -> &mut Root {
        let position = self.position(id).unwrap_or_else(|position| {
            let mut root = self.spare.pop().unwrap_or_default();
            (root.id, root.distance) = (id, distance);
            self.known.insert(position, root);
            position
        });
        &mut self.known[position]
    }

    /// Forgets a root for which nothing is kept.
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
