//! Ids of nodes, ports, queues, flows and traffic classes.

use backwater_engine::index::Id;
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Id of a node: index into [`crate::network::spec::NetworkSpec::nodes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, GetSize)]
pub struct NodeId(pub u32);

/// Network-wide id of a port. Ports are numbered node by node, in port order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, GetSize)]
pub struct PortId(pub u32);

/// Index of a port within its node, from 0, in the order of the node's links.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, GetSize)]
pub struct PortIx(pub u16);

/// Index of a queue within its port. The first [`CLASSES`] queues belong to the traffic classes;
/// flow controls may add more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, GetSize)]
pub struct QueueIx(pub u16);

/// Id of a flow. Flows are numbered in order of start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, GetSize)]
pub struct FlowId(pub u32);

/// Slot of a queue pair or of a receiver in a table of its host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Slot(pub(crate) u32);

impl Slot {
    /// No slot.
    pub(crate) const NONE: Slot = Slot(u32::MAX);
}

impl FlowId {
    /// No flow, for packets that switches generate on their own behalf.
    pub const NONE: FlowId = FlowId(u32::MAX);
}

impl PortIx {
    /// No port: the ingress of a packet that the node made, and the egress of a packet that is not
    /// routed yet.
    pub const NONE: PortIx = PortIx(u16::MAX);
}

impl QueueIx {
    /// Returns the queue of a traffic class.
    #[inline]
    pub const fn of(class: Class) -> QueueIx {
        QueueIx(class.0 as u16)
    }

    /// Returns an added queue by its number among the added queues, from 0.
    #[inline]
    pub const fn added(number: usize) -> QueueIx {
        QueueIx((CLASSES + number) as u16)
    }
}

// As a number: messages of the audit contain it.
impl fmt::Debug for QueueIx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! index_of {
    ($($id:ident),+) => {
        $(impl Id for $id {
            #[inline(always)]
            fn index(self) -> usize {
                self.0 as usize
            }

            #[inline(always)]
            fn from_index(index: usize) -> $id {
                $id(index as _)
            }
        })+
    };
}
pub(crate) use index_of;
index_of!(FlowId, NodeId, PortId, PortIx, QueueIx, Slot);

/// Maximum number of nodes, and of ports, in a network: event keys hold ids of 27 bits.
pub const ID_LIMIT: u32 = 1 << 27;

/// Number of traffic classes (IEEE 802.1Q priorities).
pub const CLASSES: usize = 8;

/// A traffic class, 0 to 7. Class 0, the control class, has strict priority, is never charged to a
/// buffer pool and never paused.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize, JsonSchema, GetSize,
)]
#[serde(transparent)]
pub struct Class(#[schemars(range(min = 0, max = 7))] pub u8);

impl Class {
    /// The control class. By default it carries ACKs, NACKs and CNPs.
    pub const CONTROL: Class = Class(0);

    /// Returns the index into a table of [`CLASSES`] entries.
    #[inline]
    pub const fn index(self) -> usize {
        debug_assert!((self.0 as usize) < CLASSES);
        // The modulo tells the compiler that the index is in range.
        self.0 as usize % CLASSES
    }
}

/// A set of traffic classes. Bit i stands for class i, as in the class-enable vector of a PFC
/// frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, GetSize)]
pub struct ClassMask(pub u8);

impl ClassMask {
    /// The empty set.
    pub const NONE: ClassMask = ClassMask(0);

    /// The set of all classes.
    pub const ALL: ClassMask = ClassMask(u8::MAX);

    /// Returns the set that holds only `class`.
    pub const fn of(class: Class) -> ClassMask {
        ClassMask(1 << class.0)
    }

    /// Returns true if `class` is in the set.
    pub const fn has(self, class: Class) -> bool {
        self.0 & (1 << class.0) != 0
    }

    /// Returns the set with `class` added.
    pub const fn with(self, class: Class) -> ClassMask {
        ClassMask(self.0 | (1 << class.0))
    }

    /// Returns the classes that are in `self` but not in `other`.
    pub const fn minus(self, other: ClassMask) -> ClassMask {
        ClassMask(self.0 & !other.0)
    }

    /// Returns the union of both sets.
    pub const fn or(self, other: ClassMask) -> ClassMask {
        ClassMask(self.0 | other.0)
    }

    /// Returns the intersection of both sets.
    pub const fn and(self, other: ClassMask) -> ClassMask {
        ClassMask(self.0 & other.0)
    }

    /// Returns true if the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the classes of the set in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Class> {
        (0..CLASSES as u8).map(Class).filter(move |class| self.has(*class))
    }
}

impl FromIterator<Class> for ClassMask {
    fn from_iter<I: IntoIterator<Item = Class>>(classes: I) -> ClassMask {
        classes.into_iter().fold(ClassMask::NONE, ClassMask::with)
    }
}

impl fmt::Debug for ClassMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|class| class.0)).finish()
    }
}
