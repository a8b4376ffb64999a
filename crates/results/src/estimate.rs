//! What a run will take of memory, as far as its beginning tells.

use crate::Build;
use crate::run::{Run, RunError};
use crate::usage::Footprint;
use backwater_engine::memory::Share;
use backwater_engine::{Bytes, Time};
use backwater_fabric::driver::memory::Memory;
use backwater_fabric::network::spec::NodeKind;
use backwater_scenario::Plan;
use std::path::Path;
use std::time::{Duration, Instant};

/// What a run will take of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The simulation; of flows and frames the most that will be active at once.
    pub simulation: Memory,
    /// Tables on their way to the disk, copies of the scenario, and what the allocator leaves unused.
    pub rest: u64,
    /// How much of the run's traffic was simulated to find out, ps.
    pub simulated_ps: u64,
}

impl Estimate {
    /// All of it, in bytes.
    pub fn total(&self) -> u64 {
        self.simulation.total() + self.rest
    }
}

/// What is active at some instant.
#[derive(Clone, Copy)]
struct Load {
    at: Time,
    frames: u64,
    flows: u64,
}

/// How many times the beginning is looked at.
const LOOKS: u32 = 32;

/// Estimates the memory of a run of `plan` from its beginning: as much of it as can be simulated in `wall`. Its tables go to `scratch`, an empty
/// directory. Active flows and frames are assumed to go on growing as they have grown in the second half of that time.
///
/// # Errors
/// As for [`Run::start`].
pub fn estimate(plan: Plan, build: Build, wall: Duration, scratch: &Path) -> Result<Estimate, RunError> {
    let (until, expected) = (plan.run.until, plan.traffic.expected);
    let most_frames = most_frames(&plan);
    let footprint = Footprint::start();
    let mut run = Run::start(plan, build, scratch, 1)?;
    let (begun, mut loads) = (Instant::now(), Vec::new());
    let mut is_done = false;
    while !is_done && begun.elapsed() < wall {
        is_done = run.advance(wall / LOOKS).done;
        let Memory { frames, flows, .. } = run.simulation().memory();
        loads.push(Load { at: run.simulation().now(), frames: frames.count, flows: flows.count });
    }
    let (mut simulation, now) = (run.simulation().memory(), run.simulation().now());
    // Completing the tables takes memory as well.
    run.finish()?;
    let rest = footprint.growth().saturating_sub(simulation.total());
    if let (Some(last), false) = (loads.last().copied(), is_done || now >= until) {
        // The look closest to half of the time.
        let half = loads.iter().copied().min_by_key(|load| load.at.ps().abs_diff(now.ps() / 2)).unwrap_or(last);
        let later = (until - now).ps() as f64 / (now - half.at).ps().max(1) as f64;
        let project = |share: &mut Share, half: u64, last: u64, most: f64| {
            let grown = last as f64 + (last - half) as f64 * later;
            let more = (grown.min(most) - last as f64).max(0.0);
            share.bytes += (more * share.each() as f64) as u64;
            share.count += more as u64;
        };
        let frames_before = simulation.frames.bytes;
        project(&mut simulation.frames, half.frames, last.frames, most_frames);
        // Frames in flight are pending events.
        simulation.events =
            (simulation.events as f64 * simulation.frames.bytes as f64 / frames_before.max(1) as f64) as u64;
        project(&mut simulation.flows, half.flows, last.flows, expected);
    }
    Ok(Estimate { simulation, rest, simulated_ps: now.ps().min(until.ps()) })
}

/// Full data frames that fit into all buffers and onto all wires.
fn most_frames(plan: &Plan) -> f64 {
    let spec = &plan.spec;
    let frame = spec.framing.largest(spec.mtu.get() as u32, spec.congestion.telemetry_bytes());
    let switches = spec.nodes.iter().filter(|node| node.kind == NodeKind::Switch).count();
    let Bytes(buffer) = spec.switch.buffer;
    let buffered = switches as f64 * buffer as f64 / f64::from(frame.charge);
    let on_wire = |link: &backwater_fabric::network::spec::LinkSpec| {
        2.0 * (1.0 + link.delay.ps() as f64 / link.rate.time_for(frame.wire.into()).ps() as f64)
    };
    buffered + spec.links.iter().map(on_wire).sum::<f64>()
}
