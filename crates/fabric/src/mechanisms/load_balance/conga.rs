//! CONGA (Alizadeh et al., SIGCOMM 2014): leaf switches exchange the load of the paths between
//! them, and every flowlet takes the path whose busiest link is the least busy.
//!
//! Every link between switches has a rate estimator. A packet carries the largest load of the links
//! on its path, and the uplink by which it left its leaf. The destination leaf stores load and
//! uplink in a table, and returns them in packets of the reverse direction.

use super::dre::Dre;
use super::flowlets::{self, Answers, Flowlets, Gaps, any_of, by_hash, usable};
use crate::contract::{
    Choice, Diagnostics, FlowHash, HookSet, LbStat, LoadBalance, LoadBalanceOptions, Neighbour, Options, PacketContext,
    PipelineHooks, PortFacts, RouteRequest, SchemeContext, Shape, Site, View,
};
use crate::frame::Packet;
use crate::frame::record::PathHeader;
use crate::ids::{NodeId, PortIx};
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::random::Stream;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// CONGA: every flowlet takes the path whose busiest link is the least busy (SIGCOMM 2014).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CongaConfig {
    /// Longest gap between two packets of a flowlet. Default 50 us (LetFlow's in FLB section 2.1,
    /// in a lossless fabric of 40 Gb/s; the ConWeave simulator has 100 us, the paper 500 us with
    /// TCP at 10 Gb/s).
    pub flowlet_timeout: Duration,
    /// Age limit, at least `flowlet_timeout`, of a leaf's records: an older metric counts as 0, and
    /// the path of a flow without packets for this time is removed. Default 200 us (some
    /// configurations of the ConWeave simulator; other configurations have 500 us, and the paper
    /// names 10 ms as an example).
    pub aging: Duration,
    /// Bits Q of a metric: a utilisation of 1 is 2^Q, and values above 2^Q - 1 are capped. Default
    /// 3 (paper).
    #[schemars(range(min = 1, max = 8))]
    pub bits: u8,
    /// Period T_dre of the rate estimators. Default 32 us: with the default of `alpha`, the time
    /// constant T_dre / alpha is then 160 us (paper). The ConWeave simulator is run with a period
    /// of 50 us.
    pub dre_period: Duration,
    /// Share alpha of a rate estimator's byte count that is dropped in every period: more than 0,
    /// at most 1. Default 0.2 (the ConWeave simulator; the paper states only the time constant).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub alpha: f64,
    /// Time in which an aged metric falls to 0, linearly and rounded down. Default 0: at once (the
    /// paper's metrics decay gradually by an unspecified rule; in the ConWeave simulator, aged
    /// metrics count as 0).
    pub fade: Duration,
    /// Detection of a flowlet's end.
    pub gaps: Gaps,
    /// Path choice of packets other than data.
    pub answers: Answers,
}

impl Default for CongaConfig {
    fn default() -> Self {
        CongaConfig {
            flowlet_timeout: flowlets::SHORTEST_PUBLISHED,
            aging: Duration::from_us(200),
            bits: 3,
            dre_period: Duration::from_us(32),
            alpha: 0.2,
            fade: Duration::ZERO,
            gaps: Gaps::default(),
            answers: Answers::default(),
        }
    }
}

impl Options for CongaConfig {
    fn check(&self, _scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        flowlets::check(self.flowlet_timeout, self.gaps, self.aging, diagnostics);
        diagnostics.positive(Some(self.dre_period), "dre_period");
        diagnostics.positive(Some(self.alpha), "alpha");
    }

    fn applies(&self, shape: &Shape) -> Result<(), String> {
        if shape.layers > 2 {
            return Err(format!(
                "conga supports at most 2 layers of switches (an uplink must determine the path to another leaf), but \
                    this network has {} layers",
                shape.layers
            ));
        }
        shape.single_homed("conga")
    }
}

impl LoadBalanceOptions for CongaConfig {
    type Instance = Box<Conga>;

    fn reorders(&self) -> bool {
        self.flowlet_timeout < flowlets::SHORTEST_PUBLISHED
    }

    fn build(&self, site: &Site<'_>) -> Box<Conga> {
        Box::new(Conga::new(self, site))
    }
}

/// Header of packets between leaves (in the paper, part of the overlay header).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafHeader {
    /// Source leaf.
    pub leaf: NodeId,
    /// Uplink of the source leaf (LBTag).
    pub tag: PortIx,
    /// Largest metric of the links passed (CE).
    pub metric: u8,
    /// Uplink and metric of packets from the destination leaf to the source leaf (FB_LBTag,
    /// FB_Metric).
    pub feedback: Option<(PortIx, u8)>,
}

impl From<LeafHeader> for PathHeader {
    fn from(LeafHeader { leaf, tag, metric, feedback }: LeafHeader) -> PathHeader {
        let feedback = feedback.map_or(0, |(tag, metric)| 1 << 31 | u32::from(tag.0) << 8 | u32::from(metric));
        [leaf.0, tag.0.into(), metric.into(), feedback, 0, 0, 0]
    }
}

impl From<PathHeader> for LeafHeader {
    fn from([leaf, tag, metric, feedback, ..]: PathHeader) -> LeafHeader {
        let feedback = (feedback >> 31 == 1).then_some((PortIx((feedback >> 8) as u16), feedback as u8));
        LeafHeader { leaf: NodeId(leaf), tag: PortIx(tag as u16), metric: metric as u8, feedback }
    }
}

/// CONGA at one switch.
#[derive(Debug, GetSize)]
pub struct Conga {
    node: NodeId,
    links: IndexVec<PortIx, Link>,
    /// Other leaves from which packets have arrived.
    leaves: BTreeMap<NodeId, Leaf>,
    ageing: Ageing,
    flowlets: Flowlets,
    answers: Answers,
    hash: FlowHash,
    draws: Stream,
}

/// Link of the switch.
#[derive(Debug, GetSize)]
struct Link {
    to_host: bool,
    dre: Dre,
}

/// Ageing of metrics.
#[derive(Clone, Copy, Debug, GetSize)]
struct Ageing {
    /// Time for which a metric holds.
    after: Duration,
    /// Time in which the metric then falls to 0.
    fade: Duration,
}

/// Load of a path, and the time of its report.
#[derive(Clone, Copy, Debug, Default, GetSize)]
struct Metric {
    value: u8,
    updated: Time,
}

impl Metric {
    /// Returns the metric's present value.
    fn at(&self, now: Time, ageing: Ageing) -> u8 {
        let over = now.since(self.updated).saturating_sub(ageing.after);
        if over == Duration::ZERO {
            return self.value;
        }
        let left = ageing.fade.saturating_sub(over);
        // The result is at most `value`; with a `fade` of 0, it is 0.
        (u128::from(self.value) * u128::from(left.ps()) / u128::from(ageing.fade.ps().max(1))) as u8
    }
}

/// Known paths to and from another leaf.
#[derive(Debug, GetSize)]
struct Leaf {
    /// Congestion-To-Leaf, by port of this leaf.
    to: IndexVec<PortIx, Metric>,
    /// Congestion-From-Leaf, in the order of the first reports.
    from: Vec<FromLeaf>,
    /// Index in `from` of the next path to report.
    turn: usize,
}

/// Load of a path from another leaf.
#[derive(Debug, GetSize)]
struct FromLeaf {
    tag: PortIx,
    metric: Metric,
    /// Last reported value.
    last_sent: u8,
}

impl Leaf {
    fn new(ports: usize) -> Leaf {
        Leaf { to: vec![Metric::default(); ports].into(), from: Vec::new(), turn: 0 }
    }

    /// Records the header of a packet that arrived from this leaf.
    fn record(&mut self, header: &LeafHeader, now: Time) {
        if let Some((port, value)) = header.feedback
            && let Some(metric) = self.to.get_mut(port.index())
        {
            *metric = Metric { value, updated: now };
        }
        let metric = Metric { value: header.metric, updated: now };
        match self.from.iter_mut().find(|from| from.tag == header.tag) {
            Some(from) => from.metric = metric,
            None => self.from.push(FromLeaf { tag: header.tag, metric, last_sent: 0 }),
        }
    }

    /// Returns the next feedback: the next path in turn whose metric differs from its last report,
    /// otherwise the next path.
    fn feedback(&mut self, now: Time, ageing: Ageing) -> Option<(PortIx, u8)> {
        let (count, turn) = (self.from.len(), self.turn);
        let is_new = |ix: &usize| self.from[*ix].metric.at(now, ageing) != self.from[*ix].last_sent;
        let mut in_turn = (0..count).map(|step| (turn + step) % count);
        let chosen = in_turn.clone().find(is_new).or_else(|| in_turn.next())?;
        self.turn = chosen + 1;
        let from = &mut self.from[chosen];
        from.last_sent = from.metric.at(now, ageing);
        Some((from.tag, from.last_sent))
    }
}

impl Conga {
    /// Returns CONGA at `site`.
    pub fn new(config: &CongaConfig, site: &Site<'_>) -> Conga {
        let link = |(port, neighbour): (&PortFacts, &Neighbour)| Link {
            to_host: neighbour.is_host,
            dre: Dre::new(config.dre_period, config.alpha, 1 << config.bits, port),
        };
        Conga {
            node: site.node,
            links: site.links().map(link).collect(),
            leaves: BTreeMap::new(),
            ageing: Ageing { after: config.aging, fade: config.fade },
            flowlets: Flowlets::new(config.flowlet_timeout, config.gaps, config.aging),
            answers: config.answers,
            hash: FlowHash::new(site.hash_seed, site.node),
            draws: site.seed.stream("conga", u64::from(site.node.0)),
        }
    }

    /// Returns true if packets that arrive at `port` come from a host. The switch's own packets
    /// arrive at no port.
    fn is_from_host(&self, port: PortIx) -> bool {
        self.links.get(port.index()).is_some_and(|link| link.to_host)
    }
}

/// Returns the destination leaf of `packet`, which leaves `node` through `egress`.
fn leaf_of(packet: &Packet, node: NodeId, egress: PortIx, view: &View<'_>) -> NodeId {
    let along = |node: NodeId, port: PortIx| view.paths.neighbour(node, port);
    let pinned = || packet.route.remaining().fold(along(node, egress), along);
    view.paths.first_hop_switch(packet.route.destination().unwrap_or_else(pinned))
}

impl PipelineHooks for Conga {
    fn hooks(&self) -> HookSet {
        HookSet::DATA_DEPARTURE | HookSet::OTHER_DEPARTURE | HookSet::LAST_HOP
    }

    fn on_departure(&mut self, packet: &mut PacketContext<'_>, _queue_bytes: u64, view: &mut View<'_>) {
        let link = &mut self.links[packet.egress];
        if link.to_host {
            return;
        }
        link.dre.add(packet.wire_bytes(), view.now);
        let metric = link.dre.metric(view.now);
        if self.is_from_host(packet.ingress()) {
            let leaf = leaf_of(packet.headers(), self.node, packet.egress, view);
            let feedback = self.leaves.get_mut(&leaf).and_then(|leaf| leaf.feedback(view.now, self.ageing));
            *packet.path_header_mut() = LeafHeader { leaf: self.node, tag: packet.egress, metric, feedback }.into();
        } else if let Some(header) = packet.path_header().copied() {
            let header = LeafHeader::from(header);
            *packet.path_header_mut() = LeafHeader { metric: metric.max(header.metric), ..header }.into();
        }
    }

    fn on_last_hop(&mut self, packet: &mut PacketContext<'_>, view: &mut View<'_>) {
        let Some(header) = packet.path_header().copied().map(LeafHeader::from) else { return };
        let ports = self.links.len();
        self.leaves.entry(header.leaf).or_insert_with(|| Leaf::new(ports)).record(&header, view.now);
    }
}

impl LoadBalance for Conga {
    fn choose(&mut self, arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Choice {
        let RouteRequest { key, candidates, destination, .. } = *arrival;
        if !self.answers.by_flowlets(arrival.packet.headers().kind) || !self.is_from_host(arrival.packet.ingress()) {
            return Choice::Candidate(by_hash(self.hash, key, candidates, view));
        }
        let Conga { links, leaves, ageing, flowlets, draws, .. } = self;
        let leaf = leaves.get(&view.paths.first_hop_switch(destination));
        let metric = |way: usize| {
            let port = candidates[way];
            let remote = leaf.map_or(0, |leaf| leaf.to[port].at(view.now, *ageing));
            links[port].dre.metric(view.now).max(remote)
        };
        Choice::Candidate(flowlets.way(key, candidates, view, |before| {
            let ways = usable(candidates, view);
            let least = ways.clone().map(metric).min();
            let best = ways.filter(|way| Some(metric(*way)) == least);
            match before {
                Some(way) if best.clone().any(|best| best == way) => way,
                _ => any_of(best, draws).expect("packets have candidates"),
            }
        }))
    }

    fn observe(&self, now: Time, observer: &mut dyn FnMut(LbStat)) {
        self.flowlets.observe(now, observer);
    }
}

#[cfg(test)]
mod tests;
