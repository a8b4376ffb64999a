//! Flows in order of start, generated on demand.

use backwater_engine::{Time, random};
use backwater_fabric::ids::{Class, NodeId};
use backwater_fabric::network::spec::FlowSpec;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Debug;
use std::iter::Peekable;
use std::sync::Arc;

/// A sequence of flows.
pub(super) type Stream = Box<dyn Iterator<Item = FlowSpec> + Send>;

/// Generator of the flows of one part of the traffic. Every call returns the same flows.
pub(super) trait Schedule: Debug + Send + Sync {
    /// Returns the flows in order of start. Simultaneous flows are in order of generation.
    fn stream(self: Arc<Self>) -> Stream;

    /// Returns, for an incast whose senders are drawn uniformly from a set, each possible receiver
    /// with the set of its senders.
    fn fans(&self) -> Box<dyn Iterator<Item = (NodeId, Vec<NodeId>)> + '_> {
        Box::new(std::iter::empty())
    }

    /// Returns true if the flows are numbered ([`FlowSpec::number`]). The flows of other schedules
    /// are numbered at their sources, in order of start.
    fn is_numbered(&self) -> bool {
        false
    }

    /// Returns the flows, if they are listed in memory.
    fn listed(&self) -> &[FlowSpec] {
        &[]
    }
}

/// Flows listed in memory, in order of start.
#[derive(Debug)]
pub(super) struct Listed(Vec<FlowSpec>);

impl Listed {
    /// Sorts `flows` by start. Numbers the flows with the same ends.
    pub(super) fn new(mut flows: Vec<FlowSpec>) -> Listed {
        flows.sort_by_key(|flow| flow.start);
        let mut counts: FxHashMap<(NodeId, NodeId), u32> = FxHashMap::default();
        for flow in &mut flows {
            flow.number = next(counts.entry((flow.src, flow.dst)).or_default());
        }
        Listed(flows)
    }
}

/// Returns `count`, and increments it.
fn next(count: &mut u32) -> u32 {
    let number = *count;
    *count += 1;
    number
}

impl Schedule for Listed {
    fn stream(self: Arc<Self>) -> Stream {
        Box::new((0..self.0.len()).map(move |index| self.0[index].clone()))
    }

    fn listed(&self) -> &[FlowSpec] {
        &self.0
    }
}

/// Flows that are numbered at their sources, in order of start.
#[derive(Debug)]
pub(super) struct Numbered(pub(super) Arc<dyn Schedule>);

impl Schedule for Numbered {
    fn stream(self: Arc<Self>) -> Stream {
        let mut counts: FxHashMap<NodeId, u32> = FxHashMap::default();
        Box::new(self.0.clone().stream().map(move |flow| {
            let number = next(counts.entry(flow.src).or_default());
            FlowSpec { number, ..flow }
        }))
    }

    fn fans(&self) -> Box<dyn Iterator<Item = (NodeId, Vec<NodeId>)> + '_> {
        self.0.fans()
    }
}

/// Flows that draw their classes.
#[derive(Debug)]
pub(super) struct InClasses {
    pub(super) schedule: Arc<dyn Schedule>,
    pub(super) classes: Vec<Class>,
    pub(super) draws: random::Stream,
}

impl Schedule for InClasses {
    fn stream(self: Arc<Self>) -> Stream {
        let (flows, mut draws) = (self.schedule.clone().stream(), self.draws.clone());
        Box::new(flows.map(move |flow| {
            let class = draw(&self.classes, &mut draws).unwrap_or(flow.class);
            FlowSpec { class, ..flow }
        }))
    }

    fn fans(&self) -> Box<dyn Iterator<Item = (NodeId, Vec<NodeId>)> + '_> {
        self.schedule.fans()
    }
}

/// Draws one of several classes; returns `None` if there is only one.
pub(super) fn draw(classes: &[Class], draws: &mut random::Stream) -> Option<Class> {
    (classes.len() > 1).then(|| classes[draws.below(classes.len() as u64) as usize])
}

/// The flows of several parts, merged in order of start. Simultaneous flows are in the order of
/// their parts.
pub struct Flows {
    parts: Vec<Peekable<Stream>>,
    /// Start of the next flow of each part.
    next: BinaryHeap<Reverse<(Time, usize)>>,
}

impl Flows {
    pub(super) fn new(parts: impl Iterator<Item = Stream>) -> Flows {
        let mut flows = Flows { parts: parts.map(Iterator::peekable).collect(), next: BinaryHeap::new() };
        (0..flows.parts.len()).for_each(|part| flows.queue_next(part));
        flows
    }

    fn queue_next(&mut self, part: usize) {
        self.next.extend(self.parts[part].peek().map(|flow| Reverse((flow.start, part))));
    }
}

impl Iterator for Flows {
    type Item = FlowSpec;

    fn next(&mut self) -> Option<FlowSpec> {
        let Reverse((_, part)) = self.next.pop()?;
        let flow = self.parts[part].next();
        self.queue_next(part);
        flow
    }
}
