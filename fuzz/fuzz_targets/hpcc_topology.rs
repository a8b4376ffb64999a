//! Parser of `topology.txt`: any text results in a topology or in a list of errors. A topology can
//! be written and read again.
#![no_main]

use backwater_scenario::hpcc::{read_topology, write_topology};
use backwater_scenario::topology::Graph;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match read_topology(text, "topology.txt") {
        Ok(topology) => {
            let Ok(graph) = Graph::new(topology.nodes, topology.links, topology.notes) else { return };
            let again = read_topology(&write_topology(&graph), "again.txt").expect("written topologies can be read");
            assert_eq!((again.nodes, again.links), (graph.nodes.to_vec(), graph.links));
        }
        Err(errors) => assert!(!errors.is_empty()),
    }
});
