//! The ports that a packet will pass.

use crate::frame::{Direction, Packet, Route, Trail};
use crate::ids::{FlowId, NodeId, PortId, PortIx};
use backwater_engine::Duration;

/// Knows the way of packets through the network: topology and routing tables, which are known to all.
pub trait Paths {
    /// The ports of `node` on a way to `destination`, in order.
    fn candidates(&self, node: NodeId, destination: NodeId) -> &[PortIx];

    /// The node at the other end of the link of `port` of `node`.
    fn neighbour(&self, node: NodeId, port: PortIx) -> NodeId;

    /// How often routes have been computed anew: what was learned of them under another number may be out of date.
    fn epoch(&self) -> u32;

    /// What a frame of `wire` bytes takes to be put onto the links of these ports, one behind the other, from `node` on.
    fn serialisation(&self, node: NodeId, ports: &[PortIx], wire: u16) -> Duration;

    /// The switch at the first link of `host`; a switch is its own.
    fn first_hop_switch(&self, host: NodeId) -> NodeId;

    /// Where the packets of `flow` come from that travel in `direction`, and where they go; `None` if nobody waits for them any more.
    fn endpoints(&self, flow: FlowId, direction: Direction) -> Option<(NodeId, NodeId)>;

    /// The way back to `source`, from which `packet` has come to a node through its port `ingress`: the way that it has taken, where its route or its
    /// `trail` tells, else any. The first hop, through `ingress`, is taken.
    fn reverse_route(&self, source: NodeId, packet: &Packet, trail: Option<&Trail>, ingress: PortId) -> Route;

    /// The port through which a packet of `flow`, whose route goes on with `route`, leaves the node behind `port`, where that is known beforehand.
    fn next_hop_port(&self, port: PortId, flow: FlowId, direction: Direction, route: &Route) -> Option<PortId>;
}

/// The ports that a packet will pass, the next one first, as far as they can be known: behind a switch that chooses by other things than
/// addresses, only the last one is, and only if its host has a single link. A switch knows them from the forwarding tables and hash functions
/// of the switches downstream (Pyrrha section IV-B).
#[derive(Clone, Copy)]
pub struct RemainingHops<'a> {
    paths: &'a dyn Paths,
    flow: FlowId,
    direction: Direction,
    route: Route,
    /// The port that it passes before the next one.
    last: PortId,
    left: u8,
}

impl<'a> RemainingHops<'a> {
    /// Ports that are looked ahead at most: enough for every up-and-down path; in a routing loop it has to end somewhere.
    pub const MOST: u8 = 8;

    /// The ports that a packet of `flow` passes behind `egress`, where its route goes on with `route`.
    #[inline]
    pub fn new(
        paths: &'a dyn Paths,
        flow: FlowId,
        direction: Direction,
        route: Route,
        egress: PortId,
    ) -> RemainingHops<'a> {
        RemainingHops { paths, flow, direction, route, last: egress, left: RemainingHops::MOST }
    }
}

impl Iterator for RemainingHops<'_> {
    type Item = PortId;

    #[inline]
    fn next(&mut self) -> Option<PortId> {
        self.left = self.left.checked_sub(1)?;
        self.last = self.paths.next_hop_port(self.last, self.flow, self.direction, &self.route)?;
        self.route.advance();
        Some(self.last)
    }
}
