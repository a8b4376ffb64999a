//! The ports that a packet will pass.

use crate::frame::{Direction, Route};
use crate::ids::{FlowId, PortId};

/// Knows the way of packets through the network.
pub trait Paths {
    /// The port through which a packet of `flow`, whose route goes on with `route`, leaves the node behind `port`, where that is known beforehand.
    fn behind(&self, port: PortId, flow: FlowId, direction: Direction, route: &Route) -> Option<PortId>;
}

/// The ports that a packet will pass, the next one first, as far as they can be known: behind a switch that chooses by other things than
/// addresses, only the last one is, and only if its host has a single link. A switch knows them from the forwarding tables and hash functions
/// of the switches downstream (Pyrrha section IV-B).
#[derive(Clone, Copy)]
pub struct Onward<'a> {
    paths: &'a dyn Paths,
    flow: FlowId,
    direction: Direction,
    route: Route,
    /// The port that it passes before the next one.
    behind: PortId,
    left: u8,
}

impl<'a> Onward<'a> {
    /// Ports that are looked ahead at most: enough for every up-and-down path; in a routing loop it has to end somewhere.
    pub const MOST: u8 = 8;

    /// The ports that a packet of `flow` passes behind `egress`, where its route goes on with `route`.
    #[inline]
    pub fn new(paths: &'a dyn Paths, flow: FlowId, direction: Direction, route: Route, egress: PortId) -> Onward<'a> {
        Onward { paths, flow, direction, route, behind: egress, left: Onward::MOST }
    }
}

impl Iterator for Onward<'_> {
    type Item = PortId;

    #[inline]
    fn next(&mut self) -> Option<PortId> {
        self.left = self.left.checked_sub(1)?;
        self.behind = self.paths.behind(self.behind, self.flow, self.direction, &self.route)?;
        self.route.advance();
        Some(self.behind)
    }
}
