//! Invalid variants of the valid scenario, each with its expected messages.

mod fabric;
mod flb;
mod flow_control;
mod mp_rdma;
mod no_effect;
mod relations;
mod srcc;
mod traces;
mod values;

/// A part of the valid scenario, its replacement, and all expected messages.
pub(crate) type Case = (&'static str, &'static str, &'static [&'static str]);

pub(crate) fn cases() -> impl Iterator<Item = &'static Case> {
    [
        values::CASES,
        relations::CASES,
        fabric::CASES,
        flb::CASES,
        flow_control::CASES,
        mp_rdma::CASES,
        no_effect::CASES,
        srcc::CASES,
        traces::CASES,
    ]
    .into_iter()
    .flatten()
}
