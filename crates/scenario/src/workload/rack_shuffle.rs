//! Shuffle between racks.

use super::RackShuffleConfig;
use super::part::{Part, Template};
use super::schedule::{self, Schedule};
use super::sizes::{Distribution, bytes};
use crate::diagnostic::counted;
use backwater_engine::Duration;
use backwater_engine::random::Stream;
use backwater_fabric::ids::NodeId;
use std::collections::BTreeSet;
use std::sync::Arc;

impl RackShuffleConfig {
    pub(super) fn generate(&self, part: &mut Part) -> Option<()> {
        let sizes = part.sizes(".size", &self.size);
        if self.one_in < 2 {
            part.refuse(".one_in", format!("is {}, must be at least 2: some racks send", self.one_in));
        }
        if self.flows == 0 {
            part.refuse(".flows", "is 0, must be at least 1".into());
        }
        part.sound()?;
        let (label, sizes) = sizes?;
        let scene = part.scene;
        let racks: BTreeSet<NodeId> = scene.graph.hosts().map(|host| scene.rack(host)).collect();
        let receiving: BTreeSet<NodeId> = racks.iter().copied().step_by(self.one_in as usize).collect();
        let (receivers, senders): (Vec<NodeId>, Vec<NodeId>) =
            scene.graph.hosts().partition(|host| receiving.contains(&scene.rack(*host)));
        if senders.is_empty() {
            part.refuse(
                ".one_in",
                format!("is {}, but the fabric has a single rack: none is left to send", self.one_in),
            );
        }
        let expected = senders.len() as f64 * f64::from(self.flows);
        part.check_count(expected);
        part.sound()?;
        part.note(format!(
            "{} each from {} in {} to {} in {}, sizes {label}, mean {}",
            counted(self.flows, "flow"),
            counted(senders.len(), "host"),
            counted(racks.len() - receiving.len(), "rack"),
            counted(receivers.len(), "host"),
            receiving.len(),
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

/// Flows from every sender: the first ones at once, then all others.
#[derive(Debug)]
struct RackShuffle {
    template: Template,
    /// Of each sender.
    flows: u32,
    /// Whether those go to the same receiver.
    one_receiver: bool,
    /// How much later all but the first begin.
    later: Duration,
    senders: Vec<Sender>,
    receivers: Vec<NodeId>,
    sizes: Distribution,
}

/// A host that sends.
#[derive(Clone, Debug)]
struct Sender {
    host: NodeId,
    choices: Stream,
    draws: Stream,
    /// Index of the receiver of its last flow.
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
