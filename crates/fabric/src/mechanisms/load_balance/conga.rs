//! CONGA (Alizadeh et al., SIGCOMM 2014): leaf switches tell each other how busy the paths between them are, and every flowlet takes the path whose
//! busiest link is the least busy.
//!
//! Every link between switches has a rate estimator. A packet carries the most that those on its way have shown, by the uplink through which it has left
//! its leaf; the leaf at its end keeps that in a table, and sends it back with the packets that go the other way.

use super::dre::Dre;
use super::flowlets::{self, Answers, Flowlets, Gaps, any_of, by_hash, usable};
use crate::contract::{
    Choice, Findings, FlowHash, HookSet, LbStat, LoadBalance, LoadBalanceOptions, Neighbour, Options, PacketContext,
    PipelineHooks, PortFacts, RouteRequest, SchemeContext, Shape, Site, View,
};
use crate::frame::Packet;
use crate::frame::record::PathHeader;
use crate::ids::{NodeId, PortIx};
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
    /// Longest gap between two packets of a flowlet. Default 50 us (that of LetFlow in FLB section 2.1, in a lossless fabric of 40 Gb/s; the ConWeave
    /// simulator has 100 us, the paper 500 us with TCP at 10 Gb/s).
    pub flowlet_timeout: Duration,
    /// How long a leaf remembers what it hears nothing new of, at least `flowlet_timeout`: a metric older than that counts as 0, and of a flow it is
    /// forgotten which path it has taken. Default 200 us (configurations of the ConWeave simulator; others have 500 us, and the paper names 10 ms as an
    /// example).
    pub aging: Duration,
    /// Bits Q of a metric: a utilisation of 1 is 2^Q, and more than 2^Q - 1 is written as that. Default 3 (paper).
    #[schemars(range(min = 1, max = 8))]
    pub bits: u8,
    /// Period T_dre of the rate estimators. Default 32 us, so that with the default of `alpha` the time constant T_dre / alpha is 160 us (paper; the
    /// ConWeave simulator is run with 50 us).
    pub dre_period: Duration,
    /// What part alpha of its count of bytes a rate estimator drops in every period: more than 0, at most 1. Default 0.2 (the ConWeave simulator; the
    /// paper tells only the time constant).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub alpha: f64,
    /// How long a metric that has aged takes to fall to 0, evenly and rounded down. Default 0: it counts as 0 at once (the paper has it decay gradually, and
    /// does not tell how; the ConWeave simulator has it count as 0).
    pub fade: Duration,
    /// How a switch tells that a flowlet has ended.
    pub gaps: Gaps,
    /// How packets that are no data find their way.
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
    fn check(&self, _beside: &SchemeContext<'_>, findings: &mut Findings) {
        flowlets::check(self.flowlet_timeout, self.gaps, self.aging, findings);
        findings.positive(Some(self.dre_period), "dre_period");
        findings.positive(Some(self.alpha), "alpha");
    }

    fn applies(&self, shape: &Shape) -> Result<(), String> {
        if shape.layers > 2 {
            return Err(format!(
                "conga's leaves choose between uplinks, one for each path to another leaf: there can be 2 layers of switches, and there are {}",
                shape.layers
            ));
        }
        if shape.multihomed {
            return Err(
                "conga's tables are from leaf to leaf: a host must have one link, and there are hosts with several"
                    .into(),
            );
        }
        Ok(())
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

/// What a packet carries between leaves (in the paper, in the header of the overlay).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The leaf that it comes from.
    pub leaf: NodeId,
    /// The port through which it has left that (LBTag).
    pub tag: PortIx,
    /// The largest metric of the links that it has passed (CE).
    pub metric: u8,
    /// What packets had met that came to that leaf from the one to which this one goes: their tag, and their metric (FB_LBTag, FB_Metric).
    pub feedback: Option<(PortIx, u8)>,
}

impl From<Header> for PathHeader {
    fn from(Header { leaf, tag, metric, feedback }: Header) -> PathHeader {
        let feedback = feedback.map_or(0, |(tag, metric)| 1 << 31 | u32::from(tag) << 8 | u32::from(metric));
        [leaf.0, tag.into(), metric.into(), feedback, 0, 0, 0]
    }
}

impl From<PathHeader> for Header {
    fn from([leaf, tag, metric, feedback, ..]: PathHeader) -> Header {
        let feedback = (feedback >> 31 == 1).then_some(((feedback >> 8) as PortIx, feedback as u8));
        Header { leaf: NodeId(leaf), tag: tag as PortIx, metric: metric as u8, feedback }
    }
}

/// CONGA at one switch.
#[derive(Debug, GetSize)]
pub struct Conga {
    node: NodeId,
    links: Vec<Link>,
    /// The other leaves that packets have come from.
    leaves: BTreeMap<NodeId, Leaf>,
    ageing: Ageing,
    flowlets: Flowlets,
    answers: Answers,
    hash: FlowHash,
    draws: Stream,
}

/// A link of the switch.
#[derive(Debug, GetSize)]
struct Link {
    to_host: bool,
    dre: Dre,
}

/// How metrics age.
#[derive(Clone, Copy, Debug, GetSize)]
struct Ageing {
    /// How long one stays what it is.
    after: Duration,
    /// How long it then takes to fall to 0.
    fade: Duration,
}

/// How busy a path was, and when that was heard.
#[derive(Clone, Copy, Debug, Default, GetSize)]
struct Metric {
    value: u8,
    heard: Time,
}

impl Metric {
    /// What it is worth now.
    fn at(&self, now: Time, ageing: Ageing) -> u8 {
        let over = now.since(self.heard).saturating_sub(ageing.after);
        if over == Duration::ZERO {
            return self.value;
        }
        let left = ageing.fade.saturating_sub(over);
        // No more than the value; a `fade` of 0 leaves nothing.
        (u128::from(self.value) * u128::from(left.ps()) / u128::from(ageing.fade.ps().max(1))) as u8
    }
}

/// What is known of the paths to another leaf, and of those from it.
#[derive(Debug, GetSize)]
struct Leaf {
    /// Congestion-To-Leaf, by port here.
    to: Vec<Metric>,
    /// Congestion-From-Leaf, in the order in which they were first heard of.
    from: Vec<FromLeaf>,
    /// Whose turn it is to be sent back.
    turn: usize,
}

/// How busy a path from another leaf is.
#[derive(Debug, GetSize)]
struct FromLeaf {
    tag: PortIx,
    metric: Metric,
    /// What was last sent back.
    told: u8,
}

impl Leaf {
    fn new(ports: usize) -> Leaf {
        Leaf { to: vec![Metric::default(); ports], from: Vec::new(), turn: 0 }
    }

    /// Takes down what a packet from there says.
    fn hear(&mut self, header: &Header, now: Time) {
        if let Some((port, value)) = header.feedback
            && let Some(metric) = self.to.get_mut(usize::from(port))
        {
            *metric = Metric { value, heard: now };
        }
        let metric = Metric { value: header.metric, heard: now };
        match self.from.iter_mut().find(|from| from.tag == header.tag) {
            Some(from) => from.metric = metric,
            None => self.from.push(FromLeaf { tag: header.tag, metric, told: 0 }),
        }
    }

    /// What to send back: the next path in turn whose metric is not what was last sent of it, or else the next path.
    fn feedback(&mut self, now: Time, ageing: Ageing) -> Option<(PortIx, u8)> {
        let (count, turn) = (self.from.len(), self.turn);
        let is_new = |ix: &usize| self.from[*ix].metric.at(now, ageing) != self.from[*ix].told;
        let mut in_turn = (0..count).map(|step| (turn + step) % count);
        let chosen = in_turn.clone().find(is_new).or_else(|| in_turn.next())?;
        self.turn = chosen + 1;
        let from = &mut self.from[chosen];
        from.told = from.metric.at(now, ageing);
        Some((from.tag, from.told))
    }
}

impl Conga {
    /// CONGA at `site`.
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
            hash: FlowHash::new(site.seed, site.node),
            draws: site.seed.stream("conga", u64::from(site.node.0)),
        }
    }

    /// Whether what comes in at `port` comes from a host. What the switch itself makes comes in at none.
    fn is_from_host(&self, port: PortIx) -> bool {
        self.links.get(usize::from(port)).is_some_and(|link| link.to_host)
    }
}

/// The leaf to which `packet` goes that leaves `node` through `egress`.
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
        let link = &mut self.links[usize::from(packet.egress)];
        if link.to_host {
            return;
        }
        link.dre.add(packet.frame.size.wire, view.now);
        let metric = link.dre.metric(view.now);
        if self.is_from_host(packet.ingress) {
            let leaf = leaf_of(packet.packet(), self.node, packet.egress, view);
            let feedback = self.leaves.get_mut(&leaf).and_then(|leaf| leaf.feedback(view.now, self.ageing));
            *packet.path_header_mut() = Header { leaf: self.node, tag: packet.egress, metric, feedback }.into();
        } else if let Some(header) = packet.path_header().copied() {
            let header = Header::from(header);
            *packet.path_header_mut() = Header { metric: metric.max(header.metric), ..header }.into();
        }
    }

    fn on_last_hop(&mut self, packet: &mut PacketContext<'_>, view: &mut View<'_>) {
        let Some(header) = packet.path_header().copied().map(Header::from) else { return };
        let ports = self.links.len();
        self.leaves.entry(header.leaf).or_insert_with(|| Leaf::new(ports)).hear(&header, view.now);
    }
}

impl LoadBalance for Conga {
    fn choose(&mut self, arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Choice {
        let RouteRequest { key, candidates, destination, .. } = *arrival;
        if !self.answers.by_flowlets(arrival.packet.packet().kind) || !self.is_from_host(arrival.packet.ingress) {
            return Choice::Candidate(by_hash(self.hash, key, candidates, view));
        }
        let Conga { links, leaves, ageing, flowlets, draws, .. } = self;
        let leaf = leaves.get(&view.paths.first_hop_switch(destination));
        let metric = |way: usize| {
            let port = usize::from(candidates[way]);
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
