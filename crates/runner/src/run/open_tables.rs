//! The tables that are open while a run goes on.

use crate::disk::FileSum;
use crate::tables::{
    BalancingRow, BufferRow, EgressRow, EventRow, FlowRow, FullQueueRow, GoodputRow, HeadroomRow, IngressRow, PathRow,
    PauseRow, PortRow, QueueRow, SignalRow, StopRow, TableError, TableWriter, WaitRow,
};
use std::collections::BTreeMap;
use std::path::Path;

/// The tables that are written while a run goes on.
pub(super) struct Tables {
    pub(super) flows: TableWriter<FlowRow>,
    pub(super) waits: TableWriter<WaitRow>,
    pub(super) signals: TableWriter<SignalRow>,
    pub(super) events: TableWriter<EventRow>,
    pub(super) pauses: TableWriter<PauseRow>,
    pub(super) full_queues: TableWriter<FullQueueRow>,
    pub(super) queues: TableWriter<QueueRow>,
    pub(super) egress: TableWriter<EgressRow>,
    pub(super) ingress: TableWriter<IngressRow>,
    pub(super) ports: TableWriter<PortRow>,
    pub(super) buffers: TableWriter<BufferRow>,
    pub(super) stops: TableWriter<StopRow>,
    pub(super) headroom: TableWriter<HeadroomRow>,
    pub(super) goodput: TableWriter<GoodputRow>,
    pub(super) paths: TableWriter<PathRow>,
    pub(super) balancing: TableWriter<BalancingRow>,
}

impl Tables {
    /// Tables in `directory`, with the names of the nodes and of everything.
    pub(super) fn create(
        directory: &Path,
        nodes: &[String],
        names: &[String],
        metadata: &[(String, String)],
    ) -> Result<Tables, TableError> {
        Ok(Tables {
            flows: TableWriter::create(directory, "flows", names, metadata)?,
            waits: TableWriter::create(directory, "waits", names, metadata)?,
            signals: TableWriter::create(directory, "signals", names, metadata)?,
            events: TableWriter::create(directory, "events", names, metadata)?,
            pauses: TableWriter::create(directory, "pauses", nodes, metadata)?,
            full_queues: TableWriter::create(directory, "full_queues", nodes, metadata)?,
            queues: TableWriter::create(directory, "queues", nodes, metadata)?,
            egress: TableWriter::create(directory, "egress", nodes, metadata)?,
            ingress: TableWriter::create(directory, "ingress", nodes, metadata)?,
            ports: TableWriter::create(directory, "ports", nodes, metadata)?,
            buffers: TableWriter::create(directory, "buffers", nodes, metadata)?,
            stops: TableWriter::create(directory, "stops", nodes, metadata)?,
            headroom: TableWriter::create(directory, "headroom", nodes, metadata)?,
            goodput: TableWriter::create(directory, "goodput", names, metadata)?,
            paths: TableWriter::create(directory, "paths", nodes, metadata)?,
            balancing: TableWriter::create(directory, "balancing", names, metadata)?,
        })
    }

    /// Why one of them cannot be written, if so.
    pub(super) fn failure(&self) -> Option<String> {
        let Tables { flows, waits, signals, events, pauses, full_queues, queues, egress, ingress, ports, .. } = self;
        let Tables { buffers, stops, headroom, goodput, paths, balancing, .. } = self;
        let first =
            flows.failure().or_else(|| waits.failure()).or_else(|| signals.failure()).or_else(|| events.failure());
        let second = first.or_else(|| pauses.failure()).or_else(|| full_queues.failure()).or_else(|| queues.failure());
        let second = second.or_else(|| egress.failure()).or_else(|| ingress.failure());
        let third = second.or_else(|| ports.failure()).or_else(|| buffers.failure()).or_else(|| stops.failure());
        let fourth = third.or_else(|| headroom.failure()).or_else(|| goodput.failure());
        fourth.or_else(|| paths.failure()).or_else(|| balancing.failure())
    }

    /// Completes them; their files.
    pub(super) fn finish(self) -> Result<BTreeMap<String, FileSum>, TableError> {
        Ok(BTreeMap::from([
            self.flows.finish()?,
            self.waits.finish()?,
            self.signals.finish()?,
            self.events.finish()?,
            self.pauses.finish()?,
            self.full_queues.finish()?,
            self.queues.finish()?,
            self.egress.finish()?,
            self.ingress.finish()?,
            self.ports.finish()?,
            self.buffers.finish()?,
            self.stops.finish()?,
            self.headroom.finish()?,
            self.goodput.finish()?,
            self.paths.finish()?,
            self.balancing.finish()?,
        ]))
    }
}
