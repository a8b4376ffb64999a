//! Lower bounds of the time of jobs, and warnings about traffic that cannot end within the run.

use crate::diagnostic::Diagnostic;
use crate::scenario::RunConfig;
use crate::workload::Traffic;
use crate::workload::jobs::{PlannedJob, Steps};
use backwater_engine::{Duration, Rate, Time, interrupt};
use backwater_fabric::frame::Direction;
use backwater_fabric::ids::{FlowId, NodeId};
use backwater_fabric::network::fabric::Fabric;
use backwater_fabric::network::spec::FlowSpec;
use backwater_jobs::bound::ideal_run;
use backwater_jobs::operation::{Operation, OperationIx, Operations, Rank};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of operations of a schedule whose longest path is computed.
const MOST_OPERATIONS: u64 = 1 << 21;

/// Maximum number of ranks of an all-to-all for which each pair of ranks counts.
const MOST_RANKS: u32 = 512;

/// Sets the lower bound of each job, and warns about jobs that exceed the run.
pub(super) fn of_jobs(fabric: &Fabric, traffic: &mut Traffic, run: &RunConfig) -> Vec<Diagnostic> {
    let last = run.last();
    let mut warnings = Vec::new();
    for job in &mut traffic.jobs {
        job.bound = Some(bound(fabric, job));
        let count = u64::from(job.operations.iterations().unwrap_or(1));
        let ps = |time: Duration, count: u64| u128::from(time.ps()) * u128::from(count);
        let whole = ps(job.bound.unwrap_or_default(), count) + ps(job.gap, count - 1);
        if u128::from(job.start.ps()) + whole > u128::from(last.ps()) {
            let from = if job.start > Time::ZERO { format!(" from its start at {}", job.start) } else { String::new() };
            let message = format!("takes at least {}{from}, but the run ends at {last}", rounded(whole));
            let hint = "set a later end (`run.drain`, or `run.limit` with until = \"jobs\"), or a smaller job";
            warnings.push(Diagnostic::warning(format!("traffic[{}]", job.part), message).hint(hint));
        }
    }
    warnings
}

/// Warns about parts whose flows all start at once, and cannot be sent within the run. Names the
/// slowest host of each part.
pub(super) fn of_flows(fabric: &Fabric, traffic: &Traffic, run: &RunConfig) -> Vec<Diagnostic> {
    let mut slowest: BTreeMap<usize, (u128, NodeId)> = BTreeMap::new();
    for (part, host, bytes, start) in &traffic.offered {
        let ps = bytes * 8_000_000_000_000 / u128::from(rate(fabric, *host).bps().max(1));
        let entry = slowest.entry(*part).or_insert((0, *host));
        if u128::from(start.ps()) + ps > u128::from(run.last().ps()) && ps > entry.0 {
            *entry = (ps, *host);
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
        Diagnostic::warning(format!("traffic[{part}]"), message).hint("set a longer `run.drain`")
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

/// Returns the wire bytes of a message.
fn wire_bytes(fabric: &Fabric, bytes: u64) -> u64 {
    fabric.spec.framing.message(bytes, fabric.spec.mtu.get())
}

/// Returns a lower bound of the time of a message from one host to another on an idle network.
fn travel(fabric: &Fabric, src: NodeId, dst: NodeId, bytes: u64) -> Duration {
    let flow = FlowSpec::new(src, dst, bytes);
    let path = fabric.path(FlowId(0), &flow, Direction::Data);
    let uniform = || {
        let mut ports = fabric.egress_ports(&flow, &path);
        let first = ports.next().map(|port| port.rate);
        ports.all(|port| Some(port.rate) == first)
    };
    if fabric.has_known_path(&flow) && uniform() {
        return fabric.ideal_fct(&flow, &path, 0).unwrap_or_default();
    }
    // Any path has as many hops. Each hop takes at least the shortest delay.
    let fastest = fabric.wiring.ports.iter().map(|port| port.rate).max().unwrap_or(rate(fabric, src));
    let delay = fabric.wiring.ports.iter().map(|port| port.delay).min().unwrap_or_default();
    let sent = rate(fabric, src).max(fastest).time_for(wire_bytes(fabric, bytes));
    sent + delay * path.len() as u64
}

/// Returns a lower bound of the time of an iteration: the larger of the longest path of messages on
/// an idle network, and of the bytes of each host at the rate of its links.
fn bound(fabric: &Fabric, job: &PlannedJob) -> Duration {
    let ranks = job.operations.ranks();
    let host = |rank: u32| job.connections.host(Rank(rank));
    let time = |rank: u32, wire: u64| rate(fabric, host(rank)).time_for(wire);
    match &job.steps {
        Steps::Ring { steps, messages } => {
            let sent: u64 = messages.iter().map(|bytes| wire_bytes(fabric, *bytes)).sum::<u64>() * u64::from(*steps);
            let by_bytes = (0..ranks).map(|rank| time(rank, sent)).max().unwrap_or_default();
            let next = |rank: u32| travel(fabric, host(rank), host((rank + 1) % ranks), messages[0]).ps();
            let edges: Vec<u64> = (0..ranks).map(next).collect();
            by_bytes.max(Duration::from_ps(longest_walk(&edges, *steps)))
        }
        Steps::AllToAll { window, messages } => {
            let per_peer: u64 = messages.iter().map(|bytes| wire_bytes(fabric, *bytes)).sum();
            let by_bytes = (0..ranks).map(|rank| time(rank, per_peer * u64::from(ranks - 1))).max().unwrap_or_default();
            if ranks > MOST_RANKS {
                return by_bytes;
            }
            let shortest = |rank: u32| {
                interrupt::check();
                let others = (0..ranks).filter(move |other| *other != rank);
                others.map(move |other| travel(fabric, host(rank), host(other), messages[0])).min()
            };
            let shortest = (0..ranks).filter_map(shortest).min().unwrap_or_default();
            by_bytes.max(shortest * u64::from((ranks - 1).div_ceil(*window)))
        }
        Steps::Listed => {
            let sent = (0..ranks).map(|rank| {
                let sends = (0..job.operations.count(Rank(rank))).filter_map(|index| {
                    match job.operations.get(Rank(rank), OperationIx(index)) {
                        Operation::Send { bytes, .. } => Some(wire_bytes(fabric, bytes)),
                        Operation::Receive { .. } | Operation::Compute { .. } => None,
                    }
                });
                time(rank, sends.sum())
            });
            let by_bytes = sent.max().unwrap_or_default();
            let total: u64 = (0..ranks).map(|rank| job.operations.count(Rank(rank))).sum();
            if total > MOST_OPERATIONS || !job.has_unique_tags {
                return by_bytes;
            }
            let operations: &Arc<dyn Operations> = &job.operations;
            let run = ideal_run(operations, &|from, to, bytes| {
                (travel(fabric, host(from.0), host(to.0), bytes), Duration::ZERO)
            });
            by_bytes.max(run.end)
        }
    }
}

/// Returns the length of the longest walk of `steps` consecutive edges of a ring.
fn longest_walk(edges: &[u64], steps: u32) -> u64 {
    let (count, steps) = (edges.len(), steps as usize);
    let round: u64 = edges.iter().sum();
    let rest = steps % count;
    let mut walk: u64 = edges[..rest].iter().sum();
    let mut longest = walk;
    for first in 0..count {
        walk = walk + edges[(first + rest) % count] - edges[first];
        longest = longest.max(walk);
    }
    longest + round * (steps / count) as u64
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
