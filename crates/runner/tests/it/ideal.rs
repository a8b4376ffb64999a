//! Ideal completion times: without telemetry, along the routes at a flow's start.

use crate::tables::{AT_ONCE, cells_of, times_of, written};
use backwater_scenario::{Document, Plan};
use std::path::Path;
use std::time::Duration;

/// Returns flows of one packet of 1000 B from h0 to h1 with these starts. The path has three hops,
/// or four while routes avoid the link between s0 and s1.
fn plan(starts: &[&str], congestion: &str) -> Plan {
    let flow = |start: &&str| format!("{{ src = \"h0\", dst = \"h1\", bytes = \"1000 B\", start = \"{start}\" }}");
    let flows: Vec<String> = starts.iter().map(flow).collect();
    let ends = [("h0", "s0"), ("s0", "s1"), ("s0", "s2"), ("s2", "s1"), ("s1", "h1")];
    let link = |(a, b): (&str, &str)| format!("{{ a = \"{a}\", b = \"{b}\", rate = \"100 Gbps\", delay = \"1 us\" }}");
    let text = format!(
        "run = {{ until = \"1 ms\", drain = \"20 ms\" }}\nprobes = {{ sample_interval = \"0 s\" }}\n\
         topology = {{ kind = \"custom\", hosts = [\"h0\", \"h1\"], switches = [\"s0\", \"s1\", \"s2\"], links = [{}] \
         }}\n\
         network.reconvergence = \"10 us\"\ncongestion_control.kind = \"{congestion}\"\n\
         faults = [{{ link = [\"s0\", \"s1\"], down = \"10 us\", up = \"30 us\" }}]\n\
         traffic = [{{ kind = \"flows\", flows = [{}] }}]\n",
        ends.map(link).join(", "),
        flows.join(", ")
    );
    Plan::from_document(&Document::from_toml("s.toml", &text).unwrap(), Path::new(".")).unwrap()
}

/// Returns the time of a packet of 1000 B over `hops` links of 100 Gb/s with a delay of 1 us.
/// Headers, preamble and gap take 98 B, plus telemetry.
fn ideal(hops: i64, telemetry: i64) -> i64 {
    hops * ((1000 + 98 + telemetry) * 80 + 1_000_000)
}

/// New routes apply from 20 us, and the old routes again from 40 us. All rows are written later.
#[test]
fn the_ideal_time_follows_the_routes_at_the_flow_start() {
    let plan = plan(&["0 s", "19999999 ps", "20 us", "39999999 ps", "40 us"], "none");
    for (threads, wall) in [(1, AT_ONCE), (1, Duration::ZERO), (3, AT_ONCE)] {
        let directory = written(&plan, threads, None, wall);
        let ideals = times_of(&directory, "ideal_fct_ps");
        assert_eq!(ideals, [3, 3, 4, 4, 3].map(|hops| ideal(hops, 0)), "{threads} threads, {wall:?}");
    }
}

#[test]
fn telemetry_has_its_own_column() {
    for (congestion, telemetry) in [("none", 0), ("dcqcn", 0), ("hpcc", 42)] {
        let directory = written(&plan(&["0 s", "100 us"], congestion), 1, None, AT_ONCE);
        for (column, telemetry) in
            [("ideal_fct_ps", 0), ("ideal_fct_with_telemetry_ps", telemetry), ("fct_ps", telemetry)]
        {
            assert_eq!(times_of(&directory, column), [ideal(3, telemetry); 2], "{congestion}: {column}");
        }
    }
}

/// Paths from h0 to h1 have eleven hops, more than a packet's route holds. They pass s1 or s2 until
/// 60 us, and then only s2. The path of a flow that ends before 60 us is known. The packets of a
/// flow that ends later have taken different paths. An endless flow has its path at the end of the
/// run.
#[test]
fn the_path_of_a_finished_flow_with_several_paths_is_unknown() {
    let flows = |options: &str| vec![format!("{{ src = \"h0\", dst = \"h1\"{options} }}"); 8];
    let flows = [", bytes = \"1 KB\"", ", bytes = \"100 KB\"", ""].map(flows).concat();
    let (fork, line) = ([("h0", 0), ("s0", 1), ("s0", 2), ("s1", 3), ("s2", 3)], 3..10);
    let link = |a: &str, b: &str| format!("{{ a = \"{a}\", b = \"{b}\", rate = \"100 Gbps\", delay = \"1 us\" }}");
    let links = fork.map(|(a, b)| link(a, &format!("s{b}"))).into_iter();
    let links = links.chain(line.map(|a| link(&format!("s{a}"), &format!("s{}", a + 1)))).chain([link("s10", "h1")]);
    let switches: Vec<String> = (0..11).map(|switch| format!("\"s{switch}\"")).collect();
    let text = format!(
        "run = {{ until = \"200 us\", drain = \"20 ms\" }}\nprobes = {{ sample_interval = \"0 s\" }}\n\
         topology = {{ kind = \"custom\", hosts = [\"h0\", \"h1\"], switches = [{}], links = [{}] }}\n\
         network.reconvergence = \"10 us\"\nfaults = [{{ link = [\"s0\", \"s1\"], down = \"50 us\" }}]\n\
         traffic = [{{ kind = \"flows\", flows = [{}] }}]\n",
        switches.join(", "),
        links.collect::<Vec<_>>().join(", "),
        flows.join(", ")
    );
    let plan = Plan::from_document(&Document::from_toml("s.toml", &text).unwrap(), Path::new(".")).unwrap();
    for wall in [AT_ONCE, Duration::ZERO] {
        // The second port of the path leads to s1 or s2.
        let paths = cells_of(&written(&plan, 1, None, wall), "path");
        let through = |spine: u32| format!("[0, {spine}, 1, 2, 1, 1, 1, 1, 1, 1, 1]");
        assert!(paths[..8].iter().all(|path| *path == through(1) || *path == through(2)), "{paths:?}");
        assert!(paths[..8].contains(&through(1)), "{paths:?}");
        assert_eq!(paths[8..16], ["null"; 8], "{wall:?}");
        assert_eq!(paths[16..], vec![through(2); 8], "{wall:?}");
    }
}
