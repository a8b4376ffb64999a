#[path = "../tests/common/mod.rs"]
mod common;
use common::*;
fn main() {
    let mut spec = star(3, 100, 1000);
    spec.congestion = backwater_fabric::congestion::CongestionConfig::Hpcc(Default::default());
    let (s, o) = run(&spec, vec![flow(0, 2, 1_000_000, 0)]);
    println!(
        "{:?} ideal {:?} rtt {:?}",
        o[0],
        s.fabric().ideal_fct(backwater_fabric::ids::FlowId(0)),
        s.fabric().base_rtt
    );
}
