//! Poisson arrivals.

use super::config::{CommonConfig, TrafficOptions};
use super::part::{Part, Scene, Template};
use super::schedule::{self, Schedule};
use super::sizes::{Distribution, bytes, round};
use super::{NodeList, SizesConfig, TrafficConfig};
use crate::diagnostic::{Diagnostic, counted};
use backwater_engine::random::Stream;
use backwater_fabric::ids::NodeId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Range;
use std::sync::Arc;

/// Poisson arrivals at a given load: every source draws gaps (exponential), destinations and sizes
/// from separate random streams.
///
/// Arrival rates follow from the mean size of the flows. With `load_of = "host-links"`, a source of
/// rate C starts load x C / (8 x mean size) flows per second (the traffic generators of HPCC and
/// ConWeave).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PoissonConfig {
    /// Options that all kinds share.
    #[serde(flatten)]
    pub common: CommonConfig,
    /// Sizes of the flows.
    pub sizes: SizesConfig,
    /// Offered load as a share of the capacity that `load_of` names, 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub load: f64,
    /// Capacity to which `load` refers. Default `host-links` (HPCC, Pyrrha, DSH).
    #[serde(default)]
    pub load_of: LoadOf,
    /// Bytes that `load` counts. Default `payload` (all public generators).
    #[serde(default)]
    pub load_counts: LoadCounts,
    /// Share of the flows that stay in the rack of their source, 0 to 1. Default: uniform (every
    /// other host is equally likely).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub intra_rack: Option<f64>,
    /// Flows that start together at each arrival, each with its own destination and size. The load
    /// does not change. Default 1.
    #[serde(default = "default_burst")]
    #[schemars(range(min = 1))]
    pub burst: u32,
    /// Hosts that send. Default: all.
    pub hosts: Option<NodeList>,
    /// Hosts that receive. Default: all.
    pub destinations: Option<NodeList>,
    /// Hosts that neither send nor receive in this part. `incast` selects the receivers of all
    /// incasts in the scenario. Default: none.
    pub exclude_receivers: Option<NodeList>,
}

fn default_burst() -> u32 {
    1
}

/// The capacity to which a load refers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadOf {
    /// Links of the sending hosts.
    #[default]
    HostLinks,
    /// Uplinks of each rack, for the flows that leave the rack. Suits oversubscribed fabrics.
    Uplinks,
}

/// The bytes that a load counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadCounts {
    /// Payload only. With headers, small flows then use a larger share of the links than `load`.
    #[default]
    Payload,
    /// Bytes of data frames on the wire, including headers, preamble and gap. ACKs and in-band
    /// telemetry do not count.
    Wire,
}

impl TrafficOptions for PoissonConfig {
    fn generate(&self, part: &mut Part) -> Option<()> {
        let sizes = part.sizes(".sizes", &self.sizes);
        let sources = part.hosts(".hosts", self.hosts.as_ref());
        let destinations = part.hosts(".destinations", self.destinations.as_ref());
        let excluded = self.excluded(part);
        part.check_load(self.load, "the load is a share of the capacity; above 1, the backlog grows without limit");
        if self.intra_rack.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            part.error(".intra_rack", "must be from 0 to 1");
        }
        if self.burst == 0 {
            part.error(".burst", "must be at least 1");
        }
        part.sound()?;
        let ((label, sizes), mut sources, mut destinations, excluded) = (sizes?, sources?, destinations?, excluded?);
        sources.retain(|host| !excluded.contains(host));
        destinations.retain(|host| !excluded.contains(host));
        let scene = part.scene;
        let map = Destinations::new(scene, destinations, self.intra_rack);
        for &source in &sources {
            self.check_reach(part, &map, source);
        }
        if sources.is_empty() {
            part.error(".hosts", "no sending host is left: `exclude_receivers` excludes all of them");
        }
        part.sound()?;
        let rates = self.rates(part, &map, &sources, &sizes);
        part.sound()?;
        let per_second: f64 = rates.iter().map(|(_, rate)| rate).sum();
        let expected = per_second * part.length().as_secs_f64();
        part.check_count(expected);
        self.report(part, &map, &rates, &sizes, &label);
        part.sound()?;
        let source = |(host, rate): (NodeId, f64)| Source {
            host,
            reach: map.reach(host),
            gap: 1e12 / rate * f64::from(self.burst),
            left: 0,
            arrivals: part.host_stream("arrivals", host),
            choices: part.host_stream("destinations", host),
            draws: part.host_stream("sizes", host),
        };
        let sources = rates.into_iter().map(source).collect();
        let (template, hosts, intra_rack) = (part.template(), map.hosts, map.intra_rack);
        part.schedule(Poisson { template, sources, hosts, intra_rack, sizes, burst: self.burst }, expected);
        Some(())
    }
}

impl PoissonConfig {
    /// Returns the hosts that neither send nor receive.
    fn excluded(&self, part: &mut Part) -> Option<BTreeSet<NodeId>> {
        let Some(list) = &self.exclude_receivers else { return Some(BTreeSet::new()) };
        if !list.is("incast") {
            return part.hosts(".exclude_receivers", Some(list)).map(BTreeSet::from_iter);
        }
        let incasts = part.scene.traffic.iter().filter_map(|config| match config {
            TrafficConfig::Incast(incast) => Some(&incast.receivers),
            _ => None,
        });
        let lists: Option<Vec<_>> = incasts.map(Option::as_ref).collect();
        let error = |message: &str| Diagnostic::error(part.field(".exclude_receivers"), message);
        match lists {
            None => {
                let error = error("\"incast\" requires `receivers` in every incast of the scenario");
                part.add(error.hint("without `receivers`, any host can be the receiver of an incast"));
                None
            }
            Some(lists) if lists.is_empty() => {
                part.add(error("there is no incast in this scenario").hint("list hosts, or omit this option"));
                None
            }
            // Errors in these lists are reported for the incast.
            Some(lists) => {
                Some(lists.iter().filter_map(|list| list.hosts("", part.scene.graph).ok()).flatten().collect())
            }
        }
    }

    /// Rejects a source without a destination.
    fn check_reach(&self, part: &mut Part, map: &Destinations, source: NodeId) {
        let (local, away) = map.choices(source);
        let name = part.scene.graph.name(source);
        let message = match self.intra_rack {
            None if local + away == 0 => format!("host \"{name}\" has no other host to send to"),
            Some(share) if share > 0.0 && local == 0 => {
                format!("host \"{name}\" has no other host in its rack to send to")
            }
            Some(share) if share < 1.0 && away == 0 => {
                format!("host \"{name}\" has no host in another rack to send to")
            }
            _ => return,
        };
        part.error(if self.intra_rack.is_some() { ".intra_rack" } else { ".destinations" }, message);
    }

    /// Returns the flows per second of every source.
    fn rates(
        &self,
        part: &mut Part,
        map: &Destinations,
        sources: &[NodeId],
        sizes: &Distribution,
    ) -> Vec<(NodeId, f64)> {
        let scene = part.scene;
        let bits = 8.0
            * match self.load_counts {
                LoadCounts::Payload => sizes.mean(),
                LoadCounts::Wire => sizes.mean_wire(scene.framing, scene.mtu),
            };
        let link = |host: NodeId| scene.graph.host_rate(host).bps() as f64;
        if self.load_of == LoadOf::HostLinks {
            return sources.iter().map(|&host| (host, self.load * link(host) / bits)).collect();
        }
        let mut links: BTreeMap<NodeId, f64> = BTreeMap::new();
        for &host in sources {
            *links.entry(scene.rack(host)).or_default() += link(host);
        }
        let rate = |host: NodeId| {
            let rack = scene.rack(host);
            let uplinks = scene.graph.uplink_capacity(rack).bps() as f64;
            let leaving = 1.0 - map.local_share(host);
            (host, self.load * uplinks * link(host) / links[&rack] / bits / leaving)
        };
        let rates: Vec<_> = sources.iter().map(|&host| rate(host)).collect();
        for &(host, rate) in &rates {
            let (name, offered) = (scene.graph.name(host), rate * bits / link(host));
            if map.local_share(host) >= 1.0 || rate <= 0.0 {
                let message = format!("no flow of host \"{name}\" uses an uplink");
                part.add(Diagnostic::error(part.field(".load_of"), message).hint("use \"host-links\" in this fabric"));
                break;
            }
            if offered > 1.0 {
                let (load, offered) = (self.load, round(offered, 3));
                let message = format!(
                    "exceeds the link of host \"{name}\": {load} of the uplinks' capacity is {offered} times the \
                        capacity of that link"
                );
                part.add(Diagnostic::error(part.field(".load"), message).hint("lower `load` or `intra_rack`"));
                break;
            }
        }
        rates
    }

    /// Adds notes about the offered load.
    fn report(&self, part: &mut Part, map: &Destinations, rates: &[(NodeId, f64)], sizes: &Distribution, label: &str) {
        let graph = part.scene.graph;
        let (mean, wire) = (sizes.mean(), sizes.mean_wire(part.scene.framing, part.scene.mtu));
        let share = |host: NodeId, rate: f64, mean: f64| rate * 8.0 * mean / graph.host_rate(host).bps() as f64;
        let busiest = rates.iter().map(|&(host, rate)| share(host, rate, wire)).fold(0.0, f64::max);
        let per_second: f64 = rates.iter().map(|(_, rate)| rate).sum();
        let (load, counts, of) = (
            self.load,
            if self.load_counts == LoadCounts::Wire { "wire bytes" } else { "payload" },
            if self.load_of == LoadOf::Uplinks { "rack uplinks" } else { "host links" },
        );
        part.note(format!(
            "flow sizes {label}, mean {}; load {load} of {of} ({counts}), with headers up to {} of a host link's \
                capacity; {:.0} flows/s from {}, about {:.0} flows in all",
            bytes(mean),
            round(busiest, 3),
            per_second,
            counted(rates.len(), "host"),
            per_second * part.length().as_secs_f64(),
        ));
        if busiest > 1.0 {
            part.note(
                "with headers, the load exceeds the capacity of host links; load_counts = \"wire\" avoids this".into(),
            );
        }
        let inbound = map.offered(rates).map(|(host, rate)| share(host, rate, wire)).fold(0.0, f64::max);
        if inbound > 1.0 {
            part.note(format!("the busiest receiver is offered {} times the capacity of its link", round(inbound, 2)));
        }
    }
}

/// Poisson arrivals at several hosts.
#[derive(Debug)]
struct Poisson {
    template: Template,
    sources: Vec<Source>,
    /// Destinations, ordered by rack.
    hosts: Vec<NodeId>,
    intra_rack: Option<f64>,
    sizes: Distribution,
    /// Flows per arrival.
    burst: u32,
}

/// A host that starts flows.
#[derive(Clone, Debug)]
struct Source {
    host: NodeId,
    reach: Reach,
    /// Mean gap between two arrivals, ps.
    gap: f64,
    /// Flows of the current arrival that have yet to start.
    left: u32,
    arrivals: Stream,
    choices: Stream,
    draws: Stream,
}

impl Schedule for Poisson {
    fn stream(self: Arc<Self>) -> schedule::Stream {
        let mut sources = self.sources.clone();
        let Range { start, end } = self.template.window;
        let first =
            |(index, source): (usize, &mut Source)| Reverse((start + source.arrivals.exponential(source.gap), index));
        let mut next: BinaryHeap<_> = sources.iter_mut().enumerate().map(first).collect();
        Box::new(std::iter::from_fn(move || {
            let mut first = next.peek_mut()?;
            let Reverse((time, index)) = *first;
            if time >= end {
                return None;
            }
            let source = &mut sources[index];
            if source.left == 0 {
                source.left = self.burst;
            }
            source.left -= 1;
            if source.left == 0 {
                *first = Reverse((time + source.arrivals.exponential(source.gap), index));
            }
            let destination = self.hosts[source.reach.draw(self.intra_rack, &mut source.choices)];
            let bytes = self.sizes.sample(&mut source.draws);
            Some(self.template.flow(source.host, destination, bytes, time))
        }))
    }
}

/// Destinations of a source, as indices into the destinations ordered by rack.
#[derive(Clone, Debug)]
struct Reach {
    rack: Range<u64>,
    /// Index of the source itself; beyond the list if the source is no destination.
    own: u64,
    /// Number of destinations in the source's rack, and in other racks.
    local: u64,
    away: u64,
}

impl Reach {
    /// Draws an index.
    fn draw(&self, intra_rack: Option<f64>, stream: &mut Stream) -> usize {
        let skip_own = |i: u64| if i >= self.own { i + 1 } else { i };
        let index = match intra_rack {
            None => skip_own(stream.below(self.local + self.away)),
            Some(share) if stream.chance(share) => skip_own(self.rack.start + stream.below(self.local)),
            Some(_) => match stream.below(self.away) {
                i if i >= self.rack.start => i + self.rack.end - self.rack.start,
                i => i,
            },
        };
        index as usize
    }
}

/// Destinations, ordered by rack.
struct Destinations<'a> {
    scene: &'a Scene<'a>,
    hosts: Vec<NodeId>,
    racks: BTreeMap<NodeId, Range<u64>>,
    positions: BTreeMap<NodeId, u64>,
    intra_rack: Option<f64>,
}

impl<'a> Destinations<'a> {
    fn new(scene: &'a Scene<'a>, mut hosts: Vec<NodeId>, intra_rack: Option<f64>) -> Destinations<'a> {
        hosts.sort_by_key(|&host| (scene.rack(host), host));
        let (mut racks, mut positions) = (BTreeMap::new(), BTreeMap::new());
        for (i, &host) in (0..).zip(&hosts) {
            positions.insert(host, i);
            racks.entry(scene.rack(host)).or_insert(i..i).end = i + 1;
        }
        Destinations { scene, hosts, racks, positions, intra_rack }
    }

    fn rack(&self, host: NodeId) -> Range<u64> {
        self.racks.get(&self.scene.rack(host)).cloned().unwrap_or(0..0)
    }

    /// Returns the number of destinations of `source` in its rack, and in other racks.
    fn choices(&self, source: NodeId) -> (u64, u64) {
        let rack = self.rack(source);
        let own = u64::from(self.positions.contains_key(&source));
        let inside = rack.end - rack.start;
        (inside - own, self.hosts.len() as u64 - inside)
    }

    /// Returns the share of `source`'s flows that stay in its rack.
    fn local_share(&self, source: NodeId) -> f64 {
        let (local, away) = self.choices(source);
        self.intra_rack.unwrap_or(local as f64 / (local + away) as f64)
    }

    fn reach(&self, source: NodeId) -> Reach {
        let (local, away) = self.choices(source);
        Reach { rack: self.rack(source), own: self.positions.get(&source).copied().unwrap_or(u64::MAX), local, away }
    }

    /// Returns the flows per second that every destination receives.
    fn offered(&self, rates: &[(NodeId, f64)]) -> impl Iterator<Item = (NodeId, f64)> {
        // Share of a source's flows for one destination in its rack, and for one in another rack.
        let per_choice = |share: f64, choices: u64| if choices == 0 { 0.0 } else { share / choices as f64 };
        let parts = |&(source, rate): &(NodeId, f64)| {
            let ((local, away), share) = (self.choices(source), self.local_share(source));
            (source, rate * per_choice(share, local), rate * per_choice(1.0 - share, away))
        };
        let mut racks: BTreeMap<NodeId, (f64, f64)> = BTreeMap::new();
        let (mut own, mut total) = (BTreeMap::new(), 0.0);
        for (source, local, away) in rates.iter().map(parts) {
            let rack = racks.entry(self.scene.rack(source)).or_default();
            *rack = (rack.0 + local, rack.1 + away);
            own.insert(source, local);
            total += away;
        }
        self.hosts.iter().map(move |&host| {
            let (local, away) = racks.get(&self.scene.rack(host)).copied().unwrap_or_default();
            (host, local - own.get(&host).copied().unwrap_or(0.0) + total - away)
        })
    }
}

#[cfg(test)]
mod tests;
