//! Prints how an incast in one class treats a flow in another, under PFC and under the flow control of this crate.

use backwater_fabric::mechanisms::flow_control::FlowControlConfig;
use custom_flow_control::OnOffConfig;
use custom_flow_control::incast::{Fate, run};
use std::sync::Arc;

fn main() {
    println!(
        "Seven hosts send 200 KB each to the eighth in class 3; the first also sends 200 KB to the second in class 5.\n"
    );
    println!(
        "{:<14}{:>18}{:>22}{:>10}{:>8}",
        "flow control", "incast done [us]", "class 5 done [us]", "drops", "audit"
    );
    let on_off = FlowControlConfig::Custom(Arc::new(OnOffConfig));
    for (name, flow_control) in [("pfc", FlowControlConfig::Pfc(Default::default())), ("on-off", on_off)] {
        let Fate { incast, bystander, drops, is_sound } = run(flow_control);
        let us = |time: backwater_engine::Time| time.ps() as f64 / 1e6;
        let audit = if is_sound { "sound" } else { "FAILED" };
        println!("{name:<14}{:>18.3}{:>22.3}{drops:>10}{audit:>8}", us(incast), us(bystander));
    }
}
