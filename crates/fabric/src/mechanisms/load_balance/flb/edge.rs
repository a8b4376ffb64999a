//! Edge switch: it measures the paths to other edges, and chooses a path for every packet of its
//! hosts (sections 3.1 and 3.2).

use super::isolation::{Congested, Isolation};
use super::{DelayOf, FlbConfig, Moves, Rerouting, Spread, StampPoint, Ties};
use crate::contract::{Choice, LbStat, RouteRequest, Site, View};
use crate::frame::Route;
use crate::ids::{FlowId, NodeId, PortId, PortIx, QueueIx};
use crate::mechanisms::cnm::{Cnm, FLB};
use crate::mechanisms::load_balance::flowlets::any_of;
use crate::mechanisms::load_balance::paths::{EdgeHeader, Measuring, MeasuringEdge, Path, PathIx, PathSet, PathStamp};
use crate::mechanisms::load_balance::recent::{Recent, Used};
use backwater_engine::random::Stream;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;

/// Largest value of a flow's ageing counter: 8 bits (section 3.4).
const MOST_UNITS: u64 = 255;

/// Edge switch.
#[derive(Debug, GetSize)]
pub(super) struct Edge {
    pub(super) measuring: MeasuringEdge,
    flows: Recent<FlowEntry>,
    /// Peak number of entries so far.
    most_flows: u64,
    /// Number of new flows that may still arrive before `most_flows` can grow: each new flow adds
    /// at most one entry.
    flows_left: u64,
    pub(super) isolation: Isolation,
    most_isolated: usize,
    #[get_size(ignore)]
    config: FlbConfig,
    check_period: Duration,
    /// True if senders process CNMs.
    pub(super) informs_senders: bool,
    draws: Stream,
}

/// Recent flow.
#[derive(Clone, Copy, Debug, GetSize)]
struct FlowEntry {
    /// Destination edge.
    edge: NodeId,
    path: PathIx,
    /// Route along the path to the flow's destination, if packets can carry it.
    route: Option<Route>,
    /// Arrival of the flow's last packet.
    last: Time,
    /// Expected wait of the flow's last packet at the uplink.
    waited: Duration,
}

impl Used for FlowEntry {
    fn last(&self) -> Time {
        self.last
    }
}

/// State of a flow's present path when a packet of the flow arrives.
#[derive(Clone, Copy, Debug)]
pub struct Present {
    /// Delay of the path for this packet.
    pub now: Duration,
    /// Delay that the flow's last packet met on the path.
    pub met: Duration,
    /// Time since the flow's last packet.
    pub gap: Duration,
}

impl Present {
    /// Returns the delay below which another path is faster.
    fn bound(&self, rule: Rerouting) -> Duration {
        if rule == Rerouting::FasterThanLast { self.now.min(self.met) } else { self.now }
    }

    /// Returns true if, by `rule`, the packet overtakes no packet of its flow on a path of this
    /// `delay`: the path is faster by less than the gap.
    fn keeps_order(&self, rule: Rerouting, delay: Duration) -> bool {
        let from = if rule == Rerouting::AsPrinted { self.now } else { self.met };
        from.saturating_sub(delay) < self.gap
    }
}

/// Returns the `open` path with the least delay that `rule` permits (Algorithm 1, lines 10 to 12),
/// a random one among equals; `None` if there is none.
#[inline]
pub fn reroute<T: Copy>(
    rule: Rerouting,
    paths: impl Iterator<Item = (T, Duration)> + Clone,
    open: impl Fn(T) -> bool + Clone,
    present: Present,
    draws: &mut Stream,
) -> Option<T> {
    let bound = present.bound(rule);
    let faster = paths.filter(|(_, delay)| *delay < bound && present.keeps_order(rule, *delay));
    least(faster.filter(|(path, _)| open(*path)), draws)
}

/// Returns the path with the least delay, a random one among equals.
#[inline]
fn least<T: Copy>(paths: impl Iterator<Item = (T, Duration)> + Clone, draws: &mut Stream) -> Option<T> {
    let least = paths.clone().map(|(_, delay)| delay).min()?;
    any_of(paths.filter(|(_, delay)| *delay == least).map(|(path, _)| path), draws)
}

/// Returns the best path for a flow that needs a path.
fn best(
    paths: impl Iterator<Item = (PathIx, Duration)> + Clone,
    set: &PathSet,
    ties: Ties,
    draws: &mut Stream,
) -> Option<PathIx> {
    match ties {
        Ties::Random => least(paths, draws),
        Ties::InTurn => paths.min_by_key(|(ix, delay)| (*delay, set.path(*ix).turn)).map(|(ix, _)| ix),
    }
}

impl Edge {
    pub(super) fn new(config: &FlbConfig, site: &Site<'_>) -> Edge {
        let period = config.sample_period.unwrap_or(site.base_rtt * 2);
        let fresh = config.delay_aging.unwrap_or(period * 2);
        let how = Measuring { period, fresh, patience: config.flow_timeout };
        Edge {
            measuring: MeasuringEdge::new(how, config.delay_of == DelayOf::OneWay, site),
            flows: Recent::new(config.flow_timeout),
            most_flows: 0,
            flows_left: 0,
            isolation: Isolation::default(),
            most_isolated: 0,
            config: config.clone(),
            check_period: config.check_period.unwrap_or(site.base_rtt),
            informs_senders: site.notice_protocol == Some(FLB),
            draws: site.seed.stream("flb", u64::from(site.node.0)),
        }
    }

    /// Returns the path of a host's data packet; `None` if no path is known.
    #[inline(never)]
    pub(super) fn choose(&mut self, arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Option<Choice> {
        let (now, flow) = (view.now, arrival.packet.headers().flow);
        let place = self.flows.place(flow.0.into(), now);
        let known = place.known;
        let congested = self.isolation.record_packet(flow, now);
        let from = self.measuring.node();
        let edge = known.map_or_else(|| view.paths.first_hop_switch(arrival.destination), |entry| entry.edge);
        let set = self.measuring.paths.to(edge, arrival.destination, view);
        let present = known.filter(|entry| set.is_usable(entry.path, view));
        let gap = present.map_or(Duration::ZERO, |entry| gap(entry.last, now, self.config.gap_unit));
        let waited = present.map_or(Duration::ZERO, |entry| entry.waited);
        let present = present.map(|entry| entry.path);
        let size = arrival.packet.packet.frame.size;
        let delays = Delays {
            view,
            how: &self.measuring.how,
            counts_queues: self.config.stamp == StampPoint::DepartureAndQueue,
            queue: QueueIx::of(arrival.packet.headers().class),
            framing: u64::from(size.wire - size.charge),
        };
        let wait = present.map(|present| delays.at_uplink(set.path(present)));
        let mut choosing = Choosing {
            set,
            delays,
            wait: wait.unwrap_or_default(),
            isolation: &mut self.isolation,
            config: &self.config,
            gap,
            waited,
            draws: &mut self.draws,
        };
        let path = match congested {
            Some(flow) => choosing.for_congested(flow, present),
            None => choosing.for_uncongested(present),
        }?;
        if present != Some(path) {
            set.takes_turn(path);
        }
        let kept = known.filter(|entry| entry.path == path).and_then(|entry| entry.route);
        let route = kept.or_else(|| set.route(path, arrival.destination, view));
        let waited = wait.filter(|_| present == Some(path)).unwrap_or_else(|| delays.at_uplink(set.path(path)));
        place.put(FlowEntry { edge, path, route, last: now, waited });
        let choice = route.map(Choice::Route).or_else(|| set.candidate(path, arrival.candidates));
        if set.paths[path as usize].delay.is_due(now, &self.measuring.how) {
            let stamp = Some(PathStamp { path, at: now, busy: 0 });
            *arrival.packet.path_header_mut() = EdgeHeader { from, stamp, report: None }.into();
        }
        if present.is_some_and(|present| present != path) {
            view.count("reroutes", 1);
        }
        if known.is_none() {
            self.count_flows(view);
        }
        choice
    }

    /// Updates the peak number of entries of the flow table.
    fn count_flows(&mut self, view: &mut View<'_>) {
        if self.flows_left > 0 {
            self.flows_left -= 1;
            return;
        }
        let flows = self.flows.count(view.now);
        if flows > self.most_flows {
            view.count("flow_entries", flows - self.most_flows);
            self.most_flows = flows;
        }
        self.flows_left = self.most_flows - flows;
    }

    /// Processes a notice about a flow of one of the edge's hosts.
    pub(super) fn record(&mut self, flow: FlowId, root: PortId, cnm: Cnm, view: &mut View<'_>) {
        let was_empty = self.isolation.is_empty();
        if self.isolation.record(flow, root, cnm, view.now) {
            view.count("isolated_flows", 1);
            let isolated = self.isolation.counts().0;
            if isolated > self.most_isolated {
                view.count("isolation_entries", 1);
                self.most_isolated = isolated;
            }
        }
        if was_empty && !self.isolation.is_empty() {
            view.wake_at(view.now + self.check_period);
        }
    }

    /// Releases isolation paths that start at `port`, whose link has failed.
    pub(super) fn lose(&mut self, port: PortIx) {
        let Edge { isolation, measuring, .. } = self;
        isolation.release(|ascent| measuring.paths.first_of(ascent) == port);
    }

    /// Checks the isolation table.
    pub(super) fn on_wake(&mut self, view: &mut View<'_>) {
        self.isolation.check(view.now, self.config.flow_timeout);
        if !self.isolation.is_empty() {
            view.wake_at(view.now + self.check_period);
        }
    }

    /// Reports the edge's tables and paths to `observer`.
    pub(super) fn observe(&self, now: Time, observer: &mut dyn FnMut(LbStat)) {
        let (flows, paths) = self.isolation.counts();
        observer(LbStat::Count("flow_entries", self.flows.count(now)));
        observer(LbStat::Count("isolated_flows", flows as u64));
        observer(LbStat::Count("isolation_paths", paths as u64));
        self.measuring.observe(now, |ascent| self.isolation.is_isolated(ascent), observer);
    }
}

/// Returns the gap to a packet at `last`: exact, or by a counter that increases at every multiple
/// of `unit`. The first increase does not count, since it may directly follow the packet at `last`.
fn gap(last: Time, now: Time, unit: Option<Duration>) -> Duration {
    match unit {
        None => now.since(last),
        Some(unit) => unit * (now.ps() / unit.ps() - last.ps() / unit.ps()).min(MOST_UNITS).saturating_sub(1),
    }
}

/// Delays of paths for a packet that arrives now.
#[derive(Clone, Copy)]
struct Delays<'a, 'v> {
    view: &'a View<'v>,
    how: &'a Measuring,
    /// True if bytes at an uplink count.
    counts_queues: bool,
    /// Queue of the packet at the uplink.
    queue: QueueIx,
    /// Bytes of a frame that count on the wire but not in the buffer.
    framing: u64,
}

impl Delays<'_, '_> {
    /// Returns the packet's wait at the uplink of a path: the time for the bytes on the wire and in
    /// the packet's queue. A PAUSE is assumed to last for as long again as it has already lasted.
    #[inline]
    fn at_uplink(&self, path: &Path) -> Duration {
        if !self.counts_queues {
            return Duration::ZERO;
        }
        let port = self.view.port(path.first());
        let stopped = port.closed(self.queue).map_or(Duration::ZERO, |(since, _)| self.view.now.since(since));
        port.ahead(self.queue, self.framing, self.view.now) + stopped
    }

    /// Returns the measured delay of a path.
    #[inline]
    fn measured(&self, path: &Path) -> Duration {
        path.delay.at(self.view.now, self.how)
    }

    /// Returns the delay of a path.
    #[inline]
    fn of(&self, path: &Path) -> Duration {
        self.measured(path) + self.at_uplink(path)
    }
}

/// State for a path choice.
struct Choosing<'a, 'v> {
    set: &'a PathSet,
    delays: Delays<'a, 'v>,
    /// Wait of the packet at the uplink of the flow's path.
    wait: Duration,
    isolation: &'a mut Isolation,
    config: &'a FlbConfig,
    /// Gap to the last packet of the flow.
    gap: Duration,
    /// Expected wait of the flow's last packet at the uplink.
    waited: Duration,
    draws: &'a mut Stream,
}

impl Choosing<'_, '_> {
    /// Returns the path of an uncongested flow: no isolation path, as long as others exist.
    #[inline]
    fn for_uncongested(&mut self, present: Option<PathIx>) -> Option<PathIx> {
        let path = present.map(|present| self.set.path(present));
        // No path is faster than one without delay.
        let is_best = |path: &Path| {
            self.wait == Duration::ZERO
                && self.delays.measured(path) == Duration::ZERO
                && !self.isolation.is_isolated(path.ascent)
        };
        if path.is_some_and(is_best) { present } else { self.another(present) }
    }

    /// Returns the state of the flow's path.
    #[inline]
    fn present(&self, path: &Path) -> Present {
        let measured = self.delays.measured(path);
        Present { now: measured + self.wait, met: measured + self.waited, gap: self.gap }
    }

    /// Returns a path for an uncongested flow that may leave the path of its last packet.
    #[inline(never)]
    fn another(&mut self, present: Option<PathIx>) -> Option<PathIx> {
        let known = present.map(|before| (before, self.present(self.set.path(before))));
        let Choosing { set, delays, isolation, config, draws, .. } = self;
        let view = delays.view;
        let is_open = |path: &Path| !isolation.is_isolated(path.ascent);
        let open = set.usable(view).filter(|(_, path)| is_open(path)).map(|(ix, path)| (ix, delays.of(path)));
        let Some((before, here)) = known else {
            let any = set.usable(view).map(|(ix, path)| (ix, delays.of(path)));
            return best(open, set, config.ties, draws).or_else(|| best(any, set, config.ties, draws));
        };
        let other = match config.moves {
            _ if is_open(set.path(before)) => {
                let paths = set.known().map(|(ix, path)| (ix, delays.of(path)));
                let may_take = |ix: PathIx| is_open(set.path(ix)) && set.is_usable(ix, view);
                reroute(config.rerouting, paths, may_take, here, draws)
            }
            Moves::AtOnce => best(open, set, config.ties, draws),
            Moves::InOrder => {
                let in_order = open.filter(|(_, delay)| here.keeps_order(config.rerouting, *delay));
                best(in_order, set, config.ties, draws)
            }
        };
        other.or(present)
    }

    /// Returns the path of a congested flow: an isolation path, if possible.
    fn for_congested(&mut self, flow: Congested, present: Option<PathIx>) -> Option<PathIx> {
        let Some(isolated) = self.isolated(flow, present) else {
            return present.or_else(|| self.for_uncongested(None));
        };
        let delay = |ix: PathIx| self.delays.of(self.set.path(ix));
        let overtakes = |before| {
            let here = self.present(self.set.path(before));
            isolated != before && !here.keeps_order(self.config.rerouting, delay(isolated))
        };
        if self.config.moves == Moves::InOrder && present.is_some_and(overtakes) {
            return present;
        }
        self.isolation.assign(flow, self.set.path(isolated).ascent);
        Some(isolated)
    }

    /// Returns the isolation path of a congested flow. A flow keeps its isolation path. A flow
    /// without one gets a new isolation path if more are wanted, or if none leads to the flow's
    /// destination. In both cases, uncongested flows must keep another path to the destination.
    /// Otherwise the flow gets the path of its last packet if that path is isolated, or any
    /// isolation path.
    fn isolated(&mut self, flow: Congested, present: Option<PathIx>) -> Option<PathIx> {
        let here = present.or_else(|| self.for_uncongested(None))?;
        let Choosing { set, delays, isolation, config, draws, .. } = self;
        let view = delays.view;
        let ascent = |ix: PathIx| set.path(ix).ascent;
        let is_isolated = |ix: PathIx| isolation.is_isolated(ascent(ix));
        let isolated = || set.usable(view).map(|(ix, _)| ix).filter(|ix| is_isolated(*ix));
        let own = match flow.path {
            Some(path) if path == ascent(here) => Some(here),
            Some(path) => isolated().find(|ix| ascent(*ix) == path),
            None => None,
        };
        if own.is_some() && config.spread == Spread::PerFlow {
            return own;
        }
        if flow.path.is_none() && isolation.wants_more() || isolated().next().is_none() {
            let open = || set.usable(view).filter(|(ix, _)| !is_isolated(*ix));
            let is_left = |new: &PathIx| open().any(|(ix, _)| ascent(ix) != ascent(*new));
            let open_ones = open().map(|(ix, path)| (ix, delays.of(path)));
            let new = if is_isolated(here) { best(open_ones, set, config.ties, draws) } else { Some(here) };
            if new.as_ref().is_some_and(is_left) {
                return new;
            }
        }
        let kept = Some(here).filter(|ix| is_isolated(*ix) && config.spread == Spread::PerFlow);
        kept.or_else(|| any_of(isolated(), draws))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_engine::random::Seed;

    fn us(us: u64) -> Duration {
        Duration::from_us(us)
    }

    /// Each case has the delays of five paths, of which the last is closed. The values `now`, `met`
    /// and `gap` follow, then the path chosen by each rule.
    #[test]
    fn the_fastest_path_that_the_rule_permits_is_taken() {
        use Rerouting::{AsPrinted, FasterThanLast, KeepOrder};
        let mut draws = Seed(1).stream("test", 0);
        let mut taken = |rule, delays: &[u64], [now, met, gap]: [u64; 3]| {
            let paths = delays.iter().map(|delay| us(*delay)).enumerate();
            let present = Present { now: us(now), met: us(met), gap: us(gap) };
            reroute(rule, paths, |path| path != 4, present, &mut draws)
        };
        for (delays, [now, met, gap], keep_order, as_printed, faster_than_last) in [
            // The queue has not changed.
            ([1, 5, 6, 9, 0], [8, 8, 4], Some(1), Some(1), Some(1)),
            ([1, 5, 6, 9, 0], [8, 8, 3], Some(2), Some(2), Some(2)),
            ([1, 5, 6, 9, 0], [8, 8, 2], None, None, None),
            ([8, 9, 9, 9, 0], [8, 8, 100], None, None, None),
            ([9, 9, 9, 7, 6], [8, 8, 4], Some(3), Some(3), Some(3)),
            // The queue has drained: the last packet met a delay of 8, and only a path with a delay
            // above 4 preserves the order.
            ([1, 5, 6, 9, 0], [5, 8, 4], None, None, None),
            ([2, 5, 6, 9, 0], [5, 8, 4], None, Some(0), None),
            ([2, 5, 6, 9, 0], [7, 8, 4], Some(1), Some(1), Some(1)),
            // The queue has grown.
            ([3, 5, 6, 9, 0], [8, 3, 4], Some(0), Some(1), None),
            ([3, 5, 6, 9, 0], [8, 4, 4], Some(0), Some(1), Some(0)),
        ] {
            for (rule, path) in [(KeepOrder, keep_order), (AsPrinted, as_printed), (FasterThanLast, faster_than_last)] {
                assert_eq!(taken(rule, &delays, [now, met, gap]), path, "{rule:?} {delays:?} {now} {met} {gap}");
            }
        }
        let counts = (0..3000).fold([0u32; 3], |mut counts, _| {
            counts[taken(KeepOrder, &[4, 7, 4], [8, 8, 10]).unwrap()] += 1;
            counts
        });
        // Both fastest paths are chosen 1,500 times, within five standard deviations.
        assert!(counts[1] == 0 && counts[0].abs_diff(1500) < 137, "{counts:?}");
    }

    /// From 0.9 to 3.1 units, the counter increases three times. The first increase may directly
    /// follow the earlier packet, so the gap is known to be at least two units.
    #[test]
    fn a_coarse_gap_is_never_too_long() {
        let at = |tenths: u64| Time::from_ps(tenths * 1_000_000);
        for (last, now, exact, coarse) in [(9, 31, 22, 20), (10, 19, 9, 0), (19, 20, 1, 0), (10, 30, 20, 10)] {
            let ps = Duration::from_ps(exact * 1_000_000);
            assert_eq!(gap(at(last), at(now), None), ps);
            let counted = gap(at(last), at(now), Some(us(10)));
            assert_eq!(counted, us(coarse), "{last} {now}");
            assert!(counted <= ps);
        }
        // The counter has 8 bits.
        assert_eq!(gap(at(0), at(100_000), Some(us(10))), us(2540));
    }
}
