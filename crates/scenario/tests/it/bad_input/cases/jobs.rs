//! Jobs, and connections that stay after their messages.

use super::Case;

/// First part of the traffic of the valid scenario.
const PART: &str = "kind = \"poisson\"\nsizes = \"websearch-dctcp\"\nload = 0.5";

pub(super) const CASES: &[Case] = &[
    (
        "until = \"1 ms\"",
        "until = \"jobs\"",
        &["s.toml:5:9: error: run.until = \"jobs\": must be a time: no part of the traffic is a job \
                (\"collective\" or \"schedule\")"],
    ),
    (
        "until = \"1 ms\"",
        "until = \"job\"",
        &["s.toml:5:9: error: run.until = \"job\": does not start with a number; write for example \"2 us\", or \
                \"jobs\""],
    ),
    (
        "until = \"1 ms\"",
        "until = \"1 ms\"\nlimit = \"1 ms\"",
        &["s.toml:6:9: error: run.limit = \"1 ms\": has no effect unless run.until is \"jobs\": omit this option"],
    ),
    (
        "until = \"1 ms\"\nwarmup = \"100 us\"",
        "until = \"jobs\"\ndrain = \"1 us\"\n[[traffic]]\nkind = \"collective\"\noperation = \"all-reduce\"\nbytes \
            = \"1 MB\"",
        &["s.toml:6:9: error: run.drain = \"1 us\": has no effect if run.until is \"jobs\": set run.limit, or \
                omit this option"],
    ),
    (
        "mtu = \"1000 B\"",
        "mtu = \"1000 B\"\nflow_keys = \"numbers\"",
        &["s.toml:23:13: error: network.flow_keys = \"numbers\": unknown name; did you mean \"number\"? (allowed: \
                connection, number)"],
    ),
    (
        "mtu = \"1000 B\"",
        "mtu = \"1000 B\"\nhash_seed = -1",
        &["s.toml:23:13: error: network.hash_seed = -1: must be at least 0"],
    ),
    (
        "mtu = \"1000 B\"",
        "mtu = \"1000 B\"\nflow_key = \"number\"",
        &["s.toml:23:1: error: network.flow_key: unknown key; did you mean \"flow_keys\"? (allowed: framing, mtu, \
                reconvergence, flow_keys, hash_seed)"],
    ),
    (
        "[probes]",
        "[host]\nidle = { kind = \"fresh\" }\n[probes]",
        &["s.toml:37:8: error: host.idle.after: is missing; write for example after = \"2 us\""],
    ),
    (
        "[probes]",
        "[host]\nidle = \"fresh\"\n[probes]",
        &["s.toml:37:8: error: host.idle = \"fresh\": must be a table; write idle = { kind = \"fresh\" } \
                (allowed: keep, fresh)"],
    ),
    (
        "[probes]",
        "[host]\nidle = \"kept\"\n[probes]",
        &["s.toml:37:8: error: host.idle = \"kept\": must be a table; write idle = { kind = \"keep\" } (allowed: \
                keep, fresh)"],
    ),
    (
        "[probes]",
        "[host]\nidle = { kind = \"keep\", after = \"1 us\" }\n[probes]",
        &["s.toml:37:25: error: host.idle.after: unknown key; this key belongs to kind \"fresh\"; allowed: kind"],
    ),
    ("gain = 0.00390625", "gain = 2", &["s.toml:34:8: error: congestion_control.gain = 2: must be from 0 to 1"]),
    (
        "pauses = true",
        "operations = true",
        &["s.toml:37:14: warning: probes.operations = true: has no effect: no part of the traffic is a job \
                (\"collective\" or \"schedule\")"],
    ),
    ("pauses = true", "operations = 1", &["s.toml:37:14: error: probes.operations = 1: must be true or false"]),
    (
        PART,
        "kind = \"collective\"\noperation = \"allreduce\"\nbytes = \"1 MB\"",
        &["s.toml:41:13: error: traffic[0].operation = \"allreduce\": unknown name; did you mean \"all-reduce\"? \
                (allowed: all-reduce, all-gather, reduce-scatter, all-to-all, send-receive)"],
    ),
    (
        PART,
        "kind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"\nchannels = 0",
        &["s.toml:43:12: error: traffic[0].channels = 0: must be from 1 to 128"],
    ),
    (
        PART,
        "kind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"\nhosts = [\"h0\", \"h0\"]",
        &["s.toml:43:9: error: traffic[0].hosts: must name each host once, one per rank; \"h0\" is named twice"],
    ),
    (
        PART,
        "kind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"\nhosts = [\"h0\", \"leaf0\"]",
        &["s.toml:43:16: error: traffic[0].hosts[1] = \"leaf0\": \"leaf0\" is a switch, not a host"],
    ),
    (
        PART,
        "kind = \"collective\"\noperation = \"send-receive\"\nbytes = \"1024 GiB\"\nrepeat = 10",
        &["s.toml:39:1: error: traffic[0]: sends 10995116280 packets on one connection, must send less than \
                4294967295"],
    ),
    (
        PART,
        // 2^31 chunks per channel.
        "kind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"549755813888 B\"\nchunk = \"64 B\"\nchannels = \
             2\nhosts = [\"h0\", \"h1\"]",
        &["s.toml:43:9: error: traffic[0].chunk = \"64 B\": makes more than 1073741824 operations per rank and \
                iteration; set a larger `chunk`"],
    ),
    (
        PART,
        "kind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"\nrepeat = 0",
        &["s.toml:43:10: error: traffic[0].repeat = 0: must be at least 1"],
    ),
    (
        PART,
        "kind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"\nbytes_ = 1",
        &["s.toml:43:1: error: traffic[0].bytes_: unknown key; did you mean \"bytes\"? (allowed: kind, tag, \
                class, start, stop, role, operation, algorithm, bytes, hosts, channels, chunk, queue_pairs, spread, \
                window, repeat, gap, warmup_iterations)"],
    ),
    (
        PART,
        "kind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"\nspread = \"turns\"",
        &["s.toml:43:10: error: traffic[0].spread = \"turns\": unknown name; allowed: round-robin, split"],
    ),
    (
        PART,
        "kind = \"collective\"\noperation = \"all-reduce\"\nbytes = 1000",
        &["s.toml:42:9: error: traffic[0].bytes = 1000: must be a number with a unit, in quotes; write \"1000 B\""],
    ),
    (
        PART,
        "kind = \"schedule\"\npath = \"nowhere.goal\"",
        &["s.toml:41:8: error: traffic[0].path = \"nowhere.goal\": ./nowhere.goal:1:1: cannot be read: No such \
                file or directory (os error 2)"],
    ),
    (
        PART,
        "kind = \"schedule\"\npath = 3",
        &["s.toml:41:8: error: traffic[0].path = 3: must be a string in quotes; write \"3\""],
    ),
    (
        PART,
        "kind = \"schedule\"\noperations = []",
        &["s.toml:39:1: error: traffic[0]: must have either `path` or `operations`"],
    ),
    (
        PART,
        "kind = \"schedule\"\noperations = [{ rank = 0, send = 9, bytes = \"1 KB\" }]",
        &["s.toml:41:34: error: traffic[0].operations[0].send = 9: must be less than 8, the number of hosts"],
    ),
    (
        PART,
        "kind = \"schedule\"\noperations = [{ rank = 0, sent = 1, bytes = \"1 KB\" }]",
        &["s.toml:41:27: error: traffic[0].operations[0].sent: unknown key; did you mean \"send\"? (allowed: \
                rank, label, send, receive, compute, bytes, tag, stream, after, after_start)"],
    ),
    (
        PART,
        "kind = \"schedule\"\noperations = [{ rank = 0, send = 1, bytes = \"1 KB\", after = \"x\" }]",
        &["s.toml:41:61: error: traffic[0].operations[0].after = \"x\": must be a list; write after = [\"x\"]"],
    ),
    (
        PART,
        "kind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"\nhosts = [\"h[0-3]\", \"h2\"]",
        &["s.toml:43:9: error: traffic[0].hosts: must name each host once, one per rank; \"h2\" is named twice"],
    ),
    (
        PART,
        "kind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"\n[[traffic]]\nkind = \
            \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"",
        &["s.toml:43:1: error: traffic[1].tag: must differ from the tags of other jobs, whose results it would \
                mix: set a `tag`"],
    ),
];
