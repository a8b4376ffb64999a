//! Bytes in the private, shared and headroom pools, counted per lossless (ingress port, class).

use crate::contract::report::DropCause;
use crate::contract::{BufferAccounts, Occupancy, PacketContext, Site};
use crate::ids::{CLASSES, Class, ClassMask, PortIx};
use backwater_engine::index::IndexVec;
use get_size2::GetSize;

/// Counters of one ingress queue that every packet needs.
#[derive(Clone, Copy, Debug, Default, GetSize)]
#[repr(align(16))]
struct IngressQueue {
    /// Bytes in the private pool and, once the queue's private bytes are used up, in the shared
    /// pool.
    footroom: u64,
    /// Bytes in headroom.
    headroom: u64,
}

/// Usage of one ingress queue beyond its private bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PoolUsage {
    /// Bytes of the shared pool.
    pub(super) shared: u64,
    /// Bytes of headroom.
    pub(super) headroom: u64,
}

/// The three pools of a shared-memory switch. A policy's threshold decides the pool of each packet.
#[derive(Debug, GetSize)]
#[repr(C)]
pub(super) struct Pools {
    // Occupancy, which every packet needs.
    used: Occupancy,
    shared_size: u64,
    /// Private bytes of every lossless ingress queue.
    private: u64,
    lossless: ClassMask,
    queues: IndexVec<PortIx, [IngressQueue; CLASSES]>,
    // Only packets in headroom need this and the following fields.
    /// Maximum headroom of one queue in bytes, by port.
    headroom_size: IndexVec<PortIx, u64>,
    /// Maximum headroom of all queues together in bytes.
    headroom_pool: u64,
    /// Peak headroom of each queue in bytes so far.
    peak_headroom: IndexVec<PortIx, [u64; CLASSES]>,
}

impl Pools {
    /// Returns the pools of the switch at `site`, with `headroom` bytes per lossless queue of each
    /// port.
    pub(super) fn new(site: &Site<'_>, private: u64, headroom: &[u64]) -> Pools {
        Pools::with_headroom_pool(site, private, headroom, headroom_bytes(site, headroom))
    }

    /// Returns pools with at most `headroom_pool` bytes of headroom for all queues together.
    pub(super) fn with_headroom_pool(site: &Site<'_>, private: u64, headroom: &[u64], headroom_pool: u64) -> Pools {
        let reserved = private_bytes(site, private) + headroom_pool;
        Pools {
            queues: vec![Default::default(); headroom.len()].into(),
            peak_headroom: vec![[0; CLASSES]; headroom.len()].into(),
            headroom_size: headroom.to_vec().into(),
            headroom_pool,
            lossless: site.lossless,
            private,
            shared_size: site.buffer.saturating_sub(reserved),
            used: Occupancy::default(),
        }
    }

    pub(super) fn is_lossless(&self, class: Class) -> bool {
        self.lossless.has(class)
    }

    /// Returns the free bytes of the shared pool.
    pub(super) fn free_shared(&self) -> u64 {
        self.shared_size - self.used.shared
    }

    /// Returns the private bytes of every lossless ingress queue.
    pub(super) fn private(&self) -> u64 {
        self.private
    }

    /// Returns the usage of one ingress queue beyond its private bytes.
    pub(super) fn beyond_private(&self, ingress: PortIx, class: Class) -> PoolUsage {
        let IngressQueue { footroom, headroom } = *self.queue(ingress, class);
        PoolUsage { shared: footroom.saturating_sub(self.private_of(class)), headroom }
    }

    /// Charges a packet: to private bytes first, then to the shared pool, then to headroom. Shared
    /// bytes of a queue are limited by the pool and by `threshold`, a function of the free bytes. A
    /// packet that would lift its queue's shared bytes above the threshold is charged to headroom
    /// as a whole. Returns the queue's usage afterwards.
    #[inline(always)]
    pub(super) fn admit(
        &mut self,
        packet: &PacketContext<'_>,
        threshold: impl FnOnce(u64) -> u64,
    ) -> Result<PoolUsage, DropCause> {
        let (ingress, class, bytes) = (packet.ingress(), packet.ingress_class(), u64::from(packet.bytes()));
        let (private, free, lossless) = (self.private_of(class), self.free_shared(), self.is_lossless(class));
        let queue = &mut self.queues[ingress][class.index()];
        let footroom = queue.footroom + bytes;
        let before = queue.footroom.saturating_sub(private);
        let after = footroom.saturating_sub(private);
        let shared = if after == 0 || (after <= threshold(free) && after - before <= free) {
            queue.footroom = footroom;
            self.used.shared += after - before;
            after
        } else if lossless
            && queue.headroom + bytes <= self.headroom_size[ingress]
            && self.used.headroom + bytes <= self.headroom_pool
        {
            queue.headroom += bytes;
            let peak = &mut self.peak_headroom[ingress][class.index()];
            *peak = (*peak).max(queue.headroom);
            self.used.headroom += bytes;
            before
        } else {
            return Err(if lossless { DropCause::Headroom } else { DropCause::BufferFull });
        };
        let headroom = queue.headroom;
        self.used.used += bytes;
        self.used.peak = self.used.peak.max(self.used.used);
        Ok(PoolUsage { shared, headroom })
    }

    /// Frees `bytes`: headroom first, then shared, then private.
    #[inline(always)]
    pub(super) fn release(&mut self, packet: &PacketContext<'_>) {
        let (ingress, class, bytes) = (packet.ingress(), packet.ingress_class(), u64::from(packet.bytes()));
        let private = self.private_of(class);
        let queue = &mut self.queues[ingress][class.index()];
        let from_headroom = bytes.min(queue.headroom);
        queue.headroom -= from_headroom;
        let before = queue.footroom.saturating_sub(private);
        queue.footroom -= bytes - from_headroom;
        self.used.headroom -= from_headroom;
        self.used.shared -= before - queue.footroom.saturating_sub(private);
        self.used.used -= bytes;
    }

    fn queue(&self, ingress: PortIx, class: Class) -> &IngressQueue {
        &self.queues[ingress][class.index()]
    }

    fn private_of(&self, class: Class) -> u64 {
        if self.lossless.has(class) { self.private } else { 0 }
    }
}

impl BufferAccounts for Pools {
    fn occupancy(&self) -> Occupancy {
        self.used
    }

    fn ingress_occupancy(&self, ingress: PortIx, class: Class) -> u64 {
        let queue = self.queue(ingress, class);
        queue.footroom + queue.headroom
    }

    fn headroom(&self, ingress: PortIx, class: Class) -> u64 {
        self.queue(ingress, class).headroom
    }

    fn peak_headroom(&self, ingress: PortIx, class: Class) -> u64 {
        self.peak_headroom[ingress][class.index()]
    }
}

/// Returns the reserved bytes: private bytes and headroom of every lossless ingress queue.
pub(super) fn reserved(site: &Site<'_>, private: u64, headroom: &[u64]) -> u64 {
    private_bytes(site, private) + headroom_bytes(site, headroom)
}

/// Returns the reserved private bytes: `private` per lossless ingress queue.
pub(super) fn private_bytes(site: &Site<'_>, private: u64) -> u64 {
    private * (site.ports.len() + site.unused_ports) as u64 * site.lossless_classes()
}

/// Returns the reserved headroom, for lossless ingress queues with the headroom listed for their
/// port.
pub(super) fn headroom_bytes(site: &Site<'_>, headroom: &[u64]) -> u64 {
    of_all_ports(site, headroom) * site.lossless_classes()
}

/// Returns the sum over all ports of the chip. Ports without a link count as the port with the
/// largest value.
pub(super) fn of_all_ports(site: &Site<'_>, per_port: &[u64]) -> u64 {
    let most = per_port.iter().copied().max().unwrap_or(0);
    per_port.iter().sum::<u64>() + most * site.unused_ports as u64
}
