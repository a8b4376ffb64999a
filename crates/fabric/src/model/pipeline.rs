//! What a switch has besides ports and flow control.

use crate::contract::{BufferAccounts, BufferPolicy, Footprint, Occupancy, Site, Station, Stations};
use crate::ids::{Class, ClassMask, PortIx};
use crate::mechanisms::congestion::AnyCongestionPoint;
use crate::mechanisms::headroom::AnyBufferPolicy;
use crate::mechanisms::load_balance::AnyLoadBalance;
use crate::model::fifo::Queued;
use crate::model::probe::{IngressProbe, Seen};
use crate::network::spec::NetworkSpec;
use backwater_engine::memory::HeapBytes;
use backwater_engine::{Duration, Time};
use std::collections::VecDeque;

/// What a switch has besides ports and flow control.
#[repr(C, align(64))]
pub struct Pipeline {
    pub(crate) buffer: AnyBufferPolicy,
    pub(super) congestion_point: AnyCongestionPoint,
    /// Where that asks to be called.
    pub(super) point_at: Stations,
    pub(super) balancer: AnyLoadBalance,
    pub(super) balancer_at: Stations,
    pub(super) probe: Option<Box<IngressProbe>>,
    pub(crate) transit: Transit,
}

/// Packets on their way from an ingress port to a queue.
#[derive(Debug)]
pub(crate) struct Transit {
    /// How long that takes.
    pub(crate) delay: Duration,
    packets: VecDeque<(Time, PortIx, Queued)>,
}

impl Transit {
    /// A packet sets out for `egress` at `now`; when it is there.
    pub(super) fn enter(&mut self, egress: PortIx, queued: Queued, now: Time) -> Time {
        let due = now + self.delay;
        self.packets.push_back((due, egress, Queued { at: due, ..queued }));
        due
    }

    /// The next packet that is there by `now`, and its egress port.
    pub(super) fn due(&mut self, now: Time) -> Option<(PortIx, Queued)> {
        self.packets.pop_front_if(|(due, ..)| *due <= now).map(|(_, egress, queued)| (egress, queued))
    }

    /// Whether no packet is on its way.
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Charged bytes on their way.
    pub(crate) fn bytes(&self) -> u64 {
        self.packets.iter().map(|(.., queued)| u64::from(queued.frame.size.charge)).sum()
    }
}

impl Pipeline {
    pub(crate) fn new(site: &Site<'_>, spec: &NetworkSpec) -> Pipeline {
        let (congestion_point, balancer) = (spec.congestion_point(site), spec.load_balance.build(site));
        Pipeline {
            buffer: spec.headroom(site.node).build(site),
            point_at: congestion_point.stations(),
            congestion_point,
            balancer_at: balancer.stations(),
            balancer,
            probe: None,
            transit: Transit { delay: site.transit, packets: VecDeque::new() },
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

    /// Bytes charged to one ingress queue.
    pub fn held(&self, ingress: PortIx, class: Class) -> u64 {
        self.buffer.held(ingress, class)
    }

    /// The most bytes of headroom that one ingress queue has used so far.
    pub fn peak_headroom(&self, ingress: PortIx, class: Class) -> u64 {
        self.buffer.peak_headroom(ingress, class)
    }
}
