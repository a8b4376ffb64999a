//! Congestion detection at any switch: while a queue exceeds the isolation threshold K, the switch
//! notifies the source edges of flows whose packets join the queue. When the queue is short again,
//! the switch reports these flows as no longer congested (section 3.2, Appendix A).

use super::{FlbConfig, FlbThreshold};
use crate::contract::{OutgoingNotice, PacketContext, PortFacts, Site, View};
use crate::frame::{Notice, Route};
use crate::ids::{Class, ClassMask, FlowId, NodeId, PortId, PortIx, QueueIx};
use crate::mechanisms::cnm::{Cnm, FLB};
use crate::mechanisms::growth::Lengths;
use backwater_engine::index::IndexVec;
use backwater_engine::{Bytes, Duration, Time};
use get_size2::GetSize;
use std::collections::BTreeMap;

/// Detector of one switch.
#[derive(Debug, GetSize)]
pub(super) struct Detector {
    threshold: FlbThreshold,
    /// Length up to which a queue is never congested: two full packets, or zero with a static
    /// threshold.
    floor: u64,
    /// Shortest queue that can be congested, by egress port.
    least: IndexVec<PortIx, u64>,
    /// Twice the delay of a link, by egress port.
    round: IndexVec<PortIx, Duration>,
    lossless: ClassMask,
    notify_while_paused: bool,
    interval: Duration,
    timeout: Duration,
    /// Time for which a flow counts in n after its last packet.
    n_timeout: Duration,
    /// Growth of queues, by egress port and queue, for the adaptive threshold.
    lengths: BTreeMap<(PortIx, QueueIx), Lengths>,
    /// Congested queues by egress port.
    congested: IndexVec<PortIx, BTreeMap<QueueIx, Root>>,
}

/// Queue above its threshold.
#[derive(Debug, Default, GetSize)]
struct Root {
    flows: BTreeMap<FlowId, Notified>,
    /// Time of the last removal of flows without packets.
    swept: Time,
}

/// Flow with a sent notice.
#[derive(Debug, GetSize)]
struct Notified {
    /// Time of the notice.
    at: Time,
    /// Arrival of the flow's last packet that found the queue above the threshold.
    last: Time,
    back: Back,
}

/// Path back to the source of a flow.
#[derive(Clone, Copy, Debug, GetSize)]
pub(super) struct Back {
    to: NodeId,
    /// First port of the path: the ingress port of the flow's packets.
    pub(super) port: PortIx,
    route: Route,
}

/// Message to a flow's source edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) flow: FlowId,
    /// Port that the message is about.
    pub(super) root: PortId,
    pub(super) cnm: Cnm,
    pub(super) back: Back,
}

impl Message {
    /// Sends the message.
    pub(super) fn send(&self, view: &mut View<'_>) {
        let Back { to, port, route } = self.back;
        let notice = Notice { protocol: FLB, from: self.root, flow: self.flow, to, words: self.cnm.words() };
        view.emit(OutgoingNotice { notice, egress: port, class: Class::CONTROL, route });
    }
}

/// Returns a function that makes the message for each flow cleared at `root`, where `flows` flows
/// were congested.
fn clears(root: PortId, flows: u32) -> impl Fn((FlowId, Notified)) -> Message {
    let cnm = Cnm::Clear { flows };
    move |(flow, notified)| Message { flow, root, cnm, back: notified.back }
}

/// Returns n, the number of flows of a congested queue. A flow counts if a packet of the flow found
/// the queue above the threshold within the last `timeout`.
fn recent(root: &Root, now: Time, timeout: Duration) -> u32 {
    root.flows.values().filter(|notified| now.since(notified.last) <= timeout).count() as u32
}

impl Detector {
    pub(super) fn new(config: &FlbConfig, site: &Site<'_>) -> Detector {
        let floor = 2 * site.sizes.largest_charge();
        let round = |port: &PortFacts| config.link_delay.unwrap_or(port.delay) * 2;
        let least = |port: &PortFacts| match config.threshold {
            FlbThreshold::Delay => port.rate.bytes_in(round(port)).max(floor),
            FlbThreshold::Static => config.static_threshold.map_or(u64::MAX, Bytes::get),
            FlbThreshold::Adaptive => floor,
        };
        Detector {
            threshold: config.threshold,
            floor: if config.threshold == FlbThreshold::Static { 0 } else { floor },
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

    /// Returns true if a queue of `length` bytes can be congested, or must be measured.
    #[inline]
    pub(super) fn may_be_congested(&self, length: u64) -> bool {
        length > self.floor || self.threshold == FlbThreshold::Adaptive
    }

    /// Processes a data packet that joins its queue, which holds `length` bytes including the
    /// packet. Returns true if the packet is congested in that queue.
    pub(super) fn finds_congested(&mut self, packet: &PacketContext<'_>, length: u64, view: &View<'_>) -> bool {
        if self.threshold == FlbThreshold::Adaptive && self.lossless.has(packet.ingress_class()) {
            let lengths = self.lengths.entry((packet.egress, packet.queue)).or_default();
            lengths.measure(length - u64::from(packet.bytes()), view.now, self.round[packet.egress]);
        }
        length > self.floor && self.lossless.has(packet.ingress_class()) && self.is_above(packet, length, view)
    }

    /// Records a data packet that is congested in its queue. Returns the message about its flow.
    pub(super) fn add(&mut self, packet: &PacketContext<'_>, view: &View<'_>) -> Option<Message> {
        let (now, root) = (view.now, view.port(packet.egress).id());
        let congested = self.congested[packet.egress].entry(packet.queue).or_default();
        let flow = packet.headers().flow;
        if let Some(notified) = congested.flows.get_mut(&flow) {
            notified.last = now;
            if now.since(notified.at) < self.interval {
                return None;
            }
        }
        let (to, route) = view.route_to_source(packet.headers(), packet.trail(), packet.ingress())?;
        let back = Back { to, port: packet.ingress(), route };
        congested.flows.insert(flow, Notified { at: now, last: now, back });
        let cnm = Cnm::Congested { flows: recent(congested, now, self.n_timeout) };
        Some(Message { flow, root, cnm, back })
    }

    /// Returns true if the packet's queue has congested flows.
    #[inline]
    pub(super) fn is_congested(&self, packet: &PacketContext<'_>) -> bool {
        self.congested[packet.egress].contains_key(&packet.queue)
    }

    /// Processes a packet that has left a congested queue, which now holds `length` bytes. Returns
    /// the messages about flows that were congested in this queue.
    pub(super) fn release(&mut self, packet: &PacketContext<'_>, length: u64, view: &View<'_>) -> Vec<Message> {
        let root = view.port(packet.egress).id();
        if self.is_below(packet, length, view) {
            let cleared = self.congested[packet.egress].remove(&packet.queue).unwrap_or_default();
            let all = clears(root, recent(&cleared, view.now, self.n_timeout));
            return cleared.flows.into_iter().map(all).collect();
        }
        // Ended flows do not count, nor do flows that now take another path.
        let Some(congested) = self.congested[packet.egress].get_mut(&packet.queue) else {
            return Vec::new();
        };
        if view.now.since(congested.swept) < self.timeout {
            return Vec::new();
        }
        congested.swept = view.now;
        congested
            .flows
            .extract_if(.., |_, notified| view.now.since(notified.last) > self.timeout)
            .map(clears(root, 1))
            .collect()
    }

    /// Clears all flows of `egress`, whose queued packets are lost.
    pub(super) fn forget(&mut self, egress: PortIx, view: &View<'_>) -> Vec<Message> {
        let queues = std::mem::take(&mut self.congested[egress]);
        queues.into_values().flat_map(|queue| queue.flows).map(clears(view.port(egress).id(), 1)).collect()
    }

    /// Returns true if a queue of `length` bytes is longer than K.
    fn is_above(&self, packet: &PacketContext<'_>, length: u64, view: &View<'_>) -> bool {
        let egress = packet.egress;
        let is_long = match self.threshold {
            FlbThreshold::Delay => length > self.least[egress] || length > self.half_bound(packet, view),
            FlbThreshold::Static => length > self.least[egress],
            FlbThreshold::Adaptive => length > self.least[egress] && self.upper(packet, length, view) < length.into(),
        };
        is_long && (self.notify_while_paused || !view.port(packet.egress).is_closed(packet.queue))
    }

    /// Returns true if a congested queue of `length` bytes is no longer congested.
    fn is_below(&self, packet: &PacketContext<'_>, length: u64, view: &View<'_>) -> bool {
        let least = self.least[packet.egress];
        match self.threshold {
            FlbThreshold::Delay => length < least && length < self.half_bound(packet, view).max(self.floor),
            FlbThreshold::Static => length < least,
            FlbThreshold::Adaptive => {
                let lower = -self.growth(packet, length, view);
                i128::from(length)
                    < lower.clamp(i128::from(least), self.upper(packet, length, view).max(i128::from(least)))
            }
        }
    }

    /// Returns half of PFC's bound for the packet's ingress queue. K is never larger.
    fn half_bound(&self, packet: &PacketContext<'_>, view: &View<'_>) -> u64 {
        view.threshold(packet.ingress(), packet.ingress_class()).map_or(u64::MAX, |bound| bound / 2)
    }

    /// Returns the predicted growth of a packet's queue: the integrals of Equation 4 less 2 d C.
    /// The prediction lasts until a notice sent now has reached the source, and packets that the
    /// source sent before have arrived.
    fn growth(&self, packet: &PacketContext<'_>, length: u64, view: &View<'_>) -> i128 {
        let round = self.round[packet.egress];
        // The packet's route already counts the link after this switch.
        let links = u64::from(packet.headers().route.links_passed()).saturating_sub(1);
        let lengths = self.lengths.get(&(packet.egress, packet.queue)).copied().unwrap_or_default();
        lengths.growth(length, view.now, round, round * links)
    }

    /// Returns the upper end of Equation 4: Q_PFC / n less the growth. n is the number of congested
    /// egress queues of the switch, including the packet's queue.
    fn upper(&self, packet: &PacketContext<'_>, length: u64, view: &View<'_>) -> i128 {
        let Some(bound) = view.threshold(packet.ingress(), packet.ingress_class()) else { return i128::MAX };
        let others = (self.counts().1 - usize::from(self.is_congested(packet))) as u64;
        i128::from(bound / (others + 1)) - self.growth(packet, length, view)
    }

    /// Returns the numbers of congested flows and queues.
    pub(super) fn counts(&self) -> (usize, usize) {
        let roots = || self.congested.iter().flat_map(BTreeMap::values);
        (roots().map(|root| root.flows.len()).sum(), roots().count())
    }
}
