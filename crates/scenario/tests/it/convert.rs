//! Conversion of input files of the HPCC ns-3 simulator and its relatives.

use backwater_fabric::mechanisms::congestion::CongestionConfig;
use backwater_fabric::mechanisms::congestion::none::{NoneConfig, Window};
use backwater_scenario::hpcc::{Converted, convert};
use backwater_scenario::{Document, Plan, Scenario};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/hpcc");

/// Creates an empty directory for a test.
fn scratch(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

fn scenario(converted: &Converted) -> Scenario {
    let document = Document::from_toml("converted.toml", &converted.toml).unwrap();
    Scenario::from_document(&document).unwrap()
}

/// Converts the sample with replaced topology, flows or configuration.
fn altered(
    name: &str,
    topology: Option<&str>,
    flows: Option<&str>,
    config: impl Fn(String) -> String,
) -> Result<Converted, String> {
    let directory = scratch(name);
    let sample = |file: &str| fs::read_to_string(Path::new(SAMPLE).join(file)).unwrap();
    let write = |file: &str, text: String| fs::write(directory.join(file), text).unwrap();
    write("topology.txt", topology.map_or_else(|| sample("topology.txt"), String::from));
    write("flow.txt", flows.map_or_else(|| sample("flow.txt"), String::from));
    write("config.txt", config(sample("config.txt")));
    let [topology, flows, config] = ["topology.txt", "flow.txt", "config.txt"].map(|file| directory.join(file));
    convert(&topology, &flows, Some(&config), &directory).map_err(|errors| {
        let here = format!("{}/", directory.display());
        errors
            .iter()
            .map(|error| error.to_string().replace(&here, "").replace(": error: ", ": "))
            .collect::<Vec<_>>()
            .join("\n")
    })
}

#[test]
fn the_sample_becomes_the_golden_scenario() {
    let [topology, flows, config] = ["topology.txt", "flow.txt", "config.txt"].map(|file| Path::new(SAMPLE).join(file));
    let converted = convert(&topology, &flows, Some(&config), Path::new(SAMPLE)).unwrap();
    let here = format!("{SAMPLE}/");
    assert_eq!(converted.toml.replace(&here, ""), include_str!("../data/hpcc/scenario.toml"));
    scenario(&converted);
}

/// Files of the Pyrrha simulator become a scenario that can be planned.
#[test]
fn files_of_the_pyrrha_simulator_can_be_planned() {
    let directory = Path::new(SAMPLE).join("../pyrrha");
    let [topology, flows] = ["topology.txt", "flows.txt"].map(|file| directory.join(file));
    let converted = convert(&topology, &flows, None, &directory).unwrap();
    let document = Document::from_toml("converted.toml", &converted.toml).unwrap();
    let plan = Plan::from_document(&document, &directory).unwrap();
    let starts: Vec<_> = plan.traffic.flows().map(|flow| flow.start.ps()).collect();
    assert_eq!(starts, [99_000, 1_000_000, 1_000_000]);
    assert_eq!(plan.spec().links.iter().map(|link| link.rate.bps()).max(), Some(400_000_000_000));
}

#[test]
fn paths_are_relative_to_the_scenarios_folder() {
    let directory = scratch("paths").join("a/b");
    fs::create_dir_all(&directory).unwrap();
    let file = |name| directory.join("../..").join(name);
    for name in ["topology.txt", "flow.txt"] {
        fs::copy(Path::new(SAMPLE).join(name), file(name)).unwrap();
    }
    let converted = convert(&file("topology.txt"), &file("flow.txt"), None, &directory).unwrap();
    assert!(converted.toml.contains("path = \"../../topology.txt\""), "{}", converted.toml);
    scenario(&converted).topology.build(&directory).unwrap();
}

#[test]
fn cc_mode_and_enable_qcn_determine_the_congestion_control() {
    let with = |name: &str, mode: &str, qcn: &str| {
        let config = |text: String| text.replace("CC_MODE 1", mode).replace("ENABLE_QCN 1", qcn);
        scenario(&altered(name, None, None, config).unwrap()).congestion_control
    };
    assert!(matches!(with("dcqcn", "CC_MODE 1", "ENABLE_QCN 1"), CongestionConfig::Dcqcn(_)));
    let windowed = NoneConfig { window: Some(Window::Bdp) };
    assert!(matches!(with("none", "CC_MODE 1", "ENABLE_QCN 0"), CongestionConfig::None(none) if none == windowed));
    assert!(matches!(with("hpcc", "CC_MODE 3", "ENABLE_QCN 0"), CongestionConfig::Hpcc(_)));
    assert!(matches!(with("timely", "CC_MODE 7", "ENABLE_QCN 1"), CongestionConfig::Timely(timely) if timely.window));
}

#[test]
fn flows_before_two_seconds_keep_their_times() {
    let converted = altered("early", None, Some("1\n0 2 3 100 10 0.5\n"), |text| text).unwrap();
    assert!(converted.toml.contains("offset = \"0 s\""), "{}", converted.toml);
    assert!(converted.toml.contains("until = \"500.001 ms\""), "{}", converted.toml);
}

#[test]
fn notes_name_every_loss_of_information() {
    let config = |text: String| {
        text.replace("400000000000 6400", "400000000000 1600")
            .replace("L2_BACK_TO_ZERO 0", "L2_BACK_TO_ZERO 1")
            .replace("2.50", "2.000011")
    };
    let notes = altered("notes", None, Some("3\n0 2 3 100 9 2\n1 2 0 100 9 2\n2 0 4 100 9 2.5\n"), config)
        .unwrap()
        .notes
        .join("\n");
    for expected in [
        "left out 1 flow with a start at or after SIMULATOR_STOP_TIME",
        "priority group 0 is the control class in Backwater",
        "several priority groups",
        "links differ: every port has the largest headroom that any port needs, 150 KB",
        "L2_BACK_TO_ZERO 1 is not supported",
        "GLOBAL_T 0 is not supported",
        "a scenario cannot express how KMIN_MAP, KMAX_MAP and PMAX_MAP depend on the link rate: all rates use the \
            entries of 100 Gbps, with Kmin and Kmax in proportion to the rate",
        "ignored keys, which have no effect in Backwater: TOPOLOGY_FILE, FLOW_FILE, FCT_OUTPUT_FILE, DCTCP_RATE_AI, \
            L2_CHUNK_SIZE",
        "the text from line 13 on is ignored",
    ] {
        assert!(notes.contains(expected), "{expected} in\n{notes}");
    }
}

#[test]
fn errors_in_configurations_have_positions() {
    let table = [
        (
            "CC_MODE 1",
            "CC_MODE 0",
            "config.txt:12:9: CC_MODE 0 is not supported; expected 1 (DCQCN), 3 (HPCC) or 7 (TIMELY)",
        ),
        (
            "CC_MODE 1",
            "CC_MODE 8",
            "config.txt:12:9: CC_MODE 8 (DCTCP) is not supported; expected 1 (DCQCN), 3 (HPCC) or 7 (TIMELY)",
        ),
        (
            "CC_MODE 1",
            "CC_MODE 10",
            "config.txt:12:9: CC_MODE 10 (HPCC-PINT) is not supported; expected 1 (DCQCN), 3 (HPCC) or 7 (TIMELY)",
        ),
        ("CC_MODE 1", "CC_MODE", "config.txt:12:1: CC_MODE takes one value; found 0"),
        ("CC_MODE 1", "CC_MODE 1 3", "config.txt:12:1: CC_MODE takes one value; found 2"),
        ("CC_MODE 1", "CC_MODE 1\nCC_MODE 3", "config.txt:13:1: CC_MODE is already set in line 12"),
        (
            "RATE_AI 50Mb/s",
            "RATE_AI fast",
            "config.txt:19:9: \"fast\" is not a number; expected RATE_AI, a bit rate such as 40Mb/s",
        ),
        (
            "EWMA_GAIN 0.00390625",
            "EWMA_GAIN nan",
            "config.txt:17:11: \"nan\" is not a number; expected EWMA_GAIN, a number from 0 to 1",
        ),
        (
            "ERROR_RATE_PER_LINK 0.0001",
            "ERROR_RATE_PER_LINK 2",
            "config.txt:24:21: \"2\" is out of range; expected ERROR_RATE_PER_LINK, a number from 0 to 1",
        ),
        (
            "RP_TIMER 900",
            "RP_TIMER -900",
            "config.txt:16:10: \"-900\" is negative; expected RP_TIMER, a number of microseconds",
        ),
        (
            "HAS_WIN 1",
            "HAS_WIN yes",
            "config.txt:29:9: \"yes\" is not a number; expected HAS_WIN, a whole number from 0 to 1",
        ),
        (
            "BUFFER_SIZE 32",
            "BUFFER_SIZE 0",
            "config.txt:39:13: \"0\" is out of range; expected BUFFER_SIZE, a whole number from 1 to 1048576",
        ),
        (
            "KMIN_MAP 3",
            "KMIN_MAP 2",
            "config.txt:37:1: KMIN_MAP announces 2 pairs of rate and value, but 6 values follow",
        ),
        (
            "KMIN_MAP 3 25000000000 100 100000000000 400 400000000000 1600",
            "KMIN_MAP",
            "config.txt:37:1: KMIN_MAP has no value; expected a count, then that many pairs of rate and value",
        ),
        ("400000000000 6400", "40000000000 6400", "config.txt:36:10: KMAX_MAP has no entry for the link rate 400 Gbps"),
        ("100000000000 400 4", "100000000000 1700 4", "config.txt:37:10: Kmin 1700 KB is above Kmax 1600 KB"),
        (
            "LINK_DOWN 100 5 7",
            "LINK_DOWN 100 5",
            "config.txt:34:1: LINK_DOWN takes three values, <us> <node> <node>; found 2",
        ),
        ("LINK_DOWN 100 5 7", "LINK_DOWN 100 0 1", "config.txt:34:11: there is no link between the nodes 0 and 1"),
        ("BUFFER_SIZE 32", "LB_MODE 9", "config.txt:39:9: LB_MODE 9 is not supported; expected 0 (ECMP)"),
        ("BUFFER_SIZE 32", "ENABLE_IRN 1", "config.txt:39:12: IRN is not supported; expected 0"),
    ];
    for (from, to, expected) in table {
        assert_eq!(altered("config", None, None, |text| text.replace(from, to)).unwrap_err(), expected, "{to}");
    }
}

#[test]
fn errors_of_topology_and_flows_are_reported_together() {
    assert_eq!(
        altered("both", Some("2 1 9"), Some("1\n0 0 3 100 0 2"), |text| text).unwrap_err(),
        "topology.txt:2:1: the header announces 1 switch number, but the file ends after 0\n\
         flow.txt:2:3: host 0 cannot send to itself\n\
         flow.txt:2:11: \"0\" is out of range; expected a size in bytes, a whole number from 1 to 18446744073709551614"
    );
    assert_eq!(
        altered("unreachable", Some("3 1 2\n2\n0 2 1Gbps 1us 0\n0 2 1Gbps 1us 0"), None, |text| text).unwrap_err(),
        "topology.txt:1:1: host \"h1\" has no link"
    );
    assert_eq!(
        altered("hosts", None, Some("1\n0 4 3 100 9 2"), |text| text).unwrap_err(),
        "flow.txt:2:1: the destination 4 is a switch, not a host"
    );
}

/// Converts the reference inputs of the HPCC simulator beside the repository, if present.
#[test]
fn reference_inputs_convert() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/calibration");
    let Ok(cases) = fs::read_dir(&root) else {
        // `eprintln!` would be captured and shown only if the test fails.
        writeln!(std::io::stderr(), "skipped: {} does not exist", root.display()).unwrap();
        return;
    };
    // The incast mix of Pyrrha's simulator is compressed; its own test reads it.
    let cases = cases.map(|case| case.unwrap().path());
    let cases: Vec<_> = cases.filter(|case| case.join("config.txt").is_file()).collect();
    assert!(!cases.is_empty());
    for case in cases {
        let [topology, flows, config] = ["topology.txt", "flow.txt", "config.txt"].map(|file| case.join(file));
        let converted = convert(&topology, &flows, Some(&config), &case).unwrap();
        let scenario = scenario(&converted);
        scenario.topology.build(&case).unwrap();
        assert_eq!(scenario.switch.lossless.len(), 1);
        let name = case.file_name().unwrap().to_str().unwrap();
        let expected = ["none", "step", "dcqcn", "hpcc"].iter().find(|kind| name.ends_with(*kind)).unwrap();
        let expected = if *expected == "step" { "dcqcn" } else { expected };
        assert_eq!(scenario.congestion_control.name(), expected, "{name}");
        assert!(converted.notes.iter().all(|note| note.starts_with("ignored keys")), "{:?}", converted.notes);
    }
}
