//! Memory estimate of a run, extrapolated from its beginning.

use crate::Build;
use crate::run::{Run, RunError};
use crate::usage::ResidentSet;
use backwater_engine::interrupt;
use backwater_engine::memory::Share;
use backwater_engine::{Bytes, Time};
use backwater_fabric::driver::memory::Memory;
use backwater_fabric::network::flows::Connections;
use backwater_fabric::network::spec::NodeKind;
use backwater_scenario::Plan;
use std::path::Path;
use std::time::{Duration, Instant};

/// Memory estimate of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Memory of the simulation. Flows and frames count with their largest number at one time.
    pub simulation: Memory,
    /// Tables in progress, copies of the scenario, and unused memory of the allocator.
    pub rest: u64,
    /// Simulated time of the estimate, ps.
    pub simulated_ps: u64,
}

impl Estimate {
    /// Returns the total in bytes.
    pub fn total(&self) -> u64 {
        self.simulation.total() + self.rest
    }
}

/// Active frames and flows at an instant.
#[derive(Clone, Copy)]
struct Load {
    at: Time,
    frames: u64,
    flows: u64,
}

/// Number of measurements of an estimate.
const MEASUREMENTS: u32 = 32;

/// Number of flows of the beginning. To admit more flows takes too long.
const FLOWS: usize = 1 << 20;

/// Number of unfinished flows in the tables of the beginning: two row groups.
const UNFINISHED: usize = 1 << 15;

/// Estimates the memory of a run of `plan`. Simulates the beginning of the run for `wall` of real
/// time. Assumes that active flows and frames keep growing as in the second half of the simulated
/// time. Tables are written to `scratch`, an empty directory.
///
/// Unless `wall` is zero, the simulation continues beyond `wall` until the simulated time differs
/// between two measurements. The beginning has at most [`FLOWS`] flows, and ends with the start of
/// the next flow. If all flows so far start at one instant, all other flows are assumed to start at
/// this instant as well, and to wait.
///
/// # Errors
///
/// See [`Run::start`]. Also if the scratch directory has too little space.
pub fn estimate(plan: Plan, build: Build, wall: Duration, scratch: &Path) -> Result<Estimate, RunError> {
    let (until, expected) = (plan.run.end_of_traffic(), plan.traffic.expected);
    let (most_frames, connections) = (most_frames(&plan), connections(&plan));
    let (stop, waiting) = match [0, FLOWS].map(|flow| plan.traffic.flows().nth(flow).map(|flow| flow.start)) {
        [Some(first), Some(beyond)] if first == beyond => (Time::NEVER, expected - FLOWS as f64),
        [_, Some(beyond)] => (beyond, 0.0),
        [_, None] => (Time::NEVER, 0.0),
    };
    let resident_set = ResidentSet::start(plan.fabric_bytes());
    let mut run = Run::start_with(plan, build, scratch, 1, stop, FLOWS)?;
    let (begun, mut loads) = (Instant::now(), Vec::new());
    let mut first_flows = run.simulation().memory().flows;
    let mut is_done = false;
    let is_long_enough = |loads: &[Load]| match (loads.first(), loads.last()) {
        (Some(first), Some(last)) => first.at < last.at,
        _ => wall.is_zero(),
    };
    while !is_done && (begun.elapsed() < wall || !is_long_enough(&loads)) {
        interrupt::check();
        is_done = run.advance(wall / MEASUREMENTS).done;
        let Memory { frames, flows, .. } = run.simulation().memory();
        if loads.is_empty() {
            first_flows = Share { count: flows.count, bytes: flows.bytes - first_flows.bytes };
        }
        loads.push(Load { at: run.simulation().now(), frames: frames.count, flows: flows.count });
    }
    if let Some(cause) = run.write_error.take() {
        return Err(RunError::Rejected(cause));
    }
    let (memory, now) = (run.simulation().memory(), run.simulation().now());
    // Completing the tables also takes memory.
    run.complete(UNFINISHED)?;
    let rest = resident_set.growth().saturating_sub(memory.total());
    let is_whole = is_done && stop == Time::NEVER && waiting == 0.0;
    let mut simulation =
        if is_whole { memory } else { grown(memory, &loads, until, (most_frames, expected + connections)) };
    simulation.flows += Share { count: waiting as u64, bytes: (waiting * first_flows.each() as f64) as u64 };
    Ok(Estimate { simulation, rest, simulated_ps: now.ps().min(until.ps()) })
}

/// Extrapolates `memory` to `until`. Flows and frames grow as in the second half of `loads`, up to
/// the given maxima.
fn grown(mut memory: Memory, loads: &[Load], until: Time, (most_frames, most_flows): (f64, f64)) -> Memory {
    let Some(last) = loads.last() else { return memory };
    let now = last.at.ps();
    // The measurement closest to half of the time.
    let half = loads.iter().min_by_key(|load| load.at.ps().abs_diff(now / 2)).unwrap_or(last);
    let later = until.ps().saturating_sub(now) as f64 / (now - half.at.ps()).max(1) as f64;
    let project = |share: &mut Share, half: u64, last: u64, most: f64| {
        let grown = last as f64 + (last - half) as f64 * later;
        let more = (grown.min(most) - last as f64).max(0.0);
        share.bytes += (more * share.each() as f64) as u64;
        share.count += more as u64;
    };
    let frames_before = memory.frames.bytes;
    project(&mut memory.frames, half.frames, last.frames, most_frames);
    if frames_before > 0 {
        // Each frame in flight is a pending event, so events grow like frames.
        memory.events = (memory.events as f64 * memory.frames.bytes as f64 / frames_before as f64) as u64;
    }
    project(&mut memory.flows, half.flows, last.flows, most_flows);
    memory
}

/// Returns the number of connections of all jobs.
fn connections(plan: &Plan) -> f64 {
    plan.traffic.jobs.iter().map(|job| f64::from(job.connections.count())).sum()
}

/// Returns the number of full data frames that fit into all buffers and onto all links.
fn most_frames(plan: &Plan) -> f64 {
    let spec = plan.spec();
    let frame = spec.framing.largest(spec.mtu.get() as u32, spec.congestion.telemetry_bytes());
    let switches = spec.nodes.iter().filter(|node| node.kind == NodeKind::Switch).count();
    let Bytes(buffer) = spec.switch.buffer;
    let buffered = switches as f64 * buffer as f64 / f64::from(frame.charge);
    let on_wire = |link: &backwater_fabric::network::spec::LinkSpec| {
        2.0 * (1.0 + link.delay.ps() as f64 / link.rate.time_for(frame.wire.into()).ps() as f64)
    };
    buffered + spec.links.iter().map(on_wire).sum::<f64>()
}

#[cfg(test)]
mod tests;
