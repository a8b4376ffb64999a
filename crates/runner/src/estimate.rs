//! What a run will take of memory, as far as its beginning tells.

use crate::Build;
use crate::run::{Run, RunError};
use crate::usage::ResidentSet;
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
    let resident_set = ResidentSet::start();
    let mut run = Run::start(plan, build, scratch, 1)?;
    let (begun, mut loads) = (Instant::now(), Vec::new());
    let mut is_done = false;
    while !is_done && begun.elapsed() < wall {
        is_done = run.advance(wall / LOOKS).done;
        let Memory { frames, flows, .. } = run.simulation().memory();
        loads.push(Load { at: run.simulation().now(), frames: frames.count, flows: flows.count });
    }
    let (memory, now) = (run.simulation().memory(), run.simulation().now());
    // Completing the tables takes memory as well.
    run.finish()?;
    let rest = resident_set.growth().saturating_sub(memory.total());
    let simulation = if is_done { memory } else { grown(memory, &loads, until, (most_frames, expected)) };
    Ok(Estimate { simulation, rest, simulated_ps: now.ps().min(until.ps()) })
}

/// `memory` at `until`, if flows and frames go on growing as in the second half of the time of
/// `loads`, up to so many frames and flows.
fn grown(mut memory: Memory, loads: &[Load], until: Time, (most_frames, most_flows): (f64, f64)) -> Memory {
    let Some(last) = loads.last() else { return memory };
    let now = last.at.ps();
    // The look closest to half of the time.
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
        // Frames in flight are pending events.
        memory.events = (memory.events as f64 * memory.frames.bytes as f64 / frames_before as f64) as u64;
    }
    project(&mut memory.flows, half.flows, last.flows, most_flows);
    memory
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::{BUILD, plan_of};
    use temp_dir::TempDir;

    fn of(count: u64, bytes: u64) -> Share {
        Share { count, bytes }
    }

    /// At 100 ps there are 100 frames and 10 flows.
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
    fn what_is_active_grows_as_in_the_second_half() {
        // 30 frames and 3 flows came in the last 48 ps: twice as many come in 96 ps.
        let expected = Memory { flows: of(16, 8000), frames: of(160, 16_000), events: 3200, ..memory() };
        assert_eq!(at(196, (1e9, 1e9)), expected);
        // No more than there is room for, or than come.
        let expected = Memory { flows: of(12, 6000), frames: of(130, 13_000), events: 2600, ..memory() };
        assert_eq!(at(196, (130.0, 12.0)), expected);
        assert_eq!(at(196, (90.0, 9.0)), memory());
    }

    #[test]
    fn nothing_grows_after_the_end_nor_where_nothing_was_seen() {
        for until in [60, 100] {
            assert_eq!(at(until, (1e9, 1e9)), memory());
        }
        assert_eq!(grown(memory(), &[], Time::from_ps(200), (1e9, 1e9)), memory());
        // A frame is yet to come, of unknown size.
        let empty = Memory { frames: of(0, 0), ..memory() };
        let loads = [Load { at: Time::from_ps(100), frames: 0, flows: 10 }];
        assert_eq!(grown(empty, &loads, Time::from_ps(200), (1e9, 1e9)), empty);
    }

    #[test]
    fn all_of_it_is_the_simulation_and_the_rest() {
        let estimate = Estimate { simulation: memory(), rest: 30_000, simulated_ps: 100 };
        assert_eq!(estimate.total(), 7 + 70 + 5000 + 10_000 + 2000 + 30_000);
    }

    /// A full frame is charged with 1102 B and takes 1122 B of a wire: 1000 of them in each of 3
    /// buffers; 10 on each way of 4 links, 20 on each of 2 others, and one more that is being sent.
    #[test]
    fn as_many_frames_as_buffers_and_wires_hold() {
        let text = "run.until = \"1 us\"\nnetwork.mtu = \"1024 B\"\nswitch.buffer = \"1102 KB\"\ntraffic = [{ kind = \"permutation\", sizes = \"1 KB\" }]\n\
            topology = { kind = \"leaf-spine\", leaves = 2, spines = 1, hosts_per_leaf = 2, host_delay = \"897.6 ns\",\n\
            uplink_rate = \"400 Gbps\", uplink_delay = \"448.8 ns\" }\n";
        assert_eq!(most_frames(&plan_of(text)), 3.0 * 1000.0 + 4.0 * 2.0 * 11.0 + 2.0 * 2.0 * 21.0);
    }

    #[test]
    fn a_beginning_is_as_long_as_its_time_allows() {
        let text = "run.until = \"20 us\"\ntopology = { kind = \"star\", hosts = 4 }\n\
            traffic = [{ kind = \"poisson\", sizes = { fixed = \"10 KB\" }, load = 0.5 }]\n";
        let of = |wall| {
            let directory = TempDir::new().unwrap();
            estimate(plan_of(text), BUILD, wall, directory.path()).unwrap().simulated_ps
        };
        assert_eq!(of(Duration::from_secs(600)), 20_000_000);
        assert_eq!(of(Duration::ZERO), 0);
    }
}
