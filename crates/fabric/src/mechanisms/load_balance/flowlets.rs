//! Flowlets: consecutive packets of a flow with gaps of at most a timeout. The next flowlet may
//! take another path than the last. Earlier packets have arrived by then if path delays differ by
//! less than the timeout.

use super::recent::{Recent, Used};
use crate::contract::{Diagnostics, FlowHash, FlowKey, LbStat, View};
use crate::frame::PacketKind;
use crate::ids::PortIx;
use backwater_engine::random::Stream;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Detection of a flowlet's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, GetSize)]
#[serde(rename_all = "kebab-case")]
pub enum Gaps {
    /// A gap longer than the timeout.
    #[default]
    Exact,
    /// An age bit, set at every multiple of the timeout and cleared by every packet. If the bit is
    /// still set at the next multiple, the flowlet has ended: after a gap of one to two timeouts
    /// (section 3.4 of CONGA's paper).
    AgeBit,
}

impl Gaps {
    /// Returns true if a packet at `now` belongs to the flowlet of the flow's previous packet, at
    /// `last`.
    fn is_short(self, last: Time, now: Time, timeout: Duration) -> bool {
        match self {
            Gaps::Exact => now.since(last) <= timeout,
            Gaps::AgeBit => now.ps() / timeout.ps() - last.ps() / timeout.ps() < 2,
        }
    }
}

/// Path choice of packets other than data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, GetSize)]
#[serde(rename_all = "kebab-case")]
pub enum Answers {
    /// By a hash, as with ECMP (public simulators of lossless fabrics).
    #[default]
    ByHash,
    /// By flowlets, like data (the papers, for TCP).
    ByFlowlets,
}

impl Answers {
    /// Returns true if packets of this kind are sent by flowlets.
    pub(super) fn by_flowlets(self, kind: PacketKind) -> bool {
        kind == PacketKind::Data || self == Answers::ByFlowlets
    }
}

/// Shortest published timeout for a lossless fabric: section 2.1 of FLB's paper.
pub(super) const SHORTEST_PUBLISHED: Duration = Duration::from_us(50);

/// Checks the options of a flowlet table.
pub(super) fn check(timeout: Duration, gaps: Gaps, aging: Duration, diagnostics: &mut Diagnostics) {
    diagnostics.positive(Some(timeout), "flowlet_timeout");
    diagnostics.ordered([("flowlet_timeout", timeout), ("aging", aging)]);
    let is_forgotten = gaps == Gaps::AgeBit && timeout <= aging && aging < timeout * 2;
    let message = "must be at least twice flowlet_timeout: with gaps = \"age-bit\", detecting a gap can take that long";
    diagnostics.error(is_forgotten, "aging", message);
}

/// Last packet of a flow at a switch.
#[derive(Clone, Copy, Debug, GetSize)]
struct Flowlet {
    /// Port that the packet took.
    port: PortIx,
    /// Arrival time of the packet.
    last: Time,
}

impl Used for Flowlet {
    fn last(&self) -> Time {
        self.last
    }
}

/// Recent flows of a switch.
#[derive(Debug, GetSize)]
pub(super) struct Flowlets {
    timeout: Duration,
    gaps: Gaps,
    flows: Recent<Flowlet>,
}

impl Flowlets {
    /// Returns an empty table: gaps longer than `timeout` end a flowlet, and flows without a packet
    /// for longer than `aging` are removed.
    pub(super) fn new(timeout: Duration, gaps: Gaps, aging: Duration) -> Flowlets {
        Flowlets { timeout, gaps, flows: Recent::new(aging) }
    }

    /// Returns the candidate for a packet of `flow`: the port of the previous packet. At the start
    /// of a flowlet, or if that port is down or no longer a candidate, `choose` selects the
    /// candidate. `choose` receives the index of the previous port, if that port is known and still
    /// a candidate.
    pub(super) fn way(
        &mut self,
        flow: FlowKey,
        candidates: &[PortIx],
        view: &View<'_>,
        choose: impl FnOnce(Option<usize>) -> usize,
    ) -> usize {
        let place = self.flows.place(flow.0, view.now);
        // Changed routes may exclude the previous port.
        let before = place.known.and_then(|flowlet| candidates.iter().position(|port| *port == flowlet.port));
        let goes_on = place.known.is_some_and(|flowlet| self.gaps.is_short(flowlet.last, view.now, self.timeout));
        let way = match before {
            Some(way) if goes_on && is_usable(way, candidates, view) => way,
            _ => choose(before),
        };
        place.put(Flowlet { port: candidates[way], last: view.now });
        way
    }

    /// Reports the number of known flows to `observer`.
    pub(super) fn observe(&self, now: Time, observer: &mut dyn FnMut(LbStat)) {
        observer(LbStat::Count("flow_entries", self.flows.count(now)));
    }
}

/// Returns true if a packet may take candidate `way`: the candidate's link is up, or the links of
/// all candidates are down.
pub(super) fn is_usable(way: usize, candidates: &[PortIx], view: &View<'_>) -> bool {
    view.port(candidates[way]).is_up() || !candidates.iter().any(|port| view.port(*port).is_up())
}

/// Returns the candidates whose links are up; all candidates if none is up.
pub(super) fn usable<'a>(candidates: &'a [PortIx], view: &'a View<'_>) -> impl Iterator<Item = usize> + Clone + 'a {
    (0..candidates.len()).filter(move |way| is_usable(*way, candidates, view))
}

/// Returns a uniformly random element of `items`; `None` if there is none.
pub(super) fn any_of<T>(mut items: impl Iterator<Item = T> + Clone, draws: &mut Stream) -> Option<T> {
    match items.clone().count() as u64 {
        0 => None,
        count => items.nth(draws.below(count) as usize),
    }
}

/// Returns a uniformly random candidate whose link is up, or any candidate if none is up.
pub(super) fn any_usable(candidates: &[PortIx], view: &View<'_>, draws: &mut Stream) -> usize {
    let way = draws.below(candidates.len() as u64) as usize;
    // A candidate that is down is replaced by a random one that is up.
    if view.port(candidates[way]).is_up() { way } else { any_of(usable(candidates, view), draws).unwrap_or(way) }
}

/// Returns the candidate for a packet that belongs to no flowlet: the candidate of ECMP. If that
/// link is down, a hash selects one of the candidates whose links are up.
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
