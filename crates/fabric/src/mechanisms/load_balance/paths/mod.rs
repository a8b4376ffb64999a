//! Whole paths from an edge switch to the other edge switches, and the measured delays of these
//! paths. FLB and Proteus choose among these paths.
//!
//! Packets carry their chosen path (source routing) if the path fits into a route.

mod delay;
mod echo;
mod edge;
mod set;

pub(super) use self::delay::Measuring;
pub(super) use self::echo::{EdgeHeader, PathIx, PathStamp};
pub(super) use self::edge::{MeasuringEdge, is_edge, stamp_busy, stamp_departure};
pub(super) use self::set::{Ascent, Path, PathSet, applies, check_queues};
