//! All-to-all with hot experts: what a mixture-of-experts model sends between its iterations.

use super::MoeConfig;
use super::part::{Part, Template};
use super::schedule::{self, Flows, Schedule};
use super::sizes::round;
use crate::diagnostic::counted;
use backwater_engine::random::Stream;
use backwater_engine::{Duration, Time};
use backwater_fabric::ids::NodeId;
use std::sync::Arc;

impl MoeConfig {
    pub(super) fn generate(&self, part: &mut Part) -> Option<()> {
        let groups: Vec<_> =
            (0..).zip(&self.groups).map(|(i, list)| part.hosts(&format!(".groups[{i}]"), Some(list))).collect();
        if self.groups.is_empty() {
            part.refuse(".groups", "is empty".into());
        }
        for (key, bytes) in [(".bytes", self.bytes), (".burst", self.burst)] {
            if bytes.get() == 0 {
                part.refuse(key, "is 0 B, must be at least 1 B".into());
            }
        }
        if self.iterations == 0 {
            part.refuse(".iterations", "is 0, must be at least 1".into());
        }
        self.check_popularity(part);
        part.sound()?;
        let groups: Vec<Vec<NodeId>> = groups.into_iter().collect::<Option<_>>()?;
        let experts = self.popularity.len();
        for (i, group) in groups.iter().enumerate().filter(|(_, group)| group.len() != experts) {
            let hosts = counted(group.len(), "host");
            let message = format!("has {hosts}, there must be one for each of the {experts} popularities");
            part.refuse(&format!(".groups[{i}]"), message);
        }
        let bursts = self.bytes.get().div_ceil(self.burst.get());
        let length = times(self.gap, bursts - 1);
        match self.interval {
            None if self.iterations > 1 => part.refuse(".interval", "is missing: there are several iterations".into()),
            Some(interval) if self.iterations > 1 && interval <= length => {
                part.refuse(".interval", format!("is {interval}, must be longer than an iteration sends: {length}"));
            }
            _ => {}
        }
        let hosts: usize = groups.iter().map(Vec::len).sum();
        // Those that begin within the window.
        let fitting = self.interval.map_or(1.0, |interval| (part.length().ps() as f64 / interval.ps() as f64).ceil());
        let expected = hosts as f64 * bursts as f64 * f64::from(self.iterations).min(fitting);
        part.check_count(expected);
        part.sound()?;
        let hottest = self.popularity.iter().copied().fold(0.0, f64::max) / self.popularity.iter().sum::<f64>();
        part.note(format!(
            "{} of {}, each of which sends {} per iteration in {}; the most popular expert has {} % of all",
            counted(groups.len(), "group"),
            counted(experts, "host"),
            self.bytes,
            counted(bursts, "burst"),
            round(100.0 * hottest, 1),
        ));
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

    fn check_popularity(&self, part: &mut Part) {
        for (i, weight) in self.popularity.iter().enumerate().filter(|(_, weight)| !(0.0..=1e9).contains(*weight)) {
            part.refuse(&format!(".popularity[{i}]"), format!("is {weight}, must be between 0 and 1e9"));
        }
        if self.popularity.iter().filter(|weight| **weight > 0.0).count() < 2 {
            part.refuse(".popularity", "must be above 0 for at least 2 experts".into());
        }
    }
}

/// Groups of hosts, each sending to itself.
#[derive(Debug)]
struct Moe {
    config: MoeConfig,
    /// Bursts of a host per iteration.
    bursts: u64,
    groups: Vec<Group>,
}

/// A group of hosts: what their flows have in common, when they begin, and where each draws its destinations.
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
    /// The flows of one group in order of start.
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

/// `count` times `span`, or the longest span there is.
fn times(span: Duration, count: u64) -> Duration {
    Duration::from_ps(span.ps().saturating_mul(count))
}

impl MoeConfig {
    /// Draws an expert by popularity, as often as it takes to find another one than `own`.
    fn expert(&self, own: usize, draws: &mut Stream) -> usize {
        let others = || self.popularity.iter().enumerate().filter(|(i, weight)| *i != own && **weight > 0.0);
        // One draw among the others comes to the same.
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
