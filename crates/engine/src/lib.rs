//! The engine: everything a deterministic discrete-event simulation needs, and nothing about networks.
//!
//! * [`time`]: instants and durations in integer picoseconds.
//! * [`units`]: bytes and bit rates, and how units are written in text.
//! * [`events`]: the pending-event set.
//! * [`bits`]: sets of small numbers.
//! * [`memory`]: what things take of it; [`pages`], [`prefetch`]: hints to it.
//! * [`random`]: named, portable random streams.
//! * [`fingerprint`]: an order-independent hash of a trajectory.
//! * [`barrier`]: where threads that work side by side meet.

pub mod barrier;
pub mod bits;
pub mod events;
pub mod fingerprint;
pub mod index;
pub mod memory;
pub mod pages;
pub mod prefetch;
pub mod random;
pub mod time;
pub mod units;

pub use time::{Duration, Time};
pub use units::{Bytes, Rate};
