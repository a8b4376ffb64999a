//! Ranks: the order in which a node handles its events.

use crate::ids::PortIx;
use crate::network::fabric::Fabric;
use backwater_engine::{Duration, Time};

/// Kinds of events, in the order of handling within an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    LinkDown,
    LinkUp,
    Arrive,
    FlowStart,
    FlowControl,
    Retransmission,
    Port,
    Node,
}

/// Rank of an event of a node within an epoch. It consists of the time since the start of the
/// epoch, the kind of the event, the age of the sender's burst for arrivals, and the port. Events
/// of the node itself belong to port 0.
pub(super) type Rank = u64;

const PORT_BITS: u32 = u16::BITS;
const AGE_BITS: u32 = 22;
const KIND_SHIFT: u32 = PORT_BITS + AGE_BITS;
const TIME_SHIFT: u32 = KIND_SHIFT + 3;

/// Maximum age of a burst that is told apart, in nanoseconds.
const AGE_MAX: u64 = (1 << AGE_BITS) - 1;

/// Maximum length of an epoch. Longer epochs need more cache for frames.
const LONGEST: Duration = Duration::from_us(2);
const _: () = assert!(LONGEST.ps() < u64::MAX >> TIME_SHIFT, "no rank has all bits set");

/// Returns the length of an epoch: at most the delay of the shortest link.
pub(super) fn epoch(fabric: &Fabric) -> Duration {
    fabric.wiring.ports.iter().map(|port| port.delay).min().unwrap_or(LONGEST).min(LONGEST)
}

/// Returns the age of a burst in a rank, in whole nanoseconds.
#[inline(always)]
pub(super) fn age_of(burst: Duration) -> u32 {
    (burst.ps() / 1000).min(AGE_MAX) as u32
}

/// Returns the rank of an event at `port`, `since` the start of the epoch. `age` comes
/// from [`age_of`].
#[inline(always)]
pub(super) fn rank(since: Duration, kind: Kind, age: u32, port: PortIx) -> Rank {
    since.ps() << TIME_SHIFT | (kind as u64) << KIND_SHIFT | u64::from(age) << PORT_BITS | u64::from(port.0)
}

/// Returns the time of an event in the epoch that starts at `start`.
#[inline(always)]
pub(super) fn time_of(rank: Rank, start: Time) -> Time {
    Time::from_ps(start.ps() + (rank >> TIME_SHIFT))
}

/// Returns true if an event is of `kind`.
#[inline(always)]
pub(super) fn is_of(rank: Rank, kind: Kind) -> bool {
    rank >> KIND_SHIFT & 7 == kind as u64
}

/// Returns the kind of an event.
#[inline(always)]
pub(super) fn kind_of(rank: Rank) -> Kind {
    match rank >> KIND_SHIFT & 7 {
        0 => Kind::LinkDown,
        1 => Kind::LinkUp,
        2 => Kind::Arrive,
        3 => Kind::FlowStart,
        4 => Kind::FlowControl,
        5 => Kind::Retransmission,
        6 => Kind::Port,
        _ => Kind::Node,
    }
}

/// Returns the port of an event.
#[inline(always)]
pub(super) fn port_of(rank: Rank) -> PortIx {
    PortIx(rank as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A burst may last longer than a rank can tell.
    #[test]
    fn a_long_burst_leaves_the_other_parts_of_a_rank_alone() {
        let since = Duration::from_ns(999);
        for burst in [Duration::ZERO, Duration::from_us(4_194), Duration::from_us(4_195), Duration::from_ms(9_000)] {
            let rank = rank(since, Kind::Arrive, age_of(burst), PortIx(7));
            assert_eq!(
                (time_of(rank, Time::ZERO), kind_of(rank), port_of(rank)),
                (Time::ZERO + since, Kind::Arrive, PortIx(7))
            );
        }
        assert!(age_of(Duration::from_us(4_194)) < age_of(Duration::from_ms(9_000)));
    }
}
