//! Flow controls: required fabrics, servers and classes.

use super::{Case, TOPOLOGY_TO_SWITCH};

pub(super) const CASES: &[Case] = &[
    // PortFC without relaying servers, and with RESUME thresholds above PAUSE thresholds. PFC* with
    // too few classes, or with traffic outside the lowest class.
    (
        "kind = \"pfc\", quanta = 65535",
        "kind = \"port-fc\"",
        &[
            "s.toml:28:16: error: switch.flow_control: port-fc needs a topology that links switches to servers only, \
                such as bcube; here switches are linked to each other",
            "s.toml:28:25: warning: switch.flow_control.kind = \"port-fc\": port-fc limits every queue, but not the \
                bytes of an ingress port, so an ingress port above its buffer threshold drops packets; set headroom = \
                { kind = \"static\", xoff = \"16 MiB\", headroom = \"0 B\" } to share the whole buffer",
        ],
    ),
    (
        "kind = \"pfc\", quanta = 65535",
        "kind = \"port-fc\", xoff = 0.0, last_xoff = 2.0",
        &[
            "s.toml:28:16: error: switch.flow_control.xon: the RESUME threshold is 4 BDPs, but must be from 0 to the \
                PAUSE threshold, 0 BDPs",
            "s.toml:28:25: warning: switch.flow_control.kind = \"port-fc\": port-fc limits every queue, but not the \
                bytes of an ingress port, so an ingress port above its buffer threshold drops packets; set headroom = \
                { kind = \"static\", xoff = \"16 MiB\", headroom = \"0 B\" } to share the whole buffer",
            "s.toml:28:43: error: switch.flow_control.xoff = 0.0: must be greater than zero and at most 1000000 BDPs",
            "s.toml:28:60: error: switch.flow_control.last_xoff = 2.0: the RESUME threshold is 4 BDPs, but must be \
                from 0 to the PAUSE threshold, 2 BDPs",
        ],
    ),
    (
        "kind = \"pfc\", quanta = 65535",
        "kind = \"port-fc\", xon = 7.0, last_xon = -1.0, last_xoff = 1000001.0",
        &[
            "s.toml:28:25: warning: switch.flow_control.kind = \"port-fc\": port-fc limits every queue, but not the \
                bytes of an ingress port, so an ingress port above its buffer threshold drops packets; set headroom = \
                { kind = \"static\", xoff = \"16 MiB\", headroom = \"0 B\" } to share the whole buffer",
            "s.toml:28:42: error: switch.flow_control.xon = 7.0: the RESUME threshold is 7 BDPs, but must be from 0 \
                to the PAUSE threshold, 6 BDPs",
            "s.toml:28:58: error: switch.flow_control.last_xon = -1.0: the RESUME threshold is -1 BDPs, but must be \
                from 0 to the PAUSE threshold, 1000001 BDPs",
            "s.toml:28:76: error: switch.flow_control.last_xoff = 1000001.0: must be greater than zero and at most \
                1000000 BDPs",
        ],
    ),
    (
        "kind = \"pfc\", quanta = 65535",
        "kind = \"pfc-star\", pause = \"quanta\", quanta = 39",
        &["s.toml:28:64: error: switch.flow_control.quanta = 39: must be at least 40: a PAUSE is refreshed after \
            half its duration, and at links of 100 Gbps refreshes must be at least 100 ns apart"],
    ),
    (
        "kind = \"pfc\", quanta = 65535",
        "kind = \"pfc-star\"",
        &["s.toml:28:16: error: switch.flow_control: pfc-star needs one lossless class per switch of a path: paths \
            have up to 3 switches, but switch.lossless has 1"],
    ),
    (
        "lossless = [3]\nscheduler = { kind = \"dwrr\", quantum = \"1600 B\" }\nflow_control = { kind = \"pfc\", \
            quanta = 65535 }",
        "lossless = []\nflow_control = { kind = \"pfc-star\" }",
        &[
            "s.toml:26:12: warning: switch.lossless: no class is lossless, so pfc-star has no effect",
            "s.toml:27:16: error: switch.flow_control: pfc-star needs one lossless class per switch of a path: paths \
                have up to 3 switches, but switch.lossless has 0",
            "s.toml:38:1: warning: traffic[0].class: class 3 of \"poisson\" is not in switch.lossless, so full \
                buffers drop its packets",
            "s.toml:43:1: warning: traffic[1].class: class 3 of \"incast\" is not in switch.lossless, so full buffers \
                drop its packets",
        ],
    ),
    (
        TOPOLOGY_TO_SWITCH,
        "kind = \"bcube\"\nn = 4\n[switch]\nlossless = [2, 3]\nflow_control = { kind = \"pfc-star\" }\nheadroom = { \
            kind = \"static\" }",
        &[
            "s.toml:24:1: error: traffic[0].class: must be 2, the lowest class of switch.lossless, since pfc-star \
                moves packets to higher classes",
            "s.toml:29:1: error: traffic[1].class: must be 2, the lowest class of switch.lossless, since pfc-star \
                moves packets to higher classes",
        ],
    ),
    (
        TOPOLOGY_TO_SWITCH,
        "kind = \"bcube\"\nn = 4\n[switch]\nlossless = [3, 4]\nflow_control = { kind = \"pfc-star\" }\nheadroom = { \
            kind = \"static\" }\n[host]\nack_class = 4",
        &["s.toml:16:13: error: host.ack_class = 4: must be 0 or 3, the lowest class of switch.lossless, since \
            pfc-star moves packets to higher classes"],
    ),
    (
        TOPOLOGY_TO_SWITCH,
        "kind = \"custom\"\nhosts = [\"h0\", \"h1\"]\nswitches = [\"s\"]\nlinks = [{ a = \"h0\", b = \"s\" }, { a = \
            \"h1\", b = \"s\" }, { a = \"h0\", b = \"h1\" }]\n[switch]\nflow_control = { kind = \"port-fc\" \
            }\nheadroom = { kind = \"static\", xoff = \"16 MiB\", headroom = \"0 B\" }",
        &["s.toml:14:16: error: switch.flow_control: port-fc needs a topology that links servers to switches only, \
            such as bcube; here servers are linked to each other"],
    ),
    // PortFC without a lossless guarantee; a forwarding rate of zero.
    (
        TOPOLOGY_TO_SWITCH,
        "kind = \"bcube\"\nn = 2\nk = 2\n[switch]\nbuffer = \"5 MB\"\nflow_control = { kind = \"port-fc\" }\nheadroom \
            = { kind = \"static\", xoff = \"5 MB\", headroom = \"0 B\" }",
        &["s.toml:14:25: warning: switch.flow_control.kind = \"port-fc\": may lose packets: paths have up to 3 \
            switches, but a PAUSE for packets that the next server relays stops only the previous server, not the \
            switch before that server"],
    ),
    (
        TOPOLOGY_TO_SWITCH,
        "kind = \"bcube\"\nn = 8\n[switch]\nbuffer = \"5 MB\"\nflow_control = { kind = \"port-fc\" }\nheadroom = { \
            kind = \"static\", xoff = \"5 MB\", headroom = \"0 B\" }\n[host]\nrelay = { rate = \"0 bps\" }",
        &["s.toml:16:18: error: host.relay.rate = \"0 bps\": must be from 1 Mbps to 100 Tbps"],
    ),
    (
        TOPOLOGY_TO_SWITCH,
        "kind = \"bcube\"\nn = 8\n[switch]\nbuffer = \"5 MB\"\nflow_control = { kind = \"port-fc\" }\nheadroom = { \
            kind = \"static\", xoff = \"5 MB\", headroom = \"0 B\" }\n[host]\nrelay = { buffer = \"1101 B\" }",
        &[
            "s.toml:16:20: error: host.relay.buffer = \"1101 B\": must be at least 1102 B, one full data frame",
            "s.toml:16:20: warning: host.relay.buffer = \"1101 B\": limits the buffers of relaying hosts; these hosts \
                forward PAUSE frames but send none of their own, so they may drop lossless packets",
        ],
    ),
    (
        TOPOLOGY_TO_SWITCH,
        "kind = \"bcube\"\nn = 8\n[switch]\nbuffer = \"5 MB\"\nflow_control = { kind = \"port-fc\" }\nheadroom = { \
            kind = \"static\", xoff = \"5 MB\", headroom = \"0 B\" }",
        &["s.toml:13:25: warning: switch.flow_control.kind = \"port-fc\": may lose packets: the ports of a switch \
            may hold up to 5633272 B together, but its buffer has 5000000 B"],
    ),
    (
        TOPOLOGY_TO_SWITCH,
        "kind = \"bcube\"\nn = 4\n[switch]\nflow_control = { kind = \"port-fc\" }\n[load_balance]\nkind = \
            \"spray\"\n[recovery]\nkind = \"in-any-order\"",
        &[
            "s.toml:12:16: error: switch.flow_control: port-fc must know the path of every packet: use load_balance = \
                \"ecmp\", and no congestion control that chooses paths, such as mp-rdma",
            "s.toml:12:25: warning: switch.flow_control.kind = \"port-fc\": port-fc limits every queue, but not the \
                bytes of an ingress port, so an ingress port above its buffer threshold drops packets; set headroom = \
                { kind = \"static\", xoff = \"16 MiB\", headroom = \"0 B\" } to share the whole buffer",
        ],
    ),
];
