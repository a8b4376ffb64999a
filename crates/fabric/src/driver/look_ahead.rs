//! Look-ahead: prefetches the memory that the next events need.

use crate::driver::keys::{Kind, id_of, kind_of};
use crate::driver::shard::{Handler, ShardIo};
use crate::driver::wire::{InFlight, Wire, wire_index};
use backwater_engine::prefetch::prefetch;

/// Minimum number of ports in a shard for prefetching. With fewer ports, prefetching costs more
/// time than it saves: it lengthens runs with 128 hosts and 384 or 768 ports by 3 to 30 %
/// (`benches/`).
const LOOK_AHEAD_FROM: usize = 2048;

impl Handler<'_> {
    /// Returns true if the shard has enough ports for prefetching to save time.
    pub(super) fn looks_ahead(&self) -> bool {
        self.env.sink.io.wires.len() >= LOOK_AHEAD_FROM
    }

    /// Prefetches the memory that the next events need, in steps. Each step uses memory that an
    /// earlier step prefetched, close enough to the event that this memory stays in the cache.
    #[inline]
    pub(super) fn look_ahead(&self) {
        let (fabric, frames) = (self.env.fabric, &*self.env.frames);
        let ShardIo { wires, in_flight, .. } = &*self.env.sink.io;
        if let Some((_, wire)) = self.upcoming(10) {
            prefetch(wire);
        }
        if let Some((kind, wire)) = self.upcoming(8) {
            prefetch(&self.nodes[wire.node as usize]);
            if let Kind::Arrive = kind {
                wire.frames.prefetch_front(in_flight);
            }
        }
        if let Some((kind, wire)) = self.upcoming(6) {
            let node = &self.nodes[wire.node as usize];
            match (kind, wire.frames.front(in_flight)) {
                (Kind::Arrive, Some(InFlight(frame))) => node.prefetch_arrival(wire.ix, frame, fabric),
                _ => node.prefetch_turn(wire.ix),
            }
        }
        if let Some((kind, wire)) = self.upcoming(4) {
            let node = &self.nodes[wire.node as usize];
            let port = match (kind, wire.frames.front(in_flight)) {
                (Kind::Arrive, Some(InFlight(frame))) => node.prefetch_way(frame, fabric, frames),
                _ => Some(node.prefetch_departure(wire.ix)),
            };
            if let Some(next_wire) = port.and_then(|port| port.wires.peer_wire) {
                prefetch(&wires[wire_index(next_wire) as usize]);
            }
        }
        if let Some((Kind::Port, wire)) = self.upcoming(2) {
            let port = self.nodes[wire.node as usize].prefetch_frame(wire.ix, frames);
            if let Some(next_wire) = port.wires.peer_wire {
                wires[wire_index(next_wire) as usize].frames.prefetch_push(in_flight);
            }
        }
    }

    /// Returns the kind and the wire of the event `steps` after the next, if it is an arrival or a
    /// port event.
    #[inline]
    fn upcoming(&self, steps: usize) -> Option<(Kind, &Wire)> {
        let ShardIo { events, wires, .. } = &*self.env.sink.io;
        let key = events.ahead(steps)?;
        let kind = kind_of(key);
        matches!(kind, Kind::Arrive | Kind::Port).then(|| (kind, &wires[id_of(key) as usize]))
    }
}
