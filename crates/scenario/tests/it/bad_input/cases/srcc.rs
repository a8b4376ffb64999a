//! SRCC: thresholds, windows, base control, options without effect.

use super::Case;

const DCQCN: &str = "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625";

pub(super) const CASES: &[Case] = &[
    (
        DCQCN,
        "kind = \"srcc\"\nthreshold = \"static\"\nstatic_threshold = \"17 MiB\"",
        &["s.toml:34:20: error: congestion_control.static_threshold = \"17 MiB\": must be at most the buffer size, \
            16 MiB"],
    ),
    (
        DCQCN,
        "kind = \"srcc\"\nfloor = \"17 MiB\"\nq_pfc = \"17 MiB\"",
        &[
            "s.toml:33:9: error: congestion_control.floor = \"17 MiB\": must be at most the buffer size, 16 MiB",
            "s.toml:34:9: error: congestion_control.q_pfc = \"17 MiB\": must be at most the buffer size, 16 MiB",
        ],
    ),
    (DCQCN, "kind = \"srcc\"\nthreshold = \"static\"\nstatic_threshold = \"16 MiB\"", &[]),
    (DCQCN, "kind = \"srcc\"\nwindow = \"2 us\"\ncount_window = \"20 us\"", &[]),
    (
        DCQCN,
        "kind = \"srcc\"\nbase = { kind = \"dcqcn\", min_rate = \"2 Gbps\" }",
        &["s.toml:33:8: warning: congestion_control.base: cannot lower rates below 2 Gbps, but with more \
            than 50 flows through one 100 Gbps port, notices name lower rates; lower base.min_rate"],
    ),
    (DCQCN, "kind = \"srcc\"\nbase = { kind = \"hpcc\", min_rate = \"1 Gbps\" }", &[]),
    (
        DCQCN,
        "kind = \"srcc\"\ncount_window = \"2 us\"",
        &["s.toml:33:16: warning: congestion_control.count_window = \"2 us\": is shorter than the longest base \
            round-trip time, 8373.76 ns: a flow that waits for an ACK for longer than the window is not counted"],
    ),
    (
        DCQCN,
        "kind = \"srcc\"\nthreshold = \"static\"\nstatic_threshold = \"17 MiB\"\nwindow = \"0 s\"",
        &["s.toml:35:10: error: congestion_control.window = \"0 s\": must be greater than zero"],
    ),
    (
        DCQCN,
        "kind = \"srcc\"\nfloor = \"17 MiB\"\nq_pfc = \"17 MiB\"\ncount_window = \"0 s\"\nrate_interval = \"0 \
            s\"\nlink_delay = \"0 s\"",
        &[
            "s.toml:35:16: error: congestion_control.count_window = \"0 s\": must be greater than zero",
            "s.toml:36:17: error: congestion_control.rate_interval = \"0 s\": must be greater than zero",
            "s.toml:37:14: error: congestion_control.link_delay = \"0 s\": must be greater than zero",
        ],
    ),
    (
        DCQCN,
        "kind = \"srcc\"\nfloor = \"16 MiB\"\nq_pfc = \"0 B\"",
        &["s.toml:34:9: error: congestion_control.q_pfc = \"0 B\": must be greater than zero"],
    ),
    (
        DCQCN,
        "kind = \"srcc\"\nbase = { kind = \"timely\" }",
        &["s.toml:33:17: error: congestion_control.base.kind = \"timely\": unknown name; allowed: dcqcn, hpcc, \
                swift, none"],
    ),
    (
        DCQCN,
        "kind = \"srcc\"\nbase = \"dcqcn\"",
        &["s.toml:33:8: error: congestion_control.base = \"dcqcn\": must be a table; write base = { kind = \
                \"dcqcn\" } (allowed: dcqcn, hpcc, swift, none)"],
    ),
    (
        DCQCN,
        "kind = \"srcc\"\nbase = { kind = \"swift\", target = \"10 us\" }",
        &["s.toml:33:26: error: congestion_control.base.target: unknown key; allowed: kind, profile, base_target, \
                queueing, per_hop, fs_range, fs_min_cwnd, fs_max_cwnd, ai, beta, max_mdf, min_cwnd, max_cwnd, \
                initial_cwnd, rtt_weight"],
    ),
    (
        DCQCN,
        "kind = \"srcc\"\nbase = { kind = \"swift\", base_target = \"1 us\", per_hop = \"1 us\", min_cwnd = 0.0 }",
        &["s.toml:33:77: error: congestion_control.base.min_cwnd = 0.0: must be greater than zero"],
    ),
    (
        DCQCN,
        "kind = \"srcc\"\nbase = { kind = \"swift\", base_target = \"1 us\", per_hop = \"1 us\" }",
        &["s.toml:33:40: warning: congestion_control.base.base_target = \"1 us\": the target delay over 4 links is 5 \
            us, but base round-trip times are up to 8373.76 ns: packets exceed the target even with empty queues, and \
            rates collapse"],
    ),
    (
        DCQCN,
        "kind = \"srcc\"\nbase = { kind = \"hpcc\" }\n[host]\nack_every = 4",
        &["s.toml:35:13: error: host.ack_every = 4: must be 1: the window of srcc can shrink to one packet, for \
            which no ACK would be sent"],
    ),
    (
        DCQCN,
        "kind = \"srcc\"\nthreshold = \"static\"\nfloor = \"1 KB\"\nq_pfc = \"1 KB\"\negress_ports = \"all\"\ntwo_way \
            = true\nrate_interval = \"1 us\"\narrivals = \"ingress-ports\"\nlink_delay = \"1 us\"\nnotice_interval = \
            \"1 us\"\nadditive_increase = \"1 Gbps\"",
        &[
            "s.toml:31:1: error: congestion_control.static_threshold: must be set: threshold is static",
            "s.toml:34:9: error: congestion_control.floor = \"1 KB\": has no effect: threshold is static",
            "s.toml:35:9: error: congestion_control.q_pfc = \"1 KB\": has no effect: threshold is static",
            "s.toml:36:16: error: congestion_control.egress_ports = \"all\": has no effect: threshold is static",
            "s.toml:37:11: error: congestion_control.two_way = true: has no effect: threshold is static",
            "s.toml:38:17: error: congestion_control.rate_interval = \"1 us\": has no effect: threshold is not eq5",
            "s.toml:39:12: error: congestion_control.arrivals = \"ingress-ports\": has no effect: threshold is not eq6",
            "s.toml:40:14: error: congestion_control.link_delay = \"1 us\": has no effect: threshold is static, and \
                notice_interval is set",
            "s.toml:42:21: error: congestion_control.additive_increase = \"1 Gbps\": has no effect: base.kind \
                is not \"none\"",
        ],
    ),
    (
        DCQCN,
        "kind = \"srcc\"\nadjustment = \"cut\"\nbase = { kind = \"swift\", base_target = \"9 us\" }",
        &["s.toml:33:14: error: congestion_control.adjustment = \"cut\": has no effect: base.kind is not \"dcqcn\""],
    ),
    (
        DCQCN,
        "kind = \"srcc\"\nstatic_threshold = \"1 KB\"\narrivals = \"ingress-ports\"",
        &[
            "s.toml:33:20: error: congestion_control.static_threshold = \"1 KB\": has no effect: threshold is not \
                static",
            "s.toml:34:12: error: congestion_control.arrivals = \"ingress-ports\": has no effect: threshold is not eq6",
        ],
    ),
    (
        DCQCN,
        "kind = \"srcc\"\nthreshold = \"eq6\"\nrate_interval = \"1 us\"",
        &["s.toml:34:17: error: congestion_control.rate_interval = \"1 us\": has no effect: threshold is not eq5"],
    ),
    (
        DCQCN,
        "kind = \"srcc\"\nthreshold = \"eq6\"\narrivals = \"ingress-ports\"\nbase = { kind = \"none\" \
            }\nadditive_increase = \"0 bps\"",
        &["s.toml:36:21: error: congestion_control.additive_increase = \"0 bps\": must be greater than zero"],
    ),
    (
        DCQCN,
        "kind = \"srcc\"\nwindow = \"2 us\"",
        &["s.toml:33:10: warning: congestion_control.window = \"2 us\": is shorter than the longest base round-trip \
            time, 8373.76 ns: a flow that waits for an ACK for longer than the window is not counted"],
    ),
    (
        DCQCN,
        "kind = \"srcc\"\nthreshold = \"dynamic\"",
        &["s.toml:33:13: error: congestion_control.threshold = \"dynamic\": unknown name; allowed: eq5, eq6, static"],
    ),
    (
        "lossless = [3]\nscheduler = { kind = \"dwrr\", quantum = \"1600 B\" }\nflow_control = { kind = \"pfc\", \
            quanta = 65535 }\nheadroom = { kind = \"sih\", alpha = 0.0625, private = \"3 KB\" \
            }\n\n[congestion_control]\nkind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "lossless = []\nscheduler = { kind = \"dwrr\", quantum = \"1600 B\" }\nflow_control = { kind = \"none\" \
            }\nheadroom = { kind = \"egress\" }\n\n[congestion_control]\nkind = \"srcc\"",
        &["s.toml:31:1: error: congestion_control: srcc protects lossless classes, but switch.lossless is empty"],
    ),
    (
        "flow_control = { kind = \"pfc\", quanta = 65535 }\nheadroom = { kind = \"sih\", alpha = 0.0625, private = \
            \"3 KB\" }\n\n[congestion_control]\nkind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "flow_control = { kind = \"none\" }\nheadroom = { kind = \"sih\", alpha = 0.0625, private = \"3 KB\" \
            }\n\n[congestion_control]\nkind = \"srcc\"\nnotify_while_paused = false",
        &["s.toml:33:23: warning: congestion_control.notify_while_paused = false: has no effect: flow control none \
            never pauses a queue"],
    ),
    (
        "flow_control = { kind = \"pfc\", quanta = 65535 }\nheadroom = { kind = \"sih\", alpha = 0.0625, private = \
            \"3 KB\" }\n\n[congestion_control]\nkind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "flow_control = { kind = \"none\" }\nheadroom = { kind = \"sih\", alpha = 0.0625, private = \"3 KB\" \
            }\n\n[congestion_control]\nkind = \"srcc\"\nnotify_while_paused = false\n[[groups]]\nswitches = \
            \"*\"\nflow_control = { kind = \"pfc\" }",
        &[],
    ),
    (
        "headroom = { kind = \"sih\", alpha = 0.0625, private = \"3 KB\" }\n\n[congestion_control]\nkind = \
            \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "headroom = { kind = \"egress\" }\n\n[congestion_control]\nkind = \"srcc\"",
        &["s.toml:31:1: error: congestion_control.q_pfc: must be set: a switch has a buffer policy without \
            ingress-queue thresholds"],
    ),
];
