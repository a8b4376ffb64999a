//! Flowlets: packets of a flow in a row, no two of them further apart than a timeout. The next flowlet may take another way than the last: what has been
//! sent before it has arrived by then, as long as ways differ by less than the timeout.

use super::recent::{Recent, Used};
use crate::contract::{Findings, FlowHash, FlowKey, Held, View};
use crate::frame::PacketKind;
use crate::ids::PortIx;
use backwater_engine::random::Stream;
use backwater_engine::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a switch tells that a flowlet has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gaps {
    /// By a gap longer than the timeout.
    #[default]
    Exact,
    /// By a bit that is set at every multiple of the timeout, and cleared by every packet: if it is set already there, the flowlet has ended. That is after a gap
    /// of one to two timeouts (CONGA section 3.4).
    AgeBit,
}

impl Gaps {
    /// Whether the flowlet of a packet that came at `last` goes on with one that comes now.
    fn is_short(self, last: Time, now: Time, timeout: Duration) -> bool {
        match self {
            Gaps::Exact => now.since(last) <= timeout,
            Gaps::AgeBit => now.ps() / timeout.ps() - last.ps() / timeout.ps() < 2,
        }
    }
}

/// How packets that are no data find their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Answers {
    /// By a hash, as with ECMP (public simulators of lossless fabrics).
    #[default]
    ByHash,
    /// By flowlets, as data do (the papers, for TCP).
    ByFlowlets,
}

impl Answers {
    /// Whether packets of this kind go by flowlets.
    pub(super) fn by_flowlets(self, kind: PacketKind) -> bool {
        kind == PacketKind::Data || self == Answers::ByFlowlets
    }
}

/// The shortest timeout that has been published for a lossless fabric: that of FLB section 2.1.
pub(super) const SHORTEST_PUBLISHED: Duration = Duration::from_us(50);

/// Checks the options of a table of flowlets.
pub(super) fn check(timeout: Duration, gaps: Gaps, aging: Duration, findings: &mut Findings) {
    findings.positive(Some(timeout), "flowlet_timeout");
    findings.ordered([("flowlet_timeout", timeout), ("aging", aging)]);
    let is_forgotten = gaps == Gaps::AgeBit && timeout <= aging && aging < timeout * 2;
    let message = "must be two flowlet_timeout at least: with gaps = \"age-bit\" flowlets have gaps of up to that";
    findings.error(is_forgotten, "aging", message);
}

/// The last packet of a flow at a switch.
#[derive(Clone, Copy, Debug)]
struct Flowlet {
    /// The port that it has taken.
    port: PortIx,
    /// When it came.
    last: Time,
}

impl Used for Flowlet {
    fn last(&self) -> Time {
        self.last
    }
}

/// The flows that have passed a switch lately.
#[derive(Debug)]
pub(super) struct Flowlets {
    timeout: Duration,
    gaps: Gaps,
    flows: Recent<Flowlet>,
}

impl Flowlets {
    /// An empty table: gaps longer than `timeout` end a flowlet, and flows without a packet for longer than `aging` are forgotten.
    pub(super) fn new(timeout: Duration, gaps: Gaps, aging: Duration) -> Flowlets {
        Flowlets { timeout, gaps, flows: Recent::new(aging) }
    }

    /// Which of `candidates` a packet of `flow` takes: that of the packet before; at the start of a flowlet, and when that link is down or leads there no
    /// longer, what `choose` makes of the last one, if it is remembered and still a candidate.
    pub(super) fn way(
        &mut self,
        flow: FlowKey,
        candidates: &[PortIx],
        view: &View<'_>,
        choose: impl FnOnce(Option<usize>) -> usize,
    ) -> usize {
        let place = self.flows.place(flow.0, view.now);
        // Routes that have changed may lead elsewhere.
        let before = place.known.and_then(|flowlet| candidates.iter().position(|port| *port == flowlet.port));
        let goes_on = place.known.is_some_and(|flowlet| self.gaps.is_short(flowlet.last, view.now, self.timeout));
        let way = match before {
            Some(way) if goes_on && is_usable(way, candidates, view) => way,
            _ => choose(before),
        };
        place.put(Flowlet { port: candidates[way], last: view.now });
        way
    }

    /// Tells `observer` how many flows are remembered.
    pub(super) fn observe(&self, now: Time, observer: &mut dyn FnMut(Held)) {
        observer(Held::Count("flow_entries", self.flows.count(now)));
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        self.flows.heap_bytes()
    }
}

/// Whether a packet may take candidate `way`: its link is up, or none is.
pub(super) fn is_usable(way: usize, candidates: &[PortIx], view: &View<'_>) -> bool {
    view.port(candidates[way]).is_up() || !candidates.iter().any(|port| view.port(*port).is_up())
}

/// The candidates whose links are up; all, if none is.
pub(super) fn usable<'a>(candidates: &'a [PortIx], view: &'a View<'_>) -> impl Iterator<Item = usize> + Clone + 'a {
    (0..candidates.len()).filter(move |way| is_usable(*way, candidates, view))
}

/// One of `items`, each with the same probability; `None` of none.
pub(super) fn any_of<T>(mut items: impl Iterator<Item = T> + Clone, draws: &mut Stream) -> Option<T> {
    match items.clone().count() as u64 {
        0 => None,
        count => items.nth(draws.below(count) as usize),
    }
}

/// One of `candidates` whose links are up, or of all, if none is: each with the same probability.
pub(super) fn any_usable(candidates: &[PortIx], view: &View<'_>, draws: &mut Stream) -> usize {
    let way = draws.below(candidates.len() as u64) as usize;
    // One that is down stands for all that are up.
    if view.port(candidates[way]).is_up() { way } else { any_of(usable(candidates, view), draws).unwrap_or(way) }
}

/// The way of what does not go by flowlets: ECMP's; where that link is down, a hash over those that are up.
pub(super) fn by_hash(hash: FlowHash, flow: FlowKey, candidates: &[PortIx], view: &View<'_>) -> usize {
    let way = hash.index(flow, candidates.len());
    if is_usable(way, candidates, view) {
        return way;
    }
    let mut others = usable(candidates, view);
    let count = others.clone().count();
    others.nth(hash.index(flow, count)).expect("there are so many")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use crate::model::interfaces::Interfaces;
    use crate::testing::{fabric, interfaces, port, star};
    use backwater_engine::random::Seed;

    const FLOW: FlowKey = FlowKey(7);

    fn at(ns: u64) -> Time {
        Time::from_ps(ns * 1000)
    }

    /// Four ports, of which some are down.
    fn ports(down: &[usize]) -> Interfaces {
        let mut node = interfaces((0..4).map(|_| port(100)).collect());
        down.iter().for_each(|port| node.ports[*port].fail());
        node
    }

    /// A timeout of 100 ns, and ageing after 1 us.
    fn flowlets() -> Flowlets {
        with_gaps(Gaps::Exact)
    }

    fn with_gaps(gaps: Gaps) -> Flowlets {
        Flowlets::new(Duration::from_ns(100), gaps, Duration::from_us(1))
    }

    /// What a packet finds: whether it starts a flowlet and the last way is remembered, and then takes `new`.
    fn packet(flowlets: &mut Flowlets, flow: FlowKey, now: Time, node: &mut Interfaces, new: usize) -> (usize, Asked) {
        let fabric = fabric(star(2));
        let mut asked = Asked::No;
        let view = View::new(now, &fabric, node);
        let way = flowlets.way(flow, &[0, 1, 2, 3], &view, |before| {
            asked = before.map_or(Asked::Unknown, Asked::After);
            new
        });
        (way, asked)
    }

    #[derive(Debug, PartialEq)]
    enum Asked {
        No,
        Unknown,
        After(usize),
    }

    #[test]
    fn a_flowlet_ends_with_a_gap_longer_than_the_timeout() {
        let (mut flowlets, mut node) = (flowlets(), ports(&[]));
        assert_eq!(packet(&mut flowlets, FLOW, at(0), &mut node, 2), (2, Asked::Unknown));
        // Every packet counts: the third is 200 ns behind the first, and 100 ns behind the second.
        assert_eq!(packet(&mut flowlets, FLOW, at(100), &mut node, 3), (2, Asked::No));
        assert_eq!(packet(&mut flowlets, FLOW, at(200), &mut node, 3), (2, Asked::No));
        let late = Time::from_ps(300_001);
        assert_eq!(packet(&mut flowlets, FLOW, late, &mut node, 3), (3, Asked::After(2)));
        assert_eq!(packet(&mut flowlets, FLOW, at(400), &mut node, 0), (3, Asked::No));
        // Another flow has a flowlet of its own.
        assert_eq!(packet(&mut flowlets, FlowKey(8), at(400), &mut node, 0), (0, Asked::Unknown));
    }

    /// The bit is set at 100, 200, ... ns. A packet at 110 ns clears it; it is set at 200, and at 300 ns the flowlet has ended. One at 199 ns has that from 300 ns on as well.
    #[test]
    fn an_age_bit_ends_a_flowlet_after_one_to_two_timeouts() {
        for (last, next, ends) in
            [(110, 299, false), (110, 300, true), (199, 299, false), (199, 300, true), (200, 399, false)]
        {
            let (mut flowlets, mut node) = (with_gaps(Gaps::AgeBit), ports(&[]));
            packet(&mut flowlets, FLOW, at(last), &mut node, 1);
            let (way, _) = packet(&mut flowlets, FLOW, at(next), &mut node, 2);
            assert_eq!(way, if ends { 2 } else { 1 }, "{last} {next}");
        }
    }

    /// The last way is remembered for 1 us to the picosecond, wherever in the periods of 1 us that begins and ends.
    #[test]
    fn a_flow_is_remembered_until_it_is_too_old() {
        for start in [0, 1, 999_999, 1_500_000] {
            for (gap, asked) in [(1_000_000, Asked::After(1)), (1_000_001, Asked::Unknown), (5_000_000, Asked::Unknown)]
            {
                let (mut flowlets, mut node) = (flowlets(), ports(&[]));
                packet(&mut flowlets, FLOW, Time::from_ps(start), &mut node, 1);
                let found = packet(&mut flowlets, FLOW, Time::from_ps(start + gap), &mut node, 3);
                assert_eq!(found, (3, asked), "{start} {gap}");
            }
        }
    }

    /// 100 flows per us, each of one packet: never more than those of two periods.
    #[test]
    fn flows_that_are_gone_leave_nothing_behind() {
        let (mut flowlets, mut node) = (flowlets(), ports(&[]));
        for flow in 0..2000 {
            packet(&mut flowlets, FlowKey(flow), at(flow * 10), &mut node, 0);
            assert!(flowlets.flows.len() <= 200);
        }
        packet(&mut flowlets, FLOW, at(1_000_000), &mut node, 0);
        assert_eq!(flowlets.flows.len(), 1);
    }

    #[test]
    fn a_flowlet_whose_link_is_down_chooses_at_once() {
        let (mut flowlets, mut up) = (flowlets(), ports(&[]));
        packet(&mut flowlets, FLOW, at(0), &mut up, 1);
        assert_eq!(packet(&mut flowlets, FLOW, at(10), &mut ports(&[0, 2]), 3), (1, Asked::No));
        assert_eq!(packet(&mut flowlets, FLOW, at(20), &mut ports(&[1]), 3), (3, Asked::After(1)));
        // Where no link is up, it stays.
        assert_eq!(packet(&mut flowlets, FLOW, at(30), &mut ports(&[0, 1, 2, 3]), 0), (3, Asked::No));
    }

    /// Routes may change: what counts is the port, wherever it stands among the candidates, and if it is none any more, the flow chooses anew.
    #[test]
    fn a_flowlet_keeps_to_its_port() {
        let (mut flowlets, mut node, fabric) = (flowlets(), ports(&[]), fabric(star(2)));
        let mut way = |ns, candidates: &[PortIx]| {
            let view = View::new(at(ns), &fabric, &mut node);
            flowlets.way(FLOW, candidates, &view, |before| before.unwrap_or(0))
        };
        assert_eq!(way(0, &[2, 3]), 0);
        assert_eq!(way(10, &[0, 1, 2, 3]), 2);
        assert_eq!(way(20, &[1, 3]), 0);
        assert_eq!(way(30, &[0, 1]), 1);
        // Also after a gap.
        assert_eq!(way(500, &[3, 0, 1]), 2);
    }

    #[test]
    fn only_links_that_are_up_are_candidates() {
        let fabric = fabric(star(2));
        let mut draws = Seed(1).stream("test", 0);
        for (down, left) in [(vec![], vec![0, 1, 2, 3]), (vec![0, 2], vec![1, 3]), (vec![0, 1, 2, 3], vec![0, 1, 2, 3])]
        {
            let mut node = ports(&down);
            let view = View::new(Time::ZERO, &fabric, &mut node);
            assert_eq!(usable(&[0, 1, 2, 3], &view).collect::<Vec<_>>(), left);
            let mut counts = [0u32; 4];
            (0..4000).for_each(|_| counts[any_of(usable(&[0, 1, 2, 3], &view), &mut draws).unwrap()] += 1);
            // Five standard deviations of 4000 draws are at most 158.
            let fair = 4000 / left.len() as u32;
            assert!((0..4).all(|way| counts[way].abs_diff(if left.contains(&way) { fair } else { 0 }) < 158));
        }
    }

    /// Whatever goes by hash goes as with ECMP, and only what would leave through a link that is down goes elsewhere.
    #[test]
    fn a_hash_avoids_links_that_are_down() {
        let (fabric, hash) = (fabric(star(2)), FlowHash::new(Seed(1), NodeId(5)));
        let ways = |down: &[usize]| {
            let mut node = ports(down);
            let view = View::new(Time::ZERO, &fabric, &mut node);
            (0..400).map(|flow| by_hash(hash, FlowKey(flow), &[0, 1, 2, 3], &view)).collect::<Vec<_>>()
        };
        let all: Vec<_> = (0..400).map(|flow| hash.index(FlowKey(flow), 4)).collect();
        assert_eq!([ways(&[]), ways(&[0, 1, 2, 3])], [all.clone(), all.clone()]);
        for (before, now) in all.iter().zip(ways(&[1, 2])) {
            assert!(if [0, 3].contains(before) { now == *before } else { [0, 3].contains(&now) });
        }
    }

    /// What leaves a link that is down is spread: of some 200 flows each of the two that are up gets a half, but for chance: 5 standard deviations are 35.
    #[test]
    fn a_hash_spreads_the_flows_of_dead_links_over_those_that_are_up() {
        let (fabric, hash, mut node) = (fabric(star(2)), FlowHash::new(Seed(1), NodeId(5)), ports(&[1, 2]));
        let view = View::new(Time::ZERO, &fabric, &mut node);
        let of_dead = (0..400).map(FlowKey).filter(|flow| [1, 2].contains(&hash.index(*flow, 4)));
        let mut counts = [0u32; 4];
        of_dead.for_each(|flow| counts[by_hash(hash, flow, &[0, 1, 2, 3], &view)] += 1);
        assert!(counts[0].abs_diff(counts[3]) < 2 * 35 && counts[0] + counts[3] > 150, "{counts:?}");
    }
}
