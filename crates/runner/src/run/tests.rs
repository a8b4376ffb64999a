//! Tests of runs and their files.

use super::*;
use crate::tables::{PauseRow, TableWriter, definitions};
use backwater_engine::interrupt::interruptible;
use backwater_fabric::ids::NodeId;
use backwater_scenario::Document;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::sync::Arc;
use temp_dir::TempDir;

pub(crate) const BUILD: Build = Build { version: "0", commit: "unknown", profile: "debug", source: "0" };

/// Returns a plan with many small flows.
pub(crate) fn plan(microseconds: u32) -> Plan {
    plan_of(&format!(
        "run.until = \"{microseconds} us\"\ntopology = {{ kind = \"star\", hosts = 8 }}\n\
         traffic = [{{ kind = \"poisson\", sizes = \"memcached-etc\", load = 0.5 }}]\n"
    ))
}

pub(crate) fn plan_of(text: &str) -> Plan {
    Plan::from_document(&Document::from_toml("s.toml", text).unwrap(), Path::new(".")).unwrap()
}

/// Scenario with an incast and losses, without samples and deadlock checks.
const INCAST: &str = "run.until = \"90 us\"\nprobes = { sample_interval = \"0 s\", deadlock_check = \"0 s\" }\n\
    topology = { kind = \"star\", hosts = 8, error_rate = 1e-3 }\nswitch.buffer = \"600 KB\"\n\
    traffic = [{ kind = \"incast\", degree = 6, size = \"100 KB\" },\n\
    { kind = \"poisson\", sizes = { fixed = \"10 KB\" }, load = 0.3, start = \"30 us\" }]\n";

/// Advances to the end of the run.
fn run(mut run: Run) -> Run {
    while !run.advance(std::time::Duration::from_millis(100)).done {}
    run
}

/// Makes a whole run. Returns its summary, and the directory of its files.
fn finished(plan: Plan, threads: usize) -> (Summary, TempDir) {
    let directory = TempDir::new().unwrap();
    (run(Run::start(plan, BUILD, directory.path(), threads).unwrap()).finish().unwrap(), directory)
}

/// Asserts that the run of a scenario completes without unfinished flows, and that `state` then
/// returns true for its network.
fn completes_with(text: &str, state: impl Fn(&Simulation) -> bool) {
    let directory = TempDir::new().unwrap();
    let run = run(Run::start(plan_of(text), BUILD, directory.path(), 1).unwrap());
    assert!(state(&run.simulation));
    let summary = run.finish().unwrap();
    assert_eq!((summary.outcome, summary.flows.unfinished), (Outcome::Completed, 0));
}

#[test]
fn relays_have_their_own_kind_and_failed_servers_are_idle() {
    let plan = plan_of(
        "run.until = \"50 us\"\ntopology = { kind = \"bcube\", n = 2, failed_nodes = [\"h0.1\"] }\n\
         traffic = [{ kind = \"all-to-all\", bytes = \"10 KB\" }]\n",
    );
    let topology = topology_json(plan.spec());
    let kinds = topology["nodes"].as_array().unwrap().iter().map(|node| node["kind"].as_str().unwrap());
    assert_eq!(kinds.collect::<Vec<_>>(), [["relay"; 4], ["switch"; 4]].concat());
    let (summary, _) = finished(plan, 2);
    assert_eq!((summary.outcome, summary.flows.finished), (Outcome::Completed, 6));
}

#[test]
fn a_run_leaves_complete_files_and_nothing_else() {
    let (summary, directory) = finished(plan(50), 1);
    assert_eq!(summary.outcome, Outcome::Completed);
    assert_eq!(summary.flows.total, plan(50).traffic.flows().count() as u64);
    let mut files: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort_unstable();
    let tables = definitions().into_iter().map(|table| format!("{}.parquet", table.name));
    let mut expected: Vec<_> = tables.chain(["run.json", "topology.json"].map(String::from)).collect();
    expected.sort_unstable();
    assert_eq!(files, expected);
}

#[test]
fn a_summary_has_the_checksums_of_all_files_and_of_itself() {
    let (_, directory) = finished(plan(50), 1);
    let content = |name: &str| fs::read(directory.path().join(name)).unwrap();
    let text = String::from_utf8(content(SUMMARY)).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    let files = summary["files"].as_object().unwrap();
    assert_eq!(files.len() + 1, fs::read_dir(directory.path()).unwrap().count());
    for (name, sum) in files {
        assert_eq!(*sum, serde_json::to_value(FileSum::of(&content(name))).unwrap(), "{name}");
    }
    let (before, _) = text.split_once(",\n  \"checksum\": ").unwrap();
    assert_eq!(summary["checksum"], crc32fast::hash(before.as_bytes()));
    assert_eq!(summary.as_object().unwrap().keys().next_back().unwrap(), "checksum");
}

/// Finishes a run. Returns its tables, and its summary without the cost.
fn contents(run: Run) -> (BTreeMap<String, Vec<u8>>, serde_json::Value) {
    let directory = run.directory.clone();
    let mut summary = serde_json::to_value(run.finish().unwrap()).unwrap();
    for cost in ["cpu_seconds", "wall_seconds", "memory_bytes", "peak_rss_bytes"] {
        summary.as_object_mut().unwrap().remove(cost).unwrap();
    }
    let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    let tables = files.filter(|file| file.extension().is_some_and(|extension| extension == "parquet"));
    (tables.map(|file| (file.display().to_string(), fs::read(&file).unwrap())).collect(), summary)
}

/// The number of shards per thread does not change how often a thread checks the wall clock.
#[test]
fn clock_checks_do_not_depend_on_the_number_of_shards() {
    assert_eq!(events_between_checks(1, 1), 256);
    for (shards, threads) in [(2, 1), (2, 2), (8, 2), (32, 1), (1024, 1), (5, 8)] {
        let of_a_thread = events_between_checks(shards, threads) * shards.div_ceil(threads) as u64;
        assert!((1 << 17..=1 << 18).contains(&of_a_thread), "{shards} shards on {threads} threads: {of_a_thread}");
    }
}

#[test]
fn a_summary_holds_the_maximum_number_of_shards() {
    let of = |text: &str, threads| {
        let (summary, _) = finished(plan_of(text), threads);
        (summary.effective["run.shards"].clone(), summary.scenario["run"]["shards"].clone())
    };
    assert_eq!(of(INCAST, 2), (2.into(), serde_json::Value::Null));
    assert_eq!(of(&format!("run.shards = 3\n{INCAST}"), 2), (serde_json::Value::Null, 3.into()));
}

/// With a wall time of zero, `advance` returns after a few events.
#[test]
fn stops_of_advance_change_no_file() {
    for (text, threads) in [(INCAST, 1), (INCAST, 2)] {
        let directory = TempDir::new().unwrap();
        let start = || Run::start(plan_of(text), BUILD, directory.path(), threads).unwrap();
        let expected = contents(run(start()));
        let (mut run, mut stops) = (start(), 0);
        while !run.advance(std::time::Duration::ZERO).done {
            stops += 1;
        }
        assert!(stops > 50, "{stops}");
        assert!(contents(run) == expected);
    }
}

/// The tables `waits` and `events` are equal byte for byte with any number of shards, threads and
/// stops.
#[test]
fn waits_and_events_do_not_depend_on_threads_nor_on_stops() {
    let text = INCAST.replace("probes = {", "probes = { flows = true, trace = {},");
    let tables = |threads, wall| {
        let directory = TempDir::new().unwrap();
        let mut run = Run::start(plan_of(&text), BUILD, directory.path(), threads).unwrap();
        while !run.advance(std::time::Duration::from_millis(wall)).done {}
        let files = contents(run).0;
        files
            .into_iter()
            .map(|(path, bytes)| (path.rsplit('/').next().unwrap().to_owned(), bytes))
            .collect::<BTreeMap<_, _>>()
    };
    let expected = tables(1, 1000);
    assert!(expected["events.parquet"].len() > 20_000 && expected["waits.parquet"].len() > 2_000);
    for (threads, wall) in [(1, 0), (2, 1000), (2, 0), (3, 1000), (5, 0)] {
        let found = tables(threads, wall);
        for (name, bytes) in &expected {
            assert!(found[name] == *bytes, "{name} with {threads} threads");
        }
    }
}

#[test]
fn a_run_interrupted_between_ticks_holds_all_earlier_events() {
    let directory = TempDir::new().unwrap();
    let mut run = Run::start(plan_of(INCAST), BUILD, directory.path(), 1).unwrap();
    while run.progress().time_ps < 40_000_000 {
        run.advance(std::time::Duration::ZERO);
    }
    let RunProgress { time_ps, started_flows, .. } = run.progress();
    let summary = run.finish().unwrap();
    assert_eq!(summary.outcome, Outcome::Interrupted);
    // All nodes handle their events of the present epoch, which lasts 1 us.
    assert!((time_ps..=time_ps + 1_000_000).contains(&summary.simulated_ps), "{}", summary.simulated_ps);
    assert!(time_ps < 50_000_000, "{time_ps}");
    let rows = |table: &str| {
        let file = fs::File::open(directory.path().join(format!("{table}.parquet"))).unwrap();
        SerializedFileReader::new(file).unwrap().metadata().file_metadata().num_rows()
    };
    assert_eq!(rows("flows") as u64, started_flows);
    assert!(rows("pauses") as u64 >= summary.totals.pause_frames / 2 && summary.totals.pause_frames > 0);
}

/// An interrupted run equals a run that stops by itself at the same time, on any number of threads.
#[test]
fn an_interrupted_run_holds_all_events_before_its_end() {
    let text = INCAST.replace("probes = {", "probes = { flows = true, trace = {},");
    for (threads, slices) in [(1, 40), (1, 81), (2, 40), (3, 40), (3, 55)] {
        let directory = TempDir::new().unwrap();
        let files = |run: Run| {
            let summary = run.finish().unwrap();
            assert_eq!(summary.outcome, Outcome::Interrupted);
            let tables = ["flows", "waits", "events"].map(|name| directory.path().join(format!("{name}.parquet")));
            (summary.simulated_ps, tables.map(|path| fs::read(path).unwrap()))
        };
        let mut interrupted = Run::start(plan_of(&text), BUILD, directory.path(), threads).unwrap();
        for _ in 0..slices {
            interrupted.advance(std::time::Duration::ZERO);
        }
        let (end, found) = files(interrupted);
        let again = Run::start_until(plan_of(&text), BUILD, directory.path(), 1, Time::from_ps(end)).unwrap();
        let (same_end, expected) = files(run(again));
        assert_eq!(end, same_end);
        assert!(found == expected, "{threads} threads, {slices} slices");
    }
}

/// `/dev/full` rejects all writes. The run ends and names the file.
#[cfg(target_os = "linux")]
#[test]
fn a_write_error_ends_the_run() {
    let directory = TempDir::new().unwrap();
    std::os::unix::fs::symlink("/dev/full", directory.path().join("flows.parquet.partial")).unwrap();
    let run = run(Run::start(plan(2000), BUILD, directory.path(), 1).unwrap());
    assert_eq!(run.outcome, Some(Outcome::WriteError));
    assert!(run.simulation.now() < run.plan.run.end_of_traffic());
    let error = run.finish().unwrap_err().to_string();
    assert!(error.contains("flows.parquet") && error.contains("No space left"), "{error}");
    assert!(!directory.path().join("run.json").exists());
}

/// The traffic is so dense that the run needs a long wall time to reach the first tick.
#[cfg(target_os = "linux")]
#[test]
fn a_write_error_ends_the_run_before_the_next_tick() {
    let directory = TempDir::new().unwrap();
    std::os::unix::fs::symlink("/dev/full", directory.path().join("flows.parquet.partial")).unwrap();
    let text = "run.until = \"50 us\"\nprobes = { sample_interval = \"0 s\", deadlock_check = \"0 s\" }\n\
        topology = { kind = \"star\", hosts = 16, rate = \"800 Gbps\" }\nswitch.buffer = \"64 MiB\"\n\
        traffic = [{ kind = \"poisson\", sizes = { fixed = \"1 B\" }, load = 0.8, load_counts = \"wire\" }]\n";
    let run = run(Run::start(plan_of(text), BUILD, directory.path(), 1).unwrap());
    assert_eq!(run.outcome, Some(Outcome::WriteError));
    assert!(run.simulation.now() < Time::ZERO + Duration::from_us(25), "{}", run.simulation.now());
}

/// A queue that a MERGE of Pyrrha created is kept for longer than the run.
#[test]
fn a_finished_run_is_complete_while_a_queue_is_kept() {
    let text = "run = { until = \"1 ms\", drain = \"0 s\" }\nswitch = { buffer = \"8 MiB\", lossless = [],\n\
        headroom = { kind = \"static\" }, flow_control = { kind = \"pyrrha\" } }\n\
        topology = { kind = \"leaf-spine\", leaves = 2, spines = 1, hosts_per_leaf = 4, uplink_rate = \"100 Gbps\" }\n\
        [[traffic]]\nkind = \"flows\"\nflows = [\n\
        { src = \"h0\", dst = \"h4\", bytes = \"2 MB\" }, { src = \"h1\", dst = \"h4\", bytes = \"2 MB\" },\n\
        { src = \"h6\", dst = \"h4\", bytes = \"2 MB\" }, { src = \"h2\", dst = \"h5\", bytes = \"2 MB\" },\n\
        { src = \"h2\", dst = \"h4\", bytes = \"200 KB\" }]\n";
    completes_with(text, |simulation| simulation.is_empty() && !simulation.is_quiet());
}

/// Path probes are sent as long as switches remember flows, here for 1 ms. A probe travels for
/// longer than the probe period. At the end, some probes are therefore in flight, but no flow is
/// active.
#[test]
fn a_finished_run_is_complete_while_probes_are_in_flight() {
    let text = "run = { until = \"50 us\", drain = \"500 us\" }\nrecovery.kind = \"in-any-order\"\n\
        load_balance = { kind = \"proteus\", probe_period = \"5 us\" }\n\
        topology = { kind = \"leaf-spine\", leaves = 2, spines = 2, hosts_per_leaf = 2, delay = \"5 us\" }\n\
        [[traffic]]\nkind = \"permutation\"\nsizes = \"20 KB\"\nshift = 2\n";
    completes_with(text, |simulation| !simulation.is_empty());
}

/// Packets that wait at a link that stays down are retransmitted on other paths. Afterwards no
/// event is left.
#[test]
fn a_finished_run_is_complete_while_packets_wait_at_a_dead_link() {
    let text = "load_balance.kind = \"spray\"\nrecovery.kind = \"irn\"\n\
        topology = { kind = \"leaf-spine\", leaves = 2, spines = 2, hosts_per_leaf = 1 }\n\
        faults = [{ link = [\"leaf0\", \"spine0\"], down = \"5 us\" }]\n\
        [[traffic]]\nkind = \"flows\"\nflows = [{ src = \"h0\", dst = \"h1\", bytes = \"200 KB\" }]\n";
    completes_with(text, |simulation| !simulation.is_empty());
}

/// Covers finished and endless flows, before and after the warm-up, in one shard and in several
/// shards. Each packet that arrived counts in one row.
#[test]
fn each_packet_is_in_one_row_of_reordering() {
    let text = "run = { until = \"300 us\", warmup = \"100 us\" }\nload_balance.kind = \"spray\"\n\
     recovery.kind = \"in-any-order\"\n\
        topology = { kind = \"leaf-spine\", leaves = 2, spines = 4, hosts_per_leaf = 4 }\n\
        [[traffic]]\nkind = \"incast\"\nreceivers = \"h0\"\nsenders = \"h[4-7]\"\ndegree = 3\nsize = \"20 KB\"\n\
        period = \"50 us\"\n\
        [[traffic]]\nkind = \"long-lived\"\npairs = [[\"h1\", \"h5\"], [\"h2\", \"h6\"]]\n\
        [[traffic]]\nkind = \"flows\"\ntag = \"inside\"\nflows = [{ src = \"h2\", dst = \"h3\", bytes = \"50 KB\", \
            start = \"200 us\" }]\n";
    let rows = |threads| {
        let directory = TempDir::new().unwrap();
        let mut run = run(Run::start(plan_of(text), BUILD, directory.path(), threads).unwrap());
        for outcome in run.simulation.unfinished() {
            run.write_flow(&outcome);
        }
        let names = every_name(&run.plan);
        let name = |name: Name| names[name.0 as usize].clone();
        let row = |row: ReorderingRow| (name(row.tag), row.role.map(name), row.measured, row.degree, row.packets);
        run.reordering().into_iter().map(row).collect::<Vec<_>>()
    };
    let all = rows(1);
    assert_eq!(all, rows(3));
    let packets = |tag: &str, measured, early| {
        let of = all.iter().filter(|row| (row.0.as_str(), row.2) == (tag, measured) && (row.3 > 0) == early);
        of.map(|row| row.4).sum::<u64>()
    };
    // 20 KB are 20 packets of up to 1024 B. The bursts at 0 and 50 us are before the end of the
    // warm-up, and the bursts from 100 to 250 us are after this end.
    assert_eq!(packets("incast", false, false) + packets("incast", false, true), 2 * 3 * 20);
    assert_eq!(packets("incast", true, false) + packets("incast", true, true), 4 * 3 * 20);
    assert_eq!((packets("inside", true, false), packets("inside", true, true)), (49, 0));
    assert!(packets("long-lived", false, true) > 0 && packets("long-lived", false, false) > 1000);
    assert_eq!(packets("long-lived", true, false), 0);
    let keys: Vec<_> = all.iter().map(|row| (&row.0, &row.1, row.2, row.3)).collect();
    assert!(
        all.iter().all(|row| row.4 > 0 && (row.1.as_deref() == Some("incast")) == (row.0 == "incast"))
            && all.iter().all(|row| FlowRole::NAMES.contains(&row.1.as_deref().unwrap()))
            && keys.iter().collect::<std::collections::BTreeSet<_>>().len() == keys.len()
    );
}

/// Rows are ordered by end, with open pauses last. Row groups have minima and maxima, so that a
/// reader of a time window can skip other row groups.
#[test]
fn pauses_are_ordered_by_end_with_limits_per_row_group() {
    let (simulated, directory) = finished(plan_of(INCAST), 3);
    assert!(simulated.totals.pause_frames > 10);
    let ends = column(&directory, "pauses", "end_ps");
    assert!(ends.iter().map(|end| end.parse().unwrap_or(i64::MAX)).is_sorted());

    // The table gets more rows than a test can simulate, with start times that compress badly.
    let mut table = TableWriter::create(directory.path(), "many", &Arc::from([Text::from("h0")]), &[]).unwrap();
    let (node, mut noise) = (|| Name::from(NodeId(0)), 1_u64);
    for i in 0..1_000_000 {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        table.push(PauseRow {
            node: node(),
            port: 0,
            peer: node(),
            queue: 3,
            start_ps: Time::from_ps(i * 1000 + (noise >> 34)),
            end_ps: Some(Time::from_ps(i * 1000 + (1 << 30))),
            cause_node: node(),
            cause_port: 0,
            via_port: None,
            parent_queue: None,
            parent_start_ps: None,
            hops: None,
            relayed: false,
        });
    }
    table.finish().unwrap();
    let file = fs::File::open(directory.path().join("many.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let limits = reader.metadata().row_groups().iter().map(|group| {
        let column = group.columns().iter().find(|column| column.column_path().string() == "end_ps").unwrap();
        let Some(parquet::file::statistics::Statistics::Int64(limits)) = column.statistics() else { panic!("limits") };
        (*limits.min_opt().unwrap(), *limits.max_opt().unwrap())
    });
    let limits: Vec<_> = limits.collect();
    assert!(limits.len() > 1 && limits.windows(2).all(|pair| pair[0].1 < pair[1].0), "{limits:?}");
}

/// Returns the cells of a column as text.
fn column(directory: &TempDir, table: &str, name: &str) -> Vec<String> {
    let file = fs::File::open(directory.path().join(format!("{table}.parquet"))).unwrap();
    let rows = SerializedFileReader::new(file).unwrap().into_iter();
    let cell = |row: parquet::record::Row| {
        let (_, field) = row.get_column_iter().find(|(column, _)| *column == name).unwrap();
        field.to_string().trim_matches('"').to_owned()
    };
    rows.map(|row| cell(row.unwrap())).collect()
}

/// Ring of three switches with all flows in one direction, and two hosts outside the ring.
const RING: &str = "run.until = \"1 ms\"\nprobes = { ingress = true, sample_interval = \"0 s\", deadlock_check = \"50 \
 us\" }\n\
    switch = { buffer = \"1 MB\", headroom = { kind = \"static\", xoff = \"30 KB\", xon = \"20 KB\" } }\n\
    topology = { kind = \"custom\", hosts = [\"h0\", \"h1\", \"h2\", \"h3\", \"h4\"], switches = [\"s0\", \"s1\", \
    \"s2\"], links = [\n\
    { a = \"h0\", b = \"s0\" }, { a = \"h1\", b = \"s1\" }, { a = \"h2\", b = \"s2\" }, { a = \"h3\", b = \"s0\" }, { \
    a = \"h4\", b = \"s0\" },\n\
    { a = \"s0\", b = \"s1\" }, { a = \"s1\", b = \"s2\" }, { a = \"s2\", b = \"s0\" }] }\n\
    routes = [{ at = \"s0\", to = \"h2\", next = \"s1\" }, { at = \"s1\", to = \"h0\", next = \"s2\" }, { at = \
    \"s2\", to = \"h1\", next = \"s0\" }]\n\
    [[traffic]]\nkind = \"flows\"\nflows = [{ src = \"h0\", dst = \"h2\", bytes = \"10 MB\" },\n\
    { src = \"h1\", dst = \"h0\", bytes = \"10 MB\" }, { src = \"h2\", dst = \"h1\", bytes = \"10 MB\" }]\n\
    [[traffic]]\nkind = \"long-lived\"\npairs = [[\"h3\", \"h4\"]]\n";

/// The second check confirms the deadlock found by the first check.
#[test]
fn two_checks_confirm_a_deadlock() {
    let (summary, directory) = finished(plan_of(RING), 1);
    assert_eq!((summary.outcome, summary.simulated_ps), (Outcome::Deadlock, 100_000_000));
    let FlowCounts { total, finished, unfinished, endless, .. } = summary.flows;
    assert_eq!((total, finished, unfinished, endless), (4, 0, 3, 1));
    let deadlock = summary.deadlock.unwrap();
    assert!(deadlock.onset_ps < 50_000_000);
    let queue = |queue: &DeadQueue| {
        let flows = queue.flows.iter().map(|DeadFlow { id, src, dst }| format!("{id} {src} {dst}"));
        (queue.name.clone(), queue.peer.clone(), flows.collect())
    };
    let expected = [
        ("s0:3", "s1", ["0 h0 h2", "2 h2 h1"]),
        ("s1:2", "s2", ["0 h0 h2", "1 h1 h0"]),
        ("s2:2", "s0", ["1 h1 h0", "2 h2 h1"]),
    ];
    let expected =
        expected.map(|(name, peer, flows)| (name.to_owned(), peer.to_owned(), flows.map(String::from).to_vec()));
    assert_eq!(deadlock.cycle.iter().map(queue).collect::<Vec<_>>(), expected);

    // The upstream host and switch of each switch are still paused.
    assert_eq!(column(&directory, "stops", "end_ps").iter().filter(|end| *end == "null").count(), 6);
    assert_eq!(column(&directory, "switches", "node"), ["s0", "s1", "s2"]);
    let peaks = column(&directory, "switches", "peak_buffer_bytes");
    assert_eq!(peaks.iter().map(|peak| peak.parse().unwrap()).max(), Some(summary.totals.peak_buffer_bytes));
    assert!(summary.totals.peak_buffer_bytes > deadlock.cycle[0].bytes);
}

#[test]
fn counts_of_load_balancers_are_sampled_by_name() {
    let text = "run.until = \"50 us\"\nload_balance.kind = \"letflow\"\nprobes = { paths = true, sample_interval = \
     \"10 us\" }\n\
        topology = { kind = \"leaf-spine\", leaves = 2, spines = 2, hosts_per_leaf = 2 }\n\
        [[traffic]]\nkind = \"permutation\"\nsizes = \"100 KB\"\nshift = 2\n";
    let (_, directory) = finished(plan_of(text), 1);
    let what = column(&directory, "balancing", "what");
    assert!(!what.is_empty() && what.iter().all(|what| what == "flow_entries"), "{what:?}");
}

/// The times of all rows are sample times.
#[test]
fn goodput_includes_finished_flows() {
    let text = "run = { until = \"60 us\", drain = \"940 us\" }\ntopology = { kind = \"star\", hosts = 4 }\n\
        probes = { goodput = true, sample_interval = \"20 us\", deadlock_check = \"30 us\" }\n\
        traffic = [{ kind = \"poisson\", sizes = { fixed = \"10 KB\" }, load = 0.5 }]\n";
    let (summary, directory) = finished(plan_of(text), 1);
    let numbers = |name| column(&directory, "goodput", name).into_iter().map(|cell| cell.parse::<u64>().unwrap());
    assert!(numbers("time_ps").all(|time| time > 0 && time % 20_000_000 == 0));
    let (all, sampled) = (10_000 * summary.flows.finished, numbers("delivered_bytes").sum::<u64>());
    // Bytes after the last sample are in no row.
    assert!(summary.flows.finished > 20 && sampled <= all && sampled > all / 2, "{sampled} of {all}");
}

/// Some of eight flows share spine 0 with an incast until the spine's link fails at 20 us. The
/// flows keep their role, so that their bytes do not move to another role.
#[test]
fn flows_keep_their_roles_after_a_reroute() {
    let flows = [(0, 2, ", data_via = [\"spine0\"]", 1), (1, 3, "", 8)].map(|(src, dst, options, count)| {
        let flow = format!("{{ src = \"h{src}\", dst = \"h{dst}\", bytes = \"500 KB\"{options} }}");
        vec![flow; count].join(", ")
    });
    let [incast, others] = &flows;
    let text = format!(
        "run = {{ until = \"1 ms\", drain = \"99 ms\" }}\nprobes = {{ goodput = true, sample_interval = \"10 us\" }}\n\
         topology = {{ kind = \"leaf-spine\", leaves = 2, spines = 2, hosts_per_leaf = 2 }}\n\
         network.reconvergence = \"10 us\"\n\
         faults = [{{ link = [\"leaf0\", \"spine0\"], down = \"20 us\", up = \"200 us\" }}]\n\
         traffic = [{{ kind = \"flows\", tag = \"incast\", role = \"incast\", flows = [{incast}] }}, {{ kind = \
             \"flows\", flows = [{others}] }}]\n"
    );
    let (summary, directory) = finished(plan_of(&text), 1);
    assert_eq!((summary.outcome, summary.flows.finished), (Outcome::Completed, 9));
    let sums = |table: &str| {
        let bytes = column(&directory, table, "delivered_bytes").into_iter().map(|cell| cell.parse::<u64>().unwrap());
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for (role, bytes) in column(&directory, table, "role").into_iter().zip(bytes) {
            *sums.entry(role).or_default() += bytes;
        }
        sums
    };
    assert_eq!((sums("goodput"), sums("flows").len()), (sums("flows"), 3));
}

#[test]
fn a_run_counts_its_own_cpu_time() {
    let (before, wall) = (crate::usage::cpu_seconds(), std::time::Instant::now());
    while crate::usage::cpu_seconds() < before + 0.1 {
        assert!(wall.elapsed().as_secs() < 60);
    }
    let before = crate::usage::cpu_seconds();
    let (summary, _) = finished(plan(20), 1);
    assert!(summary.cpu_seconds > 0.0 && summary.cpu_seconds <= crate::usage::cpu_seconds() - before);
}

/// The servers' ACKs delay relayed packets, so that PortFC loses packets despite its guarantee. A
/// pinned path of three switches ends the guarantee, and so no loss is a violation.
#[test]
fn every_run_of_a_plan_has_the_same_verdict() {
    let relayed = |src, server, switch| {
        format!(
            "{{ src = \"{src}\", dst = \"h1.1\", bytes = \"250 KB\", data_via = [\"{switch}\", \"{server}\", \"s1.1\"], \
                ack_via = [\"s0.1\", \"h1.0\", \"s1.0\"] }}"
        )
    };
    let text = |others: &str| {
        format!(
            "run.until = \"400 us\"\nnetwork.mtu = \"16 B\"\ncongestion_control.kind = \"none\"\n\
             topology = {{ kind = \"bcube\", n = 5, delay = \"10 ns\" }}\n\
             [switch]\nbuffer = \"100 KB\"\nflow_control = {{ kind = \"port-fc\" }}\n\
             headroom = {{ kind = \"static\", xoff = \"1 GB\", headroom = \"0 B\" }}\n\
             [[traffic]]\nkind = \"flows\"\nflows = [\n\
             {{ src = \"h3.1\", dst = \"h0.1\", bytes = \"125 KB\" }},\n\
             {{ src = \"h4.1\", dst = \"h2.1\", bytes = \"125 KB\" }},\n\
             {}, {}{others}]\n",
            relayed("h0.0", "h0.1", "s0.0"),
            relayed("h2.0", "h2.1", "s0.2")
        )
    };
    let detour = ", { src = \"h3.0\", dst = \"h4.0\", bytes = \"1 KB\", data_via = [\"h3.2\", \"h4.2\", \"s0.4\"] }";
    for (others, outcome) in [("", Outcome::Violation), (detour, Outcome::Completed)] {
        let plan = plan_of(&text(others));
        let summaries = [(); 2].map(|()| finished(plan.clone(), 1).0);
        assert_eq!(summaries.each_ref().map(|summary| summary.outcome), [outcome; 2]);
        assert_eq!(summaries[0].fingerprint, summaries[1].fingerprint);
        assert_eq!(summaries[0].totals.unpromised_drops, summaries[1].totals.unpromised_drops);
        assert_eq!(summaries[0].totals.unpromised_drops > 0, outcome == Outcome::Completed);
    }
}

#[test]
fn the_set_up_can_be_interrupted() {
    let directory = TempDir::new().unwrap();
    let start = |plan| interruptible(|| Err(()), || Run::start(plan, BUILD, directory.path(), 1));
    assert!(start(plan(1)).is_err());
}

/// Two jobs beside an endless flow.
const JOBS: &str = "run.until = \"jobs\"\ntopology = { kind = \"star\", hosts = 4 }\n\
    probes = { operations = true, flows = true }\ncongestion_control.kind = \"none\"\n\
    traffic = [{ kind = \"collective\", tag = \"ring\", operation = \"all-reduce\", bytes = \"400 KB\", repeat = 3, \
    warmup_iterations = 1, gap = \"5 us\" },\n\
    { kind = \"schedule\", tag = \"pair\", hosts = [\"h3\", \"h1\"], operations = [\
    { rank = 0, label = \"c\", compute = \"7 us\" }, { rank = 0, send = 1, bytes = \"10 KB\", after = [\"c\"] }, \
    { rank = 1, receive = 0 }] },\n\
    { kind = \"long-lived\", pairs = [[\"h0\", \"h2\"]] }]\n";

/// Returns a table of a result as text, one row per line.
fn rows(directory: &Path, table: &str) -> Vec<String> {
    let file = fs::File::open(directory.join(format!("{table}.parquet"))).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
}

#[test]
fn a_run_ends_with_its_jobs() {
    let plan = plan_of(JOBS);
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
    let (summary, directory) = finished(plan, 1);
    assert_eq!((summary.outcome, summary.flows.endless), (Outcome::Completed, 1));
    // Each of 4 ranks sends 6 messages in each of 3 iterations; the schedule has one message.
    assert_eq!(summary.flows.total, 4 * 6 * 3 + 1 + 1);
    let brief: Vec<_> = summary.jobs.iter().map(|job| (job.job.as_str(), job.iterations, job.finished)).collect();
    assert_eq!(brief, [("ring", 3, 3), ("pair", 1, 1)]);
    assert!(summary.jobs.iter().all(|job| job.operations_left == 0 && job.waiting.is_empty()));
    let jobs = rows(directory.path(), "jobs");
    assert_eq!(jobs.len(), 4);
    let measured = jobs.iter().filter(|row| row.contains("measured: true")).count();
    assert_eq!(measured, 3);
    // A begin of each iteration and of the end, and 12 messages with two operations each.
    assert_eq!(rows(directory.path(), "operations").len(), 4 * (3 * (1 + 12) + 1) + 3);
}

#[test]
fn jobs_have_equal_results_with_any_threads_and_stops() {
    let with = |threads: usize, stops: u64| {
        let directory = TempDir::new().unwrap();
        let mut run = Run::start(plan_of(JOBS), BUILD, directory.path(), threads).unwrap();
        run.events_between_checks = stops;
        while !run.advance(std::time::Duration::ZERO).done {}
        let (tables, mut summary) = contents(run);
        summary["effective"].as_object_mut().unwrap().remove("run.shards");
        (tables.into_values().collect::<Vec<_>>(), summary["fingerprint"].clone(), summary["jobs"].clone())
    };
    let expected = with(1, 1 << 20);
    for (threads, stops) in [(1, 7), (2, 1), (3, 100)] {
        assert_eq!(with(threads, stops), expected, "{threads} threads, stops after {stops} events");
    }
}

/// A run that ends with its jobs ends at the same time with any probes: at the first multiple of 10
/// us after the jobs have ended. Other traffic ends with it.
#[test]
fn the_end_of_jobs_depends_on_no_probe() {
    let with = |probes: &str| {
        let text = format!(
            "run.until = \"jobs\"\nprobes = {{ {probes} }}\ntopology = {{ kind = \"star\", hosts = 4 }}\ncongestion_control.kind = \
             \"none\"\ntraffic = [{{ kind = \"collective\", operation = \"all-reduce\", bytes = \"100 KB\" }}, {{ kind = \
             \"poisson\", load = 0.3, sizes = \"10 KB\" }}]\n"
        );
        let directory = TempDir::new().unwrap();
        let mut run = Run::start(plan_of(&text), BUILD, directory.path(), 1).unwrap();
        while !run.advance(std::time::Duration::MAX).done {}
        let summary = run.finish().unwrap();
        let end: u64 = column(&directory, "jobs", "end_ps")[0].parse().unwrap();
        assert_eq!(
            (summary.outcome, summary.simulated_ps),
            (Outcome::Completed, (end + 1).next_multiple_of(10_000_000))
        );
        (["flows", "jobs"].map(|table| rows(directory.path(), table)), summary.totals)
    };
    let expected = with("sample_interval = \"0 s\", deadlock_check = \"0 s\"");
    for probes in [
        "sample_interval = \"7 us\"",
        "sample_interval = \"100 us\", deadlock_check = \"3 us\"",
        "sample_interval = \"0 s\", deadlock_check = \"38 us\"",
    ] {
        assert!(with(probes) == expected, "{probes}");
    }
}

/// A job in a long computation is not complete, and a job that waits for ever stalls. The summary
/// names the operation that waits.
#[test]
fn jobs_in_a_gap_are_not_complete_and_stalled_jobs_are_named() {
    let of = |operations: &str| {
        finished(
            plan_of(&format!(
                "run = {{ until = \"10 us\", drain = \"2 s\" }}\ntopology = {{ kind = \"star\", hosts = 2 }}\n\
                 traffic = [{{ kind = \"schedule\", tag = \"job\", operations = [{operations}] }}]\n"
            )),
            1,
        )
    };
    let (summary, directory) = of("{ rank = 0, compute = \"1 s\" }");
    assert_eq!((summary.outcome, summary.jobs[0].finished), (Outcome::Completed, 1));
    assert!(rows(directory.path(), "jobs")[0].contains("time_ps: 1000000000000"));
    // Only the end of the computation tells apart a run from a shorter one.
    let (shorter, _) = of("{ rank = 0, compute = \"0.5 s\" }");
    assert_ne!(summary.fingerprint, shorter.fingerprint);
    let (summary, _) = of("{ rank = 0, compute = \"3 s\" }");
    assert_eq!(
        (summary.outcome, &*summary.jobs[0].waiting),
        (Outcome::TimeLimit, &["rank 0 runs operation 0, a computation of 3 s".to_owned()][..])
    );
    let (summary, _) = of("{ rank = 0, receive = -1, tag = 5 }, { rank = 1, send = 0, bytes = \"1 B\" }");
    assert_eq!((summary.outcome, summary.jobs[0].operations_left), (Outcome::Stalled, 1));
    assert_eq!(summary.jobs[0].waiting, ["rank 0 waits for operation 0, a receive from any rank with tag 5"]);
}

/// The rest of a job that the end of the run cuts off is announced before, and counted after the
/// run.
#[test]
fn nothing_is_cut_off_silently() {
    let warnings = |text: &str| -> Vec<String> {
        plan_of(text).warnings.iter().map(|it| format!("{}: {}", it.path, it.message)).collect()
    };
    let text = "run = { until = \"1 us\", drain = \"9 us\" }\ntopology = { kind = \"star\", hosts = 4 }\n\
        congestion_control.kind = \"none\"\n\
        traffic = [{ kind = \"collective\", operation = \"all-gather\", bytes = \"1 MB\" }]\n";
    assert_eq!(warnings(text), ["traffic[0]: takes at least 71 us, but the run ends at 10 us"]);
    let (summary, directory) = finished(plan_of(text), 1);
    assert_eq!((summary.outcome, summary.jobs[0].finished), (Outcome::TimeLimit, 0));
    assert_eq!((summary.jobs[0].operations_left > 0, summary.flows.undelivered_bytes > 0), (true, true));
    let waiting = &summary.jobs[0].waiting;
    assert_eq!(
        (waiting.len(), waiting[0].as_str()),
        (4, "86016 of 250000 B of message 0 of flow 0, from rank 0 to rank 1, have arrived")
    );
    assert!(rows(directory.path(), "jobs")[0].contains("finished_ranks: 0"));
    let bursts = "run.until = \"1 us\"\ntopology = { kind = \"star\", hosts = 4 }\n\
        traffic = [{ kind = \"moe\", groups = [\"h[0-3]\"], popularity = [1, 1, 1, 1], bytes = \"10 KB\", burst = \
        \"3 KB\", gap = \"400 ns\" }]\n";
    assert_eq!(
        warnings(bursts),
        ["traffic[0]: 1 of 4 bursts of each host would start at or after the end of the traffic (1 us) and are left \
            out"]
    );
    let (summary, _) = finished(plan_of(bursts), 1);
    assert_eq!((summary.flows.left_out, summary.flows.undelivered_bytes), (4, 4 * 1000));
    // What the part's own end cuts off is no loss.
    let ended =
        bursts.replace("run.until = \"1 us\"", "run.until = \"1 ms\"").replace("bytes =", "stop = \"1 us\", bytes =");
    assert_eq!(warnings(&ended), [""; 0]);
    let (summary, _) = finished(plan_of(&ended), 1);
    assert_eq!((summary.flows.left_out, summary.flows.undelivered_bytes), (0, 0));
    let job = ", { kind = \"collective\", operation = \"all-gather\", bytes = \"1 KB\" }]";
    let limited =
        bursts.replace("run.until = \"1 us\"", "run = { until = \"jobs\", limit = \"1 us\" }").replace("]\n", job);
    let hints: Vec<_> = plan_of(&limited).warnings.into_iter().map(|it| it.hint).collect();
    assert_eq!(hints[0].as_deref(), Some("set a later `run.limit`"));
    let large = bursts
        .replace("run.until = \"1 us\"", "run = { until = \"2 us\", drain = \"1 us\" }")
        .replace("\"10 KB\"", "\"100 KB\"")
        .replace("\"3 KB\"", "\"90 KB\"");
    let message =
        "traffic[0]: host \"h0\" needs at least 8.64 us to send its flows at 100 Gbps, but the run ends at 3 us";
    assert_eq!(warnings(&large), [message]);
    let pairs = "run = { until = \"1 us\", drain = \"1 us\" }\ntopology = { kind = \"star\", hosts = 4 }\n\
        traffic = [{ kind = \"all-to-all\", bytes = \"100 KB\" }]\n";
    let message =
        "traffic[0]: host \"h0\" needs at least 25.9 us to send its flows at 100 Gbps, but the run ends at 2 us";
    assert_eq!(warnings(pairs), [message]);
}
