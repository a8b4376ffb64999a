//! The links between nodes: frames on their way, and what corrupts or loses them.

use crate::contract::report::DropCause;
use crate::frame::Frame;
use crate::frame::record::Record;
use crate::ids::{PortId, PortIx};
use crate::model::fifo::Fifo;
use crate::model::port::WireIx;
use crate::network::fabric::Fabric;
use backwater_engine::Time;
use backwater_engine::random::Stream;

/// The receiving end of a link: half a cache line that every event of a port reads.
#[repr(align(32))]
pub(super) struct Wire {
    /// Frames on their way, first to arrive first.
    pub(super) frames: Fifo,
    /// The number in the shard of the node where it ends.
    pub(super) node: u32,
    /// The port where it ends.
    pub(super) port: PortId,
    /// The number of that port in its node.
    pub(super) ix: PortIx,
    /// What may corrupt or lose frames; `None` for a link without errors that has never failed.
    pub(super) faults: Option<Box<LinkFaults>>,
}

const _: () = assert!(size_of::<Wire>() == 32);

/// A frame on a wire, within one cache line.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct InFlight(pub(super) Frame);

/// What corrupts or loses frames on the link.
pub(super) struct LinkFaults {
    /// When the link last failed.
    pub(super) failed_at: Option<Time>,
    /// Draws of the link's errors.
    pub(super) errors: Option<Stream>,
}

impl LinkFaults {
    /// Why `frame`, which arrives on `port` now, is lost, if it is.
    pub(super) fn loss_of(&mut self, frame: &Frame, port: PortId, now: Time, fabric: &Fabric) -> Option<DropCause> {
        let facts = &fabric.wiring.ports[port];
        if let Some(failed_at) = self.failed_at {
            let travel = facts.delay + fabric.spec.framing.byte_time(facts.rate).times(u32::from(frame.size.wire));
            if failed_at + travel >= now {
                return Some(DropCause::LinkDown);
            }
        }
        let errors = self.errors.as_mut().filter(|_| !frame.is_reliable());
        errors.is_some_and(|errors| errors.chance(facts.error_rate)).then_some(DropCause::LinkError)
    }
}

/// When a frame arrives, and how long its sender will have been sending without a gap then, in whole nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct WireArrival {
    pub(super) at: Time,
    pub(super) burst_age: u32,
}

/// Frames for another shard.
#[derive(Default)]
pub(crate) struct Outbox {
    pub(super) frames: Vec<(PortId, WireArrival, Frame)>,
    pub(super) records: Vec<Record>,
}

impl Outbox {
    /// When the first of its frames arrives; [`Time::NEVER`] if it holds none.
    pub(crate) fn first_arrival(&self) -> Time {
        self.frames.iter().map(|(_, arrival, _)| arrival.at).min().unwrap_or(Time::NEVER)
    }
}

/// Index of a wire in its shard's list.
#[inline]
pub(super) fn wire_index(wire: WireIx) -> u32 {
    wire.get() - 1
}
