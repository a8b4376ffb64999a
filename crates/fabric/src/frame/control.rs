//! Link-local control frames: they travel over one link and are consumed at its other end.

use crate::ids::{Class, ClassMask};
use get_size2::GetSize;

/// Whose frame a control frame is: what its fields mean is for the mechanisms that speak the protocol to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Protocol(u16);

impl Protocol {
    /// Priority-based flow control, IEEE 802.1Qbb.
    pub const PFC: Protocol = Protocol::named("pfc");

    /// The protocol of this name: its hash (FNV-1a, folded to two bytes).
    pub const fn named(name: &str) -> Protocol {
        let (bytes, mut hash, mut next) = (name.as_bytes(), 0x811c_9dc5_u32, 0);
        while next < bytes.len() {
            hash = (hash ^ bytes[next] as u32).wrapping_mul(0x0100_0193);
            next += 1;
        }
        Protocol((hash >> 16) as u16 ^ hash as u16)
    }

    /// What stands for it in frames.
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// A link-local MAC control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Priority-based flow control, IEEE 802.1Qbb clause 36.
    Pfc(Pfc),
    /// A frame of another mechanism.
    Custom {
        /// Whose frame it is. No part of what a trajectory's fingerprint sees.
        protocol: Protocol,
        /// What the frame says.
        opcode: u16,
        /// What it is counted as.
        signal: Signal,
        /// Whether link errors spare it (see [`Pfc::reliable`]).
        reliable: bool,
        /// Its fields.
        words: [u32; 3],
    },
}

/// What a control frame means to those who only count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Stop.
    Pause,
    /// Go on.
    Resume,
    /// Something else between neighbours.
    Other,
}

impl Control {
    /// What the frame is counted as.
    pub fn signal(&self) -> Signal {
        match self {
            Control::Pfc(Pfc { quanta: 0, .. }) => Signal::Resume,
            Control::Pfc(_) => Signal::Pause,
            Control::Custom { signal, .. } => *signal,
        }
    }

    /// The classes that it tells the neighbour to stop, or to let go, and whether to stop; `None` for a frame that is not about classes.
    pub fn class_command(&self) -> Option<(ClassMask, bool)> {
        match self {
            Control::Pfc(pfc) => Some((pfc.enabled, pfc.quanta > 0)),
            Control::Custom { .. } => None,
        }
    }

    /// Whether frames that wait to be sent may yield to it ([`Control::remove_superseded`]).
    pub(crate) fn supersedes(&self) -> bool {
        self.class_command().is_some()
    }

    /// Takes out of this frame, which waits to be sent, what `newer` says anew; whether anything is left of it. A network card fills in the
    /// state of every class when it sends a PFC frame: of each class at most one frame waits, so that waiting frames cannot pile up.
    pub(crate) fn remove_superseded(&mut self, newer: &Control) -> bool {
        let (Control::Pfc(waiting), Control::Pfc(newer)) = (self, newer) else { return true };
        waiting.enabled = waiting.enabled.minus(newer.enabled);
        // No receiver obeys a frame that names the control class alone.
        !waiting.enabled.minus(ClassMask::of(Class::CONTROL)).is_empty()
    }

    /// Whether it stops a port as a whole: a PAUSE for all classes, the control class included.
    pub fn is_port_pause(&self) -> bool {
        matches!(self, Control::Pfc(Pfc { enabled: ClassMask::ALL, quanta: 1.., .. }))
    }
}

/// A PFC frame: for every enabled class, how long it must stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, GetSize)]
pub struct Pfc {
    /// The class-enable vector.
    pub enabled: ClassMask,
    /// Pause time in quanta of 512 bit times for every enabled class; 0 resumes. (One number: we never send different ones at once.)
    pub quanta: u16,
    /// Whether link errors spare the frame: a PAUSE that holds until RESUME has no other remedy against loss.
    pub reliable: bool,
}
