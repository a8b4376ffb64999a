//! How fast a queue grows: for whoever asks, when a packet comes, where it will be by the time that a notice has had its effect.

use backwater_engine::{Duration, Time};
use get_size2::GetSize;

/// Two lengths of a queue, the older one first, and when it had them: the newer one less than an interval before the last packet came, the older one one to two
/// intervals before that, or, where no packet came for so long, at the same time.
#[derive(Clone, Copy, Debug, Default, GetSize)]
pub(super) struct Lengths([(Time, u64); 2]);

impl Lengths {
    /// Where the growth of the queue is measured from, before a packet is added to `length` bytes.
    pub(super) fn measure(&mut self, length: u64, now: Time, interval: Duration) {
        let age = now.since(self.0[1].0);
        if age >= interval {
            // What was before a break says nothing.
            let is_recent = age.ps() / 2 < interval.ps();
            self.0 = [if is_recent { self.0[1] } else { (now, length) }, (now, length)];
        }
    }

    /// By how much the queue, which holds `length` bytes, grows in `span`, if it goes on as lately.
    pub(super) fn growth(&self, length: u64, now: Time, interval: Duration, span: Duration) -> i128 {
        let (since, from) = self.0[0];
        let time = now.since(since).max(interval);
        (i128::from(length) - i128::from(from)) * i128::from(span.ps()) / i128::from(time.ps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over 10 us at least, and less than 30; a queue that shrinks grows by less than nothing, and what was before a break does not count.
    #[test]
    fn growth_is_that_of_late() {
        let mut lengths = Lengths::default();
        let mut growth = |us, before: u64, length: u64| {
            let (interval, span) = (Duration::from_us(10), Duration::from_us(5));
            let now = Time::ZERO + Duration::from_us(us);
            lengths.measure(before, now, interval);
            lengths.growth(length, now, interval, span)
        };
        // 1000 B at once, after a break: over 10 us at least.
        assert_eq!(growth(100, 0, 1000), 500);
        assert_eq!(growth(105, 1000, 2000), 1000);
        assert_eq!(growth(110, 2000, 3000), 1500);
        // From 100 us until here; then from 110 us, when there were 2000 B.
        assert_eq!(growth(119, 6000, 7600), 2000);
        assert_eq!(growth(120, 7600, 8000), 3000);
        assert_eq!(growth(130, 5000, 5600), -1000);
        // 20 us later.
        assert_eq!(growth(150, 100_000, 100_200), 100);
    }
}
