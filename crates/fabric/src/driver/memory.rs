//! Memory use of a simulation, by kind of object.

use backwater_engine::memory::Share;
use std::ops::AddAssign;

/// Memory use of a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Hosts and switches with names and routes, without ports and flows.
    pub nodes: Share,
    /// Ports with their wires, queues, gates and per-port state of mechanisms.
    pub ports: Share,
    /// Flows at their peak number, and connections that have carried a message: specifications,
    /// queue pairs, receivers.
    pub flows: Share,
    /// Frames at their peak number, in queues and on wires.
    pub frames: Share,
    /// Pending events.
    pub events: u64,
    /// Address space reserved for more frames. It takes no memory until it is used, and is not part
    /// of the total.
    pub reserved: u64,
}

impl Memory {
    /// Returns the total in bytes.
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
