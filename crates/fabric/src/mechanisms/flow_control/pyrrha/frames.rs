//! Pyrrha's control frames: link-local, one hop, with the highest priority (section IV-D).

use crate::frame::{Control, Protocol, Signal};
use crate::ids::PortId;

/// Content of a frame. A root is identified by its port in the network, which represents the
/// paper's pair of switch and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PyrrhaFrame {
    /// Downstream to upstream: hold back packets that pass `root`.
    Pause {
        /// Congestion root.
        root: PortId,
        /// Number of ports on the path after the receiver's port up to the root, including the
        /// root.
        distance: u8,
    },
    /// Downstream to upstream: release packets that pass `root`.
    Resume {
        /// Congestion root.
        root: PortId,
    },
    /// Downstream to upstream: `old` has given up as a root in favour of `new`, which is further
    /// downstream.
    Merge {
        /// Former root.
        old: PortId,
        /// Root that replaces `old`.
        new: PortId,
        /// Distance of `new`, as in [`PyrrhaFrame::Pause`].
        distance: u8,
    },
    /// Upstream to downstream: no state for `root` is left.
    Unassigned {
        /// Congestion root.
        root: PortId,
    },
}

/// Protocol of the frames.
pub(super) const PYRRHA: Protocol = Protocol::named("pyrrha");

const PAUSE: u16 = 1;
const RESUME: u16 = 2;
const MERGE: u16 = 3;
const UNASSIGNED: u16 = 4;

impl From<PyrrhaFrame> for Control {
    fn from(frame: PyrrhaFrame) -> Control {
        let (opcode, signal, words) = match frame {
            PyrrhaFrame::Pause { root, distance } => (PAUSE, Signal::Pause, [root.0, 0, distance.into()]),
            PyrrhaFrame::Resume { root } => (RESUME, Signal::Resume, [root.0, 0, 0]),
            PyrrhaFrame::Merge { old, new, distance } => (MERGE, Signal::Other, [new.0, old.0, distance.into()]),
            PyrrhaFrame::Unassigned { root } => (UNASSIGNED, Signal::Other, [root.0, 0, 0]),
        };
        // The frame is exempt from link errors, because a lost PAUSE without expiry could not be
        // repaired.
        Control::Custom { protocol: PYRRHA, opcode, signal, reliable: true, words }
    }
}

impl PyrrhaFrame {
    /// Returns the content of a control frame of Pyrrha.
    pub fn read(control: &Control) -> Option<PyrrhaFrame> {
        let Control::Custom { protocol: PYRRHA, opcode, words: [root, old, distance], .. } = *control else {
            return None;
        };
        let (root, old, distance) = (PortId(root), PortId(old), distance as u8);
        match opcode {
            PAUSE => Some(PyrrhaFrame::Pause { root, distance }),
            RESUME => Some(PyrrhaFrame::Resume { root }),
            MERGE => Some(PyrrhaFrame::Merge { old, new: root, distance }),
            UNASSIGNED => Some(PyrrhaFrame::Unassigned { root }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_says_what_was_put_into_it() {
        let (root, old) = (PortId(7), PortId(70_000));
        for frame in [
            PyrrhaFrame::Pause { root, distance: 3 },
            PyrrhaFrame::Resume { root },
            PyrrhaFrame::Merge { old, new: root, distance: 2 },
            PyrrhaFrame::Unassigned { root },
        ] {
            assert_eq!(PyrrhaFrame::read(&frame.into()), Some(frame));
        }
        let custom = |protocol, opcode| Control::Custom {
            protocol,
            opcode,
            signal: Signal::Other,
            reliable: true,
            words: [0; 3],
        };
        assert_eq!(PyrrhaFrame::read(&custom(PYRRHA, 99)), None);
        // A frame of another protocol is not read.
        assert_eq!(PyrrhaFrame::read(&custom(Protocol::named("another"), PAUSE)), None);
    }
}
