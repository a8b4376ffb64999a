//! A distribution of flow sizes: points of the cumulative probability, and an interpolation rule.

use super::Interpolation;
use backwater_engine::random::Stream;
use backwater_fabric::frame::framing::Framing;

/// Largest size of a table, 1 PB. Sizes up to this value are exact in a 64-bit float.
pub const MAX_BYTES: u64 = 1_000_000_000_000_000;

/// Factor between the ends of a segment below which logarithmic and linear interpolation are equal
/// (relative error below 1e-9).
const SHORT: f64 = 1.0001;

/// One point of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knot {
    /// Size in bytes.
    pub bytes: u64,
    /// Probability that a flow is not larger than `bytes`.
    pub cumulative: f64,
}

/// A distribution of sizes from which flows are drawn.
///
/// A draw inverts the cumulative probability: linear or log-linear between two points, rounded to
/// the nearest byte, at least 1 B. A first point above probability zero is a point mass: its size
/// occurs with exactly this probability. Two points of equal size are a point mass as well: their
/// size occurs with the difference of their probabilities.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    knots: Vec<Knot>,
    rule: Interpolation,
}

impl Distribution {
    /// Creates a distribution from at least two points.
    ///
    /// # Errors
    /// The index of the first wrong point, and a message.
    pub fn new(knots: Vec<Knot>, rule: Interpolation) -> Result<Distribution, (usize, String)> {
        for (i, knot) in knots.iter().enumerate() {
            let Knot { bytes, cumulative } = *knot;
            if !(0.0..=1.0 + 1e-9).contains(&cumulative) {
                return Err((i, format!("the probability is {cumulative}; must be from 0 to 1 (0 to 100 percent)")));
            }
            if bytes > MAX_BYTES {
                return Err((i, format!("the size is {bytes}; must be at most {MAX_BYTES} B (1 PB)")));
            }
            let Some(before) = i.checked_sub(1).map(|before| knots[before]) else { continue };
            if bytes < before.bytes {
                return Err((i, format!("the size is {bytes}; must be at least the previous size, {}", before.bytes)));
            }
            if cumulative < before.cumulative {
                let before = before.cumulative;
                return Err((
                    i,
                    format!("the probability is {cumulative}; must be at least the previous probability, {before}"),
                ));
            }
            if *knot == before {
                return Err((i, format!("repeats the previous point (size {bytes}, probability {cumulative})")));
            }
        }
        let last = knots.len().saturating_sub(1);
        if knots.len() < 2 {
            return Err((last, format!("must have at least 2 points; found {}", knots.len())));
        }
        if (knots[last].cumulative - 1.0).abs() > 1e-9 {
            return Err((last, format!("the last probability is {}; must be 1 (100 percent)", knots[last].cumulative)));
        }
        if knots[last].bytes == 0 {
            return Err((last, "the largest size is 0; must be at least 1".into()));
        }
        let mut knots = knots;
        knots[last].cumulative = 1.0;
        Ok(Distribution { knots, rule })
    }

    /// Returns the distribution with the single size `bytes`.
    pub fn fixed(bytes: u64) -> Distribution {
        Distribution { knots: vec![Knot { bytes, cumulative: 1.0 }], rule: Interpolation::Step }
    }

    /// Returns the uniform distribution between `low` and `high`, both included, with `low <=
    /// high`.
    pub fn uniform(low: u64, high: u64) -> Distribution {
        let knots = vec![Knot { bytes: low, cumulative: 0.0 }, Knot { bytes: high, cumulative: 1.0 }];
        Distribution { knots, rule: Interpolation::Linear }
    }

    /// Returns the uniform distribution over the multiples of `unit` from `first * unit` to `last *
    /// unit`, both included, with `first <= last`.
    pub fn multiples(unit: u64, first: u64, last: u64) -> Distribution {
        let count = (last - first + 1) as f64;
        let knot = |i: u64| Knot { bytes: i * unit, cumulative: (i - first + 1) as f64 / count };
        Distribution { knots: (first..=last).map(knot).collect(), rule: Interpolation::Step }
    }

    /// Draws a size.
    pub fn sample(&self, stream: &mut Stream) -> u64 {
        self.quantile(stream.unit())
    }

    /// Returns the `u`-quantile of the sizes, with `u` in `[0, 1)`.
    pub fn quantile(&self, u: f64) -> u64 {
        let next = self.knots.partition_point(|knot| knot.cumulative <= u).min(self.knots.len() - 1);
        let end = self.knots[next];
        if next == 0 || self.rule == Interpolation::Step {
            return end.bytes.max(1);
        }
        let start = self.knots[next - 1];
        let share = (u - start.cumulative) / (end.cumulative - start.cumulative);
        let (low, high) = (start.bytes as f64, end.bytes as f64);
        let bytes = match self.rule {
            Interpolation::LogLinear => low.max(1.0) * libm::exp(share * libm::log(high / low.max(1.0))),
            _ => low + share * (high - low),
        };
        (bytes.round() as u64).clamp(start.bytes, end.bytes).max(1)
    }

    /// Returns the mean of the drawn, rounded sizes, in bytes.
    pub fn mean(&self) -> f64 {
        self.mean_packets(1)
    }

    /// Returns the mean number of packets per flow, with at most `payload` bytes per packet.
    pub fn mean_packets(&self, payload: u64) -> f64 {
        let payload = payload as f64;
        let mass = |bytes: u64| (bytes.max(1) as f64 / payload).ceil();
        let first = self.knots[0].cumulative * mass(self.knots[0].bytes);
        let segments = self.knots.windows(2).map(|ends| {
            let (low, high) = (ends[0].bytes as f64, ends[1].bytes as f64);
            let packets = match self.rule {
                _ if low == high => mass(ends[1].bytes),
                Interpolation::Step => mass(ends[1].bytes),
                Interpolation::LogLinear if high > low.max(1.0) * SHORT => {
                    packets_log_linear(low.max(1.0), high, payload)
                }
                _ => packets_linear(low, high, payload),
            };
            (ends[1].cumulative - ends[0].cumulative) * packets
        });
        first + segments.sum::<f64>()
    }

    /// Returns the mean bytes of a flow's data frames on the wire, without in-band telemetry.
    /// Padding of the last frame (at most 1 B) is left out.
    pub fn mean_wire(&self, framing: Framing, payload: u64) -> f64 {
        let mtu = payload as u32;
        let overhead = f64::from(framing.data(mtu, false, 0).wire) - f64::from(mtu);
        let first = f64::from(framing.data(mtu, true, 0).wire) - f64::from(mtu) - overhead;
        self.mean() + first + overhead * self.mean_packets(payload)
    }

    /// Returns the share of flows of at most `bytes`, before rounding.
    pub fn cumulative(&self, bytes: u64) -> f64 {
        let next = self.knots.partition_point(|knot| knot.bytes <= bytes);
        if next == 0 {
            return 0.0;
        }
        let start = self.knots[next - 1];
        let Some(end) = self.knots.get(next).filter(|_| self.rule != Interpolation::Step) else {
            return start.cumulative;
        };
        let (low, high, at) = (start.bytes as f64, end.bytes as f64, bytes as f64);
        let share = match self.rule {
            Interpolation::LogLinear if high > 1.0 => {
                libm::log(at.max(1.0) / low.max(1.0)) / libm::log(high / low.max(1.0))
            }
            _ => (at - low) / (high - low),
        };
        start.cumulative + share.clamp(0.0, 1.0) * (end.cumulative - start.cumulative)
    }

    /// Returns the distribution of the flows of at most `limit` bytes; `None` if there are none.
    pub fn truncate(&self, limit: u64) -> Option<Distribution> {
        let kept = self.cumulative(limit);
        if kept <= 0.0 {
            return None;
        }
        let mut knots: Vec<Knot> = self.knots.iter().copied().take_while(|knot| knot.bytes <= limit).collect();
        let inside = knots.last().is_none_or(|last| last.cumulative < kept);
        knots.extend(inside.then_some(Knot { bytes: limit, cumulative: kept }));
        for knot in &mut knots {
            knot.cumulative /= kept;
        }
        Some(Distribution { knots, rule: self.rule })
    }

    /// Returns the largest size.
    pub fn largest(&self) -> u64 {
        self.knots[self.knots.len() - 1].bytes.max(1)
    }
}

/// Returns the mean of ceil(round(X) / payload), at least 1, for X uniform in `[low, high]`.
///
/// Rounding shifts each step of ceil by half a byte. The result is therefore the mean of ceil(y /
/// payload) for y = X - 1/2. This mean equals the mean of y / payload + 1/2, plus the mean of a
/// function with the period `payload`. The integral of this function is `ripple`.
fn packets_linear(low: f64, high: f64, payload: f64) -> f64 {
    let ripple = |y: f64| {
        let rest = y.rem_euclid(payload);
        rest * (payload - rest) / (2.0 * payload)
    };
    let (from, to) = (low - 0.5, high - 0.5);
    let mean = (from + to) / 2.0 / payload + 0.5 + (ripple(to) - ripple(from)) / (high - low);
    // Sizes that round to zero are sent as one byte.
    mean + (0.5 - low).max(0.0) / (high - low)
}

/// Like [`packets_linear`], for a uniform logarithm of X. The result is the sum over k >= 0 of the
/// probability that X > k payload + 1/2. The sum of the logarithms of an arithmetic series is a
/// difference of two log-gammas.
fn packets_log_linear(low: f64, high: f64, payload: f64) -> f64 {
    let offset = 0.5 / payload;
    let certain = (low / payload - offset).ceil().max(0.0);
    let possible = (high / payload - offset).ceil() - certain;
    let logarithms =
        possible * libm::log(payload) + libm::lgamma(certain + possible + offset) - libm::lgamma(certain + offset);
    certain + (possible * libm::log(high) - logarithms) / libm::log(high / low)
}
