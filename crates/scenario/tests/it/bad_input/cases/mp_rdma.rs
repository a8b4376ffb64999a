//! MP-RDMA: required mechanisms beside it, and its options.

use super::Case;

const DCQCN: &str = "kind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625";

pub(super) const CASES: &[Case] = &[
    (DCQCN, "kind = \"mp-rdma\"\n[recovery]\nkind = \"mp-rdma\"", &[]),
    (DCQCN, "kind = \"mp-rdma\"\n[recovery]\nkind = \"in-any-order\"", &[]),
    (
        DCQCN,
        "kind = \"mp-rdma\"",
        &["s.toml:1:1: error: recovery.kind: must be mp-rdma, in-any-order or irn: mp-rdma uses several paths at \
            once, so packets arrive out of order; write recovery = { kind = \"mp-rdma\" }"],
    ),
    (
        DCQCN,
        "kind = \"mp-rdma\"\n[recovery]\nkind = \"go-back-n\"",
        &["s.toml:34:8: error: recovery.kind = \"go-back-n\": must be mp-rdma, in-any-order or irn: mp-rdma uses \
            several paths at once, so packets arrive out of order; write recovery = { kind = \"mp-rdma\" }"],
    ),
    (
        DCQCN,
        "kind = \"mp-rdma\"\n[recovery]\nkind = \"irn\"",
        &["s.toml:34:8: warning: recovery.kind = \"irn\": irn treats each reordered packet as lost, and mp-rdma \
            reorders packets; use mp-rdma or in-any-order"],
    ),
    (
        DCQCN,
        "kind = \"mp-rdma\"\n[recovery]\nkind = \"mp-rdma\"\n[load_balance]\nkind = \"spray\"",
        &["s.toml:36:8: error: load_balance.kind = \"spray\": must be ecmp: mp-rdma senders choose the path of each \
            packet by its UDP source port; write load_balance = { kind = \"ecmp\" }"],
    ),
    (
        DCQCN,
        "kind = \"mp-rdma\"\n[recovery]\nkind = \"in-any-order\"\n[host]\nack_every = 2",
        &["s.toml:36:13: error: host.ack_every = 2: must be 1: the window of mp-rdma can shrink to one packet, for \
            which no ACK would be sent"],
    ),
    (
        DCQCN,
        "kind = \"none\"\n[recovery]\nkind = \"mp-rdma\"\n[host]\nack_every = 2",
        &["s.toml:36:13: error: host.ack_every = 2: must be 1: mp-rdma needs an ACK for every packet"],
    ),
    (
        DCQCN,
        "kind = \"mp-rdma\"\necn = { kmin = \"70 KB\", kmax = \"60 KB\", rate = \"0 bps\" }\n[recovery]\nkind = \
            \"mp-rdma\"",
        &[
            "s.toml:33:16: error: congestion_control.ecn.kmin = \"70 KB\": must be at most kmax, 60 KB",
            "s.toml:33:48: error: congestion_control.ecn.rate = \"0 bps\": must be greater than zero",
        ],
    ),
    (
        DCQCN,
        "kind = \"mp-rdma\"\ninitial_cwnd = 0.5\nprobing = 1.5\nslow_path_cut = -1.0\nreordering = \
            -1\n[recovery]\nkind = \"mp-rdma\"\nbitmap = 1",
        &[
            "s.toml:33:16: error: congestion_control.initial_cwnd = 0.5: must be from 1 to 1000000",
            "s.toml:34:11: error: congestion_control.probing = 1.5: must be from 0 to 1",
            "s.toml:35:17: error: congestion_control.slow_path_cut = -1.0: must be from 0 to 1000",
            "s.toml:36:14: error: congestion_control.reordering = -1: must be at least 0",
            "s.toml:39:10: error: recovery.bitmap = 1: must be from 2 to 65536",
        ],
    ),
    (
        DCQCN,
        "kind = \"mp-rdma\"\nrecovery = { kind = \"mp-rdma\" }",
        &["s.toml:33:1: error: congestion_control.recovery: unknown key; allowed: kind, ecn, ack_path, \
                initial_cwnd, reordering, slow_path_cut, probing"],
    ),
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 \
            us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"\n\n[network]\nmtu \
            = \"1000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3]\nscheduler = { kind = \"dwrr\", quantum = \
            \"1600 B\" }\nflow_control = { kind = \"pfc\", quanta = 65535 }\nheadroom = { kind = \"sih\", alpha = \
            0.0625, private = \"3 KB\" }\n\n[congestion_control]\nkind = \"dcqcn\"\nprofile = \"paper\"\ngain = \
            0.00390625",
        "kind = \"bcube\"\nn = 4\n[switch]\nflow_control = { kind = \"port-fc\" }\nheadroom = { kind = \"static\", \
            xoff = \"16 MiB\", headroom = \"0 B\" }\n[recovery]\nkind = \"mp-rdma\"\n[congestion_control]\nkind = \
            \"mp-rdma\"",
        &["s.toml:12:16: error: switch.flow_control: port-fc must know the path of every packet: use load_balance = \
            \"ecmp\", and no congestion control that chooses paths, such as mp-rdma"],
    ),
];
