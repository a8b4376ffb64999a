//! Deadlock: queues that wait for each other in a cycle and can never go on.
//!
//! A paused queue goes on when its downstream ingress drains, which it does as long as one of the egress queues that hold its packets can
//! send. A paused queue all of whose packets' successors stand in paused queues of the same kind is dead; the dead queues are what is left
//! when all others have been struck out. Every dead queue waits for another, so there is a cycle among them.

use crate::fifo::Queued;
use crate::ids::{NodeId, PortId, QueueIx};
use crate::simulation::Simulation;
use crate::slots::{FlowControl, PortFacts};
use backwater_engine::Time;
use std::collections::BTreeMap;

/// A cycle of queues, each of which waits for the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// Since when all of them have been paused.
    pub onset: Time,
    /// The paused egress queues in order: each waits for the next, the last for the first.
    pub cycle: Vec<(PortId, QueueIx)>,
}

type Waiting = (PortId, QueueIx);

pub(crate) fn find_deadlock(simulation: &Simulation) -> Option<Deadlock> {
    let fabric = simulation.fabric();
    let mut paused: Vec<(Waiting, &PortFacts, &PortFacts)> = Vec::new();
    for node in simulation.nodes().filter(|node| node.flow_control().holds_until_resume()) {
        for port in node.ports() {
            let facts = &fabric.wiring.ports[port.id.0 as usize];
            let peer = &fabric.wiring.ports[facts.peer.0 as usize];
            let held = port.closed_queues().filter(|queue| port.queue_bytes(*queue) > 0);
            paused.extend(held.map(|queue| ((port.id, queue), facts, peer)));
        }
    }
    // A dead queue waits for one of the next node: where none is left there, nobody needs to look for its packets.
    loop {
        let (before, mut has_paused) = (paused.len(), vec![false; fabric.spec.nodes.len()]);
        paused.iter().for_each(|(_, facts, _)| has_paused[facts.node.0 as usize] = true);
        paused.retain(|(_, _, peer)| has_paused[peer.node.0 as usize]);
        if paused.len() == before {
            break;
        }
    }
    let waiting = |((port, queue), _, peer): (Waiting, &PortFacts, &PortFacts)| {
        ((port, queue), successors(simulation, peer.node, peer.ix, queue))
    };
    let mut waits: BTreeMap<Waiting, Vec<Waiting>> = paused.into_iter().map(waiting).collect();
    // Strike out what can still move: nothing left downstream (the RESUME is under way), or a successor that can send.
    loop {
        let moving: Vec<Waiting> = waits
            .iter()
            .filter(|(_, next)| next.is_empty() || next.iter().any(|next| !waits.contains_key(next)))
            .map(|(waiting, _)| *waiting)
            .collect();
        if moving.is_empty() {
            break;
        }
        moving.iter().for_each(|waiting| {
            waits.remove(waiting);
        });
    }
    // Every dead queue has a successor that is dead: following the first of each must come back.
    let mut path = vec![*waits.first_key_value()?.0];
    let cycle = loop {
        let next = waits[path.last()?][0];
        if let Some(start) = path.iter().position(|seen| *seen == next) {
            break path.split_off(start);
        }
        path.push(next);
    };
    let since = |(port, queue): &Waiting| {
        let facts = &fabric.wiring.ports[port.0 as usize];
        let gate = simulation.node(facts.node).ports()[usize::from(facts.ix)].gate(*queue);
        gate.closed().map_or(Time::ZERO, |(since, _)| since)
    };
    Some(Deadlock { onset: cycle.iter().map(since).max()?, cycle })
}

/// The egress queues of `node` that hold packets which came in on port `ingress` in the class that `queue` stands for.
fn successors(simulation: &Simulation, node: NodeId, ingress: u16, queue: QueueIx) -> Vec<Waiting> {
    let mut found = Vec::new();
    for port in simulation.node(node).ports() {
        for next in 0..port.queue_count() as QueueIx {
            let holds = |queued: &Queued| queued.ingress == ingress && QueueIx::from(queued.frame.class().0) == queue;
            if port.frames(next, simulation.frames(node)).any(holds) {
                found.push((port.id, next));
            }
        }
    }
    found
}
