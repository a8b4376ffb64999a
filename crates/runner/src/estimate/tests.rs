//! Tests of memory estimates.

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
