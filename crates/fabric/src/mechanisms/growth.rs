//! Growth rate of a queue, measured at arrivals. The rate predicts the queue's length at the time
//! when a notice takes effect.

use backwater_engine::{Duration, Time};
use get_size2::GetSize;

/// Two lengths of a queue and their times, the older one first. The newer length is less than an
/// interval old at the last packet. The older length is one to two intervals older than the newer
/// length. After two intervals without a packet, both lengths have the same time.
#[derive(Clone, Copy, Debug, Default, GetSize)]
pub(super) struct Lengths([(Time, u64); 2]);

impl Lengths {
    /// Records the queue's length, `length` bytes, just before a packet joins the queue.
    pub(super) fn measure(&mut self, length: u64, now: Time, interval: Duration) {
        let age = now.since(self.0[1].0);
        if age >= interval {
            // A length from before a break of at least two intervals does not count.
            let is_recent = age.ps() / 2 < interval.ps();
            self.0 = [if is_recent { self.0[1] } else { (now, length) }, (now, length)];
        }
    }

    /// Returns true if [`growth`](Self::growth) surely is at most `room`: a test without division.
    pub(super) fn fits(&self, room: i128, length: u64, now: Time, interval: Duration, span: Duration) -> bool {
        let (since, from) = self.0[0];
        let time = now.since(since).max(interval);
        (i128::from(length) - i128::from(from)) * i128::from(span.ps()) <= room * i128::from(time.ps())
    }

    /// Returns the growth in `span` of a queue of `length` bytes if recent growth continues.
    pub(super) fn growth(&self, length: u64, now: Time, interval: Duration, span: Duration) -> i128 {
        let (since, from) = self.0[0];
        let time = now.since(since).max(interval);
        (i128::from(length) - i128::from(from)) * i128::from(span.ps()) / i128::from(time.ps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Growth is measured over at least 10 us and less than 30 us. A shrinking queue has negative
    /// growth, and lengths from before a break of 20 us do not count.
    #[test]
    fn growth_uses_recent_lengths() {
        let mut lengths = Lengths::default();
        let mut growth = |us, before: u64, length: u64| {
            let (interval, span) = (Duration::from_us(10), Duration::from_us(5));
            let now = Time::ZERO + Duration::from_us(us);
            lengths.measure(before, now, interval);
            let growth = lengths.growth(length, now, interval, span);
            let fits = [-1, 0, 1].map(|more| lengths.fits(growth + more, length, now, interval, span));
            assert_eq!((fits[0], fits[2]), (false, true));
            growth
        };
        // After a break, 1000 B arrive at once. The growth is measured over at least 10 us.
        assert_eq!(growth(100, 0, 1000), 500);
        assert_eq!(growth(105, 1000, 2000), 1000);
        assert_eq!(growth(110, 2000, 3000), 1500);
        // The first growth is measured from 100 us on, the second from 110 us on, when the queue
        // had 2000 B.
        assert_eq!(growth(119, 6000, 7600), 2000);
        assert_eq!(growth(120, 7600, 8000), 3000);
        assert_eq!(growth(130, 5000, 5600), -1000);
        // The next packet arrives 20 us later.
        assert_eq!(growth(150, 100_000, 100_200), 100);
    }
}
