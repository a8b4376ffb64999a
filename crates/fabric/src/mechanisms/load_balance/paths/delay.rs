//! An edge's estimate of a path's delay: the queueing delay of a sampled packet, as reported by the
//! edge at the other end.

use super::echo::PathReport;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;

/// Measurement parameters.
#[derive(Clone, Copy, Debug, GetSize)]
pub(in super::super) struct Measuring {
    /// Time between two samples of a path.
    pub(in super::super) period: Duration,
    /// Time for which a report holds. After that, the estimate decreases by the time that passes,
    /// as an idle queue drains.
    pub(in super::super) fresh: Duration,
    /// Longest wait for a sample's report. Until then, the last estimate holds.
    pub(in super::super) patience: Duration,
}

/// Delay of a path: one-way, relative to the idle path.
#[derive(Clone, Copy, Debug, Default, GetSize)]
pub(in super::super) struct Delay {
    value: Duration,
    /// Load of the path's links.
    busy: u8,
    /// Time of the last report.
    updated: Time,
    /// Delay added by packets sent since the last report.
    burden: Duration,
    /// Time at which the burden had this value.
    burdened: Time,
    /// Time of the last sample.
    sampled: Option<Time>,
}

impl Delay {
    /// Returns the estimated delay at `now`.
    #[inline]
    pub(in super::super) fn at(&self, now: Time, how: &Measuring) -> Duration {
        if self.value == Duration::ZERO && self.burden == Duration::ZERO {
            return Duration::ZERO;
        }
        let aged = now.since(self.updated).saturating_sub(how.fresh);
        let measured = if self.is_awaited(now, how) { self.value } else { self.value.saturating_sub(aged) };
        measured + self.burden_at(now)
    }

    /// Returns the remaining burden, which drains with time.
    fn burden_at(&self, now: Time) -> Duration {
        self.burden.saturating_sub(now.since(self.burdened))
    }

    /// Returns true if a sample's report is pending.
    fn is_awaited(&self, now: Time, how: &Measuring) -> bool {
        self.sampled.is_some_and(|sampled| sampled > self.updated && now.since(sampled) <= how.patience)
    }

    /// Returns true if the next packet is to be sampled, and then records the sample.
    pub(in super::super) fn is_due(&mut self, now: Time, how: &Measuring) -> bool {
        let is_due = self.sampled.is_none_or(|sampled| now.since(sampled) >= how.period);
        if is_due {
            self.sampled = Some(now);
        }
        is_due
    }

    /// Records a probe packet of the switch as a sample.
    pub(in super::super) fn probed(&mut self, now: Time) {
        self.sampled = Some(now);
    }

    /// Records a report.
    pub(in super::super) fn record(&mut self, report: &PathReport, now: Time) {
        (self.value, self.busy, self.updated) = (report.delay, report.busy, now);
        self.burden = Duration::ZERO;
    }

    /// Returns the load of the path's busiest link.
    pub(in super::super) fn busy(&self) -> u8 {
        self.busy
    }

    /// Adds `more` to the estimate until `more` has drained, or until the next report. The last
    /// report may not include packets sent on the path since then.
    pub(in super::super) fn burden(&mut self, more: Duration, now: Time) {
        (self.burden, self.burdened) = (self.burden_at(now) + more, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at_us as at;

    const HOW: Measuring =
        Measuring { period: Duration::from_us(10), fresh: Duration::from_us(20), patience: Duration::from_us(100) };

    fn record(delay: &mut Delay, us: u64, now: Time) {
        delay.record(&PathReport { path: 0, delay: Duration::from_us(us), busy: 0 }, now);
    }

    #[test]
    fn paths_are_sampled_once_in_a_period() {
        let mut delay = Delay::default();
        let due: Vec<u64> = (0..35).filter(|us| delay.is_due(at(*us), &HOW)).collect();
        assert_eq!(due, [0, 10, 20, 30]);
    }

    /// A delay of 5 us, reported at 40 us, holds until 60 us and is 0 at 65 us.
    #[test]
    fn reports_decrease_once_they_are_old() {
        let mut delay = Delay::default();
        record(&mut delay, 5, at(40));
        for (us, left) in [(40, 5), (60, 5), (61, 4), (64, 1), (65, 0), (1000, 0)] {
            assert_eq!(delay.at(at(us), &HOW), Duration::from_us(left), "{us} us");
        }
    }

    /// A delay of 5 us holds until 60 us. 3 us are added at 40 us; 1 us of these remains at 42 us,
    /// when 2 us more are added. The next report ends the burden.
    #[test]
    fn a_burden_drains_and_ends_with_the_next_report() {
        let mut delay = Delay::default();
        record(&mut delay, 5, at(40));
        delay.burden(Duration::from_us(3), at(40));
        assert_eq!([40, 42, 43, 50].map(|us| delay.at(at(us), &HOW)), [8, 6, 5, 5].map(Duration::from_us));
        delay.burden(Duration::from_us(2), at(42));
        assert_eq!([42, 44, 50].map(|us| delay.at(at(us), &HOW)), [8, 6, 5].map(Duration::from_us));
        // A burden does not extend the time for which a report holds.
        delay.burden(Duration::from_us(1), at(61));
        assert_eq!([61, 63, 65].map(|us| delay.at(at(us), &HOW)), [5, 2, 0].map(Duration::from_us));
        delay.burden(Duration::from_us(9), at(70));
        record(&mut delay, 2, at(71));
        assert_eq!(delay.at(at(71), &HOW), Duration::from_us(2));
    }

    /// A pending sample means that the path is in use: the last report holds until the sample
    /// counts as lost.
    #[test]
    fn reports_hold_while_a_sample_is_pending() {
        let mut delay = Delay::default();
        record(&mut delay, 5, at(40));
        assert!(delay.is_due(at(50), &HOW));
        for (us, left) in [(61, 5), (150, 5), (151, 0)] {
            assert_eq!(delay.at(at(us), &HOW), Duration::from_us(left), "{us} us");
        }
        record(&mut delay, 7, at(151));
        assert_eq!(delay.at(at(151), &HOW), Duration::from_us(7));
    }
}
