//! Whole paths from an edge switch to the others, and their measured delays: FLB and Proteus choose
//! among these paths.
//!
//! Packets carry their chosen path (source routing) if it fits into a route.

mod delay;
mod echo;
mod edge;
mod set;

pub(super) use self::delay::Measuring;
pub(super) use self::echo::{EdgeHeader, PathIx, PathStamp};
pub(super) use self::edge::{MeasuringEdge, is_edge, stamp_busy, stamp_departure};
pub(super) use self::set::{Ascent, Path, PathSet, applies, check_queues};
