//! Traces and port names.

use super::Case;

pub(super) const CASES: &[Case] = &[
    (
        "pauses = true",
        "pauses = true\ntrace = { from = \"20 us\", until = \"20 us\" }",
        &["s.toml:38:35: error: probes.trace.until = \"20 us\": must be after probes.trace.from (20 us)"],
    ),
    (
        "pauses = true",
        "pauses = true\ntrace = { from = \"200 ms\" }",
        &["s.toml:38:18: error: probes.trace.from = \"200 ms\": must be before the latest possible end of the run \
            (101 ms)"],
    ),
    (
        "pauses = true",
        "pauses = true\ntrace = { nodes = \"leaf*\", ports = [\"leaf0:1\"], flows = [1] }",
        &["s.toml:38:36: error: probes.trace.ports: probes.trace.nodes is also set; set only one of them"],
    ),
    (
        "pauses = true",
        "pauses = true\ntrace = { nodes = [\"leaf0\", \"leef1\", \"x*\", \"h[\"] }",
        &[
            "s.toml:38:29: error: probes.trace.nodes[1] = \"leef1\": there is no node \"leef1\"; did you mean \
                \"leaf1\"?",
            "s.toml:38:38: error: probes.trace.nodes[2] = \"x*\": no node matches \"x*\"; the first node is called \
                \"h0\"",
            "s.toml:38:44: error: probes.trace.nodes[3] = \"h[\": \"h[\" is not a valid pattern; write a range of \
                numbers as `[0-15]`; `*` matches any text",
        ],
    ),
    (
        "pauses = true",
        "pauses = true\ntrace = { nodes = [] }",
        &["s.toml:38:19: error: probes.trace.nodes: must not be empty"],
    ),
    (
        "pauses = true",
        "pauses = true\ntrace = { ports = [] }",
        &["s.toml:38:19: error: probes.trace.ports: must not be empty"],
    ),
    (
        "pauses = true",
        "pauses = true\ntrace = { flows = [] }",
        &["s.toml:38:19: error: probes.trace.flows: must not be empty"],
    ),
    (
        "pauses = true",
        "pauses = true\ntrace = { flows = [-1] }",
        &["s.toml:38:20: error: probes.trace.flows[0] = -1: must be at least 0"],
    ),
    (
        "pauses = true",
        "pauses = true\ntrace = { ports = [\"leaf0:9\", \"leaf0->spin0\", \"h0->h1\", \"leaf0\"] }",
        &[
            "s.toml:38:20: error: probes.trace.ports[0] = \"leaf0:9\": \"leaf0\" has the ports 0 to 5",
            "s.toml:38:31: error: probes.trace.ports[1] = \"leaf0->spin0\": there is no node \"spin0\"; did you mean \
                \"spine0\"?",
            "s.toml:38:47: error: probes.trace.ports[2] = \"h0->h1\": there is no link from \"h0\" to \"h1\"",
            "s.toml:38:57: error: probes.trace.ports[3] = \"leaf0\": must be a port, such as leaf3:5 or leaf3->h7",
        ],
    ),
    (
        "pauses = true",
        "pauses = true\ntrace = { till = \"20 us\" }",
        &["s.toml:38:11: error: probes.trace.till: unknown key; allowed: from, until, nodes, ports, flows"],
    ),
    ("pauses = true", "pauses = true\ntrace = true", &["s.toml:38:9: error: probes.trace = true: must be a table"]),
    (
        "[network]",
        "[[interfaces]]\nnodes = \"leef0\"\nnames = [\"Ethernet0\"]\n[[interfaces]]\nnodes = [\"leaf0\", \
            \"h0\"]\nnames = [\"a\", \"b\"]\n[network]",
        &[
            "s.toml:22:9: error: interfaces[0].nodes = \"leef0\": there is no node \"leef0\"; did you mean \"leaf0\"?",
            "s.toml:26:15: error: interfaces[1].names[1] = \"b\": \"h0\" has only 1 port",
        ],
    ),
    (
        "[network]",
        "[[interfaces]]\nnodes = \"leaf0\"\nnames = []\n[network]",
        &["s.toml:23:9: error: interfaces[0].names: must have at least 1 entry; found 0"],
    ),
    (
        "[network]",
        "[[interfaces]]\nnodes = \"leaf0\"\nnames = [\"a\", \"a\", \"\"]\n[network]",
        &[
            "s.toml:21:1: error: interfaces: ports 0 and 1 of \"leaf0\" have the same name, \"a\"",
            "s.toml:23:20: error: interfaces[0].names[2] = \"\": must not be empty",
        ],
    ),
    (
        "[network]",
        "[[interfaces]]\nnodes = \"leaf0\"\nnames = [\"e:0\", \"to->h0\", \"1\"]\n[network]",
        &[
            "s.toml:23:10: error: interfaces[0].names[0] = \"e:0\": must not contain \":\"",
            "s.toml:23:17: error: interfaces[0].names[1] = \"to->h0\": must not contain \"->\"",
            "s.toml:23:27: error: interfaces[0].names[2] = \"1\": must not be a number; numbers identify unnamed ports",
        ],
    ),
    (
        "[network]",
        "[[interfaces]]\nnodes = \"leaf0\"\nnames = [\"e 0\", \"e\\u0000\", \
            \"lllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll\"]\n[network]",
        &[
            "s.toml:23:10: error: interfaces[0].names[0] = \"e 0\": must not contain spaces or control characters",
            "s.toml:23:17: error: interfaces[0].names[1] = \"e\\u0000\": must not contain spaces or control characters",
            "s.toml:23:28: error: interfaces[0].names[2] = \
                \"lllllllllllllllllllllllllllllllllllllllllllllllllllllllllll...: must have at most 64 bytes; has 65",
        ],
    ),
    (
        "[network]",
        "[[interfaces]]\nnodes = \"leaf0\"\nnames = [\"e0\"]\nstep = 0\n[network]",
        &["s.toml:24:8: error: interfaces[0].step = 0: must be at least 1"],
    ),
];
