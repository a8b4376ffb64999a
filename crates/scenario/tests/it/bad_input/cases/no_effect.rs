//! Options without effect.

use super::{Case, TOPOLOGY};

pub(super) const CASES: &[Case] = &[
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"swift\"\nfs_range = \"0 s\"\nfs_max_cwnd = 9.0\n[recovery]\nkind = \"irn\"\nbitmap = 20\nbdp_cap = \
            \"1 MB\"",
        &[
            "s.toml:34:15: error: congestion_control.fs_max_cwnd = 9.0: has no effect: fs_range is 0 s",
            "s.toml:38:11: warning: recovery.bdp_cap = \"1 MB\": has no effect above 20 KB: bitmap limits a flow to \
                20 packets in flight",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"none\"\n[recovery]\nkind = \"irn\"\nbitmap = 20\nbdp_cap = \"1 MB\"\n[[groups]]\nswitches = \
            \"leaf0\"",
        &[
            "s.toml:36:11: warning: recovery.bdp_cap = \"1 MB\": has no effect above 20 KB: bitmap limits a flow to \
                20 packets in flight",
            "s.toml:37:1: warning: groups[0]: has no effect: it sets neither flow_control nor headroom",
        ],
    ),
    (
        "spines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \
            \"spine1\"]",
        "spines = 1\nhosts_per_leaf = 4\n[load_balance]\nkind = \"letflow\"\n[[faults]]\nlink = [\"leaf0\", \
            \"spine0\"]",
        &["s.toml:14:8: warning: load_balance.kind = \"letflow\": has no effect: no switch has more than one egress \
            port on the shortest paths to any host"],
    ),
    (
        "profile = \"paper\"\ngain = 0.00390625",
        "cnp_interval = \"4 us\"",
        &["s.toml:33:16: warning: congestion_control.cnp_interval = \"4 us\": has no effect: with cnp = \"ack-bit\", \
            receivers report marks in ACKs and send no CNPs"],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"mp-rdma\"\necn = { pmax = 0.5 }\n[recovery]\nkind = \"mp-rdma\"",
        &["s.toml:33:16: warning: congestion_control.ecn.pmax = 0.5: has no effect: kmin equals kmax, so every \
            packet is marked that meets a queue longer than kmin"],
    ),
    (
        "flow_control = { kind = \"pfc\", quanta = 65535 }\nheadroom = { kind = \"sih\", alpha = 0.0625, private = \
            \"3 KB\" }",
        "flow_control = { kind = \"bfc\", acks = \"count\" }\nheadroom = { kind = \"static\", xoff = \"16 MiB\", \
            headroom = \"0 B\" }",
        &["s.toml:28:39: warning: switch.flow_control.acks = \"count\": has no effect: ACKs are in the control \
                class (host.ack_class)"],
    ),
    (
        "down = \"200 us\"\nup = \"300 us\"\n\n[network]",
        "down = \"20 s\"\n[network]\nreconvergence = \"1 us\"",
        &[
            "s.toml:18:8: warning: faults[0].down = \"20 s\": has no effect: the run ends at 101 ms",
            "s.toml:20:17: warning: network.reconvergence = \"1 us\": has no effect: no link fails during the run",
        ],
    ),
    (
        "[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n\n[network]",
        "[host.relay]\ndelay = \"1 us\"\n[network]\nreconvergence = \"1 ms\"",
        &[
            "s.toml:16:1: warning: host.relay: has no effect: no host of this topology relays packets",
            "s.toml:19:17: warning: network.reconvergence = \"1 ms\": has no effect: no link fails during the run",
        ],
    ),
    (
        "[network]",
        "[host]\nscheduler = { kind = \"fair\" }\n[network]",
        &["s.toml:22:13: warning: host.scheduler: has no effect: no host of this topology relays packets, and ACKs \
                are in the control class, which has strict priority"],
    ),
    ("[network]", "[host]\nscheduler = { kind = \"relay-first\" }\n[network]", &[]),
    ("[network]", "[host]\nscheduler = { kind = \"fair\" }\nack_class = 3\n[network]", &[]),
    (
        TOPOLOGY,
        "kind = \"bcube\"\nn = 4\n[host]\nscheduler = { kind = \"fair\" }\nrelay = { congestion_point = true }\n",
        &[],
    ),
    (
        "kind = \"pfc\", quanta",
        "kind = \"pfc\", relays = \"forward\", quanta",
        &["s.toml:28:41: warning: switch.flow_control.relays = \"forward\": has no effect: no host of this topology \
            relays packets"],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"swift\"\nqueueing = \"4 us\"\nbase_target = \"20 us\"\nfs_min_cwnd = 100\nmin_cwnd = \
            0.0\n[host]\nack_every = 2",
        &[
            "s.toml:33:12: error: congestion_control.queueing = \"4 us\": has no effect: base_target is set explicitly \
                or by the profile",
            "s.toml:35:15: error: congestion_control.fs_min_cwnd = 100: must be less than fs_max_cwnd, 100",
            "s.toml:36:12: error: congestion_control.min_cwnd = 0.0: must be greater than zero",
            "s.toml:38:13: error: host.ack_every = 2: must be 1: the window of swift can shrink to one packet, for \
                which no ACK would be sent",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"swift\"\nprofile = \"htsim\"\nqueueing = \"4 us\"",
        &["s.toml:34:12: error: congestion_control.queueing = \"4 us\": has no effect: base_target is set explicitly \
            or by the profile"],
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
        "kind = \"dcqcn\"\nprofile = \"400g\"",
        &["s.toml:33:11: warning: congestion_control.profile = \"400g\": is not made for the rate of the host links, \
            100 Gbps"],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"dcqcn\"\nprofile = \"400g\"\necn.rate = \"25 Gbps\"",
        &["s.toml:34:12: error: congestion_control.ecn.rate = \"25 Gbps\": has no effect without ecn.kmin or \
            ecn.kmax: the profile sets the thresholds"],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"dcqcn\"\nrpg_min_dec_fac = 101",
        &["s.toml:33:19: error: congestion_control.rpg_min_dec_fac = 101: must be from 0 to 100"],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"dcqcn\"\nrpg_min_dec_fac = 49\nrate_to_set_on_first_cnp = \"1 Tbps\"",
        &[
            "s.toml:33:19: warning: congestion_control.rpg_min_dec_fac = 49: has no effect below 50: one decrease at \
                most halves the rate",
            "s.toml:34:28: warning: congestion_control.rate_to_set_on_first_cnp = \"1 Tbps\": has no effect: the value \
                is not between min_rate, 1 Gbps, and the rate of the host links, 100 Gbps",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"swift\"\nbase_target = \"3 us\"\nper_hop = \"1 us\"",
        &["s.toml:33:15: warning: congestion_control.base_target = \"3 us\": the target delay over 4 links is 7 us, \
            but base round-trip times are up to 8373.76 ns: packets exceed the target even with empty queues, and \
            rates collapse"],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"swift\"\nbase_target = \"0 s\"\nper_hop = \"2093 ns\"",
        &["s.toml:33:15: warning: congestion_control.base_target = \"0 s\": the target delay over 4 links is 8.372 \
            us, but base round-trip times are up to 8373.76 ns: packets exceed the target even with empty queues, and \
            rates collapse"],
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
            "s.toml:33:10: error: congestion_control.period = \"99 ns\": must be at least 100 ns: shorter intervals \
                slow the simulation down",
            "s.toml:34:9: error: congestion_control.w_min = 0.75: must be at most w_max, 0.5",
            "s.toml:35:12: error: congestion_control.min_rate = \"0 bps\": must be greater than zero",
            "s.toml:36:18: error: congestion_control.threshold_rate = \"40 Gbps\": has no effect: threshold is not set",
        ],
    ),
    (
        "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "kind = \"pcn\"\nw_min = 0.0\nthreshold = \"40 KB\"\nthreshold_rate = \"0 bps\"\nmarked_share = 1.0",
        &[
            "s.toml:33:9: error: congestion_control.w_min = 0.0: must be greater than zero",
            "s.toml:35:18: error: congestion_control.threshold_rate = \"0 bps\": must be greater than zero",
            "s.toml:36:16: error: congestion_control.marked_share = 1.0: must be below 1: otherwise no flow would \
                ever count as congested",
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
        &["s.toml:32:13: error: host.ack_every = 4: must be 1: the window of timely can shrink to one packet, for \
            which no ACK would be sent"],
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
        &["s.toml:13:14: error: topology.error_rate = 1.0: must be at least 0 and less than 1"],
    ),
    (
        "degree = 4\nsize = \"64 KB\"\nreceivers = \"h0\"",
        "tag = \"ring\"\ndegree = 4",
        &["s.toml:44:1: error: traffic[1].size: set either `size` or `total`"],
    ),
    (
        "sizes = \"websearch-dctcp\"",
        "sizes = \"websarch-dctcp\"",
        &["s.toml:41:9: error: traffic[0].sizes = \"websarch-dctcp\": there is no size distribution \
                \"websarch-dctcp\"; did you mean \"websearch-dctcp\"?"],
    ),
    (
        "sizes = \"websearch-dctcp\"",
        "sizes = { path = \"nowhere.txt\" }",
        &["s.toml:41:18: error: traffic[0].sizes.path = \"nowhere.txt\": nowhere.txt: No such file or directory (os \
                error 2)"],
    ),
    (
        "sizes = \"websearch-dctcp\"",
        "sizes = { fixed = \"1 KB\", name = \"x\" }",
        &["s.toml:41:9: error: traffic[0].sizes: set exactly one of `name`, `path`, `fixed` and `uniform`"],
    ),
    (
        "sizes = \"websearch-dctcp\"",
        "sizes = 1000",
        &["s.toml:41:9: error: traffic[0].sizes = 1000: must be a number with a unit, in quotes; write \"1000 B\""],
    ),
    (
        "leaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"",
        "leaves = 2\nspines = 2\nhosts_per_leaf = 4\nfailed_links = [[\"leaf0\", \"spine0\"], [\"leaf0\", \"spine1\"]]",
        &["s.toml:8:1: error: topology: there is no path from host \"h0\" to \"h4\", \"h5\", \"h6\", \"h7\"; only \
            switches and relaying hosts forward packets; add links between them"],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"",
        "kind = \"custom\"\nhosts = [\"a\", \"a\"]\nswitches = [\"s\"]\nlinks = [{ a = \"a\", b = \"s\" }]",
        &["s.toml:10:15: error: topology.hosts[1] = \"a\": another node is already called \"a\""],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"",
        "kind = \"file\"\npath = \"nowhere.txt\"",
        &["s.toml:10:8: error: topology.path = \"nowhere.txt\": ./nowhere.txt:1:1: cannot be read: No such file or \
                directory (os error 2)"],
    ),
    (
        "kind = \"poisson\"\nsizes = \"websearch-dctcp\"\nload = 0.5",
        "kind = \"flows\"\nflows = [{ src = \"h0\", dst = \"h7\", bytes = \"0 B\" }, { src = \"h1\", dst = \"h1\" }, \
            { src = \"leaf0\", dst = \"h1\" }]",
        &[
            "s.toml:41:44: error: traffic[0].flows[0].bytes = \"0 B\": must be at least 1 B",
            "s.toml:41:73: error: traffic[0].flows[1].dst = \"h1\": \"h1\" cannot send to itself",
            "s.toml:41:89: error: traffic[0].flows[2].src = \"leaf0\": \"leaf0\" is a switch, not a host",
        ],
    ),
    (
        "kind = \"poisson\"\nsizes = \"websearch-dctcp\"\nload = 0.5",
        "kind = \"flows\"\nflows = [{ src = \"h0\", dst = \"h7\", bytes = \"1 KB\", ack_via = [\"leaf0\", \"leaf1\", \
            \"leaf0\", \"leaf1\", \"leaf0\", \"leaf1\", \"leaf0\", \"leaf1\"] }]",
        &["s.toml:41:62: error: traffic[0].flows[0].ack_via: the flow from \"h0\" to \"h7\": its pinned path has \
                more than 7 hops"],
    ),
    (
        "kind = \"poisson\"\nsizes = \"websearch-dctcp\"\nload = 0.5",
        "kind = \"flows\"\nflows = [{ src = \"h0\", dst = \"h7\", bytes = \"1 KB\", data_via = [\"leaf1\", \"leaf0\", \
            \"spine7\"] }]",
        &["s.toml:41:82: error: traffic[0].flows[0].data_via[2] = \"spine7\": there is no switch or relay \
                \"spine7\"; did you mean \"spine0\"?"],
    ),
    (
        TOPOLOGY,
        "kind = \"star\"\nhosts = 257\n[[traffic]]\nkind = \"flows\"\nflows = [{ src = \"h256\", dst = \"h0\", \
            data_via = [\"s0\"] }, { src = \"h1\", dst = \"h256\", data_via = [\"s0\"] }]",
        &["s.toml:13:98: error: traffic[0].flows[1].data_via: the flow from \"h1\" to \"h256\": its pinned path uses \
            a port number above 255"],
    ),
    (
        "kind = \"poisson\"\nsizes = \"websearch-dctcp\"\nload = 0.5",
        "kind = \"long-lived\"\npairs = [[\"h0\", \"h9\"], [\"h1\"]]",
        &["s.toml:41:24: error: traffic[0].pairs[1]: must have exactly 2 entries; found 1"],
    ),
];
