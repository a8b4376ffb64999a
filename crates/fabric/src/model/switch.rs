//! Shared part of a switch: buffer, congestion point and load balancer. A relaying server has these
//! as well.

use crate::contract::packet::QueuedPacket;
use crate::contract::{
    BufferAccounts, BufferPolicy, HookSet, IngressGauge, LbStat, LoadBalance, Occupancy, PacketContext, PipelineHooks,
    Site,
};
use crate::frame::Frame;
use crate::ids::{CLASSES, Class, ClassMask, PortIx, QueueIx};
use crate::mechanisms::congestion::AnyCongestionPoint;
use crate::mechanisms::headroom::AnyBufferPolicy;
use crate::mechanisms::load_balance::AnyLoadBalance;
use crate::model::probe::{IngressProbe, IngressRecords};
use crate::network::fabric::Fabric;
use crate::network::spec::RelayConfig;
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Rate, Time};
use get_size2::GetSize;
use std::collections::VecDeque;

/// Buffer, congestion point and load balancer of a node that forwards packets.
#[repr(C, align(64))]
pub struct Switch {
    pub(crate) buffer: AnyBufferPolicy,
    pub(super) congestion_point: AnyCongestionPoint,
    /// Hooks of the congestion point.
    pub(super) point_hooks: HookSet,
    pub(super) balancer: AnyLoadBalance,
    /// Hooks of the load balancer.
    pub(super) balancer_hooks: HookSet,
    pub(super) probe: Option<Box<IngressProbe>>,
    pub(crate) transit: Transit,
}

/// Packets between their ingress ports and their queues, in order. These packets are already
/// charged to the buffer.
#[derive(Debug)]
pub(crate) struct Transit {
    /// Forwarding delay.
    delay: Duration,
    /// Forwarding rate; unlimited if `None`.
    rate: Option<Rate>,
    /// Time at which the next packet can start.
    free_at: Time,
    packets: VecDeque<(Time, PortIx, QueueIx, QueuedPacket)>,
}

impl Transit {
    /// Returns true if forwarding takes time.
    pub(super) fn takes_time(&self) -> bool {
        self.delay > Duration::ZERO || self.rate.is_some()
    }

    /// Starts the transit of a packet to a queue of `egress`.
    pub(super) fn start(&mut self, egress: PortIx, queue: QueueIx, queued: QueuedPacket, now: Time) {
        let turn = self.rate.map_or(Duration::ZERO, |rate| rate.time_for(queued.frame.size.charge.into()));
        self.free_at = self.free_at.max(now) + turn;
        let due = self.free_at + self.delay;
        self.packets.push_back((due, egress, queue, QueuedPacket { at: due, ..queued }));
    }

    /// Returns the end of the next transit.
    pub(super) fn next_end(&self) -> Option<Time> {
        self.packets.front().map(|(due, ..)| *due)
    }

    /// Takes the next packet whose transit has ended by `now`, with its egress port and queue.
    pub(super) fn next_due(&mut self, now: Time) -> Option<(PortIx, QueueIx, QueuedPacket)> {
        self.packets.pop_front_if(|(due, ..)| *due <= now).map(|(_, egress, queue, queued)| (egress, queue, queued))
    }

    /// Returns the packets in transit.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &QueuedPacket> {
        self.packets.iter().map(|(.., queued)| queued)
    }

    /// Returns the frames in transit and their egress ports.
    pub(crate) fn frames(&self) -> impl Iterator<Item = (PortIx, &Frame)> {
        self.packets.iter().map(|(_, egress, _, queued)| (*egress, &queued.frame))
    }

    /// Returns true if no packet is in transit.
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Returns the charged bytes in transit.
    pub(crate) fn bytes(&self) -> u64 {
        self.packets().map(|queued| u64::from(queued.frame.size.charge)).sum()
    }
}

impl Switch {
    pub(crate) fn new(site: &Site<'_>, Fabric { spec, wiring, .. }: &Fabric) -> Switch {
        let RelayConfig { delay, rate, .. } = spec.host.relay;
        let (delay, rate) = if site.relays { (delay, rate) } else { (Duration::ZERO, None) };
        let transit = Transit { delay, rate, free_at: Time::ZERO, packets: VecDeque::new() };
        let (congestion_point, balancer) = (spec.congestion_point(site), spec.load_balance.build(site));
        Switch {
            buffer: spec.headroom(site.node, wiring).build(site),
            point_hooks: congestion_point.hooks(),
            congestion_point,
            balancer_hooks: balancer.hooks(),
            balancer,
            probe: None,
            transit,
        }
    }

    /// Informs the probe of a packet that the buffer admitted.
    #[inline(always)]
    pub(super) fn observe_arrival(&mut self, packet: &PacketContext<'_>, now: Time) {
        if let Some(probe) = &mut self.probe {
            probe.on_arrival(packet.ingress(), packet.ingress_class(), packet.bytes().into(), &self.buffer, now);
        }
    }

    /// Informs the probe of a departing packet, whose buffer was freed.
    #[inline(always)]
    pub(super) fn observe_departure(&mut self, packet: &PacketContext<'_>, now: Time) {
        if let Some(probe) = &mut self.probe {
            probe.on_departure(packet.ingress(), packet.ingress_class(), packet.bytes().into(), &self.buffer, now);
        }
    }

    /// Returns true if no mechanism acts on a packet that joins a queue of `bytes`. The mechanisms
    /// are those that subscribed to one of `hooks`.
    #[inline(always)]
    pub(super) fn ignores_enqueue(&self, hooks: HookSet, packet: &PacketContext<'_>, bytes: u64) -> bool {
        (!self.point_hooks.intersects(hooks) || self.congestion_point.ignores_enqueue(packet, bytes))
            && (!self.balancer_hooks.intersects(hooks) || self.balancer.ignores_enqueue(packet, bytes))
    }

    /// Returns true if no mechanism acts on a packet that leaves a queue, which then holds `bytes`.
    /// The mechanisms are those that subscribed to one of `hooks`.
    #[inline(always)]
    pub(super) fn ignores_departure(&self, hooks: HookSet, packet: &PacketContext<'_>, bytes: u64) -> bool {
        (!self.point_hooks.intersects(hooks) || self.congestion_point.ignores_departure(packet, bytes))
            && (!self.balancer_hooks.intersects(hooks) || self.balancer.ignores_departure(packet, bytes))
    }

    /// Returns the gauge of the packet's ingress queue.
    #[inline(always)]
    pub(super) fn gauge<'a>(&'a self, packet: &'a PacketContext<'a>) -> IngressGauge<'a> {
        IngressGauge { policy: &self.buffer, packet }
    }

    /// Returns the bytes that the mechanisms hold on the heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let buffer_and_marks = self.buffer.get_heap_size() + self.congestion_point.get_heap_size();
        (buffer_and_marks + self.balancer.get_heap_size()) as u64 + self.transit.packets.heap_bytes()
    }

    /// Installs the probe of ingress queues.
    pub(crate) fn watch(&mut self, site: &Site<'_>) {
        self.probe = Some(Box::new(IngressProbe::new(site)));
    }

    /// Returns the probe of ingress queues, if installed.
    pub(crate) fn probe(&self) -> Option<&IngressProbe> {
        self.probe.as_deref()
    }

    /// Takes the probe's records since the last call.
    pub(crate) fn take_records(&mut self, now: Time) -> IngressRecords {
        self.probe.as_mut().map(|probe| probe.take_records(now)).unwrap_or_default()
    }

    /// Informs the probe of a frame, about to leave through `port`, that pauses or resumes
    /// `classes` upstream.
    pub(crate) fn on_pause_sent(&mut self, port: PortIx, classes: ClassMask, stop: bool, now: Time) {
        if let Some(probe) = &mut self.probe {
            probe.on_pause_sent(port, classes, stop, &self.buffer, now);
        }
    }

    /// Returns the bytes in use.
    pub fn occupancy(&self) -> Occupancy {
        self.buffer.occupancy()
    }

    /// Passes the load balancer's statistics to `observer`.
    pub fn observe_balancing(&self, now: Time, observer: &mut dyn FnMut(LbStat)) {
        self.balancer.observe(now, observer);
    }

    /// Returns the bytes charged to the ingress queues of a port, by class.
    pub fn ingress_occupancies(&self, ingress: PortIx) -> [u64; CLASSES] {
        self.buffer.ingress_occupancies(ingress)
    }

    /// Returns the present X_off threshold of an ingress queue; `None` if the queue has none.
    pub fn threshold(&self, ingress: PortIx, class: Class) -> Option<u64> {
        self.buffer.threshold(ingress, class)
    }

    /// Returns the headroom in use by an ingress queue, or by its port if queues share headroom.
    pub fn headroom(&self, ingress: PortIx, class: Class) -> u64 {
        self.buffer.headroom(ingress, class)
    }

    /// Returns the peak headroom of one ingress queue so far.
    pub fn peak_headroom(&self, ingress: PortIx, class: Class) -> u64 {
        self.buffer.peak_headroom(ingress, class)
    }
}
