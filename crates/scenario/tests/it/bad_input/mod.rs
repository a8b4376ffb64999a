//! Invalid scenarios and their complete messages: file, line, column, field, value, limit, advice.

mod cases;

use self::cases::cases;
use backwater_scenario::{Document, Plan, Severity, explain};
use proptest::prelude::*;
use std::path::Path;

/// Valid scenario; each case replaces one part by an invalid one.
const VALID: &str = r#"name = "sound"

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

/// Returns all messages about `text`.
fn messages(text: &str) -> Vec<String> {
    let result =
        Document::from_toml("s.toml", text).and_then(|document| Plan::from_document(&document, Path::new(".")));
    match result {
        Ok(plan) => plan.warnings.iter().map(ToString::to_string).collect(),
        Err(diagnostics) => {
            assert!(diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error), "{diagnostics:?}");
            diagnostics.iter().map(ToString::to_string).collect()
        }
    }
}

/// Replaces the first `from` in [`VALID`] by `to`. In a BCube, names of servers are addresses, so
/// the receiver of the incast is also replaced.
fn invalid(from: &str, to: &str) -> String {
    assert!(VALID.contains(from), "{from}");
    let receiver = match to {
        _ if !to.contains("bcube") || to.contains("k = 0") => "receivers = \"h0\"",
        _ if to.contains("k = 2") => "receivers = \"h0.1.1\"",
        _ => "receivers = \"h1.1\"",
    };
    VALID.replacen(from, to, 1).replace("receivers = \"h0\"", receiver)
}

#[test]
fn the_valid_scenario_has_no_messages() {
    assert_eq!(messages(VALID), [""; 0]);
}

#[test]
fn every_invalid_scenario_has_the_expected_messages() {
    let mut failures = Vec::new();
    for (from, to, expected) in cases() {
        let found = messages(&invalid(from, to));
        if found != *expected {
            failures.push(format!("{from:?} -> {to:?}\n  expected {expected:#?}\n  found {found:#?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The trace contains all events of a second. There are 12 links at 100 Gb/s with two directions
/// each, 11.4 million frames per direction, and 6 events per frame.
#[test]
fn a_large_trace_is_a_warning() {
    let text = invalid("pauses = true", "pauses = true\ntrace = {}").replace("until = \"1 ms\"", "until = \"1 s\"");
    let [found] = &messages(&text)[..] else { panic!("expected one message") };
    assert_eq!(
        found,
        "s.toml:38:9: warning: probes.trace: may record 1639 million events (16.4 GB) if all traced links carry full \
            packets until 1 s; limit the trace with from, until, nodes, ports or flows"
    );
    assert_eq!(messages(&text.replace("trace = {}", "trace = { until = \"100 us\" }")), [""; 0]);
    assert_eq!(messages(&text.replace("trace = {}", "trace = { flows = [3] }")), [""; 0]);
}

/// A framing with whole nanoseconds shortens the transmission of frames; short frames take no time.
#[test]
fn frames_shortened_by_the_clock_of_the_framing_are_reported() {
    let found = |gbps: u32, mtu: u32| {
        let text =
            invalid("host_rate = \"100 Gbps\"", &format!("host_rate = \"{gbps} Gbps\"\nuplink_rate = \"25 Gbps\""));
        let text = text.replace("mtu = \"1000 B\"", &format!("mtu = \"{mtu} B\"\nframing = \"hpcc-ns3\""));
        messages(&text.replace("profile = \"paper\"", ""))
    };
    let cut = |place: &str, what: &str, frame: &str, gbps: u32, times: &str| {
        format!(
            "s.toml:{place}: {what}: {frame} at {gbps} Gbps (\"h0\" to \"leaf0\"), but this framing rounds this time \
                down to {times} less"
        )
    };
    let advice = |remedy: &str| format!("; use framing = \"rocev2\", which is exact, or {remedy}");
    let (framing, mtu) = ("24:11", "23:7");
    let exempt = "; packet loss on such links does not count as a violation of the lossless guarantee";
    let warning = "warning: network.framing = \"hpcc-ns3\"";
    let (ack, short) = ("an ACK (60 B) takes", "a data frame with 1 B of payload (49 B) takes");
    assert_eq!(
        found(100, 1000),
        [
            cut(
                mtu,
                "warning: network.mtu = \"1000 B\"",
                "a full data frame (1048 B) takes 83.84 ns",
                100,
                "83 ns, 1.0 %"
            ),
            cut(framing, warning, &format!("{ack} 4.8 ns"), 100, "4 ns, 16.7 %"),
            cut(framing, warning, &format!("{short} 3.92 ns"), 100, "3 ns, 23.5 %"),
        ]
    );
    assert_eq!(found(100, 1002).len(), 2);
    // At the link rate of the HPCC simulator's examples, only rare frames take no time.
    assert_eq!(
        found(400, 1002),
        [
            cut(framing, warning, &format!("{ack} 1.2 ns"), 400, "1 ns, 16.7 %"),
            cut(framing, warning, &format!("{short} 980 ps"), 400, "0 ps, 100.0 %") + exempt,
            cut(framing, warning, "a PFC frame (43 B) takes 860 ps", 400, "0 ps, 100.0 %") + exempt,
            "s.toml:33:1: warning: congestion_control.ecn: the default ECN thresholds, kmin = \"100 KB\" and kmax = \
                \"400 KB\", are meant for ports of 25 to 100 Gb/s: at 400 Gbps, a slight overload throttles flows \
                almost to a stop; set ecn.rate = \"25 Gbps\" to let thresholds grow with the port's rate, or use a \
                profile made for the rate of the host links, e.g. \"400g\""
                .into(),
        ]
    );
    // Frames of 51, 55 and 56 B should take 4.08, 4.4 and 4.48 ns. The clock shortens these times
    // to 4 ns, by 2, 9.1 and 10.7 %.
    for (payload, severity) in [(3, "warning"), (7, "warning"), (8, "error")] {
        let first = &found(100, payload)[0];
        assert!(first.contains(&format!("{severity}: network.mtu = \"{payload} B\"")), "{first}");
    }
    let refused = found(800, 16);
    let errors: Vec<_> = refused.iter().filter(|message| message.contains(": error: ")).collect();
    assert_eq!(
        errors,
        [
            &format!(
                "{}; at most 10 % is allowed{}",
                cut(
                    mtu,
                    "error: network.mtu = \"16 B\"",
                    "a full data frame (64 B) takes 640 ps",
                    800,
                    "0 ps, 100.0 %"
                ),
                advice("larger frames or slower links")
            ),
            &format!(
                "{}{}",
                cut(framing, "error: network.framing = \"hpcc-ns3\"", &format!("{ack} 600 ps"), 800, "0 ps, 100.0 %"),
                advice("slower links")
            ),
        ]
    );
}

/// Congestion controls without a congestion point have no effect at relaying hosts.
#[test]
fn a_congestion_point_without_effect_at_relays_is_a_warning() {
    let found_with = |topology: &str, congestion_control: &str| {
        let text = invalid(
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
            "s.toml:14:20: warning: host.relay.congestion_point = true: has no effect: {name} does not process \
                packets at switches"
        );
        let found = found_with(bcube, &format!("kind = \"{name}\""));
        assert!(found.contains(&expected), "{found:?}");
    }
    for name in ["dcqcn", "hpcc", "power-tcp"] {
        assert_eq!(found_with(bcube, &format!("kind = \"{name}\"")), [""; 0], "{name}");
    }
    // Without relaying hosts, the warning gives that reason instead.
    assert_eq!(
        found_with("kind = \"bcube\"\nn = 4\nk = 0", "kind = \"none\""),
        ["s.toml:14:1: warning: host.relay: has no effect: no host of this topology relays packets"]
    );
}

/// Returns the messages about an edge load balancer together with a flow control.
fn edges_under(flow_control: &str, load_balance: &str) -> Vec<String> {
    messages(&format!(
        "recovery.kind = \"in-any-order\"\nload_balance = {{ {load_balance} }}\ncongestion_control.kind = \"none\"\n\
         switch = {{ flow_control.kind = \"{flow_control}\", headroom = {{ kind = \"static\", xoff = \"16 MiB\", \
         headroom = \"0 B\" }} }}\n\
         topology = {{ kind = \"leaf-spine\", leaves = 2, spines = 2, hosts_per_leaf = 2 }}\n\
         traffic = [{{ kind = \"permutation\", sizes = \"10 KB\" }}]"
    ))
}

/// Under Pyrrha, FLB releases congested flows only by timeout.
#[test]
fn flb_under_pyrrha_is_a_warning() {
    let found = |flow_control| edges_under(flow_control, "kind = \"flb\"");
    let warning = "pyrrha keeps packets in its own queues: flows congested there leave isolation only by timeout";
    assert!(found("pyrrha").iter().any(|message| message.contains(warning)), "{:?}", found("pyrrha"));
    assert!(!found("pfc").iter().any(|message| message.contains(warning)));
}

/// Edge switches read only class queues, not the queues of BFC or per-flow flow control.
#[test]
fn an_edge_that_cannot_read_queues_is_a_warning() {
    let warns = |flow_control, load_balance| {
        let found = edges_under(flow_control, load_balance);
        found.iter().any(|message| message.contains("cannot measure queues and pauses at the uplinks"))
    };
    for load_balance in ["kind = \"flb\"", "kind = \"proteus\""] {
        assert!(warns("bfc", load_balance) && warns("per-flow", load_balance) && !warns("pfc", load_balance));
    }
    assert!(!warns("bfc", "kind = \"flb\", stamp = \"arrival\""));
}

/// Load balancers other than ECMP need several ports on shortest paths.
#[test]
fn a_load_balancer_without_a_choice_of_ports_is_a_warning() {
    let warns = |topology: &str, more: &str| {
        let text = format!(
            "recovery.kind = \"in-any-order\"\n{more}\ntopology = {{ {topology} }}\n\
             traffic = [{{ kind = \"permutation\", sizes = \"10 KB\" }}]"
        );
        let found = messages(&text);
        let warning = "has no effect: no switch has more than one egress port on the shortest paths to any host";
        assert!(found.iter().all(|message| message.contains(warning)), "{topology}: {found:?}");
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
        // With addresses of two digits, only the source host has a choice. With three digits, the
        // first relay also has two ports to choose from.
        ("kind = \"bcube\", n = 2, k = 1", true),
        ("kind = \"bcube\", n = 2, k = 2", false),
    ] {
        assert_eq!((warns(topology, &ecmp), warns(topology, &spray)), (false, expected), "{topology}");
    }
    // Recomputed routes may offer a choice.
    let dumbbell = "kind = \"dumbbell\", left = 1, right = 1";
    let fault =
        "network.reconvergence = \"1 us\"\nfaults = [{ link = [\"left\", \"right\"], down = \"1 us\", up = \"9 us\" }]";
    assert!(!warns(dumbbell, &format!("{spray}\n{fault}")));
}

#[test]
fn an_empty_file_lacks_topology_and_traffic() {
    assert_eq!(
        messages(""),
        [
            "s.toml:1:1: error: topology: is missing; write for example topology = { kind = \"star\" }",
            "s.toml:1:1: error: traffic: is missing; write for example [[traffic]] with kind = \"poisson\""
        ]
    );
}

#[test]
fn all_errors_of_a_file_are_reported_at_once() {
    let text = VALID
        .replace("pauses = true", "pausses = true")
        .replace("spine1", "spine9")
        .replace("alpha = 0.0625", "alpha = true")
        .replace("kind = \"pfc\"", "kind = \"pfcc\"")
        .replace("load = 0.5", "load = 5")
        .replace("receivers = \"h0\"", "receivers = [\"h0\", \"g1\"]");
    assert_eq!(
        messages(&text),
        [
            "s.toml:17:18: error: faults[0].link[1] = \"spine9\": there is no node \"spine9\"; did you mean \
                \"spine0\"?",
            "s.toml:28:25: error: switch.flow_control.kind = \"pfcc\": unknown name; did you mean \"pfc\"? (allowed: \
                none, pfc, bfc, per-flow, pyrrha, pfc-star, port-fc)",
            "s.toml:29:36: error: switch.headroom.alpha = true: must be a number from 0 to 64",
            "s.toml:37:1: error: probes.pausses: unknown key; did you mean \"pauses\"? (allowed: sample_interval, \
                queues, pauses, ingress, goodput, paths, flows, operations, trace, deadlock_check, vulnerable_share)",
            "s.toml:42:8: error: traffic[0].load = 5: must be from 0 to 1",
            "s.toml:48:20: error: traffic[1].receivers[1] = \"g1\": there is no host \"g1\""
        ]
    );
}

/// Valid sections are checked even if others are invalid. Consequences of an invalid section are
/// not reported.
#[test]
fn valid_sections_are_checked_beside_invalid_ones() {
    let text = invalid("until = \"1 ms\"", "until = \"1 ms\"\nshard = 2").replace("\"spine1\"", "\"spine9\"");
    assert_eq!(
        messages(&text),
        [
            "s.toml:6:1: error: run.shard: unknown key; did you mean \"shards\"? (allowed: seed, until, limit, warmup, \
                drain, shards)",
            "s.toml:18:18: error: faults[0].link[1] = \"spine9\": there is no node \"spine9\"; did you mean \"spine0\"?"
        ]
    );
    let text = invalid("leaves = 2", "leafs = 2").replace("\"spine1\"", "\"spine9\"").replace("\"h0\"", "\"h99\"");
    assert_eq!(
        messages(&text),
        [
            "s.toml:8:1: error: topology.leaves: is missing",
            "s.toml:10:1: error: topology.leafs: unknown key; did you mean \"leaves\"? (allowed: kind, leaves, \
                spines, hosts_per_leaf, host_rate, uplink_rate, delay, host_delay, uplink_delay, parallel_links, \
                error_rate, changed_links, failed_links, failed_nodes)"
        ]
    );
}

#[test]
fn errors_name_the_command_line_or_data_as_origin() {
    let mut document = Document::from_toml("s.toml", VALID).expect("valid TOML");
    for assignment in ["traffic.0.load=2", "faults.0.up=100 us", "run.sed=3"] {
        document.set(assignment).expect("an assignment");
    }
    let diagnostics = |document: &Document| -> Vec<String> {
        Plan::from_document(document, Path::new("."))
            .expect_err("an invalid scenario")
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    assert_eq!(
        diagnostics(&document),
        [
            "--set: error: run.sed: unknown key; did you mean \"seed\"? (allowed: seed, until, limit, warmup, drain, shards)",
            "--set: error: traffic[0].load = 2: must be from 0 to 1",
            "--set: error: faults[0].up = \"100 us\": must be after the failure at 200 us"
        ]
    );
    let mut document = Document::from_toml("s.toml", VALID).expect("valid TOML");
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
            "--set: error: run.until = 5: must be a number with a unit; write \"5 us\", or \"jobs\"",
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
            "error: traffic: must have at least 1 entry; found 0"
        ]
    );
}

#[test]
fn unreadable_files_are_named() {
    let missing = Document::read(Path::new("nowhere/s.toml")).expect_err("a missing file");
    assert_eq!(missing[0].to_string(), "nowhere/s.toml: error: cannot be read: No such file or directory (os error 2)");
    let path = std::env::temp_dir().join(format!("backwater-bad-input-{}.toml", std::process::id()));
    std::fs::write(&path, b"name = \"\xff\"").expect("a writable directory");
    let garbled = Document::read(&path).expect_err("not UTF-8");
    std::fs::remove_file(&path).expect("the file just written");
    assert_eq!(garbled[0].to_string(), format!("{}:1:9: error: is not UTF-8 text", path.display()));
}

/// Checks that a text yields a plan with settings, or errors with messages.
fn check_text(text: &str) {
    if let Ok(document) = Document::from_toml("s.toml", text) {
        match Plan::from_document(&document, Path::new(".")) {
            Ok(plan) => assert!(!explain(&document, &plan).is_empty()),
            Err(diagnostics) => assert!(diagnostics.iter().all(|diagnostic| !diagnostic.to_string().is_empty())),
        }
    }
}

proptest! {
    #[test]
    fn no_text_causes_a_panic(text in any::<String>()) {
        check_text(&text);
    }

    /// Replaces a random range by a token.
    #[test]
    fn no_mutation_causes_a_panic(
        from in 0..VALID.len(),
        length in 0usize..40,
        token in prop::sample::select(vec![
            "", "0", "-1", "1e308", "\"", "\"0 s\"", "\"1 B\"", "\"1000000 s\"", "\"1000 GB\"", "[]", "{}", "[[", "]", "=",
            "\n", "kind", "true", "18446744073709551615", "\"h1\"", "\"*\"", ".", "#", "\u{e9}",
        ]),
    ) {
        let mut text = VALID.to_string();
        text.replace_range(from..(from + length).min(VALID.len()), token);
        check_text(&text);
    }
}
