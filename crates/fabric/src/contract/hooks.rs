//! Hooks at the points of a switch's pipeline, and the sets by which mechanisms subscribe to them.

use crate::contract::packet::PacketContext;
use crate::contract::view::View;
use crate::frame::{Notice, PacketKind};
use crate::ids::{PortIx, QueueIx};
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use bitflags::bitflags;

bitflags! {
    /// Set of hooks to which a mechanism subscribes.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct HookSet: u16 {
        /// [`PipelineHooks::on_enqueue`] of data packets.
        const DATA_ENQUEUE = 1;
        /// [`PipelineHooks::on_enqueue`] of all other packets.
        const OTHER_ENQUEUE = 1 << 1;
        /// [`PipelineHooks::on_enqueue`] of all packets.
        const ENQUEUE = 1 | 1 << 1;
        /// [`PipelineHooks::on_departure`] of data packets.
        const DATA_DEPARTURE = 1 << 2;
        /// [`PipelineHooks::on_departure`] of all other packets.
        const OTHER_DEPARTURE = 1 << 3;
        /// [`PipelineHooks::on_last_hop`].
        const LAST_HOP = 1 << 4;
        /// [`PipelineHooks::on_notice`].
        const NOTICE = 1 << 5;
        /// [`PipelineHooks::on_gate`].
        const GATE = 1 << 6;
        /// [`PipelineHooks::on_link`] and [`PipelineHooks::on_dead_end`].
        const LINK = 1 << 7;
    }
}

impl HookSet {
    /// Returns the set if `condition` holds, else the empty set.
    pub(crate) const fn only_if(self, condition: bool) -> HookSet {
        if condition { self } else { HookSet::empty() }
    }

    /// Returns the hook [`PipelineHooks::on_enqueue`] for packets of `kind`.
    #[inline]
    pub fn enqueue_of(kind: PacketKind) -> HookSet {
        if kind == PacketKind::Data { HookSet::DATA_ENQUEUE } else { HookSet::OTHER_ENQUEUE }
    }

    /// Returns the hook [`PipelineHooks::on_departure`] for packets of `kind`.
    #[inline]
    pub fn departure_of(kind: PacketKind) -> HookSet {
        if kind == PacketKind::Data { HookSet::DATA_DEPARTURE } else { HookSet::OTHER_DEPARTURE }
    }
}

/// Decision on a notice that reached a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeAction {
    /// The notice continues to its sender.
    Forward,
    /// The notice ends at this switch.
    Consume,
}

/// Hooks of a mechanism at the points of a switch's pipeline. The model calls only the hooks in
/// [`PipelineHooks::hooks`]. A hook may change the packet's marks and side record; actions
/// requested through the view are executed after the hook returns.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait PipelineHooks: Send {
    /// Returns the hooks that the mechanism needs. Read once, when the mechanism is built.
    fn hooks(&self) -> HookSet {
        HookSet::empty()
    }

    /// Returns true if [`on_enqueue`](Self::on_enqueue) has no effect on this packet: a quick test
    /// that spares the call.
    #[inline]
    fn ignores_enqueue(&self, _packet: &PacketContext<'_>, _queue_bytes: u64) -> bool {
        false
    }

    /// Returns true if [`on_departure`](Self::on_departure) has no effect on this packet: a quick
    /// test that spares the call.
    #[inline]
    fn ignores_departure(&self, _packet: &PacketContext<'_>, _queue_bytes: u64) -> bool {
        false
    }

    /// A packet joins its queue, which holds `queue_bytes` including the packet.
    fn on_enqueue(&mut self, _packet: &mut PacketContext<'_>, _queue_bytes: u64, _view: &mut View<'_>) {}

    /// A packet leaves its queue for the wire. `queue_bytes` remain in the queue; the packet's
    /// bytes are no longer counted.
    fn on_departure(&mut self, _packet: &mut PacketContext<'_>, _queue_bytes: u64, _view: &mut View<'_>) {}

    /// A packet is about to join a queue of the last port before its destination.
    fn on_last_hop(&mut self, _packet: &mut PacketContext<'_>, _view: &mut View<'_>) {}

    /// A notice arrived, addressed to this switch or on its way to a sender.
    fn on_notice(&mut self, _notice: &Notice, _view: &mut View<'_>) -> NoticeAction {
        NoticeAction::Forward
    }

    /// The gate of a queue opened or closed.
    fn on_gate(&mut self, _port: PortIx, _queue: QueueIx, _is_open: bool, _view: &mut View<'_>) {}

    /// The link of a port failed or recovered.
    fn on_link(&mut self, _port: PortIx, _is_up: bool, _view: &mut View<'_>) {}

    /// New routes avoid a port with a failed link: the packets that waited at the port are lost.
    fn on_dead_end(&mut self, _port: PortIx, _view: &mut View<'_>) {}

    /// The timer set with [`View::wake_at`] fired.
    fn on_wake(&mut self, _view: &mut View<'_>) {}
}
