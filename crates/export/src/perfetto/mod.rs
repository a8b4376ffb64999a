//! Trace of a run for Perfetto: activity, queues and pauses of each port, and flows.
//!
//! Nodes and ports are plain tracks, with ports below nodes. Tracks of processes would lose their
//! order. Each PAUSE has an arrow from the PAUSE that caused it, or from the congested port.

mod proto;
mod tracks;

use self::tracks::{Event, Tracks, Uuid};
use crate::ExportError;
use crate::run::{Port, Run};
use crate::tables::{self, Rows};
use std::collections::BTreeMap;
use std::path::Path;

/// Interval in which a queue was paused.
#[derive(Clone, Copy, Debug)]
struct Pause {
    port: Port,
    queue: u16,
    start: u64,
    end: u64,
    root: Port,
    /// Port of the node that sent the PAUSE, and the pause of a queue at that port that caused the
    /// PAUSE, if known.
    via: Option<Port>,
    parent: Option<(u16, u64)>,
}

// Order of the tracks of a port.
const CONGESTED: usize = 0;
const WIRE: usize = 1;
const EVENTS: usize = 2;
const QUEUES: usize = 10;

/// Writes the run in `directory` to `output`. Returns the number of events.
///
/// # Errors
///
/// If a file cannot be read or written.
pub fn export(directory: &Path, output: &Path) -> Result<u64, ExportError> {
    let run = Run::with_flows(directory)?;
    let mut drawing = Drawing { tracks: Tracks::create(output)?, run: &run };
    drawing.pauses(&read_pauses(directory, &run)?)?;
    drawing.flows()?;
    if run.has_trace {
        tables::read(&directory.join("events.parquet"), None, |rows| drawing.events(rows))?;
    } else {
        let mut last = BTreeMap::new();
        tables::read(&directory.join("queues.parquet"), None, |rows| drawing.samples(rows, &mut last))?;
        for (port, at) in last {
            drawing.sample(port, at + run.sample_ps, 0)?;
        }
    }
    drawing.tracks.finish()
}

fn read_pauses(directory: &Path, run: &Run) -> Result<Vec<Pause>, ExportError> {
    let mut pauses = Vec::new();
    tables::read(&directory.join("pauses.parquet"), None, |rows| {
        let (node, peer, cause) = (rows.names("node")?, rows.names("peer")?, rows.names("cause_node")?);
        let (port, queue, via) = (rows.numbers("port")?, rows.numbers("queue")?, rows.numbers("via_port")?);
        let (start, end, cause_port) =
            (rows.numbers("start_ps")?, rows.numbers("end_ps")?, rows.numbers("cause_port")?);
        let (parent, parent_start) = (rows.numbers("parent_queue")?, rows.numbers("parent_start_ps")?);
        for row in 0..rows.len() {
            pauses.push(Pause {
                port: (run.number(node.at(row)), port.at(row) as u16),
                queue: queue.at(row) as u16,
                start: start.at(row),
                end: end.get(row).unwrap_or(run.end_ps).max(start.at(row)),
                root: (run.number(cause.at(row)), cause_port.at(row) as u16),
                via: via.get(row).map(|via| (run.number(peer.at(row)), via as u16)),
                parent: parent.get(row).map(|queue| queue as u16).zip(parent_start.get(row)),
            });
        }
        Ok(())
    })?;
    // Pauses of one queue do not overlap.
    pauses.sort_by_key(|pause| (pause.port, pause.queue, pause.start));
    Ok(pauses)
}

/// Trace in progress.
struct Drawing<'a> {
    tracks: Tracks,
    run: &'a Run,
}

impl Drawing<'_> {
    fn node(&mut self, node: u32) -> Result<Uuid, ExportError> {
        self.tracks.track(None, &self.run.names[node as usize], node as usize)
    }

    fn port(&mut self, port: Port) -> Result<Uuid, ExportError> {
        let node = self.node(port.0)?;
        let to = self.run.links.get(&port).map_or("nowhere", |link| &self.run.names[link.to.0 as usize]);
        self.tracks.track(Some(node), &format!("{} to {to}", self.run.port_name(port)), 100 + usize::from(port.1))
    }

    /// Returns a track of a port.
    fn of_port(&mut self, port: Port, name: &str, rank: usize) -> Result<Uuid, ExportError> {
        let port = self.port(port)?;
        self.tracks.track(Some(port), name, rank)
    }

    fn queue_counter(&mut self, port: Port, name: &str, queue: usize) -> Result<Uuid, ExportError> {
        let port = self.port(port)?;
        self.tracks.counter(port, name, QUEUES + 2 * queue + 1, "B")
    }

    /// Draws the pauses, each with an arrow from its cause.
    fn pauses(&mut self, pauses: &[Pause]) -> Result<(), ExportError> {
        let places: BTreeMap<(Port, u16, u64), usize> =
            pauses.iter().zip(0..).map(|(pause, place)| ((pause.port, pause.queue, pause.start), place)).collect();
        // An arrow has the number of the pause at its end, counted from 1. The number 0 means no
        // arrow.
        let mut from_pause: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        let mut from_port: BTreeMap<Port, Vec<(u64, u64, Port)>> = BTreeMap::new();
        for (pause, arrow) in pauses.iter().zip(1..) {
            let parent = pause.via.zip(pause.parent).and_then(|(via, (queue, since))| places.get(&(via, queue, since)));
            match parent {
                Some(parent) => from_pause.entry(*parent).or_default().push(arrow),
                None => {
                    let root = pause.via.filter(|_| pause.parent.is_none()).unwrap_or(pause.root);
                    from_port.entry(root).or_default().push((pause.start, arrow, pause.port));
                }
            }
        }
        for (port, mut causes) in from_port {
            causes.sort_unstable();
            let track = self.of_port(port, "congested", CONGESTED)?;
            for (at, arrow, paused) in causes {
                let name = format!("PAUSE of {}", self.run.port_name(paused));
                let event = Event { name, category: "pause", arrows_from: vec![arrow], ..Event::default() };
                self.tracks.instant(track, at, event)?;
            }
        }
        for (place, pause) in pauses.iter().enumerate() {
            let track = self.of_port(
                pause.port,
                &format!("queue {} paused", pause.queue),
                QUEUES + 2 * usize::from(pause.queue),
            )?;
            let event = Event {
                name: format!("PAUSE rooted at {}", self.run.port_name(pause.root)),
                category: "pause",
                details: vec![("root", self.run.port_name(pause.root))],
                arrows_from: from_pause.remove(&place).unwrap_or_default(),
                arrows_to: vec![place as u64 + 1],
            };
            self.tracks.slice(track, pause.start, pause.end, event)?;
        }
        Ok(())
    }

    /// Draws the flows below their source hosts, in as many rows as there are simultaneous flows.
    fn flows(&mut self) -> Result<(), ExportError> {
        let mut rows: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        let all = self.run.flows.iter();
        let mut messages: Vec<_> =
            all.flat_map(|(id, flow)| flow.messages.iter().map(move |message| (*id, flow, message))).collect();
        messages.sort_by_key(|(id, _, message)| (message.start_ps, *id, message.number));
        for (id, flow, message) in messages {
            let end = message.finish_ps.unwrap_or(self.run.end_ps).max(message.start_ps);
            let ends = rows.entry(flow.src).or_default();
            let row = ends.iter().position(|end| *end <= message.start_ps).unwrap_or(ends.len());
            if row == ends.len() {
                ends.push(end);
            } else {
                ends[row] = end;
            }
            let host = self.node(flow.src)?;
            let all = self.tracks.track(Some(host), "flows", 0)?;
            let track = self.tracks.track(Some(all), &format!("row {row}"), row)?;
            let bytes = message.bytes.map_or("endless".to_owned(), |bytes| bytes.to_string());
            let event = Event {
                name: format!("flow {} to {}", flow.name(id, message), self.run.names[flow.dst as usize]),
                category: "flow",
                details: vec![("bytes", bytes)],
                ..Event::default()
            };
            self.tracks.slice(track, message.start_ps, end, event)?;
        }
        Ok(())
    }

    /// Draws traced events.
    fn events(&mut self, rows: &Rows<'_>) -> Result<(), ExportError> {
        let (event, node, frame, reason) =
            (rows.names("event")?, rows.names("node")?, rows.names("frame")?, rows.names("reason")?);
        let (time, port, flow, psn) =
            (rows.numbers("time_ps")?, rows.numbers("port")?, rows.numbers("flow")?, rows.numbers("psn")?);
        let (queue, until, bytes) = (rows.numbers("queue")?, rows.numbers("until_ps")?, rows.numbers("queue_bytes")?);
        let (rate, in_flight, window) =
            (rows.numbers("rate_bps")?, rows.numbers("in_flight_bytes")?, rows.numbers("window_bytes")?);
        let (class, size) = (rows.numbers("class")?, rows.numbers("frame_bytes")?);
        for row in 0..rows.len() {
            let (at, node) = (time.at(row), self.run.number(node.at(row)));
            let place: Port = (node, port.at(row) as u16);
            let of_flow = flow.get(row).map(|flow| format!(" of flow {flow}")).unwrap_or_default();
            match event.at(row) {
                "sent" => {
                    let track = self.of_port(place, "wire", WIRE)?;
                    let number = psn.get(row).map(|psn| format!(" {psn}")).unwrap_or_default();
                    let details = vec![("class", class.at(row).to_string()), ("bytes", size.at(row).to_string())];
                    let name = format!("{}{number}{of_flow}", frame.at(row));
                    self.tracks.slice(
                        track,
                        at,
                        until.at(row),
                        Event { name, category: "frame", details, ..Event::default() },
                    )?;
                }
                "enqueue" | "dequeue" => {
                    let queue = queue.at(row) as usize;
                    let track = self.queue_counter(place, &format!("queue {queue} bytes"), queue)?;
                    self.tracks.count(track, at, bytes.at(row))?;
                }
                kind @ ("mark" | "drop" | "link-down" | "link-up") => {
                    let track = self.of_port(place, "events", EVENTS)?;
                    let why = reason.get(row).map(|reason| format!(": {reason}")).unwrap_or_default();
                    let name = format!("{kind}{of_flow}{why}");
                    self.tracks.instant(track, at, Event { name, category: "event", ..Event::default() })?;
                }
                "rate" => self.count_of_flow(node, flow.at(row), ("rate", "bit/s"), at, rate.at(row))?,
                "sender" => {
                    self.count_of_flow(node, flow.at(row), ("in flight", "B"), at, in_flight.at(row))?;
                    if let Some(window) = window.get(row) {
                        self.count_of_flow(node, flow.at(row), ("window", "B"), at, window)?;
                    }
                }
                // Pauses and flows are drawn from their own tables.
                _ => {}
            }
        }
        Ok(())
    }

    fn count_of_flow(
        &mut self,
        host: u32,
        flow: u64,
        (what, unit): (&str, &str),
        at: u64,
        value: u64,
    ) -> Result<(), ExportError> {
        let host = self.node(host)?;
        let senders = self.tracks.track(Some(host), "senders", 1)?;
        let of_flow = self.tracks.track(Some(senders), &format!("flow {flow}"), flow as usize)?;
        let track = self.tracks.counter(of_flow, what, 0, unit)?;
        self.tracks.count(track, at, value)
    }

    /// Draws samples of queue lengths. A port without a sample was empty; `last` holds the last
    /// sample of each port.
    fn samples(&mut self, rows: &Rows<'_>, last: &mut BTreeMap<Port, u64>) -> Result<(), ExportError> {
        let (time, node, port, bytes) =
            (rows.numbers("time_ps")?, rows.names("node")?, rows.numbers("port")?, rows.numbers("bytes")?);
        for row in 0..rows.len() {
            let (at, place) = (time.at(row), (self.run.number(node.at(row)), port.at(row) as u16));
            if let Some(empty) =
                last.insert(place, at).map(|last| last + self.run.sample_ps).filter(|empty| *empty < at)
            {
                self.sample(place, empty, 0)?;
            }
            self.sample(place, at, bytes.at(row))?;
        }
        Ok(())
    }

    fn sample(&mut self, port: Port, at: u64, bytes: u64) -> Result<(), ExportError> {
        let track = self.queue_counter(port, "bytes in queues", 0)?;
        self.tracks.count(track, at, bytes)
    }
}
