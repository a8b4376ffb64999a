//! FLB, its rate control and Proteus: thresholds, options without effect, unsupported fabrics.

use super::{Case, TOPOLOGY};

pub(super) const CASES: &[Case] = &[
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[load_balance]\nkind = \"flb\"\n[recovery]\nkind = \"in-any-order\"",
        &[],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[load_balance]\nkind = \"flb\"",
        &["s.toml:34:8: warning: load_balance.kind = \"flb\": flb reorders packets, but go-back-n treats every \
            reordering as a loss; use in-any-order recovery"],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[load_balance]\nkind = \"flb\"\nthreshold = \"static\"\n[recovery]\nkind = \"in-any-order\"",
        &["s.toml:33:1: error: load_balance.static_threshold: must be set: threshold is static"],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[load_balance]\nkind = \"flb\"\nstatic_threshold = \"50 KB\"\nlink_delay = \"0 \
            s\"\n[recovery]\nkind = \"in-any-order\"",
        &[
            "s.toml:35:20: error: load_balance.static_threshold = \"50 KB\": has no effect: threshold is not static",
            "s.toml:36:14: error: load_balance.link_delay = \"0 s\": must be greater than zero",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[load_balance]\nkind = \"flb\"\nthreshold = \"static\"\nstatic_threshold = \"50 \
            KB\"\nlink_delay = \"1 us\"\n[recovery]\nkind = \"in-any-order\"",
        &["s.toml:37:14: error: load_balance.link_delay = \"1 us\": has no effect: threshold is static"],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[load_balance]\nkind = \"flb\"\nflow_timeout = \"0 s\"\nsample_period = \"1 \
            ns\"\ncheck_period = \"0 s\"\ngap_unit = \"0 s\"\n[recovery]\nkind = \"in-any-order\"",
        &[
            "s.toml:35:16: error: load_balance.flow_timeout = \"0 s\": must be greater than zero",
            "s.toml:36:17: error: load_balance.sample_period = \"1 ns\": must be at least 100 ns: shorter intervals \
                slow the simulation down",
            "s.toml:37:16: error: load_balance.check_period = \"0 s\": must be at least 100 ns: shorter intervals slow \
                the simulation down",
            "s.toml:38:12: error: load_balance.gap_unit = \"0 s\": must be greater than zero",
            "s.toml:38:12: warning: load_balance.gap_unit = \"0 s\": is not shorter than flow_timeout: a flow is \
                forgotten before its gap counts as one unit, so flows never move to a path with less delay",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[load_balance]\nkind = \"flb\"\nisolation = false\nthreshold = \"adaptive\"\nspread = \
            \"per-packet\"\nmoves = \"in-order\"\nown_uplinks = \"notify\"\nnotify_while_paused = false\nn_timeout = \
            \"20 us\"\nnotice_interval = \"1 us\"\ncheck_period = \"1 us\"\nlink_delay = \"1 us\"\n[recovery]\nkind = \
            \"in-any-order\"",
        &[
            "s.toml:36:13: error: load_balance.threshold = \"adaptive\": has no effect: isolation is false",
            "s.toml:37:10: error: load_balance.spread = \"per-packet\": has no effect: isolation is false",
            "s.toml:38:9: error: load_balance.moves = \"in-order\": has no effect: isolation is false",
            "s.toml:39:15: error: load_balance.own_uplinks = \"notify\": has no effect: isolation is false",
            "s.toml:40:23: error: load_balance.notify_while_paused = false: has no effect: isolation is false",
            "s.toml:41:13: error: load_balance.n_timeout = \"20 us\": has no effect: isolation is false",
            "s.toml:42:19: error: load_balance.notice_interval = \"1 us\": has no effect: isolation is false",
            "s.toml:43:16: error: load_balance.check_period = \"1 us\": has no effect: isolation is false",
            "s.toml:44:14: error: load_balance.link_delay = \"1 us\": has no effect: isolation is false",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[load_balance]\nkind = \"flb\"\nthreshold = \"static\"\nstatic_threshold = \"0 \
            B\"\nown_uplinks = \"notify\"\n[recovery]\nkind = \"in-any-order\"",
        &[
            "s.toml:36:20: error: load_balance.static_threshold = \"0 B\": must be greater than zero",
            "s.toml:37:15: warning: load_balance.own_uplinks = \"notify\": has no effect: only congestion control \
                flb-rc reacts to the notices",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[load_balance]\nkind = \"flb\"\nthreshold = \"static\"\nstatic_threshold = \"1 \
            GB\"\ngap_unit = \"1 ms\"\n[recovery]\nkind = \"in-any-order\"",
        &[
            "s.toml:37:12: warning: load_balance.gap_unit = \"1 ms\": is not shorter than flow_timeout: a flow is \
                forgotten before its gap counts as one unit, so flows never move to a path with less delay",
            "s.toml:36:20: warning: load_balance.static_threshold = \"1 GB\": isolates no flow: the threshold is not \
                below the buffer size, 16 MiB",
        ],
    ),
    (
        "headroom = { kind = \"sih\", alpha = 0.0625, private = \"3 KB\" }\n\n[congestion_control]\nkind = \
            \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "headroom = { kind = \"egress\" }\n[load_balance]\nkind = \"flb\"\nthreshold = \"adaptive\"\n[recovery]\nkind \
            = \"in-any-order\"",
        &["s.toml:32:13: warning: load_balance.threshold = \"adaptive\": isolates no flow at switches whose buffer \
            policy has no ingress-queue thresholds, which Equation 4 of the FLB paper needs; use threshold = \
            \"static\""],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[load_balance]\nkind = \"flb\"\nties = \"first\"\n[recovery]\nkind = \"in-any-order\"",
        &["s.toml:35:8: error: load_balance.ties = \"first\": unknown name; allowed: random, in-turn"],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[load_balance]\nkind = \"flb\"\nflow_timeout = \"10 us\"\nn_timeout = \"20 \
            us\"\n[recovery]\nkind = \"in-any-order\"",
        &["s.toml:36:13: error: load_balance.n_timeout = \"20 us\": must be at most flow_timeout, 10 us, after which \
            queues forget a flow"],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[load_balance]\nkind = \"flb\"\nn_timeout = \"0 s\"\nrerouting = \
            \"in-order\"\n[recovery]\nkind = \"in-any-order\"",
        &["s.toml:36:13: error: load_balance.rerouting = \"in-order\": unknown name; allowed: keep-order, \
                as-printed, faster-than-last"],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[load_balance]\nkind = \"flb\"\nn_timeout = \"0 s\"\n[recovery]\nkind = \"in-any-order\"",
        &["s.toml:35:13: error: load_balance.n_timeout = \"0 s\": must be greater than zero"],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"flb-rc\"",
        &["s.toml:31:1: error: congestion_control: flb-rc needs the notices of load_balance = \"flb\", but \
            load_balance is \"ecmp\""],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"flb-rc\"\ntimeout = \"0 s\"\ninitial_window = \"0 B\"\n[load_balance]\nkind = \"flb\"\nisolation = \
            false\n[recovery]\nkind = \"in-any-order\"",
        &[
            "s.toml:33:11: error: congestion_control.timeout = \"0 s\": must be greater than zero",
            "s.toml:34:18: error: congestion_control.initial_window = \"0 B\": must be at least 1 B: a smaller window \
                holds less than host.ack_every packets, so no ACK would be sent",
            "s.toml:37:13: error: load_balance.isolation = false: must be true: congestion control flb-rc needs the \
                notices",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"flb-rc\"\ninitial_window = \"2000 B\"\n[host]\nack_every = 3\n[load_balance]\nkind = \
            \"flb\"\n[recovery]\nkind = \"in-any-order\"",
        &["s.toml:33:18: error: congestion_control.initial_window = \"2000 B\": must be at least 2001 B: a smaller \
            window holds less than host.ack_every packets, so no ACK would be sent"],
    ),
    (
        TOPOLOGY,
        "kind = \"bcube\"\nn = 4\n[load_balance]\nkind = \"flb\"\n[recovery]\nkind = \"in-any-order\"",
        &["s.toml:11:1: error: load_balance: flb does not support hosts that relay packets, and this network has some"],
    ),
    (
        TOPOLOGY,
        "kind = \"dumbbell\"\nleft = 4\nright = 4\n[load_balance]\nkind = \"flb\"\n[recovery]\nkind = \"in-any-order\"",
        &["s.toml:13:8: warning: load_balance.kind = \"flb\": has no effect: no switch has more than one egress port \
            on the shortest paths to any host"],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[load_balance]\nkind = \"flb\"\n[recovery]\nkind = \"in-any-order\"\n[[routes]]\nat = \
            \"leaf0\"\nto = \"h5\"\nnext = \"spine0\"",
        &["s.toml:33:1: error: load_balance: flb chooses whole paths at edge switches: remove [[routes]]"],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[load_balance]\nkind = \"proteus\"\nlow_delay = 1.0\nprobe_period = \"5 us\"\nsample_period \
            = \"5 us\"\nalpha = 0.0\nburden = \"2 s\"\n[recovery]\nkind = \"in-any-order\"",
        &[
            "s.toml:35:13: error: load_balance.low_delay = 1.0: must be greater than 1, the relative delay of an idle \
                path",
            "s.toml:37:17: error: load_balance.sample_period = \"5 us\": has no effect: with probe_period, only probes \
                are stamped",
            "s.toml:38:9: error: load_balance.alpha = 0.0: must be greater than zero",
            "s.toml:39:10: error: load_balance.burden = \"2 s\": must be at most 1 s",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[load_balance]\nkind = \"proteus\"\ncandidates = 65\nbusy = 1.5\n[recovery]\nkind = \
            \"in-any-order\"",
        &[
            "s.toml:35:14: error: load_balance.candidates = 65: must be from 0 to 64",
            "s.toml:36:8: error: load_balance.busy = 1.5: must be from 0 to 1",
        ],
    ),
];
