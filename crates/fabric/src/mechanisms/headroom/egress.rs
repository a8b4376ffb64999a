//! Dynamic threshold per egress queue (Choudhury and Hahne 1998): buffer sharing for lossy
//! switches.

use super::threshold::DynamicThreshold;
use crate::contract::report::DropCause;
use crate::contract::{
    Admission, BufferAccounts, BufferPolicy, HeadroomFacts, HeadroomOptions, Occupancy, Options, PacketContext,
    Pressure, Site,
};
use crate::ids::{CLASSES, Class, ClassMask, PortIx};
use backwater_engine::Time;
use backwater_engine::index::IndexVec;
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Dynamic threshold per egress queue, for lossy traffic. There is no headroom, and there are no
/// thresholds for flow control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EgressConfig {
    /// Share of the free buffer that the packets of one class at one egress port may take. Default
    /// 1 (ConWeave's simulator, for lossy classes and IRN).
    #[schemars(range(min = 0.0))]
    pub alpha: f64,
}

impl Default for EgressConfig {
    fn default() -> Self {
        EgressConfig { alpha: 1.0 }
    }
}

impl Options for EgressConfig {}

impl HeadroomOptions for EgressConfig {
    type Instance = Egress;

    fn facts(&self) -> HeadroomFacts {
        HeadroomFacts::default()
    }

    fn reserved(&self, _site: &Site<'_>) -> u64 {
        0
    }

    fn build(&self, site: &Site<'_>) -> Egress {
        Egress {
            used: Occupancy::default(),
            size: site.buffer,
            lossless: site.lossless,
            threshold: DynamicThreshold::new(self.alpha, None, site),
            came: vec![[0; CLASSES]; site.ports.len()].into(),
            queued: vec![[0; CLASSES]; site.ports.len()].into(),
        }
    }
}

/// Policy of one switch.
#[derive(Debug, GetSize)]
pub struct Egress {
    used: Occupancy,
    size: u64,
    lossless: ClassMask,
    threshold: DynamicThreshold,
    /// Bytes by ingress port and class.
    came: IndexVec<PortIx, [u64; CLASSES]>,
    /// Bytes by egress port and ingress class.
    queued: IndexVec<PortIx, [u64; CLASSES]>,
}

impl BufferPolicy for Egress {
    fn admit(&mut self, packet: &PacketContext<'_>, _now: Time) -> Admission {
        let (bytes, free) = (u64::from(packet.bytes()), self.size - self.used.used);
        let queued = &mut self.queued[packet.egress][packet.ingress_class().index()];
        if *queued + bytes > self.threshold.of(packet.egress, free).min(*queued + free) {
            let is_lossless = self.lossless.has(packet.ingress_class());
            return Admission::Refused(if is_lossless { DropCause::Headroom } else { DropCause::BufferFull });
        }
        *queued += bytes;
        self.came[packet.ingress()][packet.ingress_class().index()] += bytes;
        self.used.used += bytes;
        self.used.shared += bytes;
        self.used.peak = self.used.peak.max(self.used.used);
        Admission::Charged(self.pressure(packet.ingress(), packet.ingress_class()))
    }

    fn release(&mut self, packet: &PacketContext<'_>, _now: Time) {
        let bytes = u64::from(packet.bytes());
        self.queued[packet.egress][packet.ingress_class().index()] -= bytes;
        self.came[packet.ingress()][packet.ingress_class().index()] -= bytes;
        self.used.used -= bytes;
        self.used.shared -= bytes;
    }

    /// Reports the class as never full. A flow control that paused a class after a drop may resume
    /// the class with the next departure.
    fn pressure(&self, _ingress: PortIx, class: Class) -> Pressure {
        Pressure::of_class(class, false, self.lossless.has(class))
    }
}

impl BufferAccounts for Egress {
    fn occupancy(&self) -> Occupancy {
        self.used
    }

    fn ingress_occupancy(&self, ingress: PortIx, class: Class) -> u64 {
        self.came[ingress][class.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use crate::testing::{fabric, star};
    use backwater_engine::Bytes;

    /// Returns a packet of 1000 B of class 3 from port `ingress` to port `egress`.
    fn packet(ingress: u16, egress: u16) -> PacketContext<'static> {
        PacketContext { egress: PortIx(egress), ..crate::testing::packet(ingress, Class(3), 1000) }
    }

    fn policy(alpha: f64, buffer: u64) -> Egress {
        let mut spec = star(4);
        spec.switch.buffer = Bytes(buffer);
        spec.switch.lossless = vec![];
        let fabric = fabric(spec);
        EgressConfig { alpha }.build(&fabric.site(NodeId(4)))
    }

    /// Returns how many packets the queue of port `egress` admits before a drop.
    fn fill(policy: &mut Egress, egress: u16) -> usize {
        (0..)
            .take_while(|n| {
                policy.admit(&packet(n % 3, egress), Time::ZERO) != Admission::Refused(DropCause::BufferFull)
            })
            .count()
    }

    /// With alpha 1, a queue takes half of the buffer, the next queue half of the rest, and so on.
    /// With alpha 1/4, a queue takes a fifth, and the next queue a fifth of the rest.
    #[test]
    fn a_queue_takes_its_share_of_free_bytes() {
        let mut even = policy(1.0, 100_000);
        assert_eq!((fill(&mut even, 0), fill(&mut even, 1), fill(&mut even, 2)), (50, 25, 13));
        let mut small = policy(0.25, 100_000);
        assert_eq!((fill(&mut small, 0), fill(&mut small, 1)), (20, 16));
        // A departed packet frees 1000 B, but neither queue may take them.
        small.release(&packet(0, 0), Time::ZERO);
        assert_eq!(fill(&mut small, 0), 0, "the other queue has lowered the threshold");
        assert_eq!(fill(&mut small, 1), 0, "1000 B free more raise it by 250 B");
    }

    /// Packets never exceed the buffer, however large alpha is.
    #[test]
    fn the_buffer_is_never_exceeded() {
        // The last 500 B are too few for a packet, whatever the threshold.
        let mut greedy = policy(1000.0, 100_500);
        assert_eq!((fill(&mut greedy, 0), fill(&mut greedy, 1)), (100, 0));
        assert_eq!((greedy.occupancy().used, greedy.occupancy().peak), (100_000, 100_000));
        let held: u64 = (0..3).map(|ingress| greedy.ingress_occupancy(PortIx(ingress), Class(3))).sum();
        assert_eq!(held, 100_000);
    }
}
