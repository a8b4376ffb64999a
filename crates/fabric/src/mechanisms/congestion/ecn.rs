//! ECN marking at switch egress queues: RED on the instantaneous queue length at a packet's
//! departure.

use crate::contract::{CongestionPoint, HookSet, PacketContext, PipelineHooks, PortFacts, Site, View};
use crate::ids::PortIx;
use backwater_engine::index::IndexVec;
use backwater_engine::random::Stream;
use backwater_engine::{Bytes, Rate};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// ECN marking of a switch's egress queues.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EcnOptions {
    /// Queue length up to which no packet is marked. Default 100 KB (ConWeave, PortFC), or the
    /// profile's value.
    pub kmin: Option<Bytes>,
    /// Queue length above which every packet is marked. Default 400 KB, or the profile's value.
    pub kmax: Option<Bytes>,
    /// Marking probability at `kmax`. Default 0.2.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pmax: Option<f64>,
    /// Port rate for which `kmin` and `kmax` hold: the thresholds of a port scale with its rate.
    /// Default: none; every port has the same thresholds.
    pub rate: Option<Rate>,
}

impl EcnOptions {
    /// Returns the thresholds of a profile, overridden by the options that are set. Thresholds that
    /// are set hold for every port, unless `rate` is also set.
    pub fn over(&self, column: EcnConfig) -> EcnConfig {
        let is_own = self.kmin.is_some() || self.kmax.is_some();
        EcnConfig {
            kmin: self.kmin.unwrap_or(column.kmin),
            kmax: self.kmax.unwrap_or(column.kmax),
            pmax: self.pmax.unwrap_or(column.pmax),
            rate: self.rate.or(column.rate.filter(|_| !is_own)),
        }
    }
}

/// Thresholds of ECN marking.
#[derive(Clone, Debug, PartialEq)]
pub struct EcnConfig {
    /// Queue length up to which no packet is marked.
    pub kmin: Bytes,
    /// Queue length above which every packet is marked.
    pub kmax: Bytes,
    /// Marking probability at `kmax`.
    pub pmax: f64,
    /// Port rate for which `kmin` and `kmax` hold: the thresholds of a port scale with its rate.
    /// `None` if every port has the same thresholds.
    pub rate: Option<Rate>,
}

impl Default for EcnConfig {
    /// Returns 100 KB as Kmin, 400 KB as Kmax and 0.2 as Pmax (ConWeave, PortFC).
    fn default() -> Self {
        EcnConfig { kmin: Bytes(100_000), kmax: Bytes(400_000), pmax: 0.2, rate: None }
    }
}

impl EcnConfig {
    /// Returns Kmin and Kmax of a port of rate `port`.
    pub fn thresholds(&self, port: Rate) -> (Bytes, Bytes) {
        let scaled = |bytes: Bytes| match self.rate {
            Some(rate) => Bytes((u128::from(bytes.get()) * u128::from(port.bps()) / u128::from(rate.bps())) as u64),
            None => bytes,
        };
        (scaled(self.kmin), scaled(self.kmax))
    }
}

/// ECN marker of one switch.
#[derive(Debug, GetSize)]
pub struct EcnMarker {
    /// Kmin and Kmax by port.
    thresholds: IndexVec<PortIx, (u64, u64)>,
    pmax: f64,
    draws: Stream,
}

impl EcnMarker {
    /// Returns the marker of the switch at `site`.
    pub fn new(config: &EcnConfig, site: &Site<'_>) -> EcnMarker {
        let thresholds = |port: &PortFacts| {
            let (kmin, kmax) = config.thresholds(port.rate);
            (kmin.get(), kmax.get())
        };
        EcnMarker {
            thresholds: site.ports.iter().map(thresholds).collect(),
            pmax: config.pmax,
            draws: site.seed.stream("ecn", u64::from(site.node.0)),
        }
    }
}

impl CongestionPoint for EcnMarker {}

impl PipelineHooks for EcnMarker {
    fn hooks(&self) -> HookSet {
        HookSet::DATA_DEPARTURE
    }

    #[inline]
    fn ignores_departure(&self, packet: &PacketContext<'_>, length: u64) -> bool {
        length <= self.thresholds[packet.egress].0
    }

    #[inline]
    fn on_departure(&mut self, packet: &mut PacketContext<'_>, length: u64, _view: &mut View<'_>) {
        let (kmin, kmax) = self.thresholds[packet.egress];
        if length > kmax {
            packet.mark();
        } else if length > kmin {
            let probability = self.pmax * (length - kmin) as f64 / (kmax - kmin) as f64;
            if self.draws.chance(probability) {
                packet.mark();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use crate::testing::{depart, fabric, node_io, port, star};
    use backwater_engine::Time;

    /// Sends 20,000 packets that leave `bytes` in their queue, and returns the number of marked
    /// ones.
    fn marked(config: &EcnConfig, gbps: u64, bytes: u64) -> u32 {
        let mut spec = star(2);
        spec.links[1].rate = Rate::from_gbps(gbps);
        let fabric = fabric(spec);
        let mut marker = EcnMarker::new(config, &fabric.site(NodeId(2)));
        let mut node = node_io(vec![port(gbps), port(gbps)]);
        let is_marked = |_: &u32| {
            let (frame, _) = depart(&mut marker, bytes, Time::ZERO, &mut node);
            frame.packet().is_some_and(|packet| packet.marked)
        };
        (0..20_000).filter(is_marked).count() as u32
    }

    #[test]
    fn marks_grow_from_none_at_kmin_to_pmax_at_kmax_and_all_beyond() {
        let config = EcnConfig::default();
        assert_eq!(marked(&config, 100, 0), 0);
        assert_eq!(marked(&config, 100, 100_000), 0);
        // Midway between the thresholds, 0.1 of the 20,000 packets are marked, within five standard
        // deviations.
        assert!(marked(&config, 100, 250_000).abs_diff(2000) < 212);
        assert!(marked(&config, 100, 400_000).abs_diff(4000) < 283);
        assert_eq!(marked(&config, 100, 400_001), 20_000);
    }

    #[test]
    fn thresholds_scale_with_the_port_rate_if_set() {
        let scaled = EcnConfig { rate: Some(Rate::from_gbps(100)), ..EcnConfig::default() };
        assert_eq!((marked(&scaled, 25, 25_000), marked(&scaled, 25, 100_001)), (0, 20_000));
        assert_eq!((marked(&scaled, 400, 400_000), marked(&scaled, 400, 1_600_001)), (0, 20_000));
        let fixed = EcnConfig { rate: None, ..scaled };
        assert_eq!((marked(&fixed, 25, 100_000), marked(&fixed, 25, 400_001)), (0, 20_000));
        // As in DCTCP, a single threshold separates unmarked from marked packets.
        let step = EcnConfig { kmin: Bytes(300_000), kmax: Bytes(300_000), pmax: 1.0, rate: None };
        assert_eq!((marked(&step, 100, 300_000), marked(&step, 100, 300_001)), (0, 20_000));
    }
}
