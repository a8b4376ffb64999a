//! Mistakes, each with the messages that it must bring.

mod fabric;
mod flb;
mod flow_control;
mod mp_rdma;
mod no_effect;
mod relations;
mod srcc;
mod traces;
mod values;

/// A line of a sound scenario, what it becomes, and all that is said about it.
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
