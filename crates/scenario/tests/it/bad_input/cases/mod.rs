//! Invalid variants of the valid scenario, each with its expected messages.

mod fabric;
mod flb;
mod flow_control;
mod jobs;
mod mp_rdma;
mod no_effect;
mod relations;
mod srcc;
mod traces;
mod values;

/// A part of the valid scenario, its replacement, and all expected messages.
pub(crate) type Case = (&'static str, &'static str, &'static [&'static str]);

/// Topology and fault of the valid scenario.
const TOPOLOGY: &str = "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \"100 \
    Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 us\"";

/// Everything from topology to switch in the valid scenario.
const TOPOLOGY_TO_SWITCH: &str = "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nhost_rate = \
    \"100 Gbps\"\ndelay = \"1 us\"\n\n[[faults]]\nlink = [\"leaf0\", \"spine1\"]\ndown = \"200 us\"\nup = \"300 \
    us\"\n\n[network]\nmtu = \"1000 B\"\n\n[switch]\nbuffer = \"16 MiB\"\nlossless = [3]\nscheduler = { kind = \
    \"dwrr\", quantum = \"1600 B\" }\nflow_control = { kind = \"pfc\", quanta = 65535 }\nheadroom = { kind = \"sih\", \
    alpha = 0.0625, private = \"3 KB\" }";

pub(crate) fn cases() -> impl Iterator<Item = &'static Case> {
    [
        values::CASES,
        relations::CASES,
        fabric::CASES,
        flb::CASES,
        flow_control::CASES,
        jobs::CASES,
        mp_rdma::CASES,
        no_effect::CASES,
        srcc::CASES,
        traces::CASES,
    ]
    .into_iter()
    .flatten()
}
