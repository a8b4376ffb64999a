//! The dynamic threshold of an ingress queue (Choudhury and Hahne 1998): a share of what is left of the shared pool.

use crate::ids::PortIx;
use crate::slots::Site;
use backwater_engine::Rate;

/// Alpha, in units of 2^-16.
#[derive(Debug)]
pub(super) enum DynamicThreshold {
    OfAll(u64),
    /// Of each port, where it depends on the rate.
    ByPort(Box<[u64]>),
}

const ALPHA_BITS: u32 = 16;

impl DynamicThreshold {
    /// The threshold with `alpha`; that of ports of rate `at`, where it grows in proportion to a port's rate.
    pub(super) fn new(alpha: f64, at: Option<Rate>, site: &Site<'_>) -> DynamicThreshold {
        let scaled = |scale: f64| (alpha * scale * f64::from(1 << ALPHA_BITS)).round() as u64;
        let by_rate =
            |at: Rate| site.ports.iter().map(|port| scaled(port.rate.bps() as f64 / at.bps() as f64)).collect();
        at.map_or_else(|| DynamicThreshold::OfAll(scaled(1.0)), |at| DynamicThreshold::ByPort(by_rate(at)))
    }

    /// T(t) = alpha (B_s - used) (DSH Equation 2), of which `free` is what stands in the parentheses.
    #[inline]
    pub(super) fn of(&self, ingress: PortIx, free: u64) -> u64 {
        let alpha = match self {
            DynamicThreshold::OfAll(alpha) => *alpha,
            DynamicThreshold::ByPort(alpha) => alpha[usize::from(ingress)],
        };
        ((u128::from(free) * u128::from(alpha)) >> ALPHA_BITS) as u64
    }

    pub(super) fn heap_bytes(&self) -> u64 {
        if let DynamicThreshold::ByPort(alpha) = self { size_of_val(&**alpha) as u64 } else { 0 }
    }
}
