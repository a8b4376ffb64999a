//! The trace: what nodes do, event by event. It stands behind the sink: whatever shows, exports or tests single events takes them from here.

use crate::contract::note::Note;
use crate::frame::Frame;
use crate::ids::{NodeId, PortId};
use crate::network::fabric::Fabric;
use backwater_engine::Time;

/// Something that a node has done.
#[derive(Clone, Copy, Debug)]
pub struct Traced {
    /// When.
    pub at: Time,
    /// Which node.
    pub node: NodeId,
    /// What.
    pub what: Action,
}

/// What a node has done.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// A frame has started on the wire.
    Sent {
        /// Of this port.
        port: PortId,
        /// The frame.
        frame: Frame,
        /// When its last bit leaves.
        until: Time,
    },
    /// Anything else that is told as a note.
    Noted(Note),
}

/// What has been traced of a shard's nodes, in the order in which it happened.
#[derive(Debug, Default)]
pub(crate) struct Trace(pub(super) Option<Vec<Traced>>);

impl Trace {
    #[inline]
    pub(crate) fn add(&mut self, at: Time, what: impl FnOnce() -> Action, fabric: &Fabric) {
        if let Some(actions) = &mut self.0 {
            let what = what();
            actions.push(Traced { at, node: actor(&what, fabric), what });
        }
    }
}

/// Which node has done something.
fn actor(what: &Action, fabric: &Fabric) -> NodeId {
    let of_port = |port: PortId| fabric.wiring.ports[port.0 as usize].node;
    match what {
        Action::Sent { port, .. } => of_port(*port),
        Action::Noted(note) => match note {
            Note::Dropped { node, .. } | Note::Count { node, .. } => *node,
            Note::Paused { port, .. }
            | Note::Stopped { port, .. }
            | Note::Full { port, .. }
            | Note::Enqueued { port, .. }
            | Note::Moved { port, .. }
            | Note::Dequeued { port, .. }
            | Note::Link { port, .. }
            | Note::Sender { port, .. }
            | Note::Marked { port, .. } => of_port(*port),
            Note::Received { flow } => fabric.flow(*flow).dst,
            Note::Acknowledged { flow, .. } | Note::Rate { flow, .. } => fabric.flow(*flow).src,
        },
    }
}
