//! Single values: control characters, unknown keys and names, quantities, types, ranges; invalid
//! TOML.

use super::Case;

pub(super) const CASES: &[Case] = &[
    // Control characters, which would affect a terminal.
    (
        "name = \"sound\"",
        "name = \"so\\u001b[31mund\"",
        &["s.toml:1:8: error: name = \"so\\u001b[31mund\": must not contain control characters"],
    ),
    (
        "load = 0.5",
        "load = 0.5\ntag = \"a\\rb\"",
        &["s.toml:43:7: error: traffic[0].tag = \"a\\rb\": must not contain control characters"],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"",
        "kind = \"custom\"\nhosts = [\"a\\u0007\", \"b\"]\nswitches = [\"s\\u009b\"]\nlinks = []",
        &[
            "s.toml:10:10: error: topology.hosts[0] = \"a\\u0007\": must not contain control characters",
            "s.toml:11:13: error: topology.switches[0] = \"s\u{9b}\": must not contain control characters",
        ],
    ),
    // Keys.
    (
        "load = 0.5",
        "lod = 0.5",
        &[
            "s.toml:39:1: error: traffic[0].load: is missing",
            "s.toml:42:1: error: traffic[0].lod: unknown key; did you mean \"load\"? (allowed: kind, tag, class, \
                start, stop, role, sizes, load, load_of, load_counts, intra_rack, burst, hosts, destinations, \
                exclude_receivers)",
        ],
    ),
    (
        "seed = 7",
        "sead = 7",
        &[
            "s.toml:4:1: error: run.sead: unknown key; did you mean \"seed\"? (allowed: seed, until, limit, warmup, drain, \
                shards)",
        ],
    ),
    (
        "[switch]",
        "[swich]",
        &["s.toml:24:2: error: swich: unknown key; did you mean \"switch\"? (allowed: name, run, topology, \
                interfaces, routes, faults, network, switch, groups, host, congestion_control, load_balance, \
                recovery, traffic, probes)"],
    ),
    (
        "name = \"sound\"",
        "colour = \"red\"",
        &["s.toml:1:1: error: colour: unknown key; allowed: name, run, topology, interfaces, routes, faults, \
                network, switch, groups, host, congestion_control, load_balance, recovery, traffic, probes"],
    ),
    (
        "leaves = 2",
        "leaves = 2\nk = 4",
        &["s.toml:11:1: error: topology.k: unknown key; this key belongs to kind \"fat-tree\", \"bcube\"; allowed: \
            kind, leaves, spines, hosts_per_leaf, host_rate, uplink_rate, delay, host_delay, uplink_delay, \
            parallel_links, error_rate, changed_links, failed_links, failed_nodes"],
    ),
    ("degree = 4", "degree = 0", &["s.toml:46:10: error: traffic[1].degree = 0: must be at least 1"]),
    ("degree = 4", "degree = [15, 1]", &["s.toml:46:10: error: traffic[1].degree: must list the smaller number first"]),
    ("degree = 4", "degree = [1]", &["s.toml:46:10: error: traffic[1].degree: must have exactly 2 entries; found 1"]),
    (
        "degree = 4",
        "degree = \"4\"",
        &["s.toml:46:10: error: traffic[1].degree = \"4\": must be a whole number, at least 1; write 4 without quotes"],
    ),
    ("degree = 4", "", &["s.toml:44:1: error: traffic[1].degree: is missing"]),
    (
        "kind = \"leaf-spine\"\n",
        "",
        &["s.toml:8:1: error: topology.kind: is missing; allowed: star, dumbbell, leaf-spine, fat-tree, bcube, \
                custom, file"],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"",
        "kind = \"bcube\"\nn = 1\nk = -1",
        &[
            "s.toml:10:5: error: topology.n = 1: must be at least 2",
            "s.toml:11:5: error: topology.k = -1: must be at least 0",
        ],
    ),
    (
        "[network]",
        "[host]\nscheduler = { kind = \"dwrr\", quantum = \"1 B\" }\n[network]",
        &[
            "s.toml:22:13: warning: host.scheduler: has no effect: no host of this topology relays packets, and ACKs \
                are in the control class, which has strict priority",
            "s.toml:22:40: error: host.scheduler.quantum = \"1 B\": must be at least 64 B",
        ],
    ),
    (
        "[network]",
        "[host.relay]\nheadroom = { kind = \"static\", xoff = \"10 KB\", xon = \"20 KB\" }\n[network]",
        &[
            "s.toml:21:1: warning: host.relay: has no effect: no host of this topology relays packets",
            "s.toml:22:53: error: host.relay.headroom.xon = \"20 KB\": must be at most xoff, 10 KB",
        ],
    ),
    // Names.
    (
        "kind = \"dcqcn\"",
        "kind = \"dcqnc\"",
        &["s.toml:32:8: error: congestion_control.kind = \"dcqnc\": unknown name; did you mean \"dcqcn\"? (allowed: \
                none, dcqcn, hpcc, timely, power-tcp, swift, pcn, srcc, flb-rc, mp-rdma)"],
    ),
    (
        "kind = \"pfc\"",
        "kind = \"pcf\"",
        &["s.toml:28:25: error: switch.flow_control.kind = \"pcf\": unknown name; did you mean \"pfc\"? (allowed: \
                none, pfc, bfc, per-flow, pyrrha, pfc-star, port-fc)"],
    ),
    (
        "kind = \"sih\"",
        "kind = \"magic\"",
        &["s.toml:29:21: error: switch.headroom.kind = \"magic\": unknown name; allowed: sih, dsh, adaptive, \
                oversubscribed, egress, static"],
    ),
    (
        "profile = \"paper\"",
        "profile = \"papper\"",
        &["s.toml:33:11: error: congestion_control.profile = \"papper\": unknown name; did you mean \"paper\"? \
                (allowed: paper, authors-ns3, hpcc-ns3, hpcc-ns3-paper, config-txt, conweave, firmware, 200g, 400g, \
                800g)"],
    ),
    (
        "kind = \"leaf-spine\"",
        "kind = \"Leaf_Spine\"",
        &["s.toml:9:8: error: topology.kind = \"Leaf_Spine\": unknown name; did you mean \"leaf-spine\"? (allowed: \
                star, dumbbell, leaf-spine, fat-tree, bcube, custom, file)"],
    ),
    // Quantities.
    (
        "\"100 Gbps\"",
        "\"100\"",
        &["s.toml:13:13: error: topology.host_rate = \"100\": has no unit; write for example \"100 Gbps\" (units: \
                bps, Kbps, Mbps, Gbps, Tbps)"],
    ),
    (
        "\"100 Gbps\"",
        "100",
        &["s.toml:13:13: error: topology.host_rate = 100: must be a number with a unit, in quotes; write \"100 Gbps\""],
    ),
    (
        "\"100 Gbps\"",
        "\"100 GBit\"",
        &["s.toml:13:13: error: topology.host_rate = \"100 GBit\": \"GBit\" is not a unit; did you mean \"Gbps\"? \
                (allowed: bps, Kbps, Mbps, Gbps, Tbps)"],
    ),
    (
        "\"100 Gbps\"",
        "\"fast\"",
        &["s.toml:13:13: error: topology.host_rate = \"fast\": does not start with a number; write for example \
                \"100 Gbps\""],
    ),
    (
        "\"100 Gbps\"",
        "\"0 Gbps\"\nuplink_rate = \"1 Gbps\"",
        &["s.toml:13:13: error: topology.host_rate = \"0 Gbps\": must be from 1 Mbps to 100 Tbps"],
    ),
    (
        "delay = \"1 us\"",
        "delay = \"0.0001 ns\"",
        &["s.toml:14:9: error: topology.delay = \"0.0001 ns\": is not a whole number of ps"],
    ),
    (
        "delay = \"1 us\"",
        "host_delay = \"0 us\"",
        &["s.toml:14:14: error: topology.host_delay = \"0 us\": must be from 1 ps to 10 s"],
    ),
    (
        "\"16 MiB\"",
        "\"99999999 GB\"",
        &["s.toml:25:10: error: switch.buffer = \"99999999 GB\": must be at most 1024 GiB"],
    ),
    (
        "size = \"64 KB\"",
        "size = \"64\"",
        &["s.toml:47:8: error: traffic[1].size = \"64\": has no unit; write for example \"64 B\" (units: B, KB, \
                KiB, MB, MiB, GB, GiB)"],
    ),
    // Types.
    (
        "load = 0.5",
        "load = \"0.5\"",
        &["s.toml:42:8: error: traffic[0].load = \"0.5\": must be a number from 0 to 1; write 0.5 without quotes"],
    ),
    ("seed = 7", "seed = 7.5", &["s.toml:4:8: error: run.seed = 7.5: must be a whole number, at least 0"]),
    ("seed = 7", "seed = -1", &["s.toml:4:8: error: run.seed = -1: must be at least 0"]),
    (
        "lossless = [3]",
        "lossless = 3",
        &["s.toml:26:12: error: switch.lossless = 3: must be a list; write lossless = [3]"],
    ),
    (
        "[[traffic]]\nkind = \"poisson\"",
        "[traffic]\nkind = \"poisson\"",
        &["s.toml:44:3: error: invalid TOML: duplicate key (traffic)"],
    ),
    (
        "[probes]",
        "[[probes]]",
        &["s.toml:36:1: error: probes: must be a table; write [probes], with one pair of brackets"],
    ),
    (
        "[congestion_control]\nkind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "[x]",
        &["s.toml:31:2: error: x: unknown key; allowed: name, run, topology, interfaces, routes, faults, network, \
                switch, groups, host, congestion_control, load_balance, recovery, traffic, probes"],
    ),
    (
        "flow_control = { kind = \"pfc\", quanta = 65535 }",
        "flow_control = \"pfc\"",
        &["s.toml:28:16: error: switch.flow_control = \"pfc\": must be a table; write flow_control = { kind = \
                \"pfc\" } (allowed: none, pfc, bfc, per-flow, pyrrha, pfc-star, port-fc)"],
    ),
    (
        "pauses = true",
        "vulnerable_share = 0.0",
        &["s.toml:37:20: error: probes.vulnerable_share = 0.0: must be greater than zero"],
    ),
    ("pauses = true", "pauses = 1", &["s.toml:37:10: error: probes.pauses = 1: must be true or false"]),
    ("until = \"1 ms\"", "until = 1979-05-27", &["s.toml:5:9: error: run.until: dates are not supported"]),
    // Ranges.
    ("load = 0.5", "load = 1.7", &["s.toml:42:8: error: traffic[0].load = 1.7: must be from 0 to 1"]),
    ("load = 0.5", "load = inf", &["s.toml:42:8: error: traffic[0].load: must be a finite number"]),
    ("lossless = [3]", "lossless = [3, 8]", &["s.toml:26:16: error: switch.lossless[1] = 8: must be from 0 to 7"]),
    (
        "quanta = 65535",
        "quanta = 65536",
        &["s.toml:28:41: error: switch.flow_control.quanta = 65536: must be from 1 to 65535"],
    ),
    ("leaves = 2", "leaves = 0", &["s.toml:10:10: error: topology.leaves = 0: must be at least 1"]),
    ("gain = 0.00390625", "gain = 2", &["s.toml:34:8: error: congestion_control.gain = 2: must be from 0 to 1"]),
    (
        "mtu = \"1000 B\"",
        "mtu = \"9001 B\"",
        &["s.toml:22:7: error: network.mtu = \"9001 B\": must be from 1 B to 9000 B"],
    ),
    (
        "mtu = \"1000 B\"",
        "mtu = \"4294967295 B\"",
        &["s.toml:22:7: error: network.mtu = \"4294967295 B\": must be from 1 B to 9000 B"],
    ),
    ("mtu = \"1000 B\"", "mtu = \"0 B\"", &["s.toml:22:7: error: network.mtu = \"0 B\": must be from 1 B to 9000 B"]),
    (
        "quantum = \"1600 B\"",
        "quantum = \"1 B\"",
        &["s.toml:27:40: error: switch.scheduler.quantum = \"1 B\": must be at least 64 B"],
    ),
    (
        "pauses = true",
        "sample_interval = \"1 ps\"",
        &["s.toml:37:19: error: probes.sample_interval = \"1 ps\": must be at least 100 ns, or \"0 s\" to disable it"],
    ),
    (
        "seed = 7",
        "seed = 99999999999999999999",
        &["s.toml:4:8: error: run.seed: 99999999999999999999 is too large; must be at most 18446744073709551615"],
    ),
    // Invalid TOML.
    ("leaves = 2", "leaves = 2\nleaves = 3", &["s.toml:11:1: error: invalid TOML: duplicate key (leaves)"]),
    (
        "leaves = 2",
        "leaves = ",
        &["s.toml:10:10: error: invalid TOML: string values must be quoted, expected literal string"],
    ),
    (
        "degree = 4\nsize = \"64 KB\"\nreceivers = \"h0\"\n",
        "degree = 4\nsize = \"64 K",
        &["s.toml:47:13: error: invalid TOML: invalid basic string, expected `\"`"],
    ),
];
