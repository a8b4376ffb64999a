//! Discounting rate estimator (DRE) of CONGA (SIGCOMM 2014, section 3.2): the recent load of a
//! link.

use crate::contract::PortFacts;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;

/// Discounting rate estimator of a link.
#[derive(Debug, GetSize)]
pub(super) struct Dre {
    period: Duration,
    /// Share of the count that remains after a period: 1 - alpha.
    keep: f64,
    /// Count for which the metric is 1: rate T_dre / (8 alpha levels).
    unit: f64,
    /// Largest metric.
    most: u8,
    /// Byte count X at the start of period number `at`.
    bytes: f64,
    at: u64,
}

impl Dre {
    /// Returns the estimator of the link at `port`. The estimator drops the share `alpha` of its
    /// byte count in every period. At full rate, the metric approaches `levels` and never reaches
    /// it.
    pub(super) fn new(period: Duration, alpha: f64, levels: u16, port: &PortFacts) -> Dre {
        let levels = f64::from(levels);
        let bytes_per_period = port.rate.bps() as f64 * period.ps() as f64 / 8e12;
        Dre {
            period,
            keep: 1.0 - alpha,
            unit: bytes_per_period / (alpha * levels),
            most: (levels - 1.0) as u8,
            bytes: 0.0,
            at: 0,
        }
    }

    /// Returns the number of the period of `now`, and the byte count in this period.
    fn count(&self, now: Time) -> (u64, f64) {
        let at = now.ps() / self.period.ps().max(1);
        (at, self.bytes * power(self.keep, at - self.at))
    }

    /// Adds bytes that start on the wire.
    pub(super) fn add(&mut self, bytes: u16, now: Time) {
        (self.at, self.bytes) = self.count(now);
        self.bytes += f64::from(bytes);
    }

    /// Returns the load of the link.
    pub(super) fn metric(&self, now: Time) -> u8 {
        (self.count(now).1 / self.unit).min(self.most.into()) as u8
    }
}

/// Returns `base` to the power of `exponent` by multiplications only, which give the same result on
/// every machine.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut power = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use crate::testing::{at_us as at, fabric, star};

    /// Returns the estimator of a link of 100 Gb/s with periods of 1 us. If half of the bytes are
    /// dropped per period, a metric of 1 with 8 levels corresponds to 100 Gb/s x 1 us / (8 x 0.5 x
    /// 2^3) = 3,125 B.
    fn dre(alpha: f64, levels: u16) -> Dre {
        Dre::new(Duration::from_us(1), alpha, levels, &fabric(star(2)).site(NodeId(2)).ports[0])
    }

    #[test]
    fn an_estimator_counts_bytes_and_drops_a_part_of_them_every_period() {
        let mut dre = dre(0.5, 8);
        let ps = |ps| Time::from_ps(ps);
        dre.add(3124, ps(0));
        assert_eq!(dre.metric(ps(0)), 0);
        dre.add(1, ps(10));
        assert_eq!(dre.metric(ps(999_999)), 1);
        dre.add(9375, ps(999_999));
        // The count is 12,500 B. Half of it remains at 1 us, a quarter at 2 us and an eighth at 3
        // us.
        assert_eq!([999_999, 1_000_000, 2_000_000, 3_000_000].map(|at| dre.metric(ps(at))), [4, 2, 1, 0]);
        dre.add(10_938, ps(3_000_000));
        // The count is now 1,562.5 B + 10,938 B.
        assert_eq!([dre.metric(ps(3_000_000)), dre.metric(ps(4_000_000))], [4, 2]);
    }

    /// At a rate R, the count lies between R T / alpha and (1 - alpha) times that: at half the line
    /// rate between 12,500 B and 6,250 B.
    #[test]
    fn a_steady_rate_gives_its_utilisation() {
        for (bytes, before, after) in [(3125, 1, 2), (6250, 2, 4), (9375, 3, 6), (12_500, 4, 7)] {
            let mut dre = dre(0.5, 8);
            (0..60).for_each(|period| dre.add(bytes, at(period)));
            assert_eq!([dre.metric(at(59)), dre.metric(at(60))], [after, before], "{bytes}");
        }
        // With four bits, the metric is twice as fine, and at most 15.
        let mut dre = dre(0.5, 16);
        dre.add(1563, at(0));
        assert_eq!(dre.metric(at(0)), 1);
        dre.add(60_000, at(0));
        assert_eq!(dre.metric(at(0)), 15);
    }

    /// After ten periods, 107,374 B of 1 MB remain, because 0.8^10 = 0.1073741824. Queries in
    /// between change nothing.
    #[test]
    fn many_periods_at_once_equal_single_periods() {
        let (mut rare, mut often) = (dre(0.2, 8), dre(0.2, 8));
        (0..20).for_each(|_| [&mut rare, &mut often].into_iter().for_each(|dre| dre.add(50_000, at(0))));
        (1..=10).for_each(|period| often.add(0, at(period)));
        assert!((rare.count(at(10)).1 - 107_374.182_4).abs() < 1e-6);
        assert!((often.bytes - rare.count(at(10)).1).abs() < 1e-6);
        assert_eq!(rare.metric(Time::from_ps(u64::MAX)), 0);
    }
}
