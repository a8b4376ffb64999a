//! The whole paths from an edge switch to the others, and what it knows of their delays: what FLB and Proteus choose among.
//!
//! Packets carry the path that is chosen for them (source routing), as far as a route has room for it.

mod delay;
mod echo;
mod edge;
mod set;

pub(super) use self::delay::Measuring;
pub(super) use self::echo::{Header, PathIx, Stamp};
pub(super) use self::edge::{MeasuringEdge, is_edge, stamp_busy, stamp_departure};
pub(super) use self::set::{Ascent, Path, PathSet, applies, check_queues};
