//! Link-local control frames, which the node at the other end of a link consumes.

use crate::ids::{Class, ClassMask};
use get_size2::GetSize;

/// Protocol of a control frame or notice. The mechanisms that speak a protocol define the meaning
/// of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Protocol(u16);

impl Protocol {
    /// Priority-based flow control, IEEE 802.1Qbb.
    pub const PFC: Protocol = Protocol::named("pfc");

    /// Returns the protocol with this name. Its number is the name's FNV-1a hash, folded to two
    /// bytes.
    pub const fn named(name: &str) -> Protocol {
        let (bytes, mut hash, mut next) = (name.as_bytes(), 0x811c_9dc5_u32, 0);
        while next < bytes.len() {
            hash = (hash ^ bytes[next] as u32).wrapping_mul(0x0100_0193);
            next += 1;
        }
        Protocol((hash >> 16) as u16 ^ hash as u16)
    }

    /// Returns the protocol's number in frames.
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// A link-local MAC control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Priority-based flow control, IEEE 802.1Qbb clause 36.
    Pfc(Pfc),
    /// Frame of another flow control.
    Custom {
        /// Protocol of the frame. Not part of the fingerprint.
        protocol: Protocol,
        /// Meaning of the frame, as the protocol defines it.
        opcode: u16,
        /// Signal for statistics.
        signal: Signal,
        /// True if the frame is exempt from link errors (see [`Pfc::reliable`]).
        reliable: bool,
        /// Fields, as the protocol defines them.
        words: [u32; 3],
    },
}

/// Kind of a control frame for statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Pauses the neighbour.
    Pause,
    /// Resumes the neighbour.
    Resume,
    /// Any other frame.
    Other,
}

impl Control {
    /// Returns the frame's kind for statistics.
    pub fn signal(&self) -> Signal {
        match self {
            Control::Pfc(Pfc { quanta: 0, .. }) => Signal::Resume,
            Control::Pfc(_) => Signal::Pause,
            Control::Custom { signal, .. } => *signal,
        }
    }

    /// Returns the classes that the frame addresses, and true to pause or false to resume them.
    /// `None` if the frame does not address classes.
    pub fn class_command(&self) -> Option<(ClassMask, bool)> {
        match self {
            Control::Pfc(pfc) => Some((pfc.enabled, pfc.quanta > 0)),
            Control::Custom { .. } => None,
        }
    }

    /// Returns true if the frame may replace parts of frames that wait for transmission
    /// ([`Control::remove_superseded`]).
    pub(crate) fn supersedes(&self) -> bool {
        self.class_command().is_some()
    }

    /// Removes from this frame, which waits for transmission, the classes that `newer` names as
    /// well. Returns true if any class is left. A network card fills in the state of every class at
    /// transmission, so that at most one frame per class waits.
    pub(crate) fn remove_superseded(&mut self, newer: &Control) -> bool {
        let (Control::Pfc(waiting), Control::Pfc(newer)) = (self, newer) else { return true };
        waiting.enabled = waiting.enabled.minus(newer.enabled);
        // Receivers ignore frames that name only the control class.
        !waiting.enabled.minus(ClassMask::of(Class::CONTROL)).is_empty()
    }

    /// Returns true for a PAUSE of the whole port: all classes, the control class included.
    pub fn is_port_pause(&self) -> bool {
        matches!(self, Control::Pfc(Pfc { enabled: ClassMask::ALL, quanta: 1.., .. }))
    }
}

/// A PFC frame: a pause time for the enabled classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, GetSize)]
pub struct Pfc {
    /// The class-enable vector.
    pub enabled: ClassMask,
    /// Pause time of all enabled classes, in quanta of 512 bit times; 0 resumes. The model never
    /// sends different times in one frame.
    pub quanta: u16,
    /// True if the frame is exempt from link errors. PAUSEs that hold until a RESUME need this,
    /// because nothing repeats a lost frame.
    pub reliable: bool,
}
