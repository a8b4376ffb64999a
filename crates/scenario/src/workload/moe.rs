//! All-to-all with hot experts: the exchange of a mixture-of-experts model between iterations.

use super::NodeList;
use super::config::{CommonConfig, TrafficOptions};
use super::part::{Part, Template};
use super::schedule::{self, Flows, Schedule};
use super::sizes::round;
use crate::diagnostic::counted;
use backwater_engine::random::Stream;
use backwater_engine::{Bytes, Duration, Time};
use backwater_fabric::ids::NodeId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// All-to-all among the experts of a mixture-of-experts model, with few popular experts (Pyrrha
/// section II, Figure 3).
///
/// In every iteration, each host sends `bytes` to its group in bursts, one every `gap`. Each burst
/// draws its expert by popularity, and draws again if the expert is the sending host. If there are
/// several groups, their flows are tagged `moe.0`, `moe.1` and so on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct MoeConfig {
    /// Options that all kinds share.
    #[serde(flatten)]
    pub common: CommonConfig,
    /// Groups of hosts. The i-th host of a group holds the i-th expert.
    pub groups: Vec<NodeList>,
    /// Bytes that a host sends per iteration. Default 8 MB (Pyrrha's generator).
    #[serde(default = "default_bytes")]
    pub bytes: Bytes,
    /// Bytes of a burst. Each burst is a flow. Default 80 KB (Pyrrha's generator).
    #[serde(default = "default_burst")]
    pub burst: Bytes,
    /// Time between two bursts of a host. Default 5.1 us (Pyrrha's generator: the longest base RTT
    /// of its fabric).
    #[serde(default = "default_gap")]
    pub gap: Duration,
    /// Relative popularity of each expert; the values need not add up to 1. Default: probabilities
    /// of Pyrrha's generator for 16 experts, of which two receive 86 %.
    #[serde(default = "default_popularity")]
    pub popularity: Vec<f64>,
    /// Number of iterations. Default 1.
    #[serde(default = "default_iterations")]
    #[schemars(range(min = 1))]
    pub iterations: u32,
    /// Time between the starts of two iterations. Required for several iterations. (Pyrrha's
    /// generator: 1.5 times the duration of an isolated iteration.)
    pub interval: Option<Duration>,
    /// Delay of each group after the previous one. Default 0 s: all groups start at the same time.
    #[serde(default)]
    pub shift: Duration,
}

fn default_bytes() -> Bytes {
    Bytes(8_000_000)
}

fn default_burst() -> Bytes {
    Bytes(80_000)
}

fn default_gap() -> Duration {
    Duration::from_ns(5100)
}

fn default_iterations() -> u32 {
    1
}

fn default_popularity() -> Vec<f64> {
    let ten_thousandths = [65, 4133, 4490, 522, 16, 81, 107, 58, 46, 60, 109, 109, 65, 77, 12, 49u16];
    ten_thousandths.iter().map(|share| f64::from(*share) / 10_000.0).collect()
}

impl TrafficOptions for MoeConfig {
    fn generate(&self, part: &mut Part) -> Option<()> {
        let groups: Vec<_> =
            (0..).zip(&self.groups).map(|(i, list)| part.hosts(&format!(".groups[{i}]"), Some(list))).collect();
        if self.groups.is_empty() {
            part.error(".groups", "must not be empty");
        }
        part.check_bytes(".bytes", self.bytes);
        part.check_bytes(".burst", self.burst);
        if self.iterations == 0 {
            part.error(".iterations", "must be at least 1");
        }
        self.check_popularity(part);
        part.sound()?;
        let groups: Vec<Vec<NodeId>> = groups.into_iter().collect::<Option<_>>()?;
        let experts = self.popularity.len();
        for (i, group) in groups.iter().enumerate().filter(|(_, group)| group.len() != experts) {
            let message = format!("must have {experts} hosts, one per entry of `popularity`; found {}", group.len());
            part.error(&format!(".groups[{i}]"), message);
        }
        let bursts = self.bytes.get().div_ceil(self.burst.get());
        let length = times(self.gap, bursts - 1);
        match self.interval {
            None if self.iterations > 1 => part.error(".interval", "is missing; required for several iterations"),
            Some(interval) if self.iterations > 1 && interval <= length => {
                part.error(".interval", format!("must be longer than the sending time of an iteration ({length})"));
            }
            _ => {}
        }
        let hosts: usize = groups.iter().map(Vec::len).sum();
        // Number of iterations that begin within the window.
        let fitting = self.interval.map_or(1.0, |interval| (part.length().ps() as f64 / interval.ps() as f64).ceil());
        let expected = hosts as f64 * bursts as f64 * f64::from(self.iterations).min(fitting);
        part.check_count(expected);
        part.sound()?;
        let hottest = self.popularity.iter().copied().fold(0.0, f64::max) / self.popularity.iter().sum::<f64>();
        part.note(format!(
            "{} of {}; each host sends {} per iteration in {}; the most popular expert of a group has {} % of the \
             popularity",
            counted(groups.len(), "group"),
            counted(experts, "host"),
            self.bytes,
            counted(bursts, "burst"),
            round(100.0 * hottest, 1),
        ));
        self.count_bursts(part, &groups, bursts);
        let several = groups.len() > 1;
        let mut made = Vec::new();
        for (i, hosts) in groups.into_iter().enumerate() {
            made.push(Group {
                template: if several { part.template_called(&format!(".{i}")) } else { part.template() },
                start: part.window.start + times(self.shift, i as u64),
                experts: hosts.into_iter().map(|host| (host, part.host_stream("experts", host))).collect(),
            });
        }
        part.schedule(Moe { config: self.clone(), bursts, groups: made }, expected);
        Some(())
    }
}

impl MoeConfig {
    fn check_popularity(&self, part: &mut Part) {
        for (i, _) in self.popularity.iter().enumerate().filter(|(_, weight)| !(0.0..=1e9).contains(*weight)) {
            part.error(&format!(".popularity[{i}]"), "must be from 0 to 1e9");
        }
        if self.popularity.iter().filter(|weight| **weight > 0.0).count() < 2 {
            part.error(".popularity", "must be above 0 for at least 2 experts");
        }
    }

    /// Counts the bursts that start before the end of the traffic and the others, and warns about
    /// the others.
    fn count_bursts(&self, part: &mut Part, groups: &[Vec<NodeId>], bursts: u64) {
        let total = u64::from(self.iterations) * bursts;
        let mut most = 0;
        for (i, hosts) in (0..).zip(groups) {
            let start = part.window.start + times(self.shift, i);
            // Bursts start in order.
            let fits = |burst: u64| {
                let (iteration, burst) = (burst / bursts, burst % bursts);
                let interval = self.interval.unwrap_or_default();
                start + times(interval, iteration) + times(self.gap, burst) < part.window.end
            };
            let (mut fitting, mut beyond) = (0, total);
            while fitting < beyond {
                let middle = fitting + (beyond - fitting) / 2;
                if fits(middle) { fitting = middle + 1 } else { beyond = middle }
            }
            let late = total - fitting;
            most = most.max(late);
            // Only the last burst of an iteration may be shorter.
            let sent = |of_iteration: u128, of_burst: u128| {
                of_iteration * u128::from(fitting / bursts) + of_burst * u128::from(fitting % bursts)
            };
            let [iteration, burst] = [self.bytes, self.burst].map(Bytes::get);
            let left = u128::from(self.iterations) * u128::from(iteration) - sent(iteration.into(), burst.into());
            part.leave_out(u128::from(late) * hosts.len() as u128, left * hosts.len() as u128);
            part.offer(hosts, sent(part.wire(iteration), part.wire(burst)), start);
        }
        if most > 0 && part.ends_with_traffic() {
            let message = format!(
                "{most} of {total} bursts of each host would start at or after the end of the traffic ({}) and are \
                    left out",
                part.window.end
            );
            part.warn(message, &format!("set a later `{}`", part.scene.run.option_of_end()));
        }
    }

    /// Draws an expert other than `own` by popularity.
    fn expert(&self, own: usize, draws: &mut Stream) -> usize {
        let others = || self.popularity.iter().enumerate().filter(|(i, weight)| *i != own && **weight > 0.0);
        // One draw among the others has the same distribution as drawing until another expert
        // results.
        let mut left = draws.unit() * others().map(|(_, weight)| weight).sum::<f64>();
        let mut chosen = own;
        for (i, weight) in others() {
            chosen = i;
            if left < *weight {
                break;
            }
            left -= weight;
        }
        chosen
    }
}

/// Groups of hosts. A host sends only within its group.
#[derive(Debug)]
struct Moe {
    config: MoeConfig,
    /// Bursts of a host per iteration.
    bursts: u64,
    groups: Vec<Group>,
}

/// A group of hosts, with the stream from which each host draws its destinations.
#[derive(Clone, Debug)]
struct Group {
    template: Template,
    start: Time,
    experts: Vec<(NodeId, Stream)>,
}

impl Schedule for Moe {
    fn stream(self: Arc<Self>) -> schedule::Stream {
        Box::new(Flows::new((0..self.groups.len()).map(|group| self.clone().group(group))))
    }
}

impl Moe {
    /// Returns the flows of one group in order of start.
    fn group(self: Arc<Self>, group: usize) -> schedule::Stream {
        let mut group = self.groups[group].clone();
        let (hosts, end) = (group.experts.len() as u64, group.template.window.end);
        let most = u64::from(self.config.iterations).saturating_mul(self.bursts).saturating_mul(hosts);
        let flows = (0..most).map(move |i| {
            let (round, host) = (i / hosts, (i % hosts) as usize);
            let (iteration, burst) = (round / self.bursts, round % self.bursts);
            let MoeConfig { bytes, burst: size, gap, interval, .. } = &self.config;
            let start = group.start + times(interval.unwrap_or_default(), iteration) + times(*gap, burst);
            let (source, draws) = &mut group.experts[host];
            let (source, expert) = (*source, self.config.expert(host, draws));
            let bytes = size.get().min(bytes.get() - burst * size.get());
            group.template.flow(source, group.experts[expert].0, bytes, start)
        });
        Box::new(flows.take_while(move |flow| flow.start < end))
    }
}

/// Returns `count` times `span`, saturating.
fn times(span: Duration, count: u64) -> Duration {
    Duration::from_ps(span.ps().saturating_mul(count))
}

#[cfg(test)]
mod tests;
