//! Congestion at any switch: a queue above the isolation threshold K has the flows notified whose packets come to it, and clears them when it is below (section 3.2,
//! Appendix A).

use super::{FlbConfig, Threshold};
use crate::contract::{OutgoingNotice, PacketContext, PortFacts, Site, View};
use crate::frame::{Notice, Route};
use crate::ids::{Class, ClassMask, FlowId, NodeId, PortId, PortIx, QueueIx};
use crate::mechanisms::cnm::{Cnm, FLB};
use crate::mechanisms::growth::Lengths;
use backwater_engine::{Bytes, Duration, Time};
use get_size2::GetSize;
use std::collections::BTreeMap;

/// The detector of one switch.
#[derive(Debug, GetSize)]
pub(super) struct Detector {
    threshold: Threshold,
    /// A queue of no more is never congested: two packets, or none with a static threshold.
    floor: u64,
    /// By egress port: the least queue that can be congested.
    least: Vec<u64>,
    /// By egress port: twice the delay of a link.
    round: Vec<Duration>,
    lossless: ClassMask,
    notify_while_paused: bool,
    interval: Duration,
    timeout: Duration,
    /// Time for which a flow counts in n after its last packet.
    n_timeout: Duration,
    /// With the adaptive threshold: by egress port and queue, how it grows.
    lengths: BTreeMap<(PortIx, QueueIx), Lengths>,
    /// By egress port: its queues that are congested.
    congested: Vec<BTreeMap<QueueIx, Root>>,
}

/// A queue above its threshold.
#[derive(Debug, Default, GetSize)]
struct Root {
    flows: BTreeMap<FlowId, Told>,
    /// When flows without packets were last looked for.
    swept: Time,
}

/// A flow about which a notice has been sent.
#[derive(Debug, GetSize)]
struct Told {
    /// When it was.
    at: Time,
    /// When a packet of it came last that found the queue above the threshold.
    last: Time,
    back: Back,
}

/// The way back to the source of a flow.
#[derive(Clone, Copy, Debug, GetSize)]
pub(super) struct Back {
    to: NodeId,
    /// The port through which it begins: the one through which its packets have come.
    pub(super) port: PortIx,
    route: Route,
}

/// What a flow's source edge is to know.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
    pub(super) flow: FlowId,
    /// The port of which it tells.
    pub(super) root: PortId,
    pub(super) cnm: Cnm,
    pub(super) back: Back,
}

impl News {
    /// Sends it.
    pub(super) fn send(&self, view: &mut View<'_>) {
        let Back { to, port, route } = self.back;
        let notice = Notice { protocol: FLB, from: self.root, flow: self.flow, to, words: self.cnm.words() };
        view.emit(OutgoingNotice { notice, egress: port, class: Class::CONTROL, route });
    }
}

/// What is said of flows that are congested at `root` no more, of which there were so many.
fn clears(root: PortId, flows: u32) -> impl Fn((FlowId, Told)) -> News {
    let cnm = Cnm::Clear { flows };
    move |(flow, told)| News { flow, root, cnm, back: told.back }
}

/// n: the flows of a congested queue of which a packet has found it above the threshold within `timeout`.
fn recent(root: &Root, now: Time, timeout: Duration) -> u32 {
    root.flows.values().filter(|told| now.since(told.last) <= timeout).count() as u32
}

impl Detector {
    pub(super) fn new(config: &FlbConfig, site: &Site<'_>) -> Detector {
        let floor = 2 * site.sizes.largest_charge();
        let round = |port: &PortFacts| config.link_delay.unwrap_or(port.delay) * 2;
        let least = |port: &PortFacts| match config.threshold {
            Threshold::Delay => port.rate.bytes_in(round(port)).max(floor),
            Threshold::Static => config.static_threshold.map_or(u64::MAX, Bytes::get),
            Threshold::Adaptive => floor,
        };
        Detector {
            threshold: config.threshold,
            floor: if config.threshold == Threshold::Static { 0 } else { floor },
            least: site.ports.iter().map(least).collect(),
            round: site.ports.iter().map(round).collect(),
            lossless: site.lossless,
            notify_while_paused: config.notify_while_paused,
            interval: config.notice_interval.unwrap_or(site.base_rtt),
            timeout: config.flow_timeout,
            n_timeout: config.n_timeout.unwrap_or(config.flow_timeout),
            lengths: BTreeMap::new(),
            congested: site.ports.iter().map(|_| BTreeMap::new()).collect(),
        }
    }

    /// Whether a queue of `length` bytes can be congested, or must be measured.
    #[inline]
    pub(super) fn may_be_congested(&self, length: u64) -> bool {
        length > self.floor || self.threshold == Threshold::Adaptive
    }

    /// A data packet has come to its queue, which holds `length` bytes with it; whether it is congested there.
    pub(super) fn finds_congested(&mut self, packet: &PacketContext<'_>, length: u64, view: &View<'_>) -> bool {
        if self.threshold == Threshold::Adaptive && self.lossless.has(packet.ingress_class) {
            let lengths = self.lengths.entry((packet.egress, packet.queue)).or_default();
            lengths.measure(length - u64::from(packet.bytes), view.now, self.round[usize::from(packet.egress)]);
        }
        length > self.floor && self.lossless.has(packet.ingress_class) && self.is_above(packet, length, view)
    }

    /// A data packet has come to its queue and is congested there; what is to be said about its flow.
    pub(super) fn add(&mut self, packet: &PacketContext<'_>, view: &View<'_>) -> Option<News> {
        let (now, root) = (view.now, view.port(packet.egress).id());
        let congested = self.congested[usize::from(packet.egress)].entry(packet.queue).or_default();
        let flow = packet.packet().flow;
        if let Some(told) = congested.flows.get_mut(&flow) {
            told.last = now;
            if now.since(told.at) < self.interval {
                return None;
            }
        }
        let (to, route) = view.route_to_source(packet.packet(), packet.trail(), packet.ingress)?;
        let back = Back { to, port: packet.ingress, route };
        congested.flows.insert(flow, Told { at: now, last: now, back });
        let cnm = Cnm::Congested { flows: recent(congested, now, self.n_timeout) };
        Some(News { flow, root, cnm, back })
    }

    /// Whether flows are congested at a queue.
    pub(super) fn is_congested(&self, packet: &PacketContext<'_>) -> bool {
        self.congested[usize::from(packet.egress)].contains_key(&packet.queue)
    }

    /// A packet has left such a queue, which holds `length` bytes without it; what is to be said about the flows that were congested there.
    pub(super) fn release(&mut self, packet: &PacketContext<'_>, length: u64, view: &View<'_>) -> Vec<News> {
        let root = view.port(packet.egress).id();
        if self.is_below(packet, length, view) {
            let cleared = self.congested[usize::from(packet.egress)].remove(&packet.queue).unwrap_or_default();
            let all = clears(root, recent(&cleared, view.now, self.n_timeout));
            return cleared.flows.into_iter().map(all).collect();
        }
        // Flows that have ended count no more, nor those that go elsewhere now.
        let Some(congested) = self.congested[usize::from(packet.egress)].get_mut(&packet.queue) else {
            return Vec::new();
        };
        if view.now.since(congested.swept) < self.timeout {
            return Vec::new();
        }
        congested.swept = view.now;
        congested
            .flows
            .extract_if(.., |_, told| view.now.since(told.last) > self.timeout)
            .map(clears(root, 1))
            .collect()
    }

    /// What waited at `egress` is lost: nothing is congested there any more.
    pub(super) fn forget(&mut self, egress: PortIx, view: &View<'_>) -> Vec<News> {
        let queues = std::mem::take(&mut self.congested[usize::from(egress)]);
        queues.into_values().flat_map(|queue| queue.flows).map(clears(view.port(egress).id(), 1)).collect()
    }

    /// Whether a queue of `length` bytes is longer than K.
    fn is_above(&self, packet: &PacketContext<'_>, length: u64, view: &View<'_>) -> bool {
        let egress = usize::from(packet.egress);
        let is_long = match self.threshold {
            Threshold::Delay => length > self.least[egress] || length > self.half_bound(packet, view),
            Threshold::Static => length > self.least[egress],
            Threshold::Adaptive => length > self.least[egress] && self.upper(packet, length, view) < length.into(),
        };
        is_long && (self.notify_while_paused || !view.port(packet.egress).is_closed(packet.queue))
    }

    /// Whether one of `length` bytes, which was, is no longer.
    fn is_below(&self, packet: &PacketContext<'_>, length: u64, view: &View<'_>) -> bool {
        let least = self.least[usize::from(packet.egress)];
        match self.threshold {
            Threshold::Delay => length < least && length < self.half_bound(packet, view).max(self.floor),
            Threshold::Static => length < least,
            Threshold::Adaptive => {
                let lower = -self.growth(packet, length, view);
                i128::from(length)
                    < lower.clamp(i128::from(least), self.upper(packet, length, view).max(i128::from(least)))
            }
        }
    }

    /// Half of what PFC lets the ingress queue of a packet hold: no K is more.
    fn half_bound(&self, packet: &PacketContext<'_>, view: &View<'_>) -> u64 {
        view.threshold(packet.ingress, packet.ingress_class).map_or(u64::MAX, |bound| bound / 2)
    }

    /// By how much the queue of a packet grows while a notice reaches its source and what has been sent until then arrives: the integrals of Equation 4 less 2 d C.
    fn growth(&self, packet: &PacketContext<'_>, length: u64, view: &View<'_>) -> i128 {
        let round = self.round[usize::from(packet.egress)];
        // Its route counts the link that it is about to take already.
        let links = u64::from(packet.packet().route.links_passed()).saturating_sub(1);
        let lengths = self.lengths.get(&(packet.egress, packet.queue)).copied().unwrap_or_default();
        lengths.growth(length, view.now, round, round * links)
    }

    /// The upper end of Equation 4: Q_PFC / n less the growth, with n the egress queues of the switch that are congested, that of the packet included.
    fn upper(&self, packet: &PacketContext<'_>, length: u64, view: &View<'_>) -> i128 {
        let Some(bound) = view.threshold(packet.ingress, packet.ingress_class) else { return i128::MAX };
        let others = (self.counts().1 - usize::from(self.is_congested(packet))) as u64;
        i128::from(bound / (others + 1)) - self.growth(packet, length, view)
    }

    /// How many flows of how many queues are congested.
    pub(super) fn counts(&self) -> (usize, usize) {
        let roots = || self.congested.iter().flat_map(BTreeMap::values);
        (roots().map(|root| root.flows.len()).sum(), roots().count())
    }
}
