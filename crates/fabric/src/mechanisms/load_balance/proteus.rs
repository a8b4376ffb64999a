//! Proteus (Hu et al., ICNP 2023; IEEE/ACM ToN 2024): an edge distinguishes congested from paused
//! paths by delay and utilisation. If a path's uplink at the edge is paused, flows leave the path
//! at once.
//!
//! The paper's text was not available. This module follows the paper's abstract, and a public
//! re-implementation in the ConWeave simulator by other authors.

use super::dre::Dre;
use super::flowlets::{any_of, by_hash};
use super::paths::{
    EdgeHeader, Measuring, MeasuringEdge, Path, PathIx, PathSet, PathStamp, is_edge, stamp_busy, stamp_departure,
};
use super::recent::{Recent, Used};
use crate::contract::{
    Choice, Diagnostics, FlowHash, HookSet, LbStat, LoadBalance, LoadBalanceOptions, NoticeAction, Options,
    OutgoingNotice, PacketContext, PipelineHooks, RouteRequest, SchemeContext, Shape, Site, View,
};
use crate::frame::{Notice, PacketKind, Protocol};
use crate::ids::{CLASSES, Class, ClassMask, FlowId, NodeId, PortIx, QueueIx};
use arrayvec::ArrayVec;
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::random::Stream;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Protocol of Proteus' probes.
const PROTEUS: Protocol = Protocol::named("proteus");

/// Maximum number of paths drawn for a choice.
const MOST_CANDIDATES: usize = 64;

/// Classes of paths, in the order of preference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Classes {
    /// As in the re-implementation: first non-congested paths (low delay), by ascending delay; then
    /// undetermined paths (high delay, idle links), the busiest first; then congested paths (high
    /// delay, busy links), by ascending delay.
    #[default]
    Three,
    /// By the signals of the abstract: first idle paths (low delay, idle links), then busy paths
    /// (low delay, busy links), congested paths (high delay, busy links) and paused paths (high
    /// delay, idle links). Within a class, paths are ordered by ascending delay.
    Four,
}

/// Proteus: path choice by delay and utilisation; flows leave paths that are stopped at their edge
/// (ICNP 2023).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProteusConfig {
    /// Classes of paths, in the order of preference.
    pub classes: Classes,
    /// Limit below which a path's delay counts as low, in units of half the longest base round-trip
    /// time. Here, a path's delay includes its delay without queues. Default 1.4 (the
    /// re-implementation).
    pub low_delay: f64,
    /// Utilisation from which on links are busy, 0 to 1. Default 0.6 (the re-implementation).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub busy: f64,
    /// Number of paths that are drawn for a choice; 0 for all. Default 4 (the re-implementation).
    #[schemars(range(max = 64))]
    pub candidates: u32,
    /// Time between two probes of each path to an edge with traffic, in the flows' class. Default:
    /// no probes; packets of flows are stamped (the re-implementation probes every 4.5 us).
    pub probe_period: Option<Duration>,
    /// Time between two stamped packets on a path. Default: half a base round-trip time of the
    /// network.
    pub sample_period: Option<Duration>,
    /// Time for which a measured delay holds, if no sample is pending. After that, the delay
    /// decreases by the time that passes, as an idle queue drains. Default: two base round-trip
    /// times of the network.
    pub delay_aging: Option<Duration>,
    /// Delay added to a newly chosen path until the next report, so that not all flows choose it.
    /// Default 1 us (the re-implementation).
    pub burden: Duration,
    /// Shortest time between two moves of a flow off a stopped path: a move may reorder packets.
    /// Default: a base round-trip time of the network.
    pub move_interval: Option<Duration>,
    /// Delay advantage above which a flow also moves to a better path, if the gap to its last
    /// packet exceeds the advantage. Default 1 us, as `burden`. An option of the re-implementation
    /// has 6 us; a flow of 2 Gb/s would then never move, because the gaps between its packets are
    /// shorter.
    pub gain: Duration,
    /// Queueing delay above which a path counts as stopped, wherever its packets wait: the
    /// cumulative sojourn time. Default: only paths stopped at the edge itself count (the
    /// re-implementation).
    pub sojourn: Option<Duration>,
    /// Time that an edge remembers a flow without packets. Default 1 ms (as FLB's).
    pub flow_timeout: Duration,
    /// Period of the rate estimators of links. Default 50 us (the re-implementation).
    pub dre_period: Duration,
    /// Share of a rate estimator's byte count that is dropped in every period: more than 0,
    /// at most 1. Default 0.2 (the re-implementation).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub alpha: f64,
}

impl Default for ProteusConfig {
    fn default() -> Self {
        ProteusConfig {
            classes: Classes::default(),
            low_delay: 1.4,
            busy: 0.6,
            candidates: 4,
            probe_period: None,
            sample_period: None,
            delay_aging: None,
            burden: Duration::from_us(1),
            move_interval: None,
            gain: Duration::from_us(1),
            sojourn: None,
            flow_timeout: Duration::from_ms(1),
            dre_period: Duration::from_us(50),
            alpha: 0.2,
        }
    }
}

impl Options for ProteusConfig {
    fn check(&self, scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        super::paths::check_queues(scheme, diagnostics);
        diagnostics.positive(Some(self.flow_timeout), "flow_timeout");
        diagnostics.positive(Some(self.dre_period), "dre_period");
        diagnostics.positive(Some(self.alpha), "alpha");
        // Each flow that chooses a path adds a burden to its delay, which must not overflow.
        diagnostics.error(self.burden > Duration::from_ms(1000), "burden", "must be at most 1 s");
        diagnostics.clock(self.sample_period, "sample_period", None);
        diagnostics.clock(self.probe_period, "probe_period", None);
        let both = self.probe_period.is_some() && self.sample_period.is_some();
        diagnostics.error(both, "sample_period", "has no effect: with probe_period, only probes are stamped");
        diagnostics.error(
            self.low_delay <= 1.0 || self.low_delay.is_nan(),
            "low_delay",
            "must be greater than 1, the relative delay of an idle path",
        );
    }

    fn applies(&self, shape: &Shape) -> Result<(), String> {
        super::paths::applies("proteus", shape)
    }
}

impl LoadBalanceOptions for ProteusConfig {
    type Instance = Box<Proteus>;

    fn reorders(&self) -> bool {
        true
    }

    fn build(&self, site: &Site<'_>) -> Box<Proteus> {
        let to_host = site.neighbours.iter().map(|neighbour| neighbour.is_host);
        let links = site.ports.iter().zip(to_host);
        let dre = |port| Dre::new(self.dre_period, self.alpha, LEVELS, port);
        Box::new(Proteus {
            node: site.node,
            links: links.map(|(port, to_host)| (!to_host).then(|| dre(port))).collect(),
            edge: is_edge(site).then(|| Edge::new(self, site)),
            hash: FlowHash::new(site.hash_seed, site.node),
        })
    }
}

/// Carried value of a utilisation of 1.
const LEVELS: u16 = 256;

/// Proteus at one switch.
#[derive(Debug, GetSize)]
pub struct Proteus {
    node: NodeId,
    /// Rate estimator by port; `None` for a link to a host.
    links: IndexVec<PortIx, Option<Dre>>,
    /// Edge role, at an edge switch.
    edge: Option<Edge>,
    hash: FlowHash,
}

/// Edge switch.
#[derive(Debug, GetSize)]
struct Edge {
    measuring: MeasuringEdge,
    flows: Recent<FlowEntry>,
    /// By port, the classes that are stopped there and whose flows have left the port for that
    /// reason.
    out: IndexVec<PortIx, ClassMask>,
    /// Queueing delay below which a path's delay is low.
    low: Duration,
    /// Metric from which on links are busy.
    busy: u8,
    move_interval: Duration,
    #[get_size(ignore)]
    config: ProteusConfig,
    /// Probed edges, with the time, host and class of the last packet to each.
    probed: Vec<Probed>,
    draws: Stream,
}

#[derive(Debug, GetSize)]
struct Probed {
    edge: NodeId,
    host: NodeId,
    class: Class,
    last: Time,
}

/// Recent flow.
#[derive(Clone, Copy, Debug, GetSize)]
struct FlowEntry {
    path: PathIx,
    /// Arrival of the flow's last packet.
    last: Time,
    /// Time when the flow last left a stopped path.
    moved: Option<Time>,
}

impl Used for FlowEntry {
    fn last(&self) -> Time {
        self.last
    }
}

/// Measured state of a path to rank.
#[derive(Clone, Copy, Debug)]
struct Known {
    delay: Duration,
    busy: u8,
}

/// Returns the state of a path for a packet of `class`: the measurement of the links after the
/// uplink, and the uplink's queue, which the edge observes.
fn known(path: &Path, how: &Measuring, class: Class, view: &View<'_>) -> Known {
    let uplink = view.port(path.first());
    let queue = uplink.rate().time_for(uplink.queue_bytes(QueueIx::of(class)));
    Known { delay: path.delay.at(view.now, how) + queue, busy: path.delay.busy() }
}

/// Returns the sort key of a path: the smallest key is best.
fn rank(classes: Classes, known: Known, low: Duration, busy: u8) -> (u8, Reverse<u8>, Duration) {
    let (is_low, is_busy) = (known.delay < low, known.busy >= busy);
    let by_delay = |class| (class, Reverse(0), known.delay);
    match (classes, is_low, is_busy) {
        (Classes::Three, true, _) => by_delay(0),
        (Classes::Three, false, false) => (1, Reverse(known.busy), known.delay),
        (Classes::Three, false, true) => by_delay(2),
        (Classes::Four, true, false) => by_delay(0),
        (Classes::Four, true, true) => by_delay(1),
        (Classes::Four, false, true) => by_delay(2),
        (Classes::Four, false, false) => by_delay(3),
    }
}

impl Edge {
    fn new(config: &ProteusConfig, site: &Site<'_>) -> Edge {
        let period = config.sample_period.unwrap_or(Duration::from_ps(site.base_rtt.ps() / 2));
        let fresh = config.delay_aging.unwrap_or(site.base_rtt * 2);
        let how = Measuring { period, fresh, patience: config.flow_timeout };
        // Half a base round-trip time is a path's delay without queues.
        let low = (site.base_rtt.ps() / 2) as f64 * (config.low_delay - 1.0);
        Edge {
            measuring: MeasuringEdge::new(how, false, site),
            flows: Recent::new(config.flow_timeout),
            out: vec![ClassMask::NONE; site.ports.len()].into(),
            low: Duration::from_ps(low as u64),
            busy: (config.busy * f64::from(LEVELS)).min(255.0) as u8,
            move_interval: config.move_interval.unwrap_or(site.base_rtt),
            config: config.clone(),
            probed: Vec::new(),
            draws: site.seed.stream("proteus", u64::from(site.node.0)),
        }
    }

    /// Returns the path of a host's data packet; `None` if no path is known.
    fn choose(&mut self, arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Option<Choice> {
        let (now, headers) = (view.now, *arrival.packet.headers());
        let known = self.flows.place(headers.flow.0.into(), now).known;
        let edge = view.paths.first_hop_switch(arrival.destination);
        self.measuring.paths.to(edge, arrival.destination, view);
        let present = known.filter(|entry| self.set(edge).is_usable(entry.path, view));
        let mut moved = present.and_then(|entry| entry.moved);
        let path = match present {
            None => self.best(edge, None, headers.class, view)?,
            Some(entry) => match self.better(&entry, edge, headers.class, view) {
                Some((path, is_stopped)) => {
                    if is_stopped {
                        let first = self.set(edge).path(entry.path).first();
                        if view.port(first).is_closed(QueueIx::of(headers.class)) {
                            let out = &mut self.out[first];
                            *out = out.with(headers.class);
                        }
                        moved = Some(now);
                    }
                    view.count("reroutes", 1);
                    path
                }
                None => entry.path,
            },
        };
        self.flows.place(headers.flow.0.into(), now).put(FlowEntry { path, last: now, moved });
        let how = self.measuring.how;
        let burden = Some(self.config.burden).filter(|_| present.is_none_or(|entry| entry.path != path));
        let from = self.measuring.node();
        let set = self.measuring.paths.to(edge, arrival.destination, view);
        let has_route = set.route_to_edge(path).is_some();
        let delay = &mut set.paths[path as usize].delay;
        burden.into_iter().for_each(|burden| delay.burden(burden, now));
        let is_probed = self.config.probe_period.is_some() && has_route;
        if !is_probed && delay.is_due(now, &how) {
            let stamp = Some(PathStamp { path, at: now, busy: 0 });
            *arrival.packet.path_header_mut() = EdgeHeader { from, stamp, report: None }.into();
        }
        let route = set.route(path, arrival.destination, view).map(Choice::Route);
        let choice = route.or_else(|| set.candidate(path, arrival.candidates));
        self.note_destination(edge, arrival.destination, headers.class, view);
        choice
    }

    fn set(&self, edge: NodeId) -> &PathSet {
        self.measuring.paths.known(edge).expect("it has just been looked for")
    }

    /// Draws paths to `edge` among those that are not stopped, or among all paths if all are
    /// stopped. Returns the best of the drawn paths. Leaves out `but` if there is another path.
    fn best(&mut self, edge: NodeId, but: Option<PathIx>, class: Class, view: &View<'_>) -> Option<PathIx> {
        let Edge { measuring, out, low, busy, config, draws, .. } = self;
        let set = measuring.paths.known(edge)?;
        let known = |path: &Path| known(path, &measuring.how, class, view);
        let is_late = |path: &Path| config.sojourn.is_some_and(|sojourn| known(path).delay > sojourn);
        let is_out = |path: &Path| out[path.first()].has(class) || is_late(path);
        let others = || set.usable(view).filter(move |(ix, _)| Some(*ix) != but);
        let left = others().filter(|(_, path)| !is_out(path)).count();
        let pool = others().filter(|(_, path)| left == 0 || !is_out(path)).map(|(ix, _)| ix);
        let most = match config.candidates {
            0 => MOST_CANDIDATES,
            some => some as usize,
        };
        let mut drawn = ArrayVec::<PathIx, MOST_CANDIDATES>::new();
        // Draws uniformly in one pass.
        for (seen, ix) in pool.enumerate() {
            if drawn.len() < most {
                drawn.push(ix);
            } else if let Some(place) = drawn.get_mut(draws.below(seen as u64 + 1) as usize) {
                *place = ix;
            }
        }
        let rank = |ix: &PathIx| rank(config.classes, known(set.path(*ix)), *low, *busy);
        let best = drawn.iter().map(rank).min()?;
        any_of(drawn.iter().copied().filter(|ix| rank(ix) == best), draws)
    }

    /// Returns a better path for a flow, and true if the flow moves because its own path is
    /// stopped.
    fn better(&mut self, entry: &FlowEntry, edge: NodeId, class: Class, view: &View<'_>) -> Option<(PathIx, bool)> {
        let known =
            |edge_switch: &Edge, ix| known(edge_switch.set(edge).path(ix), &edge_switch.measuring.how, class, view);
        let (first, here) = (self.set(edge).path(entry.path).first(), known(self, entry.path));
        let is_stopped = view.port(first).is_closed(QueueIx::of(class));
        let is_late = self.config.sojourn.is_some_and(|sojourn| here.delay > sojourn);
        let may_move = entry.moved.is_none_or(|moved| view.now.since(moved) >= self.move_interval);
        let at_once = (is_stopped || is_late) && may_move;
        if !at_once && here.delay <= self.config.gain {
            return None;
        }
        let other = self.best(edge, Some(entry.path), class, view)?;
        let there = known(self, other);
        if at_once {
            // The queue of a stopped uplink drains no sooner than it would if the uplink were open.
            let is_better = there.delay < here.delay || is_late && there.delay == here.delay;
            return is_better.then_some((other, true));
        }
        let rank = |known| rank(self.config.classes, known, self.low, self.busy);
        let less = here.delay.saturating_sub(there.delay);
        let is_better = rank(there) < rank(here) && less > self.config.gain;
        (is_better && view.now.since(entry.last) > less).then_some((other, false))
    }

    /// Records that flows go to `edge`, which is then probed.
    fn note_destination(&mut self, edge: NodeId, host: NodeId, class: Class, view: &mut View<'_>) {
        let Some(period) = self.config.probe_period else { return };
        let last = view.now;
        match self.probed.iter_mut().find(|probed| probed.edge == edge) {
            Some(probed) => (probed.host, probed.class, probed.last) = (host, class, last),
            None => {
                if self.probed.is_empty() {
                    view.wake_at(view.now + period);
                }
                self.probed.push(Probed { edge, host, class, last });
            }
        }
    }

    /// Probes all paths to edges with traffic.
    fn probe(&mut self, node: NodeId, view: &mut View<'_>) {
        let Some(period) = self.config.probe_period else { return };
        let (timeout, now) = (self.config.flow_timeout, view.now);
        self.probed.retain(|probed| now.since(probed.last) <= timeout);
        let is_reached = |probed: &&Probed| !view.paths.candidates(node, probed.host).is_empty();
        for Probed { edge, host, class, .. } in self.probed.iter().filter(is_reached) {
            let set = self.measuring.paths.to(*edge, *host, view);
            let routed = set.usable(view).filter_map(|(ix, path)| Some((ix, path.first(), set.route_to_edge(ix)?)));
            let probes: Vec<_> = routed.collect();
            for (path, egress, route) in probes {
                set.paths[path as usize].delay.probed(now);
                let [low, high] = halves(now);
                let words = [path, node.0, low, high];
                let from = view.port(egress).id();
                let notice = Notice { protocol: PROTEUS, from, flow: FlowId::NONE, to: *edge, words };
                view.emit(OutgoingNotice { notice, egress, class: *class, route: route.after_first() });
                view.count("probes", 1);
            }
        }
        if !self.probed.is_empty() {
            view.wake_at(now + period);
        }
    }
}

/// Returns the fields of a probe that hold a time.
fn halves(time: Time) -> [u32; 2] {
    [time.ps() as u32, (time.ps() >> 32) as u32]
}

/// Bits of the path in the first field of a probe; the other bits hold the load.
const PATH_BITS: u32 = 24;

impl PipelineHooks for Proteus {
    fn hooks(&self) -> HookSet {
        let departures = HookSet::DATA_DEPARTURE | HookSet::OTHER_DEPARTURE;
        let at_edge = HookSet::ENQUEUE | HookSet::NOTICE | HookSet::GATE;
        if self.edge.is_some() { departures | at_edge } else { departures }
    }

    fn on_enqueue(&mut self, packet: &mut PacketContext<'_>, _queue_bytes: u64, view: &mut View<'_>) {
        if let Some(edge) = &mut self.edge {
            edge.measuring.on_enqueue(packet, view);
        }
    }

    fn on_departure(&mut self, packet: &mut PacketContext<'_>, _queue_bytes: u64, view: &mut View<'_>) {
        if self.edge.as_ref().is_some_and(|edge| edge.measuring.is_to_host(packet.ingress())) {
            stamp_departure(packet, view.now);
        }
        let Some(dre) = &mut self.links[packet.egress] else { return };
        dre.add(packet.wire_bytes(), view.now);
        let metric = dre.metric(view.now);
        match packet.headers().kind {
            PacketKind::Data => stamp_busy(packet, metric),
            PacketKind::Notice => {
                if let Some(notice) = packet.notice_mut().filter(|notice| notice.protocol == PROTEUS) {
                    let busy = (notice.words[0] >> PATH_BITS).max(metric.into());
                    notice.words[0] = notice.words[0] & ((1 << PATH_BITS) - 1) | busy << PATH_BITS;
                    if notice.words[1] == self.node.0 {
                        notice.words[2..].copy_from_slice(&halves(view.now));
                    }
                }
            }
            _ => {}
        }
    }

    fn on_notice(&mut self, notice: &Notice, view: &mut View<'_>) -> NoticeAction {
        match &mut self.edge {
            Some(edge) if notice.protocol == PROTEUS && notice.to == self.node => {
                let [first, from, low, high] = notice.words;
                let at = Time::from_ps(u64::from(high) << 32 | u64::from(low));
                let stamp = PathStamp { path: first & ((1 << PATH_BITS) - 1), at, busy: (first >> PATH_BITS) as u8 };
                edge.measuring.record(NodeId(from), stamp, view.now);
                NoticeAction::Consume
            }
            _ => NoticeAction::Forward,
        }
    }

    fn on_gate(&mut self, port: PortIx, queue: QueueIx, is_open: bool, _view: &mut View<'_>) {
        if let Some(edge) = self.edge.as_mut().filter(|_| is_open && queue.index() < CLASSES) {
            let out = &mut edge.out[port];
            *out = out.minus(ClassMask::of(Class(queue.0 as u8)));
        }
    }

    fn on_wake(&mut self, view: &mut View<'_>) {
        if let Some(edge) = &mut self.edge {
            edge.probe(self.node, view);
        }
    }
}

impl LoadBalance for Proteus {
    fn choose(&mut self, arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Choice {
        let is_data = arrival.packet.headers().kind == PacketKind::Data;
        let edge = self.edge.as_mut().filter(|edge| is_data && edge.measuring.is_to_host(arrival.packet.ingress()));
        let chosen = edge.and_then(|edge| edge.choose(arrival, view));
        chosen.unwrap_or_else(|| Choice::Candidate(by_hash(self.hash, arrival.key, arrival.candidates, view)))
    }

    fn observe(&self, now: Time, observer: &mut dyn FnMut(LbStat)) {
        if let Some(edge) = &self.edge {
            observer(LbStat::Count("flow_entries", edge.flows.count(now)));
            observer(LbStat::Count("stopped_uplinks", edge.out.iter().filter(|out| !out.is_empty()).count() as u64));
            edge.measuring.observe(now, |_| false, observer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the order of paths, each with a delay in us and a metric. A delay is low below 10
    /// us, and links are busy from a metric of 150 on.
    fn order(classes: Classes, paths: &[(u64, u8)]) -> Vec<usize> {
        let rank_of = |ix: &usize| {
            let (us, busy) = paths[*ix];
            rank(classes, Known { delay: Duration::from_us(us), busy }, Duration::from_us(10), 150)
        };
        let mut order: Vec<usize> = (0..paths.len()).collect();
        order.sort_by_key(rank_of);
        order
    }

    #[test]
    fn paths_are_taken_in_the_order_of_their_classes() {
        let paths = [(30, 200), (12, 20), (25, 140), (9, 250), (3, 0), (15, 200)];
        // Paths with a low delay come first, the least delay first. Then follow paths with a high
        // delay and idle links, the busiest first, then congested paths.
        assert_eq!(order(Classes::Three, &paths), [4, 3, 2, 1, 5, 0]);
        // The order is idle paths, busy paths, congested paths by delay, and at last paused paths,
        // which have a high delay despite idle links.
        assert_eq!(order(Classes::Four, &paths), [4, 3, 5, 0, 1, 2]);
    }

    #[test]
    fn limits_belong_to_the_upper_class() {
        assert_eq!(order(Classes::Three, &[(10, 150), (10, 149), (9, 150)]), [2, 1, 0]);
        assert_eq!(order(Classes::Four, &[(10, 149), (10, 150), (9, 150), (9, 149)]), [3, 2, 1, 0]);
    }
}
