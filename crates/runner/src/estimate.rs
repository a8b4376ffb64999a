//! Memory estimate of a run, extrapolated from its beginning.

use crate::Build;
use crate::run::{Run, RunError};
use crate::usage::ResidentSet;
use backwater_engine::interrupt;
use backwater_engine::memory::Share;
use backwater_engine::{Bytes, Time};
use backwater_fabric::driver::memory::Memory;
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
    let (until, expected) = (plan.run.until, plan.traffic.expected);
    let most_frames = most_frames(&plan);
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
    let mut simulation = if is_whole { memory } else { grown(memory, &loads, until, (most_frames, expected)) };
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
mod tests {
    use super::*;
    use crate::run::tests::{BUILD, plan, plan_of};
    use temp_dir::TempDir;

    fn of(count: u64, bytes: u64) -> Share {
        Share { count, bytes }
    }

    /// Returns the memory at 100 ps, with 100 frames and 10 flows.
    fn memory() -> Memory {
        let (nodes, ports) = (of(1, 7), of(2, 70));
        Memory { nodes, ports, flows: of(10, 5000), frames: of(100, 10_000), events: 2000, reserved: 1 << 40 }
    }

    const LOADS: [(u64, u64, u64); 3] = [(10, 20, 4), (52, 70, 7), (100, 100, 10)];

    fn at(until: u64, most: (f64, f64)) -> Memory {
        let loads = LOADS.map(|(at, frames, flows)| Load { at: Time::from_ps(at), frames, flows });
        grown(memory(), &loads, Time::from_ps(until), most)
    }

    #[test]
    fn growth_of_the_second_half_is_extrapolated() {
        // 30 frames and 3 flows arrived in the last 48 ps, so twice as many arrive in 96 ps.
        let expected = Memory { flows: of(16, 8000), frames: of(160, 16_000), events: 3200, ..memory() };
        assert_eq!(at(196, (1e9, 1e9)), expected);
        // The given maxima limit the growth.
        let expected = Memory { flows: of(12, 6000), frames: of(130, 13_000), events: 2600, ..memory() };
        assert_eq!(at(196, (130.0, 12.0)), expected);
        assert_eq!(at(196, (90.0, 9.0)), memory());
    }

    #[test]
    fn nothing_grows_after_the_end_or_without_measurements() {
        for until in [60, 100] {
            assert_eq!(at(until, (1e9, 1e9)), memory());
        }
        assert_eq!(grown(memory(), &[], Time::from_ps(200), (1e9, 1e9)), memory());
        // Without frames, their size is unknown, so frames cannot be extrapolated.
        let empty = Memory { frames: of(0, 0), ..memory() };
        let loads = [Load { at: Time::from_ps(100), frames: 0, flows: 10 }];
        assert_eq!(grown(empty, &loads, Time::from_ps(200), (1e9, 1e9)), empty);
    }

    #[test]
    fn the_total_is_the_simulation_and_the_rest() {
        let estimate = Estimate { simulation: memory(), rest: 30_000, simulated_ps: 100 };
        assert_eq!(estimate.total(), 7 + 70 + 5000 + 10_000 + 2000 + 30_000);
    }

    /// A full frame is charged 1102 B and has 1122 B on a link. So 1000 frames fit into each of 3
    /// buffers, 10 onto each direction of 4 links, and 20 onto each direction of 2 other links. One
    /// more frame per direction is in transmission.
    #[test]
    fn frames_are_limited_by_buffers_and_links() {
        let text = "run.until = \"1 us\"\nnetwork.mtu = \"1024 B\"\nswitch.buffer = \"1102 KB\"\n\
         traffic = [{ kind = \"permutation\", sizes = \"1 KB\" }]\n\
            topology = { kind = \"leaf-spine\", leaves = 2, spines = 1, hosts_per_leaf = 2, host_delay = \"897.6 \
            ns\",\n\
            uplink_rate = \"400 Gbps\", uplink_delay = \"448.8 ns\" }\n";
        assert_eq!(most_frames(&plan_of(text)), 3.0 * 1000.0 + 4.0 * 2.0 * 11.0 + 2.0 * 2.0 * 21.0);
    }

    #[test]
    fn the_beginning_is_as_long_as_the_wall_time_permits() {
        let text = "run.until = \"20 us\"\ntopology = { kind = \"star\", hosts = 4 }\n\
            traffic = [{ kind = \"poisson\", sizes = { fixed = \"10 KB\" }, load = 0.5 }]\n";
        let of = |wall| {
            let directory = TempDir::new().unwrap();
            estimate(plan_of(text), BUILD, wall, directory.path()).unwrap().simulated_ps
        };
        assert_eq!(of(Duration::from_secs(600)), 20_000_000);
        assert_eq!(of(Duration::ZERO), 0);
        assert!(of(Duration::from_nanos(1)) > 0);
    }

    /// `/dev/full` rejects all writes.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_write_error_ends_the_beginning() {
        let directory = TempDir::new().unwrap();
        std::os::unix::fs::symlink("/dev/full", directory.path().join("flows.parquet.partial")).unwrap();
        let error = estimate(plan(2000), BUILD, Duration::from_secs(600), directory.path()).unwrap_err().to_string();
        assert!(error.contains("flows.parquet") && error.contains("No space left"), "{error}");
    }

    /// 1,100 hosts have 1.2 million flows, which all start at once. Flows beyond the beginning take
    /// as much memory as its flows.
    #[test]
    fn flows_that_start_at_once_are_assumed_to_wait() {
        let of = |hosts: u32| {
            let text = format!(
                "run.until = \"1 us\"\nrun.drain = \"0 s\"\ntopology = {{ kind = \"star\", hosts = {hosts} }}\n\
                 switch.buffer = \"1 GB\"\ntraffic = [{{ kind = \"all-to-all\", bytes = \"1 KB\" }}]\n"
            );
            let directory = TempDir::new().unwrap();
            estimate(plan_of(&text), BUILD, Duration::from_secs(600), directory.path()).unwrap().simulation.flows
        };
        let [few, many] = [500, 1100].map(of);
        assert_eq!([few.count, many.count], [500 * 499, 1100 * 1099]);
        assert!(many.each() < 60, "{}", many.each());
    }
}
