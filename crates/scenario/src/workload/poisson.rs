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

/// Poisson arrivals at a given load: every source draws exponential gaps between arrivals, a
/// destination and a size, each from its own random stream.
///
/// Arrival rates follow from the mean size of the sampler. With `load_of = "host-links"`, a source
/// of rate C starts load x C / (8 x mean size) flows per second (the traffic generators of HPCC and
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
    /// Hosts that neither send nor receive in this part; `incast` stands for the receivers of the
    /// scenario's incasts. Default: none.
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
    /// Payload only. Small flows then take a larger share of the wire than `load`.
    #[default]
    Payload,
    /// Bytes of data frames on the wire, including headers, preamble and gap. ACKs and in-band
    /// telemetry do not count.
    Wire,
}

impl TrafficOptions for PoissonConfig {
    fn common(&self) -> &CommonConfig {
        &self.common
    }

    fn generate(&self, part: &mut Part) -> Option<()> {
        let sizes = part.sizes(".sizes", &self.sizes);
        let sources = part.hosts(".hosts", self.hosts.as_ref());
        let destinations = part.hosts(".destinations", self.destinations.as_ref());
        let excluded = self.excluded(part);
        part.check_load(self.load, "flows would pile up without end: the load is a share of the capacity");
        if let Some(share) = self.intra_rack.filter(|share| !(0.0..=1.0).contains(share)) {
            part.error(".intra_rack", format!("is {share}, must be between 0 and 1"));
        }
        if self.burst == 0 {
            part.error(".burst", "is 0, must be at least 1");
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
            part.error(".hosts", "no host is left to send");
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
                let error = error("an incast of this scenario has no `receivers`, so it may hit any host");
                part.add(error.hint("name the receivers of every incast"));
                None
            }
            Some(lists) if lists.is_empty() => {
                part.add(error("there is no incast in this scenario").hint("name hosts, or leave it out"));
                None
            }
            // The incast reports a list that cannot be resolved.
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
                let message = format!("is \"uplinks\", but no flow of host \"{name}\" can take one");
                part.add(Diagnostic::error(part.field(".load_of"), message).hint("use \"host-links\" in this fabric"));
                break;
            }
            if offered > 1.0 {
                let (load, offered) = (self.load, round(offered, 3));
                let message =
                    format!("{load} of the uplinks is {offered} of the link of host \"{name}\", must be at most 1");
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
            "sizes {label}, mean {}; load {load} of the {of} ({counts}), at most {} of a host link on the wire; {:.0} flows/s from {}, \
             about {:.0} in all",
            bytes(mean),
            round(busiest, 3),
            per_second,
            counted(rates.len(), "host"),
            per_second * part.length().as_secs_f64(),
        ));
        if busiest > 1.0 {
            part.note("frames exceed the capacity of host links; load_counts = \"wire\" would avoid this".into());
        }
        let inbound = map.offered(rates).map(|(host, rate)| share(host, rate, wire)).fold(0.0, f64::max);
        if inbound > 1.0 {
            part.note(format!("the busiest receiver is offered {} times what its link can carry", round(inbound, 2)));
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
mod tests {
    use super::super::tests::*;
    use super::*;
    use backwater_fabric::frame::framing::Framing;
    use backwater_fabric::network::spec::FlowSpec;
    use std::collections::BTreeSet;

    const GOLDEN: [(u64, u32, u32, u64); 3] =
        [(31348504, 2, 4, 2314942), (114829134, 12, 7, 13745), (148841797, 6, 8, 61440)];

    #[test]
    fn first_flows_never_change() {
        let made = flows("{ kind = \"poisson\", sizes = \"websearch-dctcp\", load = 0.5 }", 1);
        let first: Vec<_> =
            made.iter().take(3).map(|flow| (flow.start.ps(), flow.src.0, flow.dst.0, flow.bytes)).collect();
        assert_eq!(first, GOLDEN);
    }

    #[test]
    fn offered_load_is_the_requested_load() {
        for (load, sizes) in [(0.3, "hadoop-hpcc"), (0.8, "alistorage"), (0.5, "{ uniform = [\"10 KB\", \"90 KB\"] }")]
        {
            let name = if sizes.starts_with('{') { sizes.into() } else { format!("\"{sizes}\"") };
            let made = flows(&format!("{{ kind = \"poisson\", sizes = {name}, load = {load} }}"), 500);
            let measured = offered(&made, 16, 500);
            assert!((measured / load - 1.0).abs() < 0.02, "{sizes}: {measured}");
            assert!(made.iter().all(|flow| flow.src != flow.dst));
            for host in 0..16 {
                let own: Vec<_> = made.iter().filter(|flow| flow.src == NodeId(host)).collect();
                let share = own.len() as f64 / made.len() as f64 * 16.0;
                assert!((share - 1.0).abs() < 0.1, "{share}");
                // Uniform over the 15 others, of which 3 are in the rack.
                let local =
                    own.iter().filter(|flow| rack(flow.dst) == rack(flow.src)).count() as f64 / own.len() as f64;
                assert!((local - 0.2).abs() < 0.05, "{local}");
            }
        }
    }

    #[test]
    fn wire_loads_count_headers() {
        let made = flows("{ kind = \"poisson\", sizes = \"memcached-etc\", load = 0.8, load_counts = \"wire\" }", 2);
        let wire = |flow: &FlowSpec| {
            let full = flow.bytes / 1000 * u64::from(Framing::Rocev2.data(1000, false, 0).wire);
            let rest = (flow.bytes % 1000) as u32;
            let rest = if rest > 0 { u64::from(Framing::Rocev2.data(rest, false, 0).wire) } else { 0 };
            full + rest + 16
        };
        let bytes: u64 = made.iter().map(wire).sum();
        let measured = bytes as f64 * 8.0 / (16.0 * 100e9 * 2e-3);
        assert!((measured / 0.8 - 1.0).abs() < 0.02, "{measured}");
        assert!(offered(&made, 16, 2) < 0.6);
    }

    #[test]
    fn uplink_loads_are_shares_of_the_uplinks() {
        for extra in ["", ", intra_rack = 0.5", ", intra_rack = 0.0"] {
            let made = flows(
                &format!("{{ kind = \"poisson\", sizes = \"alistorage\", load = 0.6, load_of = \"uplinks\"{extra} }}"),
                500,
            );
            for leaf in 0..4 {
                // Two uplinks of 100 Gb/s.
                let leaving = made.iter().filter(|flow| rack(flow.src) == leaf && rack(flow.dst) != leaf);
                let measured = offered(leaving, 2, 500);
                assert!((measured / 0.6 - 1.0).abs() < 0.02, "{extra} leaf {leaf}: {measured}");
            }
        }
    }

    #[test]
    fn intra_rack_share_is_respected() {
        let share = |share: f64| {
            let made =
                flows(&format!("{{ kind = \"poisson\", sizes = \"4 KB\", load = 0.3, intra_rack = {share:.1} }}"), 5);
            made.iter().filter(|flow| rack(flow.src) == rack(flow.dst)).count() as f64 / made.len() as f64
        };
        assert_eq!(share(0.0), 0.0);
        assert_eq!(share(1.0), 1.0);
        assert!((share(0.3) - 0.3).abs() < 0.01);
    }

    #[test]
    fn sources_destinations_and_exclusions_are_respected() {
        let made = flows(
            "{ kind = \"poisson\", sizes = \"4 KB\", load = 0.3, hosts = \"h[0-7]\", destinations = [\"h1*\", \"h2\"], \
             exclude_receivers = \"incast\" }, { kind = \"incast\", degree = 1, size = \"1 KB\", receivers = [\"h2\", \"h12\"] }",
            1,
        );
        let poisson = || made.iter().filter(|flow| flow.tag == 0);
        let sources: BTreeSet<_> = poisson().map(|flow| flow.src.0).collect();
        let destinations: BTreeSet<_> = poisson().map(|flow| flow.dst.0).collect();
        assert_eq!(sources, BTreeSet::from([0, 1, 3, 4, 5, 6, 7]));
        assert_eq!(destinations, BTreeSet::from([1, 10, 11, 13, 14, 15]));
    }

    #[test]
    fn flows_of_a_burst_start_together_at_the_same_load() {
        let made = flows("{ kind = \"poisson\", sizes = \"alistorage\", load = 0.6, burst = 8 }", 500);
        assert!((offered(&made, 16, 500) / 0.6 - 1.0).abs() < 0.03);
        for arrival in bursts(&made).values() {
            assert_eq!(arrival.len(), 8);
            assert!(arrival.iter().all(|flow| flow.src == arrival[0].src));
        }
        let destinations: BTreeSet<NodeId> = made[..8].iter().map(|flow| flow.dst).collect();
        assert!(destinations.len() > 1);
    }

    #[test]
    fn wrong_options_are_rejected() {
        check_rejected(&[
            ("{ kind = \"poisson\", load = 0.5 }", "missing field `sizes`"),
            (
                "{ kind = \"poisson\", sizes = \"1 KB\", load = 1.7 }",
                "traffic[0].load: is 1.7, must be above 0 and at most 1; flows would pile up without end: the load is a share of the \
             capacity",
            ),
            (
                "{ kind = \"poisson\", sizes = \"1 KB\", load = -0.1 }",
                "traffic[0].load: is -0.1, must be above 0 and at most 1",
            ),
            (
                "{ kind = \"poisson\", sizes = \"1 KB\", load = nan }",
                "traffic[0].load: is NaN, must be above 0 and at most 1",
            ),
            (
                "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.9, load_of = \"uplinks\", intra_rack = 0.9 }",
                "traffic[0].load: 0.9 of the uplinks is 4.5 of the link of host \"h0\", must be at most 1; lower `load` or `intra_rack`",
            ),
            (
                "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.9, load_of = \"uplinks\", intra_rack = 1.0 }",
                "traffic[0].load_of: is \"uplinks\", but no flow of host \"h0\" can take one; use \"host-links\" in this fabric",
            ),
            (
                "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, intra_rack = 1.5 }",
                "traffic[0].intra_rack: is 1.5, must be between 0 and 1",
            ),
            (
                "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, hosts = \"h16\" }",
                "traffic[0].hosts: there is no host \"h16\"; did you mean \"h10\"?",
            ),
            (
                "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, hosts = [\"h0\", \"leaf0\", \"x*\", \"h[3\", \"h[5-3]\"] }",
                "traffic[0].hosts[1]: \"leaf0\" is a switch, not a host\ntraffic[0].hosts[2]: no host matches \"x*\"; the first \
             host is called \"h0\"\ntraffic[0].hosts[3]: \"h[3\" is not a pattern of host names; a `[` begins a range of whole \
             numbers such as `h[0-15]`; `*` stands for any text\ntraffic[0].hosts[4]: \"h[5-3]\" is not a pattern of host names; a \
             `[` begins a range of whole numbers such as `h[0-15]`; `*` stands for any text",
            ),
            (
                "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, hosts = [] }",
                "traffic[0].hosts: is empty; leave it out for all hosts",
            ),
            (
                "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, hosts = \"h0\", destinations = \"h0\" }",
                "traffic[0].destinations: host \"h0\" has no other host to send to",
            ),
            (
                "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, destinations = \"h[4-7]\", intra_rack = 0.5, hosts = \"h0\" }",
                "traffic[0].intra_rack: host \"h0\" has no other host in its rack to send to",
            ),
            (
                "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, exclude_receivers = \"h*\" }",
                "traffic[0].hosts: no host is left to send",
            ),
            (
                "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, exclude_receivers = \"incast\" }",
                "traffic[0].exclude_receivers: there is no incast in this scenario; name hosts, or leave it out",
            ),
            (
                "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, exclude_receivers = \"incast\" }, { kind = \"incast\", degree = 1, \
             size = \"1 KB\" }",
                "traffic[0].exclude_receivers: an incast of this scenario has no `receivers`, so it may hit any host; name the \
             receivers of every incast",
            ),
            (
                "{ kind = \"poisson\", sizes = \"1 B\", load = 1.0, stop = \"2 s\", class = 8, start = \"1 ms\" }",
                "traffic[0].class: is 8, must be between 0 and 7\ntraffic[0].start: is 1 ms, must be before the end of the traffic at 1 ms",
            ),
            (
                "{ kind = \"poisson\", sizes = \"1 KB\", load = 0.5, start = \"300 us\", stop = \"200 us\" }",
                "traffic[0].stop: is 200 us, must be after the start at 300 us",
            ),
        ]);
    }
}
