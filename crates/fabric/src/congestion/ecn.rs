//! ECN marking at switch egress queues: RED on the instantaneous length, as a packet leaves.

use crate::slots::{CongestionPoint, Departure, PortFacts, Site};
use backwater_engine::random::{Seed, Stream};
use backwater_engine::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// ECN marking of a switch's egress queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EcnConfig {
    /// Queue length up to which nothing is marked. Default 100 KB (ConWeave, PortFC).
    pub kmin: Bytes,
    /// Queue length above which everything is marked. Default 400 KB.
    pub kmax: Bytes,
    /// Marking probability at `kmax`. Default 0.2.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pmax: f64,
    /// If set, `kmin` and `kmax` hold for ports of this rate and grow in proportion to a port's rate. Default: they hold for every port.
    pub rate: Option<Rate>,
}

impl Default for EcnConfig {
    fn default() -> Self {
        EcnConfig { kmin: Bytes(100_000), kmax: Bytes(400_000), pmax: 0.2, rate: None }
    }
}

/// The marker of one switch.
#[derive(Debug)]
pub struct EcnMarker {
    /// Kmin and Kmax of every port.
    thresholds: Vec<(u64, u64)>,
    pmax: f64,
    draws: Stream,
}

impl EcnMarker {
    /// The marker of the switch at `site`.
    pub fn new(config: &EcnConfig, site: &Site<'_>) -> EcnMarker {
        let scaled = |bytes: Bytes, port: &PortFacts| match config.rate {
            Some(rate) => (u128::from(bytes.get()) * u128::from(port.rate.bps()) / u128::from(rate.bps())) as u64,
            None => bytes.get(),
        };
        EcnMarker {
            thresholds: site.ports.iter().map(|port| (scaled(config.kmin, port), scaled(config.kmax, port))).collect(),
            pmax: config.pmax,
            draws: Seed(site.spec.seed).stream("ecn", u64::from(site.node.0)),
        }
    }
}

impl CongestionPoint for EcnMarker {
    fn on_departure(&mut self, departure: Departure<'_>) {
        let (kmin, kmax) = self.thresholds[usize::from(departure.port.ix)];
        let length = departure.port.queue_bytes(departure.queue);
        if length > kmax {
            departure.frame.marked = true;
        } else if length > kmin {
            let probability = self.pmax * (length - kmin) as f64 / (kmax - kmin) as f64;
            departure.frame.marked |= self.draws.chance(probability);
        }
    }
}
