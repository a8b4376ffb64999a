//! Broken scenarios and what is said about them: the whole message, with file, line, column, field,
//! value, limit and advice.

mod cases;

use self::cases::cases;
use backwater_scenario::{Document, Plan, Severity, explain};
use proptest::prelude::*;
use std::path::Path;

/// A scenario without fault; the cases break it.
const SOUND: &str = r#"name = "sound"

[run]
seed = 7
until = "1 ms"
warmup = "100 us"

[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_rate = "100 Gbps"
delay = "1 us"

[[faults]]
link = ["leaf0", "spine1"]
down = "200 us"
up = "300 us"

[network]
mtu = "1000 B"

[switch]
buffer = "16 MiB"
lossless = [3]
scheduler = { kind = "dwrr", quantum = "1600 B" }
flow_control = { kind = "pfc", quanta = 65535 }
headroom = { kind = "sih", alpha = 0.0625, private = "3 KB" }

[congestion_control]
kind = "dcqcn"
profile = "paper"
gain = 0.00390625

[probes]
pauses = true

[[traffic]]
kind = "poisson"
sizes = "websearch-dctcp"
load = 0.5

[[traffic]]
kind = "incast"
degree = 4
size = "64 KB"
receivers = "h0"
"#;

/// What is said about `text`.
fn messages(text: &str) -> Vec<String> {
    let result =
        Document::from_toml("s.toml", text).and_then(|document| Plan::from_document(&document, Path::new(".")));
    match result {
        Ok(plan) => plan.warnings.iter().map(ToString::to_string).collect(),
        Err(diagnostics) => {
            assert!(diagnostics.iter().any(|finding| finding.severity == Severity::Error), "{diagnostics:?}");
            diagnostics.iter().map(ToString::to_string).collect()
        }
    }
}

/// [`SOUND`] with the first `from` replaced by `to`. In a BCube, whose servers are called by
/// address, its traffic names another host.
fn broken(from: &str, to: &str) -> String {
    assert!(SOUND.contains(from), "{from}");
    let receiver = match to {
        _ if !to.contains("bcube") || to.contains("k = 0") => "receivers = \"h0\"",
        _ if to.contains("k = 2") => "receivers = \"h0.1.1\"",
        _ => "receivers = \"h1.1\"",
    };
    SOUND.replacen(from, to, 1).replace("receivers = \"h0\"", receiver)
}

#[test]
fn the_sound_scenario_is_sound() {
    assert_eq!(messages(SOUND), [""; 0]);
}

#[test]
fn every_broken_scenario_is_told_what_is_wrong() {
    let mut failures = Vec::new();
    for (from, to, expected) in cases() {
        let found = messages(&broken(from, to));
        if found != *expected {
            failures.push(format!("{from:?} -> {to:?}\n  expected {expected:#?}\n  found {found:#?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A trace of everything for a second: 12 links of 100 Gb/s, two directions each, 11.4 million
/// frames a direction, 6 events of each.
#[test]
fn a_large_trace_is_told_before_it_is_written() {
    let text = broken("pauses = true", "pauses = true\ntrace = {}").replace("until = \"1 ms\"", "until = \"1 s\"");
    let [said] = &messages(&text)[..] else { panic!("one message") };
    assert_eq!(
        said,
        "s.toml:38:9: warning: probes.trace: may record 1639 million events, 16.4 GB, if all traced links carry full packets \
         until 1 s; reduce it by from, until, nodes, ports or flows"
    );
    assert_eq!(messages(&text.replace("trace = {}", "trace = { until = \"100 us\" }")), [""; 0]);
    assert_eq!(messages(&text.replace("trace = {}", "trace = { flows = [3] }")), [""; 0]);
}

/// A clock that counts in whole nanoseconds makes frames too short, and short ones vanish.
#[test]
fn frames_that_the_clock_of_the_framing_cuts_short() {
    let said = |gbps: u32, mtu: u32| {
        let text =
            broken("host_rate = \"100 Gbps\"", &format!("host_rate = \"{gbps} Gbps\"\nuplink_rate = \"25 Gbps\""));
        let text = text.replace("mtu = \"1000 B\"", &format!("mtu = \"{mtu} B\"\nframing = \"hpcc-ns3\""));
        messages(&text.replace("profile = \"paper\"", ""))
    };
    let cut = |place: &str, what: &str, frame: &str, gbps: u32, times: &str| {
        format!("s.toml:{place}: {what}: {frame} on a link of {gbps} Gbps (\"h0\" to \"leaf0\"), but {times} less",)
    };
    let advice = |remedy: &str| format!("; framing = \"rocev2\" is exact; {remedy} are less inexact");
    let (framing, mtu) = ("24:11", "23:7");
    let lapsed = "; packets lost on such links do not violate the lossless guarantee";
    let odd = "warning: network.framing = \"hpcc-ns3\"";
    let (ack, short) = ("an ACK, 60 B, takes", "a data frame with 1 B, 49 B, takes");
    assert_eq!(
        said(100, 1000),
        [
            cut(
                mtu,
                "warning: network.mtu = \"1000 B\"",
                "a full data frame, 1048 B, takes 83.84 ns",
                100,
                "83 ns in this framing, 1.0 %"
            ),
            cut(framing, odd, &format!("{ack} 4.8 ns"), 100, "4 ns in this framing, 16.7 %"),
            cut(framing, odd, &format!("{short} 3.92 ns"), 100, "3 ns in this framing, 23.5 %"),
        ]
    );
    assert_eq!(said(100, 1002).len(), 2);
    // The fabric of the HPCC simulator's examples: nothing that comes in numbers takes no time.
    assert_eq!(
        said(400, 1002),
        [
            cut(framing, odd, &format!("{ack} 1.2 ns"), 400, "1 ns in this framing, 16.7 %"),
            cut(framing, odd, &format!("{short} 980 ps"), 400, "0 ps in this framing, 100.0 %") + lapsed,
            cut(framing, odd, "a PFC frame, 43 B, takes 860 ps", 400, "0 ps in this framing, 100.0 %") + lapsed,
            "s.toml:33:1: warning: congestion_control.ecn: the default thresholds, 100 KB and 400 KB, hold for ports of \
             25 to 100 Gb/s: at 400 Gbps, a slight overload stops flows; set ecn.rate = \"25 Gbps\", or take the profile \
             of the rate of host links, such as \"400g\""
                .into(),
        ]
    );
    // 51 B and 4.08 ns, 55 B and 4.4 ns, 56 B and 4.48 ns: 2, 9.1 and 10.7 %.
    for (payload, severity) in [(3, "warning"), (7, "warning"), (8, "error")] {
        let first = &said(100, payload)[0];
        assert!(first.contains(&format!("{severity}: network.mtu = \"{payload} B\"")), "{first}");
    }
    let refused = said(800, 16);
    let errors: Vec<_> = refused.iter().filter(|message| message.contains(": error: ")).collect();
    assert_eq!(
        errors,
        [
            &format!(
                "{}; at most 10 % are allowed{}",
                cut(
                    mtu,
                    "error: network.mtu = \"16 B\"",
                    "a full data frame, 64 B, takes 640 ps",
                    800,
                    "0 ps in this framing, 100.0 %"
                ),
                advice("larger frames or slower links")
            ),
            &format!(
                "{}{}",
                cut(
                    framing,
                    "error: network.framing = \"hpcc-ns3\"",
                    &format!("{ack} 600 ps"),
                    800,
                    "0 ps in this framing, 100.0 %"
                ),
                advice("slower links")
            ),
        ]
    );
}

/// Whether a congestion control does something at switches, and so at hosts that relay, is for its
/// congestion point to say.
#[test]
fn a_congestion_point_at_relays_that_does_nothing_is_told() {
    let said = |topology: &str, congestion_control: &str| {
        let text = broken(
            "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"",
            topology,
        )
        .replace(
            "[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"",
            "[host.relay]\ncongestion_point = true",
        )
        .replace("kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625", congestion_control);
        messages(&text)
    };
    let bcube = "kind = \"bcube\"\nn = 4";
    for name in ["none", "timely", "swift"] {
        let expected = format!(
            "s.toml:14:20: warning: host.relay.congestion_point = true: has no effect: {name} does nothing to packets that pass a switch"
        );
        let said = said(bcube, &format!("kind = \"{name}\""));
        assert!(said.contains(&expected), "{said:?}");
    }
    for name in ["dcqcn", "hpcc", "power-tcp"] {
        assert_eq!(said(bcube, &format!("kind = \"{name}\"")), [""; 0], "{name}");
    }
    // Where no host relays, that is what is said.
    assert_eq!(
        said("kind = \"bcube\"\nn = 4\nk = 0", "kind = \"none\""),
        ["s.toml:14:1: warning: host.relay: has no effect: no host of this topology relays"]
    );
}

/// What is said of a load balancer with edges beside a flow control.
fn edges_under(flow_control: &str, load_balance: &str) -> Vec<String> {
    messages(&format!(
        "recovery.kind = \"in-any-order\"\nload_balance = {{ {load_balance} }}\ncongestion_control.kind = \"none\"\n\
         switch = {{ flow_control.kind = \"{flow_control}\", headroom = {{ kind = \"static\", xoff = \"16 MiB\", headroom = \"0 B\" }} }}\n\
         topology = {{ kind = \"leaf-spine\", leaves = 2, spines = 2, hosts_per_leaf = 2 }}\n\
         traffic = [{{ kind = \"permutation\", sizes = \"10 KB\" }}]"
    ))
}

/// Under Pyrrha congested flows are released by time-out alone.
#[test]
fn flb_under_pyrrha_is_told() {
    let said = |flow_control| edges_under(flow_control, "kind = \"flb\"");
    let told = "releases flows by time-out alone that are congested in queues of pyrrha's own";
    assert!(said("pyrrha").iter().any(|message| message.contains(told)), "{:?}", said("pyrrha"));
    assert!(!said("pfc").iter().any(|message| message.contains(told)));
}

/// Edges look at the queues of classes.
#[test]
fn edges_that_do_not_see_queues_are_told_of() {
    let is_told = |flow_control, load_balance| {
        let found = edges_under(flow_control, load_balance);
        found.iter().any(|message| message.contains("sees neither what waits at an edge's own uplinks"))
    };
    for load_balance in ["kind = \"flb\"", "kind = \"proteus\""] {
        assert!(is_told("bfc", load_balance) && is_told("per-flow", load_balance) && !is_told("pfc", load_balance));
    }
    assert!(!is_told("bfc", "kind = \"flb\", stamp = \"arrival\""));
}

/// Whether a load balancer other than ECMP has anything to choose from.
#[test]
fn a_load_balancer_without_a_choice_is_told() {
    let is_told = |topology: &str, more: &str| {
        let text = format!(
            "recovery.kind = \"in-any-order\"\n{more}\ntopology = {{ {topology} }}\n\
             traffic = [{{ kind = \"permutation\", sizes = \"10 KB\" }}]"
        );
        let found = messages(&text);
        let told = "has no effect: no switch has a choice of ports on the shortest paths between hosts";
        assert!(found.iter().all(|message| message.contains(told)), "{topology}: {found:?}");
        !found.is_empty()
    };
    let [ecmp, spray] = ["ecmp", "spray"].map(|kind| format!("load_balance.kind = \"{kind}\""));
    for (topology, expected) in [
        ("kind = \"star\", hosts = 4", true),
        ("kind = \"dumbbell\", left = 2, right = 2", true),
        ("kind = \"dumbbell\", left = 2, right = 2, trunks = 2", false),
        ("kind = \"dumbbell\", left = 2, right = 2, trunks = 2, failed_links = [[\"left\", \"right\"]]", true),
        ("kind = \"leaf-spine\", leaves = 1, spines = 4, hosts_per_leaf = 4", true),
        ("kind = \"leaf-spine\", leaves = 2, spines = 1, hosts_per_leaf = 4", true),
        ("kind = \"leaf-spine\", leaves = 2, spines = 2, hosts_per_leaf = 4", false),
        ("kind = \"fat-tree\", k = 2", true),
        ("kind = \"fat-tree\", k = 4", false),
        // Of two hops, the first is the host's own; of three, the relay behind it has two.
        ("kind = \"bcube\", n = 2, k = 1", true),
        ("kind = \"bcube\", n = 2, k = 2", false),
    ] {
        assert_eq!((is_told(topology, &ecmp), is_told(topology, &spray)), (false, expected), "{topology}");
    }
    // Routes that are computed anew may have choices.
    let dumbbell = "kind = \"dumbbell\", left = 1, right = 1";
    let fault =
        "network.reconvergence = \"1 us\"\nfaults = [{ link = [\"left\", \"right\"], down = \"1 us\", up = \"9 us\" }]";
    assert!(!is_told(dumbbell, &format!("{spray}\n{fault}")));
}

#[test]
fn an_empty_file_lacks_what_it_needs() {
    assert_eq!(
        messages(""),
        [
            "s.toml:1:1: error: topology: is missing; write for example topology = { kind = \"star\" }",
            "s.toml:1:1: error: traffic: is missing; write for example [[traffic]] with kind = \"poisson\""
        ]
    );
}

#[test]
fn all_errors_of_a_file_come_at_once() {
    let text = SOUND
        .replace("pauses = true", "pausses = true")
        .replace("spine1", "spine9")
        .replace("alpha = 0.0625", "alpha = true")
        .replace("kind = \"pfc\"", "kind = \"pfcc\"")
        .replace("load = 0.5", "load = 5")
        .replace("receivers = \"h0\"", "receivers = [\"h0\", \"g1\"]");
    assert_eq!(
        messages(&text),
        [
            "s.toml:17:18: error: faults[0].link[1] = \"spine9\": there is no such node; did you mean \"spine0\"?",
            "s.toml:28:25: error: switch.flow_control.kind = \"pfcc\": unknown name; did you mean \"pfc\"? (allowed: none, pfc, bfc, per-flow, pyrrha, pfc-star, port-fc)",
            "s.toml:29:36: error: switch.headroom.alpha = true: must be a number from 0 to 64",
            "s.toml:37:1: error: probes.pausses: unknown key; did you mean \"pauses\"? (allowed: sample_interval, queues, pauses, ingress, goodput, paths, flows, trace, deadlock_check, vulnerable_share)",
            "s.toml:42:8: error: traffic[0].load = 5: must be from 0 to 1",
            "s.toml:48:20: error: traffic[1].receivers[1] = \"g1\": there is no host \"g1\""
        ]
    );
}

/// Sections that are sound are checked even where others are broken, but nothing is said that may
/// follow from what is broken.
#[test]
fn sound_sections_are_checked_beside_broken_ones() {
    let text = broken("until = \"1 ms\"", "until = \"1 ms\"\nshard = 2").replace("\"spine1\"", "\"spine9\"");
    assert_eq!(
        messages(&text),
        [
            "s.toml:6:1: error: run.shard: unknown key; did you mean \"shards\"? (allowed: seed, until, warmup, drain, shards)",
            "s.toml:18:18: error: faults[0].link[1] = \"spine9\": there is no such node; did you mean \"spine0\"?"
        ]
    );
    let text = broken("leaves = 2", "leafs = 2").replace("\"spine1\"", "\"spine9\"").replace("\"h0\"", "\"h99\"");
    assert_eq!(
        messages(&text),
        [
            "s.toml:8:1: error: topology.leaves: is missing",
            "s.toml:10:1: error: topology.leafs: unknown key; did you mean \"leaves\"? (allowed: kind, leaves, spines, hosts_per_leaf, host_rate, uplink_rate, delay, host_delay, uplink_delay, parallel_links, error_rate, changed_links, failed_links, failed_nodes)"
        ]
    );
}

#[test]
fn values_from_the_command_line_and_from_data_are_named_as_such() {
    let mut document = Document::from_toml("s.toml", SOUND).expect("a sound text");
    for assignment in ["traffic.0.load=2", "faults.0.up=100 us", "run.sed=3"] {
        document.set(assignment).expect("an assignment");
    }
    let diagnostics = |document: &Document| -> Vec<String> {
        Plan::from_document(document, Path::new("."))
            .expect_err("a broken scenario")
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    assert_eq!(
        diagnostics(&document),
        [
            "--set: error: run.sed: unknown key; did you mean \"seed\"? (allowed: seed, until, warmup, drain, shards)",
            "--set: error: traffic[0].load = 2: must be from 0 to 1",
            "--set: error: faults[0].up = \"100 us\": must be after the link goes down, at 200 us"
        ]
    );
    let mut document = Document::from_toml("s.toml", SOUND).expect("a sound text");
    for assignment in [
        "run.seed=18446744073709551616",
        "run.until=5",
        "run.warmup=1 parsec",
        "host.ack_every=4294967296",
        "traffic.0.load=half",
        "traffic.1.degree=0.5",
    ] {
        document.set(assignment).expect("an assignment");
    }
    assert_eq!(
        diagnostics(&document),
        [
            "--set: error: run.seed = \"18446744073709551616\": must be from 0 to 18446744073709551615",
            "--set: error: run.until = 5: must be a number with a unit; write \"5 us\"",
            "--set: error: run.warmup = \"1 parsec\": \"parsec\" is not a unit; allowed: ps, ns, us, ms, s",
            "--set: error: traffic[0].load = \"half\": must be a number from 0 to 1",
            "--set: error: traffic[1].degree = 0.5: must be a whole number, at least 1",
            "--set: error: host.ack_every = 4294967296: must be from 1 to 4294967295",
        ]
    );
    let data = serde_json::json!({ "topology": { "kind": "star", "hosts": 4.5 }, "traffic": [] });
    assert_eq!(
        diagnostics(&Document::from_json(&data)),
        [
            "error: topology.hosts = 4.5: must be a whole number, at least 1",
            "error: traffic: must have at least 1 entry, has 0"
        ]
    );
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let missing = Document::read(Path::new("nowhere/s.toml")).expect_err("a missing file");
    assert_eq!(missing[0].to_string(), "nowhere/s.toml: error: cannot be read: No such file or directory (os error 2)");
    let path = std::env::temp_dir().join(format!("backwater-bad-input-{}.toml", std::process::id()));
    std::fs::write(&path, b"name = \"\xff\"").expect("a writable directory");
    let garbled = Document::read(&path).expect_err("not UTF-8");
    std::fs::remove_file(&path).expect("the file just written");
    assert_eq!(garbled[0].to_string(), format!("{}:1:9: error: is not UTF-8 text", path.display()));
}

/// Any text is a plan or a list of errors.
fn survives(text: &str) {
    if let Ok(document) = Document::from_toml("s.toml", text) {
        match Plan::from_document(&document, Path::new(".")) {
            Ok(plan) => assert!(!explain(&document, &plan).is_empty()),
            Err(diagnostics) => assert!(diagnostics.iter().all(|finding| !finding.to_string().is_empty())),
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        survives(&text);
    }

    /// A cut anywhere, and a token of the language in its place.
    #[test]
    fn no_mutation_makes_it_panic(
        from in 0..SOUND.len(),
        length in 0usize..40,
        token in prop::sample::select(vec![
            "", "0", "-1", "1e308", "\"", "\"0 s\"", "\"1 B\"", "\"1000000 s\"", "\"1000 GB\"", "[]", "{}", "[[", "]", "=", "\n", "kind", "true",
            "18446744073709551615", "\"h1\"", "\"*\"", ".", "#", "\u{e9}",
        ]),
    ) {
        let mut text = SOUND.to_string();
        text.replace_range(from..(from + length).min(SOUND.len()), token);
        survives(&text);
    }
}
