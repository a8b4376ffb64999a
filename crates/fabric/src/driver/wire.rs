//! Links between nodes: frames in flight, link errors and failures.

use crate::contract::packet::QueuedPacket;
use crate::contract::report::DropCause;
use crate::contract::{Announcement, PortFacts};
use crate::frame::Frame;
use crate::frame::record::{Record, Records};
use crate::ids::{NodeId, PortId, PortIx};
use crate::model::fifo::{Fifo, Frames, Place};
use crate::model::port::WireIx;
use crate::network::fabric::Fabric;
use backwater_engine::Time;
use backwater_engine::random::Stream;

/// Receiving end of a link. It takes half a cache line.
#[repr(align(32))]
pub(super) struct Wire {
    /// Frames in flight, in order of arrival ([`WireArrival::note_in`]).
    frames: Fifo,
    /// Index, within the shard, of the node at the end of the wire.
    pub(super) node: u32,
    /// Port at the end of the wire.
    pub(super) port: PortId,
    /// Epoch in which the last frame arrives.
    epoch: u64,
    /// Errors and failures; `None` for a link without errors that has never failed.
    pub(super) faults: Option<Box<LinkFaults>>,
}

const _: () = assert!(size_of::<Wire>() == 32);

impl Wire {
    /// Creates the wire that ends at port `port`, of a node with index `node` in its shard.
    pub(super) fn new(port: &PortFacts, node: u32, errors: Option<Stream>) -> Wire {
        let faults = errors.map(|errors| Box::new(LinkFaults { failed_at: None, errors: Some(errors) }));
        Wire { frames: Fifo::default(), node, port: port.id, epoch: 0, faults }
    }

    /// Puts the frame at `place` on the wire ([`WireArrival::note_in`]).
    #[inline(always)]
    pub(super) fn push(&mut self, place: Place, frames: &mut Frames) {
        self.frames.push(place, frames);
    }

    /// Notes that the frame pushed next arrives in `epoch`. Returns true if no frame on the wire
    /// arrives in this epoch yet.
    #[inline(always)]
    pub(super) fn begins(&mut self, epoch: u64) -> bool {
        self.is_empty() | (std::mem::replace(&mut self.epoch, epoch) != epoch)
    }

    /// Takes the next frame to arrive off the wire, which ends at port `ix` of the node.
    #[inline(always)]
    pub(super) fn pop<'a>(&mut self, ix: PortIx, frames: &'a mut Frames) -> (Place, &'a Frame) {
        let (place, packet) = self.frames.pop(frames);
        (packet.ingress, packet.note) = (ix, 0);
        (place, &packet.frame)
    }

    /// Returns the next arrival.
    #[inline(always)]
    pub(super) fn next(&self, frames: &Frames) -> Option<WireArrival> {
        let first = self.frames.front(frames)?;
        Some(WireArrival { at: first.at, burst_age: first.note })
    }

    /// Prefetches the second frame to arrive.
    #[inline(always)]
    pub(super) fn prefetch_second(&self, frames: &Frames) {
        self.frames.prefetch_second(frames);
    }

    /// Prefetches the pauses and the telemetry of the next frame to arrive.
    #[inline(always)]
    pub(super) fn prefetch_record(&self, frames: &Frames, records: &Records) {
        if let Some(next) = self.frames.front(frames) {
            records.prefetch_pauses(next.frame.record);
            records.prefetch_telemetry(next.frame.record);
        }
    }

    /// Returns the frames in flight, in order of arrival.
    pub(super) fn frames<'a>(&self, frames: &'a Frames) -> impl Iterator<Item = &'a Frame> {
        self.frames.iter(frames).map(|packet| &packet.frame)
    }

    /// Returns true if no frame is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

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

impl WireArrival {
    /// Notes the arrival in a packet that is put on a wire. The packet's class on departure is the
    /// class on arrival.
    #[inline(always)]
    pub(super) fn note_in(self, packet: &mut QueuedPacket) {
        (packet.at, packet.note, packet.ingress_class) = (self.at, self.burst_age, packet.frame.class());
    }
}

/// Frames for another shard.
#[derive(Default)]
pub(crate) struct Outbox {
    pub(super) frames: Vec<(PortId, WireArrival, Frame)>,
    pub(super) records: Vec<Record>,
    /// Messages that arrive at hosts of the other shard.
    pub(super) announcements: Vec<(NodeId, Announcement)>,
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
