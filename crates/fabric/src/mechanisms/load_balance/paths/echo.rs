//! The other end of a measurement: an edge finds out how long a stamped packet has been under way, and reports it with whatever goes back.

use crate::frame::record::PathHeader;
use crate::ids::NodeId;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;
use std::collections::VecDeque;

/// Index of a path among those to the same edge. It stays what it is when routes change.
pub(in super::super) type PathIx = u32;

/// What a packet carries between edges: which one it comes from, that one's stamp, and what it reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Header {
    pub(in super::super) from: NodeId,
    pub(in super::super) stamp: Option<Stamp>,
    pub(in super::super) report: Option<PathReport>,
}

/// What a sampled packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Stamp {
    /// The path, as the edge calls it that the packet comes from.
    pub(in super::super) path: PathIx,
    /// When it was there.
    pub(in super::super) at: Time,
    /// How busy the links are that it has passed, in a unit of the load balancer's.
    pub(in super::super) busy: u8,
}

/// What is reported of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct PathReport {
    /// The path, as the edge calls it to which this goes.
    pub(in super::super) path: PathIx,
    /// How long a packet has waited on it.
    pub(in super::super) delay: Duration,
    /// How busy its links were.
    pub(in super::super) busy: u8,
}

/// Marks a half of the header that is there.
const IS_THERE: u32 = 1 << 31;

/// A path, a number of picoseconds below 20 hours, and a byte, in three words.
fn pack(path: PathIx, ps: u64, busy: u8) -> [u32; 3] {
    [path | IS_THERE, ps as u32, ((ps >> 32) as u32) << 8 | u32::from(busy)]
}

fn unpack([path, low, high]: [u32; 3]) -> Option<(PathIx, u64, u8)> {
    (path & IS_THERE != 0).then_some((path & !IS_THERE, u64::from(high >> 8) << 32 | u64::from(low), high as u8))
}

impl From<Header> for PathHeader {
    fn from(Header { from, stamp, report }: Header) -> PathHeader {
        let [a, b, c] = stamp.map_or([0; 3], |stamp| pack(stamp.path, stamp.at.ps(), stamp.busy));
        let [d, e, f] = report.map_or([0; 3], |report| pack(report.path, report.delay.ps(), report.busy));
        [from.0, a, b, c, d, e, f]
    }
}

impl From<PathHeader> for Header {
    fn from([from, a, b, c, d, e, f]: PathHeader) -> Header {
        Header {
            from: NodeId(from),
            stamp: unpack([a, b, c]).map(|(path, ps, busy)| Stamp { path, at: Time::from_ps(ps), busy }),
            report: unpack([d, e, f]).map(|(path, ps, busy)| PathReport { path, delay: Duration::from_ps(ps), busy }),
        }
    }
}

/// What is known of the paths from other edges, and what of that is still to be reported.
#[derive(Debug, Default, GetSize)]
pub(in super::super) struct Echoes {
    /// By the edge from which they come.
    edges: Vec<Option<Box<FromEdge>>>,
    /// Reports that wait.
    waiting: usize,
}

#[derive(Debug, GetSize)]
struct FromEdge {
    /// By path.
    paths: Vec<FromPath>,
    /// The shortest delay on any of them.
    base: Duration,
    /// Paths whose reports wait, the oldest first.
    waiting: VecDeque<PathIx>,
}

#[derive(Clone, Copy, Debug, GetSize)]
struct FromPath {
    /// The shortest delay so far.
    base: Duration,
    report: Option<(Duration, u8)>,
}

/// No delay is longer.
const LONGEST: Duration = Duration::from_ps(u64::MAX);

impl Echoes {
    /// A packet with this stamp has come from `edge` that would have taken `delay` were it a full one. Of its delay what is over that of the idle path counts, or,
    /// with `over_all`, over that of the fastest path.
    pub(in super::super) fn hear(&mut self, edge: NodeId, stamp: Stamp, delay: Duration, over_all: bool) {
        let slot = edge.0 as usize;
        if slot >= self.edges.len() {
            self.edges.resize_with(slot + 1, || None);
        }
        let new = || Box::new(FromEdge { paths: Vec::new(), base: LONGEST, waiting: VecDeque::new() });
        let from = self.edges[slot].get_or_insert_with(new);
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

    /// Whether anything waits to be reported to anybody.
    pub(in super::super) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// What is reported to `edge` next.
    pub(in super::super) fn tell(&mut self, edge: NodeId) -> Option<PathReport> {
        let from = self.edges.get_mut(edge.0 as usize)?.as_deref_mut()?;
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
        let stamp = Stamp { path: 7, at: Time::from_ps((1 << 55) + 3), busy: 255 };
        let report = PathReport { path: 0, delay: Duration::from_ps(1 << 40), busy: 1 };
        for header in [
            Header::default(),
            Header { from: NodeId(u32::MAX), stamp: Some(stamp), report: None },
            Header { from: NodeId(3), stamp: None, report: Some(report) },
            Header { from: NodeId(3), stamp: Some(stamp), report: Some(report) },
        ] {
            assert_eq!(Header::from(PathHeader::from(header)), header);
        }
    }

    fn stamp(path: PathIx) -> Stamp {
        Stamp { path, at: Time::ZERO, busy: 0 }
    }

    /// What was shortest so far is the delay of the idle path; over all of them it is that of the fastest.
    #[test]
    fn a_delay_counts_from_the_shortest_one() {
        let us = Duration::from_us;
        for (over_all, reported) in [(false, [0, 0, 3]), (true, [0, 20, 23])] {
            let (mut echoes, edge) = (Echoes::default(), NodeId(3));
            let told = [(0, 10), (1, 30), (1, 33)].map(|(path, delay)| {
                echoes.hear(edge, stamp(path), us(delay), over_all);
                echoes.tell(edge).map(|report| (report.path, report.delay))
            });
            assert_eq!(
                told,
                [0, 1, 1].into_iter().zip(reported).map(|(path, delay)| Some((path, us(delay)))).collect::<Vec<_>>()[..]
            );
        }
    }

    /// Paths take turns, and the latest of each is told, once.
    #[test]
    fn reports_go_in_turn() {
        let (mut echoes, edge) = (Echoes::default(), NodeId(3));
        assert!(!echoes.is_waiting() && echoes.tell(edge).is_none());
        for (path, us) in [(0, 1), (1, 1), (0, 5), (1, 2), (2, 1)] {
            echoes.hear(edge, stamp(path), Duration::from_us(us), false);
        }
        assert!(echoes.is_waiting() && echoes.tell(NodeId(4)).is_none());
        let told: Vec<_> = std::iter::from_fn(|| echoes.tell(edge)).map(|report| (report.path, report.delay)).collect();
        assert_eq!(told, [(0, Duration::from_us(4)), (1, Duration::from_us(1)), (2, Duration::ZERO)]);
        assert!(!echoes.is_waiting());
    }
}
