//! What a simulation takes of memory, by what takes it.

use backwater_engine::memory::Share;
use std::ops::AddAssign;

/// What a simulation takes of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Hosts and switches without their ports and flows, with what is known of them: names, routes.
    pub nodes: Share,
    /// Ports with their wires, queues, gates and what mechanisms keep for each of them.
    pub ports: Share,
    /// Flows active at once: what they are, queue pairs, receivers.
    pub flows: Share,
    /// Frames in flight at once, in queues and on wires.
    pub frames: Share,
    /// The set of pending events.
    pub events: u64,
    /// Addresses set aside for more frames: they take no memory until they are used, and are not part of the total.
    pub reserved: u64,
}

impl Memory {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.nodes.bytes + self.ports.bytes + self.flows.bytes + self.frames.bytes + self.events
    }
}

impl AddAssign for Memory {
    fn add_assign(&mut self, other: Memory) {
        self.nodes += other.nodes;
        self.ports += other.ports;
        self.flows += other.flows;
        self.frames += other.frames;
        self.events += other.events;
        self.reserved += other.reserved;
    }
}
