//! Flows that wait for their first turn have no queue pair. Only their memory differs from that of
//! other flows: a traced host gives every flow a queue pair at its start.

use crate::prelude::*;
use proptest::prelude::*;

/// Returns flows from host 0 or 1 to others, in two lossless classes. Many flows start at the same
/// instant, and some instants are far apart, so that rounds have gaps.
fn bursts() -> impl Strategy<Value = Vec<FlowSpec>> {
    let burst =
        (0u32..2, 1u32..5, 1usize..80, 1u64..3000, 1u8..3, prop::sample::select(vec![0u64, 1000, 5000, 40_000]));
    prop::collection::vec(burst, 1..12).prop_map(|bursts| {
        let mut start = 0;
        let flows = bursts.into_iter().flat_map(|(src, step, count, bytes, class, gap)| {
            start += gap;
            let flow = FlowSpec { class: Class(class), ..flow(src, (src + step) % 5, bytes, start) };
            std::iter::repeat_n(flow, count)
        });
        flows.collect()
    })
}

/// Returns hosts 0 and 1 on one leaf, three other hosts on another, two spines, and small buffers.
fn network() -> NetworkSpec {
    let mut spec = linked(5, 4, [(0, 5), (1, 5), (2, 6), (3, 6), (4, 6), (5, 7), (5, 8), (6, 7), (6, 8)]);
    spec.switch.lossless = vec![Class(1), Class(2)];
    spec.switch.headroom = HeadroomConfig::Static(StaticConfig { xoff: Bytes(4000), ..Default::default() });
    spec
}

proptest! {
    #![proptest_config(common::cases(150))]

    /// Flows with and without a queue pair at their start take the same turns, also behind a closed
    /// gate, and if their routes change.
    #[test]
    fn waiting_flows_keep_their_turns(flows in bursts(), is_rerouted in any::<bool>()) {
        let mut spec = network();
        if is_rerouted {
            spec.faults = vec![LinkFault { link: 5, down: at_us(2), up: at_us(20) }];
            spec.reconvergence = Some(Duration::from_us(1));
        }
        let [waiting, traced] = [false, true].map(|is_traced| {
            let mut simulation = Simulation::new(spec.clone(), flows.clone(), 1).unwrap();
            if is_traced {
                simulation.watch_trace(&TraceSpec::ALL);
            }
            simulation.run_until(at_us(2000), 1);
            simulation
        });
        prop_assert_eq!(waiting.fingerprint(), traced.fingerprint());
        prop_assert_eq!(waiting.outcomes(), traced.outcomes());
        prop_assert_eq!(waiting.audit(), []);
    }
}

/// 16 hosts have 4,000 flows each. A queue pair takes up to 384 B, and a receiver 208 B.
#[test]
fn flows_that_wait_take_little_memory() {
    let flows: Vec<_> =
        (0..64_000).map(|index| flow(index % 16, (index + 1 + index / 16 % 15) % 16, 1000, 0)).collect();
    let mut simulation = Simulation::new(star(16), flows, 1).unwrap();
    simulation.run_until(at_us(5), 1);
    let totals = simulation.totals();
    assert!(totals.received_flows > 300 && totals.live_flows() > 60_000, "{totals:?}");
    let memory = simulation.memory().flows;
    assert_eq!(memory.count, 64_000);
    assert!(memory.each() < 50, "{} B per flow", memory.each());
    assert_eq!(simulation.outcomes().len(), 64_000);
    assert!(simulation.memory().flows.each() < 50, "reading outcomes takes no memory");
}
