//! Parser of `config.txt`: with a valid topology and valid flows, any text results in a readable
//! scenario or a list of errors.
#![no_main]

use backwater_scenario::Document;
use backwater_scenario::hpcc::{Source, convert_texts};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let sample = |name, text| Source { name, path: name, text };
    let topology = sample("topology.txt", include_str!("../../crates/scenario/tests/data/hpcc/topology.txt"));
    let flows = sample("flow.txt", include_str!("../../crates/scenario/tests/data/hpcc/flow.txt"));
    match convert_texts(topology, flows, Some(sample("config.txt", text))) {
        Ok(converted) => {
            drop(Document::from_toml("converted.toml", &converted.toml).expect("converted scenarios are TOML"))
        }
        Err(errors) => assert!(!errors.is_empty()),
    }
});
