//! Lower bounds of the time of jobs, and warnings about traffic that cannot end within the run.

use crate::diagnostic::Diagnostic;
use crate::scenario::RunConfig;
use crate::workload::jobs::{PlannedJob, Steps};
use crate::workload::{Offered, Traffic};
use backwater_engine::{Duration, Rate, Time, interrupt};
use backwater_fabric::frame::Direction;
use backwater_fabric::ids::{FlowId, NodeId};
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::flows::Connections;
use backwater_fabric::network::spec::{FlowKeys, FlowSpec};
use backwater_jobs::bound::ideal_run;
use backwater_jobs::collective::Division;
use backwater_jobs::connections::{JobConnections, Spread};
use backwater_jobs::operation::{Operation, OperationIx, Rank, StreamIx};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Maximum number of operations of a schedule whose longest path is computed.
const MOST_OPERATIONS: u64 = 1 << 21;

/// Longest time in results, in ps.
const LONGEST: u128 = i64::MAX as u128;

/// Maximum number of ranks of an all-to-all for which each pair of ranks counts.
const MOST_RANKS: u32 = 512;

/// Sets the lower bound of each job, and warns about jobs that exceed the run.
pub(super) fn of_jobs(fabric: &Fabric, traffic: &mut Traffic, run: &RunConfig) -> Vec<Diagnostic> {
    let last = run.last();
    let mut warnings = Vec::new();
    for job in &mut traffic.jobs {
        let Bound { busy, path } = bound(fabric, job);
        let one = busy.max(path);
        job.bound = Duration::from_ps(one.min(LONGEST) as u64);
        let count = u128::from(job.operations.iterations().unwrap_or(1));
        // Iterations of different ranks overlap, but no rank begins the last one before its gaps.
        let whole = (one + (count - 1) * u128::from(job.gap.ps())).max(count * busy);
        if u128::from(job.start.ps()) + whole > u128::from(last.ps()) {
            let from = if job.start > Time::ZERO { format!(" from its start at {}", job.start) } else { String::new() };
            let message = format!("takes at least {}{from}, but the run ends at {last}", rounded(whole));
            let hint = format!("set a later `{}`, or a smaller job", run.option_of_last());
            warnings.push(Diagnostic::warning(format!("traffic[{}]", job.part), message).hint(&hint));
        }
    }
    warnings
}

/// Warns about parts whose flows cannot be sent within the run. Names the slowest host of each
/// part.
pub(super) fn of_flows(fabric: &Fabric, traffic: &Traffic, run: &RunConfig) -> Vec<Diagnostic> {
    let mut slowest: BTreeMap<usize, (u128, NodeId)> = BTreeMap::new();
    for &Offered { part, host, start, wire } in &traffic.offered {
        let ps = time(fabric, host, wire);
        let entry = slowest.entry(part).or_insert((0, host));
        if u128::from(start.ps()) + ps > u128::from(run.last().ps()) && ps > entry.0 {
            *entry = (ps, host);
        }
    }
    let warn = |(part, (ps, host)): (usize, (u128, NodeId))| {
        let message = format!(
            "host \"{}\" needs at least {} to send its flows at {}, but the run ends at {}",
            fabric.name(host),
            rounded(ps),
            rate(fabric, host),
            run.last()
        );
        let hint = format!("set a later `{}`", run.option_of_last());
        Diagnostic::warning(format!("traffic[{part}]"), message).hint(&hint)
    };
    slowest.into_iter().filter(|(_, (ps, _))| *ps > 0).map(warn).collect()
}

/// Returns a time in ps, rounded down to three significant digits.
fn rounded(ps: u128) -> Duration {
    let ps = u64::try_from(ps).unwrap_or(u64::MAX);
    let unit = 10_u64.pow(ps.checked_ilog10().unwrap_or(0).saturating_sub(2));
    Duration::from_ps(ps / unit * unit)
}

/// Returns the total rate of a host's links.
fn rate(fabric: &Fabric, host: NodeId) -> Rate {
    Rate::from_bps(fabric.wiring.ports_of(host).iter().map(|port| port.rate.bps()).sum())
}

/// Returns the time in ps that a host needs to send wire bytes.
fn time(fabric: &Fabric, host: NodeId, wire: u128) -> u128 {
    wire * 8_000_000_000_000 / u128::from(rate(fabric, host).bps().max(1))
}

/// Returns the wire bytes of a message.
fn wire_bytes(fabric: &Fabric, bytes: u64) -> u64 {
    fabric.spec.framing.message(bytes, fabric.spec.mtu.get())
}

/// Lower bounds of the times of messages on an idle network.
struct Travel<'a> {
    fabric: &'a Fabric,
    connections: &'a JobConnections,
    /// True if each queue pair has one known path, on which all of a message travels.
    is_known: bool,
    /// Highest rate and shortest delay of a link.
    fastest: Rate,
    delay: Duration,
    /// Times by connection and bytes.
    times: RefCell<FxHashMap<(u32, u64), Duration>>,
    /// Times of acknowledgements by connection.
    answers: RefCell<FxHashMap<u32, Duration>>,
}

impl<'a> Travel<'a> {
    fn new(fabric: &'a Fabric, connections: &'a JobConnections) -> Travel<'a> {
        let (spec, ports) = (&fabric.spec, || fabric.wiring.ports.iter());
        let is_whole = connections.spread() == Spread::RoundRobin || connections.queue_pairs() == 1;
        // The keys of numbers depend on other traffic, and routes change with faults.
        let is_fixed = spec.flow_keys == FlowKeys::Connection && spec.faults.is_empty();
        Travel {
            fabric,
            connections,
            is_known: is_whole && is_fixed,
            fastest: ports().map(|port| port.rate).max().unwrap_or(Rate::from_bps(1)),
            delay: ports().map(|port| port.delay).min().unwrap_or_default(),
            times: RefCell::default(),
            answers: RefCell::default(),
        }
    }

    /// Returns a lower bound of the time of an acknowledgement of a message from one rank to
    /// another: each hop takes at least the shortest delay.
    fn answer(&self, from: Rank, to: Rank) -> Duration {
        let first = self.connections.first(from, to, 0);
        let hops = || {
            let flow = self.connections.get(first)?;
            Some(self.fabric.path(FlowId::NONE, &flow, Direction::Ack).len() as u64)
        };
        *self.answers.borrow_mut().entry(first).or_insert_with(|| self.delay * hops().unwrap_or_default())
    }

    /// Returns a lower bound of the time of a message on the first channel from one rank to
    /// another.
    fn time(&self, from: Rank, to: Rank, bytes: u64) -> Duration {
        let key = (self.connections.first(from, to, 0), bytes);
        if let Some(time) = self.times.borrow().get(&key) {
            return *time;
        }
        interrupt::check();
        let queue_pairs = key.0..key.0 + self.connections.queue_pairs();
        let time = queue_pairs.filter_map(|index| self.time_on(index, bytes)).min().unwrap_or_default();
        self.times.borrow_mut().insert(key, time);
        time
    }

    /// Returns a lower bound of the time of a message on a connection.
    fn time_on(&self, index: u32, bytes: u64) -> Option<Duration> {
        let fabric = self.fabric;
        let flow = FlowSpec { bytes, ..self.connections.get(index)? };
        let path = fabric.path(FlowId::NONE, &flow, Direction::Data);
        if self.is_known && fabric.has_known_path(&flow) {
            return fabric.ideal_fct(&flow, &path, 0);
        }
        // Any path has as many hops. Each hop takes at least the shortest delay.
        let sent = rate(fabric, flow.src).max(self.fastest).time_for(wire_bytes(fabric, bytes));
        Some(sent + self.delay * path.len() as u64)
    }
}

/// Lower bounds of the time of an iteration, in ps.
#[derive(Clone, Copy, Debug)]
struct Bound {
    /// Time of the bytes of any host at the rate of its links, and of the computations of any
    /// stream.
    busy: u128,
    /// Time of any path of messages on an idle network.
    path: u128,
}

fn bound(fabric: &Fabric, job: &PlannedJob) -> Bound {
    let (ranks, connections) = (job.operations.ranks(), &*job.connections);
    let travel = Travel::new(fabric, connections);
    let most = |wire: &dyn Fn(Rank) -> u128| {
        let times = (0..ranks).map(Rank).map(|rank| time(fabric, connections.host(rank), wire(rank)));
        times.max().unwrap_or_default()
    };
    // The first block is one of the smallest.
    let wire_block = |division: Division| {
        let messages = (0..division.messages()).map(|message| division.message(0, message));
        messages.map(|bytes| u128::from(wire_bytes(fabric, bytes))).sum::<u128>()
    };
    match job.steps {
        Steps::Ring { steps, division } => {
            let sent = wire_block(division) * u128::from(steps);
            let next = |rank: u32| travel.time(Rank(rank), Rank((rank + 1) % ranks), division.message(0, 0)).ps();
            let edges: Vec<u64> = (0..ranks).map(next).collect();
            Bound { busy: most(&|_| sent), path: longest_walk(&edges, steps) }
        }
        Steps::AllToAll { window, division } => {
            let sent = wire_block(division) * u128::from(ranks - 1);
            let busy = most(&|_| sent);
            if ranks > MOST_RANKS {
                return Bound { busy, path: 0 };
            }
            let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (Rank(from), Rank(to))));
            let times =
                pairs.filter(|(from, to)| from != to).map(|(from, to)| travel.time(from, to, division.message(0, 0)));
            let rounds = u128::from((ranks - 1).div_ceil(window));
            Bound { busy, path: u128::from(times.min().unwrap_or_default().ps()) * rounds }
        }
        Steps::Listed { has_unique_tags } => {
            let operations = |rank: Rank| {
                let count = job.operations.count(rank);
                (0..count).map(move |index| job.operations.get(rank, OperationIx(index)))
            };
            let wire = |rank: Rank| {
                let sent = operations(rank).map(|operation| match operation {
                    Operation::Send { bytes, .. } => u128::from(wire_bytes(fabric, bytes)),
                    Operation::Receive { .. } | Operation::Compute { .. } => 0,
                });
                sent.sum()
            };
            let computed = (0..ranks).map(Rank).map(|rank| {
                let mut streams: BTreeMap<StreamIx, u128> = BTreeMap::new();
                for operation in operations(rank) {
                    if let Operation::Compute { length, stream } = operation {
                        *streams.entry(stream).or_default() += u128::from(length.ps());
                    }
                }
                streams.into_values().max().unwrap_or_default()
            });
            let busy = most(&wire).max(computed.max().unwrap_or_default());
            let total: u64 = (0..ranks).map(|rank| job.operations.count(Rank(rank))).sum();
            if total > MOST_OPERATIONS || !has_unique_tags {
                return Bound { busy, path: 0 };
            }
            let times = |from: Rank, to: Rank, bytes: u64| (travel.time(from, to, bytes), travel.answer(from, to));
            Bound { busy, path: ideal_run(&job.operations, &times).end.ps().into() }
        }
    }
}

/// Returns the length of the longest walk of `steps` consecutive edges of a ring.
fn longest_walk(edges: &[u64], steps: u32) -> u128 {
    let (count, steps) = (edges.len(), steps as usize);
    let edges: Vec<u128> = edges.iter().map(|edge| u128::from(*edge)).collect();
    let round: u128 = edges.iter().sum();
    let rest = steps % count;
    let mut walk: u128 = edges[..rest].iter().sum();
    let mut longest = walk;
    for first in 0..count {
        walk = walk + edges[(first + rest) % count] - edges[first];
        longest = longest.max(walk);
    }
    longest + round * (steps / count) as u128
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_walk_may_go_round_several_times() {
        for (steps, longest) in [(1, 9), (2, 12), (3, 14), (4, 15), (5, 24), (10, 42)] {
            assert_eq!(longest_walk(&[1, 2, 9, 3], steps), longest, "{steps}");
        }
    }
}
