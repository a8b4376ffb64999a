//! Equal runs write equal tables, whatever slices of wall time, threads, shards and probes are
//! used.

use crate::common;
use crate::common::random::{Case, any_case};
use backwater_engine::{Duration, Time};
use backwater_fabric::driver::trace::TraceSpec;
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::spec::{FlowSpec, LinkFault, LinkSpec, NetworkSpec};
use backwater_runner::{Build, Run};
use backwater_scenario::{Document, NetworkConfig, Plan, ProbesConfig, Scenario};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Row;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use temp_dir::TempDir;

const BUILD: Build = Build { version: "0", commit: "unknown", profile: "debug", source: "0" };

/// Returns a plan of a scenario with the network and flows of `case`, if its options suit each
/// other. Every third flow is part of an incast. A last flow starts after all links are up. The
/// reason is that a run ends with the first tick after its last flow, and ticks depend on samples.
fn plan(case: &Case) -> Option<Plan> {
    let name = |node: NodeId| case.spec.nodes[node].name.clone();
    let (hosts, switches): (Vec<_>, Vec<_>) =
        case.spec.nodes.ids().partition(|node| case.spec.nodes[*node].kind.has_endpoint());
    let names = |nodes: Vec<NodeId>| nodes.into_iter().map(name).collect::<Vec<String>>();
    let link = |link: &LinkSpec| {
        json!({
            "a": name(link.a),
            "b": name(link.b),
            "rate": format!("{} bps", link.rate.bps()),
            "delay": format!("{} ps", link.delay.ps()),
            "error_rate": link.error_rate,
        })
    };
    let fault = |fault: &LinkFault| {
        let LinkSpec { a, b, .. } = case.spec.links[fault.link];
        let parallel = case.spec.links[..fault.link].iter().filter(|link| (link.a, link.b) == (a, b)).count();
        json!({
            "link": [name(a), name(b)],
            "parallel": parallel,
            "down": format!("{} ps", fault.down.ps()),
            "up": format!("{} ps", fault.up.ps()),
        })
    };
    let flow = |flow: &FlowSpec| {
        json!({
            "src": name(flow.src),
            "dst": name(flow.dst),
            "bytes": format!("{} B", flow.bytes),
            "class": flow.class.0,
            "start": format!("{} ps", flow.start.ps()),
        })
    };
    let last = FlowSpec { bytes: 1, start: Time::ZERO + Duration::from_us(900), ..case.flows[0].clone() };
    let every = |step: usize| case.flows.iter().step_by(step).map(flow).collect::<Vec<Value>>();
    let scenario = json!({
        "run": { "until": "1 ms", "drain": "4 ms" },
        "topology": {
            "kind": "custom",
            "hosts": names(hosts),
            "switches": names(switches),
            "links": case.spec.links.iter().map(link).collect::<Vec<Value>>(),
        },
        "faults": case.spec.faults.iter().map(fault).collect::<Vec<Value>>(),
        "traffic": [
            { "kind": "flows", "tag": "all", "flows": every(1) },
            { "kind": "flows", "tag": "incast", "role": "incast", "flows": every(3) },
            { "kind": "flows", "tag": "last", "flows": [flow(&last)] },
        ],
    });
    let mut scenario = Scenario::from_document(&Document::from_json(&scenario)).unwrap();
    let NetworkSpec { framing, mtu, reconvergence, .. } = case.spec;
    scenario.network = NetworkConfig { framing, mtu, reconvergence, ..scenario.network };
    scenario.run.seed = case.spec.seed;
    scenario.switch = case.spec.switch.clone();
    scenario.host = case.spec.host.clone();
    scenario.congestion_control = case.spec.congestion.clone();
    scenario.load_balance = case.spec.load_balance.clone();
    scenario.recovery = case.spec.recovery.clone();
    let plan = Plan::new(&scenario, Path::new(".")).ok()?;
    assert_eq!((&plan.spec().links, &plan.spec().faults), (&case.spec.links, &case.spec.faults));
    Some(plan)
}

/// Draws plans of any network.
fn plans() -> impl Strategy<Value = Plan> {
    any_case().prop_filter_map("options that do not suit each other", |case| plan(&case))
}

/// Options of probes, and traced events.
type Probes = (ProbesConfig, Option<TraceSpec>);

/// Generates any probes, with the default deadlock check, which may end a run.
fn probes() -> impl Strategy<Value = Probes> {
    let interval = select(vec![0u64, 7_000, 230_000]).prop_map(Duration::from_ns);
    let trace = prop::option::of(Just(TraceSpec::ALL));
    (interval, any::<[bool; 6]>(), trace).prop_map(|(sample_interval, what, trace)| {
        let [queues, pauses, ingress, goodput, paths, flows] = what;
        let probes =
            ProbesConfig { sample_interval, queues, pauses, ingress, goodput, paths, flows, ..Default::default() };
        (probes, trace)
    })
}

/// Runs `plan` in slices of `wall` and writes its tables.
pub(crate) fn written(plan: &Plan, threads: usize, shards: Option<u32>, wall: std::time::Duration) -> TempDir {
    let mut plan = plan.clone();
    plan.run.shards = shards;
    let directory = TempDir::new().unwrap();
    let mut run = Run::start(plan, BUILD, directory.path(), threads).unwrap();
    while !run.advance(wall).done {}
    run.finish().unwrap();
    directory
}

/// Returns the contents of all tables by name.
fn contents(directory: &TempDir) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().path());
    let tables = files.filter(|file| file.extension().is_some_and(|extension| extension == "parquet"));
    tables.map(|file| (file.file_stem().unwrap().display().to_string(), fs::read(file).unwrap())).collect()
}

/// Returns the rows of a table.
pub(crate) fn rows_of(directory: &TempDir, table: &str) -> Vec<Row> {
    let file = fs::File::open(directory.path().join(format!("{table}.parquet"))).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    reader.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect()
}

/// Returns the rows of a table as sorted text, without the `hidden` columns and without stops whose
/// window lasts until `end` or longer.
fn words_of(directory: &TempDir, table: &str, hidden: &[&str], end: i64) -> Vec<String> {
    let words = |row: &Row| -> String {
        let shown = row.get_column_iter().filter(|(name, _)| !hidden.contains(&name.as_str()));
        shown.map(|(name, cell)| format!("{name} {cell}, ")).collect()
    };
    let time = |row: &Row, column: &str| cell(row, column).parse::<i64>().unwrap();
    let is_complete = |row: &Row| table != "stops" || time(row, "start_ps") + time(row, "window_ps") < end;
    let rows = rows_of(directory, table);
    let mut words: Vec<String> = rows.iter().filter(|row| is_complete(row)).map(words).collect();
    words.sort_unstable();
    words
}

/// Returns the end of a run.
fn end_of(directory: &TempDir) -> i64 {
    let summary: Value = serde_json::from_slice(&fs::read(directory.path().join("run.json")).unwrap()).unwrap();
    summary["simulated_ps"].as_i64().unwrap()
}

/// Returns a cell as text.
pub(crate) fn cell(row: &Row, column: &str) -> String {
    row.get_column_iter().find(|(name, _)| *name == column).map(|(_, cell)| cell.to_string()).unwrap()
}

/// Returns the cells of a column of `flows.parquet` as text, in order of start.
pub(crate) fn cells_of(directory: &TempDir, column: &str) -> Vec<String> {
    let rows = rows_of(directory, "flows");
    let cells: BTreeMap<u32, String> =
        rows.iter().map(|row| (cell(row, "id").parse().unwrap(), cell(row, column))).collect();
    cells.into_values().collect()
}

/// Returns the times of a column of `flows.parquet`, in order of start.
pub(crate) fn times_of(directory: &TempDir, column: &str) -> Vec<i64> {
    cells_of(directory, column).iter().map(|cell| cell.parse().unwrap()).collect()
}

/// Wall time longer than any run.
pub(crate) const AT_ONCE: std::time::Duration = std::time::Duration::from_secs(3600);

proptest! {
    #![proptest_config(common::cases(60))]

    #[test]
    fn slices_threads_and_shards_change_no_table(mut plan in plans(), probes in probes()) {
        (plan.probes, plan.trace) = probes;
        let expected = contents(&written(&plan, 1, None, AT_ONCE));
        let zero = std::time::Duration::ZERO;
        for (threads, shards, wall) in
            [(1, None, zero), (1, Some(3), zero), (2, None, AT_ONCE), (2, Some(7), zero), (3, Some(5), AT_ONCE)]
        {
            let found = contents(&written(&plan, threads, shards, wall));
            let differ: Vec<_> = expected.keys().filter(|name| found[*name] != expected[*name]).collect();
            prop_assert!(differ.is_empty(), "{threads} threads, {shards:?} shards, {wall:?}: {differ:?}");
        }
    }

    /// With `probes.flows`, more flows have a path. The samples determine the end of a run, which
    /// cuts off windows.
    #[test]
    fn probes_change_no_row_of_another(plan in plans(), one in probes(), other in probes()) {
        let record = |what: fn(&Probes) -> bool| what(&one) && what(&other);
        let tables = [
            ("flows", true),
            ("switches", true),
            ("reordering", true),
            ("pauses", record(|(probes, _)| probes.pauses)),
            ("full_queues", record(|(probes, _)| probes.pauses)),
            ("stops", record(|(probes, _)| probes.ingress)),
            ("headroom", record(|(probes, _)| probes.ingress)),
            ("waits", record(|(probes, _)| probes.flows)),
            ("events", record(|(_, trace)| trace.is_some())),
        ];
        let hidden: &[&str] = if one.0.flows == other.0.flows { &[] } else { &["path"] };
        let [one, other] = [one, other].map(|(probes, trace)| {
            let mut plan = plan.clone();
            (plan.probes, plan.trace) = (probes, trace);
            written(&plan, 1, None, AT_ONCE)
        });
        let end = end_of(&one).min(end_of(&other));
        for (table, _) in tables.into_iter().filter(|(_, is_recorded)| *is_recorded) {
            let [one, other] = [&one, &other].map(|directory| words_of(directory, table, hidden, end));
            let first = one.iter().zip(&other).find(|(one, other)| one != other);
            prop_assert_eq!((one.len(), first), (other.len(), None), "{}", table);
        }
    }
}
