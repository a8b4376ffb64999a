//! Roles of flows with respect to incasts: part of an incast, possible victim, or neither.
//!
//! A victim shares part of its path with the congestion; a common rack is not enough. With senders
//! in every rack, each uplink carries a small part of an incast. The congestion tree forms where a
//! large part converges. A port therefore counts if it carries at least a given share of the
//! traffic to a receiver of an incast. The last hop does not count, because only the receiver's own
//! traffic crosses this hop.
//!
//! Shares follow from the routes before the run. If the senders of an incast are drawn uniformly
//! from a set, their traffic is assumed to split evenly over equal-cost paths. Flows of other parts
//! with `role = "incast"` count with their bytes on their own paths, and connections of jobs with
//! the bytes of an iteration.

use backwater_engine::index::IndexVec;
use backwater_fabric::frame::Direction;
use backwater_fabric::ids::{FlowId, NodeId, PortId, PortIx};
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::spec::FlowSpec;
use backwater_scenario::workload::{Role, Traffic};
use std::collections::BTreeMap;

/// Role of a flow with respect to the incasts of its scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlowRole {
    /// Part of an incast.
    Incast,
    /// Other flow whose path crosses a port with a large share of an incast.
    Vulnerable,
    /// Any other flow.
    Background,
}

impl FlowRole {
    /// Names of all roles, by number.
    pub const NAMES: [&str; 3] = ["incast", "vulnerable", "background"];
}

/// Roles of the flows of a run.
#[derive(Debug)]
pub struct Roles {
    /// True for tags of incasts.
    is_incast: Vec<bool>,
    /// True for ports with a large share of an incast that ends elsewhere.
    is_shared: IndexVec<PortId, bool>,
}

/// Tolerance for shares at the limit, because sums of fractions are inexact.
const TOLERANCE: f64 = 1e-9;

impl Roles {
    /// Computes the roles for `traffic`. `firsts` are the first connections of its jobs. A port
    /// counts from a share of `least`. Returns `None` without an incast.
    pub fn new(traffic: &Traffic, firsts: &[FlowId], fabric: &mut Fabric, least: f64) -> Option<Roles> {
        let is_incast: Vec<bool> = traffic.roles.iter().map(|role| *role == Role::Incast).collect();
        if !is_incast.contains(&true) {
            return None;
        }
        let mut roles = Roles { is_incast, is_shared: vec![false; fabric.wiring.ports.len()].into() };
        for (receiver, senders) in traffic.fans() {
            let shares = fabric.routes.shares(&fabric.wiring, &senders, receiver);
            roles.mark(fabric, receiver, shares, least);
        }
        for ((_, receiver), bytes) in traced(traffic, firsts, fabric) {
            let total: f64 = bytes.total;
            let shares = bytes.by_port.into_iter().map(|(port, bytes)| (port, bytes / total));
            roles.mark(fabric, receiver, shares, least);
        }
        Some(roles)
    }

    /// Marks the ports with at least the share `least` of the traffic to `receiver`, except the
    /// last hop.
    fn mark(&mut self, fabric: &Fabric, receiver: NodeId, shares: impl IntoIterator<Item = (PortId, f64)>, least: f64) {
        for (port, share) in shares {
            let facts = &fabric.wiring.ports[port];
            let is_last = fabric.wiring.neighbour(facts.node, facts.ix) == receiver;
            self.is_shared[port] |= share >= least - TOLERANCE && !is_last;
        }
    }

    /// Returns the role of `flow`. `path` is the path of its data at its start.
    pub fn of(&self, fabric: &Fabric, flow: &FlowSpec, path: &[PortIx]) -> FlowRole {
        if self.is_incast[usize::from(flow.tag)] {
            FlowRole::Incast
        } else if fabric.egress_ports(flow, path).any(|port| self.is_shared[port.id]) {
            FlowRole::Vulnerable
        } else {
            FlowRole::Background
        }
    }
}

/// Bytes to one receiver, in total and by port.
#[derive(Debug, Default)]
struct Sums {
    total: f64,
    by_port: BTreeMap<PortId, f64>,
}

/// Returns the bytes of incasts that consist of listed flows or jobs, by tag and receiver.
fn traced(traffic: &Traffic, firsts: &[FlowId], fabric: &mut Fabric) -> BTreeMap<(u16, NodeId), Sums> {
    let mut sums: BTreeMap<(u16, NodeId), Sums> = BTreeMap::new();
    if traffic.traced.is_empty() {
        return sums;
    }
    let jobs = firsts.iter().zip(&traffic.jobs).filter(|(_, job)| traffic.traced.contains(&job.tag));
    let connections =
        jobs.flat_map(|(first, job)| job.loads(u32::MAX).map(|(index, flow)| (FlowId(first.0 + index), flow)));
    let flows = (fabric.flows.next_id().0..).map(FlowId).zip(traffic.flows());
    let flows = flows.filter(|(_, flow)| traffic.traced.contains(&flow.tag));
    for (id, flow) in connections.chain(flows) {
        fabric.add_waypoint_routes(&flow);
        let Sums { total, by_port } = sums.entry((flow.tag, flow.dst)).or_default();
        // An endless flow counts with its size `u64::MAX` and outweighs finite flows.
        let bytes = flow.bytes as f64;
        *total += bytes;
        let path = fabric.path(id, &flow, Direction::Data);
        for port in fabric.egress_ports(&flow, &path) {
            *by_port.entry(port.id).or_default() += bytes;
        }
    }
    sums
}

#[cfg(test)]
mod tests;
