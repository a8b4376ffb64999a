//! Links between nodes: frames in flight, link errors and failures.

use crate::contract::report::DropCause;
use crate::frame::Frame;
use crate::frame::record::Record;
use crate::ids::{PortId, PortIx};
use crate::model::fifo::Fifo;
use crate::model::port::WireIx;
use crate::network::fabric::Fabric;
use backwater_engine::Time;
use backwater_engine::random::Stream;

/// Receiving end of a link. It takes half a cache line.
#[repr(align(32))]
pub(super) struct Wire {
    /// Frames in flight, in order of arrival.
    pub(super) frames: Fifo,
    /// Index, within the shard, of the node at the end of the wire.
    pub(super) node: u32,
    /// Port at the end of the wire.
    pub(super) port: PortId,
    /// Index of that port within its node.
    pub(super) ix: PortIx,
    /// Errors and failures; `None` for a link without errors that has never failed.
    pub(super) faults: Option<Box<LinkFaults>>,
}

const _: () = assert!(size_of::<Wire>() == 32);

/// A frame on a wire.
#[derive(Clone, Copy)]
pub(super) struct InFlight {
    pub(super) frame: Frame,
    pub(super) arrival: WireArrival,
}

const _: () = assert!(size_of::<InFlight>() == 48);

/// Errors and failures of a link.
pub(super) struct LinkFaults {
    /// Time of the last failure.
    pub(super) failed_at: Option<Time>,
    /// Random stream of the link's errors.
    pub(super) errors: Option<Stream>,
}

impl LinkFaults {
    /// Returns the cause if `frame`, which arrives on `port` now, is lost.
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

/// Arrival of a frame, and the age of its sender's burst at that time, in whole nanoseconds.
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
    /// Returns the time of the first arrival; [`Time::NEVER`] if the outbox is empty.
    pub(crate) fn first_arrival(&self) -> Time {
        self.frames.iter().map(|(_, arrival, _)| arrival.at).min().unwrap_or(Time::NEVER)
    }
}

/// Returns the index of a wire within its shard.
#[inline]
pub(super) fn wire_index(wire: WireIx) -> u32 {
    wire.get() - 1
}
