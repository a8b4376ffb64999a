//! Flowlets: packets of a flow in a row, no two of them further apart than a timeout. The next flowlet may take another way than the last: what has been
//! sent before it has arrived by then, as long as ways differ by less than the timeout.

use super::recent::{Recent, Used};
use crate::contract::{Findings, FlowHash, FlowKey, LbStat, View};
use crate::frame::PacketKind;
use crate::ids::PortIx;
use backwater_engine::random::Stream;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a switch tells that a flowlet has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, GetSize)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, GetSize)]
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
#[derive(Clone, Copy, Debug, GetSize)]
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
#[derive(Debug, GetSize)]
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
    pub(super) fn observe(&self, now: Time, observer: &mut dyn FnMut(LbStat)) {
        observer(LbStat::Count("flow_entries", self.flows.count(now)));
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
mod tests;
