//! Look-ahead: asks the memory for what the next events will need.

use crate::driver::keys::{Kind, id_of, kind_of};
use crate::driver::shard::{Handler, Outside};
use crate::driver::wire::{Flying, Wire, wire_index};
use backwater_engine::prefetch::prefetch;

/// With fewer ports in a shard, asking costs more than it saves: 3 to 30 % at 128 hosts (`benches/`), which have 384 and 768 ports.
const LOOK_AHEAD_FROM: usize = 2048;

impl Handler<'_> {
    /// Whether it pays to look ahead.
    pub(super) fn looks_ahead(&self) -> bool {
        self.env.sink.outside.wires.len() >= LOOK_AHEAD_FROM
    }

    /// Asks the memory for what the next events will need, step by step: each answer is there before the next question needs it, and near
    /// enough to its event to stay.
    #[inline]
    pub(super) fn look_ahead(&self) {
        let (fabric, frames) = (self.env.fabric, &*self.env.frames);
        let Outside { wires, flying, .. } = &*self.env.sink.outside;
        if let Some((_, wire)) = self.upcoming(10) {
            prefetch(wire);
        }
        if let Some((kind, wire)) = self.upcoming(8) {
            prefetch(&self.nodes[wire.node as usize]);
            if let Kind::Arrive = kind {
                wire.frames.prefetch_front(flying);
            }
        }
        if let Some((kind, wire)) = self.upcoming(6) {
            let node = &self.nodes[wire.node as usize];
            match (kind, wire.frames.front(flying)) {
                (Kind::Arrive, Some(Flying(frame))) => node.prefetch_arrival(wire.ix, frame, fabric),
                _ => node.prefetch_turn(wire.ix),
            }
        }
        if let Some((kind, wire)) = self.upcoming(4) {
            let node = &self.nodes[wire.node as usize];
            let port = match (kind, wire.frames.front(flying)) {
                (Kind::Arrive, Some(Flying(frame))) => node.prefetch_way(frame, fabric, frames),
                _ => Some(node.prefetch_departure(wire.ix)),
            };
            if let Some(onward) = port.and_then(|port| port.place.peer_wire) {
                prefetch(&wires[wire_index(onward) as usize]);
            }
        }
        if let Some((Kind::Port, wire)) = self.upcoming(2) {
            let port = self.nodes[wire.node as usize].prefetch_frame(wire.ix, frames);
            if let Some(onward) = port.place.peer_wire {
                wires[wire_index(onward) as usize].frames.prefetch_push(flying);
            }
        }
    }

    /// The event that comes `steps` after the next, if it is an arrival or a port's turn, and the wire that ends at the port.
    #[inline]
    fn upcoming(&self, steps: usize) -> Option<(Kind, &Wire)> {
        let Outside { events, wires, .. } = &*self.env.sink.outside;
        let key = events.ahead(steps)?;
        let kind = kind_of(key);
        matches!(kind, Kind::Arrive | Kind::Port).then(|| (kind, &wires[id_of(key) as usize]))
    }
}
