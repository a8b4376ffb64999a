//! Receiving end of a measurement: an edge computes the travel time of a stamped packet and reports
//! it in packets of the reverse direction.

use crate::frame::record::PathHeader;
use crate::ids::NodeId;
use backwater_engine::index::{Id, IndexVec};
use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use std::collections::VecDeque;

/// Index of a path among the paths to the same edge. A path keeps its index when routes change.
pub(in super::super) type PathIx = u32;

/// Header of packets between edges: the source edge, its stamp, and a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct EdgeHeader {
    pub(in super::super) from: NodeId,
    pub(in super::super) stamp: Option<PathStamp>,
    pub(in super::super) report: Option<PathReport>,
}

/// Stamp of a sampled packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct PathStamp {
    /// Index of the path at the source edge.
    pub(in super::super) path: PathIx,
    /// Departure time from the source edge.
    pub(in super::super) at: Time,
    /// Load of the busiest passed link, in the load balancer's unit.
    pub(in super::super) busy: u8,
}

/// Report about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct PathReport {
    /// Index of the path at the edge that receives the report.
    pub(in super::super) path: PathIx,
    /// Queueing delay of a packet on the path.
    pub(in super::super) delay: Duration,
    /// Load of the path's busiest link.
    pub(in super::super) busy: u8,
}

/// Flag in the first word of the stamp or report: the header contains a stamp or report.
const IS_THERE: u32 = 1 << 31;

/// Packs a path, a time in picoseconds below 20 hours, and a byte into three words.
fn pack(path: PathIx, ps: u64, busy: u8) -> [u32; 3] {
    [path | IS_THERE, ps as u32, ((ps >> 32) as u32) << 8 | u32::from(busy)]
}

fn unpack([path, low, high]: [u32; 3]) -> Option<(PathIx, u64, u8)> {
    (path & IS_THERE != 0).then_some((path & !IS_THERE, u64::from(high >> 8) << 32 | u64::from(low), high as u8))
}

impl From<EdgeHeader> for PathHeader {
    fn from(EdgeHeader { from, stamp, report }: EdgeHeader) -> PathHeader {
        let [a, b, c] = stamp.map_or([0; 3], |stamp| pack(stamp.path, stamp.at.ps(), stamp.busy));
        let [d, e, f] = report.map_or([0; 3], |report| pack(report.path, report.delay.ps(), report.busy));
        [from.0, a, b, c, d, e, f]
    }
}

impl From<PathHeader> for EdgeHeader {
    fn from([from, a, b, c, d, e, f]: PathHeader) -> EdgeHeader {
        EdgeHeader {
            from: NodeId(from),
            stamp: unpack([a, b, c]).map(|(path, ps, busy)| PathStamp { path, at: Time::from_ps(ps), busy }),
            report: unpack([d, e, f]).map(|(path, ps, busy)| PathReport { path, delay: Duration::from_ps(ps), busy }),
        }
    }
}

/// Known paths from other edges, and pending reports about them.
#[derive(Debug, Default, GetSize)]
pub(in super::super) struct Echoes {
    /// State by source edge.
    edges: IndexVec<NodeId, Option<Box<FromEdge>>>,
    /// Number of pending reports.
    waiting: usize,
}

#[derive(Debug, GetSize)]
struct FromEdge {
    /// State by path.
    paths: Vec<FromPath>,
    /// Shortest delay on any path.
    base: Duration,
    /// Paths with pending reports, the oldest first.
    waiting: VecDeque<PathIx>,
}

#[derive(Clone, Copy, Debug, GetSize)]
struct FromPath {
    /// Shortest delay so far.
    base: Duration,
    report: Option<(Duration, u8)>,
}

/// Longest delay.
const LONGEST: Duration = Duration::from_ps(u64::MAX);

impl Echoes {
    /// Records a packet from `edge` with this stamp. `delay` is the delay that a full packet would
    /// have. The delay is reported relative to the idle path or, with `over_all`, to the fastest
    /// path.
    pub(in super::super) fn record(&mut self, edge: NodeId, stamp: PathStamp, delay: Duration, over_all: bool) {
        let new = || Box::new(FromEdge { paths: Vec::new(), base: LONGEST, waiting: VecDeque::new() });
        let from = self.edges.get_or_default(edge).get_or_insert_with(new);
        let path = stamp.path as usize;
        if path >= from.paths.len() {
            from.paths.resize(path + 1, FromPath { base: LONGEST, report: None });
        }
        let of_path = &mut from.paths[path];
        of_path.base = of_path.base.min(delay);
        from.base = from.base.min(delay);
        let base = if over_all { from.base } else { of_path.base };
        if of_path.report.replace((delay.saturating_sub(base), stamp.busy)).is_none() {
            from.waiting.push_back(stamp.path);
            self.waiting += 1;
        }
    }

    /// Returns true if any report is pending.
    pub(in super::super) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Returns the next report for `edge`.
    pub(in super::super) fn next_report(&mut self, edge: NodeId) -> Option<PathReport> {
        let from = self.edges.get_mut(edge.index())?.as_deref_mut()?;
        let path = from.waiting.pop_front()?;
        self.waiting -= 1;
        let (delay, busy) = from.paths[path as usize].report.take().expect("it waits");
        Some(PathReport { path, delay, busy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_say_what_was_written() {
        let stamp = PathStamp { path: 7, at: Time::from_ps((1 << 55) + 3), busy: 255 };
        let report = PathReport { path: 0, delay: Duration::from_ps(1 << 40), busy: 1 };
        for header in [
            EdgeHeader::default(),
            EdgeHeader { from: NodeId(u32::MAX), stamp: Some(stamp), report: None },
            EdgeHeader { from: NodeId(3), stamp: None, report: Some(report) },
            EdgeHeader { from: NodeId(3), stamp: Some(stamp), report: Some(report) },
        ] {
            assert_eq!(EdgeHeader::from(PathHeader::from(header)), header);
        }
    }

    fn stamp(path: PathIx) -> PathStamp {
        PathStamp { path, at: Time::ZERO, busy: 0 }
    }

    /// Delays are relative to the shortest delay so far: that of the same path or, with `over_all`,
    /// that of any path.
    #[test]
    fn a_delay_counts_from_the_shortest_one() {
        let us = Duration::from_us;
        for (over_all, reported) in [(false, [0, 0, 3]), (true, [0, 20, 23])] {
            let (mut echoes, edge) = (Echoes::default(), NodeId(3));
            let reports = [(0, 10), (1, 30), (1, 33)].map(|(path, delay)| {
                echoes.record(edge, stamp(path), us(delay), over_all);
                echoes.next_report(edge).map(|report| (report.path, report.delay))
            });
            assert_eq!(
                reports,
                [0, 1, 1].into_iter().zip(reported).map(|(path, delay)| Some((path, us(delay)))).collect::<Vec<_>>()[..]
            );
        }
    }

    /// Paths take turns, and the latest delay of each is reported once.
    #[test]
    fn reports_go_in_turn() {
        let (mut echoes, edge) = (Echoes::default(), NodeId(3));
        assert!(!echoes.is_waiting() && echoes.next_report(edge).is_none());
        for (path, us) in [(0, 1), (1, 1), (0, 5), (1, 2), (2, 1)] {
            echoes.record(edge, stamp(path), Duration::from_us(us), false);
        }
        assert!(echoes.is_waiting() && echoes.next_report(NodeId(4)).is_none());
        let reports: Vec<_> =
            std::iter::from_fn(|| echoes.next_report(edge)).map(|report| (report.path, report.delay)).collect();
        assert_eq!(reports, [(0, Duration::from_us(4)), (1, Duration::from_us(1)), (2, Duration::ZERO)]);
        assert!(!echoes.is_waiting());
    }
}
