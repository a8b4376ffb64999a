//! Side records of frames, for data beyond their headers: pauses on the way, telemetry, causes of
//! PAUSEs, echoes of answers.
//!
//! Records are stored apart, so that frames stay small and are passed by value.

use crate::frame::Psn;
use crate::frame::cause::Causes;
use crate::frame::journey::Journey;
use crate::frame::notice::Notice;
use crate::frame::route::MAX_HOPS;
use crate::ids::PortIx;
use backwater_engine::memory::HeapBytes;
use backwater_engine::prefetch::prefetch;
use backwater_engine::{Duration, Rate, Time};
use get_size2::GetSize;

/// Reference to a [`Record`], or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordRef(pub(crate) u32);

impl RecordRef {
    /// No record.
    pub const NONE: RecordRef = RecordRef(u32::MAX);

    /// Returns true if there is a record.
    pub fn is_some(self) -> bool {
        self != RecordRef::NONE
    }
}

/// Side record of a frame.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Time for which PAUSEs held the packet.
    pub pauses: PauseLog,
    /// In-band telemetry.
    pub telemetry: Telemetry,
    /// PFC frames: cause of the PAUSE, per class.
    pub causes: Option<Causes>,
    /// Notices: content.
    pub notice: Option<Notice>,
    /// Egress ports passed, if the route does not record them.
    pub trail: Option<Trail>,
    /// ACK, NACK, CNP: content beyond the headers.
    pub echo: Option<Echo>,
    /// Header added by a load balancer.
    pub path_header: Option<PathHeader>,
    /// Path number chosen by the sending host.
    pub path: Option<u16>,
    /// Breakdown of the packet's time, if it is recorded.
    pub journey: Option<Journey>,
}

/// Header with which load balancers exchange data on paths (CONGA's overlay header). Load balancers
/// define its fields.
pub type PathHeader = [u32; 7];

/// Content of an ACK, NACK or CNP beyond its headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Echo {
    /// Sequence number of the packet that arrived.
    pub arrived: Psn,
    /// Links that the packet passed.
    pub hops: u8,
    /// CNP: verdict of the receiver.
    pub verdict: Option<Cnp>,
    /// Path number that the sending host chose for the packet.
    pub path: Option<u16>,
}

/// Verdict of a receiver on a flow, carried by a CNP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cnp {
    /// Congested. The value is the flow's arrival rate, if the receiver measures it.
    Congested(Option<Rate>),
    /// Not congested: the sender may increase its rate (PCN).
    NotCongested,
}

/// Egress ports that a packet has passed, from its source host on; at most [`MAX_HOPS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    ports: [PortIx; MAX_HOPS],
    len: u8,
}

impl Trail {
    /// Appends an egress port.
    pub fn push(&mut self, port: PortIx) {
        if let Some(slot) = self.ports.get_mut(usize::from(self.len)) {
            *slot = port;
            self.len += 1;
        }
    }

    /// Returns the ports in order.
    pub fn ports(&self) -> &[PortIx] {
        &self.ports[..usize::from(self.len)]
    }
}

/// Time for which PAUSEs held a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseLog {
    /// Held by any PAUSE.
    pub paused: Spell,
    /// Held by a PAUSE whose root is not on the packet's path: the packet is a victim.
    pub blocked: Spell,
}

/// Accumulated time, and its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spell {
    /// Total length.
    pub length: Duration,
    /// End of the last interval.
    pub end: Time,
}

impl Spell {
    /// Adds an interval of `length` that ended at `end`.
    pub fn add(&mut self, length: Duration, end: Time) {
        self.length += length;
        self.end = self.end.max(end);
    }

    /// Returns the part after `since`, as if the spell were one interval. Exact for packets that
    /// were held once.
    pub fn after(&self, since: Time) -> Duration {
        self.length.min(self.end.since(since))
    }
}

/// In-band network telemetry: one stamp per switch (section 3.1 of HPCC's paper).
///
/// The length shares a cache line with the first stamp.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Telemetry {
    len: u8,
    stamps: [Stamp; MAX_HOPS],
}

/// State of an egress port when a packet departs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, GetSize)]
pub struct Stamp {
    /// Time of departure.
    pub time: Time,
    /// Bytes that the port sent before.
    pub tx_bytes: u64,
    /// Bytes left in the queues from which the port transmits.
    pub queue_bytes: u64,
    /// Rate of the port.
    pub rate: Rate,
}

impl Telemetry {
    /// Appends a stamp. Stamps beyond the header's [`MAX_HOPS`] entries are not recorded.
    #[inline]
    pub fn push(&mut self, stamp: Stamp) {
        if let Some(slot) = self.stamps.get_mut(usize::from(self.len)) {
            *slot = stamp;
            self.len += 1;
        }
    }

    /// Returns the stamps, first switch first.
    pub fn stamps(&self) -> &[Stamp] {
        &self.stamps[..usize::from(self.len)]
    }
}

/// One field of all records. Takes no memory until a record has the field.
#[derive(Debug)]
struct Part<T>(Vec<Option<T>>);

impl<T> Default for Part<T> {
    fn default() -> Part<T> {
        Part(Vec::new())
    }
}

impl<T: Clone> Part<T> {
    fn get(&self, RecordRef(slot): RecordRef) -> Option<&T> {
        self.0.get(slot as usize).and_then(Option::as_ref)
    }

    /// Returns the field of the record in `slot`; there are `records` slots.
    fn at(&mut self, slot: usize, records: usize) -> &mut Option<T> {
        if self.0.len() <= slot {
            self.0.resize(records, None);
        }
        &mut self.0[slot]
    }

    /// Stores `value`, if there is one, in `slot`; there are `records` slots.
    fn set(&mut self, slot: usize, records: usize, value: Option<T>) {
        if value.is_some() {
            *self.at(slot, records) = value;
        }
    }

    fn clear(&mut self, slot: usize) {
        if let Some(item) = self.0.get_mut(slot) {
            *item = None;
        }
    }
}

/// One field of few records, such as the causes of PAUSEs. Records without the field take 4 bytes.
#[derive(Debug)]
struct RarePart<T> {
    /// Position in `items`, per record; [`RarePart::NOWHERE`] if the record has no such field.
    positions: Vec<u32>,
    items: Vec<T>,
    /// Unused positions in `items`.
    free: Vec<u32>,
}

impl<T> Default for RarePart<T> {
    fn default() -> RarePart<T> {
        RarePart { positions: Vec::new(), items: Vec::new(), free: Vec::new() }
    }
}

impl<T> RarePart<T> {
    const NOWHERE: u32 = u32::MAX;

    fn get(&self, RecordRef(slot): RecordRef) -> Option<&T> {
        self.positions.get(slot as usize).and_then(|position| self.items.get(*position as usize))
    }

    fn get_mut(&mut self, RecordRef(slot): RecordRef) -> Option<&mut T> {
        self.positions.get(slot as usize).and_then(|position| self.items.get_mut(*position as usize))
    }

    /// Stores `value`, if there is one, in `slot`, which has no value; there are `records` slots.
    fn set(&mut self, slot: usize, records: usize, value: Option<T>) {
        let Some(value) = value else { return };
        if self.positions.len() <= slot {
            self.positions.resize(records, Self::NOWHERE);
        }
        self.positions[slot] = self.free.pop().unwrap_or(self.items.len() as u32);
        match self.items.get_mut(self.positions[slot] as usize) {
            Some(item) => *item = value,
            None => self.items.push(value),
        }
    }

    fn clear(&mut self, slot: usize) {
        if let Some(position) = self.positions.get_mut(slot).filter(|position| **position != Self::NOWHERE) {
            self.free.push(std::mem::replace(position, Self::NOWHERE));
        }
    }
}

impl<T> HeapBytes for RarePart<T> {
    fn heap_bytes(&self) -> u64 {
        self.positions.heap_bytes() + self.items.heap_bytes() + self.free.heap_bytes()
    }
}

/// Side records of a shard's frames. Every field has an array of its own, so that a run pays only
/// for the fields that it uses. Free records have no fields.
#[derive(Debug, Default)]
pub struct Records {
    pauses: Vec<PauseLog>,
    /// Empty until the first stamp, then as long as `pauses`.
    telemetry: Vec<Telemetry>,
    causes: RarePart<Causes>,
    notices: RarePart<Notice>,
    trails: Part<Trail>,
    echoes: Part<Echo>,
    path_headers: Part<PathHeader>,
    paths: Part<u16>,
    journeys: Part<Journey>,
    /// Breakdowns of freed records, reused for new ones.
    spare_journeys: Vec<Journey>,
    free: Vec<u32>,
}

impl Records {
    /// Returns the heap size in bytes.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let parts = self.causes.heap_bytes() + self.notices.heap_bytes() + self.trails.0.heap_bytes();
        let parts = parts + self.echoes.0.heap_bytes() + self.path_headers.0.heap_bytes() + self.paths.0.heap_bytes();
        let journeys = self.journeys.0.iter().flatten().chain(&self.spare_journeys);
        let journeys = journeys.map(Journey::heap_bytes).sum::<u64>();
        let parts = parts + self.journeys.0.heap_bytes() + self.spare_journeys.heap_bytes() + journeys;
        self.pauses.heap_bytes() + self.telemetry.heap_bytes() + parts + self.free.heap_bytes()
    }

    /// Stores a record.
    pub fn insert(&mut self, record: Record) -> RecordRef {
        let mut reference = self.insert_empty();
        let (slot, records) = (reference.0 as usize, self.pauses.len());
        self.pauses[slot] = record.pauses;
        if record.telemetry.len > 0 {
            *self.telemetry_mut(&mut reference) = record.telemetry;
        }
        self.causes.set(slot, records, record.causes);
        self.notices.set(slot, records, record.notice);
        self.trails.set(slot, records, record.trail);
        self.echoes.set(slot, records, record.echo);
        self.path_headers.set(slot, records, record.path_header);
        self.paths.set(slot, records, record.path);
        self.journeys.set(slot, records, record.journey);
        reference
    }

    fn insert_empty(&mut self) -> RecordRef {
        let Some(slot) = self.free.pop() else {
            self.pauses.push(PauseLog::default());
            return RecordRef(self.pauses.len() as u32 - 1);
        };
        self.pauses[slot as usize] = PauseLog::default();
        if let Some(telemetry) = self.telemetry.get_mut(slot as usize) {
            telemetry.len = 0;
        }
        RecordRef(slot)
    }

    fn clear_parts(&mut self, slot: usize) {
        self.causes.clear(slot);
        self.notices.clear(slot);
        self.trails.clear(slot);
        self.echoes.clear(slot);
        self.path_headers.clear(slot);
        self.paths.clear(slot);
        if !self.journeys.0.is_empty() {
            let journey = self.take_journey(RecordRef(slot as u32));
            self.recycle(journey);
        }
    }

    /// Reuses a packet's record for its answer. The answer echoes only the telemetry.
    pub(crate) fn reuse_for_answer(&mut self, reference: RecordRef) -> RecordRef {
        if let Some(pauses) = self.pauses.get_mut(reference.0 as usize) {
            *pauses = PauseLog::default();
            self.clear_parts(reference.0 as usize);
        }
        reference
    }

    #[inline]
    fn slot(&mut self, reference: &mut RecordRef) -> usize {
        if !reference.is_some() {
            *reference = self.insert_empty();
        }
        reference.0 as usize
    }

    /// Returns the record's pauses. Creates the record if there is none.
    pub fn pauses_mut(&mut self, reference: &mut RecordRef) -> &mut PauseLog {
        let slot = self.slot(reference);
        &mut self.pauses[slot]
    }

    /// Returns the record's telemetry. Creates the record if there is none.
    #[inline(always)]
    pub fn telemetry_mut(&mut self, reference: &mut RecordRef) -> &mut Telemetry {
        let slot = self.slot(reference);
        if self.telemetry.len() <= slot {
            self.add_telemetry();
        }
        &mut self.telemetry[slot]
    }

    /// Makes room for the telemetry of all records.
    #[cold]
    fn add_telemetry(&mut self) {
        self.telemetry.resize(self.pauses.len(), Telemetry::default());
    }

    /// Returns the record's trail. Creates the record if there is none.
    pub fn trail_mut(&mut self, reference: &mut RecordRef) -> &mut Trail {
        let slot = self.slot(reference);
        self.trails.at(slot, self.pauses.len()).get_or_insert_default()
    }

    /// Returns the record's echo. Creates the record if there is none.
    pub fn echo_mut(&mut self, reference: &mut RecordRef) -> &mut Echo {
        let slot = self.slot(reference);
        self.echoes.at(slot, self.pauses.len()).get_or_insert_default()
    }

    /// Returns the record's load balancing header. Creates the record if there is none.
    pub fn path_header_mut(&mut self, reference: &mut RecordRef) -> &mut PathHeader {
        let slot = self.slot(reference);
        self.path_headers.at(slot, self.pauses.len()).get_or_insert_default()
    }

    /// Returns the record's load balancing header.
    pub fn path_header(&self, reference: RecordRef) -> Option<&PathHeader> {
        self.path_headers.get(reference)
    }

    /// Sets the path number of a packet. Creates the record if there is none.
    pub fn set_path(&mut self, reference: &mut RecordRef, path: u16) {
        let slot = self.slot(reference);
        *self.paths.at(slot, self.pauses.len()) = Some(path);
    }

    /// Returns the breakdown of the packet's time.
    pub fn journey(&self, reference: RecordRef) -> Option<&Journey> {
        self.journeys.get(reference)
    }

    /// Returns the breakdown of the packet's time, mutable.
    pub(crate) fn journey_mut(&mut self, RecordRef(slot): RecordRef) -> Option<&mut Journey> {
        self.journeys.0.get_mut(slot as usize)?.as_mut()
    }

    /// Removes the breakdown of the packet's time from the record.
    pub(crate) fn take_journey(&mut self, RecordRef(slot): RecordRef) -> Option<Journey> {
        self.journeys.0.get_mut(slot as usize)?.take()
    }

    /// Starts the breakdown of a packet's time at `start`. Creates the record if there is none.
    pub(crate) fn start_journey(&mut self, reference: &mut RecordRef, start: Time) -> &mut Journey {
        let slot = self.slot(reference);
        let spare = self.spare_journeys.pop();
        let place = self.journeys.at(slot, self.pauses.len());
        *place = spare;
        let journey = place.get_or_insert_with(|| Journey::new(start));
        journey.restart(start);
        journey
    }

    /// Keeps a breakdown of a packet's time for [`Records::start_journey`]; at most one per record.
    pub(crate) fn recycle(&mut self, journey: Option<Journey>) {
        if self.spare_journeys.len() < self.pauses.len() {
            self.spare_journeys.extend(journey);
        }
    }

    /// Stores the breakdown of a packet's time. Creates the record if there is none.
    pub(crate) fn set_journey(&mut self, reference: &mut RecordRef, journey: Journey) {
        let slot = self.slot(reference);
        *self.journeys.at(slot, self.pauses.len()) = Some(journey);
    }

    /// Returns the path number that the packet's host chose.
    pub fn path(&self, reference: RecordRef) -> Option<u16> {
        self.paths.get(reference).copied()
    }

    /// Returns the record's pauses.
    pub fn pauses(&self, reference: RecordRef) -> Option<&PauseLog> {
        self.pauses.get(reference.0 as usize)
    }

    /// Prefetches the record's pauses.
    #[inline(always)]
    pub(crate) fn prefetch_pauses(&self, reference: RecordRef) {
        if let Some(pauses) = self.pauses(reference) {
            prefetch(pauses);
        }
    }

    /// Prefetches the record's telemetry.
    #[inline(always)]
    pub(crate) fn prefetch_telemetry(&self, reference: RecordRef) {
        if let Some(telemetry) = self.telemetry.get(reference.0 as usize) {
            prefetch(telemetry);
        }
    }

    /// Prefetches the breakdown of the packet's time.
    #[inline]
    pub(crate) fn prefetch_journey(&self, reference: RecordRef) {
        if let Some(journey) = self.journeys.0.get(reference.0 as usize) {
            prefetch(journey);
        }
    }

    /// Returns true if packets are stamped.
    #[inline(always)]
    pub(crate) fn have_telemetry(&self) -> bool {
        !self.telemetry.is_empty()
    }

    /// Returns the record's telemetry; `None` without stamps.
    pub fn telemetry(&self, reference: RecordRef) -> Option<&Telemetry> {
        self.telemetry.get(reference.0 as usize).filter(|telemetry| telemetry.len > 0)
    }

    /// Returns the causes of a PFC frame.
    pub fn causes(&self, reference: RecordRef) -> Option<&Causes> {
        self.causes.get(reference)
    }

    /// Returns the content of a notice.
    pub fn notice(&self, reference: RecordRef) -> Option<&Notice> {
        self.notices.get(reference)
    }

    /// Returns the content of a notice, mutable.
    pub fn notice_mut(&mut self, reference: RecordRef) -> Option<&mut Notice> {
        self.notices.get_mut(reference)
    }

    /// Returns the packet's trail.
    pub fn trail(&self, reference: RecordRef) -> Option<&Trail> {
        self.trails.get(reference)
    }

    /// Returns the echo of an ACK, NACK or CNP.
    pub fn echo(&self, reference: RecordRef) -> Option<&Echo> {
        self.echoes.get(reference)
    }

    /// Frees the record of a frame that was consumed or dropped.
    pub fn free(&mut self, reference: RecordRef) {
        if reference.is_some() {
            self.clear_parts(reference.0 as usize);
            self.free.push(reference.0);
        }
    }

    /// Removes the record of a frame that leaves for another shard.
    pub fn take(&mut self, reference: RecordRef) -> Option<Record> {
        let record = Record { journey: self.take_journey(reference), ..self.copy(reference)? };
        self.free(reference);
        Some(record)
    }

    /// Returns a copy of the record, without the breakdown of time.
    pub fn copy(&self, reference: RecordRef) -> Option<Record> {
        Some(Record {
            pauses: *self.pauses(reference)?,
            telemetry: self.telemetry(reference).copied().unwrap_or_default(),
            causes: self.causes(reference).copied(),
            notice: self.notice(reference).copied(),
            trail: self.trail(reference).copied(),
            echo: self.echo(reference).copied(),
            path_header: self.path_header(reference).copied(),
            path: self.path(reference),
            journey: None,
        })
    }

    /// Returns the number of records in use.
    pub fn in_use(&self) -> usize {
        self.pauses.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests;
