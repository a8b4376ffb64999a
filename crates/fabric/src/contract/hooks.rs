//! HookSet: the points of a switch's pipeline where mechanisms see packets pass. One is called only where it asked to be.

use crate::contract::accounts::Footprint;
use crate::contract::passage::Passage;
use crate::contract::view::View;
use crate::frame::record::{PathHeader, Records, Telemetry};
use crate::frame::{Frame, Notice, Packet, PacketKind, Trail};
use crate::ids::{PortIx, QueueIx};
use ambassador::delegatable_trait;
use auto_impl::auto_impl;
use std::ops::BitOr;

/// A set of points of the pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HookSet(u16);

impl HookSet {
    /// No point.
    pub const NONE: HookSet = HookSet(0);
    /// [`PipelineHooks::on_enqueue`] of data packets.
    pub const DATA_ENQUEUE: HookSet = HookSet(1);
    /// [`PipelineHooks::on_enqueue`] of all packets.
    pub const ENQUEUE: HookSet = HookSet(1 | 1 << 14);
    /// [`PipelineHooks::on_departure`] of data packets.
    pub const DATA_DEPARTURE: HookSet = HookSet(1 << 1);
    /// [`PipelineHooks::on_departure`] of all other packets.
    pub const OTHER_DEPARTURE: HookSet = HookSet(1 << 2);
    /// [`PipelineHooks::on_last_hop`].
    pub const LAST_HOP: HookSet = HookSet(1 << 3);
    /// [`PipelineHooks::on_notice`].
    pub const NOTICE: HookSet = HookSet(1 << 4);
    /// [`PipelineHooks::on_gate`].
    pub const GATE: HookSet = HookSet(1 << 5);
    /// [`PipelineHooks::on_link`] and [`PipelineHooks::on_dead_end`].
    pub const LINK: HookSet = HookSet(1 << 7);
    /// Queues of its ports hand packets on to others.
    pub(crate) const INNER_QUEUES: HookSet = HookSet(1 << 12);
    /// What happens is traced, or written into the ledger.
    pub(crate) const TRACE: HookSet = HookSet(1 << 11);
    /// There are ports whose links are down, and that routes avoid.
    pub(crate) const DEAD_ENDS: HookSet = HookSet(1 << 10);
    /// Packets of others leave a host.
    pub(crate) const RELAYS: HookSet = HookSet(1 << 13);
    /// Queues of a host's ports take turns with the data of its own flows.
    pub(crate) const TURNS: HookSet = HookSet(1 << 9);
    /// Packets take some time to be forwarded.
    pub(crate) const DELAY: HookSet = HookSet(1 << 8);
    /// Packets whose routes do not tell the way that they have come keep a [`Trail`]: for whoever sends notices back along it.
    pub(crate) const TRAIL: HookSet = HookSet(1 << 6);

    /// What else counts or traces a packet that leaves a queue.
    pub(crate) const LOGGED_DEPARTURE: HookSet = HookSet(Self::TURNS.0 | Self::TRACE.0 | Self::RELAYS.0);

    /// What else has something done when a packet leaves a queue.
    pub(crate) const ON_DEPARTURE: HookSet = HookSet(Self::LOGGED_DEPARTURE.0 | Self::TRAIL.0);

    /// Whether the two have a point in common.
    #[inline]
    pub const fn intersects(self, other: HookSet) -> bool {
        self.0 & other.0 != 0
    }

    /// The set itself, or the empty one.
    pub(crate) const fn only_if(self, condition: bool) -> HookSet {
        if condition { self } else { HookSet::NONE }
    }

    /// The set without those of `other`.
    pub(crate) const fn without(self, other: HookSet) -> HookSet {
        HookSet(self.0 & !other.0)
    }

    /// [`PipelineHooks::on_enqueue`] of packets of `kind`.
    #[inline]
    pub fn enqueue_of(kind: PacketKind) -> HookSet {
        if kind == PacketKind::Data { HookSet::DATA_ENQUEUE } else { HookSet::ENQUEUE.without(HookSet::DATA_ENQUEUE) }
    }

    /// [`PipelineHooks::on_departure`] of packets of `kind`.
    #[inline]
    pub fn departure_of(kind: PacketKind) -> HookSet {
        if kind == PacketKind::Data { HookSet::DATA_DEPARTURE } else { HookSet::OTHER_DEPARTURE }
    }
}

impl BitOr for HookSet {
    type Output = HookSet;

    #[inline]
    fn bitor(self, other: HookSet) -> HookSet {
        HookSet(self.0 | other.0)
    }
}

/// A packet, and the side record that travels with it.
pub struct Carried<'a> {
    /// The packet.
    pub frame: &'a mut Frame,
    /// Where side records are kept.
    pub records: &'a mut Records,
}

impl Carried<'_> {
    /// Its headers.
    ///
    /// # Panics
    /// It is a link-local frame: none passes a station.
    pub fn packet(&self) -> &Packet {
        self.frame.packet().expect("link-local frames pass no station")
    }

    /// Sets its ECN mark.
    pub fn mark(&mut self) {
        self.frame.mark();
    }

    /// The way that it has come, where its route does not tell.
    pub fn trail(&self) -> Option<&Trail> {
        self.records.trail(self.frame.record)
    }

    /// What it says, if it is a notice; a switch on its way may write on it.
    pub fn notice_mut(&mut self) -> Option<&mut Notice> {
        self.records.notice_mut(self.frame.record)
    }

    /// The header of load balancing, if it has one.
    pub fn path_header(&self) -> Option<&PathHeader> {
        self.records.path_header(self.frame.record)
    }

    /// The header of load balancing, added if it has none.
    pub fn path_header_mut(&mut self) -> &mut PathHeader {
        self.records.path_header_mut(&mut self.frame.record)
    }

    /// What switches have stamped into it.
    pub fn telemetry_mut(&mut self) -> &mut Telemetry {
        self.records.telemetry_mut(&mut self.frame.record)
    }
}

/// What becomes of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeAction {
    /// It goes on.
    Forward,
    /// It ends here.
    Consume,
}

/// A mechanism that sees packets pass at a switch.
#[auto_impl(Box)]
#[delegatable_trait]
pub trait PipelineHooks: Footprint + Send {
    /// Where it is called. Read once, when it has been built.
    fn hooks(&self) -> HookSet {
        HookSet::NONE
    }

    /// A packet joins its queue, which holds `queue_bytes` with it.
    fn on_enqueue(&mut self, _at: &Passage, _queue_bytes: u64, _packet: &mut Carried<'_>, _view: &mut View<'_>) {}

    /// A packet leaves its queue for the wire; its bytes are already gone from the counters, and `queue_bytes` are left in the queue.
    fn on_departure(&mut self, _at: &Passage, _queue_bytes: u64, _packet: &mut Carried<'_>, _view: &mut View<'_>) {}

    /// A packet is about to join a queue of the port through which it leaves for its destination.
    fn on_last_hop(&mut self, _egress: PortIx, _packet: &mut Carried<'_>, _view: &mut View<'_>) {}

    /// A notice has come to this switch, or passes it on its way to a sender.
    fn on_notice(&mut self, _notice: &Notice, _view: &mut View<'_>) -> NoticeAction {
        NoticeAction::Forward
    }

    /// The gate of a queue has closed or opened.
    fn on_gate(&mut self, _port: PortIx, _queue: QueueIx, _is_open: bool, _view: &mut View<'_>) {}

    /// The link of a port has gone down or come up.
    fn on_link(&mut self, _port: PortIx, _is_up: bool, _view: &mut View<'_>) {}

    /// Routes have been computed anew, and avoid a port whose link is down: what waited there has been lost.
    fn on_dead_end(&mut self, _port: PortIx, _view: &mut View<'_>) {}

    /// The time has come that it asked for with [`View::wake_at`].
    fn on_wake(&mut self, _view: &mut View<'_>) {}
}
