//! What a switch has besides ports and flow control.

use crate::contract::{
    BufferAccounts, BufferPolicy, Footprint, HookSet, LbStat, LoadBalance, Occupancy, PipelineHooks, Site,
};
use crate::frame::Frame;
use crate::ids::{Class, ClassMask, PortIx, QueueIx};
use crate::mechanisms::congestion::AnyCongestionPoint;
use crate::mechanisms::headroom::AnyBufferPolicy;
use crate::mechanisms::load_balance::AnyLoadBalance;
use crate::model::fifo::Queued;
use crate::model::probe::{IngressProbe, Seen};
use crate::network::spec::{NetworkSpec, RelayConfig};
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Rate, Time};
use std::collections::VecDeque;

/// What a switch has besides ports and flow control.
#[repr(C, align(64))]
pub struct Pipeline {
    pub(crate) buffer: AnyBufferPolicy,
    pub(super) congestion_point: AnyCongestionPoint,
    /// Where that asks to be called.
    pub(super) point_at: HookSet,
    pub(super) balancer: AnyLoadBalance,
    pub(super) balancer_at: HookSet,
    pub(super) probe: Option<Box<IngressProbe>>,
    pub(crate) transit: Transit,
}

/// Packets on their way from an ingress port to a queue, one behind the other. They are charged and have their queues already.
#[derive(Debug)]
pub(crate) struct Transit {
    /// How long the way takes.
    delay: Duration,
    /// How fast packets set out.
    rate: Option<Rate>,
    /// When the next one can.
    free_at: Time,
    packets: VecDeque<(Time, PortIx, QueueIx, Queued)>,
}

impl Transit {
    /// Whether the way takes any time.
    pub(super) fn takes_time(&self) -> bool {
        self.delay > Duration::ZERO || self.rate.is_some()
    }

    /// A packet that comes at `now` sets out for a queue of `egress` in its turn; when it is there.
    pub(super) fn enter(&mut self, egress: PortIx, queue: QueueIx, queued: Queued, now: Time) -> Time {
        let turn = self.rate.map_or(Duration::ZERO, |rate| rate.time_for(queued.frame.size.charge.into()));
        self.free_at = self.free_at.max(now) + turn;
        let due = self.free_at + self.delay;
        self.packets.push_back((due, egress, queue, Queued { at: due, ..queued }));
        due
    }

    /// The next packet that is there by `now`, with its egress port and its queue.
    pub(super) fn due(&mut self, now: Time) -> Option<(PortIx, QueueIx, Queued)> {
        self.packets.pop_front_if(|(due, ..)| *due <= now).map(|(_, egress, queue, queued)| (egress, queue, queued))
    }

    /// The packets on their way.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Queued> {
        self.packets.iter().map(|(.., queued)| queued)
    }

    /// The same, with the egress ports that they leave through.
    pub(crate) fn frames(&self) -> impl Iterator<Item = (PortIx, &Frame)> {
        self.packets.iter().map(|(_, egress, _, queued)| (*egress, &queued.frame))
    }

    /// Whether no packet is on its way.
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Charged bytes on their way.
    pub(crate) fn bytes(&self) -> u64 {
        self.packets().map(|queued| u64::from(queued.frame.size.charge)).sum()
    }
}

impl Pipeline {
    pub(crate) fn new(site: &Site<'_>, spec: &NetworkSpec) -> Pipeline {
        let RelayConfig { delay, rate, .. } = spec.host.relay;
        let (delay, rate) = if site.relays { (delay, rate) } else { (Duration::ZERO, None) };
        let transit = Transit { delay, rate, free_at: Time::ZERO, packets: VecDeque::new() };
        let (congestion_point, balancer) = (spec.congestion_point(site), spec.load_balance.build(site));
        Pipeline {
            buffer: spec.headroom(site.node).build(site),
            point_at: congestion_point.hooks(),
            congestion_point,
            balancer_at: balancer.hooks(),
            balancer,
            probe: None,
            transit,
        }
    }

    /// A packet of `class` is about to come in on `ingress`.
    #[inline]
    pub(crate) fn prefetch(&self, ingress: PortIx, class: Class) {
        self.buffer.prefetch(ingress, class);
    }

    /// Bytes that the mechanisms hold on the heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let mechanisms = self.buffer.heap_bytes() + self.congestion_point.heap_bytes() + self.balancer.heap_bytes();
        mechanisms + self.transit.packets.heap_bytes()
    }

    /// Sets up the probe of ingress queues.
    pub(crate) fn watch(&mut self, site: &Site<'_>) {
        self.probe = Some(Box::new(IngressProbe::new(site)));
    }

    /// The probe of ingress queues, if there is one.
    pub(crate) fn probe(&self) -> Option<&IngressProbe> {
        self.probe.as_deref()
    }

    /// Takes what the probe of ingress queues has seen since the last call.
    pub(crate) fn take_seen(&mut self, now: Time) -> Seen {
        self.probe.as_mut().map(|probe| probe.take_seen(now)).unwrap_or_default()
    }

    /// A frame has been made that leaves through `port` and tells the neighbour to stop `classes`, or to let them go.
    pub(crate) fn on_told(&mut self, port: PortIx, classes: ClassMask, stop: bool, now: Time) {
        if let Some(probe) = &mut self.probe {
            probe.on_told(port, classes, stop, &self.buffer, now);
        }
    }

    /// Bytes in use.
    pub fn occupancy(&self) -> Occupancy {
        self.buffer.occupancy()
    }

    /// Tells `observer` what the load balancer holds.
    pub fn observe_balancing(&self, now: Time, observer: &mut dyn FnMut(LbStat)) {
        self.balancer.observe(now, observer);
    }

    /// Bytes charged to one ingress queue.
    pub fn held(&self, ingress: PortIx, class: Class) -> u64 {
        self.buffer.held(ingress, class)
    }

    /// Bytes at which it is full, as things are; `None` if it has no such bound.
    pub fn threshold(&self, ingress: PortIx, class: Class) -> Option<u64> {
        self.buffer.threshold(ingress, class)
    }

    /// Bytes of headroom that it uses; its port, where queues share it.
    pub fn headroom(&self, ingress: PortIx, class: Class) -> u64 {
        self.buffer.headroom(ingress, class)
    }

    /// The most bytes of headroom that one ingress queue has used so far.
    pub fn peak_headroom(&self, ingress: PortIx, class: Class) -> u64 {
        self.buffer.peak_headroom(ingress, class)
    }
}
