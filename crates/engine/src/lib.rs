//! Engine of a deterministic discrete-event simulation. It knows nothing about networks.
//!
//! * [`time`]: instants and durations in integer picoseconds.
//! * [`units`]: bytes and bit rates, and units in text.
//! * [`calendar`]: which members have something to do in which epoch.
//! * [`tournament`]: the smallest of several keys.
//! * [`bits`]: sets of small numbers.
//! * [`memory`]: memory accounting; [`pages`] and [`prefetch`]: hints to the memory system.
//! * [`random`]: named, portable random streams.
//! * [`fingerprint`]: order-independent hash of a trajectory.
//! * [`barrier`]: barrier for threads that run in lockstep.
//! * [`interrupt`]: interruption of long work.

pub mod barrier;
pub mod bits;
pub mod calendar;
pub mod fingerprint;
pub mod index;
pub mod interrupt;
pub mod memory;
pub mod pages;
pub mod prefetch;
pub mod random;
pub mod time;
pub mod tournament;
pub mod units;

pub use time::{Duration, Time};
pub use units::{Bytes, Rate};
