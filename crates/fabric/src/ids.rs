//! Names of things: nodes, ports, flows, traffic classes.

use backwater_engine::index::Id;
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A node: index into [`crate::network::spec::NetworkSpec::nodes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, GetSize)]
pub struct NodeId(pub u32);

/// A port of the whole network, counted node by node in port order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, GetSize)]
pub struct PortId(pub u32);

/// A port within its node, counted from 0 in the order of the node's links.
pub type PortIx = u16;

/// A queue within its port. Queues below [`CLASSES`] are those of the traffic classes; a flow control may add more.
pub type QueueIx = u16;

/// A flow: index into the run's list of flows, in order of start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, GetSize)]
pub struct FlowId(pub u32);

impl FlowId {
    /// Stands for no flow: whose packets those are that switches make for themselves.
    pub const NONE: FlowId = FlowId(u32::MAX);
}

macro_rules! index_of {
    ($($id:ident),+) => {
        $(impl Id for $id {
            #[inline(always)]
            fn index(self) -> usize {
                self.0 as usize
            }
        })+
    };
}
index_of!(FlowId, NodeId, PortId);

/// Most ports and nodes of a network: events name them in 27 bits.
pub const ID_LIMIT: u32 = 1 << 27;

/// Number of traffic classes (IEEE 802.1Q priorities).
pub const CLASSES: usize = 8;

/// A traffic class, 0..=7. Class 0 is the control class: strict priority, never charged to a buffer pool, never paused.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize, JsonSchema, GetSize,
)]
#[serde(transparent)]
pub struct Class(#[schemars(range(min = 0, max = 7))] pub u8);

impl Class {
    /// The control class: ACK, NACK and CNP by default.
    pub const CONTROL: Class = Class(0);

    /// Index into a table of [`CLASSES`] entries.
    #[inline]
    pub const fn index(self) -> usize {
        debug_assert!((self.0 as usize) < CLASSES);
        // Says to the compiler what every class keeps to.
        self.0 as usize % CLASSES
    }
}

/// A set of traffic classes; bit i stands for class i, as in the class-enable vector of a PFC frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, GetSize)]
pub struct ClassMask(pub u8);

impl ClassMask {
    /// No class.
    pub const NONE: ClassMask = ClassMask(0);

    /// Every class.
    pub const ALL: ClassMask = ClassMask(u8::MAX);

    /// Exactly `class`.
    pub const fn of(class: Class) -> ClassMask {
        ClassMask(1 << class.0)
    }

    /// Whether `class` is in the set.
    pub const fn has(self, class: Class) -> bool {
        self.0 & (1 << class.0) != 0
    }

    /// The set with `class`.
    pub const fn with(self, class: Class) -> ClassMask {
        ClassMask(self.0 | (1 << class.0))
    }

    /// The classes of `self` that are not in `other`.
    pub const fn minus(self, other: ClassMask) -> ClassMask {
        ClassMask(self.0 & !other.0)
    }

    /// The classes in either.
    pub const fn or(self, other: ClassMask) -> ClassMask {
        ClassMask(self.0 | other.0)
    }

    /// The classes in both.
    pub const fn and(self, other: ClassMask) -> ClassMask {
        ClassMask(self.0 & other.0)
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The classes of the set in ascending order.
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
