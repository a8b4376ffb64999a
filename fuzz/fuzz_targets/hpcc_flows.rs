//! Parser of `flow.txt`: any text results in flows or in a list of errors. Flows can be written and
//! read again.
#![no_main]

use backwater_scenario::hpcc::{HpccFlow, read_flows, write_flows};
use backwater_scenario::workload::FlowDialect;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &str)| {
    let (choice, text) = input;
    let dialects = [None, Some(FlowDialect::Hpcc), Some(FlowDialect::Conweave), Some(FlowDialect::Pyrrha)];
    match read_flows(text, "flow.txt", dialects[usize::from(choice % 4)]) {
        Ok(read) => {
            let again = read_flows(&write_flows(&read.flows), "again.txt", Some(FlowDialect::Hpcc))
                .expect("written flows can be read");
            let core = |flow: &HpccFlow| (flow.src, flow.dst, flow.bytes, flow.start);
            assert!(again.notes.is_empty());
            assert!(again.flows.iter().map(core).eq(read.flows.iter().map(core)));
        }
        Err(errors) => assert!(!errors.is_empty()),
    }
});
