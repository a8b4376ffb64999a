//! Incast: bursts of flows to one receiver.

use super::config::{CommonConfig, Role, TrafficOptions};
use super::part::{Part, Template};
use super::schedule::{self, Schedule};
use super::sizes::{Distribution, bytes, round};
use super::{NodeList, SizesConfig};
use crate::diagnostic::{Diagnostic, counted};
use crate::topology::Graph;
use backwater_engine::random::Stream;
use backwater_engine::{Bytes, Duration, Time};
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::spec::FlowSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Bursts of `degree` flows to one receiver.
///
/// Bursts start every `period`, or as often as `load` requires. Without both, there is one burst at
/// `start`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct IncastConfig {
    /// Options that all kinds share.
    #[serde(flatten)]
    pub common: CommonConfig,
    /// Flows per burst: a number, or `[1, 15]` to draw a number from 1 to 15 for each burst.
    pub degree: Degree,
    /// Size of each flow: `"64 KB"`, `{ uniform = ["40 KB", "60 KB"] }` or any distribution. Set
    /// either `size` or `total`.
    pub size: Option<SizesConfig>,
    /// Bytes of a whole burst, split evenly over its flows. Set either `size` or `total`.
    pub total: Option<Bytes>,
    /// Hosts from which each burst draws its receiver; a single name fixes the receiver. Default:
    /// all.
    pub receivers: Option<NodeList>,
    /// Hosts from which the senders of a burst are drawn: `other-racks` (all racks but the
    /// receiver's), `same-rack`, `any`, or a list. The receiver never sends to itself. Default
    /// `other-racks`, or `any` if the fabric has a single rack.
    pub senders: Option<NodeList>,
    /// Method of drawing senders. Default `even`.
    #[serde(default)]
    pub pick: Pick,
    /// Mean time between bursts. Set either `period` or `load`, or neither for a single burst.
    pub period: Option<Duration>,
    /// Offered load as a share of the links of all possible receivers together (payload bytes), 0
    /// to 1. With one receiver, this is a share of the receiver's link (Pyrrha section VIII); with
    /// all hosts as receivers, a share of all host links (DSH section V).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub load: Option<f64>,
    /// Gaps between bursts, equal or exponential. Default `periodic`: the first burst is at
    /// `start`.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Maximum number of bursts. Default: as many as fit before `stop`, or a single burst if
    /// neither `period` nor `load` is set.
    #[schemars(range(min = 1))]
    pub bursts: Option<u32>,
    /// Maximum delay of a flow after the start of its burst. Delays are uniformly distributed.
    /// Default 0 s (Pyrrha's code: 100 ns).
    #[serde(default)]
    pub jitter: Duration,
}

/// Flows per burst of an incast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "must be a number of flows, or a range such as [1, 15]")]
#[schemars(inline)]
pub enum Degree {
    /// Fixed number for all bursts.
    Fixed(#[schemars(range(min = 1))] u32),
    /// A number between two bounds, drawn uniformly.
    Between([u32; 2]),
}

impl Degree {
    /// Returns the fewest and the most flows.
    pub fn bounds(self) -> [u32; 2] {
        match self {
            Degree::Fixed(degree) => [degree, degree],
            Degree::Between(bounds) => bounds,
        }
    }

    /// Returns the mean number of flows.
    pub fn mean(self) -> f64 {
        let [least, most] = self.bounds();
        f64::midpoint(f64::from(least), f64::from(most))
    }
}

/// Method of drawing the senders of a burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pick {
    /// Each host sends once before any host sends again.
    #[default]
    Even,
    /// Each flow draws its sender independently, with repetition (Pyrrha's code).
    Uniform,
}

/// Gaps between bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Equal gaps.
    #[default]
    Periodic,
    /// Exponential gaps.
    Poisson,
}

/// A host and its rack.
type Racked = (NodeId, NodeId);

/// Hosts from which the senders of a burst are drawn.
#[derive(Debug)]
struct Senders {
    hosts: Vec<Racked>,
    racks: Racks,
}

#[derive(Debug, PartialEq)]
enum Racks {
    Any,
    Same,
    Other,
}

impl Racks {
    /// Returns the default racks of the senders.
    fn usual(graph: &Graph) -> Racks {
        if graph.has_several_racks() { Racks::Other } else { Racks::Any }
    }
}

impl Senders {
    /// Returns the hosts that may send to `receiver`.
    fn to(&self, (receiver, its_rack): Racked) -> impl Iterator<Item = NodeId> {
        let fits = move |rack| match self.racks {
            Racks::Any => true,
            Racks::Same => rack == its_rack,
            Racks::Other => rack != its_rack,
        };
        let hosts = self.hosts.iter().filter(move |(host, rack)| *host != receiver && fits(*rack));
        hosts.map(|(host, _)| *host)
    }
}

/// Bytes of the flows of a burst.
#[derive(Debug)]
enum Load {
    Each(Distribution),
    Total(u64),
}

impl TrafficOptions for IncastConfig {
    fn generate(&self, part: &mut Part) -> Option<()> {
        let receivers = part.hosts(".receivers", self.receivers.as_ref());
        let senders = self.senders(part);
        let load = self.burst_load(part);
        let [least, most] = self.degree.bounds();
        if least == 0 {
            part.error(".degree", "must be at least 1");
        }
        if least > most {
            part.error(".degree", "must list the smaller number first");
        }
        if self.bursts == Some(0) {
            part.error(".bursts", "must be at least 1");
        }
        let repeats = self.repeats();
        if self.period.is_some() && self.load.is_some() {
            part.error(".load", "must not be set together with `period`: each determines the other");
        }
        if self.bursts.is_some_and(|bursts| bursts > 1) && !repeats {
            part.error(".bursts", "requires `period` or `load`");
        }
        if self.arrivals == Arrivals::Poisson && !repeats {
            part.error(".arrivals", "\"poisson\" requires `period` or `load`");
        }
        if self.period == Some(Duration::ZERO) {
            part.error(".period", "must be greater than zero");
        }
        if let Some(load) = self.load {
            part.check_load(load, "a load above 1 exceeds the capacity of the receivers' links");
        }
        part.sound()?;
        let (receivers, senders, load) = (receivers?, senders?, load?);
        for &receiver in &receivers {
            if senders.to(part.scene.racked(receiver)).next().is_none() {
                let name = part.scene.graph.name(receiver);
                part.error(".senders", format!("no host can send to receiver \"{name}\""));
            }
        }
        let mean = self.mean(&load);
        let capacity: f64 = receivers.iter().map(|&host| part.scene.graph.host_rate(host).bps() as f64).sum();
        let from_load = self.load.map(|load| mean * 8e12 / (load * capacity));
        // Mean picoseconds between bursts; `None` for a single burst.
        let period = self.period.map(|period| period.ps() as f64).or(from_load);
        let most = f64::from(self.bursts.unwrap_or(u32::MAX));
        let expected = period.map_or(1.0, |period| (part.length().ps() as f64 / period).ceil().min(most));
        part.check_count(expected * self.degree.mean());
        self.report(part, &receivers, mean, period.map(|period| (period, mean * 8e12 / period / capacity)), expected);
        part.sound()?;

        let bursts = Bursts {
            template: part.template(),
            config: self.clone(),
            period,
            load,
            receivers: receivers.into_iter().map(|host| part.scene.racked(host)).collect(),
            senders,
            random: Random {
                gaps: part.stream("arrivals"),
                degrees: part.stream("degrees"),
                choices: part.stream("receivers"),
                picks: part.stream("senders"),
                draws: part.stream("sizes"),
                jitters: part.stream("jitter"),
            },
        };
        part.schedule(bursts, expected * self.degree.mean());
        Some(())
    }

    fn default_role(&self) -> Role {
        Role::Incast
    }

    fn draws_senders(&self) -> bool {
        true
    }

    fn effective_values(&self, graph: &Graph) -> Vec<(&'static str, Value)> {
        let bursts = if self.repeats() { json!("as many as fit before `stop`") } else { json!(1) };
        let senders = if Racks::usual(graph) == Racks::Other { "other-racks" } else { "any" };
        let bursts = self.bursts.is_none().then_some(("bursts", bursts));
        bursts.into_iter().chain(self.senders.is_none().then_some(("senders", json!(senders)))).collect()
    }
}

impl IncastConfig {
    /// True if there may be bursts after the first burst.
    fn repeats(&self) -> bool {
        self.period.is_some() || self.load.is_some()
    }

    fn senders(&self, part: &mut Part) -> Option<Senders> {
        let scene = part.scene;
        let (list, racks) = match &self.senders {
            None => (None, Racks::usual(scene.graph)),
            Some(list) if list.is("other-racks") => (None, Racks::Other),
            Some(list) if list.is("same-rack") => (None, Racks::Same),
            Some(list) if list.is("any") => (None, Racks::Any),
            Some(list) => (Some(list), Racks::Any),
        };
        let hosts = part.hosts(".senders", list)?;
        Some(Senders { hosts: hosts.into_iter().map(|host| scene.racked(host)).collect(), racks })
    }

    fn burst_load(&self, part: &mut Part) -> Option<Load> {
        match (&self.size, self.total) {
            (Some(size), None) => part.sizes(".size", size).map(|(_, sizes)| Load::Each(sizes)),
            (None, Some(total)) if total.get() < u64::from(self.degree.bounds()[1]) => {
                let most = self.degree.bounds()[1];
                part.error(".total", format!("must be at least {most} B: 1 B for each of the {most} flows"));
                None
            }
            (None, Some(total)) => Some(Load::Total(total.get())),
            _ => {
                part.error(".size", "set either `size` or `total`");
                None
            }
        }
    }

    /// Returns the mean bytes of a burst.
    fn mean(&self, load: &Load) -> f64 {
        match load {
            Load::Each(sizes) => sizes.mean() * self.degree.mean(),
            Load::Total(total) => *total as f64,
        }
    }

    /// Returns the sender of flow `i` of a burst. `Even` takes every host of `pool` once, in random
    /// order, before any host is taken again.
    fn pick(&self, pool: &mut [NodeId], i: usize, stream: &mut Stream) -> NodeId {
        let count = pool.len();
        match self.pick {
            Pick::Uniform => pool[stream.below(count as u64) as usize],
            Pick::Even => {
                let done = i % count;
                pool.swap(done, done + stream.below((count - done) as u64) as usize);
                pool[done]
            }
        }
    }

    /// Adds notes about the offered load; `offered` is the mean time between bursts and the load,
    /// if there are several bursts.
    fn report(&self, part: &mut Part, receivers: &[NodeId], mean: f64, offered: Option<(f64, f64)>, expected: f64) {
        let degree = match self.degree {
            Degree::Fixed(degree) => counted(degree, "flow"),
            Degree::Between([least, most]) => format!("{least} to {}", counted(most, "flow")),
        };
        let to = match receivers {
            [one] => format!("\"{}\"", part.scene.graph.name(*one)),
            _ => format!("one of {} hosts", receivers.len()),
        };
        let each = format!("of {degree} to {to}, {} per burst", bytes(mean));
        let Some((period, load)) = offered else { return part.note(format!("1 burst {each}")) };
        let (every, load) = (round(period * 1e-6, 3), round(load, 3));
        let number = counted(expected, "burst");
        let on_average = if self.arrivals == Arrivals::Poisson { " on average" } else { "" };
        part.note(format!(
            "about {number} {each}, one burst every {every} us{on_average}; load {load} of the receivers' links"
        ));
        if load > 1.0 && self.bursts.is_none() {
            let message = format!("offers {load} times the capacity of the receivers' links");
            let hint = "increase `period`, or limit the number of `bursts`";
            part.add(Diagnostic::error(part.field(".period"), message).hint(hint));
        }
    }
}

/// Bursts of flows.
#[derive(Debug)]
struct Bursts {
    template: Template,
    config: IncastConfig,
    /// Mean picoseconds between bursts; `None` for a single burst.
    period: Option<f64>,
    load: Load,
    receivers: Vec<Racked>,
    senders: Senders,
    random: Random,
}

/// The random streams of bursts.
#[derive(Clone, Debug)]
struct Random {
    gaps: Stream,
    degrees: Stream,
    choices: Stream,
    picks: Stream,
    draws: Stream,
    jitters: Stream,
}

/// Generator of bursts.
struct Generator {
    bursts: Arc<Bursts>,
    random: Random,
    /// Bursts generated so far, and their flows.
    made: u64,
    flows: u64,
    /// Start of the next burst; [`Time::NEVER`] after the last.
    next: Time,
    /// Generated flows that are not yet returned, by start and order of generation. Jitter
    /// interleaves the flows of neighbouring bursts.
    waiting: BinaryHeap<Reverse<(Time, u64, Pending)>>,
}

/// Source, destination and bytes of a generated flow.
type Pending = (NodeId, NodeId, u64);

impl Schedule for Bursts {
    fn stream(self: Arc<Self>) -> schedule::Stream {
        let mut random = self.random.clone();
        let start = self.template.window.start;
        let next = match self.period {
            Some(period) if self.config.arrivals == Arrivals::Poisson => start + random.gaps.exponential(period),
            _ => start,
        };
        let mut generator = Generator { random, made: 0, flows: 0, next, waiting: BinaryHeap::new(), bursts: self };
        generator.stop_at_end();
        Box::new(generator)
    }

    fn fans(&self) -> Box<dyn Iterator<Item = (NodeId, Vec<NodeId>)> + '_> {
        let receivers = if self.config.common.role == Some(Role::Other) { &[] } else { &self.receivers[..] };
        Box::new(receivers.iter().map(|receiver| (receiver.0, self.senders.to(*receiver).collect())))
    }
}

impl Generator {
    /// Ends the bursts at the end of the window, or after the last burst.
    fn stop_at_end(&mut self) {
        let Bursts { config, template, .. } = &*self.bursts;
        let enough = config.bursts.is_some_and(|bursts| self.made >= u64::from(bursts));
        if enough || self.next >= template.window.end {
            self.next = Time::NEVER;
        }
    }

    /// Generates the next burst.
    fn burst(&mut self) {
        let Generator { bursts, random, .. } = self;
        let Bursts { config, template, .. } = &**bursts;
        let receiver = bursts.receivers[random.choices.below(bursts.receivers.len() as u64) as usize];
        let mut pool: Vec<NodeId> = bursts.senders.to(receiver).collect();
        let degree = match config.degree {
            Degree::Fixed(degree) => u64::from(degree),
            Degree::Between([least, most]) => u64::from(least) + random.degrees.below(u64::from(most - least) + 1),
        };
        for i in 0..degree {
            let sender = config.pick(&mut pool, i as usize, &mut random.picks);
            let bytes = match &bursts.load {
                Load::Each(sizes) => sizes.sample(&mut random.draws),
                Load::Total(total) => total / degree + u64::from(i < total % degree),
            };
            let jitter = if config.jitter == Duration::ZERO { 0 } else { random.jitters.below(config.jitter.ps()) };
            let start = self.next + Duration::from_ps(jitter);
            if start < template.window.end {
                self.waiting.push(Reverse((start, self.flows + i, (sender, receiver.0, bytes))));
            }
        }
        self.flows += degree;
        self.made += 1;
        self.next = match (bursts.period, config.arrivals) {
            (None, _) => Time::NEVER,
            (Some(period), Arrivals::Periodic) => {
                template.window.start + Duration::from_ps((self.made as f64 * period).round() as u64)
            }
            (Some(period), Arrivals::Poisson) => self.next + random.gaps.exponential(period),
        };
        self.stop_at_end();
    }
}

impl Iterator for Generator {
    type Item = FlowSpec;

    fn next(&mut self) -> Option<FlowSpec> {
        while self.next < self.waiting.peek().map_or(Time::NEVER, |Reverse((start, ..))| *start) {
            self.burst();
        }
        let Reverse((start, _, (sender, receiver, bytes))) = self.waiting.pop()?;
        Some(self.bursts.template.flow(sender, receiver, bytes, start))
    }
}

#[cfg(test)]
mod tests;
