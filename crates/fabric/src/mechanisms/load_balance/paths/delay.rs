//! What an edge knows of the delay of a path: how long a sampled packet has waited on it, as the edge at its other end has reported.

use super::echo::PathReport;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;

/// How paths are measured.
#[derive(Clone, Copy, Debug, GetSize)]
pub(in super::super) struct Measuring {
    /// Time between two samples of a path.
    pub(in super::super) period: Duration,
    /// How long what has been heard of a path stays what it is. From then on it falls by as much as time goes on: a queue to which nothing comes drains so.
    pub(in super::super) fresh: Duration,
    /// How long a sample is waited for. As long as it is under way, what was heard last stays.
    pub(in super::super) patience: Duration,
}

/// The delay of a path: one-way, over that of the idle path.
#[derive(Clone, Copy, Debug, Default, GetSize)]
pub(in super::super) struct Delay {
    value: Duration,
    /// How busy its links were.
    busy: u8,
    /// When that was heard.
    heard: Time,
    /// What has been sent that way since and the next report may not have met.
    burden: Duration,
    /// When that was as much.
    burdened: Time,
    /// When a packet was sampled last.
    sampled: Option<Time>,
}

impl Delay {
    /// What is known of it now.
    #[inline]
    pub(in super::super) fn at(&self, now: Time, how: &Measuring) -> Duration {
        if self.value == Duration::ZERO && self.burden == Duration::ZERO {
            return Duration::ZERO;
        }
        let aged = now.since(self.heard).saturating_sub(how.fresh);
        let measured = if self.is_awaited(now, how) { self.value } else { self.value.saturating_sub(aged) };
        measured + self.burden_at(now)
    }

    /// What is left of the burden: it drains as time goes on.
    fn burden_at(&self, now: Time) -> Duration {
        self.burden.saturating_sub(now.since(self.burdened))
    }

    /// Whether a sample is under way.
    fn is_awaited(&self, now: Time, how: &Measuring) -> bool {
        self.sampled.is_some_and(|sampled| sampled > self.heard && now.since(sampled) <= how.patience)
    }

    /// Whether the next packet is to be sampled; if so, it counts as sampled.
    pub(in super::super) fn is_due(&mut self, now: Time, how: &Measuring) -> bool {
        let is_due = self.sampled.is_none_or(|sampled| now.since(sampled) >= how.period);
        if is_due {
            self.sampled = Some(now);
        }
        is_due
    }

    /// A packet of the switch's own is sampled.
    pub(in super::super) fn probed(&mut self, now: Time) {
        self.sampled = Some(now);
    }

    /// A report has come.
    pub(in super::super) fn hear(&mut self, report: &PathReport, now: Time) {
        (self.value, self.busy, self.heard) = (report.delay, report.busy, now);
        self.burden = Duration::ZERO;
    }

    /// How busy the busiest of its links was.
    pub(in super::super) fn busy(&self) -> u8 {
        self.busy
    }

    /// Takes it for longer until that has drained, or to the next report: something has been sent that way which that may not have met.
    pub(in super::super) fn burden(&mut self, more: Duration, now: Time) {
        (self.burden, self.burdened) = (self.burden_at(now) + more, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOW: Measuring =
        Measuring { period: Duration::from_us(10), fresh: Duration::from_us(20), patience: Duration::from_us(100) };

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn hear(delay: &mut Delay, us: u64, now: Time) {
        delay.hear(&PathReport { path: 0, delay: Duration::from_us(us), busy: 0 }, now);
    }

    #[test]
    fn paths_are_sampled_once_in_a_period() {
        let mut delay = Delay::default();
        let due: Vec<u64> = (0..35).filter(|us| delay.is_due(at(*us), &HOW)).collect();
        assert_eq!(due, [0, 10, 20, 30]);
    }

    /// 5 us, heard at 40 us: fresh until 60, and gone at 65.
    #[test]
    fn what_was_heard_falls_once_it_is_old() {
        let mut delay = Delay::default();
        hear(&mut delay, 5, at(40));
        for (us, left) in [(40, 5), (60, 5), (61, 4), (64, 1), (65, 0), (1000, 0)] {
            assert_eq!(delay.at(at(us), &HOW), Duration::from_us(left), "{us} us");
        }
    }

    /// 5 us are fresh until 60 us. 3 us are added at 40, of which 1 us is left at 42, where 2 us more are added, and the next report ends it.
    #[test]
    fn a_burden_drains_and_ends_with_the_next_report() {
        let mut delay = Delay::default();
        hear(&mut delay, 5, at(40));
        delay.burden(Duration::from_us(3), at(40));
        assert_eq!([40, 42, 43, 50].map(|us| delay.at(at(us), &HOW)), [8, 6, 5, 5].map(Duration::from_us));
        delay.burden(Duration::from_us(2), at(42));
        assert_eq!([42, 44, 50].map(|us| delay.at(at(us), &HOW)), [8, 6, 5].map(Duration::from_us));
        // It makes nothing fresh.
        delay.burden(Duration::from_us(1), at(61));
        assert_eq!([61, 63, 65].map(|us| delay.at(at(us), &HOW)), [5, 2, 0].map(Duration::from_us));
        delay.burden(Duration::from_us(9), at(70));
        hear(&mut delay, 2, at(71));
        assert_eq!(delay.at(at(71), &HOW), Duration::from_us(2));
    }

    /// A sample that is under way says that the path is in use: nothing better is known than what was heard last, until it counts as lost.
    #[test]
    fn what_was_heard_stays_while_a_sample_is_under_way() {
        let mut delay = Delay::default();
        hear(&mut delay, 5, at(40));
        assert!(delay.is_due(at(50), &HOW));
        for (us, left) in [(61, 5), (150, 5), (151, 0)] {
            assert_eq!(delay.at(at(us), &HOW), Duration::from_us(left), "{us} us");
        }
        hear(&mut delay, 7, at(151));
        assert_eq!(delay.at(at(151), &HOW), Duration::from_us(7));
    }
}
