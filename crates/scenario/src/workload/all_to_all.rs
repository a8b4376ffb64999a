//! All-to-all: one flow for every pair of hosts.

use super::NodeList;
use super::config::{CommonConfig, TrafficOptions};
use super::part::{Part, Template};
use super::schedule::{self, Schedule};
use backwater_engine::Bytes;
use backwater_fabric::ids::NodeId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// All-to-all: every host sends one flow to every other host. All flows are ready at `start`.
///
/// The i-th host lists its flows from receiver i+1 on, in a circle, so that no receiver is
/// favoured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AllToAllConfig {
    /// Options that all kinds share.
    #[serde(flatten)]
    pub common: CommonConfig,
    /// Bytes of every flow.
    pub bytes: Bytes,
    /// Hosts that take part. Default: all.
    pub hosts: Option<NodeList>,
}

impl TrafficOptions for AllToAllConfig {
    fn generate(&self, part: &mut Part) -> Option<()> {
        let hosts = part.hosts(".hosts", self.hosts.as_ref());
        part.check_bytes(".bytes", self.bytes);
        let hosts = hosts?;
        let count = hosts.len();
        if count < 2 {
            part.error(".hosts", format!("all-to-all needs at least 2 hosts; found {count}"));
        }
        let flows = count as f64 * (count as f64 - 1.0);
        part.check_count(flows);
        part.sound()?;
        let (template, bytes) = (part.template(), self.bytes.get());
        part.offer(&hosts, part.wire(bytes) * (count as u128 - 1), part.window.start);
        part.schedule(AllToAll { template, hosts, bytes }, flows);
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
    /// Every pair of hosts has one flow.
    fn is_numbered(&self) -> bool {
        true
    }

    fn stream(self: Arc<Self>) -> schedule::Stream {
        let count = self.hosts.len();
        Box::new((count..count * count).map(move |index| {
            let (step, source) = (index / count, index % count);
            let target = self.hosts[(source + step) % count];
            self.template.flow(self.hosts[source], target, self.bytes, self.template.window.start)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_to_all_has_every_pair_once() {
        let made = flows("{ kind = \"all-to-all\", bytes = \"1 KB\", hosts = \"h[0-4]\" }", 1);
        let pairs: BTreeSet<_> = made.iter().map(|flow| (flow.src, flow.dst)).collect();
        assert!(made.len() == 20 && pairs.len() == 20 && pairs.iter().all(|(src, dst)| src != dst));
    }

    #[test]
    fn wrong_options_are_rejected() {
        check_rejected(&[(
            "{ kind = \"all-to-all\", bytes = \"0 B\", hosts = \"h1\" }",
            "traffic[0].bytes: must be at least 1 B\ntraffic[0].hosts: all-to-all needs at least 2 hosts; found 1",
        )]);
    }
}
