//! Shuffle: the hosts of most racks send to the hosts of the other racks.

use super::SizesConfig;
use super::config::{CommonConfig, TrafficOptions};
use super::part::{Part, Template};
use super::schedule::{self, Schedule};
use super::sizes::{Distribution, bytes};
use crate::diagnostic::counted;
use backwater_engine::Duration;
use backwater_engine::random::Stream;
use backwater_fabric::ids::NodeId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Shuffle between racks: the hosts of (m-1)/m of the racks send to the hosts of the other racks.
/// All flows are ready at `start` (Pyrrha section V, Figure 7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct RackShuffleConfig {
    /// Options that all kinds share.
    #[serde(flatten)]
    pub common: CommonConfig,
    /// The number m: one rack in m receives, starting with the first rack. The other racks send.
    #[schemars(range(min = 2))]
    pub one_in: u32,
    /// Flows of each sending host, to random receiving hosts. Default 40 (Pyrrha section V).
    #[serde(default = "default_flows")]
    #[schemars(range(min = 1))]
    pub flows: u32,
    /// If true, all flows of a sender have the same receiver. Default false (the generator of
    /// Pyrrha's authors: true).
    #[serde(default)]
    pub one_receiver: bool,
    /// Time from the start of a sender's first flow to the start of its other flows. Default "0 s"
    /// (the generator of Pyrrha's authors: one round trip).
    #[serde(default)]
    pub later: Duration,
    /// Sizes of the flows. Pyrrha's flows have one BDP each.
    pub size: SizesConfig,
}

fn default_flows() -> u32 {
    40
}

impl TrafficOptions for RackShuffleConfig {
    fn generate(&self, part: &mut Part) -> Option<()> {
        let sizes = part.sizes(".size", &self.size);
        if self.one_in < 2 {
            part.error(".one_in", "must be at least 2, or no rack sends");
        }
        if self.flows == 0 {
            part.error(".flows", "must be at least 1");
        }
        part.sound()?;
        let (label, sizes) = sizes?;
        let scene = part.scene;
        let racks: BTreeSet<NodeId> = scene.graph.hosts().map(|host| scene.rack(host)).collect();
        let receiving: BTreeSet<NodeId> = racks.iter().copied().step_by(self.one_in as usize).collect();
        let (receivers, senders): (Vec<NodeId>, Vec<NodeId>) =
            scene.graph.hosts().partition(|host| receiving.contains(&scene.rack(*host)));
        if senders.is_empty() {
            part.error(".one_in", "requires at least 2 racks; the fabric has 1");
        }
        let expected = senders.len() as f64 * f64::from(self.flows);
        part.check_count(expected);
        part.sound()?;
        part.note(format!(
            "{} per sender; senders: {} in {}; receivers: {} in {}; flow sizes {label}, mean {}",
            counted(self.flows, "flow"),
            counted(senders.len(), "host"),
            counted(racks.len() - receiving.len(), "rack"),
            counted(receivers.len(), "host"),
            counted(receiving.len(), "rack"),
            bytes(sizes.mean()),
        ));
        let sender = |host| Sender {
            host,
            choices: part.host_stream("destinations", host),
            draws: part.host_stream("sizes", host),
            receiver: None,
        };
        let senders = senders.into_iter().map(sender).collect();
        part.schedule(
            RackShuffle {
                template: part.template(),
                flows: self.flows,
                one_receiver: self.one_receiver,
                later: self.later,
                senders,
                receivers,
                sizes,
            },
            expected,
        );
        Some(())
    }
}

/// Flows from every sender: first one flow of each, then all others.
#[derive(Debug)]
struct RackShuffle {
    template: Template,
    /// Flows of each sender.
    flows: u32,
    /// True if all flows of a sender have the same receiver.
    one_receiver: bool,
    /// Delay of all flows but the first.
    later: Duration,
    senders: Vec<Sender>,
    receivers: Vec<NodeId>,
    sizes: Distribution,
}

/// A sending host.
#[derive(Clone, Debug)]
struct Sender {
    host: NodeId,
    choices: Stream,
    draws: Stream,
    /// Index of the last flow's receiver.
    receiver: Option<usize>,
}

impl Schedule for RackShuffle {
    fn stream(self: Arc<Self>) -> schedule::Stream {
        let mut senders = self.senders.clone();
        let count = senders.len();
        Box::new((0..count * self.flows as usize).map(move |i| {
            let sender = &mut senders[i % count];
            let again = sender.receiver.filter(|_| self.one_receiver);
            let receiver = again.unwrap_or_else(|| sender.choices.below(self.receivers.len() as u64) as usize);
            sender.receiver = Some(receiver);
            let bytes = self.sizes.sample(&mut sender.draws);
            let start = self.template.window.start + if i < count { Duration::ZERO } else { self.later };
            self.template.flow(sender.host, self.receivers[receiver], bytes, start)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;
    use super::*;
    use backwater_engine::Time;
    use std::collections::BTreeMap;

    #[test]
    fn every_mth_rack_receives() {
        let graph = graph("kind = \"leaf-spine\"\nleaves = 8\nspines = 2\nhosts_per_leaf = 4");
        for (one_in, receiving) in [(2, vec![0, 2, 4, 6]), (3, vec![0, 3, 6]), (8, vec![0]), (9, vec![0])] {
            let made =
                try_on(&graph, &format!("{{ kind = \"rack-shuffle\", one_in = {one_in}, size = \"64 KB\" }}"), 1)
                    .unwrap();
            let flows: Vec<_> = made.flows().collect();
            let senders = 4 * (8 - receiving.len());
            assert_eq!((flows.len(), made.expected as usize), (40 * senders, 40 * senders));
            assert!(flows.iter().all(|flow| flow.bytes == 64_000 && flow.start == Time::ZERO));
            let (mut sent, mut received) = (BTreeMap::new(), BTreeMap::new());
            for flow in &flows {
                assert!(receiving.contains(&rack(flow.dst)) && !receiving.contains(&rack(flow.src)));
                *sent.entry(flow.src).or_insert(0) += 1;
                *received.entry(flow.dst).or_insert(0u32) += 1;
            }
            assert!(sent.values().all(|count| *count == 40));
            // Flows are uniform over the receivers, within five standard deviations.
            let fair = flows.len() as f64 / (4 * receiving.len()) as f64;
            assert!(
                received.values().all(|count| (f64::from(*count) - fair).abs() < 5.0 * fair.sqrt()),
                "{received:?}"
            );
        }
    }

    /// As in the generator of Pyrrha's authors, a sender has one receiver, and all of its flows
    /// except the first start later.
    #[test]
    fn senders_can_have_one_receiver_and_start_with_one_flow() {
        let graph = graph("kind = \"leaf-spine\"\nleaves = 8\nspines = 2\nhosts_per_leaf = 4");
        let traffic = "{ kind = \"rack-shuffle\", one_in = 2, flows = 5, size = \"64 KB\", one_receiver = true, later \
            = \"5 us\", start = \"1 us\" }";
        let flows: Vec<_> = try_on(&graph, traffic, 1).unwrap().flows().collect();
        let us = |us| Time::ZERO + Duration::from_us(us);
        assert!(
            flows[..16].iter().all(|flow| flow.start == us(1)) && flows[16..].iter().all(|flow| flow.start == us(6))
        );
        assert_eq!(flows.len(), 16 * 5);
        let receivers: BTreeMap<NodeId, BTreeSet<NodeId>> = flows.iter().fold(BTreeMap::new(), |mut of, flow| {
            of.entry(flow.src).or_insert_with(BTreeSet::new).insert(flow.dst);
            of
        });
        assert!(receivers.len() == 16 && receivers.values().all(|receivers| receivers.len() == 1));
        assert!(receivers.values().flatten().collect::<BTreeSet<_>>().len() > 1);
    }

    #[test]
    fn wrong_options_are_rejected() {
        check_rejected(&[(
            "{ kind = \"rack-shuffle\", one_in = 1, flows = 0, size = \"1 KB\" }",
            "traffic[0].one_in: must be at least 2, or no rack sends\ntraffic[0].flows: must be at least 1",
        )]);
    }
}
