//! Effective values and their origins.

use backwater_scenario::{Document, Plan, Setting, explain};
use serde_json::{Value, json};
use std::path::Path;

fn plan(text: &str, overrides: &[&str]) -> (Document, Plan) {
    let mut document = Document::from_toml("s.toml", text).unwrap();
    for assignment in overrides {
        document.set(assignment).unwrap();
    }
    let plan = Plan::from_document(&document, Path::new(".")).unwrap_or_else(|errors| panic!("{errors:#?}"));
    (document, plan)
}

/// Checks the explained settings by path, and the same values in the plan's stored data.
fn assert_settings(text: &str, overrides: &[&str], expected: &[(&str, Value, &str)]) {
    let (document, plan) = plan(text, overrides);
    let settings = explain(&document, &plan);
    let (resolved, effective) = (plan.resolved(), plan.effective());
    for (path, value, origin) in expected {
        let found = settings.iter().find(|setting| setting.path == *path).unwrap_or_else(|| panic!("{path}"));
        assert_eq!((&found.value, found.origin.as_str()), (value, *origin), "{path}");
        let pointer = format!("/{}", path.replace(['.', '['], "/").replace(']', ""));
        assert_eq!(effective.get(path).or(resolved.pointer(&pointer)), Some(value), "{path}");
    }
}

const STAR: &str = "run.seed = 3\ntopology = { kind = \"star\", hosts = 2 }\ncongestion_control = { kind = \"dcqcn\", \
 profile = \"paper\" }\n\
                    [[traffic]]\nkind = \"long-lived\"\npairs = [[\"h0\", \"h1\"]]\n";

#[test]
fn every_value_has_its_origin() {
    // The headroom is 2 x (12,500 + 1078) + 3840 B. The resume offset is two frames of 1078 B.
    assert_settings(
        STAR,
        &["network.mtu=1KB"],
        &[
            ("name", json!("s"), "default"),
            ("run.seed", json!(3), "s.toml:1"),
            ("run.until", json!("1 ms"), "default"),
            ("run.shards", json!("the value of `--threads`"), "default"),
            ("topology.hosts", json!(2), "s.toml:2"),
            ("network.mtu", json!("1 KB"), "--set"),
            ("switch.lossless", json!([3]), "default"),
            ("switch.ports", json!(2), "default"),
            ("switch.headroom.headroom", json!("30996 B"), "default"),
            ("switch.headroom.resume_offset", json!("2156 B"), "default"),
            ("congestion_control.profile", json!("paper"), "s.toml:3"),
            ("congestion_control.cnp_interval", json!("50 us"), "profile paper"),
            ("congestion_control.gain", json!(0.00390625), "profile paper"),
            ("congestion_control.ecn.rate", json!("none"), "default"),
            ("switch.headroom.alpha_rate", json!("none"), "default"),
            ("traffic[0].tag", json!("long-lived"), "default"),
            ("traffic[0].role", json!("other"), "default"),
            ("traffic[0].stop", json!("1 ms"), "default"),
            ("traffic[0].pairs[0]", json!(["h0", "h1"]), "s.toml:6"),
        ],
    );
}

/// Two switches with hosts at 25 and 100 Gb/s, and links with two delays.
const MIXED: &str = "topology = { kind = \"custom\", hosts = [\"a\", \"b\", \"c\"], switches = [\"s\", \"t\"], links \
 = [\n\
                     { a = \"a\", b = \"s\", rate = \"25 Gbps\" }, { a = \"b\", b = \"t\" }, { a = \"c\", b = \"t\" \
                     },\n\
                     { a = \"s\", b = \"t\", delay = \"2 us\" } ] }\n\
                     network.mtu = \"1 KB\"\n\
                     congestion_control = { kind = \"dcqcn\", profile = \"hpcc-ns3\", min_rate = \"30 Gbps\", window \
                     = true, ecn.rate = \"25 Gbps\" }\n\
                     [[traffic]]\nkind = \"poisson\"\nload = 0.5\nsizes = \"64 KB\"\n";

#[test]
fn values_are_tables_by_link_rate_and_delay_if_links_differ() {
    assert_settings(
        MIXED,
        &["switch.headroom.kind=sih", "switch.headroom.alpha_rate=50G"],
        &[
            (
                "congestion_control.additive_increase",
                json!({ "25 Gbps": "5 Mbps", "100 Gbps": "20 Mbps" }),
                "profile hpcc-ns3",
            ),
            ("congestion_control.increase_interval", json!("300 us"), "profile hpcc-ns3"),
            (
                "congestion_control.min_rate",
                json!({ "25 Gbps": "25 Gbps", "100 Gbps": "30 Gbps" }),
                "s.toml:5, capped at the link rate",
            ),
            ("congestion_control.ecn.kmin", json!({ "25 Gbps": "100 KB", "100 Gbps": "400 KB" }), "default"),
            (
                "switch.headroom.headroom",
                json!({ "25 Gbps, 1 us": "12246 B", "100 Gbps, 1 us": "30996 B", "100 Gbps, 2 us": "55996 B" }),
                "default",
            ),
            (
                "switch.headroom.alpha",
                json!({ "25 Gbps, 1 us": 0.03125, "100 Gbps, 1 us": 0.125, "100 Gbps, 2 us": 0.125 }),
                "default, scaled by port rate",
            ),
            ("switch.ports", json!({ "s": 2, "t": 3 }), "default"),
            ("traffic[0].hosts", json!("all"), "default"),
            ("traffic[0].intra_rack", json!("uniform"), "default"),
        ],
    );
    let kmin = json!({ "25 Gbps": "100 KB", "100 Gbps": "400 KB" });
    let of_400g = ["congestion_control={ kind = \"dcqcn\", profile = \"400g\" }"];
    assert_settings(MIXED, &of_400g, &[("congestion_control.ecn.kmin", kmin, "profile 400g")]);
    let (_, plan) = plan(MIXED, &[]);
    let window = &plan.effective()["congestion_control.window"];
    assert_eq!(window.as_object().unwrap().keys().collect::<Vec<_>>(), ["25 Gbps", "100 Gbps"]);
}

#[test]
fn values_derived_from_the_fabric_are_explained() {
    // A packet of 1082 B on the wire and its ACK of 86 B each pass two links of 1 us at 100 Gb/s.
    // With telemetry in both and an MTU of 958 B, the packet has 1082 B and the ACK 128 B.
    let base_rtt = json!("4186.88 ns");
    for (overrides, expected) in [
        (
            &["congestion_control.kind=hpcc", "network.mtu=958 B"][..],
            vec![
                ("congestion_control.base_rtt", json!("4193.6 ns"), "default"),
                ("congestion_control.additive_increase", json!("40 Mbps"), "default"),
            ],
        ),
        (
            &["congestion_control.kind=power-tcp", "congestion_control.variant=delay"],
            vec![
                ("congestion_control.base_rtt", base_rtt.clone(), "default"),
                ("congestion_control.gamma", json!(0.7), "default"),
            ],
        ),
        (
            &["congestion_control.kind=timely", "congestion_control.profile=pyrrha-ns3", "congestion_control.beta=0.5"],
            vec![
                ("congestion_control.additive_increase", json!("50 Mbps"), "profile pyrrha-ns3"),
                ("congestion_control.high_rtt", json!("500 us"), "profile pyrrha-ns3"),
                ("congestion_control.beta", json!(0.5), "--set"),
            ],
        ),
        (
            &["congestion_control.kind=none", "congestion_control.window=bdp"],
            vec![("congestion_control.window", json!("52336 B"), "--set, link rate x longest base RTT")],
        ),
        (&["congestion_control.kind=none"], vec![("congestion_control.window", json!("no limit"), "default")]),
        (
            &["congestion_control.kind=pcn", "congestion_control.min_rate=200 Gbps"],
            vec![
                ("congestion_control.threshold", json!("100 KB"), "default"),
                ("congestion_control.min_rate", json!("100 Gbps"), "--set, capped at the link rate"),
            ],
        ),
        // The target is the base RTT plus 8 us, and `fs_range` is five times the target. The link
        // carries 49 packets in a base RTT, and 141 packets in the target delay.
        (
            &["congestion_control.kind=swift"],
            vec![
                ("congestion_control.queueing", json!("8 us"), "profile fabric"),
                ("congestion_control.base_target", json!("8 us"), "profile fabric"),
                ("congestion_control.per_hop", json!("2093.44 ns"), "profile fabric"),
                ("congestion_control.fs_range", json!("60934.4 ns"), "profile fabric"),
                ("congestion_control.initial_cwnd", json!(49.0), "profile fabric"),
                ("congestion_control.max_cwnd", json!(282.0), "profile fabric"),
            ],
        ),
        (
            &[
                "congestion_control.kind=swift",
                "congestion_control.base_target=9 us",
                "congestion_control.initial_cwnd=300",
            ],
            vec![
                ("congestion_control.queueing", json!("none"), "profile fabric"),
                ("congestion_control.base_target", json!("9 us"), "--set"),
                ("congestion_control.initial_cwnd", json!(300.0), "--set"),
                ("congestion_control.max_cwnd", json!(300.0), "profile fabric"),
            ],
        ),
        (
            &["congestion_control={ kind = \"srcc\", base = { kind = \"dcqcn\", profile = \"paper\" }, q_pfc = \
                    \"100 KB\" }"],
            vec![
                ("congestion_control.base.cnp_interval", json!("50 us"), "profile paper"),
                ("congestion_control.base.ecn.kmin", json!("100 KB"), "default"),
                ("congestion_control.window", json!("12560.64 ns"), "default"),
                ("congestion_control.count_window", json!("12560.64 ns"), "default"),
                ("congestion_control.floor", json!("2156 B"), "default"),
                ("congestion_control.q_pfc", json!("100 KB"), "--set"),
                ("congestion_control.link_delay", json!("delay of the packet's ingress link"), "default"),
                ("congestion_control.rate_interval", json!("the longest link delay of the switch"), "default"),
            ],
        ),
        (
            &["congestion_control={ kind = \"srcc\", base = { kind = \"none\", window = \"bdp\" }, window = \"20 \
                    us\", rate_interval = \"1 us\", link_delay = \"2 us\" }"],
            vec![
                ("congestion_control.base.window", json!("52336 B"), "--set, link rate x longest base RTT"),
                ("congestion_control.window", json!("20 us"), "--set"),
                ("congestion_control.count_window", json!("20 us"), "default"),
                ("congestion_control.q_pfc", json!("the buffer policy's threshold"), "default"),
                ("congestion_control.link_delay", json!("2 us"), "--set"),
                ("congestion_control.rate_interval", json!("1 us"), "--set"),
                ("congestion_control.additive_increase", json!("1/8 of the rate in the last notice"), "default"),
            ],
        ),
        // The link carries 49 packets in a base RTT.
        (
            &["congestion_control.kind=mp-rdma", "recovery.kind=mp-rdma"],
            vec![
                ("congestion_control.initial_cwnd", json!(49.0), "default"),
                ("congestion_control.ecn.kmin", json!("60 KB"), "default"),
                ("congestion_control.ecn.kmax", json!("60 KB"), "default"),
                ("congestion_control.ecn.pmax", json!(1.0), "default"),
                ("congestion_control.reordering", json!(32), "default"),
                ("congestion_control.slow_path_cut", json!(1.0), "default"),
                ("congestion_control.probing", json!(0.01), "default"),
                ("recovery.bitmap", json!(64), "default"),
                ("recovery.rto", json!("8 ms"), "default"),
            ],
        ),
        (
            &[
                "congestion_control={ kind = \"mp-rdma\", initial_cwnd = 12, ecn = { kmin = \"24 KB\", rate = \"40 \
                    Gbps\" } }",
                "recovery.kind=in-any-order",
            ],
            vec![
                ("congestion_control.initial_cwnd", json!(12.0), "--set"),
                ("congestion_control.ecn.kmin", json!("60 KB"), "--set, scaled by port rate"),
                ("congestion_control.ecn.kmax", json!("60 KB"), "default"),
            ],
        ),
        (
            &["switch.headroom.kind=dsh", "switch.headroom.port_resume_offset=0 B"],
            vec![
                ("switch.headroom.headroom", json!("30996 B"), "default"),
                ("switch.headroom.queue_resume_offset", json!("2156 B"), "default"),
                ("switch.headroom.port_resume_offset", json!("0 B"), "--set"),
            ],
        ),
        (
            &["switch.headroom.kind=static", "switch.headroom.xoff=100 KB"],
            vec![
                ("switch.headroom.xon", json!("97844 B"), "default"),
                ("switch.headroom.headroom", json!("30996 B"), "default"),
            ],
        ),
        (&["switch.headroom.kind=adaptive"], vec![("switch.headroom.resume_offset", json!("2156 B"), "default")]),
        (&["switch.headroom.kind=oversubscribed"], vec![("switch.headroom.headroom", json!("30996 B"), "default")]),
        (&["switch.ports=32"], vec![("switch.ports", json!(32), "--set")]),
        (&["recovery.kind=in-any-order"], vec![("recovery.allowance", json!("for ever"), "default")]),
        (
            &["switch.flow_control.kind=pyrrha", "switch.headroom.kind=static"],
            vec![("switch.flow_control.merge_grace", json!("837.376 us"), "default")],
        ),
        (
            &["switch.flow_control={ kind = \"pyrrha\", merge_grace = \"1 ms\" }", "switch.headroom.kind=static"],
            vec![("switch.flow_control.merge_grace", json!("1 ms"), "--set")],
        ),
    ] {
        assert_settings(STAR, &[&["network.mtu=1000 B"], overrides].concat(), &expected);
    }
}

/// Neighbours must agree on the duration of a PAUSE. Here every switch is in a group, so no switch
/// runs the flow control of `switch`.
#[test]
fn an_unused_flow_control_is_not_compared_with_groups() {
    let only = "topology = { kind = \"star\", hosts = 3 }\n\
                groups = [{ switches = \"s0\", flow_control = { kind = \"pfc\", pause = \"quanta\" } }]\n\
                [[traffic]]\nkind = \"incast\"\ndegree = 1\nsize = \"64 KB\"\n";
    assert_settings(only, &[], &[("groups[0].headroom", json!("as in `switch`"), "default")]);
}

#[test]
fn defaults_of_topologies_groups_and_traffic_are_explained() {
    let leaf_spine = "topology = { kind = \"leaf-spine\", leaves = 2, spines = 1, hosts_per_leaf = 2, host_rate = \
     \"25 Gbps\" }\n\
                      groups = [{ switches = \"spine0\", headroom = { kind = \"static\" } }]\n\
                      [[traffic]]\nkind = \"incast\"\ndegree = 1\nsize = \"64 KB\"\n";
    assert_settings(
        leaf_spine,
        &[],
        &[
            ("topology.uplink_rate", json!("25 Gbps"), "default"),
            ("topology.host_delay", json!("1 us"), "default"),
            ("topology.uplink_delay", json!("1 us"), "default"),
            ("groups[0].headroom.xon", json!("253796 B"), "default"),
            ("groups[0].flow_control", json!("as in `switch`"), "default"),
            ("switch.ports", json!({ "spine0": 2, "leaf0 and 1 more": 3 }), "default"),
            ("traffic[0].role", json!("incast"), "default"),
            ("traffic[0].senders", json!("other-racks"), "default"),
            ("traffic[0].bursts", json!(1), "default"),
        ],
    );
    let written = "topology = { kind = \"star\", hosts = 3 }\nrun.until = \"100 us\"\n[[traffic]]\n\
     kind = \"incast\"\ndegree = 1\nsize = \"64 KB\"\nload = 0.5\n\
                   stop = \"5 ms\"\nbursts = 3\nsenders = \"h[1-2]\"\n";
    assert_settings(
        written,
        &[],
        &[
            ("traffic[0].stop", json!("100 us"), "s.toml:8, capped at `run.until`"),
            ("traffic[0].bursts", json!(3), "s.toml:9"),
            ("traffic[0].senders", json!(["h[1-2]"]), "s.toml:10"),
        ],
    );
    let by_load = written.replace("bursts = 3\nsenders = \"h[1-2]\"\n", "");
    assert_settings(&by_load, &[], &[("traffic[0].bursts", json!("as many as fit before `stop`"), "default")]);
    let without_switch = "topology = { kind = \"custom\", hosts = [\"a\", \"b\"], links = [{ a = \"a\", b = \"b\" }] \
     }\n\
                          [[traffic]]\nkind = \"incast\"\ndegree = 1\nsize = \"64 KB\"\n";
    assert_settings(without_switch, &[], &[("traffic[0].senders", json!("other-racks"), "default")]);
    let one_rack = "topology = { kind = \"star\", hosts = 3 }\n[[traffic]]\nkind = \"incast\"\ndegree = 1\nsize = \
        \"64 KB\"\nperiod = \"10 us\"\n";
    assert_settings(
        one_rack,
        &[],
        &[
            ("traffic[0].senders", json!("any"), "default"),
            ("traffic[0].bursts", json!("as many as fit before `stop`"), "default"),
        ],
    );
    let job = |operation: &str| {
        format!(
            "topology = {{ kind = \"star\", hosts = 3 }}\nrun = {{ until = \"jobs\", limit = \"2 ms\" }}\n[[traffic]]\nkind = \
             \"collective\"\nbytes = \"1 MB\"\noperation = {operation}\n[[traffic]]\nkind = \"permutation\"\nsizes = \"1 \
             KB\"\nstop = \"5 ms\"\n"
        )
    };
    // A job has no `stop`, and a ring no window.
    assert_settings(
        &job("\"all-reduce\""),
        &[],
        &[
            ("traffic[0].algorithm", json!("ring"), "default"),
            ("traffic[0].spread", json!("round-robin"), "default"),
            ("traffic[1].stop", json!("2 ms"), "s.toml:10, capped at `run.limit`"),
        ],
    );
    let exchange = |rest: &str| job(&format!("\"all-to-all\"{rest}"));
    assert_settings(
        &exchange(""),
        &[],
        &[("traffic[0].algorithm", json!("pairwise"), "default"), ("traffic[0].window", json!(1), "default")],
    );
    assert_settings(&exchange("\nalgorithm = \"nccl\""), &[], &[("traffic[0].window", json!(8), "default")]);
    let (_, plan) = plan(&exchange("\nalgorithm = \"naive\""), &[]);
    let unset = plan.effective();
    assert!(["traffic[0].stop", "traffic[0].window"].iter().all(|path| unset.get(path).is_none()), "{unset:?}");
    let other =
        |topology: &str| format!("topology = {topology}\n[[traffic]]\nkind = \"permutation\"\nsizes = \"1 KB\"\n");
    assert_settings(
        &other("{ kind = \"fat-tree\", k = 4, delay = \"3 us\", uplink_rate = \"400G\" }"),
        &[],
        &[
            ("topology.hosts_per_edge", json!(2), "default"),
            ("topology.uplink_rate", json!("400 Gbps"), "s.toml:1"),
            ("topology.uplink_delay", json!("3 us"), "default"),
        ],
    );
    assert_settings(
        &other("{ kind = \"dumbbell\", left = 1, right = 1, rate = \"10 Gbps\" }"),
        &[],
        &[
            ("topology.bottleneck_rate", json!("10 Gbps"), "default"),
            ("topology.bottleneck_delay", json!("1 us"), "default"),
        ],
    );
}

/// No stored or explained value is null. Alternatives that were not chosen are absent.
#[test]
fn no_value_is_null() {
    fn has_null(value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Object(fields) => fields.values().any(has_null),
            Value::Array(items) => items.iter().any(has_null),
            _ => false,
        }
    }
    for text in [STAR, MIXED] {
        let (document, plan) = plan(text, &[]);
        assert!(!has_null(&plan.resolved()) && !has_null(&plan.effective()));
        let settings = explain(&document, &plan);
        assert!(settings.iter().all(|Setting { value, .. }| !has_null(value)));
        let mut paths: Vec<_> = settings.iter().map(|setting| &setting.path).collect();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), settings.len());
    }
    let (document, plan) = plan(MIXED, &[]);
    let settings = explain(&document, &plan);
    let sizes = settings.iter().filter(|setting| setting.path.starts_with("traffic[0].sizes"));
    let sizes: Vec<_> = sizes.map(|setting| (setting.path.as_str(), setting.origin.as_str())).collect();
    assert_eq!(sizes, [("traffic[0].sizes.fixed", "s.toml:9")]);
}
