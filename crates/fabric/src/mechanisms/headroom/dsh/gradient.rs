//! How much headroom an ingress queue will probably need: an estimate from how fast it grows (DSH section IV-C).

use super::DshConfig;
use backwater_engine::{Duration, Rate};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the need of headroom is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EstimatorKind {
    /// With divisions and multiplications (DSH Algorithm 2).
    #[default]
    Exact,
    /// With tables, shifts and comparisons alone, as a switching chip would (DSH Algorithm 3). Weights must then be powers of two.
    Hardware,
}

/// Steps of the staircase by which the hardware form comes from a gradient to an amount of headroom (DSH Figure 12).
const STEPS: i64 = 16;

/// Bits behind the point of a gradient in bytes per nanosecond, as the hardware form keeps it.
const FRACTION: u32 = 10;

/// The moving averages of one queue: gradient, and its mean deviation. In bytes per picosecond, or in units of 2^-10 bytes per nanosecond.
#[derive(Clone, Copy, Debug, GetSize)]
pub(super) enum Averages {
    Exact { gradient: f64, deviation: f64 },
    Hardware { gradient: i64, deviation: i64 },
}

/// What is the same for all queues of a switch.
#[derive(Debug, GetSize)]
pub(super) enum Estimator {
    Exact { gradient_weight: f64, deviation_weight: f64, factor: f64 },
    Hardware { gradient_shift: u32, deviation_shift: u32, factor_shift: u32, tables: Box<Tables> },
}

/// What is the same for all queues of a port.
#[derive(Clone, Copy, Debug, GetSize)]
pub(super) struct Reach {
    /// The most headroom that a queue can need: that of the port.
    pub(super) most: u64,
    /// How long a PAUSE takes to bite: the time in which the link carries that much, ps.
    delay: f64,
    /// The gradient at which the headroom is just enough: the rate of the link, as the hardware form keeps gradients.
    gradient: i64,
}

impl Reach {
    pub(super) fn new(most: u64, rate: Rate) -> Reach {
        let per_second = (u128::from(rate.bps()) << FRACTION) / 8;
        Reach { most, delay: rate.time_for(most).ps() as f64, gradient: (per_second / 1_000_000_000) as i64 }
    }
}

impl Estimator {
    pub(super) fn new(config: &DshConfig) -> Estimator {
        match config.estimator {
            EstimatorKind::Exact => Estimator::Exact {
                gradient_weight: config.gradient_weight,
                deviation_weight: config.deviation_weight,
                factor: config.deviation_factor,
            },
            EstimatorKind::Hardware => Estimator::Hardware {
                gradient_shift: shift(1.0 / config.gradient_weight),
                deviation_shift: shift(1.0 / config.deviation_weight),
                factor_shift: shift(config.deviation_factor),
                tables: Box::new(Tables::new()),
            },
        }
    }

    /// What a queue begins with.
    pub(super) fn start(&self) -> Averages {
        match self {
            Estimator::Exact { .. } => Averages::Exact { gradient: 0.0, deviation: 0.0 },
            Estimator::Hardware { .. } => Averages::Hardware { gradient: 0, deviation: 0 },
        }
    }

    /// The headroom that a queue will probably need which has grown by `grown` bytes in `elapsed`, the time between two arrivals.
    #[inline]
    pub(super) fn update(&self, averages: &mut Averages, grown: i64, elapsed: Duration, reach: &Reach) -> u64 {
        match (self, averages) {
            (
                Estimator::Exact { gradient_weight, deviation_weight, factor },
                Averages::Exact { gradient, deviation },
            ) => {
                let now = grown as f64 / elapsed.ps() as f64;
                let off = (*gradient - now).abs();
                *gradient = (1.0 - gradient_weight) * *gradient + gradient_weight * now;
                *deviation = (1.0 - deviation_weight) * *deviation + deviation_weight * off;
                let cautious = *gradient + factor * *deviation;
                ((cautious * reach.delay).max(0.0) as u64).min(reach.most)
            }
            (
                Estimator::Hardware { gradient_shift, deviation_shift, factor_shift, tables },
                Averages::Hardware { gradient, deviation },
            ) => {
                let now = tables.divide(grown, elapsed.ps() / 1000);
                let off = (*gradient - now).abs();
                *gradient -= (*gradient - now) >> gradient_shift;
                *deviation -= (*deviation - off) >> deviation_shift;
                reach.staircase(*gradient + (*deviation << factor_shift))
            }
            _ => unreachable!("averages are those that this estimator began with"),
        }
    }
}

impl Reach {
    /// The mapping of DSH Figure 12: gradients are compared with thresholds; what is above one gets the headroom of the next.
    fn staircase(&self, gradient: i64) -> u64 {
        let step = (0..STEPS).find(|step| gradient * STEPS <= self.gradient * step).unwrap_or(STEPS);
        self.most * step as u64 / STEPS as u64
    }
}

/// The whole number s for which 2^s is nearest to `factor`, from below.
fn shift(factor: f64) -> u32 {
    (0..32).take_while(|bits| f64::from(1u32 << bits) <= factor).last().unwrap_or(0)
}

/// Bits of the index into a table, and of the fractions of logarithms.
const INDEX_BITS: u32 = 8;
const LOG_BITS: u32 = 12;

/// Logarithms and powers of two, by which the hardware form divides.
#[derive(Debug, GetSize)]
pub(super) struct Tables {
    /// log2(1 + i / 256).
    log: [u32; 1 << INDEX_BITS],
    /// 2^(i / 256).
    exp: [u32; 1 << INDEX_BITS],
}

impl Tables {
    fn new() -> Tables {
        let log = std::array::from_fn(|i| log2_fraction(((1 << INDEX_BITS) + i as u64) << (31 - INDEX_BITS)));
        // The smallest number whose logarithm is at least i / 256: rounded up, as an estimate of headroom should be.
        let mut mantissa = 1u64 << LOG_BITS;
        let exp = std::array::from_fn(|i| {
            let wanted = (i as u32) << (LOG_BITS - INDEX_BITS);
            while log2_fraction(mantissa << (31 - LOG_BITS)) < wanted {
                mantissa += 1;
            }
            mantissa as u32
        });
        Tables { log, exp }
    }

    /// `grown` / `elapsed` in units of 2^-[`FRACTION`]: 2^(log2 |grown| - log2 elapsed), with the sign of `grown`.
    fn divide(&self, grown: i64, elapsed: u64) -> i64 {
        if grown == 0 {
            return 0;
        }
        let exponent = self.log2(grown.unsigned_abs()) - self.log2(elapsed.max(1)) + (i64::from(FRACTION) << LOG_BITS);
        let (whole, fraction) = (exponent >> LOG_BITS, exponent & ((1 << LOG_BITS) - 1));
        let index = (fraction as u64).div_ceil(1 << (LOG_BITS - INDEX_BITS)) as usize;
        let mantissa = self.exp.get(index).map_or(2 << LOG_BITS, |mantissa| i64::from(*mantissa));
        let places = whole - i64::from(LOG_BITS);
        let quotient = if places >= 0 { mantissa << places.min(40) } else { mantissa >> (-places).min(63) };
        quotient * grown.signum()
    }

    /// The logarithm of `number`, which is not 0, with [`LOG_BITS`] behind the point: whole part from its leading one, fraction from the
    /// bits behind that.
    fn log2(&self, number: u64) -> i64 {
        let whole = number.ilog2();
        let behind = (number << (63 - whole)) << 1;
        let index = (behind >> (64 - INDEX_BITS)) as usize;
        (i64::from(whole) << LOG_BITS) + i64::from(self.log[index])
    }
}

/// The fraction of log2 of `number`, which is in 1..2 with 31 bits behind the point, bit by bit: squaring doubles the logarithm.
fn log2_fraction(mut number: u64) -> u32 {
    let mut fraction = 0;
    for _ in 0..LOG_BITS {
        number = (number * number) >> 31;
        let bit = number >> 32;
        number >>= bit;
        fraction = fraction << 1 | bit as u32;
    }
    fraction
}

#[cfg(test)]
mod tests;
