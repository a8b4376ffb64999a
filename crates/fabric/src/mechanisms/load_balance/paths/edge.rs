//! Measuring edge switch: it stamps packets of its hosts, reads other edges' stamps, and reports
//! the measured delays.

use super::delay::Measuring;
use super::echo::{Echoes, EdgeHeader, PathStamp};
use super::set::{Ascent, EdgePaths};
use crate::contract::{LbStat, PacketContext, PathState, Site, View};
use crate::frame::MAX_HOPS;
use crate::ids::{NodeId, PortIx};
use arrayvec::ArrayVec;
use backwater_engine::index::Id;
use backwater_engine::{Duration, Time};
use get_size2::GetSize;

/// Measurement at an edge switch.
#[derive(Debug, GetSize)]
pub(in super::super) struct MeasuringEdge {
    /// True for each port to a host.
    to_host: Vec<bool>,
    pub(in super::super) paths: EdgePaths,
    pub(in super::super) how: Measuring,
    echoes: Echoes,
    /// True if delays are relative to the fastest path.
    over_all: bool,
    /// Wire bytes of a full data packet, for which delays are stated.
    full: u16,
}

/// Returns true if the switch has hosts.
pub(in super::super) fn is_edge(site: &Site<'_>) -> bool {
    site.neighbours.iter().any(|neighbour| neighbour.is_host)
}

impl MeasuringEdge {
    pub(in super::super) fn new(how: Measuring, over_all: bool, site: &Site<'_>) -> MeasuringEdge {
        MeasuringEdge {
            to_host: site.neighbours.iter().map(|neighbour| neighbour.is_host).collect(),
            paths: EdgePaths::new(site.node),
            how,
            echoes: Echoes::default(),
            over_all,
            full: site.sizes.largest().wire,
        }
    }

    /// Returns true if packets that arrive at `port` come from a host. The switch's own packets
    /// arrive at no port.
    pub(in super::super) fn is_to_host(&self, port: PortIx) -> bool {
        self.to_host.get(port.index()).copied().unwrap_or(false)
    }

    /// Returns true if [`on_enqueue`](Self::on_enqueue) may have an effect.
    #[inline]
    pub(in super::super) fn may_use(&self, packet: &PacketContext<'_>) -> bool {
        if self.is_to_host(packet.egress) { packet.path_header().is_some() } else { self.echoes.is_waiting() }
    }

    /// Processes a packet that is about to join its queue: adds a report to a packet for another
    /// edge, and reads the header of a packet from another edge.
    #[inline]
    pub(in super::super) fn on_enqueue(&mut self, packet: &mut PacketContext<'_>, view: &View<'_>) {
        if self.is_to_host(packet.egress) {
            if let Some(header) = packet.path_header().copied() {
                self.read(&header.into(), packet, view);
            }
        } else if self.echoes.is_waiting() && self.is_to_host(packet.ingress()) {
            self.report(packet, view);
        }
    }

    /// Adds a pending report to a packet for another edge.
    #[inline(never)]
    fn report(&mut self, packet: &mut PacketContext<'_>, view: &View<'_>) {
        // The destination is read from the route, since the packet's flow may have been removed.
        let route = packet.headers().route;
        let to = route.destination().unwrap_or_else(|| {
            let next = view.paths.neighbour(self.node(), packet.egress);
            route.remaining().fold(next, |node, port| view.paths.neighbour(node, port))
        });
        if let Some(report) = self.echoes.next_report(view.paths.first_hop_switch(to)) {
            let stamp = packet.path_header().and_then(|header| EdgeHeader::from(*header).stamp);
            *packet.path_header_mut() = EdgeHeader { from: self.node(), stamp, report: Some(report) }.into();
        }
    }

    /// Returns the switch.
    pub(in super::super) fn node(&self) -> NodeId {
        self.paths.node
    }

    /// Reads the header of a packet from another edge.
    #[inline(never)]
    fn read(&mut self, header: &EdgeHeader, packet: &PacketContext<'_>, view: &View<'_>) {
        let edge = header.from;
        if let Some(report) = header.report
            && let Some(set) = self.paths.known_mut(edge)
            && let Some(path) = set.paths.get_mut(report.path as usize)
        {
            path.delay.record(&report, view.now);
        }
        if let Some(stamp) = header.stamp {
            let delay = view.now.since(stamp.at) + self.missing(edge, packet, view);
            self.echoes.record(edge, stamp, delay, self.over_all);
        }
    }

    /// Records another edge's stamp that arrived outside a data packet.
    pub(in super::super) fn record(&mut self, edge: NodeId, stamp: PathStamp, now: Time) {
        self.echoes.record(edge, stamp, now.since(stamp.at), self.over_all);
    }

    /// Returns the additional time that a full packet would have taken from `edge`.
    fn missing(&self, edge: NodeId, packet: &PacketContext<'_>, view: &View<'_>) -> Duration {
        let wire = packet.wire_bytes();
        // The packet took these ports after the source host, up to the egress port of this switch.
        let taken: ArrayVec<PortIx, MAX_HOPS> = match packet.trail() {
            Some(trail) => trail.ports().iter().copied().collect(),
            None => packet.headers().route.passed().collect(),
        };
        let between = taken.get(1..).unwrap_or(&[]);
        let between = between.strip_suffix(&[packet.egress]).unwrap_or(between);
        let time = |wire| view.paths.serialisation(edge, between, wire);
        time(self.full.max(wire)).saturating_sub(time(wire))
    }

    /// Reports the state of all paths at `now` to `observer`. `is_isolated` returns true for
    /// isolation paths.
    pub(in super::super) fn observe(
        &self,
        now: Time,
        is_isolated: impl Fn(Ascent) -> bool,
        observer: &mut dyn FnMut(LbStat),
    ) {
        for set in self.paths.sets() {
            for (ix, path) in set.known() {
                observer(LbStat::Path(PathState {
                    to: set.edge,
                    path: ix,
                    egress: path.first(),
                    delay: path.delay.at(now, &self.how),
                    is_isolated: is_isolated(path.ascent),
                }));
            }
        }
    }
}

/// Sets the time of the packet's stamp, if any, to `now`, the start of transmission.
pub(in super::super) fn stamp_departure(packet: &mut PacketContext<'_>, now: Time) {
    rewrite_stamp(packet, |stamp| PathStamp { at: now, ..stamp });
}

/// Raises the stamp's load to `busy` if no passed link was busier.
pub(in super::super) fn stamp_busy(packet: &mut PacketContext<'_>, busy: u8) {
    rewrite_stamp(packet, |stamp| PathStamp { busy: stamp.busy.max(busy), ..stamp });
}

fn rewrite_stamp(packet: &mut PacketContext<'_>, change: impl FnOnce(PathStamp) -> PathStamp) {
    if let Some(header) = packet.path_header().copied().map(EdgeHeader::from)
        && let Some(stamp) = header.stamp
    {
        *packet.path_header_mut() = EdgeHeader { stamp: Some(change(stamp)), ..header }.into();
    }
}
