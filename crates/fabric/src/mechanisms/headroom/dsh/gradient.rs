//! Estimate of the headroom that an ingress queue will need, from its growth (DSH section IV-C).

use super::DshConfig;
use backwater_engine::{Duration, Rate};
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Arithmetic of the estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EstimatorKind {
    /// Divisions and multiplications (DSH Algorithm 2).
    #[default]
    Exact,
    /// Tables, shifts and comparisons only, as in a switching chip (DSH Algorithm 3). Weights must
    /// then be powers of two.
    Hardware,
}

/// Steps of the staircase by which the hardware form maps a gradient to headroom (DSH Figure 12).
const STEPS: i64 = 16;

/// Fraction bits of a gradient in bytes per nanosecond, in the hardware form.
const FRACTION: u32 = 10;

/// Moving averages of one queue: gradient, and its mean deviation. In bytes per picosecond, or in
/// units of 2^-10 bytes per nanosecond.
#[derive(Clone, Copy, Debug, GetSize)]
pub(super) enum Averages {
    Exact { gradient: f64, deviation: f64 },
    Hardware { gradient: i64, deviation: i64 },
}

/// Parameters common to all queues of a switch.
#[derive(Debug, GetSize)]
pub(super) enum Estimator {
    Exact { gradient_weight: f64, deviation_weight: f64, factor: f64 },
    Hardware { gradient_shift: u32, deviation_shift: u32, factor_shift: u32, tables: Box<Tables> },
}

/// Parameters common to all queues of a port.
#[derive(Clone, Copy, Debug, GetSize)]
pub(super) struct Reach {
    /// Maximum headroom that a queue can need: the port's headroom.
    pub(super) most: u64,
    /// Delay until a PAUSE takes effect: the time in which the link carries `most` bytes, ps.
    delay: f64,
    /// Gradient for which the headroom just suffices: the link's rate, in the hardware form.
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

    /// Returns the initial averages.
    pub(super) fn start(&self) -> Averages {
        match self {
            Estimator::Exact { .. } => Averages::Exact { gradient: 0.0, deviation: 0.0 },
            Estimator::Hardware { .. } => Averages::Hardware { gradient: 0, deviation: 0 },
        }
    }

    /// Returns the headroom that a queue will probably need after it has grown by `grown` bytes in
    /// `elapsed`, the time between two arrivals.
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
    /// Maps a gradient to headroom (DSH Figure 12): a gradient above a threshold gets the headroom
    /// of the next step.
    fn staircase(&self, gradient: i64) -> u64 {
        let step = (0..STEPS).find(|step| gradient * STEPS <= self.gradient * step).unwrap_or(STEPS);
        self.most * step as u64 / STEPS as u64
    }
}

/// Returns the largest s for which 2^s is at most `factor`.
fn shift(factor: f64) -> u32 {
    (0..32).take_while(|bits| f64::from(1u32 << bits) <= factor).last().unwrap_or(0)
}

/// Bits of a table index, and of the fractions of logarithms.
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
        // The smallest number with a logarithm of at least i / 256, so that estimates of headroom
        // are rounded up.
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

    /// Returns `grown` / `elapsed` in units of 2^-[`FRACTION`]: 2^(log2 |grown| - log2 elapsed),
    /// with the sign of `grown`.
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

    /// Returns the logarithm of `number`, which is not 0, with [`LOG_BITS`] fraction bits: the
    /// position of the leading one bit gives the whole part, the bits after it give the fraction.
    fn log2(&self, number: u64) -> i64 {
        let whole = number.ilog2();
        let behind = (number << (63 - whole)) << 1;
        let index = (behind >> (64 - INDEX_BITS)) as usize;
        (i64::from(whole) << LOG_BITS) + i64::from(self.log[index])
    }
}

/// Returns the fraction of log2 of `number`, which is in 1..2 with 31 fraction bits. Each squaring
/// doubles the logarithm and yields one bit.
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
