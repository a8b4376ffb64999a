//! Simulated time: instants ([`Time`]) and spans ([`Duration`]) in integer picoseconds.
//!
//! A byte takes 80, 20 and 10 ps at 100, 400 and 800 Gb/s, so common link rates are exact.

use get_size2::GetSize;
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// Instant, in picoseconds since the start of the run. `u64` reaches 213 days.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, GetSize)]
pub struct Time(u64);

/// Span of simulated time, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, GetSize)]
pub struct Duration(u64);

impl Time {
    /// Start of the run.
    pub const ZERO: Time = Time(0);
    /// Instant after every event, used for timers that are not set.
    pub const NEVER: Time = Time(u64::MAX);

    /// Returns the instant `ps` picoseconds after the start.
    #[inline]
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }

    /// Returns the picoseconds since the start.
    #[inline]
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Returns the span since `earlier`, or zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// Empty span.
    pub const ZERO: Duration = Duration(0);

    /// Returns a span of `ps` picoseconds.
    #[inline]
    pub const fn from_ps(ps: u64) -> Duration {
        Duration(ps)
    }

    /// Returns a span of `ns` nanoseconds.
    #[inline]
    pub const fn from_ns(ns: u64) -> Duration {
        Duration(ns * 1_000)
    }

    /// Returns a span of `us` microseconds.
    #[inline]
    pub const fn from_us(us: u64) -> Duration {
        Duration(us * 1_000_000)
    }

    /// Returns a span of `ms` milliseconds.
    #[inline]
    pub const fn from_ms(ms: u64) -> Duration {
        Duration(ms * 1_000_000_000)
    }

    /// Returns the span in picoseconds.
    #[inline]
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Subtracts `other`, or returns zero if `other` is longer.
    #[inline]
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }

    /// Returns the span in seconds, for display and real-valued formulas.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Time> for Time {
    type Output = Duration;
    /// Returns the span from `earlier` to `self`. `earlier` must not be later (checked in debug
    /// builds).
    #[inline]
    fn sub(self, earlier: Time) -> Duration {
        debug_assert!(self >= earlier, "time runs backwards: {self} - {earlier}");
        Duration(self.0 - earlier.0)
    }
}

impl Add for Duration {
    type Output = Duration;
    #[inline]
    fn add(self, other: Duration) -> Duration {
        Duration(self.0 + other.0)
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Duration) {
        self.0 += other.0;
    }
}

impl Sub for Duration {
    type Output = Duration;
    #[inline]
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0 - other.0)
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn mul(self, factor: u64) -> Duration {
        Duration(self.0 * factor)
    }
}

impl std::iter::Sum for Duration {
    #[inline]
    fn sum<I: Iterator<Item = Duration>>(spans: I) -> Duration {
        spans.fold(Duration::ZERO, Add::add)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Time::NEVER { f.write_str("never") } else { Duration(self.0).fmt(f) }
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::units::write_scaled(f, self.0, &crate::units::TIME)
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_added_subtracted_and_formatted() {
        assert_eq!(
            [Duration::from_ms(2), Duration::from_us(2000), Duration::from_ns(2_000_000)].map(Duration::ps),
            [2_000_000_000; 3]
        );
        let spans = [1, 2_500_000].map(Duration::from_us);
        assert_eq!(spans.map(Duration::as_secs_f64), [1e-6, 2.5]);
        assert_eq!(spans.into_iter().sum::<Duration>() - spans[1], spans[0]);
        assert_eq!([Time::ZERO + spans[0], Time::NEVER].map(|time| time.to_string()), ["1 us", "never"]);
    }
}
