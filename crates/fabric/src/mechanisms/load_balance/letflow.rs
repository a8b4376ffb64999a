//! LetFlow (Vanini et al., NSDI 2017): every flowlet takes a random equal-cost port. Flows on slow
//! paths pause more often, and thus leave those paths.

pub use super::flowlets::{Answers, Gaps};

use super::flowlets::{self, Flowlets, any_of, by_hash, usable};
use crate::contract::{
    Choice, Diagnostics, FlowHash, LbStat, LoadBalance, LoadBalanceOptions, Options, PipelineHooks, RouteRequest,
    SchemeContext, Site, View,
};
use backwater_engine::random::Stream;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// LetFlow: every flowlet takes a random equal-cost port (NSDI 2017).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LetFlowConfig {
    /// Longest gap between two packets of a flowlet. Default 50 us (FLB section 2.1, in a lossless
    /// fabric of 40 Gb/s; the ConWeave simulator has 100 us, the paper's testbed 500 us).
    pub flowlet_timeout: Duration,
    /// Time that a switch remembers a flow without packets, at least `flowlet_timeout`. This time
    /// affects memory, not results. Default 2 ms (the ConWeave simulator).
    pub aging: Duration,
    /// Detection of a flowlet's end.
    pub gaps: Gaps,
    /// Path choice of packets other than data.
    pub answers: Answers,
}

impl Default for LetFlowConfig {
    fn default() -> Self {
        LetFlowConfig {
            flowlet_timeout: flowlets::SHORTEST_PUBLISHED,
            aging: Duration::from_ms(2),
            gaps: Gaps::default(),
            answers: Answers::default(),
        }
    }
}

impl Options for LetFlowConfig {
    fn check(&self, _scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        flowlets::check(self.flowlet_timeout, self.gaps, self.aging, diagnostics);
    }
}

impl LoadBalanceOptions for LetFlowConfig {
    type Instance = Box<LetFlow>;

    fn reorders(&self) -> bool {
        self.flowlet_timeout < flowlets::SHORTEST_PUBLISHED
    }

    fn build(&self, site: &Site<'_>) -> Box<LetFlow> {
        Box::new(LetFlow {
            flowlets: Flowlets::new(self.flowlet_timeout, self.gaps, self.aging),
            answers: self.answers,
            hash: FlowHash::new(site.hash_seed, site.node),
            draws: site.seed.stream("letflow", u64::from(site.node.0)),
        })
    }
}

/// LetFlow at one switch.
#[derive(Debug, GetSize)]
pub struct LetFlow {
    flowlets: Flowlets,
    answers: Answers,
    hash: FlowHash,
    draws: Stream,
}

impl PipelineHooks for LetFlow {}

impl LoadBalance for LetFlow {
    fn choose(&mut self, arrival: &mut RouteRequest<'_>, view: &mut View<'_>) -> Choice {
        let RouteRequest { key, candidates, .. } = *arrival;
        let LetFlow { flowlets, answers, hash, draws } = self;
        Choice::Candidate(if answers.by_flowlets(arrival.packet.headers().kind) {
            flowlets.way(key, candidates, view, |_| {
                any_of(usable(candidates, view), draws).expect("packets have candidates")
            })
        } else {
            by_hash(*hash, key, candidates, view)
        })
    }

    fn observe(&self, now: Time, observer: &mut dyn FnMut(LbStat)) {
        self.flowlets.observe(now, observer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::FlowKey;
    use crate::contract::packet::QueuedPacket;
    use crate::frame::record::Records;
    use crate::frame::{Body, Frame, PacketKind};
    use crate::ids::NodeId;
    use crate::ids::PortIx;
    use crate::testing::{fabric, frame, node_io, port, star};
    use backwater_engine::Time;

    /// Returns the ports of a flow's packets at these times in nanoseconds, at a switch with four
    /// ports.
    fn ways(balancer: &mut LetFlow, flow: u64, kind: PacketKind, times: impl Iterator<Item = u64>) -> Vec<usize> {
        let (fabric, mut node) = (fabric(star(5)), node_io((0..4).map(|_| port(100)).collect()));
        let mut way = |ns| {
            let (mut records, mut frame) = (Records::default(), frame(3, 1000));
            let Frame { body: Body::Packet(packet), .. } = &mut frame else { unreachable!("it is a data packet") };
            packet.kind = kind;
            let mut queued = QueuedPacket::new(frame, PortIx(0), Time::ZERO);
            let packet = queued.context(PortIx::NONE, &mut records);
            let (key, destination) = (FlowKey(flow), NodeId(1));
            let arrival = &mut RouteRequest { packet, destination, key, candidates: &[0, 1, 2, 3].map(PortIx) };
            match balancer.choose(arrival, &mut View::new(Time::from_ps(ns * 1000), &fabric, &mut node)) {
                Choice::Candidate(way) => way,
                Choice::Route(route) => panic!("a whole route: {route:?}"),
            }
        };
        times.map(&mut way).collect()
    }

    fn letflow(config: &LetFlowConfig) -> Box<LetFlow> {
        config.build(&fabric(star(5)).site(NodeId(5)))
    }

    /// Gaps of 50 us keep a flow on its port; longer gaps move it to any port.
    #[test]
    fn flowlets_take_every_port_about_equally() {
        let mut balancer = letflow(&LetFlowConfig::default());
        let steady = ways(&mut balancer, 1, PacketKind::Data, (0..1000).map(|i| i * 50_000));
        assert_eq!(steady, vec![steady[0]; 1000]);
        let bursts = ways(&mut balancer, 2, PacketKind::Data, (0..40_000).map(|i| i * 50_001));
        let counts = [0, 1, 2, 3].map(|way| bursts.iter().filter(|taken| **taken == way).count());
        // Each port is taken 10,000 times, within five standard deviations.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 433), "{counts:?}");
    }

    /// The time that flows are remembered affects only memory.
    #[test]
    fn ageing_changes_nothing() {
        let times = || (0..2000).map(|i| i * i * 100 % 7_000_000 + i * 1_000_000);
        let chosen = |aging| {
            let config = LetFlowConfig { aging, ..Default::default() };
            ways(&mut letflow(&config), 1, PacketKind::Data, times())
        };
        assert_eq!(chosen(Duration::from_us(50)), chosen(Duration::from_ms(100)));
    }

    #[test]
    fn packets_other_than_data_use_the_hash() {
        let mut balancer = letflow(&LetFlowConfig::default());
        let site = fabric(star(5));
        let site = site.site(NodeId(5));
        for (flow, kind) in (0..).zip([PacketKind::Ack, PacketKind::Nack, PacketKind::Cnp, PacketKind::Notice]) {
            let by_hash = FlowHash::new(site.seed, site.node).index(FlowKey(flow), 4);
            assert_eq!(ways(&mut balancer, flow, kind, (0..10).map(|i| i * 60_000)), [by_hash; 10]);
        }
        // With flowlets, a packet after a gap takes any port. Without a gap, packets stay on their
        // port.
        let mut balancer = letflow(&LetFlowConfig { answers: Answers::ByFlowlets, ..Default::default() });
        let mut taken = ways(&mut balancer, 1, PacketKind::Ack, (0..100).map(|i| i * 60_000));
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken, [0, 1, 2, 3]);
        let steady = ways(&mut balancer, 2, PacketKind::Ack, (0..100).map(|i| i * 40_000));
        assert_eq!(steady, vec![steady[0]; 100]);
    }

    /// Below the shortest published timeout, receivers must tolerate reordering.
    #[test]
    fn short_timeouts_reorder() {
        let reorders = |us| {
            let flowlet_timeout = Duration::from_us(us);
            LetFlowConfig { flowlet_timeout, ..Default::default() }.reorders()
        };
        assert_eq!([reorders(49), reorders(50), reorders(500)], [true, false, false]);
    }
}
