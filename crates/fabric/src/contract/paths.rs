//! Paths of packets through the network.

use crate::contract::hash::FlowKey;
use crate::frame::{Direction, NextHop, Packet, PacketKind, Route, Trail};
use crate::ids::{FlowId, NodeId, PortId, PortIx};
use backwater_engine::Duration;

/// Topology and routing tables of the network. All nodes know them.
pub trait Paths {
    /// Returns the ports of `node` on shortest paths to `destination`, in order.
    fn candidates(&self, node: NodeId, destination: NodeId) -> &[PortIx];

    /// Returns the neighbour at the other end of the link of `port` of `node`.
    fn neighbour(&self, node: NodeId, port: PortIx) -> NodeId;

    /// Returns the number of route computations so far. State learned in an earlier epoch may be
    /// stale.
    fn epoch(&self) -> u32;

    /// Returns the total serialisation time of a frame of `wire` bytes on a path that starts at
    /// `node` and takes `ports`.
    fn serialisation(&self, node: NodeId, ports: &[PortIx], wire: u16) -> Duration;

    /// Returns the first-hop switch of `host`, or the node itself if it is a switch.
    fn first_hop_switch(&self, host: NodeId) -> NodeId;

    /// Returns source and destination of `flow`'s packets in `direction`; `None` if the flow is
    /// complete and forgotten.
    fn endpoints(&self, flow: FlowId, direction: Direction) -> Option<(NodeId, NodeId)>;

    /// Returns the route back to `source` for a notice on `packet`, which arrived through
    /// `ingress`. The route reverses the packet's path if the packet's route or `trail` records
    /// this path; otherwise it is any path. The returned route starts after its first hop, which
    /// leads through `ingress`.
    fn reverse_route(&self, source: NodeId, packet: &Packet, trail: Option<&Trail>, ingress: PortId) -> Route;

    /// Returns the hash key of packets of `flow` and of `kind`.
    fn key(&self, flow: FlowId, kind: PacketKind) -> FlowKey;

    /// Returns the port through which a packet of `flow` and of `kind` leaves the node at the other
    /// end of `port`'s link, where `route` is the rest of the packet's route. `None` if the port is
    /// not known in advance.
    fn next_hop_port(&self, port: PortId, flow: FlowId, kind: PacketKind, route: &Route) -> Option<PortId>;
}

/// Ports that a packet will pass, the next one first, as far as they are known. If a switch chooses
/// by other criteria than addresses, only the last port of the path after this switch is known, and
/// only if the destination has a single link. A switch knows these ports from the forwarding tables
/// and hash functions of downstream switches (section IV-B of Pyrrha's paper).
#[derive(Clone, Copy)]
pub struct RemainingHops<'a> {
    paths: &'a dyn Paths,
    flow: FlowId,
    kind: PacketKind,
    route: Route,
    /// Port that the packet passes before the next port to return.
    last: PortId,
    left: u8,
}

impl<'a> RemainingHops<'a> {
    /// Maximum number of ports ahead. It suffices for every up-and-down path, and ends the walk
    /// along a routing loop.
    pub const MOST: u8 = 8;

    /// Returns the ports that a packet of `flow` and of `kind` passes after `egress`, where `route`
    /// is the rest of the packet's route.
    #[inline]
    pub fn new(
        paths: &'a dyn Paths,
        flow: FlowId,
        kind: PacketKind,
        route: Route,
        egress: PortId,
    ) -> RemainingHops<'a> {
        RemainingHops { paths, flow, kind, route, last: egress, left: RemainingHops::MOST }
    }
}

impl Iterator for RemainingHops<'_> {
    type Item = PortId;

    #[inline]
    fn next(&mut self) -> Option<PortId> {
        self.left = self.left.checked_sub(1)?;
        if self.route.next() == NextHop::Arrived {
            return None;
        }
        self.last = self.paths.next_hop_port(self.last, self.flow, self.kind, &self.route)?;
        self.route.advance();
        Some(self.last)
    }
}
