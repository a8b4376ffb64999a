//! What a switch has besides ports and flow control.

use crate::contract::{BufferAccounts, BufferPolicy, Occupancy, Site, Station, Stations};
use crate::ids::{Class, ClassMask, PortIx};
use crate::mechanisms::congestion::AnyCongestionPoint;
use crate::mechanisms::headroom::AnyBufferPolicy;
use crate::mechanisms::load_balance::AnyLoadBalance;
use crate::model::probe::{IngressProbe, Seen};
use crate::network::spec::NetworkSpec;
use backwater_engine::Time;

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
}

impl Pipeline {
    pub(crate) fn new(site: &Site<'_>, spec: &NetworkSpec) -> Pipeline {
        let (congestion_point, balancer) = (spec.congestion.point(site), spec.load_balance.build(site));
        Pipeline {
            buffer: spec.headroom(site.node).build(site),
            point_at: congestion_point.stations(),
            congestion_point,
            balancer_at: balancer.stations(),
            balancer,
            probe: None,
        }
    }

    /// A packet of `class` is about to come in on `ingress`.
    #[inline]
    pub(crate) fn prefetch(&self, ingress: PortIx, class: Class) {
        self.buffer.prefetch(ingress, class);
    }

    /// Bytes that the mechanisms hold on the heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        BufferAccounts::heap_bytes(&self.buffer) + self.congestion_point.heap_bytes() + self.balancer.heap_bytes()
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
