//! Pyrrha's control frames: link-local, one hop, before everything else (section IV-D).

use crate::frame::{Control, Protocol, Signal};
use crate::ids::PortId;

/// What a frame says. A root is named by its port in the network, which represents the pair of switch and port of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PyrrhaFrame {
    /// Downstream to upstream: hold back what passes `root`.
    Pause {
        /// The congestion root.
        root: PortId,
        /// How many ports lie between the receiver's and the root, that one included.
        distance: u8,
    },
    /// Downstream to upstream: release what passes `root`.
    Resume {
        /// The congestion root.
        root: PortId,
    },
    /// Downstream to upstream: `old` has given up because of `new`, which is further downstream.
    Merge {
        /// The root that is none any more.
        old: PortId,
        /// The root that takes its place.
        new: PortId,
        /// As in [`PyrrhaFrame::Pause`], for `new`.
        distance: u8,
    },
    /// Upstream to downstream: nothing is kept for `root` any more.
    Unassigned {
        /// The congestion root.
        root: PortId,
    },
}

/// Whose frames these are.
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
        // A PAUSE that holds until RESUME has no remedy against loss.
        Control::Custom { protocol: PYRRHA, opcode, signal, reliable: true, words }
    }
}

impl PyrrhaFrame {
    /// What a control frame says, if it is one of ours.
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
        // Whatever it says, it is not for us.
        assert_eq!(PyrrhaFrame::read(&custom(Protocol::named("another"), PAUSE)), None);
    }
}
