//! Applications for tests.

use backwater_engine::random::{Seed, Stream};
use backwater_engine::{Duration, Time};
use backwater_fabric::Simulation;
use backwater_fabric::contract::{Application, Message, Posting};
use backwater_fabric::driver::partition::Partition;
use backwater_fabric::ids::{FlowId, NodeId};
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::flows::Connections;
use backwater_fabric::network::spec::{FlowSpec, NetworkSpec};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Connections in a list.
#[derive(Debug)]
pub struct Listed(pub Vec<FlowSpec>);

impl Connections for Listed {
    fn count(&self) -> u32 {
        self.0.len() as u32
    }

    fn get(&self, index: u32) -> Option<FlowSpec> {
        self.0.get(index as usize).map(|spec| FlowSpec { bytes: FlowSpec::CONNECTION, ..spec.clone() })
    }
}

/// Returns a simulation of connections with the ends of `connections`, followed by `flows`.
pub fn connected(
    spec: &NetworkSpec,
    connections: &[FlowSpec],
    flows: Vec<FlowSpec>,
    partition: impl FnOnce(&Fabric) -> Partition,
) -> Simulation {
    let mut fabric = Fabric::new(spec.clone()).unwrap();
    for flow in connections {
        fabric.check_flow(&FlowSpec { bytes: 1, ..flow.clone() }).unwrap();
    }
    fabric.flows.declare(Arc::new(Listed(connections.to_vec())));
    let partition = partition(&fabric);
    Simulation::with_partition(fabric, Box::new(flows.into_iter()), &partition)
}

/// Returns a partition into one shard.
pub fn whole(fabric: &Fabric) -> Partition {
    Partition(vec![fabric.spec.nodes.ids().collect()])
}

/// Event at an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Told {
    /// Connection and number of the message, its bytes and its tag.
    Received(FlowId, u32, u64, u64),
    /// Connection, and `id` of the posting.
    Acknowledged(FlowId, u64),
}

/// Posts messages at given times, and again when a message arrives or is acknowledged.
#[derive(Debug, Default)]
pub struct Poster {
    pub timed: VecDeque<(Time, Posting)>,
    pub on_received: BTreeMap<(FlowId, u32), Vec<Posting>>,
    pub on_acknowledged: BTreeMap<(FlowId, u64), Vec<Posting>>,
    pub log: Vec<(Time, Told)>,
}

impl Application for Poster {
    fn on_received(&mut self, now: Time, message: &Message, posts: &mut Vec<Posting>) {
        let Message { connection, number, bytes, tag } = *message;
        self.log.push((now, Told::Received(connection, number, bytes, tag)));
        posts.extend(self.on_received.remove(&(connection, number)).into_iter().flatten());
    }

    fn on_acknowledged(&mut self, now: Time, connection: FlowId, id: u64, posts: &mut Vec<Posting>) {
        self.log.push((now, Told::Acknowledged(connection, id)));
        posts.extend(self.on_acknowledged.remove(&(connection, id)).into_iter().flatten());
    }

    fn on_timer(&mut self, now: Time, posts: &mut Vec<Posting>) {
        while let Some((_, posting)) = self.timed.pop_front_if(|(at, _)| *at <= now) {
            posts.push(posting);
        }
    }

    fn wake_at(&self) -> Time {
        self.timed.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    fn is_done(&self) -> bool {
        self.timed.is_empty() && self.on_received.is_empty() && self.on_acknowledged.is_empty()
    }

    fn heap_bytes(&self) -> u64 {
        0
    }
}

/// Posts random messages after a random time, and in reaction to each event, until a number of
/// messages is posted.
#[derive(Debug)]
pub struct Gambler {
    /// Connections that start at the host.
    pub connections: Vec<FlowId>,
    pub left: u32,
    pub draws: Stream,
    pub wake_at: Time,
    pub log: Vec<(Time, Told)>,
    posted: u64,
}

impl Gambler {
    pub fn new(host: NodeId, connections: Vec<FlowId>, left: u32, seed: u64) -> Gambler {
        let mut draws = Seed(seed).stream("gambler", host.0.into());
        let wake_at = Time::from_ps(draws.below(3_000_000));
        Gambler { connections, left, draws, wake_at, log: Vec::new(), posted: 0 }
    }

    fn play(&mut self, now: Time, posts: &mut Vec<Posting>) {
        if self.wake_at <= now {
            let gap = [1, 1_000_000, 100_000_000][self.draws.below(3) as usize];
            let next = now + Duration::from_ps(1 + self.draws.below(gap));
            self.wake_at = if self.is_done() { Time::NEVER } else { next };
        }
        for _ in 0..self.draws.below(4).saturating_sub(1) {
            if self.left == 0 || self.connections.is_empty() {
                return;
            }
            self.left -= 1;
            self.posted += 1;
            let connection = self.connections[self.draws.below(self.connections.len() as u64) as usize];
            let most = [100, 3000, 30_000][self.draws.below(3) as usize];
            let bytes = 1 + self.draws.below(most);
            posts.push(Posting { connection, bytes, tag: self.draws.below(1000), id: self.posted });
        }
    }
}

impl Application for Gambler {
    fn on_received(&mut self, now: Time, message: &Message, posts: &mut Vec<Posting>) {
        let Message { connection, number, bytes, tag } = *message;
        self.log.push((now, Told::Received(connection, number, bytes, tag)));
        self.play(now, posts);
    }

    fn on_acknowledged(&mut self, now: Time, connection: FlowId, id: u64, posts: &mut Vec<Posting>) {
        self.log.push((now, Told::Acknowledged(connection, id)));
        self.play(now, posts);
    }

    fn on_timer(&mut self, now: Time, posts: &mut Vec<Posting>) {
        self.play(now, posts);
    }

    fn wake_at(&self) -> Time {
        self.wake_at
    }

    fn is_done(&self) -> bool {
        self.left == 0 || self.connections.is_empty()
    }

    fn heap_bytes(&self) -> u64 {
        0
    }
}
