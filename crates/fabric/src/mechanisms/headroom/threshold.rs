//! Dynamic threshold of an ingress queue (Choudhury and Hahne 1998): a share of the free bytes of
//! the shared pool.

use crate::contract::{PortFacts, Site};
use crate::ids::PortIx;
use backwater_engine::Rate;
use backwater_engine::index::Id;
use get_size2::GetSize;

/// Alpha, in units of 2^-16.
#[derive(Debug, GetSize)]
pub(super) enum DynamicThreshold {
    OfAll(u64),
    /// Alpha by port, if alpha depends on the port's rate.
    ByPort(Box<[u64]>),
}

const ALPHA_BITS: u32 = 16;

/// Returns alpha at `port`. If `at` is set, `alpha` holds for ports of this rate, and scales with
/// the rate of a port.
pub(super) fn alpha(alpha: f64, at: Option<Rate>, port: &PortFacts) -> f64 {
    at.map_or(alpha, |at| alpha * (port.rate.bps() as f64 / at.bps() as f64))
}

impl DynamicThreshold {
    /// Returns the threshold with `alpha`. If `at` is set, `alpha` holds for ports of this rate,
    /// and scales with the rate of a port.
    pub(super) fn new(alpha: f64, at: Option<Rate>, site: &Site<'_>) -> DynamicThreshold {
        let scaled = |alpha: f64| (alpha * f64::from(1 << ALPHA_BITS)).round() as u64;
        match at {
            None => DynamicThreshold::OfAll(scaled(alpha)),
            Some(_) => {
                let at_port = |port| scaled(self::alpha(alpha, at, port));
                DynamicThreshold::ByPort(site.ports.iter().map(at_port).collect())
            }
        }
    }

    /// Returns T(t) = alpha (B_s - used) (DSH Equation 2); `free` is the term in parentheses.
    #[inline]
    pub(super) fn of(&self, ingress: PortIx, free: u64) -> u64 {
        let alpha = match self {
            DynamicThreshold::OfAll(alpha) => *alpha,
            DynamicThreshold::ByPort(alpha) => alpha[ingress.index()],
        };
        ((u128::from(free) * u128::from(alpha)) >> ALPHA_BITS) as u64
    }
}
