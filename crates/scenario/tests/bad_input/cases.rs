//! Mistakes, each with the messages that it must bring.

/// One line changed, and all that is said about it.
pub(crate) const CASES: &[(&str, &str, &[&str])] = &[
    // Keys.
    (
        "load = 0.5",
        "lod = 0.5",
        &[
            "s.toml:39:1: error: traffic[0].load: is missing",
            "s.toml:42:1: error: traffic[0].lod: unknown key; did you mean \"load\"? (allowed: kind, tag, class, start, stop, role, sizes, load, load_of, load_counts, intra_rack, burst, hosts, destinations, exclude_receivers)",
        ],
    ),
    (
        "seed = 7",
        "sead = 7",
        &[
            "s.toml:4:1: error: run.sead: unknown key; did you mean \"seed\"? (allowed: seed, until, warmup, drain, shards)",
        ],
    ),
    (
        "[switch]",
        "[swich]",
        &[
            "s.toml:24:2: error: swich: unknown key; did you mean \"switch\"? (allowed: name, run, topology, routes, faults, network, switch, groups, host, congestion_control, load_balance, recovery, traffic, probes)",
        ],
    ),
    (
        "name = \"sound\"",
        "colour = \"red\"",
        &[
            "s.toml:1:1: error: colour: unknown key; allowed: name, run, topology, routes, faults, network, switch, groups, host, congestion_control, load_balance, recovery, traffic, probes",
        ],
    ),
    (
        "leaves = 2",
        "leaves = 2\nk = 4",
        &[
            "s.toml:11:1: error: topology.k: unknown key; it belongs to kind \"fat-tree\", \"bcube\" (allowed: kind, leaves, spines, hosts_per_leaf, host_rate, uplink_rate, delay, host_delay, uplink_delay, parallel_links, error_rate, failed_links, failed_nodes)",
        ],
    ),
    ("degree = 4", "degree = 0", &["s.toml:46:10: error: traffic[1].degree = 0: must be at least 1"]),
    (
        "degree = 4",
        "degree = [15, 1]",
        &["s.toml:46:10: error: traffic[1].degree: goes from 15 to 1: the smaller number comes first"],
    ),
    ("degree = 4", "degree = [1]", &["s.toml:46:10: error: traffic[1].degree: must have exactly 2 entries, has 1"]),
    (
        "degree = 4",
        "degree = \"4\"",
        &["s.toml:46:10: error: traffic[1].degree = \"4\": must be a whole number, at least 1; write 4 without quotes"],
    ),
    ("degree = 4", "", &["s.toml:44:1: error: traffic[1].degree: is missing"]),
    (
        "kind = \"leaf-spine\"\n",
        "",
        &[
            "s.toml:8:1: error: topology.kind: is missing; allowed: star, dumbbell, leaf-spine, fat-tree, bcube, custom, file",
        ],
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
            "s.toml:22:13: warning: host.scheduler: has no effect: no host of this topology relays, and ACKs are in the control class, which always goes first",
            "s.toml:22:40: error: host.scheduler.quantum = \"1 B\": must be at least 64 B",
        ],
    ),
    (
        "[network]",
        "[host.relay]\nheadroom = { kind = \"static\", xoff = \"10 KB\", xon = \"20 KB\" }\n[network]",
        &[
            "s.toml:21:1: warning: host.relay: has no effect: no host of this topology relays",
            "s.toml:22:53: error: host.relay.headroom.xon = \"20 KB\": must be at most xoff, 10 KB",
        ],
    ),
    // Names.
    (
        "kind = \"dcqcn\"",
        "kind = \"dcqnc\"",
        &[
            "s.toml:32:8: error: congestion_control.kind = \"dcqnc\": unknown name; did you mean \"dcqcn\"? (allowed: none, dcqcn, hpcc, timely, power-tcp, swift, pcn)",
        ],
    ),
    (
        "kind = \"pfc\"",
        "kind = \"pcf\"",
        &[
            "s.toml:28:25: error: switch.flow_control.kind = \"pcf\": unknown name; did you mean \"pfc\"? (allowed: none, pfc, bfc, per-flow, pyrrha, pfc-star, port-fc)",
        ],
    ),
    (
        "kind = \"sih\"",
        "kind = \"magic\"",
        &[
            "s.toml:29:21: error: switch.headroom.kind = \"magic\": unknown name; allowed: sih, dsh, adaptive, oversubscribed, egress, static",
        ],
    ),
    (
        "profile = \"paper\"",
        "profile = \"papper\"",
        &[
            "s.toml:33:11: error: congestion_control.profile = \"papper\": unknown name; did you mean \"paper\"? (allowed: paper, authors-ns3, hpcc-ns3, hpcc-ns3-paper, config-txt, conweave, firmware)",
        ],
    ),
    (
        "kind = \"leaf-spine\"",
        "kind = \"Leaf_Spine\"",
        &[
            "s.toml:9:8: error: topology.kind = \"Leaf_Spine\": unknown name; did you mean \"leaf-spine\"? (allowed: star, dumbbell, leaf-spine, fat-tree, bcube, custom, file)",
        ],
    ),
    // Quantities.
    (
        "\"100 Gbps\"",
        "\"100\"",
        &[
            "s.toml:13:13: error: topology.host_rate = \"100\": has no unit; write for example \"100 Gbps\" (units: bps, Kbps, Mbps, Gbps, Tbps)",
        ],
    ),
    (
        "\"100 Gbps\"",
        "100",
        &["s.toml:13:13: error: topology.host_rate = 100: must be a number with a unit, in quotes; write \"100 Gbps\""],
    ),
    (
        "\"100 Gbps\"",
        "\"100 GBit\"",
        &[
            "s.toml:13:13: error: topology.host_rate = \"100 GBit\": \"GBit\" is not a unit; did you mean \"Gbps\"? (allowed: bps, Kbps, Mbps, Gbps, Tbps)",
        ],
    ),
    (
        "\"100 Gbps\"",
        "\"fast\"",
        &[
            "s.toml:13:13: error: topology.host_rate = \"fast\": does not start with a number; write for example \"100 Gbps\"",
        ],
    ),
    (
        "\"100 Gbps\"",
        "\"0 Gbps\"\nuplink_rate = \"1 Gbps\"",
        &["s.toml:13:13: error: topology.host_rate = \"0 Gbps\": is 0 bps, must be between 1 Mbps and 100 Tbps"],
    ),
    (
        "delay = \"1 us\"",
        "delay = \"0.0001 ns\"",
        &["s.toml:14:9: error: topology.delay = \"0.0001 ns\": is finer than the base unit"],
    ),
    (
        "delay = \"1 us\"",
        "host_delay = \"0 us\"",
        &["s.toml:14:14: error: topology.host_delay = \"0 us\": is 0 ps, must be between 1 ps and 10 s"],
    ),
    (
        "\"16 MiB\"",
        "\"99999999 GB\"",
        &["s.toml:25:10: error: switch.buffer = \"99999999 GB\": must be at most 1024 GiB"],
    ),
    (
        "size = \"64 KB\"",
        "size = \"64\"",
        &[
            "s.toml:47:8: error: traffic[1].size = \"64\": has no unit; write for example \"64 B\" (units: B, KB, KiB, MB, MiB, GB, GiB)",
        ],
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
        &["s.toml:44:3: error: not TOML: duplicate key (traffic)"],
    ),
    (
        "[probes]",
        "[[probes]]",
        &["s.toml:36:1: error: probes: must be a table; write [probes], with one pair of brackets"],
    ),
    (
        "[congestion_control]\nkind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "[x]",
        &[
            "s.toml:31:2: error: x: unknown key; allowed: name, run, topology, routes, faults, network, switch, groups, host, congestion_control, load_balance, recovery, traffic, probes",
        ],
    ),
    (
        "flow_control = { kind = \"pfc\", quanta = 65535 }",
        "flow_control = \"pfc\"",
        &[
            "s.toml:28:16: error: switch.flow_control = \"pfc\": must be a table; write flow_control = { kind = \"pfc\" } (allowed: none, pfc, bfc, per-flow, pyrrha, pfc-star, port-fc)",
        ],
    ),
    (
        "pauses = true",
        "vulnerable_share = 0.0",
        &["s.toml:37:20: error: probes.vulnerable_share = 0.0: must be greater than zero"],
    ),
    ("pauses = true", "pauses = 1", &["s.toml:37:10: error: probes.pauses = 1: must be true or false"]),
    ("until = \"1 ms\"", "until = 1979-05-27", &["s.toml:5:9: error: run.until: a date has no place in a scenario"]),
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
        &["s.toml:37:19: error: probes.sample_interval = \"1 ps\": must be at least 100 ns, or \"0 s\" for off"],
    ),
    (
        "seed = 7",
        "seed = 99999999999999999999",
        &["s.toml:4:8: error: run.seed: 99999999999999999999 does not fit into 64 bits; at most 18446744073709551615"],
    ),
    // Relations.
    ("until = \"1 ms\"", "until = \"0 s\"", &["s.toml:5:9: error: run.until = \"0 s\": must be greater than zero"]),
    (
        "warmup = \"100 us\"",
        "warmup = \"1 ms\"",
        &["s.toml:6:10: error: run.warmup = \"1 ms\": must be less than run.until, 1 ms"],
    ),
    (
        "up = \"300 us\"",
        "up = \"200 us\"",
        &["s.toml:19:6: error: faults[0].up = \"200 us\": must be after the link goes down, at 200 us"],
    ),
    (
        "lossless = [3]",
        "lossless = [0, 3, 3]",
        &[
            "s.toml:26:13: error: switch.lossless[0] = 0: class 0 is the control class: it is never paused and has no headroom",
            "s.toml:26:19: error: switch.lossless[2] = 3: is listed twice",
        ],
    ),
    (
        "lossless = [3]",
        "lossless = [4]",
        &[
            "s.toml:39:1: warning: traffic[0].class: \"poisson\" is of class 3, which is not among switch.lossless: full buffers drop it",
            "s.toml:44:1: warning: traffic[1].class: \"incast\" is of class 3, which is not among switch.lossless: full buffers drop it",
        ],
    ),
    (
        "buffer = \"16 MiB\"",
        "buffer = \"100 KB\"",
        &[
            "s.toml:25:10: error: switch.buffer = \"100 KB\": must be more than the 203976 B that \"leaf0\" sets aside as headroom and private buffer (6 ports, 1 lossless class)",
        ],
    ),
    (
        "private = \"3 KB\"",
        "headroom = \"4 MiB\"",
        &[
            "s.toml:25:10: error: switch.buffer = \"16 MiB\": must be more than the 25183824 B that \"leaf0\" sets aside as headroom and private buffer (6 ports, 1 lossless class)",
        ],
    ),
    (
        "{ kind = \"sih\", alpha = 0.0625, private = \"3 KB\" }",
        "{ kind = \"static\", xoff = \"3 MB\", xon = \"4 MB\" }",
        &[
            "s.toml:29:38: warning: switch.headroom.xoff = \"3 MB\": all 6 ports of \"leaf0\" can reach it only with a buffer of 18185976 B; with 16 MiB it may drop",
            "s.toml:29:52: error: switch.headroom.xon = \"4 MB\": must be at most xoff, 3 MB",
        ],
    ),
    (
        "{ kind = \"sih\", alpha = 0.0625, private = \"3 KB\" }",
        "{ kind = \"dsh\", estimator = \"hardware\", gradient_weight = 0.3, deviation_factor = 3.0 }",
        &[
            "s.toml:29:70: error: switch.headroom.gradient_weight = 0.3: must be a power of two, 1 or less: the hardware estimator has shifts, not products",
            "s.toml:29:94: error: switch.headroom.deviation_factor = 3.0: must be a power of two, 1 or more: the hardware estimator has shifts, not products",
        ],
    ),
    (
        "{ kind = \"sih\", alpha = 0.0625, private = \"3 KB\" }",
        "{ kind = \"oversubscribed\", ratio = 1.25 }",
        &["s.toml:29:47: error: switch.headroom.ratio = 1.25: must be from 0 to 1"],
    ),
    (
        "{ kind = \"sih\", alpha = 0.0625, private = \"3 KB\" }",
        "{ kind = \"adaptive\", headroom = \"60 KB\", resolution = \"0 s\" }",
        &[
            "s.toml:29:33: error: switch.headroom.headroom: unknown key; it belongs to kind \"sih\", \"dsh\", \"oversubscribed\", \"static\" (allowed: kind, alpha, private, resolution, resume_offset)",
        ],
    ),
    (
        "flow_control = { kind = \"pfc\", quanta = 65535 }\nheadroom = { kind = \"sih\", alpha = 0.0625, private = \"3 KB\" }",
        "flow_control = { kind = \"none\" }\nheadroom = { kind = \"dsh\" }",
        &[
            "s.toml:29:12: warning: switch.headroom: dsh needs a flow control that pauses queues and ports of the neighbour, as PFC does; \"none\" does not",
        ],
    ),
    (
        "buffer = \"16 MiB\"",
        "buffer = \"16 MiB\"\nports = 4",
        &[
            "s.toml:8:1: error: topology: node \"leaf0\": it has more links than a switch has ports: 6, not 4",
            "s.toml:8:1: error: topology: node \"leaf1\": it has more links than a switch has ports: 6, not 4",
        ],
    ),
    (
        "degree = 4",
        "degree = 4\nclass = []",
        &["s.toml:47:9: error: traffic[1].class: must have at least 1 entry, has 0"],
    ),
    (
        "degree = 4",
        "degree = 4\nclass = [1, 9]",
        &["s.toml:47:13: error: traffic[1].class[1] = 9: must be from 0 to 7"],
    ),
    ("load = 0.5", "load = 0.5\nburst = 0", &["s.toml:43:9: error: traffic[0].burst = 0: must be at least 1"]),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"power-tcp\"\nvariant = \"theta\"\neta = 0.0",
        &[
            "s.toml:33:11: error: congestion_control.variant = \"theta\": unknown name; allowed: telemetry, delay",
            "s.toml:34:7: error: congestion_control.eta = 0.0: must be from 0.01 to 1",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"power-tcp\"\nmin_rate = \"0 bps\"\n[host]\nack_every = 2",
        &[
            "s.toml:33:12: error: congestion_control.min_rate = \"0 bps\": must be greater than zero",
            "s.toml:35:13: error: host.ack_every = 2: must be 1: the window of power-tcp can shrink to a packet, which would never be answered",
        ],
    ),
    (
        "gain = 0.00390625",
        "ecn = { kmin = \"500 KB\" }",
        &["s.toml:34:16: error: congestion_control.ecn.kmin = \"500 KB\": must be at most kmax, 400 KB"],
    ),
    (
        "gain = 0.00390625",
        "alpha_interval = \"1 ps\"\ndecrease_interval = \"99 ns\"\nincrease_interval = \"0 s\"\nbyte_counter = \"1 B\"\nwindow = true\n[host]\nack_every = 2",
        &[
            "s.toml:34:18: error: congestion_control.alpha_interval = \"1 ps\": must be at least 100 ns: every flow pays for every tick",
            "s.toml:35:21: error: congestion_control.decrease_interval = \"99 ns\": must be at least 100 ns, or \"0 s\" to act on every CNP at once: every flow pays for every tick",
            "s.toml:36:21: error: congestion_control.increase_interval = \"0 s\": must be at least 100 ns: every flow pays for every tick",
            "s.toml:37:16: error: congestion_control.byte_counter = \"1 B\": must be at least 100 B, or \"0 B\" for off: every flow pays for every step",
            "s.toml:40:13: error: host.ack_every = 2: must be 1: the window of dcqcn can shrink to a packet, which would never be answered",
        ],
    ),
    (
        "gain = 0.00390625",
        "alpha_interval = \"100 ns\"\ndecrease_interval = \"0 s\"\nincrease_interval = \"100 ns\"\nbyte_counter = \"100 B\"\n[host]\nack_every = 2",
        &[],
    ),
    (
        "quanta = 65535 }",
        "pause = \"quanta\", quanta = 39 }",
        &[
            "s.toml:28:59: error: switch.flow_control.quanta = 39: must be at least 40: a PAUSE is repeated after half its time, every 100 ns at most, and links have 100 Gbps",
        ],
    ),
    ("quanta = 65535 }", "pause = \"quanta\", quanta = 40 }", &[]),
    (
        "mtu = \"1000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3]\nscheduler = { kind = \"dwrr\", quantum = \"1600 B\" }\nflow_control = { kind = \"pfc\", quanta = 65535 }",
        "mtu = \"4000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3, 4]\nscheduler = { kind = \"dwrr\", quantum = \"1600 B\" }\nflow_control = { kind = \"pfc\", pause = \"quanta\", quanta = 133 }",
        &[
            "s.toml:28:59: error: switch.flow_control.quanta = 133: must be at least 134: a PAUSE is repeated after half its time, and may wait for 4266 B, a data frame and a PFC frame of every lossless class",
        ],
    ),
    (
        "mtu = \"1000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3]\nscheduler = { kind = \"dwrr\", quantum = \"1600 B\" }\nflow_control = { kind = \"pfc\", quanta = 65535 }",
        "mtu = \"4000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3, 4]\nscheduler = { kind = \"dwrr\", quantum = \"1600 B\" }\nflow_control = { kind = \"pfc\", pause = \"quanta\", quanta = 134 }",
        &[],
    ),
    (
        "[network]",
        "[[groups]]\nswitches = \"spine0\"\nflow_control = { kind = \"pfc\", pause = \"quanta\", quanta = 1 }\n[network]",
        &[
            "s.toml:23:40: error: groups[0].flow_control.pause = \"quanta\": must be that of switch.flow_control: neighbours must agree on how long a PAUSE lasts",
            "s.toml:23:59: error: groups[0].flow_control.quanta = 1: must be at least 40: a PAUSE is repeated after half its time, every 100 ns at most, and links have 100 Gbps",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"timely\"\nlow_rtt = \"600 us\"\nmin_rtt = \"0 s\"",
        &[
            "s.toml:33:11: error: congestion_control.low_rtt = \"600 us\": must be at most high_rtt, 500 us",
            "s.toml:34:11: error: congestion_control.min_rtt = \"0 s\": must be greater than zero",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\nwindow = \"1500 B\"\n[host]\nack_every = 3",
        &[
            "s.toml:33:10: error: congestion_control.window = \"1500 B\": must be at least 2001 B: an ACK answers host.ack_every packets",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\nwindow = \"bpd\"",
        &[
            "s.toml:33:10: error: congestion_control.window = \"bpd\": does not start with a number; write for example \"64 KB\", or \"bdp\"",
        ],
    ),
    (
        "[probes]",
        "[load_balance]\nkind = \"spray\"\n[probes]",
        &[
            "s.toml:37:8: warning: load_balance.kind = \"spray\": spray reorders packets, and go-back-n takes each reordering for a loss; in-any-order does not",
        ],
    ),
    ("[probes]", "[load_balance]\nkind = \"drill\"\n[recovery]\nkind = \"in-any-order\"\n[probes]", &[]),
    (
        "[probes]",
        "[recovery]\nkind = \"in-any-order\"\nroom = 0\n[probes]",
        &["s.toml:38:8: error: recovery.room = 0: must be from 1 to 65536"],
    ),
    (
        "[probes]",
        "[load_balance]\nkind = \"drill\"\nsamples = 0\n[probes]",
        &["s.toml:38:11: error: load_balance.samples = 0: must be from 1 to 64"],
    ),
    (
        "[probes]",
        "[load_balance]\nkind = \"letflow\"\nflowlet_timeout = \"0 s\"\n[recovery]\nkind = \"in-any-order\"\n[probes]",
        &["s.toml:38:19: error: load_balance.flowlet_timeout = \"0 s\": must be greater than zero"],
    ),
    (
        "[probes]",
        "[load_balance]\nkind = \"letflow\"\nflowlet_timeout = \"3 ms\"\n[probes]",
        &["s.toml:38:19: error: load_balance.flowlet_timeout = \"3 ms\": must be at most aging, 2 ms"],
    ),
    (
        "[probes]",
        "[load_balance]\nkind = \"letflow\"\nflowlet_timeout = \"49 us\"\n[probes]",
        &[
            "s.toml:37:8: warning: load_balance.kind = \"letflow\": letflow reorders packets, and go-back-n takes each reordering for a loss; in-any-order does not",
        ],
    ),
    ("[probes]", "[load_balance]\nkind = \"letflow\"\n[probes]", &[]),
    ("[probes]", "[load_balance]\nkind = \"conga\"\n[probes]", &[]),
    (
        "[probes]",
        "[load_balance]\nkind = \"conga\"\nbits = 9\n[probes]",
        &["s.toml:38:8: error: load_balance.bits = 9: must be from 1 to 8"],
    ),
    (
        "[probes]",
        "[load_balance]\nkind = \"conga\"\naging = \"10 us\"\ndre_period = \"0 s\"\nalpha = 0.0\n[probes]",
        &[
            "s.toml:36:1: error: load_balance.flowlet_timeout: must be at most aging, 10 us",
            "s.toml:39:14: error: load_balance.dre_period = \"0 s\": must be greater than zero",
            "s.toml:40:9: error: load_balance.alpha = 0.0: must be greater than zero",
        ],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"",
        "kind = \"fat-tree\"\nk = 4\n[load_balance]\nkind = \"conga\"",
        &[
            "s.toml:11:1: error: load_balance: conga's leaves choose between uplinks, one for each path to another leaf: there can be 2 layers of switches, and there are 3",
        ],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"",
        "kind = \"custom\"\nhosts = [\"h0\", \"h1\"]\nswitches = [\"a\", \"b\"]\nlinks = [{ a = \"h0\", b = \"a\" }, { a = \"h0\", b = \"b\" }, { a = \"h1\", b = \"a\" }]\n[load_balance]\nkind = \"conga\"",
        &[
            "s.toml:13:1: error: load_balance: conga's tables are from leaf to leaf: a host must have one link, and there are hosts with several",
        ],
    ),
    (
        "degree = 4",
        "degree = 4\nclass = 0",
        &["s.toml:47:9: error: traffic[1].class = 0: class 0 is for control frames alone"],
    ),
    // The fabric.
    (
        "[\"leaf0\", \"spine1\"]",
        "[\"leaf0\", \"spin1\"]",
        &["s.toml:17:18: error: faults[0].link[1] = \"spin1\": there is no such node; did you mean \"spine1\"?"],
    ),
    (
        "[\"leaf0\", \"spine1\"]",
        "[\"leaf0\", \"leaf1\"]",
        &["s.toml:17:8: error: faults[0].link: there is no link between \"leaf0\" and \"leaf1\""],
    ),
    (
        "[\"leaf0\", \"spine1\"]",
        "[\"leaf0\"]",
        &["s.toml:17:8: error: faults[0].link: must have exactly 2 entries, has 1"],
    ),
    (
        "down = \"200 us\"",
        "down = \"200 us\"\nparallel = 1",
        &[
            "s.toml:19:12: error: faults[0].parallel = 1: must be less than 1, the number of links between \"leaf0\" and \"spine1\"",
        ],
    ),
    (
        "[network]",
        "[[faults]]\nlink = [\"spine1\", \"leaf0\"]\ndown = \"250 us\"\n[network]",
        &[
            "s.toml:23:8: error: faults[1].down = \"250 us\": the link between \"spine1\" and \"leaf0\" is down already at that time, or comes back just then",
        ],
    ),
    (
        "[network]",
        "[[routes]]\nat = \"leaf0\"\nto = \"h9\"\nnext = \"leaf1\"\n[[routes]]\nat = \"leef*\"\nto = \"h1\"\nnext = \"spine0\"\n[network]",
        &[
            "s.toml:23:6: error: routes[0].to = \"h9\": there is no host \"h9\"",
            "s.toml:26:6: error: routes[1].at = \"leef*\": no switch has a name like \"leef*\"; the first switch is called \"leaf0\"",
        ],
    ),
    (
        "[network]",
        "[[routes]]\nat = \"leaf*\"\nto = \"h7\"\nnext = \"leaf1\"\n[network]",
        &[
            "s.toml:24:8: error: routes[0].next = \"leaf1\": there is no link from \"leaf0\" to \"leaf1\"",
            "s.toml:24:8: error: routes[0].next = \"leaf1\": there is no link from \"leaf1\" to \"leaf1\"",
        ],
    ),
    (
        "[congestion_control]",
        "[[groups]]\nswitches = [\"spine0\", \"h0\"]\n[[groups]]\nswitches = \"spine*\"\nflow_control = { kind = \"pyrhra\" }\n[congestion_control]",
        &[
            "s.toml:32:23: error: groups[0].switches[1] = \"h0\": \"h0\" is a host, not a switch",
            "s.toml:35:25: error: groups[1].flow_control.kind = \"pyrhra\": unknown name; did you mean \"pyrrha\"? (allowed: none, pfc, bfc, per-flow, pyrrha, pfc-star, port-fc)",
        ],
    ),
    (
        "[congestion_control]",
        "[[groups]]\nswitches = \"spine0\"\nheadroom = { kind = \"static\", xoff = \"10 KB\", xon = \"20 KB\" }\n[[groups]]\nswitches = \"spine*\"\n[congestion_control]",
        &[
            "s.toml:33:53: error: groups[0].headroom.xon = \"20 KB\": must be at most xoff, 10 KB",
            "s.toml:34:1: warning: groups[1]: has no effect: it sets neither flow_control nor headroom",
            "s.toml:35:12: error: groups[1].switches = \"spine*\": \"spine0\" is in another group already",
        ],
    ),
    (
        "[network]",
        "[[routes]]\nat = \"leaf0\"\nto = \"h7\"\nnext = \"h2\"\n[network]",
        &["s.toml:24:8: error: routes[0].next = \"h2\": host \"h2\" does not forward packets of others"],
    ),
    (
        "flow_control = { kind = \"pfc\", quanta = 65535 }",
        "flow_control = { kind = \"pyrrha\", pause = 1.0, resume = 2.0 }",
        &[
            "s.toml:28:25: warning: switch.flow_control.kind = \"pyrrha\": pyrrha bounds queues, not what comes in by a port, where it would drop: lossless = [] and headroom = { kind = \"static\" } share all of the buffer",
            "s.toml:28:57: error: switch.flow_control.resume = 2.0: must be at most pause, 1",
        ],
    ),
    (
        "[network]",
        "[[groups]]\nswitches = \"*\"\nflow_control = { kind = \"pyrrha\" }\n[network]",
        &[
            "s.toml:23:25: warning: groups[0].flow_control.kind = \"pyrrha\": pyrrha bounds queues, not what comes in by a port, where it would drop: lossless = [] and headroom = { kind = \"static\" } share all of the buffer",
        ],
    ),
    (
        "[network]",
        "[[groups]]\nswitches = [\"leaf1\", \"spine*\"]\nflow_control = { kind = \"pyrrha\" }\n[network]",
        &[
            "s.toml:23:25: warning: groups[0].flow_control.kind = \"pyrrha\": pyrrha bounds queues, not what comes in by a port, where it would drop: headroom = { kind = \"static\", xoff = \"16 MiB\", headroom = \"0 B\" } shares all of the buffer",
        ],
    ),
    (
        "[network]",
        "[[groups]]\nswitches = \"spine0\"\nflow_control = { kind = \"pyrrha\" }\n[[groups]]\nswitches = \"leaf0\"\nheadroom = { kind = \"static\", xoff = \"4 MB\" }\n[network]",
        &[
            "s.toml:26:38: warning: groups[1].headroom.xoff = \"4 MB\": all 6 ports of \"leaf0\" can reach it only with a buffer of 24185976 B; with 16 MiB it may drop",
        ],
    ),
    (
        "[network]",
        "[[groups]]\nswitches = \"spine0\"\nflow_control = { kind = \"pfc\", pause = \"quanta\" }\n[network]",
        &[
            "s.toml:23:40: error: groups[0].flow_control.pause = \"quanta\": must be that of switch.flow_control: neighbours must agree on how long a PAUSE lasts",
        ],
    ),
    (
        "[network]",
        "[[groups]]\nswitches = \"leaf1\"\nflow_control = { kind = \"pfc\", response = \"1 us\" }\n[[groups]]\nswitches = \"spine0\"\nflow_control = { kind = \"pyrrha\" }\n[network]",
        &[
            "s.toml:23:16: error: groups[0].flow_control: must have the options of switch.flow_control: a switch with pyrrha uses the same at all its borders",
        ],
    ),
    (
        "[congestion_control]\nkind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "[host]\nack_every = 200\n[congestion_control]\nkind = \"none\"\nwindow = \"bdp\"",
        &[
            "s.toml:32:13: error: host.ack_every = 200: so many packets do not fit into a window of 104672 B: they would never be answered",
        ],
    ),
    // What relaying hosts' buffers hold.
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n",
        "kind = \"bcube\"\nn = 4\n[host.relay]\nbuffer = \"10 KB\"\n",
        &[
            "s.toml:12:10: error: host.relay.buffer = \"10 KB\": must be more than the 67992 B that \"h0.0\" sets aside as headroom and private buffer (2 ports, 1 lossless class)",
        ],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n",
        "kind = \"bcube\"\nn = 4\n[host.relay]\nbuffer = \"1 MB\"\nheadroom = { kind = \"static\", xoff = \"1 MB\" }\n",
        &[
            "s.toml:13:38: warning: host.relay.headroom.xoff = \"1 MB\": all 2 ports of \"h0.0\" can reach it only with a buffer of 2061992 B; with 1 MB it may drop",
        ],
    ),
    // One failure must be over before the next begins.
    (
        "[network]",
        "[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"300 us\"\nup = \"400 us\"\n[network]",
        &[
            "s.toml:23:8: error: faults[1].down = \"300 us\": the link between \"leaf0\" and \"spine1\" is down already at that time, or comes back just then",
        ],
    ),
    // BCube: how large it may be, what its layers have, and what has failed.
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n",
        "kind = \"bcube\"\nn = 2\nk = 3\nrate = [\"1 Gbps\", \"1 Gbps\", \"1 Gbps\", \"1 Gbps\"]",
        &[
            "s.toml:11:5: error: topology.k = 3: is 3, must be 0, 1 or 2: a path would have up to 8 links, and a route holds 7; flow control is worked out up to k = 2",
        ],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n",
        "kind = \"bcube\"\nn = 4294967295\nk = 4294967295",
        &[
            "s.toml:10:5: error: topology.n = 4294967295: asks for 237684487376772316155900592125 links in all, must be at most 4194304",
            "s.toml:11:5: error: topology.k = 4294967295: is 4294967295, must be 0, 1 or 2: a path would have up to 8589934592 links, and a route holds 7; flow control is worked out up to k = 2",
        ],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n",
        "kind = \"bcube\"\nn = 100000\nk = 2\nrate = [\"1 Gbps\", \"0 bps\"]\ndelay = []",
        &[
            "s.toml:10:5: error: topology.n = 100000: asks for 3000000000000000 links in all, must be at most 4194304",
            "s.toml:12:8: error: topology.rate: has 2 values, must have 3, one for each layer",
            "s.toml:12:19: error: topology.rate[1] = \"0 bps\": is 0 bps, must be between 1 Mbps and 100 Tbps",
            "s.toml:13:9: error: topology.delay: has 0 values, must have 3, one for each layer",
        ],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n",
        "kind = \"bcube\"\nn = 4\nrate = [\"1 Gbps\", 2]\ndelay = true",
        &[
            "s.toml:11:19: error: topology.rate[1] = 2: must be a number with a unit, in quotes; write \"2 Gbps\"",
            "s.toml:12:9: error: topology.delay = true: must be a number with a unit, in quotes",
        ],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n",
        "kind = \"bcube\"\nn = 4\nfailed_nodes = [\"h1.2\", \"h4.0\", \"h1.2\"]",
        &[
            "s.toml:11:25: error: topology.failed_nodes[1] = \"h4.0\": there is no node \"h4.0\"; did you mean \"h0.0\"?",
            "s.toml:11:33: error: topology.failed_nodes[2] = \"h1.2\": \"h1.2\" is listed twice",
        ],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n",
        "kind = \"bcube\"\nn = 4\nfailed_nodes = [\"h0.0\"]\n[[faults]]\nlink = [\"h0.0\", \"s0.0\"]\ndown = \"1 us\"",
        &["s.toml:13:8: error: faults[0].link: there is no link between \"h0.0\" and \"s0.0\""],
    ),
    // BCube: one layer has one delay; a server forwards what comes by a route set by hand; and groups of one layer border on the other's.
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"",
        "kind = \"bcube\"\nn = 2\nk = 0\ndelay = \"0 s\"",
        &["s.toml:12:9: error: topology.delay = \"0 s\": is 0 ps, must be between 1 ps and 10 s"],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n",
        "kind = \"bcube\"\nn = 4\n[[routes]]\nat = \"s0.0\"\nto = \"h1.1\"\nnext = \"h0.1\"\n[[groups]]\nswitches = \"s1.*\"\nflow_control = { kind = \"none\" }\n",
        &[
            "s.toml:15:1: warning: groups: \"s0.0\" runs pfc and \"s1.0\" none: neither stops the other, and full buffers drop",
        ],
    ),
    // Servers that pass PAUSEs on and cannot hold what is on its way.
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n\n[network]\nmtu = \"1000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3]\nscheduler = { kind = \"dwrr\", quantum = \"1600 B\" }\nflow_control = { kind = \"pfc\", quanta = 65535 }\nheadroom = { kind = \"sih\", alpha = 0.0625, private = \"3 KB\" }",
        "kind = \"bcube\"\nn = 4\n[switch]\nflow_control = { kind = \"pfc\", relays = \"forward\" }\nheadroom = { kind = \"static\" }\n[host.relay]\nbuffer = \"9 MB\"\nheadroom = { kind = \"static\" }",
        &[
            "s.toml:15:10: warning: host.relay.buffer = \"9 MB\": bounds what hosts hold that relay and pass PAUSEs on: they may drop lossless packets",
            "s.toml:16:12: warning: host.relay.headroom: bounds what hosts hold that relay and pass PAUSEs on: they may drop lossless packets",
        ],
    ),
    // PortFC where no server relays, and with thresholds that cross; PFC* with too few classes, or with traffic in another than the lowest.
    (
        "kind = \"pfc\", quanta = 65535",
        "kind = \"port-fc\"",
        &[
            "s.toml:28:16: error: switch.flow_control: port-fc is for switches that have servers only: its queues name a port of the switch after next, behind a server that relays, and here switches are linked to switches",
            "s.toml:28:25: warning: switch.flow_control.kind = \"port-fc\": port-fc bounds queues, not what comes in by a port, where it would drop: headroom = { kind = \"static\", xoff = \"16 MiB\", headroom = \"0 B\" } shares all of the buffer",
        ],
    ),
    (
        "kind = \"pfc\", quanta = 65535",
        "kind = \"port-fc\", xoff = 0.0, last_xoff = 2.0",
        &[
            "s.toml:28:16: error: switch.flow_control.xon: a port must be resumed at 4 BDPs, which must be from 0 to 0, where it is paused",
            "s.toml:28:25: warning: switch.flow_control.kind = \"port-fc\": port-fc bounds queues, not what comes in by a port, where it would drop: headroom = { kind = \"static\", xoff = \"16 MiB\", headroom = \"0 B\" } shares all of the buffer",
            "s.toml:28:43: error: switch.flow_control.xoff = 0.0: must be greater than zero and at most 1000000",
            "s.toml:28:60: error: switch.flow_control.last_xoff = 2.0: a port must be resumed at 4 BDPs, which must be from 0 to 2, where it is paused",
        ],
    ),
    (
        "kind = \"pfc\", quanta = 65535",
        "kind = \"port-fc\", xon = 7.0, last_xon = -1.0",
        &[
            "s.toml:28:25: warning: switch.flow_control.kind = \"port-fc\": port-fc bounds queues, not what comes in by a port, where it would drop: headroom = { kind = \"static\", xoff = \"16 MiB\", headroom = \"0 B\" } shares all of the buffer",
            "s.toml:28:42: error: switch.flow_control.xon = 7.0: a port must be resumed at 7 BDPs, which must be from 0 to 6, where it is paused",
            "s.toml:28:58: error: switch.flow_control.last_xon = -1.0: a port must be resumed at -1 BDPs, which must be from 0 to 6, where it is paused",
        ],
    ),
    (
        "kind = \"pfc\", quanta = 65535",
        "kind = \"pfc-star\"",
        &[
            "s.toml:28:16: error: switch.flow_control: pfc-star needs a lossless class for every switch that a packet passes, 3 in all, and switch.lossless has 1",
        ],
    ),
    (
        "lossless = [3]\nscheduler = { kind = \"dwrr\", quantum = \"1600 B\" }\nflow_control = { kind = \"pfc\", quanta = 65535 }",
        "lossless = []\nflow_control = { kind = \"pfc-star\" }",
        &[
            "s.toml:26:12: warning: switch.lossless: no class is lossless, so pfc-star has nothing to do",
            "s.toml:27:16: error: switch.flow_control: pfc-star needs a lossless class for every switch that a packet passes, 3 in all, and switch.lossless has 0",
            "s.toml:38:1: warning: traffic[0].class: \"poisson\" is of class 3, which is not among switch.lossless: full buffers drop it",
            "s.toml:43:1: warning: traffic[1].class: \"incast\" is of class 3, which is not among switch.lossless: full buffers drop it",
        ],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n\n[network]\nmtu = \"1000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3]\nscheduler = { kind = \"dwrr\", quantum = \"1600 B\" }\nflow_control = { kind = \"pfc\", quanta = 65535 }\nheadroom = { kind = \"sih\", alpha = 0.0625, private = \"3 KB\" }",
        "kind = \"bcube\"\nn = 4\n[switch]\nlossless = [2, 3]\nflow_control = { kind = \"pfc-star\" }\nheadroom = { kind = \"static\" }",
        &[
            "s.toml:24:1: error: traffic[0].class: must be 2, the lowest of switch.lossless: pfc-star puts packets into the next class",
            "s.toml:29:1: error: traffic[1].class: must be 2, the lowest of switch.lossless: pfc-star puts packets into the next class",
        ],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n\n[network]\nmtu = \"1000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3]\nscheduler = { kind = \"dwrr\", quantum = \"1600 B\" }\nflow_control = { kind = \"pfc\", quanta = 65535 }\nheadroom = { kind = \"sih\", alpha = 0.0625, private = \"3 KB\" }",
        "kind = \"bcube\"\nn = 4\n[switch]\nlossless = [3, 4]\nflow_control = { kind = \"pfc-star\" }\nheadroom = { kind = \"static\" }\n[host]\nack_class = 4",
        &[
            "s.toml:16:13: error: host.ack_class = 4: must be 0 or 3, the lowest of switch.lossless: pfc-star puts packets into the next class",
        ],
    ),
    // PortFC where it promises nothing; what a server cannot forward.
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n\n[network]\nmtu = \"1000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3]\nscheduler = { kind = \"dwrr\", quantum = \"1600 B\" }\nflow_control = { kind = \"pfc\", quanta = 65535 }\nheadroom = { kind = \"sih\", alpha = 0.0625, private = \"3 KB\" }",
        "kind = \"bcube\"\nn = 2\nk = 2\n[switch]\nbuffer = \"5 MB\"\nflow_control = { kind = \"port-fc\" }\nheadroom = { kind = \"static\", xoff = \"5 MB\", headroom = \"0 B\" }",
        &[
            "s.toml:14:25: warning: switch.flow_control.kind = \"port-fc\": may lose packets: packets pass up to 3 switches; a PAUSE because of type A ends at the server before, so that those from two switches before are not stopped",
        ],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n\n[network]\nmtu = \"1000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3]\nscheduler = { kind = \"dwrr\", quantum = \"1600 B\" }\nflow_control = { kind = \"pfc\", quanta = 65535 }\nheadroom = { kind = \"sih\", alpha = 0.0625, private = \"3 KB\" }",
        "kind = \"bcube\"\nn = 8\n[switch]\nbuffer = \"5 MB\"\nflow_control = { kind = \"port-fc\" }\nheadroom = { kind = \"static\", xoff = \"5 MB\", headroom = \"0 B\" }\n[host]\nrelay = { rate = \"0 bps\" }",
        &["s.toml:16:18: error: host.relay.rate = \"0 bps\": is 0 bps, must be between 1 Mbps and 100 Tbps"],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n\n[network]\nmtu = \"1000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3]\nscheduler = { kind = \"dwrr\", quantum = \"1600 B\" }\nflow_control = { kind = \"pfc\", quanta = 65535 }\nheadroom = { kind = \"sih\", alpha = 0.0625, private = \"3 KB\" }",
        "kind = \"bcube\"\nn = 8\n[switch]\nbuffer = \"5 MB\"\nflow_control = { kind = \"port-fc\" }\nheadroom = { kind = \"static\", xoff = \"5 MB\", headroom = \"0 B\" }\n[host]\nrelay = { buffer = \"0 B\" }",
        &[
            "s.toml:16:20: error: host.relay.buffer = \"0 B\": must be more than the 0 B that \"h0.0\" sets aside as headroom and private buffer (2 ports, 1 lossless class)",
            "s.toml:16:20: warning: host.relay.buffer = \"0 B\": bounds what hosts hold that relay and pass PAUSEs on: they may drop lossless packets",
        ],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n\n[network]\nmtu = \"1000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3]\nscheduler = { kind = \"dwrr\", quantum = \"1600 B\" }\nflow_control = { kind = \"pfc\", quanta = 65535 }\nheadroom = { kind = \"sih\", alpha = 0.0625, private = \"3 KB\" }",
        "kind = \"bcube\"\nn = 8\n[switch]\nbuffer = \"5 MB\"\nflow_control = { kind = \"port-fc\" }\nheadroom = { kind = \"static\", xoff = \"5 MB\", headroom = \"0 B\" }",
        &[
            "s.toml:13:25: warning: switch.flow_control.kind = \"port-fc\": may lose packets: the ports of a switch may come to hold 5633272 B in all, and its buffer has 5000000 B",
        ],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n\n[network]\nmtu = \"1000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3]\nscheduler = { kind = \"dwrr\", quantum = \"1600 B\" }\nflow_control = { kind = \"pfc\", quanta = 65535 }\nheadroom = { kind = \"sih\", alpha = 0.0625, private = \"3 KB\" }",
        "kind = \"bcube\"\nn = 4\n[switch]\nflow_control = { kind = \"port-fc\" }\n[load_balance]\nkind = \"spray\"\n[recovery]\nkind = \"in-any-order\"",
        &[
            "s.toml:12:16: error: switch.flow_control: port-fc has to know the way of every packet; load_balance must be ecmp",
            "s.toml:12:25: warning: switch.flow_control.kind = \"port-fc\": port-fc bounds queues, not what comes in by a port, where it would drop: headroom = { kind = \"static\", xoff = \"16 MiB\", headroom = \"0 B\" } shares all of the buffer",
        ],
    ),
    // What has no effect.
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"swift\"\nfs_range = \"0 s\"\nfs_max_cwnd = 9.0\n[recovery]\nkind = \"irn\"\nbitmap = 20\nbdp_cap = \"1 MB\"",
        &[
            "s.toml:34:15: error: congestion_control.fs_max_cwnd = 9.0: has no effect: fs_range is 0 s",
            "s.toml:38:11: warning: recovery.bdp_cap = \"1 MB\": comes to what the bitmap holds, 20 packets or 20 KB",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[recovery]\nkind = \"irn\"\nbitmap = 20\nbdp_cap = \"1 MB\"\n[[groups]]\nswitches = \"leaf0\"",
        &[
            "s.toml:36:11: warning: recovery.bdp_cap = \"1 MB\": comes to what the bitmap holds, 20 packets or 20 KB",
            "s.toml:37:1: warning: groups[0]: has no effect: it sets neither flow_control nor headroom",
        ],
    ),
    (
        "down = \"200 us\"\nup = \"300 us\"\n\n[network]",
        "down = \"20 s\"\n[network]\nreconvergence = \"1 us\"",
        &["s.toml:20:17: warning: network.reconvergence = \"1 us\": has no effect: no link fails during the run"],
    ),
    (
        "[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n\n[network]",
        "[host.relay]\ndelay = \"1 us\"\n[network]\nreconvergence = \"1 ms\"",
        &[
            "s.toml:16:1: warning: host.relay: has no effect: no host of this topology relays",
            "s.toml:19:17: warning: network.reconvergence = \"1 ms\": has no effect: no link fails during the run",
        ],
    ),
    (
        "[network]",
        "[host]\nscheduler = { kind = \"fair\" }\n[network]",
        &[
            "s.toml:22:13: warning: host.scheduler: has no effect: no host of this topology relays, and ACKs are in the control class, which always goes first",
        ],
    ),
    ("[network]", "[host]\nscheduler = { kind = \"relay-first\" }\n[network]", &[]),
    ("[network]", "[host]\nscheduler = { kind = \"fair\" }\nack_class = 3\n[network]", &[]),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n",
        "kind = \"bcube\"\nn = 4\n[host]\nscheduler = { kind = \"fair\" }\nrelay = { congestion_point = true }\n",
        &[],
    ),
    (
        "kind = \"pfc\", quanta",
        "kind = \"pfc\", relays = \"forward\", quanta",
        &[
            "s.toml:28:41: warning: switch.flow_control.relays = \"forward\": has no effect: no host of this topology relays",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"swift\"\nqueueing = \"4 us\"\nbase_target = \"20 us\"\nfs_min_cwnd = 100\nmin_cwnd = 0.0\n[host]\nack_every = 2",
        &[
            "s.toml:33:12: error: congestion_control.queueing = \"4 us\": has no effect: base_target is set, by itself or by the profile",
            "s.toml:35:15: error: congestion_control.fs_min_cwnd = 100: must be less than fs_max_cwnd, 100",
            "s.toml:36:12: error: congestion_control.min_cwnd = 0.0: must be greater than zero",
            "s.toml:38:13: error: host.ack_every = 2: must be 1: the window of swift can shrink to a packet, which would never be answered",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"swift\"\nprofile = \"htsim\"\nqueueing = \"4 us\"",
        &[
            "s.toml:34:12: error: congestion_control.queueing = \"4 us\": has no effect: base_target is set, by itself or by the profile",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"swift\"\nmin_cwnd = 20\nmax_cwnd = 10\ninitial_cwnd = 15",
        &[
            "s.toml:33:12: error: congestion_control.min_cwnd = 20: must be at most max_cwnd, 10",
            "s.toml:35:16: error: congestion_control.initial_cwnd = 15: must be at most max_cwnd, 10",
            "s.toml:35:16: error: congestion_control.initial_cwnd = 15: must be at least min_cwnd, 20",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"swift\"\nbase_target = \"3 us\"\nper_hop = \"1 us\"",
        &[
            "s.toml:33:15: warning: congestion_control.base_target = \"3 us\": over 4 links the target delay is 7 us, and base round-trip times are up to 8373.76 ns: packets are late without any queue, and rates collapse",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"swift\"\nbase_target = \"0 s\"\nper_hop = \"2093 ns\"",
        &[
            "s.toml:33:15: warning: congestion_control.base_target = \"0 s\": over 4 links the target delay is 8.372 us, and base round-trip times are up to 8373.76 ns: packets are late without any queue, and rates collapse",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"swift\"\nbase_target = \"1 us\"\nper_hop = \"2093 ns\"",
        &[],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"pcn\"\nperiod = \"99 ns\"\nw_min = 0.75\nmin_rate = \"0 bps\"\nthreshold_rate = \"40 Gbps\"",
        &[
            "s.toml:33:10: error: congestion_control.period = \"99 ns\": must be at least 100 ns: every flow pays for every tick",
            "s.toml:34:9: error: congestion_control.w_min = 0.75: must be at most w_max, 0.5",
            "s.toml:35:12: error: congestion_control.min_rate = \"0 bps\": must be greater than zero",
            "s.toml:36:18: error: congestion_control.threshold_rate = \"40 Gbps\": has no effect without threshold",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"pcn\"\nw_min = 0.0\nthreshold = \"40 KB\"\nthreshold_rate = \"0 bps\"",
        &[
            "s.toml:33:9: error: congestion_control.w_min = 0.0: must be greater than zero",
            "s.toml:35:18: error: congestion_control.threshold_rate = \"0 bps\": must be greater than zero",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"pcn\"\nthreshold = \"40 KB\"\nthreshold_rate = \"40 Gbps\"\n[host]\nack_every = 8",
        &[],
    ),
    (
        "[congestion_control]\nkind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "[host]\nack_every = 4\n[congestion_control]\nkind = \"timely\"\nwindow = true",
        &[
            "s.toml:32:13: error: host.ack_every = 4: must be 1: the window of timely can shrink to a packet, which would never be answered",
        ],
    ),
    (
        "receivers = \"h0\"",
        "receivers = \"host0\"",
        &["s.toml:48:13: error: traffic[1].receivers = \"host0\": there is no host \"host0\""],
    ),
    (
        "leaves = 2",
        "leaves = 2\nfailed_links = [[\"h0\", \"leaf0\"]]",
        &["s.toml:8:1: error: topology: host \"h0\" has no link"],
    ),
    (
        "host_rate = \"100 Gbps\"",
        "error_rate = 1.0",
        &["s.toml:13:14: error: topology.error_rate = 1.0: is 1, must be at least 0 and less than 1"],
    ),
    (
        "degree = 4\nsize = \"64 KB\"\nreceivers = \"h0\"",
        "tag = \"ring\"\ndegree = 4",
        &["s.toml:44:1: error: traffic[1].size: give either `size` or `total`"],
    ),
    (
        "sizes = \"websearch-dctcp\"",
        "sizes = \"websarch-dctcp\"",
        &[
            "s.toml:41:9: error: traffic[0].sizes = \"websarch-dctcp\": there is no size distribution \"websarch-dctcp\"; did you mean \"websearch-dctcp\"?",
        ],
    ),
    (
        "sizes = \"websearch-dctcp\"",
        "sizes = { path = \"nowhere.txt\" }",
        &[
            "s.toml:41:18: error: traffic[0].sizes.path = \"nowhere.txt\": nowhere.txt: No such file or directory (os error 2)",
        ],
    ),
    (
        "sizes = \"websearch-dctcp\"",
        "sizes = { fixed = \"1 KB\", name = \"x\" }",
        &["s.toml:41:9: error: traffic[0].sizes: give exactly one of `name`, `path`, `fixed` and `uniform`"],
    ),
    (
        "sizes = \"websearch-dctcp\"",
        "sizes = 1000",
        &["s.toml:41:9: error: traffic[0].sizes = 1000: must be a number with a unit, in quotes; write \"1000 B\""],
    ),
    (
        "leaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"",
        "leaves = 2\nspines = 2\nhosts_per_leaf = 4\nfailed_links = [[\"leaf0\", \"spine0\"], [\"leaf0\", \"spine1\"]]",
        &[
            "s.toml:8:1: error: topology: no path leads from host \"h0\" to \"h4\", \"h5\", \"h6\", \"h7\"; hosts that do not relay forward nothing: link the switches",
        ],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"",
        "kind = \"custom\"\nhosts = [\"a\", \"a\"]\nswitches = [\"s\"]\nlinks = [{ a = \"a\", b = \"s\" }]",
        &[
            "s.toml:8:1: error: topology: the name \"a\" is given to two nodes",
            "s.toml:8:1: error: topology: host \"a\" has no link",
        ],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"",
        "kind = \"file\"\npath = \"nowhere.txt\"",
        &[
            "s.toml:10:8: error: topology.path = \"nowhere.txt\": ./nowhere.txt:1:1: cannot be read: No such file or directory (os error 2)",
        ],
    ),
    (
        "kind = \"poisson\"\nsizes = \"websearch-dctcp\"\nload = 0.5",
        "kind = \"flows\"\nflows = [{ src = \"h0\", dst = \"h7\", bytes = \"0 B\" }, { src = \"h1\", dst = \"h1\" }, { src = \"leaf0\", dst = \"h1\" }]",
        &[
            "s.toml:41:44: error: traffic[0].flows[0].bytes = \"0 B\": is 0 B, must be at least 1 B",
            "s.toml:41:73: error: traffic[0].flows[1].dst = \"h1\": \"h1\" would send to itself",
            "s.toml:41:89: error: traffic[0].flows[2].src = \"leaf0\": \"leaf0\" is a switch, not a host",
        ],
    ),
    (
        "kind = \"poisson\"\nsizes = \"websearch-dctcp\"\nload = 0.5",
        "kind = \"flows\"\nflows = [{ src = \"h0\", dst = \"h7\", bytes = \"1 KB\", data_via = [\"leaf0\", \"leaf1\", \"leaf0\", \"leaf1\", \"leaf0\", \"leaf1\", \"leaf0\", \"leaf1\"] }]",
        &[
            "s.toml:39:1: error: traffic[0]: the flow from \"h0\" to \"h7\": its pinned path has more than 7 hops, or a port beyond 255",
        ],
    ),
    (
        "kind = \"poisson\"\nsizes = \"websearch-dctcp\"\nload = 0.5",
        "kind = \"flows\"\nflows = [{ src = \"h0\", dst = \"h7\", bytes = \"1 KB\", data_via = [\"leaf1\", \"leaf0\", \"spine7\"] }]",
        &[
            "s.toml:41:82: error: traffic[0].flows[0].data_via[2] = \"spine7\": there is no switch or relay \"spine7\"; did you mean \"spine0\"?",
        ],
    ),
    (
        "kind = \"poisson\"\nsizes = \"websearch-dctcp\"\nload = 0.5",
        "kind = \"long-lived\"\npairs = [[\"h0\", \"h9\"], [\"h1\"]]",
        &["s.toml:41:24: error: traffic[0].pairs[1]: must have exactly 2 entries, has 1"],
    ),
    // The text.
    ("leaves = 2", "leaves = 2\nleaves = 3", &["s.toml:11:1: error: not TOML: duplicate key (leaves)"]),
    (
        "leaves = 2",
        "leaves = ",
        &["s.toml:10:10: error: not TOML: string values must be quoted, expected literal string"],
    ),
    (
        "degree = 4\nsize = \"64 KB\"\nreceivers = \"h0\"\n",
        "degree = 4\nsize = \"64 K",
        &["s.toml:47:13: error: not TOML: invalid basic string, expected `\"`"],
    ),
];
