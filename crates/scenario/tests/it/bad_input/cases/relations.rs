//! Options that contradict each other.

use super::{Case, TOPOLOGY};

pub(super) const CASES: &[Case] = &[
    ("until = \"1 ms\"", "until = \"0 s\"", &["s.toml:5:9: error: run.until = \"0 s\": must be greater than zero"]),
    (
        "warmup = \"100 us\"",
        "warmup = \"1 ms\"",
        &["s.toml:6:10: error: run.warmup = \"1 ms\": must be less than run.until (1 ms)"],
    ),
    (
        "up = \"300 us\"",
        "up = \"200 us\"",
        &["s.toml:19:6: error: faults[0].up = \"200 us\": must be after the failure at 200 us"],
    ),
    (
        "lossless = [3]",
        "lossless = [0, 3, 3]",
        &[
            "s.toml:26:13: error: switch.lossless[0] = 0: must not be 0: the control class is never paused and has no \
                headroom",
            "s.toml:26:19: error: switch.lossless[2] = 3: is listed twice",
        ],
    ),
    (
        "lossless = [3]",
        "lossless = [4]",
        &[
            "s.toml:39:1: warning: traffic[0].class: class 3 of \"poisson\" is not in switch.lossless, so full \
                buffers drop its packets",
            "s.toml:44:1: warning: traffic[1].class: class 3 of \"incast\" is not in switch.lossless, so full buffers \
                drop its packets",
        ],
    ),
    (
        "buffer = \"16 MiB\"",
        "buffer = \"100 KB\"",
        &["s.toml:25:10: error: switch.buffer = \"100 KB\": must exceed the 203976 B that \"leaf0\" reserves as \
            headroom and private buffer (6 ports, 1 lossless class)"],
    ),
    (
        "private = \"3 KB\"",
        "headroom = \"4 MiB\"",
        &["s.toml:25:10: error: switch.buffer = \"16 MiB\": must exceed the 25183824 B that \"leaf0\" reserves as \
            headroom and private buffer (6 ports, 1 lossless class)"],
    ),
    (
        "{ kind = \"sih\", alpha = 0.0625, private = \"3 KB\" }",
        "{ kind = \"static\", xoff = \"3 MB\", xon = \"4 MB\" }",
        &[
            "s.toml:29:38: warning: switch.headroom.xoff = \"3 MB\": is too large for a buffer of 16 MiB: if all 6 \
                ports of \"leaf0\" reach this threshold, packets may be dropped; needs a buffer of 18185976 B",
            "s.toml:29:52: error: switch.headroom.xon = \"4 MB\": must be at most xoff, 3 MB",
        ],
    ),
    (
        "{ kind = \"sih\", alpha = 0.0625, private = \"3 KB\" }",
        "{ kind = \"dsh\", estimator = \"hardware\", gradient_weight = 0.3, deviation_factor = 3.0 }",
        &[
            "s.toml:29:70: error: switch.headroom.gradient_weight = 0.3: must be a power of two, 1 or less: the \
                hardware estimator shifts instead of multiplying",
            "s.toml:29:94: error: switch.headroom.deviation_factor = 3.0: must be a power of two, 1 or more: the \
                hardware estimator shifts instead of multiplying",
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
        &["s.toml:29:33: error: switch.headroom.headroom: unknown key; this key belongs to kind \"sih\", \"dsh\", \
            \"oversubscribed\", \"static\"; allowed: kind, alpha, private, resolution, resume_offset"],
    ),
    (
        "flow_control = { kind = \"pfc\", quanta = 65535 }\nheadroom = { kind = \"sih\", alpha = 0.0625, private = \
            \"3 KB\" }",
        "flow_control = { kind = \"none\" }\nheadroom = { kind = \"dsh\" }",
        &["s.toml:29:12: warning: switch.headroom: dsh needs a flow control that can pause single queues and whole \
            ports, such as pfc; \"none\" cannot"],
    ),
    (
        "buffer = \"16 MiB\"",
        "buffer = \"16 MiB\"\nports = 4",
        &[
            "s.toml:8:1: error: topology: node \"leaf0\": has 6 links, but a switch has 4 ports (switch.ports)",
            "s.toml:8:1: error: topology: node \"leaf1\": has 6 links, but a switch has 4 ports (switch.ports)",
        ],
    ),
    (
        "degree = 4",
        "degree = 4\nclass = []",
        &["s.toml:47:9: error: traffic[1].class: must have at least 1 entry; found 0"],
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
            "s.toml:35:13: error: host.ack_every = 2: must be 1: the window of power-tcp can shrink to one packet, for \
                which no ACK would be sent",
        ],
    ),
    (
        "gain = 0.00390625",
        "ecn = { kmin = \"500 KB\" }",
        &["s.toml:34:16: error: congestion_control.ecn.kmin = \"500 KB\": must be at most kmax, 400 KB"],
    ),
    (
        "gain = 0.00390625",
        "alpha_interval = \"1 ps\"\ndecrease_interval = \"99 ns\"\nincrease_interval = \"0 s\"\nbyte_counter = \"1 \
            B\"\nwindow = true\n[host]\nack_every = 2",
        &[
            "s.toml:34:18: error: congestion_control.alpha_interval = \"1 ps\": must be at least 100 ns: shorter \
                intervals slow the simulation down",
            "s.toml:35:21: error: congestion_control.decrease_interval = \"99 ns\": must be at least 100 ns, or \"0 \
                s\" to act on every CNP at once: shorter intervals slow the simulation down",
            "s.toml:36:21: error: congestion_control.increase_interval = \"0 s\": must be at least 100 ns: shorter \
                intervals slow the simulation down",
            "s.toml:37:16: error: congestion_control.byte_counter = \"1 B\": must be at least 100 B, or \"0 B\" to \
                disable the counter: smaller steps slow the simulation down",
            "s.toml:40:13: error: host.ack_every = 2: must be 1: the window of dcqcn can shrink to one packet, for \
                which no ACK would be sent",
        ],
    ),
    (
        "gain = 0.00390625",
        "alpha_interval = \"100 ns\"\ndecrease_interval = \"0 s\"\nincrease_interval = \"100 ns\"\nbyte_counter = \
            \"100 B\"\n[host]\nack_every = 2",
        &[],
    ),
    (
        "quanta = 65535 }",
        "pause = \"quanta\", quanta = 39 }",
        &["s.toml:28:59: error: switch.flow_control.quanta = 39: must be at least 40: a PAUSE is refreshed after \
            half its duration, and at links of 100 Gbps refreshes must be at least 100 ns apart"],
    ),
    ("quanta = 65535 }", "pause = \"quanta\", quanta = 40 }", &[]),
    (
        "mtu = \"1000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3]\nscheduler = { kind = \"dwrr\", quantum = \
            \"1600 B\" }\nflow_control = { kind = \"pfc\", quanta = 65535 }",
        "mtu = \"4000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3, 4]\nscheduler = { kind = \"dwrr\", quantum \
            = \"1600 B\" }\nflow_control = { kind = \"pfc\", pause = \"quanta\", quanta = 133 }",
        &["s.toml:28:59: error: switch.flow_control.quanta = 133: must be at least 134: a PAUSE is refreshed after \
            half its duration, and a refresh can wait behind 4266 B: one data frame and one PFC frame of each lossless \
            class"],
    ),
    (
        "mtu = \"1000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3]\nscheduler = { kind = \"dwrr\", quantum = \
            \"1600 B\" }\nflow_control = { kind = \"pfc\", quanta = 65535 }",
        "mtu = \"4000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3, 4]\nscheduler = { kind = \"dwrr\", quantum \
            = \"1600 B\" }\nflow_control = { kind = \"pfc\", pause = \"quanta\", quanta = 134 }",
        &[],
    ),
    (
        "[network]",
        "[[groups]]\nswitches = \"spine0\"\nflow_control = { kind = \"pfc\", pause = \"quanta\", quanta = 1 \
            }\n[network]",
        &[
            "s.toml:23:40: error: groups[0].flow_control.pause = \"quanta\": must equal switch.flow_control.pause: \
                neighbours must agree on the duration of a PAUSE",
            "s.toml:23:59: error: groups[0].flow_control.quanta = 1: must be at least 40: a PAUSE is refreshed after \
                half its duration, and at links of 100 Gbps refreshes must be at least 100 ns apart",
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
        &["s.toml:33:10: error: congestion_control.window = \"1500 B\": must be at least 2001 B: a smaller window \
            holds less than host.ack_every packets, so no ACK would be sent"],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\nwindow = \"bpd\"",
        &["s.toml:33:10: error: congestion_control.window = \"bpd\": does not start with a number; write for \
                example \"64 KB\", or \"bdp\""],
    ),
    (
        "[probes]",
        "[load_balance]\nkind = \"spray\"\n[probes]",
        &["s.toml:37:8: warning: load_balance.kind = \"spray\": spray reorders packets, but go-back-n treats every \
            reordering as a loss; use in-any-order recovery"],
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
        "[load_balance]\nkind = \"letflow\"\ngaps = \"age-bit\"\naging = \"99 us\"\n[probes]",
        &["s.toml:39:9: error: load_balance.aging = \"99 us\": must be at least twice flowlet_timeout: with gaps = \
            \"age-bit\", detecting a gap can take that long"],
    ),
    (
        "[probes]",
        "[load_balance]\nkind = \"letflow\"\nflowlet_timeout = \"49 us\"\n[probes]",
        &["s.toml:37:8: warning: load_balance.kind = \"letflow\": letflow reorders packets, but go-back-n treats \
            every reordering as a loss; use in-any-order recovery"],
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
        TOPOLOGY,
        "kind = \"fat-tree\"\nk = 4\n[load_balance]\nkind = \"conga\"",
        &["s.toml:11:1: error: load_balance: conga supports at most 2 layers of switches (an uplink must determine \
            the path to another leaf), but this network has 3 layers"],
    ),
    (
        TOPOLOGY,
        "kind = \"custom\"\nhosts = [\"h0\", \"h1\"]\nswitches = [\"a\", \"b\"]\nlinks = [{ a = \"h0\", b = \"a\" }, \
            { a = \"h0\", b = \"b\" }, { a = \"h1\", b = \"a\" }]\n[load_balance]\nkind = \"conga\"",
        &["s.toml:13:1: error: load_balance: conga supports hosts with one link only, and this network has hosts \
            with several links"],
    ),
    (
        "degree = 4",
        "degree = 4\nclass = 0",
        &["s.toml:47:9: error: traffic[1].class = 0: must be from 1 to 7; class 0 is the control class"],
    ),
];
