//! Shards on threads: limits, and a panic on one of the threads. `determinism.rs` shows that shards
//! do not change results.

use crate::prelude::*;
use backwater_fabric::driver::partition::Partition;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Flow control that panics at one node after `packets` packets.
#[derive(Clone, Copy, Debug)]
struct Panic {
    node: NodeId,
    packets: Option<u32>,
}

impl FlowControl for Panic {
    fn on_enqueue(&mut self, _packet: &PacketContext<'_>, _pressure: Pressure, _view: &mut View<'_>) {
        self.packets =
            self.packets.map(|left| left.checked_sub(1).unwrap_or_else(|| panic!("bang at {:?}", self.node)));
    }
}

flow_control!(Panic, Panic: |options, site| Panic {
    packets: options.packets.filter(|_| site.node == options.node),
    ..*options
});

/// Hosts 0 and 1 are on switch 4, hosts 2 and 3 on switch 5. Each switch has its own shard and
/// thread.
#[test]
fn a_panic_on_any_thread_reaches_the_caller_with_its_message() {
    for (switch, packets) in [(4, 0), (5, 0), (4, 100), (5, 100)] {
        let mut spec = NetworkSpec::with_nodes(4, 2);
        spec.links = [(0, 4), (1, 4), (2, 5), (3, 5), (4, 5)].map(|(a, b)| link(a, b, 100, 500)).to_vec();
        spec.switch.flow_control = FlowControlConfig::custom(Panic { node: NodeId(switch), packets: Some(packets) });
        let flows = vec![flow(0, 2, 1_000_000, 0), flow(3, 1, 1_000_000, 0)];
        let parts = [[0, 1, 4], [2, 3, 5]].map(|part| part.map(NodeId).to_vec()).to_vec();
        let source = Box::new(flows.into_iter());
        let mut simulation = Simulation::with_partition(Fabric::new(spec).unwrap(), source, &Partition(parts));
        let limit = Time::ZERO + Duration::from_ms(1);
        let panic = catch_unwind(AssertUnwindSafe(|| simulation.run_until(limit, 2))).unwrap_err();
        assert_eq!(*panic.downcast::<String>().unwrap(), format!("bang at NodeId({switch})"));
    }
}

#[test]
fn there_are_never_more_shards_than_nodes() {
    let spec = star(2);
    let flows = vec![flow(0, 1, 100_000, 0)];
    let (expected, outcomes) = run(&spec, flows.clone());
    for (shards, threads) in [(0, 0), (1024, 1), (1024, 1024)] {
        let mut simulation = Simulation::new(spec.clone(), flows.clone(), shards).unwrap();
        simulation.run_until(expected.now(), threads);
        assert_eq!(simulation.outcomes(), outcomes);
        assert_eq!(simulation.fingerprint(), expected.fingerprint());
        assert_eq!(simulation.audit(), []);
    }
}

/// If a link between shards had no delay, windows would be empty.
#[test]
fn links_without_delay_are_refused() {
    let mut spec = star(2);
    spec.links[1].delay = Duration::ZERO;
    let Err(errors) = Simulation::new(spec, vec![flow(0, 1, 1000, 0)], 2) else {
        panic!("a link without delay is accepted")
    };
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors, ["error: topology: link h1 - s0: its delay must be longer than 0 s"]);
}

/// Without links between shards, no link limits a window.
#[test]
fn shards_without_a_link_between_them_run_on() {
    let mut spec = NetworkSpec::with_nodes(4, 2);
    spec.links = [(0, 4), (1, 4), (2, 5), (3, 5)].map(|(a, b)| link(a, b, 100, 500)).to_vec();
    let flows = vec![flow(0, 1, 100_000, 0), flow(3, 2, 50_000, 700)];
    let (expected, outcomes) = run(&spec, flows.clone());
    let mut simulation = Simulation::new(spec, flows, 2).unwrap();
    simulation.run_until(expected.now(), 2);
    assert_eq!((simulation.outcomes(), simulation.fingerprint()), (outcomes, expected.fingerprint()));
}
