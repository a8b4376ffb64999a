//! Permutation: one flow from and to every host.

use super::config::{CommonConfig, TrafficOptions};
use super::part::Part;
use super::sizes::{Distribution, bytes};
use super::{NodeList, SizesConfig};
use backwater_engine::random::Stream;
use backwater_fabric::network::spec::FlowSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A permutation of hosts: every host sends one flow to another host and receives one flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PermutationConfig {
    /// Options that all kinds share.
    #[serde(flatten)]
    pub common: CommonConfig,
    /// Sizes of the flows. Default: endless.
    pub sizes: Option<SizesConfig>,
    /// Distance between source and destination: the i-th host sends to the (i + shift)-th, modulo
    /// the number of hosts. Default: a uniformly random derangement.
    #[schemars(range(min = 1))]
    pub shift: Option<u32>,
    /// Hosts that take part. Default: all.
    pub hosts: Option<NodeList>,
}

impl TrafficOptions for PermutationConfig {
    fn generate(&self, part: &mut Part) -> Option<()> {
        let hosts = part.hosts(".hosts", self.hosts.as_ref());
        let sizes = self.sizes.as_ref().map(|sizes| part.sizes(".sizes", sizes));
        let hosts = hosts?;
        let count = hosts.len();
        if count < 2 {
            part.error(".hosts", format!("a permutation needs at least 2 hosts; found {count}"));
        } else if self.shift.is_some_and(|shift| (shift as usize).is_multiple_of(count)) {
            part.error(
                ".shift",
                format!("must not be a multiple of {count}, the number of hosts: every host would send to itself"),
            );
        }
        part.sound()?;
        let order = match self.shift {
            Some(shift) => (0..count).map(|i| (i + shift as usize) % count).collect(),
            None => derangement(count, &mut part.stream("permutation")),
        };
        let sizes = sizes.flatten();
        for (i, &source) in hosts.iter().enumerate() {
            let draw = |(_, sizes): &(_, Distribution)| sizes.sample(&mut part.host_stream("sizes", source));
            let bytes = sizes.as_ref().map_or(FlowSpec::ENDLESS, draw);
            part.push(part.flow(source, hosts[order[i]], bytes, part.window.start));
        }
        let size =
            sizes.map_or("endless".into(), |(label, sizes)| format!("sizes {label}, mean {}", bytes(sizes.mean())));
        part.note(format!("a permutation of {count} hosts, {size}"));
        Some(())
    }
}

/// Returns a uniformly random permutation of `0..count` without a fixed point; `count` must be at
/// least 2. On average one in e (2.72) tries succeeds.
fn derangement(count: usize, stream: &mut Stream) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    loop {
        stream.shuffle(&mut order);
        if order.iter().enumerate().all(|(i, target)| i != *target) {
            return order;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn permutations_are_derangements() {
        let made = flows("{ kind = \"permutation\" }", 1);
        assert_eq!(made.iter().map(|flow| flow.src).collect::<BTreeSet<_>>().len(), 16);
        assert_eq!(made.iter().map(|flow| flow.dst).collect::<BTreeSet<_>>().len(), 16);
        assert!(made.iter().all(|flow| flow.src != flow.dst && flow.bytes == FlowSpec::ENDLESS));
        let shifted = flows("{ kind = \"permutation\", sizes = \"1 MB\", shift = 4 }", 1);
        assert!(shifted.iter().all(|flow| flow.dst.0 == (flow.src.0 + 4) % 16 && flow.bytes == 1_000_000));
    }

    #[test]
    fn wrong_options_are_rejected() {
        check_rejected(&[
            (
                "{ kind = \"permutation\", shift = 32 }",
                "traffic[0].shift: must not be a multiple of 16, the number of hosts: every host would send to itself",
            ),
            (
                "{ kind = \"permutation\", hosts = \"h0\" }",
                "traffic[0].hosts: a permutation needs at least 2 hosts; found 1",
            ),
        ]);
    }
}
