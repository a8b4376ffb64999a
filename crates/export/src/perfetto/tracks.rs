//! Tracks and their events, in the format of the file.

use super::proto::{
    ChildOrdering, CounterDescriptor, DebugAnnotation, EventType, Trace, TracePacket, TrackDescriptor, TrackEvent,
};
use crate::ExportError;
use prost::Message;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Number of the only sequence of packets.
const SEQUENCE: u32 = 1;

/// Picoseconds per tick of the trace's clock.
const TICK: u64 = 1000;

/// Identifier of a track.
pub(super) type Uuid = u64;

/// Trace file in progress.
pub(super) struct Tracks {
    file: BufWriter<File>,
    path: PathBuf,
    /// Tracks by parent and name.
    known: BTreeMap<(Option<Uuid>, String), Uuid>,
    pub(super) events: u64,
}

/// Event on a track.
#[derive(Default)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) category: &'static str,
    pub(super) details: Vec<(&'static str, String)>,
    /// Arrows that begin and end at the event.
    pub(super) arrows_from: Vec<u64>,
    pub(super) arrows_to: Vec<u64>,
}

impl Tracks {
    pub(super) fn create(path: &Path) -> Result<Tracks, ExportError> {
        let fail = |cause| ExportError::Write { path: path.into(), cause };
        let file = BufWriter::new(File::create(path).map_err(fail)?);
        Ok(Tracks { file, path: path.into(), known: BTreeMap::new(), events: 0 })
    }

    /// Returns the track `name` below `parent`, and creates it if needed. `rank` is the position of
    /// the track.
    pub(super) fn track(&mut self, parent: Option<Uuid>, name: &str, rank: usize) -> Result<Uuid, ExportError> {
        self.make(parent, name, rank, None)
    }

    /// Returns a counter track with values in `unit`.
    pub(super) fn counter(&mut self, parent: Uuid, name: &str, rank: usize, unit: &str) -> Result<Uuid, ExportError> {
        self.make(Some(parent), name, rank, Some(CounterDescriptor { unit_name: unit.to_owned() }))
    }

    fn make(
        &mut self,
        parent: Option<Uuid>,
        name: &str,
        rank: usize,
        counter: Option<CounterDescriptor>,
    ) -> Result<Uuid, ExportError> {
        let key = (parent, name.to_owned());
        if let Some(uuid) = self.known.get(&key) {
            return Ok(*uuid);
        }
        let uuid = self.known.len() as Uuid + 1;
        self.known.insert(key, uuid);
        let descriptor = TrackDescriptor {
            uuid,
            name: name.to_owned(),
            parent_uuid: parent,
            counter,
            child_ordering: Some(ChildOrdering::Explicit.into()),
            sibling_order_rank: Some(rank as i32),
        };
        self.write(TracePacket {
            trusted_packet_sequence_id: SEQUENCE,
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        })?;
        Ok(uuid)
    }

    /// Adds a slice from `start` to `end`, in ps. It must be after all earlier slices of the track.
    pub(super) fn slice(&mut self, track: Uuid, start: u64, end: u64, event: Event) -> Result<(), ExportError> {
        self.happen(track, EventType::SliceBegin, start, Some(event))?;
        self.happen(track, EventType::SliceEnd, end, None)
    }

    /// Adds an event without a duration.
    pub(super) fn instant(&mut self, track: Uuid, at: u64, event: Event) -> Result<(), ExportError> {
        self.happen(track, EventType::Instant, at, Some(event))
    }

    /// Adds a new value of a counter.
    pub(super) fn count(&mut self, track: Uuid, at: u64, value: u64) -> Result<(), ExportError> {
        let counter_value = Some(i64::try_from(value).unwrap_or(i64::MAX));
        self.add(at, TrackEvent { counter_value, ..Self::event(track, EventType::Counter, at) })
    }

    /// Returns an event with its picoseconds as an annotation, because the clock has whole
    /// nanoseconds.
    fn event(track: Uuid, kind: EventType, at: u64) -> TrackEvent {
        let ps = DebugAnnotation { name: "ps".to_owned(), uint_value: Some(at), string_value: None };
        TrackEvent { event_type: kind.into(), track_uuid: track, debug_annotations: vec![ps], ..TrackEvent::default() }
    }

    fn happen(&mut self, track: Uuid, kind: EventType, at: u64, event: Option<Event>) -> Result<(), ExportError> {
        let mut made = Self::event(track, kind, at);
        if let Some(Event { name, category, details, arrows_from, arrows_to }) = event {
            let detail = |(name, value): (&str, String)| DebugAnnotation {
                name: name.to_owned(),
                uint_value: None,
                string_value: Some(value),
            };
            made.debug_annotations.extend(details.into_iter().map(detail));
            made.categories = vec![category.to_owned()];
            (made.name, made.flow_ids, made.terminating_flow_ids) = (Some(name), arrows_from, arrows_to);
        }
        self.add(at, made)
    }

    fn add(&mut self, at: u64, event: TrackEvent) -> Result<(), ExportError> {
        self.events += 1;
        self.write(TracePacket {
            timestamp: Some(at / TICK),
            trusted_packet_sequence_id: SEQUENCE,
            track_event: Some(event),
            track_descriptor: None,
        })
    }

    fn write(&mut self, packet: TracePacket) -> Result<(), ExportError> {
        let bytes = Trace { packet: vec![packet] }.encode_to_vec();
        self.file.write_all(&bytes).map_err(|cause| ExportError::Write { path: self.path.clone(), cause })
    }

    /// Completes the file. Returns the number of events.
    pub(super) fn finish(mut self) -> Result<u64, ExportError> {
        self.file.flush().map_err(|cause| ExportError::Write { path: self.path.clone(), cause })?;
        Ok(self.events)
    }
}
