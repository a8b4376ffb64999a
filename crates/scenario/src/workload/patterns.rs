//! Permutation and all-to-all.

use super::part::{Part, Template};
use super::schedule::{self, Schedule};
use super::sizes::bytes;
use super::{AllToAllConfig, PermutationConfig};
use backwater_engine::random::Stream;
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::spec::FlowSpec;
use std::sync::Arc;

impl PermutationConfig {
    pub(super) fn generate(&self, part: &mut Part) -> Option<()> {
        let hosts = part.hosts(".hosts", self.hosts.as_ref());
        let sizes = self.sizes.as_ref().map(|sizes| part.sizes(".sizes", sizes));
        let hosts = hosts?;
        let count = hosts.len();
        if count < 2 {
            part.refuse(".hosts", format!("a permutation needs at least 2 hosts, there is {count}"));
        } else if let Some(shift) = self.shift.filter(|&shift| (shift as usize).is_multiple_of(count)) {
            part.refuse(".shift", format!("is {shift}, which sends every one of the {count} hosts to itself"));
        }
        part.sound()?;
        let order = match self.shift {
            Some(shift) => (0..count).map(|i| (i + shift as usize) % count).collect(),
            None => derangement(count, &mut part.stream("permutation")),
        };
        let sizes = sizes.flatten();
        for (i, &source) in hosts.iter().enumerate() {
            let draw =
                |(_, sizes): &(_, super::sizes::Distribution)| sizes.sample(&mut part.host_stream("sizes", source));
            let bytes = sizes.as_ref().map_or(FlowSpec::ENDLESS, draw);
            part.push(part.flow(source, hosts[order[i]], bytes, part.window.start));
        }
        let size =
            sizes.map_or("endless".into(), |(label, sizes)| format!("sizes {label}, mean {}", bytes(sizes.mean())));
        part.note(format!("a permutation of {count} hosts, {size}"));
        Some(())
    }
}

/// A uniformly random permutation of `0..count` without a fixed point; `count` is at least 2. One in e tries succeeds.
fn derangement(count: usize, stream: &mut Stream) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    loop {
        stream.shuffle(&mut order);
        if order.iter().enumerate().all(|(i, target)| i != *target) {
            return order;
        }
    }
}

impl AllToAllConfig {
    pub(super) fn generate(&self, part: &mut Part) -> Option<()> {
        let hosts = part.hosts(".hosts", self.hosts.as_ref());
        if self.bytes.get() == 0 {
            part.refuse(".bytes", "is 0 B, must be at least 1 B".into());
        }
        let hosts = hosts?;
        let count = hosts.len();
        if count < 2 {
            part.refuse(".hosts", format!("all-to-all needs at least 2 hosts, there is {count}"));
        }
        part.check_count(count as f64 * (count as f64 - 1.0));
        part.sound()?;
        let (template, bytes) = (part.template(), self.bytes.get());
        part.schedule(AllToAll { template, hosts, bytes }, count as f64 * (count as f64 - 1.0));
        part.note(format!("{} flows of {} among {count} hosts", count * (count - 1), self.bytes));
        Some(())
    }
}

/// One flow for every pair of hosts, all at once.
#[derive(Debug)]
struct AllToAll {
    template: Template,
    hosts: Vec<NodeId>,
    bytes: u64,
}

impl Schedule for AllToAll {
    fn stream(self: Arc<Self>) -> schedule::Stream {
        let count = self.hosts.len();
        Box::new((count..count * count).map(move |index| {
            let (step, source) = (index / count, index % count);
            let target = self.hosts[(source + step) % count];
            self.template.flow(self.hosts[source], target, self.bytes, self.template.window.start)
        }))
    }
}
