//! Deadlock detector: finds cycles of queues that wait for each other for ever.
//!
//! A paused queue resumes when the queues that keep it paused, at the next node, drain. These
//! queues drain as long as one of them can send. A paused queue is dead if all queues that keep it
//! paused are dead. The dead queues are those that are left after all others have been removed.
//! Every dead queue waits for another dead queue, so there is a cycle.
//!
//! Flow control tells which packets keep a queue paused ([`FlowControlAccounts::sustains_pause`]).
//! If a node relays PAUSEs, a queue waits for closed queues of the node's other ports, even if
//! these are empty ([`FlowControlAccounts::relayed_pauses`]).
//!
//! A threshold that depends on the whole buffer can rise and resume a queue of the cycle, although
//! no packet of the cycle has moved. [`Simulation::is_still_dead`] confirms a deadlock later.

use crate::contract::packet::QueuedPacket;
use crate::contract::{FlowControlAccounts, PauseScope, PortFacts};
use crate::driver::simulation::Simulation;
use crate::frame::record::Records;
use crate::ids::{Class, NodeId, PortId, PortIx, QueueIx};
use crate::model::node::Node;
use crate::model::port::Port;
use backwater_engine::Time;
use backwater_engine::index::IndexVec;
use std::collections::BTreeMap;

/// A cycle of queues, each of which waits for the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// Time since which all queues of the cycle have been paused.
    pub onset: Time,
    /// Paused egress queues in order: each waits for the next, the last for the first.
    pub cycle: Vec<(PortId, QueueIx)>,
}

type PausedQueue = (PortId, QueueIx);

impl Deadlock {
    /// Returns true if no gate of the cycle has opened since the onset.
    fn still_holds(&self, simulation: &Simulation) -> bool {
        self.cycle.iter().all(|(port, queue)| {
            let facts = &simulation.fabric().wiring.ports[*port];
            let gate = simulation.node(facts.node).ports()[facts.ix].gate(*queue);
            gate.closed().is_some_and(|(since, _)| since <= self.onset)
        })
    }
}

impl Simulation {
    /// Returns a cycle of queues that wait for each other for ever, if there is one.
    pub fn find_deadlock(&self) -> Option<Deadlock> {
        find_deadlock(self)
    }

    /// Returns true if no gate of `deadlock`, found earlier, has opened since.
    pub fn is_still_dead(&self, deadlock: &Deadlock) -> bool {
        deadlock.still_holds(self)
    }
}

fn find_deadlock(simulation: &Simulation) -> Option<Deadlock> {
    let fabric = simulation.fabric();
    let mut paused: Vec<(PausedQueue, &PortFacts, &PortFacts)> = Vec::new();
    for node in simulation.nodes().filter(|node| node.flow_control().holds_until_resume()) {
        for port in node.ports() {
            let facts = &fabric.wiring.ports[port.id];
            let peer = &fabric.wiring.ports[facts.peer];
            let held =
                port.closed_queues().filter(|queue| port.queue_bytes(*queue) > 0 || is_relayed(node, port, *queue));
            paused.extend(held.map(|queue| ((port.id, queue), facts, peer)));
        }
    }
    // Drop queues whose next node has no paused queues: they cannot be dead. This saves the search
    // of their packets.
    loop {
        let before = paused.len();
        let mut has_paused = IndexVec::from(vec![false; fabric.spec.nodes.len()]);
        for (_, facts, _) in &paused {
            has_paused[facts.node] = true;
        }
        paused.retain(|(_, _, peer)| has_paused[peer.node]);
        if paused.len() == before {
            break;
        }
    }
    let waiting = |((port, queue), _, peer): (PausedQueue, &PortFacts, &PortFacts)| {
        let upstream = simulation.node(fabric.wiring.ports[port].node);
        let scope = upstream.flow_control().scope(fabric.wiring.ports[port].ix, queue);
        ((port, queue), successors(simulation, peer.node, peer.ix, scope))
    };
    let mut waits: BTreeMap<PausedQueue, Vec<PausedQueue>> = paused.into_iter().map(waiting).collect();
    // Remove queues that can still move: nothing keeps them paused (the RESUME is in flight), or a
    // queue that they wait for can send.
    loop {
        let moving: Vec<PausedQueue> = waits
            .iter()
            .filter(|(_, next)| next.is_empty() || next.iter().any(|next| !waits.contains_key(next)))
            .map(|(waiting, _)| *waiting)
            .collect();
        if moving.is_empty() {
            break;
        }
        for waiting in moving {
            waits.remove(&waiting);
        }
    }
    // Every dead queue has a dead successor, so following the first successor of each leads into a
    // cycle.
    let mut path = vec![*waits.first_key_value()?.0];
    let cycle = loop {
        let next = waits[path.last()?][0];
        if let Some(start) = path.iter().position(|seen| *seen == next) {
            break path.split_off(start);
        }
        path.push(next);
    };
    let since = |(port, queue): &PausedQueue| {
        let facts = &fabric.wiring.ports[*port];
        let gate = simulation.node(facts.node).ports()[facts.ix].gate(*queue);
        gate.closed().map_or(Time::ZERO, |(since, _)| since)
    };
    Some(Deadlock { onset: cycle.iter().map(since).max()?, cycle })
}

/// Returns the egress queues of `node` whose packets keep `scope` paused upstream of `ingress`.
fn successors(simulation: &Simulation, node: NodeId, ingress: PortIx, scope: PauseScope) -> Vec<PausedQueue> {
    let (mut found, node) = (Vec::new(), simulation.node(node));
    for port in node.ports() {
        for next in port.queues() {
            let keeps = |queued: &QueuedPacket| {
                let (mut queued, records) = (*queued, &mut Records::default());
                node.flow_control().sustains_pause(ingress, scope, &queued.context_in(port.ix, next, records))
            };
            let mut packets = port.frames(next, simulation.frames(node.id));
            if packets.any(|queued| queued.frame.class() != Class::CONTROL && keeps(queued)) {
                found.push((port.id, next));
            }
        }
    }
    let relayed = node.flow_control().relayed_pauses(ingress, scope).into_iter();
    let closed = relayed.filter(|(port, queue)| node.ports()[*port].is_closed(*queue));
    found.extend(closed.map(|(port, queue)| (node.ports()[port].id, queue)));
    found
}

/// Returns true if another port's peer is paused as long as `queue` of `port` is closed.
fn is_relayed(node: &Node, port: &Port, queue: QueueIx) -> bool {
    let mut pauses = node.flow_control().upstream_pauses().into_iter();
    pauses.any(|(ingress, scope)| node.flow_control().relayed_pauses(ingress, scope).contains(&(port.ix, queue)))
}
