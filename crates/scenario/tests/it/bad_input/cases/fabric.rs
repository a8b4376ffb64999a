//! Nodes, links, routes and faults; BCube and relaying servers.

use super::{Case, TOPOLOGY, TOPOLOGY_TO_SWITCH};

pub(super) const CASES: &[Case] = &[
    // Faults, and options of the fabric.
    (
        "[\"leaf0\", \"spine1\"]",
        "[\"leaf0\", \"spin1\"]",
        &["s.toml:17:18: error: faults[0].link[1] = \"spin1\": there is no node \"spin1\"; did you mean \"spine1\"?"],
    ),
    (
        "[\"leaf0\", \"spine1\"]",
        "[\"leaf0\", \"leaf1\"]",
        &["s.toml:17:8: error: faults[0].link: there is no link between \"leaf0\" and \"leaf1\""],
    ),
    (
        "[\"leaf0\", \"spine1\"]",
        "[\"leaf0\"]",
        &["s.toml:17:8: error: faults[0].link: must have exactly 2 entries; found 1"],
    ),
    (
        "down = \"200 us\"",
        "down = \"200 us\"\nparallel = 1",
        &["s.toml:19:12: error: faults[0].parallel = 1: must be less than 1, the number of links between \"leaf0\" \
                and \"spine1\""],
    ),
    (
        "[network]",
        "[[faults]]\nlink = [\"spine1\", \"leaf0\"]\ndown = \"250 us\"\n[network]",
        &["s.toml:23:8: error: faults[1].down = \"250 us\": overlaps or touches another failure of the link \
            between \"spine1\" and \"leaf0\": the link must be up between two failures"],
    ),
    (
        "[network]",
        "[[routes]]\nat = \"leaf0\"\nto = \"h9\"\nnext = \"leaf1\"\n[[routes]]\nat = \"leef*\"\nto = \"h1\"\nnext = \
            \"spine0\"\n[network]",
        &[
            "s.toml:23:6: error: routes[0].to = \"h9\": there is no host \"h9\"",
            "s.toml:26:6: error: routes[1].at = \"leef*\": no switch matches \"leef*\"; the first switch is called \
                \"leaf0\"",
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
        "[[groups]]\nswitches = [\"spine0\", \"h0\"]\n[[groups]]\nswitches = \"spine*\"\nflow_control = { kind = \
            \"pyrhra\" }\n[congestion_control]",
        &[
            "s.toml:32:23: error: groups[0].switches[1] = \"h0\": \"h0\" is a host, not a switch",
            "s.toml:35:25: error: groups[1].flow_control.kind = \"pyrhra\": unknown name; did you mean \"pyrrha\"? \
                (allowed: none, pfc, bfc, per-flow, pyrrha, pfc-star, port-fc)",
        ],
    ),
    (
        "private = \"3 KB\"",
        "private = \"3 KB\", alpha_rate = \"0 bps\"",
        &["s.toml:29:75: error: switch.headroom.alpha_rate = \"0 bps\": must be greater than zero"],
    ),
    (
        "[congestion_control]",
        "[[groups]]\nswitches = \"spine0\"\nheadroom = { kind = \"static\", xoff = \"10 KB\", xon = \"20 KB\" \
            }\n[[groups]]\nswitches = \"spine*\"\n[congestion_control]",
        &[
            "s.toml:33:53: error: groups[0].headroom.xon = \"20 KB\": must be at most xoff, 10 KB",
            "s.toml:34:1: warning: groups[1]: has no effect: it sets neither flow_control nor headroom",
            "s.toml:35:12: error: groups[1].switches = \"spine*\": \"spine0\" is already in another group",
        ],
    ),
    // Configured headroom for links of 100 Gb/s with a delay of 1 us. Frames have 1098 B, of which
    // 20 B are not charged, and 26,182 B are in flight until a PAUSE takes effect.
    (
        "private = \"3 KB\"",
        "private = \"3 KB\", headroom = \"27 KB\"",
        &["s.toml:29:73: warning: switch.headroom.headroom = \"27 KB\": is too small and may cause packet loss; \
            a port of \"leaf0\" needs up to 27858 B per lossless class; omit this option to give every port the \
            headroom that it needs"],
    ),
    ("private = \"3 KB\"", "private = \"3 KB\", headroom = \"27858 B\"", &[]),
    (
        "[network]",
        "[[routes]]\nat = \"leaf0\"\nto = \"h7\"\nnext = \"h2\"\n[network]",
        &["s.toml:24:8: error: routes[0].next = \"h2\": host \"h2\" does not relay packets of other hosts"],
    ),
    (
        "flow_control = { kind = \"pfc\", quanta = 65535 }",
        "flow_control = { kind = \"pyrrha\", pause = 1.0, resume = 2.0 }",
        &[
            "s.toml:28:25: warning: switch.flow_control.kind = \"pyrrha\": pyrrha limits every queue, but not the \
                bytes of an ingress port, so an ingress port above its buffer threshold drops packets; set headroom = \
                { kind = \"static\", xoff = \"16 MiB\", headroom = \"0 B\" } to share the whole buffer",
            "s.toml:28:57: error: switch.flow_control.resume = 2.0: must be at most pause, 1",
        ],
    ),
    (
        "[network]",
        "[[groups]]\nswitches = \"*\"\nflow_control = { kind = \"pyrrha\" }\n[network]",
        &["s.toml:23:25: warning: groups[0].flow_control.kind = \"pyrrha\": pyrrha limits every queue, but not the \
            bytes of an ingress port, so an ingress port above its buffer threshold drops packets; set headroom = { \
            kind = \"static\", xoff = \"16 MiB\", headroom = \"0 B\" } to share the whole buffer"],
    ),
    (
        "[network]",
        "[[groups]]\nswitches = [\"leaf1\", \"spine*\"]\nflow_control = { kind = \"pyrrha\" }\n[network]",
        &["s.toml:23:25: warning: groups[0].flow_control.kind = \"pyrrha\": pyrrha limits every queue, but not the \
            bytes of an ingress port, so an ingress port above its buffer threshold drops packets; set headroom = { \
            kind = \"static\", xoff = \"16 MiB\", headroom = \"0 B\" } to share the whole buffer"],
    ),
    // leaf1 runs Pyrrha, and uses PFC only with spine1: spine0 and leaf1's hosts also run Pyrrha.
    (
        "[network]",
        "[[groups]]\nswitches = [\"spine0\", \"leaf1\"]\nflow_control = { kind = \"pyrrha\" }\n[network]",
        &["s.toml:23:25: warning: groups[0].flow_control.kind = \"pyrrha\": pyrrha limits every queue, but not the \
            bytes of an ingress port, so an ingress port above its buffer threshold drops packets; \"leaf1\" sends \
            PAUSE frames at this threshold only to neighbours with PFC; raise alpha or xoff"],
    ),
    (
        "[network]",
        "[[groups]]\nswitches = \"spine0\"\nflow_control = { kind = \"pyrrha\" }\n[[groups]]\nswitches = \
            \"leaf0\"\nheadroom = { kind = \"static\", xoff = \"4 MB\" }\n[network]",
        &["s.toml:26:38: warning: groups[1].headroom.xoff = \"4 MB\": is too large for a buffer of 16 MiB: if all 6 \
            ports of \"leaf0\" reach this threshold, packets may be dropped; needs a buffer of 24185976 B"],
    ),
    (
        "[network]",
        "[[groups]]\nswitches = \"spine0\"\nflow_control = { kind = \"pfc\", pause = \"quanta\" }\n[network]",
        &["s.toml:23:40: error: groups[0].flow_control.pause = \"quanta\": must equal switch.flow_control.pause: \
            neighbours must agree on the duration of a PAUSE"],
    ),
    (
        "[network]",
        "[[groups]]\nswitches = \"leaf1\"\nflow_control = { kind = \"pfc\", response = \"1 us\" \
            }\n[[groups]]\nswitches = \"spine0\"\nflow_control = { kind = \"pyrrha\" }\n[network]",
        &["s.toml:23:16: error: groups[0].flow_control: must have the same options as switch.flow_control: a switch \
            with pyrrha uses one set of PFC options for all its neighbours"],
    ),
    (
        "[congestion_control]\nkind = \"dcqcn\"\nprofile = \"paper\"\ngain = 0.00390625",
        "[host]\nack_every = 200\n[congestion_control]\nkind = \"none\"\nwindow = \"bdp\"",
        &["s.toml:32:13: error: host.ack_every = 200: is too large for the window of 104672 B: no ACK would ever be \
                sent"],
    ),
    // Routes between relaying servers take memory, so the number of such servers is limited.
    (
        TOPOLOGY,
        "kind = \"bcube\"\nn = 1000",
        &["s.toml:10:5: error: topology.n = 1000: makes 1000000 relaying servers; at most 16384 are supported"],
    ),
    // Buffers of relaying hosts.
    (
        TOPOLOGY,
        "kind = \"bcube\"\nn = 4\n[host.relay]\nbuffer = \"10 KB\"\n",
        &["s.toml:12:10: error: host.relay.buffer = \"10 KB\": must exceed the 67992 B that \"h0.0\" reserves as \
            headroom and private buffer (2 ports, 1 lossless class)"],
    ),
    (
        TOPOLOGY,
        "kind = \"bcube\"\nn = 4\n[host.relay]\nbuffer = \"1 MB\"\nheadroom = { kind = \"static\", xoff = \"1 MB\" }\n",
        &["s.toml:13:38: warning: host.relay.headroom.xoff = \"1 MB\": is too large for a buffer of 1 MB: if all 2 \
            ports of \"h0.0\" reach this threshold, packets may be dropped; needs a buffer of 2061992 B"],
    ),
    // A link must be up between two failures, in either order.
    (
        "[network]",
        "[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"300 us\"\nup = \"400 us\"\n[network]",
        &["s.toml:23:8: error: faults[1].down = \"300 us\": overlaps or touches another failure of the link \
            between \"leaf0\" and \"spine1\": the link must be up between two failures"],
    ),
    (
        "[network]",
        "[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"100 us\"\nup = \"200 us\"\n[network]",
        &["s.toml:23:8: error: faults[1].down = \"100 us\": overlaps or touches another failure of the link \
            between \"leaf0\" and \"spine1\": the link must be up between two failures"],
    ),
    // BCube: size, rates and delays of layers, failures.
    (
        TOPOLOGY,
        "kind = \"bcube\"\nn = 2\nk = 3\nrate = [\"1 Gbps\", \"1 Gbps\", \"1 Gbps\", \"1 Gbps\"]",
        &["s.toml:11:5: error: topology.k = 3: must be 0, 1 or 2: a path would have up to 8 links, but a route has \
                at most 7"],
    ),
    (
        TOPOLOGY,
        "kind = \"bcube\"\nn = 4294967295\nk = 4294967295",
        &[
            "s.toml:10:5: error: topology.n = 4294967295: makes 79228162458924105385300197375 relaying servers; at \
                most 16384 are supported",
            "s.toml:11:5: error: topology.k = 4294967295: must be 0, 1 or 2: a path would have up to 8589934592 \
                links, but a route has at most 7",
        ],
    ),
    (
        TOPOLOGY,
        "kind = \"bcube\"\nn = 100000\nk = 2\nrate = [\"1 Gbps\", \"0 bps\"]\ndelay = [\"1 us\", \"1 us\", \"1 us\", \
            \"1 us\"]",
        &[
            "s.toml:10:5: error: topology.n = 100000: makes 1000000000000000 relaying servers; at most 16384 are \
                supported",
            "s.toml:12:8: error: topology.rate: must have 3 values, one per layer; found 2",
            "s.toml:12:19: error: topology.rate[1] = \"0 bps\": must be from 1 Mbps to 100 Tbps",
            "s.toml:13:9: error: topology.delay: must have 3 values, one per layer; found 4",
        ],
    ),
    (
        TOPOLOGY,
        "kind = \"bcube\"\nn = 4\nrate = [\"1 Gbps\", 2]\ndelay = true",
        &[
            "s.toml:11:19: error: topology.rate[1] = 2: must be a number with a unit, in quotes; write \"2 Gbps\"",
            "s.toml:12:9: error: topology.delay = true: must be a number with a unit, in quotes",
        ],
    ),
    (
        TOPOLOGY,
        "kind = \"bcube\"\nn = 4\nfailed_nodes = [\"h1.2\", \"h4.0\", \"h1.2\"]",
        &[
            "s.toml:11:25: error: topology.failed_nodes[1] = \"h4.0\": there is no node \"h4.0\"; did you mean \
                \"h0.0\"?",
            "s.toml:11:33: error: topology.failed_nodes[2] = \"h1.2\": \"h1.2\" is listed twice",
        ],
    ),
    (
        TOPOLOGY,
        "kind = \"bcube\"\nn = 4\nfailed_nodes = [\"h0.0\"]\n[[faults]]\nlink = [\"h0.0\", \"s0.0\"]\ndown = \"1 us\"",
        &["s.toml:13:8: error: faults[0].link: there is no link between \"h0.0\" and \"s0.0\""],
    ),
    // BCube: a single layer; a configured route through a server; groups with different flow
    // controls on neighbouring layers.
    (
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 Gbps\"\ndelay = \"1 us\"",
        "kind = \"bcube\"\nn = 2\nk = 0\ndelay = \"0 s\"\nerror_rate = 1.0",
        &[
            "s.toml:12:9: error: topology.delay = \"0 s\": must be from 1 ps to 10 s",
            "s.toml:13:14: error: topology.error_rate = 1.0: must be at least 0 and less than 1",
        ],
    ),
    (
        TOPOLOGY,
        "kind = \"bcube\"\nn = 4\n[[routes]]\nat = \"s0.0\"\nto = \"h1.1\"\nnext = \"h0.1\"\n[[groups]]\nswitches = \
            \"s1.*\"\nflow_control = { kind = \"none\" }\n",
        &["s.toml:15:1: warning: groups: \"s0.0\" runs pfc, but its neighbour \"s1.0\" runs none: neither can pause \
            the other, so full buffers drop packets"],
    ),
    // Bounded buffers of servers that forward PAUSEs.
    (
        TOPOLOGY_TO_SWITCH,
        "kind = \"bcube\"\nn = 4\n[switch]\nflow_control = { kind = \"pfc\", relays = \"forward\" }\nheadroom = { \
            kind = \"static\" }\n[host.relay]\nbuffer = \"9 MB\"\nheadroom = { kind = \"static\" }",
        &[
            "s.toml:15:10: warning: host.relay.buffer = \"9 MB\": limits the buffers of relaying hosts; these hosts \
                forward PAUSE frames but send none of their own, so they may drop lossless packets",
            "s.toml:16:12: warning: host.relay.headroom: limits the buffers of relaying hosts; these hosts forward \
                PAUSE frames but send none of their own, so they may drop lossless packets",
        ],
    ),
];
